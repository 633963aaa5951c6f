/*
 * job - life and death of a job; see job.h. Its memory is in job_memory.c, reading in job_stream.c,
 * writing in job_output.c.
 */
#include "formats/base/file_name.h"
#include "formats/source/archive_member.h"
#include "formats/table/foreign.h"
#include "pipeline/engine/job_state.h"
#include "pipeline/names/input_name.h"
#include "pipeline/names/machine.h"
#include "pipeline/names/projection.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *job_part_name(const struct job_part *part)
{
    return part->name != NULL ? part->name : file_name_last(part->path);
}

/* A stream that was not opened goes back to whom it came from. */
static void give_stream_back(struct job_part *part)
{
    if (part->stream.close != NULL) {
        part->stream.close(part->stream.user);
    }
    part->stream = (struct source_stream){0};
}

void job_part_free(struct job_part *part)
{
    if (part->path != NULL && part->fd >= 0) {
        close(part->fd);
    }
    give_stream_back(part);
    free(part->archive);
    free(part->path);
    free(part->prj);
    *part = (struct job_part){.fd = -1};
}

void job_input_free(struct job_input *input)
{
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        job_part_free(&input->parts[i]);
    }
    job_settings_free(&input->settings);
    free(input->part_folder);
    free(input->id);
    *input = (struct job_input){0};
}

/* It starts over elsewhere, once; or, where several compute it, alone: which of them has failed
 * shows then. */
static void leave_device(struct job *job, const char *why)
{
    if (job->n_helpers > 0) {
        job->restart_pending = job->has_lost_help = true;
    } else if (!job->has_lost_device) {
        job->restart_pending = job->has_lost_device = engine_leave_device(job->device, why);
    }
}

/* Another rank computes with it, whose memory may be what is lacking. */
static bool has_rank(const struct job *job)
{
    bool has = false;
    for (size_t i = 0; i < job->n_helpers; i++) {
        has = has || job->helpers[i].device == NULL;
    }
    return has;
}

void job_fail(struct job *job, enum status code, const char *message)
{
    if (job->code == STATUS_OK) {
        const bool on_device = job->device != NULL && !job->device->on_cpu;
        const bool has_failed =
            (code == STATUS_DEVICE && on_device) || (code == STATUS_NO_MEMORY && has_rank(job));
        if (has_failed && job->phase < JOB_COMPLETING) {
            leave_device(job, message);
        }
        job->code = code;
        job->message = strdup(message);
        __atomic_store_n(&job->stop, 1, __ATOMIC_RELAXED);
        atomic_store(&job->unpack_stop, true);
    }
}

bool job_check(struct job *job, enum status code)
{
    if (code != STATUS_OK) {
        job_fail(job, code, status_message());
    }
    return code == STATUS_OK;
}

static void set_short(struct job *job, bool is)
{
    job->is_long = !is;
    for (size_t i = 0; i < ENGINE_LANES; i++) {
        atomic_store_explicit(&job->accounts[i].is_short, is, memory_order_relaxed);
    }
}

static void leave_short_place(struct job *job)
{
    job->engine->n_short_only -= job->context.short_only;
    job->context.short_only = false;
}

/* Shapes predict little of a result's size, or of text whose length is not known. CPU time is known
 * of tasks that have ended, and a device's is none. */
static void heed_time_taken(struct job *job)
{
    static const uint64_t most_ns = 2000000000, most_in_place_ns = 10 * most_ns;
    uint64_t ns = 0;
    for (size_t i = 0; i < ENGINE_LANES; i++) {
        ns += job->accounts[i].cpu_ns;
    }
    if (ns > most_ns) {
        set_short(job, false);
    }
    if (ns > most_ns || thread_pool_now_ns() - job->begun_ns > most_in_place_ns) {
        leave_short_place(job);
    }
}

void job_run(struct job *job, struct engine_task *task, enum engine_lane lane,
             enum status (*work)(void *owner), void (*finished)(struct engine_task *))
{
    task->device = job->device;
    task->work = work;
    task->finished = finished;
    job->running++;
    heed_time_taken(job);
    engine_start(job->engine, task, lane, &job->accounts[lane]);
}

