/*
 * csv_columns - the `columns` option: "3-9,T,RH", numbers from 1, ranges of them, or names.
 *
 * A word that is a number within the table's width is that column; anything else is looked up among
 * the header's names. Names that hold a comma cannot be said this way.
 */
#include "formats/table/csv.h"

#include <string.h>

/* Digits at *p; false when there are none or they are too many. */
static bool read_number(const char **p, const char *end, size_t *out)
{
    size_t value = 0, digits = 0;
    for (; *p < end && **p >= '0' && **p <= '9' && digits < 10; digits++) {
        value = 10 * value + (size_t)(*(*p)++ - '0');
    }
    *out = value;
    return digits > 0;
}

/* "7" or "3-9", within 1 .. n_columns. */
static bool read_range(const char *word, size_t n, size_t n_columns, size_t *first, size_t *last)
{
    const char *const end = word + n;
    if (!read_number(&word, end, first)) {
        return false;
    }
    *last = *first;
    if (word < end && *word == '-') {
        word++;
        if (!read_number(&word, end, last)) {
            return false;
        }
    }
    return word == end && *first >= 1 && *first <= *last && *last <= n_columns;
}

static bool choose_name(const char *word, size_t n, size_t n_columns, const char *const *names,
                        unsigned char *chosen)
{
    bool found = false;
    for (size_t c = 0; names && c < n_columns; c++) {
        if (strlen(names[c]) == n && memcmp(names[c], word, n) == 0) {
            chosen[c] = 1;
            found = true;
        }
    }
    return found;
}

static enum status choose_word(const char *word, size_t n, const char *file, size_t n_columns,
                               const char *const *names, unsigned char *chosen)
{
    size_t first, last;
    if (read_range(word, n, n_columns, &first, &last)) {
        memset(chosen + first - 1, 1, last - first + 1);
        return STATUS_OK;
    }
    if (choose_name(word, n, n_columns, names, chosen)) {
        return STATUS_OK;
    }
    return status_fail(
        STATUS_BAD_ARGUMENT, "%s: columns: no column \"%s\"; it has columns 1 to %zu%s", file,
        excerpt_of(word, n).text, n_columns,
        names ? ", or write a name as its first line has it" : " and no header line with names");
}

enum status csv_choose_columns(const char *option, const char *file, size_t n_columns,
                               const char *const *names, unsigned char *chosen)
{
    memset(chosen, 0, n_columns);
    const char *p = option;
    for (;;) {
        const char *const comma = strchrnul(p, ',');
        const char *word = p, *end = comma;
        while (word < end && *word == ' ') {
            word++;
        }
        while (end > word && end[-1] == ' ') {
            end--;
        }
        const enum status status =
            choose_word(word, (size_t)(end - word), file, n_columns, names, chosen);
        if (status || *comma == '\0') {
            return status;
        }
        p = comma + 1;
    }
}
