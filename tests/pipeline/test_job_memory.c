/*
 * Jobs whose memory is not there: they wait, reserve more, start over, or say what they need.
 * ctest: long tsan=yes optimize
 */
#include "tests/support/job_runner.h"
#include "tests/support/patience.h"

/* --- the tests ----------------------------------------------------------------------------------
 */

TEST_BETWEEN(jobs_wait_for_memory_instead_of_failing, reset, NULL)
{
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

TEST_BETWEEN(job_that_can_never_fit_says_how_many_bytes_it_needs, reset, NULL)
{
    char *path = counting_csv("huge.csv", 1000, 3);
    struct settings settings = small_settings();
    fake.bytes_per_line = 1000000;
    struct outcome o = run_jobs(path, 1, &settings);
    assert_int_equal(o.code, STATUS_TOO_LARGE);
    assert_non_null(strstr(o.message, "needs 1000000000 bytes"));
    assert_int_equal(entries_of_output(), 0);
    free(path);
}

/* 50,000 lines, nine blocks. The first three are of long lines, so that the number of lines is
 * guessed far too low. */
static char *misleading_csv(const char *name)
{
    char *path;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (size_t i = 0; i < 150000; i++) {
        fprintf(f, i < 1800 ? "%0300zu.0%c" : "%zu%c", i, (i + 1) % 3 == 0 ? '\n' : ',');
    }
    assert_int_equal(fclose(f), 0);
    return path;
}

TEST_BETWEEN(job_that_outgrows_its_guess_reserves_more, reset, NULL)
{
    char *path = misleading_csv("grows.csv");
    struct settings settings = small_settings();
    fake.bytes_per_line = 300; /* 15 MB of about 34 */
    struct outcome o = run_jobs(path, 1, &settings);
    assert_int_equal(o.n_ok, 1);
    assert_true(fake.last_seen == 150000);
    assert_true(fake.n_plans > 1);
    remove_output();
    free(path);
}

TEST_BETWEEN(job_that_outgrows_its_guess_keeps_the_results_that_it_was_opened_for, reset, NULL)
{
    char *path = misleading_csv("holds.csv");
    struct settings settings = small_settings();
    fake.bytes_per_line = 200;
    fake.bytes_held = 1000000;
    fake.n_held = 5;
    fake.few_held_from = 25000;
    assert_int_equal(run_jobs(path, 1, &settings).n_ok, 1);
    assert_true(fake.most_lines >= 50000);
    assert_int_equal(fake.last_wanted, 200 * fake.most_lines + 5 * 1000000);
    assert_int_equal(fake.n_opened, 1);
    remove_output();
    free(path);
}

TEST_BETWEEN(job_that_fits_with_fewer_results_than_it_holds_starts_over, reset, NULL)
{
    char *path = misleading_csv("fewer.csv");
    struct settings settings = small_settings();
    fake.bytes_per_line = 260; /* 13 MB of about 38 */
    fake.bytes_held = 10000000;
    fake.n_held = 3;
    fake.few_held_from = 25000;
    const struct outcome o = run_jobs(path, 1, &settings);
    assert_string_equal(o.message, "");
    assert_int_equal(o.n_ok, 1);
    assert_int_equal(fake.n_opened, 2);
    assert_true(fake.last_seen == 150000);
    remove_output();
    fake.few_held_from = 0; /* it never fits */
    fake.n_opened = 0;
    assert_int_equal(run_jobs(path, 1, &settings).code, STATUS_TOO_LARGE);
    assert_int_equal(fake.n_opened, 1);
    free(path);
}

TEST_BETWEEN(jobs_that_outgrow_the_memory_together_start_over, reset, NULL)
{
    char *path = misleading_csv("again.csv");
    struct settings settings = small_settings();
    const size_t n_jobs = patience() < 10 ? 6 : 3; /* each reads its file several times */
    settings.jobs = n_jobs;
    fake.bytes_per_line = 600; /* 30 MB each in the end, of about 34: one at a time */
    fake.push_ms = 10;
    struct outcome o = run_jobs(path, n_jobs, &settings);
    assert_int_equal(o.n_ok, n_jobs);
    /* The lines may be guessed twice: of the block in which the short ones begin, and of a later
     * one. */
    assert_in_range(fake.n_opened, n_jobs + 1, 3 * n_jobs);
    remove_output();
    free(path);
}

TEST_BETWEEN(the_second_part_of_a_job_reserves_more_too, reset, NULL)
{
    char *first = counting_csv("short.csv", 1000, 3), *second = misleading_csv("long.csv");
    struct settings settings = small_settings();
    fake.cells_of_part = 3000;
    fake.bytes_per_line = 300;
    struct outcome o = run_pairs(first, second, 1, &settings);
    assert_int_equal(o.n_ok, 1);
    assert_true(fake.last_seen == 150000);
    assert_true(fake.most_lines >= 51000);
    remove_output();
    fake.bytes_per_line = 2000;
    o = run_pairs(first, second, 1, &settings);
    assert_int_equal(o.code, STATUS_TOO_LARGE);
    fake.check_only = true; /* it is known there, too */
    o = run_pairs(first, second, 1, &settings);
    assert_int_equal(o.code, STATUS_TOO_LARGE);
    assert_int_equal(entries_of_output(), 0);
    free(first);
    free(second);
}

TEST_BETWEEN(job_that_outgrows_all_memory_fails_with_the_bytes, reset, NULL)
{
    char *path = misleading_csv("outgrows.csv");
    struct settings settings = small_settings();
    fake.bytes_per_line = 2000;
    struct outcome o = run_jobs(path, 2, &settings);
    assert_int_equal(o.n_ok, 0);
    assert_int_equal(o.code, STATUS_TOO_LARGE);
    assert_non_null(strstr(o.message, "needs about"));
    assert_int_equal(entries_of_output(), 0);
    free(path);
}

TEST_BETWEEN(job_cancelled_while_it_starts_over_says_that_it_was_cancelled, reset, NULL)
{
    char *path = misleading_csv("cancelled.csv");
    struct settings settings = small_settings();
    settings.jobs = 6;
    fake.bytes_per_line = 600;
    fake.push_ms = 10;
    fake.cancel_again = true;
    struct outcome o = run_jobs(path, 6, &settings);
    assert_in_range(o.n_ok, 0, 5); /* some started over, and were cancelled */
    assert_int_equal(o.code, STATUS_CANCELLED);
    assert_string_equal(o.message, "on purpose");
    assert_int_equal(entries_of_output(), (int)o.n_ok);
    remove_output();
    free(path);
}

/* --- stages that start over ------------------------------------------------------------------- */

TEST_BETWEEN(stage_that_starts_over_gets_its_numbers_and_its_memory_once_more, reset, NULL)
{
    char *path = counting_csv("over.csv", 9000, 5);
    struct settings settings = small_settings();
    fake.bytes_per_line = 1000;
    fake.starts_over = true;
    assert_int_equal(run_jobs(path, 3, &settings).n_ok, 3);
    assert_int_equal(fake.n_opened, 6);
    assert_true(fake.last_seen == 9000 * 5);
    remove_output();
    free(path);
}

TEST_BETWEEN(stage_that_starts_over_is_opened_with_the_lines_that_it_was_planned_with, reset, NULL)
{
    char *path = misleading_csv("over.csv");
    struct settings settings = small_settings();
    fake.bytes_per_line = 100; /* 10 MB of about 34, the second time */
    fake.starts_over = true;
    assert_int_equal(run_jobs(path, 1, &settings).n_ok, 1);
    assert_int_equal(fake.n_opened, 2);
    assert_true(fake.open_lines >= 50000 && fake.open_lines == fake.most_lines);
    remove_output();
    free(path);
}

TEST_BETWEEN(stage_that_starts_over_twice_has_failed, reset, NULL)
{
    char *path = counting_csv("over.csv", 9, 5);
    struct settings settings = small_settings();
    fake.starts_over = fake.always = true;
    assert_int_equal(run_jobs(path, 2, &settings).n_ok, 0);
    assert_int_equal(fake.n_opened, 4);
    assert_int_equal(entries_of_output(), 0);
    free(path);
}

TEST_BETWEEN(stage_that_starts_over_says_how_many_bytes_it_lacks, reset, NULL)
{
    char *path = counting_csv("over.csv", 9, 5);
    struct settings settings = small_settings();
    fake.bytes_of['o' - 'a'] = 20 << 20; /* of about 34 */
    fake.starts_over = true;
    struct outcome o = run_jobs(path, 1, &settings);
    assert_int_equal(o.code, STATUS_TOO_LARGE);
    assert_non_null(strstr(o.message, "needs"));
    assert_int_equal(fake.n_opened, 1);
    assert_int_equal(entries_of_output(), 0);
    free(path);
}

TEST_BETWEEN(stage_that_starts_over_can_be_cancelled_meanwhile, reset, NULL)
{
    char *path = counting_csv("over.csv", 9, 5);
    struct settings settings = small_settings();
    fake.starts_over = fake.cancel_again = true;
    struct outcome o = run_jobs(path, 1, &settings);
    assert_int_equal(o.code, STATUS_CANCELLED);
    assert_int_equal(fake.n_opened, 1);
    assert_int_equal(entries_of_output(), 0);
    free(path);
}

/* --- who goes first --------------------------------------------------------------------------- */

/* Jobs a, b, c, ... in this order: each comes when those before it have been opened, and have or
 * wait for their memory. Nobody gets further than its first cells before all have come. */
struct line {
    struct running r;
    const char *names;
    char had_memory[32];                    /* of them, when all had been opened */
    size_t n_started, n_put_off, n_counted; /* deadlines */
};

static void on_waits(void *user, const struct job *job, bool waits, double deadline_s)
{
    struct line *l = (struct line *)user; /* the runner is its first member */
    assert_int_equal(job->phase, JOB_WAITING);
    assert_true(deadline_s == 3600);
    *(waits ? &l->n_put_off : &l->n_counted) += 1;
}

static void start_named(struct line *l)
{
    const size_t i = l->n_started++;
    char path[64];
    snprintf(path, sizeof(path), "%s/%c.csv", folder, l->names[i]);
    l->r.path = path;
    l->r.n_left = i + 1;
    start_next(&l->r);
    l->r.n_left = 0;
}

static void assert_that_waiting_is_not_counted(const struct job *job)
{
    if (job->phase == JOB_WAITING && job->tasks.code == STATUS_OK) {
        assert_true(job->waits);
        assert_false(uv_is_active((uv_handle_t *)job->deadline));
    } else if (job->phase >= JOB_STARTING && job->phase < JOB_ENDING) {
        assert_true(uv_is_active((uv_handle_t *)job->deadline));
        assert_in_range(uv_timer_get_due_in(job->deadline), 1, 3600000);
    }
}

static void watch_line(uv_check_t *check)
{
    struct line *l = check->data;
    const struct engine *e = &l->r.engine;
    bool all_opened = true;
    for (size_t i = 0; i < e->n_jobs; i++) {
        const struct job *const job = job_in_flight(e, i);
        all_opened = all_opened && job->phase != JOB_OPENING;
        assert_that_waiting_is_not_counted(job);
    }
    if (!all_opened || !fake.gate_shut) {
        return;
    }
    if (l->names[l->n_started] != '\0') {
        start_named(l);
        return;
    }
    for (size_t i = 0, n = 0; i < e->n_jobs; i++) {
        const struct job *const job = job_in_flight(e, i);
        if (job->phase > JOB_WAITING) {
            l->had_memory[n++] = letter_of(job_path(job));
        }
    }
    atomic_store(&fake.gate_shut, false);
}

/* needs: of each, bytes; what is not positive is so much less than all there is for jobs. */
static void run_line(struct line *l, const char *names, const int64_t *needs)
{
    uv_loop_t loop;
    uv_check_t check;
    int out_fd;
    char out[64];
    struct settings settings = small_settings();
    settings.jobs = 16;
    settings.threads = 4;
    settings.deadline_s = 3600;
    *l = (struct line){.names = names};
    snprintf(out, sizeof(out), "%s/out", folder);
    assert_int_equal(publish_open_output(out, &out_fd, &(bool){0}), STATUS_OK);
    uv_loop_init(&loop);
    assert_int_equal(engine_open(&loop, &settings, &l->r.engine), STATUS_OK);
    for (size_t i = 0; names[i] != '\0'; i++) {
        char name[] = {names[i], '.', 'c', 's', 'v', '\0'};
        free(counting_csv(name, 10, 3));
        fake.bytes_of[names[i] - 'a'] =
            (needs[i] <= 0 ? l->r.engine.host_limit : 0) + (uint64_t)needs[i];
    }
    l->r.context = (struct job_context){.engine = &l->r.engine,
                                        .settings = &settings,
                                        .out_fd = out_fd,
                                        .ended = on_ended,
                                        .waits = on_waits,
                                        .user = &l->r};
    uv_check_init(&loop, &check);
    check.data = l;
    uv_check_start(&check, watch_line);
    fake.gate_shut = true;
    start_named(l);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&check, NULL);
    assert_int_equal(l->r.outcome.n_ok, strlen(names));
    assert_int_equal(l->r.engine.host_used, 0);
    engine_close(&l->r.engine);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    close(out_fd);
    remove_output();
}

