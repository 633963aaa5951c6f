/*
 * test_landslide_sweep - several runs of one map side by side: each ends with the bits of a run
 * alone, in its place, on the backend LEAT_TEST_BACKEND.
 * ctest: small=watched tsan=yes
 */
#include "kernels/sciddicat/landslide.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/sciddicat_reference.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 9 };
static const uint64_t no_limit = (uint64_t)1 << 40;

/* A map and what is asked of it. */
struct slope {
    size_t rows, columns;
    double share; /* of cells with debris */
    enum sciddicat_nodata nodata;
    uint64_t steps, settle;
};

struct job {
    struct slope slope;
    struct landslide slide;
    struct landslide_sweep sweep;
    struct room room;
    double epsilon[MOST_RUNS], r[MOST_RUNS];
    size_t n_told, most_told, n_settled;   /* runs; at a time; that have come to rest */
    size_t n_pauses, stop_pause, stop_run; /* which one ends it; 0: none */
};

static void slide_new(const struct slope *s, struct room *room, struct landslide *out)
{
    const size_t n = s->rows * s->columns;
    struct landslide l = {.params = {s->rows, s->columns, 0.001, 0.5, s->nodata},
                          .steps = s->steps,
                          .settle = s->settle};
    double *const z = calloc(n, sizeof *z), *const h = calloc(n, sizeof *h);
    uint8_t *const nodata = calloc(n, 1);
    assert_true(z != NULL && h != NULL && nodata != NULL);
    sciddicat_reference_terrain(11, s->rows, s->columns, s->share, 0.02, z, h, nodata);
    ASSERT_OK(landslide_room(&l, under_test_queue, room));
    ASSERT_OK(room_host(room, n, sizeof *l.h, &l.h));
    ASSERT_OK(room_host(room, n, sizeof *l.max_h, &l.max_h));
    ASSERT_OK(room_host(room, n, sizeof *l.arrival, &l.arrival));
    for (size_t k = 0; k < n; k++) {
        assert_int_equal(landslide_altitude(&l, k, z[k], nodata[k] != 0, 1), LANDSLIDE_SOUND);
        assert_int_equal(landslide_debris(&l, k, h[k], nodata[k] != 0, 1), LANDSLIDE_SOUND);
    }
    assert_true(landslide_ready(&l));
    free(z);
    free(h);
    free(nodata);
    *out = l;
}

/* The run as it is alone. */
static void same_as_alone(const struct job *job, size_t i, const struct landslide_end *got)
{
    struct room room = {.queue = under_test_queue};
    struct landslide l;
    slide_new(&job->slope, &room, &l);
    l.params.epsilon = job->epsilon[i];
    l.params.r = job->r[i];
    ASSERT_OK(landslide_run(&l, under_test_queue, under_test_executor(2)));
    assert_memory_equal(got->h, l.h, l.n_cells * sizeof *l.h);
    assert_memory_equal(got->max_h, l.max_h, l.n_cells * sizeof *l.max_h);
    assert_int_equal(got->now.step, l.now.step);
    assert_int_equal(got->settled, l.settled);
    assert_true(got->now.mass == l.now.mass && got->now.lost_edge == l.now.lost_edge &&
                got->now.lost_nodata == l.now.lost_nodata && got->now.largest == l.now.largest &&
                got->now.n_active == l.now.n_active && got->now.moved == l.now.moved);
    landslide_close(&l);
    room_free(&room);
}

static enum status check_ends(void *context, size_t first, size_t n)
{
    struct job *const job = context;
    assert_int_equal(first, job->n_told);
    assert_true(n > 0 && n <= job->sweep.most);
    for (size_t i = 0; i < n; i++) {
        const size_t run = first + i;
        if (job->stop_run > 0 && run + 1 == job->stop_run) {
            return status_fail(STATUS_BAD_INPUT, "enough");
        }
        same_as_alone(job, run, &job->sweep.ends[i]);
        job->n_settled += job->sweep.ends[i].settled;
        memset(job->sweep.ends[i].h, 0xff, job->slide.n_cells * sizeof *job->slide.h);
    }
    job->n_told += n;
    job->most_told = n > job->most_told ? n : job->most_told;
    return STATUS_OK;
}

static enum status count_pause(void *context)
{
    struct job *const job = context;
    assert_true((job->slide.now.step > 0 || job->slide.steps == 0) &&
                !landslide_has_snapshot(&job->slide));
    return ++job->n_pauses == job->stop_pause ? status_fail(STATUS_CANCELLED, "stopped")
                                              : STATUS_OK;
}

/* So many runs with room for so many side by side (0: as many as are best). */
static void job_new(const struct slope *slope, size_t n_runs, size_t at_a_time, struct job *out)
{
    struct job *const job = out;
    *job = (struct job){.slope = *slope, .room = {.queue = under_test_queue}};
    slide_new(slope, &job->room, &job->slide);
    job->slide.pause = count_pause;
    job->slide.context = job;
    job->slide.snapshot_every = 10;
    for (size_t i = 0; i < n_runs; i++) {
        job->r[i] = 0.9 - 0.06 * (double)i;
        job->epsilon[i] = i % 3 == 2 ? 0.4 * (double)i : 0.001 * (double)(1 + i % 2);
    }
    const uint64_t run = under_test_ops()->sciddicat->bytes(&job->slide.params);
    job->sweep = (struct landslide_sweep){
        .n_runs = n_runs,
        .most_bytes = at_a_time > 0 ? at_a_time * (run + job->slide.n_cells * 16) : no_limit,
        .epsilon = job->epsilon,
        .r = job->r,
        .done = check_ends};
    ASSERT_OK(landslide_sweep_room(&job->slide, &job->sweep, &job->room));
}

