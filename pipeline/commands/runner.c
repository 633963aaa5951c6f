/*
 * runner - see runner.h.
 */
#include "pipeline/commands/runner.h"

#include "formats/base/excerpt.h"
#include "formats/base/log.h"
#include "pipeline/commands/commands.h"
#include "pipeline/engine/rank_queue.h"
#include "pipeline/inputs/inputs.h"
#include "pipeline/inputs/result_names.h"
#include "pipeline/names/launcher.h"
#include "pipeline/names/text.h"
#include "pipeline/ranks/ranks.h"
#include "watch/files/xalloc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    FEED_AT_ONCE = 8,
    PROGRESS_EVERY_MS = 200,
    COUNTED_MS = 500, /* for so long a stopped run looks what it leaves */
    STEADY_S = 2      /* before the time that is left is shown */
};

/* What the feeding task found: an input, or why there is none. */
struct found {
    struct job_input input;
    enum status code;
    char *message;
};

struct runner {
    const struct settings *settings;
    struct ranks *ranks; /* NULL: without --mpi */
    struct runner_totals *totals;
    const struct runner_listener *listener;
    uv_loop_t loop;
    struct engine engine;
    struct job_context context;
    struct inputs *inputs;
    struct engine_task feed_task, size_task;
    struct result_names results;      /* of this run so far */
    struct found found[FEED_AT_ONCE]; /* written by the feeding task, taken by the loop */
    size_t n_found, n_taken;
    bool feeding, inputs_ended, closing, sizing;
    bool interrupted; /* no further job is begun */
    uv_timer_t progress_timer;
    uv_signal_t signals[2];
    int n_signals;
    uv_async_t rank_lost;
    bool watches_ranks;
    uint64_t total_bytes, size_found, started_ns;
    double left_s, left_at_s;           /* the time left that is shown; when that was set, in s */
    struct thread_pool_account account; /* of finding inputs, which archives are unpacked for */
    struct queue_busy device;           /* when the run began, as are the next */
    double compute_s, all_s;
};

/* What is being worked on: bytes that have been read, those of them that are dealt with (of a
 * simulation, in proportion to its steps), and the simulation where there is one job. */
struct progress {
    uint64_t bytes;
    double n_dealt_with;
    uint64_t n_done, n_steps;
};

static struct progress look(const struct runner *r)
{
    struct progress p = {.bytes = r->totals->input_bytes,
                         .n_dealt_with = (double)r->totals->input_bytes};
    for (size_t i = 0; i < r->engine.n_jobs; i++) {
        const struct job *job = job_in_flight(&r->engine, i);
        const uint64_t bytes = job_bytes_read(job);
        uint64_t n_done, n_steps;
        double part = 1;
        if (job_steps(job, &n_done, &n_steps)) {
            part = n_steps > 0 ? (double)n_done / (double)n_steps : 0;
            p.n_done = n_done;
            p.n_steps = r->engine.n_jobs == 1 ? n_steps : 0;
        }
        p.bytes += bytes;
        p.n_dealt_with += part * (double)bytes;
    }
    return p;
}

/* What is left by the part that is done so far; it is shown when it has become steady, and follows
 * slowly. 0: not yet. */
static double time_left(struct runner *r, double part, double elapsed_s)
{
    const double now_left_s = elapsed_s / part * (1 - part);
    const double due_s = r->left_s - (elapsed_s - r->left_at_s);
    r->left_s = r->left_at_s > 0 && due_s > 0 ? due_s + 0.1 * (now_left_s - due_s) : now_left_s;
    r->left_at_s = elapsed_s;
    return elapsed_s >= STEADY_S ? r->left_s : 0;
}

/* One line at the bottom of a terminal, what matters most first, since a narrow one cuts it: jobs,
 * percent, time left, steps or bytes and rate, and a bar. */
