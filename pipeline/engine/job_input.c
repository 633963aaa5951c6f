/*
 * job_input - see the header.
 */
#include "pipeline/engine/job_input.h"

#include "formats/base/file_name.h"
#include "pipeline/names/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

const char *job_part_name(const struct job_part *part)
{
    return part->name != NULL ? part->name : file_name_last(part->path);
}

void job_part_give_back(struct job_part *part)
{
    if (part->stream.close != NULL) {
        part->stream.close(part->stream.user);
    }
    part->stream = (struct source_stream){0};
}

void job_part_free(struct job_part *part)
{
    if (part->path != NULL && part->fd >= 0) {
        close(part->fd);
    }
    job_part_give_back(part);
    free(part->archive);
    free(part->path);
    free(part->prj);
    *part = (struct job_part){.fd = -1};
}

void job_input_free(struct job_input *input)
{
    for (size_t i = 0; i < STAGE_MAX_PARTS; i++) {
        job_part_free(&input->parts[i]);
    }
    job_settings_free(&input->settings);
    free(input->part_folder);
    free(input->state);
    free(input->id);
    *input = (struct job_input){0};
}

enum status job_part_open(const struct job_part *part, struct source **out)
{
    *out = NULL;
    int fd = part->fd >= 0 ? fcntl(part->fd, F_DUPFD_CLOEXEC, 3)
                           : open(part->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        return status_fail_errno(errno, "cannot open '%s'", part->path);
    }
    if (part->fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
        int error = errno;
        close(fd);
        return status_fail_errno(error, "cannot read '%s' from its begin", part->path);
    }
    return source_open(fd, part->path, out);
}

static uint64_t at_least(uint64_t bytes, uint64_t least)
{
    return bytes < least ? least : bytes;
}

struct archive_input_options job_archive_options(const struct settings *settings,
                                                 const atomic_bool *stop)
{
    const uint64_t memory = settings->memory > 0 ? settings->memory : machine_memory() / 2;
    struct archive_input_options options = {.stop = stop,
                                            .limits = settings->unpack,
                                            .max_entries = settings->max_entries,
                                            .max_header_bytes = at_least(memory / 16, 16 << 20)};
    options.limits.max_window = at_least(memory / 4, 16 << 20);
    return options;
}
