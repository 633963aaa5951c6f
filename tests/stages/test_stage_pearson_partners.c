/*
 * The strongest partners of every series, and the matrix as a text, against the matrix. Runs on the
 * backend that $LEAT_TEST_BACKEND names.
 * ctest: small=asan optimize
 */
#include "kernels/pearson/significance_rule.h"
#include "tests/support/pearson_runner.h"

struct square {
    size_t n;
    double *r; /* [n][n] */
};

static struct square square_of(const struct outcome *o, size_t n)
{
    struct square q = {n, calloc(n * n, sizeof(double))};
    double *const r = read_r(o, n, false);
    assert_non_null(q.r);
    for (size_t i = 0, k = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++, k++) {
            q.r[i * n + j] = q.r[j * n + i] = r[k];
        }
        q.r[i * n + i] = NAN; /* no partner */
    }
    free(r);
    return q;
}

/* Whether partner a of series s goes before b. */
static bool is_before(const struct square *q, size_t s, size_t a, size_t b)
{
    const double x = fabs(q->r[s * q->n + a]), y = fabs(q->r[s * q->n + b]);
    return x > y || (x == y && a < b);
}

/* How many of its others go before partner `of` of series s. */
static size_t rank_of(const struct square *q, size_t s, size_t of)
{
    size_t rank = 0;
    for (size_t j = 0; j < q->n; j++) {
        rank += is_before(q, s, j, of) ? 1 : 0;
    }
    return rank;
}

static size_t partners_of(const struct square *q, size_t s)
{
    size_t n = 0;
    for (size_t j = 0; j < q->n; j++) {
        n += isnan(q->r[s * q->n + j]) ? 0 : 1;
    }
    return n;
}

static void check_row(const struct sheet *sheet, const struct square *q, size_t n_samples,
                      const char *line, size_t s, size_t rank, double error)
{
    size_t series, partner, n, common = 0;
    double r, p;
    assert_int_equal(
        sscanf(line, "%zu,%*[^,],%zu,%*[^,],%lf,%zu,%lf", &series, &partner, &r, &n, &p), 5);
    for (size_t t = 0; t < n_samples; t++) {
        common += !isnan(sample(sheet, s, t)) && !isnan(sample(sheet, partner, t));
    }
    assert_int_equal(series, s);
    assert_true(error > 0 || rank_of(q, s, partner) == rank);
    assert_true(fabs(r - q->r[s * q->n + partner]) <= error);
    assert_int_equal(n, common);
    const double want = exp(significance_log_p(r, (double)n));
    assert_true(fabs(p - want) <= 1e-13 * want);
}

/* Against the exact matrix of the same table; error: of r, above 0 where it is not the same. */
static void check_partners(struct sheet *sheet, size_t n_series, size_t n_samples,
                           const char *top_each, double error)
{
    const size_t top = (size_t)strtoul(strchr(top_each, '=') + 1, NULL, 10);
    struct outcome o = run_well(sheet);
    const struct square q = square_of(&o, n_series);
    assert_null(find_file(&o, "partners.csv.gz"));
    outcome_free(&o);
    sheet_set(sheet, top_each);
    if (error > 0) {
        sheet_set(sheet, "precision=f32");
    }
    o = run_well(sheet);
    struct bytes text = read_text(&o, "partners.csv.gz");
    char *rest = NULL, *line = strtok_r((char *)text.data, "\n", &rest);
    assert_string_equal(line, "series,name,partner,name_partner,r,n,p");
    for (size_t s = 0; s < n_series; s++) {
        const size_t have = partners_of(&q, s);
        for (size_t k = 0; k < top && k < have; k++) {
            line = strtok_r(NULL, "\n", &rest);
            assert_non_null(line);
            check_row(sheet, &q, n_samples, line, s, k, error);
        }
    }
    assert_null(strtok_r(NULL, "\n", &rest));
    bytes_free(&text);
    free(q.r);
    outcome_free(&o);
    sheet_free(sheet);
}

TEST(partners_are_the_strongest_of_each_series)
{
    enum { M = 70, N = 40 };
    static const char *const tops[] = {"top_each=1", "top_each=3", "top_each=69", "top_each=500"};
    for (size_t k = 0; k < 6 * sizeof tops / sizeof *tops; k++) {
        const bool by_lines = k % 2 == 0, coins = k % 3 == 1, gaps = k % 3 == 2;
        struct sheet sheet = shape_of(M, N, by_lines, DTYPE_F64);
        uint64_t seed = 7;
        for (size_t c = 0; c < (size_t)M * N; c++) {
            const size_t s = by_lines ? c / N : c % M;
            const double u = next_uniform(&seed);
            /* Ties; series that are constant, and missing samples. */
            sheet.cells[c] = coins ? (double)(sheet.cells[c] > 100) + (s % 10 == 0 ? u : 0)
                             : gaps && u < 0.2 && s % 3 > 0 ? NAN
                             : gaps && s == 6               ? 1
                                                            : sheet.cells[c];
        }
        check_partners(&sheet, M, N, tops[k / 6], 0);
    }
}

