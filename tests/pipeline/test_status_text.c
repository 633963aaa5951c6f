/*
 * What people see of the service's status document, also of one that is not what it should be.
 * ctest: tree
 */
#include "pipeline/status/status_text.h"

#include "tests/support/status_document.h"

/* JSON with ' in the place of ". */
static json_t *parse(const char *text)
{
    char *quoted = strdup(text);
    assert_non_null(quoted);
    for (char *c = quoted; (c = strchr(c, '\'')) != NULL;) {
        *c = '"';
    }
    json_t *o = json_loads(quoted, 0, NULL);
    assert_non_null(o);
    free(quoted);
    return o;
}

/* For free(). */
static char *printed(const json_t *document)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    status_text_print(out, document);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void must_hold(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, text);
    }
}

TEST(the_page_is_what_the_document_holds)
{
    json_t *document = status_document();
    char *text = printed(document);
    status_document_is(text, LEAT_TREE "/tests/support/status_document.txt");
    assert_true(status_text_is_ready(document));
    free(text);
    json_decref(document);
}

TEST(only_running_and_ready_is_ready)
{
    static const struct {
        const char *state;
        bool ready, expected;
    } cases[] = {
        {"running", true, true},   {"running", false, false}, {"paused", true, false},
        {"starting", true, false}, {"draining", true, false}, {"", true, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *d = json_pack("{s:s, s:b}", "state", cases[i].state, "ready", cases[i].ready);
        assert_int_equal(status_text_is_ready(d), cases[i].expected);
        json_decref(d);
    }
    json_t *empty = json_object();
    assert_false(status_text_is_ready(empty));
    json_decref(empty);
}

/* Every text replaced by one that would command a terminal or forge a line. */
static void poison(json_t *o)
{
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_string(o)) {
        assert_int_equal(json_string_set(o, "a\x1b[2J\nleat 9: forged\x7f"), 0);
    } else if (json_is_array(o)) {
        json_array_foreach(o, i, value)
        {
            poison(value);
        }
    } else {
        json_object_foreach(o, key, value)
        {
            poison(value);
        }
    }
}

TEST(no_text_of_the_document_commands_a_terminal)
{
    json_t *document = status_document();
    char *plain = printed(document);
    poison(document);
    char *text = printed(document);
    size_t n_lines = 0, n_before = 0;
    for (const char *c = text; *c != '\0'; c++) {
        assert_true((unsigned char)*c >= 0x20 || *c == '\n');
        assert_true(*c != 0x7f);
        n_lines += *c == '\n';
    }
    for (const char *c = plain; *c != '\0'; c++) {
        n_before += *c == '\n';
    }
    assert_int_equal(n_lines, n_before + 1); /* `why` is no longer empty */
    must_hold(text, "a\\x1b[2J\\x0aleat 9: forged\\x7f");
    free(plain);
    free(text);
    json_decref(document);
}

TEST(a_document_of_anything_is_printed_without_harm)
{
    static const char *const documents[] = {
        "{}",
        "{'workers':7,'in_flight':{},'waiting':'x','failed':3,'totals':[],'rates':null,'pid':-5}",
        "{'workers':[1,null,[]],'in_flight':['x'],'waiting':[{}],'failed':[{},7],'uptime_s':-1}",
        "{'in_flight':[{'bytes':-1,'total_bytes':1e300,'for_s':1e300},{'bytes':9,'total_bytes':3}],"
        "'rates':{'bytes_per_s_1min':1e300},'n_waiting':-3,'uptime_s':1e300}",
    };
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
        json_t *document = parse(documents[i]);
        char *text = printed(document);
        must_hold(text, "not ready");
        free(text);
        json_decref(document);
    }
}

static void set(json_t *o, const char *key, json_t *value)
{
    assert_int_equal(json_object_set_new(o, key, value), 0);
}

