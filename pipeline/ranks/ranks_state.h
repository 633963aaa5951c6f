/*
 * ranks_state - what the thread of ranks (ranks_thread.c) and the public calls (ranks.c) share. The
 * calls only say what they want and wait for news; the thread alone sends and receives.
 */
#ifndef LEAT_PIPELINE_RANKS_RANKS_STATE_H
#define LEAT_PIPELINE_RANKS_RANKS_STATE_H

#include "pipeline/ranks/ranks.h"

#include <pthread.h>

#define RANKS_NOBODY SIZE_MAX

/* Which copy has each key: the first that claims it. Claims stand in the order in which they were
 * made, so that a copy is brought up to date by those that have come since. Empty when zero. */
struct ranks_claim {
    uint64_t key, owner;
};
struct ranks_claims {
    struct ranks_claim *all;
    size_t n;
    void *tree; /* of copies, by their keys */
};

/* What each rank shows all others when it joins; the same in all versions. */
struct rank_card {
    char host[64], version[32];
    uint64_t digest;
};

/* A piece of a stream that has come. */
struct rank_piece {
    struct rank_piece *next;
    size_t n_bytes;
    char bytes[];
};

/* What this rank writes to another one and reads from it. So many pieces at most are on their way
 * or not read yet. */
enum { RANK_WINDOW = 8 };
struct rank_stream {
    struct rank_part {
        const char *at;
        size_t n_bytes;
    } out[2];        /* the writer's, not sent yet */
    size_t n_unread; /* pieces that were sent, and the other has not said to have read */
    struct rank_piece *first, *last;
    size_t n_read;     /* bytes of the first */
    size_t n_finished; /* pieces that were read, which the other has not been told of */
};

/* A rank, as far as this one knows. */
struct rank_peer {
    double heard_s; /* on this rank's clock */
    bool cleaned_up;
    bool is_idle; /* in rank 0: it can be borrowed */
    struct rank_stream stream;
};

enum rank_request { RANK_REQUEST_NONE, RANK_REQUEST_DUE, RANK_REQUEST_SENT };

/* So many at most are borrowed at a time. */
enum { RANK_MOST_BORROWED = 64 };

/* Under the lock, but for what ranks_open() sets and joining finds out. */
struct ranks {
    const struct rank_transport *transport;
    struct rank_link *link;
    struct ranks_start start;
    double timeout_s; /* INFINITY: none */
    size_t own, size;
    struct rank_card *cards; /* of all ranks */
    struct rank_peer *peers; /* likewise; what they know of each other: in rank 0 of all, elsewhere
                                of rank 0 and itself */

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* the thread has something to do */
    pthread_cond_t news; /* the thread has done something */
    bool opened, closing, left;
    enum status open_code;
    char message[STATUS_MESSAGE_BYTES]; /* of open_code */

    double clock_s;     /* for which this process ran */
    uint64_t now_ns;    /* when that was taken */
    double heartbeat_s; /* when the next is due */
    long poll_us;

    struct ranks_claims claims; /* rank 0: all; others: a copy, which is behind */
    enum rank_request request;
    uint64_t requested; /* key */
    bool stopped;       /* no further job is wanted */

    pthread_mutex_t borrow_lock; /* taken before the other: one thread borrows at a time */
    enum rank_request borrowing;
    size_t n_wanted, n_borrowed;
    uint32_t borrowed[RANK_MOST_BORROWED];
    bool is_helpful; /* it can be borrowed, and rank 0 is to be told */
    size_t n_talks;  /* calls that wait for a stream to go on */
    void *outgoing;  /* a message, while it is made */

    uint64_t totals[RANKS_TOTALS]; /* in the end: of all */
    size_t n_added;                /* ranks whose totals are in these, and not sent yet */
    bool over;                     /* all are done */

    char why[STATUS_MESSAGE_BYTES]; /* the run ends early; "": it does not */
    size_t lost;                    /* whom it ends for; RANKS_NOBODY: for an error */
    double ended_s;                 /* when this rank learnt it */
    bool is_broken;                 /* messages can no longer be sent or received */
    void (*on_lost)(void *user);
    void *user;
};

/* The key's claim; NULL: nobody has claimed it. */
const struct ranks_claim *ranks_claims_find(const struct ranks_claims *c, uint64_t key);
/* Adds the key's claim, unless it has one. */
void ranks_claims_add(struct ranks_claims *c, uint64_t key, uint64_t owner);
void ranks_claims_free(struct ranks_claims *c);

/* The thread: joins, works until it may leave, and leaves. */
void *ranks_thread(void *ranks);

static inline bool ranks_are_ending(const struct ranks *r)
{
    return r->why[0] != '\0';
}

/* Rank 0: whom of those that are idle the rank gets, in r->borrowed; up to n. */
void ranks_lend(struct ranks *r, size_t to, size_t n);
void ranks_add_totals(struct ranks *r, const uint64_t totals[RANKS_TOTALS]);
/* By what has passed, but not by long gaps, in which the process was stopped. */
void ranks_advance_clock(struct ranks *r);
/* As pthread_cond_timedwait, for so long. Whether it was woken before. */
bool ranks_wait(struct ranks *r, pthread_cond_t *condition, double seconds);

#endif
