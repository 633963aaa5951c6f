/*
 * table_options - the options of tables, from the texts that they are given as.
 */
#include "formats/table/table_options.h"

#include "formats/base/decimal.h"
#include "formats/base/excerpt.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static enum status add_missing(const char *word, size_t n, bool is_quoted, struct table_missing *m)
{
    double number;
    if (n == 0) {
        return status_fail(STATUS_BAD_ARGUMENT, "missing_value: an entry of the list is empty");
    }
    if (m->n_numbers + m->n_words >= TABLE_MISSING_MAX) {
        return status_fail(STATUS_BAD_ARGUMENT, "missing_value: more than %d numbers and words",
                           TABLE_MISSING_MAX);
    }
    const bool is_special = decimal_parse_special(word, n, &number);
    if (!is_quoted && is_special && isinf(number)) { /* whatever its sign */
        m->numbers[m->n_numbers++] = INFINITY;
        m->numbers[m->n_numbers++] = -INFINITY;
        return STATUS_OK;
    }
    if (is_quoted || (!is_special && !decimal_parse(word, n, '.', &number))) {
        m->words[m->n_words++] = (struct table_word){word, n};
        return STATUS_OK;
    }
    if (isinf(number)) {
        return status_fail(STATUS_BAD_ARGUMENT, "missing_value: '%s' is too large for a number",
                           excerpt_of(word, n).text);
    }
    m->numbers[m->n_numbers++] = number;
    return STATUS_OK;
}

/* An integer and, right behind its comma, one of fewer digits: "-999,9". They may be one number. */
static enum status check_decimal_comma(const char *text)
{
    const size_t sign = *text == '-' || *text == '+';
    const size_t n = strspn(text + sign, "0123456789");
    const char *const next = text + sign + n + 1;
    const size_t m = n > 0 && next[-1] == ',' ? strspn(next, "0123456789") : 0;
    return m > 0 && m < n && (next[m] == ',' || next[m] == '\0')
               ? status_fail(STATUS_BAD_ARGUMENT,
                             "missing_value: '%.*s,%.*s' may be one number with a decimal comma; "
                             "write '%.*s.%.*s' for one, or '%.*s, %.*s', with a blank, for two",
                             (int)(sign + n), text, (int)m, next, (int)(sign + n), text, (int)m,
                             next, (int)(sign + n), text, (int)m, next)
               : STATUS_OK;
}

static enum status parse_missing(const char *text, struct table_choice *out)
{
    for (;;) {
        text += strspn(text, " ");
        const char *const quote = *text == '"' ? strchr(text + 1, '"') : NULL;
        const char *const comma = strchrnul(quote ? quote : text, ',');
        const char *end = quote ? quote : comma;
        while (end > text && end[-1] == ' ') {
            end--;
        }
        if (quote && quote + 1 + strspn(quote + 1, " ") != comma) {
            return status_fail(STATUS_BAD_ARGUMENT,
                               "missing_value: after a quoted word comes a "
                               "comma, not '%s'",
                               excerpt_of(quote + 1, strlen(quote + 1)).text);
        }
        STATUS_TRY(check_decimal_comma(text));
        text += quote != NULL;
        STATUS_TRY(add_missing(text, (size_t)(end - text), quote != NULL, &out->missing));
        if (*comma == '\0') {
            return STATUS_OK;
        }
        text = comma + 1;
    }
}

static enum status refuse(const char *key, const char *text, const char *what)
{
    return status_fail(STATUS_BAD_ARGUMENT, "%s: '%s' is not %s", key, text, what);
}

static bool parse_count(const char *text, size_t *out)
{
    enum { DIGITS = 9 };
    const size_t n = strlen(text);
    size_t value = 0;
    for (size_t i = 0; i < n; i++) {
        value = 10 * value + (size_t)(unsigned char)(text[i] - '0');
    }
    *out = value;
    return n > 0 && n <= DIGITS && strspn(text, "0123456789") == n;
}

static enum status parse_skip(const char *text, struct table_choice *out)
{
    return parse_count(text, &out->skip)
               ? STATUS_OK
               : refuse("skip", text, "a number of lines (0 to 999999999)");
}

static enum status parse_band(const char *text, struct table_choice *out)
{
    return parse_count(text, &out->band) && out->band > 0
               ? STATUS_OK
               : refuse("band", text, "the number of a band, from 1");
}

