/*
 * Parameters that are text, of a stage of this test: what they come to, whatever way they take.
 */
#include "formats/base/json.h"
#include "pipeline/worker/worker_protocol.h"
#include "tests/support/settings_given.h"

static const struct stage_part parts[] = {{.suffix = "words", .kind = STAGE_TABLE}};
static const struct param_spec specs[] = {
    {.key = "expr", .kind = PARAM_TEXT, .text = "a=b", .min = 1, .max = 60, .help = "words"},
    {.key = "n", .kind = PARAM_COUNT, .text = "7", .min = 0, .max = 9, .help = "a number"},
    {.key = "name", .kind = PARAM_TEXT, .text = "", .min = 0, .max = 8, .help = "may be empty"}};
static const struct stage_ops words = {
    .name = "words", .parts = parts, .n_parts = 1, .specs = specs, .n_specs = 3};

const struct stage_ops *const stage_registry[] = {&words, NULL};

static const char *const hard[] = {"x",
                                   "a = \"b\" == 'c'",
                                   "a;b,c:d#e",
                                   "# no comment",
                                   "\"; $(true) `x` \\n \\\\ %41 %s",
                                   "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80 \xef\xbf\xbd",
                                   "[pipeline x]",
                                   "{\"set\": null}"};
enum { N_HARD = sizeof(hard) / sizeof(hard[0]) };

static struct job_settings must_resolve(const struct settings *s)
{
    struct job_settings j;
    if (settings_resolve(s, "x.words.csv", &j) != STATUS_OK) {
        fail_msg("%s", status_message());
    }
    return j;
}

/* "run -s expr=TEXT x.words.csv"; the text may have blanks. */
static enum status given(const char *text, struct settings *s)
{
    static char option[256];
    char *argv[] = {"run", "-s", option, "x.words.csv", NULL};
    bool done;
    snprintf(option, sizeof(option), "expr=%s", text);
    return settings_parse(4, argv, s, &done);
}

TEST(text_has_its_default_until_it_is_set)
{
    struct settings s = must_parse("run x.words.csv");
    struct job_settings j = must_resolve(&s);
    assert_string_equal(j.params[0].text, "a=b");
    assert_string_equal(j.params[2].text, "");
    job_settings_free(&j);
    settings_free(&s);
}

TEST(text_comes_unharmed_from_the_command_line_and_the_configuration)
{
    for (size_t i = 0; i < N_HARD; i++) {
        char config[256];
        struct settings s;
        assert_int_equal(given(hard[i], &s), STATUS_OK);
        struct job_settings j = must_resolve(&s);
        assert_string_equal(j.params[0].text, hard[i]);
        job_settings_free(&j);
        settings_free(&s);
        for (size_t way = 0; way < 2; way++) {
            snprintf(config, sizeof(config), "%s\nexpr = %s\nname =\n",
                     way == 0 ? "[pipeline words]" : "[route r]\nmatch = *", hard[i]);
            s = with_config(config, "");
            j = must_resolve(&s);
            assert_string_equal(j.params[0].text, hard[i]);
            assert_string_equal(j.params[2].text, "");
            job_settings_free(&j);
            settings_free(&s);
        }
    }
}

TEST(text_comes_unharmed_through_a_request_to_a_worker)
{
    for (size_t i = 0; i < N_HARD; i++) {
        struct settings s;
        assert_int_equal(given(hard[i], &s), STATUS_OK);
        struct job_settings before = must_resolve(&s), after;
        json_t *packed = worker_pack_settings(&before);
        assert_non_null(packed);
        char *line = json_dumps(packed, JSON_COMPACT | JSON_ENSURE_ASCII);
        job_settings_free(&before);
        settings_free(&s);
        json_decref(packed);
        assert_null(strchr(line, '\n'));
        json_t *request = json_loads(line, 0, NULL);
        free(line);
        assert_int_equal(worker_unpack_settings(request, "id", &after), STATUS_OK);
        assert_string_equal(after.params[0].text, hard[i]);
        assert_true(after.params[1].count == 7);
        assert_string_equal(after.params[2].text, "");
        job_settings_free(&after);
        json_decref(request);
    }
}

TEST(text_that_does_not_fit_is_refused_wherever_it_comes_from)
{
    static const char *const bad[] = {
        "", "\x1b[2J", "a\tb", "\xe9",
        "1234567890123456789012345678901234567890123456789012345678901"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char config[256];
        struct settings s;
        struct job_settings j;
        assert_int_equal(given(bad[i], &s), STATUS_BAD_ARGUMENT);
        assert_non_null(strstr(status_message(), "--set: expr: '"));
        snprintf(config, sizeof(config), "[pipeline words]\n\nexpr = %s\n", bad[i]);
        write_config(config);
        snprintf(config, sizeof(config), "run -c %s x.words.csv", config_path);
        must_refuse(config, (const char *[]){":3: expr: '"}, 1);
        json_t *request = json_pack("{s:s, s:{s:o?}}", "pipeline", "words", "set", "expr",
                                    json_string_nocheck(bad[i]));
        assert_int_equal(worker_unpack_settings(request, "id", &j), STATUS_BAD_ARGUMENT);
        json_decref(request);
    }
}

int main(void)
{
    return unit_run(make_config, remove_config);
}
