/*
 * column_gaps - see the header.
 */
#include "kernels/pearson/column_gaps.h"

#include "kernels/pearson/pearson_rule.h"

/* Pairs that are taken by themselves at a time: so many, or an eighth of all. */
enum { PAIRS_AT_A_TIME = 1 << 20, ROUNDS = 8 };

static const struct backend_ops *ops_of(const struct column_gaps *g)
{
    return g->queue->backend->ops;
}

/* Series of panel p. */
static size_t panel_rows(const struct matrix *m, size_t p)
{
    return matrix_panel_width(p, m->panel, m->n_series) - p * m->panel;
}

static size_t sums_bytes(const struct column_gaps *g, size_t p)
{
    const struct matrix *const m = &g->matrix;
    return ops_of(g)->pearson->gaps_bytes(panel_rows(m, p),
                                          matrix_panel_width(p, m->panel, m->n_series));
}

enum status column_gaps_room(struct column_gaps *g, struct room *room)
{
    const struct matrix *const m = &g->matrix;
    const bool diff = g->diff != PEARSON_DIFF_NONE;
    const uint64_t n_pairs = matrix_n_pairs(m->n_series), part = n_pairs / ROUNDS + 1,
                   most = part > PAIRS_AT_A_TIME ? part : PAIRS_AT_A_TIME;
    const size_t cell = dtype_bytes(g->type), cells = m->n_series * g->slab_samples;
    g->most = (size_t)(most < n_pairs ? most : n_pairs);
    uint64_t sums = 0, pairs = g->most * sizeof *g->pairs;
    for (size_t p = 0; p * m->panel < m->n_series; p++) {
        sums += sums_bytes(g, p);
    }
    STATUS_TRY(room_span(room, cells, diff ? sizeof(double) : cell, &g->x));
    if (diff) {
        STATUS_TRY(room_span(room, cells + m->n_series, cell, &g->levels));
        STATUS_TRY(room_span(room, m->n_series, cell, &g->before));
    }
    STATUS_TRY(room_span(room, sums > pairs ? sums : pairs, 1, &g->sums));
    STATUS_TRY(room_host(room, m->n_series, sizeof *g->row, &g->row));
    STATUS_TRY(room_host(room, g->most, sizeof *g->pairs, &g->pairs));
    return room->queue != NULL ? ops_of(g)->zero(g->queue, g->sums) : STATUS_OK;
}

/* --- a slab ----------------------------------------------------------------------------------- */

/* The slab's samples, or increments, series by series. */
static enum status take_rows(struct column_gaps *g, struct span slab, size_t n_lines,
                             struct series_rows *x)
{
    const struct pearson_kernels *const k = ops_of(g)->pearson;
    const bool diff = g->diff != PEARSON_DIFF_NONE, follows = diff && g->n_lines > 0;
    const size_t m = g->matrix.n_series, n = n_lines + (follows ? 1 : 0),
                 cell = dtype_bytes(g->type);
    const struct pearson_slab lines = {slab, g->type, m, n_lines},
                              before = {g->before, g->type, m, 1};
    const struct span to = diff ? g->levels : g->x;
    STATUS_TRY(follows ? k->turn(g->queue, &before, to, n) : STATUS_OK);
    STATUS_TRY(k->turn(g->queue, &lines, span_from(to, follows ? cell : 0), n));
    *x = (struct series_rows){to, g->type, m, n, 0, 0};
    if (!diff) {
        return STATUS_OK;
    }
    const struct series_rows levels = *x;
    *x = (struct series_rows){g->x, DTYPE_F64, m, n - 1, 0, 0};
    STATUS_TRY(
        ops_of(g)->copy(g->queue, g->before, span_from(slab, (n_lines - 1) * m * cell), m * cell));
    return k->diff_rows(g->queue, &levels, g->diff, g->x);
}

/* The sums of every panel, of a part of the samples; their coefficients, of none. */
static enum status take_panels(struct column_gaps *g, const struct series_rows *x,
                               uint64_t *n_unsure)
{
    const struct matrix *const m = &g->matrix;
    const size_t row = x->n_samples * dtype_bytes(x->type);
    size_t at = 0;
    for (size_t p = 0; p * m->panel < m->n_series; p++) {
        const size_t first = p * m->panel, width = matrix_panel_width(p, m->panel, m->n_series);
        const struct pearson_panel panel = {
            .precision = PEARSON_EXACT,
            .n_samples = x->n_samples,
            .a = {.x = span_from(x->at, first * row), .first = first, .n = width - first},
            .b = {.x = x->at, .n = width},
            .x_type = x->type,
            .moments = g->moments,
            .part = {.sums = span_from(g->sums, at), .n_samples = g->n_samples},
            .r = m->panels[p],
            .width = width};
        STATUS_TRY(queue_check(g->queue));
        STATUS_TRY(ops_of(g)->pearson->gram_gaps(g->queue, &panel, n_unsure));
        at += sums_bytes(g, p);
    }
    return STATUS_OK;
}

