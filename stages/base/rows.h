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

/* Sees a chunk before its rows are seen: the names of the lines that begin in it, where it stands
 * in the file. One rows_read may take several. */
typedef enum status rows_chunk_fn(void *context, const struct table_chunk *chunk);

struct rows {
    size_t part, width;
    enum dtype type;
    uint64_t n_across;    /* the table's lines are the columns of so many rows, which are turned on
                             the host; 0: its lines are rows */
    rows_look_fn *look;   /* NULL: nobody looks */
    rows_chunk_fn *chunk; /* NULL: likewise */
    void *context;

    uint64_t n_seen; /* rows that have come so far, in this pass */
    char *at;        /* whole rows that wait for their upload: ... */
    size_t n_at;     /* ... so many */
    char *rest;      /* of the chunk: what has not been looked at: ... */
    size_t n_rest;   /* ... so many cells */
    char *split;     /* a row that is cut between chunks; pinned */
    size_t n_split;  /* cells of it that are there */
    uint64_t split_ticket;
    char *turned;      /* [n_across][width]; NULL: not needed now */
    uint64_t n_turned; /* cells that have come */
};

/* Counts, or takes, what rows need; of *rows the fields up to `context` are set. */
enum status rows_room(struct rows *rows, struct room *room) STATUS_MUST_CHECK;
/* Waits until a row can be read; *are: there is one. */
enum status rows_more(struct rows *rows, struct job_io *io, bool *are) STATUS_MUST_CHECK;
/* Uploads the next rows to the begin of `to`: `most` of them at most; `least` (1 to `most`) at
 * least, unless the part ends, and then no more than have come. Work that is queued later sees
 * them. *n < least: these are the last ones. */
enum status rows_read(struct rows *rows, struct job_io *io, struct span to, size_t least,
                      size_t most, size_t *n) STATUS_MUST_CHECK;
/* The same without `look`: cells are uploaded as they come, cut anywhere, and rows need no room.
 * Waits until a cell can be read; *are: there is one. */
enum status rows_cells(struct rows *rows, struct job_io *io, bool *are) STATUS_MUST_CHECK;
/* Uploads the next *n rows to the begin of `to`; *n falls where the part ends. */
enum status rows_fill(struct rows *rows, struct job_io *io, struct span to,
                      size_t *n) STATUS_MUST_CHECK;
/* All have been read: memory that they came through goes. */
enum status rows_end(struct rows *rows, struct job_io *io) STATUS_MUST_CHECK;
/* They come once more, from the first on. */
enum status rows_again(struct rows *rows, struct job_io *io) STATUS_MUST_CHECK;

#endif
