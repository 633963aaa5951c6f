/*
 * What a pearson result tells of each pair listed beside r: p, q of all pairs as Benjamini and
 * Hochberg define it, and both measures of samples. Runs on the backend that $LEAT_TEST_BACKEND
 * names.
 * ctest: small=asan optimize
 */
#include "kernels/pearson/significance_rule.h"
#include "tests/support/pearson_runner.h"

enum fill { NOISE, RELATED, WALKS, COPIES, COINS };

struct table {
    const char *name;
    enum fill fill;
    size_t n_series, n_samples;
    double missing; /* a share of the samples of two series of three */
    bool columns;
    const char *params[2];
    uint64_t memory_limit; /* 1: slabs */
    bool only_safe;        /* of slabs of many with gaps: q may be higher */
};

static double next_value(const struct table *t, size_t s, double before, double common,
                         uint64_t *seed)
{
    const double own = next_uniform(seed) - 0.5;
    switch (t->fill) {
    case RELATED:
        return s < t->n_series / 4 ? own + common : own;
    case WALKS:
        return before + own;
    case COPIES:
        return s < t->n_series / 4 ? common : own;
    case COINS:
        return own < 0 ? 0 : 1;
    default:
        return own;
    }
}

static struct sheet make(const struct table *t)
{
    struct sheet sheet = shape_of(t->n_series, t->n_samples, !t->columns, DTYPE_F64);
    double *const before = calloc(t->n_series, sizeof *before);
    uint64_t seed = 5;
    assert_non_null(before);
    for (size_t k = 0; k < t->n_samples; k++) {
        const double common = next_uniform(&seed) - 0.5;
        for (size_t s = 0; s < t->n_series; s++) {
            const double x = before[s] = next_value(t, s, before[s], common, &seed);
            const bool lacks = next_uniform(&seed) < t->missing && s % 3 != 0;
            sheet.cells[t->columns ? k * t->n_series + s : s * t->n_samples + k] = lacks ? NAN : x;
        }
    }
    free(before);
    sheet_set(&sheet, "figure=none");
    for (size_t k = 0; k < 2 && t->params[k] != NULL; k++) {
        sheet_set(&sheet, t->params[k]);
    }
    sheet.memory_limit = t->memory_limit;
    sheet.started_over = t->fill == COINS; /* whose sums cancel where samples are missing */
    return sheet;
}

