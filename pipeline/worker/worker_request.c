/*
 * worker_request - see worker_request.h.
 */
#include "pipeline/worker/worker_request.h"

#include "formats/base/file_name.h"
#include "pipeline/names/beside.h"
#include "pipeline/worker/worker_protocol.h"
#include "watch/files/beneath.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name in the message; "": there is none. For free(). */
static char *name_of(const json_t *packed)
{
    char *const name = worker_unpack_name(packed);
    return name != NULL ? name : xstrdup("");
}

static const json_t *files_of(const struct worker_request *r)
{
    return json_object_get(r->message, "files");
}

char *worker_request_path(const struct worker_request *r, size_t i)
{
    char *const folder = name_of(json_object_get(r->message, "folder"));
    char *const name = name_of(json_array_get(files_of(r), i));
    char *const path = xasprintf("in/%s%s%s", folder, *folder != '\0' ? "/" : "", name);
    free(folder);
    free(name);
    return path;
}

static enum status open_file(const struct worker_request *r, const char *name, int *fd)
{
    struct stat st;
    *fd = -1;
    if (!beneath_is_name(name) || !beneath_is_name(r->id)) {
        return status_fail(STATUS_INTERNAL, "a job came without the names of its files");
    }
    char *const path = xasprintf("%s/in/%s", r->id, name);
    const enum status code = beneath_open_file(r->folders->work_fd, path, &st, fd);
    free(path);
    /* It was there when the job was claimed: the job is not at fault. */
    return code == STATUS_NOT_FOUND ? STATUS_INTERNAL : code;
}

/* Whether the job has a file of that name. */
static bool is_listed(const void *request, const char *name)
{
    const struct worker_request *const r = request;
    size_t i;
    json_t *packed;
    bool is = false;
    json_array_foreach(files_of(r), i, packed)
    {
        char *const other = name_of(packed);
        is = is || strcmp(other, name) == 0;
        free(other);
    }
    return is;
}

static enum status open_beside(const struct worker_request *r, const char *name,
                               struct job_part *part)
{
    const struct beside beside = beside_search(name, is_listed, r);
    enum status code = STATUS_OK;
    int fd;
    part->masked = beside.has_mask ? "" : NULL;
    if (beside.projection != NULL && (code = open_file(r, beside.projection, &fd)) == STATUS_OK) {
        code = beside_read_projection(fd, part->path, &part->prj);
        close(fd);
    }
    free(beside.projection);
    return code;
}

/* On the lane that reads. */
static enum status open_parts(const void *request, struct job_input *input)
{
    for (size_t i = 0; i < input->n_parts; i++) {
        struct job_part *const part = &input->parts[i];
        const char *const name = file_name_last(part->path);
        STATUS_TRY(open_file(request, name, &part->fd));
        if (input->settings.parts[i]->kind == STAGE_GRID) {
            STATUS_TRY(open_beside(request, name, part));
        }
    }
    return STATUS_OK;
}

enum status worker_request_input(const struct worker_request *r, struct job_input *out)
{
    const size_t n_files = json_array_size(files_of(r));
    char *const stem = name_of(json_object_get(r->message, "stem"));
    *out = (struct job_input){.open = open_parts, .opener = r};
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        out->parts[i].fd = -1;
    }
    const enum status code = worker_unpack_settings(r->message, stem, &out->settings);
    free(stem);
    if (code != STATUS_OK || n_files < out->settings.n_parts) {
        return code != STATUS_OK
                   ? code
                   : status_fail(STATUS_INTERNAL, "a job came with %zu files", n_files);
    }
    for (; out->n_parts < out->settings.n_parts; out->n_parts++) {
        struct job_part *const part = &out->parts[out->n_parts];
        part->path = worker_request_path(r, out->n_parts);
        part->name = part->path + strlen("in/");
    }
    /* The result has the job's id for its name until it is published; what lies in it is named
     * after the stem. */
    out->settings.result = xstrdup(r->id);
    out->part_folder = xstrdup(spool_part(r->folders->owner, r->id).name);
    out->state = xstrdup(spool_state_file(r->folders->owner, r->id).name);
    out->id = xstrdup(r->id);
    return STATUS_OK;
}

enum status worker_request_archive(const struct worker_request *r, int *fd, int *part_fd,
                                   char **found_at)
{
    const struct spool_part part = spool_part(r->folders->owner, r->id);
    char *const name = name_of(json_array_get(files_of(r), 0));
    *found_at = xasprintf("/proc/self/fd/%d/%s/in/%s", r->folders->work_fd, r->id, name);
    *part_fd = openat(r->folders->out_fd, part.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const enum status code =
        *part_fd >= 0 ? open_file(r, name, fd)
                      : status_fail_errno(errno, "cannot open the part folder '%s'", part.name);
    free(name);
    return code;
}
