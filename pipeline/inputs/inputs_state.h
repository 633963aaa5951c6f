/*
 * inputs_state - what the files of inputs share: inputs.c (arguments and folders), inputs_archive.c
 * (what is in an archive), inputs_take.c (a file, or what is read as it comes, becomes a job's, or
 * a failure).
 */
#ifndef LEAT_PIPELINE_INPUTS_INPUTS_STATE_H
#define LEAT_PIPELINE_INPUTS_INPUTS_STATE_H

#include "formats/base/bytes.h"
#include "formats/source/archive_input.h"
#include "pipeline/inputs/input_walk.h"
#include "pipeline/inputs/inputs.h"
#include "pipeline/inputs/parts.h"

#include <stdatomic.h>
#include <sys/stat.h>

struct inputs {
    const struct settings *settings;
    struct inputs_share share;
    int scratch_fd;
    struct stat output; /* the folder of results */
    atomic_bool stop;
    size_t next, next_source; /* argument, and --source, to look at next */
    size_t n_foreign;         /* of the present argument: what no pipeline takes */
    char *unread;     /* what is said of the first of those that a command converts; NULL: none */
    size_t n_results; /* of it: folders that are results of leat */
    const char *argument;          /* the present one */
    int first_fd;                  /* of inputs_open_archive, until it is opened; else -1 */
    char *found_at;                /* where that archive is opened once more */
    size_t n_taken;                /* of the present argument: inputs and failures */
    size_t n_all;                  /* of all arguments */
    FTS *walk;                     /* the folder being walked; NULL: none */
    struct archive_input *archive; /* being read; NULL: none */
    char *archive_path;
    bool archive_comes_once;        /* from a pipe: nothing in it is found again */
    bool knows_names;               /* of masks and .prj files that it holds: */
    struct bytes names;             /* numbers for them, uint64_t, sorted */
    _Atomic uint64_t archive_bytes; /* of it that have been read */
    atomic_bool is_lent;            /* a job reads the archive's present member */
    struct parts *parts;            /* files whose job is not complete */
    char *leaving; /* the folder or archive that has ended: what waits in it is given up */
    char *sidecar; /* the first that was passed over */
    size_t n_sidecars;
};

static inline bool inputs_is_stopped(const struct inputs *in)
{
    return atomic_load(&in->stop);
}

/* --- inputs_take.c */

/* Whether the job that has a result of that name is this process's. */
bool inputs_take_share(const struct inputs *in, const char *name);
/* What is not this process's has been taken nevertheless: by another. */
void inputs_take_leave(struct inputs *in);
/* Whether this process says what all of them have met at the path. */
bool inputs_take_speaks(const struct inputs *in, const char *path);
/* FOLDER/STEM for an input at the path: FOLDER is its own, beneath what was given. That of an
 * archive in a folder is called after it. Owned by the caller. */
enum status inputs_take_result(const struct inputs *in, const char *path, const char *stem,
                               char **out) STATUS_MUST_CHECK;
/* Resolves the file's settings. Where it is not *own, they are empty, and a failure that all
 * processes meet is for the one to report whose it is. */
enum status inputs_take_settings(struct inputs *in, const char *path, struct job_settings *out,
                                 bool *own) STATUS_MUST_CHECK;
/* *got when the file makes a job: else it waits for other parts. `from` is what it is read from;
 * that and `settings` are taken over. */
enum status inputs_take_part(struct inputs *in, const char *path, const struct job_part *from,
                             struct job_settings *settings, struct job_input *out,
                             bool *got) STATUS_MUST_CHECK;
/* The code as it is; a failure gets the path that it is about. */
enum status inputs_take_about(struct job_input *out, const char *path,
                              enum status code) STATUS_MUST_CHECK;
/* The same where not a job has failed, but the walk: something that all processes meet. */
enum status inputs_take_about_walk(struct inputs *in, struct job_input *out, const char *path,
                                   enum status code) STATUS_MUST_CHECK;
/* A file that is named, or in a folder. */
enum status inputs_take_file(struct inputs *in, const char *path, struct job_input *out,
                             bool *got) STATUS_MUST_CHECK;
/* Whether what lies beside the grid is looked for: in a folder, and in an archive that is read
 * twice. */
bool inputs_take_looks_beside(const struct inputs *in, const char *path);
/* Whether the file is the mask of a grid whose mask is looked for, so that its job fails, or that
 * would be taken without it. */
bool inputs_take_is_masked(const struct inputs *in, const char *mask, bool is_looked_for);
/* A file that is not an input; sidecar files are reported at the end, in one line, but not the mask
 * of a grid, whose job fails because of it. */
void inputs_take_pass_over(struct inputs *in, const char *path);

/* Opens a file that may be a pipe. */
enum status inputs_take_open(const char *path, struct stat *st, int *fd) STATUS_MUST_CHECK;
/* Copies what is left of the stream, which is closed then, into a scratch file. */
enum status inputs_take_copy(struct inputs *in, const char *name,
                             const struct source_stream *stream, int *fd) STATUS_MUST_CHECK;
/* Files of that name are read from front to back. */
bool inputs_take_is_forward(const char *path);
/* A file from a stream, which is taken over. */
enum status inputs_take_stream(struct inputs *in, const char *path,
                               const struct source_stream *stream, struct job_input *out,
                               bool *got) STATUS_MUST_CHECK;

/* --- inputs_archive.c */

/* The file or, where there is none (fd -1), the stream is taken over. */
enum status inputs_archive_open(struct inputs *in, const char *path, int fd,
                                const struct source_stream *stream) STATUS_MUST_CHECK;
/* An archive in a folder, or one that is named. */
enum status inputs_archive_open_file(struct inputs *in, const char *path) STATUS_MUST_CHECK;
/* Goes on to the next member that a pipeline takes, or to the archive's end; *got when that makes a
 * job. There is no going on after a failure to find one. */
enum status inputs_archive_next(struct inputs *in, struct job_input *out,
                                bool *got) STATUS_MUST_CHECK;
/* What waits in it is given up next. */
void inputs_archive_close(struct inputs *in);

#endif
