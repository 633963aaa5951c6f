/*
 * settings_parts - what only the files settings*.c share.
 */
#ifndef LEAT_PIPELINE_SETTINGS_SETTINGS_PARTS_H
#define LEAT_PIPELINE_SETTINGS_SETTINGS_PARTS_H

#include "pipeline/settings/settings.h"

enum settings_kind {
    SETTINGS_TEXT,
    SETTINGS_PIPELINE, /* text that names a stage */
    SETTINGS_COMMAND,  /* text that is a program and its arguments */
    SETTINGS_CHOICE,
    SETTINGS_COUNT,
    SETTINGS_SIZE,
    SETTINGS_KEEP, /* an age, a size, or both with a comma between them */
    SETTINGS_SECONDS,
    SETTINGS_SWITCH,
    SETTINGS_DEVICES,   /* all, N, or a list with a comma */
    SETTINGS_SPREAD,    /* auto, off, or N */
    SETTINGS_SHARD,     /* I/N, counted from 1, or auto */
    SETTINGS_PARAMETER, /* KEY=VALUE, into a list */
    SETTINGS_PATHS      /* one more, into a list and its length behind it */
};

/* Where a key is known: in the configuration file, and as an option of these commands. */
enum {
    SETTINGS_OF_FILE = 1,
    SETTINGS_OF_RUN = 2,
    SETTINGS_OF_WATCH = 4,
    SETTINGS_OF_STATUS = 8,
    SETTINGS_OF_RETRY = 16,
    SETTINGS_OF_CHECK = 32,
    SETTINGS_OF_DOCTOR = 64,
    SETTINGS_OF_HANDS = 128, /* hold, release, delete, flush */
    SETTINGS_OF_SHOW = 256
};

/* A long option, or a key of the configuration file, or both. `keep_inputs` is the option
 * --keep-inputs. */
struct settings_key {
    const char *name;
    unsigned where; /* SETTINGS_OF_... */
    char letter;    /* the short option; 0: none */
    enum settings_kind kind;
    size_t offset; /* of the field in struct settings */
    uint64_t min, max;
    const char *arg, *help; /* arg: of SETTINGS_CHOICE the words: "auto|cpu|cuda" */
};
extern const struct settings_key settings_keys[];
extern const size_t settings_n_keys;
/* What the help calls the options from this key on; NULL: as those before it. */
const char *settings_heading(const char *key);
/* Says how to have the parameters of --set listed. */
void settings_print_topics(void);

/* Sets the field of a key. The message of STATUS_BAD_ARGUMENT begins with `origin` ("--memory",
 * "leat.conf:3: memory"). */
enum status settings_apply(struct settings *s, const struct settings_key *key, const char *value,
                           const char *origin) STATUS_MUST_CHECK;

/* The status as it is, with "ORIGIN: " before the description of a failure. */
enum status settings_prefix_error(enum status status, const char *origin) STATUS_MUST_CHECK;

/* The status as it is, with the nearest of a PARAM_CHOICE's words behind the description of a
 * failure. */
enum status settings_suggest(enum status status, const struct param_spec *spec,
                             const char *value) STATUS_MUST_CHECK;

/* Sets key to value, over an earlier one of that key; all are copied. */
void settings_put(struct setting_list *list, const char *key, const char *value,
                  const char *origin);
/* Whether any stage, or the reader, knows the key. */
bool settings_is_parameter(const char *key);
/* Whether a stage (NULL: any stage) or the reader knows the key and takes the value. */
enum status settings_check_parameter(const struct stage_ops *stage, const char *key,
                                     const char *value) STATUS_MUST_CHECK;
/* The same for a whole list; messages begin with where a setting comes from. */
enum status settings_check_parameters(const struct stage_ops *stage,
                                      const struct setting_list *list) STATUS_MUST_CHECK;
/* Appends a copy to a list of strings. */
void settings_append(char ***list, size_t *n, const char *text);
/* stage_find, or STATUS_BAD_ARGUMENT with the nearest name and all there are. */
enum status settings_find_stage(const char *name, const struct stage_ops **out) STATUS_MUST_CHECK;

/* Reads s->config: fields, routes, pipelines; checks every key of every section. */
enum status settings_read_config(struct settings *s) STATUS_MUST_CHECK;

#endif
