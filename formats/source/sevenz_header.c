/*
 * sevenz_header - see sevenz_header.h. A file begins with the place and the size of its header. A
 * packed header is described there instead (7zFormat.txt of the LZMA SDK): one packed stream of
 * one coder, as 7-Zip, py7zr and libarchive write it. It is unpacked here, too, to be looked at.
 */
#include "formats/source/sevenz_header.h"

#include "formats/base/io_watch.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    START_OFFSET = 12,
    START_SIZE = 20,
    MOST_CODERS = 4,
    MOST_ENDS = 4,    /* inputs, and outputs, of a coder: BCJ2 has 4 and 1 */
    FOLDER_BYTES = 3, /* what one takes at least: two for a coder, one for its size */
    ENTRY_BYTES = 4,  /* likewise: its name and that name's end, in UTF-16 */
    END = 0x00,       /* what the format calls its parts */
    HEADER = 0x01,
    MAIN_STREAMS = 0x04,
    FILES = 0x05,
    PACK_INFO = 0x06,
    CODERS_INFO = 0x07,
    STREAMS_IN_FOLDERS = 0x08,
    SIZES = 0x09,
    CHECKSUMS = 0x0A,
    FOLDERS = 0x0B,
    UNPACKED_SIZES = 0x0C,
    NUMBERS_OF_STREAMS = 0x0D,
    PACKED_HEADER = 0x17,
    CODER_ID_BYTES = 0x0F, /* of a coder's first byte */
    CODER_HAS_ENDS = 0x10,
    CODER_HAS_PROPERTIES = 0x20,
    CODER_OTHER = 0xC0
};

struct reading {
    const unsigned char *at, *end;
    bool good;         /* false once something is missing, or is not what is expected there */
    bool lacks_memory; /* why it is not good */
};

/* What is packed together, and how. */
struct folder {
    uint64_t n_streams;
    unsigned n_outputs;
    bool has_checksum;
};

struct coder {
    const unsigned char *id, *properties;
    size_t id_bytes, n_properties;
};

