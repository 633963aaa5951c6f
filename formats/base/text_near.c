/*
 * text_near - see text_near.h. The distance is the optimal string alignment distance (edits and
 * swaps of neighbours, none twice at the same place), by dynamic programming over three rows.
 */
#include "formats/base/text_near.h"

#include "formats/base/sizes.h"

#include <ctype.h>
#include <string.h>

/* Longer words are not compared letter by letter: no key is as long. */
enum { LONGEST_WORD = 63 };

static size_t distance_between(const char *a, const char *b)
{
    size_t n_a = strlen(a), n_b = strlen(b);
    if (n_a > LONGEST_WORD || n_b > LONGEST_WORD) {
        return strcmp(a, b) == 0 ? 0 : n_a + n_b;
    }
    size_t rows[3][LONGEST_WORD + 1];
    for (size_t j = 0; j <= n_b; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= n_a; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *twice_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t replaced = above[j - 1] + (tolower((unsigned char)a[i - 1]) !=
                                              tolower((unsigned char)b[j - 1]));
            row[j] = lesser(replaced, lesser(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = lesser(row[j], twice_above[j - 2] + 1);
            }
        }
    }
    return rows[n_a % 3][n_b];
}

void text_near_offer(struct text_near *near, const char *candidate)
{
    size_t n_word = strlen(near->word), n_candidate = strlen(candidate);
    if (n_word == 0) {
        return;
    }
    size_t distance = distance_between(near->word, candidate);
    /* What begins alike counts as near: "thread" for "threads", "prec" for "precision". */
    if (n_word >= 3 && n_word < n_candidate && strncmp(near->word, candidate, n_word) == 0) {
        distance = 1;
    }
    size_t limit = (n_word + 2) / 3;
    if (distance <= limit && distance < n_candidate &&
        (near->best == NULL || distance < near->distance)) {
        near->best = candidate;
        near->distance = distance;
    }
}
