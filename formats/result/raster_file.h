/*
 * raster_file - a raster on its way to a file: what its formats share; for formats/raster*.c alone.
 */
#ifndef LEAT_FORMATS_RESULT_RASTER_FILE_H
#define LEAT_FORMATS_RESULT_RASTER_FILE_H

#include "formats/result/raster.h"

#include <pthread.h>

/* A raster and its cells. */
struct raster_source {
    struct raster raster;
    struct grid *grid; /* owned; what raster.grid points to */
    result_fetch_fn *fetch;
    void *context;
    void (*free_context)(void *);
};

void raster_source_free(struct raster_source *s);

/* NODATA as text, when the raster's type can hold it: its length, else 0. */
size_t raster_nodata_text(const struct raster *raster, char *text);

/* --- GeoTIFF ---------------------------------------------------------------------------------- */

enum {
    RASTER_TILE = 256,            /* a tile's side, where the grid's is not shorter ... */
    RASTER_TILE_STEP = 16,        /* ... than this many cells less */
    RASTER_GROUP_BYTES = 1 << 20, /* raw bytes of the tiles that are deflated in one piece */
    RASTER_GROUP_TILES = RASTER_GROUP_BYTES / (RASTER_TILE * RASTER_TILE_STEP * 4) /* at most */
};

/* How a grid is cut. TIFF wants sides that are multiples of 16: a small grid is one small tile. */
struct raster_tiling {
    size_t rows, columns; /* of a tile */
    size_t across, down;  /* tiles */
};
struct raster_tiling raster_tiling_of(const struct grid *g);

/* Tiles that are deflated together. */
struct raster_group {
    enum { GROUP_NONE, GROUP_RUNNING, GROUP_KEPT } state;
    bool measured;     /* the sizes of its tiles are known */
    struct bytes data; /* GROUP_KEPT: the tiles, one after the other */
};

struct raster_tif {
    struct raster_source source;
    struct raster_tiling tiling;
    size_t n_tiles, group_tiles, n_groups;
    uint32_t *tile_bytes; /* [n_tiles], deflated */
    struct raster_group *groups;
    size_t kept_bytes; /* of all groups that are kept */
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* Takes over the source's content, also on failure. */
enum status raster_tif_new(struct raster_source *source, struct raster_tif **out) STATUS_MUST_CHECK;
void raster_tif_free(void *tif);
/* 2 * n_groups + 1: n_groups empty ones, the head, n_groups of tiles. */
uint64_t raster_tif_pieces(const struct raster_tif *tif);
enum status raster_tif_piece(void *tif, uint64_t index, struct bytes *out) STATUS_MUST_CHECK;

/* Appends tiles first .. first + n - 1, deflated; their sizes go to sizes[0 .. n). */
enum status raster_tiles(const struct raster_tif *tif, size_t first, size_t n, struct bytes *out,
                         uint32_t *sizes) STATUS_MUST_CHECK;

/* Appends all that stands before the tiles: header, directory, values. BigTIFF when `big`. The
 * tiles' sizes must be known; *end is where the file ends. */
enum status raster_tif_head(const struct raster_tif *tif, bool big, struct bytes *out,
                            uint64_t *end) STATUS_MUST_CHECK;

/* Can it hold the coordinate system of that .prj? */
bool raster_tif_says(const char *prj);

/* --- text ------------------------------------------------------------------------------------- */

/* Pieces have so many cells, whatever the rows: each at most 26 bytes of text. */
enum { RASTER_TEXT_CELLS = PACK_PIECE_BYTES / 27 };

uint64_t raster_asc_pieces(const struct raster_source *s);
enum status raster_asc_piece(void *source, uint64_t index, struct bytes *out) STATUS_MUST_CHECK;

#endif
