/*
 * pearson_rows - panels of series: increments, moments, standard form, products.
 *
 *   panel complete -> (diff_rows) -> means -> standardize into the block -> gram with each block
 *
 * Once other devices help, they take some of the panels (pearson_share.c): those of a table that
 * knows its length, which is one block.
 *
 * Gaps are known when the moments are on the host, at the end; then each pair of panels of which
 * one has a series with gaps is corrected (gram_gaps). That takes the exact form: where the matrix
 * is of another form, the two panels are standardized again, from the series that were kept for it.
 *
 * Pairs whose common samples lie very far from the mean of a series, because of an outlier
 * elsewhere, take the series themselves. The exact form keeps no series, which would double its
 * memory for what hardly any table has: the job starts over and keeps them.
 */
#include "stages/pearson/pearson_job.h"

#include <stdlib.h>

static size_t z_bytes(const struct pearson_job *job, enum pearson_precision precision)
{
    return job->ops->pearson->z_bytes(job->queue, precision, job->n_samples);
}

static size_t x_bytes(const struct pearson_job *job)
{
    return job->n_samples * dtype_bytes(job->layout.x_type);
}

static struct span z_of(const struct pearson_job *job, const struct series_block *block,
                        size_t series)
{
    return span_from(block->z, (series - block->first) * z_bytes(job, job->choice.used));
}

static struct span x_of(const struct pearson_job *job, const struct series_block *block,
                        size_t series)
{
    return span_from(block->x, (series - block->first) * x_bytes(job));
}

static enum status rows_open(struct pearson_job *job)
{
    job->n_samples = pearson_layout_samples(&job->layout, job->layout.lines);
    return STATUS_OK;
}

/* Makes room for the moments of `capacity` series, keeping those that are there. */
static enum status grow_moments(struct pearson_job *job, size_t capacity)
{
    struct moments grown = {.capacity = capacity, .min_samples = job->moments.min_samples};
    STATUS_TRY(pearson_job_alloc(job, capacity, moments_bytes(1), &grown.at));
    struct moments old = job->moments;
    job->moments = grown;
    const size_t have = old.capacity * sizeof(double);
    enum status st = STATUS_OK;
    for (size_t f = 0; f < MOMENTS_FIELDS && have > 0 && st == STATUS_OK; f++) {
        st = job->ops->copy(job->queue, span_from(grown.at, f * capacity * sizeof(double)),
                            span_from(old.at, f * have), have);
    }
    pearson_job_release(job, &old.at);
    return st;
}

/* Begins a block after the others: all that is known or guessed at first, later half as much again
 * as there is. */
static enum status add_block(struct pearson_job *job, size_t first)
{
    const struct pearson_layout *l = &job->layout;
    const size_t half = first / 2 > l->panel ? first / 2 : l->panel;
    const size_t wanted = first == 0 ? l->lines : half;
    struct series_block *blocks = realloc(job->blocks, (job->n_blocks + 1) * sizeof *job->blocks);
    if (blocks == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu blocks", job->n_blocks + 1);
    }
    job->blocks = blocks;
    struct series_block *block = &blocks[job->n_blocks++];
    *block = (struct series_block){.first = first, .rows = wanted};
    if (!l->lines_known) {
        block->rows = (wanted + l->panel - 1) / l->panel * l->panel;
    }
    STATUS_TRY(pearson_job_alloc(job, block->rows, z_bytes(job, job->choice.used), &block->z));
    if (l->keep_x) {
        STATUS_TRY(pearson_job_alloc(job, block->rows, x_bytes(job), &block->x));
    }
    return grow_moments(job, first + block->rows);
}

/* Once there is one. */
static const struct series_block *last_block(const struct pearson_job *job)
{
    return &job->blocks[job->n_blocks - 1];
}

static enum status rows_begin(struct pearson_job *job, struct span *unit)
{
    if (job->n_blocks == 0 || job->lines >= last_block(job)->first + last_block(job)->rows) {
        STATUS_TRY(add_block(job, job->lines));
    }
    if (job->layout.keep_x && job->layout.n_dropped == 0) {
        *unit = x_of(job, last_block(job), job->lines);
        return STATUS_OK;
    }
    return pearson_job_stage(job, unit);
}

/* The series that have just arrived, as they are correlated. */
static enum status arrived_series(struct pearson_job *job, struct series_rows *x)
{
    if (job->layout.n_dropped == 0) {
        x->at = job->unit;
        return STATUS_OK;
    }
    struct series_rows levels = {.at = job->unit,
                                 .type = job->layout.type,
                                 .n_series = x->n_series,
                                 .n_samples = job->layout.cells};
    if (!job->layout.keep_x && job->increments.at == NULL) {
        STATUS_TRY(pearson_job_alloc(job, job->layout.unit_lines, x_bytes(job), &job->increments));
    }
    x->at = job->layout.keep_x ? x_of(job, last_block(job), job->lines) : job->increments;
    return job->ops->pearson->diff_rows(job->queue, &levels, job->choice.diff, x->at);
}

