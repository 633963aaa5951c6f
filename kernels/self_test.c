/*
 * self_test - the same small problem on two backends, answers compared.
 *
 * N_SERIES walks of N_SAMPLES samples, one of them constant, one with gaps, go through every way
 * that a job takes: walk, moments, rows at all precisions, gaps, columns, and the questions to the
 * matrix; and a heap of debris slides down a furrowed slope and off the map. The sizes are odd, so
 * that the edges of tiles and vectors are part of it. The answers of a backend are one array of
 * doubles; equal NaNs agree.
 */
#include "kernels/self_test.h"

#include "kernels/means/means.h"
#include "kernels/pearson/pearson.h"
#include "kernels/philox/philox.h"
#include "kernels/sciddicat/sciddicat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_SERIES = 37, N_SAMPLES = 301, PANEL = 16, N_PANELS = 3, SIDE = 5, SLAB = 100 };
enum { N_PAIRS = N_SERIES * (N_SERIES - 1) / 2, CONSTANT = 5, GAPPED = 11 };
enum { MAP_ROWS = 41, MAP_COLUMNS = 67, N_CELLS = MAP_ROWS * MAP_COLUMNS, N_STEPS = 90 };

/* Parts of the answer, and how far two backends may lie apart in them. A coefficient's bound holds
 * for both sides, so that twice as much may lie between them.
 * Moments are right to some hundred roundings, relatively. Figures inherit the bound of the matrix,
 * which is that of missing values. */
struct part {
    const char *what;
    size_t n;
    double bound;
};
enum { WALK, MOMENTS, EXACT, F32, COLUMNS, FIGURES, HEAT, DEBRIS, BOOKS, PARTS };
static const struct part parts[PARTS] = {
    [WALK] = {"walk", (size_t)N_SERIES *N_SAMPLES, 0},
    [MOMENTS] = {"moments", (size_t)MOMENTS_FIELDS *N_SERIES, 1e-12},
    [EXACT] = {"coefficients, exact", N_PAIRS, 2e-10},
    [F32] = {"coefficients, f32", N_PAIRS, 2e-6},
    [COLUMNS] = {"coefficients of columns", N_PAIRS, 2e-10},
    [FIGURES] = {"medians and ranks", N_SERIES + 5, 2e-10},
    [HEAT] = {"heatmap", (size_t)SIDE *SIDE, 1e-6},
    [DEBRIS] = {"debris in cell", N_CELLS, 0},
    [BOOKS] = {"books of the debris", 4, 0},
};

struct answers {
    double *part[PARTS];
};

/* One run on one backend. */
struct run {
    const struct backend_ops *ops;
    struct queue *q;
    struct span x, by_columns, z, z_exact, moments, panels[N_PANELS];
    struct moments m;
    struct matrix matrix;
    double *host; /* the series, N_SERIES * N_SAMPLES */
};

static void run_close(struct run *r)
{
    if (r->q == NULL) {
        return;
    }
    struct span spans[] = {r->x, r->by_columns, r->z, r->z_exact, r->moments};
    for (size_t k = 0; k < sizeof spans / sizeof *spans; ++k) {
        r->ops->release(r->q, spans[k]);
    }
    for (size_t p = 0; p < N_PANELS; ++p) {
        r->ops->release(r->q, r->panels[p]);
    }
    r->ops->queue_free(r->q);
    free(r->host);
}

static enum status run_open(struct backend *b, struct run *r)
{
    *r = (struct run){.ops = b->ops};
    const struct pearson_kernels *k = b->ops->pearson;
    size_t bytes = (size_t)N_SERIES * N_SAMPLES * sizeof(double);
    enum status st = b->ops->queue_new(b, &r->q);
    if (st != STATUS_OK) {
        return st;
    }
    r->host = malloc(bytes);
    if (r->host == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the self-test");
    }
    struct {
        size_t bytes;
        struct span *out;
    } want[] = {{bytes, &r->x},
                {bytes, &r->by_columns},
                {N_SERIES * k->z_bytes(PEARSON_EXACT, N_SAMPLES), &r->z_exact},
                {N_SERIES * k->z_bytes(PEARSON_F32, N_SAMPLES), &r->z},
                {moments_bytes(N_SERIES), &r->moments}};
    for (size_t i = 0; i < sizeof want / sizeof *want && st == STATUS_OK; ++i) {
        st = r->ops->alloc(r->q, want[i].bytes, want[i].out);
    }
    for (size_t p = 0; p < N_PANELS && st == STATUS_OK; ++p) {
        size_t width = matrix_panel_width(p, PANEL, N_SERIES);
        st = r->ops->alloc(r->q, PANEL * width * sizeof(double), &r->panels[p]);
    }
    r->m = (struct moments){r->moments, N_SERIES};
    r->matrix = (struct matrix){N_SERIES, PANEL, DTYPE_F64, r->panels};
    return st;
}

