/*
 * columns_cpu - co-moments of series in columns, a slab of samples at a time.
 *
 * A slab is transposed to rows, centred by its own means (two passes over the cache) and its
 * products are added to the running triangle. Chan's merge of two sets,
 *   C = C_a + C_b + d d' n_a n_b / (n_a + n_b),   d the difference of the means,
 * has the form of one more sample of value d sqrt(n_a n_b / (n_a + n_b)): it is appended to the
 * row, so that the merge costs one more column of the product and no sweep over the triangle.
 *
 * Many series give groups and tiles enough for all cores. The triangle of few is one tile: their
 * slabs are cut along the samples, by shape alone, into parts that fit the second-level cache. A
 * task takes a part from its lines to its products, and adds them to the sums that all parts at
 * its place have; those of all places are merged, in order, at the end.
 *
 * Error of r for N samples in parts of S (a slab of many series is one), u = 2^-53: of the products
 * (product_cpu.h), with P = min(S, 2048), (P + N / P) u at most; of the norms twice half of
 * (64 + S / 1024 + N / S) u. For N = 2^20 that is 9.5e-13 in parts of 256, 3.5e-13 of 2^19.
 *
 * Many series with gaps take part in the triangle with zeros, which nobody reads (column_gaps.h).
 * Of few, all pairs of a part with gaps are taken by themselves, and merged in the same way
 * (pairs_cpu.h): a part is off by as much as such a pair, a merge by less than one of the norms.
 */
#include "kernels/base/product_cpu.h"
#include "kernels/base/room.h"
#include "kernels/base/vector_cpu.h"
#include "kernels/matrix/matrix_cpu.h"
#include "kernels/means/means_rule.h"
#include "kernels/pearson/columns_rule.h"
#include "kernels/pearson/pairs_cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Series of a task, and samples that are transposed at once: as many lines as the first-level cache
 * has ways, when the table's rows lie a power of two apart. Bytes of a part. */
enum { GROUP = 32, TRANSPOSED = 8, PART_BYTES = 1 << 18, PART_LEAST = 256 };

/* Moments of every series, and its products of neighbours. */
struct series_sums {
    struct part_moments *all;
    struct columns_lag *lag;
};

/* What the parts at one place of all slabs have added up; many series have one place. */
struct place {
    struct series_sums whole, gapped, now; /* of parts without gaps, or of many series; of others;
                                              of the part in hand */
    struct pair_part *pairs;               /* of parts with gaps: (j, i) at j (j - 1) / 2 + i */
    double *triangle; /* co-moments of `whole`: lower triangle in panels of `tile` rows */
};

struct columns {
    size_t n_series, slab_samples;
    enum pearson_diff diff;
    size_t n_total; /* samples (or increments) so far */
    bool started;   /* last_raw is filled */
    bool few;
    size_t tile, stride; /* side of a tile; doubles from one row of a part to the next */
    size_t part, n_places;

    struct room room; /* of what follows */
    struct span rows;
    struct place *places;
    double *last_raw, *last; /* the sample before the slab, before and after diff; NaN: missing */
};

/* Row j of a triangle. */
static double *triangle_row(const struct columns *c, const struct place *at, size_t j)
{
    size_t p = j / c->tile;
    return at->triangle + c->tile * c->tile * (p * (p + 1) / 2) +
           (j - p * c->tile) * matrix_panel_width(p, c->tile, c->n_series);
}

static size_t tile_side(size_t n_series)
{
    return n_series > 1024 ? 256 : (n_series > 256 ? 128 : 64);
}

static size_t triangle_elements(size_t n_series)
{
    size_t tile = tile_side(n_series), p = (n_series - 1) / tile;
    return tile * tile * (p * (p + 1) / 2) + (n_series - p * tile) * n_series;
}

/* Samples of a part. */
static size_t part_samples(size_t n_series, size_t slab_samples)
{
    const size_t most = PART_BYTES / sizeof(double) / n_series / PART_LEAST * PART_LEAST;
    return n_series <= CPU_COLUMNS_FEW ? cpu_min(slab_samples, cpu_max(most, PART_LEAST))
                                       : slab_samples;
}

