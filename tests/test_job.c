/*
 * Jobs through the engine with a stage of the test's own: order of cells, failures at every step,
 * memory that is waited for, starting over, deadlines, many pieces; nothing left behind.
 */
#include "pipeline/job.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* --- a stage that checks the order of what it gets ----------------------------------------------
 */

enum failing { NOWHERE, AT_PLAN, AT_OPEN, AT_PUSH, AT_FINISH, AT_PIECE };

static struct {
    enum failing failing;
    uint64_t bytes_per_line; /* what plan asks for */
    unsigned push_ms;
    uint64_t n_pieces;
    atomic_int n_open, most_open, n_opened;
    unsigned n_plans;
    double last_seen;
} fake;

struct stage {
    double next; /* the number expected next: files count up from 0 */
    bool in_order;
};

static enum status fail_at(enum failing where)
{
    return fake.failing == where ? status_fail(STATUS_BAD_INPUT, "failed on purpose") : STATUS_OK;
}

static enum status fake_plan(const struct stage_args *args, struct stage_need *out)
{
    const struct table_info *t = args->table;
    size_t lines = t->n_lines > 0 ? t->n_lines : t->n_lines_estimate;
    fake.n_plans++;
    *out = (struct stage_need){.memory_bytes = fake.bytes_per_line * lines,
                               .estimated = t->n_lines == 0};
    return fail_at(AT_PLAN);
}

static enum status fake_open(const struct stage_args *args, struct stage **out)
{
    (void)args;
    *out = NULL;
    enum status code = fail_at(AT_OPEN);
    if (code == STATUS_OK) {
        *out = calloc(1, sizeof(**out));
        assert_non_null(*out);
        (*out)->in_order = true;
        atomic_fetch_add(&fake.n_opened, 1);
        int open = atomic_fetch_add(&fake.n_open, 1) + 1;
        if (open > fake.most_open) {
            fake.most_open = open;
        }
    }
    return code;
}

static enum status fake_push(struct stage *s, const struct table_chunk *c, uint64_t *ticket)
{
    const double *x = c->values;
    for (size_t i = 0; i < c->n_cells; i++) {
        s->in_order = s->in_order && x[i] == s->next;
        s->next += 1;
    }
    usleep(fake.push_ms * 1000);
    *ticket = 0;
    return fail_at(AT_PUSH);
}

static enum status fake_piece(void *context, uint64_t index, struct bytes *out)
{
    (void)context;
    if (fake.failing == AT_PIECE && index == fake.n_pieces / 2) {
        return fail_at(AT_PIECE);
    }
    unsigned char block[1000];
    memset(block, (int)(index % 251), sizeof(block));
    return bytes_append(out, block, sizeof(block));
}

static enum status fake_finish(struct stage *s, struct result *out)
{
    struct result_file *f;
    enum status code =
        s->in_order ? fail_at(AT_FINISH) : status_fail(STATUS_INTERNAL, "cells came out of order");
    fake.last_seen = s->next;
    for (int i = 0; i < 3 && code == STATUS_OK; i++) {
        char name[16];
        snprintf(name, sizeof(name), "part%d", i);
        code = result_add_file(out, name, PACK_RAW, &f);
        if (code == STATUS_OK) {
            code = result_add_member(f, NULL, i == 1 ? fake.n_pieces : 1, fake_piece, NULL, NULL);
        }
    }
    return code;
}

static void fake_free(struct stage *s)
{
    atomic_fetch_sub(&fake.n_open, 1);
    free(s);
}

static const struct stage_ops fake_stage = {.name = "fake",
                                            .suffix = "fake",
                                            .plan = fake_plan,
                                            .open = fake_open,
                                            .push = fake_push,
                                            .finish = fake_finish,
                                            .free = fake_free};

/* --- running jobs -------------------------------------------------------------------------------
 */

static char folder[] = "/tmp/leat-job-XXXXXX";

struct outcome {
    size_t n_ended, n_ok;
    enum status code; /* of the last failure */
    char message[STATUS_MESSAGE_BYTES];
};

struct running {
    struct engine engine;
    struct job_context context;
    struct outcome outcome;
    size_t n_left; /* jobs to start */
    const char *path;
};

