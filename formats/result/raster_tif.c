/*
 * raster_tif - a GeoTIFF in pieces that are made on several threads.
 *
 * A piece is a tile, and the last one the directory, too, which tells where each tile lies and so
 * stands at the end. Where it is stands in the file's header, which is known last. Pieces may be
 * asked for in any order: the last one waits for tiles that others make, and measures those that
 * nobody has asked for.
 *
 * A tile is gathered, predicted, deflated. Floats: predictor 3 (Adobe Photoshop TIFF Technical Note
 * 3): each row's bytes are sorted by significance, all highest bytes first, and replaced by their
 * differences to the byte before. Integers: predictor 2, differences of the numbers. Beyond the
 * grid's edges a tile repeats the last column and row, which costs nothing after a predictor.
 *
 * After differences, what repeats is runs of one byte, zeros above all, and what does not are low
 * bits that look like noise. So zlib is told to look for runs alone (Z_RLE): on terrain of doubles
 * that gives 2 % more bytes than level 6 in a third of its time, on mostly empty maps none. libtiff
 * writes the directory, and does not deflate: it is half as fast on mostly empty maps, and where it
 * has libdeflate the bytes depend on that.
 *
 * Little-endian on every machine. Sources: OGC GeoTIFF 1.1; GDAL's tags 42112 and 42113.
 */
#include "formats/result/raster_file.h"

#include "formats/base/checked.h"
#include "formats/geo/tiff_tags.h"

#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <tiffio.h>
#include <zlib.h>

enum {
    TILE = 256,       /* a tile's side, where the grid's is not shorter ... */
    TILE_STEP = 16,   /* ... than this many cells less */
    DEFLATE_LEVEL = 6 /* Z_RLE is the same at all of them */
};

/* How a grid is cut. TIFF wants sides that are multiples of 16: a small grid is one small tile. */
struct tiling {
    size_t rows, columns; /* of a tile */
    size_t across, down;  /* tiles */
};

static const uint32_t being_made = UINT32_MAX;

struct raster_tif {
    struct tiling tiling;
    size_t n_tiles;
    uint32_t *tile_bytes; /* [n_tiles], deflated; 0: not known; or being_made */
    unsigned char header[PACK_HEADER_BYTES];
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* --- tiles ------------------------------------------------------------------------------------ */

static size_t tile_side(size_t cells)
{
    const size_t steps = (cells + TILE_STEP - 1) / TILE_STEP;
    return steps < TILE / TILE_STEP ? steps * TILE_STEP : TILE;
}

static struct tiling tiling_of(const struct grid *g)
{
    const size_t rows = tile_side(g->rows), columns = tile_side(g->columns);
    return (struct tiling){.rows = rows,
                           .columns = columns,
                           .across = (g->columns - 1) / columns + 1,
                           .down = (g->rows - 1) / rows + 1};
}

/* planes[0 .. bytes * n): the bytes of the row's n values, the highest of all first. */
static inline void sort_bytes(const unsigned char *row, size_t n, size_t bytes,
                              unsigned char *planes)
{
    for (size_t b = 0; b < bytes; b++) {
        const size_t at = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? bytes - 1 - b : b;
        for (size_t i = 0; i < n; i++) {
            planes[b * n + i] = row[i * bytes + at];
        }
    }
}

static void predict_floats(const unsigned char *row, size_t n, size_t bytes, unsigned char *out)
{
    unsigned char planes[8 * TILE] = {0};
    if (bytes == 8) { /* loops of one size run in vectors */
        sort_bytes(row, n, 8, planes);
    } else {
        sort_bytes(row, n, 4, planes);
    }
    out[0] = planes[0];
    for (size_t i = 1; i < n * bytes; i++) {
        out[i] = (unsigned char)(planes[i] - planes[i - 1]);
    }
}

static void predict_integers(const unsigned char *row, size_t n, unsigned char *out)
{
    uint32_t before = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t v;
        memcpy(&v, row + 4 * i, 4);
        const uint32_t step = htole32(v - before);
        before = v;
        memcpy(out + 4 * i, &step, 4);
    }
}

