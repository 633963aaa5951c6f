/*
 * gdal_pcidsk - where a PCIDSK file ends: GDAL takes what one that was cut does not have for zeros.
 */
#ifndef LEAT_FORMATS_TABLE_GDAL_PCIDSK_H
#define LEAT_FORMATS_TABLE_GDAL_PCIDSK_H

#include "formats/source/source.h"

/* How many bytes a whole one has at least. STATUS_IO, STATUS_NO_MEMORY. */
enum status gdal_pcidsk_least(struct source *s, size_t *least) STATUS_MUST_CHECK;

#endif
