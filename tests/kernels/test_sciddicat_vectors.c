/*
 * test_sciddicat_vectors - rows that begin with guesses at who is left, right and wrong ones, emit
 * the bits of the rounds begun with all, in every instruction set that this processor has: on
 * levels apart by any power of two down to their last bit, equal, below 0, and tiny.
 */
#include "kernels/sciddicat/sciddicat_cpu.h"
#include "kernels/sciddicat/sciddicat_rule.h"
#include "tests/support/reference.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 3,
    SEGMENTS = 6,
    CELLS = SEGMENTS * SEGMENT,
    AROUND = ROW_PAD_CELLS,
    KINDS = 6,
    LAST_DIGITS = 4
};

/* Three rows; the middle one emits. */
struct strip {
    double z[ROWS][CELLS + 2 * AROUND], h[ROWS][CELLS + 2 * AROUND];
    double to[SIDES][CELLS + 2 * AROUND];
    uint8_t active[SEGMENTS + 2 * ROW_PAD_SEGMENTS], accepts[ROWS][SEGMENTS + 2 * ROW_PAD_SEGMENTS];
    uint8_t emitted[SEGMENTS + 2 * ROW_PAD_SEGMENTS], guess[CELLS + 2 * AROUND];
    struct sciddicat_row row[ROWS];
    struct sciddicat_flows flows;
};

static size_t below(struct reference_random *g, double n)
{
    return (size_t)(n * reference_uniform(g));
}

/* A power of two between 1 and 2^-least, or nothing. */
static double apart(struct reference_random *g, double least)
{
    return below(g, 8) == 0 ? 0 : ldexp(1, -(int)below(g, least));
}

/* A level, of one kind in a row, and what may lie on it. */
static double level(size_t kind, struct reference_random *g)
{
    const double sign = below(g, 2) ? 1 : -1;
    switch (kind) {
    case 0:
        return 1500 + sign * apart(g, 60);
    case 1:
        return 1500 + ldexp((double)below(g, LAST_DIGITS), -42);
    case 2:
        return 3 + sign * apart(g, 12);
    case 3:
        return fabs(apart(g, 60));
    case 4:
        return ldexp(1 + apart(g, 60), -1000); /* remainders underflow */
    default:
        return sign < 0 ? -1 : apart(g, 60) * reference_uniform(g);
    }
}

static double debris(size_t kind, struct reference_random *g)
{
    if (kind == 1) {
        return ldexp((double)below(g, 4 * LAST_DIGITS), -43);
    }
    return kind == 5 ? 1 + apart(g, 52) : ldexp(apart(g, 60), kind == 4 ? -1000 : 0);
}

static void put_row(struct strip *s, size_t i, size_t kind, double epsilon,
                    struct reference_random *g)
{
    for (size_t j = AROUND; j < CELLS + AROUND; ++j) {
        s->z[i][j] = level(kind, g);
        s->h[i][j] = epsilon + debris(kind, g);
    }
    for (size_t k = 0; k < SEGMENTS; ++k) {
        s->accepts[i][k + ROW_PAD_SEGMENTS] = (uint8_t) ~(1u << below(g, 16));
    }
    s->row[i] = (struct sciddicat_row){.h = s->h[i] + AROUND,
                                       .z = s->z[i] + AROUND,
                                       .active = s->active + ROW_PAD_SEGMENTS,
                                       .accepts = s->accepts[i] + ROW_PAD_SEGMENTS,
                                       .guess = s->guess + AROUND,
                                       .end = SEGMENTS};
}

/* Levels to the north at what the cell and its south would be filled to, or almost. */
static void tie_north(struct strip *s, double epsilon, struct reference_random *g)
{
    for (size_t j = AROUND; j < CELLS + AROUND; ++j) {
        const double m = s->h[1][j] - epsilon, u0 = s->z[1][j] + epsilon;
        const double sign = below(g, 2) ? 1 : -1, u4 = s->z[2][j] + s->h[2][j];
        s->h[0][j] = 0;
        s->z[0][j] = (m + u0 + u4) / 2 + sign * ldexp(apart(g, 32), -24);
    }
}

static int bit(const uint8_t *bits, size_t j)
{
    return bits[j / SEGMENT] >> j % SEGMENT & 1;
}

/* Who takes part in what cell j emits. */
static void acceptors(const struct strip *s, size_t j, sciddicat_mask *alive)
{
    const bool walls = s->row[1].accepts != NULL;
    alive[0] = true;
    alive[1] = !walls || bit(s->row[0].accepts, j);
    alive[2] = !walls || (j > 0 && bit(s->row[1].accepts, j - 1));
    alive[3] = !walls || (j + 1 < CELLS && bit(s->row[1].accepts, j + 1));
    alive[4] = !walls || bit(s->row[2].accepts, j);
}

/* What cell j sees. */
static void levels(const struct strip *s, size_t j, double epsilon, double *u)
{
    const struct sciddicat_row *north = &s->row[0], *self = &s->row[1], *south = &s->row[2];
    const double *z = self->z + j, *h = self->h + j;
    u[0] = z[0] + epsilon;
    u[1] = north->z[j] + north->h[j];
    u[2] = z[-1] + h[-1];
    u[3] = z[1] + h[1];
    u[4] = south->z[j] + south->h[j];
}

