/*
 * job_stream - from the file to the stage: one read at a time in file order, decoding in any order,
 * pushing in file order again. A failed block is reported when all before it have been pushed, so
 * that the first error in the file is the one that the user sees.
 */
#include "pipeline/engine/job_state.h"

/* --- read and decode: the block's own task ---------------------------------------------------- */

static void read_work(struct engine_task *task)
{
    struct block *b = task->owner;
    struct job *job = b->job;
    bool end = false;
    enum status code = table_next(job->tables[b->part], &b->chunk, &end);
    if (code == STATUS_OK && end) {
        struct source *source = table_source(job->tables[b->part]);
        code = source_crc(source, &job->crc[b->part]);
        if (code == STATUS_OK) {
            code = source_check_unchanged(source);
        }
        b->state = BLOCK_END;
    }
    engine_task_result(task, code);
}

static void decode_work(struct engine_task *task)
{
    struct block *b = task->owner;
    engine_task_result(task, table_decode(b->job->tables[b->part], &b->chunk));
}

static void start_block(struct block *b, enum engine_lane lane, void (*work)(struct engine_task *),
                        void (*finished)(struct engine_task *))
{
    struct job *job = b->job;
    b->task.owner = b;
    b->task.work = work;
    b->task.finished = finished;
    job->running++;
    engine_start(job->engine, &b->task, lane, &job->accounts[lane]);
}

static void decode_finished(struct engine_task *task)
{
    struct block *b = task->owner;
    struct job *job = b->job;
    job->running--;
    b->state = task->code == STATUS_OK ? BLOCK_READY : BLOCK_FAILED;
    size_t bytes = b->chunk.n_cells * dtype_bytes(table_info(job->tables[b->part])->dtype);
    job->lane_bytes[LANE_DECODE] += b->chunk.raw_len > 0 ? b->chunk.raw_len : bytes;
    job->lane_bytes[LANE_DEVICE] += bytes;
    job_step(job);
}

static void drop_block(struct job *job, struct block *b)
{
    engine_task_clear(&b->task);
    table_chunk_clear(&b->chunk);
    engine_give_block(job->engine, b);
}

static void read_finished(struct engine_task *task)
{
    struct block *b = task->owner;
    struct job *job = b->job;
    job->running--;
    job->reading = false;
    job->bytes_read = 0;
    for (size_t i = 0; i <= job->part; i++) {
        job->bytes_read += source_file_offset(table_source(job->tables[i]));
    }
    job->lane_bytes[LANE_READ] = job->bytes_read;
    if (task->code == STATUS_OK && b->state == BLOCK_END) {
        job->read_ended = ++job->part == job->input.n_parts;
        drop_block(job, b);
        job_step_all(job->engine);
        return;
    }
    *job->last_block = b;
    job->last_block = &b->next;
    if (task->code != STATUS_OK) {
        b->state = BLOCK_FAILED;
        job->read_ended = true;
    } else {
        b->state = BLOCK_DECODING;
        start_block(b, LANE_DECODE, decode_work, decode_finished);
    }
    job_step(job);
}

static void start_reading(struct job *job)
{
    struct block *b = engine_take_block(job->engine);
    if (b == NULL) {
        return;
    }
    job->reading = true;
    b->job = job;
    b->part = job->part;
    b->state = BLOCK_READING;
    start_block(b, LANE_READ, read_work, read_finished);
}

/* --- push ------------------------------------------------------------------------------------- */

/* Hands the blocks over, then waits until the device has read the older ones; the last one is left
 * to the next push, so that there is a copy under way while the next blocks come. */
static enum status push_blocks(struct job *job)
{
    const struct stage_ops *stage = job->input.settings.stage;
    const struct backend_ops *ops = job->queue->backend->ops;
    enum status code = STATUS_OK;
    for (struct block *b = job->pushing; b != NULL && code == STATUS_OK; b = b->next) {
        code = stage->push(job->stage, b->part, &b->chunk, &b->ticket);
    }
    for (struct block *b = job->uploading; b != NULL && code == STATUS_OK; b = b->next) {
        code = ops->upload_wait(job->queue, b->ticket);
    }
    for (struct block *b = job->pushing; b != NULL && code == STATUS_OK; b = b->next) {
        if (b->next != NULL || job->engine->on_cpu) {
            code = ops->upload_wait(job->queue, b->ticket);
        }
    }
    return code;
}

