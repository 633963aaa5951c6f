/*
 * What the stage `sciddicat` reports: a mass balance, and what went where; on the
 * backend LEAT_TEST_BACKEND.
 */
#include "tests/support/sciddicat_runner.h"

/* --- mass and summary --------------------------------------------------------------------------
 */

struct balance_row {
    unsigned long long step, n_active;
    double on_map, lost_edge, lost_nodata, largest;
};

static size_t read_mass_balance(const struct outcome *o, struct balance_row *rows, size_t most)
{
    struct bytes text = {0};
    const struct made_file *const f = find_file(o, "mass.csv.gz");
    size_t n = 0;
    char *rest = NULL;
    assert_non_null(f);
    assert_int_equal(bytes_append(&text, f->bytes.data, f->bytes.len), STATUS_OK);
    assert_int_equal(bytes_append(&text, "", 1), STATUS_OK);
    const char *line = strtok_r((char *)text.data, "\n", &rest);
    assert_string_equal(line,
                        "step,on_map_m3,lost_edge_m3,lost_nodata_m3,active_cells,max_thickness_m");
    while ((line = strtok_r(NULL, "\n", &rest)) != NULL) {
        struct balance_row *const r = &rows[n++];
        assert_true(n <= most);
        assert_int_equal(sscanf(line, "%llu,%lf,%lf,%lf,%llu,%lf", &r->step, &r->on_map,
                                &r->lost_edge, &r->lost_nodata, &r->n_active, &r->largest),
                         6);
    }
    bytes_free(&text);
    return n;
}

