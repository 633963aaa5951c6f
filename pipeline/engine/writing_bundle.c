/*
 * writing_bundle - a result's files leave in one zip, NAME.zip, with a result.json that is true of
 * them: once unpacked they are a result like any other.
 *
 * Its bytes depend on the result alone, not on the run and the machine: of these the result.json
 * beside the zip tells, which is written afterwards and names the zip. Text is deflated; all
 * else is packed already, and stored. Each file is removed once it is in the zip: on its way the
 * result takes up to its largest file more than it will.
 */
#include "pipeline/engine/writing.h"

#include "formats/base/file_name.h"
#include "formats/base/io_watch.h"
#include "formats/base/utf8.h"
#include "formats/pack/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bundle {
    int folder; /* of the result */
    const int *stop;
    json_t *manifest;
    struct pack *pack;
    struct deflater *deflater;
    struct bytes raw; /* of text, from its file */
    struct pack_piece piece;
};

static enum status put_text(struct bundle *b, const void *text, size_t n, bool last)
{
    STATUS_TRY(pack_deflate(b->deflater, PACK_ZIP, text, n, last, &b->piece));
    return pack_append(b->pack, &b->piece);
}

/* How many of the bytes that are left make the next piece. */
static size_t piece_of(uint64_t left)
{
    return left < PACK_PIECE_BYTES ? (size_t)left : PACK_PIECE_BYTES;
}

static enum status add_manifest(struct bundle *b)
{
    json_t *const lasting = manifest_lasting(b->manifest);
    char *const text = manifest_text(lasting);
    json_decref(lasting);
    const size_t n = strlen(text);
    enum status code = pack_member(b->pack, "result.json");
    for (size_t at = 0, k; at < n && code == STATUS_OK; at += k) {
        k = piece_of(n - at);
        code = put_text(b, text + at, k, at + k == n);
    }
    free(text);
    return code;
}

static enum status deflate_file(struct bundle *b, const char *name, int fd, uint64_t bytes)
{
    STATUS_TRY(pack_member(b->pack, name));
    uint64_t at = 0;
    do {
        const size_t k = piece_of(bytes - at);
        int error;
        bytes_clear(&b->raw);
        STATUS_TRY(bytes_reserve(&b->raw, k + 1));
        if (io_watch_pread_all(fd, b->raw.data, k, at, &error) < k) {
            return status_fail_errno(error != 0 ? error : EIO, "cannot read %s again", name);
        }
        at += k;
        STATUS_TRY(put_text(b, b->raw.data, k, at == bytes));
    } while (at < bytes);
    return STATUS_OK;
}

/* With its folder, once that is empty. */
static enum status remove_file(int folder, const char *name)
{
    char above[PATH_MAX];
    const char *const slash = strrchr(name, '/');
    if (unlinkat(folder, name, 0) != 0) {
        return status_fail_errno(errno, "cannot remove %s, which is in the zip", name);
    }
    if (slash == NULL) {
        return STATUS_OK;
    }
    snprintf(above, sizeof above, "%.*s", (int)(slash - name), name);
    return unlinkat(folder, above, AT_REMOVEDIR) == 0 || errno == ENOTEMPTY || errno == EEXIST
               ? STATUS_OK
               : status_fail_errno(errno, "cannot remove the folder %s", above);
}

/* One of the manifest's outputs. */
static enum status add_output(struct bundle *b, const json_t *output)
{
    const char *const name = json_string_value(json_object_get(output, "name"));
    const char *const crc = json_string_value(json_object_get(output, "crc32"));
    const uint64_t bytes = (uint64_t)json_integer_value(json_object_get(output, "bytes"));
    const int fd = openat(b->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return status_fail_errno(errno, "cannot read %s again", name);
    }
    const enum status code =
        file_name_is(name, ".html .prj .svg")
            ? deflate_file(b, name, fd, bytes)
            : pack_store(b->pack, name, fd, bytes, (uint32_t)strtoul(crc, NULL, 16), b->stop);
    close(fd);
    return code == STATUS_OK ? remove_file(b->folder, name) : code;
}

static enum status add_all(struct bundle *b)
{
    const json_t *output;
    size_t i;
    STATUS_TRY(add_manifest(b));
    json_array_foreach(json_object_get(b->manifest, "outputs"), i, output)
    {
        STATUS_TRY(add_output(b, output));
    }
    return STATUS_OK;
}

/* NAME.zip: as text, since the manifest names it, and no longer than names may be. */
static enum status name_zip(const char *stem, struct bytes *name)
{
    static const char ending[] = ".zip";
    bool is_cut;
    STATUS_TRY(utf8_append_cut(name, stem, NAME_MAX + 1 - sizeof ending, &is_cut));
    return bytes_append(name, ending, sizeof ending);
}

static enum status make(struct bundle *b, const char *name, int level, uint64_t *bytes,
                        uint32_t *crc)
{
    enum status code = deflater_new(level, &b->deflater);
    if (code == STATUS_OK) {
        code = pack_open(b->folder, name, PACK_ZIP, &b->pack);
    }
    code = code == STATUS_OK ? add_all(b) : code;
    if (code == STATUS_OK) {
        code = pack_close(b->pack, bytes, crc);
    } else {
        pack_abandon(b->pack);
    }
    deflater_free(b->deflater);
    bytes_free(&b->raw);
    bytes_free(&b->piece.packed);
    return code;
}

enum status writing_bundle(struct writing *w, const struct manifest_of *job, json_t *manifest)
{
    const int level = w->tasks->engine->settings->level; /* an archive's settings have none */
    struct bundle b = {.folder = w->publish.part_fd, .stop = &w->tasks->stop, .manifest = manifest};
    struct bytes name = {0};
    uint64_t bytes;
    uint32_t crc;
    enum status code = name_zip(w->input->settings.stem, &name);
    if (code == STATUS_OK) {
        code = make(&b, (const char *)name.data, level, &bytes, &crc);
    }
    if (code == STATUS_OK) {
        w->tasks->lane_bytes[LANE_WRITE] += bytes;
        manifest_set_bundle(job, manifest, (const char *)name.data, bytes, crc);
    }
    bytes_free(&name);
    return code;
}
