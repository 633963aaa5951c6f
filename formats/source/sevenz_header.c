/*
 * sevenz_header - see sevenz_header.h. A file begins with the place and the size of its header. A
 * packed header is described there instead (7zFormat.txt of the LZMA SDK): one packed stream, taken
 * through coders of one input and one output, as 7-Zip, py7zr and libarchive write it; each coder
 * gives a size.
 */
#include "formats/source/sevenz_header.h"

#include "formats/base/io_watch.h"

#include <errno.h>
#include <string.h>

enum {
    START_OFFSET = 12,
    START_SIZE = 20,
    DESCRIPTION_BYTES = 1024, /* some 40 are usual */
    MOST_CODERS = 4,
    END = 0x00, /* what the format calls its parts */
    PACK_INFO = 0x06,
    CODERS_INFO = 0x07,
    SIZES = 0x09,
    CHECKSUMS = 0x0A,
    FOLDERS = 0x0B,
    UNPACKED_SIZES = 0x0C,
    PACKED_HEADER = 0x17,
    CODER_ID_BYTES = 0x0F, /* of a coder's first byte */
    CODER_HAS_PROPERTIES = 0x20,
    CODER_OTHER = 0xD0
};

struct reading {
    const unsigned char *at, *end;
    bool good; /* false from the first that is not there, or not what is wanted */
};

static void skip(struct reading *r, uint64_t n)
{
    r->good = r->good && n <= (uint64_t)(r->end - r->at);
    r->at += r->good ? n : 0;
}

static unsigned take_byte(struct reading *r)
{
    const unsigned char *const at = r->at;
    skip(r, 1);
    return r->good ? *at : 0;
}

/* The ones that a number's first byte begins with are the bytes behind it, the lowest first; the
 * bits below them are its highest. */
static uint64_t take_number(struct reading *r)
{
    const unsigned first = take_byte(r);
    uint64_t value = 0;
    unsigned n = 0;
    for (; n < 8 && (first & 0x80U >> n) != 0; n++) {
        value |= (uint64_t)take_byte(r) << 8 * n;
    }
    return n < 7 ? value | (uint64_t)(first & (0x7FU >> n)) << 8 * n : value;
}

static void want(struct reading *r, uint64_t found, uint64_t wanted)
{
    r->good = r->good && found == wanted;
}

/* The packed stream's place, size and checksum. */
static void pass_stream(struct reading *r)
{
    want(r, take_byte(r), PACK_INFO);
    (void)take_number(r);
    want(r, take_number(r), 1);
    want(r, take_byte(r), SIZES);
    (void)take_number(r);
    unsigned part = take_byte(r);
    if (part == CHECKSUMS) {
        want(r, take_byte(r), 1); /* there is one of each */
        skip(r, 4);
        part = take_byte(r);
    }
    want(r, part, END);
}

/* The largest size that one of its coders gives. */
static uint64_t take_unpacked_size(struct reading *r)
{
    want(r, take_byte(r), CODERS_INFO);
    want(r, take_byte(r), FOLDERS);
    want(r, take_number(r), 1);
    want(r, take_byte(r), 0); /* it is described here */
    const uint64_t n = take_number(r);
    r->good = r->good && n > 0 && n <= MOST_CODERS;
    for (uint64_t i = 0; r->good && i < n; i++) {
        const unsigned coder = take_byte(r);
        want(r, coder & CODER_OTHER, 0);
        skip(r, coder & CODER_ID_BYTES);
        skip(r, (coder & CODER_HAS_PROPERTIES) != 0 ? take_number(r) : 0);
    }
    for (uint64_t i = 1; r->good && i < n; i++) { /* which takes what from which */
        (void)take_number(r);
        (void)take_number(r);
    }
    want(r, take_byte(r), UNPACKED_SIZES);
    uint64_t most = 0;
    for (uint64_t i = 0; r->good && i < n; i++) {
        const uint64_t size = take_number(r);
        most = size > most ? size : most;
    }
    return most;
}

static uint64_t number_at(const unsigned char *at)
{
    uint64_t value = 0;
    for (unsigned i = 8; i-- > 0;) {
        value = value << 8 | at[i];
    }
    return value;
}

bool sevenz_is(const unsigned char *start, size_t n)
{
    return n >= SEVENZ_START_BYTES && memcmp(start, "7z\xbc\xaf\x27\x1c", 6) == 0;
}

enum status sevenz_header_bytes(int fd, const unsigned char *start, uint64_t *bytes)
{
    const uint64_t offset = number_at(start + START_OFFSET), size = number_at(start + START_SIZE);
    unsigned char text[DESCRIPTION_BYTES];
    int error = 0;
    *bytes = size;
    if (size == 0 || offset > INT64_MAX - SEVENZ_START_BYTES) { /* empty, damaged */
        return STATUS_OK;
    }
    const size_t n = io_watch_pread_all(fd, text, size < sizeof text ? (size_t)size : sizeof text,
                                        SEVENZ_START_BYTES + offset, &error);
    if (error != 0) {
        return status_fail_errno(error, "cannot be read");
    }
    struct reading r = {text, text + n, true};
    if (n == 0 || take_byte(&r) != PACKED_HEADER) {
        return STATUS_OK;
    }
    pass_stream(&r);
    const uint64_t unpacked = take_unpacked_size(&r);
    *bytes = unpacked > size ? unpacked : size;
    return r.good ? STATUS_OK
                  : status_fail(STATUS_BAD_INPUT, "its list of files is packed in an unusual way; "
                                                  "pack it again as .7z, or as .zip");
}
