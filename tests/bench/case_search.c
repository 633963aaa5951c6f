/*
 * case_search - the pairs over a threshold among many series whose matrix is not held: from series
 * on the backend to a list that is exact. Increments of walks, and a few series that are sums of
 * another and noise. Memory is what the job of a file would plan, and the input.
 */
#include "tests/bench/bench.h"

#include "kernels/pearson/correlate.h"
#include "kernels/pearson/pearson_pairs.h"
#include "kernels/philox/philox.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLANTED = 200 };
static const double threshold = 0.9;

struct search_variant {
    size_t n;
    double mark_s; /* on one H200 */
};

struct search_state {
    const struct search_variant *v;
    size_t n_series, n_samples;
    struct span x;
    struct correlation c;
    struct room rooms[2];
    struct pearson_wanted wanted;
    struct pearson_basket basket;
    uint64_t n_undefined;
    double held_bytes;
};

static void search_close(struct bench *b, void *state)
{
    struct search_state *s = state;
    b->backend->ops->release(b->queue, s->x);
    free(s->basket.pairs);
    free(s);
}

static enum status look_at(void *context, struct queue *q, const struct matrix *band)
{
    struct search_state *s = context;
    struct matrix_survey survey;
    struct matrix m = *band;
    double unused, most[1024];
    m.most = m.n_series - m.first <= sizeof most / sizeof *most ? most : NULL;
    enum status code = q->backend->ops->matrix->survey(q, &m, &survey, NULL, &unused);
    s->n_undefined += survey.n_undefined;
    return code == STATUS_OK ? pearson_basket_add(&s->basket, q, &m) : code;
}

static enum status take_all(struct bench *b, struct search_state *s)
{
    struct correlation *c = &s->c;
    struct span x;
    uint64_t n_unsure = 0;
    enum status code = STATUS_OK;
    for (size_t n; code == STATUS_OK && c->n_taken < s->n_series;) {
        n = c->request.panel < s->n_series - c->n_taken ? c->request.panel
                                                        : s->n_series - c->n_taken;
        code = correlate_next(c, &x);
        code = code == STATUS_OK ? correlate_take(c, x, n) : code;
    }
    s->wanted.moments = c->moments;
    code = code == STATUS_OK ? correlate_end(c) : code;
    code = code == STATUS_OK ? correlate_series(c, &s->wanted.x) : code;
    code = code == STATUS_OK ? correlate_sweep(c, NULL, &n_unsure, look_at, s) : code;
    s->held_bytes = (double)(c->standard.backend + c->work.backend + c->growing.backend);
    (void)b;
    return code == STATUS_OK ? pearson_basket_end(&s->basket) : code;
}

static enum status search_run(struct bench *b, void *state)
{
    struct search_state *s = state;
    const struct room room = {.queue = b->queue};
    struct room kept = room;
    const size_t n = s->n_series;
    free(s->basket.pairs);
    s->wanted = (struct pearson_wanted){.threshold = threshold,
                                        .most = (size_t)1 << 24,
                                        .cure = "",
                                        .bound = pearson_bound(PEARSON_F32, false),
                                        .queue = b->queue};
    s->basket = (struct pearson_basket){.wanted = &s->wanted};
    s->n_undefined = 0;
    s->c =
        (struct correlation){.queue = b->queue,
                             .request = {.precision = PEARSON_F32,
                                         .type = DTYPE_F64,
                                         .n_series = n,
                                         .n_samples = s->n_samples,
                                         .panel = correlate_panel_of_sweep(
                                             b->queue, correlate_panel(n, false, s->n_samples), n),
                                         .keep = true,
                                         .given = true,
                                         .alone = true},
                             .given = s->x,
                             .moments = {.min_samples = 3},
                             .kept = &kept,
                             .standard = room,
                             .work = room,
                             .exact = room,
                             .growing = room};
    enum status code = take_all(b, s);
    correlate_free(&s->c);
    room_free(&kept);
    return code;
}

static enum status bring(struct bench *b, const struct search_state *s, size_t series, double *to)
{
    const size_t row = s->n_samples * sizeof *to;
    return b->backend->ops->download(b->queue, to, span_from(s->x, series * row), row);
}

/* Series 2 k + 1 of the first PLANTED pairs, spread over all, becomes that before it and a third as
 * much noise: r of about 0.95. */
