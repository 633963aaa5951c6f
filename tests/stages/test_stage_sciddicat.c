/*
 * The stage `sciddicat` against the plain form of the automaton, on the backend LEAT_TEST_BACKEND:
 * what is made of the numbers of two grids, whatever they come as.
 *
 * Its steps are in test_stage_sciddicat_steps.c, what it refuses and warns of in
 * test_stage_sciddicat_report.c, its figures in test_stage_sciddicat_figures.c.
 * ctest: long optimize
 */
#include "tests/support/patience.h"
#include "tests/support/sciddicat_expected.h"

#include <fcntl.h>

TEST(stage_sciddicat_matches_the_reference_on_every_shape)
{
    static const size_t shapes[][2] = {{1, 1}, {1, 9}, {9, 1},   {2, 2},    {3, 3},
                                       {4, 7}, {5, 5}, {33, 31}, {257, 12}, {70, 300}};
    static const char *const policies[] = {"nodata=wall", "nodata=sink", "nodata=compat"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (size_t policy = 0; policy < 3; policy++) {
            const double holes = shapes[i][0] * shapes[i][1] > 4 ? 0.1 : 0;
            struct slide s = terrain(40 + i, shapes[i][0], shapes[i][1], 0.4, holes);
            const struct expected e = {(enum sciddicat_nodata)policy, 0.001, 0.5, 23};
            s.params[0] = "steps=23";
            s.params[1] = policies[policy];
            s.cut = i % 3;
            check_slide(&s, &e);
            slide_free(&s);
        }
    }
}

TEST(stage_sciddicat_takes_its_parameters_to_the_kernels)
{
    struct slide s = terrain(3, 30, 40, 0.5, 0.05);
    const struct expected e = {SCIDDICAT_SINK, 0.25, 0.125, 31};
    const char *const params[] = {"steps=31", "p_epsilon=0.25", "p_r=0.125", "nodata=sink"};
    memcpy(s.params, params, sizeof params);
    check_slide(&s, &e);
    slide_free(&s);
}

TEST(stage_sciddicat_does_not_depend_on_how_the_numbers_come)
{
    static const size_t cuts[] = {0, 1, 2, 7, 40, 41, 1199};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        for (unsigned how = 0; how < 8; how++) {
            struct slide s = terrain(5, 30, 40, 0.3, 0.05);
            const struct expected e = {SCIDDICAT_WALL, 0.001, 0.5, 9};
            s.params[0] = "steps=9";
            s.params[1] = "figure=none"; /* it is drawn of what is compared */
            s.cut = cuts[i];
            for (int part = 0; part < 2; part++) {
                s.f32[part] = (how & 1) != 0;
                s.by_columns[part] = (how >> (part + 1) & 1) != 0;
                if (s.by_columns[part]) { /* no grid has its rows across the lines */
                    grid_free(s.grids[part]);
                    s.grids[part] = NULL;
                }
                for (size_t k = 0; k < slide_cells(&s); k++) {
                    double *const x = &s.cells[part][k];
                    *x = s.f32[part] ? (double)(float)*x : *x;
                    *x = part == SOURCE && s.by_columns[part] && *x < 0 ? 0 : *x;
                    *x = part == DEM && s.by_columns[part] && *x == -9999 ? NAN : *x;
                }
            }
            check_slide(&s, &e);
            slide_free(&s);
        }
    }
}

TEST(stage_sciddicat_gives_the_same_bytes_for_any_number_of_threads)
{
    struct bytes all[3];
    for (size_t i = 0; i < 3; i++) {
        struct slide s =
            terrain(8, patience() > 1 ? 200 : 400, patience() > 1 ? 60 : 90, 0.15, 0.02);
        const char *const params[] = {"steps=60", "snapshot_every=25", "raster=asc.gz"};
        memcpy(s.params, params, sizeof params);
        under_test_threads(i + 1);
        s.cut = i;
        struct outcome o = run_well(&s);
        all[i] = read_everything(&o);
        outcome_free(&o);
        slide_free(&s);
    }
    under_test_threads(3);
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(all[0].len, all[i].len);
        assert_memory_equal(all[0].data, all[i].data, all[0].len);
        bytes_free(&all[i]);
    }
    bytes_free(&all[0]);
}

