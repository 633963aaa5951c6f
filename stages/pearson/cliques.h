/*
 * cliques - a partition of things into groups in each of which every two go together: cliques of
 * the graph whose edges are the pairs that do.
 *
 * That is a colouring of the graph's complement, by Jones and Plassmann with the largest degree
 * first: each thing has a priority, and takes the first colour that no neighbour of a higher
 * priority has. The degree in the complement comes first, so that things of few edges do; then the
 * first word of Philox's block 0 of series i and key 0; then the lower number. In parallel a thing
 * takes its colour once all such neighbours have theirs. Its colour follows from theirs alone, so
 * one thing after the other, by falling priority, gives the same. Here that is the way, along the
 * edges, whose number may be far from all pairs: a group takes a thing that has an edge to each of
 * its members.
 *
 * So no two groups could be one: in an earlier group the first member of a later one met a member
 * that it has no edge to.
 *
 * Sources: M. T. Jones, P. E. Plassmann, "A parallel graph coloring heuristic", SIAM J. Sci.
 * Comput. 14, 1993; D. J. A. Welsh, M. B. Powell, The Computer Journal 10, 1967.
 */
#ifndef LEAT_STAGES_PEARSON_CLIQUES_H
#define LEAT_STAGES_PEARSON_CLIQUES_H

#include "kernels/base/room.h"
#include "kernels/matrix/matrix.h"

struct clique {
    uint32_t size, first; /* its members; the lowest of them */
    uint32_t medoid;      /* the member of the largest sum of r with the others */
    double least;         /* the smallest r of two members; NaN of one */
};

struct cliques {
    size_t n_things;
    uint32_t *of;      /* [n_things]: the number of its group */
    struct clique *at; /* [n]: the largest first, of equal size by `first` */
    size_t n;
    /* scratch */
    struct clique_key *order; /* [n_things] */
    uint32_t *begin;          /* [n_things + 1]: of a thing's neighbours */
    uint32_t *neighbours;     /* [2 n_edges] */
    uint32_t *met;            /* [n_things] */
    int64_t *sums;            /* [n_things] */
};

/* Room for groups of n things, and in `work` to find them by up to n_edges < 2^31. */
enum status cliques_room(struct cliques *c, size_t n, size_t n_edges, struct room *kept,
                         struct room *work) STATUS_MUST_CHECK;
/* Finds them. The edges are those of the pairs whose r, or |r| where `absolute`, which r is then
 * everywhere, reaches `limit`; no pair comes twice. Sums are of r in steps of 2^-40, so that ties
 * within rounding are ties: of equal sums the lowest is the medoid. */
void cliques_find(struct cliques *c, const struct matrix_pair *pairs, size_t n_pairs, double limit,
                  bool absolute);

#endif
