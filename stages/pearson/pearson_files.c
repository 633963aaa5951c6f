/*
 * pearson_files - the arrays and text tables of a pearson result (pearson.npz, series.csv.gz,
 * pairs.csv.gz), made piece by piece from the job on any thread.
 *
 * A piece of a text table has as many rows as fit PACK_PIECE_BYTES with the longest name in each,
 * so pieces are bounded, and cut the same way whatever backend and threads. Moments are those of
 * what was correlated: of the increments where `diff` asks for them, of ranks where `method` does.
 */

#include "formats/pack/pack.h"
#include "formats/result/result_table.h"
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

static void put_group(const struct pearson_job *job, size_t s, struct result_row *to)
{
    const struct pearson_within *const w = &job->within;
    if (job->choice.within) {
        result_row_text(to, "group", w->group[s] < w->n ? w->names[w->group[s]] : "");
    }
}

static void series_row(const void *context, uint64_t row, struct result_row *to)
{
    const struct pearson_job *const job = context;
    const size_t s = (size_t)row;
    result_row_count(to, "series", row);
    result_row_text(to, "name", job->names.at[s]);
    result_row_count(to, "count", (uint64_t)pearson_stat(job, MOMENTS_COUNT, s));
    result_row_real(to, "mean", pearson_stat(job, MOMENTS_MEAN, s));
    result_row_real(to, "std", deviation(job, s));
    result_row_real(to, "min", pearson_stat(job, MOMENTS_MIN, s));
    result_row_real(to, "max", pearson_stat(job, MOMENTS_MAX, s));
    if (!pearson_is_swept(job)) {
        result_row_real(to, "median_abs_r", job->median_abs[s]);
    }
    result_row_real(to, "lag1", pearson_stat(job, MOMENTS_LAG1, s));
    put_group(job, s, to);
    if (pearson_has_matrix(&job->choice) && !pearson_is_swept(job)) {
        result_row_flag(to, "anomaly", job->is_anomalous[s]);
    }
    if (job->order != NULL) {
        result_row_count(to, "place", job->place[s]);
    }
    if (job->groups.n > 0) {
        result_row_count(to, "group", job->groups.of[s] + 1);
    }
}

/* Where r lies with a probability of 95 %, by Fisher's z, atanh(r) -+ 1.96 / sqrt(n - 3), of which
 * tanh is taken without going there: exact for |r| = 1. NaN up to n = 3. The variance of ranks' z
 * is 1 + r^2 / 2 times as large (D. G. Bonett, T. A. Wright, Psychometrika 65, 2000). */
static void interval(double r, uint64_t n, bool ranks, double *low, double *high)
{
    static const double of_normal = 1.959963984540054; /* 95 % of it lie within */
    const double more = ranks ? sqrt(1 + r * r / 2) : 1;
    const double t = n > 3 ? tanh(of_normal * more / sqrt((double)n - 3)) : NAN;
    *low = (r - t) / (1 - r * t);
    *high = (r + t) / (1 + r * t);
}

/* The number of a series in its file. */
static uint64_t number_of(const struct pearson_job *job, size_t s)
{
    return s < job->n_series ? s : s - job->n_series;
}

/* How far j is behind i, and r at lag 0, where lags are asked for. */
static void put_lag(const struct pearson_job *job, const struct pearson_lag *lags, uint64_t k,
                    struct result_row *to)
{
    if (job->choice.lagged) {
        result_row_real(to, "lag", lags != NULL ? lags[k].lag : 0);
        result_row_real(to, "r_lag0", lags != NULL ? lags[k].r_0 : 0);
    }
}

static void pair_row(const void *context, uint64_t k, struct result_row *to)
{
    static const struct matrix_pair none;
    const struct pearson_job *const job = context;
    const bool is_one = k < job->n_found, has_q = is_one && job->q != NULL;
    const struct matrix_pair *const p = is_one ? &job->pairs[k] : &none;
    const uint64_t n = is_one ? pearson_pair_samples(job, (size_t)k) : 0;
    const double effective = pearson_n_effective((double)n, pearson_stat(job, MOMENTS_LAG1, p->i),
                                                 pearson_stat(job, MOMENTS_LAG1, p->j));
    double low, high;
    interval(p->r, n, job->choice.ranks, &low, &high);
    result_row_count(to, "i", number_of(job, p->i));
    result_row_count(to, "j", p->j);
    result_row_text(to, "name_i", job->names.at[p->i]);
    result_row_text(to, "name_j", job->names.at[p->j]);
    result_row_real(to, "r", p->r);
    put_lag(job, is_one ? job->pair_lags : NULL, k, to);
    result_row_count(to, "n", n);
    result_row_real(to, "r_low", low);
    result_row_real(to, "r_high", high);
    result_row_real(to, "p", has_q ? job->p[k] : NAN);
    result_row_real(to, "q", has_q ? job->q[k] : NAN);
    result_row_real(to, "n_effective", effective);
    result_row_real(to, "p_effective", pearson_best_p(job, pearson_p(p->r, effective)));
    put_group(job, p->i, to);
}

