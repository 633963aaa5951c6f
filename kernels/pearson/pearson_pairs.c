/*
 * pearson_pairs - candidates from the matrix, sifted in a basket that never holds many more than
 * are asked for.
 *
 * With c the k-th largest |r| of the matrix and every coefficient within b of the exact one, at
 * least k pairs have an exact |r| >= c - b; so the exact top k have |r| >= c - 2 b in the matrix,
 * and pairs that reach the threshold exactly have |r| >= threshold - b there. Those are the
 * candidates, computed again when b > 0.
 *
 * Candidates come from `select`. Where they are too many for that (few samples: every r is -1 or
 * 1), the matrix is read piece by piece in the same order; a later pair that only equals the k-th
 * strongest so far comes after it, so the basket turns it away.
 */
#include "kernels/pearson/pearson_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SELECT_SLACK = 1024,    /* room for candidates beyond those wanted, at first */
    SELECT_LEAST = 1 << 20, /* candidates that are held at once in any case */
    BATCH = 1 << 16,        /* candidates from reading: between two cleanings of the basket */
    SCAN_CELLS = 1 << 20,   /* of the matrix read at once */
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

struct basket {
    const struct pearson_wanted *wanted;
    struct matrix_pair *pairs;
    size_t n, capacity;
    size_t clean_at; /* sort and drop when there are so many */
    double floor;    /* |r| of the last of the top so far; -1: fewer than that have come */
};

static uint64_t strength_bits(double r)
{
    const double strength = fabs(r);
    uint64_t bits;
    memcpy(&bits, &strength, sizeof bits);
    return bits;
}

/* Byte by byte of |r| as a bit
 * pattern, which rises with it, from the lowest on; bytes that all pairs share are passed over. */
