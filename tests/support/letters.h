/*
 * letters - a transport of ranks that lies in this process: messages are letters in lists. A test
 * may stop a rank, cut it off, or keep it from leaving.
 */
#ifndef LEAT_TESTS_LETTERS_H
#define LEAT_TESTS_LETTERS_H

#include "pipeline/ranks/rank_transport.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { LETTERS_MOST_RANKS = 8 };

struct letter;

struct rank_link {
    size_t own;
    struct letter *first, **last, *read;
    atomic_bool stopped;  /* as if its process were */
    atomic_size_t cut_to; /* sending to this rank fails */
    atomic_bool lingers;  /* it cannot be closed */
    atomic_bool leaves, killed, closed;
    atomic_size_t n_sent, n_polls, n_totals; /* how often it has looked for letters; that came */
};

extern const struct rank_transport letters_transport;
extern struct rank_link letters_links[LETTERS_MOST_RANKS];
extern size_t letters_n_links;
extern atomic_bool letters_gather_fails;

/* So many ranks are going to open it, in any order; afterwards: forgets letters that nobody has
 * read. */
void letters_begin(size_t n);
void letters_end(void);
/* Receiving fails, from now on for all. */
void letters_set_deaf(bool deaf);
void letters_sleep(double seconds);

#endif
