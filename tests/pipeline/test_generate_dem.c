/*
 * Made-up ground: every cell is the same however it is asked for, the slopes go down, the debris is
 * what was asked for and stays in its channel. The files it comes in: test_generate_dem_files.c.
 * ctest: tsan=yes
 */
#include "tests/support/sciddicat_reference.h"
#include "tests/support/table_support.h"
#include "tests/support/terrain_support.h"

/* --- ground ---------------------------------------------------------------------------------- */

TEST(any_cell_alone_equals_the_whole)
{
    for (size_t s = 0; s < COUNT(shapes); s++) {
        for (int edge = 0; edge < 2; edge++) {
            struct terrain_order order = order_of(shapes[s][0], shapes[s][1]);
            order.nodata = edge * 0.1;
            struct map m = map_of(&order);
            for (size_t i = 0; i<m.rows; i += m.rows> 100 ? 17 : 1) {
                static const size_t lengths[] = {1, 7, 256};
                double part[256];
                const size_t len = lengths[i % 3];
                for (size_t j = 0; j < m.columns; j += len) {
                    const size_t n = m.columns - j < len ? m.columns - j : len;
                    terrain_surface(&m.t, i, j, n, part);
                    assert_memory_equal(part, m.surface + i * m.columns + j, n * sizeof(double));
                    terrain_debris(&m.t, i, j, n, part);
                    assert_memory_equal(part, m.debris + i * m.columns + j, n * sizeof(double));
                }
            }
            map_free(&m);
        }
    }
}

TEST(the_seed_changes_ground_and_debris)
{
    struct terrain_order order = order_of(120, 96);
    struct map a = map_of(&order), again = map_of(&order);
    order.seed ^= UINT64_C(1) << 63;
    struct map b = map_of(&order);
    const size_t n = a.rows * a.columns;
    size_t same = 0;
    for (size_t k = 0; k < n; k++) {
        same += memcmp(&a.surface[k], &b.surface[k], sizeof(double)) == 0;
    }
    assert_memory_equal(a.surface, again.surface, n * sizeof(double));
    assert_true(same < n / 100);
    assert_memory_not_equal(a.debris, b.debris, n * sizeof(double));
    map_free(&a);
    map_free(&again);
    map_free(&b);
}

TEST(numbers_are_whole_millimetres)
{
    struct terrain_order order = order_of(257, 131);
    order.nodata = 0.2;
    struct map m = map_of(&order);
    for (size_t k = 0; k < m.rows * m.columns; k++) {
        const double surface = round(m.surface[k] * 1000) / 1000;
        const double debris = round(m.debris[k] * 1000) / 1000;
        assert_memory_equal(&surface, &m.surface[k], sizeof(double));
        assert_memory_equal(&debris, &m.debris[k], sizeof(double));
        assert_true(m.debris[k] >= 0 && m.debris[k] < 10.001); /* 8 m and a quarter more */
        assert_true(m.surface[k] > 0 || !(m.surface[k] > TERRAIN_NODATA));
    }
    map_free(&m);
}

static double mean_of_row(const struct map *m, size_t row)
{
    double sum = 0;
    for (size_t j = 0; j < m->columns; j++) {
        sum += m->surface[row * m->columns + j];
    }
    return sum / (double)m->columns;
}

TEST(a_slope_goes_down_to_a_hollow_before_its_end)
{
    static const struct {
        double cell_m;
        uint64_t rows, columns;
    } cases[] = {{10, 610, 496}, {1, 300, 200}, {30, 120, 200}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct terrain_order order = order_of(cases[c].rows, cases[c].columns);
        order.cell_m = cases[c].cell_m;
        struct map m = map_of(&order);
        assert_int_equal(m.t.n_down * m.t.n_across, 1);
        const size_t hollow = m.rows * 8 / 10, step = m.rows / 10;
        for (size_t i = step; i <= hollow - step; i += step) {
            assert_true(mean_of_row(&m, i) < mean_of_row(&m, i - step));
        }
        assert_true(mean_of_row(&m, m.rows - 1) > mean_of_row(&m, hollow));
        const double gradient =
            (mean_of_row(&m, 0) - mean_of_row(&m, hollow)) / ((double)hollow * order.cell_m);
        assert_true(gradient > tan(10 * 3.14159 / 180) && gradient < tan(20 * 3.14159 / 180));
        map_free(&m);
    }
}

