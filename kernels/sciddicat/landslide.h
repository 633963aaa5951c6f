/*
 * landslide - the solve layer: from the altitudes and the debris of a map to the end of its run, by
 * the kernels of either backend. Plain C over arrays and a queue; it knows no files.
 *
 *   landslide_room; landslide_altitude and landslide_debris for every cell; landslide_ready;
 *   landslide_run; landslide_close.
 *
 * The run is made in rounds of steps that end where the state is needed; the mass is checked at
 * every report. Where rounds end changes no bit of the state, so neither do the clock, snapshots
 * or reports.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_LANDSLIDE_H
#define LEAT_KERNELS_SCIDDICAT_LANDSLIDE_H

#include "formats/base/saved.h"
#include "kernels/base/room.h"
#include "kernels/sciddicat/bands.h"

#include <math.h>

/* Numbers beyond this are not heights: at 1e9 m, doubles are 1e-7 m apart. */
static const double landslide_most_m = 1e9;
enum { LANDSLIDE_MOST_STEPS = 2147483646 /* arrivals are int32, and one more is never */ };

/* The debris before the first step. */
struct landslide_start {
    size_t n_debris;  /* cells with h > 0 */
    size_t n_flat;    /* of them: of altitude 0 */
    bool has_crown;   /* some of them have an altitude: */
    size_t crown;     /* the highest of these; the first of equals */
    size_t n_ring;    /* of them on the outermost ring ... */
    double ring_m;    /* ... and the sum of their thicknesses: it never moves */
    size_t n_nodata;  /* others on masked NODATA cells ... */
    double nodata_m;  /* ... which do not move either */
    double highest;   /* largest |altitude| */
    double thickness; /* sum over the map, as the kernels add it up */
    /* of cells that can move: */
    size_t n_moving, n_edges; /* those with debris; pairs of one with a neighbour without */
    double moving_m;          /* sum of thicknesses */
    double edge_m, drop_m;    /* sums over the pairs: of it, and of how far the surface falls */
};

/* How much the last step moved. */
struct landslide_motion {
    size_t n_cells; /* whose thickness changed */
    double sum_m;   /* of what was added to cells */
    double largest; /* change of a cell */
};

struct landslide {
    struct sciddicat_params params; /* set by the caller, as is: */
    uint64_t steps;                 /* at most LANDSLIDE_MOST_STEPS */
    uint64_t settle;                /* steps between checks whether any cell still moves; 0: none */
    uint64_t snapshot_every;        /* 0: never */
    uint64_t report_every;          /* 0: a hundredth of all */
    uint64_t record_every;          /* steps between records of the probes; 0: report_every */
    size_t most_helpers;            /* queues that there may be besides home */
    /* Called with `context` before the first step, and between two rounds: where a snapshot is due,
     * and as often as a tenth of a second passes. What is no STATUS_OK ends the run. NULL: nobody
     * asks. */
    enum status (*pause)(void *context);
    void *context;

    const struct queue *home; /* of landslide_room */
    size_t n_cells;           /* rows * columns */
    /* [n_cells] each, row by row; of landslide_room: */
    double *z;       /* altitude (m); of NODATA cells, unless compat, the lowest of the map */
    uint8_t *nodata; /* 1: the map has no number there */
    /* of the caller, who may exchange max_h in a pause: */
    double *h;     /* at the start; after the run: at the end */
    double *max_h; /* after the run: the largest ever; nobody reads it before */
    int32_t *arrival;
    /* [n_cells] each, of the caller: at the end, and for landslide_resume, h and max_h as members
     * exchange them; NULL: not wanted */
    double *kept_h, *kept_max_h;
    size_t n_nodata; /* cells */
    bool is_masked;  /* NODATA cells are treated as such: there are some, and not compat */

    struct landslide_start start;
    struct bands *bands; /* that compute it; NULL before the start and after the end */
    size_t n_helpers;    /* further queues that would make the end come sooner */
    bool settled;
    uint64_t round_steps; /* of the round that begins next, at most */
    /* Cells whose thickness is recorded: at the start, every record_every steps, at the end. */
    size_t n_probes; /* set by the caller, before landslide_room; may fall before the run */
    size_t *probes;  /* [n_probes]: of landslide_room, set by the caller before the run */
    double *ground;  /* [n_probes]: the surface under the debris (m) */
    double *records; /* [n_records][n_probes] */
    uint64_t *record_steps;
    size_t n_records;
    struct sciddicat_report now;
    struct sciddicat_report *reports; /* the start, every report, the end; of landslide_room */
    size_t n_reports;
    struct landslide_motion motion;
};

/* --- memory ----------------------------------------------------------------------------------- */

/* Sets n_cells, and report_every and record_every where they are 0. All memory but the caller's:
 * counted, or taken. STATUS_BAD_ARGUMENT: no map. */
enum status landslide_room(struct landslide *l, const struct queue *home,
                           struct room *room) STATUS_MUST_CHECK;
/* What each helper needs on a backend like home's; 0: none would be of use. */
uint64_t landslide_helper_bytes(const struct landslide *l, const struct queue *home);

/* --- the map ---------------------------------------------------------------------------------- */

/* What is wrong with a number. */
enum landslide_fault {
    LANDSLIDE_SOUND,
    LANDSLIDE_NODATA_NAN,  /* compat takes NODATA for an altitude: it is NaN, ... */
    LANDSLIDE_NODATA_FAR,  /* ... or beyond landslide_most_m */
    LANDSLIDE_NO_ALTITUDE, /* beyond it, or NaN */
    LANDSLIDE_BELOW_0,     /* debris */
    LANDSLIDE_NO_THICKNESS /* beyond it, or NaN */
};

