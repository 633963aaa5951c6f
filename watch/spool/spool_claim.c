/*
 * spool_claim - from in/ to .work/ID, and what precedes the work: claim, verify, attempt, requeue.
 *
 * Order on disk: the record, its folder and .work before any input moves, so that wherever an
 * input turns up after a crash, where it came from is known. A claim is never undone: what has been
 * taken stays the spool's, and is waited for there if somebody still writes to it, so that a new
 * drop of the same name is another job. No part of a job is taken before all are seen to be there.
 * Of a rename both folders are put on disk, and the one that was left first: on btrfs an fsync of
 * the other writes the new name alone, and after a power cut the input would have two, while that
 * of the folder left writes both.
 */
#include "watch/spool/spool_state.h"

#include "formats/base/log.h"
#include "watch/arrival/ready.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool spool_is_as_read(const struct spool_file *was, const struct spool_file *now)
{
    return spool_is_same(was, now) && (was->ctime_ns == 0 || was->ctime_ns == now->ctime_ns);
}

static const char unrecorded[] = "the job cannot be recorded";

/* Writes the record, still under its temporary name. */
static void write_record(struct spool *s, struct spool_job *job, const char *step, const char *what)
{
    spool_write(s, job, step, "job", spool_record_job(job), what);
}

/* What stands in the way of this one input alone: it waits. False: the error is another. */
static bool end_unmovable(struct spool_job *job, const char *name, int error)
{
    const char *cure = error == EACCES ? "the service's user needs the right to write to its folder"
                       : error == EPERM ? "it is immutable, or another user's in a sticky folder"
                       : error == EXDEV ? "it lies on another file system than the watched folder"
                       : error == EROFS ? "mount its file system for writing, or move it elsewhere"
                       : error == EBUSY ? "something is mounted there; unmount it"
                                        : NULL;
    if (cure != NULL) {
        spool_set_outcome(job, SPOOL_WAIT, "'%s' may not be moved: %s; %s", name, strerror(error),
                          cure);
    }
    return cure != NULL;
}

/* An input, of a job of which some may have been taken, cannot be. */
static void end_claim(struct spool_job *job, const char *name, int error, bool any_taken)
{
    if (end_unmovable(job, name, error)) {
        return;
    }
    if (!spool_is_absent(error)) {
        spool_set_outcome_errno(job, error, "an input cannot be moved to .work");
    } else if (!any_taken) {
        spool_set_outcome(job, SPOOL_GONE, "'%s' has gone before it could be claimed", name);
    } else {
        spool_set_outcome(
            job, SPOOL_BAD_INPUT,
            "'%s' was removed before the job could begin; drop all parts of a job again", name);
        job->state = SPOOL_FAILING;
    }
}

/* Ends the claim of several files where one is not what was looked at: it is of another drop. */
static bool end_mixed(struct spool_job *job, int folder)
{
    struct stat st;
    for (size_t i = 0; job->n_files > 1 && i < job->n_files; i++) {
        char *const name = job->files[i].name;
        if (job->files[i].inode != 0 && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            const struct spool_file now = spool_file_of(name, &st);
            if (!spool_is_same(&now, &job->files[i])) {
                spool_set_outcome(job, SPOOL_GONE, "'%s' has been replaced by another", name);
                return true;
            }
        }
    }
    return false;
}

/* Sees that all inputs are there and may be moved, and what they are. */
static bool see_inputs(struct spool *s, struct spool_job *job)
{
    int folder = beneath_open(s->in_fd, job->folder, O_RDONLY | O_DIRECTORY);
    bool good = folder >= 0 && faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) == 0;
    size_t n = 0;
    if (good && end_mixed(job, folder)) {
        beneath_close(folder);
        return false;
    }
    for (struct stat st; good && n < job->n_files; n += good) {
        good = fstatat(folder, job->files[n].name, &st, AT_SYMLINK_NOFOLLOW) == 0;
        if (good) {
            job->files[n] = spool_file_of(job->files[n].name, &st);
        }
    }
    if (!good) {
        end_claim(job, job->files[n].name, errno, false);
    }
    beneath_close(folder);
    return good;
}

