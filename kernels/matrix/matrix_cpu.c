/*
 * matrix_cpu - the table of the CPU's questions to a matrix.
 */
#include "kernels/matrix/matrix_cpu.h"

enum status cpu_matrix_check(const struct matrix *m)
{
    if (m->panel == 0) {
        return status_fail(STATUS_INTERNAL, "a matrix has panels of no rows");
    }
    for (size_t p = m->first / m->panel; p * m->panel < m->n_series; ++p) {
        size_t width = matrix_panel_width(p, m->panel, m->n_series);
        STATUS_TRY(cpu_expect(m->panels[p], width - p * m->panel, width * dtype_bytes(m->type),
                              "a panel of the matrix"));
    }
    return STATUS_OK;
}

const struct matrix_kernels cpu_matrix = {
    .survey = cpu_survey,
    .kth_abs = cpu_kth_abs,
    .select = cpu_select,
    .condensed = cpu_condensed,
    .heatmap = cpu_heatmap,
};
