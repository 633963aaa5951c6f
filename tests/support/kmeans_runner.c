/*
 * kmeans_runner - see the header.
 */
#include "tests/support/kmeans_runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *room(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    assert_non_null(p);
    return p;
}

/* --- kernels --------------------------------------------------------------------------------- */

void kmeans_pair_put(const struct kmeans_pair *p)
{
    uint64_t ticket;
    ASSERT_OK(under_test_ops()->upload(under_test_queue, p->device.at, p->host.at.at,
                                       p->host.at.bytes, &ticket));
    ASSERT_OK(under_test_ops()->upload_wait(under_test_queue, ticket));
}

void kmeans_pair_get(const struct kmeans_pair *p)
{
    under_test_get(p->host.at.at, p->device.at, p->host.at.bytes);
}

void kmeans_pair_done(struct kmeans_pair *p)
{
    free(p->host.at.at);
    under_test_untouched(p->device.at, kmeans_model_bytes(p->device.k, p->device.n_columns));
    under_test_release(p->device.at);
}

/* What a difference of two points of the case can be at most, squared and weighted. */
static double most_d2(const struct kmeans_case *c, const double *min, const double *max)
{
    double sum = 0;
    for (size_t j = 0; j < c->d; ++j) {
        const double t = (max[j] - min[j]) * (c->weight == NULL ? 1 : c->weight[j]);
        sum += t * t;
    }
    return 2 * sum;
}

struct kmeans_pair kmeans_pair(const struct kmeans_case *c, struct span points, bool incremental)
{
    const size_t bytes = kmeans_model_bytes(c->k, c->d);
    struct kmeans_pair p = {.host = {.at = {room(1, bytes), bytes},
                                     .k = c->k,
                                     .n_columns = c->d,
                                     .has_mass = c->has_mass,
                                     .mass_column = c->mass_column,
                                     .mass_factor = c->mass_factor,
                                     .incremental = incremental}};
    const struct kmeans_points x = {points, c->type, c->n, c->d, 0};
    p.device = p.host;
    p.device.at = under_test_room(bytes);
    kmeans_clear(&p.host);
    kmeans_pair_put(&p);
    ASSERT_OK(under_test_ops()->kmeans->range(under_test_queue, &x, &p.device));
    kmeans_pair_get(&p);
    double *min = kmeans_array(&p.host, KMEANS_MIN), *max = kmeans_array(&p.host, KMEANS_MAX);
    struct kmeans_state *state = kmeans_array(&p.host, KMEANS_STATE);
    state->tolerance = c->tolerance;
    state->inertia_unit = kmeans_unit(most_d2(c, min, max));
    for (size_t j = 0; j < c->d; ++j) {
        const double largest = fmax(fabs(min[j]), fabs(max[j]));
        ((double *)kmeans_array(&p.host, KMEANS_UNIT))[j] = kmeans_unit(c->n > 0 ? largest : 1);
        ((double *)kmeans_array(&p.host, KMEANS_WEIGHT))[j] = c->weight == NULL ? 1 : c->weight[j];
    }
    if (c->has_mass) {
        ((double *)kmeans_array(&p.host, KMEANS_UNIT))[c->mass_column] = kmeans_unit(1);
    }
    if (c->start != NULL) {
        memcpy(kmeans_array(&p.host, KMEANS_CENTROID), c->start, c->k * c->d * sizeof(double));
    }
    kmeans_pair_put(&p);
    return p;
}

enum { MOST_PIECES = 64 };

struct pieces {
    struct kmeans_points x[MOST_PIECES];
    struct span memory[MOST_PIECES];
    size_t n;
};

