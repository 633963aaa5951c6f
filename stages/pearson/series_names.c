/*
 * series_names - names in one run of text, pointed at when all are there.
 */
#include "stages/pearson/series_names.h"

#include "formats/base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Appends a name in UTF-8, cut to SERIES_NAME_BYTES. What is not UTF-8 never becomes shorter, so
 * that one byte more than that tells whether it has to be cut. */
static enum status append_name(struct series_names *names, const char *name)
{
    static const char mark[] = "\xe2\x80\xa6";
    char begin[SERIES_NAME_BYTES + 2];
    struct bytes *const text = &names->text;
    const size_t from = text->len;
    snprintf(begin, sizeof begin, "%.*s", SERIES_NAME_BYTES + 1, name);
    STATUS_TRY(utf8_append_valid(text, begin));
    if (text->len - from <= SERIES_NAME_BYTES) {
        return STATUS_OK;
    }
    text->len = from + SERIES_NAME_BYTES - strlen(mark);
    while ((text->data[text->len] & 0xc0) == 0x80) { /* within a character */
        text->len--;
    }
    names->n_cut++;
    return bytes_append(text, mark, strlen(mark));
}

enum status series_names_add(struct series_names *names, const char *kind, const char *name)
{
    STATUS_TRY(*name == '\0' ? bytes_printf(&names->text, "%s %zu", kind, names->n + 1)
                             : append_name(names, name));
    STATUS_TRY(bytes_append(&names->text, "", 1));
    names->n++;
    return STATUS_OK;
}

enum status series_names_close(struct series_names *names, const char *kind, size_t n_series)
{
    while (names->n < n_series) {
        STATUS_TRY(series_names_add(names, kind, ""));
    }
    free(names->at);
    names->at = calloc(names->n + 1, sizeof *names->at);
    if (names->at == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the names of %zu series", names->n);
    }
    const char *name = (const char *)names->text.data;
    for (size_t i = 0; i < names->n; i++) {
        names->at[i] = name;
        name += strlen(name) + 1;
    }
    return STATUS_OK;
}

void series_names_free(struct series_names *names)
{
    bytes_free(&names->text);
    free(names->at);
    *names = (struct series_names){0};
}
