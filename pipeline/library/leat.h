/*
 * leat.h - leat for programs: correlations, clusters, curves through nodes and landslides of
 * arrays in memory, on the CPU's cores or on a CUDA device, with the results of the program `leat`
 * to the bit.
 *
 *   cc program.c $(pkg-config --cflags --libs leat)
 *
 * A context has the threads, or the device. It is used by one thread at a time, leat_cancel apart;
 * several contexts may be used at the same time. Every function that can fail returns a status, and
 * leat_error() says what was wrong and what to do. The library never prints and never ends the
 * program, and leaves its signals and its environment alone.
 *
 * Structures of options begin with their size: set `size` to sizeof and the rest to 0 for the
 * defaults (LEAT_..._DEFAULTS does so), so that later versions may add members. A size of 0, and a
 * member that is set and that the library does not know, are LEAT_BAD_ARGUMENT. Results are the
 * library's, NULL after a failure, and freed by their leat_..._free; later versions may add members
 * at their ends.
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
    LEAT_BAD_ARGUMENT, /* an argument that no data could make right */
    LEAT_BAD_INPUT,    /* numbers that cannot be computed with: not finite, too far apart, ... */
    LEAT_TOO_LARGE,    /* more memory than the context may take, or than can be counted */
    LEAT_NO_MEMORY,
    LEAT_NO_BACKEND, /* no CUDA device that works, or for products no BLAS; leat_error says why */
    LEAT_DEVICE,     /* the device has failed: close the context */
    LEAT_CANCELLED,
    LEAT_INTERNAL /* an error in leat itself */
};

/* The library's version: "0.1.0". */
const char *leat_version(void);

/* --- contexts --- */

struct leat_context;

struct leat_options {
    size_t size;
    const char *backend; /* "cpu" (NULL), "cuda", or "auto": CUDA where it works */
    int device;          /* of CUDA, from 0 */
    size_t threads;      /* that compute; 0: as many as the process may run on */
    uint64_t memory;     /* bytes that a call may take beside its arguments and results; 0: any */
    /* Called with `user` by the thread that has called leat_correlate, _kmeans, _landslide or
     * _interpolant_evaluate, between parts of the work; share: of it, from 0 to 1, never less than
     * before. Not 0: the call returns LEAT_CANCELLED. It calls nothing of the context but
     * leat_cancel. NULL: nobody asks. */
    int (*progress)(void *user, double share);
    void *user;
};
#define LEAT_OPTIONS_DEFAULTS                                                                      \
    {                                                                                              \
        sizeof(struct leat_options), NULL, 0, 0, 0, NULL, NULL                                     \
    }

/* Opens a context; *out is NULL on failure. options NULL: the defaults. LEAT_BAD_ARGUMENT,
 * _NO_BACKEND, _NO_MEMORY. */
enum leat_status leat_open(const struct leat_options *options, struct leat_context **out);
/* Its interpolants have been freed. NULL is fine. */
void leat_close(struct leat_context *c);
/* What was wrong with the last call on the context that failed; of leat_open: NULL, for the calling
 * thread. Valid until the next call. */
const char *leat_error(const struct leat_context *c);
/* What computes: "cpu: AMD EPYC ..., 16 threads"; valid as long as the context. */
const char *leat_backend(const struct leat_context *c);
/* By any thread, also in a handler of signals: the call under way, or the next one, soon returns
 * LEAT_CANCELLED, unless it is about to end. */
void leat_cancel(struct leat_context *c);

/* --- arrays --- */

enum leat_type { LEAT_F8, LEAT_F4 }; /* double, float */

enum leat_memory { LEAT_HOST_MEMORY, LEAT_DEVICE_MEMORY };

/* Numbers in rows; borrowed for the call. LEAT_DEVICE_MEMORY is memory of the context's CUDA
 * device, aligned to its numbers, whose rows are contiguous: it is read there, after all that the
 * program has queued in `stream`. A call has done all its work when it returns, so any stream may
 * go on with its results; the context's device is the calling thread's current one then. On a CPU
 * it is LEAT_BAD_ARGUMENT. */
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
    enum leat_method method;       /* of the samples, or of their average ranks; those of a pair
                                      with missing samples are ranked again, and r is exact */
    enum leat_precision precision; /* error of r: 1e-12, of pairs with missing samples 1e-10, or
                                      1e-6; of the strongest pairs always the former */
    size_t min_samples;            /* in common, without which a pair has no r; 0: 3; least 2 */
    size_t top;                    /* strongest pairs wanted, at most 2^24; 0: none */
    int without_r;                 /* not 0: r is not wanted, only moments and strongest pairs */
};
#define LEAT_CORRELATE_DEFAULTS                                                                    \
    {                                                                                              \
        sizeof(struct leat_correlate_options), LEAT_PEARSON, LEAT_EXACT, 0, 0, 0                   \
    }

struct leat_pair {
    uint32_t i, j; /* series, i < j; the first is 0 */
    double r;
};

struct leat_correlate_result {
    size_t n_series, n_samples;
    double *count, *mean, *m2, *min, *max; /* [n_series]: samples that are not missing, their mean,
                                              sum of squared deviations from it, least, largest; of
                                              ranks where these are correlated */
    double *lag1;                          /* [n_series]: autocorrelation at lag 1 */
    double *median_abs;                    /* [n_series]: median of |r| of a series' pairs */
    double *r; /* [n_series (n_series - 1) / 2]: of pairs (0,1), (0,2), ..., (1,2), ..., as
                  SciPy's squareform; NaN: too few samples in common, or a series does not vary
                  on them. NULL: not wanted */
    struct leat_pair *pairs; /* [n_pairs]: the strongest, by falling |r|, then by i and j */
    size_t n_pairs;
    uint64_t n_undefined; /* pairs without r */
};

