/*
 * archive_input - archives through libarchive, which is handed bytes and never a path to write to.
 * Only the readers named in archive_input.h are switched on.
 *
 * A tar may have one layer of compression around it, gzip or xz. Both give their checksums behind
 * what they are of, so a layer is unpacked to its end once before the first byte of it is used. A
 * second layer within it is refused. Gzip comes through source.c, which checks CRC and length of
 * every member; libarchive does not. Xz comes through libarchive, with this one filter switched on,
 * so that it looks for no other.
 *
 * libarchive turns names into the character set of the thread's locale, and the C locale has no
 * letters beyond ASCII: opening and going to an entry happen in C.UTF-8.
 */
#include "formats/source/archive_input.h"

#include "formats/base/excerpt.h"
#include "formats/base/file_name.h"
#include "formats/base/io_watch.h"
#include "formats/source/source.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { BLOCK_BYTES = 128 << 10, PART_BYTES = 255, MAGIC_BYTES = 6 };

enum layer { LAYER_NONE, LAYER_GZIP, LAYER_XZ };
static const char *const layer_names[] = {"", "gzip", "xz"};

struct archive_input {
    int fd, error;      /* error: the system's, in reading it */
    enum status failed; /* in taking off the layer, which has described it */
    char *name;
    enum layer layer; /* around the archive */
    struct source *gzip;
    struct archive *xz;
    uint64_t xz_offset; /* of the file, read for xz so far */
    struct archive *archive;
    locale_t utf8; /* 0 when the system has none: names beyond ASCII may be refused then */
    bool opened;   /* a format was recognised: libarchive may be asked about it */
    const atomic_bool *stop; /* NULL: never */
    uint64_t n_entries;
    char entry_name[ARCHIVE_INPUT_NAME_BYTES + 1];
    unsigned char xz_packed[BLOCK_BYTES], packed[BLOCK_BYTES], block[BLOCK_BYTES];
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

static enum status fail_stopped(const struct archive_input *a)
{
    return status_fail(STATUS_CANCELLED, "%s: stopped", a->name);
}

static enum status fail_no_memory(const char *name, const char *what)
{
    return status_fail(STATUS_NO_MEMORY, "%s: no memory to %s", name, what);
}

/* --- the layer around it ---------------------------------------------------------------------- */

static enum layer layer_of(const unsigned char *head, size_t n)
{
    static const unsigned char xz[] = {0xfd, '7', 'z', 'X', 'Z', 0};
    if (n >= 3 && memcmp(head, "\x1f\x8b\x08", 3) == 0) {
        return LAYER_GZIP;
    }
    return n >= sizeof xz && memcmp(head, xz, sizeof xz) == 0 ? LAYER_XZ : LAYER_NONE;
}

/* Up to `cap` bytes of the file at `offset`; *n < cap only at its end. */
static enum status read_file(const struct archive_input *a, uint64_t offset, void *dst, size_t cap,
                             size_t *n)
{
    int error;
    *n = io_watch_pread_all(a->fd, dst, cap, offset, &error);
    return error != 0 ? status_fail_errno(error, "%s: cannot be read", a->name) : STATUS_OK;
}

static la_ssize_t read_xz_packed(struct archive *archive, void *data, const void **bytes)
{
    struct archive_input *a = data;
    size_t n = 0;
    if (!a->failed) { /* nothing more is read after a failure */
        a->failed = is_stopped(a)
                        ? fail_stopped(a)
                        : read_file(a, a->xz_offset, a->xz_packed, sizeof a->xz_packed, &n);
    }
    if (a->failed) {
        archive_set_error(archive, EIO, "cannot be read");
        return ARCHIVE_FATAL;
    }
    a->xz_offset += n;
    *bytes = a->xz_packed;
    return (la_ssize_t)n;
}

static enum status fail_xz(const struct archive_input *a)
{
    const char *const why = archive_error_string(a->xz);
    if (a->failed) {
        return a->failed; /* which has been described */
    }
    if (archive_errno(a->xz) == ENOMEM) {
        return fail_no_memory(a->name, "unpack xz");
    }
    return status_fail(STATUS_BAD_INPUT, "%s: compressed byte %" PRIu64 ": damaged xz data (%s)",
                       a->name, a->xz_offset, why ? why : "no reason given");
}

static enum status begin_xz(struct archive_input *a)
{
    struct archive_entry *entry;
    a->xz_offset = 0;
    a->xz = archive_read_new();
    if (!a->xz || archive_read_append_filter(a->xz, ARCHIVE_FILTER_XZ) != ARCHIVE_OK ||
        archive_read_support_format_raw(a->xz) != ARCHIVE_OK ||
        archive_read_set_read_callback(a->xz, read_xz_packed) != ARCHIVE_OK ||
        archive_read_set_callback_data(a->xz, a) != ARCHIVE_OK) {
        return fail_no_memory(a->name, "unpack xz");
    }
    return archive_read_open1(a->xz) == ARCHIVE_OK && !a->failed &&
                   archive_read_next_header(a->xz, &entry) == ARCHIVE_OK && !a->failed
               ? STATUS_OK
               : fail_xz(a);
}

static void end_layer(struct archive_input *a)
{
    source_free(a->gzip);
    a->gzip = NULL;
    if (a->xz) {
        (void)archive_read_free(a->xz);
        a->xz = NULL;
    }
}

/* Goes to the layer's begin. */
static enum status begin_layer(struct archive_input *a)
{
    end_layer(a);
    if (a->layer == LAYER_XZ) {
        return begin_xz(a);
    }
    const int fd = fcntl(a->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        return status_fail_errno(errno, "%s: cannot be opened", a->name);
    }
    const enum status status = source_open(fd, a->name, &a->gzip);
    if (!status) {
        source_stop_at(a->gzip, a->stop);
    }
    return status;
}

/* Unpacks up to `cap` bytes; *n = 0 only at the end. */
static enum status read_layer(struct archive_input *a, void *dst, size_t cap, size_t *n)
{
    if (a->gzip) {
        return source_read(a->gzip, dst, cap, n);
    }
    const la_ssize_t got = archive_read_data(a->xz, dst, cap);
    *n = got < 0 ? 0 : (size_t)got;
    return got < 0 || a->failed ? fail_xz(a) : STATUS_OK;
}

/* Unpacks what is left of the layer: that checks it. */
static enum status drain_layer(struct archive_input *a)
{
    for (size_t n = 1; n > 0;) {
        STATUS_TRY(is_stopped(a) ? fail_stopped(a)
                                 : read_layer(a, a->packed, sizeof a->packed, &n));
    }
    return STATUS_OK;
}

/* Recognises the layer, if there is one, and checks all of it; it is at its begin then. */
static enum status open_layer(struct archive_input *a)
{
    size_t n;
    enum status status = read_file(a, 0, a->packed, MAGIC_BYTES, &n);
    a->layer = status ? LAYER_NONE : layer_of(a->packed, n);
    if (a->layer == LAYER_NONE) {
        return status;
    }
    STATUS_TRY(begin_layer(a));
    STATUS_TRY(read_layer(a, a->packed, sizeof a->packed, &n));
    const enum layer inner = layer_of(a->packed, n);
    if (inner != LAYER_NONE) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: is compressed twice (%s within %s), and one layer is unpacked; "
                           "unpack the outer one first",
                           a->name, layer_names[inner], layer_names[a->layer]);
    }
    STATUS_TRY(drain_layer(a));
    return begin_layer(a);
}

