/*
 * sciddicat_files - cells and rows, given piece by piece on any thread.
 */
#include "stages/sciddicat/sciddicat_job.h"

#include <stdio.h>
#include <stdlib.h>

enum { THICKNESS_NODATA = -9999, NEVER = -1, ROWS_PER_PIECE = 8192 /* of text */ };

/* Thicknesses to be written; `own`: they are freed with the file. */
struct field {
    const struct sciddicat_job *job;
    const double *cells;
    double *own;
};

static void free_field(void *context)
{
    struct field *f = context;
    free(f->own);
    free(f);
}

static enum status fetch_thickness(void *context, uint64_t first, size_t n, void *dst)
{
    const struct field *f = context;
    for (size_t k = 0; k < n; k++) {
        const double h =
            sciddicat_masks(f->job, first + k) ? THICKNESS_NODATA : f->cells[first + k];
        if (f->job->choice.type == RASTER_F64) {
            ((double *)dst)[k] = h;
        } else {
            ((float *)dst)[k] = (float)h;
        }
    }
    return STATUS_OK;
}

/* Adds thicknesses; owns `own`, also on failure. */
static enum status add_thickness(struct sciddicat_job *job, const char *name, const double *cells,
                                 double *own, struct result *out)
{
    struct raster raster = sciddicat_raster(job, job->choice.type);
    raster.has_nodata = job->is_masked;
    raster.nodata = THICKNESS_NODATA;
    raster.unit = "m";
    struct field *f = malloc(sizeof *f);
    if (f == NULL) {
        free(own);
        return status_fail(STATUS_NO_MEMORY, "no memory for %s", name);
    }
    *f = (struct field){.job = job, .cells = cells, .own = own};
    return result_add_raster(out, name, &raster, fetch_thickness, f, free_field);
}

enum status sciddicat_files_snapshot(struct sciddicat_job *job, struct result *out)
{
    char name[40];
    const int digits = snprintf(NULL, 0, "%llu", (unsigned long long)job->choice.steps);
    snprintf(name, sizeof name, "snapshots/%0*llu", digits > 6 ? digits : 6,
             (unsigned long long)job->now.step);
    double *h = malloc(job->n_cells * sizeof *h);
    if (h == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %s (%zu cells)", name, job->n_cells);
    }
    const enum status st = bands_state(job->bands, h, NULL, NULL);
    if (st != STATUS_OK) {
        free(h);
        return st;
    }
    return add_thickness(job, name, h, h, out);
}

static enum status fetch_arrival(void *context, uint64_t first, size_t n, void *dst)
{
    const struct sciddicat_job *job = context;
    int32_t *to = dst;
    for (size_t k = 0; k < n; k++) {
        to[k] = sciddicat_masks(job, first + k) ? NEVER : job->arrival[first + k];
    }
    return STATUS_OK;
}

static enum status add_arrival(struct sciddicat_job *job, struct result *out)
{
    struct raster raster = sciddicat_raster(job, RASTER_I32);
    raster.has_nodata = true;
    raster.nodata = NEVER;
    raster.unit = "step";
    return result_add_raster(out, "arrival", &raster, fetch_arrival, job, NULL);
}

/* --- the mass balance ------------------------------------------------------------------------- */

static enum status put_reports(void *context, uint64_t first, size_t n, struct bytes *out)
{
    const struct sciddicat_job *job = context;
    const double area = job->scale.area_m2;
    for (size_t k = 0; k < n; k++) {
        const struct sciddicat_report *r = &job->reports[first + k];
        STATUS_TRY(result_put_row(out, "ufffuf", (uint64_t)r->step, r->mass * area,
                                  r->lost_edge * area, r->lost_nodata * area, (uint64_t)r->n_active,
                                  r->largest));
    }
    return STATUS_OK;
}

enum status sciddicat_files(struct sciddicat_job *job, struct result *out)
{
    STATUS_TRY(add_thickness(job, "thickness", job->h, NULL, out));
    STATUS_TRY(add_thickness(job, "max_thickness", job->max_h, NULL, out));
    STATUS_TRY(add_arrival(job, out));
    return result_add_csv(out, "mass",
                          "step,on_map_m3,lost_edge_m3,lost_nodata_m3,active_cells,"
                          "max_thickness_m",
                          job->n_reports, ROWS_PER_PIECE, put_reports, job, NULL);
}
