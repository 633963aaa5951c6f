/*
 * scratch - see scratch.h.
 */
#include "pipeline/engine/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum status scratch_file(int folder_fd, int *fd)
{
    *fd = folder_fd >= 0 ? openat(folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
                         : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        char name[] = "/tmp/leat-XXXXXX";
        *fd = mkostemp(name, O_CLOEXEC);
        if (*fd >= 0) {
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
