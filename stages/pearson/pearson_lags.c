/*
 * pearson_lags - each pair at the lag, in a range, of its largest |r|. Survey, lists and picture
 * show that r; r at lag 0 stands beside it.
 */
#include "formats/base/sizes.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>

enum status pearson_lags_check_samples(const struct pearson_job *job, size_t n_samples)
{
    const struct pearson_choice *const c = &job->choice;
    const size_t most = lags_most(c->lag_first, c->lag_last),
                 left = n_samples > most ? n_samples - most : 0;
    if (!c->lagged || left >= c->min_samples) {
        return STATUS_OK;
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: lags=%d:%d leaves %zu of %zu samples, min_samples is %zu; set lags to "
                       "%zu or less",
                       job->name, c->lag_first, c->lag_last, left, n_samples, c->min_samples,
                       n_samples > c->min_samples ? n_samples - c->min_samples : 0);
}

/* Number k of some pairs, by its row of the matrix. */
struct by_row {
    uint32_t row;
    size_t k;
};

enum status pearson_lags_count(struct pearson_job *job, struct room *work)
{
    const struct pearson_choice *const c = &job->choice;
    const size_t n = job->n_series, each = c->top_each < n ? c->top_each : n;
    job->lags = (struct lags){.c = &job->c, .first = c->lag_first, .last = c->lag_last};
    room_count(job->kept,
               n * (each * (uint64_t)(sizeof(struct pearson_lag) + sizeof(struct by_row)) +
                    2 * (sizeof(double) + sizeof(float))),
               0);
    STATUS_TRY(lags_room(&job->lags, job->kept));
    return lags_count(&job->lags, work);
}

enum status pearson_lags_find(struct pearson_job *job)
{
    const struct pearson_choice *const c = &job->choice;
    job->lags = (struct lags){.c = &job->c, .first = c->lag_first, .last = c->lag_last};
    STATUS_TRY(lags_room(&job->lags, job->kept));
    STATUS_TRY(lags_find(&job->lags));
    job->matrix = job->lags.r;
    return STATUS_OK;
}

/* --- of listed pairs -------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const uint32_t x = ((const struct by_row *)a)->row, y = ((const struct by_row *)b)->row;
    return x < y ? -1 : x > y;
}

enum status pearson_lags_of(struct pearson_job *job, const struct matrix_pair *pairs, size_t n,
                            struct pearson_lag **out)
{
    struct by_row *rows;
    double *r;
    float *lag;
    STATUS_TRY(room_host(job->kept, n, sizeof **out, out));
    STATUS_TRY(room_host(&job->work, n, sizeof *rows, &rows));
    STATUS_TRY(room_host(&job->work, job->n_series, sizeof *r, &r));
    STATUS_TRY(room_host(&job->work, job->n_series, sizeof *lag, &lag));
    for (size_t k = 0; k < n; k++) {
        rows[k] = (struct by_row){(uint32_t)greater(pairs[k].i, pairs[k].j), k};
    }
    qsort(rows, n, sizeof *rows, compare);
    for (size_t k = 0; k < n; k++) {
        const struct matrix_pair *const p = &pairs[rows[k].k];
        const size_t row = rows[k].row, column = lesser(p->i, p->j);
        if (k == 0 || row != rows[k - 1].row) {
            STATUS_TRY(queue_check(job->queue));
            STATUS_TRY(pearson_files_before(job, &job->lags.lag, row, lag));
            STATUS_TRY(pearson_files_before(job, &job->lags.at_0, row, r));
        }
        const int behind = (int)lag[column];
        (*out)[rows[k].k] = (struct pearson_lag){p->j == row ? behind : -behind, r[column]};
    }
    room_give_back(&job->work, rows);
    return STATUS_OK;
}

enum status pearson_lags_warn(const struct pearson_job *job, struct result *out)
{
    const struct pearson_choice *const c = &job->choice;
    size_t n = 0;
    for (size_t k = 0; k < job->n_listed && c->lag_first < c->lag_last; k++) {
        const int lag = job->pair_lags[k].lag;
        n += lag == c->lag_first || lag == c->lag_last ? 1 : 0;
    }
    return n == 0 ? STATUS_OK
                  : result_warn(out,
                                "%zu of %zu pairs listed have their largest |r| at an end of the "
                                "lags, %d or %d: it may lie beyond",
                                n, job->n_listed, c->lag_first, c->lag_last);
}

/* --- squares ---------------------------------------------------------------------------------- */

/* Elements [at, at + n) of row s: of r 1 with itself, of lags how far they are behind s. */
static void put_row(const struct pearson_job *job, size_t s, const void *row, size_t at, size_t n,
                    void *to, bool is_lag)
{
    const double self = moments_degenerate_at(job->stats, s) ? NAN : 1;
    for (size_t k = 0, i = at; k < n; k++, i++) {
        if (is_lag) {
            const int lag = i == s ? 0 : (int)((const float *)row)[i];
            ((int32_t *)to)[k] = i < s ? -lag : lag;
        } else {
            ((double *)to)[k] = i == s ? self : ((const double *)row)[i];
        }
    }
}

static enum status fetch_square(struct pearson_job *job, const struct matrix *m, uint64_t first,
                                size_t n, char *to)
{
    const bool is_lag = m->type == DTYPE_F32;
    const size_t all = job->n_series, size = is_lag ? sizeof(int32_t) : sizeof(double);
    void *const row = malloc(all * sizeof(double));
    enum status st = row != NULL ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory for a row");
    for (size_t done = 0, part; done < n && st == STATUS_OK; done += part) {
        const size_t s = (size_t)((first + done) / all), at = (size_t)((first + done) % all);
        part = all - at < n - done ? all - at : n - done;
        st = pearson_files_row(job, m, s, row);
        if (st == STATUS_OK) {
            put_row(job, s, row, at, part, to + done * size, is_lag);
        }
    }
    free(row);
    return st;
}

static enum status fetch_r(void *context, uint64_t first, size_t n, void *dst)
{
    struct pearson_job *const job = context;
    return fetch_square(job, &job->lags.r, first, n, dst);
}

static enum status fetch_lag(void *context, uint64_t first, size_t n, void *dst)
{
    struct pearson_job *const job = context;
    return fetch_square(job, &job->lags.lag, first, n, dst);
}

enum status pearson_lags_arrays(struct pearson_job *job, struct result_file *f)
{
    const size_t dims[] = {job->n_series, job->n_series};
    STATUS_TRY(result_add_array(f, "r_lag", NPY_F8, 2, dims, fetch_r, job, NULL));
    return result_add_array(f, "lag", NPY_I4, 2, dims, fetch_lag, job, NULL);
}
