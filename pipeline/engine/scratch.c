/*
 * scratch - see scratch.h.
 */
#include "pipeline/engine/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Where the file system has none without a name. */
static int open_named(int folder_fd)
{
    static unsigned n_made;
    char name[64];
    snprintf(name, sizeof(name), ".leat-scratch-%ld-%u", (long)getpid(),
             __atomic_fetch_add(&n_made, 1, __ATOMIC_RELAXED));
    const int fd = openat(folder_fd, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) {
        unlinkat(folder_fd, name, 0);
    }
    return fd;
}

enum status scratch_file(int folder_fd, int *fd)
{
    char name[] = "/tmp/leat-XXXXXX";
    *fd = folder_fd >= 0 ? openat(folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
                         : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        *fd = folder_fd >= 0 ? open_named(folder_fd) : mkostemp(name, O_CLOEXEC);
        if (*fd >= 0 && folder_fd < 0) {
            unlink(name);
        }
    }
    return *fd >= 0 ? STATUS_OK : status_fail_errno(errno, "cannot make a scratch file");
}

uint64_t scratch_room(int fd)
{
    struct statvfs st;
    if (fstatvfs(fd, &st) != 0) {
        return UINT64_MAX;
    }
    return (uint64_t)st.f_bavail * st.f_frsize / 2;
}
