/*
 * inputs_stream - what is read as it comes: pipes, and members of archives that are unpacked as
 * their job reads them; kept in a scratch file where it has to be read at any place.
 */
#include "formats/base/file_name.h"
#include "formats/base/io_watch.h"
#include "formats/table/foreign.h"
#include "pipeline/engine/scratch.h"
#include "pipeline/inputs/inputs_state.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum status inputs_stream_open(const char *path, struct stat *st, int *fd)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0 || fstat(*fd, st) != 0) {
        const enum status code = status_fail_errno(errno, "cannot open '%s'", path);
        if (*fd >= 0) {
            close(*fd);
        }
        return code;
    }
    return STATUS_OK;
}

enum status inputs_stream_copy(struct inputs *in, const char *name,
                               const struct source_stream *stream, int *fd)
{
    static const size_t block_bytes = 256 << 10;
    const struct source_limits limits = {.max_bytes = in->settings->unpack.max_bytes};
    unsigned char *block = xmalloc(block_bytes);
    enum status code = scratch_file(in->scratch_fd, fd);
    const uint64_t room = code == STATUS_OK ? scratch_room(*fd) : 0;
    uint64_t bytes = 0;
    for (size_t n = 1; code == STATUS_OK && n > 0; bytes += n) {
        code = stream->read(stream->user, &in->stop, block, block_bytes, &n);
        if (code == STATUS_OK && bytes + n > room) {
            code = status_fail(STATUS_NO_SPACE, "'%s': there is no room to keep it", name);
        }
        if (code == STATUS_OK) {
            code = source_check_limits(&limits, name, 0, bytes + n);
        }
        if (code == STATUS_OK && !io_watch_write_all(*fd, block, n)) {
            code = status_fail_errno(errno, "cannot keep '%s'", name);
        }
    }
    stream->close(stream->user);
    free(block);
    if (code != STATUS_OK && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return code;
}

/* Files of that name are read at any place. */
static bool needs_seek(const char *path)
{
    return file_name_is(path, ".npz .tif .tiff") || foreign_is_read(path, false) ||
           foreign_is_read(path, true);
}

bool inputs_stream_is_forward(const char *path)
{
    return file_name_is(path, ".csv .tsv .txt .npy .asc");
}

enum status inputs_stream_take(struct inputs *in, const char *path,
                               const struct source_stream *stream, struct job_input *out, bool *got)
{
    struct job_settings settings;
    struct job_part part = {.fd = -1, .is_stream = true, .stream = *stream};
    bool own;
    *got = false;
    enum status code = inputs_take_settings(in, path, &settings, &own);
    if (code == STATUS_OK && own && needs_seek(path)) {
        part = (struct job_part){.fd = -1};
        code = inputs_stream_copy(in, path, stream, &part.fd);
        if (code == STATUS_OK) {
            return inputs_take_part(in, path, &part, &settings, out, got);
        }
        job_settings_free(&settings);
    } else if (code == STATUS_OK && own) {
        return inputs_take_part(in, path, &part, &settings, out, got);
    } else {
        stream->close(stream->user);
    }
    return inputs_take_about(out, path, code);
}