enum { MB = 1000000 };

TEST_BETWEEN(job_that_waits_is_not_passed_by_those_that_would_delay_it, reset, NULL)
{
    struct line l;
    /* b leaves 3 MB: c and d would have it wait for them. */
    run_line(&l, "abcd", (int64_t[]){8 * MB, -3 * MB, 5 * MB, 3 * MB + 1});
    assert_string_equal(l.had_memory, "a");
    assert_memory_equal(fake.opened, "ab", 2);
    assert_int_equal(l.n_put_off, 3); /* once each: the service counts anew, too */
    assert_int_equal(l.n_counted, 3);
}

TEST_BETWEEN(small_jobs_pass_one_that_waits_as_far_as_it_leaves_room, reset, NULL)
{
    struct line l;
    /* c is just what b leaves, d and e are more. */
    run_line(&l, "abcde", (int64_t[]){8 * MB, -3 * MB, 3 * MB, 1, 9 * MB});
    assert_string_equal(l.had_memory, "ac");
    /* What d needs is held against b and against c, which waits too. */
    fake.n_opened = 0;
    run_line(&l, "abcde", (int64_t[]){8 * MB, -3 * MB, -2 * MB, 2 * MB, 1});
    assert_string_equal(l.had_memory, "ad");
    /* All that there is: nobody passes. */
    fake.n_opened = 0;
    run_line(&l, "abc", (int64_t[]){8 * MB, 0, 1});
    assert_string_equal(l.had_memory, "a");
    assert_memory_equal(fake.opened, "abc", 3);
}

