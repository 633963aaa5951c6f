/*
 * correlate - see the header.
 */
#include "kernels/pearson/correlate.h"

#include "formats/base/sizes.h"

static const struct pearson_kernels *kernels(const struct correlation *c)
{
    return c->queue->backend->ops->pearson;
}

size_t correlate_z_bytes(const struct correlation *c, enum pearson_precision precision)
{
    return kernels(c)->z_bytes(c->queue, precision, c->request.n_samples);
}

bool correlate_in_place(const struct queue *queue, enum pearson_precision precision,
                        enum dtype type)
{
    return precision == PEARSON_EXACT && type == DTYPE_F64 &&
           queue->backend->ops->pearson->z_in_place;
}

size_t correlate_x_bytes(const struct correlation *c)
{
    return c->request.in_place ? correlate_z_bytes(c, c->request.precision)
                               : c->request.n_samples * dtype_bytes(c->request.type);
}

static struct span z_of(const struct correlation *c, const struct series_block *block,
                        size_t series)
{
    return span_from(block->z,
                     (series - block->first) * correlate_z_bytes(c, c->request.precision));
}

static struct span x_of(const struct correlation *c, const struct series_block *block,
                        size_t series)
{
    return span_from(block->x, (series - block->first) * correlate_x_bytes(c));
}

static const struct series_block *block_of(const struct correlation *c, size_t series)
{
    const struct series_block *block = c->blocks;
    while (series >= block->first + block->rows) {
        block++;
    }
    return block;
}

static struct series_rows rows_of(const struct correlation *c, struct span x, size_t first,
                                  size_t n)
{
    return (struct series_rows){
        .at = x,
        .type = c->request.type,
        .n_series = n,
        .n_samples = c->request.n_samples,
        .first = first,
        .stride = c->request.in_place ? correlate_x_bytes(c) / dtype_bytes(DTYPE_F64) : 0};
}

/* --- panels' size ------------------------------------------------------------------------------
 */

enum {
    TILE = 64, /* panels are whole multiples of it, but for fewer series that are known */
    LONG_SAMPLES =
        1 << 13, /* or as few as LEAST_PANEL, when so long that a tile of them is large */
    LEAST_PANEL = 8,
    SMALL_SERIES = 512,    /* up to so many ... */
    SMALL_CELLS = 1 << 20, /* ... and so many numbers are one panel */
    MIDDLE_SERIES = 4096,  /* beyond it, panels are large */
    PANEL_CELLS = 1 << 24, /* numbers in a panel, where more than TILE series would exceed it */
    GIVEN_PANEL = 1024,    /* the same where all are there: one panel up to so many series ... */
    GIVEN_CELLS = 1 << 27, /* ... and numbers */
};

size_t correlate_panel(size_t n, bool is_guessed, size_t n_samples)
{
    if (n <= TILE && !is_guessed) {
        return n;
    }
    if (n <= TILE && n_samples >= LONG_SAMPLES) {
        return round_up(n, LEAST_PANEL);
    }
    if (n <= SMALL_SERIES && n_samples <= SMALL_CELLS / n) {
        return round_up(n, TILE);
    }
    size_t panel = n <= SMALL_SERIES ? TILE : n <= MIDDLE_SERIES ? 512 : 1024;
    while (panel > TILE && n_samples > PANEL_CELLS / panel) {
        panel /= 2;
    }
    return panel;
}

size_t correlate_panel_of_sweep(const struct queue *queue, size_t panel, size_t n)
{
    const size_t most = queue->backend->ops->pearson->sweep_cells / n;
    while (panel > TILE && panel > most) {
        panel = round_up(panel / 2, TILE);
    }
    return panel;
}

size_t correlate_panel_of_given(size_t n, size_t n_samples)
{
    size_t panel = n < GIVEN_PANEL ? n : GIVEN_PANEL;
    while (panel > TILE && n_samples > GIVEN_CELLS / panel) {
        panel = round_up(panel / 2, TILE);
    }
    return panel;
}

/* --- memory ----------------------------------------------------------------------------------- */

