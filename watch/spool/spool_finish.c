/*
 * spool_finish - from a complete part to archived inputs: durable, commit, archive; publish is in
 * spool_publish.c.
 *
 * Order on disk: the result and the inputs' place before the commit; that before the result has its
 * name; the name before the inputs leave .work; the inputs' new place before the record goes.
 */
#include "watch/spool/spool_state.h"

#include "formats/base/log.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of an archive, the folders of its members, 32 at most, each with its result in it. From so many
 * files on, syncfs takes the place of their fsyncs, of however few jobs they are: a small archive's
 * are still fsynced. */
enum { PART_DEPTH = 40, FILES_SHARED = 16 * SPOOL_SHARES };

/* Begins to write a result file, and counts it (a size_t); nothing but files and folders may be
 * there. */
static int begin_file(void *user, int at_fd, const char *name, const char *path, bool is_folder)
{
    size_t *const n_files = user;
    (void)path;
    struct stat st;
    ++*n_files;
    if (is_folder) {
        return 0;
    }
    if (fstatat(at_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return -1;
    }
    errno = ELOOP;
    int fd = S_ISREG(st.st_mode) ? beneath_open(at_fd, name, O_RDONLY) : -1;
    if (fd >= 0) {
        disk_sync_begin("durable.begin", fd);
        close(fd);
    }
    return fd >= 0 ? 0 : -1;
}

static int end_file(void *user, int at_fd, const char *name, const char *path, bool is_folder)
{
    (void)user;
    (void)path;
    return disk_sync_name(is_folder ? "durable.folder" : "durable.file", at_fd, name);
}

/* Whether the part holds what the worker said it would. */
static void check_outputs(struct spool_job *job, int part)
{
    size_t i;
    json_t *entry;
    json_array_foreach(job->outputs, i, entry)
    {
        struct stat st;
        const char *name = json_string_value(json_object_get(entry, "name"));
        const json_t *bytes = json_object_get(entry, "bytes");
        errno = ENOENT;
        int fd = name != NULL ? beneath_open(part, name, O_PATH) : -1;
        bool is_there = fd >= 0 && fstat(fd, &st) == 0;
        int error = is_there ? 0 : errno;
        bool good = is_there && S_ISREG(st.st_mode) && json_is_integer(bytes) &&
                    st.st_size == json_integer_value(bytes);
        beneath_close(fd);
        if (!is_there && !spool_is_absent(error) && error != EXDEV) {
            spool_set_outcome_errno(job, error, "the result cannot be read again");
            return;
        }
        if (!good) {
            spool_set_outcome(job, SPOOL_INTERNAL, "'%s' is not in the result as it was announced",
                              name != NULL ? name : "(no name)");
            return;
        }
    }
}

/* *n_files: what there is to be synced grows by the job's. */
static void begin_durable(struct spool *s, struct spool_job *job, size_t *n_files)
{
    struct stat st;
    char why[512];
    int part = spool_open_part(s, job->id);
    if (part < 0 && errno == ENOENT && !spool_check_folders(s, why, sizeof(why))) {
        spool_set_outcome(job, SPOOL_TRANSIENT, "%s", why);
    } else if (part < 0 || fstat(part, &st) != 0 ||
               disk_walk(part, PART_DEPTH, begin_file, n_files) != 0) {
        if (errno == ELOOP) {
            spool_set_outcome(job, SPOOL_INTERNAL, "the result holds something that is not a file");
        } else {
            spool_set_outcome_errno(job, errno, "the result cannot be read again");
        }
    } else {
        job->part_inode = (uint64_t)st.st_ino;
        check_outputs(job, part);
    }
    beneath_close(part);
    int in_fd = job->outcome == SPOOL_OK ? spool_open_inputs(s, job->id) : -1;
    for (size_t i = 0; in_fd >= 0 && i < job->n_files; i++) {
        begin_file(n_files, in_fd, job->files[i].name, "", false);
    }
    beneath_close(in_fd);
}

static void end_durable(struct spool *s, struct spool_job *job)
{
    int part = spool_open_part(s, job->id);
    if (part < 0 || disk_walk(part, PART_DEPTH, end_file, NULL) != 0 ||
        disk_sync("durable.part", part) != 0) {
        spool_set_outcome_errno(job, errno, "the result cannot be synced");
    }
    beneath_close(part);
    int in_fd = job->outcome == SPOOL_OK ? spool_open_inputs(s, job->id) : -1;
    for (size_t i = 0; i < job->n_files && job->outcome == SPOOL_OK; i++) {
        if (in_fd < 0 || disk_sync_name("durable.input", in_fd, job->files[i].name) != 0) {
            spool_set_outcome_errno(job, errno, "an input cannot be synced");
        }
    }
    beneath_close(in_fd);
}

void spool_durable(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    size_t n_files = 0;
    for (size_t i = 0; i < n; i++) {
        if (spool_enter_step(jobs[i], SPOOL_WORKING) && spool_unchanged(s, jobs[i])) {
            begin_durable(s, jobs[i], &n_files);
        }
    }
    const size_t count = spool_count(jobs, n, SPOOL_WORKING);
    const bool shared = count >= SPOOL_SHARES || (count > 0 && n_files >= FILES_SHARED);
    if (shared) {
        spool_sync_all(jobs, n, SPOOL_WORKING, "durable.file", s->out_fd,
                       "the results cannot be synced");
        spool_sync_all(jobs, n, SPOOL_WORKING, "durable.input", s->work_fd,
                       "the inputs cannot be synced");
    }
    for (size_t i = 0; i < n && !shared; i++) {
        if (spool_is_at(jobs[i], SPOOL_WORKING)) {
            end_durable(s, jobs[i]);
        }
    }
    /* That the parts are there: a missing one would mean that it has been published. */
    const int error = count > 0 && disk_sync("durable.out", s->out_fd) != 0 ? errno : 0;
    spool_fail_all(jobs, n, SPOOL_WORKING, error, "the output folder cannot be synced");
    spool_advance(jobs, n, SPOOL_WORKING, SPOOL_DURABLE);
}

void spool_commit(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    static const char what[] = "the result cannot be committed";
    for (size_t i = 0; i < n; i++) {
        if (spool_enter_step(jobs[i], SPOOL_DURABLE)) {
            spool_choose_name(s, jobs[i]);
            memcpy(jobs[i]->owner, s->owner, sizeof(s->owner));
            jobs[i]->is_committed = true;
            spool_write(s, jobs[i], "commit.record", "job", spool_record_job(jobs[i]), what);
        }
    }
    spool_put_in_place(s, jobs, n, SPOOL_DURABLE, "job", "commit.record", "commit.folder", what);
    spool_advance(jobs, n, SPOOL_DURABLE, SPOOL_COMMITTED);
    for (size_t i = 0; i < n; i++) {
        jobs[i]->is_committed = jobs[i]->state > SPOOL_DURABLE && jobs[i]->is_committed;
    }
}

static bool is_one_file(int a_fd, const char *a, int b_fd, const char *b)
{
    struct stat sa, sb;
    return fstatat(a_fd, a, &sa, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(b_fd, b, &sb, AT_SYMLINK_NOFOLLOW) == 0 && sa.st_dev == sb.st_dev &&
           sa.st_ino == sb.st_ino;
}

/* Its result is published by now. */
static bool has_changed(const struct spool_file *was, int from)
{
    struct stat st;
    if (fstatat(from, was->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return false;
    }
    const struct spool_file now = spool_file_of(was->name, &st);
    return !spool_is_as_read(was, &now);
}

/* Moves one input from `from` to its archive. */
static int archive_file(const struct spool_job *job, const char *name, int from, int to)
{
    char other[256];
    const char *now = name;
    struct stat st;
    for (unsigned tries = 1; tries <= SPOOL_NAMES_TRIED; tries++) {
        if (disk_rename("archive.input", from, name, to, now) == 0) {
            return 0;
        }
        if (errno == ENOENT) { /* archived before a crash, unless it is `to` that has gone */
            bool moved = fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
            errno = ENOENT;
            return moved ? 0 : -1;
        }
        if (errno != EEXIST) {
            return -1;
        }
        if (is_one_file(from, name, to,
                        now)) { /* moved before a power cut, which left both names */
            return disk_unlink("archive.delete", from, name);
        }
        spool_other_name(name, job->stem, job->id, tries, other);
        now = other;
    }
    return -1;
}

/* done/FOLDER, or done/ itself where somebody has put a file or a link in FOLDER's way. */
static int open_done(struct spool *s, struct spool_job *job)
{
    int to = disk_make_folders("archive.folder", s->done_fd, job->folder, 0777, true);
    job->done_folder_blocked =
        to < 0 && (errno == ENOTDIR || errno == ELOOP || errno == EEXIST || errno == EXDEV);
    return job->done_folder_blocked ? beneath_open(s->done_fd, "", O_RDONLY | O_DIRECTORY) : to;
}

/* spool_has_room says if a restart is needed. */
static void end_archive(const struct spool *s, struct spool_job *job, const char *what)
{
    const int error = errno;
    char done[PATH_MAX];
    snprintf(done, sizeof(done), "%s/done", s->root);
    spool_set_outcome_folder(job, error, what, done, job->folder);
}

/* Whether done/FOLDER is to be put on disk. */
static bool archive(struct spool *s, struct spool_job *job)
{
    static const char no_done[] = "the folder for processed inputs cannot be opened";
    int from = spool_open_inputs(s, job->id);
    int to = -1;
    if (from < 0) {
        job->done_folder_blocked =
            true; /* half forgotten before a crash: done/FOLDER is not asked for again */
        if (!spool_is_absent(errno)) {
            spool_set_outcome_errno(job, errno, "the job's folder in .work cannot be opened");
        }
        return !s->delete_inputs;
    }
    if (!s->delete_inputs && (to = open_done(s, job)) < 0) {
        end_archive(s, job, no_done);
    }
    for (size_t i = 0; i < job->n_files && job->outcome == SPOOL_OK; i++) {
        const char *name = job->files[i].name;
        const bool changed = has_changed(&job->files[i], from);
        if (changed && to < 0 && (to = open_done(s, job)) < 0) { /* not read: not deleted */
            end_archive(s, job, no_done);
            break;
        }
        bool gone = to >= 0 ? archive_file(job, name, from, to) == 0
                            : disk_unlink("archive.delete", from, name) == 0 || errno == ENOENT;
        if (!gone) {
            end_archive(s, job, "a processed input cannot be put away");
        } else if (changed) {
            log_warning("job %s: '%s' was changed after it was read; its result is of what it was "
                        "before, what it is now is in done/: drop it again to have that processed",
                        job->id, name);
        }
    }
    const bool moves = !s->delete_inputs || to >= 0;
    beneath_close(to);
    close(from);
    return moves;
}

/* What has left is gone for good before the records go that say it was done with: inputs that come
 * back without one would be taken for a damaged job. What moved to done/ must have left before that
 * is put on disk: btrfs would keep both names. */
static void sync_left(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    static const char what[] = "the folder that the inputs have left cannot be synced";
    if (spool_count(jobs, n, SPOOL_PUBLISHED) >= SPOOL_SHARES) {
        spool_sync_all(jobs, n, SPOOL_PUBLISHED, "archive.left", s->work_fd, what);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!spool_is_at(jobs[i], SPOOL_PUBLISHED)) {
            continue;
        }
        const int fd = spool_open_inputs(s, jobs[i]->id);
        if (fd < 0 ? !spool_is_absent(errno) : disk_sync("archive.left", fd) != 0) {
            spool_set_outcome_errno(jobs[i], errno, what);
        }
        beneath_close(fd);
    }
}

static void archive_all(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (spool_enter_step(jobs[i], SPOOL_PUBLISHED)) {
            jobs[i]->folder_error = archive(s, jobs[i]) ? SPOOL_UNSYNCED : 0;
        }
    }
    sync_left(s, jobs, n);
    spool_sync_folders(jobs, n, "archive.done", s->done_fd);
    for (size_t i = 0; i < n; i++) {
        struct spool_job *job = jobs[i];
        if (!spool_is_at(job, SPOOL_PUBLISHED)) {
            continue;
        }
        if (job->folder_error != 0) {
            spool_set_outcome_errno(job, job->folder_error,
                                    "the folder of processed inputs cannot be synced");
            continue;
        }
        if (!spool_forget(s->work_fd, job->id, true)) {
            log_warning("'%s/.work/%s' stays until the next start: %s", s->root, job->id,
                        strerror(errno));
        }
        job->state = SPOOL_ENDED;
    }
}

/* No folder of done/ goes while an input is on its way to it. */
void spool_archive(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    pthread_mutex_lock(&s->archiving);
    archive_all(s, jobs, n);
    pthread_mutex_unlock(&s->archiving);
}

void spool_finish(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    spool_durable(s, jobs, n);
    spool_commit(s, jobs, n);
    spool_publish(s, jobs, n);
    spool_archive(s, jobs, n);
}
