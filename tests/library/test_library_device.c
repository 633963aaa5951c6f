/*
 * library_device - arrays in the device's memory, given to libleat: where LEAT_TEST_BACKEND is one.
 */
#include "tests/support/library_support.h"

/* What the driver has for a program that works on the device itself; the names are its own. */
static struct {
    int (*cuInit)(unsigned flags);
    int (*cuDevicePrimaryCtxRetain)(void **context, int device);
    int (*cuCtxSetCurrent)(void *context);
    int (*cuMemAlloc_v2)(void **at, size_t bytes);
    int (*cuMemFree_v2)(void *at);
    int (*cuMemcpyHtoD_v2)(void *to, const void *from, size_t bytes);
    int (*cuMemcpyDtoH_v2)(void *to, const void *from, size_t bytes);
    int (*cuMemsetD8_v2)(void *at, unsigned char value, size_t n);
    int (*cuStreamCreate)(void **stream, unsigned flags);
    int (*cuStreamDestroy_v2)(void *stream);
    int (*cuLaunchHostFunc)(void *stream, void (*call)(void *), void *arg);
    int (*cuMemcpyDtoDAsync_v2)(void *to, const void *from, size_t bytes, void *stream);
} driver;

static void load_driver(void)
{
    const char *const names[] = {
        "cuInit",         "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent",  "cuMemAlloc_v2",
        "cuMemFree_v2",   "cuMemcpyHtoD_v2",          "cuMemcpyDtoH_v2",  "cuMemsetD8_v2",
        "cuStreamCreate", "cuStreamDestroy_v2",       "cuLaunchHostFunc", "cuMemcpyDtoDAsync_v2",
    };
    void *context, *const library = dlopen("libcuda.so.1", RTLD_NOW);
    assert_non_null(library);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ((void **)&driver)[i] = dlsym(library, names[i]);
        assert_non_null(((void **)&driver)[i]);
    }
    assert_int_equal(driver.cuInit(0), 0);
    assert_int_equal(driver.cuDevicePrimaryCtxRetain(&context, 0), 0);
    assert_int_equal(driver.cuCtxSetCurrent(context), 0);
}

/* A copy on the device; of nothing: zeros. */
static void *on_device(const void *from, size_t bytes)
{
    void *at;
    assert_int_equal(driver.cuMemAlloc_v2(&at, bytes), 0);
    assert_int_equal(driver.cuMemsetD8_v2(at, 0, bytes), 0);
    assert_int_equal(from == NULL ? 0 : driver.cuMemcpyHtoD_v2(at, from, bytes), 0);
    return at;
}

static bool is_cpu(void)
{
    const char *const backend = getenv("LEAT_TEST_BACKEND");
    return backend == NULL || strcmp(backend, "cpu") == 0;
}

/* A stream of the program in which numbers come late: what is computed comes after them. */
struct late {
    void *stream, *copy; /* the numbers, once they have come; before, zeros */
    void *from;
};

static void wait_a_little(void *unused)
{
    (void)unused;
    usleep(200000);
}

static struct late late_new(const void *numbers, size_t bytes)
{
    struct late l = {.from = on_device(numbers, bytes), .copy = on_device(NULL, bytes)};
    assert_int_equal(driver.cuStreamCreate(&l.stream, 1), 0); /* that waits for no other */
    assert_int_equal(driver.cuLaunchHostFunc(l.stream, wait_a_little, NULL), 0);
    assert_int_equal(driver.cuMemcpyDtoDAsync_v2(l.copy, l.from, bytes, l.stream), 0);
    return l;
}

static void late_free(struct late *l)
{
    assert_int_equal(driver.cuStreamDestroy_v2(l->stream), 0);
    assert_int_equal(driver.cuMemFree_v2(l->copy), 0);
    assert_int_equal(driver.cuMemFree_v2(l->from), 0);
}

static struct leat_array there(struct leat_array x, const struct late *l)
{
    x.data = l->copy;
    x.memory = LEAT_DEVICE_MEMORY;
    x.stream = l->stream;
    return x;
}

