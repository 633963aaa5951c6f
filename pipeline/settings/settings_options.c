/*
 * settings_options - the command lines of run, check, show, doctor and of the service's commands.
 * What they say is applied once the configuration file has been read, since it is stronger.
 */
#include "formats/pack/pack.h"
#include "pipeline/settings/options.h"
#include "pipeline/settings/settings_parts.h"
#include "watch/files/xalloc.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct command {
    const char *name;
    unsigned where; /* SETTINGS_OF_...: which keys are its options */
    const char *operands, *about, *examples, *notes;
};

#define JOBS_NOTES                                                                                 \
    "ID names a claimed job (leat status --json lists them under queued), FILE one of its "        \
    "inputs, "                                                                                     \
    "in/X.csv. If no service runs, the next one does it when it starts. Exit status: 0 all of "    \
    "them, 1 "                                                                                     \
    "some "                                                                                        \
    "not, 2 none."

static const struct command commands[] = {
    {"run", SETTINGS_OF_RUN, "INPUT...",
     "Processes files, folders and archives, and leaves a folder of results for each input set.",
     "leat run -o out wells.clusters.csv\n"
     "leat run -o out --dem slope.dem.asc --source slope.source.asc\n"
     "leat run -o out -s k=2-8 -s scale=unit beans.points.csv\n"
     "leat run -o all --memory 1G --resume *.clusters.*\n"
     "cat wells.clusters.csv | leat run -o out - --name w.clusters.csv\n",
     "INPUT is a table (CSV, TSV, .xlsx, .ods, .npy, .npz, HDF5), a grid (.asc, .tif, GDAL's), a "
     "folder, or an archive; text and .npy can be compressed; '-' is standard input. "
     "Exit status: 0 every job done, 1 some job failed, 2 nothing could be done."},
    {"check", SETTINGS_OF_CHECK, "INPUT...",
     "Reads and validates inputs, and reports what run would do with them.",
     "leat check walks.clusters.npy\n"
     "leat check -s p_r=0.3:0.7:0.1 slope.dem.asc slope.source.asc\n",
     "INPUT is as for leat run. With -q only errors are printed. Exit status: 0 all inputs are "
     "fit, "
     "1 some input is not, 2 nothing could be checked."},
    {"show", SETTINGS_OF_SHOW, "RESULT|INPUT...",
     "Prints the figures, warnings, parameters and files of a result; checks an input as leat "
     "check does.",
     "leat show out/wells\n"
     "leat show out\n"
     "leat show --json out/wells\n",
     "RESULT is the folder of a result, its result.json, its .zip as --bundle leaves it, or a "
     "folder "
     "with results in it, which are listed. Exit status: 0 all of them, 1 some input "
     "is not fit, 2 nothing could be shown."},
    {"doctor", SETTINGS_OF_DOCTOR, "",
     "Reports what works on this machine: backends, devices, driver, limits, folders.",
     "leat doctor\n"
     "leat doctor -b cuda --json\n",
     "Exit status: 0 the requested backend works, 2 it does not."},
    {"watch", SETTINGS_OF_WATCH, "",
     "Processes files that are dropped into a folder, until it is stopped.",
     "leat watch --spool ~/leat\n"
     "leat watch --spool ~/leat --settle 10 --keep-done 30d\n"
     "leat watch -c /etc/leat/leat.conf\n",
     "It watches DIR/in with its sub-folders. SIGTERM ends it, SIGHUP reloads the configuration. "
     "Exit status: 0 stopped as asked, 2 could not start."},
    {"status", SETTINGS_OF_STATUS, "",
     "Reports what a running service is doing, which jobs wait and why, and how the last ones "
     "ended.",
     "leat status --spool ~/leat\n"
     "leat status --spool ~/leat --failed\n",
     "Exit status: 0 running and ready, 1 running and not ready (or paused), 2 no service runs."},
    {"retry", SETTINGS_OF_RETRY, "ID...",
     "Retries failed jobs of a service. If none runs, the next service does it when it starts.",
     "leat retry --spool ~/leat 20261121-030441-123456\n"
     "leat retry --spool ~/leat --all\n",
     "IDs are those of leat status --failed. Exit status: 0 all of them, 1 some not, 2 none."},
    {"hold", SETTINGS_OF_HANDS, "ID|FILE...",
     "Keeps queued jobs of a service from starting, until leat release.",
     "leat hold --spool ~/leat in/wells.clusters.csv\n", JOBS_NOTES},
    {"release", SETTINGS_OF_HANDS, "ID|FILE...", "Releases held jobs of a service.",
     "leat release --spool ~/leat in/wells.clusters.csv\n", JOBS_NOTES},
    {"delete", SETTINGS_OF_HANDS, "ID|FILE...",
     "Cancels queued jobs of a service; their inputs go to failed/.",
     "leat delete --spool ~/leat in/wells.clusters.csv\n", JOBS_NOTES},
    {"flush", SETTINGS_OF_HANDS, "", "Retries deferred jobs of a service now.",
     "leat flush --spool ~/leat\n", "Exit status: 0 it does, 2 it does not."},
};

