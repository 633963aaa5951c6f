/*
 * Jobs through the engine with a stage of the test's own: order of cells, failures at every step,
 * deadlines, many pieces; nothing left behind. Memory that is waited for: test_job_memory.c.
 * ctest: long tsan=yes optimize
 */
#include "tests/support/job_runner.h"
#include "tests/support/patience.h"

#include <math.h>

/* --- the tests ----------------------------------------------------------------------------------
 */

TEST_BETWEEN(cells_arrive_in_file_order_over_many_blocks, reset, NULL)
{
    char *path = counting_csv("long.csv", 60000, 7); /* twice as many as there are */
    struct settings settings = small_settings();
    struct outcome o = run_jobs(path, 1, &settings);
    assert_int_equal(o.n_ok, 1);
    assert_true(fake.last_seen == 60000 * 7);
    remove_output();
    free(path);
}

TEST_BETWEEN(pieces_are_written_in_order_whoever_makes_them, reset, NULL)
{
    char *path = counting_csv("tiny.csv", 3, 3), name[96];
    struct settings settings = small_settings();
    fake.n_pieces = 700;
    assert_int_equal(run_jobs(path, 1, &settings).n_ok, 1);
    snprintf(name, sizeof(name), "%s/out/job1/part1", folder);
    FILE *f = fopen(name, "r");
    assert_non_null(f);
    for (size_t i = 0; i < 700000; i++) {
        assert_int_equal(fgetc(f), (int)(i / 1000 % 251));
    }
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
    remove_output();
    free(path);
}

TEST_BETWEEN(results_that_come_one_after_the_other_make_one_folder, reset, NULL)
{
    char *path = counting_csv("several.csv", 3, 3), name[96];
    struct settings settings = small_settings();
    fake.n_pieces = 50;
    fake.n_results = 9;
    assert_int_equal(run_jobs(path, 4, &settings).n_ok, 4);
    for (unsigned job = 1; job <= 4; job++) {
        for (unsigned k = 1; k <= 9; k++) {
            struct stat st;
            snprintf(name, sizeof(name),
                     k == 1 ? "%s/out/job%u/part1" : "%s/out/job%u/more/part1.%u", folder, job, k);
            assert_int_equal(stat(name, &st), k % 4 == 2 ? -1 : 0);
            assert_true(k % 4 == 2 || st.st_size == 50000);
        }
        json_error_t error;
        snprintf(name, sizeof(name), "%s/out/job%u/result.json", folder, job);
        json_t *manifest = json_load_file(name, 0, &error);
        assert_int_equal(json_array_size(json_object_get(manifest, "outputs")), 7 * 3 + 1);
        json_decref(manifest);
    }
    remove_output();
    free(path);
}

static size_t size_of(const char *name)
{
    char path[96];
    struct stat st;
    snprintf(path, sizeof(path), "%s/out/%s", folder, name);
    return stat(path, &st) == 0 ? (size_t)st.st_size : SIZE_MAX;
}

/* The first result is written, then there is a pause. */
TEST_BETWEEN(a_stage_goes_on_after_a_pause_while_a_result_is_written, reset, NULL)
{
    struct settings settings = small_settings();
    char *path = counting_csv("pause.csv", 1, 1);
    fake.n_results = 3;
    fake.n_to_begin = 3;
    assert_int_equal(run_jobs(path, 1, &settings).n_ok, 1);
    remove_output();
    free(path);
}

TEST_BETWEEN(portions_of_an_attempt_that_starts_over_are_gone, reset, NULL)
{
    char *path = counting_csv("over.csv", 20000, 7);
    struct settings settings = small_settings();
    for (int own = 0; own < 2; own++) {
        fake.grows = fake.starts_over = true;
        fake.own_folder = own == 1;
        assert_int_equal(run_jobs(path, 1, &settings).n_ok, 1);
        const size_t size = size_of(own ? ".given.part/growing" : "job1/growing");
        assert_true(size > 3 * 8 && size < 1000); /* a block each, and the end */
        assert_int_equal(entries_of_output(), 1);
        remove_output();
    }
    free(path);
}

TEST_BETWEEN(a_push_may_give_several_portions, reset, NULL)
{
    char *path = counting_csv("portions.csv", 20000, 7);
    struct settings settings = small_settings();
    size_t sizes[2];
    for (size_t k = 0; k < 2; k++) {
        fake.grows = true;
        fake.n_portions = k == 0 ? 1 : 5;
        assert_int_equal(run_jobs(path, 1, &settings).n_ok, 1);
        sizes[k] = size_of("job1/growing") - 8; /* without the end */
        remove_output();
    }
    assert_true(sizes[0] >= 2 * 8);
    assert_int_equal(sizes[1], 5 * sizes[0]);
    free(path);
}

