/*
 * tiff_tags - makes libtiff know the tags of GeoTIFF and GDAL: it reads numbers of any type as the
 * tag's own, and writes them. TIFFGetField and TIFFSetField take the number of values (uint16_t)
 * and the values, or a text. What libtiff is told holds for all of the process: it is what
 * libgeotiff and GDAL tell it, so that each may read what it has read as the other has said.
 */
#ifndef LEAT_FORMATS_GEO_TIFF_TAGS_H
#define LEAT_FORMATS_GEO_TIFF_TAGS_H

#include <stdbool.h>
#include <tiffio.h>

/* GDAL's; the others stand in grid.h. */
enum { TIFF_TAGS_METADATA = 42112, TIFF_TAGS_NODATA = 42113 };

/* For all files that are opened from now on, by any thread. */
void tiff_tags_know(void);
/* False when there was no memory for that as the file was opened. */
bool tiff_tags_are_known(TIFF *tif);
/* Whether a warning of libtiff names one of them, but for GDAL's metadata. */
bool tiff_tags_names_one(const char *text);
/* Whether it is one of them, of numbers: libtiff keeps them in up to 8 bytes each. */
bool tiff_tags_is_number(unsigned tag);

#endif
