/*
 * case_lags - of every pair of series the lag of the largest |r|, by lags_find: the series are on
 * the backend, and r at lag 0 is there.
 *
 * The floor is a product of all series with all for each lag above 0, at the rate of the machine's
 * own matrix product.
 */
#include "tests/bench/bench.h"

#include "kernels/pearson/lags.h"
#include "kernels/philox/philox.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 32 };

struct lags_state {
    struct span x;
    struct room kept;
    struct correlation c;
    struct lags lags;
};

static void lags_close(struct bench *b, void *state)
{
    struct lags_state *const s = state;
    correlate_free(&s->c);
    room_free(&s->kept);
    b->backend->ops->release(b->queue, s->x);
    free(s);
}

static enum status lags_run(struct bench *b, void *state)
{
    struct lags_state *const s = state;
    (void)b;
    return lags_find(&s->lags);
}

/* Series 0 and j; both: [2][n_samples]. */
static enum status check_pair(struct bench *b, struct lags_state *s, size_t j, double *both)
{
    const size_t n = s->c.request.n_samples, row = n * sizeof *both;
    double got, best = 0;
    int best_lag = 0;
    STATUS_TRY(b->backend->ops->download(b->queue, both, s->x, row));
    STATUS_TRY(b->backend->ops->download(b->queue, both + n, span_from(s->x, j * row), row));
    STATUS_TRY(b->backend->ops->matrix->condensed(b->queue, &s->lags.r, j - 1, 1, &got));
    for (int lag = -MOST; lag <= MOST; lag++) {
        const double r = bench_r(both + (lag < 0 ? -lag : 0), both + n + (lag > 0 ? lag : 0),
                                 n - (size_t)abs(lag));
        best_lag = fabs(r) > fabs(best) ? lag : best_lag;
        best = fabs(r) > fabs(best) ? r : best;
    }
    return fabs(got - best) <= pearson_bound(PEARSON_EXACT, false)
               ? STATUS_OK
               : status_fail(STATUS_INTERNAL, "series 0 and %zu: best r %.17g, not %.17g at %d", j,
                             got, best, best_lag);
}

static enum status lags_check(struct bench *b, struct lags_state *s)
{
    const size_t last = s->c.request.n_series - 1, chosen[] = {1, last / 2, last};
    double *const both = malloc(2 * s->c.request.n_samples * sizeof *both);
    enum status code = both != NULL ? lags_run(b, s) : status_fail(STATUS_NO_MEMORY, "no memory");
    for (size_t k = 0; k < 3 && code == STATUS_OK; k++) {
        code = check_pair(b, s, chosen[k], both);
    }
    free(both);
    return code;
}

static enum status make(struct bench *b, struct lags_state *s)
{
    const struct philox_walk walk = {.seed = 11, .start = 100, .epsilon = 0.01};
    const struct correlate_request *const q = &s->c.request;
    const struct series_rows x = {s->x, DTYPE_F64, q->n_series, q->n_samples, 0, 0};
    struct span there;
    STATUS_TRY(b->backend->ops->philox->walk_rows(b->queue, &walk, &x));
    STATUS_TRY(correlate_next(&s->c, &there));
    STATUS_TRY(correlate_take(&s->c, there, q->n_series));
    STATUS_TRY(correlate_end(&s->c));
    STATUS_TRY(lags_room(&s->lags, &s->kept));
    return lags_check(b, s);
}

static enum status lags_open(struct bench *b, const struct bench_case *c, struct bench_work *work,
                             void **state)
{
    const size_t n = b->smoke  ? 33
                     : b->cuda ? 1024
                               : 256,
                 n_samples = b->smoke  ? 257
                             : b->cuda ? 65536
                                       : 8192;
    const struct room room = {.queue = b->queue};
    struct lags_state *const s = calloc(1, sizeof *s);
    (void)c;
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    s->kept = room;
    s->c = (struct correlation){.queue = b->queue,
                                .kept = &s->kept,
                                .standard = room,
                                .work = room,
                                .exact = room,
                                .growing = room,
                                .request = {.precision = PEARSON_EXACT,
                                            .type = DTYPE_F64,
                                            .n_series = n,
                                            .n_samples = n_samples,
                                            .panel = n,
                                            .keep = true,
                                            .given = true}};
    s->lags = (struct lags){.c = &s->c, .first = -MOST, .last = MOST};
    enum status code = b->backend->ops->alloc(b->queue, n * n_samples * sizeof(double), &s->x);
    s->c.given = s->x;
    code = code == STATUS_OK ? make(b, s) : code;
    if (code != STATUS_OK) {
        lags_close(b, s);
        return code;
    }
    *state = s;
    work->flops = 2.0 * MOST * (double)n * (double)n * (double)n_samples;
    work->floor_of = "FP64 product";
    work->floor_s = b->ceilings.f64_flop_s > 0 ? work->flops / b->ceilings.f64_flop_s : 0;
    work->mark_s = b->cuda && !b->smoke ? 90e-3 : 0;
    return STATUS_OK;
}

const struct bench_case bench_lags_cases[] = {
    {.name = "pearson_lags",
     .what = "the best lag of -32 to 32 of all pairs of 1024 series of 65536 (CPU: 256, 8192) f64",
     .backends = BENCH_CPU | BENCH_CUDA,
     .by_device = true,
     .open = lags_open,
     .run = lags_run,
     .close = lags_close},
    {0},
};
