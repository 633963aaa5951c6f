/*
 * text_near - what somebody may have meant who mistyped a word.
 */
#ifndef LEAT_FORMATS_BASE_TEXT_NEAR_H
#define LEAT_FORMATS_BASE_TEXT_NEAR_H

#include <stddef.h>

/* The nearest of several words to a mistyped one, by the letters that must be inserted, removed,
 * replaced or swapped with their neighbour; a capital is no mistake:
 *     struct text_near near = {.word = word};
 *     text_near_offer(&near, "jobs"); ...
 *     near.best                        NULL when nothing offered is near
 * The first of several equally near ones wins. `word` and the words offered are borrowed. */
struct text_near {
    const char *word, *best;
    size_t distance; /* of best */
};
void text_near_offer(struct text_near *near, const char *candidate);

#endif
