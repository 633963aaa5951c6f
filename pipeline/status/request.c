/*
 * request - see request.h.
 */
#include "pipeline/status/request.h"

#include "formats/base/json.h"
#include "pipeline/names/text.h"
#include "pipeline/status/status_file.h"
#include "pipeline/worker/worker_protocol.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LONGEST = 16384,
    PATIENCE_S = 15, /* for an answer */
    OLD_S = 600      /* an answer that nobody has fetched */
};

static const char unawaited[] = "-page"; /* ends the name of a request */

/* Root asks for the service, which has to read it. */
static bool give(int fd, const struct stat *owner)
{
    return owner->st_uid == geteuid() || fchown(fd, owner->st_uid, owner->st_gid) == 0;
}

enum status request_open_folder(const char *spool, int *out)
{
    struct stat owner;
    char *const path = xasprintf("%s/.work", spool);
    *out = -1;
    const int work_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const bool is_made = work_fd >= 0 && mkdirat(work_fd, "requests", 0700) == 0;
    if (work_fd >= 0) {
        *out = openat(work_fd, "requests", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    enum status code = STATUS_OK;
    if (*out < 0 ||
        (is_made && (fstat(work_fd, &owner) != 0 || !give(*out, &owner) || fsync(work_fd) != 0))) {
        const int error = errno;
        code = error == ENOENT
                   ? status_fail(STATUS_NOT_FOUND,
                                 "no service has watched '%s' yet; name the watched "
                                 "folder with --spool",
                                 spool)
                   : status_fail_errno(error, "'%s': cannot be asked for anything%s", path,
                                       error == EACCES ? ", only root and its own user may" : "");
        beneath_close(*out);
        *out = -1;
    }
    beneath_close(work_fd);
    free(path);
    return code;
}

/* A request under that name, by one rename, on disk. */
static enum status put(int folder_fd, const char *name, const char *text)
{
    char temp[REQUEST_NAME_BYTES + 8];
    struct stat owner;
    snprintf(temp, sizeof(temp), ".%s", name);
    const size_t n = strlen(text);
    const int fd =
        openat(folder_fd, temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    const bool is_put = fd >= 0 && fstat(folder_fd, &owner) == 0 && give(fd, &owner) &&
                        write(fd, text, n) == (ssize_t)n && disk_sync("request.file", fd) == 0 &&
                        disk_replace("request.name", folder_fd, temp, folder_fd, name) == 0 &&
                        disk_sync("request.folder", folder_fd) == 0;
    const int error = errno;
    beneath_close(fd);
    if (!is_put) {
        unlinkat(folder_fd, temp, 0);
    }
    return is_put ? STATUS_OK
                  : status_fail_errno(error, "'" REQUEST_FOLDER "': the request cannot be written");
}

enum status request_write(int folder_fd, const char *what, const char *job, bool is_awaited,
                          char name[REQUEST_NAME_BYTES])
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    snprintf(name, REQUEST_NAME_BYTES, "%011lld-%09ld-%d%s", (long long)t.tv_sec, t.tv_nsec,
             (int)getpid(), is_awaited ? "" : unawaited);
    json_t *const request = json_pack("{s:s, s:o}", "do", what, "job",
                                      job != NULL ? worker_pack_name(job) : json_null());
    char *const text = xalloc_checked(json_dumps(request, JSON_COMPACT));
    json_decref(request);
    const enum status code = put(folder_fd, name, text);
    free(text);
    return code;
}

enum status request_answer(int folder_fd, const char *name, bool done, const char *text)
{
    const size_t n_name = strlen(name), n_end = strlen(unawaited);
    if (n_name > n_end && strcmp(name + n_name - n_end, unawaited) == 0) {
        (void)unlinkat(folder_fd, name, 0); /* else it is done once more, which does no harm */
        return STATUS_OK;
    }
    json_t *const object = json_pack("{s:b, s:o}", "done", done, "text", text_json(text));
    char *const answer = xalloc_checked(json_dumps(object, JSON_COMPACT));
    const size_t n = strlen(answer);
    const int fd = openat(folder_fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    const bool is_put = fd >= 0 && write(fd, answer, n) == (ssize_t)n &&
                        ftruncate(fd, (off_t)n) == 0 && disk_sync("request.answer", fd) == 0;
    const int error = errno;
    beneath_close(fd);
    free(answer);
    json_decref(object);
    if (is_put || error == ENOENT) {
        return STATUS_OK;
    }
    unlinkat(folder_fd, name, 0); /* else it is done again and again */
    return status_fail_errno(error, "'" REQUEST_FOLDER "': the answer cannot be written");
}

/* Whatever lies there. */
static enum status read_object(int folder_fd, const char *name, json_t **out)
{
    struct stat st;
    int fd;
    *out = NULL;
    STATUS_TRY(beneath_open_file(folder_fd, name, &st, &fd));
    const enum status code = json_read_fd(fd, LONGEST, out);
    close(fd);
    return code;
}

json_t *request_read(int folder_fd, const char *name)
{
    struct stat st;
    json_t *object;
    const enum status code = read_object(folder_fd, name, &object);
    if (*name != '.' && json_is_string(json_object_get(object, "do"))) {
        return object;
    }
    json_decref(object);
    const bool is_known =
        code == STATUS_OK || code == STATUS_BAD_INPUT || code == STATUS_UNSUPPORTED;
    if (is_known && fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_mtim.tv_sec + OLD_S < time(NULL)) {
        unlinkat(folder_fd, name, 0);
    }
    return NULL;
}

/* Whether the answer is there; it is taken away then. */
static bool fetch(int folder_fd, const char *name, bool *done, char text[REQUEST_TEXT_BYTES])
{
    json_t *object;
    (void)read_object(folder_fd, name, &object); /* half an answer is none yet */
    const bool is_answer = json_is_boolean(json_object_get(object, "done"));
    if (is_answer) {
        *done = json_is_true(json_object_get(object, "done"));
        snprintf(text, REQUEST_TEXT_BYTES, "%s", text_at(object, "text"));
        unlinkat(folder_fd, name, 0);
    }
    json_decref(object);
    return is_answer;
}

/* Those that are asked, while their answers are waited for. */
struct asking {
    const char *spool, *what;
    int folder_fd, told_fd; /* told: that something in the folder has been written */
    bool is_alive;
    int patience_s; /* that is left while nothing is answered */
};

/* Without an answer *done stays, and text says what becomes of the request. */
static void await(struct asking *a, const char *name, bool *done, char text[REQUEST_TEXT_BYTES])
{
    struct pollfd told = {.fd = a->told_fd, .events = POLLIN};
    char events[4096];
    do {
        a->is_alive = status_file_lives(a->spool);
        if (fetch(a->folder_fd, name, done, text)) {
            a->patience_s = PATIENCE_S;
            return;
        }
        if (a->is_alive && a->patience_s > 0) {
            a->patience_s -= poll(&told, 1, 1000) <= 0;
        }
        while (read(a->told_fd, events, sizeof(events)) > 0) { /* it is looked again */
        }
    } while (a->is_alive && a->patience_s > 0);
    snprintf(text, REQUEST_TEXT_BYTES, "%s%s",
             a->is_alive ? "asked for; the service has not come to it yet, and will"
                         : "asked for; no service runs: the next one does it when it starts",
             a->is_alive || strcmp(a->what, "retry") == 0
                 ? ""
                 : ", to a job that is claimed; a file that waits in in/ can be moved away");
}

enum status request_ask(const char *spool, const char *what, const char *const *jobs, size_t n,
                        request_told_fn *told, void *user)
{
    struct asking a = {.spool = spool, .what = what, .patience_s = PATIENCE_S};
    char text[REQUEST_TEXT_BYTES], folder[64];
    STATUS_TRY(request_open_folder(spool, &a.folder_fd));
    char(*const names)[REQUEST_NAME_BYTES] = xcalloc(n, sizeof(*names));
    snprintf(folder, sizeof(folder), "/proc/self/fd/%d", a.folder_fd);
    a.told_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    (void)inotify_add_watch(a.told_fd, folder, IN_CLOSE_WRITE); /* else it is looked every second */
    enum status code = STATUS_OK;
    size_t n_asked = 0;
    for (; n_asked < n && code == STATUS_OK; n_asked += code == STATUS_OK) {
        code = request_write(a.folder_fd, what, jobs[n_asked], true, names[n_asked]);
    }
    if (n_asked < n) {
        told(user, jobs[n_asked], false, status_message()); /* the others are not asked for */
    }
    for (size_t i = 0; i < n_asked; i++) {
        bool done = true; /* it will be, where there is no answer */
        await(&a, names[i], &done, text);
        told(user, jobs[i], done, text);
    }
    free(names);
    beneath_close(a.told_fd);
    beneath_close(a.folder_fd);
    return STATUS_OK;
}
