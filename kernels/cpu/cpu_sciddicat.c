/*
 * cpu_sciddicat - the automaton on all cores: runs, their division into bands, reports.
 *
 * A step touches segments of eight cells in which something can happen, some 1 % of a map on which
 * debris flows. With several threads the rows with active cells are cut into bands of about the
 * same number of busy segments, and every band makes BAND_STEPS steps on its own: first all bands
 * copy the rows around them, then all compute, their own rows in place. The bits are those of one
 * band.
 *
 * The serial program from which the model is known visits every cell three times a step.
 */
#include "kernels/cpu/cpu_sciddicat.h"

#include "formats/checked.h"
#include "kernels/cpu/cpu_backend.h"

#include <stdlib.h>
#include <string.h>

enum {
    BAND_STEPS = 8, /* steps without a look at other bands: fewer cost waiting, more halo */
    BAND_ROWS = 64, /* of the map, to a band */
    MOST_BANDS = 128,
    BAND_LEAST_ROWS = 24,     /* active rows, below which halos cost more than they bring */
    BAND_LEAST_SEGMENTS = 96, /* busy ones, likewise */
    HALO_ROWS = 2 * BAND_STEPS,
    COPIES_ALONE = 8,
    TASK_CELLS = 1 << 16, /* in one piece of a pass over the map */
    ALIGN = 64
};

struct cpu_sciddicat_run {
    struct sciddicat_params p;
    size_t row_cells, row_segments; /* with what lies around a row */
    struct span memory;
    struct sciddicat_row *rows;
    struct sciddicat_row_figures *figures;
    struct sciddicat_band whole;
    struct sciddicat_band *bands;
    size_t most_bands, n_bands;
    uint64_t step, n_steps; /* n_steps: of the bands that are being computed */
    bool moved;
    const double *given_z, *given_h; /* while a run is opened */
    const uint8_t *given_nodata;
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
    if (p->rows == 0 || p->columns == 0 || !checked_mul(p->rows, p->columns, &cells) ||
        cells > (size_t)1 << 31) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "a map of %zu rows by %zu columns: 1 to 2^31 cells are possible",
                           p->rows, p->columns);
    }
    if (!(p->epsilon >= 0) || !(p->r >= 0 && p->r <= 1)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "p_epsilon %g, p_r %g: at least 0, and from 0 to 1, are possible",
                           p->epsilon, p->r);
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

/* --- steps ----------------------------------------------------------------------------------- */

/* The first and the last of the segments that a band looks at in its steps. */
static void columns_in_reach(const struct sciddicat_band *b, const struct cpu_sciddicat_run *r,
                             size_t *begin, size_t *end)
{
    const size_t margin = BAND_STEPS / SEGMENT + 1;
    *begin = SIZE_MAX;
    *end = 0;
    for (size_t i = b->first - b->n_north; i < b->last + b->n_south; ++i) {
        if (r->rows[i].begin < r->rows[i].end) {
            *begin = cpu_min(*begin, r->rows[i].begin);
            *end = cpu_max(*end, r->rows[i].end);
        }
    }
    *begin = *begin < margin ? 0 : *begin - margin;
    *end = cpu_min(*end + margin, r->row_segments - (size_t)2 * ROW_PAD_SEGMENTS);
}

/* A row of the halo becomes a copy of one of the map, as far as the band looks at it. Beyond, its
 * bits must be clear, also those of the round before. */
static void copy_row(const struct sciddicat_row *from, struct sciddicat_row *to, size_t begin,
                     size_t end)
{
    struct sciddicat_row copy = *from;
    memset(to->active + to->begin, 0, to->end - to->begin);
    copy.h = to->h;
    copy.active = to->active;
    copy.peak = NULL;
    copy.arrival = NULL;
    *to = copy;
    if (begin < end) {
        memcpy(to->h + begin * SEGMENT, from->h + begin * SEGMENT,
               (end - begin) * SEGMENT * sizeof *to->h);
        memcpy(to->active + begin, from->active + begin, end - begin);
    }
}

