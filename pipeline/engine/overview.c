/*
 * overview - what a stage's tables say is worth a look, and what every result has.
 */
#include "pipeline/engine/overview.h"

#include "formats/base/file_name.h"
#include "pipeline/engine/manifest.h"
#include "pipeline/names/text.h"
#include "stages/stage.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { VALUE_BYTES = 1024, TABLE_ROWS = 32 };

struct telling {
    const json_t *result;
    const struct stage_told *told; /* NULL: a pipeline that is not known */
    overview_put_fn *put;
    void *to;
};

static enum status put(const struct telling *t, enum overview_kind kind, const char *a,
                       const char *b)
{
    const char *const texts[] = {a, b};
    return t->put(t->to, kind, b != NULL ? 2 : 1, texts);
}

/* The zip in which the files are that the stage has made; NULL: they are in the folder. */
static const char *bundle_of(const struct telling *t)
{
    const json_t *const zip = json_array_get(json_object_get(t->result, "outputs"), 0);
    return json_object_get(t->result, "bundled") != NULL ? text_at(zip, "name") : NULL;
}

/* Those files. */
static const json_t *files_of(const struct telling *t)
{
    return json_object_get(t->result, bundle_of(t) != NULL ? "bundled" : "outputs");
}

/* Puts "WHAT JOINT ZIP", or WHAT where there is no zip. */
static enum status put_of_bundle(const struct telling *t, enum overview_kind kind, const char *what,
                                 const char *joint)
{
    char text[VALUE_BYTES];
    const char *const zip = bundle_of(t);
    snprintf(text, sizeof text, "%s%s%s", what, joint, zip != NULL ? zip : "");
    return put(t, kind, zip != NULL ? text : what, NULL);
}

/* --- values ----------------------------------------------------------------------------------- */

/* "2: a, b": {"count": n, "names": [..]}; "" for none. */
static void list_text(const json_t *value, char out[VALUE_BYTES])
{
    const json_int_t count = json_integer_value(json_object_get(value, "count"));
    size_t i, n = 0;
    const json_t *name;
    out[0] = '\0';
    if (count == 0) {
        return;
    }
    n = (size_t)snprintf(out, VALUE_BYTES, "%lld", (long long)count);
    json_array_foreach(json_object_get(value, "names"), i, name)
    {
        const char *const text = json_string_value(name);
        if (text == NULL || n + strlen(text) + 8 > VALUE_BYTES) {
            snprintf(out + n, VALUE_BYTES - n, ", ...");
            return;
        }
        n += (size_t)snprintf(out + n, VALUE_BYTES - n, "%s%s", i == 0 ? ": " : ", ", text);
    }
}

/* "0.5, 12, 3": the first few of a list of numbers. */
static void numbers_text(const json_t *value, char out[VALUE_BYTES])
{
    enum { MOST = 12 };
    size_t i, n = 0;
    const json_t *number;
    json_array_foreach((json_t *)value, i, number)
    {
        n += (size_t)snprintf(out + n, VALUE_BYTES - n, i == MOST ? ", ..." : "%s%.6g",
                              i == 0 ? "" : ", ", json_number_value(number));
        if (i == MOST) {
            break;
        }
    }
}

/* "" for what is not worth a word. */
static const char *value_text(const json_t *value, const char *unit, char out[VALUE_BYTES])
{
    out[0] = '\0';
    if (json_is_integer(value)) {
        snprintf(out, VALUE_BYTES, "%lld%s", (long long)json_integer_value(value), unit);
    } else if (json_is_real(value)) {
        snprintf(out, VALUE_BYTES, "%.6g%s", json_real_value(value), unit);
    } else if (json_is_boolean(value)) {
        snprintf(out, VALUE_BYTES, "%s", json_is_true(value) ? "yes" : "no");
    } else if (json_is_string(value)) {
        return json_string_value(value);
    } else if (json_is_object(value)) {
        list_text(value, out);
    } else if (json_is_array(value)) {
        numbers_text(value, out);
    }
    return out;
}

/* --- sections --------------------------------------------------------------------------------- */

static enum status tell_title(const struct telling *t)
{
    const json_t *const input = json_array_get(json_object_get(t->result, "inputs"), 0);
    return put(t, OVERVIEW_TITLE, text_at(t->result, "pipeline"), text_at(input, "name"));
}

/* What a picture shows, or "a picture". */
static const char *picture_text(const struct telling *t, const char *name)
{
    const struct stage_fact *p = t->told != NULL ? t->told->pictures : NULL;
    while (p != NULL && p->name != NULL && strncmp(name, p->key, strlen(p->key)) != 0) {
        p++;
    }
    return p != NULL && p->name != NULL ? p->name : "a picture";
}

