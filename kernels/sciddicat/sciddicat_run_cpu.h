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
    TEAM_WORK = 1 << 20 /* busy segments times steps before threads are let go: some 10 ms */
};

/* Of a row; see struct sciddicat_report for the order of the sums. */
struct sciddicat_row_stats {
    double mass, lost_edge, lost_nodata, largest;
    uint64_t n_active;
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
    struct sciddicat_row_stats *stats;
    struct sciddicat_band whole;
    struct sciddicat_band *bands;
    size_t most_bands, n_bands;
    uint64_t step, n_steps; /* n_steps: of the bands that are being computed */
    bool moved;
    const double *given_z, *given_h; /* while a run is opened */
    const uint8_t *given_nodata;
};

/* n_steps more steps; sets step and moved. */
void cpu_sciddicat_advance(struct queue *q, struct cpu_sciddicat_run *r, uint64_t n_steps);

#endif
