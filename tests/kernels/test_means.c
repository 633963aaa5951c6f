/*
 * test_means - moments of rows against a long double reference, on the backend LEAT_TEST_BACKEND.
 *
 * Bounds: the mean is off by a few roundings of the largest magnitude, M2 by some (32 lanes,
 * blocks, merges: under 100) roundings of itself and by what a rounded mean moves it, n (u max)^2.
 * ctest: tsan=yes
 */
#include "kernels/means/means.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double u = 0x1p-53;

struct case_of {
    size_t n_series, n_samples, first;
    enum dtype type;
    double *x;
};

static double *moments_of(const struct case_of *c)
{
    size_t capacity = c->first + c->n_series + 2;
    struct span span = under_test_put_numbers(c->x, c->n_series * c->n_samples, c->type);
    struct series_rows x = {span, c->type, c->n_series, c->n_samples, c->first, 0};
    struct moments m = {.at = under_test_room(moments_bytes(capacity)), .capacity = capacity};
    ASSERT_OK(under_test_ops()->means->rows(under_test_queue, &x, m));
    double *out = malloc(moments_bytes(capacity));
    assert_non_null(out);
    under_test_get(out, m.at, moments_bytes(capacity));
    under_test_untouched(m.at, MOMENTS_LAG1 * capacity * sizeof(double));
    under_test_release(span);
    under_test_release(m.at);
    return out;
}

static void check(const struct case_of *c)
{
    size_t capacity = c->first + c->n_series + 2;
    double *out = moments_of(c);
    for (size_t s = 0; s < c->n_series; ++s) {
        struct reference_moments want = reference_moments(c->x + s * c->n_samples, c->n_samples);
        const double *got = out + c->first + s;
        double largest = want.count > 0 ? fmax(fabs(want.min), fabs(want.max)) : 0;
        assert_true(got[MOMENTS_COUNT * capacity] == want.count);
        assert_true(reference_near(got[MOMENTS_MIN * capacity], want.min, 0));
        assert_true(reference_near(got[MOMENTS_MAX * capacity], want.max, 0));
        assert_true(reference_near(got[MOMENTS_MEAN * capacity], want.mean, 8 * u * largest));
        assert_true(reference_near(got[MOMENTS_M2 * capacity], want.m2, 1e-12 * want.m2));
    }
    /* entries beside the ones asked for */
    for (size_t f = 0; f < MOMENTS_LAG1; ++f) {
        unsigned char beside[sizeof(double)];
        memset(beside, 0xA5, sizeof beside);
        assert_memory_equal(out + f * capacity + c->first + c->n_series, beside, sizeof beside);
        if (c->first > 0) {
            assert_memory_equal(out + f * capacity + c->first - 1, beside, sizeof beside);
        }
    }
    free(out);
}