TEST(slopes_meet_without_a_step)
{
    struct terrain_order order = order_of(2000, 1500);
    const struct terrain t = planned(&order);
    assert_true(t.n_down >= 2 && t.n_across >= 2);
    double above[1500], below[1500];
    terrain_surface(&t, 0, 0, 1500, above);
    for (size_t i = 1; i < 2000; i++) {
        terrain_surface(&t, i, 0, 1500, below);
        for (size_t j = 1; j < 1500; j++) {
            /* the ground is nowhere steeper than 60 degrees: 17.3 m in a cell of 10 m, and a mound
             * may end in between */
            assert_true(fabs(below[j] - above[j]) < 18 && fabs(below[j] - below[j - 1]) < 18);
        }
        memcpy(above, below, sizeof(above));
    }
}

TEST(the_edge_without_altitudes_has_the_share_asked_for)
{
    static const double shares[] = {0, 0.05, 0.3, 0.8};
    for (size_t s = 0; s < COUNT(shares); s++) {
        struct terrain_order order = order_of(300, 400);
        order.nodata = shares[s];
        struct map m = map_of(&order);
        size_t n = 0;
        for (size_t k = 0; k < m.rows * m.columns; k++) {
            n += !(m.surface[k] > TERRAIN_NODATA);
        }
        /* It frays by up to 3 cells, 0 on average: a cell along its 1400 would be much. */
        const double wanted = shares[s] * (double)(m.rows * m.columns);
        assert_true(fabs((double)n - wanted) <= (shares[s] > 0 ? 1400 : 0));
        map_free(&m);
    }
}

TEST(no_debris_lies_where_there_is_no_altitude)
{
    struct terrain_order order = order_of(60, 80);
    order.nodata = 0.3;
    order.active = 0.1; /* so that the mound reaches up to the frayed edge */
    for (order.seed = 0; order.seed < 100; order.seed++) {
        struct map m = map_of(&order);
        for (size_t k = 0; k < m.rows * m.columns; k++) {
            assert_true(m.surface[k] > TERRAIN_NODATA || !(m.debris[k] > 0));
        }
        map_free(&m);
    }
}

/* --- debris ---------------------------------------------------------------------------------- */

/* Mounds, each counted at its top row: a run of debris that has none above it. */
static size_t count_mounds(const struct map *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->rows; i++) {
        const double *const row = m->debris + i * m->columns;
        for (size_t j = 0; j < m->columns;) {
            bool is_top = row[j] > 0;
            size_t end = j + 1;
            if (is_top) {
                while (end < m->columns && row[end] > 0) {
                    end++;
                }
                for (size_t k = j; i > 0 && k < end; k++) {
                    is_top &= !(row[k - m->columns] > 0);
                }
            }
            n += is_top;
            j = end;
        }
    }
    return n;
}

TEST(debris_covers_the_share_asked_for_in_as_many_slides)
{
    static const struct {
        uint64_t rows, columns, slides;
        double active;
    } cases[] = {{610, 496, 0, 0.005}, {610, 496, 1, 0.1},  {900, 1000, 4, 0.005},
                 {900, 1000, 1, 0.01}, {333, 777, 7, 0.02}, {120, 96, 2, 0.01},
                 {610, 496, 0, 0},     {40, 40, 1, 1e-9},   {2000, 1500, 5, 0.005}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct terrain_order order = order_of(cases[c].rows, cases[c].columns);
        order.slides = cases[c].slides;
        order.active = cases[c].active;
        struct map m = map_of(&order);
        size_t n = 0;
        for (size_t k = 0; k < m.rows * m.columns; k++) {
            n += m.debris[k] > 0;
        }
        const size_t slides = m.t.n_slides;
        assert_true(order.slides == 0 || slides == order.slides);
        assert_true((slides > 0) == (order.active > 0));
        assert_int_equal(count_mounds(&m), slides);
        /* Cells whose middles lie in an ellipse differ from its area by no more than the cells that
         * its border cuts: at most 4 (a + b) + 4. */
        const double wanted = order.active * (double)(m.rows * m.columns);
        const double cut = 4 * (m.t.mound_rows + m.t.mound_columns) + 4;
        assert_true(fabs((double)n - wanted) <= (double)slides * cut);
        assert_true(fabs((double)n - wanted) <= 0.1 * wanted + 10 * (double)slides);
        assert_true(n >= slides);
        map_free(&m);
    }
}

