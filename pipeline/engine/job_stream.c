/*
 * job_stream - from the file to the stage: one read at a time in file order, decoding in any order,
 * pushing in file order again, one block after the other. A failed block is reported when all
 * before it have been pushed, so that the first error in the file is the one that the user sees.
 *
 * The first pass reads all parts. A stage may ask for one of them once more, as often as it likes:
 * it is then decoded again, or read from a copy of its numbers (job_copy.c).
 */
#include "pipeline/engine/job_state.h"

/* --- read and decode: the block's own task ---------------------------------------------------- */

static enum status read_block(struct block *b)
{
    struct job *job = b->job;
    struct source *file = table_source(job->tables[b->part]);
    bool end = false;
    b->state = BLOCK_FAILED;
    STATUS_TRY(table_next(b->table, &b->chunk, &end));
    if (end && job->again == NULL) {
        STATUS_TRY(source_crc(file, &job->crc[b->part]));
    }
    if (end) {
        STATUS_TRY(source_check_unchanged(file));
    }
    b->state = end ? BLOCK_END : BLOCK_READ;
    return STATUS_OK;
}

/* A batch, until the table ends. */
static enum status read_work(void *owner)
{
    for (struct block *b = owner; b != NULL; b = b->next) {
        STATUS_TRY(read_block(b));
        if (b->state == BLOCK_END) {
            break;
        }
    }
    return STATUS_OK;
}

/* The numbers of the first part are looked at as they pass for the first time. */
static bool is_watched(const struct block *b)
{
    return b->job->watch != NULL && b->table == b->job->tables[0];
}

static enum status decode_work(void *owner)
{
    struct block *b = owner;
    STATUS_TRY(table_decode(b->table, &b->chunk));
    b->look = is_watched(b) ? table_watch_look(b->job->watch, &b->chunk) : NULL;
    return STATUS_OK;
}

static void decode_finished(struct engine_task *task)
{
    struct block *b = task->owner;
    struct job *job = b->job;
    job->running--;
    b->state = task->code == STATUS_OK ? BLOCK_READY : BLOCK_FAILED;
    size_t bytes = b->chunk.n_cells * dtype_bytes(table_info(b->table)->dtype);
    job->lane_bytes[LANE_DECODE] += b->chunk.raw_len > 0 ? b->chunk.raw_len : bytes;
    job->lane_bytes[LANE_DEVICE] += bytes;
    job_advance(job);
}

static void drop_block(struct job *job, struct block *b)
{
    engine_task_clear(&b->task);
    table_chunk_clear(&b->chunk);
    table_look_free(b->look);
    b->look = NULL;
    engine_give_block(job->engine, b);
    job->n_blocks--;
}

static void drop_list(struct job *job, struct block **list)
{
    struct block *b = *list;
    *list = NULL;
    while (b != NULL) {
        struct block *next = b->next;
        drop_block(job, b);
        b = next;
    }
}

/* Bytes of the files, for progress: the first pass counts. */
static void count_bytes_read(struct job *job)
{
    if (job->again != NULL) {
        return;
    }
    job->bytes_read = 0;
    for (size_t i = 0; i <= job->part; i++) {
        job->bytes_read += source_file_offset(table_source(job->tables[i]));
    }
    job->lane_bytes[LANE_READ] = job->bytes_read;
}

/* The table has ended. */
static void end_part(struct job *job)
{
    if (job->again != NULL) {
        job->lane_bytes[LANE_READ] += source_file_offset(table_source(job->again));
    }
    job->read_ended = ++job->part == job->end_part;
}

static void take_read(struct job *job, struct block *b)
{
    *job->last_block = b;
    job->last_block = &b->next;
    if (b->state == BLOCK_FAILED) {
        job->read_ended = true;
        return;
    }
    b->state = BLOCK_DECODING;
    job_run(job, &b->task, LANE_DECODE, decode_work, decode_finished);
}

