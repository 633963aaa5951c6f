/*
 * condensed_cpu - the matrix in the forms that leave: condensed triangle and reduced picture.
 *
 * The condensed upper triangle lists row i as (i, i + 1), (i, i + 2), ..: column i of the panels.
 * It is transposed in tiles of TILE x TILE through a buffer whose rows lie an odd number of
 * elements apart: the panels' rows may lie a power of two apart and would share cache sets.
 */
#include "kernels/base/vector_cpu.h"
#include "kernels/matrix/matrix_cpu.h"
#include "kernels/matrix/matrix_rule.h"

#include "kernels/base/clones_cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 64, LINE = 64, AHEAD = 16 };

/* A tile as it lies in the panels: row j, column i at [j * (TILE + 1) + i]. */
union tile {
    double f64[TILE * (TILE + 1)];
    float f32[TILE * (TILE + 1)];
};

struct window {
    const struct matrix *m;
    uint64_t first, end; /* elements wanted */
    void *dst;
};

/* Fetches columns i0 .. i0 + n_i - 1 of row j before load() takes them: rows lie far apart, where
 * the processor does not look ahead by itself. */
static void prefetch(const struct matrix *m, size_t i0, size_t n_i, size_t j)
{
    const char *from = (const char *)cpu_matrix_row(m, j) + i0 * dtype_bytes(m->type);
    for (size_t at = 0; at < n_i * dtype_bytes(m->type); at += LINE) {
        __builtin_prefetch(from + at);
    }
}

/* Columns i0 .. i0 + n_i - 1 of rows j0 .. j0 + n_j - 1, copied row by row. */
static void load(const struct matrix *m, size_t i0, size_t n_i, size_t j0, size_t n_j,
                 union tile *tile)
{
    for (size_t j = 0; j < n_j; ++j) {
        const void *row = cpu_matrix_row(m, j0 + j);
        if (j0 + j + AHEAD < m->n_series) {
            prefetch(m, i0, n_i, j0 + j + AHEAD);
        }
        /* elements of the row that are defined and wanted */
        size_t n = j0 + j > i0 ? cpu_min(n_i, j0 + j - i0) : 0;
        const size_t size = dtype_bytes(m->type);
        memcpy((char *)tile + j * (TILE + 1) * size, (const char *)row + i0 * size, n * size);
    }
}

CPU_CLONES static void column_f64(const double *tile, size_t n, double *to)
{
    for (size_t j = 0; j < n; ++j) {
        to[j] = tile[j * (TILE + 1)];
    }
}

CPU_CLONES static void column_f32(const float *tile, size_t n, float *to)
{
    for (size_t j = 0; j < n; ++j) {
        to[j] = tile[j * (TILE + 1)];
    }
}

/* Writes what the window wants of column i0 + k of the tile. */
static void store(const struct window *w, const union tile *tile, size_t i, size_t k, size_t j0,
                  size_t n_j)
{
    uint64_t start = matrix_condensed_row(i, w->m->n_series); /* of (i, i + 1) */
    uint64_t from = start + (j0 > i ? j0 - i - 1 : 0), to = start + (j0 + n_j - i - 1);
    from = from < w->first ? w->first : from;
    to = to > w->end ? w->end : to;
    if (j0 + n_j <= i + 1 || from >= to) {
        return;
    }
    size_t j = (size_t)(from - start) + i + 1 - j0, n = (size_t)(to - from);
    size_t at = (size_t)(from - w->first);
    if (w->m->type == DTYPE_F32) {
        column_f32(tile->f32 + j * (TILE + 1) + k, n, (float *)w->dst + at);
    } else {
        column_f64(tile->f64 + j * (TILE + 1) + k, n, (double *)w->dst + at);
    }
}

