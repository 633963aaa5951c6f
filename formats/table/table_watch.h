/*
 * table_watch - looks at the numbers of a table as they pass, for what its reader cannot mean: a
 * number that stands for a missing one, and a series that only counts.
 *
 * A code: a value other than 0 that is the lowest or the highest of its series and lies far from
 * the rest, which has two values at least. With `gap` to the nearest value, `next` from that to the
 * one after it, and `range` of the rest, either
 *   - it reads like a code, a whole number of nines but for its first digit (-99, 999, 7999; 999.9,
 *     too), the end of a type of integers (-32768, 65535), beyond 1e15, or a whole number below 0
 *     where the rest is not; it is there twice or more, gap >= 10 next, and gap >= range / 10
 *     (which nines below 0 are spared where the rest is not below 0);
 *   - it is any other whole number but a power of ten below 1e7, is there three times or more and
 *     makes at most half of the series, and gap > 10 range, or 3 range for a lowest value below 0;
 *   - or it is there once, by as wide a gap, and is 999 or more of nines, an end of a type, or
 *     beyond 1e15.
 * Zeros, counts, limits of scales, and values of which a series has but two are never taken for
 * one; but heights may all be alike beside theirs.
 *
 * A count: ten numbers or more, none missing, all of which go up, or all down, in steps that are
 * multiples of the smallest, within a thousandth of that, and no more than a quarter of them
 * larger. What only goes up or down is told of the first series.
 */
#ifndef LEAT_FORMATS_TABLE_TABLE_WATCH_H
#define LEAT_FORMATS_TABLE_TABLE_WATCH_H

#include "formats/base/bytes.h"
#include "formats/base/excerpt.h"
#include "formats/table/table.h"

struct table_watch;

/* Tables with more series across their lines are not looked at. Of arrays the first numbers are, so
 * many at most: they come faster than one thread looks at them, and few have been typed. Counts
 * among those of an array that goes on are not told. */
enum { TABLE_WATCH_SERIES = 1 << 15, TABLE_WATCH_OF_ARRAYS = 1 << 21 };

/* What a series is: a column of the table's lines, which have a number of each; a line; or all
 * there is, heights, of which table_watch_heights() and table_watch_range() tell. */
enum table_watch_series { TABLE_WATCH_ACROSS, TABLE_WATCH_LINES, TABLE_WATCH_HEIGHTS };

/* `info` is borrowed, with its names. STATUS_NO_MEMORY. */
enum status table_watch_new(const struct table_info *info, enum table_watch_series series,
                            struct table_watch **out) STATUS_MUST_CHECK;
/* NULL is fine. */
void table_watch_free(struct table_watch *w);
/* What it holds where that is much, when n_threads look at chunks; else, and for NULL, 0. */
size_t table_watch_bytes(const struct table_watch *w, size_t n_threads);

/* Looks at a chunk's numbers, once it has been decoded: on any thread, many chunks at once, in any
 * order. Such a look is then taken with its chunk. NULL: there was no memory, or nothing to do. */
struct table_look;
struct table_look *table_watch_look(struct table_watch *w, const struct table_chunk *chunk);
/* NULL is fine. */
void table_look_free(struct table_look *l);

/* The next chunk, in file order, decoded, with the look at it; without one, NULL, its numbers are
 * looked at now. STATUS_NO_MEMORY. */
enum status table_watch_take(struct table_watch *w, const struct table_chunk *chunk,
                             const struct table_look *seen) STATUS_MUST_CHECK;

/* What was found once all chunks have been taken, for series in their order. A NULL watch has found
 * nothing. */

/* A series that counts. */
struct table_count {
    size_t series;       /* from 0 */
    struct excerpt name; /* column 'time', or column 3 */
    double first, last, step;
    bool has_gaps; /* steps are multiples of that */
};
/* The k-th of them, of which the first TABLE_WATCH_LISTED are kept; false: there are not so many.
 */
enum { TABLE_WATCH_LISTED = 64 };
bool table_watch_count(struct table_watch *w, size_t k, struct table_count *out);
/* All of them. */
size_t table_watch_n_counts(struct table_watch *w);
/* Whether the first series only goes up or down, and does not count. */
bool table_watch_rises(struct table_watch *w, struct table_count *out);

/* The lowest and the highest of heights that is neither NODATA nor reads like a code; false where
 * there is none. */
bool table_watch_range(const struct table_watch *w, double *low, double *high);
/* Appends a sentence, with its NUL, on those of the heights that look like codes, where some do:
 * they are compared with the others one by one, and one cell is enough. STATUS_NO_MEMORY. */
enum status table_watch_heights(struct table_watch *w, struct bytes *out) STATUS_MUST_CHECK;

/* Appends a sentence, with its NUL, for each number that looks like a code. STATUS_NO_MEMORY. */
enum status table_watch_codes(struct table_watch *w, struct bytes *out) STATUS_MUST_CHECK;

#endif
