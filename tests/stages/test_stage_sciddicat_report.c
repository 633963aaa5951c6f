/*
 * What the stage `sciddicat` refuses and warns of: messages with places; on the backend
 * LEAT_TEST_BACKEND. What it reports: test_stage_sciddicat_figures.c.
 */
#include "tests/support/sciddicat_runner.h"

/* --- what is refused ----------------------------------------------------------------------------
 */

TEST(cells_that_cannot_be_are_named_by_row_and_column)
{
    static const struct {
        int part;
        double value;
        const char *policy, *text;
    } bad[] = {{SOURCE, INFINITY, "nodata=wall", "not a thickness"},
               {SOURCE, -INFINITY, "nodata=wall", "is below 0"},
               {SOURCE, -0.5, "nodata=sink", "is below 0"},
               {SOURCE, 1e10, "nodata=compat", "not a thickness"},
               {DEM, INFINITY, "nodata=wall", "not an altitude"},
               {DEM, -INFINITY, "nodata=compat", "not an altitude"},
               {DEM, -3.4028234663852886e38, "nodata=sink", "gdal_translate -a_nodata"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (unsigned cut = 0; cut < 2; cut++) {
            struct slide s = slope(9, 12, 4, 4);
            const char *const name = bad[i].part == DEM ? "dem.x: " : "source.x: ";
            s.cut = cut;
            s.params[0] = bad[i].policy;
            s.cells[bad[i].part][6 * 12 + 10] = bad[i].value;
            s.cells[bad[i].part][8 * 12 + 1] = bad[i].value; /* the first one is named */
            CHECK_REFUSED(&s, STATUS_BAD_INPUT, name, "row 7, column 11", bad[i].text);
            slide_free(&s);
        }
    }
}

TEST(minus_zero_is_no_debris)
{
    struct slide s = slope(9, 12, 4, 4);
    s.params[0] = "steps=0";
    for (size_t k = 0; k < slide_cells(&s); k++) {
        s.cells[SOURCE][k] = -0.0;
    }
    struct outcome o = run_well(&s);
    double *const h = read_raster(&o, "thickness.tif", slide_cells(&s), NULL);
    for (size_t k = 0; k < slide_cells(&s); k++) {
        assert_true(h[k] == 0 && !signbit(h[k]));
    }
    free(h);
    assert_true(is_warned(&o, "no cell carries debris"));
    outcome_free(&o);
    slide_free(&s);
}

TEST(compat_refuses_nodata_that_is_no_altitude)
{
    static const double numbers[] = {NAN, INFINITY, -3.4028234663852886e38};
    for (size_t i = 0; i < 3; i++) {
        struct slide s = slope(9, 12, 4, 4);
        s.params[0] = "nodata=compat";
        s.params[1] = "steps=5";
        s.grids[DEM]->nodata = s.cells[DEM][8 * 12 + 3] = numbers[i];
        CHECK_REFUSED(&s, STATUS_BAD_INPUT, "dem.x: row 9, column 4", "nodata=compat",
                      "set nodata=wall or nodata=sink");
        s.params[0] = "nodata=sink";
        struct outcome o = run_well(&s);
        outcome_free(&o);
        slide_free(&s);
    }
}

/* Whether the file names a number for NODATA or none: nothing else can be meant. */
TEST(nan_is_nodata_in_both_grids)
{
    for (int has = 0; has < 2; has++) {
        struct slide s = slope(9, 12, 4, 4);
        s.grids[DEM]->has_nodata = s.grids[SOURCE]->has_nodata = has;
        s.cells[DEM][5 * 12 + 4] = s.cells[SOURCE][2 * 12 + 2] = NAN;
        if (has) {
            s.cells[DEM][0] = s.cells[SOURCE][2 * 12 + 3] = -9999; /* one of each kind */
        }
        s.params[0] = "steps=30";
        struct outcome o = run_well(&s);
        struct grid *g = NULL;
        double *const h = read_raster(&o, "thickness.tif", slide_cells(&s), &g);
        assert_true(g->has_nodata && h[5 * 12 + 4] == -9999);
        assert_true(h[2 * 12 + 2] == 0);
        assert_true(is_warned(&o, "beside NODATA"));
        assert_int_equal(json_integer_value(json_object_get(o.last.shape, "nodata_cells")),
                         1 + has);
        assert_int_equal(json_integer_value(json_object_get(o.last.shape, "source_cells")), 1);
        grid_free(g);
        free(h);
        outcome_free(&o);
        slide_free(&s);
    }
}

TEST(a_dem_without_altitudes_is_refused)
{
    struct slide s = slope(9, 12, 4, 4);
    for (size_t k = 0; k < slide_cells(&s); k++) {
        s.cells[DEM][k] = -9999;
    }
    CHECK_REFUSED(&s, STATUS_BAD_INPUT, "dem.x", "no cell has an altitude");
    slide_free(&s);
}

TEST(grids_that_do_not_fit_are_refused_before_any_number)
{
    struct slide s = slope(9, 12, 4, 4);
    s.grids[SOURCE]->columns = 13;
    CHECK_REFUSED(&s, STATUS_BAD_INPUT, "shape", "dem.x is 9 rows x 12 columns",
                  "source.x is 9 rows x 13 columns");
    s.grids[SOURCE]->columns = 12;
    s.grids[SOURCE]->x = 1010;
    CHECK_REFUSED(&s, STATUS_BAD_INPUT, "place", "dem.x", "source.x");
    s.grids[SOURCE]->has_origin = false;
    struct outcome o = run_well(&s);
    outcome_free(&o);
    s.grids[DEM]->cell_y = s.grids[SOURCE]->cell_y = -10;
    s.params[0] = "raster=asc.gz";
    CHECK_REFUSED(&s, STATUS_BAD_ARGUMENT, "dem.x", "raster=tif");
    s.params[0] = "snapshot_every=1";
    s.params[1] = "steps=100001";
    CHECK_REFUSED(&s, STATUS_BAD_ARGUMENT, "snapshot_every=1", "100001 snapshots");
    slide_free(&s);
}

TEST(tables_whose_rows_are_not_known_are_no_grids)
{
    struct slide s = slope(9, 12, 4, 4);
    for (int part = 0; part < 2; part++) {
        grid_free(s.grids[part]);
        s.grids[part] = NULL;
    }
    s.n_lines_known = 0;
    CHECK_REFUSED(&s, STATUS_BAD_INPUT, "dem.x", "not known", ".npy");
    s.n_lines_known = 1;
    s.params[0] = "steps=10";
    struct outcome o = run_well(&s);
    assert_true(is_warned(&o, "how large their cells are"));
    assert_true(json_is_null(json_object_get(o.last.shape, "cell_x_m")));
    outcome_free(&o);
    slide_free(&s);
}

TEST(too_many_cells_are_refused)
{
    static const size_t sides[][2] = {{65536, 32769}, {SIZE_MAX / 2, 3}};
    for (size_t i = 0; i < 2; i++) {
        struct slide s = slope(3, 3, 1, 1);
        for (int part = 0; part < 2; part++) {
            s.grids[part]->rows = sides[i][0];
            s.grids[part]->columns = sides[i][1];
        }
        CHECK_REFUSED(&s, STATUS_TOO_LARGE, "dem.x", "2^31 cells");
        slide_free(&s);
    }
}

/* --- warnings -----------------------------------------------------------------------------------
 */

TEST(debris_that_cannot_move_is_told)
{
    struct slide s = slope(9, 12, 4, 4);
    s.cells[SOURCE][3] = 1;
    s.cells[SOURCE][8 * 12 + 4] = 2.5;
    s.cells[DEM][2 * 12 + 2] = -9999;
    s.cells[SOURCE][2 * 12 + 2] = 7;
    s.cells[SOURCE][3 * 12 + 3] = -9999; /* none */
    s.params[0] = "steps=3";
    struct outcome o = run_well(&s);
    assert_true(is_warned(&o, "350 m3 of debris (2 cells) lie on the outermost ring"));
    assert_true(is_warned(&o, "700 m3 of debris (1 cell) lie where the DEM has NODATA"));
    assert_true(summary_number(&o, "volume_start_m3") == 1250);
    outcome_free(&o);
    s.params[1] = "nodata=compat"; /* where it is a cell like any other */
    o = run_well(&s);
    assert_false(is_warned(&o, "where the DEM has NODATA"));
    assert_true(is_warned(&o, "takes as an altitude"));
    outcome_free(&o);
    slide_free(&s);
}

TEST(quiet_jobs_warn_of_nothing)
{
    struct slide s = slope(9, 12, 4, 4);
    s.cells[SOURCE][4 * 12 + 4] = 0.0005; /* it adheres */
    s.params[0] = "steps=20";
    struct outcome o = run_well(&s);
    assert_int_equal(json_array_size(o.last.warnings), 0);
    outcome_free(&o);
    slide_free(&s);
}

TEST(scales_that_the_model_does_not_know_are_told)
{
    static const uint16_t degrees[] = {1, 1, 0, 1, 1024, 0, 1, 2};
    static const uint16_t fathoms[] = {1, 1, 0, 2, 1024, 0, 1, 1, 3076, 0, 1, 9014};
    static const uint16_t metres[] = {1, 1, 0, 2, 1024, 0, 1, 1, 3076, 0, 1, 9001};
    static const struct {
        const uint16_t *keys;
        size_t n;
        const char *prj, *text;
    } cases[] = {
        {degrees, 8, NULL, "geographic"},
        {fathoms, 12, NULL, "whose unit is not known"},
        {metres, 12, NULL, NULL},
        {NULL, 0, "GEOGCS[\"WGS\",UNIT[\"Degree\",0.0174532925199433]]", "geographic"},
        {NULL, 0, "PROJCS[\"a\",GEOGCS[\"b\",UNIT[\"Degree\",0.0174]]]", "not understood"},
        {NULL, 0, "PROJCS[\"a\",GEOGCS[\"b\",UNIT[\"Degree\",0.0174]],UNIT[\"Meter\",1.0]]", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slide s = slope(9, 12, 4, 4);
        s.cells[SOURCE][4 * 12 + 4] = 0.0005;
        s.params[0] = "steps=2";
        if (cases[i].keys != NULL) {
            assert_int_equal(
                grid_add_tag(s.grids[DEM], GRID_GEO_KEYS, GRID_SHORT, cases[i].n, cases[i].keys),
                STATUS_OK);
        }
        assert_int_equal(grid_set_prj(s.grids[DEM], cases[i].prj), STATUS_OK);
        struct outcome o = run_well(&s);
        assert_int_equal(json_array_size(o.last.warnings), cases[i].text != NULL);
        assert_true(cases[i].text == NULL || is_warned(&o, cases[i].text));
        assert_true(summary_number(&o, "volume_start_m3") ==
                    (cases[i].text == NULL ? 0.05 : 0.0005));
        outcome_free(&o);
        s.params[1] = "raster=asc.gz";
        o = run_well(&s);
        assert_true(is_warned(&o, "cannot be said in .asc.gz") == (cases[i].keys != NULL));
        assert_true((find_file(&o, "thickness.prj") != NULL) == (cases[i].prj != NULL));
        outcome_free(&o);
        slide_free(&s);
    }
}

/* What is noticed of the altitudes as they pass. */
static bool notices(const struct slide *s, const char *text)
{
    struct param_value params[MOST_SPECS];
    parse_params(&stage_sciddicat, s->params, params);
    const struct table_info info = {.format = "tif",
                                    .grid = s->grids[DEM],
                                    .dtype = DTYPE_F64,
                                    .n_lines = s->rows,
                                    .cells_per_line = s->columns};
    struct table_watch *seen;
    struct result r;
    const struct table_chunk chunk = {.values = s->cells[DEM], .n_cells = slide_cells(s)};
    assert_int_equal(table_watch_new(&info, TABLE_WATCH_HEIGHTS, &seen), STATUS_OK);
    assert_int_equal(table_watch_take(seen, &chunk, NULL), STATUS_OK);
    const struct stage_args args = {.params = params,
                                    .inputs[0] = {.table = &info, .name = "dem.x", .seen = seen}};
    struct outcome o = {0};
    assert_int_equal(result_init(&r), STATUS_OK);
    assert_int_equal(stage_sciddicat.notice(&args, &r), STATUS_OK);
    o.last = r;
    const bool found = is_warned(&o, text);
    assert_int_equal(json_array_size(r.warnings), found);
    result_free(&r);
    table_watch_free(seen);
    return found;
}

/* Beside a number for NODATA and without one; under compat every number is an altitude. */
TEST(altitudes_that_look_like_codes_are_told)
{
    static const char *const policies[] = {"nodata=wall", "nodata=sink", "nodata=compat"};
    for (size_t i = 0; i < 3; i++) {
        for (int has = 0; has < 2; has++) {
            struct slide s = slope(9, 12, 4, 4);
            s.params[0] = policies[i];
            s.grids[DEM]->has_nodata = has;
            s.grids[DEM]->nodata = -99999;
            assert_true(notices(&s, "the altitudes name no coordinate system, so the results"));
            assert_int_equal(grid_set_prj(s.grids[DEM], "Projection UTM"), STATUS_OK);
            assert_false(notices(&s, ""));
            s.cells[DEM][7 * 12 + 3] = s.cells[DEM][7 * 12 + 8] = -32768;
            s.cells[DEM][0] = has ? -99999 : -32768;
            assert_int_equal(notices(&s, has ? "-32768 (2 cells) looks like a code for missing"
                                             : "-32768 (3 cells) looks like a code for missing"),
                             i < 2);
            slide_free(&s);
        }
    }
}

/* A surface of 500 m and more where debris should be, and a heap of 2 m where altitudes should. */
static struct slide exchanged_slide(void)
{
    struct slide s = slope(20, 20, 8, 8);
    double *const altitudes = s.cells[DEM];
    s.cells[DEM] = s.cells[SOURCE];
    s.cells[SOURCE] = altitudes;
    s.params[0] = "steps=1";
    return s;
}

TEST(exchanged_grids_are_told_whichever_has_nodata)
{
    static const char exchanged[] = "the two files seem to be exchanged";
    for (unsigned in = 0; in < 4; in++) { /* a fifth of the cells, in neither, one or both */
        struct slide s = exchanged_slide();
        for (size_t k = 0; k < slide_cells(&s); k += 5) {
            for (int part = 0; part < 2; part++) {
                s.cells[part][k] = in & 1U << part ? -9999 : s.cells[part][k];
            }
        }
        struct outcome o = run_well(&s);
        if (!is_warned(&o, exchanged) || !is_warned(&o, "source.x has debris in ")) {
            fail_msg("NODATA in grids %u: not told", in);
        }
        outcome_free(&o);
        slide_free(&s);
    }
    struct slide s = exchanged_slide(); /* 90 of 100 cells: fewer than all */
    for (size_t k = 0; k < slide_cells(&s); k += 10) {
        s.cells[SOURCE][k] = 0;
    }
    struct outcome o = run_well(&s);
    assert_false(is_warned(&o, "as if it held altitudes"));
    outcome_free(&o);
    slide_free(&s);
    s = slope(20, 20, 8, 8); /* debris everywhere on altitudes that are none */
    for (size_t k = 0; k < slide_cells(&s); k++) {
        s.cells[SOURCE][k] = 1;
    }
    s.params[0] = "steps=1";
    o = run_well(&s);
    assert_true(is_warned(&o, "as if it held altitudes"));
    assert_false(is_warned(&o, exchanged));
    outcome_free(&o);
    for (size_t k = 0; k < slide_cells(&s); k++) { /* a source of the scar alone, NODATA around */
        s.cells[SOURCE][k] = k / 20 < 8 ? 1 : -9999;
        s.cells[DEM][k] = k / 20 < 8 ? 500 : 0;
    }
    o = run_well(&s);
    assert_false(is_warned(&o, "as if it held altitudes"));
    outcome_free(&o);
    slide_free(&s);
}

TEST(cells_that_are_not_square_are_told)
{
    static const struct {
        double height;
        const char *told; /* NULL: square but for rounding */
    } cases[] = {{20, "10 m x 20 m"}, {10.01, "10 m x 10.01 m"}, {10.000001, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slide s = slope(9, 12, 4, 4);
        s.grids[DEM]->cell_y = s.grids[SOURCE]->cell_y = cases[i].height;
        s.params[0] = "steps=5";
        struct outcome o = run_well(&s);
        assert_int_equal(is_warned(&o, "takes them to be square"), cases[i].told != NULL);
        assert_true(cases[i].told == NULL || is_warned(&o, cases[i].told));
        assert_true(summary_number(&o, "volume_start_m3") == 20 * cases[i].height);
        outcome_free(&o);
        slide_free(&s);
    }
}

/* The ring takes debris, whatever its cells are. */
TEST(nodata_within_the_map_alone_dams_debris)
{
    for (int within = 0; within < 2; within++) {
        struct slide s = slope(9, 12, 6, 4);
        for (size_t j = 0; j < 12; j++) {
            s.cells[DEM][(within ? 7U : 8U) * 12 + j] = NAN;
        }
        s.params[0] = "steps=30";
        struct outcome o = run_well(&s);
        assert_int_equal(is_warned(&o, "beside NODATA, which held it back"), within);
        outcome_free(&o);
        slide_free(&s);
    }
}

/* NODATA beneath the debris, whose altitude nobody knows, hides no step at its other sides. */
TEST(debris_that_its_altitudes_lack_is_told_beside_nodata_too)
{
    enum { SIDE = 40 };
    for (int has_nodata = 0; has_nodata < 2; has_nodata++) {
        struct slide s = slide_new(SIDE, SIDE);
        for (size_t k = 0; k < SIDE * SIDE; k++) {
            const size_t i = k / SIDE, j = k % SIDE;
            const bool is_column = j >= 15 && j < 25;
            s.cells[DEM][k] = has_nodata && i == 25 && is_column ? NAN : 1000 - 3 * (double)i;
            s.cells[SOURCE][k] = i >= 15 && i < 25 && is_column ? 8 : 0;
        }
        s.params[0] = "steps=1";
        struct outcome o = run_well(&s);
        assert_true(is_warned(&o, "the debris is 8 m thick where it ends (8 m on the average)"));
        outcome_free(&o);
        slide_free(&s);
    }
}

/* What the user calls NODATA is not an altitude: as one it would be a pit that swallows the slide.
 */
TEST(compat_and_a_missing_value_exclude_one_another)
{
    struct slide s = slope(9, 12, 4, 4);
    s.has_missing_value = true;
    s.params[0] = "nodata=compat";
    s.params[1] = "steps=5";
    CHECK_REFUSED(&s, STATUS_BAD_ARGUMENT, "dem.x: missing_value", "nodata=compat",
                  "set nodata=wall or nodata=sink");
    s.params[0] = "nodata=wall";
    struct outcome o = run_well(&s);
    outcome_free(&o);
    slide_free(&s);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