enum status cpu_condensed(struct queue *q, const struct matrix *m, uint64_t first, size_t n,
                          void *dst)
{
    (void)q;
    union tile tile;
    uint64_t pairs = matrix_n_pairs(m->n_series);
    if (first > pairs || n > pairs - first) {
        return status_fail(STATUS_INTERNAL, "condensed: elements beyond the last pair");
    }
    STATUS_TRY(cpu_matrix_check(m));
    if (n == 0) {
        return STATUS_OK;
    }
    struct window w = {m, first, first + n, dst};
    size_t i_end = matrix_condensed_row_of(w.end - 1, m->n_series) + 1;
    for (size_t i0 = matrix_condensed_row_of(first, m->n_series); i0 < i_end; i0 += TILE) {
        size_t n_i = cpu_min(TILE, i_end - i0), j_from = i0 + 1, j_to = m->n_series;
        if (n_i == 1) {
            /* one row, perhaps a piece of it */
            uint64_t start = matrix_condensed_row(i0, m->n_series);
            j_from += first > start ? (size_t)(first - start) : 0;
            j_to = cpu_min(j_to, (size_t)(w.end - start) + i0 + 1);
        }
        for (size_t j0 = j_from; j0 < j_to; j0 += TILE) {
            size_t n_j = cpu_min(TILE, j_to - j0);
            load(m, i0, n_i, j0, n_j, &tile);
            for (size_t k = 0; k < n_i; ++k) {
                store(&w, &tile, i0 + k, k, j0, n_j);
            }
        }
    }
    return STATUS_OK;
}

/* --- heatmap --------------------------------------------------------------------------------- */

struct heat_job {
    const struct matrix *m;
    const struct matrix_picture *picture;
    const size_t *start; /* the first place of every cell, and the end */
};

/* Adds the defined elements i0 .. i1 - 1 of row j. */
static void add_segment(const struct matrix *m, const void *row, size_t i0, size_t i1, double *sum,
                        double *count)
{
    for (size_t i = i0; i < i1; ++i) {
        double r = dtype_real(m->type, row, i);
        *sum += r == r ? r : 0;
        *count += r == r;
    }
}

/* Those of series a with the series order[i0 .. i1). */
static void add_in_order(const struct matrix *m, const uint32_t *order, size_t a, size_t i0,
                         size_t i1, double *sum, double *count)
{
    for (size_t i = i0; i < i1; ++i) {
        const size_t b = order[i], j = a > b ? a : b;
        add_segment(m, cpu_matrix_row(m, j), a + b - j, a + b - j + 1, sum, count);
    }
}

/* Cells (a, 0) .. (a, a) and their mirror images. */
static void heat_body(void *arg, size_t index, void *scratch)
{
    const struct heat_job *job = arg;
    const struct matrix_picture *p = job->picture;
    size_t a = p->side - 1 - index; /* the longest rows first */
    double *sum = scratch, *count = sum + a + 1;
    memset(sum, 0, 2 * (a + 1) * sizeof *sum);
    for (size_t j = job->start[a]; j < job->start[a + 1]; ++j) {
        const void *row = cpu_matrix_row(job->m, j);
        for (size_t b = 0; b <= a; ++b) {
            const size_t i0 = job->start[b], i1 = cpu_min(job->start[b + 1], j);
            if (p->order != NULL) {
                add_in_order(job->m, p->order, p->order[j], i0, i1, sum + b, count + b);
            } else {
                add_segment(job->m, row, i0, i1, sum + b, count + b);
            }
        }
    }
    /* the diagonal's cell has both triangles */
    sum[a] = 2 * sum[a] + (double)p->ones[a];
    count[a] = 2 * count[a] + (double)p->ones[a];
    for (size_t b = 0; b <= a; ++b) {
        float cell = count[b] > 0 ? (float)(sum[b] / count[b]) : NAN;
        p->cells[a * p->side + b] = cell;
        p->cells[b * p->side + a] = cell;
    }
}

enum status cpu_heatmap(struct queue *q, const struct matrix *m,
                        const struct matrix_picture *picture)
{
    const size_t side = picture->side;
    STATUS_TRY(cpu_matrix_check(m));
    if (side > m->n_series) {
        return status_fail(STATUS_INTERNAL, "heatmap: %zu cells for %zu series", side, m->n_series);
    }
    size_t *start;
    STATUS_TRY(cpu_scratch(side + 1, sizeof *start, (void **)&start));
    for (size_t a = 0; a <= side; ++a) {
        start[a] = side == 0 ? 0 : (size_t)((unsigned __int128)a * m->n_series / side);
    }
    struct heat_job job = {.m = m, .picture = picture, .start = start};
    enum status st = cpu_run_scratch(q, side, 2 * side * sizeof(double), heat_body, &job);
    free(start);
    return st;
}
