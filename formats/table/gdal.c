/*
 * gdal - rasters of other programs through GDAL: values, missing cells, georeference and coordinate
 * system as gdal_translate writes them into a GeoTIFF, and scale and offset applied.
 *
 * Where the file may bring others (VRT, headers beside it) GDAL opens it by its path. Else it gets
 * the descriptor alone, by a name below /proc, beside which there is nothing, and may take it for
 * those formats only that are one file each. Each decoding thread has a dataset of its own; what is
 * read from the front alone, or by a library that does one thing at a time, has one.
 */
#include "formats/base/bytes.h"
#include "formats/base/checked.h"
#include "formats/base/file_name.h"
#include "formats/table/foreign.h"
#include "formats/table/gdal_calls.h"
#include "formats/table/gdal_polygons.h"
#include "formats/table/gdal_whole.h"
#ifdef LEAT_HDF5
#include "formats/table/hdf5_calls.h"
#endif
#include "formats/table/table_bands.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HANDLE_BYTES = 4 << 20, /* a dataset: directory, buffers */
    CODEC_CELL = 8,         /* what codecs hold for a cell of the blocks in work */
    VRT_ROWS = 512,         /* whatever the tiles' blocks are, whole ones as a rule ... */
    VRT_BYTES = 64 << 20,   /* ... while a band is no larger */
    MOST_NAMES = 12         /* of datasets in a message */
};

/* Those of one file, and of no names of others. */
static const char *const alone[] = {
    "GTiff",    "netCDF",   "HDF5", "HDF5Image", "BAG", "HFA",    "JP2OpenJPEG",
    "PNG",      "JPEG",     "WEBP", "BMP",       "PNM", "DTED",   "USGSDEM",
    "AAIGrid",  "GSAG",     "GSBG", "GS7BG",     "XYZ", "ZMap",   "GRASSASCIIGrid",
    "NWT_GRD",  "ISG",      "GXF",  "BT",        "HF2", "SIGDEM", "Terragen",
    "Leveller", "PCRaster", "RMF",  "GTX",       "BYN", "KRO",    "NGSGEOID",
    NULL};

/* Read from the front, or by one thread at a time. */
static const char *const one_by_one[] = {
    "netCDF",  "HDF5Image", "BAG",  "HDF4Image", "GRIB", "PNG", "JPEG",    "WEBP",           "GIF",
    "AAIGrid", "GSAG",      "ZMap", "XYZ",       "ISG",  "GXF", "USGSDEM", "GRASSASCIIGrid", NULL};

struct gdal {
    struct table_bands bands;
    struct grid *grid;
    char *path; /* what GDAL opens */
    bool is_alone;
    int band;
    GDALDataType type; /* of samples as they are read: doubles where they are masked or scaled */
    bool is_masked, is_scaled, is_signed; /* signed: bytes of doubles are from -128 on */
    double scale, offset, nodata;         /* nodata: before scaling */
    bool has_nodata;
    long long cache_bytes; /* of a handle */
};

struct handle {
    struct table_handle base;
    GDALDatasetH dataset;
    GDALRasterBandH band;
    long long cache_bytes;
};

static bool is_one_of(const char *driver, const char *const *list)
{
    bool found = false;
    for (; *list != NULL; list++) {
        found = found || strcmp(driver, *list) == 0;
    }
    return found;
}

/* --- datasets --------------------------------------------------------------------------------- */

static GDALDatasetH open_path(const struct gdal *s, const char *path)
{
    return gdal.OpenEx(path, GDAL_OF_RASTER | GDAL_OF_READONLY | GDAL_OF_VERBOSE_ERROR,
                       s->is_alone ? alone : NULL, NULL, NULL);
}

static void free_handle(struct table_handle *base)
{
    struct handle *const h = (struct handle *)base;
    struct gdal_words words;
    gdal_begin(&words);
    (void)gdal.Close(h->dataset);
    gdal_end();
    gdal_add_cache(-h->cache_bytes);
    free(h);
}

