/*
 * numbers - several numbers in one text: numbers at equal distances, to the bit those of
 * numpy.linspace, or a list.
 */
#ifndef LEAT_FORMATS_BASE_NUMBERS_H
#define LEAT_FORMATS_BASE_NUMBERS_H

#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct numbers {
    double first, last; /* not of a list */
    uint64_t n;
    bool are_dates;   /* in seconds, as of moment.h */
    const char *list; /* the text that it was parsed from, which has to stay; NULL: none */
};

#define NUMBERS_MOST UINT64_C(1000000000000000)

/* Parses "linspace(a, b, n)": n from 1 to NUMBERS_MOST, and b - a a double; "a:b:step": a, a + step
 * and so on up to b; or "a, b, ...". With `dates` those of a list and of a linspace may be dates
 * and times. STATUS_BAD_ARGUMENT; the message says what is wrong with `text`, which follows `key`.
 */
enum status numbers_parse(const char *key, const char *text, bool dates,
                          struct numbers *out) STATUS_MUST_CHECK;
/* Numbers from + 0 .. from + n - 1 of the line or list, which there are. */
void numbers_fill(const struct numbers *line, uint64_t from, size_t n, double *out);

#endif
