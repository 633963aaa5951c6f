/*
 * page_html - the status document as a page, and lists of folders.
 *
 * Complete without a script. Every address in it is relative, so that a proxy may put it beneath
 * any path. All text of the document is escaped twice: for readers, as the log does
 * (excerpt_escape), and for HTML.
 */
#ifndef LEAT_PIPELINE_PAGE_PAGE_HTML_H
#define LEAT_PIPELINE_PAGE_PAGE_HTML_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends text as HTML shows it, between tags or in quoted attributes. STATUS_NO_MEMORY, here and
 * below. */
enum status page_html_text(const char *text, struct bytes *out) STATUS_MUST_CHECK;
/* Appends a path as a part of an address: bytes but letters, digits and -._~/ stand as %XX. */
enum status page_html_path(const char *path, struct bytes *out) STATUS_MUST_CHECK;

/* The page of a status document (status_text.h). What it lacks is left out. */
enum status page_html(const json_t *document, struct bytes *out) STATUS_MUST_CHECK;
/* The page that says why there is none. */
enum status page_html_trouble(const char *title, const char *text,
                              struct bytes *out) STATUS_MUST_CHECK;

/* A list of a folder, whose path is "results/..." as it was asked for: its begin, an entry, its
 * end. */
enum status page_html_begin_list(const char *path, struct bytes *out) STATUS_MUST_CHECK;
enum status page_html_entry(const char *name, bool is_folder, uint64_t bytes,
                            struct bytes *out) STATUS_MUST_CHECK;
enum status page_html_end_list(size_t n_more, struct bytes *out) STATUS_MUST_CHECK;

#endif
