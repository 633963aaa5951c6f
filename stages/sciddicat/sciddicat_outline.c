/*
 * sciddicat_outline - where debris came, as GeoJSON, of which GDAL makes a GeoPackage: a polygon
 * for each patch of covered cells that share sides, in the coordinates of the altitudes.
 *
 * A ring runs along the sides of cells with its patch on the left, cell by cell; where two covered
 * cells meet at a corner alone it turns left and stays with its cell. So it may come to such a
 * corner twice: the loop in between is a ring of its own then, since a valid ring does not touch
 * itself. Of a patch, whose first cell in the order of rows has a free upper side, the ring with
 * that side goes around it; all others go around holes. RFC 7946 wants the former
 * counterclockwise on the map, the latter clockwise.
 */
#include "formats/table/foreign.h"
#include "stages/sciddicat/sciddicat_job.h"

#include <math.h>
#include <stdlib.h>

enum { FILLED = 1, TRACED = 2 /* the upper side */, MET = 4 /* its upper left corner */ };

struct corner {
    uint32_t row, column; /* of the cell to the lower right */
};

struct outline {
    const struct sciddicat_job *job;
    size_t rows, columns;
    double x[3], y[3]; /* of a corner: x[0] column + x[1] row + x[2], y likewise */
    bool is_mirrored;  /* left of a ring is its right on the map */
    uint8_t *marks;    /* [n_cells] */
    uint32_t *patch;   /* [n_cells]: cells of the patch, in the order in which they were found */
    struct bytes ring; /* corners at which the ring turns, that are in no loop of their own */
    struct bytes around, holes; /* texts of the present patch */
};

size_t sciddicat_outline_bytes(const struct sciddicat_job *job)
{
    /* packed: GDAL's objects of the text, for which a cell is about a byte, then the package */
    enum { TEXT = 16 << 20, OBJECTS = 40, MOST_OBJECTS = 512 << 20 };
    const size_t n = job->slide.n_cells;
    const size_t objects = n < MOST_OBJECTS / OBJECTS ? n * OBJECTS : MOST_OBJECTS;
    return n * (1 + sizeof(uint32_t)) + TEXT + (job->choice.packs_outline ? objects + TEXT : 0);
}

static bool is_covered(const struct outline *o, size_t row, size_t column)
{
    const size_t k = row * o->columns + column; /* beyond the first: far beyond the last */
    return row < o->rows && column < o->columns && o->job->slide.arrival[k] >= 0 &&
           !landslide_masks(&o->job->slide, k);
}

/* --- texts ------------------------------------------------------------------------------------ */

static enum status put_corner(const struct outline *o, const struct corner *c, struct bytes *out)
{
    const double column = c->column, row = c->row;
    STATUS_TRY(bytes_append(out, "[", 1));
    STATUS_TRY(result_put_f64(out, o->x[0] * column + o->x[1] * row + o->x[2]));
    STATUS_TRY(bytes_append(out, ",", 1));
    STATUS_TRY(result_put_f64(out, o->y[0] * column + o->y[1] * row + o->y[2]));
    return bytes_append(out, "]", 1);
}

/* The corners from `first` on as a ring; they are dropped, but for the first if it is kept. */
static enum status end_ring(struct outline *o, size_t first, bool keeps_first, struct bytes *out)
{
    struct corner *const all = (struct corner *)(void *)o->ring.data;
    const size_t n = o->ring.len / sizeof *all - first;
    STATUS_TRY(bytes_append(out, out->len > 0 ? ",[" : "[", out->len > 0 ? 2 : 1));
    for (size_t i = 0; i <= n; i++) {
        const size_t k = first + (o->is_mirrored ? n - i : i) % n;
        if (all[k].row < o->rows && all[k].column < o->columns) {
            o->marks[(size_t)all[k].row * o->columns + all[k].column] &= (uint8_t)~MET;
        }
        STATUS_TRY(i > 0 ? bytes_append(out, ",", 1) : STATUS_OK);
        STATUS_TRY(put_corner(o, &all[k], out));
    }
    o->ring.len = (first + keeps_first) * sizeof *all;
    return bytes_append(out, "]", 1);
}

