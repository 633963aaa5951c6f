/*
 * spool_publish - the result gets its name: OUT/FOLDER/X, by the folder of its inputs in in/.
 *
 * The part lies in OUT itself. Before it is renamed, the folders that it is to lie in are made, and
 * put on disk with all above them, those that are there too: whoever has made them may have been
 * killed before that. The rename is on disk once the new folder is.
 *
 * A result lies in no other: where FOLDER, or a folder above it, is one itself, a file or a link,
 * the name is X~ID, in OUT itself. Nothing is looked at or made through a link.
 *
 * To replace an earlier result the two folders change names in one step; which of them is the new
 * one shows in its inode number. A result that says in its result.json that it is of a younger job
 * of this spool is not replaced: the older one goes, as if it had been replaced at once.
 *
 * A part that is missing has been published, or OUT is not the folder that it lies in: a disk that
 * is not mounted. So a missing part is taken for published only where something says so: its name
 * leads to it; .work/ID/published, which follows the fsync of its folder; inputs that have left
 * .work/ID. The last two hold also when the result was taken away, or replaced by a later one,
 * before the inputs were archived; a later one is not let in its place until they are on disk.
 */
#include "watch/spool/spool_state.h"

#include "formats/base/log.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"
#include "watch/files/publish.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- names ------------------------------------------------------------------------------------ */

static bool is_in_one_folder(const char *a, const char *b)
{
    const size_t n = publish_folder_bytes(a);
    return n == publish_folder_bytes(b) && strncmp(a, b, n) == 0;
}

/* The text of result.json in an open folder, as much of it as there is room for; -1, with errno: it
 * cannot be read now. */
static int read_head(int folder, char *text, size_t bytes)
{
    struct stat st;
    text[0] = '\0';
    const int fd = beneath_open(folder, "result.json", O_RDONLY | O_NONBLOCK);
    if (fd < 0) {
        return spool_is_absent(errno) || errno == EACCES ? 0 : -1;
    }
    const bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    const ssize_t n = is_file ? pread(fd, text, bytes - 1, 0) : 0;
    beneath_close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n < 0 ? -1 : 0;
}

/* Whether the open folder is the result of a younger job: 1, or 0; -1, with errno: that cannot be
 * seen now. An id that is yet to come is none of this spool's. */
