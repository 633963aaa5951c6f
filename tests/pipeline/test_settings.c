/*
 * What the user asked for: command line over route over pipeline over built-in.
 */
#include "tests/support/settings_given.h"

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
        {"1KB", 1024},
        {"4gb", UINT64_C(4) << 30},
        {"4GiB", UINT64_C(4) << 30},
        {"1T", UINT64_C(1) << 40},
        {"18446744073709551615", UINT64_MAX},
        {"17179869183G", UINT64_C(17179869183) << 30},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char option[64];
        snprintf(option, sizeof(option), "--memory=%s", good[i].text);
        struct settings s;
        bool done;
        char *argv[] = {"run", option, "x", NULL};
        if (settings_parse(3, argv, &s, &done) != STATUS_OK || s.memory != good[i].bytes) {
            fail_msg("%s gives %llu", good[i].text, (unsigned long long)s.memory);
        }
        settings_free(&s);
    }
    static const char *const bad[] = {"",
                                      "K",
                                      "-1",
                                      "+1",
                                      "1B",
                                      "1iB",
                                      "1Ki",
                                      "1KBB",
                                      "1P",
                                      "1 K",
                                      "1 ",
                                      "1\xc0",
                                      " 1",
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
        char option[64];
        snprintf(option, sizeof(option), "--memory=%s", bad[i]);
        struct settings s;
        bool done;
        char *argv[] = {"run", option, "x", NULL};
        if (settings_parse(3, argv, &s, &done) != STATUS_BAD_ARGUMENT) {
            fail_msg("'%s' gives %llu", bad[i], (unsigned long long)s.memory);
        }
        assert_non_null(strstr(status_message(), "is not a size"));
    }
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

static void long_options_may_be_abbreviated_and_follow_operands(void **state)
{
    (void)state;
    struct settings s = must_parse("run a --mem 3M --js -qj7 b --out=x -- --force -");
    assert_int_equal(s.memory, 3 << 20);
    assert_int_equal(s.jobs, 7);
    assert_string_equal(s.output, "x");
    assert_true(s.json && s.quiet && !s.force);
    assert_int_equal(s.n_inputs, 4);
    assert_string_equal(s.inputs[0], "a");
    assert_string_equal(s.inputs[1], "b");
    assert_string_equal(s.inputs[2], "--force");
    assert_string_equal(s.inputs[3], "-");
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
    assert_int_equal(s.level, 1);
    assert_false(s.force || s.json || s.quiet || s.verbose);
    settings_free(&s);
    s = must_parse("doctor");
    assert_int_equal(s.n_inputs, 0);
    settings_free(&s);
}

static void the_service_has_options_of_its_own(void **state)
{
    (void)state;
    struct settings s =
        must_parse("watch --spool /srv/leat --keep-inputs no --replace --settle 0.5 "
                   "--rescan 5 --done-file --max-attempts 7 --reserve 1G --drain 3 "
                   "--status-socket /tmp/s -j 2 -b cpu");
    assert_string_equal(s.spool, "/srv/leat");
    assert_string_equal(s.output, "/srv/leat/out");
    assert_true(!s.keep_inputs && s.replace && s.done_file);
    assert_true(s.settle_s > 0.4 && s.settle_s < 0.6 && s.rescan_s > 4 && s.rescan_s < 6);
    assert_true(s.drain_s > 2 && s.drain_s < 4);
    assert_int_equal(s.max_attempts, 7);
    assert_int_equal(s.reserve_bytes, UINT64_C(1) << 30);
    assert_string_equal(s.status_socket, "/tmp/s");
    settings_free(&s);
    s = must_parse("watch --spool a -o elsewhere");
    char here[4096], path[4200];
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(path, sizeof(path), "%s/elsewhere", here);
    assert_string_equal(s.output, path);
    snprintf(path, sizeof(path), "%s/a", here);
    assert_string_equal(s.spool, path);
    assert_true(s.keep_inputs && !s.replace && !s.done_file);
    assert_true(s.settle_s > 1.9 && s.settle_s < 2.1 && s.rescan_s > 59 && s.rescan_s < 61);
    assert_true(s.drain_s > 59 && s.drain_s < 61);
    assert_int_equal(s.max_attempts, 3);
    assert_int_equal(s.reserve_bytes, UINT64_C(256) << 20);
    settings_free(&s);
    s = must_parse("status --json --failed --spool a");
    assert_true(s.json && s.failed);
    assert_null(s.status_socket);
    settings_free(&s);
    s = must_parse("retry --spool a 20261121-030441-123456 x");
    assert_int_equal(s.n_inputs, 2);
    settings_free(&s);
    s = must_parse("retry --spool a --all");
    assert_true(s.all);
    settings_free(&s);
}

