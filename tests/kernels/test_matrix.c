/*
 * test_matrix - the questions to a matrix, on the backend LEAT_TEST_BACKEND: every answer
 * but the averages is exact.
 * ctest: small=asan optimize
 */
#include "kernels/matrix/matrix.h"
#include "kernels/matrix/matrix_rule.h"
#include "kernels/matrix/rank_cpu.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A matrix whose coefficients the test knows: full[j * n + i] = r(i, j), both triangles. */
struct known {
    size_t n;
    enum dtype type;
    double *full;
    struct under_test_matrix m;
};

enum fill {
    FILL_UNIFORM,
    FILL_TIES,
    FILL_SMALL,
    FILL_GAPS,
    FILL_NAN,
    FILL_ENDS,
    FILL_CLOSE,
    FILL_HALVES
};

/* The k-th element. */
static double element(struct reference_random *g, enum fill fill, size_t k)
{
    double r = 2 * reference_uniform(g) - 1, which = reference_uniform(g);
    switch (fill) {
    case FILL_TIES:
        return (double)(int)(r * 5) / 5;
    case FILL_SMALL:
        return which < 0.1 ? 0 : r * exp(-60 * which);
    case FILL_GAPS:
        return which < 0.3 ? (double)NAN : r;
    case FILL_NAN:
        return (double)NAN;
    case FILL_ENDS:
        return which < 0.4 ? 1 : (which < 0.8 ? -1 : -0.0);
    case FILL_HALVES:
        return k % 2 ? -0.125 : 0.875;
    case FILL_CLOSE:
        return which < 0.9 ? 0.5 + 1e-6 * r : r;
    default:
        return r;
    }
}

static struct known make(size_t n, size_t panel, enum dtype type, enum fill fill)
{
    struct known k = {.n = n, .type = type};
    struct reference_random g = {n * 31 + fill};
    size_t k_element = 0;
    k.full = calloc(n * n + 1, sizeof *k.full);
    assert_non_null(k.full);
    k.m = under_test_matrix(n, panel, type);
    for (size_t p = 0; p < k.m.n_panels; ++p) {
        size_t first = p * panel, width = matrix_panel_width(p, panel, n), rows = width - first;
        double *values = calloc(rows * width + 1, sizeof *values);
        assert_non_null(values);
        for (size_t j = first; j < width; ++j) {
            for (size_t i = 0; i < width; ++i) {
                double r = i < j ? element(&g, fill, k_element++)
                                 : 0.77; /* beyond the triangle: not to be read */
                r = type == DTYPE_F32 ? (double)(float)r : r;
                values[(j - first) * width + i] = r;
                if (i < j) {
                    k.full[j * n + i] = k.full[i * n + j] = r;
                }
            }
        }
        struct span s = under_test_put_numbers(values, rows * width, type);
        ASSERT_OK(under_test_ops()->copy(under_test_queue, k.m.panels[p], s,
                                         rows * width * dtype_bytes(type)));
        ASSERT_OK(under_test_ops()->finish(under_test_queue));
        under_test_release(s);
        free(values);
    }
    return k;
}

static void done(struct known *k)
{
    under_test_matrix_done(&k->m);
    free(k->full);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, ascending);
    return n == 0 ? (double)NAN : (v[(n - 1) / 2] + v[n / 2]) / 2;
}

/* |r| of all defined pairs, ascending. */
static double *all_abs(const struct known *k, size_t *n)
{
    double *v = calloc(k->n * k->n + 1, sizeof *v);
    assert_non_null(v);
    *n = 0;
    for (size_t j = 0; j < k->n; ++j) {
        for (size_t i = 0; i < j; ++i) {
            if (!isnan(k->full[j * k->n + i])) {
                v[(*n)++] = fabs(k->full[j * k->n + i]);
            }
        }
    }
    qsort(v, *n, sizeof *v, ascending);
    return v;
}

