/*
 * vector_cpu - see the header. GCC's vector types of 64 bytes are lowered to whatever registers the
 * instruction set has; four of them make the 32 lanes. Masks are all-ones integers, missing samples
 * are masked to zero: no branch depends on the data. Nothing is contracted to fused multiply-add
 * (-ffp-contract=off), which would tie the bits to the instruction set.
 */
#include "kernels/base/vector_cpu.h"

#include "kernels/base/clones_cpu.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double vec __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t mask __attribute__((vector_size(64), aligned(8), may_alias));

enum { VEC = 8, VECS = VECTOR_LANES / VEC };

/* The value where the mask is set, +0.0 elsewhere; one of two by the mask. */
#define KEEP(m, v)    ((vec)((m) & (mask)(v)))
#define PICK(m, a, b) ((vec)(((m) & (mask)(a)) | (~(m) & (mask)(b))))
#define LOAD(p)       (*(const vec *)(p))
#define STORE(p, v)   (*(vec *)(p) = (v))
#define SPLAT(x)      ((vec){(x), (x), (x), (x), (x), (x), (x), (x)})
#define EACH_VEC(k)   _Pragma("GCC unroll 4") for (size_t k = 0; k < VECS; ++k)

/* Lanes are added in order: (0 + 8 + 16 + 24), ... */
static double add_lanes(const vec acc[VECS])
{
    double sum = 0;
    for (size_t lane = 0; lane < VEC; ++lane) {
        EACH_VEC(k)
        {
            sum += acc[k][lane];
        }
    }
    return sum;
}

/* The last, partial group of lanes, filled up with `fill`. */
static const double *pad_tail(const double *x, size_t n, double fill, double *buffer)
{
    for (size_t t = 0; t < VECTOR_LANES; ++t) {
        buffer[t] = t < n ? x[t] : fill;
    }
    return buffer;
}

CPU_CLONES static void widen(const float *from, size_t n, double *to)
{
    for (size_t t = 0; t < n; ++t) {
        to[t] = (double)from[t];
    }
}

const double *vector_widen(const void *x, enum dtype type, size_t first, size_t n, double *buffer)
{
    if (type == DTYPE_F64) {
        return (const double *)x + first;
    }
    widen((const float *)x + first, n, buffer);
    return buffer;
}

/* --- moments --------------------------------------------------------------------------------- */

CPU_INLINE void centred_step(vec *sum, vec *squares, const double *x, double mean)
{
    EACH_VEC(k)
    {
        vec v = LOAD(x + k * VEC);
        vec d = KEEP(v == v, v - mean);
        sum[k] += d;
        squares[k] += d * d;
    }
}

CPU_CLONES void vector_centred_sums(const double *x, size_t n, double mean, double *sum,
                                    double *squares)
{
    double tail[VECTOR_LANES];
    vec s[VECS] = {{0}}, q[VECS] = {{0}};
    size_t whole = n - n % VECTOR_LANES;
    for (size_t t = 0; t < whole; t += VECTOR_LANES) {
        centred_step(s, q, x + t, mean);
    }
    if (whole < n) {
        centred_step(s, q, pad_tail(x + whole, n - whole, (double)NAN, tail), mean);
    }
    *sum = add_lanes(s);
    *squares = add_lanes(q);
}

struct first_pass {
    vec sum[VECS], min[VECS], max[VECS];
    mask count[VECS];
};

CPU_INLINE void first_pass_step(struct first_pass *p, const double *x, double shift)
{
    EACH_VEC(k)
    {
        vec v = LOAD(x + k * VEC);
        mask present = v == v;
        p->sum[k] += KEEP(present, v - shift);
        p->count[k] -= present;
        p->min[k] = PICK(v < p->min[k], v, p->min[k]);
        p->max[k] = PICK(v > p->max[k], v, p->max[k]);
    }
}

CPU_INLINE void extremes(const struct first_pass *p, struct part_moments *out)
{
    EACH_VEC(k)
    {
        for (size_t lane = 0; lane < VEC; ++lane) {
            out->min = p->min[k][lane] < out->min ? p->min[k][lane] : out->min;
            out->max = p->max[k][lane] > out->max ? p->max[k][lane] : out->max;
            out->n += (double)p->count[k][lane];
        }
    }
}

