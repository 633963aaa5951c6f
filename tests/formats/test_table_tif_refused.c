/*
 * GeoTIFFs that are refused: what is no grid, what is not taken, what is cut, damaged, or lies.
 */
#include "tests/support/no_module.h"
#include "tests/support/tif_support.h"

/* Opening the file as a table fails, as assert_failed() has it. Frees the file. */
static void assert_refused(struct bytes *file, enum status status, const char *first,
                           const char *second)
{
    struct reading r = read_bytes(file->data, file->len, NULL, 4096);
    assert_failed(&r, status, first, second);
    assert_null(r.table);
    reading_free(&r);
    bytes_free(file);
}

TEST(what_is_no_grid_is_refused)
{
    static const struct {
        uint16_t samples, bits, format;
        const char *first, *second;
    } cases[] = {
        {3, 32, SAMPLEFORMAT_IEEEFP, "has 3 bands", "-b 1"},
        {1, 1, SAMPLEFORMAT_UINT, "have 1 bits", NULL},
        {1, 8, SAMPLEFORMAT_IEEEFP, "have 8 bits", NULL},
        {1, 64, SAMPLEFORMAT_COMPLEXIEEEFP, "complex", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tif_spec s = plain();
        s.samples = cases[i].samples;
        s.bits = cases[i].bits;
        s.format = cases[i].format;
        struct bytes file = make_tif(&s);
        assert_refused(&file, STATUS_UNSUPPORTED, cases[i].first, cases[i].second);
    }
}

TEST(predictors_that_the_samples_cannot_have_are_refused)
{
    static const uint16_t claims[] = {0, 3, 4, 34892};
    for (size_t i = 0; i < COUNT(claims); i++) {
        struct tif_spec s = plain();
        s.bits = 16;
        s.format = SAMPLEFORMAT_INT;
        s.scheme = COMPRESSION_ADOBE_DEFLATE;
        s.predictor = 2;
        struct bytes file = make_tif(&s);
        char what[40];
        memcpy(find_entry(&file, TIFFTAG_PREDICTOR) + 8, &claims[i], sizeof claims[i]);
        snprintf(what, sizeof what, "claims predictor %d", claims[i]);
        assert_refused(&file, STATUS_BAD_INPUT, what, "whole numbers");
    }
}

TEST(a_gzipped_tiff_is_refused)
{
    struct tif_spec s = plain();
    struct bytes file = make_tif(&s), packed = gzipped(file.data, file.len);
    assert_refused(&packed, STATUS_UNSUPPORTED, "is a TIFF from gzip", NULL);
    bytes_free(&file);
}

/* libtiff keeps them all, of further directories, too: eight of 240 MB may be the same 240 MB of a
 * file. */
TEST(tags_that_claim_too_much_are_refused_before_they_are_read)
{
    const uint32_t many = 40000000;
    char where[64];
    uint32_t at;
    uint16_t n;
    struct tif_spec s[2] = {plain(), plain()};
    s[0].metadata = "<GDALMetadata></GDALMetadata>";
    struct bytes file = make_tif(s);
    memcpy(find_entry(&file, 42112) + 4, &many, sizeof many);
    assert_refused(&file, STATUS_TOO_LARGE, "the tags of this directory claim",
                   "write the grid again: gdal_translate in.x in.tif");
    /* bytes, of which each becomes a double */
    static const double scale[] = {1, 1, 0};
    const uint32_t some = 5000000;
    const uint16_t type = TIFF_BYTE;
    struct tif_spec scaled = plain();
    scaled.n_doubles[0] = COUNT(scale);
    scaled.doubles[0] = scale;
    file = make_tif(&scaled);
    memcpy(find_entry(&file, 33550) + 2, &type, sizeof type);
    memcpy(find_entry(&file, 33550) + 4, &some, sizeof some);
    assert_refused(&file, STATUS_TOO_LARGE, "the tags of this directory claim 40",
                   "write the grid again: gdal_translate in.x in.tif");
    file = make_tif_of(s, 2);
    memcpy(&at, file.data + 4, sizeof at);
    memcpy(&n, file.data + at, sizeof n);
    memcpy(&at, file.data + at + 2 + 12 * n, sizeof at); /* the next directory */
    memcpy(file.data + at + 2 + 4, &many, sizeof many);
    snprintf(where, sizeof where, "byte %u: the tags of this directory claim", (unsigned)at);
    assert_refused(&file, STATUS_TOO_LARGE, where,
                   "write the grid again: gdal_translate in.x in.tif");
}

/* A place or a NODATA is not lost in silence. */
TEST(a_tag_of_ours_that_cannot_be_read_is_refused)
{
    static const uint16_t tags[] = {33550, 33922, 34264, 34735, 42113};
    static const char *const names[] = {"Scale", "TiePoints", "Transformation", "KeyDirectory",
                                        "NoDataValue"};
    static const double numbers[16] = {10, 10};
    const uint32_t beyond = 1 << 24;
    static const uint16_t keys[] = {1, 1, 0, 1, 1025, 0, 1, 1};
    for (size_t i = 0; i < COUNT(tags); i++) {
        struct tif_spec s = plain();
        s.nodata = "-9999.5";
        s.n_doubles[0] = 3;
        s.n_doubles[1] = 6;
        s.n_doubles[2] = 16;
        s.doubles[0] = s.doubles[1] = s.doubles[2] = numbers;
        s.n_keys = COUNT(keys);
        s.keys = keys;
        struct bytes file = make_tif(&s);
        struct reading r = read_bytes(file.data, file.len, NULL, 4096);
        assert_int_equal(r.status, STATUS_OK);
        reading_free(&r);
        memcpy(find_entry(&file, tags[i]) + 8, &beyond, sizeof beyond);
        assert_refused(&file, STATUS_BAD_INPUT, "a tag with its georeference or NODATA", names[i]);
    }
}

TEST(what_is_not_taken_is_said)
{
    static const char *const roles[] = {"scale", "offset"};
    struct reading r;
    for (size_t i = 0; i < COUNT(roles); i++) {
        char metadata[128];
        snprintf(metadata, sizeof metadata,
                 "<GDALMetadata>\n  <Item sample=\"0\" role=\"%s\">0.1</Item>\n</GDALMetadata>\n",
                 roles[i]);
        struct tif_spec s = plain();
        s.metadata = metadata;
        struct bytes scaled = make_tif(&s);
        assert_refused(&scaled, STATUS_UNSUPPORTED, "its metadata scale its numbers",
                       "gdal_translate -unscale -ot Float64 in.x in.tif");
    }
    struct tif_spec two[2] = {plain(), plain()};
    two[1].rows = 9;
    struct bytes file = make_tif_of(two, 2);
    assert_reads(&two[0], &file, 4096, 0, 0);
    r = read_bytes(file.data, file.len, NULL, 4096);
    assert_int_equal(r.info->n_warnings, 1);
    assert_non_null(strstr(r.info->warnings[0], "1 more images"));
    reading_free(&r);
    bytes_free(&file);
}

/* Which cells have a number is not to be guessed. */
TEST(a_mask_is_refused_with_the_command_that_applies_it)
{
    static const double scale[] = {10, 20, 0}, tie[] = {0, 0, 0, 1000, 2000, 0};
    for (int k = 0; k < 5; k++) {
        struct tif_spec images[3] = {plain(), plain(), plain()};
        images[0].nodata = k == 1 ? "-1" : NULL;
        images[0].n_doubles[0] = images[0].n_doubles[1] = 0;
        if (k != 2) {
            images[0].n_doubles[0] = COUNT(scale);
            images[0].doubles[0] = scale;
            images[0].n_doubles[1] = COUNT(tie);
            images[0].doubles[1] = tie;
        }
        images[1].subfile = k == 3 ? FILETYPE_MASK | FILETYPE_REDUCEDIMAGE : FILETYPE_MASK;
        images[1].subfile = k == 4 ? 0 : images[1].subfile; /* the mask is of another image */
        images[2].subfile = FILETYPE_MASK;
        struct bytes file = make_tif_of(images, k == 4 ? 3 : 2);
        if (k > 2) {
            struct reading r = read_bytes(file.data, file.len, NULL, 4096);
            assert_int_equal(r.status, STATUS_OK);
            assert_int_equal(r.info->n_warnings, k == 4);
            reading_free(&r);
            bytes_free(&file);
            continue;
        }
        assert_refused(&file, STATUS_UNSUPPORTED, "its mask says which cells have a number",
                       k == 0   ? "gdalwarp -ot Float64 -srcnodata None -dstnodata -9999 -te 1000 "
                                  "1920 1050 2000 -ts 5 4 in.x in.tif"
                       : k == 1 ? "-dstnodata -1 -te"
                                : "DST_METHOD=NO_GEOTRANSFORM in.x in.tif");
    }
}

/* Every file that is cut anywhere, and many that are damaged anywhere, are refused or read; nothing
 * is said aloud and nothing else happens. */
TEST(cut_and_damaged_files_do_no_harm)
{
    static const uint16_t schemes[] = {COMPRESSION_NONE, COMPRESSION_LZW,
                                       COMPRESSION_ADOBE_DEFLATE};
    for (size_t i = 0; i < COUNT(schemes); i++) {
        struct tif_spec s = {.rows = 40,
                             .columns = 30,
                             .bits = 16,
                             .format = SAMPLEFORMAT_INT,
                             .scheme = schemes[i],
                             .strip_rows = 8,
                             .nodata = "-9999",
                             .value = signed_whole};
        struct bytes file = make_tif(&s);
        for (size_t n = 0; n < file.len; n++) {
            struct reading r = read_bytes(file.data, n, NULL, 4096);
            if (r.status == STATUS_OK) {
                fail_msg("compression %d: the first %zu of %zu bytes are taken", s.scheme, n,
                         file.len);
            }
            reading_free(&r);
        }
        uint32_t random = 1;
        for (int k = 0; k < 3000; k++) {
            random = random * 1664525 + 1013904223;
            const size_t at = random % file.len;
            const unsigned char kept = file.data[at];
            file.data[at] = (unsigned char)(random >> 24);
            struct reading r = read_bytes(file.data, file.len, NULL, 4096);
            reading_free(&r);
            file.data[at] = kept;
        }
        bytes_free(&file);
    }
}

static void set_long(const struct bytes *file, uint16_t tag, uint32_t value)
{
    static const uint16_t type = TIFF_LONG;
    unsigned char *const entry = find_entry(file, tag);
    memcpy(entry + 2, &type, sizeof type);
    memcpy(entry + 8, &value, sizeof value);
}

TEST(a_directory_that_lies_about_sizes_is_refused)
{
    static const struct {
        uint16_t scheme;
        uint32_t rows, columns, strip_rows;
        enum status status;
        const char *what;
    } cases[] = {
        {COMPRESSION_ADOBE_DEFLATE, 2000000000, 2000000000, 2000000000, STATUS_BAD_INPUT, NULL},
        {COMPRESSION_ADOBE_DEFLATE, 20000, 20000, 20000, STATUS_TOO_LARGE,
         "-co TILED=YES -co BLOCKYSIZE=16"},
        {COMPRESSION_ADOBE_DEFLATE, 64, 200000000, 16, STATUS_TOO_LARGE, "-srcwin"},
        {COMPRESSION_ADOBE_DEFLATE, 4000, 16000, 4000, STATUS_BAD_INPUT, "cannot unpack"},
        {COMPRESSION_LZW, 4000, 16000, 4000, STATUS_BAD_INPUT, "cannot unpack"},
        {COMPRESSION_PACKBITS, 4000, 100, 4000, STATUS_BAD_INPUT, "cannot unpack"},
        {COMPRESSION_ADOBE_DEFLATE, 2000000000, 1, 1, STATUS_BAD_INPUT, NULL},
        {COMPRESSION_ADOBE_DEFLATE, 0, 1, 1, STATUS_BAD_INPUT, NULL},
        {COMPRESSION_ADOBE_DEFLATE, 4, 0, 4, STATUS_BAD_INPUT, NULL},
        {COMPRESSION_NONE, 4, 1000, 4, STATUS_BAD_INPUT, "goes beyond the file's"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tif_spec s = plain();
        s.scheme = cases[i].scheme;
        struct bytes file = make_tif(&s);
        set_long(&file, TIFFTAG_IMAGELENGTH, cases[i].rows);
        set_long(&file, TIFFTAG_IMAGEWIDTH, cases[i].columns);
        set_long(&file, TIFFTAG_ROWSPERSTRIP, cases[i].strip_rows);
        assert_refused(&file, cases[i].status, cases[i].what, NULL);
    }
}

TEST(a_place_that_is_no_numbers_is_refused)
{
    static const double scale[] = {1, 1, 0}, tie[6] = {0};
    static const uint16_t keys[] = {1, 1, 0, 1, 1025, 0, 1, 1};
    static const struct {
        uint16_t tag, type;
        const char *what;
    } cases[] = {{33550, TIFF_ASCII, "Incompatible type for \"GeoPixelScale\""},
                 {33550, TIFF_UNDEFINED, "Incompatible type for \"GeoPixelScale\""},
                 {34735, TIFF_FLOAT, "Incompatible type for \"GeoKeyDirectory\""}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tif_spec s = plain();
        s.n_doubles[0] = COUNT(scale);
        s.doubles[0] = scale;
        s.n_doubles[1] = COUNT(tie);
        s.doubles[1] = tie;
        s.n_keys = COUNT(keys);
        s.keys = keys;
        struct bytes file = make_tif(&s);
        const float many[COUNT(keys)] = {1e9F};
        put_values(&file, cases[i].tag, cases[i].type, 3, many,
                   cases[i].type == TIFF_FLOAT ? 3 * sizeof *many : 3);
        assert_refused(&file, STATUS_BAD_INPUT, cases[i].what, NULL);
    }
}

TEST(a_damaged_strip_is_refused_with_its_place)
{
    struct tif_spec s = {.rows = 40,
                         .columns = 30,
                         .bits = 16,
                         .format = SAMPLEFORMAT_INT,
                         .scheme = COMPRESSION_ADOBE_DEFLATE,
                         .strip_rows = 8,
                         .value = signed_whole};
    struct bytes file = make_tif(&s);
    uint32_t at;
    memcpy(&at, find_entry(&file, TIFFTAG_STRIPOFFSETS) + 8, sizeof at);
    memcpy(&at, file.data + at + 4 * 3, sizeof at); /* the fourth strip */
    memset(file.data + at, 0xff, 8);
    struct reading r = read_bytes(file.data, file.len, NULL, 4096);
    assert_failed(&r, STATUS_BAD_INPUT, "strip 3 (from row 25", "its stream cannot be unpacked");
    reading_free(&r);
    bytes_free(&file);
}

int main(void)
{
    TIFFSetErrorHandler(loud);
    TIFFSetWarningHandler(loud);
    return unit_run(hide_gdal, show_gdal);
}
