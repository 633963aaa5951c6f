/*
 * Dates and times: what is one, which second it is, and its text.
 */
#include "formats/base/moment.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static bool parse(const char *text, double *seconds)
{
    return moment_parse(text, strlen(text), seconds);
}

/* The numbers are Python's datetime.fromisoformat(...).timestamp(), in UTC. */
TEST(dates_and_times_are_seconds)
{
    static const struct {
        const char *text;
        double seconds;
    } cases[] = {{"1970-01-01", 0},
                 {"1970-01", 0},
                 {"2024-05-01", 1714521600},
                 {"2024-05", 1714521600},
                 {"2024-05-01T12:30", 1714566600},
                 {"2024-05-01 12:30:15", 1714566615},
                 {"2024-05-01T12:30:15.25", 1714566615.25},
                 {"2024-05-01T12:30:15,25Z", 1714566615.25},
                 {"2024-05-01T12:30:15+02:00", 1714559415},
                 {"2024-05-01T12:30-0330", 1714579200},
                 {"2024-05-01T12:30+02", 1714559400},
                 {"2024-05-01 12:30:15 +0200", 1714559415},
                 {"2024-05-01 12:30 Z", 1714566600},
                 {"2024-02-29", 1709164800},
                 {"2000-02-29", 951782400},
                 {"1900-03-01", -2203891200},
                 {"1969-12-31T23:59:59.5", -0.5},
                 {"2024-05-01T24:00", 1714608000},
                 {"0001-01-01", -62135596800},
                 {"9999-12-31T23:59:59Z", 253402300799}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double seconds = NAN;
        if (!parse(cases[i].text, &seconds) || seconds != cases[i].seconds) {
            fail_msg("%s is %.3f, not %.3f", cases[i].text, seconds, cases[i].seconds);
        }
    }
}

TEST(what_is_no_date_is_none)
{
    static const char *const texts[] = {"",
                                        "2024",
                                        "20240501",
                                        "2024-",
                                        "2024-5-1",
                                        "2024-13-01",
                                        "2024-00-01",
                                        "2024-05-32",
                                        "2024-05-00",
                                        "2023-02-29",
                                        "1900-02-29",
                                        "0000-01-01",
                                        "24-05-01",
                                        "2024-05-01T",
                                        "2024-05-01T12",
                                        "2024-05-01T25:00",
                                        "2024-05-01T24:00:01",
                                        "2024-05-01T12:60",
                                        "2024-05-01T12:30:60",
                                        "2024-05-01T12:30Z5",
                                        "2024-05-01T12:30+24:00",
                                        "2024-05-01T12:30+2",
                                        "2024-05-01T12:30 UTC",
                                        "2024-05-01T12:30 ",
                                        "2024-05-01T12:30  +02:00",
                                        "2024-05-01T12:30:15.",
                                        "2024-05-01Z",
                                        "2024-05T12:30",
                                        "-2024-05-01",
                                        " 2024-05-01",
                                        "2024-05-01 ",
                                        "01.05.2024",
                                        "05/01/2024",
                                        "12:30"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double seconds;
        if (parse(texts[i], &seconds)) {
            fail_msg("'%s' is a date", texts[i]);
        }
    }
    double seconds;
    assert_true(moment_parse("2024-05-01T12:30", 10, &seconds) && seconds == 1714521600);
}

TEST(the_text_of_a_moment_is_read_again)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{0, "1970-01-01T00:00:00Z"},
                 {1714566615.25, "2024-05-01T12:30:15.250000Z"},
                 {-0.5, "1969-12-31T23:59:59.500000Z"},
                 {1714566615.9999999, "2024-05-01T12:30:16Z"},
                 {-62135596800, "0001-01-01T00:00:00Z"},
                 {253402300799, "9999-12-31T23:59:59Z"}};
    char text[MOMENT_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double again;
        assert_string_equal(moment_text(cases[i].seconds, text), cases[i].text);
        assert_true(parse(text, &again) && fabs(again - cases[i].seconds) < 1e-6);
    }
    assert_string_equal(moment_text(253402300800.0, text), "253402300800");
    assert_string_equal(moment_text(0x1p80, text), "1.2089258196146292e+24");
    assert_string_equal(moment_text((double)INFINITY, text), "inf");
    for (int64_t day = -700000; day < 2900000; day += 997) { /* as the C library has them */
        const time_t at = (time_t)day * 86400 + day % 86400;
        struct tm t;
        char want[MOMENT_BYTES];
        double again;
        assert_non_null(gmtime_r(&at, &t));
        strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%SZ", &t);
        if (t.tm_year >= 1000 - 1900) {
            assert_string_equal(moment_text((double)at, text), want);
        }
        assert_true(parse(moment_text((double)at, text), &again) && again == (double)at);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