static void halo_body(void *arg, size_t index)
{
    const struct cpu_sciddicat_run *r = arg;
    struct sciddicat_band *b = &r->bands[index];
    size_t begin, end;
    columns_in_reach(b, r, &begin, &end);
    for (size_t i = 0; i < b->n_north; ++i) {
        copy_row(&r->rows[b->first - b->n_north + i], &b->north[i], begin, end);
    }
    for (size_t i = 0; i < b->n_south; ++i) {
        copy_row(&r->rows[b->last + i], &b->south[i], begin, end);
    }
}

/* Waking threads takes longer than a few bands' copies. */
static void copy_halos(struct queue *q, struct cpu_sciddicat_run *r)
{
    if (r->n_bands > COPIES_ALONE) {
        cpu_run(q, r->n_bands, halo_body, r);
        return;
    }
    for (size_t b = 0; b < r->n_bands; ++b) {
        halo_body(r, b);
    }
}

static void band_body(void *arg, size_t index)
{
    const struct cpu_sciddicat_run *r = arg;
    cpu_sciddicat_band_advance(&r->bands[index], &r->p, r->step, r->n_steps);
}

/* How many bands are worth their halos. */
static size_t count_bands(const struct cpu_sciddicat_run *r, size_t busy)
{
    const size_t rows = r->whole.bottom - r->whole.top;
    return cpu_max(
        1, cpu_min(r->most_bands, cpu_min(rows / BAND_LEAST_ROWS, busy / BAND_LEAST_SEGMENTS)));
}

/* Cuts the map into n bands with about the same number of busy segments; the first begins and the
 * last ends with the map. May make fewer. */
static void cut_bands(struct cpu_sciddicat_run *r, size_t n, size_t busy)
{
    const size_t end = r->whole.bottom;
    size_t first = 0, sum = 0;
    r->n_bands = 0;
    for (size_t i = r->whole.top; i < end; ++i) {
        sum += r->rows[i].n_busy;
        if (r->n_bands + 1 < n && sum * n >= busy * (r->n_bands + 1) &&
            i + 1 >= first + BAND_LEAST_ROWS && i + 1 + BAND_LEAST_ROWS <= end) {
            r->bands[r->n_bands].first = first;
            r->bands[r->n_bands++].last = first = i + 1;
        }
    }
    r->bands[r->n_bands].first = first;
    r->bands[r->n_bands++].last = r->p.rows;
    for (size_t k = 0; k < r->n_bands; ++k) {
        struct sciddicat_band *b = &r->bands[k];
        b->n_north = cpu_min(b->first, HALO_ROWS);
        b->n_south = cpu_min(r->p.rows - b->last, HALO_ROWS);
        b->top = cpu_max(r->whole.top, b->first - b->n_north);
        b->bottom = cpu_max(b->top, cpu_min(r->whole.bottom, b->last + b->n_south));
    }
}

/* Rows with active cells, and how many busy segments they have. */
static size_t survey(struct cpu_sciddicat_run *r)
{
    size_t top = r->p.rows, bottom = 0, busy = 0;
    for (size_t i = 0; i < r->p.rows; ++i) {
        if (r->rows[i].n_busy != 0) {
            top = cpu_min(top, i);
            bottom = i + 1;
            busy += r->rows[i].n_busy;
        }
    }
    r->whole.top = cpu_min(top, bottom);
    r->whole.bottom = bottom;
    return busy;
}

/* Up to BAND_STEPS steps; how many. */
static uint64_t advance_round(struct queue *q, struct cpu_sciddicat_run *r, uint64_t wanted)
{
    const uint64_t n_steps = wanted < BAND_STEPS ? wanted : BAND_STEPS;
    const size_t busy = r->most_bands > 1 ? survey(r) : 0, n = count_bands(r, busy);
    if (n == 1) {
        cpu_sciddicat_band_advance(&r->whole, &r->p, r->step, n_steps);
        r->moved = r->whole.moved;
    } else {
        cut_bands(r, n, busy);
        r->n_steps = n_steps;
        copy_halos(q, r);
        cpu_run(q, r->n_bands, band_body, r);
        r->moved = false;
        for (size_t b = 0; b < r->n_bands; ++b) {
            r->moved |= r->bands[b].moved;
        }
    }
    r->step += n_steps;
    return n_steps;
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
    while (n_steps > 0) {
        n_steps -= advance_round(q, r, n_steps);
    }
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
