/*
 * status_document - a service's whole status document (status_document.json), with something of
 * everything in it, and all that is made of it, for people (.txt, .html) and Prometheus (.metrics).
 */
#ifndef LEAT_TESTS_STATUS_DOCUMENT_H
#define LEAT_TESTS_STATUS_DOCUMENT_H

#include "tests/support/unit.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline json_t *status_document(void)
{
    json_error_t error;
    json_t *const document =
        json_load_file(LEAT_TREE "/tests/support/status_document.json", 0, &error);
    if (document == NULL) {
        fail_msg("%s, line %d: %s", error.source, error.line, error.text);
    }
    return document;
}

/* That the text is what the file has, line by line. */
static inline void status_document_is(const char *text, const char *path)
{
    FILE *const f = fopen(path, "r");
    char *want = NULL;
    size_t room = 0;
    assert_non_null(f);
    for (int line = 1; getline(&want, &room, f) > 0; line++) {
        const size_t n = strcspn(text, "\n") + (strchr(text, '\n') != NULL);
        if (n != strlen(want) || strncmp(text, want, n) != 0) {
            fail_msg("%s:%d has %s... and not %.*s", path, line, want, (int)n, text);
        }
        text += n;
    }
    assert_string_equal(text, "");
    free(want);
    fclose(f);
}

#endif
