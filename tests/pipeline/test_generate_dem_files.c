/*
 * Files of made-up ground: the pair of files holds a map's very numbers, and replaces nothing.
 * ctest: tsan=yes
 */
#include "tests/support/table_support.h"
#include "tests/support/terrain_support.h"

#include <fcntl.h>
#include <sys/stat.h>

static void run_here(void *context, size_t n, void (*body)(void *arg, size_t index), void *arg)
{
    (void)context;
    for (size_t i = n; i-- > 0;) { /* the order is nobody's business */
        body(arg, i);
    }
}

static const struct executor here = {.n_threads = 3, .run = run_here};

/* --- files ----------------------------------------------------------------------------------- */

TEST(names_ask_for_a_pair)
{
    static const struct {
        const char *output, *dem, *source;
        enum raster_format format;
        bool is_gzipped;
    } good[] = {
        {"slope", "slope.dem.tif", "slope.source.tif", RASTER_TIF, false},
        {"a.b/slope.dem", "a.b/slope.dem.tif", "a.b/slope.source.tif", RASTER_TIF, false},
        {"x/s.2.tif", "x/s.2.dem.tif", "x/s.2.source.tif", RASTER_TIF, false},
        {"s.dem.TIF", "s.dem.tif", "s.source.tif", RASTER_TIF, false},
        {"s.asc", "s.dem.asc", "s.source.asc", RASTER_ASC, false},
        {"./s.source.asc", "./s.dem.asc", "./s.source.asc", RASTER_ASC, false},
        {"s.dem.asc.gz", "s.dem.asc.gz", "s.source.asc.gz", RASTER_ASC, true},
    };
    static const char *const bad[] = {"",      "-",    "x/",       ".tif", ".dem.tif",
                                      "s.png", "s.gz", "s.tif.gz", "s.1",  "a/.asc.gz"};
    struct generate_pair pair;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_int_equal(generate_pair_of(good[i].output, &pair), STATUS_OK);
        assert_string_equal(pair.dem, good[i].dem);
        assert_string_equal(pair.source, good[i].source);
        assert_int_equal(pair.format, good[i].format);
        assert_int_equal(pair.is_gzipped, good[i].is_gzipped);
        generate_pair_free(&pair);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(generate_pair_of(bad[i], &pair), STATUS_BAD_ARGUMENT);
        assert_null(pair.dem);
    }
}

static enum status generated(struct generate_dem_order order, const char *output)
{
    struct generate_pair pair;
    uint64_t bytes = 0;
    size_t n_slides = 0;
    assert_int_equal(generate_pair_of(output, &pair), STATUS_OK);
    order.pair = &pair;
    const enum status status = generate_dem(&order, &here, &bytes, &n_slides);
    struct stat dem, source;
    if (status == STATUS_OK) {
        assert_int_equal(stat(pair.dem, &dem) | stat(pair.source, &source), 0);
        assert_int_equal(bytes, dem.st_size + source.st_size);
        assert_true(n_slides > 0);
    }
    generate_pair_free(&pair);
    return status;
}

/* The file holds a map's numbers and place; it is then removed. */
static void assert_file(const char *name, const struct map *m, const double *cells, bool is_f32)
{
    struct source *source;
    if (source_open(open(name, O_RDONLY | O_CLOEXEC), name, &source)) {
        fail_msg("%s: %s", name, status_message());
    }
    struct reading r = read_source(source, NULL, 1 << 16);
    if (r.status) {
        fail_msg("%s: %s", name, status_message());
    }
    const struct grid *const g = r.info->grid;
    assert_non_null(g);
    assert_int_equal(g->rows, m->rows);
    assert_int_equal(g->columns, m->columns);
    assert_true(g->has_origin && !(g->cell_x < m->t.order.cell_m) &&
                !(g->cell_x > m->t.order.cell_m));
    assert_true(fabs(grid_extent_of(g).west) < 1e-9 && fabs(grid_extent_of(g).south) < 1e-9);
    assert_int_equal(r.n_numbers, m->rows * m->columns);
    assert_int_equal(r.info->dtype, DTYPE_F64);
    for (size_t k = 0; k < r.n_numbers; k++) {
        double got;
        memcpy(&got, r.numbers.data + 8 * k, 8);
        const double expected = is_f32 ? (double)(float)cells[k] : cells[k];
        got = is_f32 ? (double)(float)got : got; /* text gives a float's digits as a double */
        assert_memory_equal(&got, &expected, sizeof(got));
    }
    reading_free(&r);
    assert_int_equal(unlink(name), 0);
}

TEST(the_pair_of_files_holds_the_map)
{
    static const char *const endings[] = {".tif", ".asc", ".asc.gz"};
    for (size_t s = 0; s < COUNT(shapes); s++) {
        struct generate_dem_order order = {.terrain = order_of(shapes[s][0], shapes[s][1])};
        struct map m = map_of(&order.terrain);
        for (size_t e = 0; e < COUNT(endings); e++) {
            const bool is_f32 = (s + e) % 2 == 0;
            char name[64];
            order.type = is_f32 ? RASTER_F32 : RASTER_F64;
            snprintf(name, sizeof(name), "map%s", endings[e]);
            if (generated(order, name)) {
                fail_msg("%s: %s", name, status_message());
            }
            snprintf(name, sizeof(name), "map.dem%s", endings[e]);
            assert_file(name, &m, m.surface, is_f32);
            snprintf(name, sizeof(name), "map.source%s", endings[e]);
            assert_file(name, &m, m.debris, is_f32);
        }
        map_free(&m);
    }
}

TEST(only_altitudes_have_a_number_for_none)
{
    static const char *const names[] = {"map.source.asc", "map.dem.asc"};
    for (size_t with = 0; with < 2; with++) {
        struct generate_dem_order order = {.terrain = order_of(257, 95)};
        order.terrain.nodata = with == 1 ? 0.2 : 0;
        assert_int_equal(generated(order, "map.asc"), STATUS_OK);
        for (size_t is_dem = 0; is_dem < 2; is_dem++) {
            char head[200] = "";
            FILE *f = fopen(names[is_dem], "r");
            assert_non_null(f);
            assert_int_equal(fread(head, 1, sizeof(head) - 1, f), sizeof(head) - 1);
            assert_int_equal(fclose(f), 0);
            assert_int_equal(strstr(head, "NODATA_value -9999\n") != NULL,
                             with == 1 && is_dem == 1);
            assert_int_equal(unlink(names[is_dem]), 0);
        }
    }
}

TEST(a_file_that_is_there_is_left_alone)
{
    struct generate_dem_order order = {.terrain = order_of(20, 30)};
    struct map m = map_of(&order.terrain);
    const int fd = open("map.dem.tif", O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(generated(order, "map"), STATUS_EXISTS);
    assert_int_equal(access("map.source.tif", F_OK), -1);
    order.force = true;
    assert_int_equal(generated(order, "map"), STATUS_OK);
    assert_file("map.dem.tif", &m, m.surface, false);
    assert_file("map.source.tif", &m, m.debris, false);
    assert_int_equal(generated(order, "none/map"), STATUS_NOT_FOUND);
    map_free(&m);
}

int main(void)
{
    return unit_run(enter_folder, leave_folder);
}
