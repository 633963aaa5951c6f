/*
 * sciddicat_reference - the automaton as it is written down, over the whole grid in three passes
 * and with every flow in memory, as the published serial program has it; plain, slow, right.
 *
 * Nothing here is shared with the kernels but the parameters and the report.
 */
#ifndef LEAT_TESTS_SCIDDICAT_REFERENCE_H
#define LEAT_TESTS_SCIDDICAT_REFERENCE_H

#include "kernels/sciddicat/sciddicat.h"

#include <stdint.h>

struct sciddicat_reference {
    struct sciddicat_params p;
    double *z, *h, *before, *flow[4], *taken, *max_h;
    int32_t *arrival;
    unsigned char *nodata; /* never NULL */
    uint64_t step;
};

/* Copies what it is given; nodata may be NULL. Ends the program when there is no memory. */
struct sciddicat_reference *sciddicat_reference_new(const struct sciddicat_params *p,
                                                    const double *z, const double *h,
                                                    const unsigned char *nodata);
void sciddicat_reference_free(struct sciddicat_reference *s);
void sciddicat_reference_step(struct sciddicat_reference *s);
void sciddicat_reference_report(const struct sciddicat_reference *s, struct sciddicat_report *out);

/* FNV-1a, 64 bit. */
uint64_t sciddicat_reference_hash(const void *bytes, size_t n);

/* A slope with bumps and a valley, and debris heaped on it: the same everywhere for one seed.
 * `share` of the cells carry debris, `holes` of them are NODATA (z is -9999 there). */
void sciddicat_reference_terrain(uint64_t seed, size_t rows, size_t columns, double share,
                                 double holes, double *z, double *h, unsigned char *nodata);

#endif
