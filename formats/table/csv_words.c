/*
 * csv_words - what a cell says beyond plain numbers: the error values of spreadsheets, the names
 * that sums and means have, units beneath the names of a table; and numbers as people write them,
 * with a sign between groups of three digits.
 *
 * Such a number is read, with a warning, only where the file's head shows for sure what its sign
 * is: one that stands before a decimal sign of another kind, a comma or point twice or more in a
 * number, an apostrophe, or a blank that does not break. A comma or point before three digits alone
 * is a decimal sign as well, and a blank between two numbers.
 */
#include "formats/base/decimal.h"
#include "formats/table/csv.h"

#include <string.h>
#include <strings.h>

bool csv_is_error_value(const char *text, size_t n, bool *is_na)
{
    static const char *const not_available[] = {"#N/A", "#NV", "#N/D", "#N/B"};
    enum { SHORTEST = 5, LONGEST = 16 };
    *is_na = false;
    for (size_t i = 0; i < sizeof not_available / sizeof not_available[0]; i++) {
        if (strlen(not_available[i]) == n && strncasecmp(text, not_available[i], n) == 0) {
            *is_na = true;
            return true;
        }
    }
    if (n < SHORTEST || n > LONGEST || text[0] != '#' ||
        (text[n - 1] != '!' && text[n - 1] != '?')) {
        return false;
    }
    for (size_t i = 1; i + 1 < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (!((c >= 'A' && c <= 'Z') || c == '/' || c == '0' || c >= 0x80)) {
            return false;
        }
    }
    return true;
}

/* Words for a sum or mean of other rows, by their first letter. */
struct sum {
    const char *word;
    bool names_more; /* a town, a department, a grade, a man: no sum beneath a column of names */
};
enum { LETTERS = 26, MOST_SUMS = 8 };
static const struct sum sums[LETTERS][MOST_SUMS] = {
    ['a' - 'a'] = {{"average", false}, {"avg", false}, {"avg.", false}},
    ['d' - 'a'] = {{"durchschnitt", false}},
    ['g' - 'a'] = {{"grand total", false},
                   {"gesamt", false},
                   {"gesamtsumme", false},
                   {"gesamtergebnis", false},
                   {"gemiddelde", false}},
    ['i' - 'a'] = {{"insgesamt", false}},
    ['m' - 'a'] = {{"mean", false},
                   {"mittelwert", false},
                   {"moyenne", false},
                   {"mittel", true},
                   {"media", true},
                   {"median", true},
                   {"min", true},
                   {"max", true}},
    ['p' - 'a'] = {{"promedio", false}},
    ['s' - 'a'] = {{"sum", false},
                   {"summe", false},
                   {"subtotal", false},
                   {"sub-total", false},
                   {"somme", true},
                   {"suma", true},
                   {"somma", true},
                   {"soma", true}},
    ['t' - 'a'] = {{"total", false},
                   {"totals", false},
                   {"total general", false},
                   {"total g\u00e9n\u00e9ral", false},
                   {"totale", false},
                   {"totaal", false}},
    ['z' - 'a'] = {{"zwischensumme", false}},
};

/* Those with the first two letters of the cell that begins at p < end; NULL: there is none. */
static const struct sum *sums_at(const unsigned char *p, const unsigned char *end)
{
    const unsigned letter = (*p | 0x20U) - 'a', second = end - p > 1 ? p[1] | 0x20U : 0;
    for (size_t i = 0; letter < LETTERS && i < MOST_SUMS && sums[letter][i].word; i++) {
        if ((unsigned char)sums[letter][i].word[1] == second) {
            return sums[letter];
        }
    }
    return NULL;
}

bool csv_may_name_sum(const unsigned char *p, const unsigned char *end)
{
    return sums_at(p, end) != NULL;
}

