/*
 * Series that only meet targets: their coefficients against the reference, in panels of every size,
 * with gaps on either side. Runs on the backend that $LEAT_TEST_BACKEND names.
 * ctest: small=asan
 */
#include "kernels/pearson/correlate.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/correlate_taken.h"
#include "tests/support/reference.h"

#include <math.h>
#include <stdlib.h>

struct shape {
    size_t n_series, n_samples, panel, n_targets;
    double missing; /* a share of the samples of two series of three, and of the targets */
    bool far;       /* common samples far from the means: these take the series themselves */
};

static double *rows_of(const struct shape *s, size_t n, uint64_t seed)
{
    double *const x = calloc(n * s->n_samples, sizeof *x);
    assert_non_null(x);
    reference_noise(seed, n, s->n_samples, x);
    for (size_t i = 0; i < n && s->missing > 0; i++) {
        if (i % 3 > 0) {
            reference_punch(seed + i, s->missing, s->n_samples, x + i * s->n_samples);
        }
        for (size_t k = 0; k < 2 && s->far; k++) {
            x[i * s->n_samples + k] = k == i % 2 ? NAN : 1e14;
        }
    }
    return x;
}

static void check(const struct shape *s)
{
    double *const x = rows_of(s, s->n_series, 5), *const y = rows_of(s, s->n_targets, 77);
    const size_t n = s->n_series, t = s->n_targets;
    double *const got = calloc(n * t, sizeof *got);
    const struct room room = {.queue = under_test_queue};
    struct room kept = room;
    struct correlation c = {.queue = under_test_queue,
                            .kept = &kept,
                            .standard = room,
                            .work = room,
                            .exact = room,
                            .growing = room,
                            .request = {.precision = PEARSON_EXACT,
                                        .type = DTYPE_F64,
                                        .n_series = n,
                                        .n_samples = s->n_samples,
                                        .panel = s->panel,
                                        .keep = true,
                                        .gaps = s->missing > 0,
                                        .alone = true}};
    struct span from = under_test_put(x, n * s->n_samples * sizeof *x),
                targets = under_test_put(y, t * s->n_samples * sizeof *y),
                r = under_test_room(n * t * sizeof *got + 64);
    uint64_t n_unsure = 0;
    assert_non_null(got);
    take(&c, from);
    ASSERT_OK(correlate_targets(&c, targets, t));
    ASSERT_OK(correlate_with_targets(&c, targets, r, s->missing > 0, &n_unsure));
    assert_int_equal(n_unsure, 0);
    under_test_get(got, r, n * t * sizeof *got);
    under_test_untouched(r, n * t * sizeof *got);
    for (size_t k = 0; k < n * t; k++) {
        const double want =
            reference_pearson(y + k / n * s->n_samples, x + k % n * s->n_samples, s->n_samples);
        if (!reference_near(got[k], want, pearson_bound(PEARSON_EXACT, s->missing > 0))) {
            fail_msg("%zu series, %zu targets: %zu with %zu is %.17g, not %.17g", n, t, k / n,
                     k % n, got[k], want);
        }
    }
    correlate_free(&c);
    room_free(&kept);
    under_test_release(from);
    under_test_release(targets);
    under_test_release(r);
    free(x);
    free(y);
    free(got);
}

TEST(series_meet_the_targets_whatever_the_panels)
{
    static const struct shape shapes[] = {
        {1, 2, 64, 1, 0, false},     {3, 17, 64, 1, 0, false},    {33, 40, 8, 5, 0, false},
        {64, 100, 64, 64, 0, false}, {200, 33, 64, 10, 0, false}, {257, 1000, 128, 3, 0, false},
        {65, 64, 64, 130, 0, false},
    };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        check(&shapes[k]);
    }
}

TEST(series_with_gaps_meet_targets_with_gaps)
{
    static const struct shape shapes[] = {
        {45, 200, 20, 4, 0.1, false},
        {130, 40, 64, 9, 0.3, false},
        {70, 90, 64, 70, 0.2, false},
        {50, 60, 16, 6, 0.1, true},
    };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        check(&shapes[k]);
    }
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
