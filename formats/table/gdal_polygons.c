/*
 * gdal_polygons - see gdal_polygons.h.
 *
 * A ring is not sorted into scan lines: where an edge crosses the line of a row's centres, the
 * first centre that is not to the left of the crossing changes sides, and so do all after it. A
 * sweep over the row counts these changes. So what a ring needs does not depend on its points, and
 * no ring is invalid. All coordinates are turned into columns and rows first.
 */
#include "formats/table/gdal_polygons.h"

#include "formats/base/bytes.h"
#include "formats/base/decimal.h"
#include "formats/base/file_name.h"
#include "formats/geo/grid_scale.h"
#include "formats/table/foreign.h"
#include "formats/table/gdal_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BAND_BYTES = 4 << 20,   /* what a band has at least, where the grid has it, ... */
    MOST_BANDS = 64,        /* ... since each band reads all polygons */
    JSON_FACTOR = 40,       /* what GDAL holds for a byte of GeoJSON, ... */
    JSON_BYTES = 512 << 20, /* ... up to this: of a larger file it holds a feature */
    MOST_DEGREES = 400
};

struct polygons {
    struct table_handle base;
    const struct grid *grid; /* whose cells they cover */
    GDALDatasetH dataset;
    OGRLayerH layer;
    OGRCoordinateTransformationH transformation; /* to the grid's system; NULL: it is that */
    bool is_guessed;                             /* nobody says that it is */
    int field;                                   /* with the cells' number; -1: `number` is it */
    double number;
};

/* Rows of a grid that are filled; toggled NULL: polygons are only looked at. */
struct window {
    size_t first_row, rows, columns;
    unsigned char *toggled;          /* [rows][columns]: from there on the other side */
    double west, east, north, south; /* of what has been met, in columns and rows */
};

struct point {
    double x, y; /* in columns and rows */
};

/* --- rings ------------------------------------------------------------------------------------ */

/* x as an index, from 0 to n; NaN is 0. */
static size_t clamp(double x, size_t n)
{
    return x > 0 ? x < (double)n ? (size_t)x : n : 0;
}

/* An edge has the same crossings in either direction. */
static void cross(struct window *w, struct point a, struct point b)
{
    const struct point low = a.y < b.y ? a : b, high = a.y < b.y ? b : a;
    const double first = (double)w->first_row + 0.5;
    const size_t end = clamp(ceil(high.y - first), w->rows);
    for (size_t r = clamp(ceil(low.y - first), w->rows); r < end; r++) {
        const double y = (double)r + first;
        const double x = low.x + (y - low.y) * ((high.x - low.x) / (high.y - low.y));
        const double on = fmin(fmax(x, fmin(a.x, b.x)), fmax(a.x, b.x)); /* whatever is rounded */
        const size_t column = clamp(ceil(on - 0.5), w->columns);
        if (column < w->columns) {
            w->toggled[r * w->columns + column] ^= 1;
        }
    }
}

static struct point point_of(const struct polygons *p, OGRGeometryH ring, int i)
{
    double x, y, z;
    struct point at;
    gdal.G_GetPoint(ring, i, &x, &y, &z);
    if (p->transformation != NULL && !gdal.Transform(p->transformation, 1, &x, &y, NULL)) {
        x = NAN;
    }
    grid_scale_distances(p->grid, x, y, &at.x, &at.y);
    return at;
}

/* False: a coordinate is no number. */
static bool take_ring(const struct polygons *p, OGRGeometryH ring, struct window *w)
{
    const int n = gdal.G_GetPointCount(ring);
    struct point before = n > 0 ? point_of(p, ring, n - 1) : (struct point){0, 0};
    for (int i = 0; i < n; i++) {
        const struct point here = point_of(p, ring, i);
        if (!isfinite(here.x) || !isfinite(here.y)) {
            return false;
        }
        w->west = fmin(w->west, here.x);
        w->east = fmax(w->east, here.x);
        w->north = fmin(w->north, here.y);
        w->south = fmax(w->south, here.y);
        if (w->toggled != NULL) {
            cross(w, before, here);
        }
        before = here;
    }
    return true;
}

static void forget(struct window *w)
{
    w->west = w->north = INFINITY;
    w->east = w->south = -INFINITY;
}

