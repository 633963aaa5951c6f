/*
 * tif_support - TIFF files made by libtiff itself, for the tests of what reads and writes them.
 */
#ifndef LEAT_TESTS_TIF_SUPPORT_H
#define LEAT_TESTS_TIF_SUPPORT_H

#include "tests/support/table_support.h"

#include <sys/stat.h>
#include <tiffio.h>

struct tif_spec {
    const char *mode; /* of libtiff: "wl" little-endian, "wb" big-endian, "wl8" BigTIFF; NULL: wl */
    uint32_t rows, columns;
    uint16_t bits, format, scheme, predictor, fill_order; /* 0: libtiff's default */
    uint32_t tile;                                        /* side of a tile; 0: strips ... */
    uint32_t strip_rows;                                  /* ... of so many rows; 0: one strip */
    const char *nodata, *metadata;
    uint16_t samples; /* 0: 1 */
    uint32_t subfile; /* what a further image is: FILETYPE_MASK ... */
    uint32_t skipped; /* striles that are not written */
    double (*value)(size_t cell);
    size_t n_doubles[3]; /* pixel scale, tiepoint, transformation */
    const double *doubles[3];
    size_t n_keys;
    const uint16_t *keys;
};

static const TIFFFieldInfo spec_fields[] = {
    {33550, -3, -3, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"ModelPixelScale"},
    {33922, -3, -3, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"ModelTiepoint"},
    {34264, -3, -3, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, (char *)"ModelTransformation"},
    {34735, -3, -3, TIFF_SHORT, FIELD_CUSTOM, 1, 1, (char *)"GeoKeyDirectory"},
    {42112, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, (char *)"GDALMetadata"},
    {42113, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, (char *)"GDALNoData"},
};

static inline uint16_t half_of(double v)
{
    /* exact for the small whole numbers and halves that the tests use */
    if (v == 0) {
        return 0;
    }
    int exponent;
    const double fraction = frexp(fabs(v), &exponent); /* 0.5 .. 1 */
    const int bits = (int)ldexp(fraction, 11) & 1023;
    return (uint16_t)((v < 0 ? 0x8000 : 0) | (exponent + 14) << 10 | bits);
}

/* One sample of the spec's type at dst. */
static inline void put_sample(const struct tif_spec *s, double v, unsigned char *dst)
{
    if (s->format == SAMPLEFORMAT_IEEEFP) {
        const float f = (float)v;
        const uint16_t h = half_of(v);
        memcpy(dst,
               s->bits == 64   ? (const void *)&v
               : s->bits == 32 ? (const void *)&f
                               : &h,
               s->bits / 8U);
        return;
    }
    const uint64_t bits = v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
    memcpy(dst, &bits, s->bits / 8U); /* the tests run on little-endian machines */
}

static inline void set_fields(TIFF *tif, const struct tif_spec *s)
{
    TIFFSetField(tif, TIFFTAG_IMAGEWIDTH, s->columns);
    TIFFSetField(tif, TIFFTAG_IMAGELENGTH, s->rows);
    if (s->subfile) {
        TIFFSetField(tif, TIFFTAG_SUBFILETYPE, s->subfile);
    }
    TIFFSetField(tif, TIFFTAG_BITSPERSAMPLE, s->bits);
    TIFFSetField(tif, TIFFTAG_SAMPLESPERPIXEL, s->samples ? s->samples : 1);
    TIFFSetField(tif, TIFFTAG_SAMPLEFORMAT, s->format);
    TIFFSetField(tif, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tif, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tif, TIFFTAG_COMPRESSION, s->scheme ? s->scheme : COMPRESSION_NONE);
    if (s->predictor) {
        TIFFSetField(tif, TIFFTAG_PREDICTOR, s->predictor);
    }
    if (s->fill_order) {
        TIFFSetField(tif, TIFFTAG_FILLORDER, s->fill_order);
    }
    if (s->tile) {
        TIFFSetField(tif, TIFFTAG_TILEWIDTH, s->tile);
        TIFFSetField(tif, TIFFTAG_TILELENGTH, s->tile);
    } else {
        TIFFSetField(tif, TIFFTAG_ROWSPERSTRIP, s->strip_rows ? s->strip_rows : s->rows);
    }
    static const uint32_t tags[3] = {33550, 33922, 34264};
    for (int i = 0; i < 3; i++) {
        if (s->n_doubles[i]) {
            TIFFSetField(tif, tags[i], (uint32_t)s->n_doubles[i], s->doubles[i]);
        }
    }
    if (s->n_keys) {
        TIFFSetField(tif, 34735, (uint32_t)s->n_keys, s->keys);
    }
    if (s->nodata) {
        TIFFSetField(tif, 42113, s->nodata);
    }
    if (s->metadata) {
        TIFFSetField(tif, 42112, s->metadata);
    }
}

