/*
 * foreign - see foreign.h.
 *
 * No command writes to the file that it reads, and each works on a file of any name: xz and its
 * kind and ogr2ogr go by endings, so they get no name, or one that says it.
 */
#include "formats/table/foreign.h"

#include "formats/base/bytes.h"
#include "formats/base/file_name.h"
#include "formats/table/table_format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* How files begin. Of binary formats the head holds a byte 0, else it is a text that only begins
 * so (names of columns like PAR1). */
struct sign {
    bool is_text; /* after a byte order mark and blanks; in any case of letters */
    size_t n;
    const char *bytes;
};
#define BINARY(bytes)                                                                              \
    {                                                                                              \
        false, sizeof(bytes) - 1, bytes                                                            \
    }
#define TEXT(bytes)                                                                                \
    {                                                                                              \
        true, sizeof(bytes) - 1, bytes                                                             \
    }

enum { MOST_SIGNS = 6 };

struct foreign {
    const char *name;
    const char *endings;            /* ".a .b " */
    const char *command;            /* makes a table of it, or what it can; NULL: none does */
    const char *to_grid;            /* NULL: the same */
    struct sign begins[MOST_SIGNS]; /* n 0: no more */
    bool is_a_part, are_polygons;
    enum foreign_module for_table, for_grid; /* which reads it */
};

#define PYTHON(modules, code) "python3 -c 'import sys, " modules "; " code "' IN OUT"
#define PANDAS(reader, more)                                                                       \
    PYTHON("pandas", "pandas." reader "(sys.argv[1]" more ").to_csv(sys.argv[2], index=False)")    \
    ".csv"
#define GDAL         "gdal_translate IN OUT.tif"
#define OGR          "ogr2ogr -lco GEOMETRY=AS_XY"
#define NONE         "" /* polygons as a grid */
#define BESIDE_A_DEM "leat run --dem DEM.tif --source IN"
/* A table of a data frame would have a row for each cell of a NetCDF array. */
#define NCCOPY "nccopy -k nc4 IN OUT.nc"
#define SCIPY                                                                                      \
    PYTHON("numpy, scipy.io", "numpy.savez(sys.argv[2], **{k: v for k, v in "                      \
                              "scipy.io.loadmat(sys.argv[1]).items() if k[0] != \"_\"})")          \
    ".npz"

const char foreign_hdf5_to_npz[] = PYTHON(
    "h5py, numpy", "a = {}; h5py.File(sys.argv[1]).visititems(lambda n, d: a.update({n: d[()]}) "
                   "if isinstance(d, h5py.Dataset) else None); "
                   "numpy.savez(sys.argv[2], **a)") ".npz";

enum { JSON, JSON_LINES };

