/*
 * sciddicat_scale - the unit of a grid's cells, from GeoTIFF keys or from the text of a .prj.
 *
 * Only what is certain counts: a coordinate system that is geographic has degrees, one that names
 * another unit than the metre has that. Without a coordinate system the unit is taken to be the
 * metre, which is what DEMs for such models come in; with one that is not understood, to be
 * unclear.
 *
 * Sources: OGC GeoTIFF 1.1, 7.2 (keys 1024, 3076, 4096 and 4099); EPSG's registry, 10.076.
 */
#include "stages/sciddicat_scale.h"

#include "stages/sciddicat_wkt.h"

#include <math.h>
#include <string.h>

enum {
    KEY_MODEL = 1024,
    MODEL_GEOGRAPHIC = 2,
    KEY_LINEAR_UNIT = 3076,
    KEY_VERTICAL = 4096,
    KEY_VERTICAL_UNIT = 4099,
    UNIT_METRE = 9001,
};

/* By well-known text. */
static enum sciddicat_unit unit_by_text(const char *text)
{
    double metres;
    switch (wkt_map(text, &metres)) {
    case WKT_GEOGRAPHIC:
        return SCALE_DEGREES;
    case WKT_PROJECTED:
        return fabs(metres - 1) < 1e-9 ? SCALE_METRES : SCALE_OTHER;
    default:
        return SCALE_UNCLEAR;
    }
}

/* The text of the coordinate system that came with the file, where there is one. */
static const char *text_of(const struct grid *g)
{
    static const char mark[] = "ESRI PE String = ";
    const struct grid_tag *const t = grid_find_tag(g, GRID_GEO_ASCII);
    if (t == NULL || t->type != GRID_ASCII || memchr(t->values, '\0', t->count) == NULL) {
        return g->prj;
    }
    const char *const text = strstr(t->values, mark);
    return text != NULL ? text + sizeof mark - 1 : NULL; /* else a name, for people */
}

static enum sciddicat_unit unit_of(const struct grid *g)
{
    if (!grid_is_placed(g)) {
        return SCALE_UNKNOWN;
    }
    const unsigned linear = grid_key(g, KEY_LINEAR_UNIT);
    if (grid_key(g, KEY_MODEL) == MODEL_GEOGRAPHIC) {
        return SCALE_DEGREES;
    }
    if (linear != 0) {
        return linear == UNIT_METRE ? SCALE_METRES : SCALE_OTHER;
    }
    const char *const text = text_of(g);
    return text != NULL ? unit_by_text(text) : SCALE_METRES;
}

/* The vertical systems of EPSG that measure in feet of some kind; all others do in metres. */
static bool is_in_feet(unsigned system)
{
    static const uint16_t in_feet[] = {5614, 5702, 5754, 6130, 6131, 6132, 6358,
                                       6359, 6360, 8050, 8051, 8052, 8053, 8228};
    size_t i = 0;
    while (i < sizeof in_feet / sizeof in_feet[0] && in_feet[i] != system) {
        i++;
    }
    return i < sizeof in_feet / sizeof in_feet[0];
}

bool sciddicat_scale_high_is_other(const struct grid *g)
{
    const unsigned unit = grid_key(g, KEY_VERTICAL_UNIT);
    const char *const text = text_of(g);
    double metres;
    if (unit != 0) {
        return unit != UNIT_METRE;
    }
    if (is_in_feet(grid_key(g, KEY_VERTICAL))) {
        return true;
    }
    return text != NULL && wkt_altitudes(text, &metres) && fabs(metres - 1) >= 1e-9;
}

struct sciddicat_scale sciddicat_scale_of(const struct grid *g)
{
    struct sciddicat_scale s = {.unit = unit_of(g), .cell_x_m = 1, .cell_y_m = 1, .area_m2 = 1};
    if (s.unit == SCALE_METRES) {
        s.cell_x_m = g->cell_x;
        s.cell_y_m = fabs(g->cell_y);
        s.area_m2 = s.cell_x_m * s.cell_y_m;
    }
    return s;
}

void sciddicat_centre(const struct grid *g, size_t row, size_t column, double *x, double *y)
{
    *x = grid_west(g) + ((double)column + 0.5) * g->cell_x;
    *y = grid_north(g) - ((double)row + 0.5) * g->cell_y;
}
