/*
 * generate - see generate.h. The file is a matrix, made batch by batch: of whole lines, where they
 * are not longer than a batch. Whole rows come from the backend's kernel; columns, and rows that
 * are longer, from walk.h, which can go on where it stopped.
 */
#include "pipeline/generate/generate.h"

#include "pipeline/generate/generate_table.h"
#include "pipeline/generate/walk.h"

#include <math.h>
#include <stdlib.h>

enum { COLUMNS_PER_TASK = 64 };

struct source {
    const struct generate_order *order;
    const struct executor *executor;
    struct backend *backend;
    uint64_t n_cells, cells_per_line; /* of the whole file */
    size_t batch_cells;
    struct queue *queue;
    struct span device; /* rows, on the backend */
    void *values[2];    /* of even and of odd batches, in the backend's host memory */
    double *last;       /* columns, or the one row that is cut: where each walk stands */
};

/* --- values ---------------------------------------------------------------------------------- */

/* Series in columns, COLUMNS_PER_TASK of them, of whole lines. */
struct columns {
    const struct source *source;
    uint64_t first_line;
    size_t n_lines;
    void *values;
};

static void walk_columns(void *arg, size_t index)
{
    const struct columns *const c = arg;
    const struct generate_order *const o = c->source->order;
    const size_t first = index * COLUMNS_PER_TASK, left = (size_t)o->n_series - first;
    const struct walk_piece piece = {.first_series = first,
                                     .first_sample = c->first_line,
                                     .n_series = left < COLUMNS_PER_TASK ? left : COLUMNS_PER_TASK,
                                     .n_samples = c->n_lines,
                                     .series_step = 1,
                                     .sample_step = (size_t)o->n_series,
                                     .type = o->type,
                                     .out = (char *)c->values + first * dtype_bytes(o->type),
                                     .value = c->source->last + first};
    walk_fill(&o->walk, &piece);
}

/* n cells of rows that are longer than a batch. */
static void walk_row(const struct source *s, uint64_t cell, size_t n, void *values)
{
    for (size_t done = 0; done < n;) {
        const uint64_t sample = (cell + done) % s->cells_per_line;
        const uint64_t left = s->cells_per_line - sample;
        const struct walk_piece piece = {.first_series = (cell + done) / s->cells_per_line,
                                         .first_sample = sample,
                                         .n_series = 1,
                                         .n_samples = n - done < left ? n - done : (size_t)left,
                                         .sample_step = 1,
                                         .type = s->order->type,
                                         .out = (char *)values + done * dtype_bytes(s->order->type),
                                         .value = s->last};
        walk_fill(&s->order->walk, &piece);
        done += piece.n_samples;
    }
}

static enum status compute_rows(const struct source *s, uint64_t first, size_t n, void *values)
{
    const struct backend_ops *ops = s->backend->ops;
    const struct series_rows rows = {.at = s->device,
                                     .type = s->order->type,
                                     .n_series = n,
                                     .n_samples = (size_t)s->cells_per_line,
                                     .first = (size_t)first};
    STATUS_TRY(ops->philox->walk_rows(s->queue, &s->order->walk, &rows));
    return ops->download(s->queue, values, s->device,
                         n * (size_t)s->cells_per_line * dtype_bytes(s->order->type));
}

static enum status compute(void *context, uint64_t batch)
{
    const struct source *const s = context;
    const uint64_t cell = batch * s->batch_cells, left = s->n_cells - cell;
    const size_t n = left < s->batch_cells ? (size_t)left : s->batch_cells;
    void *const values = s->values[batch % 2];
    if (s->order->columns) {
        struct columns c = {s, cell / s->cells_per_line, n / (size_t)s->cells_per_line, values};
        s->executor->run(s->executor->context,
                         (size_t)(s->order->n_series - 1) / COLUMNS_PER_TASK + 1, walk_columns, &c);
    } else if (s->cells_per_line > GENERATE_BATCH_CELLS) {
        walk_row(s, cell, n, values);
    } else {
        return compute_rows(s, cell / s->cells_per_line, n / (size_t)s->cells_per_line, values);
    }
    return STATUS_OK;
}

