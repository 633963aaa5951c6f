/*
 * grid - what a table of terrain has beyond its numbers: the georeference, and the number that
 * marks a cell without one (NODATA).
 *
 * The rows are the table's lines, as stored: the first one is the northernmost where cell_y > 0.
 * The georeference is (x, y) and the cells' size; the coordinate system is carried, never
 * interpreted: as GeoTIFF tags, copied verbatim, or as the text of the .prj file beside an .asc.
 */
#ifndef LEAT_FORMATS_GEO_GRID_H
#define LEAT_FORMATS_GEO_GRID_H

#include "formats/base/status.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tags of GeoTIFF (OGC 19-008r4) that are carried. */
enum grid_tag_number {
    GRID_PIXEL_SCALE = 33550,
    GRID_TIEPOINT = 33922,
    GRID_TRANSFORMATION = 34264,
    GRID_GEO_KEYS = 34735,
    GRID_GEO_DOUBLES = 34736,
    GRID_GEO_ASCII = 34737
};

enum grid_tag_type { GRID_ASCII = 2, GRID_SHORT = 3, GRID_DOUBLE = 12 }; /* as in TIFF */

enum { GRID_MAX_TAGS = 6, GRID_MAX_TAG_VALUES = 1 << 16, GRID_UNIT_BYTES = 64 };

enum { GRID_MAX_CELL = 1000000000 }; /* the longest side of a cell, in any unit */

struct grid_tag {
    enum grid_tag_number number;
    enum grid_tag_type type;
    size_t count; /* of values; of bytes with the final NUL for GRID_ASCII */
    void *values; /* char, uint16_t or double; owned by the grid */
};

struct grid {
    size_t rows, columns; /* >= 1 each */
    bool has_origin;      /* x, y are known */
    bool is_rotated;      /* the axes are not those of the map, or a row goes from east to west:
                             `transform` holds the georeference, has_origin is false */
    bool is_centred;      /* (x, y) was given as a cell's centre, else as its outer corner */
    double x, y;   /* of the first cell of the last row: the lower left one where cell_y > 0 */
    double cell_x; /* width of a cell, > 0, up to GRID_MAX_CELL, in units of the coordinate system
                      (1: unknown) */
    double cell_y; /* its height, > 0; < 0: the rows go from south to north */
    double transform[6]; /* is_rotated: outer corners of cells, x = transform[0] column +
                            transform[1] row + transform[2], y likewise by transform[3 .. 5] */
    bool has_nodata;
    double nodata;              /* cells that match it, by grid_matches_nodata(), have no number */
    char unit[GRID_UNIT_BYTES]; /* of its numbers, as a GeoTIFF names it; "": it does not */
    size_t n_tags;
    struct grid_tag tags[GRID_MAX_TAGS];
    char *prj; /* text of a .prj file; owned; NULL: none */
};

/* A grid without a georeference, cells of 1 x 1. STATUS_NO_MEMORY. */
enum status grid_new(size_t rows, size_t columns, struct grid **out) STATUS_MUST_CHECK;
enum status grid_copy(const struct grid *g, struct grid **out) STATUS_MUST_CHECK;
/* NULL is fine. */
void grid_free(struct grid *g);

/* Adds a tag (at most once each) of 1 to GRID_MAX_TAG_VALUES values, which are copied.
 * STATUS_NO_MEMORY. */
enum status grid_add_tag(struct grid *g, enum grid_tag_number number, enum grid_tag_type type,
                         size_t count, const void *values) STATUS_MUST_CHECK;
const struct grid_tag *grid_find_tag(const struct grid *g, enum grid_tag_number number);
/* The value of a GeoTIFF key that stands in the key directory itself; 0: there is none. */
unsigned grid_key(const struct grid *g, unsigned key);
/* The first of a key's numbers; 0: there is none. */
double grid_key_double(const struct grid *g, unsigned key);
/* The text of a key, up to '|', as far as `n` bytes with their NUL hold it; "": there is none. */
void grid_key_text(const struct grid *g, unsigned key, char *text, size_t n);
/* Sets the text of the .prj, copied, without blanks and line ends around it; NULL or "": none. */
enum status grid_set_prj(struct grid *g, const char *text) STATUS_MUST_CHECK;

/* Derives origin, cell size and rotation from the tags, as far as they hold them. `name` is what
 * the message calls the grid. STATUS_BAD_INPUT (cells without a size or an area, or beyond
 * GRID_MAX_CELL; an origin that is not a number). */
enum status grid_georeference_by_tags(struct grid *g, const char *name) STATUS_MUST_CHECK;

/* Is it known where the grid lies? */
static inline bool grid_is_georeferenced(const struct grid *g)
{
    return g->has_origin || g->is_rotated;
}
/* Gives a grid the georeference and the coordinate system of another of the same shape, instead of
 * its own. STATUS_NO_MEMORY: it is as it was. */
enum status grid_copy_georeference(struct grid *g, const struct grid *from) STATUS_MUST_CHECK;

/* The outer edges of a grid that has an origin, in the coordinate system's units. */
struct grid_extent {
    double west, east;
    double north, south; /* of the first row, of the last one: the larger one when cell_y < 0 */
};
struct grid_extent grid_extent_of(const struct grid *g);

/* Whether a cell has no number: it is NaN, or the number that the file gives for that. Tools write
 * this one with other digits than the cells, so numbers that are the same float are the same; where
 * `nodata` is beyond 1e38, all beyond that with its sign are meant. */
static inline bool grid_matches_nodata(double nodata, double value)
{
    const float as_float = (float)nodata;
    return isnan(value) || value == nodata || ((float)value == as_float && as_float != 0) ||
           (fabs(nodata) > 1e38 && fabs(value) > 1e38 && copysign(value, nodata) == value);
}

/* Fails with STATUS_BAD_INPUT unless both have the same shape and, where both are georeferenced,
 * the same extent: all four corners within a hundredth of a cell of each other (tools round what
 * they write). The names are what the message calls them. */
enum status grid_check_aligned(const char *name_a, const struct grid *a, const char *name_b,
                               const struct grid *b) STATUS_MUST_CHECK;

/* True when both name a coordinate system in the same way (GeoTIFF keys, .prj) and not the same
 * one. Texts are compared but for blanks. */
bool grid_systems_differ(const struct grid *a, const struct grid *b);

#endif