/* One piece a portion: with all threads at pieces, as many portions are on their way. */
TEST_BETWEEN(as_many_portions_are_encoded_at_a_time_as_the_plan_says, reset, NULL)
{
    char *path = counting_csv("held.csv", 20000, 7);
    struct settings settings = small_settings();
    fake.grows = true;
    fake.n_held = 4;
    fake.n_portions = 3;
    fake.n_to_meet = (int)settings.threads;
    const struct outcome o = run_jobs(path, 1, &settings);
    assert_string_equal(o.message, "");
    assert_int_equal(o.n_ok, 1);
    assert_in_range(fake.most_unread, settings.threads, fake.n_held);
    remove_output();
    fake.n_held = 0; /* two */
    fake.n_meeting = fake.n_to_meet = fake.n_unread = fake.most_unread = 0;
    assert_int_equal(run_jobs(path, 1, &settings).n_ok, 1);
    assert_in_range(fake.most_unread, 1, 2);
    remove_output();
    free(path);
}

TEST_BETWEEN(results_that_do_not_end_well_are_not_published, reset, NULL)
{
    char *path = counting_csv("faulty.csv", 600, 7);
    struct settings settings = small_settings();
    fake.grows = fake.never_ends = true;
    struct outcome o = run_jobs(path, 1, &settings);
    assert_int_equal(o.code, STATUS_INTERNAL);
    assert_non_null(strstr(o.message, "growing was to be continued"));
    fake.holds_nothing = true;
    o = run_jobs(path, 1, &settings);
    assert_int_equal(o.code, STATUS_INTERNAL);
    assert_non_null(strstr(o.message, "growing holds nothing"));
    assert_int_equal(entries_of_output(), 0);
    free(path);
}

static char *read_again;

static void do_nothing(void)
{
}

/* Another file of the same length takes the name. */
static void replace_file(void)
{
    char command[160];
    snprintf(command, sizeof(command), "tac %s >%s.new && mv %s.new %s", read_again, read_again,
             read_again, read_again);
    assert_int_equal(system(command), 0);
}

static void write_in_place(void)
{
    FILE *f = fopen(read_again, "r+");
    assert_non_null(f);
    fputs("9", f);
    assert_int_equal(fclose(f), 0);
}

TEST_BETWEEN(parts_are_read_as_often_as_the_stage_asks, reset, NULL)
{
    read_again = counting_csv("passes.csv", 20000, 7);
    char *other = counting_csv("other.csv", 20000, 7);
    struct settings settings = small_settings();
    fake.cells_of_part = 20000 * 7;
    fake.n_passes = 3;
    fake.between = do_nothing;
    assert_int_equal(run_pairs(read_again, other, 2, &settings).n_ok, 2);
    assert_true(fake.last_seen == 20000 * 7);
    remove_output();
    free(read_again);
    free(other);
}

/* A .npy file is read again itself. */
TEST_BETWEEN(a_file_that_changes_between_passes_fails_and_one_that_is_replaced_does_not, reset,
             NULL)
{
    struct settings settings = small_settings();
    char command[320];
    fake.cells_of_part = 60000;
    fake.n_passes = 2;
    for (int k = 0; k < 2; k++) {
        assert_true(asprintf(&read_again, "%s/changes%d.npy", folder, k) > 0);
        snprintf(command, sizeof(command),
                 "/usr/bin/python3 -c 'import struct, sys; h = b\"{\\x27descr\\x27: \\x27<f8\\x27, "
                 "\\x27fortran_order\\x27: False, \\x27shape\\x27: (30000, 2), }\"; "
                 "h += b\" \" * (117 - len(h)) + b\"\\n\"; "
                 "open(sys.argv[1], \"wb\").write(b\"\\x93NUMPY\\1\\0\\x76\\0\" + h + "
                 "struct.pack(\"<60000d\", *range(60000)))' %s",
                 read_again);
        assert_int_equal(system(command), 0);
        fake.between = k == 0 ? replace_file : write_in_place;
        const struct outcome o = run_jobs(read_again, 1, &settings);
        assert_int_equal(o.n_ok, k == 0);
        assert_true(k == 0 || o.code == STATUS_CHANGED);
        assert_int_equal(entries_of_output(), k == 0);
        remove_output();
        free(read_again);
    }
}

