/*
 * sciddicat_job - what the parts of the stage `sciddicat` share: one landslide's state.
 *
 * Cells come in (sciddicat_cells), the automaton runs (sciddicat_march), and files, figures and a
 * picture are made of what it leaves (sciddicat_files, _report, _map).
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_JOB_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_JOB_H

#include "formats/geo/grid_scale.h"
#include "stages/sciddicat/sciddicat_choice.h"

/* The debris before the first step. */
struct sciddicat_start {
    size_t n_debris;  /* cells with h > 0 */
    bool has_crown;   /* some of them have an altitude: */
    size_t crown;     /* the highest of these; the first of equals */
    size_t n_ring;    /* of them on the outermost ring ... */
    double ring_m;    /* ... and the sum of their thicknesses: it never moves */
    size_t n_nodata;  /* others on NODATA cells, where these are none (wall, sink) ... */
    double nodata_m;  /* ... which do not move either */
    double highest;   /* largest |altitude| */
    double thickness; /* sum over the map, as the kernels add it up */
};

/* How much the last step moved. */
struct sciddicat_motion {
    size_t n_cells; /* whose thickness changed */
    double sum_m;   /* of what was added to cells */
    double largest; /* change of a cell */
};

struct sciddicat_job {
    struct stage_args args;
    struct sciddicat_choice choice;
    struct sciddicat_params params;
    const struct backend_ops *ops;
    struct queue *queue;
    struct grid *dem, *source;    /* owned */
    bool georeferenced_by_source; /* the DEM did not know where it lies */
    struct grid_scale scale;
    size_t n_cells;

    /* [n_cells] each, row by row */
    double *z;       /* altitude as given; of NODATA cells, unless compat, the lowest of the map */
    uint8_t *nodata; /* 1: the DEM has no number there */
    double *h;       /* at the start; from the end on: at the end */
    double *max_h;   /* at the end: the largest ever */
    int32_t *arrival;
    size_t taken[SCIDDICAT_N_PARTS];
    size_t n_nodata;
    size_t n_usual; /* altitudes of exactly -9999, in a DEM that names no NODATA */
    bool holes;     /* NODATA cells are treated as such: there are some, and not compat */

    struct sciddicat_start start;
    void *run; /* of the kernels; NULL before the start and after the end */
    bool started, settled;
    struct sciddicat_report now;
    struct sciddicat_report *books; /* the start, every report, the end */
    size_t n_books;
    struct sciddicat_motion motion;
};

static inline const char *sciddicat_name(const struct sciddicat_job *job, enum sciddicat_part part)
{
    return job->args.inputs[part].name;
}

static inline bool sciddicat_on_ring(const struct sciddicat_job *job, size_t row, size_t column)
{
    return row == 0 || column == 0 || row + 1 == job->dem->rows || column + 1 == job->dem->columns;
}

/* By how much the books may be off after the present step, in metres summed over cells. */
double sciddicat_job_bound(const struct sciddicat_job *job);

#endif
