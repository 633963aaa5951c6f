/*
 * sciddicat_warnings - sentences, each where it applies.
 */
#include "stages/sciddicat/sciddicat_job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_CELLS = 100 }; /* of a map of which most may be said */

static double share(const struct sciddicat_job *job, double sum_m)
{
    return 100 * sum_m / job->slide.start.thickness;
}

static double volume(const struct sciddicat_job *job, double sum_m)
{
    return sum_m * job->scale.area_m2;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static enum status warn_start(const struct sciddicat_job *job, struct result *out)
{
    const struct landslide_start *const s = &job->slide.start;
    const char *const thickness = job->choice.thickness;
    if (*thickness != '\0' &&
        strcmp(job->args.inputs[SCIDDICAT_SOURCE].table->format, "polygons") != 0) {
        STATUS_TRY(result_warn(out, "thickness=%s is ignored: %s is a grid, not polygons",
                               thickness, sciddicat_name(job, SCIDDICAT_SOURCE)));
    }
    if (s->n_debris == 0) {
        return result_warn(out, "%s: no cell carries debris, so nothing moves",
                           sciddicat_name(job, SCIDDICAT_SOURCE));
    }
    if (s->n_ring > 0) {
        STATUS_TRY(result_warn(out,
                               "%.6g m3 of debris (%zu cell%s) lie on the outermost ring of cells "
                               "and never move",
                               volume(job, s->ring_m), s->n_ring, plural(s->n_ring)));
    }
    if (s->n_nodata == 0) {
        return STATUS_OK;
    }
    return result_warn(out,
                       "%.6g m3 of debris (%zu cell%s) lie where the DEM has NODATA: they never "
                       "move and are not in the grids that are written",
                       volume(job, s->nodata_m), s->n_nodata, plural(s->n_nodata));
}

static bool is_most(size_t n, size_t of)
{
    return n > of - of / 20;
}

static enum status warn_codes(const struct sciddicat_job *job, struct result *out)
{
    struct bytes text = {0};
    enum status st = sciddicat_cells_codes(job, &text);
    if (st == STATUS_OK && text.len > 0) {
        st = result_warn(out, "%s: %s", sciddicat_name(job, SCIDDICAT_SOURCE),
                         (const char *)text.data);
    }
    bytes_free(&text);
    return st;
}

/* Debris nearly everywhere is a surface: altitudes are in its place, and debris in theirs where
 * these are 0. A source may have numbers in the scar alone: then that they are everywhere says
 * nothing. */
static enum status warn_exchanged(const struct sciddicat_job *job, struct result *out)
{
    const struct landslide_start *const s = &job->slide.start;
    const bool is_flat = 2 * s->n_flat > s->n_debris;
    const bool is_everywhere =
        is_most(s->n_debris, job->slide.n_cells - job->slide.n_nodata) ||
        (is_flat && is_most(s->n_debris, job->slide.n_cells - job->n_source_nodata));
    if (!is_everywhere || s->n_debris < LEAST_CELLS) {
        return STATUS_OK;
    }
    return result_warn(out,
                       "%s has debris in %zu of %zu cells, %.6g m thick on the average, as if it "
                       "held altitudes%s; debris is a thickness, 0 where there is none",
                       sciddicat_name(job, SCIDDICAT_SOURCE), s->n_debris, job->slide.n_cells,
                       job->slide.start.thickness / (double)s->n_debris,
                       is_flat ? ", and most of the altitudes there are 0: the two files seem to "
                                 "be exchanged"
                               : "");
}

/* The debris is taken to lie in the altitudes. Where it ends at half of its mean thickness or more,
 * steeper than one in four, and the surface goes on without falling half as far, there is a pit
 * with walls beneath it, or the altitudes are without it. Slopes cancel over what lies around it.
 */
static enum status warn_cliff(const struct sciddicat_job *job, struct result *out)
{
    const struct landslide_start *const s = &job->slide.start;
    const double n = (double)s->n_edges, edge = s->edge_m / n, drop = s->drop_m / n;
    const double mean = s->moving_m / (double)s->n_moving;
    const double cell = fmin(job->scale.cell_x_m, job->scale.cell_y_m);
    if (s->n_edges == 0 || edge < mean / 2 || edge < cell / 4 || drop > edge / 2) {
        return STATUS_OK;
    }
    return result_warn(out,
                       "the debris is %.3g m thick where it ends (%.3g m on the average), and the "
                       "altitudes do not fall there: if they are those of the ground beneath it, "
                       "add it to them; they are taken to hold the debris",
                       edge, mean);
}

enum { RUN_BYTES = 32 };

/* Which run a sentence is of, where there are several: "run 3: ". */
static const char *name_run(const struct sciddicat_job *job, char room[RUN_BYTES])
{
    room[0] = '\0';
    if (job->runs.n > 1) {
        (void)snprintf(room, RUN_BYTES, "run %zu: ", job->runs.full + 1);
    }
    return room;
}

/* The runs of which debris left the map, where there are several. */
static enum status warn_runs(const struct sciddicat_job *job, struct result *out)
{
    const struct sciddicat_runs *const runs = &job->runs;
    double edge = 0, nodata = 0;
    size_t n_edge = 0, n_nodata = 0;
    for (size_t i = 0; i < runs->n && runs->n > 1; i++) {
        const struct sciddicat_report *const end = &runs->rows[i].end;
        n_edge += end->lost_edge > 0;
        n_nodata += end->lost_nodata > 0;
        edge = fmax(edge, end->lost_edge);
        nodata = fmax(nodata, end->lost_nodata);
    }
    if (n_edge > 0) {
        STATUS_TRY(
            result_warn(out,
                        "in %zu of %zu runs debris left the map through its edge, up to %.6g "
                        "m3 (%.3g %%): runs.csv.gz has each; a larger DEM would show where "
                        "it went",
                        n_edge, runs->n, volume(job, edge), share(job, edge)));
    }
    return n_nodata == 0 ? STATUS_OK
                         : result_warn(out,
                                       "in %zu of %zu runs debris flowed into NODATA cells and is "
                                       "gone, up to %.6g m3 (%.3g %%): runs.csv.gz has each",
                                       n_nodata, runs->n, volume(job, nodata), share(job, nodata));
}

static enum status warn_losses(const struct sciddicat_job *job, const struct sciddicat_summary *s,
                               struct result *out)
{
    const struct sciddicat_report *const r = &job->slide.now;
    const bool is_alone = job->runs.n == 1;
    char run[RUN_BYTES];
    STATUS_TRY(warn_runs(job, out));
    if (is_alone && r->lost_edge > 0) {
        STATUS_TRY(result_warn(out,
                               "%.6g m3 of debris (%.3g %%) left the map through its edge; a "
                               "larger DEM would show where they went",
                               volume(job, r->lost_edge), share(job, r->lost_edge)));
    }
    if (is_alone && r->lost_nodata > 0) {
        STATUS_TRY(result_warn(out,
                               "%.6g m3 of debris (%.3g %%) flowed into NODATA cells and are gone",
                               volume(job, r->lost_nodata), share(job, r->lost_nodata)));
    }
    if (s->n_dammed > 0) {
        STATUS_TRY(result_warn(out,
                               "%sdebris covered %zu cell%s beside NODATA, which held it back "
                               "like a wall",
                               name_run(job, run), s->n_dammed, plural(s->n_dammed)));
    }
    if (s->n_on_nodata == 0) {
        return STATUS_OK;
    }
    return result_warn(out,
                       "%sdebris covered %zu NODATA cell%s of the DEM, whose number (%g) "
                       "nodata=compat takes as an altitude",
                       name_run(job, run), s->n_on_nodata, plural(s->n_on_nodata),
                       job->dem->nodata);
}

/* Changes of less than a thousandth of what adheres are creep, and so little debris that a thousand
 * steps more would not move a hundredth of it is rest: neither is reported. */
static enum status warn_motion(const struct sciddicat_job *job, struct result *out)
{
    const struct landslide_motion *const m = &job->slide.motion;
    char run[RUN_BYTES];
    if (!(m->largest > job->slide.params.epsilon / 1000) ||
        share(job, m->largest * (double)m->n_cells) < 1e-3) {
        return STATUS_OK;
    }
    return result_warn(out,
                       "%snot at rest after %llu steps: the last one moved %.3g m3 (%.3g %% of the "
                       "debris) in %zu cell%s, %.3g m in one of them at most",
                       name_run(job, run), (unsigned long long)job->slide.now.step,
                       volume(job, m->sum_m), share(job, m->sum_m), m->n_cells, plural(m->n_cells),
                       m->largest);
}

/* The name of a unit. */
static void name_unit(double metres, char *text, size_t n)
{
    if (metres == 1) {
        (void)snprintf(text, n, "metres");
    } else if (metres == 0.3048) {
        (void)snprintf(text, n, "feet");
    } else if (metres == GRID_SURVEY_FOOT_M) {
        (void)snprintf(text, n, "US survey feet");
    } else {
        (void)snprintf(text, n, "units of %.10g m", metres);
    }
}

static enum status warn_scale(const struct sciddicat_job *job, struct result *out)
{
    static const char *const unknown[] = {
        [GRID_UNKNOWN] =
            "the altitudes do not say how large their cells are (a world file beside them is not "
            "read: gdal_translate writes it into a GeoTIFF)",
        [GRID_UNCLEAR] = "the altitudes have a coordinate system whose unit is not understood",
        [GRID_DEGREES] =
            "the altitudes have a geographic coordinate system (degrees), but the model "
            "needs square cells; warp both grids to a projected one (gdalwarp "
            "-t_srs)",
        [GRID_OTHER] = "the altitudes have a coordinate system whose unit is not known",
    };
    const double x = job->scale.cell_x_m, y = job->scale.cell_y_m;
    char unit[48];
    if (job->scale.unit != GRID_LENGTH) {
        return result_warn(out, "%s; volumes, areas and lengths are for cells of 1 m x 1 m",
                           unknown[job->scale.unit]);
    }
    if (job->scale.unit_m != 1) {
        name_unit(job->scale.unit_m, unit, sizeof unit);
        STATUS_TRY(result_warn(out,
                               "the map is in %s by its coordinate system: volumes, areas and "
                               "lengths are converted to metres",
                               unit));
    }
    if (grid_scale_is_sheared(&job->scale)) {
        return result_warn(
            out, "the altitudes have cells that are not rectangles: the model takes them to be "
                 "square");
    }
    if (fabs(x - y) <= 1e-6 * x) {
        return STATUS_OK;
    }
    return result_warn(out,
                       "the altitudes have cells of %.6g m x %.6g m: the model takes them to be "
                       "square, and debris spreads as far over either side",
                       x, y);
}

/* Of altitudes whose unit is what their file says. */
static enum status warn_altitude_unit(const struct sciddicat_job *job, struct result *out)
{
    const struct sciddicat_units *const u = &job->units;
    const char *const by = u->band > 0 ? "the unit of their band" : "their coordinate system";
    const bool differ = u->band > 0 && u->system > 0 && fabs(u->band - u->system) >= 1e-5;
    char taken[48], other[80] = "";
    if (u->band < 0 || (u->band == 0 && u->system < 0)) {
        return result_warn(out,
                           "the altitudes have a unit that is not known%s%s: they are taken as "
                           "metres; convert them, or name it: vertical_unit=m, ft or us-ft",
                           u->band < 0 ? ", " : "", u->band < 0 ? job->dem->unit : "");
    }
    if (u->band == 0 && u->system == 0 && job->scale.unit_m != 1) {
        return result_warn(out, "the altitudes name no unit: they are taken as metres, although "
                                "their map is not in metres; vertical_unit overrides it");
    }
    if (u->altitude_m == 1 && !differ) {
        return STATUS_OK;
    }
    name_unit(u->altitude_m, taken, sizeof taken);
    if (differ) {
        (void)snprintf(other, sizeof other, ", and in ");
        name_unit(u->system, other + strlen(other), sizeof other - strlen(other));
        strcat(other, " by their coordinate system");
    }
    return result_warn(
        out, "the altitudes are in %s by %s%s: they are %s; vertical_unit overrides it", taken, by,
        other, u->altitude_m == 1 ? "taken as metres" : "converted to metres");
}

static enum status warn_units(const struct sciddicat_job *job, struct result *out)
{
    const double source = job->units.source_band;
    const char *const name = sciddicat_name(job, SCIDDICAT_SOURCE);
    char said[48];
    if (!job->units.is_given) {
        STATUS_TRY(warn_altitude_unit(job, out));
    }
    if (source == 0 || source == 1) {
        return STATUS_OK;
    }
    name_unit(source, said, sizeof said);
    return source < 0 ? result_warn(out,
                                    "%s has a unit that is not known, %s: its numbers are taken "
                                    "as metres",
                                    name, job->source->unit)
                      : result_warn(out,
                                    "%s is in %s by the unit of its band: it is converted to "
                                    "metres",
                                    name, said);
}

static enum status warn_georeference(const struct sciddicat_job *job, struct result *out)
{
    const char *const source = sciddicat_name(job, SCIDDICAT_SOURCE);
    if (job->georeferenced_by_source) {
        return result_warn(out,
                           "the altitudes do not say where they lie: the place and the size of "
                           "cells are those of %s",
                           source);
    }
    if (grid_systems_differ(job->dem, job->source)) {
        STATUS_TRY(result_warn(out,
                               "the altitudes and %s have different coordinate systems: the debris "
                               "is taken to lie in that of the altitudes; if it does not, warp it "
                               "(gdalwarp -t_srs)",
                               source));
    }
    if (job->observed == NULL || !grid_systems_differ(job->dem, job->observed)) {
        return STATUS_OK;
    }
    return result_warn(out,
                       "the altitudes and %s have different coordinate systems: the observed "
                       "landslide is taken to lie in that of the altitudes; if it does not, warp "
                       "it (gdalwarp -t_srs)",
                       sciddicat_name(job, SCIDDICAT_OBSERVED));
}

static enum status warn_observed(const struct sciddicat_job *job, const struct sciddicat_scores *s,
                                 struct result *out)
{
    const char *const name = sciddicat_name(job, SCIDDICAT_OBSERVED);
    const size_t n_known = job->slide.n_cells - (job->slide.is_masked ? job->slide.n_nodata : 0);
    if (s->n_hit == 0) {
        STATUS_TRY(result_warn(out,
                               "%s: no cell is above 0 where there is an altitude, so there "
                               "is nothing to compare the run with",
                               name));
    }
    if (s->n_hit > 0 && s->n_beside > 0) {
        STATUS_TRY(result_warn(out,
                               "%s: %zu of %zu cells above 0 lie where the DEM has NODATA, and do "
                               "not count",
                               name, s->n_beside, s->n_beside + s->n_hit));
    }
    if (!is_most(s->n_hit, n_known) || s->n_hit < LEAST_CELLS) {
        return STATUS_OK;
    }
    return result_warn(out,
                       "%s is above 0 in %zu of %zu cells: as if the number of cells that were not "
                       "hit, which is 0, NODATA or below 0, stood for something else",
                       name, s->n_hit, n_known);
}

static enum status warn_system(const struct sciddicat_job *job, struct result *out)
{
    const struct raster raster = sciddicat_raster(job, job->choice.type);
    if (raster_says_system(&raster)) {
        return STATUS_OK;
    }
    if (job->choice.format == RASTER_ASC) {
        return result_warn(out, "the coordinate system of the altitudes cannot be said in .asc.gz; "
                                "raster=tif carries it");
    }
    return result_warn(out, "the .prj of the altitudes is not carried: a GeoTIFF holds only ESRI's "
                            "PROJCS[...] or GEOGCS[...], without '|', of less than 2300 bytes; "
                            "raster=asc.gz carries it");
}

enum status sciddicat_warn(const struct sciddicat_job *job, const struct sciddicat_summary *s,
                           const struct sciddicat_scores *scores, struct result *out)
{
    STATUS_TRY(warn_start(job, out));
    STATUS_TRY(warn_codes(job, out));
    STATUS_TRY(warn_exchanged(job, out));
    STATUS_TRY(warn_cliff(job, out));
    STATUS_TRY(warn_losses(job, s, out));
    STATUS_TRY(warn_motion(job, out));
    STATUS_TRY(warn_scale(job, out));
    STATUS_TRY(warn_units(job, out));
    STATUS_TRY(warn_georeference(job, out));
    STATUS_TRY(scores != NULL ? warn_observed(job, scores, out) : STATUS_OK);
    return warn_system(job, out);
}

/* Under compat every number is an altitude, as it was asked for. */
static enum status notice_codes(const struct stage_args *args, struct result *out)
{
    struct bytes text = {0};
    if (sciddicat_policy(args) == SCIDDICAT_COMPAT) {
        return STATUS_OK;
    }
    enum status st = table_watch_heights(args->inputs[SCIDDICAT_DEM].seen, &text);
    if (st == STATUS_OK && text.len > 0) {
        st = result_warn(out, "%s", (const char *)text.data);
    }
    bytes_free(&text);
    return st;
}

enum status sciddicat_notice(const struct stage_args *args, struct result *out)
{
    const struct stage_input *const dem = &args->inputs[SCIDDICAT_DEM];
    const struct grid *const g = dem->table->grid;
    double low, high;
    STATUS_TRY(notice_codes(args, out));
    if (g == NULL || !grid_is_georeferenced(g) || grid_scale_names_system(g)) {
        return STATUS_OK;
    }
    if (!table_watch_range(dem->seen, &low, &high) ||
        !grid_scale_looks_like_degrees(g, low, high)) {
        return result_warn(out, "the altitudes name no coordinate system, so the results name "
                                "none: put a .prj beside an .asc, or write the system into a "
                                "GeoTIFF (gdal_translate -a_srs)");
    }
    const struct grid_extent e = grid_extent_of(g);
    return result_warn(out,
                       "the altitudes name no coordinate system, and their cells of %.3g x %.3g "
                       "between %.6g and %.6g east, %.6g and %.6g north look like degrees, which "
                       "are taken for metres; warp them to a projected system (gdalwarp -t_srs)",
                       g->cell_x, fabs(g->cell_y), e.west, e.east, fmin(e.north, e.south),
                       fmax(e.north, e.south));
}
