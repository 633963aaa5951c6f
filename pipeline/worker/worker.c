/*
 * worker - `leat worker`: the process in which jobs of the service are computed. It alone opens
 * what users dropped, and a device's driver; the service sends it jobs (worker_protocol.h) and
 * survives whatever becomes of it.
 *
 * Jobs that come while as many are in flight as the engine takes wait here, so that a place that
 * becomes free is filled at once. One place more is for those that are short, which shows when
 * their heads have been read: one that is not goes back to those that wait. A device's error is the
 * end of the process, since a CUDA context does not recover from some. Signals that mean the
 * service as a whole are not for the worker: it ends when told, when the service has gone, or is
 * killed.
 */
#include "pipeline/worker/worker.h"
#include "formats/base/file_name.h"
#include "formats/base/log.h"
#include "formats/result/cairo_calls.h"
#include "pipeline/engine/job.h"
#include "pipeline/inputs/group.h"
#include "pipeline/names/input_name.h"
#include "pipeline/names/projection.h"
#include "pipeline/names/text.h"
#include "pipeline/worker/worker_archive.h"
#include "pipeline/worker/worker_fault.h"
#include "pipeline/worker/worker_protocol.h"
#include "pipeline/worker/worker_routes.h"
#include "pipeline/worker/worker_sandbox.h"
#include "watch/files/beneath.h"
#include "watch/spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct task {
    struct worker *worker;
    json_t *message;                /* {"do": "job"}; table options borrow from it */
    const char *id;                 /* in it */
    struct job *job;                /* NULL: not begun, or an archive */
    struct worker_archive *archive; /* that is worked on; NULL: none */
    bool is_long;                   /* the place that short ones have is not for it */
    uint64_t begun_ms;
    struct task *next;
};

struct worker {
    uv_loop_t loop;
    struct worker_link link;
    uv_timer_t alive;
    struct settings settings;
    struct engine engine;
    struct job_context context;
    int work_fd;
    char owner[SPOOL_OWNER_BYTES];   /* whose parts it fills */
    bool is_open, is_draining;       /* draining: no job is begun any more */
    bool is_ending;                  /* nor does one go on */
    struct task *tasks, **last_task; /* oldest first; those that were begun stand in front */
    size_t n_tasks;
    struct task *turn; /* the one that may have a place next; NULL: the first */
    /* What jobs that have ended used, and the service has not been told yet. */
    double lane_s[ENGINE_LANES], cpu_s, device_s, upload_s, download_s;
    int result;
};

static void say_failed(struct worker *w, const char *id, enum status code, const char *text)
{
    worker_link_send(&w->link, json_pack("{s:s, s:s, s:s, s:o}", "is", "failed", "id", id, "code",
                                         status_name(code), "text", worker_pack_name(text)));
}

/* --- jobs ------------------------------------------------------------------------------------- */

static enum status open_file(const struct worker *w, const char *id, const json_t *name, int *fd)
{
    struct stat st;
    char path[SPOOL_ID_BYTES + 8 + 256];
    char *file = worker_unpack_name(name);
    *fd = -1;
    if (file == NULL && json_is_string(name)) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the name of a file");
    }
    if (file == NULL || !beneath_is_name(file) || !beneath_is_name(id)) {
        free(file);
        return status_fail(STATUS_INTERNAL, "a job came without the names of its files");
    }
    snprintf(path, sizeof(path), "%s/in/%s", id, file);
    free(file);
    const enum status code = beneath_open_file(w->work_fd, path, &st, fd);
    /* It was there when the job was claimed: the job is not at fault. */
    return code == STATUS_NOT_FOUND ? STATUS_INTERNAL : code;
}

static const json_t *files_of(const struct task *t)
{
    return json_object_get(t->message, "files");
}