enum status correlate_grow(struct correlation *c, size_t capacity)
{
    struct room room = {.queue = c->growing.queue};
    const struct moments old = c->moments;
    const size_t have = old.capacity * sizeof(double);
    struct span *panels;
    enum status st = room_host(&room, capacity / c->request.panel + 1, sizeof *panels, &panels);
    st = st == STATUS_OK ? room_span(&room, capacity, moments_bytes(1), &c->moments.at) : st;
    c->moments.capacity = capacity;
    for (size_t f = 0; f < MOMENTS_FIELDS && have > 0 && st == STATUS_OK; f++) {
        st = c->queue->backend->ops->copy(c->queue,
                                          span_from(c->moments.at, f * capacity * sizeof(double)),
                                          span_from(old.at, f * have), have);
    }
    for (size_t p = 0; p < c->n_panels && st == STATUS_OK; p++) {
        panels[p] = c->panels[p];
    }
    c->panels = panels;
    room_free(&c->growing);
    c->growing = room;
    return st;
}

/* The next panel of the matrix: `rows` rows of `width` elements. */
static enum status panel_room(struct correlation *c, size_t rows, size_t width, struct span *panel)
{
    const enum dtype type = pearson_dtype(c->request.precision);
    STATUS_TRY(room_span(c->kept, rows * width, dtype_bytes(type), panel));
    if (c->panels != NULL) { /* else it is only counted */
        c->panels[c->n_panels++] = *panel;
    }
    return STATUS_OK;
}

enum status correlate_panels(struct correlation *c, size_t n)
{
    const size_t panel = c->request.panel;
    struct span unused;
    for (size_t p = 0; p * panel < n; p++) {
        const size_t width = matrix_panel_width(p, panel, n);
        STATUS_TRY(panel_room(c, width - p * panel, width, &unused));
    }
    c->n_taken = n;
    return STATUS_OK;
}

/* Begins a block after the others: all that is known or guessed at first, later half as much again
 * as there is. */
static enum status add_block(struct correlation *c)
{
    const struct correlate_request *const q = &c->request;
    const size_t first = c->n_taken, half = first / 2 > q->panel ? first / 2 : q->panel,
                 wanted = first == 0 ? q->n_series : half,
                 whole = (wanted + q->panel - 1) / q->panel * q->panel;
    struct series_block *const b = &c->blocks[c->n_blocks++];
    *b = (struct series_block){
        .first = first, .rows = q->is_guessed ? whole : wanted, .x = c->given};
    if (q->in_place) {
        b->z = c->given;
        return correlate_grow(c, b->rows);
    }
    STATUS_TRY(room_span(&c->standard, b->rows, correlate_z_bytes(c, q->precision), &b->z));
    STATUS_TRY(q->keep && !q->given ? room_span(&c->work, b->rows, correlate_x_bytes(c), &b->x)
                                    : STATUS_OK);
    return correlate_grow(c, first + b->rows);
}

size_t correlate_most_rows(const struct correlation *c)
{
    const struct correlate_request *const q = &c->request;
    return q->is_guessed || q->panel < q->n_series ? q->panel : q->n_series;
}

/* One of the two panels in the exact form. */
static enum status exact_room(struct correlation *c, size_t which)
{
    return c->of_exact[which].at != NULL
               ? STATUS_OK
               : room_span(&c->exact, correlate_most_rows(c), correlate_z_bytes(c, PEARSON_EXACT),
                           &c->of_exact[which]);
}

/* Their own moments: computing the standard form again would change the last bits of those that are
 * reported. */
static enum status exact_moments_room(struct correlation *c)
{
    c->exact_moments = c->moments;
    return room_span(&c->exact, 1, moments_bytes(c->moments.capacity), &c->exact_moments.at);
}

enum status correlate_count(struct correlation *c)
{
    const struct correlate_request *const q = &c->request;
    STATUS_TRY(add_block(c));
    for (size_t k = 0; k < 2 && q->gaps && q->precision != PEARSON_EXACT; k++) {
        STATUS_TRY(k == 0 || q->n_series > correlate_most_rows(c) ? exact_room(c, k) : STATUS_OK);
        STATUS_TRY(k == 0 ? exact_moments_room(c) : STATUS_OK);
    }
    return STATUS_OK;
}

