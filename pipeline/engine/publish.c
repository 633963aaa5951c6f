/*
 * publish - see publish.h. A result folder holds plain files and at most one level of sub-folders.
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

static enum status make_folders(char *path)
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
        }
        if (end) {
            return STATUS_OK;
        }
    }
}

enum status publish_open_output(const char *path, int *fd)
{
    char copy[PATH_MAX];
    *fd = -1;
    if (path[0] == '\0' || strlen(path) >= sizeof(copy)) {
        return status_fail(STATUS_BAD_ARGUMENT, "the output folder's name is empty or too long");
    }
    strcpy(copy, path);
    STATUS_TRY(make_folders(copy));
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0) {
        return status_fail_errno(errno, "cannot open the output folder '%s'", path);
    }
    if (faccessat(*fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        int error = errno;
        close(*fd);
        *fd = -1;
        return status_fail_errno(error, "the output folder '%s' cannot be written", path);
    }
    return STATUS_OK;
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

enum status publish_vacant(int out_fd, const char *stem, bool replace)
{
    struct stat st;
    if (fstatat(out_fd, stem, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT
                   ? STATUS_OK
                   : status_fail_errno(errno, "cannot look for an earlier result '%s'", stem);
    }
    if (!publish_is_result(out_fd, stem)) {
        return status_fail(
            STATUS_EXISTS,
            "'%s' in the output folder is not a result of leat and is left alone; move it "
            "away, or choose another --output",
            stem);
    }
    return replace ? STATUS_OK
                   : status_fail(STATUS_EXISTS,
                                 "a result named '%s' is already in the output folder; --resume "
                                 "skips what is done, --force replaces it",
                                 stem);
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
    unsigned boot; /* the beginning of the kernel's boot_id: no other kernel's; 0: not known */
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
        if (fscanf(f, "%8x", &m.boot) != 1) {
            m.boot = 0;
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

/* Whether the name is a part folder's; then by whom. */
static bool is_part_name(const char *name, struct maker *out)
{
    int end = 0;
    *out = (struct maker){0};
    (void)sscanf(name, ".leat.%32[^.].%8x.%ld.%*16[0-9a-f].part%n", out->host, &out->boot,
                 &out->process, &end);
    return end > 0 && name[end] == '\0';
}

/* --- what runs that were killed have left ----------------------------------------------------- */

enum { OLD_S = 60, VERY_OLD_S = 24 * 60 * 60 };

enum part_state { PART_IN_USE, PART_LEFT, PART_UNKNOWN };

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
    /* no locks here: the process is known where it shares the name of the host, too */
    if (!own_kernel || strcmp(m->host, own.host) != 0) {
        return PART_UNKNOWN;
    }
    return kill((pid_t)m->process, 0) != 0 && errno == ESRCH ? PART_LEFT : PART_IN_USE;
}

struct sweep {
    size_t n_unknown;
    char first[NAME_MAX + 1];
};

