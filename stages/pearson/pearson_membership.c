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

/* The name of series `of`, or its group: n bytes; no text: none. */
struct word {
    const char *text;
    size_t n;
    uint32_t of;
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

/* The series of that name are in `group`. */
static enum status put(const struct pearson_job *job, const struct word *names, const char *name,
                       const char *group, struct word *words, bool *is_known)
{
    const size_t n = job->n_series;
    const struct word key = {.text = name, .n = strlen(name)};
    const struct word *at = bsearch(&key, names, n, sizeof *names, compare_text);
    *is_known = at != NULL;
    while (at != NULL && at > names && compare_text(at - 1, &key) == 0) {
        at--;
    }
    for (; at != NULL && at < names + n && compare_text(at, &key) == 0; at++) {
        struct word *const word = &words[at->of];
        if (word->text != NULL && strcmp(word->text, group) != 0) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: '%s' is in two groups, '%s' and '%s': leave one of the lines "
                               "out",
                               job->args.inputs[PEARSON_GROUPS].name, name, word->text, group);
        }
        *word = (struct word){group, strlen(group), at->of};
    }
    return STATUS_OK;
}

static enum status groups_of_file(struct pearson_job *job, struct word *words)
{
    struct pearson_within *const w = &job->within;
    struct word *names;
    STATUS_TRY(pearson_membership_read(job));
    STATUS_TRY(room_host(&job->work, job->n_series, sizeof *names, &names));
    for (uint32_t s = 0; s < job->n_series; s++) {
        names[s] = (struct word){job->names.at[s], strlen(job->names.at[s]), s};
    }
    qsort(names, job->n_series, sizeof *names, compare);
    const char *name = (const char *)w->read.data;
    for (size_t k = 0; k < w->n_read / 2; k++) {
        const char *const group = name + strlen(name) + 1;
        bool is_known;
        STATUS_TRY(put(job, names, name, group, words, &is_known));
        if (!is_known && k > 0 && w->n_unknown++ < PEARSON_UNKNOWN_NAMED) {
            const char *const before = w->n_unknown > 1 ? ", " : "";
            STATUS_TRY(bytes_printf(&w->unknown, "%s'%s'", before, name));
        }
        name = group + strlen(group) + 1;
    }
    return STATUS_OK;
}

static void groups_of_names(const struct pearson_job *job, struct word *words)
{
    for (uint32_t s = 0; s < job->n_series; s++) {
        const char *const name = job->names.at[s], *const end = strstr(name, job->choice.group_by);
        words[s] = (struct word){name, end != NULL ? (size_t)(end - name) : 0, s};
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
        w->members[k] = words[k].of;
        w->group[words[k].of] = (uint32_t)w->n - 1;
    }
    w->start[w->n] = n;
    const char *name = (const char *)w->text.data;
    for (size_t g = 0; g < w->n; g++, name += strlen(name) + 1) {
        const size_t size = w->start[g + 1] - w->start[g];
        w->names[g] = name;
        w->n_single += size == 1;
        w->at[g + 1] = w->at[g] + matrix_n_pairs(size);
    }
    return STATUS_OK;
}

enum status pearson_membership_room(struct pearson_job *job)
{
    struct pearson_within *const w = &job->within;
    const size_t n = job->n_series;
    STATUS_TRY(room_host(job->kept, n + 1, sizeof *w->start, &w->start));
    STATUS_TRY(room_host(job->kept, n + 1, sizeof *w->at, &w->at));
    STATUS_TRY(room_host(job->kept, n, sizeof *w->names, &w->names));
    STATUS_TRY(room_host(job->kept, n, sizeof *w->groups, &w->groups));
    STATUS_TRY(room_host(job->kept, n, sizeof *w->members, &w->members));
    return room_host(job->kept, n, sizeof *w->group, &w->group);
}

void pearson_membership_count(struct pearson_job *job)
{
    const struct table_info *const table = job->args.inputs[PEARSON_GROUPS].table;
    const uint64_t n = job->n_series, lines = table != NULL ? table->n_lines_estimate : 0,
                   texts = table == NULL ? n : n + 2 * (lines > n ? lines : n);
    room_count(job->kept, texts * (SERIES_NAME_BYTES + 1), 0);
    room_count(&job->work, n * 2 * sizeof(struct word), 0);
}

enum status pearson_membership_take(struct pearson_job *job)
{
    const bool of_names = job->choice.group_by[0] != '\0';
    struct pearson_within *const w = &job->within;
    struct word *words;
    size_t n = 0;
    STATUS_TRY(pearson_membership_room(job));
    memset(w->group, 0xff, job->n_series * sizeof *w->group);
    STATUS_TRY(room_host(&job->work, job->n_series, sizeof *words, &words));
    if (of_names) {
        groups_of_names(job, words);
    } else {
        STATUS_TRY(groups_of_file(job, words));
    }
    for (size_t s = 0; s < job->n_series; s++) {
        if (words[s].n > 0) {
            words[n++] = words[s];
        }
    }
    if (n == 0) {
        return status_fail(STATUS_BAD_INPUT,
                           of_names
                               ? "%s: no series has a name that begins with a group and '%s', as "
                                 "group_by says; the first is called '%s'"
                               : "%s: names no series of %s; a line holds the name of a "
                                 "series and its group, and the first series is called '%s'",
                           of_names ? job->name : job->args.inputs[PEARSON_GROUPS].name,
                           of_names ? job->choice.group_by : job->name, job->names.at[0]);
    }
    qsort(words, n, sizeof *words, compare);
    return number_groups(job, words, n);
}
