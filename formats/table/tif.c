/*
 * tif - GeoTIFF grids as tables, through libtiff.
 *
 * A band is so many rows that whole strips, or whole rows of tiles, hold them. libtiff reads
 * through our descriptor, allocates within a bound, and says what is wrong to us alone, never to
 * stderr or to a handler of the process.
 *
 * Directories are looked at before libtiff does, which keeps the values of every tag: each as large
 * as it says it is, and several may say that they lie in the same bytes. What the first one claims
 * (size, samples, strips or tiles) is compared with what the file can hold.
 *
 * libtiff unpacks deflate streams through libdeflate, takes its "there is more than fits" for a
 * success, and then leaves up to 257 bytes at the end as they were, without a look at the checksum
 * (4.5.0, ZIPDecode). Damage that makes a stream longer would pass as data. So ISA-L unpacks the
 * stream, to its checksum, and counts. Some programs write the last strip in full, beyond the
 * image's last row: of such a one the beginning is taken.
 *
 * What predictors have left is put together here, as TIFF 6.0 and Adobe Photoshop TIFF Technical
 * Note 3 say: 2, each number as the difference to the one before in its row, modulo two to its
 * bits; 3, of floats, the rows' first bytes, then their second ones and so on, the most significant
 * first in files of either byte order, each as the difference to the byte before.
 *
 * Sources: TIFF 6.0; BigTIFF (Aware Systems); OGC GeoTIFF 1.1; GDAL's tags 42112 and 42113 (GeoTIFF
 * driver, "Nodata value", "Sparse files").
 */
#include "formats/base/checked.h"
#include "formats/base/decimal.h"
#include "formats/base/io_watch.h"
#include "formats/geo/tiff_tags.h"
#include "formats/table/foreign.h"
#include "formats/table/table_bands.h"

#include <errno.h>
#include <inttypes.h>
#include <isa-l.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

/* How the samples lie in the file. A strile is a strip or a tile. */
struct tif_shape {
    size_t rows, columns;
    enum table_kind kind;
    size_t sample_bytes;                     /* 1, 2, 4, 8; floats 2, 4, 8 */
    uint16_t scheme, predictor;              /* how they are compressed */
    bool tiled, deflated, swapped, reversed; /* swapped: not in this machine's byte order;
                                           reversed: the bits of each byte as stored */
    size_t strile_rows, strile_columns;      /* strips: strile_columns = columns */
    size_t striles_across, striles_down;
    size_t strile_bytes;   /* decoded; all columns and rows of a tile */
    size_t tile_bytes;     /* decoded, of a tile: without rows below an image that is lower */
    size_t packed_bytes;   /* the most that is read of one as stored */
    size_t band_striles;   /* rows of striles in a band */
    size_t band_rows;      /* = band_striles * strile_rows */
    size_t handle_bytes;   /* the most that a handle holds: codec, stored strile, tile, directory */
    unsigned char fill[8]; /* a sample of what the file does not store (sparse striles) */
};

/* One open handle and what its callbacks need. */
struct tif_handle {
    struct table_handle base;
    TIFF *tif;
    int fd; /* borrowed */
    uint64_t file_bytes, at;
    int error;           /* errno of a read that failed */
    char first[200];     /* libtiff's first complaint since forget() */
    char lost[200];      /* what it says of a tag of ours that it could not read */
    unsigned char *tile; /* [tile_bytes], when tiled and used */
    struct inflate_state inflate;
};

/* The state of a GeoTIFF table. */
struct tif {
    struct table_bands bands;
    struct tif_shape shape;
    struct grid *grid;
};

/* --- directories ------------------------------------------------------------------------------ */

enum {
    HEADER_BYTES = 16,
    ENTRY_BYTES = 20, /* at most */
    MOST_DIRECTORIES = 65,
    MOST_ENTRIES = 4096,        /* libtiff refuses more */
    MOST_VALUE_BYTES = 32 << 20 /* places of four million strips or tiles */
};

struct walk {
    const struct source *source;
    bool is_little, is_big;
    uint64_t at; /* the directory; 0: there is none */
};

static uint64_t number(const struct walk *w, const unsigned char *p, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        value = value << 8 | p[w->is_little ? n - 1 - i : i];
    }
    return value;
}

/* False: the file has not so many, or they cannot be read; libtiff says so. */
static bool read_at(const struct walk *w, uint64_t at, unsigned char *to, size_t n)
{
    int error;
    return at <= INT64_MAX && io_watch_pread_all(source_fd(w->source), to, n, at, &error) == n &&
           error == 0;
}

static bool begin(const struct source *s, struct walk *w)
{
    unsigned char header[HEADER_BYTES] = {0};
    *w = (struct walk){.source = s};
    if (!read_at(w, 0, header, 8)) {
        return false;
    }
    w->is_little = header[0] == 'I';
    w->is_big = number(w, header + 2, 2) == 43;
    if (w->is_big && !read_at(w, 0, header, HEADER_BYTES)) {
        return false;
    }
    w->at = w->is_big ? number(w, header + 8, 8) : number(w, header + 4, 4);
    return true;
}

/* Bytes of a directory's values; SIZE_MAX: more than a number can say. Goes to the next one; false:
 * it cannot be read to its end. */
