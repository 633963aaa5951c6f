/*
 * table_codes - the rules of table_watch.h, and what they find; for formats/table/table_watch.c.
 */
#ifndef LEAT_FORMATS_TABLE_TABLE_CODES_H
#define LEAT_FORMATS_TABLE_TABLE_CODES_H

#include "formats/base/excerpt.h"
#include "formats/table/table_extremes.h"
#include "formats/table/table_watch.h"

enum { TABLE_CODES = 8, TABLE_CODE_NAMES = 5 }; /* that are told apart; series that are named */

struct table_code {
    double value;
    bool is_low; /* the lowest value, else the highest */
    size_t n_series;
    uint64_t n_times[TABLE_CODE_NAMES]; /* of the first of them */
    struct excerpt names[TABLE_CODE_NAMES];
};

struct table_findings {
    struct table_code codes[TABLE_CODES];
    size_t n_codes;
    struct table_count counts[TABLE_WATCH_LISTED];
    size_t n_counts;
    bool has_rising; /* the first series: */
    struct table_count rising;
};

/* Whether a value is a code wherever it is met. */
bool table_codes_is_known(double v);
/* Whether the outermost value on one side, of n_times, looks like a code. */
bool table_codes_is_code(const struct table_extremes *e, bool is_low);
/* Whether the rules find anything in a series: codes, or that it goes one way. */
bool table_codes_has(const struct table_extremes *e, const struct table_course *c);
/* Adds what they find. */
void table_codes_find(const struct table_extremes *e, const struct table_course *c, size_t series,
                      struct excerpt name, struct table_findings *found);
/* Adds one, of a series of that name. */
void table_codes_add(struct table_findings *found, double value, bool is_low, uint64_t n_times,
                     struct excerpt name);
/* What to do about codes, the shortest first, with its NUL; is_set: missing_value is given. */
enum status table_codes_cure(const struct table_code *codes, size_t n, bool is_set,
                             struct bytes *out) STATUS_MUST_CHECK;
/* The sentence on a code, of series of that kind, column or row. */
enum status table_codes_say(const struct table_code *c, const char *kind, bool is_set,
                            struct bytes *out) STATUS_MUST_CHECK;

#endif
