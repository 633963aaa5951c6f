/*
 * method - see the header. One task at a time goes on with the method, on the device lane: it gets
 * the next blocks, one after the other. A block that failed is told when all before it have been
 * pushed, so that the first error in the file is the one that the user sees. As many results are on
 * their way to the files as the plan says, and no more.
 */
#include "pipeline/engine/method.h"

enum { METHOD_RESULTS = 2 }; /* on their way at a time, unless the plan says otherwise */

static void run(struct method *m, enum engine_lane lane, enum status (*work)(void *owner),
                void (*finished)(struct engine_task *))
{
    m->is_busy = true;
    job_tasks_run(m->tasks, &m->task, lane, work, finished);
}

/* Books its end; true when the job goes on. */
static bool ended(struct method *m)
{
    m->is_busy = false;
    return job_tasks_ended(m->tasks, &m->task);
}

static enum status start_work(void *owner)
{
    struct method *m = owner;
    const struct stage_args args = memory_args(m->memory);
    return pull_open(m->place->stage, &args, &m->pull);
}

static void start_finished(struct engine_task *task)
{
    struct method *const m = task->owner;
    (void)ended(m);
    job_tasks_changed(m->tasks);
}

void method_start(struct method *m)
{
    run(m, LANE_DEVICE, start_work, start_finished);
}

/* Whether it may be asked for one more result. */
static bool has_room(const struct method *m)
{
    const size_t n = m->memory->need.n_results;
    return m->writing->n_results < (n > 0 ? n : METHOD_RESULTS);
}

/* --- push ------------------------------------------------------------------------------------- */

/* Waits until the device has read these blocks. */
static enum status wait_for_uploads(const struct method *m, const struct block *list)
{
    struct queue *const q = m->place->queue;
    for (const struct block *b = list; b != NULL; b = b->next) {
        STATUS_TRY(q->backend->ops->upload_wait(q, b->ticket));
    }
    return STATUS_OK;
}

/* Hands over the next block, unless there is more to come of the one before. */
static enum status push_block(struct method *m)
{
    struct block *b = m->more_portions ? NULL : m->pushing;
    if (b != NULL) {
        const size_t part = job_input_stage_part(m->reading->input, b->part);
        STATUS_TRY(reading_pass_on(b));
        STATUS_TRY(pull_push(m->pull, part, &b->chunk, &b->ticket));
        m->pushing = b->next;
        b->next = m->pushed;
        m->pushed = b;
    }
    if (b != NULL || m->more_portions) {
        m->more_portions = false;
        STATUS_TRY(pull_portion(m->pull, &m->next, &m->more_portions));
    }
    return STATUS_OK;
}

/* Hands over blocks, if there are any, until the method hands something out; then waits until the
 * device has read those of the task before, so that copies are under way while the next come. */
static enum status push_work(void *owner)
{
    struct method *m = owner;
    STATUS_TRY(place_bring_helpers(m->place, m->pull));
    do {
        STATUS_TRY(queue_check(m->place->queue));
        STATUS_TRY(push_block(m));
    } while (m->pushing != NULL && m->next.n_files == 0 && !m->more_portions);
    STATUS_TRY(wait_for_uploads(m, m->uploading));
    return place_device(m->place)->on_cpu && !m->more_portions ? wait_for_uploads(m, m->pushed)
                                                               : STATUS_OK;
}

static void push_finished(struct engine_task *task)
{
    struct method *const m = task->owner;
    place_give_helpers(m->place);
    if (ended(m) &&
        (m->next.n_files == 0 || job_tasks_check(m->tasks, writing_add(m->writing, &m->next)))) {
        reading_give_back(m->reading, &m->uploading);
        if (m->more_portions) {
            /* the method may not have read all of the last block */
        } else if (place_device(m->place)->on_cpu) {
            reading_give_back(m->reading, &m->pushed);
        } else {
            m->uploading = m->pushed;
            m->pushed = NULL;
        }
    }
    engine_advance_jobs(m->tasks->engine);
}

static void start_push(struct method *m)
{
    place_find_helpers(m->place, m->pull, m->memory->need.helper_bytes);
    run(m, LANE_DEVICE, push_work, push_finished);
}

/* --- passes ----------------------------------------------------------------------------------- */

/* What was asked for has been pushed: the method may want to see a part once more. */
static enum status pass_work(void *owner)
{
    struct method *m = owner;
    const struct job_input *const input = m->reading->input;
    size_t part = STAGE_MAX_PARTS;
    STATUS_TRY(pull_end_pass(m->pull, &part));
    for (m->again = 0; m->again < input->n_parts; m->again++) {
        if (job_input_stage_part(input, m->again) == part) {
            break;
        }
    }
    return STATUS_OK;
}

static enum status reopen_work(void *owner)
{
    struct method *m = owner;
    return reading_reopen(m->reading, m->again);
}

static void reopen_finished(struct engine_task *task)
{
    struct method *const m = task->owner;
    if (ended(m)) {
        reading_begin_pass(m->reading);
    }
    job_tasks_changed(m->tasks);
}

static void pass_finished(struct engine_task *task)
{
    struct method *const m = task->owner;
    if (ended(m)) {
        if (m->again < m->reading->input->n_parts) {
            run(m, LANE_READ, reopen_work, reopen_finished);
            return;
        }
        m->has_read = m->more = true;
    }
    job_tasks_changed(m->tasks);
}

/* --- what is pushed next ---------------------------------------------------------------------- */

