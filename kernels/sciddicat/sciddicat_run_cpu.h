/*
 * sciddicat_run_cpu - a run of the automaton: its map, and the bands into which it is cut.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_RUN_CPU_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_RUN_CPU_H

#include "kernels/sciddicat/phases_cpu.h"
#include "kernels/sciddicat/sciddicat_cpu.h"

enum {
    BAND_STEPS = 8, /* between copies of other bands' rows: fewer cost waiting, more halo */
    BAND_ROWS = 64, /* of the map, to a band */
    MOST_BANDS = CPU_MOST_PIECES,
    BAND_LEAST_ROWS = 24,     /* active rows, below which halos cost more than they bring */
    BAND_LEAST_SEGMENTS = 96, /* busy ones, likewise */
    HALO_ROWS = 2 * BAND_STEPS,
    SCIDDICAT_TASK_CELLS = 1 << 16, /* in one piece of a pass over the map */
    TEAM_WORK = 1 << 20 /* busy segments times steps before threads are let go: some 10 ms */
};

/*
 * Rows [first, last) of the map, computed together for a few steps without looking at others. A
 * band that is not the whole map has copies of the 2 rows a step on either side (its halo), of
 * which fewer are right after every step.
 */
struct sciddicat_band {
    struct sciddicat_row *rows; /* of the map */
    size_t first, last;
    struct sciddicat_row *north, *south; /* rows before first; rows from last on */
    size_t n_north, n_south;
    size_t top, bottom; /* rows with active cells lie in here */
    struct sciddicat_flows flows[3];
    const struct sciddicat_row_kernels *set;
    bool moved;      /* in the last step */
    char apart[128]; /* two threads' bands do not share lines of the cache */
};

struct cpu_sciddicat_run {
    struct sciddicat_params p;
    size_t row_cells, row_segments; /* with what lies around a row */
    struct span memory;
    struct sciddicat_row *rows;
    struct sciddicat_row_figures *figures; /* of rows that have not been touched since */
    struct sciddicat_band whole; /* the rows that the run owns; its halo are its ghost rows */
    struct sciddicat_band *bands;
    size_t most_bands, n_bands;
    uint64_t step, n_steps; /* n_steps: of the bands that are being computed */
    bool moved;
    const double *given_z, *given_h; /* while a run is opened */
    const uint8_t *given_nodata;
};

/* n_steps more steps; sets step and moved. */
void cpu_sciddicat_advance(struct queue *q, struct cpu_sciddicat_run *r, uint64_t n_steps);

/* From now on the run owns rows [first, last). */
void cpu_sciddicat_own(struct cpu_sciddicat_run *r, size_t first, size_t last);

/* Makes figures[] right for the rows that the run owns. */
void cpu_sciddicat_figures(struct queue *q, struct cpu_sciddicat_run *r);

/* How many rows a task on several rows has. */
static inline size_t cpu_sciddicat_task_rows(const struct cpu_sciddicat_run *r)
{
    const size_t rows = SCIDDICAT_TASK_CELLS / r->p.columns;
    return rows > 1 ? rows : 1;
}

extern const struct sciddicat_member_kernels cpu_sciddicat_member;

#endif
