/*
 * test_pearson_bounds - the stated bounds hold for any data: every kernel of products, and the
 * moments, on hostile series, on the backend LEAT_TEST_BACKEND. Prints the largest error in parts
 * of the bound, a line a kind and number of samples, a column a kernel.
 *
 * Kernels choose their way by the data (digits or doubles) and by the sizes (tiles, chunks, splits,
 * slabs); the sizes here are meant to reach every one of them. A new kernel is a line in `kernels`,
 * a new kind one in hostile_series.c. Kinds with missing samples go to the kernels that say so.
 * ctest: long small=watched asan=soak optimize again_cuda=blas:LEAT_CUDA_WGMMA=0
 */
#include "kernels/pearson/pearson.h"
#include "tests/support/columns_runner.h"
#include "tests/support/hostile_series.h"
#include "tests/support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One input, and what is right for it. */
struct series {
    const struct hostile_kind *kind;
    size_t n_series, n_samples, panel;
    enum dtype type;
    double *x;
    double *r; /* condensed */
    struct reference_moments *moments;
};

/* What came out: coefficients (condensed), and moments where a kernel has some to show. */
struct answer {
    double *r, *moments;
};

struct kernel {
    const char *name;
    void (*take)(const struct kernel *kernel, const struct series *in, struct answer *out);
    enum pearson_precision precision;
    size_t slab;   /* samples; 0: all */
    bool has_gaps; /* takes missing samples */
};

static void *room(size_t n, size_t each)
{
    void *p = calloc(n + 1, each);
    assert_non_null(p);
    return p;
}

static size_t n_pairs(size_t n_series)
{
    return n_series * (n_series - 1) / 2;
}

/* --- the kernels ----------------------------------------------------------------------------- */

struct rows {
    struct series_rows x;
    struct moments moments;
};

static struct rows rows_put(const struct series *in)
{
    struct rows r = {
        {under_test_put_numbers(in->x, in->n_series * in->n_samples, in->type), in->type,
         in->n_series, in->n_samples, 0, 0},
        {.at = under_test_room(moments_bytes(in->n_series)), .capacity = in->n_series}};
    ASSERT_OK(under_test_ops()->means->rows(under_test_queue, &r.x, r.moments));
    return r;
}

static void rows_done(const struct rows *r, struct answer *out)
{
    under_test_get(out->moments, r->moments.at, moments_bytes(r->moments.capacity));
    under_test_release(r->moments.at);
    under_test_release(r->x.at);
}

/* Panel p with all series up to its own; z has `row` bytes a series. */
static struct pearson_panel panel_of(const struct kernel *kernel, const struct series *in,
                                     const struct rows *rows, const struct under_test_matrix *m,
                                     struct span z, size_t row, size_t p)
{
    const size_t x_row = in->n_samples * dtype_bytes(in->type);
    const size_t first = p * in->panel, width = matrix_panel_width(p, in->panel, in->n_series);
    return (struct pearson_panel){.precision = kernel->precision,
                                  .n_samples = in->n_samples,
                                  .a = {span_from(z, first * row),
                                        span_from(rows->x.at, first * x_row), first, width - first},
                                  .b = {z, rows->x.at, 0, width},
                                  .x_type = in->type,
                                  .moments = rows->moments,
                                  .r = m->panels[p],
                                  .width = width};
}

/* standardize, and gram of every panel. */
static struct under_test_matrix multiply(const struct kernel *kernel, const struct series *in,
                                         const struct rows *rows)
{
    const struct pearson_kernels *k = under_test_ops()->pearson;
    const size_t row = k->z_bytes(under_test_queue, kernel->precision, in->n_samples);
    struct span z;
    struct under_test_matrix m =
        under_test_matrix(in->n_series, in->panel, pearson_dtype(kernel->precision));
    ASSERT_OK(under_test_ops()->alloc(under_test_queue, in->n_series * row, &z));
    ASSERT_OK(k->standardize(under_test_queue, kernel->precision, &rows->x, rows->moments, z));
    for (size_t p = 0; p < m.n_panels; ++p) {
        const struct pearson_panel panel = panel_of(kernel, in, rows, &m, z, row, p);
        ASSERT_OK(k->gram(under_test_queue, &panel));
    }
    under_test_release(z);
    return m;
}