/* Fetches the tile's part of grid row `row` and repeats its last cell up to the tile's width. */
static enum status fetch_row(const struct raster_source *s, size_t row, size_t left,
                             size_t tile_columns, unsigned char *cells)
{
    const size_t width = raster_type_bytes(s->raster.type), columns = s->grid->columns;
    const size_t n = columns - left < tile_columns ? columns - left : tile_columns;
    STATUS_TRY(s->fetch(s->context, (uint64_t)row * columns + left, n, cells));
    for (size_t i = n; i < tile_columns; i++) {
        memcpy(cells + i * width, cells + (n - 1) * width, width);
    }
    return STATUS_OK;
}

/* The tile after its predictor. */
static enum status make_tile(const struct raster_source *s, size_t index, unsigned char *out)
{
    const struct raster_tif *const tif = s->state;
    const struct tiling *const cut = &tif->tiling;
    const size_t top = index / cut->across * cut->rows;
    const size_t left = index % cut->across * cut->columns;
    const size_t row_bytes = cut->columns * raster_type_bytes(s->raster.type);
    unsigned char cells[TILE * 8];
    for (size_t y = 0; y < cut->rows; y++) {
        unsigned char *const to = out + y * row_bytes;
        if (top + y >= s->grid->rows) {
            memcpy(to, to - row_bytes, row_bytes);
            continue;
        }
        STATUS_TRY(fetch_row(s, top + y, left, cut->columns, cells));
        if (s->raster.type == RASTER_I32) {
            predict_integers(cells, cut->columns, to);
        } else {
            predict_floats(cells, cut->columns, raster_type_bytes(s->raster.type), to);
        }
    }
    return STATUS_OK;
}

/* Appends a tile, deflated. */
static enum status put_tile(const struct raster_source *s, size_t index, struct bytes *out)
{
    const struct raster_tif *const tif = s->state;
    const size_t n = tif->tiling.rows * tif->tiling.columns * raster_type_bytes(s->raster.type);
    unsigned char *const raw = malloc(n);
    z_stream z = {.next_in = raw, .avail_in = (uInt)n};
    if (raw == NULL || deflateInit2(&z, DEFLATE_LEVEL, Z_DEFLATED, 15, 9, Z_RLE) != Z_OK) {
        free(raw);
        return status_fail(STATUS_NO_MEMORY, "no memory for a tile of %zu bytes", n);
    }
    enum status st = make_tile(s, index, raw);
    z.avail_out = (uInt)deflateBound(&z, n);
    st = st == STATUS_OK ? bytes_reserve(out, z.avail_out) : st;
    if (st == STATUS_OK) {
        z.next_out = out->data + out->len;
        st = deflate(&z, Z_FINISH) == Z_STREAM_END
                 ? STATUS_OK
                 : status_fail(STATUS_INTERNAL, "a tile of %zu bytes cannot be deflated", n);
        out->len += z.total_out;
    }
    deflateEnd(&z);
    free(raw);
    return st;
}

/* --- the directory ---------------------------------------------------------------------------- */

/* The file as libtiff sees it: it writes the header, then tiles, which are in the file already and
 * are only counted, then the directory, in any order. */
struct sink {
    unsigned char *header;
    uint64_t at, tiles_end;
    bool has_tiles; /* all of them */
    struct bytes directory;
    char first[200]; /* libtiff's first complaint */
};

static tmsize_t read_nothing(thandle_t handle, void *dst, tmsize_t n)
{
    (void)handle;
    (void)dst;
    (void)n;
    return 0;
}

static tmsize_t write_sink(thandle_t handle, void *src, tmsize_t n)
{
    struct sink *const s = handle;
    struct bytes *const d = &s->directory;
    const uint64_t at = s->at;
    s->at += (uint64_t)n;
    if (at < PACK_HEADER_BYTES) {
        memcpy(s->header + at, src, (size_t)n);
    } else if (!s->has_tiles) {
        s->tiles_end = s->at;
    } else {
        const size_t to = (size_t)(at - s->tiles_end), end = to + (size_t)n;
        const size_t more = end > d->len ? end - d->len : 0;
        if (bytes_reserve(d, more) != STATUS_OK) {
            return -1;
        }
        memset(d->data + d->len, 0, more);
        d->len += more;
        memcpy(d->data + to, src, (size_t)n);
    }
    return n;
}

