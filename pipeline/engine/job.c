/*
 * job - life and death of a job; see job.h, and job_state.h for what it is made of.
 */
#include "pipeline/engine/job_state.h"
#include "pipeline/names/beside.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct job *job_of(struct engine_job *base)
{
    return (struct job *)base;
}

/* --- open: the inputs' heads ------------------------------------------------------------------ */

/* Of a file on disk. */
static enum status look_beside(struct job_part *part, bool is_grid)
{
    const struct beside beside = beside_search(part->path, beside_is_file, NULL);
    enum status code = STATUS_OK;
    part->masked = beside.has_mask ? "" : NULL;
    if (is_grid && beside.projection != NULL && part->prj == NULL) {
        const int fd = open(beside.projection, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        code = fd < 0 ? status_fail_errno(errno, "cannot open '%s'", beside.projection)
                      : beside_read_projection(fd, beside.projection, &part->prj);
        if (fd >= 0) {
            close(fd);
        }
    }
    free(beside.projection);
    return code;
}

static enum status open_work(void *owner)
{
    struct job *job = owner;
    if (job->input.open != NULL) {
        STATUS_TRY(job->input.open(job->input.opener, &job->input));
        job->input.open = NULL;
    }
    for (size_t i = 0; i < job->input.n_parts; i++) {
        struct job_part *part = &job->input.parts[i];
        const bool is_grid = job->input.settings.parts[i]->kind == STAGE_GRID;
        if (part->fd < 0 && !part->is_stream) {
            STATUS_TRY(look_beside(part, is_grid));
        }
    }
    STATUS_TRY(job->context.check_only ? STATUS_OK : writing_look(&job->writing));
    return reading_open(&job->reading);
}

static double work_of(const struct job *job)
{
    const struct stage_ops *stage = job->input.settings.stage;
    struct stage_args args = {.params = job->input.settings.params};
    for (size_t i = 0; i < job->input.n_parts; i++) {
        args.inputs[job_input_stage_part(&job->input, i)] =
            (struct stage_input){.table = &job->memory.shapes[i]};
    }
    return stage->work != NULL ? stage->work(&args) : 0;
}

/* Whether it takes a core for a second or two at most: by the work, and by what is decoded. */
static bool is_short(const struct job *job)
{
    static const double most_cells = 1 << 23; /* 64 MiB of doubles */
    double cells = 0;
    for (size_t i = 0; i < job->input.n_parts; i++) {
        const struct table_info *t = &job->memory.shapes[i];
        const size_t lines = t->n_lines > 0 ? t->n_lines : t->n_lines_estimate;
        cells += (double)lines * (double)t->cells_per_line;
    }
    return place_is_short(job->base.work) && cells < most_cells;
}

static void open_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    if (job_tasks_ended(&job->tasks, task)) {
        memory_take_shapes(&job->memory);
        place_choose(&job->place, work_of(job));
        job_tasks_set_short(&job->tasks, is_short(job));
        job->phase = JOB_PLACING;
        if (job->tasks.is_long && job->tasks.in_short_place) {
            job_tasks_fail(&job->tasks, STATUS_CANCELLED, "it is not short");
            job->is_sent_back = true;
        }
    }
    job_tasks_changed(&job->tasks);
}

