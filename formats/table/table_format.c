/*
 * table_format - what the formats of tables share.
 */
#include "formats/table/csv.h"

#include "formats/base/decimal.h"
#include "formats/table/sheet.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum status table_warn(struct table *t, const char *format, ...)
{
    if (t->n_warnings == t->warnings_cap) {
        const size_t cap = 2 * t->warnings_cap + 4;
        char **warnings = realloc(t->warnings, cap * sizeof *warnings);
        if (!warnings) {
            return status_fail(STATUS_NO_MEMORY, "no memory for a warning");
        }
        t->warnings = warnings;
        t->warnings_cap = cap;
    }
    va_list args;
    va_start(args, format);
    const int n = vasprintf(&t->warnings[t->n_warnings], format, args);
    va_end(args);
    if (n < 0) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a warning");
    }
    t->n_warnings++;
    return STATUS_OK;
}

enum status table_skip(struct table *t, size_t n)
{
    unsigned char gone[64 << 10];
    while (n > 0) {
        size_t got;
        const enum status status =
            source_read(t->source, gone, n < sizeof gone ? n : sizeof gone, &got);
        if (status || got == 0) {
            return status;
        }
        n -= got;
    }
    return STATUS_OK;
}

bool table_says_missing(const char *text, size_t n)
{
    static const struct table_word words[] = {{"na", 2},   {"n/a", 3},  {"null", 4},
                                              {"none", 4}, {"#n/a", 4}, {"<na>", 4},
                                              {"?", 1},    {".", 1},    {"-", 1}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (words[i].n == n && strncasecmp(text, words[i].text, n) == 0) {
            return true;
        }
    }
    double special;
    return decimal_parse_special(text, n, &special) && isnan(special);
}

size_t table_mark_missing(double *values, size_t n, const struct table_missing *missing)
{
    size_t n_missing = 0;
    for (size_t k = 0; k < missing->n_numbers; k++) {
        const double number = missing->numbers[k];
        n_missing = 0;
        for (size_t i = 0; i < n; i++) {
            const double v = values[i];
            values[i] = v == number ? NAN : v;
            n_missing += v == number || v != v;
        }
    }
    return n_missing;
}

void table_mark_floats(float *values, size_t n, const struct table_missing *missing)
{
    for (size_t k = 0; k < missing->n_numbers; k++) {
        const float number = (float)missing->numbers[k];
        for (size_t i = 0; i < n; i++) {
            values[i] = values[i] == number ? NAN : values[i];
        }
    }
}

size_t table_mark_nodata(double *values, size_t n, const struct table_missing *missing,
                         double nodata)
{
    size_t n_missing = 0;
    for (size_t k = 0; k < missing->n_numbers; k++) {
        const double number = missing->numbers[k];
        n_missing = 0;
        for (size_t i = 0; i < n; i++) {
            values[i] = grid_matches_nodata(number, values[i]) ? nodata : values[i];
            n_missing += values[i] != values[i];
        }
    }
    return n_missing;
}

enum status table_need_seek(const struct table *t, const char *what, const char *name)
{
    const struct source *const s = t->source;
    if (source_hindrance(s) == NULL) {
        return STATUS_OK;
    }
    return status_fail(STATUS_UNSUPPORTED,
                       "%s: is %s from %s, which cannot be read in its order; %s%s", source_name(s),
                       what, source_hindrance(s),
                       source_is_stream(s) ? "give the file itself, or standard input with its "
                                             "name: --name "
                                           : "unpack it",
                       source_is_stream(s) ? name : "");
}

size_t table_count_byte(const unsigned char *p, size_t n, unsigned char byte)
{
    enum { BLOCK = 128 }; /* a byte holds its count, and the loop runs in vectors */
    size_t total = 0;
    for (; n >= BLOCK; p += BLOCK, n -= BLOCK) {
        unsigned char count = 0;
        for (size_t i = 0; i < BLOCK; i++) {
            count = (unsigned char)(count + (p[i] == byte));
        }
        total += count;
    }
    for (size_t i = 0; i < n; i++) {
        total += p[i] == byte;
    }
    return total;
}