/* Undoes a claim that has taken nothing yet. */
static void unclaim(struct spool *s, struct spool_job *job)
{
    spool_forget(s->work_fd, job->id, false);
    job->id[0] = '\0';
}

void spool_claim(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    struct spool_job **fresh = xcalloc(n, sizeof(struct spool_job *)); /* recorded now */
    size_t n_fresh = 0;
    for (size_t i = 0; i < n; i++) {
        struct spool_job *job = jobs[i];
        if (!spool_enter_step(job, SPOOL_NEW) || job->id[0] != '\0' || !see_inputs(s, job)) {
            continue;
        }
        if (spool_make_work(s, job->id) != 0) {
            spool_set_outcome_errno(job, errno, "the job's folder cannot be made in .work");
            job->id[0] = '\0';
            continue;
        }
        write_record(s, job, "claim.job", unrecorded);
        fresh[n_fresh++] = job;
    }
    spool_put_in_place(s, fresh, n_fresh, SPOOL_NEW, "job", "claim.job", "claim.job_folder",
                       unrecorded);
    const int error = n_fresh > 0 && disk_sync("claim.work", s->work_fd) != 0 ? errno : 0;
    spool_fail_all(fresh, n_fresh, SPOOL_NEW, error, "'.work' cannot be synced");
    for (size_t i = 0; i < n_fresh; i++) {
        if (fresh[i]->outcome != SPOOL_OK) {
            unclaim(s, fresh[i]);
        }
    }
    free(fresh);
    spool_claim_take(s, jobs, n);
}

/* Opens .work/ID/in; -1: the outcome is set. */
static int open_taken(struct spool *s, struct spool_job *job)
{
    const int fd = spool_open_inputs(s, job->id);
    if (fd < 0) {
        spool_set_outcome_errno(job, errno, "the job's folder in .work cannot be opened");
    }
    return fd;
}

