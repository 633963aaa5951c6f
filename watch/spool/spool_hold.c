/*
 * spool_hold - the administrator's hold on a claimed job: a file `hold` in .work/ID, which outlives
 * the service. It goes with the job's other files.
 */
#include "watch/spool/spool_state.h"

#include "watch/files/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const char held[] = "held\n";

enum status spool_hold(struct spool *s, const char *id, bool hold)
{
    const struct spool_path path = spool_path(id, "hold");
    const bool was_held = spool_is_held(s, id);
    const bool good =
        hold ? disk_append("hold.file", s->work_fd, path.text, held, strlen(held)) == 0 &&
                   disk_sync_name("hold.file", s->work_fd, path.text) == 0
             : disk_unlink("hold.release", s->work_fd, path.text) == 0 || errno == ENOENT;
    if (good && disk_sync_name("hold.folder", s->work_fd, id) == 0) {
        return STATUS_OK;
    }
    const int error = errno;
    if (hold && !was_held && disk_unlink("hold.undo", s->work_fd, path.text) == 0) {
        (void)disk_sync_name("hold.undo", s->work_fd, id); /* else the next start finds it held */
    }
    return status_fail_errno(error, "'%s/.work/%s/hold' cannot be %s", s->root, id,
                             hold ? "made" : "removed");
}

bool spool_is_held(const struct spool *s, const char *id)
{
    struct stat st;
    return fstatat(s->work_fd, spool_path(id, "hold").text, &st, AT_SYMLINK_NOFOLLOW) == 0;
}
