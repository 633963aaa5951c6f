/*
 * series_names - names in one run of text, pointed at when all are there.
 */
#include "stages/pearson/series_names.h"

#include "formats/base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum status series_names_add(struct series_names *names, const char *kind, const char *name)
{
    bool is_cut = false;
    STATUS_TRY(*name == '\0' ? bytes_printf(&names->text, "%s %zu", kind, names->n + 1)
                             : utf8_append_cut(&names->text, name, SERIES_NAME_BYTES, &is_cut));
    names->n_cut += is_cut ? 1 : 0;
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
