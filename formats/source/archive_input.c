/*
 * archive_input - archives through libarchive, which is handed bytes and never a path to write to.
 * Only the readers named in archive_input.h are switched on.
 *
 * Compression around a tar is taken off by source.c, which checks its checksums; libarchive does
 * not always. They come behind what they are of, so in a file the layer is unpacked to its end once
 * before the first byte of it is used. A second layer within it is refused.
 *
 * libarchive turns names into the character set of the thread's locale, and the C locale has no
 * letters beyond ASCII: opening and going to an entry happen in C.UTF-8.
 *
 * Source: PKWARE APPNOTE.TXT 6.3.9, appendix D: names in zip are of code page 437 unless bit 11 of
 * the flags is set. The table is that page's upper half, by the mapping that Unicode publishes.
 */
#include "formats/source/archive_input.h"

#include "formats/base/excerpt.h"
#include "formats/base/file_name.h"
#include "formats/base/io_watch.h"
#include "formats/base/text_hash.h"
#include "formats/base/utf8.h"
#include "formats/source/sevenz_header.h"
#include "formats/source/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCK_BYTES = 128 << 10,
    AHEAD_BYTES = 256 << 10,
    PART_BYTES = 255,                           /* of a name */
    ENTRY_NAME_BYTES = 1024,                    /* the longest name believed; a part of it: 255 */
    ENTRY_NAME_ROOM = 3 * ENTRY_NAME_BYTES + 1, /* for such a one from an old code page */
};

/* Numbers for the names that there have been, open addressing; 0: a free place. */
struct names {
    uint64_t *at;
    size_t cap, n;
};

struct archive_input {
    int fd, error;      /* fd: -1 for a stream; error: the system's, in reading it */
    enum status failed; /* in reading the layer or the stream, which has described it */
    char *name;
    struct source *layer; /* a compressed tar, or a stream; NULL: the file is read as it is */
    struct archive *archive;
    locale_t utf8; /* 0 when the system has none: names beyond ASCII may be refused then */
    bool is_7z;
    bool opened; /* a format was recognised: libarchive may be asked about it */
    struct archive_input_options options;
    uint64_t n_entries, n_read; /* n_read: bytes of the file */
    uint64_t unpacked;          /* of all entries */
    uint64_t entry_begin, entry_unpacked;
    bool too_large;        /* the present entry, by the limits */
    bool seeks_entry;      /* libarchive reads what is not of an entry's content: */
    uint64_t header_bytes; /* so many for the next entry */
    struct names names;
    char raw[ENTRY_NAME_ROOM], entry_name[ENTRY_NAME_ROOM];
    unsigned char packed[BLOCK_BYTES], block[BLOCK_BYTES];
};

bool archive_input_streams(const char *name)
{
    return file_name_ends_in(name, strlen(name), ".tgz .txz .tzst .tbz2 .tbz") ||
           file_name_is(name, ".tar");
}

bool archive_input_named(const char *name)
{
    return archive_input_streams(name) || file_name_ends_in(name, strlen(name), ".zip .7z");
}

enum status archive_input_stem(const char *name, char **out)
{
    size_t n = file_name_unpacked(name, strlen(name));
    const char *const dot = memrchr(name, '.', n);
    n = dot != NULL && dot > name ? (size_t)(dot - name) : n;
    *out = strndup(name, n);
    return *out ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory for a name");
}

static bool is_stopped(const struct archive_input *a)
{
    return a->options.stop && atomic_load(a->options.stop);
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

/* Unpacks what is left of the layer: that checks it. */
static enum status drain_layer(struct archive_input *a)
{
    for (size_t n = 1; n > 0;) {
        STATUS_TRY(is_stopped(a) ? fail_stopped(a)
                                 : source_read(a->layer, a->packed, sizeof a->packed, &n));
    }
    return STATUS_OK;
}

/* Sees that there is no second one in it. */
static enum status look_into_layer(struct archive_input *a)
{
    const unsigned char *head;
    size_t n;
    source_set_limits(a->layer, &a->options.limits);
    source_stop_at(a->layer, a->options.stop);
    if (!source_is_packed(a->layer)) {
        return STATUS_OK;
    }
    STATUS_TRY(source_peek(a->layer, UNPACK_HEAD_BYTES, &head, &n));
    const struct unpack_kind *const inner = unpack_kind_of(head, n);
    return inner == NULL
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT,
                             "%s: is compressed twice (%s within %s), and one layer is "
                             "unpacked; unpack the outer one first",
                             a->name, unpack_kind_name(inner), source_hindrance(a->layer));
}

