/*
 * Rasters as results: what is written reads back as the same bits, wherever and in whatever order
 * its pieces were made. NODATA and the place: test_raster_place.c; what GDAL says of them:
 * test_raster_gdal.c.
 */
#include "formats/result/raster_file.h"
#include "tests/support/raster_support.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <tiffio.h>

static void assert_same_cells(const struct reading *r, const struct cells *c, enum raster_type type)
{
    if (r->status) {
        fail_msg("reading back: %s", status_message());
    }
    for (size_t i = 0; i < r->n_numbers; i++) {
        double got, expected;
        memcpy(&got, r->numbers.data + 8 * i, 8);
        float f;
        int32_t v;
        switch (type) {
        case RASTER_F64:
            memcpy(&expected, c->data + 8 * i, 8);
            break;
        case RASTER_F32:
            memcpy(&f, c->data + 4 * i, 4);
            expected = (double)f;
            break;
        default:
            memcpy(&v, c->data + 4 * i, 4);
            expected = v;
        }
        if (type == RASTER_F32 && memcmp(&got, &expected, 8) != 0) {
            got = (double)(float)got; /* text gives the float's digits as a double */
        }
        if (!(isnan(expected) && isnan(got)) && memcmp(&got, &expected, 8) != 0) {
            fail_msg("cell %zu is %.17g, not %.17g", i, got, expected);
        }
    }
}

TEST(every_raster_reads_back_as_the_same_bits)
{
    static const size_t sides[][2] = {{1, 1},     {1, 257},   {257, 1},   {31, 33},
                                      {256, 256}, {257, 255}, {600, 700}, {2, 90000}};
    for (size_t i = 0; i < COUNT(sides); i++) {
        for (int k = 0; k < 6; k++) {
            struct grid *const g = make_grid(sides[i][0], sides[i][1]);
            const struct raster raster = {.grid = g,
                                          .format = (enum raster_format)(k & 1),
                                          .type = (enum raster_type)(k / 2)};
            struct cells c = make_cells(raster.type, g->rows * g->columns, true);
            struct bytes file = make_file(&raster, &c);
            struct reading r = read_bytes(file.data, file.len, NULL, 1 << 16);
            assert_same_cells(&r, &c, raster.type);
            assert_int_equal(r.n_numbers, g->rows * g->columns);
            assert_int_equal(r.info->n_lines, g->rows);
            assert_int_equal(grid_check_aligned("written", g, "read", r.info->grid), STATUS_OK);
            assert_false(r.info->grid->has_nodata);
            assert_int_equal(r.info->n_warnings, 0);
            assert_int_equal(c.freed, 1);
            reading_free(&r);
            bytes_free(&file);
            free(c.data);
            grid_free(g);
        }
    }
}

/* --- pieces ----------------------------------------------------------------------------------- */

TEST(pieces_may_be_asked_for_in_any_order)
{
    struct grid *const g = make_grid(900, 1100);
    for (int format = 0; format < 2; format++) {
        const struct raster raster = {.grid = g, .format = (enum raster_format)format};
        struct cells c = make_cells(RASTER_F64, g->rows * g->columns, false);
        struct result r = make_result(&raster, &c);
        const struct result_member *const m = last_member(&r);
        const struct bytes whole = join(m);
        assert_true(m->n_pieces > 4);
        uint64_t *const order = calloc(m->n_pieces, sizeof *order);
        for (int way = 0; way < 3; way++) {
            struct result other = make_result(&raster, &c); /* that has no piece yet */
            for (uint64_t i = 0; i < m->n_pieces; i++) {
                /* backwards, again from the front, and in strides of 7, which divides neither */
                order[i] = way == 0 ? m->n_pieces - 1 - i : way == 1 ? i : 7 * i % m->n_pieces;
            }
            assert_true(way < 2 || m->n_pieces % 7 != 0);
            struct bytes again = join_in_order(last_member(&other), order);
            assert_int_equal(again.len, whole.len);
            assert_memory_equal(again.data, whole.data, whole.len);
            bytes_free(&again);
            result_free(&other);
        }
        free(order);
        bytes_free((struct bytes *)(uintptr_t)&whole);
        result_free(&r);
        free(c.data);
    }
    grid_free(g);
}

struct team {
    const struct result_member *member;
    struct bytes *pieces;
    atomic_ulong next;
    atomic_int failed;
};

