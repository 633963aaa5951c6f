/*
 * blocks - see the header.
 */
#include "kernels/pearson/blocks.h"

#include "formats/base/sizes.h"
#include "kernels/matrix/matrix_rule.h"
#include "kernels/pearson/pearson_rule.h"

#include <stdlib.h>
#include <string.h>

/* Of small groups that are multiplied at once, the series, and their coefficients. */
enum { BATCH_BYTES = 1 << 28 };

struct finding {
    struct correlation *c;
    const struct blocks *b;
    uint64_t *order;     /* [b->n]: size and number of each group, which ascend */
    size_t z, x;         /* bytes of a series; x: 0 where they did not stay */
    size_t rows, most_r; /* series of a batch, and their coefficients, at most */
    uint32_t *ids;       /* [rows]: these series */
    struct pearson_blocks batch;
    bool *lacks; /* [rows]: a series of the block has gaps */
    struct span of_x, moments;
    double *host_moments, *mark; /* mark: 0, or NaN for a degenerate series */
    double *host_r;              /* as many as fit */
};

/* Room for n series, the largest group of `side`. */
static enum status take_room(struct finding *f, size_t n, size_t side, struct room *room)
{
    const struct correlate_request *const q = &f->c->request;
    const bool has_x = q->gaps && q->keep && !q->in_place && (f->b == NULL || f->b->gaps);
    const size_t least = PEARSON_BLOCK_MOST * sizeof(double);
    f->z = correlate_z_bytes(f->c, PEARSON_EXACT);
    f->x = has_x ? correlate_x_bytes(f->c) : 0;
    f->rows = greater(side, lesser(n, BATCH_BYTES / greater(f->z, least)));
    f->most_r = f->rows * lesser(f->rows, PEARSON_BLOCK_MOST);
    STATUS_TRY(room_host(room, f->rows, sizeof *f->ids, &f->ids));
    STATUS_TRY(room_host(room, f->rows, sizeof *f->lacks, &f->lacks));
    STATUS_TRY(room_host(room, f->rows, sizeof *f->mark, &f->mark));
    STATUS_TRY(room_host(room, f->rows, moments_bytes(1), &f->host_moments));
    STATUS_TRY(room_host(room, f->most_r, sizeof *f->host_r, &f->host_r));
    STATUS_TRY(room_span(room, f->rows, moments_bytes(1), &f->moments));
    STATUS_TRY(room_span(room, greater(f->most_r, side * side), sizeof(double), &f->batch.r));
    STATUS_TRY(f->x > 0 ? room_span(room, f->rows, f->x, &f->of_x) : STATUS_OK);
    return room_span(room, f->rows, f->z, &f->batch.z);
}

enum status blocks_count(struct correlation *c, size_t n, size_t side, struct room *room)
{
    struct finding f = {.c = c};
    room_count(room, n * sizeof *f.order, 0);
    return take_room(&f, n, side, room);
}

/* Copies n series together, in standard form or as they were; those that lie side by side at once.
 */
static enum status gather(struct finding *f, size_t n, bool is_standard, struct span to)
{
    struct queue *const q = f->c->queue;
    const size_t bytes = is_standard ? f->z : f->x;
    for (size_t k = 0, end; k < n; k = end) {
        const struct span from = correlate_one(f->c, f->ids[k], is_standard);
        const char *next = from.at;
        for (end = k; end < n && correlate_one(f->c, f->ids[end], is_standard).at == next; end++) {
            next += bytes;
        }
        STATUS_TRY(q->backend->ops->copy(q, span_from(to, k * bytes), from, (end - k) * bytes));
    }
    return STATUS_OK;
}

/* Brings the series of the batch, and of each block moments of its own. */
static enum status bring(struct finding *f, const uint64_t *groups)
{
    struct queue *const q = f->c->queue;
    const size_t size = f->batch.size, n = f->batch.n * size;
    uint64_t ticket;
    memset(f->lacks, 0, f->batch.n * sizeof *f->lacks);
    for (size_t k = 0; k < n; k++) {
        f->ids[k] = f->b->members[f->b->start[(uint32_t)groups[k / size]] + k % size];
        f->mark[k] = moments_degenerate_at(f->b->moments, f->ids[k]) ? (double)NAN : 0;
        for (size_t field = 0; field < MOMENTS_FIELDS; field++) {
            f->host_moments[(k / size * MOMENTS_FIELDS + field) * size + k % size] =
                moments_array(f->b->moments, (enum moments_field)field)[f->ids[k]];
        }
        f->lacks[k / size] |=
            moments_array(f->b->moments, MOMENTS_COUNT)[f->ids[k]] < (double)f->batch.n_samples;
    }
    STATUS_TRY(gather(f, n, true, f->batch.z));
    STATUS_TRY(f->x > 0 ? gather(f, n, false, f->of_x) : STATUS_OK);
    STATUS_TRY(
        q->backend->ops->upload(q, f->moments, f->host_moments, n * moments_bytes(1), &ticket));
    return q->backend->ops->upload_wait(q, ticket);
}

