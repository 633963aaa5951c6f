/*
 * csv_words - words that say what a cell or a row is: the error values of spreadsheets, and the
 * names that sums and means have.
 */
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

/* The last ones name other things, too: towns, departments, grades. */
static const char *const sums[] = {
    "total",   "totals",   "grand total", "subtotal",    "sum",        "mean",
    "average", "summe",    "gesamt",      "gesamtsumme", "mittelwert", "durchschnitt",
    "moyenne", "promedio", "totale",      "totaal",      "gemiddelde", "somme",
    "mittel",  "suma",     "media",       "somma",       "soma"};
enum { N_SUMS = sizeof sums / sizeof sums[0], SURE_SUMS = N_SUMS - 6 };

const char *csv_sum_word(size_t which)
{
    return sums[which];
}

bool csv_may_name_sum(const unsigned char *p, const unsigned char *end)
{
    const int second = end - p > 1 ? p[1] | 0x20 : 0;
    switch (*p | 0x20) {
    case 't':
        return second == 'o';
    case 'g':
        return second == 'r' || second == 'e';
    case 's':
        return second == 'u' || second == 'o';
    case 'm':
        return second == 'e' || second == 'i' || second == 'o';
    case 'a':
        return second == 'v';
    case 'd':
        return second == 'u';
    case 'p':
        return second == 'r';
    default:
        return false;
    }
}

bool csv_names_sum(const struct csv_dialect *d, const struct csv_cell *cell, size_t *which)
{
    enum { SHORTEST = 3, LONGEST = 16 };
    size_t n = cell->n;
    if (n < SHORTEST || n > LONGEST || cell->unclosed || cell->n_rest > 0 ||
        !csv_may_name_sum(cell->text, cell->text + n)) {
        return false;
    }
    while (n > 0 && (cell->text[n - 1] == ':' || cell->text[n - 1] == ' ')) {
        n--;
    }
    for (size_t i = 0; i < (d->first_is_number ? N_SUMS : SURE_SUMS); i++) {
        if (strlen(sums[i]) == n && strncasecmp((const char *)cell->text, sums[i], n) == 0) {
            *which = i;
            return true;
        }
    }
    return false;
}
