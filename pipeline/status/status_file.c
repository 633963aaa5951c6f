/*
 * status_file - see status_file.h.
 */
#include "pipeline/status/status_file.h"

#include "formats/base/io_watch.h"
#include "formats/base/json.h"
#include "formats/base/log.h"
#include "pipeline/names/text.h"
#include "watch/files/beneath.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum {
    LONGEST = 64 << 20,
    ROOM = 64 << 10, /* a document is as long as a multiple of this, and can grow by as much in
                        place: all that waits says why then */
    TRIES = 40,
    AGAIN_MS = 50, /* before one that is half written, or not yet there, is read again */
    SILENT_S = 90  /* a service that has nothing to say does so once a minute */
};

static const char name[] = "status.json", fresh[] = "status.json.new", lock[] = "lock";

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- the service ------------------------------------------------------------------------------ */

static bool give(const struct status_file *f, int fd, mode_t mode)
{
    return fchown(fd, (uid_t)-1, f->gid) == 0 && fchmod(fd, mode) == 0;
}

/* What is made is the service's alone so far: for the group, too, which must be able to come there.
 */
static void admit_group(struct status_file *f)
{
    struct stat st = {0};
    const struct group *const group = f->group != NULL ? getgrnam(f->group) : NULL;
    f->gid = group != NULL ? group->gr_gid : (gid_t)-1;
    if (f->group == NULL) {
        (void)fchmod(f->folder_fd, 0700);
        return;
    }
    const bool is_given = group != NULL && give(f, f->folder_fd, 0750) && give(f, f->lock_fd, 0640);
    const bool may_enter =
        stat(f->spool, &st) == 0 && (st.st_mode & (st.st_gid == f->gid ? S_IXGRP : S_IXOTH)) != 0;
    if (!is_given || !may_enter) {
        f->gid = is_given ? f->gid : (gid_t)-1;
        log_warning("status_group: %s '%s'%s; only root and the service's own user can read the "
                    "status",
                    group == NULL ? "there is no group"
                    : !is_given   ? "the status cannot be given to the group"
                                  : "the watched folder cannot be entered by the group",
                    f->group, group != NULL && is_given ? " (chgrp it, and chmod g+x)" : "");
    }
}

