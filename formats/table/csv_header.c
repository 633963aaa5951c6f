/*
 * csv_header - whether the first line of a delimited text holds names.
 *
 * Words over a column of numbers are names. Numbers are data, however much they look like years,
 * but for three kinds of evidence, each of which is reported with what makes them data instead:
 *
 * - they are 0, 1, 2 ... written as just that, at least LEAST_COUNTED of them: what programs write
 *   for columns without names;
 * - all of them are quoted, and no number below is;
 * - the first cell is empty, over a column of words or one that has a number in each line: the
 *   corner of a table whose lines have names.
 *
 * An empty first cell, and words over columns of words, may stand before them.
 */
#include "formats/table/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_EVEN = 4,
    LEAST_YEARS = 3,
    FIRST_YEAR = 1500, /* that a header is likely to name */
    LAST_YEAR = 2500,
    LEAST_COUNTED = 3, /* 0 and 1 may well be the first point of a curve */
    LOOKED_AT = 64     /* lines below the first */
};

/* What a first line of numbers shows. */
struct first_line {
    bool is_numbers; /* all of its cells, but for the corner and the labels before them */
    bool has_corner; /* the first cell is empty */
    bool has_labels; /* words over columns of words */
    bool counts;     /* they are 0, 1, 2 ... */
    bool is_quoted;  /* all of them */
    bool is_even;    /* whole numbers at equal distances, going up */
    size_t n;
    double first, last;
};

/* What the lines below it show. */
struct lines_below {
    size_t n;
    bool has_quoted; /* a number in quotes */
    bool is_indexed; /* the first cell of each is a number */
    bool is_apart;   /* but for their first cells no number lies within those of the first line */
};

static bool is_quoted(const struct csv_cell *cell)
{
    return cell->rest != NULL;
}

static bool is_written_as(const struct csv_cell *cell, size_t number)
{
    char text[32];
    const int n = snprintf(text, sizeof text, "%zu", number);
    return (size_t)n == cell->n && memcmp(text, cell->text, cell->n) == 0;
}

static bool has_words_below(const struct csv_head *h, size_t c)
{
    return (h->seen[c] & (CSV_SEEN_NUMBER | CSV_SEEN_WORD)) == CSV_SEEN_WORD;
}

static struct first_line look_at_first(const struct csv_head *h, const struct csv_dialect *d)
{
    struct first_line f = {.counts = true, .is_quoted = true, .is_even = true};
    const unsigned char *p = h->first;
    double step = 0;
    for (size_t c = 0; c < h->n_columns; c++) {
        struct csv_cell cell;
        double number = 0;
        p = csv_cell_scan(d, p, h->end, &cell);
        (void)csv_pass(d, &p, h->end);
        const enum csv_value value = csv_cell_value(d, &cell, &number);
        if (c == 0 && value == CSV_NOTHING) {
            f.has_corner = true;
            continue;
        }
        if (f.n == 0 && value == CSV_WORD && has_words_below(h, c)) {
            f.has_labels = true;
            continue;
        }
        if (value != CSV_NUMBER) {
            return (struct first_line){.is_numbers = false};
        }
        f.counts = f.counts && is_written_as(&cell, f.n);
        f.is_quoted = f.is_quoted && is_quoted(&cell);
        f.is_even = f.is_even && number == floor(number) && (f.n == 0 || number > f.last) &&
                    (f.n < 2 || number - f.last == step);
        f.first = f.n == 0 ? number : f.first;
        step = number - f.last;
        f.last = number;
        f.n++;
    }
    f.is_numbers = f.n > 0;
    return f;
}

static struct lines_below look_below(const struct csv_head *h, const struct csv_dialect *d,
                                     const struct first_line *f)
{
    struct lines_below b = {.is_indexed = true, .is_apart = true};
    const unsigned char *p = h->second;
    while ((p = csv_find_data(d, p, h->end)) < h->end && b.n < LOOKED_AT) {
        enum csv_after after;
        size_t c = 0;
        do {
            struct csv_cell cell;
            double number;
            p = csv_cell_scan(d, p, h->end, &cell);
            const bool is_number = csv_cell_value(d, &cell, &number) == CSV_NUMBER;
            b.has_quoted |= is_number && is_quoted(&cell);
            b.is_indexed = b.is_indexed && (c > 0 || is_number);
            b.is_apart =
                b.is_apart && (c == 0 || !is_number || number < f->first || number > f->last);
            after = csv_pass(d, &p, h->end);
            c++;
        } while (after == CSV_MORE);
        b.n++;
    }
    return b;
}

/* Whether a column holds numbers below a cell of the first line with that bit; `net`: numbers less
 * words there, or NULL. */
static bool has_numbers_below(const struct csv_head *h, const int16_t *net, unsigned first)
{
    for (size_t c = 0; c < h->n_columns; c++) {
        if ((h->seen[c] & first) != 0 && (h->seen[c] & CSV_SEEN_NUMBER) != 0 &&
            (!net || net[c] >= 0)) {
            return true;
        }
    }
    return false;
}

/* Numbers that look like names, and are data because there is no more evidence: whole ones at equal
 * distances, as years are, beside words over words or over numbers none of which lies within
 * theirs; just 0 and 1; or any behind an empty cell over numbers. */