/* Room for a part's samples and that of the merge. */
static size_t row_stride(size_t n_series, size_t slab_samples)
{
    return cpu_pieces(part_samples(n_series, slab_samples) + 1, 8) * 8;
}

static size_t n_places(size_t n_series, size_t slab_samples)
{
    return cpu_pieces(slab_samples, part_samples(n_series, slab_samples));
}

static enum status take_sums(const struct columns *c, struct room *room, struct series_sums *out)
{
    STATUS_TRY(room_host(room, c->n_series, sizeof *out->all, &out->all));
    STATUS_TRY(room_host(room, c->n_series, sizeof *out->lag, &out->lag));
    for (size_t s = 0; out->all != NULL && s < c->n_series; ++s) {
        out->all[s] = vector_no_moments;
    }
    return STATUS_OK;
}

static enum status take_place(const struct columns *c, struct room *room, struct place *p)
{
    struct span triangle;
    STATUS_TRY(room_span(room, triangle_elements(c->n_series), sizeof *p->triangle, &triangle));
    p->triangle = triangle.at;
    STATUS_TRY(take_sums(c, room, &p->whole));
    STATUS_TRY(take_sums(c, room, &p->now));
    if (!c->few) {
        return STATUS_OK;
    }
    if (p->triangle != NULL) { /* that of many begins with its first products */
        memset(triangle.at, 0, triangle.bytes);
    }
    STATUS_TRY(take_sums(c, room, &p->gapped));
    return room_host(room, matrix_n_pairs(c->n_series), sizeof *p->pairs, &p->pairs);
}

/* Counts, or takes, all memory. */
static enum status take_room(struct columns *c, struct room *room)
{
    const size_t n = c->n_series;
    struct place counted;
    STATUS_TRY(room_host(room, c->n_places, sizeof *c->places, &c->places));
    STATUS_TRY(room_host(room, n, sizeof *c->last_raw, &c->last_raw));
    STATUS_TRY(room_host(room, n, sizeof *c->last, &c->last));
    STATUS_TRY(c->few ? STATUS_OK : room_span(room, n, c->stride * sizeof(double), &c->rows));
    for (size_t k = 0; k < c->n_places; ++k) {
        STATUS_TRY(take_place(c, room, c->places != NULL ? &c->places[k] : &counted));
    }
    for (size_t s = 0; c->last != NULL && s < n; ++s) {
        c->last[s] = (double)NAN;
    }
    return STATUS_OK;
}

static struct columns shape_of(size_t n_series, size_t slab_samples)
{
    return (struct columns){.n_series = n_series,
                            .slab_samples = slab_samples,
                            .few = n_series <= CPU_COLUMNS_FEW,
                            .tile = tile_side(n_series),
                            .stride = row_stride(n_series, slab_samples),
                            .part = part_samples(n_series, slab_samples),
                            .n_places = n_places(n_series, slab_samples)};
}

size_t cpu_columns_bytes(size_t n_series, size_t slab_samples)
{
    struct columns c = shape_of(n_series, slab_samples);
    struct room room = {0};
    if (take_room(&c, &room) != STATUS_OK) {
        return SIZE_MAX;
    }
    room_count(&room, sizeof c, 0);
    room_count(&room, room.backend, 0);
    return room.host;
}

void cpu_columns_free(struct queue *q, void *state)
{
    struct columns *c = state;
    (void)q;
    if (c != NULL) {
        room_free(&c->room);
        free(c);
    }
}

enum status cpu_columns_new(struct queue *q, size_t n_series, size_t slab_samples,
                            enum pearson_diff diff, void **state)
{
    *state = NULL;
    if (n_series == 0 || slab_samples == 0) {
        return status_fail(STATUS_INTERNAL, "columns: no series or no samples");
    }
    STATUS_TRY(product_need(q));
    const struct columns shape = shape_of(n_series, slab_samples);
    if (n_series > product_limit || shape.stride > product_limit) {
        return status_fail(STATUS_TOO_LARGE, "columns: more series or samples than BLAS can index");
    }
    struct columns *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the state of %zu columns", n_series);
    }
    *c = shape;
    c->diff = diff;
    c->room.queue = q;
    const enum status st = take_room(c, &c->room);
    if (st != STATUS_OK) {
        cpu_columns_free(q, c);
        return st;
    }
    *state = c;
    return STATUS_OK;
}

