/*
 * raster_tif - a GeoTIFF in pieces that are made on several threads.
 *
 * The file is header, directory, tiles, as cloud-optimised ones are; the directory holds every
 * tile's place. So there are two passes over the pieces: asked for one of the first, empty ones, a
 * group of tiles is deflated and kept; then comes the head, then the groups are handed out. Pieces
 * may be asked for in any order: what is missing is made there and then, by exactly one thread.
 * What there is no room to keep is only measured in the first pass, and made again in the second.
 *
 * A tile is gathered, predicted, deflated. Floats: predictor 3 (Adobe Photoshop TIFF Technical Note
 * 3): each row's bytes are sorted by significance, all highest bytes first, and replaced by their
 * differences to the byte before. Integers: predictor 2, differences of the numbers. Beyond the
 * grid's edges a tile repeats the last column and row, which costs nothing after a predictor.
 *
 * After differences, what repeats is runs of one byte, zeros above all, and what does not are low
 * bits that look like noise. So zlib is told to look for runs alone (Z_RLE): on terrain of doubles
 * that gives 2 % more bytes than level 6 in a third of its time, on mostly empty maps none.
 *
 * Little-endian on every machine. Sources: TIFF 6.0; BigTIFF (libtiff's design document: 64-bit
 * counts and offsets, entries of 20 bytes); OGC GeoTIFF 1.1; GDAL's tags 42112 and 42113.
 */
#include "formats/result/raster_file.h"

#include "formats/base/checked.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

enum {
    TILE = 256,            /* a tile's side, where the grid's is not shorter ... */
    TILE_STEP = 16,        /* ... than this many cells less */
    GROUP_BYTES = 1 << 20, /* raw bytes of the tiles that are deflated in one piece */
    GROUP_TILES = GROUP_BYTES / (TILE * TILE_STEP * 4), /* at most */
    DEFLATE_LEVEL = 6                                   /* Z_RLE is the same at all of them */
};

/* How a grid is cut. TIFF wants sides that are multiples of 16: a small grid is one small tile. */
struct tiling {
    size_t rows, columns; /* of a tile */
    size_t across, down;  /* tiles */
};

/* Tiles that are deflated together. */
struct group {
    enum { GROUP_NONE, GROUP_RUNNING, GROUP_KEPT } state;
    bool measured;     /* the sizes of its tiles are known */
    struct bytes data; /* GROUP_KEPT: the tiles, one after the other */
};

