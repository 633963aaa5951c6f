/*
 * lags - see the header.
 *
 * Of each lag all series but their last samples are in standard form, and, a group of panels at a
 * time, all but their first samples. These are numbered after all series where moments are. A
 * device makes those of the next lag beside the products of this one, which leave it room.
 */
#include "kernels/pearson/lags.h"

enum { GROUP = 4096 /* series whose ends are there at a time, or one panel */ };
static const size_t TWICE_BYTES = (size_t)4 << 30;

struct working {
    struct series_rows x;
    struct span heads, tails, products;
    struct moments moments;
};

static size_t size_of(int lag)
{
    return lag < 0 ? (size_t)-lag : (size_t)lag;
}

static bool has_lag(const struct lags *l, int lag)
{
    return l->first <= lag && lag <= l->last;
}

size_t lags_most(const struct lags *l)
{
    return size_of(-l->first > l->last ? l->first : l->last);
}

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Series of a group: whole panels, but at the end. */
static size_t group_of(const struct lags *l)
{
    const size_t panel = l->c->request.panel, whole = GROUP / panel * panel;
    return lesser(whole > panel ? whole : panel, l->c->n_taken);
}

enum status lags_room(struct lags *l, struct room *kept)
{
    const size_t n = l->c->n_taken, panel = l->c->request.panel, n_panels = (n + panel - 1) / panel;
    STATUS_TRY(room_host(kept, 2 * n_panels, sizeof *l->panels, &l->panels));
    for (size_t p = 0; p < n_panels; p++) {
        const size_t width = matrix_panel_width(p, panel, n), rows = width - p * panel;
        struct span unused, *const r = l->panels != NULL ? &l->panels[p] : &unused,
                                   *const lag =
                                       l->panels != NULL ? &l->panels[n_panels + p] : &unused;
        STATUS_TRY(room_span(kept, rows * width, sizeof(double), r));
        STATUS_TRY(room_span(kept, rows * width, sizeof(float), lag));
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
    w->moments = l->c->moments;
    w->moments.capacity = n + group;
    STATUS_TRY(room_span(room, n, z, &w->heads));
    STATUS_TRY(room_span(room, group, z, &w->tails));
    STATUS_TRY(room_span(room, group * n, sizeof(double), &w->products));
    return room_span(room, 1, moments_bytes(w->moments.capacity), &w->moments.at);
}

/* Of two lags in turn; a backend that takes one thing at a time has one for both, and so has what
 * would be much. */
static enum status working_rooms(const struct lags *l, struct room *room, struct working *w)
{
    const size_t heads = l->c->n_taken * correlate_z_bytes(l->c, PEARSON_EXACT);
    STATUS_TRY(working_room(l, room, &w[0]));
    w[1] = w[0];
    return l->c->queue->backend->ops->pearson->z_in_place || heads > TWICE_BYTES
               ? STATUS_OK
               : working_room(l, room, &w[1]);
}

enum status lags_count(const struct lags *l, struct room *work)
{
    struct working w[2] = {0};
    return working_rooms(l, work, w);
}

/* Makes the standard form of series `first` and on, from sample `from` on; part: how many, of how
 * many samples, and which is the first of their moments. */
static enum status standard(const struct lags *l, const struct working *w, size_t first,
                            size_t from, struct series_rows part, struct span z)
{
    const struct backend_ops *const ops = l->c->queue->backend->ops;
    part.type = w->x.type;
    part.stride = w->x.n_samples;
    part.at = span_from(w->x.at, (first * part.stride + from) * dtype_bytes(part.type));
    STATUS_TRY(ops->means->rows(l->c->queue, &part, w->moments));
    return ops->pearson->standardize(l->c->queue, PEARSON_EXACT, &part, w->moments, z);
}

/* What the product of a lag says of pairs with j in panel p and i in panel q, q <= p. */
static enum status keep(const struct lags *l, struct pearson_lagged *lagged, size_t p, size_t q,
                        bool minus, bool fresh)
{
    const struct matrix *const m = &l->r;
    const size_t pitch = matrix_panel_width(p, m->panel, m->n_series);
    if (!has_lag(l, minus ? -lagged->lag : lagged->lag)) {
        return STATUS_OK;
    }
    lagged->minus = minus;
    lagged->fresh = fresh;
    lagged->j0 = p * m->panel;
    lagged->n_j = pitch - lagged->j0;
    lagged->i0 = q * m->panel;
    lagged->n_i = matrix_panel_width(q, m->panel, m->n_series) - lagged->i0;
    lagged->r = l->r.panels[p];
    lagged->lags = l->lag.panels[p];
    lagged->pitch = pitch;
    return l->c->queue->backend->ops->pearson->keep_lag(l->c->queue, lagged);
}

/* Their product with all heads. */
static enum status multiply(const struct lags *l, const struct working *w, int lag, size_t n)
{
    const struct correlation *const c = l->c;
    const struct pearson_panel product = {.precision = PEARSON_EXACT,
                                          .n_samples = w->x.n_samples - size_of(lag),
                                          .a = {.z = w->tails, .first = c->n_taken, .n = n},
                                          .b = {.z = w->heads, .n = c->n_taken},
                                          .moments = w->moments,
                                          .r = w->products,
                                          .width = c->n_taken};
    STATUS_TRY(queue_check(c->queue));
    return c->queue->backend->ops->pearson->gram(c->queue, &product);
}

/* What the product of series first .. first + n - 1 says, of negative lags first. */
static enum status keep_group(const struct lags *l, const struct working *w, int lag, size_t first,
                              size_t n, bool fresh)
{
    const size_t all = l->c->n_taken, panel = l->r.panel, n_panels = (all + panel - 1) / panel;
    struct pearson_lagged lagged = {
        .products = w->products, .first = first, .width = all, .lag = lag};
    for (size_t p = first / panel; p * panel < first + n; p++) {
        for (size_t q = p; q < n_panels; q++) {
            STATUS_TRY(keep(l, &lagged, q, p, true, fresh));
        }
        for (size_t q = 0; q <= p; q++) {
            STATUS_TRY(keep(l, &lagged, p, q, false, fresh));
        }
    }
    return STATUS_OK;
}

/* The tails of the group that begins with `first`. */
static enum status make_tails(const struct lags *l, const struct working *w, int lag, size_t first)
{
    const size_t all = l->c->n_taken;
    const struct series_rows part = {.first = all,
                                     .n_series = lesser(group_of(l), all - first),
                                     .n_samples = w->x.n_samples - size_of(lag)};
    return standard(l, w, first, size_of(lag), part, w->tails);
}

/* The heads of a lag, and the tails of its first group. */
static enum status begin_lag(const struct lags *l, const struct working *w, int lag)
{
    const struct series_rows part = {.n_series = l->c->n_taken,
                                     .n_samples = w->x.n_samples - size_of(lag)};
    STATUS_TRY(standard(l, w, 0, 0, part, w->heads));
    return make_tails(l, w, lag, 0);
}

/* A lag that has begun; the next one begins behind its first product. */
static enum status take_lag(const struct lags *l, const struct working *w, int lag, bool fresh)
{
    const struct working *const now = &w[lag % 2];
    const size_t all = l->c->n_taken, group = group_of(l);
    for (size_t first = 0; first < all; first += group) {
        const size_t n = lesser(group, all - first);
        STATUS_TRY(first > 0 ? make_tails(l, now, lag, first) : STATUS_OK);
        STATUS_TRY(multiply(l, now, lag, n));
        STATUS_TRY(first + n == all && size_of(lag) < lags_most(l)
                       ? begin_lag(l, &w[(lag + 1) % 2], lag + 1)
                       : STATUS_OK);
        STATUS_TRY(keep_group(l, now, lag, first, n, fresh));
    }
    return STATUS_OK;
}

/* Lag 0; where the range is without it, and so of one sign, the first lag takes its place. */
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
    struct working w[2] = {0};
    const bool has_0 = has_lag(l, 0);
    int lag = 1;
    STATUS_TRY(correlate_series(l->c, &w[0].x));
    STATUS_TRY(working_rooms(l, &l->c->standard, w));
    STATUS_TRY(begin(l));
    while (size_of(lag) <= lags_most(l) && !has_lag(l, lag) && !has_lag(l, -lag)) {
        lag++;
    }
    const int least = lag;
    STATUS_TRY(size_of(lag) <= lags_most(l) ? begin_lag(l, &w[lag % 2], lag) : STATUS_OK);
    for (; size_of(lag) <= lags_most(l); lag++) {
        STATUS_TRY(take_lag(l, w, lag, !has_0 && lag == least));
    }
    room_free(&l->c->standard);
    return STATUS_OK;
}
