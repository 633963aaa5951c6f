/*
 * rows - a part as whole rows on the backend: chunks are cut anywhere, methods want complete rows
 * of `width` cells, contiguous, in the table's type.
 */
#ifndef LEAT_STAGES_BASE_ROWS_H
#define LEAT_STAGES_BASE_ROWS_H

#include "stages/base/job_io.h"

/* Sees whole rows on the host, in order, before they are uploaded; `first` is the number of the
 * first. It may move those that are kept together at the begin, *n_kept of the n (which it is). */
typedef enum status rows_look_fn(void *context, void *cells, size_t n, uint64_t first,
                                 size_t *n_kept);

struct rows {
    size_t part, width;
    enum dtype type;
    rows_look_fn *look; /* NULL: nobody looks */
    void *context;

    uint64_t n_seen; /* rows that have come so far, in this pass */
    char *at;        /* whole rows that wait for their upload: ... */
    size_t n_at;     /* ... so many */
    char *rest;      /* of the chunk: what has not been looked at: ... */
    size_t n_rest;   /* ... so many cells */
    char *split;     /* a row that is cut between chunks; pinned */
    size_t n_split;  /* cells of it that are there */
    uint64_t split_ticket;
};

/* Counts, or takes, what rows need; of *rows part, width, type, look and context are set. */
enum status rows_room(struct rows *rows, struct room *room) STATUS_MUST_CHECK;
/* Uploads the next rows to the begin of `to`: `most` of them at most; `least` (1 to `most`) at
 * least, unless the part ends, and then no more than have come. Work that is queued later sees
 * them. *n < least: these are the last ones. */
enum status rows_read(struct rows *rows, struct job_io *io, struct span to, size_t least,
                      size_t most, size_t *n) STATUS_MUST_CHECK;

#endif