static toff_t sink_size(thandle_t handle)
{
    const struct sink *const s = handle;
    return s->tiles_end + s->directory.len;
}

static toff_t seek_sink(thandle_t handle, toff_t offset, int whence)
{
    struct sink *const s = handle;
    s->at = (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? s->at : sink_size(s)) + offset;
    return s->at;
}

static int close_nothing(thandle_t handle)
{
    (void)handle;
    return 0;
}

static int note_complaint(TIFF *tif, void *user, const char *module, const char *format,
                          va_list args)
{
    struct sink *const s = user;
    (void)tif;
    (void)module;
    if (s->first[0] == '\0') {
        (void)vsnprintf(s->first, sizeof s->first, format, args);
    }
    return 1; /* handled */
}

enum { MODEL_TYPE = 1024, RASTER_TYPE = 1025, CITATION = 3073 }; /* keys of GeoTIFF */

static bool put_values(TIFF *tif, uint32_t tag, size_t n, const void *values)
{
    return (tag == GRID_GEO_ASCII ? TIFFSetField(tif, tag, values)
                                  : TIFFSetField(tif, tag, (int)n, values)) == 1;
}

/* Keys without a coordinate system make one without a name of the plane: they say no more than that
 * a cell is an area, which is so without them. */
static bool says_nothing(const struct grid_tag *tag)
{
    static const uint16_t area[] = {1, 1, 0, 1, RASTER_TYPE, 0, 1, 1}; /* but for the revision */
    const uint16_t *const keys = tag->values;
    return tag->number == GRID_GEO_KEYS && tag->type == GRID_SHORT &&
           tag->count == sizeof area / sizeof area[0] && keys[0] == area[0] &&
           memcmp(keys + 3, area + 3, sizeof area - 3 * sizeof area[0]) == 0;
}

/* Whether a GeoTIFF can hold the coordinate system of that .prj. */
enum { MAX_PRJ = 2300 }; /* GDAL reads 2400 bytes */

static bool holds_prj(const char *prj)
{
    return (strncasecmp(prj, "PROJCS[", 7) == 0 || strncasecmp(prj, "GEOGCS[", 7) == 0) &&
           strchr(prj, '|') == NULL && strlen(prj) < MAX_PRJ; /* | ends a text in this tag */
}

/* The coordinate system of a .prj as ESRI writes it: in the citation of a model that is
 * user-defined. Nothing without one. */
static bool put_keys(TIFF *tif, const char *prj)
{
    enum { USER_DEFINED = 32767 };
    char text[MAX_PRJ + 32];
    if (prj == NULL || !holds_prj(prj)) {
        return true;
    }
    const int n_text = snprintf(text, sizeof text, "ESRI PE String = %s|", prj);
    const uint16_t keys[][4] = {{1, 1, 0, 3}, /* version, revision, keys */
                                {MODEL_TYPE, 0, 1, USER_DEFINED},
                                {RASTER_TYPE, 0, 1, 1},
                                {CITATION, GRID_GEO_ASCII, (uint16_t)n_text, 0}};
    return put_values(tif, GRID_GEO_KEYS, sizeof keys / sizeof **keys, keys) &&
           put_values(tif, GRID_GEO_ASCII, strlen(text) + 1, text);
}

/* Tags that were read: as they were. */
static bool put_place(TIFF *tif, const struct grid *g)
{
    bool ok = true;
    for (size_t i = 0; i < g->n_tags; i++) {
        const struct grid_tag *const tag = &g->tags[i];
        ok = ok && (says_nothing(tag) || put_values(tif, tag->number, tag->count, tag->values));
    }
    if (g->n_tags > 0 || !g->has_origin) {
        return ok;
    }
    const struct grid_extent e = grid_extent_of(g);
    const double scale[3] = {g->cell_x, g->cell_y, 0}, tie[6] = {0, 0, 0, e.west, e.north, 0};
    const double matrix[16] = {g->cell_x, 0, 0, e.west, 0, -g->cell_y, 0, e.north, [15] = 1};
    ok = g->cell_y > 0 /* GDAL takes no scale for one of rows that go north */
             ? put_values(tif, GRID_PIXEL_SCALE, 3, scale) && put_values(tif, GRID_TIEPOINT, 6, tie)
             : put_values(tif, GRID_TRANSFORMATION, 16, matrix);
    return ok && put_keys(tif, g->prj);
}

