/*
 * tif - GeoTIFF grids as tables.
 *
 * table_next hands out cells in order, without reading them: it advises the system which part of
 * the file is needed soon. table_decode reads and unpacks, on many threads at a time.
 */
#include "formats/table/tif.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static bool tif_suits(const unsigned char *head, size_t n)
{
    return n >= 4 && (memcmp(head, "II*\0", 4) == 0 || memcmp(head, "MM\0*", 4) == 0 ||
                      memcmp(head, "II+\0", 4) == 0 || memcmp(head, "MM\0+", 4) == 0);
}

static void band_free(struct tif_band *b)
{
    free(b->samples);
    free(b->message);
    free(b);
}

static void tif_close(void *state)
{
    struct tif *const s = state;
    while (s->handles != NULL) {
        struct tif_handle *const h = s->handles;
        s->handles = h->next;
        tif_handle_free(h);
    }
    while (s->bands != NULL) {
        struct tif_band *const b = s->bands;
        s->bands = b->next;
        band_free(b);
    }
    grid_free(s->grid);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}

static enum status tif_open(struct table *t)
{
    struct tif *const s = t->state;
    s->name = source_name(t->source);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    STATUS_TRY(table_need_seek(t, "a TIFF", "X.tif"));
    struct tif_handle *h = NULL;
    size_t tag_bytes;
    STATUS_TRY(tif_check_directories(t->source, &tag_bytes));
    STATUS_TRY(tif_handle_open(t->source, &h));
    enum status st = tif_read_shape(t, h, &s->shape);
    s->shape.handle_bytes += tag_bytes;
    st = st != STATUS_OK ? st : tif_read_grid(t, h, &s->shape, &s->grid);
    tif_handle_free(h); /* it may stand at another directory now */
    if (st != STATUS_OK) {
        return st;
    }
    table_set_grid(t, s->grid);
    t->info.n_bands = (s->shape.rows - 1) / s->shape.band_rows + 1;
    t->info.band_cells = tif_band_rows(&s->shape, 0) * s->shape.columns;
    t->info.decode_bytes = t->info.band_cells * s->shape.sample_bytes + s->shape.handle_bytes;
    return STATUS_OK;
}

/* Asks the system for the part of the file that the bands up to the one of cell `last` will be in,
 * if they lie in order, and notes in the source how far reading has come. */
static enum status announce(struct table *t, uint64_t last)
{
    struct tif *const s = t->state;
    const struct tif_shape *const shape = &s->shape;
    const uint64_t band = last / shape->columns / shape->band_rows;
    if (band < s->next_band) {
        return STATUS_OK;
    }
    const uint64_t n_bands = (shape->rows - 1) / shape->band_rows + 1;
    const uint64_t file_bytes = source_file_bytes(t->source);
    const uint64_t from = file_bytes / n_bands * s->next_band;
    const uint64_t to = band + 1 == n_bands ? file_bytes : file_bytes / n_bands * (band + 1);
    unsigned char last_byte;
    size_t n;
    s->next_band = (size_t)band + 1;
    (void)posix_fadvise(source_fd(t->source), (off_t)from, (off_t)(to - from), POSIX_FADV_WILLNEED);
    return to > 0 ? source_read_at(t->source, to - 1, &last_byte, 1, &n) : STATUS_OK;
}

static enum status tif_next(struct table *t, struct table_chunk *c, bool *end)
{
    struct tif *const s = t->state;
    const uint64_t left = (uint64_t)s->shape.rows * s->shape.columns - s->next_cell;
    const size_t room = c->values_cap / sizeof(double);
    if (left == 0) {
        *end = true;
        return STATUS_OK;
    }
    if (room == 0) {
        return status_fail(STATUS_INTERNAL, "%s: a chunk without room", s->name);
    }
    c->n_cells = left < room ? (size_t)left : room;
    const uint64_t beyond = (s->next_cell + c->n_cells) % (s->shape.band_rows * s->shape.columns);
    if (beyond < c->n_cells) {
        c->n_cells -= (size_t)beyond; /* whole bands, or the end of one */
    }
    c->first_line = s->next_cell / s->shape.columns + 1;
    c->first_column = s->next_cell % s->shape.columns;
    s->next_cell += c->n_cells;
    return announce(t, s->next_cell - 1);
}

/* A free handle, or a new one. */
static enum status acquire_handle(const struct table *t, struct tif_handle **out)
{
    struct tif *const s = t->state;
    pthread_mutex_lock(&s->lock);
    *out = s->handles;
    if (*out != NULL) {
        s->handles = (*out)->next;
    }
    pthread_mutex_unlock(&s->lock);
    return *out != NULL ? STATUS_OK : tif_handle_open(t->source, out);
}

