/*
 * survey_cpu - statistics of the whole matrix: histogram, mean and exact medians of |r|, the k-th
 * |r|.
 *
 * Nothing is sorted: ranks among all pairs are found by sweeps (matrix_rank.h). A series' median:
 * its |r| are gathered (a row of the triangle and a column), two bounds taken from a sample enclose
 * the middle, one sweep keeps what lies between, quickselect does the rest (rank_cpu.h).
 */
#include "kernels/base/vector_cpu.h"
#include "kernels/matrix/matrix_cpu.h"
#include "kernels/matrix/matrix_rank.h"
#include "kernels/matrix/rank_cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Rows are swept in groups; task k of n takes groups k, k + n, ... A task is worth its histogram.
 */
enum { GROUP_ROWS = 64, SWEEP_TASKS = 32, TASK_PAIRS = 1 << 19 };

struct sweep {
    const struct matrix *m;
    /* Called for up to VECTOR_BLOCK elements of a row. */
    void (*visit)(void *arg, size_t task, size_t group, const double *r, size_t n);
    void *arg;
    size_t n_groups, n_tasks;
};

static void sweep_body(void *arg, size_t task)
{
    const struct sweep *s = arg;
    double buffer[VECTOR_BLOCK];
    for (size_t group = task; group < s->n_groups; group += s->n_tasks) {
        const size_t start = s->m->first + group * GROUP_ROWS;
        const size_t end = cpu_min(start + GROUP_ROWS, s->m->n_series);
        for (size_t j = start; j < end; ++j) {
            const void *row = cpu_matrix_row(s->m, j);
            for (size_t i = 0; i < j; i += VECTOR_BLOCK) {
                size_t n = cpu_min(VECTOR_BLOCK, j - i);
                s->visit(s->arg, task, group, vector_widen(row, s->m->type, i, n, buffer), n);
            }
        }
    }
}

static struct sweep sweep_of(const struct matrix *m)
{
    struct sweep s = {.m = m, .n_groups = cpu_pieces(m->n_series - m->first, GROUP_ROWS)};
    s.n_tasks = cpu_min(s.n_groups, SWEEP_TASKS);
    s.n_tasks = cpu_min(s.n_tasks, 1 + matrix_band_pairs(m) / TASK_PAIRS);
    return s;
}

/* STATUS_CANCELLED: not all has been visited. */
static enum status sweep(struct queue *q, struct sweep *s,
                         void (*visit)(void *, size_t, size_t, const double *, size_t), void *arg)
{
    s->visit = visit;
    s->arg = arg;
    return cpu_run_long(q, s->n_tasks, sweep_body, s);
}

/* --- ranks among all pairs ------------------------------------------------------------------- */

/* Bits of a digit; so many pairs that share digits are collected rather than counted further. */
enum { DIGIT = 16, DIGIT_BINS = 1 << DIGIT, FEW_PAIRS = 1 << 16 };

struct ranks {
    struct queue *q;
    struct sweep sweep;
    struct matrix_digit digit;
    uint32_t *counts; /* [task][DIGIT_BINS] */
    double *values;
    atomic_size_t n; /* of these */
};

static void count_digit(void *arg, size_t task, size_t group, const double *r, size_t n)
{
    const struct ranks *k = arg;
    const struct matrix_digit digit = k->digit;
    uint32_t *counts = k->counts + task * DIGIT_BINS;
    (void)group;
    for (size_t i = 0; i < n; ++i) {
        uint64_t key = matrix_key(r[i]);
        if (matrix_digit_counts(digit, key)) {
            ++counts[matrix_digit_bin(digit, key)];
        }
    }
}

static enum status count_all(void *arg, struct matrix_digit digit, uint64_t *counts)
{
    struct ranks *k = arg;
    k->digit = digit;
    memset(k->counts, 0, k->sweep.n_tasks * DIGIT_BINS * sizeof *k->counts);
    STATUS_TRY(sweep(k->q, &k->sweep, count_digit, k));
    for (size_t b = 0; b < DIGIT_BINS; ++b) {
        counts[b] = 0;
        for (size_t t = 0; t < k->sweep.n_tasks; ++t) {
            counts[b] += k->counts[t * DIGIT_BINS + b];
        }
    }
    return STATUS_OK;
}

