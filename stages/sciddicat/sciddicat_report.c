/*
 * sciddicat_report - shape, parameters and summary as they stand in result.json.
 *
 * Volumes are sums of thickness times the cells' area; where that is not known, it is 1 m2, and a
 * warning says so. Rows and columns count from 1, as in messages.
 */
#include "stages/sciddicat/sciddicat_report.h"

#include "formats/result/summary_entry.h"
#include "stages/sciddicat/sciddicat_figures.h"
#include "stages/sciddicat/sciddicat_files.h"
#include "stages/sciddicat/sciddicat_map.h"
#include "stages/sciddicat/sciddicat_warnings.h"

#include <math.h>

static json_t *volume(const struct sciddicat_job *job, double sum_m)
{
    return summary_real(sum_m * job->scale.area_m2);
}

/* Where a cell lies, and one thing about it. */
static json_t *place(const struct sciddicat_job *job, size_t cell, const char *key, double value)
{
    const size_t row = cell / job->dem->columns, column = cell % job->dem->columns;
    json_t *const at = json_pack("{s:o, s:I, s:I}", key, summary_real(value), "row",
                                 (json_int_t)row + 1, "column", (json_int_t)column + 1);
    if (at != NULL && job->dem->has_origin) {
        double x, y;
        grid_scale_centre(job->dem, row, column, &x, &y);
        if (json_object_set_new(at, "x", summary_real(x)) != 0 ||
            json_object_set_new(at, "y", summary_real(y)) != 0) {
            json_decref(at);
            return NULL;
        }
    }
    return at;
}

static json_t *altitude(const struct sciddicat_job *job, bool known, size_t cell)
{
    return known ? place(job, cell, "altitude_m", job->z[cell]) : json_null();
}

/* The rows and columns that were covered. */
static json_t *extent(const struct sciddicat_figures *f)
{
    return f->n_covered == 0
               ? json_null()
               : json_pack("{s:I, s:I, s:I, s:I}", "first_row", (json_int_t)f->first_row + 1,
                           "last_row", (json_int_t)f->end_row, "first_column",
                           (json_int_t)f->first_column + 1, "last_column",
                           (json_int_t)f->end_column);
}

static json_t *motion(const struct sciddicat_job *job)
{
    const struct sciddicat_motion *const m = &job->motion;
    return json_pack("{s:I, s:o, s:o}", "cells", (json_int_t)m->n_cells, "volume_m3",
                     volume(job, m->sum_m), "largest_change_m", summary_real(m->largest));
}

static enum status summarise(const struct sciddicat_job *job, const struct sciddicat_figures *f,
                             json_t *summary)
{
    const struct sciddicat_report *const r = &job->now;
    const double start = job->start.thickness;
    const struct summary_entry entries[] = {
        {"steps", summary_integer(r->step)},
        {"settled", json_boolean(job->settled)},
        {"volume_start_m3", volume(job, start)},
        {"volume_end_m3", volume(job, r->mass)},
        {"lost_edge_m3", volume(job, r->lost_edge)},
        {"lost_nodata_m3", volume(job, r->lost_nodata)},
        {"balance_error_m3", volume(job, r->mass + r->lost_edge + r->lost_nodata - start)},
        {"balance_bound_m3", volume(job, sciddicat_job_bound(job))},
        {"last_step", motion(job)},
        {"active_cells", summary_integer(r->n_active)},
        {"max_thickness_m", summary_real(r->largest)},
        {"deepest_ever", place(job, f->deepest, "thickness_m", job->max_h[f->deepest])},
        {"covered_cells", summary_integer(f->n_covered)},
        {"covered_m2", summary_real((double)f->n_covered * job->scale.area_m2)},
        {"covered_extent", extent(f)},
        {"crown", altitude(job, job->start.has_crown, job->start.crown)},
        {"toe", altitude(job, f->n_covered > 0, f->toe)},
        {"drop_m", f->ran ? summary_real(f->drop_m) : json_null()},
        {"runout_m", f->ran ? summary_real(f->runout_m) : json_null()},
        {"reach_angle_deg", f->ran && f->runout_m > 0
                                ? summary_real(atan2(f->drop_m, f->runout_m) * 180 / M_PI)
                                : json_null()},
    };
    return summary_entry_put(summary, entries, sizeof entries / sizeof *entries);
}

static enum status describe(const struct sciddicat_job *job, struct result *out)
{
    const bool sized = job->scale.unit == GRID_METRES;
    const struct summary_entry shape[] = {
        {"rows", summary_integer(job->dem->rows)},
        {"columns", summary_integer(job->dem->columns)},
        {"nodata_cells", summary_integer(job->n_nodata)},
        {"source_cells", summary_integer(job->start.n_debris)},
        {"cell_x_m", sized ? summary_real(job->scale.cell_x_m) : json_null()},
        {"cell_y_m", sized ? summary_real(job->scale.cell_y_m) : json_null()},
    };
    const struct summary_entry parameters[] = {
        {"report_every", summary_integer(job->choice.report_every)}, /* where it was 0 */
    };
    const enum status st = summary_entry_put(out->shape, shape, sizeof shape / sizeof *shape);
    const enum status st_parameters =
        summary_entry_put(out->parameters, parameters, sizeof parameters / sizeof *parameters);
    return st == STATUS_OK ? st_parameters : st;
}

enum status sciddicat_report(struct sciddicat_job *job, struct result *out)
{
    struct sciddicat_figures figures;
    sciddicat_figures_of(job, &figures);
    enum status st = describe(job, out);
    if (st == STATUS_OK) {
        st = summarise(job, &figures, out->summary);
    }
    if (st == STATUS_OK) {
        st = sciddicat_warnings(job, &figures, out);
    }
    if (st == STATUS_OK) {
        st = sciddicat_files(job, out);
    }
    return st == STATUS_OK ? sciddicat_map(job, out) : st;
}
