/*
 * spool_fail - what cannot be processed, to failed/ with its reason; and back again.
 *
 * The reason is on disk within the job's folder before that folder is renamed as a whole, so a job
 * that is found with a reason has failed, wherever it is found: should the rename not reach the
 * disk, the next start repeats it. Its folders and records were made with modes by the umask: .work
 * is closed to others, and in failed/ they read them by its rights.
 */
#include "watch/spool/spool_state.h"

#include "formats/base/log.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char unwritten[] = "the reason of a failure cannot be written";

/* One that is there already was written by an earlier spool_fail, and the job only moves. */
static void write_reason(struct spool *s, struct spool_job *job)
{
    if (!spool_drop_part(s, job->id)) {
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
        if (!may_fail(job->state)) {
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
            if (move_one(s, jobs[i]) != 0) {
                spool_set_outcome_errno(jobs[i], errno, "a failed job cannot be moved to 'failed'");
            } else {
                jobs[i]->state = SPOOL_ENDED;
            }
        }
    }
}

/* --- retry */

/* Whether a retry that was cut short has moved this input to in/ already. */
static bool is_back(const struct spool_file *file, int to)
{
    struct stat st;
    return to >= 0 && fstatat(to, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_ino == file->inode;
}

/* STATUS_NOT_FOUND: an input of the job is missing in `from` (-1: there is no such folder), or (job
 * NULL: nobody knows what they are) there is none. */
static enum status must_have_inputs(const char *root, const char *id, const struct spool_job *job,
                                    const struct spool_names *found, int from, int in_fd)
{
    struct stat st;
    enum status code = STATUS_OK;
    if (job == NULL) {
        return found->n > 0
                   ? STATUS_OK
                   : status_fail(STATUS_NOT_FOUND, "'%s/failed/%s/in' holds no input", root, id);
    }
    int to = beneath_open(in_fd, job->folder, O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; code == STATUS_OK && i < job->n_files; i++) {
        const struct spool_file *file = &job->files[i];
        const bool is_there = from >= 0 && fstatat(from, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
        if (!is_there && !is_back(file, to)) {
            code = status_fail(STATUS_NOT_FOUND,
                               "its input '%s' is missing in '%s/failed/%s/in': put it back there, "
                               "or drop the job's files again",
                               file->name, root, id);
        }
    }
    beneath_close(to);
    return code;
}

/* Moves the inputs to in/FOLDER, all or none but for a failing disk. */
static enum status move_inputs(const char *root, const char *id, const char *folder, int job_fd,
                               const struct spool_names *found, int from, int to)
{
    struct stat st;
    for (size_t i = 0; i < found->n; i++) {
        if (fstatat(to, found->names[i], &st, AT_SYMLINK_NOFOLLOW) == 0) {
            return status_fail(STATUS_EXISTS, "a file of job %s is in '%s/in/%s' again already", id,
                               root, folder);
        }
    }
    bool moved = disk_rename("retry.begin", job_fd, "reason.json", job_fd, SPOOL_RETRIED) == 0 ||
                 errno == ENOENT || errno == EEXIST;
    for (size_t i = 0; moved && i < found->n; i++) {
        moved = disk_rename("retry.input", from, found->names[i], to, found->names[i]) == 0;
    }
    /* `from` before the other: see spool_claim.c */
    if (!moved || (from >= 0 && disk_sync("retry.left", from) != 0) ||
        disk_sync("retry.in", to) != 0) {
        const int error = errno;
        disk_rename("retry.undo", job_fd, SPOOL_RETRIED, job_fd, "reason.json");
        return status_fail_errno(error, "the inputs of job %s cannot be moved to '%s/in'", id,
                                 root);
    }
    return STATUS_OK;
}

/* Whether a failed job's folder has inputs, as far as can be seen. */
static bool may_have_inputs(int job_fd)
{
    struct spool_names found = {0};
    const int in_fd = beneath_open(job_fd, "in", O_RDONLY | O_DIRECTORY);
    const bool listed = in_fd >= 0 && spool_list(in_fd, "a failed job", &found) == STATUS_OK;
    const bool any = listed ? found.n > 0 : in_fd >= 0 || !spool_is_absent(errno);
    spool_names_free(&found);
    beneath_close(in_fd);
    return any;
}

void spool_end_retries(struct spool *s, const struct spool_names *failed)
{
    for (size_t i = 0; i < failed->n; i++) {
        char id[SPOOL_ID_BYTES]; /* of "ID~2", too */
        snprintf(id, sizeof(id), "%s", failed->names[i]);
        const int fd = spool_id_time(id) >= 0
                           ? beneath_open(s->failed_fd, failed->names[i], O_RDONLY | O_DIRECTORY)
                           : -1;
        struct stat st;
        if (fd >= 0 && fstatat(fd, "reason.json", &st, AT_SYMLINK_NOFOLLOW) != 0 &&
            errno == ENOENT) {
            if (may_have_inputs(fd)) {
                disk_rename("retry.undo", fd, SPOOL_RETRIED, fd, "reason.json");
            } else {
                spool_forget(s->failed_fd, failed->names[i], false);
            }
        }
        beneath_close(fd);
    }
}

static enum status retry_in(const char *root, const char *id, int in_fd, int failed_fd, int job_fd)
{
    struct spool_job *job = NULL;
    char own_id[SPOOL_ID_BYTES]; /* id may be "ID~2" */
    char inputs[STATUS_MESSAGE_BYTES];
    snprintf(own_id, sizeof(own_id), "%s", id);
    snprintf(inputs, sizeof(inputs), "'%s/failed/%s/in'", root, id);
    enum status code = spool_read_job(job_fd, own_id, &job);
    if (code != STATUS_OK && code != STATUS_NOT_FOUND && code != STATUS_BAD_INPUT) {
        return code;
    }
    const char *folder = job != NULL ? job->folder : "";
    struct spool_names found = {0};
    int to = -1;
    int from = beneath_open(job_fd, "in", O_RDONLY | O_DIRECTORY);
    if (from < 0 && errno != ENOENT) {
        code = status_fail_errno(errno, "%s cannot be opened", inputs);
        goto end;
    }
    if ((from >= 0 && (code = spool_list(from, inputs, &found)) != STATUS_OK) ||
        (code = must_have_inputs(root, id, job, &found, from, in_fd)) != STATUS_OK) {
        goto end;
    }
    to = disk_make_folders("retry.folder", in_fd, folder, 0777, true);
    code = to < 0 ? status_fail_errno(errno, "'%s/in/%s' cannot be opened", root, folder)
                  : move_inputs(root, id, folder, job_fd, &found, from, to);
    if (code == STATUS_OK) {
        spool_forget(failed_fd, id, false);
    }
end:
    spool_names_free(&found);
    beneath_close(to);
    beneath_close(from);
    spool_job_free(job);
    return code;
}

enum status spool_retry(const char *root, const char *id)
{
    enum status code = STATUS_OK;
    int in_fd = -1;
    int failed_fd = -1;
    int job_fd = -1;
    int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root_fd >= 0) {
        in_fd = openat(root_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        failed_fd = openat(root_fd, "failed", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (in_fd < 0 || failed_fd < 0) {
        code = status_fail_errno(errno, "'%s' has no folders 'in' and 'failed'", root);
    } else if (!beneath_is_name(id) ||
               ((job_fd = beneath_open(failed_fd, id, O_RDONLY | O_DIRECTORY)) < 0 &&
                errno != EACCES)) {
        code = status_fail(STATUS_NOT_FOUND,
                           "there is no job '%s' in '%s/failed'; leat status --failed lists them",
                           id, root);
    } else if (job_fd < 0) {
        code = status_fail_errno(EACCES, "'%s/failed/%s' cannot be opened", root, id);
    } else if (!spool_lock_failed(job_fd)) {
        code =
            status_fail(STATUS_EXISTS,
                        "'%s/failed/%s' is being put back or removed by somebody else", root, id);
    } else {
        code = retry_in(root, id, in_fd, failed_fd, job_fd);
    }
    beneath_close(job_fd);
    beneath_close(failed_fd);
    beneath_close(in_fd);
    beneath_close(root_fd);
    return code;
}
