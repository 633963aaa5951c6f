/*
 * generate_dem - see generate_dem.h.
 *
 * A grid is written in pieces (raster.h). In every step, spread over the threads, a batch of pieces
 * is made and the batch before it is written. A GeoTIFF's head needs the sizes of all tiles: those
 * for which there is no room until they are written are made twice.
 */
#include "pipeline/generate/generate_dem.h"

#include "formats/base/log.h"
#include "pipeline/generate/new_file.h"
#include "pipeline/names/failure.h"
#include "pipeline/names/interrupt.h"
#include "pipeline/names/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    BATCH_MAX = 64,      /* pieces, each about 1 MiB */
    KEEP_BYTES = 1 << 29 /* of deflated tiles */
};

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

/* --- pieces ---------------------------------------------------------------------------------- */

struct piece {
    struct bytes raw;
    struct pack_piece packed; /* when gzipped */
};

struct work {
    const struct generate_dem_order *order;
    const struct executor *executor;
    struct terrain terrain;
    size_t batch_pieces;
    struct piece batches[2][BATCH_MAX];
    struct deflater *deflaters[BATCH_MAX];
    struct failure failure;
    uint64_t bytes; /* written */
    double share;   /* of all work, that is done before this file */
};

/* One of the two files on its way. */
struct writing {
    struct work *work;
    const struct result_member *member;
    struct new_file *file;
    uint64_t first; /* piece of the batch that is being made */
    size_t n_made, n_written;
    uint32_t crc; /* of what has been gzipped */
    uint64_t raw_bytes;
};

static enum status make_piece(struct writing *g, size_t index)
{
    struct work *const w = g->work;
    struct piece *const p = &w->batches[g->first / w->batch_pieces % 2][index];
    const uint64_t at = g->first + index;
    bytes_clear(&p->raw);
    enum status status = g->member->piece(g->member->context, at, &p->raw);
    if (status == STATUS_OK && w->order->pair->is_gzipped) {
        status = pack_deflate(w->deflaters[index], PACK_GZIP, p->raw.data, p->raw.len,
                              at + 1 == g->member->n_pieces, &p->packed);
    }
    return status;
}

static enum status put(struct writing *g, const void *data, size_t n)
{
    g->work->bytes += n;
    return new_file_write(g->file, data, n);
}

static enum status write_piece(struct writing *g, const struct piece *p)
{
    if (!g->work->order->pair->is_gzipped) {
        return put(g, p->raw.data, p->raw.len);
    }
    g->crc = (uint32_t)crc32_combine(g->crc, p->packed.crc, (off_t)p->packed.raw_bytes);
    g->raw_bytes += p->packed.raw_bytes;
    return put(g, p->packed.packed.data, p->packed.packed.len);
}

/* Task 0 writes the batch before, the others make a piece each. */
static void do_task(void *arg, size_t index)
{
    struct writing *const g = arg;
    struct work *const w = g->work;
    if (index > 0) {
        failure_note(&w->failure, make_piece(g, index - 1));
        return;
    }
    const struct piece *const batch = w->batches[(g->first / w->batch_pieces + 1) % 2];
    enum status status = STATUS_OK;
    for (size_t i = 0; i < g->n_written && status == STATUS_OK; i++) {
        status = write_piece(g, &batch[i]);
    }
    failure_note(&w->failure, status);
}

static void show_progress(const struct writing *g)
{
    char done[TEXT_NUMBER_BYTES], line[128];
    const double part = (double)g->first / (double)g->member->n_pieces;
    snprintf(line, sizeof(line), "generating: %3.0f %%, %s", 100 * (g->work->share + part / 2),
             text_size(done, g->work->bytes));
    log_progress(line);
}

static enum status write_pieces(struct writing *g)
{
    struct work *const w = g->work;
    const uint64_t n = g->member->n_pieces;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (g->first < n || g->n_made > 0)) {
        const uint64_t left = g->first < n ? n - g->first : 0;
        g->n_written = g->n_made;
        g->n_made = left < w->batch_pieces ? (size_t)left : w->batch_pieces;
        w->executor->run(w->executor->context, 1 + g->n_made, do_task, g);
        g->first += w->batch_pieces;
        status = failure_first(&w->failure);
        if (status == STATUS_OK) {
            status = interrupt_check(w->order->pair->dem);
        }
        if (log_has_progress()) {
            show_progress(g);
        }
    }
    return status;
}

