/*
 * archive_input - the files in an archive that a user hands in: .zip .7z .tar, and .tar in gzip,
 * xz, zstd or bzip2 (.tgz .txz .tzst .tbz2, too).
 *
 * Names and sizes in an archive are claims of the archive. Only regular files come out, under
 * names that stay below the folder they are put in; everything else is refused with a sentence that
 * says why, and nothing of it is written anywhere. How much comes out is bounded. A tar may have
 * one layer of compression around it; in a file it is checked to its end before the first entry
 * comes out, from a stream it is taken as it comes; the other kinds have checksums of their own.
 * Sequential; one thread at a time.
 */
#ifndef LEAT_FORMATS_SOURCE_ARCHIVE_INPUT_H
#define LEAT_FORMATS_SOURCE_ARCHIVE_INPUT_H

#include "formats/base/status.h"
#include "formats/source/source.h"

struct archive_input;

/* What one entry is. Strings are valid until the next call. */
struct archive_input_entry {
    const char *name; /* relative, UTF-8, parts separated by one '/', none of them "." or ".."; an
                         entry refused for its name has that name as messages show it */
    const char *raw;  /* the name as the archive has it, but UTF-8 where it can be made that; to be
                         looked at and not to be used */
    const char *refused; /* NULL, or a sentence that says why this entry is skipped */
    uint64_t bytes;      /* as the archive claims it; 0 when it does not */
    uint64_t number;     /* of the entry in the archive, from 1 */
};

/* Zeroed: none of them. */
struct archive_input_options {
    const atomic_bool *stop;     /* reading ends with STATUS_CANCELLED, within some 256 KiB of the
                                    archive, once it is set by any thread; borrowed */
    struct source_limits limits; /* bytes: of all entries together; ratio: of each, and of the
                                    compression around a tar */
    uint64_t max_entries;
    uint64_t max_header_bytes; /* of what stands before one entry, or in a zip's directory:
                                  libarchive keeps that, and up to five times as much; of a 7z's
                                  header a 16th of that, for libarchive keeps up to 64 times as
                                  much (sevenz_header.h) */
    bool without_7z;           /* whose files ask for dictionaries and models of any size */
};

/* True when the name ends like an archive that can be read here, in any case of letters. */
bool archive_input_named(const char *name);
/* The X of X.tar.gz, of a name that is one of an archive; for free(). STATUS_NO_MEMORY. */
enum status archive_input_stem(const char *name, char **out) STATUS_MUST_CHECK;
/* True when an archive of that name can be read from a stream: it is a tar. */
bool archive_input_streams(const char *name);

/* Opens an archive. `fd` is taken over (closed by archive_input_free, also when this fails). `name`
 * is what messages call it; copied. STATUS_BAD_INPUT when it is not an archive of these kinds, its
 * compression is damaged, or there are two of them; STATUS_UNSUPPORTED: a 7z that is not wanted, or
 * whose directory is encrypted; STATUS_TOO_LARGE, by the limits. options NULL: none. */
enum status archive_input_open(int fd, const char *name,
                               const struct archive_input_options *options,
                               struct archive_input **out) STATUS_MUST_CHECK;
/* A tar from a stream, which is taken over likewise. */
enum status archive_input_open_stream(const struct source_stream *stream, const char *name,
                                      const struct archive_input_options *options,
                                      struct archive_input **out) STATUS_MUST_CHECK;
void archive_input_free(struct archive_input *a);

/* Goes to the next entry; folders are skipped silently. *end is set when there is no more.
 * STATUS_BAD_INPUT: damaged; STATUS_UNSUPPORTED: the directory itself is encrypted;
 * STATUS_TOO_LARGE: too many entries, or no way past one that unpacks to too much. After an error
 * the archive cannot be read further. */
enum status archive_input_next(struct archive_input *a, struct archive_input_entry *entry,
                               bool *end) STATUS_MUST_CHECK;

/* Bytes of the archive itself that have been read. */
uint64_t archive_input_bytes(const struct archive_input *a);

/* Up to cap bytes of the current entry's content, *n = 0 only at its end. STATUS_TOO_LARGE, by the
 * limits; STATUS_BAD_INPUT: damaged. What is not read of an entry is skipped. */
enum status archive_input_read(struct archive_input *a, void *dst, size_t cap,
                               size_t *n) STATUS_MUST_CHECK;

/* Writes the rest of it to `to` from its present position on, *bytes in all. STATUS_TOO_LARGE as
 * soon as it is more than max_bytes, too (max_bytes have been written then); STATUS_NO_SPACE, _IO.
 */
enum status archive_input_copy(struct archive_input *a, int to, uint64_t max_bytes,
                               uint64_t *bytes) STATUS_MUST_CHECK;

/* One file in it as a stream, for who wants it once more: opens the archive at `path` and goes to
 * the entry of that number (archive_input_entry), whose name ends `member`. STATUS_CHANGED: it is
 * not there any more; as archive_input_open. */
enum status archive_input_member(const char *path, uint64_t number, const char *member,
                                 const struct archive_input_options *options,
                                 struct source_stream *out) STATUS_MUST_CHECK;

#endif
