/*
 * generate_source - see generate_source.h. Whole rows come from the backend's kernel; columns, and
 * rows longer than a block, from walk.h, which can go on where it stopped.
 */
#include "pipeline/generate/generate_source.h"

#include "formats/base/checked.h"
#include "pipeline/generate/walk.h"

#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_PER_TASK = 64,
    BYTES_PER_CELL_MAX = 32 /* of text; for the check that the file's size can be counted */
};

static enum status check_size(const struct generate_source *g)
{
    const struct generate_order *o = g->order;
    size_t cells, bytes;
    if (!checked_mul(g->n_lines, g->cells_per_line, &cells) ||
        !checked_mul(cells, BYTES_PER_CELL_MAX, &bytes)) {
        return status_fail(STATUS_TOO_LARGE, "%llu series of %llu samples: more than a file holds",
                           (unsigned long long)o->n_series, (unsigned long long)o->n_samples);
    }
    if (o->columns && o->n_series > GENERATE_COLUMNS_MAX) {
        return status_fail(STATUS_TOO_LARGE,
                           "%llu series in columns: at most %llu are walked side by side; use "
                           "--layout rows",
                           (unsigned long long)o->n_series,
                           (unsigned long long)GENERATE_COLUMNS_MAX);
    }
    return STATUS_OK;
}

enum status generate_source_open(const struct generate_order *order, struct backend *backend,
                                 const struct executor *executor, struct generate_source *out)
{
    memset(out, 0, sizeof(*out));
    struct generate_source *g = out;
    g->order = order;
    g->executor = executor;
    g->backend = backend;
    g->n_lines = order->columns ? order->n_samples : order->n_series;
    g->cells_per_line = order->columns ? order->n_series : order->n_samples;
    STATUS_TRY(check_size(g));
    uint64_t cells = g->n_lines * g->cells_per_line;
    g->block_bytes = (cells < GENERATE_BLOCK_CELLS ? (size_t)cells : GENERATE_BLOCK_CELLS) *
                     dtype_bytes(order->type);
    g->value = calloc(order->columns ? (size_t)order->n_series : 1, sizeof(double));
    if (g->value == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %llu series",
                           (unsigned long long)order->n_series);
    }
    STATUS_TRY(backend->ops->queue_new(backend, &g->queue));
    return backend->ops->alloc(g->queue, g->block_bytes, &g->device);
}

void generate_source_close(struct generate_source *g)
{
    if (g->device.at != NULL) {
        g->backend->ops->release(g->queue, g->device);
    }
    if (g->queue != NULL) {
        g->backend->ops->queue_free(g->queue);
    }
    free(g->value);
    memset(g, 0, sizeof(*g));
}

bool generate_source_next(const struct generate_source *g, const struct generate_block *before,
                          struct generate_block *b)
{
    b->first_line = b->first_cell = 0;
    if (before != NULL) {
        bool line_goes_on = before->first_cell + before->cells_per_line < g->cells_per_line;
        b->first_line = line_goes_on ? before->first_line : before->first_line + before->n_lines;
        b->first_cell = line_goes_on ? before->first_cell + before->cells_per_line : 0;
    }
    uint64_t cells = g->cells_per_line - b->first_cell, lines = g->n_lines - b->first_line;
    uint64_t lines_that_fit =
        g->cells_per_line < GENERATE_BLOCK_CELLS ? GENERATE_BLOCK_CELLS / g->cells_per_line : 1;
    b->cells_per_line = cells < GENERATE_BLOCK_CELLS ? (size_t)cells : GENERATE_BLOCK_CELLS;
    b->n_lines = (size_t)(lines < lines_that_fit ? lines : lines_that_fit);
    return lines > 0;
}

static enum status fill_rows(struct generate_source *g, const struct generate_block *b)
{
    const struct generate_order *o = g->order;
    const struct backend_ops *ops = g->backend->ops;
    const struct series_rows rows = {.at = g->device,
                                     .type = o->type,
                                     .n_series = b->n_lines,
                                     .n_samples = b->cells_per_line,
                                     .first = (size_t)b->first_line};
    STATUS_TRY(ops->philox->walk_rows(g->queue, &o->walk, &rows));
    return ops->download(g->queue, b->values, g->device,
                         b->n_lines * b->cells_per_line * dtype_bytes(o->type));
}

struct walk_job {
    const struct generate_source *source;
    const struct generate_block *block;
};

/* Series in columns, COLUMNS_PER_TASK of them; or a part of one row. */
static void walk_task(void *arg, size_t index)
{
    const struct walk_job *const f = arg;
    const struct generate_block *const b = f->block;
    const struct generate_order *const o = f->source->order;
    const size_t first = index * COLUMNS_PER_TASK, left = b->cells_per_line - first;
    struct walk_piece piece = {.first_series = b->first_line,
                               .first_sample = b->first_cell,
                               .n_series = 1,
                               .n_samples = b->cells_per_line,
                               .sample_step = 1,
                               .type = o->type,
                               .out = (char *)b->values + first * dtype_bytes(o->type),
                               .value = f->source->value + first};
    if (o->columns) {
        piece.first_series = first;
        piece.first_sample = b->first_line;
        piece.n_series = left < COLUMNS_PER_TASK ? left : COLUMNS_PER_TASK;
        piece.n_samples = b->n_lines;
        piece.series_step = 1;
        piece.sample_step = b->cells_per_line;
    }
    walk_fill(&o->walk, &piece);
}

enum status generate_source_fill(struct generate_source *g, const struct generate_block *b)
{
    if (!g->order->columns && g->cells_per_line <= GENERATE_BLOCK_CELLS) {
        return fill_rows(g, b);
    }
    struct walk_job fill = {g, b};
    const size_t n_tasks = g->order->columns ? (b->cells_per_line - 1) / COLUMNS_PER_TASK + 1 : 1;
    g->executor->run(g->executor->context, n_tasks, walk_task, &fill);
    return STATUS_OK;
}

bool generate_source_is_gap(const struct generate_source *g, const struct generate_block *b,
                            size_t cell)
{
    const struct generate_order *o = g->order;
    uint64_t line = b->first_line + cell / b->cells_per_line;
    uint64_t in_line = b->first_cell + cell % b->cells_per_line;
    return o->gaps > 0 &&
           walk_is_gap(&o->walk, o->gaps, o->columns ? in_line : line, o->columns ? line : in_line);
}
