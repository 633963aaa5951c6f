/*
 * sciddicat_files - cells and rows, given piece by piece on any thread.
 */
#include "stages/sciddicat/sciddicat_job.h"

#include <stdio.h>
#include <string.h>

enum { THICKNESS_NODATA = -9999, NEVER = -1, ROWS_PER_PIECE = 8192 /* of text */ };

static enum status fetch_f64(void *context, uint64_t first, size_t n, void *dst)
{
    memcpy(dst, (const double *)context + first, n * sizeof(double));
    return STATUS_OK;
}

static enum status fetch_f32(void *context, uint64_t first, size_t n, void *dst)
{
    for (size_t k = 0; k < n; k++) {
        ((float *)dst)[k] = (float)((const double *)context)[first + k];
    }
    return STATUS_OK;
}

/* NODATA cells get their number. */
enum status sciddicat_files_grid(struct sciddicat_job *job, const char *name, const char *unit,
                                 double *cells)
{
    struct raster raster = sciddicat_raster(job, job->choice.type);
    raster.has_nodata = job->slide.is_masked;
    raster.nodata = THICKNESS_NODATA;
    raster.unit = unit;
    for (size_t k = 0; job->slide.is_masked && k < job->slide.n_cells; k++) {
        cells[k] = job->slide.nodata[k] ? THICKNESS_NODATA : cells[k];
    }
    return result_add_raster(job->io->out, name, &raster,
                             raster.type == RASTER_F64 ? fetch_f64 : fetch_f32, cells, NULL);
}

enum status sciddicat_files_snapshot(struct sciddicat_job *job)
{
    char name[40];
    double *const h = job->slide.max_h;
    const int digits = snprintf(NULL, 0, "%llu", (unsigned long long)job->slide.steps);
    snprintf(name, sizeof name, "snapshots/%0*llu", digits > 6 ? digits : 6,
             (unsigned long long)job->slide.now.step);
    STATUS_TRY(bands_state(job->slide.bands, h, NULL, NULL));
    STATUS_TRY(sciddicat_files_grid(job, name, "m", h));
    job->slide.max_h = job->snapshot; /* the one before has left, or does so when this one is */
    job->snapshot = h;
    return io_leave(job->io);
}

static enum status fetch_arrival(void *context, uint64_t first, size_t n, void *dst)
{
    const struct sciddicat_job *job = context;
    int32_t *to = dst;
    for (size_t k = 0; k < n; k++) {
        to[k] = landslide_masks(&job->slide, first + k) ? NEVER : job->slide.arrival[first + k];
    }
    return STATUS_OK;
}

static enum status add_arrival(struct sciddicat_job *job)
{
    struct raster raster = sciddicat_raster(job, RASTER_I32);
    raster.has_nodata = true;
    raster.nodata = NEVER;
    raster.unit = "step";
    return result_add_raster(job->io->out, "arrival", &raster, fetch_arrival, job, NULL);
}

/* --- the mass balance ------------------------------------------------------------------------- */

static void mass_row(const void *context, uint64_t row, struct result_row *to)
{
    const struct sciddicat_job *const job = context;
    const struct sciddicat_report *const r = &job->slide.reports[row];
    const double area = job->scale.area_m2;
    result_row_count(to, "step", r->step);
    result_row_real(to, "on_map_m3", r->mass * area);
    result_row_real(to, "lost_edge_m3", r->lost_edge * area);
    result_row_real(to, "lost_nodata_m3", r->lost_nodata * area);
    result_row_count(to, "active_cells", r->n_active);
    result_row_real(to, "max_thickness_m", r->largest);
}

enum status sciddicat_files(struct sciddicat_job *job)
{
    const struct result_table mass = {"mass", mass_row, job, job->slide.n_reports};
    STATUS_TRY(sciddicat_files_grid(job, "thickness", "m", job->slide.h));
    STATUS_TRY(sciddicat_files_grid(job, "max_thickness", "m", job->slide.max_h));
    STATUS_TRY(add_arrival(job));
    return result_table_csv(job->io->out, &mass, ROWS_PER_PIECE);
}