static int is_younger(const struct spool *s, int folder, const struct spool_job *job)
{
    char text[512];
    char id[SPOOL_ID_BYTES];
    struct timespec now;
    if (read_head(folder, text, sizeof(text)) != 0) {
        return -1;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t now_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    const int64_t last_us = now_us > s->last_id_us ? now_us : s->last_id_us;
    return sscanf(text, " { \"schema\" : %*d , \"leat\" : \"%*[^\"]\" , \"job\" : \"%22[0-9-]\"",
                  id) == 1 &&
           strcmp(id, job->id) > 0 && spool_id_time(id) >= 0 && spool_id_time(id) <= last_us;
}

/* Whether the folder of the result can hold none. What is not there yet can. */
static bool is_blocked(const struct spool *s, const char *result)
{
    size_t at;
    const int fd = publish_enter(s->out_fd, result, false, &at);
    const bool blocked = fd < 0 && publish_is_in_the_way(errno);
    beneath_close(fd);
    return blocked;
}

/* Names the result FOLDER/NAME, of the first n bytes of a path, or NAME. */
static void set_name(struct spool_job *job, const char *path, size_t n, const char *name)
{
    char *const result = xasprintf("%.*s%s%s", (int)n, path, n > 0 ? "/" : "", name);
    free(job->published);
    job->published = result;
}

/* X~ID, and so on, in the same folder. */
static void set_other_name(struct spool_job *job, const char *path, size_t n, unsigned count)
{
    char other[256];
    spool_other_name(job->stem, job->stem, job->id, count, other);
    set_name(job, path, n, other);
}

void spool_choose_name(const struct spool *s, struct spool_job *job)
{
    const size_t n = strlen(job->folder);
    job->replace = s->replace;
    set_name(job, job->folder, n, job->stem);
    if (is_blocked(s, job->published)) {
        set_other_name(job, "", 0, 1);
        return;
    }
    const int found = publish_find(s->out_fd, job->published);
    if (found == 0 || (found > 0 && !s->replace)) {
        set_other_name(job, job->folder, n, 1);
    }
}

/* Whether the folder at the path is the part that the job was committed with. */
static bool has_name(const struct spool *s, const struct spool_job *job, const char *path)
{
    struct stat st;
    const int fd = beneath_open(s->out_fd, path, O_PATH | O_DIRECTORY);
    const bool has = fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_ino == job->part_inode;
    beneath_close(fd);
    return has;
}

/* --- folders ---------------------------------------------------------------------------------- */

static void set_trouble(const struct spool *s, struct spool_job *job, int error, const char *what)
{
    char *const folder = xstrndup(job->published, publish_folder_bytes(job->published));
    spool_set_outcome_folder(job, error, what, s->out, folder);
    free(folder);
}

/* Whether the part is there; *st is its stat. False with errno. */
static bool find_part(const struct spool *s, const struct spool_job *job, struct stat *st)
{
    return fstatat(s->out_fd, spool_part(job->owner, job->id).name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The folder that the result is to lie in; where it cannot be had, the name is one in OUT. */
static void make_folder(const struct spool *s, struct spool_job *job)
{
    size_t at;
    const int fd = publish_enter(s->out_fd, job->published, true, &at);
    if (fd < 0 && publish_is_in_the_way(errno)) {
        set_other_name(job, "", 0, 1);
    } else if (fd < 0) {
        set_trouble(s, job, errno, "the folder of the result cannot be made");
    }
    beneath_close(fd);
}

/* fsync of every folder above FOLDER, which hold the names of those below them. */
static int sync_above(const struct spool *s, const char *result)
{
    int failed = 0;
    for (size_t n = publish_folder_bytes(result); n > 0 && failed == 0;) {
        while (--n > 0 && result[n] != '/') {
        }
        const int fd = publish_open_above(s->out_fd, result, n, O_RDONLY);
        failed = fd < 0 ? -1 : disk_sync("publish.folder", fd);
        beneath_close(fd);
    }
    return failed;
}

/* fsync of FOLDER. One that has been removed meanwhile holds nothing that could be lost. */
static int sync_folder(const struct spool *s, const char *result)
{
    const int fd = publish_open_above(s->out_fd, result, publish_folder_bytes(result), O_RDONLY);
    const int failed = fd >= 0 ? disk_sync("publish.out", fd) : errno == ENOENT ? 0 : -1;
    beneath_close(fd);
    return failed;
}

static bool is_seen(struct spool_job *const jobs[], size_t at)
{
    bool seen = false;
    for (size_t i = 0; i < at && !seen; i++) {
        seen = jobs[i]->folder_error == SPOOL_UNSYNCED &&
               is_in_one_folder(jobs[i]->published, jobs[at]->published);
    }
    return seen;
}

/* Of jobs whose folder_error is SPOOL_UNSYNCED: every folder once, or all at once where there are
 * many. 0, or the errno of one that could not be synced; its jobs have met it. */
static int sync_folders(const struct spool *s, struct spool_job *const jobs[], size_t n,
                        const char *step, int (*sync)(const struct spool *s, const char *result))
{
    size_t n_folders = 0;
    int error = 0;
    int met = 0;
    for (size_t i = 0; i < n; i++) {
        n_folders += jobs[i]->folder_error == SPOOL_UNSYNCED &&
                     publish_folder_bytes(jobs[i]->published) > 0 && !is_seen(jobs, i);
    }
    const bool shared = n_folders >= SPOOL_SHARES;
    if (shared) {
        error = disk_sync_all(step, s->out_fd) == 0 ? 0 : errno;
    }
    for (size_t i = 0; i < n; i++) {
        if (jobs[i]->folder_error != SPOOL_UNSYNCED) {
            continue;
        }
        if (!shared) {
            error = sync(s, jobs[i]->published) == 0 ? 0 : errno;
        }
        for (size_t k = n; k-- > i;) {
            if (jobs[k]->folder_error == SPOOL_UNSYNCED &&
                is_in_one_folder(jobs[i]->published, jobs[k]->published)) {
                jobs[k]->folder_error = error;
                if (error != 0) {
                    set_trouble(s, jobs[k], error, "the folder of the result cannot be synced");
                }
            }
        }
        met = error != 0 ? error : met;
    }
    return met;
}

/* Makes the folders of all jobs that have a part to be published, and puts them on disk. */
static void prepare_folders(const struct spool *s, struct spool_job *const jobs[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct spool_job *job = jobs[i];
        struct stat st;
        job->folder_error = 0;
        if (spool_is_at(job, SPOOL_COMMITTED) && !job->named && find_part(s, job, &st)) {
            make_folder(s, job);
            const bool is_made =
                job->outcome == SPOOL_OK && publish_folder_bytes(job->published) > 0;
            job->folder_error = is_made ? SPOOL_UNSYNCED : 0;
        }
    }
    (void)sync_folders(s, jobs, n, "publish.folder", sync_above);
}

/* --- publish ---------------------------------------------------------------------------------- */

/* Whether it has a name that set_other_name gives. */
static bool has_other_name(const struct spool *s, const struct spool_job *job, size_t n_folder)
{
    char other[256];
    char path[PATH_MAX];
    bool found = false;
    for (unsigned tries = 1; !found && tries < SPOOL_NAMES_TRIED; tries++) {
        spool_other_name(job->stem, job->stem, job->id, tries, other);
        snprintf(path, sizeof(path), "%.*s%s%s", (int)n_folder, job->published,
                 n_folder > 0 ? "/" : "", other);
        found = has_name(s, job, path);
    }
    return found;
}

/* Whether mark() has been there: 1, or 0; -1, with errno: that cannot be seen now. */
static int is_marked(const struct spool *s, const struct spool_job *job)
{
    struct stat st;
    const struct spool_path path = spool_path(job->id, "published");
    return fstatat(s->work_fd, path.text, &st, AT_SYMLINK_NOFOLLOW) == 0 ? 1
           : spool_is_absent(errno)                                      ? 0
                                                                         : -1;
}

/* Whether a younger job's result has its name: then it was replaced, by another service perhaps,
 * which knows nothing of this job, or would be. */
static bool was_replaced(const struct spool *s, const struct spool_job *job)
{
    const int fd =
        job->replace ? beneath_open(s->out_fd, job->published, O_PATH | O_DIRECTORY) : -1;
    const bool was = fd >= 0 && is_younger(s, fd, job) > 0;
    beneath_close(fd);
    return was;
}

/* Whether a part that is missing is known to have been published: 1; 0: it is not; -1, with errno:
 * the job's folder cannot be looked into now. */
static int was_published(struct spool *s, const struct spool_job *job)
{
    struct stat st;
    char path[SPOOL_ID_BYTES + 16 + 256];
    const size_t n_folder = publish_folder_bytes(job->published);
    bool found = job->n_files == 0 || has_name(s, job, job->published) ||
                 has_other_name(s, job, n_folder) || (n_folder > 0 && has_other_name(s, job, 0));
    found = found || is_marked(s, job) > 0 || was_replaced(s, job);
    for (size_t i = 0; !found && i < job->n_files; i++) {
        snprintf(path, sizeof(path), "%s/in/%s", job->id, job->files[i].name);
        if (fstatat(s->work_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            if (errno != ENOENT && errno != ENOTDIR) {
                return -1;
            }
            found = true;
        }
    }
    return found ? 1 : 0;
}

/* Calls .work/ID/in "published"; false, with errno: it cannot be. Then there is the name, as long
 * as the result keeps it. */
static bool mark(struct spool *s, const struct spool_job *job)
{
    return is_marked(s, job) > 0 ||
           disk_rename("publish.mark", s->work_fd, spool_path(job->id, "in").text, s->work_fd,
                       spool_path(job->id, "published").text) == 0;
}

/* Those of the jobs that have their name by now: on disk, and marked. 0, or an errno. */
static int settle(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    int unmarked = 0;
    for (size_t i = 0; i < n; i++) {
        jobs[i]->folder_error = spool_is_at(jobs[i], SPOOL_COMMITTED) ? SPOOL_UNSYNCED : 0;
    }
    const int error = sync_folders(s, jobs, n, "publish.out", sync_folder);
    for (size_t i = 0; i < n; i++) {
        struct spool_job *job = jobs[i];
        if (!spool_is_at(job, SPOOL_COMMITTED)) {
            continue;
        }
        const bool marked = mark(s, job);
        unmarked = marked ? unmarked : errno;
        /* What is left under the part's name now is an earlier result that was replaced; or one
         * that is outdated, of which the mark alone tells from now on. */
        const bool may_go =
            !job->outdated || (marked && disk_sync_all("publish.marks", s->work_fd) == 0);
        (void)spool_drop_state(s, job->id); /* else the next start does */
        if (!may_go || !spool_drop_part(s, job->owner, job->id)) {
            log_warning("'%s': a result that %s has replaced stays for now: %s", s->out,
                        job->published, strerror(errno));
        }
        job->state = SPOOL_PUBLISHED;
    }
    return error != 0 ? error : unmarked;
}

/* A part that gets its name; those before it have been published. */
struct naming {
    struct spool *s;
    struct spool_job *const *jobs;
    size_t at;
    uint64_t part_inode;
    bool *known; /* on disk, that those of earlier calls are */
};

/* Before jobs[at] replaces a result: whatever job that is of is known on disk to be published. */
static bool know_published(const struct naming *n)
{
    bool same = false;
    for (size_t i = 0; i < n->at; i++) {
        same = same || (spool_is_at(n->jobs[i], SPOOL_COMMITTED) &&
                        strcmp(n->jobs[i]->published, n->jobs[n->at]->published) == 0);
    }
    const int error = same ? settle(n->s, n->jobs, n->at) : 0;
    if (error != 0) {
        errno = error;
        return false;
    }
    *n->known = (*n->known && !same) || disk_sync_all("publish.marks", n->s->work_fd) == 0;
    return *n->known;
}

static int may_replace(void *user, int earlier_fd)
{
    const struct naming *const n = user;
    struct spool_job *const job = n->jobs[n->at];
    if (!job->replace || n->part_inode != job->part_inode) {
        return EEXIST;
    }
    const int younger = is_younger(n->s, earlier_fd, job);
    job->outdated = younger > 0;
    if (job->outdated) {
        log_info("'%s/%s' stays: it is of a younger job than %s, whose result is given up",
                 n->s->out, job->published, job->id);
        return ECANCELED;
    }
    return younger == 0 && know_published(n) ? 0 : errno;
}

/* The rename, under the first name that can be had. 0, or an errno. */
static int give_name(struct naming *n)
{
    struct spool_job *const job = n->jobs[n->at];
    const struct spool_part part = spool_part(job->owner, job->id);
    int error = EEXIST;
    for (unsigned tries = 1; error == EEXIST && tries <= SPOOL_NAMES_TRIED; tries++) {
        error = publish_give_name(n->s->out_fd, part.name, job->published, may_replace, n) == 0 ||
                        job->outdated
                    ? 0
                    : errno;
        if (error == EEXIST) {
            set_other_name(job, job->published, publish_folder_bytes(job->published), tries);
        }
    }
    return error;
}

/* Publishes jobs[at]; those before it have been. */
static void publish(struct spool *s, struct spool_job *const jobs[], size_t at, bool *known)
{
    struct spool_job *job = jobs[at];
    struct stat st;
    if (job->named) { /* and its folder was not put on disk; whatever has become of the name since
                       */
        return;
    }
    if (!find_part(s, job, &st)) {
        const int was = errno == ENOENT ? was_published(s, job) : -1;
        if (was < 0) {
            spool_set_outcome_errno(job, errno, "the result cannot be published");
        } else if (was == 0) {
            spool_set_outcome(job, SPOOL_TRANSIENT,
                              "its result, '%s', is not in '%s': is another folder mounted there?",
                              spool_part(job->owner, job->id).name, s->out);
        }
        return;
    }
    /* What is left under the part's name is not the result any more: names were exchanged, or it is
     * half removed. */
    const int marked = is_marked(s, job);
    if (marked > 0 || (job->replace && has_name(s, job, job->published))) {
        return;
    }
    struct naming naming = {s, jobs, at, (uint64_t)st.st_ino, known};
    const int error = marked < 0 ? errno : give_name(&naming);
    job->named = error == 0;
    if (error != 0) {
        set_trouble(s, job, error, "the result cannot be published");
    }
}

void spool_publish(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    bool known = false;
    for (size_t i = 0; i < n; i++) {
        (void)spool_enter_step(jobs[i], SPOOL_COMMITTED);
    }
    prepare_folders(s, jobs, n);
    for (size_t i = 0; i < n; i++) {
        if (spool_is_at(jobs[i], SPOOL_COMMITTED)) {
            publish(s, jobs, i, &known);
        }
    }
    const int error = settle(s, jobs, n);
    if (error != 0) {
        log_debug("'%s': results are not marked as published: %s", s->root, strerror(error));
    }
}
