/*
 * pearson_pairs - candidates from the matrix, sifted in a basket that never holds many more than
 * are asked for.
 *
 * With c the k-th largest |r| of the matrix and every coefficient within b of the exact one, at
 * least k pairs have an exact |r| >= c - b; so the exact top k have |r| >= c - 2 b in the matrix,
 * and pairs that reach the threshold exactly have |r| >= threshold - b there. Those are the
 * candidates, computed again when b > 0.
 *
 * A matrix may come band by band. Once the basket holds the top of those that came, its last pair
 * takes the place of c - b.
 *
 * Candidates come from `select`. Where they are too many for that (few samples: every r is -1 or
 * 1), the rows are read piece by piece.
 */
#include "kernels/pearson/pearson_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SELECT_SLACK = 1024,    /* room for candidates beyond those wanted, at first */
    SELECT_LEAST = 1 << 20, /* candidates that are held at once in any case */
    BATCH = 1 << 16,        /* candidates from reading: between two cleanings of the basket */
};

/* What is held before the basket is cleaned, when `kept` were left by the last time: twice as many,
 * while they are few. */
static size_t fill_of(size_t kept)
{
    const size_t much = (size_t)1 << 21;
    return kept + (kept < much ? kept : much) + BATCH;
}

size_t pearson_pairs_held(size_t wanted, uint64_t n_pairs)
{
    const size_t fill = fill_of(wanted);
    const size_t most = fill > SELECT_LEAST ? fill : SELECT_LEAST;
    return n_pairs < most ? (size_t)n_pairs : most;
}

/* --- order ------------------------------------------------------------------------------------ */

static uint64_t strength_bits(double r)
{
    const double strength = fabs(r);
    uint64_t bits;
    memcpy(&bits, &strength, sizeof bits);
    return bits;
}

enum { OF_PLACE = 8, DIGITS = 16, VALUES = 256 }; /* bytes of a pair's j, i and |r| */

/* Byte d of what pairs are ordered by, the lowest first: j, i, and the bits of |r|, which rise with
 * it, turned round. */
static size_t digit_of(const struct matrix_pair *p, unsigned d)
{
    return d < OF_PLACE ? (size_t)(((uint64_t)p->i << 32 | p->j) >> (8 * d) & 0xff)
                        : (size_t)(~strength_bits(p->r) >> (8 * (d - OF_PLACE)) & 0xff);
}

static bool is_placed_before(const struct matrix_pair *a, const struct matrix_pair *b)
{
    return a->i < b->i || (a->i == b->i && a->j < b->j);
}

/* Byte by byte; those that all pairs share are passed over, and those of i and j where pairs came
 * in their order. */
enum status pearson_pairs_sort(struct matrix_pair *pairs, size_t n)
{
    size_t counts[DIGITS][VALUES] = {{0}};
    bool placed = true;
    struct matrix_pair *const other = malloc((n + 1) * sizeof *other);
    if (other == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to sort %zu pairs", n);
    }
    for (size_t k = 1; k < n && placed; k++) {
        placed = is_placed_before(&pairs[k - 1], &pairs[k]);
    }
    const unsigned first = placed ? OF_PLACE : 0;
    for (size_t k = 0; k < n; k++) {
        for (unsigned d = first; d < DIGITS; d++) {
            counts[d][digit_of(&pairs[k], d)]++;
        }
    }
    struct matrix_pair *from = pairs, *to = other;
    for (unsigned d = first; d < DIGITS && n > 0; d++) {
        size_t starts[VALUES], before = 0;
        if (counts[d][digit_of(&from[0], d)] == n) {
            continue;
        }
        for (size_t value = 0; value < VALUES; value++) {
            starts[value] = before;
            before += counts[d][value];
        }
        for (size_t k = 0; k < n; k++) {
            to[starts[digit_of(&from[k], d)]++] = from[k];
        }
        struct matrix_pair *const filled = to;
        to = from;
        from = filled;
    }
    if (from != pairs) {
        memcpy(pairs, from, n * sizeof *pairs);
    }
    free(other);
    return STATUS_OK;
}

/* --- the basket ------------------------------------------------------------------------------- */

static bool reaches(const struct pearson_wanted *wanted, double r)
{
    return wanted->threshold > 0 && fabs(r) >= wanted->threshold;
}

