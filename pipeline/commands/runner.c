/*
 * runner - see runner.h.
 */
#include "pipeline/commands/runner.h"

#include "formats/base/log.h"
#include "pipeline/inputs/inputs.h"
#include "pipeline/names/text.h"

#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FEED_AT_ONCE = 8, PROGRESS_EVERY_MS = 200 };

/* What the feeding task found: an input, or why there is none. */
struct found {
    struct job_input input;
    enum status code;
    char *message;
};

struct runner {
    const struct settings *settings;
    struct runner_totals *totals;
    void (*ended)(void *user, const struct job_report *report);
    void *user;
    uv_loop_t loop;
    struct engine engine;
    struct job_context context;
    struct inputs *inputs;
    struct engine_task feed_task, size_task;
    void *stems;                      /* results of this run so far: a tree of struct stem */
    struct found found[FEED_AT_ONCE]; /* written by the feeding task, taken by the loop */
    size_t n_found, n_taken;
    bool feeding, inputs_ended, closing, sizing;
    uv_timer_t progress_timer;
    uv_signal_t signals[2];
    int n_signals;
    uint64_t total_bytes, size_found, started_ns;
    struct thread_pool_account account; /* of finding inputs, which archives are unpacked for */
    struct queue_busy device;           /* when the run began, as are the next */
    double compute_s, all_s;
};

/* The name of a result, and the input that it is made from. */
struct stem {
    char *name, *path;
};

static int compare_stems(const void *a, const void *b)
{
    return strcmp(((const struct stem *)a)->name, ((const struct stem *)b)->name);
}

static void free_stem(void *stem)
{
    struct stem *s = stem;
    if (s != NULL) {
        free(s->name);
        free(s->path);
        free(s);
    }
}

/* One line at the bottom of a terminal: jobs, bytes, rate, time left. */
static void draw(uv_timer_t *timer)
{
    const struct runner *r = timer->data;
    const double elapsed_s = (double)(thread_pool_now_ns() - r->started_ns) * 1e-9;
    uint64_t bytes = r->totals->input_bytes;
    for (size_t i = 0; i < r->engine.n_jobs; i++) {
        bytes += job_bytes_read(r->engine.jobs[i]);
    }
    const double per_second = elapsed_s > 0 ? (double)bytes / elapsed_s : 0;
    char size[TEXT_NUMBER_BYTES], rate[TEXT_NUMBER_BYTES], left[TEXT_NUMBER_BYTES];
    char line[256], rest[64] = "", failed[48] = "", skipped[48] = "";
    if (r->total_bytes > bytes && per_second > 0) {
        snprintf(rest, sizeof(rest), ", %.0f %%, %s left",
                 100.0 * (double)bytes / (double)r->total_bytes,
                 text_duration(left, (double)(r->total_bytes - bytes) / per_second));
    }
    if (r->totals->n_failed > 0) {
        snprintf(failed, sizeof(failed), ", %zu failed", r->totals->n_failed);
    }
    if (r->totals->n_skipped > 0) {
        snprintf(skipped, sizeof(skipped), ", %zu skipped", r->totals->n_skipped);
    }
    snprintf(line, sizeof(line), "%zu done, %zu running%s%s: %s, %s/s%s", r->totals->n_done,
             r->engine.n_jobs, skipped, failed, text_size(size, bytes),
             text_size(rate, (uint64_t)per_second), rest);
    log_progress(line);
}

static void count(struct runner *r, const struct job_report *report)
{
    r->totals->input_bytes += report->input_bytes;
    if (report->code == STATUS_OK) {
        r->totals->n_done++;
    } else if (report->code == STATUS_SKIPPED) {
        r->totals->n_skipped++;
    } else {
        r->totals->n_failed++;
    }
    r->ended(r->user, report);
}

/* --- feeding ---------------------------------------------------------------------------------- */

static enum status feed_work(void *owner)
{
    struct runner *r = owner;
    while (r->n_found < FEED_AT_ONCE && !r->inputs_ended) {
        struct found *f = &r->found[r->n_found];
        bool end;
        f->code = inputs_next(r->inputs, &f->input, &end);
        f->message = f->code != STATUS_OK ? strdup(status_message()) : NULL;
        r->inputs_ended = end && f->code == STATUS_OK;
        r->n_found += r->inputs_ended ? 0 : 1;
    }
    return STATUS_OK;
}

static void feed(struct runner *r);

static void feed_finished(struct engine_task *task)
{
    struct runner *r = task->owner;
    r->feeding = false;
    feed(r);
}

static void report_refused(struct runner *r, struct found *f)
{
    struct job_report report = {.path =
                                    f->input.parts[0].path != NULL ? f->input.parts[0].path : "",
                                .code = f->code,
                                .message = f->message != NULL ? f->message : status_text(f->code)};
    if (f->code == STATUS_NOT_FOUND || f->code == STATUS_BAD_ARGUMENT) {
        r->totals->n_absent++;
    }
    count(r, &report);
    job_input_free(&f->input);
}

