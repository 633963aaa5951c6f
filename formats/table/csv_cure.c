/*
 * csv_cure - what the user may do about words among the numbers of a delimited text.
 *
 * The chunk with the word is looked at once more, all of its columns, so that one step is enough. A
 * few words stand for missing numbers: missing_value lists them. A column with many, or with words
 * that cannot be listed, is one of text that has numbers in it: columns leaves it out. Both go on
 * from what these options say already.
 */
#include "formats/table/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_WORDS = 3,                        /* of a column that are listed */
    MOST_COLUMNS = 1 << 16,                /* of a table that is looked at */
    MOST_BYTES = 32,                       /* of a word or name */
    MOST_DISTINCT = 4 * TABLE_MISSING_MAX, /* words that are told apart */
    ENTRY_BYTES = MOST_BYTES + 8,
    LIST_BYTES = 200
};

/* What the cells of a column are. */
struct sight {
    size_t n_words, n_numbers, n_listed;
    struct table_word words[MOST_WORDS]; /* [n_listed] */
    bool is_odd;                         /* there are more, or one that cannot be listed */
};

struct look {
    const struct table *t;
    const struct csv_shape *shape;
    struct sight *sights; /* [n_columns] of the file */
};

/* --- the cells -------------------------------------------------------------------------------- */

/* Whether a word can stand in a list, and within quotes of a shell. */
static bool can_be_listed(const struct csv_cell *cell)
{
    return cell->n > 0 && cell->n < MOST_BYTES && cell->n_rest == 0 &&
           excerpt_is_clean(cell->text, cell->n) && !memchr(cell->text, '\'', cell->n) &&
           !memchr(cell->text, '"', cell->n);
}

static bool is_same(const struct table_word *a, const struct table_word *b)
{
    return a->n == b->n && memcmp(a->text, b->text, a->n) == 0;
}

static bool has_seen(const struct sight *s, const struct csv_cell *cell)
{
    const struct table_word word = {(const char *)cell->text, cell->n};
    for (size_t i = 0; i < s->n_listed; i++) {
        if (is_same(&s->words[i], &word)) {
            return true;
        }
    }
    return s->is_odd;
}

static void see_word(struct sight *s, const struct csv_cell *cell)
{
    s->n_words++;
    if (has_seen(s, cell)) {
        return;
    }
    if (s->n_listed == MOST_WORDS || !can_be_listed(cell)) {
        s->is_odd = true;
    } else {
        s->words[s->n_listed++] = (struct table_word){(const char *)cell->text, cell->n};
    }
}

static void see_line(const struct look *k, const unsigned char **p, const unsigned char *end)
{
    const struct csv_shape *const shape = k->shape;
    const struct csv_run *run = shape->runs;
    struct csv_walk w = csv_walk_of(&shape->dialect, *p, end);
    while (csv_walk_next(&w)) {
        const size_t column = w.n - 1;
        double number;
        run += column == run->last && column < shape->n_columns;
        if (column < shape->n_columns && run->kind == CSV_KEEP) {
            const enum csv_value value = csv_cell_value(&shape->dialect, &w.cell, &number);
            k->sights[column].n_numbers += value == CSV_NUMBER;
            if (value == CSV_WORD) {
                see_word(&k->sights[column], &w.cell);
            }
        }
    }
    *p = w.p;
}

/* All lines that begin in the chunk. */
static void see_chunk(const struct look *k, const struct table_chunk *c)
{
    const unsigned char *p = c->raw, *const end = c->raw + c->raw_len;
    if (c->first_column > 0) {
        const unsigned char *const newline = memchr(p, '\n', c->raw_len);
        p = newline ? newline + 1 : end;
    }
    while ((p = csv_find_data(&k->shape->dialect, p, end)) < end) {
        see_line(k, &p, end);
    }
}

/* Several words where numbers are not many more. */
static bool is_text(const struct sight *s)
{
    enum { LEAST_NUMBERS = 4 }; /* for each word */
    return s->is_odd || (s->n_listed > 1 && s->n_numbers < LEAST_NUMBERS * s->n_words);
}

