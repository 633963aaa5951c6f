/*
 * library_correlate - series in memory to their coefficients.
 *
 * All series are on the backend while they are correlated: on the CPU where the program has them,
 * if their rows lie together; the program's memory of a device, if it is aligned as kernels want
 * it; else copies.
 */
#include "formats/base/sizes.h"
#include "kernels/pearson/lags.h"
#include "kernels/pearson/pearson_pairs.h"
#include "pipeline/library/library_context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_PAIRS = 1 << 24,
    MOST_SERIES = 1 << 24,
    MOST_LAG = 1 << 20,
    DEFAULT_MIN_SAMPLES = 3,
    ALIGN = 256,
    MOST_STRIP = 1 << 18
};
/* Of the work: what is done before gaps are known. */
static const double share_of_products = 0.5;

/* A call. */
struct call {
    struct leat_context *context;
    const struct leat_array *from;
    struct leat_correlate_options options;
    struct correlation c;
    struct room room;
    enum dtype type;
    struct span x;     /* all series, or room for them */
    struct span ranks; /* of a panel's, where they are what is correlated */
    struct span there; /* in the device's memory, from where they are copied */
    float *strip;      /* of coefficients or lags, where these are floats and wanted otherwise */
    bool lagged;
    struct lags lags;
    struct moments stats; /* on the host */
    struct matrix_survey survey;
};

static size_t series_bytes(const struct call *k)
{
    return k->from->columns * dtype_bytes(k->type);
}

static bool is_in_place(const struct call *k, struct span *x)
{
    const struct leat_array *const from = k->from;
    const bool together = library_stride(from) == series_bytes(k);
    *x = (struct span){(void *)(uintptr_t)from->data, from->rows * library_stride(from)};
    return from->memory == LEAT_DEVICE_MEMORY
               ? (uintptr_t)k->there.at % ALIGN == 0
               : together && k->context->backend->ops == &backend_cpu;
}

/* Coefficients, or lags, that come as floats, at a time. */
static size_t strip_of(const struct call *k)
{
    const uint64_t n = matrix_n_pairs(k->c.request.n_series);
    const bool r = k->c.request.precision == PEARSON_F32 && !k->options.without_r;
    return !r && !k->lagged ? 0 : n < MOST_STRIP ? (size_t)n : MOST_STRIP;
}

/* What lags take more. Their working memory takes the place of the standard form. */
static enum status lags_take(struct call *k, struct room *room)
{
    struct room work = {0};
    k->c.n_taken = k->c.request.n_series;
    STATUS_TRY(lags_room(&k->lags, room));
    STATUS_TRY(lags_count(&k->lags, &work));
    room_count(room, work.host, 0);
    room_count(&k->c.standard, 0,
               greater(work.backend, k->c.standard.backend) - k->c.standard.backend);
    return STATUS_OK;
}

/* All memory, but for results: counted, or taken. */
static enum status all_room(struct call *k, struct room *room)
{
    struct correlation *const c = &k->c;
    const size_t n = c->request.n_series;
    const struct room none = {.queue = room->queue};
    struct matrix_pair *pairs;
    c->kept = room;
    c->standard = c->work = c->exact = c->growing = none;
    k->lags.c = c;
    STATUS_TRY(is_in_place(k, &k->x) ? STATUS_OK : room_span(room, n, series_bytes(k), &k->x));
    if (c->request.ranks) {
        const struct correlate_request *const q = &c->request;
        STATUS_TRY(room_span(room, q->panel, correlate_x_bytes(c), &k->ranks));
        room_count(room, 0,
                   c->queue->backend->ops->pearson->rank_bytes(c->queue, q->panel, q->n_samples));
    }
    STATUS_TRY(room_host(room, moments_bytes(n), 1, &k->stats.at.at));
    STATUS_TRY(room_host(room, strip_of(k), sizeof *k->strip, &k->strip));
    if (room->queue != NULL) {
        return STATUS_OK; /* the rest is taken as it is needed */
    }
    STATUS_TRY(correlate_count(c));
    STATUS_TRY(correlate_panels(c, n));
    STATUS_TRY(k->lagged ? lags_take(k, room) : STATUS_OK);
    STATUS_TRY(room_host(room, pearson_pairs_held(k->options.top, matrix_n_pairs(n)),
                         2 * sizeof *pairs, &pairs));
    room_count(room, c->work.host + c->growing.host, c->standard.backend + c->work.backend);
    room_count(room, 0, c->exact.backend + c->growing.backend);
    return STATUS_OK;
}

/* --- coefficients ----------------------------------------------------------------------------- */