static void the_status_socket_is_where_systemd_or_the_user_has_room_for_it(void **state)
{
    (void)state;
    assert_int_equal(setenv("RUNTIME_DIRECTORY", "/run/one:/run/two", 1), 0);
    struct settings s = must_parse("watch --spool a");
    assert_string_equal(s.status_socket, "/run/one/status.sock");
    settings_free(&s);
    assert_int_equal(unsetenv("RUNTIME_DIRECTORY"), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", "/run/user/7", 1), 0);
    s = must_parse("watch --spool a");
    assert_string_equal(s.status_socket,
                        geteuid() == 0 ? "/run/leat/status.sock" : "/run/user/7/leat/status.sock");
    settings_free(&s);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    s = must_parse("watch --spool /a");
    assert_string_equal(s.status_socket,
                        geteuid() == 0 ? "/run/leat/status.sock" : "/a/.run/status.sock");
    settings_free(&s);
}

static void what_is_kept_is_an_age_a_size_or_both(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct settings_keep keep;
    } cases[] = {{"30d", {2592000, 0}},
                 {"90min", {5400, 0}},
                 {"45s", {45, 0}},
                 {"12h", {43200, 0}},
                 {"2w", {1209600, 0}},
                 {"10G", {0, UINT64_C(10) << 30}},
                 {"1.5GiB", {0, UINT64_C(3) << 29}},
                 {"5MB", {0, 5 << 20}},
                 {"10K,1d", {86400, 10 << 10}},
                 {"30d, 10G", {2592000, UINT64_C(10) << 30}},
                 {"no", {0, 0}}};
    static const char *const wrong[] = {"",    "30",    "d",       "0d",       "0G",   "10m",
                                        "1d,", "1d 2d", "1G,1d,1", "30d,,10G", "-1d",  "1.5d",
                                        ",1d", "yes",   "1y",      "10GG",     "1d,no"};
    struct settings s;
    bool done;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char option[64];
        snprintf(option, sizeof(option), "--keep-done=%s", cases[i].text);
        char *argv[] = {"watch", "--spool", "/a", "--keep-failed=1d,1G", option, NULL};
        if (settings_parse(5, argv, &s, &done) != STATUS_OK) {
            fail_msg("%s", status_message());
        }
        assert_int_equal(s.keep_done.age_s, cases[i].keep.age_s);
        assert_int_equal(s.keep_done.bytes, cases[i].keep.bytes);
        assert_int_equal(s.keep_failed.age_s, 86400);
        settings_free(&s);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        char option[64];
        snprintf(option, sizeof(option), "--keep-failed=%s", wrong[i]);
        char *argv[] = {"watch", "--spool", "/a", option, NULL};
        if (settings_parse(4, argv, &s, &done) != STATUS_BAD_ARGUMENT) {
            fail_msg("'%s' is taken", wrong[i]);
        }
        assert_non_null(strstr(status_message(), "--keep-failed"));
    }
}

static void one_configuration_serves_run_and_watch(void **state)
{
    (void)state;
    struct settings s = with_config("spool = /srv/leat\nkeep_inputs = no\nreplace = yes\n"
                                    "settle = 1\nrescan = 9\ndone_file = yes\nmax_attempts = 2\n"
                                    "reserve = 5M\ndrain = 4\nstatus_socket = /tmp/t\n"
                                    "status_group = leat\n",
                                    "");
    assert_string_equal(s.output, "leat-out");
    assert_string_equal(s.spool, "/srv/leat");
    assert_true(!s.keep_inputs && s.replace && s.done_file);
    assert_int_equal(s.max_attempts, 2);
    assert_int_equal(s.reserve_bytes, 5 << 20);
    settings_free(&s);
    char line[256];
    snprintf(line, sizeof(line), "watch -c %s --max-attempts 4 --keep-inputs yes", config_path);
    s = must_parse(line);
    assert_string_equal(s.output, "/srv/leat/out");
    assert_string_equal(s.status_socket, "/tmp/t");
    assert_string_equal(s.status_group, "leat");
    assert_true(s.keep_inputs && s.replace);
    assert_int_equal(s.max_attempts, 4);
    settings_free(&s);
}

