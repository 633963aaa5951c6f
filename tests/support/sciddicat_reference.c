/*
 * sciddicat_reference - see the header.
 */
#include "tests/support/sciddicat_reference.h"

#include "tests/support/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32 };

static void *room(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    if (p == NULL) {
        fprintf(stderr, "no memory for a reference of %zu cells\n", n);
        abort();
    }
    return p;
}

static int on_ring(const struct sciddicat_params *p, size_t i, size_t j)
{
    return i == 0 || j == 0 || i == p->rows - 1 || j == p->columns - 1;
}

/* NODATA that is treated as such. */
static int is_hole(const struct sciddicat_reference *s, size_t i, size_t j)
{
    return s->p.nodata != SCIDDICAT_COMPAT && !on_ring(&s->p, i, j) &&
           s->nodata[i * s->p.columns + j] != 0;
}

static int is_fixed(const struct sciddicat_reference *s, size_t i, size_t j)
{
    return on_ring(&s->p, i, j) || is_hole(s, i, j);
}

struct sciddicat_reference *sciddicat_reference_new(const struct sciddicat_params *p,
                                                    const double *z, const double *h,
                                                    const unsigned char *nodata)
{
    const size_t n = p->rows * p->columns;
    struct sciddicat_reference *s = room(1, sizeof *s);
    s->p = *p;
    s->z = room(n, sizeof *s->z);
    s->h = room(n, sizeof *s->h);
    s->before = room(n, sizeof *s->before);
    s->taken = room(n, sizeof *s->taken);
    s->max_h = room(n, sizeof *s->max_h);
    s->arrival = room(n, sizeof *s->arrival);
    s->nodata = room(n, 1);
    for (int d = 0; d < 4; ++d) {
        s->flow[d] = room(n, sizeof *s->flow[d]);
    }
    memcpy(s->z, z, n * sizeof *z);
    if (nodata != NULL) {
        memcpy(s->nodata, nodata, n);
    }
    for (size_t k = 0; k < n; ++k) {
        s->h[k] = s->before[k] = s->max_h[k] = h[k] + 0.0;
        s->arrival[k] = h[k] > p->epsilon ? 0 : -1;
    }
    return s;
}

void sciddicat_reference_free(struct sciddicat_reference *s)
{
    if (s == NULL) {
        return;
    }
    for (int d = 0; d < 4; ++d) {
        free(s->flow[d]);
    }
    free(s->z);
    free(s->h);
    free(s->before);
    free(s->taken);
    free(s->max_h);
    free(s->arrival);
    free(s->nodata);
    free(s);
}

static void outflow(struct sciddicat_reference *s, size_t i, size_t j)
{
    const size_t columns = s->p.columns, k = i * columns + j;
    const size_t to[5] = {k, k - columns, k - 1, k + 1, k + columns};
    const double m = s->h[k] - s->p.epsilon;
    double u[5] = {s->z[k] + s->p.epsilon}, avg;
    int alive[5] = {1, 1, 1, 1, 1}, died;
    for (int n = 1; n < 5; ++n) {
        u[n] = s->z[to[n]] + s->h[to[n]];
        alive[n] = !(s->p.nodata == SCIDDICAT_WALL && is_hole(s, to[n] / columns, to[n] % columns));
    }
    do {
        int count = 0;
        avg = m;
        for (int n = 0; n < 5; ++n) {
            if (alive[n]) {
                avg += u[n];
                ++count;
            }
        }
        if (count != 0) {
            avg /= count;
        }
        died = 0;
        for (int n = 0; n < 5; ++n) {
            if (alive[n] && avg <= u[n]) {
                alive[n] = 0;
                died = 1;
            }
        }
    } while (died);
    for (int n = 1; n < 5; ++n) {
        s->flow[n - 1][k] = alive[n] ? (avg - u[n]) * s->p.r : 0;
    }
}

/* Flow into cell k from its neighbour n (0 N, 1 W, 2 E, 3 S), which lies on the map. */
static double inflow(const struct sciddicat_reference *s, size_t i, size_t j, int n)
{
    const size_t k = i * s->p.columns + j;
    switch (n) {
    case 0:
        return i > 0 ? s->flow[3][k - s->p.columns] : 0;
    case 1:
        return j > 0 ? s->flow[2][k - 1] : 0;
    case 2:
        return j + 1 < s->p.columns ? s->flow[1][k + 1] : 0;
    default:
        return i + 1 < s->p.rows ? s->flow[0][k + s->p.columns] : 0;
    }
}

