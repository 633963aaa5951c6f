/*
 * self_test - the same small problem on two backends, answers compared.
 *
 * N_SERIES walks of N_SAMPLES samples, one of them constant, one with gaps, go through every
 * kernel that a job takes: walk, moments, rows at all precisions, gaps, columns, and the queries of
 * the matrix; a heap of debris slides down a furrowed slope and off the map; and points are put
 * into clusters. The sizes are odd, so that the edges of tiles and vectors are part of it. The
 * answers of a backend are one array of doubles; equal NaNs agree.
 */
#include "kernels/self_test.h"

#include "kernels/kmeans/kmeans_resident.h"
#include "kernels/means/means.h"
#include "kernels/pearson/column_gaps.h"
#include "kernels/philox/philox.h"
#include "kernels/sciddicat/landslide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_SERIES = 37, N_SAMPLES = 301, PANEL = 16, N_PANELS = 3, SIDE = 5, SLAB = 100 };
enum { N_PAIRS = N_SERIES * (N_SERIES - 1) / 2, CONSTANT = 5, GAPPED = 11 };
enum { MAP_ROWS = 41, MAP_COLUMNS = 67, N_CELLS = MAP_ROWS * MAP_COLUMNS, N_STEPS = 90 };
enum { N_POINTS = 275, POINT_COLUMNS = 5, N_CLUSTERS = 4, N_PASSES = 3 };

/* Parts of the answer, and how far two backends may lie apart in them. A coefficient's bound holds
 * for both sides, so that twice as much may lie between them.
 * Moments are right to some hundred roundings, relatively. Statistics inherit the bound of the
 * matrix, which is that of missing values. */
struct part {
    const char *what;
    size_t n;
};
enum { WALK, MOMENTS, EXACT, F32, COLUMNS, STATS, HEAT, DEBRIS, MASS, CENTROIDS, LABELS, PARTS };
static const struct part parts[PARTS] = {
    [WALK] = {"walk", (size_t)N_SERIES *N_SAMPLES},
    [MOMENTS] = {"moments", (size_t)MOMENTS_FIELDS *N_SERIES},
    [EXACT] = {"coefficients, exact", N_PAIRS},
    [F32] = {"coefficients, f32", N_PAIRS},
    [COLUMNS] = {"coefficients of columns", N_PAIRS},
    [STATS] = {"medians and ranks", N_SERIES + 5},
    [HEAT] = {"heatmap", (size_t)SIDE *SIDE},
    [DEBRIS] = {"debris in cell", N_CELLS},
    [MASS] = {"mass of the debris", 4},
    [CENTROIDS] = {"centroids", (size_t)N_CLUSTERS *POINT_COLUMNS},
    [LABELS] = {"cluster of point", N_POINTS},
};

static double bound_of(size_t part, double value)
{
    switch (part) {
    case MOMENTS:
        return 1e-12 * fmax(1, fabs(value));
    case EXACT:
    case COLUMNS:
    case STATS:
        return 2 * pearson_bound(PEARSON_EXACT, true);
    case F32:
        return 2 * pearson_bound(PEARSON_F32, true);
    case HEAT: /* averages, as float */
        return pearson_bound(PEARSON_F32, true);
    default:
        return 0;
    }
}

struct answers {
    double *part[PARTS];
};

/* One run on one backend. */
struct run {
    const struct backend_ops *ops;
    struct queue *q;
    struct room room;
    struct span by_columns, z, z_exact, panels[N_PANELS];
    struct series_rows x;
    struct moments m;
    struct matrix matrix;
    double *host; /* the series, N_SERIES * N_SAMPLES, and as many again */
};

static enum status run_open(struct backend *b, struct run *r)
{
    *r = (struct run){.ops = b->ops};
    STATUS_TRY(b->ops->queue_new(b, &r->q));
    const struct pearson_kernels *k = b->ops->pearson;
    r->room.queue = r->q;
    STATUS_TRY(room_host(&r->room, 2 * parts[WALK].n, sizeof *r->host, &r->host));
    STATUS_TRY(room_span(&r->room, parts[WALK].n, sizeof(double), &r->x.at));
    STATUS_TRY(room_span(&r->room, parts[WALK].n, sizeof(double), &r->by_columns));
    STATUS_TRY(
        room_span(&r->room, N_SERIES, k->z_bytes(r->q, PEARSON_EXACT, N_SAMPLES), &r->z_exact));
    STATUS_TRY(room_span(&r->room, N_SERIES, k->z_bytes(r->q, PEARSON_F32, N_SAMPLES), &r->z));
    STATUS_TRY(room_span(&r->room, 1, moments_bytes(N_SERIES), &r->m.at));
    for (size_t p = 0; p < N_PANELS; ++p) {
        const size_t width = matrix_panel_width(p, PANEL, N_SERIES);
        STATUS_TRY(room_span(&r->room, PANEL * width, sizeof(double), &r->panels[p]));
    }
    r->x.n_series = r->m.capacity = N_SERIES;
    r->x.n_samples = N_SAMPLES;
    r->x.type = DTYPE_F64;
    r->matrix = (struct matrix){N_SERIES, PANEL, DTYPE_F64, r->panels, 0, NULL};
    return STATUS_OK;
}

