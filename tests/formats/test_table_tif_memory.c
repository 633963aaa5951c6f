/*
 * What decoding a GeoTIFF holds beside its chunks, and how chunks are cut so that it is little.
 */
#include "tests/support/tif_support.h"

static size_t decode_bytes(const struct bytes *file, struct table_load load)
{
    struct table *t;
    assert_int_equal(table_open(memory_source(file->data, file->len), NULL, &t), STATUS_OK);
    const size_t bytes = table_decode_bytes(table_info(t), &load);
    table_free(t);
    return bytes;
}

enum { STATE_BYTES = 1 << 20 }; /* more than a handle holds of a file of few strips */

/* Eight strips of 2 MiB. */
static struct tif_spec eight_bands(void)
{
    return (struct tif_spec){.rows = 4096,
                             .columns = 512,
                             .bits = 64,
                             .format = SAMPLEFORMAT_IEEEFP,
                             .strip_rows = 512,
                             .value = halves};
}

TEST(decoding_holds_as_many_bands_as_threads_and_chunks_can_reach)
{
    static const struct {
        struct table_load load;
        size_t n;
    } cases[] = {
        {{1, 6, 1 << 20}, 1},    {{4, 12, 4 << 20}, 4},    {{4, 12, 1 << 20}, 4},
        {{64, 132, 4 << 20}, 8}, {{64, 132, 64 << 10}, 6}, {{4, 12, 64 << 10}, 2},
    };
    struct tif_spec s = eight_bands();
    struct bytes file = make_tif(&s);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const size_t n = cases[i].n;
        assert_in_range(decode_bytes(&file, cases[i].load), n << 21, n * ((2 << 20) + STATE_BYTES));
    }
    bytes_free(&file);
    s.scheme = COMPRESSION_ADOBE_DEFLATE; /* a strip as stored, too */
    file = make_tif(&s);
    const size_t stored = file.len / 8 - 1024, least = (2 << 20) + stored;
    assert_in_range(decode_bytes(&file, (struct table_load){1, 6, 1 << 20}), least,
                    least + STATE_BYTES);
    bytes_free(&file);
    const char *const csv = "1,2\n3,4\n";
    file = (struct bytes){.data = (unsigned char *)(uintptr_t)csv, .len = strlen(csv)};
    assert_int_equal(decode_bytes(&file, (struct table_load){4, 12, 1 << 20}), 0);
}

TEST(of_a_tile_only_the_rows_of_the_image_are_held)
{
    static const struct table_load load = {8, 20, 1 << 20};
    struct tif_spec s = {.rows = 16,
                         .columns = 16,
                         .bits = 64,
                         .format = SAMPLEFORMAT_IEEEFP,
                         .scheme = COMPRESSION_ADOBE_DEFLATE,
                         .tile = 2048,
                         .value = halves};
    struct bytes file = make_tif(&s);
    const size_t used = 16 * 2048 * sizeof(double);
    assert_in_range(decode_bytes(&file, load), used + file.len, used + file.len + STATE_BYTES);
    assert_reads(&s, &file, 1 << 12, 0, 0);
    bytes_free(&file);
    s.scheme = COMPRESSION_NONE; /* read into place, in one piece */
    file = make_tif(&s);
    assert_in_range(decode_bytes(&file, load), 32 << 20, (32 << 20) + STATE_BYTES);
    assert_reads(&s, &file, 1 << 12, 0, 0);
    bytes_free(&file);
}

/* A strip that claims the whole file is read as far as a stream of its size may go. */
TEST(of_a_strip_as_stored_no_more_is_held_than_it_can_need)
{
    enum { BEHIND = 4 << 20, COUNT_TAG = 279 };
    struct tif_spec s = {.rows = 16,
                         .columns = 16,
                         .bits = 64,
                         .format = SAMPLEFORMAT_IEEEFP,
                         .scheme = COMPRESSION_ADOBE_DEFLATE,
                         .value = halves};
    struct bytes file = make_tif(&s);
    const uint32_t n = BEHIND;
    uint32_t at;
    unsigned char *const behind = calloc(1, BEHIND);
    assert_int_equal(bytes_append(&file, behind, BEHIND), STATUS_OK);
    free(behind);
    memcpy(&at, file.data + 4, sizeof at);
    for (at += 2; file.data[at] + 256 * file.data[at + 1] != COUNT_TAG; at += 12) {
    }
    file.data[at + 2] = TIFF_LONG;
    memcpy(file.data + at + 8, &n, sizeof n);
    assert_in_range(decode_bytes(&file, (struct table_load){1, 6, 1 << 20}), 1, STATE_BYTES);
    assert_reads(&s, &file, 1 << 12, 0, 0);
    bytes_free(&file);
}

TEST(a_chunk_holds_whole_bands_or_is_within_one)
{
    enum { BAND = 512 * 512, CELLS = 8 * BAND };
    static const size_t rooms[] = {1000, BAND - 1, BAND, BAND + 1, 3 * BAND + 5, 2 * CELLS};
    struct tif_spec s = eight_bands();
    struct bytes file = make_tif(&s);
    for (size_t i = 0; i < COUNT(rooms); i++) {
        const size_t room = rooms[i];
        struct table *t;
        struct table_chunk c = {.values_cap = room * sizeof(double)};
        size_t at = 0, n_chunks = 0;
        bool end = false;
        assert_int_equal(table_open(memory_source(file.data, file.len), NULL, &t), STATUS_OK);
        while (true) {
            assert_int_equal(table_next(t, &c, &end), STATUS_OK);
            if (end) {
                break;
            }
            assert_int_equal((c.first_line - 1) * 512 + c.first_column, at);
            assert_in_range(c.n_cells, 1, room);
            if (room < BAND) {
                assert_true(at / BAND == (at + c.n_cells - 1) / BAND);
            } else {
                assert_true(at % BAND == 0 && c.n_cells % BAND == 0);
            }
            at += c.n_cells;
            n_chunks++;
        }
        assert_int_equal(at, CELLS);
        const size_t whole = room / BAND; /* no chunk is shorter than it has to be */
        assert_int_equal(n_chunks, whole == 0 ? 8 * ((BAND - 1) / room + 1) : (7 + whole) / whole);
        table_free(t);
    }
    bytes_free(&file);
}

int main(void)
{
    TIFFSetErrorHandler(loud);
    TIFFSetWarningHandler(loud);
    return unit_run(NULL, NULL);
}
