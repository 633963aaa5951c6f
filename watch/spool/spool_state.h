/*
 * spool_state - what the spool's own files share; no one else includes it.
 */
#ifndef LEAT_WATCH_SPOOL_SPOOL_STATE_H
#define LEAT_WATCH_SPOOL_SPOOL_STATE_H

#include "watch/spool/spool.h"

#include <pthread.h>
#include <sys/stat.h>

struct spool {
    char *root, *out, *require_mount; /* require_mount: or NULL */
    int root_fd, in_fd, done_fd, failed_fd, work_fd, out_fd, lock_fd;
    char owner[SPOOL_OWNER_BYTES];
    bool delete_inputs, replace;
    unsigned max_attempts;
    uint64_t reserve_bytes;
    bool is_full;              /* there was less room than the reserve, and not yet twice as much */
    int64_t last_id_us;        /* of the youngest id given or found */
    pthread_mutex_t archiving; /* held while inputs go to done/, or a folder there is removed */
};

/* Names that are tried for a result or an archived input, before that is an error. */
enum { SPOOL_NAMES_TRIED = 100 };

/* --- spool.c */

/* Sets how the step ended for the job. */
void spool_set_outcome(struct spool_job *job, enum spool_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As spool_set_outcome with strerror(error): SPOOL_INTERNAL for a name or a call that is not as it
 * must be, else SPOOL_TRANSIENT: a disk, a server or the system cannot now. */
void spool_set_outcome_errno(struct spool_job *job, int error, const char *what);
/* The same of what belongs into ABOVE/FOLDER, where that is not a call of its own: a folder that
 * has been removed is made again, or waited for. */
void spool_set_outcome_folder(struct spool_job *job, int error, const char *what, const char *above,
                              const char *folder);
/* Whether the job takes part in a step that jobs in this state take; clears its outcome. */
bool spool_enter_step(struct spool_job *job, enum spool_state state);
/* Whether the error says that there is no such file or folder; any other that it cannot be seen
 * now.
 */
bool spool_is_absent(int error);
/* Ids to come are greater than one of this time, unless no id could follow it. */
void spool_learn_id(struct spool *s, int64_t us);
/* The next id. */
void spool_make_id(struct spool *s, char id[SPOOL_ID_BYTES]);
/* Makes .work/ID and .work/ID/in. Returns 0, or -1 with errno. */
int spool_make_work(struct spool *s, char id[SPOOL_ID_BYTES]);
/* What is in an open folder, but for "." and "..", sorted; empty on failure. */
struct spool_names {
    char **names; /* owned */
    size_t n;
};
enum status spool_list(int folder_fd, const char *what, struct spool_names *out) STATUS_MUST_CHECK;
void spool_names_free(struct spool_names *list);
/* The order of names, for bsearch(). */
int spool_by_name(const void *a, const void *b);
/* What an input with this stat is; `name` is not copied. */
struct spool_file spool_file_of(char *name, const struct stat *st);
/* Whether it is that file, and nobody has written to it: names do not count. */
bool spool_is_same(const struct spool_file *a, const struct spool_file *b);
/* Whether the input is as it was before the work. Its mtime may have been put back since, and who
 * has mapped it writes without a descriptor: its ctime tells. */
bool spool_is_as_read(const struct spool_file *was, const struct spool_file *now);
/* ID/NAME, below .work; NAME is one of the protocol's. */
struct spool_path {
    char text[SPOOL_ID_BYTES + 32];
};
struct spool_path spool_path(const char *id, const char *name);
/* Opens the folder of the job's inputs, .work/ID/in or .work/ID/published; -1 with errno. */
int spool_open_inputs(const struct spool *s, const char *id);
/* Removes the folder ID and leat's files in it, in .work or failed/ (at_fd); false, with errno,
 * when it is still there: ENOTEMPTY, ENOTDIR or EISDIR where something else is in it. While there
 * is something in ID/in nothing is removed, unless `inputs_left` says that the job's inputs are
 * known to be elsewhere: then the next recovery sets what is left aside. */
bool spool_forget(int at_fd, const char *id, bool inputs_left);
/* Whether it is what a spool may be called in its parts' names. */
bool spool_is_owner(const char *text);
/* Opens the part folder in OUT; -1 with errno. */
int spool_open_part(const struct spool *s, const char *id);
/* Removes the part of that owner, and what stepped aside for it; false, with errno, when something
 * is left. */
bool spool_drop_part(const struct spool *s, const char *owner, const char *id);
/* When the job's state was kept, by the clock of then: its mtime; 0: there is none. */
int64_t spool_state_ns(const struct spool *s, const char *id);
/* Removes the job's state; false, with errno, when it is still there. */
bool spool_drop_state(const struct spool *s, const char *id);
/* STEM~ID.REST for a name that is taken: behind `stem` where the name begins with it, else at the
 * end; with "-COUNT" when count > 1. At most 255 bytes. */
void spool_other_name(const char *name, const char *stem, const char *id, unsigned count,
                      char other[256]);

/* --- spool_places.c */

/* Makes, opens and checks the folders, where they can serve; the lock is not taken yet. */
enum status spool_open_places(struct spool *s) STATUS_MUST_CHECK;
/* What to do about a folder that cannot be written. */
const char *spool_cure_of(int error);
/* status_fail_errno at the opening: STATUS_NO_SPACE for what a disk, a server or the system lacks,
 * since it may come; rights and names are an administrator's. */
enum status spool_cannot_open(int error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Whether OUT is neither ROOT nor in one of its folders (in/ is in_fd); says where it is. */
enum status spool_check_out(const struct spool *s, int in_fd) STATUS_MUST_CHECK;

/* Renames a file from in/ through every folder that inputs are moved to: what a claim and an
 * archive will do. Catches other file systems, bind mounts and missing rights alike. The file is
 * .leat.probe-1, or with the first number that nobody has taken; one that was left is removed. */
enum status spool_try_renames(const struct spool *s, int in_fd) STATUS_MUST_CHECK;

/* --- spool_claim.c */

/* Whether the inputs of a job that is worked on are still what they were when the attempt began;
 * the outcome is SPOOL_WAIT when somebody has changed them. */
bool spool_unchanged(struct spool *s, struct spool_job *job);

/* --- spool_record.c */

/* Text of `job` and reason.json, for free(). */
char *spool_record_job(const struct spool_job *job);
char *spool_record_reason(const struct spool_job *job, const struct spool_reason *reason);
/* Reads `job` in an open folder of a job. STATUS_NOT_FOUND; STATUS_BAD_INPUT: no such record. */
enum status spool_read_job(int job_fd, const char *id, struct spool_job **out) STATUS_MUST_CHECK;
/* A new job of that id with what is given, unchecked. */
struct spool_job *spool_job_make(const char *id, const char *folder, const char *stem,
                                 const char *const names[], size_t n_names, json_t *parameters);
/* Whether there is a whole reason.json in .work/ID. */
bool spool_has_reason(int work_fd, const char *id);
/* Its text, for free(); NULL: there is none. */
char *spool_read_reason(int work_fd, const char *id);

/* From so many jobs on, one syncfs for all of them takes the place of an fsync for each file and
 * folder: every fsync, even of what is on disk already, waits for the disk to empty its cache, a
 * dozen times a job. The price is that syncfs also waits for what others are writing, which is why
 * few jobs do not use it. */
enum { SPOOL_SHARES = 8 };
/* Whether the job is in this state and its step goes well so far. */
bool spool_is_at(const struct spool_job *job, enum spool_state state);
/* All such jobs meet an error, unless that is 0. */
void spool_fail_all(struct spool_job *const jobs[], size_t n, enum spool_state state, int error,
                    const char *what);
/* All such jobs go on to the next state. */
void spool_advance(struct spool_job *const jobs[], size_t n, enum spool_state from,
                   enum spool_state to);
/* job->folder_error: its folder is to be synced. */
enum { SPOOL_UNSYNCED = -1 };
/* fsyncs the folders of such jobs below at_fd (in/ or done/), each once; then job->folder_error is
 * 0, or the errno of that. */
void spool_sync_folders(struct spool_job *const jobs[], size_t n, const char *step, int at_fd);
/* Where the job's inputs come from or go to, below in/ and done/. */
static inline const char *spool_folder_of(const struct spool_job *job)
{
    return job->done_folder_blocked ? "" : job->folder;
}

/* How many jobs are so. */
size_t spool_count(struct spool_job *const jobs[], size_t n, enum spool_state state);
/* syncfs for all of them. */
void spool_sync_all(struct spool_job *const jobs[], size_t n, enum spool_state state,
                    const char *step, int fd, const char *what);

/* Replaces the record of one job, without its folder's fsync. 0, or -1 with errno. */
int spool_rewrite(struct spool *s, const struct spool_job *job, const char *step);
/* Writes .work/ID/NAME.new; frees the text. `what` begins the message where that fails. */
void spool_write(struct spool *s, struct spool_job *job, const char *step, const char *name,
                 char *text, const char *what);
/* For all jobs in `state` whose outcome is SPOOL_OK, the three phases of putting .work/ID/NAME.new,
 * which has been written, in place: all contents to disk, all renames, all folders to disk. One
 * after the other for every job, each rename would cost the next fsync a transaction of its own.
 * `what` begins the message where that fails. step_folder NULL: the folders are not put on disk,
 * and what stood under that name may be found there again. */
void spool_put_in_place(struct spool *s, struct spool_job *const jobs[], size_t n,
                        enum spool_state state, const char *name, const char *step,
                        const char *step_folder, const char *what);

/* --- steps */

/* spool_claim.c: before a durable job goes back or fails: a commit whose fsync failed may be in its
 * record, and must not be found later. False: it cannot be taken back, and the outcome says why. */
bool spool_uncommit(struct spool *s, struct spool_job *job);
/* The rest of spool_claim for jobs whose `job` record is on disk: moves what is not
 * yet there, and verifies. */
void spool_claim_take(struct spool *s, struct spool_job *const jobs[], size_t n);
/* spool_publish.c: the name that the result is going to have, if nobody takes it meanwhile, into
 * job->published. */
void spool_choose_name(const struct spool *s, struct spool_job *job);
/* spool_late.c: moves job->late from in/ to .work/ID/in, where it can; whether any was. They are of
 * the job then, whose record does not say so yet. */
bool spool_take_late(struct spool *s, struct spool_job *job);
/* What lies in the job's in/, an open folder of these names, and is not in its record was taken
 * late, or put there by an administrator: it is of the job. */
void spool_adopt_late(struct spool_job *job, int in_fd, const struct spool_names *inside);
/* spool_keep.c: takes a failed job's folder for this process, until it is closed; false: somebody
 * else has it. */
bool spool_lock_failed(int job_fd);
/* spool_fail.c: moves .work/ID, which holds its reason.json, to failed/. */
void spool_fail_move(struct spool *s, struct spool_job *const jobs[], size_t n);

#endif