/* --- the lists -------------------------------------------------------------------------------- */

/* The value of an option: what it says already, and new entries. */
struct list {
    char text[LIST_BYTES];
    size_t len, n_new, n_beyond; /* n_beyond: of the new ones, that have no room */
    size_t n_said;               /* entries that it says already, where these have no room */
};

static void begin_list(const struct look *k, enum table_option option, struct list *l)
{
    const char *const said = table_option_get(&k->t->options, option);
    *l = (struct list){.len = said ? strlen(said) : 0};
    if (l->len > LIST_BYTES / 2) {
        l->n_said = 1 + table_count_byte((const unsigned char *)said, l->len, ',');
        l->len = 0;
    }
    memcpy(l->text, said ? said : "", l->len);
}

static void append(struct list *l, const char *entry)
{
    const int n =
        snprintf(l->text + l->len, LIST_BYTES - l->len, "%s%s", l->len > 0 ? "," : "", entry);
    const bool fits = (size_t)n < LIST_BYTES - l->len;
    l->len += fits ? (size_t)n : 0;
    l->text[l->len] = '\0';
    l->n_new++;
    l->n_beyond += !fits;
}

/* "-s missing_value=-9,MM" */
static void say_list(const struct list *l, const char *key, char *out, size_t cap)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-+._:/,";
    const char *const quote = l->text[strspn(l->text, plain)] == '\0' ? "" : "'";
    char more[48] = "";
    if (l->n_beyond > 0) {
        snprintf(more, sizeof more, ", and so on with %zu more", l->n_beyond);
    }
    if (l->n_said > 0) {
        snprintf(out, cap, "add to the %zu entries of %s: %s%s", l->n_said, key, l->text, more);
    } else {
        snprintf(out, cap, "-s %s=%s%s%s%s", key, quote, l->text, quote, more);
    }
}

/* The words of columns that are not text; those of all columns where there is nothing else to do.
 */
static void list_words(const struct look *k, bool all, struct list *l)
{
    struct table_word seen[MOST_DISTINCT];
    size_t n_seen = 0;
    begin_list(k, TABLE_MISSING_VALUE, l);
    for (size_t c = 0; c < k->shape->n_columns; c++) {
        const struct sight *const s = &k->sights[c];
        for (size_t i = 0; i < s->n_listed && (all || !is_text(s)); i++) {
            char entry[ENTRY_BYTES];
            size_t same = 0;
            while (same < n_seen && !is_same(&seen[same], &s->words[i])) {
                same++;
            }
            if (same == n_seen && n_seen < MOST_DISTINCT) {
                const char *const quote = memchr(s->words[i].text, ',', s->words[i].n) ? "\"" : "";
                seen[n_seen++] = s->words[i];
                snprintf(entry, sizeof entry, "%s%.*s%s", quote, (int)s->words[i].n,
                         s->words[i].text, quote);
                append(l, entry);
            }
        }
    }
}

/* The name of a kept column where `columns` takes it for that one and no other; else NULL. */
static const char *name_of(const struct csv_shape *shape, size_t column)
{
    const char *name = NULL;
    size_t kept = 0, n_same = 0;
    for (size_t r = 0; shape->names && r < shape->n_runs && shape->runs[r].first <= column; r++) {
        const struct csv_run *const run = &shape->runs[r];
        if (run->kind == CSV_KEEP && column < run->last) {
            name = shape->names[kept + column - run->first];
        }
        kept += run->kind == CSV_KEEP ? run->last - run->first : 0;
    }
    for (size_t i = 0; name && i < shape->n_kept; i++) {
        n_same += strcmp(shape->names[i], name) == 0;
    }
    const size_t n = name ? strlen(name) : 0;
    const bool is_plain = n > 0 && n < MOST_BYTES && n_same == 1 && !strpbrk(name, ",'\"") &&
                          !strchr("0123456789-:! ", name[0]) && name[n - 1] != ' ' &&
                          excerpt_is_clean(name, n);
    return is_plain ? name : NULL;
}

