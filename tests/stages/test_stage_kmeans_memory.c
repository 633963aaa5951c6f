/*
 * What the stage `kmeans` plans and takes of memory, and what it does where that is less: runs that
 * share a pass, points that are read again, jobs that start over. Runs on the backend that
 * $LEAT_TEST_BACKEND names.
 * ctest: long asan=soak
 */
#include "tests/support/kmeans_job_runner.h"

TEST(runs_that_share_a_pass_are_as_many_as_fit)
{
    struct points p = set_points(20000, 30, DTYPE_F64, 1);
    points_set(&p, "max_iter=2");
    struct clustering want = cluster_well(&p);
    p.memory_limit = 1;
    struct clustering alone = cluster_well(&p);
    p.memory_limit = alone.need.memory_bytes + alone.need.host_bytes + 50000;
    struct clustering some = cluster_well(&p);
    assert_true(some.need.rereads && some.n_passes < alone.n_passes);
    assert_true(some.need.memory_bytes + some.need.host_bytes <= p.memory_limit);
    assert_same(&want, &some);
    assert_same(&want, &alone);
    clustering_free(&want);
    clustering_free(&alone);
    clustering_free(&some);
    free(p.cells);
}

TEST(memory_is_what_was_planned)
{
    for (size_t s = 0; s < N_SETTINGS; s++) {
        struct points p = set_points(5000, 3, DTYPE_F64, s);
        struct clustering c = cluster_well(&p);
        assert_true(counted.peak_bytes <= c.need.memory_bytes);
        clustering_free(&c);
        free(p.cells);
    }
}

/* What a plan adds for a change of the table. */
static uint64_t host_bytes_of(const struct points *p)
{
    struct clustering c = cluster_well(p);
    const uint64_t bytes = c.need.host_bytes;
    clustering_free(&c);
    return bytes;
}

/* A buffer of bytes doubles, and one of numbers grows by half. */
TEST(names_of_rows_are_planned_with_the_room_that_they_grow_into)
{
    enum { N = 5000 };
    static const char *names[N];
    for (size_t i = 0; i < N; i++) {
        names[i] = "a row";
    }
    struct points p = points_new(N, 2, DTYPE_F64);
    const uint64_t without = host_bytes_of(&p);
    p.labels = names;
    p.info.has_labels = true;
    assert_true(host_bytes_of(&p) - without >= (uint64_t)N * (2 * 32 + 12));
    free(p.cells);
}

/* Where the host's memory is not the backend's, names of rows take the former. */
TEST(points_whose_names_the_host_cannot_hold_are_read_again)
{
    enum { N = 20000 };
    static const char *names[N];
    for (size_t i = 0; i < N; i++) {
        names[i] = "a row";
    }
    struct points p = points_new(N, 2, DTYPE_F64);
    p.labels = names;
    p.info.has_labels = true;
    points_set(&p, "max_iter=2");
    p.host_limit = host_bytes_of(&p);
    p.memory_limit = p.host_limit / 2; /* that of the backend alone */
    struct clustering c = cluster_well(&p);
    assert_false(c.need.rereads);
    assert_in_range(c.need.memory_bytes, 1, p.memory_limit);
    p.host_limit--;
    struct clustering streamed = cluster_well(&p);
    assert_true(streamed.need.rereads && warns(&streamed, "names do not fit memory"));
    assert_in_range(streamed.need.host_bytes, 1, p.host_limit);
    assert_memory_equal(labels_of(&streamed, N), labels_of(&c, N), N * sizeof(int32_t));
    clustering_free(&streamed);
    clustering_free(&c);
    free(p.cells);
}

/* Of many columns the silhouette's sample has fewer than 1000 points, but takes more bytes: once on
 * the host, once on the backend. */
TEST(the_sample_of_a_silhouette_is_planned_for_any_number_of_columns)
{
    static const size_t ds[] = {2, 269, 1000};
    enum { N = 1100, BESIDE = 1 << 20 }; /* what the plan for two columns may have more of */
    uint64_t narrow = 0;
    for (size_t i = 0; i < sizeof ds / sizeof *ds; i++) {
        const size_t d = ds[i];
        struct points p = points_new(N, d, DTYPE_F64);
        points_set(&p, "k=2");
        points_set(&p, "max_iter=1");
        p.cut = 1 << 18;
        p.memory_limit = 1;
        struct clustering c = cluster_well(&p);
        const size_t sample = (size_t)number_of(&c, "silhouette_points") * d * sizeof(double);
        assert_in_range(counted.peak_bytes, sample, c.need.memory_bytes);
        narrow = d == 2 ? c.need.host_bytes : narrow;
        assert_true(d == 2 || c.need.host_bytes > narrow + sample - BESIDE);
        clustering_free(&c);
        free(p.cells);
    }
}

