/*
 * generate_dem - writes made-up ground and the debris on it (terrain.h) as a pair of grids of any
 * size, in bounded memory.
 */
#ifndef LEAT_PIPELINE_GENERATE_GENERATE_DEM_H
#define LEAT_PIPELINE_GENERATE_GENERATE_DEM_H

#include "formats/result/raster.h"
#include "kernels/backend.h"
#include "pipeline/generate/terrain.h"

#include <stdbool.h>

/* The pair that a name asks for: X, X.tif, X.asc or X.asc.gz, each perhaps with .dem or .source
 * behind the X, are X.dem.tif and X.source.tif, or .asc, or .asc.gz. */
struct generate_pair {
    char *dem, *source; /* owned */
    enum raster_format format;
    bool is_gzipped;
};

/* STATUS_BAD_ARGUMENT: another ending, or no X. */
enum status generate_pair_of(const char *output, struct generate_pair *out) STATUS_MUST_CHECK;
/* Fine for a pair of zeros. */
void generate_pair_free(struct generate_pair *pair);

struct generate_dem_order {
    struct terrain_order terrain;
    enum raster_type type; /* RASTER_F64 or RASTER_F32 */
    const struct generate_pair *pair;
    bool force;
};

/* Writes the pair; the source gets its name first, so that a DEM is never there without it. *bytes
 * is the size of both, *n_slides how many heaps of debris there are. Progress goes to the terminal.
 * SIGINT and SIGTERM end it as STATUS_CANCELLED, with nothing left behind. STATUS_TOO_LARGE,
 * STATUS_BAD_ARGUMENT, STATUS_EXISTS, STATUS_IO and others. */
enum status generate_dem(const struct generate_dem_order *order, const struct executor *executor,
                         uint64_t *bytes, size_t *n_slides) STATUS_MUST_CHECK;

#endif
