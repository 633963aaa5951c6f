/*
 * The stage `kmeans`: what it refuses and warns of, and how it names rows and columns. Runs on the
 * backend that $LEAT_TEST_BACKEND names.
 */
#include "tests/support/kmeans_job_runner.h"

/* --- numbers of clusters ---------------------------------------------------------------------- */

static void check_refused(const char *k, size_t n, enum status status, const char *said)
{
    struct points p = points_new(n, 2, DTYPE_F64);
    points_set(&p, k);
    struct clustering c = cluster(&p);
    assert_int_equal(c.status, status);
    if (strstr(c.message, said) == NULL) {
        fail_msg("%s: %s", k, c.message);
    }
    clustering_free(&c);
    free(p.cells);
}

TEST(more_clusters_than_points_are_refused)
{
    check_refused("k=11", 10, STATUS_BAD_INPUT, "10 points cannot make 11 clusters; set k to 10");
    check_refused("k=2", 1, STATUS_BAD_INPUT, "1 point cannot make 2 clusters; set k to 1");
    check_refused("k=2-11", 10, STATUS_BAD_INPUT, "set k to 10 or less");
}

TEST(more_clusters_than_points_are_refused_at_the_end_of_a_table_of_unknown_length)
{
    struct points p = points_new(10, 2, DTYPE_F64);
    points_set(&p, "k=11");
    p.info.n_lines = 0;
    p.info.n_lines_estimate = 100;
    for (p.memory_limit = 0; p.memory_limit < 2; p.memory_limit++) {
        struct clustering c = cluster(&p);
        assert_int_equal(c.status, STATUS_BAD_INPUT);
        assert_non_null(strstr(c.message, "10 points cannot make 11 clusters"));
        clustering_free(&c);
    }
    free(p.cells);
}

TEST(clusters_that_stay_empty_are_counted)
{
    for (uint64_t limit = 0; limit < 2; limit++) {
        struct points p = points_new(60, 2, DTYPE_F64);
        for (size_t i = 0; i < 120; i++) { /* three distinct points */
            p.cells[i] = (double)(i / 2 % 3);
        }
        p.memory_limit = limit;
        points_set(&p, "k=5");
        struct clustering c = cluster_well(&p);
        assert_true(warns(&c, "2 of 5 clusters have no point"));
        assert_true(warns(&c, "set k to 3 or less"));
        assert_int_equal((size_t)number_of(&c, "n_empty"), 2);
        assert_true(number_of(&c, "inertia") == 0);
        clustering_free(&c);
        free(p.cells);
    }
}

TEST(empty_clusters_take_far_points_and_a_warning_counts_them)
{
    for (uint64_t limit = 0; limit < 2; limit++) {
        struct points p = points_new(100, 2, DTYPE_F64);
        p.cells[2] = p.cells[0]; /* the second of the first centroids is the first */
        p.cells[3] = p.cells[1];
        p.memory_limit = limit;
        points_set(&p, "k=3");
        points_set(&p, "init=first");
        struct clustering c = cluster_well(&p);
        assert_int_equal((size_t)number_of(&c, "n_relocated"), 1);
        assert_true(warns(&c, "ran empty"));
        assert_int_equal((size_t)number_of(&c, "n_empty"), 0);
        clustering_free(&c);
        free(p.cells);
    }
}

TEST(a_run_that_does_not_converge_is_told)
{
    for (uint64_t limit = 0; limit < 2; limit++) {
        struct points p = points_new(2000, 2, DTYPE_F64);
        points_set(&p, "max_iter=1");
        p.memory_limit = limit;
        struct clustering c = cluster_well(&p);
        assert_true(warns(&c, "max_iter = 1"));
        assert_int_equal((size_t)number_of(&c, "n_iterations"), 1);
        clustering_free(&c);
        points_set(&p, "k=3"); /* a number that is no range: no warning of others */
        c = cluster_well(&p);
        assert_true(warns(&c, "not converged within max_iter = 1 iterations"));
        assert_int_equal(json_array_size(c.warnings), 1);
        clustering_free(&c);
        free(p.cells);
    }
}

/* In a range one warning is of the others, and another of the best one. */
TEST(runs_of_a_range_that_do_not_converge_are_told_in_two_warnings)
{
    struct points p = points_new(2000, 2, DTYPE_F64);
    points_set(&p, "max_iter=1");
    points_set(&p, "k=3-5");
    struct clustering c = cluster_well(&p);
    assert_true(warns(&c, "not converged within max_iter = 1 iterations"));
    assert_true(warns(&c, "2 other numbers of clusters did not converge"));
    assert_int_equal(json_array_size(c.warnings), 2);
    clustering_free(&c);
    free(p.cells);
}

/* --- columns ---------------------------------------------------------------------------------- */

