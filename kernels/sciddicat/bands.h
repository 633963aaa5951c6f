/*
 * bands - one landslide computed by several members, each on a queue of its own, with the bits of
 * one run.
 *
 * Every member owns a band of rows, cut so that each has about as much to do. Up to eight steps are
 * made at a time; before them members get the sixteen rows on either side of their bands. Where
 * there is one member only, it makes all steps by itself, as `struct sciddicat_kernels` has it.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_BANDS_H
#define LEAT_KERNELS_SCIDDICAT_BANDS_H

#include "kernels/sciddicat/sciddicat.h"

struct bands;

enum { BANDS_MOST = 64 /* members */ };

struct bands_config {
    struct queue *home;       /* of the first member; its backend has the host memory */
    struct executor executor; /* by which members whose calls wait work at the same time; run NULL:
                                 one after the other */
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

/* As the functions of struct sciddicat_kernels, by one member. After an error there is only
 * bands_close(). */
enum status bands_open(const struct bands_config *c, const struct sciddicat_params *p,
                       const struct bands_input *in, struct bands **out) STATUS_MUST_CHECK;
void bands_close(struct bands *b); /* NULL is fine */
enum status bands_advance(struct bands *b, uint64_t n_steps,
                          struct sciddicat_report *out) STATUS_MUST_CHECK;
enum status bands_state(struct bands *b, double *h, double *max_h,
                        int32_t *arrival) STATUS_MUST_CHECK;
/* Copies of the state of those rows, whoever owns them. */
enum status bands_take(struct bands *b, const struct sciddicat_rows *rows) STATUS_MUST_CHECK;
/* Of one member, before its first step: sets the state of those rows; then, once all rows are set,
 * it goes on from there as after `step`. */
enum status bands_give(struct bands *b, const struct sciddicat_rows *rows) STATUS_MUST_CHECK;
enum status bands_resume(struct bands *b, uint64_t step) STATUS_MUST_CHECK;
void bands_describe(const struct bands *b, struct bands_info *out);

/*
 * More members, at any step, once or more: as many as there are queues, as long as every member has
 * sixteen rows. `in`: as at bands_open. Queues whose members can be opened come first, *n_queues of
 * them. With none of them, and where rows do not come back as they were when they have been copied
 * to a neighbour, nothing changes; an error says why.
 */
enum status bands_spread(struct bands *b, struct queue **queues, size_t *n_queues,
                         const struct bands_input *in) STATUS_MUST_CHECK;
/* The map as the kernels take it, in memory of the queue; it is released also where an error came
 * of it. */
enum status bands_upload(struct queue *q, const struct sciddicat_params *p,
                         const struct bands_input *from,
                         struct sciddicat_input *out) STATUS_MUST_CHECK;
void bands_release(struct queue *q, const struct sciddicat_input *in);

/* How many pieces of the map a step visits; 0: there cannot be more members than there are. */
enum status bands_busy(struct bands *b, uint64_t *out) STATUS_MUST_CHECK;

/* Bytes of host memory that so many members need; SIZE_MAX: more than can be counted. */
size_t bands_bytes(const struct sciddicat_params *p, size_t n_members);
/* Bytes of memory that each further member needs on a backend like home's; likewise. */
size_t bands_helper_bytes(const struct queue *home, const struct sciddicat_params *p);

#endif