TEST(rasters_hold_the_nearest_floats_when_asked_for)
{
    static const char *const names[][2] = {{"thickness.tif", "thickness.asc.gz"},
                                           {"max_thickness.tif", "max_thickness.asc.gz"}};
    for (size_t format = 0; format < 2; format++) {
        struct slide s = terrain(13, 30, 30, 0.3, 0.1);
        const struct expected e = {SCIDDICAT_WALL, 0.001, 0.5, 12};
        struct sciddicat_reference *const want = expect_slide(&s, &e);
        const char *const params[] = {"steps=12", "raster_type=f32",
                                      format == 0 ? "raster=tif" : "raster=asc.gz"};
        memcpy(s.params, params, sizeof params);
        struct outcome o = run_well(&s);
        for (size_t n = 0; n < 2; n++) {
            double *const got = read_raster(&o, names[n][format], 900, NULL);
            for (size_t k = 0; k < 900; k++) {
                const double x = n == 0 ? want->h[k] : want->max_h[k];
                assert_true((float)got[k] == (want->nodata[k] ? -9999 : (float)x));
            }
            free(got);
        }
        sciddicat_reference_free(want);
        outcome_free(&o);
        slide_free(&s);
    }
}

TEST(rasters_carry_place_and_nodata)
{
    static const struct {
        const char *name;
        double nodata;
    } files[] = {{"thickness.tif", -9999},
                 {"max_thickness.tif", -9999},
                 {"snapshots/000004.tif", -9999},
                 {"arrival.tif", -1}};
    struct slide s = terrain(14, 20, 30, 0.3, 0.1);
    s.params[0] = "steps=4";
    s.params[1] = "snapshot_every=4";
    struct outcome o = run_well(&s);
    for (size_t f = 0; f < 4; f++) {
        struct grid *g = NULL;
        free(read_raster(&o, files[f].name, 600, &g));
        assert_true(g->has_origin && g->has_nodata && g->nodata == files[f].nodata);
        assert_true(grid_extent_of(g).west == 1000 && grid_extent_of(g).south == 2000 &&
                    g->cell_x == 10 && g->cell_y == 10);
        grid_free(g);
    }
    outcome_free(&o);
    s.params[2] = "nodata=compat"; /* cells like any other */
    o = run_well(&s);
    struct grid *g = NULL;
    free(read_raster(&o, "thickness.tif", 600, &g));
    assert_false(g->has_nodata);
    grid_free(g);
    outcome_free(&o);
    slide_free(&s);
}

/* A number for NODATA may be any, also one towards which every flow would be lost in rounding. */
TEST(the_number_that_stands_for_nodata_does_not_matter)
{
    static const double numbers[] = {-9999, 0, 32767, -3.4028234663852886e38, 1e300, NAN, INFINITY};
    static const char *const policies[] = {"nodata=wall", "nodata=sink"};
    for (size_t p = 0; p < 2; p++) {
        struct bytes first = {0};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            struct slide s = terrain(15, 40, 40, 0.3, 0.1);
            for (int part = 0; part < 2; part++) {
                s.grids[part]->nodata = numbers[i];
                for (size_t k = 0; k < slide_cells(&s); k++) {
                    double *const x = &s.cells[part][k];
                    *x = *x == -9999 ? numbers[i] : *x;
                }
            }
            s.params[0] = "steps=50";
            s.params[1] = policies[p];
            struct outcome o = run_well(&s);
            struct bytes all = read_everything(&o);
            assert_true(i == 0 || (all.len == first.len && !memcmp(all.data, first.data, all.len)));
            assert_int_equal(summary_number(&o, "lost_nodata_m3") > 0, p == 1);
            if (i == 0) {
                first = all;
            } else {
                bytes_free(&all);
            }
            outcome_free(&o);
            slide_free(&s);
        }
        bytes_free(&first);
    }
}

