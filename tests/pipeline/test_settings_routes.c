/*
 * Which pipeline takes a file, named on the command line or met in a folder.
 */
#include "formats/source/archive_input.h"
#include "pipeline/names/input_name.h"
#include "tests/support/settings_given.h"

TEST(a_file_is_taken_by_option_or_route_or_folder_or_name)
{
    static const struct {
        const char *config, *options, *path;
        bool taken;
    } cases[] = {
        {"", "", "x.clusters.csv", true},
        {"", "", "x.clusters.csv.gz", true},
        {"", "", "x.clusters.NPY", true},
        {"", "", "x.clusters.dat", true},
        {"", "", "a/b/x.clusters.tsv", true},
        {"", "", "x.clusters", false},
        {"", "", "x.clusters.", false},
        {"", "", "x.csv", false},
        {"", "", "xclusters.csv", false},
        {"", "", "x.clustersy.csv", false},
        {"", "", "clusters.csv", false},
        {"", "", "x.clusters.csv/y.csv", false},
        {"", "", "in/pearson/x.csv", true},
        {"", "", "in/pearson/2026/x.csv", true},
        {"", "", "pearson/x", true},
        {"", "", "in/pearson", false},
        {"", "", "in/pearsons/x.csv", false},
        {"", "", "in/Pearson/x.csv", false},
        {"", "-p pearson", "x.csv", true},
        {"", "-p pearson", "x", true},
        {"pipeline = pearson\n", "", "x.csv", true},
        {"[route r]\nmatch = lab-*.csv\npipeline = pearson\n", "", "lab-1.csv", true},
        {"[route r]\nmatch = lab-*.csv\npipeline = pearson\n", "", "a/b/lab-1.csv", true},
        {"[route r]\nmatch = lab-*.csv\npipeline = pearson\n", "", "lab-1.csv.gz", false},
        {"[route r]\nmatch = lab-[0-9].csv\npipeline = pearson\n", "", "lab-x.csv", false},
        {"[route r]\nmatch = lab/*.csv\npipeline = pearson\n", "", "lab/x.csv", true},
        {"[route r]\nmatch = lab/*.csv\npipeline = pearson\n", "", "./lab/x.csv", true},
        {"[route r]\nmatch = ./lab/*.csv\npipeline = pearson\n", "", "lab/x.csv", true},
        {"[route r]\nmatch = lab/*.csv\npipeline = pearson\n", "", "lab/y/x.csv", true},
        {"[route r]\nmatch = lab/*.csv\npipeline = pearson\n", "", "in/lab/x.csv", false},
        {"[route r]\nmatch = */lab/*.csv\npipeline = pearson\n", "", "in/lab/x.csv", true},
        {"[route r]\nmatch = lab-*\ntop = 3\n", "", "lab-1.csv", false},
        {"[route r]\nmatch = lab-*\ntop = 3\n", "", "lab-1.clusters.csv", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct settings s = with_config(cases[i].config, cases[i].options);
        struct job_settings j;
        enum status status = settings_resolve(&s, cases[i].path, &j);
        if ((status == STATUS_OK) != cases[i].taken) {
            fail_msg("%s with '%s' '%s': %s", cases[i].path, cases[i].config, cases[i].options,
                     status_name(status));
        }
        if (status == STATUS_OK) {
            assert_string_equal(j.stage->name, "pearson");
            job_settings_free(&j);
        } else {
            assert_int_equal(status, STATUS_BAD_ARGUMENT);
            assert_non_null(strstr(status_message(), "--pipeline"));
            assert_non_null(strstr(status_message(), "folder"));
            assert_non_null(strstr(status_message(), "X.clusters.csv"));
        }
        settings_free(&s);
    }
}

TEST(a_file_without_the_name_of_a_part_is_told_names_that_serve_it)
{
    static const struct {
        const char *options, *path, *names;
    } cases[] = {
        {"--pipeline=sciddicat", "map.asc", "X.dem.tif and X.source.tif (or .asc)"},
        {"--pipeline=interpolate", "x.csv", "X.nodes.csv and X.query.csv, or set query"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct settings s = with_config("", cases[i].options);
        struct job_settings j;
        assert_int_equal(settings_resolve(&s, cases[i].path, &j), STATUS_BAD_ARGUMENT);
        assert_non_null(strstr(status_message(), cases[i].names));
        settings_free(&s);
    }
}

TEST(a_file_of_a_kind_that_is_not_read_is_told_what_is)
{
    static const struct {
        const char *path;
        bool foreign;
    } cases[] = {
        {"x.xls", true},   {"x.xlsx", false},      {"in/notes.md", true}, {"x.tar.lz4", true},
        {"x.rar", true},   {"x.tar.gz.gpg", true}, {"a.b/x.PDF", true},   {"x.csv.lz4", true},
        {"x.csv", false},  {"x.CSV.GZ", false},    {"x.tiff", false},     {"x.asc.gz", false},
        {"x", false},      {"a.b/x", false},       {"x.", false},         {".md", false},
        {"x.dem", false},  {"x.CLUSTERS", false},  {"x.source", false},   {"m.dat", false},
        {"m.data", false}, {"m.prn", false},       {"m.dat.gz", false},   {"station.2020", false},
        {"a.md/m", false},
    };
    struct settings s = with_config("", "");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_settings j;
        assert_int_equal(settings_resolve(&s, cases[i].path, &j), STATUS_BAD_ARGUMENT);
        const char *text = status_message();
        if ((strstr(text, "which leat does not read") != NULL) != cases[i].foreign ||
            (strstr(text, "--pipeline pearson") == NULL) != cases[i].foreign ||
            strstr(text, cases[i].path) != text) {
            fail_msg("%s: '%s'", cases[i].path, text);
        }
        /* every ending that such a message names is read */
        for (const char *at = strchr(text, ':'); cases[i].foreign && at != NULL;) {
            char name[32];
            at = strstr(at, " .");
            if (at != NULL) {
                at++;
                snprintf(name, sizeof(name), "x%.*s", (int)strcspn(at, " ,;"), at);
                assert_true(input_name_is_table(name) || input_name_is_grid(name) ||
                            archive_input_named(name));
            }
        }
    }
    settings_free(&s);
}

TEST(folders_above_the_input_do_not_name_a_pipeline)
{
    static const struct {
        const char *input, *path;
        bool taken;
    } cases[] = {
        {"/home/pearson/in", "/home/pearson/in/x.csv", false},
        {"/home/pearson/in/", "/home/pearson/in/x.csv", false},
        {"/home/pearson/in", "/home/pearson/in/pearson/x.csv", true},
        {"/home/pearson/x.csv", "/home/pearson/x.csv", true},
        {"/home/pearson/a/x.dat", "/home/pearson/a/x.dat", false},
        {"pearson", "pearson/x.csv", true},
        {"pearson/", "pearson/a/x.csv", true},
        {"in", "inner/pearson/x.csv", true},
        {".", "./pearson/x.csv", true},
        {"/home/pearson/a.tar", "/home/pearson/a.tar/x.csv", false},
        {"/home/pearson/a.tar", "/home/pearson/a.tar/pearson/x.csv", true},
        /* beneath several it is the nearest that counts, whichever comes first */
        {"/home/pearson /home/pearson/in", "/home/pearson/in/x.csv", false},
        {"/home/pearson/in /home/pearson", "/home/pearson/in/x.csv", false},
        {"/home/pearson/in /home/pearson", "/home/pearson/other/x.csv", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[128];
        snprintf(line, sizeof(line), "run %s", cases[i].input);
        struct settings s = must_parse(line);
        struct job_settings j;
        enum status status = settings_resolve(&s, cases[i].path, &j);
        if ((status == STATUS_OK) != cases[i].taken) {
            fail_msg("%s beneath %s: %s", cases[i].path, cases[i].input, status_name(status));
        }
        if (status == STATUS_OK) {
            job_settings_free(&j);
        }
        settings_free(&s);
    }
}

TEST(a_table_that_is_named_and_has_no_pipeline_is_the_first_ones)
{
    static const struct {
        const char *line, *path, *pipeline; /* NULL: none */
    } cases[] = {
        {"run x.csv", "x.csv", "pearson"},
        {"run a/x.TSV.gz b/x.npy", "b/x.npy", "pearson"},
        {"run x.npz", "x.npz", "pearson"},
        {"run a/x.csv", "x.csv", NULL},
        {"run a", "a/x.csv", NULL},
        {"run a.tar", "a.tar/x.csv", NULL},
        {"run x.tif", "x.tif", NULL},
        {"run x.points.csv", "x.points.csv", "kmeans"},
        {"run kmeans/x.csv", "kmeans/x.csv", "kmeans"},
        {"run -p kmeans x.csv", "x.csv", "kmeans"},
        {"watch --spool s", "in/x.csv", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct settings s = must_parse(cases[i].line);
        struct job_settings j;
        const bool taken = settings_resolve(&s, cases[i].path, &j) == STATUS_OK;
        if (taken != (cases[i].pipeline != NULL) ||
            (taken && strcmp(j.stage->name, cases[i].pipeline) != 0)) {
            fail_msg("'%s': %s is taken by %s", cases[i].line, cases[i].path,
                     taken ? j.stage->name : "none");
        }
        job_settings_free(&j);
        settings_free(&s);
    }
}

TEST(a_source_is_a_job_of_its_own_name_with_the_dem)
{
    struct settings s = with_config("[pipeline sciddicat]\nsteps = 7\n"
                                    "[route r]\nmatch = *.tif\npipeline = kmeans\nk = 3\n",
                                    "--dem ground.tif --source a/one.tif --source two.source.asc");
    struct job_settings j;
    assert_string_equal(s.dem, "ground.tif");
    assert_int_equal(s.n_sources, 2);
    assert_int_equal(settings_resolve_source(&s, s.sources[0], &j), STATUS_OK);
    assert_string_equal(j.stage->name, "sciddicat");
    assert_string_equal(j.stem, "one");
    assert_int_equal(j.n_parts, 2);
    assert_string_equal(j.stage->specs[0].key, "steps");
    assert_int_equal(j.params[0].count, 7);
    job_settings_free(&j);
    assert_int_equal(settings_resolve_source(&s, s.sources[1], &j), STATUS_OK);
    assert_string_equal(j.stem, "two");
    job_settings_free(&j);
    settings_free(&s);
}

TEST(the_deepest_of_nested_folders_names_the_pipeline)
{
    static const struct {
        const char *path, *pipeline;
    } cases[] = {
        {"in/pearson/sciddicat/x.dem.tif", "sciddicat"},
        {"in/pearson/2026/sciddicat/a/x.dem.tif", "sciddicat"},
        {"in/sciddicat/pearson/x.csv", "pearson"},
        {"in/sciddicat/2026/pearson/a/x.csv", "pearson"},
        {"in/pearson/sciddicat/pearson/x.csv", "pearson"},
        {"in/pearson/x.dem.tif", "pearson"}, /* before the name, too */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct settings s = must_parse("run in");
        struct job_settings j;
        assert_int_equal(settings_resolve(&s, cases[i].path, &j), STATUS_OK);
        if (strcmp(j.stage->name, cases[i].pipeline) != 0) {
            fail_msg("%s is taken by %s", cases[i].path, j.stage->name);
        }
        job_settings_free(&j);
        settings_free(&s);
    }
}

TEST(a_scan_takes_tables_and_what_asks_for_it)
{
    static const struct {
        const char *options, *path;
        bool taken;
    } cases[] = {
        {"", "x.clusters.csv", true},
        {"", "x.clusters.dat", true},
        {"", "x.csv", false},
        {"", "in/pearson/x.csv", true},
        {"", "in/pearson/x.npz", true},
        {"", "in/pearson/README.md", false},
        {"", "in/pearson/.x.csv", false},
        {"", "in/pearson/x.csv.part", false},
        {"", "in/pearson/x.csv~", false},
        {"", ".x.clusters.csv", false},
        {"", "x.clusters.csv.crdownload", false},
        {"", "x.clusters.csv.bak", false},
        {"", "x.clusters.csv.1", false},
        {"", "in/pearson/~$x.csv", false},
        {"", "in/pearson/#x.csv#", false},
        {"", "in/pearson/", false},
        {"-p pearson", "x.csv", true},
        {"-p pearson", "x.csv.gz", true},
        {"-p pearson", "x.CSV", true},
        {"-p pearson", "x.md", false},
        {"-p pearson", "x.gz", false},
        {"-p kmeans", "x.csv", true}, /* a second file only if a parameter says so */
        {"-p interpolate", "x.csv", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct settings s = with_config("", cases[i].options);
        if ((settings_input_kind(&s, cases[i].path) == INPUT_OF_JOB) != cases[i].taken) {
            fail_msg("%s with '%s'", cases[i].path, cases[i].options);
        }
        settings_free(&s);
    }
    struct settings s = with_config("[route a]\nmatch = *.dat\npipeline = pearson\n", "");
    assert_int_equal(settings_input_kind(&s, "x.dat"), INPUT_OF_JOB);
    assert_int_not_equal(settings_input_kind(&s, "~$x.dat"), INPUT_OF_JOB);
    assert_int_not_equal(settings_input_kind(&s, "x.dot"), INPUT_OF_JOB);
    settings_free(&s);
    s = with_config("pipeline = pearson\n", "");
    assert_int_equal(settings_input_kind(&s, "x.csv"), INPUT_OF_JOB);
    assert_int_not_equal(settings_input_kind(&s, "README.md"), INPUT_OF_JOB);
    settings_free(&s);
}

int main(void)
{
    return unit_run(make_config, remove_config);
}
