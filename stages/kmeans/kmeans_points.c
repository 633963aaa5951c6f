/*
 * kmeans_points - numbers as they come, whole points to the kernels.
 *
 * Cells are uploaded into blocks. Where the points stay, a block is kept when it is full: one is
 * enough where their number is known. Else two blocks are filled in turn. Kernels take points
 * while a block still fills, so that they work while the next numbers are read.
 */
#include "stages/kmeans/kmeans_job.h"

#include "formats/base/checked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_CELLS = 1 << 16 };

/* --- the host's side -------------------------------------------------------------------------- */

/* The line of the file with cell k of a chunk of text; 0 where it is not known, since a cell holds
 * a line break, or the chunk has more comments than it tells of. */
static uint64_t line_of(const struct kmeans_job *job, const struct table_chunk *chunk, size_t k)
{
    const size_t d = job->layout.n_columns, begun = (size_t)(job->n_cells % d);
    size_t rows = (begun + chunk->n_cells) / d, before = (begun + k) / d, breaks = 0;
    for (size_t i = 0; i < chunk->n_skips; i++) {
        rows += chunk->skips[i].n_lines;
        before += chunk->skips[i].n_cells <= k ? chunk->skips[i].n_lines : 0;
    }
    for (size_t i = 0; i < chunk->raw_len; i++) {
        breaks += chunk->raw[i] == '\n';
    }
    breaks += chunk->raw_len > 0 && chunk->raw[chunk->raw_len - 1] != '\n' && breaks + 1 == rows;
    return chunk->raw_len > 0 && breaks == rows ? chunk->first_line + before : 0;
}

/* Names the first missing cell of a chunk that has one. */
static enum status refuse_missing(const struct kmeans_job *job, const struct table_chunk *chunk)
{
    const struct kmeans_rows cells = {.cells = chunk->values, .type = job->layout.type};
    size_t k = 0;
    while (k < chunk->n_cells && !isnan(kmeans_rows_cell(&cells, k))) {
        k++;
    }
    const uint64_t cell = job->n_cells + k;
    const unsigned long long row = cell / job->layout.n_columns + 1;
    const uint64_t line = line_of(job, chunk, k);
    char stands[48] = "";
    if (line > 0) {
        snprintf(stands, sizeof stands, ", line %llu of the file,", (unsigned long long)line);
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: row %llu (the first is 1)%s has no value in %s: k-means needs all of "
                       "them; fill it in, leave out such rows (missing=drop), or choose other "
                       "columns",
                       job->name, row, stands,
                       kmeans_call_column(job, (size_t)(cell % job->layout.n_columns)).text);
}

/* Offers rows to the samples; looks whether the first column counts them. */
static void see_rows(struct kmeans_job *job, const void *cells, size_t n, uint64_t first)
{
    const struct kmeans_rows rows = {.cells = cells,
                                     .type = job->layout.type,
                                     .n = n,
                                     .n_columns = job->layout.n_columns,
                                     .first = first};
    kmeans_sample_take(job->samples, 2, job->choice.seed, &rows);
    for (size_t i = 0; i < n && !job->is_not_index; i++) {
        const double x = kmeans_rows_cell(&rows, i * rows.n_columns);
        const double row = (double)kmeans_kept_row(job, first + i);
        job->index_from = first + i == 0 ? x - row : job->index_from;
        job->is_not_index = x != job->index_from + row;
    }
}

/* Adds the first of n cells to a row of *n_begun; returns how many, at most what it lacks. */
static size_t fill_row(const struct kmeans_job *job, char *row, size_t *n_begun, const char *from,
                       size_t n)
{
    const size_t size = dtype_bytes(job->layout.type), left = job->layout.n_columns - *n_begun;
    const size_t some = n < left ? n : left;
    memcpy(row + *n_begun * size, from, some * size);
    *n_begun += some;
    return some;
}

/* Whole rows among these cells, of which the first may have begun before. */
static void see_cells(struct kmeans_job *job, const char *from, size_t n)
{
    const size_t d = job->layout.n_columns, size = dtype_bytes(job->layout.type);
    uint64_t row = job->n_cells / d;
    if (job->line_cells > 0) {
        const size_t some = fill_row(job, job->line, &job->line_cells, from, n);
        if (job->line_cells < d) {
            return;
        }
        from += some * size;
        n -= some;
        see_rows(job, job->line, 1, row++);
    }
    see_rows(job, from, n / d, row);
    job->line_cells = 0;
    (void)fill_row(job, job->line, &job->line_cells, from + (n - n % d) * size, n % d);
}

/* --- the backend's side ----------------------------------------------------------------------- */