/* The list of points that may move is the queue's, and no allocation of the job: 4 bytes a point
 * and what its buffer is larger. So are the sums of an update. */
TEST(scratch_of_queues_is_planned)
{
    for (uint64_t limit = 0; limit < 2; limit++) {
        struct points p = points_new(2000, 15, DTYPE_F64);
        p.memory_limit = limit;
        points_set(&p, "k=500");
        points_set(&p, "max_iter=1");
        points_set(&p, "n_init=1");
        struct clustering c = cluster_well(&p);
        const size_t listed = limit == 0 ? 5 * p.n_lines : 0, update = (size_t)500 * (15 + 2) * 8;
        assert_true(c.need.memory_bytes >= counted.peak_bytes + listed + update);
        clustering_free(&c);
        free(p.cells);
    }
}

static uint64_t backend_bytes_of(size_t n, size_t d, const char *k)
{
    struct points p = points_new(n, d, DTYPE_F64);
    points_set(&p, k);
    points_set(&p, "max_iter=1");
    points_set(&p, "n_init=1");
    struct clustering c = cluster_well(&p);
    const uint64_t bytes = c.need.memory_bytes;
    clustering_free(&c);
    free(p.cells);
    return bytes;
}

/* What a point takes: its cells, 12 bytes of memory, and 5 of a list where one may be made. */
TEST(a_list_of_points_is_planned_where_one_may_be_made)
{
    static const struct {
        size_t d;
        const char *k;
        uint64_t listed;
    } cases[] = {{2, "k=8", 0},  {16, "k=16", 0}, {15, "k=471", 0}, {15, "k=472", 5},
                 {43, "k=2", 0}, {44, "k=2", 5},  {44, "k=1", 5},   {15, "k=470-472", 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t d = cases[i].d, more = 100; /* the sample of a silhouette has 1000 */
        const uint64_t bytes =
            backend_bytes_of(1100 + more, d, cases[i].k) - backend_bytes_of(1100, d, cases[i].k);
        assert_int_equal(bytes, more * (d * sizeof(double) + 12 + cases[i].listed));
    }
}

/* The need of a job of unknown length by an estimate. */
static uint64_t need_of(struct points *p, size_t estimate)
{
    const size_t n = p->n_lines;
    p->info.n_lines_estimate = estimate;
    p->n_lines = 20;
    struct clustering c = cluster_well(p);
    const uint64_t bytes = c.need.memory_bytes + c.need.host_bytes;
    clustering_free(&c);
    p->n_lines = n;
    return bytes;
}

/* A fault of a reader: no block is made for points that no plan has counted. */
TEST(more_rows_than_were_announced_are_a_fault)
{
    for (size_t drops = 0; drops < 2; drops++) {
        struct points p = points_new(5000, 2, DTYPE_F64);
        p.info.n_lines = p.info.n_lines_estimate = 3000;
        points_set(&p, "k=2");
        points_set(&p, drops == 1 ? "missing=drop" : "missing=reject");
        struct clustering c = cluster(&p);
        assert_int_equal(c.status, STATUS_INTERNAL);
        assert_non_null(strstr(c.message, "more rows than the 3000"));
        clustering_free(&c);
        free(p.cells);
    }
}

TEST(a_job_starts_over_when_more_points_come_than_fit)
{
    struct points p = set_points(4000, 2, DTYPE_F64, 0);
    struct clustering known = cluster_well(&p);
    p.info.n_lines = 0;
    p.memory_limit = need_of(&p, 2500);
    p.info.n_lines_estimate = 1000;
    struct clustering c = cluster(&p);
    assert_int_equal(c.status, STATUS_START_OVER);
    clustering_free(&c);
    p.started_over = true;
    for (size_t guess = 1000; guess <= 6000; guess += 5000) { /* too low again, and not */
        p.info.n_lines_estimate = guess;
        c = cluster_well(&p);
        assert_true(c.n_passes > 1);
        assert_same(&known, &c);
        clustering_free(&c);
    }
    clustering_free(&known);
    free(p.cells);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
