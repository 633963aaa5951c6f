/*
 * gdal_netcdf - whether a classic NetCDF file is whole; for formats/table alone.
 */
#ifndef LEAT_FORMATS_TABLE_GDAL_NETCDF_H
#define LEAT_FORMATS_TABLE_GDAL_NETCDF_H

#include "formats/source/source.h"

/* The NetCDF library takes what a file that was cut does not have for zeros: STATUS_BAD_INPUT for
 * one that is shorter than its header claims, or whose header makes no sense. STATUS_OK for what
 * is no classic NetCDF (of 32-bit, 64-bit offsets or 64-bit data). STATUS_IO. */
enum status gdal_netcdf_check(struct source *s) STATUS_MUST_CHECK;

#endif
