/*
 * tif_deflate - is the deflate stream of a strip or tile whole, and may libtiff unpack it?
 *
 * libtiff unpacks through libdeflate, takes its "there is more than fits" for a success, and then
 * leaves up to 257 bytes at the end as they were, without a look at the checksum (4.5.0,
 * ZIPDecode). Damage that makes a stream longer would pass as data. So zlib reads the stream first,
 * to its checksum, and counts. Some programs write the last strip in full, beyond the image's last
 * row: of such a one, zlib unpacks the beginning.
 */
#include "formats/base/io_watch.h"
#include "formats/table/tif.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

enum { PIECE_BYTES = 1 << 14 };

struct stream {
    z_stream z;
    struct tif_handle *h;
    uint64_t at, left; /* of the file, not yet read */
    bool reversed;     /* the bits of each byte */
    unsigned char in[PIECE_BYTES], out[2 * PIECE_BYTES];
};

static bool refill(struct stream *s)
{
    const size_t n = s->left < PIECE_BYTES ? (size_t)s->left : PIECE_BYTES;
    ssize_t got;
    do {
        got = io_watch_pread(s->h->fd, s->in, n, (off_t)s->at);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        s->h->error = errno;
    }
    if (got <= 0) {
        return false;
    }
    if (s->reversed) {
        TIFFReverseBits(s->in, got);
    }
    s->at += (uint64_t)got;
    s->left -= (uint64_t)got;
    s->z.next_in = s->in;
    s->z.avail_in = (uInt)got;
    return true;
}

/* Unpacks until the end, or beyond `most` bytes; true: to the end, with the right checksum. */
static bool unpack(struct stream *s, uint64_t most)
{
    int state = Z_OK;
    while (state == Z_OK && s->z.total_out <= most) {
        if (s->z.avail_in == 0 && (s->left == 0 || !refill(s))) {
            return false;
        }
        s->z.next_out = s->out;
        s->z.avail_out = sizeof s->out;
        state = inflate(&s->z, Z_NO_FLUSH);
    }
    return state == Z_STREAM_END;
}

const char *tif_prepare_deflate(struct tif_handle *h, uint32_t strile, uint64_t least,
                                uint64_t most)
{
    struct stream s = {.h = h,
                       .at = TIFFGetStrileOffset(h->tif, strile),
                       .left = TIFFGetStrileByteCount(h->tif, strile)};
    uint16_t order = FILLORDER_MSB2LSB;
    TIFFGetFieldDefaulted(h->tif, TIFFTAG_FILLORDER, &order);
    s.reversed = order == FILLORDER_LSB2MSB;
    if (inflateInit(&s.z) != Z_OK) {
        h->error = ENOMEM;
        return "no memory to unpack it";
    }
    const bool whole = unpack(&s, most);
    const char *const complaint = s.z.msg != NULL ? s.z.msg : "it ends too early";
    const uint64_t n = s.z.total_out;
    (void)inflateEnd(&s.z);
    TIFFSetField(h->tif, TIFFTAG_DEFLATE_SUBCODEC,
                 n > least ? DEFLATE_SUBCODEC_ZLIB : DEFLATE_SUBCODEC_LIBDEFLATE);
    return n > most    ? "it unpacks to more than its size"
           : !whole    ? complaint
           : n < least ? "it unpacks to less than its size"
                       : NULL;
}
