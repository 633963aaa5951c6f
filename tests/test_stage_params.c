/*
 * The registry of stages and the text of parameters.
 */
#include "stages/stage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct param_spec choice = {
    .key = "diff", .kind = PARAM_CHOICE, .text = "none", .choices = "none|step|log"};
static const struct param_spec count = {
    .key = "top", .kind = PARAM_COUNT, .text = "1000", .min = 1, .max = 4294967296.0};
static const struct param_spec real = {
    .key = "threshold", .kind = PARAM_REAL, .text = "0", .min = 0, .max = 1};

static void every_stage_of_the_registry_is_found_by_its_name(void **state)
{
    (void)state;
    size_t n = 0;
    for (; stage_registry[n] != NULL; n++) {
        assert_ptr_equal(stage_find(stage_registry[n]->name), stage_registry[n]);
    }
    assert_true(n > 0);
    assert_null(stage_find("pearso"));
    assert_null(stage_find(""));
}

static void every_default_of_every_stage_is_accepted(void **state)
{
    (void)state;
    for (const struct stage_ops *const *s = stage_registry; *s != NULL; s++) {
        for (size_t k = 0; k < (*s)->n_specs; k++) {
            struct param_value value;
            assert_int_equal(stage_parse_param(&(*s)->specs[k], (*s)->specs[k].text, &value),
                             STATUS_OK);
            assert_non_null((*s)->specs[k].help);
        }
    }
}

static void choices_are_taken_and_told_by_their_whole_word(void **state)
{
    (void)state;
    struct param_value value;
    static const char *const words[] = {"none", "step", "log"};
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(stage_parse_param(&choice, words[k], &value), STATUS_OK);
        assert_int_equal(value.index, k);
        json_t *told = stage_choice_json(&choice, k);
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

static void counts_are_whole_numbers_within_their_range(void **state)
{
    (void)state;
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

static void reals_are_finite_numbers_within_their_range(void **state)
{
    (void)state;
    struct param_value value;
    static const char *const texts[] = {"0", "1", "0.75", "1e-3", ".5"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        assert_int_equal(stage_parse_param(&real, texts[k], &value), STATUS_OK);
        assert_true(value.real == strtod(texts[k], NULL));
    }
    static const char *const wrong[] = {"",     " 0.5", "0.5 ", "0.5x", "1.0000001",
                                        "-0.1", "nan",  "inf",  "0,5"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(stage_parse_param(&real, wrong[k], &value), STATUS_BAD_ARGUMENT);
        assert_non_null(strstr(status_message(), "threshold"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stage_of_the_registry_is_found_by_its_name),
        cmocka_unit_test(every_default_of_every_stage_is_accepted),
        cmocka_unit_test(choices_are_taken_and_told_by_their_whole_word),
        cmocka_unit_test(counts_are_whole_numbers_within_their_range),
        cmocka_unit_test(reals_are_finite_numbers_within_their_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
