/*
 * leat.h - leat for programs: correlations, clusters, curves through nodes and landslides of
 * arrays in memory, on the CPU's cores or on a CUDA device. The results are those of the program
 * `leat` to the bit.
 *
 *   cc program.c $(pkg-config --cflags --libs leat)
 *
 * A context has the threads, or the device. Only one thread may use it at a time, except for
 * leat_cancel; several contexts may be used at the same time. Every function that can fail returns
 * a status, and leat_error() says what was wrong and what to do. The library never prints and never
 * ends the program. It does not touch the program's signals and environment.
 *
 * Structures of options begin with their size, so that later versions may add members: set `size`
 * to sizeof and the rest to 0 for the defaults (LEAT_..._DEFAULTS does so). A size of 0 is
 * LEAT_BAD_ARGUMENT; so is a member that is set, but that the library does not know. The library
 * allocates results; free them by their leat_..._free. After a failure they are NULL. Later
 * versions may add members at their ends.
 */
#ifndef LEAT_H
#define LEAT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum leat_status {
    LEAT_OK,
    LEAT_BAD_ARGUMENT, /* an argument that is wrong whatever the data are */
    LEAT_BAD_INPUT,    /* numbers that leat cannot use: not finite, too far apart, ... */
    LEAT_TOO_LARGE,    /* needs more memory than the context may take, or than a size_t counts */
    LEAT_NO_MEMORY,
    LEAT_NO_BACKEND, /* no CUDA device works, or BLAS is missing; leat_error says why */
    LEAT_DEVICE,     /* the device has failed: close the context */
    LEAT_CANCELLED,
    LEAT_INTERNAL /* an error in leat itself */
};

/* The library's version: "0.2.0". */
const char *leat_version(void);

/* --- contexts --- */

struct leat_context;

struct leat_options {
    size_t size;
    const char *backend; /* "cpu" (NULL), "cuda", or "auto": CUDA where it works */
    int device;          /* of CUDA, from 0 */
    size_t threads;      /* number of computing threads; 0: all processors of the process */
    uint64_t memory;     /* bytes that a call may take beside its arguments and results; 0: any */
    /* Called with `user` between parts of the work, by the thread that has called leat_correlate,
     * _kmeans, _landslide or _interpolant_evaluate. share: the part of the work that is done, 0 to
     * 1; it never falls. If it returns another value than 0, the call returns LEAT_CANCELLED. With
     * the context it may only call leat_cancel. NULL: no progress. */
    int (*progress)(void *user, double share);
    void *user;
};
#define LEAT_OPTIONS_DEFAULTS                                                                      \
    {                                                                                              \
        sizeof(struct leat_options), NULL, 0, 0, 0, NULL, NULL                                     \
    }

/* Opens a context; *out is NULL on failure. options NULL: the defaults. Fails with
 * LEAT_BAD_ARGUMENT, _NO_BACKEND or _NO_MEMORY. */
enum leat_status leat_open(const struct leat_options *options, struct leat_context **out);
/* Closes a context. Free its interpolants before. NULL is fine. */
void leat_close(struct leat_context *c);
/* Says what was wrong with the last call on the context that failed. c NULL: the last leat_open of
 * the calling thread that failed. Valid until the next call. */
const char *leat_error(const struct leat_context *c);
/* What computes: "cpu: AMD EPYC ..., 16 threads"; valid as long as the context. */
const char *leat_backend(const struct leat_context *c);
/* Cancels the call under way, or the next one: it soon returns LEAT_CANCELLED, unless it is about
 * to end. Any thread may call this, and a handler of signals. */
void leat_cancel(struct leat_context *c);

/* --- arrays --- */

enum leat_type { LEAT_F8, LEAT_F4 }; /* double, float */

enum leat_memory { LEAT_HOST_MEMORY, LEAT_DEVICE_MEMORY };

