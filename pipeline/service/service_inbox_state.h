/*
 * service_inbox_state - what the files of service_inbox share: service_inbox.c (the files in in/),
 * inbox_judge.c (which jobs they are for, and what each waits for), inbox_drops.c (which came
 * together). No one else includes it.
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

/* file.g.drop: it goes with nothing. */
enum { NO_DROP = -1 };

struct file {
    struct group_file g;
    char *path;
    struct ready_seen seen;
    enum inbox_list list;
    TAILQ_ENTRY(file) place;
    bool is_duplicate; /* its place in a job is taken */
    bool again;        /* found again while it was claimed */
    bool is_whole;     /* was complete: what has other bytes is another drop */
    bool was_here;     /* at the start: what has gone before is not known */
    char *reason;      /* NULL: by the list */
    struct ready_memory memory;
    int64_t arrived_ms; /* of its drop, by the files' clock; of what lies beside a part: the last */
    uint64_t since_ms, complete_ms, look_ms, never_since_ms;
    unsigned long found; /* the number of the complete look that found it */
    const void *taker;   /* LIST_TAKEN: the job that it came late for; NULL: is one of its own */
};
TAILQ_HEAD(inbox_files, file);

/* The drops of a group's grids, one after the other: of each, a grid or .prj of one name comes
 * once, so one that comes again is the next one's. A .prj that comes when the drop before has gone
 * without one may be of either: it is of neither. */
struct drops {
    struct group *group;
    int number;          /* of the present one */
    char *names;         /* what has come of it, "/NAME/NAME/"; NULL: nothing */
    bool has_projection; /* of its own */
    bool is_doubted;     /* one has come that may be the one before's */
    uint64_t owed_ms;    /* one before it went without a .prj, which may still come; 0: none did */
    uint64_t ended_ms;   /* the one before it; 0: there was none */
    uint64_t claimed_ms; /* it was; 0: it was not */
    uint64_t unsure_ms;  /* since one drop has come over another: who knows what was not seen */
    uint64_t kept_ms;    /* since when nothing has come, nor was claimed */
    TAILQ_ENTRY(drops) place;
};

struct service_inbox {
    const struct settings *settings;
    void *by_path;
    struct groups groups;
    struct inbox_files lists[LISTS];
    TAILQ_HEAD(, group_job) ready;
    TAILQ_HEAD(, drops) drops;
    size_t n_files;
    unsigned long n_found;
    uint64_t now_ms; /* of the present call */
    int64_t drop_ms; /* files whose arrivals are further apart are not of one drop */
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

/* --- inbox_drops.c */

/* A file has come, or another one in its place: says of which drop it is. */
void inbox_arrives(struct service_inbox *inbox, struct file *f);
/* The file is claimed: what comes late for its drop is not of the next one. */
void inbox_note_claimed(struct service_inbox *inbox, const struct file *f);
/* A grid or .prj of that name is in a job that was claimed before the start. */
void inbox_note_gone(struct service_inbox *inbox, struct group *group, const char *name);
/* Whether one drop of the group has lately come over another that had not been claimed. */
bool inbox_is_unsure(const struct service_inbox *inbox, const struct group *group);
/* Whether it is not of the present drop. */
bool inbox_is_doubtful(const struct file *f);
/* Whether the job of its drop was claimed, not long ago, or its grid has given way to another. */
bool inbox_is_late(const struct service_inbox *inbox, const struct file *f);
/* All that is remembered of drops. */
void inbox_forget_drops(struct service_inbox *inbox);

#endif
