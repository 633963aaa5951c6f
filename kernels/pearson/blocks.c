/*
 * blocks - see the header.
 */
#include "kernels/pearson/blocks.h"

#include "kernels/matrix/matrix_rule.h"

#include <string.h>

/* Of small groups that are multiplied at once, the series, and their coefficients. */
enum { BATCH_BYTES = 1 << 28 };

struct finding {
    struct correlation *c;
    const struct blocks *b;
    size_t z, x;         /* bytes of a series; x: 0 where they did not stay */
    size_t rows, most_r; /* series of a batch, and their coefficients, at most */
    uint32_t *ids;       /* [rows]: these series */
    size_t *groups;      /* [rows]: of a batch, which have n series each */
    struct pearson_blocks batch;
    struct span of_x;
    double *moments, *r; /* the same on the host; of r as many as fit */
    uint64_t *n_unsure;
};

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t at_least(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Room for groups of n series, the largest of `side`; counted where the room only counts. */
static enum status take_room(struct finding *f, size_t n, size_t side, struct room *room)
{
    const size_t least = PEARSON_BLOCK_MOST * sizeof(double);
    f->rows = at_least(side, at_most(n, BATCH_BYTES / at_least(f->z, least)));
    f->most_r = f->rows * at_most(f->rows, PEARSON_BLOCK_MOST);
    STATUS_TRY(room_host(room, f->rows, sizeof *f->ids, &f->ids));
    STATUS_TRY(room_host(room, f->rows, sizeof *f->groups, &f->groups));
    STATUS_TRY(room_host(room, f->rows, moments_bytes(1), &f->moments));
    STATUS_TRY(room_host(room, f->most_r, sizeof *f->r, &f->r));
    STATUS_TRY(room_span(room, f->rows, moments_bytes(1), &f->batch.moments));
    STATUS_TRY(room_span(room, at_least(f->most_r, side * side), sizeof *f->r, &f->batch.r));
    STATUS_TRY(f->x > 0 ? room_span(room, f->rows, f->x, &f->of_x) : STATUS_OK);
    return room_span(room, f->rows, f->z, &f->batch.z);
}

enum status blocks_count(struct correlation *c, size_t n, size_t side, struct room *room)
{
    const bool keeps = c->request.gaps && !c->request.in_place;
    struct finding f = {.z = correlate_z_bytes(c, PEARSON_EXACT),
                        .x = keeps ? correlate_x_bytes(c) : 0};
    return take_room(&f, n, side, room);
}

/* --- series ----------------------------------------------------------------------------------- */

typedef struct span series_fn(const struct correlation *c, size_t s);

/* Copies the first n of ids together; those that lie side by side at once. */
static enum status gather(struct finding *f, size_t n, series_fn *series, size_t bytes,
                          struct span to)
{
    struct correlation *const c = f->c;
    for (size_t k = 0, end; k < n; k = end) {
        const struct span from = series(c, f->ids[k]);
        for (end = k + 1; end < n; end++) {
            if (series(c, f->ids[end]).at != (const void *)((char *)from.at + (end - k) * bytes)) {
                break;
            }
        }
        STATUS_TRY(c->queue->backend->ops->copy(c->queue, span_from(to, k * bytes), from,
                                                (end - k) * bytes));
    }
    return STATUS_OK;
}

/* Brings the series of the batch, and of each block moments of its own. */
static enum status bring(struct finding *f)
{
    struct correlation *const c = f->c;
    const struct backend_ops *const ops = c->queue->backend->ops;
    const size_t size = f->batch.size, n = f->batch.n * size;
    uint64_t ticket;
    for (size_t k = 0; k < f->batch.n; k++) {
        memcpy(f->ids + k * size, f->b->members + f->b->start[f->groups[k]], size * sizeof *f->ids);
    }
    STATUS_TRY(gather(f, n, correlate_z, f->z, f->batch.z));
    STATUS_TRY(f->x > 0 ? gather(f, n, correlate_x, f->x, f->of_x) : STATUS_OK);
    for (size_t k = 0; k < n; k++) {
        for (size_t field = 0; field < MOMENTS_FIELDS; field++) {
            f->moments[(k / size * MOMENTS_FIELDS + field) * size + k % size] =
                moments_array(f->b->moments, (enum moments_field)field)[f->ids[k]];
        }
    }
    STATUS_TRY(ops->upload(c->queue, f->batch.moments, f->moments, n * moments_bytes(1), &ticket));
    return ops->upload_wait(c->queue, ticket);
}

/* --- products --------------------------------------------------------------------------------- */

/* Of block k, if one of its series lacks samples. */
static enum status add_gaps(struct finding *f, size_t k)
{
    const double *const count = moments_array(f->b->moments, MOMENTS_COUNT);
    const size_t size = f->batch.size;
    struct pearson_panel p = pearson_block(&f->batch, k, f->z);
    bool any = false;
    for (size_t i = 0; i < size && !any; i++) {
        any = count[f->ids[k * size + i]] < (double)p.n_samples;
    }
    p.x_type = f->c->request.type;
    p.ranks = f->c->request.ranks;
    p.a.x = p.b.x = span_from(f->of_x, k * size * f->x);
    return any ? f->c->queue->backend->ops->pearson->gram_gaps(f->c->queue, &p, f->n_unsure)
               : STATUS_OK;
}

/* Brings the rows of all blocks, one below the other, to the triangles of their groups. */
static enum status put(struct finding *f)
{
    struct queue *const q = f->c->queue;
    const size_t size = f->batch.size, all = f->batch.n * size, row = size * sizeof *f->r,
                 most = f->most_r / size;
    for (size_t first = 0; first < all; first += most) {
        const size_t n = at_most(most, all - first);
        STATUS_TRY(q->backend->ops->download(q, f->r, span_from(f->batch.r, first * row), n * row));
        for (size_t k = 0; k < n; k++) {
            const size_t j = (first + k) % size;
            double *const r = f->b->r + f->b->at[f->groups[(first + k) / size]];
            for (size_t i = 0; i < j; i++) {
                r[matrix_condensed_row(i, size) + (j - i - 1)] = f->r[k * size + i];
            }
        }
    }
    return STATUS_OK;
}

/* A large one has all threads; small ones share them. */
static enum status take_batch(struct finding *f)
{
    struct queue *const q = f->c->queue;
    const struct pearson_kernels *const kernels = q->backend->ops->pearson;
    STATUS_TRY(queue_check(q));
    STATUS_TRY(bring(f));
    if (f->batch.size > PEARSON_BLOCK_MOST) {
        const struct pearson_panel panel = pearson_block(&f->batch, 0, f->z);
        STATUS_TRY(kernels->gram(q, &panel));
    } else {
        STATUS_TRY(kernels->gram_blocks(q, &f->batch));
    }
    for (size_t k = 0; f->b->gaps && k < f->batch.n; k++) {
        STATUS_TRY(add_gaps(f, k));
    }
    STATUS_TRY(put(f));
    f->batch.n = 0;
    return STATUS_OK;
}

/* All groups of one size, as many as fit at a time. */
static enum status take_size(struct finding *f, size_t size)
{
    const size_t most = size > PEARSON_BLOCK_MOST ? 1 : f->rows / size;
    f->batch.size = size;
    for (size_t g = 0; g < f->b->n; g++) {
        if (f->b->start[g + 1] - f->b->start[g] == size) {
            f->groups[f->batch.n++] = g;
        }
        STATUS_TRY(f->batch.n == most ? take_batch(f) : STATUS_OK);
    }
    return f->batch.n > 0 ? take_batch(f) : STATUS_OK;
}

enum status blocks_find(struct correlation *c, const struct blocks *b, uint64_t *n_unsure)
{
    struct finding f = {
        .c = c,
        .b = b,
        .z = correlate_z_bytes(c, PEARSON_EXACT),
        .batch = {.n_samples = c->request.n_samples, .min_samples = c->moments.min_samples},
        .n_unsure = n_unsure};
    size_t side = 0;
    for (size_t g = 0; g < b->n; g++) {
        side = at_least(side, b->start[g + 1] - b->start[g]);
    }
    f.x = b->gaps && correlate_x(c, 0).at != NULL ? correlate_x_bytes(c) : 0;
    STATUS_TRY(take_room(&f, b->start[b->n], side, &c->work));
    for (size_t size = 2; size <= side; size++) {
        STATUS_TRY(c->pause != NULL ? c->pause(c->context, (double)size / (double)side)
                                    : STATUS_OK);
        STATUS_TRY(take_size(&f, size));
    }
    return STATUS_OK;
}
