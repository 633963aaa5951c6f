/*
 * bench - what a case of leat-bench is, and what it is given.
 *
 * A case makes its input, checks the answer against a reference, and is then timed warm, in turn
 * with its peer if it has one. It states what it has to move and to compute; with the machine's
 * measured ceilings that gives a floor, and the ratio of the time to the floor is what is looked
 * at.
 */
#ifndef LEAT_TESTS_BENCH_BENCH_H
#define LEAT_TESTS_BENCH_BENCH_H

#include "formats/base/dtype.h"
#include "formats/base/status.h"
#include "kernels/backend.h"
#include "pipeline/engine/thread_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the machine reaches at best, measured at the start; 0 where it was not. */
struct bench_ceilings {
    double copy_bytes_s;   /* memory of the backend: bytes read and bytes written */
    double upload_bytes_s; /* CUDA: page-locked host memory to the device, and back */
    double download_bytes_s;
    double f64_flop_s; /* matrix products of the machine's own BLAS */
    double f32_flop_s;
    double tf32_flop_s; /* CUDA */
};

struct bench {
    struct backend *backend;
    struct queue *queue;
    struct executor executor; /* of n_threads, the bench's own among them */
    size_t n_threads;
    bool cuda;
    bool smoke;          /* small inputs and one run: only whether the answers are right */
    const char *program; /* path of leat */
    const char *scripts; /* folder of the peers' scripts */
    char scratch[64];    /* folder for files; removed at the end */
    struct bench_ceilings ceilings;
};

/* What one run of a case amounts to; filled by open. */
struct bench_work {
    double bytes; /* moved through memory, or of the input; 0: not stated */
    double flops; /* 0: not stated */
    double items; /* 0: none; else what item_name names */
    const char *item_name;
    double floor_s;       /* 0: none known */
    const char *floor_of; /* the resource that sets it */
    double mark_s;        /* 0: none; the time to stay below */
    double mark_ratio;    /* 0: none; the peer's time / ours, to stay above */
    char note[80];        /* printed behind the figures */
};

enum { BENCH_CPU = 1, BENCH_CUDA = 2 };

struct bench_case {
    const char *name, *what;
    unsigned backends;
    bool by_device; /* timed by the queue's own busy time where it has one (CUDA's events) */
    const void *variant;
    /* Makes the input, computes once, compares with the reference. STATUS_INTERNAL: it differs. */
    enum status (*open)(struct bench *b, const struct bench_case *c, struct bench_work *work,
                        void **state) STATUS_MUST_CHECK;
    enum status (*prepare)(struct bench *b, void *state); /* before each run, not timed; or NULL */
    enum status (*run)(struct bench *b, void *state) STATUS_MUST_CHECK;
    void (*close)(struct bench *b, void *state);
    void (*note)(struct bench *b, void *state,
                 struct bench_work *work); /* after the runs; or NULL */
    /* Runs the peer once on the same input; the seconds it says (without its start-up), or those it
     * took. STATUS_NOT_FOUND when it is not installed. */
    const char *peer_name;
    enum status (*peer)(struct bench *b, void *state, double *seconds) STATUS_MUST_CHECK;
};

/* The cases of each file; ended by one without a name. */
extern const struct bench_case bench_means_cases[], bench_pearson_cases[], bench_csv_cases[],
    bench_deflate_cases[], bench_program_cases[], bench_sciddicat_cases[], bench_ensemble_cases[],
    bench_interpolate_cases[], bench_kmeans_cases[], bench_bands_cases[], bench_panels_cases[],
    bench_sweep_cases[], bench_lags_cases[], bench_search_cases[];

/* Measures the ceilings of the backend's machine. */
enum status bench_measure_ceilings(struct bench *b) STATUS_MUST_CHECK;

double bench_now_s(void);
/* Sorts v and returns the quantile (0..1), interpolated. */
double bench_quantile(double *v, size_t n, double at);
/* A uniform number in [0, 1) of 53 bits from a counter-based hash of (seed, i). */
double bench_uniform(uint64_t seed, uint64_t i);
/* r of two series of n samples in extended precision, from the definition. */
double bench_r(const double *x, const double *y, size_t n);

/* Runs argv[0] from PATH. `said`, when given, gets what it prints on stdout, NUL-terminated.
 * Without `said` its stdout is dropped. STATUS_NOT_FOUND when there is no such program,
 * STATUS_INTERNAL when it fails. */
enum status bench_spawn(const char *const *argv, char *said, size_t said_bytes) STATUS_MUST_CHECK;
/* Runs $PYTHON (/usr/bin/python3) SCRIPT ARGUMENT... and reads the seconds that it prints first. A
 * missing module is STATUS_NOT_FOUND. Arguments end with NULL. */
enum status bench_python(struct bench *b, double *seconds, const char *script,
                         ...) STATUS_MUST_CHECK __attribute__((sentinel));

/* Writes a CSV of n_lines x n_cells doubles of 15 to 17 digits, without a header. */
enum status bench_write_csv(int fd, uint64_t seed, size_t n_lines,
                            size_t n_cells) STATUS_MUST_CHECK;

#endif
