/*
 * rows_runner - series in rows, correlated by kernels and by the reference, on the backend under
 * test.
 */
#ifndef LEAT_TESTS_ROWS_RUNNER_H
#define LEAT_TESTS_ROWS_RUNNER_H

#include "kernels/pearson/pearson.h"
#include "kernels/pearson/pearson_rule.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/reference.h"

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

/* A run, in the order of its making. */
struct run {
    struct series_rows x;
    struct span z, z_exact;
    uint64_t n_unsure;
    struct moments moments;
    struct under_test_matrix matrix;
};

static inline void run_panel(const struct rows *c, struct run *r, size_t p)
{
    const struct pearson_kernels *k = under_test_ops()->pearson;
    const size_t z_row = k->z_bytes(under_test_queue, c->precision, c->n_samples);
    const size_t exact_row = k->z_bytes(under_test_queue, PEARSON_EXACT, c->n_samples);
    const size_t x_row = c->n_samples * dtype_bytes(c->type);
    const size_t first = p * c->panel, width = matrix_panel_width(p, c->panel, c->n_series);
    struct pearson_panel panel = {.precision = c->precision,
                                  .n_samples = c->n_samples,
                                  .a = {.first = first, .n = width - first},
                                  .x_type = c->type,
                                  .moments = r->moments,
                                  .r = r->matrix.panels[p],
                                  .width = width};
    panel.a.z = span_from(r->z, first * z_row);
    /* in two pieces, as panels arrive: what came before, then the diagonal */
    if (first > 0) {
        panel.b = (struct pearson_side){.z = r->z, .n = first};
        ASSERT_OK(k->gram(under_test_queue, &panel));
    }
    panel.b = panel.a;
    ASSERT_OK(k->gram(under_test_queue, &panel));
    if (c->gaps) {
        panel.a.z = span_from(r->z_exact, first * exact_row);
        panel.b = (struct pearson_side){.z = r->z_exact, .n = width};
        if (!c->without_x) {
            panel.a.x = span_from(r->x.at, first * x_row);
            panel.b.x = r->x.at;
        }
        ASSERT_OK(k->gram_gaps(under_test_queue, &panel, &r->n_unsure));
    }
}

static inline void run_rows(const struct rows *c, struct run *r)
{
    const struct pearson_kernels *k = under_test_ops()->pearson;
    size_t z_row = k->z_bytes(under_test_queue, c->precision, c->n_samples);
    size_t exact_row = k->z_bytes(under_test_queue, PEARSON_EXACT, c->n_samples);
    assert_int_equal(z_row % 16, 0);
    r->x = (struct series_rows){under_test_put_numbers(c->x, c->n_series * c->n_samples, c->type),
                                c->type,
                                c->n_series,
                                c->n_samples,
                                0,
                                0};
    r->z = under_test_room(c->n_series * z_row + 64);
    r->z_exact = under_test_room(c->n_series * exact_row + 64);
    r->n_unsure = 0;
    r->moments = (struct moments){.at = under_test_room(moments_bytes(c->n_series)),
                                  .capacity = c->n_series};
    r->matrix = under_test_matrix(c->n_series, c->panel, pearson_dtype(c->precision));
    ASSERT_OK(under_test_ops()->means->rows(under_test_queue, &r->x, r->moments));
    ASSERT_OK(k->standardize(under_test_queue, PEARSON_EXACT, &r->x, r->moments, r->z_exact));
    ASSERT_OK(k->standardize(under_test_queue, c->precision, &r->x, r->moments, r->z));
    under_test_untouched(r->z, c->n_series * z_row);
    for (size_t p = 0; p < r->matrix.n_panels; ++p) {
        run_panel(c, r, p);
    }
}

static inline void run_done(struct run *r)
{
    under_test_matrix_done(&r->matrix);
    under_test_release(r->x.at);
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