static void update(struct sciddicat_reference *s, size_t i, size_t j)
{
    const size_t k = i * s->p.columns + j;
    double t = s->h[k];
    for (int n = 0; n < 4; ++n) {
        const double in = inflow(s, i, j, n);
        if (is_fixed(s, i, j)) {
            s->taken[k] += in;
        } else {
            t += in - s->flow[n][k];
        }
    }
    s->before[k] = s->h[k];
    s->h[k] = t;
    s->max_h[k] = t > s->max_h[k] ? t : s->max_h[k];
    if (t > s->p.epsilon && s->arrival[k] < 0) {
        s->arrival[k] = (int32_t)s->step;
    }
}

void sciddicat_reference_step(struct sciddicat_reference *s)
{
    const size_t rows = s->p.rows, columns = s->p.columns;
    ++s->step;
    for (int d = 0; d < 4; ++d) {
        memset(s->flow[d], 0, rows * columns * sizeof *s->flow[d]);
    }
    for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
            if (!is_fixed(s, i, j) && s->h[i * columns + j] > s->p.epsilon) {
                outflow(s, i, j);
            }
        }
    }
    for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
            update(s, i, j);
        }
    }
}

/* In the order that the contract gives. */
static double lane_sum(const double *x, size_t n)
{
    double lane[LANES] = {0};
    for (size_t k = 0; k < n; ++k) {
        lane[k % LANES] += x[k];
    }
    for (size_t w = LANES / 2; w > 0; w /= 2) {
        for (size_t l = 0; l < w; ++l) {
            lane[l] += lane[l + w];
        }
    }
    return lane[0];
}

enum figure { MASS, EDGE, NODATA };

static double figure_of(const struct sciddicat_reference *s, size_t i, size_t j, enum figure f)
{
    const size_t k = i * s->p.columns + j;
    const int ring = on_ring(&s->p, i, j);
    if (f == MASS) {
        return s->h[k];
    }
    return ring == (f == EDGE) ? s->taken[k] : 0;
}

static double map_sum(const struct sciddicat_reference *s, enum figure f)
{
    double *row = room(s->p.columns, sizeof *row), *sums = room(s->p.rows, sizeof *sums);
    for (size_t i = 0; i < s->p.rows; ++i) {
        for (size_t j = 0; j < s->p.columns; ++j) {
            row[j] = figure_of(s, i, j, f);
        }
        sums[i] = lane_sum(row, s->p.columns);
    }
    const double sum = lane_sum(sums, s->p.rows);
    free(row);
    free(sums);
    return sum;
}

void sciddicat_reference_report(const struct sciddicat_reference *s, struct sciddicat_report *out)
{
    const size_t n = s->p.rows * s->p.columns;
    memset(out, 0, sizeof *out);
    out->step = s->step;
    out->mass = map_sum(s, MASS);
    out->lost_edge = map_sum(s, EDGE);
    out->lost_nodata = map_sum(s, NODATA);
    out->largest = s->h[0];
    out->moved = memcmp(s->h, s->before, n * sizeof *s->h) != 0;
    for (size_t k = 0; k < n; ++k) {
        out->largest = s->h[k] > out->largest ? s->h[k] : out->largest;
        out->n_active += s->h[k] > s->p.epsilon;
    }
}

uint64_t sciddicat_reference_hash(const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    uint64_t hash = 1469598103934665603u;
    for (size_t k = 0; k < n; ++k) {
        hash = (hash ^ at[k]) * 1099511628211u;
    }
    return hash;
}

void sciddicat_reference_terrain(uint64_t seed, size_t rows, size_t columns, double share,
                                 double holes, double *z, double *h, unsigned char *nodata)
{
    struct reference_random g = {seed};
    for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
            const size_t k = i * columns + j;
            const double across = (double)j - (double)columns / 2;
            /* only operations that are rounded the same everywhere */
            z[k] = 1000 - 0.7 * (double)i + 0.002 * across * across + 2 * reference_uniform(&g);
            const double heap = reference_uniform(&g) < share ? 1 : 0;
            h[k] = heap * (0.0005 + 5 * reference_uniform(&g));
            nodata[k] = reference_uniform(&g) < holes;
            if (nodata[k]) {
                z[k] = -9999;
                h[k] = reference_uniform(&g) < 0.5 ? 0 : h[k];
            }
        }
    }
}