CPU_CLONES void vector_moments(const double *x, size_t n, struct part_moments *out)
{
    double tail[VECTOR_LANES], shift = 0;
    for (size_t t = 0; t < n; ++t) {
        if (x[t] == x[t]) {
            shift = x[t];
            break;
        }
    }
    struct first_pass p;
    EACH_VEC(k)
    {
        p.sum[k] = SPLAT(0.0);
        p.count[k] = (mask){0};
        p.min[k] = SPLAT((double)INFINITY);
        p.max[k] = SPLAT(-(double)INFINITY);
    }
    size_t whole = n - n % VECTOR_LANES;
    for (size_t t = 0; t < whole; t += VECTOR_LANES) {
        first_pass_step(&p, x + t, shift);
    }
    if (whole < n) {
        first_pass_step(&p, pad_tail(x + whole, n - whole, (double)NAN, tail), shift);
    }
    *out = (struct part_moments){.min = (double)INFINITY, .max = -(double)INFINITY};
    extremes(&p, out);
    if (out->n == 0) {
        *out = vector_no_moments;
        return;
    }
    double mean = shift + add_lanes(p.sum) / out->n, sum, squares;
    vector_centred_sums(x, n, mean, &sum, &squares);
    out->m2 = squares - sum * (sum / out->n);
    /* what rounding took from the mean is in the second sum */
    out->base = mean;
    out->mean = sum / out->n;
    if (out->m2 < 0 || out->n < 2) {
        out->m2 = 0;
    }
}

/* --- scaling --------------------------------------------------------------------------------- */

CPU_CLONES void vector_scale(const double *x, size_t n, double shift, double mean, double scale,
                             double *z)
{
    size_t t = 0;
    for (; t + VEC <= n; t += VEC) {
        vec v = LOAD(x + t);
        STORE(z + t, PICK(v == v, ((v - shift) - mean) * scale + 0.0, SPLAT(-0.0)));
    }
    for (; t < n; ++t) {
        z[t] = x[t] == x[t] ? ((x[t] - shift) - mean) * scale + 0.0 : -0.0;
    }
}

CPU_CLONES double vector_dot(const double *a, const double *b, size_t n)
{
    double tail_a[VECTOR_LANES], tail_b[VECTOR_LANES];
    vec sum[VECS] = {{0}};
    size_t whole = n - n % VECTOR_LANES;
    for (size_t t = 0; t < whole; t += VECTOR_LANES) {
        EACH_VEC(k)
        {
            sum[k] += LOAD(a + t + k * VEC) * LOAD(b + t + k * VEC);
        }
    }
    if (whole < n) {
        pad_tail(a + whole, n - whole, 0.0, tail_a);
        pad_tail(b + whole, n - whole, 0.0, tail_b);
        EACH_VEC(k)
        {
            sum[k] += LOAD(tail_a + k * VEC) * LOAD(tail_b + k * VEC);
        }
    }
    return add_lanes(sum);
}

CPU_CLONES void vector_unmark(const double *z, size_t n, double *x)
{
    for (size_t t = 0; t < n; ++t) {
        int64_t bits;
        memcpy(&bits, z + t, sizeof bits);
        x[t] = bits == INT64_MIN ? (double)NAN : z[t];
    }
}

/* --- pairs ----------------------------------------------------------------------------------- */

struct pair_acc {
    vec n[VECS], x[VECS], y[VECS], xx[VECS], yy[VECS], xy[VECS];
};

CPU_INLINE void pair_step(struct pair_acc *p, const double *x, const double *y, double shift_x,
                          double shift_y)
{
    EACH_VEC(k)
    {
        vec u = LOAD(x + k * VEC), v = LOAD(y + k * VEC);
        vec either = PICK(v == v, u, v); /* of two masks at once GCC makes scalar code */
        mask both = either == either;
        vec du = KEEP(both, u - shift_x), dv = KEEP(both, v - shift_y);
        p->n[k] += KEEP(both, SPLAT(1.0));
        p->x[k] += du;
        p->y[k] += dv;
        p->xx[k] += du * du;
        p->yy[k] += dv * dv;
        p->xy[k] += du * dv;
    }
}

CPU_CLONES void vector_pair(const double *x, const double *y, size_t n, double shift_x,
                            double shift_y, struct vector_pair *sum)
{
    double tail_x[VECTOR_LANES], tail_y[VECTOR_LANES];
    struct pair_acc p = {0};
    size_t whole = n - n % VECTOR_LANES;
    for (size_t t = 0; t < whole; t += VECTOR_LANES) {
        pair_step(&p, x + t, y + t, shift_x, shift_y);
    }
    if (whole < n) {
        pair_step(&p, pad_tail(x + whole, n - whole, (double)NAN, tail_x),
                  pad_tail(y + whole, n - whole, (double)NAN, tail_y), shift_x, shift_y);
    }
    sum->n += add_lanes(p.n);
    sum->x += add_lanes(p.x);
    sum->y += add_lanes(p.y);
    sum->xx += add_lanes(p.xx);
    sum->yy += add_lanes(p.yy);
    sum->xy += add_lanes(p.xy);
}
