/*
 * pearson_membership - which group each series is in: X.groups.* says so, a name and a group in
 * each line, or the name itself, up to a separator.
 *
 * Groups are numbered in the order of their names. A series that is named nowhere, or whose name
 * does not hold the separator, is in none. The first line of the file is a header unless it names a
 * series.
 */
#include "formats/base/utf8.h"
#include "stages/pearson/pearson_job.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN_NAMED = 3 };

/* A text of n bytes, and what has it: a series, or a line. */
struct word {
    const char *text;
    size_t n, of;
    const char *group; /* of a line */
    bool is_known;     /* a series has that name */
};

static int compare_text(const void *a, const void *b)
{
    const struct word *const x = a, *const y = b;
    const int by_bytes = memcmp(x->text, y->text, x->n < y->n ? x->n : y->n);
    return by_bytes != 0 ? by_bytes : (x->n > y->n) - (x->n < y->n);
}

static int compare(const void *a, const void *b)
{
    const struct word *const x = a, *const y = b;
    const int by_text = compare_text(a, b);
    return by_text != 0 ? by_text : (x->of > y->of) - (x->of < y->of);
}

/* --- the file --------------------------------------------------------------------------------- */

enum status pearson_membership_read(struct pearson_job *job)
{
    struct pearson_within *const w = &job->within;
    const struct table_chunk *chunk;
    bool is_cut;
    if (job->args.inputs[PEARSON_GROUPS].table == NULL || w->n_read > 0) {
        return STATUS_OK;
    }
    STATUS_TRY(io_chunk(job->io, PEARSON_GROUPS, &chunk));
    while (chunk != NULL) {
        const char *label = chunk->labels;
        for (size_t k = 0; k < chunk->n_labels; k++, w->n_read++, label += strlen(label) + 1) {
            STATUS_TRY(utf8_append_cut(&w->read, label, SERIES_NAME_BYTES, &is_cut));
            STATUS_TRY(bytes_append(&w->read, "", 1));
        }
        STATUS_TRY(io_chunk(job->io, PEARSON_GROUPS, &chunk));
    }
    return STATUS_OK;
}

/* Its lines in the order of their names, of which each has one group. */
static enum status sort_lines(struct pearson_job *job, struct word **lines, size_t *n)
{
    const char *text, *const file = job->args.inputs[PEARSON_GROUPS].name;
    STATUS_TRY(pearson_membership_read(job));
    *n = job->within.n_read / 2;
    STATUS_TRY(room_host(&job->work, *n, sizeof **lines, lines));
    text = (const char *)job->within.read.data;
    for (size_t k = 0; k < *n; k++) {
        struct word *const line = &(*lines)[k];
        *line = (struct word){.text = text, .n = strlen(text), .of = k};
        line->group = text + line->n + 1;
        text = line->group + strlen(line->group) + 1;
    }
    qsort(*lines, *n, sizeof **lines, compare);
    for (size_t k = 1; k < *n; k++) {
        const struct word *const a = &(*lines)[k - 1], *const b = a + 1;
        if (compare_text(a, b) == 0 && strcmp(a->group, b->group) != 0) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: '%s' is in two groups, '%s' and '%s': leave one of the lines "
                               "out",
                               file, a->text, a->group, b->group);
        }
    }
    return STATUS_OK;
}

static enum status note_unknown(struct pearson_within *w, const struct word *lines, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const bool is_another = k == 0 || compare_text(&lines[k - 1], &lines[k]) != 0;
        if (lines[k].is_known || !is_another || lines[k].of == 0) {
            continue;
        }
        STATUS_TRY(
            w->n_unknown < UNKNOWN_NAMED
                ? bytes_printf(&w->unknown, "%s'%s'", w->n_unknown > 0 ? ", " : "", lines[k].text)
                : STATUS_OK);
        w->n_unknown++;
    }
    return w->n_unknown > UNKNOWN_NAMED
               ? bytes_printf(&w->unknown, " and %zu more", w->n_unknown - UNKNOWN_NAMED)
               : STATUS_OK;
}

