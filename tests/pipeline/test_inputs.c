/*
 * The inputs of a command line: their size, and what ends the search for it.
 */
#include "pipeline/inputs/inputs.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/settings_given.h"

static char folder[] = "/tmp/leat-inputs-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "cd %s && printf 1,2 >a.csv && printf 1,2,3 >b.csv",
             mkdtemp(folder));
    return system(command);
}

static int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static void size_is_of_all_inputs_until_they_are_stopped(void **state)
{
    (void)state;
    char line[128];
    snprintf(line, sizeof(line), "run -p pearson %s", folder);
    struct settings settings = must_parse(line);
    struct inputs *in;
    assert_int_equal(inputs_open(&settings, -1, &in), STATUS_OK);
    assert_int_equal(inputs_total_bytes(in), 8);
    inputs_stop(in);
    assert_int_equal(inputs_total_bytes(in), 0);
    inputs_free(in);
    settings_free(&settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_is_of_all_inputs_until_they_are_stopped),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
