/*
 * The registry of stages and the text of parameters.
 * ctest: tree
 */
#include "stages/stage.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct param_spec choice = {
    .key = "diff", .kind = PARAM_CHOICE, .text = "none", .choices = "none|step|log"};
static const struct param_spec count = {
    .key = "top", .kind = PARAM_COUNT, .text = "1000", .min = 1, .max = 4294967296.0};
static const struct param_spec real = {
    .key = "threshold", .kind = PARAM_REAL, .text = "0", .min = 0, .max = 1};

TEST(every_stage_of_the_registry_is_found_by_its_name)
{
    size_t n = 0;
    for (; stage_registry[n] != NULL; n++) {
        assert_ptr_equal(stage_find(stage_registry[n]->name), stage_registry[n]);
    }
    assert_true(n > 0);
    assert_null(stage_find("pearso"));
    assert_null(stage_find(""));
}

TEST(every_default_of_every_stage_is_accepted)
{
    for (const struct stage_ops *const *s = stage_registry; *s != NULL; s++) {
        for (size_t k = 0; k < (*s)->n_specs; k++) {
            struct param_value value;
            assert_int_equal(stage_parse_param(&(*s)->specs[k], (*s)->specs[k].text, &value),
                             STATUS_OK);
            assert_non_null((*s)->specs[k].help);
        }
    }
}

TEST(choices_are_taken_and_told_by_their_whole_word)
{
    struct param_value value;
    static const char *const words[] = {"none", "step", "log"};
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(stage_parse_param(&choice, words[k], &value), STATUS_OK);
        assert_int_equal(value.index, k);
        json_t *told = stage_param_json(&choice, &value);
        assert_string_equal(json_string_value(told), words[k]);
        json_decref(told);
    }
    static const char *const wrong[] = {"", "ste", "steps", "none|step", "|", "LOG", " log"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(stage_parse_param(&choice, wrong[k], &value), STATUS_BAD_ARGUMENT);
        assert_non_null(strstr(status_message(), "diff"));
        assert_non_null(strstr(status_message(), "none|step|log"));
    }
}

TEST(counts_are_whole_numbers_within_their_range)
{
    struct param_value value;
    assert_int_equal(stage_parse_param(&count, "1", &value), STATUS_OK);
    assert_true(value.count == 1);
    assert_int_equal(stage_parse_param(&count, "4294967296", &value), STATUS_OK);
    assert_true(value.count == UINT64_C(4294967296));
    assert_int_equal(stage_parse_param(&count, "007", &value), STATUS_OK);
    assert_true(value.count == 7);
    static const char *const wrong[] = {"",
                                        "0",
                                        "-1",
                                        "+1",
                                        "1.5",
                                        "1e3",
                                        "x",
                                        "10 ",
                                        " 10",
                                        "4294967297",
                                        "18446744073709551617",
                                        "99999999999999999999999"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(stage_parse_param(&count, wrong[k], &value), STATUS_BAD_ARGUMENT);
        assert_non_null(strstr(status_message(), "top"));
        assert_non_null(strstr(status_message(), "4294967296"));
    }
}

TEST(a_count_may_be_the_largest_of_64_bits)
{
    static const struct param_spec seed = {
        .key = "seed", .kind = PARAM_COUNT, .text = "0", .min = 0, .max = 0x1p64};
    struct param_value value;
    assert_int_equal(stage_parse_param(&seed, "18446744073709551615", &value), STATUS_OK);
    assert_true(value.count == UINT64_MAX);
    assert_int_equal(stage_parse_param(&seed, "18446744073709551616", &value), STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(status_message(), "from 0 to 18446744073709551615"));
}

TEST(reals_are_finite_numbers_within_their_range)
{
    struct param_value value;
    static const char *const texts[] = {"0", "1", "0.75", "1e-3", ".5"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        assert_int_equal(stage_parse_param(&real, texts[k], &value), STATUS_OK);
        assert_true(value.real == strtod(texts[k], NULL));
    }
    static const char *const wrong[] = {"",    " 0.5", "0.5 ", "0.5x", "1.0000001", "-0.1",
                                        "nan", "inf",  "0,5",  "0x1",  "0x.8p0"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(stage_parse_param(&real, wrong[k], &value), STATUS_BAD_ARGUMENT);
        assert_non_null(strstr(status_message(), "threshold"));
    }
}

