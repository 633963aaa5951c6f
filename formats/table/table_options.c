/*
 * table_options - the options of tables, from the texts that they are given as.
 */
#include "formats/table/table_options.h"

#include "formats/base/decimal.h"
#include "formats/base/excerpt.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static enum status parse_text(const char *text, struct table_choice *out)
{
    (void)text;
    (void)out;
    return STATUS_OK;
}

static enum status add_missing(const char *word, size_t n, struct table_missing *m)
{
    double number;
    if (n == 0) {
        return status_fail(STATUS_BAD_ARGUMENT, "missing_value: an entry of the list is empty");
    }
    if (m->n_numbers + m->n_words == TABLE_MISSING_MAX) {
        return status_fail(STATUS_BAD_ARGUMENT, "missing_value: more than %d numbers and words",
                           TABLE_MISSING_MAX);
    }
    const bool is_nan = decimal_parse_special(word, n, &number) && isnan(number);
    if (!is_nan && !decimal_parse(word, n, '.', &number)) {
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

static enum status parse_missing(const char *text, struct table_choice *out)
{
    for (;;) {
        text += strspn(text, " ");
        const char *const comma = strchrnul(text, ',');
        const char *end = comma;
        while (end > text && end[-1] == ' ') {
            end--;
        }
        const enum status status = add_missing(text, (size_t)(end - text), &out->missing);
        if (status || *comma == '\0') {
            return status;
        }
        text = comma + 1;
    }
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
               : status_fail(STATUS_BAD_ARGUMENT,
                             "skip: '%s' is not a number of lines (0 to 999999999)", text);
}

static enum status parse_header(const char *text, struct table_choice *out)
{
    size_t line;
    if (parse_count(text, &line)) {
        out->header = (long)line;
    } else if (strcasecmp(text, "none") == 0) {
        out->header = TABLE_HEADER_NONE;
    } else if (strcmp(text, "auto") != 0) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "header: '%s' is not auto, none or the number of a line (the first one "
                           "after the lines that are skipped is 0)",
                           text);
    }
    return STATUS_OK;
}

static enum status parse_sep(const char *text, struct table_choice *out)
{
    static const struct {
        const char *name;
        char sep;
    } names[] = {{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'},  {"\\t", '\t'},
                 {"pipe", '|'},  {"colon", ':'},     {"blanks", ' '}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i].name) == 0) {
            out->sep = names[i].sep;
            return STATUS_OK;
        }
    }
    if (strlen(text) == 1 && strchr(",;|:\t ~^!&/", *text)) {
        out->sep = *text;
        return STATUS_OK;
    }
    return status_fail(STATUS_BAD_ARGUMENT,
                       "sep: '%s' is not a delimiter: comma, semicolon, tab, pipe, colon, blanks, "
                       "or one of , ; | : ~ ^ ! & /",
                       text);
}

static const struct {
    const char *key;
    size_t offset;
    enum status (*parse)(const char *text, struct table_choice *out);
    const char *value, *help; /* what the help calls the value; one sentence */
} options[TABLE_N_OPTIONS] = {
    [TABLE_COLUMNS] = {"columns", offsetof(struct table_options, columns), parse_text, "LIST",
                       "text: the columns to read, by number or name: 3-9,T,-1; !time leaves out"},
    [TABLE_MEMBER] = {"member", offsetof(struct table_options, member), parse_text, "NAME",
                      ".npz: the array to read"},
    [TABLE_MISSING_VALUE] = {"missing_value", offsetof(struct table_options, missing_value),
                             parse_missing, "LIST",
                             "numbers, and in text words, that stand for a missing one: -9999,ERR"},
    [TABLE_SKIP] = {"skip", offsetof(struct table_options, skip), parse_skip, "N",
                    "text: pass over the first N lines of the file"},
    [TABLE_HEADER] = {"header", offsetof(struct table_options, header), parse_header, "auto|none|N",
                      "text: which line holds the names, the first one after skipped lines being "
                      "0 (default auto)"},
    [TABLE_SEP] = {"sep", offsetof(struct table_options, sep), parse_sep, "WORD",
                   "text: what delimits cells: comma, semicolon, tab, pipe, colon or blanks "
                   "(default: found out)"},
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
    STATUS_TRY(options[option].parse(text, &ignored));
    memcpy((char *)o + options[option].offset, &text, sizeof text);
    return STATUS_OK;
}

enum status table_options_parse(const struct table_options *o, struct table_choice *out)
{
    *out = (struct table_choice){.header = TABLE_HEADER_AUTO};
    for (enum table_option i = 0; i < TABLE_N_OPTIONS; i++) {
        const char *const text = table_option_get(o, i);
        STATUS_TRY(text ? options[i].parse(text, out) : STATUS_OK);
    }
    return STATUS_OK;
}
