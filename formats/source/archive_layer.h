/*
 * archive_layer - the one layer of compression that an archive may have around it: gzip or xz.
 *
 * Both give their checksums behind what they are of, so a layer is unpacked to its end once before
 * the first byte of it is given: what comes out of an open layer is what was put in. A second layer
 * within it is refused. Sequential; one thread at a time.
 */
#ifndef LEAT_FORMATS_SOURCE_ARCHIVE_LAYER_H
#define LEAT_FORMATS_SOURCE_ARCHIVE_LAYER_H

#include "formats/base/status.h"

#include <stdatomic.h>
#include <stddef.h>

struct archive_layer;

/* Looks at how the file begins; *out is NULL when it is not compressed. `fd` is borrowed until
 * archive_layer_free and its position does not matter; so is `stop` (NULL: never): once it is set,
 * by any thread, this and reading end with STATUS_CANCELLED, within 256 KiB of the file. `name` is
 * what messages call it; copied. STATUS_BAD_INPUT: damaged, or compressed twice; STATUS_IO,
 * _NO_MEMORY. */
enum status archive_layer_open(int fd, const char *name, const atomic_bool *stop,
                               struct archive_layer **out) STATUS_MUST_CHECK;
void archive_layer_free(struct archive_layer *l);

/* Unpacks up to `cap` bytes; *n = 0 only at the end. The errors are those of archive_layer_open:
 * the file may have changed since. */
enum status archive_layer_read(struct archive_layer *l, void *dst, size_t cap,
                               size_t *n) STATUS_MUST_CHECK;

#endif
