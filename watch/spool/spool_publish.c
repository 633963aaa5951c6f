/*
 * spool_publish - a committed part gets its name in OUT.
 *
 * To replace an earlier result the two folders change names in one step; which of them is the new
 * one shows in its inode number.
 *
 * A part that is missing has been published, or OUT is not the folder that it lies in: a disk that
 * is not mounted. So a missing part is taken for published only where something says so: its name
 * leads to it; .work/ID/published, which follows the fsync of OUT; inputs that have left .work/ID.
 * The last two hold also when the result was taken away, or replaced by a later one, before the
 * inputs were archived; a later one is not let in its place until they are on disk.
 */
#include "watch/spool/spool_state.h"

#include "formats/base/log.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool spool_is_result(struct spool *s, const char *name)
{
    struct stat st;
    int fd = beneath_open(s->out_fd, name, O_RDONLY | O_DIRECTORY);
    bool found =
        fd >= 0 && fstatat(fd, "result.json", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
    beneath_close(fd);
    return found;
}

/* The part takes the place of an earlier result, which becomes the part; where names cannot be
 * exchanged in one step, the earlier one steps aside first. */
static int replace(struct spool *s, const struct spool_job *job, const char *part)
{
    char old[SPOOL_ID_BYTES + 8];
    if (disk_exchange("publish.exchange", s->out_fd, part, job->published) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return -1;
    }
    snprintf(old, sizeof(old), ".%s.old", job->id);
    return disk_rename("publish.aside", s->out_fd, job->published, s->out_fd, old) == 0
               ? disk_rename("publish.name", s->out_fd, part, s->out_fd, job->published)
               : -1;
}

/* Whether OUT/name is the part that the job was committed with. */
static bool has_name(struct spool *s, const struct spool_job *job, const char *name)
{
    struct stat st;
    return fstatat(s->out_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
           (uint64_t)st.st_ino == job->part_inode;
}

/* Whether a part that is missing is known to have been published: 1; 0: it is not; -1, with errno:
 * the job's folder cannot be looked into now. */
static int was_published(struct spool *s, const struct spool_job *job)
{
    struct stat st;
    char path[SPOOL_ID_BYTES + 16 + 256];
    char other[256];
    bool found = job->n_files == 0 || has_name(s, job, job->published);
    for (unsigned tries = 1; !found && tries < SPOOL_NAMES_TRIED; tries++) {
        spool_other_name(job->stem, job->stem, job->id, tries, other);
        found = has_name(s, job, other);
    }
    snprintf(path, sizeof(path), "%s/published", job->id);
    found = found || fstatat(s->work_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
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

/* Leaves .work/ID/published; false, with errno: it cannot be. Then there is the name, as long as
 * the result keeps it. */
static bool mark(struct spool *s, const struct spool_job *job)
{
    int fd = spool_open_work(s->work_fd, job->id, "");
    bool done = fd >= 0 && disk_append("publish.mark", fd, "published", "\n", 1) == 0;
    beneath_close(fd);
    return done;
}

/* Those of the jobs that have their name by now: on disk, and marked. 0, or an errno. */
static int settle(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    const size_t count = spool_count(jobs, n, SPOOL_COMMITTED);
    const int error = count > 0 && disk_sync("publish.out", s->out_fd) != 0 ? errno : 0;
    int unmarked = 0;
    for (size_t i = 0; i < n; i++) {
        struct spool_job *job = jobs[i];
        if (!spool_is_at(job, SPOOL_COMMITTED)) {
            continue;
        }
        if (error != 0) {
            spool_set_outcome_errno(job, error, "the output folder cannot be synced");
            continue;
        }
        unmarked = mark(s, job) ? unmarked : errno;
        /* What is left under the part's name now is an earlier result that was replaced. */
        if (!spool_drop_part(s, job->id)) {
            log_warning("'%s': an earlier result stays for now as '.%s': %s", s->out, job->id,
                        strerror(errno));
        }
        job->state = SPOOL_PUBLISHED;
    }
    return error != 0 ? error : unmarked;
}

/* Before jobs[at] replaces a result: whatever job that is of is known on disk to be published.
 * *known: those of earlier calls are. */
static bool may_replace(struct spool *s, struct spool_job *const jobs[], size_t at, bool *known)
{
    bool same = false;
    for (size_t i = 0; i < at; i++) {
        same = same || (spool_is_at(jobs[i], SPOOL_COMMITTED) &&
                        strcmp(jobs[i]->published, jobs[at]->published) == 0);
    }
    const int error = same ? settle(s, jobs, at) : 0;
    if (error != 0) {
        errno = error;
        return false;
    }
    *known = (*known && !same) || disk_sync_all("publish.marks", s->work_fd) == 0;
    return *known;
}

/* Publishes jobs[at]; those before it have been. */
static void publish(struct spool *s, struct spool_job *const jobs[], size_t at, bool *known)
{
    struct spool_job *job = jobs[at];
    struct stat st;
    char part[SPOOL_ID_BYTES + 8];
    char other[256];
    if (job->named) { /* and OUT was not put on disk; whatever has become of the name since */
        return;
    }
    spool_part_name(job->id, part);
    if (fstatat(s->out_fd, part, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        const int was = errno == ENOENT ? was_published(s, job) : -1;
        if (was < 0) {
            spool_set_outcome_errno(job, errno, "the result cannot be published");
        } else if (was == 0) {
            spool_set_outcome(job, SPOOL_TRANSIENT,
                              "its result, '%s', is not in '%s': is another folder mounted there?",
                              part, s->out);
        }
        return;
    }
    if (job->replace && has_name(s, job, job->published)) { /* names were exchanged by then */
        return;
    }
    int error = 0;
    for (unsigned tries = 1;; tries++) {
        if (disk_rename("publish.name", s->out_fd, part, s->out_fd, job->published) == 0) {
            job->named = true;
            return;
        }
        error = errno;
        if (error == EEXIST && job->replace && spool_is_result(s, job->published) &&
            (uint64_t)st.st_ino == job->part_inode) {
            if (may_replace(s, jobs, at, known) && replace(s, job, part) == 0) {
                job->named = true;
                return;
            }
            error = errno;
        }
        if (error != EEXIST || tries == SPOOL_NAMES_TRIED) {
            break;
        }
        spool_other_name(job->stem, job->stem, job->id, tries, other);
        char *copy = strdup(other);
        if (copy == NULL) {
            error = ENOMEM;
            break;
        }
        free(job->published);
        job->published = copy;
    }
    spool_set_outcome_errno(job, error, "the result cannot be published");
}

void spool_publish(struct spool *s, struct spool_job *const jobs[], size_t n)
{
    bool known = false;
    for (size_t i = 0; i < n; i++) {
        if (spool_enter_step(jobs[i], SPOOL_COMMITTED)) {
            publish(s, jobs, i, &known);
        }
    }
    const int error = settle(s, jobs, n);
    if (error != 0) {
        log_debug("'%s': results are not marked as published: %s", s->root, strerror(error));
    }
}
