/*
 * generate_dem - see generate.h.
 *
 * A grid is written in pieces (raster.h) by a piece_writer.
 */
#include "pipeline/generate/generate.h"

#include "pipeline/generate/piece_writer.h"
#include "watch/files/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- names ----------------------------------------------------------------------------------- */

/* Takes `ending` off the name of n letters, if it ends so. */
static bool take_off(const char *name, size_t *n, const char *ending)
{
    const size_t len = strlen(ending);
    const bool has = *n >= len && strncasecmp(name + *n - len, ending, len) == 0;
    *n -= has ? len : 0;
    return has;
}

enum status generate_pair_of(const char *output, struct generate_pair *out)
{
    static const char *const endings[] = {".tif", ".asc", ".asc.gz"};
    const char *const slash = strrchr(output, '/'), *const name = slash ? slash + 1 : output;
    size_t n = strlen(name), kind = 0;
    *out = (struct generate_pair){.dem = NULL};
    while (kind < 3 && !take_off(name, &n, endings[kind])) {
        kind++;
    }
    if (!take_off(name, &n, ".dem")) {
        take_off(name, &n, ".source");
    }
    if (n == 0 || (n == 1 && name[0] == '-') || (kind == 3 && memchr(name, '.', n) != NULL)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: dem writes two files, X.dem.tif and X.source.tif: name them X, "
                           "X.tif, X.asc or X.asc.gz",
                           output);
    }
    out->format = kind == 1 || kind == 2 ? RASTER_ASC : RASTER_TIF;
    out->is_gzipped = kind == 2;
    const int stem = (int)(name - output) + (int)n;
    const char *const ending = endings[kind % 3];
    out->dem = xasprintf("%.*s.dem%s", stem, output, ending);
    out->source = xasprintf("%.*s.source%s", stem, output, ending);
    return STATUS_OK;
}

void generate_pair_free(struct generate_pair *pair)
{
    free(pair->dem);
    free(pair->source);
    *pair = (struct generate_pair){.dem = NULL};
}

/* --- cells ----------------------------------------------------------------------------------- */

typedef void fill_fn(const struct terrain *t, size_t row, size_t column, size_t n, double *out);

struct cells {
    const struct terrain *terrain;
    enum raster_type type;
    fill_fn *fill;
};

static enum status fetch(void *context, uint64_t first, size_t n, void *dst)
{
    enum { RUN = 1024 };
    double run[RUN];
    float narrow[RUN];
    const struct cells *const c = context;
    const uint64_t columns = c->terrain->order.columns;
    unsigned char *to = dst;
    while (n > 0) {
        const size_t column = (size_t)(first % columns), in_row = (size_t)columns - column;
        size_t len = n < in_row ? n : in_row;
        len = len < RUN ? len : RUN;
        c->fill(c->terrain, (size_t)(first / columns), column, len, run);
        for (size_t i = 0; c->type == RASTER_F32 && i < len; i++) {
            narrow[i] = (float)run[i];
        }
        const size_t n_bytes = len * raster_type_bytes(c->type);
        memcpy(to, c->type == RASTER_F32 ? (const void *)narrow : run, n_bytes);
        to += n_bytes;
        first += len;
        n -= len;
    }
    return STATUS_OK;
}

/* --- the pair -------------------------------------------------------------------------------- */

/* One of the two files. */
struct writing {
    struct cells cells;
    struct result result; /* with it alone */
};

static enum status begin(const struct generate_dem_order *o, const struct terrain *t,
                         const struct grid *grid, bool is_dem, struct writing *w,
                         struct piece_file *file)
{
    const struct raster raster = {.grid = grid,
                                  .format = o->pair->format,
                                  .type = o->type,
                                  .has_nodata = is_dem && t->order.nodata > 0,
                                  .nodata = TERRAIN_NODATA};
    w->cells = (struct cells){
        .terrain = t, .type = raster.type, .fill = is_dem ? terrain_surface : terrain_debris};
    STATUS_TRY(result_init(&w->result));
    STATUS_TRY(
        result_add_raster(&w->result, is_dem ? "dem" : "source", &raster, fetch, &w->cells, NULL));
    *file = (struct piece_file){.path = is_dem ? o->pair->dem : o->pair->source,
                                .force = o->force,
                                .kind = o->pair->is_gzipped ? PACK_GZIP : PACK_RAW,
                                .member = w->result.files[0].members,
                                .work = 1};
    return STATUS_OK;
}

static enum status write_pair(const struct generate_dem_order *o, const struct terrain *t,
                              const struct executor *executor, uint64_t *bytes)
{
    struct writing writing[2] = {0};
    struct piece_file files[2] = {0};
    struct grid *grid;
    STATUS_TRY(grid_new((size_t)t->order.rows, (size_t)t->order.columns, &grid));
    grid->has_origin = true;
    grid->cell_x = grid->cell_y = t->order.cell_m;
    enum status status = begin(o, t, grid, false, &writing[0], &files[0]);
    if (status == STATUS_OK) {
        status = begin(o, t, grid, true, &writing[1], &files[1]);
    }
    if (status == STATUS_OK) {
        status = piece_writer_run(files, 2, executor, bytes);
    }
    result_free(&writing[0].result);
    result_free(&writing[1].result);
    grid_free(grid);
    return status;
}

enum status generate_dem(const struct generate_dem_order *order, const struct executor *executor,
                         uint64_t *bytes, size_t *n_slides)
{
    struct terrain terrain;
    *bytes = *n_slides = 0;
    STATUS_TRY(terrain_plan(&order->terrain, &terrain));
    *n_slides = terrain.n_slides;
    return write_pair(order, &terrain, executor, bytes);
}
