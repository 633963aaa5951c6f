/*
 * sciddicat_cpu - the automaton on all cores: runs, their memory, reports.
 *
 * A step touches segments of eight cells in which something can happen, some 1 % of a map on which
 * debris flows (sciddicat_row_cpu.h); several threads take bands of rows (cpu_sciddicat_advance).
 * Reports look again at rows that have changed alone.
 *
 * The serial program from which the model is known visits every cell three times a step.
 */
#include "kernels/sciddicat/sciddicat_run_cpu.h"

#include "formats/base/checked.h"
#include "kernels/base/queue_cpu.h"

#include <stdlib.h>
#include <string.h>

enum {
    TASK_CELLS = 1 << 16, /* in one piece of a pass over the map */
    ALIGN = 64
};

/* --- memory ---------------------------------------------------------------------------------- */

/* Takes pieces off a range of memory, or only counts them. */
struct carver {
    char *at; /* NULL: only count */
    size_t used;
    bool overflow;
};

static void *carve(struct carver *c, size_t count, size_t size)
{
    size_t bytes, end;
    if (!checked_mul(count, size, &bytes) || !checked_add(c->used, bytes, &end) ||
        !checked_add(end, ALIGN - 1, &end)) {
        c->overflow = true;
        return NULL;
    }
    char *piece = c->at == NULL ? NULL : c->at + c->used;
    c->used = end - end % ALIGN;
    return piece;
}

static void carve_row(struct carver *c, const struct cpu_sciddicat_run *r,
                      struct sciddicat_row *row, bool own)
{
    double *h = carve(c, r->row_cells, sizeof *h);
    uint8_t *active = carve(c, r->row_segments, 1);
    uint8_t *guess = carve(c, r->row_cells, 1);
    struct sciddicat_row made = {0};
    if (own) {
        double *z = carve(c, r->row_cells, sizeof *z), *peak = carve(c, r->row_cells, sizeof *peak);
        int32_t *arrival = carve(c, r->row_cells, sizeof *arrival);
        uint8_t *live = carve(c, r->row_segments, 1), *takes = carve(c, r->row_segments, 1);
        if (c->at != NULL) {
            made.z = z + ROW_PAD_CELLS;
            made.peak = peak + ROW_PAD_CELLS;
            made.arrival = arrival + ROW_PAD_CELLS;
            made.live = live + ROW_PAD_SEGMENTS;
            made.takes = takes + ROW_PAD_SEGMENTS;
        }
    }
    if (c->at != NULL) {
        made.h = h + ROW_PAD_CELLS;
        made.active = active + ROW_PAD_SEGMENTS;
        made.guess = guess + ROW_PAD_CELLS;
        *row = made;
    }
}

static void carve_flows(struct carver *c, const struct cpu_sciddicat_run *r,
                        struct sciddicat_band *b)
{
    for (size_t i = 0; i < 3; ++i) {
        struct sciddicat_flows flows = {0};
        for (size_t n = 0; n < SIDES; ++n) {
            double *to = carve(c, r->row_cells, sizeof *to);
            flows.to[n] = to == NULL ? NULL : to + ROW_PAD_CELLS;
        }
        uint8_t *active = carve(c, r->row_segments, 1);
        flows.active = active == NULL ? NULL : active + ROW_PAD_SEGMENTS;
        if (c->at != NULL) {
            b->flows[i] = flows;
        }
    }
}

/* All that a run keeps for its map. */
static void carve_map(struct carver *c, struct cpu_sciddicat_run *r)
{
    struct sciddicat_row *rows = carve(c, r->p.rows, sizeof *rows);
    r->rows = rows;
    r->figures = carve(c, r->p.rows, sizeof *r->figures);
    for (size_t i = 0; i < r->p.rows; ++i) {
        carve_row(c, r, rows == NULL ? NULL : &rows[i], true);
    }
    carve_flows(c, r, &r->whole);
    r->whole.set = cpu_sciddicat_set(0);
}

/* What a band needs besides: its halo and its flows. */
static void carve_band(struct carver *c, const struct cpu_sciddicat_run *r,
                       struct sciddicat_band *b)
{
    struct sciddicat_row *halo = carve(c, (size_t)2 * HALO_ROWS, sizeof *halo);
    for (size_t i = 0; i < (size_t)2 * HALO_ROWS; ++i) {
        carve_row(c, r, halo == NULL ? NULL : &halo[i], false);
    }
    carve_flows(c, r, b);
    if (c->at != NULL) {
        b->rows = r->rows;
        b->set = r->whole.set;
        b->north = halo;
        b->south = halo + HALO_ROWS;
    }
}