void correlate_release(struct correlation *c)
{
    panels_close(c->shared);
    c->shared = NULL;
    room_free(&c->exact);
    room_free(&c->work);
    room_free(&c->standard);
}

void correlate_free(struct correlation *c)
{
    correlate_release(c);
    room_free(&c->growing);
}

/* --- panels ----------------------------------------------------------------------------------- */

enum status correlate_next(struct correlation *c, struct span *x)
{
    const size_t n = c->n_blocks;
    if (n == 0 || c->n_taken == c->blocks[n - 1].first + c->blocks[n - 1].rows) {
        STATUS_TRY(add_block(c));
    }
    *x = x_of(c, block_of(c, c->n_taken), c->n_taken);
    return STATUS_OK;
}

/* n series from `first` on, with all up to them: what helpers take, whose series are one block. */
static struct pearson_panel panel_of(const struct correlation *c, size_t first, size_t n,
                                     struct span r)
{
    const struct series_block *const block = block_of(c, first);
    return (struct pearson_panel){.precision = c->request.precision,
                                  .n_samples = c->request.n_samples,
                                  .a = {.z = z_of(c, block, first), .first = first, .n = n},
                                  .b = {.z = block->z, .n = first + n},
                                  .moments = c->moments,
                                  .r = r,
                                  .width = first + n};
}

/* Their products. */
static enum status multiply(struct correlation *c, size_t first, size_t n, struct span r)
{
    const struct series_block *const last = block_of(c, first);
    struct pearson_panel panel = panel_of(c, first, n, r);
    const size_t width = panel.width;
    for (const struct series_block *b = c->blocks; b <= last; b++) {
        const size_t end = b == last ? width : b->first + b->rows;
        panel.b = (struct pearson_side){.z = b->z, .first = b->first, .n = end - b->first};
        STATUS_TRY(kernels(c)->gram(c->queue, &panel));
    }
    return STATUS_OK;
}

/* The next panel of the matrix. */
static enum status next_panel(struct correlation *c, size_t first, size_t n)
{
    struct span r;
    STATUS_TRY(panel_room(c, n, first + n, &r));
    if (c->shared != NULL) {
        const struct pearson_panel panel = panel_of(c, first, n, r);
        return panels_gram(c->shared, &panel);
    }
    return multiply(c, first, n, r);
}

enum status correlate_take(struct correlation *c, struct span x, size_t n)
{
    const struct series_rows rows = rows_of(c, x, c->n_taken, n);
    STATUS_TRY(c->queue->backend->ops->means->rows(c->queue, &rows, c->moments));
    STATUS_TRY(kernels(c)->standardize(c->queue, c->request.precision, &rows, c->moments,
                                       z_of(c, block_of(c, c->n_taken), c->n_taken)));
    STATUS_TRY(
        c->shared != NULL
            ? panels_give(c->shared, z_of(c, block_of(c, c->n_taken), c->n_taken), c->n_taken, n)
            : STATUS_OK);
    STATUS_TRY(c->request.alone ? STATUS_OK : next_panel(c, c->n_taken, n));
    c->n_taken += n;
    return STATUS_OK;
}

enum status correlate_end(struct correlation *c)
{
    if (c->request.alone) {
        return STATUS_OK;
    }
    STATUS_TRY(c->shared != NULL ? panels_collect(c->shared) : STATUS_OK);
    panels_close(c->shared);
    c->shared = NULL;
    return STATUS_OK;
}

struct panels_config correlate_shared(const struct correlation *c)
{
    return (struct panels_config){.home = c->queue,
                                  .precision = c->request.precision,
                                  .n_series = c->request.n_series,
                                  .n_samples = c->request.n_samples,
                                  .panel = c->request.panel};
}

enum status correlate_share(struct correlation *c, struct queue **queues, size_t *n)
{
    const struct panels_config shared = correlate_shared(c);
    STATUS_TRY(panels_open(&shared, queues, n, &c->shared));
    return *n == 0 || c->n_taken == 0 ? STATUS_OK
                                      : panels_give(c->shared, c->blocks[0].z, 0, c->n_taken);
}

