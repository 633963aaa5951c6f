/*
 * gdal_whole - what is looked at before GDAL reads: whether a file was cut, since GDAL takes what
 * is missing for zeros, and whether a mosaic names a pipe, for which GDAL would wait without end.
 */
#ifndef LEAT_FORMATS_TABLE_GDAL_WHOLE_H
#define LEAT_FORMATS_TABLE_GDAL_WHOLE_H

#include "formats/source/source.h"

#include <gdal.h>

/* STATUS_BAD_INPUT for a file that is shorter than its header claims, or whose header makes no
 * sense. STATUS_OK for what is no classic NetCDF (of 32-bit, 64-bit offsets or 64-bit data).
 * STATUS_IO. */
enum status gdal_whole_netcdf(struct source *s) STATUS_MUST_CHECK;

/* STATUS_BAD_INPUT for a mosaic at `path` that names a pipe or a device, itself or by a mosaic in
 * it; `name` is that file's in the message. STATUS_TOO_LARGE: its mosaics have too much text. */
enum status gdal_whole_names(const char *name, const char *path) STATUS_MUST_CHECK;

/* STATUS_BAD_INPUT for a file, or one that a mosaic is of, that is shorter than its cells.
 * STATUS_TOO_LARGE: mosaics of too many files, or of themselves. STATUS_IO, STATUS_NO_MEMORY. */
enum status gdal_whole_check(struct source *s, GDALDatasetH dataset) STATUS_MUST_CHECK;

#endif
