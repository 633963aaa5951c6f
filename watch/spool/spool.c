/*
 * spool - opening and locking a spool, ids, room, and small things that all steps
 * need. See spool.h.
 */
#include "watch/spool/spool_state.h"

#include "formats/base/log.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"
#include "watch/files/fault.h"
#include "watch/files/publish.h"
#include "watch/files/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

void spool_set_outcome(struct spool_job *job, enum spool_outcome outcome, const char *format, ...)
{
    va_list arguments;
    char *text;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) {
        xalloc_end();
    }
    va_end(arguments);
    free(job->message);
    job->message = text;
    job->outcome = outcome;
}

/* Not names, nor what a call may be asked for: a disk's, a server's, the system's. */
static bool may_pass(int error)
{
    static const int ours[] = {ENOENT, ENOTDIR, EISDIR, EEXIST,       ENOTEMPTY, ELOOP,
                               EXDEV,  EINVAL,  EBADF,  ENAMETOOLONG, EFAULT};
    bool may = true;
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
        may = may && error != ours[i];
    }
    return may;
}

void spool_set_outcome_errno(struct spool_job *job, int error, const char *what)
{
    spool_set_outcome(job, may_pass(error) ? SPOOL_TRANSIENT : SPOOL_INTERNAL, "%s: %s", what,
                      strerror(error));
}

enum status spool_cannot_open(int error, const char *format, ...)
{
    char text[STATUS_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    const enum status code = status_fail_errno(error, "%s", text);
    return may_pass(error) && error != EACCES && error != EPERM ? STATUS_NO_SPACE : code;
}

void spool_set_outcome_folder(struct spool_job *job, int error, const char *what, const char *above,
                              const char *folder)
{
    char text[STATUS_MESSAGE_BYTES];
    if (error == ENOENT) {
        spool_set_outcome(job, SPOOL_TRANSIENT, "%s: '%s', or a folder in it, has been removed",
                          what, above);
        return;
    }
    snprintf(text, sizeof(text), "%s (it belongs into '%s%s%s')", what, above,
             *folder != '\0' ? "/" : "", folder);
    spool_set_outcome_errno(job, error, text);
}

bool spool_enter_step(struct spool_job *job, enum spool_state state)
{
    if (job->state != state) {
        return false;
    }
    free(job->message);
    job->message = NULL;
    job->outcome = SPOOL_OK;
    return true;
}

bool spool_is_absent(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

int64_t spool_id_time(const char *id)
{
    struct tm t = {0};
    int us;
    int end = 0;
    if (strlen(id) != SPOOL_ID_BYTES - 1 || strspn(id, "0123456789-") != SPOOL_ID_BYTES - 1 ||
        sscanf(id, "%4d%2d%2d-%2d%2d%2d-%6d%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour,
               &t.tm_min, &t.tm_sec, &us, &end) != 7 ||
        end != SPOOL_ID_BYTES - 1) {
        return -1;
    }
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    int64_t seconds = timegm(&t);
    return seconds < 0 || us < 0 ? -1 : seconds * 1000000 + us;
}

void spool_learn_id(struct spool *s, int64_t us)
{
    if (us > s->last_id_us && us < (int64_t)253370764800 * 1000000) { /* the year 9999 */
        s->last_id_us = us;
    }
}

/* What cannot be noted is found in the clock, which is seldom put back. */
static void note_last_id(const struct spool *s)
{
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)(s->last_id_us / 1000000), .tv_nsec = s->last_id_us % 1000000 * 1000}};
    (void)futimens(s->lock_fd, times);
}

void spool_make_id(struct spool *s, char id[SPOOL_ID_BYTES])
{
    struct timespec now;
    struct tm t;
    char text[32];
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    us = us > s->last_id_us ? us : s->last_id_us + 1;
    s->last_id_us = us;
    time_t seconds = (time_t)(us / 1000000);
    gmtime_r(&seconds, &t);
    strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &t);
    snprintf(id, SPOOL_ID_BYTES, "%.15s-%06u", text, (unsigned)(us % 1000000));
}