bool job_task_ended(struct job *job, struct engine_task *task)
{
    job->running--;
    if (task->code == STATUS_START_OVER && !job->started_over && job->code == STATUS_OK) {
        job->restart_pending = true;
    }
    if (task->code != STATUS_OK) {
        job_fail(job, task->code, task->message != NULL ? task->message : status_text(task->code));
    }
    engine_task_clear(task);
    return job->code == STATUS_OK;
}

void job_advance_all(struct engine *e)
{
    for (size_t i = 0; i < e->n_jobs; i++) {
        job_advance(e->jobs[i]);
    }
}

/* --- open: the inputs' heads ------------------------------------------------------------------ */

/* A line is held whole while a table is opened, before any memory is reserved for the job. */
static size_t longest_line(const struct engine *e)
{
    uint64_t share = e->host_limit / 4 / e->max_jobs;
    return share < (1u << 20) ? 1u << 20 : share > (64u << 20) ? 64u << 20 : (size_t)share;
}

struct table_options job_table_options(const struct job *job, size_t part)
{
    const struct job_settings *settings = &job->input.settings;
    const char *key = settings->parts[part]->columns;
    struct table_options options = settings->table;
    options.prj = job->input.parts[part].prj;
    options.for_grid = settings->parts[part]->kind == STAGE_GRID;
    if (key != NULL) {
        const char *text = stage_text(settings->stage, settings->params, key);
        options.columns = *text != '\0' ? text : NULL;
    }
    return options;
}

enum status job_open_source(const struct job_part *part, struct source **out)
{
    *out = NULL;
    int fd = part->fd >= 0 ? fcntl(part->fd, F_DUPFD_CLOEXEC, 3)
                           : open(part->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        return status_fail_errno(errno, "cannot open '%s'", part->path);
    }
    if (part->fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
        int error = errno;
        close(fd);
        return status_fail_errno(error, "cannot read '%s' from its begin", part->path);
    }
    return source_open(fd, part->path, out);
}

static uint64_t at_least(uint64_t bytes, uint64_t least)
{
    return bytes < least ? least : bytes;
}

struct archive_input_options job_archive_options(const struct settings *settings,
                                                 const atomic_bool *stop)
{
    const uint64_t memory = settings->memory > 0 ? settings->memory : machine_memory() / 2;
    struct archive_input_options options = {.stop = stop,
                                            .limits = settings->unpack,
                                            .max_entries = settings->max_entries,
                                            .max_header_bytes = at_least(memory / 16, 16 << 20)};
    options.limits.max_window = at_least(memory / 4, 16 << 20);
    return options;
}

/* A second time, for a job that starts over or reads it twice, from the archive that it is in. */
static enum status open_stream(struct job *job, struct job_part *part, struct source **out)
{
    const struct archive_input_options options =
        job_archive_options(job->engine->settings, &job->unpack_stop);
    *out = NULL;
    if (part->stream.read == NULL && part->archive == NULL) {
        const bool no_room = job->copies[part - job->input.parts].given_up;
        return status_fail(STATUS_UNSUPPORTED,
                           "'%s' would have to be read again, which a pipe cannot be%s; give it as "
                           "a file%s",
                           part->path,
                           no_room ? ", and there is no room for a copy of its numbers beside the "
                                     "result"
                                   : "",
                           no_room && !job->need.rereads ? ", or raise --memory" : "");
    }
    if (part->stream.read == NULL) {
        STATUS_TRY(
            archive_member_open(part->archive, part->entry, part->path, &options, &part->stream));
    }
    const struct source_stream stream = part->stream;
    part->stream = (struct source_stream){0};
    return source_open_stream(&stream, part->path, &job->unpack_stop, out);
}

enum status job_open_part(struct job *job, struct job_part *part,
                          const struct table_options *options, struct table **out)
{
    struct source *source;
    STATUS_TRY(part->is_stream ? open_stream(job, part, &source) : job_open_source(part, &source));
    const struct executor readers = thread_pool_executor(job->engine->reading);
    source_set_helpers(source, &(struct source_helpers){readers.run, readers.context});
    source_set_limits(source, &job->engine->settings->unpack);
    source_stop_at(source, &job->unpack_stop);
    struct table_options all = *options;
    all.max_line_bytes = longest_line(job->engine);
    return table_open(source, &all, out);
}

