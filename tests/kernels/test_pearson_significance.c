/*
 * test_pearson_significance - p of a coefficient against closed forms and a series in extended
 * precision, and how many pairs reach each level of it, on the backend LEAT_TEST_BACKEND.
 * ctest: small=asan optimize
 */
#include "kernels/pearson/significance_rule.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_log_p(double r, double n, double want, double error)
{
    const double got = significance_log_p(r, n);
    if (!(fabs(got - want) <= error * fmax(1, fabs(want)))) {
        fail_msg("r %.17g, n %g: ln p is %.17g, not %.17g", r, n, got, want);
    }
}

TEST(p_of_few_samples_is_that_of_its_closed_form)
{
    static const double r[] = {1e-9, 0.01, 0.3, -0.5, 0.7, -0.9, 0.999, 1 - 1e-9, 1 - 0x1p-53};
    for (size_t k = 0; k < sizeof r / sizeof *r; k++) {
        const double x = fabs(r[k]), less = 1 - x; /* exact beside 1 */
        /* 2 / pi acos(x) */
        assert_log_p(r[k], 3, log(4 / M_PI * asin(sqrt(less / 2))), 1e-14);
        assert_log_p(r[k], 4, x < 0.5 ? log1p(-x) : log(less), 1e-14);
        assert_log_p(r[k], 6, log(less) + log(less * (2 + x) / 2), 1e-14);
    }
    assert_true(significance_log_p(1, 3) == -INFINITY && significance_log_p(-1, 100) == -INFINITY);
    assert_true(significance_log_p(0, 100) == 0 && significance_log_p(1, 2) == 0);
    assert_true(significance_log_p(0.5, 1.5) == 0);
    assert_true(isnan(significance_log_p(NAN, 9)) && isnan(significance_log_p(0.5, NAN)));
}

/* ln I_x(a, 1/2) = ln(x^a (1 - x)^(1/2) / (a B(a, 1/2)) sum_k (a + 1/2)_k / (a + 1)_k x^k). */
static double reference_log_p(double r, double n)
{
    const long double a = ((long double)n - 2) / 2, x = (1 - fabsl(r)) * (1 + fabsl(r));
    long double term = 1, sum = 1;
    for (long double k = 0; term > sum * 1e-22L; k++) {
        term *= (a + 0.5L + k) / (a + 1 + k) * x;
        sum += term;
    }
    return (double)(a * logl(x) + logl(fabsl(r)) + logl(sum) - logl(a) + lgammal(a + 0.5L) -
                    lgammal(a) - lgammal(0.5L));
}

TEST(p_is_that_of_its_series_far_into_the_tail)
{
    static const double n[] = {2.5, 3, 5, 7.25, 17, 49.5, 50, 51, 100, 1000, 12345.5};
    for (size_t k = 0; k < sizeof n / sizeof *n; k++) {
        for (double r = 0.02; r < 1; r += 0.03) {
            assert_log_p(r, n[k], reference_log_p(r, n[k]), 2e-14 + n[k] * 0x1p-53);
        }
        assert_log_p(-1 + 1e-12, n[k], reference_log_p(-1 + 1e-12, n[k]), 2e-14);
    }
}

/* t of so many samples is normal, but for 1e-8. */
TEST(p_of_very_many_samples_is_that_of_the_normal_distribution)
{
    const double n = 0x1p31;
    for (double t = 1.2; t < 8; t += 0.01) {
        assert_log_p(t / sqrt(n), n, log(erfc(t / sqrt(2))), 1e-6);
    }
}

/* --- counts ----------------------------------------------------------------------------------- */

enum { PANEL = 64, SAMPLES = 150 };

/* Series of which some have gaps, and their coefficients, of no samples: made up. */
struct table {
    size_t n;
    double *full; /* [n][n] */
    double *count;
    uint64_t *bits;
    struct under_test_matrix m;
};

static bool is_present(const struct table *t, size_t s, size_t sample)
{
    return t->bits[s * significance_words(SAMPLES) + sample / 64] >> sample % 64 & 1;
}

