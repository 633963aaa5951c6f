/*
 * spool - who owns a file that was dropped, and when it is safe to forget it.
 *
 *   ROOT/in/sub/X.csv                    dropped
 *   ROOT/.work/ID/in/X.csv, job          claimed: nobody else moves or takes it any more; `job` is
 *                                        the record: it counts attempts before each is begun, and
 *                                        once it holds the commit the job only rolls forward
 *   OUT/.ID.OWNER.part/                  the result while it is being made; OWNER is this spool
 *   OUT/.ID.OWNER.state                  how far a long job is, if it says so: from one attempt to
 *                                        the next, until the result has its name or the job fails
 *   OUT/sub/X/                           published by one rename
 *   ROOT/.work/ID/published/X.csv        and that is on disk
 *   ROOT/done/sub/X.csv                  archived; .work/ID is gone
 *   ROOT/failed/ID/in/X.csv, reason.json failed, in one rename of the job's folder; and back again
 *
 * The folders are the truth, and the record tells what they cannot: every step is one rename (of
 * files, or of a new record in the place of the old one) that has either happened or not. So
 * spool_recover, at start, knows what to do next with whatever it finds, and nothing it finds can
 * keep it from starting. Without memory the process ends (xalloc.h), as it may at any other
 * instant.
 *
 *   claim -> [wait -> verify] -> attempt -> (the work, by others) -> durable -> commit -> publish
 *         -> archive;      fail from anywhere before commit;      requeue -> attempt again
 *
 * Steps are synchronous and meant for a thread of libuv's pool. One call at a time per spool, but
 * for spool_sweep, spool_hold and spool_retry: there are no locks inside; a job belongs to the call
 * while it runs. Every step takes an array of jobs that stand at it, shares the fsyncs among them,
 * and leaves in each job how that one fared: one job's trouble is not another's. A step may be
 * repeated for a job whose outcome was SPOOL_TRANSIENT.
 *
 * Others may write to OUT, too, also the services of other spools: nobody waits for them, and what
 * is theirs is left alone.
 *
 * Knows nothing of the jobs' content, of workers or of routes.
 */
#ifndef LEAT_WATCH_SPOOL_SPOOL_H
#define LEAT_WATCH_SPOOL_SPOOL_H

#include "formats/base/status.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "20261121-030441-123456", UTC and microseconds: unique in this spool, and later jobs sort later.
 */
enum { SPOOL_ID_BYTES = 23 };
/* "9f86d081", a random number that a spool has from its first start on; a copy of it gets another.
 */
enum { SPOOL_OWNER_BYTES = 9 };

/* How a step ended for a job. */
enum spool_outcome {
    SPOOL_OK,
    /* claim: an input is not there (any more), and nothing was claimed. Forget the job; what is
     * left of it in in/ is found by the next look. */
    SPOOL_GONE,
    /* claim, verify: claimed, but somebody still writes to an input: verify again later. claim,
     * with the state still SPOOL_NEW: an input may not be moved (permissions, another file system):
     * claim again later.
     * durable: an input has changed while it was worked on: requeue (no attempt is charged), then
     * verify, then attempt again. */
    SPOOL_WAIT,
    /* The input can never be processed: fail. */
    SPOOL_BAD_INPUT,
    /* requeue: max_attempts have been charged: fail. */
    SPOOL_EXHAUSTED,
    /* No space, no quota, an I/O error, no descriptors, a server that does not answer, a disk that
     * is not mounted: nobody's fault. The job stands where it stood; repeat the step when there is
     * room (spool_has_room). */
    SPOOL_TRANSIENT,
    /* What must not happen: files of .work were meddled with. The job can only fail. */
    SPOOL_INTERNAL,
};

/* Which step comes next. */
enum spool_state {
    SPOOL_NEW,        /* claim */
    SPOOL_UNVERIFIED, /* verify */
    SPOOL_QUEUED,     /* attempt */
    SPOOL_WORKING,    /* work, then durable; or requeue */
    SPOOL_DURABLE,    /* commit */
    SPOOL_COMMITTED,  /* publish */
    SPOOL_PUBLISHED,  /* archive */
    SPOOL_FAILING,    /* fail */
    SPOOL_ENDED,      /* nothing of it is left in .work */
};

/* An input as it was when it was claimed (or last verified). */
struct spool_file {
    char *name; /* one component */
    uint64_t inode, size;
    int64_t mtime_ns;
    int64_t ctime_ns; /* in .work, where nobody has it changed; 0: not looked at there */
};

