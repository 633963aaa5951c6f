/*
 * publish_part - see publish_part.h.
 */
#include "watch/files/publish_part.h"

#include "formats/base/file_system.h"
#include "formats/base/log.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"
#include "watch/files/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* --- the output folder ------------------------------------------------------------------------ */

static enum status make_folders(char *path, bool *made)
{
    for (char *p = path + 1;; p++) {
        bool end = *p == '\0';
        if (end || *p == '/') {
            *p = '\0';
            int failed = mkdir(path, 0777);
            int error = errno;
            if (!end) {
                *p = '/';
            }
            if (failed != 0 && error != EEXIST) {
                return status_fail_errno(error, "cannot make the output folder '%s'", path);
            }
            *made = failed == 0;
        }
        if (end) {
            return STATUS_OK;
        }
    }
}

/* Whoever has it open holds a shared lock on it, so that nobody removes it meanwhile. Nobody waits
 * for a lock: who removes it has one for an instant, and whoever keeps such a lock for longer has
 * no business with it. */
static enum status open_shared(const char *path, int *fd, bool *made)
{
    enum { MOST_TRIES = 100 };
    const struct timespec instant = {.tv_nsec = 1000000};
    char copy[PATH_MAX];
    struct stat st;
    for (int i = 0;; i++) { /* once more when it has gone before it was locked */
        strcpy(copy, path);
        STATUS_TRY(make_folders(copy, made));
        *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (*fd < 0) {
            return status_fail_errno(errno, "cannot open the output folder '%s'", path);
        }
        const bool is_locked = flock(*fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        if ((is_locked || i >= MOST_TRIES) && fstat(*fd, &st) == 0 && st.st_nlink > 0) {
            return STATUS_OK;
        }
        close(*fd);
        nanosleep(&instant, NULL);
    }
}

enum status publish_open_output(const char *path, int *fd, bool *made)
{
    *fd = -1;
    *made = false;
    if (path[0] == '\0' || strlen(path) >= PATH_MAX) {
        return status_fail(STATUS_BAD_ARGUMENT, "the output folder's name is empty or too long");
    }
    STATUS_TRY(open_shared(path, fd, made));
    if (faccessat(*fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        int error = errno;
        close(*fd);
        *fd = -1;
        return status_fail_errno(error, "the output folder '%s' cannot be written", path);
    }
    return STATUS_OK;
}

void publish_close_output(const char *path, int fd, bool made)
{
    if (fd < 0) {
        return;
    }
    if (made && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        (void)rmdir(path); /* fails where it holds something */
    }
    close(fd);
}

/* --- what is there ---------------------------------------------------------------------------- */

/* What publish_enter has met, with its errno. */
static enum status refuse_folder(const char *result, size_t n)
{
    const int error = errno;
    return publish_is_in_the_way(error)
               ? status_fail(
                     STATUS_EXISTS,
                     "the result '%s' cannot lie in '%.*s' in the output folder, which is %s; move "
                     "that away, or choose another --output",
                     result, (int)n, result, error == EEXIST ? "a result itself" : "not a folder")
               : status_fail_errno(error, "cannot open '%.*s', for the result '%s'", (int)n, result,
                                   result);
}

int publish_open_result(int out_fd, const char *result)
{
    size_t at;
    const int folder = publish_enter(out_fd, result, false, &at);
    const int fd =
        folder >= 0 ? beneath_open(folder, publish_last_name(result), O_RDONLY | O_DIRECTORY) : -1;
    beneath_close(folder);
    return fd;
}

/* publish_vacant, in the open FOLDER. */
static enum status vacant_in(int fd, const char *result, bool replace)
{
    const int found = publish_find(fd, publish_last_name(result));
    if (found < 0) {
        return errno == ENOENT
                   ? STATUS_OK
                   : status_fail_errno(errno, "cannot look for an earlier result '%s'", result);
    }
    if (found == 0) {
        return status_fail(
            STATUS_EXISTS,
            "'%s' in the output folder is not a result of leat and is left alone; move it "
            "away, or choose another --output",
            result);
    }
    return replace ? STATUS_OK
                   : status_fail(STATUS_EXISTS,
                                 "a result named '%s' is already in the output folder; --resume "
                                 "skips what is done, --force replaces it",
                                 result);
}

enum status publish_vacant(int out_fd, const char *result, bool replace)
{
    size_t at;
    const int fd = publish_enter(out_fd, result, false, &at);
    if (fd < 0) {
        return errno == ENOENT ? STATUS_OK : refuse_folder(result, at);
    }
    const enum status code = vacant_in(fd, result, replace);
    close(fd);
    return code;
}

/* With a lock, so that publish_sweep leaves it to this process. What tells that it is a result goes
 * first: if the rest is cut off publish_sweep ends it. */
static void remove_folder(int out_fd, const char *name)
{
    const int fd = beneath_open(out_fd, name, O_RDONLY | O_DIRECTORY);
    if (fd >= 0) {
        (void)flock(fd, LOCK_EX | LOCK_NB);
        (void)disk_unlink("publish.drop", fd, "result.json");
    }
    if (disk_remove_tree("publish.drop", out_fd, name) != 0) {
        log_warning("left behind in the output folder: '%s' (%s)", name, strerror(errno));
    }
    beneath_close(fd);
}

/* --- names of hidden folders ------------------------------------------------------------------ */

/* Who makes a part folder. */
struct maker {
    char host[33];
    unsigned boot; /* of the kernel's boot_id, and of which numbers processes have; 0: not known */
    long process;
};

static struct maker this_process(void)
{
    struct maker m = {.process = (long)getpid()};
    struct utsname u = {.nodename = "host"};
    (void)uname(&u);
    snprintf(m.host, sizeof(m.host), "%.32s", u.nodename);
    m.host[strcspn(m.host, ".")] = '\0';
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f != NULL) {
        struct stat numbers;
        if (fscanf(f, "%8x", &m.boot) != 1 || stat("/proc/self/ns/pid", &numbers) != 0) {
            m.boot = 0;
        } else {
            m.boot ^= (unsigned)numbers.st_ino; /* a container has numbers of its own */
        }
        fclose(f);
    }
    return m;
}

/* .leat.HOST.BOOT.PROCESS.RANDOM.part; false, with errno, without a random number. */
static bool name_hidden(char *out, size_t size)
{
    unsigned long long random;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        return false;
    }
    const struct maker m = this_process();
    snprintf(out, size, ".leat.%s.%08x.%ld.%016llx.part", m.host, m.boot, m.process, random);
    return true;
}

