/*
 * service_inbox_state - what the files of service_inbox share: service_inbox.c (the files in in/),
 * inbox_judge.c (which jobs they are for, and what each waits for). No one else includes it.
 */
#ifndef LEAT_PIPELINE_SERVICE_SERVICE_INBOX_STATE_H
#define LEAT_PIPELINE_SERVICE_SERVICE_INBOX_STATE_H

#include "pipeline/inputs/group.h"
#include "pipeline/service/service_inbox.h"
#include "watch/files/xalloc.h"

#include <stddef.h>
#include <stdlib.h>

enum inbox_list {
    LIST_LOOK,  /* to be looked at, at look_ms */
    LIST_HELD,  /* waits for something else */
    LIST_READY, /* of a job that is ready */
    LIST_TAKEN, /* being claimed */
    LIST_LATE,  /* lies beside nothing that is here */
    LISTS
};

struct file {
    struct group_file g;
    char *path;
    struct stat st;
    enum inbox_list list;
    TAILQ_ENTRY(file) place;
    bool is_duplicate; /* its place in a job is taken */
    bool again;        /* found again while it was claimed */
    char *reason;      /* NULL: by the list */
    struct ready_memory memory;
    uint64_t since_ms, complete_ms, look_ms, never_since_ms;
    int64_t came_ms;     /* since 1970 */
    unsigned long found; /* the number of the complete look that found it */
    const void *taker;   /* LIST_TAKEN: the job that it came late for; NULL: is one of its own */
};
TAILQ_HEAD(inbox_files, file);

/* A group of which a job with grids was claimed lately. */
struct claimed {
    char *key;
    uint64_t ms, found_ms; /* when it was, and the last of its parts was found */
    bool had_projection;
    uint64_t late_ms; /* when a .prj was found that came late for it; 0: none was */
    TAILQ_ENTRY(claimed) place;
};

struct service_inbox {
    const struct settings *settings;
    void *by_path;
    struct groups groups;
    struct inbox_files lists[LISTS];
    TAILQ_HEAD(, group_job) ready;
    void *by_key; /* of struct claimed */
    TAILQ_HEAD(, claimed) claimed;
    size_t n_files;
    unsigned long n_found;
    uint64_t now_ms; /* of the present call */
};

static inline struct file *inbox_file_of(struct group_file *g)
{
    return g != NULL ? (struct file *)((char *)g - offsetof(struct file, g)) : NULL;
}

static inline uint64_t inbox_settle_ms(const struct service_inbox *inbox)
{
    return (uint64_t)(inbox->settings->settle_s * 1000);
}

#define INBOX_OWNERLESS "the file that it belongs to is not there"

static inline void inbox_move_to(struct service_inbox *inbox, struct file *f, enum inbox_list list)
{
    TAILQ_REMOVE(&inbox->lists[f->list], f, place);
    f->list = list;
    TAILQ_INSERT_TAIL(&inbox->lists[list], f, place);
}

static inline void inbox_look_at(struct service_inbox *inbox, struct file *f, uint64_t when_ms)
{
    f->look_ms = when_ms;
    inbox_move_to(inbox, f, LIST_LOOK);
}

/* Takes the text over; NULL: none. */
static inline void inbox_set_reason(struct file *f, char *reason)
{
    free(f->reason);
    f->reason = reason;
}

/* --- inbox_judge.c */

/* Decides by the name what the file is for. */
void inbox_route(struct service_inbox *inbox, struct file *f);
/* Takes it out of its job. */
void inbox_leave(struct service_inbox *inbox, struct file *f);
/* Makes the file a job of its own, which can only fail. */
void inbox_set_apart(struct service_inbox *inbox, struct file *f, const struct stage_ops *stage);
/* Decides which jobs of the group are ready, and what its files wait for: after every change of
 * one of them. */
void inbox_judge(struct service_inbox *inbox, struct group *group);
void inbox_set_ready(struct service_inbox *inbox, struct group_job *job, bool ready);
/* A job is claimed: what comes late for it is not of the next one of its name. */
void inbox_note_claimed(struct service_inbox *inbox, const struct group_job *job,
                        const struct spool_job *spool);
/* Whether what lies beside others came for a job that was claimed without it, and not long ago. */
bool inbox_is_late(const struct service_inbox *inbox, const struct file *f);
/* A file that came late goes to a job, or away: one .prj is of one job. */
void inbox_note_late(struct service_inbox *inbox, const struct file *f);
/* All that is noted. */
void inbox_forget_claimed(struct service_inbox *inbox);

#endif
