/*
 * page_assets - the page's style and script, page.css and page.js, which are linked into the
 * program.
 */
#ifndef LEAT_PIPELINE_PAGE_PAGE_ASSETS_H
#define LEAT_PIPELINE_PAGE_PAGE_ASSETS_H

#include <stddef.h>

struct page_asset {
    const char *name, *type; /* "page.css", of its content */
    const char *text;        /* constant; */
    size_t bytes;
};

/* NULL: there is none of that name. */
const struct page_asset *page_asset_find(const char *name);

#endif
