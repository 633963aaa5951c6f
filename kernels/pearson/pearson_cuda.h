/*
 * pearson_cuda - what the files of this room know of each other on CUDA.
 */
#ifndef LEAT_KERNELS_PEARSON_PEARSON_CUDA_H
#define LEAT_KERNELS_PEARSON_PEARSON_CUDA_H

#include "kernels/base/queue_cuda.h"
#include "kernels/means/moments_cuda.h"
#include "kernels/pearson/pearson.h"

/* A standardized series: its samples as doubles, in the exact form and where the device takes no
 * products of digits; then, where it takes them, its digits. */
struct cuda_z_form {
    int planes;       /* of digits; 0: there are none */
    size_t doubles;   /* of a row, padding counted; 0: there are none */
    size_t digits_at; /* bytes from the row's beginning */
    size_t bytes;     /* of a row */
};
struct cuda_z_form cuda_form_of_z(const struct queue *q, enum pearson_precision precision,
                                  size_t n_samples);

/* Fails with STATUS_INTERNAL unless the spans of the panel hold it, z in rows of z_bytes unless the
 * series come in parts. */
enum status cuda_check_panel(const struct pearson_panel *panel, size_t z_bytes,
                             const char *what) STATUS_MUST_CHECK;

/* products_cuda: C = A B' in double.
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
/* Within an operation on the stream; takes so much of the stream's scratch memory, from its
 * beginning. */
size_t cuda_multiply_scratch(const struct cuda_product *product);
enum status cuda_multiply(struct cuda_queue *q, enum stream_id id,
                          const struct cuda_product *product) STATUS_MUST_CHECK;

/* turn_cuda */
enum status cuda_turn(struct queue *q, const struct pearson_slab *slab, struct span out,
                      size_t stride) STATUS_MUST_CHECK;

/* standardize_cuda */
size_t cuda_z_bytes(const struct queue *q, enum pearson_precision precision, size_t n_samples);
enum status cuda_diff_rows(struct queue *q, const struct series_rows *x, enum pearson_diff diff,
                           struct span out) STATUS_MUST_CHECK;
enum status cuda_standardize(struct queue *q, enum pearson_precision precision,
                             const struct series_rows *x, struct moments moments,
                             struct span z) STATUS_MUST_CHECK;

/* digits_wgmma_cuda: whether this device takes products of digits; a panel of them. */
bool cuda_digits_usable(const struct queue *q);
enum status cuda_digits_wgmma(struct cuda_queue *q, const struct pearson_panel *panel,
                              const struct cuda_z_form &form) STATUS_MUST_CHECK;
/* digits_double_cuda: computes, of a panel in the exact form, the tiles for which digits are not
 * enough; within an operation, after the products of digits. */
enum status cuda_digits_double(const struct pearson_panel *panel, const struct cuda_z_form &form,
                               cudaStream_t stream) STATUS_MUST_CHECK;

/* gaps_cuda, pairs_cuda */
enum status cuda_gram_gaps(struct queue *q, const struct pearson_panel *panel,
                           uint64_t *n_unsure) STATUS_MUST_CHECK;
size_t cuda_gaps_bytes(size_t n_a, size_t n_b);
enum status cuda_pairs_add(struct queue *q, const struct series_rows *x, struct span pairs,
                           size_t n) STATUS_MUST_CHECK;
enum status cuda_exact_pairs(struct queue *q, const struct series_rows *x, struct moments moments,
                             struct matrix_pair *pairs, size_t n) STATUS_MUST_CHECK;

/* significance_cuda */
enum status cuda_count_levels(struct queue *q, const struct matrix *m,
                              const struct pearson_levels *levels,
                              uint64_t *counts) STATUS_MUST_CHECK;

/* ranks_cuda */
enum status cuda_rank_rows(struct queue *q, const struct series_rows *x,
                           struct span out) STATUS_MUST_CHECK;
size_t cuda_rank_bytes(const struct queue *q, size_t n_series, size_t n_samples);
/* Pairs of listed rows of a panel of ranks, by their common samples, as gram_gaps; within an
 * operation. `counts`: so many bytes of working memory, 8 (n_samples + 1) at least. */
struct cuda_rank_pairs {
    struct pearson_panel p;
    size_t z_stride;
    const uint32_t *rows_a, *rows_b;
    size_t n_a, n_b;
    int *counts;
};
enum status cuda_gram_ranks(const struct cuda_rank_pairs &pairs, size_t bytes,
                            cudaStream_t stream) STATUS_MUST_CHECK;

/* columns_cuda */
size_t cuda_columns_bytes(size_t n_series, size_t slab_samples);
enum status cuda_columns_new(struct queue *q, size_t n_series, size_t slab_samples,
                             enum pearson_diff diff, void **state) STATUS_MUST_CHECK;
void cuda_columns_free(struct queue *q, void *state);
enum status cuda_columns_add(struct queue *q, void *state, struct span slab, enum dtype type,
                             size_t n_samples) STATUS_MUST_CHECK;
enum status cuda_columns_finish(struct queue *q, void *state, struct moments moments,
                                const struct matrix *matrix) STATUS_MUST_CHECK;

#endif
