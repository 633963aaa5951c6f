/*
 * archive_input - archives through libarchive, which is handed bytes and never a path to write to.
 * Only the readers named in archive_input.h are switched on, and none of libarchive's filters: what
 * is around a tar is taken off by archive_layer.c.
 *
 * libarchive turns names into the character set of the thread's locale, and the C locale has no
 * letters beyond ASCII: opening and going to an entry happen in C.UTF-8.
 */
#include "formats/source/archive_input.h"

#include "formats/base/excerpt.h"
#include "formats/base/file_name.h"
#include "formats/source/archive_layer.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { BLOCK_BYTES = 128 << 10, PART_BYTES = 255 };

struct archive_input {
    int fd, error;      /* error: the system's, in reading it */
    enum status failed; /* in taking off the layer, which has described it */
    char *name;
    struct archive_layer *layer; /* NULL: the file itself is the archive */
    struct archive *archive;
    locale_t utf8; /* 0 when the system has none: names beyond ASCII may be refused then */
    bool opened;   /* a format was recognised: libarchive may be asked about it */
    const atomic_bool *stop; /* NULL: never */
    uint64_t n_entries;
    char entry_name[ARCHIVE_INPUT_NAME_BYTES + 1];
    unsigned char packed[BLOCK_BYTES], block[BLOCK_BYTES];
};

bool archive_input_named(const char *name)
{
    static const char *const ends[] = {".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".7z"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (strcasecmp(name, ends[i]) != 0 && file_name_ends(name, ends[i])) {
            return true;
        }
    }
    return false;
}

static bool is_stopped(const struct archive_input *a)
{
    return a->stop && atomic_load(a->stop);
}

/* libarchive asks for the next bytes of the file. All its work, skipping included, waits for this:
 * an unwanted gigabyte in a few packed kilobytes is not unpacked to the end after a stop. */
static la_ssize_t read_packed(struct archive *archive, void *data, const void **bytes)
{
    struct archive_input *a = data;
    ssize_t got;
    if (is_stopped(a)) {
        archive_set_error(archive, ECANCELED, "stopped");
        return ARCHIVE_FATAL;
    }
    if (a->layer) {
        size_t n = 0;
        if (!a->failed) { /* there is no going on after a failure */
            a->failed = archive_layer_read(a->layer, a->packed, sizeof a->packed, &n);
        }
        if (a->failed) {
            archive_set_error(archive, EIO, "cannot be unpacked");
            return ARCHIVE_FATAL;
        }
        *bytes = a->packed;
        return (la_ssize_t)n;
    }
    do {
        got = read(a->fd, a->packed, sizeof a->packed);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        a->error = errno;
        archive_set_error(archive, errno, "%s", strerror(errno));
        return ARCHIVE_FATAL;
    }
    *bytes = a->packed;
    return got;
}

static la_int64_t seek_packed(struct archive *archive, void *data, la_int64_t offset, int whence)
{
    struct archive_input *a = data;
    const off_t at = lseek(a->fd, offset, whence);
    if (at < 0) {
        a->error = errno == EINVAL ? a->error : errno; /* that is a place before its begin */
        archive_set_error(archive, errno, "%s", strerror(errno));
        return ARCHIVE_FATAL;
    }
    return at;
}

static int open_packed(struct archive_input *a)
{
    return archive_read_set_read_callback(a->archive, read_packed) == ARCHIVE_OK &&
                   (a->layer ||
                    archive_read_set_seek_callback(a->archive, seek_packed) == ARCHIVE_OK) &&
                   archive_read_set_callback_data(a->archive, a) == ARCHIVE_OK
               ? archive_read_open1(a->archive)
               : ARCHIVE_FATAL;
}

/* Describes what libarchive found wrong. */
static enum status fail_archive(const struct archive_input *a, const char *doing)
{
    const char *const why = archive_error_string(a->archive);
    const int error = archive_errno(a->archive);
    if (is_stopped(a)) {
        return status_fail(STATUS_CANCELLED, "%s: stopped", a->name);
    }
    if (a->failed) {
        return a->failed;
    }
    if (a->error != 0) { /* whatever libarchive made of it */
        return status_fail_errno(a->error, "%s: cannot be read", a->name);
    }
    if (error == ENOMEM) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to unpack it", a->name);
    }
    if (a->opened && archive_read_has_encrypted_entries(a->archive) > 0) {
        return status_fail(STATUS_UNSUPPORTED, "%s: is encrypted, and leat takes no passwords",
                           a->name);
    }
    return status_fail(STATUS_BAD_INPUT, "%s: %s (%s); the archive is damaged or of another kind",
                       a->name, doing, why ? why : "no reason given");
}

