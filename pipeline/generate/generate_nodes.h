/*
 * generate_nodes - writes nodes of interpolation: a line a node, x and the value of each function
 * there.
 *
 * Every number is the formula's exact value rounded to the nearest double (but for one in millions
 * of millions, which lies half way between two), then to single precision if that is asked for:
 * made by + - * / of quadruple precision, so the same on every machine. Values are those at the x
 * that is written.
 */
#ifndef LEAT_PIPELINE_GENERATE_GENERATE_NODES_H
#define LEAT_PIPELINE_GENERATE_GENERATE_NODES_H

#include "formats/base/dtype.h"
#include "formats/base/status.h"
#include "kernels/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum node_function {
    NODE_RUNGE, /* 1 / (1 + 25 x^2) */
    NODE_EXP,   /* e^x */
    NODE_ABS,   /* |x| */
    NODE_SIGN,  /* -1, 0 or 1 */
    NODE_COS20, /* cos(20 x) */
    NODE_FUNCTIONS
};
extern const char *const node_function_names[NODE_FUNCTIONS];

enum node_placement {
    NODE_CHEBYSHEV,  /* the extremes of a Chebyshev polynomial: (1 - cos(pi k / degree)) / 2 of the
                        interval */
    NODE_EQUISPACED, /* k / degree of it */
    NODE_RANDOM      /* (v + 1/2) / 2^53 of it, v the first 53 of the bits of words 0 and 1 of
                        Philox block k of series 0 (kernels/philox/philox_rule.h): in no order */
};

/* The interval lies within +- this. */
#define NODE_MOST_X 1e6

struct generate_nodes_order {
    enum node_function functions[NODE_FUNCTIONS];
    size_t n_functions; /* >= 1 */
    enum node_placement placement;
    uint64_t degree; /* >= 1: of the polynomial; degree + 1 nodes */
    double from, to;
    uint64_t seed;
    enum dtype type;
    const char *path;
    bool csv, force;
};

/* Cells first .. first + n - 1 of node k: x is cell 0. `order` is a struct generate_nodes_order. */
void generate_nodes_fill(const void *order, uint64_t k, uint64_t first, size_t n, double *out);

/* Writes the file, in CSV under a header of x and the functions' names. STATUS_BAD_ARGUMENT: an
 * interval that is none, or so many nodes that two would be one number, or infinite values; and
 * what generate_tables() says. */
enum status generate_nodes(const struct generate_nodes_order *order,
                           const struct executor *executor, uint64_t *bytes) STATUS_MUST_CHECK;

#endif