static struct pearson_panel panel_of(const struct finding *f, size_t block)
{
    const size_t size = f->batch.size, first = block * size;
    const struct pearson_side side = {
        .z = span_from(f->batch.z, first * f->z), .x = span_from(f->of_x, first * f->x), .n = size};
    return (struct pearson_panel){.precision = PEARSON_EXACT,
                                  .n_samples = f->batch.n_samples,
                                  .a = side,
                                  .b = side,
                                  .x_type = f->c->request.type,
                                  .moments = {span_from(f->moments, first * moments_bytes(1)), size,
                                              f->c->moments.min_samples},
                                  .r = span_from(f->batch.r, first * size * sizeof(double)),
                                  .width = size,
                                  .ranks = f->c->request.ranks};
}

/* Brings the rows of all blocks, one below the other, to the triangles of their groups. */
static enum status put(struct finding *f, const uint64_t *groups)
{
    struct queue *const q = f->c->queue;
    const size_t size = f->batch.size, all = f->batch.n * size, row = size * sizeof *f->host_r,
                 most = f->most_r / size;
    for (size_t first = 0; first < all; first += most) {
        const size_t n = lesser(most, all - first);
        STATUS_TRY(
            q->backend->ops->download(q, f->host_r, span_from(f->batch.r, first * row), n * row));
        for (size_t k = 0; k < n; k++) {
            const size_t j = (first + k) % size;
            const double *const mark = f->mark + (first + k - j);
            double *const r = f->b->r + f->b->at[(uint32_t)groups[(first + k) / size]];
            for (size_t i = 0; i < j; i++) {
                r[matrix_condensed_row(i, size) + (j - i - 1)] =
                    pearson_clamp(f->host_r[k * size + i]) + mark[i] + mark[j];
            }
        }
    }
    return STATUS_OK;
}

/* A large one has all threads; small ones share them. */
static enum status take_batch(struct finding *f, const uint64_t *groups, uint64_t *n_unsure)
{
    struct queue *const q = f->c->queue;
    const struct pearson_kernels *const kernels = q->backend->ops->pearson;
    STATUS_TRY(queue_check(q));
    STATUS_TRY(bring(f, groups));
    const struct pearson_panel all = panel_of(f, 0);
    STATUS_TRY(f->batch.size > PEARSON_BLOCK_MOST ? kernels->gram(q, &all)
                                                  : kernels->gram_blocks(q, &f->batch));
    for (size_t k = 0; k < f->batch.n; k++) {
        const struct pearson_panel panel = panel_of(f, k);
        STATUS_TRY(f->b->gaps && f->lacks[k] ? kernels->gram_gaps(q, &panel, n_unsure) : STATUS_OK);
    }
    return put(f, groups);
}

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

enum status blocks_find(struct correlation *c, const struct blocks *b, uint64_t *n_unsure)
{
    struct finding f = {.c = c, .b = b, .batch = {.n_samples = c->request.n_samples}};
    STATUS_TRY(room_host(&c->work, b->n, sizeof *f.order, &f.order));
    for (size_t g = 0; g < b->n; g++) {
        f.order[g] = (uint64_t)(b->start[g + 1] - b->start[g]) << 32 | g;
    }
    qsort(f.order, b->n, sizeof *f.order, by_size);
    STATUS_TRY(take_room(&f, b->start[b->n], f.order[b->n - 1] >> 32, &c->work));
    for (size_t g = 0; g < b->n; g += f.batch.n) {
        const size_t size = f.batch.size = f.order[g] >> 32,
                     most = size > PEARSON_BLOCK_MOST ? 1 : f.rows / size;
        f.batch.n = 1;
        while (f.batch.n < lesser(most, b->n - g) && f.order[g + f.batch.n] >> 32 == size) {
            f.batch.n++;
        }
        STATUS_TRY(c->pause != NULL ? c->pause(c->context, (double)g / (double)b->n) : STATUS_OK);
        STATUS_TRY(size > 1 ? take_batch(&f, f.order + g, n_unsure) : STATUS_OK);
    }
    return STATUS_OK;
}