static void collect_some(void *arg, size_t task, size_t group, const double *r, size_t n)
{
    struct ranks *k = arg;
    const struct matrix_digit digit = k->digit;
    double kept[VECTOR_BLOCK];
    size_t n_kept = 0;
    (void)task;
    (void)group;
    for (size_t i = 0; i < n; ++i) {
        if (matrix_digit_counts(digit, matrix_key(r[i]))) {
            kept[n_kept++] = fabs(r[i]);
        }
    }
    if (n_kept > 0) {
        memcpy(k->values + atomic_fetch_add(&k->n, n_kept), kept, n_kept * sizeof *kept);
    }
}

static enum status collect_all(void *arg, struct matrix_digit digit, double *values, size_t *n)
{
    struct ranks *k = arg;
    k->digit = digit;
    k->values = values;
    atomic_store(&k->n, 0);
    STATUS_TRY(sweep(k->q, &k->sweep, collect_some, k));
    *n = atomic_load(&k->n);
    return STATUS_OK;
}

static enum status rank_abs(struct queue *q, const struct matrix *m, uint64_t from_top, double *out)
{
    const uint64_t pairs = matrix_band_pairs(m);
    const size_t few = (size_t)(pairs < FEW_PAIRS ? pairs : FEW_PAIRS);
    const size_t bins = pairs > few ? DIGIT_BINS : 0;
    struct ranks k = {.q = q, .sweep = sweep_of(m)};
    struct matrix_sweeps s = {
        .arg = &k, .digit = DIGIT, .few = few, .count = count_all, .collect = collect_all};
    s.counts = cpu_scratch_try(bins, sizeof *s.counts);
    s.values = cpu_scratch_try(few, sizeof *s.values);
    k.counts = cpu_scratch_try(k.sweep.n_tasks * bins, sizeof *k.counts);
    const enum status st =
        s.counts != NULL && s.values != NULL && k.counts != NULL
            ? matrix_rank_abs(&s, pairs, from_top, out)
            : status_fail(STATUS_NO_MEMORY, "no memory to rank the pairs of %zu series",
                          m->n_series);
    free(s.counts);
    free(s.values);
    free(k.counts);
    return st;
}

enum status cpu_kth_abs(struct queue *q, const struct matrix *m, uint64_t k, double *out)
{
    STATUS_TRY(cpu_matrix_check(m));
    return rank_abs(q, m, k == 0 ? 1 : k, out);
}

/* --- the median of a series ------------------------------------------------------------------ */

/* Series gathered at once: two cache lines of a row of doubles are read for every row below; rows
 * are turned by eight, a cache line of each series. A task has some such blocks. */
enum { MEDIAN_SERIES = 16, MEDIAN_ROWS = 8, MEDIAN_BLOCKS = 4 };

struct median_job {
    const struct matrix *m;
    bool undefined; /* some coefficients are NaN */
    double *median_abs;
};

/* to[t] = |r[t]| */
static void gather_row(const struct matrix *m, size_t s, double *to)
{
    double buffer[VECTOR_BLOCK];
    for (size_t i = 0; i < s; i += VECTOR_BLOCK) {
        size_t n = cpu_min(VECTOR_BLOCK, s - i);
        const double *r = vector_widen(cpu_matrix_row(m, s), m->type, i, n, buffer);
        for (size_t t = 0; t < n; ++t) {
            to[i + t] = fabs(r[t]);
        }
    }
}

/* |r| of rows j0 .. j0 + n - 1 with series first .. first + n_series - 1, all below the diagonal,
 * to entries j0 - 1 .. of each series. */
static void gather_columns(const struct matrix *m, size_t first, size_t n_series, size_t j0,
                           size_t n, double *v, size_t stride)
{
    double buffer[MEDIAN_ROWS][MEDIAN_SERIES];
    const double *r[MEDIAN_ROWS];
    for (size_t t = 0; t < n; ++t) {
        r[t] = vector_widen(cpu_matrix_row(m, j0 + t), m->type, first, n_series, buffer[t]);
    }
    for (size_t s = 0; s < n_series; ++s) {
        for (size_t t = 0; t < n; ++t) {
            v[s * stride + j0 - 1 + t] = fabs(r[t][s]);
        }
    }
}

/* Moves the defined values to the front and returns their number. */
static size_t drop_undefined(double *v, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; ++i) {
        double x = v[i];
        v[kept] = x;
        kept += x == x;
    }
    return kept;
}