static void start_next(struct running *r)
{
    struct job_input input = {.fd = -1, .path = strdup(r->path)};
    char stem[32];
    snprintf(stem, sizeof(stem), "job%zu", r->n_left--);
    input.settings.stage = &fake_stage;
    input.settings.stem = strdup(stem);
    assert_int_equal(job_start(&r->context, &input), STATUS_OK);
}

static void on_ended(void *user, const struct job_report *report)
{
    struct running *r = user;
    r->outcome.n_ended++;
    if (report->code == STATUS_OK) {
        r->outcome.n_ok++;
        assert_non_null(report->manifest);
    } else {
        r->outcome.code = report->code;
        snprintf(r->outcome.message, sizeof(r->outcome.message), "%s", report->message);
    }
    if (r->n_left > 0) {
        start_next(r);
    } else if (r->engine.n_jobs == 0) {
        uv_stop(r->engine.loop);
    }
}

static struct outcome run_jobs(const char *path, size_t n_jobs, const struct settings *settings)
{
    uv_loop_t loop;
    struct running r = {.n_left = n_jobs, .path = path};
    int out_fd;
    char out[64];
    snprintf(out, sizeof(out), "%s/out", folder);
    assert_int_equal(publish_open_output(out, &out_fd), STATUS_OK);
    uv_loop_init(&loop);
    assert_int_equal(engine_open(&loop, settings, &r.engine), STATUS_OK);
    r.context = (struct job_context){
        .engine = &r.engine, .settings = settings, .out_fd = out_fd, .ended = on_ended, .user = &r};
    while (r.n_left > 0 && r.engine.n_jobs < r.engine.max_jobs) {
        start_next(&r);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(r.engine.host_used, 0);
    engine_close(&r.engine);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    close(out_fd);
    assert_int_equal(fake.n_open, 0);
    assert_int_equal(r.outcome.n_ended, n_jobs);
    return r.outcome;
}

static char *counting_csv(const char *name, size_t n_lines, size_t per_line)
{
    char *path;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (size_t i = 0; i < n_lines * per_line; i++) {
        fprintf(f, "%zu%c", i, (i + 1) % per_line == 0 ? '\n' : ',');
    }
    assert_int_equal(fclose(f), 0);
    return path;
}

static size_t entries_of_output(void)
{
    char out[64];
    snprintf(out, sizeof(out), "%s/out", folder);
    DIR *d = opendir(out);
    size_t n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    }
    closedir(d);
    return n;
}

static void remove_output(void)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s/out", folder);
    assert_int_equal(system(command), 0);
}

static struct settings small_settings(void)
{
    return (struct settings){
        .backend = (char *)"cpu", .threads = 3, .memory = 64 << 20, .level = 1};
}

static int reset(void **state)
{
    (void)state;
    fake.failing = NOWHERE;
    fake.bytes_per_line = 1;
    fake.push_ms = 0;
    fake.n_pieces = 1;
    fake.most_open = 0;
    fake.n_opened = 0;
    fake.n_plans = 0;
    return 0;
}

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
    /* The first 1,000,000 bytes hold about 160,000 numbers of up to 6 digits, 5 a line. */
    assert_in_range(line, 25000, 40000);
    free(path);
}

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

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : 1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(cells_arrive_in_file_order_over_many_blocks, reset),
        cmocka_unit_test_setup(pieces_are_written_in_order_whoever_makes_them, reset),
        cmocka_unit_test_setup(failure_at_any_step_is_reported_and_leaves_nothing, reset),
        cmocka_unit_test_setup(first_error_in_the_file_is_the_one_reported, reset),
        cmocka_unit_test_setup(jobs_wait_for_memory_instead_of_failing, reset),
        cmocka_unit_test_setup(job_that_can_never_fit_says_how_many_bytes_it_needs, reset),
        cmocka_unit_test_setup(job_that_outgrows_its_guess_reserves_more, reset),
        cmocka_unit_test_setup(jobs_that_outgrow_the_memory_together_start_over, reset),
        cmocka_unit_test_setup(job_that_outgrows_all_memory_fails_with_the_bytes, reset),
        cmocka_unit_test_setup(deadline_ends_a_job_and_spares_the_others, reset),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