/* Brings the next n series, to x. */
static enum status bring(struct call *k, struct span x, size_t n)
{
    struct leat_context *const ctx = k->context;
    const struct backend_ops *const ops = ctx->backend->ops;
    const size_t bytes = series_bytes(k), stride = library_stride(k->from);
    const size_t first = k->c.n_taken;
    struct span in_place;
    uint64_t ticket = 0;
    if (is_in_place(k, &in_place)) {
        return STATUS_OK;
    }
    if (k->from->memory == LEAT_DEVICE_MEMORY) {
        return ops->copy(ctx->queue, x, span_from(k->there, first * bytes), n * bytes);
    }
    const size_t at_once = stride == bytes ? n : 1;
    for (size_t i = 0; i < n; i += at_once) {
        STATUS_TRY(ops->upload(ctx->queue, span_from(x, i * bytes),
                               (const char *)k->from->data + (first + i) * stride, at_once * bytes,
                               &ticket));
    }
    return ops->upload_wait(ctx->queue, ticket);
}

/* What is correlated of n series at *x. */
static enum status derive(struct call *k, struct span *x, size_t n)
{
    const struct series_rows rows = {
        .at = *x, .type = k->type, .n_series = n, .n_samples = k->from->columns};
    if (!k->c.request.ranks) {
        return STATUS_OK;
    }
    *x = k->ranks;
    return k->context->backend->ops->pearson->rank_rows(k->c.queue, &rows, k->ranks);
}

static enum status multiply(struct call *k)
{
    struct correlation *const c = &k->c;
    const size_t all = c->request.n_series;
    c->given = c->request.given ? k->x : (struct span){0};
    while (c->n_taken < all) {
        const size_t left = all - c->n_taken, n = left < c->request.panel ? left : c->request.panel;
        const double share = (double)c->n_taken / (double)all; /* of the side of a triangle */
        struct span unused, x = span_from(k->x, c->n_taken * series_bytes(k));
        STATUS_TRY(library_progress(k->context, share_of_products * share * share));
        STATUS_TRY(correlate_next(c, &unused));
        STATUS_TRY(bring(k, x, n));
        STATUS_TRY(derive(k, &x, n));
        STATUS_TRY(correlate_take(c, x, n));
    }
    return correlate_end(c);
}

static enum status tell(void *context, double share)
{
    const struct call *const k = context;
    return library_progress(k->context, share_of_products + (1 - share_of_products) * share);
}

/* Moments come to the host. */
static enum status check_series(struct call *k, bool *has_gaps)
{
    struct correlation *const c = &k->c;
    const size_t n = c->request.n_series;
    k->stats = (struct moments){{k->stats.at.at, moments_bytes(n)}, n, c->moments.min_samples};
    *has_gaps = false;
    STATUS_TRY(k->context->backend->ops->download(c->queue, k->stats.at.at, c->moments.at,
                                                  k->stats.at.bytes));
    for (size_t s = 0; s < n; s++) {
        const double min = moments_array(k->stats, MOMENTS_MIN)[s];
        const double max = moments_array(k->stats, MOMENTS_MAX)[s];
        if (isinf(min) || isinf(max)) {
            return status_fail(STATUS_BAD_INPUT,
                               "row %zu (the first is 0) has infinite samples; give NaN where one "
                               "is missing",
                               s);
        }
        if (!(moments_array(k->stats, MOMENTS_M2)[s] <= MOMENTS_MOST_M2)) {
            return status_fail(STATUS_BAD_INPUT,
                               "row %zu (the first is 0) has samples too large to be squared (%g "
                               "to %g); scale it down",
                               s, min, max);
        }
        *has_gaps |= moments_array(k->stats, MOMENTS_COUNT)[s] < (double)c->request.n_samples;
        if (*has_gaps && k->lagged) {
            return status_fail(STATUS_BAD_INPUT,
                               "row %zu (the first is 0) has missing samples, and lags are of "
                               "complete series; fill them in",
                               s);
        }
    }
    return STATUS_OK;
}

static enum status compute(struct call *k)
{
    uint64_t n_unsure = 0; /* none: all series stay */
    bool has_gaps;
    STATUS_TRY(multiply(k));
    STATUS_TRY(check_series(k, &has_gaps));
    k->c.pause = tell;
    k->c.context = k;
    STATUS_TRY(has_gaps ? correlate_gaps(&k->c, moments_array(k->stats, MOMENTS_COUNT), &n_unsure)
                        : STATUS_OK);
    if (k->lagged) {
        STATUS_TRY(lags_room(&k->lags, k->c.kept));
        STATUS_TRY(lags_find(&k->lags));
    }
    return tell(k, 1);
}

/* --- results ---------------------------------------------------------------------------------- */

