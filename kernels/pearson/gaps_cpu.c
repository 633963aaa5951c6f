/*
 * gaps_cpu - pairwise-complete sums by matrix products.
 *
 * With z the values (0 where missing), m the mask (1 or 0) and q = z^2, over the samples t:
 *   n = m m',  x = z m',  y = m z',  xx = q m',  yy = m q',  xy = z z'
 * Where one side misses nothing its mask is all ones, and the sums of the other side's rows take
 * the place of n, x and xx (or n, y and yy): three products instead of six. The rows are gathered
 * slice by slice, so that the working space fits the second-level cache.
 */
#include "kernels/pearson/gaps_cpu.h"

#include "kernels/base/clones_cpu.h"
#include "kernels/base/product_cpu.h"

#include <stdint.h>
#include <string.h>

enum { SLICE = 256 };

/* One side's slice, packed: the n rows of z, then of q, then of m, so that a product with several
 * of them is one; and the sums of its rows over all slices. */
struct side {
    double rows[3 * GAPS_TILE][SLICE];
    double sum_z[GAPS_TILE], sum_m[GAPS_TILE], sum_q[GAPS_TILE];
};

/* Products: a's z, q, m with b's m; a's m with b's z and q; z with z. */
struct work {
    struct side a, b;
    double with_mask[3 * GAPS_TILE][GAPS_TILE], of_mask[GAPS_TILE][2 * GAPS_TILE];
    double xy[GAPS_TILE][GAPS_TILE];
};

size_t gaps_work_bytes(void)
{
    return sizeof(struct work);
}

CPU_CLONES static void pack_row(const double *row, size_t n, double *z, double *q, double *m)
{
    for (size_t t = 0; t < n; ++t) {
        int64_t bits;
        memcpy(&bits, row + t, sizeof bits);
        z[t] = row[t];
        q[t] = row[t] * row[t];
        m[t] = bits == INT64_MIN ? 0.0 : 1.0;
    }
}

static double total(const double *v, size_t n)
{
    double sum = 0;
    for (size_t t = 0; t < n; ++t) {
        sum += v[t];
    }
    return sum;
}

/* `sums`: the other side is whole, and this side's row sums stand for products with its mask. */
static void pack(struct side *s, const double *const *rows, size_t n_rows, size_t k, size_t n,
                 bool sums)
{
    for (size_t i = 0; i < n_rows; ++i) {
        double *z = s->rows[i], *q = s->rows[n_rows + i], *m = s->rows[2 * n_rows + i];
        pack_row(rows[i] + k, n, z, q, m);
        if (sums) {
            s->sum_z[i] += total(z, n);
            s->sum_m[i] += total(m, n);
            s->sum_q[i] += total(q, n);
        }
    }
}

static void clear_sums(struct side *s)
{
    memset(s->sum_z, 0, sizeof s->sum_z);
    memset(s->sum_m, 0, sizeof s->sum_m);
    memset(s->sum_q, 0, sizeof s->sum_q);
}

/* c (+)= a b^T of packed rows. */
static void multiply(double (*a)[SLICE], size_t n_a, double (*b)[SLICE], size_t n_b, size_t n,
                     bool add, double *c, size_t ldc)
{
    struct product_f64 p = {.a = a[0],
                            .b = b[0],
                            .lda = SLICE,
                            .ldb = SLICE,
                            .n_a = n_a,
                            .n_b = n_b,
                            .n_k = n,
                            .c = c,
                            .ldc = ldc,
                            .add = add};
    product_f64(&p);
}

void gaps_sums(const struct gaps_tile *tile, void *work)
{
    struct work *w = work;
    size_t n_a = tile->n_a, n_b = tile->n_b;
    /* the rows of masks come last: without gaps on a's side, z and q alone */
    size_t stacked = tile->a_whole ? 2 * n_a : 3 * n_a;
    clear_sums(&w->a);
    clear_sums(&w->b);
    for (size_t k = 0; k < tile->n_k; k += SLICE) {
        size_t n = tile->n_k - k < SLICE ? tile->n_k - k : SLICE;
        pack(&w->a, tile->a, n_a, k, n, tile->b_whole);
        pack(&w->b, tile->b, n_b, k, n, tile->a_whole);
        multiply(w->a.rows, n_a, w->b.rows, n_b, n, k != 0, w->xy[0], GAPS_TILE);
        if (!tile->b_whole) {
            multiply(w->a.rows, stacked, w->b.rows + 2 * n_b, n_b, n, k != 0, w->with_mask[0],
                     GAPS_TILE);
        }
        if (!tile->a_whole) {
            multiply(w->a.rows + 2 * n_a, n_a, w->b.rows, 2 * n_b, n, k != 0, w->of_mask[0],
                     (size_t)2 * GAPS_TILE);
        }
    }
}

struct pearson_sums gaps_pair(const struct gaps_tile *tile, const void *work, size_t i, size_t j)
{
    const struct work *w = work;
    struct pearson_sums s = {.xy = w->xy[i][j]};
    s.x = tile->b_whole ? w->a.sum_z[i] : w->with_mask[i][j];
    s.xx = tile->b_whole ? w->a.sum_q[i] : w->with_mask[tile->n_a + i][j];
    s.y = tile->a_whole ? w->b.sum_z[j] : w->of_mask[i][j];
    s.yy = tile->a_whole ? w->b.sum_q[j] : w->of_mask[i][tile->n_b + j];
    s.n = tile->a_whole ? w->b.sum_m[j] : w->with_mask[2 * tile->n_a + i][j];
    s.n = tile->b_whole ? w->a.sum_m[i] : s.n;
    return s;
}
