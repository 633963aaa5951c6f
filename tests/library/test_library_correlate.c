/*
 * library_correlate - correlations of libleat, on the backend of LEAT_TEST_BACKEND.
 * ctest: tsan=yes
 */
#include "tests/support/library_support.h"

TEST(coefficients_are_those_of_the_formula)
{
    struct leat_context *const c = context();
    struct series *const s = series_new();
    const struct leat_array x = rows_of(s);
    struct leat_correlate_options o = LEAT_CORRELATE_DEFAULTS;
    o.top = 10;
    for (int precision = LEAT_EXACT; precision <= LEAT_F32; precision++) {
        o.precision = (enum leat_precision)precision;
        struct leat_correlate_result *r = correlate(c, &x, &o);
        assert_int_equal(r->n_series, SERIES);
        assert_int_equal(r->n_samples, SAMPLES);
        assert_int_equal(r->n_undefined, SERIES - 1);
        check_r(s, r, precision == LEAT_EXACT ? 1e-10 : 1e-6);
        assert_true(r->count[9] == SAMPLES - 36 && r->count[8] == SAMPLES);
        assert_true(r->min[3] == 5 && r->max[3] == 5 && r->mean[3] == 5 && r->m2[3] == 0);
        assert_true(isnan(r->median_abs[3]) && r->median_abs[2] > 0 && fabs(r->lag1[2]) < 0.3);
        assert_int_equal(r->n_pairs, 10);
        for (size_t k = 0; k < r->n_pairs; k++) {
            const struct leat_pair p = r->pairs[k];
            assert_true(p.i < p.j && fabs(p.r - r_of(s->x[p.i], s->x[p.j])) <= 1e-10);
            assert_true(k == 0 || fabs(p.r) <= fabs(r->pairs[k - 1].r));
        }
        assert_true(r->pairs[0].i % 4 == 3 && r->pairs[0].j % 4 == 3);
        leat_correlate_free(r);
    }
    leat_correlate_free(NULL);
    free(s);
    leat_close(c);
}

TEST(rows_that_lie_apart_and_what_is_not_wanted_change_no_coefficient)
{
    struct leat_context *const c = context();
    struct series *const s = series_new();
    const struct leat_array x = rows_of(s);
    const struct leat_array narrow = LEAT_ARRAY(s->narrow, LEAT_F4, SERIES, SAMPLES);
    struct leat_array apart = LEAT_ARRAY(s->apart, LEAT_F8, SERIES, SAMPLES);
    struct leat_correlate_options o = LEAT_CORRELATE_DEFAULTS;
    apart.row_bytes = sizeof s->apart[0];
    struct leat_correlate_result *a = correlate(c, &x, NULL), *b = correlate(c, &apart, NULL);
    assert_memory_equal(a->r, b->r, PAIRS * sizeof(double));
    assert_memory_equal(a->mean, b->mean, SERIES * sizeof(double));
    assert_true(a->n_pairs == 0 && a->pairs == NULL);
    leat_correlate_free(b);
    b = correlate(c, &narrow, NULL); /* in another order of additions, maybe */
    check_r(s, b, 1e-10);
    leat_correlate_free(b);
    o.without_r = 1;
    o.top = PAIRS + 5;
    b = correlate(c, &x, &o);
    assert_null(b->r);
    assert_int_equal(b->n_pairs, PAIRS - (SERIES - 1));
    leat_correlate_free(b);
    o.min_samples = SAMPLES; /* the series with gaps has none then */
    b = correlate(c, &x, &o);
    assert_int_equal(b->n_undefined, SERIES - 1 + SERIES - 2);
    leat_correlate_free(b);
    leat_correlate_free(a);
    free(s);
    leat_close(c);
}

/* Of ranks any rising function of a series has the same coefficients. */
TEST(ranks_are_of_the_order_alone)
{
    struct leat_context *const c = context();
    struct series *const s = series_new();
    const struct leat_array x = rows_of(s);
    struct leat_correlate_options o = LEAT_CORRELATE_DEFAULTS;
    o.method = LEAT_SPEARMAN;
    struct leat_correlate_result *a = correlate(c, &x, &o), *plain = correlate(c, &x, NULL);
    for (size_t k = 0; k < (size_t)SERIES * SAMPLES; k++) {
        s->x[0][k] = exp(3 * s->x[0][k]);
    }
    struct leat_correlate_result *b = correlate(c, &x, &o);
    assert_memory_equal(a->r, b->r, PAIRS * sizeof(double));
    assert_true(memcmp(a->r, plain->r, PAIRS * sizeof(double)) != 0);
    assert_true(a->mean[8] == (SAMPLES + 1) / 2.0 && a->max[8] == SAMPLES); /* all differ */
    leat_correlate_free(a);
    leat_correlate_free(b);
    leat_correlate_free(plain);
    free(s);
    leat_close(c);
}

