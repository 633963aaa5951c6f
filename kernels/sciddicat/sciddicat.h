/*
 * sciddicat - the sciddicaT cellular automaton for debris flows: four neighbours, minimisation of
 * differences (D. D'Ambrosio, W. Spataro, G. Iovine, 2006), on a grid of R rows by C columns,
 * row-major, k = i * C + j, IEEE double throughout, no fused multiply-add: both backends give the
 * same bits, and so does any way of skipping cells in which nothing can happen.
 *
 * z altitude (m), h debris thickness (m), eps = p_epsilon, pr = p_r. One step, all cells at once:
 *   A. A cell that emits (not on the outermost ring, h > eps; others emit nothing): m = h - eps,
 *      u0 = z + eps, u1..u4 = z + h of N, W, E, S; all five alive. Repeat: avg = m plus the alive u
 *      in order 0..4, divided by the number alive; every alive n with avg <= u_n dies, all judged
 *      against the same avg; until none died. Flow to neighbour n: (avg - u_n) * pr where n is
 *      alive, else 0.
 *   B. t = h; t += (in from N - out to N); likewise W, E, S in this order; h = t. Not on the ring.
 *
 * The ring never emits and is never updated; its z + h is what its neighbours see; what flows into
 * it has left the map. NODATA cells that are not on the ring:
 *   compat  numbers like any other;
 *   sink    as the ring: what flows into them leaves the map;
 *   wall    emit nothing and take no flow: not among the alive at the start; z is not read.
 * On the ring NODATA makes no difference.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_H

#include "formats/base/checked.h"
#include "kernels/backend.h"

enum sciddicat_nodata { SCIDDICAT_WALL, SCIDDICAT_SINK, SCIDDICAT_COMPAT };

struct sciddicat_params {
    size_t rows, columns; /* >= 1 each; rows * columns <= 2^31 */
    double epsilon, r;    /* p_epsilon >= 0, 0 <= p_r <= 1 */
    enum sciddicat_nodata nodata;
};

/* How many cells the map has. STATUS_BAD_ARGUMENT: the numbers are not as they must be. */
STATUS_MUST_CHECK static inline enum status sciddicat_count_cells(const struct sciddicat_params *p,
                                                                  size_t *cells)
{
    *cells = 0;
    if (p->rows == 0 || p->columns == 0 || !checked_mul(p->rows, p->columns, cells) ||
        *cells > (size_t)1 << 31) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "a map of %zu rows by %zu columns: 1 to 2^31 cells are possible",
                           p->rows, p->columns);
    }
    if (!(p->epsilon >= 0) || !(p->r >= 0 && p->r <= 1)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "p_epsilon %g, p_r %g: at least 0, and from 0 to 1, are possible",
                           p->epsilon, p->r);
    }
    return STATUS_OK;
}

/*
 * The state after a step, the same bits on every run and backend. A sum over the map is made row by
 * row and then over the rows' sums, both as 32 partial sums: the l-th adds, from 0, the items l,
 * l + 32, ... in order; then l + w is added to l < w for w = 16, 8, 4, 2, 1. What leaves the map is
 * added up, in order of the steps and from N, W, E, S, for every cell that it leaves through.
 */
struct sciddicat_report {
    uint64_t step;
    double
        mass; /* sum of h on the map, ring and NODATA cells included (m; times cell area: volume) */
    double lost_edge;   /* sum that flowed into the ring since step 0 */
    double lost_nodata; /* sum that flowed into NODATA cells (sink) since step 0 */
    double largest;     /* largest h now */
    uint64_t n_active;  /* cells with h > eps now */
    bool moved;         /* h of some cell changed in the last step; false at step 0 */
};

/*
 * By how much mass + lost_edge + lost_nodata may differ from the mass at the start, u = 2^-53:
 * a step rounds in - out and the sum, four times a cell: u (2 F + 4 (M + 2 F)) over the map, M
 * being the mass and F the sum of all flows of the step; F <= 2 M as long as epsilon is not below
 * 40 u times the largest level: 24 u M. What leaves is added up with at most 4 additions a step and
 * cell: 4 u M. Each of the three sums rounds (C + R) / 32 + 12 times. M never exceeds the mass at
 * the start.
 */
static inline double sciddicat_mass_balance_bound(const struct sciddicat_params *p,
                                                  double mass_at_start, uint64_t steps)
{
    const size_t roundings = p->rows / 32 + p->columns / 32 + 14;
    return 0x1p-53 * mass_at_start * (28 * (double)steps + 4 * (double)roundings);
}

/* Of one row, summed up as the report's sums are; largest: of h. */
struct sciddicat_row_figures {
    double mass, lost_edge, lost_nodata, largest;
    uint64_t n_active;
};

/* rows * columns numbers each, in backend memory. */
struct sciddicat_input {
    struct span z;      /* doubles: the surface under the debris */
    struct span h;      /* doubles >= 0; -0.0 counts as 0 */
    struct span nodata; /* bytes, 1: NODATA; {NULL, 0}: none is */
};

/* Ghost rows above and below a member's, and for how many steps they last: the outermost of them
 * emits nothing, and every step makes two more of them wrong. */