/* The result may be there already. */
static enum status look_for_earlier(struct job *job)
{
    const struct job_context *c = &job->context;
    if (c->check_only || job->input.part_folder != NULL) {
        return STATUS_OK;
    }
    if (c->settings->resume) {
        return job_resume(job);
    }
    job->replaces = c->settings->force;
    job->replaced = (struct publish_folder){0};
    return publish_vacant(c->out_fd, job_settings_result(&job->input.settings), job->replaces);
}

/* The first part's numbers are looked at as they pass. */
static enum status open_watch(struct job *job)
{
    const struct stage_ops *const stage = job->input.settings.stage;
    const struct table_info *const info = table_info(job->tables[0]);
    struct stage_args args = {.params = job->input.settings.params};
    args.inputs[job_stage_part(job, 0)].table = info;
    const bool by_lines =
        stage->by_lines != NULL ? stage->by_lines(&args) : info->lines_are_columns;
    return table_watch_new(info,
                           job->input.settings.parts[0]->kind == STAGE_GRID ? TABLE_WATCH_HEIGHTS
                           : by_lines                                       ? TABLE_WATCH_LINES
                                                                            : TABLE_WATCH_ACROSS,
                           &job->watch);
}

/* A mask may lie beside a grid on disk or in an archive. */
static enum status check_mask(const struct job_part *part, const struct grid *g)
{
    const bool is_on_disk = part->fd < 0 && !part->is_stream;
    char *path = NULL;
    if (g == NULL) {
        return STATUS_OK;
    }
    if (asprintf(&path, "%s%s", part->path, INPUT_NAME_MASK) < 0) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a path");
    }
    enum status st = STATUS_OK;
    if (part->has_mask || (is_on_disk && access(path, F_OK) == 0)) {
        st = foreign_refuse_mask(g, part->path, file_name_last(path),
                                 part->has_mask ? "unpack the archive, then " : "");
    }
    free(path);
    return st;
}

static enum status open_work(void *owner)
{
    struct job *job = owner;
    for (size_t i = 0; i < job->input.n_parts; i++) {
        struct job_part *part = &job->input.parts[i];
        const bool is_grid = job->input.settings.parts[i]->kind == STAGE_GRID;
        if (is_grid && part->fd < 0 && !part->is_stream && part->prj == NULL) {
            STATUS_TRY(projection_beside(part->path, &part->prj));
        }
    }
    STATUS_TRY(look_for_earlier(job));
    for (size_t i = 0; i < job->input.n_parts; i++) {
        struct job_part *part = &job->input.parts[i];
        const struct table_options options = job_table_options(job, i);
        STATUS_TRY(job_open_part(job, part, &options, &job->tables[i]));
        STATUS_TRY(check_mask(part, table_info(job->tables[i])->grid));
    }
    return open_watch(job);
}

/* With --backend auto the shape alone decides, and once, so that the bits of a result depend
 * neither on what else runs nor on what is open: a device is for jobs that keep a core busy for a
 * second or more, of which opening it takes half. */
static const double second_work = 2e10;

static bool wants_device(const struct job *job)
{
    const char *backend = job->engine->settings->backend;
    return strcmp(backend, "auto") == 0 ? job->work >= second_work : strcmp(backend, "cuda") == 0;
}

static double work_of(const struct job *job)
{
    const struct stage_ops *stage = job->input.settings.stage;
    struct stage_args args = {.params = job->input.settings.params};
    for (size_t i = 0; i < job->input.n_parts; i++) {
        args.inputs[job_stage_part(job, i)] = (struct stage_input){.table = &job->shapes[i]};
    }
    return stage->work != NULL ? stage->work(&args) : 0;
}