/* As GDAL says it, for whom the unit is else that of the coordinate system's heights. */
static bool put_unit(TIFF *tif, const char *unit)
{
    char text[160];
    (void)snprintf(text, sizeof text,
                   "<GDALMetadata>\n  <Item name=\"UNITTYPE\" sample=\"0\" "
                   "role=\"unittype\">%s</Item>\n</GDALMetadata>\n",
                   unit != NULL ? unit : "");
    return unit == NULL || TIFFSetField(tif, TIFF_TAGS_METADATA, text) == 1;
}

static bool put_fields(TIFF *tif, const struct raster_source *s)
{
    const struct raster_tif *const t = s->state;
    const struct raster *const r = &s->raster;
    const bool is_float = r->type != RASTER_I32;
    const struct {
        uint32_t tag, value;
    } numbers[] = {
        {TIFFTAG_IMAGEWIDTH, (uint32_t)r->grid->columns},
        {TIFFTAG_IMAGELENGTH, (uint32_t)r->grid->rows},
        {TIFFTAG_BITSPERSAMPLE, (uint32_t)(8 * raster_type_bytes(r->type))},
        {TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE},
        {TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK},
        {TIFFTAG_SAMPLESPERPIXEL, 1},
        {TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG},
        {TIFFTAG_PREDICTOR, is_float ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL},
        {TIFFTAG_TILEWIDTH, (uint32_t)t->tiling.columns},
        {TIFFTAG_TILELENGTH, (uint32_t)t->tiling.rows},
        {TIFFTAG_SAMPLEFORMAT, is_float ? SAMPLEFORMAT_IEEEFP : SAMPLEFORMAT_INT},
    };
    bool ok = true;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        ok = ok && TIFFSetField(tif, numbers[i].tag, numbers[i].value) == 1;
    }
    return ok && put_place(tif, r->grid) && put_unit(tif, r->unit) &&
           (s->nodata[0] == '\0' || TIFFSetField(tif, TIFF_TAGS_NODATA, s->nodata) == 1);
}