/* Gives the number to the cells of the polygon whose edges have been taken, and forgets those. */
static void sweep(struct window *w, double number, double *cells)
{
    const size_t to = clamp(w->south + 1 - (double)w->first_row, w->rows);
    for (size_t r = clamp(w->north - 1 - (double)w->first_row, w->rows); r < to; r++) {
        unsigned char inside = 0, *const toggled = w->toggled + r * w->columns;
        const size_t end = clamp(w->east + 2, w->columns);
        for (size_t c = clamp(w->west - 1, w->columns); c < end; c++) {
            inside ^= toggled[c];
            toggled[c] = 0;
            cells[r * w->columns + c] = inside ? number : cells[r * w->columns + c];
        }
    }
    forget(w);
}

/* --- features --------------------------------------------------------------------------------- */

static enum status take_feature(const struct table *t, const struct polygons *p, OGRFeatureH f,
                                struct window *w, double *cells)
{
    OGRGeometryH all = gdal.F_StealGeometry(f);
    if (all == NULL) {
        return STATUS_OK;
    }
    const double number = p->field >= 0 ? gdal.F_GetFieldAsDouble(f, p->field) : p->number;
    const char *wrong = NULL;
    all = gdal.G_ForceToMultiPolygon(all);
    if (strcmp(gdal.G_GetGeometryName(all), "MULTIPOLYGON") != 0) {
        gdal.G_DestroyGeometry(all);
        return foreign_fail_with(STATUS_BAD_INPUT, source_name(t->source),
                                 "holds not only polygons; leave the others out",
                                 "ogr2ogr -where \"OGR_GEOMETRY LIKE '%POLYGON'\" OUT.gpkg IN");
    } else if (p->field >= 0 && (!gdal.F_IsFieldSetAndNotNull(f, p->field) || !isfinite(number))) {
        wrong = "has no thickness; write it into its attribute, or say it of all: -s thickness=3";
    }
    for (int i = 0; wrong == NULL && i < gdal.G_GetGeometryCount(all); i++) {
        OGRGeometryH polygon = gdal.G_GetGeometryRef(all, i);
        for (int k = 0; wrong == NULL && k < gdal.G_GetGeometryCount(polygon); k++) {
            wrong = take_ring(p, gdal.G_GetGeometryRef(polygon, k), w)
                        ? NULL
                        : "has a coordinate that is no number, or none on the map of the altitudes";
        }
        if (cells != NULL) {
            sweep(w, number, cells);
        }
    }
    gdal.G_DestroyGeometry(all);
    return wrong == NULL ? STATUS_OK
                         : status_fail(STATUS_BAD_INPUT, "%s: feature %lld %s",
                                       source_name(t->source), (long long)gdal.F_GetFID(f), wrong);
}

static enum status take_layer(const struct table *t, const struct polygons *p, struct window *w,
                              double *cells)
{
    struct gdal_words words;
    enum status st = STATUS_OK;
    OGRFeatureH f;
    uint64_t left = source_file_bytes(t->source);
    forget(w);
    gdal_begin(&words);
    gdal.L_ResetReading(p->layer);
    while (st == STATUS_OK && (f = gdal.L_GetNextFeature(p->layer)) != NULL) {
        st = left-- > 0 ? take_feature(t, p, f, w, cells) /* a view of a database may be endless */
                        : status_fail(STATUS_BAD_INPUT, "%s: has more features than bytes",
                                      source_name(t->source));
        gdal.F_Destroy(f);
        gdal_go_on();
    }
    gdal_end();
    return st == STATUS_OK && words.text[0] != '\0'
               ? gdal_fail(&words, "%s: its polygons cannot be read", source_name(t->source))
               : st;
}

static enum status read_band(const struct table *t, struct table_handle *base, size_t index,
                             unsigned char *samples)
{
    const struct table_bands *const b = t->state;
    struct window w = {.first_row = index * b->band_rows,
                       .rows = table_bands_rows(b, index),
                       .columns = b->columns};
    w.toggled = calloc(w.rows, w.columns);
    if (w.toggled == NULL) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory for its polygons",
                           source_name(t->source));
    }
    memset(samples, 0, w.rows * w.columns * sizeof(double));
    const enum status st =
        take_layer(t, (const struct polygons *)base, &w, (double *)(void *)samples);
    free(w.toggled);
    return st;
}

static void close_polygons(struct table_handle *base)
{
    struct polygons *const p = (struct polygons *)base;
    struct gdal_words words;
    gdal_begin(&words);
    (void)gdal.Close(p->dataset);
    gdal.DestroyCoordinateTransformation(p->transformation);
    gdal_end();
    free(p);
}

const struct table_bands_ops gdal_polygons_ops = {.read = read_band, .free = close_polygons};

