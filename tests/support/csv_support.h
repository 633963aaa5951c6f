/*
 * csv_support - delimited text given as a string, and what comes of it.
 */
#ifndef LEAT_TESTS_CSV_SUPPORT_H
#define LEAT_TESTS_CSV_SUPPORT_H

#include "tests/support/table_support.h"

static inline void check_text(const char *text, const double *expected, size_t n)
{
    struct reading r = read_text(text, NULL);
    assert_numbers(&r, expected, n);
    reading_free(&r);
}

#define CHECK_TEXT(text, ...)                                                                      \
    check_text(text, (const double[]){__VA_ARGS__},                                                \
               sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static inline void check_failure(const char *text, enum status status, const char *first,
                                 const char *second)
{
    struct reading r = read_text(text, NULL);
    assert_failed(&r, status, first, second);
    reading_free(&r);
}

#endif
