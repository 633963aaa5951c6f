/*
 * GeoTIFF grids: whatever libtiff writes, of any sample type, cut and compression, is read back;
 * what does not fit is refused; libtiff never speaks for itself.
 */
#include "tests/support/tif_support.h"

#include <pthread.h>
#include <stdatomic.h>

static double small_whole(size_t cell)
{
    return (double)(cell * 7 % 120);
}

static double (*value_for(uint16_t format))(size_t)
{
    return format == SAMPLEFORMAT_UINT  ? small_whole
           : format == SAMPLEFORMAT_INT ? signed_whole
                                        : halves;
}

static void check_spec(const struct tif_spec *s)
{
    struct bytes file = make_tif(s);
    assert_reads(s, &file, 1 << 16, 0, 0);
    assert_reads(s, &file, 66, 0, 0);
    bytes_free(&file);
}

TEST(every_sample_type_is_read_in_either_byte_order)
{
    static const char *const modes[] = {"wl", "wb", "wl8", "wb8"};
    for (size_t t = 0; t < COUNT(types); t++) {
        for (size_t m = 0; m < COUNT(modes); m++) {
            struct tif_spec s = {.mode = modes[m],
                                 .rows = 33,
                                 .columns = 31,
                                 .bits = types[t].bits,
                                 .format = types[t].format,
                                 .strip_rows = 5,
                                 .value = value_for(types[t].format)};
            check_spec(&s);
            s.tile = 16;
            check_spec(&s);
        }
    }
}

TEST(every_cut_into_strips_and_tiles_is_read)
{
    static const uint32_t sides[][2] = {{1, 1},   {1, 257},  {257, 1},   {31, 32},
                                        {33, 33}, {257, 33}, {600, 300}, {1, 40000}};
    for (size_t i = 0; i < COUNT(sides); i++) {
        static const uint32_t strips[] = {0, 1, 7, 32, 600};
        struct tif_spec s = {.rows = sides[i][0],
                             .columns = sides[i][1],
                             .bits = 32,
                             .format = SAMPLEFORMAT_IEEEFP,
                             .scheme = COMPRESSION_ADOBE_DEFLATE,
                             .value = halves};
        for (size_t k = 0; k < COUNT(strips); k++) {
            s.strip_rows = strips[k] < s.rows ? strips[k] : s.rows;
            check_spec(&s);
        }
        for (s.tile = 16; s.tile <= 256; s.tile *= 4) {
            check_spec(&s);
        }
    }
}

TEST(every_compression_is_read)
{
    static const struct {
        uint16_t scheme, predictor;
    } ways[] = {
        {COMPRESSION_NONE, 0},          {COMPRESSION_LZW, 1},      {COMPRESSION_LZW, 2},
        {COMPRESSION_LZW, 3},           {COMPRESSION_PACKBITS, 0}, {COMPRESSION_ADOBE_DEFLATE, 2},
        {COMPRESSION_ADOBE_DEFLATE, 3}, {COMPRESSION_DEFLATE, 1},  {COMPRESSION_LZMA, 1},
        {COMPRESSION_ZSTD, 3},          {COMPRESSION_LERC, 0}};
    for (size_t i = 0; i < COUNT(ways); i++) {
        if (!TIFFIsCODECConfigured(ways[i].scheme)) {
            print_message("libtiff has no compression %d here\n", ways[i].scheme);
            continue;
        }
        struct tif_spec s = {.rows = 100,
                             .columns = 70,
                             .bits = 32,
                             .format =
                                 ways[i].predictor == 2 ? SAMPLEFORMAT_INT : SAMPLEFORMAT_IEEEFP,
                             .scheme = ways[i].scheme,
                             .predictor = ways[i].predictor,
                             .strip_rows = 9};
        s.value = value_for(s.format);
        check_spec(&s);
        s.tile = 32;
        check_spec(&s);
        s.tile = 256; /* higher than the image */
        check_spec(&s);
        s.fill_order = FILLORDER_LSB2MSB;
        check_spec(&s);
        s.mode = ways[i].predictor == 3 ? "wl" : "wb"; /* the other one libtiff cannot read back */
        check_spec(&s);
    }
}