static enum status put_pairs(struct call *k, const struct matrix *m,
                             struct leat_correlate_result *r)
{
    const uint64_t defined = k->survey.n_pairs - k->survey.n_undefined;
    struct pearson_wanted wanted = {.top =
                                        k->options.top < defined ? k->options.top : (size_t)defined,
                                    .most = MOST_PAIRS,
                                    .queue = k->c.queue,
                                    .moments = k->c.moments};
    struct matrix_pair *pairs;
    if (wanted.top == 0) {
        return STATUS_OK;
    }
    if (k->c.request.precision != PEARSON_EXACT) {
        wanted.bound = pearson_bound(k->c.request.precision, false);
        STATUS_TRY(correlate_series(&k->c, &wanted.x));
    }
    STATUS_TRY(pearson_pairs_find(k->c.queue, m, &wanted, &pairs, &r->n_pairs));
    r->pairs = malloc((r->n_pairs + 1) * sizeof *r->pairs);
    for (size_t i = 0; i < r->n_pairs && r->pairs != NULL; i++) {
        r->pairs[i] = (struct leat_pair){.i = pairs[i].i, .j = pairs[i].j, .r = pairs[i].r};
    }
    free(pairs);
    return r->pairs != NULL ? STATUS_OK
                            : status_fail(STATUS_NO_MEMORY, "no memory for %zu pairs", r->n_pairs);
}

static enum status put_r(struct call *k, const struct matrix *m, struct leat_correlate_result *r)
{
    const struct matrix_kernels *const kernels = k->context->backend->ops->matrix;
    const uint64_t all = matrix_n_pairs(m->n_series);
    r->r = k->options.without_r ? NULL : malloc((all + 1) * sizeof *r->r);
    if (r->r == NULL) {
        return k->options.without_r ? STATUS_OK
                                    : status_fail(STATUS_NO_MEMORY, "no memory for r of %llu pairs",
                                                  (unsigned long long)all);
    }
    if (m->type == DTYPE_F64) {
        return kernels->condensed(k->c.queue, m, 0, all, r->r);
    }
    const size_t strip = strip_of(k);
    for (uint64_t first = 0; first < all; first += strip) {
        const size_t n = all - first < strip ? (size_t)(all - first) : strip;
        STATUS_TRY(kernels->condensed(k->c.queue, m, first, n, k->strip));
        for (size_t i = 0; i < n; i++) {
            r->r[first + i] = (double)k->strip[i];
        }
    }
    return STATUS_OK;
}

static enum status put_lags(struct call *k, struct leat_correlate_result *r)
{
    const struct matrix *const m = &k->lags.lag;
    const uint64_t all = matrix_n_pairs(m->n_series);
    const size_t strip = strip_of(k);
    r->lag = malloc((all + 1) * sizeof *r->lag);
    if (r->lag == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the lags of %llu pairs",
                           (unsigned long long)all);
    }
    for (uint64_t first = 0; first < all; first += strip) {
        const size_t n = all - first < strip ? (size_t)(all - first) : strip;
        STATUS_TRY(k->context->backend->ops->matrix->condensed(k->c.queue, m, first, n, k->strip));
        for (size_t i = 0; i < n; i++) {
            r->lag[first + i] = (int32_t)k->strip[i];
        }
    }
    return STATUS_OK;
}

/* All fields of the moments are one piece of memory, which begins with `count`. */
static enum status put_moments(struct call *k, struct leat_correlate_result *r)
{
    const size_t n = k->c.request.n_series;
    double **const fields[MOMENTS_FIELDS] = {&r->count, &r->mean, &r->m2,
                                             &r->min,   &r->max,  &r->lag1};
    r->count = malloc(moments_bytes(n));
    r->median_abs = malloc(n * sizeof *r->median_abs);
    if (r->count == NULL || r->median_abs == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the moments of %zu series", n);
    }
    memcpy(r->count, k->stats.at.at, moments_bytes(n));
    for (size_t f = 1; f < MOMENTS_FIELDS; f++) {
        *fields[f] = r->count + f * n;
    }
    r->n_series = n;
    r->n_samples = k->c.request.n_samples;
    return STATUS_OK;
}

static enum status put_all(struct call *k, struct leat_correlate_result *r)
{
    const struct matrix m = k->lagged ? k->lags.r : correlate_matrix(&k->c);
    double median_abs_all;
    STATUS_TRY(put_moments(k, r));
    STATUS_TRY(k->context->backend->ops->matrix->survey(k->c.queue, &m, &k->survey, r->median_abs,
                                                        &median_abs_all));
    r->n_undefined = k->survey.n_undefined;
    STATUS_TRY(put_pairs(k, &m, r));
    STATUS_TRY(k->lagged ? put_lags(k, r) : STATUS_OK);
    return put_r(k, &m, r);
}