/* Goes to the layer's begin. */
static enum status begin_layer(struct archive_input *a)
{
    source_free(a->layer);
    a->layer = NULL;
    const int fd = fcntl(a->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        return status_fail_errno(errno, "%s: cannot be opened", a->name);
    }
    STATUS_TRY(source_open(fd, a->name, &a->layer));
    return look_into_layer(a);
}

/* libarchive keeps that, and much more. */
static enum status fail_header(const struct archive_input *a, uint64_t most)
{
    return status_fail(STATUS_TOO_LARGE,
                       "%s: its list of files is larger than %" PRIu64
                       " KiB; raise --memory, or unpack it and give the folder",
                       a->name, most >> 10);
}

/* Its list of files takes at most a 64th of what libarchive keeps of it. */
static enum status judge_7z(const struct archive_input *a)
{
    const uint64_t most =
        a->options.max_header_bytes > 0 ? a->options.max_header_bytes / 16 : UINT64_MAX;
    const enum status code = sevenz_check_header(a->fd, a->packed, most);
    return code == STATUS_OK          ? STATUS_OK
           : code == STATUS_TOO_LARGE ? fail_header(a, most)
                                      : status_fail(code, "%s: %s", a->name, status_message());
}

/* Recognises the layer, if there is one, and checks all of it; it is at its begin then. */
static enum status open_layer(struct archive_input *a)
{
    int error;
    const size_t n = io_watch_pread_all(a->fd, a->packed, SEVENZ_START_BYTES, 0, &error);
    if (error != 0) {
        return status_fail_errno(error, "%s: cannot be read", a->name);
    }
    a->is_7z = sevenz_is(a->packed, n);
    if (a->is_7z && a->options.without_7z) {
        return status_fail(
            STATUS_UNSUPPORTED,
            "%s: is a 7z archive, which may ask for any amount of memory; pack it as "
            ".zip or .tar.zst, or give it to leat run",
            a->name);
    }
    if (unpack_kind_of(a->packed, n) == NULL) {
        return a->is_7z ? judge_7z(a) : STATUS_OK;
    }
    STATUS_TRY(begin_layer(a));
    STATUS_TRY(drain_layer(a));
    return begin_layer(a);
}

/* --- the archive ------------------------------------------------------------------------------ */

/* What libarchive reads to find an entry it keeps: a zip's directory, lists of a tar's holes. */
static enum status count_header(struct archive_input *a, size_t more)
{
    const uint64_t most = a->options.max_header_bytes;
    a->header_bytes += a->seeks_entry ? more : 0;
    return most == 0 || a->header_bytes <= most ? STATUS_OK : fail_header(a, most);
}

static la_ssize_t deliver(struct archive_input *a, la_ssize_t n)
{
    a->failed = a->failed ? a->failed : count_header(a, (size_t)n);
    if (a->failed) {
        archive_set_error(a->archive, EIO, "cannot be unpacked");
    }
    return a->failed ? ARCHIVE_FATAL : n;
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
    *bytes = a->packed;
    if (a->layer) {
        size_t n = 0;
        if (!a->failed) { /* nothing more is read after a failure */
            a->failed = source_read(a->layer, a->packed, sizeof a->packed, &n);
        }
        return deliver(a, (la_ssize_t)n);
    }
    do {
        got = read(a->fd, a->packed, sizeof a->packed);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        a->error = errno;
        archive_set_error(archive, errno, "%s", strerror(errno));
        return ARCHIVE_FATAL;
    }
    a->n_read += (uint64_t)got;
    return deliver(a, got);
}