/* Whether it takes a core for a second or two at most: by the work, and by what is decoded. */
static bool is_short(const struct job *job)
{
    static const double most_cells = 1 << 23; /* 64 MiB of doubles */
    double cells = 0;
    for (size_t i = 0; i < job->input.n_parts; i++) {
        const struct table_info *t = &job->shapes[i];
        const size_t lines = t->n_lines > 0 ? t->n_lines : t->n_lines_estimate;
        cells += (double)lines * (double)t->cells_per_line;
    }
    return job->work < second_work && cells < most_cells;
}

static void open_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    if (job_task_ended(job, task)) {
        job_take_shapes(job);
        if (!job->has_chosen) {
            job->work = work_of(job);
            job->wants_device = wants_device(job);
            job->has_chosen = true;
        }
        set_short(job, is_short(job));
        job->phase = JOB_PLACING;
        if (job->is_long && job->context.short_only) {
            job_fail(job, STATUS_CANCELLED, "it is not short");
            job->is_sent_back = true;
        }
    }
    job_advance(job);
}

static void leave_place(struct job *job)
{
    job->queue->stop = NULL;
    engine_give_queue(job->device, job->queue);
    job->queue = NULL;
}

/* False: it waits for a device to open. */
static bool place(struct job *job)
{
    bool fits = false;
    while (!fits && job->code == STATUS_OK) {
        job->device = engine_place(job->engine, job);
        if (job->device == NULL) {
            return false;
        }
        job->queue = engine_take_queue(job->device);
        job->queue->stop = &job->stop;
        fits = job_plan(job);
        if (!fits && job->code == STATUS_OK) { /* another may have the memory */
            leave_place(job);
        }
    }
    if (fits) {
        job->phase = JOB_WAITING;
    }
    return true;
}

/* --- start ------------------------------------------------------------------------------------ */

static enum status start_work(void *owner)
{
    struct job *job = owner;
    struct stage_args args = job_args(job);
    return pull_open(job->input.settings.stage, &args, &job->method);
}

static void start_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    if (job_task_ended(job, task)) {
        job->phase = JOB_STREAMING;
    }
    job_advance(job);
}

/* --- deadline --------------------------------------------------------------------------------- */

static void on_deadline(uv_timer_t *timer)
{
    job_cancel(timer->data, STATUS_DEADLINE, "it took longer than its deadline");
}

static void count_deadline(struct job *job)
{
    uv_timer_start(job->deadline, on_deadline, (uint64_t)(job->deadline_s * 1000), 0);
}

static void set_deadline(struct job *job, double seconds)
{
    job->deadline = calloc(1, sizeof(*job->deadline));
    if (job->deadline == NULL) {
        job_fail(job, STATUS_NO_MEMORY, "no memory for a timer");
        return;
    }
    uv_timer_init(job->engine->loop, job->deadline);
    job->deadline->data = job;
    job->deadline_s = seconds;
    count_deadline(job);
}

/* What others take does not count against the job. */
static void put_off_deadline(struct job *job, bool waits)
{
    if (job->waits == waits) {
        return;
    }
    job->waits = waits;
    if (job->deadline != NULL && waits) {
        uv_timer_stop(job->deadline);
    } else if (job->deadline != NULL) {
        count_deadline(job);
    }
    if (job->context.waits != NULL) {
        job->context.waits(job->context.user, job, waits, job->deadline_s);
    }
}

/* --- end -------------------------------------------------------------------------------------- */

static bool starts_over(const struct job *job)
{
    return job->restart_pending
               ? job->code == STATUS_TOO_LARGE || job->code == STATUS_START_OVER ||
                     job->code == STATUS_DEVICE || job->code == STATUS_NO_MEMORY
               : job->code == STATUS_NO_SPACE && job->has_copied && !job->without_copies;
}

/* A queue goes on to the next job: nothing of this one may be left in it. */
static enum status end_queue(struct job *job)
{
    const struct backend_ops *ops = job->queue->backend->ops;
    const bool failed = ops->finish(job->queue) != STATUS_OK && job->code_at_end == STATUS_OK;
    char why[STATUS_MESSAGE_BYTES];
    struct queue_busy unused;
    snprintf(why, sizeof(why), "%s", status_message());
    ops->busy(job->queue, &unused, true);
    ops->trim(job->queue);
    return failed ? status_set(STATUS_DEVICE, why) : STATUS_OK;
}

