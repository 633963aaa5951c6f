/*
 * Groups of series, by brute force from the matrix, whichever way the series lie, with gaps, ranks
 * and single precision; the lists beside them; the heat map by groups. Runs on the backend that
 * $LEAT_TEST_BACKEND names.
 */
#include "tests/support/pearson_runner.h"

enum { SERIES = 60, SAMPLES = 24, BLOCKS = 7 };

/* The number of the field `column` of each row but the first, of names without commas. */
static void read_column(const struct outcome *o, const char *file, const char *column, size_t n,
                        double *values)
{
    struct bytes text = read_text(o, file);
    char *rest = NULL, *line = strtok_r((char *)text.data, "\n", &rest);
    char *const at = strstr(line, column);
    size_t skip = 0;
    assert_non_null(at);
    for (const char *c = line; c < at; c++) {
        skip += *c == ',' ? 1 : 0;
    }
    for (size_t k = 0; k < n; k++) {
        const char *field = line = strtok_r(NULL, "\n", &rest);
        assert_non_null(line);
        for (size_t s = 0; s < skip; s++) {
            field = strchr(field, ',') + 1;
        }
        values[k] = strtod(field, NULL);
    }
    assert_null(strtok_r(NULL, "\n", &rest));
    bytes_free(&text);
}

/* Series in blocks that share a signal, one of them constant. */
static struct sheet blocks(bool by_lines, bool gaps)
{
    struct sheet sheet = shape_of(SERIES, SAMPLES, by_lines, DTYPE_F64);
    uint64_t seed = 3;
    double signal[BLOCKS][SAMPLES];
    for (size_t k = 0; k < (size_t)BLOCKS * SAMPLES; k++) {
        signal[k / SAMPLES][k % SAMPLES] = next_uniform(&seed) - 0.5;
    }
    for (size_t k = 0; k < (size_t)SERIES * SAMPLES; k++) {
        const size_t s = k / SAMPLES, t = k % SAMPLES;
        const double x = signal[s % BLOCKS][t] * (s % 11 == 0 ? -1 : 1) +
                         (next_uniform(&seed) - 0.5) * (double)(s % 5) / 4;
        sheet.cells[by_lines ? k : t * SERIES + s] =
            s == 9                                               ? 2
            : gaps && next_uniform(&seed) < (double)(s % 4) / 10 ? NAN
                                                                 : x;
    }
    return sheet;
}

/* Every two of a group reach the limit, and no two groups could be one, by r of all pairs. */
static void check_groups(const double *r, const double *group, size_t n_groups, double limit,
                         bool absolute)
{
    bool apart[SERIES][SERIES] = {{0}};
    for (size_t i = 0, k = 0; i < SERIES; i++) {
        assert_true(group[i] >= 1 && group[i] <= (double)n_groups);
        for (size_t j = i + 1; j < SERIES; j++, k++) {
            const size_t a = (size_t)group[i] - 1, b = (size_t)group[j] - 1;
            const bool high = (absolute ? fabs(r[k]) : r[k]) >= limit;
            assert_true(a != b || high);
            apart[a][b] = apart[b][a] |= !high;
        }
    }
    for (size_t a = 0; a < n_groups; a++) {
        for (size_t b = a + 1; b < n_groups; b++) {
            assert_true(apart[a][b]);
        }
    }
}

static void check_sizes(const struct outcome *o, const double *r, const double *group,
                        size_t n_groups, bool absolute)
{
    double size[SERIES], least[SERIES], want[SERIES];
    size_t counts[SERIES] = {0};
    read_column(o, "groups.csv.gz", "size", n_groups, size);
    read_column(o, "groups.csv.gz", "smallest_r", n_groups, least);
    for (size_t g = 0; g < n_groups; g++) {
        want[g] = NAN;
    }
    for (size_t i = 0, k = 0; i < SERIES; i++) {
        counts[(size_t)group[i] - 1]++;
        for (size_t j = i + 1; j < SERIES; j++, k++) {
            double *const w = &want[(size_t)group[i] - 1];
            *w = group[i] == group[j] ? fmin(*w, absolute ? fabs(r[k]) : r[k]) : *w;
        }
    }
    for (size_t g = 0; g < n_groups; g++) {
        assert_true(size[g] == (double)counts[g]);
        assert_true(g == 0 || size[g] <= size[g - 1]);
    }
    assert_close(least, want, n_groups, 2e-12);
    assert_true(summary_number(o, "largest_group") == size[0]);
}

/* Where the heat map has the series: group by group, in each as in the file. */
static void check_order(const struct outcome *o, const double *group)
{
    int32_t *const order = read_array(o, "order", "<i4", SERIES, sizeof *order);
    double place[SERIES];
    read_column(o, "series.csv.gz", "place", SERIES, place);
    for (size_t p = 0; p < SERIES; p++) {
        const double before = p > 0 ? group[order[p - 1]] : 0;
        assert_true(group[order[p]] > before ||
                    (group[order[p]] == before && order[p] > order[p - 1]));
        assert_true(place[order[p]] == (double)p);
    }
    assert_string_equal(json_string_value(json_object_get(o->result.parameters, "order")),
                        "groups");
    free(order);
}

/* All results of pairs. */
static struct bytes told_of_pairs(const struct outcome *o)
{
    struct bytes text = read_text(o, "pairs.csv.gz");
    char *const strongest =
        json_dumps(json_object_get(o->result.summary, "strongest_pairs"), JSON_SORT_KEYS);
    assert_non_null(strongest);
    text.len--; /* its NUL */
    assert_int_equal(bytes_append(&text, strongest, strlen(strongest) + 1), STATUS_OK);
    free(strongest);
    return text;
}

