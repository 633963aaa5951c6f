/*
 * percent - names, which are bytes, as ASCII text: control characters, '%' and bytes beyond ASCII
 * stand as %XX, two capital hexadecimal digits.
 */
#ifndef LEAT_FORMATS_BASE_PERCENT_H
#define LEAT_FORMATS_BASE_PERCENT_H

#include "formats/base/status.h"

/* The text, for free(); NULL: no memory. */
char *percent_encode(const char *name);

/* The name that the text stands for, for free(); what is not %XX stands for itself.
 * STATUS_BAD_INPUT: two such digits do not follow on a '%', or they are 00; STATUS_NO_MEMORY. *out
 * is then NULL. */
enum status percent_decode(const char *text, char **out) STATUS_MUST_CHECK;

#endif
