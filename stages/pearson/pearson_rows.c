/*
 * pearson_rows - panels of series: increments, moments, standard form, products.
 *
 *   panel complete -> (diff_rows) -> means -> standardize into the slab -> gram with each slab
 *
 * Gaps are known when the moments are on the host, at the end; then each pair of panels of which
 * one has a series with gaps is corrected (gram_gaps). That takes the exact form: where the matrix
 * is of another form, the two panels are standardised again, from the series that were kept for it.
 *
 * Pairs whose common samples lie very far from the mean of a series, for an outlier elsewhere, take
 * the series themselves. The exact form keeps no series, which would double its memory for what
 * hardly any table has: the job starts over and keeps them.
 */
#include "stages/pearson/pearson_job.h"

#include <stdlib.h>

static size_t z_bytes(const struct pearson_job *job)
{
    return job->ops->pearson->z_bytes(job->choice.used, job->n_samples);
}

static size_t x_bytes(const struct pearson_job *job)
{
    return job->n_samples * dtype_bytes(job->layout.x_type);
}

static enum status rows_open(struct pearson_job *job)
{
    job->n_samples = pearson_layout_samples(&job->layout, job->layout.lines);
    return STATUS_OK;
}

/* Makes room for the moments of `capacity` series, keeping those that are there. */
static enum status grow_moments(struct pearson_job *job, size_t capacity)
{
    struct moments grown = {.capacity = capacity};
    enum status st = pearson_job_alloc(job, capacity, moments_bytes(1), &grown.at);
    const size_t have = job->moments.capacity * sizeof(double);
    for (size_t f = 0; f < MOMENTS_FIELDS && have > 0 && st == STATUS_OK; f++) {
        st = job->ops->copy(job->queue, span_from(grown.at, f * capacity * sizeof(double)),
                            span_from(job->moments.at, f * have), have);
    }
    if (st != STATUS_OK) {
        pearson_job_release(job, &grown.at);
        return st;
    }
    pearson_job_release(job, &job->moments.at);
    job->moments = grown;
    return STATUS_OK;
}

/* Begins a slab after the others: all that is known or guessed at first, later half as much again
 * as there is. */
static enum status add_slab(struct pearson_job *job, size_t first)
{
    struct pearson_rows *rows = &job->rows;
    const struct pearson_layout *l = &job->layout;
    const size_t half = first / 2 > l->panel ? first / 2 : l->panel;
    const size_t wanted = first == 0 ? l->lines : half;
    struct pearson_slab slab = {.first = first, .rows = wanted};
    if (!l->lines_known) {
        slab.rows = (wanted + l->panel - 1) / l->panel * l->panel;
    }
    struct pearson_slab *slabs = realloc(rows->slabs, (rows->n_slabs + 1) * sizeof *rows->slabs);
    if (slabs == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu slabs", rows->n_slabs + 1);
    }
    rows->slabs = slabs;
    enum status st = pearson_job_alloc(job, slab.rows, z_bytes(job), &slab.z);
    if (st == STATUS_OK && l->keep_x) {
        st = pearson_job_alloc(job, slab.rows, x_bytes(job), &slab.x);
    }
    slabs[rows->n_slabs++] = slab;
    return st == STATUS_OK ? grow_moments(job, first + slab.rows) : st;
}

static enum status rows_begin(struct pearson_job *job, struct span *unit)
{
    struct pearson_rows *rows = &job->rows;
    const struct pearson_slab *last = rows->n_slabs > 0 ? &rows->slabs[rows->n_slabs - 1] : NULL;
    if (last == NULL || job->lines >= last->first + last->rows) {
        const enum status st = add_slab(job, job->lines);
        if (st != STATUS_OK) {
            return st;
        }
        last = &rows->slabs[rows->n_slabs - 1];
    }
    if (job->layout.keep_x && job->layout.lost == 0) {
        *unit = span_from(last->x, (job->lines - last->first) * x_bytes(job));
        return STATUS_OK;
    }
    return pearson_job_stage(job, unit);
}

