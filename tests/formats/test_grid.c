/*
 * test_grid - grids at the same place, and copies of grids.
 */
#include "formats/geo/grid_scale.h"
#include "tests/support/table_support.h"

static struct grid grid_at(size_t rows, size_t columns, double x, double y, double cell)
{
    return (struct grid){.rows = rows,
                         .columns = columns,
                         .has_origin = true,
                         .x = x,
                         .y = y,
                         .cell_x = cell,
                         .cell_y = cell};
}

TEST(grids_at_the_same_place_agree)
{
    const struct grid a = grid_at(610, 496, 0, 0, 10);
    struct grid b = a;
    assert_int_equal(grid_check_aligned("a", &a, "b", &b), STATUS_OK);
    b.is_centred = true; /* the same place, told otherwise */
    b.x = b.y = 5;
    assert_int_equal(grid_check_aligned("a", &a, "b", &b), STATUS_OK);
    b.x = 5.09;
    assert_int_equal(grid_check_aligned("a", &a, "b", &b), STATUS_OK);
    b.x = 5.11;
    assert_int_equal(grid_check_aligned("dem", &a, "source", &b), STATUS_BAD_INPUT);
    assert_string_equal(status_message(),
                        "the grids differ in place: dem is x 0 to 4960, y 0 to 6100 by cells of 10 "
                        "x 10, source is x 0.11 to 4960.11, y 0 to 6100 by cells of 10 x 10; cut "
                        "or warp one to the other's cells");
    b = grid_at(610, 496, 0, 0, 10.001); /* half a metre apart at the far edge */
    assert_int_equal(grid_check_aligned("a", &a, "b", &b), STATUS_BAD_INPUT);
    b.has_origin = false;
    assert_int_equal(grid_check_aligned("a", &a, "b", &b), STATUS_OK);
    b.rows = 609;
    assert_int_equal(grid_check_aligned("dem", &a, "source", &b), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), "dem is 610 rows x 496 columns"));
    assert_non_null(strstr(status_message(), "source is 609 rows x 496 columns"));
    b = grid_at(610, 496, NAN, 0, 10);
    assert_int_equal(grid_check_aligned("a", &a, "b", &b), STATUS_BAD_INPUT);
}

TEST(a_copy_of_a_grid_owns_what_it_holds)
{
    static const uint16_t keys[] = {1, 1, 0, 1, 1025, 0, 1, 2};
    static const double scale[] = {2, 3, 0}, tie[] = {0, 0, 0, 100, 200, 0};
    struct grid *g, *copy;
    assert_int_equal(grid_new(4, 5, &g), STATUS_OK);
    assert_int_equal(grid_add_tag(g, GRID_GEO_KEYS, GRID_SHORT, 8, keys), STATUS_OK);
    assert_int_equal(grid_add_tag(g, GRID_PIXEL_SCALE, GRID_DOUBLE, 3, scale), STATUS_OK);
    assert_int_equal(grid_add_tag(g, GRID_TIEPOINT, GRID_DOUBLE, 6, tie), STATUS_OK);
    assert_int_equal(grid_set_prj(g, "abc"), STATUS_OK);
    assert_int_equal(grid_georeference_by_tags(g, "in.x"), STATUS_OK);
    assert_int_equal(grid_copy(g, &copy), STATUS_OK);
    grid_free(g);
    assert_int_equal(copy->n_tags, 3);
    assert_memory_equal(grid_find_tag(copy, GRID_GEO_KEYS)->values, keys, sizeof keys);
    assert_null(grid_find_tag(copy, GRID_TRANSFORMATION));
    assert_string_equal(copy->prj, "abc");
    /* point: (100, 200) is the centre of the first cell */
    assert_true(copy->has_origin && copy->is_centred);
    assert_true(grid_extent_of(copy).west == 99 && grid_extent_of(copy).north == 201.5);
    assert_true(grid_extent_of(copy).east == 109 && grid_extent_of(copy).south == 189.5);
    grid_free(copy);
    grid_free(NULL);
}