static enum status parse_header(const char *text, struct table_choice *out)
{
    size_t line;
    if (parse_count(text, &line)) {
        out->header = (long)line;
    } else if (strcasecmp(text, "none") == 0) {
        out->header = TABLE_HEADER_NONE;
    } else if (strcmp(text, "auto") != 0) {
        return refuse("header", text,
                      "auto, none or the number of a line (the first one after the lines that are "
                      "skipped is 0)");
    }
    return STATUS_OK;
}

struct sign_name {
    const char *name;
    char sign;
};

/* The sign that the text is, or is the name of; 0: neither. */
static char find_sign(const struct sign_name *names, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, names[i].name) == 0 || (text[0] == names[i].sign && text[1] == '\0')) {
            return names[i].sign;
        }
    }
    return 0;
}

static const struct sign_name number_signs[] = {
    {"comma", ','}, {"point", '.'}, {"blank", ' '}, {"apostrophe", '\''}};
enum { N_DECIMAL = 2, N_THOUSANDS = 4 }; /* the first of them */

const char *table_sign_name(char sign)
{
    size_t i = 0;
    while (i + 1 < N_THOUSANDS && number_signs[i].sign != sign) {
        i++;
    }
    return number_signs[i].name;
}

static enum status parse_decimal(const char *text, struct table_choice *out)
{
    out->signs.decimal = find_sign(number_signs, N_DECIMAL, text);
    return out->signs.decimal ? STATUS_OK : refuse("decimal", text, "comma or point");
}

static enum status parse_thousands(const char *text, struct table_choice *out)
{
    out->signs.thousands = find_sign(number_signs, N_THOUSANDS, text);
    return out->signs.thousands ? STATUS_OK
                                : refuse("thousands", text, "comma, point, blank or apostrophe");
}

static enum status parse_unreadable(const char *text, struct table_choice *out)
{
    out->unreadable_is_missing = strcmp(text, "missing") == 0;
    return out->unreadable_is_missing || strcmp(text, "reject") == 0
               ? STATUS_OK
               : refuse("unreadable", text, "reject or missing");
}

static enum status parse_sums(const char *text, struct table_choice *out)
{
    out->sums_are_data = strcmp(text, "data") == 0;
    return out->sums_are_data || strcmp(text, "auto") == 0 ? STATUS_OK
                                                           : refuse("sums", text, "auto or data");
}