/* Whichever comes first: the block whose reading fails, or the numbers of the one before it. */
TEST_BETWEEN(check_of_a_damaged_file_ends, reset, NULL)
{
    char *path = counting_csv("damaged.csv", 32000, 7), command[160], *packed;
    struct settings settings = small_settings();
    snprintf(command, sizeof(command), "gzip -1 -k %s", path);
    assert_int_equal(system(command), 0);
    assert_true(asprintf(&packed, "%s.gz", path) > 0);
    FILE *f = fopen(packed, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, -1, SEEK_END), 0); /* of its length */
    assert_int_equal(fputc(1, f), 1);
    assert_int_equal(fclose(f), 0);
    fake.check_only = true;
    settings.jobs = 1;
    /* Which comes first is chance; each is some 2 MB, which sanitizers take their time for. */
    struct outcome o = run_jobs(packed, patience() >= 10 ? 4 : patience() > 1 ? 10 : 40, &settings);
    assert_int_equal(o.n_ok, 0);
    assert_int_equal(o.code, STATUS_BAD_INPUT);
    free(packed);
    free(path);
}

TEST_BETWEEN(files_of_a_job_come_one_after_the_other, reset, NULL)
{
    char *path = counting_csv("first.csv", 20000, 7), *second = counting_csv("second.csv", 9000, 5);
    struct settings settings = small_settings();
    fake.cells_of_part = 20000 * 7;
    assert_int_equal(run_pairs(path, second, 3, &settings).n_ok, 3);
    assert_true(fake.last_seen == 9000 * 5);
    remove_output();
    free(second);
    second = counting_csv("absent.csv", 1, 2);
    unlink(second);
    struct outcome o = run_pairs(path, second, 2, &settings);
    assert_int_equal(o.n_ok, 0);
    assert_int_equal(o.code, STATUS_NOT_FOUND);
    assert_non_null(strstr(o.message, "absent.csv"));
    assert_int_equal(entries_of_output(), 0);
    remove_output();
    free(second);
    free(path);
}

TEST_BETWEEN(failure_at_any_step_is_reported_and_leaves_nothing, reset, NULL)
{
    char *path = counting_csv("fails.csv", 50000, 5); /* more blocks than there are */
    struct settings settings = small_settings();
    fake.n_pieces = 100;
    const size_t n_jobs = patience() < 10 ? 5 : 2;
    for (fake.failing = AT_PLAN; fake.failing <= AT_PIECE; fake.failing++) {
        struct outcome o = run_jobs(path, n_jobs, &settings);
        assert_int_equal(o.n_ok, 0);
        assert_int_equal(o.code, STATUS_BAD_INPUT);
        assert_string_equal(o.message, "failed on purpose");
        assert_int_equal(entries_of_output(), 0);
    }
    free(path);
}