static bool look(struct walk *w, size_t *bytes)
{
    const size_t count_bytes = w->is_big ? 8 : 2, entry_bytes = w->is_big ? 20 : 12;
    const size_t place_bytes = w->is_big ? 8 : 4;
    unsigned char text[ENTRY_BYTES];
    *bytes = 0;
    if (!read_at(w, w->at, text, count_bytes)) {
        return false;
    }
    const uint64_t n = number(w, text, count_bytes);
    uint64_t at = w->at + count_bytes;
    for (uint64_t i = 0; i < n; i++, at += entry_bytes) {
        if (i >= MOST_ENTRIES || !read_at(w, at, text, entry_bytes)) {
            return false;
        }
        const int width = tiff_tags_is_number((unsigned)number(w, text, 2))
                              ? 8
                              : TIFFDataWidth((TIFFDataType)number(w, text + 2, 2)); /* or 0 */
        size_t value;
        if (!checked_mul((size_t)number(w, text + 4, place_bytes), (size_t)width, &value) ||
            !checked_add(*bytes, value, bytes)) {
            *bytes = SIZE_MAX;
        }
    }
    if (!read_at(w, at, text, place_bytes)) {
        return false;
    }
    w->at = number(w, text, place_bytes);
    return true;
}

/* Whether the values of the tags of each directory, which libtiff keeps, are of a size that it may
 * see; *bytes: of the first one. STATUS_TOO_LARGE; what cannot be read is left to libtiff. */
static enum status check_directories(const struct source *s, size_t *bytes)
{
    struct walk w;
    *bytes = 0;
    if (!begin(s, &w)) {
        return STATUS_OK;
    }
    for (int i = 0; i < MOST_DIRECTORIES && w.at != 0; i++) {
        const uint64_t at = w.at;
        size_t n;
        const bool whole = look(&w, &n);
        *bytes = i == 0 ? n : *bytes;
        if (n > MOST_VALUE_BYTES) {
            char what[160];
            snprintf(what, sizeof what,
                     "byte %" PRIu64 ": the tags of this directory claim %zu bytes, %d are read at "
                     "most; write the grid again",
                     at, n, MOST_VALUE_BYTES);
            return foreign_fail_with(STATUS_TOO_LARGE, source_name(s), what,
                                     "gdal_translate IN OUT.tif");
        }
        if (!whole) {
            break;
        }
    }
    return STATUS_OK;
}

/* --- libtiff ---------------------------------------------------------------------------------- */

/* A failure leaves h->error, and not -1: libtiff adds up what it gets, and would write in front of
 * its buffer. */
static tmsize_t read_file(thandle_t handle, void *dst, tmsize_t n)
{
    struct tif_handle *const h = handle;
    int error;
    const size_t done = io_watch_pread_all(h->fd, dst, (size_t)n, h->at, &error);
    h->error = error != 0 ? error : h->error;
    h->at += done;
    return (tmsize_t)done;
}

static tmsize_t refuse_write(thandle_t handle, void *src, tmsize_t n)
{
    (void)handle;
    (void)src;
    (void)n;
    return -1;
}

static toff_t seek_file(thandle_t handle, toff_t offset, int whence)
{
    struct tif_handle *const h = handle;
    const uint64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? h->at : h->file_bytes;
    h->at = base + offset;
    if (h->at > INT64_MAX) {
        h->at = 0;
        return (toff_t)-1;
    }
    return h->at;
}

static int close_nothing(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t file_size(thandle_t handle)
{
    const struct tif_handle *const h = handle;
    return h->file_bytes;
}

static int note_error(TIFF *tif, void *user, const char *module, const char *format, va_list args)
{
    struct tif_handle *const h = user;
    (void)tif;
    (void)module;
    if (h->first[0] == '\0') {
        (void)vsnprintf(h->first, sizeof h->first, format, args);
    }
    return 1; /* handled */
}

/* Warnings are of no interest, but for those of a tag of ours that was left out (a place or a
 * NODATA must not be lost in silence) and those of JPEG, which are of damage: cells that the stream
 * does not have are left as they were. */
static int note_warning(TIFF *tif, void *user, const char *module, const char *format, va_list args)
{
    struct tif_handle *const h = user;
    char text[sizeof h->lost];
    (void)tif;
    (void)vsnprintf(text, sizeof text, format, args);
    if (module != NULL && strncmp(module, "JPEG", 4) == 0 && h->first[0] == '\0') {
        memcpy(h->first, text, sizeof text);
    }
    if (tiff_tags_names_one(text) && strstr(text, "ignored") != NULL) {
        memcpy(h->lost, text, sizeof text);
    }
    return 1;
}

static TIFF *open_tiff(struct tif_handle *h, TIFFOpenOptions *options)
{
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, TABLE_BAND_MOST_BYTES);
    TIFFOpenOptionsSetErrorHandlerExtR(options, note_error, h);
    TIFFOpenOptionsSetWarningHandlerExtR(options, note_warning, h);
    /* m: no mapping */
    return TIFFClientOpenExt("tif", "rm", h, read_file, refuse_write, seek_file, close_nothing,
                             file_size, NULL, NULL, options);
}

static void free_handle(struct table_handle *base)
{
    struct tif_handle *const h = (struct tif_handle *)base;
    if (h->tif != NULL) {
        TIFFClose(h->tif);
    }
    free(h->tile);
    free(h);
}

