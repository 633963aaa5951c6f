/*
 * kmeans_pass_cpu - passes over points on the CPU: tasks of points spread over threads, and tiles
 * of their points against centroids.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_PASS_CPU_H
#define LEAT_KERNELS_KMEANS_KMEANS_PASS_CPU_H

#include "kernels/base/queue_cpu.h"
#include "kernels/kmeans/kmeans_cpu.h"

#include <pthread.h>

/* Points of a task: 2^12 numbers of 2^50 units fit an integer. */
enum { KMEANS_TASK = 4096 };

struct kmeans_task;

struct kmeans_pass {
    const struct kmeans_points *x;
    const struct kmeans_model *m;
    struct kmeans_centroids centroids; /* for tiles */
    const struct kmeans_vectors *set;
    size_t task_points; /* at most KMEANS_TASK */
    size_t own_bytes;   /* working space of a task */
    void (*body)(struct kmeans_task *t);
    const void *arg; /* for the body */
    pthread_mutex_t merging;
};

struct kmeans_task {
    struct kmeans_pass *pass;
    size_t begin;                /* the first of its points */
    struct kmeans_rows rows;     /* all of them */
    void *own;                   /* own_bytes of the pass, aligned to 64 */
    double *tile;                /* unless k is 0 */
    struct kmeans_nearest found; /* of the tile */
    uint16_t index[KMEANS_TASK]; /* of rows: 0, 1, 2, ...; the body may choose other ones */
};

/* A pass over x that compares with k of the model's centroids, from number `first` on (0: with
 * none, and has no tiles); checks that model and points fit. The caller sets own_bytes, body and
 * arg. */
enum status kmeans_pass_begin(struct kmeans_pass *p, const struct kmeans_points *x,
                              const struct kmeans_model *m, size_t first,
                              size_t k) STATUS_MUST_CHECK;

/* Calls the body for every task. */
enum status kmeans_pass_run(struct queue *q, struct kmeans_pass *p) STATUS_MUST_CHECK;

/* Calls each(t, rows, arg) for tiles of the first n of the task's rows by `index`, one after the
 * other, with what was found of them. */
void kmeans_pass_tiles(struct kmeans_task *t, size_t n,
                       void (*each)(struct kmeans_task *t, const struct kmeans_rows *rows,
                                    void *arg),
                       void *arg);

/* Rows, 1 to KMEANS_TILE, into a tile (kmeans_cpu.h). */
void kmeans_transpose(const struct kmeans_rows *rows, double *tile);

/* Adds to a sum that other threads add to. */
void kmeans_add_shared(struct kmeans_sum *sum, struct kmeans_number v);

/* kmeans_columns_cpu.c, kmeans_pick_cpu.c, kmeans_update_cpu.c */
KERNEL(kmeans, range) kmeans_cpu_range;
KERNEL(kmeans, squares) kmeans_cpu_squares;
KERNEL(kmeans, draw) kmeans_cpu_draw;
KERNEL(kmeans, farthest) kmeans_cpu_farthest;
KERNEL(kmeans, take) kmeans_cpu_take;
KERNEL(kmeans, update) kmeans_cpu_update;

/* The model's; NULL: all are 1. */
const double *kmeans_weights(const struct kmeans_model *m);

/* Of a point; 1 where they have none. */
static inline double kmeans_mass(const struct kmeans_pass *p, const void *row)
{
    return p->m->has_mass
               ? rounded_multiply(dtype_real(p->x->type, row, p->m->mass_column), p->m->mass_factor)
               : 1;
}

/* How many clusters of the model are empty, and the first of them. */
size_t kmeans_count_empty(const struct kmeans_model *m, size_t *first);

static inline bool kmeans_is_done(const struct kmeans_model *m)
{
    return ((const struct kmeans_state *)kmeans_array(m, KMEANS_STATE))->done != 0;
}

#endif
