/*
 * rank_cpu - medians without sorting: quickselect, and before it, of long arrays, bounds from a
 * sample (R. W. Floyd, R. L. Rivest, "Expected time bounds for selection", 1975).
 */
#include "kernels/matrix/rank_cpu.h"

#include "kernels/matrix/matrix_rank.h"

enum { SAMPLE = 128, SAMPLE_MARGIN = 16 };

/* Bounds that hold the middle of v, by its sample, about 199 times in 200: the sample's rank of the
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

/* What lies between the bounds is kept, again and again, about a quarter each time; a bound on the
 * wrong side ends that. */
double rank_median(double *v, size_t n, double *spare)
{
    size_t k1 = (n - 1) / 2, k2 = n / 2;
    while (n >= 8 * (size_t)SAMPLE) {
        double low, high;
        size_t below = 0, kept = 0;
        sample_bounds(v, n, &low, &high);
        for (size_t i = 0; i < n; ++i) {
            spare[kept] = v[i];
            kept += (v[i] >= low) & (v[i] <= high);
            below += v[i] < low;
        }
        if (k1 < below || k2 >= below + kept || kept > n / 2) {
            break;
        }
        double *emptied = v;
        v = spare;
        spare = emptied;
        n = kept;
        k1 -= below;
        k2 -= below;
    }
    double next, middle = matrix_pick(v, n, k1, &next);
    return k2 > k1 ? matrix_middle(middle, next) : middle;
}