static void draw(uv_timer_t *timer)
{
    struct runner *r = timer->data;
    const struct progress p = look(r);
    const double elapsed_s = (double)(thread_pool_now_ns() - r->started_ns) * 1e-9;
    char size[TEXT_NUMBER_BYTES], rate[TEXT_NUMBER_BYTES], left[TEXT_NUMBER_BYTES];
    char line[512], what[128], part_done[64] = "", bar[24] = "", failed[48] = "", skipped[48] = "";
    const double part = r->total_bytes > 0 ? p.n_dealt_with / (double)r->total_bytes : 0;
    if (part > 0 && part < 1) {
        const double left_s = time_left(r, part, elapsed_s);
        static const char full[] = "##########----------";
        snprintf(bar, sizeof(bar), " [%.10s]", full + 10 - (int)(10 * part));
        const int n = snprintf(part_done, sizeof(part_done), "%.0f %%, ", 100 * part);
        if (left_s > 0) {
            snprintf(part_done + n, sizeof(part_done) - (size_t)n, "%s left, ",
                     text_time_left(left, left_s));
        }
    }
    if (r->totals->n_failed > 0) {
        snprintf(failed, sizeof(failed), ", %zu failed", r->totals->n_failed);
    }
    if (r->totals->n_skipped > 0) {
        snprintf(skipped, sizeof(skipped), ", %zu skipped", r->totals->n_skipped);
    }
    if (p.n_steps > 0) {
        snprintf(what, sizeof(what), "step %llu of %llu", (unsigned long long)p.n_done,
                 (unsigned long long)p.n_steps);
    } else {
        snprintf(what, sizeof(what), "%s, %s/s", text_size(size, p.bytes),
                 text_size(rate, elapsed_s > 0 ? (uint64_t)((double)p.bytes / elapsed_s) : 0));
    }
    snprintf(line, sizeof(line), "%zu done, %zu running%s%s: %s%s%s", r->totals->n_done,
             r->engine.n_jobs, skipped, failed, part_done, what, bar);
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
    r->listener->ended(r->listener->user, report);
}

/* --- feeding ---------------------------------------------------------------------------------- */

static enum status feed_work(void *owner)
{
    struct runner *r = owner;
    const size_t most =
        r->ranks == NULL ? FEED_AT_ONCE : 1; /* what is found is taken from others */
    while (r->n_found < most && !r->inputs_ended && !inputs_is_lent(r->inputs)) {
        struct found *f = &r->found[r->n_found];
        bool end;
        f->code = inputs_next(r->inputs, &f->input, &end);
        f->message = f->code != STATUS_OK ? xstrdup(status_message()) : NULL;
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
                                .message = f->message};
    if (f->code == STATUS_NOT_FOUND || f->code == STATUS_BAD_ARGUMENT) {
        r->totals->n_absent++;
    }
    count(r, &report);
    job_input_free(&f->input);
}

static void do_nothing(int number)
{
    (void)number;
}

/* This rank is done. mpirun gives none of them time to clean up once another has died of the signal
 * that tells them to stop; so a first one, which has nothing to stop, is ignored. */