/* --- coordinate systems ----------------------------------------------------------------------- */

/* That of a grid, without heights; NULL: it has none, or none that is said so. For release(). */
static OGRSpatialReferenceH system_of(const struct grid *g)
{
    const unsigned code = grid_epsg(g);
    OGRSpatialReferenceH system = gdal.NewSpatialReference(NULL);
    const OGRErr failed = g->prj != NULL ? gdal.ImportFromESRI(system, (char *[]){g->prj, NULL})
                          : code > 0     ? gdal.ImportFromEPSG(system, (int)code)
                                         : OGRERR_UNSUPPORTED_SRS;
    if (failed != OGRERR_NONE) {
        gdal.Release(system);
        return NULL;
    }
    gdal.SetAxisMappingStrategy(system, OAMS_TRADITIONAL_GIS_ORDER);
    return system;
}

static void release(OGRSpatialReferenceH system)
{
    if (system != NULL) {
        gdal.Release(system);
    }
}

/* GeoJSON without a system is said to be in degrees, which other coordinates are not. */
static bool are_degrees(OGRLayerH layer)
{
    OGREnvelope e;
    return gdal.L_GetExtent(layer, &e, TRUE) == OGRERR_NONE && fabs(e.MinX) < MOST_DEGREES &&
           fabs(e.MaxX) < MOST_DEGREES && fabs(e.MinY) < MOST_DEGREES &&
           fabs(e.MaxY) < MOST_DEGREES;
}

static const char *name_of(OGRSpatialReferenceH system)
{
    const char *const name = gdal.SRGetName(system);
    return name != NULL ? name : "one without a name";
}

static enum status find_transformation(struct table *t, struct polygons *p)
{
    static const char *const how[] = {"IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES",
                                      "CRITERION=EQUIVALENT_EXCEPT_AXIS_ORDER_GEOGCRS", NULL};
    OGRSpatialReferenceH has = gdal.L_GetSpatialRef(p->layer), wanted = system_of(t->options.onto);
    enum status st = STATUS_OK;
    p->is_guessed =
        has == NULL || wanted == NULL || (gdal.IsGeographic(has) && !are_degrees(p->layer));
    if (p->is_guessed) {
        st = table_warn(t,
                        "its polygons are taken to lie in the coordinate system of the "
                        "altitudes: %s",
                        wanted == NULL ? "that has no EPSG code and no .prj"
                                       : "they name none, or degrees, which they are not");
    } else if (!gdal.IsSameEx(has, wanted, how)) {
        const char *const from = name_of(has), *const to = name_of(wanted);
        p->transformation = gdal.NewCoordinateTransformation(has, wanted);
        st = p->transformation != NULL
                 ? table_warn(t,
                              "its polygons are transformed from %s to the coordinate system "
                              "of the altitudes, %s, as ogr2ogr -t_srs does",
                              excerpt_of(from, strlen(from)).text, excerpt_of(to, strlen(to)).text)
                 : status_fail(STATUS_BAD_INPUT,
                               "%s: GDAL knows no way from its coordinate system to that of the "
                               "altitudes",
                               source_name(t->source));
    }
    release(wanted);
    return st;
}

/* --- the table -------------------------------------------------------------------------------- */

/* The only layer of a map, or the one that `dataset` names. Others are tables: of styles. */
static enum status choose_layer(const struct table *t, struct polygons *p, int n)
{
    const char *const asked = t->options.dataset;
    OGRLayerH first = gdal.DatasetGetLayer(p->dataset, 0);
    int n_maps = 0;
    for (int i = n - 1; i >= 0; i--) {
        OGRLayerH layer = gdal.DatasetGetLayer(p->dataset, i);
        if (gdal.L_GetGeomType(layer) != wkbNone) {
            first = layer;
            n_maps++;
        }
    }
    p->layer = n_maps <= 1     ? first
               : asked != NULL ? gdal.DatasetGetLayerByName(p->dataset, asked)
                               : NULL;
    const char *const name = gdal.L_GetName(first);
    return p->layer != NULL
               ? STATUS_OK
               : status_fail(STATUS_BAD_ARGUMENT, "%s: has %d layers; choose one: -s dataset=%s",
                             source_name(t->source), n_maps, excerpt_of(name, strlen(name)).text);
}

