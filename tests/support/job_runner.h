/*
 * job_runner - runs jobs through the engine with a stage of its own, which fails where it is told
 * to.
 */
#ifndef LEAT_TESTS_JOB_RUNNER_H
#define LEAT_TESTS_JOB_RUNNER_H

#include "pipeline/engine/job_state.h"
#include "stages/base/job_io.h"
#include "stages/base/pull.h"
#include "tests/support/patience.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 1000 * WAIT_S };
enum failing { NOWHERE, AT_PLAN, AT_OPEN, AT_PUSH, AT_FINISH, AT_PIECE };

struct running;

static struct {
    enum failing failing;
    uint64_t bytes_per_line; /* what plan asks for */
    uint64_t bytes_of[26]; /* or this, by the first letter of the file's name, where it is not 0 */
    atomic_bool is_finishing; /* finish has been called */
    atomic_bool was_stopped;  /* and has seen that its queue is stopped */
    atomic_bool gate_shut;    /* pushes wait at it */
    char opened[64];          /* those letters, in the order in which jobs got their memory */
    unsigned push_ms;
    unsigned failing_push; /* of each job, from 1 on; 0: none */
    uint64_t n_pieces;
    bool lends, is_lent;              /* their first file is lent; the next one is */
    bool cancel_again;                /* jobs that are about to start over are cancelled */
    void (*look)(struct running *r);  /* every millisecond, on the loop thread */
    bool check_only;                  /* jobs only count the numbers */
    bool finish_waits;                /* finish goes on until its queue is stopped */
    bool starts_over, always;         /* finish wants the numbers once more; also the second time */
    unsigned n_results;               /* that finish gives; each has files of its own */
    atomic_uint n_begun, n_to_begin;  /* of them; pieces wait until so many are there */
    size_t cells_of_part;             /* in each of a job of two */
    bool grows;                       /* each push gives 8 bytes of a file that goes on */
    unsigned n_portions;              /* or so many times as many, one after the other */
    unsigned n_held;                  /* what plan says of portions and results ... */
    size_t few_held_from;             /* ... where it is free, of fewer lines; else two */
    uint64_t bytes_held;              /* for each of them */
    atomic_int n_meeting, n_to_meet;  /* pieces of portions wait until so many are being made */
    atomic_int n_unread, most_unread; /* portions that have been handed out and not read */
    bool never_ends, holds_nothing;   /* that file is not ended; a result has an empty file */
    bool own_folder;                  /* the result is left in a folder that is there before */
    const char *stem;                 /* of every job; NULL: job1, job2, ... */
    unsigned n_passes;                /* over the first part, after the first */
    void (*between)(void);            /* called before each of them */
    atomic_int n_open, most_open, n_opened;
    unsigned n_plans;
    uint64_t last_wanted;     /* bytes, by the last plan */
    size_t most_lines;        /* that a plan was asked for, in all parts */
    atomic_size_t open_lines; /* that the last stage was opened for */
    _Atomic double last_seen;
} fake;

static inline enum status fails(void)
{
    return status_fail(STATUS_BAD_INPUT, "failed on purpose");
}

static inline enum status fail_at(enum failing where)
{
    return fake.failing == where ? fails() : STATUS_OK;
}

static inline char letter_of(const char *path)
{
    return strrchr(path, '/')[1];
}

static inline size_t lines_of(const struct stage_args *args)
{
    size_t lines = 0;
    for (size_t i = 0; i < STAGE_MAX_PARTS && args->inputs[i].table != NULL; i++) {
        const struct table_info *t = args->inputs[i].table;
        lines += t->n_lines > 0 ? t->n_lines : t->n_lines_estimate;
    }
    return lines;
}