TEST(curves_are_evaluated_in_the_devices_memory)
{
    if (is_cpu()) {
        skip();
    }
    struct leat_context *const c = context();
    const struct nodes n = nodes_of_chebyshev();
    static double q[QUERIES], here[QUERIES][2], back[QUERIES][2];
    struct leat_interpolant *p;
    load_driver();
    for (size_t i = 0; i < QUERIES; i++) {
        q[i] = (2 * uniform(i) - 1) * n.x[0];
    }
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 2, LEAT_BY_ITSELF, 0, &p),
                     LEAT_OK);
    assert_int_equal(leat_interpolant_evaluate(p, q, QUERIES, here[0]), LEAT_OK);
    struct late queries = late_new(q, sizeof q);
    double *const values = on_device(NULL, sizeof here);
    assert_int_equal(
        leat_interpolant_evaluate_device(p, queries.copy, QUERIES, values, queries.stream),
        LEAT_OK);
    assert_int_equal(driver.cuMemcpyDtoH_v2(back, values, sizeof back), 0);
    assert_memory_equal(here, back, sizeof here);
    assert_int_equal(leat_interpolant_evaluate_device(p, q, 5, values, NULL), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "no memory of device 0"));
    assert_int_equal(leat_interpolant_evaluate_device(p, (double *)queries.copy + 1, QUERIES - 1,
                                                      values + 1, NULL),
                     LEAT_OK); /* aligned to numbers alone */
    assert_int_equal(
        leat_interpolant_evaluate_device(p, (double *)((char *)queries.copy + 4), 1, values, NULL),
        LEAT_BAD_ARGUMENT);
    assert_int_equal(driver.cuMemcpyDtoH_v2(back, values, sizeof back), 0);
    for (size_t i = 1; i < QUERIES; i++) {
        assert_memory_equal(&((double *)back)[1 + 2 * (i - 1)], here[i], sizeof here[i]);
    }
    assert_int_equal(driver.cuMemFree_v2(values), 0);
    late_free(&queries);
    leat_interpolant_free(p);
    leat_close(c);
}

/* As they lie, and from the second row on, which is aligned to numbers alone. */
TEST(points_are_clustered_in_the_devices_memory)
{
    if (is_cpu()) {
        skip();
    }
    struct leat_context *const c = context();
    load_driver();
    for (size_t first = 0; first < 2; first++) {
        struct leat_array x = array();
        struct late late = late_new(wide, sizeof wide);
        x.rows -= first;
        x.data = wide[first];
        struct leat_array on_it = there(x, &late);
        on_it.data = (const double *)late.copy + first * D;
        const struct leat_kmeans_options o = options(7);
        struct leat_kmeans_result *a = cluster(c, &x, &o), *b = cluster(c, &on_it, &o);
        assert_memory_equal(a->centroids, b->centroids, 7 * D * sizeof(double));
        assert_memory_equal(a->labels, b->labels, x.rows * sizeof(int32_t));
        assert_true(a->silhouette == b->silhouette && a->inertia == b->inertia);
        leat_kmeans_free(a);
        leat_kmeans_free(b);
        late_free(&late);
    }
    leat_close(c);
}

TEST(series_are_correlated_in_the_devices_memory)
{
    if (is_cpu()) {
        skip();
    }
    struct leat_context *const c = context();
    struct series *const s = series_new();
    load_driver();
    for (size_t first = 0; first < 2; first++) {
        struct leat_array x = rows_of(s);
        struct late late = late_new(s->x, sizeof s->x);
        x.rows -= first;
        x.data = s->x[first];
        struct leat_array on_it = there(x, &late);
        on_it.data = (const double *)late.copy + first * SAMPLES;
        struct leat_correlate_result *a = correlate(c, &x, NULL), *b = correlate(c, &on_it, NULL);
        assert_memory_equal(a->r, b->r, x.rows * (x.rows - 1) / 2 * sizeof(double));
        assert_memory_equal(a->mean, b->mean, x.rows * sizeof(double));
        leat_correlate_free(a);
        leat_correlate_free(b);
        late_free(&late);
    }
    free(s);
    leat_close(c);
}

TEST(maps_on_the_device_are_as_good)
{
    if (is_cpu()) {
        skip();
    }
    struct leat_context *const c = context();
    struct maps *const m = maps_new();
    struct leat_landslide_result *r = slide(c, m, NULL), *other;
    load_driver();
    struct late z = late_new(m->dem, sizeof m->dem), h = late_new(m->source, sizeof m->source);
    const struct leat_array dem = there(map_of(m->dem), &z), source = there(map_of(m->source), &h);
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, &other), LEAT_OK);
    assert_same(r, other);
    leat_landslide_free(r);
    leat_landslide_free(other);
    late_free(&z);
    late_free(&h);
    free(m);
    leat_close(c);
}

TEST(a_cpu_has_no_device_memory)
{
    struct leat_context *c;
    struct leat_landslide_result *r;
    struct leat_interpolant *p;
    struct maps *const m = maps_new();
    struct nodes n = nodes_of_chebyshev();
    const struct leat_array source = map_of(m->source);
    struct leat_array dem = map_of(m->dem);
    assert_int_equal(leat_open(NULL, &c), LEAT_OK);
    struct leat_array x = array();
    struct leat_kmeans_result *clusters;
    x.memory = LEAT_DEVICE_MEMORY;
    assert_int_equal(leat_kmeans(c, &x, NULL, &clusters), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "cuda"));
    dem.memory = LEAT_DEVICE_MEMORY;
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "cuda"));
    dem.row_bytes = 2 * sizeof m->dem[0]; /* neither there */
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "rows"));
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 1, LEAT_BY_ITSELF, 0, &p),
                     LEAT_OK);
    assert_int_equal(leat_interpolant_evaluate_device(p, n.x, NODES, n.y[1], NULL),
                     LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "cuda"));
    leat_interpolant_free(p);
    free(m);
    leat_close(c);
}

int main(void)
{
    return has_backend() ? unit_run(NULL, NULL) : 77;
}