/* --- a part, series by series ---------------------------------------------------------------- */

/* A slab as it came, of n samples after diff. */
struct slab_job {
    struct columns *c;
    const void *x;
    enum dtype type;
    size_t n;
    size_t before; /* samples before it that an increment is taken from: 0 or 1 */
};

/* Samples first .. first + n - 1 of the slab, after diff. */
struct part_job {
    const struct slab_job *slab;
    struct place *place;
    double *rows; /* series by series: as they are, then centred and 0 where missing; one more */
    size_t first, n;
};

static struct part_job part_of(const struct slab_job *slab, size_t index, double *rows)
{
    const struct columns *c = slab->c;
    const size_t first = index * c->part;
    return (struct part_job){slab, &c->places[index], rows, first,
                             cpu_min(c->part, slab->n - first)};
}

static double *row_of(const struct part_job *p, size_t s)
{
    return p->rows + s * p->slab->c->stride;
}

/* Sample t of the slab and the one before it, before diff. */
static double level(const struct slab_job *slab, size_t s, size_t t)
{
    if (t < slab->before) {
        return slab->c->last_raw[s];
    }
    const size_t at = (t - slab->before) * slab->c->n_series + s;
    return dtype_real(slab->type, slab->x, at);
}

/* Sample t of the slab, after diff. */
static double sample(const struct slab_job *slab, size_t s, size_t t)
{
    double x[2] = {level(slab, s, t)};
    if (slab->c->diff != PEARSON_DIFF_NONE) {
        x[1] = level(slab, s, t + 1);
        cpu_increments(x, 1, slab->c->diff, x);
    }
    return x[0];
}

/* Series s0 .. s1 - 1 of lines t0 .. t1 - 1, to rows of which line 0 would be number `shift`. */
static void transpose(const struct part_job *p, size_t s0, size_t s1, size_t t0, size_t t1,
                      ptrdiff_t shift)
{
    const size_t n = p->slab->c->n_series;
    for (size_t s = s0; s < s1; ++s) {
        double *to = row_of(p, s);
        if (p->slab->type == DTYPE_F32) {
            for (size_t t = t0; t < t1; ++t) {
                to[(ptrdiff_t)t + shift] = (double)((const float *)p->slab->x)[t * n + s];
            }
        } else {
            for (size_t t = t0; t < t1; ++t) {
                to[(ptrdiff_t)t + shift] = ((const double *)p->slab->x)[t * n + s];
            }
        }
    }
}

/* Series s0 .. s1 - 1 of the part as rows, and their moments. */
static void take_rows(const struct part_job *p, size_t s0, size_t s1)
{
    const struct slab_job *slab = p->slab;
    const enum pearson_diff diff = slab->c->diff;
    const bool follows = slab->before > 0 && p->first == 0; /* on the slab before */
    const size_t t0 = p->first + follows - slab->before,
                 t1 = t0 + p->n + (diff != PEARSON_DIFF_NONE) - follows;
    for (size_t t = t0; t < t1; t += TRANSPOSED) {
        transpose(p, s0, s1, t, cpu_min(t + TRANSPOSED, t1), (ptrdiff_t)follows - (ptrdiff_t)t0);
    }
    for (size_t s = s0; s < s1; ++s) {
        double *row = row_of(p, s);
        struct part_moments m = vector_no_moments, block;
        if (follows) {
            row[0] = slab->c->last_raw[s];
        }
        if (diff != PEARSON_DIFF_NONE) {
            cpu_increments(row, p->n, diff, row);
        }
        for (size_t t = 0; t < p->n; t += VECTOR_BLOCK) {
            vector_moments(row + t, cpu_min(VECTOR_BLOCK, p->n - t), &block);
            part_moments_merge(&m, &block);
        }
        part_moments_recentre(&m);
        p->place->now.all[s] = m;
    }
}