/* The frame of RFC 1952 around what has been deflated. */
static enum status write_gzip(struct writing *g)
{
    static const unsigned char head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    unsigned char tail[8];
    enum status status = put(g, head, sizeof(head));
    if (status == STATUS_OK) {
        status = write_pieces(g);
    }
    for (unsigned i = 0; i < 4; i++) {
        tail[i] = (unsigned char)(g->crc >> (8 * i));
        tail[4 + i] = (unsigned char)(g->raw_bytes >> (8 * i));
    }
    return status == STATUS_OK ? put(g, tail, sizeof(tail)) : status;
}

/* --- the pair -------------------------------------------------------------------------------- */

static enum status write_grid(struct work *w, const struct grid *grid, bool is_dem,
                              struct new_file *file)
{
    const struct raster raster = {.grid = grid,
                                  .format = w->order->pair->format,
                                  .type = w->order->type,
                                  .has_nodata = is_dem && w->terrain.order.nodata > 0,
                                  .nodata = TERRAIN_NODATA,
                                  .keep_bytes = KEEP_BYTES};
    struct cells cells = {.terrain = &w->terrain,
                          .type = raster.type,
                          .fill = is_dem ? terrain_surface : terrain_debris};
    struct result result;
    enum status status = result_init(&result);
    if (status != STATUS_OK) {
        return status;
    }
    status = result_add_raster(&result, is_dem ? "dem" : "source", &raster, fetch, &cells, NULL);
    if (status == STATUS_OK) {
        struct writing g = {.work = w, .member = result.files[0].members, .file = file};
        w->share = is_dem ? 0.5 : 0;
        status = w->order->pair->is_gzipped ? write_gzip(&g) : write_pieces(&g);
        log_progress(NULL);
    }
    result_free(&result);
    return status;
}

static enum status write_both(struct work *w, struct new_file *source, struct new_file *dem)
{
    struct grid *grid;
    enum status status =
        grid_new((size_t)w->terrain.order.rows, (size_t)w->terrain.order.columns, &grid);
    if (status != STATUS_OK) {
        return status;
    }
    grid->has_origin = true;
    grid->cell_x = grid->cell_y = w->terrain.order.cell_m;
    status = write_grid(w, grid, false, source);
    if (status == STATUS_OK) {
        status = write_grid(w, grid, true, dem);
    }
    grid_free(grid);
    return status;
}

static enum status write_pair(struct work *w)
{
    const struct generate_dem_order *const o = w->order;
    struct new_file *source = NULL, *dem = NULL;
    enum status status = new_file_open(o->pair->source, o->force, &source);
    if (status == STATUS_OK) {
        status = new_file_open(o->pair->dem, o->force, &dem);
    }
    if (status == STATUS_OK) {
        status = write_both(w, source, dem);
    }
    if (status == STATUS_OK) {
        status = new_file_commit(source);
        source = NULL;
    }
    if (status == STATUS_OK) {
        status = new_file_commit(dem);
        dem = NULL;
    }
    new_file_abandon(source);
    new_file_abandon(dem);
    return status;
}

static enum status acquire(struct work *w)
{
    const size_t wanted = 2 * w->executor->n_threads;
    enum status status = terrain_plan(&w->order->terrain, &w->terrain);
    w->batch_pieces = wanted < BATCH_MAX ? wanted : BATCH_MAX;
    for (size_t i = 0; w->order->pair->is_gzipped && i < w->batch_pieces && status == STATUS_OK;
         i++) {
        status = deflater_new(PACK_LEVEL, &w->deflaters[i]);
    }
    return status;
}

static void release(struct work *w)
{
    for (size_t i = 0; i < BATCH_MAX; i++) {
        deflater_free(w->deflaters[i]);
        for (size_t k = 0; k < 2; k++) {
            bytes_free(&w->batches[k][i].raw);
            bytes_free(&w->batches[k][i].packed.packed);
        }
    }
    failure_end(&w->failure);
    free(w);
}

enum status generate_dem(const struct generate_dem_order *order, const struct executor *executor,
                         uint64_t *bytes, size_t *n_slides)
{
    struct work *const w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to generate with");
    }
    w->order = order;
    w->executor = executor;
    failure_init(&w->failure);
    enum status status = acquire(w);
    if (status == STATUS_OK) {
        struct interrupt interrupt;
        interrupt_watch(&interrupt);
        status = write_pair(w);
        interrupt_leave(&interrupt);
    }
    *bytes = w->bytes;
    *n_slides = w->terrain.n_slides;
    release(w);
    return status;
}
