/*
 * template - see template.h. The templates are ours: a mistake in one is a programmer's.
 */
#include "pipeline/names/template.h"

#include "formats/base/excerpt.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    const char *begin; /* of the template */
    enum template_kind kind;
    struct bytes *out;
    const json_t *document;
};

void template_put(struct bytes *out, const void *text, size_t n)
{
    (void)!xalloc_status(bytes_append(out, text, n));
}

static void put(struct writer *w, const char *text)
{
    if (w->kind == TEMPLATE_HTML) {
        (void)!xalloc_status(excerpt_html(text, w->out));
    }
    while (w->kind == TEMPLATE_TEXT && *text != '\0') {
        char shown[4];
        template_put(w->out, shown, excerpt_escape_next(shown, &text));
    }
    for (; w->kind == TEMPLATE_METRICS && *text != '\0'; text++) { /* a label's value */
        if (*text == '\n' || *text == '"' || *text == '\\') {
            template_put(w->out, "\\", 1);
        }
        template_put(w->out, *text == '\n' ? "n" : text, 1);
    }
}

/* --- forms ------------------------------------------------------------------------------------ */

/* Of a text as it is; of a number three digits, or all before its point. */
static void put_plain(struct writer *w, const json_t *value)
{
    char text[64] = "";
    const double number = json_number_value(value);
    if (json_is_integer(value)) {
        snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        snprintf(text, sizeof(text), number >= 100 ? "%.0f" : "%.3g", number);
    }
    put(w, json_is_string(value) ? json_string_value(value) : text);
}

static void put_path(struct writer *w, const json_t *value)
{
    if (json_is_string(value)) {
        template_path(json_string_value(value), w->out);
    }
}

static void put_size(struct writer *w, const json_t *value)
{
    char text[TEXT_NUMBER_BYTES];
    const double bytes = json_number_value(value);
    put(w, text_size(text, bytes > 0 && bytes < 0x1p63 ? (uint64_t)bytes : 0));
}

static void put_count(struct writer *w, const json_t *value)
{
    char text[TEXT_NUMBER_BYTES];
    const json_int_t n = json_integer_value(value);
    snprintf(text, sizeof(text), "%lld", n > 0 ? (long long)n : 0);
    put(w, text);
}

static void put_plural(struct writer *w, const json_t *value)
{
    put(w, json_integer_value(value) == 1 ? "" : "s");
}

static void put_number(struct writer *w, const json_t *value)
{
    char text[TEXT_NUMBER_BYTES];
    const double number = json_is_number(value)    ? json_number_value(value)
                          : json_is_boolean(value) ? json_is_true(value)
                                                   : (double)NAN;
    snprintf(text, sizeof(text), "%.15g", number);
    put(w, text);
}

/* "2026-11-21T03:09:00Z" as people write it. */
static void put_time(struct writer *w, const json_t *value)
{
    const char *iso = json_is_string(value) ? json_string_value(value) : "";
    char text[32];
    if (strlen(iso) == sizeof("2026-11-21T03:09:00Z") - 1) {
        snprintf(text, sizeof(text), "%.10s %.8s UTC", iso, iso + 11);
        put(w, text);
    }
}

static void put_word(struct writer *w, const json_t *value)
{
    char *word = NULL;
    size_t n;
    FILE *to = json_is_string(value) ? open_memstream(&word, &n) : NULL;
    if (to == NULL) {
        return;
    }
    text_put_word(to, json_string_value(value));
    if (fclose(to) == 0) {
        put(w, word);
    }
    free(word);
}

static const struct form {
    const char *name;
    void (*put)(struct writer *w, const json_t *value); /* or: */
    const char *(*number_text)(char out[TEXT_NUMBER_BYTES], double number);
} forms[] = {
    {"path", put_path, NULL}, {"size", put_size, NULL},       {"duration", NULL, text_duration},
    {"age", NULL, text_age},  {"left", NULL, text_time_left}, {"rate", NULL, text_rate},
    {"time", put_time, NULL}, {"word", put_word, NULL},       {"count", put_count, NULL},
    {"s", put_plural, NULL},  {"number", put_number, NULL},   {"", put_plain, NULL}};

/* --- the template ----------------------------------------------------------------------------- */

