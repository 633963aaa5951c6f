/*
 * Jobs whose memory is not there: they wait, reserve more, start over, or say what they need.
 */
#include "tests/job_runner.h"

/* --- the tests ----------------------------------------------------------------------------------
 */

static void jobs_wait_for_memory_instead_of_failing(void **state)
{
    (void)state;
    char *path = counting_csv("waits.csv", 1000, 3);
    struct settings settings = small_settings();
    settings.jobs = 8;
    fake.push_ms = 20;
    fake.bytes_per_line = 20000; /* 20 MB or more a job: two at most fit */
    struct outcome o = run_jobs(path, 8, &settings);
    assert_int_equal(o.n_ok, 8);
    assert_in_range(fake.most_open, 1, 2);
    remove_output();
    free(path);
}

static void job_that_can_never_fit_says_how_many_bytes_it_needs(void **state)
{
    (void)state;
    char *path = counting_csv("huge.csv", 1000, 3);
    struct settings settings = small_settings();
    fake.bytes_per_line = 1000000;
    struct outcome o = run_jobs(path, 1, &settings);
    assert_int_equal(o.code, STATUS_TOO_LARGE);
    assert_non_null(strstr(o.message, "needs 1000000000 bytes"));
    assert_int_equal(entries_of_output(), 0);
    free(path);
}

/* Its head has long lines, so that the number of lines is guessed far too low. */
static char *misleading_csv(const char *name)
{
    char *path;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (size_t i = 0; i < 300000; i++) {
        fprintf(f, i < 18000 ? "%0300zu%c" : "%zu%c", i, (i + 1) % 3 == 0 ? '\n' : ',');
    }
    assert_int_equal(fclose(f), 0);
    return path;
}

static void job_that_outgrows_its_guess_reserves_more(void **state)
{
    (void)state;
    char *path = misleading_csv("grows.csv");
    struct settings settings = small_settings();
    fake.bytes_per_line = 150; /* 100,000 lines: 15 MB of about 34 */
    struct outcome o = run_jobs(path, 1, &settings);
    assert_int_equal(o.n_ok, 1);
    assert_true(fake.last_seen == 300000);
    assert_true(fake.n_plans > 1);
    remove_output();
    free(path);
}

static void jobs_that_outgrow_the_memory_together_start_over(void **state)
{
    (void)state;
    char *path = misleading_csv("again.csv");
    struct settings settings = small_settings();
    settings.jobs = 6;
    fake.bytes_per_line = 300; /* 30 MB each in the end, of about 34: one at a time */
    fake.push_ms = 3;
    struct outcome o = run_jobs(path, 6, &settings);
    assert_int_equal(o.n_ok, 6);
    assert_true(fake.n_opened > 6);
    remove_output();
    free(path);
}

static void job_that_outgrows_all_memory_fails_with_the_bytes(void **state)
{
    (void)state;
    char *path = misleading_csv("outgrows.csv");
    struct settings settings = small_settings();
    fake.bytes_per_line = 1000;
    struct outcome o = run_jobs(path, 2, &settings);
    assert_int_equal(o.n_ok, 0);
    assert_int_equal(o.code, STATUS_TOO_LARGE);
    assert_non_null(strstr(o.message, "needs about"));
    assert_int_equal(entries_of_output(), 0);
    free(path);
}

static void job_cancelled_while_it_starts_over_says_that_it_was_cancelled(void **state)
{
    (void)state;
    char *path = misleading_csv("cancelled.csv");
    struct settings settings = small_settings();
    settings.jobs = 6;
    fake.bytes_per_line = 300;
    fake.push_ms = 3;
    fake.cancel_again = true;
    struct outcome o = run_jobs(path, 6, &settings);
    assert_in_range(o.n_ok, 0, 5); /* some started over, and were cancelled */
    assert_int_equal(o.code, STATUS_CANCELLED);
    assert_string_equal(o.message, "on purpose");
    assert_int_equal(entries_of_output(), (int)o.n_ok);
    remove_output();
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(jobs_wait_for_memory_instead_of_failing, reset),
        cmocka_unit_test_setup(job_that_can_never_fit_says_how_many_bytes_it_needs, reset),
        cmocka_unit_test_setup(job_that_outgrows_its_guess_reserves_more, reset),
        cmocka_unit_test_setup(jobs_that_outgrow_the_memory_together_start_over, reset),
        cmocka_unit_test_setup(job_that_outgrows_all_memory_fails_with_the_bytes, reset),
        cmocka_unit_test_setup(job_cancelled_while_it_starts_over_says_that_it_was_cancelled,
                               reset),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
