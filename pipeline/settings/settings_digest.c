/*
 * settings_digest - see settings.h.
 */
#include "formats/base/text_hash.h"
#include "pipeline/settings/settings.h"

#include <stdio.h>

static uint64_t add_list(uint64_t h, const struct setting_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        h = text_hash_add(h, list->at[i].key);
        h = text_hash_add(h, list->at[i].value);
    }
    return text_hash_add(h, NULL);
}

static uint64_t add_sections(uint64_t h, const struct settings_section *sections, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        h = text_hash_add(h, sections[i].name);
        h = text_hash_add(h, sections[i].match);
        h = text_hash_add(h, sections[i].pipeline);
        h = add_list(h, &sections[i].set);
    }
    return text_hash_add(h, NULL);
}

uint64_t settings_digest(const struct settings *s)
{
    char numbers[64];
    snprintf(numbers, sizeof(numbers), "%d %d %d %d %a", s->force, s->resume, s->bundle, s->level,
             s->deadline_s);
    uint64_t h = text_hash_add(TEXT_HASH_OF_NONE, numbers);
    h = text_hash_add(h, s->pipeline);
    h = text_hash_add(h, s->output);
    h = add_list(h, &s->set);
    h = add_sections(h, s->routes, s->n_routes);
    h = add_sections(h, s->pipelines, s->n_pipelines);
    for (size_t i = 0; i < s->n_inputs; i++) {
        h = text_hash_add(h, s->inputs[i]);
    }
    h = text_hash_add(h, s->dem);
    for (size_t i = 0; i < s->n_sources; i++) {
        h = text_hash_add(h, s->sources[i]);
    }
    return h;
}