TEST(ranges_are_whole_numbers_or_two_of_them)
{
    static const struct param_spec range = {
        .key = "k", .kind = PARAM_RANGE, .text = "8", .min = 1, .max = 0x1p31};
    static const struct {
        const char *text;
        uint64_t first, last;
    } good[] = {{"8", 8, 8},
                {"2-12", 2, 12},
                {"3-3", 3, 3},
                {"1-1000", 1, 1000},
                {"2147483648", UINT64_C(1) << 31, UINT64_C(1) << 31}};
    static const struct {
        const char *text, *said;
    } wrong[] = {{"", "neither"},
                 {"0", "write 8, or 2-12"},
                 {"0-3", "neither"},
                 {"x", "neither"},
                 {"2-", "neither"},
                 {"-2", "neither"},
                 {"2-0", "neither"},
                 {"8 ", "neither"},
                 {"2-3-4", "neither"},
                 {"2 - 3", "neither"},
                 {"1.5", "neither"},
                 {"2147483649", "from 1 to 2147483648"},
                 {"99999999999999999999", "neither"},
                 {"12-2", "'12-2' ends before it begins; write 2-12"},
                 {"1-1001", "more than 1000 numbers"}};
    struct param_value value;
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        assert_int_equal(stage_parse_param(&range, good[k].text, &value), STATUS_OK);
        assert_true(value.count == good[k].first && value.last == good[k].last);
        json_t *told = stage_param_json(&range, &value);
        assert_string_equal(json_string_value(told), good[k].text);
        json_decref(told);
    }
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(stage_parse_param(&range, wrong[k].text, &value), STATUS_BAD_ARGUMENT);
        if (strncmp(status_message(), "k: ", 3) != 0 ||
            strstr(status_message(), wrong[k].said) == NULL) {
            fail_msg("%s: %s", wrong[k].text, status_message());
        }
    }
}

TEST(spans_are_a_size_on_both_sides_or_two_ends)
{
    static const struct param_spec span = {
        .key = "lags", .kind = PARAM_SPAN, .text = "0", .min = 0, .max = 1000};
    static const struct {
        const char *text;
        int64_t from, to;
    } good[] = {{"0", 0, 0},       {"8", -8, 8},  {"-2:12", -2, 12},          {"0:0", 0, 0},
                {"-9:-4", -9, -4}, {"3:3", 3, 3}, {"-1000:1000", -1000, 1000}};
    static const char *const wrong[] = {
        "",     "-3",    "3:1",   ":3",    "3:",   "1001", "-1:1001",
        "-1.5", "2:1:3", "2 : 3", "--2:3", "+1:3", "x"};
    struct param_value value;
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        assert_int_equal(stage_parse_param(&span, good[k].text, &value), STATUS_OK);
        assert_true(value.from == good[k].from && value.to == good[k].to);
        json_t *told = stage_param_json(&span, &value);
        assert_string_equal(json_string_value(told), good[k].text);
        json_decref(told);
    }
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(stage_parse_param(&span, wrong[k], &value), STATUS_BAD_ARGUMENT);
        assert_non_null(strstr(status_message(), "write 12, for -12:12"));
    }
}

