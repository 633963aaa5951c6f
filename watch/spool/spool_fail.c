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
    if (!spool_drop_part(s, s->owner, job->id)) {
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

/* Descriptors are -1 until they are open. */
struct retry {
    const char *root, *id;                 /* id: of the folder in failed/, "ID~2", too */
    int work_fd, in_fd, failed_fd, job_fd; /* work_fd: -1 also where it is closed to us */
    int from, to;          /* failed/ID/in; the folder in in/ that the inputs came from */
    struct spool_job *job; /* NULL: nobody knows what its inputs are */
    struct spool_names found;
};

/* Opens what there must be, and takes the failed job for this process. */
static enum status open_failed(struct retry *r)
{
    const int root_fd = open(r->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root_fd >= 0) {
        r->work_fd = openat(root_fd, ".work", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        r->in_fd = openat(root_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r->failed_fd = openat(root_fd, "failed", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    beneath_close(root_fd);
    if (r->in_fd < 0 || r->failed_fd < 0) {
        return status_fail_errno(errno, "'%s' has no folders 'in' and 'failed'", r->root);
    }
    errno = ENOENT;
    r->job_fd =
        beneath_is_name(r->id) ? beneath_open(r->failed_fd, r->id, O_RDONLY | O_DIRECTORY) : -1;
    if (r->job_fd < 0 && errno == EACCES) {
        return status_fail_errno(EACCES, "'%s/failed/%s' cannot be opened", r->root, r->id);
    }
    if (r->job_fd < 0) {
        return status_fail(STATUS_NOT_FOUND,
                           "there is no job '%s' in '%s/failed'; leat status --failed lists them",
                           r->id, r->root);
    }
    return spool_lock_failed(r->job_fd)
               ? STATUS_OK
               : status_fail(STATUS_EXISTS,
                             "'%s/failed/%s' is being put back or removed by somebody else",
                             r->root, r->id);
}

/* Whether an input is there; or in in/ already, where a retry that was cut short has moved it. */
static bool has_input(const struct retry *r, const struct spool_file *file, int back)
{
    struct stat st;
    if (r->from >= 0 && fstatat(r->from, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        return true;
    }
    if (back < 0 || fstatat(back, file->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return false;
    }
    const struct spool_file there = spool_file_of(file->name, &st); /* an inode's number returns */
    return spool_is_same(&there, file);
}

/* Finds the inputs, which are all there, or (where nobody knows what they are) some. */
static enum status find_inputs(struct retry *r)
{
    char own_id[SPOOL_ID_BYTES];
    char inputs[STATUS_MESSAGE_BYTES];
    snprintf(own_id, sizeof(own_id), "%s", r->id);
    snprintf(inputs, sizeof(inputs), "'%s/failed/%s/in'", r->root, r->id);
    enum status code = spool_read_job(r->job_fd, own_id, &r->job);
    if (code != STATUS_OK && code != STATUS_NOT_FOUND && code != STATUS_BAD_INPUT) {
        return code;
    }
    r->from = beneath_open(r->job_fd, "in", O_RDONLY | O_DIRECTORY);
    if (r->from >= 0) {
        STATUS_TRY(spool_list(r->from, inputs, &r->found));
    } else if (errno != ENOENT) {
        return status_fail_errno(errno, "%s cannot be opened", inputs);
    }
    if (r->job == NULL) {
        return r->found.n > 0 ? STATUS_OK
                              : status_fail(STATUS_NOT_FOUND, "%s holds no input", inputs);
    }
    const int back = beneath_open(r->in_fd, r->job->folder, O_RDONLY | O_DIRECTORY);
    size_t n = 0;
    while (n < r->job->n_files && has_input(r, &r->job->files[n], back)) {
        n++;
    }
    beneath_close(back);
    return n == r->job->n_files
               ? STATUS_OK
               : status_fail(STATUS_NOT_FOUND,
                             "its input '%s' is missing in %s: put it back there, or drop the "
                             "job's files again",
                             r->job->files[n].name, inputs);
}

/* Before the inputs go: whose they were first. That it cannot be noted keeps nothing here. */
static void note_first(const struct retry *r, const char *folder)
{
    char id[SPOOL_ID_BYTES];
    struct stat st;
    snprintf(id, sizeof(id), "%s", r->job != NULL ? spool_first_id(r->job) : r->id);
    for (size_t i = 0; r->work_fd >= 0 && i < r->found.n; i++) {
        if (fstatat(r->from, r->found.names[i], &st, AT_SYMLINK_NOFOLLOW) == 0) {
            const struct spool_file file = spool_file_of(r->found.names[i], &st);
            spool_note_first(r->work_fd, folder, &file, id);
        }
    }
    if (r->work_fd >= 0) {
        (void)disk_sync("retry.notes", r->work_fd);
    }
}

/* Moves the inputs to in/FOLDER, all or none but for a failing disk. */
static enum status move_inputs(struct retry *r)
{
    struct stat st;
    const char *folder = r->job != NULL ? r->job->folder : "";
    r->to = disk_make_folders("retry.folder", r->in_fd, folder, 0777, true);
    if (r->to < 0) {
        return status_fail_errno(errno, "'%s/in/%s' cannot be opened", r->root, folder);
    }
    for (size_t i = 0; i < r->found.n; i++) {
        if (fstatat(r->to, r->found.names[i], &st, AT_SYMLINK_NOFOLLOW) == 0) {
            return status_fail(STATUS_EXISTS, "a file of job %s is in '%s/in/%s' again already",
                               r->id, r->root, folder);
        }
    }
    note_first(r, folder);
    bool moved =
        disk_rename("retry.begin", r->job_fd, "reason.json", r->job_fd, SPOOL_RETRIED) == 0 ||
        errno == ENOENT || errno == EEXIST;
    for (size_t i = 0; moved && i < r->found.n; i++) {
        const char *name = r->found.names[i];
        moved = disk_rename("retry.input", r->from, name, r->to, name) == 0;
    }
    /* `from` before the other: see spool_claim.c */
    if (!moved || (r->from >= 0 && disk_sync("retry.left", r->from) != 0) ||
        disk_sync("retry.in", r->to) != 0) {
        const int error = errno;
        disk_rename("retry.undo", r->job_fd, SPOOL_RETRIED, r->job_fd, "reason.json");
        return status_fail_errno(error, "the inputs of job %s cannot be moved to '%s/in'", r->id,
                                 r->root);
    }
    spool_forget(r->failed_fd, r->id, false);
    return STATUS_OK;
}

enum status spool_retry(const char *root, const char *id)
{
    struct retry r = {root, id, -1, -1, -1, -1, -1, -1, NULL, {0}};
    enum status code = open_failed(&r);
    code = code == STATUS_OK ? find_inputs(&r) : code;
    code = code == STATUS_OK ? move_inputs(&r) : code;
    const int fds[] = {r.to, r.from, r.job_fd, r.failed_fd, r.in_fd, r.work_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        beneath_close(fds[i]);
    }
    spool_names_free(&r.found);
    spool_job_free(r.job);
    return code;
}

void spool_end_retries(struct spool *s, const struct spool_names *failed)
{
    for (size_t i = 0; i < failed->n; i++) {
        char id[SPOOL_ID_BYTES]; /* of "ID~2", too */
        const char *name = failed->names[i];
        snprintf(id, sizeof(id), "%s", name);
        const int fd =
            spool_id_time(id) >= 0 ? beneath_open(s->failed_fd, name, O_RDONLY | O_DIRECTORY) : -1;
        struct stat st;
        if (fd >= 0 && fstatat(fd, "reason.json", &st, AT_SYMLINK_NOFOLLOW) != 0 &&
            errno == ENOENT && !spool_forget(s->failed_fd, name, false)) {
            disk_rename("retry.undo", fd, SPOOL_RETRIED, fd, "reason.json");
        }
        beneath_close(fd);
    }
}