enum {
    LONGEST_OPTION = 24,
    SETTING = SETTINGS_OF_RUN | SETTINGS_OF_CHECK | SETTINGS_OF_SHOW | SETTINGS_OF_WATCH /* by -s */
};

/* What the command line says; all by the index in settings_keys. */
struct given {
    const struct command *command;
    struct settings *settings;
    struct option_entry options[OPTIONS_MAX]; /* of this command, with headings */
    size_t n_options, keys[OPTIONS_MAX];      /* keys: which of settings_keys each is */
    char names[OPTIONS_MAX][LONGEST_OPTION];  /* "keep-inputs" */
    const char *values[OPTIONS_MAX];          /* NULL: not given */
};

static enum status put_input(struct given *g, const char *text)
{
    struct settings *s = g->settings;
    if (*g->command->operands == '\0' || *text == '\0') {
        return (g->command->where & (SETTINGS_OF_WATCH | SETTINGS_OF_STATUS | SETTINGS_OF_HANDS)) !=
                       0
                   ? status_fail(STATUS_BAD_ARGUMENT,
                                 "leat %s: unexpected argument '%s'; if it is the watched folder, "
                                 "write --spool '%s'",
                                 g->command->name, text, text)
                   : status_fail(STATUS_BAD_ARGUMENT,
                                 "leat %s: unexpected argument '%s'; see leat %s --help",
                                 g->command->name, text, g->command->name);
    }
    char key[64] = "";
    snprintf(key, sizeof(key), "%.*s", (int)strcspn(text, "="), text);
    if ((g->command->where & SETTING) != 0 && strchr(text, '=') != NULL &&
        settings_is_parameter(key) && access(text, F_OK) != 0) {
        return status_fail(STATUS_BAD_ARGUMENT, "leat %s: '%s' is a parameter; write -s '%s'",
                           g->command->name, text, text);
    }
    settings_append(&s->inputs, &s->n_inputs, text);
    return STATUS_OK;
}

static enum status apply_option(struct given *g, size_t i, const char *value)
{
    char origin[LONGEST_OPTION + 2];
    snprintf(origin, sizeof(origin), "--%s", g->names[i]);
    return settings_apply(g->settings, &settings_keys[i], value, origin);
}

/* Keys of the file wait until it has been read; others are applied at once. */
static enum status take(void *user, const struct option_entry *option, const char *value)
{
    struct given *g = user;
    if (option == NULL) {
        return put_input(g, value);
    }
    const size_t i = g->keys[option - g->options];
    value = value != NULL ? value : "yes";
    if ((settings_keys[i].where & SETTINGS_OF_FILE) == 0) {
        return apply_option(g, i, value);
    }
    g->values[i] = value;
    return STATUS_OK;
}

static void offer_parameters(const struct stage_ops *stage, const struct options_word *word)
{
    for (size_t i = 0; i < stage->n_specs; i++) {
        const struct param_spec *spec = &stage->specs[i];
        char begin[256];
        const int n = snprintf(begin, sizeof(begin), "%s=", spec->key);
        if (strncmp(word->text, begin, (size_t)n) != 0) {
            options_offer(word, begin);
        } else if (spec->choices != NULL) {
            snprintf(begin, sizeof(begin), "%s%s=", word->begin, spec->key);
            const struct options_word value = {word->text + n, begin, word->n_known};
            options_offer_choices(&value, spec->choices);
        }
    }
}

/* Names of pipelines; parameters of all of them, and their values. */
static void complete(void *user, const struct option_entry *option, const struct options_word *word)
{
    const struct given *g = user;
    const enum settings_kind kind = settings_keys[g->keys[option - g->options]].kind;
    for (const struct stage_ops *const *s = stage_registry; *s != NULL; s++) {
        if (kind == SETTINGS_PIPELINE) {
            options_offer(word, (*s)->name);
        } else if (kind == SETTINGS_PARAMETER) {
            offer_parameters(*s, word);
        }
    }
    for (enum table_option k = 0; k < TABLE_N_OPTIONS && kind == SETTINGS_PARAMETER; k++) {
        char begin[64];
        snprintf(begin, sizeof(begin), "%s=", table_option_key(k));
        options_offer(word, begin);
    }
}

