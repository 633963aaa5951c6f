/*
 * worker_routes - see worker_routes.h.
 */
#include "pipeline/worker/worker_routes.h"

#include <stdlib.h>
#include <string.h>

/* --- packing ---------------------------------------------------------------------------------- */

static json_t *pack_list(const struct setting_list *list)
{
    json_t *all = json_array();
    for (size_t i = 0; i < list->n; i++) {
        const struct setting *s = &list->at[i];
        if (json_array_append_new(all, json_pack("[s, s, s]", s->key, s->value, s->origin)) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

static json_t *pack_sections(const struct settings_section *sections, size_t n)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct settings_section *s = &sections[i];
        json_t *one = json_pack("{s:s?, s:s?, s:s?, s:o}", "name", s->name, "match", s->match,
                                "pipeline", s->pipeline, "set", pack_list(&s->set));
        if (json_array_append_new(all, one) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

json_t *worker_pack_routes(const struct settings *s)
{
    return json_pack("{s:{s:s?, s:I, s:o, s:o, s:o}}", "archive", "pipeline", s->pipeline,
                     "max_entries", (json_int_t)s->max_entries, "set", pack_list(&s->set), "routes",
                     pack_sections(s->routes, s->n_routes), "pipelines",
                     pack_sections(s->pipelines, s->n_pipelines));
}

bool worker_is_archive(const json_t *packed)
{
    return json_object_get(packed, "archive") != NULL;
}

/* --- unpacking -------------------------------------------------------------------------------- */

/* A copy of the text; NULL also where it is none. False: no memory. */
static bool copy_text(const json_t *text, char **out)
{
    *out = json_is_string(text) ? strdup(json_string_value(text)) : NULL;
    return *out != NULL || !json_is_string(text);
}

static bool unpack_list(const json_t *packed, struct setting_list *out)
{
    const size_t n = json_array_size(packed);
    bool done = true;
    out->at = calloc(n + 1, sizeof(*out->at));
    for (size_t i = 0; i < n && out->at != NULL && done; i++) {
        const json_t *one = json_array_get(packed, i);
        struct setting *s = &out->at[out->n++];
        done = copy_text(json_array_get(one, 0), &s->key) &&
               copy_text(json_array_get(one, 1), &s->value) &&
               copy_text(json_array_get(one, 2), &s->origin) && s->key != NULL &&
               s->value != NULL && s->origin != NULL;
    }
    return done && out->at != NULL;
}

static bool unpack_sections(const json_t *packed, struct settings_section **sections, size_t *n_out)
{
    const size_t n = json_array_size(packed);
    bool done = true;
    *sections = calloc(n + 1, sizeof(**sections));
    for (size_t i = 0; i < n && *sections != NULL && done; i++) {
        const json_t *one = json_array_get(packed, i);
        struct settings_section *s = &(*sections)[(*n_out)++];
        done = copy_text(json_object_get(one, "name"), &s->name) &&
               copy_text(json_object_get(one, "match"), &s->match) &&
               copy_text(json_object_get(one, "pipeline"), &s->pipeline) &&
               unpack_list(json_object_get(one, "set"), &s->set);
    }
    return done && *sections != NULL;
}

enum status worker_unpack_routes(const json_t *packed, struct settings *out)
{
    const json_t *a = json_object_get(packed, "archive");
    const json_int_t most = json_integer_value(json_object_get(a, "max_entries"));
    *out = (struct settings){.max_entries = most > 0 ? (uint64_t)most : 0};
    if (copy_text(json_object_get(a, "pipeline"), &out->pipeline) &&
        unpack_list(json_object_get(a, "set"), &out->set) &&
        unpack_sections(json_object_get(a, "routes"), &out->routes, &out->n_routes) &&
        unpack_sections(json_object_get(a, "pipelines"), &out->pipelines, &out->n_pipelines)) {
        return STATUS_OK;
    }
    settings_free(out);
    return status_fail(STATUS_NO_MEMORY, "no memory for the routes of an archive");
}

const char *worker_pipeline_of(const json_t *packed)
{
    const char *const name = json_string_value(json_object_get(packed, "pipeline"));
    const struct stage_ops *const stage = name != NULL ? stage_find(name) : NULL;
    return worker_is_archive(packed) ? NULL : stage != NULL ? stage->name : "";
}