/* Everything; what a run of so many bands amounts to. */
static void carve_all(struct carver *c, struct cpu_sciddicat_run *r)
{
    carve_map(c, r);
    struct sciddicat_band *bands = carve(c, r->most_bands, sizeof *bands);
    r->bands = bands;
    for (size_t b = 0; r->most_bands > 1 && b < r->most_bands; ++b) {
        carve_band(c, r, bands == NULL ? NULL : &bands[b]);
    }
}

static enum status shape(struct cpu_sciddicat_run *r, const struct sciddicat_params *p,
                         size_t most_bands)
{
    size_t cells;
    const enum status st = sciddicat_count_cells(p, &cells);
    if (st != STATUS_OK) {
        return st;
    }
    *r = (struct cpu_sciddicat_run){.p = *p};
    const size_t segments = cpu_pieces(p->columns, SEGMENT);
    r->row_cells = segments * SEGMENT + (size_t)2 * ROW_PAD_CELLS;
    r->row_segments = segments + (size_t)2 * ROW_PAD_SEGMENTS;
    r->most_bands = cpu_max(1, cpu_min(most_bands, p->rows / BAND_ROWS));
    return STATUS_OK;
}

static size_t run_bytes(const struct sciddicat_params *p)
{
    struct cpu_sciddicat_run r;
    struct carver c = {0};
    if (shape(&r, p, MOST_BANDS) != STATUS_OK) {
        return 0;
    }
    carve_all(&c, &r);
    return c.overflow ? SIZE_MAX : c.used;
}

/* --- opening and closing --------------------------------------------------------------------- */

static size_t task_rows(const struct cpu_sciddicat_run *r)
{
    return cpu_max(1, TASK_CELLS / r->p.columns);
}

static void set_bit(uint8_t *bits, size_t j)
{
    bits[j / SEGMENT] = (uint8_t)(bits[j / SEGMENT] | 1u << j % SEGMENT);
}

/* Row i as it stands before the first step; the memory is all zeros. */
static void start_row(const struct cpu_sciddicat_run *r, size_t i)
{
    const size_t columns = r->p.columns, at = i * columns;
    const bool ring_row = i == 0 || i + 1 == r->p.rows;
    const uint8_t *nodata = r->given_nodata;
    struct sciddicat_row *row = &r->rows[i];
    memcpy(row->z, r->given_z + at, columns * sizeof *row->z);
    for (size_t j = 0; j < columns; ++j) {
        const bool ring = ring_row || j == 0 || j + 1 == columns;
        const bool hole = !ring && nodata != NULL && nodata[at + j] != 0;
        const double h = r->given_h[at + j] + 0.0;
        row->h[j] = h;
        row->arrival[j] = h > r->p.epsilon ? 0 : -1;
        if (!ring && !hole) {
            row->peak[j] = h;
            set_bit(row->live, j);
            if (h > r->p.epsilon) {
                set_bit(row->active, j);
            }
        }
        if (!hole || r->p.nodata != SCIDDICAT_WALL) {
            set_bit(row->takes, j);
        }
    }
    const uint32_t segments = (uint32_t)cpu_pieces(columns, SEGMENT);
    for (uint32_t s = 0; s < segments; ++s) {
        if (row->active[s] != 0) {
            row->begin = row->n_busy == 0 ? s : row->begin;
            row->end = s + 1;
            ++row->n_busy;
        }
    }
    if (r->p.nodata != SCIDDICAT_WALL || nodata == NULL) {
        row->takes = NULL;
    }
    row->touched = true;
}

static void start_body(void *arg, size_t index)
{
    const struct cpu_sciddicat_run *r = arg;
    const size_t n = task_rows(r), end = cpu_min((index + 1) * n, r->p.rows);
    for (size_t i = index * n; i < end; ++i) {
        start_row(r, i);
    }
}

static void run_close(struct queue *q, void *run)
{
    struct cpu_sciddicat_run *r = run;
    if (r != NULL) {
        q->backend->ops->release(q, r->memory);
        free(r);
    }
}

