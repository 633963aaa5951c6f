/*
 * pearson_within - correlation inside given groups alone: r of the pairs whose series are of one
 * group, and what is asked of them. No other pair has a coefficient.
 *
 * X.groups.* says which group a series is in, a name and a group in each line, or the name itself,
 * up to a separator. Groups are numbered in the order of their names. A series that is named
 * nowhere, or whose name does not hold the separator, is in none. The first line of the file is a
 * header unless it names a series.
 *
 * The series stay in standard form as they come; at the end their groups are multiplied (blocks.h).
 * The coefficients lie on the host, one condensed triangle behind the other, members in the order
 * of the file; the pairs all fit a list (pearson_list.c).
 */
#include "formats/base/sizes.h"
#include "formats/base/utf8.h"
#include "kernels/matrix/matrix_rule.h"
#include "kernels/pearson/blocks.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Series of a group of PEARSON_PAIRS_MAX pairs; names that a warning tells. */
enum { LARGEST = 5793, UNKNOWN_NAMED = 3 };

/* A series, and its group; "": none. */
struct word {
    const char *name, *group;
    uint32_t of;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct word *)a)->name, ((const struct word *)b)->name);
}

static int by_group(const void *a, const void *b)
{
    const struct word *const x = a, *const y = b;
    const int by_text = strcmp(x->group, y->group);
    return by_text != 0 ? by_text : (x->of > y->of) - (x->of < y->of);
}

/* --- memory ----------------------------------------------------------------------------------- */

static enum status take_room(struct pearson_job *job, struct word **words)
{
    struct pearson_within *const w = &job->within;
    const size_t n = job->n_series;
    STATUS_TRY(room_host(job->kept, n + 1, sizeof *w->start, &w->start));
    STATUS_TRY(room_host(job->kept, n + 1, sizeof *w->at, &w->at));
    STATUS_TRY(room_host(job->kept, n, sizeof *w->names, &w->names));
    STATUS_TRY(room_host(job->kept, n, sizeof *w->groups, &w->groups));
    STATUS_TRY(room_host(job->kept, n, sizeof *w->members, &w->members));
    STATUS_TRY(room_host(job->kept, n, sizeof *w->group, &w->group));
    return room_host(&job->work, n, sizeof **words, words);
}

/* How many pairs there are is known once the groups are; more are refused then. */
enum status pearson_within_count(struct pearson_job *job)
{
    const struct table_info *const table = job->args.inputs[PEARSON_GROUPS].table;
    const uint64_t n = job->n_series, pairs = lesser(matrix_n_pairs(n), PEARSON_PAIRS_MAX),
                   texts = table == NULL ? n : 2 * greater(table->n_lines_estimate, n);
    struct word *words;
    STATUS_TRY(take_room(job, &words));
    room_count(job->kept, texts * (SERIES_NAME_BYTES + 1), 0);
    STATUS_TRY(pearson_list_count(job, pairs));
    room_count(&job->work, pairs * sizeof(double), 0); /* of take_group */
    return blocks_count(&job->c, n, lesser(n, LARGEST), &job->work);
}

/* --- groups ----------------------------------------------------------------------------------- */

enum status pearson_within_read(struct pearson_job *job)
{
    struct pearson_within *const w = &job->within;
    const struct table_chunk *chunk;
    bool is_cut;
    if (job->args.inputs[PEARSON_GROUPS].table == NULL || w->text.len > 0) {
        return STATUS_OK;
    }
    STATUS_TRY(io_chunk(job->io, PEARSON_GROUPS, &chunk));
    while (chunk != NULL) {
        const char *label = chunk->labels;
        for (size_t k = 0; k < chunk->n_labels; k++, label += strlen(label) + 1) {
            STATUS_TRY(utf8_append_cut(&w->text, label, SERIES_NAME_BYTES, &is_cut));
            STATUS_TRY(bytes_append(&w->text, "", 1));
        }
        STATUS_TRY(io_chunk(job->io, PEARSON_GROUPS, &chunk));
    }
    return STATUS_OK;
}

/* Series of one name are in one group. */
static enum status groups_of_file(struct pearson_job *job, struct word *words)
{
    const char *const file = job->args.inputs[PEARSON_GROUPS].name;
    const struct word *const end = words + job->n_series;
    char unknown[UNKNOWN_NAMED * (SERIES_NAME_BYTES + 4) + 1];
    size_t n_unknown = 0, len = 0;
    STATUS_TRY(pearson_within_read(job));
    qsort(words, job->n_series, sizeof *words, by_name);
    const char *const text = (const char *)job->within.text.data;
    struct word line = {.name = text};
    while (line.name < text + job->within.text.len) {
        line.group = line.name + strlen(line.name) + 1;
        struct word *at = bsearch(&line, words, job->n_series, sizeof *words, by_name);
        while (at != NULL && at > words && by_name(at - 1, &line) == 0) {
            at--;
        }
        if (at == NULL && line.name > text && n_unknown++ < UNKNOWN_NAMED) {
            len += (size_t)snprintf(unknown + len, sizeof unknown - len, "%s'%s'",
                                    len > 0 ? ", " : "", line.name);
        }
        for (; at != NULL && at < end && by_name(at, &line) == 0; at++) {
            if (at->group != NULL && strcmp(at->group, line.group) != 0) {
                return status_fail(STATUS_BAD_INPUT,
                                   "%s: '%s' is in two groups, '%s' and '%s': leave one of the "
                                   "lines out",
                                   file, line.name, at->group, line.group);
            }
            at->group = line.group;
        }
        line.name = line.group + strlen(line.group) + 1;
    }
    return n_unknown == 0
               ? STATUS_OK
               : result_warn(job->io->out,
                             "%zu lines of %s name series that %s does not have: %s%s", n_unknown,
                             file, job->name, unknown, n_unknown > UNKNOWN_NAMED ? ", ..." : "");
}

