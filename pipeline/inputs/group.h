/*
 * group - which files make a job together: in a folder, an archive and the watched folder.
 *
 * Files of one folder whose names begin with one stem X are a group. In it are jobs, which need
 * their parts (X.dem.*, X.source.*); what lies beside a part and goes with it when it is there
 * (X.dem.prj or X.prj, X.dem.tif.msk, X.dem.tif.aux.xml, and the marker X.dem.tif.done); and files
 * that are none of these. What comes when, and what is waited for how long, is the caller's.
 *
 * A file is the caller's, with a struct group_file in it. One thread at a time.
 */
#ifndef LEAT_PIPELINE_INPUTS_GROUP_H
#define LEAT_PIPELINE_INPUTS_GROUP_H

#include "pipeline/settings/settings.h"

#include <stdint.h>
#include <sys/queue.h>

struct group;
struct group_job;

struct group_file {
    const char *path; /* the caller's, as long as the file is in a group */
    enum input_kind kind;
    bool is_complete;
    int drop;              /* the caller's: what lies beside goes with parts of its own alone */
    bool is_taken;         /* to a job or away, by the caller: it goes with nothing else */
    struct group *group;   /* NULL: it is in none */
    struct group_job *job; /* whose part it is; NULL: none's */
    size_t part;           /* which */
    TAILQ_ENTRY(group_file) place;
};
TAILQ_HEAD(group_files, group_file);

/* A job in the making. */
struct group_job {
    const struct stage_ops *stage;
    char *stem;
    struct group_file *parts[STAGE_MAX_PARTS]; /* NULL: not there */
    const struct stage_part *of[STAGE_MAX_PARTS];
    size_t n_parts; /* that the job needs */
    bool is_alone;  /* something of which no job can come: nothing goes with it */
    TAILQ_ENTRY(group_job) place;
    bool is_ready; /* the caller's, as is: */
    TAILQ_ENTRY(group_job) ready;
};

struct group {
    char *key; /* FOLDER/X */
    struct group_files files;
    TAILQ_HEAD(, group_job) jobs; /* as they came */
    void *drops; /* what the caller remembers of them: until that is NULL, the group stays */
};

struct groups {
    void *tree; /* of struct group */
};

/* Whether a file of this kind lies beside others. */
bool group_is_beside(enum input_kind kind);
/* FOLDER/X of a path, the same for "a/x", "./a/x" and "a//x"; "FOLDER/" of a folder's that ends in
 * '/'. For free(). */
char *group_key(const char *path);

/* The group of a file at the path, which is made where there is none. */
struct group *group_of(struct groups *groups, const char *path);
/* Puts the file, whose path and kind are set, into its group. */
void group_add(struct groups *groups, struct group_file *f);
/* Takes it out of its job and its group. Returns the group; NULL: it has ended with its last file.
 */
struct group *group_remove(struct groups *groups, struct group_file *f);
/* Ends a group without files whose drops nobody remembers. Returns it where it stays, or NULL. */
struct group *group_end(struct groups *groups, struct group *g);

/* Makes the file a part of the job that its settings say. STATUS_BAD_INPUT: that has another file
 * in its place, or is of another kind. */
enum status group_join(struct group_file *f, const struct job_settings *of) STATUS_MUST_CHECK;
/* Makes it a job by itself, which can only fail. */
void group_set_apart(struct group_file *f, const struct stage_ops *stage, bool is_alone);
/* Takes it out of its job, which ends with its last part. */
void group_leave(struct group_file *f);

/* Whether a part of the job is not there, or not complete: `why` says what its part f waits for. */
enum { GROUP_WHY_BYTES = 1024 };
bool group_lacks(const struct group_file *f, char why[GROUP_WHY_BYTES]);
/* Whether something that lies beside a part of the job is not complete: which. NULL: nothing. */
const struct group_file *group_awaits(const struct group_job *job);

/* The part whose job the file, which lies beside it, is of; NULL: none. */
struct group_file *group_owner(const struct group_file *beside);
/* The best file of that kind that lies beside the part; NULL: none. */
struct group_file *group_beside(const struct group_file *part, enum input_kind kind);
/* Whether the part is a grid, and beside_wants_projection(its name). */
bool group_wants_projection(const struct group_file *part);

/* The files that go with the job after f (NULL: the first), not its parts; NULL: no more. */
struct group_file *group_next_beside(const struct group_job *job, const struct group_file *f);

#endif
