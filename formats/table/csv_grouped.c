/*
 * csv_grouped - numbers as people write them, with a sign between groups of three digits.
 *
 * Such a number is read, with a warning, only where the file's head shows for sure what its sign
 * is: one that stands before a decimal sign of another kind, a comma or point twice or more in a
 * number, an apostrophe, or a blank that does not break. A comma or point before three digits alone
 * is a decimal sign as well, and a blank between two numbers.
 */
#include "formats/base/decimal.h"
#include "formats/table/csv.h"

#include <string.h>

enum { LONGEST = 48 }; /* more digits than any double has, parted */

/* The bytes of a sign between groups at text[0 .. n); 0: none. `sure`: it can be nothing else. */
static size_t take_sign(const char *text, size_t n, char *sign, bool *sure)
{
    static const struct {
        const char *bytes;
        char sign;
        bool sure;
    } signs[] = {
        {",", ',', false},
        {".", '.', false},
        {" ", ' ', false},
        {"'", '\'', true},
        {"\xe2\x80\x99", '\'', true}, /* U+2019 */
        {"\xc2\xa0", ' ', true},
        {"\xa0", ' ', true}, /* the second in Latin-1 */
        {"\xe2\x80\xaf", ' ', true},
        {"\xe2\x80\x89", ' ', true},
    };
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        const size_t bytes = strlen(signs[i].bytes);
        if (bytes <= n && memcmp(text, signs[i].bytes, bytes) == 0) {
            *sign = signs[i].sign;
            *sure = signs[i].sure;
            return bytes;
        }
    }
    return 0;
}

static size_t count_digits(const char *text, size_t n)
{
    size_t digits = 0;
    while (digits < n && text[digits] >= '0' && text[digits] <= '9') {
        digits++;
    }
    return digits;
}

static enum csv_grouped parse_grouped(const char *text, size_t n, char *sign, double *value)
{
    char plain[LONGEST + 1];
    size_t len = 0, at = 0, n_groups = 0;
    char by = 0, next;
    bool sure = false, next_sure;
    if (n < 5 || n > LONGEST) {
        return CSV_GROUPED_NOT;
    }
    if (text[0] == '-' || text[0] == '+') {
        plain[len++] = text[at++];
    }
    size_t digits = count_digits(text + at, n - at);
    if (digits < 1 || digits > 3 || text[at] == '0') {
        return CSV_GROUPED_NOT;
    }
    for (;;) {
        memcpy(plain + len, text + at, digits);
        len += digits;
        at += digits;
        const size_t bytes = take_sign(text + at, n - at, &next, &next_sure);
        if (bytes == 0 || (by != 0 && next != by)) {
            break;
        }
        digits = count_digits(text + at + bytes, n - at - bytes);
        if (digits != 3) {
            return CSV_GROUPED_NOT;
        }
        by = next;
        sure = sure || next_sure;
        at += bytes;
        n_groups++;
    }
    double number;
    if (n_groups == 0 || (at < n && text[at] != '.' && text[at] != ',')) {
        return CSV_GROUPED_NOT;
    }
    const char point = at < n ? text[at] : by == '.' ? ',' : '.';
    memcpy(plain + len, text + at, n - at);
    len += n - at;
    if (point == by || !decimal_parse(plain, len, point, &number)) {
        return CSV_GROUPED_NOT;
    }
    *sign = by;
    if (value) {
        *value = number;
    }
    /* blanks may part numbers, however many */
    return sure || at < n || (n_groups > 1 && by != ' ') ? CSV_GROUPED_SURE : CSV_GROUPED_MAYBE;
}

enum csv_grouped csv_grouped(const struct csv_cell *cell, char *sign, double *value)
{
    const struct csv_cell inner = csv_cell_inner(cell);
    const enum csv_grouped grouped = parse_grouped((const char *)inner.text, inner.n, sign, value);
    return grouped == CSV_GROUPED_MAYBE && *sign == ' ' && cell->rest ? CSV_GROUPED_SURE : grouped;
}

bool table_may_be_grouped(const char *text, size_t n, char sign)
{
    char by = 0;
    return parse_grouped(text, n, &by, NULL) == CSV_GROUPED_MAYBE && by == sign;
}
