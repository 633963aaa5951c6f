/*
 * cliques - greedy: of the groups that a thing's earlier neighbours are in, the first of which it
 * knows as many members as there are. Time and memory grow with the edges.
 */
#include "stages/pearson/cliques.h"

#include "kernels/philox/philox_rule.h"

#include <math.h>
#include <stdlib.h>

#define NONE UINT32_MAX
static const double steps = 0x1p40; /* of r in sums: 9e-13 each */

/* What comes first: the lower key, then the lower number. */
struct clique_key {
    uint64_t key;
    uint32_t i;
};

static int by_key(const void *a, const void *b)
{
    const struct clique_key *const x = a, *const y = b;
    return x->key != y->key ? (x->key < y->key ? -1 : 1) : (x->i > y->i) - (x->i < y->i);
}

enum status cliques_room(struct cliques *c, size_t n, size_t n_edges, struct room *kept,
                         struct room *work)
{
    *c = (struct cliques){.n_things = n};
    STATUS_TRY(room_host(kept, n, sizeof *c->of, &c->of));
    STATUS_TRY(room_host(kept, n, sizeof *c->at, &c->at));
    STATUS_TRY(room_host(work, n, sizeof *c->order, &c->order));
    STATUS_TRY(room_host(work, n + 1, sizeof *c->begin, &c->begin));
    STATUS_TRY(room_host(work, n_edges, 2 * sizeof *c->neighbours, &c->neighbours));
    STATUS_TRY(room_host(work, n, sizeof *c->met, &c->met));
    return room_host(work, n, sizeof *c->sums, &c->sums);
}

static double value_of(const struct matrix_pair *p, bool absolute)
{
    return absolute ? fabs(p->r) : p->r;
}

/* Neighbours of thing i: from begin[i] to begin[i + 1]. */
static void list_neighbours(struct cliques *c, const struct matrix_pair *pairs, size_t n_pairs,
                            double limit, bool absolute)
{
    for (size_t k = 0; k < n_pairs; k++) {
        const bool is_edge = value_of(&pairs[k], absolute) >= limit;
        c->begin[pairs[k].i] += is_edge;
        c->begin[pairs[k].j] += is_edge;
    }
    for (size_t i = 0, sum = 0; i <= c->n_things; i++) {
        sum += i < c->n_things ? c->begin[i] : 0;
        c->begin[i] = (uint32_t)sum; /* the end, from which it goes down to the beginning */
    }
    for (size_t k = 0; k < n_pairs; k++) {
        const struct matrix_pair *const p = &pairs[k];
        if (value_of(p, absolute) >= limit) {
            c->neighbours[--c->begin[p->i]] = p->j;
            c->neighbours[--c->begin[p->j]] = p->i;
        }
    }
}

/* The first group that knows all of thing i's, or a new one. */
static uint32_t colour_of(struct cliques *c, uint32_t i)
{
    uint32_t best = (uint32_t)c->n;
    for (size_t e = c->begin[i]; e < c->begin[i + 1]; e++) {
        const uint32_t group = c->of[c->neighbours[e]];
        if (group != NONE) {
            c->met[group]++;
        }
    }
    for (size_t e = c->begin[i]; e < c->begin[i + 1]; e++) {
        const uint32_t group = c->of[c->neighbours[e]];
        if (group != NONE) {
            best = c->met[group] == c->at[group].size && group < best ? group : best;
            c->met[group] = 0;
        }
    }
    return best;
}

static void colour(struct cliques *c)
{
    const size_t n = c->n_things;
    for (size_t i = 0; i < n; i++) {
        const uint64_t degree = c->begin[i + 1] - c->begin[i];
        const uint32_t word = philox_block(0, i, 0).w[0];
        c->order[i] = (struct clique_key){degree << 32 | (uint32_t)~word, (uint32_t)i};
        c->of[i] = NONE;
    }
    qsort(c->order, n, sizeof *c->order, by_key);
    for (size_t k = 0; k < n; k++) {
        const uint32_t i = c->order[k].i, group = colour_of(c, i);
        if (group == c->n) {
            c->at[c->n++] = (struct clique){.first = i, .least = (double)NAN};
        }
        c->at[group].size++;
        c->at[group].first = i < c->at[group].first ? i : c->at[group].first;
        c->of[i] = group;
    }
}

static int by_size(const void *a, const void *b)
{
    const struct clique *const x = a, *const y = b;
    return x->size != y->size ? (x->size > y->size ? -1 : 1)
                              : (x->first > y->first) - (x->first < y->first);
}

/* The largest first. */
static void number(struct cliques *c)
{
    for (size_t i = 0; i < c->n_things; i++) {
        c->met[i] = c->at[c->of[i]].first;
    }
    qsort(c->at, c->n, sizeof *c->at, by_size);
    for (size_t g = 0; g < c->n; g++) {
        c->of[c->at[g].first] = (uint32_t)g;
        c->at[g].medoid = c->at[g].first;
    }
    for (size_t i = 0; i < c->n_things; i++) {
        c->of[i] = c->of[c->met[i]];
    }
}

static void measure(struct cliques *c, const struct matrix_pair *pairs, size_t n_pairs,
                    bool absolute)
{
    for (size_t k = 0; k < n_pairs; k++) {
        const struct matrix_pair *const p = &pairs[k];
        struct clique *const group = &c->at[c->of[p->i]];
        if (c->of[p->i] == c->of[p->j]) {
            const double r = value_of(p, absolute);
            const int64_t rounded = llround(r * steps);
            c->sums[p->i] += rounded;
            c->sums[p->j] += rounded;
            group->least = fmin(group->least, r); /* of a NaN and a number the number */
        }
    }
    for (size_t i = 0; i < c->n_things; i++) {
        struct clique *const group = &c->at[c->of[i]];
        group->medoid = c->sums[i] > c->sums[group->medoid] ? (uint32_t)i : group->medoid;
    }
}

void cliques_find(struct cliques *c, const struct matrix_pair *pairs, size_t n_pairs, double limit,
                  bool absolute)
{
    list_neighbours(c, pairs, n_pairs, limit, absolute);
    colour(c);
    number(c);
    measure(c, pairs, n_pairs, absolute);
}
