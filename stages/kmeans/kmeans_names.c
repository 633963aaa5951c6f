/*
 * kmeans_names - what columns and rows are called. Names of rows are kept one after the other, cut
 * to KMEANS_NAME_BYTES, where the points stay in memory.
 */
#include "stages/kmeans/kmeans_job.h"

#include "formats/base/excerpt.h"
#include "formats/base/text_near.h"
#include "formats/base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *kmeans_column(const struct kmeans_job *job, size_t c, char room[KMEANS_COLUMN_BYTES])
{
    const struct table_info *const table = job->args.inputs[0].table;
    if (table->names != NULL && table->names[c][0] != '\0') {
        return table->names[c];
    }
    snprintf(room, KMEANS_COLUMN_BYTES, "column %zu", table_column(table, c) + 1);
    return room;
}

enum status kmeans_find_column(const struct kmeans_job *job, const char *key, const char *word,
                               size_t n, size_t *out)
{
    const struct table_info *const table = job->args.inputs[0].table;
    const size_t n_columns = job->layout.n_columns;
    for (; n > 0 && *word == ' '; n--) {
        word++;
    }
    for (; n > 0 && word[n - 1] == ' '; n--) {
    }
    char *const text = strndup(word, n), *end;
    struct text_near near = {.word = text};
    if (text == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the name of a column");
    }
    *out = n_columns;
    for (size_t c = 0; c < n_columns && table->names != NULL && *out == n_columns; c++) {
        *out = strcmp(table->names[c], text) == 0 ? c : n_columns;
        text_near_offer(&near, table->names[c]);
    }
    const unsigned long long number = strtoull(text, &end, 10);
    for (size_t c = 0; c < n_columns && *out == n_columns && *end == '\0'; c++) {
        *out = table_column(table, c) + 1 == number ? c : n_columns;
    }
    const struct excerpt shown = excerpt_of(text, n);
    enum status st = STATUS_OK;
    if (*out == n_columns && near.best != NULL) {
        st = status_fail(STATUS_BAD_ARGUMENT, "%s: %s: no column \"%s\"; did you mean \"%s\"?",
                         job->name, key, shown.text, excerpt_of(near.best, strlen(near.best)).text);
    } else if (*out == n_columns) {
        st =
            status_fail(STATUS_BAD_ARGUMENT,
                        "%s: %s: no column \"%s\" with numbers is read; write a name as the header "
                        "has it, or a number from %zu to %zu",
                        job->name, key, shown.text, table_column(table, 0) + 1,
                        table_column(table, n_columns - 1) + 1);
    }
    free(text);
    return st;
}

struct kmeans_called kmeans_call_column(const struct kmeans_job *job, size_t c)
{
    char room[KMEANS_COLUMN_BYTES];
    struct kmeans_called called;
    const char *const name = kmeans_column(job, c, room), *const quote = name == room ? "" : "'";
    snprintf(called.text, sizeof called.text, "%s%s%s", quote, excerpt_of(name, strlen(name)).text,
             quote);
    return called;
}

static enum status add_name(struct kmeans_names *names, const char *name)
{
    bool is_cut;
    if (names->n == names->capacity) {
        const size_t capacity = names->capacity + names->capacity / 2 + 1024;
        size_t *at = realloc(names->at, capacity * sizeof *at);
        if (at == NULL) {
            return status_fail(STATUS_NO_MEMORY, "no memory for the names of %zu rows", capacity);
        }
        names->at = at;
        names->capacity = capacity;
    }
    names->at[names->n++] = names->text.len;
    STATUS_TRY(utf8_append_cut(&names->text, name, KMEANS_NAME_BYTES, &is_cut));
    return bytes_append(&names->text, "", 1);
}

enum status kmeans_names_take(struct kmeans_job *job, const struct table_chunk *chunk)
{
    struct kmeans_names *const names = &job->names;
    const char *label = chunk->labels;
    if (!job->layout.has_names || !job->layout.resident) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < chunk->n_labels && !names->given_up; i++) {
        STATUS_TRY(add_name(names, label));
        label += strlen(label) + 1;
        names->given_up = names->text.len > names->n * KMEANS_NAMES_A_ROW + KMEANS_NAMES_BESIDE;
    }
    return STATUS_OK;
}

const char *kmeans_row_name(const struct kmeans_job *job, uint64_t row)
{
    const struct kmeans_names *const names = &job->names;
    return names->n == job->n_rows && !names->given_up
               ? (const char *)names->text.data + names->at[row]
               : NULL;
}

void kmeans_names_free(struct kmeans_names *names)
{
    bytes_free(&names->text);
    free(names->at);
    names->at = NULL;
    names->n = names->capacity = 0;
}