/* What is left out is counted by the totals: the lists of the document are cut, too. */
TEST(long_lists_are_cut_and_say_so)
{
    static const struct {
        int listed, waiting, troubles;
        const char *more;
    } cases[] = {
        {50, 50, 0, "             and 42 more\n"},    {100, 250, 0, "             and 242 more\n"},
        {100, 250, 3, "             and 243 more\n"}, {8, 8, 0, "w.csv:  (0 s)\n  so far"},
        {9, 8, 1, "             and 1 more\n"},       {50, 0, 0, "             and 42 more\n"},
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        json_t *document = status_document(), *waiting = json_array(), *failed = json_array();
        for (int i = 0; i < cases[k].listed; i++) {
            json_array_append_new(waiting, json_pack("{s:s}", "path", "w.csv"));
        }
        for (int i = 0; i < 20; i++) {
            json_array_append_new(failed, json_pack("{s:s}", "name", "f.csv"));
        }
        set(document, "waiting", waiting);
        set(document, "n_waiting", json_integer(cases[k].waiting));
        set(document, "n_troubles", json_integer(cases[k].troubles));
        set(document, "failed", failed);
        set(document, "n_failed", json_integer(4711));
        char *text = printed(document);
        must_hold(text, cases[k].more);
        must_hold(text, "\n  and 4703 more\n");
        size_t n = 0;
        for (const char *c = text; (c = strstr(c, "w.csv")) != NULL; c++) {
            n++;
        }
        assert_int_equal(n, 8);
        free(text);
        json_decref(document);
    }
}

/* Each of the figures alone is worth a line; none of them is worth none. */
TEST(figures_that_are_all_nothing_have_no_line)
{
    static const struct {
        const char *key, *value, *line;
    } cases[] = {
        {"hooks", "{}", NULL},
        {"hooks", "{'running':0,'failed':0}", NULL},
        {"hooks", "{'run':1}",
         "  commands   1 run, 0 of them failed; 0 at work, 0 waiting, 0 left out\n"},
        {"hooks", "{'waiting':1}",
         "  commands   0 run, 0 of them failed; 0 at work, 1 waiting, 0 left out\n"},
        {"hooks", "{'dropped':1}",
         "  commands   0 run, 0 of them failed; 0 at work, 0 waiting, 1 left out\n"},
        {"removed", "{'bytes':0,'why':''}", NULL},
        {"removed", "{'inputs':1,'bytes':5}",
         "  removed    1 inputs from done/, 0 jobs from failed/; 5 B\n"},
        {"removed", "{'jobs':1,'bytes':5}",
         "  removed    0 inputs from done/, 1 jobs from failed/; 5 B\n"},
        {"removed", "{'why':'x'}",
         "  removed    not all that keep_done and keep_failed ask for: x\n"},
        {"done", "[{'name':'d','warnings':[]}]", NULL},
        {"done", "[{'name':'d','warnings':['w']}]", "Last warnings\n  d: w\n"},
        {"done", "[{'name':'d','warnings':['1','2','3','4','5','6','7','8','9','w']}]",
         "  d: 8\n  and 2 more\n"},
        {"failed", "[]", NULL},
    };
    static const char *const words[] = {"commands", "removed", "Last warnings", "Last failures"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *document = json_object();
        set(document, cases[i].key, parse(cases[i].value));
        char *text = printed(document);
        for (size_t k = 0; cases[i].line == NULL && k < sizeof(words) / sizeof(*words); k++) {
            assert_null(strstr(text, words[k]));
        }
        must_hold(text, cases[i].line != NULL ? cases[i].line : "");
        free(text);
        json_decref(document);
    }
}

TEST(a_folder_that_is_not_watched_yet_has_no_empty_words)
{
    json_t *document = status_document();
    set(document, "watching", json_string(""));
    char *text = printed(document);
    must_hold(text, "  folder     /srv/leat\n");
    free(text);
    json_decref(document);
}

TEST(the_command_that_tries_again_is_one_for_a_shell)
{
    static const char *const folders[][2] = {
        {"/srv/leat", " --spool /srv/leat\n"},
        {"it's", " --spool 'it'\\''s'\n"},
        {"~/a b", " --spool '~/a b'\n"},
        {"$(x);y", " --spool '$(x);y'\n"},
        {"/srv/Größe", " --spool '/srv/Größe'\n"},
        {"\n'\xe2\x80\xae", " --spool '\\x0a'\\''\\xe2\\x80\\xae'\n"},
        {"", " 20261121-030441-000003\n"},
    };
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        json_t *document = status_document();
        set(document, "spool", json_string(folders[i][0]));
        char *text = printed(document);
        must_hold(text, folders[i][1]);
        free(text);
        json_decref(document);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