/* Takes the dataset over. */
static enum status make_handle(const struct table *t, GDALDatasetH dataset,
                               struct table_handle **out)
{
    const struct gdal *const s = t->state;
    struct handle *const h = calloc(1, sizeof *h);
    *out = NULL;
    if (h == NULL) {
        (void)gdal.Close(dataset);
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(t->source));
    }
    h->dataset = dataset;
    h->band = gdal.GetRasterBand(dataset, s->band);
    h->cache_bytes = s->cache_bytes;
    gdal_add_cache(h->cache_bytes);
    *out = &h->base;
    return STATUS_OK;
}

static enum status open_handle(const struct table *t, struct table_handle **out)
{
    struct gdal_words words;
    gdal_begin(&words);
    GDALDatasetH dataset = open_path(t->state, ((const struct gdal *)t->state)->path);
    gdal_end();
    *out = NULL;
    return dataset != NULL
               ? make_handle(t, dataset, out)
               : gdal_fail(&words, "%s: cannot be opened again", source_name(t->source));
}

/* The next of the names that GDAL has for what a file of several grids holds; NULL: no more. */
static const char *next_name(char ***at)
{
    const char *name = NULL;
    while (*at != NULL && **at != NULL && name == NULL) {
        name = strstr(*(*at)++, "_NAME=");
    }
    return name != NULL ? name + strlen("_NAME=") : NULL;
}

/* The part of it that the user says: NETCDF:"x.nc":z, HDF5:"x.h5"://group/z. */
static const char *said_name(const char *name)
{
    const char *const colon = strrchr(name, ':');
    name = colon != NULL ? colon + 1 : name;
    return name + strspn(name, "/");
}

/* The one that `dataset` names, NULL: the only one; NULL: none, *list: all, as text. */
static const char *find_name(char **names, const char *dataset, struct bytes *list, enum status *st)
{
    const char *found = NULL;
    int n = 0;
    for (const char *name; *st == STATUS_OK && (name = next_name(&names)) != NULL; n++) {
        const char *const said = said_name(name);
        if (dataset == NULL || strcmp(said, dataset + strspn(dataset, "/")) == 0) {
            found = found == NULL ? name : dataset == NULL ? "" : found;
        }
        *st = n > MOST_NAMES
                  ? STATUS_OK
                  : bytes_printf(list, "%s%s", n > 0 ? ", " : "",
                                 n == MOST_NAMES ? "..." : excerpt_of(said, strlen(said)).text);
    }
    *st = *st == STATUS_OK ? bytes_append(list, "", 1) : *st;
    return found != NULL && *found != '\0' ? found : NULL;
}

/* Whether the dataset is the one of that name, although it lists none: NetCDF with one variable. */
static bool is_called(GDALDatasetH dataset, const char *name)
{
    const char *const variable =
        gdal.GetMetadataItem(gdal.GetRasterBand(dataset, 1), "NETCDF_VARNAME", NULL);
    return variable != NULL && strcmp(variable, name + strspn(name, "/")) == 0;
}

/* Of a file that holds several grids, or is asked for one: that one instead of *dataset. */
static enum status choose_dataset(struct table *t, GDALDatasetH *dataset)
{
    struct gdal *const s = t->state;
    const char *const name = source_name(t->source), *const asked = t->options.dataset;
    const bool has_bands = gdal.GetRasterCount(*dataset) > 0;
    if (has_bands && (asked == NULL || is_called(*dataset, asked))) {
        return STATUS_OK;
    }
    char **names = gdal.GetMetadata(*dataset, "SUBDATASETS");
    struct bytes list = {0};
    enum status st = STATUS_OK;
    const char *const chosen = find_name(names, asked, &list, &st);
    const char *const text = (const char *)list.data, *const first = next_name(&names);
    if (st == STATUS_OK && chosen == NULL) {
        st = asked != NULL ? status_fail(STATUS_BAD_ARGUMENT, "%s: dataset=%s: it has %s", name,
                                         excerpt_of(asked, strlen(asked)).text,
                                         first != NULL ? text : "one grid alone: leave that out")
             : first == NULL
                 ? status_fail(STATUS_BAD_INPUT, "%s: holds no grid that GDAL reads", name)
                 : status_fail(STATUS_BAD_INPUT,
                               "%s: holds several grids: %s; choose one: -s dataset=%s", name, text,
                               said_name(first));
    }
    bytes_free(&list);
    if (st == STATUS_OK) {
        free(s->path);
        s->path = strdup(chosen);
        (void)gdal.Close(*dataset);
        *dataset = s->path != NULL ? open_path(s, s->path) : NULL;
    }
    return st;
}

