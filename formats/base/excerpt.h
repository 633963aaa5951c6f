/*
 * excerpt - text that comes from files and archives, made fit for messages and names.
 */
#ifndef LEAT_FORMATS_BASE_EXCERPT_H
#define LEAT_FORMATS_BASE_EXCERPT_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Text as messages show it: bytes that are not UTF-8, and controls, spelt \xNN; cut with "..."
 * where it does not fit. */
struct excerpt {
    char text[64];
};
struct excerpt excerpt_of(const void *text, size_t n);

/* Text as logs and pages show it, of any length: as above, and what steers a line is spelt \xNN,
 * too (U+2028, U+2029, and the marks that turn the direction of writing: U+200E, U+200F, U+202A to
 * U+202E, U+2066 to U+2069). dst has room for 4 * strlen(text) + 1. Returns the length. */
size_t excerpt_escape(char *dst, const char *text);
/* The first character of text, which is not "", the same way: moves text past what was spelt.
 * Returns how many bytes of dst were set. */
size_t excerpt_escape_next(char dst[4], const char **text);

/* Appends the text so, and so that nothing in it is markup of HTML, between tags or in quoted
 * attributes. STATUS_NO_MEMORY. */
enum status excerpt_html(const char *text, struct bytes *out) STATUS_MUST_CHECK;

/* True when text[0 .. n) is UTF-8 without control characters. */
bool excerpt_is_clean(const void *text, size_t n);

/* Makes text fit for names, in place: bytes that are not UTF-8, and controls, become '?'. */
void excerpt_clean(char *text, size_t n);

#endif