/* Sets the altitude of a cell, in units of unit_m metres. */
static inline enum landslide_fault landslide_altitude(struct landslide *l, size_t cell,
                                                      double value, bool nodata, double unit_m)
{
    const bool compat = l->params.nodata == SCIDDICAT_COMPAT;
    if (!(fabs(value) <= landslide_most_m) && (compat || !nodata)) {
        return !nodata        ? LANDSLIDE_NO_ALTITUDE
               : isnan(value) ? LANDSLIDE_NODATA_NAN
                              : LANDSLIDE_NODATA_FAR;
    }
    l->z[cell] = value * unit_m;
    l->nodata[cell] = nodata;
    l->n_nodata += nodata;
    return LANDSLIDE_SOUND;
}

/* Sets the debris of a cell, likewise; NODATA is none. */
static inline enum landslide_fault landslide_debris(struct landslide *l, size_t cell, double value,
                                                    bool nodata, double unit_m)
{
    l->h[cell] = nodata ? 0 : value * unit_m + 0.0; /* not -0 */
    return nodata || (value >= 0 && value <= landslide_most_m) ? LANDSLIDE_SOUND
           : value < 0                                         ? LANDSLIDE_BELOW_0
                                                               : LANDSLIDE_NO_THICKNESS;
}

/* All are there: gives NODATA cells their altitude, and fills l->start (but the sum); less
 * where the queue is stopped, as landslide_run will say. False: no cell has an altitude. */
bool landslide_ready(struct landslide *l);

/* Is it a NODATA cell that is treated as one? */
static inline bool landslide_masks(const struct landslide *l, size_t cell)
{
    return l->is_masked && l->nodata[cell];
}

static inline bool landslide_on_ring(const struct landslide *l, size_t row, size_t column)
{
    return row == 0 || column == 0 || row + 1 == l->params.rows || column + 1 == l->params.columns;
}

/* --- the run ---------------------------------------------------------------------------------- */

/* Runs to the end: then h, max_h, arrival and motion are there, and the backend's memory is
 * released. STATUS_INTERNAL when the mass does not balance. */
enum status landslide_run(struct landslide *l, struct queue *home,
                          struct executor executor) STATUS_MUST_CHECK;
/* In a pause: as bands_spread(); also members that have been there go on where none can be opened.
 */
enum status landslide_share(struct landslide *l, struct queue **queues,
                            size_t *n_queues) STATUS_MUST_CHECK;
bool landslide_is_over(const struct landslide *l);
bool landslide_has_snapshot(const struct landslide *l); /* of the present step */
/* In a pause: passes all that a run of the same landslide needs to go on from the present step with
 * the same bits; in the pause before the first step it may come back. The map has two rows at
 * least, which travel through max_h and arrival. STATUS_INTERNAL: it is of another landslide. */
enum status landslide_pass(struct landslide *l, struct saved *s) STATUS_MUST_CHECK;
/* In the pause before the first step: goes on from the end of another run of the same map, after so
 * many steps, of which kept_h, kept_max_h and arrival are left. STATUS_INTERNAL: as landslide_run.
 */
enum status landslide_resume(struct landslide *l, uint64_t step) STATUS_MUST_CHECK;
/* By how much the mass may be off after the present step, in metres summed over cells. */
double landslide_mass_bound(const struct landslide *l);
double landslide_now_s(void); /* a clock that never goes back */
/* Of a run that has ended early, or at all. */
void landslide_close(struct landslide *l);

/* --- several runs of one map, which differ in their parameters -----------------------------------
 */

/* How one of them has ended: as in struct landslide after landslide_run. */
struct landslide_end {
    double *h, *max_h; /* [n_cells] each; `done` may change them */
    struct sciddicat_report now;
    bool settled;
};

struct landslide_sweep {
    /* set by the caller, before landslide_sweep_room: */
    size_t n_runs;
    uint64_t most_bytes; /* of memory for runs that are made side by side, unless one takes more */
    /* and before the sweep: */
    const double *epsilon, *r; /* [n_runs] each */
    /* Called with l->context when runs [first, first + n) have ended, which are ends[n]: in the
     * order of the runs. What is no STATUS_OK ends the sweep. */
    enum status (*done)(void *context, size_t first, size_t n);
    /* of landslide_sweep_room: */
    size_t most;                      /* runs side by side */
    struct landslide_end *ends;       /* [most] */
    void **runs, **going;             /* likewise: on the backend; those of them that go on, ... */
    size_t *going_end;                /* ... which ends they are going to be ... */
    struct sciddicat_report *reports; /* ... and what they report */
};

/* After landslide_room: what several runs take beyond one. */
enum status landslide_sweep_room(const struct landslide *l, struct landslide_sweep *sweep,
                                 struct room *room) STATUS_MUST_CHECK;
/* Makes all of them, in place of landslide_run, without snapshots, probes, helpers and reports; in
 * a pause now.step is the steps of all runs whose ends have not been told. The landslide is as
 * before it then, but for max_h, and may run. */
enum status landslide_sweep(struct landslide *l, struct landslide_sweep *sweep,
                            struct queue *home) STATUS_MUST_CHECK;

/* What both kinds of runs take from landslide.c: the start, for members and runs whenever they
 * come; whether the mass balances now (STATUS_INTERNAL); how many steps fit into a round, from how
 * long n_steps > 0 have taken since `began`, or 0: at first. */
enum status landslide_input(const struct landslide *l, struct bands_input *in) STATUS_MUST_CHECK;
enum status landslide_check(const struct landslide *l) STATUS_MUST_CHECK;
void landslide_pace(struct landslide *l, uint64_t n_steps, double began);

#endif