/* The header says one thing and the cells another, each as their program prints floats. */
TEST(nodata_is_the_same_number_in_other_digits)
{
    static const struct {
        double nodata, cell;
        bool same;
    } cases[] = {{-9999.9, -9999.900390625, true},
                 {-9999.900390625, -9999.9, true},
                 {1e20, 100000002004087734272.0, true},
                 {-1e30, -1.0000000150474662e30, true},
                 {9.96921e36, 9.969209968386869e36, true},
                 {1e-38, 9.99999935e-39, true},
                 {-3.4e38, -3.4028234663852886e38, true},
                 {-1.7976931348623157e308, -1.797693e308, true},
                 {-3.4e38, 3.4028234663852886e38, false},
                 {-9999, -9999, true},
                 {-9999, -9998.99, false},
                 {0, 0, true},
                 {0, 1e-50, false},
                 {1e-50, 0, false},
                 {1e20, -1e20, false},
                 {-9999, NAN, true},
                 {NAN, NAN, true},
                 {NAN, 1, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (grid_matches_nodata(cases[i].nodata, cases[i].cell) != cases[i].same) {
            fail_msg("NODATA %.17g, cell %.17g", cases[i].nodata, cases[i].cell);
        }
    }
}

/* Each key that tells of a coordinate system, the last one of its file; 32767 tells nothing. */
TEST(systems_differ_in_any_key_that_both_have)
{
    static const uint16_t keys[] = {1024, 2048, 3072, 3074, 3076};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const uint16_t values[] = {2, 3, 32767, 0};
        for (size_t v = 0; v < 4; v++) {
            struct grid a = grid_at(6, 7, 0, 0, 1), b = a;
            uint16_t of_a[] = {1, 1, 0, 2, 1025, 0, 1, 1, keys[k], 0, 1, 2}, of_b[12];
            memcpy(of_b, of_a, sizeof of_b);
            of_b[11] = values[v];
            assert_int_equal(grid_add_tag(&a, GRID_GEO_KEYS, GRID_SHORT, 12, of_a), STATUS_OK);
            assert_int_equal(grid_add_tag(&b, GRID_GEO_KEYS, GRID_SHORT, 12, of_b), STATUS_OK);
            if (grid_systems_differ(&a, &b) != (v == 1) || grid_key(&b, keys[k]) != values[v]) {
                fail_msg("key %d, %d", keys[k], values[v]);
            }
            free(a.tags[0].values);
            free(b.tags[0].values);
        }
    }
}

/* The system is the projected one unless the model is geographic; a code whose unit is the metre is
 * not that of a map in feet. */