static inline enum status fake_plan(const struct stage_args *args, struct stage_need *out)
{
    const size_t lines = lines_of(args);
    fake.most_lines = lines > fake.most_lines ? lines : fake.most_lines;
    const uint64_t fixed = fake.bytes_of[(letter_of(args->inputs[0].name) - 'a') % 26];
    const unsigned few = fake.few_held_from > 0 && lines >= fake.few_held_from ? 2 : fake.n_held;
    const size_t n_held = args->n_results > 0 ? args->n_results : few;
    const uint64_t wanted =
        (fixed != 0 ? fixed : fake.bytes_per_line * lines) + n_held * fake.bytes_held;
    fake.n_plans++;
    fake.last_wanted = wanted;
    *out = (struct stage_need){.memory_bytes = args->started_over ? 2 * wanted : wanted,
                               .n_results = n_held,
                               .rereads = fake.n_passes > 0,
                               .estimated = args->inputs[0].table->n_lines == 0};
    return fail_at(AT_PLAN);
}

static inline void fake_closed(void *context)
{
    (void)context;
    atomic_fetch_sub(&fake.n_open, 1);
}

static inline enum status fake_begin(struct job_io *io)
{
    struct span span;
    uint64_t ticket;
    assert_int_equal(io->ops->alloc(io->queue, 1, &span), STATUS_OK);
    enum status code = io->ops->upload(io->queue, span, "x", 1, &ticket);
    code = code == STATUS_OK ? io->ops->upload_wait(io->queue, ticket) : code;
    io->ops->release(io->queue, span);
    STATUS_TRY(code); /* the job may have been cancelled */
    fake.open_lines = lines_of(&io->args);
    STATUS_TRY(fail_at(AT_OPEN));
    const int nth = atomic_fetch_add(&fake.n_opened, 1);
    fake.opened[nth % (int)(sizeof(fake.opened) - 1)] = letter_of(io->args.inputs[0].name);
    int open = atomic_fetch_add(&fake.n_open, 1) + 1;
    if (open > fake.most_open) {
        fake.most_open = open;
    }
    return room_keep(&io->room, fake_closed, NULL);
}

static inline enum status fake_piece(void *context, uint64_t index, struct bytes *out)
{
    (void)context;
    for (size_t ms = 0; fake.n_begun < fake.n_to_begin; ms++) {
        if (ms >= PATIENCE_MS) {
            return status_fail(STATUS_INTERNAL, "no more results than %u begin", fake.n_begun);
        }
        usleep(1000);
    }
    if (fake.failing == AT_PIECE && index == fake.n_pieces / 2) {
        return fail_at(AT_PIECE);
    }
    unsigned char block[1000];
    memset(block, (int)(index % 251), sizeof(block));
    return bytes_append(out, block, sizeof(block));
}

static inline enum status growing_piece(void *context, uint64_t index, struct bytes *out)
{
    (void)context;
    (void)index;
    atomic_fetch_add(&fake.n_meeting, 1);
    for (size_t ms = 0; fake.n_meeting < fake.n_to_meet; ms++) {
        if (ms >= PATIENCE_MS) {
            return status_fail(STATUS_INTERNAL, "no more pieces than %d are made at a time",
                               fake.n_meeting);
        }
        usleep(1000);
    }
    atomic_fetch_sub(&fake.n_unread, 1);
    return bytes_append(out, "portion\n", 8);
}

static inline enum status grow(struct result *out, bool more)
{
    struct result_file *f;
    enum status code = result_add_file(out, "growing", PACK_RAW, &f);
    if (code == STATUS_OK && !fake.holds_nothing) {
        code = result_add_member(f, NULL, 1, growing_piece, NULL, NULL);
    }
    out->files[0].more = more || fake.never_ends;
    return code;
}

/* What a chunk is worth: nothing, or some portions. */
static inline enum status leave_portions(struct job_io *io)
{
    for (unsigned i = 0; fake.grows && i < (fake.n_portions > 0 ? fake.n_portions : 1); i++) {
        const int unread = atomic_fetch_add(&fake.n_unread, 1) + 1;
        fake.most_unread = unread > fake.most_unread ? unread : fake.most_unread;
        STATUS_TRY(grow(io->out, true));
        STATUS_TRY(io_leave(io));
    }
    return STATUS_OK;
}

