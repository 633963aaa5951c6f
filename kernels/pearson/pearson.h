/*
 * pearson - Pearson's correlation coefficient of every pair of series.
 *
 *   r(i, j) = sum_t z_i[t] z_j[t],   z_i[t] = (x_i[t] - mean_i) / sqrt(M2_i)
 *
 * Two ways in:
 *  - series in rows, all of a series at once: standardize() panels, then gram() of a panel with the
 *    panels before it, as they arrive; turn() makes rows of series that came in columns;
 *  - series in columns that do not fit into memory, a slab of samples of every series at a time:
 *    columns_add() accumulates the co-moments and forgets the slab, so that memory does not grow
 *    with the number of samples; column_gaps.h is for those with missing ones.
 *
 * Both end in a matrix (kernels/matrix/matrix.h).
 *
 * Every coefficient is clamped to [-1, 1]; it is NaN when moments_degenerate() holds for either
 * series, or (missing values) when fewer samples are common than moments_least_count() or one
 * series is constant on the common samples, or too small there for its squares to be doubles.
 *
 * The same input gives the same bits on every run of one backend, whatever the number of threads.
 */
#ifndef LEAT_KERNELS_PEARSON_PEARSON_H
#define LEAT_KERNELS_PEARSON_PEARSON_H

#include "kernels/matrix/matrix.h"
#include "kernels/means/means.h"

/* How r is taken and stored: EXACT as double; F32 as float, and pairs that matter are computed
 * once more by exact_pairs. */
enum pearson_precision { PEARSON_EXACT, PEARSON_F32 };

/* The absolute error of r stays within this for N <= 2^20 samples of any finite values, and grows
 * with N beyond: EXACT no faster than N / 2^20, F32 than sqrt(N) 2^-10; `gaps`: of
 * pairs of which one series has missing samples. In columns always within that of EXACT, in slabs
 * of 256 samples or more. Each backend derives its own where it takes the products. */
static inline double pearson_bound(enum pearson_precision precision, bool gaps)
{
    return precision == PEARSON_F32 ? 1e-6 : gaps ? 1e-10 : 1e-12;
}

/* The type of the matrix's elements. */
static inline enum dtype pearson_dtype(enum pearson_precision precision)
{
    return precision == PEARSON_EXACT ? DTYPE_F64 : DTYPE_F32;
}

/* The most samples of a series in a row: what is beneath the products, BLAS and the device's tensor
 * copies, counts them in 31 bits. Series in columns have no such limit. */
#define PEARSON_SAMPLES_MAX (((size_t)1 << 31) - 4096)

/* x -> increments: none; x[t+1] - x[t]; log(x[t+1] / x[t]) (NaN where the ratio is not positive).
 */
enum pearson_diff { PEARSON_DIFF_NONE, PEARSON_DIFF_STEP, PEARSON_DIFF_LOG };

/* n consecutive series, standardized; x: the series as standardize() got them, none where they were
 * not kept. */
struct pearson_side {
    struct span z, x;
    size_t first, n;
};

/* Series of which a part of the samples is there at a time. */
struct pearson_part {
    struct span sums; /* what the parts before have added; none: z has all samples */
    size_t n_samples; /* of all parts */
};

/* Rows of the matrix, j = a.first .. a.first + a.n - 1, by columns i = b.first .. b.first + b.n -
 * 1, and the series that they are made of. */
struct pearson_panel {
    enum pearson_precision precision; /* of the matrix */
    size_t n_samples;
    struct pearson_side a, b;
    enum dtype x_type; /* of both sides' x */
    struct moments moments;
    size_t lag; /* of gram in the exact form, below n_samples: sample t + lag of side a meets sample
                   t of side b, and what has no partner counts nothing; see pearson_overlaps, too */
    struct span later; /* where lag > 0: working memory for a.n times what z has beyond doubles */
    struct pearson_part part; /* of gram_gaps */
    struct span r; /* element (j, i) at (j - a.first) * width + i; b.first + b.n <= width */
    size_t width;
    bool ranks; /* the series are average ranks; gram_gaps ranks what two of them have in common */
};

/* Groups of `size` series each, one behind the other, of which only series of one group make pairs:
 * n blocks on the diagonal of a matrix. */
struct pearson_blocks {
    size_t n, size, n_samples;
    struct span z; /* n size series in the exact form */
    struct span r; /* [n][size][size] doubles */
};
enum { PEARSON_BLOCK_MOST = 256 }; /* the largest size */

/* The element of a pair whose sums cancel: no coefficient. */
#define PEARSON_UNSURE 2.0

/* Sums over the samples that two series have in common: count, x, y, x^2, y^2, x y. */
struct pearson_sums {
    double n, x, y, xx, yy, xy;
};

/* A pair, and its sums about a point; where that is NaN the first samples that both have become it.
 */
