/*
 * Where the grids of a landslide lie and how large their cells are, by what their files say: units,
 * coordinate systems, turned grids; on the backend LEAT_TEST_BACKEND.
 */
#include "formats/geo/wkt.h"
#include "tests/support/sciddicat_runner.h"

#define GEOGCS                                                                                     \
    "GEOGCS[\"GCS_North_American_1983\",DATUM[\"D_North_American_1983\",SPHEROID[\"GRS_1980\","    \
    "6378137.0,298.257222101]],PRIMEM[\"Greenwich\",0.0],UNIT[\"Degree\",0.0174532925199433]]"
#define PROJCS(unit)                                                                               \
    "PROJCS[\"NY [Long Island], LI\"," GEOGCS                                                      \
    ",PROJECTION[\"Lambert_Conformal_Conic\"],PARAMETER[\"False_Easting\",984250.0]," unit "]"
#define VERTCS(unit)                                                                               \
    "VERTCS[\"NAVD_1988\",VDATUM[\"North_American_Vertical_Datum_1988\"],"                         \
    "PARAMETER[\"Vertical_Shift\",0.0],PARAMETER[\"Direction\",1.0]," unit "]"
#define METRE "UNIT[\"Meter\",1.0]"
#define FOOT  "UNIT[\"Foot_US\",0.304800609601219]"
#define PROJCRS(unit)                                                                              \
    "PROJCRS[\"x\",BASEGEOGCRS[\"WGS 84\",DATUM[\"World Geodetic System 1984\","                   \
    "ELLIPSOID[\"WGS 84\",6378137,298.257223563,LENGTHUNIT[\"metre\",1]]]],"                       \
    "CONVERSION[\"c\",METHOD[\"m\"],PARAMETER[\"k\",0.9996,SCALEUNIT[\"unity\",1]]],"              \
    "CS[Cartesian,2],AXIS[\"E\",east,LENGTH" unit "],AXIS[\"N\",north,LENGTH" unit "],"            \
    "USAGE[SCOPE[\"s\"],AREA[\"a\"],VERTICALEXTENT[-9,0,LENGTHUNIT[\"unit\",0.5]]]]"

/* A heap that adheres, 0.0005 m on one cell of 10 x 10, and the text of a .prj beside the DEM. */
static struct slide quiet(const char *prj)
{
    struct slide s = slope(9, 12, 4, 4);
    s.cells[SOURCE][4 * 12 + 4] = 0.0005;
    s.params[0] = "steps=2";
    assert_int_equal(grid_set_prj(s.grids[DEM], prj), STATUS_OK);
    return s;
}