/* The products of the n series from `first` on with all up to them. */
static enum status multiply(struct pearson_job *job, size_t first, size_t n)
{
    const struct series_block *last = last_block(job);
    struct pearson_panel panel = {.precision = job->choice.used,
                                  .n_samples = job->n_samples,
                                  .a = {.z = z_of(job, last, first), .first = first, .n = n},
                                  .moments = job->moments,
                                  .width = first + n};
    STATUS_TRY(pearson_job_panel(job, n, first + n, &panel.r));
    if (job->shared != NULL) {
        panel.b = (struct pearson_side){.z = last->z, .n = first + n};
        STATUS_TRY(panels_give(job->shared, panel.a.z, first, n));
        return panels_gram(job->shared, &panel);
    }
    for (const struct series_block *b = job->blocks; b <= last; b++) {
        const size_t end = b == last ? first + n : b->first + b->rows;
        panel.b = (struct pearson_side){.z = b->z, .first = b->first, .n = end - b->first};
        STATUS_TRY(job->ops->pearson->gram(job->queue, &panel));
    }
    return STATUS_OK;
}

static enum status rows_take(struct pearson_job *job, size_t n_lines)
{
    struct series_rows x = {.type = job->layout.x_type,
                            .n_series = n_lines,
                            .n_samples = job->n_samples,
                            .first = job->lines};
    STATUS_TRY(arrived_series(job, &x));
    STATUS_TRY(job->ops->means->rows(job->queue, &x, job->moments));
    STATUS_TRY(job->ops->pearson->standardize(job->queue, job->choice.used, &x, job->moments,
                                              z_of(job, last_block(job), x.first)));
    return multiply(job, x.first, n_lines);
}

static void end_sharing(struct pearson_job *job)
{
    panels_close(job->shared);
    job->shared = NULL;
}

static enum status rows_finish(struct pearson_job *job)
{
    job->n_series = job->lines;
    if (job->shared != NULL) {
        STATUS_TRY(panels_collect(job->shared));
        end_sharing(job);
    }
    pearson_job_unstage(job);
    pearson_job_release(job, &job->increments);
    return STATUS_OK;
}

/* --- gaps ------------------------------------------------------------------------------------- */

static size_t panel_end(const struct pearson_job *job, size_t p)
{
    return matrix_panel_width(p, job->layout.panel, job->n_series);
}

/* The series of panel p in the exact form; `which` of the two buffers may be used for it. */
static enum status exact_panel(struct pearson_job *job, size_t p, size_t which,
                               struct pearson_side *side)
{
    const size_t first = p * job->layout.panel;
    const struct series_block *block = job->blocks;
    while (first >= block->first + block->rows) {
        block++;
    }
    *side = (struct pearson_side){
        .x = x_of(job, block, first), .first = first, .n = panel_end(job, p) - first};
    if (job->choice.used == PEARSON_EXACT) {
        side->z = z_of(job, block, first);
        return STATUS_OK;
    }
    if (job->exact[which].at == NULL) {
        const size_t rows = panel_end(job, 0);
        STATUS_TRY(pearson_job_alloc(job, rows, z_bytes(job, PEARSON_EXACT), &job->exact[which]));
    }
    side->z = job->exact[which];
    const struct series_rows x = {.at = side->x,
                                  .type = job->layout.x_type,
                                  .n_series = side->n,
                                  .n_samples = job->n_samples,
                                  .first = first};
    return job->ops->pearson->standardize(job->queue, PEARSON_EXACT, &x, job->exact_moments,
                                          side->z);
}

/* Corrects panel p against itself and the panels before it. */
static enum status fill_panel(struct pearson_job *job, size_t p, const bool *gaps,
                              uint64_t *n_unsure)
{
    struct pearson_panel panel = {.precision = job->choice.used,
                                  .n_samples = job->n_samples,
                                  .x_type = job->layout.x_type,
                                  .moments = job->moments,
                                  .r = job->panels[p],
                                  .width = panel_end(job, p)};
    for (size_t b = 0; b <= p; b++) {
        if (!gaps[p] && !gaps[b]) {
            continue;
        }
        STATUS_TRY(queue_check(job->queue));
        if (panel.a.n == 0) {
            STATUS_TRY(exact_panel(job, p, 0, &panel.a));
        }
        panel.b = panel.a;
        if (b < p) {
            STATUS_TRY(exact_panel(job, b, 1, &panel.b));
        }
        STATUS_TRY(job->ops->pearson->gram_gaps(job->queue, &panel, n_unsure));
    }
    return STATUS_OK;
}

