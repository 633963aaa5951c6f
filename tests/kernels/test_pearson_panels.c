/*
 * test_pearson_panels - a correlation whose panels several members take has the bits of one: every
 * coefficient, in either precision.
 */
#include "kernels/base/queue_cpu.h"
#include "kernels/pearson/panels.h"
#include "tests/support/rows_runner.h"

#include <stdio.h>

enum { MOST_HELPERS = 6, CONSTANT = 5 /* a series that is */ };

static struct queue *helpers[MOST_HELPERS];

/* --- one correlation -------------------------------------------------------------------------- */

/* As rows arrive: a panel is standardized and multiplied with all up to it. Helpers come before
 * panel `from`; none: it is home's alone. */
struct arrival {
    struct rows c;
    struct queue *helpers[MOST_HELPERS];
    size_t n_helpers, from;
};

static struct panels_config config(const struct rows *c)
{
    return (struct panels_config){.home = under_test_queue,
                                  .precision = c->precision,
                                  .n_series = c->n_series,
                                  .n_samples = c->n_samples,
                                  .panel = c->panel};
}

static void begin_arrival(const struct rows *c, struct run *r)
{
    const struct pearson_kernels *k = under_test_ops()->pearson;
    r->x = (struct series_rows){under_test_put_numbers(c->x, c->n_series * c->n_samples, c->type),
                                c->type,
                                c->n_series,
                                c->n_samples,
                                0,
                                0};
    r->z = under_test_room(c->n_series * k->z_bytes(under_test_queue, c->precision, c->n_samples));
    r->z_exact = (struct span){0};
    r->moments = (struct moments){.at = under_test_room(moments_bytes(c->n_series)),
                                  .capacity = c->n_series};
    r->matrix = under_test_matrix(c->n_series, c->panel, pearson_dtype(c->precision));
}

static enum status arrive(const struct arrival *a, struct run *r, struct panels *shared, size_t p)
{
    const struct pearson_kernels *k = under_test_ops()->pearson;
    const struct rows *c = &a->c;
    const size_t z_row = k->z_bytes(under_test_queue, c->precision, c->n_samples);
    const size_t first = p * c->panel, width = matrix_panel_width(p, c->panel, c->n_series);
    const struct series_rows x = {span_from(r->x.at, first * c->n_samples * dtype_bytes(c->type)),
                                  c->type,
                                  width - first,
                                  c->n_samples,
                                  first,
                                  0};
    const struct span z = span_from(r->z, first * z_row);
    const struct pearson_panel panel = {.precision = c->precision,
                                        .n_samples = c->n_samples,
                                        .a = {.z = z, .first = first, .n = width - first},
                                        .b = {.z = r->z, .n = width},
                                        .moments = r->moments,
                                        .r = r->matrix.panels[p],
                                        .width = width};
    STATUS_TRY(under_test_ops()->means->rows(under_test_queue, &x, r->moments));
    STATUS_TRY(k->standardize(under_test_queue, c->precision, &x, r->moments, z));
    if (shared == NULL) {
        return k->gram(under_test_queue, &panel);
    }
    STATUS_TRY(panels_give(shared, z, first, width - first));
    return panels_gram(shared, &panel);
}

/* The series that are there when helpers come. */
static void share(const struct arrival *a, const struct run *r, struct panels **shared)
{
    const struct panels_config config_of = config(&a->c);
    const size_t there = a->from * a->c.panel;
    struct queue *queues[MOST_HELPERS];
    size_t n = a->n_helpers;
    memcpy(queues, a->helpers, sizeof queues);
    ASSERT_OK(panels_open(&config_of, queues, &n, shared));
    assert_int_equal(n, a->n_helpers);
    if (there > 0) {
        ASSERT_OK(panels_give(*shared, r->z, 0, there));
    }
}

static enum status run_arrival(const struct arrival *a, struct run *r)
{
    struct panels *shared = NULL;
    enum status st = STATUS_OK;
    begin_arrival(&a->c, r);
    for (size_t p = 0; p < r->matrix.n_panels && st == STATUS_OK; ++p) {
        if (p == a->from && a->n_helpers > 0) {
            share(a, r, &shared);
        }
        st = arrive(a, r, shared, p);
    }
    if (st == STATUS_OK && shared != NULL) {
        st = panels_collect(shared);
    }
    panels_close(shared);
    return st;
}