/* How many inputs are the spool's already. */
static size_t count_taken(const struct spool_job *job, int to)
{
    struct stat st;
    size_t taken = 0;
    for (size_t i = 0; i < job->n_files; i++) {
        taken += fstatat(to, job->files[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    }
    return taken;
}

/* Moves one input; false: the outcome is set. *taken counts inputs that are the spool's. */
static bool take(struct spool_job *job, size_t i, int from, int to, size_t *taken)
{
    struct stat st;
    const char *name = job->files[i].name;
    if (fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        return true;
    }
    if (from >= 0 && disk_rename("claim.take", from, name, to, name) == 0) {
        (*taken)++;
        return true;
    }
    end_claim(job, name, errno, *taken > 0);
    return false;
}

/* Moves all that are there; whether any input is the spool's now. */
static bool take_all(struct spool *s, struct spool_job *job)
{
    int from = beneath_open(s->in_fd, job->folder, O_RDONLY | O_DIRECTORY);
    const int error = from < 0 ? errno : 0;
    const int to = open_taken(s, job);
    size_t taken = to >= 0 ? count_taken(job, to) : 0;
    if (to >= 0 && error != 0 && !spool_is_absent(error)) {
        end_claim(job, job->files[0].name, error, taken > 0);
    }
    if (to >= 0 && from >= 0 && taken == 0) {
        end_mixed(job, from);
    }
    for (size_t i = 0; to >= 0 && job->outcome == SPOOL_OK && i < job->n_files; i++) {
        if (!take(job, i, from, to, &taken)) {
            break;
        }
    }
    beneath_close(to);
    beneath_close(from);
    if (job->outcome == SPOOL_GONE || (job->outcome == SPOOL_WAIT && taken == 0)) {
        unclaim(s, job);
    }
    return taken > 0;
}

/* Puts on disk that the inputs of these jobs have left their folders, then that they were taken;
 * also of those that have failed meanwhile. */
static void sync_moves(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        jobs[i]->folder_error = SPOOL_UNSYNCED;
    }
    spool_sync_folders(jobs, n, "claim.left", s->in_fd);
    for (size_t i = 0; i < n; i++) {
        struct spool_job *job = jobs[i];
        const char *what = "the inputs' folder cannot be synced";
        int error = job->folder_error;
        if (error == 0) {
            const struct spool_path in = spool_path(job->id, "in");
            what = "the job's folder cannot be synced";
            error = disk_sync_name("claim.taken", s->work_fd, in.text) != 0 ? errno : 0;
        }
        spool_fail_all(&job, 1, job->state, error, what);
    }
}

void spool_claim_take(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    const bool shared = spool_count(jobs, n, SPOOL_NEW) >= SPOOL_SHARES;
    struct spool_job *took[SPOOL_SHARES];
    size_t n_took = 0;
    for (size_t i = 0; i < n; i++) {
        if (spool_is_at(jobs[i], SPOOL_NEW) && take_all(s, jobs[i]) && !shared) {
            took[n_took++] = jobs[i];
        }
    }
    if (shared) {
        spool_sync_all(jobs, n, SPOOL_NEW, "claim.taken", s->work_fd,
                       "the job's folder cannot be synced");
    } else {
        sync_moves(s, took, n_took);
    }
    spool_advance(jobs, n, SPOOL_NEW, SPOOL_UNVERIFIED);
    spool_verify(s, jobs, n);
}

/* How a claimed input stands; *now is what it is. */
static enum ready_writer look(struct spool_job *job, int in_fd, size_t i, struct spool_file *now)
{
    struct stat st;
    int fd;
    char *name = job->files[i].name;
    enum status code = beneath_open_file(in_fd, name, &st, &fd);
    *now = spool_file_of(name, &st);
    if (code == STATUS_OK) {
        const enum ready_writer writer = ready_writer(fd);
        close(fd);
        return writer;
    }
    if (code == STATUS_UNSUPPORTED) {
        const char *unfit = beneath_unfit(&st);
        spool_set_outcome(job, SPOOL_BAD_INPUT,
                          "'%s' %s; only regular files without hard links are accepted", name,
                          unfit != NULL ? unfit : "is not a file");
    } else if (code == STATUS_NOT_FOUND) {
        spool_set_outcome(job, SPOOL_INTERNAL, "'%s' has gone from .work/%s/in", name, job->id);
    } else if (errno == EACCES) {
        spool_set_outcome(job, SPOOL_BAD_INPUT, "'%s' may not be read", name);
    } else {
        spool_set_outcome(job, SPOOL_TRANSIENT, "%s", status_message());
        return READY_WRITER_UNKNOWN;
    }
    job->state = SPOOL_FAILING;
    return READY_WRITER_UNKNOWN;
}

/* Sets WAIT while somebody may be writing, or when what was worked on has changed. What has changed
 * before the work (true) is taken as it is now. */
static bool look_at_all(struct spool *s, struct spool_job *job, bool is_worked_on)
{
    bool changed = false;
    const int in_fd = open_taken(s, job);
    for (size_t i = 0; i < job->n_files && job->outcome == SPOOL_OK; i++) {
        struct spool_file now;
        const enum ready_writer writer = look(job, in_fd, i, &now);
        if (job->outcome != SPOOL_OK) {
            break;
        }
        const bool same = is_worked_on ? spool_is_as_read(&job->files[i], &now)
                                       : spool_is_same(&now, &job->files[i]); /* it was moved */
        if (!is_worked_on) {
            job->files[i] = now;
            changed = changed || !same;
        }
        if (writer == READY_WRITER_OPEN ||
            (!same && (is_worked_on || writer == READY_WRITER_UNKNOWN))) {
            spool_set_outcome(job, SPOOL_WAIT, "'%s' %s", now.name,
                              is_worked_on ? "was changed while it was worked on"
                                           : "is still being written");
        }
    }
    beneath_close(in_fd);
    return changed;
}

void spool_verify(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct spool_job *job = jobs[i];
        if (spool_enter_step(job, SPOOL_UNVERIFIED)) {
            if (job->n_late > 0 && spool_take_late(s, job)) {
                sync_moves(s, &job, 1);
            }
            job->changed = look_at_all(s, job, false) || job->changed;
            if (job->outcome == SPOOL_OK && job->changed) {
                write_record(s, job, "verify.job", unrecorded);
                /* Its old record may come back: the next verify finds that it is that. */
                spool_put_in_place(s, &job, 1, SPOOL_UNVERIFIED, "job", "verify.job", NULL,
                                   unrecorded);
            }
            if (spool_is_at(job, SPOOL_UNVERIFIED)) {
                job->changed = false;
                job->state = SPOOL_QUEUED;
            }
        }
    }
}

