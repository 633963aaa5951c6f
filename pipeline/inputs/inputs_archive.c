/*
 * inputs_archive - the members of an archive that a pipeline takes: unpacked into scratch files or,
 * where they are large, lent to the job that reads them.
 */
#include "formats/base/file_name.h"
#include "formats/base/text_hash.h"
#include "pipeline/engine/scratch.h"
#include "pipeline/inputs/group.h"
#include "pipeline/inputs/inputs_state.h"
#include "pipeline/names/beside.h"
#include "pipeline/names/input_name.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Smaller members wait in scratch files, several at a time. */
static const uint64_t lend_bytes = UINT64_C(64) << 20;

/* For inputs_archive_bytes(). */
static void count_bytes(struct inputs *in)
{
    atomic_store(&in->archive_bytes, archive_input_bytes(in->archive));
}

void inputs_archive_close(struct inputs *in)
{
    archive_input_free(in->archive);
    in->archive = NULL;
    bytes_free(&in->names);
    in->knows_names = false;
    free(in->leaving);
    in->leaving = in->archive_path;
    in->archive_path = NULL;
}

enum status inputs_archive_open(struct inputs *in, const char *path, int fd,
                                const struct source_stream *stream)
{
    struct archive_input_options options = job_archive_options(in->settings, &in->stop);
    options.without_7z = in->found_at != NULL; /* the service's */
    in->archive_comes_once = stream != NULL;
    if (stream != NULL && !archive_input_streams(path)) {
        STATUS_TRY(inputs_take_copy(in, path, stream, &fd));
    }
    enum status code = fd >= 0 ? archive_input_open(fd, path, &options, &in->archive)
                               : archive_input_open_stream(stream, path, &options, &in->archive);
    in->archive_path = code == STATUS_OK ? xstrdup(path) : NULL;
    return code;
}

enum status inputs_archive_open_file(struct inputs *in, const char *path)
{
    struct stat st;
    int fd;
    STATUS_TRY(inputs_take_open(path, &st, &fd));
    if (!S_ISREG(st.st_mode)) {
        close(fd);
        return status_fail(STATUS_BAD_INPUT, "'%s' is not a regular file", path);
    }
    return inputs_archive_open(in, path, fd, NULL);
}

/* Whether a folder of the member's name begins with a dot; ".." is not hidden but refused. */
static bool is_hidden(const char *name)
{
    const char *slash;
    for (; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
        size_t n = (size_t)(slash - name);
        if (name[0] == '.' && n > 1 && !(n == 2 && name[1] == '.')) {
            return true;
        }
    }
    return false;
}

/* What a folder of such files would do with the member at `path`; `name` is its part in the
 * archive. INPUT_UNKNOWN: it has been passed over. */
static enum input_kind judge_member(struct inputs *in, const char *name, const char *path)
{
    const enum input_kind kind = settings_input_kind(in->settings, path);
    const bool is_taken = kind == INPUT_ARCHIVE || kind == INPUT_OF_JOB ||
                          kind == INPUT_PROJECTION ||
                          (kind == INPUT_MASK && inputs_take_is_masked(in, path, false));
    if (is_taken && !is_hidden(name)) {
        return kind;
    }
    inputs_take_pass_over(in, path);
    return INPUT_UNKNOWN;
}

/* Unpacks the member into a scratch file. */
static enum status unpack_member(struct inputs *in, int *fd)
{
    uint64_t bytes;
    STATUS_TRY(scratch_file(in->scratch_fd, fd));
    const uint64_t room = scratch_room(*fd);
    enum status code = archive_input_copy(in->archive, *fd, room, &bytes);
    count_bytes(in);
    if (code == STATUS_TOO_LARGE && bytes == room) { /* which is not the archive's fault */
        code = status_fail(STATUS_NO_SPACE, "%s: there is no room for more", status_message());
    }
    if (code != STATUS_OK) {
        close(*fd);
        *fd = -1;
    }
    return code;
}