static enum status parse_sep(const char *text, struct table_choice *out)
{
    static const struct sign_name names[] = {{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'},
                                             {"\\t", '\t'},  {"pipe", '|'},      {"colon", ':'},
                                             {"blanks", ' '}};
    out->signs.sep = find_sign(names, sizeof names / sizeof names[0], text);
    if (strlen(text) == 1 && strchr("~^!&/", *text)) {
        out->signs.sep = *text;
    }
    return out->signs.sep ? STATUS_OK
                          : refuse("sep", text,
                                   "a delimiter: comma, semicolon, tab, pipe, colon, blanks, or "
                                   "one of , ; | : ~ ^ ! & /");
}

static enum status parse_comment(const char *text, struct table_choice *out)
{
    const bool is_none = strcasecmp(text, "none") == 0;
    if (!is_none && (strlen(text) != 1 || !strchr("#%!*/;&@$~^|>:\\", *text))) {
        return refuse("comment", text, "none or one of # % ! * / ; & @ $ ~ ^ | > : \\");
    }
    out->comment = is_none ? '\0' : *text;
    out->comment_is_said = true;
    return STATUS_OK;
}

static const struct {
    const char *key;
    size_t offset;
    enum status (*parse)(const char *text, struct table_choice *out); /* NULL: any text will do */
    const char *value, *help; /* what the help calls the value; one sentence */
    const char *applies;      /* to what, where others ignore it */
} options[TABLE_N_OPTIONS] = {
    [TABLE_COLUMNS] = {"columns", offsetof(struct table_options, columns), NULL, "LIST",
                       "text: the columns to read, by number or name: 3-9,T,-1; !time leaves out",
                       "CSV and TSV"},
    [TABLE_MEMBER] = {"member", offsetof(struct table_options, member), NULL, "NAME",
                      ".npz: the array to read", ".npz"},
    [TABLE_SHEET] = {"sheet", offsetof(struct table_options, sheet), NULL, "NAME|N",
                     "Excel, OpenDocument: the sheet to read (default: the first with numbers)",
                     ".xlsx, .xlsm and .ods"},
    [TABLE_MISSING_VALUE] = {"missing_value", offsetof(struct table_options, missing_value),
                             parse_missing, "LIST",
                             "numbers, and in text words, that stand for a missing one: -9999,ERR",
                             "CSV and TSV"},
    [TABLE_SKIP] = {"skip", offsetof(struct table_options, skip), parse_skip, "N",
                    "text: pass over the first N lines of the file", "CSV and TSV"},
    [TABLE_HEADER] = {"header", offsetof(struct table_options, header), parse_header, "auto|none|N",
                      "text: which line holds the names, the first one after skipped lines being "
                      "0 (default auto)",
                      "CSV and TSV"},
    [TABLE_COMMENT] = {"comment", offsetof(struct table_options, comment), parse_comment,
                       "CHAR|none",
                       "text: lines that begin with it are comments (default #, except whole rows)",
                       "CSV and TSV"},
    [TABLE_SEP] = {"sep", offsetof(struct table_options, sep), parse_sep, "WORD",
                   "text: what delimits cells: comma, semicolon, tab, pipe, colon or blanks "
                   "(default: detected)",
                   "CSV and TSV"},
    [TABLE_DECIMAL] = {"decimal", offsetof(struct table_options, decimal), parse_decimal,
                       "comma|point", "text: the decimal sign (default: detected)", "CSV and TSV"},
    [TABLE_THOUSANDS] =
        {"thousands", offsetof(struct table_options, thousands), parse_thousands, "WORD",
         "text: what separates thousands: comma, point, blank or apostrophe (default: "
         "detected)",
         "CSV and TSV"},
    [TABLE_UNREADABLE] = {"unreadable", offsetof(struct table_options, unreadable),
                          parse_unreadable, "reject|missing",
                          "text: what to do with cells that are no numbers (default "
                          "reject)",
                          "CSV and TSV"},
    [TABLE_SUMS] = {"sums", offsetof(struct table_options, sums), parse_sums, "auto|data",
                    "text: whether rows named Total, Mean and the like are data (default auto: "
                    "they are left out)",
                    "CSV and TSV"},
    [TABLE_DATASET] = {"dataset", offsetof(struct table_options, dataset), NULL, "PATH",
                       "HDF5, NetCDF, .mat: the dataset to read: /group/name",
                       "HDF5, NetCDF and polygons"},
    [TABLE_BAND] = {"band", offsetof(struct table_options, band), parse_band, "N",
                    "grids of several bands: the one to read, from 1", "grids that GDAL reads"},
};

const char *table_option_key(enum table_option option)
{
    return options[option].key;
}

const char *table_option_value(enum table_option option)
{
    return options[option].value;
}

const char *table_option_help(enum table_option option)
{
    return options[option].help;
}

const char *table_option_applies(enum table_option option)
{
    return options[option].applies;
}

bool table_option_find(const char *key, enum table_option *out)
{
    for (enum table_option i = 0; i < TABLE_N_OPTIONS; i++) {
        if (strcmp(options[i].key, key) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

const char *table_option_get(const struct table_options *o, enum table_option option)
{
    const char *text;
    memcpy(&text, (const char *)o + options[option].offset, sizeof text);
    return text;
}

enum status table_option_set(struct table_options *o, enum table_option option, const char *text)
{
    struct table_choice ignored = {0};
    if (*text == '\0') {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: the value is empty", options[option].key);
    }
    STATUS_TRY(options[option].parse ? options[option].parse(text, &ignored) : STATUS_OK);
    memcpy((char *)o + options[option].offset, &text, sizeof text);
    return STATUS_OK;
}

enum status table_options_parse(const struct table_options *o, struct table_choice *out)
{
    *out = (struct table_choice){.header = TABLE_HEADER_AUTO, .comment = '#'};
    for (enum table_option i = 0; i < TABLE_N_OPTIONS; i++) {
        const char *const text = table_option_get(o, i);
        STATUS_TRY(text && options[i].parse ? options[i].parse(text, out) : STATUS_OK);
    }
    if (out->signs.decimal != 0 && out->signs.decimal == out->signs.thousands) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "decimal and thousands are one sign ('%c'): set one of them",
                           out->signs.decimal);
    }
    return STATUS_OK;
}