TEST(deflated_samples_of_any_width_are_read_after_a_predictor)
{
    static const struct {
        uint16_t bits, format, predictor;
    } ways[] = {
        {8, SAMPLEFORMAT_UINT, 2},    {8, SAMPLEFORMAT_INT, 2},     {16, SAMPLEFORMAT_UINT, 2},
        {16, SAMPLEFORMAT_INT, 2},    {32, SAMPLEFORMAT_UINT, 2},   {64, SAMPLEFORMAT_INT, 2},
        {32, SAMPLEFORMAT_IEEEFP, 2}, {64, SAMPLEFORMAT_IEEEFP, 2}, {16, SAMPLEFORMAT_IEEEFP, 3},
        {32, SAMPLEFORMAT_IEEEFP, 3}, {64, SAMPLEFORMAT_IEEEFP, 3}};
    for (size_t i = 0; i < 2 * COUNT(ways); i++) {
        const bool is_swapped = i % 2 == 1;
        struct tif_spec s = {.rows = 50,
                             .columns = 37,
                             .bits = ways[i / 2].bits,
                             .format = ways[i / 2].format,
                             .scheme = COMPRESSION_ADOBE_DEFLATE,
                             .predictor = ways[i / 2].predictor,
                             .mode = is_swapped ? "wb" : "wl",
                             .strip_rows = 9};
        if (is_swapped && s.predictor == 3) {
            continue; /* libtiff writes none */
        }
        s.value = value_for(s.format);
        check_spec(&s);
        s.tile = 32;
        check_spec(&s);
    }
}

static double huge_whole(size_t cell)
{
    return ldexp(1, (int)(cell % 63)) - (cell % 63 > 60 ? ldexp(1, 20) : 0);
}

TEST(integers_of_64_bits_become_the_nearest_doubles)
{
    struct tif_spec s = {
        .rows = 1, .columns = 130, .bits = 64, .format = SAMPLEFORMAT_UINT, .value = huge_whole};
    check_spec(&s);
}

TEST(a_band_is_decoded_once_for_all_its_chunks)
{
    /* One strip that is larger than a chunk, then many small ones: several bands of 1 MiB. */
    struct tif_spec s = {.rows = 1200,
                         .columns = 512,
                         .bits = 64,
                         .format = SAMPLEFORMAT_IEEEFP,
                         .scheme = COMPRESSION_ADOBE_DEFLATE,
                         .value = halves};
    struct bytes file = make_tif(&s);
    assert_reads(&s, &file, 1 << 12, 0, 0);
    bytes_free(&file);
    s.strip_rows = 3;
    file = make_tif(&s);
    assert_reads(&s, &file, 1 << 12, 0, 0);
    assert_reads(&s, &file, 1 << 21, 0, 0);
    bytes_free(&file);
}

