/*
 * settings_parameters - which parameters there are, for a stage, for any stage, and for the
 * readers. Values are judged by stage_parse_param; this file only finds whose they are.
 */
#include "pipeline/names/text.h"
#include "pipeline/settings/settings_parts.h"
#include "watch/files/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status settings_prefix_error(enum status status, const char *origin)
{
    return status == STATUS_OK ? STATUS_OK
                               : status_fail(status, "%s: %s", origin, status_message());
}

enum { CHOICES_BYTES = 256 };

/* Fails with the message, and the nearest of the choices ("a|b", which are cut up) to the value. */
static enum status fail_choice(const char *message, char *choices, const char *value)
{
    struct text_near near = {.word = value};
    for (char *word; (word = strsep(&choices, "|")) != NULL;) {
        text_near_offer(&near, word);
    }
    return near.best != NULL
               ? status_fail(STATUS_BAD_ARGUMENT, "%s; did you mean '%s'?", message, near.best)
               : status_fail(STATUS_BAD_ARGUMENT, "%s", message);
}

enum status settings_suggest(enum status status, const struct param_spec *spec, const char *value)
{
    char choices[CHOICES_BYTES];
    if (status != STATUS_BAD_ARGUMENT || spec->kind != PARAM_CHOICE) {
        return status;
    }
    snprintf(choices, sizeof(choices), "%s", spec->choices);
    return fail_choice(status_message(), choices, strcmp(value, "gpu") == 0 ? "cuda" : value);
}

static const struct param_spec *find_spec(const struct stage_ops *stage, const char *key)
{
    for (size_t i = 0; i < stage->n_specs; i++) {
        if (strcmp(stage->specs[i].key, key) == 0) {
            return &stage->specs[i];
        }
    }
    return NULL;
}

bool settings_is_parameter(const char *key)
{
    bool known = table_option_find(key, &(enum table_option){0});
    for (const struct stage_ops *const *s = stage_registry; *s != NULL; s++) {
        known = known || find_spec(*s, key) != NULL;
    }
    return known;
}

static void append(char *list, size_t cap, const char *separator, const char *word)
{
    const size_t n = strlen(list);
    snprintf(list + n, cap - n, "%s%s", n > 0 ? separator : "", word);
}

/* Says whose parameter it is, where not every pipeline has it and none is known yet; and where
 * their choices differ, those of each. */
static enum status tell_owners(enum status status, const char *key, const char *value)
{
    char all[CHOICES_BYTES] = "", listed[2 * CHOICES_BYTES] = "", message[4 * CHOICES_BYTES],
         owners[SETTINGS_NAMES_BYTES] = "";
    const struct param_spec *first = NULL;
    bool differ = false, is_of_all = true;
    for (const struct stage_ops *const *s = stage_registry; *s != NULL; s++) {
        const struct param_spec *spec = find_spec(*s, key);
        is_of_all = is_of_all && spec != NULL;
        if (spec != NULL) {
            append(owners, sizeof(owners), ", ", (*s)->name);
        }
        if (spec != NULL && spec->kind == PARAM_CHOICE) {
            char of_stage[CHOICES_BYTES];
            first = first != NULL ? first : spec;
            differ = differ || strcmp(spec->choices, first->choices) != 0;
            snprintf(of_stage, sizeof(of_stage), "%s (%s)", spec->choices, (*s)->name);
            append(all, sizeof(all), "|", spec->choices);
            append(listed, sizeof(listed), ", ", of_stage);
        }
    }
    if (!differ) {
        return is_of_all ? status : settings_prefix_error(status, owners);
    }
    snprintf(message, sizeof(message), "%s: '%s' is not one of %s", key, value, listed);
    return fail_choice(message, all, value);
}

