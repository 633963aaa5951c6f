/*
 * pearson_cpu - the entries of the CPU's Pearson table, one file an idea, and the layout they
 * share. What each does stands in kernels/pearson/pearson.h.
 */
#ifndef LEAT_KERNELS_PEARSON_PEARSON_CPU_H
#define LEAT_KERNELS_PEARSON_PEARSON_CPU_H

#include "kernels/base/queue_cpu.h"
#include "kernels/pearson/pearson.h"

/* Elements from one row of z to the next; rows start on cache lines. */
size_t cpu_z_stride(size_t n_samples);

/* out[t] = increment from x[t] to x[t + 1], t < n; diff is not NONE. out may be x. */
void cpu_increments(const double *x, size_t n, enum pearson_diff diff, double *out);

/* Whether the spans of a panel hold it; z in the exact form, unless the series come in parts. */
enum status cpu_check_panel(const struct pearson_panel *panel, const char *what) STATUS_MUST_CHECK;

/* turn_cpu */
enum status cpu_turn(struct queue *q, const struct pearson_slab *slab, struct span out,
                     size_t stride) STATUS_MUST_CHECK;

/* gram_cpu, gaps_cpu, pairs_cpu */
enum status cpu_gram(struct queue *q, const struct pearson_panel *panel) STATUS_MUST_CHECK;
enum status cpu_gram_gaps(struct queue *q, const struct pearson_panel *panel,
                          uint64_t *n_unsure) STATUS_MUST_CHECK;
size_t cpu_gaps_bytes(size_t n_a, size_t n_b);
enum status cpu_pairs_add(struct queue *q, const struct series_rows *x, struct span pairs,
                          size_t n) STATUS_MUST_CHECK;
enum status cpu_exact_pairs(struct queue *q, const struct series_rows *x, struct moments moments,
                            struct matrix_pair *pairs, size_t n) STATUS_MUST_CHECK;

/* significance_cpu */
enum status cpu_count_levels(struct queue *q, const struct matrix *m,
                             const struct pearson_levels *levels,
                             uint64_t *counts) STATUS_MUST_CHECK;

/* ranks_cpu */
enum status cpu_rank_rows(struct queue *q, const struct series_rows *x,
                          struct span out) STATUS_MUST_CHECK;
size_t cpu_rank_bytes(const struct queue *q, size_t n_series, size_t n_samples);

/* columns_cpu */
enum { CPU_COLUMNS_FEW = 64 /* one tile */ };
size_t cpu_columns_bytes(size_t n_series, size_t slab_samples);
enum status cpu_columns_new(struct queue *q, size_t n_series, size_t slab_samples,
                            enum pearson_diff diff, void **state) STATUS_MUST_CHECK;
void cpu_columns_free(struct queue *q, void *state);
enum status cpu_columns_add(struct queue *q, void *state, struct span slab, enum dtype type,
                            size_t n_samples) STATUS_MUST_CHECK;
enum status cpu_columns_finish(struct queue *q, void *state, struct moments moments,
                               const struct matrix *matrix) STATUS_MUST_CHECK;
void cpu_columns_common(const void *state, struct matrix_pair *pairs, size_t n);

#endif