/* Whether the top holds none but stronger ones, and of equal ones earlier. */
static bool is_behind_top(const struct pearson_basket *b, const struct matrix_pair *p)
{
    const double strength = fabs(p->r), last = fabs(b->last.r);
    return b->is_full && (strength < last || (strength == last && !is_placed_before(p, &b->last)));
}

/* Sorts, and drops what is not wanted. */
static enum status clean(struct pearson_basket *b)
{
    const size_t top = b->wanted->top;
    STATUS_TRY(pearson_pairs_sort(b->pairs, b->n));
    size_t keep = b->n < top ? b->n : top;
    while (keep < b->n && reaches(b->wanted, b->pairs[keep].r)) {
        keep++;
    }
    b->n = keep;
    b->is_full = keep >= top;
    b->last = top > 0 && keep >= top ? b->pairs[top - 1] : (struct matrix_pair){.r = INFINITY};
    if (keep > b->wanted->most) {
        return status_fail(STATUS_TOO_LARGE, "more than %zu pairs have |r| >= %g: %s",
                           b->wanted->most, b->wanted->threshold, b->wanted->cure);
    }
    b->clean_at = fill_of(keep);
    b->n_clean = keep;
    return STATUS_OK;
}

/* Room for as many pairs. */
static enum status grow(struct pearson_basket *b, size_t capacity)
{
    if (capacity <= b->capacity) {
        return STATUS_OK;
    }
    struct matrix_pair *const grown = realloc(b->pairs, capacity * sizeof *grown);
    if (grown == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu pairs", capacity);
    }
    b->pairs = grown;
    b->capacity = capacity;
    return STATUS_OK;
}

static enum status put(struct pearson_basket *b, const struct matrix_pair *pairs, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (isnan(pairs[k].r) || (is_behind_top(b, &pairs[k]) && !reaches(b->wanted, pairs[k].r))) {
            continue;
        }
        STATUS_TRY(b->n == b->capacity ? grow(b, fill_of(b->capacity)) : STATUS_OK);
        b->pairs[b->n++] = pairs[k];
        if (b->n >= b->clean_at) {
            STATUS_TRY(clean(b));
        }
    }
    return STATUS_OK;
}

/* --- candidates ------------------------------------------------------------------------------- */

/* Computes the candidates again where the matrix is not exact; *n falls when some turn out to be
 * undefined. */
