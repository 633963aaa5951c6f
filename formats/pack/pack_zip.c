/*
 * pack_zip - the zip container around deflated members.
 *
 * A member of one piece gets a local header that holds its sizes. A longer one is streamed: its
 * sizes follow it in a data descriptor (flag bit 3, 64-bit fields, announced by a zip64 extra field
 * as Python's zipfile does), so that nothing is ever patched and the file's own CRC-32 grows with
 * it. The central directory, which is what readers go by, always holds the true sizes, and zip64
 * fields only where 32 bits do not do. Dates are 1980-01-01, made by "MS-DOS": no modes, no clock.
 *
 * Why not minizip, which has raw entries: it takes the CRC-32 of the packed bytes once more, copies
 * them through a 64 KiB buffer (1.3 GB/s where the writes alone run at several), and patches every
 * local header.
 *
 * Source: PKWARE APPNOTE.TXT 6.3.9, sections 4.3.7, 4.3.9, 4.3.12-4.3.16, 4.5.3.
 */
#include "formats/pack/pack_container.h"

#include <assert.h>
#include <string.h>

enum {
    VERSION_DEFLATE = 20,
    VERSION_ZIP64 = 45,
    FLAG_STREAMED = 1 << 3,
    METHOD_DEFLATE = 8,
    DOS_DATE = (0 << 9) | (1 << 5) | 1, /* year since 1980, month, day */
    ZIP64_ID = 1,
};

static const uint32_t too_big_32 = 0xffffffff;

/* Little-endian fields gathered in a buffer that has the room. */
struct fields {
    unsigned char data[128];
    size_t len;
};

static void put(struct fields *f, uint64_t value, size_t n)
{
    assert(f->len + n <= sizeof f->data);
    for (size_t i = 0; i < n; i++) {
        f->data[f->len++] = (unsigned char)(value >> (8 * i));
    }
}

static uint64_t clip_32(uint64_t value)
{
    return value < too_big_32 ? value : too_big_32;
}

/* The fields that local header and directory entry have in common. */
static void put_entry(struct fields *f, unsigned version, unsigned flags, uint32_t crc,
                      uint64_t packed_bytes, uint64_t raw_bytes, size_t name_len, size_t extra_len)
{
    put(f, version, 2);
    put(f, flags, 2);
    put(f, METHOD_DEFLATE, 2);
    put(f, 0, 2); /* 00:00 */
    put(f, DOS_DATE, 2);
    put(f, crc, 4);
    put(f, packed_bytes, 4);
    put(f, raw_bytes, 4);
    put(f, name_len, 2);
    put(f, extra_len, 2);
}

static enum status put_named(struct pack *p, const struct fields *head, const struct fields *extra)
{
    enum status st = pack_file_put(&p->file, head->data, head->len);
    if (st == STATUS_OK) {
        st = pack_file_put(&p->file, p->member.name, strlen(p->member.name));
    }
    return st == STATUS_OK ? pack_file_put(&p->file, extra->data, extra->len) : st;
}

static enum status begin(struct pack *p, const struct pack_piece *first)
{
    struct fields head = {.len = 0}, extra = {.len = 0};
    const size_t name_len = strlen(p->member.name);
    p->member.streamed =
        !first->last || first->packed.len >= too_big_32 || first->raw_bytes >= too_big_32;
    put(&head, 0x04034b50, 4);
    if (!p->member.streamed) {
        put_entry(&head, VERSION_DEFLATE, 0, first->crc, first->packed.len, first->raw_bytes,
                  name_len, 0);
    } else {
        put(&extra, ZIP64_ID, 2);
        put(&extra, 16, 2);
        put(&extra, 0, 8);
        put(&extra, 0, 8);
        put_entry(&head, VERSION_ZIP64, FLAG_STREAMED, 0, too_big_32, too_big_32, name_len,
                  extra.len);
    }
    return put_named(p, &head, &extra);
}

