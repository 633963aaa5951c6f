/*
 * sciddicat_cells - from the files' numbers to the landslide's map.
 */
#include "stages/sciddicat/sciddicat_job.h"

#include <math.h>
#include <stdio.h>

static bool is_nodata(const struct grid *g, double value)
{
    return grid_matches_nodata(g->has_nodata ? g->nodata : (double)NAN, value);
}

static enum status refuse(const struct sciddicat_job *job, enum sciddicat_part part, size_t cell,
                          double value, const char *what)
{
    return status_fail(STATUS_BAD_INPUT, "%s: row %zu, column %zu: %g %s",
                       sciddicat_name(job, part), cell / job->dem->columns + 1,
                       cell % job->dem->columns + 1, isnan(value) ? (double)NAN : value, what);
}

static enum status add_altitude(struct sciddicat_job *job, size_t cell, double value)
{
    static const char *const what[] = {
        [LANDSLIDE_NODATA_NAN] =
            "stands for NODATA and cannot be taken as an altitude, as nodata=compat "
            "asks for; set nodata=wall or nodata=sink",
        [LANDSLIDE_NODATA_FAR] =
            "stands for NODATA and is too far away to be taken as an altitude, "
            "as nodata=compat asks for; set nodata=wall or nodata=sink",
        [LANDSLIDE_NO_ALTITUDE] =
            "is not an altitude in metres; if it stands for NODATA, the file has to "
            "say so (NODATA_value, gdal_translate -a_nodata), or missing_value"};
    const enum landslide_fault fault = landslide_altitude(
        &job->slide, cell, value, is_nodata(job->dem, value), job->units.altitude_m);
    return fault == LANDSLIDE_SOUND ? STATUS_OK
                                    : refuse(job, SCIDDICAT_DEM, cell, value, what[fault]);
}

static void add_thickness(struct sciddicat_job *job, size_t cell, double value)
{
    const bool nodata = is_nodata(job->source, value);
    job->n_source_nodata += nodata;
    if (landslide_debris(&job->slide, cell, value, nodata, job->units.thickness_m) !=
        LANDSLIDE_SOUND) {
        job->bad = job->n_bad == 0 ? cell : job->bad;
        job->bad_value = job->n_bad == 0 ? value : job->bad_value;
        job->n_bad++;
    }
}

/* The cell that the k-th number of a part belongs to. */
static size_t cell_of(const struct sciddicat_job *job, enum sciddicat_part part, size_t k)
{
    const struct table_info *t = job->args.inputs[part].table;
    return t->lines_are_columns ? k % job->dem->rows * job->dem->columns + k / job->dem->rows : k;
}

/* Those of a chunk, of which the first is the part's n-th. */
static enum status add_cells(struct sciddicat_job *job, enum sciddicat_part part,
                             const struct table_chunk *chunk, size_t n)
{
    const enum dtype type = job->args.inputs[part].table->dtype;
    if (part == SCIDDICAT_SOURCE) {
        table_heights_take(&job->thicknesses, chunk, type);
    }
    for (size_t i = 0; i < chunk->n_cells; i++) {
        const size_t cell = cell_of(job, part, n + i);
        const double value = dtype_real(type, chunk->values, i);
        switch (part) {
        case SCIDDICAT_DEM:
            STATUS_TRY(add_altitude(job, cell, value));
            break;
        case SCIDDICAT_SOURCE:
            add_thickness(job, cell, value);
            break;
        default:
            job->hit[cell] = value > 0 && !is_nodata(job->observed, value);
        }
    }
    return STATUS_OK;
}

enum status sciddicat_cells_take(struct sciddicat_job *job, enum sciddicat_part part)
{
    const struct table_chunk *chunk;
    size_t n = 0;
    if (part == SCIDDICAT_SOURCE) {
        table_heights_begin(&job->thicknesses,
                            job->source->has_nodata ? job->source->nodata : (double)NAN);
    }
    STATUS_TRY(io_chunk(job->io, part, &chunk));
    while (chunk != NULL && chunk->n_cells <= job->slide.n_cells - n) {
        STATUS_TRY(add_cells(job, part, chunk, n));
        n += chunk->n_cells;
        STATUS_TRY(io_chunk(job->io, part, &chunk));
    }
    return chunk == NULL && n == job->slide.n_cells
               ? STATUS_OK
               : status_fail(STATUS_INTERNAL, "%s: not the %zu cells came that were announced",
                             sciddicat_name(job, part), job->slide.n_cells);
}

/* --- cells without a thickness ---------------------------------------------------------------- */

/* What to do if numbers of the source stand for missing ones; compat excludes missing_value. */
static enum status say_cure(const struct sciddicat_job *job, const struct table_code *codes,
                            size_t n, struct bytes *out)
{
    static const char in_file[] = "the file has to say so (NODATA_value, gdal_translate -a_nodata)";
    return job->slide.params.nodata == SCIDDICAT_COMPAT
               ? bytes_append(out, in_file, sizeof in_file)
               : table_codes_cure(
                     codes, n, job->args.inputs[SCIDDICAT_SOURCE].table->used[TABLE_MISSING_VALUE],
                     out);
}

enum status sciddicat_cells_codes(const struct sciddicat_job *job, struct bytes *out)
{
    struct table_findings found = {.n_codes = 0};
    table_heights_find(&job->thicknesses, true, &found);
    if (found.n_codes == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(table_heights_list(&found, "thicknesses", out));
    STATUS_TRY(bytes_printf(out, "%s; if so, ", job->n_bad > 0 ? "" : ", and taken as debris"));
    return say_cure(job, found.codes, found.n_codes, out);
}

/* The first cell, how many there are, and what to do where they stand for missing numbers. */
static enum status refuse_thickness(const struct sciddicat_job *job)
{
    const struct table_code as_code = {.value = job->bad_value};
    struct bytes text = {0};
    enum status st = sciddicat_cells_codes(job, &text);
    if (st == STATUS_OK && text.len == 0) {
        st = bytes_printf(&text, "if it stands for NODATA, ");
        st = st == STATUS_OK ? say_cure(job, &as_code, 1, &text) : st;
    }
    if (st == STATUS_OK) {
        char what[STATUS_MESSAGE_BYTES], more[48] = "";
        if (job->n_bad > 1) {
            (void)snprintf(more, sizeof more, " (one of %zu such cells)", job->n_bad);
        }
        (void)snprintf(what, sizeof what, "%s%s; %s",
                       job->bad_value < 0 ? "m of debris is below 0"
                                          : "is not a thickness in metres",
                       more, (const char *)text.data);
        st = refuse(job, SCIDDICAT_SOURCE, job->bad, job->bad_value, what);
    }
    bytes_free(&text);
    return st;
}

enum status sciddicat_cells_ready(struct sciddicat_job *job)
{
    STATUS_TRY(job->n_bad > 0 ? refuse_thickness(job) : STATUS_OK);
    return landslide_ready(&job->slide)
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT, "%s: no cell has an altitude, all are NODATA",
                             sciddicat_name(job, SCIDDICAT_DEM));
}
