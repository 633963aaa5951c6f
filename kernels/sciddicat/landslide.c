/*
 * landslide - see the header.
 *
 * NODATA cells that are sinks, or lie on the ring, need an altitude, which their neighbours compare
 * with their own: the lowest of the map. The number that stands for NODATA does not serve: with
 * -3.4e38, a common one, every flow towards it would be lost in rounding.
 */
#include "kernels/sciddicat/landslide.h"

#include <string.h>
#include <time.h>

enum { ROUND_STEPS = 4096, ROUND_GROWTH = 8, DEFAULT_REPORTS = 100 };
static const uint64_t first_round_cells = UINT64_C(1) << 28; /* cells times steps */
static const double round_s = 0.1; /* a round is as long as that: reports cost a map's reading */
/* Pieces of the map times steps that helpers have to take off a device, in which it would make them
 * itself while they open: 0.3 s (an H200 visits a tile in 17 ns); and for each cell, of which they
 * are given 17 bytes at 6 GB/s. */
static const double least_saved = 0x1p24, least_saved_a_cell = 0.16;

/*
 * The kernels' bound takes flows to be no more than the debris there is. Rounding adds to a flow at
 * most 7 u L (u = 2^-53; L the highest level: a mean of 5 levels, a difference and a product), so
 * flows from C cells may exceed that by 28 u L C, and thicknesses may fall below 0 by as much: in
 * the balance that is less than 512 u^2 L C a step.
 */