static enum status warn_of_numbers(struct table *t, const struct csv_head *h,
                                   const struct first_line *f, const struct lines_below *b)
{
    const bool are_years = f->first >= FIRST_YEAR && f->last <= LAST_YEAR;
    const bool even = f->is_even && (f->has_labels || b->is_apart) &&
                      f->n >= (size_t)(are_years ? LEAST_YEARS : LEAST_EVEN);
    const bool pair = f->counts && f->n == 2;
    const bool corner = f->has_corner && (h->seen[0] & CSV_SEEN_NUMBER) != 0;
    return even || pair || corner
               ? table_warn(t,
                            "line %" PRIu64 " may be a header of numbers (%.15g to %.15g), but is "
                            "taken as data; if it is one, set -s header=0, and -s series=rows "
                            "where it names the samples of series in rows",
                            h->first_line, f->first, f->last)
               : STATUS_OK;
}

/* Whether numbers in the first line are names; a warning says so, and names a doubt. */
static enum status judge_numbers(struct table *t, const struct csv_head *h,
                                 const struct csv_dialect *d, bool *has_header)
{
    const struct first_line f = look_at_first(h, d);
    if (!f.is_numbers || !has_numbers_below(h, NULL, CSV_FIRST_NUMBER)) {
        return STATUS_OK;
    }
    const struct lines_below b = look_below(h, d, &f);
    const char *why = NULL, *remedy = NULL;
    if (f.counts && f.n >= LEAST_COUNTED) {
        why = "they count from 0";
        remedy = "write 0.0 for the 0";
    } else if (f.is_quoted && !b.has_quoted) {
        why = "quoted, over numbers that are not";
        remedy = "leave the quotes out";
    } else if (f.has_corner && (has_words_below(h, 0) || b.is_indexed)) {
        why = "the cell before them is empty, over a column of names or an index";
        remedy = "write NA into that cell";
    }
    *has_header = why != NULL;
    return why ? table_warn(t,
                            "line %" PRIu64 " is taken as a header of numbers (%.15g to %.15g: "
                            "%s); if it is data, %s",
                            h->first_line, f.first, f.last, why, remedy)
               : warn_of_numbers(t, h, &f, &b);
}

/* For each column numbers less words in the lines below the first that have been walked: *net,
 * which is NULL where no column has both. */
static enum status count_words(const struct csv_head *h, const struct csv_dialect *d, int16_t **net)
{
    bool is_mixed = false;
    for (size_t c = 0; c < h->n_columns && !is_mixed; c++) {
        is_mixed = (h->seen[c] & (CSV_SEEN_NUMBER | CSV_FIRST_NUMBER)) != 0 &&
                   (h->seen[c] & CSV_SEEN_WORD) != 0;
    }
    *net = is_mixed ? calloc(h->n_columns, sizeof **net) : NULL;
    if (is_mixed && !*net) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu columns", h->n_columns);
    }
    const unsigned char *p = h->second;
    for (size_t i = 1; is_mixed && i < h->n_lines && i < INT16_MAX; i++) {
        enum csv_after after;
        p = csv_find_data(d, p, h->end);
        for (size_t c = 0; p < h->end; c++) {
            struct csv_cell cell;
            double number;
            p = csv_cell_scan(d, p, h->end, &cell);
            const enum csv_value value = csv_cell_value(d, &cell, &number);
            if (c < h->n_columns) {
                const bool is_number =
                    value == CSV_NUMBER || value == CSV_INFINITE || value == CSV_UNSURE;
                (*net)[c] = (int16_t)((*net)[c] + is_number - (value == CSV_WORD));
            }
            after = csv_pass(d, &p, h->end);
            if (after != CSV_MORE) {
                break;
            }
        }
    }
    return STATUS_OK;
}

enum status csv_decide_header(struct table *t, struct csv_head *h, const struct csv_dialect *d,
                              bool *has_header)
{
    enum { SEEN = CSV_SEEN_NUMBER | CSV_SEEN_WORD | CSV_SEEN_MARK | CSV_SEEN_UNSURE };
    int16_t *net;
    STATUS_TRY(count_words(h, d, &net));
    enum status status = STATUS_OK;
    *has_header =
        h->top.has_names >= 0 ? h->top.has_names : has_numbers_below(h, net, CSV_FIRST_WORD);
    if (!*has_header && h->top.has_names < 0) {
        status = judge_numbers(t, h, d, has_header);
    }
    for (size_t c = 0; c < h->n_columns; c++) {
        const unsigned first = *has_header ? 0 : h->seen[c];
        int balance = net ? net[c] : 0;
        balance += ((first & CSV_FIRST_NUMBER) != 0) - ((first & CSV_FIRST_WORD) != 0);
        h->seen[c] = (unsigned char)((h->seen[c] | first << CSV_FIRST_BITS) & SEEN);
        if (net && balance < 0 && (h->seen[c] & CSV_SEEN_NUMBER) != 0) {
            h->seen[c] = CSV_SEEN_WORD | CSV_SEEN_WORDY;
        }
    }
    free(net);
    return status;
}
