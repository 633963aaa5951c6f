/*
 * rank_calls - what the two sides of a borrowed rank say to each other (rank_queue.c, rank_help.c):
 * calls of a queue and of a member of a landslide, made in the other process, in their order.
 * Memory and runs are the other's, and nothing but names on this side. Both are the same program.
 */
#ifndef LEAT_PIPELINE_ENGINE_RANK_CALLS_H
#define LEAT_PIPELINE_ENGINE_RANK_CALLS_H

#include "kernels/sciddicat/sciddicat.h"

enum rank_call_kind {
    RANK_CALL_BEGIN, /* on_cpu: a queue where the borrower's is */
    RANK_CALL_END,
    RANK_CALL_ALLOC,
    RANK_CALL_RELEASE,
    RANK_CALL_UPLOAD,
    RANK_CALL_DOWNLOAD,
    RANK_CALL_COPY,
    RANK_CALL_FINISH,
    RANK_CALL_OPEN,
    RANK_CALL_CLOSE,
    RANK_CALL_STATE, /* one of the three, which is wanted[] */
    RANK_CALL_GIVE,
    RANK_CALL_TAKE,
    RANK_CALL_OWN,
    RANK_CALL_EDGE,
    RANK_CALL_GHOST,
    RANK_CALL_STEP,
    RANK_CALL_LOOK,
    RANK_CALL_FIGURES,
    RANK_CALLS
};

/* What a call but STATE brings or gives at most, where one row is not more: the other side holds as
 * much, and its --memory does not count it. */
enum { RANK_PIECE_BYTES = 1 << 22 };

enum { RANK_STATE_H, RANK_STATE_MAX_H, RANK_STATE_ARRIVAL, RANK_STATES };

struct rank_call {
    enum rank_call_kind kind;
    bool on_cpu;
    bool wanted[RANK_STATES];
    unsigned n_steps;
    size_t bytes; /* of ALLOC and COPY */
    size_t body;  /* bytes that follow it */
    size_t gives; /* bytes that follow the answer */
    struct span to, from;
    void *run;
    size_t first, last; /* rows */
    uint64_t step;
    struct sciddicat_params p;
    struct sciddicat_input in;
};

/* Of calls that wait; what they give follows it where they succeed. */
struct rank_answer {
    enum status code;
    bool moved;
    struct span span;
    void *run;
    char message[STATUS_MESSAGE_BYTES];
};

/* Rows in one piece: h, then max_h, then arrival. */
static inline size_t rank_rows_bytes(size_t cells)
{
    return cells * (2 * sizeof(double) + sizeof(int32_t));
}

/* So many rows are in one piece. */
static inline size_t rank_piece_rows(size_t columns)
{
    const size_t n = RANK_PIECE_BYTES / rank_rows_bytes(columns);
    return n > 0 ? n : 1;
}

/* The same rows as they lie in such a piece. */
static inline struct sciddicat_rows rank_rows_in(char *piece, size_t first, size_t last,
                                                 size_t columns)
{
    const size_t n = (last - first) * columns * sizeof(double);
    void *const h = piece, *const max_h = piece + n, *const arrival = piece + 2 * n;
    return (struct sciddicat_rows){first, last, h, max_h, arrival};
}

#endif