/* `memory`: of points that stay, or for the labels of those that do not. */
static enum status compute(struct kmeans_job *job, const struct kmeans_points *x,
                           struct span memory)
{
    STATUS_TRY(queue_check(job->queue));
    switch (job->pass) {
    case KMEANS_PASS_RANGE:
        return job->kernels->range(job->queue, x, &job->all);
    case KMEANS_PASS_BAD:
        return kmeans_scale_refuse(job, x);
    case KMEANS_PASS_MEANS:
        return job->kernels->assign(job->queue, x, &job->all, (struct span){0});
    case KMEANS_PASS_SQUARES:
        return job->kernels->squares(job->queue, x, &job->all);
    case KMEANS_PASS_RUNS:
        return kmeans_runs_points(job, x, memory);
    case KMEANS_PASS_LABELS:
        return kmeans_labels_points(job, x, memory);
    case KMEANS_PASS_NONE:
        break;
    }
    return STATUS_OK;
}

/* Hands over the points of the open block that are complete: LEAST_CELLS and half a unit, or more,
 * since it is not worth while for fewer; or `all`, the block being full or the last one. */
static enum status hand_over(struct kmeans_job *job, bool all)
{
    const size_t d = job->layout.n_columns, size = dtype_bytes(job->layout.type);
    struct kmeans_block *const b = job->open;
    const size_t n = (size_t)(job->n_cells / d) - job->n_done, begin = job->n_done - b->first;
    const size_t half = job->layout.unit / 2;
    if (n == 0 || (!all && (n < LEAST_CELLS / d || n < half))) {
        return STATUS_OK;
    }
    const struct kmeans_points x = {.at = span_from(b->at, begin * d * size),
                                    .type = job->layout.type,
                                    .n = n,
                                    .n_columns = d,
                                    .first = job->n_done};
    job->n_done += n;
    b->n += n;
    return compute(job, &x, job->scratch);
}

/* The block that numbers go to next. Of those that stay a new one, for all points or for as many
 * more as there is memory for; else the one of two that was filled before the last. */
static enum status open_block(struct kmeans_job *job)
{
    const struct kmeans_layout *const l = &job->layout;
    const size_t row_bytes = l->n_columns * dtype_bytes(l->type);
    const size_t held = (size_t)(job->n_cells / l->n_columns);
    struct kmeans_block *b = &job->staging[job->turn];
    job->turn = 1 - job->turn;
    b->capacity = l->unit;
    if (l->resident) {
        struct kmeans_block *blocks = realloc(job->blocks, (job->n_blocks + 1) * sizeof *blocks);
        if (blocks == NULL) {
            return status_fail(STATUS_NO_MEMORY, "no memory for %zu blocks", job->n_blocks + 1);
        }
        job->blocks = blocks;
        b = &blocks[job->n_blocks++];
        *b = (struct kmeans_block){.capacity = job->reserved > held ? job->reserved - held : 1};
    }
    if (b->at.at == NULL) {
        size_t bytes;
        if (!checked_mul(b->capacity, row_bytes, &bytes)) {
            return status_fail(STATUS_TOO_LARGE, "%s: %zu points need more than 2^64 bytes",
                               job->name, b->capacity);
        }
        STATUS_TRY(kmeans_alloc(job, bytes, &b->at));
    }
    b->n = 0;
    b->first = held;
    job->open = b;
    return STATUS_OK;
}

/* Numbers in file order, row by row. */
static enum status take_cells(struct kmeans_job *job, const char *from, size_t left)
{
    const size_t d = job->layout.n_columns, size = dtype_bytes(job->layout.type);
    if (job->pass == KMEANS_PASS_RANGE) {
        see_cells(job, from, left);
    }
    while (left > 0) {
        if (job->open == NULL) {
            STATUS_TRY(open_block(job));
        }
        struct kmeans_block *const b = job->open;
        const size_t filled = (size_t)(job->n_cells - b->first * d),
                     room = b->capacity * d - filled;
        const size_t n = left < room ? left : room;
        STATUS_TRY(job->ops->upload(job->queue, span_from(b->at, filled * size), from, n * size,
                                    &job->ticket));
        job->n_cells += n;
        from += n * size;
        left -= n;
        STATUS_TRY(hand_over(job, n == room));
        if (n == room) {
            job->open = NULL;
        }
    }
    return STATUS_OK;
}

/* Whether the points can still stay, as was planned. Where their number is not known, the engine
 * plans with half as many again when lines exceed what it has planned with (stage.h); if so many
 * would not fit, neither is there memory for these. */
static bool still_fit(struct kmeans_job *job, size_t n_cells)
{
    const struct kmeans_layout *l = &job->layout;
    const size_t lines = (size_t)((job->n_cells + n_cells + l->n_columns - 1) / l->n_columns);
    if (!l->resident || l->n_known || lines <= job->reserved) {
        return true;
    }
    job->reserved = lines + lines / 2;
    return kmeans_layout_fits(&job->args, &job->choice, l, job->reserved);
}

