/*
 * cpu_pearson - the entries of the CPU's Pearson table, one file an idea, and the layout they
 * share. What each does stands in kernels/pearson.h.
 */
#ifndef LEAT_KERNELS_CPU_PEARSON_H
#define LEAT_KERNELS_CPU_PEARSON_H

#include "kernels/cpu/cpu_backend.h"
#include "kernels/pearson.h"

/* Elements from one row of z to the next; rows start on cache lines. */
size_t cpu_z_stride(size_t n_samples);

/* out[t] = increment from x[t] to x[t + 1], t < n; diff is not NONE. out may be x. */
void cpu_increments(const double *x, size_t n, enum pearson_diff diff, double *out);

/* The type of a panel's elements. */
static inline size_t cpu_matrix_width(const struct pearson_matrix *m, size_t row)
{
    return pearson_panel_width(row / m->panel, m->panel, m->n_series);
}

/* Row j of the lower triangle: its elements 0 .. j - 1. */
static inline const void *cpu_matrix_row(const struct pearson_matrix *m, size_t j)
{
    size_t p = j / m->panel, offset = (j - p * m->panel) * cpu_matrix_width(m, j);
    return (const char *)m->panels[p].at + offset * dtype_bytes(m->type);
}

/* Checks that every panel holds its elements. */
enum status cpu_matrix_check(const struct pearson_matrix *m) STATUS_MUST_CHECK;

/* cpu_gram */
enum status cpu_gram(struct queue *q, enum pearson_precision precision, size_t n_samples,
                     struct span za, size_t first_a, size_t n_a, struct span zb, size_t first_b,
                     size_t n_b, struct moments moments, struct span r,
                     size_t width) STATUS_MUST_CHECK;
double cpu_screen_bound(size_t n_samples);

/* cpu_gaps, cpu_pairs */
enum status cpu_gram_gaps(struct queue *q, size_t n_samples, const struct pearson_side *a,
                          const struct pearson_side *b, enum dtype x_type, struct moments moments,
                          struct span r, size_t width, enum dtype type,
                          uint64_t *n_unsure) STATUS_MUST_CHECK;
enum status cpu_exact_pairs(struct queue *q, struct span x, enum dtype type, size_t n_samples,
                            struct moments moments, struct pearson_pair *pairs,
                            size_t n) STATUS_MUST_CHECK;

/* cpu_columns */
size_t cpu_columns_bytes(size_t n_series, size_t slab_samples, bool gaps);
enum status cpu_columns_new(struct queue *q, size_t n_series, size_t slab_samples,
                            enum pearson_diff diff, void **state) STATUS_MUST_CHECK;
void cpu_columns_free(struct queue *q, void *state);
enum status cpu_columns_add(struct queue *q, void *state, struct span slab, enum dtype type,
                            size_t n_samples) STATUS_MUST_CHECK;
enum status cpu_columns_finish(struct queue *q, void *state, struct moments moments,
                               const struct pearson_matrix *matrix) STATUS_MUST_CHECK;

/* cpu_survey, cpu_select, cpu_condensed */
enum status cpu_survey(struct queue *q, const struct pearson_matrix *m, struct pearson_survey *out,
                       double *median_abs, double *median_abs_all) STATUS_MUST_CHECK;
enum status cpu_kth_abs(struct queue *q, const struct pearson_matrix *m, uint64_t k,
                        double *out) STATUS_MUST_CHECK;
enum status cpu_select(struct queue *q, const struct pearson_matrix *m, double cut,
                       struct pearson_pair *pairs, size_t capacity, size_t *n) STATUS_MUST_CHECK;
enum status cpu_condensed(struct queue *q, const struct pearson_matrix *m, uint64_t first, size_t n,
                          void *dst) STATUS_MUST_CHECK;
enum status cpu_heatmap(struct queue *q, const struct pearson_matrix *m, size_t side,
                        float *cells) STATUS_MUST_CHECK;

#endif