/* Some of those who take part, or those up to some level, or none: their number, and bit 3 + n for
 * n. */
static void guess_at_random(struct strip *s, double epsilon, struct reference_random *g)
{
    const bool up_to = below(g, 3) != 0;
    for (size_t j = 0; j < CELLS; ++j) {
        sciddicat_mask alive[SCIDDICAT_SEEN];
        double u[SCIDDICAT_SEEN];
        const size_t chosen = below(g, 32);
        acceptors(s, j, alive);
        levels(s, j, epsilon, u);
        s->guess[j + AROUND] = 0;
        for (unsigned n = 0; n < SCIDDICAT_SEEN; ++n) {
            const bool in = up_to ? u[n] <= u[chosen % SCIDDICAT_SEEN] : chosen >> n & 1;
            const unsigned one = alive[n] && in ? 1 : 0;
            s->guess[j + AROUND] = (uint8_t)(s->guess[j + AROUND] + one * ((8u << n) + 1));
        }
    }
}

/* Every other strip has levels that differ in their last digits alone. */
static size_t kind_of(uint64_t seed)
{
    return seed % 2 ? 1 : seed / 2 % KINDS;
}

static struct strip *strip_new(uint64_t seed, double epsilon, struct reference_random *g)
{
    struct strip *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (size_t i = 0; i < ROWS; ++i) {
        put_row(s, i, kind_of(seed), epsilon, g);
        if (seed % 4 != 0) {
            s->row[i].accepts = NULL;
        }
    }
    if (kind_of(seed) != 4 && below(g, 2)) {
        tie_north(s, epsilon, g);
    }
    const size_t one_of =
        below(g, 4) ? 16 : 1; /* alone, a cell's guess is not set aside for others' */
    for (size_t j = 0; j < CELLS; ++j) {
        const unsigned emits = s->row[1].h[j] > epsilon && below(g, (double)one_of) == 0 ? 1 : 0;
        s->row[1].active[j / SEGMENT] |= (uint8_t)(emits << j % SEGMENT);
    }
    s->flows.active = s->emitted + ROW_PAD_SEGMENTS;
    for (size_t n = 0; n < SIDES; ++n) {
        s->flows.to[n] = s->to[n] + AROUND;
    }
    return s;
}

static void emit_and_compare(const struct sciddicat_row_kernels *set, struct strip *s,
                             const struct sciddicat_rule *rule)
{
    const struct sciddicat_row *self = &s->row[1];
    set->emit(rule, &s->row[0], self, &s->row[2], &s->flows);
    for (size_t j = 0; j < CELLS; ++j) {
        const double m = self->h[j] - rule->epsilon;
        double u[SCIDDICAT_SEEN];
        levels(s, j, rule->epsilon, u);
        sciddicat_mask alive[SCIDDICAT_SEEN];
        acceptors(s, j, alive);
        const double average = sciddicat_average(m, u, alive);
        for (size_t n = 0; n < SIDES; ++n) {
            const double flow = sciddicat_flow(alive[n + 1], average, u[n + 1], rule->r);
            const double want = bit(self->active, j) ? flow : 0;
            if (memcmp(&s->flows.to[n][j], &want, sizeof want) != 0) {
                print_error("%s: m %a, u %a %a %a %a %a: %a to %zu for %a\n", set->name, m, u[0],
                            u[1], u[2], u[3], u[4], s->flows.to[n][j], n, want);
                fail();
            }
        }
    }
    set->clear(&s->flows);
}

TEST(sciddicat_vectors_end_with_the_bits_of_the_rounds_from_any_guess)
{
    const struct sciddicat_row_kernels *set;
    for (size_t i = 0; (set = cpu_sciddicat_set(i)) != NULL; ++i) {
        struct reference_random g = {1};
        for (uint64_t seed = 0; seed < 4000; ++seed) {
            const double epsilon = kind_of(seed) == 4 ? 0x1p-1001 : seed % 5 ? 0.25 : 0;
            const struct sciddicat_rule rule = {.epsilon = epsilon, .r = 0.3};
            struct strip *s = strip_new(seed, epsilon, &g);
            for (int m = 0; m < 3; ++m) {
                guess_at_random(s, epsilon, &g);
                emit_and_compare(set, s, &rule); /* from any guess */
                emit_and_compare(set, s, &rule); /* from who was left */
            }
            free(s);
        }
    }
}

TEST(sciddicat_vectors_keep_who_is_left)
{
    const struct sciddicat_row_kernels *set;
    for (size_t i = 0; (set = cpu_sciddicat_set(i)) != NULL; ++i) {
        struct reference_random g = {2};
        const struct sciddicat_rule rule = {.epsilon = 0.25, .r = 0.3};
        struct strip *s = strip_new(1, 0.25, &g);
        for (size_t r = 0; r < ROWS; ++r) {
            for (size_t j = 0; j < CELLS; ++j) {
                s->row[r].z[j] = (double)(10 * (3 - r) + j % 4);
                s->row[r].h[j] = 1;
            }
        }
        memset(s->row[1].active, 0xff, SEGMENTS);
        set->emit(&rule, &s->row[0], &s->row[1], &s->row[2], &s->flows);
        for (size_t j = 1; j + 1 < CELLS; ++j) {
            assert_int_equal(s->row[1].guess[j], 1 + (8 << 4)); /* the row below alone */
        }
        free(s);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