TEST_BETWEEN(first_error_in_the_file_is_the_one_reported, reset, NULL)
{
    char *path = counting_csv("bad.csv", 50000, 5);
    struct settings settings = small_settings();
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    static const long places[] = {1650000, 950000, 250000}; /* several blocks apart */
    for (size_t i = 0; i < 3; i++) {
        fseek(f, places[i], SEEK_SET);
        fputc('x', f);
    }
    fclose(f);
    struct outcome o = run_jobs(path, 1, &settings);
    assert_int_equal(o.code, STATUS_BAD_INPUT);
    unsigned long line = 0;
    const char *at = strstr(o.message, "line ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "line %lu", &line), 1);
    /* The first 250,000 bytes hold about 33,000 numbers of up to 8 characters, 5 a line. */
    assert_in_range(line, 6000, 7200);
    free(path);
}

/* Blocks so small that a push task takes several; all of these files are in the pool at once. */
static struct settings batched_settings(void)
{
    struct settings settings = small_settings();
    settings.threads = 8;
    settings.memory = 128 << 20;
    return settings;
}

/* Whether blocks wait, and what is read is decoded but for what has failed. */
static bool all_decoded(const struct reading *r)
{
    const struct block *b = r->first_block;
    while (b != NULL && b->state == BLOCK_READY) {
        b = b->next;
    }
    return r->has_ended && r->first_block != NULL && (b == NULL || b->state == BLOCK_FAILED);
}

/* The first push ends when all blocks have been read, so that the second task takes all the others.
 * Portions are not encoded until as many wait as may: then the stage waits, too. */
static void hold_back(struct running *r)
{
    const struct job *job = r->engine.n_jobs > 0 ? job_in_flight(&r->engine, 0) : NULL;
    const bool failed = job != NULL && job->tasks.code != STATUS_OK;
    if (failed || (job != NULL && all_decoded(&job->reading))) {
        atomic_store(&fake.gate_shut, false);
    }
    if (failed || (job != NULL && job->writing.n_results == 2 && !job->method.is_busy)) {
        atomic_store(&fake.n_to_meet, 0);
    }
}

/* A push that fails is told, and not what comes after it in the file. */
static void check_that_the_failing_push_is_told(const char *path, unsigned failing_push)
{
    const struct settings settings = batched_settings();
    for (int k = 0; k < 5; k++) { /* the first task may take more than a block, by chance */
        fake.failing_push = failing_push;
        fake.gate_shut = true;
        fake.n_meeting = 0;
        fake.n_to_meet = 1000; /* none, until they are let go */
        fake.look = hold_back;
        const struct outcome o = run_jobs(path, 1, &settings);
        fake.look = NULL;
        assert_int_equal(o.n_ok, 0);
        assert_string_equal(o.message, "failed on purpose");
        assert_int_equal(entries_of_output(), 0);
    }
}

TEST_BETWEEN(blocks_that_wait_for_the_output_come_before_a_read_that_fails, reset, NULL)
{
    char *path = counting_csv("cut.csv", 14000, 7), command[160], *packed;
    snprintf(command, sizeof(command), "gzip -1 -k %s && truncate -s -4 %s.gz", path, path);
    assert_int_equal(system(command), 0);
    assert_true(asprintf(&packed, "%s.gz", path) > 0);
    fake.grows = true;
    check_that_the_failing_push_is_told(packed, 3);
    free(packed);
    free(path);
}

TEST_BETWEEN(memory_for_a_block_is_asked_for_when_those_before_have_been_pushed, reset, NULL)
{
    char *path;
    assert_true(asprintf(&path, "%s/outgrows.csv", folder) > 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (size_t i = 0; i < 30000; i++) { /* its head has long lines: few are expected */
        fprintf(f, i < 300 ? "%0300zu,%0300zu,%0300zu\n" : "%zu,%zu,%zu\n", 3 * i, 3 * i + 1,
                3 * i + 2);
    }
    assert_int_equal(fclose(f), 0);
    fake.bytes_per_line = 5000; /* all: 150 MB; those of the first two blocks: 20 MB */
    check_that_the_failing_push_is_told(path, 2);
    free(path);
}

TEST_BETWEEN(deadline_ends_a_job_and_spares_the_others, reset, NULL)
{
    char *path = counting_csv("late.csv", 20000, 7); /* 7 blocks */
    struct settings settings = small_settings();
    settings.deadline_s = 0.05;
    fake.push_ms = 40;
    struct outcome o = run_jobs(path, 1, &settings);
    assert_int_equal(o.code, STATUS_DEADLINE);
    assert_int_equal(entries_of_output(), 0);
    free(path);
}

/* The stage's push sleeps: neither that nor decoding is a disk's time, nor a processor's. */
TEST_BETWEEN(jobs_book_what_they_used, reset, NULL)
{
    char *path = counting_csv("booked.csv", 7000, 7); /* 3 blocks */
    struct settings settings = small_settings();
    fake.push_ms = 50;
    const uint64_t begun = thread_pool_now_ns();
    struct outcome o = run_jobs(path, 6, &settings);
    const double wall_s = 1e-9 * (double)(thread_pool_now_ns() - begun);
    assert_int_equal(o.n_ok, 6);
    assert_true(o.disk_in_s > 0 && o.disk_in_s < wall_s);
    assert_true(o.efficiency > 0);
    remove_output();
    o = run_jobs(path, 1, &settings); /* one alone books what the engine does */
    assert_int_equal(o.n_ok, 1);
    assert_true(fabs(o.read_s - o.disk_in_s) < 1e-12);
    assert_true(o.write_s > 0 && o.write_s < o.disk_out_s); /* result.json is not in itself */
    remove_output();
    free(path);
}

static void cancel_what_finishes(struct running *r)
{
    for (size_t i = 0; atomic_load(&fake.is_finishing) && i < r->engine.n_jobs; i++) {
        job_cancel(job_in_flight(&r->engine, i), STATUS_CANCELLED, "on purpose");
    }
}

TEST_BETWEEN(stage_that_computes_sees_that_its_job_is_cancelled, reset, NULL)
{
    char *path = counting_csv("endless.csv", 10, 5);
    struct settings settings = small_settings();
    fake.finish_waits = true;
    fake.look = cancel_what_finishes;
    struct outcome o = run_jobs(path, 1, &settings);
    fake.look = NULL;
    assert_int_equal(o.code, STATUS_CANCELLED);
    assert_string_equal(o.message, "on purpose");
    assert_true(fake.was_stopped);
    assert_int_equal(entries_of_output(), 0);
    fake.finish_waits = false; /* the queue goes on to the next job */
    assert_int_equal(run_jobs(path, 3, &settings).n_ok, 3);
    remove_output();
    free(path);
}

TEST_BETWEEN(what_was_lent_and_never_read_is_back_when_the_job_is_told_to_have_ended, reset, NULL)
{
    char *path = counting_csv("lent.csv", 10, 5);
    struct settings settings = small_settings();
    assert_int_equal(run_jobs(path, 1, &settings).n_ok, 1);
    fake.lends = true; /* and there is a result already */
    assert_int_equal(run_jobs(path, 1, &settings).code, STATUS_EXISTS);
    remove_output();
    free(path);
}

/* --- the place for short jobs ----------------------------------------------------------------- */

static struct {
    struct job *job;                     /* in that place */
    uint64_t cpu_ns;                     /* that it seems to have taken */
    bool is_old, has_cancelled, is_free; /* free: when the others have ended */
} in_short_place;

static void fill_short_place(struct running *r)
{
    struct engine *e = &r->engine;
    struct job *job = in_short_place.job;
    if (job == NULL && e->n_jobs == e->max_jobs) {
        assert_true(!engine_has_place(e) && engine_has_short_place(e));
        r->context.short_only = true;
        start_next(r);
        in_short_place.job = job_in_flight(e, e->n_jobs - 1);
        assert_true(!engine_has_place(e) && !engine_has_short_place(e));
    } else if (job != NULL && job->phase > JOB_PLACING && !in_short_place.has_cancelled) {
        atomic_store(&job->tasks.accounts[LANE_READ].cpu_ns, in_short_place.cpu_ns);
        job->tasks.begun_ns = in_short_place.is_old ? 1 : job->tasks.begun_ns;
        in_short_place.has_cancelled = true;
        for (size_t i = 0; i < e->max_jobs; i++) {
            job_cancel(job_in_flight(e, i), STATUS_CANCELLED, "on purpose");
        }
    } else if (in_short_place.has_cancelled && e->n_jobs == 1) {
        in_short_place.is_free = engine_has_short_place(e);
        job_cancel(job, STATUS_CANCELLED, "on purpose");
    }
}

static bool short_place_is_free_after(uint64_t cpu_ns, bool is_old)
{
    char *path = counting_csv("lasts.csv", 10, 5);
    struct settings settings = small_settings();
    struct engine e = {0};
    uv_loop_t loop;
    uv_loop_init(&loop);
    assert_int_equal(engine_open(&loop, &settings, &e), STATUS_OK);
    const size_t n_places = e.max_jobs;
    engine_close(&e);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    memset(&in_short_place, 0, sizeof(in_short_place));
    in_short_place.cpu_ns = cpu_ns;
    in_short_place.is_old = is_old;
    fake.finish_waits = true;
    fake.look = fill_short_place;
    assert_int_equal(run_jobs(path, n_places + 1, &settings).n_ok, 0);
    fake.look = NULL;
    fake.finish_waits = false;
    free(path);
    return in_short_place.is_free;
}

TEST_BETWEEN(a_job_that_lasts_leaves_the_place_for_short_ones, reset, NULL)
{
    assert_false(short_place_is_free_after(0, false));
    assert_true(short_place_is_free_after(UINT64_C(3000000000), false));
    assert_true(short_place_is_free_after(0, true));
}

/* As soon as one of the other places is free: until then there is one job too many of them. */
TEST(a_job_that_lasts_takes_the_place_of_a_long_one)
{
    struct engine e = {.max_jobs = 2, .has_short_place = true, .n_jobs = 3};
    assert_true(!engine_has_place(&e) && !engine_has_short_place(&e));
    e.n_jobs = 2;
    assert_true(!engine_has_place(&e) && engine_has_short_place(&e));
    e.n_jobs = 1;
    assert_true(engine_has_place(&e));
}

int main(void)
{
    return unit_run(make_folder, remove_folder);
}