TEST(groups_are_cliques_however_the_series_come)
{
    static const char *const params[][3] = {
        {"groups=0.5"},
        {"groups=0.8", "groups_of=abs", "top=3"},
        {"groups=0.6", "method=spearman", "threshold=0.9"},
        {"groups=0.7", "precision=f32", "threshold=0.4"},
        {"groups=0.6", "diff=step", "top=0"},
    };
    for (size_t k = 0; k < 5 * 2 * 3; k++) {
        const char *const *const set = params[k % 5];
        const bool gaps = k / 5 % 2 == 1, slabs = k / 10 == 2, absolute = k % 5 == 1;
        struct sheet sheet = blocks(k / 10 == 0, gaps);
        double group[SERIES];
        if (slabs && (k % 5 == 2 || k % 5 == 3)) { /* which take whole series, or are exact */
            sheet_free(&sheet);
            continue;
        }
        sheet.memory_limit = slabs ? 1 : 0;
        for (size_t p = 1; p < 3 && set[p] != NULL; p++) {
            sheet_set(&sheet, set[p]);
        }
        struct outcome o = run_well(&sheet);
        double *const r = read_r(&o, SERIES, k % 5 == 3 && !slabs);
        struct bytes want = told_of_pairs(&o);
        assert_null(find_file(&o, "groups.csv.gz"));
        outcome_free(&o);
        sheet_set(&sheet, set[0]);
        sheet_set(&sheet, "order=groups");
        o = run_well(&sheet);
        struct bytes got = told_of_pairs(&o);
        assert_string_equal(got.data, want.data); /* as without groups */
        const size_t n_groups = (size_t)summary_number(&o, "n_groups");
        assert_in_range(n_groups, BLOCKS + 1, SERIES / 2);
        read_column(&o, "series.csv.gz", "group", SERIES, group);
        check_groups(r, group, n_groups, strtod(set[0] + 7, NULL), absolute);
        for (size_t s = 0; s < SERIES; s++) {
            assert_true((s == 9) + (group[s] == group[9]) != 1); /* the constant one is alone */
        }
        if (k % 5 != 3) {
            check_sizes(&o, r, group, n_groups, absolute);
        }
        check_order(&o, group);
        bytes_free(&got);
        bytes_free(&want);
        outcome_free(&o);
        free(r);
        sheet_free(&sheet);
    }
}

/* r of copies is 1 but for rounding, and 0.5 here, and some computed ones are lower: all reach a
 * limit that is just that. */
TEST(a_limit_that_pairs_reach_but_for_rounding_holds_them)
{
    enum { N = 30 };
    static const double two[2][6] = {{1, 0, -1, 0, 1, -1}, {1, 1, 0, -1, 0, -1}}; /* r = 0.5 */
    for (size_t k = 0; k < 4; k++) {
        const bool half = k % 2 == 1;
        struct sheet sheet = sheet_new(N, 6, true, DTYPE_F64);
        for (size_t c = 0; c < (size_t)N * 6; c++) {
            const double x = two[half ? c / 6 % 2 : 0][c % 6] * 0.1 * (double)(c / 6 + 1) + 0.7;
            sheet.cells[c] = k < 2 ? x : 5; /* else all are constant */
        }
        sheet_set(&sheet, half ? "groups=0.5" : "groups=1");
        struct outcome o = run_well(&sheet);
        assert_true(summary_number(&o, "n_groups") == (k < 2 ? 1 : N));
        assert_true(summary_number(&o, "largest_group") == (k < 2 ? N : 1));
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

TEST(one_series_is_a_group)
{
    struct sheet sheet = sheet_new(1, 6, true, DTYPE_F64);
    sheet_set(&sheet, "groups=0.9");
    sheet_set(&sheet, "order=groups");
    struct outcome o = run_well(&sheet);
    struct bytes text = read_text(&o, "groups.csv.gz");
    assert_string_equal(text.data, "group,size,smallest_r,medoid,name\n1,1,nan,0,row 1\n");
    bytes_free(&text);
    outcome_free(&o);
    sheet_free(&sheet);
}

TEST(what_cannot_be_had_is_refused)
{
    static const struct {
        const char *params[2];
        enum status status;
        const char *message;
        size_t n;
    } cases[] = {
        {{"order=groups"}, STATUS_BAD_ARGUMENT, "order=groups needs groups: set", 3},
        {{"groups=0.9", "targets=file"}, STATUS_BAD_ARGUMENT, "set groups=0 or targets=none", 3},
        {{"groups=1"},
         STATUS_TOO_LARGE,
         "more than 16777216 pairs have |r| >= 1: raise groups",
         6000},
    };
    for (size_t k = 0; k < under_test_size(3, 2); k++) {
        struct sheet sheet = sheet_new(cases[k].n, 4, true, DTYPE_F32);
        for (size_t c = 0; c < cases[k].n * 4; c++) {
            sheet.cells[c] = (double)(c % 4); /* all series are alike */
        }
        sheet.params[1] = cases[k].params[0];
        sheet.params[2] = cases[k].params[1];
        struct outcome o = run_sheet(&sheet);
        assert_int_equal(o.status, cases[k].status);
        assert_non_null(strstr(o.message, cases[k].message));
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
