/*
 * csv_dialect - which delimiter and decimal point a delimited text uses.
 *
 * Each candidate is tried on the first lines, of which the later ones may say more than all do.
 * What speaks for it: lines with equally many cells, and cells that are numbers. score = (share of
 * lines that have as many cells as most have) * (share of numbers among the filled cells, plus a
 * little for tables of text). A candidate that makes one cell of most lines does not delimit. Equal
 * scores: the earlier in the list, which puts a comma before blanks ("1, 2, 3") and a semicolon
 * before a comma ("1,5;2,5").
 *
 * Blanks within the fields of a comma file make numbers of "1,2005 1,9241". So blanks do not
 * delimit where a comma, or another delimiter, cuts all lines into as many cells as the first,
 * which is a header: it holds no number. Where the comma gives no numbers at all, as in "Smith,J 1
 * 2", the first line is none if it is to blanks as the others are: a header has more words and
 * fewer numbers than its share, though it may have some ("PM 2.5,PM 10").
 *
 * "T,C p,hPa" over "1,5 1013,2" has the same form and is read by the same rule, but blanks would do
 * as well there: a warning says so.
 *
 * A comma that does not cut all lines alike is a decimal sign where that makes more of the text:
 * where blanks cut all lines alike, header included, and some of their numbers have decimal commas;
 * and where each line is one number but for those at the top, which are words ("Wert" over "1,5").
 *
 * Signs that the user says are decimal or part thousands delimit only where cells in quotes hold
 * them.
 */
#include "formats/table/csv.h"

#include <string.h>

/* Looked at: some lines, as far as LEAST_BYTES; two lines when they are longer; MOST_BYTES in all.
 */
enum { TRIED_LINES = 96, LEAST_BYTES = 8 << 10, MOST_BYTES = 256 << 10 };

static const unsigned char candidates[] = {'\t', ';', '|', ',', ' '};

struct trial {
    size_t cells[TRIED_LINES];
    size_t filled_before[TRIED_LINES], numbers_before[TRIED_LINES]; /* each of these lines */
    size_t n_lines, n_filled, n_numbers;
    size_t n_points, n_commas;              /* numbers that only one decimal point explains ... */
    size_t n_sure_points, n_sure_commas;    /* ... and that have no thousands which it may part */
    size_t n_edge_commas;                   /* of n_commas: "1," and ",1" */
    size_t n_holding;                       /* numbers in quotes that hold what delimits */
    size_t n_with_blanks;                   /* cells in quotes that hold blanks */
    size_t n_first_filled, n_first_numbers; /* those of the first line */
    unsigned char groupings;                /* signs that part thousands for sure: bits of these */
};

static const char groupings[] = {',', '.', ' ', '\''};
enum { N_GROUPINGS = sizeof groupings };

static void count_grouped(const struct csv_cell *cell, struct trial *trial)
{
    char sign;
    if (csv_grouped(cell, &sign, NULL) == CSV_GROUPED_SURE) {
        for (size_t i = 0; i < N_GROUPINGS; i++) {
            trial->groupings |= (unsigned char)((groupings[i] == sign) << i);
        }
    }
}

static void count_sign(const struct csv_cell *cell, char sign, size_t *n, size_t *n_sure)
{
    if (memchr(cell->text, sign, cell->n)) {
        *n += 1;
        *n_sure += !table_may_be_grouped((const char *)cell->text, cell->n, sign);
    }
}

static void count_cell(const struct csv_dialect *d, const struct csv_cell *cell,
                       struct trial *trial)
{
    double number;
    trial->n_with_blanks += cell->rest && cell->n_rest == 0 && memchr(cell->text, ' ', cell->n);
    switch (csv_cell_value(d, cell, &number)) {
    case CSV_NUMBER:
    case CSV_INFINITE:
        trial->n_filled++;
        trial->n_numbers++;
        trial->n_holding += memchr(cell->text, d->delimiter, cell->n) != NULL;
        if (d->is_sheet && cell->rest == NULL) { /* is sure of its point */
            break;
        }
        count_sign(cell, '.', &trial->n_points, &trial->n_sure_points);
        count_sign(cell, ',', &trial->n_commas, &trial->n_sure_commas);
        trial->n_edge_commas += cell->text[0] == ',' || cell->text[cell->n - 1] == ',';
        break;
    case CSV_UNSURE:
        trial->n_filled++;
        trial->n_numbers++;
        count_grouped(cell, trial);
        break;
    case CSV_WORD:
        trial->n_filled++;
        break;
    case CSV_MISSING:
    case CSV_NOTHING:
        break;
    }
}