/* Calls check for matrices of many sizes, panels, types and fillings. */
static void over_matrices(void (*check)(const struct known *))
{
    static const struct {
        size_t n, panel;
    } shapes[] = {{1, 1},  {2, 1},    {2, 2},    {3, 2},     {31, 7},    {32, 32},
                  {33, 5}, {65, 200}, {257, 64}, {300, 256}, {400, 150}, {1200, 500}};
    for (size_t s = 0; s < under_test_size(sizeof shapes / sizeof *shapes, 8); ++s) {
        for (int fill = FILL_UNIFORM; fill <= FILL_HALVES; ++fill) {
            enum dtype type = (s + (size_t)fill) % 2 ? DTYPE_F32 : DTYPE_F64;
            struct known k = make(shapes[s].n, shapes[s].panel, type, (enum fill)fill);
            check(&k);
            done(&k);
        }
    }
}

/* --- survey ---------------------------------------------------------------------------------- */

static void check_survey(const struct known *k)
{
    struct matrix_survey got;
    double *medians = calloc(k->n + 1, sizeof *medians), all, sum = 0;
    double *row = calloc(k->n + 1, sizeof *row);
    uint64_t histogram[MATRIX_BINS] = {0};
    size_t n;
    assert_true(medians && row);
    ASSERT_OK(under_test_ops()->matrix->survey(under_test_queue, &k->m.m, &got, medians, &all));
    double *v = all_abs(k, &n);
    assert_int_equal(got.n_pairs, k->n * (k->n - 1) / 2);
    assert_int_equal(got.n_undefined, got.n_pairs - n);
    for (size_t j = 0; j < k->n; ++j) {
        size_t defined = 0;
        for (size_t i = 0; i < k->n; ++i) {
            double r = k->full[j * k->n + i];
            if (i != j && !isnan(r)) {
                row[defined++] = fabs(r);
            }
            if (i < j && !isnan(r)) {
                ++histogram[r == 1 ? 63 : (size_t)floor((r + 1) * 32)];
                sum += fabs(r);
            }
        }
        assert_true(reference_near(medians[j], median(row, defined), 0));
    }
    assert_memory_equal(got.histogram, histogram, sizeof histogram);
    assert_true(reference_near(all, median(v, n), 0));
    /* n roundings of sums up to n * mean, on either side, divided by n */
    double mean = n == 0 ? (double)NAN : sum / (double)n;
    assert_true(reference_near(got.mean_abs, mean, (double)n * 0x1p-52));
    free(medians);
    free(row);
    free(v);
}

TEST(survey_counts_and_medians_are_exact)
{
    over_matrices(check_survey);
}

static void check_kth(const struct known *k)
{
    size_t n;
    double *v = all_abs(k, &n), got;
    const uint64_t ranks[] = {1,     2,         3, n / 2 + 1, n > 1 ? n - 1 : 1, n > 0 ? n : 1,
                              n + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; ++i) {
        double want = n == 0 ? (double)NAN : (ranks[i] > n ? v[0] : v[n - (size_t)ranks[i]]);
        ASSERT_OK(under_test_ops()->matrix->kth_abs(under_test_queue, &k->m.m, ranks[i], &got));
        assert_true(reference_near(got, want, 0));
    }
    free(v);
}

TEST(kth_abs_is_the_value_of_that_rank)
{
    over_matrices(check_kth);
}

TEST(ranks_among_a_million_equal_or_close_values_are_exact)
{
    for (int fill = FILL_ENDS; fill <= FILL_CLOSE; ++fill) {
        struct known k = make(under_test_size(1700, 130), under_test_size(1024, 100), DTYPE_F64,
                              (enum fill)fill);
        check_survey(&k);
        check_kth(&k);
        done(&k);
    }
}

/* --- select ---------------------------------------------------------------------------------- */

