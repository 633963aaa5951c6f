/*
 * service_inbox - the files that lie in in/: which job each is for, and what it waits for.
 *
 * A file is looked at (ready_look) until it is complete; a job is ready when all its parts are:
 * X.dem.* and X.source.* of one folder (group.h). What lies beside a part (X.dem.prj, .aux.xml)
 * goes with it when it is there, and is waited for until it is complete; with `done_file` the
 * X.csv.done, without which X.csv is not taken. A job whose first part is an .asc grid without a
 * .prj, or with an older one, waits for that, for `settle` seconds. What lies beside nothing that
 * is here came late, or too early: the caller gives it to the job that has been claimed without it,
 * or puts it away after `settle`; it is never of another drop's job. A lone marker or mask stays
 * for its file. Files that no pipeline takes stay, and say so. Two kinds become jobs of their own,
 * which can only fail: what is not a regular file and stays so for a moment (some programs put a
 * file into place by link and unlink), and a format that is not read where a pipeline is asked for.
 *
 * State only: looking, claiming and the clock are the caller's. One thread.
 */
#ifndef LEAT_PIPELINE_SERVICE_SERVICE_INBOX_H
#define LEAT_PIPELINE_SERVICE_SERVICE_INBOX_H

#include "pipeline/settings/settings.h"
#include "watch/arrival/ready.h"
#include "watch/arrival/watcher.h"
#include "watch/spool/spool.h"

#include <jansson.h>
#include <stdint.h>

struct service_inbox;

/* `settings` is borrowed until service_inbox_reroute or the end. Times are of uv_now(). */
struct service_inbox *service_inbox_new(const struct settings *settings);
void service_inbox_free(struct service_inbox *inbox);

/* What the watcher has found. Paths that are kept are taken over. */
void service_inbox_found(struct service_inbox *inbox, struct watcher_findings *findings,
                         uint64_t now_ms);
/* Somebody has taken the file away, it seems: it is looked at again. */
void service_inbox_gone(struct service_inbox *inbox, const char *path, uint64_t now_ms);
/* The configuration has changed: every file is judged again. */
void service_inbox_reroute(struct service_inbox *inbox, const struct settings *settings,
                           uint64_t now_ms);

/* A file that is to be looked at: fill `answer` on any thread. */
struct service_look {
    char *path; /* below in/; owned */
    struct ready_memory memory;
    struct ready_answer answer;
};
/* Fills looks[0 .. n) for files that are due; returns n <= cap. */
size_t service_inbox_due(struct service_inbox *inbox, uint64_t now_ms, struct service_look *looks,
                         size_t cap);
/* Takes the answers, and frees the paths. */
void service_inbox_looked(struct service_inbox *inbox, struct service_look *looks, size_t n,
                          uint64_t now_ms);
/* When the next file is due; UINT64_MAX: none is. */
uint64_t service_inbox_next_due(const struct service_inbox *inbox);

/* The job that has been ready for longest, unclaimed, owned by the caller; its parameters are
 * worker_pack_settings, its files the parts in their order and then what lies beside them. NULL:
 * none is ready. *found_ms: when the last of its files was found. They wait for
 * service_inbox_settle. */
struct spool_job *service_inbox_take(struct service_inbox *inbox, uint64_t now_ms,
                                     uint64_t *found_ms);
/* The parameters that a job of such files would have now, by its first one; where they cannot be
 * had, those of one that fails for it. */
json_t *service_inbox_parameters(const struct service_inbox *inbox, const struct spool_job *job);
/* What became of the first claim of such a job: files of a job that has an id are forgotten, others
 * are looked at again. Once a job: a file of that name that is found afterwards is a new drop. */
void service_inbox_settle(struct service_inbox *inbox, const struct spool_job *job,
                          uint64_t now_ms);

/* The job was claimed before the start: what comes late for it is not of a new drop. */
void service_inbox_was_claimed(struct service_inbox *inbox, const struct spool_job *job,
                               uint64_t now_ms);

/* A file that lies beside nothing in in/, or came after the claim of what it lay beside. */
struct service_late {
    const char *path; /* below in/; until the inbox is changed */
    uint64_t inode;
    bool is_doubtful; /* another drop of that name has come: it may be of that one */
    uint64_t found_ms;
};
/* Fills late[0 .. n) with those for which nothing has come in time; returns n <= cap. */
size_t service_inbox_late(struct service_inbox *inbox, uint64_t now_ms, struct service_late *late,
                          size_t cap);
/* When the next of them is due, after now; UINT64_MAX: none is. */
uint64_t service_inbox_next_late(const struct service_inbox *inbox, uint64_t now_ms);
/* It is being moved, by `taker`, until service_inbox_settle_late. */
void service_inbox_take_late(struct service_inbox *inbox, const char *path, const void *taker);
/* What became of those of a taker; one that is still there in spite of it is found again. */
void service_inbox_settle_late(struct service_inbox *inbox, const void *taker, bool is_moved,
                               uint64_t now_ms);

/* Files in in/ that have not been claimed. */
size_t service_inbox_count(const struct service_inbox *inbox);
/* Appends up to `most` of them to a JSON array: {"path": "in/...", "reason", "since_s"}: since they
 * came, also before the start. now_s: since 1970. */
void service_inbox_list(const struct service_inbox *inbox, double now_s, size_t most, json_t *list);

/* How long the oldest complete file has waited for another part of its job; 0: none does. */
double service_inbox_oldest_part_s(const struct service_inbox *inbox, double now_s);

/* Where the job's i-th file was dropped, below in/; of a job that has none, by its stem. For
 * free(). */
char *service_inbox_path(const struct spool_job *job, size_t i);

#endif
