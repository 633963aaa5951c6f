/*
 * gdal_pcidsk - see the header. The file has as many blocks of 512 bytes as its header says. Of
 * tiles alone it may lack the end: the segments that hold them grow by a reserve, which is not
 * written. What of these is in use a directory says: layers of so many bytes, in blocks of 4096 or
 * more, each somewhere in a segment of tiles. It is a segment itself, in binary or in text.
 *
 * Sources: PCIDSK Database File, the file header and the segment pointers; GDAL's PCIDSK SDK,
 * blockdir/, for directories of tiles.
 */
#include "formats/table/gdal_pcidsk.h"

#include "formats/base/sizes.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 512,
    BLOCKS_AT = 16, /* of the file */
    POINTERS_AT = 440,
    POINTER = 32, /* to a segment */
    HEADER = 464,
    MOST_SEGMENTS = 1 << 12,
    SEGMENT_HEADER = 1024,
    MOST_TILE_BLOCK = 1 << 26,
    TEXT_TILE_BLOCK = 8192,
    BINARY_LAYER = 18, /* sizes of a directory's entries */
    BINARY_TILES = 38,
    BINARY_BLOCK = 6,
    TEXT_LAYER = 24,
    TEXT_BLOCK = 28
};

struct segment {
    uint64_t at, bytes; /* with its header */
    bool has_tiles;
};

struct pcidsk {
    struct source *source;
    uint64_t first; /* of the buffer */
    size_t n;
    unsigned char buffer[1 << 14];
    bool is_wrong; /* beyond the file's end, or claims what cannot be */
    struct segment segments[MOST_SEGMENTS];
    size_t n_segments;
    uint64_t end; /* of what has been looked at */
};

/* n <= BLOCK bytes; zeros once something is wrong. */
static enum status see(struct pcidsk *p, uint64_t at, size_t n, const unsigned char **out)
{
    static const unsigned char nothing[BLOCK];
    if (at < p->first || at + n > p->first + p->n) {
        p->first = at;
        STATUS_TRY(source_read_at(p->source, at, p->buffer, sizeof p->buffer, &p->n));
    }
    p->is_wrong = p->is_wrong || p->n < n;
    *out = p->is_wrong ? nothing : p->buffer + (at - p->first);
    return STATUS_OK;
}

/* A number in text of n < 20 characters, blanks around it. */
static int64_t text_number(const unsigned char *text, size_t n)
{
    char copy[20] = {0};
    memcpy(copy, text, n);
    return strtoll(copy, NULL, 10);
}

static uint64_t binary_number(const unsigned char *bytes, size_t n, bool is_big)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        value = value << 8 | bytes[is_big ? i : n - 1 - i];
    }
    return value;
}

/* So many bytes of a layer are in that block of a segment. */
static void use(struct pcidsk *p, uint64_t segment, uint64_t block, uint64_t block_bytes,
                uint64_t bytes)
{
    if (segment == 0 || segment > p->n_segments || !p->segments[segment - 1].has_tiles ||
        block > UINT32_MAX) {
        p->is_wrong = true;
        return;
    }
    const uint64_t at = p->segments[segment - 1].at + SEGMENT_HEADER + block * block_bytes;
    p->end = greater(p->end, at + lesser(bytes, block_bytes));
}

/* Header, layers, their tiles, a layer of free blocks, blocks. */
static enum status see_binary(struct pcidsk *p, const struct segment *s)
{
    const unsigned char *entry;
    uint64_t at = s->at + SEGMENT_HEADER, n_blocks = 0;
    STATUS_TRY(see(p, at, BLOCK, &entry));
    const bool is_big = entry[BLOCK - 3] == 'B';
    const uint64_t n = binary_number(entry + 10, 4, is_big);
    const uint64_t block_bytes = binary_number(entry + 14, 4, is_big);
    p->is_wrong = p->is_wrong || block_bytes > MOST_TILE_BLOCK || n > s->bytes / BINARY_LAYER;
    at += BLOCK;
    const uint64_t blocks_at = at + n * (BINARY_LAYER + BINARY_TILES) + BINARY_LAYER;
    for (uint64_t i = 0; i < n && !p->is_wrong; i++) {
        STATUS_TRY(see(p, at + i * BINARY_LAYER, BINARY_LAYER, &entry));
        const uint64_t first = binary_number(entry + 2, 4, is_big);
        const uint64_t count = binary_number(entry + 6, 4, is_big);
        const uint64_t bytes = binary_number(entry + 10, 8, is_big);
        n_blocks += count;
        p->is_wrong = p->is_wrong || n_blocks > s->bytes / BINARY_BLOCK ||
                      (count > 0 && (count - 1) * block_bytes > bytes);
        for (uint64_t k = 0; k < count && !p->is_wrong; k++) {
            STATUS_TRY(see(p, blocks_at + (first + k) * BINARY_BLOCK, BINARY_BLOCK, &entry));
            use(p, binary_number(entry, 2, is_big), binary_number(entry + 2, 4, is_big),
                block_bytes, bytes - k * block_bytes);
        }
    }
    return STATUS_OK;
}