/* Numbers in rows; borrowed for the call. LEAT_DEVICE_MEMORY is memory of the context's CUDA
 * device, aligned to its numbers, with contiguous rows. leat reads it there, after all work that
 * the program has queued in `stream`. When a call returns, all its work is done, so any stream may
 * use its results; the context's device is then the current one of the calling thread. With a CPU
 * context, LEAT_DEVICE_MEMORY is LEAT_BAD_ARGUMENT. */
struct leat_array {
    const void *data;
    enum leat_type type;
    size_t rows, columns;
    size_t row_bytes; /* from one row to the next; 0: they are contiguous */
    enum leat_memory memory;
    void *stream; /* of device memory: a cudaStream_t; NULL: the default stream */
};
/* Contiguous rows in host memory. */
#define LEAT_ARRAY(data, type, rows, columns)                                                      \
    {                                                                                              \
        (data), (type), (rows), (columns), 0, LEAT_HOST_MEMORY, NULL                               \
    }

/* --- correlations of every pair of series --- */

enum leat_method { LEAT_PEARSON, LEAT_SPEARMAN };
enum leat_precision { LEAT_EXACT, LEAT_F32 };

struct leat_correlate_options {
    size_t size;
    enum leat_method method;       /* correlates the samples, or their average ranks; with missing
                                      samples each pair is ranked by itself, with LEAT_EXACT */
    enum leat_precision precision; /* the largest error of r. LEAT_EXACT: 1e-12, for pairs with
                                      missing samples 1e-10. LEAT_F32: 1e-6. Strongest pairs:
                                      always 1e-12 */
    size_t min_samples;            /* a pair with fewer common samples has no r; 0: 3; least 2 */
    size_t top;                    /* strongest pairs wanted, at most 2^24; 0: none */
    int without_r;                 /* not 0: no r, only moments and strongest pairs */
    int lag_first, lag_last; /* not both 0: r of a pair is that of the largest |r| at these lags,
                                from -2^20 to 2^20, as `lags` of leat-pearson(7); LEAT_PEARSON,
                                no missing samples; at least min_samples must be left */
};
#define LEAT_CORRELATE_DEFAULTS                                                                    \
    {                                                                                              \
        sizeof(struct leat_correlate_options), LEAT_PEARSON, LEAT_EXACT, 0, 0, 0, 0, 0             \
    }

struct leat_pair {
    uint32_t i, j; /* series, i < j; the first is 0 */
    double r;
};

struct leat_correlate_result {
    size_t n_series, n_samples;
    double *count, *mean, *m2, *min, *max; /* [n_series]: the number of samples that are not
                                              missing; their mean, sum of squared deviations from
                                              it, least and largest (of ranks, for LEAT_SPEARMAN) */
    double *lag1;                          /* [n_series]: autocorrelation at lag 1 */
    double *median_abs;                    /* [n_series]: median of |r| over a series' pairs */
    double *r; /* [n_series (n_series - 1) / 2]: of pairs (0,1), (0,2), ..., (1,2), ..., as
                  SciPy's squareform; NaN: too few common samples, or a series is constant on
                  them. NULL: without_r */
    struct leat_pair *pairs; /* [n_pairs]: the strongest, by falling |r|, then by i and j */
    size_t n_pairs;
    uint64_t n_undefined; /* pairs without r */
    int32_t
        *lag; /* [n_series (n_series - 1) / 2], in the order of r: the number of samples by which
                 j is behind i, at the r of the pair; 0 where it is NaN. NULL: no lags wanted */
};

/* Correlates series: at least 2 rows of at least 2 samples; NaN: a missing sample. options NULL:
 * the defaults. LEAT_BAD_INPUT names a series with infinite samples, or with samples too large to
 * be squared; LEAT_SPEARMAN accepts both, because they have ranks.
 *
 * Memory: one copy of the series in double (LEAT_EXACT), on a device the series themselves, too,
 * and r twice. Lags take half as much as r twice, and up to 32 KiB a series, more.
 *
 * On a CPU, OpenBLAS computes the products. From then on OpenBLAS uses one thread for each call,
 * also for calls of the program itself. Debian 12's OpenBLAS is slow on newer processors unless
 * OPENBLAS_CORETYPE (Haswell, SkylakeX) is in the environment when the program begins; `leat` sets
 * it for itself. r has the command's bits if both have the same OPENBLAS_CORETYPE. */