enum status column_gaps_add(struct column_gaps *g, struct span slab, size_t n_lines)
{
    struct series_rows x;
    uint64_t none = 0;
    if (n_lines == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(take_rows(g, slab, n_lines, &x));
    g->n_lines += n_lines;
    if (x.n_samples == 0) {
        return STATUS_OK;
    }
    return g->takes_pairs ? ops_of(g)->pearson->pairs_add(g->queue, &x, g->sums, g->n)
                          : take_panels(g, &x, &none);
}

/* --- pairs by themselves ---------------------------------------------------------------------- */

/* Row j of the matrix. */
static struct span row_of(const struct column_gaps *g, size_t j)
{
    const struct matrix *const m = &g->matrix;
    const size_t p = j / m->panel;
    return span_from(m->panels[p], (j - p * m->panel) *
                                       matrix_panel_width(p, m->panel, m->n_series) *
                                       sizeof(double));
}

static enum status send_pairs(struct column_gaps *g)
{
    uint64_t ticket;
    g->takes_pairs = true;
    g->n_lines = 0;
    STATUS_TRY(ops_of(g)->upload(g->queue, g->sums, g->pairs, g->n * sizeof *g->pairs, &ticket));
    return ops_of(g)->upload_wait(g->queue, ticket);
}

static enum status fetch_pairs(struct column_gaps *g)
{
    return ops_of(g)->download(g->queue, g->pairs, g->sums, g->n * sizeof *g->pairs);
}

static struct pearson_pair new_pair(size_t i, size_t j)
{
    return (struct pearson_pair){
        .i = (uint32_t)i, .j = (uint32_t)j, .about_i = (double)NAN, .about_j = (double)NAN};
}

/* Lists pairs without a coefficient, until the list is full; the rows before have none. */
static enum status list_pairs(struct column_gaps *g)
{
    for (; g->next < g->matrix.n_series; g->next++) {
        const size_t j = g->next;
        STATUS_TRY(j > 0 ? ops_of(g)->download(g->queue, g->row, row_of(g, j), j * sizeof *g->row)
                         : STATUS_OK);
        for (size_t i = 0; i < j; i++) {
            if (g->row[i] == PEARSON_UNSURE && g->n == g->most) {
                return STATUS_OK;
            }
            if (g->row[i] == PEARSON_UNSURE) {
                g->pairs[g->n++] = new_pair(i, j);
            }
        }
    }
    return STATUS_OK;
}

/* Whether the pair is done, with r; else it is moved to its means. */
static bool is_done(const struct column_gaps *g, struct pearson_pair *p, double *r)
{
    const struct pearson_sums raw = p->sums;
    struct pearson_sums s = raw;
    if (!pearson_centre_sums(&s) && !g->is_second && (raw.xx > 0 || raw.yy > 0)) {
        p->about_i += raw.x / raw.n;
        p->about_j += raw.y / raw.n;
        p->sums = (struct pearson_sums){0};
        return false;
    }
    *r = pearson_of_centred(s, moments_least_count(g->moments));
    return true;
}

/* Writes the coefficients of pairs that are done, and keeps the others. */
static enum status settle_pairs(struct column_gaps *g)
{
    const size_t n = g->n;
    g->n = 0;
    for (size_t k = 0; k < n;) {
        const size_t j = g->pairs[k].j, bytes = j * sizeof *g->row;
        uint64_t ticket;
        STATUS_TRY(ops_of(g)->download(g->queue, g->row, row_of(g, j), bytes));
        for (; k < n && g->pairs[k].j == j; k++) {
            if (!is_done(g, &g->pairs[k], &g->row[g->pairs[k].i])) {
                g->pairs[g->n++] = g->pairs[k];
            }
        }
        STATUS_TRY(ops_of(g)->upload(g->queue, row_of(g, j), g->row, bytes, &ticket));
        STATUS_TRY(ops_of(g)->upload_wait(g->queue, ticket));
    }
    g->is_second = g->n > 0;
    return STATUS_OK;
}

enum status column_gaps_end(struct column_gaps *g, bool *again)
{
    const struct series_rows none = {.at = g->x, .type = DTYPE_F64};
    uint64_t n_unsure = 0;
    if (g->takes_pairs) {
        STATUS_TRY(fetch_pairs(g));
        STATUS_TRY(settle_pairs(g));
    } else {
        STATUS_TRY(take_panels(g, &none, &n_unsure));
        g->next = n_unsure > 0 ? 0 : g->matrix.n_series;
    }
    STATUS_TRY(g->n == 0 ? list_pairs(g) : STATUS_OK);
    *again = g->n > 0;
    return *again ? send_pairs(g) : STATUS_OK;
}

/* --- how many samples pairs have -------------------------------------------------------------- */

enum status column_gaps_count(struct column_gaps *g, const struct matrix_pair *pairs, size_t n)
{
    g->n = n;
    for (size_t k = 0; k < n; k++) {
        g->pairs[k] = new_pair(pairs[k].i, pairs[k].j);
    }
    return send_pairs(g);
}

enum status column_gaps_counted(struct column_gaps *g, struct matrix_pair *pairs)
{
    STATUS_TRY(fetch_pairs(g));
    for (size_t k = 0; k < g->n; k++) {
        pairs[k].r = g->pairs[k].sums.n;
    }
    return STATUS_OK;
}