static void fill(const void *context, uint64_t line, uint64_t first, size_t n, double *out)
{
    const struct source *const s = context;
    const struct generate_order *const o = s->order;
    const uint64_t cell = line * s->cells_per_line + first;
    const void *const values = s->values[cell / s->batch_cells % 2];
    const size_t at = (size_t)(cell % s->batch_cells);
    for (size_t i = 0; i < n; i++) {
        out[i] = o->type == DTYPE_F32 ? (double)((const float *)values)[at + i]
                                      : ((const double *)values)[at + i];
    }
    for (size_t i = 0; o->gaps > 0 && i < n; i++) {
        const uint64_t in_line = first + i;
        if (walk_is_gap(&o->walk, o->gaps, o->columns ? in_line : line,
                        o->columns ? line : in_line)) {
            out[i] = NAN;
        }
    }
}

static enum status put_name(const void *context, uint64_t column, struct bytes *out)
{
    (void)context;
    return bytes_printf(out, "s%llu", (unsigned long long)column);
}

/* --- a whole file ---------------------------------------------------------------------------- */

static enum status open_source(struct source *s)
{
    const struct backend_ops *const ops = s->backend->ops;
    const uint64_t cells = s->n_cells < s->batch_cells ? s->n_cells : s->batch_cells;
    const size_t bytes = (size_t)cells * dtype_bytes(s->order->type);
    s->last = calloc(s->order->columns ? (size_t)s->order->n_series : 1, sizeof(double));
    if (s->last == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %llu series",
                           (unsigned long long)s->order->n_series);
    }
    STATUS_TRY(ops->queue_new(s->backend, &s->queue));
    STATUS_TRY(ops->alloc(s->queue, bytes, &s->device));
    STATUS_TRY(ops->host_alloc(s->backend, bytes, &s->values[0]));
    return ops->host_alloc(s->backend, bytes, &s->values[1]);
}

static void close_source(struct source *s)
{
    const struct backend_ops *const ops = s->backend->ops;
    for (size_t i = 0; i < 2; i++) {
        if (s->values[i] != NULL) {
            ops->host_free(s->backend, s->values[i]);
        }
    }
    if (s->device.at != NULL) {
        ops->release(s->queue, s->device);
    }
    if (s->queue != NULL) {
        ops->queue_free(s->queue);
    }
    free(s->last);
}

enum status generate_file(const struct generate_order *o, struct backend *backend,
                          const struct executor *executor, uint64_t *bytes)
{
    struct source s = {.order = o,
                       .executor = executor,
                       .backend = backend,
                       .cells_per_line = o->columns ? o->n_series : o->n_samples};
    struct generate_table table = {.n_lines = o->columns ? o->n_samples : o->n_series,
                                   .cells_per_line = s.cells_per_line,
                                   .type = o->type == DTYPE_F32 ? NPY_F4 : NPY_F8,
                                   .context = &s,
                                   .fill = fill,
                                   .prepare = compute,
                                   .put_name = o->columns ? put_name : NULL,
                                   .path = o->path,
                                   .csv = o->csv,
                                   .force = o->force};
    *bytes = 0;
    STATUS_TRY(generate_table_check(&table));
    if (o->columns && o->n_series > GENERATE_COLUMNS_MAX) {
        return status_fail(STATUS_TOO_LARGE,
                           "%llu series in columns: at most %llu are walked side by side; use "
                           "--layout rows",
                           (unsigned long long)o->n_series,
                           (unsigned long long)GENERATE_COLUMNS_MAX);
    }
    s.n_cells = table.n_lines * table.cells_per_line;
    const size_t lines = GENERATE_BATCH_CELLS / (size_t)s.cells_per_line; /* that fit */
    s.batch_cells = lines > 0 ? lines * (size_t)s.cells_per_line : GENERATE_BATCH_CELLS;
    table.batch_cells = s.batch_cells;
    enum status status = open_source(&s);
    if (status == STATUS_OK) {
        status = generate_tables(&table, 1, executor, bytes);
    }
    close_source(&s);
    return status;
}