static bool is_whole(const struct part_job *p, size_t s)
{
    return p->place->now.all[s].n == (double)p->n;
}

/* Centres row s, and takes its products of neighbours. */
static void centre_row(const struct part_job *p, size_t s)
{
    const struct part_moments *m = &p->place->now.all[s];
    const struct pearson_mean mean = columns_mean(m);
    double *row = row_of(p, s), n_pairs = 0, sum = 0;
    for (size_t t = 0; !is_whole(p, s) && t + 1 < p->n; ++t) {
        bool both = row[t] == row[t] && row[t + 1] == row[t + 1];
        n_pairs += both;
        sum += both ? part_moments_centred(m, row[t]) + part_moments_centred(m, row[t + 1]) : 0;
    }
    vector_scale(row, p->n, mean.at, mean.low, 1.0, row);
    if (is_whole(p, s)) {
        /* all d add up to nothing but rounding */
        n_pairs = m->n - 1;
        sum = -row[0] - row[p->n - 1];
    }
    p->place->now.lag[s] = (struct columns_lag){vector_dot(row, row + 1, p->n - 1), sum, n_pairs};
}

/* Merges a series' part into the sums and appends the merge's own sample to its row. */
static void merge_series(const struct part_job *p, const struct series_sums *to, size_t s)
{
    const struct series_sums *now = &p->place->now;
    struct columns_lag_parts parts = {.all = to->all[s],
                                      .before = to->all[s],
                                      .slab = now->all[s],
                                      .lag = to->lag[s],
                                      .of_slab = now->lag[s],
                                      .left = p->first > 0 ? sample(p->slab, s, p->first - 1)
                                                           : p->slab->c->last[s],
                                      .right = sample(p->slab, s, p->first)};
    row_of(p, s)[p->n] = columns_merge_sample(&parts.before, &parts.slab);
    part_moments_merge(&parts.all, &parts.slab);
    to->all[s] = parts.all;
    to->lag[s] = columns_lag_join(&parts);
}

/* Adds the products of a tile, the index-th of the triangle's tiles, counted row by row. */
static void add_tile(const struct part_job *part, size_t index)
{
    const struct columns *c = part->slab->c;
    size_t p = 0;
    while ((p + 1) * (p + 2) / 2 <= index) {
        ++p;
    }
    size_t j = p * c->tile, i = (index - p * (p + 1) / 2) * c->tile;
    struct product_f64 product = {.a = row_of(part, j),
                                  .b = row_of(part, i),
                                  .lda = c->stride,
                                  .ldb = c->stride,
                                  .n_a = cpu_min(c->tile, c->n_series - j),
                                  .n_b = cpu_min(c->tile, c->n_series - i),
                                  .n_k = part->n + 1,
                                  .c = triangle_row(c, part->place, j) + i,
                                  .ldc = matrix_panel_width(p, c->tile, c->n_series),
                                  .add = c->few || c->n_total > 0,
                                  .lower = i == j};
    product_f64(&product);
}

/* --- many series: groups, then tiles ---------------------------------------------------------- */

static void group_body(void *arg, size_t index)
{
    const struct part_job *p = arg;
    const size_t s0 = index * GROUP, s1 = cpu_min(s0 + GROUP, p->slab->c->n_series);
    take_rows(p, s0, s1);
    for (size_t s = s0; s < s1; ++s) {
        centre_row(p, s);
    }
}

static void tile_body(void *arg, size_t index)
{
    add_tile(arg, index);
}

static enum status add_many(struct queue *q, const struct slab_job *slab)
{
    const struct columns *c = slab->c;
    struct part_job p = part_of(slab, 0, c->rows.at);
    STATUS_TRY(cpu_run_long(q, cpu_pieces(c->n_series, GROUP), group_body, &p));
    for (size_t s = 0; s < c->n_series; ++s) {
        merge_series(&p, &p.place->whole, s);
    }
    const size_t n_tiles = cpu_pieces(c->n_series, c->tile);
    return cpu_run_long(q, n_tiles * (n_tiles + 1) / 2, tile_body, &p);
}

/* --- few series: parts ------------------------------------------------------------------------ */