/* A parameter of the stage or, NULL, of any. */
static enum status unknown_parameter(const struct stage_ops *stage, const char *key)
{
    struct text_near near = {.word = key};
    for (const struct stage_ops *const *s = stage_registry; stage != NULL && *s != NULL; s++) {
        if (find_spec(*s, key) != NULL) {
            return status_fail(STATUS_BAD_ARGUMENT, "'%s' is a parameter of %s, not of %s", key,
                               (*s)->name, stage->name);
        }
    }
    for (const struct stage_ops *const *s = stage_registry; *s != NULL; s++) {
        for (size_t i = 0; i < (*s)->n_specs && (stage == NULL || stage == *s); i++) {
            text_near_offer(&near, (*s)->specs[i].key);
        }
    }
    for (enum table_option i = 0; i < TABLE_N_OPTIONS; i++) {
        text_near_offer(&near, table_option_key(i));
    }
    const char *const whose = stage != NULL ? stage->name : "no pipeline";
    const char *const no = stage != NULL ? "no " : "a ";
    return near.best != NULL
               ? status_fail(STATUS_BAD_ARGUMENT, "%s has %sparameter '%s'; did you mean '%s'?",
                             whose, no, key, near.best)
               : status_fail(STATUS_BAD_ARGUMENT,
                             "%s has %sparameter '%s'; leat help %s lists them", whose, no, key,
                             stage != NULL ? stage->name : "PIPELINE");
}

enum status settings_take_defaults(struct job_settings *j)
{
    j->params = xcalloc(j->stage->n_specs + 1, sizeof(*j->params));
    for (size_t i = 0; i < j->stage->n_specs; i++) {
        STATUS_TRY(stage_parse_param(&j->stage->specs[i], j->stage->specs[i].text, &j->params[i]));
    }
    return STATUS_OK;
}

enum status settings_take_parameter(struct job_settings *j, const char *key, const char *value)
{
    enum table_option option; /* what every table can be read with, whatever the pipeline */
    if (table_option_find(key, &option)) {
        return table_option_set(&j->table, option, value);
    }
    const struct param_spec *spec = find_spec(j->stage, key);
    return spec != NULL ? settings_suggest(
                              stage_parse_param(spec, value, &j->params[spec - j->stage->specs]),
                              spec, value)
                        : unknown_parameter(j->stage, key);
}

enum status settings_check_parameter(const struct stage_ops *stage, const char *key,
                                     const char *value)
{
    enum table_option option;
    if (table_option_find(key, &option)) {
        return table_option_set(&(struct table_options){0}, option, value);
    }
    enum status status = STATUS_OK;
    bool known = false;
    for (const struct stage_ops *const *s = stage_registry; *s != NULL; s++) {
        const struct param_spec *spec = stage == NULL || stage == *s ? find_spec(*s, key) : NULL;
        if (spec != NULL) {
            known = true;
            status = settings_suggest(stage_parse_param(spec, value, &(struct param_value){0}),
                                      spec, value);
            if (status == STATUS_OK) {
                return STATUS_OK;
            }
        }
    }
    return !known          ? unknown_parameter(stage, key)
           : stage == NULL ? tell_owners(status, key, value)
                           : status;
}

enum status settings_check_parameters(const struct stage_ops *stage,
                                      const struct setting_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct setting *set = &list->at[i];
        STATUS_TRY(settings_prefix_error(settings_check_parameter(stage, set->key, set->value),
                                         set->origin));
    }
    return STATUS_OK;
}

enum status settings_find_stage(const char *name, const struct stage_ops **out)
{
    *out = stage_find(name);
    if (*out != NULL) {
        return STATUS_OK;
    }
    struct text_near near = {.word = name};
    char all[SETTINGS_NAMES_BYTES] = "";
    size_t n = 0;
    for (const struct stage_ops *const *s = stage_registry; *s != NULL && n < sizeof(all); s++) {
        text_near_offer(&near, (*s)->name);
        n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", n > 0 ? ", " : "", (*s)->name);
    }
    return near.best != NULL
               ? status_fail(STATUS_BAD_ARGUMENT, "unknown pipeline '%s': did you mean '%s'?", name,
                             near.best)
               : status_fail(STATUS_BAD_ARGUMENT, "unknown pipeline '%s'; there is: %s", name, all);
}
