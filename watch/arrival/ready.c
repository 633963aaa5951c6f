/*
 * ready - see ready.h. fcntl(2), F_SETLEASE; a lease that is broken by somebody's open() raises
 * SIGIO, which would end the process, so SIGURG, which is ignored by default, is chosen instead.
 * Leases on files of others need CAP_LEASE, capabilities(7).
 */
#include "watch/arrival/ready.h"

#include "formats/base/file_name.h"
#include "watch/files/beneath.h"
#include "watch/files/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOOK_AGAIN_MS = 1000 }; /* at what is open for writing; closing it is an event as well */

enum ready_writer ready_writer(int fd)
{
    if (FAULT_ERROR("ready.lease") != 0 || fcntl(fd, F_SETSIG, SIGURG) != 0) {
        return READY_WRITER_UNKNOWN;
    }
    if (fcntl(fd, F_SETLEASE, F_RDLCK) != 0) {
        return errno == EAGAIN ? READY_WRITER_OPEN : READY_WRITER_UNKNOWN;
    }
    fcntl(fd, F_SETLEASE, F_UNLCK);
    return READY_WRITER_NONE;
}

bool ready_has_leases(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capget, &head, data) == 0 &&
           (data[CAP_TO_INDEX(CAP_LEASE)].effective & CAP_TO_MASK(CAP_LEASE)) != 0;
}

/* A text file's last line without a line end is one that may not be whole. */
static bool ends_within_a_line(int fd, const char *path, off_t size)
{
    static const char *const texts[] = {".csv", ".tsv", ".txt", ".asc"};
    bool is_text = false;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        is_text = is_text || file_name_ends(path, texts[i]);
    }
    char last;
    return is_text && size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n' &&
           last != '\r';
}

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct ready_seen ready_seen_of(const struct stat *st)
{
    return (struct ready_seen){(uint64_t)st->st_ino, st->st_size, nanoseconds(st->st_mtim),
                               nanoseconds(st->st_ctim)};
}

bool ready_is_same(const struct ready_seen *a, const struct ready_seen *b)
{
    return a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns &&
           a->ctime_ns == b->ctime_ns;
}

/* For how long the file has stood still, as far as is known. */
static uint64_t still_for(const struct ready_seen *seen, uint64_t now_ms, struct ready_memory *m)
{
    if (m->since_ms == 0 || !ready_is_same(&m->seen, seen)) {
        *m = (struct ready_memory){*seen, now_ms};
    }
    return now_ms - m->since_ms;
}

__attribute__((format(printf, 3, 4))) static void later(struct ready_answer *a, uint64_t again_ms,
                                                        const char *reason, ...)
{
    va_list list;
    a->state = READY_LATER;
    a->again_ms = again_ms;
    va_start(list, reason);
    vsnprintf(a->reason, sizeof(a->reason), reason, list);
    va_end(list);
}

struct ready_answer ready_look(int folder_fd, const char *path, uint64_t now_ms, uint64_t settle_ms,
                               uint64_t always_ms, struct ready_memory *memory)
{
    struct ready_answer a = {.state = READY_YES};
    struct stat st = {0};
    int fd;
    enum status code = beneath_open_file(folder_fd, path, &st, &fd);
    a.seen = ready_seen_of(&st);
    if (code == STATUS_NOT_FOUND) {
        a.state = READY_GONE;
        return a;
    }
    if (code == STATUS_UNSUPPORTED) {
        const char *unfit = beneath_unfit(&st);
        a.state = READY_NEVER;
        snprintf(a.reason, sizeof(a.reason), "%s", unfit != NULL ? unfit : "lies behind a link");
        return a;
    }
    if (code != STATUS_OK) {
        const char *colon = strrchr(status_message(), ':');
        later(&a, LOOK_AGAIN_MS, "cannot be read:%s", colon != NULL ? colon + 1 : " unknown error");
        return a;
    }
    const uint64_t still_ms = still_for(&a.seen, now_ms, memory);
    const enum ready_writer writer = ready_writer(fd);
    const bool is_torn = writer == READY_WRITER_UNKNOWN && ends_within_a_line(fd, path, st.st_size);
    const bool is_told = writer != READY_WRITER_UNKNOWN && st.st_size > 0;
    const uint64_t untold_ms = is_told ? 0 : is_torn ? 2 * settle_ms : settle_ms;
    const uint64_t wanted_ms = untold_ms > always_ms ? untold_ms : always_ms;
    close(fd);
    if (writer == READY_WRITER_OPEN) {
        later(&a, LOOK_AGAIN_MS, "is open for writing");
    } else if (still_ms < wanted_ms) {
        later(&a, wanted_ms - still_ms, "%s; must stand still for %g s",
              st.st_size == 0 ? "is empty"
              : is_told       ? "has changed"
              : is_torn       ? "may be written to, and its last line has no end"
                              : "may be written to",
              (double)wanted_ms / 1e3);
    }
    return a;
}