static double *correlate(const struct arrival *a)
{
    struct run r;
    double *got = room(n_pairs(a->c.n_series));
    ASSERT_OK(run_arrival(a, &r));
    under_test_condensed(&r.matrix, got);
    run_done(&r);
    return got;
}

static struct arrival arrival_of(struct rows c, size_t n_helpers, size_t from)
{
    struct arrival a = {.c = c, .n_helpers = n_helpers, .from = from};
    memcpy(a.helpers, helpers, sizeof helpers);
    return a;
}

static void same_bits(struct rows c, size_t n_helpers, size_t from, const double *want)
{
    const struct arrival a = arrival_of(c, n_helpers, from);
    double *got = correlate(&a);
    if (memcmp(got, want, n_pairs(c.n_series) * sizeof *got) != 0) {
        print_error("%zu helpers from panel %zu: other bits of %zu series x %zu, panels of %zu\n",
                    n_helpers, from, c.n_series, c.n_samples, c.panel);
        fail();
    }
    free(got);
}

/* Noise, a constant series and, where `gaps`, missing samples of every third. */
static double *series(const struct rows *c, bool gaps)
{
    double *x = room(c->n_series * c->n_samples);
    reference_noise(c->n_series, c->n_series, c->n_samples, x);
    for (size_t t = 0; c->n_series > CONSTANT && t < c->n_samples; ++t) {
        x[CONSTANT * c->n_samples + t] = 3.25;
    }
    for (size_t s = 0; gaps && s < c->n_series; s += 3) {
        x[s * c->n_samples + s % c->n_samples] = (double)NAN;
    }
    if (c->type == DTYPE_F32) {
        reference_round(c->n_series * c->n_samples, x);
    }
    return x;
}

/* --- the same bits ---------------------------------------------------------------------------- */

static const struct shape {
    size_t n_series, n_samples, panel;
} shapes[] = {{1, 17, 1},
              {2, 17, 1},
              {2, 17, 64},
              {31, 33, 8},
              {32, 33, 8},
              {33, 33, 8},
              {33, 8192, 64},
              {257, 33, 64},
              {257, 257, 8},
              {300, 1025, 64},
              {40, 22000, 8} /* more than one pass of a device takes */,
              {1500, 70, 256}};

static void check_shape(const struct shape *shape, enum pearson_precision precision, bool gaps)
{
    static const size_t members[] = {1, 2, 3, 6};
    struct rows c = {.n_series = shape->n_series,
                     .n_samples = shape->n_samples,
                     .panel = shape->panel,
                     .precision = precision,
                     .type = precision == PEARSON_F32 ? DTYPE_F32 : DTYPE_F64};
    double *x = series(&c, gaps);
    c.x = x;
    const struct arrival alone = arrival_of(c, 0, 0);
    double *want = correlate(&alone);
    assert_true(c.n_series <= CONSTANT || isnan(want[CONSTANT - 1])); /* with series 0 */
    for (size_t k = 0; k < sizeof members / sizeof *members; ++k) {
        same_bits(c, members[k], 0, want);
    }
    free(want);
    free(x);
}

TEST(panels_have_the_bits_of_one_member_for_any_number_of_them)
{
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; ++k) {
        if (shapes[k].n_series * shapes[k].n_samples <= under_test_size(SIZE_MAX, 10000)) {
            check_shape(&shapes[k], PEARSON_EXACT, k % 2 == 0);
            check_shape(&shapes[k], PEARSON_F32, k % 2 == 1);
        }
    }
}

TEST(helpers_may_come_before_any_panel)
{
    struct rows c = {.n_series = 75, .n_samples = 40, .panel = 8, .type = DTYPE_F64};
    double *x = series(&c, true);
    c.x = x;
    const struct arrival alone = arrival_of(c, 0, 0);
    double *want = correlate(&alone);
    for (size_t from = 0; from < 10; ++from) {
        same_bits(c, 1 + from % 4, from, want);
    }
    free(want);
    free(x);
}

/* --- who does what ---------------------------------------------------------------------------- */

/* A queue whose backend is another one: of the CPU. */
struct changed {
    struct cpu_backend backend;
    struct backend_ops ops;
    struct pearson_kernels kernels;
    struct queue *queue;
    struct backend *before;
};

static void change(struct queue *q, struct changed *c)
{
    *c = (struct changed){.queue = q, .before = q->backend};
    c->backend = *(const struct cpu_backend *)q->backend;
    c->ops = *q->backend->ops;
    c->kernels = cpu_pearson;
    c->ops.pearson = &c->kernels;
    c->backend.base.ops = &c->ops;
    q->backend = &c->backend.base;
}

