/*
 * sciddicat_summary - shape, parameters and summary as they stand in result.json.
 *
 * Volumes are sums of thickness times the cells' area in metres; where that is not known, it is
 * 1 m2, and a warning says so. Rows and columns count from 1, as in messages.
 */
#include "formats/result/summary_entry.h"
#include "stages/sciddicat/sciddicat_job.h"

#include <math.h>

/* --- one pass over the grids ------------------------------------------------------------------ */

/* Cells on the ring are beside nothing that holds debris back: they take it. */
static bool is_dammed(const struct sciddicat_job *job, size_t row, size_t column)
{
    const size_t columns = job->dem->columns, k = row * columns + column;
    const size_t next[4] = {k - columns, k - 1, k + 1, k + columns};
    if (job->slide.params.nodata != SCIDDICAT_WALL || landslide_on_ring(&job->slide, row, column)) {
        return false;
    }
    for (size_t n = 0; n < 4; n++) {
        if (landslide_masks(&job->slide, next[n]) &&
            !landslide_on_ring(&job->slide, next[n] / columns, next[n] % columns)) {
            return true;
        }
    }
    return false;
}

double sciddicat_distance_m(const struct sciddicat_job *job, size_t a, size_t b)
{
    const size_t columns = job->dem->columns;
    const size_t row_a = a / columns, row_b = b / columns;
    const double down = (double)row_b - (double)row_a;
    const double right = (double)(b % columns) - (double)(a % columns);
    const struct grid_scale *const s = &job->scale;
    return hypot(right * s->column_m[0] + down * s->row_m[0],
                 right * s->column_m[1] + down * s->row_m[1]);
}

static double from_crown_m(const struct sciddicat_job *job, size_t k)
{
    return sciddicat_distance_m(job, job->slide.start.crown, k);
}

bool sciddicat_is_further_down(const struct sciddicat_job *job, size_t k, size_t toe)
{
    return job->slide.z[k] < job->slide.z[toe] ||
           (job->slide.z[k] == job->slide.z[toe] && from_crown_m(job, k) > from_crown_m(job, toe));
}

static void add_covered(const struct sciddicat_job *job, size_t row, size_t column,
                        struct sciddicat_summary *s)
{
    const size_t k = row * job->dem->columns + column;
    if (s->n_covered == 0) {
        s->first_row = row;
        s->first_column = column;
        s->toe = k;
    }
    s->toe = sciddicat_is_further_down(job, k, s->toe) ? k : s->toe;
    s->first_column = column < s->first_column ? column : s->first_column;
    s->end_column = column + 1 > s->end_column ? column + 1 : s->end_column;
    s->end_row = row + 1;
    s->n_covered++;
    s->n_dammed += is_dammed(job, row, column);
    s->n_on_nodata += job->slide.nodata[k] && !job->slide.is_masked;
}

void sciddicat_measure(const struct sciddicat_job *job, const double *max_h, double epsilon,
                       struct sciddicat_summary *out)
{
    const size_t columns = job->dem->columns;
    struct sciddicat_summary s = {.n_covered = 0};
    for (size_t i = 0; i < job->dem->rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            const size_t k = i * columns + j;
            if (landslide_masks(&job->slide, k)) {
                continue;
            }
            if (landslide_masks(&job->slide, s.deepest) || max_h[k] > max_h[s.deepest]) {
                s.deepest = k;
            }
            if (max_h[k] > epsilon) {
                add_covered(job, i, j, &s);
            }
        }
    }
    s.has_runout = s.n_covered > 0 && job->slide.start.has_crown;
    if (s.has_runout) {
        s.drop_m = job->slide.z[job->slide.start.crown] - job->slide.z[s.toe];
        s.runout_m = from_crown_m(job, s.toe);
    }
    *out = s;
}

double sciddicat_reach_deg(const struct sciddicat_summary *s)
{
    return s->has_runout && s->runout_m > 0 ? atan2(s->drop_m, s->runout_m) * 180 / M_PI
                                            : (double)NAN;
}

/* --- what show and the report say ------------------------------------------------------------- */

