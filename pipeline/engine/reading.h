/*
 * reading - from a job's files to blocks of numbers, in file order: one read at a time, decoding in
 * any order. The first pass reads all parts; any of them may come once more, as often as it is
 * asked for. All on the loop thread, but for what says otherwise.
 */
#ifndef LEAT_PIPELINE_ENGINE_READING_H
#define LEAT_PIPELINE_ENGINE_READING_H

#include "pipeline/engine/job_input.h"
#include "pipeline/engine/job_tasks.h"

/* Decoded numbers, for passes after the first: a .npy file without a name. */
struct number_copy {
    int fd;        /* -1: none */
    bool given_up; /* it found no room */
    uint64_t bytes;
};

struct reading {
    struct job_tasks *tasks;
    struct job_input *input;       /* the job's; streams are taken from it */
    const struct stage_need *need; /* says whether parts come again */
    int folder_fd;                 /* where copies of numbers lie */
    bool without_copies;           /* for which there was no room */

    struct table *tables[STAGE_MAX_PARTS];
    struct table_watch *watch;               /* of the first; NULL: none */
    struct block *first_block, **last_block; /* read and not yet taken, in file order */
    size_t n_blocks;                         /* that the job has */
    bool is_busy, has_ended;                 /* a task reads; all of this pass has been read */
    size_t part, end_part;                   /* that is being read; where this pass ends */
    struct table *again;  /* of later passes; NULL in the first, which reads tables */
    uint64_t again_cells; /* of this later pass, so far */
    struct number_copy copies[STAGE_MAX_PARTS];
    bool has_copied;
    uint64_t cells[STAGE_MAX_PARTS]; /* of each part, taken in the first pass */
    uint64_t bytes_read;             /* of all files; for progress */
    uint32_t crc[STAGE_MAX_PARTS];
};

/* Of a zeroed one, but for the first five members, which are the caller's. */
void reading_begin(struct reading *r);
/* On a lane: opens the parts, reads their heads. */
enum status reading_open(struct reading *r) STATUS_MUST_CHECK;
/* Reads on, unless that is under way or all is read, or there is no block. */
void reading_advance(struct reading *r);

/* The next block, decoded; NULL: not yet, or there is none. */
static inline const struct block *reading_next(const struct reading *r)
{
    const struct block *const b = r->first_block;
    return b != NULL && b->state == BLOCK_READY ? b : NULL;
}
/* Takes it, and counts its cells. */
struct block *reading_take(struct reading *r);
/* Whether the next block is one that has failed: the job does so then. */
bool reading_fail(struct reading *r);
/* Whether all of this pass has been taken. */
static inline bool reading_is_over(const struct reading *r)
{
    return r->has_ended && r->first_block == NULL;
}
/* On a lane, in file order: looks at the numbers of a block that has been taken, if its part is
 * watched; and keeps them if that is to come again. */
enum status reading_watch(const struct block *b) STATUS_MUST_CHECK;
enum status reading_pass_on(struct block *b) STATUS_MUST_CHECK;
/* Gives the blocks of a list back, which is empty then. */
void reading_give_back(struct reading *r, struct block **list);
/* When no task of the job runs: gives those back that have not been taken. */
void reading_drop(struct reading *r);

/* So many cells of a part make that many lines, the last of which may not be whole. */
size_t reading_lines(const struct reading *r, size_t part, uint64_t cells);
/* On a lane, between two passes: a part is to come once more. reading_begin_pass follows. */
enum status reading_reopen(struct reading *r, size_t part) STATUS_MUST_CHECK;
void reading_begin_pass(struct reading *r);
/* Whether so many cells may come of a part in a later pass: no more than in the first. That no less
 * come follows from the file's being unchanged. */
bool reading_may_have(struct reading *r, size_t part, uint64_t cells);

/* On a lane, when nothing is read any more: closes all. `was_bad`: the content is wrong, so
 * STATUS_CHANGED tells of a file that was not whole. */
enum status reading_close(struct reading *r, bool was_bad) STATUS_MUST_CHECK;

#endif