TEST(the_mass_balance_has_a_row_a_report)
{
    static const struct {
        const char *steps, *every;
        size_t n;
        unsigned long long second, last;
    } cases[] = {{"steps=700", "report_every=0", 101, 7, 700},
                 {"steps=40", "report_every=0", 41, 1, 40},
                 {"steps=250", "report_every=100", 4, 100, 250},
                 {"steps=3", "report_every=100", 2, 3, 3},
                 {"steps=0", "report_every=0", 1, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slide s = slope(20, 15, 14, 7);
        s.cells[DEM][17 * 15 + 7] = -9999; /* one half falls into it, the other off the map */
        s.cells[SOURCE][14 * 15 + 7] = s.cells[SOURCE][14 * 15 + 3] = 1;
        const char *const params[] = {cases[i].steps, cases[i].every, "nodata=sink",
                                      "snapshot_every=60", "raster=asc.gz"};
        memcpy(s.params, params, sizeof params);
        struct outcome o = run_well(&s);
        struct balance_row rows[128];
        assert_int_equal(read_mass_balance(&o, rows, 128), cases[i].n);
        assert_true(rows[0].step == 0 && rows[0].on_map == 200 && rows[0].n_active == 2);
        assert_true(cases[i].n < 2 || rows[1].step == cases[i].second);
        assert_true(rows[cases[i].n - 1].step == cases[i].last);
        for (size_t k = 0; k < cases[i].n; k++) {
            const double off = rows[k].on_map + rows[k].lost_edge + rows[k].lost_nodata - 200;
            assert_true(fabs(off) <= summary_number(&o, "balance_bound_m3") + 200 * 0x1p-50);
        }
        const struct balance_row *const end = &rows[cases[i].n - 1];
        assert_true(summary_number(&o, "volume_end_m3") == end->on_map);
        assert_true(summary_number(&o, "lost_edge_m3") == end->lost_edge);
        assert_true(summary_number(&o, "lost_nodata_m3") == end->lost_nodata);
        const double error = end->on_map + end->lost_edge + end->lost_nodata - 200;
        assert_true(fabs(summary_number(&o, "balance_error_m3") - error) <= 200 * 0x1p-50);
        assert_true(cases[i].last < 100 || (end->lost_edge > 0 && end->lost_nodata > 0));
        outcome_free(&o);
        slide_free(&s);
    }
}

static enum status (*real_advance)(struct queue *, void *, uint64_t, struct sciddicat_report *);

/* A kernel that loses a millimetre on its way. */
static enum status losing_advance(struct queue *q, void *run, uint64_t n,
                                  struct sciddicat_report *r)
{
    const enum status st = real_advance(q, run, n, r);
    r->mass -= r->step >= 10 ? 0.001 : 0;
    return st;
}

TEST(a_mass_that_does_not_balance_is_a_fault_of_leat)
{
    struct slide s = slope(20, 15, 4, 7);
    struct sciddicat_kernels losing = *counted.ops.sciddicat;
    const struct sciddicat_kernels *const good = counted.ops.sciddicat;
    real_advance = losing.advance;
    losing.advance = losing_advance;
    s.params[0] = "steps=40";
    counted.ops.sciddicat = &losing;
    struct outcome o = run_slide(&s);
    counted.ops.sciddicat = good;
    assert_int_equal(o.status, STATUS_INTERNAL);
    assert_non_null(strstr(o.message, "after 10 steps"));
    outcome_free(&o);
    slide_free(&s);
}

/* With nothing that adheres, thicknesses come down to the rounding of altitudes. */
TEST(the_mass_balances_without_adherence)
{
    struct slide s = slope(40, 15, 4, 7);
    for (size_t k = 0; k < slide_cells(&s); k++) {
        s.cells[DEM][k] += 1e6;
    }
    const char *const params[] = {"steps=3000", "p_epsilon=0", "report_every=1"};
    memcpy(s.params, params, sizeof params);
    struct outcome o = run_well(&s);
    outcome_free(&o);
    slide_free(&s);
}

TEST(figures_are_those_of_a_slide_down_a_gutter)
{
    struct slide s = slope(12, 5, 2, 2);
    for (size_t k = 0; k < slide_cells(&s); k++) {
        s.cells[DEM][k] += k % 5 == 2 ? 0 : 100;
    }
    s.params[0] = "steps=500";
    struct outcome o = run_well(&s);
    assert_true(summary_number(&o, "volume_start_m3") == 200);
    assert_true(summary_number(&o, "covered_cells") == 9); /* rows 3 to 11 */
    assert_true(summary_number(&o, "covered_m2") == 900);
    assert_true(summary_in(&o, "crown", "altitude_m") == 990);
    assert_true(summary_in(&o, "crown", "row") == 3);
    assert_true(summary_in(&o, "crown", "x") == 1025 && summary_in(&o, "crown", "y") == 2095);
    assert_true(summary_in(&o, "toe", "altitude_m") == 950);
    assert_true(summary_in(&o, "toe", "row") == 11 && summary_in(&o, "toe", "column") == 3);
    assert_true(summary_number(&o, "drop_m") == 40 && summary_number(&o, "runout_m") == 80);
    assert_true(fabs(summary_number(&o, "reach_angle_deg") - 26.565051177078) < 1e-9);
    assert_true(summary_in(&o, "deepest_ever", "thickness_m") == 2);
    assert_true(summary_in(&o, "covered_extent", "first_row") == 3);
    assert_true(summary_in(&o, "covered_extent", "last_row") == 11);
    assert_true(summary_in(&o, "covered_extent", "first_column") == 3);
    assert_true(summary_in(&o, "covered_extent", "last_column") == 3);
    assert_true(is_warned(&o, "left the map through its edge"));
    outcome_free(&o);
    slide_free(&s);
}

/* Of several that are highest it is the first in the order of rows, wherever they lie. */
TEST(the_crown_is_the_first_of_the_highest_cells)
{
    static const struct {
        size_t a[2], b[2]; /* row, column; a comes first */
    } cases[] = {{{2, 3}, {2, 7}}, {{2, 7}, {5, 3}}, {{2, 3}, {5, 7}}, {{2, 5}, {5, 5}}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct slide s = slope(9, 12, 4, 4);
        const size_t *const a = cases[i / 2].a, *const b = cases[i / 2].b;
        s.cells[SOURCE][a[0] * 12 + a[1]] = s.cells[SOURCE][b[0] * 12 + b[1]] = 2;
        s.cells[DEM][a[0] * 12 + a[1]] = s.cells[DEM][b[0] * 12 + b[1]] = 2000;
        if (i % 2 == 1) { /* unless the other one is higher */
            s.cells[DEM][b[0] * 12 + b[1]] = 2001;
        }
        s.params[0] = "steps=1";
        struct outcome o = run_well(&s);
        const size_t *const crown = i % 2 == 0 ? a : b;
        assert_true(summary_in(&o, "crown", "row") == (double)crown[0] + 1);
        assert_true(summary_in(&o, "crown", "column") == (double)crown[1] + 1);
        outcome_free(&o);
        slide_free(&s);
    }
}

/* The lowest ground is level: whichever way the rows go, the toe is where the debris came to. */
TEST(the_toe_is_the_farthest_of_the_lowest_cells)
{
    for (int k = 0; k < 2; k++) {
        struct slide s = slope(12, 5, 0, 0);
        const size_t crown = k == 0 ? 2 : 9;
        memset(s.cells[SOURCE], 0, slide_cells(&s) * sizeof(double));
        for (size_t row = 0; row < 12; row++) {
            const size_t down = k == 0 ? row : 11 - row;
            for (size_t column = 0; column < 5; column++) {
                s.cells[DEM][row * 5 + column] =
                    (down < 6 ? 1000 - 5 * (double)down : 970) + (column == 2 ? 0 : 100);
            }
        }
        s.cells[SOURCE][crown * 5 + 2] = 2;
        s.params[0] = "steps=900";
        struct outcome o = run_well(&s);
        assert_true(summary_in(&o, "covered_extent", k == 0 ? "last_row" : "first_row") ==
                    (k == 0 ? 11 : 2));
        assert_true(summary_in(&o, "toe", "row") == (k == 0 ? 11 : 2));
        assert_true(summary_number(&o, "runout_m") == 80);
        outcome_free(&o);
        slide_free(&s);
    }
}

static bool is_null(const struct outcome *o, const char *key)
{
    return json_is_null(json_object_get(o->last.summary, key));
}

/* Debris that lies on NODATA never moves, and has no altitude. */
TEST(no_figure_is_of_a_cell_without_an_altitude)
{
    static const char *const policies[] = {"nodata=wall", "nodata=sink"};
    for (size_t i = 0; i < 4; i++) {
        struct slide s = slope(9, 12, 4, 4);
        s.params[0] = "steps=40";
        s.params[1] = policies[i % 2];
        s.cells[DEM][0] = s.cells[DEM][3 * 12 + 4] = -9999;
        s.cells[SOURCE][3 * 12 + 4] = 30;
        s.cells[SOURCE][4 * 12 + 4] = i < 2 ? 0 : 2;
        struct outcome o = run_well(&s);
        assert_true(is_warned(&o, "lie where the DEM has NODATA"));
        assert_true(is_null(&o, "crown") == (i < 2) && is_null(&o, "toe") == (i < 2));
        assert_true(is_null(&o, "drop_m") == (i < 2) && is_null(&o, "runout_m") == (i < 2));
        assert_true(summary_in(&o, "deepest_ever", "thickness_m") == (i < 2 ? 0 : 2));
        assert_true(summary_in(&o, "deepest_ever", "row") == (i < 2 ? 1 : 5));
        assert_true(summary_in(&o, "deepest_ever", "column") == (i < 2 ? 2 : 5));
        if (i >= 2) {
            assert_true(summary_in(&o, "crown", "row") == 5);
            assert_true(summary_in(&o, "crown", "altitude_m") == 980);
        }
        outcome_free(&o);
        slide_free(&s);
    }
}

/* Readers refuse such cells; what no double holds is null, and no want of memory. */
TEST(figures_beyond_doubles_are_null)
{
    struct slide s = slope(9, 12, 4, 4);
    s.params[0] = "steps=10";
    for (int part = 0; part < 2; part++) {
        s.grids[part]->cell_x = s.grids[part]->cell_y = 1e155;
    }
    struct outcome o = run_well(&s);
    static const char *const keys[] = {"volume_start_m3", "volume_end_m3", "covered_m2",
                                       "balance_bound_m3"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_true(is_null(&o, keys[i]));
    }
    assert_true(
        json_is_null(json_object_get(json_object_get(o.last.summary, "last_step"), "volume_m3")));
    assert_true(summary_number(&o, "max_thickness_m") > 0);
    outcome_free(&o);
    slide_free(&s);
}

/* -3.4e38 is told with few digits by one tool and with many by another. */
TEST(nodata_beyond_all_measure_is_known_by_any_of_its_digits)
{
    static const double told[] = {-3.4028234663852886e38, -3.402823e38, -1.797693e308};
    static const double cells[] = {-3.402823e38, -3.4028234663852886e38, -1.7976931348623157e308};
    for (size_t i = 0; i < 3; i++) {
        struct slide s = slope(9, 12, 4, 4);
        s.params[0] = "steps=5";
        for (int part = 0; part < 2; part++) {
            s.grids[part]->nodata = told[i];
            s.cells[part][8 * 12 + 3] = cells[i];
        }
        struct outcome o = run_well(&s);
        assert_int_equal(json_integer_value(json_object_get(o.last.shape, "nodata_cells")), 1);
        outcome_free(&o);
        s.cells[DEM][8 * 12 + 3] = -cells[i]; /* on the other side it is nothing */
        CHECK_REFUSED(&s, STATUS_BAD_INPUT, "row 9, column 4", "not an altitude");
        slide_free(&s);
    }
}

TEST(the_last_step_is_measured)
{
    struct slide s = slope(30, 15, 4, 7);
    const size_t n = slide_cells(&s);
    s.params[0] = "steps=11";
    s.params[1] = "snapshot_every=10";
    struct outcome o = run_well(&s);
    double *const before = read_raster(&o, "snapshots/000010.tif", n, NULL),
                  *const after = read_raster(&o, "thickness.tif", n, NULL);
    double moved = 0, largest = 0, cells = 0;
    for (size_t k = 0; k < n; k++) {
        moved += fmax(after[k] - before[k], 0);
        largest = fmax(largest, fabs(after[k] - before[k]));
        cells += after[k] != before[k];
    }
    assert_true(moved > 0);
    assert_true(summary_in(&o, "last_step", "volume_m3") == moved * 100);
    assert_true(summary_in(&o, "last_step", "largest_change_m") == largest);
    assert_true(summary_in(&o, "last_step", "cells") == cells);
    assert_true(is_warned(&o, "not at rest after 11 steps"));
    free(before);
    free(after);
    outcome_free(&o);
    slide_free(&s);
}

/* Less than a thousandth of what adheres is creep; less than a thousandth of a percent is rest. */
TEST(a_last_step_that_moves_more_than_creep_is_told)
{
    const double adheres = 0.3;
    size_t n_little = 0, n_creep = 0;
    for (size_t steps = 1; steps <= 40; steps++) {
        char param[32];
        snprintf(param, sizeof param, "steps=%zu", steps);
        struct slide s = slope(30, 15, 4, 7);
        s.params[0] = param;
        s.params[1] = "p_epsilon=0.3";
        struct outcome o = run_well(&s);
        const double largest = summary_in(&o, "last_step", "largest_change_m");
        const double at_most = largest * summary_in(&o, "last_step", "cells") * 100;
        const bool is_much =
            largest > adheres / 1000 && at_most >= 1e-5 * summary_number(&o, "volume_start_m3");
        assert_int_equal(is_warned(&o, "not at rest"), is_much);
        n_little += largest > adheres / 1000 && largest < adheres / 2;
        n_creep += largest <= adheres / 1000;
        outcome_free(&o);
        slide_free(&s);
    }
    assert_true(n_little > 0 && n_creep > 0);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
