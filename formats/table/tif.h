/*
 * tif - GeoTIFF grids through libtiff; for formats/table/tif*.c alone.
 *
 * A band is so many rows that whole strips, or whole rows of tiles, hold them. All handles read
 * through one descriptor.
 */
#ifndef LEAT_FORMATS_TABLE_TIF_H
#define LEAT_FORMATS_TABLE_TIF_H

#include "formats/geo/grid.h"
#include "formats/table/table_bands.h"

#include <isa-l.h>
#include <tiffio.h>

/* How the samples lie in the file. A strile is a strip or a tile. */
struct tif_shape {
    size_t rows, columns;
    enum table_kind kind;
    size_t sample_bytes;                     /* 1, 2, 4, 8; floats 2, 4, 8 */
    uint16_t scheme, predictor;              /* how they are compressed */
    bool tiled, deflated, swapped, reversed; /* swapped: not in this machine's byte order;
                                           reversed: the bits of each byte as stored */
    size_t strile_rows, strile_columns;      /* strips: strile_columns = columns */
    size_t striles_across, striles_down;
    size_t strile_bytes;   /* decoded; all columns and rows of a tile */
    size_t tile_bytes;     /* decoded, of a tile: without rows below an image that is lower */
    size_t packed_bytes;   /* the most that is read of one as stored */
    size_t band_striles;   /* rows of striles in a band */
    size_t band_rows;      /* = band_striles * strile_rows */
    size_t handle_bytes;   /* the most that a handle holds: codec, stored strile, tile, directory */
    unsigned char fill[8]; /* a sample of what the file does not store (sparse striles) */
};

/* One open handle and what its callbacks need. */
struct tif_handle {
    struct table_handle base;
    TIFF *tif;
    int fd; /* borrowed */
    uint64_t file_bytes, at;
    int error;           /* errno of a read that failed */
    char first[200];     /* libtiff's first complaint since tif_handle_forget */
    char lost[200];      /* what it says of a tag of ours that it could not read */
    unsigned char *tile; /* [tile_bytes], when tiled and used */
    struct inflate_state inflate;
};

/* Whether the values of the tags of each directory, which libtiff keeps, are of a size that it may
 * see; *bytes: of the first one. STATUS_TOO_LARGE; what cannot be read is left to libtiff. */
enum status tif_check_directories(const struct source *s, size_t *bytes) STATUS_MUST_CHECK;

/* Opens the first image's directory. STATUS_BAD_INPUT, _NO_MEMORY, _IO. */
enum status tif_handle_open(const struct source *s, struct tif_handle **out) STATUS_MUST_CHECK;
void tif_handle_free(struct tif_handle *h);
/* The status for a call of libtiff that failed: `what` is a file's name and place. */
enum status tif_handle_fail(const struct tif_handle *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tif_handle_forget(struct tif_handle *h);
/* A tag's values, of tiff_tags.h, borrowed. *n = 0: it is not there. STATUS_BAD_INPUT (more than
 * GRID_MAX_TAG_VALUES). */
enum status tif_handle_tag(const struct tif_handle *h, const char *name, uint32_t tag,
                           enum grid_tag_type type, uint32_t *n,
                           const void **values) STATUS_MUST_CHECK;

/* Reads the directory: *shape, checked against the file's size, and the grid. The table gets
 * warnings of what is not taken from the file. */
enum status tif_read_shape(struct table *t, struct tif_handle *h,
                           struct tif_shape *shape) STATUS_MUST_CHECK;
enum status tif_read_grid(struct table *t, struct tif_handle *h, struct tif_shape *shape,
                          struct grid **out) STATUS_MUST_CHECK;

/* The state of a GeoTIFF table. */
struct tif {
    struct table_bands bands;
    struct tif_shape shape;
    struct grid *grid;
};

/* Decodes band `index` into samples[]. */
enum status tif_band_decode(const struct tif_shape *shape, struct tif_handle *h, const char *name,
                            size_t index, unsigned char *samples) STATUS_MUST_CHECK;

/* The sample nearest to `value` when that is exactly one, else zero. */
void tif_narrow(const struct tif_shape *shape, double value, unsigned char *sample);

#endif