/* The options of the command, under headings where there are many. */
static void list_options(struct given *g)
{
    enum { MANY = 12 };
    size_t n_own = 0;
    const char *heading = NULL, *last = NULL;
    for (size_t i = 0; i < settings_n_keys; i++) {
        n_own += (settings_keys[i].where & g->command->where) != 0;
    }
    for (size_t i = 0; i < settings_n_keys; i++) {
        const struct settings_key *key = &settings_keys[i];
        heading = settings_heading(key->name) != NULL ? settings_heading(key->name) : heading;
        if ((key->where & g->command->where) == 0) {
            continue;
        }
        assert(g->n_options + 2 <= OPTIONS_MAX);
        if (n_own > MANY && heading != last) {
            g->options[g->n_options++] = (struct option_entry){NULL, 0, NULL, heading, NULL};
            last = heading;
        }
        snprintf(g->names[i], LONGEST_OPTION, "%s", key->name);
        for (char *at = g->names[i]; (at = strchr(at, '_')) != NULL;) {
            *at = '-';
        }
        g->keys[g->n_options] = i;
        g->options[g->n_options++] =
            (struct option_entry){g->names[i], key->letter, key->arg, key->help, NULL};
    }
}

/* The first command that has the option; NULL: none. */
static const char *command_with(const char *name)
{
    for (size_t i = 0; i < settings_n_keys; i++) {
        const char *a = settings_keys[i].name, *b = name;
        for (; *a != '\0' && *b == (*a == '_' ? '-' : *a); a++, b++) {
        }
        for (size_t c = 0; *a == '\0' && *b == '\0' && c < sizeof commands / sizeof *commands;
             c++) {
            if ((commands[c].where & settings_keys[i].where) != 0) {
                return commands[c].name;
            }
        }
    }
    return NULL;
}

static enum status parse_options(struct given *g, int argc, char **argv, bool *done)
{
    const struct command *c = g->command;
    list_options(g);
    const struct options options = {
        .command = c->name,
        .operands = c->operands,
        .about = c->about,
        .examples = c->examples,
        .notes = c->notes,
        .manual = (c->where & (SETTINGS_OF_STATUS | SETTINGS_OF_RETRY | SETTINGS_OF_HANDS)) != 0
                      ? "leat-status"
                      : NULL,
        .entries = g->options,
        .n_entries = g->n_options,
        .print_more = (c->where & (SETTINGS_OF_RUN | SETTINGS_OF_CHECK | SETTINGS_OF_SHOW)) != 0
                          ? settings_print_topics
                          : NULL,
        .is_parameter = (c->where & SETTING) != 0 ? settings_is_parameter : NULL,
        .command_with = command_with,
        .complete = complete,
        .take = take};
    return options_parse(&options, argc, argv, g, done);
}

static enum status apply_overrides(struct given *g)
{
    for (size_t i = 0; i < settings_n_keys; i++) {
        if (g->values[i] != NULL) {
            STATUS_TRY(apply_option(g, i, g->values[i]));
        }
    }
    return STATUS_OK;
}

/* -s, for the pipeline of --pipeline or for any. */
static enum status check_set(const struct settings *s)
{
    const struct stage_ops *stage = s->pipeline != NULL ? stage_find(s->pipeline) : NULL;
    return settings_check_parameters(stage, &s->set);
}

/* What does not depend on the rest. */
static void set_defaults(struct settings *s)
{
    s->backend = xstrdup("auto");
    s->level = PACK_LEVEL;
    s->unpack = (struct source_limits){.max_bytes = UINT64_C(1) << 40, .max_ratio = 250};
    s->max_entries = 1000000;
    s->keep_inputs = true;
    s->mpi_timeout_s = 30;
    s->settle_s = 2;
    s->rescan_s = s->drain_s = s->hook_timeout_s = 60;
    s->max_attempts = 3;
    s->reserve_bytes = UINT64_C(256) << 20;
}