void table_set_grid(struct table *t, struct grid *g)
{
    if (t->choice.missing.n_numbers > 0 && !g->has_nodata) {
        g->has_nodata = true;
        g->nodata = NAN;
    }
    t->info.dtype = DTYPE_F64;
    t->info.n_lines = t->info.n_lines_estimate = g->rows;
    t->info.cells_per_line = g->columns;
    t->info.grid = g;
}

enum { COLUMN_BITS = 24 }; /* of line and column in one number */
static const uint64_t last_column = ((uint64_t)1 << COLUMN_BITS) - 1;

void table_note(const struct table *t, enum table_note note, uint64_t line, size_t column)
{
    const uint64_t place = line << COLUMN_BITS | (column < last_column ? column : last_column);
    uint64_t first = atomic_load(&t->noted[note]);
    while ((first == 0 || place < first) &&
           !atomic_compare_exchange_weak(&t->noted[note], &first, place)) {
    }
}

void table_note_left_out(const struct table *t, enum table_note note, const struct table_left *left)
{
    if (left->n > 0) {
        atomic_fetch_add(&t->counted[note], left->n);
        table_note(t, note, left->line, left->column);
    }
}

struct table_where table_where(const struct table *t, uint64_t line, size_t column)
{
    struct table_where where;
    if (t->sheet != NULL) {
        snprintf(where.text, sizeof where.text, "cell %s of \"%s\"",
                 sheet_place_of((uint32_t)line - 1, (uint32_t)column).text,
                 excerpt_of(t->sheet, strlen(t->sheet)).text);
    } else {
        snprintf(where.text, sizeof where.text, "line %" PRIu64 ", column %zu", line, column + 1);
    }
    return where;
}

/* Warns of n lines that are left out, the first of them at that place. */
static enum status warn_left_out(struct table *t, enum table_note note, uint64_t place, size_t n)
{
    const uint64_t line = place >> COLUMN_BITS;
    const char *const its = t->sheet != NULL ? "row" : "line";
    if (note == TABLE_NOTE_COMMENT && t->choice.comment_is_said) {
        return STATUS_OK;
    }
    if (note == TABLE_NOTE_COMMENT) {
        return n == 1 ? table_warn(t, "line %" PRIu64 " begins with %c: left out as a comment",
                                   line, t->choice.comment)
                      : table_warn(t,
                                   "%zu lines that begin with %c are left out as comments; the "
                                   "first is line %" PRIu64,
                                   n, t->choice.comment, line);
    }
    if (note == TABLE_NOTE_UNREADABLE) {
        return table_warn(t, "%zu cell%s not a number and count%s as missing; the first is in %s",
                          n, n == 1 ? " is" : "s are", n == 1 ? "s" : "",
                          table_where(t, line, place & last_column).text);
    }
    const char *const one = n == 1 ? "" : "s", *const is = n == 1 ? "is" : "are";
    if (note == TABLE_NOTE_SIGNED_ROW) {
        return table_warn(t,
                          "%zu row%s that begin%s with %c %s data; the first is %s %" PRIu64
                          "; if such lines are comments: -s comment='%c'",
                          n, one, n == 1 ? "s" : "", t->choice.comment, is, its, line,
                          t->choice.comment);
    }
    if (note == TABLE_NOTE_NAMED_ROW) {
        return table_warn(t,
                          "%zu row%s with a name such as Total, Total A or Mean %s data; the "
                          "first is %s %" PRIu64 "; delete such as sum up others",
                          n, one, is, its, line);
    }
    if (note == TABLE_NOTE_HEADER) {
        return table_warn(t, "%zu %s%s the header and %s left out; the first is %s %" PRIu64, n,
                          its, n == 1 ? " repeats" : "s repeat", is, its, line);
    }
    return table_warn(
        t,
        "%zu row%s whose first cell names a sum or mean of others %s left out; the first is "
        "%s %" PRIu64 "; if %s data: -s sums=data",
        n, one, is, its, line, n == 1 ? "it is" : "they are");
}

