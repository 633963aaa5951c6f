/*
 * unpack - compressed streams, piece by piece: gzip, xz, zstd, bzip2.
 *
 * A table of the kinds, each with what it begins with and how a piece of it is unpacked by its own
 * library. Reading, limits and messages are the caller's. One thread at a time.
 */
#ifndef LEAT_FORMATS_SOURCE_UNPACK_H
#define LEAT_FORMATS_SOURCE_UNPACK_H

#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that show which kind it is. */
enum { UNPACK_HEAD_BYTES = 10 };

/* Of what xz and zstd ask for to unpack a stream, the most that they get: xz -9 asks for 65 MiB,
 * zstd -19 for 8, zstd --ultra for 128. Most ask for less than UNPACK_COMMON_BYTES. */
enum { UNPACK_MEMORY_BYTES = 160 << 20, UNPACK_COMMON_BYTES = 10 << 20 };

struct unpack_kind;
struct unpack;

/* The kind that begins so; NULL: it is not compressed. */
const struct unpack_kind *unpack_kind_of(const unsigned char *head, size_t n);
/* "gzip", "xz", "zstd", "bzip2". */
const char *unpack_kind_name(const struct unpack_kind *kind);

enum status unpack_new(const struct unpack_kind *kind, struct unpack **out) STATUS_MUST_CHECK;
void unpack_free(struct unpack *u);

/* Streams get no more than so many bytes from now on; one that has begun keeps its own limit. */
void unpack_limit(struct unpack *u, uint64_t bytes);
/* How much it holds, once a piece has been unpacked, and will at most: streams that follow get no
 * more than the first has, or than most ask for. */
uint64_t unpack_hold(struct unpack *u);
/* What a stream gets at most. */
uint64_t unpack_most(const struct unpack *u);

/* Where bytes come from and go to; what is used moves the pointers. */
struct unpack_piece {
    const unsigned char *in;
    size_t n_in;
    unsigned char *out;
    size_t n_out;
};
/* Unpacks until either side is used up, or a stream ends (*end): another one may follow it, see
 * unpack_again. STATUS_BAD_INPUT, _TOO_LARGE (it asks for more memory than it gets), _NO_MEMORY;
 * *why is a few words then, never NULL. Nothing is described (status_fail). */
enum status unpack_some(struct unpack *u, struct unpack_piece *p, bool *end,
                        const char **why) STATUS_MUST_CHECK;
/* After an end: whether a stream of the kind can begin with the byte; if so, it is begun. */
bool unpack_again(struct unpack *u, unsigned char first, enum status *status);

#endif