/* A name in the message, for free(). */
static enum status unpack_name(const json_t *packed, char **out)
{
    *out = worker_unpack_name(packed);
    return *out != NULL             ? STATUS_OK
           : json_is_string(packed) ? status_fail(STATUS_NO_MEMORY, "no memory for a name")
                                    : status_fail(STATUS_INTERNAL, "a job came without a name");
}

/* What the job's file is called in messages: "in/FOLDER/NAME"; for free(). */
static enum status make_path(const struct task *t, const char *name, char **out)
{
    char *folder;
    *out = NULL;
    STATUS_TRY(unpack_name(json_object_get(t->message, "folder"), &folder));
    const int n = asprintf(out, "in/%s%s%s", folder, *folder != '\0' ? "/" : "", name);
    free(folder);
    if (n < 0) {
        *out = NULL;
        return status_fail(STATUS_NO_MEMORY, "no memory for a path");
    }
    return STATUS_OK;
}

/* The file of the job that lies beside its part `name` and ends so, for free(), and where it stands
 * in the message; NULL: none. */
static enum status find_beside(const struct task *t, const char *name, const char *ending,
                               const json_t **packed, char **out)
{
    size_t i, most = 0;
    json_t *file;
    *packed = NULL;
    *out = NULL;
    json_array_foreach(files_of(t), i, file)
    {
        char *other;
        STATUS_TRY(unpack_name(file, &other));
        const size_t n = file_name_ends(other, ending) ? group_fits(other, name) : 0;
        if (n > most) {
            free(*out);
            *out = other;
            *packed = file;
            most = n;
        } else {
            free(other);
        }
    }
    return STATUS_OK;
}

static enum status open_beside(const struct worker *w, const struct task *t, const char *name,
                               struct job_part *part)
{
    const json_t *packed;
    char *beside;
    int fd;
    STATUS_TRY(find_beside(t, name, INPUT_NAME_MASK, &packed, &beside));
    if (beside != NULL) {
        const enum status code =
            status_fail(STATUS_BAD_INPUT,
                        "%s: %s is not read: write it into the grid as NODATA (leat check "
                        "says how), or drop the grid again without it",
                        part->path, beside);
        free(beside);
        return code;
    }
    STATUS_TRY(find_beside(t, name, ".prj", &packed, &beside));
    if (beside == NULL || !group_is_asc(name)) {
        free(beside);
        return STATUS_OK;
    }
    free(beside);
    STATUS_TRY(open_file(w, t->id, packed, &fd));
    const enum status code = projection_read(fd, part->path, &part->prj);
    close(fd);
    return code;
}

/* On the lane that reads. */
static enum status open_parts(const void *task, struct job_input *input)
{
    const struct task *t = task;
    enum status code = STATUS_OK;
    for (size_t i = 0; i < input->n_parts && code == STATUS_OK; i++) {
        const json_t *file = json_array_get(files_of(t), i);
        char *name;
        STATUS_TRY(unpack_name(file, &name));
        code = open_file(t->worker, t->id, file, &input->parts[i].fd);
        if (code == STATUS_OK && input->settings.parts[i]->kind == STAGE_GRID) {
            code = open_beside(t->worker, t, name, &input->parts[i]);
        }
        free(name);
    }
    return code;
}

static enum status name_part(const struct task *t, size_t i, struct job_part *part)
{
    char *name;
    STATUS_TRY(unpack_name(json_array_get(files_of(t), i), &name));
    const enum status code = make_path(t, name, &part->path);
    part->name = code == STATUS_OK ? part->path + strlen("in/") : NULL;
    free(name);
    return code;
}

/* The result has the job's id for its name until it is published; what lies in it is named after
 * the stem. */
static enum status unpack_settings(const struct task *t, struct job_settings *out)
{
    char *stem;
    STATUS_TRY(unpack_name(json_object_get(t->message, "stem"), &stem));
    const enum status code = worker_unpack_settings(t->message, stem, out);
    free(stem);
    if (code == STATUS_OK) {
        out->result = strdup(t->id);
    }
    return code != STATUS_OK || out->result != NULL
               ? code
               : status_fail(STATUS_NO_MEMORY, "no memory for a name");
}

