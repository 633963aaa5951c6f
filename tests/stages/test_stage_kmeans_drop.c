/*
 * The stage `kmeans` with missing=drop: rows that miss a value are left out, and all else is as of
 * a table without them.
 */
#include "tests/support/kmeans_job_runner.h"

/* Points with rows between them that miss a value, as many as `every` says, at either end, and 200
 * on end. */
static bool is_left_out(size_t row, size_t n, size_t every)
{
    return row == 0 || row + 2 >= n || row % every == 3 || (row >= 300 && row < 500);
}

/* Clusters, and labels of the rows that are kept, are those of a table of these alone. */
static void check_dropped(size_t n, size_t every, size_t way)
{
    const enum dtype type = way % 2 == 0 ? DTYPE_F64 : DTYPE_F32;
    struct points kept = set_points(n, 3, type, way % 3), all = set_points(n, 3, type, way % 3);
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_left_out(i, n, every)) {
            all.cells[3 * i + i % 3] = NAN;
        } else {
            memmove(kept.cells + 3 * n_kept++, all.cells + 3 * i, 3 * sizeof *all.cells);
        }
    }
    kept.n_lines = kept.info.n_lines = kept.info.n_lines_estimate = n_kept;
    points_set(&all, "missing=drop");
    all.counts_missing = way % 2 == 0;
    all.cut = way % 5 == 0 ? 2 : way % 5 == 1 ? 3 * 64 : 0;
    all.memory_limit = way / 2 % 2;
    if (way / 4 % 2 == 1) { /* of unknown length */
        all.info.n_lines = 0;
        all.info.n_lines_estimate = n / 3;
    }
    struct clustering want = cluster_well(&kept), got = cluster_well(&all);
    char told[64];
    snprintf(told, sizeof told, "%zu of %zu rows miss a value and are left out", n - n_kept, n);
    assert_true(warns(&got, told));
    assert_int_equal((size_t)number_of(&got, "n_points"), n_kept);
    assert_int_equal((size_t)number_of(&got, "n_dropped"), n - n_kept);
    const int32_t *const labels = labels_of(&got, n), *const alone = labels_of(&want, n_kept);
    const char *text = strchr(text_of(&got, "labels.csv.gz"), '\n');
    for (size_t i = 0, k = 0; i < n; i++) {
        const int32_t label = is_left_out(i, n, every) ? -1 : alone[k++];
        char line[48];
        assert_int_equal(labels[i], label);
        snprintf(line, sizeof line, "\n%zu,%d\n", i, (int)label);
        assert_memory_equal(text, line, strlen(line));
        text = strchr(text + 1, '\n');
    }
    const size_t k = (size_t)number_of(&got, "k");
    assert_memory_equal(centroids_of(&got, 3 * k), centroids_of(&want, 3 * k),
                        3 * k * sizeof(double));
    clustering_free(&want);
    clustering_free(&got);
    free(kept.cells);
    free(all.cells);
}

TEST(rows_that_miss_a_value_are_left_out_where_that_is_asked_for)
{
    for (size_t way = 0; way < 12; way++) {
        check_dropped(way < 6 ? 700 : 5000, way % 2 == 0 ? 7 : 1000, way);
    }
}

/* Of an array that is stored by columns, and of one whose every row misses a value. */
TEST(columns_of_an_array_lose_rows_too_but_not_all_of_them)
{
    enum { N = 90 };
    struct points p = points_new(2, N, DTYPE_F64);
    p.info.lines_are_columns = true;
    points_set(&p, "missing=drop");
    points_set(&p, "k=3");
    p.cells[7] = p.cells[N + 7] = p.cells[N + 20] = NAN;
    struct clustering c = cluster_well(&p);
    assert_true(warns(&c, "2 of 90 rows miss a value"));
    const int32_t *const labels = labels_of(&c, N);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(labels[i] == -1, i == 7 || i == 20);
    }
    clustering_free(&c);
    for (size_t i = 0; i < N; i++) {
        p.cells[i % 2 * N + i] = NAN;
    }
    c = cluster(&p);
    assert_int_equal(c.status, STATUS_BAD_INPUT);
    assert_non_null(strstr(c.message, "each of its 90 rows has a missing value"));
    clustering_free(&c);
    free(p.cells);
}

/* An infinity behind rows that are left out is named by its row, and the message about too
 * many clusters counts the rows that are left. */
TEST(what_is_wrong_beside_rows_that_are_left_out_is_said_of_the_table)
{
    for (size_t limit = 0; limit < 2; limit++) {
        struct points p = points_new(100, 2, DTYPE_F64);
        points_set(&p, "missing=drop");
        p.memory_limit = limit;
        p.cells[2 * 10] = p.cells[2 * 40 + 1] = NAN;
        p.cells[2 * 80] = INFINITY;
        struct clustering c = cluster(&p);
        assert_int_equal(c.status, STATUS_BAD_INPUT);
        assert_non_null(strstr(c.message, "row 81 (the first is 1) holds an infinity in column 1"));
        clustering_free(&c);
        p.cells[2 * 80] = 0;
        points_set(&p, "k=99");
        c = cluster(&p);
        assert_int_equal(c.status, STATUS_BAD_INPUT);
        assert_non_null(strstr(c.message, "98 points cannot make 99 clusters; set k to 98"));
        clustering_free(&c);
        free(p.cells);
    }
}

TEST(a_first_column_that_counts_the_rows_is_told_though_some_are_left_out)
{
    struct points p = points_new(40, 2, DTYPE_F64);
    for (size_t i = 0; i < 40; i++) {
        p.cells[2 * i] = 5 + (double)i;
    }
    p.cells[1] = p.cells[2 * 17 + 1] = NAN;
    points_set(&p, "missing=drop");
    struct clustering c = cluster_well(&p);
    assert_true(warns(&c, "column 1 counts the rows, from 6 to 44,"));
    clustering_free(&c);
    free(p.cells);
}

TEST(names_stand_beside_the_label_of_a_row_that_is_left_out)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct points p = points_new(4, 1, DTYPE_F64);
    p.info.has_labels = true;
    p.labels = names;
    p.cells[2] = NAN;
    points_set(&p, "k=1");
    points_set(&p, "missing=drop");
    struct clustering c = cluster_well(&p);
    assert_string_equal(text_of(&c, "labels.csv.gz"),
                        "row,name,cluster\n0,a,0\n1,b,0\n2,c,-1\n3,d,0\n");
    clustering_free(&c);
    free(p.cells);
}

/* Of a file that is written to meanwhile: rows that missed a value have it in a later pass, or the
 * other way round. */
TEST(points_that_come_or_go_in_a_later_pass_are_a_change)
{
    enum { N = 3000 };
    for (size_t way = 0; way < 2; way++) {
        struct points p = points_new(N, 1, DTYPE_F64), other = points_new(N, 1, DTYPE_F64);
        for (size_t i = 0; i < N / 2; i++) {
            (way == 0 ? p.cells : other.cells)[i] = NAN;
        }
        p.later = other.cells;
        p.memory_limit = 1; /* they do not stay */
        points_set(&p, "k=2");
        points_set(&p, "missing=drop");
        points_set(&p, "init=first");
        points_set(&p, "max_iter=1");
        points_set(&p, "tol=0");
        struct clustering c = cluster(&p);
        assert_int_equal(c.status, STATUS_CHANGED);
        clustering_free(&c);
        free(p.cells);
        free(other.cells);
    }
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
