/*
 * raster_directory - what stands before the tiles of a GeoTIFF: header, one directory, the values
 * that do not fit into its entries.
 *
 * Little-endian on every machine. Sources: TIFF 6.0; BigTIFF (libtiff's design document: 64-bit
 * counts and offsets, entries of 20 bytes); OGC GeoTIFF 1.1; GDAL's tag 42113.
 */
#include "formats/base/shortest.h"
#include "formats/result/raster_file.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { ASCII = 2, SHORT = 3, LONG = 4, DOUBLE = 12, LONG8 = 16 }; /* types of TIFF */

enum {
    WIDTH = 256,
    LENGTH = 257,
    BITS = 258,
    COMPRESSION = 259,
    PHOTOMETRIC = 262,
    SAMPLES = 277,
    PLANAR = 284,
    PREDICTOR = 317,
    TILE_WIDTH = 322,
    TILE_LENGTH = 323,
    TILE_OFFSETS = 324,
    TILE_BYTES = 325,
    SAMPLE_FORMAT = 339,
    GDAL_NODATA = 42113
};

enum { MODEL_TYPE = 1024, RASTER_TYPE = 1025, CITATION = 3073 }; /* keys of GeoTIFF */

enum { MAX_ENTRIES = 24 };

/* The directory being written: entries in the order of their tags, values behind them. */
struct writer {
    bool big;
    uint64_t values_at; /* where the values begin in the file */
    size_t n;
    struct bytes entries, values;
    enum status st; /* of the first failure */
};

static void put(struct writer *w, struct bytes *to, uint64_t v, size_t n)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (unsigned char)(v >> (8 * i));
    }
    if (w->st == STATUS_OK) {
        w->st = bytes_append(to, bytes, n);
    }
}

/* Ends an entry whose `n` bytes of values lie at values[from ..]: into the entry when they fit. */
static void end_entry(struct writer *w, size_t from)
{
    const size_t n = w->values.len - from, room = w->big ? 8 : 4;
    if (n <= room) {
        if (w->st == STATUS_OK) {
            w->st = bytes_append(&w->entries, w->values.data + from, n);
        }
        w->values.len = from;
        put(w, &w->entries, 0, room - n);
        return;
    }
    put(w, &w->entries, w->values_at + from, room);
    put(w, &w->values, 0, (8 - w->values.len % 8) % 8);
}

/* Begins an entry; its values go to w->values. Returns where they begin. */
static size_t begin_entry(struct writer *w, unsigned tag, unsigned type, uint64_t count)
{
    assert(w->n < MAX_ENTRIES);
    w->n++;
    put(w, &w->entries, tag, 2);
    put(w, &w->entries, type, 2);
    put(w, &w->entries, count, w->big ? 8 : 4);
    return w->values.len;
}

static void put_short(struct writer *w, unsigned tag, unsigned value)
{
    const size_t from = begin_entry(w, tag, SHORT, 1);
    put(w, &w->values, value, 2);
    end_entry(w, from);
}

static void put_long(struct writer *w, unsigned tag, uint64_t value)
{
    const size_t from = begin_entry(w, tag, LONG, 1);
    put(w, &w->values, value, 4);
    end_entry(w, from);
}

static void put_doubles(struct writer *w, unsigned tag, const double *values, size_t n)
{
    const size_t from = begin_entry(w, tag, DOUBLE, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        put(w, &w->values, bits, 8);
    }
    end_entry(w, from);
}

static void put_shorts(struct writer *w, unsigned tag, const uint16_t *values, size_t n)
{
    const size_t from = begin_entry(w, tag, SHORT, n);
    for (size_t i = 0; i < n; i++) {
        put(w, &w->values, values[i], 2);
    }
    end_entry(w, from);
}

/* n bytes with the final NUL. */
static void put_ascii(struct writer *w, unsigned tag, const char *text, size_t n)
{
    const size_t from = begin_entry(w, tag, ASCII, n);
    if (w->st == STATUS_OK) {
        w->st = bytes_append(&w->values, text, n);
    }
    end_entry(w, from);
}

/* The tiles' places, the first at `at`; or their sizes. */
static void put_tiles(struct writer *w, unsigned tag, const struct raster_tif *t, uint64_t at)
{
    const size_t width = w->big ? 8 : 4;
    const size_t from = begin_entry(w, tag, w->big ? LONG8 : LONG, t->n_tiles);
    for (size_t i = 0; i < t->n_tiles; i++) {
        put(w, &w->values, tag == TILE_OFFSETS ? at : t->tile_bytes[i], width);
        at += t->tile_bytes[i];
    }
    end_entry(w, from);
}

/* --- place ------------------------------------------------------------------------------------ */

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

/* Tags that were read: as they were. */
static void put_tags(struct writer *w, const struct grid *g)
{
    static const enum grid_tag_number order[] = {GRID_PIXEL_SCALE,    GRID_TIEPOINT,
                                                 GRID_TRANSFORMATION, GRID_GEO_KEYS,
                                                 GRID_GEO_DOUBLES,    GRID_GEO_ASCII};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const struct grid_tag *const tag = grid_find_tag(g, order[i]);
        if (tag == NULL || says_nothing(tag)) {
            continue;
        }
        if (tag->type == GRID_DOUBLE) {
            put_doubles(w, tag->number, tag->values, tag->count);
        } else if (tag->type == GRID_SHORT) {
            put_shorts(w, tag->number, tag->values, tag->count);
        } else {
            put_ascii(w, tag->number, tag->values, tag->count);
        }
    }
}