static void list_columns(const struct look *k, struct list *l)
{
    begin_list(k, TABLE_COLUMNS, l);
    for (size_t c = 0; c < k->shape->n_columns; c++) {
        const char *const name = is_text(&k->sights[c]) ? name_of(k->shape, c) : NULL;
        char entry[ENTRY_BYTES];
        snprintf(entry, sizeof entry, "!%zu", c + 1);
        if (name) {
            snprintf(entry, sizeof entry, "!%s", name);
        }
        if (is_text(&k->sights[c])) {
            append(l, entry);
        }
    }
}

/* --- the message ------------------------------------------------------------------------------ */

static void cure(const struct look *k, const struct csv_cell *cell, size_t column,
                 struct csv_cure *out)
{
    struct list words, columns;
    char by_words[LIST_BYTES + 96], by_columns[LIST_BYTES + 96], full[96] = "";
    const size_t n_said = k->t->choice.missing.n_numbers + k->t->choice.missing.n_words;
    list_columns(k, &columns);
    list_words(k, columns.n_new == k->shape->n_kept, &words);
    if (n_said + words.n_new > TABLE_MISSING_MAX) {
        snprintf(full, sizeof full,
                 "; missing_value has no room for %zu more word%s beside its %zu", words.n_new,
                 words.n_new == 1 ? "" : "s", n_said);
        for (size_t c = 0; c < k->shape->n_columns; c++) {
            k->sights[c].is_odd = k->sights[c].n_words > 0;
        }
        list_columns(k, &columns);
        words.n_new = 0;
    }
    const bool has_words = words.n_new > 0;
    const bool has_columns = columns.n_new > 0 && columns.n_new < k->shape->n_kept;
    say_list(&words, "missing_value", by_words, sizeof by_words);
    say_list(&columns, "columns", by_columns, sizeof by_columns);
    const char *const many = words.n_new == 1 ? "it stands for a missing number"
                                              : "such words stand for missing numbers";
    if (has_columns && has_words) { /* either alone would not do */
        snprintf(out->text, sizeof out->text, "; if %s, and to leave out what holds text: %s %s%s",
                 is_text(&k->sights[column]) ? "other words stand for missing numbers" : many,
                 by_words, words.n_said + words.n_beyond > 0 ? "; " : "", by_columns);
    } else if (has_columns && is_text(&k->sights[column])) {
        snprintf(out->text, sizeof out->text, "%s; to leave out what holds text: %s", full,
                 by_columns);
    } else if (has_words && can_be_listed(cell)) {
        snprintf(out->text, sizeof out->text, "; if %s: %s", many, by_words);
    } else {
        snprintf(out->text, sizeof out->text,
                 "%s; if all words stand for missing numbers: -s unreadable=missing", full);
    }
}

struct csv_cure csv_cure_word(const struct table *t, const struct table_chunk *c,
                              const struct csv_cell *cell, size_t column)
{
    const struct csv_shape *const shape = &((const struct csv *)t->state)->shape;
    const struct csv_dialect *const d = &shape->dialect;
    struct csv_cure out = {"", false};
    if (column == 0 && cell->text[0] == (unsigned char)d->comment) {
        snprintf(out.text, sizeof out.text, "; if such lines are comments: -s comment='%c'",
                 d->comment);
        return out;
    }
    struct look k = {t, shape, NULL};
    k.sights = shape->n_columns <= MOST_COLUMNS ? calloc(shape->n_columns, sizeof *k.sights) : NULL;
    if (k.sights) {
        see_chunk(&k, c);
        if (!has_seen(&k.sights[column], cell)) { /* its line began in another chunk */
            see_word(&k.sights[column], cell);
        }
        cure(&k, cell, column, &out);
        out.is_lone = k.sights[column].n_words == 1;
    }
    free(k.sights);
    return out;
}
