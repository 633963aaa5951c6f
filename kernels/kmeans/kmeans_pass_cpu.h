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
    size_t task_points, own_bytes;
    void (*body)(struct kmeans_task *t);
    const void *arg; /* for the body */
    pthread_mutex_t merging;
};

struct kmeans_task {
    struct kmeans_pass *pass;
    size_t begin, end; /* its points */
    void *own;         /* own_bytes of the pass, aligned to 64 */
    double *tile;
    struct kmeans_nearest found; /* of the tile */
    /* the points of the tile, and those of the next one, which are on their way to the cache */
    const void *rows[2 * KMEANS_TILE];
    size_t point[2 * KMEANS_TILE];
    size_t n;
};

/* A pass over x that compares with k of the model's centroids, from number `first` on; checks that
 * model and points fit. The caller sets own_bytes, body and arg. */
enum status kmeans_pass_begin(struct kmeans_pass *p, const struct kmeans_points *x,
                              const struct kmeans_model *m, size_t first,
                              size_t k) STATUS_MUST_CHECK;

/* Calls the body for every task. */
enum status kmeans_pass_run(struct queue *q, struct kmeans_pass *p) STATUS_MUST_CHECK;

/* Calls each(t, n, arg) for tiles of the task's points whose `moves` are set (NULL: of all), one
 * after the other: the first n of t->rows, t->point and t->found. */
void kmeans_pass_tiles(struct kmeans_task *t, const uint8_t *moves,
                       void (*each)(struct kmeans_task *t, size_t n, void *arg), void *arg);

static inline const void *kmeans_row(const struct kmeans_points *x, size_t p)
{
    return (const char *)x->at.at + p * x->n_columns * dtype_bytes(x->type);
}

/* Adds to a sum that other threads add to. */
void kmeans_add_shared(struct kmeans_sum *sum, struct kmeans_number v);

/* Functions of the table: kmeans_columns_cpu.c, kmeans_pick_cpu.c, kmeans_update_cpu.c */
enum status kmeans_cpu_range(struct queue *q, const struct kmeans_points *x,
                             const struct kmeans_model *m) STATUS_MUST_CHECK;
enum status kmeans_cpu_squares(struct queue *q, const struct kmeans_points *x,
                               const struct kmeans_model *m) STATUS_MUST_CHECK;
enum status kmeans_cpu_draw(struct queue *q, const struct kmeans_points *x,
                            const struct kmeans_model *m, uint64_t seed, uint64_t stream,
                            struct span nearest) STATUS_MUST_CHECK;
enum status kmeans_cpu_take(struct queue *q, const struct kmeans_model *m) STATUS_MUST_CHECK;
enum status kmeans_cpu_farthest(struct queue *q, const struct kmeans_points *x,
                                const struct kmeans_model *m) STATUS_MUST_CHECK;
enum status kmeans_cpu_update(struct queue *q, const struct kmeans_model *m) STATUS_MUST_CHECK;

/* The model's; NULL: all are 1. */
const double *kmeans_weights(const struct kmeans_model *m);

/* How many clusters of the model are empty, and the first of them. */
size_t kmeans_count_empty(const struct kmeans_model *m, size_t *first);

static inline bool kmeans_is_done(const struct kmeans_model *m)
{
    return ((const struct kmeans_state *)kmeans_array(m, KMEANS_STATE))->done != 0;
}

#endif