static enum status end_work(void *owner)
{
    struct job *job = owner;
    job_output_drop(job);
    pull_free(job->method);
    job->method = NULL;
    job_helpers_end(job);
    enum status code = job->queue != NULL ? end_queue(job) : STATUS_OK;
    table_free(job->again);
    job->again = NULL;
    job_copies_close(job);
    table_watch_free(job->watch);
    job->watch = NULL;
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        if (job->tables[i] != NULL && job->code_at_end == STATUS_BAD_INPUT && code == STATUS_OK) {
            /* the content is wrong: was it whole? */
            code = source_check_unchanged(table_source(job->tables[i]));
        }
        table_free(job->tables[i]);
        job->tables[i] = NULL;
    }
    return code;
}

static void report(struct job *job)
{
    struct job_report r = {.path = job->input.parts[0].path,
                           .result = job_settings_result(&job->input.settings),
                           .code = job->code,
                           .message = job->message != NULL ? job->message : status_text(job->code),
                           .manifest = job->code == STATUS_OK ? job->manifest : NULL,
                           .input_bytes = job->bytes_read,
                           .is_long = job->is_sent_back};
    job->context.ended(job->context.user, &r);
}

static void forget(struct job *job)
{
    struct engine *e = job->engine;
    size_t i = 0;
    while (e->jobs[i] != job) {
        i++;
    }
    memmove(&e->jobs[i], &e->jobs[i + 1], (e->n_jobs - i - 1) * sizeof(e->jobs[0]));
    e->n_jobs--;
    leave_short_place(job);
    for (i = 0; i < e->n_jobs; i++) { /* the place that is free now may be one that lasts */
        heed_time_taken(e->jobs[i]);
    }
}

static void close_timer(uv_handle_t *handle)
{
    free(handle);
}

static void begin(struct job *job);

static void replace_failure(struct job *job, enum status code, const char *message)
{
    job->restart_pending = job->has_copied = false;
    free(job->message);
    job->code = code;
    job->message = strdup(message);
}

static void end_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    struct engine *e = job->engine;
    if (task->code == STATUS_CHANGED) {
        replace_failure(job, STATUS_CHANGED,
                        task->message != NULL ? task->message : status_text(STATUS_CHANGED));
    }
    job_task_ended(job, task);
    job_stream_drop(job);
    job_output_give_encode_buffers(job);
    job_helpers_give(job);
    if (job->queue != NULL) {
        job->device->memory_used -= job->device_reserved;
        leave_place(job);
    }
    e->host_used -= job->host_reserved;
    job->host_reserved = job->device_reserved = 0;
    if (starts_over(job)) {
        begin(job);
        job_advance_all(e);
        return;
    }
    forget(job);
    if (job->deadline != NULL) {
        uv_close((uv_handle_t *)job->deadline, close_timer);
    }
    for (size_t i = 0; i < job->input.n_parts; i++) { /* `ended` asks for what comes after it */
        give_stream_back(&job->input.parts[i]);
    }
    report(job);
    json_decref(job->manifest);
    free(job->message);
    job_input_free(&job->input);
    free(job);
    job_advance_all(e);
}

static void begin_ending(struct job *job)
{
    job->phase = JOB_ENDING;
    job->code_at_end = job->code;
    job->restarts = starts_over(job);
    if (job->restarts && job->code == STATUS_TOO_LARGE) {
        job_expect_all_lines(job);
    }
    job_run(job, &job->device_task, LANE_DEVICE, end_work, end_finished);
}

void job_advance(struct job *job)
{
    if (job->phase == JOB_ENDING) {
        return;
    }
    if (job->code != STATUS_OK) {
        if (job->running == 0) {
            begin_ending(job);
        }
        return;
    }
    switch (job->phase) {
    case JOB_PLACING:
        if (place(job)) {
            job_advance(job);
        } else {
            put_off_deadline(job, true);
        }
        break;
    case JOB_WAITING:
        if (job_reserve(job)) {
            put_off_deadline(job, false);
            if (job->context.check_only) {
                job->phase = JOB_STREAMING;
                job_stream_advance(job);
                break;
            }
            job->phase = JOB_STARTING;
            job_run(job, &job->device_task, LANE_DEVICE, start_work, start_finished);
        } else if (job->code != STATUS_OK) {
            job_advance(job);
        } else {
            put_off_deadline(job, true);
        }
        break;
    case JOB_STREAMING:
        job_output_write(job); /* portions, if the stage hands out any */
        job_stream_advance(job);
        break;
    case JOB_FINISHING:
        job_output_advance(job);
        break;
    case JOB_PUBLISHING:
        if (job->running == 0) {
            begin_ending(job);
        }
        break;
    default:
        break;
    }
}

