/*
 * reading - see the header. A part that comes once more is decoded again, or read from a copy of
 * its numbers.
 */
#include "pipeline/engine/reading.h"

#include "formats/base/file_name.h"
#include "formats/base/io_watch.h"
#include "formats/result/result.h"
#include "formats/source/archive_input.h"
#include "formats/table/foreign.h"
#include "pipeline/engine/scratch.h"
#include "pipeline/names/input_name.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE_BYTES = 64 << 20, LARGE_BATCH = 4 }; /* a task reads so many batches of them */

/* --- open ------------------------------------------------------------------------------------- */

/* A line is held whole while a table is opened, before any memory is reserved for the job. */
static size_t longest_line(const struct engine *e)
{
    uint64_t share = e->host_limit / 4 / e->max_jobs;
    return share < (1u << 20) ? 1u << 20 : share > (64u << 20) ? 64u << 20 : (size_t)share;
}

static struct table_options table_options_of(const struct reading *r, size_t part)
{
    const struct job_settings *settings = &r->input->settings;
    const char *key = settings->parts[part]->columns;
    struct table_options options = settings->table;
    options.prj = r->input->parts[part].prj;
    options.has_companions = r->input->parts[part].fd < 0 && !r->input->parts[part].is_stream;
    options.for_grid = settings->parts[part]->kind == STAGE_GRID;
    options.dates = settings->parts[part]->dates;
    options.words = settings->parts[part]->words;
    options.columns = options.words ? NULL : options.columns;
    const char *const polygons = settings->parts[part]->polygons;
    if (polygons != NULL) {
        const bool is_number = *polygons >= '0' && *polygons <= '9';
        options.polygons =
            is_number ? polygons : stage_text(settings->stage, settings->params, polygons);
        options.onto = table_info(r->tables[0])->grid;
    }
    if (key != NULL) {
        const char *text = stage_text(settings->stage, settings->params, key);
        options.columns = *text != '\0' ? text : NULL;
    }
    return options;
}

/* A second time, for a job that starts over or reads it twice, from the archive that it is in. */
static enum status open_stream(struct reading *r, struct job_part *part, struct source **out)
{
    const struct archive_input_options options =
        job_archive_options(r->tasks->engine->settings, &r->tasks->unpack_stop);
    *out = NULL;
    if (part->stream.read == NULL && part->archive == NULL) {
        const bool no_room = r->copies[part - r->input->parts].given_up;
        return status_fail(STATUS_UNSUPPORTED,
                           "'%s' would have to be read again, which a pipe cannot be%s; give it as "
                           "a file%s",
                           part->path,
                           no_room ? ", and there is no room for a copy of its numbers beside the "
                                     "result"
                                   : "",
                           no_room && !r->need->rereads ? ", or raise --memory" : "");
    }
    if (part->stream.read == NULL) {
        STATUS_TRY(
            archive_input_member(part->archive, part->entry, part->path, &options, &part->stream));
    }
    const struct source_stream stream = part->stream;
    part->stream = (struct source_stream){0};
    return source_open_stream(&stream, part->path, &r->tasks->unpack_stop, out);
}

static enum status open_part(struct reading *r, struct job_part *part,
                             const struct table_options *options, struct table **out)
{
    struct source *source;
    STATUS_TRY(part->is_stream ? open_stream(r, part, &source) : job_part_open(part, &source));
    const struct executor readers = thread_pool_executor(r->tasks->engine->reading);
    source_set_helpers(source, &(struct source_helpers){readers.run, readers.context});
    source_set_limits(source, &r->tasks->engine->settings->unpack);
    source_stop_at(source, &r->tasks->unpack_stop);
    struct table_options all = *options;
    all.max_line_bytes = longest_line(r->tasks->engine);
    return table_open(source, &all, out);
}

/* The first part's numbers are looked at as they pass. */
static enum status open_watch(struct reading *r)
{
    const struct stage_ops *const stage = r->input->settings.stage;
    const struct table_info *const info = table_info(r->tables[0]);
    struct stage_args args = {.params = r->input->settings.params};
    args.inputs[job_input_stage_part(r->input, 0)].table = info;
    const bool by_lines =
        stage->by_lines != NULL ? stage->by_lines(&args) : info->lines_are_columns;
    return table_watch_new(info,
                           r->input->settings.parts[0]->kind == STAGE_GRID ? TABLE_WATCH_HEIGHTS
                           : by_lines                                      ? TABLE_WATCH_LINES
                                                                           : TABLE_WATCH_ACROSS,
                           &r->watch);
}

