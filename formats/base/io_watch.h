/*
 * io_watch - reading and writing files with a callback before and after each call, so that the
 * time spent in such calls can be measured apart from all other time.
 */
#ifndef LEAT_FORMATS_BASE_IO_WATCH_H
#define LEAT_FORMATS_BASE_IO_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct io_watch {
    /* Called around each call, by any thread. */
    void (*note)(struct io_watch *watch, bool writes, bool begins);
};

/* Sets the watch of this thread's calls from now on; NULL: none. Borrowed. */
void io_watch_thread(struct io_watch *watch);

/* Reads up to n bytes at `at`, fewer only at the file's end or after a failure; *error is its
 * errno, else 0. Returns how many there are. */
size_t io_watch_pread_all(int fd, void *dst, size_t n, uint64_t at, int *error);
/* Writes all n bytes; false, with errno, when they could not all be written. */
bool io_watch_write_all(int fd, const void *src, size_t n);
/* Copies up to n bytes of a file, from `at` on, to where the other one is written next, within the
 * system: copy_file_range(2), counted as writing. */
ssize_t io_watch_copy(int from_fd, uint64_t at, int to_fd, size_t n);
/* pread(2), read(2), write(2), fsync(2) and close(2) of a file that was written, with errno as they
 * leave it. */
ssize_t io_watch_pread(int fd, void *dst, size_t n, off_t at);
ssize_t io_watch_read(int fd, void *dst, size_t n);
ssize_t io_watch_write(int fd, const void *src, size_t n);
int io_watch_fsync(int fd);
int io_watch_close(int fd);

#endif