static void change_back(struct changed *c)
{
    c->queue->backend = c->before;
}

static struct rows small_rows(void)
{
    return (struct rows){.n_series = 160, .n_samples = 20, .panel = 8, .type = DTYPE_F64};
}

static size_t taken[MOST_HELPERS + 1]; /* elements: by home, by helpers */

static enum status count_gram(struct queue *q, const struct pearson_panel *panel)
{
    size_t k = 0;
    while (k < MOST_HELPERS && helpers[k] != q) {
        ++k;
    }
    taken[k] += panel->a.n * panel->width;
    return cpu_pearson.gram(q, panel);
}

TEST(members_have_as_much_to_do)
{
    if (!under_test_is_cpu()) {
        skip();
    }
    struct changed all[MOST_HELPERS + 1];
    struct rows c = small_rows();
    double *x = series(&c, false);
    c.x = x;
    for (size_t k = 0; k <= MOST_HELPERS; ++k) {
        change(k < MOST_HELPERS ? helpers[k] : under_test_queue, &all[k]);
        all[k].kernels.gram = count_gram;
    }
    for (size_t n = 2; n <= 5; ++n) {
        const struct arrival a = arrival_of(c, n - 1, 0);
        size_t sum = 0, most = taken[MOST_HELPERS] = 0;
        memset(taken, 0, sizeof taken);
        free(correlate(&a));
        for (size_t k = 0; k <= MOST_HELPERS; ++k) {
            sum += taken[k];
            most = taken[k] > most ? taken[k] : most;
        }
        assert_int_equal(sum, 8 * 8 * 20 * 21 / 2);
        assert_true(most * n * 10 <= sum * 11);
    }
    for (size_t k = 0; k <= MOST_HELPERS; ++k) {
        change_back(&all[k]);
    }
    free(x);
}

static unsigned n_calls;

static enum status fail_later(struct queue *q, const struct pearson_panel *panel)
{
    return ++n_calls > 2 ? status_fail(STATUS_DEVICE, "the third panel fails")
                         : cpu_pearson.gram(q, panel);
}

static enum status fall_off(struct queue *q)
{
    (void)q;
    return status_fail(STATUS_DEVICE, "the device has fallen off the bus");
}

TEST(panels_pass_on_what_a_member_says)
{
    if (!under_test_is_cpu()) {
        skip();
    }
    struct changed other;
    struct run r;
    struct rows c = small_rows();
    double *x = series(&c, false);
    c.x = x;
    change(helpers[1], &other);
    other.kernels.gram = fail_later;
    const struct arrival a = arrival_of(c, 2, 0);
    assert_int_equal(run_arrival(&a, &r), STATUS_DEVICE);
    assert_string_equal(status_message(), "the third panel fails");
    run_done(&r);
    change_back(&other);
    free(x);
}

/* finish() is home's table's for all members. */
TEST(panels_wait_for_members_to_say_so)
{
    if (!under_test_is_cpu()) {
        skip();
    }
    struct changed home;
    struct run r;
    struct rows c = small_rows();
    double *x = series(&c, false);
    c.x = x;
    change(under_test_queue, &home);
    home.ops.finish = fall_off;
    const struct arrival a = arrival_of(c, 2, 0);
    assert_int_equal(run_arrival(&a, &r), STATUS_DEVICE);
    assert_string_equal(status_message(), "the device has fallen off the bus");
    run_done(&r);
    change_back(&home);
    free(x);
}

/* --- who cannot help -------------------------------------------------------------------------- */

static struct changed odd; /* helpers[1] */

static void describe_otherwise(const struct backend *b, struct backend_info *out)
{
    backend_cpu.describe(b, out);
    out->n_threads += b == &odd.backend.base ? 1 : 0;
    snprintf(out->device, sizeof out->device, b == &odd.backend.base ? "odd" : "plain");
}

static size_t other_z_bytes(const struct queue *q, enum pearson_precision precision, size_t n)
{
    return 16 + cpu_pearson.z_bytes(q, precision, n);
}

static enum status no_room(struct queue *q, size_t bytes, struct span *out)
{
    *out = (struct span){0};
    return q == odd.queue ? status_fail(STATUS_NO_MEMORY, "no room for %zu bytes", bytes)
                          : backend_cpu.alloc(q, bytes, out);
}

