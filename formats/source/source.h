/*
 * source - where the bytes of one input come from: a file, a pipe, a member of an archive; or what
 * is compressed in it by gzip, xz, zstd or bzip2.
 *
 * Sequential; one thread at a time. Compression is recognised by its magic bytes and taken off on
 * the way (several streams in a row are one, as gzip -d does). A truncated or damaged stream is
 * STATUS_BAD_INPUT with file and compressed byte offset. A source has a head that can be looked at
 * before it is consumed, so that a format can be recognised and its shape read without seeking.
 */
#ifndef LEAT_FORMATS_SOURCE_SOURCE_H
#define LEAT_FORMATS_SOURCE_SOURCE_H

#include "formats/base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct source;

/* Deflate never unpacks to more than this many times its bytes. */
enum { DEFLATE_MAX_RATIO = 1032 };

/* How much may come out of something compressed, a file or an archive; 0: no limit. */
struct source_limits {
    uint64_t max_bytes;
    uint64_t max_ratio;  /* times what has been read for it; not before SOURCE_FREE_BYTES */
    uint64_t max_window; /* bytes of memory that unpacking may take; 0: as unpack.h has it */
};
enum { SOURCE_FREE_BYTES = 256 << 20 };
/* Whether so many bytes, made from `packed` ones, are within the limits. STATUS_TOO_LARGE, with
 * what sets the limit; `where` is what messages call it. */
enum status source_check_limits(const struct source_limits *limits, const char *where,
                                uint64_t packed, uint64_t bytes) STATUS_MUST_CHECK;

/* Bytes that come once and in order: a pipe, a member of an archive. Owned by whom it is given to,
 * and closed by that one. */
struct source_stream {
    /* Up to cap bytes, *n = 0 only at the end; STATUS_CANCELLED soon after *stop is set (NULL:
     * never). NULL: no stream. */
    enum status (*read)(void *user, const atomic_bool *stop, void *dst, size_t cap, size_t *n);
    void (*close)(void *user);
    void *user;
    uint64_t bytes; /* that are to come, as far as is said; 0: unknown */
};
/* What comes out of a pipe, a terminal, a socket: `fd`, which is taken over (closed also when this
 * fails). STATUS_NO_MEMORY. */
enum status source_stream_of(int fd, const char *name, struct source_stream *out) STATUS_MUST_CHECK;

/* Opens an input. `fd` is taken over (closed by source_free, also when this fails). `name` is what
 * messages call the input (a path); copied. Only regular files: others are STATUS_BAD_INPUT. */
enum status source_open(int fd, const char *name, struct source **out) STATUS_MUST_CHECK;
/* The same of a stream, which is taken over; as far as it has to be for that, it is read. */
enum status source_open_stream(const struct source_stream *stream, const char *name,
                               const atomic_bool *stop, struct source **out) STATUS_MUST_CHECK;
void source_free(struct source *s);

/* Threads that help with reading large pieces: run() calls body(arg, i) once for each i < n, on any
 * threads, and returns when all are done. */
struct source_helpers {
    void (*run)(void *context, size_t n, void (*body)(void *arg, size_t index), void *arg);
    void *context;
};
/* From now on; what is read, and its checksum, are the same without. */
void source_set_helpers(struct source *s, const struct source_helpers *helpers);

/* From now on unpacking, and reading a stream, end with STATUS_CANCELLED, within 128 KiB of the
 * file, once *stop is set (by any thread), whatever comes out of it. Borrowed; NULL: never. */
void source_stop_at(struct source *s, const atomic_bool *stop);
/* From now on; what has been looked at counts. */
void source_set_limits(struct source *s, const struct source_limits *limits);

const struct source_limits *source_limits(const struct source *s);
/* STATUS_CANCELLED once *stop is set. */
enum status source_check_stop(const struct source *s) STATUS_MUST_CHECK;
/* From now on what comes out is the stream's, which is taken over: it makes that of the file, by
 * source_read_at(), and holds `bytes` of memory. What has been looked at is forgotten. `kind` is
 * what the file is called then, "a spreadsheet"; static. Only of a file that is not packed. */
