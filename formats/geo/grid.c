/*
 * grid - the georeference of a grid, and comparing two. Coordinate systems are not interpreted.
 *
 * Source: OGC GeoTIFF 1.1 (19-008r4), 7.4: ModelTiepoint and ModelPixelScale, or
 * ModelTransformation, lead from raster space, whose (0, 0) is the outer corner of the first cell
 * (its centre when the key GTRasterType says point), to the map. A file must not have both; of one
 * that does GDAL takes the scale, and so do we.
 */
#include "formats/geo/grid.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_RASTER_TYPE = 1025, RASTER_IS_POINT = 2, USER_DEFINED = 32767 };

static enum status no_memory(void)
{
    return status_fail(STATUS_NO_MEMORY, "no memory for a grid's georeference");
}

enum status grid_new(size_t rows, size_t columns, struct grid **out)
{
    struct grid *const g = calloc(1, sizeof *g);
    *out = g;
    if (g == NULL) {
        return no_memory();
    }
    g->rows = rows;
    g->columns = columns;
    g->cell_x = g->cell_y = 1;
    return STATUS_OK;
}

enum status grid_copy(const struct grid *g, struct grid **out)
{
    *out = NULL;
    struct grid *const copy = malloc(sizeof *copy);
    if (copy == NULL) {
        return no_memory();
    }
    *copy = *g;
    copy->n_tags = 0;
    copy->prj = NULL;
    enum status st = grid_set_prj(copy, g->prj);
    for (size_t i = 0; i < g->n_tags && st == STATUS_OK; i++) {
        const struct grid_tag *const t = &g->tags[i];
        st = grid_add_tag(copy, t->number, t->type, t->count, t->values);
    }
    if (st != STATUS_OK) {
        grid_free(copy);
        return st;
    }
    *out = copy;
    return STATUS_OK;
}

void grid_free(struct grid *g)
{
    if (g == NULL) {
        return;
    }
    for (size_t i = 0; i < g->n_tags; i++) {
        free(g->tags[i].values);
    }
    free(g->prj);
    free(g);
}

static size_t type_bytes(enum grid_tag_type type)
{
    return type == GRID_DOUBLE ? sizeof(double) : type == GRID_SHORT ? sizeof(uint16_t) : 1;
}

enum status grid_add_tag(struct grid *g, enum grid_tag_number number, enum grid_tag_type type,
                         size_t count, const void *values)
{
    assert(g->n_tags < GRID_MAX_TAGS && grid_find_tag(g, number) == NULL);
    assert(count > 0 && count <= GRID_MAX_TAG_VALUES);
    const size_t bytes = count * type_bytes(type);
    void *const copy = malloc(bytes);
    if (copy == NULL) {
        return no_memory();
    }
    memcpy(copy, values, bytes);
    g->tags[g->n_tags++] =
        (struct grid_tag){.number = number, .type = type, .count = count, .values = copy};
    return STATUS_OK;
}

const struct grid_tag *grid_find_tag(const struct grid *g, enum grid_tag_number number)
{
    for (size_t i = 0; i < g->n_tags; i++) {
        if (g->tags[i].number == number) {
            return &g->tags[i];
        }
    }
    return NULL;
}

enum status grid_set_prj(struct grid *g, const char *text)
{
    static const char blanks[] = " \t\r\n";
    size_t n = 0;
    if (text != NULL) {
        text += strspn(text, blanks);
        n = strlen(text);
        while (n > 0 && strchr(blanks, text[n - 1]) != NULL) {
            n--;
        }
    }
    free(g->prj);
    g->prj = n > 0 ? strndup(text, n) : NULL;
    return n > 0 && g->prj == NULL ? no_memory() : STATUS_OK;
}

/* The numbers of a tag that holds at least `least` doubles; NULL when there is none. */
static const double *doubles(const struct grid *g, enum grid_tag_number number, size_t least)
{
    const struct grid_tag *const t = grid_find_tag(g, number);
    return t != NULL && t->type == GRID_DOUBLE && t->count >= least ? t->values : NULL;
}

/* What the directory says of a key: the key, the tag that holds its values (0: the last number
 * here), how many they are, the first one. NULL: nothing. */
static const uint16_t *find_key(const struct grid *g, unsigned key)
{
    const struct grid_tag *const t = grid_find_tag(g, GRID_GEO_KEYS);
    if (t == NULL || t->type != GRID_SHORT) {
        return NULL;
    }
    const uint16_t *const keys = t->values; /* version, revision, minor, number; then by fours */
    const size_t n = t->count >= 4 ? keys[3] : 0;
    for (size_t i = 4; i + 4 <= t->count && i < 4 * (n + 1); i += 4) {
        if (keys[i] == key) {
            return &keys[i];
        }
    }
    return NULL;
}