enum leat_status leat_correlate(struct leat_context *c, const struct leat_array *x,
                                const struct leat_correlate_options *options,
                                struct leat_correlate_result **out);
void leat_correlate_free(struct leat_correlate_result *r);

/* --- clusters: Lloyd's algorithm --- */

enum leat_kmeans_init { LEAT_KMEANS_PLUS, LEAT_KMEANS_RANDOM, LEAT_KMEANS_FIRST };
enum leat_kmeans_scale { LEAT_SCALE_NONE, LEAT_SCALE_UNIT, LEAT_SCALE_RANGE };

struct leat_kmeans_options {
    size_t size;
    size_t k;      /* clusters; 0: 8 */
    size_t k_last; /* tries k to k_last clusters, takes the best silhouette; 0: only k */
    size_t n_init; /* runs of each k from different first centroids; 0: 10 */
    uint64_t seed;
    uint64_t max_iter; /* of a run; 0: 300 */
    double tol;        /* as tol in leat-kmeans(7); 0: 1e-4; negative: until no label changes */
    enum leat_kmeans_init init;   /* greedy k-means++, random points, or the first k points */
    enum leat_kmeans_scale scale; /* columns to a standard deviation, or a range, of 1 */
};
#define LEAT_KMEANS_DEFAULTS                                                                       \
    {                                                                                              \
        sizeof(struct leat_kmeans_options), 0, 0, 0, 0, 0, 0, LEAT_KMEANS_PLUS, LEAT_SCALE_NONE    \
    }

struct leat_kmeans_result {
    size_t k, n, columns;
    double *centroids;     /* [k][columns] */
    int32_t *labels;       /* [n]: 0 to k - 1 */
    uint64_t *counts;      /* [k]: points of each cluster */
    double *within;        /* [k]: sums of squared distances to the centroid, of scaled columns */
    double inertia;        /* their sum */
    double silhouette;     /* of a sample of at most 1000 points; NaN: all are in one cluster */
    uint64_t n_iterations; /* of the best run */
    int converged;
};

/* Clusters points, a row each. LEAT_BAD_INPUT names the row and column of a number that is not
 * finite. options NULL: the defaults. Memory on the backend: all points, and 12 bytes a point. For
 * points in the device's memory, aligned to 256 bytes, it is only the 12 bytes a point. */
enum leat_status leat_kmeans(struct leat_context *c, const struct leat_array *points,
                             const struct leat_kmeans_options *options,
                             struct leat_kmeans_result **out);
void leat_kmeans_free(struct leat_kmeans_result *r);

/* --- curves through nodes --- */

struct leat_interpolant;

/* The polynomial, by the faster of two methods (LEAT_BY_ITSELF) or by a given one; a rational
 * function of degree 3; and cubics from node to node, as SciPy's PchipInterpolator and CubicSpline.
 */
enum leat_interpolant_method {
    LEAT_BY_ITSELF,
    LEAT_CHEBYSHEV,
    LEAT_BARYCENTRIC,
    LEAT_FLOATER_HORMANN,
    LEAT_PCHIP,
    LEAT_SPLINE
};

/* Sets up the curves through n nodes: x [n], in any order, and y [n_curves][n]. All numbers are
 * finite, and no x occurs twice; LEAT_BAD_INPUT names the nodes. n is at most 32768, for cubics
 * 16777216. leat-interpolate(7) has the error of a value for each method; for polynomials it is at
 * most 50 units of rounding of sum |l_j(x) y_j|. n_queries: the expected number of queries, for the
 * choice of the method; 0: many. Free it by leat_interpolant_free. */
