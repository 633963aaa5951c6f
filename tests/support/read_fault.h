/*
 * read_fault - one read of a file fails, as one from a bad disk does. The linker leads pread here
 * in the tests that include this (tests/CMakeLists.txt).
 */
#ifndef LEAT_TESTS_READ_FAULT_H
#define LEAT_TESTS_READ_FAULT_H

#include <errno.h>
#include <unistd.h>

static size_t reads_until_fault; /* the read that makes this 0 fails; 0: none does */

ssize_t __real_pread64(int fd, void *data, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *data, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *data, size_t n, off_t at)
{
    if (reads_until_fault > 0 && --reads_until_fault == 0) {
        errno = EIO;
        return -1;
    }
    return __real_pread64(fd, data, n, at);
}

#endif