enum csv_sum csv_names_sum(const struct csv_cell *cell)
{
    const char *const text = (const char *)cell->text;
    size_t n = cell->n, first = 0;
    const struct sum *const list = n > 0 ? sums_at(cell->text, cell->text + n) : NULL;
    enum csv_sum found = CSV_NO_SUM;
    if (!list || cell->unclosed || cell->n_rest > 0) {
        return CSV_NO_SUM;
    }
    while (n > 0 && (text[n - 1] == ':' || text[n - 1] == ' ')) {
        n--;
    }
    while (first < n && text[first] != ' ' && text[first] != ':') {
        first++;
    }
    for (size_t i = 0; i < MOST_SUMS && list[i].word; i++) {
        const size_t length = strlen(list[i].word);
        if (length == n && strncasecmp(text, list[i].word, n) == 0) {
            return list[i].names_more ? CSV_MAY_BE_SUM : CSV_SUM;
        }
        if (length == first && strncasecmp(text, list[i].word, first) == 0) {
            found = CSV_MAY_BE_SUM;
        }
    }
    return found;
}

/* --- units ------------------------------------------------------------------------------------ */

bool csv_is_unit(const struct csv_cell *cell)
{
    static const char *const units[] = {
        "sec",     "secs",     "seconds", "ms",     "us",       "ns",     "min",     "mins",
        "minutes", "hr",       "hrs",     "hour",   "hours",    "day",    "days",    "week",
        "month",   "yr",       "year",    "years",  "cm",       "mm",     "km",      "um",
        "nm",      "ft",       "in",      "inch",   "mi",       "kg",     "mg",      "ug",
        "lb",      "degc",     "degf",    "deg c",  "deg f",    "deg",    "degrees", "rad",
        "celsius", "kelvin",   "pa",      "hpa",    "kpa",      "mpa",    "bar",     "mbar",
        "atm",     "psi",      "torr",    "mmhg",   "mv",       "kv",     "volt",    "volts",
        "ma",      "amp",      "kw",      "mw",     "wh",       "kwh",    "mwh",     "kj",
        "kn",      "hz",       "khz",     "mhz",    "ghz",      "db",     "dba",     "ohm",
        "ohms",    "lx",       "lux",     "ppm",    "ppb",      "ph",     "ml",      "m2",
        "m3",      "mol",      "mmol",    "rpm",    "count",    "counts", "usd",     "eur",
        "ratio",   "unitless", "psu",     "ntu",    "fnu",      "ts",     "rn",      "smp",
        "avg",     "max",      "tot",     "std",    "string",   "float",  "float64", "double",
        "int",     "int64",    "integer", "number", "datetime", "date",   "text"};
    enum { LONGEST = 24 };
    const unsigned char *const p = cell->text;
    const size_t n = cell->n;
    if (n == 0 || n > LONGEST || (p[0] >= '0' && p[0] <= '9')) {
        return false;
    }
    if (strchr("([{<", p[0]) && strchr(")]}>", p[n - 1])) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        /* degrees, micro, square and cube, in Latin-1 or UTF-8 */
        const bool is_high = i == 0 || p[i - 1] == 0xc2 || p[i - 1] < 0x80;
        if ((p[i] != 0 && strchr("%/^*", p[i])) ||
            (is_high && (p[i] == 0xb0 || p[i] == 0xb5 || p[i] == 0xb2 || p[i] == 0xb3))) {
            return true;
        }
    }
    if (n == 1) { /* one that is named so is not written so, as T and t are */
        return strchr("smghdlLVAKCFWJN", p[0]) != NULL;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i]) == n && strncasecmp((const char *)p, units[i], n) == 0) {
            return true;
        }
    }
    return false;
}

/* --- thousands -------------------------------------------------------------------------------- */

enum { LONGEST_GROUPED = 48 }; /* more digits than any double has, parted */

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
    char plain[LONGEST_GROUPED + 1];
    size_t len = 0, at = 0, n_groups = 0;
    char by = 0, next;
    bool sure = false, next_sure;
    if (n < 5 || n > LONGEST_GROUPED) {
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