static void partner_row(const void *context, uint64_t k, struct result_row *to)
{
    static const struct matrix_pair none;
    const struct pearson_job *const job = context;
    const bool is_one = k < job->n_partners;
    const struct matrix_pair *const p = is_one ? &job->partners[k] : &none;
    const uint64_t n = is_one ? job->n_partner_samples[k] : 0;
    result_row_count(to, "series", number_of(job, p->i));
    result_row_text(to, "name", job->names.at[p->i]);
    result_row_count(to, "partner", p->j);
    result_row_text(to, "name_partner", job->names.at[p->j]);
    result_row_real(to, "r", p->r);
    put_lag(job, is_one ? job->partner_lags : NULL, k, to);
    result_row_count(to, "n", n);
    result_row_real(to, "p", pearson_best_p(job, pearson_p(p->r, (double)n)));
}

static void group_row(const void *context, uint64_t k, struct result_row *to)
{
    const struct pearson_job *const job = context;
    const struct clique *const group = &job->groups.at[k];
    result_row_count(to, "group", k + 1);
    result_row_count(to, "size", group->size);
    result_row_real(to, "smallest_r", group->least);
    result_row_count(to, "medoid", group->medoid);
    result_row_text(to, "name", job->names.at[group->medoid]);
}

static void within_row(const void *context, uint64_t g, struct result_row *to)
{
    const struct pearson_within *const w = &((const struct pearson_job *)context)->within;
    const struct pearson_group *const of = &w->groups[g]; /* there is one */
    result_row_text(to, "group", w->names[g]);
    result_row_count(to, "size", w->start[g + 1] - w->start[g]);
    result_row_real(to, "mean_r", of->mean);
    result_row_real(to, "median_r", of->median);
    result_row_real(to, "smallest_r", of->least);
    result_row_real(to, "homogeneity", of->homogeneity);
    result_row_count(to, "n_undefined", of->n_undefined);
}

static struct result_table pairs_of(const struct pearson_job *job)
{
    return (struct result_table){"pairs", pair_row, job, job->n_listed};
}

json_t *pearson_files_strongest(const struct pearson_job *job, size_t n)
{
    const struct result_table pairs = pairs_of(job);
    return result_table_json(&pairs, n, job->choice.lagged ? 8 : 6); /* up to n */
}

static enum status fetch_r(void *context, uint64_t first, size_t n, void *dst)
{
    struct pearson_job *job = context;
    return job->ops->matrix->condensed(job->queue, pearson_at_0(job), first, n, dst);
}

/* Numbers on the host. */
static enum status fetch_held(void *context, uint64_t first, size_t n, void *dst)
{
    memcpy(dst, (const double *)context + first, n * sizeof(double));
    return STATUS_OK;
}

/* The group of each series, -1 for none, what the groups are called, where their coefficients
 * begin; and these. */
static enum status add_within(struct pearson_job *job, struct result_file *f)
{
    const struct pearson_within *const w = &job->within;
    const size_t n_pairs = (size_t)w->at[w->n], n_starts = w->n + 1;
    STATUS_TRY(result_add_copy(f, "group", NPY_I4, 1, &job->n_series, w->group));
    STATUS_TRY(result_add_strings(f, "groups", w->n, w->names));
    STATUS_TRY(result_add_copy(f, "starts", NPY_I8, 1, &n_starts, w->at));
    return job->choice.keep_r
               ? result_add_array(f, "r", NPY_F8, 1, &n_pairs, fetch_held, job->held_r, NULL)
               : STATUS_OK;
}

static enum status add_arrays(struct pearson_job *job, const struct result_table *series,
                              struct result *out)
{
    static const char *const columns[] = {"count", "mean", "std", "min", "max"};
    struct result_file *f = NULL;
    const size_t n_pairs = (size_t)matrix_n_pairs(job->n_series);
    STATUS_TRY(result_add_file(out, "pearson.npz", PACK_ZIP, &f));
    STATUS_TRY(result_add_strings(f, "names", job->n_series, job->names.at));
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        STATUS_TRY(result_table_array(f, series, columns[k]));
    }
    if (job->order != NULL) {
        STATUS_TRY(result_add_copy(f, "order", NPY_I4, 1, &job->n_series, job->order));
    }
    if (job->choice.targets) {
        STATUS_TRY(result_add_strings(f, "targets", job->n_targets, job->names.at + job->n_series));
    }
    if (job->choice.within) {
        return add_within(job, f);
    }
    if (!job->choice.keep_r) {
        return STATUS_OK;
    }
    if (job->choice.targets) {
        const size_t dims[] = {job->n_targets, job->n_series};
        return result_add_array(f, "r", NPY_F8, 2, dims, fetch_held, job->held_r, NULL);
    }
    STATUS_TRY(job->choice.lagged ? pearson_lags_arrays(job, f) : STATUS_OK);
    return result_add_array(f, "r", job->layout.r_type == DTYPE_F64 ? NPY_F8 : NPY_F4, 1, &n_pairs,
                            fetch_r, job, NULL);
}

/* --- the square matrix as text ---------------------------------------------------------------- */