/* Whether the name is one of these, with that ending; then by whom. */
static bool is_hidden(const char *name, const char *ending, struct maker *out)
{
    int end = 0;
    *out = (struct maker){0};
    (void)sscanf(name, ".leat.%32[^.].%8x.%ld.%*16[0-9a-f].%n", out->host, &out->boot,
                 &out->process, &end);
    return end > 0 && strcmp(name + end, ending) == 0;
}

/* --- what runs that were killed have left ----------------------------------------------------- */

enum { OLD_S = 60, VERY_OLD_S = 24 * 60 * 60 };

enum part_state { PART_IN_USE, PART_LEFT, PART_UNKNOWN };

/* A process of this kernel lives, or not, as long as no other has its number. Besides, whoever
 * makes a part folder holds its lock until it ends, however it ends. That is to be seen by all who
 * share a kernel: everybody on a local file system, and on a network's those of this boot. Others'
 * locks may hold on their machine alone, so theirs are PART_UNKNOWN. */
static enum part_state part_state_of(int out_fd, int fd, const struct maker *m, time_t age_s)
{
    const struct maker own = this_process();
    const bool own_kernel = m->boot == own.boot && m->boot != 0 && strcmp(m->host, own.host) == 0;
    if (own_kernel && kill((pid_t)m->process, 0) != 0 && errno == ESRCH) {
        return PART_LEFT;
    }
    if (age_s <= OLD_S) {
        return PART_IN_USE; /* its lock may be taken yet */
    }
    if (!own_kernel && file_system_network(out_fd) != NULL) {
        return PART_UNKNOWN;
    }
    return flock(fd, LOCK_EX | LOCK_NB) == 0    ? PART_LEFT
           : errno == EWOULDBLOCK || own_kernel ? PART_IN_USE
                                                : PART_UNKNOWN; /* no locks here */
}

/* Folders of one kind that the log is to speak of. */
struct told {
    size_t n;
    char first[NAME_MAX + 1];
};

struct sweep {
    struct told unknown, aside;
};

static void add_told(struct told *told, const char *name)
{
    if (told->n++ == 0) {
        snprintf(told->first, sizeof(told->first), "%s", name);
    }
}

