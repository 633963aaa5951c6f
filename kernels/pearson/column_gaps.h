/*
 * column_gaps - pairs of series in columns of which one or both have missing samples, after
 * columns_finish: their slabs come again, as often as column_gaps_end() says.
 *
 * First all sums about the means of the series (gram_gaps). Pairs whose common samples lie so far
 * from these that the sums cancel are then taken by themselves, about the first sample that they
 * have in common, and those of which that is an outlier once more, about their own means. So a
 * table is read two times, or four; where more pairs cancel than are taken at a time, two times
 * more for each as many.
 *
 * Error of r for N samples in slabs of S, P = min(S, 4096), u = 2^-53: 192 times that of the sums,
 * (P + N / P) u at most (pearson_rule.h), 9.3e-11 for N = 2^20.
 */
#ifndef LEAT_KERNELS_PEARSON_COLUMN_GAPS_H
#define LEAT_KERNELS_PEARSON_COLUMN_GAPS_H

#include "kernels/base/room.h"
#include "kernels/pearson/pearson.h"

struct column_gaps {
    struct queue *queue;
    size_t n_samples;    /* of a series, after diff */
    size_t slab_samples; /* lines of a slab, at most */
    enum dtype type;
    enum pearson_diff diff;
    struct moments moments; /* complete */
    struct matrix matrix;   /* f64; its pairs with gaps are filled in */

    struct span levels, before; /* with diff: a slab turned, after the line before it; that line */
    struct span x;              /* the slab's samples or increments, series by series */
    struct span sums;           /* of each panel; later of pairs */
    double *row;                /* of the matrix */
    struct pearson_pair *pairs; /* that are taken by themselves: n, at most `most`; ... */
    size_t most, n;
    bool is_second;   /* ... about their means */
    size_t next;      /* the row in which others may be left */
    bool takes_pairs; /* in this pass */
    size_t n_lines;   /* that have come in it */
};

/* Counts or takes its memory; of *g the fields up to `matrix` are set, where it counts without
 * addresses. */
enum status column_gaps_room(struct column_gaps *g, struct room *room) STATUS_MUST_CHECK;
/* As of columns_add, in the same slabs or others. */
enum status column_gaps_add(struct column_gaps *g, struct span slab,
                            size_t n_lines) STATUS_MUST_CHECK;
/* A pass has ended. *again: the slabs are wanted once more; else the matrix is complete. Waits. */
enum status column_gaps_end(struct column_gaps *g, bool *again) STATUS_MUST_CHECK;

/* After that, instead: begins a pass that counts the samples which n pairs have in common, g->most
 * at most; after it, r of each is that number. Wait. */
enum status column_gaps_count(struct column_gaps *g, const struct matrix_pair *pairs,
                              size_t n) STATUS_MUST_CHECK;
enum status column_gaps_counted(struct column_gaps *g, struct matrix_pair *pairs) STATUS_MUST_CHECK;

#endif
