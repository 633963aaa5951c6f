/*
 * job - life and death of a job, and its memory; see job.h. Reading is in job_stream.c, writing in
 * job_output.c.
 */
#include "pipeline/job_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void job_input_free(struct job_input *input)
{
    if (input->fd >= 0) {
        close(input->fd);
    }
    free(input->path);
    job_settings_free(&input->settings);
    *input = (struct job_input){.fd = -1};
}

void job_fail(struct job *job, enum status code, const char *message)
{
    if (job->code == STATUS_OK) {
        job->code = code;
        job->message = strdup(message);
    }
}

void job_run(struct job *job, struct engine_task *task, enum engine_lane lane,
             void (*work)(struct engine_task *), void (*finished)(struct engine_task *))
{
    task->owner = job;
    task->work = work;
    task->finished = finished;
    job->running++;
    engine_start(job->engine, task, lane, &job->accounts[lane]);
}

bool job_task_ended(struct job *job, struct engine_task *task)
{
    job->running--;
    if (task->code != STATUS_OK) {
        job_fail(job, task->code, task->message != NULL ? task->message : "");
    }
    engine_task_clear(task);
    return job->code == STATUS_OK;
}

void job_step_all(struct engine *e)
{
    for (size_t i = 0; i < e->n_jobs; i++) {
        job_step(e->jobs[i]);
    }
}

/* --- open: the input's head ------------------------------------------------------------------- */

/* A line is held whole while a table is opened, before any memory is reserved for the job. */
static size_t longest_line(const struct engine *e)
{
    uint64_t share = e->host_limit / 4 / e->max_jobs;
    return share < (1u << 20) ? 1u << 20 : share > (64u << 20) ? 64u << 20 : (size_t)share;
}

static enum status open_input(struct job *job)
{
    const struct job_context *c = &job->context;
    if (!c->check_only) {
        enum status code = publish_vacant(c->out_fd, job->input.settings.stem, c->settings->force);
        if (code != STATUS_OK) {
            return code;
        }
    }
    int fd = job->input.fd >= 0
                 ? fcntl(job->input.fd, F_DUPFD_CLOEXEC, 3)
                 : open(job->input.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        return status_fail_errno(errno, "cannot open '%s'", job->input.path);
    }
    if (job->input.fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
        int error = errno;
        close(fd);
        return status_fail_errno(error, "cannot read '%s' from its begin", job->input.path);
    }
    struct source *source;
    enum status code = source_open(fd, job->input.path, &source);
    if (code == STATUS_OK) {
        job->input.settings.table.max_line_bytes = longest_line(job->engine);
        code = table_open(source, &job->input.settings.table, &job->table);
    }
    return code;
}

static void open_work(struct engine_task *task)
{
    engine_task_result(task, open_input(task->owner));
}

static enum status plan_table(const struct job *job, const struct table_info *info,
                              struct stage_need *need)
{
    struct stage_args args = {.queue = job->queue,
                              .table = info,
                              .params = job->input.settings.params,
                              .input_name = job->input.path,
                              .block_bytes = job->engine->block_bytes};
    return job->input.settings.stage->plan(&args, need);
}

/* What the stage needs when the table has `lines` lines, if it does not know better. */
static enum status plan(const struct job *job, size_t lines, struct stage_need *need)
{
    struct table_info info = *table_info(job->table);
    if (info.n_lines == 0 && info.n_lines_estimate < lines) {
        info.n_lines_estimate = lines;
    }
    return plan_table(job, &info, need);
}

static bool fits(struct job *job, const struct stage_need *need);

static void open_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    if (job_task_ended(job, task)) {
        const struct table_info *info = table_info(job->table);
        if (job->lines_estimate < info->n_lines_estimate) {
            job->lines_estimate = info->n_lines_estimate;
        }
        job->queue = engine_take_queue(job->engine);
        enum status code = plan(job, job->lines_estimate, &job->need);
        if (code != STATUS_OK) {
            job_fail(job, code, status_message());
        } else if (fits(job, &job->need)) {
            job->phase = job->context.check_only ? JOB_STREAMING : JOB_WAITING;
        }
    }
    job_step(job);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void bytes_wanted(const struct job *job, const struct stage_need *need, uint64_t *host,
                         uint64_t *device)
{
    bool on_cpu = job->engine->on_cpu;
    *host = need->host_bytes + (on_cpu ? need->memory_bytes : 0);
    *device = on_cpu ? 0 : need->memory_bytes;
}