/* A place behind the file's end is an error: libarchive would take it for the archive's end. */
static la_int64_t seek_packed(struct archive *archive, void *data, la_int64_t offset, int whence)
{
    struct archive_input *a = data;
    struct stat file;
    const off_t at = lseek(a->fd, offset, whence);
    if (at < 0 || fstat(a->fd, &file) != 0) {
        a->error = errno == EINVAL ? a->error : errno; /* that is a place before its begin */
        archive_set_error(archive, errno, "%s", strerror(errno));
        return ARCHIVE_FATAL;
    }
    if (at > file.st_size) {
        archive_set_error(archive, EIO, "the file ends within an entry");
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
    if (error == ENOMEM || (why && strstr(why, "memory"))) { /* 7z's reader has no number for it */
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
           (a->layer ||
            (archive_read_support_format_zip(a->archive) == ARCHIVE_OK &&
             (!a->is_7z || archive_read_support_format_7zip(a->archive) == ARCHIVE_OK)));
}

/* Whether reading failed, whatever libarchive made of it: it may have tried another format. */
static bool has_failed(const struct archive_input *a)
{
    return a->error != 0 || a->failed;
}

/* Gives libarchive what has been opened; the answer to that is the answer. */
static enum status open_archive(struct archive_input *a)
{
    if (!support_formats(a)) {
        return fail_no_memory(a->name, "open it");
    }
    const locale_t before = uselocale(a->utf8);
    const int result = open_packed(a);
    (void)uselocale(before);
    if (result != ARCHIVE_OK || has_failed(a)) {
        return fail_archive(a, "cannot be opened");
    }
    a->opened = true;
    return STATUS_OK;
}

/* Takes fd over. */
static enum status make(int fd, const char *name, const struct archive_input_options *options,
                        struct archive_input **out)
{
    struct archive_input *a = *out = calloc(1, sizeof *a);
    if (!a) {
        if (fd >= 0) {
            close(fd);
        }
        return fail_no_memory(name, "open it");
    }
    a->fd = fd;
    if (options) {
        a->options = *options;
    }
    a->name = strdup(name);
    a->archive = archive_read_new();
    errno = 0;
    a->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0); /* some systems have none */
    return a->name && a->archive && (a->utf8 || errno != ENOMEM) ? STATUS_OK
                                                                 : fail_no_memory(name, "open it");
}

static enum status open_file(struct archive_input *a)
{
    STATUS_TRY(open_layer(a));
    if (lseek(a->fd, 0, SEEK_SET) != 0) {
        return status_fail_errno(errno, "%s: cannot be read from its start", a->name);
    }
    return open_archive(a);
}

/* A failure leaves nothing behind. */
static enum status settle(enum status status, struct archive_input **out)
{
    if (status) {
        archive_input_free(*out);
        *out = NULL;
    }
    return status;
}

enum status archive_input_open(int fd, const char *name,
                               const struct archive_input_options *options,
                               struct archive_input **out)
{
    const enum status status = make(fd, name, options, out);
    return settle(status ? status : open_file(*out), out);
}

static enum status open_stream(struct archive_input *a, const struct source_stream *stream)
{
    STATUS_TRY(source_open_stream(stream, a->name, a->options.stop, &a->layer));
    STATUS_TRY(look_into_layer(a));
    return open_archive(a);
}

enum status archive_input_open_stream(const struct source_stream *stream, const char *name,
                                      const struct archive_input_options *options,
                                      struct archive_input **out)
{
    const enum status status = make(-1, name, options, out);
    if (status) {
        stream->close(stream->user);
        return settle(status, out);
    }
    return settle(open_stream(*out, stream), out);
}

void archive_input_free(struct archive_input *a)
{
    if (!a) {
        return;
    }
    if (a->archive) {
        (void)archive_read_free(a->archive);
    }
    source_free(a->layer);
    if (a->utf8) {
        freelocale(a->utf8);
    }
    if (a->fd >= 0) {
        close(a->fd);
    }
    free(a->names.at);
    free(a->name);
    free(a);
}

/* --- names ------------------------------------------------------------------------------------ */

static const uint16_t code_page_437[128] = {
    0x00c7, 0x00fc, 0x00e9, 0x00e2, 0x00e4, 0x00e0, 0x00e5, 0x00e7, 0x00ea, 0x00eb, 0x00e8, 0x00ef,
    0x00ee, 0x00ec, 0x00c4, 0x00c5, 0x00c9, 0x00e6, 0x00c6, 0x00f4, 0x00f6, 0x00f2, 0x00fb, 0x00f9,
    0x00ff, 0x00d6, 0x00dc, 0x00a2, 0x00a3, 0x00a5, 0x20a7, 0x0192, 0x00e1, 0x00ed, 0x00f3, 0x00fa,
    0x00f1, 0x00d1, 0x00aa, 0x00ba, 0x00bf, 0x2310, 0x00ac, 0x00bd, 0x00bc, 0x00a1, 0x00ab, 0x00bb,
    0x2591, 0x2592, 0x2593, 0x2502, 0x2524, 0x2561, 0x2562, 0x2556, 0x2555, 0x2563, 0x2551, 0x2557,
    0x255d, 0x255c, 0x255b, 0x2510, 0x2514, 0x2534, 0x252c, 0x251c, 0x2500, 0x253c, 0x255e, 0x255f,
    0x255a, 0x2554, 0x2569, 0x2566, 0x2560, 0x2550, 0x256c, 0x2567, 0x2568, 0x2564, 0x2565, 0x2559,
    0x2558, 0x2552, 0x2553, 0x256b, 0x256a, 0x2518, 0x250c, 0x2588, 0x2584, 0x258c, 0x2590, 0x2580,
    0x03b1, 0x00df, 0x0393, 0x03c0, 0x03a3, 0x03c3, 0x00b5, 0x03c4, 0x03a6, 0x0398, 0x03a9, 0x03b4,
    0x221e, 0x03c6, 0x03b5, 0x2229, 0x2261, 0x00b1, 0x2265, 0x2264, 0x2320, 0x2321, 0x00f7, 0x2248,
    0x00b0, 0x2219, 0x00b7, 0x221a, 0x207f, 0x00b2, 0x25a0, 0x00a0,
};

/* The name as UTF-8: as it is where it is that already, else read as code page 437 (dos: what zip
 * has without a flag that says UTF-8) or Latin-1. Too long a one stays as it is. Returns dst or
 * raw. */
static const char *decode_name(const char *raw, bool dos, char dst[ENTRY_NAME_ROOM])
{
    char *to = dst;
    if (strlen(raw) > ENTRY_NAME_BYTES || utf8_is_valid(raw, strlen(raw))) {
        return raw;
    }
    for (const unsigned char *p = (const unsigned char *)raw; *p; p++) {
        unsigned char point[UTF8_MOST];
        const size_t n = utf8_encode(*p >= 0x80 && dos ? code_page_437[*p - 0x80] : *p, point);
        memcpy(to, point, n);
        to += n;
    }
    *to = '\0';
    return dst;
}

/* What is wrong with one part of a name; NULL: nothing. */
static const char *judge_part(const char *part, size_t n)
{
    if (n == 2 && part[0] == '.' && part[1] == '.') {
        return "its name leads out of its folder (\"..\")";
    }
    return n > PART_BYTES ? "a part of its name is longer than 255 bytes" : NULL;
}

/* Copies a checked form to dst: parts joined by single slashes, without "." parts. Returns what is
 * wrong with the name; NULL: nothing. */
static const char *clean_name(const char *name, char dst[ENTRY_NAME_ROOM])
{
    size_t len = 0;
    if (strlen(name) > ENTRY_NAME_BYTES) {
        return "its name is longer than 1024 bytes";
    }
    if (name[0] == '/') {
        return "its name is absolute";
    }
    for (const char *part = name; *part;) {
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
    return excerpt_is_clean(dst, len) ? NULL : "its name holds control characters";
}

/* --- entries ---------------------------------------------------------------------------------- */

static void put_name(struct names *names, uint64_t number)
{
    size_t i = (size_t)number & (names->cap - 1);
    while (names->at[i] != 0 && names->at[i] != number) {
        i = (i + 1) & (names->cap - 1);
    }
    names->n += names->at[i] == 0;
    names->at[i] = number;
}

static enum status grow_names(struct archive_input *a)
{
    const struct names old = a->names;
    struct names grown = {.cap = old.cap > 0 ? 2 * old.cap : 256};
    grown.at = calloc(grown.cap, sizeof *grown.at);
    if (grown.at == NULL) {
        return fail_no_memory(a->name, "keep the names in it");
    }
    for (size_t i = 0; i < old.cap; i++) {
        if (old.at[i] != 0) {
            put_name(&grown, old.at[i]);
        }
    }
    free(old.at);
    a->names = grown;
    return STATUS_OK;
}

/* Whether there has been an entry of the present one's name. Two names have one number once in
 * 10^7 archives of a million entries. */
static enum status note_name(struct archive_input *a, bool *again)
{
    const uint64_t hash = text_hash_add(TEXT_HASH_OF_NONE, a->entry_name);
    if (2 * a->names.n >= a->names.cap) {
        STATUS_TRY(grow_names(a));
    }
    const size_t before = a->names.n;
    put_name(&a->names, hash != 0 ? hash : 1);
    *again = a->names.n == before;
    return STATUS_OK;
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

static bool is_zip(const struct archive_input *a)
{
    return archive_format(a->archive) == ARCHIVE_FORMAT_ZIP;
}

/* What other kinds of compression in a zip read back from is as large as the zip says. */
static const char *judge_packing(const struct archive_input *a)
{
    static const char *const known[] = {"(uncompressed)", "(deflation)", "(bzip)"};
    const char *const format = archive_format_name(a->archive);
    bool is = !is_zip(a) || format == NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0] && !is; i++) {
        is = strstr(format, known[i]) != NULL;
    }
    return is ? NULL : "it is packed neither by deflate nor by bzip2; pack it by deflate";
}

static enum status judge_entry(struct archive_input *a, struct archive_entry *e,
                               struct archive_input_entry *entry)
{
    const char *path = archive_entry_pathname_utf8(e);
    bool again = false;
    path = path ? path : archive_entry_pathname(e);
    path = decode_name(path ? path : "", is_zip(a), a->raw);
    *entry = (struct archive_input_entry){.name = a->entry_name, .raw = path};
    entry->number = a->n_entries;
    entry->refused = judge_kind(e);
    const char *const trouble = clean_name(path, a->entry_name);
    if (!trouble) {
        STATUS_TRY(note_name(a, &again));
    }
    if (!entry->refused) {
        entry->refused = trouble ? trouble
                         : again ? "an entry before it has the same name"
                                 : judge_packing(a);
    }
    if (trouble) {
        const struct excerpt shown = excerpt_of(path, strlen(path));
        memcpy(a->entry_name, shown.text, sizeof shown.text);
    } else if (!entry->refused && archive_entry_size_is_set(e) && archive_entry_size(e) > 0) {
        entry->bytes = (uint64_t)archive_entry_size(e);
    }
    return STATUS_OK;
}

uint64_t archive_input_bytes(const struct archive_input *a)
{
    return a->layer ? source_file_offset(a->layer) : a->n_read;
}

/* What is left of the entry before it is no header. */
static int next_header(struct archive_input *a, struct archive_entry **e)
{
    const int skipped = a->n_entries > 0 ? archive_read_data_skip(a->archive) : ARCHIVE_OK;
    a->header_bytes = 0;
    a->seeks_entry = true;
    const int result = skipped == ARCHIVE_FATAL ? skipped : archive_read_next_header(a->archive, e);
    a->seeks_entry = false;
    return result;
}

static enum status find_entry(struct archive_input *a, struct archive_input_entry *entry, bool *end)
{
    if (a->too_large && archive_format(a->archive) == ARCHIVE_FORMAT_7ZIP) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: what comes after '%s' is not read, since 7z packs files together",
                           a->name, a->entry_name);
    }
    a->too_large = false;
    for (;;) {
        struct archive_entry *e;
        const int result = next_header(a, &e);
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
        if (++a->n_entries > a->options.max_entries && a->options.max_entries > 0) {
            return status_fail(STATUS_TOO_LARGE,
                               "%s: has more than %" PRIu64 " entries; raise max_entries if it may",
                               a->name, a->options.max_entries);
        }
        if (archive_entry_filetype(e) != AE_IFDIR || archive_entry_hardlink(e)) {
            a->entry_begin = archive_input_bytes(a);
            a->entry_unpacked = 0;
            return judge_entry(a, e, entry);
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

/* --- content ---------------------------------------------------------------------------------- */

/* By the limits, `more` bytes may come out of the entry. What has been read ahead for it counts. */
static enum status count_bytes(struct archive_input *a, size_t more)
{
    const struct source_limits of_all = {.max_bytes = a->options.limits.max_bytes};
    const struct source_limits of_entry = {.max_ratio = a->options.limits.max_ratio};
    char where[512];
    a->unpacked += more;
    a->entry_unpacked += more;
    snprintf(where, sizeof where, "%s: %.255s", a->name, a->entry_name);
    enum status status = source_check_limits(&of_all, a->name, 0, a->unpacked);
    if (!status) {
        status = source_check_limits(&of_entry, where,
                                     archive_input_bytes(a) - a->entry_begin + AHEAD_BYTES,
                                     a->entry_unpacked);
    }
    a->too_large = status != STATUS_OK;
    return status;
}

enum status archive_input_read(struct archive_input *a, void *dst, size_t cap, size_t *n)
{
    la_ssize_t got;
    *n = 0;
    do {
        if (is_stopped(a)) {
            return status_fail(STATUS_CANCELLED, "%s: %s: stopped", a->name, a->entry_name);
        }
        got = archive_read_data(a->archive, dst, cap);
    } while (got == ARCHIVE_RETRY);
    if (got < 0 || has_failed(a)) {
        return fail_archive(a, a->entry_name);
    }
    *n = (size_t)got;
    return count_bytes(a, *n);
}

enum status archive_input_copy(struct archive_input *a, int to, uint64_t max_bytes, uint64_t *bytes)
{
    *bytes = 0;
    for (size_t got = 1; got > 0;) {
        STATUS_TRY(archive_input_read(a, a->block, sizeof a->block, &got));
        const uint64_t room = max_bytes - *bytes;
        const size_t n = got < room ? got : (size_t)room;
        if (n > 0 && !io_watch_write_all(to, a->block, n)) {
            return status_fail_errno(errno, "%s: %s: cannot be unpacked", a->name, a->entry_name);
        }
        *bytes += n;
        if (n < got) {
            return status_fail(STATUS_TOO_LARGE, "%s: %s: unpacks to more than %" PRIu64 " bytes",
                               a->name, a->entry_name, max_bytes);
        }
    }
    return STATUS_OK;
}

/* --- one file, once more ---------------------------------------------------------------------- */

static enum status read_member(void *user, const atomic_bool *stop, void *dst, size_t cap,
                               size_t *n)
{
    (void)stop; /* which the archive looks at */
    return archive_input_read(user, dst, cap, n);
}

static void close_member(void *user)
{
    archive_input_free(user);
}

/* Goes to the entry of that number; false: it is another one. */
static enum status find(struct archive_input *a, uint64_t number, const char *member, bool *found,
                        struct archive_input_entry *entry)
{
    bool end = false;
    *found = false;
    while (!end && entry->number < number) {
        STATUS_TRY(archive_input_next(a, entry, &end));
    }
    const size_t n = end || entry->refused ? 0 : strlen(entry->name), all = strlen(member);
    *found = n > 0 && n < all && strcmp(member + all - n, entry->name) == 0;
    return STATUS_OK;
}

enum status archive_input_member(const char *path, uint64_t number, const char *member,
                                 const struct archive_input_options *options,
                                 struct source_stream *out)
{
    struct archive_input_entry entry = {0};
    struct archive_input *a;
    bool found;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    *out = (struct source_stream){0};
    if (fd < 0) {
        return status_fail_errno(errno, "cannot open '%s' again", path);
    }
    STATUS_TRY(archive_input_open(fd, path, options, &a));
    enum status status = find(a, number, member, &found, &entry);
    if (!status && !found) {
        status = status_fail(STATUS_CHANGED, "'%s' changed while it was read", path);
    }
    if (status) {
        archive_input_free(a);
        return status;
    }
    *out = (struct source_stream){
        .read = read_member, .close = close_member, .user = a, .bytes = entry.bytes};
    return STATUS_OK;
}