static enum status choose_band(struct table *t, GDALDatasetH dataset)
{
    struct gdal *const s = t->state;
    const int n = gdal.GetRasterCount(dataset);
    int n_grids = 0;
    for (int i = 1; i <= n; i++) {
        n_grids +=
            gdal.GetRasterColorInterpretation(gdal.GetRasterBand(dataset, i)) != GCI_AlphaBand;
    }
    if (t->choice.band > (size_t)n) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: band=%zu: it has %d band%s",
                           source_name(t->source), t->choice.band, n, n == 1 ? "" : "s");
    }
    if (t->choice.band == 0 && n_grids != 1) {
        return status_fail(STATUS_UNSUPPORTED,
                           "%s: has %d bands, a grid has one; choose it: -s band=1",
                           source_name(t->source), n);
    }
    s->band = t->choice.band > 0 ? (int)t->choice.band : 1;
    return STATUS_OK;
}

/* "": it has none. */
static const char *name_driver(const char *path)
{
    GDALDriverH driver = gdal.IdentifyDriverEx(path, GDAL_OF_RASTER, NULL, NULL);
    return driver != NULL ? gdal.GDALGetDriverShortName(driver) : "";
}

/* Whether it names other files, so that a library that GDAL asks opens them: HDF5 may. */
static enum status names_others(const struct table *t, const char *driver, bool *does)
{
    static const char *const of_hdf5[] = {"netCDF", "HDF5", "HDF5Image", "BAG", NULL};
    const unsigned char *head;
    size_t n;
    STATUS_TRY(source_peek(t->source, FOREIGN_HEAD_BYTES, &head, &n));
    *does = is_one_of(driver, of_hdf5) && !(n > 3 && memcmp(head, "CDF", 3) == 0);
#ifdef LEAT_HDF5
    if (*does) {
        const char *version;
        bool is_alone;
        STATUS_TRY(foreign_module_need(FOREIGN_HDF5, &version));
        STATUS_TRY(hdf5_is_alone(t->source, &is_alone));
        *does = !is_alone;
    }
#endif
    return STATUS_OK;
}

/* Opens it as far as a band: *out, in which there is one. */
static enum status open_first(struct table *t, struct gdal_words *words, GDALDatasetH *out)
{
    struct gdal *const s = t->state;
    const char *const name = source_name(t->source);
    /* texts of columns are leat's own tables */
    const char *const driver = name_driver(s->path);
    const bool is_ours = strcmp(driver, "XYZ") == 0 || strcmp(driver, "AAIGrid") == 0;
    bool others = !is_ours && !is_one_of(driver, alone) &&
                  (*driver != '\0' || foreign_is_a_part(foreign_named(name)));
    STATUS_TRY(others || !s->is_alone ? STATUS_OK : names_others(t, driver, &others));
    if (s->is_alone && others) {
        return foreign_fail_with(STATUS_UNSUPPORTED, name,
                                 "is read with the files that belong to it, or that it names, by "
                                 "leat run and leat check in a folder; else convert it",
                                 "gdal_translate IN OUT.tif");
    }
    *out = t->refusal != NULL && is_ours ? NULL : open_path(s, s->path);
    if (*out == NULL && t->refusal != NULL) {
        return status_set(t->refused, t->refusal);
    }
    if (*out != NULL) {
        STATUS_TRY(choose_dataset(t, out));
    }
    return *out != NULL ? choose_band(t, *out)
                        : gdal_fail(words, "%s: GDAL reads no grid in it", name);
}

/* --- what it is ------------------------------------------------------------------------------- */