static const struct foreign formats[] = {
    [JSON] = {"JSON", ".json ", .command = PANDAS("read_json", ""), .to_grid = NONE,
              .for_grid = FOREIGN_GDAL},
    [JSON_LINES] = {"JSON", ".jsonl .ndjson ", .command = PANDAS("read_json", ", lines=True"),
                    .to_grid = NONE, .for_grid = FOREIGN_GDAL},
    {"a spreadsheet", ".xlsx .xlsm .ods ",
     .command = PYTHON("pandas", "pandas.read_excel(sys.argv[1], header=None)"
                                 ".to_csv(sys.argv[2], header=False, index=False)") ".csv",
     .for_table = FOREIGN_XLSX, .for_grid = FOREIGN_XLSX},
    {"an old, binary or encrypted Excel spreadsheet", ".xlsb .xls ",
     .command = "libreoffice --headless --convert-to xlsx IN", /* pandas needs xlrd */
     .begins = {BINARY("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")}},
    {"NetCDF", ".nc .nc3 .nc4 .cdf ", .command = NCCOPY, .to_grid = GDAL, .for_grid = FOREIGN_GDAL,
     .for_table = FOREIGN_HDF5},
    {"classic NetCDF", "", .command = NCCOPY, .to_grid = GDAL, .for_grid = FOREIGN_GDAL,
     .begins = {BINARY("CDF\x01"), BINARY("CDF\x02"), BINARY("CDF\x05")}},
    {"HDF5 (NetCDF-4)", ".h5 .hdf5 .he5 ", .command = foreign_hdf5_to_npz, .to_grid = GDAL,
     .for_grid = FOREIGN_GDAL,
     .begins = {BINARY("\x89HDF\r\n\x1a\n"), BINARY("MATLAB 7.3 MAT-file")},
     .for_table = FOREIGN_HDF5},
    {"HDF4", ".hdf .hdf4 ", .command = GDAL, .for_grid = FOREIGN_GDAL,
     .begins = {BINARY("\x0e\x03\x13\x01")}},
    {"Parquet", ".parquet .pq ", .command = PANDAS("read_parquet", ""), .begins = {BINARY("PAR1")}},
    {"Arrow (Feather)", ".feather .arrow ", .command = PANDAS("read_feather", ""),
     .begins = {BINARY("ARROW1"), BINARY("FEA1")}},
    {"Stata", ".dta ", .command = PANDAS("read_stata", ""), .begins = {BINARY("<stata_dta>")}},
    {"SPSS", ".sav .zsav ", .command = PANDAS("read_spss", ""),
     .begins = {BINARY("$FL2@(#)"), BINARY("$FL3@(#)")}},
    {"SAS", ".sas7bdat .xpt ", .command = PANDAS("read_sas", "")},
    {"MATLAB", ".mat ", .command = SCIPY, .for_table = FOREIGN_HDF5},
    {"MATLAB before 7.3", "", .command = SCIPY, .begins = {BINARY("MATLAB 5.0 MAT-file")}},
    {"a vector map", ".kml .kmz .gml ", .command = OGR " OUT.csv IN",
     .to_grid = "ogr2ogr OUT.gpkg IN"},
    {"a vector map", ".geojson .fgb ", .command = OGR " OUT.csv IN", .to_grid = NONE,
     .for_grid = FOREIGN_GDAL, .are_polygons = true, .begins = {BINARY("fgb\x03fgb")}},
    {"a shapefile", ".shx .dbf ", .command = OGR " OUT.csv IN", .is_a_part = true},
    {"a shapefile", ".shp ", .command = OGR " OUT.csv IN", .to_grid = NONE,
     .for_grid = FOREIGN_GDAL, .are_polygons = true, .is_a_part = true},
    {"a shapefile", "",
     .command = "cp IN OUT.shp && " OGR " --config SHAPE_RESTORE_SHX YES OUT.csv OUT.shp",
     .to_grid = NONE, .for_grid = FOREIGN_GDAL, .are_polygons = true,
     .begins = {BINARY("\0\0\x27\x0a")}},
    {"GeoPackage or SQLite", ".gpkg .sqlite .sqlite3 ", .command = OGR " OUT.csv IN",
     .to_grid = GDAL, .for_grid = FOREIGN_GDAL, .are_polygons = true},
    {"an SQLite database (GeoPackage or its kind)", "",
     .command = "cp IN OUT.sqlite && " OGR " OUT.csv OUT.sqlite", .to_grid = GDAL,
     .for_grid = FOREIGN_GDAL, .are_polygons = true, .begins = {BINARY("SQLite format 3")}},
    {"an ERDAS Imagine grid", ".img ", .command = GDAL, .for_grid = FOREIGN_GDAL,
     .begins = {BINARY("EHFA_HEADER_TAG")}},
    {"a GDAL virtual grid", ".vrt ", .command = GDAL, .for_grid = FOREIGN_GDAL,
     .begins = {TEXT("<VRTDataset")}, .is_a_part = true},
    {"GRIB", ".grb .grb2 .grib .grib2 ", .command = GDAL, .for_grid = FOREIGN_GDAL,
     .begins = {BINARY("GRIB")}},
    {"a raw binary grid", ".bil .bip .bsq .flt .adf ", .command = GDAL, .for_grid = FOREIGN_GDAL,
     .is_a_part = true},
    {"an SRTM grid", ".hgt ", .command = GDAL, .for_grid = FOREIGN_GDAL},
    {"DTED", ".dt0 .dt1 .dt2 ", .command = GDAL, .for_grid = FOREIGN_GDAL,
     .begins = {BINARY("UHL1")}},
    {"JPEG 2000", ".jp2 .j2k ", .command = GDAL, .for_grid = FOREIGN_GDAL,
     .begins = {BINARY("\0\0\0\x0cjP  ")}},
    {"a Surfer grid", ".grd ", .command = GDAL, .for_grid = FOREIGN_GDAL,
     .begins = {BINARY("DSBB"), BINARY("DSRB"), TEXT("DSAA\n"), TEXT("DSAA\r"), TEXT("DSAA ")}},
    {"a GRASS ASCII grid", "", .command = GDAL, .for_grid = FOREIGN_GDAL,
     .begins = {TEXT("north:")}},
    {"a part of a split archive", ".001 .002 .003 ", .command = "cat OUT.* >OUT",
     .is_a_part = true},
    {"LZMA", ".lzma ", .command = "xz -dc <IN >OUT", .begins = {BINARY("\x5d\0\0")}},
    {"lzip", ".lz ", .command = "lzip -dc <IN >OUT", .begins = {BINARY("LZIP")}},
    {"compress (.Z)", ".z ", .command = "gzip -dc <IN >OUT", .begins = {BINARY("\x1f\x9d")}},
    {"LZ4", ".lz4 ", .command = "lz4 -d IN OUT", .begins = {BINARY("\x04\x22\x4d\x18")}},
    {"a cpio archive", ".cpio ", .command = "bsdtar -cf OUT.tar @IN",
     .begins = {BINARY("070701"), BINARY("070702"), BINARY("070707"), BINARY("\xc7\x71")}},
    {"a RAR archive", ".rar ", .command = "bsdtar -cf OUT.tar @IN",
     .begins = {BINARY("Rar!\x1a\x07")}},
    {"encrypted (GPG)", ".gpg .pgp ", .command = "gpg -o OUT -d IN"},
    {"a web page (HTML)", ".html .htm ", .begins = {TEXT("<!DOCTYPE html"), TEXT("<html")}},
    {"XML", "", .begins = {TEXT("<?xml")}},
    {"PDF", ".pdf ", .command = "pdftotext -layout IN OUT.txt",
     .begins = {BINARY("%PDF-"), TEXT("%PDF-")}},
    {"a document", ".md .docx .doc .odt .rtf ", .command = NULL},
    {"a drawing (SVG)", ".svg ", .command = NULL},
    {"a picture", ".png .jpg .jpeg .gif .bmp ", .to_grid = GDAL,
     .begins = {BINARY("\x89PNG"), BINARY("\xff\xd8\xff")}},
};

