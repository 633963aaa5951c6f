/*
 * raster_tif - a GeoTIFF in pieces that are made on several threads.
 *
 * The file is header, directory, tiles, as cloud-optimised ones are; the directory holds every
 * tile's place. So there are two passes over the pieces: asked for one of the first, empty ones, a
 * group of tiles is deflated and kept; then comes the head, then the groups are handed out. Pieces
 * may be asked for in any order: what is missing is made there and then, by exactly one thread.
 * What there is no room to keep is only measured in the first pass, and made again in the second.
 */
#include "formats/result/raster_file.h"

#include "formats/base/checked.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum status raster_tif_new(struct raster_source *source, struct raster_tif **out)
{
    *out = NULL;
    const struct grid *const g = source->grid;
    const struct raster_tiling cut = raster_tiling_of(g);
    const size_t tile_bytes = cut.rows * cut.columns * raster_type_bytes(source->raster.type);
    const size_t group_tiles = RASTER_GROUP_BYTES / tile_bytes;
    struct raster_tif *const t = calloc(1, sizeof *t);
    if (t == NULL || !checked_mul(cut.across, cut.down, &t->n_tiles)) {
        free(t);
        raster_source_free(source);
        return status_fail(STATUS_NO_MEMORY, "no memory to write a grid");
    }
    t->source = *source;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    t->tiling = cut;
    t->group_tiles = group_tiles < RASTER_GROUP_TILES ? group_tiles : RASTER_GROUP_TILES;
    t->n_groups = (t->n_tiles - 1) / t->group_tiles + 1;
    t->tile_bytes = calloc(t->n_tiles, sizeof *t->tile_bytes);
    t->groups = calloc(t->n_groups, sizeof *t->groups);
    if (t->tile_bytes == NULL || t->groups == NULL) {
        const enum status st = status_fail(
            STATUS_NO_MEMORY, "no memory to write a grid of %zu x %zu cells", g->rows, g->columns);
        raster_tif_free(t);
        return st;
    }
    *out = t;
    return STATUS_OK;
}

void raster_tif_free(void *tif)
{
    struct raster_tif *const t = tif;
    for (size_t i = 0; t->groups != NULL && i < t->n_groups; i++) {
        bytes_free(&t->groups[i].data);
    }
    free(t->groups);
    free(t->tile_bytes);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    raster_source_free(&t->source);
    free(t);
}

uint64_t raster_tif_pieces(const struct raster_tif *tif)
{
    return 2 * (uint64_t)tif->n_groups + 1;
}

/* What is kept takes no more memory than it has bytes, as raster_kept_bytes() says. */
static void give_back_room(struct bytes *b)
{
    unsigned char *const data = b->len > 0 ? realloc(b->data, b->len) : NULL;
    if (data != NULL) {
        b->data = data;
        b->cap = b->len;
    }
}

/* Sees to it that the group is kept (or only measured). The lock is held, but not while tiles are
 * being deflated. */
static enum status ensure_group(struct raster_tif *t, size_t index, bool kept)
{
    struct raster_group *const g = &t->groups[index];
    while (g->state == GROUP_RUNNING) {
        pthread_cond_wait(&t->changed, &t->lock);
    }
    if (g->state == GROUP_KEPT || (g->measured && !kept)) {
        return STATUS_OK;
    }
    g->state = GROUP_RUNNING;
    pthread_mutex_unlock(&t->lock);
    struct bytes data = {.len = 0};
    uint32_t sizes[RASTER_GROUP_TILES];
    const size_t first = index * t->group_tiles, left = t->n_tiles - first;
    const size_t n = left < t->group_tiles ? left : t->group_tiles;
    const enum status st = raster_tiles(t, first, n, &data, sizes);
    if (st == STATUS_OK) {
        give_back_room(&data);
    }
    pthread_mutex_lock(&t->lock);
    if (st == STATUS_OK && !g->measured) {
        memcpy(t->tile_bytes + first, sizes, n * sizeof *sizes);
        g->measured = true;
    }
    const size_t most = t->source.raster.keep_bytes;
    const bool has_room = kept || most == 0 || t->kept_bytes + data.cap <= most;
    if (st == STATUS_OK && has_room) {
        g->data = data;
        g->state = GROUP_KEPT;
        t->kept_bytes += data.cap;
    } else {
        bytes_free(&data);
        g->state = GROUP_NONE;
    }
    pthread_cond_broadcast(&t->changed);
    return st;
}

/* The head; BigTIFF only where the file does not fit otherwise. */
static enum status put_head(struct raster_tif *t, struct bytes *out)
{
    enum status st = STATUS_OK;
    for (size_t i = 0; i < t->n_groups && st == STATUS_OK; i++) {
        st = ensure_group(t, i, false);
    }
    const size_t before = out->len;
    uint64_t end = 0;
    if (st == STATUS_OK) {
        st = raster_tif_head(t, false, out, &end);
    }
    if (st == STATUS_OK && end > UINT32_MAX) {
        out->len = before;
        st = raster_tif_head(t, true, out, &end);
    }
    return st;
}

enum status raster_tif_piece(void *tif, uint64_t index, struct bytes *out)
{
    struct raster_tif *const t = tif;
    enum status st;
    assert(index < raster_tif_pieces(t));
    pthread_mutex_lock(&t->lock);
    if (index < t->n_groups) {
        const struct raster_group *const g = &t->groups[index];
        const bool others = g->state == GROUP_RUNNING; /* nothing to wait for here */
        st = others ? STATUS_OK : ensure_group(t, (size_t)index, false);
    } else if (index == t->n_groups) {
        st = put_head(t, out);
    } else {
        struct raster_group *const g = &t->groups[index - t->n_groups - 1];
        st = ensure_group(t, (size_t)(index - t->n_groups - 1), true);
        if (st == STATUS_OK) {
            st = bytes_append(out, g->data.data, g->data.len);
            t->kept_bytes -= g->data.cap;
            bytes_free(&g->data);
            g->state = GROUP_NONE;
        }
    }
    pthread_mutex_unlock(&t->lock);
    return st;
}