unsigned grid_key(const struct grid *g, unsigned key)
{
    const uint16_t *const entry = find_key(g, key);
    return entry != NULL && entry[1] == 0 ? entry[3] : 0;
}

double grid_key_double(const struct grid *g, unsigned key)
{
    const uint16_t *const entry = find_key(g, key);
    const double *const values = entry != NULL && entry[1] == GRID_GEO_DOUBLES
                                     ? doubles(g, GRID_GEO_DOUBLES, entry[3] + (size_t)1)
                                     : NULL;
    return values != NULL ? values[entry[3]] : 0;
}

void grid_key_text(const struct grid *g, unsigned key, char *text, size_t n)
{
    const uint16_t *const entry = find_key(g, key);
    const struct grid_tag *const t = grid_find_tag(g, GRID_GEO_ASCII);
    size_t length = 0;
    if (entry != NULL && entry[1] == GRID_GEO_ASCII && t != NULL && t->type == GRID_ASCII) {
        const char *const all = t->values;
        for (size_t at = entry[3]; length + 1 < n && length < entry[2] && at < t->count &&
                                   all[at] != '|' && all[at] != '\0';
             at++) {
            text[length++] = all[at];
        }
    }
    text[length] = '\0';
}

static bool is_side(double length)
{
    return length > 0 && length <= GRID_MAX_CELL;
}

/* Do the sides of a cell, a[0], a[3] and a[1], a[4], lie on one line but for rounding? */
static bool is_flat(const double a[6], double cell_x, double cell_y)
{
    const double sine = (a[0] / cell_x) * (a[4] / cell_y) - (a[1] / cell_y) * (a[3] / cell_x);
    return !(fabs(sine) > 1e-9);
}

enum status grid_georeference_by_tags(struct grid *g, const char *name)
{
    const double *const scale = doubles(g, GRID_PIXEL_SCALE, 2);
    const double *const tie = doubles(g, GRID_TIEPOINT, 6);
    const double *const matrix = doubles(g, GRID_TRANSFORMATION, 16);
    double a[6]; /* x = a[0] column + a[1] row + a[2], y = a[3] column + a[4] row + a[5] */
    const bool has_scale = scale != NULL && tie != NULL;
    if (has_scale && (matrix == NULL || (scale[0] != 0 && scale[1] != 0))) {
        memcpy(a,
               (const double[]){scale[0], 0, tie[3] - tie[0] * scale[0], 0, -scale[1],
                                tie[4] + tie[1] * scale[1]},
               sizeof a);
    } else if (matrix != NULL) {
        memcpy(a,
               (const double[]){matrix[0], matrix[1], matrix[3], matrix[4], matrix[5], matrix[7]},
               sizeof a);
    } else {
        return STATUS_OK; /* none, or ground control points, which stay in the tags */
    }
    const double cell_x = hypot(a[0], a[3]), cell_y = hypot(a[1], a[4]);
    if (!isfinite(a[2]) || !isfinite(a[5]) || !is_side(cell_x) || !is_side(cell_y)) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: its georeference gives cells of %g x %g, not above 0 and up to %g; "
                           "correct it or remove it",
                           name, cell_x, cell_y, (double)GRID_MAX_CELL);
    }
    if (is_flat(a, cell_x, cell_y)) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: its georeference gives cells without an area: rows and columns go "
                           "the same way; correct it or remove it",
                           name);
    }
    g->is_rotated = a[1] != 0 || a[3] != 0 || a[0] < 0;
    g->has_origin = !g->is_rotated;
    g->is_centred = grid_key(g, KEY_RASTER_TYPE) == RASTER_IS_POINT;
    g->cell_x = cell_x;
    g->cell_y = g->is_rotated ? cell_y : -a[4];
    /* From the first row to the last one: outer corner to outer corner, or centre to centre. */
    g->x = a[2];
    g->y = a[5] - g->cell_y * (double)(g->is_centred ? g->rows - 1 : g->rows);
    memcpy(g->transform, a, sizeof a);
    if (g->is_centred) { /* from the first cell's centre to its corner */
        g->transform[2] -= (a[0] + a[1]) / 2;
        g->transform[5] -= (a[3] + a[4]) / 2;
    }
    if (!isfinite(g->y)) {
        return status_fail(STATUS_BAD_INPUT, "%s: its georeference places it at y = %g", name,
                           g->y);
    }
    return STATUS_OK;
}

