/*
 * pearson_cuda - what the files of this room know of each other on CUDA.
 */
#ifndef LEAT_KERNELS_PEARSON_PEARSON_CUDA_H
#define LEAT_KERNELS_PEARSON_PEARSON_CUDA_H

#include "kernels/base/queue_cuda.h"
#include "kernels/means/moments_cuda.h"
#include "kernels/pearson/pearson.h"

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
                             struct moments moments, struct matrix_pair *pairs,
                             size_t n) STATUS_MUST_CHECK;

/* cuda_columns */
size_t cuda_columns_bytes(size_t n_series, size_t slab_samples, bool gaps);
enum status cuda_columns_new(struct queue *q, size_t n_series, size_t slab_samples,
                             enum pearson_diff diff, void **state) STATUS_MUST_CHECK;
void cuda_columns_free(struct queue *q, void *state);
enum status cuda_columns_add(struct queue *q, void *state, struct span slab, enum dtype type,
                             size_t n_samples) STATUS_MUST_CHECK;
enum status cuda_columns_finish(struct queue *q, void *state, struct moments moments,
                                const struct matrix *matrix) STATUS_MUST_CHECK;

#endif