static void release_handle(struct tif *s, struct tif_handle *h)
{
    pthread_mutex_lock(&s->lock);
    h->next = s->handles;
    s->handles = h;
    pthread_mutex_unlock(&s->lock);
}

static enum status decode_band(const struct table *t, struct tif_band *b)
{
    struct tif *const s = t->state;
    const size_t rows = tif_band_rows(&s->shape, b->index);
    const size_t bytes = rows * s->shape.columns * s->shape.sample_bytes; /* bounded by lay_out */
    b->samples = malloc(bytes);
    if (b->samples == NULL) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory for %zu bytes of rows", s->name, bytes);
    }
    struct tif_handle *h;
    enum status st = acquire_handle(t, &h);
    if (st == STATUS_OK) {
        st = tif_band_decode(&s->shape, h, s->name, b->index, b->samples);
        release_handle(s, h);
    }
    if (st != STATUS_OK) {
        free(b->samples);
        b->samples = NULL;
    }
    return st;
}

/* Finds the band, or makes it known as one that is being decoded, by the caller: *mine. The lock is
 * held. NULL: no memory. */
static struct tif_band *find_band(struct tif *s, size_t index, bool *mine)
{
    struct tif_band *b = s->bands;
    while (b != NULL && b->index != index) {
        b = b->next;
    }
    *mine = b == NULL;
    if (b == NULL) {
        b = calloc(1, sizeof *b);
        if (b != NULL) {
            b->index = index;
            b->cells_left = tif_band_rows(&s->shape, index) * s->shape.columns;
            b->next = s->bands;
            s->bands = b;
        }
    }
    return b;
}

/* Gives the band, decoded; it stays until all its cells have been released. */
static enum status acquire_band(const struct table *t, size_t index, struct tif_band **out)
{
    struct tif *const s = t->state;
    bool mine;
    pthread_mutex_lock(&s->lock);
    struct tif_band *const b = find_band(s, index, &mine);
    while (b != NULL && !mine && b->state == TIF_DECODING) {
        pthread_cond_wait(&s->changed, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    *out = b;
    if (b == NULL) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to read it", s->name);
    }
    if (!mine) {
        return b->state == TIF_FAILED ? status_set(b->code, b->message != NULL ? b->message : "")
                                      : STATUS_OK;
    }
    const enum status st = decode_band(t, b);
    pthread_mutex_lock(&s->lock);
    b->code = st;
    b->message = st != STATUS_OK ? strdup(status_message()) : NULL;
    b->state = st != STATUS_OK ? TIF_FAILED : TIF_DECODED;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return st;
}

static void release_cells(struct tif *s, struct tif_band *b, size_t n)
{
    pthread_mutex_lock(&s->lock);
    assert(b->cells_left >= n);
    b->cells_left -= n;
    const bool done = b->cells_left == 0;
    if (done) {
        struct tif_band **at = &s->bands;
        while (*at != b) {
            at = &(*at)->next;
        }
        *at = b->next;
    }
    pthread_mutex_unlock(&s->lock);
    if (done) {
        band_free(b);
    }
}

static enum status tif_decode(const struct table *t, struct table_chunk *c)
{
    struct tif *const s = t->state;
    const struct tif_shape *const shape = &s->shape;
    double *const values = c->values;
    const size_t band_cells = shape->band_rows * shape->columns;
    uint64_t cell = (c->first_line - 1) * shape->columns + c->first_column;
    for (size_t done = 0; done < c->n_cells;) {
        const size_t index = (size_t)(cell / band_cells), from = (size_t)(cell % band_cells);
        struct tif_band *b;
        STATUS_TRY(acquire_band(t, index, &b));
        const size_t in_band = tif_band_rows(shape, index) * shape->columns - from;
        const size_t left = c->n_cells - done, n = left < in_band ? left : in_band;
        table_widen(shape->kind, shape->sample_bytes, b->samples + from * shape->sample_bytes, n,
                    values + done);
        release_cells(s, b, n);
        done += n;
        cell += n;
    }
    if (t->info.has_missing_value) {
        struct table_missing given = t->choice.missing;
        const bool narrow = shape->kind == TABLE_FLOAT && shape->sample_bytes == sizeof(float);
        for (size_t i = 0; i < given.n_numbers && narrow; i++) {
            given.numbers[i] = (double)(float)given.numbers[i];
        }
        (void)table_mark_nodata(values, c->n_cells, &given, s->grid->nodata);
    }
    return STATUS_OK;
}

const struct table_format tif_format = {
    .name = "tif",
    .state_bytes = sizeof(struct tif),
    .takes = {[TABLE_MISSING_VALUE] = true},
    .suits = tif_suits,
    .open = tif_open,
    .next = tif_next,
    .decode = tif_decode,
    .close = tif_close,
};