const struct foreign foreign_comma_grid = {"an ASCII grid with commas between its words", "",
                                           .command = "tr , ' ' <IN >OUT.txt"},
                     foreign_utf16_grid = {"UTF-16 text", "",
                                           .command = "iconv -f UTF-16 -t UTF-8 <IN >OUT.txt"},
                     foreign_printed = {"an array as NumPy prints it", "",
                                        .command = "tr -d '[]' <IN >OUT.txt"},
                     foreign_xyz_grid = {"an XYZ grid", ".xyz ", .command = GDAL,
                                         .for_grid = FOREIGN_GDAL};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#ifdef LEAT_GDAL
#include "formats/table/gdal_polygons.h"
#define GDAL_FORMAT &gdal_format
#else
#define GDAL_FORMAT NULL
#endif
#ifdef LEAT_HDF5
#define HDF5 &hdf5_format
#else
#define HDF5 NULL
#endif

static const struct {
    const char *package;
    const struct table_format *format; /* NULL: leat was built without */
} modules[FOREIGN_N_MODULES] = {[FOREIGN_GDAL] = {"leat-gdal", GDAL_FORMAT},
                                [FOREIGN_HDF5] = {"leat-hdf5", HDF5},
                                [FOREIGN_XLSX] = {"leat-xlsx", &xlsx_format}};

const char *foreign_module_package(enum foreign_module m)
{
    return modules[m].package;
}

static enum status check_built(enum foreign_module m)
{
    return modules[m].format != NULL
               ? STATUS_OK
               : status_fail(STATUS_UNSUPPORTED, "this leat was built without %s",
                             modules[m].package);
}

enum status foreign_module_find(enum foreign_module m, char path[MODULE_PATH_BYTES])
{
    STATUS_TRY(check_built(m));
    return module_find(&modules[m].format->library->module, path);
}

enum status foreign_module_need(enum foreign_module m, const char **version)
{
    STATUS_TRY(check_built(m));
    STATUS_TRY(module_need(modules[m].format->library));
    *version = modules[m].format->version();
    return STATUS_OK;
}