/* The n series that have just arrived, as they are correlated. */
static enum status arrived_series(struct pearson_job *job, size_t n, struct span *x)
{
    struct pearson_rows *rows = &job->rows;
    const struct pearson_slab *last = &rows->slabs[rows->n_slabs - 1];
    if (job->layout.lost == 0) {
        *x = job->unit;
        return STATUS_OK;
    }
    if (job->layout.keep_x) {
        *x = span_from(last->x, (job->lines - last->first) * x_bytes(job));
    } else if (rows->increments.at == NULL) {
        const enum status st =
            pearson_job_alloc(job, job->layout.unit_lines, x_bytes(job), &rows->increments);
        if (st != STATUS_OK) {
            return st;
        }
    }
    if (!job->layout.keep_x) {
        *x = rows->increments;
    }
    return job->ops->pearson->diff_rows(job->queue, job->unit, job->layout.type, n,
                                        job->layout.cells, job->choice.diff, *x);
}

/* The products of the n series from `first` on with all up to them. */
static enum status multiply(struct pearson_job *job, size_t first, size_t n)
{
    const struct pearson_rows *rows = &job->rows;
    const struct pearson_slab *last = &rows->slabs[rows->n_slabs - 1];
    const struct span za = span_from(last->z, (first - last->first) * z_bytes(job));
    struct span panel;
    enum status st = pearson_job_panel(job, n, first + n, &panel);
    for (const struct pearson_slab *b = rows->slabs; b <= last && st == STATUS_OK; b++) {
        const size_t end = b == last ? first + n : b->first + b->rows;
        st =
            job->ops->pearson->gram(job->queue, job->choice.used, job->n_samples, za, first, n,
                                    b->z, b->first, end - b->first, job->moments, panel, first + n);
    }
    return st;
}

static enum status rows_take(struct pearson_job *job, size_t n_lines)
{
    const struct pearson_slab *last = &job->rows.slabs[job->rows.n_slabs - 1];
    const size_t first = job->lines;
    struct span x = {0};
    enum status st = arrived_series(job, n_lines, &x);
    if (st == STATUS_OK) {
        st = job->ops->means->rows(job->queue, x, job->layout.x_type, n_lines, job->n_samples,
                                   job->moments, first);
    }
    if (st == STATUS_OK) {
        st = job->ops->pearson->standardize(
            job->queue, job->choice.used, x, job->layout.x_type, n_lines, job->n_samples,
            job->moments, first, span_from(last->z, (first - last->first) * z_bytes(job)));
    }
    return st == STATUS_OK ? multiply(job, first, n_lines) : st;
}

static enum status rows_finish(struct pearson_job *job)
{
    job->n_series = job->lines;
    pearson_job_unstage(job);
    pearson_job_release(job, &job->rows.increments);
    return STATUS_OK;
}

/* --- gaps ------------------------------------------------------------------------------------- */

static const struct pearson_slab *slab_of(const struct pearson_rows *rows, size_t series)
{
    const struct pearson_slab *slab = rows->slabs;
    while (series >= slab->first + slab->rows) {
        slab++;
    }
    return slab;
}

/* The n series from `first` on, a panel, in the exact form; `which` of the two buffers may be used
 * for it. */
static enum status exact_panel(struct pearson_job *job, size_t first, size_t n, size_t which,
                               struct pearson_side *side)
{
    struct pearson_rows *rows = &job->rows;
    const struct pearson_slab *slab = slab_of(rows, first);
    const size_t row = first - slab->first;
    *side =
        (struct pearson_side){.x = span_from(slab->x, row * x_bytes(job)), .first = first, .n = n};
    if (job->choice.used == PEARSON_EXACT) {
        side->z = span_from(slab->z, row * z_bytes(job));
        return STATUS_OK;
    }
    enum status st = STATUS_OK;
    if (rows->exact[which].at == NULL) {
        st = pearson_job_alloc(
            job, job->layout.panel < job->n_series ? job->layout.panel : job->n_series,
            job->ops->pearson->z_bytes(PEARSON_EXACT, job->n_samples), &rows->exact[which]);
    }
    side->z = rows->exact[which];
    if (st != STATUS_OK) {
        return st;
    }
    return job->ops->pearson->standardize(job->queue, PEARSON_EXACT, side->x, job->layout.x_type, n,
                                          job->n_samples, rows->exact_moments, first, side->z);
}

static size_t panel_end(const struct pearson_job *job, size_t p)
{
    return matrix_panel_width(p, job->layout.panel, job->n_series);
}

