/*
 * partners - a heap for each series, the weakest partner at its root, through which the rows of the
 * matrix pass. A pair that is no stronger than both roots, which is nearly every one, is passed
 * over.
 *
 * In what order partners come is the same for all: those before a series by their number, then
 * those after it. So a later one of equal strength is the one to be turned away.
 *
 * Where coefficients are within b of the exact ones, those that reach a root less b are computed
 * again, some at a time.
 */
#include "kernels/pearson/partners.h"

#include <math.h>

enum { BATCH = 1 << 12 };

size_t partners_bytes(size_t n_series)
{
    return n_series * (sizeof(double) + sizeof(size_t)) + PEARSON_CELLS * sizeof(double) +
           BATCH * sizeof(struct matrix_pair);
}

/* Whether a goes before b. */
static bool is_before(const struct matrix_pair *a, const struct matrix_pair *b)
{
    const double x = fabs(a->r), y = fabs(b->r);
    return x > y || (x == y && a->j < b->j);
}

/* Lets the pair at `at` of a heap of n sink to its place. */
static void sink(struct matrix_pair *heap, size_t n, size_t at)
{
    const struct matrix_pair pair = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && is_before(&heap[child], &heap[child + 1]) ? 1 : 0;
        if (!is_before(&pair, &heap[child])) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = pair;
}

/* Partner j of series i. */
static void add(struct partners *s, uint32_t i, uint32_t j, double r)
{
    const size_t top = s->wanted->top;
    struct matrix_pair *const heap = s->heaps + i * top;
    const struct matrix_pair pair = {i, j, r};
    if (s->n[i] < top) {
        size_t at = s->n[i]++;
        for (; at > 0 && is_before(&heap[(at - 1) / 2], &pair); at = (at - 1) / 2) {
            heap[at] = heap[(at - 1) / 2];
        }
        heap[at] = pair;
    } else if (is_before(&pair, &heap[0])) {
        heap[0] = pair;
        sink(heap, top, 0);
    }
    if (s->n[i] == top) {
        s->floor[i] = fabs(heap[0].r) - s->wanted->bound;
    }
}

static enum status add_batch(struct partners *s)
{
    const struct pearson_wanted *const w = s->wanted;
    if (w->bound > 0 && s->n_batch > 0) {
        STATUS_TRY(w->queue->backend->ops->pearson->exact_pairs(w->queue, &w->x, w->moments,
                                                                s->batch, s->n_batch));
    }
    for (size_t k = 0; k < s->n_batch; k++) {
        const struct matrix_pair p = s->batch[k];
        if (!isnan(p.r)) {
            add(s, p.i, p.j, p.r);
            add(s, p.j, p.i, p.r);
        }
    }
    s->n_batch = 0;
    return STATUS_OK;
}

static enum status take(void *context, uint32_t j, uint32_t i, const void *cells, size_t n)
{
    struct partners *const s = context;
    const size_t most = s->wanted->bound > 0 ? BATCH : 1;
    for (size_t k = 0; k < n; k++, i++) {
        const double r = dtype_real(s->type, cells, k);
        if (fabs(r) > s->floor[i] || fabs(r) > s->floor[j]) {
            s->batch[s->n_batch++] = (struct matrix_pair){i, j, r};
            STATUS_TRY(s->n_batch == most ? add_batch(s) : STATUS_OK);
        }
    }
    return STATUS_OK;
}

void partners_begin(struct partners *s, const struct pearson_wanted *wanted, size_t n_series,
                    void *scratch, struct matrix_pair *out)
{
    *s = (struct partners){.wanted = wanted, .n_series = n_series, .heaps = out, .floor = scratch};
    s->n = (size_t *)(s->floor + n_series);
    s->batch = (struct matrix_pair *)(s->n + n_series);
    s->cells = s->batch + BATCH;
    for (size_t i = 0; i < n_series; i++) {
        s->floor[i] = -1;
        s->n[i] = 0;
    }
}

enum status partners_add(struct partners *s, struct queue *q, const struct matrix *m)
{
    s->type = m->type;
    STATUS_TRY(pearson_rows_read(q, m, s->cells, take, s));
    return add_batch(s);
}

/* The heaps as lists, the strongest first, one behind the other. */
void partners_end(struct partners *s, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < s->n_series; i++) {
        struct matrix_pair *const heap = s->heaps + i * s->wanted->top;
        for (size_t left = s->n[i]; left > 1; left--) {
            const struct matrix_pair weakest = heap[0];
            heap[0] = heap[left - 1];
            sink(heap, left - 1, 0);
            heap[left - 1] = weakest;
        }
        for (size_t k = 0; k < s->n[i]; k++) {
            s->heaps[(*n)++] = heap[k];
        }
    }
}
