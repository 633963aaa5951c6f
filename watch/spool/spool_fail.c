/*
 * spool_fail - what cannot be processed, to failed/ with its reason; and back again.
 *
 * The reason is on disk within the job's folder before that folder is renamed as a whole, so a job
 * that is found with a reason has failed, wherever it is found: should the rename not reach the
 * disk, the next start repeats it. What is no file among the inputs is replaced between the two.
 * Its folders and records were made with modes by the umask: .work is closed to others, and in
 * failed/ they read them by its rights.
 */
#include "watch/spool/spool_state.h"

#include "formats/base/log.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char unwritten[] = "the reason of a failure cannot be written";

/* What is no regular file, in words; for free(). */
static char *describe(int in_fd, const char *name, const struct stat *st)
{
    char target[PATH_MAX], *text = NULL;
    const ssize_t n = S_ISLNK(st->st_mode) ? readlinkat(in_fd, name, target, sizeof(target)) : 0;
    const int length =
        asprintf(&text,
                 "What was dropped under this name %s%s%.*s. leat takes regular files alone: this "
                 "text stands in its place.\n",
                 beneath_unfit(st), n > 0 ? " to " : "", n > 0 ? (int)n : 0, target);
    return xalloc_checked(length >= 0 ? text : NULL);
}

/* In failed/, a link, a FIFO or a device would be as it is for whoever looks there: a text takes
 * its place. Files with several names are kept. */
