/*
 * service_inbox_state - what the files of the inbox share; no one else includes it.
 */
#ifndef LEAT_PIPELINE_SERVICE_SERVICE_INBOX_STATE_H
#define LEAT_PIPELINE_SERVICE_SERVICE_INBOX_STATE_H

#include "pipeline/service/service_inbox.h"

#include <sys/queue.h>

enum {
    NOT_MOVABLE_MS = 10000,         /* before a file that may not be moved is tried again */
    FILES_MAX = 3 * STAGE_MAX_PARTS /* of a job: parts, each with its .prj and its .done */
};

enum list {
    LIST_LOOK,  /* to be looked at, at look_ms */
    LIST_HELD,  /* waits for something else */
    LIST_READY, /* of a job that is ready */
    LIST_TAKEN, /* being claimed */
    LISTS
};

struct group;

struct file {
    char *path;
    struct stat st;
    enum list list;
    TAILQ_ENTRY(file) place, duplicate_place;
    struct group *group; /* NULL: not a part of a job */
    size_t part;
    bool is_complete, is_beside, is_duplicate, again; /* again: found anew while it was claimed */
    char *reason;                                     /* NULL: by the list */
    struct ready_memory memory;
    uint64_t since_ms, look_ms, never_since_ms;
    unsigned long found; /* the number of the complete look that found it */
};
TAILQ_HEAD(files, file);

/* A job in the making. */
struct group {
    char *key;
    const struct stage_ops *stage;
    struct file *parts[STAGE_MAX_PARTS];
    size_t n_parts; /* that the job needs */
    bool is_ready, is_unfit;
    TAILQ_ENTRY(group) place;
};
TAILQ_HEAD(groups, group);

struct service_inbox {
    const struct settings *settings;
    void *by_path, *by_key; /* trees of struct file, struct group */
    struct files lists[LISTS];
    struct files duplicates; /* whose place in a job is taken */
    struct groups ready;
    size_t n_files;
    unsigned long n_found;
};

/* --- service_inbox.c */

/* The file of that path; NULL: none, or no path. */
struct file *service_inbox_find(const struct service_inbox *inbox, const char *path);
/* Moves it to the end of a list. */
void service_inbox_move(struct service_inbox *inbox, struct file *f, enum list list);
/* It is to be looked at. */
void service_inbox_look_at(struct service_inbox *inbox, struct file *f, uint64_t when_ms);
/* Why it waits. */
void service_inbox_reason(struct file *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Finds its job anew. */
void service_inbox_route(struct service_inbox *inbox, struct file *f, uint64_t now_ms);
void service_inbox_forget(struct service_inbox *inbox, struct file *f, uint64_t now_ms);

/* --- service_inbox_jobs.c */

/* Gives the file its place in the job that its name belongs to, if that is free. */
void service_inbox_join(struct service_inbox *inbox, struct file *f, const struct job_settings *job,
                        uint64_t now_ms);
/* The file becomes a job of its own, which the spool is going to refuse. */
void service_inbox_set_aside(struct service_inbox *inbox, struct file *f, uint64_t now_ms);
/* Takes the file out of its job, if it has one. */
void service_inbox_leave(struct service_inbox *inbox, struct file *f);
/* Something has become of the file: the job that depends on it is judged again. */
void service_inbox_judge(struct service_inbox *inbox, struct file *f);
/* The part that a file lies beside; NULL: it is not there. */
struct file *service_inbox_owner(const struct service_inbox *inbox, const struct file *f);
void service_inbox_free_group(void *group);

#endif
