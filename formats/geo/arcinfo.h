/*
 * arcinfo - the units of a coordinate system that is given as ARC/INFO's text: a line a keyword,
 * "Projection UTM", "Units METERS", "Zunits NO".
 */
#ifndef LEAT_FORMATS_GEO_ARCINFO_H
#define LEAT_FORMATS_GEO_ARCINFO_H

#include "formats/geo/wkt.h"

/* As wkt_map(). */
enum wkt_kind arcinfo_map(const char *text, double *metres);

/* The unit of altitudes, > 0; false: the text names none. */
bool arcinfo_heights(const char *text, double *metres);

#endif
