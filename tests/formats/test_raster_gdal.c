/*
 * Rasters as GDAL sees them: the same numbers, NODATA, place and coordinate system. Without GDAL's
 * programs the tests are skipped.
 * ctest: asan=soak
 */
#include "tests/support/raster_support.h"

#include <sys/stat.h>

static const char utm[] =
    "PROJCS[\"WGS_1984_UTM_Zone_33N\",GEOGCS[\"GCS_WGS_1984\",DATUM[\"D_WGS_1984\","
    "SPHEROID[\"WGS_1984\",6378137.0,298.257223563]],PRIMEM[\"Greenwich\",0.0],"
    "UNIT[\"Degree\",0.0174532925199433]],PROJECTION[\"Transverse_Mercator\"],"
    "PARAMETER[\"False_Easting\",500000.0],PARAMETER[\"False_Northing\",0.0],"
    "PARAMETER[\"Central_Meridian\",15.0],PARAMETER[\"Scale_Factor\",0.9996],"
    "PARAMETER[\"Latitude_Of_Origin\",0.0],UNIT[\"Meter\",1.0]]";
static const char wgs[] = "GEOGCS[\"GCS_WGS_1984\",DATUM[\"D_WGS_1984\",SPHEROID[\"WGS_1984\","
                          "6378137.0,298.257223563]],PRIMEM[\"Greenwich\",0.0],"
                          "UNIT[\"Degree\",0.0174532925199433]]";

static void save(const char *folder, const char *name, const struct bytes *b)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b->data, 1, b->len, f), b->len);
    assert_int_equal(fclose(f), 0);
}