/* A job in flight as the rule sees it. */
static struct engine_job as_seen(struct engine *e, enum engine_wait waits, uint64_t wanted,
                                 uint64_t held)
{
    return (struct engine_job){.device = e->devices,
                               .waits = waits,
                               .host_wanted = wanted,
                               .host_reserved = held,
                               .device_wanted = 2 * wanted,
                               .device_reserved = 2 * held};
}

TEST(job_that_grows_takes_nothing_that_an_earlier_one_waits_for)
{
    struct engine_device device = {.memory_limit = 200, .memory_used = 80};
    struct engine e = {.host_limit = 100, .host_used = 40, .devices = &device, .n_jobs = 4};
    struct engine_job first = as_seen(&e, WAITS_FOR_NOTHING, 20, 20),
                      waiting = as_seen(&e, WAITS_FOR_MEMORY, 70, 0),
                      grows = as_seen(&e, WAITS_FOR_NOTHING, 10, 10),
                      last = as_seen(&e, WAITS_FOR_NOTHING, 10, 10);
    struct engine_job *jobs[] = {&first, &waiting, &grows, &last};
    e.jobs = jobs;
    assert_true(memory_may_take(&e, &grows, 10, 0)); /* it and the last hold 30 then */
    assert_false(memory_may_take(&e, &grows, 11, 0));
    assert_true(memory_may_take(&e, &last, 10, 20));
    assert_false(memory_may_take(&e, &last, 0, 21));
    assert_true(memory_may_take(&e, &first, 60, 120)); /* it came before */
    assert_false(memory_may_take(&e, &first, 61, 0));
    assert_false(memory_may_take(&e, &first, 0, 121));
    waiting.host_wanted = 90; /* nothing is asked of what is short */
    assert_true(memory_may_take(&e, &grows, 0, 20));
    assert_false(memory_may_take(&e, &grows, 1, 0));
    waiting.waits = WAITS_FOR_NOTHING;
    assert_true(memory_may_take(&e, &grows, 60, 0));
}

int main(void)
{
    return unit_run(make_folder, remove_folder);
}
