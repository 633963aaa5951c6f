/*
 * json_write - a JSON value becomes text, whole or not at all: where jansson's json_dumps (2.14)
 * has no memory, it leaves out keys.
 */
#ifndef LEAT_FORMATS_BASE_JSON_WRITE_H
#define LEAT_FORMATS_BASE_JSON_WRITE_H

#include <jansson.h>
#include <stddef.h>

/* The text, with the JSON_* flags of jansson; for free(). NULL for NULL, and when there is no
 * memory. */
char *json_write(const json_t *value, size_t flags);

#endif