enum status pearson_pairs_sort(struct matrix_pair *pairs, size_t n)
{
    enum { DIGITS = 8, VALUES = 256 };
    size_t counts[DIGITS][VALUES] = {{0}};
    struct matrix_pair *const other = malloc((n + 1) * sizeof *other);
    if (other == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to sort %zu pairs", n);
    }
    for (size_t k = 0; k < n; k++) {
        const uint64_t key = strength_bits(pairs[k].r);
        for (unsigned d = 0; d < DIGITS; d++) {
            counts[d][key >> (8 * d) & 0xff]++;
        }
    }
    struct matrix_pair *from = pairs, *to = other;
    for (unsigned d = 0; d < DIGITS && n > 0; d++) {
        size_t starts[VALUES], before = 0;
        if (counts[d][strength_bits(from[0].r) >> (8 * d) & 0xff] == n) {
            continue;
        }
        for (size_t value = VALUES; value-- > 0;) {
            starts[value] = before;
            before += counts[d][value];
        }
        for (size_t k = 0; k < n; k++) {
            to[starts[strength_bits(from[k].r) >> (8 * d) & 0xff]++] = from[k];
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

static bool reaches(const struct pearson_wanted *wanted, double r)
{
    return wanted->threshold > 0 && fabs(r) >= wanted->threshold;
}

/* Sorts, and drops what is not wanted. Pairs came in the order of i, then j, so that those of equal
 * strength keep it. */
static enum status basket_clean(struct basket *b)
{
    const size_t top = b->wanted->top;
    STATUS_TRY(pearson_pairs_sort(b->pairs, b->n));
    size_t keep = b->n < top ? b->n : top;
    while (keep < b->n && reaches(b->wanted, b->pairs[keep].r)) {
        keep++;
    }
    b->n = keep;
    if (top > 0 && keep >= top) {
        b->floor = fabs(b->pairs[top - 1].r);
    } else if (top == 0) {
        b->floor = 2; /* only the threshold counts */
    }
    if (keep > b->wanted->most) {
        return status_fail(STATUS_TOO_LARGE, "more than %zu pairs have |r| >= %g: %s",
                           b->wanted->most, b->wanted->threshold, b->wanted->cure);
    }
    b->clean_at = fill_of(keep);
    return STATUS_OK;
}

static enum status basket_add(struct basket *b, const struct matrix_pair *pairs, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const double strength = fabs(pairs[k].r);
        if (!(strength > b->floor) && !reaches(b->wanted, strength)) {
            continue;
        }
        if (b->n == b->capacity) {
            const size_t capacity = fill_of(b->capacity);
            struct matrix_pair *grown = realloc(b->pairs, capacity * sizeof *grown);
            if (grown == NULL) {
                return status_fail(STATUS_NO_MEMORY, "no memory for %zu pairs", capacity);
            }
            b->pairs = grown;
            b->capacity = capacity;
        }
        b->pairs[b->n++] = pairs[k];
        if (b->n >= b->clean_at) {
            STATUS_TRY(basket_clean(b));
        }
    }
    return STATUS_OK;
}

/* Computes the candidates again where the matrix is not exact; *n falls when some turn out to be
 * undefined. */
static enum status recompute(struct queue *q, const struct pearson_wanted *w,
                             struct matrix_pair *pairs, size_t *n)
{
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

/* The lowest |r| of the matrix that can belong to a wanted pair; NaN where there is none. */
static enum status lowest(struct queue *q, const struct matrix *m, const struct pearson_wanted *w,
                          double *cut)
{
    double kth = NAN;
    if (w->top > 0) {
        STATUS_TRY(q->backend->ops->matrix->kth_abs(q, m, w->top, &kth));
        kth = fmax(kth - 2 * w->bound, 0); /* a NaN gives 0 */
    }
    const double reach = w->threshold > 0 ? fmax(w->threshold - w->bound, 0) : NAN;
    *cut = fmin(kth, reach); /* the other one where one is NaN */
    return STATUS_OK;
}

/* Moves on to the next element of the condensed triangle. */
static void step(uint32_t *i, uint32_t *j, size_t n_series)
{
    if (++*j == n_series) {
        ++*i;
        *j = *i + 1;
    }
}

struct scan {
    void *cells;
    struct matrix_pair *batch;
    uint32_t i, j; /* of the next element */
};

/* Sifts n elements of the condensed triangle that have been read. */
static enum status scan_cells(struct queue *q, const struct matrix *m, double cut,
                              struct scan *scan, size_t n, struct basket *b)
{
    size_t held = 0;
    for (size_t k = 0; k < n; k++) {
        const double r = m->type == DTYPE_F64 ? ((const double *)scan->cells)[k]
                                              : (double)((const float *)scan->cells)[k];
        if (fabs(r) >= cut) {
            scan->batch[held++] = (struct matrix_pair){.i = scan->i, .j = scan->j, .r = r};
        }
        step(&scan->i, &scan->j, m->n_series);
        if (held == BATCH || (k + 1 == n && held > 0)) {
            STATUS_TRY(recompute(q, b->wanted, scan->batch, &held));
            STATUS_TRY(basket_add(b, scan->batch, held));
            held = 0;
        }
    }
    return STATUS_OK;
}

static enum status scan_pieces(struct queue *q, const struct matrix *m, double cut,
                               struct scan *scan, struct basket *b)
{
    const uint64_t all = matrix_n_pairs(m->n_series);
    for (uint64_t first = 0; first < all; first += SCAN_CELLS) {
        const size_t n = all - first < SCAN_CELLS ? (size_t)(all - first) : SCAN_CELLS;
        STATUS_TRY(queue_check(q));
        STATUS_TRY(q->backend->ops->matrix->condensed(q, m, first, n, scan->cells));
        STATUS_TRY(scan_cells(q, m, cut, scan, n, b));
    }
    return STATUS_OK;
}

static enum status scan_matrix(struct queue *q, const struct matrix *m, double cut,
                               struct basket *b)
{
    struct scan scan = {.cells = malloc(SCAN_CELLS * dtype_bytes(m->type)),
                        .batch = malloc(BATCH * sizeof *scan.batch),
                        .j = 1};
    const enum status st = scan.cells != NULL && scan.batch != NULL
                               ? scan_pieces(q, m, cut, &scan, b)
                               : status_fail(STATUS_NO_MEMORY, "no memory to read the matrix");
    free(scan.cells);
    free(scan.batch);
    return st;
}

/* Selects all candidates at once, into the basket's own memory. *many: they are too many. */
static enum status select_all(struct queue *q, const struct matrix *m, double cut, struct basket *b,
                              bool *many)
{
    const struct pearson_wanted *w = b->wanted;
    const uint64_t all = matrix_n_pairs(m->n_series);
    const size_t most = pearson_pairs_held(w->threshold > 0 ? w->most : w->top, all);
    struct matrix_pairs found = {.n = w->top + SELECT_SLACK};
    do {
        if (found.n > b->capacity) {
            free(b->pairs);
            b->capacity = found.n;
            b->pairs = malloc(found.n * sizeof *b->pairs);
            if (b->pairs == NULL) {
                b->capacity = 0;
                return status_fail(STATUS_NO_MEMORY, "no memory for %zu pairs", found.n);
            }
        }
        found.at = b->pairs;
        found.capacity = b->capacity;
        STATUS_TRY(q->backend->ops->matrix->select(q, m, cut, &found));
    } while (found.n > b->capacity && found.n <= most);
    *many = found.n > b->capacity;
    if (*many) {
        return STATUS_OK;
    }
    STATUS_TRY(recompute(q, w, b->pairs, &found.n));
    b->n = found.n;
    return STATUS_OK;
}

static enum status fill_basket(struct queue *q, const struct matrix *m, double cut,
                               struct basket *b)
{
    bool many = false;
    STATUS_TRY(select_all(q, m, cut, b, &many));
    if (many) {
        STATUS_TRY(scan_matrix(q, m, cut, b));
    }
    return basket_clean(b);
}

enum status pearson_pairs_find(struct queue *q, const struct matrix *matrix,
                               const struct pearson_wanted *wanted, struct matrix_pair **out,
                               size_t *n)
{
    struct basket b = {.wanted = wanted, .clean_at = wanted->top + BATCH, .floor = -1};
    double cut = NAN;
    *out = NULL;
    *n = 0;
    STATUS_TRY(lowest(q, matrix, wanted, &cut));
    if (isnan(cut)) {
        return STATUS_OK;
    }
    const enum status st = fill_basket(q, matrix, cut, &b);
    if (st != STATUS_OK) {
        free(b.pairs);
        return st;
    }
    *out = b.pairs;
    *n = b.n;
    return STATUS_OK;
}
