/*
 * unit - a test is named once: TEST(name) { ... } defines it, and unit_run runs all tests of the
 * file in their order. `state` is cmocka's, for tests that need it.
 */
#ifndef LEAT_TESTS_UNIT_H
#define LEAT_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define TEST(name) TEST_BETWEEN(name, NULL, NULL)

/* A test with a setup and a teardown of its own; each may be NULL. */
#define TEST_BETWEEN(name, set_up, tear_down)                                                      \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void unit_add_##name(void)                                 \
    {                                                                                              \
        unit_add((struct CMUnitTest){#name, name, set_up, tear_down, NULL}, __LINE__);             \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

enum { UNIT_MOST = 128 };

static struct CMUnitTest unit_tests[UNIT_MOST];
static int unit_lines[UNIT_MOST];
static size_t unit_count;

/* Constructors run in any order; tests are sorted by their lines. */
static inline void unit_add(struct CMUnitTest test, int line)
{
    if (unit_count == UNIT_MOST) {
        abort();
    }
    size_t i = unit_count++;
    for (; i > 0 && unit_lines[i - 1] > line; i--) {
        unit_tests[i] = unit_tests[i - 1];
        unit_lines[i] = unit_lines[i - 1];
    }
    unit_tests[i] = test;
    unit_lines[i] = line;
}

static CMFixtureFunction unit_last;
static int unit_last_failed;

/* What fails an assertion in it, or crashes, does not return. */
static inline int unit_tear_down(void **state)
{
    unit_last_failed = 1;
    unit_last_failed = unit_last(state) != 0;
    return -unit_last_failed;
}

/* Runs tests between the group's setup and teardown (or NULL). The exit code of main: how many have
 * failed; the teardown, whose failure cmocka does not count, is one of them. */
static inline int unit_run_group(const struct CMUnitTest *tests, size_t n, CMFixtureFunction set_up,
                                 CMFixtureFunction tear_down)
{
    unit_last = tear_down;
    const int failed = _cmocka_run_group_tests("tests", tests, n, set_up,
                                               tear_down != NULL ? unit_tear_down : NULL);
    return failed + unit_last_failed;
}

/* Runs the tests of the file. */
static inline int unit_run(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    return unit_run_group(unit_tests, unit_count, set_up, tear_down);
}

#endif
