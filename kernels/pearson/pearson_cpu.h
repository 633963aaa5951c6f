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

/* turn_cpu, gram_cpu, gaps_cpu, pairs_cpu, lags_cpu, significance_cpu, ranks_cpu */
KERNEL(pearson, turn) cpu_turn;
KERNEL(pearson, gram) cpu_gram;
KERNEL(pearson, gram_blocks) cpu_gram_blocks;
KERNEL(pearson, gram_gaps) cpu_gram_gaps;
KERNEL(pearson, gaps_bytes) cpu_gaps_bytes;
KERNEL(pearson, pairs_add) cpu_pairs_add;
KERNEL(pearson, exact_pairs) cpu_exact_pairs;
KERNEL(pearson, overlaps) cpu_overlaps;
KERNEL(pearson, keep_lag) cpu_keep_lag;
KERNEL(pearson, count_levels) cpu_count_levels;
KERNEL(pearson, rank_rows) cpu_rank_rows;
KERNEL(pearson, rank_bytes) cpu_rank_bytes;

/* columns_cpu */
enum { CPU_COLUMNS_FEW = 64 /* one tile */ };
KERNEL(pearson, columns_bytes) cpu_columns_bytes;
KERNEL(pearson, columns_new) cpu_columns_new;
KERNEL(pearson, columns_free) cpu_columns_free;
KERNEL(pearson, columns_add) cpu_columns_add;
KERNEL(pearson, columns_finish) cpu_columns_finish;
KERNEL(pearson, columns_common) cpu_columns_common;

#endif