static void check_select(const struct known *k)
{
    const struct matrix_kernels *kernels = under_test_ops()->matrix;
    size_t most = k->n * k->n + 1;
    struct matrix_pair *p = calloc(most, sizeof *p);
    struct matrix_pairs got = {p, most, 0}, none = {0};
    assert_non_null(p);
    static const double cuts[] = {0, 0.2, 0.6, 0.999, 1, 1.5};
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; ++c) {
        /* a cut that a float holds, so that f32 matrices have ties at it too */
        double cut = (double)(float)cuts[c];
        size_t want = 0;
        ASSERT_OK(kernels->select(under_test_queue, &k->m.m, cut, &got));
        for (size_t i = 0; i < k->n; ++i) {
            for (size_t j = i + 1; j < k->n; ++j) {
                double r = k->full[i * k->n + j];
                if (fabs(r) >= cut) {
                    assert_true(want < got.n);
                    assert_true(p[want].i == i && p[want].j == j && p[want].r == r);
                    ++want;
                }
            }
        }
        assert_int_equal(got.n, want);
        if (want > 0) {
            struct matrix_pairs few = {p, want - 1, 0};
            ASSERT_OK(kernels->select(under_test_queue, &k->m.m, cut, &few));
            assert_int_equal(few.n, want);
            ASSERT_OK(kernels->select(under_test_queue, &k->m.m, cut, &none));
            assert_int_equal(none.n, want);
        }
    }
    free(p);
}

TEST(select_gives_every_pair_beyond_the_cut_in_order)
{
    over_matrices(check_select);
}

/* --- condensed, heatmap ---------------------------------------------------------------------- */

static void check_condensed(const struct known *k)
{
    const struct matrix_kernels *kernels = under_test_ops()->matrix;
    size_t n = k->n * (k->n - 1) / 2, size = dtype_bytes(k->type), at = 0;
    char *want = malloc(n * size + 8), *got = malloc(n * size + 8);
    assert_true(want && got);
    for (size_t i = 0; i < k->n; ++i) {
        for (size_t j = i + 1; j < k->n; ++j, ++at) {
            float narrow = (float)k->full[i * k->n + j];
            memcpy(want + at * size, size == 4 ? (void *)&narrow : (void *)&k->full[i * k->n + j],
                   size);
        }
    }
    const size_t pieces[] = {n, 1, 2, 63, 64, 65, 1000, n / 3 + 1, k->n, k->n + 1};
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; ++p) {
        size_t step =
            pieces[p] == 0 || (n > under_test_size(5000, 300) && pieces[p] < 60) ? n : pieces[p];
        memset(got, 0x5A, n * size + 8);
        for (size_t first = 0; first < n; first += step) {
            size_t count = n - first < step ? n - first : step;
            ASSERT_OK(
                kernels->condensed(under_test_queue, &k->m.m, first, count, got + first * size));
            assert_true(got[(first + count) * size] == 0x5A);
        }
        if (n > 0 && memcmp(want, got, n * size) != 0) {
            for (size_t e = 0; e < n * size; e += size) {
                /* NaNs may differ in their bits */
                double a = size == 4 ? (double)*(float *)(void *)(want + e)
                                     : *(double *)(void *)(want + e);
                double b =
                    size == 4 ? (double)*(float *)(void *)(got + e) : *(double *)(void *)(got + e);
                assert_true(reference_near(a, b, 0));
            }
        }
    }
    assert_int_not_equal(kernels->condensed(under_test_queue, &k->m.m, 0, n + 1, got), STATUS_OK);
    free(want);
    free(got);
}

TEST(condensed_is_the_upper_triangle_in_any_pieces)
{
    over_matrices(check_condensed);
}

/* Every third series does not count with itself. */
static double with_itself(size_t s)
{
    return s % 3 == 0 ? (double)NAN : 1;
}