TEST(the_code_of_a_system_is_that_of_its_model_and_unit)
{
    enum { MODEL = 1024, CITATION = 1026, GEODETIC = 2048, PROJECTED = 3072, UNIT = 3076 };
    static const char imagine[] = "IMAGINE GeoTIFF Support\nProjection Name = x\n"
                                  "Units = international_FeeT\nGeoTIFF Units = |UTM\nUnits = feet|";
    static const struct {
        uint16_t keys[20];
        unsigned code;
        double metres;
        const char *name;
    } cases[] = {
        {{3, MODEL, 0, 1, 32767, GEODETIC, 0, 1, 4326, UNIT, 0, 1, 9001}, 0, 1, ""},
        {{3, MODEL, 0, 1, 1, GEODETIC, 0, 1, 4326, PROJECTED, 0, 1, 32633}, 32633, 1, "EPSG:32633"},
        {{3, MODEL, 0, 1, 1, GEODETIC, 0, 1, 4326, PROJECTED, 0, 1, 32767}, 0, 0, ""},
        {{2, MODEL, 0, 1, 2, GEODETIC, 0, 1, 4326}, 4326, 0, "EPSG:4326"},
        {{2, MODEL, 0, 1, 2, GEODETIC, 0, 1, 4490}, 4490, 0, "EPSG:4490"},
        {{3, MODEL, 0, 1, 2, GEODETIC, 0, 1, 4326, PROJECTED, 0, 1, 2853}, 4326, 0, "EPSG:4326"},
        {{1, PROJECTED, 0, 1, 2853}, 2853, 1, "EPSG:2853"},
        {{2, PROJECTED, 0, 1, 2853, UNIT, 0, 1, 9001}, 2853, 1, "EPSG:2853"},
        {{2, PROJECTED, 0, 1, 2853, UNIT, 0, 1, 9003}, 0, GRID_SURVEY_FOOT_M, ""},
        {{2, PROJECTED, 0, 1, 2853, UNIT, 0, 1, 9005}, 0, 0, ""},
        {{2, PROJECTED, 0, 1, 2263, UNIT, 0, 1, 9003}, 2263, GRID_SURVEY_FOOT_M, "EPSG:2263"},
        {{2, CITATION, GRID_GEO_ASCII, 99, 0, PROJECTED, 0, 1, 2838},
         0,
         0.3048,
         "IMAGINE GeoTIFF Support"},
        {{2, CITATION, GRID_GEO_ASCII, 99, 88, PROJECTED, 0, 1, 2838}, 2838, 1, "EPSG:2838"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct grid g = grid_at(6, 7, 0, 0, 1);
        uint16_t keys[24] = {1, 1, 0};
        char name[GRID_SYSTEM_BYTES];
        memcpy(keys + 3, cases[i].keys, sizeof cases[i].keys);
        assert_int_equal(
            grid_add_tag(&g, GRID_GEO_KEYS, GRID_SHORT, 4 * (keys[3] + (size_t)1), keys),
            STATUS_OK);
        assert_int_equal(grid_add_tag(&g, GRID_GEO_ASCII, GRID_ASCII, sizeof imagine, imagine),
                         STATUS_OK);
        const struct grid_scale scale = grid_scale_of(&g);
        grid_system_name(&g, name);
        if (grid_epsg(&g) != cases[i].code || strcmp(name, cases[i].name) != 0 ||
            (scale.unit == GRID_LENGTH ? scale.unit_m : 0) != cases[i].metres) {
            fail_msg("case %zu: EPSG %u, %s, %g m", i, grid_epsg(&g), name, scale.unit_m);
        }
        free(g.tags[0].values);
        free(g.tags[1].values);
    }
}

/* A text ends at a bar, at its length, at the tag's end, or where there is no room. */
TEST(a_text_is_the_keys_own)
{
    static const struct {
        uint16_t at, n, room;
        const char *text;
    } cases[] = {{0, 4, 99, "abc"}, {0, 2, 99, "ab"}, {4, 4, 99, "def"},
                 {4, 9, 99, "def"}, {4, 4, 3, "de"},  {8, 1, 99, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct grid g = grid_at(6, 7, 0, 0, 1);
        const uint16_t keys[] = {1, 1, 0, 1, 1026, GRID_GEO_ASCII, cases[i].n, cases[i].at};
        char text[100];
        assert_int_equal(grid_add_tag(&g, GRID_GEO_KEYS, GRID_SHORT, 8, keys), STATUS_OK);
        assert_int_equal(grid_add_tag(&g, GRID_GEO_ASCII, GRID_ASCII, 8, "abc|def"), STATUS_OK);
        grid_key_text(&g, 1026, text, cases[i].room);
        assert_string_equal(text, cases[i].text);
        grid_key_text(&g, 1025, text, sizeof text);
        assert_string_equal(text, "");
        free(g.tags[0].values);
        free(g.tags[1].values);
    }
}

/* Northwards and southwards, told by corners and by centres, turned by 30 degrees, without a place.
 */
TEST(a_place_is_in_the_cell_around_it)
{
    struct grid grids[6];
    for (size_t i = 0; i < 6; i++) {
        grids[i] = grid_at(6, 9, 1000, -2000, 2.5);
    }
    grids[1].cell_y = -4;
    grids[2].is_centred = true;
    grids[3].is_rotated = true;
    grids[3].has_origin = false;
    memcpy(grids[3].transform,
           (const double[]){2 * cos(0.5), 3 * sin(0.5), 70, 2 * sin(0.5), -3 * cos(0.5), 80},
           sizeof grids[3].transform);
    grids[4].has_origin = false;
    grids[5].cell_y = 1;
    for (size_t i = 0; i < 6; i++) {
        const struct grid *const g = &grids[i];
        for (size_t k = 0; k < 54; k++) {
            double x = (double)(k % 9) + 1, y = (double)(k / 9) + 1;
            size_t row = 99, column = 99;
            if (grid_is_georeferenced(g)) {
                grid_scale_centre(g, k / 9, k % 9, &x, &y);
            }
            assert_true(grid_scale_cell(g, x, y, &row, &column));
            assert_true(row == k / 9 && column == k % 9);
        }
    }
    static const struct {
        double x, y;
        size_t row, column; /* 99: outside */
    } places[] = {{1000, -1985, 0, 0},      {1022.5, -2000, 5, 8},    {1002.5, -1987.5, 1, 1},
                  {999.99, -1990, 99, 99},  {1022.51, -1990, 99, 99}, {1010, -2000.01, 99, 99},
                  {1010, -1984.99, 99, 99}, {NAN, -1990, 99, 99},     {1010, INFINITY, 99, 99}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t row, column;
        const bool inside = grid_scale_cell(&grids[0], places[i].x, places[i].y, &row, &column);
        assert_int_equal(inside, places[i].row != 99);
        assert_true(!inside || (row == places[i].row && column == places[i].column));
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
