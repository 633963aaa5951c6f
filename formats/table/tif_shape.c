/*
 * tif_shape - what a TIFF's directory claims: size, samples, strips or tiles, georeference,
 * NODATA; and whether the file can hold it.
 *
 * Sources: TIFF 6.0; OGC GeoTIFF 1.1; GDAL's tags 42112 and 42113 (GeoTIFF driver, "Nodata value",
 * "Sparse files").
 */
#include "formats/table/tif.h"

#include "formats/base/checked.h"
#include "formats/base/decimal.h"
#include "formats/geo/tiff_tags.h"
#include "formats/table/foreign.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
            return tif_handle_fail(h, "%s: the place of %s %u cannot be read", name, what, i);
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

enum status tif_read_shape(struct table *t, struct tif_handle *h, struct tif_shape *shape)
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

/* --- what is carried and what is not ---------------------------------------------------------- */

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
        STATUS_TRY(
            tif_handle_tag(h, name, (uint32_t)carried[i].number, carried[i].type, &n, &values));
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
    tif_narrow(shape, g->nodata, shape->fill);
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

enum status tif_read_grid(struct table *t, struct tif_handle *h, struct tif_shape *shape,
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
    STATUS_TRY(read_nodata(t, h, shape, *out));
    STATUS_TRY(read_metadata(name, h, *out));
    return check_more_images(t, h, *out);
}
