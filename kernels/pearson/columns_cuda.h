/*
 * columns_cuda - the state of series in columns, shared by its two files: columns_cuda (products
 * and results) and column_slab_cuda (what is taken from a slab).
 */
#ifndef LEAT_KERNELS_PEARSON_COLUMNS_CUDA_H
#define LEAT_KERNELS_PEARSON_COLUMNS_CUDA_H

#include "kernels/means/moments_cuda.h"
#include "kernels/pearson/columns_rule.h"
#include "kernels/pearson/pearson_cuda.h"

enum { COLUMNS_CHUNK = 64 };  /* samples that one thread takes of a column */
enum { COLUMNS_PANEL = 512 }; /* rows of a panel of co-moments */

/* Of every series, on the device; n_series of each. */
struct columns_series {
    part_moments *all, *slab;       /* so far; of the slab in hand */
    columns_lag *lag;               /* so far */
    double *last_raw;               /* the last sample before diff */
    double *last;                   /* the last sample after diff; NaN: missing */
    double *slab_first, *slab_last; /* those of the slab in hand */
    part_moments *chunk_moments;    /* [chunks][n_series] */
    columns_lag *chunk_lag;
};

struct columns {
    size_t n_series, slab_samples, n_chunks;
    enum pearson_diff diff;
    size_t n_total; /* samples (or increments) so far */
    bool started;   /* last_raw is filled */
    unsigned turn;  /* of y */

    struct span small, y[2], triangle;
    struct columns_series at;
};

/* Bytes of the panels of co-moments, and where panel p begins. */
size_t columns_panel_at(size_t n_series, size_t p);

/* All of the state that the kernels of a slab write. */
static inline struct queue_access columns_access(const struct columns *c)
{
    return queue_writes(c->small.at, c->small.bytes);
}

/* column_slab_cuda: the state of no samples; takes a slab of n_raw samples, *n after diff, into y
 * and into the totals. */
enum status cuda_column_slab_start(struct cuda_queue *q, struct columns *c) STATUS_MUST_CHECK;
enum status cuda_column_slab_take(struct cuda_queue *q, struct columns *c, struct span slab,
                                  enum dtype type, size_t n_raw, size_t *n) STATUS_MUST_CHECK;

#endif
