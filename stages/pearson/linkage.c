/*
 * linkage - by chains of nearest neighbours: from any cluster to its nearest one, and on to that
 * one's, until two are each other's nearest; these are merged, and the chain goes on where it was.
 * With average linkage no later merge is nearer than an earlier one of its own clusters, so that
 * the merges, sorted by distance, are those of the greedy way.
 *
 * Source: D. Muellner, "Modern hierarchical, agglomerative clustering algorithms",
 * arXiv:1109.2378, 2011.
 */
#include "stages/pearson/linkage.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct chain {
    double *distances;
    size_t n;
    uint32_t *size, *at; /* [n]: of the cluster that a thing stands for, 0: none; the chain */
    size_t length;
};

static double *between(const struct chain *c, size_t i, size_t j)
{
    const size_t low = i < j ? i : j, high = i < j ? j : i;
    return &c->distances[low * (2 * c->n - low - 1) / 2 + (high - low - 1)];
}

/* Extends the chain until its last two are each other's nearest. */
static double grow(struct chain *c)
{
    if (c->length == 0) {
        size_t first = 0;
        while (c->size[first] == 0) {
            first++;
        }
        c->at[c->length++] = (uint32_t)first;
    }
    for (;;) {
        const size_t x = c->at[c->length - 1];
        const bool has_before = c->length > 1;
        size_t nearest = has_before ? c->at[c->length - 2] : x;
        double least = has_before ? *between(c, x, nearest) : INFINITY;
        for (size_t i = 0; i < c->n; i++) {
            if (c->size[i] > 0 && i != x && *between(c, x, i) < least) {
                least = *between(c, x, i);
                nearest = i;
            }
        }
        if (has_before && nearest == c->at[c->length - 2]) {
            return least;
        }
        c->at[c->length++] = (uint32_t)nearest;
    }
}

/* Of the chain's last two, the one of the higher number stands for both from now on. */
static struct linkage_merge merge(struct chain *c, double distance)
{
    const uint32_t p = c->at[c->length - 1], q = c->at[c->length - 2];
    const uint32_t x = p < q ? p : q, y = p < q ? q : p;
    const double n_x = (double)c->size[x], n_y = (double)c->size[y];
    c->length -= 2;
    c->size[y] += c->size[x];
    c->size[x] = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (c->size[i] > 0 && i != y) {
            double *const d = between(c, i, y);
            *d = (n_x * *between(c, i, x) + n_y * *d) / (n_x + n_y);
        }
    }
    return (struct linkage_merge){x, y, distance};
}

/* Sorts by distance, equal ones as they came: a merge sort of `m` merges. */
static void sort(struct linkage_merge *merges, size_t m, struct linkage_merge *scratch)
{
    if (m < 2) {
        return;
    }
    const size_t half = m / 2;
    sort(merges, half, scratch);
    sort(merges + half, m - half, scratch);
    for (size_t k = 0, left = 0, right = half; k < m; k++) {
        const bool takes_left =
            left < half && (right == m || merges[left].distance <= merges[right].distance);
        scratch[k] = merges[takes_left ? left++ : right++];
    }
    for (size_t k = 0; k < m; k++) {
        merges[k] = scratch[k];
    }
}

/* From things that stand for clusters to the clusters' numbers, by union and find. */
static void number(struct linkage_merge *merges, size_t n, uint32_t *parent)
{
    for (size_t k = 0; k < 2 * n; k++) {
        parent[k] = (uint32_t)k;
    }
    for (size_t k = 0; k + 1 < n; k++) {
        uint32_t *const ends[] = {&merges[k].a, &merges[k].b};
        for (size_t e = 0; e < 2; e++) {
            uint32_t root = *ends[e];
            while (parent[root] != root) {
                parent[root] = parent[parent[root]];
                root = parent[root];
            }
            *ends[e] = root;
        }
        parent[merges[k].a] = parent[merges[k].b] = (uint32_t)(n + k);
        if (merges[k].a > merges[k].b) {
            const uint32_t a = merges[k].a;
            merges[k].a = merges[k].b;
            merges[k].b = a;
        }
    }
}

static enum status link_all(struct chain *c, struct linkage_merge *merges,
                            enum status (*going)(void *context), void *context)
{
    for (size_t k = 0; k < c->n; k++) {
        c->size[k] = 1;
    }
    for (size_t k = 0; k + 1 < c->n; k++) {
        STATUS_TRY(going(context));
        merges[k] = merge(c, grow(c));
    }
    return STATUS_OK;
}

enum status linkage_average(double *distances, size_t n, struct linkage_merge *merges,
                            enum status (*going)(void *context), void *context)
{
    struct chain c = {.distances = distances, .n = n};
    c.size = malloc(2 * n * sizeof *c.size);
    c.at = malloc((n + 1) * sizeof *c.at);
    struct linkage_merge *const scratch = malloc(n * sizeof *scratch);
    enum status st = c.size != NULL && c.at != NULL && scratch != NULL
                         ? link_all(&c, merges, going, context)
                         : status_fail(STATUS_NO_MEMORY, "no memory to cluster %zu series", n);
    if (st == STATUS_OK) {
        sort(merges, n - 1, scratch);
        number(merges, n, c.size);
    }
    free(c.size);
    free(c.at);
    free(scratch);
    return st;
}

enum status linkage_order(const struct linkage_merge *merges, size_t n, uint32_t *order)
{
    uint32_t *const stack = malloc((n + 1) * sizeof *stack);
    if (stack == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to order %zu series", n);
    }
    size_t depth = 0, placed = 0;
    stack[depth++] = (uint32_t)(2 * n - 2);
    while (depth > 0) {
        const uint32_t cluster = stack[--depth];
        if (cluster < n) {
            order[placed++] = cluster;
        } else {
            stack[depth++] = merges[cluster - n].b;
            stack[depth++] = merges[cluster - n].a;
        }
    }
    free(stack);
    return STATUS_OK;
}
