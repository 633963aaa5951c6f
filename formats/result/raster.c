/*
 * raster - the way from a grid of numbers to a result's file; the formats are in raster_tif.c and
 * raster_asc.c.
 */
#include "formats/result/raster.h"

#include "formats/result/raster_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct raster_file_ops *const formats[] = {
    [RASTER_TIF] = &raster_tif_ops, [RASTER_ASC] = &raster_asc_ops};

enum status raster_check(const struct raster *raster, const char *name)
{
    const struct raster_file_ops *const ops = formats[raster->format];
    return ops->check != NULL ? ops->check(raster, name) : STATUS_OK;
}

bool raster_says_system(const struct raster *raster)
{
    return formats[raster->format]->says_system(raster);
}

/* NODATA as text; "" when there is none that the raster's type can hold. */
static void write_nodata(const struct raster *raster, char text[SHORTEST_BYTES + 1])
{
    double v = raster->nodata;
    text[0] = '\0';
    if (!raster->has_nodata ||
        (raster->type == RASTER_I32 && (v != floor(v) || v < INT32_MIN || v > INT32_MAX))) {
        return;
    }
    if (raster->type == RASTER_F32) {
        v = (double)(float)v;
    }
    text[shortest_f64(v, text)] = '\0';
}

static void free_source(void *context)
{
    struct raster_source *const s = context;
    if (s->ops->close != NULL) {
        s->ops->close(s);
    }
    result_free_context(s->context, s->free_context);
    grid_free(s->grid);
    free(s);
}

/* A copy of what the caller gives; the context is taken over, also on failure. */
static enum status new_source(const struct raster *raster, result_fetch_fn *fetch, void *context,
                              void (*free_context)(void *), struct raster_source **out)
{
    struct raster_source *const s = calloc(1, sizeof *s);
    *out = NULL;
    if (s == NULL) {
        result_free_context(context, free_context);
        return status_fail(STATUS_NO_MEMORY, "no memory to write a grid");
    }
    *s = (struct raster_source){.raster = *raster,
                                .fetch = fetch,
                                .context = context,
                                .free_context = free_context,
                                .ops = formats[raster->format]};
    write_nodata(raster, s->nodata);
    const enum status st = grid_copy(raster->grid, &s->grid);
    if (st != STATUS_OK) {
        free_source(s);
        return st;
    }
    s->raster.grid = s->grid;
    *out = s;
    return STATUS_OK;
}

static enum status raster_piece(void *context, uint64_t index, struct bytes *out)
{
    struct raster_source *const s = context;
    return s->ops->piece(s, index, out);
}

static const unsigned char *raster_header(const void *context)
{
    const struct raster_source *const s = context;
    return s->ops->header(s);
}

static enum status prj_piece(void *text, uint64_t index, struct bytes *out)
{
    (void)index;
    return bytes_printf(out, "%s\n", (const char *)text);
}

/* Appends a file of one member. */
static enum status add_file(struct result *r, const char *name, const char *suffix,
                            enum pack_kind kind, struct result_file **out)
{
    char file_name[RESULT_NAME_BYTES];
    result_set_name(file_name, name, suffix);
    return result_add_file(r, file_name, kind, out);
}

static enum status add_prj(struct result *r, const char *name, const char *prj)
{
    struct result_file *file;
    STATUS_TRY(add_file(r, name, ".prj", PACK_RAW, &file));
    char *const text = strdup(prj);
    return text != NULL ? result_add_member(file, NULL, 1, prj_piece, text, free)
                        : status_fail(STATUS_NO_MEMORY, "no memory for %s", file->name);
}

static enum status add_files(struct result *r, const char *name, struct raster_source *s,
                             struct result_file **file, uint64_t *n_pieces)
{
    if (s->raster.format == RASTER_ASC && s->grid->prj != NULL) {
        STATUS_TRY(add_prj(r, name, s->grid->prj));
    }
    STATUS_TRY(add_file(r, name, s->ops->suffix, s->ops->kind, file));
    return s->ops->open(s, n_pieces);
}

enum status result_add_raster(struct result *r, const char *name, const struct raster *raster,
                              result_fetch_fn *fetch, void *context, void (*free_context)(void *))
{
    struct raster_source *s;
    struct result_file *file;
    uint64_t n_pieces = 0;
    STATUS_TRY(new_source(raster, fetch, context, free_context, &s));
    const enum status st = add_files(r, name, s, &file, &n_pieces);
    if (st != STATUS_OK) {
        free_source(s);
        return st;
    }
    const bool has_header = s->ops->header != NULL;
    STATUS_TRY(result_add_member(file, NULL, n_pieces, raster_piece, s, free_source));
    file->members[0].header = has_header ? raster_header : NULL;
    return STATUS_OK;
}