/* All numbers of a part, which count up from 0. */
static inline enum status fake_part(struct job_io *io, size_t part, unsigned *n_pushes,
                                    bool *in_order)
{
    const struct table_chunk *c;
    double next = 0; /* the number expected next */
    STATUS_TRY(io_chunk(io, part, &c));
    while (c != NULL) {
        const double *x = c->values;
        for (size_t i = 0; i < c->n_cells; i++) {
            *in_order = *in_order && x[i] == next;
            next += 1;
        }
        while (atomic_load(&fake.gate_shut)) {
            usleep(1000);
        }
        usleep(fake.push_ms * 1000);
        STATUS_TRY(++*n_pushes == fake.failing_push ? fails() : fail_at(AT_PUSH));
        STATUS_TRY(leave_portions(io));
        STATUS_TRY(io_chunk(io, part, &c));
    }
    const bool is_last = part + 1 == STAGE_MAX_PARTS || io->args.inputs[part + 1].table == NULL;
    *in_order = *in_order && (is_last || next == (double)fake.cells_of_part);
    fake.last_seen = next;
    return STATUS_OK;
}

static inline enum status fake_read(struct job_io *io)
{
    unsigned n_pushes = 0;
    bool in_order = true;
    STATUS_TRY(fake_part(io, 0, &n_pushes, &in_order));
    if (io->args.inputs[1].table != NULL) {
        STATUS_TRY(fake_part(io, 1, &n_pushes, &in_order));
    }
    for (unsigned pass = 0; pass < fake.n_passes; pass++) {
        fake.between();
        STATUS_TRY(io_again(io, 0));
        STATUS_TRY(fake_part(io, 0, &n_pushes, &in_order));
    }
    return in_order ? STATUS_OK : status_fail(STATUS_INTERNAL, "cells came out of order");
}

/* The nth result, from 1 on; some have no files. */
static inline enum status fake_result(struct job_io *io, unsigned nth)
{
    struct result_file *f;
    fake.n_begun = nth;
    if (fake.grows) {
        return grow(io->out, false);
    }
    for (int i = 0; i < 3 && nth % 4 != 2; i++) {
        char name[32];
        snprintf(name, sizeof(name), nth == 1 ? "part%d" : "more/part%d.%u", i, nth);
        STATUS_TRY(result_add_file(io->out, name, PACK_RAW, &f));
        STATUS_TRY(result_add_member(f, NULL, i == 1 ? fake.n_pieces : 1, fake_piece, NULL, NULL));
    }
    return STATUS_OK;
}

static inline enum status fake_run(struct job_io *io)
{
    STATUS_TRY(fake_begin(io));
    STATUS_TRY(fake_read(io));
    STATUS_TRY(fail_at(AT_FINISH));
    atomic_store(&fake.is_finishing, true);
    enum status code = STATUS_OK;
    for (size_t ms = 0; fake.finish_waits && code == STATUS_OK && ms < PATIENCE_MS; ms++) {
        usleep(1000);
        code = queue_check(io->queue);
        atomic_store(&fake.was_stopped, code != STATUS_OK);
    }
    STATUS_TRY(code);
    if (fake.starts_over && (fake.always || !io->args.started_over)) {
        return status_fail(STATUS_START_OVER, "once more");
    }
    for (unsigned nth = 1; nth < fake.n_results; nth++) {
        STATUS_TRY(fake_result(io, nth));
        STATUS_TRY(io->out->n_files > 0 ? io_leave(io) : io_pause(io));
    }
    return fake_result(io, fake.n_results > 0 ? fake.n_results : 1);
}

static const struct stage_part fake_parts[] = {{.suffix = "fake", .kind = STAGE_TABLE},
                                               {.suffix = "more", .kind = STAGE_TABLE}};
static const struct stage_ops fake_stage = {
    .name = "fake", .parts = fake_parts, .n_parts = 1, .plan = fake_plan, .run = fake_run};
static const struct stage_ops fake_pair = {
    .name = "pair", .parts = fake_parts, .n_parts = 2, .plan = fake_plan, .run = fake_run};

static char folder[] = "/tmp/leat-job-XXXXXX";

