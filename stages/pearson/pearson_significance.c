/*
 * pearson_significance - q of the pairs found, by Benjamini and Hochberg (J. R. Stat. Soc. B 57,
 * 1995): of the m pairs that have a coefficient, C(t) of which have p <= t,
 *     q = min over t >= p of t m / C(t).
 *
 * C is counted at levels of p that are at most LEVEL_STEP apart in its logarithm, as |r| or p of
 * all pairs (count_levels). With t taken at a level above it, no q is too low, and none more than 2
 * % too high, which leaves room for where levels come to lie. Since C(t) <= m, a t beyond the
 * smallest t m / C(t) that is known makes no q: levels reach as far as that.
 *
 * Where all pairs have one number of samples, the k-th that is found is the k-th of all, and only
 * what comes after the last is counted; where all pairs were found, nothing is. At its best lag a
 * pair has as many samples as overlap there, and is counted as if these were the fewest of any lag:
 * so q is never too low. p and q are multiplied by the number of lags. A matrix that is
 * not exact is taken for weaker than it may be: then q may be higher, and is not lower.
 */
#include "kernels/pearson/significance_rule.h"
#include "stages/pearson/pearson_job.h"

#include <stdlib.h>

enum {
    SORTED = 1 << 16 /* up to so many pairs are sorted by p, and those without a matrix */,
    NODES = 512,
    CHECK = 1 << 14
};
static const double LEVEL_STEP = 0.015, LOG_P_LEAST = -745; /* of the least double */

static double lesser(double a, double b)
{
    return b < a ? b : a;
}

double pearson_p(double r, double n)
{
    return exp(significance_log_p(r, n));
}

double pearson_best_p(const struct pearson_job *job, double p)
{
    return lesser(p * (job->choice.lag_last - job->choice.lag_first + 1), 1); /* NaN stays */
}

/* Whether all pairs have one number of samples, and so come in the order of p. */
static bool are_alike(const struct pearson_job *job)
{
    return !job->has_gaps && !job->choice.lagged;
}

/* Samples that are worth as much as n of series with these lag-1 autocorrelations are (M. S.
 * Bartlett, J. R. Stat. Soc. 98, 1935). */
double pearson_n_effective(double n, double a, double b)
{
    return n * (1 - a * b) / (1 + a * b);
}

/* --- levels ----------------------------------------------------------------------------------- */

struct levels {
    size_t n;
    double *r, *strength; /* of p as falls from level to level; without the matrix's error */
    struct pearson_levels levels; /* the same, for the kernels */
    uint64_t *of_band, *counts;
    double *log_q; /* the least ln(t m / C(t)) down to each level */
};

/* |r| of w = sqrt(-ln(1 - r^2)), in which ln p is nearly a parabola. */
static double r_of(double w)
{
    return sqrt(-expm1(-w * w));
}