/* --- the archive ------------------------------------------------------------------------------ */

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
        if (!a->failed) { /* nothing more is read after a failure */
            a->failed = read_layer(a, a->packed, sizeof a->packed, &n);
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
        return fail_stopped(a);
    }
    if (a->failed) {
        return a->failed;
    }
    if (a->error != 0) { /* whatever libarchive made of it */
        return status_fail_errno(a->error, "%s: cannot be read", a->name);
    }
    if (error == ENOMEM) {
        return fail_no_memory(a->name, "unpack it");
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
        return fail_no_memory(name, "open it");
    }
    a->fd = fd;
    a->stop = stop;
    a->name = strdup(name);
    a->archive = archive_read_new();
    errno = 0;
    a->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0); /* some systems have none */
    if (!a->name || !a->archive || (!a->utf8 && errno == ENOMEM)) {
        status = fail_no_memory(name, "open it");
        goto fail;
    }
    status = open_layer(a);
    if (status) {
        goto fail;
    }
    if (!support_formats(a)) {
        status = fail_no_memory(name, "open it");
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
    end_layer(a);
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

static enum status find_entry(struct archive_input *a, struct archive_input_entry *entry, bool *end)
{
    for (;;) {
        struct archive_entry *e;
        const int result = archive_read_next_header(a->archive, &e);
        if (result == ARCHIVE_EOF && !has_failed(a)) {
            /* what the layer's end says holds for this reading too */
            const enum status status = a->layer ? drain_layer(a) : STATUS_OK;
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
        STATUS_TRY(write_all(a, to, a->block, n));
        *bytes += n;
        if (n < (size_t)got) {
            return status_fail(STATUS_TOO_LARGE, "%s: %s: unpacks to more than %" PRIu64 " bytes",
                               a->name, a->entry_name, max_bytes);
        }
    }
}