static void read_finished(struct engine_task *task)
{
    struct block *b = task->owner;
    struct job *job = b->job;
    const enum status code = task->code;
    char *const message = task->message;
    task->message = NULL;
    job->running--;
    job->reading = false;
    count_bytes_read(job);
    bool all = false; /* jobs may find a block */
    for (struct block *next; b != NULL; b = next) {
        next = b->next;
        b->next = NULL;
        if (b->state == BLOCK_FAILED) { /* it tells why, when all before it have been pushed */
            b->task.code = code;
            b->task.message = message;
        }
        if (b->state == BLOCK_READ || b->state == BLOCK_FAILED) {
            take_read(job, b);
        } else {
            if (b->state == BLOCK_END) {
                end_part(job);
            }
            drop_block(job, b);
            all = true;
        }
    }
    if (all) {
        job_advance_all(job->engine);
    } else {
        job_advance(job);
    }
}

static struct block *take_block(struct job *job)
{
    struct block *b = engine_take_block(job->engine, job->is_long || job->n_blocks > 0);
    if (b != NULL) {
        job->n_blocks++;
        b->job = job;
        b->part = job->part;
        b->table = job->again != NULL ? job->again : job->tables[job->part];
        b->state = BLOCK_READING;
    }
    return b;
}

/* One block, or more while there are plenty, so that a task reads much at a time. */
static void start_reading(struct job *job)
{
    const struct engine *e = job->engine;
    struct block *first = take_block(job);
    if (first == NULL) {
        return;
    }
    struct block **last = &first->next;
    for (size_t n = 1; n < e->batch_blocks && e->n_free_blocks > e->n_blocks / 2; n++) {
        *last = take_block(job);
        last = &(*last)->next;
    }
    job->reading = true;
    job_run(job, &first->task, LANE_READ, read_work, read_finished);
}

/* --- push ------------------------------------------------------------------------------------- */

/* Waits until the device has read these blocks. */
static enum status wait_for_uploads(const struct job *job, const struct block *list)
{
    for (const struct block *b = list; b != NULL; b = b->next) {
        STATUS_TRY(job->queue->backend->ops->upload_wait(job->queue, b->ticket));
    }
    return STATUS_OK;
}

static enum status watch_block(const struct block *b)
{
    return is_watched(b) ? table_watch_take(b->job->watch, &b->chunk, b->look) : STATUS_OK;
}

/* Hands over the next block, unless there is more to come of the one before. */
static enum status push_block(struct job *job)
{
    struct block *b = job->more_portions ? NULL : job->pushing;
    if (b != NULL && job->again != NULL) { /* the same from a copy as from the file */
        b->chunk.n_labels = b->chunk.n_missing = b->chunk.first_column = 0;
        b->chunk.first_line = 0;
    }
    if (b != NULL) {
        STATUS_TRY(watch_block(b));
        job_copy_add(job, b);
        STATUS_TRY(pull_push(job->method, job_stage_part(job, b->part), &b->chunk, &b->ticket));
        job->pushing = b->next;
        b->next = job->pushed;
        job->pushed = b;
    }
    if (b != NULL || job->more_portions) {
        job->more_portions = false;
        STATUS_TRY(pull_portion(job->method, &job->next, &job->more_portions));
    }
    return STATUS_OK;
}

/* Hands over blocks, if there are any, until the stage hands something out; then waits until the
 * device has read those of the task before, so that copies are under way while the next come. */
static enum status push_work(void *owner)
{
    struct job *job = owner;
    STATUS_TRY(job_helpers_bring(job));
    do {
        STATUS_TRY(queue_check(job->queue));
        STATUS_TRY(push_block(job));
    } while (job->pushing != NULL && job->next.n_files == 0 && !job->more_portions);
    STATUS_TRY(wait_for_uploads(job, job->uploading));
    return job->device->on_cpu && !job->more_portions ? wait_for_uploads(job, job->pushed)
                                                      : STATUS_OK;
}