/* Whether a block just taken may be pushed: there is memory for the lines so far. */
static bool may_push(struct method *m, size_t part)
{
    struct reading *const r = m->reading;
    return r->again == NULL
               ? memory_reserve_lines(m->memory, part, reading_lines(r, part, r->cells[part]))
               : reading_may_have(r, part, r->again_cells);
}

/* Whether the next block is ready and may be pushed without asking for anything. */
static bool next_may_follow(const struct method *m)
{
    const struct reading *const r = m->reading;
    const struct block *b = reading_next(r);
    if (b == NULL) {
        return false;
    }
    const uint64_t of_pass = r->again == NULL ? r->cells[b->part] : r->again_cells,
                   cells = of_pass + b->chunk.n_cells;
    return r->again == NULL ? memory_has_lines(m->memory, b->part, reading_lines(r, b->part, cells))
                            : cells <= r->cells[b->part];
}

/* Takes the next blocks that are ready to be pushed, a batch at most; false when the job has
 * failed. It may fail for the first one alone: those before a block that there is no memory for
 * are pushed first, since the error may be in them. */
static bool take_batch(struct method *m)
{
    struct block *last = m->pushing = reading_take(m->reading);
    if (last == NULL) {
        return true;
    }
    if (!may_push(m, last->part)) {
        return false;
    }
    for (size_t n = 1; n < m->tasks->engine->batch_blocks && next_may_follow(m); n++) {
        last->next = reading_take(m->reading);
        last = last->next;
    }
    return true;
}

/* The device has nothing to do: gives it the next blocks, lets it return its last ones when blocks
 * are short or no more come, or ends the pass. What the method has handed out must have been taken
 * up before. */
static void feed(struct method *m)
{
    if (m->more_portions) { /* of the block before */
        start_push(m);
        return;
    }
    const bool taken = m->pushing != NULL || take_batch(m);
    const bool is_over = reading_is_over(m->reading) && m->pushing == NULL;
    if (!taken) {
        return;
    }
    if (m->pushing != NULL ||
        (m->uploading != NULL && (is_over || engine_is_short_of_blocks(m->tasks->engine)))) {
        start_push(m);
    } else if (is_over) {
        run(m, LANE_DEVICE, pass_work, pass_finished);
    }
}

/* --- check ------------------------------------------------------------------------------------ */

static enum status look_work(void *owner)
{
    const struct method *m = owner;
    for (const struct block *b = m->pushing; b != NULL; b = b->next) {
        STATUS_TRY(reading_watch(b));
    }
    return STATUS_OK;
}

static void look_finished(struct engine_task *task)
{
    struct method *const m = task->owner;
    (void)ended(m);
    reading_give_back(m->reading, &m->pushing);
    engine_advance_jobs(m->tasks->engine);
}

/* The numbers are only counted and looked at, and the shapes that result are held against the stage
 * and the limits. */
static void look_at_blocks(struct method *m)
{
    struct block **last = &m->pushing;
    for (struct block *b; (b = reading_take(m->reading)) != NULL; last = &b->next) {
        *last = b;
    }
    if (m->pushing != NULL) {
        run(m, LANE_DECODE, look_work, look_finished);
    } else if (reading_is_over(m->reading) && m->tasks->n_running == 0) {
        m->has_read = memory_check_lines(m->memory);
    }
}

/* --- results ---------------------------------------------------------------------------------- */

static enum status finish_work(void *owner)
{
    struct method *m = owner;
    m->more = false;
    STATUS_TRY(place_bring_helpers(m->place, m->pull));
    result_free(&m->next); /* of a pause */
    STATUS_TRY(result_init(&m->next));
    return pull_finish(m->pull, &m->next, &m->more);
}

static void finish_finished(struct engine_task *task)
{
    struct method *const m = task->owner;
    pull_progress(m->pull, &m->n_steps_done, &m->n_steps);
    place_give_helpers(m->place);
    const bool has_paused = m->more && m->next.n_files == 0; /* while others are written */
    if (ended(m) && !has_paused) {
        (void)job_tasks_check(m->tasks, writing_add(m->writing, &m->next));
    }
    engine_advance_jobs(m->tasks->engine);
}

static void finish(struct method *m)
{
    if (!m->is_busy && m->more && has_room(m)) {
        place_find_helpers(m->place, m->pull, m->memory->need.helper_bytes);
        run(m, LANE_DEVICE, finish_work, finish_finished);
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

static void stream(struct method *m)
{
    const bool all_pushed = !m->is_busy && m->pushing == NULL && !m->more_portions;
    if (all_pushed && reading_fail(m->reading)) {
        return;
    }
    reading_advance(m->reading);
    if (m->is_busy) {
        return;
    }
    if (m->only_counts) {
        look_at_blocks(m);
    } else if (has_room(m)) {
        feed(m);
    }
}

void method_advance(struct method *m)
{
    writing_advance(m->writing);
    if (m->has_read) {
        finish(m);
    } else {
        stream(m);
    }
}

bool method_has_ended(const struct method *m)
{
    return !m->is_busy && m->has_read && !m->more && m->writing->n_results == 0;
}

void method_free(struct method *m)
{
    result_free(&m->next);
    pull_free(m->pull);
    m->pull = NULL;
}

void method_drop(struct method *m)
{
    reading_give_back(m->reading, &m->pushing);
    reading_give_back(m->reading, &m->pushed);
    reading_give_back(m->reading, &m->uploading);
}
