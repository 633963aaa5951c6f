/*
 * csv_columns - the option `columns`: "3-9,T,RH,-1,-2:,-time".
 *
 * Entry by entry, in order. Columns are numbered from 1, and from the end as -1, -2 ...; ranges
 * hold both their ends: 3-9, 3:9, 3:, :4, -2:. What begins with ! is left out, and so is the column
 * of a name behind a minus sign. Where the first entry leaves out, it does so from all columns that
 * would be read without the option. An entry that is a number or range within the table's width
 * means that; anything else is looked up among the header's names. Names that hold a comma cannot
 * be said this way.
 */
#include "formats/base/text_near.h"
#include "formats/table/csv.h"

#include <stdlib.h>
#include <string.h>

struct choice {
    const char *file;
    size_t n_columns;
    const char *const *names; /* [n_columns]; NULL: none */
    unsigned char *chosen;    /* [n_columns] */
};

/* Digits at *p, with a sign or without: a column's number. False: there are none, or too many. */
static bool read_number(const char **p, const char *end, size_t n_columns, size_t *out)
{
    const bool from_end = *p < end && **p == '-';
    size_t value = 0, digits = 0;
    const char *q = *p + from_end;
    for (; q < end && *q >= '0' && *q <= '9' && digits < 10; digits++) {
        value = 10 * value + (size_t)(*q++ - '0');
    }
    if (digits == 0 || value < 1 || value > n_columns) {
        return false;
    }
    *p = q;
    *out = from_end ? n_columns + 1 - value : value;
    return true;
}

/* A number or a range of numbers, within 1 .. n_columns. */
static bool read_range(const char *word, size_t n, size_t n_columns, size_t *first, size_t *last)
{
    const char *const end = word + n;
    const char *p = word;
    const bool open = p < end && *p == ':';
    if (n < 1 || (open && n == 1)) {
        return false;
    }
    *first = 1;
    if (!open && !read_number(&p, end, n_columns, first)) {
        return false;
    }
    *last = *first;
    if (p < end && *p == ':' && p + 1 == end) {
        *last = n_columns;
        return true;
    }
    if (p < end && (*p == ':' || (*p == '-' && *word != '-'))) {
        p++;
        if (!read_number(&p, end, n_columns, last)) {
            return false;
        }
    }
    return p == end && *first <= *last;
}

static bool is_named(const struct choice *v, size_t c, const char *word, size_t n)
{
    return n > 0 && strlen(v->names[c]) == n && memcmp(v->names[c], word, n) == 0;
}

static bool has_name(const struct choice *v, const char *word, size_t n)
{
    bool found = false;
    for (size_t c = 0; v->names && c < v->n_columns && !found; c++) {
        found = is_named(v, c, word, n);
    }
    return found;
}

static enum status fail_name(const struct choice *v, const char *word, size_t n)
{
    char *const text = strndup(word, n);
    if (!text) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the name of a column");
    }
    struct text_near near = {.word = text};
    for (size_t c = 0; v->names && c < v->n_columns; c++) {
        text_near_offer(&near, v->names[c]);
    }
    const enum status status =
        near.best
            ? status_fail(STATUS_BAD_ARGUMENT,
                          "%s: columns: no column \"%s\"; did you mean \"%s\"?", v->file,
                          excerpt_of(word, n).text, excerpt_of(near.best, strlen(near.best)).text)
            : status_fail(STATUS_BAD_ARGUMENT,
                          "%s: columns: no column \"%s\"; it has columns 1 to %zu%s", v->file,
                          excerpt_of(word, n).text, v->n_columns,
                          v->names ? ", or write a name as its header has it"
                                   : " and no header line with names");
    free(text);
    return status;
}

/* Whether an entry, which may be a name that begins so, says what is left out. */
static bool leaves_out(const struct choice *v, const char *word, size_t n)
{
    return n > 1 && (*word == '!' || (*word == '-' && !(word[1] >= '0' && word[1] <= '9'))) &&
           !has_name(v, word, n);
}

static enum status choose_word(const struct choice *v, const char *word, size_t n)
{
    size_t first, last;
    const bool out = leaves_out(v, word, n);
    word += out;
    n -= out;
    if (read_range(word, n, v->n_columns, &first, &last)) {
        memset(v->chosen + first - 1, !out, last - first + 1);
        return STATUS_OK;
    }
    if (!has_name(v, word, n)) {
        return fail_name(v, word, n);
    }
    for (size_t c = 0; c < v->n_columns; c++) {
        v->chosen[c] = is_named(v, c, word, n) ? !out : v->chosen[c];
    }
    return STATUS_OK;
}

static enum status choose(const struct choice *v, const struct csv_head *h, const char *option)
{
    const char *p = option;
    for (bool is_first = true;; is_first = false) {
        const char *const comma = strchrnul(p, ',');
        const char *word = p, *end = comma;
        while (word < end && *word == ' ') {
            word++;
        }
        while (end > word && end[-1] == ' ') {
            end--;
        }
        const size_t n = (size_t)(end - word);
        const bool from_all = is_first && leaves_out(v, word, n);
        for (size_t c = 0; is_first && c < v->n_columns; c++) {
            v->chosen[c] = from_all && h->seen[c] == CSV_KEEP;
        }
        const enum status status = choose_word(v, word, n);
        if (status || *comma == '\0') {
            return status;
        }
        p = comma + 1;
    }
}

enum status csv_choose_columns(const struct table *t, struct csv_head *h,
                               const struct csv_shape *shape)
{
    const struct choice v = {h->file, h->n_columns, shape->names, malloc(h->n_columns)};
    if (!v.chosen) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu columns", h->n_columns);
    }
    enum status status = choose(&v, h, t->options.columns);
    size_t n_chosen = 0;
    for (size_t c = 0; !status && c < h->n_columns; c++) {
        const bool is_label = h->seen[c] == CSV_LABEL;
        h->seen[c] = (unsigned char)(v.chosen[c] ? CSV_KEEP : is_label ? CSV_LABEL : CSV_LEFT);
        n_chosen += v.chosen[c];
    }
    if (!status && n_chosen == 0) {
        status = status_fail(STATUS_BAD_ARGUMENT, "%s: columns=%s leaves no column", h->file,
                             t->options.columns);
    }
    free(v.chosen);
    return status;
}
