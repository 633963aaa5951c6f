/*
 * table_bands - see table_bands.h.
 */
#include "formats/table/table_bands.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct table_band {
    size_t index;
    enum {
        BAND_WAITING,
        BAND_DECODING,
        BAND_DECODED,
        BAND_FAILED
    } state;                /* waiting: for a handle */
    size_t cells_left;      /* not yet handed out */
    unsigned char *samples; /* owned */
    enum status code;       /* of a failure ... */
    char *message;          /* ... owned */
    struct table_band *next;
};

static void band_free(struct table_band *band)
{
    free(band->samples);
    free(band->message);
    free(band);
}

void table_bands_init(struct table_bands *b, const struct table_bands_ops *ops)
{
    b->ops = ops;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
}

void table_bands_free(struct table_bands *b)
{
    while (b->handles != NULL) {
        struct table_handle *const h = b->handles;
        b->handles = h->next;
        b->ops->free(h);
    }
    while (b->bands != NULL) {
        struct table_band *const band = b->bands;
        b->bands = band->next;
        band_free(band);
    }
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
}

size_t table_bands_rows(const struct table_bands *b, size_t index)
{
    const size_t left = b->rows - index * b->band_rows;
    return left < b->band_rows ? left : b->band_rows;
}

void table_bands_set(struct table *t, const struct table_bands *b, size_t decode_bytes)
{
    t->info.n_bands = (b->rows - 1) / b->band_rows + 1;
    t->info.band_cells = table_bands_rows(b, 0) * b->columns;
    t->info.decode_bytes = t->info.band_cells * b->sample_bytes + decode_bytes;
}

/* Asks the system for the part of the file that the bands up to the one of cell `last` will be in,
 * if they lie in order, and notes in the source how far reading has come. */
static enum status announce(struct table *t, struct table_bands *b, uint64_t last)
{
    const uint64_t band = last / b->columns / b->band_rows;
    if (band < b->next_band) {
        return STATUS_OK;
    }
    const uint64_t n_bands = t->info.n_bands;
    const uint64_t file_bytes = source_file_bytes(t->source);
    const uint64_t from = file_bytes / n_bands * b->next_band;
    const uint64_t to = band + 1 == n_bands ? file_bytes : file_bytes / n_bands * (band + 1);
    unsigned char last_byte;
    size_t n;
    b->next_band = (size_t)band + 1;
    (void)posix_fadvise(source_fd(t->source), (off_t)from, (off_t)(to - from), POSIX_FADV_WILLNEED);
    return to > 0 ? source_read_at(t->source, to - 1, &last_byte, 1, &n) : STATUS_OK;
}

enum status table_bands_next(struct table *t, struct table_chunk *c, bool *end)
{
    struct table_bands *const b = t->state;
    const uint64_t left = (uint64_t)b->rows * b->columns - b->next_cell;
    const size_t room = c->values_cap / dtype_bytes(t->info.dtype);
    if (left == 0) {
        *end = true;
        return STATUS_OK;
    }
    if (room == 0) {
        return status_fail(STATUS_INTERNAL, "%s: a chunk without room", source_name(t->source));
    }
    c->n_cells = left < room ? (size_t)left : room;
    const uint64_t beyond = (b->next_cell + c->n_cells) % (b->band_rows * b->columns);
    if (beyond < c->n_cells) {
        c->n_cells -= (size_t)beyond; /* whole bands, or the end of one */
    }
    c->first_line = b->next_cell / b->columns + 1;
    c->first_column = b->next_cell % b->columns;
    b->next_cell += c->n_cells;
    return announce(t, b, b->next_cell - 1);
}

/* Whether the band's turn has not come: the one handle is lent, or one before it waits, too. */
static bool has_to_wait(const struct table_bands *b, const struct table_band *band)
{
    bool waits = b->one_handle && b->is_lent;
    for (const struct table_band *other = b->bands; b->one_handle && other != NULL;
         other = other->next) {
        waits = waits || (other->state == BAND_WAITING && other->index < band->index);
    }
    return waits;
}

/* A free handle, or a new one. */
static enum status acquire_handle(const struct table *t, struct table_bands *b,
                                  struct table_band *band, struct table_handle **out)
{
    pthread_mutex_lock(&b->lock);
    while (has_to_wait(b, band)) {
        pthread_cond_wait(&b->changed, &b->lock);
    }
    band->state = BAND_DECODING;
    b->is_lent = true;
    *out = b->handles;
    if (*out != NULL) {
        b->handles = (*out)->next;
    }
    pthread_mutex_unlock(&b->lock);
    return *out != NULL ? STATUS_OK : b->ops->open(t, out);
}

