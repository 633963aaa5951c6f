/*
 * case_program - the whole program, from files in the page cache to published results, beside what
 * a NumPy or CuPy user would run on the same file; and many small files, in jobs a second.
 *
 * Our time is the process's whole life; the peer's leaves out its imports.
 */
#include "tests/bench/bench.h"

#include "kernels/philox/philox.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct program_variant {
    size_t n_series, n_samples; /* of one file */
    size_t n_files;             /* > 1: in a folder, links to one of DISTINCT */
    const char *set;            /* a parameter */
    bool across;                /* series lie across the lines of a CSV */
    const char *peer;           /* script; NULL: none */
    const char *bound;          /* on the difference between both answers */
    bool npy;
    double mark_ratio, mark_jobs_s, mark_efficiency;
};

enum { DISTINCT = 16, PATH_BYTES = 160 };

struct program_state {
    const struct program_variant *v;
    char input[PATH_BYTES], output[PATH_BYTES], peer_output[PATH_BYTES];
    char threads[24];
    char peer_failure[STATUS_MESSAGE_BYTES]; /* before it was compared; "": none */
};

static void program_close(struct bench *b, void *state)
{
    (void)b;
    struct program_state *s = state;
    const char *const argv[] = {"rm", "-rf", s->input, s->output, s->peer_output, NULL};
    enum status code = bench_spawn(argv, NULL, 0);
    (void)code; /* the scratch folder goes at the end in any case */
    free(s);
}

static enum status program_prepare(struct bench *b, void *state)
{
    (void)b;
    const struct program_state *s = state;
    const char *const argv[] = {"rm", "-rf", s->output, NULL};
    return bench_spawn(argv, NULL, 0);
}

static enum status program_run(struct bench *b, void *state)
{
    const struct program_state *s = state;
    const char *const argv[] = {
        b->program,  "run",      "-q", "--backend", b->cuda ? "cuda" : "cpu",
        "--threads", s->threads, "-s", s->v->set,   "-o",
        s->output,   s->input,   NULL};
    return bench_spawn(argv, NULL, 0);
}

static enum status program_peer(struct bench *b, void *state, double *seconds)
{
    const struct program_state *s = state;
    if (s->peer_failure[0] != '\0') {
        return status_fail(STATUS_INTERNAL, "%s", s->peer_failure);
    }
    return bench_python(b, seconds, s->v->peer, s->input, s->peer_output, NULL);
}

/* The header of a C-ordered f32 array (NEP 1). */
static enum status write_npy(struct bench *b, int fd, size_t n_series, size_t n_samples)
{
    const struct backend_ops *ops = b->backend->ops;
    const struct philox_walk walk = {.seed = 13, .start = 100, .epsilon = 0.01};
    const size_t bytes = n_series * n_samples * sizeof(float);
    char header[128] = "\x93NUMPY\x01\x00v";
    int text = snprintf(header + 10, sizeof header - 10,
                        "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", n_series,
                        n_samples);
    memset(header + 10 + text, ' ', sizeof header - 10 - (size_t)text);
    header[9] = '\0';
    header[sizeof header - 1] = '\n';
    void *host = malloc(bytes);
    struct span x = {0};
    enum status code =
        host == NULL ? status_fail(STATUS_NO_MEMORY, "no memory") : ops->alloc(b->queue, bytes, &x);
    if (code == STATUS_OK) {
        const struct series_rows rows = {x, DTYPE_F32, n_series, n_samples, 0, 0};
        code = ops->philox->walk_rows(b->queue, &walk, &rows);
    }
    if (code == STATUS_OK) {
        code = ops->download(b->queue, host, x, bytes);
    }
    FILE *file = code == STATUS_OK ? fdopen(dup(fd), "wb") : NULL;
    if (file != NULL &&
        (fwrite(header, sizeof header, 1, file) != 1 || fwrite(host, bytes, 1, file) != 1)) {
        code = status_fail_errno(errno, "writing the bench's input");
    }
    if (file != NULL && fclose(file) != 0) {
        code = status_fail_errno(errno, "writing the bench's input");
    }
    ops->release(b->queue, x);
    free(host);
    return code;
}

