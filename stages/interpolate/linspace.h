/*
 * linspace - numbers at equal distances, to the bit those of numpy.linspace; or a list of numbers.
 */
#ifndef LEAT_STAGES_INTERPOLATE_LINSPACE_H
#define LEAT_STAGES_INTERPOLATE_LINSPACE_H

#include "formats/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct linspace {
    double first, last; /* not of a list */
    uint64_t n;
    const char *list; /* the text that it was parsed from, which has to stay; NULL: none */
};

#define LINSPACE_MOST UINT64_C(1000000000000000)

/* Parses "linspace(a, b, n)": n from 1 to LINSPACE_MOST, and b - a a double; or "a, b, ...".
 * STATUS_BAD_ARGUMENT; the message says what is wrong with `text`, which follows `key`. */
enum status linspace_parse(const char *key, const char *text,
                           struct linspace *out) STATUS_MUST_CHECK;
/* Numbers from + 0 .. from + n - 1 of them, which there are. */
void linspace_fill(const struct linspace *line, uint64_t from, size_t n, double *out);

#endif