struct tif {
    struct tiling tiling;
    size_t n_tiles, group_tiles, n_groups;
    uint32_t *tile_bytes; /* [n_tiles], deflated */
    struct group *groups;
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
        const uint32_t step = v - before;
        before = v;
        for (size_t b = 0; b < 4; b++) {
            out[4 * i + b] = (unsigned char)(step >> (8 * b));
        }
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
    const struct tif *const tif = s->state;
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

static enum status deflate_tile(z_stream *z, unsigned char *raw, size_t n, struct bytes *out)
{
    STATUS_TRY(bytes_reserve(out, deflateBound(z, n)));
    const size_t room = out->cap - out->len < UINT_MAX ? out->cap - out->len : UINT_MAX;
    z->next_in = raw;
    z->avail_in = (uInt)n;
    z->next_out = out->data + out->len;
    z->avail_out = (uInt)room;
    if (deflateReset(z) != Z_OK || deflate(z, Z_FINISH) != Z_STREAM_END) {
        return status_fail(STATUS_INTERNAL, "a tile of %zu bytes cannot be deflated", n);
    }
    out->len += room - z->avail_out;
    return STATUS_OK;
}

/* Appends tiles first .. first + n_tiles - 1, deflated; their sizes go to sizes[0 .. n_tiles). */
static enum status put_tiles(const struct raster_source *s, size_t first, size_t n_tiles,
                             struct bytes *out, uint32_t *sizes)
{
    const struct tif *const tif = s->state;
    const size_t n = tif->tiling.rows * tif->tiling.columns * raster_type_bytes(s->raster.type);
    unsigned char *const raw = malloc(n);
    z_stream z = {.next_in = NULL};
    if (raw == NULL || deflateInit2(&z, DEFLATE_LEVEL, Z_DEFLATED, 15, 9, Z_RLE) != Z_OK) {
        free(raw);
        return status_fail(STATUS_NO_MEMORY, "no memory for a tile of %zu bytes", n);
    }
    enum status st = STATUS_OK;
    for (size_t i = 0; i < n_tiles && st == STATUS_OK; i++) {
        const size_t before = out->len;
        st = make_tile(s, first + i, raw);
        st = st == STATUS_OK ? deflate_tile(&z, raw, n, out) : st;
        sizes[i] = (uint32_t)(out->len - before);
    }
    deflateEnd(&z);
    free(raw);
    return st;
}

/* --- the directory ---------------------------------------------------------------------------- */

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
    GDAL_METADATA = 42112,
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

static void put_bytes(struct writer *w, struct bytes *to, const void *data, size_t n)
{
    bytes_put(to, data, n, &w->st);
}

static void put(struct writer *w, struct bytes *to, uint64_t v, size_t n)
{
    bytes_put_le(to, v, n, &w->st);
}

/* Ends an entry whose `n` bytes of values lie at values[from ..]: into the entry when they fit. */
static void end_entry(struct writer *w, size_t from)
{
    const size_t n = w->values.len - from, room = w->big ? 8 : 4;
    if (n <= room) {
        put_bytes(w, &w->entries, w->values.data + from, n);
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

/* An entry of one number. */
static void put_number(struct writer *w, unsigned tag, unsigned type, uint64_t value)
{
    const size_t from = begin_entry(w, tag, type, 1);
    put(w, &w->values, value, type == SHORT ? 2 : 4);
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
    put_bytes(w, &w->values, text, n);
    end_entry(w, from);
}

/* The tiles' places, the first at `at`; or their sizes. */
static void put_places(struct writer *w, unsigned tag, const struct tif *t, uint64_t at)
{
    const size_t width = w->big ? 8 : 4;
    const size_t from = begin_entry(w, tag, w->big ? LONG8 : LONG, t->n_tiles);
    for (size_t i = 0; i < t->n_tiles; i++) {
        put(w, &w->values, tag == TILE_OFFSETS ? at : t->tile_bytes[i], width);
        at += t->tile_bytes[i];
    }
    end_entry(w, from);
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

/* Whether a GeoTIFF can hold the coordinate system of that .prj. */
static bool holds_prj(const char *prj)
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
    if (prj == NULL || !holds_prj(prj)) {
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
    } else if (g->has_origin) {
        const double scale[3] = {g->cell_x, g->cell_y, 0};
        const double tie[6] = {0, 0, 0, grid_extent_of(g).west, grid_extent_of(g).north, 0};
        put_doubles(w, GRID_PIXEL_SCALE, scale, 3);
        put_doubles(w, GRID_TIEPOINT, tie, 6);
        put_keys(w, g->prj);
    }
}

/* As GDAL says it, for whom the unit is else that of the coordinate system's heights. */
static void put_unit(struct writer *w, const char *unit)
{
    char text[160];
    if (unit != NULL) {
        const int n = snprintf(text, sizeof text,
                               "<GDALMetadata>\n  <Item name=\"UNITTYPE\" sample=\"0\" "
                               "role=\"unittype\">%s</Item>\n</GDALMetadata>\n",
                               unit);
        put_ascii(w, GDAL_METADATA, text, (size_t)n + 1);
    }
}

/* Writes the entries as if the values began at values_at and the tiles at tiles_at. */
static void put_entries(struct writer *w, const struct raster_source *s, uint64_t values_at,
                        uint64_t tiles_at)
{
    const struct tif *const t = s->state;
    const struct raster *const r = &s->raster;
    const bool is_float = r->type != RASTER_I32;
    w->n = 0;
    w->values_at = values_at;
    bytes_clear(&w->entries);
    bytes_clear(&w->values);
    put_number(w, WIDTH, LONG, r->grid->columns);
    put_number(w, LENGTH, LONG, r->grid->rows);
    put_number(w, BITS, SHORT, (unsigned)(8 * raster_type_bytes(r->type)));
    put_number(w, COMPRESSION, SHORT, 8); /* deflate in zlib's wrapping */
    put_number(w, PHOTOMETRIC, SHORT, 1); /* the smallest number is black */
    put_number(w, SAMPLES, SHORT, 1);
    put_number(w, PLANAR, SHORT, 1);
    put_number(w, PREDICTOR, SHORT, is_float ? 3 : 2);
    put_number(w, TILE_WIDTH, SHORT, (unsigned)t->tiling.columns);
    put_number(w, TILE_LENGTH, SHORT, (unsigned)t->tiling.rows);
    put_places(w, TILE_OFFSETS, t, tiles_at);
    put_places(w, TILE_BYTES, t, 0);
    put_number(w, SAMPLE_FORMAT, SHORT, is_float ? 3 : 2);
    put_place(w, r->grid);
    put_unit(w, r->unit);
    if (s->nodata[0] != '\0') {
        put_ascii(w, GDAL_NODATA, s->nodata, strlen(s->nodata) + 1);
    }
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

enum status raster_tif_head(const struct raster_source *s, bool big, struct bytes *out,
                            uint64_t *end)
{
    const struct tif *const tif = s->state;
    struct writer w = {.big = big, .st = STATUS_OK};
    put_entries(&w, s, 0, 0); /* to learn the lengths, which depend on no offset */
    const size_t head = (big ? 16 + 8 : 8 + 2) + w.entries.len + (big ? 8 : 4);
    const size_t padding = (8 - head % 8) % 8, tiles_at = head + padding + w.values.len;
    put_entries(&w, s, head + padding, tiles_at);
    put_header(&w, out);
    put_bytes(&w, out, w.entries.data, w.entries.len);
    put(&w, out, 0, big ? 8 : 4); /* no further directory */
    put(&w, out, 0, padding);
    put_bytes(&w, out, w.values.data, w.values.len);
    *end = tiles_at;
    for (size_t i = 0; i < tif->n_tiles; i++) {
        *end += tif->tile_bytes[i];
    }
    bytes_free(&w.entries);
    bytes_free(&w.values);
    return w.st;
}

/* --- pieces ----------------------------------------------------------------------------------- */

static bool tif_says_system(const struct raster *raster)
{
    const struct grid *const g = raster->grid;
    return g->n_tags > 0 || g->prj == NULL || holds_prj(g->prj);
}

static size_t tif_kept_bytes(const struct raster *raster)
{
    const struct tiling cut = tiling_of(raster->grid);
    /* what deflate cannot shrink it stores: 5 bytes more for 64 KiB, and a few around it */
    const size_t raw = cut.rows * cut.columns * raster_type_bytes(raster->type);
    size_t tiles, bytes;
    if (!checked_mul(cut.across, cut.down, &tiles) ||
        !checked_mul(tiles, raw + raw / 1024 + 64, &bytes)) {
        bytes = SIZE_MAX;
    }
    return raster->keep_bytes > 0 && raster->keep_bytes < bytes ? raster->keep_bytes : bytes;
}

/* The pieces are n_groups empty ones, the head, n_groups of tiles. */
static enum status tif_open(struct raster_source *s, uint64_t *n_pieces)
{
    const struct grid *const g = s->grid;
    const struct tiling cut = tiling_of(g);
    const size_t tile_bytes = cut.rows * cut.columns * raster_type_bytes(s->raster.type);
    const size_t group_tiles = GROUP_BYTES / tile_bytes;
    struct tif *const t = calloc(1, sizeof *t);
    if (t == NULL || !checked_mul(cut.across, cut.down, &t->n_tiles)) {
        free(t);
        return status_fail(STATUS_NO_MEMORY, "no memory to write a grid");
    }
    s->state = t;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    t->tiling = cut;
    t->group_tiles = group_tiles < GROUP_TILES ? group_tiles : GROUP_TILES;
    t->n_groups = (t->n_tiles - 1) / t->group_tiles + 1;
    t->tile_bytes = calloc(t->n_tiles, sizeof *t->tile_bytes);
    t->groups = calloc(t->n_groups, sizeof *t->groups);
    *n_pieces = 2 * (uint64_t)t->n_groups + 1;
    return t->tile_bytes != NULL && t->groups != NULL
               ? STATUS_OK
               : status_fail(STATUS_NO_MEMORY, "no memory to write a grid of %zu x %zu cells",
                             g->rows, g->columns);
}

static void tif_close(struct raster_source *s)
{
    struct tif *const t = s->state;
    if (t == NULL) {
        return;
    }
    for (size_t i = 0; t->groups != NULL && i < t->n_groups; i++) {
        bytes_free(&t->groups[i].data);
    }
    free(t->groups);
    free(t->tile_bytes);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* What is kept takes no more memory than it has bytes, as tif_kept_bytes() says. */
static void give_back_room(struct bytes *b)
{
    unsigned char *const data = b->len > 0 ? realloc(b->data, b->len) : NULL;
    if (data != NULL) {
        b->data = data;
        b->cap = b->len;
    }
}

/* Sees to it that the group is kept (or only measured). The lock is held, but not while tiles are
 * being deflated. */
static enum status ensure_group(struct raster_source *s, size_t index, bool kept)
{
    struct tif *const t = s->state;
    struct group *const g = &t->groups[index];
    while (g->state == GROUP_RUNNING) {
        pthread_cond_wait(&t->changed, &t->lock);
    }
    if (g->state == GROUP_KEPT || (g->measured && !kept)) {
        return STATUS_OK;
    }
    g->state = GROUP_RUNNING;
    pthread_mutex_unlock(&t->lock);
    struct bytes data = {.len = 0};
    uint32_t sizes[GROUP_TILES];
    const size_t first = index * t->group_tiles, left = t->n_tiles - first;
    const size_t n = left < t->group_tiles ? left : t->group_tiles;
    const enum status st = put_tiles(s, first, n, &data, sizes);
    if (st == STATUS_OK) {
        give_back_room(&data);
    }
    pthread_mutex_lock(&t->lock);
    if (st == STATUS_OK && !g->measured) {
        memcpy(t->tile_bytes + first, sizes, n * sizeof *sizes);
        g->measured = true;
    }
    const size_t most = s->raster.keep_bytes;
    const bool has_room = kept || most == 0 || s->kept_bytes + data.cap <= most;
    if (st == STATUS_OK && has_room) {
        g->data = data;
        g->state = GROUP_KEPT;
        s->kept_bytes += data.cap;
    } else {
        bytes_free(&data);
        g->state = GROUP_NONE;
    }
    pthread_cond_broadcast(&t->changed);
    return st;
}

/* The head; BigTIFF only where the file does not fit otherwise. The lock is held. */
static enum status put_head(struct raster_source *s, struct bytes *out)
{
    const struct tif *const t = s->state;
    const size_t before = out->len;
    uint64_t end = 0;
    for (size_t i = 0; i < t->n_groups; i++) {
        STATUS_TRY(ensure_group(s, i, false));
    }
    const enum status st = raster_tif_head(s, false, out, &end);
    if (st != STATUS_OK || end <= UINT32_MAX) {
        return st;
    }
    out->len = before;
    return raster_tif_head(s, true, out, &end);
}

/* The tiles of a group, which is kept no longer. The lock is held. */
static enum status put_group(struct raster_source *s, size_t index, struct bytes *out)
{
    struct tif *const t = s->state;
    struct group *const g = &t->groups[index];
    STATUS_TRY(ensure_group(s, index, true));
    const enum status st = bytes_append(out, g->data.data, g->data.len);
    s->kept_bytes -= g->data.cap;
    bytes_free(&g->data);
    g->state = GROUP_NONE;
    return st;
}

static enum status tif_piece(struct raster_source *s, uint64_t index, struct bytes *out)
{
    struct tif *const t = s->state;
    enum status st = STATUS_OK;
    assert(index <= 2 * (uint64_t)t->n_groups);
    pthread_mutex_lock(&t->lock);
    if (index > t->n_groups) {
        st = put_group(s, (size_t)(index - t->n_groups - 1), out);
    } else if (index == t->n_groups) {
        st = put_head(s, out);
    } else if (t->groups[index].state != GROUP_RUNNING) { /* else there is nothing to wait for */
        st = ensure_group(s, (size_t)index, false);
    }
    pthread_mutex_unlock(&t->lock);
    return st;
}

const struct raster_file_ops raster_tif_ops = {
    .suffix = ".tif",
    .kind = PACK_RAW,
    .open = tif_open,
    .piece = tif_piece,
    .close = tif_close,
    .says_system = tif_says_system,
    .kept_bytes = tif_kept_bytes,
};