static enum status take_projection(struct inputs *in, const char *path, struct job_input *out,
                                   bool *got)
{
    char *text = NULL;
    int fd;
    STATUS_TRY(unpack_member(in, &fd));
    const enum status code = beside_read_projection(fd, path, &text);
    close(fd);
    *got = code == STATUS_OK && parts_add_projection(in->parts, path, text, out);
    return code;
}

static enum status refuse_member(const struct archive_input_entry *entry, const char *path)
{
    return status_fail(STATUS_BAD_INPUT, "'%s' is not taken out of its archive: %s", path,
                       entry->refused);
}

static enum status take_member_projection(struct inputs *in,
                                          const struct archive_input_entry *entry, const char *path,
                                          struct job_input *out, bool *got)
{
    char *const key = group_key(path), *result = NULL;
    enum status code = inputs_take_result(in, path, file_name_last(key), &result);
    const bool own = code == STATUS_OK && inputs_take_share(in, result);
    free(result);
    free(key);
    if (own) {
        code = entry->refused != NULL ? refuse_member(entry, path)
                                      : take_projection(in, path, out, got);
    }
    if (code != STATUS_OK && code != STATUS_BAD_INPUT) {
        inputs_archive_close(in); /* its grid must not be processed without it */
    }
    return inputs_take_about(out, path, code);
}

/* What it is, and what to do. */
static enum status refuse_kind(struct inputs *in, const char *path, const char *what,
                               struct job_input *out)
{
    if (!inputs_take_share(in, file_name_last(path))) {
        inputs_take_leave(in);
        return STATUS_OK;
    }
    return inputs_take_about(out, path, status_fail(STATUS_BAD_INPUT, "'%s' is %s", path, what));
}

static enum status read_lent(void *user, const atomic_bool *stop, void *dst, size_t cap, size_t *n)
{
    struct inputs *in = user;
    *n = 0;
    if (stop != NULL && atomic_load(stop)) {
        return status_fail(STATUS_CANCELLED, "%s: stopped", in->archive_path);
    }
    const enum status code = archive_input_read(in->archive, dst, cap, n);
    count_bytes(in);
    return code;
}

static void give_back(void *user)
{
    atomic_store(&((struct inputs *)user)->is_lent, false);
}

/* A large member that is read forward is unpacked as its job reads it, when it has all other parts.
 * Meanwhile there is no next one. */
static bool may_lend(const struct inputs *in, const struct archive_input_entry *entry,
                     const char *path, const struct job_settings *settings)
{
    return entry->bytes >= lend_bytes && !in->settings->resume && inputs_take_is_forward(path) &&
           parts_would_complete(in->parts, path, settings);
}

