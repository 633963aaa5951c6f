/*
 * test_pearson_rows - series in rows, from numbers to coefficients, on the backend
 * LEAT_TEST_BACKEND.
 *
 * The bounds are those that kernels/pearson/pearson.h promises: 1e-12 for the exact form, 1e-6 for
 * f32, 1e-10 with missing values.
 * ctest: long tsan=yes
 */
#include "tests/support/rows_runner.h"

#include <pthread.h>
#include <stdio.h>

enum { SMALL_CELLS = 3000 }; /* see under_test_size() */

/* All precisions of one data set. */
static void check_all(struct rows c)
{
    c.precision = PEARSON_EXACT;
    check(&c, pearson_bound(PEARSON_EXACT, false));
    c.precision = PEARSON_F32;
    check(&c, pearson_bound(PEARSON_F32, false));
}

/* --- shapes and data ------------------------------------------------------------------------- */

TEST(pearson_of_every_shape_matches_the_reference)
{
    static const struct {
        size_t n_series, n_samples, panel;
    } shapes[] = {{1, 2, 1},    {1, 17, 4},    {2, 2, 2},        {2, 3, 1},      {3, 2, 2},
                  {3, 17, 8},   {31, 33, 10},  {32, 32, 32},     {33, 257, 16},  {33, 8192, 33},
                  {257, 17, 1}, {257, 33, 64}, {130, 1025, 128}, {600, 40, 600}, {1000, 17, 300}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; ++k) {
        if (shapes[k].n_series * shapes[k].n_samples > under_test_size(SIZE_MAX, SMALL_CELLS)) {
            continue;
        }
        struct rows c = {.n_series = shapes[k].n_series,
                         .n_samples = shapes[k].n_samples,
                         .panel = shapes[k].panel,
                         .type = k % 2 ? DTYPE_F32 : DTYPE_F64};
        double *x = room(c.n_series * c.n_samples);
        reference_noise(k, c.n_series, c.n_samples, x);
        if (c.type == DTYPE_F32) {
            reference_round(c.n_series * c.n_samples, x);
        }
        c.x = x;
        check_all(c);
        free(x);
    }
}