/* Walks the lines; the last one counts only when it is complete or the only one. */
static void try_dialect(const struct csv_dialect *d, const unsigned char *text,
                        const unsigned char *end, bool whole, struct trial *trial)
{
    *trial = (struct trial){0};
    const unsigned char *p = text;
    while ((p = csv_find_data(d, p, end)) < end && trial->n_lines < TRIED_LINES) {
        const size_t filled = trial->n_filled, numbers = trial->n_numbers;
        struct csv_walk w = csv_walk_of(d, p, end);
        while (csv_walk_next(&w)) {
            count_cell(d, &w.cell, trial);
        }
        p = w.p;
        if (trial->n_lines == 0) {
            trial->n_first_filled = trial->n_filled;
            trial->n_first_numbers = trial->n_numbers;
        }
        if (w.after == CSV_LINE_END || whole || trial->n_lines == 0) {
            trial->filled_before[trial->n_lines] = filled;
            trial->numbers_before[trial->n_lines] = numbers;
            trial->cells[trial->n_lines++] = w.n;
        }
    }
}

static bool shows_commas(const struct trial *trial)
{
    return trial->n_sure_commas != trial->n_sure_points
               ? trial->n_sure_commas > trial->n_sure_points
               : trial->n_commas > trial->n_points;
}

/* Which sign parts thousands; 0: none does for sure, or several do, or it is a decimal sign, too.
 */
static char find_grouping(const struct trial *trial)
{
    for (size_t i = 0; i < N_GROUPINGS; i++) {
        const bool is_point = (groupings[i] == '.' && trial->n_sure_points > 0) ||
                              (groupings[i] == ',' && trial->n_sure_commas > 0);
        if (trial->groupings == 1U << i && !is_point) {
            return groupings[i];
        }
    }
    return 0;
}

/* The share of lines from `first` on that have as many cells as most of them have; 0 when most have
 * one. */
static double agreement(const struct trial *trial, size_t first)
{
    size_t best = 0, best_cells = 0;
    for (size_t i = first; i < trial->n_lines; i++) {
        size_t same = 0;
        for (size_t k = first; k < trial->n_lines; k++) {
            same += trial->cells[k] == trial->cells[i];
        }
        if (same > best || (same == best && trial->cells[i] > best_cells)) {
            best = same;
            best_cells = trial->cells[i];
        }
    }
    return best_cells > 1 ? (double)best / (double)(trial->n_lines - first) : 0;
}

/* Of all lines, or of the last half, quarter or eighth of them, whichever is best: lines above a
 * table may be more than its own within the text that is tried. */
static double score(const struct trial *trial)
{
    enum { LEAST_LINES = 2, LEAST_SHARE = 8 };
    double best = 0;
    for (size_t share = 1; share <= LEAST_SHARE; share *= 2) {
        const size_t n = trial->n_lines / share, first = trial->n_lines - n;
        if (n == 0 || (share > 1 && n < LEAST_LINES)) {
            break;
        }
        const size_t n_filled = trial->n_filled - trial->filled_before[first];
        const size_t n_numbers = trial->n_numbers - trial->numbers_before[first];
        const double numbers = ((double)n_numbers + 0.01) / ((double)n_filled + 0.01);
        const double here = agreement(trial, first) * numbers;
        best = here > best ? here : best;
    }
    return best;
}

/* All lines have as many cells as the first, and more than one. */
static bool is_even(const struct trial *trial)
{
    for (size_t i = 0; i < trial->n_lines; i++) {
        if (trial->cells[i] != trial->cells[0] || trial->cells[i] < 2) {
            return false;
        }
    }
    return trial->n_lines > 0;
}