/* What the engine needs, from the message. */
static enum status make_input(const struct worker *w, const struct task *t, struct job_input *input)
{
    *input = (struct job_input){.open = open_parts, .opener = t};
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        input->parts[i].fd = -1;
    }
    STATUS_TRY(unpack_settings(t, &input->settings));
    if (json_array_size(files_of(t)) < input->settings.n_parts) {
        return status_fail(STATUS_INTERNAL, "a job came with %zu files",
                           json_array_size(files_of(t)));
    }
    for (size_t i = 0; i < input->settings.n_parts; i++) {
        STATUS_TRY(name_part(t, i, &input->parts[i]));
        input->n_parts++;
    }
    STATUS_TRY(worker_fault(input->parts[0].path));
    input->part_folder = strdup(spool_part(w->owner, t->id).name);
    const char *first = json_string_value(json_object_get(t->message, "first"));
    input->id = strdup(first != NULL ? first : t->id);
    return input->part_folder != NULL && input->id != NULL
               ? STATUS_OK
               : status_fail(STATUS_NO_MEMORY, "no memory for a job");
}

static void forget(struct worker *w, struct task *task)
{
    struct task **at = &w->tasks;
    while (*at != task) {
        at = &(*at)->next;
    }
    *at = task->next;
    if (*at == NULL) {
        w->last_task = at;
    }
    w->turn = w->turn == task ? task->next : w->turn;
    w->n_tasks--;
    json_decref(task->message);
    free(task);
}

static bool has_archive(const struct worker *w)
{
    const struct task *t = w->tasks;
    while (t != NULL && t->archive == NULL) {
        t = t->next;
    }
    return t != NULL;
}

static void end_if_idle(struct worker *w)
{
    if (w->is_ending && w->engine.n_jobs == 0 && !has_archive(w) &&
        !uv_is_closing((uv_handle_t *)&w->alive)) {
        uv_close((uv_handle_t *)&w->alive, NULL);
        uv_stop(&w->loop);
    }
}

/* What is not begun goes back: that job, or (NULL) all. */
static void send_back(struct worker *w, const char *id, const char *why)
{
    struct task *next;
    for (struct task *t = w->tasks; t != NULL; t = next) {
        next = t->next;
        if (t->job == NULL && t->archive == NULL && (id == NULL || strcmp(t->id, id) == 0)) {
            say_failed(w, t->id, STATUS_CANCELLED, why);
            forget(w, t);
        }
    }
}

/* No job is begun any more. */
static void begin_drain(struct worker *w, const char *why)
{
    w->is_draining = true;
    send_back(w, NULL, why);
}

/* Nor does one go on: those in flight are cancelled; then the process ends. */
static void begin_end(struct worker *w, enum status code, const char *why)
{
    if (w->is_ending) {
        return;
    }
    w->is_ending = true;
    begin_drain(w, why);
    for (size_t i = 0; i < w->engine.n_jobs; i++) {
        job_cancel(job_in_flight(&w->engine, i), code, why);
    }
    for (struct task *t = w->tasks; t != NULL; t = t->next) {
        if (t->archive != NULL) {
            worker_archive_stop(t->archive, code, why);
        }
    }
    end_if_idle(w);
}

static void fail_task(struct worker *w, struct task *t, enum status code)
{
    say_failed(w, t->id, code, status_message());
    forget(w, t);
    if (code == STATUS_DEVICE) {
        w->result = 1;
        begin_end(w, STATUS_CANCELLED, "the device has failed");
    }
}

static void say_begun(struct worker *w, const struct task *t, bool waits, double deadline_s)
{
    worker_link_send(&w->link, json_pack("{s:s, s:s, s:b, s:f}", "is", "begun", "id", t->id,
                                         "waits", waits, "deadline_s", waits ? 0 : deadline_s));
}