static enum status to_device(struct run *r, struct span to, const double *from, size_t n)
{
    uint64_t ticket;
    enum status st = r->ops->upload(r->q, to, from, n * sizeof(double), &ticket);
    return st != STATUS_OK ? st : r->ops->upload_wait(r->q, ticket);
}

/* Walks, of which one is made constant and one gets gaps; by series and by samples. */
static enum status make_series(struct run *r, double *walk)
{
    struct philox_walk w = {.seed = 20110401, .start = 1000, .epsilon = 0.01};
    enum status st = r->ops->philox->walk_rows(r->q, &w, 7, N_SERIES, N_SAMPLES, DTYPE_F64, r->x);
    if (st == STATUS_OK) {
        st = r->ops->download(r->q, walk, r->x, parts[WALK].n * sizeof(double));
    }
    if (st != STATUS_OK) {
        return st;
    }
    double *turned = malloc(parts[WALK].n * sizeof(double));
    if (turned == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the self-test");
    }
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
            turned[t * N_SERIES + s] = r->host[s * N_SAMPLES + t];
        }
    }
    st = to_device(r, r->x, r->host, parts[WALK].n);
    if (st == STATUS_OK) {
        st = to_device(r, r->by_columns, turned, parts[WALK].n);
    }
    free(turned);
    return st;
}

/* The coefficients of the panels, condensed, as doubles. */
static enum status read_matrix(struct run *r, double *out)
{
    if (r->matrix.type == DTYPE_F64) {
        return r->ops->matrix->condensed(r->q, &r->matrix, 0, N_PAIRS, out);
    }
    float narrow[N_PAIRS];
    enum status st = r->ops->matrix->condensed(r->q, &r->matrix, 0, N_PAIRS, narrow);
    for (size_t k = 0; k < N_PAIRS && st == STATUS_OK; ++k) {
        out[k] = (double)narrow[k];
    }
    return st;
}

/* Panel by panel, each with all series before it, as a job's rows arrive. */
static enum status rows(struct run *r, enum pearson_precision precision, double *out)
{
    const struct pearson_kernels *k = r->ops->pearson;
    bool exact = precision == PEARSON_EXACT;
    struct span z = exact ? r->z_exact : r->z;
    size_t z_row = k->z_bytes(precision, N_SAMPLES),
           exact_row = k->z_bytes(PEARSON_EXACT, N_SAMPLES);
    r->matrix.type = exact ? DTYPE_F64 : DTYPE_F32;
    enum status st = r->ops->means->rows(r->q, r->x, DTYPE_F64, N_SERIES, N_SAMPLES, r->m, 0);
    if (st == STATUS_OK) {
        st = k->standardize(r->q, precision, r->x, DTYPE_F64, N_SERIES, N_SAMPLES, r->m, 0, z);
    }
    for (size_t p = 0; p < N_PANELS && st == STATUS_OK; ++p) {
        size_t first = p * PANEL, width = matrix_panel_width(p, PANEL, N_SERIES);
        st = k->gram(r->q, precision, N_SAMPLES, span_from(z, first * z_row), first, width - first,
                     z, 0, width, r->m, r->panels[p], width);
        struct pearson_side a = {.z = span_from(r->z_exact, first * exact_row),
                                 .x = span_from(r->x, first * N_SAMPLES * sizeof(double)),
                                 .first = first,
                                 .n = width - first};
        struct pearson_side b = {.z = r->z_exact, .x = r->x, .n = width};
        uint64_t n_unsure = 0;
        if (st == STATUS_OK) {
            st = k->gram_gaps(r->q, N_SAMPLES, &a, &b, DTYPE_F64, r->m, r->panels[p], width,
                              r->matrix.type, &n_unsure);
        }
    }
    return st != STATUS_OK ? st : read_matrix(r, out);
}

static enum status columns(struct run *r, double *out)
{
    const struct pearson_kernels *k = r->ops->pearson;
    void *state;
    r->matrix.type = DTYPE_F64;
    enum status st = k->columns_new(r->q, N_SERIES, SLAB, PEARSON_DIFF_NONE, &state);
    if (st != STATUS_OK) {
        return st;
    }
    for (size_t t = 0; t < N_SAMPLES && st == STATUS_OK; t += SLAB) {
        size_t n = N_SAMPLES - t < SLAB ? N_SAMPLES - t : SLAB;
        st = k->columns_add(r->q, state, span_from(r->by_columns, t * N_SERIES * sizeof(double)),
                            DTYPE_F64, n);
    }
    if (st == STATUS_OK) {
        st = k->columns_finish(r->q, state, r->m, &r->matrix);
    }
    k->columns_free(r->q, state);
    return st != STATUS_OK ? st : read_matrix(r, out);
}

