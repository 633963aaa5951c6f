/*
 * Rasters as results: what is written reads back as the same bits, wherever and in whatever order
 * its pieces were made; NODATA and the place are carried. What GDAL says of them:
 * test_raster_gdal.c.
 */
#include "formats/raster_file.h"
#include "tests/raster_support.h"

#include <fcntl.h>
#include <pthread.h>

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

static void every_raster_reads_back_as_the_same_bits(void **state)
{
    static const size_t sides[][2] = {{1, 1},     {1, 257},   {257, 1},   {31, 33},
                                      {256, 256}, {257, 255}, {600, 700}, {2, 90000}};
    (void)state;
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
            assert_int_equal(grid_same_place("written", g, "read", r.info->grid), STATUS_OK);
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

static void pieces_may_be_asked_for_in_any_order(void **state)
{
    (void)state;
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
            for (uint64_t i = 0; i < m->n_pieces; i++) {
                /* backwards, again from the front, and in strides of 7, which divides neither */
                order[i] = way == 0 ? m->n_pieces - 1 - i : way == 1 ? i : 7 * i % m->n_pieces;
            }
            if (way == 2 && m->n_pieces % 7 == 0) {
                continue;
            }
            struct bytes again = join_in_order(m, order);
            assert_int_equal(again.len, whole.len);
            assert_memory_equal(again.data, whole.data, whole.len);
            bytes_free(&again);
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

static void several_threads_make_the_same_file(void **state)
{
    (void)state;
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
    assert_int_equal(joined.len, whole.len);
    assert_memory_equal(joined.data, whole.data, whole.len);
    free(team.pieces);
    bytes_free(&joined);
    bytes_free(&whole);
    result_free(&r);
    free(c.data);
    grid_free(g);
}

static void what_is_kept_stays_within_its_bound(void **state)
{
    (void)state;
    struct grid *const g = make_grid(500, 700);
    for (int type = 0; type < 3; type++) {
        const struct raster raster = {.grid = g, .type = (enum raster_type)type};
        struct cells c = make_cells(raster.type, g->rows * g->columns, false);
        uint64_t random = 1;
        for (size_t i = 0; i < g->rows * g->columns * c.width; i++) {
            random = random * 6364136223846793005 + 1442695040888963407;
            c.data[i] = (unsigned char)(random >> 56); /* what deflate cannot shrink */
        }
        struct bytes file = make_file(&raster, &c);
        assert_true(file.len <= raster_kept_bytes(&raster) + 4096);
        bytes_free(&file);
        free(c.data);
    }
    assert_int_equal(raster_kept_bytes(&(struct raster){.grid = g, .format = RASTER_ASC}), 0);
    grid_free(g);
}

static void the_longest_numbers_fit_a_piece(void **state)
{
    (void)state;
    const size_t n = 3 * RASTER_TEXT_CELLS + 1;
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

static void the_file_at_once_is_the_file_in_pieces(void **state)
{
    (void)state;
    struct grid *const g = make_grid(300, 400);
    struct cells c = make_cells(RASTER_F64, g->rows * g->columns, true);
    struct raster raster = {.grid = g};
    struct bytes pieces = make_file(&raster, &c), whole = {.len = 0};
    assert_int_equal(raster_encode(&raster, c.data, &whole), STATUS_OK);
    assert_int_equal(whole.len, pieces.len);
    assert_memory_equal(whole.data, pieces.data, pieces.len);
    raster.format = RASTER_ASC;
    assert_int_equal(raster_encode(&raster, c.data, &whole), STATUS_OK);
    struct reading r = read_bytes(whole.data, whole.len, NULL, 1 << 16);
    assert_same_cells(&r, &c, RASTER_F64);
    reading_free(&r);
    /* and as a result */
    struct result result;
    struct bytes copy = {.len = 0};
    assert_int_equal(bytes_append(&copy, whole.data, whole.len), STATUS_OK);
    assert_int_equal(result_init(&result), STATUS_OK);
    assert_int_equal(result_add_bytes(&result, "snapshots/000001.asc.gz", &copy), STATUS_OK);
    assert_null(copy.data);
    assert_string_equal(result.files[0].name, "snapshots/000001.asc.gz");
    assert_int_equal(result.files[0].kind, PACK_RAW);
    struct bytes joined = join(last_member(&result));
    assert_int_equal(joined.len, whole.len);
    assert_memory_equal(joined.data, whole.data, whole.len);
    bytes_free(&joined);
    result_free(&result);
    bytes_free(&whole);
    bytes_free(&pieces);
    free(c.data);
    grid_free(g);
}

static void the_pieces_pack_to_the_same_file(void **state)
{
    (void)state;
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
    struct squeezer *squeezer;
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(pack_open(dir, "map.tif", PACK_RAW, &pack), STATUS_OK);
    assert_int_equal(squeezer_new(6, &squeezer), STATUS_OK);
    for (uint64_t i = 0; i < m->n_pieces; i++) {
        struct bytes raw = {.len = 0};
        assert_int_equal(m->piece(m->context, i, &raw), STATUS_OK);
        assert_int_equal(
            pack_squeeze(squeezer, PACK_RAW, raw.data, raw.len, i + 1 == m->n_pieces, &piece),
            STATUS_OK);
        assert_int_equal(pack_append(pack, &piece), STATUS_OK);
        bytes_free(&raw);
    }
    uint64_t bytes;
    uint32_t crc;
    assert_int_equal(pack_close(pack, &bytes, &crc), STATUS_OK);
    assert_int_equal(bytes, expected.len);
    assert_int_equal(crc, crc32_z(0, expected.data, expected.len));
    squeezer_free(squeezer);
    bytes_free(&piece.packed);
    bytes_free(&expected);
    result_free(&r);
    assert_int_equal(unlinkat(dir, "map.tif", 0), 0);
    close(dir);
    assert_int_equal(rmdir(folder), 0);
    free(c.data);
    grid_free(g);
}

static void a_fetch_that_fails_is_passed_on_and_may_be_tried_again(void **state)
{
    (void)state;
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

/* BigTIFF begins at 4 GiB of tiles; its head is asked for here around a small file's. */
static void a_big_head_fits_the_same_tiles(void **state)
{
    (void)state;
    struct grid *const g = make_grid(300, 600);
    struct cells c = make_cells(RASTER_F64, g->rows * g->columns, true);
    struct raster_source source = {.raster = {.grid = g, .has_nodata = true, .nodata = -9999},
                                   .grid = g,
                                   .fetch = fetch,
                                   .context = &c};
    struct raster_tif *tif;
    struct bytes all = {.len = 0}, file = {.len = 0};
    uint64_t end;
    assert_int_equal(raster_tif_new(&source, &tif), STATUS_OK);
    const uint64_t n = raster_tif_pieces(tif);
    for (uint64_t i = 0; i <= n / 2; i++) {
        assert_int_equal(raster_tif_piece(tif, i, &all), STATUS_OK);
    }
    assert_int_equal(raster_tif_head(tif, true, &file, &end), STATUS_OK);
    for (uint64_t i = n / 2 + 1; i < n; i++) {
        assert_int_equal(raster_tif_piece(tif, i, &file), STATUS_OK);
    }
    assert_int_equal(end, file.len);
    assert_memory_equal(file.data, "II+\0", 4);
    struct reading r = read_bytes(file.data, file.len, NULL, 1 << 16);
    assert_same_cells(&r, &c, RASTER_F64);
    assert_true(r.info->grid->nodata == -9999 && grid_west(r.info->grid) == 1000);
    reading_free(&r);
    bytes_free(&file);
    bytes_free(&all);
    raster_tif_free(tif); /* the grid with it */
    free(c.data);
}

/* --- NODATA and place ------------------------------------------------------------------------- */

/* What the table reader says of a raster of 3 x 2 zeros. */
static struct reading read_raster(const struct raster *raster)
{
    struct cells c = {.data = calloc(6, 8), .width = raster_type_bytes(raster->type)};
    struct bytes file = make_file(raster, &c);
    struct reading r = read_bytes(file.data, file.len, NULL, 4096);
    if (r.status) {
        fail_msg("%s", status_message());
    }
    bytes_free(&file);
    free(c.data);
    return r;
}

static void nodata_is_said_in_the_type_of_the_cells(void **state)
{
    static const struct {
        enum raster_type type;
        double given, said;
        bool has;
    } cases[] = {{RASTER_F64, -9999, -9999, true},
                 {RASTER_F64, 0.1, 0.1, true},
                 {RASTER_F64, NAN, NAN, true},
                 {RASTER_F32, -9999, -9999, true},
                 {RASTER_F32, 0.1, (double)0.1f, true},
                 {RASTER_F32, NAN, NAN, true},
                 {RASTER_I32, -1, -1, true},
                 {RASTER_I32, 0.5, 0, false},
                 {RASTER_I32, NAN, 0, false},
                 {RASTER_I32, 3e9, 0, false},
                 {RASTER_F64, 0, 0, true}};
    (void)state;
    struct grid *const g = make_grid(3, 2);
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (int format = 0; format < 2; format++) {
            const struct raster raster = {.grid = g,
                                          .format = (enum raster_format)format,
                                          .type = cases[i].type,
                                          .has_nodata = true,
                                          .nodata = cases[i].given};
            struct reading r = read_raster(&raster);
            const struct grid *const got = r.info->grid;
            assert_int_equal(got->has_nodata, cases[i].has);
            assert_true(!got->has_nodata || got->nodata == cases[i].said ||
                        (isnan(got->nodata) && isnan(cases[i].said)));
            reading_free(&r);
        }
    }
    grid_free(g);
}

static void a_place_survives_the_way_from_text_to_text(void **state)
{
    (void)state;
    struct grid *const g = make_grid(3, 2);
    g->x = 0.1;
    g->y = -1e-7;
    g->cell_x = 0.00027777777777777778;
    for (int k = 0; k < 4; k++) {
        g->is_centred = k & 1;
        g->cell_y = k & 2 ? g->cell_x : 0.5;
        const struct raster raster = {.grid = g, .format = RASTER_ASC};
        struct reading r = read_raster(&raster);
        const struct grid *const got = r.info->grid;
        assert_true(got->x == g->x && got->y == g->y && got->is_centred == g->is_centred);
        assert_true(got->cell_x == g->cell_x && got->cell_y == g->cell_y);
        reading_free(&r);
    }
    grid_free(g);
}

static void a_place_survives_the_way_from_text_to_tags(void **state)
{
    (void)state;
    struct grid *const g = make_grid(3, 2);
    for (int k = 0; k < 2; k++) {
        g->is_centred = k == 1;
        g->cell_y = 20;
        const struct raster raster = {.grid = g};
        struct reading r = read_raster(&raster);
        const struct grid *const got = r.info->grid;
        assert_int_equal(grid_same_place("a", g, "b", got), STATUS_OK);
        assert_true(got->has_place && grid_north(got) == (k == 1 ? 2050 : 2060));
        assert_true(grid_west(got) == (k == 1 ? 995 : 1000));
        assert_int_equal(got->n_tags, 3);
        reading_free(&r);
    }
    grid_free(g);
}

static void tags_are_carried_verbatim(void **state)
{
    static const double matrix[16] = {3, 4, 0, 100, 4, -3, 0, 200, 0, 0, 0, 0, 0, 0, 0, 1};
    static const uint16_t keys[] = {1, 1, 0, 2, 1025, 0, 1, 2, 1026, 34737, 5, 0};
    static const double extra[] = {0.5, 1.5, 2.5};
    static const char text[] = "here|";
    (void)state;
    struct grid *const g = make_grid(3, 2);
    g->has_place = false;
    assert_int_equal(grid_add_tag(g, GRID_GEO_ASCII, GRID_ASCII, sizeof text, text), STATUS_OK);
    assert_int_equal(grid_add_tag(g, GRID_TRANSFORMATION, GRID_DOUBLE, 16, matrix), STATUS_OK);
    assert_int_equal(grid_add_tag(g, GRID_GEO_KEYS, GRID_SHORT, COUNT(keys), keys), STATUS_OK);
    assert_int_equal(grid_add_tag(g, GRID_GEO_DOUBLES, GRID_DOUBLE, 3, extra), STATUS_OK);
    const struct raster raster = {.grid = g};
    struct reading r = read_raster(&raster);
    assert_int_equal(r.info->grid->n_tags, 4);
    for (size_t i = 0; i < g->n_tags; i++) {
        static const size_t widths[] = {[GRID_ASCII] = 1, [GRID_SHORT] = 2, [GRID_DOUBLE] = 8};
        const struct grid_tag *const got = grid_find_tag(r.info->grid, g->tags[i].number);
        assert_non_null(got);
        assert_int_equal(got->type, g->tags[i].type);
        assert_int_equal(got->count, g->tags[i].count);
        assert_memory_equal(got->values, g->tags[i].values, got->count * widths[got->type]);
    }
    reading_free(&r);
    grid_free(g);
}

static void text_refuses_what_it_cannot_say(void **state)
{
    (void)state;
    struct grid *const g = make_grid(3, 2);
    struct raster raster = {.grid = g, .format = RASTER_ASC};
    assert_int_equal(raster_check(&raster, "in.x"), STATUS_OK);
    g->is_rotated = true;
    assert_int_equal(raster_check(&raster, "in.x"), STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(status_message(), "raster = tif"));
    g->is_rotated = false;
    g->cell_y = -10;
    assert_int_equal(raster_check(&raster, "in.x"), STATUS_BAD_ARGUMENT);
    raster.format = RASTER_TIF;
    assert_int_equal(raster_check(&raster, "in.x"), STATUS_OK);
    grid_free(g);
}

static void a_prj_lies_beside_text(void **state)
{
    (void)state;
    struct grid *const g = make_grid(3, 2);
    assert_int_equal(grid_set_prj(g, "PROJCS[\"x\"]"), STATUS_OK);
    const struct raster raster = {.grid = g, .format = RASTER_ASC};
    struct cells c = {.data = calloc(6, 8), .width = 8};
    struct result r = make_result(&raster, &c);
    assert_int_equal(r.n_files, 2);
    assert_string_equal(r.files[0].name, "map.prj");
    assert_string_equal(r.files[1].name, "map.asc.gz");
    struct bytes prj = join(&r.files[0].members[0]);
    assert_int_equal(prj.len, 12);
    assert_memory_equal(prj.data, "PROJCS[\"x\"]\n", 12);
    bytes_free(&prj);
    result_free(&r);
    free(c.data);
    grid_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_raster_reads_back_as_the_same_bits),
        cmocka_unit_test(pieces_may_be_asked_for_in_any_order),
        cmocka_unit_test(several_threads_make_the_same_file),
        cmocka_unit_test(what_is_kept_stays_within_its_bound),
        cmocka_unit_test(the_longest_numbers_fit_a_piece),
        cmocka_unit_test(the_file_at_once_is_the_file_in_pieces),
        cmocka_unit_test(the_pieces_pack_to_the_same_file),
        cmocka_unit_test(a_fetch_that_fails_is_passed_on_and_may_be_tried_again),
        cmocka_unit_test(a_big_head_fits_the_same_tiles),
        cmocka_unit_test(nodata_is_said_in_the_type_of_the_cells),
        cmocka_unit_test(a_place_survives_the_way_from_text_to_text),
        cmocka_unit_test(a_place_survives_the_way_from_text_to_tags),
        cmocka_unit_test(tags_are_carried_verbatim),
        cmocka_unit_test(text_refuses_what_it_cannot_say),
        cmocka_unit_test(a_prj_lies_beside_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
