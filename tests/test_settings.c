/*
 * What the user asked for: command line over route over pipeline over built-in, which pipeline
 * takes a file, what its result is called, and what is said about mistakes.
 */
#include "pipeline/input_name.h"
#include "pipeline/settings.h"
#include "pipeline/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORDS = 40 };

/* Splits at blanks and parses. The words are in a buffer of the caller's. */
static enum status parse(char *line, struct settings *s, bool *done)
{
    char *argv[MOST_WORDS + 1];
    int argc = 0;
    for (char *word = strtok(line, " "); word != NULL && argc < MOST_WORDS;
         word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    return settings_parse(argc, argv, s, done);
}

static struct settings must_parse(const char *line)
{
    char copy[512];
    struct settings s;
    bool done;
    snprintf(copy, sizeof(copy), "%s", line);
    if (parse(copy, &s, &done) != STATUS_OK) {
        fail_msg("%s: %s", line, status_message());
    }
    assert_false(done);
    return s;
}

/* The line must be refused, with every one of the words in the message. */
static void must_refuse(const char *line, const char *const words[], size_t n_words)
{
    char copy[512];
    struct settings s;
    bool done;
    snprintf(copy, sizeof(copy), "%s", line);
    enum status status = parse(copy, &s, &done);
    if (status != STATUS_BAD_ARGUMENT && status != STATUS_NOT_FOUND) {
        fail_msg("%s: accepted (%s)", line, status_name(status));
    }
    for (size_t i = 0; i < n_words; i++) {
        if (words[i] != NULL && strstr(status_message(), words[i]) == NULL) {
            fail_msg("%s: '%s' is not in: %s", line, words[i], status_message());
        }
    }
}

static char config_path[] = "/tmp/leat-test-settings-XXXXXX";

static int make_config(void **state)
{
    (void)state;
    int fd = mkstemp(config_path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_config(void **state)
{
    (void)state;
    return unlink(config_path);
}

static void write_config(const char *text)
{
    FILE *f = fopen(config_path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

/* "run -c CONFIG OPTIONS x.clusters.csv" */
static struct settings with_config(const char *text, const char *options)
{
    char line[256];
    write_config(text);
    snprintf(line, sizeof(line), "run -c %s %s x.clusters.csv", config_path, options);
    return must_parse(line);
}

static size_t spec_index(const struct stage_ops *stage, const char *key)
{
    for (size_t i = 0; i < stage->n_specs; i++) {
        if (strcmp(stage->specs[i].key, key) == 0) {
            return i;
        }
    }
    fail_msg("%s has no %s", stage->name, key);
    return 0;
}

static uint64_t resolved_top(const struct settings *s, const char *path)
{
    struct job_settings j;
    if (settings_resolve(s, path, &j) != STATUS_OK) {
        fail_msg("%s: %s", path, status_message());
    }
    uint64_t top = j.params[spec_index(j.stage, "top")].count;
    job_settings_free(&j);
    return top;
}

static void sizes_are_powers_of_1024_and_nothing_else(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"4096", 4096},
        {"1K", 1024},
        {"1k", 1024},
        {"256M", UINT64_C(256) << 20},
        {"1.5G", UINT64_C(3) << 29},
        {"0.5K", 512},
        {"18446744073709551615", UINT64_MAX},
        {"17179869183G", UINT64_C(17179869183) << 30},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        uint64_t bytes = 77;
        if (settings_parse_size(good[i].text, &bytes) != STATUS_OK || bytes != good[i].bytes) {
            fail_msg("%s gives %llu", good[i].text, (unsigned long long)bytes);
        }
    }
    static const char *const bad[] = {"",
                                      "K",
                                      "-1",
                                      "+1",
                                      "1KB",
                                      "1 K",
                                      " 1",
                                      "1T",
                                      "0x10",
                                      "1e3",
                                      "1.5",
                                      ".",
                                      "1..5K",
                                      "nan",
                                      "inf",
                                      "18446744073709551616",
                                      "17179869184G",
                                      "99999999999999999999.5G",
                                      "1K1",
                                      "1,5G",
                                      "\xc3\xa9"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint64_t bytes = 77;
        if (settings_parse_size(bad[i], &bytes) != STATUS_BAD_ARGUMENT || bytes != 77) {
            fail_msg("'%s' gives %llu", bad[i], (unsigned long long)bytes);
        }
    }
}

static void sizes_for_people_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1.00 KiB"},
                 {1536, "1.50 KiB"},
                 {10240, "10.0 KiB"},
                 {102400, "100 KiB"},
                 {1048575, "1.00 MiB"},
                 {UINT64_C(139) << 30, "139 GiB"},
                 {UINT64_MAX, "16.0 EiB"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[TEXT_NUMBER_BYTES];
        assert_string_equal(text_size(text, cases[i].bytes), cases[i].text);
    }
}

static void durations_for_people_never_show_sixty(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{0, "0.00 s"},         {0.421, "0.42 s"},   {59.94, "59.9 s"},
                 {59.99, "1 min 00 s"}, {65, "1 min 05 s"},  {3599.7, "1 h 00 min"},
                 {7380, "2 h 03 min"},  {86399, "1 d 00 h"}, {-1, "?"},
                 {1.0 / 0.0, "?"},      {0.0 / 0.0, "?"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[TEXT_NUMBER_BYTES];
        assert_string_equal(text_duration(text, cases[i].seconds), cases[i].text);
    }
}

static void a_distance_counts_edits_and_swaps(void **state)
{
    (void)state;
    assert_int_equal(text_distance("", ""), 0);
    assert_int_equal(text_distance("", "abc"), 3);
    assert_int_equal(text_distance("memory", "memory"), 0);
    assert_int_equal(text_distance("memry", "memory"), 1);
    assert_int_equal(text_distance("mmeory", "memory"), 1);
    assert_int_equal(text_distance("kitten", "sitting"), 3);
    char longest[256];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(text_distance(longest, longest), 0);
    assert_true(text_distance(longest, "a") > 100);
}

static void options_are_read_long_and_short(void **state)
{
    (void)state;
    struct settings s = must_parse("run -p pearson -o out -b cpu -j 3 --threads=2 --memory 1.5G "
                                   "--force --json -q --deadline 2.5 --level 9 -s top=5 "
                                   "--set threshold=0.5 a b -- -c");
    assert_string_equal(s.pipeline, "pearson");
    assert_string_equal(s.output, "out");
    assert_string_equal(s.backend, "cpu");
    assert_int_equal(s.jobs, 3);
    assert_int_equal(s.threads, 2);
    assert_int_equal(s.memory, UINT64_C(3) << 29);
    assert_true(s.force && s.json && s.quiet && !s.verbose);
    assert_true(s.deadline_s > 2.4 && s.deadline_s < 2.6);
    assert_int_equal(s.level, 9);
    assert_int_equal(s.set.n, 2);
    assert_int_equal(s.n_inputs, 3);
    assert_string_equal(s.inputs[0], "a");
    assert_string_equal(s.inputs[2], "-c");
    settings_free(&s);
}

static void defaults_are_those_that_are_documented(void **state)
{
    (void)state;
    struct settings s = must_parse("run x");
    assert_null(s.config);
    assert_null(s.pipeline);
    assert_string_equal(s.output, "leat-out");
    assert_string_equal(s.backend, "auto");
    assert_int_equal(s.jobs + s.threads + s.memory, 0);
    assert_int_equal(s.level, 6);
    assert_false(s.force || s.json || s.quiet || s.verbose);
    settings_free(&s);
    s = must_parse("doctor");
    assert_int_equal(s.n_inputs, 0);
    settings_free(&s);
}

static void a_mistake_on_the_command_line_is_named_with_the_nearest_option(void **state)
{
    (void)state;
    static const struct {
        const char *line, *words[3];
    } cases[] = {
        {"run --memry 1G x", {"--memry", "--memory"}},
        {"run --memry=1G x", {"--memry", "--memory"}},
        {"run x --outptu y", {"--outptu", "--output"}},
        {"run --xyzzyx x", {"--xyzzyx", "leat run --help"}},
        {"run -Z x", {"-Z"}},
        {"run -vZq x", {"-Z"}},
        {"run -vZ x", {"-Z"}},
        {"run -verbose x", {"-verbose", "--verbose"}},
        {"run -o --memry -vZq x", {"-Z"}},
        {"run x --memory", {"--memory", "SIZE"}},
        {"run x -o", {"-o", "--output", "DIR"}},
        {"run --force=1 x", {"--force", "no value"}},
        {"run --f=1 x", {"--force"}},
        {"run --memory 3X x", {"--memory", "3X"}},
        {"run --threads -1 x", {"--threads", "-1"}},
        {"run --jobs 1e3 x", {"--jobs", "1e3"}},
        {"run --level 0 x", {"--level", "1", "9"}},
        {"run --level 10 x", {"--level", "10"}},
        {"run --deadline -1 x", {"--deadline"}},
        {"run --deadline nan x", {"--deadline", "nan"}},
        {"run -b gpu x", {"--backend", "gpu", "auto|cpu|cuda"}},
        {"run -p pearsn x", {"pearsn", "pearson"}},
        {"run -p q x", {"there is", "pearson"}},
        {"run -s top x", {"KEY=VALUE"}},
        {"run -s =5 x", {"KEY=VALUE"}},
        {"run -s tpo=5 x", {"-s", "tpo", "top"}},
        {"run -s precison=f32 x", {"precison", "precision"}},
        {"run -s precision=f16 x", {"precision", "f16", "exact"}},
        {"run -s top=x x", {"top"}},
        {"run -s missing_value=x x", {"missing_value"}},
        {"run -s missing_vale=1 x", {"missing_vale", "missing_value"}},
        {"run", {"no input", "INPUT"}},
        {"check", {"no input"}},
        {"doctor x", {"doctor", "x"}},
        {"run -c /nonexistent/leat.conf x", {"/nonexistent/leat.conf"}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        must_refuse(cases[i].line, cases[i].words, 3);
    }
}

static void a_configuration_sets_what_long_options_set(void **state)
{
    (void)state;
    struct settings s = with_config("# comment\r\n"
                                    "output = /data/out ; where results go\r\n"
                                    "   threads = 3\n"
                                    "\tmemory: 2G\n"
                                    "force = yes\nquiet = off\n"
                                    "deadline = 60\nlevel=1",
                                    "");
    assert_string_equal(s.output, "/data/out");
    assert_int_equal(s.threads, 3);
    assert_int_equal(s.memory, UINT64_C(2) << 30);
    assert_true(s.force && !s.quiet);
    assert_int_equal(s.level, 1);
    settings_free(&s);
    s = with_config("output = a\nthreads = 3\nbackend = cuda\n", "-o b --threads 1 -b cpu");
    assert_string_equal(s.output, "b");
    assert_int_equal(s.threads, 1);
    assert_string_equal(s.backend, "cpu");
    settings_free(&s);
    s = with_config("", "");
    assert_string_equal(s.output, "leat-out");
    settings_free(&s);
}

static void a_mistake_in_a_configuration_is_named_with_file_line_and_nearest_key(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words[3];
    } cases[] = {
        {"\n\nmemry = 1G\n", {":3", "memry", "memory"}},
        {"jobs = x\n", {":1", "jobs", "x"}},
        {"  jobs = 1\n  threds = 2\n", {":2", "threds", "threads"}},
        {"force = maybe\n", {":1", "force", "maybe"}},
        {"output =\n", {":1", "output", "empty"}},
        {"config = x\n", {":1", "config"}},
        {"set = top=5\n", {":1", "set"}},
        {"top = 5\n", {":1", "top", "[pipeline NAME]"}},
        {"jobs\n", {":1"}},
        {"jobs = 1\nwhat is this\nmemry = 3\n", {":2", "neither"}},
        {"[pipeline pearsn]\ntop = 5\n", {":2", "pearsn", "pearson"}},
        {"[pipeline pearson]\n\ntpo = 5\n", {":3", "tpo", "top"}},
        {"[pipeline pearson]\ntop = five\n", {":2", "top", "five"}},
        {"[pipeline]\ntop = 5\n", {":2", "[pipeline NAME]"}},
        {"[pipelines pearson]\ntop = 5\n", {":2", "pipelines", "[route NAME]"}},
        {"[route a\nmatch = *\n", {":1", "neither"}},
        {"[route a]\nmatch = *\npipeline = pearsn\n", {":3", "pearsn", "pearson"}},
        {"[route a]\npipeline = pearson\n", {":2", "[route a]", "match"}},
        {"[route a]\nmatch = *\nprecison = f32\n", {":3", "precison", "precision"}},
        {"[route a]\nmatch = *\nmatsch = x\n", {":3", "matsch"}},
        {"[route a]\nmatch = *\ntop = -1\n", {":3", "top", "-1"}},
        {"[route a]\nmatch =\n", {":2", "match", "empty"}},
        {"[route aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\nmatch = *\n",
         {":2", "longer than"}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[256];
        const char *words[4] = {config_path, cases[i].words[0], cases[i].words[1],
                                cases[i].words[2]};
        write_config(cases[i].text);
        snprintf(line, sizeof(line), "run -c %s x", config_path);
        must_refuse(line, words, 4);
    }
}

static void a_configuration_that_is_no_text_is_refused(void **state)
{
    (void)state;
    char line[512], text[400];
    snprintf(line, sizeof(line), "run -c %s x", config_path);
    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "\noutput = ", 10);
    text[sizeof(text) - 1] = '\0';
    write_config(text);
    must_refuse(line, (const char *[]){":2", "longer than"}, 2);
    FILE *f = fopen(config_path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite("jobs = 1\n\0\0memory\njobs = 2\n", 1, 27, f), 27);
    assert_int_equal(fclose(f), 0);
    must_refuse(line, (const char *[]){":2", "zero byte"}, 2);
    struct settings s;
    bool done;
    char folder[] = "run -c /tmp x";
    assert_int_not_equal(parse(folder, &s, &done), STATUS_OK);
    assert_non_null(strstr(status_message(), "/tmp"));
}

static void command_line_beats_route_beats_pipeline_beats_built_in(void **state)
{
    (void)state;
    static const char text[] = "[pipeline pearson]\ntop = 20\nthreshold = 0.25\n"
                               "[route fast]\nmatch = fast*.csv\npipeline = pearson\ntop = 30\n"
                               "[route any]\nmatch = fast*\ntop = 40\n";
    struct settings s = with_config(text, "");
    assert_int_equal(resolved_top(&s, "fast.csv"), 30);
    assert_int_equal(resolved_top(&s, "fast.clusters.tsv"), 40);
    assert_int_equal(resolved_top(&s, "slow.clusters.csv"), 20);
    struct job_settings j;
    assert_int_equal(settings_resolve(&s, "fast.csv", &j), STATUS_OK);
    double threshold = j.params[spec_index(j.stage, "threshold")].real;
    assert_true(threshold > 0.24 && threshold < 0.26);
    job_settings_free(&j);
    settings_free(&s);
    s = with_config(text, "-s top=50");
    assert_int_equal(resolved_top(&s, "fast.csv"), 50);
    assert_int_equal(resolved_top(&s, "slow.clusters.csv"), 50);
    settings_free(&s);
    s = with_config(text, "-s top=50 -s top=60");
    assert_int_equal(resolved_top(&s, "fast.csv"), 60);
    settings_free(&s);
    s = must_parse("run x");
    assert_int_equal(resolved_top(&s, "x.clusters.csv"), 1000);
    settings_free(&s);
}

static void reader_keys_belong_to_every_pipeline(void **state)
{
    (void)state;
    struct settings s = with_config("[pipeline pearson]\ncolumns = 3-9,T\nmissing_value = -200\n",
                                    "-s member=data -s missing_value=-999");
    struct job_settings j;
    assert_int_equal(settings_resolve(&s, "x.clusters.csv", &j), STATUS_OK);
    assert_string_equal(j.table.columns, "3-9,T");
    assert_string_equal(j.table.member, "data");
    assert_true(j.table.has_missing_value);
    assert_true(j.table.missing_value > -999.5 && j.table.missing_value < -998.5);
    job_settings_free(&j);
    settings_free(&s);
}

static void a_file_is_taken_by_option_or_route_or_folder_or_name(void **state)
{
    (void)state;
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

static void folders_above_the_input_do_not_name_a_pipeline(void **state)
{
    (void)state;
    static const struct {
        const char *input, *path;
        bool taken;
    } cases[] = {
        {"/home/pearson/in", "/home/pearson/in/x.csv", false},
        {"/home/pearson/in/", "/home/pearson/in/x.csv", false},
        {"/home/pearson/in", "/home/pearson/in/pearson/x.csv", true},
        {"/home/pearson/x.csv", "/home/pearson/x.csv", true},
        {"/home/pearson/a/x.csv", "/home/pearson/a/x.csv", false},
        {"pearson", "pearson/x.csv", true},
        {"pearson/", "pearson/a/x.csv", true},
        {"in", "inner/pearson/x.csv", true},
        {".", "./pearson/x.csv", true},
        {"/home/pearson/a.tar", "/home/pearson/a.tar/x.csv", false},
        {"/home/pearson/a.tar", "/home/pearson/a.tar/pearson/x.csv", true},
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

static void a_scan_takes_tables_and_what_asks_for_it(void **state)
{
    (void)state;
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
        {"", "in/pearson/", false},
        {"-p pearson", "x.csv", true},
        {"-p pearson", "x.csv.gz", true},
        {"-p pearson", "x.CSV", true},
        {"-p pearson", "x.md", false},
        {"-p pearson", "x.gz", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct settings s = with_config("", cases[i].options);
        if (settings_routes(&s, cases[i].path) != cases[i].taken) {
            fail_msg("%s with '%s'", cases[i].path, cases[i].options);
        }
        settings_free(&s);
    }
    struct settings s = with_config("[route a]\nmatch = *.dat\npipeline = pearson\n", "");
    assert_true(settings_routes(&s, "x.dat"));
    assert_false(settings_routes(&s, "x.dot"));
    settings_free(&s);
    s = with_config("pipeline = pearson\n", "");
    assert_true(settings_routes(&s, "x.csv"));
    assert_false(settings_routes(&s, "README.md"));
    settings_free(&s);
}

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
        cmocka_unit_test(sizes_are_powers_of_1024_and_nothing_else),
        cmocka_unit_test(sizes_for_people_have_three_digits),
        cmocka_unit_test(durations_for_people_never_show_sixty),
        cmocka_unit_test(a_distance_counts_edits_and_swaps),
        cmocka_unit_test(options_are_read_long_and_short),
        cmocka_unit_test(defaults_are_those_that_are_documented),
        cmocka_unit_test(a_mistake_on_the_command_line_is_named_with_the_nearest_option),
        cmocka_unit_test(a_configuration_sets_what_long_options_set),
        cmocka_unit_test(a_mistake_in_a_configuration_is_named_with_file_line_and_nearest_key),
        cmocka_unit_test(a_configuration_that_is_no_text_is_refused),
        cmocka_unit_test(command_line_beats_route_beats_pipeline_beats_built_in),
        cmocka_unit_test(reader_keys_belong_to_every_pipeline),
        cmocka_unit_test(a_file_is_taken_by_option_or_route_or_folder_or_name),
        cmocka_unit_test(folders_above_the_input_do_not_name_a_pipeline),
        cmocka_unit_test(a_scan_takes_tables_and_what_asks_for_it),
        cmocka_unit_test(a_stem_is_the_name_without_what_is_known),
        cmocka_unit_test(a_hostile_name_never_becomes_a_folder),
    };
    return cmocka_run_group_tests_name("settings", tests, make_config, remove_config);
}
