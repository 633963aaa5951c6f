/*
 * lags - see the header.
 *
 * Series are taken by groups, whose tails meet the heads of all. The tails are numbered after all
 * series where moments are. Products of two lags are under way at a time, so that those of few
 * series leave no multiprocessor idle.
 */
#include "kernels/pearson/lags.h"

#include "formats/base/sizes.h"

enum { GROUP = 2048 /* series whose tails are there at a time, or one panel */ };

struct working {
    struct series_rows x;
    struct pearson_overlaps at;        /* of the group's lag `least`, and serve further ones */
    struct span products[2], later[2]; /* of two lags in turn */
    size_t first;                      /* series of the group */
    size_t least;
    uint32_t unserved;
};

static bool has_lag(const struct lags *l, int lag)
{
    return l->first <= lag && lag <= l->last;
}

size_t lags_most(int first, int last)
{
    return (size_t)(-first > last ? -first : last);
}

static size_t lags_least(const struct lags *l)
{
    return (size_t)(l->first > 0 ? l->first : l->last < 0 ? -l->last : 1);
}

/* Series of a group: whole panels, but at the end. */
static size_t group_of(const struct lags *l)
{
    const size_t panel = l->c->request.panel, whole = GROUP / panel * panel;
    return lesser(greater(whole, panel), l->c->n_taken);
}

enum status lags_room(struct lags *l, struct room *kept)
{
    const size_t n = l->c->n_taken, panel = l->c->request.panel, n_panels = (n + panel - 1) / panel;
    struct span unused;
    STATUS_TRY(room_host(kept, 2 * n_panels, sizeof *l->panels, &l->panels));
    for (size_t k = 0; k < 2 * n_panels; k++) {
        const size_t p = k < n_panels ? k : k - n_panels, width = matrix_panel_width(p, panel, n);
        STATUS_TRY(room_span(kept, (width - p * panel) * width,
                             k < n_panels ? sizeof(double) : sizeof(float),
                             l->panels != NULL ? &l->panels[k] : &unused));
    }
    l->at_0 = correlate_matrix(l->c);
    l->r = l->lag = l->at_0;
    l->r.panels = l->panels;
    l->lag.panels = l->panels != NULL ? l->panels + n_panels : NULL;
    l->lag.type = DTYPE_F32;
    return STATUS_OK;
}

static enum status working_room(const struct lags *l, struct room *room, struct working *w)
{
    const size_t n = l->c->n_taken, group = group_of(l), z = correlate_z_bytes(l->c, PEARSON_EXACT);
    struct pearson_overlaps *const at = &w->at;
    at->moments = l->c->moments;
    at->moments.capacity = n + group;
    STATUS_TRY(room_span(room, n, z, &at->heads));
    STATUS_TRY(room_span(room, group, z, &at->tails));
    STATUS_TRY(
        room_span(room, PEARSON_LAGS_AT_ONCE * (n + group), sizeof(struct pearson_end), &at->ends));
    STATUS_TRY(room_span(room, 1, sizeof(uint32_t), &at->unserved));
    STATUS_TRY(room_span(room, 1, moments_bytes(n + group), &at->moments.at));
    for (int k = 0; k < 2; k++) {
        STATUS_TRY(room_span(room, group * n, sizeof(double), &w->products[k]));
        STATUS_TRY(
            room_span(room, group, z - l->c->request.n_samples * sizeof(double), &w->later[k]));
    }
    return STATUS_OK;
}

enum status lags_count(const struct lags *l, struct room *work)
{
    struct working w = {0};
    return working_room(l, work, &w);
}

/* Makes the standard form of n series, `first` and on, from sample `from` on; their moments are
 * from entry `entry` on. */
static enum status standard(const struct lags *l, const struct working *w, size_t first,
                            size_t from, size_t n, size_t entry, struct span z)
{
    const struct backend_ops *const ops = l->c->queue->backend->ops;
    const size_t skipped = first * w->x.n_samples + from;
    const struct series_rows part = {.at = span_from(w->x.at, skipped * dtype_bytes(w->x.type)),
                                     .type = w->x.type,
                                     .n_series = n,
                                     .n_samples = w->at.n_samples,
                                     .first = entry,
                                     .stride = w->x.n_samples};
    STATUS_TRY(ops->means->rows(l->c->queue, &part, w->at.moments));
    return ops->pearson->standardize(l->c->queue, PEARSON_EXACT, &part, w->at.moments, z);
}