double landslide_mass_bound(const struct landslide *l)
{
    const double mass = l->start.thickness, steps = (double)l->now.step;
    const double levels = 0x1p-97 * (l->start.highest + mass) * (double)l->n_cells * steps;
    return sciddicat_mass_balance_bound(&l->params, mass, l->now.step) + levels;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* How many devices have enough to do where so many pieces of the map are busy (bands_busy): with
 * fewer tiles a device is not full, and a step takes as long as with half of them. */
static size_t n_devices(uint64_t n_busy)
{
    enum { LEAST_BUSY = 2000 };
    return (size_t)(n_busy / LEAST_BUSY);
}

/* How many queues may compute it, of those that there can be. */
static size_t most_members(const struct landslide *l)
{
    enum { PIECE_CELLS = 8 }; /* the smallest, of the CPU */
    const size_t n = n_devices(l->n_cells / PIECE_CELLS), most = 1 + l->most_helpers;
    return n < most ? n : most;
}

uint64_t landslide_helper_bytes(const struct landslide *l, const struct queue *home)
{
    return most_members(l) > 1 ? bands_helper_bytes(home, &l->params) : 0;
}

/* The start, where another run's end is gone on from, every so many steps, and the end. */
static size_t most_reports(const struct landslide *l)
{
    return (size_t)(l->steps / l->report_every) + 3;
}

static size_t most_records(const struct landslide *l)
{
    return (size_t)(l->steps / l->record_every) + 2;
}

static enum status room_of_probes(struct landslide *l, struct room *room)
{
    const size_t n = l->n_probes, n_records = most_records(l);
    STATUS_TRY(room_host(room, n, sizeof *l->probes, &l->probes));
    STATUS_TRY(room_host(room, n, sizeof *l->ground, &l->ground));
    STATUS_TRY(room_host(room, n_records, sizeof *l->record_steps, &l->record_steps));
    return room_host(room, n_records, n * sizeof *l->records, &l->records);
}

enum status landslide_room(struct landslide *l, const struct queue *home, struct room *room)
{
    STATUS_TRY(sciddicat_count_cells(&l->params, &l->n_cells));
    l->home = home;
    if (l->report_every == 0) {
        l->report_every = l->steps < DEFAULT_REPORTS ? 1 : l->steps / DEFAULT_REPORTS;
    }
    l->record_every = l->record_every == 0 ? l->report_every : l->record_every;
    const size_t n = l->n_cells, given = 2 * sizeof(double) + 1; /* z, h, NODATA: until the kernels
                                                                    have them */
    const size_t n_reports = most_reports(l);
    room_count(room, 0, n * given);
    room_count(room, bands_bytes(&l->params, most_members(l)),
               home->backend->ops->sciddicat->bytes(&l->params));
    STATUS_TRY(room_host(room, n, sizeof *l->z, &l->z));
    STATUS_TRY(room_host(room, n, sizeof *l->nodata, &l->nodata));
    STATUS_TRY(room_host(room, n_reports, sizeof *l->reports, &l->reports));
    return l->n_probes > 0 ? room_of_probes(l, room) : STATUS_OK;
}

/* --- the start -------------------------------------------------------------------------------- */

static bool fill_nodata(struct landslide *l)
{
    double lowest = INFINITY;
    for (size_t k = 0; k < l->n_cells; k++) {
        if (!l->nodata[k] && l->z[k] < lowest) {
            lowest = l->z[k];
        }
    }
    for (size_t k = 0; k < l->n_cells; k++) {
        if (l->nodata[k]) {
            l->z[k] = lowest;
        }
    }
    return !isinf(lowest);
}

/* Has it debris that can move? */
static bool can_move(const struct landslide *l, size_t row, size_t column)
{
    const size_t k = row * l->params.columns + column;
    return l->h[k] > 0 && !landslide_on_ring(l, row, column) && !landslide_masks(l, k);
}

/* Notes a cell's debris. */
static void start_cell(struct landslide *l, size_t row, size_t column)
{
    struct landslide_start *const s = &l->start;
    const size_t k = row * l->params.columns + column;
    const double h = l->h[k], z = l->z[k];
    s->highest = fmax(s->highest, fabs(z));
    if (!(h > 0)) {
        return;
    }
    s->n_flat += z == 0 && !l->nodata[k];
    const bool masked = landslide_masks(l, k);
    if (!masked && (!s->has_crown || z > l->z[s->crown])) {
        s->crown = k;
        s->has_crown = true;
    }
    s->n_debris++;
    if (landslide_on_ring(l, row, column)) {
        s->n_ring++;
        s->ring_m += h;
    } else if (masked) {
        s->n_nodata++;
        s->nodata_m += h;
    }
}

/* Notes how debris ends about a cell that has some. */
static void start_edges(struct landslide *l, size_t row, size_t column)
{
    struct landslide_start *const s = &l->start;
    const size_t columns = l->params.columns, k = row * columns + column;
    if (!can_move(l, row, column)) {
        return;
    }
    const size_t next[4] = {k - columns, k - 1, k + 1, k + columns};
    for (size_t n = 0; n < 4; n++) {
        if (!(l->h[next[n]] > 0) && !l->nodata[next[n]]) {
            s->n_edges++;
            s->edge_m += l->h[k];
            s->drop_m += l->z[k] - l->z[next[n]];
        }
    }
    s->moving_m += l->h[k];
    s->n_moving++;
}

bool landslide_ready(struct landslide *l)
{
    l->is_masked = l->n_nodata > 0 && l->params.nodata != SCIDDICAT_COMPAT;
    if (l->is_masked && !fill_nodata(l)) {
        return false;
    }
    for (size_t i = 0; i < l->params.rows && !queue_is_stopped(l->home); i++) {
        for (size_t j = 0; j < l->params.columns; j++) {
            start_cell(l, i, j);
            start_edges(l, i, j);
        }
    }
    return true;
}

/* Debris that may move lies in the surface that the map shows; what is under it stands in what
 * nobody reads. */
enum status landslide_input(const struct landslide *l, struct bands_input *in)
{
    double *const surface = l->max_h;
    for (size_t i = 0; i < l->params.rows; i++) {
        STATUS_TRY(queue_check(l->home));
        for (size_t j = 0; j < l->params.columns; j++) {
            const size_t k = i * l->params.columns + j;
            surface[k] = can_move(l, i, j) ? l->z[k] - l->h[k] : l->z[k];
        }
    }
    *in = (struct bands_input){.z = surface, .h = l->h, .nodata = l->is_masked ? l->nodata : NULL};
    return STATUS_OK;
}

/* --- helpers ---------------------------------------------------------------------------------- */

bool landslide_is_over(const struct landslide *l)
{
    return l->settled || l->now.step == l->steps;
}

/* Where few cells can emit, nobody looks which pieces are busy. */
static enum status count_helpers(struct landslide *l)
{
    struct bands_info info;
    uint64_t busy = 0;
    bands_describe(l->bands, &info);
    const size_t now = info.n_members, most = 1 + l->most_helpers;
    l->n_helpers = 0;
    if (now >= most || landslide_is_over(l) || n_devices(l->now.n_active) <= now) {
        return STATUS_OK;
    }
    STATUS_TRY(bands_busy(l->bands, &busy));
    const size_t groups = sciddicat_n_groups(l->params.rows), asked = n_devices(busy);
    const size_t wanted = asked < groups ? asked : groups, n = wanted < most ? wanted : most;
    const double left = (double)(l->steps - l->now.step) * (double)busy;
    const double least = least_saved + least_saved_a_cell * (double)l->n_cells;
    if (n > now && left / (double)now - left / (double)n >= least) {
        l->n_helpers = n - now;
    }
    return STATUS_OK;
}

enum status landslide_share(struct landslide *l, struct queue **queues, size_t *n_queues)
{
    struct bands_input in;
    STATUS_TRY(landslide_input(l, &in));
    return bands_spread(l->bands, queues, n_queues, &in);
}

/* --- probes ----------------------------------------------------------------------------------- */

/* Notes the thickness of the probes after the present step; h: of the whole map. */
static void record_probes(struct landslide *l, const double *h)
{
    l->record_steps[l->n_records] = l->now.step;
    for (size_t k = 0; k < l->n_probes; k++) {
        l->records[l->n_records * l->n_probes + k] = h[l->probes[k]] + 0.0; /* not -0 */
    }
    l->n_records++;
}

/* The start, while max_h is the surface under the debris. */
static void begin_probes(struct landslide *l)
{
    for (size_t k = 0; k < l->n_probes; k++) {
        l->ground[k] = l->max_h[l->probes[k]];
    }
    record_probes(l, l->h);
}

/* --- a state that is kept --------------------------------------------------------------------- */

/* Some megabytes of rows at a time: their h and max_h share the room of one. */
static enum status pass_rows(struct landslide *l, struct saved *s)
{
    enum { PIECE_CELLS = 1 << 18 };
    const size_t rows = l->params.rows, columns = l->params.columns;
    const size_t wanted = 1 + PIECE_CELLS / columns, n = wanted < rows / 2 ? wanted : rows / 2;
    for (size_t i = 0; i < rows; i += n) {
        const size_t last = rows - i < n ? rows : i + n, cells = (last - i) * columns;
        const struct sciddicat_rows piece = {i, last, l->max_h, l->max_h + cells, l->arrival};
        STATUS_TRY(queue_check(l->home));
        STATUS_TRY(s->reads ? STATUS_OK : bands_take(l->bands, &piece));
        STATUS_TRY(s->pass(s, piece.h, 2 * cells * sizeof *piece.h));
        STATUS_TRY(s->pass(s, piece.arrival, cells * sizeof *piece.arrival));
        STATUS_TRY(s->reads ? bands_give(l->bands, &piece) : STATUS_OK);
    }
    return STATUS_OK;
}

enum status landslide_pass(struct landslide *l, struct saved *s)
{
    struct {
        struct sciddicat_report now;
        uint64_t n_reports, n_records;
    } head = {l->now, l->n_reports, l->n_records};
    STATUS_TRY(s->pass(s, &head, sizeof head));
    if (head.now.step >= l->steps || head.n_reports > most_reports(l) ||
        (l->n_probes > 0 ? head.n_records > most_records(l) : head.n_records > 0)) {
        return status_fail(STATUS_INTERNAL, "the state that was kept is of another landslide");
    }
    l->now = head.now;
    l->n_reports = (size_t)head.n_reports;
    l->n_records = (size_t)head.n_records;
    STATUS_TRY(s->pass(s, l->reports, l->n_reports * sizeof *l->reports));
    STATUS_TRY(s->pass(s, l->record_steps, l->n_records * sizeof *l->record_steps));
    STATUS_TRY(s->pass(s, l->records, l->n_records * l->n_probes * sizeof *l->records));
    STATUS_TRY(pass_rows(l, s));
    return s->reads ? bands_resume(l->bands, l->now.step) : STATUS_OK;
}

/* --- rounds ----------------------------------------------------------------------------------- */

static uint64_t clamp_round(double steps)
{
    return steps < 1 ? 1 : steps < ROUND_STEPS ? (uint64_t)steps : ROUND_STEPS;
}

double landslide_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void landslide_pace(struct landslide *l, uint64_t n_steps, double began)
{
    if (n_steps == 0) {
        l->round_steps = clamp_round((double)first_round_cells / (double)l->n_cells);
        return;
    }
    const double fit = (double)n_steps * round_s / fmax(landslide_now_s() - began, 1e-9);
    l->round_steps = clamp_round(fmin(fit, (double)(ROUND_GROWTH * l->round_steps)));
}

/* The map goes to the backend; the first figures come from there. */
static enum status begin(struct landslide *l, struct queue *home, struct executor executor)
{
    const struct bands_config c = {.home = home, .executor = executor};
    struct bands_input in;
    STATUS_TRY(landslide_input(l, &in));
    STATUS_TRY(bands_open(&c, &l->params, &in, &l->bands));
    STATUS_TRY(bands_advance(l->bands, 0, &l->now));
    if (l->n_probes > 0) {
        begin_probes(l);
    }
    landslide_pace(l, 0, 0);
    l->start.thickness = l->now.mass;
    l->reports[l->n_reports++] = l->now;
    return count_helpers(l);
}

static bool is_due(uint64_t step, uint64_t every)
{
    return every > 0 && step > 0 && step % every == 0;
}

bool landslide_has_snapshot(const struct landslide *l)
{
    return l->bands != NULL && is_due(l->now.step, l->snapshot_every);
}

static uint64_t earlier_of(uint64_t stop, uint64_t step, uint64_t every)
{
    const uint64_t next = every > 0 ? step - step % every + every : stop;
    return next < stop ? next : stop;
}

/* The last step of the round that begins now. */
static uint64_t next_stop(const struct landslide *l)
{
    const uint64_t step = l->now.step, most = l->round_steps;
    uint64_t stop = step + most < l->steps ? step + most : l->steps;
    stop = earlier_of(stop, step, l->report_every);
    stop = earlier_of(stop, step, l->snapshot_every);
    stop = l->n_probes > 0 ? earlier_of(stop, step, l->record_every) : stop;
    return earlier_of(stop, step, l->settle);
}

/* n_steps > 0 more. */
static enum status advance_paced(struct landslide *l, uint64_t n_steps)
{
    const double began = landslide_now_s();
    STATUS_TRY(bands_advance(l->bands, n_steps, &l->now));
    landslide_pace(l, n_steps, began);
    return STATUS_OK;
}

enum status landslide_check(const struct landslide *l)
{
    const struct sciddicat_report *r = &l->now;
    const double off = r->mass + r->lost_edge + r->lost_nodata - l->start.thickness;
    const double bound = landslide_mass_bound(l);
    if (!(fabs(off) <= bound)) {
        return status_fail(STATUS_INTERNAL,
                           "the mass of a landslide is off by %g m of debris (summed over cells) "
                           "after %llu steps; rounding explains %g",
                           off, (unsigned long long)r->step, bound);
    }
    return STATUS_OK;
}

static enum status report(struct landslide *l)
{
    l->reports[l->n_reports++] = l->now;
    return landslide_check(l);
}

static struct sciddicat_rows kept_rows(const struct landslide *l)
{
    return (struct sciddicat_rows){0, l->params.rows, l->kept_h, l->kept_max_h, l->arrival};
}

enum status landslide_resume(struct landslide *l, uint64_t step)
{
    const struct sciddicat_rows all = kept_rows(l);
    STATUS_TRY(bands_give(l->bands, &all));
    STATUS_TRY(bands_resume(l->bands, step));
    STATUS_TRY(bands_advance(l->bands, 0, &l->now));
    return report(l);
}

/* The last step of all, on its own: how far it takes the state before it. */
static enum status make_last_step(struct landslide *l)
{
    struct landslide_motion *const m = &l->motion;
    const double *const before = l->max_h;
    STATUS_TRY(bands_state(l->bands, l->max_h, NULL, NULL));
    STATUS_TRY(bands_advance(l->bands, 1, &l->now));
    STATUS_TRY(bands_state(l->bands, l->h, NULL, NULL));
    for (size_t k = 0; k < l->n_cells; k++) {
        const double change = l->h[k] - before[k];
        m->n_cells += change != 0;
        m->sum_m += fmax(change, 0);
        m->largest = fmax(m->largest, fabs(change));
    }
    return STATUS_OK;
}

static enum status make_round(struct landslide *l)
{
    const uint64_t stop = next_stop(l);
    const bool last = stop == l->steps;
    const uint64_t n_steps = stop - l->now.step - (last ? 1 : 0);
    STATUS_TRY(n_steps > 0 ? advance_paced(l, n_steps) : STATUS_OK);
    STATUS_TRY(last ? make_last_step(l) : STATUS_OK);
    l->settled = is_due(stop, l->settle) && !l->now.moved;
    const bool is_over = landslide_is_over(l);
    if (l->n_probes > 0 && (is_due(stop, l->record_every) || is_over)) {
        STATUS_TRY(bands_state(l->bands, l->max_h, NULL, NULL));
        record_probes(l, l->max_h);
    }
    return is_due(stop, l->report_every) || is_over ? report(l) : STATUS_OK;
}

static enum status pause_run(struct landslide *l)
{
    return l->pause != NULL ? l->pause(l->context) : STATUS_OK;
}

enum status landslide_run(struct landslide *l, struct queue *home, struct executor executor)
{
    STATUS_TRY(begin(l, home, executor));
    STATUS_TRY(pause_run(l));
    double began = landslide_now_s();
    while (!landslide_is_over(l)) {
        STATUS_TRY(make_round(l));
        if (landslide_has_snapshot(l) ||
            (!landslide_is_over(l) && landslide_now_s() - began >= round_s)) {
            STATUS_TRY(count_helpers(l));
            STATUS_TRY(pause_run(l));
            began = landslide_now_s();
        }
    }
    if (l->kept_h != NULL) {
        const struct sciddicat_rows all = kept_rows(l);
        STATUS_TRY(bands_take(l->bands, &all));
    }
    STATUS_TRY(bands_state(l->bands, l->h, l->max_h, l->arrival));
    landslide_close(l);
    return STATUS_OK;
}

void landslide_close(struct landslide *l)
{
    bands_close(l->bands);
    l->bands = NULL;
}
