/*
 * generate_dem - see generate_dem.h.
 *
 * A grid is written in pieces (raster.h) by a piece_writer.
 */
#include "pipeline/generate/generate_dem.h"

#include "pipeline/generate/piece_writer.h"
#include "pipeline/names/interrupt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

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
    if (asprintf(&out->dem, "%.*s.dem%s", stem, output, ending) < 0) {
        out->dem = NULL;
    }
    if (asprintf(&out->source, "%.*s.source%s", stem, output, ending) < 0) {
        out->source = NULL;
    }
    if (out->dem == NULL || out->source == NULL) {
        generate_pair_free(out);
        return status_fail(STATUS_NO_MEMORY, "%s: no memory", output);
    }
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

/* --- pieces, each up to 1 MiB ----------------------------------------------------------------- */

struct work {
    const struct generate_dem_order *order;
    const struct executor *executor;
    struct terrain terrain;
    size_t batch_pieces;
    struct deflater *deflaters[PIECE_WRITER_BATCH]; /* when gzipped, like `raw` */
    struct bytes raw[PIECE_WRITER_BATCH];
    uint64_t bytes; /* written */
};

/* Of a piece before it was deflated. */
struct trailer {
    uint32_t crc;
    uint64_t n_bytes;
};

/* One of the two files while it is written. */
struct writing {
    struct work *work;
    const struct result_member *member;
    struct trailer *trailers; /* [n_pieces], when gzipped */
    double share;             /* of all work, that is done before this file */
};

static size_t n_pieces(void *context, uint64_t batch)
{
    const struct writing *const g = context;
    const uint64_t most = g->work->batch_pieces, first = batch * most, n = g->member->n_pieces;
    return first >= n ? 0 : (size_t)(n - first < most ? n - first : most);
}

static double share_before(const void *context, uint64_t batch)
{
    const struct writing *const g = context;
    const double first = (double)(batch * g->work->batch_pieces);
    return g->share + fmin(first / (double)g->member->n_pieces, 1) / 2;
}

static enum status make_piece(void *context, uint64_t batch, size_t index, struct bytes *out)
{
    const struct writing *const g = context;
    const uint64_t at = batch * g->work->batch_pieces + index;
    if (g->trailers == NULL) {
        return g->member->piece(g->member->context, at, out);
    }
    struct bytes *const raw = &g->work->raw[index];
    struct pack_piece piece = {.packed = *out};
    bytes_clear(raw);
    STATUS_TRY(g->member->piece(g->member->context, at, raw));
    const enum status status = pack_deflate(g->work->deflaters[index], PACK_GZIP, raw->data,
                                            raw->len, at + 1 == g->member->n_pieces, &piece);
    *out = piece.packed;
    g->trailers[at] = (struct trailer){piece.crc, piece.raw_bytes};
    return status;
}

static enum status write_pieces(struct writing *g, struct new_file *file)
{
    const struct piece_source pieces = {.name = g->work->order->pair->dem,
                                        .context = g,
                                        .n_pieces = n_pieces,
                                        .make = make_piece,
                                        .share_before = share_before};
    return piece_writer_run(&pieces, g->work->executor, file, &g->work->bytes);
}

static enum status put(struct writing *g, struct new_file *file, const void *data, size_t n)
{
    g->work->bytes += n;
    return new_file_write(file, data, n);
}

/* The frame of RFC 1952 around what has been deflated. */
static enum status write_gzip(struct writing *g, struct new_file *file)
{
    static const unsigned char head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    unsigned char tail[8];
    uint32_t crc = 0, n_bytes = 0;
    STATUS_TRY(put(g, file, head, sizeof(head)));
    STATUS_TRY(write_pieces(g, file));
    for (uint64_t i = 0; i < g->member->n_pieces; i++) {
        crc = (uint32_t)crc32_combine(crc, g->trailers[i].crc, (off_t)g->trailers[i].n_bytes);
        n_bytes += (uint32_t)g->trailers[i].n_bytes; /* modulo 2^32, as the format has it */
    }
    for (unsigned i = 0; i < 4; i++) {
        tail[i] = (unsigned char)(crc >> (8 * i));
        tail[4 + i] = (unsigned char)(n_bytes >> (8 * i));
    }
    return put(g, file, tail, sizeof(tail));
}

/* --- the pair -------------------------------------------------------------------------------- */

