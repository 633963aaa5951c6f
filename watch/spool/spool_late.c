/*
 * spool_late - files that come when the job that they belong to has been claimed: taken to it while
 * it has not been attempted, else put away. Both are one rename: a file that is in .work/ID/in is
 * of the job, whether or not its record says so yet (spool_recover).
 */
#include "watch/spool/spool_state.h"

#include "formats/base/log.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Moves the file; 0, or -1 with errno: ENOENT also where another one has its name now, which is of
 * the next drop. */
static int move(const char *step, int from, const char *name, uint64_t inode, int to,
                const char *new)
{
    struct stat st;
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (uint64_t)st.st_ino != inode) {
        errno = ENOENT;
        return -1;
    }
    return disk_rename(step, from, name, to, new);
}

void spool_add_late(struct spool_job *job, const char *name, uint64_t inode)
{
    job->late = xrealloc(job->late, job->n_late + 1, sizeof(*job->late));
    job->late[job->n_late++] = (struct spool_file){.name = xstrdup(name), .inode = inode};
    job->state = SPOOL_UNVERIFIED;
}

/* A file of .work/ID/in that the job's record does not name. */
static void append_file(struct spool_job *job, const char *name, const struct stat *st)
{
    job->files = xrealloc(job->files, job->n_files + 1, sizeof(*job->files));
    job->files[job->n_files++] = spool_file_of(xstrdup(name), st);
    job->changed = true;
}

void spool_forget_late(struct spool_job *job)
{
    while (job->n_late > 0) {
        free(job->late[--job->n_late].name);
    }
    free(job->late);
    job->late = NULL;
}

void spool_adopt_late(struct spool_job *job, int in_fd, const struct spool_names *inside)
{
    const size_t n_recorded = job->n_files;
    for (size_t i = 0; i < inside->n; i++) {
        struct stat st;
        size_t k = 0;
        while (k < n_recorded && strcmp(job->files[k].name, inside->names[i]) != 0) {
            k++;
        }
        if (k == n_recorded && fstatat(in_fd, inside->names[i], &st, AT_SYMLINK_NOFOLLOW) == 0) {
            append_file(job, inside->names[i], &st);
        }
    }
}

bool spool_take_late(struct spool *s, struct spool_job *job)
{
    const int from = beneath_open(s->in_fd, job->folder, O_RDONLY | O_DIRECTORY);
    const int to = spool_open_inputs(s, job->id);
    const int error = errno; /* where one of them could not be opened */
    const size_t n_files = job->n_files;
    size_t n_left = 0;
    for (size_t i = 0; i < job->n_late; i++) {
        struct stat st;
        const struct spool_file late = job->late[i];
        char *const name = late.name;
        errno = error;
        if (from >= 0 && to >= 0 && move("late.take", from, name, late.inode, to, name) == 0 &&
            fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            append_file(job, name, &st);
        } else if (!spool_is_absent(errno)) {
            log_warning("job %s: '%s', which came late, cannot be taken to it: %s", job->id, name,
                        strerror(errno));
            job->late[n_left++] = late;
            continue;
        }
        free(name);
    }
    job->n_late = n_left;
    beneath_close(to);
    beneath_close(from);
    return job->n_files > n_files;
}

enum status spool_put_away(struct spool *s, const char *folder, const char *name, uint64_t inode)
{
    char now[256], id[SPOOL_ID_BYTES];
    const int from = beneath_open(s->in_fd, folder, O_RDONLY | O_DIRECTORY);
    enum status code = STATUS_OK;
    pthread_mutex_lock(&s->archiving);
    const int to = disk_make_folders("late.folder", s->done_fd, folder, 0777, true);
    int failed = from >= 0 && to >= 0 ? move("late.away", from, name, inode, to, name) : -1;
    for (unsigned i = 1; failed != 0 && to >= 0 && errno == EEXIST && i <= SPOOL_NAMES_TRIED; i++) {
        spool_make_id(s, id);
        spool_other_name(name, "", id, 1, now);
        failed = move("late.away", from, name, inode, to, now);
    }
    if (failed == 0) {
        failed = disk_sync("late.left", from) != 0 ? -1 : disk_sync("late.done", to);
    }
    if (failed != 0) {
        code = spool_is_absent(errno)
                   ? status_fail(STATUS_NOT_FOUND, "'%s' has gone", name)
                   : status_fail_errno(errno, "'%s' cannot be moved to '%s/done'", name, s->root);
    }
    beneath_close(to);
    pthread_mutex_unlock(&s->archiving);
    beneath_close(from);
    return code;
}
