/*
 * raster - the way from a grid of numbers to a result's file; the formats are in raster_tif.c and
 * raster_asc.c.
 */
#include "formats/result/raster.h"

#include "formats/base/checked.h"
#include "formats/base/shortest.h"
#include "formats/result/raster_file.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void raster_source_free(struct raster_source *s)
{
    if (s->free_context != NULL) {
        s->free_context(s->context);
    }
    grid_free(s->grid);
    *s = (struct raster_source){.grid = NULL};
}

size_t raster_nodata_text(const struct raster *raster, char *text)
{
    double v = raster->nodata;
    if (!raster->has_nodata) {
        return 0;
    }
    if (raster->type == RASTER_I32 && (v != floor(v) || v < INT32_MIN || v > INT32_MAX)) {
        return 0;
    }
    if (raster->type == RASTER_F32) {
        v = (double)(float)v;
    }
    return shortest_f64(v, text);
}

enum status raster_check(const struct raster *raster, const char *name)
{
    const struct grid *const g = raster->grid;
    if (raster->format == RASTER_ASC && (g->is_rotated || g->cell_y < 0)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: an ASCII grid cannot say that its rows do not go from north to "
                           "south; use raster = tif",
                           name);
    }
    return STATUS_OK;
}

bool raster_says_system(const struct raster *raster)
{
    const struct grid *const g = raster->grid;
    if (raster->format == RASTER_ASC) {
        return g->prj != NULL || grid_find_tag(g, GRID_GEO_KEYS) == NULL;
    }
    return g->n_tags > 0 || g->prj == NULL || raster_tif_says(g->prj);
}

size_t raster_kept_bytes(const struct raster *raster)
{
    const struct grid *const g = raster->grid;
    if (raster->format == RASTER_ASC) {
        return 0;
    }
    const struct raster_tiling cut = raster_tiling_of(g);
    /* what deflate cannot shrink it stores: 5 bytes more for 64 KiB, and a few around it */
    const size_t raw = cut.rows * cut.columns * raster_type_bytes(raster->type);
    size_t tiles, bytes;
    if (!checked_mul(cut.across, cut.down, &tiles) ||
        !checked_mul(tiles, raw + raw / 1024 + 64, &bytes)) {
        bytes = SIZE_MAX;
    }
    return raster->keep_bytes > 0 && raster->keep_bytes < bytes ? raster->keep_bytes : bytes;
}

/* A copy of what the caller gives, which is his no more. */
static enum status take_source(const struct raster *raster, result_fetch_fn *fetch, void *context,
                               void (*free_context)(void *), struct raster_source *out)
{
    *out = (struct raster_source){
        .raster = *raster, .fetch = fetch, .context = context, .free_context = free_context};
    const enum status st = grid_copy(raster->grid, &out->grid);
    out->raster.grid = out->grid;
    if (st != STATUS_OK) {
        raster_source_free(out);
    }
    return st;
}

static void free_asc(void *context)
{
    raster_source_free(context);
    free(context);
}

struct whole {
    struct bytes bytes;
};

static void free_whole(void *context)
{
    struct whole *const w = context;
    bytes_free(&w->bytes);
    free(w);
}

static enum status whole_piece(void *context, uint64_t index, struct bytes *out)
{
    const struct whole *const w = context;
    const size_t from = (size_t)(index * PACK_PIECE_BYTES), left = w->bytes.len - from;
    return bytes_append(out, w->bytes.data + from,
                        left < PACK_PIECE_BYTES ? left : PACK_PIECE_BYTES);
}

/* Adds a file that is complete already; the bytes are taken over, also on failure. */
static enum status add_bytes(struct result *r, const char *file_name, struct bytes *bytes)
{
    struct result_file *file;
    struct whole *const w = malloc(sizeof *w);
    if (w == NULL) {
        bytes_free(bytes);
        return status_fail(STATUS_NO_MEMORY, "no memory for %s", file_name);
    }
    w->bytes = *bytes;
    *bytes = (struct bytes){.len = 0};
    const enum status st = result_add_file(r, file_name, PACK_RAW, &file);
    if (st != STATUS_OK) {
        free_whole(w);
        return st;
    }
    const uint64_t n_pieces =
        w->bytes.len / PACK_PIECE_BYTES + (w->bytes.len % PACK_PIECE_BYTES > 0);
    return result_add_member(file, NULL, n_pieces > 0 ? n_pieces : 1, whole_piece, w, free_whole);
}

static enum status add_prj(struct result *r, const char *name, const char *prj)
{
    char file_name[sizeof r->files->name];
    const int len = snprintf(file_name, sizeof file_name, "%s.prj", name);
    assert((size_t)len < sizeof file_name);
    (void)len;
    struct bytes text = {.len = 0};
    enum status st = bytes_printf(&text, "%s\n", prj);
    if (st != STATUS_OK) {
        bytes_free(&text);
        return st;
    }
    return add_bytes(r, file_name, &text);
}

static enum status add_asc(struct result_file *file, struct raster_source *source)
{
    struct raster_source *const s = malloc(sizeof *s);
    if (s == NULL) {
        raster_source_free(source);
        return status_fail(STATUS_NO_MEMORY, "no memory for %s", file->name);
    }
    *s = *source;
    return result_add_member(file, NULL, raster_asc_pieces(s), raster_asc_piece, s, free_asc);
}

static enum status add_tif(struct result_file *file, struct raster_source *source)
{
    struct raster_tif *tif;
    const enum status st = raster_tif_new(source, &tif);
    if (st != STATUS_OK) {
        return st;
    }
    return result_add_member(file, NULL, raster_tif_pieces(tif), raster_tif_piece, tif,
                             raster_tif_free);
}

enum status result_add_raster(struct result *r, const char *name, const struct raster *raster,
                              result_fetch_fn *fetch, void *context, void (*free_context)(void *))
{
    char file_name[sizeof r->files->name];
    const bool is_text = raster->format == RASTER_ASC;
    const int len =
        snprintf(file_name, sizeof file_name, "%s%s", name, is_text ? ".asc.gz" : ".tif");
    assert((size_t)len < sizeof file_name);
    (void)len;
    struct raster_source source;
    struct result_file *file;
    enum status st = take_source(raster, fetch, context, free_context, &source);
    if (st != STATUS_OK) {
        return st;
    }
    if (is_text && source.grid->prj != NULL) {
        st = add_prj(r, name, source.grid->prj);
    }
    if (st == STATUS_OK) {
        st = result_add_file(r, file_name, is_text ? PACK_GZIP : PACK_RAW, &file);
    }
    if (st != STATUS_OK) {
        raster_source_free(&source);
        return st;
    }
    return is_text ? add_asc(file, &source) : add_tif(file, &source);
}