static enum status groups_of_names(struct pearson_job *job, struct word *words)
{
    struct bytes *const text = &job->within.text;
    STATUS_TRY(bytes_reserve(text, job->names.text.len));
    for (size_t s = 0; s < job->n_series; s++) {
        const char *const name = words[s].name, *const end = strstr(name, job->choice.group_by);
        words[s].group = (const char *)text->data + text->len;
        STATUS_TRY(bytes_append(text, name, end != NULL ? (size_t)(end - name) : 0));
        STATUS_TRY(bytes_append(text, "", 1));
    }
    return STATUS_OK;
}

/* Numbers the groups of n series, which lie in their order. */
static enum status number_groups(struct pearson_job *job, const struct word *words, size_t n)
{
    struct pearson_within *const w = &job->within;
    size_t n_single = 0;
    for (size_t k = 0; k < n; k++) {
        if (k == 0 || strcmp(words[k - 1].group, words[k].group) != 0) {
            w->names[w->n] = words[k].group;
            w->start[w->n++] = k;
        }
        w->members[k] = words[k].of;
        w->group[words[k].of] = (uint32_t)w->n - 1;
    }
    w->start[w->n] = n;
    for (size_t g = 0; g < w->n; g++) {
        const size_t size = w->start[g + 1] - w->start[g];
        n_single += size == 1;
        w->at[g + 1] = w->at[g] + matrix_n_pairs(size);
    }
    return n_single == 0
               ? STATUS_OK
               : result_warn(job->io->out, "groups of one series, which have no pair: %zu of %zu",
                             n_single, w->n);
}

static enum status find_groups(struct pearson_job *job)
{
    const bool of_names = job->choice.group_by[0] != '\0';
    struct word *words;
    size_t n = 0;
    STATUS_TRY(take_room(job, &words));
    memset(job->within.group, 0xff, job->n_series * sizeof *job->within.group);
    for (uint32_t s = 0; s < job->n_series; s++) {
        words[s] = (struct word){.name = job->names.at[s], .of = s};
    }
    STATUS_TRY((of_names ? groups_of_names : groups_of_file)(job, words));
    for (size_t s = 0; s < job->n_series; s++) {
        if (words[s].group != NULL && words[s].group[0] != '\0') {
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
    qsort(words, n, sizeof *words, by_group);
    return number_groups(job, words, n);
}

/* --- coefficients ----------------------------------------------------------------------------- */

/* What the results say of a group; its pairs to the list. */
static void take_group(struct pearson_job *job, size_t g, double *scratch)
{
    struct pearson_within *const w = &job->within;
    const uint32_t *const end = w->members + w->start[g + 1];
    const double *r = job->held_r + w->at[g];
    double sum = 0, sum_abs = 0, least = NAN;
    size_t n = 0;
    for (const uint32_t *i = w->members + w->start[g]; i < end; i++) {
        for (const uint32_t *j = i + 1; j < end; j++, r++) {
            pearson_list_add(job, *i, *j, *r);
            if (!isnan(*r)) {
                scratch[n++] = *r;
                sum += *r;
                sum_abs += fabs(*r);
                least = fmin(least, *r); /* of a NaN and a number the number */
            }
        }
    }
    w->groups[g] = (struct pearson_group){.n_undefined = w->at[g + 1] - w->at[g] - n,
                                          .mean = n > 0 ? sum / (double)n : NAN,
                                          .homogeneity = n > 0 ? sum_abs / (double)n : NAN,
                                          .least = least,
                                          .median = matrix_median(scratch, n)};
}

enum status pearson_within_find(struct pearson_job *job)
{
    const struct pearson_within *const w = &job->within;
    uint64_t n_unsure = 0;
    double *scratch;
    STATUS_TRY(find_groups(job));
    const uint64_t n_pairs = w->at[w->n];
    STATUS_TRY(pearson_list_room(job, n_pairs));
    const struct blocks blocks = {w->n,          w->start,    w->members, job->stats,
                                  job->has_gaps, job->held_r, w->at};
    STATUS_TRY(blocks_find(&job->c, &blocks, &n_unsure));
    STATUS_TRY(pearson_rows_sure(job, n_unsure));
    STATUS_TRY(room_host(&job->work, n_pairs, sizeof *scratch, &scratch));
    for (size_t g = 0; g < w->n; g++) {
        STATUS_TRY(queue_check(job->queue));
        take_group(job, g, scratch);
    }
    return pearson_list_find(job, n_pairs);
}