TEST(what_a_sparse_file_does_not_store_is_nodata)
{
    static const struct {
        uint16_t bits, format;
        const char *nodata;
        double absent;
    } cases[] = {
        {32, SAMPLEFORMAT_IEEEFP, "-9999", -9999},
        {64, SAMPLEFORMAT_IEEEFP, "-1e300", -1e300},
        {16, SAMPLEFORMAT_INT, "-9999", -9999},
        {8, SAMPLEFORMAT_UINT, "255", 255},
        {8, SAMPLEFORMAT_UINT, "-9999", 0},
        {32, SAMPLEFORMAT_INT, "1.5", 0},
        {32, SAMPLEFORMAT_IEEEFP, NULL, 0},
        {64, SAMPLEFORMAT_INT, "-9223372036854775808", -0x1p63},
        {16, SAMPLEFORMAT_UINT, "65536", 0},
        /* At and beyond the ends of what the samples hold. */
        {8, SAMPLEFORMAT_UINT, "256", 0},
        {8, SAMPLEFORMAT_UINT, "257", 0},
        {8, SAMPLEFORMAT_UINT, "-1", 0},
        {8, SAMPLEFORMAT_UINT, "254.5", 0},
        {8, SAMPLEFORMAT_INT, "127", 127},
        {8, SAMPLEFORMAT_INT, "128", 0},
        {8, SAMPLEFORMAT_INT, "-128", -128},
        {8, SAMPLEFORMAT_INT, "-129", 0},
        {16, SAMPLEFORMAT_UINT, "65535", 65535},
        {16, SAMPLEFORMAT_INT, "32768", 0},
        {32, SAMPLEFORMAT_UINT, "4294967295", 4294967295.0},
        {32, SAMPLEFORMAT_UINT, "4294967297", 0},
        {64, SAMPLEFORMAT_INT, "9223372036854775808", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tif_spec s = {.rows = 40,
                             .columns = 16,
                             .bits = cases[i].bits,
                             .format = cases[i].format,
                             .scheme = COMPRESSION_ADOBE_DEFLATE,
                             .nodata = cases[i].nodata,
                             .tile = 16,
                             .skipped = 1,
                             .value = value_for(cases[i].format)};
        for (int tiled = 0; tiled < 2; tiled++) {
            s.strip_rows = 16;
            s.tile = tiled ? 16 : 0;
            struct bytes file = make_tif(&s);
            assert_reads(&s, &file, 1 << 10, 256, cases[i].absent);
            bytes_free(&file);
        }
    }
}

TEST(nodata_is_the_number_that_is_stored)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"-9999", -9999},      {" -9999 ", -9999}, {"nan", NAN},
        {"-nan", NAN},         {"-9999\n", -9999}, {"\t-9999\r\n", -9999},
        {"null", NAN},         {"1.#QNAN", NAN},   {"-3.40282346638529e+38", -0x1.fffffep127},
        {"0.1", (double)0.1f}, {"-inf", -INFINITY}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tif_spec s = plain();
        s.nodata = cases[i].text;
        struct reading r = read_spec(&s);
        assert_int_equal(r.status, STATUS_OK);
        assert_true(r.info->grid->has_nodata);
        const double got = r.info->grid->nodata;
        assert_true(isnan(cases[i].value) ? isnan(got) : got == cases[i].value);
        assert_true(grid_matches_nodata(r.info->grid->nodata, got));
        assert_false(grid_matches_nodata(r.info->grid->nodata, 1));
        assert_int_equal(r.info->n_warnings, 0);
        reading_free(&r);
    }
    struct tif_spec s = plain();
    s.nodata = "nothing";
    struct reading r = read_spec(&s);
    assert_int_equal(r.status, STATUS_OK);
    assert_false(r.info->grid->has_nodata);
    assert_int_equal(r.info->n_warnings, 1);
    assert_non_null(strstr(r.info->warnings[0], "'nothing'"));
    reading_free(&r);
}

/* As GDAL has it: the final NUL that TIFF asks for may be missing. */
TEST(nodata_may_end_without_a_nul)
{
    struct tif_spec s = plain();
    s.nodata = "-9999";
    struct bytes file = make_tif(&s);
    const uint32_t n = 5;
    memcpy(find_entry(&file, 42113) + 4, &n, sizeof n);
    struct reading r = read_bytes(file.data, file.len, NULL, 1 << 12);
    assert_int_equal(r.status, STATUS_OK);
    assert_true(r.info->grid->has_nodata && r.info->grid->nodata == -9999);
    reading_free(&r);
    bytes_free(&file);
}

TEST(a_georeference_is_carried_and_understood)
{
    static const double scale[] = {10, 20, 0}, tie[] = {1, 2, 0, 1010, 1960, 0};
    static const uint16_t keys[] = {1, 1, 0, 1, 1025, 0, 1, 1};
    struct tif_spec s = plain();
    s.n_doubles[0] = COUNT(scale);
    s.doubles[0] = scale;
    s.n_doubles[1] = COUNT(tie);
    s.doubles[1] = tie;
    s.n_keys = COUNT(keys);
    s.keys = keys;
    struct reading r = read_spec(&s);
    assert_int_equal(r.status, STATUS_OK);
    const struct grid *const g = r.info->grid;
    assert_int_equal(g->n_tags, 3);
    assert_memory_equal(grid_find_tag(g, GRID_PIXEL_SCALE)->values, scale, sizeof scale);
    assert_memory_equal(grid_find_tag(g, GRID_TIEPOINT)->values, tie, sizeof tie);
    assert_memory_equal(grid_find_tag(g, GRID_GEO_KEYS)->values, keys, sizeof keys);
    assert_true(g->has_origin && !g->is_centred && !g->is_rotated);
    assert_true(grid_extent_of(g).west == 1000 && grid_extent_of(g).north == 2000);
    assert_true(grid_extent_of(g).east == 1050 && grid_extent_of(g).south == 1920);
    assert_true(g->cell_x == 10 && g->cell_y == 20);
    reading_free(&r);
}