/* Of the matrix in the panels: medians, mean, counts, a rank, and one pair taken by itself. */
static enum status questions(struct run *r, double *figures, double *heat)
{
    const struct matrix_kernels *k = r->ops->matrix;
    struct matrix_survey survey;
    struct matrix_pair pairs[N_PAIRS], one = {.i = 3, .j = GAPPED};
    float cells[SIDE * SIDE];
    double *rest = figures + N_SERIES;
    size_t n = 0;
    enum status st = k->survey(r->q, &r->matrix, &survey, figures, &rest[0]);
    if (st == STATUS_OK) {
        st = k->kth_abs(r->q, &r->matrix, 20, &rest[1]);
    }
    if (st == STATUS_OK) {
        st = k->select(r->q, &r->matrix, rest[1], pairs, N_PAIRS, &n);
    }
    if (st == STATUS_OK) {
        st = r->ops->pearson->exact_pairs(r->q, r->x, DTYPE_F64, N_SAMPLES, r->m, &one, 1);
    }
    if (st == STATUS_OK) {
        st = k->heatmap(r->q, &r->matrix, SIDE, cells);
    }
    if (st != STATUS_OK) {
        return st;
    }
    rest[1] = n == 0 ? (double)NAN : rest[1];
    rest[2] = survey.mean_abs;
    rest[3] = (double)(survey.n_undefined + survey.n_pairs);
    rest[4] = one.r;
    for (size_t c = 0; c < parts[HEAT].n; ++c) {
        heat[c] = (double)cells[c];
    }
    return STATUS_OK;
}

/* A slope with furrows, and a heap near its foot. */
static enum status put_map(struct run *r, struct span z, struct span h)
{
    double altitude[N_CELLS], thickness[N_CELLS];
    for (size_t k = 0; k < N_CELLS; ++k) {
        const size_t i = k / MAP_COLUMNS, j = k % MAP_COLUMNS;
        const bool in_heap = i >= 26 && i < 34 && j >= 24 && j < 41;
        altitude[k] = 300 - 1.7 * (double)i + 0.3 * (double)(j * 5 % 7);
        thickness[k] = in_heap ? 2 + 0.1 * (double)((i * j) % 11) : 0;
    }
    enum status st = to_device(r, z, altitude, N_CELLS);
    return st != STATUS_OK ? st : to_device(r, h, thickness, N_CELLS);
}

static enum status slide(struct run *r, struct span z, struct span h, double *debris, double *books)
{
    const struct sciddicat_kernels *k = r->ops->sciddicat;
    const struct sciddicat_params p = {.rows = MAP_ROWS,
                                       .columns = MAP_COLUMNS,
                                       .epsilon = 0.001,
                                       .r = 0.5,
                                       .nodata = SCIDDICAT_WALL};
    struct sciddicat_report report = {0};
    void *state = NULL;
    enum status st = k->open(r->q, &p, &(struct sciddicat_input){.z = z, .h = h}, &state);
    if (st == STATUS_OK) {
        st = k->advance(r->q, state, N_STEPS, &report);
    }
    if (st == STATUS_OK) {
        st = k->state(r->q, state, debris, NULL, NULL);
    }
    k->close(r->q, state);
    books[0] = report.mass;
    books[1] = report.lost_edge;
    books[2] = report.largest;
    books[3] = (double)report.n_active;
    return st;
}

static enum status landslide(struct run *r, double *debris, double *books)
{
    struct span z = {0}, h = {0};
    enum status st = r->ops->alloc(r->q, N_CELLS * sizeof(double), &z);
    if (st == STATUS_OK) {
        st = r->ops->alloc(r->q, N_CELLS * sizeof(double), &h);
    }
    if (st == STATUS_OK) {
        st = put_map(r, z, h);
    }
    if (st == STATUS_OK) {
        st = slide(r, z, h, debris, books);
    }
    r->ops->release(r->q, z);
    r->ops->release(r->q, h);
    return st;
}

static enum status answer(struct backend *b, struct answers *a)
{
    struct run r;
    enum status st = run_open(b, &r);
    if (st == STATUS_OK) {
        st = make_series(&r, a->part[WALK]);
    }
    if (st == STATUS_OK) {
        st = columns(&r, a->part[COLUMNS]);
    }
    if (st == STATUS_OK) {
        st = rows(&r, PEARSON_EXACT, a->part[EXACT]);
    }
    if (st == STATUS_OK) {
        st = r.ops->download(r.q, a->part[MOMENTS], r.moments, moments_bytes(N_SERIES));
    }
    if (st == STATUS_OK) {
        st = questions(&r, a->part[FIGURES], a->part[HEAT]);
    }
    if (st == STATUS_OK) {
        st = rows(&r, PEARSON_F32, a->part[F32]);
    }
    if (st == STATUS_OK) {
        st = landslide(&r, a->part[DEBRIS], a->part[BOOKS]);
    }
    run_close(&r);
    return st;
}

static enum status compare(const struct answers *tested, const struct answers *reference)
{
    for (size_t p = 0; p < PARTS; ++p) {
        for (size_t k = 0; k < parts[p].n; ++k) {
            double a = tested->part[p][k], b = reference->part[p][k];
            bool both_nan = a != a && b != b;
            double bound = parts[p].bound;
            bound *= p == MOMENTS ? fmax(1, fabs(b)) : 1;
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
