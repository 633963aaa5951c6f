/*
 * cpu_gram - tiles of coefficients from standardized rows.
 *
 * Tiles lie on a grid of the matrix whose pitch is 512 where that gives the call LARGEST_WANTED
 * tiles, else the largest of 256, 128, 64 that gives TILES_WANTED (on an AVX-512 core DGEMM reaches
 * 82, 73, 60 and 50 GFLOP/s in tiles of two columns of those, of 85 in all); for f32, whose slices
 * are many and short, at most 128. A tile has a row of the grid and two columns (one for floats,
 * whose sums in double lie beside it in the cache), or, on the diagonal, where it takes half the
 * work, one; tiles without an element i < j are left out. While a tile is in cache its elements are
 * clamped, and made NaN where a series is degenerate.
 *
 * Errors, u = 2^-24 the unit roundoff of float, K the slice: a partial sum of a slice is rounded K
 * times, each time by at most u of its size; sizes add up to at most sum |z z'| <= 1 over slices.
 *
 * screen, K = 512: K u, 2 u from the rounding of z and z', u from that of r; for any data.
 *
 * f32, K = 26: the sums of the worst pairs, r = +-1, grow from term to term, and their mean size is
 * half the last: K u / 2 + 3 u = 16 u = 9.6e-7 even if all roundings have one sign and full size. A
 * sample that outweighs all others keeps the sums of its one slice below 1, where a rounding is at
 * most u / 2: the same.
 */
#include "kernels/cpu/cpu_lanes.h"
#include "kernels/cpu/cpu_pearson.h"
#include "kernels/cpu/cpu_product.h"
#include "kernels/pearson_rule.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { TILE_LARGEST = 512, TILE_F32 = 128, TILE_SMALLEST = 64 };
enum { LARGEST_WANTED = 12, TILES_WANTED = 3 };
enum { SLICE_F32 = 26, SLICE_SCREEN = 512 };

/* Rows j0 .. j1 - 1 with columns i0 .. i1 - 1 of the matrix. */
struct tile {
    size_t j0, j1, i0, i1;
};

struct gram_job {
    enum pearson_precision precision;
    size_t n_samples, stride;
    const void *za, *zb;
    size_t first_a, first_b;
    const double *mark_a, *mark_b; /* 0, or NaN for a degenerate series */
    void *r;
    size_t width;
    struct tile *tiles;
    size_t n_tiles;
    atomic_bool failed;
};