enum status table_end(struct table *t)
{
    static const char *const texts[TABLE_N_NOTES] = {
        [TABLE_NOTE_GROUPED] = "a comma or point before three digits was taken for a decimal sign; "
                               "leave it out if it parts thousands",
        [TABLE_NOTE_ENCODING] = "a name is not UTF-8: such names are taken as Windows-1252, which "
                                "holds Latin-1",
        [TABLE_NOTE_ERROR] =
            "an error value of a spreadsheet is taken as missing, and so is any other",
    };
    enum status status = STATUS_OK;
    for (int i = 0; i < TABLE_N_NOTES && !status; i++) {
        const uint64_t place = atomic_exchange(&t->noted[i], 0);
        if (place != 0 && texts[i] == NULL) {
            status =
                warn_left_out(t, (enum table_note)i, place, atomic_exchange(&t->counted[i], 0));
        } else if (place != 0) {
            status = table_warn(t, "%s: %s",
                                table_where(t, place >> COLUMN_BITS, place & last_column).text,
                                texts[i]);
        }
    }
    t->info.warnings = (const char *const *)t->warnings;
    t->info.n_warnings = t->n_warnings;
    return status;
}

/* IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits. */
static double widen_half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double magnitude;
    if (exponent == 31) {
        magnitude = fraction == 0 ? INFINITY : NAN;
    } else if (exponent == 0) {
        magnitude = ldexp(fraction, -24);
    } else {
        magnitude = ldexp(1024 + fraction, exponent - 25);
    }
    return bits >> 15 != 0 ? -magnitude : magnitude;
}

#define DEFINE_WIDEN(type)                                                                         \
    static void widen_##type(const unsigned char *from, size_t n, double *out)                     \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            type v;                                                                                \
            memcpy(&v, from + i * sizeof v, sizeof v);                                             \
            out[i] = (double)v;                                                                    \
        }                                                                                          \
    }
DEFINE_WIDEN(uint8_t)
DEFINE_WIDEN(int8_t)
DEFINE_WIDEN(uint16_t)
DEFINE_WIDEN(int16_t)
DEFINE_WIDEN(uint32_t)
DEFINE_WIDEN(int32_t)
DEFINE_WIDEN(uint64_t)
DEFINE_WIDEN(int64_t)
DEFINE_WIDEN(float)
DEFINE_WIDEN(double)

static void widen_halves(const unsigned char *from, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t bits;
        memcpy(&bits, from + i * sizeof bits, sizeof bits);
        out[i] = widen_half(bits);
    }
}

typedef void widen_fn(const unsigned char *from, size_t n, double *out);

/* By kind and log2 of the sample's bytes. */
static widen_fn *const wideners[3][4] = {
    [TABLE_UINT] = {widen_uint8_t, widen_uint16_t, widen_uint32_t, widen_uint64_t},
    [TABLE_INT] = {widen_int8_t, widen_int16_t, widen_int32_t, widen_int64_t},
    [TABLE_FLOAT] = {NULL, widen_halves, widen_float, widen_double},
};

static inline void swap_items(unsigned char *p, size_t n, size_t bytes)
{
    for (const unsigned char *const end = p + n * bytes; p < end; p += bytes) {
        for (size_t i = 0; i < bytes / 2; i++) {
            const unsigned char low = p[i];
            p[i] = p[bytes - 1 - i];
            p[bytes - 1 - i] = low;
        }
    }
}

void table_swap(unsigned char *raw, size_t n, size_t item_bytes)
{
    switch (item_bytes) { /* loops of one size run in vectors */
    case 1:
        break;
    case 2:
        swap_items(raw, n, 2);
        break;
    case 4:
        swap_items(raw, n, 4);
        break;
    default:
        swap_items(raw, n, 8);
        break;
    }
}

void table_widen(enum table_kind kind, size_t bytes, const unsigned char *from, size_t n,
                 double *out)
{
    widen_fn *const widen = wideners[kind][__builtin_ctzll(bytes)];
    assert(widen != NULL);
    widen(from, n, out);
}
