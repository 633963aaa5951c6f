/*
 * table_codes - the rules of table_watch.h, and what they find: of series; of the numbers of a
 * grid, one series, those that look like codes for missing ones beside the NODATA of the file.
 *
 * A grid may hold several codes. So each number that reads like one is set aside and compared with
 * the rest, as table_watch.h says of a series; one cell of it is as good as two, since no height
 * lies far from all others.
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

/* Whether the rules find anything in a series: codes, or that it goes one way. */
bool table_codes_has(const struct table_extremes *e, const struct table_course *c);
/* Adds what they find. */
void table_codes_find(const struct table_extremes *e, const struct table_course *c, size_t series,
                      struct excerpt name, struct table_findings *found);
/* What to do about codes, the shortest first, with its NUL; is_set: missing_value is given. */
enum status table_codes_cure(const struct table_code *codes, size_t n, bool is_set,
                             struct bytes *out) STATUS_MUST_CHECK;
/* The sentence on a code, of series of that kind, column or row. */
enum status table_codes_say(const struct table_code *c, const char *kind, bool is_set,
                            struct bytes *out) STATUS_MUST_CHECK;

/* --- heights ---------------------------------------------------------------------------------- */

enum { TABLE_HEIGHTS_ASIDE = 32 }; /* values; more are taken as heights */

struct table_heights {
    double nodata; /* cells that match it are passed over; NaN always */
    struct table_extremes rest;
    struct {
        double value;
        uint64_t n_times;
    } aside[TABLE_HEIGHTS_ASIDE];
    size_t n_aside;
    bool is_full; /* a value had no place there */
};

void table_heights_begin(struct table_heights *h, double nodata);
void table_heights_take(struct table_heights *h, const struct table_chunk *chunk, enum dtype type);
/* Adds the heights that follow, of which none has been without its place: the same as if they had
 * been taken one by one. */
void table_heights_merge(struct table_heights *h, const struct table_heights *more);
/* Adds what looks like a code, with its cells as n_times[0], the numbers nearest to 0 first.
 * known_only: of what reads like one alone, since other numbers may well lie far from the rest, as
 * a landslide's thickness from 0. */
void table_heights_find(const struct table_heights *h, bool known_only,
                        struct table_findings *found);
/* "-9999 (2 cells) looks like a code for missing WHAT, far from all others", without a NUL; nothing
 * where there are none. STATUS_NO_MEMORY. */
enum status table_heights_list(const struct table_findings *found, const char *what,
                               struct bytes *out) STATUS_MUST_CHECK;

#endif