static enum status open_folder(struct status_file *f, int *folder_fd, int *lock_fd)
{
    struct flock own = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *const path = xasprintf("%s/" STATUS_FOLDER, f->spool);
    if (mkdir(path, 0700) == 0 || errno == EEXIST) {
        *folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (*folder_fd >= 0) {
        *lock_fd = openat(*folder_fd, lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    enum status code = STATUS_OK;
    if (*lock_fd < 0) {
        code = status_fail_errno(errno, "'%s': cannot be opened", path);
    } else if (fcntl(*lock_fd, F_OFD_SETLK, &own) != 0) {
        code = errno == EAGAIN || errno == EACCES
                   ? status_fail(STATUS_EXISTS, "'%s': another service writes there", path)
                   : status_fail_errno(errno, "'%s/%s': cannot be locked", path, lock);
    }
    free(path);
    return code;
}

enum status status_file_open(struct status_file *f)
{
    int folder_fd = -1, lock_fd = -1;
    if (f->folder_fd >= 0) {
        return STATUS_OK;
    }
    const enum status code = open_folder(f, &folder_fd, &lock_fd);
    if (code != STATUS_OK) {
        beneath_close(lock_fd);
        beneath_close(folder_fd);
        return code;
    }
    f->folder_fd = folder_fd;
    f->lock_fd = lock_fd;
    unlinkat(folder_fd, name, 0);
    admit_group(f);
    return STATUS_OK;
}

static void shut(struct status_file *f)
{
    beneath_close(f->lock_fd);
    beneath_close(f->folder_fd);
    f->lock_fd = f->folder_fd = -1;
}

void status_file_close(struct status_file *f)
{
    if (f->folder_fd >= 0) {
        unlinkat(f->folder_fd, name, 0);
    }
    shut(f);
}

static bool write_fresh(const struct status_file *f, const char *text, size_t n)
{
    const int fd =
        openat(f->folder_fd, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    const bool is_written = fd >= 0 && (f->gid == (gid_t)-1 || give(f, fd, 0640)) &&
                            io_watch_write_all(fd, text, n) &&
                            renameat(f->folder_fd, fresh, f->folder_fd, name) == 0;
    beneath_close(fd);
    return is_written;
}

static bool write_over(const struct status_file *f, const char *text, size_t n)
{
    struct stat st;
    const int fd = openat(f->folder_fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    const bool is_written = fd >= 0 && fstat(fd, &st) == 0 && (size_t)st.st_size >= n &&
                            io_watch_write_all(fd, text, n) &&
                            ((size_t)st.st_size == n || ftruncate(fd, (off_t)n) == 0);
    beneath_close(fd);
    return is_written;
}

/* The text, with blanks for ROOM, up to a multiple of that, and the end of a line; for free(). */
static char *make_text(const json_t *document, size_t *n)
{
    char *const text = xalloc_checked(json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(17)));
    const size_t length = strlen(text);
    *n = (length / ROOM + 2) * ROOM;
    char *const whole = xrealloc(text, *n, 1);
    memset(whole + length, ' ', *n - length);
    whole[*n - 1] = '\n';
    return whole;
}

enum status status_file_write(struct status_file *f, json_t *document)
{
    size_t n;
    STATUS_TRY(status_file_open(f));
    json_object_set_new(document, "written", json_real(now_s()));
    char *const text = make_text(document, &n);
    bool is_written = write_fresh(f, text, n);
    int error = errno;
    if (!is_written) {
        unlinkat(f->folder_fd, fresh, 0);
        is_written = (error == ENOSPC || error == EDQUOT) && write_over(f, text, n);
    }
    free(text);
    if (error == ENOENT && !is_written) { /* the folder has been removed: it is made again */
        shut(f);
    }
    return is_written ? STATUS_OK
                      : status_fail_errno(error, "'%s/" STATUS_FOLDER "/%s': cannot be written",
                                          f->spool, name);
}

/* --- who asks --------------------------------------------------------------------------------- */

static bool lives(int folder_fd)
{
    struct flock other = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int fd = openat(folder_fd, lock, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const bool is_locked =
        fd >= 0 && fcntl(fd, F_OFD_GETLK, &other) == 0 && other.l_type != F_UNLCK;
    beneath_close(fd);
    return is_locked;
}

static void add_to(json_t *object, const char *key, double s)
{
    const json_t *const age = json_object_get(object, key);
    if (json_is_number(age) && json_number_value(age) > 0) {
        const double sum = json_number_value(age) + s;
        json_object_set_new(object, key, json_real(sum > 0 ? sum : 0));
    }
}

static void add_to_all(json_t *document, const char *list, const char *key, double s)
{
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(document, list), i, entry)
    {
        add_to(entry, key, s);
    }
}

static double age_of(const json_t *document)
{
    const json_t *const written = json_object_get(document, "written");
    const double s = now_s() - json_number_value(written);
    return json_is_number(written) && s > 0 ? s : 0;
}

/* What may keep a service from writing there; "": nothing that is seen. */
static const char *disk_trouble(int fd)
{
    struct statvfs disk;
    return fd < 0 || fstatvfs(fd, &disk) != 0 ? ""
           : (disk.f_flag & ST_RDONLY) != 0   ? ": its disk may only be read"
           : disk.f_bavail == 0               ? ": its disk is full"
                                              : "";
}

/* Of a service that has written nothing for too long nothing else is known. */
static void say_silence(json_t *document, int folder_fd, double s)
{
    char text[TEXT_NUMBER_BYTES], why[160];
    if (s > SILENT_S) {
        snprintf(why, sizeof(why), "it stands still%s; this is its state of %s ago",
                 disk_trouble(folder_fd), text_duration(text, s));
        json_object_set_new(document, "state", json_string("silent"));
        json_object_set_new(document, "ready", json_false());
        json_object_set_new(document, "why", json_string(why));
    }
}

enum status status_file_read_at(int folder_fd, json_t **out)
{
    *out = NULL;
    const int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT
                   ? status_fail(STATUS_NOT_FOUND, "the service has said nothing yet; ask again")
                   : status_fail_errno(errno, "the status cannot be read");
    }
    enum status code = json_read_fd(fd, LONGEST, out);
    close(fd);
    if (code == STATUS_OK && !json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        code = status_fail(STATUS_BAD_INPUT, "not an object");
    }
    if (code == STATUS_OK) {
        const double s = age_of(*out);
        add_to(*out, "uptime_s", s);
        add_to(*out, "oldest_queued_s", s);
        add_to(*out, "oldest_part_s", s);
        add_to_all(*out, "waiting", "since_s", s);
        add_to_all(*out, "in_flight", "for_s", s);
        add_to_all(*out, "workers", "again_in_s", -s);
        say_silence(*out, folder_fd, s);
    }
    return code;
}

/* The spool's folder of the status; -1, with errno. */
static int open_status(const char *spool)
{
    char *const path = xasprintf("%s/" STATUS_FOLDER, spool);
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(path);
    return fd;
}

bool status_file_lives(const char *spool)
{
    const int fd = open_status(spool);
    const bool is_alive = fd >= 0 && lives(fd);
    beneath_close(fd);
    return is_alive;
}

enum status status_file_read(const char *spool, json_t **out)
{
    enum status code = STATUS_NOT_FOUND;
    bool is_alive = false;
    *out = NULL;
    const int fd = open_status(spool);
    if (fd < 0 && errno == EACCES) {
        return status_fail(STATUS_IO,
                           "'%s/" STATUS_FOLDER
                           "': only root, the service's own user and its status_group may read it",
                           spool);
    }
    for (int i = 0; i < TRIES && code != STATUS_OK && fd >= 0 && (is_alive = lives(fd)); i++) {
        if (i > 0) {
            nanosleep(&(struct timespec){.tv_nsec = (long)AGAIN_MS * 1000000}, NULL);
        }
        code = status_file_read_at(fd, out);
    }
    const char *const trouble = disk_trouble(fd);
    beneath_close(fd);
    if (code == STATUS_OK) {
        return code;
    }
    return is_alive ? status_fail(code, "'%s/" STATUS_FOLDER "/%s': %s%s", spool, name,
                                  status_message(), trouble)
           : *trouble != '\0'
               ? status_fail(STATUS_NOT_FOUND,
                             "no service that can say so watches '%s'%s; the log of one that waits "
                             "for that says it",
                             spool, trouble)
               : status_fail(STATUS_NOT_FOUND,
                             "no service watches '%s'; start one with 'systemctl start leat' "
                             "or 'leat watch --spool DIR', or name its folder with --spool",
                             spool);
}