/* The status for a call of libtiff that failed: `what` is a file's name and place. */
static enum status fail(const struct tif_handle *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum status fail(const struct tif_handle *h, const char *format, ...)
{
    char what[STATUS_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (h->error != 0) {
        return status_fail_errno(h->error, "%s", what);
    }
    if (h->first[0] == '\0') {
        return status_fail(STATUS_BAD_INPUT, "%s", what);
    }
    return status_fail(STATUS_BAD_INPUT, "%s: libtiff says: %s", what,
                       excerpt_of(h->first, strlen(h->first)).text);
}

static void forget(struct tif_handle *h)
{
    h->error = 0;
    h->first[0] = '\0';
}

/* Opens the first image's directory. STATUS_BAD_INPUT, _NO_MEMORY, _IO. */
static enum status open_handle(const struct table *t, struct table_handle **out)
{
    const struct source *const s = t->source;
    *out = NULL;
    struct tif_handle *const h = calloc(1, sizeof *h);
    TIFFOpenOptions *const options = TIFFOpenOptionsAlloc();
    if (h == NULL || options == NULL) {
        free(h);
        TIFFOpenOptionsFree(options);
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(s));
    }
    h->fd = source_fd(s);
    h->file_bytes = source_file_bytes(s);
    tiff_tags_know();
    h->tif = open_tiff(h, options);
    TIFFOpenOptionsFree(options);
    if (h->tif != NULL && !tiff_tags_are_known(h->tif)) {
        h->error = ENOMEM;
    }
    if (h->tif == NULL || h->error == ENOMEM) {
        const enum status st = fail(h, "%s: is not a readable TIFF", source_name(s));
        free_handle(&h->base);
        return st;
    }
    forget(h);
    *out = &h->base;
    return STATUS_OK;
}

/* --- what a directory claims ------------------------------------------------------------------ */

/* What grids are compressed with; to how many bytes one may unpack at most (0: any number); how
 * many times a decoded strile the codec holds itself. Codecs for bilevel pictures and photographs
 * in colour are left alone. LZW: a code of 9 bits or more stands for at most 3838 bytes; PackBits:
 * 2 bytes for 128. LZMA and Zstandard keep what they refer back to; LERC a copy, unpacked and
 * packed by another codec, a mask, and its own arrays; progressive JPEG two bytes of coefficients a
 * cell. */
struct codec {
    uint16_t scheme;
    uint32_t ratio;
    uint32_t copies;
};
static const struct codec codecs[] = {
    {COMPRESSION_NONE, 1, 0},
    {COMPRESSION_LZW, 3838, 0},
    {COMPRESSION_PACKBITS, 64, 0},
    {COMPRESSION_ADOBE_DEFLATE, DEFLATE_MAX_RATIO, 0},
    {COMPRESSION_DEFLATE, DEFLATE_MAX_RATIO, 0},
    {COMPRESSION_LZMA, 0, 1},
    {COMPRESSION_ZSTD, 0, 1},
    {COMPRESSION_LERC, 0, 6},
    {COMPRESSION_JPEG, 0, 3},
};

enum {
    LEAST_TILE_ROWS = 16,    /* in TIFF, a tile's sides are multiples of 16 */
    CODEC_STATE = 512 << 10, /* tables and buffers of any codec, whatever the strile */
    STRILE_ENTRY = 3 * 8,    /* of libtiff's directory: offset, size, and one as it was read */
    JPEG_EDGE = 16           /* its blocks are whole beyond the image */
};

/* The directory's numbers as the file gives them. */
struct directory {
    uint32_t columns, rows, strile_rows, strile_columns;
    uint16_t bits, samples, format, scheme, predictor, fill_order;
};

static void read_directory(TIFF *tif, struct directory *d)
{
    *d = (struct directory){.samples = 1, .predictor = PREDICTOR_NONE};
    TIFFGetField(tif, TIFFTAG_IMAGEWIDTH, &d->columns);
    TIFFGetField(tif, TIFFTAG_IMAGELENGTH, &d->rows);
    TIFFGetFieldDefaulted(tif, TIFFTAG_BITSPERSAMPLE, &d->bits);
    TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLESPERPIXEL, &d->samples);
    TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLEFORMAT, &d->format);
    TIFFGetFieldDefaulted(tif, TIFFTAG_COMPRESSION, &d->scheme);
    TIFFGetField(tif, TIFFTAG_PREDICTOR, &d->predictor);
    TIFFGetFieldDefaulted(tif, TIFFTAG_FILLORDER, &d->fill_order);
    if (TIFFIsTiled(tif)) {
        TIFFGetField(tif, TIFFTAG_TILEWIDTH, &d->strile_columns);
        TIFFGetField(tif, TIFFTAG_TILELENGTH, &d->strile_rows);
    } else {
        TIFFGetFieldDefaulted(tif, TIFFTAG_ROWSPERSTRIP, &d->strile_rows);
        d->strile_columns = d->columns;
        d->strile_rows = d->strile_rows < d->rows ? d->strile_rows : d->rows;
    }
}