enum status pearson_files_before(const struct pearson_job *job, const struct matrix *m, size_t s,
                                 void *row)
{
    const size_t size = dtype_bytes(m->type), p = s / m->panel,
                 width = matrix_panel_width(p, m->panel, m->n_series);
    return s == 0 ? STATUS_OK
                  : job->ops->download(job->queue, row,
                                       span_from(m->panels[p], (s - p * m->panel) * width * size),
                                       s * size);
}

enum status pearson_files_row(const struct pearson_job *job, const struct matrix *m, size_t s,
                              void *row)
{
    const size_t n = m->n_series;
    const uint64_t first = matrix_n_pairs(n) - matrix_n_pairs(n - s);
    STATUS_TRY(pearson_files_before(job, m, s, row));
    return s + 1 < n ? job->ops->matrix->condensed(job->queue, m, first, n - 1 - s,
                                                   (char *)row + (s + 1) * dtype_bytes(m->type))
                     : STATUS_OK;
}

static enum status put_square(const struct pearson_job *job, size_t s, const char *row,
                              struct bytes *out)
{
    const double self = moments_degenerate_at(job->stats, s) ? NAN : 1;
    STATUS_TRY(result_put_field(out, job->names.at[s]));
    for (size_t i = 0; i < job->n_series; i++) {
        STATUS_TRY(bytes_append(out, ",", 1));
        STATUS_TRY(i == s                          ? result_put_f64(out, self)
                   : job->matrix.type == DTYPE_F64 ? result_put_f64(out, ((const double *)row)[i])
                                                   : result_put_f32(out, ((const float *)row)[i]));
    }
    return bytes_append(out, "\n", 1);
}

static enum status square_rows(void *context, uint64_t first, size_t n, struct bytes *out)
{
    struct pearson_job *const job = context;
    char *const row = malloc(job->n_series * sizeof(double));
    enum status st = row != NULL ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory for a row");
    for (size_t s = (size_t)first; s < first + n && st == STATUS_OK; s++) {
        st = pearson_files_row(job, pearson_at_0(job), s, row);
        st = st == STATUS_OK ? put_square(job, s, row, out) : st;
    }
    free(row);
    return st;
}

static enum status add_square(struct pearson_job *job, size_t rows, struct result *out)
{
    struct bytes header = {0};
    enum status st = bytes_append(&header, "name", 4);
    for (size_t s = 0; s < job->n_series && st == STATUS_OK; s++) {
        st = bytes_append(&header, ",", 1);
        st = st == STATUS_OK ? result_put_field(&header, job->names.at[s]) : st;
    }
    st = st == STATUS_OK ? bytes_append(&header, "", 1) : st;
    st = st == STATUS_OK ? result_add_csv(out, "r", (const char *)header.data, job->n_series, rows,
                                          square_rows, job, NULL)
                         : st;
    bytes_free(&header);
    return st;
}

/* Rows in a piece of text: at most so many, and as many as fit it whatever their names. */
static size_t rows_in_piece(const struct pearson_job *job, size_t most, size_t n_numbers,
                            size_t n_names)
{
    size_t longest = job->choice.within ? SERIES_NAME_BYTES : 0; /* of groups */
    for (size_t s = 0; s < pearson_n_all(job); s++) {
        const size_t n = strlen(job->names.at[s]);
        longest = n > longest ? n : longest;
    }
    const size_t quoted = 2 * longest + 3; /* every byte doubled, quotes, delimiter */
    const size_t row = n_numbers * NUMBER_BYTES + n_names * quoted;
    const size_t fit = (PACK_PIECE_BYTES - HEADER_BYTES) / row;
    return fit < most ? fit : most;
}

enum status pearson_files(struct pearson_job *job, struct result *out)
{
    const struct result_table series = {"series", series_row, job, job->n_series};
    const struct result_table pairs = pairs_of(job);
    STATUS_TRY(add_arrays(job, &series, out));
    const size_t more = job->choice.within ? 1 : 0;
    STATUS_TRY(result_table_csv(out, &series, rows_in_piece(job, SERIES_ROWS, 11, 1 + more)));
    STATUS_TRY(result_table_csv(out, &pairs, rows_in_piece(job, PAIR_ROWS, 12, 2 + more)));
    const struct result_table partners = {"partners", partner_row, job, job->n_partners};
    STATUS_TRY(job->choice.top_each > 0
                   ? result_table_csv(out, &partners, rows_in_piece(job, PAIR_ROWS, 7, 2))
                   : STATUS_OK);
    const struct result_table groups = {"groups", group_row, job, job->groups.n};
    STATUS_TRY(groups.n_rows > 0
                   ? result_table_csv(out, &groups, rows_in_piece(job, PAIR_ROWS, 4, 1))
                   : STATUS_OK);
    const struct result_table within = {"within", within_row, job, job->within.n};
    STATUS_TRY(job->choice.within
                   ? result_table_csv(out, &within, rows_in_piece(job, SERIES_ROWS, 6, 1))
                   : STATUS_OK);
    return job->choice.text_r
               ? add_square(job, rows_in_piece(job, SERIES_ROWS, job->n_series, 1), out)
               : STATUS_OK;
}
