/*
 * sciddicat_cuda - what the files of the CUDA automaton share: the map on the device, and what one
 * cell does.
 *
 * The map is cut into tiles of 16 x 16 cells. A tile is hot when one of its cells can emit.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_CUDA_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_CUDA_H

#include "kernels/base/queue_cuda.h"
#include "kernels/sciddicat/sciddicat.h"
#include "kernels/sciddicat/sciddicat_guess_rule.h"

#include <stdint.h>

const int SCIDDICAT_TILE = 16, SCIDDICAT_TILE_CELLS = SCIDDICAT_TILE * SCIDDICAT_TILE;

/* Of a cell's byte `kind`, above the bits of enum sciddicat_kind: the last guess, see
 * sciddicat_flows_from(). */
const int SCIDDICAT_GUESS = 8;

/* What the steps leave for the host. */
struct sciddicat_progress {
    unsigned long long done;     /* steps that clusters have made, over the run */
    unsigned long long moved_at; /* the last step in which some h changed */
};

/* Passed to kernels by value. Cells outside the map do not exist in memory. */
struct sciddicat_map {
    long long rows, columns;
    int tile_rows, tile_columns;
    /* Rows, and the tiles of them, that a step looks at: those that the run owns and its ghost
     * rows. To it there are no cells elsewhere. Owned: tiles of the rows that it owns. */
    long long top, bottom;
    int first_tile, last_tile, first_owned, last_owned;
    double epsilon, r;
    bool walls;      /* some cells do not accept */
    const double *z; /* HUGE_VAL where a cell does not accept */
    unsigned char *kind;
    /* LIVE cells: the largest h so far; others: what has flowed into them. */
    double *max_h;
    int *arrival;
    unsigned char *hot; /* a tile: sciddicat_heat() */
    int *place;         /* a tile: slot * size + block in the cluster, or -1 */
    struct sciddicat_progress *progress;
};

/* Lists of tiles that a step has to visit, for three steps in turn. */
struct sciddicat_lists {
    int *tile[2];         /* of even and of odd steps */
    unsigned *n;          /* 3: of steps modulo 3 */
    unsigned *listed_for; /* a tile: the last step that it was listed for */
};

/* How hot a tile is with so many active cells (up to 256): 0 when it is not. */
__device__ __forceinline__ unsigned char sciddicat_heat(unsigned n_active)
{
    return (unsigned char)((n_active + 1) / 2);
}

__device__ __forceinline__ bool sciddicat_inside(const sciddicat_map &m, long long i, long long j)
{
    /* Written so that a step needs few registers. */
    return (unsigned long long)(i - m.top) < (unsigned long long)(m.bottom - m.top) &&
           (unsigned long long)j < (unsigned long long)m.columns;
}

/* Of the first cell of a tile. */
__device__ __forceinline__ long long sciddicat_tile_row(const sciddicat_map &m, int tile)
{
    return (long long)(tile / m.tile_columns) * SCIDDICAT_TILE;
}

__device__ __forceinline__ long long sciddicat_tile_column(const sciddicat_map &m, int tile)
{
    return (long long)(tile % m.tile_columns) * SCIDDICAT_TILE;
}

/* The tile beside on side n, or -1; n = SIDES: itself. column: of tiles, which it lies in. */
__device__ __forceinline__ int sciddicat_tile_beside(const sciddicat_map &m, int tile, int column,
                                                     int n)
{
    const int across = (n == SIDE_EAST) - (n == SIDE_WEST);
    const int down = (n == SIDE_SOUTH) - (n == SIDE_NORTH);
    const int to = tile + across + down * m.tile_columns;
    return (unsigned)(column + across) < (unsigned)m.tile_columns && to >= m.first_tile &&
                   to < m.last_tile
               ? to
               : -1;
}

/* The flows to N, W, E, S of a cell that emits; level: z + h of those; accepts: bit n for neighbour
 * n. *guess: see sciddicat_flows_from(). */
__device__ __forceinline__ void sciddicat_outflow(const sciddicat_map &m, double z, double h,
                                                  const double *level, unsigned accepts,
                                                  unsigned *guess, double *flow)
{
    const double u[SCIDDICAT_SEEN] = {__dadd_rn(z, m.epsilon), level[0], level[1], level[2],
                                      level[3]};
    sciddicat_flows_from(__dsub_rn(h, m.epsilon), u, m.r, accepts << 1 | 1, guess, flow);
}

/* Up to n_steps steps of a map after step `base`, by one cluster of blocks, as long as it can hold
 * the tiles that matter; adds what was done to progress. h is both read and written. */
struct sciddicat_cluster_job {
    sciddicat_map m;
    double *h;
    unsigned long long base;
    unsigned n_steps;
};
const unsigned SCIDDICAT_MOST_CLUSTERS = 24; /* of a launch */
/* How many blocks a cluster has, and how many of them the device holds at a time; 0: it has none.
 */
int cuda_sciddicat_cluster_size(const struct cuda_backend *b, int *n_clusters);
/* n jobs, at most SCIDDICAT_MOST_CLUSTERS, side by side. */
enum status cuda_sciddicat_cluster(const struct sciddicat_cluster_job *job, unsigned n, int size,
                                   cudaStream_t stream) STATUS_MUST_CHECK;

/* cuda_sciddicat_sweep: a kernel a step over the tiles listed. Both copies of h must be the same
 * before the lists are begun; step s reads h[s % 2] and writes the other. */
enum status cuda_sciddicat_enlist(const struct sciddicat_map *m,
                                  const struct sciddicat_lists *lists, uint64_t step,
                                  cudaStream_t stream) STATUS_MUST_CHECK;
enum status cuda_sciddicat_sweep(const struct sciddicat_map *m, const struct sciddicat_lists *lists,
                                 double *const h[2], uint64_t step, unsigned n_blocks,
                                 cudaStream_t stream) STATUS_MUST_CHECK;
/* Both copies of h become `from` in SCIDDICAT_GHOST_ROWS rows, of which `first` is the first one of
 * a tile; tiles that have to be visited for that in `step` are listed. */
enum status cuda_sciddicat_ghost(const struct sciddicat_map *m, const struct sciddicat_lists *lists,
                                 double *const h[2], size_t first, const double *from,
                                 uint64_t step, cudaStream_t stream) STATUS_MUST_CHECK;
/* busy[1 + g]: how many tiles are listed for the next step, which comes after `step`, or are hot
 * where there are no lists (NULL), in the g-th group of rows that the run owns; busy[0]: 1 if
 * `step` has changed some h there. */
enum status cuda_sciddicat_busy(const struct sciddicat_map *m, const struct sciddicat_lists *lists,
                                uint64_t step, unsigned *busy,
                                cudaStream_t stream) STATUS_MUST_CHECK;

#endif