static enum status to_device(struct run *r, struct span to, const double *from, size_t n)
{
    uint64_t ticket;
    STATUS_TRY(r->ops->upload(r->q, to, from, n * sizeof(double), &ticket));
    return r->ops->upload_wait(r->q, ticket);
}

/* Walks, of which one is made constant and one gets gaps; by series and by samples. */
static enum status make_series(struct run *r, double *walk)
{
    struct philox_walk w = {.seed = 20110401, .start = 1000, .epsilon = 0.01};
    struct series_rows out = r->x;
    out.first = 7;
    STATUS_TRY(r->ops->philox->walk_rows(r->q, &w, &out));
    STATUS_TRY(r->ops->download(r->q, walk, r->x.at, parts[WALK].n * sizeof(double)));
    double *transposed = r->host + parts[WALK].n;
    memcpy(r->host, walk, parts[WALK].n * sizeof(double));
    double *constant = r->host + (size_t)CONSTANT * N_SAMPLES;
    double *gapped = r->host + (size_t)GAPPED * N_SAMPLES;
    for (size_t t = 0; t < N_SAMPLES; ++t) {
        constant[t] = 3;
        if (t % 7 == 2) {
            gapped[t] = (double)NAN;
        }
    }
    for (size_t s = 0; s < N_SERIES; ++s) {
        for (size_t t = 0; t < N_SAMPLES; ++t) {
            transposed[t * N_SERIES + s] = r->host[s * N_SAMPLES + t];
        }
    }
    const struct pearson_slab slab = {r->by_columns, DTYPE_F64, N_SERIES, N_SAMPLES};
    STATUS_TRY(to_device(r, r->by_columns, transposed, parts[WALK].n));
    return r->ops->pearson->turn(r->q, &slab, r->x.at, N_SAMPLES);
}

/* The coefficients of the panels, condensed, as doubles. */
static enum status read_matrix(struct run *r, double *out)
{
    if (r->matrix.type == DTYPE_F64) {
        return r->ops->matrix->condensed(r->q, &r->matrix, 0, N_PAIRS, out);
    }
    float narrow[N_PAIRS];
    STATUS_TRY(r->ops->matrix->condensed(r->q, &r->matrix, 0, N_PAIRS, narrow));
    for (size_t k = 0; k < N_PAIRS; ++k) {
        out[k] = (double)narrow[k];
    }
    return STATUS_OK;
}

/* Panel by panel, each with all series before it, as a job's rows arrive. */
static enum status rows(struct run *r, enum pearson_precision precision, double *out)
{
    const struct pearson_kernels *k = r->ops->pearson;
    struct span z = precision == PEARSON_EXACT ? r->z_exact : r->z;
    size_t z_row = k->z_bytes(r->q, precision, N_SAMPLES);
    size_t exact_row = k->z_bytes(r->q, PEARSON_EXACT, N_SAMPLES);
    r->matrix.type = pearson_dtype(precision);
    STATUS_TRY(r->ops->means->rows(r->q, &r->x, r->m));
    STATUS_TRY(k->standardize(r->q, precision, &r->x, r->m, z));
    for (size_t p = 0; p < N_PANELS; ++p) {
        size_t first = p * PANEL, width = matrix_panel_width(p, PANEL, N_SERIES);
        struct pearson_panel panel = {
            .precision = precision,
            .n_samples = N_SAMPLES,
            .a = {.z = span_from(z, first * z_row),
                  .x = span_from(r->x.at, first * N_SAMPLES * sizeof(double)),
                  .first = first,
                  .n = width - first},
            .b = {.z = z, .x = r->x.at, .n = width},
            .x_type = DTYPE_F64,
            .moments = r->m,
            .r = r->panels[p],
            .width = width};
        uint64_t n_unsure = 0;
        STATUS_TRY(k->gram(r->q, &panel));
        panel.a.z = span_from(r->z_exact, first * exact_row);
        panel.b.z = r->z_exact;
        STATUS_TRY(k->gram_gaps(r->q, &panel, &n_unsure));
    }
    return read_matrix(r, out);
}

