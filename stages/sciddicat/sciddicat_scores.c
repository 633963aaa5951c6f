/*
 * sciddicat_scores - what the run and an observed landslide have in common, cell by cell.
 *
 * AUROC is the Mann-Whitney statistic over all pairs of a hit cell and one that was not: counted in
 * whole numbers, so it is the same whatever the order of cells. Most cells never had debris: only
 * the others are sorted.
 */
#include "stages/sciddicat/sciddicat_job.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Twice the pairs in which the number of `hit` is greater, and once those of equals; both sorted.
 */
static uint64_t count_wins(const double *hit, size_t n_hit, const double *other, size_t n_other)
{
    uint64_t twice = 0;
    size_t below = 0, upto = 0; /* of the others: less than, not more than the number */
    for (size_t k = 0; k < n_hit; k++) {
        for (; below < n_other && other[below] < hit[k]; below++) {
        }
        for (; upto < n_other && other[upto] <= hit[k]; upto++) {
        }
        twice += below + upto;
    }
    return twice;
}

/* The maxima of hit cells that had debris stand at the begin of maxima, those of others at the
 * end; the rest of n_hit and n_other cells had none. */
static double auroc(const struct sciddicat_job *job, double *maxima, size_t n_hit, size_t hit_with,
                    size_t n_other, size_t other_with)
{
    double *const hit = maxima, *const other = maxima + job->slide.n_cells - other_with;
    const uint64_t hit_0 = n_hit - hit_with, other_0 = n_other - other_with;
    if (n_hit == 0 || n_other == 0) {
        return NAN;
    }
    qsort(hit, hit_with, sizeof *hit, by_size);
    qsort(other, other_with, sizeof *other, by_size);
    const uint64_t twice =
        count_wins(hit, hit_with, other, other_with) + 2 * hit_with * other_0 + hit_0 * other_0;
    return (double)twice / (2 * (double)n_hit * (double)n_other);
}

static double share(size_t n, size_t of)
{
    return of > 0 ? (double)n / (double)of : (double)NAN;
}

void sciddicat_score_row(const struct sciddicat_scores *s, struct result_row *to)
{
    result_row_count(to, "affected_cells", s->n_affected);
    result_row_real(to, "fitness", s->fitness);
    result_row_real(to, "precision", s->precision);
    result_row_real(to, "recall", s->recall);
    result_row_real(to, "jaccard", s->jaccard);
    result_row_real(to, "auroc", s->auroc);
    result_row_real(to, "toe_distance_m", s->toe_distance_m);
}

void sciddicat_score(const struct sciddicat_job *job, const double *max_h, double *work,
                     struct sciddicat_scores *out)
{
    struct sciddicat_scores s = {.n_hit = 0};
    size_t n_other = 0, hit_with = 0, other_with = 0, hit_toe = 0, affected_toe = 0;
    for (size_t k = 0; k < job->slide.n_cells; k++) {
        if (landslide_masks(&job->slide, k)) {
            s.n_beside += job->hit[k];
            continue;
        }
        const double most = max_h[k];
        const bool hit = job->hit[k] != 0, affected = most > job->choice.affected_m;
        if (hit && (s.n_hit++ == 0 || sciddicat_is_further_down(job, k, hit_toe))) {
            hit_toe = k;
        }
        if (affected && (s.n_affected++ == 0 || sciddicat_is_further_down(job, k, affected_toe))) {
            affected_toe = k;
        }
        s.n_both += hit && affected;
        n_other += !hit;
        if (most > 0 && hit) {
            work[hit_with++] = most;
        } else if (most > 0) {
            work[job->slide.n_cells - ++other_with] = most;
        }
    }
    s.jaccard = share(s.n_both, s.n_hit + s.n_affected - s.n_both);
    s.fitness = sqrt(s.jaccard);
    s.precision = share(s.n_both, s.n_affected);
    s.recall = share(s.n_both, s.n_hit);
    s.auroc = auroc(job, work, s.n_hit, hit_with, n_other, other_with);
    s.toe_distance_m = s.n_hit > 0 && s.n_affected > 0
                           ? sciddicat_distance_m(job, hit_toe, affected_toe)
                           : (double)NAN;
    *out = s;
}