/* Header, blocks, layers. Each block names the layer's next one; the last one -1. */
static enum status see_text(struct pcidsk *p, const struct segment *s)
{
    const unsigned char *entry;
    uint64_t at = s->at + SEGMENT_HEADER;
    int64_t n_seen = 0;
    STATUS_TRY(see(p, at, BLOCK, &entry));
    const int64_t n = text_number(entry + 10, 8), n_blocks = text_number(entry + 18, 8);
    p->is_wrong = p->is_wrong || n < 0 || n_blocks < 0;
    at += BLOCK;
    for (int64_t i = 0; i < n && !p->is_wrong; i++) {
        STATUS_TRY(
            see(p, at + (uint64_t)(n_blocks * TEXT_BLOCK + i * TEXT_LAYER), TEXT_LAYER, &entry));
        int64_t block = text_number(entry + 4, 8), bytes = text_number(entry + 12, 12);
        for (; block >= 0 && block < n_blocks && !p->is_wrong; bytes -= TEXT_TILE_BLOCK) {
            STATUS_TRY(see(p, at + (uint64_t)(block * TEXT_BLOCK), TEXT_BLOCK, &entry));
            p->is_wrong = p->is_wrong || bytes < 0 || n_seen++ == n_blocks;
            use(p, (uint64_t)text_number(entry, 4), (uint64_t)text_number(entry + 4, 8),
                TEXT_TILE_BLOCK, (uint64_t)bytes);
            block = text_number(entry + 20, 8);
        }
    }
    return STATUS_OK;
}

static enum status see_segments(struct pcidsk *p, uint64_t at)
{
    static const char *const directories[] = {"TileDir ", "SysBMDir"};
    const struct segment *found[2] = {NULL};
    const unsigned char *entry;
    for (size_t i = 0; i < p->n_segments; i++) {
        struct segment *const s = &p->segments[i];
        STATUS_TRY(see(p, at + i * POINTER, POINTER, &entry));
        const bool is_there = entry[0] == 'A' || entry[0] == 'L';
        const bool is_system = is_there && memcmp(entry + 1, "182", 3) == 0;
        const int64_t first = text_number(entry + 12, 11), blocks = text_number(entry + 23, 9);
        if (!is_there || first < 1 || blocks < 0) {
            continue;
        }
        s->at = (uint64_t)(first - 1) * BLOCK;
        s->bytes = (uint64_t)blocks * BLOCK;
        s->has_tiles = is_system && (memcmp(entry + 4, "TileData", 8) == 0 ||
                                     memcmp(entry + 4, "SysBData", 8) == 0);
        for (int k = 0; k < 2; k++) {
            found[k] = is_system && memcmp(entry + 4, directories[k], 8) == 0 ? s : found[k];
        }
        p->end = s->has_tiles ? p->end : greater(p->end, s->at + s->bytes);
    }
    p->is_wrong = p->is_wrong || (found[0] == NULL && found[1] == NULL);
    STATUS_TRY(found[0] != NULL ? see_binary(p, found[0]) : STATUS_OK);
    return found[1] != NULL ? see_text(p, found[1]) : STATUS_OK;
}

enum status gdal_pcidsk_least(struct source *s, size_t *least)
{
    static const char tiles[] = "FILE    "; /* or channels in files of their own */
    unsigned char header[HEADER];
    size_t n;
    *least = SIZE_MAX;
    STATUS_TRY(source_read_at(s, 0, header, sizeof header, &n));
    if (n < sizeof header) {
        return STATUS_OK;
    }
    const int64_t at = text_number(header + POINTERS_AT, 16);
    const int64_t n_pointers = text_number(header + POINTERS_AT + 16, 8) * (BLOCK / POINTER);
    *least = (size_t)text_number(header + BLOCKS_AT, 16) * BLOCK;
    if (source_file_bytes(s) >= *least || memcmp(header + 360, tiles, sizeof tiles - 1) != 0 ||
        at < 1 || n_pointers < 1 || n_pointers > MOST_SEGMENTS) {
        return STATUS_OK;
    }
    struct pcidsk *const p = calloc(1, sizeof *p);
    if (p == NULL) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(s));
    }
    p->source = s;
    p->n_segments = (size_t)n_pointers;
    const enum status st = see_segments(p, (uint64_t)(at - 1) * BLOCK);
    *least = p->is_wrong ? *least : p->end;
    free(p);
    return st;
}