static enum status make_file(struct bench *b, const struct program_variant *v, const char *path,
                             uint64_t seed, double *bytes)
{
    const size_t n_series = b->smoke ? 12 : v->n_series, n_samples = b->smoke ? 70 : v->n_samples;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        return status_fail_errno(errno, "%s", path);
    }
    enum status code = v->npy      ? write_npy(b, fd, n_series, n_samples)
                       : v->across ? bench_write_csv(fd, seed, n_samples, n_series)
                                   : bench_write_csv(fd, seed, n_series, n_samples);
    struct stat about = {0};
    if (fstat(fd, &about) == 0) {
        *bytes += (double)about.st_size;
    }
    close(fd);
    return code;
}

/* A folder of n links to DISTINCT files. */
static enum status make_folder(struct bench *b, const struct program_state *s, size_t n,
                               double *bytes)
{
    enum status code =
        mkdir(s->input, 0777) == 0 ? STATUS_OK : status_fail_errno(errno, "%s", s->input);
    double distinct_bytes = 0;
    for (size_t i = 0; code == STATUS_OK && i < n; i++) {
        char path[PATH_BYTES + 40], first[PATH_BYTES + 40];
        snprintf(path, sizeof path, "%s/f%06zu.clusters.csv", s->input, i);
        snprintf(first, sizeof first, "%s/f%06zu.clusters.csv", s->input, i % DISTINCT);
        if (i < DISTINCT) {
            code = make_file(b, s->v, path, 20 + i, &distinct_bytes);
        } else if (link(first, path) != 0) {
            code = status_fail_errno(errno, "%s", path);
        }
    }
    *bytes = distinct_bytes / (double)(n < DISTINCT ? n : DISTINCT) * (double)n;
    return code;
}

/* Runs both and compares what they say. */
static enum status program_check(struct bench *b, struct program_state *s)
{
    double seconds;
    char ours[PATH_BYTES + 40];
    enum status code = program_prepare(b, s);
    if (code == STATUS_OK) {
        code = program_run(b, s);
    }
    if (code != STATUS_OK || s->v->peer == NULL) {
        return code;
    }
    code = program_peer(b, s, &seconds);
    if (code == STATUS_NOT_FOUND) {
        return STATUS_OK; /* said again, and shown, when it is to be timed */
    }
    if (code != STATUS_OK && !b->smoke) {
        snprintf(s->peer_failure, sizeof s->peer_failure, "%s", status_message());
        return STATUS_OK; /* likewise */
    }
    STATUS_TRY(code);
    snprintf(ours, sizeof ours, "%s/input/pearson.npz", s->output);
    return bench_python(b, &seconds, "agree.py", ours, s->peer_output, s->v->bound, NULL);
}

/* "efficiency 0.91, bound by cpu" out of the last run's result.json. */
static void program_note(struct bench *b, void *state, struct bench_work *work)
{
    const struct program_state *s = state;
    if (s->v->n_files > 1) {
        return;
    }
    char path[PATH_BYTES + 40];
    snprintf(path, sizeof path, "%s/input/result.json", s->output);
    json_t *manifest = json_load_file(path, 0, NULL);
    double efficiency;
    const char *bound_by;
    if (json_unpack(manifest, "{s:{s:F, s:s}}", "timing", "efficiency", &efficiency, "bound_by",
                    &bound_by) == 0) {
        const double mark = b->smoke ? 0 : s->v->mark_efficiency;
        snprintf(work->note, sizeof work->note, "efficiency %.2f, bound by %s%s", efficiency,
                 bound_by,
                 mark == 0            ? ""
                 : efficiency >= mark ? " (mark: met)"
                                      : " (mark: missed)");
    }
    json_decref(manifest);
}

