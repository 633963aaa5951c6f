/*
 * kmeans_points - whole points to the kernels: as they come for the first time, and once more for
 * each further pass.
 *
 * Points that stay are in one block where their number is known. Others are read into two blocks in
 * turn. Kernels take points while the next are read.
 */
#include "stages/kmeans/kmeans_job.h"

#include <math.h>
#include <stdio.h>

enum { LEAST_CELLS = 1 << 16 }; /* for which a call of a kernel is worth while */

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
    kmeans_sample_take((struct kmeans_sample *const[]){&job->solve.sample, &job->shown}, 2,
                       job->choice.request.seed, &rows);
    for (size_t i = 0; job->layout.has_weight && i < n && job->below == 0; i++) {
        const double weight = kmeans_rows_cell(&rows, i * rows.n_columns + job->layout.weight);
        job->below = weight < 0 ? kmeans_kept_row(job, first + i) + 1 : 0;
    }
    for (size_t i = 0; i < n && !job->is_not_index; i++) {
        const double x = kmeans_rows_cell(&rows, i * rows.n_columns);
        const double row = (double)kmeans_kept_row(job, first + i);
        job->index_from = first + i == 0 ? x - row : job->index_from;
        job->is_not_index = x != job->index_from + row;
    }
}

static enum status take_chunk(void *context, const struct table_chunk *chunk)
{
    struct kmeans_job *const job = context;
    if (chunk->n_missing > 0 && !job->choice.drop) {
        return refuse_missing(job, chunk);
    }
    job->n_cells += chunk->n_cells;
    return kmeans_names_take(job, chunk);
}

/* Whether the points can still stay, as was planned. Where their number is not known, the engine
 * plans with half as many again when lines exceed what it has planned with (stage.h); if so many
 * would not fit, neither is there memory for these. */
static bool still_fit(struct kmeans_job *job, size_t n)
{
    const struct kmeans_layout *const l = &job->layout;
    if (!l->resident || l->n_known || n <= job->reserved) {
        return true;
    }
    job->reserved = n + n / 2;
    return kmeans_fits(job, job->reserved);
}

static enum status look_at_rows(void *context, void *cells, size_t n, uint64_t first,
                                size_t *n_kept)
{
    struct kmeans_job *const job = context;
    if (!job->has_seen && !still_fit(job, (size_t)first + n)) {
        return status_fail(STATUS_START_OVER, "%s: more points than fit memory", job->name);
    }
    if (job->layout.n_known && first + n > job->layout.n) {
        return status_fail(STATUS_INTERNAL, "%s: more rows than the %zu that were announced",
                           job->name, job->layout.n);
    }
    if (job->choice.drop) {
        STATUS_TRY(kmeans_kept_drop(job, cells, n, n_kept));
    }
    if (!job->has_seen) {
        see_rows(job, cells, *n_kept, job->n);
        job->n += *n_kept;
    }
    return STATUS_OK;
}

/* --- the backend's side ----------------------------------------------------------------------- */

static size_t row_bytes(const struct kmeans_job *job)
{
    return job->layout.n_columns * dtype_bytes(job->layout.type);
}

/* The next points into `to`, which has room for `most`, and to `visit`; *n of them, 0: the end. */
static enum status read_some(struct kmeans_job *job, struct span to, size_t most, size_t first,
                             kmeans_visit_fn *visit, void *arg, size_t *n)
{
    const size_t half = job->layout.unit / 2, few = LEAST_CELLS / job->layout.n_columns;
    const size_t worth = half > few ? half : few, least = worth < most ? worth : most;
    STATUS_TRY(rows_read(&job->rows, job->io, to, least > 0 ? least : 1, most, n));
    if (job->has_seen && (*n > 0 ? first + *n > job->n : first != job->n)) {
        return status_fail(STATUS_CHANGED, "'%s' changed while it was read", job->name);
    }
    const struct kmeans_points x = {.at = to,
                                    .type = job->layout.type,
                                    .n = *n,
                                    .n_columns = job->layout.n_columns,
                                    .first = first};
    STATUS_TRY(queue_check(job->queue));
    return *n > 0 ? visit(arg, &x, job->scratch) : STATUS_OK;
}

/* Points that stay. */
static enum status read_all(struct kmeans_job *job, kmeans_visit_fn *visit, void *arg)
{
    size_t n_held = 0, n;
    bool are;
    STATUS_TRY(rows_more(&job->rows, job->io, &are));
    while (are) {
        struct kmeans_block *b = &job->blocks[job->n_blocks - 1];
        if (b->n == b->capacity) { /* as many more as there is memory for */
            b = &job->blocks[job->n_blocks++];
            STATUS_TRY(
                kmeans_block_room(&job->solve.request, &job->io->room, job->reserved - n_held, b));
            b->first = n_held;
        }
        STATUS_TRY(read_some(job, span_from(b->at, b->n * row_bytes(job)), b->capacity - b->n,
                             n_held, visit, arg, &n));
        b->n += n;
        n_held += n;
        STATUS_TRY(rows_more(&job->rows, job->io, &are));
    }
    return STATUS_OK;
}

/* Points that do not. */
static enum status read_in_turn(struct kmeans_job *job, kmeans_visit_fn *visit, void *arg)
{
    size_t n_done = 0, n = 1;
    for (size_t turn = 0; n > 0; turn = 1 - turn) {
        STATUS_TRY(read_some(job, job->staging[turn], job->layout.unit, n_done, visit, arg, &n));
        n_done += n;
    }
    return STATUS_OK;
}

/* The first pass has ended: whether what came can be clustered. */
static enum status check_points(const struct kmeans_job *job)
{
    const struct kmeans_layout *const l = &job->layout;
    if (job->n == 0 && job->n_rows > 0) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: each of its %zu rows has a missing value; leave out the columns "
                           "that have them (of a CSV: columns)",
                           job->name, job->n_rows);
    }
    if (job->n == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: no row holds numbers", job->name);
    }
    if (l->n_known && job->n_rows != l->n) {
        return status_fail(STATUS_INTERNAL, "%s: %zu rows came, %zu were announced", job->name,
                           job->n_rows, l->n);
    }
    return kmeans_check_points(job, job->n);
}

static enum status read_first(struct kmeans_job *job, kmeans_visit_fn *visit, void *arg)
{
    job->reserved = job->layout.n;
    job->rows.look = look_at_rows;
    job->rows.chunk = take_chunk;
    job->rows.context = job;
    STATUS_TRY(job->layout.resident ? read_all(job, visit, arg) : read_in_turn(job, visit, arg));
    STATUS_TRY(rows_end(&job->rows, job->io));
    job->n_rows = (size_t)job->rows.n_seen;
    job->has_seen = true;
    STATUS_TRY(check_points(job));
    return job->choice.given ? kmeans_given_take(job) : STATUS_OK;
}

enum status kmeans_points_visit(void *context, kmeans_visit_fn *visit, void *arg)
{
    struct kmeans_job *const job = context;
    if (!job->has_seen) {
        return read_first(job, visit, arg);
    }
    if (!job->layout.resident) {
        STATUS_TRY(rows_again(&job->rows, job->io));
        return read_in_turn(job, visit, arg);
    }
    for (size_t b = 0; b < job->n_blocks; b++) {
        STATUS_TRY(queue_check(job->queue));
        STATUS_TRY(kmeans_block_visit(&job->solve.request, &job->blocks[b], visit, arg));
    }
    return STATUS_OK;
}
