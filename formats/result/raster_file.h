/*
 * raster_file - a raster on its way to a file: what its formats share; for formats/result/raster*.c
 * alone.
 */
#ifndef LEAT_FORMATS_RESULT_RASTER_FILE_H
#define LEAT_FORMATS_RESULT_RASTER_FILE_H

#include "formats/base/shortest.h"
#include "formats/result/raster.h"

/* A raster and its cells. */
struct raster_source {
    struct raster raster;
    struct grid *grid; /* owned; what raster.grid points to */
    result_fetch_fn *fetch;
    void *context;
    void (*free_context)(void *);
    char nodata[SHORTEST_BYTES + 1]; /* as text; "": none that the raster's type can hold */
    const struct raster_file_ops *ops;
    void *state; /* the format's */
};

/* One format. */
struct raster_file_ops {
    const char *suffix; /* of the file's name */
    enum pack_kind kind;
    /* Sets s->state, if any, and the number of pieces. */
    enum status (*open)(struct raster_source *s, uint64_t *n_pieces) STATUS_MUST_CHECK;
    /* As result_piece_fn. */
    enum status (*piece)(struct raster_source *s, uint64_t index,
                         struct bytes *out) STATUS_MUST_CHECK;
    /* As result_header_fn; NULL: the first piece has it. */
    const unsigned char *(*header)(const struct raster_source *s);
    /* Frees s->state, also after an `open` that failed; NULL: there is none. */
    void (*close)(struct raster_source *s);
    /* As raster_check and _says_system; NULL: all can be written. */
    enum status (*check)(const struct raster *raster, const char *name) STATUS_MUST_CHECK;
    bool (*says_system)(const struct raster *raster);
};

extern const struct raster_file_ops raster_asc_ops, raster_tif_ops;

/* Appends all that stands behind the tiles of a GeoTIFF, and makes its header; BigTIFF when `big`.
 * The tiles' sizes must be known. */
enum status raster_tif_end(const struct raster_source *s, bool big,
                           struct bytes *out) STATUS_MUST_CHECK;

#endif