/* Correlates series, a row each, of 2 samples or more; NaN: a missing sample. At least 2 series.
 * LEAT_BAD_INPUT names one with infinite samples, or with some too large to be squared: both have
 * ranks, so that LEAT_SPEARMAN takes them. options NULL: the defaults. Takes memory for the series
 * in double once (LEAT_EXACT), on a device for themselves, too, and for r twice. On a CPU its
 * products are OpenBLAS's, which then computes with one thread at a time wherever the program calls
 * it, too. Debian 12's is slow on processors newer than itself, unless OPENBLAS_CORETYPE (Haswell,
 * SkylakeX) is in the environment when the program begins, as `leat` sees to for itself; r has the
 * command's bits where both take the same. */
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
    size_t k_last; /* of a range from k on, of which the best by silhouette is taken; 0: k */
    size_t n_init; /* runs of each k from different first centroids; 0: 10 */
    uint64_t seed;
    uint64_t max_iter; /* of a run; 0: 300 */
    double tol;        /* relative to the mean variance of the columns; 0: 1e-4; negative: none */
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
    double silhouette;     /* of a sample of at most 1000 points; NaN: all of them in one cluster */
    uint64_t n_iterations; /* of the best run */
    int converged;
};

/* Clusters points, a row each, finite: LEAT_BAD_INPUT names the row and column of one that is not.
 * options NULL: the defaults. Takes memory for all points and 12 bytes a point on the backend, 12
 * alone where they are in the device's memory, aligned to 256 bytes. */
enum leat_status leat_kmeans(struct leat_context *c, const struct leat_array *points,
                             const struct leat_kmeans_options *options,
                             struct leat_kmeans_result **out);
void leat_kmeans_free(struct leat_kmeans_result *r);

/* --- curves through nodes --- */

struct leat_interpolant;

/* The polynomial, by a method of leat's own choice or by one of two; a rational function, of degree
 * 3; and cubics from node to node, as SciPy's PchipInterpolator and CubicSpline. */
enum leat_interpolant_method {
    LEAT_BY_ITSELF,
    LEAT_CHEBYSHEV,
    LEAT_BARYCENTRIC,
    LEAT_FLOATER_HORMANN,
    LEAT_PCHIP,
    LEAT_SPLINE
};

/* Sets up the curves through n nodes: x [n], in any order, and y [n_curves][n]. All finite, no x
 * twice, n <= 32768, of cubics <= 16777216. Error of a value: as leat-interpolate(7) says of the
 * method, of polynomials at most 50 units of rounding of sum |l_j(x) y_j|. n_queries: how many are
 * expected, for the choice of the method; 0: many. LEAT_BAD_INPUT names the nodes. Given back by
 * leat_interpolant_free. */
enum leat_status leat_interpolant_new(struct leat_context *c, const double *x, const double *y,
                                      size_t n, size_t n_curves,
                                      enum leat_interpolant_method method, uint64_t n_queries,
                                      struct leat_interpolant **out);
/* values [n][n_curves]: of all curves at n queries. NaN and infinite ones give NaN, but infinite
 * ones of cubics what these are there; far from the nodes a value may be infinite. */
enum leat_status leat_interpolant_evaluate(struct leat_interpolant *p, const double *queries,
                                           size_t n, double *values);
/* The same of queries and values in the device's memory, as of struct leat_array. */
enum leat_status leat_interpolant_evaluate_device(struct leat_interpolant *p, const double *queries,
                                                  size_t n, double *values, void *stream);
/* The Lebesgue constant of the nodes: by how much errors of y may grow; infinite beyond 1e308; NaN
 * of cubics. */
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
    double r;                /* the share of a flow that happens in one step, at most 1; 0: 0.5 */
    enum leat_nodata nodata; /* cells without an altitude: take no debris, or swallow it */
};
#define LEAT_LANDSLIDE_DEFAULTS                                                                    \
    {                                                                                              \
        sizeof(struct leat_landslide_options), 0, 0, 0, 0, 0, LEAT_NODATA_WALL                     \
    }

/* The state after a step; sums over cells, in m: times the area of a cell, volumes. */
struct leat_landslide_report {
    uint64_t step;
    double on_map, lost_edge, lost_nodata; /* debris on the map; what has left it, so far */
    double largest;                        /* thickness of a cell, m */
    uint64_t n_active;                     /* cells with more than epsilon */
};

struct leat_landslide_result {
    size_t rows, columns;
    double *thickness;     /* [rows][columns], m, at the end; NaN where the altitude is NaN */
    double *max_thickness; /* likewise, the largest at any step */
    int32_t *arrival;      /* [rows][columns]: the first step after which a cell had more than
                              epsilon; 0: from the start; -1: never, or the altitude is NaN */
    struct leat_landslide_report *reports; /* of the start, then as asked for, and of the end */
    size_t n_reports;
    int settled; /* no cell moved in the last step, and so it ended early */
};

/* Lets debris flow. dem: altitudes in m of a surface that has the debris on it, row by row, at most
 * 2^31 cells; NaN: NODATA. source: thickness of the debris in m, of the same shape; NaN: 0.
 * LEAT_BAD_INPUT names the row and column of an altitude beyond +-1e9 and of a thickness that is
 * not from 0 to 1e9. What flows to the outermost cells has left the map. options NULL: the
 * defaults. Takes about 62 bytes of memory a cell. A landslide is set up on the host: of device
 * memory a copy is made there. */
enum leat_status leat_landslide(struct leat_context *c, const struct leat_array *dem,
                                const struct leat_array *source,
                                const struct leat_landslide_options *options,
                                struct leat_landslide_result **out);
void leat_landslide_free(struct leat_landslide_result *r);

#ifdef __cplusplus
}
#endif
#endif