struct outcome {
    size_t n_ended, n_ok;
    enum status code; /* of the last failure */
    char message[STATUS_MESSAGE_BYTES];
    double efficiency, read_s, write_s; /* the largest of all, and the last job's */
    double disk_in_s, disk_out_s;       /* of the engine */
};

struct running {
    struct engine engine;
    struct job_context context;
    struct outcome outcome;
    size_t n_left;             /* jobs to start */
    const char *path, *second; /* second: of a job of two files; NULL: one is enough */
    uv_check_t check;          /* cancels jobs that are about to start over, when asked to */
    uv_timer_t timer;          /* looks */
};

static inline void take_back(void *user)
{
    (void)user;
    fake.is_lent = false;
}

static inline void start_next(struct running *r)
{
    struct job_input input = {.n_parts = 1, .parts = {{.fd = -1, .path = strdup(r->path)}}};
    char stem[32];
    snprintf(stem, sizeof(stem), "job%zu", r->n_left--);
    input.settings.stage = &fake_stage;
    if (r->second != NULL) {
        input.settings.stage = &fake_pair;
        input.n_parts = 2;
        input.parts[1] = (struct job_part){.fd = -1, .path = strdup(r->second)};
    }
    if (fake.lends) {
        fake.is_lent = input.parts[0].is_stream = true;
        input.parts[0].stream.close = take_back;
    }
    if (fake.own_folder) {
        input.part_folder = strdup(".given.part");
        assert_true(mkdirat(r->context.out_fd, input.part_folder, 0777) == 0);
    }
    input.settings.n_parts = stage_parts(input.settings.stage, NULL, input.settings.parts);
    input.settings.stem = strdup(fake.stem != NULL ? fake.stem : stem);
    job_start(&r->context, &input);
}