struct streams {
    uint64_t n_packed, packed_at, packed_size; /* of the first; unpacked_size, too */
    uint64_t n_folders, unpacked_size;
    uint64_t n_coders;
    struct coder coder; /* the last one */
    bool is_encrypted;
    struct folder *folders;
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

static void want_room(struct reading *r, uint64_t n, uint64_t bytes_each)
{
    r->good = r->good && n <= (uint64_t)(r->end - r->at) / bytes_each;
}

/* A number of things, each of which takes some bytes of what follows. 0: not good. */
static uint64_t take_count(struct reading *r, uint64_t bytes_each)
{
    const uint64_t n = take_number(r);
    want_room(r, n, bytes_each);
    return r->good ? n : 0;
}

/* The checksums of n things, where `part` says that they follow, and the end of what they are in.
 * folders NULL: theirs they are not. */
static void pass_checksums(struct reading *r, unsigned part, uint64_t n, struct folder *folders)
{
    if (part == CHECKSUMS) {
        const bool has_all = take_byte(r) != 0;
        unsigned bits = 0xFF;
        uint64_t n_here = 0;
        for (uint64_t i = 0; i < n && r->good; i++) {
            bits = has_all || i % 8 != 0 ? bits : take_byte(r);
            const bool is_here = (bits & 0x80U >> i % 8) != 0;
            n_here += is_here;
            if (folders != NULL) {
                folders[i].has_checksum = is_here;
            }
        }
        skip(r, 4 * n_here);
        part = take_byte(r);
    }
    want(r, part, END);
}

static void pass_packed(struct reading *r, struct streams *s)
{
    s->packed_at = take_number(r);
    s->n_packed = take_count(r, 1);
    want(r, take_byte(r), SIZES);
    for (uint64_t i = 0; i < s->n_packed && r->good; i++) {
        const uint64_t size = take_number(r);
        s->packed_size = i == 0 ? size : s->packed_size;
    }
    pass_checksums(r, take_byte(r), s->n_packed, NULL);
}

static unsigned take_ends(struct reading *r)
{
    const unsigned n = take_byte(r);
    r->good = r->good && n <= MOST_ENDS;
    return n;
}

static void pass_folder(struct reading *r, struct streams *s, struct folder *f)
{
    unsigned n_inputs = 0;
    f->n_streams = 1;
    s->n_coders = take_number(r);
    r->good = r->good && s->n_coders <= MOST_CODERS;
    for (uint64_t i = 0; r->good && i < s->n_coders; i++) {
        const unsigned first = take_byte(r);
        const bool has_ends = (first & CODER_HAS_ENDS) != 0;
        want(r, first & CODER_OTHER, 0);
        s->coder = (struct coder){.id = r->at, .id_bytes = first & CODER_ID_BYTES};
        skip(r, s->coder.id_bytes);
        n_inputs += has_ends ? take_ends(r) : 1;
        f->n_outputs += has_ends ? take_ends(r) : 1;
        s->coder.n_properties = (first & CODER_HAS_PROPERTIES) != 0 ? take_count(r, 1) : 0;
        s->coder.properties = r->at;
        skip(r, s->coder.n_properties);
        s->is_encrypted = s->is_encrypted || (r->good && s->coder.id_bytes == 4 &&
                                              memcmp(s->coder.id, "\x06\xf1\x07\x01", 4) == 0);
    }
    r->good = r->good && f->n_outputs > 0 && n_inputs + 1 >= f->n_outputs;
    for (unsigned i = 1; r->good && i < f->n_outputs; i++) { /* which takes what from which */
        (void)take_number(r);
        (void)take_number(r);
        n_inputs--;
    }
    for (unsigned i = 0; r->good && n_inputs != 1 && i < n_inputs; i++) { /* which packed stream */
        (void)take_number(r);
    }
}

static void pass_folders(struct reading *r, struct streams *s)
{
    want(r, take_byte(r), FOLDERS);
    s->n_folders = take_count(r, FOLDER_BYTES);
    want(r, take_byte(r), 0); /* they are described here */
    s->folders = calloc(s->n_folders + 1, sizeof *s->folders);
    r->lacks_memory = s->folders == NULL;
    r->good = r->good && !r->lacks_memory;
    for (uint64_t i = 0; r->good && i < s->n_folders; i++) {
        pass_folder(r, s, &s->folders[i]);
    }
    want(r, take_byte(r), UNPACKED_SIZES);
    for (uint64_t i = 0; r->good && i < s->n_folders; i++) {
        for (unsigned k = 0; r->good && k < s->folders[i].n_outputs; k++) {
            const uint64_t size = take_number(r);
            s->unpacked_size = i + k == 0 ? size : s->unpacked_size;
        }
    }
    pass_checksums(r, take_byte(r), s->n_folders, s->folders);
}

static void pass_streams_in_folders(struct reading *r, struct streams *s)
{
    unsigned part = take_byte(r);
    uint64_t n_all = 0, n_checksums = 0;
    for (uint64_t i = 0; r->good && part == NUMBERS_OF_STREAMS && i < s->n_folders; i++) {
        s->folders[i].n_streams = take_count(r, ENTRY_BYTES);
        n_all += s->folders[i].n_streams;
        want_room(r, n_all, ENTRY_BYTES);
    }
    part = part == NUMBERS_OF_STREAMS ? take_byte(r) : part;
    for (uint64_t i = 0; r->good && i < s->n_folders; i++) {
        const struct folder *const f = &s->folders[i];
        for (uint64_t k = 1; r->good && part == SIZES && k < f->n_streams; k++) {
            (void)take_number(r);
        }
        n_checksums += f->n_streams == 1 && f->has_checksum ? 0 : f->n_streams;
    }
    pass_checksums(r, part == SIZES ? take_byte(r) : part, n_checksums, NULL);
}

/* s->folders is the caller's to free. */
static void pass_streams(struct reading *r, struct streams *s)
{
    static void (*const passes[])(struct reading *, struct streams *) = {pass_packed, pass_folders,
                                                                         pass_streams_in_folders};
    unsigned part = take_byte(r);
    for (unsigned i = 0; r->good && i < sizeof passes / sizeof passes[0]; i++) {
        if (part == PACK_INFO + i) {
            passes[i](r, s);
            part = take_byte(r);
        }
    }
    want(r, part, END);
}

/* Up to the number of files: what follows is kept once, or once a file. */
static void pass_header(struct reading *r)
{
    struct streams s = {0};
    want(r, take_byte(r), HEADER);
    unsigned part = take_byte(r);
    if (part == MAIN_STREAMS) {
        pass_streams(r, &s);
        free(s.folders);
        part = take_byte(r);
    }
    if (part == FILES) {
        (void)take_count(r, ENTRY_BYTES);
    } else {
        want(r, part, END);
    }
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

static enum status fail_damaged(void)
{
    return status_fail(STATUS_BAD_INPUT, "is damaged or incomplete");
}

static enum status fail_unusual(const struct reading *r)
{
    return r->lacks_memory ? status_fail(STATUS_NO_MEMORY, "no memory for its list of files")
                           : status_fail(STATUS_BAD_INPUT,
                                         "its list of files is damaged or written in an unusual "
                                         "way; pack it again as .7z, or as .zip");
}

static enum status make_room(uint64_t size, uint64_t most, unsigned char **out)
{
    if (size > most || size > PTRDIFF_MAX) {
        return status_fail(STATUS_TOO_LARGE, "its list of files is too large");
    }
    *out = malloc(size + 1);
    return *out != NULL ? STATUS_OK
                        : status_fail(STATUS_NO_MEMORY, "no memory for its list of files");
}

/* size bytes at an offset behind the start; owned by the caller, also after a failure. */
static enum status read_part(int fd, uint64_t offset, uint64_t size, uint64_t most,
                             unsigned char **out)
{
    struct stat st;
    int error = 0;
    if (fstat(fd, &st) != 0) {
        return status_fail_errno(errno, "cannot be read");
    }
    const uint64_t n = (uint64_t)st.st_size - SEVENZ_START_BYTES;
    if (st.st_size < SEVENZ_START_BYTES || offset > n || size > n - offset) {
        return fail_damaged();
    }
    STATUS_TRY(make_room(size, most, out));
    const size_t got = io_watch_pread_all(fd, *out, size, SEVENZ_START_BYTES + offset, &error);
    return error != 0   ? status_fail_errno(error, "cannot be read")
           : got < size ? fail_damaged()
                        : STATUS_OK;
}

/* Whether all of it comes out. The decoder need look back no further than to its begin. */
static bool decode(const struct streams *s, const unsigned char *packed, unsigned char *out)
{
    const struct coder *const c = &s->coder;
    const bool is_lzma2 = c->id_bytes == 1 && c->id[0] == 0x21;
    lzma_filter filters[] = {{.id = is_lzma2 ? LZMA_FILTER_LZMA2 : LZMA_FILTER_LZMA1},
                             {.id = LZMA_VLI_UNKNOWN}};
    lzma_stream x = LZMA_STREAM_INIT;
    if (!is_lzma2 && (c->id_bytes != 3 || memcmp(c->id, "\x03\x01\x01", 3) != 0)) {
        return false;
    }
    if (lzma_properties_decode(filters, NULL, c->properties, c->n_properties) != LZMA_OK) {
        return false;
    }
    lzma_options_lzma *const options = filters[0].options;
    if (options->dict_size > s->unpacked_size) {
        options->dict_size = (uint32_t)s->unpacked_size;
    }
    x.next_in = packed;
    x.avail_in = s->packed_size;
    x.next_out = out;
    x.avail_out = s->unpacked_size;
    lzma_ret result = lzma_raw_decoder(&x, filters);
    result = result == LZMA_OK ? lzma_code(&x, LZMA_FINISH) : result;
    lzma_end(&x);
    free(options);
    return (result == LZMA_OK || result == LZMA_STREAM_END) && x.avail_out == 0;
}

/* Goes on in the header that r describes, unpacked into *out, which is the caller's to free. */
static enum status unpack(int fd, uint64_t most, struct reading *r, unsigned char **out)
{
    struct streams s = {0};
    unsigned char *packed = NULL;
    pass_streams(r, &s);
    free(s.folders);
    if (r->good && s.is_encrypted) {
        return status_fail(STATUS_UNSUPPORTED, "is encrypted, and leat takes no passwords");
    }
    if (!r->good || s.n_packed != 1 || s.n_folders != 1 || s.n_coders != 1) {
        return fail_unusual(r);
    }
    enum status code = make_room(s.unpacked_size, most, out);
    code = code == STATUS_OK ? read_part(fd, s.packed_at, s.packed_size, most, &packed) : code;
    if (code == STATUS_OK && !decode(&s, packed, *out)) {
        code = fail_unusual(r);
    }
    free(packed);
    if (code == STATUS_OK) {
        *r = (struct reading){*out, *out + s.unpacked_size, true, false};
    }
    return code;
}

enum status sevenz_check_header(int fd, const unsigned char *start, uint64_t most)
{
    const uint64_t size = number_at(start + START_SIZE);
    unsigned char *header = NULL, *unpacked = NULL;
    if (size == 0) {
        return STATUS_OK;
    }
    enum status code = read_part(fd, number_at(start + START_OFFSET), size, most, &header);
    if (code == STATUS_OK) {
        struct reading r = {header, header + size, true, false};
        if (header[0] == PACKED_HEADER) {
            skip(&r, 1);
            code = unpack(fd, most, &r, &unpacked);
        }
        if (code == STATUS_OK) {
            pass_header(&r);
            code = r.good ? STATUS_OK : fail_unusual(&r);
        }
    }
    free(unpacked);
    free(header);
    return code;
}