static void take_rows(const struct kernel *kernel, const struct series *in, struct answer *out)
{
    struct rows rows = rows_put(in);
    struct under_test_matrix m = multiply(kernel, in, &rows);
    under_test_condensed(&m, out->r);
    under_test_matrix_done(&m);
    rows_done(&rows, out);
}

/* Every panel, then the pairs with gaps in it once more, from the series where z does not tell. */
static void take_gaps(const struct kernel *kernel, const struct series *in, struct answer *out)
{
    const struct pearson_kernels *k = under_test_ops()->pearson;
    const size_t row = k->z_bytes(under_test_queue, PEARSON_EXACT, in->n_samples);
    struct rows rows = rows_put(in);
    struct under_test_matrix m = multiply(kernel, in, &rows);
    struct span z;
    uint64_t n_unsure = 0;
    ASSERT_OK(under_test_ops()->alloc(under_test_queue, in->n_series * row, &z));
    ASSERT_OK(k->standardize(under_test_queue, PEARSON_EXACT, &rows.x, rows.moments, z));
    for (size_t p = 0; p < m.n_panels; ++p) {
        const struct pearson_panel panel = panel_of(kernel, in, &rows, &m, z, row, p);
        ASSERT_OK(k->gram_gaps(under_test_queue, &panel, &n_unsure));
    }
    assert_int_equal(n_unsure, 0);
    under_test_release(z);
    under_test_condensed(&m, out->r);
    under_test_matrix_done(&m);
    rows_done(&rows, out);
}

static void take_pairs(const struct kernel *kernel, const struct series *in, struct answer *out)
{
    struct rows rows = rows_put(in);
    struct under_test_matrix m = multiply(kernel, in, &rows);
    struct matrix_pair *pairs = room(n_pairs(in->n_series), sizeof *pairs);
    size_t n = 0;
    for (uint32_t i = 0; i < in->n_series; ++i) {
        for (uint32_t j = i + 1; j < in->n_series; ++j) {
            pairs[n++] = (struct matrix_pair){i, j, 0};
        }
    }
    ASSERT_OK(
        under_test_ops()->pearson->exact_pairs(under_test_queue, &rows.x, rows.moments, pairs, n));
    for (size_t k = 0; k < n; ++k) {
        out->r[k] = pairs[k].r;
    }
    free(pairs);
    under_test_matrix_done(&m);
    rows_done(&rows, out);
}

/* once: few series take their gaps with the rest. */
static void take_slabs(const struct kernel *kernel, const struct series *in, bool once,
                       struct answer *out)
{
    const size_t n = in->n_series, whole = in->n_samples;
    const struct columns_table table = {
        .n_series = n,
        .n_samples = whole,
        .slab = kernel->slab > 0 && kernel->slab < whole ? kernel->slab : whole,
        .type = in->type,
        .x = in->x,
        .once = once};
    struct moments moments = {.at = under_test_room(moments_bytes(n)), .capacity = n};
    struct under_test_matrix m = under_test_matrix(n, in->panel, DTYPE_F64);
    const size_t n_passes = columns_run(&table, moments, &m.m, NULL, 0);
    assert_true(n_passes <= 4);
    under_test_condensed(&m, out->r);
    under_test_get(out->moments, moments.at, moments_bytes(n));
    under_test_matrix_done(&m);
    under_test_release(moments.at);
}

static void take_columns(const struct kernel *kernel, const struct series *in, struct answer *out)
{
    take_slabs(kernel, in, false, out);
}

static void take_few(const struct kernel *kernel, const struct series *in, struct answer *out)
{
    take_slabs(kernel, in, true, out);
}