static struct table make(size_t n, enum dtype type)
{
    struct table t = {.n = n, .m = under_test_matrix(n, PANEL, type)};
    struct reference_random g = {n};
    const size_t words = significance_words(SAMPLES);
    t.full = calloc(n * n, sizeof *t.full);
    t.count = calloc(n, sizeof *t.count);
    t.bits = calloc(n * words, sizeof *t.bits);
    assert_true(t.full != NULL && t.count != NULL && t.bits != NULL);
    for (size_t s = 0; s < n; s++) {
        for (size_t k = 0; k < SAMPLES; k++) {
            const bool present = s % 3 == 0 || reference_uniform(&g) < 0.8;
            t.bits[s * words + k / 64] |= (uint64_t)present << k % 64;
            t.count[s] += present ? 1 : 0;
        }
    }
    for (size_t p = 0; p < t.m.n_panels; p++) {
        const size_t first = p * PANEL, width = matrix_panel_width(p, PANEL, n);
        double *const values = calloc((width - first) * width, sizeof *values);
        assert_non_null(values);
        for (size_t j = first; j < width; j++) {
            for (size_t i = 0; i < width; i++) {
                const double u = 2 * reference_uniform(&g) - 1, r = i % 11 == 3 ? NAN : u * fabs(u);
                t.full[j * n + i] = type == DTYPE_F32 ? (double)(float)r : r;
                values[(j - first) * width + i] = i < j ? r : 1; /* beyond the triangle: not read */
            }
        }
        struct span s = under_test_put_numbers(values, (width - first) * width, type);
        ASSERT_OK(under_test_ops()->copy(under_test_queue, t.m.panels[p], s,
                                         (width - first) * width * dtype_bytes(type)));
        ASSERT_OK(under_test_ops()->finish(under_test_queue));
        under_test_release(s);
        free(values);
    }
    return t;
}

static void table_done(struct table *t)
{
    under_test_matrix_done(&t->m);
    free(t->full);
    free(t->count);
    free(t->bits);
}

/* The samples that pair (j, i) is taken to have. */
static double samples_of(const struct table *t, const struct pearson_levels *l, size_t j, size_t i)
{
    size_t n = 0;
    if (l->count == NULL) {
        return SAMPLES;
    }
    if (l->present == NULL && t->count[i] < SAMPLES && t->count[j] < SAMPLES) {
        return fmax(t->count[i] + t->count[j] - SAMPLES, (double)l->min_samples);
    }
    for (size_t k = 0; k < SAMPLES; k++) {
        n += is_present(t, i, k) && is_present(t, j, k);
    }
    return (double)n;
}

static void check_counts(const struct table *t, const struct pearson_levels *l)
{
    uint64_t *const want = calloc(2 * l->n, sizeof *want), *const got = want + l->n;
    assert_non_null(want);
    ASSERT_OK(under_test_ops()->pearson->count_levels(under_test_queue, &t->m.m, l, got));
    for (size_t j = 0; j < t->n; j++) {
        for (size_t i = 0; i < j; i++) {
            const double r = fabs(t->full[j * t->n + i]), n = samples_of(t, l, j, i);
            /* One of all samples is compared by its r, which levels may lie below by the bound. */
            const double strength = n < SAMPLES ? -significance_log_p(fmax(r - l->bound, 0), n) : 0;
            size_t level = 0;
            while (level < l->n &&
                   (n < SAMPLES ? strength >= l->strength[level] : r >= l->r[level])) {
                level++;
            }
            want[level > 0 ? level - 1 : 0] += level > 0 && r >= l->r[0] ? 1 : 0;
        }
    }
    assert_memory_equal(got, want, l->n * sizeof *want);
    free(want);
}

TEST(pairs_are_counted_by_the_level_that_they_reach)
{
    static const size_t n_levels[] = {1, 2, 33, 8192, 9000};
    for (size_t k = 0; k < 2 * sizeof n_levels / sizeof *n_levels; k++) {
        const size_t n = n_levels[k / 2];
        struct table t = make(under_test_size(k == 2 ? 2 : 200, 70), k % 2 ? DTYPE_F32 : DTYPE_F64);
        double *const r = calloc(2 * n, sizeof *r), *const strength = r + n;
        assert_non_null(r);
        for (size_t b = 0; b < n; b++) { /* no level equals what another libm might round to */
            r[b] = 0.05 + 0.9123456789 * (double)b / (double)n;
            strength[b] = -significance_log_p(r[b], SAMPLES);
        }
        struct pearson_levels levels = {
            .n = n, .r = r, .strength = strength, .n_samples = SAMPLES, .min_samples = 3};
        check_counts(&t, &levels);
        levels.count = t.count;
        check_counts(&t, &levels);
        levels.present = t.bits;
        check_counts(&t, &levels);
        levels.bound = 1e-3;
        check_counts(&t, &levels);
        free(r);
        table_done(&t);
    }
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