static bool find_kind(GDALDataType type, bool is_signed, enum table_kind *kind, size_t *bytes)
{
    static const struct {
        GDALDataType type;
        enum table_kind kind;
        size_t bytes;
    } kinds[] = {
        {GDT_Byte, TABLE_UINT, 1},   {GDT_UInt16, TABLE_UINT, 2},   {GDT_Int16, TABLE_INT, 2},
        {GDT_UInt32, TABLE_UINT, 4}, {GDT_Int32, TABLE_INT, 4},     {GDT_UInt64, TABLE_UINT, 8},
        {GDT_Int64, TABLE_INT, 8},   {GDT_Float32, TABLE_FLOAT, 4}, {GDT_Float64, TABLE_FLOAT, 8}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].type == type) {
            *kind = is_signed && type == GDT_Byte ? TABLE_INT : kinds[i].kind;
            *bytes = kinds[i].bytes;
            return true;
        }
    }
    return false;
}

static void read_nodata(struct gdal *s, GDALRasterBandH band)
{
    int has = FALSE;
    s->nodata = s->type == GDT_Int64    ? (double)gdal.GetRasterNoDataValueAsInt64(band, &has)
                : s->type == GDT_UInt64 ? (double)gdal.GetRasterNoDataValueAsUInt64(band, &has)
                                        : gdal.GetRasterNoDataValue(band, &has);
    s->nodata = s->type == GDT_Float32 ? (double)(float)s->nodata : s->nodata;
    s->has_nodata = has;
}

/* Type, mask, NODATA, scale. */
static enum status read_samples(const struct table *t, GDALRasterBandH band)
{
    struct gdal *const s = t->state;
    const int mask = gdal.GetMaskFlags(band);
    const char *const pixels = gdal.GetMetadataItem(band, "PIXELTYPE", "IMAGE_STRUCTURE");
    int has_scale = FALSE, has_offset = FALSE;
    s->type = gdal.GetRasterDataType(band);
    s->is_signed = pixels != NULL && strcmp(pixels, "SIGNEDBYTE") == 0;
    read_nodata(s, band);
    s->is_masked = (mask & GMF_ALL_VALID) == 0 && mask != GMF_NODATA;
    s->scale = gdal.GetRasterScale(band, &has_scale);
    s->offset = gdal.GetRasterOffset(band, &has_offset);
    s->is_scaled = (has_scale && s->scale != 1) || (has_offset && s->offset != 0);
    if (s->is_scaled && !(isfinite(s->scale) && isfinite(s->offset))) {
        return status_fail(STATUS_BAD_INPUT, "%s: its scale %g or its offset %g is no number",
                           source_name(t->source), s->scale, s->offset);
    }
    s->is_signed = s->is_signed && s->type == GDT_Byte;
    if (!find_kind(s->type, s->is_signed, &s->bands.kind, &s->bands.sample_bytes)) {
        return status_fail(STATUS_UNSUPPORTED, "%s: its samples are complex numbers",
                           source_name(t->source));
    }
    if (s->is_masked || s->is_scaled) {
        s->type = GDT_Float64;
        s->bands.kind = TABLE_FLOAT;
        s->bands.sample_bytes = sizeof(double);
    }
    return STATUS_OK;
}

/* How it is cut into bands, and what that takes; all sizes are bounded before anything is
 * allocated. *more: beside a band's samples. */