static enum status copy_other(struct queue *q, struct span to, struct queue *from_q,
                              struct span from, size_t bytes)
{
    return backend_cpu.copy_across(q, to, from_q, from, bytes);
}

static enum status lose_a_byte(struct queue *q, struct span to, struct queue *from_q,
                               struct span from, size_t bytes)
{
    const size_t lost = q == odd.queue ? 1 : 0;
    return backend_cpu.copy_across(q, to, from_q, from, bytes - lost);
}

/* The three that are offered; helpers[1] does not help, and the others do. */
static void expect_two(const char *why)
{
    struct rows c = small_rows();
    const struct panels_config config_of = config(&c);
    struct queue *queues[] = {helpers[0], helpers[1], helpers[2]};
    struct panels *shared;
    size_t n = 3;
    ASSERT_OK(panels_open(&config_of, queues, &n, &shared));
    assert_int_equal(n, 2);
    assert_ptr_equal(queues[0], helpers[0]);
    assert_ptr_equal(queues[1], helpers[2]);
    assert_non_null(strstr(status_message(), why));
    panels_close(shared);
    queues[0] = helpers[1];
    n = 1;
    ASSERT_OK(panels_open(&config_of, queues, &n, &shared));
    assert_int_equal(n, 0);
    assert_null(shared);
}

TEST(panels_do_without_a_member_that_cannot_help)
{
    if (!under_test_is_cpu()) {
        skip();
    }
    struct changed home;
    change(under_test_queue, &home);
    change(helpers[1], &odd);
    home.ops.describe = odd.ops.describe = describe_otherwise;
    expect_two("odd is another kind of device than plain");
    home.ops.describe = odd.ops.describe = backend_cpu.describe;
    odd.kernels.z_bytes = other_z_bytes;
    expect_two("is another kind of device");
    odd.kernels.z_bytes = cpu_pearson.z_bytes;
    odd.ops.copy_across = copy_other;
    expect_two("is another kind of device");
    odd.ops.copy_across = NULL;
    expect_two("is another kind of device");
    odd.ops.copy_across = backend_cpu.copy_across;
    home.ops.alloc = no_room;
    expect_two("no room for");
    home.ops.alloc = backend_cpu.alloc;
    struct changed others[] = {{.queue = helpers[0]}, {.queue = helpers[2]}};
    change(helpers[0], &others[0]);
    change(helpers[2], &others[1]);
    home.ops.copy_across = odd.ops.copy_across = lose_a_byte;
    others[0].ops.copy_across = others[1].ops.copy_across = lose_a_byte;
    expect_two("does not come back as it was");
    change_back(&others[0]);
    change_back(&others[1]);
    change_back(&odd);
    change_back(&home);
}

/* --- memory ----------------------------------------------------------------------------------- */

static size_t at_home, at_helper;

static enum status count_alloc(struct queue *q, size_t bytes, struct span *out)
{
    *(q == under_test_queue ? &at_home : &at_helper) += bytes;
    return backend_cpu.alloc(q, bytes, out);
}

TEST(panels_take_the_memory_that_they_say)
{
    if (!under_test_is_cpu()) {
        skip();
    }
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; ++k) {
        const struct rows c = {.n_series = shapes[k].n_series,
                               .n_samples = shapes[k].n_samples,
                               .panel = shapes[k].panel,
                               .precision = k % 2 == 0 ? PEARSON_EXACT : PEARSON_F32};
        const struct panels_config config_of = config(&c);
        struct queue *queue = helpers[0];
        struct panels *shared;
        struct changed home;
        size_t n = 1;
        at_home = at_helper = 0;
        change(under_test_queue, &home);
        home.ops.alloc = count_alloc;
        ASSERT_OK(panels_open(&config_of, &queue, &n, &shared));
        panels_close(shared);
        change_back(&home);
        assert_int_equal(at_helper, panels_helper_bytes(&config_of));
        assert_int_equal(at_home, panels_home_bytes(&config_of));
    }
}

static int make_queues(void **state)
{
    (void)state;
    for (size_t k = 0; k < MOST_HELPERS; ++k) {
        helpers[k] = under_test_queue_new(k + 1);
    }
    return 0;
}

static int free_queues(void **state)
{
    (void)state;
    for (size_t k = 0; k < MOST_HELPERS; ++k) {
        under_test_ops()->queue_free(helpers[k]);
    }
    return 0;
}

int main(void)
{
    return UNDER_TEST_RUN(make_queues, free_queues);
}