static bool replace_unfit(struct spool *s, const struct spool_job *job, int in_fd, const char *name)
{
    struct stat st;
    const struct spool_path note = spool_path(job->id, "note"),
                            new = spool_path(job->id, "note.new");
    if (fstatat(in_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || S_ISREG(st.st_mode) ||
        S_ISDIR(st.st_mode)) {
        return true;
    }
    char *text = describe(in_fd, name, &st);
    const bool good =
        disk_write_temp("fail.note", s->work_fd, note.text, text, strlen(text)) == 0 &&
        disk_fsync_temp("fail.note", s->work_fd, note.text) == 0 &&
        disk_replace("fail.unfit", s->work_fd, new.text, in_fd, name) == 0 &&
        disk_sync("fail.unfit", in_fd) == 0;
    free(text);
    return good;
}

/* Once its reason is there: without one a text would be taken for the input that was dropped. */
static void replace_all_unfit(struct spool *s, struct spool_job *job)
{
    const int in_fd = spool_open_inputs(s, job->id);
    for (size_t i = 0; in_fd >= 0 && i < job->n_files && job->outcome == SPOOL_OK; i++) {
        if (!replace_unfit(s, job, in_fd, job->files[i].name)) {
            spool_set_outcome_errno(job, errno, "what is no file cannot be replaced by a text");
        }
    }
    beneath_close(in_fd);
}

/* One that is there already was written by an earlier spool_fail, and the job only moves. */
static void write_reason(struct spool *s, struct spool_job *job)
{
    if (!spool_drop_part(s, s->owner, job->id) || !spool_drop_state(s, job->id)) {
        log_warning("job %s: a part of its result stays for now: %s", job->id, strerror(errno));
    }
    if (!spool_has_reason(s->work_fd, job->id)) {
        spool_write(s, job, "fail.reason", "reason.json", xstrdup(job->reason), unwritten);
    } else if (disk_sync_name("fail.folder", s->work_fd, job->id) != 0) {
        spool_set_outcome_errno(job, errno, unwritten);
    } else {
        spool_fail_move(s, &job, 1);
    }
}

/* Whether a job with this state may fail: claimed, and not committed. */
static bool may_fail(enum spool_state state)
{
    return state < SPOOL_COMMITTED || state == SPOOL_FAILING;
}

void spool_fail(struct spool *s, struct spool_job *const jobs[],
                const struct spool_reason reasons[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct spool_job *job = jobs[i];
        const bool asks = job->blames_input && job->state == SPOOL_WORKING;
        if (!may_fail(job->state) ||
            (asks && !spool_unchanged(s, job) && job->outcome == SPOOL_WAIT)) {
            continue;
        }
        if (job->id[0] != '\0' && job->reason == NULL) {
            job->reason = spool_record_reason(job, &reasons[i]);
        }
        (void)spool_enter_step(job, job->state); /* reasons[i] may have been the job's message */
        if (job->id[0] == '\0') {
            job->state = SPOOL_ENDED;
        } else if (spool_uncommit(s, job)) {
            job->state = SPOOL_FAILING;
            write_reason(s, job);
        }
    }
    spool_put_in_place(s, jobs, n, SPOOL_FAILING, "reason.json", "fail.reason", "fail.folder",
                       unwritten);
    spool_fail_move(s, jobs, n);
}

/* failed/ID; with ~2 and so on when somebody has put something there. */
static int move_one(struct spool *s, struct spool_job *job)
{
    char name[sizeof(job->failed)];
    snprintf(name, sizeof(name), "%s", job->id);
    for (unsigned count = 2; count < 100; count++) {
        if (disk_rename("fail.move", s->work_fd, job->id, s->failed_fd, name) == 0 ||
            errno != EEXIST) {
            break;
        }
        snprintf(name, sizeof(name), "%s~%u", job->id, count);
    }
    struct stat st;
    if (fstatat(s->work_fd, job->id, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        return -1;
    }
    memcpy(job->failed, name, sizeof(name));
    return 0;
}

void spool_fail_move(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (spool_is_at(jobs[i], SPOOL_FAILING)) {
            replace_all_unfit(s, jobs[i]);
        }
        if (spool_is_at(jobs[i], SPOOL_FAILING)) {
            if (move_one(s, jobs[i]) != 0) {
                spool_set_outcome_errno(jobs[i], errno, "a failed job cannot be moved to 'failed'");
            } else {
                jobs[i]->state = SPOOL_ENDED;
            }
        }
    }
}

/* --- retry */

/* Whether the failed job, whose folder is open, can be taken up again: then *out. */
static enum status look_at_failed(const struct spool *s, const char *name, int job_fd,
                                  struct spool_job **out)
{
    char id[SPOOL_ID_BYTES]; /* of "ID~2", too */
    struct spool_names inside = {0};
    struct stat st;
    snprintf(id, sizeof(id), "%s", name);
    enum status code = spool_id_time(id) >= 0 ? spool_read_job(job_fd, id, out) : STATUS_NOT_FOUND;
    if (code == STATUS_BAD_INPUT || code == STATUS_NOT_FOUND) {
        return status_fail(STATUS_BAD_INPUT,
                           "'%s/failed/%s/job' does not say what it is of: move its inputs to "
                           "'%s/in' instead",
                           s->root, name, s->root);
    }
    const int in_fd = code == STATUS_OK ? beneath_open(job_fd, "in", O_RDONLY | O_DIRECTORY) : -1;
    for (size_t i = 0; code == STATUS_OK && i < (*out)->n_files; i++) {
        const char *const input = (*out)->files[i].name;
        if (in_fd < 0 || fstatat(in_fd, input, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            code = status_fail_errno(errno,
                                     "its input '%s' is not in '%s/failed/%s/in' (put it back "
                                     "there, or move the others to '%s/in')",
                                     input, s->root, name, s->root);
        }
    }
    code = code == STATUS_OK ? spool_list(in_fd, "its inputs", &inside) : code;
    if (code == STATUS_OK) {
        spool_adopt_late(*out, in_fd, &inside);
    }
    spool_names_free(&inside);
    beneath_close(in_fd);
    return code;
}

/* From failed/NAME to .work/ID. Until its reason goes, the last thing of all, it has failed; and it
 * goes under a name that counts for nothing, from which it can come back. */
static enum status take_up(struct spool *s, const char *name, struct spool_job *job)
{
    job->n_attempts = 0;
    job->held = job->is_committed = false;
    json_object_clear(job->parameters);
    if (disk_rename("retry.take", s->failed_fd, name, s->work_fd, job->id) != 0) {
        return status_fail_errno(errno, "'%s/failed/%s' cannot be moved", s->root, name);
    }
    const struct spool_path reason = spool_path(job->id, "reason.json");
    const struct spool_path old = spool_path(job->id, "reason.json.new");
    if (spool_rewrite(s, job, "retry.record") == 0 && disk_sync("retry.taken", s->work_fd) == 0 &&
        (disk_replace("retry.reason", s->work_fd, reason.text, s->work_fd, old.text) == 0 ||
         errno == ENOENT) &&
        disk_sync_name("retry.folder", s->work_fd, job->id) == 0) {
        return STATUS_OK;
    }
    const int error = errno;
    (void)disk_rename("retry.undo", s->work_fd, old.text, s->work_fd, reason.text);
    (void)disk_rename("retry.undo", s->work_fd, job->id, s->failed_fd, name);
    return status_fail_errno(error, "job %s cannot be taken up again", job->id);
}

enum status spool_retry(struct spool *s, const char *name, struct spool_job **out)
{
    *out = NULL;
    errno = ENOENT;
    const int job_fd =
        beneath_is_name(name) ? beneath_open(s->failed_fd, name, O_RDONLY | O_DIRECTORY) : -1;
    if (job_fd < 0) {
        return spool_is_absent(errno)
                   ? status_fail(STATUS_NOT_FOUND,
                                 "there is no job '%s' in '%s/failed'; leat status --failed lists "
                                 "them",
                                 name, s->root)
                   : status_fail_errno(errno, "'%s/failed/%s' cannot be opened", s->root, name);
    }
    struct spool_job *job = NULL;
    enum status code =
        spool_lock_failed(job_fd)
            ? look_at_failed(s, name, job_fd, &job)
            : status_fail(STATUS_EXISTS, "'%s/failed/%s' is being removed by somebody else",
                          s->root, name);
    code = code == STATUS_OK ? take_up(s, name, job) : code;
    beneath_close(job_fd);
    if (code == STATUS_OK) {
        job->state = SPOOL_UNVERIFIED;
        *out = job;
    } else {
        spool_job_free(job);
    }
    return code;
}