/* --- birth ------------------------------------------------------------------------------------ */

/* Also a second time, when a job starts over: everything but its input and estimate is anew. */
static void begin(struct job *job)
{
    size_t lines_estimate[STAGE_MAX_PARTS];
    memcpy(lines_estimate, job->lines_estimate, sizeof lines_estimate);
    free(job->message);
    json_decref(job->manifest);
    *job = (struct job){.context = job->context,
                        .engine = job->engine,
                        .input = job->input,
                        .deadline = job->deadline,
                        .deadline_s = job->deadline_s,
                        .begun_ns = job->begun_ns,
                        .end_part = job->input.n_parts,
                        .open_task = {.owner = job},
                        .device_task = {.owner = job},
                        .write_task = {.owner = job},
                        .without_copies = job->without_copies || job->code == STATUS_NO_SPACE,
                        .has_chosen = job->has_chosen,
                        .wants_device = job->wants_device,
                        .work = job->work,
                        .device_least = job->device_least,
                        .has_lost_device = job->has_lost_device,
                        .has_lost_help = job->has_lost_help,
                        .started_over = job->started_over || job->code == STATUS_START_OVER,
                        .started_ns = thread_pool_now_ns()};
    memcpy(job->lines_estimate, lines_estimate, sizeof lines_estimate);
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        job->copies[i].fd = -1;
    }
    job->disks = disk_meter_of(&job->engine->disks);
    for (size_t i = 0; i < ENGINE_LANES; i++) {
        job->accounts[i].watch = &job->disks.watch;
    }
    job->last_block = &job->first_block;
    job->last_encoded = &job->first_encoded;
    job->last_result = &job->results;
    job->publish.part_fd = -1;
    job_run(job, &job->open_task, LANE_READ, open_work, open_finished);
}

enum status job_start(const struct job_context *context, struct job_input *input)
{
    struct job *job = calloc(1, sizeof(*job));
    if (job == NULL) {
        job_input_free(input);
        return status_fail(STATUS_NO_MEMORY, "no memory for a job");
    }
    struct engine *e = context->engine;
    job->context = *context;
    job->engine = e;
    job->input = *input;
    *input = (struct job_input){0};
    e->jobs[e->n_jobs++] = job;
    e->n_short_only += context->short_only;
    job->begun_ns = thread_pool_now_ns();
    begin(job);
    if (context->settings->deadline_s > 0) {
        set_deadline(job, context->settings->deadline_s);
    }
    return STATUS_OK;
}

void job_cancel(struct job *job, enum status code, const char *message)
{
    if (starts_over(job)) { /* it would have started over: that is no reason any more */
        replace_failure(job, code, message);
    } else if (job->phase < JOB_PUBLISHING) {
        job_fail(job, code, message);
        job_advance(job);
    }
}

const char *job_path(const struct job *job)
{
    return job->input.parts[0].path;
}

const void *job_context_user(const struct job *job)
{
    return job->context.user;
}

uint64_t job_bytes_read(const struct job *job)
{
    return job->bytes_read;
}

bool job_is_at_work(const struct job *job, uint64_t *n_moves)
{
    bool is = false;
    *n_moves = 0;
    for (size_t i = 0; i < ENGINE_LANES; i++) {
        is = thread_pool_account_is_at_work(&job->accounts[i], n_moves) || is;
    }
    return is;
}

bool job_steps(const struct job *job, uint64_t *n_done, uint64_t *n_steps)
{
    *n_done = job->n_steps_done;
    *n_steps = job->n_steps;
    return job->input.settings.stage->simulates;
}
