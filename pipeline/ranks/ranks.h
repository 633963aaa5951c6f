/*
 * ranks - the processes that one mpirun or srun has started work off the same inputs: whose job is
 * which, what they have done together, and how they end when one of them is lost.
 *
 * Every rank has one thread that alone calls MPI, through the module leat_mpi.so, and sends
 * heartbeats. Rank 0 decides: a job is the first rank's that asks for its key. Each rank keeps a
 * copy of the claims and asks only about keys that are not in it, so it asks about as often as it
 * has jobs, however many ranks there are.
 *
 * A rank that is done may compute for one that is not, which borrows it until it gives it back. The
 * two talk by a stream of bytes each way; rank 0 says who is borrowed by whom. A rank that is done
 * takes no job any more, so that nobody waits for anybody in a circle.
 *
 * Rank 0 watches the others, and they watch it. When a rank has not been heard of for the timeout,
 * all others are told to stop. The processes of all ranks are ended once the others have cancelled
 * and cleaned up what they were doing, but after four more timeouts at the latest; where rank 0 is
 * lost, after one more. Time in which a rank is itself stopped does not count for it.
 */
#ifndef LEAT_PIPELINE_RANKS_RANKS_H
#define LEAT_PIPELINE_RANKS_RANKS_H

#include "formats/base/status.h"
#include "pipeline/ranks/rank_transport.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ranks;

/* Loads the module. STATUS_UNSUPPORTED: there is none, or it cannot be loaded. */
enum status ranks_load(const struct rank_transport **out) STATUS_MUST_CHECK;

/* What a rank is to the others. */
struct ranks_start {
    double timeout_s;    /* a rank that is silent for longer is lost; 0: never */
    const char *version; /* of the program, which borrows it */
    uint64_t digest;     /* a number for what it is to do */
};

/* Joins the others; waits until all have come. STATUS_CANCELLED, in all ranks: version or digest of
 * one of them are not rank 0's, which has logged it. */
enum status ranks_open(const struct rank_transport *transport, const struct ranks_start *start,
                       struct ranks **out) STATUS_MUST_CHECK;
size_t ranks_own(const struct ranks *r);
size_t ranks_size(const struct ranks *r);

/* Has `lost(user)` called once a rank is lost (which one of them logs), on any thread; at once
 * where one is already. lost NULL: no more, also not at this moment. It must not call functions of
 * ranks. */
void ranks_watch(struct ranks *r, void (*lost)(void *user), void *user);

/* Whether the job with that key is this rank's. The same answer for a key each time, on each rank;
 * but once a rank is lost or after ranks_stop() no further job is this rank's. For one thread at a
 * time; waits for rank 0. */
bool ranks_claim(struct ranks *r, uint64_t key);
/* From any thread: this rank takes no further job. */
void ranks_stop(struct ranks *r);

/* What a rank does that is borrowed: talks with the borrower until that needs it no more. */
struct ranks_help {
    void (*help)(void *user, size_t borrower);
    void *user;
};

/* This rank is done. Waits until all are, and adds up their totals. Once. Meanwhile it may be
 * borrowed, once or more; help NULL: not. STATUS_IO: a rank is lost. */
enum { RANKS_TOTALS = 8 };
enum status ranks_sum(struct ranks *r, uint64_t totals[RANKS_TOTALS],
                      const struct ranks_help *help) STATUS_MUST_CHECK;

/* Borrows up to n ranks that are done and not borrowed, which may be none; waits for rank 0. Each
 * of them has to hear from this one, and is given back when its help() returns. From any thread;
 * once a rank is lost or after ranks_stop() there are none. */
void ranks_borrow(struct ranks *r, size_t n, size_t *borrowed, size_t *n_borrowed);
/* Sends bytes to the rank that is borrowed, or the borrower: `head`, then `body`, which may be
 * large. Waits until they are on their way; the memory is the caller's again. For one thread at a
 * time of those that talk with one rank, as is the next. STATUS_CANCELLED: a rank is lost, or the
 * borrower stops; it keeps what it has borrowed then, until all are done. */
enum status ranks_write(struct ranks *r, size_t to, const void *head, size_t head_bytes,
                        const void *body, size_t body_bytes) STATUS_MUST_CHECK;
/* Waits for as many bytes from there. Likewise. */
enum status ranks_read(struct ranks *r, size_t from, void *to, size_t bytes) STATUS_MUST_CHECK;

/* Leaves the others; waits until all do, so that none ends while another still has something to
 * say. Where a rank is lost, or does not leave in time, it ends all processes, this one with exit
 * status 1, and does not return. */
void ranks_close(struct ranks *r);

#endif