TEST(a_constant_column_has_no_weight_and_is_named)
{
    static const char *const names[] = {"height", "flat, still"};
    static const char *const scales[] = {"scale=unit", "scale=range"};
    for (size_t s = 0; s < 2; s++) {
        struct points p = points_new(100, 2, DTYPE_F64);
        for (size_t i = 0; i < 100; i++) {
            p.cells[2 * i + 1] = 0.1;
        }
        p.info.names = names;
        points_set(&p, scales[s]);
        struct clustering c = cluster_well(&p);
        assert_true(warns(&c, "'flat, still'"));
        assert_false(warns(&c, "height"));
        const double *const scale = data_of(&c, "scale.npy", 2, sizeof *scale);
        assert_true(scale[0] > 0 && scale[1] == 0);
        assert_true(centroids_of(&c, 16)[1] == 0.1);
        const char *const text = text_of(&c, "centroids.csv.gz");
        assert_true(strncmp(text, "cluster,count,within,height,\"flat, still\"\n0,", 44) == 0);
        clustering_free(&c);
        free(p.cells);
    }
}

TEST(columns_much_narrower_than_another_are_told)
{
    static const char *const names[] = {"price", "weight", "flat"};
    for (size_t i = 0; i < 4; i++) { /* as it is; scaled, twice; less unlike */
        static const char *const scales[] = {"scale=none", "scale=unit", "scale=range",
                                             "scale=none"};
        struct points p = points_new(100, 3, DTYPE_F64);
        for (size_t k = 0; k < 100; k++) {
            p.cells[3 * k] = (double)(k * 37 % 100) * (i == 3 ? 0.25 : 0.35);
            p.cells[3 * k + 1] = (double)(k * 61 % 100) * 0.01;
            p.cells[3 * k + 2] = 7;
        }
        p.info.names = names;
        points_set(&p, scales[i]);
        struct clustering c = cluster_well(&p);
        assert_int_equal(warns(&c, "'price' ranges over 34.6, more than 30 times as much as "),
                         i == 0);
        assert_int_equal(warns(&c, "'weight', which hardly counts in distances: scale=unit"),
                         i == 0);
        assert_int_equal(warns(&c, "hardly"), i == 0);
        clustering_free(&c);
        free(p.cells);
    }
}

TEST(of_columns_as_wide_the_first_is_named)
{
    static const char *const names[] = {"narrow", "first", "second"};
    struct points p = points_new(100, 3, DTYPE_F64);
    for (size_t k = 0; k < 100; k++) {
        p.cells[3 * k] = (double)(k * 61 % 100) * 0.01;
        p.cells[3 * k + 1] = (double)(k * 37 % 100);
        p.cells[3 * k + 2] = (double)(k * 13 % 100) - 50;
    }
    p.info.names = names;
    struct clustering c = cluster_well(&p);
    assert_true(warns(&c, "'first' ranges over 99, more than 30 times as much as 'narrow', which"));
    clustering_free(&c);
    free(p.cells);
}

TEST(a_first_column_that_counts_the_rows_is_told)
{
    static const char *const names[] = {"id", "x"};
    /* a short table; not the first; not all the way; the shortest that is told */
    for (size_t i = 0; i < 10; i++) {
        const bool is_short = i / 2 == 1, is_second = i / 2 == 2, has_gap = i / 2 == 3,
                   is_least = i / 2 == 4;
        struct points p = points_new(is_short   ? 9
                                     : is_least ? 10
                                                : 900,
                                     2, i % 2 ? DTYPE_F32 : DTYPE_F64);
        for (size_t k = 0; k < p.n_lines; k++) {
            p.cells[2 * k + is_second] = (double)(k + 1 + (has_gap && k == 899));
        }
        p.info.names = names;
        p.memory_limit = i % 2;
        points_set(&p, "k=3");
        points_set(&p, "figure=none");
        struct clustering c = cluster_well(&p);
        assert_int_equal(warns(&c, "'id' counts the rows, from 1 to 900"), i < 2);
        assert_int_equal(warns(&c, "'id' counts the rows, from 1 to 10,"), is_least);
        assert_int_equal(warns(&c, "counts the rows"), i < 2 || is_least);
        clustering_free(&c);
        free(p.cells);
    }
}

/* --- what is refused -------------------------------------------------------------------------- */

TEST(a_missing_cell_is_refused_with_its_row_and_column)
{
    static const char *const names[] = {"a", "b"};
    struct points p = points_new(50, 2, DTYPE_F64);
    p.info.names = names;
    p.counts_missing = true;
    p.cut = 31;
    p.cells[2 * 33 + 1] = NAN;
    for (p.memory_limit = 0; p.memory_limit < 2; p.memory_limit++) {
        struct clustering c = cluster(&p);
        assert_int_equal(c.status, STATUS_BAD_INPUT);
        if (strstr(c.message, "points: row 34 (the first is 1) has no value in 'b': ") == NULL) {
            fail_msg("%s", c.message);
        }
        clustering_free(&c);
    }
    free(p.cells);
}