/* Part of the columns of a table, into its rows. */
static enum status take_columns(struct kmeans_job *job, const struct table_chunk *chunk)
{
    const struct kmeans_layout *l = &job->layout;
    const size_t size = dtype_bytes(l->type);
    const char *const from = chunk->values;
    size_t bytes;
    if (job->columns == NULL && checked_mul(l->n, l->n_columns * size, &bytes)) {
        job->columns = malloc(bytes);
    }
    if (job->columns == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu points", l->n);
    }
    if (chunk->n_cells > l->n * l->n_columns - job->n_cells) {
        return status_fail(STATUS_INTERNAL, "%s: more numbers than announced", job->name);
    }
    for (size_t k = 0; k < chunk->n_cells; k++) {
        const size_t cell = (size_t)job->n_cells + k, row = cell % l->n, column = cell / l->n;
        memcpy(job->columns + (row * l->n_columns + column) * size, from + k * size, size);
    }
    job->n_cells += chunk->n_cells;
    return STATUS_OK;
}

/* Numbers of whole rows and parts of them, of which those with missing values are left out. */
static enum status take_kept(struct kmeans_job *job, char *from, size_t n)
{
    const size_t d = job->layout.n_columns, size = dtype_bytes(job->layout.type);
    size_t n_kept = 0;
    if (job->partial_cells > 0) {
        const size_t some = fill_row(job, job->partial, &job->partial_cells, from, n);
        if (job->partial_cells < d) {
            return STATUS_OK;
        }
        from += some * size;
        n -= some;
        STATUS_TRY(kmeans_kept_drop(job, job->partial, 1, &n_kept));
        STATUS_TRY(take_cells(job, job->partial, n_kept * d));
        STATUS_TRY(job->ops->upload_wait(job->queue, job->ticket));
    }
    job->partial_cells = 0;
    (void)fill_row(job, job->partial, &job->partial_cells, from + (n - n % d) * size, n % d);
    STATUS_TRY(kmeans_kept_drop(job, from, n / d, &n_kept));
    return take_cells(job, from, n_kept * d);
}

enum status kmeans_points_take(struct kmeans_job *job, const struct table_chunk *chunk)
{
    if (chunk->n_missing > 0 && !job->choice.drop) {
        return refuse_missing(job, chunk);
    }
    if (job->layout.by_columns) {
        return take_columns(job, chunk);
    }
    STATUS_TRY(kmeans_names_take(job, chunk));
    if (job->too_many || !still_fit(job, chunk->n_cells)) {
        job->too_many = true; /* but missing cells are still looked for */
        kmeans_points_free(job);
        job->n_cells += chunk->n_cells;
        return STATUS_OK;
    }
    return job->choice.drop ? take_kept(job, chunk->values, chunk->n_cells)
                            : take_cells(job, chunk->values, chunk->n_cells);
}

enum status kmeans_points_end(struct kmeans_job *job)
{
    const size_t d = job->layout.n_columns;
    if (job->columns != NULL) {
        size_t n = (size_t)job->n_cells / d;
        job->n_cells = 0;
        if (job->choice.drop) {
            STATUS_TRY(kmeans_kept_drop(job, job->columns, n, &n));
        }
        STATUS_TRY(take_cells(job, job->columns, n * d));
        STATUS_TRY(job->ops->upload_wait(job->queue, job->ticket));
        free(job->columns);
        job->columns = NULL;
    }
    if (job->n_cells % d != 0 || job->partial_cells != 0) {
        const unsigned long long row = job->n_cells / d;
        return status_fail(STATUS_INTERNAL, "%s: the numbers end within row %llu", job->name,
                           row + 1);
    }
    if (job->open != NULL) {
        STATUS_TRY(hand_over(job, true));
        job->open = NULL;
    }
    return STATUS_OK;
}

enum status kmeans_points_again(struct kmeans_job *job, enum kmeans_pass pass)
{
    job->pass = pass;
    job->n_cells = 0;
    job->n_done = 0;
    job->open = NULL;
    for (size_t b = 0; b < job->n_blocks; b++) {
        const struct kmeans_block *const block = &job->blocks[b];
        const struct kmeans_points x = {.at = block->at,
                                        .type = job->layout.type,
                                        .n = block->n,
                                        .n_columns = job->layout.n_columns,
                                        .first = block->first};
        STATUS_TRY(compute(job, &x, block->memory));
    }
    return STATUS_OK;
}

enum status kmeans_points_memory(struct kmeans_job *job)
{
    if (!job->layout.resident) {
        return kmeans_alloc(job, job->layout.unit * sizeof(int32_t), &job->scratch);
    }
    for (size_t b = 0; b < job->n_blocks; b++) {
        struct kmeans_block *const block = &job->blocks[b];
        STATUS_TRY(kmeans_alloc(job, kmeans_memory_bytes(block->n), &block->memory));
    }
    return STATUS_OK;
}

void kmeans_points_free(struct kmeans_job *job)
{
    for (size_t i = 0; i < job->n_blocks; i++) {
        kmeans_release(job, &job->blocks[i].at);
        kmeans_release(job, &job->blocks[i].memory);
    }
    free(job->blocks);
    job->blocks = NULL;
    job->n_blocks = 0;
    job->open = NULL;
    for (size_t i = 0; i < 2; i++) {
        kmeans_release(job, &job->staging[i].at);
    }
    kmeans_release(job, &job->scratch);
    kmeans_names_free(&job->names);
    free(job->columns);
    job->columns = NULL;
}