/* The first line has more words and fewer numbers than its share. */
static bool differs_at_first(const struct trial *trial)
{
    const size_t n_first_words = trial->n_first_filled - trial->n_first_numbers;
    return n_first_words * trial->n_lines > trial->n_filled - trial->n_numbers &&
           trial->n_first_numbers * trial->n_lines < trial->n_numbers;
}

/* What delimits in that trial does, and blanks do not. */
static bool rules_blanks_out(const struct trial *other, const struct trial *blanks)
{
    return is_even(other) &&
           (other->n_with_blanks > 0 ||
            (other->n_first_numbers == 0 && (other->n_numbers > 0 || differs_at_first(blanks))));
}

/* Equally many cells in each line, no word below the first, and some numbers with decimal commas,
 * which have a digit on either side. */
static bool makes_a_table(const struct trial *trial)
{
    return is_even(trial) && trial->n_commas > 0 && trial->n_edge_commas == 0 &&
           trial->n_filled - trial->n_numbers == trial->n_first_filled - trial->n_first_numbers;
}

/* How much of the text is tried. */
static size_t tried_bytes(const unsigned char *text, size_t n)
{
    const unsigned char *const end = text + (n < MOST_BYTES ? n : MOST_BYTES);
    const unsigned char *p = text;
    for (int line = 0; line < 2 && p < end; line++) {
        const unsigned char *const newline = memchr(p, '\n', (size_t)(end - p));
        p = newline ? newline + 1 : end;
    }
    const size_t least = n < LEAST_BYTES ? n : LEAST_BYTES;
    return (size_t)(p - text) > least ? (size_t)(p - text) : least;
}

static bool occurs(const unsigned char *text, size_t n, unsigned char delimiter)
{
    return memchr(text, delimiter, n) || (delimiter == ' ' && memchr(text, '\t', n));
}

/* The text that is tried, and what is known of its signs. */
struct sample {
    const unsigned char *text, *end;
    bool whole; /* the text is the file */
    const struct table_signs *said;
};

/* Tries a dialect of that delimiter, and finds its decimal point and what parts thousands. */
static void try_on(struct csv_dialect *d, unsigned char delimiter, const struct sample *s,
                   struct trial *trial)
{
    const struct table_signs *const said = s->said;
    d->delimiter = delimiter;
    d->blanks = delimiter == ' ';
    d->point_is_said = said->decimal != 0;
    d->point = said->decimal != 0 ? said->decimal : '.';
    d->grouping = said->thousands;
    try_dialect(d, s->text, s->end, s->whole, trial);
    if (said->thousands == 0) {
        d->grouping = find_grouping(trial);
        d->grouping = d->point_is_said && d->grouping == d->point ? 0 : d->grouping;
    }
    if (!d->point_is_said && (d->grouping == '.' || (d->grouping != ',' && shows_commas(trial)))) {
        d->point = ',';
    }
}

/* Whether the user says that the sign is part of numbers, which the trial does not contradict. */
static bool is_said_otherwise(const struct table_signs *said, unsigned char delimiter,
                              const struct trial *trial)
{
    return trial->n_holding == 0 && (delimiter == (unsigned char)said->decimal ||
                                     delimiter == (unsigned char)said->thousands);
}

/* One cell a line: numbers, some of them with decimal commas, below words that no comma cuts. */
static bool is_one_column(const struct trial *trial, const struct trial *comma)
{
    size_t top = 0;
    while (top + 1 < trial->n_lines && trial->numbers_before[top + 1] == 0) {
        top++;
    }
    for (size_t i = 0; i < trial->n_lines; i++) {
        if (trial->cells[i] != 1 || (i < top && comma->cells[i] != 1)) {
            return false;
        }
    }
    return trial->n_commas > 0 && trial->n_edge_commas == 0 &&
           trial->n_filled - trial->n_numbers == trial->filled_before[top];
}

const char *csv_delimiter_name(const struct csv_dialect *d)
{
    switch (d->delimiter) {
    case ',':
        return "commas";
    case ';':
        return "semicolons";
    case '\t':
        return "tabs";
    case '|':
        return "vertical bars";
    case ':':
        return "colons";
    case ' ':
        return "blanks";
    default:
        return "the sign that sep says";
    }
}