/* How much debris has come to lie in columns first .. last - 1. */
static double mass_between(const struct sciddicat_reference *s, size_t first, size_t last)
{
    double sum = 0;
    for (size_t k = 0; k < s->p.rows * s->p.columns; k++) {
        const size_t j = k % s->p.columns;
        sum += j >= first && j < last ? s->h[k] : 0;
    }
    return sum;
}

TEST(debris_runs_down_its_channel_and_stays_there)
{
    enum { ROWS = 90, COLUMNS = 140, STEPS = 900 };
    struct terrain_order order = order_of(ROWS, COLUMNS);
    order.slides = 2; /* beside each other */
    struct map m = map_of(&order);
    assert_int_equal(m.t.n_across, 2);
    const struct sciddicat_params p = {
        .rows = ROWS, .columns = COLUMNS, .epsilon = 0.001, .r = 0.5};
    double *const ground = malloc(sizeof(double) * ROWS * COLUMNS);
    assert_non_null(ground);
    for (size_t k = 0; k < (size_t)ROWS * COLUMNS; k++) {
        ground[k] = m.surface[k] - m.debris[k];
    }
    struct sciddicat_reference *const s = sciddicat_reference_new(&p, ground, m.debris, NULL);
    const double left = mass_between(s, 0, COLUMNS / 2);
    const double right = mass_between(s, COLUMNS / 2, COLUMNS);
    assert_true(left > 1 && right > 1);
    for (int i = 0; i < STEPS; i++) {
        sciddicat_reference_step(s);
    }
    struct sciddicat_report report;
    sciddicat_reference_report(s, &report);
    assert_true(!(report.lost_edge > 0)); /* the hollow holds it */
    const double bound = sciddicat_mass_balance_bound(&p, left + right, STEPS);
    assert_true(fabs(mass_between(s, 0, COLUMNS / 2) - left) <= bound);
    assert_true(fabs(mass_between(s, COLUMNS / 2, COLUMNS) - right) <= bound);
    double below = 0;
    size_t n_touched = 0;
    for (size_t k = 0; k < (size_t)ROWS * COLUMNS; k++) {
        below += k / COLUMNS > ROWS / 2 ? s->h[k] : 0;
        n_touched += s->max_h[k] > 0.01;
    }
    assert_true(below > 0.7 * (left + right));
    /* two channels, 80 rows long and 3 columns wide on average, the mounds and hollows included */
    assert_true(n_touched <= 2 * 80 * 3);
    sciddicat_reference_free(s);
    free(ground);
    map_free(&m);
}

TEST(what_a_map_has_no_room_for_is_refused)
{
    struct terrain_order order = order_of(64, 64);
    struct terrain t;
    order.slides = 5;
    assert_int_equal(terrain_plan(&order, &t), STATUS_BAD_ARGUMENT);
    order.slides = 1;
    order.active = 0.3;
    assert_int_equal(terrain_plan(&order, &t), STATUS_BAD_ARGUMENT);
    order = order_of(UINT64_C(1) << 31, 2);
    assert_int_equal(terrain_plan(&order, &t), STATUS_TOO_LARGE);
    order = order_of(UINT64_C(1) << 31, 1);
    assert_int_equal(terrain_plan(&order, &t), STATUS_OK);
    order = order_of(UINT64_C(1) << 16, UINT64_C(1) << 15);
    order.slides = 1;
    order.active = 1e-6;
    assert_int_equal(terrain_plan(&order, &t), STATUS_OK);
    assert_int_equal(t.n_slides, 1);
    double cell;
    terrain_surface(&t, (UINT64_C(1) << 16) - 1, (UINT64_C(1) << 15) - 1, 1, &cell);
    assert_true(cell > 0 && cell < 10000);
}

int main(void)
{
    return unit_run(enter_folder, leave_folder);
}
