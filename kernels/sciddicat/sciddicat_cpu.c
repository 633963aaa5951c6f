/*
 * sciddicat_cpu - the automaton on all cores: runs, their memory, reports.
 *
 * A step touches segments of eight cells in which something can happen, some 1 % of a map on which
 * debris flows (sciddicat_row_cpu.h); several threads take bands of rows (cpu_sciddicat_advance).
 */
#include "kernels/sciddicat/sciddicat_run_cpu.h"

#include "kernels/base/queue_cpu.h"
#include "kernels/sciddicat/sciddicat_carver.h"
#include "kernels/sciddicat/sciddicat_figures.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

/* --- memory ---------------------------------------------------------------------------------- */

/* A number a cell of a row, and a bit: where the first cell has its own. */
static void *carve_cells(struct carver *c, const struct cpu_sciddicat_run *r, size_t size)
{
    char *const at = carve(c, r->row_cells, size);
    return at == NULL ? NULL : at + ROW_PAD_CELLS * size;
}

static uint8_t *carve_bits(struct carver *c, const struct cpu_sciddicat_run *r)
{
    uint8_t *const at = carve(c, r->row_segments, 1);
    return at == NULL ? NULL : at + ROW_PAD_SEGMENTS;
}

/* row: NULL while only counting. */
static void carve_row(struct carver *c, const struct cpu_sciddicat_run *r,
                      struct sciddicat_row *row, bool own)
{
    struct sciddicat_row made = {.h = carve_cells(c, r, sizeof *made.h)};
    made.active = carve_bits(c, r);
    made.guess = carve_cells(c, r, 1);
    if (own) {
        made.z = carve_cells(c, r, sizeof *made.z);
        made.max_h = carve_cells(c, r, sizeof *made.max_h);
        made.arrival = carve_cells(c, r, sizeof *made.arrival);
        made.live = carve_bits(c, r);
        made.accepts = carve_bits(c, r);
    }
    if (row != NULL) {
        *row = made;
    }
}

static void carve_flows(struct carver *c, const struct cpu_sciddicat_run *r,
                        struct sciddicat_flows flows[3])
{
    for (size_t i = 0; i < 3; ++i) {
        struct sciddicat_flows made = {.begin = 0};
        for (size_t n = 0; n < SIDES; ++n) {
            made.to[n] = carve_cells(c, r, sizeof *made.to[n]);
        }
        made.active = carve_bits(c, r);
        if (flows != NULL) {
            flows[i] = made;
        }
    }
}

/* All that a run keeps for its map. */
static void carve_map(struct carver *c, struct cpu_sciddicat_run *r)
{
    r->rows = carve(c, r->p.rows, sizeof *r->rows);
    r->figures = carve(c, r->p.rows, sizeof *r->figures);
    for (size_t i = 0; i < r->p.rows; ++i) {
        carve_row(c, r, r->rows == NULL ? NULL : &r->rows[i], true);
    }
    carve_flows(c, r, r->whole.flows);
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
    carve_flows(c, r, b == NULL ? NULL : b->flows);
    if (b != NULL) {
        b->rows = r->rows;
        b->set = r->whole.set;
        b->north = halo;
        b->south = halo + HALO_ROWS;
    }
}

static void carve_all(struct carver *c, struct cpu_sciddicat_run *r)
{
    carve_map(c, r);
    r->bands = carve(c, r->most_bands, sizeof *r->bands);
    for (size_t b = 0; r->most_bands > 1 && b < r->most_bands; ++b) {
        carve_band(c, r, r->bands == NULL ? NULL : &r->bands[b]);
    }
}

static enum status shape(struct cpu_sciddicat_run *r, const struct sciddicat_params *p,
                         size_t most_bands)
{
    size_t cells;
    STATUS_TRY(sciddicat_count_cells(p, &cells));
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
    struct carver c = {.align = ALIGN};
    if (shape(&r, p, MOST_BANDS) != STATUS_OK) {
        return 0;
    }
    carve_all(&c, &r);
    return carver_bytes(&c);
}

/* --- opening and closing --------------------------------------------------------------------- */

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
        const bool is_nodata = nodata != NULL && nodata[at + j] != 0;
        const int kind = sciddicat_kind_of(ring, is_nodata, r->p.nodata == SCIDDICAT_WALL);
        const double h = r->given_h[at + j] + 0.0;
        row->h[j] = h;
        row->arrival[j] = h > r->p.epsilon ? 0 : -1;
        if ((kind & SCIDDICAT_LIVE) != 0) {
            row->max_h[j] = h;
            set_bit(row->live, j);
            if (h > r->p.epsilon) {
                set_bit(row->active, j);
            }
        }
        if ((kind & SCIDDICAT_ACCEPTS) != 0) {
            set_bit(row->accepts, j);
        }
    }
    sciddicat_row_survey(row, 0, (uint32_t)cpu_pieces(columns, SEGMENT));
    if (r->p.nodata != SCIDDICAT_WALL || nodata == NULL) {
        row->accepts = NULL;
    }
    row->touched = true;
}