static enum status check_samples(const char *name, const struct directory *d, struct tif_shape *s)
{
    if (d->samples != 1) {
        return status_fail(STATUS_UNSUPPORTED,
                           "%s: has %d bands, a grid has one; choose it: gdal_translate -b 1", name,
                           d->samples);
    }
    const bool whole = d->bits == 8 || d->bits == 16 || d->bits == 32 || d->bits == 64;
    switch (d->format) {
    case SAMPLEFORMAT_UINT:
    case SAMPLEFORMAT_VOID:
        s->kind = TABLE_UINT;
        break;
    case SAMPLEFORMAT_INT:
        s->kind = TABLE_INT;
        break;
    case SAMPLEFORMAT_IEEEFP:
        s->kind = TABLE_FLOAT;
        break;
    default:
        return status_fail(STATUS_UNSUPPORTED, "%s: its samples are complex numbers", name);
    }
    if (!whole || (s->kind == TABLE_FLOAT && d->bits == 8)) {
        return status_fail(STATUS_UNSUPPORTED,
                           "%s: its samples have %d bits, not 8, 16, 32 or 64; convert it: "
                           "gdal_translate -ot Float32",
                           name, d->bits);
    }
    if (d->predictor != PREDICTOR_NONE && d->predictor != PREDICTOR_HORIZONTAL &&
        (d->predictor != PREDICTOR_FLOATINGPOINT || s->kind != TABLE_FLOAT)) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: its directory claims predictor %d, which %s have not", name,
                           d->predictor, s->kind == TABLE_FLOAT ? "floats" : "whole numbers");
    }
    s->sample_bytes = d->bits / 8U;
    return STATUS_OK;
}

static enum status find_codec(const char *name, uint16_t scheme, const struct codec **out)
{
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        if (codecs[i].scheme == scheme && TIFFIsCODECConfigured(scheme)) {
            *out = &codecs[i];
            return STATUS_OK;
        }
    }
    const TIFFCodec *const codec = TIFFFindCODEC(scheme);
    return status_fail(STATUS_UNSUPPORTED,
                       "%s: its compression, %d (%s), is not supported; convert it: "
                       "gdal_translate -co COMPRESS=DEFLATE",
                       name, scheme, codec != NULL ? codec->name : "unknown");
}

/* Fills in what follows from the numbers; all sizes are bounded before anything is allocated. */
static enum status lay_out(const char *name, const struct directory *d, struct tif_shape *s)
{
    size_t band_bytes;
    if (d->columns == 0 || d->rows == 0 || d->strile_rows == 0 || d->strile_columns == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: its directory claims no cells", name);
    }
    s->rows = d->rows;
    s->columns = d->columns;
    s->strile_rows = d->strile_rows;
    s->strile_columns = d->strile_columns;
    s->striles_across = (s->columns - 1) / s->strile_columns + 1;
    s->striles_down = (s->rows - 1) / s->strile_rows + 1;
    if (!checked_mul(s->strile_rows, s->strile_columns, &s->strile_bytes) ||
        !checked_mul(s->strile_bytes, s->sample_bytes, &s->strile_bytes) ||
        !checked_mul(s->columns, s->sample_bytes * s->strile_rows, &band_bytes) ||
        s->strile_bytes > TABLE_BAND_MOST_BYTES || band_bytes > TABLE_BAND_MOST_BYTES) {
        return status_fail(
            STATUS_TOO_LARGE,
            "%s: a row of its %s, of %u x %u cells each, unpacks to more than %d MiB; %s", name,
            s->tiled ? "tiles" : "strips", d->strile_rows, d->strile_columns,
            TABLE_BAND_MOST_BYTES >> 20,
            d->strile_rows > LEAST_TILE_ROWS
                ? "rewrite it: gdal_translate -co TILED=YES -co BLOCKYSIZE=16"
                : "cut it into narrower ones: gdal_translate -srcwin");
    }
    s->band_striles = TABLE_BAND_BYTES / band_bytes > 0 ? TABLE_BAND_BYTES / band_bytes : 1;
    if (s->band_striles > s->striles_down) {
        s->band_striles = s->striles_down;
    }
    s->band_rows = s->band_striles * s->strile_rows;
    s->tile_bytes =
        s->striles_down > 1 || s->scheme == COMPRESSION_NONE /* those are read without a copy */
            ? s->strile_bytes
            : s->rows * s->strile_columns * s->sample_bytes;
    return STATUS_OK;
}

/* What a handle holds at most. */
static size_t handle_bytes(const struct directory *d, const struct codec *codec,
                           const struct tif_shape *s)
{
    const size_t edge = d->scheme == COMPRESSION_JPEG ? JPEG_EDGE : 0;
    const size_t cells = (s->strile_rows + edge) * (s->strile_columns + edge);
    const size_t row = d->predictor == PREDICTOR_NONE ? 0 : s->strile_columns * s->sample_bytes;
    return CODEC_STATE + STRILE_ENTRY * s->striles_across * s->striles_down +
           codec->copies * cells * s->sample_bytes + row +
           (s->scheme == COMPRESSION_NONE ? 0 : s->packed_bytes) + (s->tiled ? s->tile_bytes : 0);
}

/* Does every strip or tile lie in the file, and can it unpack to what is claimed? *largest: bytes
 * of the largest one as stored. */
