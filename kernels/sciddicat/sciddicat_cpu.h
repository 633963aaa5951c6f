/*
 * sciddicat_cpu - a row of the CPU's automaton, and a step over it by each instruction set.
 *
 * A row is cut into segments of eight cells. Which cells will emit in the next step is kept in a
 * bit a cell; a step visits only segments in which a cell emits or that border on one.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_CPU_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_CPU_H

#include "kernels/sciddicat/sciddicat.h"
#include "kernels/sciddicat/sciddicat_rule.h"

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
    double *max_h;
    int32_t *arrival;
    uint8_t *active;
    uint8_t *live;       /* cells that may emit and are updated */
    uint8_t *accepts;    /* cells that can be among the alive; NULL: all */
    uint8_t *guess;      /* a byte a cell, see sciddicat_guess_cpu.h; NULL: none is kept */
    uint32_t begin, end; /* segments with active cells lie in here; 0, 0: none */
    uint32_t n_busy;     /* how many of them have any */
    bool touched;        /* h or max_h has changed since the last report */
};

/* Where a row's active cells begin and end, and in how many segments they are, of [begin, end). */
static inline void sciddicat_row_survey(struct sciddicat_row *row, uint32_t begin, uint32_t end)
{
    uint32_t first = 0, last = 0, n_busy = 0;
    for (uint32_t s = begin; s < end; ++s) {
        if (row->active[s] != 0) {
            first = n_busy == 0 ? s : first;
            last = s + 1;
            ++n_busy;
        }
    }
    row->begin = first;
    row->end = last;
    row->n_busy = n_busy;
}

/* What the cells of one row emit in this step, to N, W, E, S: 0 where none does. */
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
    /* Applies the flows of the row and of those beside it; true when some h of the row changed. */
    bool (*update)(const struct sciddicat_rule *rule, struct sciddicat_row *self,
                   const struct sciddicat_flows *north, const struct sciddicat_flows *own,
                   const struct sciddicat_flows *south);
};

extern const struct sciddicat_row_kernels cpu_sciddicat_base, cpu_sciddicat_avx2,
    cpu_sciddicat_avx512;
/* Those that this processor has, the fastest first; NULL when there is no i-th. */
const struct sciddicat_row_kernels *cpu_sciddicat_set(size_t i);

#endif
