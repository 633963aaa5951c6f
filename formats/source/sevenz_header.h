/*
 * sevenz_header - how much a 7z archive says of its entries, before a library keeps it: that stands
 * behind the files, packed itself as a rule.
 */
#ifndef LEAT_FORMATS_SOURCE_SEVENZ_HEADER_H
#define LEAT_FORMATS_SOURCE_SEVENZ_HEADER_H

#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEVENZ_START_BYTES = 32 };

/* Whether a file begins so. */
bool sevenz_is(const unsigned char *start, size_t n);

/* The header's size, unpacked, of the archive in fd that begins with start[SEVENZ_START_BYTES].
 * STATUS_BAD_INPUT: it is packed as no program packs it, with the reason as message; STATUS_IO. */
enum status sevenz_header_bytes(int fd, const unsigned char *start,
                                uint64_t *bytes) STATUS_MUST_CHECK;

#endif
