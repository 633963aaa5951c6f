/*
 * pearson_files - the arrays and text tables of a pearson result (pearson.npz, series.csv.gz,
 * pairs.csv.gz), made piece by piece from the job on any thread.
 *
 * A piece of a text table has as many rows as fit PACK_PIECE_BYTES with the longest name in each,
 * so pieces are bounded, and cut the same way whatever backend and threads. Moments are those of
 * what was correlated: of the increments where `diff` asks for them.
 */

#include "formats/pack/pack.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SERIES_ROWS = 4096, /* at most in a piece of text ... */
    PAIR_ROWS = 8192,
    NUMBER_BYTES = 27, /* ... of which a number takes no more, with what delimits it */
    HEADER_BYTES = 128
};

/* The sample standard deviation of a series; NaN below two samples. */
static double deviation(const struct pearson_job *job, size_t s)
{
    const double count = pearson_stat(job, MOMENTS_COUNT, s);
    return count >= 2 ? sqrt(pearson_stat(job, MOMENTS_M2, s) / (count - 1)) : NAN;
}

static enum status fetch_r(void *context, uint64_t first, size_t n, void *dst)
{
    struct pearson_job *job = context;
    return job->ops->matrix->condensed(job->queue, &job->matrix, first, n, dst);
}

/* Counts as integers, and deviations, for which the moments have no array. */
static enum status add_counts(const struct pearson_job *job, struct result_file *f)
{
    const size_t n = job->n_series;
    int64_t *count = malloc(n * sizeof *count);
    if (count == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu counts", n);
    }
    for (size_t s = 0; s < n; s++) {
        count[s] = (int64_t)pearson_stat(job, MOMENTS_COUNT, s);
    }
    const enum status st = result_add_copy(f, "count", NPY_I8, 1, &n, count);
    free(count);
    return st;
}

static enum status add_deviations(const struct pearson_job *job, struct result_file *f)
{
    const size_t n = job->n_series;
    double *std = malloc(n * sizeof *std);
    if (std == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu deviations", n);
    }
    for (size_t s = 0; s < n; s++) {
        std[s] = deviation(job, s);
    }
    const enum status st = result_add_copy(f, "std", NPY_F8, 1, &n, std);
    free(std);
    return st;
}

static enum status add_field(const struct pearson_job *job, struct result_file *f, const char *name,
                             enum moments_field field)
{
    return result_add_copy(f, name, NPY_F8, 1, &job->n_series, moments_array(job->stats, field));
}

enum status pearson_files_npz(struct pearson_job *job, struct result *out)
{
    struct result_file *f = NULL;
    const size_t n_pairs = (size_t)matrix_n_pairs(job->n_series);
    STATUS_TRY(result_add_file(out, "pearson.npz", PACK_ZIP, &f));
    STATUS_TRY(result_add_strings(f, "names", job->n_series, job->names.at));
    STATUS_TRY(add_counts(job, f));
    STATUS_TRY(add_field(job, f, "mean", MOMENTS_MEAN));
    STATUS_TRY(add_deviations(job, f));
    STATUS_TRY(add_field(job, f, "min", MOMENTS_MIN));
    STATUS_TRY(add_field(job, f, "max", MOMENTS_MAX));
    if (job->order != NULL) {
        STATUS_TRY(result_add_copy(f, "order", NPY_I4, 1, &job->n_series, job->order));
    }
    if (!job->choice.keep_r) {
        return STATUS_OK;
    }
    return result_add_array(f, "r", job->layout.r_type == DTYPE_F64 ? NPY_F8 : NPY_F4, 1, &n_pairs,
                            fetch_r, job, NULL);
}

/* Rows in a piece of text: at most so many, and as many as fit it whatever their names. */
static size_t rows_in_piece(const struct pearson_job *job, size_t most, size_t n_numbers,
                            size_t n_names)
{
    size_t longest = 0;
    for (size_t s = 0; s < job->n_series; s++) {
        const size_t n = strlen(job->names.at[s]);
        longest = n > longest ? n : longest;
    }
    const size_t quoted = 2 * longest + 3; /* every byte doubled, quotes, delimiter */
    const size_t row = n_numbers * NUMBER_BYTES + n_names * quoted;
    const size_t fit = (PACK_PIECE_BYTES - HEADER_BYTES) / row;
    return fit < most ? fit : most;
}

static enum status series_rows(void *context, uint64_t first, size_t n, struct bytes *out)
{
    const struct pearson_job *job = context;
    for (size_t s = (size_t)first; s < first + n; s++) {
        const uint64_t place = job->place != NULL ? job->place[s] : s;
        STATUS_TRY(result_put_row(
            out, job->place != NULL ? "usuffffffuu" : "usuffffffu", (uint64_t)s, job->names.at[s],
            (uint64_t)pearson_stat(job, MOMENTS_COUNT, s), pearson_stat(job, MOMENTS_MEAN, s),
            deviation(job, s), pearson_stat(job, MOMENTS_MIN, s), pearson_stat(job, MOMENTS_MAX, s),
            job->median_abs[s], pearson_stat(job, MOMENTS_LAG1, s), (uint64_t)job->is_anomalous[s],
            place));
    }
    return STATUS_OK;
}

enum status pearson_files_series(struct pearson_job *job, struct result *out)
{
    return result_add_csv(
        out, "series",
        job->place != NULL ? "series,name,count,mean,std,min,max,median_abs_r,lag1,anomaly,place"
                           : "series,name,count,mean,std,min,max,median_abs_r,lag1,anomaly",
        job->n_series, rows_in_piece(job, SERIES_ROWS, 10, 1), series_rows, job, NULL);
}

/* Where r lies with a probability of 95 %, by Fisher's z, atanh(r) -+ 1.96 / sqrt(n - 3), of which
 * tanh is taken without going there: exact for |r| = 1. NaN up to n = 3. */
static void interval(double r, uint64_t n, double *low, double *high)
{
    static const double of_normal = 1.959963984540054; /* 95 % of it lie within */
    const double t = n > 3 ? tanh(of_normal / sqrt((double)n - 3)) : NAN;
    *low = (r - t) / (1 - r * t);
    *high = (r + t) / (1 + r * t);
}

static enum status pair_rows(void *context, uint64_t first, size_t n, struct bytes *out)
{
    const struct pearson_job *job = context;
    for (size_t k = 0; k < n; k++) {
        const struct matrix_pair *p = &job->pairs[first + k];
        const uint64_t samples = pearson_pair_samples(job, first + k);
        double low, high;
        interval(p->r, samples, &low, &high);
        STATUS_TRY(result_put_row(out, "uussfuff", (uint64_t)p->i, (uint64_t)p->j,
                                  job->names.at[p->i], job->names.at[p->j], p->r, samples, low,
                                  high));
    }
    return STATUS_OK;
}

enum status pearson_files_pairs(struct pearson_job *job, struct result *out)
{
    return result_add_csv(out, "pairs", "i,j,name_i,name_j,r,n,r_low,r_high", job->n_listed,
                          rows_in_piece(job, PAIR_ROWS, 6, 2), pair_rows, job, NULL);
}