/* The specification has doubles and shorts; what writes others is read by GDAL. */
TEST(geo_tags_of_any_numeric_type_are_read)
{
    static const double scale[] = {10, 20, 0}, tie[] = {1, 2, 0, 210, 240, 0};
    static const uint16_t keys[] = {1, 1, 0, 1, 1025, 0, 1, 1};
    static const float f_scale[] = {10, 20, 0}, f_tie[] = {1, 2, 0, 210, 240, 0};
    static const uint32_t l_scale[] = {10, 20, 0}, l_keys[] = {1, 1, 0, 1};
    static const int16_t s_tie[] = {1, 2, 0, 210, 240, 0};
    static const uint8_t b_scale[] = {10, 20, 0}, b_tie[] = {1, 2, 0, 210, 240, 0};
    static const uint8_t b_keys[] = {1, 1, 0, 1, 0, 0, 0, 0};
    static const struct {
        uint16_t tag, type;
        const void *values;
        size_t bytes, n;
    } cases[] = {{33550, TIFF_FLOAT, f_scale, sizeof f_scale, 3},
                 {33922, TIFF_FLOAT, f_tie, sizeof f_tie, 6},
                 {33550, TIFF_LONG, l_scale, sizeof l_scale, 3},
                 {33922, TIFF_SSHORT, s_tie, sizeof s_tie, 6},
                 {33550, TIFF_BYTE, b_scale, sizeof b_scale, 3},
                 {33922, TIFF_BYTE, b_tie, sizeof b_tie, 6},
                 {34735, TIFF_LONG, l_keys, sizeof l_keys, 4},
                 {34735, TIFF_BYTE, b_keys, sizeof b_keys, 8}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tif_spec s = plain();
        s.n_doubles[0] = COUNT(scale);
        s.doubles[0] = scale;
        s.n_doubles[1] = COUNT(tie);
        s.doubles[1] = tie;
        s.n_keys = COUNT(keys);
        s.keys = keys;
        struct bytes file = make_tif(&s);
        put_values(&file, cases[i].tag, cases[i].type, (uint32_t)cases[i].n, cases[i].values,
                   cases[i].bytes);
        struct reading r = read_bytes(file.data, file.len, NULL, 1 << 12);
        if (r.status != STATUS_OK) {
            fail_msg("tag %d of type %d: %s", cases[i].tag, cases[i].type, status_message());
        }
        const struct grid *const g = r.info->grid;
        const struct grid_extent e = grid_extent_of(g);
        assert_true(e.west == 200 && e.north == 280 && g->cell_x == 10 && g->cell_y == 20);
        assert_memory_equal(grid_find_tag(g, GRID_PIXEL_SCALE)->values, scale, sizeof scale);
        assert_memory_equal(grid_find_tag(g, GRID_TIEPOINT)->values, tie, sizeof tie);
        const struct grid_tag *const t = grid_find_tag(g, GRID_GEO_KEYS);
        assert_true(t->type == GRID_SHORT && ((const uint16_t *)t->values)[3] == 1);
        reading_free(&r);
        bytes_free(&file);
    }
}

/* As GDAL has it, whichever of the two the writer believed in. */
TEST(a_scale_and_tiepoint_go_before_a_matrix)
{
    static const double scale[] = {10, 20, 0}, zero[] = {0, 0, 0}, tie[] = {0, 0, 0, 1000, 2000, 0};
    static const double rotated[16] = {3, 4, 0, 100, 4, -3, 0, 200};
    for (int k = 0; k < 3; k++) { /* both; no scale; a scale that is none */
        struct tif_spec s = plain();
        s.n_doubles[0] = k == 1 ? 0 : 3;
        s.doubles[0] = k == 2 ? zero : scale;
        s.n_doubles[1] = 6;
        s.doubles[1] = tie;
        s.n_doubles[2] = 16;
        s.doubles[2] = rotated;
        struct reading r = read_spec(&s);
        assert_int_equal(r.status, STATUS_OK);
        const struct grid *const g = r.info->grid;
        assert_true(g->is_rotated == (k > 0) && g->has_origin == (k == 0));
        assert_true(k > 0 || (grid_extent_of(g).west == 1000 && grid_extent_of(g).north == 2000 &&
                              g->cell_x == 10 && g->cell_y == 20));
        reading_free(&r);
    }
}