/* A need that can never be met fails the job. */
static bool fits(struct job *job, const struct stage_need *need)
{
    struct engine *e = job->engine;
    uint64_t host, device;
    bytes_wanted(job, need, &host, &device);
    if (host > e->host_limit || device > e->device_limit) {
        char text[320];
        uint64_t wanted = host > e->host_limit ? host : device;
        uint64_t limit = host > e->host_limit ? e->host_limit : e->device_limit;
        snprintf(text, sizeof(text),
                 "'%.120s' needs %s%llu bytes of %s memory, %llu are there for jobs; %s",
                 job->input.path, need->estimated ? "about " : "", (unsigned long long)wanted,
                 host > e->host_limit ? "host" : "device", (unsigned long long)limit,
                 host > e->host_limit ? "raise --memory by the difference, or more"
                                      : "use --backend cpu, or a larger device");
        job_fail(job, STATUS_TOO_LARGE, text);
        return false;
    }
    return true;
}

/* Raises the job's reservation to `need`; false when the rest is not free at this moment, or never.
 */
static bool reserve(struct job *job, const struct stage_need *need)
{
    struct engine *e = job->engine;
    uint64_t host, device;
    if (!fits(job, need)) {
        return false;
    }
    bytes_wanted(job, need, &host, &device);
    uint64_t more_host = host > job->host_reserved ? host - job->host_reserved : 0;
    uint64_t more_device = device > job->device_reserved ? device - job->device_reserved : 0;
    if (more_host > e->host_limit - e->host_used ||
        more_device > e->device_limit - e->device_used) {
        return false;
    }
    e->host_used += more_host;
    job->host_reserved += more_host;
    e->device_used += more_device;
    job->device_reserved += more_device;
    return true;
}

bool job_reserve_lines(struct job *job, size_t lines)
{
    if (job->context.check_only || table_info(job->table)->n_lines != 0 ||
        lines <= job->lines_estimate) {
        return true;
    }
    /* Half as much again, so that this is not asked for every block; no more than there is when
     * that is too much. */
    const size_t estimates[] = {lines + lines / 2, lines};
    struct stage_need need;
    for (size_t i = 0; i < 2; i++) {
        uint64_t host, device;
        enum status code = plan(job, estimates[i], &need);
        if (code != STATUS_OK) {
            job_fail(job, code, status_message());
            return false;
        }
        job->lines_estimate = estimates[i];
        bytes_wanted(job, &need, &host, &device);
        if (host <= job->engine->host_limit && device <= job->engine->device_limit) {
            break;
        }
    }
    if (!reserve(job, &need)) {
        if (job->code == STATUS_OK) {
            /* Others hold the memory, and may be waiting for this one's blocks: start over once it
             * is there. */
            job->again = true;
            job_fail(job, STATUS_TOO_LARGE, "starting over with more memory");
        }
        return false;
    }
    return true;
}

bool job_check_lines(struct job *job)
{
    struct table_info counted = *table_info(job->table);
    bool known = counted.n_lines != 0;
    size_t lines = (size_t)(job->cells / counted.cells_per_line);
    enum status code = STATUS_OK;
    if (lines == 0) {
        code = status_fail(STATUS_BAD_INPUT, "%s: no row holds numbers", job->input.path);
    } else if (!known) {
        counted.n_lines = counted.n_lines_estimate = lines;
        code = plan_table(job, &counted, &job->need);
        if (code == STATUS_OK) { /* run knows no more than its estimate when it begins */
            code = plan(job, lines > job->lines_estimate ? lines : job->lines_estimate, &job->need);
        }
    }
    if (code != STATUS_OK) {
        job_fail(job, code, status_message());
        return false;
    }
    return fits(job, &job->need);
}

/* --- start ------------------------------------------------------------------------------------ */

static void start_work(struct engine_task *task)
{
    struct job *job = task->owner;
    struct stage_args args = {.queue = job->queue,
                              .table = table_info(job->table),
                              .params = job->input.settings.params,
                              .input_name = job->input.path,
                              .block_bytes = job->engine->block_bytes};
    engine_task_result(task, job->input.settings.stage->open(&args, &job->stage));
}

