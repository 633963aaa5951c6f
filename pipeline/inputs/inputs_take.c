/*
 * inputs_take - what becomes of a file: whose it is, of which job, or why of none. See
 * inputs_state.h. What is read as it comes, pipes and members of archives that are unpacked as
 * their job reads them, is kept in a scratch file where it has to be read at any place.
 */
#include "formats/base/file_name.h"
#include "formats/base/io_watch.h"
#include "formats/base/log.h"
#include "formats/base/text_hash.h"
#include "formats/table/foreign.h"
#include "pipeline/engine/scratch.h"
#include "pipeline/inputs/inputs_state.h"
#include "pipeline/names/input_name.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A number for the result of that name, on every machine the same. */
static uint64_t hash(const char *name)
{
    const uint64_t h = text_hash_add(TEXT_HASH_OF_NONE, name);
    return h ^ h >> 32; /* its low bits alone depend on few of the text's */
}

bool inputs_take_share(const struct inputs *in, const char *name)
{
    return in->share.find(in->share.user, hash(name));
}

void inputs_take_leave(struct inputs *in)
{
    in->n_taken++;
    in->n_all++;
}

bool inputs_take_speaks(const struct inputs *in, const char *path)
{
    return !in->share.joint || inputs_take_share(in, path);
}

/* --- results ---------------------------------------------------------------------------------- */

/* Of a path in a folder or an archive that was given what is beneath that; of what was given itself
 * its last component. */
static const char *beneath_given(const struct inputs *in, const char *path)
{
    if (in->walk == NULL && in->archive_path == NULL) {
        return file_name_last(path);
    }
    path += strlen(in->walk != NULL ? in->argument : in->archive_path);
    return path + strspn(path, "/");
}

/* The X of the archive that is being read, beneath a folder that was given; "" where the archive
 * was given itself. Owned. */
static char *archive_folder(const struct inputs *in)
{
    const char *beneath = beneath_given(in, in->archive_path);
    const char *name = file_name_last(beneath);
    char *stem;
    if (in->walk == NULL || xalloc_status(archive_input_stem(name, &stem)) != STATUS_OK) {
        return xstrdup("");
    }
    char *const folder = xasprintf("%.*s%s/", (int)(name - beneath), beneath, stem);
    free(stem);
    return folder;
}

enum status inputs_take_result(const struct inputs *in, const char *path, const char *stem,
                               char **out)
{
    const bool is_member = in->archive_path != NULL;
    char *const archive = is_member ? archive_folder(in) : xstrdup("");
    const char *beneath = is_member ? path + strlen(in->archive_path) + 1 : beneath_given(in, path);
    const int n = (int)(file_name_last(beneath) - beneath);
    *out = xasprintf("%s%.*s%s", archive, n, beneath, stem);
    free(archive);
    size_t depth = 0;
    for (const char *at = *out; (at = strchr(at, '/')) != NULL; at++) {
        depth++;
    }
    if (depth > INPUTS_MAX_DEPTH || strlen(*out) >= PATH_MAX) {
        free(*out);
        *out = NULL;
        return status_fail(STATUS_BAD_INPUT,
                           "'%s': lies in more than %d folders in one another, in which its result "
                           "would lie, too; give one that is nearer to it",
                           path, INPUTS_MAX_DEPTH);
    }
    return STATUS_OK;
}

/* --- files ------------------------------------------------------------------------------------ */

enum status inputs_take_settings(struct inputs *in, const char *path, struct job_settings *out,
                                 bool *own)
{
    enum status code = xalloc_status(settings_resolve(in->settings, path, out));
    if (code == STATUS_OK) {
        code = inputs_take_result(in, path, out->stem, &out->result);
        if (code != STATUS_OK) {
            job_settings_free(out);
        }
    }
    *own = inputs_take_share(in, code == STATUS_OK ? out->result : file_name_last(path));
    if (*own) {
        return code;
    }
    inputs_take_leave(in);
    job_settings_free(out);
    return STATUS_OK;
}