static enum status fill_panels(struct pearson_job *job, const bool *gaps)
{
    if (job->choice.used != PEARSON_EXACT) {
        /* Their own moments: computing the standard form again would change the last bits of those
         * that are reported. */
        struct moments *own = &job->exact_moments;
        own->capacity = job->moments.capacity;
        own->min_samples = job->moments.min_samples;
        STATUS_TRY(pearson_job_alloc(job, own->capacity, moments_bytes(1), &own->at));
        STATUS_TRY(
            job->ops->copy(job->queue, own->at, job->moments.at, moments_bytes(own->capacity)));
    }
    uint64_t n_unsure = 0;
    for (size_t p = 0; p < job->n_panels && n_unsure == 0; p++) {
        STATUS_TRY(fill_panel(job, p, gaps, &n_unsure));
    }
    return n_unsure == 0
               ? STATUS_OK
               : status_fail(STATUS_START_OVER, "%s: %llu pairs take the series themselves",
                             job->name, (unsigned long long)n_unsure);
}

static enum status rows_fill_missing(struct pearson_job *job)
{
    bool *gaps = calloc(job->n_panels, sizeof *gaps);
    if (gaps == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu panels", job->n_panels);
    }
    for (size_t s = 0; s < job->n_series; s++) {
        gaps[s / job->layout.panel] |= pearson_stat(job, MOMENTS_COUNT, s) < (double)job->n_samples;
    }
    const enum status st = fill_panels(job, gaps);
    free(gaps);
    return st;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Copies the series of all blocks into one span, and gives them back. */
static enum status join_blocks(struct pearson_job *job)
{
    struct span whole;
    enum status st = pearson_job_alloc(job, job->n_series, x_bytes(job), &whole);
    for (size_t i = 0; i < job->n_blocks && st == STATUS_OK; i++) {
        struct series_block *block = &job->blocks[i];
        const size_t left = job->n_series - block->first;
        const size_t n = left < block->rows ? left : block->rows;
        st = job->ops->copy(job->queue, span_from(whole, block->first * x_bytes(job)), block->x,
                            n * x_bytes(job));
        pearson_job_release(job, &block->x);
    }
    /* what a failure leaves in the other blocks is released with them */
    if (st != STATUS_OK) {
        pearson_job_release(job, &whole);
        return st;
    }
    job->blocks[0].x = whole;
    job->n_blocks = 1;
    return STATUS_OK;
}

enum status pearson_rows_series(struct pearson_job *job, struct series_rows *x)
{
    for (size_t i = 0; i < job->n_blocks; i++) {
        pearson_job_release(job, &job->blocks[i].z);
    }
    pearson_job_release(job, &job->exact[0]);
    pearson_job_release(job, &job->exact[1]);
    if (job->n_blocks > 1) {
        STATUS_TRY(join_blocks(job));
    }
    *x = (struct series_rows){.at = job->blocks[0].x,
                              .type = job->layout.x_type,
                              .n_series = job->n_series,
                              .n_samples = job->n_samples};
    return STATUS_OK;
}

struct span pearson_rows_one(const struct pearson_job *job, size_t s, bool *is_standard)
{
    const struct series_block *block = job->blocks;
    *is_standard = job->choice.used == PEARSON_EXACT;
    while (*is_standard && s >= block->first + block->rows) {
        block++;
    }
    return *is_standard ? z_of(job, block, s) : x_of(job, block, s);
}

static void rows_release(struct pearson_job *job)
{
    for (size_t s = 0; job->present != NULL && s < job->n_series; s++) {
        free(job->present[s]);
    }
    free(job->present);
    job->present = NULL;
    end_sharing(job);
    for (size_t i = 0; i < job->n_blocks; i++) {
        pearson_job_release(job, &job->blocks[i].z);
        pearson_job_release(job, &job->blocks[i].x);
    }
    free(job->blocks);
    job->blocks = NULL;
    job->n_blocks = 0;
    pearson_job_release(job, &job->increments);
    pearson_job_release(job, &job->exact[0]);
    pearson_job_release(job, &job->exact[1]);
    pearson_job_release(job, &job->exact_moments.at);
}

const struct pearson_strategy pearson_rows = {
    .open = rows_open,
    .begin = rows_begin,
    .take = rows_take,
    .helpers = pearson_share_helpers,
    .help = pearson_share_help,
    .finish = rows_finish,
    .fill_missing = rows_fill_missing,
    .common = pearson_rows_common,
    .release = rows_release,
};
