/*
 * Rasters through GDAL: what gdal_translate writes, in any of its formats, is read as the GeoTIFF
 * that gdal_translate makes of it. Without GDAL's programs, or the module, the tests are skipped.
 */
#include "formats/table/foreign.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/table_support.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...)
{
    char line[2048];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    assert_true(n > 0 && (size_t)n < sizeof line);
    return system(line);
}

static void must(const char *command)
{
    if (shell("%s", command) != 0) {
        fail_msg("failed: %s", command);
    }
}

static bool has_gdal(void)
{
    const char *version;
    return foreign_module_need(FOREIGN_GDAL, &version) == STATUS_OK &&
           shell("gdal_translate --version >/dev/null 2>&1") == 0;
}

#define SKIP_WITHOUT_GDAL()                                                                        \
    do {                                                                                           \
        if (!has_gdal()) {                                                                         \
            print_message("SKIPPED: no GDAL here (Debian: gdal-bin) or no module leat-gdal\n");    \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

static const struct table_options in_folder = {.for_grid = true, .has_companions = true};
static const struct table_options alone = {.for_grid = true};

static struct reading read_file(const char *path, const struct table_options *options)
{
    struct source *s;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || source_open(fd, path, &s) != STATUS_OK) {
        fail_msg("%s cannot be opened", path);
    }
    return read_source(s, options, 4096);
}

static double number(const struct reading *r, size_t i)
{
    double x;
    memcpy(&x, r->numbers.data + i * sizeof x, sizeof x);
    return x;
}

static bool are_near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* NULL, or in which way a grid is not that one. */
static const char *difference(const struct reading *a, const struct reading *b)
{
    const struct grid *const g = a->info->grid, *const h = b->info->grid;
    if (g->rows != h->rows || g->columns != h->columns || a->n_numbers != b->n_numbers) {
        return "shape";
    }
    for (size_t i = 0; i < a->n_numbers; i++) {
        const bool is_missing = g->has_nodata && grid_matches_nodata(g->nodata, number(a, i));
        if (is_missing != (h->has_nodata && grid_matches_nodata(h->nodata, number(b, i)))) {
            return "missing cells";
        }
        if (!is_missing && !(number(a, i) == number(b, i)) &&
            !(isnan(number(a, i)) && isnan(number(b, i)))) {
            return "values";
        }
    }
    if (g->has_origin != h->has_origin || g->is_rotated != h->is_rotated || !are_near(g->x, h->x) ||
        !are_near(g->y, h->y) || !are_near(g->cell_x, h->cell_x) ||
        !are_near(g->cell_y, h->cell_y)) {
        return "place";
    }
    if (strcmp(a->info->format, "asc") == 0) {
        return NULL; /* whose .prj the pipeline reads */
    }
    if (grid_systems_differ(g, h) ||
        (grid_find_tag(g, GRID_GEO_KEYS) != NULL) != (grid_find_tag(h, GRID_GEO_KEYS) != NULL)) {
        return "coordinate system";
    }
    return strcmp(g->unit, h->unit) != 0 ? "unit" : NULL;
}

/* Heights of 23 x 37 cells with some missing, in `folder`/base.tif. */
static void make_base(void)
{
    FILE *const f = fopen("base.asc", "w");
    assert_non_null(f);
    fputs("ncols 37\nnrows 23\nxllcorner 500000\nyllcorner 4649000\ncellsize 30\n"
          "NODATA_value 99\n",
          f);
    for (int i = 0; i < 23 * 37; i++) {
        fprintf(f, "%d%c", i % 41 == 3 ? 99 : 1 + i * 7 % 90, i % 37 == 36 ? '\n' : ' ');
    }
    fclose(f);
    must("gdal_translate -q -ot Float64 -a_srs EPSG:32633 base.asc base.tif");
}

static const char *const drivers[][2] = {
    {"VRT", "vrt"},      {"COG", "cog"},         {"HFA", "img"},       {"AAIGrid", "aai"},
    {"DTED", "dt1"},     {"PNG", "png"},         {"JPEG", "jpg"},      {"GIF", "gif"},
    {"FITS", "fits"},    {"XPM", "xpm"},         {"BMP", "bmp"},       {"PCIDSK", "pix"},
    {"PCRaster", "map"}, {"ILWIS", "mpr"},       {"SGI", "rgb"},       {"Leveller", "ter"},
    {"Terragen", "ter"}, {"netCDF", "nc"},       {"HDF4Image", "hdf"}, {"ISIS3", "cub"},
    {"ISIS2", "cub"},    {"VICAR", "vic"},       {"ERS", "ers"},       {"JP2OpenJPEG", "jp2"},
    {"FIT", "fit"},      {"GRIB", "grb2"},       {"RMF", "rsw"},       {"RST", "rst"},
    {"GSAG", "grd"},     {"GSBG", "grd"},        {"GS7BG", "grd"},     {"WEBP", "webp"},
    {"KRO", "kro"},      {"MRF", "mrf"},         {"PNM", "pgm"},       {"PAux", "raw"},
    {"MFF", "hdr"},      {"BT", "bt"},           {"LAN", "lan"},       {"GTX", "gtx"},
    {"ROI_PAC", "dem"},  {"RRASTER", "grd"},     {"BYN", "byn"},       {"ARG", "arg"},
    {"USGSDEM", "dem"},  {"NWT_GRD", "grd"},     {"SAGA", "sdat"},     {"XYZ", "xyz"},
    {"HF2", "hf2"},      {"ZMap", "dat"},        {"SIGDEM", "sigdem"}, {"GPKG", "gpkg"},
    {"ENVI", "bin"},     {"EHdr", "bil"},        {"ISCE", "isce"},     {"NITF", "ntf"},
    {"PDS4", "xml"},     {"MBTiles", "mbtiles"}, {"R", "rda"},         {"Zarr", "zarr"},
    {"SRTMHGT", "hgt"},  {"LCP", "lcp"},         {"BLX", "blx"},       {"CTable2", "ct2"},
    {"MFF2", "mff2"},    {"INGR", "ingr"},       {"IDA", "ida"},
};
/* The first one that a format takes; all of them with LEAT_TEST_EVERY_TYPE. */
static const char *const types[] = {"Float64", "Float32", "Int32", "Int16", "UInt16", "Byte"};

static size_t n_different;

/* Reads what a driver has written in a folder of its own, and what gdal_translate makes of it. */
static void compare(const char *driver, const char *type, const char *path, const char *as,
                    const struct table_options *options, size_t *n_same, size_t *n_refused)
{
    struct reading own = read_file(path, options);
    if (own.status != STATUS_OK) {
        print_message("%s %s %s: refused: %s\n", driver, type, as, status_message());
        assert_non_null(strstr(status_message(), path));
        ++*n_refused;
    } else {
        struct reading theirs = read_file("back.tif", &alone);
        if (theirs.status != STATUS_OK) {
            fail_msg("%s %s %s: %s", driver, type, as, status_message());
        }
        const char *const in = difference(&own, &theirs);
        if (in != NULL) {
            print_message("%s %s %s: read by %s: its %s differ\n", driver, type, as,
                          own.info->format, in);
            n_different++;
        } else {
            ++*n_same;
        }
        reading_free(&theirs);
    }
    reading_free(&own);
}

/* Reads the file cut to each of these parts of it: refused, or what the whole one has. */
static void cut(const char *driver, const char *type, const char *path,
                const struct table_options *options)
{
    static const off_t percents[] = {99, 90, 50};
    /* texts, which are whole at any end of a line */
    const bool is_text =
        strcmp(driver, "XYZ") == 0 || strcmp(driver, "MFF") == 0 || strcmp(driver, "RRASTER") == 0;
    if (strcmp(driver, "HDF4Image") == 0) {
        return; /* its library forgets what it holds of such a file */
    }
    struct reading whole = read_file(path, options);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(shell("cp %s whole", path), 0);
    for (size_t i = 0; whole.status == STATUS_OK && i < COUNT(percents); i++) {
        assert_int_equal(truncate(path, st.st_size * percents[i] / 100), 0);
        struct reading r = read_file(path, options);
        const char *const in = r.status == STATUS_OK ? difference(&r, &whole) : NULL;
        if (in != NULL && !is_text) {
            print_message("%s %s: cut to %d %%: its %s differ\n", driver, type, (int)percents[i],
                          in);
            n_different++;
        }
        reading_free(&r);
    }
    assert_int_equal(shell("mv whole %s", path), 0);
    reading_free(&whole);
}

static int begin(void **state)
{
    (void)state;
    if (has_gdal()) {
        make_base();
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    return shell("rm -rf -- *");
}

#define GDAL_TEST(name) TEST_BETWEEN(name, begin, end)

GDAL_TEST(each_format_is_read_as_gdal_translate_reads_it)
{
    const bool every = getenv("LEAT_TEST_EVERY_TYPE") != NULL;
    size_t n_written = 0, n_same[2] = {0}, n_refused[2] = {0};
    SKIP_WITHOUT_GDAL();
    for (size_t d = 0; d < COUNT(drivers); d++) {
        const size_t before = n_written;
        for (size_t t = 0; t < COUNT(types) && (every || n_written == before); t++) {
            char path[64];
            snprintf(path, sizeof path, "d/x.%s", drivers[d][1]);
            must("rm -rf d back.tif* && mkdir d");
            if (shell("gdal_translate -q -of %s -ot %s base.tif %s >/dev/null 2>&1 && [ -f %s ] && "
                      "gdal_translate -q %s back.tif >/dev/null 2>&1",
                      drivers[d][0], types[t], path, path, path) != 0) {
                continue;
            }
            n_written++;
            compare(drivers[d][0], types[t], path, "in its folder", &in_folder, &n_same[0],
                    &n_refused[0]);
            cut(drivers[d][0], types[t], path, &in_folder);
            must("find d -type f ! -name 'x.*' -delete; find d -name '*.aux.xml' -delete");
            must("rm -f back.tif*; mkdir e");
            (void)shell("cp %s e/y.%s && gdal_translate -q e/y.%s back.tif >/dev/null 2>&1", path,
                        drivers[d][1], drivers[d][1]);
            must("rm -rf e");
            compare(drivers[d][0], types[t], path, "alone", &alone, &n_same[1], &n_refused[1]);
            cut(drivers[d][0], types[t], path, &alone);
        }
    }
    print_message("written: %zu; read right in a folder: %zu, refused: %zu; alone: %zu, %zu\n",
                  n_written, n_same[0], n_refused[0], n_same[1], n_refused[1]);
    assert_int_equal(n_different, 0);
    assert_true(n_written > 40 && n_same[0] > 30);
}

/* Fails unless `path` is read as `like`, a GeoTIFF, is. */
static void assert_same(const char *path, const struct table_options *options, const char *like)
{
    struct reading own = read_file(path, options), theirs = read_file(like, &alone);
    if (own.status != STATUS_OK || theirs.status != STATUS_OK) {
        fail_msg("%s, %s: %s", path, like, status_message());
    }
    const char *const in = difference(&own, &theirs);
    if (in != NULL) {
        fail_msg("%s: its %s differ from %s", path, in, like);
    }
    assert_string_equal(own.info->format, "gdal");
    assert_string_equal(theirs.info->format, "tif");
    reading_free(&own);
    reading_free(&theirs);
}

static void assert_refused(const char *path, const struct table_options *options,
                           enum status status, const char *text)
{
    struct reading r = read_file(path, options);
    if (r.status != status || strstr(status_message(), text) == NULL ||
        strncmp(status_message(), path, strlen(path)) != 0) {
        fail_msg("%s: %s, no \"%s\" in: %s", path, status_name(r.status), text, status_message());
    }
    reading_free(&r);
}

GDAL_TEST(a_mosaic_of_tiles_is_the_grid_that_they_make)
{
    SKIP_WITHOUT_GDAL();
    must("gdal_translate -q -outsize 700 500 -r bilinear base.tif whole.tif");
    must("for x in 0 175 350 525; do for y in 0 125 250 375; do gdal_translate -q -srcwin $x $y "
         "175 125 whole.tif t$x.$y.tif || exit 1; done; done");
    must("gdalbuildvrt -q m.vrt t*.tif && mkdir sub && mv t*.tif sub && "
         "sed -i 's|>t|>sub/t|' m.vrt");
    assert_same("m.vrt", &in_folder, "whole.tif");
    assert_refused("m.vrt", &alone, STATUS_UNSUPPORTED, "or that it names");
    must("rm sub/t175.125.tif");
    assert_refused("m.vrt", &in_folder, STATUS_BAD_INPUT, "t175.125.tif");
}

GDAL_TEST(a_mosaic_of_a_file_that_was_cut_is_refused)
{
    static const char *const files[] = {"c.nc", "'NETCDF:\"c&.nc\":Band1'", "c.img", "c.map",
                                        "c.pix"};
    SKIP_WITHOUT_GDAL();
    must("mkdir sub && gdal_translate -q -ot Float32 base.tif f.tif && for d in netCDF:nc ENVI:img "
         "PCRaster:map PCIDSK:pix; do gdal_translate -q -of ${d%:*} f.tif sub/c.${d#*:} || exit 1; "
         "done; cp sub/c.nc 'sub/c&.nc'");
    for (size_t f = 0; f < COUNT(files); f++) {
        assert_int_equal(shell("cd sub && gdal_translate -q -of VRT %s c.vrt && cd .. && "
                               "gdal_translate -q -of VRT sub/c.vrt m.vrt && gdal_translate -q -of "
                               "VRT m.vrt \"$PWD/n.vrt\" && gdal_translate -q n.vrt n.tif",
                               files[f]),
                         0);
        assert_same("n.vrt", &in_folder, "n.tif");
    }
    must("for f in sub/c*.nc sub/c.img sub/c.map sub/c.pix; do truncate -s -1 \"$f\"; done");
    for (size_t f = 0; f < COUNT(files); f++) {
        assert_int_equal(shell("cd sub && gdal_translate -q -of VRT %s c.vrt; cd .. && "
                               "gdal_translate -q -of VRT sub/c.vrt m.vrt; gdal_translate -q -of "
                               "VRT m.vrt \"$PWD/n.vrt\"",
                               files[f]),
                         0);
        assert_refused("n.vrt", &in_folder, STATUS_BAD_INPUT, "it was cut");
    }
}

/* Of a block of tiles at the end of the file, or of several, a reserve is never written. */
GDAL_TEST(tiles_of_pcidsk_are_whole_without_their_reserve)
{
    static const char *const ways[] = {"TILEVERSION=1 -co TILESIZE=64", "TILEVERSION=2",
                                       "TILEVERSION=2 -co COMPRESSION=RLE -outsize 900 700"};
    SKIP_WITHOUT_GDAL();
    must("gdal_translate -q -ot Float32 base.tif f.tif");
    for (size_t i = 0; i < COUNT(ways); i++) {
        char head[33] = {0};
        struct stat st;
        assert_int_equal(
            shell("rm -f t.pix* && gdal_translate -q -of PCIDSK -co INTERLEAVING=TILED "
                  "-co %s f.tif t.pix && gdal_translate -q t.pix t.tif",
                  ways[i]),
            0);
        FILE *const f = fopen("t.pix", "rb");
        assert_true(f != NULL && fread(head, 1, 32, f) == 32 && fclose(f) == 0);
        assert_true(stat("t.pix", &st) == 0 && st.st_size < 512 * strtoll(head + 16, NULL, 10));
        assert_same("t.pix", &in_folder, "t.tif");
        const off_t cuts[] = {1, 512, st.st_size / 2, st.st_size - 600, st.st_size - 40};
        for (size_t k = 0; k < COUNT(cuts); k++) {
            must("cp t.pix c.pix");
            assert_int_equal(truncate("c.pix", st.st_size - cuts[k]), 0);
            struct reading r = read_file("c.pix", &in_folder);
            assert_int_equal(r.status, STATUS_BAD_INPUT);
            assert_true(k > 1 || strstr(status_message(), "it was cut") != NULL);
            reading_free(&r);
        }
    }
}

GDAL_TEST(a_mosaic_of_mosaics_without_end_is_refused)
{
    SKIP_WITHOUT_GDAL();
    must("gdal_translate -q -of VRT base.tif one.vrt && "
         "for i in $(seq 20); do sed -n '/<SimpleSource>/,/<.SimpleSource>/p' one.vrt; done | "
         "sed 's/base.tif/e.vrt/' >sources && "
         "sed -e '/<SimpleSource>/,/<.SimpleSource>/d' -e '/<VRTRasterBand/r sources' one.vrt "
         ">e.vrt");
    assert_refused("e.vrt", &in_folder, STATUS_TOO_LARGE, "of themselves; make it one file");
}

GDAL_TEST(one_of_several_bands_is_chosen)
{
    SKIP_WITHOUT_GDAL();
    must("gdal_translate -q -scale 0 100 1000 2000 base.tif other.tif");
    must("gdalbuildvrt -q -separate b.vrt base.tif other.tif");
    must("gdal_translate -q -co INTERLEAVE=PIXEL -co TILED=YES b.vrt b.tif");
    struct table_options of = alone;
    assert_refused("b.tif", &of, STATUS_UNSUPPORTED, "has 2 bands, a grid has one; choose it: -s");
    of.band = "3";
    assert_refused("b.tif", &of, STATUS_BAD_ARGUMENT, "it has 2 bands");
    of.band = "0";
    assert_int_equal(table_option_set(&of, TABLE_BAND, "0"), STATUS_BAD_ARGUMENT);
    of.band = "2";
    must("gdal_translate -q -b 2 b.tif second.tif");
    assert_same("b.tif", &of, "second.tif");
    of.band = "1";
    must("gdal_translate -q -b 1 b.tif first.tif");
    assert_same("b.tif", &of, "first.tif");
    assert_refused("base.tif", &(struct table_options){.for_grid = true, .band = "2"},
                   STATUS_BAD_ARGUMENT, "it has 1 band");
}

GDAL_TEST(masks_scales_and_signs_are_applied)
{
    SKIP_WITHOUT_GDAL();
    must("gdal_translate -q -ot Byte -b 1 -b 1 -colorinterp_2 alpha -a_nodata none base.tif a.tif");
    struct reading r = read_file("a.tif", &alone); /* where it is 0 a cell is missing: nowhere */
    assert_int_equal(r.status, STATUS_OK);
    assert_true(r.info->grid->has_nodata && isnan(r.info->grid->nodata));
    assert_true(number(&r, 0) == 1 && number(&r, 1) == 8);
    reading_free(&r);
    must("gdal_translate -q -ot Byte -mask 1 -a_nodata none --config GDAL_TIFF_INTERNAL_MASK YES "
         "-scale 0 100 -40 60 base.tif m.tif"); /* negative ones are 0, and masked */
    must("gdal_translate -q -ot Byte -mask 1 -a_nodata none --config GDAL_TIFF_INTERNAL_MASK YES "
         "m.tif n.tif");
    r = read_file("n.tif", &alone);
    assert_int_equal(r.status, STATUS_OK);
    assert_true(isnan(number(&r, 0)) && isnan(number(&r, 1)) && !isnan(number(&r, 8)));
    reading_free(&r);
    must("gdal_translate -q -of VRT -ot Int16 -a_scale 0.25 -a_offset 100 base.tif s.vrt");
    must("gdal_translate -q -unscale -ot Float64 s.vrt s.tif");
    r = read_file("s.vrt", &in_folder);
    struct reading theirs = read_file("s.tif", &alone);
    assert_int_equal(r.status, STATUS_OK);
    assert_true(r.n_numbers == theirs.n_numbers && isnan(number(&r, 3)));
    assert_true(number(&r, 0) == 100.25 && number(&theirs, 0) == 100.25);
    reading_free(&r);
    reading_free(&theirs);
    must("gdal_translate -q s.vrt scaled.tif");
    r = read_file("scaled.tif", &alone);
    assert_int_equal(r.status, STATUS_OK);
    assert_true(number(&r, 0) == 100.25 && isnan(number(&r, 3)));
    reading_free(&r);
    must("gdal_translate -q -of HFA -ot Byte -co PIXELTYPE=SIGNEDBYTE -a_nodata none "
         "-scale 0 255 200 455 base.tif g.img 2>/dev/null");
    must("gdal_translate -q g.img g.tif");
    assert_same("g.img", &alone, "g.tif");
}

GDAL_TEST(the_place_is_taken_whatever_way_the_rows_go)
{
    static const char *const transforms[] = {
        "500000, 30, 0, 4649690, 0, -30", "500000, 30, 0, 4649000, 0, 30",
        "500000, 20, 5, 4649000, 5, -20", "0.5, 1e-4, 0, 45, 0, -1e-4"};
    SKIP_WITHOUT_GDAL();
    for (size_t i = 0; i < COUNT(transforms); i++) {
        must("gdal_translate -q -of VRT base.tif p.vrt");
        assert_int_equal(shell("sed -i 's|<GeoTransform>.*<|<GeoTransform>%s<|' p.vrt && "
                               "gdal_translate -q p.vrt p.tif",
                               transforms[i]),
                         0);
        assert_same("p.vrt", &in_folder, "p.tif");
        must("gdal_translate -q -mo AREA_OR_POINT=Point p.vrt q.vrt -of VRT && gdal_translate -q "
             "q.vrt q.tif");
        assert_same("q.vrt", &in_folder, "q.tif");
    }
}

struct decoding {
    const struct table *table;
    struct table_chunk *chunks;
    size_t n;
    atomic_size_t next;
    atomic_int failed;
};

static void *decode_some(void *arg)
{
    struct decoding *const d = arg;
    for (size_t i; (i = atomic_fetch_add(&d->next, 1)) < d->n;) {
        if (table_decode(d->table, &d->chunks[i]) != STATUS_OK) {
            atomic_store(&d->failed, 1);
        }
    }
    return NULL;
}

GDAL_TEST(threads_decode_the_same_numbers)
{
    enum { THREADS = 5, CHUNKS = 400, CELLS = 3001 };
    static const char *const files[] = {"w.vrt", "w.jp2", "w.nc", "w.img"};
    SKIP_WITHOUT_GDAL();
    must("gdal_translate -q -ot Int16 -outsize 1500 700 -r bilinear base.tif w.tif");
    must("gdal_translate -q -of VRT w.tif w.vrt && gdal_translate -q -of HFA -co COMPRESSED=YES "
         "w.tif w.img && gdal_translate -q -of netCDF w.tif w.nc && gdal_translate -q -of "
         "JP2OpenJPEG "
         "-co REVERSIBLE=YES -co QUALITY=100 w.tif w.jp2");
    struct reading whole = read_file("w.tif", &alone);
    assert_int_equal(whole.status, STATUS_OK);
    for (size_t f = 0; f < COUNT(files); f++) {
        struct source *s;
        struct decoding d = {.chunks = calloc(CHUNKS, sizeof *d.chunks)};
        struct table *table;
        pthread_t threads[THREADS];
        assert_int_equal(source_open(open(files[f], O_RDONLY | O_CLOEXEC), files[f], &s),
                         STATUS_OK);
        if (table_open(s, f == 0 ? &in_folder : &alone, &table) != STATUS_OK) {
            fail_msg("%s", status_message());
        }
        d.table = table;
        for (bool at_end = false; !at_end; d.n += !at_end) {
            assert_true(d.n < CHUNKS);
            d.chunks[d.n].values_cap = CELLS * sizeof(double);
            d.chunks[d.n].values = malloc(CELLS * sizeof(double));
            assert_int_equal(table_next(table, &d.chunks[d.n], &at_end), STATUS_OK);
        }
        for (size_t i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, decode_some, &d), 0);
        }
        for (size_t i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        assert_int_equal(d.failed, 0);
        const double *at = (const double *)(const void *)whole.numbers.data;
        for (size_t i = 0; i <= d.n; i++) {
            assert_memory_equal(d.chunks[i].values, at, d.chunks[i].n_cells * sizeof *at);
            at += d.chunks[i].n_cells;
            free(d.chunks[i].values);
        }
        assert_int_equal(at - (const double *)(const void *)whole.numbers.data, 1500 * 700);
        free(d.chunks);
        table_free(table);
    }
    reading_free(&whole);
}

GDAL_TEST(cut_and_damaged_files_do_no_harm)
{
    static const char *const files[] = {"h.nc",  "h.img", "h.jp2", "h.grd", "h.grb2",
                                        "h.png", "h.map", "h.bt",  "h.asc"};
    SKIP_WITHOUT_GDAL();
    must("gdal_translate -q -ot Int16 base.tif i.tif && for d in HFA:img JP2OpenJPEG:jp2 "
         "GSBG:grd netCDF:nc PCRaster:map BT:bt GRASSASCIIGrid:asc; do gdal_translate "
         "-q -of ${d%:*} i.tif h.${d#*:} >/dev/null 2>&1; done; true");
    size_t n_read = 0, n_refused = 0, n_wrong = 0;
    for (size_t f = 0; f < COUNT(files); f++) {
        struct bytes all = {0};
        FILE *const in = fopen(files[f], "rb");
        if (in == NULL) {
            continue;
        }
        assert_int_equal(bytes_reserve(&all, 1 << 20), STATUS_OK);
        all.len = fread(all.data, 1, 1 << 20, in);
        fclose(in);
        assert_true(all.len > 100 && all.len < 1 << 20);
        struct reading whole = read_bytes(all.data, all.len, &alone, 4096);
        assert_int_equal(whole.status, STATUS_OK);
        for (size_t i = 0; i < 40; i++) {
            const size_t n = i % 2 == 0 ? all.len * i / 40 + 1 : all.len;
            const size_t at = i < 20 ? i * 7 + 4 : all.len * (i - 20) / 20;
            const unsigned char was = all.data[at];
            all.data[at] = i % 2 == 0 ? was : (unsigned char)(was ^ (i % 4 == 1 ? 0xff : 0x20));
            struct reading r = read_bytes(all.data, n, &alone, 4096);
            if (r.status == STATUS_OK && n < all.len &&
                (r.n_numbers != whole.n_numbers ||
                 memcmp(r.numbers.data, whole.numbers.data, whole.numbers.len) != 0)) {
                print_message("%s, cut at byte %zu of %zu, has other numbers\n", files[f], n,
                              all.len);
                n_wrong++;
            }
            n_read += r.status == STATUS_OK;
            n_refused += r.status != STATUS_OK;
            assert_true(r.status == STATUS_OK || strncmp(status_message(), "in.x: ", 6) == 0);
            reading_free(&r);
            all.data[at] = was;
        }
        reading_free(&whole);
        bytes_free(&all);
    }
    print_message("%zu read, %zu refused\n", n_read, n_refused);
    assert_int_equal(n_wrong, 0);
    assert_true(n_refused > 100);
}

GDAL_TEST(claims_beyond_all_memory_are_refused)
{
    static const char envi[] = "ENVI\nsamples = 100000\nlines = 100000\nbands = 1\n"
                               "header offset = 0\ndata type = 4\ninterleave = bsq\n";
    static const char vrt[] = "<VRTDataset rasterXSize=\"2147483647\" rasterYSize=\"2147483647\">"
                              "<VRTRasterBand dataType=\"Float64\" band=\"1\"/></VRTDataset>";
    SKIP_WITHOUT_GDAL();
    FILE *f = fopen("c.hdr", "w");
    fputs(envi, f);
    fclose(f);
    must("printf '\\0\\0\\1\\0' >c.bin");
    assert_refused("c.bin", &in_folder, STATUS_BAD_INPUT, "c.bin");
    f = fopen("c.vrt", "w");
    fputs(vrt, f);
    fclose(f);
    assert_refused("c.vrt", &in_folder, STATUS_TOO_LARGE, "unpacks to more than 256 MiB");
}

int main(void)
{
    return unit_run(enter_folder, leave_folder);
}
