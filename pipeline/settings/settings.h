/*
 * settings - what the user asked for: configuration file, then command line.
 *
 * INI with the long options' names as keys, then sections [route NAME] (match = glob, pipeline,
 * any parameter) and [pipeline NAME] (default parameters). Command line beats route beats pipeline
 * beats built-in. Unknown keys are errors that name file, line and the nearest known key.
 */
#ifndef LEAT_PIPELINE_SETTINGS_SETTINGS_H
#define LEAT_PIPELINE_SETTINGS_SETTINGS_H

#include "formats/base/status.h"
#include "formats/source/source.h"
#include "formats/table/table.h"
#include "pipeline/names/launcher.h"
#include "stages/stage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One KEY=VALUE, where it came from ("-s", "leat.conf:12"). All strings owned. */
struct setting {
    char *key, *value, *origin;
};

struct setting_list {
    struct setting *at;
    size_t n;
};

/* [route NAME] or [pipeline NAME]. All strings owned. */
struct settings_section {
    char *name;
    char *origin;   /* "leat.conf:12": its first key */
    char *match;    /* NULL: every table (what the file's own `pipeline` key makes, last of all) */
    char *pipeline; /* of a route; NULL: by sub-folder or name */
    struct setting_list set;
};

/* Which of the CUDA devices that there are. */
enum { SETTINGS_MOST_DEVICES = 64 };
struct settings_devices {
    size_t n;                         /* how many; 0: all */
    bool is_list;                     /* these; else the first n */
    int at[SETTINGS_MOST_DEVICES];    /* different from each other */
    bool ends[SETTINGS_MOST_DEVICES]; /* the last of a group; a worker of the service has a group */
};

/* What done/ or failed/ keeps: nothing older, nothing beyond so many bytes; 0: any. */
struct settings_keep {
    uint64_t age_s, bytes;
};

struct settings {
    char *config;      /* file read; NULL: none */
    char *job_log;     /* a line for each job goes there; NULL: none */
    char *name;        /* what standard input is called; NULL: "stdin" */
    char *pipeline;    /* --pipeline of the command line; NULL: by route or name */
    char *output;      /* default "leat-out"; of watch absolute, and SPOOL/out */
    char *backend;     /* "auto", "cpu", "cuda" */
    size_t jobs;       /* files in flight; 0: chosen from the threads */
    size_t threads;    /* compute threads; 0: the CPUs this process may use */
    uint64_t memory;   /* bound on leat's own bulk host memory; 0: half of the machine's */
    double deadline_s; /* of one job; 0: none */
    int level;         /* deflate level 1..9, default PACK_LEVEL */
    /* What may come out of a compressed file or an archive, and how many entries may be in one; 0:
     * no limit. Default 1 TiB, 250 times, a million. */
    struct source_limits unpack;
    uint64_t max_entries;
    bool force, json, quiet, verbose;
    bool bundle; /* a result's files are left in one zip */
    struct settings_devices devices;
    size_t spread;               /* devices that one job may use at a time; 0: all of them */
    bool resume;                 /* skip the inputs whose results are there and match */
    struct launcher_shard shard; /* of the inputs, to be processed; count 0: all of them */
    bool mpi;                    /* the ranks of mpirun or srun share the inputs */
    double mpi_timeout_s; /* default 30: a rank that is silent for longer is lost; 0: never */
    /* Of the service. Files of the configuration may have these keys whatever the command is. */
    char *spool; /* holds in/ done/ failed/ .work/; for watch absolute; of the commands that ask a
                    service never NULL, either */
    bool keep_inputs; /* default true: processed inputs go to done/ */
    struct settings_keep keep_done, keep_failed;
    bool replace;    /* an earlier result of the same name is replaced */
    bool done_file;  /* X.csv is taken only when X.csv.done is there */
    double settle_s; /* default 2: unchanged that long is complete, where leases do not tell */
    double settle_always_s; /* default 0: every file must be unchanged for that long */
    double rescan_s;        /* default 60; 0: never */
    double drain_s;         /* default 60: that long running jobs may take to end after SIGTERM */
    size_t max_attempts;    /* default 3; at least 1 */
    uint64_t reserve_bytes; /* default 256 MiB: kept free on the spool's and the results' disk */
    char *require_mount;    /* a path in the output folder that must be there; NULL: none */
    char *status_group;     /* whose members may read the status; NULL: none */
    char *on_done, *on_failed; /* commands for jobs that have ended; NULL: none */
    double hook_timeout_s;     /* default 60: that long they may take; 0: any time */
    char *http;                /* where the page is asked for: ADDRESS:PORT, unix:PATH; NULL: not */
    char *http_token_file;     /* what is asked of those who want to see it; NULL: nothing */
    bool failed;               /* status --failed */
    bool all;                  /* retry --all */
    struct setting_list set;   /* -s */
    struct settings_section *routes, *pipelines;
    size_t n_routes, n_pipelines;
    char **inputs; /* what is no option: inputs, or the ids of retry */
    size_t n_inputs;
    char *dem;      /* --dem, whatever its name is; with it, and only then, */
    char **sources; /* --source: what lies in it, each a job */
    size_t n_sources;
};

struct text_near;
/* Prints the help on a pipeline, or on "tables": its parameters. false: there is no such topic. */
bool settings_print_help(const char *topic);
/* Offers its topics for a word. */
void settings_offer_topics(struct text_near *near);

/* Parses `argv` (argv[0] is the subcommand: "run", "check", "show", "doctor", "watch", "status",
 * "retry") with that command's options, reads the configuration file, checks every key of every
 * section.
 * --help and --version print to stdout and set *done. STATUS_BAD_ARGUMENT. */
