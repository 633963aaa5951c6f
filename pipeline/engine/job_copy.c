/*
 * job_copy - the numbers of a part as the first pass has decoded them, for the passes after it: a
 * .npy file without a name in the output folder. Text and packed bytes are worth it, since reading
 * doubles costs a tenth of decoding them; numbers that lie in their file as in memory are not. A
 * copy that does not find room is given up, and the part is decoded again; a job that fails for
 * lack of room although it has copies starts over without them.
 */
#include "pipeline/engine/job_state.h"

#include "formats/base/io_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void give_up(struct job_copy *copy)
{
    if (copy->fd >= 0) {
        close(copy->fd);
    }
    *copy = (struct job_copy){.fd = -1, .given_up = true};
}

/* Takes no more than a third of what is free: results come to the same place. */
static bool has_room(const struct job_copy *copy, uint64_t more)
{
    struct statvfs st;
    return fstatvfs(copy->fd, &st) == 0 &&
           copy->bytes + more <= (uint64_t)st.f_bavail * st.f_frsize / 2;
}

static bool begin(struct job_copy *copy, int folder_fd)
{
    copy->bytes = NPY_HEAD_BYTES;
    copy->fd = openat(folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return copy->fd >= 0 && lseek(copy->fd, NPY_HEAD_BYTES, SEEK_SET) == NPY_HEAD_BYTES;
}

/* Whether the numbers may be wanted, and would have to be decoded or could not be read again. */
static bool is_wanted(const struct job *job, size_t part)
{
    const struct job_part *const p = &job->input.parts[part];
    return job->need.rereads || (job->need.may_reread && p->is_stream && p->archive == NULL);
}

/* Whether the numbers lie in the file as in memory. */
static bool is_plain(const struct block *b)
{
    return strcmp(table_info(b->table)->format, "npy") == 0 && b->chunk.raw_len == 0 &&
           source_hindrance(table_source(b->table)) == NULL;
}

void job_copy_add(struct job *job, const struct block *b)
{
    struct job_copy *copy = &job->copies[b->part];
    const struct table_chunk *c = &b->chunk;
    const size_t bytes = c->n_cells * dtype_bytes(table_info(b->table)->dtype);
    if (!is_wanted(job, b->part) || job->again != NULL || job->without_copies || copy->given_up ||
        is_plain(b)) {
        return;
    }
    job->has_copied = job->need.rereads; /* a pipe cannot start over */
    if ((copy->fd < 0 && !begin(copy, job->context.out_fd)) || !has_room(copy, bytes) ||
        !io_watch_write_all(copy->fd, c->values, bytes)) {
        give_up(copy);
        return;
    }
    copy->bytes += bytes;
}

enum status job_copy_open(struct job *job, size_t part, struct table **out)
{
    const struct job_copy *copy = &job->copies[part];
    const struct table_info *info = table_info(job->tables[part]);
    char head[NPY_HEAD_BYTES];
    const size_t dims[2] = {(size_t)(job->cells[part] / info->cells_per_line),
                            info->cells_per_line};
    *out = NULL;
    if (copy->fd < 0) {
        return STATUS_OK;
    }
    result_npy_head(head, info->dtype == DTYPE_F32 ? NPY_F4 : NPY_F8, 2, dims);
    if (pwrite(copy->fd, head, sizeof head, 0) != (ssize_t)sizeof head) {
        return status_fail_errno(errno, "cannot write the decoded copy of '%s'",
                                 job->input.parts[part].path);
    }
    struct job_part again = {.path = (char *)"the decoded copy of an input", .fd = copy->fd};
    return job_open_part(job, &again, &(struct table_options){0}, out);
}

void job_copies_close(struct job *job)
{
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        give_up(&job->copies[i]);
    }
}
