/*
 * worker_archive - see worker_archive.h. The walk through the archive is a task of its own, which
 * finds one job at a time; the engine's places limit how many are in flight.
 */
#include "pipeline/worker/worker_archive.h"

#include "formats/base/io_watch.h"
#include "formats/base/json.h"
#include "pipeline/engine/job.h"
#include "pipeline/inputs/inputs.h"
#include "pipeline/inputs/result_names.h"
#include "pipeline/names/text.h"
#include "pipeline/worker/worker_protocol.h"
#include "pipeline/worker/worker_routes.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAILURES_LISTED = 1000 }; /* millions of refused entries take a few packed bytes */

struct worker_archive {
    struct worker_archive_order order;
    char *path;               /* as messages name it */
    bool alone;               /* its jobs run one after the other */
    struct settings settings; /* of the members */
    struct job_context context;
    struct inputs *inputs, *opened; /* NULL: not yet open; opened: by the task */
    int part_fd;
    char *found_at;
    struct engine_task task;
    struct thread_pool_account account; /* of the task */
    bool busy, walked;                  /* busy: the task runs; walked: all has been found */
    bool has_found;
    struct job_input found; /* by the task, with what stands in it and why it is no job */
    enum status found_code;
    char *found_message;
    struct result_names results;
    json_t *entries, *outputs;
    size_t n_jobs, n_done, n_failed;
    uint64_t input_bytes, begun_ms;
    enum status code; /* of the whole */
    char *message;
};

static void fail(struct worker_archive *a, enum status code, const char *why)
{
    if (a->code == STATUS_OK) {
        a->code = code;
        a->message = xstrdup(why);
        if (a->inputs != NULL) {
            inputs_stop(a->inputs);
        }
    }
}

uint64_t worker_archive_bytes(const struct worker_archive *a)
{
    return a->inputs != NULL ? inputs_archive_bytes(a->inputs) : 0;
}

bool worker_archive_is_at_work(const struct worker_archive *a, uint64_t *n_moves)
{
    const struct engine *e = a->order.engine;
    *n_moves = a->n_done + a->n_failed;
    bool is = thread_pool_account_is_at_work(&a->account, n_moves);
    for (size_t i = 0; i < e->n_jobs; i++) {
        const struct job *const job = job_in_flight(e, i);
        uint64_t n = 0;
        if (job_context_user(job) == a) {
            is = job_is_at_work(job, &n) || is;
            *n_moves += n;
        }
    }
    return is;
}

void worker_archive_stop(struct worker_archive *a, const char *why)
{
    fail(a, STATUS_CANCELLED, why);
    worker_archive_step(a);
}

/* --- what becomes of the files ---------------------------------------------------------------- */

/* Whether it is the fault of one file. What the device fails with ends the worker. */
static bool is_own(enum status code)
{
    const enum spool_outcome outcome = spool_outcome_of(code);
    return outcome == SPOOL_BAD_INPUT || (outcome == SPOOL_INTERNAL && code != STATUS_DEVICE);
}

/* What concerns the archive itself concerns all. */
static void note_failure(struct worker_archive *a, const char *path, enum status code,
                         const char *text)
{
    if (!is_own(code) || strcmp(path, a->path) == 0) {
        fail(a, code, text);
        return;
    }
    if (a->n_failed++ >= FAILURES_LISTED) {
        return;
    }
    json_array_append_new(a->entries, json_pack("{s:o, s:s, s:o}", "name", text_json(path), "code",
                                                status_name(code), "text", text_json(text)));
}

static void note_success(struct worker_archive *a, const struct job_report *report)
{
    const json_t *outputs = json_object_get(report->manifest, "outputs");
    size_t i;
    json_t *output;
    a->n_done++;
    if (json_array_size(a->outputs) > WORKER_OUTPUTS_MAX) {
        outputs = NULL; /* more are not announced: see worker_pack_done() */
    }
    json_array_foreach(outputs, i, output)
    {
        json_array_append_new(
            a->outputs, json_pack("{s:o, s:O, s:O?}", "name",
                                  json_sprintf("%s/%s", report->result,
                                               json_string_value(json_object_get(output, "name"))),
                                  "bytes", json_object_get(output, "bytes"), "crc32",
                                  json_object_get(output, "crc32")));
    }
    json_array_append_new(a->entries,
                          json_pack("{s:o, s:s, s:o}", "name", text_json(report->path), "code",
                                    status_name(STATUS_OK), "result", text_json(report->result)));
}

