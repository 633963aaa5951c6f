/*
 * summary_entry - keys and values of a job's result.json.
 */
#ifndef LEAT_FORMATS_RESULT_SUMMARY_ENTRY_H
#define LEAT_FORMATS_RESULT_SUMMARY_ENTRY_H

#include "formats/base/status.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct summary_entry {
    const char *key;
    json_t *value; /* NULL: could not be made */
};

/* Values of entries; NULL without memory. A number that JSON has not (NaN, infinite) is null. */
json_t *summary_integer(uint64_t n);
json_t *summary_real(double value);
json_t *summary_integers(const uint64_t *values, size_t n);
json_t *summary_reals(const double *values, size_t n);

/* Sets them all; the values are taken over in every case. STATUS_NO_MEMORY, also where a value is
 * NULL. */
enum status summary_entry_put(json_t *object, const struct summary_entry *entries,
                              size_t n) STATUS_MUST_CHECK;

#endif