static void lend_member(struct inputs *in, const struct archive_input_entry *entry,
                        struct job_part *part)
{
    part->is_stream = true;
    part->entry = entry->number;
    const char *found_at = in->found_at != NULL ? in->found_at : in->archive_path;
    part->archive = in->archive_comes_once ? NULL : xstrdup(found_at);
    part->stream = (struct source_stream){
        .read = read_lent, .close = give_back, .user = in, .bytes = entry->bytes};
    atomic_store(&in->is_lent, true);
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static enum status add_name(struct bytes *names, const char *name)
{
    const uint64_t number = text_hash_add(TEXT_HASH_OF_NONE, name);
    return beside_is_projection(name) || file_name_ends(name, INPUT_NAME_MASK)
               ? bytes_append(names, &number, sizeof(number))
               : STATUS_OK;
}

/* Reads the names in the archive once more: what lies beside a grid may come behind it there. */
static enum status find_names(struct inputs *in)
{
    const struct archive_input_options options = job_archive_options(in->settings, &in->stop);
    const char *path = in->found_at != NULL ? in->found_at : in->archive_path;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct archive_input *a;
    bool end = false;
    if (fd < 0) {
        return status_fail_errno(errno, "cannot open '%s' again", path);
    }
    enum status code = archive_input_open(fd, in->archive_path, &options, &a);
    while (code == STATUS_OK && !end) {
        struct archive_input_entry entry;
        code = archive_input_next(a, &entry, &end);
        code = code == STATUS_OK && !end ? add_name(&in->names, entry.name) : code;
    }
    archive_input_free(a);
    if (in->names.len > 0) {
        qsort(in->names.data, in->names.len / sizeof(uint64_t), sizeof(uint64_t), by_number);
    }
    if (code == STATUS_CANCELLED || code == STATUS_NO_MEMORY) {
        return code;
    }
    in->knows_names = true; /* what is damaged is reported when the walk comes there */
    return STATUS_OK;
}

static bool is_named(const void *inputs, const char *name)
{
    const struct bytes *const names = &((const struct inputs *)inputs)->names;
    const uint64_t number = text_hash_add(TEXT_HASH_OF_NONE, name);
    return names->len > 0 && bsearch(&number, names->data, names->len / sizeof(number),
                                     sizeof(number), by_number) != NULL;
}

/* What lies beside the grid of that name in the archive: its .prj is waited for. */
static enum status look_beside(struct inputs *in, const char *name, struct job_part *part)
{
    STATUS_TRY(in->knows_names ? STATUS_OK : find_names(in));
    const struct beside beside = beside_search(name, is_named, in);
    part->masked = beside.has_mask ? "unpack the archive, then " : NULL;
    if (beside.projection != NULL) {
        char *const path = xasprintf("%s/%s", in->archive_path, beside.projection);
        parts_expect(in->parts, path);
        free(path);
    }
    free(beside.projection);
    return STATUS_OK;
}

/* Makes the member an input, or a part of one. */
static enum status take_member(struct inputs *in, const struct archive_input_entry *entry,
                               const char *path, struct job_input *out, bool *got)
{
    struct job_settings settings;
    struct job_part part = {.fd = -1};
    bool own;
    enum status code = inputs_take_settings(in, path, &settings, &own);
    if (own && entry->refused != NULL) {
        code = refuse_member(entry, path);
    }
    if (own && code == STATUS_OK && inputs_take_looks_beside(in, path)) {
        code = look_beside(in, entry->name, &part);
        if (code != STATUS_OK) { /* of the whole archive */
            job_settings_free(&settings);
            code = inputs_take_about(out, in->archive_path, code);
            inputs_archive_close(in);
            return code;
        }
    }
    if (own && code == STATUS_OK) {
        if (may_lend(in, entry, path, &settings)) {
            lend_member(in, entry, &part);
        } else {
            code = unpack_member(in, &part.fd);
        }
        if (code == STATUS_OK) {
            return inputs_take_part(in, path, &part, &settings, out, got);
        }
    }
    job_settings_free(&settings);
    return inputs_take_about(out, path, code);
}

enum status inputs_archive_next(struct inputs *in, struct job_input *out, bool *got)
{
    struct archive_input_entry entry;
    bool end;
    enum status code = archive_input_next(in->archive, &entry, &end);
    count_bytes(in);
    if (code != STATUS_OK || end) {
        code = inputs_take_about_walk(in, out, in->archive_path, code);
        inputs_archive_close(in);
        return code;
    }
    char *const raw_path = xasprintf("%s/%s", in->archive_path, entry.raw);
    char *const path = xasprintf("%s/%s", in->archive_path, entry.name);
    switch (judge_member(in, entry.raw, raw_path)) {
    case INPUT_OF_JOB:
        code = take_member(in, &entry, path, out, got);
        break;
    case INPUT_PROJECTION:
        code = take_member_projection(in, &entry, path, out, got);
        break;
    case INPUT_ARCHIVE:
        code = refuse_kind(in, path,
                           "an archive in an archive, and these are not unpacked; "
                           "give it by itself",
                           out);
        break;
    case INPUT_MASK:
        code = refuse_kind(in, path,
                           "a mask, and a result here is without it; unpack the archive and give "
                           "the grid with the mask beside it: leat then says how to apply it",
                           out);
        break;
    default:
        break;
    }
    free(raw_path);
    free(path);
    return code;
}