static struct pieces cut(const struct kmeans_case *c, struct kmeans_way way, struct span points)
{
    struct pieces p = {.n = 0};
    const size_t step = way.piece == 0 ? c->n + 1 : way.piece;
    for (size_t first = 0; first < c->n || p.n == 0; first += step) {
        const size_t left = c->n - first, n = left < step ? left : step;
        assert_true(p.n < MOST_PIECES);
        p.x[p.n] = (struct kmeans_points){span_from(points, first * c->d * dtype_bytes(c->type)),
                                          c->type, n, c->d, first};
        if (way.incremental) {
            p.memory[p.n] = under_test_room(kmeans_memory_bytes(n));
            ASSERT_OK(under_test_ops()->zero(
                under_test_queue, (struct span){p.memory[p.n].at, kmeans_memory_bytes(n)}));
        }
        ++p.n;
    }
    return p;
}

static void iterate(const struct kmeans_case *c, const struct kmeans_pair *pair,
                    const struct pieces *p)
{
    const struct kmeans_kernels *k = under_test_ops()->kmeans;
    for (size_t i = 0; i < c->n_iterations; ++i) {
        for (size_t a = 0; a < p->n; ++a) {
            ASSERT_OK(k->assign(under_test_queue, &p->x[a], &pair->device, p->memory[a]));
        }
        for (size_t a = 0; a < p->n; ++a) {
            ASSERT_OK(k->farthest(under_test_queue, &p->x[a], &pair->device));
        }
        ASSERT_OK(k->update(under_test_queue, &pair->device));
    }
}

static void keep(const struct kmeans_case *c, const struct kmeans_pair *pair,
                 struct kmeans_answer *a)
{
    const struct kmeans_sum *within = kmeans_array(&pair->host, KMEANS_WITHIN);
    a->state = *(struct kmeans_state *)kmeans_array(&pair->host, KMEANS_STATE);
    a->centroid = room(c->k * c->d, sizeof(double));
    a->count = room(c->k, sizeof(uint64_t));
    a->within = room(c->k, sizeof(double));
    memcpy(a->centroid, kmeans_array(&pair->host, KMEANS_CENTROID), c->k * c->d * sizeof(double));
    memcpy(a->count, kmeans_array(&pair->host, KMEANS_COUNT), c->k * sizeof(uint64_t));
    for (size_t i = 0; i < c->k; ++i) {
        a->within[i] = kmeans_mean(within[i], 1, a->state.inertia_unit);
    }
}

struct kmeans_answer kmeans_by_kernels(const struct kmeans_case *c, struct kmeans_way way)
{
    struct kmeans_answer a = {.label = room(c->n, sizeof(int32_t))};
    struct span points = under_test_put_numbers(c->x, c->n * c->d, c->type);
    struct span labels = under_test_room(c->n * sizeof(int32_t));
    struct kmeans_pair pair = kmeans_pair(c, points, way.incremental);
    struct pieces p = cut(c, way, points);
    iterate(c, &pair, &p);
    kmeans_pair_get(&pair);
    memset(kmeans_array(&pair.host, KMEANS_COUNT), 0, c->k * sizeof(uint64_t));
    kmeans_pair_put(&pair);
    for (size_t i = 0; i < p.n; ++i) {
        ASSERT_OK(
            under_test_ops()->kmeans->label(under_test_queue, &p.x[i], &pair.device,
                                            span_from(labels, p.x[i].first * sizeof(int32_t))));
        if (way.incremental) {
            under_test_untouched(p.memory[i], kmeans_memory_bytes(p.x[i].n));
            under_test_release(p.memory[i]);
        }
    }
    kmeans_pair_get(&pair);
    under_test_get(a.label, labels, c->n * sizeof(int32_t));
    under_test_untouched(labels, c->n * sizeof(int32_t));
    keep(c, &pair, &a);
    kmeans_pair_done(&pair);
    under_test_release(labels);
    under_test_release(points);
    return a;
}

/* --- loops ----------------------------------------------------------------------------------- */

static double weight_of(const struct kmeans_case *c, size_t j)
{
    return c->weight == NULL ? 1 : c->weight[j];
}

static double distance(const struct kmeans_case *c, const double *x, const double *y)
{
    double sum = 0;
    for (size_t j = 0; j < c->d; ++j) {
        const double t = (x[j] - y[j]) * weight_of(c, j);
        sum = fma(t, t, sum);
    }
    return sum;
}

