/*
 * The best lag of each pair and r there, against r of every lag by definition: hostile series, any
 * panels and ranges. Runs on the backend that $LEAT_TEST_BACKEND names.
 * ctest: small=asan
 */
#include "kernels/pearson/lags.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/correlate_taken.h"
#include "tests/support/reference.h"

#include <math.h>
#include <stdlib.h>

enum kind {
    NOISE,
    WALKS,
    SHIFTED,
    PERIODIC,
    CONSTANT_HEADS,
    FLOATS,
    SPIKED_ENDS,
    SPIKED,
    TOO_LARGE_ENDS,
    FEW_LEFT
};

struct shape {
    size_t n_series, n_samples, panel;
    int first, last;
    enum kind kind;
};

static size_t least_of(const struct shape *s)
{
    return s->kind == FEW_LEFT ? s->n_samples - 3 : 0;
}

static double *rows_of(const struct shape *s)
{
    const size_t n = s->n_samples;
    double *const x = calloc(s->n_series * n, sizeof *x);
    assert_non_null(x);
    (s->kind == WALKS ? reference_walks : reference_noise)(9, s->n_series, n, x);
    for (size_t k = 0; k < s->n_series * n; k++) {
        const size_t i = k / n, t = k % n;
        switch (s->kind) {
        case SHIFTED: /* the first series, each 1 sample further behind */
            x[k] = i > 0 && t >= i ? x[t - i] * (i % 2 ? -1 : 2) : x[k];
            break;
        case PERIODIC:
            x[k] = sin(2 * 3.14159265358979 * (double)((t + 2 * i) % 6) / 6);
            break;
        case CONSTANT_HEADS: /* but for the last samples of every second, the first of others */
            x[k] = (i % 2 ? t + 2 < n : t >= 2) ? 1e4 : x[k];
            break;
        case SPIKED_ENDS: /* what a lag takes away outweighs the rest, or does not */
            x[k] += t == i % 5 ? 1e4 : n - 1 - t == i % 7 ? -30 : 0;
            break;
        case SPIKED:
            x[k] += t == n / 2 + i ? 1e4 : 0;
            break;
        case TOO_LARGE_ENDS: /* too large a variance, which a lag takes away */
            x[k] = (i % 3 == 0 && t + 2 >= n) || (i % 3 == 1 && t < 2) ? 1e153 : x[k];
            break;
        default:
            break;
        }
    }
    if (s->kind == FLOATS) {
        reference_round(s->n_series * n, x);
    }
    return x;
}

/* r of x_j[t + lag] with x_i[t]. */
static double at_lag(const struct shape *s, const double *x, size_t i, size_t j, int lag)
{
    const size_t size = (size_t)abs(lag), n = s->n_samples;
    const double *const a = x + i * n, *const b = x + j * n;
    return n - size < least_of(s)
               ? (double)NAN
               : reference_pearson(a + (lag < 0 ? size : 0), b + (lag > 0 ? size : 0), n - size);
}

static void check_pair(const struct shape *s, const double *x, size_t i, size_t j, double r,
                       double lag)
{
    const double bound = pearson_bound(PEARSON_EXACT, false);
    double best = NAN;
    for (int l = s->first; l <= s->last; l++) {
        const double v = at_lag(s, x, i, j, l);
        best = isnan(best) || fabs(v) > fabs(best) ? v : best;
    }
    const double there = at_lag(s, x, i, j, (int)lag);
    if (!reference_near(fabs(r), fabs(best), bound + PEARSON_LAG_TIE) ||
        !(isnan(best) ? lag == 0 : reference_near(r, there, bound)) ||
        !(isnan(best) || (lag >= s->first && lag <= s->last))) {
        fail_msg("%zu series of %zu, kind %d: %zu behind %zu by %g, r %.17g, there %.17g, best "
                 "%.17g",
                 s->n_series, s->n_samples, (int)s->kind, j, i, lag, r, there, best);
    }
    /* no smaller one is plainly as good, and of two the positive one */
    for (int l = s->first; l <= s->last && !isnan(best); l++) {
        const bool is_before = abs(l) < fabs(lag) || (l == -lag && l > 0);
        assert_false(is_before && fabs(at_lag(s, x, i, j, l)) > fabs(r) + bound);
        assert_false(s->kind == PERIODIC && is_before &&
                     fabs(at_lag(s, x, i, j, l)) > fabs(best) - PEARSON_LAG_TIE / 8);
    }
    assert_true(s->kind != SHIFTED || fabs(lag) == (double)(j - i) || s->last < (int)(j - i));
}

