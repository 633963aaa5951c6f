/*
 * settings_options - the command line of run, check and doctor. What it says is kept aside until
 * the configuration file has been read, and then laid over it.
 */
#include "pipeline/options.h"
#include "pipeline/settings_parts.h"
#include "pipeline/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command {
    const char *name, *args_doc, *doc;
    bool takes_inputs;
};

static const struct command commands[] = {
    {"run", "INPUT...",
     "Processes files, folders and archives, and leaves a folder of results for each input set."
     "\vINPUT is a table (CSV, TSV, .npy, .npz, each also gzipped), a folder, or an archive. "
     "Exit status: 0 every job done, 1 some job failed, 2 nothing could be done.",
     true},
    {"check", "INPUT...",
     "Reads and validates inputs, and says what run would do with them, without doing it."
     "\vExit status: 0 every input is fit, 1 some input is not, 2 nothing could be checked.",
     true},
    {"doctor", "",
     "Says what works here and what does not: backends, devices, driver, limits, folders."
     "\vExit status: 0 the backend asked for works, 2 it does not.",
     false},
};

struct given {
    const struct command *command;
    struct settings *settings;
    struct setting_list list; /* options, in the table's keys */
};

static enum status put_parameter(struct settings *s, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        return status_fail(STATUS_BAD_ARGUMENT, "-s '%s': write -s KEY=VALUE", text);
    }
    char *key = strndup(text, (size_t)(equals - text));
    if (key == NULL) {
        return status_fail(STATUS_NO_MEMORY, "-s: no memory");
    }
    enum status status = settings_put(&s->set, key, equals + 1, "-s");
    free(key);
    return status;
}

static enum status put_input(struct given *g, const char *text)
{
    struct settings *s = g->settings;
    if (!g->command->takes_inputs || *text == '\0') {
        return status_fail(STATUS_BAD_ARGUMENT, "'%s': leat %s takes no such argument", text,
                           g->command->name);
    }
    char **grown = realloc(s->inputs, (s->n_inputs + 1) * sizeof(*grown));
    if (grown == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu inputs", s->n_inputs + 1);
    }
    s->inputs = grown;
    grown[s->n_inputs] = strdup(text);
    return grown[s->n_inputs++] != NULL ? STATUS_OK
                                        : status_fail(STATUS_NO_MEMORY, "no memory for an input");
}

static enum status put_config(struct settings *s, const char *text)
{
    free(s->config);
    s->config = strdup(text);
    return s->config != NULL ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "--config: no memory");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct given *g = state->input;
    switch (key) {
    case 'c':
        return options_error(put_config(g->settings, arg));
    case 's':
        return options_error(put_parameter(g->settings, arg));
    case ARGP_KEY_ARG:
        return options_error(put_input(g, arg));
    default:
        break;
    }
    for (size_t i = 0; i < settings_n_keys; i++) {
        if (settings_keys[i].letter == key) {
            char origin[32];
            snprintf(origin, sizeof(origin), "--%s", settings_keys[i].name);
            return options_error(
                settings_put(&g->list, settings_keys[i].name, arg != NULL ? arg : "yes", origin));
        }
    }
    return ARGP_ERR_UNKNOWN;
}

/* argp's own table, from ours and the two options that are no keys of the file. */
static enum status parse_options(struct given *g, int argc, char **argv, bool *done)
{
    struct argp_option *options = calloc(settings_n_keys + 3, sizeof(*options));
    if (options == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the options");
    }
    options[0] = (struct argp_option){
        .name = "config", .key = 'c', .arg = "FILE", .doc = "Read settings from FILE"};
    options[1] = (struct argp_option){.name = "set",
                                      .key = 's',
                                      .arg = "KEY=VALUE",
                                      .doc = "Set a parameter of the pipeline (repeatable)"};
    for (size_t i = 0; i < settings_n_keys; i++) {
        const struct settings_key *key = &settings_keys[i];
        options[i + 2] = (struct argp_option){
            .name = key->name, .key = key->letter, .arg = key->arg, .doc = key->help};
    }
    struct argp argp = {.options = options,
                        .parser = parse,
                        .args_doc = g->command->args_doc,
                        .doc = g->command->doc};
    char name[32];
    snprintf(name, sizeof(name), "leat %s", g->command->name);
    enum status status = options_parse(name, &argp, argc, argv, g, done);
    free(options);
    return status;
}

static enum status lay_over(struct settings *s, const struct setting_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        for (size_t k = 0; k < settings_n_keys; k++) {
            if (strcmp(settings_keys[k].name, list->at[i].key) == 0) {
                enum status status =
                    settings_apply(s, &settings_keys[k], list->at[i].value, list->at[i].origin);
                if (status != STATUS_OK) {
                    return status;
                }
            }
        }
    }
    return STATUS_OK;
}

/* -s, for the pipeline of --pipeline or for any. */
static enum status check_set(const struct settings *s)
{
    const struct stage_ops *stage = s->pipeline != NULL ? stage_find(s->pipeline) : NULL;
    for (size_t i = 0; i < s->set.n; i++) {
        const struct setting *set = &s->set.at[i];
        enum status status = settings_check_parameter(stage, set->key, set->value);
        if (status != STATUS_OK) {
            return settings_blame(status, set->origin);
        }
    }
    return STATUS_OK;
}

static enum status set_defaults(struct settings *s)
{
    s->output = strdup("leat-out");
    s->backend = strdup("auto");
    s->level = 6;
    return s->output != NULL && s->backend != NULL
               ? STATUS_OK
               : status_fail(STATUS_NO_MEMORY, "no memory for settings");
}

enum status settings_parse(int argc, char **argv, struct settings *out, bool *done)
{
    memset(out, 0, sizeof(*out));
    *done = false;
    struct given g = {.command = &commands[0], .settings = out};
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (argc > 0 && strcmp(commands[i].name, argv[0]) == 0) {
            g.command = &commands[i];
        }
    }
    enum status status = set_defaults(out);
    if (status == STATUS_OK) {
        status = parse_options(&g, argc, argv, done);
    }
    if (status == STATUS_OK && !*done && out->config != NULL) {
        status = settings_read_config(out);
    }
    if (status == STATUS_OK && !*done) {
        status = lay_over(out, &g.list);
    }
    if (status == STATUS_OK && !*done) {
        status = check_set(out);
    }
    if (status == STATUS_OK && !*done && g.command->takes_inputs && out->n_inputs == 0) {
        status = status_fail(STATUS_BAD_ARGUMENT, "no input given: leat %s %s (see leat %s --help)",
                             g.command->name, g.command->args_doc, g.command->name);
    }
    settings_free_list(&g.list);
    if (status != STATUS_OK) {
        settings_free(out);
    }
    return status;
}
