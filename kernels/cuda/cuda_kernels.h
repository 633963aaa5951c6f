/*
 * cuda_kernels - what the module's files know of each other.
 */
#ifndef LEAT_KERNELS_CUDA_KERNELS_H
#define LEAT_KERNELS_CUDA_KERNELS_H

#include "kernels/cuda/cuda_queue.h"
#include "kernels/pearson.h"
#include "kernels/philox.h"
#include "kernels/sciddicat.h"

extern const struct means_kernels cuda_means;
extern const struct pearson_kernels cuda_pearson;
extern const struct philox_kernels cuda_philox;
extern const struct sciddicat_kernels cuda_sciddicat;

extern "C" const struct backend_ops *leat_cuda_backend(void);

static inline size_t cuda_min(size_t a, size_t b)
{
    return a < b ? a : b;
}
static inline size_t cuda_max(size_t a, size_t b)
{
    return a > b ? a : b;
}
static inline size_t cuda_pieces(size_t n, size_t piece)
{
    return n / piece + (n % piece != 0);
}

/* Fails with STATUS_INTERNAL unless `s` holds at least n * each bytes. */
enum status cuda_expect(struct span s, size_t n, size_t each, const char *what) STATUS_MUST_CHECK;

/* A standardized series: in the exact form its samples as doubles, then (in both) its digits. */
struct cuda_z_form {
    int planes;
    size_t doubles;   /* of a row, padding counted; 0: there are none */
    size_t digits_at; /* bytes from the row's beginning */
    size_t bytes;     /* of a row */
};
struct cuda_z_form cuda_form_of_z(enum pearson_precision precision, size_t n_samples);

/* A panel of rows of the matrix, and the two sets of standardized series it is made of. */
struct cuda_panel {
    size_t n_samples;
    struct span za, zb, r;
    size_t first_a, n_a, first_b, n_b;
    struct moments moments;
    size_t width;
};

/* cuda_products: C = A B' in double.
 *   rows:    c[j * width + i] = sum_k a[j * pitch_a + k] b[i * pitch_b + k]
 *   columns: c[j * width + i] = sum_k a[k * pitch_a + j] b[k * pitch_b + i]
 * `add`: to what c holds. */
struct cuda_product {
    bool columns, add;
    const double *a, *b;
    size_t n_a, n_b, n_k, pitch_a, pitch_b;
    double *c;
    size_t width;
};
/* Within an operation on the lane; takes the lane's scratch memory. */
enum status cuda_multiply(struct cuda_queue *q, enum queue_lane lane,
                          const struct cuda_product *product) STATUS_MUST_CHECK;

/* cuda_standardize */
size_t cuda_z_bytes(enum pearson_precision precision, size_t n_samples);
enum status cuda_diff_rows(struct queue *q, struct span x, enum dtype type, size_t n_series,
                           size_t n_samples, enum pearson_diff diff,
                           struct span out) STATUS_MUST_CHECK;
enum status cuda_standardize(struct queue *q, enum pearson_precision precision, struct span x,
                             enum dtype type, size_t n_series, size_t n_samples,
                             struct moments moments, size_t first, struct span z) STATUS_MUST_CHECK;

/* cuda_digits_wgmma, cuda_digits_blas: a panel in the digit form. */
enum status cuda_digits_wgmma(struct cuda_queue *q, enum pearson_precision precision,
                              const struct cuda_panel *panel) STATUS_MUST_CHECK;
enum status cuda_digits_blas(struct cuda_queue *q,
                             const struct cuda_panel *panel) STATUS_MUST_CHECK;
bool cuda_digits_wgmma_usable(const struct cuda_backend *b);
/* cuda_digits_double: takes, of a panel in the exact form, the tiles for which digits are not
 * enough; within an operation, after the products of digits. */
enum status cuda_digits_double(const struct cuda_panel *panel,
                               cudaStream_t stream) STATUS_MUST_CHECK;

/* cuda_gaps, cuda_pairs */
enum status cuda_gram_gaps(struct queue *q, size_t n_samples, const struct pearson_side *a,
                           const struct pearson_side *b, enum dtype x_type, struct moments moments,
                           struct span r, size_t width, enum dtype type,
                           uint64_t *n_unsure) STATUS_MUST_CHECK;
enum status cuda_exact_pairs(struct queue *q, struct span x, enum dtype type, size_t n_samples,
                             struct moments moments, struct pearson_pair *pairs,
                             size_t n) STATUS_MUST_CHECK;

/* cuda_columns */
size_t cuda_columns_bytes(size_t n_series, size_t slab_samples, bool gaps);
enum status cuda_columns_new(struct queue *q, size_t n_series, size_t slab_samples,
                             enum pearson_diff diff, void **state) STATUS_MUST_CHECK;
void cuda_columns_free(struct queue *q, void *state);
enum status cuda_columns_add(struct queue *q, void *state, struct span slab, enum dtype type,
                             size_t n_samples) STATUS_MUST_CHECK;
enum status cuda_columns_finish(struct queue *q, void *state, struct moments moments,
                                const struct pearson_matrix *matrix) STATUS_MUST_CHECK;

/* cuda_survey, cuda_rank, cuda_select, cuda_matrix */
enum status cuda_survey(struct queue *q, const struct pearson_matrix *m, struct pearson_survey *out,
                        double *median_abs, double *median_abs_all) STATUS_MUST_CHECK;
enum status cuda_kth_abs(struct queue *q, const struct pearson_matrix *m, uint64_t k,
                         double *out) STATUS_MUST_CHECK;
/* The median of |r| over all defined pairs. */
enum status cuda_median_abs(struct queue *q, const struct pearson_matrix *m,
                            double *out) STATUS_MUST_CHECK;
enum status cuda_select(struct queue *q, const struct pearson_matrix *m, double cut,
                        struct pearson_pair *pairs, size_t capacity, size_t *n) STATUS_MUST_CHECK;
enum status cuda_condensed(struct queue *q, const struct pearson_matrix *m, uint64_t first,
                           size_t n, void *dst) STATUS_MUST_CHECK;
enum status cuda_heatmap(struct queue *q, const struct pearson_matrix *m, size_t side,
                         float *cells) STATUS_MUST_CHECK;

#endif
