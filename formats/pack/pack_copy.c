/*
 * pack_copy - what a file holds goes into a pack as it is: by the system, which moves what is in
 * the page cache once, or lets both files share it; else in blocks.
 */
#include "formats/base/io_watch.h"
#include "formats/pack/pack_state.h"

#include <errno.h>

enum { COPY_BYTES = 1 << 26 }; /* the most that the system copies in one call */

struct copy {
    struct pack *pack;
    int from;
    uint64_t n, done;
    const char *what; /* for messages */
    const int *stop;
};

static bool is_stopped(const struct copy *c)
{
    return c->stop != NULL && __atomic_load_n(c->stop, __ATOMIC_RELAXED) != 0;
}

/* What copy_file_range says where a file system, or a filter of system calls, does not have it:
 * also that it has copied nothing. */
static bool cannot_copy(ssize_t n, int error)
{
    return n == 0 || (n < 0 && (error == EXDEV || error == EINVAL || error == ENOSYS ||
                                error == EOPNOTSUPP || error == EPERM || error == EBADF));
}

/* c->done stays behind c->n where the system cannot do so. */
static enum status copy_in_system(struct copy *c)
{
    while (c->done < c->n && !is_stopped(c)) {
        const uint64_t left = c->n - c->done;
        const ssize_t n = io_watch_copy(c->from, c->done, c->pack->fd,
                                        left < COPY_BYTES ? (size_t)left : (size_t)COPY_BYTES);
        if (cannot_copy(n, errno)) {
            return STATUS_OK;
        }
        if (n < 0 && errno != EINTR) {
            return status_fail_errno(errno, "cannot copy %s into %s", c->what, c->pack->name);
        }
        c->done += n > 0 ? (uint64_t)n : 0;
    }
    return STATUS_OK;
}

/* What is left; a file that is too short is found here. */
static enum status copy_by_hand(struct copy *c)
{
    struct bytes block = {.len = 0};
    enum status st = c->done < c->n ? bytes_reserve(&block, PACK_PIECE_BYTES) : STATUS_OK;
    while (c->done < c->n && st == STATUS_OK && !is_stopped(c)) {
        const uint64_t left = c->n - c->done;
        const size_t want = left < PACK_PIECE_BYTES ? (size_t)left : PACK_PIECE_BYTES;
        int error;
        const size_t n = io_watch_pread_all(c->from, block.data, want, c->done, &error);
        if (n < want) {
            st = status_fail_errno(error != 0 ? error : EIO, "cannot read %s for %s", c->what,
                                   c->pack->name);
        } else if (!io_watch_write_all(c->pack->fd, block.data, n)) {
            st = status_fail_errno(errno, "cannot write %s", c->pack->name);
        }
        c->done += n;
    }
    bytes_free(&block);
    return st;
}

enum status pack_copy(struct pack *p, int from, uint64_t n, uint32_t crc, const char *what,
                      const int *stop)
{
    struct copy c = {.pack = p, .from = from, .n = n, .what = what, .stop = stop};
    if (n == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(pack_let_write(p, n, crc));
    STATUS_TRY(copy_in_system(&c));
    STATUS_TRY(copy_by_hand(&c));
    return c.done == n ? STATUS_OK
                       : status_fail(STATUS_CANCELLED, "%s: it was told to stop", p->name);
}