TEST(numbers_are_a_list_or_lie_at_equal_distances)
{
    static const struct param_spec spec = {.key = "query", .kind = PARAM_NUMBERS, .text = ""};
    static const struct {
        const char *text;
        uint64_t n;
        double first, second, last;
    } good[] = {{"1.5, 2.5,-3e1", 3, 1.5, 2.5, -30},
                {"7", 1, 7, 7, 7},
                {"  linspace( 0 ,1e0,1e3 )  ", 1000, 0, 1 / 999.0, 1},
                {"linspace(2, 1, 1)", 1, 2, 2, 1},
                {"0.1:0.9:0.1", 9, 0.1, 0.2, 0.9},
                {"0:1:0.3", 4, 0, 0.3, 0.3 * 3},
                {"3 : -1 : -2", 3, 3, 1, -1},
                {"0:1e6:1e-3", 1000000001, 0, 1e-3, 1e6}};
    static const struct {
        const char *text, *said;
    } wrong[] = {{"linspace(0, 1)", "is neither linspace"},
                 {"linspace(0, 1, 0)", "from 1 to 1000000000000000"},
                 {"linspace(0, 1, 5) x", "goes on"},
                 {"1,,2", "nor a list"},
                 {"0:1", "is not a:b:step"},
                 {"0:1:5", "n numbers from a to b are linspace(a, b, n)"},
                 {"0:1:0", "is not a:b:step"},
                 {"0:1:-0.1", "is not a:b:step"},
                 {"0:0:1", "is not a:b:step"},
                 {"0:1:0.1:2", "is not a:b:step"},
                 {"0:1:1e-300", "is not a:b:step"}};
    struct param_value value;
    assert_int_equal(stage_parse_param(&spec, "", &value), STATUS_OK);
    assert_true(value.numbers.n == 0 && *value.text == '\0');
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        double x[2] = {0}, last;
        assert_int_equal(stage_parse_param(&spec, good[k].text, &value), STATUS_OK);
        assert_true(value.numbers.n == good[k].n);
        numbers_fill(&value.numbers, 0, good[k].n > 1 ? 2 : 1, x);
        numbers_fill(&value.numbers, good[k].n - 1, 1, &last);
        assert_true(x[0] == good[k].first &&
                    (good[k].n == 1 || fabs(x[1] - good[k].second) <= 1e-15));
        assert_true(good[k].n == 1 || last == good[k].last);
    }
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(stage_parse_param(&spec, wrong[k].text, &value), STATUS_BAD_ARGUMENT);
        if (strncmp(status_message(), "query: ", 7) != 0 ||
            strstr(status_message(), wrong[k].said) == NULL) {
            fail_msg("%s: %s", wrong[k].text, status_message());
        }
    }
    char many[4001]; /* longer than a message: what is wrong is said all the same */
    for (size_t k = 0; k < sizeof many - 1; k++) {
        many[k] = "1,"[k % 2];
    }
    many[sizeof many - 1] = '\0';
    assert_int_equal(stage_parse_param(&spec, many, &value), STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(status_message(), "1,1,...' is neither"));
}

TEST(texts_are_utf8_without_control_characters_and_of_bounded_bytes)
{
    static const struct param_spec text = {
        .key = "expr", .kind = PARAM_TEXT, .text = "x", .min = 1, .max = 12};
    struct param_value value;
    static const char *const good[] = {"x",
                                       "123456789012",
                                       "a = \"b\"; #",
                                       "\\'",
                                       " ",
                                       "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
                                       "\xef\xbf\xbd"};
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        if (stage_parse_param(&text, good[k], &value) != STATUS_OK) {
            fail_msg("%s", status_message());
        }
        assert_ptr_equal(value.text, good[k]);
        json_t *told = stage_param_json(&text, &value);
        assert_string_equal(json_string_value(told), good[k]);
        json_decref(told);
    }
    static const struct {
        const char *text, *said;
    } wrong[] = {{"", "0 bytes, not 1 to 12"},  {"1234567890123", "13 bytes, not 1 to 12"},
                 {"a\tb", "at byte 2"},         {"ab\n", "at byte 3"},
                 {"\x1b[2J", "at byte 1"},      {"a\x7f", "at byte 2"},
                 {"\xc2\x80", "at byte 1"},     {"\xc2\x9f", "at byte 1"},
                 {"\xc3\xa9\xe9", "at byte 3"}, {"\xe2\x82", "at byte 1"},
                 {"\xed\xa0\x80", "at byte 1"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(stage_parse_param(&text, wrong[k].text, &value), STATUS_BAD_ARGUMENT);
        assert_null(value.text);
        if (strncmp(status_message(), "expr: ", 6) != 0 ||
            strstr(status_message(), wrong[k].said) == NULL) {
            fail_msg("%zu: %s", k, status_message());
        }
    }
}

TEST(numbers_stand_in_json_as_numbers)
{
    struct param_value value;
    assert_int_equal(stage_parse_param(&count, "4294967296", &value), STATUS_OK);
    json_t *told = stage_param_json(&count, &value);
    assert_true(json_integer_value(told) == INT64_C(4294967296));
    json_decref(told);
    assert_int_equal(stage_parse_param(&real, "0.1", &value), STATUS_OK);
    told = stage_param_json(&real, &value);
    assert_true(json_is_real(told) && json_real_value(told) == 0.1);
    json_decref(told);
    static const struct param_spec several = {.key = "p_r", .kind = PARAM_NUMBERS};
    assert_int_equal(stage_parse_param(&several, " 0.25", &value), STATUS_OK);
    told = stage_param_json(&several, &value);
    assert_true(json_is_real(told) && json_real_value(told) == 0.25);
    json_decref(told);
    assert_int_equal(stage_parse_param(&several, "0.25,1", &value), STATUS_OK);
    told = stage_param_json(&several, &value);
    assert_string_equal(json_string_value(told), "0.25,1");
    json_decref(told);
}

