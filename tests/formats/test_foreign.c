/*
 * Formats that are not read: which one a name and first bytes say, and the command that converts a
 * file of that name.
 */
#include "formats/table/foreign.h"
#include "tests/support/unit.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void says(const struct foreign *f, const char *path, bool for_grid, const char *name,
                 const char *command)
{
    if (f == NULL) {
        fail_msg("'%s' is not known", path);
    }
    char *const text = foreign_sentence(f, path, for_grid);
    assert_non_null(text);
    if (strstr(text, name) == NULL || strlen(text) < strlen(command) ||
        strcmp(text + strlen(text) - strlen(command), command) != 0) {
        fail_msg("'%s' %s", path, text);
    }
    free(text);
}

TEST(an_ending_says_the_format_and_what_converts_it)
{
    static const struct {
        const char *path, *name, *command;
        bool for_grid;
    } cases[] = {
        {"in/x.dem.img", "ERDAS Imagine", "gdal_translate x.dem.img x.dem.tif", true},
        {"x.dem.nc", "NetCDF", "gdal_translate x.dem.nc x.dem.tif", true},
        {"x.clusters.NC", "NetCDF", "nccopy -k nc4 x.clusters.NC x.clusters.new.nc", false},
        {"x.vrt", "GDAL virtual", "gdal_translate x.vrt x.tif", false},
        {"x.xyz", "XYZ", "gdal_translate x.xyz x.tif", false},
        {"x.h5", "HDF5", "numpy.savez(sys.argv[2], **a)' x.h5 x.npz", false},
        {"x.parquet", "Parquet", "index=False)' x.parquet x.csv", false},
        {"x.shp", "shapefile", "ogr2ogr -lco GEOMETRY=AS_XY x.csv x.shp", false},
        {"x.xls", "Excel", "libreoffice --headless --convert-to xlsx x.xls", false},
        {"x.source.kml", "vector map", "ogr2ogr x.source.gpkg x.source.kml", true},
        {"x.geojson", "vector map", "ogr2ogr -lco GEOMETRY=AS_XY x.csv x.geojson", false},
        {"x.json", "JSON", "index=False)' x.json x.csv", false},
        {"x.7z.001", "split archive", "cat x.7z.* >x.7z", false},
        {"x.csv.lzma", "LZMA", "xz -dc <x.csv.lzma >x.csv", false},
        {"x.cpio", "cpio", "bsdtar -cf x.tar @x.cpio", false},
        {"x.csv.lz4", "LZ4", "lz4 -d x.csv.lz4 x.csv", false},
        {"x.parquet.gz", "Parquet", "index=False)' x.parquet x.csv", false},
        {"x.nc.gz", "NetCDF", "gzip -dk x.nc.gz && gdal_translate x.nc x.tif", true},
        {"a b'.img", "ERDAS", "gdal_translate 'a b'\\''.img' 'a b'\\'''.tif", true},
        {"-x.img", "ERDAS", "gdal_translate ./-x.img ./-x.tif", true},
        {"x.docx", "a document", ".tar.bz2", false},
        {"x.pdf", "PDF", "pdftotext -layout x.pdf x.txt", false},
        {"x.sav", "SPSS",
         "pandas.read_spss(sys.argv[1]).to_csv(sys.argv[2], index=False)' x.sav x.csv", false},
        {"x.feather", "Arrow (Feather)", "index=False)' x.feather x.csv", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        says(foreign_named(cases[i].path), cases[i].path, cases[i].for_grid, cases[i].name,
             cases[i].command);
    }
}

TEST(no_command_writes_to_what_it_reads)
{
    says(&foreign_utf16_grid, "x.dem.txt", true, "UTF-16",
         "iconv -f UTF-16 -t UTF-8 <x.dem.txt >x.dem.new.txt");
    says(foreign_of("x.csv", (const unsigned char *)"PAR1\x15\0", 6), "x.csv", false, "Parquet",
         "index=False)' x.csv x.new.csv");
    says(foreign_of("x", (const unsigned char *)"\x04\x22\x4d\x18\0", 5), "x", false, "LZ4",
         "lz4 -d x x.new");
}

#define HEAD(bytes) (const unsigned char *)(bytes), sizeof(bytes)

/* Programs that go by a name's ending get one that they know, or none; what comes out has an ending
 * of what leat reads. */
TEST(a_command_works_on_a_file_of_another_name)
{
    static const struct {
        const unsigned char *head;
        size_t n;
        const char *path, *name, *command;
    } cases[] = {
        {HEAD("\x5d\0\0\x80\0"), "x.clusters.csv", "LZMA",
         "xz -dc <x.clusters.csv >x.clusters.new.csv"},
        {HEAD("LZIP\1\0"), "a b.txt", "lzip", "lzip -dc <'a b.txt' >'a b'.new.txt"},
        {HEAD("\x1f\x9d\x90\0"), "x.csv", "compress", "gzip -dc <x.csv >x.new.csv"},
        {HEAD("\x1f\x9d\x90\0"), "x.csv.Z", "compress", "gzip -dc <x.csv.Z >x.csv"},
        {HEAD("\x04\x22\x4d\x18\0"), "x.csv", "LZ4", "lz4 -d x.csv x.new.csv"},
        {HEAD("SQLite format 3"), "x.csv", "SQLite",
         "cp x.csv x.sqlite && ogr2ogr -lco GEOMETRY=AS_XY x.new.csv x.sqlite"},
        {HEAD("SQLite format 3"), "x.gpkg", "GeoPackage",
         "ogr2ogr -lco GEOMETRY=AS_XY x.csv x.gpkg"},
        {HEAD("\0\0\x27\x0a\0\0"), "x.csv", "shapefile",
         "cp x.csv x.shp && ogr2ogr -lco GEOMETRY=AS_XY --config SHAPE_RESTORE_SHX YES x.new.csv "
         "x.shp"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        says(foreign_of(cases[i].path, cases[i].head, cases[i].n), cases[i].path, false,
             cases[i].name, cases[i].command);
    }
}

TEST(what_is_read_is_not_foreign)
{
    static const char *const names[] = {
        "x.csv",  "x.tsv.gz", "x.txt",  "x.npy", "x.npz", "x.asc",  "x.tif",
        "x.tiff", "x.tar.gz", "x.zip",  "x.7z",  "x.dat", "x.dem",  "x.prn",
        "x",      "x.source", "a.nc/x", ".nc",   "nc",    "x.2020", "x.img/y.csv"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (foreign_named(names[i]) != NULL) {
            fail_msg("'%s' is foreign", names[i]);
        }
    }
}

TEST(what_a_module_reads_is_a_table_or_a_grid_by_its_name)
{
    assert_true(foreign_is_read("x.h5", false) && foreign_is_read("a/X.clusters.NC", false));
    assert_true(foreign_is_read("x.mat", false) && !foreign_is_read("x.mat", true));
    assert_true(foreign_is_read("x.xlsx", false) && foreign_is_read("x.ODS", true));
    assert_false(foreign_is_read("x.parquet", false) || foreign_is_read("x.csv", false));
}

#define ZIP "PK\3\4\24\0\6\0\10\0\0\0\41\0\0\0\0\0\0\0\0\0\0\0\0\0\17\0\0\0"

TEST(json_of_a_value_a_line_is_read_so)
{
    static const struct {
        const char *text;
        bool is_lines;
    } cases[] = {
        {"  [1,2,3]\n[4,5,1]\n", true},
        {"[1,2,3]\r\n[4,5,1]\r\n", true},
        {"{\"a\": 1}\n{\"a\": 2}\n", true},
        {"{\"a\": 1} \r\n\n{\"a\": 2}\n", true},
        {"[1,2,3]\n\n", false},
        {"{\"a\": 1}\n", false},
        {"[[1,2],\n[4,5]]\n", false},
        {"[{\"a\": 1},\n{\"a\": 2}]\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const unsigned char *const head = (const unsigned char *)cases[i].text;
        says(foreign_of("x.csv", head, strlen(cases[i].text)), "x.csv", false, "JSON",
             cases[i].is_lines
                 ? "read_json(sys.argv[1], lines=True).to_csv(sys.argv[2], index=False)' x.csv "
                   "x.new.csv"
                 : "read_json(sys.argv[1]).to_csv(sys.argv[2], index=False)' x.csv x.new.csv");
    }
}

TEST(first_bytes_say_the_format_whatever_the_name)
{
    static const struct {
        const unsigned char *head;
        size_t n;
        const char *path, *name;
    } cases[] = {
        {HEAD("CDF\x01\0\0\0\0"), "x.clusters.dat", "NetCDF"},
        {HEAD("\x89HDF\r\n\x1a\n\0"), "x.dat", "HDF5"},
        {HEAD("\x89HDF\r\n\x1a\n\0"), "x.nc", "NetCDF"},
        {HEAD("\x89HDF\r\n\x1a\n\0"), "x.mat", "HDF5"},
        {HEAD("MATLAB 7.3 MAT-file, Platform: GLNXA64\0"), "x.mat", "HDF5"},
        {HEAD("MATLAB 5.0 MAT-file, Platform: GLNXA64\0"), "x.mat", "MATLAB before 7.3"},
        {HEAD("CDF\x01\0\0\0\0"), "x.nc", "classic NetCDF"},
        {HEAD("PAR1\x15\0"), "x", "Parquet"},
        {HEAD("$FL2@(#) SPSS DATA FILE\0"), "x.csv", "SPSS"},
        {HEAD("%PDF-1.7\n%\xe2\0"), "x.csv", "PDF"},
        {HEAD("\0\0\x27\x0a\0\0"), "x", "shapefile"},
        {HEAD("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0"), "x.csv", "Excel"},
        {HEAD("EHFA_HEADER_TAG"), "x.dem.dat", "ERDAS"},
        {HEAD("070701\0"), "x.dat", "cpio"},
        {HEAD("\x5d\0\0\x80\0"), "x.csv", "LZMA"},
    };
    static const char *const texts[][2] = {{"%PDF-1.4\n%\xe2\xe3\n", "PDF"},
                                           {" \n{\"a\": 1}", "JSON"},
                                           {"\xef\xbb\xbf[1, 2]", "JSON"},
                                           {"[\n  -1.5e3 ,\n  2\n]\n", "JSON"},
                                           {"<VRTDataset rasterXSize=\"3\">", "GDAL virtual"},
                                           {"<!doctype HTML>\n<html>", "web page"},
                                           {"[1.5 2.5 3.1]\n[4 5 9]\n", "NumPy prints"},
                                           {"[[ 1.e+00 -2.]\n [4. 5.]]\n", "NumPy prints"},
                                           {"[-1\n 2]\n", "NumPy prints"},
                                           {"DSAA\r\n3 2\r\n", "Surfer"},
                                           {"north: 20\nsouth: 0\n", "GRASS"}};
    static const char *const tables[] = {
        "PAR1,PAR2\n1,2\n",   "CDF,b\n1,2\n",      "GRIB,b\n1,2\n",
        "<0.5,1\n2,3\n",      "<DATE>,x\n1,2\n",   "DSAAB 1\n2 3\n",
        "north,south\n1,2\n", "[0.5 um],b\n1,2\n", "[1-3 mm] b\n1 2\n"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        says(foreign_of(cases[i].path, cases[i].head, cases[i].n), cases[i].path, false,
             cases[i].name, "");
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const unsigned char *const head = (const unsigned char *)texts[i][0];
        says(foreign_of("x.csv", head, strlen(texts[i][0])), texts[i][0], false, texts[i][1], "");
    }
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        assert_null(foreign_of("x.csv", (const unsigned char *)tables[i], strlen(tables[i])));
    }
    assert_null(foreign_of("x.npz", HEAD(ZIP "a.npy")));
}

int main(void)
{
    return unit_run(NULL, NULL);
}