enum leat_status leat_interpolant_new(struct leat_context *c, const double *x, const double *y,
                                      size_t n, size_t n_curves,
                                      enum leat_interpolant_method method, uint64_t n_queries,
                                      struct leat_interpolant **out);
/* values [n][n_curves]: the values of all curves at n queries. A query that is NaN or infinite
 * gives NaN; for cubics an infinite query gives their value there. Far from the nodes a value may
 * be infinite. */
enum leat_status leat_interpolant_evaluate(struct leat_interpolant *p, const double *queries,
                                           size_t n, double *values);
/* The same for queries and values in the device's memory, as in struct leat_array. */
enum leat_status leat_interpolant_evaluate_device(struct leat_interpolant *p, const double *queries,
                                                  size_t n, double *values, void *stream);
/* The Lebesgue constant of the nodes: the factor by which errors of y may grow; infinite beyond
 * 1e308; NaN for cubics. */
double leat_interpolant_lebesgue(const struct leat_interpolant *p);
void leat_interpolant_free(struct leat_interpolant *p);

/* --- landslides: debris that flows over a terrain, by the cellular automaton sciddicaT --- */

enum leat_nodata { LEAT_NODATA_WALL, LEAT_NODATA_SINK };

struct leat_landslide_options {
    size_t size;
    uint64_t steps;          /* at most 2147483646; 0: 4000 */
    uint64_t settle;         /* steps between checks whether any cell still moves; 0: none */
    uint64_t report_every;   /* steps from one report to the next; 0: a hundredth of all */
    double epsilon;          /* m of debris that adhere, at most 1e6; 0: 0.001; negative: none */
    double r;                /* share of a flow that happens in one step, at most 1; 0: 0.5 */
    enum leat_nodata nodata; /* cells without an altitude: take no debris, or swallow it */
};
#define LEAT_LANDSLIDE_DEFAULTS                                                                    \
    {                                                                                              \
        sizeof(struct leat_landslide_options), 0, 0, 0, 0, 0, LEAT_NODATA_WALL                     \
    }

/* The state after a step. Sums over cells are in m; multiply by the area of a cell for a volume. */
struct leat_landslide_report {
    uint64_t step;
    double on_map, lost_edge, lost_nodata; /* sums: debris on the map; what has left it so far */
    double largest;                        /* thickness of a cell, m */
    uint64_t n_active;                     /* cells with more than epsilon */
};

struct leat_landslide_result {
    size_t rows, columns;
    double *thickness;     /* [rows][columns], m, at the end; NaN where the altitude is NaN */
    double *max_thickness; /* likewise, the largest at any step */
    int32_t *arrival;      /* [rows][columns]: the first step after which a cell had more than
                              epsilon; 0: from the start; -1: never, or the altitude is NaN */
    struct leat_landslide_report *reports; /* of the start, every report_every steps, of the end */
    size_t n_reports;
    int settled; /* it ended early, because no cell moved in the last step */
};

/* Simulates the flow of debris. dem: altitudes in m of the surface, which includes the debris, row
 * by row, at most 2^31 cells; NaN: NODATA. source: thickness of the debris in m, of the same shape;
 * NaN: 0. options NULL: the defaults. LEAT_BAD_INPUT names the row and column of an altitude beyond
 * +-1e9, or of a thickness that is not from 0 to 1e9. Debris that flows to the outermost cells has
 * left the map. Memory: about 62 bytes a cell. leat sets the landslide up on the host, so it copies
 * arrays in device memory there. */
enum leat_status leat_landslide(struct leat_context *c, const struct leat_array *dem,
                                const struct leat_array *source,
                                const struct leat_landslide_options *options,
                                struct leat_landslide_result **out);
void leat_landslide_free(struct leat_landslide_result *r);

#ifdef __cplusplus
}
#endif
#endif
