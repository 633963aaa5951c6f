/*
 * stage - finds a stage by name; how the text of a parameter becomes a value, and JSON.
 */
#include "stages/stage.h"

#include "formats/base/decimal.h"
#include "formats/base/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct stage_ops *stage_find(const char *name)
{
    for (const struct stage_ops *const *s = stage_registry; *s != NULL; s++) {
        if (strcmp((*s)->name, name) == 0) {
            return *s;
        }
    }
    return NULL;
}

/* The number of the stage's parameter of that key; n_specs: there is none. */
static size_t find_param(const struct stage_ops *stage, const char *key)
{
    size_t i = 0;
    while (i < stage->n_specs && strcmp(stage->specs[i].key, key) != 0) {
        i++;
    }
    return i;
}

const char *stage_text(const struct stage_ops *stage, const struct param_value *params,
                       const char *key)
{
    const size_t i = find_param(stage, key);
    return i < stage->n_specs ? params[i].text : "";
}

static bool has_part(const struct stage_ops *stage, const struct param_value *params,
                     const struct stage_part *part)
{
    const size_t i = part->unless != NULL ? find_param(stage, part->unless) : stage->n_specs;
    if (i < stage->n_specs && stage->specs[i].kind == PARAM_CHOICE) {
        return params != NULL && params[i].index > 0;
    }
    return i == stage->n_specs || params == NULL || *params[i].text == '\0';
}

size_t stage_parts(const struct stage_ops *stage, const struct param_value *params,
                   const struct stage_part *out[STAGE_MAX_PARTS])
{
    size_t n = 0;
    for (size_t i = 0; i < stage->n_parts; i++) {
        if (has_part(stage, params, &stage->parts[i])) {
            out[n++] = &stage->parts[i];
        }
    }
    return n;
}

/* "KEY=WORD", of a parameter with choices the first or the last word; else "KEY", or nothing. */
static const char *part_parameter(const struct stage_ops *stage, const struct stage_part *part,
                                  bool last, char out[STAGE_INSTEAD_BYTES])
{
    const char *const key = part->unless != NULL ? part->unless : "";
    const size_t i = find_param(stage, key);
    const char *const choices = i < stage->n_specs ? stage->specs[i].choices : NULL;
    if (choices != NULL) {
        const char *const word = last ? strrchr(choices, '|') + 1 : choices;
        snprintf(out, STAGE_INSTEAD_BYTES, "%s=%.*s", key, (int)strcspn(word, "|"), word);
    } else {
        snprintf(out, STAGE_INSTEAD_BYTES, "%s", last ? "" : key);
    }
    return out;
}

const char *stage_instead(const struct stage_ops *stage, const struct stage_part *part,
                          char out[STAGE_INSTEAD_BYTES])
{
    return part_parameter(stage, part, false, out);
}

const char *stage_asks(const struct stage_ops *stage, const struct stage_part *part,
                       char out[STAGE_INSTEAD_BYTES])
{
    return part_parameter(stage, part, true, out);
}

static enum status parse_choice(const struct param_spec *spec, const char *text,
                                struct param_value *out)
{
    size_t index = 0;
    const size_t length = strlen(text);
    for (const char *choice = spec->choices; choice != NULL; index++) {
        const char *end = strchr(choice, '|');
        const size_t n = end != NULL ? (size_t)(end - choice) : strlen(choice);
        if (n == length && memcmp(choice, text, n) == 0) {
            out->index = index;
            return STATUS_OK;
        }
        choice = end != NULL ? end + 1 : NULL;
    }
    return status_fail(STATUS_BAD_ARGUMENT, "%s: '%s' is not one of %s", spec->key, text,
                       spec->choices);
}

/* The whole number that is all of n characters, within the range of the parameter. */
static bool read_count(const struct param_spec *spec, const char *text, size_t n, uint64_t *out)
{
    /* as a double the largest of 64 bits is one more */
    const uint64_t most = spec->max < 0x1p64 ? (uint64_t)spec->max : UINT64_MAX;
    uint64_t count = 0;
    bool good = n > 0;
    for (size_t i = 0; i < n && good; i++) {
        good = isdigit((unsigned char)text[i]) &&
               !__builtin_mul_overflow(count, UINT64_C(10), &count) &&
               !__builtin_add_overflow(count, (uint64_t)(text[i] - '0'), &count);
    }
    *out = count;
    return good && (double)count >= spec->min && count <= most;
}

static enum status parse_count(const struct param_spec *spec, const char *text,
                               struct param_value *out)
{
    return read_count(spec, text, strlen(text), &out->count)
               ? STATUS_OK
               : status_fail(STATUS_BAD_ARGUMENT,
                             "%s: '%s' is not a whole number from %.0f to %" PRIu64, spec->key,
                             text, spec->min,
                             spec->max < 0x1p64 ? (uint64_t)spec->max : UINT64_MAX);
}

static enum status parse_range(const struct param_spec *spec, const char *text,
                               struct param_value *out)
{
    const size_t n = strcspn(text, "-");
    const char *const end = text[n] == '-' ? text + n + 1 : text;
    if (!read_count(spec, text, n, &out->count) ||
        !read_count(spec, end, strlen(end), &out->last)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: '%s' is neither a whole number from %.0f to %.0f nor a range of "
                           "them; write %s, or 2-12",
                           spec->key, text, spec->min, spec->max, spec->text);
    }
    if (out->last < out->count) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: the range '%s' ends before it begins; write %" PRIu64 "-%" PRIu64,
                           spec->key, text, out->last, out->count);
    }
    if (out->last - out->count >= PARAM_RANGE_MOST) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: the range '%s' has more than %d numbers; take a part of it",
                           spec->key, text, PARAM_RANGE_MOST);
    }
    out->text = text;
    return STATUS_OK;
}

