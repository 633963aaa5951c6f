/*
 * gdal_polygons - polygons as grids, and the reverse: through GDAL's vector side (OGR).
 *
 * A cell belongs to a polygon when its centre lies in it: within an odd number of its rings. Of a
 * centre on an edge, the polygon to the right has the cell, or the one below, in the order of the
 * grid's columns and rows. Where polygons overlap the last one of the file counts.
 */
#ifndef LEAT_FORMATS_TABLE_GDAL_POLYGONS_H
#define LEAT_FORMATS_TABLE_GDAL_POLYGONS_H

#include "formats/base/bytes.h"
#include "formats/table/table_bands.h"

/* Opens those of a layer, all of which are looked at once, and lays out `bands` and *grid, which
 * has the place of options.onto; *out is a handle. path: as GDAL opens the file; NULL: by its
 * descriptor alone. *out NULL with STATUS_OK: it holds no layer of polygons, but may hold a grid.
 * GDAL is loaded. STATUS_BAD_INPUT, _BAD_ARGUMENT (dataset, options.polygons), _UNSUPPORTED. */
enum status gdal_polygons_open(struct table *t, const char *path, struct table_bands *bands,
                               struct grid **grid, struct table_handle **out) STATUS_MUST_CHECK;
extern const struct table_bands_ops gdal_polygons_ops;
/* GeoJSON as a GeoPackage in the coordinate system of g, appended to *out. GDAL is loaded. */
enum status gdal_polygons_write(const struct bytes *geojson, const struct grid *g,
                                struct bytes *out) STATUS_MUST_CHECK;

#endif
