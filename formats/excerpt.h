/*
 * excerpt - text that comes from files and archives, made fit for messages and names.
 */
#ifndef LEAT_FORMATS_EXCERPT_H
#define LEAT_FORMATS_EXCERPT_H

#include <stdbool.h>
#include <stddef.h>

/* Text as messages show it: bytes that are no UTF-8, and controls, spelt \xNN; cut with "..." where
 * it does not fit. */
struct excerpt {
    char text[64];
};
struct excerpt excerpt_of(const void *text, size_t n);

/* True when text[0 .. n) is UTF-8 without control characters. */
bool excerpt_is_clean(const void *text, size_t n);

/* Makes text fit for names, in place: bytes that are no UTF-8, and controls, become '?'. */
void excerpt_clean(char *text, size_t n);

#endif
