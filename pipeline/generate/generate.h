/*
 * generate - writes made-up input data, into files of any size, in bounded memory: a kind in each
 * section here, and in a file of its own. The same order gives the same bytes on every machine.
 */
#ifndef LEAT_PIPELINE_GENERATE_GENERATE_H
#define LEAT_PIPELINE_GENERATE_GENERATE_H

#include "formats/base/dtype.h"
#include "formats/base/status.h"
#include "formats/result/raster.h"
#include "kernels/backend.h"
#include "kernels/philox/philox.h"
#include "pipeline/generate/terrain.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- generate.c: series (kernels/philox/philox.h) in a table */

/* Series in columns are walked side by side; more of them than this are STATUS_TOO_LARGE. */
#define GENERATE_COLUMNS_MAX (UINT64_C(1) << 20)

struct generate_order {
    struct philox_walk walk;
    uint64_t n_series, n_samples; /* >= 1 */
    enum dtype type;
    bool columns; /* a series a column; in CSV under a header s0,s1,... */
    bool csv;     /* else .npy */
    double gaps;  /* share of samples that are missing (NaN), [0, 1] */
    const char *path;
    bool force;
};

/* Generates on the backend and writes the file, as piece_writer_run does. STATUS_TOO_LARGE, too. */
enum status generate_file(const struct generate_order *order, struct backend *backend,
                          const struct executor *executor, uint64_t *bytes) STATUS_MUST_CHECK;

/* --- generate_dem.c: ground and the debris on it (terrain.h), as a pair of grids */

/* The pair that a name asks for: X, X.tif, X.asc or X.asc.gz, each perhaps with .dem or .source
 * behind the X, are X.dem.tif and X.source.tif, or .asc, or .asc.gz. */
struct generate_pair {
    char *dem, *source; /* owned */
    enum raster_format format;
    bool is_gzipped;
};

/* STATUS_BAD_ARGUMENT: another ending, or no X. */
enum status generate_pair_of(const char *output, struct generate_pair *out) STATUS_MUST_CHECK;
/* Fine for a pair of zeros. */
void generate_pair_free(struct generate_pair *pair);

struct generate_dem_order {
    struct terrain_order terrain;
    enum raster_type type; /* RASTER_F64 or RASTER_F32 */
    const struct generate_pair *pair;
    bool force;
};

/* Writes the pair; the source gets its name first, so that a DEM is never there without it. *bytes
 * is the size of both, *n_slides how many heaps of debris there are. Progress goes to the terminal.
 * SIGINT and SIGTERM end it as STATUS_CANCELLED, with nothing left behind. STATUS_TOO_LARGE,
 * STATUS_BAD_ARGUMENT, STATUS_EXISTS, STATUS_IO and others. */
enum status generate_dem(const struct generate_dem_order *order, const struct executor *executor,
                         uint64_t *bytes, size_t *n_slides) STATUS_MUST_CHECK;

/* --- generate_nodes.c: nodes of interpolation, a line a node, x and the value of each function
 * there
 *
 * Every number is the formula's exact value rounded to the nearest double (but for one in millions
 * of millions, which lies half way between two), then to single precision if that is asked for:
 * made by + - * / of quadruple precision. Values are those at the x that is written. */

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

/* --- generate_points.c: points in rows that lie in clusters, and which cluster each is of
 *
 * Random words are those of kernels/philox/philox_rule.h: word w of a series is word w % 4 of its
 * block w / 4. Column j of point i, which is of cluster c of K:
 *   c     = floor(K * word 0 of series i / 2^32)
 *   x_ij  = centre_cj + spread * z
 *   centre_cj = 10 * (2 * (w + 1/2) / 2^32 - 1), w word j of series 2^63 + c: uniform, -10 to 10
 *   z     = the sum of (w + 1/2) / 2^32 over words w, 4 + 12 j to 15 + 12 j of series i, less 6
 * z is normal but for its tails, which end at -6 and 6; mean 0, variance 1 (to 2^-64). It is exact,
 * and so is the centre; the product and the sum are rounded. So the numbers are the same on every
 * machine, and point i depends on the seed and on i alone. */

struct generate_points_order {
    uint64_t seed;
    uint64_t n_points;   /* 1 to 2^48 */
    size_t n_columns;    /* 1 to GENERATE_WIDEST */
    uint64_t n_clusters; /* 1 to 2^31 - 1 */
    double spread;       /* >= 0 */
    enum dtype type;
    const char *path, *labels; /* labels: NULL for none */
    bool csv, labels_csv, force;
};

/* Columns first .. first + n - 1 of point i. `order` is a struct generate_points_order. */
void generate_points_fill(const void *order, uint64_t i, uint64_t first, size_t n, double *out);
/* The cluster of a point, 0 to n_clusters - 1. */
uint64_t generate_points_cluster(const struct generate_points_order *order, uint64_t i);

/* Writes the points, in CSV under a header of x1, x2, ..., and their clusters, one number a line,
 * under "cluster"; in .npy as int32. The labels get their name first. STATUS_BAD_ARGUMENT: both
 * are one file; and what generate_tables() says. */
enum status generate_points(const struct generate_points_order *order,
                            const struct executor *executor, uint64_t *bytes) STATUS_MUST_CHECK;

#endif
