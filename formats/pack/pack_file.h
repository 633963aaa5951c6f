/*
 * pack_file - the file under a pack: bytes in order, gathered into large writes, their number and
 * CRC-32 kept on the way. Private to the packs and their tests.
 */
#ifndef LEAT_FORMATS_PACK_PACK_FILE_H
#define LEAT_FORMATS_PACK_PACK_FILE_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct pack_file {
    int fd;              /* owned; -1 when closed */
    char *name;          /* owned; for messages */
    struct bytes buffer; /* not yet written */
    uint64_t size;       /* bytes put so far */
    uint32_t crc;        /* CRC-32 of them */
};

/* Creates `name`, which must not exist, in a directory; the FOLDER of "FOLDER/NAME" is made when it
 * is not there. *f needs no preparation. */
enum status pack_file_create(struct pack_file *f, int dir_fd, const char *name) STATUS_MUST_CHECK;
/* Takes an open descriptor over instead, closed also when this fails. */
enum status pack_file_adopt(struct pack_file *f, int fd, const char *name) STATUS_MUST_CHECK;
/* Puts n bytes whose CRC-32 is known. */
enum status pack_file_put_known(struct pack_file *f, const void *data, size_t n,
                                uint32_t crc) STATUS_MUST_CHECK;
/* Puts n bytes. */
enum status pack_file_put(struct pack_file *f, const void *data, size_t n) STATUS_MUST_CHECK;
/* Writes what is gathered and closes the file. */
enum status pack_file_finish(struct pack_file *f) STATUS_MUST_CHECK;
/* Gives everything back, written or not; fine after pack_file_finish. */
void pack_file_drop(struct pack_file *f);

#endif
