/*
 * The picture of a landslide, map.png: its size, what its cells show, its legend; on the backend
 * LEAT_TEST_BACKEND.
 * ctest: link=PNG::PNG wrap=figure_text,figure_text_up,figure_text_turned
 */
#include "tests/support/sciddicat_runner.h"

#include "stages/sciddicat/sciddicat_map.h"
#include "tests/support/drawn_texts.h"
#include "tests/support/png_support.h"

static size_t big_endian(const unsigned char *at)
{
    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

TEST(the_picture_is_bounded)
{
    static const size_t shapes[][2] = {{1, 1},     {2, 2},    {1, 50},   {50, 1},  {9, 12},
                                       {300, 200}, {3, 4000}, {1700, 8}, {700, 60}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t rows = shapes[i][0], columns = shapes[i][1];
        struct slide s = slope(rows, columns, rows / 2, columns / 2);
        s.params[0] = "steps=9";
        s.params[1] = "raster=asc.gz";
        struct outcome o = run_well(&s);
        const struct made_file *const f = find_file(&o, "map.png");
        assert_non_null(f);
        assert_int_equal(f->kind, PACK_RAW);
        assert_memory_equal(f->bytes.data, "\x89PNG\r\n\x1a\n", 8);
        const size_t width = big_endian(f->bytes.data + 16),
                     height = big_endian(f->bytes.data + 20);
        assert_in_range(width, 550, 2000);
        assert_in_range(height, 400, 2000);
        outcome_free(&o);
        slide_free(&s);
    }
}

TEST(the_picture_is_the_same_whichever_way_the_rows_go)
{
    struct slide up = slope(9, 12, 3, 4), down = slope(9, 12, 3, 4);
    up.params[0] = down.params[0] = "steps=9";
    down.grids[DEM]->cell_y = down.grids[SOURCE]->cell_y = -10;
    down.grids[DEM]->y += 9 * 10; /* of the last row, which is the northernmost now */
    down.grids[SOURCE]->y += 9 * 10;
    for (int part = 0; part < 2; part++) {
        for (size_t k = 0; k < slide_cells(&up); k++) {
            down.cells[part][k] = up.cells[part][(8 - k / 12) * 12 + k % 12];
        }
    }
    struct outcome a = run_well(&up), b = run_well(&down);
    const struct made_file *const p = find_file(&a, "map.png"), *const q = find_file(&b, "map.png");
    assert_int_equal(p->bytes.len, q->bytes.len);
    assert_memory_equal(p->bytes.data, q->bytes.data, p->bytes.len);
    outcome_free(&a);
    outcome_free(&b);
    slide_free(&up);
    slide_free(&down);
}

/* --- its dots ------------------------------------------------------------------------------------
 */

enum { WHITE = 0xffffff, MARGIN = 16, LEFT = 44, TOP = 47, CELL = 48 };

/* Of map.png; free `rgb`. */
static struct dots read_map(const struct outcome *o)
{
    const struct made_file *const f = find_file(o, "map.png");
    assert_non_null(f);
    return dots_read(f->bytes.data, f->bytes.len);
}

/* Of most of 49 places in a cell that is drawn CELL pixels wide: lines may cross it. */
static unsigned colour_of_cell(const struct dots *d, size_t row, size_t column)
{
    unsigned colours[49], most = 0;
    size_t n_most = 0;
    for (size_t k = 0; k < 49; k++) {
        colours[k] =
            dots_at(d, LEFT + CELL * column + 3 + k % 7 * 6, TOP + CELL * row + 3 + k / 7 * 6);
    }
    for (size_t k = 0; k < 49; k++) {
        size_t n = 0;
        for (size_t i = 0; i < 49; i++) {
            n += colours[i] == colours[k];
        }
        if (n > n_most) {
            n_most = n;
            most = colours[k];
        }
    }
    return most;
}

/* Terrain is grey, the film bluish, debris yellow to red. */
static bool is_film(unsigned rgb)
{
    return (rgb & 0xff) > rgb >> 16;
}

static bool is_debris(unsigned rgb)
{
    return (rgb & 0xff) < rgb >> 16;
}

static size_t ink_from(const struct dots *d, size_t first)
{
    size_t n = 0;
    for (size_t y = 0; y < d->height; y++) {
        for (size_t x = first; x < d->width; x++) {
            n += dots_at(d, x, y) != WHITE;
        }
    }
    return n;
}

static struct slide gutter(double debris_m)
{
    struct slide s = slope(20, 5, 2, 2);
    for (size_t k = 0; k < slide_cells(&s); k++) {
        s.cells[DEM][k] += k % 5 == 2 ? 0 : 100;
    }
    s.cells[DEM][18 * 5 + 2] -= 50; /* where it comes to rest */
    s.cells[SOURCE][2 * 5 + 2] = debris_m;
    return s;
}

/* But for its coordinates: these stay in feet. */
TEST(a_map_in_feet_has_the_shades_and_the_scale_of_one_in_metres)
{
    static const char feet[] = "PROJCS[\"a\",UNIT[\"foot\",0.3048]],VERTCS[\"b\",UNIT[\"m\",1]]";
    struct dots d[2];
    for (int k = 0; k < 2; k++) {
        struct slide s = slope(9, 12, 3, 4);
        s.params[0] = "steps=9";
        for (int part = 0; part < 2 && k == 1; part++) {
            s.grids[part]->cell_x = s.grids[part]->cell_y = 10 / 0.3048;
            assert_int_equal(grid_set_prj(s.grids[part], feet), STATUS_OK);
        }
        struct outcome o = run_well(&s);
        d[k] = read_map(&o);
        outcome_free(&o);
        slide_free(&s);
    }
    assert_int_equal(d[0].width, d[1].width);
    assert_int_equal(d[0].height, d[1].height);
    const size_t below = MARGIN + 12; /* what the coordinates are */
    const size_t scale = 3 * d[0].width * (d[0].height - below - 2 * (size_t)MARGIN),
                 n = 5 * MARGIN;
    assert_memory_equal(d[0].rgb + scale, d[1].rgb + scale, n * d[0].width);
    for (size_t cell = 0; cell < 9 * (size_t)12; cell++) {
        assert_int_equal(colour_of_cell(&d[0], cell / 12, cell % 12),
                         colour_of_cell(&d[1], cell / 12, cell % 12));
    }
    free(d[0].rgb);
    free(d[1].rgb);
}

TEST(what_adheres_is_a_film_on_thin_slides_too)
{
    static const double debris_m[] = {0.05, 0.1, 2};
    for (size_t i = 0; i < 3; i++) {
        struct slide s = gutter(debris_m[i]);
        s.params[0] = "steps=600";
        struct outcome o = run_well(&s);
        struct dots d = read_map(&o);
        for (size_t row = 2; row < 18; row++) {
            if (!is_film(colour_of_cell(&d, row, 2))) {
                fail_msg("%g m: row %zu is %06x", debris_m[i], row, colour_of_cell(&d, row, 2));
            }
        }
        assert_true(is_debris(colour_of_cell(&d, 18, 2)));
        free(d.rgb);
        outcome_free(&o);
        slide_free(&s);
    }
}

TEST(the_legend_is_as_wide_as_its_text)
{
    static const char *const epsilons[] = {"p_epsilon=0.005", "p_epsilon=0.0123",
                                           "p_epsilon=1.23e-7", "p_epsilon=1"};
    for (size_t i = 0; i < 4; i++) {
        struct slide s = gutter(2);
        s.params[0] = epsilons[i];
        s.params[1] = "steps=600";
        struct outcome o = run_well(&s);
        struct dots d = read_map(&o);
        assert_int_equal(ink_from(&d, d.width - MARGIN), 0);
        assert_true(ink_from(&d, d.width - MARGIN - 90) > 0); /* and no wider than for a number */
        free(d.rgb);
        outcome_free(&o);
        slide_free(&s);
    }
}

TEST(a_plane_has_one_shade_up_to_its_corners)
{
    struct slide s = slope(9, 20, 4, 10);
    for (size_t k = 0; k < slide_cells(&s); k++) {
        s.cells[DEM][k] = 1000 - 5 * (double)(k / 20) - 8 * (double)(k % 20);
    }
    s.params[0] = "steps=0";
    struct outcome o = run_well(&s);
    struct dots d = read_map(&o);
    const unsigned inside = colour_of_cell(&d, 6, 3);
    for (size_t row = 0; row < 9; row++) {
        for (size_t column = 0; column < 20; column++) {
            if ((row != 4 || column != 10) && colour_of_cell(&d, row, column) != inside) {
                fail_msg("row %zu, column %zu is %06x, not %06x", row, column,
                         colour_of_cell(&d, row, column), inside);
            }
        }
    }
    free(d.rgb);
    outcome_free(&o);
    slide_free(&s);
}

TEST(cells_that_are_not_square_are_told_in_the_legend)
{
    size_t ink[2];
    for (int k = 0; k < 2; k++) {
        struct slide s = gutter(2);
        s.params[0] = "steps=600";
        s.grids[DEM]->cell_y = s.grids[SOURCE]->cell_y = k == 0 ? 10 : 20;
        struct outcome o = run_well(&s);
        struct dots d = read_map(&o);
        ink[k] = ink_from(&d, LEFT + 400 + MARGIN);
        free(d.rgb);
        outcome_free(&o);
        slide_free(&s);
    }
    assert_true(ink[1] > ink[0]);
}

/* Of 3000 columns, 601 are shown: those with numbers, or those around the debris. */
TEST(a_map_of_a_part_of_the_grid_says_so)
{
    size_t ink[2];
    for (size_t k = 0; k < 2; k++) {
        struct slide s = slope(3, 3000, 1, 1500);
        for (size_t i = 0; i < slide_cells(&s); i++) {
            const size_t column = i % 3000;
            s.cells[DEM][i] = k == 0 && (column < 1200 || column > 1800) ? -9999 : 1000;
        }
        s.params[0] = "steps=0";
        struct outcome o = run_well(&s);
        struct dots d = read_map(&o);
        ink[k] = ink_from(&d, LEFT + 2 * 601 + MARGIN);
        free(d.rgb);
        outcome_free(&o);
        slide_free(&s);
    }
    assert_true(ink[1] > ink[0]);
}

/* --- its texts ------------------------------------------------------------------------------- */

/* The middle of what a tick's number stands for: of a place on the map, or of a row or column. */
static void check_tick(const struct drawn_text *t, bool has_origin, double cell)
{
    const double number = strtod(t->text, NULL);
    const double cells = has_origin ? (number - (t->is_up ? 2000 : 1000)) / cell : number - 0.5;
    const double along = t->is_up && has_origin ? 9 - cells : cells;
    const double at = (t->is_up ? TOP : LEFT) + along * CELL, is_at = t->is_up ? t->y : t->x;
    const double end = TOP + 9 * CELL - figure_text_width(12, t->text) / 2; /* within the map */
    if (!(fabs(is_at - at) <= 1) && !(t->is_up && at > end && fabs(is_at - end) <= 1)) {
        fail_msg("%s at %g, not %g", t->text, is_at, at);
    }
}

TEST(the_texts_of_a_map_are_these)
{
    static const struct {
        double cell;
        bool has_origin;
        const char *texts;
    } cases[] = {{10, true, "1000|1050|1100|2000|2050|20 m|N|"},
                 {250, true, "1000|2000|3000|4000|2000|3000|4000|1 km|N|"},
                 {249, true, "1000|2000|3000|2000|3000|4000|500 m|N|"},
                 {10, false, "5|10|5|2 cells|"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[256];
        struct slide s = slope(9, 12, 4, 4);
        s.params[0] = "steps=0";
        for (int part = 0; part < 2; part++) {
            s.grids[part]->has_origin = cases[i].has_origin;
            s.grids[part]->cell_x = s.grids[part]->cell_y = cases[i].cell;
        }
        drawn_begin();
        struct outcome o = run_well(&s);
        drawn_end();
        snprintf(
            want, sizeof want,
            "dem.x|: debris after 0 steps|1000|990|980|970|%s%s|debris, m|2|0.02|0.1|0.2|0.5|1|at "
            "the start|every 5 m of altitude",
            cases[i].texts,
            cases[i].has_origin ? "coordinates in metres; the file names no system"
                                : "columns and rows, from 1");
        assert_string_equal(drawn_all, want);
        size_t n_ticks = 0;
        for (size_t k = 0; k < drawn_n; k++) {
            const struct drawn_text *const t = &drawn_texts[k];
            const bool is_below = t->y > TOP + 9 * CELL && t->y < TOP + 9 * CELL + 25;
            if (t->is_up || is_below) {
                check_tick(t, cases[i].has_origin, cases[i].cell);
                n_ticks++;
            }
        }
        assert_in_range(n_ticks, 3, 8);
        outcome_free(&o);
        slide_free(&s);
    }
}

/* Ink stands out from the darkest terrain, a steep slope turned from the light, by WCAG's 4.5. */
TEST(ink_is_legible_on_the_darkest_terrain)
{
    struct slide s = slope(30, 30, 15, 15);
    s.params[0] = "steps=0";
    for (size_t k = 0; k < slide_cells(&s); k++) {
        s.cells[DEM][k] = 9000 - 40 * (double)(k / 30 + k % 30);
        s.cells[SOURCE][k] = 0;
    }
    struct outcome o = run_well(&s);
    struct dots d = read_map(&o);
    static const double weights[] = {0.2126, 0.7152, 0.0722};
    double luminance[2] = {0, 0};
    for (size_t k = 0; k < 6; k++) {
        const unsigned rgb = k < 3 ? (unsigned)COLOURS_INK : dots_at(&d, 60, 60);
        luminance[k / 3] += weights[k % 3] * pow((rgb >> (16 - 8 * (k % 3)) & 255) / 255.0, 2.2);
    }
    assert_true(luminance[1] < 0.5); /* it is dark */
    assert_true((luminance[1] + 0.05) / (luminance[0] + 0.05) > 4.5);
    free(d.rgb);
    outcome_free(&o);
    slide_free(&s);
}

/* What a map says of its coordinates, by the text of its .prj or the keys of its GeoTIFF. */
TEST(the_coordinate_system_is_named)
{
    static const uint16_t utm[] = {1, 1, 0, 1, 3072, 0, 1, 32632},
                          degrees[] = {1, 1, 0, 2, 1024, 0, 1, 2, 2048, 0, 1, 4326};
    static const struct {
        const char *prj;
        const uint16_t *keys;
        size_t n_keys;
        double at;
        const char *said;
    } cases[] = {
        {NULL, utm, 8, 10, "|coordinates in metres, EPSG:32632|"},
        {NULL, degrees, 12, 0.0001, "|coordinates in degrees, EPSG:4326|"},
        {"PROJCS[\"ETRS89 / UTM zone 33N\",GEOGCS[\"ETRS89\"],UNIT[\"metre\",1]]", NULL, 0, 10,
         "|coordinates in metres, ETRS89 / UTM zone 33N|"},
        {"PROJCS[\"in feet\",GEOGCS[\"x\"],UNIT[\"foot\",0.3048]]", NULL, 0, 10,
         "|coordinates in feet, in feet|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slide s = slope(9, 12, 4, 4);
        s.params[0] = "steps=0";
        for (int part = 0; part < 2; part++) {
            struct grid *const g = s.grids[part];
            g->has_origin = true;
            g->cell_x = g->cell_y = cases[i].at;
            assert_int_equal(grid_set_prj(g, cases[i].prj), STATUS_OK);
            if (cases[i].keys != NULL) {
                assert_int_equal(
                    grid_add_tag(g, GRID_GEO_KEYS, GRID_SHORT, cases[i].n_keys, cases[i].keys),
                    STATUS_OK);
            }
        }
        drawn_begin();
        struct outcome o = run_well(&s);
        drawn_end();
        if (strstr(drawn_all, cases[i].said) == NULL) {
            fail_msg("no %s in %s", cases[i].said, drawn_all);
        }
        outcome_free(&o);
        slide_free(&s);
    }
}

/* Altitudes stand along their lines, which of a plane that rises to the south-east go upwards. */
TEST(altitudes_stand_along_their_lines)
{
    struct slide s = slope(60, 60, 30, 30);
    s.params[0] = "steps=0";
    for (size_t k = 0; k < slide_cells(&s); k++) {
        s.cells[DEM][k] = 1000 + 5 * (double)(k / 60 + k % 60);
        s.cells[SOURCE][k] = 0;
    }
    drawn_begin();
    struct outcome o = run_well(&s);
    drawn_end();
    size_t n = 0;
    for (size_t k = 0; k < drawn_n; k++) {
        n += fabs(drawn_texts[k].angle + M_PI / 4) < 1e-6;
        assert_true(drawn_texts[k].angle == 0 || fabs(drawn_texts[k].angle + M_PI / 4) < 1e-6);
    }
    assert_in_range(n, 5, 40);
    outcome_free(&o);
    slide_free(&s);
}

/* Where the row and the column meet along which they are put there is one altitude. */
TEST(no_altitude_stands_on_another)
{
    for (size_t columns = 8; columns < 24; columns++) {
        struct slide s = slope(8, columns, 4, 4);
        s.params[0] = "steps=0";
        for (size_t k = 0; k < slide_cells(&s); k++) {
            s.cells[DEM][k] = 1000 + 5 * (double)(k / columns + k % columns);
        }
        drawn_begin();
        struct outcome o = run_well(&s);
        drawn_end();
        for (size_t i = 0; i < drawn_n; i++) {
            for (size_t k = 0; k < i && drawn_texts[i].angle != 0; k++) {
                assert_true(drawn_texts[k].angle == 0 ||
                            hypot(drawn_texts[i].x - drawn_texts[k].x,
                                  drawn_texts[i].y - drawn_texts[k].y) > 30);
            }
        }
        outcome_free(&o);
        slide_free(&s);
    }
}

TEST(noise_has_no_contour_lines_and_a_slope_of_that_size_has)
{
    for (int noise = 0; noise < 2; noise++) {
        struct slide s = slope(400, 400, 200, 200);
        s.params[0] = "steps=0";
        for (size_t k = 0; k < slide_cells(&s) && noise; k++) {
            s.cells[DEM][k] = (double)(k * 2654435761u % 1000);
        }
        drawn_begin();
        struct outcome o = run_well(&s);
        drawn_end();
        assert_int_equal(strstr(drawn_all, "m of altitude") == NULL, noise);
        outcome_free(&o);
        slide_free(&s);
    }
}

TEST(a_stopped_job_draws_no_map)
{
    static const int stop = 1;
    enum { N = 4 };
    struct queue queue = {.stop = &stop};
    double z[N] = {0}, h[N] = {0};
    uint8_t nodata[N] = {0};
    int32_t arrival[N] = {0};
    struct sciddicat_relief relief;
    struct slide s = slide_new(2, 2);
    const struct sciddicat_job job = {
        .dem = s.grids[DEM],
        .slide = {.home = &queue, .z = z, .h = h, .nodata = nodata, .arrival = arrival}};
    assert_int_equal(sciddicat_relief_new(&job, h, &relief), STATUS_CANCELLED);
    slide_free(&s);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