static void push_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    job->on_device = false;
    job_helpers_give(job);
    if (job_task_ended(job, task) &&
        (job->next.n_files == 0 || job_check(job, job_output_add(job)))) {
        drop_list(job, &job->uploading);
        if (job->more_portions) {
            /* the stage may not have read all of the last block */
        } else if (job->device->on_cpu) {
            drop_list(job, &job->pushed);
        } else {
            job->uploading = job->pushed;
            job->pushed = NULL;
        }
    }
    job_advance_all(job->engine);
}

static bool is_ready(const struct block *b)
{
    return b != NULL && b->state == BLOCK_READY;
}

/* Takes the first block off the list if it is ready; counts its cells. */
static struct block *take_ready(struct job *job)
{
    struct block *b = job->first_block;
    if (!is_ready(b)) {
        return NULL;
    }
    job->first_block = b->next;
    if (job->first_block == NULL) {
        job->last_block = &job->first_block;
    }
    b->next = NULL;
    uint64_t *cells = job->again == NULL ? &job->cells[b->part] : &job->again_cells;
    *cells += b->chunk.n_cells;
    return b;
}

/* --- passes ----------------------------------------------------------------------------------- */

/* What was asked for has been pushed: the stage may want to see a part once more. */
static enum status pass_work(void *owner)
{
    struct job *job = owner;
    size_t again = STAGE_MAX_PARTS;
    STATUS_TRY(pull_end_pass(job->method, &again));
    for (job->part = 0; job->part < job->input.n_parts; job->part++) {
        if (job_stage_part(job, job->part) == again) {
            break;
        }
    }
    return STATUS_OK;
}

static enum status changed(const struct job *job, size_t part)
{
    return status_fail(STATUS_CHANGED, "'%s' changed while it was read",
                       job->input.parts[part].path);
}

/* Opens the copy, or the same open file once more: another one may have its name by now. */
static enum status reopen_work(void *owner)
{
    struct job *job = owner;
    struct table *first = job->tables[job->part], *table = NULL;
    enum status code = job_copy_open(job, job->part, &table);
    if (code == STATUS_OK && table == NULL) {
        const struct table_options options = job_table_options(job, job->part);
        struct job_part *part = &job->input.parts[job->part], file = *part;
        file.fd = source_fd(table_source(first));
        code = job_open_part(job, part->is_stream ? part : &file, &options, &table);
    }
    table_free(job->again);
    job->again = table;
    if (code != STATUS_OK) {
        return code;
    }
    const struct table_info *now = table_info(table), *then = table_info(first);
    return now->dtype == then->dtype && now->cells_per_line == then->cells_per_line
               ? STATUS_OK
               : changed(job, job->part);
}

static void reopen_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    job->on_device = false;
    if (job_task_ended(job, task)) {
        job->end_part = job->part + 1;
        job->again_cells = 0;
        job->read_ended = false;
    }
    job_advance(job);
}

static void pass_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    job->on_device = false;
    if (job_task_ended(job, task)) {
        if (job->part < job->input.n_parts) {
            job->on_device = true;
            job_run(job, &job->device_task, LANE_READ, reopen_work, reopen_finished);
            return;
        }
        job_output_begin(job);
        return;
    }
    job_advance(job);
}

static void end_pass(struct job *job)
{
    job->on_device = true;
    job_run(job, &job->device_task, LANE_DEVICE, pass_work, pass_finished);
}

static size_t lines_of(const struct job *job, size_t part, uint64_t cells)
{
    const size_t per_line = table_info(job->tables[part])->cells_per_line;
    return (size_t)((cells + per_line - 1) / per_line);
}

/* Whether a block just taken may be pushed: there is memory for the lines so far, and a later pass
 * brings no more than the first. That it brings no less follows from the file's being unchanged. */
static bool may_push(struct job *job, size_t part)
{
    if (job->again == NULL) {
        return job_reserve_lines(job, part, lines_of(job, part, job->cells[part]));
    }
    return job->again_cells <= job->cells[part] || job_check(job, changed(job, part));
}

