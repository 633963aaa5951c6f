/*
 * blocks - the coefficients inside given groups of series: the blocks on the diagonal of a matrix,
 * of which nothing else is computed.
 *
 * The series of a group are copied together. Groups of up to PEARSON_BLOCK_MOST series are
 * multiplied many at a time, those of one size together.
 */
#ifndef LEAT_KERNELS_PEARSON_BLOCKS_H
#define LEAT_KERNELS_PEARSON_BLOCKS_H

#include "kernels/pearson/correlate.h"

/* The members of group g are those from start[g] on, before start[g + 1]: numbers of series, in
 * ascending order. All arrays are the host's. */
struct blocks {
    size_t n;
    const size_t *start;     /* [n + 1] */
    const uint32_t *members; /* [start[n]] */
    struct moments moments;  /* of all series */
    bool gaps;               /* some series has fewer samples than all */
    double *r;               /* the condensed triangle of each group, one behind the other */
    const uint64_t *at;      /* [n + 1]: where each begins */
};

/* After correlate_end, of series that are alone: fills b->r. *n_unsure as of correlate_gaps. */
enum status blocks_find(struct correlation *c, const struct blocks *b,
                        uint64_t *n_unsure) STATUS_MUST_CHECK;
/* Counts what that takes at most, of n series in groups of up to `side`. */
enum status blocks_count(struct correlation *c, size_t n, size_t side,
                         struct room *room) STATUS_MUST_CHECK;

#endif
