/*
 * Deflated GeoTIFF grids that are damaged, or longer than they should be: no number that the file
 * does not hold is taken for one of its own.
 */
#include "tests/support/tif_support.h"

#include <zlib.h>

enum { SIDE = 16, COLUMNS = 40 };

static double value(size_t cell)
{
    return (double)(cell % 1000);
}

/* A file of one tile, or (rows > 0) of strips of 4 rows, whose last strile is the stream of `bytes`
 * zero bytes, cut by `cut` and with byte `flip` (if any) turned over. */
static struct bytes make_file(uint32_t rows, size_t bytes, size_t cut, long flip)
{
    const struct tif_spec s = {.rows = rows != 0 ? rows : SIDE,
                               .columns = rows != 0 ? COLUMNS : SIDE,
                               .bits = 32,
                               .format = SAMPLEFORMAT_IEEEFP,
                               .scheme = COMPRESSION_ADOBE_DEFLATE,
                               .tile = rows != 0 ? 0 : SIDE,
                               .strip_rows = 4,
                               .value = value};
    unsigned char packed[8192], *const zeros = calloc(1, bytes);
    uLongf n = sizeof packed;
    assert_non_null(zeros);
    assert_int_equal(compress(packed, &n, zeros, bytes), Z_OK);
    free(zeros);
    if (flip >= 0) {
        packed[n - 1 - (size_t)flip] ^= 0xff;
    }
    const int fd = memfd_create("tif", MFD_CLOEXEC);
    TIFF *const tif = TIFFFdOpen(dup(fd), "made", "wl");
    assert_non_null(tif);
    set_fields(tif, &s);
    const uint32_t last = (s.tile ? TIFFNumberOfTiles(tif) : TIFFNumberOfStrips(tif)) - 1;
    for (uint32_t i = 0; i < last; i++) {
        write_strile(tif, &s, i);
    }
    const tmsize_t stored = (tmsize_t)(n - cut);
    assert_int_equal(s.tile ? TIFFWriteRawTile(tif, last, packed, stored)
                            : TIFFWriteRawStrip(tif, last, packed, stored),
                     stored);
    TIFFClose(tif);
    return take_file(fd);
}

static void assert_damaged(struct bytes file, const char *what)
{
    struct reading r = read_bytes(file.data, file.len, NULL, 4096);
    assert_int_equal(r.status, STATUS_BAD_INPUT);
    if (strstr(status_message(), what) == NULL || strstr(status_message(), "(from row ") == NULL) {
        fail_msg("'%s' does not say '%s'", status_message(), what);
    }
    reading_free(&r);
    bytes_free(&file);
}

TEST(a_tile_that_unpacks_to_more_is_damaged)
{
    assert_damaged(make_file(0, SIDE * SIDE * 4 + 1, 0, -1), "to more");
    assert_damaged(make_file(0, SIDE * SIDE * 4 + 300, 0, -1), "to more");
    assert_damaged(make_file(0, 1 << 20, 0, -1), "to more");
}

TEST(a_tile_that_unpacks_to_less_is_damaged)
{
    assert_damaged(make_file(0, SIDE * SIDE * 4 - 1, 0, -1), "to less");
}

TEST(a_checksum_that_is_wrong_or_missing_is_damage)
{
    for (long flip = 0; flip < 4; flip++) {
        assert_damaged(make_file(0, SIDE * SIDE * 4, 0, flip), "check");
    }
    for (size_t cut = 1; cut <= 4; cut++) {
        assert_damaged(make_file(0, SIDE * SIDE * 4, cut, -1), "too early");
    }
}

TEST(a_last_strip_in_full_gives_its_beginning)
{
    for (uint32_t rows = 5; rows <= 8; rows++) {
        struct bytes file = make_file(rows, (size_t)4 * COLUMNS * 4, 0, -1);
        struct reading r = read_bytes(file.data, file.len, NULL, 4096);
        assert_int_equal(r.status, STATUS_OK);
        assert_int_equal(r.n_numbers, rows * COLUMNS);
        for (size_t k = 0; k < r.n_numbers; k++) {
            double x;
            memcpy(&x, r.numbers.data + 8 * k, sizeof x);
            assert_true(x == (k < (size_t)4 * COLUMNS ? value(k) : 0));
        }
        reading_free(&r);
        bytes_free(&file);
    }
}

TEST(a_last_strip_beyond_a_full_one_is_damaged)
{
    assert_damaged(make_file(5, (size_t)4 * COLUMNS * 4 + 1, 0, -1), "to more");
    assert_damaged(make_file(5, (size_t)COLUMNS * 4 - 1, 0, -1), "to less");
}

/* A strip whose JPEG is narrower than the directory says: libtiff warns, and leaves the rest. */
TEST(a_jpeg_that_is_too_small_is_damaged)
{
    const struct tif_spec s = {.rows = SIDE,
                               .columns = SIDE,
                               .bits = 8,
                               .format = SAMPLEFORMAT_UINT,
                               .scheme = COMPRESSION_JPEG,
                               .value = value};
    struct bytes file = make_tif(&s);
    uint32_t directory;
    uint16_t tag;
    memcpy(&directory, file.data + 4, sizeof directory);
    memcpy(&tag, file.data + directory + 2, sizeof tag);
    assert_int_equal(tag, TIFFTAG_IMAGEWIDTH); /* tags come in order */
    file.data[directory + 2 + 8] = SIDE + 8;
    assert_damaged(file, "JPEG");
}

int main(void)
{
    return unit_run(NULL, NULL);
}