static void start_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    if (job_task_ended(job, task)) {
        job->phase = JOB_STREAMING;
    }
    job_step(job);
}

/* --- end -------------------------------------------------------------------------------------- */

static void end_work(struct engine_task *task)
{
    struct job *job = task->owner;
    job_output_drop(job);
    if (job->stage != NULL) {
        job->input.settings.stage->free(job->stage);
        job->stage = NULL;
        /* A queue goes on to the next job: nothing of this one may be left in it. */
        if (job->queue->backend->ops->finish(job->queue) != STATUS_OK && job->code == STATUS_OK) {
            engine_task_result(task, STATUS_DEVICE);
        }
    }
    table_free(job->table);
    job->table = NULL;
}

static double busy_s(const struct job *job, enum engine_lane lane)
{
    return (double)atomic_load(&job->accounts[lane].busy_ns) * 1e-9;
}

static void report(struct job *job)
{
    struct job_report r = {.path = job->input.path,
                           .stem = job->input.settings.stem,
                           .code = job->code,
                           .message = job->message != NULL ? job->message : "",
                           .manifest = job->code == STATUS_OK ? job->manifest : NULL,
                           .input_bytes = job->bytes_read,
                           .busy = job->busy,
                           .read_s = busy_s(job, LANE_READ),
                           .write_s = busy_s(job, LANE_WRITE)};
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
}

static void close_timer(uv_handle_t *handle)
{
    free(handle);
}

static void begin(struct job *job);

static void end_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    struct engine *e = job->engine;
    job_task_ended(job, task);
    job_stream_drop(job);
    job_output_give_slots(job);
    if (job->queue != NULL) {
        engine_give_queue(e, job->queue);
        job->queue = NULL;
    }
    e->host_used -= job->host_reserved;
    e->device_used -= job->device_reserved;
    job->host_reserved = job->device_reserved = 0;
    if (job->again && job->code == STATUS_TOO_LARGE) {
        begin(job);
        job_step_all(e);
        return;
    }
    forget(job);
    if (job->deadline != NULL) {
        uv_close((uv_handle_t *)job->deadline, close_timer);
    }
    report(job);
    json_decref(job->manifest);
    free(job->message);
    job_input_free(&job->input);
    free(job);
    job_step_all(e);
}

static void begin_ending(struct job *job)
{
    job->phase = JOB_ENDING;
    job_run(job, &job->device_task, LANE_DEVICE, end_work, end_finished);
}

void job_step(struct job *job)
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
    case JOB_WAITING:
        if (reserve(job, &job->need)) {
            job->phase = JOB_STARTING;
            job_run(job, &job->device_task, LANE_DEVICE, start_work, start_finished);
        } else if (job->code != STATUS_OK) {
            job_step(job);
        }
        break;
    case JOB_STREAMING:
        job_stream_step(job);
        break;
    case JOB_WRITING:
        job_output_step(job);
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

static void on_deadline(uv_timer_t *timer)
{
    job_cancel(timer->data, STATUS_DEADLINE, "it took longer than its deadline");
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
    uv_timer_start(job->deadline, on_deadline, (uint64_t)(seconds * 1000), 0);
}

/* Also a second time, when a job starts over: everything but its input and estimate is anew. */
static void begin(struct job *job)
{
    free(job->message);
    json_decref(job->manifest);
    *job = (struct job){.context = job->context,
                        .engine = job->engine,
                        .input = job->input,
                        .deadline = job->deadline,
                        .lines_estimate = job->lines_estimate,
                        .started_ns = crew_now_ns()};
    job->last_block = &job->first_block;
    job->last_slot = &job->first_slot;
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
    *input = (struct job_input){.fd = -1};
    e->jobs[e->n_jobs++] = job;
    begin(job);
    if (context->settings->deadline_s > 0) {
        set_deadline(job, context->settings->deadline_s);
    }
    return STATUS_OK;
}

void job_cancel(struct job *job, enum status code, const char *message)
{
    if (job->phase == JOB_ENDING && job->again) { /* it would have started over */
        job->again = false;
        free(job->message);
        job->code = code;
        job->message = strdup(message);
    } else if (job->phase < JOB_PUBLISHING) {
        job->again = false;
        job_fail(job, code, message);
        job_step(job);
    }
}

uint64_t job_bytes_read(const struct job *job)
{
    return job->bytes_read;
}