static bool support_formats(const struct archive_input *a)
{
    return archive_read_support_format_tar(a->archive) == ARCHIVE_OK &&
           (a->layer || (archive_read_support_format_zip(a->archive) == ARCHIVE_OK &&
                         archive_read_support_format_7zip(a->archive) == ARCHIVE_OK));
}

/* Whether reading failed, whatever libarchive made of it: it may have tried another format. */
static bool has_failed(const struct archive_input *a)
{
    return a->error != 0 || a->failed;
}

enum status archive_input_open(int fd, const char *name, const atomic_bool *stop,
                               struct archive_input **out)
{
    *out = NULL;
    enum status status;
    struct archive_input *a = calloc(1, sizeof *a);
    if (!a) {
        close(fd);
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", name);
    }
    a->fd = fd;
    a->stop = stop;
    a->name = strdup(name);
    a->archive = archive_read_new();
    errno = 0;
    a->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0); /* some systems have none */
    if (!a->name || !a->archive || (!a->utf8 && errno == ENOMEM)) {
        status = status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", name);
        goto fail;
    }
    status = archive_layer_open(fd, name, stop, &a->layer);
    if (status) {
        goto fail;
    }
    if (!support_formats(a)) {
        status = status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", name);
        goto fail;
    }
    if (lseek(fd, 0, SEEK_SET) != 0) {
        status = status_fail_errno(errno, "%s: cannot be read from its start", name);
        goto fail;
    }
    const locale_t before = uselocale(a->utf8);
    const int result = open_packed(a);
    (void)uselocale(before);
    if (result != ARCHIVE_OK || has_failed(a)) {
        status = fail_archive(a, "cannot be opened");
        goto fail;
    }
    a->opened = true;
    *out = a;
    return STATUS_OK;
fail:
    archive_input_free(a);
    return status;
}

void archive_input_free(struct archive_input *a)
{
    if (!a) {
        return;
    }
    if (a->archive) {
        (void)archive_read_free(a->archive);
    }
    archive_layer_free(a->layer);
    if (a->utf8) {
        freelocale(a->utf8);
    }
    close(a->fd);
    free(a->name);
    free(a);
}

/* What is wrong with one part of a name; NULL: nothing. */
static const char *judge_part(const char *part, size_t n)
{
    if (n == 2 && part[0] == '.' && part[1] == '.') {
        return "its name leads out of its folder (\"..\")";
    }
    return n > PART_BYTES ? "a part of its name is longer than 255 bytes" : NULL;
}

/* Copies a checked form of `path` to dst: parts joined by single slashes, without "." parts.
 * Returns what is wrong with it; NULL: nothing. */
static const char *clean_path(const char *path, char dst[ARCHIVE_INPUT_NAME_BYTES + 1])
{
    const size_t n = strlen(path);
    size_t len = 0;
    if (n > ARCHIVE_INPUT_NAME_BYTES) {
        return "its name is longer than 1024 bytes";
    }
    if (path[0] == '/') {
        return "its name is absolute";
    }
    for (const char *part = path; *part;) {
        const char *const end = strchrnul(part, '/');
        const size_t part_n = (size_t)(end - part);
        const char *const trouble = judge_part(part, part_n);
        if (trouble) {
            return trouble;
        }
        if (part_n > 0 && !(part_n == 1 && *part == '.')) {
            if (len > 0) {
                dst[len++] = '/';
            }
            memcpy(dst + len, part, part_n);
            len += part_n;
        }
        part = *end ? end + 1 : end;
    }
    dst[len] = '\0';
    if (len == 0) {
        return "it has no name";
    }
    return excerpt_is_clean(dst, len) ? NULL : "its name holds control characters or is not UTF-8";
}

static const char *judge_kind(struct archive_entry *e)
{
    if (archive_entry_hardlink(e) || archive_entry_symlink(e)) {
        return "it is a link";
    }
    if (archive_entry_filetype(e) != AE_IFREG) {
        return "it is not a regular file";
    }
    if (archive_entry_is_encrypted(e)) {
        return "it is encrypted, and leat takes no passwords";
    }
    return NULL;
}

