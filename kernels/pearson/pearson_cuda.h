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

/* The first of n products of rows that lie one behind the other, as what they make does. */
enum status cuda_multiply_blocks(struct cuda_queue *q, enum stream_id id,
                                 const struct cuda_product *first, size_t n) STATUS_MUST_CHECK;

/* turn_cuda, standardize_cuda */
KERNEL(pearson, turn) cuda_turn;
KERNEL(pearson, z_bytes) cuda_z_bytes;
KERNEL(pearson, diff_rows) cuda_diff_rows;
KERNEL(pearson, standardize) cuda_standardize;

/* digits_wgmma_cuda: whether this device takes products of digits; a panel of them. */
bool cuda_digits_usable(const struct queue *q);
enum status cuda_digits_wgmma(struct cuda_queue *q, const struct pearson_panel *panel,
                              const struct cuda_z_form &form) STATUS_MUST_CHECK;
/* digits_double_cuda: computes, of a panel in the exact form, the tiles for which digits are not
 * enough; within an operation, after the products of digits. */
enum status cuda_digits_double(const struct pearson_panel *panel, const struct cuda_z_form &form,
                               cudaStream_t stream) STATUS_MUST_CHECK;

/* gaps_cuda, pairs_cuda, lags_cuda, significance_cuda, ranks_cuda */
KERNEL(pearson, gram_gaps) cuda_gram_gaps;
KERNEL(pearson, gaps_bytes) cuda_gaps_bytes;
KERNEL(pearson, pairs_add) cuda_pairs_add;
KERNEL(pearson, exact_pairs) cuda_exact_pairs;
KERNEL(pearson, overlaps) cuda_overlaps;
KERNEL(pearson, keep_lag) cuda_keep_lag;
KERNEL(pearson, count_levels) cuda_count_levels;
KERNEL(pearson, rank_rows) cuda_rank_rows;
KERNEL(pearson, rank_bytes) cuda_rank_bytes;
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
KERNEL(pearson, columns_bytes) cuda_columns_bytes;
KERNEL(pearson, columns_new) cuda_columns_new;
KERNEL(pearson, columns_free) cuda_columns_free;
KERNEL(pearson, columns_add) cuda_columns_add;
KERNEL(pearson, columns_finish) cuda_columns_finish;

#endif
