/*
 * ranks_cpu - average ranks of rows, and of the samples that two rows of ranks have in common.
 *
 * A row is sorted byte by byte of a pattern that rises with the value. A pair is not: the whole
 * part of its rank in its row numbers what a sample is equal to; the common samples of each number
 * are counted, and their ranks follow: O(N) a pair. The sums are of integers, twice the ranks less
 * their mean, and exact; r is off by 3 u.
 */
#include "kernels/base/clones_cpu.h"
#include "kernels/base/vector_cpu.h"
#include "kernels/pearson/pairs_cpu.h"

struct sample {
    uint64_t key;
    size_t t;
};

/* Where the n samples are in order: in either. Bytes that all of them share are passed over. */
static const struct sample *sort(struct sample *from, struct sample *to, size_t n)
{
    enum { VALUES = 256 };
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t start[1 + VALUES] = {0};
        for (size_t k = 0; k < n; ++k) {
            ++start[1 + (from[k].key >> shift & 0xff)];
        }
        if (n == 0 || start[1 + (from[0].key >> shift & 0xff)] == n) {
            continue;
        }
        for (size_t value = 1; value < VALUES; ++value) {
            start[value] += start[value - 1];
        }
        for (size_t k = 0; k < n; ++k) {
            to[start[from[k].key >> shift & 0xff]++] = from[k];
        }
        struct sample *const sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

struct rank_job {
    const struct series_rows *x;
    double *out;
};

static void rank_body(void *arg, size_t series, void *scratch)
{
    const struct rank_job *const job = arg;
    const size_t n_samples = job->x->n_samples;
    double buffer[VECTOR_BLOCK], *const rank = job->out + series * n_samples;
    const void *const row = cpu_row(job->x, series);
    struct sample *const samples = scratch;
    size_t n = 0;
    for (size_t from = 0; from < n_samples; from += VECTOR_BLOCK) {
        const size_t in_block = cpu_min(VECTOR_BLOCK, n_samples - from);
        const double *const x = vector_widen(row, job->x->type, from, in_block, buffer);
        for (size_t k = 0; k < in_block; ++k) {
            samples[n] = (struct sample){pearson_key(x[k]), from + k};
            n += isnan(x[k]) ? 0 : 1;
            rank[from + k] = (double)NAN;
        }
    }
    const struct sample *const sorted = sort(samples, samples + n_samples, n);
    for (size_t k = 0, end; k < n; k = end) {
        for (end = k + 1; end < n && sorted[end].key == sorted[k].key;) {
            ++end;
        }
        for (size_t g = k; g < end; ++g) {
            rank[sorted[g].t] = (double)(k + end + 1) / 2;
        }
    }
}

enum status cpu_rank_rows(struct queue *q, const struct series_rows *x, struct span out)
{
    struct rank_job job = {x, out.at};
    STATUS_TRY(cpu_expect_rows(x, "ranks"));
    STATUS_TRY(cpu_expect(out, x->n_series, x->n_samples * sizeof(double), "ranks"));
    return cpu_run_scratch(q, x->n_series, 2 * x->n_samples * sizeof(struct sample), rank_body,
                           &job);
}

size_t cpu_rank_bytes(const struct queue *q, size_t n_series, size_t n_samples)
{
    const size_t threads = ((const struct cpu_backend *)q->backend)->executor.n_threads;
    return cpu_min(threads, n_series) * 2 * n_samples * sizeof(struct sample);
}

/* --- pairs ----------------------------------------------------------------------------------- */

/* A sum of products of three numbers of 32 bits. */
__extension__ typedef __int128 wide;

/* The number of each sample's rank; 0 where either series lacks it. */
CPU_CLONES static void number_common(const struct rank_series *x, const struct rank_series *y,
                                     size_t n_samples, int32_t *of_x, int32_t *of_y)
{
    for (size_t t = 0; t < n_samples; ++t) {
        const bool common = vector_is_missing(x->z[t]) + vector_is_missing(y->z[t]) == 0;
        of_x[t] = common ? pearson_whole_rank(x->z[t], x->mean, x->norm) : 0;
        of_y[t] = common ? pearson_whole_rank(y->z[t], y->mean, y->norm) : 0;
    }
}

/* How many of n samples have each number, to their ranks: doubled, less the mean. The sum of their
 * squares. */
static double rank_numbers(int32_t *at, size_t n_samples, int64_t n)
{
    wide squares = 0;
    int64_t below = 0;
    for (size_t k = 1; k <= n_samples; ++k) {
        const int64_t equal = at[k], rank = 2 * below + equal - n;
        squares += (wide)rank * rank * equal;
        below += equal;
        at[k] = (int32_t)rank;
    }
    at[0] = 0;
    return (double)squares;
}

size_t cpu_rank_pair_bytes(size_t n_samples)
{
    return (4 * n_samples + 2) * sizeof(int32_t);
}

double cpu_rank_pair(struct rank_series x, struct rank_series y, size_t n_samples, double least,
                     void *work)
{
    int32_t *const of_x = work, *const of_y = of_x + n_samples, *const at_x = of_y + n_samples,
                   *const at_y = at_x + n_samples + 1;
    wide products = 0;
    number_common(&x, &y, n_samples, of_x, of_y);
    memset(at_x, 0, 2 * (n_samples + 1) * sizeof *at_x);
    for (size_t t = 0; t < n_samples; ++t) {
        ++at_x[of_x[t]];
        ++at_y[of_y[t]];
    }
    const int64_t n = (int64_t)n_samples - at_x[0];
    struct pearson_sums sums = {.n = (double)n};
    sums.xx = rank_numbers(at_x, n_samples, n);
    sums.yy = rank_numbers(at_y, n_samples, n);
    for (size_t t = 0; t < n_samples; ++t) {
        products += (wide)at_x[of_x[t]] * at_y[of_y[t]];
    }
    sums.xy = (double)products;
    return pearson_of_centred(sums, least);
}
