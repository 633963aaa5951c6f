/*
 * case_bands - one landslide by all devices of the host, beside the same on one; where there is one
 * device, or none, by two members on it, which shows what the bands themselves cost.
 *
 * Debris lies on every other square of 64 x 64 cells: of the whole map, or of its top quarter. Both
 * runs are compared bit for bit. Marks: two and four H200.
 */
#include "tests/bench/members.h"
#include "tests/bench/slide.h"

#include <stdlib.h>
#include <string.h>

enum { HEAP = 64 };

struct bands_variant {
    size_t side;
    unsigned part; /* debris lies in one of so many parts of the rows, the first */
    uint64_t n_steps;
    double mark_s[2], mark_ratio[2]; /* of two devices, of four */
};

struct bands_state {
    struct slide slide;
    uint64_t n_steps;
    struct members members;
    struct bands *bands;
    double *h[2];
};

static void forget_bands(struct bands_state *s)
{
    bands_close(s->bands);
    s->bands = NULL;
}

static enum status begin(struct bench *b, struct bands_state *s, size_t n_members)
{
    const struct bands_config c = {.home = b->queue, .executor = b->executor};
    const struct bands_input in = {s->slide.z, s->slide.h, NULL};
    size_t n = n_members - 1;
    forget_bands(s);
    enum status code = bands_open(&c, &s->slide.p, &in, &s->bands);
    if (code == STATUS_OK) {
        code = bands_spread(s->bands, s->members.queues + 1, &n, &in);
    }
    if (code != STATUS_OK) {
        return code;
    }
    return 1 + n == n_members
               ? b->backend->ops->finish(b->queue)
               : status_fail(STATUS_INTERNAL, "%zu of %zu members", 1 + n, n_members);
}

static enum status bands_prepare(struct bench *b, void *state)
{
    struct bands_state *s = state;
    return begin(b, s, s->members.n);
}

static enum status bands_run(struct bench *b, void *state)
{
    struct bands_state *s = state;
    struct sciddicat_report report;
    (void)b;
    return bands_advance(s->bands, s->n_steps, &report);
}

static enum status bands_peer(struct bench *b, void *state, double *seconds)
{
    const enum status code = begin(b, state, 1);
    const double start = bench_now_s();
    const enum status run = code == STATUS_OK ? bands_run(b, state) : code;
    *seconds = bench_now_s() - start;
    return run;
}

static void bands_case_close(struct bench *b, void *state)
{
    struct bands_state *s = state;
    forget_bands(s);
    members_close(b, &s->members);
    slide_free(&s->slide);
    free(s->h[0]);
    free(s->h[1]);
    free(s);
}

static enum status bands_check(struct bench *b, struct bands_state *s)
{
    for (size_t i = 0; i < 2; i++) {
        STATUS_TRY(begin(b, s, i == 0 ? 1 : s->members.n));
        STATUS_TRY(bands_run(b, s));
        STATUS_TRY(bands_state(s->bands, s->h[i], NULL, NULL));
    }
    return memcmp(s->h[0], s->h[1], slide_cells(&s->slide) * sizeof(double)) == 0
               ? STATUS_OK
               : status_fail(STATUS_INTERNAL, "the thickness by %zu members differs", s->members.n);
}

static enum status make_map(struct bands_state *s, const struct bands_variant *v, bool smoke)
{
    const size_t side = smoke ? v->side / 8 : v->side;
    STATUS_TRY(slide_new(side, side, 5e-4, 1, &s->slide));
    s->n_steps = smoke ? 40 : v->n_steps;
    for (size_t i = 0; i + HEAP <= side / v->part; i += HEAP) {
        for (size_t j = i % ((size_t)2 * HEAP); j + HEAP <= side; j += (size_t)2 * HEAP) {
            slide_heap(&s->slide, i, j, HEAP);
        }
    }
    s->h[0] = malloc(slide_cells(&s->slide) * sizeof(double));
    s->h[1] = malloc(slide_cells(&s->slide) * sizeof(double));
    return s->h[0] != NULL && s->h[1] != NULL
               ? STATUS_OK
               : status_fail(STATUS_NO_MEMORY, "no memory for %zu cells", slide_cells(&s->slide));
}

static enum status bands_case_open(struct bench *b, const struct bench_case *c,
                                   struct bench_work *work, void **state)
{
    const struct bands_variant *v = c->variant;
    struct bands_state *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    enum status code = make_map(s, v, b->smoke);
    if (code == STATUS_OK) {
        code = members_open(b, &s->members);
    }
    if (code == STATUS_OK) {
        code = bands_check(b, s);
    }
    if (code != STATUS_OK) {
        bands_case_close(b, s);
        return code;
    }
    work->items = (double)s->n_steps;
    work->item_name = "steps";
    const size_t n_devices = s->members.n_devices;
    if (!b->smoke && (n_devices == 2 || n_devices == 4)) {
        work->mark_s = v->mark_s[n_devices / 4];
        work->mark_ratio = v->mark_ratio[n_devices / 4];
    }
    members_note(&s->members, work);
    *state = s;
    return STATUS_OK;
}

static const struct bands_variant medium = {4096, 1, 200, {60e-3, 34e-3}, {0}},
                                  large = {8192, 1, 200, {225e-3, 118e-3}, {0}},
                                  largest = {16384, 1, 48, {0}, {1.95, 3.8}},
                                  quarter = {8192, 4, 200, {0}, {1.7, 3}},
                                  small = {1024, 1, 40, {0}, {0}};

#define BANDS_CASE                                                                                 \
    .open = bands_case_open, .prepare = bands_prepare, .run = bands_run,                           \
    .close = bands_case_close, .peer_name = "one member", .peer = bands_peer

const struct bench_case bench_bands_cases[] = {
    {.name = "bands_4096",
     .what = "200 steps of debris on half of 4096 x 4096 cells by all devices",
     .backends = BENCH_CUDA,
     .variant = &medium,
     BANDS_CASE},
    {.name = "bands_8192",
     .what = "the same of 8192 x 8192 cells",
     .backends = BENCH_CUDA,
     .variant = &large,
     BANDS_CASE},
    {.name = "bands_16384",
     .what = "48 steps of 16384 x 16384 cells",
     .backends = BENCH_CUDA,
     .variant = &largest,
     BANDS_CASE},
    {.name = "bands_quarter",
     .what = "200 steps of 8192 x 8192 cells, all debris in the top quarter",
     .backends = BENCH_CUDA,
     .variant = &quarter,
     BANDS_CASE},
    {.name = "bands_1024",
     .what = "40 steps of debris on half of 1024 x 1024 cells by two members",
     .backends = BENCH_CPU,
     .variant = &small,
     BANDS_CASE},
    {0},
};
