/*
 * page_template - a file of HTML with places in braces, filled from JSON.
 *
 *   {{KEY}}               the text or number at KEY, escaped (excerpt_html)
 *   {{FORM KEY}}          as a path of an address, a size, a duration, an age, what is
 *                         left, a time, or a word of a shell
 *   {{#KEY}} ... {{/KEY}} for each entry of an array; once, of an object; once, if it is true, a
 *                         number but 0, or a text but ""
 *   {{^KEY}} ... {{/KEY}} if it is none of those
 *
 * KEY is of the object that a section is of; "@KEY" of the whole document; "." the entry itself.
 * What is missing, or of another type, is left out. A page is small: without memory for it the
 * process ends (xalloc.h).
 */
#ifndef LEAT_PIPELINE_PAGE_PAGE_TEMPLATE_H
#define LEAT_PIPELINE_PAGE_PAGE_TEMPLATE_H

#include "formats/base/bytes.h"

#include <jansson.h>

/* Appends the template, filled. */
void page_template(const char *text, const json_t *document, struct bytes *out);
/* Appends a path as a part of an address: bytes but letters, digits and -._~/ stand as %XX. */
void page_template_path(const char *path, struct bytes *out);
/* Appends n bytes. */
void page_put(struct bytes *out, const void *text, size_t n);

#endif
