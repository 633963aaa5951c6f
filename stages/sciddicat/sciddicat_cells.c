/*
 * sciddicat_cells - from the files' numbers to the state before the first step.
 *
 * NODATA cells that are sinks, or lie on the ring, need an altitude, which their neighbours compare
 * with their own: the lowest of the map. The number that stands for NODATA does not serve: with
 * -3.4e38, a common one, every flow towards it would be lost in rounding.
 */
#include "stages/sciddicat/sciddicat_job.h"

#include <math.h>
#include <stdio.h>

/* Numbers beyond this are not heights: at 1e9 m, doubles are 1e-7 m apart. */
static const double most_m = 1e9;

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
    const bool nodata = is_nodata(job->dem, value);
    if (job->params.nodata == SCIDDICAT_COMPAT && isnan(value)) {
        return refuse(job, SCIDDICAT_DEM, cell, value,
                      "stands for NODATA and cannot be taken as an altitude, as nodata=compat "
                      "asks for; set nodata=wall or nodata=sink");
    }
    if (!(fabs(value) <= most_m) && !(nodata && job->params.nodata != SCIDDICAT_COMPAT)) {
        return refuse(
            job, SCIDDICAT_DEM, cell, value,
            nodata ? "stands for NODATA and is too far away to be taken as an altitude, "
                     "as nodata=compat asks for; set nodata=wall or nodata=sink"
                   : "is not an altitude in metres; if it stands for NODATA, the file has to "
                     "say so (NODATA_value, gdal_translate -a_nodata), or missing_value");
    }
    job->z[cell] = value * job->units.altitude_m;
    job->nodata[cell] = nodata;
    job->n_nodata += nodata;
    return STATUS_OK;
}

static enum status add_thickness(struct sciddicat_job *job, size_t cell, double value)
{
    if (is_nodata(job->source, value)) {
        value = 0;
        job->n_source_nodata++;
    } else if (value < 0 || value > most_m) {
        job->bad = job->n_bad == 0 ? cell : job->bad;
        job->bad_value = job->n_bad == 0 ? value : job->bad_value;
        job->n_bad++;
    }
    job->h[cell] = value * job->units.thickness_m + 0.0; /* not -0 */
    return STATUS_OK;
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
    const bool narrow = type == DTYPE_F32;
    if (part == SCIDDICAT_SOURCE) {
        table_heights_take(&job->thicknesses, chunk, type);
    }
    for (size_t i = 0; i < chunk->n_cells; i++) {
        const size_t cell = cell_of(job, part, n + i);
        const double value =
            narrow ? (double)((const float *)chunk->values)[i] : ((const double *)chunk->values)[i];
        STATUS_TRY(part == SCIDDICAT_DEM ? add_altitude(job, cell, value)
                                         : add_thickness(job, cell, value));
    }
    return STATUS_OK;
}

enum status sciddicat_cells_take(struct sciddicat_job *job, enum sciddicat_part part)
{
    const struct table_chunk *chunk;
    size_t n = 0;
    table_heights_begin(&job->thicknesses,
                        job->source->has_nodata ? job->source->nodata : (double)NAN);
    STATUS_TRY(io_chunk(job->io, part, &chunk));
    while (chunk != NULL && chunk->n_cells <= job->n_cells - n) {
        STATUS_TRY(add_cells(job, part, chunk, n));
        n += chunk->n_cells;
        STATUS_TRY(io_chunk(job->io, part, &chunk));
    }
    return chunk == NULL && n == job->n_cells
               ? STATUS_OK
               : status_fail(STATUS_INTERNAL, "%s: not the %zu cells came that were announced",
                             sciddicat_name(job, part), job->n_cells);
}

/* --- cells without a thickness ---------------------------------------------------------------- */

