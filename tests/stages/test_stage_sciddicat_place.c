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

static const double us = 1200.0 / 3937;

/* Whether the slide of quiet() lies on cells of 10 x 10 units of the map; 0 metres: nobody knows.
 */
static void check_size(const char *which, const struct outcome *o, double metres)
{
    const json_t *const cell = json_object_get(o->last.shape, "cell_x_m");
    const double side = metres > 0 ? 10 * metres : 1, wanted = 0.0005 * side * side;
    if (json_is_real(cell) != (metres > 0) || (metres > 0 && json_real_value(cell) != side) ||
        !(fabs(summary_number(o, "volume_start_m3") - wanted) <= 1e-14 * wanted)) {
        fail_msg("%s: cells of %.17g m", which, json_real_value(cell));
    }
}

TEST(the_unit_is_that_of_the_map_in_every_dialect)
{
    static const char in_us[] = "the map is in US survey feet by";
    static const struct {
        const char *prj;
        double metres;    /* of a unit of the map; 0: not known */
        const char *text; /* of the warning; NULL: none on the map */
    } cases[] = {
        {PROJCS(METRE), 1, NULL},
        {PROJCS(FOOT), us, in_us},
        {PROJCS(FOOT) "," VERTCS(METRE), us, in_us},
        {PROJCS(METRE) "," VERTCS(FOOT), 1, NULL},
        {"COMPD_CS[\"c\"," PROJCS(FOOT) "," VERTCS(METRE) "]", us, in_us},
        {"COMPD_CS[\"c\"," PROJCS(METRE) "," VERTCS(FOOT) "]", 1, NULL},
        {PROJCS("UNIT[\"US survey foot\",0.3048006096012192,AUTHORITY[\"EPSG\",\"9003\"]]"), us,
         in_us},
        {PROJCS("UNIT[\"foot\",0.3048,AUTHORITY[\"EPSG\",\"9002\"]]"), 0.3048,
         "the map is in feet by"},
        {PROJCS("UNIT[\"Clarke's foot\",0.3047972654]"), 0.3047972654,
         "the map is in units of 0.3047972654 m by"},
        {PROJCS("UNIT[\"kilometre\",1000]"), 1000, "the map is in units of 1000 m by"},
        {GEOGCS, 0, "geographic"},
        {GEOGCS "," VERTCS(METRE), 0, "geographic"},
        {PROJCRS(METRE), 1, NULL},
        {PROJCRS(FOOT), us, in_us},
        {"GEOGCRS[\"WGS 84\",DATUM[\"d\"],CS[ellipsoidal,2],ANGLEUNIT[\"degree\",0.0174]]", 0,
         "geographic"},
        {"GEODCRS[\"WGS 84\",DATUM[\"d\"],CS[ellipsoidal,2],ANGLEUNIT[\"degree\",0.0174]]", 0,
         "geographic"},
        {"PROJCS[\"no end\"," GEOGCS, 0, "not understood"},
        {"LOCAL_CS[\"mine\"," METRE "]", 0, "not understood"},
        {"Projection UTM\nZunits NO\nUnits METERS", 1, NULL},
        {"Projection    UTM\r\nZone          33\r\nDatum         WGS84\r\n"
         "Units         METERS   \r\nParameters\r\n",
         1, NULL},
        {"projection transverse\n units\tmeters\nparameters\n1 0 0.0", 1, NULL},
        {"Projection UTM\nUnits 1.0", 1, NULL},
        {"Projection UTM\nUnits FEET\nZunits METERS", us, in_us},
        {"Projection UTM\nUnits foot\nZunits METERS", us, in_us},
        {"Projection STATEPLANE\nUnits 3.280839895", 0.3048, "the map is in feet by"},
        {"Projection GEOGRAPHIC\nUnits DD\nZunits METERS", 0, "geographic"},
        {"Projection UTM\nUnits", 0, "not understood"},
        {"Projection UTM\nUnits\nMETERS", 0, "not understood"},
        {"Projection UTM\nZunits METERS", 0, "not understood"},
        {"Units METERS", 0, "not understood"},
        {"\"PROJCS[", 0, "not understood"},
        {"PROJCS[\"a\",UNIT[\"Metre\",one]]", 0, "not understood"},
        {"PROJCS[\"a\",UNIT[\"Metre\"", 0, "not understood"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slide s = quiet(cases[i].prj);
        struct outcome o = run_well(&s);
        check_size(cases[i].prj, &o, cases[i].metres);
        assert_true(is_warned(&o, "volumes, areas and lengths are") == (cases[i].text != NULL));
        if (cases[i].text != NULL && !is_warned(&o, cases[i].text)) {
            fail_msg("%s: not told", cases[i].prj);
        }
        outcome_free(&o);
        slide_free(&s);
    }
}

/* Gives the altitudes the keys of GeoTIFF, their number in keys[3], a double and a text. */
static void add_keys(struct slide *s, const uint16_t *keys, double metres, const char *text)
{
    assert_int_equal(
        grid_add_tag(s->grids[DEM], GRID_GEO_KEYS, GRID_SHORT, 4 * (keys[3] + (size_t)1), keys),
        STATUS_OK);
    assert_int_equal(grid_add_tag(s->grids[DEM], GRID_GEO_DOUBLES, GRID_DOUBLE, 1, &metres),
                     STATUS_OK);
    assert_int_equal(
        grid_add_tag(s->grids[DEM], GRID_GEO_ASCII, GRID_ASCII, strlen(text) + 1, text), STATUS_OK);
}

TEST(the_unit_of_keys_is_a_code_a_number_or_in_the_name_of_the_system)
{
    enum { ASCII = GRID_GEO_ASCII, DOUBLES = GRID_GEO_DOUBLES };
    static const struct {
        uint16_t keys[20];
        const char *names;
        double size, metres; /* as above */
    } cases[] = {
        {{1, 1, 0, 2, 3072, 0, 1, 2263, 3076, 0, 1, 9003}, "|", 1, us},
        {{1, 1, 0, 2, 3072, 0, 1, 2222, 3076, 0, 1, 9002}, "|", 1, 0.3048},
        {{1, 1, 0, 2, 3072, 0, 1, 2314, 3076, 0, 1, 9005}, "|", 1, 0},
        {{1, 1, 0, 2, 3076, 0, 1, 32767, 3077, DOUBLES, 1, 0}, "|", 0.9144, 0.9144},
        {{1, 1, 0, 2, 3076, 0, 1, 32767, 3077, DOUBLES, 1, 0}, "|", 0.3048006, us},
        {{1, 1, 0, 2, 3076, 0, 1, 32767, 3077, DOUBLES, 1, 0}, "|", 0, 0},
        {{1, 1, 0, 2, 3076, 0, 1, 32767, 3077, DOUBLES, 1, 0}, "|", -1, 0},
        {{1, 1, 0, 2, 3076, 0, 1, 32767, 3077, DOUBLES, 1, 0}, "|", (double)NAN, 0},
        {{1, 1, 0, 2, 3076, 0, 1, 32767, 3077, DOUBLES, 1, 0}, "|", (double)INFINITY, 0},
        {{1, 1, 0, 2, 3076, 0, 1, 32767, 3077, DOUBLES, 1, 1}, "|", 1, 0},
        {{1, 1, 0, 1, 3076, 0, 1, 32767}, "|", 1, 0},
        {{1, 1, 0, 2, 1026, ASCII, 30, 0, 3072, 0, 1, 2263}, "NAD83 / NY (ftUS) + h (ft)|", 1, us},
        {{1, 1, 0, 2, 1026, ASCII, 30, 2, 3072, 0, 1, 2222}, "x|NAD83 / AZ (ft)|(ftUS)", 1, 0.3048},
        {{1, 1, 0, 2, 1026, ASCII, 9, 0, 3072, 0, 1, 2263}, "NAD83 / NY (ftUS)|", 1, 0},
        {{1, 1, 0, 2, 1026, ASCII, 9, 99, 3072, 0, 1, 2263}, "NAD83 / NY (ftUS)|", 1, 0},
        {{1, 1, 0, 2, 1026, ASCII, 30, 0, 3072, 0, 1, 32633}, "UTM 33N + h (ftUS)|", 1, 1},
        {{1, 1, 0, 2, 1026, ASCII, 30, 0, 3072, 0, 1, 26814}, "NAD83 / ME (ftUS)|", 1, 1},
        {{1, 1, 0, 2, 1026, ASCII, 30, 0, 3072, 0, 1, 2066}, "Tobago + h (ftUS)|", 1, 0},
        {{1, 1, 0, 2, 1026, ASCII, 30, 0, 3072, 0, 1, 32767}, "mine (ftUS)|", 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char which[16];
        struct slide s = quiet(NULL);
        add_keys(&s, cases[i].keys, cases[i].size, cases[i].names);
        struct outcome o = run_well(&s);
        snprintf(which, sizeof which, "keys %zu", i);
        check_size(which, &o, cases[i].metres);
        outcome_free(&o);
        slide_free(&s);
    }
}

/* Such a map often has its altitudes in feet, too. */
TEST(altitudes_without_a_unit_on_a_map_in_feet_are_told)
{
    static const struct {
        const char *prj, *unit, *param;
        bool told;
    } cases[] = {{PROJCS(FOOT), "", NULL, true},
                 {PROJCS(FOOT), "m", NULL, false},
                 {PROJCS(FOOT), "ft", NULL, false},
                 {PROJCS(FOOT) "," VERTCS(METRE), "", NULL, false},
                 {PROJCS(FOOT), "", "vertical_unit=m", false},
                 {PROJCS(METRE), "", NULL, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slide s = quiet(cases[i].prj);
        strcpy(s.grids[DEM]->unit, cases[i].unit);
        s.params[1] = cases[i].param;
        struct outcome o = run_well(&s);
        if (is_warned(&o, "the altitudes name no unit: they are taken as metres") !=
            cases[i].told) {
            fail_msg("case %zu", i);
        }
        outcome_free(&o);
        slide_free(&s);
    }
}

/* Keys that name no unit: only systems that are known to be in metres are. */
TEST(a_system_without_a_unit_is_known_by_its_code)
{
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
TEST(texts_of_any_shape_are_read_to_their_end)
{
    static const char *const pieces[] = {"[",        "]",       "PROJCS[", "PROJCS[AXIS[", "UNIT[",
                                         "\"",       "A[B[]],", "AXIS(",   "VERT_CS[",     ",",
                                         "GEOGCS[]", "_",       "UNIT[,0"};
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

/* How far a slide of 2 m falls on the terrain of slope(), whose altitudes are numbers of a unit. */
static double drop_of(struct slide *s, double metres, struct outcome *o)
{
    for (size_t k = 0; k < slide_cells(s); k++) {
        s->cells[DEM][k] = (1000 - 5 * (double)(k / s->columns)) / metres;
    }
    *o = run_well(s);
    return summary_number(o, "drop_m");
}

TEST(altitudes_in_feet_are_converted)
{
    static const uint16_t feet[] = {1, 1, 0, 3, 1024, 0, 1, 1, 3076, 0, 1, 9001, 4099, 0, 1, 9003};
    static const uint16_t metres[] = {1,    1, 0, 3,    1024, 0, 1, 1,
                                      3076, 0, 1, 9001, 4099, 0, 1, 9001};
    static const uint16_t navd88[] = {1,    1, 0, 3,     1024, 0, 1, 1,
                                      3072, 0, 1, 32633, 4096, 0, 1, 6360};
    static const uint16_t evrf[] = {1, 1, 0, 3, 1024, 0, 1, 1, 3072, 0, 1, 32633, 4096, 0, 1, 5730};
    static const uint16_t fathoms[] = {1,    1, 0, 3,    1024, 0, 1, 1,
                                       3076, 0, 1, 9001, 4099, 0, 1, 9014};
    static const double foot = 0.3048;
    static const char by_band[] = "by the unit of their band: they are converted to metres",
                      by_system[] = "by their coordinate system: they are converted to metres";
    static const struct {
        const char *prj, *unit, *param;
        const uint16_t *keys;
        double metres;
        const char *told; /* NULL: nothing */
    } cases[] = {
        {NULL, "ft", NULL, NULL, foot, by_band},
        {NULL, "foot", NULL, NULL, foot, by_band},
        {NULL, "US survey foot", NULL, NULL, us, by_band},
        {NULL, "us-ft", NULL, NULL, us, by_band},
        {NULL, "cm", NULL, NULL, 0.01, "in units of 0.01 m by the unit of their band"},
        {NULL, "m", NULL, NULL, 1, NULL},
        {NULL, "Metre", NULL, NULL, 1, NULL},
        {NULL, "furlong", NULL, NULL, 1, "a unit that is not known, furlong: they are taken as"},
        {NULL, "furlong", "vertical_unit=us-ft", NULL, us, NULL},
        {NULL, "ft", "vertical_unit=m", NULL, 1, NULL},
        {NULL, NULL, "vertical_unit=ft", NULL, foot, NULL},
        {NULL, NULL, "vertical_unit=us-ft", NULL, us, NULL},
        {NULL, "ft", "vertical_unit=auto", NULL, foot, by_band},
        {PROJCS(METRE) "," VERTCS(FOOT), NULL, NULL, NULL, us, by_system},
        {PROJCS(METRE) "," VERTCS(FOOT), "m", NULL, NULL, 1,
         "in metres by the unit of their band, and in US survey feet by their coordinate system: "
         "they are taken as metres"},
        {PROJCS(METRE) "," VERTCS(METRE), "ft", NULL, NULL, foot,
         "in feet by the unit of their band, and in metres by their coordinate system: they are "
         "converted"},
        {PROJCS(METRE) "," VERTCS(FOOT), "ft", NULL, NULL, us,
         "in US survey feet by the unit of their band: they are converted to metres; vertical_unit "
         "overrides it"},
        {PROJCS(METRE) "," VERTCS(METRE), NULL, NULL, NULL, 1, NULL},
        {"COMPD_CS[\"c\"," PROJCS(METRE) ",VERT_CS[\"v\",VERT_DATUM[\"d\",2005],"
                                         "UNIT[\"US survey foot\",0.3048006]]]",
         NULL, NULL, NULL, us, by_system},
        {"Projection UTM\nUnits METERS\nZunits FEET", NULL, NULL, NULL, us, by_system},
        {"Projection UTM\nUnits METERS\nZunits Foot", NULL, NULL, NULL, us, by_system},
        {"Projection UTM\nUnits METERS\nZunits 100", NULL, NULL, NULL, 0.01, by_system},
        {"Projection UTM\nUnits METERS\nZunits NO", NULL, NULL, NULL, 1, NULL},
        {PROJCS(METRE), NULL, NULL, NULL, 1, NULL},
        {NULL, NULL, NULL, feet, us, by_system},
        {NULL, NULL, NULL, navd88, us, by_system},
        {NULL, NULL, NULL, evrf, 1, NULL},
        {NULL, NULL, NULL, metres, 1, NULL},
        {NULL, NULL, NULL, fathoms, 1, "a unit that is not known: they are taken as metres"}};
    struct outcome o;
    struct slide s = slope(9, 12, 4, 4);
    s.params[0] = "steps=30";
    const double drop_m = drop_of(&s, 1, &o);
    const size_t n_quiet = json_array_size(o.last.warnings);
    assert_true(drop_m >= 15); /* a few rows of 5 m */
    assert_true(json_real_value(json_object_get(o.last.shape, "altitude_unit_m")) == 1);
    outcome_free(&o);
    slide_free(&s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s = slope(9, 12, 4, 4);
        s.params[0] = "steps=30";
        s.params[1] = "raster=tif";
        s.params[2] = cases[i].param;
        strcpy(s.grids[DEM]->unit, cases[i].unit != NULL ? cases[i].unit : "");
        assert_int_equal(grid_set_prj(s.grids[DEM], cases[i].prj), STATUS_OK);
        if (cases[i].keys != NULL) {
            assert_int_equal(
                grid_add_tag(s.grids[DEM], GRID_GEO_KEYS, GRID_SHORT, 16, cases[i].keys),
                STATUS_OK);
        }
        const double got_m = drop_of(&s, cases[i].metres, &o);
        if (!(fabs(got_m - drop_m) < 1e-9)) {
            fail_msg("case %zu: drop of %.9g m", i, got_m);
        }
        assert_true(json_real_value(json_object_get(o.last.shape, "altitude_unit_m")) ==
                    cases[i].metres);
        if (is_warned(&o, "altitudes are in") + is_warned(&o, "altitudes have a unit") !=
                (cases[i].told != NULL) ||
            (cases[i].told != NULL && !is_warned(&o, cases[i].told))) {
            fail_msg("case %zu: not told as it is", i);
        }
        assert_true(json_array_size(o.last.warnings) >= n_quiet);
        outcome_free(&o);
        slide_free(&s);
    }
}

/* Thicknesses are in metres, but where their own band says otherwise; so are all results. */
TEST(debris_in_feet_is_converted_where_its_band_says_so)
{
    static const struct {
        const char *unit;
        double metres;
        const char *told;
    } cases[] = {{"", 1, NULL},
                 {"m", 1, NULL},
                 {"ft", 0.3048, "source.x is in feet by the unit of its band: it is converted"},
                 {"kg", 1, "source.x has a unit that is not known, kg"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slide s = slope(9, 12, 4, 4);
        s.params[0] = "steps=0";
        s.params[1] = "vertical_unit=ft";
        strcpy(s.grids[SOURCE]->unit, cases[i].unit);
        struct outcome o = run_well(&s);
        struct grid *g = NULL;
        double *const h = read_raster(&o, "thickness.tif", slide_cells(&s), &g);
        assert_true(h[4 * 12 + 4] == 2 * cases[i].metres);
        assert_string_equal(g->unit, "m");
        assert_int_equal(is_warned(&o, "source.x"), cases[i].told != NULL);
        assert_true(cases[i].told == NULL || is_warned(&o, cases[i].told));
        grid_free(g);
        free(h);
        outcome_free(&o);
        slide_free(&s);
    }
}

/* Heights of another file's coordinate system say nothing of these. */
TEST(the_unit_is_not_taken_with_the_place_of_the_source)
{
    struct slide s = slope(9, 12, 4, 4);
    s.params[0] = "steps=5";
    s.grids[DEM]->has_origin = false;
    assert_int_equal(grid_set_prj(s.grids[SOURCE], PROJCS(METRE) "," VERTCS(FOOT)), STATUS_OK);
    struct outcome o = run_well(&s);
    assert_true(json_real_value(json_object_get(o.last.shape, "altitude_unit_m")) == 1);
    assert_false(is_warned(&o, "altitudes are in"));
    outcome_free(&o);
    slide_free(&s);
}

TEST(a_prj_that_no_geotiff_carries_is_told)
{
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

TEST(grids_that_are_turned_or_mirrored_are_compared_too)
{
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
TEST(areas_and_lengths_of_sheared_cells_are_those_on_the_map)
{
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
    for (int k = 0; k < 2; k++) {
        const double unit = k == 0 ? 1 : us, area = unit * unit * 80;
        assert_int_equal(grid_set_prj(s.grids[DEM], k == 0 ? NULL : PROJCS(FOOT)), STATUS_OK);
        struct outcome o = run_well(&s);
        const double n = summary_number(&o, "covered_cells");
        assert_true(fabs(summary_number(&o, "volume_start_m3") - 2 * area) < 1e-12);
        assert_true(fabs(summary_number(&o, "covered_m2") - area * n) < 1e-9);
        assert_true(summary_in(&o, "toe", "row") == 6 && summary_in(&o, "toe", "column") == 7);
        assert_true(fabs(summary_number(&o, "runout_m") - unit * hypot(4 * 10 + 3 * 6, 3 * 8)) <
                    1e-9);
        assert_true(summary_in(&o, "toe", "x") == 1098 && summary_in(&o, "toe", "y") == 1956);
        assert_true(summary_in(&o, "crown", "x") == 1040 && summary_in(&o, "crown", "y") == 1980);
        assert_true(is_warned(&o, "not rectangles"));
        outcome_free(&o);
    }
    slide_free(&s);
}

TEST(a_turned_grid_of_points_lies_half_a_cell_further)
{
    static const uint16_t point[] = {1, 1, 0, 1, 1025, 0, 1, 2};
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

TEST(other_coordinate_systems_are_told)
{
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

TEST(a_dem_without_a_place_takes_that_of_the_source)
{
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
    /* control points are a place of its own, though not one that is known */
    static const double points[] = {0, 0, 0, 5, 6, 0, 3, 0, 0, 9, 6, 0};
    assert_int_equal(grid_add_tag(s.grids[DEM], GRID_TIEPOINT, GRID_DOUBLE, 12, points), STATUS_OK);
    o = run_well(&s);
    assert_true(is_warned(&o, "how large their cells are"));
    assert_int_equal(json_array_size(o.last.warnings), 1);
    outcome_free(&o);
    s.grids[SOURCE]->has_origin = false; /* then nobody knows */
    o = run_well(&s);
    assert_true(is_warned(&o, "how large their cells are"));
    assert_int_equal(json_array_size(o.last.warnings), 1);
    outcome_free(&o);
    slide_free(&s);
}

/* Of the only ring of outline.geojson the area, which is positive where it runs counterclockwise,
 * and the least x and y. */
static double ring_area(const struct outcome *o, double low[2], const char *system)
{
    const struct made_file *const f = find_file(o, "outline.geojson");
    assert_non_null(f);
    json_t *const all = json_loadb((const char *)f->bytes.data, f->bytes.len, 0, NULL);
    double area = 0;
    assert_non_null(all);
    const json_t *const crs = json_object_get(json_object_get(all, "crs"), "properties");
    const char *const name = json_string_value(json_object_get(crs, "name"));
    assert_true(system != NULL ? name != NULL && strcmp(name, system) == 0 : name == NULL);
    const json_t *const feature = json_array_get(json_object_get(all, "features"), 0);
    const json_t *const patches =
        json_object_get(json_object_get(feature, "geometry"), "coordinates");
    const json_t *const ring = json_array_get(json_array_get(patches, 0), 0);
    assert_true(json_array_size(patches) == 1 && json_array_size(ring) == 5);
    low[0] = low[1] = INFINITY;
    for (size_t k = 0; k < 4; k++) {
        const json_t *const a = json_array_get(ring, k), *const b = json_array_get(ring, k + 1);
        const double x[2] = {json_number_value(json_array_get(a, 0)),
                             json_number_value(json_array_get(b, 0))};
        const double y[2] = {json_number_value(json_array_get(a, 1)),
                             json_number_value(json_array_get(b, 1))};
        area += (x[0] * y[1] - x[1] * y[0]) / 2;
        low[0] = fmin(low[0], x[0]);
        low[1] = fmin(low[1], y[0]);
    }
    json_decref(all);
    return area;
}

/* Rows southwards, northwards, turned, mirrored, and without a place. */
TEST(outlines_run_counterclockwise_on_the_map_however_it_lies)
{
    static const double turned[6] = {6, 8, 500, 8, -6, 900},
                        mirrored[6] = {-10, 0, 500, 0, -10, 900};
    static const double low[][2] = {{1040, 2040}, {1040, 2040}, {556, 902}, {450, 850}, {4.5, 4.5}};
    static const uint16_t keys[] = {1, 1, 0, 1, 3072, 0, 1, 32633};
    for (size_t k = 0; k < 5; k++) {
        struct slide s = slope(9, 12, 4, 4);
        const char *const params[] = {"steps=0", "outline=geojson", "figure=none"};
        memcpy(s.params, params, sizeof params);
        for (int part = 0; part < 2; part++) {
            struct grid *const g = s.grids[part];
            g->cell_y = k == 1 ? -10 : 10;
            g->y = k == 1 ? 2000 + 9 * 10 : 2000;
            g->has_origin = k < 2;
            g->is_rotated = k == 2 || k == 3;
            memcpy(g->transform, k == 2 ? turned : mirrored, sizeof turned);
        }
        if (k == 0) {
            assert_int_equal(grid_add_tag(s.grids[DEM], GRID_GEO_KEYS, GRID_SHORT, 8, keys),
                             STATUS_OK);
        }
        struct outcome o = run_well(&s);
        double least[2];
        const double area = ring_area(&o, least, k == 0 ? "urn:ogc:def:crs:EPSG::32633" : NULL);
        if (!(fabs(area - (k == 4 ? 1 : 100)) < 1e-6) || least[0] != low[k][0] ||
            least[1] != low[k][1]) {
            fail_msg("%zu: area %g from %g, %g", k, area, least[0], least[1]);
        }
        outcome_free(&o);
        slide_free(&s);
    }
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