/* --- rings ------------------------------------------------------------------------------------ */

/* A corner where the ring turns. Where two cells meet at it alone, the ring may have been there. */
static enum status turn(struct outline *o, struct corner at, bool is_meeting)
{
    uint8_t *const mark = is_meeting ? &o->marks[at.row * o->columns + at.column] : NULL;
    if (is_meeting && (*mark & MET) != 0) {
        const struct corner *const all = (const struct corner *)(const void *)o->ring.data;
        size_t first = o->ring.len / sizeof *all - 1;
        while (all[first].row != at.row || all[first].column != at.column) {
            first--;
        }
        return end_ring(o, first, true, &o->holes);
    }
    if (is_meeting) {
        *mark |= MET;
    }
    return bytes_append(&o->ring, &at, sizeof at);
}

/* The ring with the upper side of a covered cell, from there on to the west. */
static enum status trace(struct outline *o, size_t cell, struct bytes *out)
{
    /* west, south, east, north: one corner on; the cells ahead, to the left and to the right */
    static const int step[4][2] = {{0, -1}, {1, 0}, {0, 1}, {-1, 0}};
    static const int left[4][2] = {{0, -1}, {0, 0}, {-1, 0}, {-1, -1}};
    static const int right[4][2] = {{-1, -1}, {0, -1}, {0, 0}, {-1, 0}};
    size_t row = cell / o->columns, column = cell % o->columns + 1;
    unsigned to = 0;
    o->ring.len = 0;
    while (to != 0 || (o->marks[row * o->columns + column - 1] & TRACED) == 0) {
        if (to == 0) {
            o->marks[row * o->columns + column - 1] |= TRACED;
        }
        row += (size_t)step[to][0]; /* -1 comes out right */
        column += (size_t)step[to][1];
        const bool on_left = is_covered(o, row + (size_t)left[to][0], column + (size_t)left[to][1]);
        const bool on_right =
            is_covered(o, row + (size_t)right[to][0], column + (size_t)right[to][1]);
        if (!on_left || on_right) {
            const struct corner at = {(uint32_t)row, (uint32_t)column};
            STATUS_TRY(turn(o, at, !on_left && on_right));
            to = (to + (on_left ? 3 : 1)) % 4;
        }
    }
    return end_ring(o, 0, false, out);
}

/* Finds the patch of a cell; how many cells it has. */
static size_t fill(struct outline *o, size_t cell)
{
    size_t n = 0;
    o->patch[n++] = (uint32_t)cell;
    o->marks[cell] |= FILLED;
    for (size_t i = 0; i < n; i++) {
        const size_t k = o->patch[i], row = k / o->columns, column = k % o->columns;
        const size_t next[4][2] = {
            {row - 1, column}, {row, column - 1}, {row, column + 1}, {row + 1, column}};
        for (size_t d = 0; d < 4; d++) {
            const size_t there = next[d][0] * o->columns + next[d][1];
            if (is_covered(o, next[d][0], next[d][1]) && (o->marks[there] & FILLED) == 0) {
                o->marks[there] |= FILLED;
                o->patch[n++] = (uint32_t)there;
            }
        }
    }
    return n;
}

static enum status put_patch(struct outline *o, size_t cell, struct bytes *out, bool is_first)
{
    const size_t n = fill(o, cell);
    o->around.len = o->holes.len = 0;
    STATUS_TRY(trace(o, cell, &o->around));
    for (size_t i = 0; i < n; i++) {
        const size_t k = o->patch[i];
        if ((o->marks[k] & TRACED) == 0 && !is_covered(o, k / o->columns - 1, k % o->columns)) {
            STATUS_TRY(trace(o, k, &o->holes));
        }
    }
    STATUS_TRY(bytes_printf(out, "%s[", is_first ? "\n" : ",\n"));
    STATUS_TRY(bytes_append(out, o->around.data, o->around.len));
    if (o->holes.len > 0) {
        STATUS_TRY(bytes_append(out, ",", 1));
        STATUS_TRY(bytes_append(out, o->holes.data, o->holes.len));
    }
    return bytes_append(out, "]", 1);
}