/* --- the call --------------------------------------------------------------------------------- */

static enum status solve(struct call *k, struct leat_correlate_result *r)
{
    struct leat_context *const ctx = k->context;
    const struct leat_array *const from = k->from;
    struct call counted;
    struct room count = {0};
    if (from->memory == LEAT_DEVICE_MEMORY) {
        STATUS_TRY(library_borrow(ctx, from->data, from->rows * from->columns, dtype_bytes(k->type),
                                  from->stream, &k->there));
    }
    counted = *k;
    STATUS_TRY(all_room(&counted, &count));
    STATUS_TRY(library_may_take(ctx, &count));
    STATUS_TRY(library_products(ctx));
    k->room.queue = ctx->queue;
    enum status st = all_room(k, &k->room);
    st = st == STATUS_OK ? compute(k) : st;
    st = st == STATUS_OK ? put_all(k, r) : st;
    correlate_free(&k->c);
    room_free(&k->room);
    return st;
}

/* NULL: nothing is. */
static const char *what_is_wrong(const struct leat_array *x, const struct leat_correlate_options *o)
{
    if (!library_is_array(x) || x->rows < 2 || x->rows > MOST_SERIES || x->columns < 2 ||
        x->columns > PEARSON_SAMPLES_MAX) {
        return "x: give LEAT_F8 or LEAT_F4, rows that do not overlap, 2 to 2^24 of them, of 2 to "
               "2^31 - 4096 samples";
    }
    if (o->method > LEAT_SPEARMAN || o->precision > LEAT_F32) {
        return "method, precision: give one of their values";
    }
    if (o->min_samples == 1 || o->top > MOST_PAIRS) {
        return "min_samples, top: give 2 or more, and at most 2^24";
    }
    if (o->lag_first > o->lag_last || o->lag_first < -MOST_LAG || o->lag_last > MOST_LAG) {
        return "lags: give the smaller one first, from -2^20 to 2^20";
    }
    const size_t most = lags_most(o->lag_first, o->lag_last),
                 least = o->min_samples > 0 ? o->min_samples : DEFAULT_MIN_SAMPLES;
    if (most > 0 && (x->columns < most || x->columns - most < least)) {
        return "lags: they leave fewer than min_samples samples; give smaller ones";
    }
    if (most > 0 && o->method == LEAT_SPEARMAN) {
        return "lags are not sought of ranks: give LEAT_PEARSON, or no lags";
    }
    return NULL;
}

enum leat_status leat_correlate(struct leat_context *c, const struct leat_array *x,
                                const struct leat_correlate_options *options,
                                struct leat_correlate_result **out)
{
    struct leat_correlate_options o = LEAT_CORRELATE_DEFAULTS;
    if (out == NULL) {
        return library_refuse(c, "out: give where the result goes");
    }
    *out = NULL;
    const char *wrong =
        options != NULL ? library_options(&o, sizeof o, options, options->size) : NULL;
    wrong = wrong != NULL ? wrong : what_is_wrong(x, &o);
    if (wrong != NULL) {
        return library_refuse(c, wrong);
    }
    const bool ranks = o.method == LEAT_SPEARMAN, lagged = o.lag_first != 0 || o.lag_last != 0,
               f32 = o.precision == LEAT_F32 && !ranks && !lagged;
    const enum dtype type = x->type == LEAT_F4 ? DTYPE_F32 : DTYPE_F64;
    struct call k = {
        .context = c,
        .from = x,
        .options = o,
        .type = type,
        .lagged = lagged,
        .lags = {.first = o.lag_first, .last = o.lag_last},
        .c = {.queue = c->queue,
              .request = {.precision = f32 ? PEARSON_F32 : PEARSON_EXACT,
                          .type = ranks ? DTYPE_F64 : type,
                          .n_series = x->rows,
                          .n_samples = x->columns,
                          .panel = correlate_panel_of_given(x->rows, x->columns),
                          .keep = !ranks,
                          .given = !ranks,
                          .ranks = ranks,
                          .gaps = true},
              .moments.min_samples = o.min_samples > 0 ? o.min_samples : DEFAULT_MIN_SAMPLES}};
    struct leat_correlate_result *r = calloc(1, sizeof *r);
    enum status st =
        r != NULL ? solve(&k, r) : status_fail(STATUS_NO_MEMORY, "no memory for a result");
    if (st != STATUS_OK) {
        leat_correlate_free(r);
        r = NULL;
    }
    *out = r;
    return library_end(c, st);
}

void leat_correlate_free(struct leat_correlate_result *r)
{
    if (r != NULL) {
        free(r->count);
        free(r->median_abs);
        free(r->r);
        free(r->pairs);
        free(r->lag);
        free(r);
    }
}