/* Without a deadline while it waits for memory; begun again when it has it. */
static void on_waits(void *user, const struct job *job, bool waits, double deadline_s)
{
    struct worker *w = user;
    struct task *t = w->tasks;
    while (t != NULL && t->job != job) {
        t = t->next;
    }
    if (t != NULL) {
        say_begun(w, t, waits, deadline_s);
    }
}

/* The same of a job within an archive. */
static void member_waits(void *task, const char *path, bool waits, double deadline_s)
{
    const struct task *t = task;
    worker_link_send(&t->worker->link, json_pack("{s:s, s:s, s:o, s:b, s:f}", "is", "begun", "id",
                                                 t->id, "member", worker_pack_name(path), "waits",
                                                 waits, "deadline_s", waits ? 0 : deadline_s));
}

static enum status member_begins(void *task, const char *path, double deadline_s)
{
    member_waits(task, path, false, deadline_s);
    return worker_fault(path);
}

/* Counts what a job that is done has used. */
static void note_busy(struct worker *w, const json_t *manifest)
{
    const json_t *timing = json_object_get(manifest, "timing");
    const json_t *lanes = json_object_get(timing, "lanes");
    const json_t *device = json_object_get(timing, "device");
    for (enum engine_lane i = 0; i < ENGINE_LANES; i++) {
        const json_t *lane = json_object_get(lanes, engine_lane_names[i]);
        w->lane_s[i] += json_number_value(json_object_get(lane, "busy_s"));
    }
    w->cpu_s += json_number_value(json_object_get(timing, "cpu_s"));
    w->device_s += json_number_value(json_object_get(device, "device_s"));
    w->upload_s += json_number_value(json_object_get(device, "upload_s"));
    w->download_s += json_number_value(json_object_get(device, "download_s"));
}

/* That, to be told; it is counted from nothing again. */
static json_t *take_busy(struct worker *w)
{
    json_t *busy = json_pack("{s:f, s:f, s:f, s:f}", "cpu_s", w->cpu_s, "device_s", w->device_s,
                             "upload_s", w->upload_s, "download_s", w->download_s);
    w->cpu_s = w->device_s = w->upload_s = w->download_s = 0;
    for (enum engine_lane i = 0; i < ENGINE_LANES; i++) {
        json_object_set_new(busy, engine_lane_names[i], json_real(w->lane_s[i]));
        w->lane_s[i] = 0;
    }
    return busy;
}

static void member_ended(void *task, const char *path, const json_t *manifest)
{
    const struct task *t = task;
    note_busy(t->worker, manifest);
    worker_link_send(&t->worker->link, json_pack("{s:s, s:s, s:o}", "is", "ended", "id", t->id,
                                                 "member", worker_pack_name(path)));
}

static void begin_jobs(struct worker *w);

static void archive_went_on(void *task)
{
    begin_jobs(((struct task *)task)->worker);
}

static void archive_ended(void *task, enum status code, const char *text, json_t *outputs,
                          size_t n_failed, uint64_t input_bytes)
{
    struct task *t = task;
    struct worker *w = t->worker;
    t->archive = NULL;
    if (code == STATUS_OK) {
        json_t *warnings = json_array();
        if (n_failed > 0 &&
            json_array_append_new(
                warnings, json_sprintf("%zu of its files failed; result.json says which and why",
                                       n_failed)) != 0) {
            json_decref(warnings);
            warnings = NULL;
        }
        worker_link_send(&w->link,
                         worker_pack_done(t->id, (double)(uv_now(&w->loop) - t->begun_ms) * 1e-3,
                                          input_bytes, outputs, warnings));
        json_decref(warnings);
        forget(w, t);
    } else {
        fail_task(w, t, status_set(code, text));
    }
    begin_jobs(w);
    end_if_idle(w);
}

