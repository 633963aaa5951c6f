/*
 * Groups of random graphs against their definition and against Jones and Plassmann's rounds on the
 * complement, in which all things that may take a colour do so at once.
 */
#include "kernels/philox/philox_rule.h"
#include "stages/pearson/cliques.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 90 };
static const double limit = 0.5;

struct graph {
    size_t n, n_pairs;
    double r[MOST][MOST]; /* NaN: none */
    struct matrix_pair pairs[MOST * MOST];
};

static bool is_edge(const struct graph *g, size_t i, size_t j)
{
    return g->r[i][j] >= limit;
}

static void set(struct graph *g, size_t i, size_t j, double r)
{
    g->r[i][j] = g->r[j][i] = r;
}

/* Pairs from `least` on are listed, the last one first. */
static void list(struct graph *g, double least)
{
    g->n_pairs = 0;
    for (size_t i = g->n; i-- > 0;) {
        for (size_t j = g->n; j-- > i + 1;) {
            if (g->r[i][j] >= least) {
                g->pairs[g->n_pairs++] = (struct matrix_pair){(uint32_t)i, (uint32_t)j, g->r[i][j]};
            }
        }
    }
}

/* Things in `blocks` that mostly go together, with edges of a share of all others. */
static void make(struct graph *g, size_t n, size_t blocks, double share)
{
    uint64_t state = n + blocks;
    *g = (struct graph){.n = n};
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            const struct philox_words w = philox_block(7, i * MOST + j, state++);
            const double chance = (philox_uniform(w.w[0]) + 1) / 2;
            const bool edge = chance < (i % blocks == j % blocks ? 0.9 : share);
            set(g, i, j, (edge ? 0.75 : 0.25) + philox_uniform(w.w[1]) / 4);
        }
    }
    list(g, 0.3);
}

static struct cliques groups_of(const struct graph *g, bool absolute, struct room *room)
{
    struct cliques c;
    assert_int_equal(cliques_room(&c, g->n, g->n_pairs, room, room), STATUS_OK);
    cliques_find(&c, g->pairs, g->n_pairs, limit, absolute);
    return c;
}

/* --- the rounds ------------------------------------------------------------------------------- */

static bool is_before(const size_t *degree, size_t a, size_t b)
{
    const uint32_t x = philox_block(0, a, 0).w[0], y = philox_block(0, b, 0).w[0];
    return degree[a] != degree[b] ? degree[a] > degree[b] : x != y ? x > y : a < b;
}

static size_t first_free(const struct graph *g, const size_t *colour, size_t i)
{
    for (size_t c = 0;; c++) {
        bool is_free = true;
        for (size_t j = 0; j < g->n; j++) {
            is_free = is_free && !(j != i && !is_edge(g, i, j) && colour[j] == c);
        }
        if (is_free) {
            return c;
        }
    }
}

static void colour_in_rounds(const struct graph *g, size_t *colour)
{
    size_t degree[MOST] = {0}, next[MOST], left = g->n;
    for (size_t i = 0; i < g->n; i++) {
        colour[i] = next[i] = SIZE_MAX;
        for (size_t j = 0; j < g->n; j++) {
            degree[i] += j != i && !is_edge(g, i, j);
        }
    }
    while (left > 0) {
        for (size_t i = 0; i < g->n; i++) {
            bool waits = colour[i] != SIZE_MAX;
            for (size_t j = 0; j < g->n && !waits; j++) {
                waits =
                    j != i && !is_edge(g, i, j) && colour[j] == SIZE_MAX && is_before(degree, j, i);
            }
            if (!waits) {
                next[i] = first_free(g, colour, i);
                left--;
            }
        }
        memcpy(colour, next, sizeof next);
    }
}

/* --- what holds of groups --------------------------------------------------------------------- */

static void check_medoid(const struct graph *g, const struct cliques *c, size_t k)
{
    double least = NAN, best = -1;
    size_t medoid = 0;
    for (size_t i = 0; i < g->n; i++) {
        double sum = 0;
        for (size_t j = 0; j < g->n && c->of[i] == k; j++) {
            if (j != i && c->of[j] == k) {
                sum += g->r[i][j];
                least = fmin(least, g->r[i][j]);
            }
        }
        if (c->of[i] == k && sum > best + 1e-9) {
            best = sum;
            medoid = i;
        }
    }
    assert_int_equal(c->at[k].medoid, medoid);
    assert_true(c->at[k].size == 1 ? isnan(c->at[k].least) : c->at[k].least == least);
}