enum { COMMA = 3, BLANKS = 4, N_CANDIDATES = sizeof candidates, NONE = N_CANDIDATES };

/* What each candidate makes of the text; NONE: each line is one cell. */
struct tries {
    struct csv_dialect dialects[N_CANDIDATES + 1];
    struct trial trials[N_CANDIDATES + 1];
    bool blanks_are_out;
};

/* Whether one of the first lines is nothing but a date and a time with a blank between. */
static bool is_column_of_times(const struct csv_dialect *d, const struct sample *s)
{
    struct csv_dialect whole_lines = *d;
    const unsigned char *p = s->text;
    whole_lines.delimiter = '\n';
    for (size_t n = 0; d->dates && p < s->end && n < TRIED_LINES; n++) {
        struct csv_cell cell;
        double number;
        p = csv_cell_scan(&whole_lines, p, s->end, &cell);
        (void)csv_pass(&whole_lines, &p, s->end);
        if (memchr(cell.text, ' ', cell.n) &&
            csv_cell_value(&whole_lines, &cell, &number) == CSV_NUMBER) {
            return true;
        }
    }
    return false;
}

/* The candidate with the best score; NONE: no one has any. */
static size_t find_best(struct tries *t, const struct csv_dialect *d, const struct sample *s)
{
    size_t best = NONE;
    double best_score = 0;
    t->blanks_are_out = is_column_of_times(d, s);
    for (size_t i = 0; i < N_CANDIDATES; i++) {
        t->dialects[i] = *d;
        if (!occurs(s->text, (size_t)(s->end - s->text), candidates[i])) {
            continue;
        }
        try_on(&t->dialects[i], candidates[i], s, &t->trials[i]);
        for (size_t k = 0; i == BLANKS && k < i; k++) {
            t->blanks_are_out = t->blanks_are_out || rules_blanks_out(&t->trials[k], &t->trials[i]);
        }
        if (is_said_otherwise(s->said, candidates[i], &t->trials[i]) ||
            (i == BLANKS && t->blanks_are_out)) {
            continue;
        }
        const double reached = score(&t->trials[i]);
        if (reached > best_score) {
            best_score = reached;
            best = i;
        }
    }
    return best;
}

/* What the commas of a text are whose lines they cut unevenly. */
static size_t settle_uneven(struct tries *t, const struct sample *s, enum csv_doubt *doubt)
{
    const struct trial *const blanks = &t->trials[BLANKS];
    if (s->said->thousands != ' ' && is_even(blanks) && blanks->n_commas > 0 &&
        blanks->n_edge_commas == 0) {
        return BLANKS;
    }
    try_on(&t->dialects[NONE], ';', s, &t->trials[NONE]);
    if (!is_one_column(&t->trials[NONE], &t->trials[COMMA])) {
        return COMMA;
    }
    *doubt = s->said->thousands == 0 ? CSV_COMMA_WOULD_DO : CSV_SURE;
    return NONE;
}

enum csv_doubt csv_find_dialect(const unsigned char *text, size_t n, bool whole,
                                const struct table_signs *said, struct csv_dialect *d)
{
    const size_t tried = tried_bytes(text, n);
    const struct sample s = {text, text + tried, whole && tried == n, said};
    struct tries t = {.dialects[NONE] = *d};
    enum csv_doubt doubt = CSV_SURE;
    if (said->sep != 0) {
        try_on(d, (unsigned char)said->sep, &s, &t.trials[0]);
        return CSV_SURE;
    }
    size_t best = find_best(&t, d, &s);
    if (best == NONE) {
        const bool is_part = said->decimal == ',' || said->thousands == ',';
        try_on(&t.dialects[NONE], is_part ? ';' : ',', &s, &t.trials[NONE]);
    } else if (best == COMMA && !is_even(&t.trials[COMMA])) {
        best = settle_uneven(&t, &s, &doubt);
    } else if (best == COMMA && t.blanks_are_out && makes_a_table(&t.trials[BLANKS])) {
        doubt = CSV_BLANKS_WOULD_DO;
    }
    *d = t.dialects[best];
    return doubt;
}
