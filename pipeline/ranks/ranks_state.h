/*
 * ranks_state - what the thread of ranks (ranks_thread.c) and the public calls (ranks.c) share. The
 * calls only say what they want and wait for news; the thread alone sends and receives.
 */
#ifndef LEAT_PIPELINE_RANKS_RANKS_STATE_H
#define LEAT_PIPELINE_RANKS_RANKS_STATE_H

#include "pipeline/ranks/claims.h"
#include "pipeline/ranks/ranks.h"

#include <pthread.h>

#define RANKS_NOBODY SIZE_MAX

/* What each rank shows all others when it joins; the same in all versions. */
struct rank_card {
    char host[64], version[32];
    uint64_t digest;
};

/* A rank, as far as this one knows. */
struct rank_peer {
    double heard_s; /* on this rank's clock */
    bool cleaned_up;
};

enum rank_request { RANK_REQUEST_NONE, RANK_REQUEST_DUE, RANK_REQUEST_SENT };

/* Under the lock, but for what ranks_open() sets and joining finds out. */
struct ranks {
    const struct rank_transport *transport;
    struct rank_link *link;
    struct ranks_start start;
    double timeout_s; /* INFINITY: none */
    size_t own, size;
    struct rank_card *cards; /* of all ranks */
    struct rank_peer *peers; /* likewise; of use in rank 0: all, elsewhere: rank 0 and itself */

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

    struct claims claims; /* rank 0: all; others: a copy, which is behind */
    enum rank_request request;
    uint64_t requested; /* key */
    bool stopped;       /* no further job is wanted */

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

/* The thread: joins, works until it may leave, and leaves. */
void *ranks_thread(void *ranks);

static inline bool ranks_are_ending(const struct ranks *r)
{
    return r->why[0] != '\0';
}

void ranks_add_totals(struct ranks *r, const uint64_t totals[RANKS_TOTALS]);
/* By what has passed, but not by long gaps, in which the process was stopped. */
void ranks_advance_clock(struct ranks *r);
/* As pthread_cond_timedwait, for so long. Whether it was woken before. */
bool ranks_wait(struct ranks *r, pthread_cond_t *condition, double seconds);

#endif