double cpu_screen_bound(size_t n_samples)
{
    return ((double)cpu_min(n_samples, SLICE_SCREEN) + 3) * 0x1p-24;
}

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
    size_t columns = job->precision == PEARSON_EXACT ? 2 * pitch : pitch;
    for (size_t j0 = job->first_a, j1; j0 < end_j; j0 = j1) {
        j1 = cell_end(j0, pitch, end_j);
        for (size_t i0 = job->first_b, i1; i0 < end_i && i0 + 1 < j1; i0 = i1) {
            i1 = cell_end(i0, i0 < j0 ? columns : pitch, end_i);
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
    size_t pitch = job->precision == PEARSON_F32 ? TILE_F32 : TILE_LARGEST;
    size_t wanted = pitch == TILE_LARGEST ? LARGEST_WANTED : TILES_WANTED;
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

static bool on_diagonal(const struct tile *t)
{
    return t->j0 == t->i0 && t->j1 == t->i1;
}

static void tile_f64(const struct gram_job *job, const struct tile *t)
{
    double *r = (double *)job->r + (t->j0 - job->first_a) * job->width + t->i0;
    size_t a = t->j0 - job->first_a, b = t->i0 - job->first_b;
    struct product_f64 product = {.a = (const double *)job->za + a * job->stride,
                                  .b = (const double *)job->zb + b * job->stride,
                                  .lda = job->stride,
                                  .ldb = job->stride,
                                  .n_a = t->j1 - t->j0,
                                  .n_b = t->i1 - t->i0,
                                  .n_k = job->n_samples,
                                  .c = r,
                                  .ldc = job->width,
                                  .lower = on_diagonal(t)};
    product_f64(&product);
    for (size_t j = t->j0; j < t->j1; ++j, ++a, r += job->width) {
        size_t end = cpu_min(t->i1, j);
        finish_f64(r, end > t->i0 ? end - t->i0 : 0, job->mark_a[a], job->mark_b + b);
    }
}

static void tile_f32(struct gram_job *job, const struct tile *t)
{
    size_t n_a = t->j1 - t->j0, n_b = t->i1 - t->i0;
    double *sum = cpu_scratch_try(n_a * n_b, sizeof *sum + sizeof(float));
    if (sum == NULL) {
        atomic_store(&job->failed, true);
        return;
    }
    float *r = (float *)job->r + (t->j0 - job->first_a) * job->width + t->i0;
    size_t a = t->j0 - job->first_a, b = t->i0 - job->first_b;
    struct product_f32 product = {.a = (const float *)job->za + a * job->stride,
                                  .b = (const float *)job->zb + b * job->stride,
                                  .lda = job->stride,
                                  .ldb = job->stride,
                                  .n_a = n_a,
                                  .n_b = n_b,
                                  .n_k = job->n_samples,
                                  .slice = job->precision == PEARSON_F32 ? SLICE_F32 : SLICE_SCREEN,
                                  .c = sum,
                                  .piece = (float *)(sum + n_a * n_b),
                                  .lower = on_diagonal(t)};
    product_f32(&product);
    for (size_t j = 0; j < n_a; ++j) {
        size_t end = cpu_min(t->i1, t->j0 + j);
        finish_f32(sum + j * n_b, end > t->i0 ? end - t->i0 : 0, job->mark_a[a + j],
                   job->mark_b + b, r + j * job->width);
    }
    free(sum);
}

static void gram_body(void *arg, size_t index)
{
    struct gram_job *job = arg;
    if (job->precision == PEARSON_EXACT) {
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

static enum status check(enum pearson_precision precision, size_t n_samples, struct span za,
                         size_t n_a, struct span zb, size_t n_b, struct span r, size_t width)
{
    bool exact = precision == PEARSON_EXACT;
    size_t z_row = cpu_z_stride(precision, n_samples) * (exact ? sizeof(double) : sizeof(float));
    if (n_samples > PEARSON_SAMPLES_MAX || width > product_limit) {
        return status_fail(STATUS_TOO_LARGE, "gram: more samples or series than BLAS can index");
    }
    enum status st = cpu_expect(za, n_a, z_row, "gram");
    if (st == STATUS_OK) {
        st = cpu_expect(zb, n_b, z_row, "gram");
    }
    if (st == STATUS_OK) {
        st = cpu_expect(r, n_a, width * (exact ? sizeof(double) : sizeof(float)), "gram");
    }
    return st;
}

enum status cpu_gram(struct queue *q, enum pearson_precision precision, size_t n_samples,
                     struct span za, size_t first_a, size_t n_a, struct span zb, size_t first_b,
                     size_t n_b, struct moments moments, struct span r, size_t width)
{
    enum status st = check(precision, n_samples, za, n_a, zb, n_b, r, width);
    if (st != STATUS_OK) {
        return st;
    }
    struct gram_job job = {.precision = precision,
                           .n_samples = n_samples,
                           .stride = cpu_z_stride(precision, n_samples),
                           .za = za.at,
                           .zb = zb.at,
                           .first_a = first_a,
                           .first_b = first_b,
                           .r = r.at,
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
    cpu_run(q, job.n_tiles, gram_body, &job);
    if (atomic_load(&job.failed)) {
        st = cpu_scratch_failed();
    }
    free(job.tiles);
no_tiles:
    free(marks);
    return st;
}