static void push_work(struct engine_task *task)
{
    engine_task_result(task, push_blocks(task->owner));
}

static void push_finished(struct engine_task *task)
{
    struct job *job = task->owner;
    job->on_device = false;
    if (job_task_ended(job, task)) {
        struct block *b = job->uploading;
        job->uploading = NULL;
        while (b != NULL) {
            struct block *next = b->next;
            drop_block(job, b);
            b = next;
        }
        for (b = job->pushing; b != NULL;) {
            struct block *next = b->next;
            if (next != NULL || job->engine->on_cpu) {
                drop_block(job, b);
            } else {
                b->state = BLOCK_UPLOADING;
                job->uploading = b;
            }
            b = next;
        }
        job->pushing = NULL;
    }
    job_step_all(job->engine);
}

/* Takes the blocks that are ready off the front of the list; books the first part's cells. */
static struct block *take_ready(struct job *job)
{
    struct block *first = job->first_block, **end = &job->first_block;
    while (*end != NULL && (*end)->state == BLOCK_READY) {
        job->cells += (*end)->part == 0 ? (*end)->chunk.n_cells : 0;
        end = &(*end)->next;
    }
    if (end == &job->first_block) {
        return NULL;
    }
    job->first_block = *end;
    if (job->first_block == NULL) {
        job->last_block = &job->first_block;
    }
    *end = NULL;
    return first;
}

/* The device has nothing to do: gives it what is ready, lets it return its last block when blocks
 * are short, or finishes. */
static void feed_device(struct job *job)
{
    job->pushing = take_ready(job);
    size_t per_line = table_info(job->tables[0])->cells_per_line;
    if (job->pushing != NULL) {
        size_t lines = (size_t)((job->cells + per_line - 1) / per_line);
        if (!job_reserve_lines(job, lines)) {
            job_step(job);
            return;
        }
    }
    if (job->pushing != NULL || (job->uploading != NULL && job->engine->free_blocks == NULL)) {
        job->on_device = true;
        job_run(job, &job->device_task, LANE_DEVICE, push_work, push_finished);
    } else if (job->read_ended && job->first_block == NULL) {
        job_output_begin(job);
    }
}

static void drop_list(struct job *job, struct block *b)
{
    while (b != NULL) {
        struct block *next = b->next;
        drop_block(job, b);
        b = next;
    }
}

/* check: the numbers are only counted, and the shape that comes of it is held against the stage and
 * the limits. */
static void count_blocks(struct job *job)
{
    if (job->read_ended && job->first_block == NULL && job->running == 0) {
        if (job_check_lines(job)) {
            job_output_begin(job);
        } else {
            job_step(job);
        }
    }
}

void job_stream_step(struct job *job)
{
    if (job->context.check_only) { /* to take them is to count them; one that failed may be next */
        drop_list(job, take_ready(job));
    }
    if (job->first_block != NULL && job->first_block->state == BLOCK_FAILED && !job->on_device) {
        struct engine_task *task = &job->first_block->task;
        job_fail(job, task->code, task->message != NULL ? task->message : status_text(task->code));
        job_step(job);
        return;
    }
    if (!job->reading && !job->read_ended) {
        start_reading(job);
    }
    if (job->context.check_only) {
        count_blocks(job);
    } else if (!job->on_device) {
        feed_device(job);
    }
}

void job_stream_drop(struct job *job)
{
    drop_list(job, job->first_block);
    drop_list(job, job->pushing);
    drop_list(job, job->uploading);
    job->first_block = job->pushing = job->uploading = NULL;
    job->last_block = &job->first_block;
}