static enum status lay_out(struct table *t, GDALDatasetH dataset, size_t *more)
{
    struct gdal *const s = t->state;
    struct table_bands *const b = &s->bands;
    GDALRasterBandH band = gdal.GetRasterBand(dataset, s->band);
    const char *const driver = gdal.GDALGetDriverShortName(gdal.GetDatasetDriver(dataset));
    const char *const interleave = gdal.GetMetadataItem(dataset, "INTERLEAVE", "IMAGE_STRUCTURE");
    const bool is_mosaic = strcmp(driver, "VRT") == 0;
    int block_columns = 0, block_rows = 0;
    gdal.GetBlockSize(band, &block_columns, &block_rows);
    if (gdal.GetRasterXSize(dataset) <= 0 || gdal.GetRasterYSize(dataset) <= 0 ||
        block_columns <= 0 || block_rows <= 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: it claims no cells", source_name(t->source));
    }
    b->columns = (size_t)gdal.GetRasterXSize(dataset);
    b->rows = (size_t)gdal.GetRasterYSize(dataset);
    STATUS_TRY(gdal_whole_check(t->source, dataset));
    b->one_handle = is_one_of(driver, one_by_one);
    const size_t planes = interleave != NULL && strcmp(interleave, "PIXEL") == 0
                              ? (size_t)gdal.GetRasterCount(dataset)
                              : 1;
    const size_t row_bytes = b->columns * sizeof(double); /* of any type; columns fit an int */
    size_t rows = (size_t)block_rows;
    rows = is_mosaic && rows < VRT_ROWS && VRT_ROWS * row_bytes <= VRT_BYTES ? VRT_ROWS : rows;
    const size_t across = (b->columns - 1) / (size_t)block_columns + 1;
    size_t cells, cache;
    if (!checked_mul(across * (size_t)block_columns, rows, &cells) ||
        !checked_mul(cells, sizeof(double) * (planes + 1), &cache) ||
        cache > TABLE_BAND_MOST_BYTES) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: a row of its blocks, of %d x %d cells each, unpacks to more than "
                           "%d MiB; rewrite it: gdal_translate -co TILED=YES",
                           source_name(t->source), block_rows, block_columns,
                           TABLE_BAND_MOST_BYTES >> 20);
    }
    const size_t blocks = TABLE_BAND_BYTES / (b->columns * b->sample_bytes * rows);
    b->band_rows = rows * (blocks > 1 ? blocks : 1);
    b->band_rows = b->band_rows < b->rows ? b->band_rows : b->rows;
    s->cache_bytes = (long long)cache;
    *more =
        cache + HANDLE_BYTES + cells * CODEC_CELL + (s->is_masked ? b->band_rows * b->columns : 0);
    if (b->one_handle &&
        !checked_mul(b->rows * b->columns, sizeof(double), &t->info.window_bytes)) {
        return status_fail(STATUS_TOO_LARGE, "%s: claims %zu x %zu cells", source_name(t->source),
                           b->rows, b->columns);
    }
    return STATUS_OK;
}

/* --- where it lies ---------------------------------------------------------------------------- */

/* A GeoTIFF of one cell in memory, with the place and the coordinate system of the dataset. */
static enum status write_place(const struct table *t, GDALDatasetH from, const char *path,
                               const double transform[6], OGRSpatialReferenceH system)
{
    GDALDriverH driver = gdal.GetDriverByName("GTiff");
    GDALDatasetH to = driver != NULL ? gdal.Create(driver, path, 1, 1, 1, GDT_Byte, NULL) : NULL;
    const char *const point = gdal.GetMetadataItem(from, "AREA_OR_POINT", NULL);
    if (to == NULL) {
        return status_fail(STATUS_UNSUPPORTED, "%s: GDAL writes no GeoTIFF here",
                           source_name(t->source));
    }
    CPLErr failed =
        transform != NULL ? gdal.SetGeoTransform(to, (double *)(uintptr_t)transform) : CE_None;
    if (system != NULL) {
        failed = failed != CE_None ? failed : gdal.SetSpatialRef(to, system);
        if (point != NULL) {
            (void)gdal.SetMetadataItem(to, "AREA_OR_POINT", point, NULL);
        }
    }
    (void)gdal.Close(to);
    return failed == CE_None ? STATUS_OK
                             : status_fail(STATUS_BAD_INPUT, "%s: its place cannot be taken over",
                                           source_name(t->source));
}

/* The tags of that GeoTIFF, by the reader of GeoTIFFs. */
static enum status take_tags(const struct table *t, const char *path, struct grid *g)
{
    vsi_l_offset n = 0;
    const unsigned char *const bytes = gdal.GetMemFileBuffer(path, &n, FALSE);
    const int fd = memfd_create("place.tif", MFD_CLOEXEC);
    if (bytes == NULL || fd < 0 || write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET)) {
        const int error = errno;
        if (fd >= 0) {
            close(fd);
        }
        return status_fail_errno(error, "%s: no memory for its place", source_name(t->source));
    }
    struct source *source = NULL;
    struct table *tif = NULL;
    STATUS_TRY(source_open(fd, source_name(t->source), &source));
    STATUS_TRY(table_open(source, NULL, &tif));
    const struct grid *const has = table_info(tif)->grid;
    enum status st = STATUS_OK;
    for (size_t i = 0; i < has->n_tags && st == STATUS_OK; i++) {
        const struct grid_tag *const tag = &has->tags[i];
        st = grid_add_tag(g, tag->number, tag->type, tag->count, tag->values);
    }
    table_free(tif);
    return st != STATUS_OK ? st : grid_georeference_by_tags(g, source_name(t->source));
}