/* What to do if numbers of the source stand for missing ones; compat excludes missing_value. */
static enum status say_cure(const struct sciddicat_job *job, const struct table_code *codes,
                            size_t n, struct bytes *out)
{
    static const char in_file[] = "the file has to say so (NODATA_value, gdal_translate -a_nodata)";
    return job->params.nodata == SCIDDICAT_COMPAT
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

/* --- the start -------------------------------------------------------------------------------- */

static enum status fill_nodata(struct sciddicat_job *job)
{
    double lowest = INFINITY;
    for (size_t k = 0; k < job->n_cells; k++) {
        if (!job->nodata[k] && job->z[k] < lowest) {
            lowest = job->z[k];
        }
    }
    if (isinf(lowest)) {
        return status_fail(STATUS_BAD_INPUT, "%s: no cell has an altitude, all are NODATA",
                           sciddicat_name(job, SCIDDICAT_DEM));
    }
    for (size_t k = 0; k < job->n_cells; k++) {
        if (job->nodata[k]) {
            job->z[k] = lowest;
        }
    }
    return STATUS_OK;
}

/* Has it debris that can move? */
static bool can_move(const struct sciddicat_job *job, size_t row, size_t column)
{
    const size_t k = row * job->dem->columns + column;
    return job->h[k] > 0 && !sciddicat_on_ring(job, row, column) && !sciddicat_masks(job, k);
}

/* Notes a cell's debris. */
static void start_cell(struct sciddicat_job *job, size_t row, size_t column)
{
    struct sciddicat_start *const s = &job->start;
    const size_t k = row * job->dem->columns + column;
    const double h = job->h[k], z = job->z[k];
    s->highest = fmax(s->highest, fabs(z));
    if (!(h > 0)) {
        return;
    }
    s->n_flat += z == 0 && !job->nodata[k];
    const bool masked = sciddicat_masks(job, k);
    if (!masked && (!s->has_crown || z > job->z[s->crown])) {
        s->crown = k;
        s->has_crown = true;
    }
    s->n_debris++;
    if (sciddicat_on_ring(job, row, column)) {
        s->n_ring++;
        s->ring_m += h;
    } else if (masked) {
        s->n_nodata++;
        s->nodata_m += h;
    }
}

/* Notes how debris ends about a cell that has some. */
static void start_edges(struct sciddicat_job *job, size_t row, size_t column)
{
    struct sciddicat_start *const s = &job->start;
    const size_t columns = job->dem->columns, k = row * columns + column;
    if (!can_move(job, row, column)) {
        return;
    }
    const size_t next[4] = {k - columns, k - 1, k + 1, k + columns};
    for (size_t n = 0; n < 4; n++) {
        if (!(job->h[next[n]] > 0) && !job->nodata[next[n]]) {
            s->n_edges++;
            s->edge_m += job->h[k];
            s->drop_m += job->z[k] - job->z[next[n]];
        }
    }
    s->moving_m += job->h[k];
    s->n_moving++;
}

enum status sciddicat_cells_ready(struct sciddicat_job *job)
{
    STATUS_TRY(job->n_bad > 0 ? refuse_thickness(job) : STATUS_OK);
    job->is_masked = job->n_nodata > 0 && job->params.nodata != SCIDDICAT_COMPAT;
    STATUS_TRY(job->is_masked ? fill_nodata(job) : STATUS_OK);
    for (size_t i = 0; i < job->dem->rows; i++) {
        for (size_t j = 0; j < job->dem->columns; j++) {
            start_cell(job, i, j);
            start_edges(job, i, j);
        }
    }
    return STATUS_OK;
}

/* Debris that may move lies in the surface that the DEM shows. */
void sciddicat_cells_surface(const struct sciddicat_job *job, double *surface)
{
    for (size_t i = 0; i < job->dem->rows; i++) {
        for (size_t j = 0; j < job->dem->columns; j++) {
            const size_t k = i * job->dem->columns + j;
            surface[k] = can_move(job, i, j) ? job->z[k] - job->h[k] : job->z[k];
        }
    }
}