struct matrix correlate_matrix(const struct correlation *c)
{
    return (struct matrix){.n_series = c->n_taken,
                           .panel = c->request.panel,
                           .type = pearson_dtype(c->request.precision),
                           .panels = c->panels};
}

/* --- gaps ------------------------------------------------------------------------------------- */

static size_t panel_end(const struct correlation *c, size_t p)
{
    return matrix_panel_width(p, c->request.panel, c->n_taken);
}

/* The series of panel p in the exact form; `which` of the two buffers may be used for it. */
static enum status exact_panel(struct correlation *c, size_t p, size_t which,
                               struct pearson_side *side)
{
    const size_t first = p * c->request.panel;
    const struct series_block *const block = block_of(c, first);
    *side =
        (struct pearson_side){.z = z_of(c, block, first),
                              .x = c->request.in_place ? (struct span){0} : x_of(c, block, first),
                              .first = first,
                              .n = panel_end(c, p) - first};
    if (c->request.precision == PEARSON_EXACT) {
        return STATUS_OK;
    }
    const struct series_rows x = rows_of(c, side->x, first, side->n);
    STATUS_TRY(exact_room(c, which));
    side->z = c->of_exact[which];
    return kernels(c)->standardize(c->queue, PEARSON_EXACT, &x, c->exact_moments, side->z);
}

/* Corrects the products of two panels, `nth` of all; ranks take long, and come in strips of
 * rows. */
static enum status fill_products(struct correlation *c, const struct pearson_panel *all, size_t nth,
                                 uint64_t *n_unsure)
{
    const size_t most = c->request.ranks ? TILE : all->a.n, z = correlate_z_bytes(c, PEARSON_EXACT),
                 row = all->width * dtype_bytes(pearson_dtype(all->precision)),
                 n = c->n_panels * (c->n_panels + 1) / 2;
    for (size_t first = 0; first < all->a.n; first += most) {
        struct pearson_panel strip = *all;
        const double share = ((double)nth + (double)first / (double)all->a.n) / (double)n;
        STATUS_TRY(queue_check(c->queue));
        STATUS_TRY(c->pause != NULL ? c->pause(c->context, share) : STATUS_OK);
        strip.a.z = span_from(all->a.z, first * z);
        strip.a.x = span_from(all->a.x, all->a.x.at != NULL ? first * correlate_x_bytes(c) : 0);
        strip.a.first = all->a.first + first;
        strip.a.n = all->a.n - first < most ? all->a.n - first : most;
        strip.r = span_from(all->r, first * row);
        STATUS_TRY(kernels(c)->gram_gaps(c->queue, &strip, n_unsure));
    }
    return STATUS_OK;
}

/* Corrects panel p against itself and the panels before it. */
static enum status fill_panel(struct correlation *c, size_t p, const bool *gaps, uint64_t *n_unsure)
{
    struct pearson_panel panel = {.precision = c->request.precision,
                                  .n_samples = c->request.n_samples,
                                  .x_type = c->request.type,
                                  .moments = c->moments,
                                  .r = c->panels[p],
                                  .width = panel_end(c, p),
                                  .ranks = c->request.ranks};
    for (size_t b = 0; b <= p; b++) {
        if (!gaps[p] && !gaps[b]) {
            continue;
        }
        if (panel.a.n == 0) {
            STATUS_TRY(exact_panel(c, p, 0, &panel.a));
        }
        panel.b = panel.a;
        if (b < p) {
            STATUS_TRY(exact_panel(c, b, 1, &panel.b));
        }
        STATUS_TRY(fill_products(c, &panel, p * (p + 1) / 2 + b, n_unsure));
    }
    return STATUS_OK;
}

/* Which panels have series with gaps. */
static enum status gaps_begin(struct correlation *c, const double *count, bool **out)
{
    bool *gaps;
    STATUS_TRY(room_host(&c->work, c->n_panels, sizeof *gaps, &gaps));
    *out = gaps;
    for (size_t s = 0; s < c->n_taken; s++) {
        gaps[s / c->request.panel] |= count[s] < (double)c->request.n_samples;
    }
    if (c->request.precision == PEARSON_EXACT) {
        return STATUS_OK;
    }
    STATUS_TRY(c->exact_moments.at.at == NULL ? exact_moments_room(c) : STATUS_OK);
    return c->queue->backend->ops->copy(c->queue, c->exact_moments.at, c->moments.at,
                                        moments_bytes(c->moments.capacity));
}