struct grid_extent grid_extent_of(const struct grid *g)
{
    const double west = g->is_centred ? g->x - g->cell_x / 2 : g->x;
    const double south = g->is_centred ? g->y - g->cell_y / 2 : g->y;
    return (struct grid_extent){.west = west,
                                .east = west + g->cell_x * (double)g->columns,
                                .north = south + g->cell_y * (double)g->rows,
                                .south = south};
}

enum status grid_copy_georeference(struct grid *g, const struct grid *from)
{
    struct grid *placed;
    STATUS_TRY(grid_copy(from, &placed));
    const struct grid old = *g;
    *g = *placed;
    g->rows = old.rows;
    g->columns = old.columns;
    g->has_nodata = old.has_nodata;
    g->nodata = old.nodata;
    memcpy(g->unit, old.unit, sizeof g->unit);
    *placed = old; /* what was owned goes with it */
    grid_free(placed);
    return STATUS_OK;
}

/* --- two grids -------------------------------------------------------------------------------- */

struct corner {
    double x, y;
};

/* The outer corners: of the first row, of the last one. */
static void find_corners(const struct grid *g, struct corner corners[4])
{
    const struct grid_extent e = grid_extent_of(g);
    const double *const t = g->transform;
    for (int k = 0; k < 4; k++) {
        const double row = k < 2 ? 0 : (double)g->rows, column = k % 2 ? (double)g->columns : 0;
        corners[k] = g->is_rotated
                         ? (struct corner){t[0] * column + t[1] * row + t[2],
                                           t[3] * column + t[4] * row + t[5]}
                         : (struct corner){k % 2 ? e.east : e.west, k < 2 ? e.north : e.south};
    }
}

static void describe_extent(const struct grid *g, const struct corner c[4], char *text, size_t n)
{
    if (g->is_rotated) {
        snprintf(text, n,
                 "at the corners (%.10g, %.10g) (%.10g, %.10g) (%.10g, %.10g) (%.10g, %.10g)",
                 c[0].x, c[0].y, c[1].x, c[1].y, c[2].x, c[2].y, c[3].x, c[3].y);
    } else {
        snprintf(text, n, "x %.10g to %.10g, y %.10g to %.10g by cells of %.10g x %.10g", c[0].x,
                 c[1].x, c[2].y, c[0].y, g->cell_x, g->cell_y);
    }
}

enum status grid_check_aligned(const char *name_a, const struct grid *a, const char *name_b,
                               const struct grid *b)
{
    char text_a[200], text_b[200];
    const char *differ = NULL;
    if (a->rows != b->rows || a->columns != b->columns) {
        differ = "shape";
        snprintf(text_a, sizeof text_a, "%zu rows x %zu columns", a->rows, a->columns);
        snprintf(text_b, sizeof text_b, "%zu rows x %zu columns", b->rows, b->columns);
    } else if (grid_is_georeferenced(a) && grid_is_georeferenced(b)) {
        const double near = fmin(a->cell_x, fabs(a->cell_y)) / 100;
        struct corner of_a[4], of_b[4];
        find_corners(a, of_a);
        find_corners(b, of_b);
        for (int k = 0; k < 4; k++) {
            if (!(fabs(of_a[k].x - of_b[k].x) <= near && fabs(of_a[k].y - of_b[k].y) <= near)) {
                differ = "place";
            }
        }
        describe_extent(a, of_a, text_a, sizeof text_a);
        describe_extent(b, of_b, text_b, sizeof text_b);
    }
    return differ == NULL
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT,
                             "the grids differ in %s: %s is %s, %s is %s; cut or warp one to the "
                             "other's cells",
                             differ, name_a, text_a, name_b, text_b);
}

static bool same_text(const char *a, const char *b)
{
    static const char blanks[] = " \t\r\n";
    for (;; a++, b++) {
        a += strspn(a, blanks);
        b += strspn(b, blanks);
        if (*a != *b || *a == '\0') {
            return *a == *b;
        }
    }
}

bool grid_systems_differ(const struct grid *a, const struct grid *b)
{
    enum { MODEL = 1024, GEODETIC = 2048, PROJECTED = 3072, PROJECTION = 3074, UNIT = 3076 };
    static const unsigned keys[] = {MODEL, GEODETIC, PROJECTED, PROJECTION, UNIT};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const unsigned of_a = grid_key(a, keys[i]), of_b = grid_key(b, keys[i]);
        const bool both = of_a != 0 && of_b != 0 && of_a != USER_DEFINED && of_b != USER_DEFINED;
        if (both && of_a != of_b) {
            return true;
        }
    }
    return a->prj != NULL && b->prj != NULL && !same_text(a->prj, b->prj);
}