static size_t common_samples(const struct sheet *sheet, const struct table *t, size_t i, size_t j)
{
    size_t n = 0;
    for (size_t k = 0; k < t->n_samples; k++) {
        n += !isnan(sample(sheet, i, k)) && !isnan(sample(sheet, j, k));
    }
    return n;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* p of all pairs that have a coefficient, ascending; their number. */
static size_t all_p(const struct sheet *sheet, const struct table *t, double *p)
{
    double *const r = reference_matrix(sheet, t->n_series, t->n_samples);
    size_t m = 0, k = 0;
    for (size_t i = 0; i < t->n_series; i++) {
        for (size_t j = i + 1; j < t->n_series; j++, k++) {
            if (!isnan(r[k])) {
                p[m++] = exp(significance_log_p(r[k], (double)common_samples(sheet, t, i, j)));
            }
        }
    }
    free(r);
    qsort(p, m, sizeof *p, by_value);
    return m;
}

/* q of a pair among them: the least p_l m / l from the last that is no larger than it on. What the
 * reference rounds otherwise is `error` of itself. */
static double q_of(const double *p, size_t m, double of, double error)
{
    double q = 1;
    for (size_t l = m; l-- > 0 && p[l] >= of * (1 - error);) {
        q = fmin(q, p[l] * (double)m / ((double)l + 1));
    }
    return q;
}

static void check_q(const struct table *t)
{
    struct sheet sheet = make(t);
    struct outcome o = run_well(&sheet);
    const size_t n_pairs = t->n_series * (t->n_series - 1) / 2;
    size_t n;
    struct listed *const pairs = read_pairs(&o, &n);
    double *const p = malloc(n_pairs * sizeof *p);
    assert_non_null(p);
    const size_t m = all_p(&sheet, t, p);
    assert_true(n > 0);
    for (size_t k = 0; k < n; k++) {
        /* r of the matrix is within 1e-12, or 1e-10 with gaps, of the reference: p by n r / (1 -
         * r^2) times as much of itself. */
        const double r = fabs(pairs[k].r), samples = (double)pairs[k].n,
                     error = samples * 1e-10 * r / (1 - r + 1e-16),
                     want_p = exp(significance_log_p(r, samples));
        assert_int_equal(pairs[k].n, common_samples(&sheet, t, pairs[k].i, pairs[k].j));
        assert_true(fabs(pairs[k].p - want_p) <= 1e-13 * want_p);
        if (error > 1e-3) { /* of copies: next to r = 1 rounding decides */
            assert_true(pairs[k].q < 0.1);
            continue;
        }
        const double q = q_of(p, m, pairs[k].p, error);
        const bool right = pairs[k].q >= q * (1 - error - 1e-9) && pairs[k].q <= 1 &&
                           (t->only_safe || pairs[k].q <= q * (1.02 + error));
        if (!right) {
            fail_msg("%s: pair %zu of %zu (%zu, %zu), p %g: q is %.10g, by definition %.10g",
                     t->name, k, n, pairs[k].i, pairs[k].j, pairs[k].p, pairs[k].q, q);
        }
    }
    free(p);
    free(pairs);
    outcome_free(&o);
    sheet_free(&sheet);
}

TEST(q_is_that_of_benjamini_and_hochberg)
{
    static const struct table tables[] = {
        {.name = "noise", .fill = NOISE, .n_series = 80, .n_samples = 40},
        {.name = "few of noise", .n_series = 80, .n_samples = 40, .params = {"top=3"}},
        {.name = "all of noise", .n_series = 80, .n_samples = 40, .params = {"top=9999"}},
        {.name = "related", .fill = RELATED, .n_series = 80, .n_samples = 50},
        {.name = "ten of related",
         .fill = RELATED,
         .n_series = 80,
         .n_samples = 50,
         .params = {"top=10"}},
        {.name = "threshold",
         .fill = RELATED,
         .n_series = 80,
         .n_samples = 50,
         .params = {"top=0", "threshold=0.45"}},
        {.name = "walks", .fill = WALKS, .n_series = 70, .n_samples = 300, .params = {"top=100"}},
        {.name = "copies", .fill = COPIES, .n_series = 80, .n_samples = 30, .params = {"top=500"}},
        {.name = "coins", .fill = COINS, .n_series = 80, .n_samples = 9, .params = {"top=300"}},
        {.name = "single",
         .fill = RELATED,
         .n_series = 80,
         .n_samples = 50,
         .params = {"top=20", "precision=f32"}},
        {.name = "gaps", .fill = RELATED, .n_series = 80, .n_samples = 50, .missing = 0.2},
        {.name = "ten with gaps",
         .fill = RELATED,
         .n_series = 80,
         .n_samples = 50,
         .missing = 0.2,
         .params = {"top=10"}},
        {.name = "walks with gaps",
         .fill = WALKS,
         .n_series = 70,
         .n_samples = 300,
         .missing = 0.1,
         .params = {"top=200"}},
        {.name = "coins with gaps",
         .fill = COINS,
         .n_series = 80,
         .n_samples = 12,
         .missing = 0.2,
         .params = {"top=100"}},
        {.name = "single with gaps",
         .fill = RELATED,
         .n_series = 80,
         .n_samples = 50,
         .missing = 0.2,
         .params = {"top=20", "precision=f32"}},
        {.name = "columns",
         .fill = RELATED,
         .n_series = 80,
         .n_samples = 50,
         .columns = true,
         .missing = 0.2,
         .params = {"top=20"}},
        {.name = "few slabs",
         .fill = RELATED,
         .n_series = 60,
         .n_samples = 50,
         .columns = true,
         .missing = 0.2,
         .params = {"top=20"},
         .memory_limit = 1,
         .only_safe = true},
        {.name = "slabs",
         .fill = RELATED,
         .n_series = 80,
         .n_samples = 50,
         .columns = true,
         .missing = 0.2,
         .params = {"top=20"},
         .memory_limit = 1,
         .only_safe = true},
        {.name = "complete slabs",
         .fill = RELATED,
         .n_series = 80,
         .n_samples = 50,
         .columns = true,
         .params = {"top=20"},
         .memory_limit = 1},
    };
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        check_q(&tables[k]);
    }
}

/* Few columns in slabs, which on the CPU know the samples of all their pairs. */
TEST(q_of_few_columns_with_gaps_is_exact_on_the_cpu)
{
    if (under_test_is_cpu()) {
        check_q(&(struct table){.name = "few slabs",
                                .fill = RELATED,
                                .n_series = 60,
                                .n_samples = 50,
                                .columns = true,
                                .missing = 0.2,
                                .params = {"top=20"},
                                .memory_limit = 1});
    }
}

/* n (1 - a b) / (1 + a b) of lag-1 autocorrelations a and b. */
TEST(samples_that_follow_each_other_count_less)
{
    const struct table t = {.fill = WALKS, .n_series = 20, .n_samples = 200};
    struct sheet sheet = make(&t);
    struct outcome o = run_well(&sheet);
    struct bytes text = read_text(&o, "series.csv.gz");
    double lag1[20];
    char *rest = NULL, *line = strtok_r((char *)text.data, "\n", &rest);
    for (size_t s = 0; s < 20; s++) {
        line = strtok_r(NULL, "\n", &rest);
        assert_int_equal(
            sscanf(line, "%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%lf", &lag1[s]),
            1);
    }
    size_t n;
    struct listed *const pairs = read_pairs(&o, &n);
    assert_int_equal(n, 190);
    for (size_t k = 0; k < n; k++) {
        const double ab = lag1[pairs[k].i] * lag1[pairs[k].j], want = 200 * (1 - ab) / (1 + ab);
        assert_true(fabs(pairs[k].n_effective - want) <= 1e-12 * want);
        const double p = exp(significance_log_p(pairs[k].r, want));
        assert_true(fabs(pairs[k].p_effective - p) <= 1e-12 * p);
        assert_true(pairs[k].n_effective < 60 && pairs[k].p_effective >= pairs[k].p);
    }
    free(pairs);
    bytes_free(&text);
    outcome_free(&o);
    sheet_free(&sheet);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