static void check(const struct shape *s)
{
    double *const x = rows_of(s);
    const size_t n = s->n_series, n_pairs = (size_t)matrix_n_pairs(n);
    double *const r = calloc(n_pairs + 1, sizeof *r);
    float *const lag = calloc(n_pairs + 1, sizeof *lag);
    const struct room room = {.queue = under_test_queue};
    struct room kept = room;
    struct correlation c = {.queue = under_test_queue,
                            .kept = &kept,
                            .standard = room,
                            .work = room,
                            .exact = room,
                            .growing = room,
                            .request = {.precision = PEARSON_EXACT,
                                        .type = s->kind == FLOATS ? DTYPE_F32 : DTYPE_F64,
                                        .n_series = n,
                                        .n_samples = s->n_samples,
                                        .panel = s->panel,
                                        .keep = true}};
    c.moments.min_samples = least_of(s);
    struct lags l = {.c = &c, .first = s->first, .last = s->last};
    const struct span from = under_test_put_numbers(x, n * s->n_samples, c.request.type);
    assert_non_null(r);
    assert_non_null(lag);
    take(&c, from);
    ASSERT_OK(lags_room(&l, &kept));
    ASSERT_OK(lags_find(&l));
    const struct matrix_kernels *const m = under_test_ops()->matrix;
    ASSERT_OK(m->condensed(under_test_queue, &l.r, 0, n_pairs, r));
    ASSERT_OK(m->condensed(under_test_queue, &l.lag, 0, n_pairs, lag));
    for (size_t i = 0, k = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++, k++) {
            if (k % (n / 1000 * 101 + 1) == 0) {
                check_pair(s, x, i, j, r[k], (double)lag[k]);
            }
        }
    }
    correlate_free(&c);
    room_free(&kept);
    under_test_release(from);
    free(x);
    free(r);
    free(lag);
}

TEST(the_best_lag_is_that_of_all_by_definition)
{
    static const struct shape shapes[] = {
        {1, 40, 64, -3, 3, NOISE},          {2, 40, 64, -3, 3, NOISE},
        {33, 50, 8, -5, 5, NOISE},          {33, 64, 64, 0, 7, NOISE},
        {33, 64, 10, -7, 0, NOISE},         {34, 70, 16, 2, 9, NOISE},
        {34, 70, 16, -9, -2, NOISE},        {20, 70, 16, -4, 9, NOISE},
        {70, 3000, 32, -2, 2, NOISE},       {12, 9, 5, -6, 6, NOISE},
        {33, 40, 7, -37, 37, NOISE},        {40, 300, 16, -8, 8, WALKS},
        {12, 1200, 64, -30, 30, WALKS},     {33, 30, 8, -5, 5, CONSTANT_HEADS},
        {33, 30, 8, 3, 5, CONSTANT_HEADS},  {40, 90, 16, -3, 5, FLOATS},
        {12, 300, 16, -170, 170, NOISE},    {33, 90, 8, -9, 9, SPIKED_ENDS},
        {12, 200, 16, -9, 9, FEW_LEFT},     {9, 400, 64, -70, 80, WALKS},
        {33, 50, 8, -4, 4, TOO_LARGE_ENDS}, {6, 30000, 64, -3, 3, SPIKED},
        {6, 30000, 64, -19, -15, NOISE},    {6, 9000, 64, 2, 4, SPIKED},
        {140, 400, 64, -2, 3, NOISE},
    };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        check(&shapes[k]);
    }
}

TEST(series_that_follow_one_another_have_their_lag)
{
    check(&(struct shape){9, 200, 4, -8, 8, SHIFTED});
    check(&(struct shape){9, 200, 16, 0, 5, SHIFTED});
}

/* Whole periods apart all are equal but for rounding. */
TEST(of_equal_lags_the_smallest_is_kept)
{
    check(&(struct shape){9, 97, 4, -20, 20, PERIODIC});
    check(&(struct shape){9, 97, 64, 1, 20, PERIODIC});
}

/* One panel after the other, a pair's negative lags before its positive ones. */
TEST(series_of_several_groups_are_as_those_of_one)
{
    check(&(struct shape){2500, 24, 500, -7, 7, PERIODIC});
    check(&(struct shape){2100, 40, 2100, -3, 2, NOISE});
    check(&(struct shape){2100, 40, 300, -3, 2, SPIKED_ENDS});
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