/* The largest w, nearly, of which ln p is log_p or more. */
static double w_at(double n, double log_p)
{
    double low = 0, high = 6; /* of 1 - 2^-53 */
    for (size_t k = 0; k < 50; k++) {
        const double middle = (low + high) / 2;
        if (significance_log_p(r_of(middle), n) >= log_p) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Levels from ln p = `first` down to `last`, of n samples. */
static void lay_levels(struct levels *l, double n, double first, double last)
{
    const double from = w_at(n, first), to = w_at(n, last);
    double w[NODES], log_p[NODES];
    for (size_t k = 0; k < NODES; k++) {
        w[k] = from + (to - from) * (double)k / (NODES - 1);
        log_p[k] = significance_log_p(r_of(w[k]), n);
    }
    for (size_t k = 0, node = 0; k < l->n; k++) {
        const double aim = first + (last - first) * (double)k / (double)(l->n - 1);
        while (node + 2 < NODES && log_p[node + 1] > aim) {
            node++;
        }
        const double span = log_p[node] - log_p[node + 1],
                     part = span > 0 ? lesser(fmax((log_p[node] - aim) / span, 0), 1) : 0;
        l->r[k] = r_of(w[node] + part * (w[node + 1] - w[node]));
        l->strength[k] = -significance_log_p(l->r[k], n);
    }
}

static enum status levels_room(struct pearson_job *job, struct levels *l, double first, double last)
{
    l->n = (size_t)((first - last) / LEVEL_STEP) + 2;
    STATUS_TRY(room_host(&job->work, l->n, sizeof *l->r, &l->r));
    STATUS_TRY(room_host(&job->work, l->n, sizeof *l->strength, &l->strength));
    STATUS_TRY(room_host(&job->work, l->n, sizeof *l->counts, &l->counts));
    return room_host(&job->work, l->n, sizeof *l->log_q, &l->log_q);
}

static enum status count_band(void *context, struct queue *q, const struct matrix *band)
{
    struct levels *const l = context;
    STATUS_TRY(q->backend->ops->pearson->count_levels(q, band, &l->levels, l->of_band));
    for (size_t k = 0; k < l->n; k++) {
        l->counts[k] += l->of_band[k];
    }
    return STATUS_OK;
}

/* Counts all pairs, of which m have a coefficient. */
static enum status count(struct pearson_job *job, struct levels *l, double m)
{
    const double bound =
        job->choice.used != PEARSON_EXACT ? pearson_bound(job->choice.used, false) : 0;
    double *r;
    struct pearson_levels levels = {.n = l->n,
                                    .strength = l->strength,
                                    .bound = bound,
                                    .n_samples = job->n_samples,
                                    .min_samples = job->choice.min_samples};
    STATUS_TRY(room_host(&job->work, l->n, sizeof *r, &r));
    for (size_t k = 0; k < l->n; k++) {
        r[k] = l->r[k] + bound;
    }
    levels.r = r;
    if (job->has_gaps) {
        levels.count = moments_array(job->stats, MOMENTS_COUNT);
        STATUS_TRY(pearson_common_all(job));
        levels.present = job->present;
    }
    l->levels = levels;
    STATUS_TRY(room_host(&job->work, l->n, sizeof *l->of_band, &l->of_band));
    STATUS_TRY(pearson_look(job, count_band, l));
    double reached = 0, least = 0;
    for (size_t k = l->n; k-- > 0;) {
        reached += (double)l->counts[k];
        l->log_q[k] = log(m / reached) - l->strength[k];
    }
    for (size_t k = 0; k < l->n; k++) {
        l->log_q[k] = least = lesser(l->log_q[k], least);
    }
    return STATUS_OK;
}

/* --- q ---------------------------------------------------------------------------------------- */

struct by_p {
    double log_p;
    size_t k;
};

static int compare(const void *a, const void *b)
{
    const double x = ((const struct by_p *)a)->log_p, y = ((const struct by_p *)b)->log_p;
    return x < y ? -1 : x > y;
}

/* Of all pairs, in any order. */
static enum status q_of_all(struct pearson_job *job)
{
    const size_t n = job->n_found;
    double log_q = 0;
    struct by_p *order;
    STATUS_TRY(room_host(&job->work, n, sizeof *order, &order));
    for (size_t k = 0; k < n; k++) {
        order[k] = (struct by_p){job->q[k], k};
    }
    qsort(order, n, sizeof *order, compare);
    for (size_t k = n; k-- > 0;) {
        log_q = lesser(log_q, order[k].log_p + log((double)n / ((double)k + 1)));
        job->q[order[k].k] = log_q;
    }
    return STATUS_OK;
}

/* Of the first, ordered by p; log_q: of the others, the least. */
static void q_of_first(struct pearson_job *job, double m, double log_q)
{
    for (size_t k = job->n_found; k-- > 0;) {
        log_q = lesser(log_q, job->q[k] + log(m / ((double)k + 1)));
        job->q[k] = log_q;
    }
}

/* p of all found, and its logarithm in q; the least that is a double, and the largest. */
static enum status find_p(struct pearson_job *job, double *least, double *largest)
{
    *least = 0;
    *largest = -INFINITY;
    for (size_t k = 0; k < job->n_found; k++) {
        const double n = (double)pearson_pair_samples(job, k),
                     log_p = significance_log_p(job->pairs[k].r, n);
        job->p[k] = exp(log_p);
        job->q[k] = log_p >= LOG_P_LEAST ? log_p : -INFINITY;
        *least = isinf(job->q[k]) ? *least : lesser(*least, log_p);
        *largest = fmax(*largest, job->q[k]);
        STATUS_TRY(k % CHECK == 0 ? queue_check(job->queue) : STATUS_OK);
    }
    return STATUS_OK;
}

static enum status count_q(struct pearson_job *job, double m, double least, double largest)
{
    const double first = lesser(0, largest + log(m / (double)job->n_found)),
                 samples = (double)(job->n_samples - job->n_incomplete) -
                           (double)lags_most(job->choice.lag_first, job->choice.lag_last);
    struct levels l;
    least = are_alike(job) ? largest : least;
    STATUS_TRY(levels_room(job, &l, first, least));
    lay_levels(&l, samples, first, least);
    STATUS_TRY(count(job, &l, m));
    if (are_alike(job)) {
        q_of_first(job, m, l.log_q[l.n - 1]);
        return STATUS_OK;
    }
    for (size_t k = 0; k < job->n_found; k++) {
        const double strength = -job->q[k];
        job->q[k] = isinf(strength) ? -INFINITY
                    : strength >= l.strength[0]
                        ? l.log_q[significance_level(l.strength, l.n, strength)]
                        : 0;
    }
    return STATUS_OK;
}

enum status pearson_q_find(struct pearson_job *job)
{
    const double m = (double)(job->survey.n_pairs - job->survey.n_undefined);
    const bool are_all = (double)job->n_found == m;
    double least, largest;
    if (job->n_listed == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(room_host(job->kept, job->n_found, sizeof *job->p, &job->p));
    STATUS_TRY(room_host(job->kept, job->n_found, sizeof *job->q, &job->q));
    STATUS_TRY(find_p(job, &least, &largest));
    if ((are_all && are_alike(job)) || isinf(largest)) {
        q_of_first(job, m, 0);
    } else if (are_all && (job->n_found <= SORTED || !pearson_has_matrix(&job->choice))) {
        STATUS_TRY(q_of_all(job));
    } else {
        STATUS_TRY(count_q(job, m, least, largest));
    }
    for (size_t k = 0; k < job->n_found; k++) {
        job->p[k] = pearson_best_p(job, job->p[k]);
        job->q[k] = pearson_best_p(job, exp(job->q[k]));
    }
    return STATUS_OK;
}