bool raster_tif_says(const char *prj)
{
    enum { MAX_TEXT = 2300 }; /* GDAL reads 2400 bytes */
    return (strncasecmp(prj, "PROJCS[", 7) == 0 || strncasecmp(prj, "GEOGCS[", 7) == 0) &&
           strchr(prj, '|') == NULL && strlen(prj) < MAX_TEXT; /* | ends a text in this tag */
}

/* The coordinate system of a .prj as ESRI writes it: in the citation of a model that is
 * user-defined. Nothing without one. */
static void put_keys(struct writer *w, const char *prj)
{
    enum { USER_DEFINED = 32767 };
    static const char prefix[] = "ESRI PE String = ";
    if (prj == NULL || !raster_tif_says(prj)) {
        return;
    }
    const uint16_t n_text = (uint16_t)(sizeof prefix - 1 + strlen(prj) + 1);
    const uint16_t keys[] = {1,           1,
                             0,           3, /* version, revision, keys */
                             MODEL_TYPE,  0,
                             1,           USER_DEFINED,
                             RASTER_TYPE, 0,
                             1,           1,
                             CITATION,    GRID_GEO_ASCII,
                             n_text,      0};
    put_shorts(w, GRID_GEO_KEYS, keys, sizeof keys / sizeof keys[0]);
    const size_t from = begin_entry(w, GRID_GEO_ASCII, ASCII, n_text + 1U);
    if (w->st == STATUS_OK) {
        w->st = bytes_printf(&w->values, "%s%s|", prefix, prj);
    }
    put(w, &w->values, 0, 1);
    end_entry(w, from);
}

static void put_place(struct writer *w, const struct grid *g)
{
    if (g->n_tags > 0) {
        put_tags(w, g);
    } else if (g->has_place) {
        const double scale[3] = {g->cell_x, g->cell_y, 0};
        const double tie[6] = {0, 0, 0, grid_west(g), grid_north(g), 0};
        put_doubles(w, GRID_PIXEL_SCALE, scale, 3);
        put_doubles(w, GRID_TIEPOINT, tie, 6);
        put_keys(w, g->prj);
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

static void put_entries(struct writer *w, const struct raster_tif *t, uint64_t tiles_at)
{
    const struct raster *const r = &t->source.raster;
    const bool is_float = r->type != RASTER_I32;
    char nodata[SHORTEST_BYTES + 1];
    put_long(w, WIDTH, r->grid->columns);
    put_long(w, LENGTH, r->grid->rows);
    put_short(w, BITS, (unsigned)(8 * raster_type_bytes(r->type)));
    put_short(w, COMPRESSION, 8); /* deflate in zlib's wrapping */
    put_short(w, PHOTOMETRIC, 1); /* the smallest number is black */
    put_short(w, SAMPLES, 1);
    put_short(w, PLANAR, 1);
    put_short(w, PREDICTOR, is_float ? 3 : 2);
    put_short(w, TILE_WIDTH, (unsigned)t->tiling.columns);
    put_short(w, TILE_LENGTH, (unsigned)t->tiling.rows);
    put_tiles(w, TILE_OFFSETS, t, tiles_at);
    put_tiles(w, TILE_BYTES, t, 0);
    put_short(w, SAMPLE_FORMAT, is_float ? 3 : 2);
    put_place(w, r->grid);
    const size_t n = raster_nodata_text(r, nodata);
    if (n > 0) {
        nodata[n] = '\0';
        put_ascii(w, GDAL_NODATA, nodata, n + 1);
    }
}

/* Writes the entries as if the values began at values_at and the tiles at tiles_at. */
static void write_entries(struct writer *w, const struct raster_tif *t, uint64_t values_at,
                          uint64_t tiles_at)
{
    w->n = 0;
    w->values_at = values_at;
    bytes_clear(&w->entries);
    bytes_clear(&w->values);
    put_entries(w, t, tiles_at);
}

static void put_header(struct writer *w, struct bytes *out)
{
    put(w, out, 'I' | 'I' << 8, 2);
    put(w, out, w->big ? 43 : 42, 2);
    if (w->big) {
        put(w, out, 8, 2); /* bytes of an offset */
        put(w, out, 0, 2);
        put(w, out, 16, 8); /* the directory follows */
        put(w, out, w->n, 8);
    } else {
        put(w, out, 8, 4);
        put(w, out, w->n, 2);
    }
}

enum status raster_tif_head(const struct raster_tif *tif, bool big, struct bytes *out,
                            uint64_t *end)
{
    struct writer w = {.big = big, .st = STATUS_OK};
    struct bytes text = {.len = 0};
    write_entries(&w, tif, 0, 0); /* to learn the lengths, which depend on no offset */
    const size_t head = (big ? 16 + 8 : 8 + 2) + w.entries.len + (big ? 8 : 4);
    const size_t values_at = (head + 7) / 8 * 8, tiles_at = values_at + w.values.len;
    write_entries(&w, tif, values_at, tiles_at);
    put_header(&w, &text);
    if (w.st == STATUS_OK) {
        w.st = bytes_append(&text, w.entries.data, w.entries.len);
    }
    put(&w, &text, 0, big ? 8 : 4); /* no further directory */
    put(&w, &text, 0, values_at - head);
    if (w.st == STATUS_OK) {
        w.st = bytes_append(&text, w.values.data, w.values.len);
    }
    if (w.st == STATUS_OK) {
        w.st = bytes_append(out, text.data, text.len);
    }
    *end = tiles_at;
    for (size_t i = 0; i < tif->n_tiles; i++) {
        *end += tif->tile_bytes[i];
    }
    bytes_free(&text);
    bytes_free(&w.entries);
    bytes_free(&w.values);
    return w.st;
}
