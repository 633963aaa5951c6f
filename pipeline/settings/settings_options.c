/*
 * settings_options - the command lines of run, check, doctor and of the service's commands. What
 * they say is kept aside until the configuration file has been read, and then laid over it.
 */
#include "formats/pack/pack.h"
#include "pipeline/names/text.h"
#include "pipeline/settings/options.h"
#include "pipeline/settings/settings_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct command {
    const char *name;
    unsigned where; /* SETTINGS_OF_...: which keys are its options */
    const char *args_doc, *doc;
    bool takes_inputs, takes_parameters, needs_spool;
};

static const struct command commands[] = {
    {"run", SETTINGS_OF_RUN, "INPUT...",
     "Processes files, folders and archives, and leaves a folder of results for each input set."
     "\vINPUT is a table (CSV, TSV, .npy, each also gzipped, or .npz), a folder, or an archive. "
     "Exit status: 0 every job done, 1 some job failed, 2 nothing could be done.",
     true, true, false},
    {"check", SETTINGS_OF_RUN, "INPUT...",
     "Reads and validates inputs, and says what run would do with them, without doing it."
     "\vExit status: 0 every input is fit, 1 some input is not, 2 nothing could be checked.",
     true, true, false},
    {"doctor", SETTINGS_OF_RUN, "",
     "Says what works here and what does not: backends, devices, driver, limits, folders."
     "\vExit status: 0 the backend asked for works, 2 it does not.",
     false, true, false},
    {"watch", SETTINGS_OF_WATCH, "",
     "Processes what is dropped into a folder, until told to stop."
     "\vDIR/in is watched, with its sub-folders. SIGTERM ends it, SIGHUP has it read its "
     "configuration again. Exit status: 0 stopped as asked, 2 could not start.",
     false, true, true},
    {"status", SETTINGS_OF_STATUS, "",
     "Says what a running service is doing, what waits and for what, and how its last jobs ended."
     "\vExit status: 0 running and ready, 1 running and not ready (or paused), 2 no service "
     "answers.",
     false, false, false},
    {"retry", SETTINGS_OF_RETRY, "ID...",
     "Puts failed jobs back into the watched folder, as a new drop."
     "\vIDs are those of leat status --failed. Exit status: 0 all of them, 1 some not, 2 none.",
     true, false, false},
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

/* The option of a key: "keep-inputs". Returns out. */
enum { LONGEST_OPTION = 24 };
static const char *name_option(char out[LONGEST_OPTION], const struct settings_key *key)
{
    snprintf(out, LONGEST_OPTION, "%s", key->name);
    for (char *c = out; (c = strchr(c, '_')) != NULL;) {
        *c = '-';
    }
    return out;
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
            char name[LONGEST_OPTION], origin[LONGEST_OPTION + 2];
            snprintf(origin, sizeof(origin), "--%s", name_option(name, &settings_keys[i]));
            return options_error(
                settings_put(&g->list, settings_keys[i].name, arg != NULL ? arg : "yes", origin));
        }
    }
    return ARGP_ERR_UNKNOWN;
}

/* The keys that the command knows, as options: their names are in `names`. */
static void list_keys(const struct command *command, struct argp_option *options,
                      char (*names)[LONGEST_OPTION])
{
    size_t n = 0;
    for (size_t i = 0; i < settings_n_keys; i++) {
        const struct settings_key *key = &settings_keys[i];
        if ((key->where & command->where) == 0) {
            continue;
        }
        options[n] = (struct argp_option){.name = name_option(names[n], key),
                                          .key = key->letter,
                                          .arg = key->arg,
                                          .doc = key->help};
        n++;
    }
}