static enum status program_open(struct bench *b, const struct bench_case *c,
                                struct bench_work *work, void **state)
{
    if (access(b->program, X_OK) != 0) {
        return status_fail_errno(errno, "%s", b->program);
    }
    struct program_state *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    s->v = c->variant;
    const size_t n_files = b->smoke && s->v->n_files > 1 ? 20 : s->v->n_files;
    snprintf(s->threads, sizeof s->threads, "%zu", b->n_threads);
    snprintf(s->output, sizeof s->output, "%s/out", b->scratch);
    snprintf(s->peer_output, sizeof s->peer_output, "%s/peer.npz", b->scratch);
    snprintf(s->input, sizeof s->input, "%s/input%s", b->scratch,
             n_files > 1 ? ""
             : s->v->npy ? ".clusters.npy"
                         : ".clusters.csv");
    enum status code = n_files > 1 ? make_folder(b, s, n_files, &work->bytes)
                                   : make_file(b, s->v, s->input, 17, &work->bytes);
    if (code == STATUS_OK) {
        code = program_check(b, s);
    }
    if (code != STATUS_OK) {
        program_close(b, s);
        return code;
    }
    if (n_files > 1) {
        work->items = (double)n_files;
        work->item_name = "jobs";
        work->mark_s = b->smoke ? 0 : (double)n_files / s->v->mark_jobs_s;
    }
    work->mark_ratio = b->smoke ? 0 : s->v->mark_ratio;
    *state = s;
    return STATUS_OK;
}

static const struct program_variant big = {.n_series = 1024,
                                           .n_samples = 56000,
                                           .n_files = 1,
                                           .set = "precision=exact",
                                           .mark_efficiency = 0.85},
                                    columns = {.n_series = 32,
                                               .n_samples = 1750000,
                                               .n_files = 1,
                                               .set = "series=columns",
                                               .across = true,
                                               .peer = "peer_corrcoef.py",
                                               .bound = "1e-12"},
                                    csv = {.n_series = 1024,
                                           .n_samples = 11000,
                                           .n_files = 1,
                                           .set = "precision=exact",
                                           .peer = "peer_corrcoef.py",
                                           .bound = "1e-12",
                                           .mark_ratio = 5},
                                    npy = {.n_series = 8192,
                                           .n_samples = 8192,
                                           .n_files = 1,
                                           .set = "precision=exact",
                                           .peer = "peer_cupy.py",
                                           .bound = "1e-12",
                                           .npy = true,
                                           .mark_ratio = 20},
                                    npy_f32 = {.n_series = 8192,
                                               .n_samples = 8192,
                                               .n_files = 1,
                                               .set = "precision=f32",
                                               .peer = "peer_cupy.py",
                                               .bound = "1e-6",
                                               .npy = true,
                                               .mark_ratio = 20},
                                    small = {.n_series = 64,
                                             .n_samples = 256,
                                             .n_files = 2000,
                                             .set = "precision=exact",
                                             .mark_jobs_s = 1000};

#define PROGRAM_CASE                                                                               \
    .open = program_open, .prepare = program_prepare, .run = program_run, .close = program_close

const struct bench_case bench_program_cases[] = {
    {.name = "program_csv",
     .what = "a CSV of 200 MB to results; peer: pandas.read_csv, numpy.corrcoef, savez_compressed",
     .backends = BENCH_CPU | BENCH_CUDA,
     .variant = &csv,
     PROGRAM_CASE,
     .note = program_note,
     .peer_name = "pandas+numpy",
     .peer = program_peer},
    {.name = "program_big",
     .what = "a CSV of 1 GB to results",
     .backends = BENCH_CPU | BENCH_CUDA,
     .variant = &big,
     PROGRAM_CASE,
     .note = program_note},
    {.name = "program_columns",
     .what = "a CSV of 1 GB, 32 series in columns, to results; peer: as of program_csv",
     .backends = BENCH_CPU | BENCH_CUDA,
     .variant = &columns,
     PROGRAM_CASE,
     .note = program_note,
     .peer_name = "pandas+numpy",
     .peer = program_peer},
    {.name = "program_npy",
     .what = "8192 x 8192 f32 .npy to results, exact; peer: numpy.load, cupy.corrcoef, "
             "savez_compressed",
     .backends = BENCH_CUDA,
     .variant = &npy,
     PROGRAM_CASE,
     .note = program_note,
     .peer_name = "numpy+cupy",
     .peer = program_peer},
    {.name = "program_npy_f32",
     .what = "the same, precision f32",
     .backends = BENCH_CUDA,
     .variant = &npy_f32,
     PROGRAM_CASE,
     .note = program_note,
     .peer_name = "numpy+cupy",
     .peer = program_peer},
    {.name = "program_small",
     .what = "2000 CSV files of 64 x 256 in a folder",
     .backends = BENCH_CPU | BENCH_CUDA,
     .variant = &small,
     PROGRAM_CASE},
    {0},
};
