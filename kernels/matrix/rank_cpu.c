/*
 * rank_cpu - values of given ranks without sorting: C. A. R. Hoare's quickselect ("Algorithm 65:
 * FIND", 1961), and for medians of long arrays bounds from a sample before it (R. W. Floyd, R. L.
 * Rivest, "Expected time bounds for selection", 1975).
 */
#include "kernels/matrix/rank_cpu.h"

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

double rank_mean(double *v, size_t n, size_t k1, size_t k2)
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
    return rank_mean(v, n, k1, k2);
}