static double *room(size_t n)
{
    double *x = calloc(n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

TEST(means_of_every_shape_match_the_reference)
{
    static const size_t series[] = {1, 2, 3, 33, 257};
    static const size_t samples[] = {0, 1, 2, 31, 32, 33, 257, 1024, 1025, 8192};
    for (size_t a = 0; a < sizeof series / sizeof *series; ++a) {
        for (size_t b = 0; b < sizeof samples / sizeof *samples; ++b) {
            for (int type = DTYPE_F32; type <= DTYPE_F64; ++type) {
                struct case_of c = {series[a], samples[b], a, (enum dtype)type, NULL};
                size_t n = c.n_series * c.n_samples;
                c.x = room(n);
                reference_noise(a * 100 + b, c.n_series, c.n_samples, c.x);
                if (type == DTYPE_F32) {
                    reference_round(n, c.x);
                }
                check(&c);
                free(c.x);
            }
        }
    }
}

TEST(means_of_a_long_series_are_cut_into_chunks)
{
    size_t n = 3 * 65536 + 77;
    struct case_of c = {2, n, 0, DTYPE_F64, room(2 * n)};
    reference_walks(4, 2, n, c.x);
    check(&c);
    reference_punch(5, 0.3, 2 * n, c.x);
    check(&c);
    free(c.x);
}

TEST(means_pass_over_missing_samples)
{
    size_t n_series = 9, n = 1500;
    struct case_of c = {n_series, n, 1, DTYPE_F64, room(n_series * n)};
    reference_noise(6, n_series, n, c.x);
    reference_punch(7, 0.25, n_series * n, c.x);
    for (size_t t = 0; t < n; ++t) {
        c.x[2 * n + t] = (double)NAN;                 /* nothing at all */
        c.x[3 * n + t] = t == 1100 ? 5 : (double)NAN; /* one sample, beyond the first block */
        c.x[4 * n + t] = t < 1100 ? (double)NAN : (double)t;
    }
    check(&c);
    free(c.x);
}

TEST(means_of_a_constant_series_have_no_variance)
{
    size_t n = 5000;
    struct case_of c = {1, n, 0, DTYPE_F64, room(n)};
    for (size_t t = 0; t < n; ++t) {
        c.x[t] = 0.1;
    }
    double *out = moments_of(&c);
    assert_true(out[MOMENTS_MEAN * 3] == 0.1);
    assert_true(out[MOMENTS_M2 * 3] == 0);
    assert_true(out[MOMENTS_MIN * 3] == 0.1 && out[MOMENTS_MAX * 3] == 0.1);
    free(out);
    free(c.x);
}

TEST(means_survive_a_first_sample_far_away)
{
    size_t n = 3000;
    struct case_of c = {2, n, 0, DTYPE_F64, room(2 * n)};
    reference_noise(8, 2, n, c.x);
    c.x[0] = 1e12;
    c.x[n + 1200] = -1e8;
    check(&c);
    free(c.x);
}

TEST(means_keep_the_digits_of_an_offset)
{
    size_t n = 65536;
    struct case_of c = {1, n, 0, DTYPE_F64, room(n)};
    struct reference_random g = {9};
    for (size_t t = 0; t < n; ++t) {
        c.x[t] = 1e9 + reference_normal(&g);
    }
    check(&c);
    free(c.x);
}

TEST(a_series_is_degenerate_of_few_samples_of_one_value_and_beyond_the_doubles)
{
    assert_false(moments_degenerate(2, 2, 1, 0.5, 1));
    assert_true(moments_degenerate(2, 1, 1, 0.5, 1));
    assert_true(moments_degenerate(5, 4, 1, 0.5, 1));
    assert_false(moments_degenerate(5, 5, 1, 0.5, 1));
    assert_true(moments_degenerate(2, 2, 1, 1, 1));
    assert_true(moments_degenerate(2, 2, (double)NAN, 0.5, 1));
    assert_false(moments_degenerate(2, 2, 0x1p-105, 1, 1 + 0x1p-52)); /* one unit, last place */
    /* squares that leave the doubles */
    double least = 5 * MOMENTS_LEAST_VARIANCE;
    assert_false(moments_degenerate(2, 5, least, 0, 0x1p-470));
    assert_true(moments_degenerate(2, 5, nextafter(least, 0), 0, 0x1p-470));
    assert_false(moments_degenerate(2, 5, MOMENTS_MOST_M2, 0, 1e152));
    assert_true(moments_degenerate(2, 5, nextafter(MOMENTS_MOST_M2, DBL_MAX), 0, 1e152));
    assert_true(moments_degenerate(2, 5, (double)INFINITY, 0, 1e160));
}

/* The sum of samples less their rounded mean has a square beyond the doubles. */
TEST(means_of_the_largest_squares_are_right)
{
    size_t n = 1024;
    struct case_of c = {1, n, 0, DTYPE_F64, room(n)};
    for (size_t t = 0; t < n; ++t) {
        c.x[t] = t % 2 == 0 ? 0x1p555 : 0x1p555 + 0x1p503;
    }
    check(&c);
    free(c.x);
}

TEST(means_are_the_same_bits_on_every_run)
{
    size_t n_series = 5, n = 200000;
    struct case_of c = {n_series, n, 0, DTYPE_F64, room(n_series * n)};
    reference_noise(10, n_series, n, c.x);
    under_test_threads(1);
    double *one = moments_of(&c);
    under_test_threads(5);
    double *five = moments_of(&c);
    under_test_threads(3);
    assert_memory_equal(one, five, moments_bytes(n_series + 2));
    free(one);
    free(five);
    free(c.x);
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
