/*
 * kmeans_resident - points that stay on the backend: the memory that they take, and a source
 * (kmeans_solve.h) of those of an array.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_RESIDENT_H
#define LEAT_KERNELS_KMEANS_KMEANS_RESIDENT_H

#include "kernels/kmeans/kmeans_solve.h"

/* Points that lie together. */
struct kmeans_block {
    struct span at, memory; /* memory: what they remember, later their labels */
    size_t capacity, n;     /* points */
    uint64_t first;
};

/* Memory for n points of a solve; those of its first block bring what kernels may list of them. */
enum status kmeans_block_room(const struct kmeans_request *r, struct room *room, size_t n,
                              struct kmeans_block *out) STATUS_MUST_CHECK;
/* Those that there are. */
enum status kmeans_block_visit(const struct kmeans_request *r, const struct kmeans_block *block,
                               kmeans_visit_fn *visit, void *arg) STATUS_MUST_CHECK;

/* Points of an array, and where their labels go. */
struct kmeans_array_source {
    struct kmeans_solve *solve;
    /* Of the request's type and columns, `row_bytes` from one to the next; NULL: they lie together
     * on the backend, and stay as they are. */
    const void *rows;
    struct span there;
    size_t n, row_bytes;
    int32_t *labels; /* [n] */
    /* its own: */
    struct kmeans_block block;
    void *strip; /* rows that are not contiguous; of those on the backend one */
};

/* Counts, or takes, memory for the points; the fields before its own are set. */
enum status kmeans_array_room(struct kmeans_array_source *a, struct room *room) STATUS_MUST_CHECK;
/* As of struct kmeans_source; the context is a struct kmeans_array_source. */
enum status kmeans_array_visit(void *context, kmeans_visit_fn *visit, void *arg) STATUS_MUST_CHECK;
enum status kmeans_array_labels(void *context, const struct kmeans_points *x,
                                struct span labels) STATUS_MUST_CHECK;

#endif