static const struct kernel kernels[] = {
    {"exact", take_rows, PEARSON_EXACT, 0, false},
    {"f32", take_rows, PEARSON_F32, 0, false},
    {"pairs", take_pairs, PEARSON_F32, 0, false},
    {"columns", take_columns, PEARSON_EXACT, (size_t)1 << 19, false},
    {".. of 5000", take_columns, PEARSON_EXACT, 5000, false},
    {".. of 256", take_columns, PEARSON_EXACT, 256, false},
    {"gaps", take_gaps, PEARSON_EXACT, 0, true},
    {".. f32", take_gaps, PEARSON_F32, 0, true},
    {".. pairs", take_pairs, PEARSON_F32, 0, true},
    {".. columns", take_columns, PEARSON_EXACT, (size_t)1 << 19, true},
    {".. of 256", take_columns, PEARSON_EXACT, 256, true},
    {".. few", take_few, PEARSON_EXACT, (size_t)1 << 19, true},
    {".. of 256", take_few, PEARSON_EXACT, 256, true},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* What the coefficients of a kernel promise: those of pairs and of columns are exact. */
static double bound_of(const struct kernel *kernel)
{
    return pearson_bound(kernel->take == take_pairs ? PEARSON_EXACT : kernel->precision,
                         kernel->has_gaps);
}

/* --- the judgement --------------------------------------------------------------------------- */

/* The error in parts of the bound; infinite where one is NaN and the other is not. */
static double part(double got, double want, double bound)
{
    if (isnan(got) || isnan(want)) {
        return isnan(got) && isnan(want) ? 0 : (double)INFINITY;
    }
    return got == want ? 0 : fabs(got - want) / bound;
}

/* MEAN and M2, within what kernels/means/means.h states. M2 of values whose squares leave the
 * doubles is what it may be. */
static double judge_moments(const struct series *in, const double *got)
{
    double worst = 0;
    for (size_t s = 0; s < in->n_series; ++s) {
        const struct reference_moments *m = in->moments + s;
        const double mean = got[MOMENTS_MEAN * in->n_series + s];
        const double m2 = got[MOMENTS_M2 * in->n_series + s];
        /* once more the rounding of the mean: that of the right one */
        const double of_mean = 0x1p-52 * fabs(m->mean) + 0x1p-45 * (m->max - m->min) + 0x1p-1070;
        worst = fmax(worst, part(mean, m->mean, of_mean));
        worst = fmax(worst, in->kind->lost ? 0 : part(m2, m->m2, 1e-12 * m->m2));
    }
    return worst;
}

static double judge(const struct kernel *kernel, const struct series *in, const struct answer *got)
{
    double worst = judge_moments(in, got->moments);
    for (size_t k = 0; k < n_pairs(in->n_series); ++k) {
        worst = fmax(worst, part(got->r[k], in->r[k], bound_of(kernel)));
        worst = fabs(got->r[k]) > 1 ? (double)INFINITY : worst;
    }
    return worst;
}

static struct answer answer_of(const struct kernel *kernel, const struct series *in)
{
    struct answer a = {room(n_pairs(in->n_series), sizeof(double)),
                       room(MOMENTS_FIELDS * in->n_series, sizeof(double))};
    kernel->take(kernel, in, &a);
    return a;
}

static void answer_done(struct answer *a)
{
    free(a->r);
    free(a->moments);
}

/* Full sizes on the CPU, which has one way for many of them: fewer kinds are tried at those that
 * take long, and hundreds of slabs are enough, unless $LEAT_TEST_LARGE is set. */
static bool is_quick(void)
{
    return under_test_is_quick() && under_test_size(1, 0) == 1;
}

static bool is_for(const struct kernel *kernel, const struct series *in)
{
    return kernel->has_gaps == in->kind->has_gaps &&
           (kernel->take != take_few || in->n_series <= under_test_ops()->pearson->columns_few) &&
           !(is_quick() && kernel->slab > 0 && in->n_samples / kernel->slab > 1000);
}

/* A line of the table; the number of kernels that failed. The second answer, by another number of
 * threads, has the same bits. */
static int judge_kernels(const struct series *in)
{
    int failed = 0;
    print_message("%-24s %s %8zu", in->kind->name, in->type == DTYPE_F64 ? "f64" : "f32",
                  in->n_samples);
    for (size_t k = 0; k < KERNELS; ++k) {
        if (!is_for(kernels + k, in)) {
            print_message(" %9s", "");
            continue;
        }
        under_test_threads(3);
        struct answer one = answer_of(kernels + k, in);
        under_test_threads(1);
        struct answer two = answer_of(kernels + k, in);
        const double worst = judge(kernels + k, in, &one);
        const bool same =
            memcmp(one.r, two.r, n_pairs(in->n_series) * sizeof *one.r) == 0 &&
            memcmp(one.moments, two.moments, MOMENTS_LAG1 * in->n_series * sizeof(double)) == 0;
        print_message(" %8.2g%c", worst, same ? (worst < 1 ? ' ' : '!') : '?');
        failed += !(worst < 1) || !same;
        answer_done(&one);
        answer_done(&two);
    }
    print_message("\n");
    return failed;
}

/* --- the right answers ----------------------------------------------------------------------- */

static void right_coefficients(const struct series *in)
{
    const size_t n = in->n_samples;
    double *r = in->r;
    if (in->kind->has_gaps) {
        reference_condensed(in->x, in->n_series, n, r);
        return;
    }
    long double *z = room(in->n_series * n, sizeof *z);
    for (size_t s = 0; s < in->n_series; ++s) {
        reference_unit(in->x + s * n, n, z + s * n);
    }
    for (size_t i = 0; i < in->n_series; ++i) {
        for (size_t j = i + 1; j < in->n_series; ++j, ++r) {
            *r = in->kind->lost ? (double)NAN : reference_dot(z + i * n, z + j * n, n);
        }
    }
    free(z);
}

static int try_kind(const struct hostile_kind *kind, uint64_t seed, size_t n_series,
                    size_t n_samples, size_t panel, enum dtype type)
{
    struct series in = {.kind = kind,
                        .n_series = n_series,
                        .n_samples = n_samples,
                        .panel = panel,
                        .type = type,
                        .x = room(n_series * n_samples, sizeof(double)),
                        .r = room(n_pairs(n_series), sizeof(double)),
                        .moments = room(n_series, sizeof *in.moments)};
    hostile_series(kind, seed, n_series, n_samples, in.x);
    if (type == DTYPE_F32) {
        reference_round(n_series * n_samples, in.x);
    }
    for (size_t s = 0; s < n_series; ++s) {
        in.moments[s] = reference_moments(in.x + s * n_samples, n_samples);
    }
    right_coefficients(&in);
    int failed = judge_kernels(&in);
    free(in.x);
    free(in.r);
    free(in.moments);
    return failed;
}

static void head(void)
{
    print_message("%-24s %3s %8s", "error / bound", "", "samples");
    for (size_t k = 0; k < KERNELS; ++k) {
        print_message(" %9s", kernels[k].name);
    }
    print_message("\n");
}

/* Every kind, or of a quick test every stride-th from the first on. */
static int try_some(size_t first, size_t stride, size_t n_series, size_t n_samples, size_t panel)
{
    int failed = 0;
    first = is_quick() ? first : 0;
    stride = is_quick() ? stride : 1;
    head();
    for (size_t k = first; k < n_hostile_kinds; k += stride) {
        const struct hostile_kind *kind = hostile_kinds + k;
        failed += try_kind(kind, 31 * k + n_samples, n_series, n_samples, panel, DTYPE_F64);
        if (kind->floats && n_samples <= 20000) {
            failed += try_kind(kind, 31 * k + n_samples, n_series, n_samples, panel, DTYPE_F32);
        }
    }
    return failed;
}

static int try_all(size_t n_series, size_t n_samples, size_t panel)
{
    return try_some(0, 1, n_series, n_samples, panel);
}

/* --- the tests ------------------------------------------------------------------------------- */

TEST(bounds_hold_for_few_samples)
{
    static const size_t samples[] = {2, 3, 17, 65, 1100};
    int failed = 0;
    for (size_t k = 0; k < sizeof samples / sizeof *samples; ++k) {
        failed += try_all(13, samples[k], 5);
    }
    assert_int_equal(failed, 0);
}

TEST(bounds_hold_across_tiles)
{
    assert_int_equal(try_some(1, 3, under_test_size(131, 13), 300, 131), 0);
}

TEST(bounds_hold_for_long_series)
{
    assert_int_equal(try_all(6, under_test_size(13000, 14000), 6) +
                         try_some(0, 3, 7, under_test_size(33001, 3300), 4),
                     0);
}

/* More than the slab of 2^19; 2^20 on a device, and where $LEAT_TEST_LARGE is set. Every kind
 * crosses the ends of shorter slabs in the tests above. */
TEST(bounds_hold_for_the_longest_series)
{
    const size_t n_samples = under_test_size(is_quick() ? 530000 : (size_t)1 << 20, 5000);
    assert_int_equal(try_some(0, 8, is_quick() ? 3 : 4, n_samples, 4), 0);
}

/* Where there are tiles enough, a block takes all samples of one, in chunks or at once; tiles with
 * and without a spike lie side by side. */
static void try_many(const struct hostile_kind *kind, size_t n_samples)
{
    enum { SERIES = 1400, CALM = 300, SPIKY = 420, TRIED = 3000 };
    struct series in = {.kind = kind,
                        .n_series = SERIES,
                        .n_samples = n_samples,
                        .panel = SERIES,
                        .type = DTYPE_F64,
                        .x = room(SERIES * n_samples, sizeof(double))};
    struct hostile_kind calm = *kind;
    calm.size = 0;
    hostile_series(&calm, 5, CALM, n_samples, in.x);
    hostile_series(kind, 5, SPIKY - CALM, n_samples, in.x + CALM * n_samples);
    hostile_series(&calm, 6, SERIES - SPIKY, n_samples, in.x + SPIKY * n_samples);
    long double *z = room(2 * n_samples, sizeof *z);
    for (size_t k = 0; k < 3; ++k) {
        struct reference_random g = {77};
        struct answer one = answer_of(kernels + k, &in), two = answer_of(kernels + k, &in);
        double worst = 0;
        for (size_t tried = 0; tried < TRIED; ++tried) {
            /* a third of them within the spiky ones, a third with one of those */
            double low = tried % 3 > 0 ? CALM : 0, span = tried % 3 > 0 ? SPIKY - CALM : SERIES;
            size_t i = (size_t)(low + reference_uniform(&g) * span);
            low = tried % 3 > 1 ? CALM : 0, span = tried % 3 > 1 ? SPIKY - CALM : SERIES;
            size_t j = (size_t)(low + reference_uniform(&g) * span);
            size_t first = i < j ? i : j, last = i < j ? j : i;
            if (i == j) {
                continue;
            }
            reference_unit(in.x + i * n_samples, n_samples, z);
            reference_unit(in.x + j * n_samples, n_samples, z + n_samples);
            size_t at = first * SERIES - first * (first + 1) / 2 + (last - first - 1);
            double want = reference_dot(z, z + n_samples, n_samples);
            worst = fmax(worst, part(one.r[at], want, bound_of(kernels + k)));
        }
        print_message("%-24s f64 %8zu x %d %s %.2g\n", kind->name, n_samples, (int)SERIES,
                      kernels[k].name, worst);
        assert_true(worst < 1);
        assert_memory_equal(one.r, two.r, n_pairs(SERIES) * sizeof *one.r);
        answer_done(&one);
        answer_done(&two);
    }
    free(z);
    free(in.x);
}

TEST(bounds_hold_for_many_long_series)
{
    if (under_test_is_cpu() || under_test_size(1, 0) == 0) {
        skip(); /* minutes of work, for a way that only the device has */
    }
    for (size_t k = 2; k < 6; ++k) {
        try_many(hostile_kinds + k, k % 2 == 0 ? 16384 : 34000);
    }
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