static void on_waits(void *user, const struct job *job, bool waits, double deadline_s)
{
    const struct worker_archive *a = user;
    a->order.waits(a->order.user, job_path(job), waits, deadline_s);
}

static void on_ended(void *user, const struct job_report *report)
{
    struct worker_archive *a = user;
    a->n_jobs--;
    a->input_bytes += report->input_bytes;
    if (report->code == STATUS_OK) {
        note_success(a, report);
    } else {
        note_failure(a, report->path, report->code, report->message);
    }
    a->order.member_ended(a->order.user, report->path, report->manifest);
    a->order.went_on(a->order.user);
    worker_archive_step(a);
}

/* --- the index -------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const json_t *const *x = a, *const *y = b;
    return strcmp(json_string_value(json_object_get(*x, "name")),
                  json_string_value(json_object_get(*y, "name")));
}

/* In the order of names, whichever of them was done first. */
static json_t *sorted(json_t *entries)
{
    const size_t n = json_array_size(entries);
    json_t **const all = xcalloc(n, sizeof(*all)), *const list = json_array();
    for (size_t i = 0; i < n; i++) {
        all[i] = json_array_get(entries, i);
    }
    qsort(all, n, sizeof(*all), by_name);
    for (size_t i = 0; i < n; i++) {
        json_array_append(list, all[i]);
    }
    free(all);
    return list;
}

static enum status write_index(struct worker_archive *a)
{
    json_t *const message = a->order.request->message;
    json_t *const index = json_pack("{s:i, s:s, s:O, s:o, s:o}", "schema", 1, "leat", LEAT_VERSION,
                                    "job", json_object_get(message, "id"), "archive",
                                    text_json(a->path), "entries", sorted(a->entries));
    if (a->n_failed > FAILURES_LISTED) {
        json_object_set_new(index, "failures_not_listed",
                            json_integer((json_int_t)(a->n_failed - FAILURES_LISTED)));
    }
    char *const text = xalloc_checked(json_dumps(index, JSON_INDENT(2)));
    json_decref(index);
    enum status code = STATUS_OK;
    const int fd = openat(a->part_fd, "result.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 || !io_watch_write_all(fd, text, strlen(text)) || io_watch_close(fd) != 0) {
        code = status_fail_errno(errno, "cannot write result.json");
    }
    free(text);
    return code;
}

static enum status finish_work(void *owner)
{
    struct worker_archive *a = owner;
    return a->code == STATUS_OK && a->n_done > 0 ? write_index(a) : STATUS_OK;
}

static void archive_free(struct worker_archive *a)
{
    inputs_free(a->inputs);
    settings_free(&a->settings);
    result_names_free(&a->results);
    json_decref(a->entries);
    json_decref(a->outputs);
    free(a->found_message);
    free(a->message);
    free(a->path);
    free(a->found_at);
    if (a->part_fd >= 0) {
        close(a->part_fd);
    }
    free(a);
}

/* Of an archive that gave nothing, the first reason. */
static void fail_if_empty(struct worker_archive *a)
{
    if (a->code == STATUS_OK && a->n_done == 0) {
        const json_t *first = json_array_get(a->entries, 0);
        const char *text = json_string_value(json_object_get(first, "text"));
        const char *code = json_string_value(json_object_get(first, "code"));
        fail(a, code != NULL ? worker_unpack_code(code) : STATUS_BAD_INPUT,
             text != NULL ? text : "the archive holds nothing");
    }
}

static json_t *pack_done(const struct worker_archive *a)
{
    const double seconds = (double)(uv_now(a->order.engine->loop) - a->begun_ms) * 1e-3;
    json_t *const warnings = json_array();
    if (a->n_failed > 0) {
        json_array_append_new(
            warnings,
            json_sprintf("%zu of its files failed; result.json says which and why", a->n_failed));
    }
    json_t *const done =
        worker_pack_done(a->order.request->id, seconds, a->input_bytes, a->outputs, warnings);
    json_decref(warnings);
    return done;
}

static void finish_finished(struct engine_task *task)
{
    struct worker_archive *a = task->owner;
    if (task->code != STATUS_OK) {
        fail(a, task->code, task->message);
    }
    engine_task_clear(task);
    fail_if_empty(a);
    a->order.ended(a->order.user, a->code, a->message != NULL ? a->message : "",
                   a->code == STATUS_OK ? pack_done(a) : NULL);
    archive_free(a);
}

/* --- the walk --------------------------------------------------------------------------------- */