struct spool_job {
    char id[SPOOL_ID_BYTES]; /* "" until claimed; says how old the job is, retried or not */
    char *folder;            /* of the inputs, below in/; "" is in/ itself */
    char *stem;              /* what the result is to be called: one component */
    struct spool_file *files;
    size_t n_files;
    struct spool_file *late; /* name and inode, in in/FOLDER: the next verify takes them; owned */
    size_t n_late;
    json_t *parameters;  /* object, the caller's; recorded with the job; never NULL */
    json_t *outputs;     /* the caller's, before durable: array of {"name", "bytes", ...} or NULL */
    char *published;     /* where in OUT the result is in the end: FOLDER/X, FOLDER/X~ID or X~ID;
                            NULL until known */
    unsigned n_attempts; /* charged */
    int64_t state_ns;    /* mtime of the state that the last of them found; 0: it found none */
    enum spool_state state;
    enum spool_outcome outcome; /* of the last step */
    char *message;              /* why it was not SPOOL_OK; else NULL */
    bool held;                  /* by the administrator: it is not to be attempted */
    bool blames_input; /* it fails for bytes that were read: not if they have changed since */
    char failed[SPOOL_ID_BYTES + 16]; /* its folder in failed/: ID or ID~2; "" until it is there */
    void *user;                       /* the caller's */
    /* Whether the record is to be written again before the next attempt. */
    bool changed;
    /* The spool's own: whether the record holds a commit, which is of the part folder with that
     * owner and inode, and whether that may replace an earlier result; whether it has got its name
     * since the start or is outdated by the result of a younger job; and whether done/FOLDER cannot
     * be had, so that the inputs go to done/ itself. */
    char owner[SPOOL_OWNER_BYTES];
    uint64_t part_inode;
    bool is_committed, replace, named, outdated, done_folder_blocked;
    int folder_error; /* of the last fsync of its folder in in/, done/ or OUT; 0: none */
    char *reason;     /* text of reason.json, from the first spool_fail on; NULL before. After
                         recovery also what was found */
};

/* A job to be claimed: inputs in/FOLDER/NAMES[0 .. n_names), n_names > 0, and a reference to
 * `parameters` (NULL: an empty object). A marker file (X.done) is one more name. What ready_look
 * says is never an input may be claimed too, alone: the outcome is SPOOL_BAD_INPUT, and spool_fail
 * puts it away. STATUS_BAD_ARGUMENT when a name is not a single component. */
enum status spool_job_new(const char *folder, const char *stem, const char *const names[],
                          size_t n_names, json_t *parameters,
                          struct spool_job **out) STATUS_MUST_CHECK;
void spool_job_free(struct spool_job *job);

struct spool_options {
    const char *root;   /* in/ done/ failed/ .work/ lie here; made where they are missing */
    const char *out;    /* where results go; made where it is missing; NULL: ROOT/out */
    bool delete_inputs; /* keep_inputs = no: processed inputs are deleted */
    bool replace; /* an earlier result of leat (it holds a result.json) of that name is replaced,
                     unless its "job" is a younger one of this spool */
    unsigned max_attempts;     /* 3; not 0 */
    uint64_t reserve_bytes;    /* kept free on both file systems; 0: no reserve */
    const char *require_mount; /* a path in OUT; without it OUT is not the file system that it is
                                  to be, and nothing is written there; NULL: any will do */
};

struct spool;

/* Opens and checks the folders and takes the lock. STATUS_BAD_ARGUMENT: folders that must be on one
 * file system are not (says which), one is not a folder, or OUT is ROOT, lies in a folder of it or
 * cannot be written; STATUS_EXISTS: another process has the lock (says which one);
 * STATUS_NO_SPACE: no room, OUT is not mounted, or a disk, a server or the system lacks what may
 * come; STATUS_IO. *out is NULL on failure. */
enum status spool_open(const struct spool_options *options, struct spool **out) STATUS_MUST_CHECK;
/* Gives the lock back; jobs stay where they are. NULL is fine. */
void spool_close(struct spool *s);
/* From now on, for jobs not yet published: what a changed configuration says. */
void spool_configure(struct spool *s, bool delete_inputs, bool replace, unsigned max_attempts,
                     uint64_t reserve_bytes);
/* The open folder in/, borrowed. */
int spool_in_fd(const struct spool *s);