static enum status check_striles(const char *name, struct tif_handle *h, const struct tif_shape *s,
                                 uint32_t ratio, uint64_t *largest)
{
    *largest = 0;
    const uint64_t n = (uint64_t)s->striles_across * s->striles_down;
    const char *const what = s->tiled ? "tile" : "strip";
    const uint64_t has = s->tiled ? TIFFNumberOfTiles(h->tif) : TIFFNumberOfStrips(h->tif);
    if (has != n) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: its directory names %" PRIu64 " %ss where its size needs %" PRIu64,
                           name, has, what, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        int failed = 0;
        const uint64_t offset = TIFFGetStrileOffsetWithErr(h->tif, i, &failed);
        const uint64_t bytes = failed ? 0 : TIFFGetStrileByteCountWithErr(h->tif, i, &failed);
        if (failed) {
            return fail(h, "%s: the place of %s %u cannot be read", name, what, i);
        }
        if (bytes == 0) {
            continue; /* not stored: all of it is NODATA */
        }
        if (bytes > h->file_bytes || offset > h->file_bytes - bytes) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: byte %" PRIu64 ": %s %u of %" PRIu64
                               " bytes goes beyond the file's %" PRIu64
                               "; it was cut short or its directory is wrong",
                               name, offset, what, i, bytes, h->file_bytes);
        }
        const size_t left = s->rows - i / s->striles_across * s->strile_rows;
        const size_t rows = !s->tiled && left < s->strile_rows ? left : s->strile_rows;
        const uint64_t claimed = (uint64_t)rows * s->strile_columns * s->sample_bytes;
        if (ratio > 0 && claimed > bytes * ratio) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: byte %" PRIu64 ": %s %u cannot unpack from %" PRIu64
                               " to the %" PRIu64 " bytes that its directory claims",
                               name, offset, what, i, bytes, claimed);
        }
        *largest = bytes > *largest ? bytes : *largest;
    }
    return STATUS_OK;
}

/* Reads the directory: *shape, checked against the file's size. */
static enum status read_shape(const struct table *t, struct tif_handle *h, struct tif_shape *shape)
{
    const char *const name = source_name(t->source);
    struct directory d;
    const struct codec *codec = NULL;
    uint64_t largest = 0;
    read_directory(h->tif, &d);
    *shape = (struct tif_shape){.scheme = d.scheme,
                                .deflated = d.scheme == COMPRESSION_DEFLATE ||
                                            d.scheme == COMPRESSION_ADOBE_DEFLATE,
                                .tiled = TIFFIsTiled(h->tif) != 0,
                                .reversed = d.fill_order == FILLORDER_LSB2MSB,
                                .predictor = d.predictor,
                                .swapped = TIFFIsByteSwapped(h->tif) != 0};
    STATUS_TRY(check_samples(name, &d, shape));
    STATUS_TRY(find_codec(name, d.scheme, &codec));
    STATUS_TRY(lay_out(name, &d, shape));
    STATUS_TRY(check_striles(name, h, shape, codec->ratio, &largest));
    /* more than any stream of that; libtiff may read all of others */
    const uint64_t most = 2 * (uint64_t)shape->strile_bytes + (1 << 16);
    shape->packed_bytes = (size_t)(shape->deflated && most < largest ? most : largest);
    shape->handle_bytes = handle_bytes(&d, codec, shape);
    return STATUS_OK;
}

/* --- strips and tiles (libtiff: striles) ------------------------------------------------------ */

/* Reads n bytes of a stored strile, into memory of `room` bytes at least; NULL: h->error. */
static unsigned char *load(struct tif_handle *h, uint32_t strile, size_t n, size_t room)
{
    unsigned char *const packed = malloc(n > room ? n : room);
    if (packed == NULL) {
        h->error = ENOMEM;
        return NULL;
    }
    const uint64_t at = TIFFGetStrileOffset(h->tif, strile);
    const size_t got = io_watch_pread_all(h->fd, packed, n, at, &h->error);
    memset(packed + got, 0, n - got);
    return packed;
}

static inline void add_up_items(unsigned char *p, size_t n, size_t bytes)
{
    const size_t low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : sizeof(uint64_t) - bytes;
    uint64_t sum = 0, next = 0;
    for (const unsigned char *const end = p + n * bytes; p < end; p += bytes) {
        memcpy((unsigned char *)&next + low, p, bytes);
        sum += next;
        memcpy(p, (unsigned char *)&sum + low, bytes);
    }
}

/* Makes each of n numbers the sum of those up to it. */
static void add_up(unsigned char *row, size_t n, size_t item_bytes)
{
    switch (item_bytes) { /* loops of one size are fast */
    case 1:
        add_up_items(row, n, 1);
        break;
    case 2:
        add_up_items(row, n, 2);
        break;
    case 4:
        add_up_items(row, n, 4);
        break;
    default:
        add_up_items(row, n, 8);
        break;
    }
}

/* Floats from their bytes apart, which are copied to `apart`. */
static void gather(unsigned char *row, size_t n, size_t sample_bytes, unsigned char *apart)
{
    memcpy(apart, row, n * sample_bytes);
    for (size_t b = 0; b < sample_bytes; b++) {
        const size_t at = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? sample_bytes - 1 - b : b;
        for (size_t i = 0; i < n; i++) {
            row[i * sample_bytes + at] = apart[b * n + i];
        }
    }
}

/* Makes samples in this machine's byte order of an unpacked strile; `room` for a row. */
static void undo_predictor(const struct tif_shape *shape, unsigned char *samples, size_t bytes,
                           unsigned char *room)
{
    const size_t n = shape->strile_columns, width = shape->sample_bytes;
    const bool apart = shape->predictor == PREDICTOR_FLOATINGPOINT;
    if (shape->swapped && !apart) {
        table_swap(samples, bytes / width, width);
    }
    for (size_t at = 0; shape->predictor != PREDICTOR_NONE && at < bytes; at += n * width) {
        add_up(samples + at, apart ? n * width : n, apart ? 1 : width);
        if (apart) {
            gather(samples + at, n, width, room);
        }
    }
}