/* Of series first .. end - 1, gathered in v. */
static void medians_of(struct median_job *job, size_t first, size_t end, double *v, size_t stride)
{
    size_t n = job->m->n_series;
    for (size_t s = first; s < end; ++s) {
        gather_row(job->m, s, v + (s - first) * stride);
    }
    for (size_t j = first + 1; j < end; ++j) {
        gather_columns(job->m, first, j - first, j, 1, v, stride);
    }
    for (size_t j = end; j < n; j += MEDIAN_ROWS) {
        gather_columns(job->m, first, end - first, j, cpu_min(MEDIAN_ROWS, n - j), v, stride);
    }
    for (size_t s = first; s < end; ++s) {
        double *values = v + (s - first) * stride;
        size_t defined = job->undefined ? drop_undefined(values, n - 1) : n - 1;
        job->median_abs[s] =
            defined == 0 ? (double)NAN : rank_median(values, defined, v + MEDIAN_SERIES * stride);
    }
}

/* From one series gathered to the next: an odd number of cache lines, or they would share cache
 * sets. */
static size_t median_stride(const struct matrix *m)
{
    return (m->n_series / 16 * 2 + 3) * 8;
}

static void median_body(void *arg, size_t index, void *v)
{
    struct median_job *job = arg;
    size_t n = job->m->n_series;
    for (size_t k = 0; k < MEDIAN_BLOCKS; ++k) {
        size_t first = (index * MEDIAN_BLOCKS + k) * MEDIAN_SERIES;
        if (first < n) {
            medians_of(job, first, cpu_min(first + MEDIAN_SERIES, n), v, median_stride(job->m));
        }
    }
}

/* --- stats ----------------------------------------------------------------------------------- */

/* Counts of one task; four histograms, so that equal neighbours do not wait for one another. */
struct stats {
    uint64_t bins[4][MATRIX_BINS], undefined;
};

struct stats_job {
    struct stats *tasks;
    double *sums; /* of |r|, by group of rows */
};

static void count_stats(void *arg, size_t task, size_t group, const double *r, size_t n)
{
    const struct stats_job *job = arg;
    struct stats *f = &job->tasks[task];
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
        if (r[i] == r[i]) {
            ++f->bins[i & 3][matrix_bin(r[i])];
            sum += fabs(r[i]);
        } else {
            ++f->undefined;
        }
    }
    job->sums[group] += sum;
}

static enum status compute_stats(struct queue *q, const struct matrix *m, struct matrix_survey *out)
{
    struct sweep s = sweep_of(m);
    struct stats_job job = {0};
    size_t n = m->n_series;
    *out = (struct matrix_survey){.mean_abs = (double)NAN};
    if (n < 2) {
        return STATUS_OK;
    }
    out->n_pairs = matrix_band_pairs(m);
    job.tasks = calloc(s.n_tasks, sizeof *job.tasks);
    job.sums = calloc(s.n_groups, sizeof *job.sums);
    enum status st = STATUS_OK;
    if (job.tasks == NULL || job.sums == NULL) {
        st = status_fail(STATUS_NO_MEMORY, "no memory for the survey of %zu series", n);
        goto done;
    }
    st = sweep(q, &s, count_stats, &job);
    if (st != STATUS_OK) {
        goto done;
    }
    for (size_t t = 0; t < s.n_tasks; ++t) {
        out->n_undefined += job.tasks[t].undefined;
        for (size_t b = 0; b < 4 * (size_t)MATRIX_BINS; ++b) {
            out->histogram[b % MATRIX_BINS] += job.tasks[t].bins[b / MATRIX_BINS][b % MATRIX_BINS];
        }
    }
    double sum = 0;
    for (size_t g = 0; g < s.n_groups; ++g) {
        sum += job.sums[g];
    }
    if (out->n_undefined < out->n_pairs) {
        out->mean_abs = sum / (double)(out->n_pairs - out->n_undefined);
    }
done:
    free(job.tasks);
    free(job.sums);
    return st;
}

enum status cpu_survey(struct queue *q, const struct matrix *m, struct matrix_survey *out,
                       double *median_abs, double *median_abs_all)
{
    STATUS_TRY(cpu_matrix_check(m));
    STATUS_TRY(compute_stats(q, m, out));
    *median_abs_all = (double)NAN;
    if (median_abs == NULL || m->first > 0) {
        return STATUS_OK;
    }
    STATUS_TRY(rank_abs(q, m, 0, median_abs_all));
    struct median_job job = {.m = m, .undefined = out->n_undefined > 0, .median_abs = median_abs};
    const size_t tasks = cpu_pieces(m->n_series, (size_t)MEDIAN_SERIES * MEDIAN_BLOCKS);
    return cpu_run_scratch(q, tasks, (MEDIAN_SERIES + 1) * median_stride(m) * sizeof(double),
                           median_body, &job);
}
