/*
 * spool_round - one run of the protocol over one set of files: what is dropped, and what is there
 * in the end.
 *
 * A token in each file tells it from all others. Lost: it has no result, or is in neither done/ nor
 * failed/. Doubled: it has two. Torn: a result is not whole. Left: anything in in/, .work/ or
 * hidden in out/.
 */
#ifndef LEAT_TESTS_SPOOL_ROUND_H
#define LEAT_TESTS_SPOOL_ROUND_H

#include <stdbool.h>
#include <stddef.h>

enum { TOKENS_MAX = 64 };

/* One run of the protocol over one set of files. */
struct round {
    char root[300];
    char out[300]; /* on a disk of its own; "": in root */
    int root_fd;
    bool replace;                                  /* and delete inputs */
    size_t batch, claims, attempts, durable, ends; /* see spool_service.h */
    struct {
        char token[32];
        bool fails;
        unsigned n_results, n_archived, n_failed;
    } tokens[TOKENS_MAX];
    size_t n_tokens;
};

/* What all rounds have come to. */
extern struct totals {
    unsigned long n_rounds, n_deaths, n_lost, n_doubled, n_torn, n_left, n_uncharged;
} totals;

/* A new folder in `base`, with results in `disk` (NULL: in it, too), with files of every kind in
 * in/; n_more > 0: so many more, and all jobs go on together, as many as share a sync. */
void begin_round(struct round *r, const char *base, const char *disk, bool replace, size_t n_more);
/* Drops a file whole, as a careful user does; `fails`: it is to end in failed/. */
void drop(struct round *r, const char *path, bool fails);
/* Counts into `totals`, and removes the folder. */
void check_round(struct round *r);

#endif
