/*
 * number_copy - see the header.
 */
#include "pipeline/engine/number_copy.h"

#include "formats/base/io_watch.h"
#include "formats/result/result.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

void number_copy_close(struct number_copy *copy)
{
    if (copy->fd >= 0) {
        close(copy->fd);
    }
    *copy = (struct number_copy){.fd = -1, .given_up = true};
}

/* Takes no more than a third of what is free: results come to the same place. */
static bool has_room(const struct number_copy *copy, uint64_t more)
{
    struct statvfs st;
    return fstatvfs(copy->fd, &st) == 0 &&
           copy->bytes + more <= (uint64_t)st.f_bavail * st.f_frsize / 2;
}

static bool begin(struct number_copy *copy, int folder_fd)
{
    copy->bytes = NPY_HEAD_BYTES;
    copy->fd = openat(folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return copy->fd >= 0 && lseek(copy->fd, NPY_HEAD_BYTES, SEEK_SET) == NPY_HEAD_BYTES;
}

void number_copy_add(struct number_copy *copy, int folder_fd, const void *numbers, size_t bytes)
{
    if ((copy->fd < 0 && !begin(copy, folder_fd)) || !has_room(copy, bytes) ||
        !io_watch_write_all(copy->fd, numbers, bytes)) {
        number_copy_close(copy);
        return;
    }
    copy->bytes += bytes;
}

enum status number_copy_end(const struct number_copy *copy, const char *of, enum dtype dtype,
                            size_t n_lines, size_t per_line)
{
    char head[NPY_HEAD_BYTES];
    result_npy_head(head, dtype == DTYPE_F32 ? NPY_F4 : NPY_F8, 2,
                    (const size_t[]){n_lines, per_line});
    return pwrite(copy->fd, head, sizeof head, 0) == (ssize_t)sizeof head
               ? STATUS_OK
               : status_fail_errno(errno, "cannot write the decoded copy of '%s'", of);
}