static inline void write_strile(TIFF *tif, const struct tif_spec *s, uint32_t index)
{
    const uint32_t width = s->tile ? s->tile : s->columns;
    uint32_t height = s->tile ? s->tile : s->strip_rows ? s->strip_rows : s->rows;
    const uint32_t across = s->tile ? (s->columns + s->tile - 1) / s->tile : 1;
    const uint32_t top = index / across * height, left = index % across * width;
    if (!s->tile && top + height > s->rows) {
        height = s->rows - top;
    }
    const uint16_t samples = s->samples ? s->samples : 1;
    const size_t bytes = (size_t)width * height * s->bits / 8 * samples;
    unsigned char *const data = calloc(1, bytes + 8);
    assert_non_null(data);
    for (uint32_t y = 0; y < height && samples == 1 && s->bits >= 8; y++) {
        for (uint32_t x = 0; x < width; x++) {
            if (top + y < s->rows && left + x < s->columns) {
                const size_t cell = (size_t)(top + y) * s->columns + left + x;
                put_sample(s, s->value(cell), data + ((size_t)y * width + x) * (s->bits / 8U));
            }
        }
    }
    if (s->tile) {
        assert_int_equal(TIFFWriteEncodedTile(tif, index, data, (tmsize_t)bytes), bytes);
    } else {
        assert_int_equal(TIFFWriteEncodedStrip(tif, index, data, (tmsize_t)bytes), bytes);
    }
    free(data);
}

/* Appends the image to an open file. */
static inline void write_image(TIFF *tif, const struct tif_spec *s)
{
    assert_int_equal(
        TIFFMergeFieldInfo(tif, spec_fields, sizeof spec_fields / sizeof spec_fields[0]), 0);
    set_fields(tif, s);
    const uint32_t n = s->tile ? TIFFNumberOfTiles(tif) : TIFFNumberOfStrips(tif);
    for (uint32_t i = s->skipped; i < n; i++) {
        write_strile(tif, s, i);
    }
    assert_int_equal(TIFFWriteDirectory(tif), 1);
}

/* All that was written to it; it is closed. */
static inline struct bytes take_file(int fd)
{
    struct stat st;
    struct bytes out = {0};
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(bytes_reserve(&out, (size_t)st.st_size), STATUS_OK);
    assert_int_equal(pread(fd, out.data, (size_t)st.st_size, 0), st.st_size);
    out.len = (size_t)st.st_size;
    close(fd);
    return out;
}

/* The file's bytes; one image for each spec. */
static inline struct bytes make_tif_of(const struct tif_spec *specs, size_t n_specs)
{
    const int fd = memfd_create("tif", MFD_CLOEXEC);
    const TIFFErrorHandler warn = TIFFSetWarningHandler(NULL); /* what is made here may be odd */
    TIFF *const tif = TIFFFdOpen(dup(fd), "made", specs->mode ? specs->mode : "wl");
    assert_non_null(tif);
    for (size_t i = 0; i < n_specs; i++) {
        write_image(tif, &specs[i]);
    }
    TIFFClose(tif);
    TIFFSetWarningHandler(warn);
    return take_file(fd);
}

static inline struct bytes make_tif(const struct tif_spec *s)
{
    return make_tif_of(s, 1);
}

