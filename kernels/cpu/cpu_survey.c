/*
 * cpu_survey - figures of the whole matrix: histogram, mean and exact medians of |r|, the k-th |r|.
 *
 * Nothing is sorted. A rank among all pairs is found by radix selection on the bits of |r|, whose
 * order is that of the numbers: a sweep counts the leading digit, the next ones refine within the
 * digit that holds the rank. A series' median: its |r| are gathered (a row of the triangle and a
 * column), two bounds taken from a sample enclose the middle, one sweep keeps what lies between
 * (R. W. Floyd, R. L. Rivest, "Expected time bounds for selection", 1975), quickselect does the
 * rest.
 */
#include "kernels/cpu/cpu_lanes.h"
#include "kernels/cpu/cpu_pearson.h"
#include "kernels/pearson_rule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows are swept in groups; task k of at most SWEEP_TASKS takes groups k, k + SWEEP_TASKS, ... */
enum { GROUP_ROWS = 64, SWEEP_TASKS = 32 };

struct sweep {
    const struct pearson_matrix *m;
    /* Called for up to LANES_BLOCK elements of a row. */
    void (*visit)(void *arg, size_t task, size_t group, const double *r, size_t n);
    void *arg;
    size_t n_groups, n_tasks;
};

static void sweep_body(void *arg, size_t task)
{
    const struct sweep *s = arg;
    double buffer[LANES_BLOCK];
    for (size_t group = task; group < s->n_groups; group += s->n_tasks) {
        size_t end = cpu_min((group + 1) * GROUP_ROWS, s->m->n_series);
        for (size_t j = group * GROUP_ROWS; j < end; ++j) {
            const void *row = cpu_matrix_row(s->m, j);
            for (size_t i = 0; i < j; i += LANES_BLOCK) {
                size_t n = cpu_min(LANES_BLOCK, j - i);
                s->visit(s->arg, task, group, lanes_widen(row, s->m->type, i, n, buffer), n);
            }
        }
    }
}

static struct sweep sweep_of(const struct pearson_matrix *m)
{
    struct sweep s = {.m = m, .n_groups = cpu_pieces(m->n_series, GROUP_ROWS)};
    s.n_tasks = cpu_min(s.n_groups, SWEEP_TASKS);
    return s;
}

static void sweep(struct queue *q, struct sweep *s,
                  void (*visit)(void *, size_t, size_t, const double *, size_t), void *arg)
{
    s->visit = visit;
    s->arg = arg;
    cpu_run(q, s->n_tasks, sweep_body, s);
}

/* --- ranks among all pairs ------------------------------------------------------------------- */

/* |r| <= 1 has its bits below 2^62: 15 + 16 + 16 + 15 bits from the top. */
enum { DIGITS = 4, DIGIT_BINS = 1 << 16 };
static const unsigned digit_shift[DIGITS] = {47, 31, 15, 0};

struct ranks {
    struct sweep sweep;
    unsigned shift, above; /* the digit in hand; bits above it start at `above` */
    uint64_t prefix;       /* key >> above of the keys that count */
    uint32_t *counts;      /* [task][DIGIT_BINS] */
    uint64_t floor, *next; /* [task]: least key beyond floor */
};

static uint64_t key_of(double r)
{
    uint64_t bits;
    memcpy(&bits, &r, sizeof bits);
    return bits & (UINT64_MAX >> 1);
}

static double value_of(uint64_t key)
{
    double r;
    memcpy(&r, &key, sizeof r);
    return r;
}

static void count_digit(void *arg, size_t task, size_t group, const double *r, size_t n)
{
    const struct ranks *k = arg;
    uint32_t *counts = k->counts + task * DIGIT_BINS;
    uint64_t bins = ((uint64_t)1 << (k->above - k->shift)) - 1;
    (void)group;
    for (size_t i = 0; i < n; ++i) {
        uint64_t key = key_of(r[i]);
        if (r[i] == r[i] && key >> k->above == k->prefix) {
            ++counts[(key >> k->shift) & bins];
        }
    }
}