/* False: it waits for a device to open. */
static bool find_place(struct job *job)
{
    bool fits = false;
    while (!fits && job->tasks.code == STATUS_OK) {
        if (!place_take(&job->place)) {
            return false;
        }
        fits = memory_plan(&job->memory, &job->place.least_bytes);
        if (!fits && job->tasks.code == STATUS_OK) { /* another may have the memory */
            place_leave(&job->place);
        }
    }
    return true;
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
    job->deadline = xcalloc(1, sizeof(*job->deadline));
    uv_timer_init(job->context.engine->loop, job->deadline);
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

bool job_starts_over(const struct job *job)
{
    if (job->has_given_up) {
        return false;
    }
    switch (job->tasks.code) {
    case STATUS_START_OVER:
        return !job->memory.started_over;
    case STATUS_TOO_LARGE:
        return job->memory.starts_over;
    case STATUS_DEVICE:
    case STATUS_NO_MEMORY:
        return job->place.starts_over;
    case STATUS_NO_SPACE: /* the results may have the room of the copies */
        return job->reading.has_copied && !job->reading.without_copies;
    default:
        return false;
    }
}

static void heed_failure(struct job *job)
{
    if (job->tasks.code != STATUS_OK && job->phase < JOB_COMPLETING) {
        place_heed_failure(&job->place, job->tasks.code, job->tasks.message);
    }
}

static enum status end_work(void *owner)
{
    struct job *job = owner;
    writing_drop(&job->writing, job->restarts);
    method_free(&job->method);
    place_end_helpers(&job->place);
    const enum status code = place_empty_queue(&job->place, job->code_at_end == STATUS_OK);
    const bool was_bad = code == STATUS_OK && job->code_at_end == STATUS_BAD_INPUT;
    const enum status of_files = reading_close(&job->reading, was_bad);
    return code == STATUS_OK ? of_files : code;
}

static void report(struct job *job)
{
    const struct job_tasks *const t = &job->tasks;
    struct job_report r = {.path = job->input.parts[0].path,
                           .started_ns = job->started_ns,
                           .result = job_settings_result(&job->input.settings),
                           .code = t->code,
                           .message = t->message != NULL ? t->message : status_text(t->code),
                           .manifest = t->code == STATUS_OK ? job->manifest : NULL,
                           .input_bytes = job->reading.bytes_read,
                           .is_long = job->is_sent_back};
    job->context.ended(job->context.user, &r);
}

static void forget(struct job *job)
{
    struct engine *e = job->context.engine;
    size_t i = 0;
    while (e->jobs[i] != &job->base) {
        i++;
    }
    memmove(&e->jobs[i], &e->jobs[i + 1], (e->n_jobs - i - 1) * sizeof(e->jobs[0]));
    e->n_jobs--;
    job_tasks_leave_short_place(&job->tasks);
    for (i = 0; i < e->n_jobs; i++) { /* the place that is free now may be one that lasts */
        job_tasks_heed_time(&job_of(e->jobs[i])->tasks);
    }
}

static void close_timer(uv_handle_t *handle)
{
    free(handle);
}

static void begin(struct job *job);

static void replace_failure(struct job *job, enum status code, const char *message)
{
    job->has_given_up = true;
    free(job->tasks.message);
    job->tasks.code = code;
    job->tasks.message = xstrdup(message);
}

static void end_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    struct engine *e = job->context.engine;
    if (task->code == STATUS_CHANGED) {
        replace_failure(job, STATUS_CHANGED, task->message);
    }
    job_tasks_ended(&job->tasks, task);
    reading_drop(&job->reading);
    method_drop(&job->method);
    writing_give_buffers(&job->writing);
    place_give_helpers(&job->place);
    memory_give_back(&job->memory);
    if (job->place.queue != NULL) {
        place_leave(&job->place);
    }
    if (job_starts_over(job)) {
        begin(job);
        engine_advance_jobs(e);
        return;
    }
    forget(job);
    if (job->deadline != NULL) {
        uv_close((uv_handle_t *)job->deadline, close_timer);
    }
    for (size_t i = 0; i < job->input.n_parts; i++) { /* `ended` asks for what comes after it */
        job_part_give_back(&job->input.parts[i]);
    }
    report(job);
    json_decref(job->manifest);
    free(job->tasks.message);
    job_input_free(&job->input);
    free(job);
    engine_advance_jobs(e);
}

static void begin_ending(struct job *job)
{
    struct job_tasks *const t = &job->tasks;
    job->phase = JOB_ENDING;
    job->base.waits = WAITS_FOR_NOTHING;
    job->code_at_end = t->code;
    job->restarts = job_starts_over(job);
    if (job->restarts && t->code == STATUS_TOO_LARGE) {
        memory_expect_all_lines(&job->memory, job->method.pushing); /* none for its lines */
    }
    job_tasks_run(t, &job->task, LANE_DEVICE, end_work, end_finished);
}

/* --- from one phase to the next --------------------------------------------------------------- */

static enum status complete_work(void *owner)
{
    struct job *job = owner;
    const struct manifest_of of = {.input = &job->input,
                                   .tasks = &job->tasks,
                                   .place = &job->place,
                                   .reading = &job->reading,
                                   .memory = &job->memory,
                                   .result = &job->writing.result,
                                   .is_check = job->context.check_only,
                                   .started_ns = job->started_ns};
    return writing_complete(&job->writing, &of, &job->manifest);
}

static enum status publish_work(void *owner)
{
    struct job *job = owner;
    STATUS_TRY(job->context.check_only ? STATUS_OK : writing_publish(&job->writing));
    if (job->memory.state != NULL && job->input.part_folder == NULL) {
        state_file_remove(&job->state);
    }
    return STATUS_OK;
}

static void task_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    (void)job_tasks_ended(&job->tasks, task);
    job_tasks_changed(&job->tasks);
}

static void complete_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    if (job_tasks_ended(&job->tasks, task)) {
        job->phase = JOB_PUBLISHING;
        job_tasks_run(&job->tasks, task, LANE_WRITE, publish_work, task_finished);
    } else {
        job_tasks_changed(&job->tasks);
    }
}

static void compute(struct job *job)
{
    method_advance(&job->method);
    if (job->tasks.code != STATUS_OK) {
        job_tasks_changed(&job->tasks);
    } else if (method_has_ended(&job->method)) {
        job->phase = JOB_COMPLETING;
        if (job->method.pull != NULL) {
            place_stop_clock(&job->place);
        }
        job_tasks_run(&job->tasks, &job->task, LANE_WRITE, complete_work, complete_finished);
    }
}

