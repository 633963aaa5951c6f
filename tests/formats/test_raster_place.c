/*
 * NODATA and the place of rasters: they are carried verbatim, from text to tags and back, or
 * refused.
 */
#include "tests/support/raster_support.h"

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

TEST(nodata_is_said_in_the_type_of_the_cells)
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

TEST(a_place_survives_the_way_from_text_to_text)
{
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

TEST(a_place_survives_the_way_from_text_to_tags)
{
    struct grid *const g = make_grid(3, 2);
    for (int k = 0; k < 2; k++) {
        g->is_centred = k == 1;
        g->cell_y = 20;
        const struct raster raster = {.grid = g};
        struct reading r = read_raster(&raster);
        const struct grid *const got = r.info->grid;
        assert_int_equal(grid_check_aligned("a", g, "b", got), STATUS_OK);
        assert_true(got->has_origin && grid_extent_of(got).north == (k == 1 ? 2050 : 2060));
        assert_true(grid_extent_of(got).west == (k == 1 ? 995 : 1000));
        assert_int_equal(got->n_tags, 2); /* and none of a coordinate system, that it has not */
        assert_null(grid_find_tag(got, GRID_GEO_KEYS));
        reading_free(&r);
    }
    grid_free(g);
}

TEST(tags_are_carried_verbatim)
{
    static const double matrix[16] = {3, 4, 0, 100, 4, -3, 0, 200, 0, 0, 0, 0, 0, 0, 0, 1};
    static const uint16_t keys[] = {1, 1, 0, 2, 1025, 0, 1, 2, 1026, 34737, 5, 0};
    static const double extra[] = {0.5, 1.5, 2.5};
    static const char text[] = "here|";
    struct grid *const g = make_grid(3, 2);
    g->has_origin = false;
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

/* A scale below 0 would be one above 0 to GDAL. */
TEST(rows_that_go_north_are_said_by_a_matrix)
{
    struct grid *const g = make_grid(3, 2);
    g->has_origin = true;
    g->x = 1000;
    g->y = 2030;
    g->cell_x = 5;
    g->cell_y = -10;
    const struct raster raster = {.grid = g};
    struct reading r = read_raster(&raster);
    const struct grid *const got = r.info->grid;
    assert_null(grid_find_tag(got, GRID_PIXEL_SCALE));
    assert_true(got->has_origin && got->x == 1000 && got->y == 2030);
    assert_true(got->cell_x == 5 && got->cell_y == -10);
    assert_int_equal(r.info->n_warnings, 0);
    reading_free(&r);
    grid_free(g);
}

/* A cell is an area without keys too; that it is a point, and any other key, must be said. */
TEST(keys_that_say_nothing_are_left_out)
{
    static const double scale[] = {10, 10, 0}, tie[] = {0, 0, 0, 1000, 2000, 0};
    static const struct {
        uint16_t keys[12];
        size_t n;
        bool stays;
    } cases[] = {
        {{1, 1, 0, 1, 1025, 0, 1, 1}, 8, false},
        {{1, 1, 1, 1, 1025, 0, 1, 1}, 8, false},
        {{1, 1, 0, 1, 1025, 0, 1, 2}, 8, true},
        {{1, 1, 0, 1, 1024, 0, 1, 1}, 8, true},
        {{1, 1, 0, 2, 1024, 0, 1, 1, 1025, 0, 1, 1}, 12, true},
        {{1, 1, 0, 2, 1025, 0, 1, 1, 3072, 0, 1, 32633}, 12, true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct grid *const g = make_grid(3, 2);
        assert_int_equal(grid_add_tag(g, GRID_PIXEL_SCALE, GRID_DOUBLE, 3, scale), STATUS_OK);
        assert_int_equal(grid_add_tag(g, GRID_TIEPOINT, GRID_DOUBLE, 6, tie), STATUS_OK);
        assert_int_equal(grid_add_tag(g, GRID_GEO_KEYS, GRID_SHORT, cases[i].n, cases[i].keys),
                         STATUS_OK);
        const struct raster raster = {.grid = g};
        struct reading r = read_raster(&raster);
        assert_int_equal(r.info->grid->n_tags, cases[i].stays ? 3 : 2);
        assert_int_equal(grid_find_tag(r.info->grid, GRID_GEO_KEYS) != NULL, cases[i].stays);
        reading_free(&r);
        grid_free(g);
    }
}

TEST(text_refuses_what_it_cannot_say)
{
    struct grid *const g = make_grid(3, 2);
    struct raster raster = {.grid = g, .format = RASTER_ASC};
    assert_int_equal(raster_check(&raster, "in.x"), STATUS_OK);
    g->is_rotated = true;
    assert_int_equal(raster_check(&raster, "in.x"), STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(status_message(), "raster=tif"));
    g->is_rotated = false;
    g->cell_y = -10;
    assert_int_equal(raster_check(&raster, "in.x"), STATUS_BAD_ARGUMENT);
    raster.format = RASTER_TIF;
    assert_int_equal(raster_check(&raster, "in.x"), STATUS_OK);
    grid_free(g);
}

TEST(a_prj_lies_beside_text)
{
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
    return unit_run(NULL, NULL);
}