static TIFF *open_tiff(struct sink *sink, bool big)
{
    TIFFOpenOptions *const options = TIFFOpenOptionsAlloc();
    tiff_tags_know();
    if (options == NULL) {
        return NULL;
    }
    TIFFOpenOptionsSetErrorHandlerExtR(options, note_complaint, sink);
    TIFFOpenOptionsSetWarningHandlerExtR(options, note_complaint, sink);
    TIFF *const tif = TIFFClientOpenExt("tif", big ? "w8l" : "wl", sink, read_nothing, write_sink,
                                        seek_sink, close_nothing, sink_size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tif;
}

enum status raster_tif_end(const struct raster_source *s, bool big, struct bytes *out)
{
    struct raster_tif *const t = s->state;
    struct sink sink = {.header = t->header, .tiles_end = PACK_HEADER_BYTES};
    TIFF *const tif = open_tiff(&sink, big);
    bool ok = tif != NULL && put_fields(tif, s);
    for (size_t i = 0; ok && i < t->n_tiles; i++) {
        const tmsize_t n = t->tile_bytes[i];
        ok = TIFFWriteRawTile(tif, (uint32_t)i, t, n) == n; /* its bytes are not looked at */
    }
    sink.has_tiles = true;
    ok = ok && TIFFWriteDirectory(tif) == 1;
    if (tif != NULL) {
        TIFFCleanup(tif);
    }
    const enum status st =
        ok ? bytes_append(out, sink.directory.data, sink.directory.len)
           : status_fail(STATUS_NO_MEMORY,
                         "no memory for the directory of a GeoTIFF of %zu tiles (libtiff: %s)",
                         t->n_tiles, sink.first);
    bytes_free(&sink.directory);
    return st;
}

/* --- pieces ----------------------------------------------------------------------------------- */

static bool tif_says_system(const struct raster *raster)
{
    const char *const prj = raster->grid->prj; /* NULL: none, or tags say it, which are kept */
    return prj == NULL || holds_prj(prj);
}

static enum status tif_open(struct raster_source *s, uint64_t *n_pieces)
{
    const struct grid *const g = s->grid;
    struct raster_tif *const t = calloc(1, sizeof *t);
    if (t == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to write a grid");
    }
    s->state = t;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    t->tiling = tiling_of(g);
    if (checked_mul(t->tiling.across, t->tiling.down, &t->n_tiles)) {
        t->tile_bytes = calloc(t->n_tiles, sizeof *t->tile_bytes);
    }
    *n_pieces = t->n_tiles;
    return t->tile_bytes != NULL
               ? STATUS_OK
               : status_fail(STATUS_NO_MEMORY, "no memory to write a grid of %zu x %zu cells",
                             g->rows, g->columns);
}

static void tif_close(struct raster_source *s)
{
    struct raster_tif *const t = s->state;
    if (t != NULL) {
        free(t->tile_bytes);
        pthread_cond_destroy(&t->changed);
        pthread_mutex_destroy(&t->lock);
        free(t);
    }
}

/* Appends a tile and lets the last piece know its size. */
static enum status put_measured(const struct raster_source *s, size_t index, struct bytes *out)
{
    struct raster_tif *const t = s->state;
    const size_t before = out->len;
    pthread_mutex_lock(&t->lock);
    const bool is_first = t->tile_bytes[index] == 0;
    if (is_first) {
        t->tile_bytes[index] = being_made;
    }
    pthread_mutex_unlock(&t->lock);
    const enum status st = put_tile(s, index, out);
    if (is_first) {
        pthread_mutex_lock(&t->lock);
        t->tile_bytes[index] = st == STATUS_OK ? (uint32_t)(out->len - before) : 0;
        pthread_cond_broadcast(&t->changed);
        pthread_mutex_unlock(&t->lock);
    }
    return st;
}

/* Sees to it that the tile's size is known. */
static enum status measure(const struct raster_source *s, size_t index)
{
    struct raster_tif *const t = s->state;
    struct bytes unused = {.len = 0};
    pthread_mutex_lock(&t->lock);
    while (t->tile_bytes[index] == being_made) {
        pthread_cond_wait(&t->changed, &t->lock);
    }
    const bool is_known = t->tile_bytes[index] != 0;
    pthread_mutex_unlock(&t->lock);
    const enum status st = is_known ? STATUS_OK : put_measured(s, index, &unused);
    bytes_free(&unused);
    return st;
}

/* BigTIFF only where the file does not fit otherwise. */
static enum status put_end(const struct raster_source *s, struct bytes *out)
{
    enum { DIRECTORY_BYTES = 16 << 20 }; /* at most: tags, and places of the tiles of 2^31 cells */
    const struct raster_tif *const t = s->state;
    uint64_t bytes = DIRECTORY_BYTES;
    for (size_t i = 0; i < t->n_tiles; i++) {
        STATUS_TRY(measure(s, i));
        bytes += t->tile_bytes[i];
    }
    return raster_tif_end(s, bytes > UINT32_MAX, out);
}

static enum status tif_piece(struct raster_source *s, uint64_t index, struct bytes *out)
{
    static const unsigned char header[PACK_HEADER_BYTES]; /* as long as it is not known */
    const struct raster_tif *const t = s->state;
    STATUS_TRY(index == 0 ? bytes_append(out, header, sizeof header) : STATUS_OK);
    STATUS_TRY(put_measured(s, (size_t)index, out));
    return index + 1 == t->n_tiles ? put_end(s, out) : STATUS_OK;
}

static const unsigned char *tif_header(const struct raster_source *s)
{
    const struct raster_tif *const t = s->state;
    return t->header;
}

const struct raster_file_ops raster_tif_ops = {
    .suffix = ".tif",
    .kind = PACK_RAW,
    .open = tif_open,
    .piece = tif_piece,
    .header = tif_header,
    .close = tif_close,
    .says_system = tif_says_system,
};