static const json_t *value_of(const struct writer *w, const char *key, const json_t *at)
{
    return strcmp(key, ".") == 0 ? at
           : *key == '@'         ? json_object_get(w->document, key + 1)
                                 : json_object_get(at, key);
}

static bool holds(const json_t *value)
{
    return json_is_array(value)    ? json_array_size(value) > 0
           : json_is_string(value) ? *json_string_value(value) != '\0'
           : json_is_number(value) ? json_number_value(value) != 0
                                   : json_is_object(value) || json_is_true(value);
}

static bool has(const json_t *value)
{
    return value != NULL && !json_is_null(value) &&
           (!json_is_array(value) || json_array_size(value) > 0);
}

static void put_value(struct writer *w, const char *tag, const json_t *at)
{
    const char *blank = strchr(tag, ' ');
    const size_t n = blank != NULL ? (size_t)(blank - tag) : 0;
    const struct form *form = forms;
    while (strlen(form->name) != n || strncmp(form->name, tag, n) != 0) {
        assert(*form->name != '\0'); /* no form is called so */
        form++;
    }
    const json_t *value = value_of(w, blank != NULL ? blank + 1 : tag, at);
    if (json_is_null(value)) {
        put(w, "no limit");
    } else if (form->put != NULL) {
        form->put(w, value);
    } else {
        char text[TEXT_NUMBER_BYTES];
        put(w, form->number_text(text, json_number_value(value)));
    }
}

/* Puts what stands before the end of the section, or of all, unless it is to be left out; returns
 * what is behind. */
static const char *put_section(struct writer *w, const char *text, const json_t *at, bool is_put);

static const char *put_inner(struct writer *w, const char *tag, const char *text, const json_t *at,
                             bool is_put)
{
    const json_t *value = value_of(w, tag + 1, at);
    const bool is_array = json_is_array(value),
               is_there = *tag == '?' ? has(value) : holds(value) == (*tag == '#');
    const char *end = NULL;
    for (size_t i = 0; is_put && *tag == '#' && i < json_array_size(value); i++) {
        end = put_section(w, text, json_array_get(value, i), true);
    }
    return end != NULL ? end
                       : put_section(w, text, *tag == '#' && json_is_object(value) ? value : at,
                                     is_put && is_there && (!is_array || *tag != '#'));
}

static const char *put_section(struct writer *w, const char *text, const json_t *at, bool is_put)
{
    char tag[64];
    for (const char *open; (open = strstr(text, "{{")) != NULL;) {
        const char *close = strstr(open, "}}");
        assert(close != NULL && (size_t)(close - open) < sizeof(tag));
        if (is_put) {
            template_put(w->out, text, (size_t)(open - text));
        }
        snprintf(tag, sizeof(tag), "%.*s", (int)(close - open - 2), open + 2);
        const bool is_section = strchr("#^?/", *tag) != NULL;
        const bool is_line = (open == w->begin || open[-1] == '\n') && close[2] == '\n';
        text = close + 2 + (is_section && is_line);
        if (is_section && *tag != '/') {
            text = put_inner(w, tag, text, at, is_put);
        } else if (*tag == '/') {
            return text;
        } else if (is_put) {
            put_value(w, tag, at);
        }
    }
    if (is_put) {
        template_put(w->out, text, strlen(text));
    }
    return text + strlen(text);
}

void template_fill(const char *text, enum template_kind kind, json_t *document, struct bytes *out)
{
    struct writer w = {.begin = text, .kind = kind, .out = out, .document = document};
    put_section(&w, text, document, true);
    json_decref(document);
}

void template_print(FILE *out, const char *text, json_t *document)
{
    struct bytes filled = {0};
    template_fill(text, TEMPLATE_TEXT, document, &filled);
    if (filled.len > 0) {
        fwrite(filled.data, 1, filled.len, out);
    }
    bytes_free(&filled);
}

void template_path(const char *path, struct bytes *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-._~/";
    char text[4];
    for (; *path != '\0'; path++) {
        snprintf(text, sizeof(text), strchr(plain, *path) != NULL ? "%c" : "%%%02X",
                 (unsigned char)*path);
        template_put(out, text, strlen(text));
    }
}
