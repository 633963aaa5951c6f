/*
 * table_extremes - of many series at once, as their numbers come: the outermost three values on
 * either side, and how often the outermost came; of one series, whether it counts. For
 * table_watch.c.
 */
#ifndef LEAT_FORMATS_TABLE_TABLE_EXTREMES_H
#define LEAT_FORMATS_TABLE_TABLE_EXTREMES_H

#include "formats/base/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_extremes {
    double low[3], high[3]; /* the lowest values, the lowest first; the highest; or infinite */
    uint64_t n_low, n_high; /* how often low[0] and high[0] came */
    uint64_t n;             /* numbers, with those that are missing */
};

/* Of no numbers. */
void table_extremes_begin(struct table_extremes *e);

/* One number, which is not NaN, for the outermost values alone. */
void table_extremes_place(struct table_extremes *e, double v);

/* Adds what there is of other numbers of the same series; in which order does not matter. */
void table_extremes_merge(struct table_extremes *e, const struct table_extremes *more);

/* Numbers of n series: n_lines lines, `stride` numbers from one to the next, with a number of each,
 * the first at `first`. */
struct table_tile {
    const void *values;
    enum dtype type;
    size_t first, n, n_lines, stride;
};
/* Adds them to e[0 .. n). */
void table_extremes_take(struct table_extremes *e, const struct table_tile *t);

/* The course of one series, number by number in order. */
struct table_course {
    double first, step, last; /* while it rises: of its numbers; the smallest step */
    uint64_t n, n_steps;      /* numbers while it rises; steps as small as that */
    bool counts, has_steps;   /* all are; all are multiples of it, as table_watch.h says, so far */
    bool rises;               /* each goes the way of the first one; the others are false if not */
};
void table_course_begin(struct table_course *c);
/* Follows the first series of the tile. */
void table_course_take(struct table_course *c, const struct table_tile *t);

#endif