void source_convert(struct source *s, const struct source_stream *stream, const char *kind,
                    size_t bytes);

/* Once something has been looked at: how much memory unpacking holds, and will at most from now on.
 */
uint64_t source_hold_window(struct source *s);

const char *source_name(const struct source *s);
/* Bytes of the file itself (compressed, when it is), and those consumed so far, for progress. Of a
 * stream what it is said to have, or has had when that is more. */
uint64_t source_file_bytes(const struct source *s);
uint64_t source_file_offset(const struct source *s);
/* True when the bytes are being unpacked, converted, or recoded, so that source_file_bytes is not
 * their number. */
bool source_is_packed(const struct source *s);
/* What it is: "gzip", "xz", "zstd", "bzip2", "a pipe" for a stream, or what it is converted from;
 * NULL for a plain file, the only one in which formats can seek. */
const char *source_hindrance(const struct source *s);
/* True for a stream: it has neither time nor inode, and comes once. */
bool source_is_stream(const struct source *s);
/* The most bytes that can come out: those of the file, or what may be made of them. */
uint64_t source_most_bytes(const struct source *s);
/* The open descriptor, for formats that must seek (zip); borrowed. -1: a stream. */
int source_fd(const struct source *s);
/* When the file was last modified, as it was opened. */
struct timespec source_modified(const struct source *s);
uint64_t source_inode(const struct source *s);
/* Fails with STATUS_CHANGED when the file has not the length and the time of change any more that
 * it had when it was opened: what was read of it may be no whole. */
enum status source_check_unchanged(const struct source *s) STATUS_MUST_CHECK;
/* CRC-32 of the whole file's own bytes. It is taken while reading in order; what has not been read
 * that way (formats that seek, an early end) is read now. STATUS_IO. */
enum status source_crc(struct source *s, uint32_t *out) STATUS_MUST_CHECK;
/* Reads up to `cap` of the file's own bytes at `offset`, for formats that seek (zip); what is
 * consumed in order stays as it is, but source_file_offset gives the furthest place read.
 * *n < cap only at the end of the file. STATUS_IO. */
enum status source_read_at(struct source *s, uint64_t offset, void *dst, size_t cap,
                           size_t *n) STATUS_MUST_CHECK;

/* Makes at least `want` bytes visible without consuming them (fewer only at the end), and gives a
 * pointer to what is visible. Valid until the next call. *n may exceed want. STATUS_NO_MEMORY. */
enum status source_peek(struct source *s, size_t want, const unsigned char **data,
                        size_t *n) STATUS_MUST_CHECK;
/* Consumes up to `cap` bytes into dst; *n < cap only at the end. */
enum status source_read(struct source *s, void *dst, size_t cap, size_t *n) STATUS_MUST_CHECK;

/* Gives back the last n bytes that were consumed, to be read again: bytes[n] is what they are now.
 * STATUS_NO_MEMORY. */
enum status source_unread(struct source *s, const void *bytes, size_t n) STATUS_MUST_CHECK;
/* Of a text, before any of it is consumed: where it begins with the mark of UTF-16, it is UTF-8
 * without that mark from now on. STATUS_BAD_INPUT (half a character, also of what is read later).
 */
enum status source_recode(struct source *s) STATUS_MUST_CHECK;

/* What a text is cut by. */
struct source_counts {
    unsigned char delimiter;
    size_t newlines, delimiters, quotes;
};
/* Adds those of p[0 .. n). */
void source_count(const unsigned char *p, size_t n, struct source_counts *counts);
/* As source_read, and adds those of what is read: each thread counts what it has just read. */
enum status source_read_text(struct source *s, void *dst, size_t cap, size_t *n,
                             struct source_counts *counts) STATUS_MUST_CHECK;

#endif