static void check_picture(const struct known *k, size_t side, const uint32_t *order)
{
    float *cells = calloc(side * side, sizeof *cells);
    double *sum = calloc(side * side, sizeof *sum), *count = calloc(side * side, sizeof *count);
    uint32_t *ones = calloc(side, sizeof *ones);
    assert_true(cells && sum && count && ones);
    for (size_t a = 0; a < side; ++a) {
        for (size_t b = 0; b < side; ++b) {
            for (size_t p = a * k->n / side; p < (a + 1) * k->n / side; ++p) {
                for (size_t s = b * k->n / side; s < (b + 1) * k->n / side; ++s) {
                    size_t i = order ? order[p] : p, j = order ? order[s] : s;
                    double r = i == j ? with_itself(i) : k->full[i * k->n + j];
                    sum[a * side + b] += isnan(r) ? 0 : r;
                    count[a * side + b] += isnan(r) ? 0 : 1;
                    ones[a] += i == j && !isnan(r);
                }
            }
        }
    }
    const struct matrix_picture picture = {side, order, ones, cells};
    ASSERT_OK(under_test_ops()->matrix->heatmap(under_test_queue, &k->m.m, &picture));
    for (size_t c = 0; c < side * side; ++c) {
        double want = count[c] > 0 ? sum[c] / count[c] : (double)NAN;
        /* the rounding to float, and of either sum */
        assert_true(reference_near((double)cells[c], want, 0x1p-24 + count[c] * 0x1p-52));
    }
    free(cells);
    free(sum);
    free(count);
    free(ones);
}

/* As they lie, and in an order that takes all of them about. */
static void check_heatmap(const struct known *k)
{
    const size_t sides[] = {1, 2, 3, 7, k->n / 2, k->n};
    uint32_t *order = malloc(k->n * sizeof *order);
    assert_non_null(order);
    for (size_t p = 0; p < k->n; ++p) {
        order[p] = (uint32_t)(p % 2 == 0 ? p / 2 : k->n - 1 - p / 2);
    }
    for (size_t s = 0; s < sizeof sides / sizeof *sides; ++s) {
        if (sides[s] > 0 && sides[s] <= k->n) {
            check_picture(k, sides[s], NULL);
            check_picture(k, sides[s], order);
        }
    }
    free(order);
}

TEST(heatmap_averages_what_is_defined)
{
    over_matrices(check_heatmap);
}

/* What bands give, put together, is what the matrix gives. */
static void check_bands(const struct known *k)
{
    const struct matrix_kernels *kernels = under_test_ops()->matrix;
    const struct matrix whole = k->m.m;
    const size_t n_pairs = k->n * (k->n - 1) / 2;
    struct matrix_survey want, got, sum = {0};
    struct matrix_pair *pairs = calloc(n_pairs + 1, sizeof *pairs);
    double *medians = calloc(k->n + 1, sizeof *medians), kth_most = 0, want_kth, unused;
    double *most = calloc(k->n + 1, sizeof *most);
    size_t n_found = 0;
    assert_true(pairs && medians && most);
    ASSERT_OK(kernels->survey(under_test_queue, &whole, &want, medians, &unused));
    ASSERT_OK(kernels->kth_abs(under_test_queue, &whole, 1, &want_kth));
    for (size_t first = 0, end; first < k->n; first = end) {
        struct matrix band = whole;
        struct matrix_pairs found = {.at = pairs + n_found, .capacity = n_pairs - n_found};
        double kth;
        end = matrix_panel_width(first / whole.panel, whole.panel, k->n);
        band.first = first;
        band.n_series = end;
        band.most = most; /* whole has none, and selects the same */
        ASSERT_OK(kernels->survey(under_test_queue, &band, &got, NULL, &unused));
        ASSERT_OK(kernels->kth_abs(under_test_queue, &band, 1, &kth));
        ASSERT_OK(kernels->select(under_test_queue, &band, 0.25, &found));
        kth_most = fmax(kth, kth_most);
        n_found += found.n;
        sum.n_pairs += got.n_pairs;
        sum.n_undefined += got.n_undefined;
        for (size_t b = 0; b < MATRIX_BINS; b++) {
            sum.histogram[b] += got.histogram[b];
        }
        for (size_t p = n_found - found.n; p < n_found; p++) {
            const struct matrix_pair f = pairs[p];
            assert_true(f.j >= first && f.j < end && f.i < f.j);
            assert_true(f.r == k->full[f.j * k->n + f.i] && fabs(f.r) >= 0.25);
        }
    }
    size_t n_want = 0;
    for (size_t j = 0; j < k->n; j++) {
        for (size_t i = 0; i < j; i++) {
            n_want += fabs(k->full[j * k->n + i]) >= 0.25 ? 1 : 0;
        }
    }
    assert_int_equal(n_found, n_want);
    assert_int_equal(sum.n_pairs, want.n_pairs);
    assert_int_equal(sum.n_undefined, want.n_undefined);
    assert_memory_equal(sum.histogram, want.histogram, sizeof sum.histogram);
    assert_true(isnan(want_kth) || kth_most == want_kth);
    free(pairs);
    free(medians);
    free(most);
}

