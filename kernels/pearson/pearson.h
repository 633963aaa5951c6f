/*
 * pearson - Pearson's correlation coefficient of every pair of series.
 *
 *   r(i, j) = sum_t z_i[t] z_j[t],   z_i[t] = (x_i[t] - mean_i) / sqrt(M2_i)
 *
 * Two ways in:
 *  - series in rows, all of a series at once: standardize() panels, then gram() of a panel with the
 *    panels before it, as they arrive;
 *  - series in columns, a slab of samples of every series at a time: columns_add() accumulates the
 *    co-moments and forgets the slab, so that memory does not grow with the number of samples.
 *
 * Both end in a matrix (kernels/matrix/matrix.h).
 *
 * Every coefficient is clamped to [-1, 1]; it is NaN when moments_degenerate() holds for either
 * series, or (missing values) when fewer than two samples are common or one series is constant on
 * the common samples, or too small there for its squares to be doubles.
 *
 * The same input gives the same bits on every run of one backend, whatever the number of threads.
 */
#ifndef LEAT_KERNELS_PEARSON_PEARSON_H
#define LEAT_KERNELS_PEARSON_PEARSON_H

#include "kernels/matrix/matrix.h"
#include "kernels/means/means.h"

/* How r is taken and stored: EXACT as double; F32 as float, and pairs that matter are taken again
 * by exact_pairs. */
enum pearson_precision { PEARSON_EXACT, PEARSON_F32 };

/* The absolute error of r stays within this for N <= 2^20 samples of any finite values; in columns
 * always within that of EXACT, in slabs of 256 samples or more; of pairs of which one series has
 * missing samples within 1e-10, and the rounding to float where it is stored so. Each backend
 * derives its own where it takes the products. */
static inline double pearson_bound(enum pearson_precision precision)
{
    return precision == PEARSON_EXACT ? 1e-12 : 1e-6;
}

/* The most samples of a series in a row: what is beneath the products, BLAS and the device's tensor
 * copies, counts them in 31 bits. Series in columns have no such limit. */
#define PEARSON_SAMPLES_MAX (((size_t)1 << 31) - 4096)

/* x -> increments: none; x[t+1] - x[t]; log(x[t+1] / x[t]) (NaN where the ratio is not positive).
 */
enum pearson_diff { PEARSON_DIFF_NONE, PEARSON_DIFF_STEP, PEARSON_DIFF_LOG };

/* n consecutive series: in the exact form, and as standardize() got them; x is none where they were
 * not kept. */
struct pearson_side {
    struct span z, x;
    size_t first, n;
};

struct pearson_kernels {
    /* Increments along rows: n_series rows of n_samples of type `type` in x give n_series rows of
     * n_samples - 1 doubles in out. */
    enum status (*diff_rows)(struct queue *q, struct span x, enum dtype type, size_t n_series,
                             size_t n_samples, enum pearson_diff diff,
                             struct span out) STATUS_MUST_CHECK;

    /* Bytes that standardize() writes for each series, a multiple of 16. */
    size_t (*z_bytes)(enum pearson_precision precision, size_t n_samples);

    /* Centres and scales rows to unit norm, in double, into the form that gram() takes; the norm is
     * taken again from the centred values and replaces MEAN (corrected) and M2 in the moments; LAG1
     * is filled. Missing samples become 0; a degenerate series becomes all 0. In the exact form z
     * begins with n_samples doubles, and a missing sample is -0.0 while no present one is.
     * `moments` has been filled for entries first .. first + n_series - 1. */
    enum status (*standardize)(struct queue *q, enum pearson_precision precision, struct span x,
                               enum dtype type, size_t n_series, size_t n_samples,
                               struct moments moments, size_t first,
                               struct span z) STATUS_MUST_CHECK;

    /* Coefficients of panel rows j = first_a .. first_a + n_a - 1 (z in za) with series
     * i = first_b .. first_b + n_b - 1 (z in zb), into the panel `r` of leading dimension `width`
     * (r[(j - first_a) * width + i]). n_a and n_b need not be whole panels; first_b + n_b <= width.
     * Where za is zb's tail (the diagonal), elements i >= j may be left undefined.
     * STATUS_TOO_LARGE beyond PEARSON_SAMPLES_MAX. */
    enum status (*gram)(struct queue *q, enum pearson_precision precision, size_t n_samples,
                        struct span za, size_t first_a, size_t n_a, struct span zb, size_t first_b,
                        size_t n_b, struct moments moments, struct span r,
                        size_t width) STATUS_MUST_CHECK;

    /* Rewrites, in the same panel, the elements of which either series has missing samples, by the
     * pairwise-complete formula. `type` is the panel's, x_type that of both sides' x. Adds to
     * *n_unsure the pairs whose common samples lie so far from the mean of a series that z does not
     * tell them apart, and that x was not there for; their coefficients are undefined. Waits. */
    enum status (*gram_gaps)(struct queue *q, size_t n_samples, const struct pearson_side *a,
                             const struct pearson_side *b, enum dtype x_type,
                             struct moments moments, struct span r, size_t width, enum dtype type,
                             uint64_t *n_unsure) STATUS_MUST_CHECK;

    /* Takes n pairs again in double from the series themselves (rows of x as standardize got them):
     * within 1e-12, pairs with missing samples within 1e-10; sets pairs[k].r. `pairs` is host
     * memory; waits. */
    enum status (*exact_pairs)(struct queue *q, struct span x, enum dtype type, size_t n_samples,
                               struct moments moments, struct matrix_pair *pairs,
                               size_t n) STATUS_MUST_CHECK;

    /* --- series in columns ------------------------------------------------------------------- */

    /* Accumulators for n_series columns; missing values are kept pairwise, with extra memory and
     * products only for series that have gaps. The state takes columns_bytes() without gaps, for
     * slabs of up to slab_samples; it grows with every series that shows one, up to columns_bytes()
     * with gaps (STATUS_NO_MEMORY names bytes). */
    size_t (*columns_bytes)(size_t n_series, size_t slab_samples, bool gaps);
    enum status (*columns_new)(struct queue *q, size_t n_series, size_t slab_samples,
                               enum pearson_diff diff, void **state) STATUS_MUST_CHECK;
    void (*columns_free)(struct queue *q, void *state);
    /* Adds a slab: sample t of series s is slab[t * n_series + s], t < n_samples <= slab_samples.
     * The results depend on how the samples were cut into slabs only within rounding; the caller
     * cuts them by shape alone. The increments of `diff` across slabs are seen to. The slab stays
     * as it is until the next call of columns_add, or columns_finish, has returned. */
    enum status (*columns_add)(struct queue *q, void *state, struct span slab, enum dtype type,
                               size_t n_samples) STATUS_MUST_CHECK;
    /* Fills moments (all fields, entries 0 .. n_series - 1) and the panels (f64) of the matrix. */
    enum status (*columns_finish)(struct queue *q, void *state, struct moments moments,
                                  const struct matrix *matrix) STATUS_MUST_CHECK;
};

#endif