/* To the accumulators of columns, or to those of gaps. */
static enum status add_slabs(struct run *r, void *state, struct column_gaps *gaps)
{
    for (size_t t = 0; t < N_SAMPLES; t += SLAB) {
        size_t n = N_SAMPLES - t < SLAB ? N_SAMPLES - t : SLAB;
        struct span slab = span_from(r->by_columns, t * N_SERIES * sizeof(double));
        STATUS_TRY(gaps != NULL ? column_gaps_add(gaps, slab, n)
                                : r->ops->pearson->columns_add(r->q, state, slab, DTYPE_F64, n));
    }
    return STATUS_OK;
}

static enum status fill_gaps(struct run *r, struct room *room)
{
    struct column_gaps gaps = {.queue = r->q,
                               .n_samples = N_SAMPLES,
                               .slab_samples = SLAB,
                               .type = DTYPE_F64,
                               .moments = r->m,
                               .matrix = r->matrix};
    bool again = true;
    STATUS_TRY(column_gaps_room(&gaps, room));
    while (again) {
        STATUS_TRY(add_slabs(r, NULL, &gaps));
        STATUS_TRY(column_gaps_end(&gaps, &again));
    }
    return STATUS_OK;
}

static enum status columns(struct run *r, double *out)
{
    const struct pearson_kernels *k = r->ops->pearson;
    struct room room = {.queue = r->q};
    void *state;
    r->matrix.type = DTYPE_F64;
    STATUS_TRY(k->columns_new(r->q, N_SERIES, SLAB, PEARSON_DIFF_NONE, &state));
    enum status st = add_slabs(r, state, NULL);
    st = st == STATUS_OK ? k->columns_finish(r->q, state, r->m, &r->matrix) : st;
    st = st == STATUS_OK ? fill_gaps(r, &room) : st;
    k->columns_free(r->q, state);
    room_free(&room);
    return st != STATUS_OK ? st : read_matrix(r, out);
}

/* Of the matrix in the panels: medians, mean, counts, a rank, and one pair by itself. */
static enum status query(struct run *r, double *stats, double *heat)
{
    const struct matrix_kernels *k = r->ops->matrix;
    struct matrix_survey survey;
    struct matrix_pair found[N_PAIRS], one = {.i = 3, .j = GAPPED};
    struct matrix_pairs pairs = {found, N_PAIRS, 0};
    float cells[SIDE * SIDE];
    uint32_t order[N_SERIES];
    const uint32_t ones[SIDE] = {7, 7, 8, 7, 8}; /* of N_SERIES */
    const struct matrix_picture picture = {SIDE, order, ones, cells};
    double *more = stats + N_SERIES;
    STATUS_TRY(k->survey(r->q, &r->matrix, &survey, stats, &more[0]));
    STATUS_TRY(k->kth_abs(r->q, &r->matrix, 20, &more[1]));
    STATUS_TRY(k->select(r->q, &r->matrix, more[1], &pairs));
    STATUS_TRY(r->ops->pearson->exact_pairs(r->q, &r->x, r->m, &one, 1));
    for (uint32_t place = 0; place < N_SERIES; ++place) {
        order[place] = N_SERIES - 1 - place;
    }
    STATUS_TRY(k->heatmap(r->q, &r->matrix, &picture));
    more[1] = pairs.n == 0 ? (double)NAN : more[1];
    more[2] = survey.mean_abs;
    more[3] = (double)(survey.n_undefined + survey.n_pairs);
    more[4] = one.r;
    for (size_t c = 0; c < parts[HEAT].n; ++c) {
        heat[c] = (double)cells[c];
    }
    return STATUS_OK;
}

/* A slope with furrows, and a heap near its foot. */
static void set_map(struct landslide *l)
{
    for (size_t k = 0; k < N_CELLS; ++k) {
        const size_t i = k / MAP_COLUMNS, j = k % MAP_COLUMNS;
        const bool in_heap = i >= 26 && i < 34 && j >= 24 && j < 41;
        const double thickness = in_heap ? 2 + 0.1 * (double)((i * j) % 11) : 0;
        (void)landslide_altitude(l, k, 300 - 1.7 * (double)i + 0.3 * (double)(j * 5 % 7), false, 1);
        (void)landslide_debris(l, k, thickness, false, 1);
    }
    (void)landslide_ready(l);
}

