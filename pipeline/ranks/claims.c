/*
 * claims - see claims.h. Open addressing with linear probing; keys are hashes already, spread over
 * the table by Fibonacci's multiplier in case they are not.
 */
#include "pipeline/ranks/claims.h"

#include "watch/files/xalloc.h"

#include <stdlib.h>

enum { FEWEST_PLACES = 1024 };

/* Where the key stands, or would stand. */
static size_t find_place(const struct claims *c, uint64_t key)
{
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (c->n_places - 1);
    while (c->places[at] != 0 && c->all[c->places[at] - 1].key != key) {
        at = (at + 1) & (c->n_places - 1);
    }
    return at;
}

const struct claim *claims_find(const struct claims *c, uint64_t key)
{
    const size_t place = c->n_places > 0 ? c->places[find_place(c, key)] : 0;
    return place > 0 ? &c->all[place - 1] : NULL;
}

static void grow(struct claims *c)
{
    c->n_places = c->n_places > 0 ? 2 * c->n_places : FEWEST_PLACES;
    c->all = xrealloc(c->all, c->n_places / 2, sizeof(*c->all));
    free(c->places);
    c->places = xcalloc(c->n_places, sizeof(*c->places));
    for (size_t i = 0; i < c->n; i++) {
        c->places[find_place(c, c->all[i].key)] = i + 1;
    }
}

void claims_add(struct claims *c, uint64_t key, uint64_t owner)
{
    if (claims_find(c, key) != NULL) {
        return;
    }
    if (2 * c->n == c->n_places) {
        grow(c);
    }
    c->all[c->n++] = (struct claim){key, owner};
    c->places[find_place(c, key)] = c->n;
}

void claims_free(struct claims *c)
{
    free(c->all);
    free(c->places);
    *c = (struct claims){0};
}