TEST(bands_give_what_the_matrix_gives)
{
    over_matrices(check_bands);
}

TEST(survey_of_no_series_is_empty)
{
    const struct matrix_kernels *kernels = under_test_ops()->matrix;
    struct matrix m = {.n_series = 0, .panel = 4, .type = DTYPE_F64};
    struct matrix_survey survey;
    double all, kth;
    struct matrix_pairs pairs = {.n = 1};
    ASSERT_OK(kernels->survey(under_test_queue, &m, &survey, NULL, &all));
    ASSERT_OK(kernels->kth_abs(under_test_queue, &m, 1, &kth));
    ASSERT_OK(kernels->select(under_test_queue, &m, 0, &pairs));
    assert_true(survey.n_pairs == 0 && isnan(survey.mean_abs) && isnan(all) && isnan(kth) &&
                pairs.n == 0);
}

/* 0 .. n - 1, of which every eighth, the sample of the median, holds 80 of the first `up_to` - 1,
 * the next number and 47 of those above: the sample's bound from above is the up_to-th number. */
static void put_bounded(double *v, size_t n, size_t up_to, bool mirrored)
{
    double *sample = v + n, *rest = sample + 128;
    size_t n_sample = 0, n_rest = 0;
    for (size_t i = 0; i < n; ++i) {
        const size_t low = i * 80 / (up_to - 1), high = (i - up_to) * 47 / (n - up_to);
        const bool first = i < up_to - 1 && (i + 1) * 80 / (up_to - 1) > low;
        const bool last = i >= up_to && (i - up_to + 1) * 47 / (n - up_to) > high;
        const double x = mirrored ? (double)(n - 1 - i) : (double)i;
        if (first || last || i == up_to - 1) {
            sample[n_sample++] = x;
        } else {
            rest[n_rest++] = x;
        }
    }
    assert_int_equal(n_sample, 128);
    for (size_t i = 0; i < n; ++i) {
        v[i] = (double)NAN;
    }
    for (size_t i = 0; i < 128; ++i) {
        v[i * n / 128] = sample[i];
    }
    for (size_t i = 0; i < n; ++i) {
        v[i] = v[i] == v[i] ? v[i] : rest[--n_rest];
    }
}

TEST(medians_beside_the_bounds_of_the_sample_are_exact)
{
    for (size_t n = 1024; n <= 1026; ++n) {
        for (size_t k = 0; k < 16; ++k) {
            const size_t room = 2 * n + 256;
            double *v = calloc(room, sizeof *v), *spare = calloc(n, sizeof *spare);
            assert_true(v != NULL && spare != NULL);
            put_bounded(v, n, 508 + k / 2, k % 2 == 1);
            const double median = rank_median(v, n, spare);
            assert_true(median == (double)(n - 1) / 2);
            free(v);
            free(spare);
        }
    }
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
