/*
 * library_landslide - landslides of libleat, on the backend of LEAT_TEST_BACKEND.
 * ctest: tsan=yes
 */
#include "tests/support/library_support.h"

TEST(debris_flows_and_all_of_the_result_fits_together)
{
    struct leat_context *const c = context();
    struct maps *const m = maps_new();
    struct leat_landslide_options o = LEAT_LANDSLIDE_DEFAULTS;
    o.steps = 200;
    o.report_every = 60;
    struct leat_landslide_result *r = slide(c, m, &o);
    double sum = 0;
    assert_int_equal(r->rows, ROWS);
    assert_int_equal(r->columns, COLUMNS);
    assert_int_equal(r->n_reports, 5);
    for (size_t k = 0; k < r->n_reports; k++) {
        assert_int_equal(r->reports[k].step, k < 4 ? 60 * k : 200);
        assert_balanced(&r->reports[k]);
        assert_true(r->reports[k].lost_nodata == 0);
    }
    assert_false(r->settled);
    assert_true(r->reports[0].on_map == 76 && r->reports[0].n_active == 26);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < COLUMNS; j++) {
            const size_t k = i * COLUMNS + j;
            const bool ring = i == 0 || j == 0 || i == ROWS - 1 || j == COLUMNS - 1;
            if (isnan(m->dem[i][j])) {
                assert_true(isnan(r->thickness[k]) && isnan(r->max_thickness[k]));
                assert_int_equal(r->arrival[k], -1);
                continue;
            }
            sum += r->thickness[k];
            assert_true(r->max_thickness[k] >= r->thickness[k]);
            assert_true(r->max_thickness[k] >= m->source[i][j] || isnan(m->source[i][j]));
            assert_true(ring || (r->arrival[k] >= 0) == (r->max_thickness[k] > 0.001));
            assert_int_equal(r->arrival[k] == 0, m->source[i][j] > 0);
        }
    }
    assert_near(sum, r->reports[4].on_map - 1, 76e-10);
    /* it went round the hole, and came together again */
    assert_true(r->arrival[14 * COLUMNS + 14] > 0 &&
                r->arrival[20 * COLUMNS + 15] > r->arrival[20 * COLUMNS + 14]);
    leat_landslide_free(r);
    leat_landslide_free(NULL);
    free(m);
    leat_close(c);
}

TEST(maps_of_floats_and_any_backend_give_the_same_bits)
{
    struct leat_context *const c = context();
    struct leat_context *cpu;
    struct maps *const m = maps_new();
    struct leat_landslide_options o = LEAT_LANDSLIDE_DEFAULTS;
    struct leat_array dem = LEAT_ARRAY(m->narrow[0], LEAT_F4, ROWS, COLUMNS), source = dem;
    dem.row_bytes = source.row_bytes = sizeof m->narrow[0][0];
    source.data = m->narrow[1];
    struct leat_landslide_result *narrow;
    assert_int_equal(leat_open(NULL, &cpu), LEAT_OK);
    o.steps = 300;
    struct leat_landslide_result *r = slide(c, m, &o), *by_cpu = slide(cpu, m, &o);
    assert_int_equal(leat_landslide(c, &dem, &source, &o, &narrow), LEAT_OK);
    assert_same(r, by_cpu);
    assert_same(r, narrow);
    leat_landslide_free(r);
    leat_landslide_free(by_cpu);
    leat_landslide_free(narrow);
    leat_close(cpu);
    free(m);
    leat_close(c);
}

TEST(nodata_swallows_debris_where_that_is_asked_for)
{
    struct leat_context *const c = context();
    struct maps *const m = maps_new();
    struct leat_landslide_options o = LEAT_LANDSLIDE_DEFAULTS;
    o.steps = 200;
    o.nodata = LEAT_NODATA_SINK;
    struct leat_landslide_result *r = slide(c, m, &o);
    const struct leat_landslide_report *const last = &r->reports[r->n_reports - 1];
    assert_true(last->lost_nodata > 1);
    assert_balanced(last);
    assert_true(isnan(r->thickness[14 * COLUMNS + 16]));
    leat_landslide_free(r);
    o.settle = 1; /* all of the debris adheres */
    o.epsilon = 5;
    r = slide(c, m, &o);
    assert_true(r->settled);
    assert_int_equal(r->n_reports, 2);
    assert_int_equal(r->reports[1].step, 1);
    leat_landslide_free(r);
    free(m);
    leat_close(c);
}

TEST(what_is_wrong_with_maps_is_said)
{
    struct leat_context *const c = context();
    struct leat_landslide_result *r;
    const struct {
        size_t map;
        double value;
        const char *says;
    } numbers[] = {
        {0, INFINITY, "dem: row 3, column 7 (the first are 0) is inf, no altitude"},
        {0, 2e9, "dem: row 3, column 7 (the first are 0) is 2e+09, no altitude"},
        {1, -0.5, "source: row 3, column 7 (the first are 0) is -0.5, no thickness"},
        {1, INFINITY, "source: row 3, column 7 (the first are 0) is inf, no thickness"},
    };
    struct maps *const m = maps_new();
    const struct leat_array dem = map_of(m->dem), source = map_of(m->source);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double *const at = numbers[i].map == 0 ? &m->dem[3][7] : &m->source[3][7];
        const double kept = *at;
        *at = numbers[i].value;
        assert_int_equal(leat_landslide(c, &dem, &source, NULL, &r), LEAT_BAD_INPUT);
        if (strstr(leat_error(c), numbers[i].says) == NULL) {
            fail_msg("%s", leat_error(c));
        }
        assert_null(r);
        *at = kept;
    }
    struct leat_landslide_options wrong[5];
    for (size_t i = 0; i < 5; i++) {
        wrong[i] = (struct leat_landslide_options)LEAT_LANDSLIDE_DEFAULTS;
    }
    wrong[0].steps = UINT64_C(1) << 31;
    wrong[1].epsilon = NAN;
    wrong[2].r = 1.5;
    wrong[3].nodata = (enum leat_nodata)2;
    wrong[4].size = 2 * sizeof wrong[0];
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(leat_landslide(c, &dem, &source, &wrong[i], &r), LEAT_BAD_ARGUMENT);
    }
    struct leat_array small = source;
    small.rows--;
    assert_int_equal(leat_landslide(c, &dem, &small, NULL, &r), LEAT_BAD_ARGUMENT);
    small = source;
    small.row_bytes = sizeof m->source[0] + 1;
    assert_int_equal(leat_landslide(c, &dem, &small, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_landslide(c, NULL, &source, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, NULL), LEAT_BAD_ARGUMENT);
    for (size_t k = 0; k < CELLS; k++) {
        m->dem[0][k] = NAN;
    }
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, &r), LEAT_BAD_INPUT);
    assert_non_null(strstr(leat_error(c), "dem: no cell"));
    free(m);
    leat_close(c);
}

int main(void)
{
    return has_backend() ? unit_run(NULL, NULL) : 77;
}
