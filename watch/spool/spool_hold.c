/*
 * spool_hold - the administrator's hold on a claimed job: a file `hold` in .work/ID, which outlives
 * the service. It goes with the job's other files.
 */
#include "watch/spool/spool_state.h"

#include "watch/files/beneath.h"
#include "watch/files/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const char held[] = "held\n";

enum status spool_hold(struct spool *s, const char *id, bool hold)
{
    const int fd = spool_open_work(s->work_fd, id, "");
    const bool was_held = fd >= 0 && spool_is_held(fd);
    bool good = fd >= 0;
    if (good && hold) {
        good = disk_append("hold.file", fd, "hold", held, strlen(held)) == 0 &&
               disk_sync_name("hold.file", fd, "hold") == 0;
    } else if (good) {
        good = disk_unlink("hold.release", fd, "hold") == 0 || errno == ENOENT;
    }
    if (!good || disk_sync("hold.folder", fd) != 0) {
        const int error = errno;
        if (fd >= 0 && hold && !was_held && disk_unlink("hold.undo", fd, "hold") == 0) {
            (void)disk_sync("hold.undo", fd); /* else the next start would find it held */
        }
        beneath_close(fd);
        return status_fail_errno(error, "'%s/.work/%s/hold' cannot be %s", s->root, id,
                                 hold ? "made" : "removed");
    }
    beneath_close(fd);
    return STATUS_OK;
}

bool spool_is_held(int job_fd)
{
    struct stat st;
    return fstatat(job_fd, "hold", &st, AT_SYMLINK_NOFOLLOW) == 0;
}