/* Decodes a deflated strile; *complaint: what is wrong with it. */
static bool decode_deflate(const struct tif_shape *shape, struct tif_handle *h, uint32_t strile,
                           unsigned char *dst, size_t bytes, const char **complaint)
{
    const uint64_t stored = TIFFGetStrileByteCount(h->tif, strile);
    const size_t n = stored < shape->packed_bytes ? (size_t)stored : shape->packed_bytes;
    unsigned char *const packed = load(h, strile, n, shape->strile_columns * shape->sample_bytes);
    bool ok = packed != NULL && h->error == 0;
    if (ok && shape->reversed) {
        TIFFReverseBits(packed, (tmsize_t)n);
    }
    *complaint =
        ok ? table_bands_inflate(&h->inflate, packed, n, dst, bytes, shape->strile_bytes) : NULL;
    ok = ok && *complaint == NULL;
    if (ok) {
        undo_predictor(shape, dst, bytes, packed);
    }
    free(packed);
    return ok;
}

static void narrow_integer(const struct tif_shape *shape, double value, unsigned char *sample)
{
    const int bits = (int)(8 * shape->sample_bytes);
    const bool is_signed = shape->kind == TABLE_INT;
    const double end = ldexp(1, is_signed ? bits - 1 : bits);
    if (value != floor(value) || value >= end || value < (is_signed ? -end : 0)) {
        return;
    }
    const uint64_t v = value < 0 ? -(uint64_t)-value : (uint64_t)value;
    const size_t at =
        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : sizeof v - shape->sample_bytes;
    memcpy(sample, (const unsigned char *)&v + at, shape->sample_bytes);
}

/* The sample nearest to `value` when that is exactly one, else zero. */
static void narrow(const struct tif_shape *shape, double value, unsigned char *sample)
{
    memset(sample, 0, shape->sample_bytes);
    if (shape->kind != TABLE_FLOAT) {
        narrow_integer(shape, value, sample);
    } else if (shape->sample_bytes == sizeof(double)) {
        memcpy(sample, &value, sizeof value);
    } else if (shape->sample_bytes == sizeof(float)) {
        const float f = (float)value;
        memcpy(sample, &f, sizeof f);
    }
}

static void fill_samples(const struct tif_shape *shape, unsigned char *dst, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(dst + i * shape->sample_bytes, shape->fill, shape->sample_bytes);
    }
}

/* Rows of the strile row `down`, of the image. */
static size_t strile_rows(const struct tif_shape *shape, size_t down)
{
    const size_t left = shape->rows - down * shape->strile_rows;
    return left < shape->strile_rows ? left : shape->strile_rows;
}

/* Reads a strile that the file stores. */
static enum status read_strile(const struct tif_shape *shape, struct tif_handle *h,
                               const char *name, uint32_t strile, unsigned char *dst, size_t bytes)
{
    const char *complaint = NULL;
    bool ok;
    forget(h);
    if (shape->deflated) {
        ok = decode_deflate(shape, h, strile, dst, bytes, &complaint);
    } else {
        const tmsize_t n = (tmsize_t)bytes;
        ok = n == (shape->tiled ? TIFFReadEncodedTile(h->tif, strile, dst, n)
                                : TIFFReadEncodedStrip(h->tif, strile, dst, n));
    }
    if (ok && h->first[0] == '\0') { /* libtiff may call damage a success */
        return STATUS_OK;
    }
    const size_t down = strile / shape->striles_across, across = strile % shape->striles_across;
    return fail(h, "%s: %s %u (from row %zu, column %zu on) is damaged%s%s", name,
                shape->tiled ? "tile" : "strip", strile, down * shape->strile_rows + 1,
                across * shape->strile_columns + 1, complaint != NULL ? ": " : "",
                complaint != NULL ? complaint : "");
}

/* Puts what the image has of strile `across` of a row of them in its place: a strip directly, a
 * tile through h->tile. */
static enum status decode_strile(const struct tif_shape *shape, struct tif_handle *h,
                                 const char *name, size_t down, size_t across, unsigned char *dst)
{
    const uint32_t strile = (uint32_t)(down * shape->striles_across + across);
    const size_t first = across * shape->strile_columns, left = shape->columns - first;
    const size_t n = left < shape->strile_columns ? left : shape->strile_columns;
    const size_t rows = strile_rows(shape, down), width = shape->sample_bytes;
    const bool stored = TIFFGetStrileByteCount(h->tif, strile) > 0;
    if (stored && !shape->tiled) {
        return read_strile(shape, h, name, strile, dst, rows * n * width);
    }
    if (stored) {
        STATUS_TRY(read_strile(shape, h, name, strile, h->tile, shape->tile_bytes));
    }
    for (size_t row = 0; row < rows; row++) {
        unsigned char *const to = dst + (row * shape->columns + first) * width;
        if (stored) {
            memcpy(to, h->tile + row * shape->strile_columns * width, n * width);
        } else {
            fill_samples(shape, to, n);
        }
    }
    return STATUS_OK;
}