static enum status open_archive(struct worker_archive *a)
{
    int fd;
    STATUS_TRY(worker_request_archive(a->order.request, &fd, &a->part_fd, &a->found_at));
    a->opened = inputs_open_archive(&a->settings, a->path, a->found_at, fd, a->part_fd);
    return STATUS_OK;
}

static enum status find_work(void *owner)
{
    struct worker_archive *a = owner;
    if (a->inputs == NULL) {
        a->found_code = open_archive(a);
        a->has_found = a->found_code != STATUS_OK;
    } else {
        a->found_code = inputs_next(a->inputs, &a->found, &a->walked);
        a->walked = a->walked && a->found_code == STATUS_OK;
        a->has_found = !a->walked;
    }
    if (a->found_code != STATUS_OK) {
        a->found_message = xstrdup(status_message());
    }
    return STATUS_OK;
}

static void find_finished(struct engine_task *task)
{
    struct worker_archive *a = task->owner;
    engine_task_clear(task);
    a->busy = false;
    a->inputs = a->opened;
    a->context.out_fd = a->part_fd;
    worker_archive_step(a);
}

static enum status begin_job(struct worker_archive *a, const char *path)
{
    const struct worker_archive_order *o = &a->order;
    a->settings.deadline_s = o->settings->deadline_s; /* as it is now */
    const enum status code = o->begins(o->user, path, a->settings.deadline_s);
    if (code == STATUS_OK) {
        job_start(&a->context, &a->found);
    }
    a->n_jobs += code == STATUS_OK;
    return code;
}

static void take_found(struct worker_archive *a)
{
    char *const path = xstrdup(a->found.parts[0].path != NULL ? a->found.parts[0].path : a->path);
    a->has_found = false;
    if (a->code == STATUS_OK && a->found_code == STATUS_OK) {
        a->found_code = result_names_add(&a->results, &a->found);
        if (a->found_code == STATUS_OK) {
            a->found_code = begin_job(a, path);
        }
        if (a->found_code != STATUS_OK) {
            note_failure(a, path, a->found_code, status_message());
        }
    } else if (a->code == STATUS_OK) {
        note_failure(a, path, a->found_code, a->found_message);
    }
    free(a->found_message);
    a->found_message = NULL;
    job_input_free(&a->found);
    free(path);
}

static void start(struct worker_archive *a, enum engine_lane lane, enum status (*work)(void *owner),
                  void (*finished)(struct engine_task *))
{
    a->busy = true;
    a->task.owner = a;
    a->task.work = work;
    a->task.finished = finished;
    engine_start(a->order.engine, &a->task, lane, &a->account);
}

void worker_archive_step(struct worker_archive *a)
{
    const struct engine *e = a->order.engine;
    while (!a->busy) {
        const bool may_walk = !a->walked && a->code == STATUS_OK;
        const bool has_place = engine_has_place(e) && !(a->alone && a->n_jobs > 0);
        const bool waits = a->has_found ? !has_place && a->code == STATUS_OK
                                        : a->n_jobs > 0 && (inputs_is_lent(a->inputs) || !may_walk);
        if (waits) {
            return;
        }
        if (a->has_found) {
            take_found(a);
        } else if (may_walk) {
            start(a, LANE_READ, find_work, find_finished);
        } else {
            start(a, LANE_WRITE, finish_work, finish_finished);
        }
    }
}

/* --- the begin -------------------------------------------------------------------------------- */

struct worker_archive *worker_archive_begin(const struct worker_archive_order *order)
{
    struct worker_archive *const a = xcalloc(1, sizeof(*a));
    const json_t *const message = order->request->message;
    a->order = *order;
    a->part_fd = -1;
    a->begun_ms = uv_now(order->engine->loop);
    worker_unpack_routes(message, &a->settings);
    a->settings.unpack = order->settings->unpack;
    a->settings.memory = order->settings->memory;
    a->settings.bundle = order->settings->bundle;
    a->settings.inputs = xcalloc(1, sizeof(char *));
    a->settings.inputs[0] = xstrdup("in");
    a->settings.n_inputs = 1;
    a->settings.output = xstrdup(""); /* no folder that inputs lie in */
    a->path = worker_request_path(order->request, 0);
    a->alone = json_is_true(json_object_get(message, "alone"));
    a->entries = json_array();
    a->outputs = json_array();
    result_names_reserve(&a->results, "result.json"); /* which is the index */
    a->context = (struct job_context){.engine = order->engine,
                                      .settings = &a->settings,
                                      .ended = on_ended,
                                      .waits = on_waits,
                                      .user = a};
    return a;
}