static const struct stage_fact facts[] = {
    {"runs", "runs", ""},
    {"run told in full", "full_run", ""},
    {"its p_epsilon", "full_p_epsilon", " m"},
    {"its p_r", "full_p_r", ""},
    {"steps", "steps", ""},
    {"at rest", "settled", ""},
    {"run-out", "runout_m", " m"},
    {"drop", "drop_m", " m"},
    {"angle of reach", "reach_angle_deg", "\xc2\xb0"},
    {"covered over p_epsilon", "covered_m2", " m\xc2\xb2"},
    {"thickest at the end", "max_thickness_m", " m"},
    {"debris at the start", "volume_start_m3", " m\xc2\xb3"},
    {"debris at the end", "volume_end_m3", " m\xc2\xb3"},
    {"left over the edge", "lost_edge_m3", " m\xc2\xb3"},
    {"vanished in NODATA", "lost_nodata_m3", " m\xc2\xb3"},
    {"error of the mass balance", "balance_error_m3", " m\xc2\xb3"},
    {"observed cells", "observed_cells", ""},
    {"cells over affected", "affected_cells", ""},
    {"fitness", "fitness", ""},
    {"precision", "precision", ""},
    {"recall", "recall", ""},
    {"Jaccard index", "jaccard", ""},
    {"AUROC of the maximum", "auroc", ""},
    {"distance of the toes", "toe_distance_m", " m"},
    {"model", "model", ""},
    {0},
};

static const struct stage_code codes[] = {
    {.file = "thickness.tif",
     .lines = {"import pandas, rasterio",
               "thickness = rasterio.open(\"thickness.tif\").read(1, masked=True)",
               "mass = pandas.read_csv(\"mass.csv.gz\")"}},
    {.file = "thickness.asc.gz",
     .lines = {"import numpy, pandas",
               "thickness = numpy.loadtxt(\"thickness.asc.gz\", skiprows=6)",
               "mass = pandas.read_csv(\"mass.csv.gz\")"}},
    {0},
};

static const struct stage_listing listings[] = {
    {.title = "Probes",
     .columns = {{.head = "row, column, from 1", .list = "probes", .keys = {"row", "column"}},
                 {.head = "at the end, m", .list = "probes", .keys = {"thickness_m"}},
                 {.head = "at most, m", .list = "probes", .keys = {"max_thickness_m"}},
                 {.head = "from step", .list = "probes", .keys = {"arrival"}},
                 {.head = "", .list = "probes", .keys = {"name"}}}},
    {0},
};

static const struct stage_fact pictures[] = {
    {"a map of the debris over the shaded relief", "map", ""},
    {"a map of the share of runs that affected a cell", "probability", ""},
    {"the debris at the probes, step by step", "probes", ""},
    {0},
};

const struct stage_told sciddicat_told = {facts, listings, codes, pictures};

/* --- result.json ------------------------------------------------------------------------------ */

static json_t *volume(const struct sciddicat_job *job, double sum_m)
{
    return summary_real(sum_m * job->scale.area_m2);
}