static enum status read_band(const struct table *t, struct table_handle *base, size_t index,
                             unsigned char *samples)
{
    const struct tif_shape *const shape = &((const struct tif *)t->state)->shape;
    const char *const name = source_name(t->source);
    struct tif_handle *const h = (struct tif_handle *)base;
    const size_t first = index * shape->band_striles;
    const size_t left = shape->striles_down - first;
    const size_t n = left < shape->band_striles ? left : shape->band_striles;
    const size_t strile_row_bytes = shape->strile_rows * shape->columns * shape->sample_bytes;
    if (shape->tiled && h->tile == NULL) {
        h->tile = malloc(shape->tile_bytes);
        if (h->tile == NULL) {
            return status_fail(STATUS_NO_MEMORY, "%s: no memory for a tile of %zu bytes", name,
                               shape->tile_bytes);
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t across = 0; across < shape->striles_across; across++) {
            STATUS_TRY(
                decode_strile(shape, h, name, first + i, across, samples + i * strile_row_bytes));
        }
    }
    return STATUS_OK;
}

/* --- what is carried and what is not ---------------------------------------------------------- */

/* A tag's values, of tiff_tags.h, borrowed. *n = 0: it is not there. STATUS_BAD_INPUT (more than
 * GRID_MAX_TAG_VALUES). */
static enum status read_tag(const struct tif_handle *h, const char *name, uint32_t tag,
                            enum grid_tag_type type, uint32_t *n, const void **values)
{
    const TIFFField *const field = TIFFFindField(h->tif, tag, TIFF_ANY);
    uint16_t count = 0;
    *n = 0;
    if (field == NULL || !(type == GRID_ASCII ? TIFFGetField(h->tif, tag, values)
                                              : TIFFGetField(h->tif, tag, &count, values))) {
        return STATUS_OK;
    }
    *n = type == GRID_ASCII ? (uint32_t)strlen(*values) + 1 : count;
    if (*n <= GRID_MAX_TAG_VALUES && TIFFFieldDataType(field) == (TIFFDataType)type) {
        return STATUS_OK;
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: its tag %u holds %u values of type %d, not up to %d of type %d", name,
                       tag, *n, (int)TIFFFieldDataType(field), (int)GRID_MAX_TAG_VALUES, (int)type);
}

static enum status copy_tags(const char *name, const struct tif_handle *h, struct grid *g)
{
    static const struct {
        enum grid_tag_number number;
        enum grid_tag_type type;
    } carried[GRID_MAX_TAGS] = {
        {GRID_PIXEL_SCALE, GRID_DOUBLE},    {GRID_TIEPOINT, GRID_DOUBLE},
        {GRID_TRANSFORMATION, GRID_DOUBLE}, {GRID_GEO_KEYS, GRID_SHORT},
        {GRID_GEO_DOUBLES, GRID_DOUBLE},    {GRID_GEO_ASCII, GRID_ASCII},
    };
    for (size_t i = 0; i < GRID_MAX_TAGS; i++) {
        uint32_t n;
        const void *values;
        STATUS_TRY(read_tag(h, name, (uint32_t)carried[i].number, carried[i].type, &n, &values));
        STATUS_TRY(n > 0 ? grid_add_tag(g, carried[i].number, carried[i].type, n, values)
                         : STATUS_OK);
    }
    return STATUS_OK;
}

/* A number as tools write it: blanks and line ends around it, nan, inf, or a word for no number. */
static bool parse_nodata(const char *text, double *out)
{
    static const char blanks[] = " \t\r\n";
    text += strspn(text, blanks);
    size_t n = strlen(text);
    while (n > 0 && strchr(blanks, text[n - 1]) != NULL) {
        n--;
    }
    if (table_says_missing(text, n)) {
        *out = NAN;
        return true;
    }
    return decimal_parse(text, n, '.', out) || decimal_parse_special(text, n, out);
}

static enum status read_nodata(struct table *t, const struct tif_handle *h, struct tif_shape *shape,
                               struct grid *g)
{
    const char *text;
    if (!TIFFGetField(h->tif, TIFF_TAGS_NODATA, &text)) {
        return STATUS_OK;
    }
    if (!parse_nodata(text, &g->nodata)) {
        return table_warn(t, "its NODATA value, '%s', is not a number: no cell is taken for one",
                          excerpt_of(text, strlen(text)).text);
    }
    if (shape->kind == TABLE_FLOAT && shape->sample_bytes == sizeof(float)) {
        g->nodata = (double)(float)g->nodata; /* the text may be longer than what is stored */
    }
    g->has_nodata = true;
    narrow(shape, g->nodata, shape->fill);
    return STATUS_OK;
}

/* What GDAL's metadata say of the band: the text of an <Item ... role="ROLE" ...>, [*n]; NULL:
 * nothing. */
static const char *find_item(const char *text, size_t n_text, const char *role, size_t *n)
{
    char mark[32];
    (void)snprintf(mark, sizeof mark, "role=\"%s\"", role);
    const char *const end = text + n_text, *const found = memmem(text, n_text, mark, strlen(mark));
    const char *const open = found != NULL ? memchr(found, '>', (size_t)(end - found)) : NULL;
    const char *const close = open != NULL ? memchr(open, '<', (size_t)(end - open)) : NULL;
    *n = close != NULL ? (size_t)(close - open - 1) : 0;
    return close != NULL ? open + 1 : NULL;
}

