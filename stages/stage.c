/*
 * stage - the registry of stages, and how the text of a parameter becomes a value.
 *
 * A mistyped key is answered with the nearest known one: a key that it begins, or the one at the
 * least number of edits (insert, delete, replace a character, swap two neighbours: the optimal
 * string alignment distance) where that is small beside the key's length.
 */
#include "stages/stage.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 63 };

const struct stage_ops *const stage_registry[] = {&stage_pearson, NULL};

const struct stage_ops *stage_find(const char *name)
{
    for (const struct stage_ops *const *s = stage_registry; *s != NULL; s++) {
        if (strcmp((*s)->name, name) == 0) {
            return *s;
        }
    }
    return NULL;
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
    return status_fail(STATUS_BAD_ARGUMENT, "%s = %s: not one of %s", spec->key, text,
                       spec->choices);
}

static enum status parse_count(const struct param_spec *spec, const char *text,
                               struct param_value *out)
{
    uint64_t count = 0;
    bool good = *text != '\0';
    for (const char *c = text; *c != '\0' && good; c++) {
        good = isdigit((unsigned char)*c) && !__builtin_mul_overflow(count, UINT64_C(10), &count) &&
               !__builtin_add_overflow(count, (uint64_t)(*c - '0'), &count);
    }
    if (!good || (double)count < spec->min || (double)count > spec->max) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s = %s: not a whole number from %.0f to %.0f",
                           spec->key, text, spec->min, spec->max);
    }
    out->count = count;
    return STATUS_OK;
}

static enum status parse_real(const struct param_spec *spec, const char *text,
                              struct param_value *out)
{
    char *end = NULL;
    const bool begins = *text != '\0' && !isspace((unsigned char)*text);
    const double real = begins ? strtod(text, &end) : NAN;
    if (!begins || *end != '\0' || !(real >= spec->min && real <= spec->max)) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s = %s: not a number from %g to %g", spec->key,
                           text, spec->min, spec->max);
    }
    out->real = real;
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
    }
    return status_fail(STATUS_INTERNAL, "%s: a parameter of unknown kind", spec->key);
}

static size_t min3(size_t a, size_t b, size_t c)
{
    const size_t d = a < b ? a : b;
    return d < c ? d : c;
}

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Edits from a to b, both of at most KEY_MAX characters, in any case. Three rows of the table of
 * distances between prefixes are enough: a swap looks two rows back. */
static size_t edit_distance(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    size_t rows[3][KEY_MAX + 1];
    for (size_t j = 0; j <= m; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        const size_t *before = rows[(i + 1) % 3], *above = rows[(i - 1) % 3];
        size_t *row = rows[i % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t replace = same_letter(a[i - 1], b[j - 1]) ? 0 : 1;
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + replace);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1]) && before[j - 2] + 1 < row[j]) {
                row[j] = before[j - 2] + 1;
            }
        }
    }
    return rows[n % 3][m];
}

static bool begins(const char *text, const char *start, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\0' || !same_letter(text[i], start[i])) {
            return false;
        }
    }
    return true;
}

const char *stage_nearest_key(const struct stage_ops *ops, const char *key)
{
    const char *nearest = NULL;
    size_t least = KEY_MAX + 1;
    const size_t length = strlen(key);
    if (length == 0 || length > KEY_MAX) {
        return NULL;
    }
    for (size_t k = 0; k < ops->n_specs; k++) {
        const char *known = ops->specs[k].key;
        const size_t near = 1 + strlen(known) / 4;
        const bool prefix = length >= 2 && begins(known, key, length);
        const size_t distance = prefix ? 1 : edit_distance(key, known);
        /* at least one letter must have stayed */
        if (distance <= near && distance < length && distance < least) {
            least = distance;
            nearest = known;
        }
    }
    return nearest;
}
