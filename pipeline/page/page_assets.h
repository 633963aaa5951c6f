/*
 * page_assets - the page's own files, which are linked into the program.
 */
#ifndef LEAT_PIPELINE_PAGE_PAGE_ASSETS_H
#define LEAT_PIPELINE_PAGE_PAGE_ASSETS_H

struct page_asset {
    const char *name, *type; /* "page.css", of its content */
    const char *text;
};

/* What browsers ask for: style and script. NULL: there is none of that name. */
const struct page_asset *page_asset_find(const char *name);

/* index.html and folder.html, templates (page_template.h). */
extern const char page_index[], page_folder[];

#endif