struct pearson_pair {
    uint32_t i, j;
    double about_i, about_j;
    struct pearson_sums sums;
};

/* Lines of a table whose columns are the series: sample t of series s is number t * n_series + s.
 */
struct pearson_slab {
    struct span at;
    enum dtype type;
    size_t n_series, n_samples;
};

/* Levels of significance, and what of each pair they follow from (significance_rule.h). */
struct pearson_levels {
    size_t n;               /* at least 1 */
    const double *r;        /* [n], host, ascending: |r| of a pair of all samples, ... */
    const double *strength; /* ... [n], host, ascending: -ln p of such a pair */
    double bound;           /* coefficients of pairs with gaps may be as much smaller */
    size_t n_samples;
    const double *count;     /* [n_series], host: samples of each series; NULL: all */
    const uint64_t *present; /* host: a bit a sample, significance_words() a series with gaps; NULL:
                                pairs of two such series have as few samples as they can, ... */
    size_t min_samples;      /* ... but no fewer than these */
};

/* |r| at two lags are a tie within so much. */
#define PEARSON_LAG_TIE 1e-12

/* All but the last samples of series, the heads, and all but the first ones of some of them, the
 * tails; in standard form, which serves further lags, too: what these leave of a series is
 * corrected by its own mean and norm, as long as the square of that norm is PEARSON_LEAST_LEFT at
 * least. */
#define PEARSON_LEAST_LEFT 0.875
enum { PEARSON_LAGS_AT_ONCE = 64 /* so that the sums over what they take away have few terms */ };
struct pearson_overlaps {
    struct span heads, tails; /* in the exact form, n_samples each */
    size_t n_heads, n_tails, n_samples;
    struct moments moments; /* those of the tails follow those of the heads */
    struct span ends;       /* [PEARSON_LAGS_AT_ONCE][n_heads + n_tails] */
    struct span unserved;   /* uint32_t, 0 at first: how many of the lags some series needs again */
};
/* What a further lag leaves of a series: the sum of it, and 1 / its norm. */
struct pearson_end {
    double sum, by;
};

/* Products of tails with heads at `further` lags beyond theirs, [n_tails][n_heads], when the tails
 * are `lag` samples behind, at least 1; and the panels of best r (f64) and its lag (f32) of pairs
 * (j, i), i < j, which have these rows j and begin with the first of them: j0 <= j < j0 + n_j, i0
 * <= i < i0 + n_i, element (j, i) at (j - j0) * pitch + i. The lag of j behind i is asked for where
 * `plus`, and known where j has a tail; that of i, which is minus that, where `minus` and i has
 * one. */
struct pearson_lagged {
    struct pearson_overlaps of;
    size_t further;
    struct span products;
    size_t first; /* series of the tails */
    int lag;
    bool minus, plus, without_0; /* without_0: as of pearson_keep_lag (pearson_rule.h) */
    size_t j0, n_j, i0, n_i;
    struct span r, lags;
    size_t pitch;
};

struct pearson_kernels {
    /* Makes rows of columns: sample t of series s becomes number s * stride + t of `out`, in the
     * slab's type; stride >= n_samples. The slab and `out` do not overlap. */
    enum status (*turn)(struct queue *q, const struct pearson_slab *slab, struct span out,
                        size_t stride) STATUS_MUST_CHECK;

    /* Increments along rows: rows of x->n_samples - 1 doubles in out. */
    enum status (*diff_rows)(struct queue *q, const struct series_rows *x, enum pearson_diff diff,
                             struct span out) STATUS_MUST_CHECK;

    /* Average ranks along rows, from 1 on: equal samples share the mean of theirs, NaN stays NaN;
     * rows of x->n_samples doubles in out, which may be x. Takes rank_bytes() besides. */
    enum status (*rank_rows)(struct queue *q, const struct series_rows *x,
                             struct span out) STATUS_MUST_CHECK;
    size_t (*rank_bytes)(const struct queue *q, size_t n_series, size_t n_samples);
    /* About how many samples of pairs gram_gaps() ranks again in a second: a core, or the device.
     */
    double rank_rate;

    /* Bytes that standardize() on this queue writes for each series, a multiple of 16. */
    size_t (*z_bytes)(const struct queue *q, enum pearson_precision precision, size_t n_samples);

    /* Centres and scales rows to unit norm, in double, into the form that gram() takes; the norm is
     * computed again from the centred values and replaces MEAN (corrected) and M2 in the moments;
     * LAG1 is filled. Missing samples become 0; a degenerate series becomes all 0. In the exact
     * form z begins with n_samples doubles, and a missing sample is -0.0 while no present one is.
     * `moments` has the series of x. Where z_in_place holds, z may be x, doubles as far apart as
     * z's, in the exact form. */
    bool z_in_place;
    enum status (*standardize)(struct queue *q, enum pearson_precision precision,
                               const struct series_rows *x, struct moments moments,
                               struct span z) STATUS_MUST_CHECK;