/* On the lane that reads. */
static enum status open_archive(const void *task, int *fd, int *part_fd, char **found_at)
{
    const struct task *t = task;
    const struct worker *w = t->worker;
    const json_t *name = json_array_get(files_of(t), 0);
    char *file;
    STATUS_TRY(unpack_name(name, &file));
    if (asprintf(found_at, "/proc/self/fd/%d/%s/in/%s", w->work_fd, t->id, file) < 0) {
        *found_at = NULL;
    }
    free(file);
    if (*found_at == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a path");
    }
    const struct spool_part part = spool_part(w->owner, t->id);
    *part_fd = openat(w->context.out_fd, part.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *part_fd >= 0 ? open_file(w, t->id, name, fd)
                         : status_fail_errno(errno, "cannot open the part folder '%s'", part.name);
}

/* An archive is worked on as one job, whose own jobs have a deadline each. */
static enum status begin_archive(struct worker *w, struct task *t)
{
    char *path = NULL, *file;
    t->begun_ms = uv_now(&w->loop);
    say_begun(w, t, false, 0);
    enum status code = unpack_name(json_array_get(files_of(t), 0), &file);
    if (code == STATUS_OK) {
        code = make_path(t, file, &path);
    }
    const struct worker_archive_order order = {
        .engine = &w->engine,
        .settings = &w->settings,
        .message = t->message,
        .path = path,
        .alone = json_is_true(json_object_get(t->message, "alone")),
        .open = open_archive,
        .begins = member_begins,
        .waits = member_waits,
        .member_ended = member_ended,
        .went_on = archive_went_on,
        .ended = archive_ended,
        .user = t};
    if (code == STATUS_OK) {
        code = worker_fault(path);
    }
    if (code == STATUS_OK) {
        code = worker_archive_begin(&order, &t->archive);
    }
    free(path);
    free(file);
    return code;
}

static enum status begin_one(struct worker *w, struct task *t)
{
    struct job_input input;
    w->context.short_only = !engine_has_place(&w->engine);
    say_begun(w, t, false, w->settings.deadline_s);
    enum status code = make_input(w, t, &input);
    if (code != STATUS_OK) {
        job_input_free(&input);
    } else {
        job_start(&w->context, &input);
        t->job = job_in_flight(&w->engine, w->engine.n_jobs - 1);
        worker_fault_begun(t->job);
    }
    return code;
}

/* Lets the task have a place of the engine, if it has use for one. */
static void begin_task(struct worker *w, struct task *t)
{
    enum status code = STATUS_OK;
    if (t->archive != NULL) {
        worker_archive_step(t->archive);
    } else if (t->job == NULL && !w->is_draining && worker_is_archive(t->message)) {
        code = begin_archive(w, t);
        if (code == STATUS_OK) {
            worker_archive_step(t->archive);
        }
    } else if (t->job == NULL && !w->is_draining) {
        code = begin_one(w, t);
    }
    if (code != STATUS_OK) {
        fail_task(w, t, code);
    }
}

/* While the place for short ones is free: those that have not been in it, oldest first. */
static void begin_short(struct worker *w)
{
    struct task *next;
    for (struct task *t = w->tasks; t != NULL && !engine_has_place(&w->engine) &&
                                    engine_has_short_place(&w->engine) && !w->is_draining;
         t = next) {
        next = t->next;
        if (t->job == NULL && t->archive == NULL && !t->is_long && !worker_is_archive(t->message)) {
            begin_task(w, t);
        }
    }
}

/* While the engine has places: one for each task in turn, so that archives share them with what was
 * dropped after them. */
static void begin_jobs(struct worker *w)
{
    size_t n_passed = 0; /* since one has taken a place */
    while (engine_has_place(&w->engine) && n_passed < w->n_tasks && !w->is_ending) {
        struct task *t = w->turn != NULL ? w->turn : w->tasks;
        const size_t n_jobs = w->engine.n_jobs;
        w->turn = t->next;
        begin_task(w, t); /* which may have gone then */
        n_passed = w->engine.n_jobs > n_jobs ? 0 : n_passed + 1;
    }
    begin_short(w);
}

static void say_done(struct worker *w, const char *id, const struct job_report *report)
{
    json_t *outputs = json_object_get(report->manifest, "outputs");
    json_t *warnings = json_object_get(report->manifest, "warnings");
    const json_t *timing = json_object_get(report->manifest, "timing");
    worker_link_send(&w->link,
                     worker_pack_done(id, json_number_value(json_object_get(timing, "wall_s")),
                                      report->input_bytes, outputs, warnings));
}

/* A job's result is called by its id here. */
static void on_ended(void *user, const struct job_report *report)
{
    struct worker *w = user;
    struct task *t = w->tasks;
    while (t != NULL && strcmp(t->id, report->result) != 0) {
        t = t->next;
    }
    if (t == NULL) {
        return; /* it was told to have failed already */
    }
    if (report->is_long && !w->is_draining) {
        t->job = NULL;
        t->is_long = true;
        worker_link_send(&w->link, json_pack("{s:s, s:s}", "is", "back", "id", t->id));
    } else if (report->code == STATUS_OK) {
        note_busy(w, report->manifest);
        say_done(w, t->id, report);
        forget(w, t);
    } else {
        fail_task(w, t, status_set(report->code, report->message));
    }
    begin_jobs(w);
    end_if_idle(w);
}

static void add_job(struct worker *w, const json_t *message)
{
    const char *id = json_string_value(json_object_get(message, "id"));
    struct task *t = id != NULL ? calloc(1, sizeof(*t)) : NULL;
    if (w->is_draining || t == NULL) {
        say_failed(w, id != NULL ? id : "", w->is_draining ? STATUS_CANCELLED : STATUS_NO_MEMORY,
                   "the worker ends, or has no memory");
        free(t);
        return;
    }
    t->worker = w;
    t->message = json_incref((json_t *)message);
    t->id = id;
    *w->last_task = t;
    w->last_task = &t->next;
    w->n_tasks++;
    if (!uv_is_active((uv_handle_t *)&w->alive)) {
        uv_timer_again(&w->alive);
    }
    begin_jobs(w);
}

static void on_alive(uv_timer_t *timer)
{
    struct worker *w = timer->data;
    log_report_dropped();
    if (w->tasks == NULL) { /* for the last time, since jobs have ended since the one before */
        uv_timer_stop(timer);
    }
    json_t *bytes = json_object(), *moves = json_object(), *steps = json_object();
    for (struct task *t = w->tasks; t != NULL; t = t->next) {
        uint64_t n = 0, n_moves = 0, n_steps, n_all;
        bool at_work = false;
        if (t->job != NULL) {
            n = job_bytes_read(t->job);
            at_work = job_is_at_work(t->job, &n_moves);
            if (job_steps(t->job, &n_steps, &n_all)) {
                json_object_set_new(steps, t->id,
                                    json_pack("[I, I]", (json_int_t)n_steps, (json_int_t)n_all));
            }
        } else if (t->archive != NULL) {
            n = worker_archive_bytes(t->archive);
            at_work = worker_archive_is_at_work(t->archive, &n_moves);
        } else {
            continue;
        }
        json_object_set_new(bytes, t->id, json_integer((json_int_t)n));
        if (at_work) {
            json_object_set_new(moves, t->id, json_integer((json_int_t)n_moves));
        }
    }
    worker_link_send(&w->link, json_pack("{s:s, s:o, s:o, s:o, s:o}", "is", "alive", "bytes", bytes,
                                         "moves", moves, "steps", steps, "busy", take_busy(w)));
}

/* --- opening ---------------------------------------------------------------------------------- */

static uint64_t number(const json_t *message, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(message, key));
    return value > 0 ? (uint64_t)value : 0;
}

