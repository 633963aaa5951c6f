/*
 * bands_cut - a row of groups cut into bands, so that the busiest has as little to do as it can.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_BANDS_CUT_H
#define LEAT_KERNELS_SCIDDICAT_BANDS_CUT_H

#include <stddef.h>
#include <stdint.h>

/* first[k] becomes the first group of band k < n_bands, first[n_bands] n_groups. Every band has a
 * group at least: 1 <= n_bands <= n_groups. Gives what the busiest band has to do. Where nobody has
 * anything, bands have about the same number of groups. */
uint64_t bands_cut(const uint32_t *busy, size_t n_groups, size_t n_bands, size_t *first);

/* What the busiest of such bands has to do now, and all together. */
uint64_t bands_cut_busiest(const uint32_t *busy, const size_t *first, size_t n_bands,
                           uint64_t *all);

#endif