static void ignore_first_signal(void)
{
    const struct sigaction once = {.sa_handler = do_nothing,
                                   .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    sigaction(SIGINT, &once, NULL);
    sigaction(SIGTERM, &once, NULL);
}

static void do_nothing_either(uv_signal_t *signal, int number)
{
    (void)signal;
    (void)number;
}

/* libuv restores a signal's default with the last handle that watches it, and a rank that is done
 * must not have that for an instant: one of each stays open. */
static void keep_handlers(const struct runner *r)
{
    static uv_signal_t kept[2];
    for (int i = 0; i < r->n_signals; i++) {
        if (uv_signal_init(uv_default_loop(), &kept[i]) == 0) {
            (void)uv_signal_start(&kept[i], do_nothing_either, r->signals[i].signum);
        }
    }
}

static void close_handles(struct runner *r)
{
    if (!r->closing) {
        r->closing = true;
        uv_close((uv_handle_t *)&r->progress_timer, NULL);
        const bool ignores = r->ranks != NULL && r->totals->n_interrupted == 0;
        if (ignores) {
            keep_handlers(r);
        }
        for (int i = 0; i < r->n_signals; i++) {
            uv_close((uv_handle_t *)&r->signals[i], NULL);
        }
        if (ignores) {
            ignore_first_signal();
        }
        if (r->watches_ranks) {
            ranks_watch(r->ranks, NULL, NULL);
            uv_close((uv_handle_t *)&r->rank_lost, NULL);
        }
    }
}

static bool has_place(const struct runner *r)
{
    return r->engine.n_jobs < r->engine.max_jobs;
}

/* Starts jobs for what was found, looks for more, or ends. */
static void feed(struct runner *r)
{
    if (r->feeding) {
        return;
    }
    while (r->n_taken < r->n_found && (r->interrupted || has_place(r))) {
        struct found *f = &r->found[r->n_taken++];
        if (r->interrupted) {
            r->totals->n_left += f->code == STATUS_OK;
            job_input_free(&f->input);
        } else if (f->code == STATUS_OK) {
            f->code = result_names_add(&r->results, &f->input); /* also with --force */
            if (f->code == STATUS_OK) {
                job_start(&r->context, &f->input);
            } else {
                f->message = xstrdup(status_message());
            }
        }
        if (f->code != STATUS_OK && !r->interrupted) {
            report_refused(r, f);
        }
        free(f->message);
        f->message = NULL;
    }
    if (r->n_taken < r->n_found) {
        return;
    }
    r->n_found = r->n_taken = 0;
    if (inputs_is_lent(r->inputs) && r->engine.n_jobs > 0) {
        return; /* the end of the job that reads of an archive comes here */
    }
    if (!r->inputs_ended && !r->interrupted && r->ranks != NULL && !has_place(r)) {
        return; /* another rank may have one */
    }
    if (!r->inputs_ended && (!r->interrupted || r->ranks == NULL)) { /* or those left are counted */
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

/* --- signals, and ranks that are lost --------------------------------------------------------- */

static void stop_counting(uv_timer_t *timer)
{
    struct runner *r = timer->data;
    r->totals->may_be_more = true;
    inputs_stop(r->inputs);
}

static void interrupt(struct runner *r, const char *why)
{
    r->interrupted = true;
    if (r->ranks != NULL) {
        inputs_stop(r->inputs);
        ranks_stop(r->ranks);
    } else {
        uv_timer_start(&r->progress_timer, stop_counting, COUNTED_MS, 0);
    }
    for (size_t i = 0; i < r->engine.n_jobs; i++) {
        job_cancel(job_in_flight(&r->engine, i), STATUS_CANCELLED, why);
    }
    feed(r);
}

/* Once: cancel. Twice: the handler is gone, the system ends the process. */
static void on_signal(uv_signal_t *signal, int number)
{
    struct runner *r = signal->data;
    r->totals->n_interrupted = 1;
    r->totals->signal = number;
    uv_signal_stop(&r->signals[0]);
    uv_signal_stop(&r->signals[1]);
    interrupt(r, "stopped by a signal");
}

static void on_rank_lost(uv_async_t *handle)
{
    interrupt(handle->data, "stopped, since a rank is lost");
}

/* On a thread of the ranks'. */
static void wake_for_lost(void *user)
{
    struct runner *r = user;
    uv_async_send(&r->rank_lost);
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
    const size_t n_shares = r->ranks != NULL ? ranks_size(r->ranks) : r->settings->shard.count;
    r->total_bytes = r->size_found / (n_shares > 0 ? n_shares : 1);
    r->sizing = false;
    feed(r);
}

static enum status watch_ranks(struct runner *r)
{
    const int failed = uv_async_init(&r->loop, &r->rank_lost, on_rank_lost);
    if (failed != 0) {
        return status_fail(STATUS_IO, "cannot watch the ranks: %s", uv_strerror(failed));
    }
    r->watches_ranks = true;
    r->rank_lost.data = r;
    ranks_watch(r->ranks, wake_for_lost, r);
    return STATUS_OK;
}

/* The handler is gone with the signal itself, not only once the loop has heard of it, which may be
 * printing to a pipe that nobody reads; but for ranks, which mpirun sends several. */
static enum status watch_signals(struct runner *r)
{
    static const int numbers[2] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        int failed = uv_signal_init(&r->loop, &r->signals[i]);
        if (failed == 0) {
            r->n_signals++;
            r->signals[i].data = r;
            failed = r->ranks == NULL
                         ? uv_signal_start_oneshot(&r->signals[i], on_signal, numbers[i])
                         : uv_signal_start(&r->signals[i], on_signal, numbers[i]);
        }
        if (failed != 0) {
            return status_fail(STATUS_IO, "cannot watch for signals: %s", uv_strerror(failed));
        }
    }
    return STATUS_OK;
}

static enum status start_handles(struct runner *r)
{
    if (r->ranks != NULL) {
        STATUS_TRY(watch_ranks(r));
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
        .cpu_s = meter_cpu_s(compute_s, e->n_threads, all_s, e->n_cpus),
        .device_s = device.device_s - r->device.device_s,
        .upload_s = device.upload_s - r->device.upload_s,
        .download_s = device.download_s - r->device.download_s,
        .disk_in_s = meter_s(&e->disks.in, now),
        .disk_out_s = meter_s(&e->disks.out, now)};
    t->efficiency = meter_efficiency(&times, t->wall_s);
    tell_places(t, e);
}

static bool claim(void *ranks, uint64_t key)
{
    return ranks_claim(ranks, key);
}

/* Makes the totals those of all ranks. `code`: whether this one could begin; if so it has an
 * engine, by which it computes for others until they are done, unless it is to stop. */
static enum status add_up_ranks(struct ranks *ranks, struct engine *e, enum status code,
                                struct runner_totals *t)
{
    const struct ranks_help help = {.help = rank_help, .user = e};
    const bool helps = code == STATUS_OK && t->n_interrupted == 0;
    t->is_joint = true;
    if (code != STATUS_OK) {
        log_error("%s", status_message());
        ignore_first_signal();
    }
    t->n_unable = code != STATUS_OK;
    STATUS_TRY(ranks_sum(ranks, t->sums, helps ? &help : NULL));
    t->n_ranks = ranks_size(ranks);
    return STATUS_OK;
}

/* How many jobs it has cost, and how to go on. */
static void tell_stopped(const struct settings *s, bool check_only, const struct runner_totals *t)
{
    char left[96] = "";
    bool again = !check_only;
    for (size_t i = 0; i < s->n_inputs; i++) {
        again = again && !settings_is_stdin(s->inputs[i]);
    }
    if (t->n_left > 0) {
        snprintf(left, sizeof(left), " before %s%zu job%s begun",
                 t->may_be_more ? "more than " : "", t->n_left, t->n_left == 1 ? " was" : "s were");
    }
    if (t->n_interrupted > 0) {
        log_warning("stopped by a signal%s%s", left,
                    !again      ? ""
                    : s->resume ? "; the same command goes on with the rest"
                                : "; the same command with --resume goes on with the rest");
    }
}

/* This process's own work, and what it does for others. */
static enum status work(const struct settings *settings, struct ranks *ranks, bool check_only,
                        const struct runner_listener *listener, struct runner_totals *totals)
{
    const struct inputs_share share = {.find = claim, .user = ranks, .joint = true};
    xalloc_set_end(1,
                   "no memory is left: the run ends; the results that are there are whole. Give it "
                   "a lower --memory or fewer --jobs, and --resume");
    struct runner *r = xcalloc(1, sizeof(*r));
    r->settings = settings;
    r->ranks = ranks;
    r->totals = totals;
    r->listener = listener;
    r->context = (struct job_context){.engine = &r->engine,
                                      .settings = settings,
                                      .out_fd = -1,
                                      .check_only = check_only,
                                      .keeps_states = !check_only,
                                      .ended = on_ended,
                                      .user = r};
    int failed = uv_loop_init(&r->loop);
    if (failed != 0) {
        free(r);
        return status_fail(STATUS_IO, "cannot begin: %s", uv_strerror(failed));
    }
    uv_timer_init(&r->loop, &r->progress_timer);
    r->progress_timer.data = r;
    bool made = false; /* the output folder */
    enum status code = watch_signals(r);
    if (code != STATUS_OK || (code = engine_open(&r->loop, settings, &r->engine)) != STATUS_OK) {
        goto close_loop;
    }
    r->engine.ranks = ranks;
    if (ranks == NULL) { /* MPI's memory is not leat's */
        engine_limit_memory(&r->engine);
    }
    if (!check_only) {
        code = publish_open_output(settings->output, &r->context.out_fd, &made);
        if (code != STATUS_OK) {
            goto close_engine;
        }
        publish_sweep(r->context.out_fd);
    }
    r->inputs = inputs_open(settings, ranks != NULL ? &share : NULL, r->context.out_fd);
    if (settings->shard.count > 0) {
        log_info("share %zu of %zu of the inputs", settings->shard.index + 1,
                 settings->shard.count);
    }
    note_begin(r);
    code = start_handles(r);
    if (code == STATUS_OK) {
        feed(r);
        uv_run(&r->loop, UV_RUN_DEFAULT);
    }
    log_progress(NULL);
    add_up(r);
    if (ranks != NULL && code == STATUS_OK) {
        code = add_up_ranks(ranks, &r->engine, code, totals);
    }
    inputs_free(r->inputs);
    result_names_free(&r->results);
    publish_close_output(settings->output, r->context.out_fd, made);
close_engine:
    engine_close(&r->engine);
close_loop:
    close_handles(r);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    uv_loop_close(&r->loop);
    free(r);
    return code;
}

/* --- ranks ------------------------------------------------------------------------------------ */

/* Each of the processes that another MPI's mpirun has started would take all inputs. */
static enum status refuse_launcher(const struct rank_transport *transport, struct ranks *alone)
{
    char mpi[STATUS_MESSAGE_BYTES];
    transport->describe(mpi, sizeof(mpi));
    STATUS_TRY(ranks_sum(alone, (uint64_t[RANKS_TOTALS]){0}, NULL)); /* so that it leaves well */
    ranks_close(alone);
    return status_fail(STATUS_UNSUPPORTED,
                       "--mpi: %zu processes have been started together, but %s, which leat_mpi.so "
                       "is built for, finds this one alone: start them by its own mpirun, or by "
                       "srun --mpi=pmix",
                       launcher_processes(), mpi);
}

static enum status open_ranks(const struct settings *settings, bool check_only, struct ranks **out)
{
    const struct rank_transport *transport;
    *out = NULL;
    if (!settings->mpi) {
        return STATUS_OK;
    }
    if (ranks_load(&transport) != STATUS_OK) {
        char why[STATUS_MESSAGE_BYTES];
        snprintf(why, sizeof(why), "%s", status_message());
        return status_fail(STATUS_UNSUPPORTED,
                           "--mpi: %s; build leat where mpicc is found (-DLEAT_MPI=ON), or share "
                           "the inputs with --shard",
                           why);
    }
    const struct ranks_start start = {.timeout_s = settings->mpi_timeout_s,
                                      .version = LEAT_VERSION,
                                      .digest = settings_digest(settings) + check_only};
    STATUS_TRY(ranks_open(transport, &start, out));
    if (ranks_size(*out) == 1 && launcher_processes() > 1) {
        const enum status code = refuse_launcher(transport, *out);
        *out = NULL;
        return code;
    }
    return STATUS_OK;
}

static int exit_status_of(const struct runner_totals *t)
{
    const size_t n_failed = t->n_failed + t->n_unable;
    if (t->n_interrupted > 0) {
        return t->n_ranks > 1 ? 1 : COMMANDS_SIGNALLED + t->signal;
    }
    const bool nothing = t->n_done + t->n_skipped == 0 && t->n_failed == t->n_absent;
    if (nothing && (n_failed > 0 || !t->shared)) {
        return 2;
    }
    return n_failed == 0 ? 0 : 1;
}

enum status runner_run(const struct settings *settings, bool check_only,
                       const struct runner_listener *listener, int *exit_status)
{
    struct runner_totals totals = {.n_ranks = 1, .shared = settings->shard.count > 0};
    struct ranks *ranks;
    enum status code = open_ranks(settings, check_only, &ranks);
    if (code == STATUS_CANCELLED) { /* rank 0 has said why */
        *exit_status = 2;
        return STATUS_OK;
    }
    STATUS_TRY(code);
    const uint64_t began = thread_pool_now_ns();
    code = work(settings, ranks, check_only, listener, &totals);
    if (ranks != NULL) {
        code = totals.is_joint ? code : add_up_ranks(ranks, NULL, code, &totals);
        totals.wall_s = (double)(thread_pool_now_ns() - began) * 1e-9;
    }
    if (code == STATUS_OK) {
        *exit_status = exit_status_of(&totals);
        if (listener->all_ended != NULL && (ranks == NULL || ranks_own(ranks) == 0)) {
            listener->all_ended(listener->user, &totals);
        }
        if (ranks == NULL || ranks_own(ranks) == 0) {
            tell_stopped(settings, check_only, &totals);
        }
    }
    (void)fflush(stdout); /* when the ranks part, any of them may be ended */
    ranks_close(ranks);
    return code;
}

void runner_tell_failure(const struct job_report *report)
{
    char *const shown = xcalloc(4 * strlen(report->path) + 1, 1); /* as messages have it */
    excerpt_escape(shown, report->path);
    if (strstr(report->message, report->path) != NULL || strstr(report->message, shown) != NULL) {
        log_error("%s", report->message);
    } else {
        log_error("%s: %s", report->path, report->message);
    }
    free(shown);
}

void runner_print(const struct job_report *r, const char *output)
{
    json_t *const o =
        json_pack("{s:o, s:s}", "input", text_json(r->path), "status", status_name(r->code));
    const bool is_skipped = r->code == STATUS_SKIPPED;
    if (output != NULL && (r->code == STATUS_OK || is_skipped)) {
        char *const path = xasprintf("%s/%s", output, r->result);
        json_object_set_new(o, "output", text_json(path));
        free(path);
    }
    if (r->code == STATUS_OK) {
        json_object_update(o, (json_t *)r->manifest);
    } else {
        json_object_set_new(o, is_skipped ? "reason" : "error", text_json(r->message));
    }
    if (r->code != STATUS_OK && !is_skipped) {
        json_object_set_new(o, "meaning", json_string(status_text(r->code)));
    }
    runner_print_json(o);
    json_decref(o);
    fflush(stdout);
}

void runner_print_json(const json_t *value)
{
    char *const text = xalloc_checked(json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17)));
    if (isatty(STDOUT_FILENO)) {
        log_progress(NULL); /* which stands in the line */
    }
    puts(text);
    free(text);
}