TEST(pearson_of_walks_matches_the_reference)
{
    struct rows c = {
        .n_series = 40, .n_samples = under_test_size(5000, 300), .panel = 16, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_walks(1, c.n_series, c.n_samples, x);
    c.x = x;
    check_all(c);
    free(x);
}

TEST(pearson_of_a_first_sample_far_away_is_right)
{
    struct rows c = {
        .n_series = 12, .n_samples = under_test_size(3000, 300), .panel = 5, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_noise(2, c.n_series, c.n_samples, x);
    for (size_t s = 0; s < c.n_series; s += 2) {
        x[s * c.n_samples] = s % 4 ? 1e8 : -1e8;
    }
    c.x = x;
    check_all(c);
    free(x);
}

/* The mean is no double there: what rounding takes from it, up to 2^-13 of a deviation of 1, would
 * add 4e-9 to r. */
TEST(pearson_of_noise_far_from_zero_is_right)
{
    double x[9 * 2000];
    reference_noise(4, 9, 2000, x);
    for (size_t k = 0; k < 9 * 2000; ++k) {
        x[k] += k / 2000 % 2 == 0 ? 1e12 : -3e11;
    }
    struct rows c = {.n_series = 9, .n_samples = 2000, .panel = 4, .type = DTYPE_F64, .x = x};
    check_all(c);
}

TEST(pearson_of_equal_and_opposite_series_is_one)
{
    /* of two values, so that the roundings of all products have one sign */
    static const size_t samples[] = {26, 28, 512, 1000, 4096, 8191};
    for (size_t k = 0; k < under_test_size(sizeof samples / sizeof *samples, 3); ++k) {
        struct rows c = {.n_series = 5, .n_samples = samples[k], .panel = 5, .type = DTYPE_F64};
        double *x = room(c.n_series * c.n_samples);
        for (size_t t = 0; t < c.n_samples; ++t) {
            double v = (t * 7 + t / 3) % 2 ? 1 : -1;
            x[t] = v;
            x[c.n_samples + t] = 3 * v + 10;
            x[2 * c.n_samples + t] = -v;
            x[3 * c.n_samples + t] = (double)t;
            x[4 * c.n_samples + t] = -1e-9 * (double)t;
        }
        c.x = x;
        check_all(c);
        free(x);
    }
}

TEST(pearson_does_not_depend_on_the_panels_beyond_rounding)
{
    struct rows c = {.n_series = 70, .n_samples = 100, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_noise(3, c.n_series, c.n_samples, x);
    c.x = x;
    for (c.panel = under_test_size(1, 13); c.panel < 150; c.panel = c.panel * 3 + 1) {
        check(&c, pearson_bound(PEARSON_EXACT, false));
    }
    free(x);
}

TEST(pearson_is_the_same_bits_on_every_run)
{
    for (int precision = PEARSON_EXACT; precision <= PEARSON_F32; ++precision) {
        struct rows c = {.n_series = under_test_size(300, 70),
                         .n_samples = under_test_size(3000, 200),
                         .panel = 100,
                         .type = DTYPE_F64,
                         .precision = (enum pearson_precision)precision,
                         .gaps = true};
        double *x = room(c.n_series * c.n_samples);
        reference_noise(4, c.n_series, c.n_samples, x);
        reference_punch(5, 0.1, c.n_series / 2 * c.n_samples, x);
        c.x = x;
        under_test_threads(1);
        double *one = coefficients(&c);
        ASSERT_OK(under_test_ops()->finish(under_test_queue));
        under_test_ops()->trim(under_test_queue);
        under_test_threads(4);
        double *four = coefficients(&c);
        under_test_threads(3);
        assert_memory_equal(one, four, n_pairs(c.n_series) * sizeof *one);
        free(one);
        free(four);
        free(x);
    }
}

/* Standardizes series of one length again and again, on a queue of its own. */
struct repeated {
    size_t n_samples, n_times;
    enum status status;
    char message[STATUS_MESSAGE_BYTES];
};

static enum status standardize_again(struct queue *queue, const struct repeated *job)
{
    const struct backend_ops *ops = queue->backend->ops;
    const size_t n_series = 3;
    const size_t z_row = ops->pearson->z_bytes(queue, PEARSON_EXACT, job->n_samples);
    struct series_rows x = {.type = DTYPE_F64, .n_series = n_series, .n_samples = job->n_samples};
    struct span z = {0};
    struct moments moments = {.capacity = n_series};
    enum status st = ops->alloc(queue, n_series * job->n_samples * sizeof(double), &x.at);
    if (st == STATUS_OK) {
        st = ops->alloc(queue, n_series * z_row, &z);
    }
    if (st == STATUS_OK) {
        st = ops->alloc(queue, moments_bytes(n_series), &moments.at);
    }
    if (st == STATUS_OK) {
        st = ops->zero(queue, x.at);
    }
    if (st == STATUS_OK) {
        st = ops->means->rows(queue, &x, moments);
    }
    for (size_t k = 0; k < job->n_times && st == STATUS_OK; k++) {
        st = ops->pearson->standardize(queue, PEARSON_EXACT, &x, moments, z);
        if (st == STATUS_OK && k % 32 == 0) {
            st = ops->finish(queue);
        }
    }
    const enum status finished = ops->finish(queue);
    ops->release(queue, x.at);
    ops->release(queue, z);
    ops->release(queue, moments.at);
    return st == STATUS_OK ? finished : st;
}

static void *standardize_beside(void *arg)
{
    struct repeated *job = arg;
    struct queue *queue = NULL;
    job->status = under_test_ops()->queue_new(under_test_queue->backend, &queue);
    if (job->status == STATUS_OK) {
        job->status = standardize_again(queue, job);
        under_test_ops()->queue_free(queue);
    }
    snprintf(job->message, sizeof(job->message), "%s", status_message());
    return NULL;
}

/* What one job sets up for its launches must not be in the way of another's. */
TEST(series_of_other_lengths_beside_do_no_harm)
{
    struct repeated jobs[] = {{.n_samples = 64},    {.n_samples = 1000},  {.n_samples = 1100},
                              {.n_samples = 9000},  {.n_samples = 12000}, {.n_samples = 25000},
                              {.n_samples = 12001}, {.n_samples = 24999}};
    const size_t n = sizeof(jobs) / sizeof(jobs[0]);
    pthread_t threads[sizeof(jobs) / sizeof(jobs[0])];
    for (size_t k = 0; k < n; k++) {
        jobs[k].n_times = under_test_is_cpu() ? 3 : under_test_size(2000, 5);
        assert_int_equal(pthread_create(&threads[k], NULL, standardize_beside, &jobs[k]), 0);
    }
    for (size_t k = 0; k < n; k++) {
        assert_int_equal(pthread_join(threads[k], NULL), 0);
    }
    for (size_t k = 0; k < n; k++) {
        if (jobs[k].status != STATUS_OK) {
            print_error("series of %zu samples: %s\n", jobs[k].n_samples, jobs[k].message);
        }
        assert_int_equal(jobs[k].status, STATUS_OK);
    }
}

/* --- degenerate series ----------------------------------------------------------------------- */

TEST(pearson_series_without_variance_yield_nan)
{
    struct rows c = {.n_series = 7, .n_samples = 50, .panel = 3, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_noise(6, c.n_series, c.n_samples, x);
    for (size_t t = 0; t < c.n_samples; ++t) {
        x[1 * c.n_samples + t] = 0.1;
        x[3 * c.n_samples + t] = (double)NAN;
        x[5 * c.n_samples + t] = t == 9 ? 2 : (double)NAN;
        x[6 * c.n_samples + t] = t % 2 ? 1e10 : nextafter(1e10, 0); /* varies */
    }
    c.x = x;
    c.gaps = true;
    check(&c, pearson_bound(PEARSON_EXACT, true));
    double *got = coefficients(&c);
    size_t undefined = 0;
    for (size_t k = 0; k < n_pairs(c.n_series); ++k) {
        undefined += isnan(got[k]) ? 1 : 0;
    }
    assert_int_equal(undefined, n_pairs(7) - n_pairs(4));
    free(got);
    free(x);
}

/* Series of 1 and one unit in the last place more vary, however rarely. */
TEST(pearson_of_one_unit_in_the_last_place_is_right)
{
    enum { SAMPLES = 1000 };
    double x[3 * SAMPLES];
    for (size_t t = 0; t < SAMPLES; ++t) {
        x[t] = t % 3 == 0 ? 1 + 0x1p-52 : 1;
        x[SAMPLES + t] = t % 3 == 0 ? 1 : 1 + 0x1p-52;
        x[2 * SAMPLES + t] = t == 501 ? 1 + 0x1p-52 : 1;
    }
    struct rows c = {.n_series = 3, .n_samples = SAMPLES, .panel = 2, .type = DTYPE_F64, .x = x};
    double *r = coefficients(&c);
    assert_true(fabs(r[0] + 1) < 1e-12);
    assert_true(fabs(r[1] - sqrt(666.0 / 999 / 334)) < 1e-12); /* phi of a 2 x 2 table */
    free(r);
    check_all(c);
}

TEST(pearson_of_one_sample_is_nan)
{
    const double x[] = {1, 2, 3};
    struct rows c = {.n_series = 3, .n_samples = 1, .panel = 2, .type = DTYPE_F64, .x = x};
    check_all(c);
}

TEST(pearson_of_infinite_samples_is_nan)
{
    struct rows c = {.n_series = 4, .n_samples = 40, .panel = 4, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_noise(7, c.n_series, c.n_samples, x);
    x[c.n_samples + 3] = (double)INFINITY;
    c.x = x;
    double *got = coefficients(&c);
    assert_true(isnan(got[0]) && isnan(got[3]) && isnan(got[4]));
    assert_true(fabs(got[1]) <= 1 && fabs(got[2]) <= 1 && fabs(got[5]) <= 1);
    free(got);
    free(x);
}

/* --- what standardize leaves ----------------------------------------------------------------- */

TEST(standardize_marks_missing_samples_and_corrects_the_moments)
{
    struct rows c = {.n_series = 9, .n_samples = 1300, .panel = 9, .type = DTYPE_F64};
    size_t n = c.n_samples, cells = c.n_series * n;
    double *x = room(cells);
    reference_noise(8, c.n_series, n, x);
    reference_punch(9, 0.2, cells / 2, x);
    for (size_t t = 0; t < n; ++t) {
        x[6 * n + t] = 1e6;                       /* constant */
        x[7 * n + t] = (double)(t % 2);           /* has values equal to nothing but the ends */
        x[8 * n + t] = (double)((t + 1) % 3) - 1; /* -1, 0, 1: 0 lies at the mean or near it */
    }
    c.x = x;
    struct run r;
    run_rows(&c, &r);
    size_t row = under_test_ops()->pearson->z_bytes(under_test_queue, PEARSON_EXACT, n);
    char *z = malloc(c.n_series * row);
    double *m = room(MOMENTS_FIELDS * c.n_series);
    assert_non_null(z);
    under_test_get(z, r.z_exact, c.n_series * row);
    under_test_get(m, r.moments.at, moments_bytes(c.n_series));
    for (size_t s = 0; s < c.n_series; ++s) {
        struct reference_moments want = reference_moments(x + s * n, n);
        const double *zs = (const double *)(const void *)(z + s * row);
        double square = 0;
        for (size_t t = 0; t < n; ++t) {
            bool marked = zs[t] == 0 && signbit(zs[t]);
            assert_int_equal(marked, isnan(x[s * n + t]) != 0);
            square += zs[t] * zs[t];
        }
        /* n roundings of the sum and of each factor */
        assert_true(fabs(square - (s == 6 ? 0 : 1)) <= (double)n * 0x1p-52);
        assert_true(reference_near(m[MOMENTS_MEAN * c.n_series + s], want.mean, 8 * 0x1p-53 * 1e6));
        assert_true(reference_near(m[MOMENTS_M2 * c.n_series + s], want.m2, want.m2 * 1e-13));
        assert_true(reference_near(m[MOMENTS_LAG1 * c.n_series + s], want.lag1, 1e-11));
    }
    free(z);
    free(m);
    run_done(&r);
    free(x);
}

TEST(standardize_does_not_trust_the_moments_to_the_last_digit)
{
    size_t n_series = 6, n = 900;
    size_t row = under_test_ops()->pearson->z_bytes(under_test_queue, PEARSON_EXACT, n);
    double *x = room(n_series * n), *m = room(MOMENTS_FIELDS * n_series), *z = room(row / 8);
    reference_noise(17, n_series, n, x);
    struct span xs = under_test_put(x, n_series * n * sizeof *x),
                zs = under_test_room(n_series * row);
    struct moments moments = {.at = under_test_room(moments_bytes(n_series)), .capacity = n_series};
    const struct series_rows rows = {xs, DTYPE_F64, n_series, n, 0, 0};
    ASSERT_OK(under_test_ops()->means->rows(under_test_queue, &rows, moments));
    under_test_get(m, moments.at, moments_bytes(n_series));
    for (size_t s = 0; s < n_series; ++s) {
        m[MOMENTS_MEAN * n_series + s] += 1e-4;
        m[MOMENTS_M2 * n_series + s] *= 1 + 1e-6;
    }
    uint64_t ticket;
    ASSERT_OK(under_test_ops()->upload(under_test_queue, moments.at, m, moments_bytes(n_series),
                                       &ticket));
    ASSERT_OK(under_test_ops()->upload_wait(under_test_queue, ticket));
    ASSERT_OK(under_test_ops()->pearson->standardize(under_test_queue, PEARSON_EXACT, &rows,
                                                     moments, zs));
    under_test_get(m, moments.at, moments_bytes(n_series));
    for (size_t s = 0; s < n_series; ++s) {
        struct reference_moments want = reference_moments(x + s * n, n);
        double sum = 0, square = 0;
        under_test_get(z, span_from(zs, s * row), n * sizeof *z);
        for (size_t t = 0; t < n; ++t) {
            sum += z[t];
            square += z[t] * z[t];
        }
        assert_true(fabs(square - 1) <= (double)n * 0x1p-52);
        /* the mean's own rounding, 1e4 u, n times, over the norm sqrt(n) */
        assert_true(fabs(sum) <= 1e4 * 0x1p-52 * sqrt((double)n));
        assert_true(reference_near(m[MOMENTS_MEAN * n_series + s], want.mean, 1e4 * 0x1p-50));
        assert_true(reference_near(m[MOMENTS_M2 * n_series + s], want.m2, want.m2 * 1e-13));
    }
    under_test_release(xs);
    under_test_release(zs);
    under_test_release(moments.at);
    free(x);
    free(m);
    free(z);
}

/* --- pairs taken again, increments ----------------------------------------------------------- */

TEST(exact_pairs_match_the_reference)
{
    struct rows c = {
        .n_series = 24, .n_samples = under_test_size(2100, 900), .panel = 24, .type = DTYPE_F32};
    size_t n = c.n_samples, pairs = n_pairs(c.n_series), k = 0;
    double *x = room(c.n_series * n), *want = room(pairs);
    reference_noise(15, c.n_series, n, x);
    reference_punch(16, 0.2, 6 * n, x);
    for (size_t t = 0; t < n; ++t) {
        x[7 * n + t] = 4;
    }
    reference_round(c.n_series * n, x);
    c.x = x;
    c.precision = PEARSON_F32;
    reference_condensed(x, c.n_series, n, want);
    struct run r;
    run_rows(&c, &r);
    struct matrix_pair *p = calloc(pairs, sizeof *p);
    assert_non_null(p);
    for (uint32_t i = 0; i < c.n_series; ++i) {
        for (uint32_t j = i + 1; j < c.n_series; ++j) {
            p[k++] = (struct matrix_pair){i, j, 5};
        }
    }
    ASSERT_OK(under_test_ops()->pearson->exact_pairs(under_test_queue, &r.x, r.moments, p, pairs));
    for (k = 0; k < pairs; ++k) {
        assert_true(reference_near(p[k].r, want[k], pearson_bound(PEARSON_EXACT, false)));
    }
    ASSERT_OK(under_test_ops()->pearson->exact_pairs(under_test_queue, &r.x, r.moments, p, 0));
    r.moments.min_samples = n * 7 / 10; /* two series with gaps have fewer in common */
    ASSERT_OK(under_test_ops()->pearson->exact_pairs(under_test_queue, &r.x, r.moments, p, pairs));
    for (k = 0; k < pairs; ++k) {
        const double right = p[k].i < 6 && p[k].j < 6 ? (double)NAN : want[k];
        assert_true(reference_near(p[k].r, right, pearson_bound(PEARSON_EXACT, false)));
    }
    run_done(&r);
    free(p);
    free(want);
    free(x);
}

TEST(diff_rows_are_the_increments)
{
    static const size_t samples[] = {2, 3, 33, 1023, 1024, 1025, 3000};
    for (size_t k = 0; k < sizeof samples / sizeof *samples; ++k) {
        for (int type = DTYPE_F32; type <= DTYPE_F64; ++type) {
            for (int diff = PEARSON_DIFF_STEP; diff <= PEARSON_DIFF_LOG; ++diff) {
                size_t n = samples[k], n_series = 3;
                double *x = room(n_series * n), *got = room(n_series * (n - 1));
                reference_walks(k, n_series, n, x);
                x[1] = 0; /* ratios 0, then infinite */
                x[n] = -5;
                x[2 * n + n / 2] = (double)NAN;
                if (type == DTYPE_F32) {
                    reference_round(n_series * n, x);
                }
                struct span in = under_test_put_numbers(x, n_series * n, (enum dtype)type);
                struct span out = under_test_room(n_series * (n - 1) * 8 + 64);
                const struct series_rows rows = {in, (enum dtype)type, n_series, n, 0, 0};
                ASSERT_OK(under_test_ops()->pearson->diff_rows(under_test_queue, &rows,
                                                               (enum pearson_diff)diff, out));
                under_test_get(got, out, n_series * (n - 1) * 8);
                under_test_untouched(out, n_series * (n - 1) * 8);
                for (size_t i = 0; i < n_series * (n - 1); ++i) {
                    size_t at = i / (n - 1) * n + i % (n - 1);
                    double want = pearson_increment(x[at], x[at + 1], (enum pearson_diff)diff);
                    /* a logarithm near 1 is good to a rounding or two of its argument */
                    assert_true(
                        reference_near(got[i], want, diff == PEARSON_DIFF_STEP ? 0 : 4 * 0x1p-52));
                }
                under_test_release(in);
                under_test_release(out);
                free(x);
                free(got);
            }
        }
    }
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
