/*
 * matrix - a matrix of coefficients, one for each pair of series, and what is asked of it.
 *
 * It is the lower triangle in panels of rows. Panel p holds the rows
 * j in [p * panel, min((p + 1) * panel, n_series)), each with leading dimension
 * matrix_panel_width(p, panel, n_series); element (j, i), i < j, is at
 * (j - p * panel) * width + i. Elements with i >= j are undefined. Coefficients lie in [-1, 1], or
 * are NaN where there is none ("undefined").
 *
 * A band of it has the rows from `first` on alone, and the panels before them are not looked at;
 * condensed() and heatmap() take whole matrices.
 *
 * The functions wait, and answer in host memory.
 */
#ifndef LEAT_KERNELS_MATRIX_MATRIX_H
#define LEAT_KERNELS_MATRIX_MATRIX_H

#include "kernels/backend.h"

struct matrix {
    size_t n_series;
    size_t panel;              /* rows in a panel, >= 1 */
    enum dtype type;           /* f64 or f32 */
    const struct span *panels; /* ceil(n_series / panel) of them */
    size_t first;              /* of a band: a whole number of panels; else 0 */
    double *most;              /* NULL, or host memory for a number of each row from `first` on:
                                  survey() may leave the largest |r| of the row there, for select()
                                  to pass over rows by; so that must not come before it */
};

static inline size_t matrix_panel_width(size_t p, size_t panel, size_t n_series)
{
    size_t end = (p + 1) * panel;
    return end < n_series ? end : n_series;
}

/* Pairs i < j of n series. */
static inline uint64_t matrix_n_pairs(uint64_t n)
{
    return n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
}

/* Pairs of a matrix, or of a band. */
static inline uint64_t matrix_band_pairs(const struct matrix *m)
{
    return matrix_n_pairs(m->n_series) - matrix_n_pairs(m->first);
}

/* A pair i < j and its coefficient. */
struct matrix_pair {
    uint32_t i, j;
    double r;
};

/* Host memory for pairs. */
struct matrix_pairs {
    struct matrix_pair *at;
    size_t capacity, n;
};

enum { MATRIX_BINS = 64 };

/* Statistics of the whole matrix, over pairs i < j. */
struct matrix_survey {
    uint64_t n_pairs, n_undefined;   /* undefined: NaN */
    uint64_t histogram[MATRIX_BINS]; /* of r on [-1, 1]; bin floor((r + 1) * 32), r = 1 in the
                                         last; NaN in none */
    double mean_abs;                 /* mean of |r| over defined pairs; NaN when there are none */
};

/* The matrix averaged down to side x side cells, side <= n_series, row by row, both triangles. Cell
 * (a, b) averages the defined r of series at the places floor(a * n / side) .. with those at
 * floor(b * n / side) .., and one on the diagonal has a 1 for each series that counts with itself,
 * too; NaN when there is none. */
struct matrix_picture {
    size_t side;
    const uint32_t *order; /* [n_series] the series at each place; NULL: of the place's number */
    const uint32_t *ones;  /* [side] of the series of cell (a, a), so many count with themselves */
    float *cells;
};

struct matrix_kernels {
    /* Whole-matrix statistics, and for each series the median of |r| over its defined pairs (NaN
     * when there are none; the mean of the two middle ones when their number is even), into
     * median_abs[n_series]; and the median of |r| over all defined pairs, likewise. Of a band, and
     * where median_abs is NULL, there are no medians. */
    enum status (*survey)(struct queue *q, const struct matrix *m, struct matrix_survey *out,
                          double *median_abs, double *median_abs_all) STATUS_MUST_CHECK;
    /* The k-th largest |r| (k >= 1); the smallest defined one when there are fewer than k; NaN when
     * there is none. */
    enum status (*kth_abs)(struct queue *q, const struct matrix *m, uint64_t k,
                           double *out) STATUS_MUST_CHECK;
    /* Every pair with |r| >= cut (never NaN), ordered by i, then j. Sets out->n to their full
     * number; at most out->capacity of them are written, and with capacity < n which ones is
     * undefined (ask again). */
    enum status (*select)(struct queue *q, const struct matrix *m, double cut,
                          struct matrix_pairs *out) STATUS_MUST_CHECK;
    /* Elements [first, first + n) of the condensed upper triangle (row by row: (0,1), (0,2) ..,
     * SciPy's squareform), in the matrix's type, to host memory. Several threads at once. */
    enum status (*condensed)(struct queue *q, const struct matrix *m, uint64_t first, size_t n,
                             void *dst) STATUS_MUST_CHECK;
    enum status (*heatmap)(struct queue *q, const struct matrix *m,
                           const struct matrix_picture *picture) STATUS_MUST_CHECK;
};

#endif
