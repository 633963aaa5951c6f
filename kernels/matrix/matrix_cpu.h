/*
 * matrix_cpu - the entries of the CPU's table, and the layout of a matrix that they share.
 */
#ifndef LEAT_KERNELS_MATRIX_MATRIX_CPU_H
#define LEAT_KERNELS_MATRIX_MATRIX_CPU_H

#include "kernels/base/queue_cpu.h"
#include "kernels/matrix/matrix.h"

/* From one row to the next of the panel that holds `row`, in elements. */
static inline size_t cpu_matrix_width(const struct matrix *m, size_t row)
{
    return matrix_panel_width(row / m->panel, m->panel, m->n_series);
}

/* Row j of the lower triangle: its elements 0 .. j - 1. */
static inline const void *cpu_matrix_row(const struct matrix *m, size_t j)
{
    size_t p = j / m->panel, offset = (j - p * m->panel) * cpu_matrix_width(m, j);
    return (const char *)m->panels[p].at + offset * dtype_bytes(m->type);
}

/* Checks that every panel holds its elements. */
enum status cpu_matrix_check(const struct matrix *m) STATUS_MUST_CHECK;

/* survey_cpu, select_cpu, condensed_cpu */
KERNEL(matrix, survey) cpu_survey;
KERNEL(matrix, kth_abs) cpu_kth_abs;
KERNEL(matrix, select) cpu_select;
KERNEL(matrix, condensed) cpu_condensed;
KERNEL(matrix, heatmap) cpu_heatmap;

#endif