/* Whether the next block is ready and may be pushed without asking for anything. */
static bool next_may_follow(const struct job *job)
{
    const struct block *b = job->first_block;
    if (!is_ready(b)) {
        return false;
    }
    const uint64_t of_pass = job->again == NULL ? job->cells[b->part] : job->again_cells,
                   cells = of_pass + b->chunk.n_cells;
    return job->again == NULL ? job_has_lines(job, b->part, lines_of(job, b->part, cells))
                              : cells <= job->cells[b->part];
}

/* Takes the next blocks that are ready to be pushed, a batch at most; false when the job has
 * failed. It may fail for the first one alone: those before a block that there is no memory for
 * are pushed first, since the error may be in them. */
static bool take_batch(struct job *job)
{
    struct block *last = job->pushing = take_ready(job);
    if (last == NULL) {
        return true;
    }
    if (!may_push(job, last->part)) {
        return false;
    }
    for (size_t n = 1; n < job->engine->batch_blocks && next_may_follow(job); n++) {
        last->next = take_ready(job);
        last = last->next;
    }
    return true;
}

static void start_push(struct job *job)
{
    job->on_device = true;
    job_helpers_find(job);
    job_run(job, &job->device_task, LANE_DEVICE, push_work, push_finished);
}

/* The device has nothing to do: gives it the next blocks, lets it return its last ones when blocks
 * are short or no more come, or ends the pass. What the stage has handed out must have been taken
 * up before. */
static void feed_device(struct job *job)
{
    if (job->more_portions) { /* of the block before */
        start_push(job);
        return;
    }
    const bool taken = job->pushing != NULL || take_batch(job);
    const bool ended = job->read_ended && job->first_block == NULL && job->pushing == NULL;
    if (!taken) {
        job_advance(job);
    } else if (job->pushing != NULL ||
               (job->uploading != NULL && (ended || engine_is_short_of_blocks(job->engine)))) {
        start_push(job);
    } else if (ended) {
        end_pass(job);
    }
}

static enum status look_work(void *owner)
{
    struct job *job = owner;
    for (const struct block *b = job->pushing; b != NULL; b = b->next) {
        STATUS_TRY(watch_block(b));
    }
    return STATUS_OK;
}

static void look_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    job->on_device = false;
    (void)job_task_ended(job, task);
    drop_list(job, &job->pushing);
    job_advance_all(job->engine);
}

/* check: the numbers are only counted and looked at, and the shapes that result are held against
 * the stage and the limits. */
static void look_at_blocks(struct job *job)
{
    struct block **last = &job->pushing;
    for (struct block *b; (b = take_ready(job)) != NULL; last = &b->next) {
        *last = b;
    }
    if (job->pushing != NULL) {
        job->on_device = true;
        job_run(job, &job->device_task, LANE_DECODE, look_work, look_finished);
    } else if (job->read_ended && job->first_block == NULL && job->running == 0) {
        if (job_check_lines(job)) {
            job_output_begin(job);
        } else {
            job_advance(job);
        }
    }
}

void job_stream_advance(struct job *job)
{
    const bool all_pushed = !job->on_device && job->pushing == NULL && !job->more_portions;
    if (all_pushed && job->first_block != NULL && job->first_block->state == BLOCK_FAILED) {
        struct engine_task *task = &job->first_block->task;
        job_fail(job, task->code, task->message != NULL ? task->message : status_text(task->code));
        job_advance(job);
        return;
    }
    if (!job->reading && !job->read_ended) {
        start_reading(job);
    }
    if (job->context.check_only) {
        if (!job->on_device) {
            look_at_blocks(job);
        }
    } else if (!job->on_device && job_output_has_room(job)) {
        feed_device(job);
    }
}

void job_stream_drop(struct job *job)
{
    drop_list(job, &job->first_block);
    drop_list(job, &job->pushing);
    drop_list(job, &job->pushed);
    drop_list(job, &job->uploading);
    job->last_block = &job->first_block;
}
