/*
 * gram_cpu - tiles of coefficients from standardized rows.
 *
 * Every precision is the same product in double; f32 rounds the coefficient when it is
 * stored, which saves half of the matrix. Arithmetic in float takes as long (252 against 248 ms for
 * 8192 x 8192 on two cores), and no bound of 1e-6 on it holds for every BLAS.
 *
 * Tiles lie on a grid of the matrix whose pitch is 512 where that gives the call LARGEST_WANTED
 * tiles, else the largest of 256, 128, 64 that gives TILES_WANTED (on an AVX-512 core DGEMM reaches
 * 82, 73, 60 and 50 GFLOP/s in tiles of two columns of those, of 85 in all). A tile has a row of
 * the grid and two columns, or, on the diagonal, where it takes half the work, one; tiles without
 * an element i < j are left out. While a tile is in cache its elements are clamped, and made NaN
 * where a series is degenerate. Where there are few tiles of long series, they are cut along the
 * samples, too, into parts that are added up in order.
 *
 * Small blocks are a tile each, and a task.
 *
 * Error of r for complete series of N samples, u = 2^-53; to first order in u:
 *   product   (2048 + N / 2048) u   (product_cpu.h; sum |z z'| <= 1; parts need no more)
 *   z, z'     5 u each: two subtractions, the scale, and its product
 *   norms     5/2 (64 + N / 1024) u for both: block sums of 1024 in 32 lanes, and their correction
 *             by a mean that was off by at most half a standard deviation
 * together 6e-13 for N = 2^20. Rounding to float adds 2^-25.
 */
#include "kernels/base/product_cpu.h"
#include "kernels/pearson/pearson_cpu.h"
#include "kernels/pearson/pearson_rule.h"

#include <math.h>
#include <stdlib.h>

enum { TILE_LARGEST = 512, TILE_SMALLEST = 64 };
enum { LARGEST_WANTED = 12, TILES_WANTED = 3 };
enum { PART = 8 * PRODUCT_SLICE, PARTS_WANTED = 32 }; /* samples in a part, at least */

/* Rows j0 .. j1 - 1 with columns i0 .. i1 - 1 of the matrix. */
struct tile {
    size_t j0, j1, i0, i1;
};

struct gram_job {
    const struct pearson_panel *p;
    size_t stride;
    const double *mark_a, *mark_b; /* 0, or NaN for a degenerate series */
    struct tile *tiles;
    size_t n_parts, part, sum_cells; /* part: its samples; sum_cells: room of a tile in `sums` */
    double *sums;                    /* [tile][part] */
};

/* --- the grid -------------------------------------------------------------------------------- */

/* The end of the grid cell that holds x, within end. */
static size_t cell_end(size_t x, size_t pitch, size_t end)
{
    return cpu_min((x / pitch + 1) * pitch, end);
}

/* Fills job->tiles (or only counts, where it is NULL); whole rows of tiles at a time. */
static size_t lay_tiles(const struct gram_job *job, size_t pitch)
{
    const struct pearson_side *a = &job->p->a, *b = &job->p->b;
    size_t n = 0, end_j = a->first + a->n, end_i = b->first + b->n;
    for (size_t j0 = a->first, j1; j0 < end_j; j0 = j1) {
        j1 = cell_end(j0, pitch, end_j);
        for (size_t i0 = b->first, i1; i0 < end_i && i0 + 1 < j1; i0 = i1) {
            i1 = cell_end(i0, i0 < j0 ? 2 * pitch : pitch, end_i);
            i1 = i0 < j0 && j0 < i1 ? j0 : i1;
            if (job->tiles != NULL) {
                job->tiles[n] = (struct tile){j0, j1, i0, i1};
            }
            ++n;
        }
    }
    return n;
}

static size_t choose_pitch(const struct gram_job *job)
{
    size_t pitch = TILE_LARGEST, wanted = LARGEST_WANTED;
    while (pitch > TILE_SMALLEST && lay_tiles(job, pitch) < wanted) {
        pitch /= 2;
        wanted = TILES_WANTED;
    }
    return pitch;
}

/* --- a tile ---------------------------------------------------------------------------------- */

static void finish_f64(const double *sum, size_t n, double mark_a, const double *mark_b, double *r)
{
    for (size_t i = 0; i < n; ++i) {
        r[i] = pearson_clamp(sum[i]) + mark_a + mark_b[i];
    }
}