static enum status tell_figures(const struct telling *t)
{
    size_t i;
    const json_t *output;
    json_array_foreach((json_t *)files_of(t), i, output)
    {
        const char *const name = text_at(output, "name");
        if (file_name_is(name, ".png .svg .pdf")) {
            STATUS_TRY(bundle_of(t) != NULL ? put_of_bundle(t, OVERVIEW_FIGURE, name, " in ")
                                            : put(t, OVERVIEW_FIGURE, name, picture_text(t, name)));
        }
    }
    return STATUS_OK;
}

static enum status tell_warnings(const struct telling *t)
{
    const json_t *const list = json_object_get(t->result, "warnings"), *text;
    size_t i;
    STATUS_TRY(json_array_size(list) > 0 ? put(t, OVERVIEW_SECTION, "Warnings", NULL) : STATUS_OK);
    json_array_foreach(list, i, text)
    {
        STATUS_TRY(json_is_string(text) ? put(t, OVERVIEW_NOTE, json_string_value(text), NULL)
                                        : STATUS_OK);
    }
    return STATUS_OK;
}

static enum status tell_facts(const struct telling *t)
{
    const json_t *const summary = json_object_get(t->result, "summary");
    const json_t *const shape = json_object_get(t->result, "shape");
    char room[VALUE_BYTES];
    STATUS_TRY(put(t, OVERVIEW_SECTION, "Result", NULL));
    for (const struct stage_fact *f = t->told != NULL ? t->told->facts : NULL;
         f != NULL && f->name != NULL; f++) {
        const json_t *const found = json_object_get(summary, f->key);
        const json_t *const value = found != NULL ? found : json_object_get(shape, f->key);
        const char *const text = value_text(value, f->unit, room);
        STATUS_TRY(text[0] != '\0' ? put(t, OVERVIEW_FACT, f->name, text) : STATUS_OK);
    }
    return STATUS_OK;
}

static const char *cell_text(const json_t *summary, const struct stage_column *c, size_t row,
                             char out[VALUE_BYTES])
{
    const json_t *value = json_array_get(json_object_get(summary, c->list), row);
    if (c->list == NULL) {
        snprintf(out, VALUE_BYTES, "%zu", row);
        return out;
    }
    const json_t *const second = c->keys[1] != NULL ? json_object_get(value, c->keys[1]) : NULL;
    value = c->keys[0] != NULL ? json_object_get(value, c->keys[0]) : value;
    if (second != NULL) {
        snprintf(out, VALUE_BYTES, "%lld, %lld", (long long)json_integer_value(value),
                 (long long)json_integer_value(second));
        return out;
    }
    if (c->fixed) {
        snprintf(out, VALUE_BYTES, "%.6f", json_number_value(value));
        return out;
    }
    return value_text(value, "", out);
}

static enum status tell_table(const struct telling *t, const struct stage_listing *table)
{
    const json_t *const summary = json_object_get(t->result, "summary");
    const char *texts[STAGE_LISTING_COLUMNS];
    char rooms[STAGE_LISTING_COLUMNS][VALUE_BYTES];
    size_t n = 0;
    for (; n < STAGE_LISTING_COLUMNS && table->columns[n].head != NULL; n++) {
        texts[n] = table->columns[n].head;
    }
    const size_t n_rows = json_array_size(json_object_get(summary, table->columns[n - 1].list));
    STATUS_TRY(n_rows > 0 ? put(t, OVERVIEW_SECTION, table->title, NULL) : STATUS_OK);
    STATUS_TRY(n_rows > 0 ? t->put(t->to, OVERVIEW_HEAD, n, texts) : STATUS_OK);
    for (size_t i = 0; i < n_rows && i < TABLE_ROWS; i++) {
        for (size_t c = 0; c < n; c++) {
            texts[c] = cell_text(summary, &table->columns[c], i, rooms[c]);
        }
        STATUS_TRY(t->put(t->to, OVERVIEW_ROW, n, texts));
    }
    return STATUS_OK;
}

static enum status tell_tables(const struct telling *t)
{
    for (const struct stage_listing *table = t->told != NULL ? t->told->listings : NULL;
         table != NULL && table->title != NULL; table++) {
        STATUS_TRY(tell_table(t, table));
    }
    return STATUS_OK;
}

/* What was asked for of each parameter where that is not the default. */
static json_t *find_asked(const struct telling *t)
{
    const struct stage_ops *const stage = stage_find(text_at(t->result, "pipeline"));
    json_t *const all = json_object();
    for (size_t i = 0; stage != NULL && i < stage->n_specs; i++) {
        const struct param_spec *const spec = &stage->specs[i];
        json_t *const asked = (json_t *)manifest_recorded(t->result, spec->key);
        struct param_value value;
        if (asked != NULL && stage_parse_param(spec, spec->text, &value) == STATUS_OK) {
            json_t *const usual = stage_param_json(spec, &value);
            if (!json_equal(asked, usual)) {
                json_object_set(all, spec->key, asked);
            }
            json_decref(usual);
        }
    }
    return all;
}