static void judge_entry(struct archive_input *a, struct archive_entry *e,
                        struct archive_input_entry *entry)
{
    const char *path = archive_entry_pathname_utf8(e);
    path = path ? path : archive_entry_pathname(e);
    path = path ? path : "";
    *entry = (struct archive_input_entry){.name = a->entry_name, .raw = path};
    entry->refused = judge_kind(e);
    if (!entry->refused) {
        entry->refused = clean_path(path, a->entry_name);
    }
    if (entry->refused) {
        const struct excerpt shown = excerpt_of(path, strlen(path));
        memcpy(a->entry_name, shown.text, sizeof shown.text);
    } else if (archive_entry_size_is_set(e) && archive_entry_size(e) > 0) {
        entry->bytes = (uint64_t)archive_entry_size(e);
    }
}

/* Behind a tar's last entry: what the layer's end says holds for this reading too. */
static enum status read_to_end(struct archive_input *a)
{
    size_t n = a->layer ? 1 : 0;
    enum status status = STATUS_OK;
    while (!status && n > 0) {
        status = is_stopped(a) ? status_fail(STATUS_CANCELLED, "%s: stopped", a->name)
                               : archive_layer_read(a->layer, a->packed, sizeof a->packed, &n);
    }
    return status;
}

static enum status find_entry(struct archive_input *a, struct archive_input_entry *entry, bool *end)
{
    for (;;) {
        struct archive_entry *e;
        const int result = archive_read_next_header(a->archive, &e);
        if (result == ARCHIVE_EOF && !has_failed(a)) {
            const enum status status = read_to_end(a);
            *end = !status;
            return status;
        }
        if ((result != ARCHIVE_OK && result != ARCHIVE_WARN) || has_failed(a)) {
            return fail_archive(a, a->n_entries ? "the next entry cannot be read"
                                                : "no entry can be read");
        }
        if (++a->n_entries > ARCHIVE_INPUT_MAX_ENTRIES) {
            return status_fail(STATUS_TOO_LARGE, "%s: has more than %d entries", a->name,
                               ARCHIVE_INPUT_MAX_ENTRIES);
        }
        if (archive_entry_filetype(e) != AE_IFDIR || archive_entry_hardlink(e)) {
            judge_entry(a, e, entry);
            return STATUS_OK;
        }
    }
}

enum status archive_input_next(struct archive_input *a, struct archive_input_entry *entry,
                               bool *end)
{
    *end = false;
    *entry = (struct archive_input_entry){0};
    const locale_t before = uselocale(a->utf8);
    const enum status status = find_entry(a, entry, end);
    (void)uselocale(before);
    return status;
}

static enum status write_all(const struct archive_input *a, int to, const unsigned char *p,
                             size_t n)
{
    while (n > 0) {
        const ssize_t put = write(to, p, n);
        if (put < 0 && errno != EINTR) {
            return status_fail_errno(errno, "%s: %s: cannot be unpacked", a->name, a->entry_name);
        }
        if (put > 0) {
            p += put;
            n -= (size_t)put;
        }
    }
    return STATUS_OK;
}

enum status archive_input_copy(struct archive_input *a, int to, uint64_t max_bytes, uint64_t *bytes)
{
    *bytes = 0;
    for (;;) {
        if (is_stopped(a)) {
            return status_fail(STATUS_CANCELLED, "%s: %s: stopped", a->name, a->entry_name);
        }
        const la_ssize_t got = archive_read_data(a->archive, a->block, sizeof a->block);
        if (got == 0 && !has_failed(a)) {
            return STATUS_OK;
        }
        if (got == ARCHIVE_RETRY) {
            continue;
        }
        if (got < 0 || has_failed(a)) {
            return fail_archive(a, a->entry_name);
        }
        const uint64_t room = max_bytes - *bytes;
        const size_t n = (uint64_t)got < room ? (size_t)got : (size_t)room;
        const enum status status = write_all(a, to, a->block, n);
        if (status) {
            return status;
        }
        *bytes += n;
        if (n < (size_t)got) {
            return status_fail(STATUS_TOO_LARGE, "%s: %s: unpacks to more than %" PRIu64 " bytes",
                               a->name, a->entry_name, max_bytes);
        }
    }
}
