/*
 * pearson_anomaly - the series that stand out: that go with none of the others as closely as the
 * others go with each other.
 *
 * Of each series the median |r| with the others, as Fisher's z = atanh |r|. Of m such numbers let Z
 * be the median and S = 1.4826 MAD, which estimates the standard deviation of a normal
 * distribution. A series of n samples stands out when its strongest |r| lies below
 *     tanh(Z - max(t S, u / sqrt(n - 3))),
 * and below tanh(Z) by more than the error of a coefficient, of which
 *   - 1 / sqrt(n - 3) is the standard error of z (Fisher 1921), and u the quantile of the normal
 *     distribution that one of m falls short of with a probability of 0.005 (Bonferroni);
 *   - t is the same of Student's distribution with 0.37 (m - 1) degrees of freedom, since the MAD
 *     is as sure as a standard deviation of 0.37 as many numbers; no fewer than 2. It
 *     is sqrt(d (exp(g u^2) - 1)) with g = (d - 1.5) / (d - 1)^2 (Gaver and Kafadar 1984).
 * What samples that follow each other closely add to the error of z is part of S, which is why
 * lag-1 autocorrelations are not asked for. The strongest, and not the median, since a member of a
 * small group of series goes with the others of its group. Fewer than five series do not tell
 * which of them is unlike.
 */
#include "kernels/matrix/matrix_rule.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>

enum { LEAST_SERIES = 5, BATCH = 8192 }; /* coefficients of later series that are fetched at once */
static const double chance = 0.005;      /* of one false alarm in a table of series alike */

/* What the limits of all series are made of. */
struct alike {
    double z, away, u; /* Z; t S; u */
    double overlap;    /* the part of its samples that a series shares with another */
};

/* The number that a normal one exceeds with probability p, 0 < p < 0.5. */
static double normal_quantile(double p)
{
    double low = 0, high = 38;
    for (size_t k = 0; k < 64; k++) {
        const double middle = (low + high) / 2;
        if (erfc(middle * M_SQRT1_2) / 2 > p) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

static double fisher(double r)
{
    return atanh(fmin(r, 1 - 0x1p-53));
}

/* False where there are too few. */
static bool find_alike(const struct pearson_job *job, double *scratch, struct alike *out)
{
    size_t m = 0;
    double samples = 0;
    for (size_t s = 0; s < job->n_series; s++) {
        samples += pearson_stat(job, MOMENTS_COUNT, s);
        if (!isnan(job->median_abs[s])) {
            scratch[m++] = fisher(job->median_abs[s]);
        }
    }
    if (m < LEAST_SERIES) {
        return false;
    }
    out->z = matrix_median(scratch, m);
    for (size_t s = 0; s < m; s++) {
        scratch[s] = fabs(scratch[s] - out->z);
    }
    const double deviation = 1.4826 * matrix_median(scratch, m);
    const double d = fmax(2, 0.37 * (double)(m - 1)), g = (d - 1.5) / ((d - 1) * (d - 1));
    out->u = normal_quantile(chance / (double)m);
    out->away = deviation * sqrt(d * expm1(g * out->u * out->u));
    out->overlap = samples / ((double)job->n_series * (double)job->n_samples);
    return true;
}

/* Below which |r| stands out, of series s; no number where none does. */
static double limit_of(const struct pearson_job *job, const struct alike *a, size_t s)
{
    const double n = pearson_stat(job, MOMENTS_COUNT, s) * a->overlap;
    const double away = fmax(a->away, n > 3 ? a->u / sqrt(n - 3) : INFINITY);
    return fmin(tanh(a->z - away), tanh(a->z) - pearson_bound(job->choice.used, false));
}

static bool is_any_above(const void *cells, enum dtype type, size_t n, double limit)
{
    bool any = false;
    for (size_t k = 0; k < n && !any; k++) {
        any = fabs(dtype_real(type, cells, k)) >= limit;
    }
    return any;
}

/* Whether no coefficient of series s reaches the limit. Members of a group are soon done. */
static enum status is_alone(const struct pearson_job *job, size_t s, double limit, void *cells,
                            bool *out)
{
    const struct matrix *const m = &job->matrix;
    const size_t n = job->n_series;
    uint64_t at = matrix_n_pairs(n) - matrix_n_pairs(n - s); /* of the pair of s and s + 1 */
    STATUS_TRY(pearson_files_before(job, m, s, cells));
    *out = !is_any_above(cells, m->type, s, limit);
    for (size_t first = s + 1, some; first < n && *out; first += some, at += some) {
        some = n - first < BATCH ? n - first : BATCH;
        STATUS_TRY(job->ops->matrix->condensed(job->queue, m, at, some, cells));
        *out = !is_any_above(cells, m->type, some, limit);
    }
    return STATUS_OK;
}

enum status pearson_anomalies_find(struct pearson_job *job, double *scratch)
{
    struct alike alike;
    if (!find_alike(job, scratch, &alike)) {
        return STATUS_OK;
    }
    void *cells;
    STATUS_TRY(room_host(job->kept, job->n_series, sizeof(double), &cells));
    for (size_t s = 0; s < job->n_series; s++) {
        const double limit = limit_of(job, &alike, s);
        if (job->median_abs[s] < limit) { /* and so may be the strongest */
            STATUS_TRY(queue_check(job->queue));
            STATUS_TRY(is_alone(job, s, limit, cells, &job->is_anomalous[s]));
        }
    }
    return STATUS_OK;
}
