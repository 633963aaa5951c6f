/*
 * test_sciddicat_guess - the rounds begun from a guess end with the bits of the rounds begun with
 * all: on levels far apart, equal, and apart by any power of two down to their last bit.
 */
#include "kernels/sciddicat/sciddicat_guess_rule.h"
#include "kernels/sciddicat/sciddicat_list_rule.h"
#include "tests/support/reference.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stddef.h>

static size_t n_sure;   /* guesses that were sure at once ... */
static size_t n_second; /* ... and where one was not, those that it led to */

static void compare(double m, const double *u, unsigned guess)
{
    sciddicat_mask alive[SCIDDICAT_SEEN] = {true, true, true, true, true};
    const double average = sciddicat_average(m, u, alive);
    unsigned next = guess;
    double flow[SCIDDICAT_SEEN - 1];
    sciddicat_flows_from(m, u, 0.5, SCIDDICAT_ALL, &next, flow);
    for (int n = 0; n < SCIDDICAT_SEEN - 1; ++n) {
        const double want = sciddicat_flow(alive[n + 1], average, u[n + 1], 0.5);
        if (next > SCIDDICAT_ALL || memcmp(&flow[n], &want, sizeof want) != 0) {
            print_error("m %a, u %a %a %a %a %a, guess %u: %a to %d for %a\n", m, u[0], u[1], u[2],
                        u[3], u[4], guess, flow[n], n, want);
            fail();
        }
    }
}

/* What is sure at once is what the rounds give; those above HUGE_VAL take no part. */
static bool compare_if_sure(double m, const double *u, unsigned guess, unsigned *lower)
{
    sciddicat_mask alive[SCIDDICAT_SEEN];
    double by[2] = {0, 0}, flow[SCIDDICAT_SEEN - 1];
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        alive[n] = u[n] < HUGE_VAL;
    }
    const double average = sciddicat_average(m, u, alive);
    for (unsigned set = guess; set != 0; set &= set - 1) {
        by[1] += 1;
        by[0] = 1 / by[1];
    }
    const bool sure = sciddicat_flows_if_sure(m, u, 0.5, guess, by, flow, lower);
    for (int n = 0; n < SCIDDICAT_SEEN - 1 && sure; ++n) {
        const double want = sciddicat_flow(alive[n + 1], average, u[n + 1], 0.5);
        assert_memory_equal(&flow[n], &want, sizeof want);
    }
    return sure;
}

/* All five accept, then all but one, which no guess holds. */
static void compare_all_if_sure(double m, const double *u, unsigned guess)
{
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        unsigned lower, second;
        double v[SCIDDICAT_SEEN];
        memcpy(v, u, sizeof v);
        if (n > 0) {
            v[n] = HUGE_VAL;
        }
        if (n > 0 && (guess >> n & 1) != 0) {
            continue;
        }
        if (compare_if_sure(m, v, guess, &lower)) {
            n_sure++;
        } else if (guess != 0 && compare_if_sure(m, v, lower, &second)) {
            n_second++;
        }
    }
}

static void every_guess(double m, const double *u)
{
    for (unsigned guess = 0; guess <= SCIDDICAT_ALL; ++guess) {
        compare(m, u, guess);
        compare_all_if_sure(m, u, guess);
    }
}

TEST(sciddicat_guess_is_right_on_levels_of_all_kinds)
{
    struct reference_random g = {1};
    for (int i = 0; i < 20000; ++i) {
        const double scale = ldexp(1, (int)(60 * reference_uniform(&g)) - 30);
        const double base = i % 3 == 0 ? 0 : 2000 * reference_uniform(&g);
        double u[SCIDDICAT_SEEN];
        for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
            u[n] = base + scale * reference_uniform(&g);
        }
        every_guess(scale * reference_uniform(&g) + 1e-300, u);
    }
    assert_true(n_sure >= 95000); /* one guess of each cell, but for a few */
    assert_true(n_second > n_sure);
}

/* Each level is the one that m would fill the first ones to, moved by a power of two of either
 * sign: down to nothing. */
TEST(sciddicat_guess_is_right_on_ties)
{
    struct reference_random g = {2};
    for (int i = 0; i < 40000; ++i) {
        const double base = i % 2 ? 1500 * reference_uniform(&g) : floor(9 * reference_uniform(&g));
        const double m = 0.25 + reference_uniform(&g);
        double u[SCIDDICAT_SEEN] = {base};
        const int n_first = 1 + (int)(3 * reference_uniform(&g));
        double sum = m + base;
        for (int n = 1; n < n_first; ++n) {
            u[n] = base + 0.2 * reference_uniform(&g) * m;
            sum += u[n];
        }
        for (int n = n_first; n < SCIDDICAT_SEEN; ++n) {
            const double apart =
                ldexp(1 + reference_uniform(&g), -(int)(60 * reference_uniform(&g)));
            const double sign = floor(3 * reference_uniform(&g)) - 1;
            u[n] = sum / n_first + sign * apart;
        }
        every_guess(m, u);
    }
}

/* As CUDA's tables of occupancy have it for compute capability 9.0, 8.0, 8.6 and 8.9. */
TEST(a_step_by_lists_has_as_many_blocks_as_the_device_holds)
{
    assert_int_equal(sciddicat_list_blocks(132, 233472, 1024), 132 * 12);
    assert_int_equal(sciddicat_list_blocks(108, 167936, 1024), 108 * 9);
    assert_int_equal(sciddicat_list_blocks(84, 102400, 1024), 84 * 5);
    assert_int_equal(sciddicat_list_blocks(142, 102400, 1024), 142 * 5);
    /* room for five, but for what is reserved */
    assert_int_equal(sciddicat_list_blocks(1, (size_t)5 * SCIDDICAT_LIST_BYTES, 1024), 4);
}

TEST(sciddicat_guess_is_right_below_zero_and_near_it)
{
    struct reference_random g = {3};
    static const double scales[] = {0x1p-1070, 0x1p-1000, 0x1p-910, 0x1p-890, 0x1p-700, 1, 1e300};
    for (int i = 0; i < 20000; ++i) {
        const double scale = scales[i % 7];
        double u[SCIDDICAT_SEEN];
        for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
            u[n] = scale * floor(8 * reference_uniform(&g) - (i % 2 ? 4 : 0));
        }
        every_guess(scale * (1 + floor(4 * reference_uniform(&g))), u);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