static size_t nearest(const struct kmeans_case *c, const double *centroid, size_t i, double *d2)
{
    size_t best = 0;
    for (size_t a = 0; a < c->k; ++a) {
        const double v = distance(c, c->x + i * c->d, centroid + a * c->d);
        if (a == 0 || v < *d2) {
            *d2 = v;
            best = a;
        }
    }
    return best;
}

struct loops {
    const struct kmeans_case *c;
    struct kmeans_answer a;
    __float128 *sum; /* [k][d] */
    size_t taken_to; /* the cluster that has taken a point */
};

/* What a point adds to the sum of a column. */
static double added(const struct kmeans_case *c, size_t i, size_t j)
{
    const double mass = kmeans_mass_of(c, i);
    return c->has_mass && j == c->mass_column ? mass : c->x[i * c->d + j] * mass;
}

static void assign(struct loops *l)
{
    const struct kmeans_case *c = l->c;
    memset(l->sum, 0, c->k * c->d * sizeof *l->sum);
    memset(l->a.count, 0, c->k * sizeof *l->a.count);
    memset(l->a.within, 0, c->k * sizeof *l->a.within);
    for (size_t i = 0; i < c->n; ++i) {
        double d2 = 0;
        const size_t to = nearest(c, l->a.centroid, i, &d2);
        l->a.label[i] = (int32_t)to;
        l->a.count[to] += kmeans_mass_of(c, i) > 0;
        for (size_t j = 0; j < c->d; ++j) {
            l->sum[to * c->d + j] += added(c, i, j);
        }
    }
}

/* The farthest point goes to the first empty cluster; its number, or n. */
static size_t relocate(struct loops *l)
{
    const struct kmeans_case *c = l->c;
    size_t far = c->n, empty = c->k;
    double most = 0;
    l->a.state.n_empty = 0;
    for (size_t a = c->k; a-- > 0;) {
        empty = l->a.count[a] == 0 ? a : empty;
        l->a.state.n_empty += l->a.count[a] == 0;
    }
    for (size_t i = 0; empty < c->k && i < c->n; ++i) {
        const double d2 =
            distance(c, c->x + i * c->d, l->a.centroid + (size_t)l->a.label[i] * c->d);
        const bool comes = d2 > most && kmeans_mass_of(c, i) > 0;
        far = comes ? i : far;
        most = comes ? d2 : most;
    }
    if (far == c->n) {
        return far;
    }
    const size_t from = (size_t)l->a.label[far];
    for (size_t j = 0; j < c->d; ++j) {
        l->sum[from * c->d + j] -= added(c, far, j);
        l->sum[empty * c->d + j] = c->x[far * c->d + j];
    }
    --l->a.count[from];
    l->a.count[empty] = 1;
    l->taken_to = empty;
    ++l->a.state.n_relocated;
    return far;
}

static void update(struct loops *l, double *next)
{
    const struct kmeans_case *c = l->c;
    const bool taken = relocate(l) < c->n;
    const size_t by = c->mass_column;
    l->a.state.shift2 = 0;
    for (size_t a = 0; a < c->k; ++a) {
        double *centroid = l->a.centroid + a * c->d;
        for (size_t j = 0; j < c->d; ++j) {
            const __float128 *sum = l->sum + a * c->d;
            const bool weighs = c->has_mass && !(taken && a == l->taken_to);
            next[j] = l->a.count[a] == 0 ? centroid[j]
                      : weighs           ? (double)sum[j] / (double)sum[by]
                                         : (double)(sum[j] / l->a.count[a]);
        }
        l->a.state.shift2 += distance(c, next, centroid);
        memcpy(centroid, next, c->d * sizeof *next);
    }
    ++l->a.state.n_iterations;
    l->a.state.done = !taken && l->a.state.shift2 <= c->tolerance;
}