static void the_unit_is_that_of_the_map_in_every_dialect(void **state)
{
    (void)state;
    static const struct {
        const char *prj;
        const char *text; /* of the warning; NULL: cells are in metres */
    } cases[] = {
        {PROJCS(METRE), NULL},
        {PROJCS(FOOT), "not the metre"},
        {PROJCS(FOOT) "," VERTCS(METRE), "not the metre"},
        {PROJCS(METRE) "," VERTCS(FOOT), NULL},
        {"COMPD_CS[\"c\"," PROJCS(FOOT) "," VERTCS(METRE) "]", "not the metre"},
        {"COMPD_CS[\"c\"," PROJCS(METRE) "," VERTCS(FOOT) "]", NULL},
        {GEOGCS, "geographic"},
        {GEOGCS "," VERTCS(METRE), "geographic"},
        {PROJCRS(METRE), NULL},
        {PROJCRS(FOOT), "not the metre"},
        {"GEOGCRS[\"WGS 84\",DATUM[\"d\"],CS[ellipsoidal,2],ANGLEUNIT[\"degree\",0.0174]]",
         "geographic"},
        {"GEODCRS[\"WGS 84\",DATUM[\"d\"],CS[ellipsoidal,2],ANGLEUNIT[\"degree\",0.0174]]",
         "geographic"},
        {"PROJCS[\"no end\"," GEOGCS, "not understood"},
        {"LOCAL_CS[\"mine\"," METRE "]", "not understood"},
        {"Projection UTM\nZunits NO\nUnits METERS", "not understood"},
        {"\"PROJCS[", "not understood"},
        {"PROJCS[\"a\",UNIT[\"Metre\",one]]", "not understood"},
        {"PROJCS[\"a\",UNIT[\"Metre\"", "not understood"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slide s = quiet(cases[i].prj);
        struct outcome o = run_well(&s);
        const bool sized = json_is_real(json_object_get(o.last.shape, "cell_x_m"));
        if (sized != (cases[i].text == NULL) ||
            (cases[i].text != NULL && !is_warned(&o, cases[i].text))) {
            fail_msg("%s: %s", cases[i].prj, sized ? "metres" : "no metres");
        }
        assert_true(summary_number(&o, "volume_start_m3") == (sized ? 0.05 : 0.0005));
        outcome_free(&o);
        slide_free(&s);
    }
}

/* Keys that name no unit: only systems that are known to be in metres are. */
static void a_system_without_a_unit_is_known_by_its_code(void **state)
{
    (void)state;
    static const struct {
        uint16_t n_keys, model, system;
        bool metres;
    } cases[] = {{2, 1, 32633, true},  {2, 1, 25832, true},  {2, 1, 3035, true},
                 {2, 1, 3857, true},   {2, 1, 2154, true},   {2, 1, 27700, true},
                 {2, 1, 32760, true},  {2, 0, 32601, true},  {2, 1, 2000, true},
                 {2, 1, 32766, true},  {2, 1, 2263, false},  {2, 1, 2066, false},
                 {2, 1, 32767, false}, {2, 1, 32664, false}, {2, 1, 1, false},
                 {1, 1, 32633, false}, {1, 3, 0, false},     {0, 1, 2263, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint16_t keys[] = {1,    1, 0, cases[i].n_keys, 1024, 0, 1, cases[i].model,
                                 3072, 0, 1, cases[i].system};
        struct slide s = quiet(NULL);
        assert_int_equal(grid_add_tag(s.grids[DEM], GRID_GEO_KEYS, GRID_SHORT, 12, keys),
                         STATUS_OK);
        struct outcome o = run_well(&s);
        if (is_warned(&o, "whose unit is not understood") == cases[i].metres ||
            (summary_number(&o, "volume_start_m3") == 0.05) != cases[i].metres) {
            fail_msg("%u keys, system %u", cases[i].n_keys, cases[i].system);
        }
        outcome_free(&o);
        slide_free(&s);
    }
}

/* A .prj has up to 64 KiB, of anything; what is not closed ends with it. */
static void texts_of_any_shape_are_read_to_their_end(void **state)
{
    static const char *const pieces[] = {"[",        "]",       "PROJCS[", "PROJCS[AXIS[", "UNIT[",
                                         "\"",       "A[B[]],", "AXIS(",   "VERT_CS[",     ",",
                                         "GEOGCS[]", "_",       "UNIT[,0"};
    (void)state;
    double metres;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const size_t n = strlen(pieces[i]), most = (((size_t)1 << 16) - 1) / n;
        for (size_t times = 0; times <= most; times = times < 3 ? times + 1 : times * 3) {
            char *const exact = malloc(times * n + 1); /* so that sanitizers see its end */
            assert_non_null(exact);
            for (size_t k = 0; k < times; k++) {
                memcpy(exact + k * n, pieces[i], n);
            }
            exact[times * n] = '\0';
            assert_true(wkt_map(exact, &metres) != WKT_PROJECTED && metres == 0);
            assert_false(wkt_altitudes(exact, &metres));
            free(exact);
        }
    }
}

static void altitudes_in_feet_are_told(void **state)
{
    (void)state;
    static const uint16_t feet[] = {1, 1, 0, 3, 1024, 0, 1, 1, 3076, 0, 1, 9001, 4099, 0, 1, 9003};
    static const uint16_t metres[] = {1,    1, 0, 3,    1024, 0, 1, 1,
                                      3076, 0, 1, 9001, 4099, 0, 1, 9001};
    static const uint16_t navd88[] = {1,    1, 0, 3,     1024, 0, 1, 1,
                                      3072, 0, 1, 32633, 4096, 0, 1, 6360};
    static const uint16_t evrf[] = {1, 1, 0, 3, 1024, 0, 1, 1, 3072, 0, 1, 32633, 4096, 0, 1, 5730};
    static const struct {
        const char *prj;
        const uint16_t *keys;
        bool told;
    } cases[] = {{PROJCS(METRE) "," VERTCS(FOOT), NULL, true},
                 {PROJCS(METRE) "," VERTCS(METRE), NULL, false},
                 {"COMPD_CS[\"c\"," PROJCS(METRE) ",VERT_CS[\"v\",VERT_DATUM[\"d\",2005],"
                                                  "UNIT[\"US survey foot\",0.3048006]]]",
                  NULL, true},
                 {PROJCS(METRE), NULL, false},
                 {NULL, feet, true},
                 {NULL, navd88, true},
                 {NULL, evrf, false},
                 {NULL, metres, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slide s = quiet(cases[i].prj);
        s.params[1] = "raster=tif";
        if (cases[i].keys != NULL) {
            assert_int_equal(
                grid_add_tag(s.grids[DEM], GRID_GEO_KEYS, GRID_SHORT, 16, cases[i].keys),
                STATUS_OK);
        }
        struct outcome o = run_well(&s);
        assert_int_equal(is_warned(&o, "altitudes are in another unit"), cases[i].told);
        outcome_free(&o);
        slide_free(&s);
    }
}

static void a_prj_that_no_geotiff_carries_is_told(void **state)
{
    (void)state;
    char tall[4000] = "PROJCS[\"";
    memset(tall + strlen(tall), 'x', 3000);
    strcat(tall, "\"," METRE "]");
    const char *const lost[] = {PROJCRS(METRE), "COMPD_CS[\"c\"," PROJCS(METRE) "]",
                                "PROJCS[\"a|b\"," METRE "]", tall, "Projection UTM"};
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        struct slide s = quiet(lost[i]);
        struct outcome o = run_well(&s);
        assert_true(is_warned(&o, "the .prj of the altitudes is not carried"));
        outcome_free(&o);
        s.params[1] = "raster=asc.gz";
        o = run_well(&s);
        assert_false(is_warned(&o, "not carried"));
        assert_non_null(find_file(&o, "thickness.prj"));
        outcome_free(&o);
        slide_free(&s);
    }
    struct slide s = quiet(PROJCS(METRE));
    struct outcome o = run_well(&s);
    assert_int_equal(json_array_size(o.last.warnings), 0);
    outcome_free(&o);
    slide_free(&s);
}

/* --- where they lie ----------------------------------------------------------------------------
 */

/* Gives a grid of a slide the place that GeoTIFF's matrix says. */
static void place(struct grid *g, double xc, double xr, double x, double yc, double yr, double y)
{
    const double matrix[16] = {xc, xr, 0, x, yc, yr, 0, y, 0, 0, 0, 0, 0, 0, 0, 1};
    g->n_tags = 0;
    g->has_origin = false;
    assert_int_equal(grid_add_tag(g, GRID_TRANSFORMATION, GRID_DOUBLE, 16, matrix), STATUS_OK);
    assert_int_equal(grid_georeference_by_tags(g, "g"), STATUS_OK);
}

/* The stage's answer to two such grids. */
static enum status places_agree(const double dem[6], const double source[6], char *message)
{
    struct slide s = quiet(NULL);
    place(s.grids[DEM], dem[0], dem[1], dem[2], dem[3], dem[4], dem[5]);
    place(s.grids[SOURCE], source[0], source[1], source[2], source[3], source[4], source[5]);
    struct outcome o = run_slide(&s);
    const enum status st = o.status;
    strcpy(message, o.message);
    outcome_free(&o);
    slide_free(&s);
    return st;
}

static void grids_that_are_turned_or_mirrored_are_compared_too(void **state)
{
    (void)state;
    static const double north[6] = {10, 0, 1000, 0, -10, 2090}, turned[6] = {8, 6, 0, 6, -8, 0},
                        away[6] = {8, 6, 9000, 6, -8, 7000}, near[6] = {8, 6, 0.04, 6, -8, 0.04},
                        by_little[6] = {8, 6, 0.2, 6, -8, 0},
                        mirrored[6] = {-10, 0, 1120, 0, -10, 2090};
    char message[STATUS_MESSAGE_BYTES];
    assert_int_equal(places_agree(turned, turned, message), STATUS_OK);
    assert_int_equal(places_agree(turned, near, message), STATUS_OK);
    assert_int_equal(places_agree(mirrored, mirrored, message), STATUS_OK);
    assert_int_equal(places_agree(turned, by_little, message), STATUS_BAD_INPUT);
    assert_int_equal(places_agree(turned, north, message), STATUS_BAD_INPUT);
    assert_int_equal(places_agree(north, mirrored, message), STATUS_BAD_INPUT);
    assert_int_equal(places_agree(turned, away, message), STATUS_BAD_INPUT);
    assert_non_null(strstr(message, "differ in place: dem.x is at the corners (0, 0) (96, 72)"));
    assert_non_null(strstr(message, "source.x is at the corners (9000, 7000) (9096, 7072)"));
}

/* Debris falls 3 rows and 4 columns down a gutter, on cells that are parallelograms. */
static void areas_and_lengths_of_sheared_cells_are_those_on_the_map(void **state)
{
    (void)state;
    struct slide s = slope(9, 9, 2, 2);
    for (size_t row = 0; row < 9; row++) {
        for (size_t column = 0; column < 9; column++) {
            const bool in_gutter =
                (column == 2 && row >= 2 && row <= 5) || (row == 5 && column >= 2 && column <= 6);
            s.cells[DEM][row * 9 + column] = (in_gutter ? 900 : 1100) - 5 * (double)(row + column);
        }
    }
    s.params[0] = "steps=500";
    place(s.grids[DEM], 10, 6, 1000, 0, -8, 2000);
    place(s.grids[SOURCE], 10, 6, 1000, 0, -8, 2000);
    struct outcome o = run_well(&s);
    assert_true(summary_number(&o, "volume_start_m3") == 2 * 80);
    assert_true(summary_number(&o, "covered_m2") == 80 * summary_number(&o, "covered_cells"));
    assert_true(summary_in(&o, "toe", "row") == 6 && summary_in(&o, "toe", "column") == 7);
    assert_true(fabs(summary_number(&o, "runout_m") - hypot(4 * 10 + 3 * 6, 3 * 8)) < 1e-9);
    assert_true(summary_in(&o, "toe", "x") == 1098 && summary_in(&o, "toe", "y") == 1956);
    assert_true(summary_in(&o, "crown", "x") == 1040 && summary_in(&o, "crown", "y") == 1980);
    assert_true(is_warned(&o, "not rectangles"));
    outcome_free(&o);
    slide_free(&s);
}

static void a_turned_grid_of_points_lies_half_a_cell_further(void **state)
{
    static const uint16_t point[] = {1, 1, 0, 1, 1025, 0, 1, 2};
    (void)state;
    struct slide s = quiet(NULL);
    place(s.grids[DEM], 8, 6, 0, 6, -8, 0);
    struct grid *const g = s.grids[SOURCE];
    for (int k = 0; k < 2; k++) { /* the first cell's centre is at (0.5, 0.5) of the areas */
        const double matrix[16] = {8, 6, 0, k == 0 ? 0 : 7, 6, -8, 0, k == 0 ? 0 : -1};
        for (size_t t = 0; t < g->n_tags; t++) {
            free(g->tags[t].values);
        }
        g->n_tags = 0;
        g->has_origin = false;
        assert_int_equal(grid_add_tag(g, GRID_TRANSFORMATION, GRID_DOUBLE, 16, matrix), STATUS_OK);
        assert_int_equal(grid_add_tag(g, GRID_GEO_KEYS, GRID_SHORT, 8, point), STATUS_OK);
        assert_int_equal(grid_georeference_by_tags(g, "g"), STATUS_OK);
        struct outcome o = run_slide(&s);
        assert_int_equal(o.status, k == 0 ? STATUS_BAD_INPUT : STATUS_OK);
        outcome_free(&o);
    }
    slide_free(&s);
}

static void other_coordinate_systems_are_told(void **state)
{
    (void)state;
    static const uint16_t utm33[] = {1,    1, 0, 3,     1024, 0, 1, 1,
                                     3072, 0, 1, 32633, 3076, 0, 1, 9001};
    static const uint16_t utm32[] = {1,    1, 0, 3,     1024, 0, 1, 1,
                                     3072, 0, 1, 32632, 3076, 0, 1, 9001};
    static const uint16_t own[] = {1, 1, 0, 3, 1024, 0, 1, 1, 3072, 0, 1, 32767, 3076, 0, 1, 9001};
    static const struct {
        const uint16_t *dem, *source;
        bool told;
    } cases[] = {{utm33, utm32, true},
                 {utm33, utm33, false},
                 {utm33, own, false},
                 {utm33, NULL, false},
                 {NULL, utm33, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slide s = quiet(NULL);
        const uint16_t *const keys[] = {cases[i].dem, cases[i].source};
        for (int part = 0; part < 2; part++) {
            if (keys[part] != NULL) {
                assert_int_equal(
                    grid_add_tag(s.grids[part], GRID_GEO_KEYS, GRID_SHORT, 16, keys[part]),
                    STATUS_OK);
            }
        }
        struct outcome o = run_well(&s);
        assert_int_equal(is_warned(&o, "different coordinate systems"), cases[i].told);
        outcome_free(&o);
        slide_free(&s);
    }
    struct slide s = quiet(PROJCS(METRE));
    assert_int_equal(grid_set_prj(s.grids[SOURCE], PROJCS(" " METRE)), STATUS_OK);
    struct outcome o = run_well(&s);
    assert_int_equal(json_array_size(o.last.warnings), 0); /* but for a blank they are the same */
    outcome_free(&o);
    assert_int_equal(grid_set_prj(s.grids[SOURCE], PROJCS(METRE) ")"), STATUS_OK);
    o = run_well(&s);
    assert_int_equal(json_array_size(o.last.warnings), 1); /* one is the begin of the other */
    outcome_free(&o);
    s.grids[DEM]->prj[strlen(s.grids[DEM]->prj) - 1] = ')'; /* the last byte differs */
    assert_int_equal(grid_set_prj(s.grids[SOURCE], PROJCS(METRE)), STATUS_OK);
    o = run_well(&s);
    assert_int_equal(json_array_size(o.last.warnings), 1);
    outcome_free(&o);
    assert_int_equal(grid_set_prj(s.grids[SOURCE], PROJCS(FOOT)), STATUS_OK);
    o = run_well(&s);
    assert_true(is_warned(&o, "the altitudes and source.x have different coordinate systems"));
    outcome_free(&o);
    slide_free(&s);
}

static void a_dem_without_a_place_takes_that_of_the_source(void **state)
{
    (void)state;
    struct slide s = quiet(NULL);
    s.grids[DEM]->has_origin = false;
    s.grids[DEM]->cell_x = s.grids[DEM]->cell_y = 1;
    struct outcome o = run_well(&s);
    struct grid *g = NULL;
    free(read_raster(&o, "thickness.tif", slide_cells(&s), &g));
    assert_true(g->has_origin && grid_extent_of(g).west == 1000 &&
                grid_extent_of(g).south == 2000 && g->cell_x == 10);
    grid_free(g);
    assert_true(
        is_warned(&o, "the altitudes do not say where they lie: the place and the size of cells "
                      "are those of source.x"));
    assert_int_equal(json_array_size(o.last.warnings), 1);
    assert_true(summary_number(&o, "volume_start_m3") == 0.05);
    outcome_free(&o);
    s.grids[SOURCE]->has_origin = false; /* then nobody knows */
    o = run_well(&s);
    assert_true(is_warned(&o, "how large their cells are"));
    assert_int_equal(json_array_size(o.last.warnings), 1);
    outcome_free(&o);
    slide_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_unit_is_that_of_the_map_in_every_dialect),
        cmocka_unit_test(a_system_without_a_unit_is_known_by_its_code),
        cmocka_unit_test(texts_of_any_shape_are_read_to_their_end),
        cmocka_unit_test(altitudes_in_feet_are_told),
        cmocka_unit_test(a_prj_that_no_geotiff_carries_is_told),
        cmocka_unit_test(grids_that_are_turned_or_mirrored_are_compared_too),
        cmocka_unit_test(areas_and_lengths_of_sheared_cells_are_those_on_the_map),
        cmocka_unit_test(a_turned_grid_of_points_lies_half_a_cell_further),
        cmocka_unit_test(other_coordinate_systems_are_told),
        cmocka_unit_test(a_dem_without_a_place_takes_that_of_the_source),
    };
    return UNDER_TEST_RUN(tests, counted_open, counted_close);
}