/* What was found in .work at start. */
struct spool_recovery {
    struct spool_job **jobs; /* owned; those that still have a step to go, by id */
    size_t n_jobs;
    struct spool_job **ended; /* owned; those of the next three: `published`, or `reason`, is set */
    size_t n_ended;
    size_t n_finished; /* were committed; published and archived now */
    size_t n_failed;   /* moved to failed/ now, with a reason each */
    size_t n_removed;  /* folders without inputs, removed */
    size_t n_aside;    /* strange things, moved to failed/ with a reason */
    size_t n_parts;    /* orphan parts in OUT, removed */
};
/* Brings everything in .work to a state from which the steps go on, and rolls forward what was
 * committed. Called once, before the first claim. Jobs with inputs that need another attempt are
 * SPOOL_UNVERIFIED; those that could not be rolled forward because of insufficient room stay as
 * they were. Fails only when .work or OUT cannot be listed; nothing in them can make it fail. */
enum status spool_recover(struct spool *s, struct spool_recovery *out) STATUS_MUST_CHECK;
void spool_recovery_free(struct spool_recovery *r);

/* The steps. jobs[0 .. n) stand at it; read job->outcome afterwards, and job->state for what comes
 * next. */

/* Moves the inputs to .work/ID/in, after the record is on disk. SPOOL_GONE also when a job has
 * several and one is not what job->files says (inode 0: nothing). */
void spool_claim(struct spool *s, struct spool_job *const jobs[], size_t n);
/* Looks whether the claimed inputs are complete, unchanging files; what changed since the claim is
 * recorded again. */
void spool_verify(struct spool *s, struct spool_job *const jobs[], size_t n);
/* A file of that name has come to in/FOLDER for the job, which is SPOOL_UNVERIFIED or SPOOL_QUEUED:
 * the job is SPOOL_UNVERIFIED, and verify takes the file. Those that it could not take stay in
 * job->late until they are forgotten. */
void spool_add_late(struct spool_job *job, const char *name, uint64_t inode);
void spool_forget_late(struct spool_job *job);
/* Puts in/FOLDER/NAME, which came too late for any job, away to done/FOLDER, under another name
 * where that is taken. STATUS_NOT_FOUND: it has gone. */
enum status spool_put_away(struct spool *s, const char *folder, const char *name,
                           uint64_t inode) STATUS_MUST_CHECK;
/* Charges an attempt, on disk, and makes the part folder in OUT, empty. */
void spool_attempt(struct spool *s, struct spool_job *const jobs[], size_t n);
/* From SPOOL_WORKING or SPOOL_DURABLE. Takes back the part and, unless `charge`, the attempt (our
 * side failed, or the input changed). The job is SPOOL_UNVERIFIED again, or SPOOL_EXHAUSTED and
 * SPOOL_FAILING. */
void spool_requeue(struct spool *s, struct spool_job *const jobs[], size_t n, bool charge);
/* The result is complete in the part folder: puts it, and the inputs, on disk. SPOOL_WAIT when an
 * input is not what it was. SPOOL_TRANSIENT: requeue, uncharged, rather than repeat, since what the
 * disk did not take is gone from memory, too. SPOOL_INTERNAL when a file of job->outputs is not
 * there with its size, or the part holds something that is not a file. */
void spool_durable(struct spool *s, struct spool_job *const jobs[], size_t n);
/* Records the commit: from here the job only rolls forward. */
void spool_commit(struct spool *s, struct spool_job *const jobs[], size_t n);
/* Gives the result its name: FOLDER/STEM, in folders that are made where they are missing;
 * FOLDER/STEM~ID when that is taken and not to be replaced; STEM~ID when FOLDER cannot hold it: it
 * is a result itself, or lies in one, or somebody has put a file or a link in its way.
 * SPOOL_TRANSIENT also when the result is not in OUT, and nothing says that it was published. */
void spool_publish(struct spool *s, struct spool_job *const jobs[], size_t n);
/* Inputs to done/FOLDER/ (or deleted), then forgets the job: SPOOL_ENDED. */
void spool_archive(struct spool *s, struct spool_job *const jobs[], size_t n);
/* durable to archive, each job as far as it comes. */
void spool_finish(struct spool *s, struct spool_job *const jobs[], size_t n);

/* Why a job fails. */
struct spool_reason {
    const char *kind; /* short name, "bad-input": status_name() */
    const char *text; /* what, where, what to do; may be the job's own message */
};
/* jobs[i] goes to failed/ID, with reasons[i] in reason.json: SPOOL_ENDED. From any state after
 * claim and before commit; a job that was never claimed ends without a trace. The first reason is
 * kept: a repeat, also one of what spool_recover could not do because of insufficient room, writes
 * that, and a whole reason.json that was found in .work/ID is never replaced. SPOOL_WAIT: the
 * inputs, which are to blame, are not what was worked on. */
void spool_fail(struct spool *s, struct spool_job *const jobs[],
                const struct spool_reason reasons[], size_t n);