/* Sets the words of the series that have a group; *n of them. */
static enum status groups_of_file(struct pearson_job *job, struct word *words, size_t *n)
{
    struct word *lines;
    size_t n_lines;
    STATUS_TRY(sort_lines(job, &lines, &n_lines));
    for (size_t s = 0; s < job->n_series; s++) {
        const struct word name = {.text = job->names.at[s], .n = strlen(job->names.at[s])};
        struct word *line = bsearch(&name, lines, n_lines, sizeof *lines, compare_text);
        while (line != NULL && line > lines && compare_text(line - 1, line) == 0) {
            line--;
        }
        if (line != NULL && *line->group != '\0') {
            words[(*n)++] = (struct word){.text = line->group, .n = strlen(line->group), .of = s};
        }
        if (line != NULL) {
            line->is_known = true;
        }
    }
    return note_unknown(&job->within, lines, n_lines);
}

static void groups_of_names(const struct pearson_job *job, struct word *words, size_t *n)
{
    for (size_t s = 0; s < job->n_series; s++) {
        const char *const name = job->names.at[s], *const end = strstr(name, job->choice.group_by);
        if (end != NULL) {
            words[(*n)++] = (struct word){.text = name, .n = (size_t)(end - name), .of = s};
        }
    }
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Numbers the groups of n series, whose words lie in their order. */
static enum status number_groups(struct pearson_job *job, const struct word *words, size_t n)
{
    struct pearson_within *const w = &job->within;
    for (size_t k = 0; k < n; k++) {
        if (k == 0 || compare_text(&words[k - 1], &words[k]) != 0) {
            STATUS_TRY(bytes_append(&w->text, words[k].text, words[k].n));
            STATUS_TRY(bytes_append(&w->text, "", 1));
            w->start[w->n++] = k;
        }
        w->members[k] = (uint32_t)words[k].of;
        w->group[words[k].of] = (uint32_t)w->n - 1;
        w->place[words[k].of] = (uint32_t)(k - w->start[w->n - 1]);
    }
    w->start[w->n] = n;
    STATUS_TRY(room_host(job->kept, w->n, sizeof *w->names, &w->names));
    const char *name = (const char *)w->text.data;
    for (size_t g = 0; g < w->n; g++, name += strlen(name) + 1) {
        w->names[g] = name;
        w->n_single += w->start[g + 1] - w->start[g] == 1 ? 1 : 0;
    }
    return STATUS_OK;
}

enum status pearson_membership_room(struct pearson_job *job)
{
    struct pearson_within *const w = &job->within;
    const size_t n = job->n_series;
    STATUS_TRY(room_host(job->kept, n + 1, sizeof *w->start, &w->start));
    STATUS_TRY(room_host(job->kept, n, sizeof *w->members, &w->members));
    STATUS_TRY(room_host(job->kept, n, sizeof *w->group, &w->group));
    return room_host(job->kept, n, sizeof *w->place, &w->place);
}

enum status pearson_membership_take(struct pearson_job *job)
{
    struct pearson_within *const w = &job->within;
    struct word *words;
    size_t n = 0;
    STATUS_TRY(pearson_membership_room(job));
    memset(w->group, 0xff, job->n_series * sizeof *w->group);
    STATUS_TRY(room_host(&job->work, job->n_series, sizeof *words, &words));
    if (job->choice.group_by[0] != '\0') {
        groups_of_names(job, words, &n);
    } else {
        STATUS_TRY(groups_of_file(job, words, &n));
    }
    if (n == 0) {
        return job->choice.group_by[0] != '\0'
                   ? status_fail(STATUS_BAD_INPUT,
                                 "%s: no series has a '%s' in its name, which group_by says; the "
                                 "first is called '%s'",
                                 job->name, job->choice.group_by, job->names.at[0])
                   : status_fail(STATUS_BAD_INPUT,
                                 "%s: names no series of %s; a line holds the name of a series and "
                                 "its group, and the first series is called '%s'",
                                 job->args.inputs[PEARSON_GROUPS].name, job->name,
                                 job->names.at[0]);
    }
    qsort(words, n, sizeof *words, compare);
    return number_groups(job, words, n);
}

uint64_t pearson_membership_pairs(const struct pearson_job *job, pearson_property_fn *is_left_out)
{
    const struct pearson_within *const w = &job->within;
    uint64_t pairs = 0;
    for (size_t g = 0; g < w->n; g++) {
        uint64_t n = 0;
        for (size_t k = w->start[g]; k < w->start[g + 1]; k++) {
            n += is_left_out(job, w->members[k]) ? 0 : 1;
        }
        pairs += matrix_n_pairs(n);
    }
    return pairs;
}
