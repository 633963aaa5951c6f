/*
 * Jobs through the engine with a stage of the test's own: order of cells, failures at every step,
 * deadlines, many pieces; nothing left behind. Memory that is waited for: test_job_memory.c.
 */
#include "tests/job_runner.h"

#include <math.h>

/* --- the tests ----------------------------------------------------------------------------------
 */

static void cells_arrive_in_file_order_over_many_blocks(void **state)
{
    (void)state;
    char *path = counting_csv("long.csv", 200000, 7);
    struct settings settings = small_settings();
    struct outcome o = run_jobs(path, 1, &settings);
    assert_int_equal(o.n_ok, 1);
    assert_true(fake.last_seen == 200000 * 7);
    remove_output();
    free(path);
}

static void pieces_are_written_in_order_whoever_makes_them(void **state)
{
    (void)state;
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

static void results_that_come_one_after_the_other_make_one_folder(void **state)
{
    (void)state;
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
        assert_int_equal(json_array_size(json_object_get(manifest, "outputs")), 7 * 3);
        json_decref(manifest);
    }
    remove_output();
    free(path);
}

/* Whichever comes first: the block whose reading fails, or the numbers of the one before it. */
static void check_of_a_damaged_file_ends(void **state)
{
    (void)state;
    char *path = counting_csv("damaged.csv", 60000, 7), command[160], *packed;
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
    struct outcome o = run_jobs(packed, 40, &settings);
    assert_int_equal(o.n_ok, 0);
    assert_int_equal(o.code, STATUS_BAD_INPUT);
    free(packed);
    free(path);
}

static void files_of_a_job_come_one_after_the_other(void **state)
{
    (void)state;
    char *path = counting_csv("first.csv", 60000, 7), *second = counting_csv("second.csv", 9000, 5);
    struct settings settings = small_settings();
    fake.cells_of_part = 60000 * 7;
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

static void failure_at_any_step_is_reported_and_leaves_nothing(void **state)
{
    (void)state;
    char *path = counting_csv("fails.csv", 100000, 5);
    struct settings settings = small_settings();
    fake.n_pieces = 100;
    for (fake.failing = AT_PLAN; fake.failing <= AT_PIECE; fake.failing++) {
        struct outcome o = run_jobs(path, 5, &settings);
        assert_int_equal(o.n_ok, 0);
        assert_int_equal(o.code, STATUS_BAD_INPUT);
        assert_string_equal(o.message, "failed on purpose");
        assert_int_equal(entries_of_output(), 0);
    }
    free(path);
}

static void first_error_in_the_file_is_the_one_reported(void **state)
{
    (void)state;
    char *path = counting_csv("bad.csv", 200000, 5);
    struct settings settings = small_settings();
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    static const long places[] = {5000000, 3000000, 1000000}; /* several blocks apart */
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
    /* The first 1,000,000 bytes hold about 120,000 numbers of up to 8 characters, 5 a line. */
    assert_in_range(line, 20000, 32000);
    free(path);
}

static void deadline_ends_a_job_and_spares_the_others(void **state)
{
    (void)state;
    char *path = counting_csv("late.csv", 300000, 5);
    struct settings settings = small_settings();
    settings.deadline_s = 0.05;
    fake.push_ms = 40;
    struct outcome o = run_jobs(path, 1, &settings);
    assert_int_equal(o.code, STATUS_DEADLINE);
    assert_int_equal(entries_of_output(), 0);
    free(path);
}

/* The stage's push sleeps: neither that nor decoding is a disk's time, nor a processor's. */
static void jobs_book_what_they_used(void **state)
{
    (void)state;
    char *path = counting_csv("booked.csv", 20000, 7);
    struct settings settings = small_settings();
    fake.push_ms = 20;
    const uint64_t begun = crew_now_ns();
    struct outcome o = run_jobs(path, 6, &settings);
    const double wall_s = 1e-9 * (double)(crew_now_ns() - begun);
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
        job_cancel(r->engine.jobs[i], STATUS_CANCELLED, "on purpose");
    }
}

static void stage_that_computes_sees_that_its_job_is_cancelled(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(cells_arrive_in_file_order_over_many_blocks, reset),
        cmocka_unit_test_setup(pieces_are_written_in_order_whoever_makes_them, reset),
        cmocka_unit_test_setup(results_that_come_one_after_the_other_make_one_folder, reset),
        cmocka_unit_test_setup(check_of_a_damaged_file_ends, reset),
        cmocka_unit_test_setup(files_of_a_job_come_one_after_the_other, reset),
        cmocka_unit_test_setup(failure_at_any_step_is_reported_and_leaves_nothing, reset),
        cmocka_unit_test_setup(first_error_in_the_file_is_the_one_reported, reset),
        cmocka_unit_test_setup(jobs_book_what_they_used, reset),
        cmocka_unit_test_setup(stage_that_computes_sees_that_its_job_is_cancelled, reset),
        cmocka_unit_test_setup(deadline_ends_a_job_and_spares_the_others, reset),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
