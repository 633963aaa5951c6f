/*
 * bands_cut - see the header.
 *
 * Bands are filled from the first on as long as none has more than a bound to do; the least bound
 * for which the last band keeps it, too, is found by halving. So a band ends where the next one
 * begins to be busy; then cuts move to the middle of the groups that have nothing to do, where
 * nothing crosses them for the longest time.
 */
#include "kernels/sciddicat/bands_cut.h"

/* Gives what is left for the last band. */
static uint64_t fill(const uint32_t *busy, size_t n_groups, size_t n_bands, uint64_t bound,
                     size_t *first)
{
    size_t g = 0;
    for (size_t k = 0; k + 1 < n_bands; ++k) {
        uint64_t sum = 0;
        first[k] = g;
        do {
            sum += busy[g++];
        } while (n_groups - g >= n_bands - k && sum + busy[g] <= bound);
    }
    first[n_bands - 1] = g;
    first[n_bands] = n_groups;
    uint64_t rest = 0;
    for (; g < n_groups; ++g) {
        rest += busy[g];
    }
    return rest;
}

uint64_t bands_cut(const uint32_t *busy, size_t n_groups, size_t n_bands, size_t *first)
{
    uint64_t least = 0, most = 0;
    for (size_t g = 0; g < n_groups; ++g) {
        least = busy[g] > least ? busy[g] : least;
        most += busy[g];
    }
    for (size_t k = 0; k <= n_bands && most == 0; ++k) {
        first[k] = k * n_groups / n_bands;
    }
    if (most == 0) {
        return 0;
    }
    while (least < most) {
        const uint64_t bound = least + (most - least) / 2;
        if (fill(busy, n_groups, n_bands, bound, first) <= bound) {
            most = bound;
        } else {
            least = bound + 1;
        }
    }
    (void)fill(busy, n_groups, n_bands, least, first);
    for (size_t k = 1; k < n_bands; ++k) {
        size_t idle = 0;
        while (first[k] - idle - 1 > first[k - 1] && busy[first[k] - idle - 1] == 0) {
            ++idle;
        }
        first[k] -= idle / 2;
    }
    return least;
}

uint64_t bands_cut_busiest(const uint32_t *busy, const size_t *first, size_t n_bands, uint64_t *all)
{
    uint64_t busiest = 0;
    *all = 0;
    for (size_t k = 0; k < n_bands; ++k) {
        uint64_t sum = 0;
        for (size_t g = first[k]; g < first[k + 1]; ++g) {
            sum += busy[g];
        }
        busiest = sum > busiest ? sum : busiest;
        *all += sum;
    }
    return busiest;
}