static void start(struct job *job)
{
    job->base.waits = WAITS_FOR_NOTHING;
    put_off_deadline(job, false);
    if (job->context.check_only) { /* which makes no stage */
        job->phase = JOB_COMPUTING;
        compute(job);
    } else {
        job->phase = JOB_STARTING;
        method_start(&job->method);
    }
}

static void advance(struct engine_job *base)
{
    struct job *const job = job_of(base);
    heed_failure(job);
    if (job->phase == JOB_ENDING) {
        return;
    }
    if (job->tasks.code != STATUS_OK || job->phase == JOB_PUBLISHING) {
        if (job->tasks.n_running == 0) {
            begin_ending(job);
        }
        return;
    }
    switch (job->phase) {
    case JOB_PLACING:
        base->waits = job->place.wants_device ? WAITS_FOR_DEVICE : WAITS_FOR_NOTHING;
        if (!find_place(job)) {
            put_off_deadline(job, true);
            break;
        }
        base->waits = WAITS_FOR_MEMORY;
        job->phase = JOB_WAITING;
        advance(base);
        break;
    case JOB_WAITING:
        if (memory_reserve(&job->memory, job->context.check_only)) {
            start(job);
        } else if (job->tasks.code != STATUS_OK) {
            advance(base);
        } else {
            put_off_deadline(job, true);
        }
        break;
    case JOB_STARTING:
        if (!job->method.is_busy) {
            job->phase = JOB_COMPUTING;
            compute(job);
        }
        break;
    case JOB_COMPUTING:
        compute(job);
        break;
    default:
        break;
    }
}

/* --- birth ------------------------------------------------------------------------------------ */

/* Also a second time, when a job starts over: everything but its input, and what it has learnt of
 * lines, devices and copies, begins again. */
static void begin(struct job *job)
{
    struct job_tasks *const t = &job->tasks;
    const struct job_context *const c = &job->context;
    const bool without_copies = job->reading.without_copies || t->code == STATUS_NO_SPACE;
    job->memory.started_over |= t->code == STATUS_START_OVER;
    job->base.waits = WAITS_FOR_NOTHING;
    job->phase = JOB_OPENING;
    json_decref(job->manifest);
    job->manifest = NULL;
    job->task = (struct engine_task){.owner = job};
    job->started_ns = thread_pool_now_ns();
    job_tasks_begin(t, c->engine, &job->base);
    place_begin(&job->place, t, job->input.settings.stage);
    job->reading = (struct reading){.tasks = t,
                                    .input = &job->input,
                                    .need = &job->memory.need,
                                    .folder_fd = c->out_fd,
                                    .without_copies = without_copies};
    reading_begin(&job->reading);
    job->memory.need = (struct stage_need){0};
    job->memory.starts_over = false;
    job->writing = (struct writing){
        .tasks = t, .input = &job->input, .settings = c->settings, .out_fd = c->out_fd};
    writing_begin(&job->writing);
    job->method = (struct method){.tasks = t,
                                  .place = &job->place,
                                  .reading = &job->reading,
                                  .memory = &job->memory,
                                  .writing = &job->writing,
                                  .only_counts = c->check_only,
                                  .task = {.owner = &job->method}};
    job_tasks_run(t, &job->task, LANE_READ, open_work, open_finished);
}

void job_start(const struct job_context *context, struct job_input *input)
{
    struct job *job = xcalloc(1, sizeof(*job));
    struct engine *e = context->engine;
    job->base.advance = advance;
    job->context = *context;
    job->input = *input;
    *input = (struct job_input){0};
    e->jobs[e->n_jobs++] = &job->base;
    e->n_short_only += context->short_only;
    job->tasks.in_short_place = context->short_only;
    job->memory.tasks = &job->tasks;
    job->memory.input = &job->input;
    job->memory.place = &job->place;
    job->memory.reading = &job->reading;
    if (context->keeps_states && job->input.settings.stage->simulates) {
        state_file_of(&job->state, context->out_fd, &job->input);
        job->memory.state = &job->state.calls;
    }
    begin(job);
    if (context->settings->deadline_s > 0) {
        set_deadline(job, context->settings->deadline_s);
    }
}

void job_cancel(struct job *job, enum status code, const char *message)
{
    heed_failure(job);
    if (job_starts_over(job)) { /* it would have started over: that is no reason any more */
        replace_failure(job, code, message);
    } else if (job->phase < JOB_PUBLISHING) {
        job_tasks_fail(&job->tasks, code, message);
        advance(&job->base);
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
    return job->reading.bytes_read;
}

bool job_is_at_work(const struct job *job, uint64_t *n_moves)
{
    bool is = false;
    *n_moves = 0;
    for (size_t i = 0; i < ENGINE_LANES; i++) {
        is = thread_pool_account_is_at_work(&job->tasks.accounts[i], n_moves) || is;
    }
    return is;
}

bool job_steps(const struct job *job, uint64_t *n_done, uint64_t *n_steps)
{
    *n_done = job->method.n_steps_done;
    *n_steps = job->method.n_steps;
    return job->input.settings.stage->simulates;
}