TEST(the_plan_covers_what_is_taken_of_the_backend)
{
    static const size_t shapes[][2] = {{1, 1}, {3, 5}, {100, 70}, {700, 300}, {1, 5000}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct slide s = terrain(16, shapes[i][0], shapes[i][1], 0.1, 0);
        s.params[0] = "steps=3";
        s.params[1] = "snapshot_every=1";
        s.cells[DEM][0] = -9999; /* so that NODATA goes to the backend too */
        s.cells[DEM][slide_cells(&s) - 1] = 5;
        struct outcome o = run_well(&s);
        assert_true(counted.peak_bytes <= o.need.memory_bytes);
        assert_true(o.need.host_bytes >= 37 * slide_cells(&s));
        assert_false(o.need.estimated);
        if (under_test_is_cpu() && slide_cells(&s) > 100000) { /* and by not much more */
            assert_true(o.need.memory_bytes <= 2 * counted.peak_bytes);
        }
        outcome_free(&o);
        slide_free(&s);
    }
}

TEST(a_failed_allocation_leaves_nothing)
{
    struct slide s = terrain(17, 20, 20, 0.3, 0.1);
    s.params[0] = "steps=3";
    struct outcome o = run_well(&s);
    const size_t n_allocs = counted.allocs;
    outcome_free(&o);
    assert_true(n_allocs >= 3);
    for (size_t n = 1; n <= n_allocs; n++) {
        counted.fail_at = n;
        o = run_slide(&s);
        counted.fail_at = 0;
        assert_int_equal(o.status, STATUS_NO_MEMORY);
        outcome_free(&o);
    }
    slide_free(&s);
}

/* --- Tessina ------------------------------------------------------------------------------------
 */

static bool read_tessina(const char *name, struct reading *out)
{
    const char *const folder = getenv("LEAT_TESSINA");
    static const char here[] = __FILE__;
    const char *const slash = strrchr(here, '/');
    char path[512];
    struct source *source;
    if (folder != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
    } else {
        snprintf(path, sizeof path, "%.*s/../../../shared/data/tessina/%s", (int)(slash - here),
                 here, name);
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    assert_int_equal(source_open(fd, name, &source), STATUS_OK);
    *out = read_source(source, NULL, 1 << 20);
    assert_int_equal(out->status, STATUS_OK);
    return true;
}

TEST(stage_sciddicat_gives_the_hashes_of_the_tessina_landslide)
{
    static const struct {
        const char *steps;
        uint64_t hash;
    } known[] = {{"steps=1", 0x583aa41a823b32a0}, {"steps=100", 0x4038a3f5050b199f}};
    struct reading read[2];
    if (!read_tessina("tessina.dem.asc", &read[DEM]) ||
        !read_tessina("tessina.source.asc", &read[SOURCE])) {
        print_message("SKIPPED: no ../shared/data/tessina here\n");
        skip();
    }
    struct slide s = slide_new(610, 496);
    for (int part = 0; part < 2; part++) {
        assert_int_equal(read[part].n_numbers, slide_cells(&s));
        memcpy(s.cells[part], read[part].numbers.data, read[part].numbers.len);
        s.grids[part]->nodata = read[part].info->grid->nodata;
        reading_free(&read[part]);
    }
    s.params[1] = "nodata=compat";
    for (size_t i = 0; i < 2; i++) {
        s.params[0] = known[i].steps;
        struct outcome o = run_well(&s);
        double *const h = read_raster(&o, "thickness.tif", slide_cells(&s), NULL);
        assert_int_equal(sciddicat_reference_hash(h, slide_cells(&s) * sizeof *h), known[i].hash);
        free(h);
        outcome_free(&o);
    }
    slide_free(&s);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
