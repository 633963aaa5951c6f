/*
 * spool_keep - what done/ and failed/ keep: files and failed jobs that are too old, or too many
 * bytes, are removed, the oldest first. Old is what has been there for long: the time of the last
 * change (ctime), which moving it there has set and nobody can.
 *
 * A failed job is renamed to .ID.gone before it is taken apart, so that what a crash leaves of it
 * is no failed job, and is known by its name. Who wants a failed job for himself (this, a retry)
 * locks its folder. Nothing here follows a link, goes to another file system, or touches what has a
 * name that begins with a dot.
 */
#include "watch/spool/spool_state.h"

#include "watch/files/beneath.h"
#include "watch/files/disk.h"
#include "watch/files/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum {
    OLDEST = 8192, /* of the files that one sweep may remove */
    DEPTH = 64     /* folders in one another */
};
static const char gone[] = ".gone";

struct entry {
    int64_t changed_ns;
    uint64_t bytes;
    ino_t inode;
    char *path; /* owned; below done/ or failed/ */
};

/* What one of the two folders holds. */
struct holding {
    struct spool *spool;
    struct spool_sweep *sweep;
    int fd; /* borrowed */
    dev_t device;
    struct entry entries[2 * OLDEST]; /* the oldest, and some more */
    size_t n, n_all;
    uint64_t bytes;     /* of all */
    uint64_t job_bytes; /* of the failed job that is looked at */
};

static void note_error(struct spool_sweep *sweep, const char *folder, const char *path, int error)
{
    if (sweep->n_errors++ == 0) {
        snprintf(sweep->why, sizeof(sweep->why), "'%s/%.160s': %s", folder, path, strerror(error));
    }
}

static bool is_stopped(const struct spool_sweep *sweep)
{
    return sweep->stop != NULL && atomic_load(sweep->stop);
}

/* --- what is there ---------------------------------------------------------------------------- */

static int64_t changed_ns(const struct stat *st)
{
    return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

/* Whether it is what was found there. */
static bool is_entry(const struct stat *st, const struct entry *entry)
{
    return st->st_ino == entry->inode && changed_ns(st) == entry->changed_ns;
}

static int by_age(const void *a, const void *b)
{
    const struct entry *const x = a, *const y = b;
    return x->changed_ns < y->changed_ns   ? -1
           : x->changed_ns > y->changed_ns ? 1
                                           : strcmp(x->path, y->path);
}

/* Sorts, and forgets all but the oldest. */
static void trim(struct holding *h)
{
    qsort(h->entries, h->n, sizeof(h->entries[0]), by_age);
    while (h->n > OLDEST) {
        free(h->entries[--h->n].path);
    }
}

static void add(struct holding *h, const char *path, const struct stat *st, uint64_t bytes)
{
    h->n_all++;
    h->bytes += bytes;
    if (h->n == sizeof(h->entries) / sizeof(h->entries[0])) {
        trim(h);
    }
    h->entries[h->n++] = (struct entry){changed_ns(st), bytes, st->st_ino, xstrdup(path)};
}

static void holding_free(struct holding *h)
{
    for (size_t i = 0; i < h->n; i++) {
        free(h->entries[i].path);
    }
    free(h);
}

static DIR *open_folder(int at_fd, const char *path)
{
    const int fd = beneath_open(at_fd, path, O_RDONLY | O_DIRECTORY);
    DIR *const folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        beneath_close(fd);
    }
    return folder;
}

/* Opens done/FOLDER of done/FOLDER/NAME; *name is NAME in path. */
static int open_parent(int done_fd, const char *path, const char **name)
{
    const char *const slash = strrchr(path, '/');
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%.*s", slash != NULL ? (int)(slash - path) : 0, path);
    *name = slash != NULL ? slash + 1 : path;
    return beneath_open(done_fd, folder, O_RDONLY | O_DIRECTORY);
}

/* Removes done/PATH and what is above it, as long as these are empty folders of the service.
 * Meanwhile nothing is archived: an input may be on its way to such a folder. */
static void remove_empty(struct spool *s, const char *path)
{
    const int done_fd = s->done_fd;
    char at[PATH_MAX];
    struct stat st;
    bool removed = true;
    snprintf(at, sizeof(at), "%s", path);
    pthread_mutex_lock(&s->archiving);
    while (removed && at[0] != '\0') {
        const char *name;
        const int fd = beneath_open(done_fd, at, O_RDONLY | O_DIRECTORY);
        const int above = open_parent(done_fd, at, &name);
        removed = fd >= 0 && above >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
                  disk_remove_folder("keep.folder", above, name) == 0;
        beneath_close(fd);
        beneath_close(above);
        at[name > at ? name - at - 1 : 0] = '\0';
    }
    pthread_mutex_unlock(&s->archiving);
}

