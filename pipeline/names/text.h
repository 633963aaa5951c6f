/*
 * text - small helpers around words and numbers that a person reads or types.
 */
#ifndef LEAT_PIPELINE_NAMES_TEXT_H
#define LEAT_PIPELINE_NAMES_TEXT_H

#include "formats/base/status.h"
#include "formats/base/text_near.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Room for what these write. */
enum { TEXT_NUMBER_BYTES = 32 };

/* "0 B", "1023 B", "1.5 KiB", "139 GiB": three digits, powers of 1024. Returns out. */
const char *text_size(char out[TEXT_NUMBER_BYTES], uint64_t bytes);

/* "1.3 ms", "42 ms", "0.42 s", "59.9 s", "1 min 05 s", "2 h 03 min", "4 d 01 h". Negative and NaN
 * give "?". Returns out. */
const char *text_duration(char out[TEXT_NUMBER_BYTES], double seconds);

/* The same in whole seconds, of what grows while one looks. */
const char *text_age(char out[TEXT_NUMBER_BYTES], double seconds);

/* Of an estimate, rounded up: "7 s", "45 s", "3 min 10 s", "12 min", "2 h 03 min". Returns out. */
const char *text_time_left(char out[TEXT_NUMBER_BYTES], double seconds);

/* "12.3 jobs/s"; below one a second "30 jobs/min". Returns out. */
const char *text_rate(char out[TEXT_NUMBER_BYTES], double jobs_per_s);

/* Writes text that comes from outside, as the log does (excerpt_escape): a name cannot command
 * a terminal, nor forge a line. */
void text_put(FILE *out, const char *text);
/* Writes it as a word of a command of a shell: quoted unless it needs no quotes. */
void text_put_word(FILE *out, const char *word);

/* The whole text as a decimal number; false when it is something else, out of range or (real) not
 * finite. No blanks, no hexadecimal; a count has no sign. */
bool text_parse_count(const char *text, uint64_t *out);
bool text_parse_real(const char *text, double *out);

/* The words of a command: what blanks part, but for those between '...' or "...", which are taken
 * off; nothing else means anything. *out ends with NULL, behind which is a place for one more and
 * its NULL; free() gives it back. STATUS_BAD_ARGUMENT: a quote without its end, or no word. */
enum status text_split(const char *command, char ***out) STATUS_MUST_CHECK;

/* A JSON string of whatever bytes a path may hold: U+FFFD in the place of what is not UTF-8. NULL
 * for NULL. */
json_t *text_json(const char *text);
/* The string of that key; "" where there is none. Its number, if it is a whole one; else, and for
 * less than 0, 0. */
const char *text_at(const json_t *object, const char *key);
json_int_t text_count_at(const json_t *object, const char *key);

#endif