enum status foreign_write_geopackage(const struct bytes *geojson, const struct grid *g,
                                     struct bytes *out)
{
    STATUS_TRY(check_built(FOREIGN_GDAL));
#ifdef LEAT_GDAL
    return gdal_polygons_write(geojson, g, out);
#else
    (void)geojson, (void)g, (void)out;
    return STATUS_UNSUPPORTED;
#endif
}

const struct table_format *foreign_gdal(void)
{
    const char *version;
    return foreign_module_need(FOREIGN_GDAL, &version) == STATUS_OK ? modules[FOREIGN_GDAL].format
                                                                    : NULL;
}

const struct foreign *foreign_named(const char *path)
{
    const char *const name = file_name_last(path);
    const size_t n = file_name_unpacked(name, strlen(name));
    for (size_t i = 0; i < COUNT(formats); i++) {
        if (file_name_ends_in(name, n, formats[i].endings)) {
            return &formats[i];
        }
    }
    return file_name_ends_in(name, n, foreign_xyz_grid.endings) ? &foreign_xyz_grid : NULL;
}

static bool is_read(const struct foreign *f)
{
    return f->for_table != FOREIGN_NONE || f->for_grid != FOREIGN_NONE;
}

bool foreign_is_read(const char *path, bool for_grid)
{
    const struct foreign *const f = foreign_named(path);
    return f != NULL && (for_grid ? f->for_grid : f->for_table) != FOREIGN_NONE;
}

/* Where a text begins, after its byte order mark and blanks. */
static const unsigned char *text_begin(const unsigned char *head, const unsigned char *end)
{
    head += end - head >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (head < end && *head != '\0' && strchr(" \t\r\n", *head) != NULL) {
        head++;
    }
    return head;
}