/* A service's folders are spoken of far from where it was started. */
static enum status make_absolute(char **path)
{
    if (*path == NULL || **path == '/') {
        return STATUS_OK;
    }
    char *here = get_current_dir_name();
    if (here == NULL) {
        return status_fail_errno(errno, "cannot resolve '%s': no working directory", *path);
    }
    char *const absolute = xasprintf("%s/%s", here, *path);
    free(here);
    free(*path);
    *path = absolute;
    return STATUS_OK;
}

/* The commands that ask a service, and the folder that the installed one watches. */
enum { ASKING = SETTINGS_OF_STATUS | SETTINGS_OF_RETRY | SETTINGS_OF_HANDS };
static const char installed_spool[] = "/var/lib/leat";

/* What was not given and depends on what was. */
static enum status fill_in(struct settings *s, const struct command *command)
{
    const bool watch = (command->where & SETTINGS_OF_WATCH) != 0;
    if (watch) {
        STATUS_TRY(make_absolute(&s->spool));
        STATUS_TRY(make_absolute(&s->output));
    }
    if (s->output == NULL) {
        s->output = xasprintf("%s%s", watch ? s->spool : "leat-out", watch ? "/out" : "");
    }
    if (s->spool == NULL && (command->where & ASKING) != 0) {
        s->spool = xstrdup(installed_spool);
    }
    return STATUS_OK;
}

bool settings_is_stdin(const char *input)
{
    return strcmp(input, "-") == 0 || strcmp(input, "/dev/stdin") == 0;
}

/* What a command cannot do without. */
static enum status check_given(const struct settings *s, const struct command *command)
{
    const char *name = command->name;
    if ((command->where & SETTINGS_OF_WATCH) != 0 && s->spool == NULL) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "leat %s: no watched folder given; add --spool DIR, or spool = DIR to "
                           "the configuration (see leat %s --help)",
                           name, name);
    }
    if (s->mpi && (s->shard.count > 0 || s->shard.is_said_by_launcher)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "leat %s: --mpi shares the inputs itself; leave out --shard", name);
    }
    size_t n_stdin = 0;
    struct stat at;
    for (size_t i = 0; i < s->n_inputs; i++) {
        n_stdin += settings_is_stdin(s->inputs[i]);
    }
    if (n_stdin > 1 || (n_stdin == 0 && s->name != NULL)) {
        return status_fail(STATUS_BAD_ARGUMENT, "leat %s: %s", name,
                           n_stdin > 1 ? "standard input is named twice; once is enough"
                                       : "--name is for standard input; add the INPUT '-'");
    }
    if (n_stdin > 0 && (s->mpi || s->resume)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "leat %s: '-' cannot be combined with %s; give the input as a file",
                           name, s->mpi ? "--mpi" : "--resume");
    }
    if ((s->dem != NULL) != (s->n_sources > 0)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "leat %s: --dem FILE and --source FILE belong together; give --%s, too",
                           name, s->dem != NULL ? "source" : "dem");
    }
    if (*command->operands == '\0' || s->n_inputs > 0 || s->n_sources > 0 || s->all) {
        return STATUS_OK;
    }
    return (command->where & SETTINGS_OF_RETRY) != 0
               ? status_fail(STATUS_BAD_ARGUMENT,
                             "leat retry: no job named; write leat retry ID..., or --all (see leat "
                             "status --failed)")
           : s->output != NULL && stat(s->output, &at) == 0 && S_ISREG(at.st_mode)
               ? status_fail(STATUS_BAD_ARGUMENT,
                             "leat %s: no input given ('%s' is taken as the folder for results); "
                             "write leat %s -o DIR %s",
                             name, s->output, name, command->operands)
               : status_fail(STATUS_BAD_ARGUMENT,
                             "leat %s: no input given; write leat %s %s (see leat %s --help)", name,
                             name, command->operands, name);
}

static enum status read_all(struct given *g, int argc, char **argv, bool *done)
{
    struct settings *s = g->settings;
    set_defaults(s);
    STATUS_TRY(parse_options(g, argc, argv, done));
    if (*done) {
        return STATUS_OK;
    }
    if (s->config != NULL) {
        STATUS_TRY(settings_read_config(s));
    }
    STATUS_TRY(apply_overrides(g));
    STATUS_TRY(check_set(s));
    STATUS_TRY(check_given(s, g->command));
    if (s->shard.is_said_by_launcher && strcmp(g->command->name, "run") == 0) {
        STATUS_TRY(launcher_find_shard(&s->shard)); /* others look at all inputs */
    }
    return fill_in(s, g->command);
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
    const enum status status = read_all(&g, argc, argv, done);
    if (status != STATUS_OK) {
        settings_free(out);
    }
    return status;
}
