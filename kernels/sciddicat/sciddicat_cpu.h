/*
 * sciddicat_cpu - what the files of the CPU's automaton share: rows, flows and bands.
 *
 * A row is cut into segments of eight cells. Which cells will emit in the next step is kept in a
 * bit a cell; a step looks only at segments in which a cell emits or that border on one.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_CPU_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_CPU_H

#include "kernels/sciddicat/sciddicat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Around every row lie cells, and bytes of bits, that stay 0. */
enum { SEGMENT = 8, ROW_PAD_CELLS = 8, ROW_PAD_SEGMENTS = 2 };

struct sciddicat_row {
    double *h; /* the first cell, also in what follows */
    double *z;
    /* Cells that are updated: the largest h so far. Others: what has flowed into them. Rows that a
     * band computes for itself alone have none. */
    double *peak;
    int32_t *arrival;
    uint8_t *active;
    uint8_t *live;       /* cells that may emit and are updated */
    uint8_t *takes;      /* cells that can be among the alive; NULL: all */
    uint8_t *guess;      /* a byte a cell, see sciddicat_guess_cpu.h; NULL: none is kept */
    uint32_t begin, end; /* segments with active cells lie in here; 0, 0: none */
    uint32_t n_busy;     /* how many of them have any */
    bool touched;        /* h or peak has changed since the last report */
};

enum sciddicat_side { NORTH, WEST, EAST, SOUTH, SIDES };

/* What the cells of one row emit in this step: 0 where none does. */
struct sciddicat_flows {
    double *to[SIDES];
    uint8_t *active; /* of the row, before this step */
    uint32_t begin, end;
};

struct sciddicat_rule {
    double epsilon, r;
    uint64_t step; /* the one that is made */
};

/* The two halves of a step over a row, for one instruction set. */
struct sciddicat_row_kernels {
    const char *name;
    /* Fills `f`, which is empty, for `self`, which lies between the others. */
    void (*emit)(const struct sciddicat_rule *rule, const struct sciddicat_row *north,
                 const struct sciddicat_row *self, const struct sciddicat_row *south,
                 struct sciddicat_flows *f);
    /* Empties it. */
    void (*clear)(struct sciddicat_flows *f);
    /* Takes the flows of the row and of those beside it; true when some h of the row changed. */
    bool (*take)(const struct sciddicat_rule *rule, struct sciddicat_row *self,
                 const struct sciddicat_flows *north, const struct sciddicat_flows *own,
                 const struct sciddicat_flows *south);
};

extern const struct sciddicat_row_kernels cpu_sciddicat_base, cpu_sciddicat_avx2,
    cpu_sciddicat_avx512;
/* Those that this processor has, the fastest first; NULL when there is no i-th. */
const struct sciddicat_row_kernels *cpu_sciddicat_set(size_t i);

/* Figures of a row; see struct sciddicat_report for the order of the sums. */
struct sciddicat_row_figures {
    double mass, lost_edge, lost_nodata, largest;
    uint64_t n_active;
};
void cpu_sciddicat_figures(const struct sciddicat_params *p, const struct sciddicat_row *row,
                           size_t i, struct sciddicat_row_figures *out);
/* The sum of n numbers, `apart` doubles from one to the next, in that order. */
double cpu_sciddicat_sum(const double *x, size_t n, size_t apart);

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

static inline struct sciddicat_row *sciddicat_band_row(const struct sciddicat_band *b, size_t i)
{
    if (i < b->first) {
        return &b->north[i + b->n_north - b->first];
    }
    return i < b->last ? &b->rows[i] : &b->south[i - b->last];
}

/* n_steps more steps after step `at`. */
void cpu_sciddicat_band_advance(struct sciddicat_band *b, const struct sciddicat_params *p,
                                uint64_t at, uint64_t n_steps);

#endif
