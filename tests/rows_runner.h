/*
 * rows_runner - series in rows, correlated by kernels and by the reference, on the backend under
 * test.
 */
#ifndef LEAT_TESTS_ROWS_RUNNER_H
#define LEAT_TESTS_ROWS_RUNNER_H

#include "kernels/pearson/pearson.h"
#include "kernels/pearson/pearson_rule.h"
#include "tests/backend_under_test.h"
#include "tests/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rows {
    size_t n_series, n_samples, panel;
    enum dtype type;
    enum pearson_precision precision;
    bool gaps;      /* call gram_gaps as well */
    bool without_x; /* ... which is not given the series as they came */
    const double *x;
};

static inline double *room(size_t n)
{
    double *x = calloc(n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static inline size_t n_pairs(size_t n_series)
{
    return n_series * (n_series - 1) / 2;
}

/* Spans of a run, in the order of its making. */
struct run {
    struct span x, z, z_exact;
    uint64_t n_unsure;
    struct moments moments;
    struct under_test_matrix matrix;
};

static inline void run_rows(const struct rows *c, struct run *r)
{
    const struct pearson_kernels *k = under_test_ops()->pearson;
    size_t z_row = k->z_bytes(c->precision, c->n_samples);
    size_t exact_row = k->z_bytes(PEARSON_EXACT, c->n_samples);
    assert_int_equal(z_row % 16, 0);
    r->x = under_test_put_numbers(c->x, c->n_series * c->n_samples, c->type);
    r->z = under_test_room(c->n_series * z_row + 64);
    r->z_exact = under_test_room(c->n_series * exact_row + 64);
    r->n_unsure = 0;
    r->moments = (struct moments){under_test_room(moments_bytes(c->n_series)), c->n_series};
    r->matrix = under_test_matrix(c->n_series, c->panel,
                                  c->precision == PEARSON_EXACT ? DTYPE_F64 : DTYPE_F32);
    ASSERT_OK(under_test_ops()->means->rows(under_test_queue, r->x, c->type, c->n_series,
                                            c->n_samples, r->moments, 0));
    ASSERT_OK(k->standardize(under_test_queue, PEARSON_EXACT, r->x, c->type, c->n_series,
                             c->n_samples, r->moments, 0, r->z_exact));
    ASSERT_OK(k->standardize(under_test_queue, c->precision, r->x, c->type, c->n_series,
                             c->n_samples, r->moments, 0, r->z));
    under_test_untouched(r->z, c->n_series * z_row);
    for (size_t p = 0; p < r->matrix.n_panels; ++p) {
        size_t first = p * c->panel, width = matrix_panel_width(p, c->panel, c->n_series);
        struct span panel = r->matrix.panels[p];
        /* in two pieces, as panels arrive: what came before, then the diagonal */
        if (first > 0) {
            ASSERT_OK(k->gram(under_test_queue, c->precision, c->n_samples,
                              span_from(r->z, first * z_row), first, width - first, r->z, 0, first,
                              r->moments, panel, width));
        }
        ASSERT_OK(k->gram(under_test_queue, c->precision, c->n_samples,
                          span_from(r->z, first * z_row), first, width - first,
                          span_from(r->z, first * z_row), first, width - first, r->moments, panel,
                          width));
        if (c->gaps) {
            size_t x_row = c->n_samples * dtype_bytes(c->type);
            struct pearson_side a = {
                .z = span_from(r->z_exact, first * exact_row), .first = first, .n = width - first};
            struct pearson_side b = {.z = r->z_exact, .n = width};
            if (!c->without_x) {
                a.x = span_from(r->x, first * x_row);
                b.x = r->x;
            }
            ASSERT_OK(k->gram_gaps(under_test_queue, c->n_samples, &a, &b, c->type, r->moments,
                                   panel, width, r->matrix.m.type, &r->n_unsure));
        }
    }
}

static inline void run_done(struct run *r)
{
    under_test_matrix_done(&r->matrix);
    under_test_release(r->x);
    under_test_release(r->z);
    under_test_release(r->z_exact);
    under_test_release(r->moments.at);
}

/* The condensed coefficients of one run. */
static inline double *coefficients(const struct rows *c)
{
    struct run r;
    double *got = room(n_pairs(c->n_series));
    run_rows(c, &r);
    under_test_condensed(&r.matrix, got);
    run_done(&r);
    return got;
}

static inline void check(const struct rows *c, double bound)
{
    double *got = coefficients(c), *want = room(n_pairs(c->n_series));
    reference_condensed(c->x, c->n_series, c->n_samples, want);
    for (size_t k = 0; k < n_pairs(c->n_series); ++k) {
        if (!reference_near(got[k], want[k], bound)) {
            print_error("pair %zu of %zu series x %zu: %.17g, not %.17g\n", k, c->n_series,
                        c->n_samples, got[k], want[k]);
            fail();
        }
        assert_false(fabs(got[k]) > 1);
    }
    free(got);
    free(want);
}

#endif