static enum status check_mask(const struct job_part *part, const struct grid *g)
{
    if (g == NULL || part->masked == NULL) {
        return STATUS_OK;
    }
    char *const mask = xasprintf("%s%s", file_name_last(part->path), INPUT_NAME_MASK);
    const enum status code = foreign_refuse_mask(g, part->path, mask, part->masked);
    free(mask);
    return code;
}

void reading_begin(struct reading *r)
{
    r->end_part = r->input->n_parts;
    r->last_block = &r->first_block;
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        r->copies[i].fd = -1;
    }
}

enum status reading_open(struct reading *r)
{
    for (size_t i = 0; i < r->input->n_parts; i++) {
        struct job_part *part = &r->input->parts[i];
        const struct table_options options = table_options_of(r, i);
        STATUS_TRY(open_part(r, part, &options, &r->tables[i]));
        STATUS_TRY(check_mask(part, table_info(r->tables[i])->grid));
    }
    return open_watch(r);
}

/* --- read and decode: the block's own task ---------------------------------------------------- */

static enum status read_block(struct block *b)
{
    struct reading *const r = b->reading;
    struct source *file = table_source(r->tables[b->part]);
    bool end = false;
    b->state = BLOCK_FAILED;
    STATUS_TRY(table_next(b->table, &b->chunk, &end));
    if (end && r->again == NULL) {
        STATUS_TRY(source_crc(file, &r->crc[b->part]));
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
    return b->reading->watch != NULL && b->table == b->reading->tables[0];
}

static enum status decode_work(void *owner)
{
    struct block *b = owner;
    STATUS_TRY(table_decode(b->table, &b->chunk));
    b->look = is_watched(b) ? table_watch_look(b->reading->watch, &b->chunk) : NULL;
    return STATUS_OK;
}

static void decode_finished(struct engine_task *task)
{
    struct block *b = task->owner;
    struct reading *const r = b->reading;
    r->tasks->n_running--;
    b->state = task->code == STATUS_OK ? BLOCK_READY : BLOCK_FAILED;
    size_t bytes = b->chunk.n_cells * dtype_bytes(table_info(b->table)->dtype);
    r->tasks->lane_bytes[LANE_DECODE] += b->chunk.raw_len > 0 ? b->chunk.raw_len : bytes;
    r->tasks->lane_bytes[LANE_DEVICE] += bytes;
    job_tasks_changed(r->tasks);
}

static void drop_block(struct reading *r, struct block *b)
{
    engine_task_clear(&b->task);
    table_chunk_clear(&b->chunk);
    table_look_free(b->look);
    b->look = NULL;
    engine_give_block(r->tasks->engine, b);
    r->n_blocks--;
}

void reading_give_back(struct reading *r, struct block **list)
{
    struct block *b = *list;
    *list = NULL;
    while (b != NULL) {
        struct block *next = b->next;
        drop_block(r, b);
        b = next;
    }
}

void reading_drop(struct reading *r)
{
    reading_give_back(r, &r->first_block);
    r->last_block = &r->first_block;
}

/* Bytes of the files, for progress: the first pass counts. */
static void count_bytes_read(struct reading *r)
{
    if (r->again != NULL) {
        return;
    }
    r->bytes_read = 0;
    for (size_t i = 0; i <= r->part; i++) {
        r->bytes_read += source_file_offset(table_source(r->tables[i]));
    }
    r->tasks->lane_bytes[LANE_READ] = r->bytes_read;
}

/* The table has ended. */
static void end_part(struct reading *r)
{
    if (r->again != NULL) {
        r->tasks->lane_bytes[LANE_READ] += source_file_offset(table_source(r->again));
    }
    r->has_ended = ++r->part == r->end_part;
}

static void take_read(struct reading *r, struct block *b)
{
    *r->last_block = b;
    r->last_block = &b->next;
    if (b->state == BLOCK_FAILED) {
        r->has_ended = true;
        return;
    }
    b->state = BLOCK_DECODING;
    job_tasks_run(r->tasks, &b->task, LANE_DECODE, decode_work, decode_finished);
}

static void read_finished(struct engine_task *task)
{
    struct block *b = task->owner;
    struct reading *const r = b->reading;
    const enum status code = task->code;
    char *const message = task->message;
    task->message = NULL;
    r->tasks->n_running--;
    r->is_busy = false;
    count_bytes_read(r);
    bool all = false; /* jobs may find a block */
    for (struct block *next; b != NULL; b = next) {
        next = b->next;
        b->next = NULL;
        if (b->state == BLOCK_FAILED) { /* it tells why, when all before it have been pushed */
            b->task.code = code;
            b->task.message = message;
        }
        if (b->state == BLOCK_READ || b->state == BLOCK_FAILED) {
            take_read(r, b);
        } else {
            if (b->state == BLOCK_END) {
                end_part(r);
            }
            drop_block(r, b);
            all = true;
        }
    }
    if (all) {
        engine_advance_jobs(r->tasks->engine);
    } else {
        job_tasks_changed(r->tasks);
    }
}

static struct block *take_block(struct reading *r)
{
    struct block *b = engine_take_block(r->tasks->engine, r->tasks->is_long || r->n_blocks > 0);
    if (b != NULL) {
        r->n_blocks++;
        b->reading = r;
        b->part = r->part;
        b->table = r->again != NULL ? r->again : r->tables[r->part];
        b->state = BLOCK_READING;
    }
    return b;
}

/* One block, or more while there are plenty, so that a task reads much at a time: of a large file
 * most. */
static void start(struct reading *r)
{
    const struct engine *e = r->tasks->engine;
    struct block *first = take_block(r);
    if (first == NULL) {
        return;
    }
    const struct source *const file = table_source(first->table);
    const bool is_large = source_file_bytes(file) - source_file_offset(file) >= LARGE_BYTES;
    const size_t most = is_large ? LARGE_BATCH * e->batch_blocks : e->batch_blocks;
    struct block **last = &first->next;
    for (size_t n = 1; n < most && e->n_free_blocks > e->n_blocks / 2; n++) {
        *last = take_block(r);
        last = &(*last)->next;
    }
    r->is_busy = true;
    job_tasks_run(r->tasks, &first->task, LANE_READ, read_work, read_finished);
}

void reading_advance(struct reading *r)
{
    if (!r->is_busy && !r->has_ended) {
        start(r);
    }
}

/* --- what is taken ---------------------------------------------------------------------------- */

bool reading_fail(struct reading *r)
{
    const struct block *const b = r->first_block;
    if (b == NULL || b->state != BLOCK_FAILED) {
        return false;
    }
    job_tasks_fail(r->tasks, b->task.code, b->task.message);
    return true;
}

struct block *reading_take(struct reading *r)
{
    struct block *const b = r->first_block;
    if (reading_next(r) == NULL) {
        return NULL;
    }
    r->first_block = b->next;
    if (r->first_block == NULL) {
        r->last_block = &r->first_block;
    }
    b->next = NULL;
    uint64_t *cells = r->again == NULL ? &r->cells[b->part] : &r->again_cells;
    *cells += b->chunk.n_cells;
    return b;
}

enum status reading_watch(const struct block *b)
{
    return is_watched(b) ? table_watch_take(b->reading->watch, &b->chunk, b->look) : STATUS_OK;
}

/* Whether the numbers may be wanted, and would have to be decoded or could not be read again. */
static bool is_wanted(const struct reading *r, size_t part)
{
    const struct job_part *const p = &r->input->parts[part];
    return r->need->rereads || (r->need->may_reread && p->is_stream && p->archive == NULL);
}

static bool is_plain(const struct block *b)
{
    return table_info(b->table)->is_plain && source_hindrance(table_source(b->table)) == NULL;
}

static void close_copy(struct number_copy *copy)
{
    if (copy->fd >= 0) {
        close(copy->fd);
    }
    *copy = (struct number_copy){.fd = -1, .given_up = true};
}

/* Takes no more than a third of what is free: results come to the same place. */
static bool add_to_copy(struct number_copy *copy, int folder_fd, const void *numbers, size_t bytes)
{
    if (copy->fd < 0) {
        copy->bytes = NPY_HEAD_BYTES;
        if (scratch_file(folder_fd, &copy->fd) != STATUS_OK ||
            lseek(copy->fd, NPY_HEAD_BYTES, SEEK_SET) != NPY_HEAD_BYTES) {
            return false;
        }
    }
    copy->bytes += bytes;
    return copy->bytes <= scratch_room(copy->fd) && io_watch_write_all(copy->fd, numbers, bytes);
}

/* Text and packed bytes are worth it, since reading doubles costs a tenth of decoding them; numbers
 * that lie in their file as in memory are not. */
static void copy_numbers(struct reading *r, const struct block *b)
{
    struct number_copy *copy = &r->copies[b->part];
    const size_t bytes = b->chunk.n_cells * dtype_bytes(table_info(b->table)->dtype);
    if (is_wanted(r, b->part) && !r->without_copies && !copy->given_up && !is_plain(b)) {
        r->has_copied = r->need->rereads; /* a pipe cannot start over */
        if (!add_to_copy(copy, r->folder_fd, b->chunk.values, bytes)) {
            close_copy(copy);
        }
    }
}

enum status reading_pass_on(struct block *b)
{
    struct reading *const r = b->reading;
    if (r->again != NULL) { /* the same from a copy as from the file */
        b->chunk.n_labels = b->chunk.n_missing = b->chunk.first_column = 0;
        b->chunk.first_line = 0;
        return STATUS_OK;
    }
    STATUS_TRY(reading_watch(b));
    copy_numbers(r, b);
    return STATUS_OK;
}

/* --- later passes ----------------------------------------------------------------------------- */

size_t reading_lines(const struct reading *r, size_t part, uint64_t cells)
{
    const size_t per_line = table_info(r->tables[part])->cells_per_line;
    return (size_t)((cells + per_line - 1) / per_line);
}

static enum status changed(const struct reading *r, size_t part)
{
    return status_fail(STATUS_CHANGED, "'%s' changed while it was read",
                       r->input->parts[part].path);
}

/* As the first pass has decoded it. */
static enum status open_copy(struct reading *r, size_t part, struct table **out)
{
    const struct table_info *info = table_info(r->tables[part]);
    const size_t n_lines = (size_t)(r->cells[part] / info->cells_per_line);
    struct job_part again = {.path = (char *)"the decoded copy of an input",
                             .fd = r->copies[part].fd};
    char head[NPY_HEAD_BYTES];
    result_npy_head(head, info->dtype == DTYPE_F32 ? NPY_F4 : NPY_F8, 2,
                    (const size_t[]){n_lines, info->cells_per_line}, sizeof head);
    if (pwrite(again.fd, head, sizeof head, 0) != (ssize_t)sizeof head) {
        return status_fail_errno(errno, "cannot write the decoded copy of '%s'",
                                 r->input->parts[part].path);
    }
    return open_part(r, &again, &(struct table_options){0}, out);
}

/* The same open file once more: another one may have its name by now. */
static enum status open_again(struct reading *r, size_t part, struct table **out)
{
    const struct table_options options = table_options_of(r, part);
    struct job_part *p = &r->input->parts[part], file = *p;
    file.fd = source_fd(table_source(r->tables[part]));
    return open_part(r, p->is_stream ? p : &file, &options, out);
}

enum status reading_reopen(struct reading *r, size_t part)
{
    struct table *table = NULL;
    const enum status code =
        r->copies[part].fd >= 0 ? open_copy(r, part, &table) : open_again(r, part, &table);
    table_free(r->again);
    r->again = table;
    r->part = part;
    if (code != STATUS_OK) {
        return code;
    }
    const struct table_info *now = table_info(table), *then = table_info(r->tables[part]);
    return now->dtype == then->dtype && now->cells_per_line == then->cells_per_line
               ? STATUS_OK
               : changed(r, part);
}

void reading_begin_pass(struct reading *r)
{
    r->end_part = r->part + 1;
    r->again_cells = 0;
    r->has_ended = false;
}

bool reading_may_have(struct reading *r, size_t part, uint64_t cells)
{
    return cells <= r->cells[part] || job_tasks_check(r->tasks, changed(r, part));
}

enum status reading_close(struct reading *r, bool was_bad)
{
    enum status code = STATUS_OK;
    table_free(r->again);
    r->again = NULL;
    table_watch_free(r->watch);
    r->watch = NULL;
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        close_copy(&r->copies[i]);
        if (r->tables[i] != NULL && was_bad && code == STATUS_OK) {
            code = source_check_unchanged(table_source(r->tables[i])); /* was it whole? */
        }
        table_free(r->tables[i]);
        r->tables[i] = NULL;
    }
    return code;
}
