/*
 * crc - the CRC-32 of gzip, zip and PNG (ISO 3309), as zlib's crc32(), at the speed of reading.
 */
#ifndef LEAT_FORMATS_BASE_CRC_H
#define LEAT_FORMATS_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* The CRC-32 of some bytes followed by data[0 .. n), where `crc` is that of the first; 0 is the
 * CRC-32 of none. Equal to crc32_z(crc, data, n). */
uint32_t crc_extend(uint32_t crc, const void *data, size_t n);

#endif
