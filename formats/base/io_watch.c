/*
 * io_watch - see io_watch.h.
 */
#include "formats/base/io_watch.h"

#include <errno.h>
#include <unistd.h>

static _Thread_local struct io_watch *watch_of_thread;

void io_watch_thread(struct io_watch *watch)
{
    watch_of_thread = watch;
}

static void note(bool writes, bool begins)
{
    if (watch_of_thread != NULL) {
        const int error = errno;
        watch_of_thread->note(watch_of_thread, writes, begins);
        errno = error;
    }
}

ssize_t io_watch_pread(int fd, void *dst, size_t n, off_t at)
{
    note(false, true);
    const ssize_t got = pread(fd, dst, n, at);
    note(false, false);
    return got;
}

ssize_t io_watch_read(int fd, void *dst, size_t n)
{
    note(false, true);
    const ssize_t got = read(fd, dst, n);
    note(false, false);
    return got;
}

size_t io_watch_pread_all(int fd, void *dst, size_t n, uint64_t at, int *error)
{
    size_t done = 0;
    ssize_t got = 1;
    *error = 0;
    while (done < n && got != 0) {
        got = io_watch_pread(fd, (char *)dst + done, n - done, (off_t)(at + done));
        if (got < 0 && errno != EINTR) {
            *error = errno;
            break;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return done;
}

bool io_watch_write_all(int fd, const void *src, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t k = io_watch_write(fd, (const char *)src + done, n - done);
        if (k < 0 && errno != EINTR) {
            return false;
        }
        done += k > 0 ? (size_t)k : 0;
    }
    return true;
}

ssize_t io_watch_write(int fd, const void *src, size_t n)
{
    note(true, true);
    const ssize_t done = write(fd, src, n);
    note(true, false);
    return done;
}

ssize_t io_watch_copy(int from_fd, uint64_t at, int to_fd, size_t n)
{
    off_t from = (off_t)at;
    note(true, true);
    const ssize_t done = copy_file_range(from_fd, &from, to_fd, NULL, n, 0);
    note(true, false);
    return done;
}

int io_watch_fsync(int fd)
{
    note(true, true);
    const int failed = fsync(fd);
    note(true, false);
    return failed;
}

int io_watch_close(int fd)
{
    note(true, true);
    const int failed = close(fd);
    note(true, false);
    return failed;
}