enum status inputs_take_part(struct inputs *in, const char *path, const struct job_part *from,
                             struct job_settings *settings, struct job_input *out, bool *got)
{
    struct job_part part = *from;
    *got = false;
    part.path = xstrdup(path);
    part.name = part.path + (beneath_given(in, path) - path);
    if (settings->n_parts > 1) {
        return parts_add(in->parts, &part, settings, out, got);
    }
    out->parts[0] = part;
    out->settings = *settings;
    out->n_parts = 1;
    *got = true;
    return STATUS_OK;
}

enum status inputs_take_about(struct job_input *out, const char *path, enum status code)
{
    if (code != STATUS_OK) {
        out->parts[0] = (struct job_part){.fd = -1, .path = xstrdup(path)};
    }
    return code;
}

enum status inputs_take_about_walk(struct inputs *in, struct job_input *out, const char *path,
                                   enum status code)
{
    if (code != STATUS_OK && !inputs_take_speaks(in, path)) {
        inputs_take_leave(in);
        return STATUS_OK;
    }
    return inputs_take_about(out, path, code);
}

enum status inputs_take_file(struct inputs *in, const char *path, struct job_input *out, bool *got)
{
    struct job_settings settings;
    bool own;
    *got = false;
    const enum status code = inputs_take_settings(in, path, &settings, &own);
    if (code != STATUS_OK) {
        return inputs_take_about(out, path, code);
    }
    return own ? inputs_take_part(in, path, &(struct job_part){.fd = -1}, &settings, out, got)
               : STATUS_OK;
}

bool inputs_take_looks_beside(const struct inputs *in, const char *path)
{
    return in->archive == NULL || (!in->archive_comes_once && settings_asks_for_grid(path));
}

bool inputs_take_is_masked(const struct inputs *in, const char *mask, bool is_looked_for)
{
    char *const grid = xstrndup(mask, strlen(mask) - strlen(INPUT_NAME_MASK));
    const bool is = settings_input_kind(in->settings, grid) == INPUT_OF_JOB &&
                    inputs_take_looks_beside(in, grid) == is_looked_for &&
                    (in->archive != NULL || access(grid, F_OK) == 0);
    free(grid);
    return is;
}

void inputs_take_pass_over(struct inputs *in, const char *path)
{
    const enum input_kind kind = settings_input_kind(in->settings, path);
    log_debug("'%s': no pipeline takes it, skipped", path);
    if (kind == INPUT_MASK && inputs_take_is_masked(in, path, true)) {
        return;
    }
    if (kind == INPUT_MASK || kind == INPUT_SIDECAR) {
        in->sidecar = in->n_sidecars++ == 0 ? xstrdup(path) : in->sidecar;
    } else if (kind != INPUT_PROJECTION) {
        in->n_foreign++;
        char *const how =
            kind == INPUT_FOREIGN && in->unread == NULL ? settings_conversion(path) : NULL;
        in->unread = how != NULL ? xasprintf("'%s' %s", path, how) : in->unread;
        free(how);
    }
}

/* --- what is read as it comes ----------------------------------------------------------------- */

enum status inputs_take_open(const char *path, struct stat *st, int *fd)
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

enum status inputs_take_copy(struct inputs *in, const char *name,
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

bool inputs_take_is_forward(const char *path)
{
    return file_name_is(path, ".csv .tsv .txt .npy .asc");
}

enum status inputs_take_stream(struct inputs *in, const char *path,
                               const struct source_stream *stream, struct job_input *out, bool *got)
{
    struct job_settings settings;
    struct job_part part = {.fd = -1, .is_stream = true, .stream = *stream};
    bool own;
    *got = false;
    enum status code = inputs_take_settings(in, path, &settings, &own);
    if (code == STATUS_OK && own && needs_seek(path)) {
        part = (struct job_part){.fd = -1};
        code = inputs_take_copy(in, path, stream, &part.fd);
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
