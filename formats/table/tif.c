/*
 * tif - GeoTIFF grids as tables, see tif.h.
 */
#include "formats/table/tif.h"

#include <string.h>

static bool tif_suits(const unsigned char *head, size_t n)
{
    return n >= 4 && (memcmp(head, "II*\0", 4) == 0 || memcmp(head, "MM\0*", 4) == 0 ||
                      memcmp(head, "II+\0", 4) == 0 || memcmp(head, "MM\0+", 4) == 0);
}

static enum status open_handle(const struct table *t, struct table_handle **out)
{
    struct tif_handle *h;
    const enum status st = tif_handle_open(t->source, &h);
    *out = h != NULL ? &h->base : NULL;
    return st;
}

static enum status read_band(const struct table *t, struct table_handle *h, size_t index,
                             unsigned char *samples)
{
    const struct tif *const s = t->state;
    return tif_band_decode(&s->shape, (struct tif_handle *)h, source_name(t->source), index,
                           samples);
}

static void free_handle(struct table_handle *h)
{
    tif_handle_free((struct tif_handle *)h);
}

static const struct table_bands_ops bands_ops = {open_handle, read_band, free_handle};

static void tif_close(void *state)
{
    struct tif *const s = state;
    table_bands_free(&s->bands);
    grid_free(s->grid);
}

static enum status tif_open(struct table *t)
{
    struct tif *const s = t->state;
    const struct tif_shape *const shape = &s->shape;
    table_bands_init(&s->bands, &bands_ops);
    STATUS_TRY(table_need_seek(t, "a TIFF", "X.tif"));
    struct tif_handle *h = NULL;
    size_t tag_bytes;
    STATUS_TRY(tif_check_directories(t->source, &tag_bytes));
    STATUS_TRY(tif_handle_open(t->source, &h));
    enum status st = tif_read_shape(t, h, &s->shape);
    st = st != STATUS_OK ? st : tif_read_grid(t, h, &s->shape, &s->grid);
    tif_handle_free(h); /* it may stand at another directory now */
    if (st != STATUS_OK) {
        return st;
    }
    if (t->choice.band > 1) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: band=%zu: it has 1 band",
                           source_name(t->source), t->choice.band);
    }
    s->bands.rows = shape->rows;
    s->bands.columns = shape->columns;
    s->bands.band_rows = shape->band_rows;
    s->bands.kind = shape->kind;
    s->bands.sample_bytes = shape->sample_bytes;
    table_set_grid(t, s->grid);
    table_bands_set(t, &s->bands, shape->handle_bytes + tag_bytes);
    return STATUS_OK;
}

const struct table_format tif_format = {
    .name = "tif",
    .state_bytes = sizeof(struct tif),
    .takes = {[TABLE_MISSING_VALUE] = true, [TABLE_BAND] = true},
    .suits = tif_suits,
    .open = tif_open,
    .next = table_bands_next,
    .decode = table_bands_decode,
    .close = tif_close,
};