static enum status open_folders(struct worker *w, const json_t *message)
{
    char *spool = worker_unpack_name(json_object_get(message, "spool"));
    char *output = worker_unpack_name(json_object_get(message, "output"));
    char *work = NULL;
    enum status code = STATUS_OK;
    if (spool == NULL || output == NULL || asprintf(&work, "%s/.work", spool) < 0) {
        work = NULL;
        code = status_fail(STATUS_INTERNAL, "the worker did not get its folders");
        goto end;
    }
    w->work_fd = open(work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    w->context.out_fd = open(output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->work_fd < 0 || w->context.out_fd < 0) {
        code = status_fail_errno(errno, "cannot open '%s'", w->work_fd < 0 ? work : output);
    } else {
        code = spool_read_owner(w->work_fd, w->owner);
    }
end:
    free(spool);
    free(output);
    free(work);
    return code;
}

/* What jobs would load is loaded before, so that none fails for it; so is the driver, which the
 * sandbox would keep from beginning. */
static enum status load_libraries(const struct worker *w)
{
    size_t n_there;
    STATUS_TRY(cairo_need());
    STATUS_TRY(backend_load_products(0));
    return w->settings.devices.n > 0 ? backend_count_cuda(&n_there) : STATUS_OK;
}

/* With devices of its own, one of them opens before the first job comes. */
static enum status open_a_device(struct worker *w)
{
    return w->settings.devices.n == 0 || w->engine.n_devices > 0 ? STATUS_OK
                                                                 : engine_open_devices(&w->engine);
}

static enum status open_and_shut_in(struct worker *w)
{
    STATUS_TRY(load_libraries(w));
    STATUS_TRY(worker_shut_files(w->work_fd, w->context.out_fd, w->settings.devices.n > 0));
    STATUS_TRY(engine_open(&w->loop, &w->settings, &w->engine));
    enum status code = open_a_device(w);
    if (code == STATUS_OK) {
        engine_limit_memory(&w->engine);
        code = backend_load_products(w->engine.n_threads);
    }
    if (code == STATUS_OK) {
        code = worker_shut_calls();
    }
    if (code != STATUS_OK) {
        char why[STATUS_MESSAGE_BYTES];
        snprintf(why, sizeof(why), "%s", status_message());
        engine_close(&w->engine);
        return status_set(code, why);
    }
    return STATUS_OK;
}

static const struct backend_info *info_of_open(const struct engine *e)
{
    for (size_t i = 0; i < e->n_devices; i++) {
        if (e->devices[i].state == DEVICE_OPEN) {
            return &e->devices[i].info;
        }
    }
    return &e->cpu.info;
}

static void open_engine(struct worker *w, const json_t *message)
{
    const char *visible = json_string_value(json_object_get(message, "visible"));
    const char *backend = json_string_value(json_object_get(message, "backend"));
    w->settings =
        (struct settings){.backend = strdup(backend != NULL ? backend : "cpu"),
                          .devices = {.n = (size_t)number(message, "devices")},
                          .threads = (size_t)number(message, "threads"),
                          .jobs = (size_t)number(message, "jobs"),
                          .spread = (size_t)number(message, "spread"),
                          .memory = number(message, "memory"),
                          .level = (int)number(message, "level"),
                          .bundle = json_is_true(json_object_get(message, "bundle")),
                          .unpack = {.max_bytes = number(message, "max_unpacked"),
                                     .max_ratio = number(message, "max_ratio")},
                          .deadline_s = json_number_value(json_object_get(message, "deadline_s"))};
    enum status code = open_folders(w, message);
    if (visible != NULL && setenv("CUDA_VISIBLE_DEVICES", visible, 1) != 0) {
        code = status_fail(STATUS_NO_MEMORY, "no memory to begin");
    }
    if (code == STATUS_OK) {
        code = w->settings.backend != NULL ? open_and_shut_in(w)
                                           : status_fail(STATUS_NO_MEMORY, "no memory to begin");
    }
    if (code != STATUS_OK) {
        worker_link_send(&w->link,
                         json_pack("{s:s, s:s, s:o}", "is", "unfit", "code", status_name(code),
                                   "text", text_json(status_message())));
        w->result = 2;
        begin_end(w, STATUS_CANCELLED, "");
        return;
    }
    w->is_open = true;
    const struct engine *e = &w->engine;
    const struct backend_info *info = info_of_open(e);
    worker_link_send(&w->link,
                     json_pack("{s:s, s:s, s:o, s:I}", "is", "ready", "backend", info->name,
                               "device", text_json(info->device), "jobs", (json_int_t)e->max_jobs));
}

static void on_message(void *user, const json_t *message)
{
    struct worker *w = user;
    const char *what = json_string_value(json_object_get(message, "do"));
    if (what == NULL) {
        return;
    }
    if (strcmp(what, "open") == 0 && !w->is_open && !w->is_ending) {
        open_engine(w, message);
    } else if (strcmp(what, "job") == 0 && w->is_open) {
        add_job(w, message);
    } else if (strcmp(what, "set") == 0 && w->is_open) {
        w->settings.deadline_s = json_number_value(json_object_get(message, "deadline_s"));
    } else if (strcmp(what, "return") == 0) {
        const char *const id = json_string_value(json_object_get(message, "id"));
        send_back(w, id != NULL ? id : "", "it was asked back");
    } else if (strcmp(what, "drain") == 0) {
        begin_drain(w, "the service is stopping");
    } else if (strcmp(what, "stop") == 0) {
        begin_end(w, STATUS_CANCELLED, "the service is stopping");
    }
}

static void on_broken(void *user, const char *why)
{
    struct worker *w = user;
    if (*why != '\0') {
        log_error("worker: the link to the service is broken: %s", why);
    }
    begin_end(w, STATUS_CANCELLED, "the service has gone");
}

/* --- the process ------------------------------------------------------------------------------ */

/* Dies with the service, and before it when memory is short; see signals above. */
static void settle_in(void)
{
    static const char more[] = "500";
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "leat-worker"); /* it was begun as /proc/self/exe */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (write(fd, more, sizeof(more) - 1) < 0) {
            log_debug("worker: oom_score_adj: %s", strerror(errno));
        }
        close(fd);
    }
}

