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