static void close_handles(struct runner *r)
{
    if (!r->closing) {
        r->closing = true;
        uv_close((uv_handle_t *)&r->progress_timer, NULL);
        for (int i = 0; i < r->n_signals; i++) {
            uv_close((uv_handle_t *)&r->signals[i], NULL);
        }
    }
}

/* Two inputs of one run never share a result: the second is refused, also with --force. */
static enum status claim_stem(struct runner *r, const struct job_input *input)
{
    struct stem *s = calloc(1, sizeof(*s)), **found = NULL;
    if (s != NULL) {
        s->name = strdup(input->settings.stem);
        s->path = strdup(input->parts[0].path);
        found = s->name != NULL && s->path != NULL ? tsearch(s, &r->stems, compare_stems) : NULL;
    }
    if (found != NULL && *found == s) {
        return STATUS_OK;
    }
    enum status code = found == NULL
                           ? status_fail(STATUS_NO_MEMORY, "no memory for a name")
                           : status_fail(STATUS_EXISTS,
                                         "'%s': its result would be '%s', as that of '%s' in "
                                         "this run; rename one of them",
                                         input->parts[0].path, s->name, (*found)->path);
    free_stem(s);
    return code;
}

/* Starts jobs for what was found, looks for more, or ends. */
static void feed(struct runner *r)
{
    if (r->feeding) {
        return;
    }
    while (r->n_taken < r->n_found &&
           (r->totals->interrupted || r->engine.n_jobs < r->engine.max_jobs)) {
        struct found *f = &r->found[r->n_taken++];
        if (r->totals->interrupted) {
            job_input_free(&f->input);
        } else if (f->code == STATUS_OK) {
            f->code = claim_stem(r, &f->input);
            if (f->code == STATUS_OK) {
                f->code = job_start(&r->context, &f->input);
            }
            f->message = f->code != STATUS_OK ? strdup(status_message()) : NULL;
        }
        if (f->code != STATUS_OK && !r->totals->interrupted) {
            report_refused(r, f);
        }
        free(f->message);
        f->message = NULL;
    }
    if (r->n_taken < r->n_found) {
        return;
    }
    r->n_found = r->n_taken = 0;
    if (!r->inputs_ended && !r->totals->interrupted) {
        r->feeding = true;
        r->feed_task.owner = r;
        r->feed_task.work = feed_work;
        r->feed_task.finished = feed_finished;
        engine_start(&r->engine, &r->feed_task, LANE_READ, &r->account);
    } else if (r->engine.n_jobs == 0 && !r->sizing) {
        close_handles(r);
        uv_stop(&r->loop);
    }
}

static void on_ended(void *user, const struct job_report *report)
{
    struct runner *r = user;
    count(r, report);
    feed(r);
}

/* --- signals ---------------------------------------------------------------------------------- */

/* Once: cancel. Twice: the handler is gone, the system ends the process. */
static void on_signal(uv_signal_t *signal, int number)
{
    struct runner *r = signal->data;
    (void)number;
    r->totals->interrupted = true;
    inputs_stop(r->inputs);
    uv_signal_stop(&r->signals[0]);
    uv_signal_stop(&r->signals[1]);
    for (size_t i = 0; i < r->engine.n_jobs; i++) {
        job_cancel(r->engine.jobs[i], STATUS_CANCELLED, "stopped by a signal");
    }
    feed(r);
}

static enum status size_work(void *owner)
{
    struct runner *r = owner;
    r->size_found = inputs_total_bytes(r->inputs);
    return STATUS_OK;
}

static void size_finished(struct engine_task *task)
{
    struct runner *r = task->owner;
    const size_t n_shares = r->settings->shard.count;
    r->total_bytes = r->size_found / (n_shares > 0 ? n_shares : 1);
    r->sizing = false;
    feed(r);
}