static void *make_pieces(void *arg)
{
    struct team *const team = arg;
    for (;;) {
        const uint64_t i = atomic_fetch_add(&team->next, 1);
        if (i >= team->member->n_pieces) {
            return NULL;
        }
        if (team->member->piece(team->member->context, i, &team->pieces[i])) {
            atomic_fetch_add(&team->failed, 1);
        }
    }
}

TEST(several_threads_make_the_same_file)
{
    struct grid *const g = make_grid(900, 1100);
    const struct raster raster = {.grid = g, .type = RASTER_F32};
    struct cells c = make_cells(RASTER_F32, g->rows * g->columns, false);
    struct bytes whole = make_file(&raster, &c), joined = {.len = 0};
    struct result r = make_result(&raster, &c);
    struct team team = {.member = last_member(&r)};
    team.pieces = calloc(team.member->n_pieces, sizeof *team.pieces);
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, make_pieces, &team), 0);
    }
    for (size_t i = 0; i < COUNT(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(team.failed, 0);
    for (uint64_t i = 0; i < team.member->n_pieces; i++) {
        assert_int_equal(bytes_append(&joined, team.pieces[i].data, team.pieces[i].len), STATUS_OK);
        bytes_free(&team.pieces[i]);
    }
    memcpy(joined.data, team.member->header(team.member->context), PACK_HEADER_BYTES);
    assert_int_equal(joined.len, whole.len);
    assert_memory_equal(joined.data, whole.data, whole.len);
    free(team.pieces);
    bytes_free(&joined);
    bytes_free(&whole);
    result_free(&r);
    free(c.data);
    grid_free(g);
}

/* Sides are multiples of 16, 256 at most. */
TEST(a_small_grid_is_one_small_tile)
{
    static const size_t cases[][4] = {
        {1, 1, 16, 16},       {16, 16, 16, 16},   {17, 31, 32, 32},  {128, 100, 128, 112},
        {241, 256, 256, 256}, {17, 257, 32, 256}, {300, 10, 256, 16}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct grid *const g = make_grid(cases[i][0], cases[i][1]);
        const struct raster raster = {.grid = g, .type = RASTER_F32};
        struct cells c = make_cells(raster.type, g->rows * g->columns, false);
        struct bytes file = make_file(&raster, &c);
        const int fd = memfd_create("tif", MFD_CLOEXEC);
        assert_int_equal(pwrite(fd, file.data, file.len, 0), file.len);
        TIFFSetWarningHandler(NULL); /* of tags that it does not know */
        TIFF *const tif = TIFFFdOpen(fd, "made", "r");
        uint32_t rows = 0, columns = 0;
        assert_non_null(tif);
        assert_int_equal(TIFFGetField(tif, TIFFTAG_TILELENGTH, &rows), 1);
        assert_int_equal(TIFFGetField(tif, TIFFTAG_TILEWIDTH, &columns), 1);
        assert_int_equal(rows, cases[i][2]);
        assert_int_equal(columns, cases[i][3]);
        TIFFClose(tif);
        bytes_free(&file);
        free(c.data);
        grid_free(g);
    }
}

TEST(the_longest_numbers_fit_a_piece)
{
    const size_t n = 3 * (PACK_PIECE_BYTES / 27) + 1; /* one more than three pieces hold */
    struct grid *const g = make_grid(1, n);
    const struct raster raster = {.grid = g, .format = RASTER_ASC};
    struct cells c = {.data = malloc(8 * n), .width = 8};
    const double longest = -0x1.23456789abcdep-1000; /* -1.0618...e-301 */
    for (size_t i = 0; i < n; i++) {
        memcpy(c.data + 8 * i, &longest, 8);
    }
    struct result r = make_result(&raster, &c);
    const struct result_member *const m = last_member(&r);
    assert_int_equal(m->n_pieces, 4);
    for (uint64_t i = 0; i < m->n_pieces; i++) {
        struct bytes piece = {.len = 0};
        assert_int_equal(m->piece(m->context, i, &piece), STATUS_OK);
        assert_true(piece.len <= PACK_PIECE_BYTES);
        bytes_free(&piece);
    }
    result_free(&r);
    free(c.data);
    grid_free(g);
}

TEST(the_pieces_pack_to_the_same_file)
{
    struct grid *const g = make_grid(300, 400);
    struct cells c = make_cells(RASTER_F64, g->rows * g->columns, false);
    const struct raster raster = {.grid = g};
    struct bytes expected = make_file(&raster, &c);
    struct result r = make_result(&raster, &c);
    const struct result_member *const m = last_member(&r);
    char folder[] = "/tmp/raster_XXXXXX";
    assert_non_null(mkdtemp(folder));
    const int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct pack *pack;
    struct deflater *deflater;
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(pack_open(dir, "map.tif", PACK_RAW, &pack), STATUS_OK);
    assert_int_equal(deflater_new(PACK_LEVEL, &deflater), STATUS_OK);
    for (uint64_t i = 0; i < m->n_pieces; i++) {
        struct bytes raw = {.len = 0};
        assert_int_equal(m->piece(m->context, i, &raw), STATUS_OK);
        assert_int_equal(
            pack_deflate(deflater, PACK_RAW, raw.data, raw.len, i + 1 == m->n_pieces, &piece),
            STATUS_OK);
        assert_int_equal(pack_append(pack, &piece), STATUS_OK);
        bytes_free(&raw);
    }
    uint64_t bytes;
    uint32_t crc;
    assert_int_equal(pack_header(pack, m->header(m->context)), STATUS_OK);
    assert_int_equal(pack_close(pack, &bytes, &crc), STATUS_OK);
    assert_int_equal(bytes, expected.len);
    assert_int_equal(crc, crc32_z(0, expected.data, expected.len));
    const int file = openat(dir, "map.tif", O_RDONLY | O_CLOEXEC);
    unsigned char *const written = malloc(expected.len + 1);
    assert_int_equal(read(file, written, expected.len + 1), expected.len);
    assert_memory_equal(written, expected.data, expected.len);
    free(written);
    close(file);
    deflater_free(deflater);
    bytes_free(&piece.packed);
    bytes_free(&expected);
    result_free(&r);
    assert_int_equal(unlinkat(dir, "map.tif", 0), 0);
    close(dir);
    assert_int_equal(rmdir(folder), 0);
    free(c.data);
    grid_free(g);
}

TEST(a_fetch_that_fails_is_passed_on_and_may_be_tried_again)
{
    struct grid *const g = make_grid(300, 400);
    for (int format = 0; format < 2; format++) {
        const struct raster raster = {.grid = g, .format = (enum raster_format)format};
        struct cells c = make_cells(RASTER_F64, g->rows * g->columns, false);
        struct result r = make_result(&raster, &c);
        const struct result_member *const m = last_member(&r);
        struct bytes piece = {.len = 0};
        c.fails_at = 1;
        assert_int_equal(m->piece(m->context, m->n_pieces / 2, &piece), STATUS_DEVICE);
        assert_string_equal(status_message(), "no such cells");
        bytes_free(&piece);
        struct bytes file = join(m);
        struct reading reading = read_bytes(file.data, file.len, NULL, 1 << 16);
        assert_same_cells(&reading, &c, RASTER_F64);
        reading_free(&reading);
        bytes_free(&file);
        result_free(&r);
        assert_int_equal(c.freed, 1);
        free(c.data);
    }
    grid_free(g);
}

/* BigTIFF begins at 4 GiB of tiles; its directory is asked for here behind a small file's. */
TEST(a_big_directory_fits_the_same_tiles)
{
    struct grid *const g = make_grid(300, 600);
    struct cells c = make_cells(RASTER_F64, g->rows * g->columns, true);
    const struct raster raster = {.grid = g, .has_nodata = true, .nodata = -9999};
    struct result result = make_result(&raster, &c);
    const struct result_member *const m = last_member(&result);
    struct bytes file = join(m), end = {.len = 0};
    assert_memory_equal(file.data, "II*\0", 4);
    assert_int_equal(raster_tif_end(m->context, false, &end), STATUS_OK);
    assert_memory_equal(file.data + file.len - end.len, end.data, end.len);
    file.len -= end.len;
    assert_int_equal(raster_tif_end(m->context, true, &file), STATUS_OK);
    memcpy(file.data, m->header(m->context), PACK_HEADER_BYTES);
    assert_memory_equal(file.data, "II+\0", 4);
    struct reading r = read_bytes(file.data, file.len, NULL, 1 << 16);
    assert_same_cells(&r, &c, RASTER_F64);
    assert_true(r.info->grid->nodata == -9999 && grid_extent_of(r.info->grid).west == 1000);
    reading_free(&r);
    bytes_free(&file);
    bytes_free(&end);
    result_free(&result);
    grid_free(g);
    free(c.data);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
