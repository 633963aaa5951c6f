/*
 * archive_input - the files in an archive that a user hands in: .zip .tar .tar.gz .tgz .tar.xz .7z.
 *
 * Names and sizes in an archive are claims of the archive. Only regular files come out, under
 * names that stay below the folder they are put in; everything else is refused with a sentence that
 * says why, and nothing of it is written anywhere. How much one file unpacks to is bounded by the
 * caller. A tar may have one layer of compression around it, which is checked to its end before the
 * first entry comes out; the others have checksums of their own. Sequential; one thread at a time.
 */
#ifndef LEAT_FORMATS_SOURCE_ARCHIVE_INPUT_H
#define LEAT_FORMATS_SOURCE_ARCHIVE_INPUT_H

#include "formats/base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct archive_input;

enum {
    ARCHIVE_INPUT_NAME_BYTES = 1024, /* the longest entry name believed; a part of it: 255 */
    ARCHIVE_INPUT_MAX_ENTRIES = 1000000
};

/* What one entry is. Strings are valid until the next call. */
struct archive_input_entry {
    const char *name; /* relative, UTF-8, parts separated by one '/', none of them "." or ".."; for
                         a refused entry its name as messages show it */
    const char *raw;  /* the name as the archive has it, to be looked at and not to be used */
    const char *refused; /* NULL, or a sentence that says why this entry is skipped */
    uint64_t bytes;      /* as the archive claims it; 0 when it does not */
};

/* True when the name ends like an archive that can be read here, in any case of letters. */
bool archive_input_named(const char *name);

/* Opens an archive. `fd` is taken over (closed by archive_input_free, also when this fails). `name`
 * is what messages call it; copied. This and all reading end with STATUS_CANCELLED, within some
 * 256 KiB of the archive, once *stop is set by any thread; borrowed, NULL: never. STATUS_BAD_INPUT
 * when it is not an archive of these kinds, its compression is damaged, or there are two of them.
 */
enum status archive_input_open(int fd, const char *name, const atomic_bool *stop,
                               struct archive_input **out) STATUS_MUST_CHECK;
void archive_input_free(struct archive_input *a);

/* Goes to the next entry; folders are skipped silently. *end is set when there is no
 * more. STATUS_BAD_INPUT: damaged; STATUS_UNSUPPORTED: the directory itself is encrypted;
 * STATUS_TOO_LARGE: too many entries. After an error the archive cannot be read further. */
enum status archive_input_next(struct archive_input *a, struct archive_input_entry *entry,
                               bool *end) STATUS_MUST_CHECK;

/* Writes the current entry's content to `to` from its present position on, *bytes in all.
 * STATUS_TOO_LARGE as soon as it is more than max_bytes (max_bytes have been written then);
 * STATUS_BAD_INPUT: damaged; STATUS_NO_SPACE, _IO. An entry not copied is skipped. */
enum status archive_input_copy(struct archive_input *a, int to, uint64_t max_bytes,
                               uint64_t *bytes) STATUS_MUST_CHECK;

#endif
