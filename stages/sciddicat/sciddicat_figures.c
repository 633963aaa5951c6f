/*
 * sciddicat_figures - one pass over the grids.
 */
#include "stages/sciddicat/sciddicat_figures.h"

#include <math.h>

static bool is_hole(const struct sciddicat_job *job, size_t k)
{
    return job->holes && job->nodata[k];
}

/* Cells on the ring are beside nothing that holds debris back: they take it. */
static bool is_dammed(const struct sciddicat_job *job, size_t row, size_t column)
{
    const size_t columns = job->dem->columns, k = row * columns + column;
    const size_t next[4] = {k - columns, k - 1, k + 1, k + columns};
    if (job->choice.nodata != SCIDDICAT_WALL || sciddicat_on_ring(job, row, column)) {
        return false;
    }
    for (size_t n = 0; n < 4; n++) {
        if (is_hole(job, next[n]) &&
            !sciddicat_on_ring(job, next[n] / columns, next[n] % columns)) {
            return true;
        }
    }
    return false;
}

/* From the crown, on the map, centre to centre. */
static double distance_m(const struct sciddicat_job *job, size_t k)
{
    const size_t columns = job->dem->columns, crown = job->start.crown;
    const size_t row = k / columns, crown_row = crown / columns;
    const double down = (double)row - (double)crown_row;
    const double right = (double)(k % columns) - (double)(crown % columns);
    const struct grid_scale *const s = &job->scale;
    return hypot(right * s->column_m[0] + down * s->row_m[0],
                 right * s->column_m[1] + down * s->row_m[1]);
}

static bool is_further_down(const struct sciddicat_job *job, size_t k, size_t toe)
{
    return job->z[k] < job->z[toe] ||
           (job->z[k] == job->z[toe] && distance_m(job, k) > distance_m(job, toe));
}

static void cover(const struct sciddicat_job *job, size_t row, size_t column,
                  struct sciddicat_figures *f)
{
    const size_t k = row * job->dem->columns + column;
    if (f->n_covered == 0) {
        f->first_row = row;
        f->first_column = column;
    }
    if (f->n_covered == 0 || is_further_down(job, k, f->toe)) {
        f->toe = k;
    }
    f->first_column = column < f->first_column ? column : f->first_column;
    f->end_column = column + 1 > f->end_column ? column + 1 : f->end_column;
    f->end_row = row + 1;
    f->n_covered++;
    f->n_dammed += is_dammed(job, row, column);
    f->n_on_nodata += job->nodata[k] && !job->holes;
}

void sciddicat_figures_of(const struct sciddicat_job *job, struct sciddicat_figures *out)
{
    const size_t columns = job->dem->columns;
    struct sciddicat_figures f = {.n_covered = 0};
    for (size_t i = 0; i < job->dem->rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            const size_t k = i * columns + j;
            if (is_hole(job, k)) {
                continue;
            }
            if (is_hole(job, f.deepest) || job->max_h[k] > job->max_h[f.deepest]) {
                f.deepest = k;
            }
            if (job->arrival[k] >= 0) {
                cover(job, i, j, &f);
            }
        }
    }
    f.ran = f.n_covered > 0 && job->start.has_crown;
    if (f.ran) {
        f.drop_m = job->z[job->start.crown] - job->z[f.toe];
        f.runout_m = distance_m(job, f.toe);
    }
    *out = f;
}