static void least_beyond(void *arg, size_t task, size_t group, const double *r, size_t n)
{
    const struct ranks *k = arg;
    uint64_t least = k->next[task];
    (void)group;
    for (size_t i = 0; i < n; ++i) {
        uint64_t key = key_of(r[i]);
        if (r[i] == r[i] && key > k->floor && key < least) {
            least = key;
        }
    }
    k->next[task] = least;
}

/* Counts digit d and adds up the tasks' counts into total[DIGIT_BINS]; returns their sum. */
static uint64_t count_pass(struct queue *q, struct ranks *k, unsigned d, uint64_t *total)
{
    uint64_t all = 0;
    k->shift = digit_shift[d];
    k->above = d == 0 ? 62 : digit_shift[d - 1];
    memset(k->counts, 0, k->sweep.n_tasks * DIGIT_BINS * sizeof *k->counts);
    memset(total, 0, DIGIT_BINS * sizeof *total);
    sweep(q, &k->sweep, count_digit, k);
    for (size_t t = 0; t < k->sweep.n_tasks; ++t) {
        for (size_t b = 0; b < DIGIT_BINS; ++b) {
            total[b] += k->counts[t * DIGIT_BINS + b];
            all += k->counts[t * DIGIT_BINS + b];
        }
    }
    return all;
}

/* After pass 0 in total: the key of ascending rank `rank` (from 0), and how many keys are <= it. */
static uint64_t refine(struct queue *q, struct ranks *k, uint64_t *total, uint64_t rank,
                       uint64_t *up_to)
{
    uint64_t below = 0;
    for (unsigned d = 0; d < DIGITS; ++d) {
        if (d > 0) {
            (void)count_pass(q, k, d, total);
        }
        uint64_t b = 0;
        while (below + total[b] <= rank) {
            below += total[b++];
        }
        unsigned bits = k->above - k->shift;
        k->prefix = (k->prefix << bits) | b;
        *up_to = below + total[b];
    }
    return k->prefix;
}

/* The least key beyond `floor`; there is one. */
static uint64_t successor(struct queue *q, struct ranks *k, uint64_t floor)
{
    uint64_t least = UINT64_MAX;
    k->floor = floor;
    for (size_t t = 0; t < k->sweep.n_tasks; ++t) {
        k->next[t] = UINT64_MAX;
    }
    sweep(q, &k->sweep, least_beyond, k);
    for (size_t t = 0; t < k->sweep.n_tasks; ++t) {
        least = k->next[t] < least ? k->next[t] : least;
    }
    return least;
}

/* The median of |r| where from_top is 0, else the from_top-th largest; NaN when there is none. */
static enum status rank_abs(struct queue *q, const struct pearson_matrix *m, uint64_t from_top,
                            double *out)
{
    struct ranks k = {.sweep = sweep_of(m)};
    uint64_t *total = NULL;
    *out = (double)NAN;
    if (k.sweep.n_tasks == 0) {
        return STATUS_OK;
    }
    enum status st = cpu_scratch(DIGIT_BINS + SWEEP_TASKS, sizeof *total, (void **)&total);
    if (st != STATUS_OK) {
        return st;
    }
    k.next = total + DIGIT_BINS;
    st = cpu_scratch(k.sweep.n_tasks * DIGIT_BINS, sizeof *k.counts, (void **)&k.counts);
    if (st != STATUS_OK) {
        goto done;
    }
    uint64_t n = count_pass(q, &k, 0, total), up_to;
    if (n > 0 && from_top > 0) {
        *out = value_of(refine(q, &k, total, from_top < n ? n - from_top : 0, &up_to));
    } else if (n > 0) {
        uint64_t low = refine(q, &k, total, (n - 1) / 2, &up_to), high = low;
        if (n / 2 >= up_to) {
            high = successor(q, &k, low);
        }
        *out = low == high ? value_of(low) : (value_of(low) + value_of(high)) / 2;
    }
    free(k.counts);
done:
    free(total);
    return st;
}