enum status settings_parse(int argc, char **argv, struct settings *out,
                           bool *done) STATUS_MUST_CHECK;
void settings_free(struct settings *s);
/* A number for what is to be done: inputs, parameters, routes, output. Not for how: threads,
 * memory, devices, what is printed. */
uint64_t settings_digest(const struct settings *s);
/* The numbers of the devices that are asked for, of the n_there > 0 that there are.
 * STATUS_NO_BACKEND: there are fewer. */
enum status settings_choose_devices(const struct settings_devices *devices, size_t n_there,
                                    int numbers[SETTINGS_MOST_DEVICES],
                                    size_t *n) STATUS_MUST_CHECK;
/* What standard input is called without --name, and then it is a table. */
#define SETTINGS_STDIN "stdin"
/* Whether the input is standard input: "-", "/dev/stdin". */
bool settings_is_stdin(const char *input);
/* The log says as much as -q and -v ask for. */
void settings_set_log_level(const struct settings *s);

/* What one file is going to be processed with. `path` is the input's path as the user gave it (for
 * an archive: archive path, '/', member). */
struct job_settings {
    const struct stage_ops *stage;
    size_t n_parts;                                  /* that the job has, */
    const struct stage_part *parts[STAGE_MAX_PARTS]; /* which these are, in the stage's order, */
    size_t part;                                     /* and which of them the file is */
    struct param_value *params;                      /* [stage->n_specs], owned; their texts, */
    struct table_options table; /* and strings of these, borrowed from the settings (of a worker:
                                   from the request), which outlive the job */
    char *stem;   /* "X" of X.clusters.csv: the result folder's name; owned; valid as a single path
                     component */
    char *result; /* "FOLDER/X", beneath the output folder: FOLDER is that of the input beneath what
                     was given; owned, and not set by settings_resolve. NULL: X */
};

/* FOLDER/X, or X. */
static inline const char *job_settings_result(const struct job_settings *s)
{
    return s->result != NULL ? s->result : s->stem;
}

/* Chooses the pipeline (--pipeline, first matching route, sub-folder named after a pipeline, name;
 * a table that is itself an input is the first pipeline's where none of these says one) and
 * resolves every parameter. STATUS_BAD_ARGUMENT: no route (the message says the three ways),
 * a name that does not tell which part of its job the file is, unknown or unfit parameter. Reader
 * keys (columns, member, missing_value, skip, header, comment, sep, decimal, thousands,
 * unreadable) are known to every pipeline. */
enum status settings_resolve(const struct settings *s, const char *path,
                             struct job_settings *out) STATUS_MUST_CHECK;
/* The same for the job of --dem and one of --source, after which it is named. */
enum status settings_resolve_source(const struct settings *s, const char *source,
                                    struct job_settings *out) STATUS_MUST_CHECK;
void job_settings_free(struct job_settings *j);
/* Gives the job of j->stage its stage's parameters, with their defaults. */
enum status settings_take_defaults(struct job_settings *j) STATUS_MUST_CHECK;
/* Sets a parameter of the job's stage, or one of the keys that the readers know whatever the stage
 * (columns, member, missing_value, skip, header, comment, sep, decimal, thousands, unreadable).
 * Texts are borrowed. */
enum status settings_take_parameter(struct job_settings *j, const char *key,
                                    const char *value) STATUS_MUST_CHECK;

/* The names that route, for messages: "X.clusters.csv (pearson), ...", without parts that a
 * parameter asks for. Returns out. */
enum { SETTINGS_NAMES_BYTES = 512 };
const char *settings_names(char out[SETTINGS_NAMES_BYTES]);
/* Those of one pipeline: "X.dem.tif + X.source.tif". Returns out. */
const char *settings_names_of(const struct stage_ops *stage, char out[SETTINGS_NAMES_BYTES]);

/* What the path says of a file that lies in a folder, an archive or in/: the first that holds. */
enum input_kind {
    INPUT_MARKER,     /* X.csv.done, with done_file */
    INPUT_PROJECTION, /* beside_is_projection() */
    INPUT_MASK,       /* ends in INPUT_NAME_MASK */
    INPUT_SIDECAR,    /* another one of input_name_is_sidecar() */
    INPUT_COPY,       /* file_name_is_copy() */
    INPUT_ARCHIVE,    /* archive_input_named() */
    INPUT_OF_JOB,     /* a pipeline takes it */
    INPUT_FOREIGN,    /* foreign_named(), and read by no module */
    INPUT_UNKNOWN     /* no pipeline takes it */
};
enum input_kind settings_input_kind(const struct settings *s, const char *path);
/* Whether the name is one of a grid's place: X.dem.tif. */
bool settings_asks_for_grid(const char *path);
/* Why a sidecar, a copy, or what is foreign or unknown is no input of the watched folder, and what
 * to do. Owned by the caller. */
char *settings_refusal(const struct settings *s, const char *path);
/* "is NetCDF, which leat does not read; convert it: ..." (foreign.h) of a file that is foreign and
 * that a command converts; NULL: none does. Owned by the caller. */
char *settings_conversion(const char *path);
/* Whether a file that is foreign is refused at once in the watched folder: a pipeline is asked for,
 * by whatever says so (*.nc in a folder that is named after it, and X.dem.nc, which asks for one as
 * its grid), and no other files belong to it (*.shp), from which it would be parted. */
bool settings_fails_by_name(const struct settings *s, const char *path);

#endif