/* Series s is series 0 moved by (s % 7) - 3 samples, and noise of itself. */
TEST(of_each_pair_the_best_lag_is_found)
{
    enum { MOVED = 40, LONG = 300 };
    static double x[MOVED][LONG], y[MOVED * 2][LONG];
    struct leat_context *const c = context();
    struct leat_array rows = LEAT_ARRAY(x, LEAT_F8, MOVED, LONG);
    struct leat_correlate_options o = LEAT_CORRELATE_DEFAULTS;
    struct leat_correlate_result *none;
    for (size_t s = 0; s < MOVED; s++) {
        for (size_t t = 0; t < LONG; t++) {
            x[s][t] = uniform(1000 + t - s % 7) + 0.2 * uniform(5000 + s * LONG + t);
            y[2 * s][t] = x[s][t];
        }
    }
    o.lag_first = -4;
    o.lag_last = 6;
    o.top = 3;
    struct leat_correlate_result *r = correlate(c, &rows, &o);
    for (size_t i = 0, k = 0; i < MOVED; i++) {
        for (size_t j = i + 1; j < MOVED; j++, k++) {
            const int lag = (int)(j % 7) - (int)(i % 7);
            if (lag >= o.lag_first) {
                assert_int_equal(r->lag[k], lag);
                assert_true(r->r[k] > 0.9);
            } else {
                assert_true(fabs(r->r[k]) < 0.5 && r->lag[k] >= -4 && r->lag[k] <= 6);
            }
        }
    }
    assert_true(r->n_pairs == 3 && r->pairs[0].r > 0.9 && r->n_undefined == 0);
    rows.data = y; /* other rows between them, and without r */
    rows.row_bytes = sizeof y[0] * 2;
    o.without_r = 1;
    struct leat_correlate_result *apart = correlate(c, &rows, &o);
    assert_null(apart->r);
    assert_memory_equal(apart->lag, r->lag, (size_t)MOVED * (MOVED - 1) / 2 * sizeof *r->lag);
    assert_memory_equal(apart->pairs, r->pairs, 3 * sizeof *r->pairs);
    leat_correlate_free(apart);
    leat_correlate_free(r);
    y[4][7] = NAN;
    assert_int_equal(leat_correlate(c, &rows, &o, &none), LEAT_BAD_INPUT);
    assert_non_null(strstr(leat_error(c), "row 2 (the first is 0) has missing samples"));
    o.lag_last = LONG - 2;
    assert_int_equal(leat_correlate(c, &rows, &o, &none), LEAT_BAD_ARGUMENT);
    o.lag_last = -5;
    assert_int_equal(leat_correlate(c, &rows, &o, &none), LEAT_BAD_ARGUMENT);
    o.lag_last = 2;
    o.method = LEAT_SPEARMAN;
    assert_int_equal(leat_correlate(c, &rows, &o, &none), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "lags are not sought of ranks"));
    leat_close(c);
}

/* So many that they are taken in two parts. */
TEST(of_many_series_each_is_taken_once)
{
    enum { MANY = 600, FEW = 16 };
    static double x[MANY][FEW], apart[MANY][FEW + 1];
    struct leat_context *const c = context();
    const struct leat_array dense = LEAT_ARRAY(x, LEAT_F8, MANY, FEW);
    struct leat_array other = LEAT_ARRAY(apart, LEAT_F8, MANY, FEW);
    other.row_bytes = sizeof apart[0];
    for (size_t i = 0; i < MANY; i++) {
        for (size_t t = 0; t < FEW; t++) {
            x[i][t] = apart[i][t] = uniform(i * FEW + t);
        }
    }
    for (int method = LEAT_PEARSON; method <= LEAT_SPEARMAN; method++) {
        struct leat_correlate_options o = LEAT_CORRELATE_DEFAULTS;
        o.method = (enum leat_method)method;
        struct leat_correlate_result *a = correlate(c, &dense, &o), *b = correlate(c, &other, &o);
        assert_memory_equal(a->r, b->r, MANY * (MANY - 1) / 2 * sizeof(double));
        for (size_t i = 0; i < MANY && method == LEAT_PEARSON; i++) {
            double sum = 0;
            for (size_t t = 0; t < FEW; t++) {
                sum += x[i][t];
            }
            assert_near(a->mean[i], sum / FEW, FEW * 0x1p-52);
        }
        leat_correlate_free(a);
        leat_correlate_free(b);
    }
    leat_close(c);
}

TEST(what_is_wrong_with_series_is_said)
{
    struct leat_context *const c = context();
    struct series *const s = series_new();
    struct leat_array x = rows_of(s);
    struct leat_correlate_options o = LEAT_CORRELATE_DEFAULTS;
    struct leat_correlate_result *r;
    s->x[12][4] = -INFINITY;
    assert_int_equal(leat_correlate(c, &x, NULL, &r), LEAT_BAD_INPUT);
    assert_non_null(strstr(leat_error(c), "row 12 (the first is 0) has infinite samples"));
    assert_null(r);
    s->x[12][4] = 1e300;
    assert_int_equal(leat_correlate(c, &x, NULL, &r), LEAT_BAD_INPUT);
    assert_non_null(strstr(leat_error(c), "row 12 (the first is 0) has samples too large"));
    s->x[12][4] = 0;
    o.min_samples = 1;
    assert_int_equal(leat_correlate(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    o.min_samples = 0;
    o.top = SIZE_MAX;
    assert_int_equal(leat_correlate(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    o.top = 0;
    o.precision = (enum leat_precision)2;
    assert_int_equal(leat_correlate(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    o.precision = LEAT_EXACT;
    o.method = (enum leat_method)2;
    assert_int_equal(leat_correlate(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    x.rows = 1;
    assert_int_equal(leat_correlate(c, &x, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "rows"));
    x = rows_of(s);
    x.columns = 1;
    assert_int_equal(leat_correlate(c, &x, NULL, &r), LEAT_BAD_ARGUMENT);
    x = rows_of(s);
    x.row_bytes = (size_t)0 - sizeof s->x[0]; /* from the last to the first, as NumPy's x[::-1] */
    assert_int_equal(leat_correlate(c, &x, NULL, &r), LEAT_BAD_ARGUMENT);
    x = rows_of(s);
    x.memory = (enum leat_memory)2;
    assert_int_equal(leat_correlate(c, &x, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_correlate(c, NULL, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_correlate(c, &x, NULL, NULL), LEAT_BAD_ARGUMENT);
    free(s);
    leat_close(c);
}

int main(void)
{
    return has_backend() ? unit_run(NULL, NULL) : 77;
}