/* A cell's position, and one value there. */
static json_t *cell_json(const struct sciddicat_job *job, size_t cell, const char *key,
                         double value)
{
    const size_t row = cell / job->dem->columns, column = cell % job->dem->columns;
    json_t *const at = json_pack("{s:o, s:I, s:I}", key, summary_real(value), "row",
                                 (json_int_t)row + 1, "column", (json_int_t)column + 1);
    if (at != NULL && grid_is_georeferenced(job->dem)) {
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
    return known ? cell_json(job, cell, "altitude_m", job->slide.z[cell]) : json_null();
}

/* The rows and columns that were covered. */
static json_t *extent(const struct sciddicat_summary *s)
{
    return s->n_covered == 0
               ? json_null()
               : json_pack("{s:I, s:I, s:I, s:I}", "first_row", (json_int_t)s->first_row + 1,
                           "last_row", (json_int_t)s->end_row, "first_column",
                           (json_int_t)s->first_column + 1, "last_column",
                           (json_int_t)s->end_column);
}

static json_t *motion(const struct sciddicat_job *job)
{
    const struct landslide_motion *const m = &job->slide.motion;
    return json_pack("{s:I, s:o, s:o}", "cells", (json_int_t)m->n_cells, "volume_m3",
                     volume(job, m->sum_m), "largest_change_m", summary_real(m->largest));
}

static enum status put_summary(const struct sciddicat_job *job, const struct sciddicat_summary *s,
                               json_t *summary)
{
    const struct sciddicat_report *const r = &job->slide.now;
    const double start = job->slide.start.thickness;
    const struct summary_entry entries[] = {
        {"steps", summary_integer(r->step)},
        {"settled", json_boolean(job->slide.settled)},
        {"volume_start_m3", volume(job, start)},
        {"volume_end_m3", volume(job, r->mass)},
        {"lost_edge_m3", volume(job, r->lost_edge)},
        {"lost_nodata_m3", volume(job, r->lost_nodata)},
        {"balance_error_m3", volume(job, r->mass + r->lost_edge + r->lost_nodata - start)},
        {"balance_bound_m3", volume(job, landslide_mass_bound(&job->slide))},
        {"last_step", motion(job)},
        {"active_cells", summary_integer(r->n_active)},
        {"max_thickness_m", summary_real(r->largest)},
        {"deepest_ever", cell_json(job, s->deepest, "thickness_m", job->slide.max_h[s->deepest])},
        {"covered_cells", summary_integer(s->n_covered)},
        {"covered_m2", summary_real((double)s->n_covered * job->scale.area_m2)},
        {"covered_extent", extent(s)},
        {"crown", altitude(job, job->slide.start.has_crown, job->slide.start.crown)},
        {"toe", altitude(job, s->n_covered > 0, s->toe)},
        {"drop_m", s->has_runout ? summary_real(s->drop_m) : json_null()},
        {"runout_m", s->has_runout ? summary_real(s->runout_m) : json_null()},
        {"model", json_string("sciddicaT, a cellular automaton of landslides without inertia, by "
                              "minimisation of differences in height")},
        {"reach_angle_deg", summary_real(sciddicat_reach_deg(s))},
    };
    return summary_entry_put(summary, entries, sizeof entries / sizeof *entries);
}

static enum status put_scores(const struct sciddicat_scores *s, json_t *summary)
{
    const struct summary_entry entries[] = {
        {"observed_cells", summary_integer(s->n_hit)},
        {"affected_cells", summary_integer(s->n_affected)},
        {"fitness", summary_real(s->fitness)},
        {"precision", summary_real(s->precision)},
        {"recall", summary_real(s->recall)},
        {"jaccard", summary_real(s->jaccard)},
        {"auroc", summary_real(s->auroc)},
        {"toe_distance_m", summary_real(s->toe_distance_m)},
    };
    return summary_entry_put(summary, entries, sizeof entries / sizeof *entries);
}

static enum status put_shape(const struct sciddicat_job *job, json_t *shape)
{
    const bool has_size = job->scale.unit == GRID_LENGTH;
    const struct summary_entry entries[] = {
        {"rows", summary_integer(job->dem->rows)},
        {"columns", summary_integer(job->dem->columns)},
        {"nodata_cells", summary_integer(job->slide.n_nodata)},
        {"source_cells", summary_integer(job->slide.start.n_debris)},
        {"altitude_unit_m", summary_real(job->units.altitude_m)},
        {"cell_x_m", has_size ? summary_real(job->scale.cell_x_m) : json_null()},
        {"cell_y_m", has_size ? summary_real(job->scale.cell_y_m) : json_null()},
    };
    return summary_entry_put(shape, entries, sizeof entries / sizeof *entries);
}

/* Parameters stand as they were given; report_every and record_every as they are in effect,
 * where they were 0. */
static enum status put_parameters(const struct sciddicat_job *job, json_t *parameters)
{
    const struct summary_entry effective[] = {
        {"report_every", summary_integer(job->slide.report_every)},
        {"record_every", summary_integer(job->slide.record_every)},
    };
    return summary_entry_put(parameters, effective, sizeof effective / sizeof *effective);
}

enum status sciddicat_summarise(struct sciddicat_job *job)
{
    struct result *const out = job->io->out;
    const bool is_scored = job->observed != NULL;
    struct sciddicat_summary s;
    struct sciddicat_scores scores;
    sciddicat_measure(job, job->slide.max_h, job->slide.params.epsilon, &s);
    STATUS_TRY(put_shape(job, out->shape));
    STATUS_TRY(put_parameters(job, out->parameters));
    STATUS_TRY(put_summary(job, &s, out->summary));
    STATUS_TRY(job->runs.n > 1 ? sciddicat_runs_summarise(job, out->summary) : STATUS_OK);
    STATUS_TRY(job->slide.n_probes > 0 ? sciddicat_probes_summarise(job, out->summary) : STATUS_OK);
    if (is_scored) {
        sciddicat_score(job, job->slide.max_h, job->maxima, &scores);
        STATUS_TRY(put_scores(&scores, out->summary));
    }
    return sciddicat_warn(job, &s, is_scored ? &scores : NULL, out);
}
