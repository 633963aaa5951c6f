/*
 * worker_routes - see worker_routes.h.
 */
#include "pipeline/worker/worker_routes.h"

#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <string.h>

/* --- packing ---------------------------------------------------------------------------------- */

/* The list with the value, or NULL where that is none. */
static json_t *with(json_t *all, json_t *one)
{
    if (json_array_append_new(all, one) == 0) {
        return all;
    }
    json_decref(all);
    return NULL;
}

static json_t *pack_list(const struct setting_list *list)
{
    json_t *all = json_array();
    for (size_t i = 0; i < list->n; i++) {
        const struct setting *s = &list->at[i];
        all = with(all, json_pack("[s, s, s]", s->key, s->value, s->origin));
    }
    return all;
}

static json_t *pack_sections(const struct settings_section *sections, size_t n)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct settings_section *s = &sections[i];
        all = with(all, json_pack("{s:s?, s:s?, s:s?, s:o}", "name", s->name, "match", s->match,
                                  "pipeline", s->pipeline, "set", pack_list(&s->set)));
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

/* NULL: it is none. */
static char *copy_text(const json_t *text)
{
    return json_is_string(text) ? xstrdup(json_string_value(text)) : NULL;
}

static void unpack_list(const json_t *packed, struct setting_list *out)
{
    out->n = json_array_size(packed);
    out->at = xcalloc(out->n, sizeof(*out->at));
    for (size_t i = 0; i < out->n; i++) {
        char **const texts[] = {&out->at[i].key, &out->at[i].value, &out->at[i].origin};
        for (size_t k = 0; k < 3; k++) {
            const char *const text =
                json_string_value(json_array_get(json_array_get(packed, i), k));
            *texts[k] = xstrdup(text != NULL ? text : "");
        }
    }
}

static void unpack_sections(const json_t *packed, struct settings_section **sections, size_t *n)
{
    *n = json_array_size(packed);
    *sections = xcalloc(*n, sizeof(**sections));
    for (size_t i = 0; i < *n; i++) {
        const json_t *const one = json_array_get(packed, i);
        struct settings_section *const s = &(*sections)[i];
        s->name = xstrdup(text_at(one, "name"));
        s->match = copy_text(json_object_get(one, "match"));
        s->pipeline = copy_text(json_object_get(one, "pipeline"));
        unpack_list(json_object_get(one, "set"), &s->set);
    }
}

void worker_unpack_routes(const json_t *packed, struct settings *out)
{
    const json_t *a = json_object_get(packed, "archive");
    const json_int_t most = json_integer_value(json_object_get(a, "max_entries"));
    *out = (struct settings){.max_entries = most > 0 ? (uint64_t)most : 0,
                             .pipeline = copy_text(json_object_get(a, "pipeline"))};
    unpack_list(json_object_get(a, "set"), &out->set);
    unpack_sections(json_object_get(a, "routes"), &out->routes, &out->n_routes);
    unpack_sections(json_object_get(a, "pipelines"), &out->pipelines, &out->n_pipelines);
}

const char *worker_pipeline_of(const json_t *packed)
{
    const char *const name = json_string_value(json_object_get(packed, "pipeline"));
    const struct stage_ops *const stage = name != NULL ? stage_find(name) : NULL;
    return worker_is_archive(packed) ? NULL : stage != NULL ? stage->name : "";
}
