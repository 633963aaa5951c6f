/*
 * fuzz_deflate - any bytes in pieces of any lengths, at any level: what they are deflated to is
 * read back by zlib and by libdeflate, to the same bytes.
 */
#include "formats/pack/pack.h"
#include "tests/fuzz/fuzz_table.h"

#include <libdeflate.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LEVELS = 10, MOST_TIMES = 256 };

static void read_back(const struct bytes *packed, const struct bytes *raw)
{
    unsigned char *got = malloc(raw->len + 1);
    z_stream z = {.next_in = packed->data, .avail_in = (uInt)packed->len};
    fuzz_require(got != NULL && inflateInit2(&z, -15) == Z_OK);
    z.next_out = got;
    z.avail_out = (uInt)raw->len + 1;
    fuzz_require(inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_in == 0);
    fuzz_require(z.total_out == raw->len &&
                 (raw->len == 0 || memcmp(got, raw->data, raw->len) == 0));
    inflateEnd(&z);
    size_t n;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    fuzz_require(d != NULL);
    fuzz_require(libdeflate_deflate_decompress(d, packed->data, packed->len, got, raw->len + 1,
                                               &n) == LIBDEFLATE_SUCCESS);
    fuzz_require(n == raw->len && (n == 0 || memcmp(got, raw->data, n) == 0));
    libdeflate_free_decompressor(d);
    free(got);
}

/* data: level, lengths of the pieces, how often all that follows is repeated; and that. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct deflater *deflater;
    struct pack_piece piece = {0};
    struct bytes raw = {0}, packed = {0};
    if (size < 3) {
        return 0;
    }
    const size_t cut = 1 + (size_t)data[1] * data[1] * 16;
    fuzz_require(deflater_new(data[0] % LEVELS, &deflater) == STATUS_OK);
    fuzz_require(bytes_reserve(&raw, 1) == STATUS_OK); /* an address, also of no bytes */
    for (unsigned k = 0; k <= data[2] % MOST_TIMES; k++) {
        fuzz_require(bytes_append(&raw, data + 3, size - 3) == STATUS_OK);
    }
    size_t at = 0;
    bool last;
    do {
        const size_t n = raw.len - at < cut ? raw.len - at : cut;
        last = at + n == raw.len;
        fuzz_require(pack_deflate(deflater, PACK_GZIP, raw.data + at, n, last, &piece) ==
                     STATUS_OK);
        fuzz_require(bytes_append(&packed, piece.packed.data, piece.packed.len) == STATUS_OK);
        at += n;
    } while (!last);
    read_back(&packed, &raw);
    deflater_free(deflater);
    bytes_free(&piece.packed);
    bytes_free(&packed);
    bytes_free(&raw);
    return 0;
}