static enum status slide(struct run *r, double *debris, double *mass)
{
    double max_h[N_CELLS];
    int32_t arrival[N_CELLS];
    struct room room = {.queue = r->q};
    struct landslide l = {.params = {.rows = MAP_ROWS,
                                     .columns = MAP_COLUMNS,
                                     .epsilon = 0.001,
                                     .r = 0.5,
                                     .nodata = SCIDDICAT_WALL},
                          .steps = N_STEPS,
                          .h = debris,
                          .max_h = max_h,
                          .arrival = arrival};
    enum status st = landslide_room(&l, r->q, &room);
    if (st == STATUS_OK) {
        set_map(&l);
        st = landslide_run(&l, r->q, (struct executor){.run = NULL});
    }
    landslide_close(&l);
    room_free(&room);
    mass[0] = l.now.mass;
    mass[1] = l.now.lost_edge;
    mass[2] = l.now.largest;
    mass[3] = (double)l.now.n_active;
    return st;
}

static enum status clusters(struct run *r, double *centroids, double *labels)
{
    double points[N_POINTS * POINT_COLUMNS];
    int32_t label[N_POINTS];
    struct room room = {.queue = r->q};
    struct kmeans_solve s = {.request = {.n_columns = POINT_COLUMNS,
                                         .type = DTYPE_F64,
                                         .k_first = N_CLUSTERS,
                                         .k_last = N_CLUSTERS,
                                         .n_init = 2,
                                         .seed = 7,
                                         .max_iter = N_PASSES,
                                         .resident = true,
                                         .width = 1,
                                         .n_sample = N_POINTS}};
    struct kmeans_array_source x = {.solve = &s,
                                    .rows = points,
                                    .n = N_POINTS,
                                    .row_bytes = POINT_COLUMNS * sizeof(double),
                                    .labels = label};
    s.source = (struct kmeans_source){kmeans_array_visit, kmeans_array_labels, &x};
    for (size_t i = 0; i < (size_t)N_POINTS * POINT_COLUMNS; ++i) {
        points[i] = 10 * (double)(i / POINT_COLUMNS % 3) + (double)(i * i % 101) / 17;
    }
    enum status st = kmeans_solve_room(&s, &room);
    st = st == STATUS_OK ? kmeans_array_room(&x, &room) : st;
    st = st == STATUS_OK ? kmeans_solve_all(&s, &room) : st;
    for (size_t k = 0; k < parts[CENTROIDS].n && st == STATUS_OK; ++k) {
        centroids[k] = s.best.centroids[k];
    }
    for (size_t i = 0; i < N_POINTS && st == STATUS_OK; ++i) {
        labels[i] = (double)label[i];
    }
    room_free(&room);
    return st;
}

static enum status run_all(struct run *r, struct answers *a)
{
    STATUS_TRY(make_series(r, a->part[WALK]));
    STATUS_TRY(columns(r, a->part[COLUMNS]));
    STATUS_TRY(rows(r, PEARSON_EXACT, a->part[EXACT]));
    STATUS_TRY(r->ops->download(r->q, a->part[MOMENTS], r->m.at, moments_bytes(N_SERIES)));
    STATUS_TRY(query(r, a->part[STATS], a->part[HEAT]));
    STATUS_TRY(rows(r, PEARSON_F32, a->part[F32]));
    STATUS_TRY(slide(r, a->part[DEBRIS], a->part[MASS]));
    return clusters(r, a->part[CENTROIDS], a->part[LABELS]);
}

static enum status answer(struct backend *b, struct answers *a)
{
    struct run r;
    enum status st = run_open(b, &r);
    if (st == STATUS_OK) {
        st = run_all(&r, a);
    }
    room_free(&r.room);
    if (r.q != NULL) {
        r.ops->queue_free(r.q);
    }
    return st;
}

static enum status compare(const struct answers *tested, const struct answers *reference)
{
    for (size_t p = 0; p < PARTS; ++p) {
        for (size_t k = 0; k < parts[p].n; ++k) {
            double a = tested->part[p][k], b = reference->part[p][k], bound = bound_of(p, b);
            bool both_nan = a != a && b != b;
            if (!both_nan && !(fabs(a - b) <= bound)) {
                return status_fail(STATUS_DEVICE,
                                   "self-test: %s %zu is %.17g, but %.17g on the CPU (bound %g)",
                                   parts[p].what, k, a, b, bound);
            }
        }
    }
    return STATUS_OK;
}

enum status self_test(struct backend *tested, struct backend *reference)
{
    struct answers a, b;
    size_t total = 0;
    for (size_t p = 0; p < PARTS; ++p) {
        total += parts[p].n;
    }
    double *all = calloc(2 * total, sizeof *all), *next = all;
    if (all == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the self-test");
    }
    for (size_t p = 0; p < PARTS; ++p) {
        a.part[p] = next;
        b.part[p] = next + total;
        next += parts[p].n;
    }
    enum status st = answer(reference, &b);
    if (st == STATUS_OK) {
        st = answer(tested, &a);
    }
    if (st == STATUS_OK) {
        st = compare(&a, &b);
    }
    free(all);
    return st;
}