int worker_run(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct worker w = {.work_fd = -1};
    const unsigned alive_ms = worker_fault_alive_ms(WORKER_ALIVE_MS);
    w.context = (struct job_context){.engine = &w.engine,
                                     .settings = &w.settings,
                                     .out_fd = -1,
                                     .ended = on_ended,
                                     .waits = on_waits,
                                     .user = &w};
    w.link = (struct worker_link){.message = on_message, .broken = on_broken, .user = &w};
    w.last_task = &w.tasks;
    log_drop_when_blocked();
    settle_in();
    if (uv_loop_init(&w.loop) != 0) {
        log_error("worker: cannot begin");
        return 2;
    }
    uv_timer_init(&w.loop, &w.alive);
    w.alive.data = &w;
    uv_timer_start(&w.alive, on_alive, alive_ms, alive_ms);
    uv_timer_stop(&w.alive);
    uv_pipe_init(&w.loop, &w.link.pipe, 0);
    int failed = uv_pipe_open(&w.link.pipe, WORKER_FD);
    if (failed != 0 || worker_link_start(&w.link) != STATUS_OK) {
        log_error("leat worker is started by leat watch, and by nobody else");
        uv_close((uv_handle_t *)&w.alive, NULL);
        w.result = 2;
    } else {
        uv_run(&w.loop, UV_RUN_DEFAULT);
    }
    w.result = w.link.out_of_memory ? WORKER_OUT_OF_MEMORY : w.result;
    worker_link_close(&w.link);
    if (w.is_open) {
        engine_close(&w.engine);
    }
    uv_run(&w.loop, UV_RUN_DEFAULT);
    uv_loop_close(&w.loop);
    beneath_close(w.work_fd);
    beneath_close(w.context.out_fd);
    free(w.settings.backend);
    return w.result;
}