enum status cpu_kth_abs(struct queue *q, const struct pearson_matrix *m, uint64_t k, double *out)
{
    enum status st = cpu_matrix_check(m);
    *out = (double)NAN;
    return st != STATUS_OK ? st : rank_abs(q, m, k == 0 ? 1 : k, out);
}

/* --- the median of a series ------------------------------------------------------------------ */

static void swap(double *a, double *b)
{
    double t = *a;
    *a = *b;
    *b = t;
}

static double middle_of_three(double a, double b, double c)
{
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : (c > high ? high : c);
}

/* Hoare's quickselect: v[k] becomes the k-th smallest, nothing before it is larger, nothing after
 * it smaller. */
static void quickselect(double *v, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        double pivot = middle_of_three(v[low], v[low + (high - low) / 2], v[high]);
        size_t i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot) {
                ++i;
            }
            while (v[j] > pivot) {
                --j;
            }
            if (i <= j) {
                swap(v + i, v + j);
                ++i;
                if (j == 0) {
                    break;
                }
                --j;
            }
        }
        if (k <= j) {
            high = j;
        } else if (k >= i) {
            low = i;
        } else {
            return;
        }
    }
}

/* Mean of the values of ascending ranks k1 and k2, k2 = k1 or k1 + 1. */
static double two_ranks(double *v, size_t n, size_t k1, size_t k2)
{
    quickselect(v, n, k1);
    double second = v[k1];
    if (k2 > k1) {
        second = v[k2];
        for (size_t i = k2; i < n; ++i) {
            second = v[i] < second ? v[i] : second;
        }
    }
    return second == v[k1] ? second : (v[k1] + second) / 2;
}

enum { SAMPLE = 128, SAMPLE_MARGIN = 16 };

/* Bounds that hold the median of v, by its sample, about 199 times in 200: the sample's rank of the
 * true median is off by sqrt(SAMPLE) / 2 = 5.7 (one sigma). */
static void sample_bounds(const double *v, size_t n, double *low, double *high)
{
    double sample[SAMPLE];
    for (size_t i = 0; i < SAMPLE; ++i) {
        double x = v[i * n / SAMPLE];
        size_t at = i;
        for (; at > 0 && sample[at - 1] > x; --at) {
            sample[at] = sample[at - 1];
        }
        sample[at] = x;
    }
    *low = sample[SAMPLE / 2 - SAMPLE_MARGIN];
    *high = sample[SAMPLE / 2 + SAMPLE_MARGIN];
}

/* The median of v[n], whose order is lost; `kept` has room for n. */
static double median(double *v, size_t n, double *kept)
{
    if (n == 0) {
        return (double)NAN;
    }
    size_t k1 = (n - 1) / 2, k2 = n / 2, below = 0, n_kept = 0;
    if (n < 8 * (size_t)SAMPLE) {
        return two_ranks(v, n, k1, k2);
    }
    double low, high;
    sample_bounds(v, n, &low, &high);
    for (size_t i = 0; i < n; ++i) {
        kept[n_kept] = v[i];
        n_kept += v[i] >= low && v[i] <= high;
        below += v[i] < low;
    }
    if (k1 < below || k2 >= below + n_kept) {
        return two_ranks(v, n, k1, k2);
    }
    return two_ranks(kept, n_kept, k1 - below, k2 - below);
}

/* Series of a task: two cache lines of a row of doubles are read for every row below. */
enum { MEDIAN_SERIES = 16 };

struct median_job {
    const struct pearson_matrix *m;
    double *median_abs;
    int failed; /* only ever set to 1 */
};

/* Appends the defined |r| of r[0 .. n) to v. */
static size_t append(const void *r, enum dtype type, size_t n, double *v, size_t used)
{
    double buffer[LANES_BLOCK];
    for (size_t i = 0; i < n; i += LANES_BLOCK) {
        size_t in_block = cpu_min(LANES_BLOCK, n - i);
        const double *x = lanes_widen(r, type, i, in_block, buffer);
        for (size_t t = 0; t < in_block; ++t) {
            v[used] = fabs(x[t]);
            used += x[t] == x[t];
        }
    }
    return used;
}