/* As the specification has it; GDAL has the contrary. */
TEST(a_scale_below_zero_turns_the_rows_and_is_warned_of)
{
    static const double scales[][3] = {{10, -20, 0}, {10, 20, 0}}, tie[] = {0, 1, 0, 100, 200, 0};
    for (size_t k = 0; k < 3; k++) { /* the last one has no place */
        struct tif_spec s = plain();
        s.n_doubles[0] = 3;
        s.doubles[0] = scales[k % 2];
        s.n_doubles[1] = k < 2 ? 6 : 0;
        s.doubles[1] = tie;
        struct reading r = read_spec(&s);
        assert_int_equal(r.status, STATUS_OK);
        const struct grid *const g = r.info->grid;
        assert_true(g->cell_y == (k == 0 ? -20 : k == 1 ? 20 : 1) && g->has_origin == (k < 2));
        assert_true(k > 0 || (grid_extent_of(g).north == 180 && grid_extent_of(g).south == 260));
        assert_int_equal(r.info->n_warnings, k == 0);
        assert_true(k > 0 || strstr(r.info->warnings[0], "from south to north") != NULL);
        reading_free(&r);
    }
}

TEST(a_transformation_may_rotate_or_turn_a_grid)
{
    static const double upward[16] = {3, 0, 0, 100, 0, 4, 0, 200}; /* rows go north */
    static const double rotated[16] = {3, 4, 0, 100, 4, -3, 0, 200};
    struct tif_spec s = plain();
    s.n_doubles[2] = 16;
    s.doubles[2] = upward;
    struct reading r = read_spec(&s);
    assert_int_equal(r.status, STATUS_OK);
    assert_true(r.info->grid->has_origin && r.info->grid->cell_x == 3);
    assert_true(r.info->grid->cell_y == -4 && grid_extent_of(r.info->grid).north == 200);
    assert_true(grid_extent_of(r.info->grid).south == 216);
    reading_free(&r);
    s.doubles[2] = rotated;
    r = read_spec(&s);
    assert_int_equal(r.status, STATUS_OK);
    assert_true(!r.info->grid->has_origin && r.info->grid->is_rotated);
    assert_true(r.info->grid->cell_x == 5 && r.info->grid->cell_y == 5);
    reading_free(&r);
}

TEST(a_georeference_without_sense_is_refused)
{
    static const double flat[] = {0, 20, 0}, wild[] = {INFINITY, 1, 0}, huge[] = {1, 1.1e9, 0},
                        tie[6] = {0};
    static const double line[16] = {8, 4, 0, 100, 6, 3, 0, 200}; /* columns go as rows do */
    static const double *const scales[] = {flat, wild, huge};
    for (size_t i = 0; i < COUNT(scales); i++) {
        struct tif_spec s = plain();
        s.n_doubles[0] = 3;
        s.doubles[0] = scales[i];
        s.n_doubles[1] = 6;
        s.doubles[1] = tie;
        struct reading r = read_spec(&s);
        assert_failed(&r, STATUS_BAD_INPUT, "georeference", "cells of");
        reading_free(&r);
    }
    struct tif_spec s = plain();
    s.n_doubles[2] = 16;
    s.doubles[2] = line;
    struct reading r = read_spec(&s);
    assert_failed(&r, STATUS_BAD_INPUT, "georeference", "without an area");
    reading_free(&r);
}

TEST(the_unit_of_the_band_is_read)
{
    static const struct {
        const char *metadata, *unit;
    } cases[] = {
        {"<GDALMetadata>\n  <Item name=\"UNITTYPE\" sample=\"0\" role=\"unittype\">ft</Item>\n"
         "</GDALMetadata>\n",
         "ft"},
        {"<GDALMetadata><Item name=\"DESCRIPTION\" sample=\"0\" role=\"description\">z</Item>"
         "<Item role=\"unittype\" sample=\"0\" name=\"UNITTYPE\" >US survey foot</Item>",
         "US survey foot"},
        {"<Item name=\"UNITTYPE\" role=\"unittype\"></Item>", ""},
        {"<Item name=\"UNITTYPE\" role=\"unittype\">ft", ""},
        {"<Item name=\"UNITTYPE\" role=\"unittype\"", ""},
        {"<Item name=\"UNITTYPE\">ft</Item>", ""}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tif_spec s = plain();
        s.metadata = cases[i].metadata;
        struct reading r = read_spec(&s);
        assert_int_equal(r.status, STATUS_OK);
        assert_string_equal(r.info->grid->unit, cases[i].unit);
        assert_int_equal(r.info->n_warnings, 0);
        reading_free(&r);
    }
}