/* The order is that of the exact coefficients, whatever single precision makes of them. */
TEST(partners_of_f32_have_exact_coefficients)
{
    enum { M = 90, N = 30 };
    struct sheet sheet = sheet_new(M, N, true, DTYPE_F64);
    for (size_t s = 1; s < M; s++) { /* of nearly equal |r| with series 0 */
        for (size_t t = 0; t < N; t++) {
            const double x = sheet.cells[t] * (s % 2 ? 1 : -1);
            sheet.cells[s * N + t] = x + 1e-5 * sheet.cells[s * N + t];
        }
    }
    struct outcome o = run_well(&sheet);
    const struct square q = square_of(&o, M);
    outcome_free(&o);
    sheet_set(&sheet, "top_each=8");
    sheet_set(&sheet, "precision=f32");
    o = run_well(&sheet);
    struct bytes text = read_text(&o, "partners.csv.gz");
    char *rest = NULL, *line = strtok_r((char *)text.data, "\n", &rest);
    for (size_t k = 0; k < (size_t)M * 8; k++) {
        size_t s, partner;
        double r;
        size_t better = 0;
        line = strtok_r(NULL, "\n", &rest);
        assert_non_null(line);
        assert_int_equal(sscanf(line, "%zu,%*[^,],%zu,%*[^,],%lf", &s, &partner, &r), 3);
        assert_int_equal(s, k / 8);
        assert_true(fabs(r - q.r[s * M + partner]) <= 2e-12); /* both are within 1e-12 */
        /* None that goes before it by more than what they are apart comes later. */
        for (size_t j = 0; j < M; j++) {
            better += fabs(q.r[s * M + j]) > fabs(r) + 2e-12 ? 1 : 0;
        }
        assert_true(better <= k % 8);
    }
    bytes_free(&text);
    free(q.r);
    outcome_free(&o);
    sheet_free(&sheet);
    sheet = sheet_new(60, 40, true, DTYPE_F64);
    sheet.cells[3] = sheet.cells[50] = sheet.cells[90] = NAN;
    check_partners(&sheet, 60, 40, "top_each=5", 1e-9);
}

TEST(too_many_partners_are_refused)
{
    struct sheet sheet = sheet_new(5000, 2, true, DTYPE_F32);
    sheet_set(&sheet, "top_each=4000");
    struct outcome o = run_sheet(&sheet);
    assert_int_equal(o.status, STATUS_TOO_LARGE);
    assert_non_null(strstr(o.message, "4000 partners of each of 5000 series"));
    assert_non_null(strstr(o.message, "set top_each to 3355 or less"));
    outcome_free(&o);
    sheet_free(&sheet);
}

/* --- the matrix as a text ----------------------------------------------------------------------
 */

TEST(the_matrix_as_a_text_is_square_and_has_names)
{
    enum { M = 70, N = 20 };
    static const char *const names[] = {"a", "b,c", "=d"};
    for (size_t k = 0; k < 6; k++) {
        const size_t m = k % 3 == 0 ? M : k % 3;
        const char *labels[M];
        struct sheet sheet = sheet_new(m, N, true, DTYPE_F64);
        for (size_t s = 0; s < m; s++) {
            labels[s] = names[s % 3];
        }
        sheet.labels = labels;
        sheet.info.has_labels = true;
        for (size_t t = 0; t < N && m > 5; t++) {
            sheet.cells[5 * N + t] = 1; /* no coefficients */
        }
        sheet_set(&sheet, k < 3 ? "precision=exact" : "precision=f32");
        struct outcome o = run_well(&sheet);
        double *const r = read_r(&o, m, k >= 3);
        assert_null(find_file(&o, "r.csv.gz"));
        outcome_free(&o);
        sheet_set(&sheet, "r=csv");
        o = run_well(&sheet);
        assert_null(find_array(&o, "r"));
        struct bytes text = read_text(&o, "r.csv.gz");
        char *at = (char *)text.data;
        for (size_t row = 0; row <= m; row++) {
            static const char *const fields[] = {"a", "\"b,c\"", "'=d"};
            const char *const first = row == 0 ? "name" : fields[(row - 1) % 3];
            assert_memory_equal(at, first, strlen(first));
            at += strlen(first);
            for (size_t c = 0; c < m; c++) {
                const size_t i = row < c + 1 ? row - 1 : c, j = row < c + 1 ? c : row - 1;
                assert_int_equal(*at++, ',');
                if (row == 0) {
                    assert_memory_equal(at, fields[c % 3], strlen(fields[c % 3]));
                    at += strlen(fields[c % 3]);
                    continue;
                }
                const double got = strtod(at, &at),
                             want = i == j ? (i == 5 ? NAN : 1)
                                           : r[i * m - i * (i + 1) / 2 + j - i - 1];
                assert_true(isnan(want) ? isnan(got) : (float)got == (float)want);
                assert_true(k >= 3 || isnan(want) || got == want);
            }
            assert_int_equal(*at++, '\n');
        }
        assert_int_equal(*at, '\0');
        bytes_free(&text);
        free(r);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

TEST(more_series_than_a_text_has_are_refused)
{
    struct sheet sheet = sheet_new(5001, 3, true, DTYPE_F32);
    sheet_set(&sheet, "r=csv");
    struct outcome o = run_sheet(&sheet);
    assert_int_equal(o.status, STATUS_TOO_LARGE);
    assert_non_null(strstr(o.message, "5001 series are more than r=csv writes (5000)"));
    outcome_free(&o);
    sheet_free(&sheet);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