static enum status recompute(const struct pearson_wanted *w, struct matrix_pair *pairs, size_t *n)
{
    struct queue *const q = w->queue;
    if (!(w->bound > 0) || *n == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(q->backend->ops->pearson->exact_pairs(q, &w->x, w->moments, pairs, *n));
    size_t defined = 0;
    for (size_t k = 0; k < *n; k++) {
        if (!isnan(pairs[k].r)) {
            pairs[defined++] = pairs[k];
        }
    }
    *n = defined;
    return STATUS_OK;
}

/* The lowest |r| of these rows that can belong to a wanted pair; NaN where there is none. */
static enum status lowest(const struct pearson_basket *b, struct queue *q, const struct matrix *m,
                          double *cut)
{
    const struct pearson_wanted *const w = b->wanted;
    double kth = NAN;
    if (w->top > 0 && b->is_full) {
        kth = fmax(fabs(b->last.r) - w->bound, 0);
    } else if (w->top > 0) {
        STATUS_TRY(q->backend->ops->matrix->kth_abs(q, m, w->top, &kth));
        kth = fmax(kth - 2 * w->bound, 0); /* a NaN gives 0 */
    }
    const double reach = w->threshold > 0 ? fmax(w->threshold - w->bound, 0) : NAN;
    *cut = fmin(kth, reach); /* the other one where one is NaN */
    return STATUS_OK;
}

/* --- rows, read ------------------------------------------------------------------------------- */

enum status pearson_rows_read(struct queue *q, const struct matrix *m, void *cells,
                              pearson_row_fn *take, void *context)
{
    const size_t size = dtype_bytes(m->type);
    for (size_t start = m->first, width; start < m->n_series; start = width) {
        const size_t p = start / m->panel;
        width = matrix_panel_width(p, m->panel, m->n_series);
        const size_t all = (width - start) * width;
        for (size_t at = 0, n; at < all; at += n) {
            n = all - at < PEARSON_CELLS ? all - at : PEARSON_CELLS;
            STATUS_TRY(queue_check(q));
            STATUS_TRY(
                q->backend->ops->download(q, cells, span_from(m->panels[p], at * size), n * size));
            for (size_t k = 0, part; k < n; k += part) {
                const size_t j = start + (at + k) / width, i = (at + k) % width;
                part = width - i < n - k ? width - i : n - k;
                STATUS_TRY(i < j ? take(context, (uint32_t)j, (uint32_t)i,
                                        (const char *)cells + k * size, part < j - i ? part : j - i)
                                 : STATUS_OK);
            }
        }
    }
    return STATUS_OK;
}

struct scan {
    struct pearson_basket *basket;
    enum dtype type;
    double cut;
    struct matrix_pair *batch;
    size_t held;
};

static enum status put_batch(struct scan *scan)
{
    STATUS_TRY(recompute(scan->basket->wanted, scan->batch, &scan->held));
    const size_t n = scan->held;
    scan->held = 0;
    return put(scan->basket, scan->batch, n);
}

static enum status scan_row(void *context, uint32_t j, uint32_t i, const void *cells, size_t n)
{
    struct scan *const scan = context;
    for (size_t k = 0; k < n; k++) {
        const double r = dtype_real(scan->type, cells, k);
        if (fabs(r) >= scan->cut) {
            scan->batch[scan->held++] = (struct matrix_pair){i + (uint32_t)k, j, r};
            STATUS_TRY(scan->held == BATCH ? put_batch(scan) : STATUS_OK);
        }
    }
    return STATUS_OK;
}

static enum status scan_rows(struct pearson_basket *b, struct queue *q, const struct matrix *m,
                             double cut)
{
    struct scan scan = {
        .basket = b, .type = m->type, .cut = cut, .batch = malloc(BATCH * sizeof *scan.batch)};
    void *const cells = malloc(PEARSON_CELLS * dtype_bytes(m->type));
    enum status st = cells != NULL && scan.batch != NULL
                         ? pearson_rows_read(q, m, cells, scan_row, &scan)
                         : status_fail(STATUS_NO_MEMORY, "no memory to read the matrix");
    st = st == STATUS_OK ? put_batch(&scan) : st;
    free(cells);
    free(scan.batch);
    return st;
}

/* Selects all candidates at once, behind what the basket holds. *many: they are too many. */
static enum status select_all(struct pearson_basket *b, struct queue *q, const struct matrix *m,
                              double cut, bool *many)
{
    const struct pearson_wanted *const w = b->wanted;
    const size_t held = pearson_pairs_held(w->threshold > 0 ? w->most : w->top, UINT64_MAX),
                 most = held > b->n ? held - b->n : 0;
    struct matrix_pairs found = {.n = w->top + SELECT_SLACK};
    do {
        STATUS_TRY(grow(b, b->n + found.n));
        found.at = b->pairs + b->n;
        found.capacity = b->capacity - b->n;
        STATUS_TRY(q->backend->ops->matrix->select(q, m, cut, &found));
    } while (found.n > found.capacity && found.n <= most);
    *many = found.n > found.capacity;
    if (!*many) {
        STATUS_TRY(recompute(w, found.at, &found.n));
        b->n += found.n;
    }
    return STATUS_OK;
}

enum status pearson_basket_add(struct pearson_basket *b, struct queue *q, const struct matrix *m)
{
    double cut = NAN;
    bool many = false;
    b->clean_at = b->clean_at > 0 ? b->clean_at : b->wanted->top + BATCH;
    STATUS_TRY(lowest(b, q, m, &cut));
    if (isnan(cut)) {
        return STATUS_OK;
    }
    STATUS_TRY(select_all(b, q, m, cut, &many));
    STATUS_TRY(many ? scan_rows(b, q, m, cut) : STATUS_OK);
    return b->is_full && b->n < b->clean_at ? STATUS_OK : clean(b);
}

enum status pearson_basket_end(struct pearson_basket *b)
{
    return b->n > b->n_clean ? clean(b) : STATUS_OK;
}

enum status pearson_pairs_find(struct queue *q, const struct matrix *matrix,
                               const struct pearson_wanted *wanted, struct matrix_pair **out,
                               size_t *n)
{
    struct pearson_basket b = {.wanted = wanted};
    enum status st = pearson_basket_add(&b, q, matrix);
    st = st == STATUS_OK ? pearson_basket_end(&b) : st;
    if (st != STATUS_OK) {
        free(b.pairs);
        b = (struct pearson_basket){0};
    }
    *out = b.pairs;
    *n = b.n;
    return st;
}