static enum status start_handles(struct runner *r)
{
    static const int numbers[2] = {SIGINT, SIGTERM};
    uv_timer_init(&r->loop, &r->progress_timer);
    r->progress_timer.data = r;
    for (int i = 0; i < 2; i++) {
        int failed = uv_signal_init(&r->loop, &r->signals[i]);
        if (failed == 0) {
            r->n_signals++;
            r->signals[i].data = r;
            failed = uv_signal_start(&r->signals[i], on_signal, numbers[i]);
        }
        if (failed != 0) {
            return status_fail(STATUS_IO, "cannot watch for signals: %s", uv_strerror(failed));
        }
    }
    if (log_has_progress() && !r->settings->quiet) {
        r->size_task.owner = r;
        r->size_task.work = size_work;
        r->size_task.finished = size_finished;
        r->sizing = true;
        engine_start(&r->engine, &r->size_task, LANE_READ, NULL);
        uv_timer_start(&r->progress_timer, draw, PROGRESS_EVERY_MS, PROGRESS_EVERY_MS);
    }
    return STATUS_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

static double process_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void note_begin(struct runner *r)
{
    r->account.watch = &r->engine.disks.watch;
    r->started_ns = thread_pool_now_ns();
    r->compute_s = thread_pool_cpu_s(r->engine.compute);
    r->all_s = process_cpu_s();
    engine_busy(&r->engine, &r->device);
}

/* What has computed: "cpu", "cuda", "3 cuda", "cpu and 2 cuda". */
static void tell_places(struct runner_totals *t, const struct engine *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n_devices; i++) {
        n += e->devices[i].n_begun > 0;
    }
    char count[24] = "";
    if (n > 1) {
        snprintf(count, sizeof(count), "%zu ", n);
    }
    snprintf(t->backend, sizeof(t->backend), "%s%s%s%s", e->cpu.n_begun > 0 || n == 0 ? "cpu" : "",
             e->cpu.n_begun > 0 && n > 0 ? " and " : "", n > 0 ? count : "", n > 0 ? "cuda" : "");
}

static void add_up(struct runner *r)
{
    struct runner_totals *t = r->totals;
    struct engine *e = &r->engine;
    struct queue_busy device;
    engine_busy(e, &device);
    const double compute_s = thread_pool_cpu_s(e->compute) - r->compute_s,
                 all_s = process_cpu_s() - r->all_s;
    const uint64_t now = thread_pool_now_ns();
    t->wall_s = (double)(now - r->started_ns) * 1e-9;
    const struct efficiency_times times = {
        .cpu_s = efficiency_cpu_s(compute_s, e->n_threads, all_s, e->n_cpus),
        .device_s = device.device_s - r->device.device_s,
        .upload_s = device.upload_s - r->device.upload_s,
        .download_s = device.download_s - r->device.download_s,
        .disk_in_s = meter_s(&e->disks.in, now),
        .disk_out_s = meter_s(&e->disks.out, now)};
    t->efficiency = efficiency_of(&times, t->wall_s);
    tell_places(t, e);
}

enum status runner_run(const struct settings *settings, bool check_only,
                       void (*ended)(void *user, const struct job_report *report), void *user,
                       struct runner_totals *out)
{
    *out = (struct runner_totals){.shared = settings->shard.count > 0};
    struct runner *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to begin");
    }
    r->settings = settings;
    r->totals = out;
    r->ended = ended;
    r->user = user;
    r->context = (struct job_context){.engine = &r->engine,
                                      .settings = settings,
                                      .out_fd = -1,
                                      .check_only = check_only,
                                      .ended = on_ended,
                                      .user = r};
    int failed = uv_loop_init(&r->loop);
    if (failed != 0) {
        free(r);
        return status_fail(STATUS_IO, "cannot begin: %s", uv_strerror(failed));
    }
    enum status code = engine_open(&r->loop, settings, &r->engine);
    if (code != STATUS_OK) {
        goto close_loop;
    }
    if (r->engine.cpu.info.advice[0] != '\0' && r->engine.n_devices == 0) {
        log_info("%s", r->engine.cpu.info.advice);
    }
    if (!check_only) {
        if ((code = publish_open_output(settings->output, &r->context.out_fd)) != STATUS_OK) {
            goto close_engine;
        }
        publish_sweep(r->context.out_fd);
    }
    if ((code = inputs_open(settings, r->context.out_fd, &r->inputs)) != STATUS_OK) {
        goto close_output;
    }
    note_begin(r);
    code = start_handles(r);
    if (code == STATUS_OK) {
        feed(r);
        uv_run(&r->loop, UV_RUN_DEFAULT);
    } else {
        close_handles(r);
    }
    log_progress(NULL);
    add_up(r);
close_output:
    inputs_free(r->inputs);
    tdestroy(r->stems, free_stem);
    if (r->context.out_fd >= 0) {
        close(r->context.out_fd);
    }
close_engine:
    engine_close(&r->engine);
close_loop:
    uv_run(&r->loop, UV_RUN_DEFAULT);
    uv_loop_close(&r->loop);
    free(r);
    return code;
}

int runner_exit_status(const struct runner_totals *t)
{
    if (t->interrupted) {
        if (t->n_failed == 0) {
            log_warning("stopped by a signal");
        }
        return 1;
    }
    const bool nothing = t->n_done + t->n_skipped == 0 && t->n_failed == t->n_absent;
    if (nothing && (t->n_failed > 0 || !t->shared)) {
        return 2;
    }
    return t->n_failed == 0 ? 0 : 1;
}

void runner_tell_failure(const struct job_report *report)
{
    if (strstr(report->message, report->path) != NULL) {
        log_error("%s", report->message);
    } else {
        log_error("%s: %s", report->path, report->message);
    }
}