static void job_free(struct job *job)
{
    landslide_close(&job->slide);
    room_free(&job->room);
}

TEST(every_run_ends_as_it_does_alone)
{
    static const struct slope slopes[] = {
        {40, 37, 0.1, SCIDDICAT_WALL, 60, 0},   {40, 37, 0.1, SCIDDICAT_SINK, 120, 7},
        {33, 64, 0.1, SCIDDICAT_COMPAT, 61, 5}, {1, 9, 0.5, SCIDDICAT_WALL, 3, 0},
        {30, 30, 0.1, SCIDDICAT_WALL, 1, 1},    {20, 20, 0.1, SCIDDICAT_WALL, 0, 0},
        {240, 240, 0.6, SCIDDICAT_SINK, 6, 0}, /* more than a cluster holds */
    };
    static const size_t n_runs[] = {1, 7}, at_a_time[] = {1, 0, 3};
    for (size_t s = 0; s < sizeof slopes / sizeof *slopes; s++) {
        struct slope slope = slopes[s];
        slope.steps = slope.steps < 9 ? slope.steps : under_test_size(slope.steps, 9);
        for (size_t k = under_test_size(s == 6 ? 4 : 0, 5); k < 6; k++) {
            const size_t n = s == 6 ? 4 : n_runs[k / 3];
            struct job job;
            job_new(&slope, n, at_a_time[k % 3], &job);
            assert_true(job.sweep.most >= 1 && job.sweep.most <= n);
            assert_true(at_a_time[k % 3] == 0 || job.sweep.most <= at_a_time[k % 3]);
            ASSERT_OK(landslide_sweep(&job.slide, &job.sweep, under_test_queue));
            assert_int_equal(job.n_told, n);
            assert_int_equal(job.most_told, job.sweep.most);
            /* And the landslide may run. */
            job.slide.pause = NULL;
            ASSERT_OK(landslide_run(&job.slide, under_test_queue, under_test_executor(2)));
            struct landslide_end end = {job.slide.h, job.slide.max_h, job.slide.now,
                                        job.slide.settled};
            job.epsilon[0] = 0.001;
            job.r[0] = 0.5;
            same_as_alone(&job, 0, &end);
            job_free(&job);
        }
    }
}

/* Some come to rest, at steps that differ; others go on. */
TEST(runs_come_to_rest_one_by_one)
{
    const struct slope slope = {40, 37, 0.1, SCIDDICAT_WALL, under_test_size(1000, 60), 10};
    const size_t n = under_test_size(9, 3);
    struct job job;
    job_new(&slope, n, 0, &job);
    for (size_t i = 0; i < n; i++) {
        job.epsilon[i] = 0.4 * (double)((i + 1) * under_test_size(1, 5));
    }
    job.epsilon[n - 1] = 0;
    ASSERT_OK(landslide_sweep(&job.slide, &job.sweep, under_test_queue));
    assert_int_equal(job.n_told, n);
    assert_true(job.n_settled > 0 && job.n_settled < n);
    job_free(&job);
}

TEST(a_sweep_ends_where_its_caller_says)
{
    const uint64_t settle = under_test_size(20, 3);
    const struct slope slope = {40, 37, 0.1, SCIDDICAT_WALL, 3 * settle, settle};
    struct job job;
    job_new(&slope, 7, 2, &job);
    job.stop_pause = 4;
    assert_int_equal(landslide_sweep(&job.slide, &job.sweep, under_test_queue), STATUS_CANCELLED);
    assert_int_equal(job.n_told, job.sweep.most);
    job_free(&job);
    job_new(&slope, 7, 2, &job);
    job.stop_run = 6;
    assert_int_equal(landslide_sweep(&job.slide, &job.sweep, under_test_queue), STATUS_BAD_INPUT);
    assert_string_equal(status_message(), "enough");
    job_free(&job);
}

/* What is counted is what is given. */
TEST(the_room_counts_what_runs_side_by_side_take)
{
    const struct slope slope = {40, 37, 0.1, SCIDDICAT_WALL, 60, 0};
    struct job job;
    job_new(&slope, 7, 3, &job);
    struct room counted = {0};
    struct landslide_sweep sweep = job.sweep;
    const uint64_t run = under_test_ops()->sciddicat->bytes(&job.slide.params);
    ASSERT_OK(landslide_sweep_room(&job.slide, &sweep, &counted));
    assert_null(sweep.ends);
    assert_int_equal(sweep.most, job.sweep.most);
    assert_int_equal(counted.backend, (sweep.most - 1) * run + job.slide.n_cells * sizeof(double));
    assert_true(counted.host >= sweep.most * job.slide.n_cells * 16);
    job_free(&job);
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