/* --- the file --------------------------------------------------------------------------------- */

/* As grid_scale_centre() has it. */
static void place(struct outline *o)
{
    const struct grid *const g = o->job->dem;
    const struct grid_extent e = grid_extent_of(g);
    const double straight[] = {g->cell_x, 0, e.west, 0, -g->cell_y, e.north},
                 numbered[] = {1, 0, 0.5, 0, 1, 0.5};
    const double *const t = g->is_rotated ? g->transform : g->has_origin ? straight : numbered;
    for (size_t k = 0; k < 3; k++) {
        o->x[k] = t[k];
        o->y[k] = t[3 + k];
    }
    o->is_mirrored = t[0] * t[4] - t[1] * t[3] > 0;
}

static enum status put_head(const struct sciddicat_job *job, struct bytes *out)
{
    const unsigned code = grid_epsg(job->dem);
    STATUS_TRY(bytes_printf(out, "{\"type\":\"FeatureCollection\",\"name\":\"outline\",\n"));
    if (code > 0) {
        STATUS_TRY(bytes_printf(out,
                                "\"crs\":{\"type\":\"name\",\"properties\":{\"name\":"
                                "\"urn:ogc:def:crs:EPSG::%u\"}},\n",
                                code));
    }
    STATUS_TRY(bytes_printf(out,
                            "\"features\":[{\"type\":\"Feature\",\"properties\":{\"steps\":%llu,"
                            "\"p_epsilon\":",
                            (unsigned long long)job->slide.now.step));
    STATUS_TRY(result_put_f64(out, job->slide.params.epsilon));
    STATUS_TRY(bytes_printf(out, ",\"p_r\":"));
    STATUS_TRY(result_put_f64(out, job->slide.params.r));
    return bytes_printf(out, "},\n\"geometry\":{\"type\":\"MultiPolygon\",\"coordinates\":[");
}

static enum status put_outline(struct outline *o, struct bytes *out)
{
    bool is_first = true;
    STATUS_TRY(put_head(o->job, out));
    for (size_t k = 0; k < o->rows * o->columns; k++) {
        if ((o->marks[k] & FILLED) == 0 && is_covered(o, k / o->columns, k % o->columns)) {
            STATUS_TRY(put_patch(o, k, out, is_first));
            is_first = false;
        }
    }
    return bytes_printf(out, "]}}]}\n");
}

static enum status outline_piece(void *context, uint64_t index, struct bytes *out)
{
    const struct sciddicat_job *const job = context;
    const size_t n = job->slide.n_cells;
    struct outline o = {.job = job, .rows = job->dem->rows, .columns = job->dem->columns};
    (void)index; /* there is one */
    o.marks = calloc(n, 1);
    o.patch = calloc(n, sizeof *o.patch);
    place(&o);
    struct bytes text = {0};
    enum status st = o.marks != NULL && o.patch != NULL
                         ? put_outline(&o, job->choice.packs_outline ? &text : out)
                         : status_fail(STATUS_NO_MEMORY, "no memory for an outline");
    if (st == STATUS_OK && job->choice.packs_outline) {
        st = foreign_write_geopackage(&text, job->dem, out);
    }
    bytes_free(&text);
    free(o.marks);
    free(o.patch);
    bytes_free(&o.ring);
    bytes_free(&o.around);
    bytes_free(&o.holes);
    return st;
}

enum status sciddicat_outline(struct sciddicat_job *job)
{
    struct result_file *f;
    const char *const name = job->choice.packs_outline ? "outline.gpkg" : "outline.geojson";
    STATUS_TRY(result_add_file(job->io->out, name, PACK_RAW, &f));
    return result_add_member(f, NULL, 1, outline_piece, job, NULL);
}