/* Where the entry of a tag lies in a little-endian classic TIFF. */
static inline unsigned char *find_entry(const struct bytes *file, uint16_t tag)
{
    uint32_t at;
    uint16_t n, number;
    memcpy(&at, file->data + 4, sizeof at);
    memcpy(&n, file->data + at, sizeof n);
    for (uint16_t i = 0; i < n; i++) {
        unsigned char *const entry = file->data + at + 2 + 12 * i;
        memcpy(&number, entry, sizeof number);
        if (number == tag) {
            return entry;
        }
    }
    fail_msg("no tag %d", tag);
    return NULL;
}

/* Gives a tag other values, `bytes` in all and no more than it has, of another type. */
static inline void put_values(const struct bytes *file, uint16_t tag, uint16_t type, uint32_t n,
                              const void *values, size_t bytes)
{
    unsigned char *const entry = find_entry(file, tag);
    uint32_t at;
    memcpy(&at, entry + 8, sizeof at);
    memcpy(entry + 2, &type, sizeof type);
    memcpy(entry + 4, &n, sizeof n);
    memcpy(bytes > sizeof at ? file->data + at : entry + 8, values, bytes);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Nothing may reach libtiff's handlers of the process. */
static inline void loud(const char *module, const char *format, va_list args)
{
    char text[256];
    (void)vsnprintf(text, sizeof text, format, args);
    fail_msg("libtiff said: %s: %s", module, text);
}

static inline double signed_whole(size_t cell)
{
    return (double)(cell * 7 % 120) - 60;
}

static inline double halves(size_t cell)
{
    return ((double)(cell * 7 % 120) - 60) / 2;
}

/* Reads the file in chunks of `cap` raw bytes (cap / 2 numbers) and expects the spec's values, and
 * `absent` in the first n_absent cells. */
static inline void assert_reads(const struct tif_spec *s, const struct bytes *file, size_t cap,
                                size_t n_absent, double absent)
{
    struct reading r = read_bytes(file->data, file->len, NULL, cap);
    if (r.status) {
        fail_msg("%u x %u, %d bits, compression %d: %s", s->rows, s->columns, s->bits, s->scheme,
                 status_message());
    }
    assert_string_equal(r.info->format, "tif");
    assert_int_equal(r.info->dtype, DTYPE_F64);
    assert_int_equal(r.info->n_lines, s->rows);
    assert_int_equal(r.info->cells_per_line, s->columns);
    assert_int_equal(r.n_numbers, (size_t)s->rows * s->columns);
    for (size_t k = 0; k < r.n_numbers; k++) {
        double x;
        memcpy(&x, r.numbers.data + 8 * k, sizeof x);
        const double expected = k < n_absent ? absent : s->value(k);
        if (!(x == expected)) {
            fail_msg("cell %zu of %u x %u, %d bits, format %d, compression %d, tile %u: %.17g, not "
                     "%.17g",
                     k, s->rows, s->columns, s->bits, s->format, s->scheme, s->tile, x, expected);
        }
    }
    reading_free(&r);
}

static const struct {
    uint16_t bits, format;
} types[] = {{8, SAMPLEFORMAT_UINT},    {8, SAMPLEFORMAT_INT},    {16, SAMPLEFORMAT_UINT},
             {16, SAMPLEFORMAT_INT},    {32, SAMPLEFORMAT_UINT},  {32, SAMPLEFORMAT_INT},
             {64, SAMPLEFORMAT_UINT},   {64, SAMPLEFORMAT_INT},   {16, SAMPLEFORMAT_IEEEFP},
             {32, SAMPLEFORMAT_IEEEFP}, {64, SAMPLEFORMAT_IEEEFP}};

static inline struct reading read_spec(const struct tif_spec *s)
{
    struct bytes file = make_tif(s);
    struct reading r = read_bytes(file.data, file.len, NULL, 1 << 12);
    bytes_free(&file);
    return r;
}

static inline struct tif_spec plain(void)
{
    return (struct tif_spec){
        .rows = 4, .columns = 5, .bits = 32, .format = SAMPLEFORMAT_IEEEFP, .value = halves};
}

#endif