static size_t pair_index(size_t j, size_t i)
{
    return j * (j - 1) / 2 + i;
}

/* All pairs by themselves, from rows that are not centred yet. */
static void add_pairs(const struct part_job *p)
{
    for (size_t j = 1; j < p->slab->c->n_series; ++j) {
        for (size_t i = 0; i < j; ++i) {
            const struct pair_part now =
                cpu_pair_part((struct pair_series){.x = row_of(p, i), .type = DTYPE_F64},
                              (struct pair_series){.x = row_of(p, j), .type = DTYPE_F64}, p->n);
            cpu_pair_merge(&p->place->pairs[pair_index(j, i)], &now);
        }
    }
}

static void part_body(void *arg, size_t index, void *scratch)
{
    const struct part_job p = part_of(arg, index, scratch);
    const size_t n = p.slab->c->n_series;
    bool whole = true;
    take_rows(&p, 0, n);
    for (size_t s = 0; s < n; ++s) {
        whole &= is_whole(&p, s);
    }
    if (!whole) {
        add_pairs(&p);
    }
    for (size_t s = 0; s < n; ++s) {
        centre_row(&p, s);
        merge_series(&p, whole ? &p.place->whole : &p.place->gapped, s);
    }
    if (whole) {
        add_tile(&p, 0);
    }
}

enum status cpu_columns_add(struct queue *q, void *state, struct span slab, enum dtype type,
                            size_t n_samples)
{
    struct columns *c = state;
    STATUS_TRY(cpu_expect(slab, n_samples, c->n_series * dtype_bytes(type), "columns"));
    if (n_samples > c->slab_samples) {
        return status_fail(STATUS_INTERNAL, "columns: a slab of %zu samples, made for %zu",
                           n_samples, c->slab_samples);
    }
    if (n_samples == 0) {
        return STATUS_OK;
    }
    const bool diff = c->diff != PEARSON_DIFF_NONE;
    struct slab_job job = {.c = c,
                           .x = slab.at,
                           .type = type,
                           .n = n_samples - (diff && !c->started),
                           .before = diff && c->started};
    if (job.n > 0) {
        STATUS_TRY(c->few
                       ? cpu_run_scratch(q, cpu_pieces(job.n, c->part),
                                         c->n_series * c->stride * sizeof(double), part_body, &job)
                       : add_many(q, &job));
    }
    for (size_t s = 0; s < c->n_series; ++s) {
        c->last[s] = job.n > 0 ? sample(&job, s, job.n - 1) : c->last[s];
    }
    for (size_t s = 0; s < c->n_series; ++s) {
        c->last_raw[s] = level(&job, s, n_samples - 1 + job.before);
    }
    c->started = true;
    c->n_total += job.n;
    return STATUS_OK;
}

/* --- the end --------------------------------------------------------------------------------- */

/* Adds the sums of other samples of a series. Returns the sample by which they merge. */
static double join_series(struct part_moments *all, struct columns_lag *lag,
                          const struct part_moments *more, const struct columns_lag *more_lag)
{
    struct columns_lag_parts parts = {.all = *all,
                                      .before = *all,
                                      .slab = *more,
                                      .lag = *lag,
                                      .of_slab = *more_lag,
                                      .left = (double)NAN,
                                      .right = (double)NAN};
    part_moments_merge(&parts.all, more);
    *all = parts.all;
    *lag = columns_lag_join(&parts);
    return columns_merge_sample(&parts.before, more);
}

static double join_sums(const struct series_sums *to, const struct series_sums *more, size_t s)
{
    return join_series(&to->all[s], &to->lag[s], &more->all[s], &more->lag[s]);
}

/* Adds the sums of a further place to those of the first. */
static void join_place(const struct columns *c, const struct place *from)
{
    const struct place *to = &c->places[0];
    double merge[CPU_COLUMNS_FEW];
    for (size_t j = 0; j < c->n_series; ++j) {
        double *row = triangle_row(c, to, j);
        const double *more = triangle_row(c, from, j);
        merge[j] = join_sums(&to->whole, &from->whole, j);
        (void)join_sums(&to->gapped, &from->gapped, j);
        for (size_t i = 0; i < j; ++i) {
            row[i] += more[i] + merge[j] * merge[i];
            cpu_pair_merge(&to->pairs[pair_index(j, i)], &from->pairs[pair_index(j, i)]);
        }
    }
}