static enum status read_place(const struct table *t, GDALDatasetH dataset, struct grid *g)
{
    char path[64], aux[72];
    double transform[6];
    const bool has_place = gdal.GetGeoTransform(dataset, transform) == CE_None;
    OGRSpatialReferenceH system = gdal.GetSpatialRef(dataset);
    if (!has_place && system == NULL) {
        return STATUS_OK;
    }
    (void)snprintf(path, sizeof path, "/vsimem/leat-%p.tif", (void *)g);
    (void)snprintf(aux, sizeof aux, "%s.aux.xml", path);
    enum status st = write_place(t, dataset, path, has_place ? transform : NULL, system);
    st = st != STATUS_OK ? st : take_tags(t, path, g);
    (void)gdal.Unlink(path);
    (void)gdal.Unlink(aux); /* what GeoTIFF has no tags for */
    if (st == STATUS_OK && system == NULL && t->options.prj != NULL && g->has_origin) {
        while (g->n_tags > 0) { /* the .prj says it */
            free(g->tags[--g->n_tags].values);
        }
        st = grid_set_prj(g, t->options.prj);
    }
    return st;
}

static enum status read_grid(const struct table *t, GDALDatasetH dataset)
{
    struct gdal *const s = t->state;
    GDALRasterBandH band = gdal.GetRasterBand(dataset, s->band);
    STATUS_TRY(grid_new(s->bands.rows, s->bands.columns, &s->grid));
    struct grid *const g = s->grid;
    STATUS_TRY(read_place(t, dataset, g));
    g->has_nodata = s->has_nodata || s->is_masked;
    g->nodata = s->has_nodata && !s->is_scaled ? s->nodata : NAN;
    const char *const unit = gdal.GetRasterUnitType(band);
    if (unit != NULL) {
        (void)snprintf(g->unit, sizeof g->unit, "%s", excerpt_of(unit, strlen(unit)).text);
    }
    return STATUS_OK;
}

/* --- the table -------------------------------------------------------------------------------- */

/* Masked cells, and those that match NODATA before they are scaled, get the grid's number for that.
 */
static void finish(const struct gdal *s, double *values, const unsigned char *mask, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double v = values[i];
        v = s->is_signed && v > INT8_MAX ? v - (UINT8_MAX + 1) : v;
        const bool is_missing =
            (mask != NULL && mask[i] == 0) || (s->has_nodata && grid_matches_nodata(s->nodata, v));
        values[i] = is_missing ? s->grid->nodata : s->is_scaled ? v * s->scale + s->offset : v;
    }
}

static enum status read_band(const struct table *t, struct table_handle *base, size_t index,
                             unsigned char *samples)
{
    const struct gdal *const s = t->state;
    const struct handle *const h = (const struct handle *)base;
    const int first = (int)(index * s->bands.band_rows), columns = (int)s->bands.columns;
    const size_t rows = table_bands_rows(&s->bands, index), cells = rows * s->bands.columns;
    unsigned char *const mask = s->is_masked ? malloc(cells) : NULL;
    if (s->is_masked && mask == NULL) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory for its mask", source_name(t->source));
    }
    struct gdal_words words;
    gdal_begin(&words);
    CPLErr failed = gdal.RasterIO(h->band, GF_Read, 0, first, columns, (int)rows, samples, columns,
                                  (int)rows, s->type, 0, 0);
    if (failed == CE_None && mask != NULL) {
        failed = gdal.RasterIO(gdal.GetMaskBand(h->band), GF_Read, 0, first, columns, (int)rows,
                               mask, columns, (int)rows, GDT_Byte, 0, 0);
    }
    gdal_end();
    const bool ok = failed == CE_None && words.text[0] == '\0'; /* it may call damage a success */
    if (ok && (s->is_masked || s->is_scaled)) {
        finish(s, (double *)(void *)samples, mask, cells);
    }
    free(mask);
    return ok ? STATUS_OK
              : gdal_fail(&words, "%s: rows %d to %zu cannot be read", source_name(t->source),
                          first + 1, (size_t)first + rows);
}