TEST(a_nan_or_an_infinity_of_an_array_is_refused_with_its_row_and_column)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 12; i++) {
        struct points p = points_new(500, 2, i % 2 ? DTYPE_F32 : DTYPE_F64);
        const size_t column = i / 2 % 2;
        char want[256];
        p.cells[800 + column] = bad[i / 4];
        p.cells[900] = bad[i / 4];
        p.memory_limit = i % 2;
        snprintf(want, sizeof want,
                 "points: row 401 (the first is 1) holds %s in column %zu: k-means needs finite "
                 "numbers; replace it, leave out the column, or leave out such rows (%s)",
                 i < 4 ? "a NaN" : "an infinity", column + 1,
                 i < 4 ? "missing=drop" : "missing_value=inf and missing=drop");
        struct clustering c = cluster(&p);
        assert_int_equal(c.status, STATUS_BAD_INPUT);
        if (strcmp(c.message, want) != 0) {
            fail_msg("%s", c.message);
        }
        clustering_free(&c);
        free(p.cells);
    }
}

/* The first is named whatever it holds, also where another chunk, or another thread, holds one. */
TEST(of_several_rows_that_are_not_finite_the_first_is_named)
{
    for (size_t i = 0; i < 8; i++) {
        struct points p = points_new(i < 4 ? 100 : 20000, 2, DTYPE_F64);
        const size_t first = i < 4 ? 30 : 15030, second = i < 4 ? 60 : 19060;
        char want[96];
        p.cells[2 * first + 1] = i % 2 == 0 ? NAN : INFINITY;
        p.cells[2 * second] = i % 2 == 0 ? INFINITY : NAN;
        p.memory_limit = i / 2 % 2;
        snprintf(want, sizeof want,
                 "points: row %zu (the first is 1) holds %s in column 2: ", first + 1,
                 i % 2 == 0 ? "a NaN" : "an infinity");
        struct clustering c = cluster(&p);
        assert_int_equal(c.status, STATUS_BAD_INPUT);
        if (strstr(c.message, want) == NULL) {
            fail_msg("%s", c.message);
        }
        clustering_free(&c);
        free(p.cells);
    }
}

/* Squares of the second column, or weights of it, are no doubles. */
TEST(a_column_too_wide_or_too_narrow_to_be_squared_is_refused_by_name)
{
    static const char *const scales[] = {"scale=none", "scale=unit", "scale=range"};
    static const char *const names[] = {"a", "b"};
    static const double widths[] = {5e-324, 1e-300, 1e-166, 1e-161, 1e122, 1e150, 1e200, 1.7e308};
    for (size_t i = 0; i < 24; i++) {
        const double width = widths[i / 3];
        struct points p = points_new(50, 2, DTYPE_F64);
        for (size_t k = 0; k < 50; k++) {
            p.cells[2 * k + 1] = k % 2 == 0 ? width : -width;
        }
        p.info.names = i % 2 == 0 ? names : NULL;
        p.memory_limit = i % 2;
        points_set(&p, scales[i % 3]);
        struct clustering c = cluster(&p);
        assert_int_equal(c.status, STATUS_BAD_INPUT);
        if (strstr(c.message, i % 2 == 0 ? "'b' has" : "column 2 has") == NULL ||
            strstr(c.message, width < 1 ? "scale it up" : "scale it down") == NULL) {
            fail_msg("%s", c.message);
        }
        clustering_free(&c);
        free(p.cells);
    }
}

/* --- names ------------------------------------------------------------------------------------ */

TEST(names_of_rows_stand_beside_their_clusters)
{
    char long_name[290];
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    const char *const labels[] = {"ape, great", "bee", long_name, "caf\xe9"};
    struct points p = points_new(4, 2, DTYPE_F64);
    points_set(&p, "k=4");
    points_set(&p, "init=first");
    p.labels = labels;
    p.info.has_labels = true;
    struct clustering c = cluster_well(&p);
    const char *const text = text_of(&c, "labels.csv.gz");
    assert_true(strncmp(text, "row,name,cluster\n0,\"ape, great\",0\n1,bee,1\n2,xxx", 47) == 0);
    assert_non_null(strstr(text, "x\xe2\x80\xa6,2\n3,caf\xef\xbf\xbd,3\n"));
    assert_int_equal(json_array_size(c.warnings), 0);
    clustering_free(&c);
    p.memory_limit = 1;
    c = cluster_well(&p);
    assert_true(strncmp(text_of(&c, "labels.csv.gz"), "row,cluster\n0,0\n", 16) == 0);
    assert_true(warns(&c, "do not fit memory"));
    clustering_free(&c);
    free(p.cells);
}

TEST(names_of_rows_that_are_very_long_are_left_out)
{
    enum { N = 3000 };
    static const char *labels[N];
    char name[200];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    for (size_t i = 0; i < N; i++) {
        labels[i] = name;
    }
    struct points p = points_new(N, 2, DTYPE_F64);
    p.labels = labels;
    p.info.has_labels = true;
    struct clustering c = cluster_well(&p);
    assert_true(warns(&c, "longer than 32 bytes on average"));
    assert_true(strncmp(text_of(&c, "labels.csv.gz"), "row,cluster\n", 12) == 0);
    clustering_free(&c);
    free(p.cells);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
