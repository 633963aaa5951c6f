/*
 * What a result is called after its input; names that would lead elsewhere.
 */
#include "pipeline/names/input_name.h"
#include "tests/support/unit.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

TEST(a_stem_is_the_name_without_what_is_known)
{
    static const struct {
        const char *path, *stem;
    } cases[] = {
        {"x.clusters.csv", "x"},
        {"a/b/x.clusters.csv.gz", "x"},
        {"x.clusters.NPZ.GZ", "x"},
        {"x.clusters.csv.xz", "x"},
        {"x.clusters.npy.ZST", "x"},
        {"x.clusters.csv.bz2", "x"},
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

TEST(a_suffix_may_be_in_capitals)
{
    char *stem;
    assert_true(input_name_asks_for("in/VALLEY.DEM.ASC", "dem"));
    assert_true(input_name_asks_for("Valley.Dem.tif", "dem"));
    assert_false(input_name_asks_for("VALLEY.DEMO.ASC", "dem"));
    assert_false(input_name_asks_for("DEM.ASC", "dem"));
    assert_int_equal(input_name_stem("in/VALLEY.DEM.ASC.GZ", "dem", &stem), STATUS_OK);
    assert_string_equal(stem, "VALLEY");
    free(stem);
}

TEST(what_programs_keep_beside_a_grid_is_no_input)
{
    static const char *const beside[] = {
        "x.dem.prj",       "X.DEM.PRJ",  "x.dem.asc.aux.xml", "x.dem.tif.ovr", "x.dem.tif.msk",
        "x.dem.tfw",       "x.dem.TIFW", "x.dem.wld",         "a/x.dem.qml",   "x.qpj",
        "x.clusters.csvt", "x.cpg",      "x.dem.tif.vat.dbf"};
    static const char *const inputs[] = {"x.dem.asc", "x.dem.tif",      "x.prj.csv", "x.prj/y.csv",
                                         "x.dat",     "x.clusters.xyz", "prj",       "x.prj.gz"};
    for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
        if (!input_name_is_sidecar(beside[i])) {
            fail_msg("'%s' is an input", beside[i]);
        }
    }
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
        if (input_name_is_sidecar(inputs[i])) {
            fail_msg("'%s' is passed over", inputs[i]);
        }
    }
}

TEST(a_hostile_name_never_becomes_a_folder)
{
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
    return unit_run(NULL, NULL);
}
