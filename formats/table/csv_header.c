/*
 * csv_header - whether the first line of a delimited text holds names.
 *
 * Words over a column of numbers are names. Numbers are data, however much they look like years,
 * but for four kinds of evidence, each of which is reported with what makes them data instead:
 *
 * - they are 0, 1, 2 ... written as just that, at least LEAST_COUNTED of them: what programs write
 *   for columns without names;
 * - all of them are quoted, and no number below is;
 * - the first cell is empty, over a column of words or one that has a number in each line: the
 *   corner of a table whose lines have names;
 * - the first cell is a word of another form than those below it, as "station" is over "S0" and
 *   "S1", and the numbers only rise or only fall, and either no number below lies within theirs or
 *   they are LEAST_ALONE and no line below does so.
 *
 * An empty first cell, and words over columns of words, may stand before them. Marks for missing
 * numbers are names beside a first cell of another form, too: NA may be sodium. Words over words
 * alone are names behind an empty first cell over an index.
 */
#include "formats/table/csv.h"

#include "formats/base/moment.h"

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
    LEAST_MOVING = 3,  /* two always rise or fall */
    LEAST_ALONE = 4,
    LEAST_UNLIKE = 2, /* lines below whose first cells are compared */
    LOOKED_AT = 64    /* lines below the first */
};

/* What a first line of numbers shows. */
struct first_line {
    bool is_numbers;        /* all of its cells, but for the corner and the labels before them */
    bool has_corner;        /* the first cell is empty */
    bool has_labels;        /* words over columns of words */
    struct csv_cell corner; /* the first cell */
    bool has_marks;         /* for missing numbers */
    bool is_words;          /* labels, and such marks and the corner alone */
    bool counts;            /* they are 0, 1, 2 ... */
    bool is_quoted;         /* all of them */
    bool is_even;           /* whole numbers at equal distances, going up */
    bool rises, falls;
    size_t n;
    double first, last, step; /* the step: to the last one */
};

