/*
 * raster_asc - ESRI ASCII text: a header, then a line for each row.
 *
 * Keys as ArcGIS reads them; dx and dy, which GDAL reads, where cells are not square. Numbers have
 * the fewest digits that read back as the same ones in the raster's type.
 */
#include "formats/result/raster_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Pieces have so many cells, whatever the rows: each at most 26 bytes of text. */
enum { PIECE_CELLS = PACK_PIECE_BYTES / 27 };

static enum status asc_check(const struct raster *raster, const char *name)
{
    const struct grid *const g = raster->grid;
    return g->is_rotated || g->cell_y < 0
               ? status_fail(STATUS_BAD_ARGUMENT,
                             "%s: an ASCII grid cannot say that its rows do not go from north to "
                             "south; use raster=tif",
                             name)
               : STATUS_OK;
}

static bool asc_says_system(const struct raster *raster)
{
    return raster->grid->prj != NULL || grid_find_tag(raster->grid, GRID_GEO_KEYS) == NULL;
}

static enum status asc_open(struct raster_source *s, uint64_t *n_pieces)
{
    const uint64_t n_cells = (uint64_t)s->grid->rows * s->grid->columns;
    *n_pieces = (n_cells - 1) / PIECE_CELLS + 1;
    return STATUS_OK;
}

/* A number as text with its NUL. */
struct number {
    char text[SHORTEST_BYTES + 1];
};

static struct number number_of(double value)
{
    struct number n;
    n.text[shortest_f64(value, n.text)] = '\0';
    return n;
}

static enum status put_header(const struct raster_source *s, struct bytes *out)
{
    const struct grid *const g = s->grid;
    const bool square = g->cell_x == g->cell_y;
    const char *const corner = g->is_centred ? "center" : "corner";
    const struct number height = number_of(g->cell_y);
    return bytes_printf(out, "ncols %zu\nnrows %zu\nxll%s %s\nyll%s %s\n%s %s\n%s%s%s%s%s%s",
                        g->columns, g->rows, corner, number_of(g->x).text, corner,
                        number_of(g->y).text, square ? "cellsize" : "dx", number_of(g->cell_x).text,
                        square ? "" : "dy ", square ? "" : height.text, square ? "" : "\n",
                        s->nodata[0] ? "NODATA_value " : "", s->nodata, s->nodata[0] ? "\n" : "");
}

static size_t put_cell(enum raster_type type, const unsigned char *cell, char *text)
{
    double d;
    float f;
    int32_t i;
    switch (type) {
    case RASTER_F64:
        memcpy(&d, cell, sizeof d);
        return shortest_f64(d, text);
    case RASTER_F32:
        memcpy(&f, cell, sizeof f);
        return shortest_f32(f, text);
    default:
        memcpy(&i, cell, sizeof i);
        return shortest_f64(i, text);
    }
}

/* Cells first .. first + n - 1, as text; cells[] has the room for them. */
static enum status put_cells(const struct raster_source *s, uint64_t first, size_t n,
                             unsigned char *cells, struct bytes *out)
{
    const size_t columns = s->grid->columns, width = raster_type_bytes(s->raster.type);
    size_t column = (size_t)(first % columns);
    STATUS_TRY(s->fetch(s->context, first, n, cells));
    for (size_t i = 0; i < n; i++) {
        STATUS_TRY(bytes_reserve(out, SHORTEST_BYTES + 1));
        out->len += put_cell(s->raster.type, cells + i * width, (char *)out->data + out->len);
        column = column + 1 < columns ? column + 1 : 0;
        out->data[out->len++] = column == 0 ? '\n' : ' ';
    }
    return STATUS_OK;
}

static enum status asc_piece(struct raster_source *s, uint64_t index, struct bytes *out)
{
    const uint64_t n_cells = (uint64_t)s->grid->rows * s->grid->columns;
    const uint64_t first = index * PIECE_CELLS;
    const size_t n = n_cells - first < PIECE_CELLS ? (size_t)(n_cells - first) : PIECE_CELLS;
    assert(first < n_cells);
    if (index == 0) {
        STATUS_TRY(put_header(s, out));
    }
    unsigned char *const cells = malloc(n * raster_type_bytes(s->raster.type));
    if (cells == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu cells of a grid", n);
    }
    const enum status st = put_cells(s, first, n, cells, out);
    free(cells);
    return st;
}

const struct raster_file_ops raster_asc_ops = {
    .suffix = ".asc.gz",
    .kind = PACK_GZIP,
    .open = asc_open,
    .piece = asc_piece,
    .check = asc_check,
    .says_system = asc_says_system,
};