TEST(several_numbers_are_within_their_range)
{
    static const struct param_spec spec = {.key = "p_r", .kind = PARAM_NUMBERS, .min = 0, .max = 1};
    static const struct param_spec wide = {
        .key = "factors", .kind = PARAM_NUMBERS, .min = 0, .max = 1e300};
    static const char *const good[] = {
        "0", "1", "0,1,0.5", "0:1:0.1", "1:0:-1", "linspace(0,1,1e15)", "linspace(0.5,9,1)"};
    static const char *const wrong[] = {
        "-1", "1.1", "0,2,0.5", "0:2:0.5", "-1:1:1", "linspace(0,1.5,1e15)", "linspace(2,2,1)"};
    struct param_value value;
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        assert_int_equal(stage_parse_param(&spec, good[k], &value), STATUS_OK);
    }
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(stage_parse_param(&spec, wrong[k], &value), STATUS_BAD_ARGUMENT);
        assert_non_null(strstr(status_message(), "from 0 to 1"));
    }
    static const char *const dates[] = {"2024-05-01", "linspace(2024-05-01, 2024-05-02, 3)"};
    for (size_t k = 0; k < sizeof dates / sizeof *dates; k++) {
        assert_int_equal(stage_parse_param(&wide, dates[k], &value), STATUS_BAD_ARGUMENT);
        assert_non_null(strstr(status_message(), "nor a list a, b, ..., of numbers"));
    }
}

/* --- the man page ----------------------------------------------------------------------------- */

static char *read_man_page(const char *stage)
{
    char path[512];
    snprintf(path, sizeof path, LEAT_TREE "/pipeline/manual/leat-%s.7", stage);
    FILE *f = fopen(path, "r");
    if (f == NULL && access(LEAT_TREE "/pipeline/manual", F_OK) != 0) {
        skip(); /* the program has been taken to another machine */
    }
    assert_non_null(f);
    char *text = NULL;
    size_t room = 0;
    assert_true(getdelim(&text, &room, '\0', f) > 0);
    fclose(f);
    return text;
}

/* The first line that begins like this, from `at` on and before `end`; NULL: none. */
static char *find_line(char *at, const char *end, const char *begin)
{
    while (at < end && strncmp(at, begin, strlen(begin)) != 0) {
        at = strchr(at, '\n') + 1;
    }
    return at < end ? at : NULL;
}

TEST(page_of_every_stage_has_its_parameters_in_their_order)
{
    for (const struct stage_ops *const *s = stage_registry; *s != NULL; s++) {
        char line[256], *page = read_man_page((*s)->name), *page_end = page + strlen(page);
        char *at = find_line(page, page_end, ".Sh PARAMETERS\n");
        assert_non_null(at);
        char *const end = find_line(at, page_end, ".El\n");
        assert_non_null(end);
        for (size_t k = 0; k < (*s)->n_specs; k++) {
            const struct param_spec *spec = &(*s)->specs[k];
            at = find_line(at, end, ".It ");
            assert_non_null(at);
            snprintf(line, sizeof line, ".It Cm %s Ns = Ns %s", spec->key,
                     spec->kind == PARAM_CHOICE ? "Cm " : "Ar ");
            for (const char *c = spec->choices; c != NULL && *c != '\0'; c++) {
                snprintf(line + strlen(line), sizeof line - strlen(line), *c == '|' ? " %c " : "%c",
                         *c);
            }
            strcat(line, spec->kind == PARAM_CHOICE ? "\n" : "");
            if (strncmp(at, line, strlen(line)) != 0) {
                fail_msg("the page has '%.40s' in the place of '%s'", at, line);
            }
            at = strchr(at, '\n') + 1;
            char *next = find_line(at, end, ".It ");
            next = next != NULL ? next : end;
            snprintf(line, sizeof line, "(default %s", *spec->text != '\0' ? spec->text : "empty");
            const char *told = memmem(at, (size_t)(next - at), line, strlen(line));
            const bool is_first = spec->kind == PARAM_CHOICE &&
                                  strncmp(spec->choices, spec->text, strlen(spec->text)) == 0;
            if (!is_first && (told == NULL || strchr("):;,", told[strlen(line)]) == NULL)) {
                fail_msg("%s: the page has no '%s'", spec->key, line);
            }
        }
        at = find_line(at, end, ".It ");
        if (at != NULL) {
            fail_msg("%s has no '%.40s'", (*s)->name, at);
        }
        free(page);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