/* Whose fault a worker's failure is: SPOOL_BAD_INPUT (no retry), SPOOL_TRANSIENT (nobody's),
 * SPOOL_WAIT (an input changed meanwhile, as when spool_durable sees it: requeue, uncharged),
 * SPOOL_INTERNAL (device, deadline, crash: charge and try again), SPOOL_OK. */
enum spool_outcome spool_outcome_of(enum status code);

/* Whether ROOT, in/, done/, failed/, .work/ and OUT, which stay open, are still what their paths
 * lead to, and spool_check_mount; else whatever a step does is lost or ends where nobody looks.
 * `why` says which one has been removed or replaced; with why_bytes 0 it may be NULL. */
bool spool_check_folders(const struct spool *s, char *why, size_t why_bytes);
/* Whether `require_mount` is in OUT, and OUT still what its path leads to. */
bool spool_check_mount(const struct spool *s, char *why, size_t why_bytes);
/* Whether another folder than the one that is open is called ROOT/in: *fd is that, tried as at the
 * start. *fd < 0: none is, or (with a status that says why) it cannot be used. */
enum status spool_find_in(const struct spool *s, int *fd) STATUS_MUST_CHECK;
/* From now on inputs are taken from there; takes fd over. What was claimed is not touched. */
void spool_adopt_in(struct spool *s, int fd);
/* Whether spool_check_folders has no complaint, .work/ and OUT may be written, and there is more
 * room than the reserve on both file systems; once there was not, only when there is twice the
 * reserve. `why` says which folder lacks what; *is_short: the first that lacks something lacks the
 * reserve alone, so what is made already can be put in place. */
bool spool_has_room(struct spool *s, bool *is_short, char *why, size_t why_bytes);

/* The time that an id holds, in microseconds since 1970; -1 when it is not an id. */
int64_t spool_id_time(const char *id);

/* Holds a claimed job, or releases it: job->held, also after spool_recover. Nothing here heeds
 * that: who attempts jobs does. On any thread, also while a step is taken of other jobs.
 * STATUS_IO, STATUS_NO_SPACE: it is as it was. */
enum status spool_hold(struct spool *s, struct spool_job *job, bool hold) STATUS_MUST_CHECK;
/* Takes failed/NAME up again, where it lies with all inputs of its record, and with what else lies
 * beside these: no attempt of it is charged, it is SPOOL_UNVERIFIED, and as old as it was; its
 * parameters are empty, also after spool_recover, until the caller has set them, and job->changed.
 * On any thread, also while a step is taken of other jobs. STATUS_NOT_FOUND: no such job, or an
 * input of it is missing; STATUS_EXISTS: it is being removed or taken up by somebody else;
 * STATUS_BAD_INPUT: its record cannot be used. Whatever else: then the job stays where it is. */
enum status spool_retry(struct spool *s, const char *name,
                        struct spool_job **out) STATUS_MUST_CHECK;

/* What a folder keeps: nothing that has been there for longer, nor more than so many bytes. 0: any.
 */
struct spool_keep {
    uint64_t age_s, bytes;
};
struct spool_sweep {
    struct spool_keep done, failed;
    const atomic_bool *stop; /* set by another thread: ends soon; NULL: does not */
    /* What was removed: inputs in done/, jobs in failed/, and their bytes. */
    size_t n_inputs, n_jobs;
    uint64_t bytes;
    bool more;       /* some has been removed, and some left: sweep again */
    size_t n_errors; /* what could not be looked at, or removed; the first: */
    char why[256];
};
/* Removes what done/ and failed/ are not to keep, the oldest first, at most some thousand files: in
 * done/ regular files, and then folders that are empty and belong to this process's user; in
 * failed/ whole jobs, and, whatever is kept, what a sweep that was cut short has left. Reads the
 * first three members of *sweep, which is else 0; sets the others. On any thread, also while a step
 * is taken; one at a time, between spool_recover and spool_close. */
void spool_sweep(struct spool *s, struct spool_sweep *sweep);

/* Whose parts those of this .work are, once its service has been started. STATUS_INTERNAL: it has
 * not. */
enum status spool_read_owner(int work_fd, char owner[SPOOL_OWNER_BYTES]) STATUS_MUST_CHECK;
/* ".ID.OWNER.part", the part folder's name in OUT; ".ID.part", as leat 0.1.0 has it, where the
 * owner is "". */
struct spool_part {
    char name[SPOOL_ID_BYTES + SPOOL_OWNER_BYTES + 16];
};
struct spool_part spool_part(const char *owner, const char *id);
/* ".ID.OWNER.state", what a worker calls the file in OUT in which it keeps the state of a long job;
 * the next one is written to that with ".new" at its end. */
struct spool_part spool_state_file(const char *owner, const char *id);

#endif
