/*
 * partners - a heap for each series, the weakest partner at its root, through which the condensed
 * matrix passes piece by piece. A pair that is no stronger than both roots, which is nearly every
 * one, is passed over.
 *
 * In what order partners come is the same for all: those before a series by their number, then
 * those after it. So a later one of equal strength is the one to be turned away.
 *
 * Where coefficients are within b of the exact ones, those of the k strongest are no smaller than
 * that of the k-th in the matrix less 2 b: these are computed again, and go through heaps of their
 * own.
 */
#include "kernels/pearson/partners.h"

#include <math.h>

enum { CELLS = 1 << 20, BATCH = 1 << 12 };

struct scan {
    struct queue *q;
    const struct matrix *m;
    const struct pearson_wanted *wanted;
    struct matrix_pair *heaps; /* [n_series][top] */
    double *floor;             /* [n_series]: no weaker pair is looked at */
    size_t *n;                 /* [n_series]: in its heap */
    bool again;                /* pairs that pass are computed again */
    struct matrix_pair *batch;
    size_t n_batch;
    char *cells;
};

size_t partners_bytes(size_t n_series)
{
    return n_series * (sizeof(double) + sizeof(size_t)) + CELLS * sizeof(double) +
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
static void add(struct scan *s, uint32_t i, uint32_t j, double r)
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
    if (!s->again && s->n[i] == top) {
        s->floor[i] = fabs(heap[0].r);
    }
}

static enum status add_batch(struct scan *s)
{
    const struct pearson_wanted *const w = s->wanted;
    if (s->again && s->n_batch > 0) {
        STATUS_TRY(s->q->backend->ops->pearson->exact_pairs(s->q, &w->x, w->moments, s->batch,
                                                            s->n_batch));
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

/* Elements [at, at + n) of those read, of row i from series j on. */
static enum status take(struct scan *s, uint32_t i, uint32_t j, size_t at, size_t n)
{
    const bool is_double = s->m->type == DTYPE_F64;
    for (size_t k = at; k < at + n; k++, j++) {
        const double r =
            is_double ? ((const double *)s->cells)[k] : (double)((const float *)s->cells)[k];
        if (fabs(r) > s->floor[i] || fabs(r) > s->floor[j]) {
            s->batch[s->n_batch++] = (struct matrix_pair){i, j, r};
            if (!s->again || s->n_batch == BATCH) {
                STATUS_TRY(add_batch(s));
            }
        }
    }
    return STATUS_OK;
}

static enum status pass(struct scan *s)
{
    const size_t n = s->m->n_series;
    const uint64_t all = matrix_n_pairs(n);
    size_t i = 0, j = 1;
    for (uint64_t first = 0; first < all; first += CELLS) {
        const size_t read = all - first < CELLS ? (size_t)(all - first) : CELLS;
        STATUS_TRY(queue_check(s->q));
        STATUS_TRY(s->q->backend->ops->matrix->condensed(s->q, s->m, first, read, s->cells));
        for (size_t at = 0, part; at < read; at += part) {
            part = read - at < n - j ? read - at : n - j;
            STATUS_TRY(take(s, (uint32_t)i, (uint32_t)j, at, part));
            j += part;
            if (j == n) {
                i++;
                j = i + 1;
            }
        }
    }
    return add_batch(s);
}

/* The heaps as lists, the strongest first, one behind the other. */
static void lists(const struct scan *s, struct matrix_pair *out, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < s->m->n_series; i++) {
        struct matrix_pair *const heap = s->heaps + i * s->wanted->top;
        for (size_t left = s->n[i]; left > 1; left--) {
            const struct matrix_pair weakest = heap[0];
            heap[0] = heap[left - 1];
            sink(heap, left - 1, 0);
            heap[left - 1] = weakest;
        }
        for (size_t k = 0; k < s->n[i]; k++) {
            out[(*n)++] = heap[k];
        }
    }
}

enum status partners_find(struct queue *q, const struct matrix *matrix,
                          const struct pearson_wanted *wanted, void *scratch,
                          struct matrix_pair *out, size_t *n)
{
    const size_t n_series = matrix->n_series;
    struct scan s = {.q = q, .m = matrix, .wanted = wanted, .heaps = out, .floor = scratch};
    s.n = (size_t *)(s.floor + n_series);
    s.batch = (struct matrix_pair *)(s.n + n_series);
    s.cells = (char *)(s.batch + BATCH);
    for (size_t i = 0; i < n_series; i++) {
        s.floor[i] = -1;
        s.n[i] = 0;
    }
    STATUS_TRY(pass(&s));
    if (wanted->bound > 0) {
        for (size_t i = 0; i < n_series; i++) {
            /* Beneath what is wanted by less than a rounding. */
            s.floor[i] = s.floor[i] < 0 ? -1 : s.floor[i] - 2 * wanted->bound * (1 + 0x1p-40);
            s.n[i] = 0;
        }
        s.again = true;
        STATUS_TRY(pass(&s));
    }
    lists(&s, out, n);
    return STATUS_OK;
}
