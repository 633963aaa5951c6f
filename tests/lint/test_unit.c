/*
 * The exit code of a program of tests (tests/support/unit.h): what fails in a group's teardown
 * counts, too, whether the teardown returns it or does not return. Each program here is a child.
 */
#include "tests/support/unit.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static int calls;

static int passes(void **state)
{
    (void)state;
    calls++;
    return 0;
}

static int returns_failure(void **state)
{
    (void)state;
    return -1;
}

static int fails_an_assertion(void **state)
{
    (void)state;
    assert_int_equal(calls, -1);
    return 0;
}

static void good(void **state)
{
    (void)state;
}

static void bad(void **state)
{
    (void)state;
    assert_int_equal(calls, -1);
}

/* Of a good test, and n_bad ones. */
static int exit_code(size_t n_bad, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(bad),
                                       cmocka_unit_test(bad)};
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        _exit(unit_run_group(tests, 1 + n_bad, set_up, tear_down));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(tests_that_fail_are_counted)
{
    assert_int_equal(exit_code(0, NULL, NULL), 0);
    assert_int_equal(exit_code(0, passes, passes), 0);
    assert_int_equal(exit_code(2, NULL, passes), 2);
}

TEST(a_teardown_that_fails_is_counted_whether_it_returns_or_not)
{
    assert_int_equal(exit_code(0, passes, returns_failure), 1);
    assert_int_equal(exit_code(0, passes, fails_an_assertion), 1);
    assert_int_equal(exit_code(1, NULL, fails_an_assertion), 2);
}

TEST(a_setup_that_fails_is_counted)
{
    assert_int_equal(exit_code(0, returns_failure, passes), 1);
    assert_int_equal(exit_code(0, fails_an_assertion, NULL), 1);
}

/* In the order of the file, each once. */
static size_t n_before;

TEST(this_test_is_the_fourth)
{
    assert_int_equal(unit_count, 5);
    assert_string_equal(unit_tests[0].name, "tests_that_fail_are_counted");
    assert_string_equal(unit_tests[3].name, "this_test_is_the_fourth");
    n_before++;
}

TEST(the_last_test_comes_last)
{
    assert_string_equal(unit_tests[4].name, "the_last_test_comes_last");
    assert_int_equal(n_before, 1);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