static void median_body(void *arg, size_t index)
{
    struct median_job *job = arg;
    size_t n = job->m->n_series, first = index * MEDIAN_SERIES;
    size_t end = cpu_min(first + MEDIAN_SERIES, n), used[MEDIAN_SERIES];
    /* an odd number of cache lines apart, or the gathered series would share cache sets */
    size_t stride = (n / 16 * 2 + 3) * 8;
    double *v = cpu_scratch_try(MEDIAN_SERIES + 1, stride * sizeof *v), buffer[MEDIAN_SERIES];
    if (v == NULL) {
        __atomic_store_n(&job->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (size_t s = first; s < end; ++s) {
        used[s - first] =
            append(cpu_matrix_row(job->m, s), job->m->type, s, v + (s - first) * stride, 0);
    }
    for (size_t j = first + 1; j < n; ++j) {
        size_t in_row = cpu_min(end, j) - first;
        const double *r =
            lanes_widen(cpu_matrix_row(job->m, j), job->m->type, first, in_row, buffer);
        for (size_t s = 0; s < in_row; ++s) {
            v[s * stride + used[s]] = fabs(r[s]);
            used[s] += r[s] == r[s];
        }
    }
    for (size_t s = first; s < end; ++s) {
        job->median_abs[s] =
            median(v + (s - first) * stride, used[s - first], v + MEDIAN_SERIES * stride);
    }
    free(v);
}

/* --- figures --------------------------------------------------------------------------------- */

/* Counts of one task; four histograms, so that equal neighbours do not wait for one another. */
struct figures {
    uint64_t bins[4][PEARSON_BINS], undefined;
};

struct figures_job {
    struct figures *tasks;
    double *sums; /* of |r|, by group of rows */
};

static void take_figures(void *arg, size_t task, size_t group, const double *r, size_t n)
{
    const struct figures_job *job = arg;
    struct figures *f = &job->tasks[task];
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
        if (r[i] == r[i]) {
            ++f->bins[i & 3][pearson_bin(r[i])];
            sum += fabs(r[i]);
        } else {
            ++f->undefined;
        }
    }
    job->sums[group] += sum;
}

static enum status figures(struct queue *q, const struct pearson_matrix *m,
                           struct pearson_survey *out)
{
    struct sweep s = sweep_of(m);
    struct figures_job job = {0};
    size_t n = m->n_series;
    *out = (struct pearson_survey){.mean_abs = (double)NAN};
    if (n < 2) {
        return STATUS_OK;
    }
    out->n_pairs = (uint64_t)n * (n - 1) / 2;
    job.tasks = calloc(s.n_tasks, sizeof *job.tasks);
    job.sums = calloc(s.n_groups, sizeof *job.sums);
    enum status st = STATUS_OK;
    if (job.tasks == NULL || job.sums == NULL) {
        st = status_fail(STATUS_NO_MEMORY, "no memory for the survey of %zu series", n);
        goto done;
    }
    sweep(q, &s, take_figures, &job);
    for (size_t t = 0; t < s.n_tasks; ++t) {
        out->n_undefined += job.tasks[t].undefined;
        for (size_t b = 0; b < 4 * (size_t)PEARSON_BINS; ++b) {
            out->histogram[b % PEARSON_BINS] +=
                job.tasks[t].bins[b / PEARSON_BINS][b % PEARSON_BINS];
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

enum status cpu_survey(struct queue *q, const struct pearson_matrix *m, struct pearson_survey *out,
                       double *median_abs, double *median_abs_all)
{
    enum status st = cpu_matrix_check(m);
    if (st == STATUS_OK) {
        st = figures(q, m, out);
    }
    if (st == STATUS_OK) {
        st = rank_abs(q, m, 0, median_abs_all);
    }
    if (st != STATUS_OK) {
        return st;
    }
    struct median_job job = {.m = m, .median_abs = median_abs};
    cpu_run(q, cpu_pieces(m->n_series, MEDIAN_SERIES), median_body, &job);
    return job.failed ? cpu_scratch_failed() : STATUS_OK;
}
