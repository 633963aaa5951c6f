/*
 * publish - see publish.h. A result folder holds plain files and at most one level of sub-folders;
 * that of an archive, as the service makes it, the folders of its members.
 */
#include "pipeline/engine/publish.h"

#include "formats/base/file_system.h"
#include "formats/base/log.h"

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

/* Of folders in a result: an archive's lie up to 32 in one another. */
enum { RESULT_LEVELS = 40 };

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

bool publish_is_result(int at_fd, const char *path)
{
    struct stat st;
    int fd = openat(at_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool found = fstatat(fd, "result.json", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
    close(fd);
    return found;
}

/* What stands in the way of the folder of the first n bytes of a result. */
static enum status refuse_folder(const char *result, size_t n, const char *what)
{
    return status_fail(
        STATUS_EXISTS,
        "the result '%s' cannot lie in '%.*s' in the output folder, which is %s; move "
        "that away, or choose another --output",
        result, (int)n, result, what);
}

/* Opens the FOLDER of FOLDER/NAME, step by step; *fd -1: it is not there, and was not to be made.
 * *name: NAME. */
static enum status open_folder(int out_fd, const char *result, bool make, int *fd,
                               const char **name)
{
    char component[NAME_MAX + 1];
    *name = result;
    *fd = openat(out_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (const char *slash; *fd >= 0 && (slash = strchr(*name, '/')) != NULL;) {
        const size_t n = (size_t)(slash - result);
        snprintf(component, sizeof(component), "%.*s", (int)(slash - *name), *name);
        *name = slash + 1;
        if (make && mkdirat(*fd, component, 0777) != 0 && errno != EEXIST) {
            const int error = errno;
            close(*fd);
            return status_fail_errno(error, "cannot make the folder '%.*s' in the output folder",
                                     (int)n, result);
        }
        const int next = openat(*fd, component, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        const int error = errno;
        const bool is_result = next >= 0 && publish_is_result(*fd, component);
        close(*fd);
        *fd = next;
        if (next < 0 && error == ENOENT && !make) {
            return STATUS_OK;
        }
        if (next < 0 && (error == ENOTDIR || error == ELOOP)) {
            return refuse_folder(result, n, "not a folder");
        }
        errno = error;
        if (is_result) {
            close(next);
            return refuse_folder(result, n, "a result itself");
        }
    }
    return *fd >= 0 ? STATUS_OK
                    : status_fail_errno(errno, "cannot open the folder of the result '%s'", result);
}

int publish_open_result(int out_fd, const char *result)
{
    const char *name;
    int folder, fd = -1;
    if (open_folder(out_fd, result, false, &folder, &name) == STATUS_OK && folder >= 0) {
        fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        const int error = errno;
        close(folder);
        errno = error;
    }
    return fd;
}

/* publish_vacant, of a name in the open FOLDER. */
static enum status vacant_in(int fd, const char *name, const char *result, bool replace)
{
    struct stat st;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT
                   ? STATUS_OK
                   : status_fail_errno(errno, "cannot look for an earlier result '%s'", result);
    }
    if (!publish_is_result(fd, name)) {
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
    const char *name;
    int fd;
    STATUS_TRY(open_folder(out_fd, result, false, &fd, &name));
    if (fd < 0) {
        return STATUS_OK;
    }
    const enum status code = vacant_in(fd, name, result, replace);
    close(fd);
    return code;
}

/* Calls `visit` for what is in the folder; `fd` is closed. */
static void visit_folder(int fd, void (*visit)(int fd, const char *name, void *context),
                         void *context)
{
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (folder == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            visit(fd, entry->d_name, context);
        }
    }
    closedir(folder);
}

static void remove_folder(int at_fd, const char *name, int depth);

/* *depth: how many levels of sub-folders may be removed. */
static void remove_entry(int fd, const char *name, void *depth)
{
    const int levels = *(const int *)depth;
    if (unlinkat(fd, name, 0) != 0 && levels > 0) {
        remove_folder(fd, name, levels - 1);
    }
}

/* Removes the folder `name` and what is in it. */
static void remove_folder(int at_fd, const char *name, int depth)
{
    visit_folder(openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), remove_entry,
                 &depth);
    if (unlinkat(at_fd, name, AT_REMOVEDIR) != 0 && unlinkat(at_fd, name, 0) != 0) {
        log_warning("left behind in the output folder: '%s' (%s)", name, strerror(errno));
    }
}

/* False, with errno, when it is no folder. */
static bool open_part(struct publish *p)
{
    p->part_fd = openat(p->out_fd, p->part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return p->part_fd >= 0;
}

/* False, with errno, when the folder cannot be made. */
static bool make_part(struct publish *p)
{
    if (mkdirat(p->out_fd, p->part, 0777) != 0) {
        return false;
    }
    if (!open_part(p)) {
        int error = errno;
        unlinkat(p->out_fd, p->part, AT_REMOVEDIR);
        errno = error;
        return false;
    }
    (void)flock(p->part_fd,
                LOCK_EX | LOCK_NB); /* its end tells publish_sweep; not all systems can */
    return true;
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

/* .leat.HOST.BOOT.PROCESS.RANDOM.ENDING; false, with errno, without a random number. */
static bool name_hidden(char *out, size_t size, const char *ending)
{
    unsigned long long random;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        return false;
    }
    const struct maker m = this_process();
    snprintf(out, size, ".leat.%s.%08x.%ld.%016llx.%s", m.host, m.boot, m.process, random, ending);
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

/* Whether that is known: of a process of this kernel, as long as no other has its number. */
static bool has_ended(const struct maker *m)
{
    const struct maker own = this_process();
    return m->boot == own.boot && m->boot != 0 && strcmp(m->host, own.host) == 0 &&
           kill((pid_t)m->process, 0) != 0 && errno == ESRCH;
}

/* Whoever makes a part folder holds its lock until it ends, however it ends. That is to be seen by
 * all who share a kernel: everybody on a local file system, and on a network's those of this boot.
 * Others' locks may hold on their machine alone, so theirs are PART_UNKNOWN. */
static enum part_state part_state_of(int out_fd, int fd, const struct maker *m)
{
    const struct maker own = this_process();
    const bool own_kernel = m->boot == own.boot && m->boot != 0;
    if (!own_kernel && file_system_network(out_fd) != NULL) {
        return PART_UNKNOWN;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        return PART_LEFT;
    }
    if (errno == EWOULDBLOCK) {
        return PART_IN_USE;
    }
    /* no locks here: the process, which lives, is known where it shares the name of the host, too
     */
    return own_kernel && strcmp(m->host, own.host) == 0 ? PART_IN_USE : PART_UNKNOWN;
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

static void sweep_entry(int out_fd, const char *name, void *context)
{
    struct sweep *sweep = context;
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
    const enum part_state state = has_ended(&m)   ? PART_LEFT
                                  : age_s > OLD_S ? part_state_of(out_fd, fd, &m)
                                                  : PART_IN_USE; /* its lock may be taken yet */
    close(fd);
    if (!is_part) {
        if (state != PART_IN_USE) {
            add_told(&sweep->aside, name);
        }
    } else if (state == PART_LEFT) {
        log_info("removing '%s' from the output folder: left by a run that was killed", name);
        remove_folder(out_fd, name, RESULT_LEVELS);
    } else if (state == PART_UNKNOWN && age_s > VERY_OLD_S) {
        add_told(&sweep->unknown, name);
    }
}

void publish_sweep(int out_fd)
{
    struct sweep sweep = {0};
    visit_folder(openat(out_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), sweep_entry, &sweep);
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
    *p = (struct publish){.out_fd = out_fd, .part_fd = -1, .final_fd = -1};
    snprintf(p->final, sizeof(p->final), "%s", result);
    if (part != NULL) {
        snprintf(p->part, sizeof(p->part), "%s", part);
        if (open_part(p)) {
            return STATUS_OK;
        }
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
                   ? status_fail(STATUS_INTERNAL, "the part folder '%s' has gone", p->part)
                   : status_fail_errno(errno, "cannot open the part folder '%s'", p->part);
    }
    bool made = false;
    for (int tries = 0; !made && tries < 8; tries++) {
        if (!name_hidden(p->part, sizeof(p->part), "part")) {
            return status_fail_errno(errno, "cannot name a part folder");
        }
        made = make_part(p);
        if (!made && errno != EEXIST) {
            break;
        }
    }
    return made ? STATUS_OK
                : status_fail_errno(errno, "cannot make the part folder '%s' in the output folder",
                                    p->part);
}

/* Whether the part folder has its final name though the rename has failed: a network file system
 * asks again when a reply is lost, and is told of the second time. */
static bool took_effect(const struct publish *p)
{
    const int error = errno;
    struct stat own, there;
    const bool same = fstat(p->part_fd, &own) == 0 &&
                      fstatat(p->final_fd, p->name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                      own.st_dev == there.st_dev && own.st_ino == there.st_ino;
    errno = error;
    return same;
}

/* renameat, or renameat2 where there are flags. */
static bool rename_to_final(const struct publish *p, unsigned flags)
{
    const int failed = flags != 0 ? renameat2(p->out_fd, p->part, p->final_fd, p->name, flags)
                                  : renameat(p->out_fd, p->part, p->final_fd, p->name);
    return failed == 0 || took_effect(p);
}

/* RENAME_NOREPLACE and RENAME_EXCHANGE are not known to every file system; there the check and the
 * rename are two steps. *again: what was in the way has gone since, nothing is published yet. */
static enum status rename_vacant(struct publish *p, bool *again)
{
    *again = false;
    if (rename_to_final(p, RENAME_NOREPLACE)) {
        return STATUS_OK;
    }
    if (errno == EINVAL || errno == ENOSYS) {
        STATUS_TRY(vacant_in(p->final_fd, p->name, p->final, false));
        if (rename_to_final(p, 0)) {
            return STATUS_OK;
        }
    }
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) {
        enum status code = vacant_in(p->final_fd, p->name, p->final, false);
        *again = code == STATUS_OK;
        return code;
    }
    return status_fail_errno(errno, "cannot publish the result '%s'", p->final);
}

static bool is_same(int at_fd, const char *name, const struct publish_folder *folder)
{
    struct stat st;
    return folder->inode == 0 || (fstatat(at_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                                  st.st_ino == folder->inode && st.st_dev == folder->device);
}

/* Whether the name is that folder's; with errno. */
static bool is_name_of(int at_fd, const char *name, int folder)
{
    struct stat st;
    return fstat(folder, &st) == 0 &&
           is_same(at_fd, name, &(struct publish_folder){st.st_dev, st.st_ino});
}

/* Names the earlier result anew, and holds its lock, if it can be had, while it has that name:
 * publish_sweep sees that it is in use. False, with errno; EEXIST: it is not the one that is to be
 * replaced. */
static bool step_aside(const struct publish *p, const struct publish_folder *earlier,
                       const char *aside, int *lock)
{
    *lock = openat(p->final_fd, p->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*lock < 0) {
        return false;
    }
    (void)flock(*lock, LOCK_EX | LOCK_NB); /* two may take the step: one finds it gone */
    int error = EEXIST;
    if (is_name_of(p->final_fd, p->name, *lock) && is_same(p->final_fd, p->name, earlier)) {
        if (renameat(p->final_fd, p->name, p->out_fd, aside) == 0) {
            return true;
        }
        error = errno;
        if (is_name_of(p->out_fd, aside, *lock)) { /* the reply was lost */
            return true;
        }
    }
    close(*lock);
    errno = error;
    return false;
}

/* It has its name again, unless another result has that: then it was to be replaced anyway. */
static void step_back(const struct publish *p, const char *aside)
{
    const int error = errno;
    if (renameat(p->out_fd, aside, p->final_fd, p->name) != 0) {
        if (publish_is_result(p->final_fd, p->name)) {
            remove_folder(p->out_fd, aside, RESULT_LEVELS);
        } else {
            log_warning("the earlier result '%s' is now '%s' in the output folder (%s)", p->final,
                        aside, strerror(errno));
        }
    }
    errno = error;
}

/* Where names cannot be exchanged in one step, the earlier result steps aside first, and back when
 * the part cannot follow. False, with errno; EEXIST: it is not the one that is to be replaced. */
static bool replace_in_two_steps(struct publish *p, const struct publish_folder *earlier)
{
    char aside[sizeof(p->part)];
    int lock;
    if (!name_hidden(aside, sizeof(aside), "old") || !step_aside(p, earlier, aside, &lock)) {
        return false;
    }
    bool done = is_same(p->out_fd, aside, earlier);
    if (!done) {
        errno = EEXIST;
    } else {
        done = rename_to_final(p, 0);
    }
    if (done) {
        remove_folder(p->out_fd, aside, RESULT_LEVELS);
    } else {
        step_back(p, aside);
    }
    const int error = errno;
    close(lock);
    errno = error;
    return done;
}

/* The part takes the place of the earlier result, which is removed. False as above. */
static bool take_place(struct publish *p, const struct publish_folder *earlier)
{
    if (renameat2(p->out_fd, p->part, p->final_fd, p->name, RENAME_EXCHANGE) != 0) {
        return (errno == EINVAL || errno == ENOSYS) && replace_in_two_steps(p, earlier);
    }
    if (!is_same(p->out_fd, p->part, earlier)) { /* another process was faster: its result stays */
        if (renameat2(p->out_fd, p->part, p->final_fd, p->name, RENAME_EXCHANGE) == 0) {
            errno = EEXIST;
        }
        return false;
    }
    remove_folder(p->out_fd, p->part, RESULT_LEVELS);
    return true;
}

/* *again as of rename_vacant. */
static enum status replace_earlier(struct publish *p, const struct publish_folder *earlier,
                                   bool *again)
{
    STATUS_TRY(vacant_in(p->final_fd, p->name, p->final, true));
    if (!is_same(p->final_fd, p->name, earlier)) {
        const enum status code = vacant_in(p->final_fd, p->name, p->final, false);
        *again = code == STATUS_OK; /* it has stepped aside for another */
        return code;
    }
    if (take_place(p, earlier)) {
        return STATUS_OK;
    }
    *again = errno == ENOENT || errno == EEXIST || errno == ENOTEMPTY;
    return *again ? STATUS_OK
                  : status_fail_errno(errno, "cannot replace the result '%s'", p->final);
}

/* How much of FOLDER/NAME are folders that are there: their bytes, 0: none. */
static size_t length_that_is_there(int out_fd, const char *result)
{
    char path[PATH_MAX];
    struct stat st;
    size_t n = 0;
    for (const char *at = result; (at = strchr(at, '/')) != NULL; at++) {
        snprintf(path, sizeof(path), "%.*s", (int)(at - result), result);
        if (fstatat(out_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            break;
        }
        n = (size_t)(at - result);
    }
    return n;
}

/* Removes the folders of FOLDER/NAME behind those that were there, as far as they are empty. */
static void remove_made(int out_fd, const char *result, size_t was_there)
{
    char path[PATH_MAX];
    char *slash;
    snprintf(path, sizeof(path), "%s", result);
    while ((slash = strrchr(path, '/')) != NULL && (size_t)(slash - path) > was_there) {
        *slash = '\0';
        if (unlinkat(out_fd, path, AT_REMOVEDIR) != 0 && errno != ENOENT) {
            break;
        }
    }
}

static enum status commit(struct publish *p, const struct publish_folder *replace)
{
    enum { MOST_TRIES = 16 }; /* somebody else makes and removes a folder of that name meanwhile */
    enum status code = STATUS_OK;
    bool again = true;
    STATUS_TRY(open_folder(p->out_fd, p->final, true, &p->final_fd, &p->name));
    for (int i = 0; again && i < MOST_TRIES; i++) {
        code = rename_vacant(p, &again);
        if (code == STATUS_EXISTS && replace != NULL) {
            code = replace_earlier(p, replace, &again);
        }
    }
    close(p->final_fd);
    p->final_fd = -1;
    return again
               ? status_fail(STATUS_EXISTS,
                             "'%s' comes and goes in the output folder; see who else writes there",
                             p->final)
               : code;
}

enum status publish_commit(struct publish *p, const struct publish_folder *replace)
{
    const size_t was_there = length_that_is_there(p->out_fd, p->final);
    const enum status code = commit(p, replace);
    if (code == STATUS_OK) {
        publish_leave(p);
    } else {
        remove_made(p->out_fd, p->final, was_there);
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
        remove_folder(p->out_fd, p->part, RESULT_LEVELS);
    }
}

void publish_empty(struct publish *p)
{
    if (p->part_fd >= 0) {
        int depth = RESULT_LEVELS;
        visit_folder(p->part_fd, remove_entry, &depth);
        p->part_fd = -1;
    }
}
