/*
 * Numbers and words for people.
 */
#include "pipeline/names/text.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

TEST(sizes_for_people_have_three_digits)
{
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

TEST(rates_below_one_a_second_are_told_a_minute)
{
    static const struct {
        double jobs_per_s;
        const char *text;
    } cases[] = {{0, "0 jobs/min"},         {-1, "0 jobs/min"},     {NAN, "0 jobs/min"},
                 {0.0155, "0.93 jobs/min"}, {0.5, "30 jobs/min"},   {1, "1 jobs/s"},
                 {12.345, "12.3 jobs/s"},   {1234.5, "1234 jobs/s"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[TEXT_NUMBER_BYTES];
        assert_string_equal(text_rate(text, cases[i].jobs_per_s), cases[i].text);
    }
}

TEST(durations_for_people_never_show_sixty)
{
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

/* Of what is offered to the word. */
static size_t distance(const char *word, const char *offered)
{
    struct text_near near = {.word = word};
    text_near_offer(&near, offered);
    return near.best != NULL ? near.distance : SIZE_MAX;
}

TEST(a_distance_counts_edits_and_swaps)
{
    assert_int_equal(distance("memory", "memory"), 0);
    assert_int_equal(distance("memry", "memory"), 1);
    assert_int_equal(distance("mmeory", "memory"), 1);
    assert_int_equal(distance("kittens", "sitting"), 3);
    assert_true(distance("", "a") == SIZE_MAX && distance("", "") == SIZE_MAX);
    char longest[256];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(distance(longest, longest), 0);
    assert_true(distance(longest, "a") == SIZE_MAX);
}

TEST(the_nearest_word_is_meant_and_of_equally_near_ones_the_first)
{
    static const struct {
        const char *word, *offered[3], *best;
    } cases[] = {
        {"abc", {"abd", "abe", "xbc"}, "abd"},
        {"memry", {"merry", "memory", "memy"}, "merry"},
        {"memroy", {"mercy", "memory", "memo"}, "memory"},     /* a swap is one */
        {"prec", {"price", "precision", "prey"}, "precision"}, /* begins so */
        {"prec", {"prey", "precision", "price"}, "prey"},
        {"pr", {"precision", "prec", "pre"}, "pre"}, /* too short to begin a word */
        {"abcd", {"wxyz", "axyz", "abxy"}, "abxy"},
        {"abc", {"axy", "xyc", "x"}, NULL}, /* a third of the letters */
        {"a", {"b", "c", "d"}, NULL},       /* nothing of it is left */
        {"a", {"b", "ab", "ac"}, "ab"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct text_near near = {.word = cases[i].word};
        for (size_t k = 0; k < 3; k++) {
            text_near_offer(&near, cases[i].offered[k]);
        }
        if (near.best != NULL ? !cases[i].best || strcmp(near.best, cases[i].best) != 0
                              : cases[i].best != NULL) {
            fail_msg("%s: %s", cases[i].word, near.best != NULL ? near.best : "nothing");
        }
    }
}

TEST(any_bytes_become_a_json_string)
{
    static const char *const cases[][2] = {
        {"", ""}, {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"}, {"a\xff.csv", "a\xef\xbf\xbd.csv"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *o = text_json(cases[i][0]);
        assert_non_null(o);
        assert_string_equal(json_string_value(o), cases[i][1]);
        json_decref(o);
    }
    assert_null(text_json(NULL));
}

TEST(text_from_outside_is_put_as_the_log_shows_it)
{
    char *shown = NULL;
    size_t n = 0;
    FILE *const out = open_memstream(&shown, &n);
    assert_non_null(out);
    text_put(out, "gr\xc3\xbc\xc3\x9f \n\x1b\x7f \xc2\x9b \xe2\x80\xa8 \xe2\x80\xae \xe2\x81\xa9 "
                  "\xff \xf0\x9f\x98\x80");
    assert_int_equal(fclose(out), 0);
    assert_string_equal(shown, "gr\xc3\xbc\xc3\x9f \\x0a\\x1b\\x7f \\xc2\\x9b \\xe2\\x80\\xa8 "
                               "\\xe2\\x80\\xae \\xe2\\x81\\xa9 \\xff \xf0\x9f\x98\x80");
    free(shown);
}

TEST(a_command_is_split_at_blanks_but_for_what_is_quoted)
{
    static const struct {
        const char *command;
        const char *words[5];
    } cases[] = {{"a", {"a"}},
                 {"  /bin/a\tb  c ", {"/bin/a", "b", "c"}},
                 {"sh -c 'a \"b\"; c' x", {"sh", "-c", "a \"b\"; c", "x"}},
                 {"a \"b 'c'\"d '' \"\"", {"a", "b 'c'd", "", ""}},
                 {"a b c d e", {"a", "b", "c", "d", "e"}}};
    static const char *const wrong[] = {"", "  \t", "''", "a 'b", "a \"b' c", "'"};
    char **words;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(text_split(cases[i].command, &words), STATUS_OK);
        size_t n = 0;
        for (; n < 5 && cases[i].words[n] != NULL; n++) {
            assert_string_equal(words[n], cases[i].words[n]);
        }
        assert_null(words[n]);
        assert_null(words[n + 1]);
        words[n] = *words; /* there is a place */
        free(words);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(text_split(wrong[i], &words), STATUS_BAD_ARGUMENT);
        assert_null(words);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
