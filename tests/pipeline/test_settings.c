/*
 * What the user asked for: command line over route over pipeline over built-in.
 */
#include "pipeline/settings/options.h"
#include "pipeline/settings/settings_parts.h"
#include "tests/support/settings_given.h"

enum { LONGEST_KEY = 32 };

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

TEST(sizes_are_powers_of_1024_and_nothing_else)
{
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

TEST(options_are_read_long_and_short)
{
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

TEST(long_options_may_be_abbreviated_and_follow_operands)
{
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

TEST(the_folders_of_a_service_are_absolute)
{
    struct settings s = must_parse("watch --spool a -o elsewhere");
    char here[4096], path[4200];
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(path, sizeof(path), "%s/elsewhere", here);
    assert_string_equal(s.output, path);
    snprintf(path, sizeof(path), "%s/a", here);
    assert_string_equal(s.spool, path);
    settings_free(&s);
    s = must_parse("retry --spool a 20261121-030441-123456 x");
    assert_int_equal(s.n_inputs, 2);
    assert_string_equal(s.spool, "a");
    settings_free(&s);
}

TEST(who_asks_a_service_means_the_installed_one_unless_told)
{
    struct settings s = must_parse("status");
    assert_string_equal(s.spool, "/var/lib/leat");
    settings_free(&s);
    s = must_parse("hold --spool a x");
    assert_string_equal(s.spool, "a");
    settings_free(&s);
    s = must_parse("run x");
    assert_null(s.spool);
    settings_free(&s);
}

TEST(what_is_kept_is_an_age_a_size_or_both)
{
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

TEST(one_configuration_serves_run_and_watch)
{
    struct settings s = with_config("spool = /srv/leat\nkeep_inputs = no\nreplace = yes\n"
                                    "settle = 1\nrescan = 9\ndone_file = yes\nmax_attempts = 2\n"
                                    "reserve = 5M\ndrain = 4\n"
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
    assert_string_equal(s.status_group, "leat");
    assert_true(s.keep_inputs && s.replace);
    assert_int_equal(s.max_attempts, 4);
    settings_free(&s);
}

TEST(a_configuration_sets_what_long_options_set)
{
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

TEST(command_line_beats_route_beats_pipeline_beats_built_in)
{
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
TEST(pipeline_passes_over_routes_to_another)
{
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

/* --pipeline beats routes, these the file's own key, that a folder and a name. */
TEST(pipelines_are_chosen_by_the_strongest_that_says_one)
{
    static const char text[] = "pipeline = kmeans\n[route a]\nmatch = a*\npipeline = pearson\n";
    static const struct {
        const char *config, *options, *path, *pipeline;
    } cases[] = {{text, "", "a.nodes.csv", "pearson"},
                 {text, "", "c.nodes.csv", "kmeans"},
                 {text, "", "interpolate/c.csv", "kmeans"},
                 {text, "-p interpolate", "a.nodes.csv", "interpolate"},
                 {"pipeline = kmeans\n", "", "a.nodes.csv", "kmeans"},
                 {"", "", "pearson/a.nodes.csv", "pearson"},
                 {"", "", "pearson/kmeans/a.nodes.csv", "kmeans"},
                 {"", "", "a.nodes.csv", "interpolate"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct settings s = with_config(cases[i].config, cases[i].options);
        struct job_settings j;
        assert_int_equal(settings_resolve(&s, cases[i].path, &j), STATUS_OK);
        assert_string_equal(j.stage->name, cases[i].pipeline);
        job_settings_free(&j);
        settings_free(&s);
    }
}

TEST(reader_keys_belong_to_every_pipeline)
{
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

TEST(digest_is_of_what_is_to_be_done_and_not_of_how)
{
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

/* --- every key ----------------------------------------------------------------------------------
 */

static const char *or_none(const char *text)
{
    return text != NULL ? text : "-";
}

/* All fields, " KEY=VALUE " each; for free(). */
static char *described(const struct settings *s)
{
    char *text = NULL;
    size_t n_text;
    FILE *const out = open_memstream(&text, &n_text);
    assert_non_null(out);
    const struct {
        const char *key, *text;
    } texts[] = {{"pipeline", s->pipeline},
                 {"output", s->output},
                 {"backend", s->backend},
                 {"dem", s->dem},
                 {"job_log", s->job_log},
                 {"source", s->n_sources == 1 ? s->sources[0] : NULL},
                 {"spool", s->spool},
                 {"require_mount", s->require_mount},
                 {"status_group", s->status_group},
                 {"on_done", s->on_done},
                 {"on_failed", s->on_failed},
                 {"http", s->http},
                 {"http_token_file", s->http_token_file},
                 {"name", s->name},
                 {"set", s->set.n == 1 ? s->set.at[0].value : NULL},
                 {"route", s->n_routes == 1 ? s->routes[0].pipeline : NULL}};
    const struct {
        const char *key;
        double number;
    } numbers[] = {{"jobs", (double)s->jobs},
                   {"threads", (double)s->threads},
                   {"memory", (double)s->memory},
                   {"deadline", s->deadline_s},
                   {"level", s->level},
                   {"max_unpacked", (double)s->unpack.max_bytes},
                   {"max_ratio", (double)s->unpack.max_ratio},
                   {"max_entries", (double)s->max_entries},
                   {"force", s->force},
                   {"json", s->json},
                   {"quiet", s->quiet},
                   {"verbose", s->verbose},
                   {"bundle", s->bundle},
                   {"n_devices", (double)s->devices.n},
                   {"device", s->devices.is_list ? s->devices.at[0] : -1},
                   {"spread", (double)s->spread},
                   {"resume", s->resume},
                   {"shard_index", (double)s->shard.index},
                   {"shard_count", (double)s->shard.count},
                   {"shard_auto", s->shard.is_said_by_launcher},
                   {"mpi", s->mpi},
                   {"mpi_timeout", s->mpi_timeout_s},
                   {"keep_inputs", s->keep_inputs},
                   {"keep_done_age", (double)s->keep_done.age_s},
                   {"keep_done_bytes", (double)s->keep_done.bytes},
                   {"keep_failed_age", (double)s->keep_failed.age_s},
                   {"keep_failed_bytes", (double)s->keep_failed.bytes},
                   {"replace", s->replace},
                   {"done_file", s->done_file},
                   {"settle", s->settle_s},
                   {"settle_always", s->settle_always_s},
                   {"rescan", s->rescan_s},
                   {"drain", s->drain_s},
                   {"max_attempts", (double)s->max_attempts},
                   {"reserve", (double)s->reserve_bytes},
                   {"hook_timeout", s->hook_timeout_s},
                   {"failed", s->failed},
                   {"all", s->all},
                   {"n_inputs", (double)s->n_inputs}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        fprintf(out, " %s=%s ", texts[i].key, or_none(texts[i].text));
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        fprintf(out, " %s=%.17g ", numbers[i].key, numbers[i].number);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

/* The text with " KEY=..." of each of `changes` in the place of what it has; frees it. */
static char *changed(char *text, const char *changes)
{
    char copy[256], *rest = copy, whole[4096];
    snprintf(copy, sizeof(copy), "%s", changes);
    for (char *change; (change = strsep(&rest, " ")) != NULL;) {
        char key[64];
        snprintf(key, sizeof(key), " %.*s", (int)strcspn(change, "=") + 1, change);
        char *const at = strstr(text, key);
        if (at == NULL) {
            fail_msg("no field%s", key);
        }
        *at = '\0';
        snprintf(whole, sizeof(whole), "%s %s%s", text, change, at + 1 + strcspn(at + 1, " "));
        free(text);
        text = strdup(whole);
    }
    return text;
}

static char *described_line(const char *line)
{
    struct settings s = must_parse(line);
    char *const text = described(&s);
    settings_free(&s);
    return text;
}

/* That the line, and nothing else, changes what the other one gives. */
static void must_change(const char *from, const char *line, const char *changes)
{
    char *const want = changed(described_line(from), changes), *const got = described_line(line);
    if (strcmp(want, got) != 0) {
        fail_msg("%s gives\n%s\nand not\n%s", line, got, want);
    }
    free(want);
    free(got);
}

TEST(all_defaults_are_those_of_the_manual)
{
    char *text = described_line("watch --spool /a");
    assert_string_equal(
        text,
        " pipeline=-  output=/a/out  backend=auto  dem=-  job_log=-  source=-  spool=/a  "
        "require_mount=-  status_group=-  on_done=-  on_failed=-  http=-  http_token_file=-  "
        "name=-  set=-  route=-  jobs=0  threads=0  memory=0  deadline=0  level=1  "
        "max_unpacked=1099511627776  max_ratio=250  max_entries=1000000  force=0  json=0  quiet=0  "
        "verbose=0  bundle=0  n_devices=0  device=-1  spread=0  resume=0  shard_index=0  "
        "shard_count=0  shard_auto=0  mpi=0  mpi_timeout=30  keep_inputs=1  keep_done_age=0  "
        "keep_done_bytes=0  keep_failed_age=0  keep_failed_bytes=0  replace=0  done_file=0  "
        "settle=2  settle_always=0  rescan=60  drain=60  max_attempts=3  reserve=268435456  "
        "hook_timeout=60  "
        "failed=0  all=0  n_inputs=0 ");
    free(text);
    must_change("watch --spool /a", "run x", "output=leat-out spool=- n_inputs=1");
}

/* Each key as an option of a command, and in a file, where the option is stronger; it changes what
 * it is for, and nothing else. Of numbers the bounds are among the values. */
TEST(every_key_is_an_option_and_a_line_of_the_configuration)
{
    static const char run[] = "run x", watch[] = "watch --spool /a";
    static const struct {
        const char *command, *key, *value, *changes, *other,
            *other_changes; /* NULL: not in files */
    } cases[] = {
        {run, "pipeline", "kmeans", "pipeline=kmeans", "pearson", "route=pearson"},
        {run, "output", "elsewhere", "output=elsewhere", "o", "output=o"},
        {run, "backend", "cpu", "backend=cpu", "cuda", "backend=cuda"},
        {run, "devices", "3", "n_devices=3", "all", "n_devices=0"},
        {run, "devices", "5,", "n_devices=1 device=5", "64", "n_devices=64"},
        {run, "spread", "off", "spread=1", "64", "spread=64"},
        {run, "jobs", "4096", "jobs=4096", "1", "jobs=1"},
        {run, "threads", "4096", "threads=4096", "1", "threads=1"},
        {run, "memory", "3K", "memory=3072", "1", "memory=1"},
        {run, "deadline", "1e9", "deadline=1000000000", "0.5", "deadline=0.5"},
        {run, "level", "9", "level=9", "2", "level=2"},
        {run, "bundle", NULL, "bundle=1", "yes", "bundle=1"},
        {run, "max_unpacked", "0", "max_unpacked=0", "7", "max_unpacked=7"},
        {run, "max_ratio", "1000000000", "max_ratio=1000000000", "0", "max_ratio=0"},
        {run, "max_entries", "1000000000", "max_entries=1000000000", "0", "max_entries=0"},
        {run, "force", NULL, "force=1", "on", "force=1"},
        {run, "resume", NULL, "resume=1", "true", "resume=1"},
        {run, "shard", "1/1", "shard_count=1", "3/4", "shard_index=2 shard_count=4"},
        {"check x", "shard", "auto", "shard_auto=1", "1048576/1048576",
         "shard_index=1048575 shard_count=1048576"},
        {run, "set", "top=7", "set=7", NULL, NULL},
        {run, "job_log", "l", "job_log=l", NULL, NULL},
        {run, "mpi", NULL, "mpi=1", NULL, NULL},
        {run, "mpi_timeout", "0", "mpi_timeout=0", NULL, NULL},
        {"run -", "name", "x.csv", "name=x.csv", NULL, NULL},
        {run, "json", NULL, "json=1", "1", "json=1"},
        {run, "quiet", NULL, "quiet=1", "yes", "quiet=1"},
        {run, "verbose", NULL, "verbose=1", "yes", "verbose=1"},
        {"status", "spool", "/b", "spool=/b", "/c", "spool=/c"},
        {"status", "failed", NULL, "failed=1", NULL, NULL},
        {"retry x", "all", NULL, "all=1", NULL, NULL},
        {watch, "keep_inputs", "no", "keep_inputs=0", "0", "keep_inputs=0"},
        {watch, "keep_done", "1d,1K", "keep_done_age=86400 keep_done_bytes=1024", "2w",
         "keep_done_age=1209600"},
        {watch, "keep_failed", "1K,1h", "keep_failed_age=3600 keep_failed_bytes=1024", "2M",
         "keep_failed_bytes=2097152"},
        {watch, "replace", NULL, "replace=1", "yes", "replace=1"},
        {watch, "done_file", NULL, "done_file=1", "yes", "done_file=1"},
        {watch, "settle", "0", "settle=0", "9", "settle=9"},
        {watch, "settle_always", "0", "settle_always=0", "9", "settle_always=9"},
        {watch, "rescan", "0", "rescan=0", "9", "rescan=9"},
        {watch, "max_attempts", "1", "max_attempts=1", "1000", "max_attempts=1000"},
        {watch, "reserve", "0", "reserve=0", "1T", "reserve=1099511627776"},
        {watch, "require_mount", "f", "require_mount=f", "g", "require_mount=g"},
        {watch, "drain", "0", "drain=0", "9", "drain=9"},
        {watch, "status_group", "b", "status_group=b", "c", "status_group=c"},
        {watch, "on_done", "a", "on_done=a", "b", "on_done=b"},
        {watch, "on_failed", "a", "on_failed=a", "b", "on_failed=b"},
        {watch, "hook_timeout", "0", "hook_timeout=0", "9", "hook_timeout=9"},
        {watch, "http", "[::1]:1", "http=[::1]:1", "unix:/p", "http=unix:/p"},
        {watch, "http_token_file", "t", "http_token_file=t", "u", "http_token_file=u"},
    };
    char plain[128], line[256], text[128];
    bool seen[OPTIONS_MAX] = {false};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char option[LONGEST_KEY];
        snprintf(option, sizeof(option), "%s", cases[i].key);
        for (char *at = option; (at = strchr(at, '_')) != NULL;) {
            *at = '-';
        }
        for (size_t k = 0; k < settings_n_keys; k++) {
            seen[k] = seen[k] || strcmp(settings_keys[k].name, cases[i].key) == 0;
        }
        snprintf(line, sizeof(line), "%s --%s%s%s", cases[i].command, option,
                 cases[i].value != NULL ? "=" : "", cases[i].value != NULL ? cases[i].value : "");
        must_change(cases[i].command, line, cases[i].changes);
        if (cases[i].other == NULL) {
            continue;
        }
        snprintf(text, sizeof(text), "%s = %s\n", cases[i].key, cases[i].other);
        write_config(text);
        snprintf(plain, sizeof(plain), "%s -c %s", cases[i].command, config_path);
        must_change(cases[i].command, plain, cases[i].other_changes);
        const size_t n = strlen(line);
        snprintf(line + n, sizeof(line) - n, " -c %s", config_path);
        if (strcmp(cases[i].key, "pipeline") != 0) { /* which in a file is a route to it */
            must_change(cases[i].command, line, cases[i].changes);
        }
    }
    must_change(run, "run x --dem d --source s", "dem=d source=s");
    for (size_t k = 0; k < settings_n_keys; k++) {
        static const char *const others[] = {"config", "dem", "source"};
        for (size_t i = 0; i < 3; i++) {
            seen[k] = seen[k] || strcmp(settings_keys[k].name, others[i]) == 0;
        }
        if (!seen[k]) {
            fail_msg("add a case for the key %s", settings_keys[k].name);
        }
    }
}

TEST(numbers_beyond_their_bounds_are_refused)
{
    static const char *const lines[] = {"run x --jobs 4097",
                                        "run x --threads 4097",
                                        "run x --level 0",
                                        "run x --level 10",
                                        "run x --deadline 1000000001",
                                        "run x --deadline=-1",
                                        "run x --shard 0/1",
                                        "run x --shard 2/1",
                                        "run x --shard 1/1048577",
                                        "run x --spread 0",
                                        "run x --spread 65",
                                        "run x --devices 0",
                                        "run x --devices 65",
                                        "run x --max-ratio 1000000001",
                                        "run x --max-entries 1000000001",
                                        "run x --backend gpu",
                                        "watch --spool a --max-attempts 0",
                                        "run x --devices 4096,",
                                        "run x --devices 1,1,",
                                        "watch --spool a --max-attempts 1001"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        must_refuse(lines[i], (const char *[]){"--"}, 1);
    }
}

int main(void)
{
    return unit_run(make_config, remove_config);
}
