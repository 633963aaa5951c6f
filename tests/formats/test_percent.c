/*
 * Names of any bytes as ASCII text, and back.
 */
#include "formats/base/percent.h"
#include "tests/support/unit.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

TEST(names_are_spelt_in_ascii)
{
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

TEST(every_byte_comes_back)
{
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

TEST(what_is_not_spelt_so_stands_for_itself)
{
    char *name;
    assert_int_equal(percent_decode("gr\xc3\xbc\n%41", &name), STATUS_OK);
    assert_string_equal(name, "gr\xc3\xbc\nA");
    free(name);
}

TEST(wrong_spelling_is_refused)
{
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
    return unit_run(NULL, NULL);
}
