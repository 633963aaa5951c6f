/*
 * series_names - what the series of a job are called: by their header, by their labels, or by their
 * place ("row 17", "column 3", counted from 1) where the file gives no name.
 *
 * A name has at most SERIES_NAME_BYTES, so that what names take is bounded by their number. A
 * longer one is cut at a character's end and ends with U+2026 ("..."), both within that bound.
 * Names may repeat, cut or not.
 */
#ifndef LEAT_STAGES_PEARSON_SERIES_NAMES_H
#define LEAT_STAGES_PEARSON_SERIES_NAMES_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"

#include <stddef.h>

enum { SERIES_NAME_BYTES = 255, SERIES_PLACE_BYTES = 24 }; /* the longest name; name of a place */

struct series_names {
    struct bytes text; /* the names, each with its NUL */
    const char **at;   /* [n] into text, after series_names_close */
    size_t n;
    size_t n_cut; /* names that were longer */
};

/* Appends the next series' name. Empty names become `kind` and the series' number; bytes that are
 * not UTF-8 become U+FFFD; a long name is cut. STATUS_NO_MEMORY. */
enum status series_names_add(struct series_names *names, const char *kind,
                             const char *name) STATUS_MUST_CHECK;
/* Names the series that have none so far, up to n_series in all, and makes `at` usable. */
enum status series_names_close(struct series_names *names, const char *kind,
                               size_t n_series) STATUS_MUST_CHECK;
void series_names_free(struct series_names *names);

#endif