/* Which number the cells get: options.polygons itself, or the attribute of that name. */
static enum status choose_field(const struct table *t, struct polygons *p)
{
    static const char *const usual[] = {"thickness", "height", "depth"};
    const char *const said = t->options.polygons;
    OGRFeatureDefnH has = gdal.L_GetLayerDefn(p->layer);
    p->field = -1;
    if (decimal_parse(said, strlen(said), '.', &p->number) && isfinite(p->number)) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < 3 && p->field < 0; i++) {
        p->field = gdal.FD_GetFieldIndex(has, *said != '\0' ? said : usual[i]);
    }
    const OGRFieldType type =
        p->field >= 0 ? gdal.Fld_GetType(gdal.FD_GetFieldDefn(has, p->field)) : OFTBinary;
    return type == OFTReal || type == OFTInteger || type == OFTInteger64
               ? STATUS_OK
               : status_fail(
                     STATUS_BAD_INPUT,
                     "%s: its polygons have no attribute %s of numbers; say how much debris "
                     "they carry: -s thickness=3 (metres), or thickness=ATTRIBUTE",
                     source_name(t->source),
                     *said != '\0' ? excerpt_of(said, strlen(said)).text
                                   : "thickness, height or depth");
}

/* Looks at all polygons once. */
static enum status check_polygons(struct table *t, const struct polygons *p)
{
    const struct grid *const g = t->options.onto;
    const double columns = (double)g->columns, rows = (double)g->rows, rounding = 0.01;
    struct window w = {.toggled = NULL};
    STATUS_TRY(take_layer(t, p, &w, NULL));
    if (!(w.west <= w.east)) {
        return status_fail(STATUS_BAD_INPUT, "%s: holds no polygon", source_name(t->source));
    }
    if (w.west >= columns || w.east <= 0 || w.north >= rows || w.south <= 0) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: its polygons lie beside the altitudes: from column %.6g to %.6g of "
                           "%zu, from row %.6g to %.6g of %zu; %s",
                           source_name(t->source), floor(w.west) + 1, ceil(w.east), g->columns,
                           floor(w.north) + 1, ceil(w.south), g->rows,
                           p->is_guessed
                               ? "both were taken to have one coordinate system; if they have not, "
                                 "say them: gdal_edit.py -a_srs EPSG:N (.tif), a .prj (.asc), or "
                                 "ogr2ogr -a_srs (polygons)"
                               : "are they of another place, or is a coordinate system wrong?");
    }
    return fmin(w.west, w.north) >= -rounding && w.east <= columns + rounding &&
                   w.south <= rows + rounding
               ? STATUS_OK
               : table_warn(t, "its polygons extend beyond the altitudes: what lies there is cut "
                               "off");
}

static enum status lay_out(struct table *t, struct table_bands *b, struct grid **grid)
{
    STATUS_TRY(grid_copy(t->options.onto, grid));
    (*grid)->has_nodata = false;
    (*grid)->unit[0] = '\0';
    b->rows = (*grid)->rows;
    b->columns = (*grid)->columns;
    b->kind = TABLE_FLOAT;
    b->sample_bytes = sizeof(double);
    b->one_handle = true;
    const size_t least = BAND_BYTES / sizeof(double) / b->columns;
    b->band_rows = b->rows / MOST_BANDS > least ? b->rows / MOST_BANDS : least + 1;
    b->band_rows = b->band_rows < b->rows ? b->band_rows : b->rows;
    const uint64_t json = source_file_bytes(t->source);
    t->info.window_bytes =
        json > JSON_BYTES / JSON_FACTOR ? JSON_BYTES : (size_t)json * JSON_FACTOR;
    return STATUS_OK;
}

/* By GDAL's own file system a database has no journal beside it, and is not locked. NULL: it is of
 * another kind. */
static enum status open_dataset(const struct table *t, const char *path, GDALDatasetH *out)
{
    static const char *const drivers[] = {"GeoJSON",    "GeoJSONSeq",     "GPKG",
                                          "FlatGeobuf", "ESRI Shapefile", NULL};
    const char *const name = source_name(t->source);
    const bool is_shape = file_name_is(name, ".shp ");
    char of_descriptor[64];
    struct gdal_words words;
    if (is_shape && path == NULL) {
        return foreign_fail_with(STATUS_UNSUPPORTED, name,
                                 "a shapefile is read with the .shx and .dbf beside it, by leat "
                                 "run and leat check in a folder; else make one file of it",
                                 "ogr2ogr OUT.gpkg IN");
    }
    (void)snprintf(of_descriptor, sizeof of_descriptor, "/vsisubfile/0,/proc/self/fd/%d",
                   source_fd(t->source));
    gdal_begin(&words);
    *out = gdal.OpenEx(is_shape ? path : of_descriptor, GDAL_OF_VECTOR, drivers, NULL, NULL);
    gdal_end();
    return *out != NULL || words.text[0] == '\0'
               ? STATUS_OK
               : gdal_fail(&words, "%s: GDAL reads no polygons in it", name);
}