static enum status plant(struct bench *b, const struct search_state *s, double *two)
{
    const size_t n = s->n_samples, row = n * sizeof *two;
    enum status code = STATUS_OK;
    for (size_t k = 0; k < PLANTED && code == STATUS_OK; k++) {
        const size_t at = k * (s->n_series / 2) / PLANTED, other = s->n_series - 1 - at;
        uint64_t ticket;
        code = bring(b, s, at, two);
        code = code == STATUS_OK ? bring(b, s, other, two + n) : code;
        for (size_t t = 0; t < n; t++) {
            two[n + t] = two[t] + two[n + t] / 3;
        }
        const struct span to = span_from(s->x, other * row);
        code =
            code == STATUS_OK ? b->backend->ops->upload(b->queue, to, two + n, row, &ticket) : code;
        code = code == STATUS_OK ? b->backend->ops->upload_wait(b->queue, ticket) : code;
    }
    return code;
}

static enum status search_check(struct bench *b, struct search_state *s, double *two)
{
    enum status code = search_run(b, s);
    if (code == STATUS_OK && (s->basket.n < PLANTED / 2 || s->n_undefined > 0)) {
        code = status_fail(STATUS_INTERNAL, "%zu pairs are found", s->basket.n);
    }
    for (size_t k = 0; k < s->basket.n && code == STATUS_OK; k++) {
        const struct matrix_pair *p = &s->basket.pairs[k];
        code = bring(b, s, p->i, two);
        code = code == STATUS_OK ? bring(b, s, p->j, two + s->n_samples) : code;
        const double want = bench_r(two, two + s->n_samples, s->n_samples);
        if (code == STATUS_OK && !(fabs(p->r - want) <= pearson_bound(PEARSON_EXACT, false))) {
            code = status_fail(STATUS_INTERNAL, "r(%u, %u) is %.17g, not %.17g", p->i, p->j, p->r,
                               want);
        }
    }
    return code;
}

static enum status search_fill(struct bench *b, struct search_state *s, double *two)
{
    const struct backend_ops *ops = b->backend->ops;
    const struct philox_walk walk = {.seed = 11, .start = 100, .epsilon = 0.01};
    const size_t rows = 4096, levels = s->n_samples + 1;
    struct span part;
    enum status code = ops->alloc(b->queue, rows * levels * sizeof(double), &part);
    for (size_t first = 0; first < s->n_series && code == STATUS_OK; first += rows) {
        const size_t n = rows < s->n_series - first ? rows : s->n_series - first;
        const struct series_rows x = {part, DTYPE_F64, n, levels, first, 0};
        code = ops->philox->walk_rows(b->queue, &walk, &x);
        const struct span to = span_from(s->x, first * s->n_samples * sizeof(double));
        code =
            code == STATUS_OK ? ops->pearson->diff_rows(b->queue, &x, PEARSON_DIFF_LOG, to) : code;
    }
    ops->release(b->queue, part);
    return code == STATUS_OK ? plant(b, s, two) : code;
}

static enum status search_open(struct bench *b, const struct bench_case *c, struct bench_work *work,
                               void **state)
{
    struct search_state *s = calloc(1, sizeof *s);
    double *two = malloc((size_t)2 * 1024 * sizeof *two);
    enum status code =
        s != NULL && two != NULL ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory");
    if (code == STATUS_OK) {
        s->v = c->variant;
        s->n_series = b->smoke ? 2500 : b->cuda ? s->v->n : s->v->n / 16;
        s->n_samples = b->smoke ? 130 : 1024;
        code = b->backend->ops->alloc(b->queue, s->n_series * s->n_samples * sizeof(double), &s->x);
    }
    code = code == STATUS_OK ? search_fill(b, s, two) : code;
    code = code == STATUS_OK ? search_check(b, s, two) : code;
    free(two);
    if (code != STATUS_OK) {
        if (s != NULL) {
            search_close(b, s);
        }
        return code;
    }
    *state = s;
    work->items = (double)matrix_n_pairs(s->n_series) * 1e-6;
    work->item_name = "million pairs";
    work->mark_s = b->cuda && !b->smoke ? s->v->mark_s : 0;
    snprintf(work->note, sizeof work->note, "%zu pairs listed, all exact; %.2f GB beside the input",
             s->basket.n, s->held_bytes * 1e-9);
    return STATUS_OK;
}

static const struct search_variant search_128k = {131072, 120e-3}, search_256k = {262144, 450e-3},
                                   search_512k = {524288, 0};

#define SEARCH_CASE(stem, text)                                                                    \
    {                                                                                              \
        .name = "pearson_" #stem, .what = (text), .backends = BENCH_CPU | BENCH_CUDA,              \
        .variant = &(stem), .open = search_open, .run = search_run, .close = search_close          \
    }

const struct bench_case bench_search_cases[] = {
    SEARCH_CASE(search_128k, "pairs over 0.9 among 131072 (CPU: 8192) series of 1024, no matrix"),
    SEARCH_CASE(search_256k, "the same among 262144 (CPU: 16384)"),
    SEARCH_CASE(search_512k, "the same among 524288 (CPU: 32768)"),
    {0},
};
