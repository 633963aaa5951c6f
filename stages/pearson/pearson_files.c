/*
 * pearson_files - arrays and text tables, made piece by piece from the job on any thread.
 *
 * Figures are those of what was correlated: of the increments where `diff` asks for them.
 */
#include "stages/pearson/pearson_files.h"

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
    const double count = pearson_figures(job, MOMENTS_COUNT)[s];
    return count >= 2 ? sqrt(pearson_figures(job, MOMENTS_M2)[s] / (count - 1)) : NAN;
}

static enum status fetch_r(void *context, uint64_t first, size_t n, void *dst)
{
    struct pearson_job *job = context;
    return job->ops->matrix->condensed(job->queue, &job->matrix, first, n, dst);
}

static enum status add_r(struct pearson_job *job, struct result_file *f)
{
    const size_t n = job->n_series;
    const size_t n_pairs = n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
    if (!job->choice.keep_r) {
        return STATUS_OK;
    }
    return result_add_array(f, "r", job->layout.r_type == DTYPE_F64 ? NPY_F8 : NPY_F4, 1, &n_pairs,
                            fetch_r, job, NULL);
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
        count[s] = (int64_t)pearson_figures(job, MOMENTS_COUNT)[s];
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
    return result_add_copy(f, name, NPY_F8, 1, &job->n_series, pearson_figures(job, field));
}

enum status pearson_files_npz(struct pearson_job *job, struct result *out)
{
    struct result_file *f = NULL;
    enum status st = result_add_file(out, "pearson.npz", PACK_ZIP, &f);
    if (st == STATUS_OK) {
        st = result_add_strings(f, "names", job->n_series, job->names.at);
    }
    if (st == STATUS_OK) {
        st = add_counts(job, f);
    }
    if (st == STATUS_OK) {
        st = add_field(job, f, "mean", MOMENTS_MEAN);
    }
    if (st == STATUS_OK) {
        st = add_deviations(job, f);
    }
    if (st == STATUS_OK) {
        st = add_field(job, f, "min", MOMENTS_MIN);
    }
    if (st == STATUS_OK) {
        st = add_field(job, f, "max", MOMENTS_MAX);
    }
    return st == STATUS_OK ? add_r(job, f) : st;
}

/* Appends ",value" for each of n values. */
static enum status put_values(struct bytes *out, const double *values, size_t n)
{
    enum status st = STATUS_OK;
    for (size_t k = 0; k < n && st == STATUS_OK; k++) {
        st = bytes_append(out, ",", 1);
        if (st == STATUS_OK) {
            st = result_put_f64(out, values[k]);
        }
    }
    return st;
}

static enum status put_number_and_comma(struct bytes *out, uint64_t number)
{
    const enum status st = result_put_u64(out, number);
    return st == STATUS_OK ? bytes_append(out, ",", 1) : st;
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

static enum status put_series(const struct pearson_job *job, size_t s, struct bytes *out)
{
    const double values[] = {pearson_figures(job, MOMENTS_MEAN)[s],
                             deviation(job, s),
                             pearson_figures(job, MOMENTS_MIN)[s],
                             pearson_figures(job, MOMENTS_MAX)[s],
                             job->median_abs[s],
                             pearson_figures(job, MOMENTS_LAG1)[s]};
    enum status st = put_number_and_comma(out, s);
    if (st == STATUS_OK) {
        st = result_put_field(out, job->names.at[s]);
    }
    if (st == STATUS_OK) {
        st = bytes_append(out, ",", 1);
    }
    if (st == STATUS_OK) {
        st = result_put_u64(out, (uint64_t)pearson_figures(job, MOMENTS_COUNT)[s]);
    }
    if (st == STATUS_OK) {
        st = put_values(out, values, sizeof values / sizeof *values);
    }
    const bool anomalous = job->median_abs[s] < job->anomaly_below;
    return st == STATUS_OK ? bytes_append(out, anomalous ? ",1\n" : ",0\n", 3) : st;
}

static enum status series_rows(void *context, uint64_t first, size_t n, struct bytes *out)
{
    enum status st = STATUS_OK;
    for (size_t k = 0; k < n && st == STATUS_OK; k++) {
        st = put_series(context, (size_t)first + k, out);
    }
    return st;
}

enum status pearson_files_series(struct pearson_job *job, struct result *out)
{
    return result_add_csv(
        out, "series", "series,name,count,mean,std,min,max,median_abs_r,lag1,anomaly",
        job->n_series, rows_in_piece(job, SERIES_ROWS, 9, 1), series_rows, job, NULL);
}

static enum status put_pair(const struct pearson_job *job, const struct matrix_pair *pair,
                            struct bytes *out)
{
    enum status st = put_number_and_comma(out, pair->i);
    if (st == STATUS_OK) {
        st = put_number_and_comma(out, pair->j);
    }
    if (st == STATUS_OK) {
        st = result_put_field(out, job->names.at[pair->i]);
    }
    if (st == STATUS_OK) {
        st = bytes_append(out, ",", 1);
    }
    if (st == STATUS_OK) {
        st = result_put_field(out, job->names.at[pair->j]);
    }
    if (st == STATUS_OK) {
        st = bytes_append(out, ",", 1);
    }
    if (st == STATUS_OK) {
        st = result_put_f64(out, pair->r);
    }
    return st == STATUS_OK ? bytes_append(out, "\n", 1) : st;
}

static enum status pair_rows(void *context, uint64_t first, size_t n, struct bytes *out)
{
    const struct pearson_job *job = context;
    enum status st = STATUS_OK;
    for (size_t k = 0; k < n && st == STATUS_OK; k++) {
        st = put_pair(job, &job->pairs[first + k], out);
    }
    return st;
}

enum status pearson_files_pairs(struct pearson_job *job, struct result *out)
{
    return result_add_csv(out, "pairs", "i,j,name_i,name_j,r", job->n_listed,
                          rows_in_piece(job, PAIR_ROWS, 3, 2), pair_rows, job, NULL);
}