static void finish_f32(const double *sum, size_t n, double mark_a, const double *mark_b, float *r)
{
    for (size_t i = 0; i < n; ++i) {
        r[i] = (float)(pearson_clamp(sum[i]) + mark_a + mark_b[i]);
    }
}

/* The products of a part of the tile, into c. */
static void multiply(const struct gram_job *job, const struct tile *t, size_t part, double *c,
                     size_t ldc)
{
    const struct pearson_panel *p = job->p;
    const size_t from = part * job->part;
    struct product_f64 product = {
        .a = (const double *)p->a.z.at + (t->j0 - p->a.first) * job->stride + p->lag + from,
        .b = (const double *)p->b.z.at + (t->i0 - p->b.first) * job->stride + from,
        .lda = job->stride,
        .ldb = job->stride,
        .n_a = t->j1 - t->j0,
        .n_b = t->i1 - t->i0,
        .n_k = cpu_min(job->part, p->n_samples - p->lag - from),
        .c = c,
        .ldc = ldc,
        .lower = t->j0 == t->i0 && t->j1 == t->i1};
    product_f64(&product);
}

/* Elements i < j of the tile's row j. */
static size_t in_row(const struct tile *t, size_t j)
{
    size_t end = cpu_min(t->i1, j);
    return end > t->i0 ? end - t->i0 : 0;
}

/* The tile's elements of its products in `sum`, which may be where they belong. */
static void finish_tile(const struct gram_job *job, const struct tile *t, double *sum, size_t width)
{
    const struct pearson_panel *p = job->p;
    const double *mark_b = job->mark_b + (t->i0 - p->b.first);
    for (size_t j = t->j0; j < t->j1; ++j, sum += width) {
        const size_t n = in_row(t, j), at = (j - p->a.first) * p->width + t->i0;
        const double mark_a = job->mark_a[j - p->a.first];
        if (p->precision == PEARSON_EXACT) {
            finish_f64(sum, n, mark_a, mark_b, (double *)p->r.at + at);
        } else {
            finish_f32(sum, n, mark_a, mark_b, (float *)p->r.at + at);
        }
    }
}

static void gram_body(void *arg, size_t index, void *scratch)
{
    const struct gram_job *job = arg;
    const struct pearson_panel *p = job->p;
    const struct tile *t = &job->tiles[index];
    const bool exact = p->precision == PEARSON_EXACT;
    double *sum =
        exact ? (double *)p->r.at + (t->j0 - p->a.first) * p->width + t->i0 : (double *)scratch;
    const size_t width = exact ? p->width : t->i1 - t->i0;
    multiply(job, t, 0, sum, width);
    finish_tile(job, t, sum, width);
}

static void part_body(void *arg, size_t index)
{
    const struct gram_job *job = arg;
    const struct tile *t = &job->tiles[index / job->n_parts];
    multiply(job, t, index % job->n_parts, job->sums + index * job->sum_cells, t->i1 - t->i0);
}

static void join_body(void *arg, size_t index)
{
    const struct gram_job *job = arg;
    const struct tile *t = &job->tiles[index];
    const size_t width = t->i1 - t->i0;
    double *sum = job->sums + index * job->n_parts * job->sum_cells;
    for (size_t part = 1; part < job->n_parts; ++part) {
        const double *more = sum + part * job->sum_cells;
        for (size_t j = t->j0; j < t->j1; ++j) {
            const size_t row = (j - t->j0) * width;
            for (size_t i = 0; i < in_row(t, j); ++i) {
                sum[row + i] += more[row + i];
            }
        }
    }
    finish_tile(job, t, sum, width);
}

/* --- the call -------------------------------------------------------------------------------- */

static void fill_marks(struct moments moments, const struct pearson_side *side, double *mark)
{
    for (size_t s = 0; s < side->n; ++s) {
        mark[s] = moments_degenerate_at(moments, side->first + s) ? (double)NAN : 0.0;
    }
}