static enum status tell_all(const struct telling *t, const json_t *asked)
{
    json_t *const parameters = json_object_get(t->result, "parameters"), *value;
    const char *key;
    char room[VALUE_BYTES];
    size_t n_asked = 0;
    json_object_foreach(parameters, key, value)
    {
        const json_t *const one = json_object_get(asked, key);
        if (one != NULL) {
            STATUS_TRY(n_asked++ == 0 ? put(t, OVERVIEW_SECTION, "Asked for", NULL) : STATUS_OK);
            STATUS_TRY(put(t, OVERVIEW_FACT, key, value_text(one, "", room)));
        }
    }
    json_object_foreach(json_object_get(t->result, "reader"), key, value)
    {
        STATUS_TRY(n_asked++ == 0 ? put(t, OVERVIEW_SECTION, "Asked for", NULL) : STATUS_OK);
        STATUS_TRY(put(t, OVERVIEW_FACT, key, value_text(value, "", room)));
    }
    STATUS_TRY(put(t, OVERVIEW_SECTION, n_asked > 0 ? "Other parameters" : "Parameters", NULL));
    json_object_foreach(parameters, key, value)
    {
        const char *const text = value_text(value, "", room);
        const json_t *const one = json_object_get(asked, key);
        if (text[0] != '\0' && (one == NULL || !json_equal(one, value))) {
            STATUS_TRY(put(t, OVERVIEW_FACT, key, text));
        }
    }
    return STATUS_OK;
}

/* First what was asked for, of parameters and the reader; then all else that there is. */
static enum status tell_parameters(const struct telling *t)
{
    json_t *const asked = find_asked(t);
    const enum status code = tell_all(t, asked);
    json_decref(asked);
    return code;
}

/* Files with their sizes. */
static enum status list_files(const struct telling *t, const json_t *list)
{
    const json_t *file;
    size_t i;
    json_array_foreach((json_t *)list, i, file)
    {
        char size[TEXT_NUMBER_BYTES];
        const json_int_t bytes = json_integer_value(json_object_get(file, "bytes"));
        STATUS_TRY(put(t, OVERVIEW_FACT, text_at(file, "name"),
                       text_size(size, bytes > 0 ? (uint64_t)bytes : 0)));
    }
    return STATUS_OK;
}

/* Of inputs or outputs. */
static enum status tell_files(const struct telling *t, const char *key, const char *title)
{
    const json_t *const list = json_object_get(t->result, key);
    STATUS_TRY(json_array_size(list) > 0 ? put(t, OVERVIEW_SECTION, title, NULL) : STATUS_OK);
    return list_files(t, list);
}

static enum status tell_bundled(const struct telling *t)
{
    STATUS_TRY(bundle_of(t) != NULL ? put_of_bundle(t, OVERVIEW_SECTION, "In", " ") : STATUS_OK);
    return list_files(t, json_object_get(t->result, "bundled"));
}

static bool has_output(const struct telling *t, const char *name)
{
    size_t i;
    const json_t *output;
    json_array_foreach((json_t *)files_of(t), i, output)
    {
        if (strcmp(text_at(output, "name"), name) == 0) {
            return true;
        }
    }
    return false;
}

static enum status tell_code(const struct telling *t)
{
    const json_t *const parameters = json_object_get(t->result, "parameters");
    for (const struct stage_code *c = t->told != NULL ? t->told->codes : NULL;
         c != NULL && c->file != NULL; c++) {
        bool is_short = false;
        for (size_t k = 0; k < 4 && c->only[k][0] != NULL; k++) {
            is_short |= strcmp(text_at(parameters, c->only[k][0]), c->only[k][1]) != 0;
        }
        if (!has_output(t, c->file)) {
            continue;
        }
        STATUS_TRY(put_of_bundle(t, OVERVIEW_SECTION, "In Python", ", from what is in "));
        for (size_t i = 0; i < (is_short ? 2 : 3); i++) {
            STATUS_TRY(put(t, OVERVIEW_CODE, c->lines[i], NULL));
        }
    }
    return STATUS_OK;
}

enum status overview_tell(const json_t *result, overview_put_fn *put_item, void *to)
{
    const struct stage_ops *const stage = stage_find(text_at(result, "pipeline"));
    const struct telling t = {result, stage != NULL ? stage->told : NULL, put_item, to};
    STATUS_TRY(tell_title(&t));
    STATUS_TRY(tell_figures(&t));
    STATUS_TRY(tell_warnings(&t));
    STATUS_TRY(tell_facts(&t));
    STATUS_TRY(tell_tables(&t));
    STATUS_TRY(tell_parameters(&t));
    STATUS_TRY(tell_files(&t, "inputs", "Made from"));
    STATUS_TRY(put(&t, OVERVIEW_FACT, "by leat", text_at(result, "leat")));
    STATUS_TRY(tell_files(&t, "outputs", "Files"));
    STATUS_TRY(tell_bundled(&t));
    return tell_code(&t);
}