static enum status end(struct pack *p)
{
    const struct pack_member_state *m = &p->member;
    struct fields head = {.len = 0}, extra = {.len = 0}, tail = {.len = 0};
    if (m->streamed) {
        struct fields descriptor = {.len = 0};
        put(&descriptor, 0x08074b50, 4);
        put(&descriptor, m->crc, 4);
        put(&descriptor, m->packed_bytes, 8);
        put(&descriptor, m->raw_bytes, 8);
        const enum status st = pack_file_put(&p->file, descriptor.data, descriptor.len);
        if (st != STATUS_OK) {
            return st;
        }
    }

    struct fields wide = {.len = 0}; /* those that do not fit, in this order */
    if (m->raw_bytes >= too_big_32) {
        put(&wide, m->raw_bytes, 8);
    }
    if (m->packed_bytes >= too_big_32) {
        put(&wide, m->packed_bytes, 8);
    }
    if (m->offset >= too_big_32) {
        put(&wide, m->offset, 8);
    }
    if (wide.len > 0) {
        put(&extra, ZIP64_ID, 2);
        put(&extra, wide.len, 2);
        memcpy(extra.data + extra.len, wide.data, wide.len);
        extra.len += wide.len;
    }
    const unsigned version = m->streamed || extra.len > 0 ? VERSION_ZIP64 : VERSION_DEFLATE;
    put(&head, 0x02014b50, 4);
    put(&head, version, 2); /* made by: MS-DOS */
    put_entry(&head, version, m->streamed ? FLAG_STREAMED : 0, m->crc, clip_32(m->packed_bytes),
              clip_32(m->raw_bytes), strlen(m->name), extra.len);
    put(&tail, 0, 2); /* comment */
    put(&tail, 0, 2); /* disk */
    put(&tail, 0, 2); /* internal attributes: binary */
    put(&tail, 0, 4); /* external attributes */
    put(&tail, clip_32(m->offset), 4);

    struct bytes *dir = &p->directory;
    enum status st = bytes_append(dir, head.data, head.len);
    if (st == STATUS_OK) {
        st = bytes_append(dir, tail.data, tail.len);
    }
    if (st == STATUS_OK) {
        st = bytes_append(dir, m->name, strlen(m->name));
    }
    return st == STATUS_OK ? bytes_append(dir, extra.data, extra.len) : st;
}

static enum status finish(struct pack *p)
{
    const uint64_t n = p->n_members, dir_offset = p->file.size, dir_bytes = p->directory.len;
    enum status st = pack_file_put(&p->file, p->directory.data, p->directory.len);
    struct fields f = {.len = 0};
    if (n >= 0xffff || dir_offset >= too_big_32 || dir_bytes >= too_big_32) {
        put(&f, 0x06064b50, 4);
        put(&f, 44, 8); /* bytes of this record after this field */
        put(&f, VERSION_ZIP64, 2);
        put(&f, VERSION_ZIP64, 2);
        put(&f, 0, 4); /* this disk, the directory's disk */
        put(&f, 0, 4);
        put(&f, n, 8);
        put(&f, n, 8);
        put(&f, dir_bytes, 8);
        put(&f, dir_offset, 8);
        put(&f, 0x07064b50, 4);
        put(&f, 0, 4);
        put(&f, dir_offset + dir_bytes, 8);
        put(&f, 1, 4);
    }
    put(&f, 0x06054b50, 4);
    put(&f, 0, 2);
    put(&f, 0, 2);
    put(&f, n < 0xffff ? n : 0xffff, 2);
    put(&f, n < 0xffff ? n : 0xffff, 2);
    put(&f, clip_32(dir_bytes), 4);
    put(&f, clip_32(dir_offset), 4);
    put(&f, 0, 2);
    return st == STATUS_OK ? pack_file_put(&p->file, f.data, f.len) : st;
}

const struct pack_container pack_zip = {
    .begin = begin, .end = end, .finish = finish, .named = true};