static const struct table_bands_ops bands_ops = {open_handle, read_band, free_handle};

static void gdal_close(void *state)
{
    struct gdal *const s = state;
    table_bands_free(&s->bands);
    grid_free(s->grid);
    free(s->path);
}

/* What GDAL opens: the path, which it takes for no name of its own; or the descriptor. */
static enum status choose_path(struct table *t)
{
    struct gdal *const s = t->state;
    const char *const path = source_name(t->source);
    struct stat here, opened;
    s->is_alone = !t->options.has_companions || stat(path, &here) != 0 ||
                  fstat(source_fd(t->source), &opened) != 0 || here.st_dev != opened.st_dev ||
                  here.st_ino != opened.st_ino;
    const unsigned char *head;
    size_t n;
    STATUS_TRY(source_peek(t->source, FOREIGN_HEAD_BYTES, &head, &n));
    const bool is_netcdf = n > 4 && memcmp(head, "\x89HDF", 4) == 0 &&
                           file_name_is(path, ".nc .nc4 .cdf"); /* as its name says */
    const int made = s->is_alone ? asprintf(&s->path, "%s/proc/self/fd/%d",
                                            is_netcdf ? "NETCDF:" : "", source_fd(t->source))
                                 : asprintf(&s->path, "%s%s", path[0] == '/' ? "/." : "./", path);
    s->path = made < 0 ? NULL : s->path;
    return made < 0 ? status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", path) : STATUS_OK;
}

static enum status gdal_open(struct table *t)
{
    struct gdal *const s = t->state;
    struct gdal_words words;
    GDALDatasetH dataset = NULL;
    struct table_handle *handle = NULL;
    size_t more = 0;
    table_bands_init(&s->bands, &bands_ops);
    gdal_set_up();
    STATUS_TRY(table_need_seek(t, "a raster", "X.nc"));
    STATUS_TRY(gdal_whole_netcdf(t->source));
    STATUS_TRY(choose_path(t));
    STATUS_TRY(s->is_alone ? STATUS_OK : gdal_whole_names(source_name(t->source), s->path));
    STATUS_TRY(t->options.polygons != NULL ? gdal_polygons_open(t, s->is_alone ? NULL : s->path,
                                                                &s->bands, &s->grid, &handle)
                                           : STATUS_OK);
    if (handle != NULL) {
        t->info.format = "polygons";
        s->bands.ops = &gdal_polygons_ops;
        table_bands_return(&s->bands, handle);
        table_set_grid(t, s->grid);
        table_bands_set(t, &s->bands, s->bands.band_rows * s->bands.columns);
        return STATUS_OK;
    }
    gdal_begin(&words);
    enum status st = open_first(t, &words, &dataset);
    st = st != STATUS_OK ? st : read_samples(t, gdal.GetRasterBand(dataset, s->band));
    st = st != STATUS_OK ? st : lay_out(t, dataset, &more);
    st = st != STATUS_OK ? st : read_grid(t, dataset);
    if (st == STATUS_OK) {
        st = make_handle(t, dataset, &handle);
    } else if (dataset != NULL) {
        (void)gdal.Close(dataset);
    }
    gdal_end();
    STATUS_TRY(st);
    table_bands_return(&s->bands, handle);
    table_set_grid(t, s->grid);
    table_bands_set(t, &s->bands, more);
    return STATUS_OK;
}

static const char *gdal_version(void)
{
    return gdal.VersionInfo("RELEASE_NAME");
}

const struct table_format gdal_format = {
    .name = "gdal",
    .state_bytes = sizeof(struct gdal),
    .takes = {[TABLE_MISSING_VALUE] = true, [TABLE_DATASET] = true, [TABLE_BAND] = true},
    .library = &gdal_library,
    .version = gdal_version,
    .open = gdal_open,
    .next = table_bands_next,
    .decode = table_bands_decode,
    .close = gdal_close,
};
