/*
 * pack - an output file made of pieces that are deflated in parallel and appended in order.
 *
 * One kind for each container: PACK_RAW (bytes as they are: .png, .json, .npy), PACK_GZIP (.csv.gz)
 * and PACK_ZIP (.npz: several members). Output is deterministic: no clock, no user, no host name in
 * it, and the same pieces give the same bytes whichever thread deflated them, on processors of one
 * kind (deflate takes the instructions that a processor has).
 */
#ifndef LEAT_FORMATS_PACK_PACK_H
#define LEAT_FORMATS_PACK_PACK_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pack_kind { PACK_RAW, PACK_GZIP, PACK_ZIP };

/* Raw bytes in one piece: all but the last piece of a member have this many, or (text) up to it. */
enum { PACK_PIECE_BYTES = 1 << 20 };

enum { PACK_LEVEL = 1 }; /* by default */

struct pack;
struct deflater; /* one thread's deflate state; reused from piece to piece */

/* A piece on its way: made from raw bytes by pack_deflate on any thread, then appended in order.
 * Zeroed before its first use; may be used again, which keeps the memory of `packed`. */
struct pack_piece {
    struct bytes packed; /* what goes into the file; freed by the caller */
    uint64_t raw_bytes;  /* what it stands for */
    uint32_t crc;        /* CRC-32 of the raw bytes */
    uint32_t packed_crc; /* CRC-32 of what goes into the file */
    bool last;           /* of its member */
};

/* Level 0 (stored) to 9 (smallest): 1 to 3 by ISA-L, hundreds of MB/s; 4 to 9 by zlib, tens of
 * MB/s, to save some 3 % of text and nothing of measured numbers. STATUS_BAD_ARGUMENT,
 * STATUS_NO_MEMORY. */
enum status deflater_new(int level, struct deflater **out) STATUS_MUST_CHECK;
void deflater_free(struct deflater *d);

/* Deflates one piece (copies it for PACK_RAW). `last` marks a member's last piece. */
enum status pack_deflate(struct deflater *d, enum pack_kind kind, const void *raw, size_t n,
                         bool last, struct pack_piece *out) STATUS_MUST_CHECK;

/* Appends a whole zlib stream (RFC 1950) at level 1, in the same bytes in every process: for
 * formats that have such streams inside. n < 2 GiB. STATUS_NO_MEMORY. */
enum status pack_zlib(const void *raw, size_t n, struct bytes *out) STATUS_MUST_CHECK;

/* Creates the file `name` in the directory (must not exist, mode 0666 less umask); the FOLDER of
 * "FOLDER/NAME" is made when it is not there. */
enum status pack_open(int dir_fd, const char *name, enum pack_kind kind,
                      struct pack **out) STATUS_MUST_CHECK;
/* The same to what is open for writing, perhaps a pipe; `fd` is the pack's in every case. Members
 * of a PACK_ZIP cannot grow there. Writing is STATUS_CANCELLED when the reader of a pipe has gone
 * (SIGPIPE is ignored). */
enum status pack_take(int fd, const char *name, enum pack_kind kind,
                      struct pack **out) STATUS_MUST_CHECK;
/* PACK_ZIP: ends the member before it, if any, and begins one. */
enum status pack_member(struct pack *p, const char *member) STATUS_MUST_CHECK;
/* Appends the next piece of the current member; the piece stays the caller's. A member that has got
 * its last piece takes no more, and one that has not cannot be ended (but for PACK_RAW):
 * STATUS_INTERNAL. */
enum status pack_append(struct pack *p, const struct pack_piece *piece) STATUS_MUST_CHECK;
/* PACK_ZIP: appends a piece, which is never the last, to a member that grows while others do: where
 * it belongs, if the member is the current one, which has begun with its head; else it waits in a
 * temporary file without a name beside the pack, with up to 64 KiB in memory. */
enum status pack_grow(struct pack *p, const char *member,
                      const struct pack_piece *piece) STATUS_MUST_CHECK;
/* Ends such a member: writes `head`, a piece that may be known at the end only, unless the member
 * has begun with it, then all that waits, which must come from raw_bytes bytes (0: nothing has
 * grown). The member before must be complete. STATUS_INTERNAL when it is not so, or when the member
 * has begun with another head. */
enum status pack_gather(struct pack *p, const char *member, const struct pack_piece *head,
                        uint64_t raw_bytes) STATUS_MUST_CHECK;
/* PACK_ZIP: a whole member, stored: the first `bytes` bytes of the file `fd`, whose CRC-32 that is;
 * copied by the system if it can, else in blocks. The member before must be complete. `stop`, NULL
 * or asked between blocks: once it is not 0, STATUS_CANCELLED. STATUS_IO when the file is shorter.
 */
enum status pack_store(struct pack *p, const char *member, int fd, uint64_t bytes, uint32_t crc,
                       const int *stop) STATUS_MUST_CHECK;
/* PACK_RAW: replaces the file's first bytes, which have been zeros; last of all. */
enum { PACK_HEADER_BYTES = 16 };
enum status pack_header(struct pack *p,
                        const unsigned char header[PACK_HEADER_BYTES]) STATUS_MUST_CHECK;
/* Writes what stands at the end, closes the file; gives its size and CRC-32 (of the file's own
 * bytes). `p` is freed in every case. */
enum status pack_close(struct pack *p, uint64_t *bytes, uint32_t *crc) STATUS_MUST_CHECK;
/* Closes without finishing; NULL is fine. */
void pack_abandon(struct pack *p);

#endif