/* The same with or without a sign. */
static bool read_signed(const struct param_spec *spec, const char *text, size_t n, int64_t *out)
{
    const size_t sign = n > 0 && *text == '-' ? 1 : 0;
    uint64_t size;
    const bool good = read_count(spec, text + sign, n - sign, &size);
    *out = sign > 0 ? -(int64_t)size : (int64_t)size;
    return good;
}

static enum status parse_span(const struct param_spec *spec, const char *text,
                              struct param_value *out)
{
    const size_t n = strcspn(text, ":");
    const char *const end = text[n] == ':' ? text + n + 1 : text;
    bool good =
        read_signed(spec, text, n, &out->from) && read_signed(spec, end, strlen(end), &out->to);
    if (good && end == text) {
        good = *text != '-';
        out->from = -out->to;
    }
    if (!good || out->to < out->from) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: '%s' is neither a whole number up to %.0f nor a range of them that "
                           "begins with the smaller one; write 12, for -12:12, or 0:12",
                           spec->key, text, spec->max);
    }
    out->text = text;
    return STATUS_OK;
}

static enum status parse_numbers(const struct param_spec *spec, const char *text,
                                 struct param_value *out)
{
    const bool is_bounded = spec->min < spec->max; /* and so no date */
    STATUS_TRY(*text != '\0' ? numbers_parse(spec->key, text, !is_bounded, &out->numbers)
                             : STATUS_OK);
    out->text = text;
    const struct numbers *const all = &out->numbers;
    /* of a line the ends alone */
    for (uint64_t i = 0; is_bounded && i < all->n;
         i += all->list != NULL || all->n == 1 ? 1 : all->n - 1) {
        double x;
        numbers_fill(all, i, 1, &x);
        if (!(x >= spec->min && x <= spec->max)) {
            return status_fail(STATUS_BAD_ARGUMENT,
                               all->n == 1 ? "%s: '%.64s' is not a number from %g to %g"
                                           : "%s: '%.64s' has numbers that are not from %g to %g",
                               spec->key, text, spec->min, spec->max);
        }
    }
    return STATUS_OK;
}

static enum status parse_real(const struct param_spec *spec, const char *text,
                              struct param_value *out)
{
    double real;
    if (!decimal_parse(text, strlen(text), '.', &real) ||
        !(real >= spec->min && real <= spec->max)) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: '%s' is not a number from %g to %g", spec->key,
                           text, spec->min, spec->max);
    }
    out->real = real;
    return STATUS_OK;
}

/* Whether a character other than printable ones begins at `text`, also a byte that is not UTF-8. */
static bool is_unprintable(const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const char *after = text;
    const uint32_t c = utf8_next(&after);
    return c < 0x20 || (c >= 0x7f && c < 0xa0) ||
           (c == 0xfffd && strncmp(text, replacement, sizeof replacement - 1) != 0);
}

static enum status parse_text(const struct param_spec *spec, const char *text,
                              struct param_value *out)
{
    const size_t n = strlen(text);
    if ((double)n < spec->min || (double)n > spec->max) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: '%s' has %zu bytes, not %.0f to %.0f",
                           spec->key, text, n, spec->min, spec->max);
    }
    for (const char *at = text; *at != '\0'; utf8_next(&at)) {
        if (is_unprintable(at)) {
            return status_fail(STATUS_BAD_ARGUMENT,
                               "%s: '%s' has a control character, or is not UTF-8, at byte %td",
                               spec->key, text, at - text + 1);
        }
    }
    out->text = text;
    return STATUS_OK;
}

enum status stage_parse_param(const struct param_spec *spec, const char *text,
                              struct param_value *out)
{
    *out = (struct param_value){0};
    switch (spec->kind) {
    case PARAM_CHOICE:
        return parse_choice(spec, text, out);
    case PARAM_COUNT:
        return parse_count(spec, text, out);
    case PARAM_REAL:
        return parse_real(spec, text, out);
    case PARAM_TEXT:
        return parse_text(spec, text, out);
    case PARAM_RANGE:
        return parse_range(spec, text, out);
    case PARAM_NUMBERS:
        return parse_numbers(spec, text, out);
    case PARAM_SPAN:
        return parse_span(spec, text, out);
    }
    return status_fail(STATUS_INTERNAL, "%s: a parameter of unknown kind", spec->key);
}

const char *stage_param_value(const struct param_spec *spec)
{
    static const char *const values[] = {
        [PARAM_COUNT] = "N",     [PARAM_REAL] = "X",          [PARAM_TEXT] = "TEXT",
        [PARAM_RANGE] = "N[-M]", [PARAM_NUMBERS] = "A,B,...", [PARAM_SPAN] = "N|A:B"};
    return spec->choices != NULL ? spec->choices : values[spec->kind];
}

json_t *stage_param_json(const struct param_spec *spec, const struct param_value *value)
{
    const char *choice = spec->choices;
    switch (spec->kind) {
    case PARAM_COUNT:
        return json_integer((json_int_t)value->count);
    case PARAM_REAL:
        return json_real(value->real);
    case PARAM_NUMBERS:
        if (value->numbers.n == 1 && value->numbers.list != NULL) {
            double x;
            numbers_fill(&value->numbers, 0, 1, &x);
            return json_real(x);
        }
        return json_string(value->text);
    case PARAM_TEXT:
    case PARAM_RANGE:
    case PARAM_SPAN:
        return json_string(value->text);
    case PARAM_CHOICE:
        break;
    }
    for (size_t i = 0; i < value->index; i++) {
        choice += strcspn(choice, "|") + 1;
    }
    return json_stringn(choice, strcspn(choice, "|"));
}
