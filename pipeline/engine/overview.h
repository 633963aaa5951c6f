/*
 * overview - what a result says, item by item, from its result.json: for a page and for a terminal.
 *
 * Nothing of it depends on when, how fast or where the job ran.
 */
#ifndef LEAT_PIPELINE_ENGINE_OVERVIEW_H
#define LEAT_PIPELINE_ENGINE_OVERVIEW_H

#include "formats/base/status.h"

#include <jansson.h>
#include <stddef.h>

enum overview_kind {
    OVERVIEW_TITLE,   /* of all: the pipeline, the input */
    OVERVIEW_FIGURE,  /* a picture's file, what it shows */
    OVERVIEW_SECTION, /* what the following is */
    OVERVIEW_FACT,    /* name, value */
    OVERVIEW_HEAD,    /* of a table: names of columns */
    OVERVIEW_ROW,     /* of that table */
    OVERVIEW_NOTE,    /* a warning */
    OVERVIEW_CODE     /* a line of Python */
};

/* Takes the next item: n texts, UTF-8, borrowed; those from files may hold any character. */
typedef enum status overview_put_fn(void *to, enum overview_kind kind, size_t n,
                                    const char *const *texts);

/* Hands out all items of a result.json. What it does not hold as it should is passed over. Fails as
 * `put` does. */
enum status overview_tell(const json_t *result, overview_put_fn *put, void *to) STATUS_MUST_CHECK;

#endif