static enum status write_header(const struct result_member *member, struct new_file *file)
{
    STATUS_TRY(new_file_rewind(file));
    return new_file_write(file, member->header(member->context), PACK_HEADER_BYTES);
}

static enum status write_member(struct work *w, const struct result_member *member, bool is_dem,
                                struct new_file *file)
{
    struct writing g = {.work = w, .member = member, .share = is_dem ? 0.5 : 0};
    if (!w->order->pair->is_gzipped) {
        STATUS_TRY(write_pieces(&g, file));
        return member->header != NULL ? write_header(member, file) : STATUS_OK;
    }
    g.trailers = calloc((size_t)member->n_pieces, sizeof(*g.trailers));
    const enum status status = g.trailers != NULL
                                   ? write_gzip(&g, file)
                                   : status_fail(STATUS_NO_MEMORY, "no memory to generate with");
    free(g.trailers);
    return status;
}

static enum status write_grid(struct work *w, const struct grid *grid, bool is_dem,
                              struct new_file *file)
{
    const struct raster raster = {.grid = grid,
                                  .format = w->order->pair->format,
                                  .type = w->order->type,
                                  .has_nodata = is_dem && w->terrain.order.nodata > 0,
                                  .nodata = TERRAIN_NODATA};
    struct cells cells = {.terrain = &w->terrain,
                          .type = raster.type,
                          .fill = is_dem ? terrain_surface : terrain_debris};
    struct result result;
    STATUS_TRY(result_init(&result));
    enum status status =
        result_add_raster(&result, is_dem ? "dem" : "source", &raster, fetch, &cells, NULL);
    if (status == STATUS_OK) {
        status = write_member(w, result.files[0].members, is_dem, file);
    }
    result_free(&result);
    return status;
}

static enum status write_both(struct work *w, struct new_file *source, struct new_file *dem)
{
    struct grid *grid;
    STATUS_TRY(grid_new((size_t)w->terrain.order.rows, (size_t)w->terrain.order.columns, &grid));
    grid->has_origin = true;
    grid->cell_x = grid->cell_y = w->terrain.order.cell_m;
    enum status status = write_grid(w, grid, false, source);
    if (status == STATUS_OK) {
        status = write_grid(w, grid, true, dem);
    }
    grid_free(grid);
    return status;
}

static enum status write_pair(struct work *w)
{
    const struct generate_dem_order *const o = w->order;
    struct new_file *source, *dem;
    STATUS_TRY(new_file_open(o->pair->source, o->force, &source));
    enum status status = new_file_open(o->pair->dem, o->force, &dem);
    if (status != STATUS_OK) {
        new_file_abandon(source);
        return status;
    }
    if (o->pair->format == RASTER_TIF) { /* whose header comes last */
        status = new_file_rewind(source);
        status = status == STATUS_OK ? new_file_rewind(dem) : status;
    }
    status = status == STATUS_OK ? write_both(w, source, dem) : status;
    if (status != STATUS_OK) {
        new_file_abandon(source);
    } else {
        status = new_file_commit(source);
    }
    if (status != STATUS_OK) {
        new_file_abandon(dem);
        return status;
    }
    return new_file_commit(dem);
}

static enum status generate(struct work *w)
{
    const size_t wanted = 2 * w->executor->n_threads;
    struct interrupt interrupt;
    STATUS_TRY(terrain_plan(&w->order->terrain, &w->terrain));
    w->batch_pieces = wanted < PIECE_WRITER_BATCH ? wanted : PIECE_WRITER_BATCH;
    for (size_t i = 0; w->order->pair->is_gzipped && i < w->batch_pieces; i++) {
        STATUS_TRY(deflater_new(PACK_LEVEL, &w->deflaters[i]));
    }
    interrupt_watch(&interrupt);
    const enum status status = write_pair(w);
    interrupt_leave(&interrupt);
    return status;
}

enum status generate_dem(const struct generate_dem_order *order, const struct executor *executor,
                         uint64_t *bytes, size_t *n_slides)
{
    struct work w = {.order = order, .executor = executor};
    const enum status status = generate(&w);
    *bytes = w.bytes;
    *n_slides = w.terrain.n_slides;
    for (size_t i = 0; i < PIECE_WRITER_BATCH; i++) {
        deflater_free(w.deflaters[i]);
        bytes_free(&w.raw[i]);
    }
    return status;
}