struct finish_job {
    const struct columns *c;
    const struct matrix *m;
    const double *scale; /* 1 / sqrt(M2); NaN for a degenerate series */
    double least;        /* samples that a coefficient is of */
};

/* The coefficient of a pair of few series. */
static double coefficient(const struct finish_job *job, size_t j, size_t i)
{
    const struct columns *c = job->c;
    const struct place *at = &c->places[0];
    struct pair_part p = {at->whole.all[i], at->whole.all[j], triangle_row(c, at, j)[i]};
    cpu_pair_merge(&p, &at->pairs[pair_index(j, i)]);
    if (p.x.n == (double)c->n_total) {
        return pearson_clamp(p.xy * job->scale[i] * job->scale[j]);
    }
    return isnan(job->scale[i] + job->scale[j])
               ? (double)NAN
               : pearson_of_centred(
                     (struct pearson_sums){.n = p.x.n, .xx = p.x.m2, .yy = p.y.m2, .xy = p.xy},
                     job->least);
}

static void finish_body(void *arg, size_t index)
{
    const struct finish_job *job = arg;
    const struct columns *c = job->c;
    size_t end = cpu_min((index + 1) * GROUP, c->n_series);
    for (size_t j = index * GROUP; j < end; ++j) {
        const double *from = c->n_total > 0 ? triangle_row(c, &c->places[0], j) : job->scale;
        size_t p = j / job->m->panel;
        double *to =
            (double *)job->m->panels[p].at + (j - p * job->m->panel) * cpu_matrix_width(job->m, j);
        for (size_t i = 0; i < j; ++i) {
            to[i] = c->few ? coefficient(job, j, i)
                           : pearson_clamp(from[i] * job->scale[i] * job->scale[j]);
        }
    }
}

static void store_moments(const struct columns *c, struct moments moments, double *scale)
{
    const struct place *at = &c->places[0];
    for (size_t s = 0; s < c->n_series; ++s) {
        struct part_moments all = at->whole.all[s];
        struct columns_lag lag = at->whole.lag[s];
        if (c->few) {
            (void)join_series(&all, &lag, &at->gapped.all[s], &at->gapped.lag[s]);
        }
        bool degenerate =
            moments_degenerate(moments_least_count(moments), all.n, all.m2, all.min, all.max);
        moments_store(moments, s, &all);
        moments_array(moments, MOMENTS_LAG1)[s] = degenerate ? (double)NAN : lag.product / all.m2;
        scale[s] = degenerate ? (double)NAN : 1 / sqrt(all.m2);
    }
}

enum status cpu_columns_finish(struct queue *q, void *state, struct moments moments,
                               const struct matrix *matrix)
{
    struct columns *c = state;
    double *scale;
    STATUS_TRY(cpu_matrix_check(matrix));
    if (matrix->type != DTYPE_F64 || matrix->n_series != c->n_series) {
        return status_fail(STATUS_INTERNAL, "columns: the matrix has another type or size");
    }
    STATUS_TRY(cpu_scratch(c->n_series, sizeof *scale, (void **)&scale));
    for (size_t k = 1; k < c->n_places; ++k) {
        join_place(c, &c->places[k]);
    }
    store_moments(c, moments, scale);
    struct finish_job job = {
        .c = c, .m = matrix, .scale = scale, .least = moments_least_count(moments)};
    enum status st = cpu_run_long(q, cpu_pieces(c->n_series, GROUP), finish_body, &job);
    free(scale);
    return st;
}

void cpu_columns_common(const void *state, struct matrix_pair *pairs, size_t n)
{
    const struct columns *c = state;
    const struct place *at = &c->places[0];
    for (size_t k = 0; k < n; ++k) {
        const size_t i = pairs[k].i, j = pairs[k].j;
        pairs[k].r = at->whole.all[i].n + at->pairs[pair_index(cpu_max(i, j), cpu_min(i, j))].x.n;
    }
}