static bool begins(const struct foreign *f, const unsigned char *head, const unsigned char *end,
                   bool is_binary)
{
    for (const struct sign *s = f->begins; s < f->begins + MOST_SIGNS && s->n > 0; s++) {
        const unsigned char *const at = s->is_text ? text_begin(head, end) : head;
        if (s->is_text == is_binary || end - at < (ptrdiff_t)s->n) {
            continue;
        }
        if (s->is_text ? strncasecmp((const char *)at, s->bytes, s->n) == 0
                       : memcmp(at, s->bytes, s->n) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the first line ends as it begins, and the next one begins so, too. */
static bool has_lines(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *const newline = memchr(p, '\n', (size_t)(end - p));
    const unsigned char *const next = newline != NULL ? text_begin(newline, end) : end;
    const unsigned char *last = newline != NULL ? newline - 1 : p;
    while (last > p && (*last == '\r' || *last == ' ')) {
        last--;
    }
    return next < end && *next == *p && *last == (*p == '{' ? '}' : ']');
}

#define NUMBER "-0123456789" /* begins so */

/* What begins as an object, or a list, of JSON does; numpy prints "[1. 2.]". */
static const struct foreign *find_list(const unsigned char *head, const unsigned char *end)
{
    const unsigned char *const p = text_begin(head, end);
    const unsigned char *first = p < end ? text_begin(p + 1, end) : end;
    while (first < end && *p == '[' && *first == '[') {
        first = text_begin(first + 1, end);
    }
    if (first == end || *first == '\0' ||
        strchr(*p == '{'   ? "\"}"
               : *p == '[' ? "\"{]" NUMBER
                           : "",
               *first) == NULL) {
        return NULL;
    }
    const unsigned char *after = first;
    while (after < end && *after != '\0' && strchr("+.eE" NUMBER, *after) != NULL) {
        after++;
    }
    after = after > first ? text_begin(after, end) : end;
    if (after < end && *after != ',' && *after != ']') {
        return *after != '\0' && strchr(NUMBER, *after) != NULL ? &foreign_printed : NULL;
    }
    return &formats[has_lines(p, end) ? JSON_LINES : JSON];
}

/* Whether the name says more of what begins as f than its bytes do: not where it names what is read
 * otherwise. */
static bool says_more(const struct foreign *named, const struct foreign *f)
{
    return named != NULL && (!is_read(named) ||
                             (named->for_table == f->for_table && named->for_grid == f->for_grid));
}

const struct foreign *foreign_of(const char *path, const unsigned char *head, size_t n)
{
    const unsigned char *const end = head + n;
    const bool is_binary = memchr(head, 0, n < FOREIGN_HEAD_BYTES ? n : FOREIGN_HEAD_BYTES) != NULL;
    for (size_t i = 0; i < COUNT(formats); i++) {
        if (begins(&formats[i], head, end, is_binary)) {
            const struct foreign *const named = foreign_named(path);
            return says_more(named, &formats[i]) ? named : &formats[i];
        }
    }
    const struct foreign *const named = foreign_named(path);
    const struct foreign *const list = is_binary ? NULL : find_list(head, end);
    return list == &formats[JSON] && named != NULL && named->are_polygons ? named : list;
}

/* --- the command ------------------------------------------------------------------------------ */

/* Appends text[0 .. n) as a word of a shell. */
static enum status put_word(struct bytes *b, const char *text, size_t n)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+,:@%=";
    if (n > 0 && text[0] == '-') { /* which would be an option */
        STATUS_TRY(bytes_append(b, "./", 2));
    }
    if (n > 0 && strspn(text, plain) >= n) {
        return bytes_append(b, text, n);
    }
    STATUS_TRY(bytes_append(b, "'", 1));
    for (size_t i = 0; i < n; i++) {
        STATUS_TRY(text[i] == '\'' ? bytes_append(b, "'\\''", 4) : bytes_append(b, text + i, 1));
    }
    return bytes_append(b, "'", 1);
}

/* Takes off what the file is packed by: *n is its length without that. */
static enum status put_unpacking(struct bytes *b, const char *name, size_t *n)
{
    static const char *const tools[][2] = {
        {".gz", "gzip"}, {".xz", "xz"}, {".zst", "zstd"}, {".bz2", "bzip2"}};
    for (size_t i = 0; i < COUNT(tools); i++) {
        if (file_name_ends(name, tools[i][0])) {
            STATUS_TRY(bytes_printf(b, "%s -dk ", tools[i][1]));
            STATUS_TRY(put_word(b, name, strlen(name)));
            *n -= strlen(tools[i][0]);
            return bytes_append(b, " && ", 4);
        }
    }
    return STATUS_OK;
}

/* is_called: the name's ending is the format's own, without which the name is that of what is in
 * it.
 */
static enum status put_command(struct bytes *b, const char *command, const char *path,
                               bool is_called)
{
    const char *const name = access(path, R_OK) == 0 ? path : file_name_last(path);
    size_t n = strlen(name);
    STATUS_TRY(put_unpacking(b, name, &n));
    const char *const last = file_name_last(name), *const dot = memrchr(last, '.',
                                                                        n - (size_t)(last - name));
    const size_t stem = dot != NULL && dot > last ? (size_t)(dot - name) : n;
    for (const char *at = command; *at != '\0';) {
        const bool begins_word = at == command || strchr(" @<>", at[-1]) != NULL;
        if (begins_word && strncmp(at, "IN", 2) == 0 && strchr(" ", at[2]) != NULL) {
            STATUS_TRY(put_word(b, name, n));
            at += 2;
        } else if (begins_word && strncmp(at, "OUT", 3) == 0) {
            const size_t len = strcspn(at + 3, " ");
            const bool is_bare =
                len == 0 && !is_called; /* what comes out is called as what is in */
            const bool is_in =
                is_bare || (stem + len == n && strncasecmp(name + stem, at + 3, len) == 0);
            STATUS_TRY(put_word(b, name, stem));
            STATUS_TRY(bytes_printf(b, "%s", is_in ? ".new" : ""));
            STATUS_TRY(is_bare && stem < n ? put_word(b, name + stem, n - stem) : STATUS_OK);
            at += 3;
        } else {
            STATUS_TRY(bytes_append(b, at++, 1));
        }
    }
    return STATUS_OK;
}

bool foreign_is_a_part(const struct foreign *f)
{
    return f != NULL && f->is_a_part;
}

bool foreign_converts(const struct foreign *f)
{
    return f->command != NULL;
}

/* why: all after "is NetCDF"; `so`: all between that and " convert it: ", if something does. NULL:
 * leat does not read it. For free(). */
static char *make_sentence(const struct foreign *f, const char *path, bool for_grid,
                           const char *why, const char *so)
{
    const char *const command = for_grid && f->to_grid != NULL ? f->to_grid : f->command;
    struct bytes text = {0};
    enum status made =
        bytes_printf(&text, "is %s%s", f->name,
                     why != NULL       ? why
                     : f->are_polygons ? ", which leat reads beside a DEM, as source or observed "
                                         "landslide: "
                                       : ", which leat does not read");
    const bool is_called = file_name_is(file_name_last(path), f->endings);
    if (made == STATUS_OK && why == NULL && f->are_polygons) {
        made = put_command(&text, BESIDE_A_DEM, path, is_called);
        so = "; for a table";
    }
    if (made == STATUS_OK && command == NULL) {
        made = bytes_printf(
            &text,
            ": tables are .csv .tsv .txt .xlsx .ods .npy .npz .h5 .nc .mat, grids .asc .tif, texts "
            "and .npy also compressed by gzip, xz, zstd or bzip2, archives "
            ".zip .tar .tar.gz .tar.xz .tar.zst .tar.bz2");
    } else if (made == STATUS_OK && *command != '\0') {
        made = bytes_printf(&text, "%s convert it: ", so);
        made = made != STATUS_OK ? made : put_command(&text, command, path, is_called);
    }
    made = made != STATUS_OK ? made : bytes_append(&text, "", 1);
    if (made != STATUS_OK) {
        bytes_free(&text);
    }
    return (char *)text.data;
}

char *foreign_sentence(const struct foreign *f, const char *path, bool for_grid)
{
    return make_sentence(f, path, for_grid, NULL, ";");
}

static enum status fail_saying(enum status code, const char *path, char *sentence)
{
    if (sentence == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a message");
    }
    (void)status_fail(code, "%s: %s", path, sentence);
    free(sentence);
    return code;
}

enum status foreign_fail(enum status code, const struct foreign *f, const char *path, bool for_grid)
{
    return fail_saying(code, path, foreign_sentence(f, path, for_grid));
}

enum status foreign_reader(const struct foreign *f, const char *path, bool for_grid,
                           const struct table_format **out)
{
    const enum foreign_module m = for_grid ? f->for_grid : f->for_table;
    const char *version;
    *out = modules[m].format;
    if (m == FOREIGN_NONE) {
        return foreign_fail(STATUS_UNSUPPORTED, f, path, for_grid);
    }
    const enum status code = foreign_module_need(m, &version);
    if (code != STATUS_UNSUPPORTED) {
        return code;
    }
    const bool is_built = modules[m].format != NULL;
    char why[STATUS_MESSAGE_BYTES];
    (void)snprintf(why, sizeof why, is_built ? ": %s; install the package %s" : ": %s",
                   status_message(), modules[m].package);
    return fail_saying(code, path, make_sentence(f, path, for_grid, why, is_built ? ", or" : ";"));
}

enum status foreign_fail_with(enum status code, const char *path, const char *what,
                              const char *command)
{
    struct bytes text = {0};
    enum status made = put_command(&text, command, path, true);
    made = made != STATUS_OK ? made : bytes_append(&text, "", 1);
    made =
        made != STATUS_OK ? made : status_fail(code, "%s: %s: %s", path, what, (char *)text.data);
    bytes_free(&text);
    return made;
}

/* gdalwarp would make cells square and a turned map straight, if it were let. */
enum status foreign_refuse_mask(const struct grid *g, const char *path, const char *which,
                                const char *first)
{
    const struct grid_extent e = grid_extent_of(g);
    char what[512], command[320],
        place[200] = "-to SRC_METHOD=NO_GEOTRANSFORM -to DST_METHOD=NO_GEOTRANSFORM";
    if (g->has_origin) {
        (void)snprintf(place, sizeof place, "-te %.17g %.17g %.17g %.17g -ts %zu %zu", e.west,
                       fmin(e.south, e.north), e.east, fmax(e.south, e.north), g->columns, g->rows);
    }
    (void)snprintf(
        what, sizeof what,
        "%s says which cells have a number, and is not read; %swrite it into the grid as "
        "NODATA",
        which, first);
    (void)snprintf(command, sizeof command,
                   "gdalwarp -ot Float64 -srcnodata None -dstnodata %.17g %s IN OUT.tif",
                   g->has_nodata ? g->nodata : -9999, place);
    return foreign_fail_with(STATUS_UNSUPPORTED, path, what, command);
}