bool spool_unchanged(struct spool *s, struct spool_job *job)
{
    look_at_all(s, job, true);
    return job->outcome == SPOOL_OK;
}

/* Takes the last attempt back. */
static void take_back(struct spool *s, struct spool_job *job)
{
    job->n_attempts--;
    if (spool_rewrite(s, job, "requeue.take_back") != 0) {
        log_warning("job %s: an attempt that was not its fault may stay charged until its next: %s",
                    job->id, strerror(errno));
    }
}

static void make_part(struct spool *s, struct spool_job *job)
{
    const struct spool_part part = spool_part(s->owner, job->id);
    if (!spool_drop_part(s, s->owner, job->id) ||
        disk_make_folder("attempt.part", s->out_fd, part.name, 0777) != 0) {
        spool_set_outcome_errno(job, errno, "the result's part folder cannot be made");
    }
}

void spool_attempt(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    static const char uncharged[] = "the attempt cannot be recorded";
    struct spool_job **charged = xcalloc(n, sizeof(*charged));
    size_t n_charged = 0;
    for (size_t i = 0; i < n; i++) {
        if (spool_enter_step(jobs[i], SPOOL_QUEUED)) {
            jobs[i]->n_attempts++;
            jobs[i]->state_ns = spool_state_ns(s, jobs[i]->id);
            write_record(s, jobs[i], "attempt.charge", uncharged);
            charged[n_charged++] = jobs[i];
        }
    }
    spool_put_in_place(s, charged, n_charged, SPOOL_QUEUED, "job", "attempt.charge",
                       "attempt.folder", uncharged);
    for (size_t i = 0; i < n_charged; i++) {
        if (charged[i]->outcome == SPOOL_OK) {
            make_part(s, charged[i]);
        }
        if (charged[i]->outcome == SPOOL_OK) {
            charged[i]->state = SPOOL_WORKING;
        } else {
            take_back(s, charged[i]);
        }
    }
    free(charged);
}

bool spool_uncommit(struct spool *s, struct spool_job *job)
{
    if (job->state == SPOOL_DURABLE &&
        (spool_rewrite(s, job, "uncommit.record") != 0 ||
         disk_sync_name("uncommit.folder", s->work_fd, job->id) != 0)) {
        spool_set_outcome_errno(job, errno, "a commit that did not succeed cannot be taken back");
        return false;
    }
    return true;
}

void spool_requeue(struct spool *s, struct spool_job *const jobs[], size_t n, bool charged)
{
    for (size_t i = 0; i < n; i++) {
        struct spool_job *job = jobs[i];
        if ((!spool_enter_step(job, SPOOL_WORKING) && !spool_enter_step(job, SPOOL_DURABLE)) ||
            !spool_uncommit(s, job)) {
            continue;
        }
        if (!spool_drop_part(s, s->owner, job->id)) {
            log_warning("job %s: a part of its result stays for now: %s", job->id, strerror(errno));
        }
        if (!charged) {
            take_back(s, job);
        }
        job->state = SPOOL_UNVERIFIED;
        if (charged && job->n_attempts >= s->max_attempts) {
            job->state = SPOOL_FAILING;
            spool_set_outcome(job, SPOOL_EXHAUSTED, "%u attempts have ended without a result",
                              job->n_attempts);
        }
    }
}

enum status spool_hold(struct spool *s, struct spool_job *job, bool hold)
{
    const bool was = job->held;
    job->held = hold;
    if (spool_rewrite(s, job, "hold.record") == 0 &&
        disk_sync_name("hold.folder", s->work_fd, job->id) == 0) {
        return STATUS_OK;
    }
    const int error = errno;
    job->held = was;
    if (spool_rewrite(s, job, "hold.undo") == 0) { /* else the next start finds it so */
        (void)disk_sync_name("hold.undo", s->work_fd, job->id);
    }
    return status_fail_errno(error, "the record of job %s cannot be written", job->id);
}