/* argp's own table, from ours and the two options that are no keys of the file. */
static enum status parse_options(struct given *g, int argc, char **argv, bool *done)
{
    enum status status = STATUS_OK;
    struct argp_option *options = calloc(settings_n_keys + 3, sizeof(*options));
    char(*names)[LONGEST_OPTION] = calloc(settings_n_keys, sizeof(*names));
    if (options == NULL || names == NULL) {
        status = status_fail(STATUS_NO_MEMORY, "no memory for the options");
        goto end;
    }
    size_t n = 0;
    options[n++] = (struct argp_option){
        .name = "config", .key = 'c', .arg = "FILE", .doc = "Read settings from FILE"};
    if (g->command->takes_parameters) {
        options[n++] = (struct argp_option){.name = "set",
                                            .key = 's',
                                            .arg = "KEY=VALUE",
                                            .doc = "Set a parameter of the pipeline (repeatable)"};
    }
    list_keys(g->command, options + n, names);
    struct argp argp = {.options = options,
                        .parser = parse,
                        .args_doc = g->command->args_doc,
                        .doc = g->command->doc};
    char name[32];
    snprintf(name, sizeof(name), "leat %s", g->command->name);
    status = options_parse(name, &argp, argc, argv, g, done);
end:
    free(names);
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

/* What does not depend on the rest. */
static enum status set_defaults(struct settings *s)
{
    s->backend = strdup("auto");
    s->level = PACK_LEVEL;
    s->keep_inputs = true;
    s->settle_s = 2;
    s->rescan_s = s->drain_s = 60;
    s->max_attempts = 3;
    s->reserve_bytes = UINT64_C(256) << 20;
    return s->backend != NULL ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory for settings");
}

/* Where the service answers, unless told: in the folder that systemd made for it, in the system's
 * for root, in the user's, or beside the jobs. */
static char *default_socket(const struct settings *s)
{
    const char *made = getenv("RUNTIME_DIRECTORY"), *user = getenv("XDG_RUNTIME_DIR");
    char *path = NULL;
    int n;
    if (made != NULL && *made != '\0') {
        n = asprintf(&path, "%.*s/status.sock", (int)strcspn(made, ":"), made);
    } else if (geteuid() == 0) {
        n = asprintf(&path, "/run/leat/status.sock");
    } else if (user != NULL && *user != '\0') {
        n = asprintf(&path, "%s/leat/status.sock", user);
    } else {
        n = asprintf(&path, "%s/.run/status.sock", s->spool);
    }
    return n >= 0 ? path : NULL;
}

/* A service's folders are spoken of far from where it was started. */
static enum status make_absolute(char **path)
{
    char *absolute;
    if (*path == NULL || **path == '/') {
        return STATUS_OK;
    }
    char *here = get_current_dir_name();
    if (here == NULL) {
        return status_fail_errno(errno, "cannot resolve '%s': no working directory", *path);
    }
    const bool made = asprintf(&absolute, "%s/%s", here, *path) >= 0;
    free(here);
    if (!made) {
        return status_fail(STATUS_NO_MEMORY, "no memory for settings");
    }
    free(*path);
    *path = absolute;
    return STATUS_OK;
}

/* What was not given and depends on what was. */
static enum status fill_in(struct settings *s, const struct command *command)
{
    bool watch = (command->where & SETTINGS_OF_WATCH) != 0;
    enum status code = watch ? make_absolute(&s->spool) : STATUS_OK;
    if (watch && code == STATUS_OK) {
        code = make_absolute(&s->output);
    }
    if (code != STATUS_OK) {
        return code;
    }
    if (s->output == NULL && watch) {
        if (asprintf(&s->output, "%s/out", s->spool) < 0) {
            s->output = NULL;
        }
    } else if (s->output == NULL) {
        s->output = strdup("leat-out");
    }
    if (s->status_socket == NULL && watch) {
        s->status_socket = default_socket(s);
    }
    return s->output != NULL && (s->status_socket != NULL || !watch)
               ? STATUS_OK
               : status_fail(STATUS_NO_MEMORY, "no memory for settings");
}

/* What a command cannot do without. */
static enum status check_given(const struct settings *s, const struct command *command)
{
    const char *name = command->name;
    if (command->needs_spool && s->spool == NULL) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "no watched folder given: leat %s --spool DIR, or spool = DIR in the "
                           "configuration (see leat %s --help)",
                           name, name);
    }
    if ((command->where & SETTINGS_OF_RETRY) != 0) {
        return s->n_inputs > 0 || s->all
                   ? STATUS_OK
                   : status_fail(STATUS_BAD_ARGUMENT,
                                 "no job named: leat retry ID..., or --all (see leat status "
                                 "--failed)");
    }
    if (command->takes_inputs && s->n_inputs == 0) {
        return status_fail(STATUS_BAD_ARGUMENT, "no input given: leat %s %s (see leat %s --help)",
                           name, command->args_doc, name);
    }
    return STATUS_OK;
}

static enum status read_all(struct given *g, int argc, char **argv, bool *done)
{
    struct settings *s = g->settings;
    enum status status = set_defaults(s);
    if (status == STATUS_OK) {
        status = parse_options(g, argc, argv, done);
    }
    if (status != STATUS_OK || *done) {
        return status;
    }
    if (s->config != NULL) {
        status = settings_read_config(s);
    }
    if (status == STATUS_OK) {
        status = lay_over(s, &g->list);
    }
    if (status == STATUS_OK) {
        status = check_set(s);
    }
    if (status == STATUS_OK) {
        status = check_given(s, g->command);
    }
    return status == STATUS_OK ? fill_in(s, g->command) : status;
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
    enum status status = read_all(&g, argc, argv, done);
    settings_free_list(&g.list);
    if (status != STATUS_OK) {
        settings_free(out);
    }
    return status;
}