static inline void on_ended(void *user, const struct job_report *report)
{
    struct running *r = user;
    r->outcome.n_ended++;
    assert_false(fake.is_lent); /* what comes after it in the archive is asked for now */
    if (report->code == STATUS_OK) {
        r->outcome.n_ok++;
        assert_non_null(report->manifest);
        const json_t *timing = json_object_get(report->manifest, "timing");
        const json_t *lanes = json_object_get(timing, "lanes");
        const double e = json_number_value(json_object_get(timing, "efficiency"));
        r->outcome.efficiency = e > r->outcome.efficiency ? e : r->outcome.efficiency;
        r->outcome.read_s =
            json_number_value(json_object_get(json_object_get(lanes, "read"), "busy_s"));
        r->outcome.write_s =
            json_number_value(json_object_get(json_object_get(lanes, "write"), "busy_s"));
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

static inline void cancel_what_starts_over(uv_check_t *check)
{
    struct running *r = check->data;
    for (size_t i = 0; i < r->engine.n_jobs; i++) {
        struct job *const job = job_in_flight(&r->engine, i);
        if (job_starts_over(job)) {
            job_cancel(job, STATUS_CANCELLED, "on purpose");
        }
    }
}

static inline void on_look(uv_timer_t *timer)
{
    struct running *r = timer->data;
    fake.look(r);
}

static inline struct outcome run_pairs(const char *path, const char *second, size_t n_jobs,
                                       const struct settings *settings)
{
    uv_loop_t loop;
    struct running r = {.n_left = n_jobs, .path = path, .second = second};
    int out_fd;
    char out[64];
    snprintf(out, sizeof(out), "%s/out", folder);
    assert_int_equal(publish_open_output(out, &out_fd, &(bool){0}), STATUS_OK);
    uv_loop_init(&loop);
    const uint64_t begun_ns = thread_pool_now_ns();
    assert_int_equal(engine_open(&loop, settings, &r.engine), STATUS_OK);
    r.context = (struct job_context){.engine = &r.engine,
                                     .settings = settings,
                                     .out_fd = out_fd,
                                     .check_only = fake.check_only,
                                     .ended = on_ended,
                                     .user = &r};
    while (r.n_left > 0 && r.engine.n_jobs < r.engine.max_jobs) {
        start_next(&r);
    }
    if (fake.cancel_again) {
        uv_check_init(&loop, &r.check);
        r.check.data = &r;
        uv_check_start(&r.check, cancel_what_starts_over);
    }
    if (fake.look != NULL) {
        uv_timer_init(&loop, &r.timer);
        r.timer.data = &r;
        uv_timer_start(&r.timer, on_look, 1, 1);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    if (fake.look != NULL) {
        uv_close((uv_handle_t *)&r.timer, NULL);
    }
    if (fake.cancel_again) {
        uv_close((uv_handle_t *)&r.check, NULL);
    }
    assert_int_equal(r.engine.host_used, 0);
    const double wall_s = 1e-9 * (double)(thread_pool_now_ns() - begun_ns);
    assert_int_equal(r.engine.disks.in.n_users + r.engine.disks.out.n_users, 0);
    assert_true(1e-9 * (double)r.engine.disks.in.total_ns <= wall_s);
    assert_true(r.outcome.n_ok == 0 || r.engine.disks.in.total_ns > 0);
    assert_true(r.outcome.n_ok == 0 || r.engine.disks.out.total_ns > 0);
    r.outcome.disk_in_s = 1e-9 * (double)r.engine.disks.in.total_ns;
    r.outcome.disk_out_s = 1e-9 * (double)r.engine.disks.out.total_ns;
    assert_true(r.outcome.efficiency <= 1.001); /* the clocks may run differently by that */
    for (size_t i = 0; i < r.engine.cpu.n_queues; i++) { /* nothing is booked for the next job */
        struct queue_busy busy;
        struct queue *q = r.engine.cpu.queues[i];
        q->backend->ops->busy(q, &busy, false);
        assert_int_equal(busy.upload_bytes, 0);
        assert_null(q->stop);
    }
    engine_close(&r.engine);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    close(out_fd);
    assert_int_equal(fake.n_open, 0);
    assert_int_equal(r.outcome.n_ended, n_jobs);
    return r.outcome;
}

static inline struct outcome run_jobs(const char *path, size_t n_jobs,
                                      const struct settings *settings)
{
    return run_pairs(path, NULL, n_jobs, settings);
}

static inline char *counting_csv(const char *name, size_t n_lines, size_t per_line)
{
    char *path;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (size_t i = 0; i < n_lines * per_line; i++) {
        fprintf(f, "%zu.0%c", i, (i + 1) % per_line == 0 ? '\n' : ',');
    }
    assert_int_equal(fclose(f), 0);
    return path;
}

static inline size_t entries_of_output(void)
{
    char out[64];
    snprintf(out, sizeof(out), "%s/out", folder);
    return count_entries(out);
}

static inline void remove_output(void)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s/out", folder);
    assert_int_equal(system(command), 0);
}

static inline struct settings small_settings(void)
{
    return (struct settings){
        .backend = (char *)"cpu", .threads = 3, .memory = 64 << 20, .level = 1};
}

static inline int reset(void **state)
{
    (void)state;
    fake.failing = NOWHERE;
    fake.bytes_per_line = 1;
    fake.push_ms = fake.failing_push = 0;
    fake.n_pieces = 1;
    fake.most_open = 0;
    fake.n_opened = 0;
    fake.n_plans = 0;
    fake.bytes_held = fake.few_held_from = 0;
    fake.most_lines = 0;
    fake.gate_shut = fake.is_finishing = fake.was_stopped = fake.finish_waits = false;
    fake.cancel_again = fake.starts_over = fake.always = fake.check_only = false;
    fake.look = NULL;
    fake.lends = fake.is_lent = false;
    fake.stem = NULL;
    fake.grows = fake.never_ends = fake.holds_nothing = fake.own_folder = false;
    fake.n_passes = fake.n_results = fake.n_portions = fake.n_held = 0;
    fake.n_begun = 0;
    fake.n_to_begin = 0;
    fake.n_meeting = fake.n_to_meet = fake.n_unread = fake.most_unread = 0;
    memset(fake.bytes_of, 0, sizeof(fake.bytes_of));
    memset(fake.opened, 0, sizeof(fake.opened));
    return 0;
}

static inline int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : 1;
}

static inline int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

#endif