int spool_make_work(struct spool *s, char id[SPOOL_ID_BYTES])
{
    struct stat st;
    do {
        spool_make_id(s, id);
    } while (fstatat(s->work_fd, id, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
             fstatat(s->failed_fd, id, &st, AT_SYMLINK_NOFOLLOW) == 0);
    note_last_id(s);
    if (disk_make_folder("claim.folder", s->work_fd, id, 0777) == 0 &&
        disk_make_folder("claim.folder", s->work_fd, spool_path(id, "in").text, 0777) == 0) {
        return 0;
    }
    const int error = errno;
    spool_forget(s->work_fd, id, false);
    errno = error;
    return -1;
}

struct spool_file spool_file_of(char *name, const struct stat *st)
{
    return (struct spool_file){name, (uint64_t)st->st_ino, (uint64_t)st->st_size,
                               (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
                               (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec};
}

bool spool_is_same(const struct spool_file *a, const struct spool_file *b)
{
    return a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns;
}

struct spool_path spool_path(const char *id, const char *name)
{
    struct spool_path path;
    snprintf(path.text, sizeof(path.text), "%s/%s", id, name);
    return path;
}

int spool_open_inputs(const struct spool *s, const char *id)
{
    const int flags = O_RDONLY | O_DIRECTORY;
    const int fd = beneath_open(s->work_fd, spool_path(id, "in").text, flags);
    return fd >= 0 || errno != ENOENT
               ? fd
               : beneath_open(s->work_fd, spool_path(id, "published").text, flags);
}

int spool_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int is_entry(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

enum status spool_list(int folder_fd, const char *what, struct spool_names *out)
{
    struct dirent **entries;
    *out = (struct spool_names){0};
    const int n = scandirat(folder_fd, ".", &entries, is_entry, NULL);
    if (n < 0) {
        return status_fail_errno(errno, "%s cannot be listed", what);
    }
    out->names = xcalloc((size_t)n, sizeof(*out->names));
    for (int i = 0; i < n; i++) {
        out->names[out->n++] = xstrdup(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    qsort(out->names, out->n, sizeof(*out->names), spool_by_name);
    return STATUS_OK;
}

void spool_names_free(struct spool_names *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->names[i]);
    }
    free(list->names);
    *list = (struct spool_names){0};
}

/* Whether the folder of a job's inputs is empty, and gone now. */
static bool forget_inputs(int fd)
{
    return (disk_remove_folder("forget.in", fd, "in") == 0 || errno == ENOENT) &&
           (disk_remove_folder("forget.in", fd, "published") == 0 || errno == ENOENT ||
            errno == ENOTDIR);
}

bool spool_forget(int at_fd, const char *id, bool inputs_left)
{
    /* Most have the first alone; those behind reason.json are of leat 0.1.0. */
    static const char *const files[] = {"job",      "job.new", "reason.json.new", "reason.json",
                                        "attempts", "commit",  "published"};
    int error = 0;
    const int fd = beneath_open(at_fd, id, O_RDONLY | O_DIRECTORY);
    bool gone = fd < 0 && spool_is_absent(errno);
    if (fd < 0 || (!forget_inputs(fd) && !inputs_left)) {
        beneath_close(fd);
        return gone;
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !gone; i++) {
        if (disk_unlink("forget.file", fd, files[i]) != 0 && errno != ENOENT && errno != EISDIR) {
            error = errno;
        }
        gone = disk_remove_folder("forget.folder", at_fd, id) == 0 || errno == ENOENT;
    }
    beneath_close(fd);
    errno = error != 0 ? error : errno;
    return gone;
}

struct spool_part spool_part(const char *owner, const char *id)
{
    struct spool_part part;
    snprintf(part.name, sizeof(part.name), ".%s%s%s.part", id, *owner != '\0' ? "." : "", owner);
    return part;
}

struct spool_part spool_state_file(const char *owner, const char *id)
{
    struct spool_part file;
    snprintf(file.name, sizeof(file.name), ".%s.%s.state", id, owner);
    return file;
}

int64_t spool_state_ns(const struct spool *s, const char *id)
{
    struct stat st;
    const struct spool_part file = spool_state_file(s->owner, id);
    const bool is_kept = fstatat(s->out_fd, file.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    return is_kept ? spool_file_of(NULL, &st).mtime_ns : 0;
}

bool spool_drop_state(const struct spool *s, const char *id)
{
    return disk_unlink_both("drop.state", s->out_fd, spool_state_file(s->owner, id).name) == 0;
}

int spool_open_part(const struct spool *s, const char *id)
{
    return beneath_open(s->out_fd, spool_part(s->owner, id).name, O_RDONLY | O_DIRECTORY);
}

bool spool_drop_part(const struct spool *s, const char *owner, const char *id)
{
    const struct spool_part part = spool_part(owner, id);
    char old[sizeof(part.name)];
    publish_old_name(part.name, old, sizeof(old));
    const int error = disk_remove_tree("drop.part", s->out_fd, part.name) == 0 ? 0 : errno;
    const bool dropped = disk_remove_tree("drop.old", s->out_fd, old) == 0;
    errno = error != 0 ? error : errno;
    return dropped && error == 0;
}

void spool_other_name(const char *name, const char *stem, const char *id, unsigned count,
                      char other[256])
{
    char tail[SPOOL_ID_BYTES + 16];
    size_t len = strlen(name);
    size_t head = strlen(stem);
    int n = count > 1 ? snprintf(tail, sizeof(tail), "~%s-%u", id, count)
                      : snprintf(tail, sizeof(tail), "~%s", id);
    size_t more = n > 0 ? (size_t)n : 0;
    if (strncmp(name, stem, head) != 0 || len - head > 160) {
        head = len < 160 ? len : 160;
    }
    size_t rest = len - head < 64 ? len - head : 64;
    while (head + more + rest > 255) {
        head--;
    }
    while (head > 0 && (name[head] & 0xC0) == 0x80) { /* not within a character */
        head--;
    }
    snprintf(other, 256, "%.*s%s%s", (int)head, name, tail, name + len - rest);
}

bool spool_is_at(const struct spool_job *job, enum spool_state state)
{
    return job->state == state && job->outcome == SPOOL_OK;
}

void spool_advance(struct spool_job *const jobs[], size_t n, enum spool_state from,
                   enum spool_state to)
{
    for (size_t i = 0; i < n; i++) {
        if (spool_is_at(jobs[i], from)) {
            jobs[i]->state = to;
        }
    }
}

size_t spool_count(struct spool_job *const jobs[], size_t n, enum spool_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += spool_is_at(jobs[i], state);
    }
    return count;
}

void spool_fail_all(struct spool_job *const jobs[], size_t n, enum spool_state state, int error,
                    const char *what)
{
    for (size_t i = 0; i < n && error != 0; i++) {
        if (spool_is_at(jobs[i], state)) {
            spool_set_outcome_errno(jobs[i], error, what);
        }
    }
}

void spool_sync_all(struct spool_job *const jobs[], size_t n, enum spool_state state,
                    const char *step, int fd, const char *what)
{
    spool_fail_all(jobs, n, state, disk_sync_all(step, fd) != 0 ? errno : 0, what);
}

void spool_sync_folders(struct spool_job *const jobs[], size_t n, const char *step, int at_fd)
{
    for (size_t i = 0; i < n; i++) {
        if (jobs[i]->folder_error != SPOOL_UNSYNCED) {
            continue;
        }
        const char *folder = spool_folder_of(jobs[i]);
        /* A folder that has been removed meanwhile holds nothing that could be lost. */
        const bool done = disk_sync_name(step, at_fd, folder) == 0 || errno == ENOENT;
        const int error = done ? 0 : errno;
        for (size_t k = i; k < n; k++) {
            if (jobs[k]->folder_error == SPOOL_UNSYNCED &&
                strcmp(spool_folder_of(jobs[k]), folder) == 0) {
                jobs[k]->folder_error = error;
            }
        }
    }
}

int spool_rewrite(struct spool *s, const struct spool_job *job, const char *step)
{
    const struct spool_path path = spool_path(job->id, "job");
    char *const text = spool_record_job(job);
    const bool done = disk_write_temp(step, s->work_fd, path.text, text, strlen(text)) == 0 &&
                      disk_fsync_temp(step, s->work_fd, path.text) == 0 &&
                      disk_rename_temp(step, s->work_fd, path.text) == 0;
    free(text);
    return done ? 0 : -1;
}

void spool_write(struct spool *s, struct spool_job *job, const char *step, const char *name,
                 char *text, const char *what)
{
    if (disk_write_temp(step, s->work_fd, spool_path(job->id, name).text, text, strlen(text)) !=
        0) {
        spool_set_outcome_errno(job, errno, what);
    }
    free(text);
}

void spool_put_in_place(struct spool *s, struct spool_job *const jobs[], size_t n,
                        enum spool_state state, const char *name, const char *step,
                        const char *step_folder, const char *what)
{
    const bool shared = spool_count(jobs, n, state) >= SPOOL_SHARES;
    /* Before anything is taken nothing is lost with a torn record: the folders' syncfs is enough.
     */
    const int first = shared && state == SPOOL_NEW ? 1 : 0;
    const int last = step_folder != NULL ? 2 : 1;
    for (int phase = first; phase <= last; phase++) {
        if (shared && phase != 1) {
            spool_sync_all(jobs, n, state, phase == 0 ? step : step_folder, s->work_fd, what);
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            struct spool_job *job = jobs[i];
            const struct spool_path path = spool_path(job->id, name);
            const bool failed =
                spool_is_at(job, state) &&
                (phase == 0   ? disk_fsync_temp(step, s->work_fd, path.text)
                 : phase == 1 ? disk_rename_temp(step, s->work_fd, path.text)
                              : disk_sync_name(step_folder, s->work_fd, job->id)) != 0;
            if (failed) {
                spool_set_outcome_errno(job, errno, what);
            }
        }
    }
}

/* The time of the lock's file is that of the youngest id: so ids grow, though the clock may have
 * been put back since the last start. */
static void learn_last_id(struct spool *s)
{
    struct stat st;
    if (fstat(s->lock_fd, &st) == 0 && st.st_size > 0) {
        spool_learn_id(s, (int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000);
    }
}

enum { OWNER_LINE = SPOOL_OWNER_BYTES }; /* the first of the lock's file, with its end */

bool spool_is_owner(const char *text)
{
    return strlen(text) == SPOOL_OWNER_BYTES - 1 &&
           strspn(text, "0123456789abcdef") == SPOOL_OWNER_BYTES - 1;
}

enum status spool_read_owner(int work_fd, char owner[SPOOL_OWNER_BYTES])
{
    char line[OWNER_LINE + 1] = "";
    const int fd = beneath_open(work_fd, "lock", O_RDONLY);
    const ssize_t n = fd >= 0 ? pread(fd, line, OWNER_LINE, 0) : -1;
    beneath_close(fd);
    snprintf(owner, SPOOL_OWNER_BYTES, "%.8s", line);
    return n == OWNER_LINE && spool_is_owner(owner)
               ? STATUS_OK
               : status_fail(STATUS_INTERNAL, "'.work/lock' does not say whose parts are whose");
}

/* Whether the lock was copied with its spool: the number is the other's then. */
static bool is_copy(int lock_fd)
{
    char line[48] = "";
    struct stat st;
    unsigned long long inode;
    return pread(lock_fd, line, sizeof(line) - 1, OWNER_LINE) > 0 &&
           sscanf(line, "%*d %llu", &inode) == 1 && fstat(lock_fd, &st) == 0 && inode != st.st_ino;
}

/* A spool that has no number of its own gets one: on disk, since parts are found again by it. */
static enum status find_owner(struct spool *s)
{
    char line[OWNER_LINE + 1];
    uint32_t random;
    if (!is_copy(s->lock_fd) && spool_read_owner(s->work_fd, s->owner) == STATUS_OK) {
        return STATUS_OK;
    }
    const bool made = getrandom(&random, sizeof(random), 0) == sizeof(random) &&
                      snprintf(line, sizeof(line), "%08x\n", random) == OWNER_LINE &&
                      disk_write("open.owner", s->work_fd, "lock", line, OWNER_LINE) == 0 &&
                      disk_sync("open.owner", s->lock_fd) == 0 &&
                      disk_sync("open.owner", s->work_fd) == 0;
    return made ? spool_read_owner(s->work_fd, s->owner)
                : status_fail_errno(errno, "'%s/.work/lock' cannot be written", s->root);
}

static enum status take_lock(struct spool *s)
{
    char pid[48];
    struct stat st;
    s->lock_fd = openat(s->work_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (s->lock_fd < 0) {
        const bool may_go = errno == EACCES || errno == EISDIR || errno == ELOOP;
        return spool_cannot_open(errno, "the lock '%s/.work/lock' cannot be opened%s", s->root,
                                 may_go ? " (remove it while no service runs)" : "");
    }
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) {
            return spool_cannot_open(errno, "'%s/.work/lock' cannot be locked", s->root);
        }
        ssize_t n = pread(s->lock_fd, pid, sizeof(pid) - 1, OWNER_LINE);
        pid[n > 0 ? n : 0] = '\0';
        pid[strspn(pid, "0123456789")] = '\0';
        return status_fail(STATUS_EXISTS,
                           "'%s' is already watched by process %s; one service a folder", s->root,
                           *pid != '\0' ? pid : "(unknown)");
    }
    learn_last_id(s);
    STATUS_TRY(find_owner(s));
    int n = fstat(s->lock_fd, &st) == 0 ? snprintf(pid, sizeof(pid), "%ld %llu\n", (long)getpid(),
                                                   (unsigned long long)st.st_ino)
                                        : -1;
    if (n < 0 || ftruncate(s->lock_fd, OWNER_LINE) != 0 ||
        pwrite(s->lock_fd, pid, (size_t)n, OWNER_LINE) != n) {
        log_debug("the lock's second line could not be written: %s", strerror(errno));
    }
    if (s->last_id_us > 0) {
        note_last_id(s);
    }
    /* Whoever has made OUT in vain does not remove it then; see publish.h. */
    (void)flock(s->out_fd, LOCK_SH | LOCK_NB);
    return STATUS_OK;
}

enum status spool_open(const struct spool_options *options, struct spool **out)
{
    *out = NULL;
    struct spool *s = xcalloc(1, sizeof(*s));
    pthread_mutex_init(&s->archiving, NULL);
    s->root_fd = s->in_fd = s->done_fd = s->failed_fd = s->work_fd = s->out_fd = s->lock_fd = -1;
    spool_configure(s, options->delete_inputs, options->replace, options->max_attempts,
                    options->reserve_bytes);
    s->root = xstrdup(options->root);
    s->out = options->out != NULL ? xstrdup(options->out) : xasprintf("%s/out", s->root);
    s->require_mount = options->require_mount != NULL ? xstrdup(options->require_mount) : NULL;
    enum status code = spool_open_places(s);
    code = code == STATUS_OK ? take_lock(s) : code;
    code = code == STATUS_OK ? spool_try_renames(s, s->in_fd) : code;
    if (code != STATUS_OK) {
        spool_close(s);
        return code;
    }
    *out = s;
    return STATUS_OK;
}

void spool_close(struct spool *s)
{
    if (s == NULL) {
        return;
    }
    const int fds[] = {s->root_fd, s->in_fd,  s->done_fd, s->failed_fd,
                       s->work_fd, s->out_fd, s->lock_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        beneath_close(fds[i]);
    }
    free(s->root);
    free(s->out);
    free(s->require_mount);
    pthread_mutex_destroy(&s->archiving);
    free(s);
}

void spool_configure(struct spool *s, bool delete_inputs, bool replace, unsigned max_attempts,
                     uint64_t reserve_bytes)
{
    s->delete_inputs = delete_inputs;
    s->replace = replace;
    s->max_attempts = max_attempts;
    s->reserve_bytes = reserve_bytes;
}

int spool_in_fd(const struct spool *s)
{
    return s->in_fd;
}

bool spool_has_room(struct spool *s, bool *is_short, char *why, size_t why_bytes)
{
    const struct {
        const char *path, *name;
        int fd;
    } places[] = {{s->root, "/.work", s->work_fd}, {s->out, "", s->out_fd}};
    *is_short = false;
    if (!spool_check_folders(s, why, why_bytes)) {
        return false;
    }
    const uint64_t wanted =
        s->is_full && s->reserve_bytes <= UINT64_MAX / 2 ? 2 * s->reserve_bytes : s->reserve_bytes;
    for (size_t i = 0; i < 2; i++) {
        struct statvfs v;
        if (faccessat(places[i].fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
            snprintf(why, why_bytes, "'%s%s' cannot be written: %s; %s", places[i].path,
                     places[i].name, strerror(errno), spool_cure_of(errno));
            return false;
        }
        if (fstatvfs(places[i].fd, &v) != 0) {
            continue; /* the next write says it better */
        }
        const uint64_t there = (uint64_t)v.f_bavail * v.f_frsize;
        if (there < wanted || FAULT_ERROR("room") != 0) {
            *is_short = s->is_full = true;
            snprintf(why, why_bytes, "'%s%s' has %llu MiB free, %llu MiB required", places[i].path,
                     places[i].name, (unsigned long long)(there >> 20),
                     (unsigned long long)(wanted >> 20));
            return false;
        }
    }
    s->is_full = false;
    return true;
}

enum spool_outcome spool_outcome_of(enum status code)
{
    switch (code) {
    case STATUS_OK:
        return SPOOL_OK;
    case STATUS_BAD_INPUT:
    case STATUS_BAD_ARGUMENT:
    case STATUS_NOT_FOUND:
    case STATUS_UNSUPPORTED:
    case STATUS_TOO_LARGE:
    case STATUS_EXISTS:
        return SPOOL_BAD_INPUT;
    case STATUS_CHANGED:
        return SPOOL_WAIT;
    case STATUS_NO_MEMORY:
    case STATUS_NO_SPACE:
    case STATUS_IO:
    case STATUS_NO_BACKEND:
    case STATUS_CANCELLED:
        return SPOOL_TRANSIENT;
    default:
        return SPOOL_INTERNAL;
    }
}