enum status correlate_gaps(struct correlation *c, const double *count, uint64_t *n_unsure)
{
    bool *gaps;
    STATUS_TRY(gaps_begin(c, count, &gaps));
    for (size_t p = 0; p < c->n_panels && *n_unsure == 0; p++) {
        STATUS_TRY(fill_panel(c, p, gaps, n_unsure));
    }
    return STATUS_OK;
}

/* --- the matrix, swept ------------------------------------------------------------------------ */

enum status correlate_fill(struct correlation *c)
{
    const size_t n = c->n_taken;
    for (size_t first = 0, end; first < n; first = end) {
        struct span r;
        end = matrix_panel_width(first / c->request.panel, c->request.panel, n);
        STATUS_TRY(panel_room(c, end - first, end, &r));
        STATUS_TRY(multiply(c, first, end - first, r));
    }
    return STATUS_OK;
}

enum status correlate_sweep_room(struct correlation *c, size_t n)
{
    const size_t panel = c->request.panel, rows = panel < n ? panel : n;
    for (size_t k = 0; k < 2 && (k == 0 || panel < n); k++) {
        STATUS_TRY(room_span(&c->work, rows * n, dtype_bytes(pearson_dtype(c->request.precision)),
                             &c->swept[k]));
    }
    return STATUS_OK;
}

/* Panels that have been begun, and those that have been visited. Members take turns, each has two
 * buffers: so panel p needs that of p - 2 members. */
struct sweep {
    struct correlation *c;
    correlate_visit *visit;
    void *context;
    const bool *gaps;  /* NULL: there are none */
    struct queue **at; /* [n_panels] */
    size_t begun, visited, members;
};

static enum status visit_next(struct sweep *s)
{
    const size_t p = s->visited++;
    struct matrix band = correlate_matrix(s->c);
    band.n_series = panel_end(s->c, p);
    band.first = p * band.panel;
    STATUS_TRY(queue_check(s->c->queue));
    return s->visit(s->context, s->at[p], &band);
}

static enum status begin_next(struct sweep *s, uint64_t *n_unsure)
{
    struct correlation *const c = s->c;
    const size_t p = s->begun++, first = p * c->request.panel, n = panel_end(c, p) - first,
                 member = p % s->members;
    if (member > 0) {
        const struct pearson_panel panel = panel_of(c, first, n, (struct span){0});
        return panels_stay(c->shared, member - 1, &panel, &s->at[p], &c->panels[p]);
    }
    s->at[p] = c->queue;
    c->panels[p] = c->swept[p / s->members % 2];
    STATUS_TRY(multiply(c, first, n, c->panels[p]));
    return s->gaps != NULL ? fill_panel(c, p, s->gaps, n_unsure) : STATUS_OK;
}

/* Devices that have come since the panel before: all visits are made first. */
static enum status look_for_members(struct sweep *s)
{
    const size_t members = s->gaps != NULL ? 1 : panels_members(s->c->shared);
    while (members != s->members && s->visited < s->begun) {
        STATUS_TRY(visit_next(s));
    }
    STATUS_TRY(members > 1 && members != s->members ? panels_moments(s->c->shared, s->c->moments)
                                                    : STATUS_OK);
    s->members = members;
    return STATUS_OK;
}

enum status correlate_sweep(struct correlation *c, const double *count, uint64_t *n_unsure,
                            correlate_visit *visit, void *context)
{
    struct sweep s = {.c = c, .visit = visit, .context = context, .members = 1};
    bool *gaps = NULL;
    c->n_panels = (c->n_taken + c->request.panel - 1) / c->request.panel;
    STATUS_TRY(count != NULL ? gaps_begin(c, count, &gaps) : STATUS_OK);
    s.gaps = gaps;
    STATUS_TRY(c->swept[0].at == NULL ? correlate_sweep_room(c, c->n_taken) : STATUS_OK);
    STATUS_TRY(room_host(&c->work, c->n_panels, sizeof *s.at, &s.at));
    while (s.begun < c->n_panels && *n_unsure == 0) {
        const double share = (double)s.begun / (double)c->n_panels;
        STATUS_TRY(c->pause != NULL ? c->pause(c->context, share) : STATUS_OK);
        STATUS_TRY(look_for_members(&s));
        STATUS_TRY(s.begun >= s.visited + 2 * s.members ? visit_next(&s) : STATUS_OK);
        STATUS_TRY(begin_next(&s, n_unsure));
    }
    while (s.visited < s.begun && *n_unsure == 0) {
        STATUS_TRY(visit_next(&s));
    }
    return STATUS_OK;
}

