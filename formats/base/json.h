/*
 * json - JSON text becomes a value.
 *
 * jansson's reader (2.14, the lexer's lex_save) goes on where a string's buffer cannot grow, and
 * its writer leaves out keys: so a program gives it memory without fail (main.c).
 */
#ifndef LEAT_FORMATS_BASE_JSON_H
#define LEAT_FORMATS_BASE_JSON_H

#include "formats/base/status.h"

#include <jansson.h>
#include <stddef.h>

/* The object or array in n bytes of UTF-8, for json_decref(); no object in it has a key twice.
 * STATUS_BAD_INPUT: they are something else; the text of the error says what and where. *out
 * is then NULL. */
enum status json_read(const void *text, size_t n, json_t **out) STATUS_MUST_CHECK;

/* The same of a file, from where it stands to its end. STATUS_BAD_INPUT also where it has more than
 * n_max bytes; STATUS_IO. */
enum status json_read_fd(int fd, size_t n_max, json_t **out) STATUS_MUST_CHECK;

#endif
