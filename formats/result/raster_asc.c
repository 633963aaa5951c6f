/*
 * raster_asc - ESRI ASCII text: a header, then a line for each row.
 *
 * Keys as ArcGIS reads them; dx and dy, which GDAL reads, where cells are not square. Numbers have
 * the fewest digits that read back as the same ones in the raster's type.
 */
#include "formats/base/shortest.h"
#include "formats/result/raster_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint64_t raster_asc_pieces(const struct raster_source *s)
{
    const uint64_t n_cells = (uint64_t)s->grid->rows * s->grid->columns;
    return (n_cells - 1) / RASTER_TEXT_CELLS + 1;
}

static enum status put_number(struct bytes *out, const char *key, double value)
{
    enum status st = bytes_printf(out, "%s ", key);
    if (st == STATUS_OK) {
        st = result_put_f64(out, value);
    }
    return st == STATUS_OK ? bytes_append(out, "\n", 1) : st;
}

static enum status put_header(const struct raster_source *s, struct bytes *out)
{
    const struct grid *const g = s->grid;
    const bool square = g->cell_x == g->cell_y;
    char nodata[SHORTEST_BYTES];
    const size_t n = raster_nodata_text(&s->raster, nodata);
    enum status st = bytes_printf(out, "ncols %zu\nnrows %zu\n", g->columns, g->rows);
    if (st == STATUS_OK) {
        st = put_number(out, g->is_centred ? "xllcenter" : "xllcorner", g->x);
    }
    if (st == STATUS_OK) {
        st = put_number(out, g->is_centred ? "yllcenter" : "yllcorner", g->y);
    }
    if (st == STATUS_OK) {
        st = put_number(out, square ? "cellsize" : "dx", g->cell_x);
    }
    if (st == STATUS_OK && !square) {
        st = put_number(out, "dy", g->cell_y);
    }
    return st == STATUS_OK && n > 0 ? bytes_printf(out, "NODATA_value %.*s\n", (int)n, nodata) : st;
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

enum status raster_asc_piece(void *source, uint64_t index, struct bytes *out)
{
    const struct raster_source *const s = source;
    const size_t columns = s->grid->columns, width = raster_type_bytes(s->raster.type);
    const uint64_t n_cells = (uint64_t)s->grid->rows * columns, first = index * RASTER_TEXT_CELLS;
    const size_t n =
        n_cells - first < RASTER_TEXT_CELLS ? (size_t)(n_cells - first) : (size_t)RASTER_TEXT_CELLS;
    assert(first < n_cells);
    enum status st = index == 0 ? put_header(s, out) : STATUS_OK;
    unsigned char *const cells = malloc(n * width);
    if (cells == NULL) {
        st = status_fail(STATUS_NO_MEMORY, "no memory for %zu cells of a grid", n);
    }
    if (st == STATUS_OK) {
        st = s->fetch(s->context, first, n, cells);
    }
    size_t column = (size_t)(first % columns);
    for (size_t i = 0; i < n && st == STATUS_OK; i++) {
        st = bytes_reserve(out, SHORTEST_BYTES + 1);
        if (st == STATUS_OK) {
            out->len += put_cell(s->raster.type, cells + i * width, (char *)out->data + out->len);
            column = column + 1 < columns ? column + 1 : 0;
            out->data[out->len++] = column == 0 ? '\n' : ' ';
        }
    }
    free(cells);
    return st;
}