static void sweep_entry(int out_fd, const char *name, struct sweep *sweep)
{
    struct maker m;
    struct stat st;
    const bool is_part = is_hidden(name, "part", &m);
    if (!is_part && !is_hidden(name, "old", &m)) {
        return;
    }
    int fd = openat(out_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    const time_t age_s = fstat(fd, &st) == 0 ? time(NULL) - st.st_mtime : 0;
    const enum part_state state = part_state_of(out_fd, fd, &m, age_s);
    close(fd);
    if (!is_part && publish_find(out_fd, name) > 0) {
        if (state != PART_IN_USE) {
            add_told(&sweep->aside, name);
        }
    } else if (state == PART_LEFT) {
        log_info("removing '%s' from the output folder: left by a run that was killed", name);
        remove_folder(out_fd, name);
    } else if (state == PART_UNKNOWN && age_s > VERY_OLD_S) {
        add_told(&sweep->unknown, name);
    }
}

void publish_sweep(int out_fd)
{
    struct sweep sweep = {0};
    struct dirent **entries;
    const int n = scandirat(out_fd, ".", &entries, NULL, NULL);
    for (int i = 0; i < n; i++) {
        sweep_entry(out_fd, entries[i]->d_name, &sweep);
        free(entries[i]);
    }
    if (n >= 0) {
        free(entries);
    }
    if (sweep.unknown.n > 0) {
        log_info("%zu unfinished result%s in the output folder, older than a day, '%s' first: "
                 "remove them if leat does not run any more where they come from",
                 sweep.unknown.n, sweep.unknown.n == 1 ? "" : "s", sweep.unknown.first);
    }
    if (sweep.aside.n > 0) {
        log_warning("%zu earlier result%s in the output folder whose replacement was cut off, "
                    "'%s' first: rename or remove them",
                    sweep.aside.n, sweep.aside.n == 1 ? "" : "s", sweep.aside.first);
    }
}

/* --- one folder ------------------------------------------------------------------------------- */

enum status publish_begin(int out_fd, const char *result, const char *part, struct publish *p)
{
    *p = (struct publish){.out_fd = out_fd, .part_fd = -1};
    snprintf(p->final, sizeof(p->final), "%s", result);
    if (part != NULL) {
        snprintf(p->part, sizeof(p->part), "%s", part);
    } else if (!name_hidden(p->part, sizeof(p->part)) || mkdirat(out_fd, p->part, 0777) != 0) {
        return status_fail_errno(errno, "cannot make a part folder in the output folder");
    }
    p->part_fd = beneath_open(out_fd, p->part, O_RDONLY | O_DIRECTORY);
    if (p->part_fd >= 0) {
        if (part == NULL) { /* its end tells publish_sweep; not all systems can */
            (void)flock(p->part_fd, LOCK_EX | LOCK_NB);
        }
        return STATUS_OK;
    }
    const enum status code =
        part != NULL && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
            ? status_fail(STATUS_INTERNAL, "the part folder '%s' has gone", p->part)
            : status_fail_errno(errno, "cannot open the part folder '%s'", p->part);
    if (part == NULL) {
        unlinkat(out_fd, p->part, AT_REMOVEDIR);
    }
    return code;
}

/* Whether the earlier result is the one that was judged. */
static int may_replace(void *judged, int earlier_fd)
{
    const struct publish_folder *const folder = judged;
    struct stat st;
    return folder->inode == 0 || (fstat(earlier_fd, &st) == 0 && st.st_ino == folder->inode &&
                                  st.st_dev == folder->device)
               ? 0
               : EEXIST;
}

/* Removes FOLDER, as far as it was made: the first n bytes of the result lead to what was. Folders
 * that hold something stay. */
static void remove_made(int out_fd, const char *result, size_t n)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", result);
    for (char *slash; (slash = strrchr(path, '/')) != NULL && (size_t)(slash - path) >= n;) {
        *slash = '\0';
        if (unlinkat(out_fd, path, AT_REMOVEDIR) != 0 && errno != ENOENT) {
            break;
        }
    }
}

static enum status give_name(const struct publish *p, int folder, struct publish_folder *replace)
{
    char old[sizeof(p->part)];
    if (publish_give_name(p->out_fd, p->part, p->final, replace != NULL ? may_replace : NULL,
                          replace) == 0) {
        publish_old_name(p->part, old, sizeof(old));
        remove_folder(p->out_fd, p->part);
        remove_folder(p->out_fd, old);
        return STATUS_OK;
    }
    if (errno != EEXIST && errno != EAGAIN) {
        return status_fail_errno(errno, "cannot publish the result '%s'", p->final);
    }
    STATUS_TRY(vacant_in(folder, p->final, false));
    return status_fail(STATUS_EXISTS,
                       "'%s' comes and goes in the output folder; see who else writes there",
                       p->final);
}

enum status publish_commit(struct publish *p, const struct publish_folder *replace)
{
    struct publish_folder judged = replace != NULL ? *replace : (struct publish_folder){0};
    size_t missing, at;
    int folder = publish_enter(p->out_fd, p->final, false, &missing);
    const bool makes = folder < 0 && errno == ENOENT;
    at = missing;
    if (makes) {
        folder = publish_enter(p->out_fd, p->final, true, &at);
    }
    const enum status code = folder >= 0 ? give_name(p, folder, replace != NULL ? &judged : NULL)
                                         : refuse_folder(p->final, at);
    beneath_close(folder);
    if (code == STATUS_OK) {
        publish_leave(p);
    } else if (makes) {
        remove_made(p->out_fd, p->final, missing);
    }
    return code;
}

void publish_leave(struct publish *p)
{
    close(p->part_fd);
    p->part_fd = -1;
}

void publish_abandon(struct publish *p)
{
    if (p->part_fd >= 0) {
        publish_leave(p);
        remove_folder(p->out_fd, p->part);
    }
}

void publish_empty(struct publish *p)
{
    if (p->part_fd >= 0) {
        if (disk_empty("publish.drop", p->part_fd) != 0) {
            log_warning("left behind in '%s' in the output folder (%s)", p->part, strerror(errno));
        }
        publish_leave(p);
    }
}