static void sweep_entry(int out_fd, const char *name, void *context)
{
    struct sweep *sweep = context;
    struct maker m;
    struct stat st;
    if (!is_part_name(name, &m)) {
        return;
    }
    int fd = openat(out_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    const time_t age_s = fstat(fd, &st) == 0 ? time(NULL) - st.st_mtime : 0;
    const enum part_state state = age_s > OLD_S ? part_state_of(out_fd, fd, &m) : PART_IN_USE;
    close(fd);
    if (state == PART_LEFT) {
        log_info("removing '%s' from the output folder: left by a run that was killed", name);
        remove_folder(out_fd, name, 1);
    } else if (state == PART_UNKNOWN && age_s > VERY_OLD_S && sweep->n_unknown++ == 0) {
        snprintf(sweep->first, sizeof(sweep->first), "%s", name);
    }
}

void publish_sweep(int out_fd)
{
    struct sweep sweep = {0};
    visit_folder(openat(out_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), sweep_entry, &sweep);
    if (sweep.n_unknown > 0) {
        log_info("%zu unfinished result%s of other machines in the output folder, older than a "
                 "day, '%s' first; remove them if leat does not run there any more",
                 sweep.n_unknown, sweep.n_unknown == 1 ? "" : "s", sweep.first);
    }
}

/* --- one folder ------------------------------------------------------------------------------- */

enum status publish_begin(int out_fd, const char *stem, const char *part, struct publish *p)
{
    *p = (struct publish){.out_fd = out_fd, .part_fd = -1};
    snprintf(p->final, sizeof(p->final), "%s", stem);
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
                      fstatat(p->out_fd, p->final, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                      own.st_dev == there.st_dev && own.st_ino == there.st_ino;
    errno = error;
    return same;
}

/* renameat, or renameat2 where there are flags. */
static bool rename_to_final(const struct publish *p, unsigned flags)
{
    const int failed = flags != 0 ? renameat2(p->out_fd, p->part, p->out_fd, p->final, flags)
                                  : renameat(p->out_fd, p->part, p->out_fd, p->final);
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
        STATUS_TRY(publish_vacant(p->out_fd, p->final, false));
        if (rename_to_final(p, 0)) {
            return STATUS_OK;
        }
    }
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) {
        enum status code = publish_vacant(p->out_fd, p->final, false);
        *again = code == STATUS_OK;
        return code;
    }
    return status_fail_errno(errno, "cannot publish the result '%s'", p->final);
}

/* The part takes the place of an earlier result, which becomes the part. Where names cannot be
 * exchanged in one step, the earlier one steps aside first, under a name that publish_sweep leaves
 * alone, and back when the part cannot follow. False, with errno. */
static bool take_place(struct publish *p)
{
    char aside[sizeof(p->part)];
    if (renameat2(p->out_fd, p->part, p->out_fd, p->final, RENAME_EXCHANGE) == 0) {
        return true;
    }
    if ((errno != EINVAL && errno != ENOSYS) || !name_hidden(aside, sizeof(aside), "old")) {
        return false;
    }
    if (renameat(p->out_fd, p->final, p->out_fd, aside) != 0) {
        return false;
    }
    if (!rename_to_final(p, 0)) {
        int error = errno;
        if (renameat(p->out_fd, aside, p->out_fd, p->final) != 0) {
            log_warning("the earlier result '%s' is now '%s' in the output folder (%s)", p->final,
                        aside, strerror(errno));
        }
        errno = error;
        return false;
    }
    memcpy(p->part, aside, sizeof(aside));
    return true;
}

/* *again as of rename_vacant. */
static enum status replace_earlier(struct publish *p, bool *again)
{
    STATUS_TRY(publish_vacant(p->out_fd, p->final, true));
    if (take_place(p)) {
        remove_folder(p->out_fd, p->part, 1);
        return STATUS_OK;
    }
    *again = errno == ENOENT;
    return *again ? STATUS_OK
                  : status_fail_errno(errno, "cannot replace the result '%s'", p->final);
}

enum status publish_commit(struct publish *p, bool replace)
{
    enum { MOST_TRIES = 16 }; /* somebody else makes and removes a folder of that name meanwhile */
    enum status code = STATUS_OK;
    bool again = true;
    for (int i = 0; again && i < MOST_TRIES; i++) {
        code = rename_vacant(p, &again);
        if (code == STATUS_EXISTS && replace) {
            code = replace_earlier(p, &again);
        }
    }
    if (again) {
        return status_fail(STATUS_EXISTS,
                           "'%s' comes and goes in the output folder; see who else writes there",
                           p->final);
    }
    if (code == STATUS_OK) {
        publish_leave(p);
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
        remove_folder(p->out_fd, p->part, 1);
    }
}

void publish_empty(struct publish *p)
{
    if (p->part_fd >= 0) {
        int depth = 1;
        visit_folder(p->part_fd, remove_entry, &depth);
        p->part_fd = -1;
    }
}