static bool could_be_one(const struct graph *g, const struct cliques *c, size_t a, size_t b)
{
    for (size_t i = 0; i < g->n; i++) {
        for (size_t j = 0; j < g->n; j++) {
            if (c->of[i] == a && c->of[j] == b && !is_edge(g, i, j)) {
                return false;
            }
        }
    }
    return true;
}

static void check(const struct graph *g, const struct cliques *c)
{
    size_t sizes[MOST] = {0}, first[MOST], colour[MOST];
    colour_in_rounds(g, colour);
    for (size_t i = g->n; i-- > 0;) {
        assert_in_range(c->of[i], 0, c->n - 1);
        sizes[c->of[i]]++;
        first[c->of[i]] = i;
        for (size_t j = i + 1; j < g->n; j++) {
            assert_true(c->of[i] != c->of[j] || is_edge(g, i, j));
            assert_int_equal(c->of[i] == c->of[j], colour[i] == colour[j]);
        }
    }
    for (size_t k = 0; k < c->n; k++) {
        assert_true(sizes[k] > 0);
        assert_int_equal(c->at[k].size, sizes[k]);
        assert_int_equal(c->at[k].first, first[k]);
        assert_true(k == 0 || sizes[k] < sizes[k - 1] ||
                    (sizes[k] == sizes[k - 1] && first[k] > first[k - 1]));
        check_medoid(g, c, k);
        for (size_t l = k + 1; l < c->n; l++) {
            assert_false(could_be_one(g, c, k, l));
        }
    }
}

TEST(groups_are_cliques_and_those_of_the_rounds)
{
    static const size_t counts[] = {1, 2, 3, 31, 33, MOST};
    static const double shares[] = {0, 0.1, 0.5, 0.95};
    struct graph *const g = malloc(sizeof *g);
    assert_non_null(g);
    for (size_t k = 0; k < 4 * 6 * 3; k++) {
        struct room room = {.queue = (struct queue *)g}; /* which host memory does not ask */
        make(g, counts[k % 6], 1 + k / 24 * 4, shares[k / 6 % 4]);
        struct cliques c = groups_of(g, false, &room);
        check(g, &c);
        room_free(&room);
    }
    free(g);
}

TEST(things_without_pairs_are_alone_and_things_alike_are_one_group)
{
    struct graph *const g = malloc(sizeof *g);
    assert_non_null(g);
    for (size_t alike = 0; alike < 2; alike++) {
        struct room room = {.queue = (struct queue *)g};
        *g = (struct graph){.n = MOST};
        for (size_t i = 0; i < MOST; i++) {
            for (size_t j = i + 1; j < MOST; j++) {
                set(g, i, j, alike ? 1 - 0x1p-53 * (double)((i + j) % 3) : (double)NAN);
            }
        }
        list(g, limit);
        struct cliques c = groups_of(g, false, &room);
        check(g, &c);
        assert_int_equal(c.n, alike ? 1 : MOST);
        assert_int_equal(c.at[0].medoid, 0); /* whatever the last bits are */
        room_free(&room);
    }
    free(g);
}

TEST(a_negative_r_is_high_where_its_magnitude_counts)
{
    struct matrix_pair pairs[] = {{0, 1, -0.9}, {0, 2, 0.8}, {1, 2, -0.5}};
    struct graph g = {.n = 3, .n_pairs = 3};
    struct room room = {.queue = (struct queue *)&g};
    memcpy(g.pairs, pairs, sizeof pairs);
    struct cliques c = groups_of(&g, false, &room);
    assert_int_equal(c.n, 2);
    assert_true(c.of[0] == 0 && c.of[1] == 1 && c.of[2] == 0 && c.at[0].least == 0.8);
    c = groups_of(&g, true, &room);
    assert_int_equal(c.n, 1);
    assert_true(c.at[0].least == 0.5 && c.at[0].medoid == 0);
    room_free(&room);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
