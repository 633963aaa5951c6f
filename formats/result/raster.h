/*
 * raster - grids as results: GeoTIFF (tiles of 256 x 256 at most, deflated after a predictor) or
 * gzipped ESRI ASCII text with the shortest numbers that read back as the same ones.
 *
 * The place is carried from the grid that was read: GeoTIFF tags verbatim; an .asc's origin and
 * cell size as tags and the other way round. The .prj of an .asc goes into a GeoTIFF as ESRI's own
 * citation, which GDAL understands, and beside an .asc.gz as NAME.prj.
 */
#ifndef LEAT_FORMATS_RESULT_RASTER_H
#define LEAT_FORMATS_RESULT_RASTER_H

#include "formats/geo/grid.h"
#include "formats/result/result.h"

enum raster_format { RASTER_TIF, RASTER_ASC };
enum raster_type { RASTER_F64, RASTER_F32, RASTER_I32 }; /* double, float, int32_t */

static inline size_t raster_type_bytes(enum raster_type type)
{
    return type == RASTER_F64 ? 8 : 4;
}

/* What is to be written; its NODATA need not be that of the grid it was computed from. */
struct raster {
    const struct grid *grid; /* shape and place; borrowed for the call */
    enum raster_format format;
    enum raster_type type;
    bool has_nodata;
    const char *unit; /* of the numbers, which a GeoTIFF says; static; NULL: none */
    double nodata;    /* said in the type's own precision; left out where the type cannot hold it */
};

/* Can this be written? STATUS_BAD_ARGUMENT: text cannot say a rotated or southward grid's place;
 * `name` is what the message calls the input. To be asked before any work is done. */
enum status raster_check(const struct raster *raster, const char *name) STATUS_MUST_CHECK;

/* Can the results say the coordinate system that came with the grid, if any? Text has no room for
 * GeoTIFF keys, and a GeoTIFF none for a .prj in another dialect than ESRI's, or of 2300 bytes. */
bool raster_says_system(const struct raster *raster);

/* Adds NAME.tif or NAME.asc.gz (and NAME.prj beside text). `fetch` gives cells, row by row from the
 * grid's first one, in the raster's type; it may be called from any thread, and more than once for
 * the same cells. On failure the context is freed, as with all functions of result.h.
 * A GeoTIFF's pieces are its tiles; behind the last one stands its directory. */
enum status result_add_raster(struct result *r, const char *name, const struct raster *raster,
                              result_fetch_fn *fetch, void *context,
                              void (*free_context)(void *)) STATUS_MUST_CHECK;

#endif
