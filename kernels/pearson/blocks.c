/*
 * blocks - see the header.
 */
#include "kernels/pearson/blocks.h"

#include <stdlib.h>

/* Of series that are copied together, and of the coefficients of groups that are multiplied at
 * once; series of a panel of a larger one. */
enum { BATCH_BYTES = 1 << 28, PANEL = 1024 };

struct by_size {
    size_t size, group;
};

struct finding {
    struct correlation *c;
    const struct blocks *b;
    struct by_size *order;    /* of the groups that have a pair */
    size_t n, z, x;           /* z, x: bytes of a series */
    size_t most_rows, most_r; /* series of a batch, coefficients that are there at once */
    struct span of_z, of_x, of_moments, of_r;
    double *moments, *r; /* those of a batch, on the host */
    uint64_t *n_unsure;
};

/* Groups of one size, order[first] and on. */
struct batch {
    size_t first, n, size;
};

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t at_least(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t blocks_bytes(const struct correlation *c, size_t n)
{
    const size_t z = correlate_z_bytes(c, PEARSON_EXACT), side = at_most(n, PANEL);
    return at_most(BATCH_BYTES, n * z) + at_most(BATCH_BYTES, side * n * sizeof(double)) +
           n * moments_bytes(1);
}

/* --- batches ---------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct by_size *const x = a, *const y = b;
    return x->size != y->size ? (x->size < y->size ? -1 : 1) : (x->group < y->group ? -1 : 1);
}

static enum status sort_groups(struct finding *f)
{
    const struct blocks *const b = f->b;
    STATUS_TRY(room_host(&f->c->work, b->n, sizeof *f->order, &f->order));
    for (size_t g = 0; g < b->n; g++) {
        const size_t size = b->start[g + 1] - b->start[g];
        f->order[f->n] = (struct by_size){size, g};
        f->n += size > 1 ? 1 : 0;
    }
    qsort(f->order, f->n, sizeof *f->order, compare);
    return STATUS_OK;
}

/* The next one; false: there is none. */
static bool next(const struct finding *f, struct batch *batch)
{
    const size_t first = batch->first + batch->n, size = first < f->n ? f->order[first].size : 1,
                 bytes = size * at_least(f->z, size * sizeof(double)),
                 most = size > PEARSON_BLOCK_MOST ? 1 : at_least(1, BATCH_BYTES / bytes);
    *batch = (struct batch){.first = first, .size = size};
    while (first + batch->n < f->n && batch->n < most && f->order[first + batch->n].size == size) {
        batch->n++;
    }
    return batch->n > 0;
}

/* What all batches share. */
static enum status take_room(struct finding *f)
{
    struct room *const room = &f->c->work;
    for (struct batch batch = {0}; next(f, &batch);) {
        const size_t rows = batch.n * batch.size,
                     at_once = batch.size > PEARSON_BLOCK_MOST ? at_most(rows, PANEL) : rows;
        f->most_rows = at_least(f->most_rows, rows);
        f->most_r = at_least(f->most_r, at_once * batch.size);
    }
    STATUS_TRY(room_span(room, f->most_rows, moments_bytes(1), &f->of_moments));
    STATUS_TRY(room_span(room, f->most_r, sizeof *f->r, &f->of_r));
    STATUS_TRY(room_host(room, f->most_rows, moments_bytes(1), &f->moments));
    return room_host(room, f->most_r, sizeof *f->r, &f->r);
}

/* --- series ----------------------------------------------------------------------------------- */

static const uint32_t *members_of(const struct finding *f, size_t k)
{
    return f->b->members + f->b->start[f->order[k].group];
}

/* Series k of those of a batch. */
static size_t member(const struct finding *f, const struct batch *batch, size_t k)
{
    return members_of(f, batch->first + k / batch->size)[k % batch->size];
}

typedef struct span series_fn(const struct correlation *c, size_t s);

/* How many series of the batch lie side by side from series k on. */
static size_t side_by_side(const struct finding *f, const struct batch *batch, size_t k,
                           series_fn *series, size_t bytes)
{
    const char *const at = series(f->c, member(f, batch, k)).at;
    size_t n = 1;
    while (k + n < batch->n * batch->size &&
           series(f->c, member(f, batch, k + n)).at == (const void *)(at + n * bytes)) {
        n++;
    }
    return n;
}

/* The series of a batch side by side: where they lie so, or copied to `room`. None where they did
 * not stay. */
static enum status bring(struct finding *f, const struct batch *batch, series_fn *series,
                         size_t bytes, struct span *room, struct span *out)
{
    struct correlation *const c = f->c;
    const size_t all = batch->n * batch->size;
    *out = series(c, member(f, batch, 0));
    if (out->at == NULL || side_by_side(f, batch, 0, series, bytes) == all) {
        return STATUS_OK;
    }
    STATUS_TRY(room->at != NULL ? STATUS_OK : room_span(&c->work, f->most_rows, bytes, room));
    for (size_t k = 0, n; k < all; k += n) {
        n = side_by_side(f, batch, k, series, bytes);
        STATUS_TRY(c->queue->backend->ops->copy(c->queue, span_from(*room, k * bytes),
                                                series(c, member(f, batch, k)), n * bytes));
    }
    *out = *room;
    return STATUS_OK;
}

static enum status bring_moments(struct finding *f, const struct batch *batch)
{
    const struct backend_ops *const ops = f->c->queue->backend->ops;
    const size_t size = batch->size;
    uint64_t ticket;
    for (size_t k = 0; k < batch->n * size; k++) {
        const size_t s = member(f, batch, k);
        for (size_t field = 0; field < MOMENTS_FIELDS; field++) {
            f->moments[(k / size * MOMENTS_FIELDS + field) * size + k % size] =
                moments_array(f->b->moments, (enum moments_field)field)[s];
        }
    }
    STATUS_TRY(ops->upload(f->c->queue, f->of_moments, f->moments, batch->n * moments_bytes(size),
                           &ticket));
    return ops->upload_wait(f->c->queue, ticket);
}

static bool has_gaps(const struct finding *f, const struct batch *batch, size_t k)
{
    const double *const count = moments_array(f->b->moments, MOMENTS_COUNT);
    bool any = false;
    for (size_t i = 0; f->b->gaps && i < batch->size && !any; i++) {
        any = count[members_of(f, batch->first + k)[i]] < (double)f->c->request.n_samples;
    }
    return any;
}

/* --- products --------------------------------------------------------------------------------- */

/* Rows first .. first + n - 1 of a group, which lie at `rows`, to its condensed triangle. */
static void put(const struct finding *f, size_t group, size_t size, size_t first, size_t n,
                const double *rows, size_t width)
{
    double *const r = f->b->r + f->b->at[group];
    for (size_t j = first; j < first + n; j++, rows += width) {
        for (size_t i = 0; i < j; i++) {
            r[i * (2 * size - i - 1) / 2 + (j - i - 1)] = rows[i];
        }
    }
}

/* Of a panel with series that lack samples. */
static enum status fill(struct finding *f, struct pearson_panel *p, struct span x)
{
    p->x_type = f->c->request.type;
    p->ranks = f->c->request.ranks;
    p->a.x = span_from(x, p->a.first * f->x);
    p->b.x = x;
    return f->c->queue->backend->ops->pearson->gram_gaps(f->c->queue, p, f->n_unsure);
}

static enum status take_small(struct finding *f, const struct batch *batch, struct span z,
                              struct span x)
{
    struct queue *const q = f->c->queue;
    const size_t size = batch->size;
    const struct pearson_blocks blocks = {.n = batch->n,
                                          .size = size,
                                          .n_samples = f->c->request.n_samples,
                                          .z = z,
                                          .moments = f->of_moments,
                                          .min_samples = f->c->moments.min_samples,
                                          .r = f->of_r};
    STATUS_TRY(q->backend->ops->pearson->gram_blocks(q, &blocks));
    for (size_t k = 0; k < batch->n; k++) {
        struct pearson_panel panel = pearson_block(&blocks, k, f->z);
        STATUS_TRY(has_gaps(f, batch, k) ? fill(f, &panel, span_from(x, k * size * f->x))
                                         : STATUS_OK);
    }
    STATUS_TRY(q->backend->ops->download(q, f->r, f->of_r, batch->n * size * size * sizeof *f->r));
    for (size_t k = 0; k < batch->n; k++) {
        put(f, f->order[batch->first + k].group, size, 0, size, f->r + k * size * size, size);
    }
    return STATUS_OK;
}

static enum status take_large(struct finding *f, const struct batch *batch, struct span z,
                              struct span x)
{
    struct queue *const q = f->c->queue;
    const bool gaps = has_gaps(f, batch, 0);
    const struct moments moments = {f->of_moments, batch->size, f->c->moments.min_samples};
    for (size_t first = 0, n; first < batch->size; first += n) {
        n = at_most(PANEL, batch->size - first);
        struct pearson_panel panel = {
            .precision = PEARSON_EXACT,
            .n_samples = f->c->request.n_samples,
            .a = {.z = span_from(z, first * f->z), .first = first, .n = n},
            .b = {.z = z, .n = first + n},
            .moments = moments,
            .r = f->of_r,
            .width = first + n};
        STATUS_TRY(queue_check(q));
        STATUS_TRY(q->backend->ops->pearson->gram(q, &panel));
        STATUS_TRY(gaps ? fill(f, &panel, x) : STATUS_OK);
        STATUS_TRY(q->backend->ops->download(q, f->r, f->of_r, n * (first + n) * sizeof *f->r));
        put(f, f->order[batch->first].group, batch->size, first, n, f->r, first + n);
    }
    return STATUS_OK;
}

static enum status take(struct finding *f, const struct batch *batch)
{
    struct correlation *const c = f->c;
    struct span z, x = {0};
    STATUS_TRY(queue_check(c->queue));
    STATUS_TRY(c->pause != NULL ? c->pause(c->context, (double)batch->first / (double)f->n)
                                : STATUS_OK);
    STATUS_TRY(bring(f, batch, correlate_z, f->z, &f->of_z, &z));
    STATUS_TRY(f->b->gaps ? bring(f, batch, correlate_x, f->x, &f->of_x, &x) : STATUS_OK);
    STATUS_TRY(bring_moments(f, batch));
    return (batch->size > PEARSON_BLOCK_MOST ? take_large : take_small)(f, batch, z, x);
}

enum status blocks_find(struct correlation *c, const struct blocks *b, uint64_t *n_unsure)
{
    struct finding f = {.c = c,
                        .b = b,
                        .z = correlate_z_bytes(c, PEARSON_EXACT),
                        .x = correlate_x_bytes(c),
                        .n_unsure = n_unsure};
    STATUS_TRY(sort_groups(&f));
    if (f.n == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(take_room(&f));
    for (struct batch batch = {0}; next(&f, &batch);) {
        STATUS_TRY(take(&f, &batch));
    }
    return STATUS_OK;
}
