/*
 * page_html - the status document as a page and as Prometheus reads it (text format 0.0.4), and
 * lists of folders.
 *
 * Complete without a script. Every address in it is relative, so that a proxy may put it beneath
 * any path. All text of the document is escaped twice: for readers, as the log does, and for HTML
 * (excerpt_html).
 */
#ifndef LEAT_PIPELINE_PAGE_PAGE_HTML_H
#define LEAT_PIPELINE_PAGE_PAGE_HTML_H

#include "formats/base/bytes.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct page_view {
    const char *search; /* jobs whose names do not hold the text, in any case, are left out */
    const char *key;    /* of the page's forms; "": it has none, but tells commands */
    const char *notice; /* stands above all; "": none */
};

/* Appends the page of a status document (status_text.h). What it lacks is left out. */
void page_html(const json_t *document, const struct page_view *view, struct bytes *out);
/* The page that says why there is none. */
void page_html_trouble(const char *text, struct bytes *out);
/* Appends the document's metrics: names and units as Prometheus asks for them, base units, and
 * _total behind what only grows since the service's start. */
void page_html_metrics(const json_t *document, struct bytes *out);

/* A list of a folder, whose path is "results/..." as it was asked for: its entries, in an array
 * that is taken over. */
json_t *page_html_entry(const char *name, bool is_folder, uint64_t bytes, time_t changed);
void page_html_folder(const char *path, const char *search, json_t *entries, size_t n_more,
                      struct bytes *out);

#endif