enum { SCIDDICAT_GHOST_ROWS = 16, SCIDDICAT_GHOST_STEPS = SCIDDICAT_GHOST_ROWS / 2 };

/* Rows are owned in groups of 16, of which the last of a map has up to 31. */
enum { SCIDDICAT_GROUP_ROWS = SCIDDICAT_GHOST_ROWS };

static inline size_t sciddicat_n_groups(size_t rows)
{
    return rows < SCIDDICAT_GROUP_ROWS ? 1 : rows / SCIDDICAT_GROUP_ROWS;
}

/* The first row of a group; of the one after the last: how many rows there are. */
static inline size_t sciddicat_group_row(size_t group, size_t rows)
{
    return group < sciddicat_n_groups(rows) ? group * SCIDDICAT_GROUP_ROWS : rows;
}

/* The state of rows [first, last), (last - first) * columns numbers each, in host memory. */
struct sciddicat_rows {
    size_t first, last;
    double *h;
    double *max_h; /* cells that are updated: the largest h so far; others: what has flowed in */
    int32_t *arrival;
};

/*
 * Several runs, on as many queues, that compute one map together (bands.h): each is a member, holds
 * memory for the map, and owns whole groups of its rows. The 16 rows on either side of these, as
 * far as the map goes, are its ghost rows: copies of rows that others own. What it has of other
 * rows means nothing, and costs nothing in a step.
 */
struct sciddicat_member_kernels {
    /* Sets rows that the run is going to own. The memory is the caller's again when it returns. */
    enum status (*give)(struct queue *q, void *run,
                        const struct sciddicat_rows *rows) STATUS_MUST_CHECK;
    /* Waits, and copies rows that it owns. */
    enum status (*take)(struct queue *q, void *run,
                        const struct sciddicat_rows *rows) STATUS_MUST_CHECK;
    /* From now on it owns rows [first, last), as they are after `step`, and no others; `open` gives
     * it all. */
    enum status (*own)(struct queue *q, void *run, uint64_t step, size_t first,
                       size_t last) STATUS_MUST_CHECK;
    /* Copies the h of SCIDDICAT_GHOST_ROWS rows that it owns, from `first` on, to the start of
     * `to`, memory of its backend; may return before. */
    enum status (*edge)(struct queue *q, void *run, size_t first, struct span to) STATUS_MUST_CHECK;
    /* Sets the h of its ghost rows from `first` on, which is the first of those on either side, to
     * what begins `from`, memory of its backend; may return before. */
    enum status (*ghost)(struct queue *q, void *run, size_t first,
                         struct span from) STATUS_MUST_CHECK;
    /* Up to SCIDDICAT_GHOST_STEPS steps; may return before they are made. Ghost rows have to be
     * right before each call. */
    enum status (*step)(struct queue *q, void *run, unsigned n_steps) STATUS_MUST_CHECK;
    /* Waits. busy: of each group that it owns, how many pieces of the map a step visits because
     * something in them moves; 0: no cell can emit. moved: h of some cell that it owns changed in
     * the last step. */
    enum status (*look)(struct queue *q, void *run, uint32_t *busy, bool *moved) STATUS_MUST_CHECK;
    /* Waits. Of each row that it owns. */
    enum status (*figures)(struct queue *q, void *run,
                           struct sciddicat_row_figures *out) STATUS_MUST_CHECK;
};

struct sciddicat_kernels {
    /* Bytes of backend memory that a run needs. */
    size_t (*bytes)(const struct sciddicat_params *p);
    /* Starts a run; the input, finite numbers, is copied. STATUS_BAD_ARGUMENT, STATUS_NO_MEMORY. */
    enum status (*open)(struct queue *q, const struct sciddicat_params *p,
                        const struct sciddicat_input *in, void **run) STATUS_MUST_CHECK;
    void (*close)(struct queue *q, void *run); /* NULL is fine */
    /* n_steps more steps (0: none); waits, and reports the state after them. */
    enum status (*advance)(struct queue *q, void *run, uint64_t n_steps,
                           struct sciddicat_report *out) STATUS_MUST_CHECK;
    /* The same of n runs, which are made side by side, in two calls: `step` may return before the
     * steps are made, `report` waits, and fills out[n]. */
    enum status (*step)(struct queue *q, void *const *runs, size_t n,
                        uint64_t n_steps) STATUS_MUST_CHECK;
    enum status (*report)(struct queue *q, void *const *runs, size_t n,
                          struct sciddicat_report *out) STATUS_MUST_CHECK;
    /* How many runs are best made side by side: more take no less time each. */
    size_t (*side_by_side)(const struct queue *q);
    /* Copies of the present state, rows * columns each (of a member: of the rows that it owns), to
     * host memory: h; the largest h a cell ever had; the first step after which h > eps (0: from
     * the start, -1: never). NULL: not wanted. */
    enum status (*state)(struct queue *q, void *run, double *h, double *max_h,
                         int32_t *arrival) STATUS_MUST_CHECK;
    const struct sciddicat_member_kernels *member; /* of bands */
};

#endif
