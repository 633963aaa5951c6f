/*
 * Names of any bytes as ASCII text, and back.
 */
#include "formats/base/percent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void names_are_spelt_in_ascii(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"", ""},
                                           {"x y.csv", "x y.csv"},
                                           {"100%.csv", "100%25.csv"},
                                           {"gr\xc3\xbc\xff", "gr%C3%BC%FF"},
                                           {"a\n\x1b\x1f ~\x7f", "a%0A%1B%1F ~%7F"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *text = percent_encode(cases[i][0]);
        assert_non_null(text);
        assert_string_equal(text, cases[i][1]);
        free(text);
    }
}

static void every_byte_comes_back(void **state)
{
    (void)state;
    char all[256];
    char *text, *name;
    for (int i = 1; i < 256; i++) {
        all[i - 1] = (char)i;
    }
    all[255] = '\0';
    text = percent_encode(all);
    assert_non_null(text);
    for (const char *c = text; *c != '\0'; c++) {
        assert_true(*c >= 0x20 && *c < 0x7f);
    }
    assert_int_equal(percent_decode(text, &name), STATUS_OK);
    assert_string_equal(name, all);
    free(text);
    free(name);
}

static void what_is_not_spelt_so_stands_for_itself(void **state)
{
    (void)state;
    char *name;
    assert_int_equal(percent_decode("gr\xc3\xbc\n%41", &name), STATUS_OK);
    assert_string_equal(name, "gr\xc3\xbc\nA");
    free(name);
}

static void wrong_spelling_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"%",   "a%",  "%4",    "%4x", "%G1",
                                        "%1g", "%aF", "a%00b", "%%41"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        char *name = (char *)1;
        if (percent_decode(wrong[i], &name) != STATUS_BAD_INPUT || name != NULL) {
            fail_msg("'%s' is taken", wrong[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_spelt_in_ascii),
        cmocka_unit_test(every_byte_comes_back),
        cmocka_unit_test(what_is_not_spelt_so_stands_for_itself),
        cmocka_unit_test(wrong_spelling_is_refused),
    };
    return cmocka_run_group_tests_name("percent", tests, NULL, NULL);
}