static void start_body(void *arg, size_t index)
{
    const struct cpu_sciddicat_run *r = arg;
    const size_t n = cpu_sciddicat_task_rows(r), end = cpu_min((index + 1) * n, r->p.rows);
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

static enum status open_run(struct queue *q, const struct sciddicat_params *p,
                            const struct sciddicat_input *in, struct cpu_sciddicat_run *r)
{
    const struct executor *e = &((struct cpu_backend *)q->backend)->executor;
    struct carver c = {.align = ALIGN};
    STATUS_TRY(shape(r, p, cpu_min(e->n_threads, MOST_BANDS)));
    const size_t cells = p->rows * p->columns;
    STATUS_TRY(cpu_expect(in->z, cells, sizeof(double), "z"));
    STATUS_TRY(cpu_expect(in->h, cells, sizeof(double), "h"));
    if (in->nodata.at != NULL) {
        STATUS_TRY(cpu_expect(in->nodata, cells, 1, "nodata"));
    }
    carve_all(&c, r);
    STATUS_TRY(q->backend->ops->alloc(q, carver_bytes(&c), &r->memory));
    STATUS_TRY(q->backend->ops->zero(q, r->memory));
    c = (struct carver){.at = r->memory.at, .align = ALIGN};
    carve_all(&c, r);
    r->given_z = in->z.at;
    r->given_h = in->h.at;
    r->given_nodata = p->nodata == SCIDDICAT_COMPAT ? NULL : in->nodata.at;
    STATUS_TRY(cpu_run_long(q, cpu_pieces(p->rows, cpu_sciddicat_task_rows(r)), start_body, r));
    r->whole.rows = r->rows;
    cpu_sciddicat_own(r, 0, p->rows);
    return STATUS_OK;
}

static enum status run_open(struct queue *q, const struct sciddicat_params *p,
                            const struct sciddicat_input *in, void **out)
{
    *out = NULL;
    struct cpu_sciddicat_run *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a run");
    }
    const enum status st = open_run(q, p, in, r);
    if (st != STATUS_OK) {
        run_close(q, r);
        return st;
    }
    *out = r;
    return STATUS_OK;
}

/* --- reports --------------------------------------------------------------------------------- */

/* Steps of several runs, a thread each. */
struct company {
    struct queue *queue;
    void *const *runs;
    uint64_t n_steps;
};

static void step_body(void *arg, size_t index)
{
    const struct company *c = arg;
    cpu_sciddicat_advance(c->queue, c->runs[index], c->n_steps);
    cpu_sciddicat_figures(c->queue, c->runs[index]);
}

/* Where there are more threads than runs, a run has several. */
static enum status run_step(struct queue *q, void *const *runs, size_t n, uint64_t n_steps)
{
    const size_t n_threads = ((struct cpu_backend *)q->backend)->executor.n_threads;
    struct company c = {.queue = q, .runs = runs, .n_steps = n_steps};
    for (size_t i = 0; i < n; ++i) {
        struct cpu_sciddicat_run *r = runs[i];
        r->most_bands = cpu_max(1, cpu_min(r->most_bands, n_threads / n));
    }
    return cpu_run_long(q, n, step_body, &c);
}

static enum status run_report(struct queue *q, void *const *runs, size_t n,
                              struct sciddicat_report *out)
{
    (void)q;
    for (size_t i = 0; i < n; ++i) {
        const struct cpu_sciddicat_run *r = runs[i];
        out[i] = (struct sciddicat_report){.step = r->step, .moved = r->moved};
        sciddicat_figures_of_map(r->figures, r->p.rows, &out[i]);
    }
    return STATUS_OK;
}

static enum status run_advance(struct queue *q, void *run, uint64_t n_steps,
                               struct sciddicat_report *out)
{
    cpu_sciddicat_advance(q, run, n_steps);
    STATUS_TRY(queue_check(q));
    cpu_sciddicat_figures(q, run);
    return run_report(q, &run, 1, out);
}

/* Some for each thread: the last of a batch is not long alone. */
static size_t run_side_by_side(const struct queue *q)
{
    const size_t n_threads = ((const struct cpu_backend *)q->backend)->executor.n_threads;
    return n_threads > 1 ? 4 * n_threads : 1;
}

static enum status run_state(struct queue *q, void *run, double *h, double *max_h, int32_t *arrival)
{
    const struct cpu_sciddicat_run *r = run;
    const size_t columns = r->p.columns, n_rows = r->whole.last - r->whole.first;
    for (size_t i = 0; i < n_rows; ++i) {
        const struct sciddicat_row *row = &r->rows[r->whole.first + i];
        STATUS_TRY(queue_check(q));
        if (h != NULL) {
            memcpy(h + i * columns, row->h, columns * sizeof *h);
        }
        if (arrival != NULL) {
            memcpy(arrival + i * columns, row->arrival, columns * sizeof *arrival);
        }
        for (size_t j = 0; max_h != NULL && j < columns; ++j) {
            const bool live = (row->live[j / SEGMENT] >> j % SEGMENT & 1) != 0;
            max_h[i * columns + j] = live ? row->max_h[j] : row->h[j];
        }
    }
    return STATUS_OK;
}

const struct sciddicat_kernels cpu_sciddicat = {.bytes = run_bytes,
                                                .open = run_open,
                                                .close = run_close,
                                                .advance = run_advance,
                                                .step = run_step,
                                                .report = run_report,
                                                .side_by_side = run_side_by_side,
                                                .state = run_state,
                                                .member = &cpu_sciddicat_member};