    /* The coefficients of a panel, from z in the form of its precision. a.n and b.n need not be
     * whole panels. Where a.z is b.z's tail (the diagonal), elements i >= j may be left undefined.
     * STATUS_TOO_LARGE beyond PEARSON_SAMPLES_MAX. */
    enum status (*gram)(struct queue *q, const struct pearson_panel *panel) STATUS_MUST_CHECK;

    /* The products of z in many small blocks at once, each a diagonal; their other elements may
     * change, too. They are coefficients but for rounding and degenerate series, whose are 0. */
    enum status (*gram_blocks)(struct queue *q, const struct pearson_blocks *b) STATUS_MUST_CHECK;
    /* Elements of r that are worth a call where the matrix is swept. */
    size_t sweep_cells;

    /* About how many multiplications and additions a second gram() does on this queue; for choices
     * that change no bits. */
    double (*rate)(const struct queue *q, enum pearson_precision precision);

    /* Rewrites the elements of which either series has missing samples, by the pairwise-complete
     * formula, from z in the exact form. Adds to *n_unsure the pairs whose common samples lie so
     * far from the mean of a series that z does not tell them apart, and that x was not there for;
     * their coefficients are undefined; of ranks there are none. Waits. */
    enum status (*gram_gaps)(struct queue *q, const struct pearson_panel *panel,
                             uint64_t *n_unsure) STATUS_MUST_CHECK;

    /* Bytes of the sums of a panel whose series come in parts, which begin as zeros. gram_gaps then
     * takes x instead of z: n_samples of each series, whose sums about MEAN it adds. With none it
     * writes the coefficients (of EXACT), PEARSON_UNSURE where sums cancel, which *n_unsure counts.
     */
    size_t (*gaps_bytes)(size_t n_a, size_t n_b);
    /* Adds the samples of x, a part of them, to the sums of n pairs (struct pearson_pair), i and j
     * in any order. */
    enum status (*pairs_add)(struct queue *q, const struct series_rows *x, struct span pairs,
                             size_t n) STATUS_MUST_CHECK;

    /* Computes n pairs in double from the series themselves (x as standardize got it, the first
     * being series 0), within the bound of EXACT; sets pairs[k].r. `pairs` is host memory; waits.
     */
    enum status (*exact_pairs)(struct queue *q, const struct series_rows *x, struct moments moments,
                               struct matrix_pair *pairs, size_t n) STATUS_MUST_CHECK;

    /* Fills the ends of what serves, and `unserved`, PEARSON_LAGS_AT_ONCE - 1 at most. */
    enum status (*overlaps)(struct queue *q, const struct pearson_overlaps *o) STATUS_MUST_CHECK;
    /* Keeps of each pair the lag of the larger |r|. */
    enum status (*keep_lag)(struct queue *q, const struct pearson_lagged *l) STATUS_MUST_CHECK;

    /* counts[k]: the pairs that reach level k, and no higher one. Waits. */
    enum status (*count_levels)(struct queue *q, const struct matrix *m,
                                const struct pearson_levels *levels,
                                uint64_t *counts) STATUS_MUST_CHECK;

    /* --- series in columns ------------------------------------------------------------------- */

    /* Accumulators for n_series columns, which take columns_bytes(), for slabs of up to
     * slab_samples. */
    size_t (*columns_bytes)(size_t n_series, size_t slab_samples);
    enum status (*columns_new)(struct queue *q, size_t n_series, size_t slab_samples,
                               enum pearson_diff diff, void **state) STATUS_MUST_CHECK;
    void (*columns_free)(struct queue *q, void *state);
    /* Adds a slab: sample t of series s is slab[t * n_series + s], t < n_samples <= slab_samples.
     * The results depend on how the samples were cut into slabs only within rounding; the caller
     * cuts them by shape alone. The increments of `diff` across slabs are seen to. */
    enum status (*columns_add)(struct queue *q, void *state, struct span slab, enum dtype type,
                               size_t n_samples) STATUS_MUST_CHECK;
    /* Fills moments (all fields, entries 0 .. n_series - 1) and the panels (f64) of the matrix;
     * pairs of which a series has missing samples are left to column_gaps.h, but of up to
     * columns_few series. Comes last. */
    enum status (*columns_finish)(struct queue *q, void *state, struct moments moments,
                                  const struct matrix *matrix) STATUS_MUST_CHECK;
    /* Few series, which take their slabs on all cores, and pairs with missing samples at once;
     * after the end columns_common sets r of n pairs to the number of samples they have in common.
     * 0: there is no such road. */
    size_t columns_few;
    void (*columns_common)(const void *state, struct matrix_pair *pairs, size_t n);
};

#endif
