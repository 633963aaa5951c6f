/*
 * What a result is called after its input; names that would lead elsewhere.
 */
#include "pipeline/input_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void a_stem_is_the_name_without_what_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *path, *stem;
    } cases[] = {
        {"x.clusters.csv", "x"},
        {"a/b/x.clusters.csv.gz", "x"},
        {"x.clusters.NPZ.GZ", "x"},
        {"x.clusters.dat", "x"},
        {"x.clusters", "x"},
        {"x.clusters.1.csv", "x.clusters.1"},
        {"x.clusters.clusters.csv", "x.clusters"},
        {"x.y.clusters.tsv", "x.y"},
        {"x.csv", "x"},
        {"x.csv.csv", "x.csv"},
        {"x.dat", "x.dat"},
        {"x", "x"},
        {"x y;$(z).clusters.csv", "x y;$(z)"},
        {"x..csv", "x."},
        {"../x.csv", "x"},
        {"\xc3\xa9t\xc3\xa9.clusters.csv", "\xc3\xa9t\xc3\xa9"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *stem;
        assert_int_equal(input_name_stem(cases[i].path, "clusters", &stem), STATUS_OK);
        assert_string_equal(stem, cases[i].stem);
        free(stem);
    }
}

static void a_hostile_name_never_becomes_a_folder(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "a/",
                                      ".",
                                      "..",
                                      "a/.",
                                      "a/..",
                                      ".csv",
                                      ".clusters.csv",
                                      "..csv",
                                      "...csv",
                                      ".gz",
                                      "..clusters.csv",
                                      ".hidden.clusters.csv",
                                      "a/.hidden",
                                      ".clusters.gz"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char *stem = (char *)1;
        if (input_name_stem(bad[i], "clusters", &stem) != STATUS_BAD_ARGUMENT || stem != NULL) {
            fail_msg("'%s' gives '%s'", bad[i], stem != NULL ? stem : "NULL");
        }
    }
    char longest[300], *stem;
    memset(longest, 'x', sizeof(longest));
    strcpy(longest + 255, ".clusters.csv");
    assert_int_equal(input_name_stem(longest, "clusters", &stem), STATUS_OK);
    assert_int_equal(strlen(stem), 255);
    free(stem);
    longest[255] = 'x';
    strcpy(longest + 256, ".clusters.csv");
    assert_int_equal(input_name_stem(longest, "clusters", &stem), STATUS_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stem_is_the_name_without_what_is_known),
        cmocka_unit_test(a_hostile_name_never_becomes_a_folder),
    };
    return cmocka_run_group_tests_name("input_name", tests, NULL, NULL);
}