static struct bytes load(const char *folder, const char *name)
{
    char path[256];
    struct bytes b = {.len = 0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const f = fopen(path, "rb");
    assert_non_null(f);
    size_t n;
    do {
        assert_int_equal(bytes_reserve(&b, 1 << 16), STATUS_OK);
        n = fread(b.data + b.len, 1, 1 << 16, f);
        b.len += n;
    } while (n > 0);
    fclose(f);
    return b;
}

static int shell(const char *folder, const char *command)
{
    char line[1024];
    snprintf(line, sizeof line, "cd '%s' && %s", folder, command);
    return system(line);
}

/* A folder to work in; skips the test where there is no GDAL. */
static void begin(char *folder)
{
    if (system("gdalinfo --version >/dev/null 2>&1") != 0) {
        print_message("SKIPPED: no GDAL here (Debian: gdal-bin)\n");
        skip();
    }
    assert_non_null(mkdtemp(folder));
}

static void end(const char *folder)
{
    assert_int_equal(shell(folder, "rm -f -- *"), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* Writes cells as `file`. GDAL must say each of the words of it, warn of nothing, and give the
 * numbers back. */
static void check(const char *folder, const struct raster *raster, const char *file,
                  const char *const *words, size_t n_words)
{
    static const char *const types[] = {"Float64", "Float32", "Int32"};
    char command[512];
    struct cells c = make_cells(raster->type, raster->grid->rows * raster->grid->columns, false);
    struct bytes made = make_file(raster, &c);
    save(folder, file, &made);
    snprintf(command, sizeof command,
             "gdalinfo '%s' >info.txt 2>said.txt && test ! -s said.txt && "
             "gdal_translate -q -ot %s -of ENVI '%s' raw.bin 2>said.txt && test ! -s said.txt",
             file, types[raster->type], file);
    if (shell(folder, command) != 0) {
        (void)shell(folder, "cat info.txt said.txt");
        fail_msg("GDAL refuses %s, or warns of it", file);
    }
    struct bytes info = load(folder, "info.txt"), raw = load(folder, "raw.bin");
    assert_int_equal(bytes_append(&info, "", 1), STATUS_OK);
    for (size_t i = 0; i < n_words; i++) {
        if (strstr((const char *)info.data, words[i]) == NULL) {
            fail_msg("GDAL does not say \"%s\" of %s:\n%s", words[i], file, (char *)info.data);
        }
    }
    const size_t n = raster->grid->rows * raster->grid->columns * c.width;
    assert_int_equal(raw.len, n);
    assert_memory_equal(raw.data, c.data, n);
    bytes_free(&raw);
    bytes_free(&info);
    bytes_free(&made);
    free(c.data);
}

#define CHECK(folder, raster, file, ...)                                                           \
    check(folder, raster, file, (const char *const[]){__VA_ARGS__},                                \
          COUNT(((const char *const[]){__VA_ARGS__})))

TEST(gdal_reads_the_same_numbers_from_tiles)
{
    char folder[] = "/tmp/raster_XXXXXX";
    begin(folder);
    struct grid *const g = make_grid(300, 520);
    for (int type = 0; type < 3; type++) {
        const struct raster raster = {
            .grid = g, .type = (enum raster_type)type, .has_nodata = true, .nodata = -9999};
        CHECK(folder, &raster, "map.tif", "Size is 520, 300", "Origin = (1000.0", ",5000.0",
              "Pixel Size = (10.0", ",-10.0", "NoData Value=-9999", "Block=256x256",
              "COMPRESSION=DEFLATE");
        /* No coordinate system, not even one without a name: it has to be given, and then does. */
        assert_int_equal(shell(folder, "! grep -qiE 'Coordinate System|unnamed|Point' info.txt"),
                         0);
        assert_int_equal(shell(folder,
                               "gdalwarp -q -overwrite -t_srs EPSG:32633 map.tif warped.tif "
                               ">said.txt 2>&1 && test ! -s said.txt"),
                         0);
    }
    grid_free(g);
    end(folder);
}

TEST(gdal_reads_the_same_numbers_from_text)
{
    char folder[] = "/tmp/raster_XXXXXX";
    begin(folder);
    struct grid *const g = make_grid(300, 520);
    const struct raster raster = {
        .grid = g, .format = RASTER_ASC, .type = RASTER_F32, .has_nodata = true, .nodata = -9999};
    CHECK(folder, &raster, "map.asc", "Size is 520, 300", "Origin = (1000.0", ",5000.0",
          "Pixel Size = (10.0", ",-10.0", "NoData Value=-9999");
    g->cell_y = 20;
    CHECK(folder, &raster, "oblong.asc", "Pixel Size = (10.0", ",-20.0", ",8000.0");
    g->is_centred = true;
    CHECK(folder, &raster, "centred.asc", "Origin = (995.0", ",7990.0");
    grid_free(g);
    end(folder);
}

TEST(gdal_understands_the_prj_of_a_text_grid_in_tags)
{
    char folder[] = "/tmp/raster_XXXXXX";
    begin(folder);
    struct grid *const g = make_grid(3, 5);
    const struct raster raster = {.grid = g};
    assert_int_equal(grid_set_prj(g, utm), STATUS_OK);
    CHECK(folder, &raster, "utm.tif", "PROJCRS[", "\"Longitude of natural origin\",15",
          "Transverse");
    assert_int_equal(grid_set_prj(g, wgs), STATUS_OK);
    CHECK(folder, &raster, "wgs.tif", "GEOGCRS[", "6378137", "Origin = (1000.0");
    assert_int_equal(grid_set_prj(g, "Projection UTM\nZone 33"), STATUS_OK);
    CHECK(folder, &raster, "old.tif", "Origin = (1000.0");
    grid_free(g);
    end(folder);
}

/* Reads in.tif and writes out.tif. */
static void read_and_write(const char *folder)
{
    struct bytes in = load(folder, "in.tif");
    struct reading r = read_bytes(in.data, in.len, NULL, 4096);
    ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, -9999);
    const struct grid *const g = r.info->grid;
    const struct raster raster = {.grid = g, .has_nodata = g->has_nodata, .nodata = g->nodata};
    struct cells c = {.data = r.numbers.data, .width = 8};
    struct bytes out = make_file(&raster, &c);
    save(folder, "out.tif", &out);
    reading_free(&r);
    bytes_free(&in);
    bytes_free(&out);
}

/* A file that GDAL made, read and written again: GDAL says the same of both. */
TEST(gdal_says_the_same_of_what_was_read_and_written)
{
    static const char *const options[] = {
        "-a_srs EPSG:32633 -co TILED=YES -co COMPRESS=LZW",
        "-a_srs EPSG:4326 -mo AREA_OR_POINT=Point -ot Float32 -a_nodata nan",
        "-a_srs EPSG:3003 -co BIGTIFF=YES -co ENDIANNESS=BIG -ot Int16 -a_nodata -32768",
        "-a_nodata none -co PROFILE=BASELINE",
        "-a_srs '+proj=laea +lat_0=45 +lon_0=12 +datum=WGS84' -ot Int32 -co COMPRESS=ZSTD",
    };
    char folder[] = "/tmp/raster_XXXXXX", command[512];
    begin(folder);
    struct bytes text = {.len = 0};
    assert_int_equal(bytes_printf(&text,
                                  "ncols 3\nnrows 2\nxllcorner 12.25\nyllcorner 46\ncellsize "
                                  "0.125\nNODATA_value -9999\n1 2 3\n4 5 -9999\n"),
                     STATUS_OK);
    save(folder, "in.asc", &text);
    bytes_free(&text);
    for (size_t i = 0; i < COUNT(options); i++) {
        snprintf(command, sizeof command,
                 "gdal_translate -q -of GTiff %s in.asc in.tif && rm -f *.xml", options[i]);
        assert_int_equal(shell(folder, command), 0);
        read_and_write(folder);
        /* all but the file's name, its cells' type, cut and compression */
        const char *const compare =
            "for f in in out; do gdalinfo $f.tif | grep -vE "
            "'^Files:|^Band|^Image Structure|INTERLEAVE|COMPRESSION|PREDICTOR' >$f.txt || exit 1; "
            "done; cmp -s in.txt out.txt";
        if (shell(folder, compare) != 0) {
            (void)shell(folder, "diff in.txt out.txt");
            fail_msg("with %s", options[i]);
        }
        (void)shell(folder, "rm -f in.tif* out.tif*");
    }
    end(folder);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
