/*
 * cpu_gaps - pairwise-complete sums by matrix products.
 *
 * With z the values (0 where missing), m the mask (1 or 0) and q = z^2, over the samples t:
 *   n = m m',  x = z m',  y = m z',  xx = q m',  yy = m q',  xy = z z'
 * Where one side misses nothing its mask is all ones, and the sums of the other side's rows take
 * the place of n, x and xx (or n, y and yy): three products instead of six. The rows are gathered
 * slice by slice, so that the working space fits the second-level cache.
 */
#include "kernels/cpu/cpu_gaps.h"

#include "kernels/cpu/cpu_clones.h"
#include "kernels/cpu/cpu_product.h"

#include <stdint.h>
#include <string.h>

enum { SLICE = 256 };

/* One side's slice, packed, and the sums of its rows over all slices. */
struct side {
    double z[GAPS_TILE][SLICE], m[GAPS_TILE][SLICE], q[GAPS_TILE][SLICE];
    double sum_z[GAPS_TILE], sum_m[GAPS_TILE], sum_q[GAPS_TILE];
};

struct work {
    struct side a, b;
    double n[GAPS_TILE][GAPS_TILE], x[GAPS_TILE][GAPS_TILE], y[GAPS_TILE][GAPS_TILE];
    double xx[GAPS_TILE][GAPS_TILE], yy[GAPS_TILE][GAPS_TILE], xy[GAPS_TILE][GAPS_TILE];
};

size_t gaps_work_bytes(void)
{
    return sizeof(struct work);
}

CPU_CLONES static void pack_row(const double *row, size_t n, double *z, double *m, double *q)
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

/* `sums`: the other side has gaps to be made up for by this side's row sums. */
static void pack(struct side *s, const double *const *rows, size_t n_rows, size_t k, size_t n,
                 bool sums)
{
    for (size_t i = 0; i < n_rows; ++i) {
        pack_row(rows[i] + k, n, s->z[i], s->m[i], s->q[i]);
        if (sums) {
            s->sum_z[i] += total(s->z[i], n);
            s->sum_m[i] += total(s->m[i], n);
            s->sum_q[i] += total(s->q[i], n);
        }
    }
}

static void multiply(const struct gaps_tile *tile, double (*a)[SLICE], double (*b)[SLICE], size_t n,
                     bool add, double (*c)[GAPS_TILE])
{
    struct product_f64 p = {.a = a[0],
                            .b = b[0],
                            .lda = SLICE,
                            .ldb = SLICE,
                            .n_a = tile->n_a,
                            .n_b = tile->n_b,
                            .n_k = n,
                            .c = c[0],
                            .ldc = GAPS_TILE,
                            .add = add};
    product_f64(&p);
}

static void clear_sums(struct side *s)
{
    memset(s->sum_z, 0, sizeof s->sum_z);
    memset(s->sum_m, 0, sizeof s->sum_m);
    memset(s->sum_q, 0, sizeof s->sum_q);
}

void gaps_sums(const struct gaps_tile *tile, void *work)
{
    struct work *w = work;
    clear_sums(&w->a);
    clear_sums(&w->b);
    for (size_t k = 0; k < tile->n_k; k += SLICE) {
        size_t n = tile->n_k - k < SLICE ? tile->n_k - k : SLICE;
        pack(&w->a, tile->a, tile->n_a, k, n, tile->b_whole);
        pack(&w->b, tile->b, tile->n_b, k, n, tile->a_whole);
        multiply(tile, w->a.z, w->b.z, n, k != 0, w->xy);
        if (!tile->b_whole) {
            multiply(tile, w->a.z, w->b.m, n, k != 0, w->x);
            multiply(tile, w->a.q, w->b.m, n, k != 0, w->xx);
        }
        if (!tile->a_whole) {
            multiply(tile, w->a.m, w->b.z, n, k != 0, w->y);
            multiply(tile, w->a.m, w->b.q, n, k != 0, w->yy);
        }
        if (!tile->a_whole && !tile->b_whole) {
            multiply(tile, w->a.m, w->b.m, n, k != 0, w->n);
        }
    }
}

struct pearson_sums gaps_pair(const struct gaps_tile *tile, const void *work, size_t i, size_t j)
{
    const struct work *w = work;
    struct pearson_sums s = {.xy = w->xy[i][j]};
    s.x = tile->b_whole ? w->a.sum_z[i] : w->x[i][j];
    s.xx = tile->b_whole ? w->a.sum_q[i] : w->xx[i][j];
    s.y = tile->a_whole ? w->b.sum_z[j] : w->y[i][j];
    s.yy = tile->a_whole ? w->b.sum_q[j] : w->yy[i][j];
    s.n = tile->b_whole ? w->a.sum_m[i] : (tile->a_whole ? w->b.sum_m[j] : w->n[i][j]);
    return s;
}