/* What the lines below it show. */
struct lines_below {
    size_t n;
    bool has_quoted;   /* a number in quotes */
    bool is_indexed;   /* the first cell of each is a number */
    bool is_apart;     /* but for their first cells no number lies within those of the first line */
    bool has_names;    /* the first cells are words, and no "S0" stands above "S1" */
    bool is_unlike;    /* the first cells are of another form than that of the first line */
    bool rises, falls; /* the numbers of some line do */
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

static char kind_of(unsigned char c)
{
    const bool is_letter = c >= 0x80 || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    return is_letter ? 'a' : c >= '0' && c <= '9' ? '0' : ' ';
}

/* Passes letters, or digits, with the signs before and among them, and tells which; 0 at the end.
 */
static char pass_run(const unsigned char **p, const unsigned char *end)
{
    char run = 0;
    for (; *p < end; ++*p) {
        const char kind = kind_of(**p);
        if (run != 0 && kind != ' ' && kind != run) {
            break;
        }
        run = kind != ' ' ? kind : run;
    }
    return run;
}

/* Whether letters and digits follow one another alike: "S0" and "site 12" are, "New York" and
 * "Rome". */
static bool is_like(const struct csv_cell *a, const struct csv_cell *b)
{
    const unsigned char *p = a->text, *q = b->text;
    char run;
    do {
        run = pass_run(&p, a->text + a->n);
        if (run != pass_run(&q, b->text + b->n)) {
            return false;
        }
    } while (run != 0);
    return true;
}

static bool has_digit(const struct csv_cell *cell)
{
    size_t i = 0;
    while (i < cell->n && kind_of(cell->text[i]) != '0') {
        i++;
    }
    return i < cell->n;
}

/* A number of the first line behind others; f->n counts it. */
static void take_number(struct first_line *f, double number)
{
    const double step = number - f->last;
    f->is_even = f->is_even && step > 0 && (f->n == 2 || step == f->step);
    f->rises = f->rises && step > 0;
    f->falls = f->falls && step < 0;
    f->step = step;
}

static struct first_line look_at_first(const struct csv_head *h, const struct csv_dialect *d)
{
    struct first_line f = {
        .counts = true, .is_quoted = true, .is_even = true, .rises = true, .falls = true};
    struct csv_walk w = csv_walk_of(d, h->first, h->end);
    bool is_other = false;
    for (size_t c = 0; c < h->n_columns && csv_walk_next(&w); c++) {
        double number = 0;
        const enum csv_value value = csv_cell_value(d, &w.cell, &number);
        f.corner = c == 0 ? w.cell : f.corner;
        if (c == 0 && value == CSV_NOTHING) {
            f.has_corner = true;
        } else if (f.n == 0 && value == CSV_WORD && has_words_below(h, c)) {
            f.has_labels = true;
        } else if (value == CSV_MISSING) {
            f.has_marks = true;
        } else if (value == CSV_NUMBER) {
            f.counts = f.counts && is_written_as(&w.cell, f.n);
            f.is_quoted = f.is_quoted && is_quoted(&w.cell);
            f.is_even = f.is_even && number == floor(number);
            if (f.n++ > 0) {
                take_number(&f, number);
            } else {
                f.first = number;
            }
            f.last = number;
        } else {
            is_other = true;
        }
    }
    f.is_numbers = f.n > 0 && !f.has_marks && !is_other;
    f.is_words = f.n == 0 && f.has_labels && !is_other;
    return f;
}

/* A line below the first one at p, which is passed. */
static const unsigned char *look_at_line(const struct csv_head *h, const struct csv_dialect *d,
                                         const struct first_line *f, const unsigned char *p,
                                         struct lines_below *b)
{
    const double low = fmin(f->first, f->last), high = fmax(f->first, f->last);
    struct csv_walk w = csv_walk_of(d, p, h->end);
    bool rises = true, falls = true;
    size_t n = 0;
    double last = 0;
    while (csv_walk_next(&w)) {
        double number;
        const bool is_number = csv_cell_value(d, &w.cell, &number) == CSV_NUMBER;
        b->has_quoted |= is_number && is_quoted(&w.cell);
        b->is_indexed = b->is_indexed && (w.n > 1 || is_number);
        b->is_unlike = b->is_unlike && (w.n > 1 || !is_like(&w.cell, &f->corner));
        if (is_number && w.n > 1) {
            b->is_apart = b->is_apart && (number < low || number > high);
            rises = rises && (n == 0 || number > last);
            falls = falls && (n == 0 || number < last);
            last = number;
            n++;
        }
    }
    b->rises |= rises && n > 1;
    b->falls |= falls && n > 1;
    return w.p;
}

static struct lines_below look_below(const struct csv_head *h, const struct csv_dialect *d,
                                     const struct first_line *f)
{
    struct lines_below b = {.is_indexed = true, .is_apart = true, .is_unlike = true};
    const unsigned char *p = h->second;
    while ((p = csv_find_data(d, p, h->end)) < h->end && b.n < LOOKED_AT) {
        p = look_at_line(h, d, f, p, &b);
        b.n++;
    }
    const bool has_names = f->has_labels && has_words_below(h, 0) && b.n >= LEAST_UNLIKE;
    b.is_unlike = b.is_unlike && has_names;
    b.has_names = has_names && !has_digit(&f->corner);
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

/* Numbers that no line of data is likely to have, beside a first cell of another form. */
static bool stands_out(const struct first_line *f, const struct lines_below *b)
{
    const bool are_alone =
        f->n >= LEAST_ALONE && ((f->rises && !b->rises) || (f->falls && !b->falls));
    return b->is_unlike && (f->rises || f->falls) && f->n >= LEAST_MOVING &&
           (b->is_apart || are_alone);
}

/* Numbers that look like names, and are data because there is no more evidence: whole ones at equal
 * distances, as years are, beside words over words or over numbers none of which lies within
 * theirs; such as only rise or fall beside a first cell of another form, or over numbers none of
 * which lies within theirs; just 0 and 1; or any behind an empty cell over numbers. */
static enum status warn_of_numbers(struct table *t, const struct csv_head *h,
                                   const struct first_line *f, const struct lines_below *b)
{
    const bool are_years = f->first >= FIRST_YEAR && f->last <= LAST_YEAR;
    const bool even = f->is_even && (f->has_labels || b->is_apart) &&
                      f->n >= (size_t)(are_years ? LEAST_YEARS : LEAST_EVEN);
    const bool pair = f->counts && f->n == 2;
    const bool corner = f->has_corner && (h->seen[0] & CSV_SEEN_NUMBER) != 0;
    const size_t least = !b->is_apart ? LEAST_ALONE : b->is_unlike && are_years ? 2 : LEAST_MOVING;
    const bool moving =
        (b->is_unlike || (b->is_apart && b->has_names)) && (f->rises || f->falls) && f->n >= least;
    return even || pair || corner || moving
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
    if (!f.is_words && !(f.is_numbers && has_numbers_below(h, NULL, CSV_FIRST_NUMBER))) {
        return STATUS_OK;
    }
    const struct lines_below b = look_below(h, d, &f);
    if (f.is_words) {
        *has_header = f.has_marks ? b.is_unlike && has_numbers_below(h, NULL, CSV_FIRST_MARK)
                                  : f.has_corner && b.is_indexed;
        return STATUS_OK;
    }
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
    } else if (stands_out(&f, &b)) {
        why = "they stand out, and the cell before them is unlike those below it";
        remedy = h->top.above.first > 0 ? "write NA into that cell" : "set -s header=none";
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
        struct csv_walk w = csv_walk_of(d, csv_find_data(d, p, h->end), h->end);
        while (w.p < h->end && csv_walk_next(&w)) {
            double number;
            const enum csv_value value = csv_cell_value(d, &w.cell, &number);
            if (w.n <= h->n_columns) {
                const bool is_number =
                    value == CSV_NUMBER || value == CSV_INFINITE || value == CSV_UNSURE;
                int16_t *const at = &(*net)[w.n - 1];
                *at = (int16_t)(*at + is_number - (value == CSV_WORD));
            }
        }
        p = w.p;
    }
    return STATUS_OK;
}

/* A word of the first line over a number that is written with digits and signs alone, as that is,
 * or begins with a digit over a date. */
static bool is_written_wrong(const struct csv_dialect *d, const struct csv_cell *word,
                             const struct csv_cell *below)
{
    const struct csv_cell date = csv_cell_inner(below);
    double number;
    return is_like(word, below) || (d->dates && word->n > 0 && kind_of(word->text[0]) == '0' &&
                                    moment_parse((const char *)date.text, date.n, &number));
}

/* "1O", "l2", "-1.5.": it begins like a number, perhaps with a letter that looks like a digit. */
static bool has_slip(const struct csv_cell *word)
{
    const unsigned char *p = word->text, *const end = p + word->n;
    while (p < end && memchr("+-.", *p, 3) != NULL) {
        p++;
    }
    return p < end && has_digit(word) && (kind_of(*p) == '0' || memchr("OolIS", *p, 5) != NULL);
}

/* All words of the first line that are over numbers may be numbers or dates that are written wrong,
 * or the only one beside several numbers has a slip of the pen. Where dates may stand, which no
 * header has, they are data then; elsewhere, beside a number over numbers, a warning tells. */
static enum status doubt_names(struct table *t, const struct csv_head *h,
                               const struct csv_dialect *d, bool *has_header)
{
    struct csv_walk word = csv_walk_of(d, h->first, h->end);
    struct csv_walk below = csv_walk_of(d, csv_find_data(d, h->second, h->end), h->end);
    size_t n_numbers = 0, n_words = 0, n_wrong = 0, n_slips = 0;
    struct excerpt wrong = {""};
    for (size_t c = 0; c < h->n_columns && csv_walk_next(&word) && csv_walk_next(&below); c++) {
        const bool is_over_numbers = (h->seen[c] & CSV_SEEN_NUMBER) != 0;
        if (is_over_numbers && (h->seen[c] & CSV_FIRST_WORD) != 0) {
            wrong = n_words++ == 0 ? excerpt_of(word.cell.text, word.cell.n) : wrong;
            n_wrong += is_written_wrong(d, &word.cell, &below.cell);
            n_slips += has_slip(&word.cell);
        }
        n_numbers += is_over_numbers && (h->seen[c] & CSV_FIRST_NUMBER) != 0;
    }
    if (n_wrong < n_words && !(n_slips == 1 && n_words == 1 && n_numbers > 1)) {
        return STATUS_OK;
    }
    *has_header = !d->dates;
    return n_numbers > 0 && !d->dates
               ? table_warn(t,
                            "line %" PRIu64 " is taken as names, as \"%s\" is no number; if it is "
                            "data, correct that cell",
                            h->first_line, wrong.text)
               : STATUS_OK;
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
    } else if (*has_header && t->choice.header == TABLE_HEADER_AUTO && h->top.rows == NULL) {
        status = doubt_names(t, h, d, has_header);
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