/* Corrects panel p against itself and the panels before it. */
static enum status mend_panel(struct pearson_job *job, size_t p, const bool *gaps,
                              uint64_t *n_unsure)
{
    const size_t panel = job->layout.panel, width = panel_end(job, p);
    const size_t first_a = p * panel, n_a = width - first_a;
    struct pearson_side side_a = {0}, side_b = {0};
    bool have_a = false;
    enum status st = STATUS_OK;
    for (size_t b = 0; b <= p && st == STATUS_OK; b++) {
        const size_t first_b = b * panel, n_b = panel_end(job, b) - first_b;
        if (!gaps[p] && !gaps[b]) {
            continue;
        }
        st = queue_check(job->queue);
        if (st == STATUS_OK && !have_a) {
            st = exact_panel(job, first_a, n_a, 0, &side_a);
            have_a = true;
        }
        if (st == STATUS_OK && b < p) {
            st = exact_panel(job, first_b, n_b, 1, &side_b);
        }
        if (st == STATUS_OK) {
            st = job->ops->pearson->gram_gaps(
                job->queue, job->n_samples, &side_a, b < p ? &side_b : &side_a, job->layout.x_type,
                job->moments, job->panels[p], width, job->layout.r_type, n_unsure);
        }
    }
    return st;
}

static enum status rows_mend(struct pearson_job *job, const double *counts)
{
    bool *gaps = calloc(job->n_panels, sizeof *gaps);
    if (gaps == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu panels", job->n_panels);
    }
    for (size_t s = 0; s < job->n_series; s++) {
        gaps[s / job->layout.panel] |= counts[s] < (double)job->n_samples;
    }
    enum status st = STATUS_OK;
    if (job->choice.used != PEARSON_EXACT) {
        /* Their own moments: taking the standard form again would change the last bits of those
         * that are reported. */
        struct moments *own = &job->rows.exact_moments;
        own->capacity = job->moments.capacity;
        st = pearson_job_alloc(job, own->capacity, moments_bytes(1), &own->at);
        if (st == STATUS_OK) {
            st = job->ops->copy(job->queue, own->at, job->moments.at, moments_bytes(own->capacity));
        }
    }
    uint64_t n_unsure = 0;
    for (size_t p = 0; p < job->n_panels && n_unsure == 0 && st == STATUS_OK; p++) {
        st = mend_panel(job, p, gaps, &n_unsure);
    }
    free(gaps);
    if (st == STATUS_OK && n_unsure > 0) {
        st = status_fail(STATUS_START_OVER, "%s: %llu pairs take the series themselves",
                         job->args.inputs[0].name, (unsigned long long)n_unsure);
    }
    return st;
}

/* --- pairs taken again, and the end ------------------------------------------------------------
 */

enum status pearson_rows_series(struct pearson_job *job, struct span *x)
{
    struct pearson_rows *rows = &job->rows;
    for (size_t i = 0; i < rows->n_slabs; i++) {
        pearson_job_release(job, &rows->slabs[i].z);
    }
    for (size_t i = 0; i < 2; i++) {
        pearson_job_release(job, &rows->exact[i]);
    }
    if (rows->n_slabs > 1) {
        struct span whole;
        enum status st = pearson_job_alloc(job, job->n_series, x_bytes(job), &whole);
        if (st != STATUS_OK) {
            return st;
        }
        for (size_t i = 0; i < rows->n_slabs; i++) {
            struct pearson_slab *slab = &rows->slabs[i];
            const size_t left = job->n_series - slab->first;
            const size_t n = left < slab->rows ? left : slab->rows;
            if (st == STATUS_OK) {
                st = job->ops->copy(job->queue, span_from(whole, slab->first * x_bytes(job)),
                                    slab->x, n * x_bytes(job));
            }
            pearson_job_release(job, &slab->x);
        }
        rows->slabs[0].x = whole;
        rows->slabs[0].rows = job->n_series;
        rows->n_slabs = 1;
        if (st != STATUS_OK) {
            return st;
        }
    }
    *x = rows->slabs[0].x;
    return STATUS_OK;
}

static void rows_release(struct pearson_job *job)
{
    struct pearson_rows *rows = &job->rows;
    for (size_t i = 0; i < rows->n_slabs; i++) {
        pearson_job_release(job, &rows->slabs[i].z);
        pearson_job_release(job, &rows->slabs[i].x);
    }
    free(rows->slabs);
    rows->slabs = NULL;
    rows->n_slabs = 0;
    pearson_job_release(job, &rows->increments);
    pearson_job_release(job, &rows->exact[0]);
    pearson_job_release(job, &rows->exact[1]);
    pearson_job_release(job, &rows->exact_moments.at);
}

const struct pearson_regime pearson_rows_regime = {
    .open = rows_open,
    .begin = rows_begin,
    .take = rows_take,
    .finish = rows_finish,
    .mend = rows_mend,
    .release = rows_release,
};
