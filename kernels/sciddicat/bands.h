/*
 * bands - one landslide computed by several members, each on a queue of its own, with the bits of
 * one run.
 *
 * Every member owns a band of rows, cut so that each has about as much to do. Up to eight steps are
 * made at a time; before them members get the sixteen rows on either side of their bands. Where
 * there is only one member, it makes all steps by itself, as `struct sciddicat_kernels` has it.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_BANDS_H
#define LEAT_KERNELS_SCIDDICAT_BANDS_H

#include "kernels/sciddicat/sciddicat.h"

struct bands;

struct bands_config {
    struct queue *const *queues; /* the first is home: its backend has the host memory */
    size_t n_queues;             /* >= 1 */
    struct executor executor;    /* by which members whose calls wait work at the same time */
};

/* The map in host memory, as struct sciddicat_input has it on a backend. */
struct bands_input {
    const double *z, *h;
    const uint8_t *nodata; /* NULL: none is */
};

/* What has happened since the start. */
struct bands_info {
    size_t n_members;
    uint64_t n_cuts;      /* of the map into bands; the first among them */
    uint64_t n_exchanges; /* of rows between two members */
    uint64_t n_quiet;     /* times that they had no need of one */
};

/* Of n_queues queues so many are used: every member has sixteen rows at least; all backends must
 * have members, and rows be copied from one to the other. */
size_t bands_count(const struct bands_config *c, const struct sciddicat_params *p);
/* Bytes of host memory that so many members need; SIZE_MAX: more than can be counted. On its
 * backend each takes sciddicat_kernels.bytes and, for every cut beside it, 32 rows of doubles. */
size_t bands_bytes(const struct sciddicat_params *p, size_t n_members);

/* As the functions of struct sciddicat_kernels. After an error there is only bands_close(). */
enum status bands_open(const struct bands_config *c, const struct sciddicat_params *p,
                       const struct bands_input *in, struct bands **out) STATUS_MUST_CHECK;
void bands_close(struct bands *b); /* NULL is fine */
enum status bands_advance(struct bands *b, uint64_t n_steps,
                          struct sciddicat_report *out) STATUS_MUST_CHECK;
enum status bands_state(struct bands *b, double *h, double *max_h,
                        int32_t *arrival) STATUS_MUST_CHECK;
void bands_describe(const struct bands *b, struct bands_info *out);

#endif