enum status gdal_polygons_open(struct table *t, const char *path, struct table_bands *bands,
                               struct grid **grid, struct table_handle **out)
{
    struct polygons *const p = calloc(1, sizeof *p);
    const struct grid *const g = t->options.onto;
    struct gdal_words words;
    *out = NULL;
    if (p == NULL) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(t->source));
    }
    gdal_begin(&words);
    enum status st = open_dataset(t, path, &p->dataset);
    const int n = p->dataset != NULL ? gdal.DatasetGetLayerCount(p->dataset) : 0;
    if (st == STATUS_OK && n > 0 && (g == NULL || !grid_is_georeferenced(g))) {
        st = status_fail(STATUS_BAD_INPUT,
                         "%s: the altitudes do not say where they lie, so nobody knows which cells "
                         "its polygons cover; gdal_translate -a_ullr writes it into a GeoTIFF",
                         source_name(t->source));
    } else if (st == STATUS_OK && n > 0) {
        p->grid = g;
        st = choose_layer(t, p, n);
        st = st != STATUS_OK ? st : choose_field(t, p);
        st = st != STATUS_OK ? st : find_transformation(t, p);
        st = st != STATUS_OK ? st : check_polygons(t, p);
        st = st != STATUS_OK ? st : lay_out(t, bands, grid);
    }
    gdal_end();
    if (words.is_stopped) { /* while a layer was described, which GDAL only does without then */
        st = gdal_fail(&words, "%s: GDAL reads no polygons in it", source_name(t->source));
    }
    if (st == STATUS_OK && n > 0) {
        p->grid = *grid;
        *out = &p->base;
    } else {
        close_polygons(&p->base);
    }
    return st;
}

/* --- written ---------------------------------------------------------------------------------- */

enum status gdal_polygons_write(const struct bytes *geojson, const struct grid *g,
                                struct bytes *out)
{
    struct gdal_words words;
    char from[64], to[64], none[] = "none", *wkt = NULL;
    vsi_l_offset n = 0;
    gdal_set_up();
    (void)snprintf(from, sizeof from, "/vsimem/leat-%p.geojson", (void *)out);
    (void)snprintf(to, sizeof to, "/vsimem/leat-%p.gpkg", (void *)out);
    gdal_begin(&words);
    OGRSpatialReferenceH system = system_of(g);
    if (system != NULL) {
        (void)gdal.ExportToWkt(system, &wkt);
    }
    release(system);
    gdal.SetThreadLocalConfigOption("OGR_CURRENT_DATE", "1980-01-01T00:00:00Z"); /* of no day */
    gdal.SetThreadLocalConfigOption("OGR_GEOJSON_MAX_OBJ_SIZE", "0"); /* a patch may be large */
    (void)gdal.FCloseL(gdal.FileFromMemBuffer(from, geojson->data, geojson->len, FALSE));
    GDALDatasetH source = gdal.OpenEx(from, GDAL_OF_VECTOR, NULL, NULL, NULL), made = NULL;
    GDALVectorTranslateOptions *const options = gdal.VectorTranslateOptionsNew(
        (char *[]){(char[]){"-f"}, (char[]){"GPKG"}, (char[]){"-a_srs"}, wkt != NULL ? wkt : none,
                   NULL},
        NULL);
    if (source != NULL && options != NULL) {
        made = gdal.VectorTranslate(to, NULL, 1, &source, options, NULL);
    }
    const bool is_made = made != NULL;
    (void)gdal.Close(made);
    (void)gdal.Close(source);
    gdal.VectorTranslateOptionsFree(options);
    gdal.Free(wkt);
    gdal.SetThreadLocalConfigOption("OGR_CURRENT_DATE", NULL);
    gdal.SetThreadLocalConfigOption("OGR_GEOJSON_MAX_OBJ_SIZE", NULL);
    const unsigned char *const bytes = gdal.GetMemFileBuffer(to, &n, FALSE);
    gdal_end();
    const enum status st = is_made && bytes != NULL && words.text[0] == '\0'
                               ? bytes_append(out, bytes, (size_t)n)
                               : gdal_fail(&words, "GDAL writes no GeoPackage");
    (void)gdal.Unlink(from);
    (void)gdal.Unlink(to);
    return st;
}
