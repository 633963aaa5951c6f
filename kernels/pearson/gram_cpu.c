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
 * where a series is degenerate.
 *
 * Error of r for complete series of N samples, u = 2^-53; to first order in u:
 *   product   (2048 + N / 2048) u   (product_cpu.h; sum |z z'| <= 1)
 *   z, z'     5 u each: two subtractions, the scale, and its product
 *   norms     5/2 (64 + N / 1024) u for both: block sums of 1024 in 32 lanes, and their correction
 *             by a mean that was off by at most half a standard deviation
 * together 6e-13 for N = 2^20. Rounding to float adds 2^-25.
 */
#include "kernels/base/product_cpu.h"
#include "kernels/pearson/pearson_cpu.h"
#include "kernels/pearson/pearson_rule.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { TILE_LARGEST = 512, TILE_SMALLEST = 64 };
enum { LARGEST_WANTED = 12, TILES_WANTED = 3 };

/* Rows j0 .. j1 - 1 with columns i0 .. i1 - 1 of the matrix. */
struct tile {
    size_t j0, j1, i0, i1;
};

struct gram_job {
    size_t n_samples, stride;
    const double *za, *zb;
    size_t first_a, first_b;
    const double *mark_a, *mark_b; /* 0, or NaN for a degenerate series */
    void *r;
    enum dtype type; /* of r */
    size_t width;
    struct tile *tiles;
    size_t n_tiles;
    atomic_bool failed;
};

/* --- the grid -------------------------------------------------------------------------------- */

/* The end of the grid cell that holds x, within end. */
static size_t cell_end(size_t x, size_t pitch, size_t end)
{
    return cpu_min((x / pitch + 1) * pitch, end);
}

/* Fills job->tiles (or only counts, where it is NULL); whole rows of tiles at a time. */
static size_t lay_tiles(struct gram_job *job, size_t n_a, size_t n_b, size_t pitch)
{
    size_t n = 0, end_j = job->first_a + n_a, end_i = job->first_b + n_b;
    for (size_t j0 = job->first_a, j1; j0 < end_j; j0 = j1) {
        j1 = cell_end(j0, pitch, end_j);
        for (size_t i0 = job->first_b, i1; i0 < end_i && i0 + 1 < j1; i0 = i1) {
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

static size_t choose_pitch(struct gram_job *job, size_t n_a, size_t n_b)
{
    size_t pitch = TILE_LARGEST, wanted = LARGEST_WANTED;
    while (pitch > TILE_SMALLEST && lay_tiles(job, n_a, n_b, pitch) < wanted) {
        pitch /= 2;
        wanted = TILES_WANTED;
    }
    return pitch;
}

/* --- a tile ---------------------------------------------------------------------------------- */

static void finish_f64(double *r, size_t n, double mark_a, const double *mark_b)
{
    for (size_t i = 0; i < n; ++i) {
        r[i] = pearson_clamp(r[i]) + mark_a + mark_b[i];
    }
}

static void finish_f32(const double *sum, size_t n, double mark_a, const double *mark_b, float *r)
{
    for (size_t i = 0; i < n; ++i) {
        r[i] = (float)(pearson_clamp(sum[i]) + mark_a + mark_b[i]);
    }
}

/* The tile's products, into c. */
static void multiply(const struct gram_job *job, const struct tile *t, double *c, size_t ldc)
{
    struct product_f64 product = {.a = job->za + (t->j0 - job->first_a) * job->stride,
                                  .b = job->zb + (t->i0 - job->first_b) * job->stride,
                                  .lda = job->stride,
                                  .ldb = job->stride,
                                  .n_a = t->j1 - t->j0,
                                  .n_b = t->i1 - t->i0,
                                  .n_k = job->n_samples,
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

static void tile_f64(const struct gram_job *job, const struct tile *t)
{
    double *r = (double *)job->r + (t->j0 - job->first_a) * job->width + t->i0;
    multiply(job, t, r, job->width);
    for (size_t j = t->j0; j < t->j1; ++j, r += job->width) {
        finish_f64(r, in_row(t, j), job->mark_a[j - job->first_a],
                   job->mark_b + (t->i0 - job->first_b));
    }
}

static void tile_f32(struct gram_job *job, const struct tile *t)
{
    size_t n_b = t->i1 - t->i0;
    double *sum = cpu_scratch_try((t->j1 - t->j0) * n_b, sizeof *sum);
    if (sum == NULL) {
        atomic_store(&job->failed, true);
        return;
    }
    float *r = (float *)job->r + (t->j0 - job->first_a) * job->width + t->i0;
    multiply(job, t, sum, n_b);
    for (size_t j = t->j0; j < t->j1; ++j, r += job->width) {
        finish_f32(sum + (j - t->j0) * n_b, in_row(t, j), job->mark_a[j - job->first_a],
                   job->mark_b + (t->i0 - job->first_b), r);
    }
    free(sum);
}

static void gram_body(void *arg, size_t index)
{
    struct gram_job *job = arg;
    if (job->type == DTYPE_F64) {
        tile_f64(job, &job->tiles[index]);
    } else {
        tile_f32(job, &job->tiles[index]);
    }
}

/* --- the call -------------------------------------------------------------------------------- */

static void fill_marks(struct moments moments, size_t first, size_t n, double *mark)
{
    for (size_t s = 0; s < n; ++s) {
        mark[s] = cpu_degenerate(moments, first + s) ? (double)NAN : 0.0;
    }
}

static enum status check(enum dtype type, size_t n_samples, struct span za, size_t n_a,
                         struct span zb, size_t n_b, struct span r, size_t width)
{
    size_t z_row = cpu_z_stride(n_samples) * sizeof(double);
    if (n_samples > PEARSON_SAMPLES_MAX || width > product_limit) {
        return status_fail(STATUS_TOO_LARGE, "gram: more samples or series than BLAS can index");
    }
    enum status st = cpu_expect(za, n_a, z_row, "gram");
    if (st == STATUS_OK) {
        st = cpu_expect(zb, n_b, z_row, "gram");
    }
    if (st == STATUS_OK) {
        st = cpu_expect(r, n_a, width * dtype_bytes(type), "gram");
    }
    return st;
}

enum status cpu_gram(struct queue *q, enum pearson_precision precision, size_t n_samples,
                     struct span za, size_t first_a, size_t n_a, struct span zb, size_t first_b,
                     size_t n_b, struct moments moments, struct span r, size_t width)
{
    enum dtype type = precision == PEARSON_EXACT ? DTYPE_F64 : DTYPE_F32;
    enum status st = check(type, n_samples, za, n_a, zb, n_b, r, width);
    if (st != STATUS_OK) {
        return st;
    }
    struct gram_job job = {.n_samples = n_samples,
                           .stride = cpu_z_stride(n_samples),
                           .za = za.at,
                           .zb = zb.at,
                           .first_a = first_a,
                           .first_b = first_b,
                           .r = r.at,
                           .type = type,
                           .width = width};
    size_t pitch = choose_pitch(&job, n_a, n_b);
    job.n_tiles = lay_tiles(&job, n_a, n_b, pitch);
    double *marks = NULL;
    st = cpu_scratch(n_a + n_b, sizeof *marks, (void **)&marks);
    if (st != STATUS_OK) {
        return st;
    }
    st = cpu_scratch(job.n_tiles, sizeof *job.tiles, (void **)&job.tiles);
    if (st != STATUS_OK) {
        goto no_tiles;
    }
    (void)lay_tiles(&job, n_a, n_b, pitch);
    fill_marks(moments, first_a, n_a, marks);
    fill_marks(moments, first_b, n_b, marks + n_a);
    job.mark_a = marks;
    job.mark_b = marks + n_a;
    st = cpu_run_long(q, job.n_tiles, gram_body, &job);
    if (atomic_load(&job.failed)) {
        st = cpu_scratch_failed();
    }
    free(job.tiles);
no_tiles:
    free(marks);
    return st;
}