static void a_configuration_sets_what_long_options_set(void **state)
{
    (void)state;
    struct settings s = with_config("# comment\r\n"
                                    "output = /data/out ; where results go\r\n"
                                    "   threads = 3\n"
                                    "\tmemory: 2G\n"
                                    "force = yes\nquiet = off\n"
                                    "deadline = 60\nlevel=1\nspread = 3\n",
                                    "");
    assert_string_equal(s.output, "/data/out");
    assert_int_equal(s.threads, 3);
    assert_int_equal(s.memory, UINT64_C(2) << 30);
    assert_true(s.force && !s.quiet);
    assert_int_equal(s.level, 1);
    assert_int_equal(s.spread, 3);
    settings_free(&s);
    s = with_config("spread = 3\n", "--spread off");
    assert_int_equal(s.spread, 1);
    settings_free(&s);
    s = with_config("spread = off\n", "--spread auto");
    assert_int_equal(s.spread, 0);
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

/* The next route that does not counts; without --pipeline it is the first. */
static void pipeline_passes_over_routes_to_another(void **state)
{
    (void)state;
    static const char text[] = "[route other]\nmatch = *.csv\npipeline = kmeans\nskip = 1\n"
                               "[route own]\nmatch = *.csv\npipeline = pearson\ncolumns = 2-3\n";
    static const struct {
        const char *options, *pipeline, *skip, *columns;
    } cases[] = {{"", "kmeans", "1", NULL},
                 {"-p kmeans", "kmeans", "1", NULL},
                 {"-p pearson", "pearson", NULL, "2-3"},
                 {"-p interpolate", "interpolate", NULL, NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct settings s = with_config(text, cases[i].options);
        struct job_settings j;
        assert_int_equal(settings_resolve(&s, "x.nodes.csv", &j), STATUS_OK);
        const char *const got[] = {j.stage->name, j.table.skip, j.table.columns},
                          *const want[] = {cases[i].pipeline, cases[i].skip, cases[i].columns};
        for (size_t k = 0; k < 3; k++) {
            assert_string_equal(got[k] != NULL ? got[k] : "", want[k] != NULL ? want[k] : "");
        }
        job_settings_free(&j);
        settings_free(&s);
    }
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
    assert_string_equal(j.table.missing_value, "-999");
    job_settings_free(&j);
    settings_free(&s);
}

static uint64_t digest_of(const char *options)
{
    struct settings s = with_config("[pipeline pearson]\ncolumns = 3-9\n", options);
    const uint64_t digest = settings_digest(&s);
    settings_free(&s);
    return digest;
}

static void digest_is_of_what_is_to_be_done_and_not_of_how(void **state)
{
    (void)state;
    static const char *const what[] = {"",         "-o other",     "-p pearson", "--force",
                                       "--resume", "-s columns=2", "--level 9",  "--deadline 5",
                                       "y.csv",    "y .csv",       "--bundle"};
    static const char *const how[] = {"--threads 3", "--memory 1G", "--devices 2", "-b cpu",
                                      "--json",      "-q",          "-j 2"};
    for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
        for (size_t j = 0; j < sizeof(what) / sizeof(what[0]); j++) {
            assert_int_equal(digest_of(what[i]) == digest_of(what[j]), i == j);
        }
    }
    for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
        assert_true(digest_of(how[i]) == digest_of(""));
    }
    struct settings s = with_config("[pipeline pearson]\ncolumns = 3-8\n", "");
    assert_true(settings_digest(&s) != digest_of(""));
    settings_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_service_has_options_of_its_own),
        cmocka_unit_test(the_status_socket_is_where_systemd_or_the_user_has_room_for_it),
        cmocka_unit_test(what_is_kept_is_an_age_a_size_or_both),
        cmocka_unit_test(one_configuration_serves_run_and_watch),
        cmocka_unit_test(sizes_are_powers_of_1024_and_nothing_else),
        cmocka_unit_test(options_are_read_long_and_short),
        cmocka_unit_test(long_options_may_be_abbreviated_and_follow_operands),
        cmocka_unit_test(defaults_are_those_that_are_documented),
        cmocka_unit_test(a_configuration_sets_what_long_options_set),
        cmocka_unit_test(command_line_beats_route_beats_pipeline_beats_built_in),
        cmocka_unit_test(pipeline_passes_over_routes_to_another),
        cmocka_unit_test(reader_keys_belong_to_every_pipeline),
        cmocka_unit_test(digest_is_of_what_is_to_be_done_and_not_of_how),
    };
    return cmocka_run_group_tests_name("settings", tests, make_config, remove_config);
}