/* All regular files of done/PATH, unless it cannot be written: they would take the place of others
 * that can be removed. `path` has room for PATH_MAX bytes, and is as it was afterwards. */
static void look(struct holding *h, char *path, int depth)
{
    const size_t length = strlen(path);
    struct dirent *e;
    struct stat st;
    DIR *const folder = open_folder(h->fd, path);
    if (folder == NULL) {
        if (errno != ENOENT) {
            note_error(h->sweep, "done", path, errno);
        }
        return;
    }
    const int blocked = faccessat(dirfd(folder), ".", W_OK | X_OK, AT_EACCESS) != 0 ? errno : 0;
    while (!is_stopped(h->sweep) && (e = readdir(folder)) != NULL) {
        if (e->d_name[0] == '.' ||
            fstatat(dirfd(folder), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            st.st_dev != h->device) {
            continue;
        }
        const int n =
            snprintf(path + length, PATH_MAX - length, "%s%s", length > 0 ? "/" : "", e->d_name);
        if (n < 0 || (size_t)n >= PATH_MAX - length) {
            note_error(h->sweep, "done", e->d_name, ENAMETOOLONG);
        } else if (S_ISDIR(st.st_mode) && depth > 0) {
            look(h, path, depth - 1);
        } else if (S_ISREG(st.st_mode) && blocked != 0) {
            note_error(h->sweep, "done", path, blocked);
        } else if (S_ISREG(st.st_mode)) {
            add(h, path, &st, (uint64_t)st.st_size);
        }
        path[length] = '\0';
    }
    closedir(folder);
    if (!is_stopped(h->sweep)) {
        remove_empty(h->spool, path);
    }
}

/* --- done/ ------------------------------------------------------------------------------------ */

/* That it is not there any more, or another one is, is fine. */
static void remove_input(struct holding *h, const struct entry *entry)
{
    const char *name;
    struct stat st;
    const int fd = open_parent(h->fd, entry->path, &name);
    const bool is_there = fd >= 0 && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                          S_ISREG(st.st_mode) && is_entry(&st, entry);
    if (is_there && disk_unlink("keep.input", fd, name) == 0) {
        h->sweep->n_inputs++;
        h->sweep->bytes += entry->bytes;
        entry->path[name > entry->path ? name - entry->path - 1 : 0] = '\0';
        remove_empty(h->spool, entry->path);
    } else if (is_there || (fd < 0 && errno != ENOENT)) {
        note_error(h->sweep, "done", entry->path, errno);
    }
    beneath_close(fd);
}

/* --- failed/ ---------------------------------------------------------------------------------- */

/* Whether the name is that of a failed job: ID, or ID~2. */
static bool is_job(const char *name)
{
    char id[SPOOL_ID_BYTES];
    snprintf(id, sizeof(id), "%s", name);
    return spool_id_time(id) >= 0 && (name[strlen(id)] == '\0' || name[strlen(id)] == '~');
}

/* Whether it is what a sweep that was cut short has left: .ID.gone */
static bool is_left(const char *name)
{
    const size_t length = strlen(name);
    const size_t n_end = sizeof(gone) - 1;
    char job[NAME_MAX + 1] = "";
    if (name[0] == '.' && length > n_end && strcmp(name + length - n_end, gone) == 0) {
        snprintf(job, sizeof(job), "%.*s", (int)(length - n_end - 1), name + 1);
    }
    return is_job(job);
}

static int count_bytes(void *user, int at_fd, const char *name, const char *path, bool is_folder)
{
    struct holding *const h = user;
    struct stat st;
    (void)path;
    if (fstatat(at_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? 0 : -1;
    }
    if (st.st_dev != h->device) {
        errno = EXDEV;
        return -1;
    }
    h->job_bytes += is_folder ? 0 : (uint64_t)st.st_size;
    return is_stopped(h->sweep) ? 1 : 0;
}

static void look_at_job(struct holding *h, const char *name, const struct stat *st)
{
    h->job_bytes = 0;
    const int fd = beneath_open(h->fd, name, O_RDONLY | O_DIRECTORY);
    const int result = fd >= 0 ? disk_walk(fd, DEPTH, count_bytes, h) : -1;
    if (result < 0 && errno != ENOENT) {
        note_error(h->sweep, "failed", name, errno);
    } else if (result == 0) {
        add(h, name, st, h->job_bytes);
    }
    beneath_close(fd);
}

/* What a sweep that was cut short has left goes; of jobs, where asked for, it is seen how old and
 * large they are. */
static void look_at_jobs(struct holding *h, bool is_asked)
{
    struct dirent *e;
    struct stat st;
    DIR *const folder = open_folder(h->fd, "");
    if (folder == NULL) {
        note_error(h->sweep, "failed", "", errno);
        return;
    }
    while (!is_stopped(h->sweep) && (e = readdir(folder)) != NULL) {
        if (is_left(e->d_name)) {
            if (disk_remove_tree("keep.left", h->fd, e->d_name) != 0) {
                note_error(h->sweep, "failed", e->d_name, errno);
            }
        } else if (is_asked && is_job(e->d_name) &&
                   fstatat(h->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISDIR(st.st_mode) && st.st_dev == h->device) {
            look_at_job(h, e->d_name, &st);
        }
    }
    closedir(folder);
}

bool spool_lock_failed(int job_fd)
{
    return flock(job_fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

static void remove_job(struct holding *h, const struct entry *entry)
{
    char left[NAME_MAX + 1];
    struct stat st;
    const int fd = beneath_open(h->fd, entry->path, O_RDONLY | O_DIRECTORY);
    snprintf(left, sizeof(left), ".%.*s%s", SPOOL_ID_BYTES + 16, entry->path, gone);
    if (fd >= 0 && spool_lock_failed(fd) && fstat(fd, &st) == 0 && is_entry(&st, entry)) {
        if (disk_rename("keep.failed", h->fd, entry->path, h->fd, left) != 0) {
            note_error(h->sweep, "failed", entry->path, errno);
        } else {
            h->sweep->n_jobs++;
            h->sweep->bytes += entry->bytes;
            if (disk_remove_tree("keep.left", h->fd, left) != 0) {
                note_error(h->sweep, "failed", left, errno);
            }
        }
    }
    beneath_close(fd);
}

/* --- the sweep -------------------------------------------------------------------------------- */

static bool must_go(const struct entry *entry, const struct spool_keep *keep, int64_t now_ns,
                    uint64_t bytes)
{
    const int64_t age_ns = now_ns - entry->changed_ns;
    return (keep->age_s > 0 && age_ns > 0 && (uint64_t)age_ns / 1000000000 >= keep->age_s) ||
           (keep->bytes > 0 && bytes > keep->bytes);
}

/* The oldest first. What cannot be removed counts no longer: others do not go in its place. Where
 * nothing can be removed, another sweep would do no better. */
static void remove_oldest(struct holding *h, const struct spool_keep *keep,
                          void (*remove_one)(struct holding *h, const struct entry *entry))
{
    const size_t n_before = h->sweep->n_inputs + h->sweep->n_jobs;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    size_t i = 0;
    trim(h);
    while (i < h->n && must_go(&h->entries[i], keep, now_ns, h->bytes) && !is_stopped(h->sweep)) {
        h->bytes -= h->entries[i].bytes;
        remove_one(h, &h->entries[i++]);
    }
    h->sweep->more = h->sweep->more || (i == h->n && h->n_all > h->n &&
                                        h->sweep->n_inputs + h->sweep->n_jobs > n_before);
}

static struct holding *holding_new(struct spool *s, struct spool_sweep *sweep, int fd)
{
    struct stat st;
    struct holding *const h = xcalloc(1, sizeof(*h));
    h->spool = s;
    h->sweep = sweep;
    h->fd = fd;
    h->device = fstat(fd, &st) == 0 ? st.st_dev : 0;
    return h;
}

static bool is_bounded(const struct spool_keep *keep)
{
    return keep->age_s > 0 || keep->bytes > 0;
}

void spool_sweep(struct spool *s, struct spool_sweep *sweep)
{
    if (is_bounded(&sweep->done)) {
        char path[PATH_MAX] = "";
        struct holding *const h = holding_new(s, sweep, s->done_fd);
        look(h, path, DEPTH);
        remove_oldest(h, &sweep->done, remove_input);
        holding_free(h);
    }
    if (!is_stopped(sweep)) {
        struct holding *const h = holding_new(s, sweep, s->failed_fd);
        look_at_jobs(h, is_bounded(&sweep->failed));
        remove_oldest(h, &sweep->failed, remove_job);
        holding_free(h);
    }
}