TEST(keys_beyond_the_number_declared_do_not_count)
{
    static const uint16_t keys[] = {1, 1, 0, 2, 1024, 0, 1, 1, 1025, 0, 1, 1, 3076, 0, 1, 9003};
    struct tif_spec s = plain();
    s.n_keys = COUNT(keys);
    s.keys = keys;
    struct reading r = read_spec(&s);
    assert_int_equal(r.status, STATUS_OK);
    assert_int_equal(grid_key(r.info->grid, 1024), 1);
    assert_int_equal(grid_key(r.info->grid, 1025), 1);
    assert_int_equal(grid_key(r.info->grid, 3076), 0);
    reading_free(&r);
}

TEST(the_missing_value_is_nodata)
{
    for (int k = 0; k < 4; k++) {
        struct tif_spec s = plain();
        s.bits = k & 1 ? 64 : 32;
        s.nodata = k & 2 ? "-9999" : NULL;
        const double missing = s.value(7), stands = k & 2 ? -9999 : (double)NAN;
        char text[32];
        snprintf(text, sizeof text, "%.17g", missing);
        const struct table_options options = {.missing_value = text};
        struct bytes file = make_tif(&s);
        struct reading r = read_bytes(file.data, file.len, &options, 1 << 12);
        assert_int_equal(r.status, STATUS_OK);
        assert_true(r.info->grid->has_nodata);
        double expected[20];
        for (size_t i = 0; i < COUNT(expected); i++) {
            expected[i] = s.value(i) == missing ? stands : s.value(i);
        }
        assert_numbers(&r, expected, COUNT(expected));
        reading_free(&r);
        bytes_free(&file);
    }
}

/* --- several threads -------------------------------------------------------------------------- */

enum { N_CHUNKS = 64, N_THREADS = 4 };

struct team {
    const struct table *table;
    struct table_chunk chunks[N_CHUNKS];
    size_t n;
    atomic_size_t next;
    atomic_int failed;
};

static void *decode_some(void *arg)
{
    struct team *const team = arg;
    for (;;) {
        const size_t i = atomic_fetch_add(&team->next, 1);
        if (i >= team->n) {
            return NULL;
        }
        /* backwards, so that bands are asked for out of order */
        if (table_decode(team->table, &team->chunks[team->n - 1 - i])) {
            atomic_fetch_add(&team->failed, 1);
        }
    }
}

static void decode_all(struct team *team)
{
    pthread_t threads[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, decode_some, team), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void read_with_threads(const struct tif_spec *s, const struct bytes *file, bool whole)
{
    enum { CELLS = 16384 };
    static struct team team;
    team = (struct team){.n = 0};
    struct table *t;
    bool end = false;
    assert_int_equal(table_open(memory_source(file->data, file->len), NULL, &t), STATUS_OK);
    while (!end) {
        assert_true(team.n < N_CHUNKS);
        struct table_chunk *const c = &team.chunks[team.n];
        c->values = malloc(CELLS * sizeof(double));
        c->values_cap = CELLS * sizeof(double);
        assert_int_equal(table_next(t, c, &end), STATUS_OK);
        team.n += !end;
        if (end) {
            free(c->values);
        }
    }
    team.table = t;
    decode_all(&team);
    assert_int_equal(team.failed == 0, whole);
    for (size_t i = 0, cell = 0; i < team.n; i++) {
        const double *const values = team.chunks[i].values;
        for (size_t k = 0; k < team.chunks[i].n_cells && whole; k++, cell++) {
            assert_true(values[k] == s->value(cell));
        }
        free(team.chunks[i].values);
    }
    table_free(t);
}

TEST(several_threads_decode_at_the_same_time)
{
    struct tif_spec s = {.rows = 1000,
                         .columns = 700,
                         .bits = 64,
                         .format = SAMPLEFORMAT_IEEEFP,
                         .scheme = COMPRESSION_ADOBE_DEFLATE,
                         .tile = 64,
                         .value = halves};
    struct bytes file = make_tif(&s);
    read_with_threads(&s, &file, true);
    memset(file.data + file.len / 2, 0xff, 64); /* damage somewhere: all who wait are told */
    read_with_threads(&s, &file, false);
    bytes_free(&file);
}

int main(void)
{
    TIFFSetErrorHandler(loud);
    TIFFSetWarningHandler(loud);
    return unit_run(NULL, NULL);
}