/* The heads, and the tails of the group, of a lag, and how many further ones they serve. */
static enum status begin_lags(const struct lags *l, struct working *w, size_t lag)
{
    const struct backend_ops *const ops = l->c->queue->backend->ops;
    struct pearson_overlaps *const at = &w->at;
    at->n_samples = w->x.n_samples - lag;
    w->least = lag;
    STATUS_TRY(standard(l, w, 0, 0, at->n_heads, 0, at->heads));
    STATUS_TRY(standard(l, w, w->first, lag, at->n_tails, at->n_heads, at->tails));
    STATUS_TRY(ops->zero(l->c->queue, at->unserved));
    STATUS_TRY(ops->pearson->overlaps(l->c->queue, at));
    return ops->download(l->c->queue, &w->unserved, at->unserved, sizeof w->unserved);
}

static enum status multiply(const struct lags *l, const struct working *w, size_t lag)
{
    const struct pearson_overlaps *const at = &w->at;
    const struct pearson_panel product = {
        .precision = PEARSON_EXACT,
        .n_samples = at->n_samples,
        .lag = lag - w->least,
        .later = w->later[lag % 2],
        .a = {.z = at->tails, .first = at->n_heads, .n = at->n_tails},
        .b = {.z = at->heads, .n = at->n_heads},
        .moments = at->moments,
        .r = w->products[lag % 2],
        .width = at->n_heads};
    STATUS_TRY(queue_check(l->c->queue));
    return l->c->queue->backend->ops->pearson->gram(l->c->queue, &product);
}

/* What a product says of pairs with j in panel p: of those with i in the group; where j is, too, of
 * all. */
static enum status keep(const struct lags *l, const struct working *w, size_t lag, size_t p)
{
    const size_t width = matrix_panel_width(p, l->r.panel, l->r.n_series), j0 = p * l->r.panel;
    const bool all = j0 < w->first + w->at.n_tails;
    const struct pearson_lagged lagged = {.of = w->at,
                                          .further = lag - w->least,
                                          .products = w->products[lag % 2],
                                          .first = w->first,
                                          .lag = (int)lag,
                                          .minus = has_lag(l, -(int)lag),
                                          .plus = has_lag(l, (int)lag),
                                          .without_0 = !has_lag(l, 0),
                                          .j0 = j0,
                                          .n_j = width - j0,
                                          .i0 = all ? 0 : w->first,
                                          .n_i = all ? width : w->at.n_tails,
                                          .r = l->r.panels[p],
                                          .lags = l->lag.panels[p],
                                          .pitch = width};
    return l->c->queue->backend->ops->pearson->keep_lag(l->c->queue, &lagged);
}

/* All lags of the group. */
static enum status take_group(const struct lags *l, struct working *w)
{
    const size_t least = lags_least(l), panel = l->r.panel;
    for (size_t lag = least; lag <= lags_most(l->first, l->last); lag++) {
        const bool served = lag > least && lag - w->least + w->unserved < PEARSON_LAGS_AT_ONCE;
        STATUS_TRY(served ? STATUS_OK : begin_lags(l, w, lag));
        STATUS_TRY(multiply(l, w, lag));
        for (size_t p = w->first / panel; p * panel < l->r.n_series; p++) {
            STATUS_TRY(keep(l, w, lag, p));
        }
    }
    return STATUS_OK;
}

/* Lag 0; where the range is without it, it is kept until there is another one. */
static enum status begin(const struct lags *l)
{
    const struct backend_ops *const ops = l->c->queue->backend->ops;
    const size_t n = l->r.n_series, panel = l->r.panel;
    for (size_t p = 0; p * panel < n; p++) {
        const size_t width = matrix_panel_width(p, panel, n);
        STATUS_TRY(ops->zero(l->c->queue, l->lag.panels[p]));
        STATUS_TRY(ops->copy(l->c->queue, l->r.panels[p], l->at_0.panels[p],
                             (width - p * panel) * width * sizeof(double)));
    }
    return STATUS_OK;
}

enum status lags_find(struct lags *l)
{
    struct working w = {.at = {.n_heads = l->c->n_taken}};
    const size_t group = group_of(l);
    STATUS_TRY(correlate_series(l->c, &w.x));
    STATUS_TRY(working_room(l, &l->c->standard, &w));
    STATUS_TRY(begin(l));
    for (; w.first < w.at.n_heads; w.first += group) {
        w.at.n_tails = lesser(group, w.at.n_heads - w.first);
        STATUS_TRY(take_group(l, &w));
    }
    room_free(&l->c->standard);
    return STATUS_OK;
}
