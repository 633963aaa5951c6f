/*
 * wkt - the units of a coordinate system that is given as well-known text, or as ARC/INFO's: a line
 * a keyword, "Projection UTM", "Units METERS", "Zunits NO".
 *
 * Read are ESRI's dialect, OGC's first one, and ISO 19162 (WKT 2), as far as it takes to find the
 * unit of lengths on the map and that of altitudes. Nothing is said of datums and projections.
 */
#ifndef LEAT_FORMATS_GEO_WKT_H
#define LEAT_FORMATS_GEO_WKT_H

#include <stdbool.h>

enum wkt_kind {
    WKT_UNKNOWN,    /* no coordinate system of a map, or one without a unit */
    WKT_PROJECTED,  /* lengths */
    WKT_GEOGRAPHIC, /* angles */
};

/* The first system of a map in the text, also within a compound one; *metres: its unit of length
 * where it is projected, > 0. */
enum wkt_kind wkt_map(const char *text, double *metres);

/* The unit of altitudes, > 0; false: the text names none. */
bool wkt_altitudes(const char *text, double *metres);

#endif