static enum status run_open(struct queue *q, const struct sciddicat_params *p, struct span z,
                            struct span h, struct span nodata, void **out)
{
    const struct executor *e = &((struct cpu_backend *)q->backend)->executor;
    *out = NULL;
    struct cpu_sciddicat_run *r = malloc(sizeof *r);
    if (r == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a run");
    }
    struct carver c = {0};
    enum status st = shape(r, p, cpu_min(e->n_threads, MOST_BANDS));
    const size_t cells = p->rows * p->columns;
    if (st == STATUS_OK) {
        st = cpu_expect(z, cells, sizeof(double), "z");
    }
    if (st == STATUS_OK) {
        st = cpu_expect(h, cells, sizeof(double), "h");
    }
    if (st == STATUS_OK && nodata.at != NULL) {
        st = cpu_expect(nodata, cells, 1, "nodata");
    }
    if (st != STATUS_OK) {
        free(r);
        return st;
    }
    carve_all(&c, r);
    st = q->backend->ops->alloc(q, c.overflow ? SIZE_MAX : c.used, &r->memory);
    if (st == STATUS_OK) {
        st = q->backend->ops->zero(q, r->memory);
    }
    if (st != STATUS_OK) {
        run_close(q, r);
        return st;
    }
    c = (struct carver){.at = r->memory.at};
    carve_all(&c, r);
    r->given_z = z.at;
    r->given_h = h.at;
    r->given_nodata = p->nodata == SCIDDICAT_COMPAT ? NULL : nodata.at;
    cpu_run(q, cpu_pieces(p->rows, task_rows(r)), start_body, r);
    r->whole.rows = r->rows;
    r->whole.last = r->whole.bottom = p->rows;
    *out = r;
    return STATUS_OK;
}

/* --- reports --------------------------------------------------------------------------------- */

static void figures_body(void *arg, size_t index)
{
    const struct cpu_sciddicat_run *r = arg;
    const size_t n = task_rows(r), end = cpu_min((index + 1) * n, r->p.rows);
    for (size_t i = index * n; i < end; ++i) {
        if (r->rows[i].touched) {
            cpu_sciddicat_figures(&r->p, &r->rows[i], i, &r->figures[i]);
            r->rows[i].touched = false;
        }
    }
}

static void report(struct queue *q, struct cpu_sciddicat_run *r, struct sciddicat_report *out)
{
    const struct sciddicat_row_figures *f = r->figures;
    const size_t rows = r->p.rows, apart = sizeof *f / sizeof f->mass;
    cpu_run(q, cpu_pieces(rows, task_rows(r)), figures_body, r);
    *out = (struct sciddicat_report){.step = r->step,
                                     .mass = cpu_sciddicat_sum(&f->mass, rows, apart),
                                     .lost_edge = cpu_sciddicat_sum(&f->lost_edge, rows, apart),
                                     .lost_nodata = cpu_sciddicat_sum(&f->lost_nodata, rows, apart),
                                     .largest = f->largest,
                                     .moved = r->moved};
    for (size_t i = 0; i < rows; ++i) {
        out->largest = f[i].largest > out->largest ? f[i].largest : out->largest;
        out->n_active += f[i].n_active;
    }
}

static enum status run_advance(struct queue *q, void *run, uint64_t n_steps,
                               struct sciddicat_report *out)
{
    struct cpu_sciddicat_run *r = run;
    cpu_sciddicat_advance(q, r, n_steps);
    report(q, r, out);
    return STATUS_OK;
}

static enum status run_state(struct queue *q, void *run, double *h, double *max_h, int32_t *arrival)
{
    (void)q;
    const struct cpu_sciddicat_run *r = run;
    const size_t columns = r->p.columns;
    for (size_t i = 0; i < r->p.rows; ++i) {
        const struct sciddicat_row *row = &r->rows[i];
        if (h != NULL) {
            memcpy(h + i * columns, row->h, columns * sizeof *h);
        }
        if (arrival != NULL) {
            memcpy(arrival + i * columns, row->arrival, columns * sizeof *arrival);
        }
        for (size_t j = 0; max_h != NULL && j < columns; ++j) {
            const bool live = (row->live[j / SEGMENT] >> j % SEGMENT & 1) != 0;
            max_h[i * columns + j] = live ? row->peak[j] : row->h[j];
        }
    }
    return STATUS_OK;
}

const struct sciddicat_kernels cpu_sciddicat = {.bytes = run_bytes,
                                                .open = run_open,
                                                .close = run_close,
                                                .advance = run_advance,
                                                .state = run_state};
