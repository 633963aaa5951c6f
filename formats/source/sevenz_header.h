/*
 * sevenz_header - the header of a 7z archive, which lists its files, looked at before libarchive
 * reads it: libarchive allocates memory for whatever numbers stand there. The header lies behind
 * the files, packed itself as a rule.
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

/* Whether the header of the archive in fd, which begins with start[SEVENZ_START_BYTES], can be left
 * to libarchive: it has at most `most` bytes, packed and unpacked, and lists no more than fits into
 * them. libarchive keeps up to 64 times as much then. STATUS_TOO_LARGE: it has more;
 * STATUS_BAD_INPUT: it is damaged, or is not as 7-Zip, py7zr and libarchive write it;
 * STATUS_UNSUPPORTED: it is encrypted; STATUS_IO; STATUS_NO_MEMORY. */
enum status sevenz_check_header(int fd, const unsigned char *start,
                                uint64_t most) STATUS_MUST_CHECK;

#endif
