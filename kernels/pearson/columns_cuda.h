/*
 * columns_cuda - the state of series in columns, shared by its three files: cuda_columns
 * (products and results), cuda_column_slab (what is taken from a slab), and cuda_column_gaps (pairs
 * with a series that has gaps).
 */
#ifndef LEAT_KERNELS_PEARSON_COLUMNS_CUDA_H
#define LEAT_KERNELS_PEARSON_COLUMNS_CUDA_H

#include "kernels/means/moments_cuda.h"
#include "kernels/pearson/columns_rule.h"
#include "kernels/pearson/pearson_cuda.h"

enum { COLUMNS_CHUNK = 64 };  /* samples that one thread takes of a column */
enum { COLUMNS_PANEL = 512 }; /* rows of a panel of co-moments */
enum { COLUMNS_COMPLETE = -1 };

/* Of every series, on the device; n_series of each. */
struct columns_series {
    part_moments *all, *slab; /* so far, without the slab in hand; of the slab */
    columns_lag *lag;         /* so far */
    double *last_raw,
        *before_raw; /* the last sample before diff: so far; before the slab in hand */
    double *last;    /* the last sample after diff; NaN: missing */
    double *slab_first, *slab_last; /* those of the slab in hand */
    int *slot;                      /* its place among those with gaps, or COLUMNS_COMPLETE */
    part_moments *chunk_moments;    /* [chunks][n_series] */
    columns_lag *chunk_lag;
};

/* A slab as it came: sample t after diff of series s. */
struct slab_view {
    const void *x;
    enum dtype type;
    size_t n_series, n; /* n: samples after diff */
    size_t skip;        /* samples before the first one that diff needs none of */
    enum pearson_diff diff;
    const double *last_raw; /* the samples before the slab */
};

struct columns {
    size_t n_series, slab_samples, n_chunks;
    enum pearson_diff diff;
    size_t n_total; /* samples (or increments) so far */
    bool started;   /* last_raw is filled */
    unsigned turn;
    size_t pending; /* samples of the slab that has been centred and not yet taken; 0: none */
    struct slab_view slab; /* that slab as it came; last_raw: before_raw */
    uint64_t pending_scan; /* the operation that counts them */

    struct span small, y[2], triangle;
    struct columns_series at;
    double *host_count; /* page-locked: present samples of every series in the slab */

    /* series with gaps */
    size_t n_gapped, capacity;
    int *slot;   /* on the host, as on the device */
    int *gapped; /* by slot, on the host */
    struct span gapped_there;
    struct span pairs; /* [capacity][PAIR_FIELDS][n_series] */
};

/* Bytes of the panels of co-moments, and where panel p begins. */
size_t columns_panel_at(size_t n_series, size_t p);

/* The most that gaps add: pairs of every series, those of the half as many that they are copied
 * from when they grow, and the working memory of a slab. */
size_t cuda_column_gaps_bytes(size_t n_series, size_t slab_samples);
/* All of the state that the kernels of a slab write. */
static inline struct queue_access columns_access(const struct columns *c)
{
    return queue_writes(c->small.at, c->small.bytes);
}

/* cuda_column_slab: the state of no samples; takes a slab of n_raw samples into y and the slab's
 * moments, and makes it pending; joins the pending slab to the totals. */
enum status cuda_column_slab_start(struct cuda_queue *q, struct columns *c) STATUS_MUST_CHECK;
enum status cuda_column_slab_take(struct cuda_queue *q, struct columns *c, struct span slab,
                                  enum dtype type, size_t n_raw) STATUS_MUST_CHECK;
enum status cuda_column_slab_merge(struct cuda_queue *q, struct columns *c) STATUS_MUST_CHECK;

/* cuda_column_gaps. Gives slots to series with a first gap in the slab of n samples; `all` and the
 * triangle are still without it. */
enum status cuda_column_gaps_admit(struct cuda_queue *q, struct columns *c,
                                   size_t n) STATUS_MUST_CHECK;
/* Adds the slab in y, n samples about their means, to every pair with a slot; `all` is still
 * without it. c->slab is the same as it came. */
enum status cuda_column_gaps_add(struct cuda_queue *q, struct columns *c, const double *y,
                                 size_t n) STATUS_MUST_CHECK;

#ifdef __CUDACC__

template <typename T>
__device__ __forceinline__ double slab_sample(const slab_view &v, size_t t, size_t s)
{
    const T *x = (const T *)v.x;
    const size_t raw = t + v.skip;
    const double here = (double)x[raw * v.n_series + s];
    if (v.diff == PEARSON_DIFF_NONE) {
        return here;
    }
    const double before = raw > 0 ? (double)x[(raw - 1) * v.n_series + s] : v.last_raw[s];
    return pearson_increment(before, here, v.diff);
}

/* Element (j, i) of the triangle. */
__device__ __forceinline__ size_t columns_element(size_t n_series, size_t j, size_t i)
{
    const size_t p = j / COLUMNS_PANEL, end = (p + 1) * COLUMNS_PANEL;
    const size_t width = end < n_series ? end : n_series;
    return (size_t)COLUMNS_PANEL * COLUMNS_PANEL * (p * (p + 1) / 2) +
           (j - p * COLUMNS_PANEL) * width + i;
}

#endif

#endif