static void label(struct loops *l)
{
    const struct kmeans_case *c = l->c;
    __float128 *within = room(c->k, sizeof *within);
    memset(l->a.count, 0, c->k * sizeof *l->a.count);
    for (size_t i = 0; i < c->n; ++i) {
        double d2 = 0;
        const size_t to = nearest(c, l->a.centroid, i, &d2);
        l->a.label[i] = (int32_t)to;
        ++l->a.count[to];
        within[to] += d2 * kmeans_mass_of(c, i);
    }
    for (size_t a = 0; a < c->k; ++a) {
        l->a.within[a] = (double)within[a];
    }
    free(within);
}

struct kmeans_answer kmeans_by_loops(const struct kmeans_case *c)
{
    struct loops l = {.c = c};
    double *next = room(c->d, sizeof *next);
    l.sum = room(c->k * c->d, sizeof *l.sum);
    l.a.centroid = room(c->k * c->d, sizeof(double));
    l.a.count = room(c->k, sizeof(uint64_t));
    l.a.label = room(c->n, sizeof(int32_t));
    l.a.within = room(c->k, sizeof(double));
    memcpy(l.a.centroid, c->start, c->k * c->d * sizeof(double));
    for (size_t i = 0; i < c->n_iterations && !l.a.state.done; ++i) {
        assign(&l);
        update(&l, next);
    }
    label(&l);
    free(l.sum);
    free(next);
    return l.a;
}

/* Fails with the case, and which number of what differs, unless all bits agree. */
static void same_numbers(const struct kmeans_case *c, const char *what, const double *a,
                         const double *b, size_t n, size_t columns)
{
    for (size_t i = 0; i < n; ++i) {
        if (memcmp(a + i, b + i, sizeof *a) != 0) {
            fail_msg("%zu x %zu %s, k = %zu: %s %zu, column %zu: %a, not %a", c->n, c->d,
                     c->type == DTYPE_F32 ? "f32" : "f64", c->k, what, i / columns, i % columns,
                     a[i], b[i]);
        }
    }
}

static void same_counts(const struct kmeans_case *c, const char *what, size_t i, uint64_t a,
                        uint64_t b)
{
    if (a != b) {
        fail_msg("%zu x %zu %s, k = %zu: %s %zu: %llu, not %llu", c->n, c->d,
                 c->type == DTYPE_F32 ? "f32" : "f64", c->k, what, i, (unsigned long long)a,
                 (unsigned long long)b);
    }
}

void kmeans_same(const struct kmeans_case *c, const struct kmeans_answer *a,
                 const struct kmeans_answer *b)
{
    same_counts(c, "iterations, run", 0, a->state.n_iterations, b->state.n_iterations);
    same_counts(c, "empty clusters, run", 0, a->state.n_empty, b->state.n_empty);
    same_counts(c, "relocations, run", 0, a->state.n_relocated, b->state.n_relocated);
    same_counts(c, "done, run", 0, a->state.done != 0, b->state.done != 0);
    same_numbers(c, "shift", &a->state.shift2, &b->state.shift2, 1, 1);
    for (size_t i = 0; i < c->n; ++i) {
        same_counts(c, "label of point", i, (uint64_t)a->label[i], (uint64_t)b->label[i]);
    }
    for (size_t i = 0; i < c->k; ++i) {
        same_counts(c, "points of cluster", i, a->count[i], b->count[i]);
    }
    same_numbers(c, "centroid", a->centroid, b->centroid, c->k * c->d, c->d);
    for (size_t i = 0; i < c->k; ++i) {
        /* each d2 is cut off at 2^-50 of a unit, and the sum rounded; the loops know no unit */
        const bool loops = b->state.inertia_unit == 0;
        const double cut = (double)c->n * a->state.inertia_unit * 0x1p-51;
        const double bound = loops ? cut + fabs(b->within[i]) * 0x1p-53 : 0;
        if (!(fabs(a->within[i] - b->within[i]) <= bound)) {
            same_numbers(c, "within", a->within + i, b->within + i, 1, 1);
        }
    }
}

void kmeans_answer_done(struct kmeans_answer *a)
{
    free(a->centroid);
    free(a->count);
    free(a->label);
    free(a->within);
}
