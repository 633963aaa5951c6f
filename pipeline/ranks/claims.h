/*
 * claims - whose each key is: the first that claims it has it. Claims stand in the order in which
 * they were made, so that a copy is brought up to date by those that have come since.
 */
#ifndef LEAT_PIPELINE_RANKS_CLAIMS_H
#define LEAT_PIPELINE_RANKS_CLAIMS_H

#include <stddef.h>
#include <stdint.h>

struct claim {
    uint64_t key;
    uint64_t owner;
};

/* Empty when zero. */
struct claims {
    struct claim *all; /* in the order in which they were made */
    size_t n;
    size_t *places;  /* a hash table of 1 + where a claim stands; 0: none */
    size_t n_places; /* a power of two, at least twice the claims; or 0 */
};

/* The key's claim; NULL: nobody has claimed it. Valid until the next is added. */
const struct claim *claims_find(const struct claims *c, uint64_t key);
/* Adds the key's claim, unless it has one. */
void claims_add(struct claims *c, uint64_t key, uint64_t owner);
void claims_free(struct claims *c);

#endif