void table_bands_return(struct table_bands *b, struct table_handle *h)
{
    pthread_mutex_lock(&b->lock);
    b->is_lent = false;
    if (h != NULL) {
        h->next = b->handles;
        b->handles = h;
    }
    if (b->one_handle) {
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
}

static enum status decode_band(const struct table *t, struct table_bands *b,
                               struct table_band *band)
{
    const size_t bytes =
        table_bands_rows(b, band->index) * b->columns * b->sample_bytes; /* bounded by the format */
    unsigned char *const samples = malloc(bytes);
    struct table_handle *h;
    enum status st = acquire_handle(t, b, band, &h);
    if (st == STATUS_OK && samples == NULL) {
        st = status_fail(STATUS_NO_MEMORY, "%s: no memory for %zu bytes of rows",
                         source_name(t->source), bytes);
    }
    st = st != STATUS_OK ? st : b->ops->read(t, h, band->index, samples);
    table_bands_return(b, h);
    if (st == STATUS_OK) {
        band->samples = samples;
    } else {
        free(samples);
    }
    return st;
}

/* Finds the band, or makes it known as one that is being decoded, by the caller: *mine. The lock is
 * held. NULL: no memory. */
static struct table_band *find_band(struct table_bands *b, size_t index, bool *mine)
{
    struct table_band *band = b->bands;
    while (band != NULL && band->index != index) {
        band = band->next;
    }
    *mine = band == NULL;
    if (band == NULL) {
        band = calloc(1, sizeof *band);
        if (band != NULL) {
            band->index = index;
            band->cells_left = table_bands_rows(b, index) * b->columns;
            band->next = b->bands;
            b->bands = band;
        }
    }
    return band;
}

/* Gives the band, decoded; it stays until all its cells have been released. */
static enum status acquire_band(const struct table *t, struct table_bands *b, size_t index,
                                struct table_band **out)
{
    bool mine;
    pthread_mutex_lock(&b->lock);
    struct table_band *const band = find_band(b, index, &mine);
    while (band != NULL && !mine && band->state < BAND_DECODED) {
        pthread_cond_wait(&b->changed, &b->lock);
    }
    pthread_mutex_unlock(&b->lock);
    *out = band;
    if (band == NULL) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to read it", source_name(t->source));
    }
    if (!mine) {
        return band->state == BAND_FAILED
                   ? status_set(band->code, band->message != NULL ? band->message : "")
                   : STATUS_OK;
    }
    const enum status st = decode_band(t, b, band);
    pthread_mutex_lock(&b->lock);
    band->code = st;
    band->message = st != STATUS_OK ? strdup(status_message()) : NULL;
    band->state = st != STATUS_OK ? BAND_FAILED : BAND_DECODED;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    return st;
}

static void release_cells(struct table_bands *b, struct table_band *band, size_t n)
{
    pthread_mutex_lock(&b->lock);
    assert(band->cells_left >= n);
    band->cells_left -= n;
    const bool done = band->cells_left == 0;
    if (done) {
        struct table_band **at = &b->bands;
        while (*at != band) {
            at = &(*at)->next;
        }
        *at = band->next;
    }
    pthread_mutex_unlock(&b->lock);
    if (done) {
        band_free(band);
    }
}

const char *table_bands_inflate(struct inflate_state *z, const unsigned char *packed, size_t n,
                                unsigned char *dst, size_t least, size_t most)
{
    unsigned char beyond[1 << 12];
    int state;
    isal_inflate_init(z);
    z->crc_flag = ISAL_ZLIB;
    z->next_in = (unsigned char *)(uintptr_t)packed; /* it only reads */
    z->avail_in = (uint32_t)n;
    z->next_out = dst;
    z->avail_out = (uint32_t)least;
    while ((state = isal_inflate(z)) == ISAL_DECOMP_OK && z->avail_out == 0 &&
           z->total_out <= most) {
        z->next_out = beyond;
        z->avail_out = sizeof beyond;
    }
    return z->total_out > most                   ? "it unpacks to more than its size"
           : state == ISAL_INCORRECT_CHECKSUM    ? "its checksum does not hold"
           : state != ISAL_DECOMP_OK             ? "its stream cannot be unpacked"
           : z->block_state != ISAL_BLOCK_FINISH ? "it ends too early"
           : z->total_out < least                ? "it unpacks to less than its size"
                                                 : NULL;
}

enum status table_bands_decode(const struct table *t, struct table_chunk *c)
{
    struct table_bands *const b = t->state;
    const bool are_floats = t->info.dtype == DTYPE_F32;
    double *const values = c->values;
    const size_t band_cells = b->band_rows * b->columns;
    uint64_t cell = (c->first_line - 1) * b->columns + c->first_column;
    for (size_t done = 0; done < c->n_cells;) {
        const size_t index = (size_t)(cell / band_cells), from = (size_t)(cell % band_cells);
        struct table_band *band;
        STATUS_TRY(acquire_band(t, b, index, &band));
        const size_t in_band = table_bands_rows(b, index) * b->columns - from;
        const size_t left = c->n_cells - done, n = left < in_band ? left : in_band;
        const unsigned char *const samples = band->samples + from * b->sample_bytes;
        if (are_floats) {
            memcpy((float *)c->values + done, samples, n * sizeof(float));
        } else {
            table_widen(b->kind, b->sample_bytes, samples, n, values + done);
        }
        release_cells(b, band, n);
        done += n;
        cell += n;
    }
    if (t->info.has_missing_value && t->info.grid != NULL) {
        struct table_missing given = t->choice.missing;
        const bool narrow = b->kind == TABLE_FLOAT && b->sample_bytes == sizeof(float);
        for (size_t i = 0; i < given.n_numbers && narrow; i++) {
            given.numbers[i] = (double)(float)given.numbers[i];
        }
        (void)table_mark_nodata(values, c->n_cells, &given, t->info.grid->nodata);
    }
    return STATUS_OK;
}