enum status cpu_check_panel(const struct pearson_panel *p, const char *what)
{
    size_t z_row = cpu_z_stride(p->n_samples) * sizeof(double);
    if (p->n_samples > PEARSON_SAMPLES_MAX || p->width > product_limit) {
        return status_fail(STATUS_TOO_LARGE, "%s: more samples or series than BLAS can index",
                           what);
    }
    if (p->part.sums.at == NULL) {
        STATUS_TRY(cpu_expect(p->a.z, p->a.n, z_row, what));
        STATUS_TRY(cpu_expect(p->b.z, p->b.n, z_row, what));
    }
    return cpu_expect(p->r, p->a.n, p->width * dtype_bytes(pearson_dtype(p->precision)), what);
}

/* Cuts n_tiles tiles of few long series, by shape alone. */
static void lay_parts(struct gram_job *job, size_t n_tiles)
{
    const size_t n = job->p->n_samples - job->p->lag,
                 wanted = n_tiles < LARGEST_WANTED ? PARTS_WANTED / cpu_max(1, n_tiles) : 1;
    job->n_parts = cpu_max(1, cpu_min(wanted, n / PART));
    job->part = cpu_pieces(cpu_pieces(n, job->n_parts), PRODUCT_SLICE) * PRODUCT_SLICE;
    job->n_parts = cpu_max(1, cpu_pieces(n, job->part));
}

/* Several tasks a tile. */
static enum status take_parts(struct queue *q, struct gram_job *job, size_t n_tiles, size_t pitch)
{
    job->sum_cells = 2 * pitch * pitch;
    STATUS_TRY(cpu_scratch(n_tiles * job->n_parts * job->sum_cells, sizeof *job->sums,
                           (void **)&job->sums));
    enum status st = cpu_run_long(q, n_tiles * job->n_parts, part_body, job);
    st = st == STATUS_OK ? cpu_run_long(q, n_tiles, join_body, job) : st;
    free(job->sums);
    return st;
}

enum status cpu_gram(struct queue *q, const struct pearson_panel *p)
{
    struct gram_job job = {.p = p, .stride = cpu_z_stride(p->n_samples)};
    double *marks = NULL;
    STATUS_TRY(cpu_check_panel(p, "gram"));
    STATUS_TRY(product_need(q));
    STATUS_TRY(cpu_scratch(p->a.n + p->b.n, sizeof *marks, (void **)&marks));
    size_t pitch = choose_pitch(&job), n_tiles = lay_tiles(&job, pitch);
    size_t sums = p->precision == PEARSON_EXACT ? 0 : 2 * pitch * pitch * sizeof(double);
    enum status st = cpu_scratch(n_tiles, sizeof *job.tiles, (void **)&job.tiles);
    if (st != STATUS_OK) {
        goto no_tiles;
    }
    (void)lay_tiles(&job, pitch);
    fill_marks(p->moments, &p->a, marks);
    fill_marks(p->moments, &p->b, marks + p->a.n);
    job.mark_a = marks;
    job.mark_b = marks + p->a.n;
    lay_parts(&job, n_tiles);
    st = job.n_parts > 1 ? take_parts(q, &job, n_tiles, pitch)
                         : cpu_run_scratch(q, n_tiles, sums, gram_body, &job);
    free(job.tiles);
no_tiles:
    free(marks);
    return st;
}

static void block_body(void *arg, size_t index)
{
    const struct pearson_blocks *b = arg;
    const size_t stride = cpu_z_stride(b->n_samples), first = index * b->size;
    const struct pearson_side side = {.z = span_from(b->z, first * stride * sizeof(double))};
    const struct pearson_panel p = {.n_samples = b->n_samples, .a = side, .b = side};
    const struct gram_job job = {.p = &p, .stride = stride, .part = b->n_samples};
    const struct tile t = {0, b->size, 0, b->size};
    multiply(&job, &t, 0, (double *)b->r.at + first * b->size, b->size);
}

enum status cpu_gram_blocks(struct queue *q, const struct pearson_blocks *b)
{
    struct pearson_blocks blocks = *b;
    const size_t rows = b->n * b->size, z = cpu_z_stride(b->n_samples) * sizeof(double);
    STATUS_TRY(product_need(q));
    STATUS_TRY(cpu_expect(b->z, rows, z, "gram of blocks"));
    STATUS_TRY(cpu_expect(b->r, rows, b->size * sizeof(double), "gram of blocks"));
    return cpu_run_long(q, b->n, block_body, &blocks);
}