/* --- targets ---------------------------------------------------------------------------------- */

enum status correlate_targets(struct correlation *c, struct span x, size_t n)
{
    const struct series_rows rows = {.at = x,
                                     .type = DTYPE_F64,
                                     .n_series = n,
                                     .n_samples = c->request.n_samples,
                                     .first = c->n_taken};
    STATUS_TRY(c->moments.capacity < c->n_taken + n ? correlate_grow(c, c->n_taken + n)
                                                    : STATUS_OK);
    STATUS_TRY(room_span(&c->standard, n, correlate_z_bytes(c, PEARSON_EXACT), &c->targets));
    c->n_targets = n;
    STATUS_TRY(c->queue->backend->ops->means->rows(c->queue, &rows, c->moments));
    return kernels(c)->standardize(c->queue, PEARSON_EXACT, &rows, c->moments, c->targets);
}

enum status correlate_with_targets(struct correlation *c, struct span x, struct span r, bool gaps,
                                   uint64_t *n_unsure)
{
    struct pearson_panel panel = {
        .precision = PEARSON_EXACT,
        .n_samples = c->request.n_samples,
        .a = {.z = c->targets, .x = x, .first = c->n_taken, .n = c->n_targets},
        .x_type = c->request.type,
        .moments = c->moments,
        .r = r,
        .width = c->n_taken,
        .ranks = c->request.ranks};
    const size_t step = c->request.panel;
    for (size_t p = 0; p * step < c->n_taken; p++) {
        STATUS_TRY(queue_check(c->queue));
        STATUS_TRY(c->pause != NULL ? c->pause(c->context, (double)(p * step) / (double)c->n_taken)
                                    : STATUS_OK);
        STATUS_TRY(exact_panel(c, p, 1, &panel.b));
        STATUS_TRY(kernels(c)->gram(c->queue, &panel));
        STATUS_TRY(gaps ? kernels(c)->gram_gaps(c->queue, &panel, n_unsure) : STATUS_OK);
    }
    return STATUS_OK;
}

/* --- the series once more --------------------------------------------------------------------- */

/* Copies the series of all blocks into one span. */
static enum status join_blocks(struct correlation *c)
{
    const size_t bytes = correlate_x_bytes(c);
    struct span all;
    STATUS_TRY(room_span(&c->work, c->n_taken, bytes, &all));
    for (size_t i = 0; i < c->n_blocks; i++) {
        struct series_block *const b = &c->blocks[i];
        const size_t left = c->n_taken - b->first, n = left < b->rows ? left : b->rows;
        const struct span to = span_from(all, b->first * bytes);
        STATUS_TRY(c->queue->backend->ops->copy(c->queue, to, b->x, n * bytes));
        b->x = to;
    }
    return STATUS_OK;
}

enum status correlate_series(struct correlation *c, struct series_rows *x)
{
    if (!c->request.alone) {
        room_free(&c->standard);
        room_free(&c->exact);
    }
    STATUS_TRY(c->n_blocks > 1 ? join_blocks(c) : STATUS_OK);
    *x = rows_of(c, c->blocks[0].x, 0, c->n_taken);
    return STATUS_OK;
}

struct span correlate_one(const struct correlation *c, size_t s, bool is_standard)
{
    if (s >= c->n_taken) {
        return span_from(c->targets, (s - c->n_taken) * correlate_z_bytes(c, PEARSON_EXACT));
    }
    return is_standard           ? z_of(c, block_of(c, s), s)
           : c->request.in_place ? (struct span){0}
                                 : x_of(c, block_of(c, s), s);
}