/* What is scaled GDAL reads. */
static enum status read_metadata(const char *name, const struct tif_handle *h, struct grid *g)
{
    size_t n_unit;
    const char *text;
    if (!TIFFGetField(h->tif, TIFF_TAGS_METADATA, &text)) {
        return STATUS_OK;
    }
    const size_t n = strlen(text);
    const char *const unit = find_item(text, n, "unittype", &n_unit);
    if (unit != NULL) {
        (void)snprintf(g->unit, sizeof g->unit, "%s", excerpt_of(unit, n_unit).text);
    }
    return find_item(text, n, "scale", &n_unit) == NULL &&
                   find_item(text, n, "offset", &n_unit) == NULL
               ? STATUS_OK
               : foreign_fail_with(STATUS_UNSUPPORTED, name, "its metadata scale its numbers",
                                   "gdal_translate -unscale -ot Float64 IN OUT.tif");
}

/* Further directories: smaller copies of the grid are skipped silently, its mask is refused. Leaves
 * the handle at the directory it stands at. */
static enum status check_more_images(struct table *t, struct tif_handle *h, const struct grid *g)
{
    enum { MOST = 64 };
    int n_images = 0;
    bool has_mask = false;
    for (int i = 0; i < MOST && !TIFFLastDirectory(h->tif) && TIFFReadDirectory(h->tif); i++) {
        uint32_t type = 0;
        TIFFGetFieldDefaulted(h->tif, TIFFTAG_SUBFILETYPE, &type);
        has_mask = has_mask || (n_images == 0 && (type & FILETYPE_MASK) != 0 &&
                                (type & FILETYPE_REDUCEDIMAGE) == 0);
        n_images += (type & (FILETYPE_MASK | FILETYPE_REDUCEDIMAGE)) == 0;
    }
    if (has_mask) {
        return foreign_refuse_mask(g, source_name(t->source), "its mask", "");
    }
    return n_images > 0 ? table_warn(t, "it holds %d more images: the first one is taken", n_images)
                        : STATUS_OK;
}

/* A scale below 0 turns the rows, says the specification; GDAL takes its size alone. */
static enum status warn_of_rows(struct table *t, const struct grid *g)
{
    const struct grid_tag *const tag = grid_find_tag(g, GRID_PIXEL_SCALE);
    const double *const scale = tag != NULL && tag->count >= 2 ? tag->values : NULL;
    return grid_is_georeferenced(g) && scale != NULL && scale[0] != 0 && scale[1] < 0
               ? table_warn(t, "its rows go from south to north, as its scale below 0 says; GDAL "
                               "and programs with it show them from north to south; if they are "
                               "right: gdal_translate IN OUT.tif")
               : STATUS_OK;
}

/* The table gets warnings of what is not taken from the file. */
static enum status read_grid(struct table *t, struct tif_handle *h, struct tif_shape *shape,
                             struct grid **out)
{
    const char *const name = source_name(t->source);
    if (h->lost[0] != '\0') {
        return status_fail(
            STATUS_BAD_INPUT,
            "%s: a tag with its georeference or NODATA cannot be read: libtiff says: %s", name,
            excerpt_of(h->lost, strlen(h->lost)).text);
    }
    STATUS_TRY(grid_new(shape->rows, shape->columns, out));
    STATUS_TRY(copy_tags(name, h, *out));
    STATUS_TRY(grid_georeference_by_tags(*out, name));
    STATUS_TRY(warn_of_rows(t, *out));
    STATUS_TRY(read_nodata(t, h, shape, *out));
    STATUS_TRY(read_metadata(name, h, *out));
    return check_more_images(t, h, *out);
}

/* --- the table -------------------------------------------------------------------------------- */

static bool tif_suits(const unsigned char *head, size_t n)
{
    return n >= 4 && (memcmp(head, "II*\0", 4) == 0 || memcmp(head, "MM\0*", 4) == 0 ||
                      memcmp(head, "II+\0", 4) == 0 || memcmp(head, "MM\0+", 4) == 0);
}

static const struct table_bands_ops bands_ops = {open_handle, read_band, free_handle};

static void tif_close(void *state)
{
    struct tif *const s = state;
    table_bands_free(&s->bands);
    grid_free(s->grid);
}

static enum status tif_open(struct table *t)
{
    struct tif *const s = t->state;
    const struct tif_shape *const shape = &s->shape;
    table_bands_init(&s->bands, &bands_ops);
    STATUS_TRY(table_need_seek(t, "a TIFF", "X.tif"));
    struct table_handle *base;
    size_t tag_bytes;
    STATUS_TRY(check_directories(t->source, &tag_bytes));
    STATUS_TRY(open_handle(t, &base));
    struct tif_handle *const h = (struct tif_handle *)base;
    enum status st = read_shape(t, h, &s->shape);
    st = st != STATUS_OK ? st : read_grid(t, h, &s->shape, &s->grid);
    free_handle(base); /* it may stand at another directory now */
    STATUS_TRY(st);
    if (t->choice.band > 1) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: band=%zu: it has 1 band",
                           source_name(t->source), t->choice.band);
    }
    s->bands.rows = shape->rows;
    s->bands.columns = shape->columns;
    s->bands.band_rows = shape->band_rows;
    s->bands.kind = shape->kind;
    s->bands.sample_bytes = shape->sample_bytes;
    table_set_grid(t, s->grid);
    table_bands_set(t, &s->bands, shape->handle_bytes + tag_bytes);
    return STATUS_OK;
}

const struct table_format tif_format = {
    .name = "tif",
    .state_bytes = sizeof(struct tif),
    .takes = {[TABLE_MISSING_VALUE] = true, [TABLE_BAND] = true},
    .suits = tif_suits,
    .open = tif_open,
    .next = table_bands_next,
    .decode = table_bands_decode,
    .close = tif_close,
};
