/*
 * sciddicat_choice - parameters, shapes and memory of a landslide.
 */
#include "stages/sciddicat/sciddicat_job.h"

#include "formats/base/checked.h"
#include "formats/table/foreign.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    STEPS,
    EPSILON,
    R,
    NODATA,
    SETTLE,
    SNAPSHOT_EVERY,
    REPORT_EVERY,
    RASTER,
    RASTER_TYPE_OF,
    VERTICAL_UNIT,
    THICKNESS,
    OBSERVED,
    AFFECTED,
    PROBES,
    PROBE,
    PROBE_COLUMNS,
    RECORD_EVERY,
    SAMPLE,
    SEED,
    OUTLINE,
    CHECKPOINT,
    STATE,
    START,
    FIGURE,
};

enum { MOST_SNAPSHOTS = 100000 };

#define NUMBER_OF_STEPS(name, usually, what)                                                       \
    STAGE_NUMBER(PARAM_COUNT, (name), 0, LANDSLIDE_MOST_STEPS, (usually), (what))

const struct param_spec sciddicat_specs[SCIDDICAT_N_SPECS] = {
    [STEPS] = NUMBER_OF_STEPS("steps", "4000", "steps of the automaton; 0: the state at the start"),
    [EPSILON] = STAGE_NUMBER(PARAM_NUMBERS, "p_epsilon", 0, 1e6, "0.001",
                             "thickness (m) that adheres; several: a run each"),
    [R] = STAGE_NUMBER(PARAM_NUMBERS, "p_r", 0, 1, "0.5",
                       "share of a flow in one step; several: a run each"),
    [NODATA] = STAGE_CHOICE("nodata", "wall|sink|compat", "wall",
                            "NODATA cells of the DEM: take no debris, swallow it, or are numbers"),
    [SETTLE] = NUMBER_OF_STEPS("settle", "0",
                               "check every so many steps and stop if nothing moves; 0: off"),
    [SNAPSHOT_EVERY] =
        NUMBER_OF_STEPS("snapshot_every", "0", "write the thickness every so many steps; 0: off"),
    [REPORT_EVERY] = NUMBER_OF_STEPS("report_every", "0",
                                     "steps from row to row of mass.csv.gz; 0: a hundredth of all"),
    [RASTER] = STAGE_CHOICE("raster", "tif|asc.gz", "tif", "format of the grids that are written"),
    [RASTER_TYPE_OF] = STAGE_CHOICE("raster_type", "f64|f32", "f64",
                                    "numbers of the thickness grids; f64: the simulated bits"),
    [VERTICAL_UNIT] = STAGE_CHOICE("vertical_unit", "auto|m|ft|us-ft", "auto",
                                   "unit of the altitudes; auto: as their file says, else metres"),
    [THICKNESS] = STAGE_TEXT("thickness", 80, "debris (m) of polygons, or the attribute with it"),
    [OBSERVED] = STAGE_CHOICE("observed", "none|file", "none",
                              "file: X.observed.* holds the landslide as it was mapped"),
    [AFFECTED] = STAGE_NUMBER(PARAM_REAL, "affected", 0, 1e6, "0.1",
                              "thickness (m) above which a cell counts as affected"),
    [PROBES] = STAGE_CHOICE("probes", "none|file", "none",
                            "file: X.probes.* holds places, x and y, maybe with names"),
    [PROBE] = STAGE_TEXT("probe", 4096, "places x,y; x,y; ... where the debris is recorded"),
    [PROBE_COLUMNS] = STAGE_TEXT("probe_columns", 4096, "CSV: the columns of X.probes.*: x, y"),
    [RECORD_EVERY] =
        NUMBER_OF_STEPS("record_every", "0", "steps from row to row of a probe; 0: report_every"),
    [SAMPLE] = STAGE_NUMBER(PARAM_COUNT, "sample", 0, SCIDDICAT_MOST_RUNS, "0",
                            "runs drawn from the ranges; 0: all combinations"),
    [SEED] = STAGE_NUMBER(PARAM_COUNT, "seed", 0, 0x1p53, "0", "seed of the random numbers"),
    [OUTLINE] = STAGE_CHOICE("outline", "none|geojson|gpkg", "none",
                             "write the area that debris reached as polygons"),
    [CHECKPOINT] = STAGE_NUMBER(PARAM_REAL, "checkpoint", 0, 1e6, "60",
                                "keep the state every so many seconds; 0: never"),
    [STATE] =
        STAGE_CHOICE("state", "none|keep", "none", "keep: write state.npz, to continue the run"),
    [START] = STAGE_CHOICE("start", "none|file", "none", "file: go on from X.start.npz"),
    [FIGURE] = STAGE_FIGURE_SPECS(COLOURS_SEQUENTIALS),
};

/* Feet by the band are of one kind or the other: the coordinate system tells which. */
static double altitude_unit(const struct sciddicat_units *u, size_t choice)
{
    static const double units[] = {0, 1, 0.3048, GRID_SURVEY_FOOT_M}; /* in the order of choices */
    const double said = u->band == 0 || fabs(u->band - u->system) < 1e-5 ? u->system : u->band;
    return choice > 0 ? units[choice] : said > 0 ? said : 1;
}

/* The place that a DEM has from the source says nothing of its altitudes. */
static struct sciddicat_units units_of(const struct sciddicat_job *job, size_t choice)
{
    struct sciddicat_units u = {.is_given = choice > 0,
                                .band = grid_scale_band_unit(job->dem),
                                .source_band = grid_scale_band_unit(job->source)};
    u.system = job->georeferenced_by_source ? 0 : grid_scale_system_unit(job->dem);
    u.altitude_m = altitude_unit(&u, choice);
    u.thickness_m = u.source_band > 0 ? u.source_band : 1;
    return u;
}

static struct sciddicat_choice choice_of(const struct param_value *p)
{
    return (struct sciddicat_choice){.affected_m = p[AFFECTED].real,
                                     .has_outline = p[OUTLINE].index > 0,
                                     .packs_outline = p[OUTLINE].index > 1,
                                     .keeps_end = p[STATE].index > 0,
                                     .checkpoint_s = p[CHECKPOINT].real,
                                     .thickness = p[THICKNESS].text,
                                     .probe = p[PROBE].text,
                                     .probe_columns = p[PROBE_COLUMNS].text,
                                     .figure = stage_figure(&p[FIGURE]),
                                     .format = p[RASTER].index == 0 ? RASTER_TIF : RASTER_ASC,
                                     .type =
                                         p[RASTER_TYPE_OF].index == 0 ? RASTER_F64 : RASTER_F32};
}

static enum status runs_of(const struct param_value *p, struct sciddicat_runs *out)
{
    *out = (struct sciddicat_runs){
        .sample = p[SAMPLE].count,
        .seed = p[SEED].count,
        .numbers = {[SCIDDICAT_EPSILON] = p[EPSILON].numbers, [SCIDDICAT_R] = p[R].numbers}};
    return sciddicat_runs_count(out->numbers, out->sample, &out->n);
}

static double first_of(const struct numbers *numbers)
{
    double x;
    numbers_fill(numbers, 0, 1, &x);
    return x;
}

/* The grid of a part: as its file says; without a georeference if the file is of another format. */
static enum status grid_of(const struct stage_args *args, enum sciddicat_part part,
                           struct grid **out)
{
    const struct stage_input *in = &args->inputs[part];
    const struct table_info *t = in->table;
    *out = NULL;
    if (t->grid != NULL) {
        return grid_copy(t->grid, out);
    }
    if (t->n_lines == 0) {
        return status_fail(
            STATUS_BAD_INPUT,
            "%s: a table whose rows are not known before its end is not a grid; write "
            "it as .asc, .tif or .npy",
            in->name);
    }
    STATUS_TRY(t->lines_are_columns ? grid_new(t->cells_per_line, t->n_lines, out)
                                    : grid_new(t->n_lines, t->cells_per_line, out));
    (*out)->has_nodata = t->has_missing_value;
    (*out)->nodata = t->has_missing_value ? (double)NAN : 0;
    return STATUS_OK;
}

/* A DEM without a georeference, even by control points, gets that of the source. */
static enum status open_grids(struct sciddicat_job *job)
{
    STATUS_TRY(grid_of(&job->args, SCIDDICAT_DEM, &job->dem));
    STATUS_TRY(grid_of(&job->args, SCIDDICAT_SOURCE, &job->source));
    if (job->args.inputs[SCIDDICAT_OBSERVED].table != NULL) {
        STATUS_TRY(grid_of(&job->args, SCIDDICAT_OBSERVED, &job->observed));
    }
    job->georeferenced_by_source = !grid_is_georeferenced(job->dem) &&
                                   grid_find_tag(job->dem, GRID_TIEPOINT) == NULL &&
                                   grid_is_georeferenced(job->source);
    return job->georeferenced_by_source ? grid_copy_georeference(job->dem, job->source) : STATUS_OK;
}

struct raster sciddicat_raster(const struct sciddicat_job *job, enum raster_type type)
{
    return (struct raster){.grid = job->dem, .format = job->choice.format, .type = type};
}

static uint64_t n_snapshots(const struct landslide *l)
{
    return l->snapshot_every > 0 ? l->steps / l->snapshot_every : 0;
}

static enum status check_shape(const struct sciddicat_job *job)
{
    const struct landslide *const l = &job->slide;
    const struct raster raster = sciddicat_raster(job, job->choice.type);
    const char *const name = sciddicat_name(job, SCIDDICAT_DEM);
    size_t n_cells;
    if (!checked_mul(job->dem->rows, job->dem->columns, &n_cells) || n_cells > (size_t)1 << 31) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: %zu rows x %zu columns; up to 2^31 cells can be simulated", name,
                           job->dem->rows, job->dem->columns);
    }
    if (n_snapshots(l) > MOST_SNAPSHOTS) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "snapshot_every=%" PRIu64 ": that makes %" PRIu64
                           " snapshots of %" PRIu64 " steps; %d are possible",
                           l->snapshot_every, n_snapshots(l), l->steps, MOST_SNAPSHOTS);
    }
    if (job->args.inputs[SCIDDICAT_START].table != NULL && job->runs.n > 1) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "start=file: one run can go on, and p_r, p_epsilon and sample make %zu",
                           job->runs.n);
    }
    const char *version;
    if (job->choice.packs_outline && foreign_module_need(FOREIGN_GDAL, &version) != STATUS_OK) {
        char why[STATUS_MESSAGE_BYTES];
        (void)snprintf(why, sizeof why, "%s", status_message());
        return status_fail(STATUS_UNSUPPORTED,
                           "outline=gpkg: %s; install the package %s, or choose outline=geojson",
                           why, foreign_module_package(FOREIGN_GDAL));
    }
    if (l->params.nodata == SCIDDICAT_COMPAT &&
        job->args.inputs[SCIDDICAT_DEM].table->has_missing_value) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: missing_value says that cells are NODATA, and nodata=compat takes "
                           "NODATA for an altitude; set nodata=wall or nodata=sink, or leave "
                           "missing_value out",
                           name);
    }
    STATUS_TRY(
        grid_check_aligned(name, job->dem, sciddicat_name(job, SCIDDICAT_SOURCE), job->source));
    if (job->observed != NULL) {
        STATUS_TRY(grid_check_aligned(name, job->dem, sciddicat_name(job, SCIDDICAT_OBSERVED),
                                      job->observed));
    }
    return raster_check(&raster, name);
}

enum status sciddicat_room(struct sciddicat_job *job, struct room *room)
{
    struct landslide *const l = &job->slide;
    STATUS_TRY(landslide_room(l, job->args.queue, room));
    STATUS_TRY(room_host(room, l->n_probes, sizeof *job->probes, &job->probes));
    if (l->n_probes > 0) {
        const uint64_t n_records = l->steps / l->record_every + 2;
        room_count(room, SCIDDICAT_CHART_BYTES + 2 * n_records * sizeof(double), 0);
    }
    const size_t n = l->n_cells;
    room_count(room, sciddicat_map_bytes(job), 0);
    room_count(room, job->choice.has_outline ? sciddicat_outline_bytes(job) : 0, 0);
    STATUS_TRY(room_host(room, n, sizeof *l->h, &l->h));
    STATUS_TRY(room_host(room, n, sizeof *l->max_h, &l->max_h));
    STATUS_TRY(room_host(room, n, sizeof *l->arrival, &l->arrival));
    if (job->runs.n > 1) {
        STATUS_TRY(sciddicat_runs_room(job, room));
    }
    if (job->observed != NULL) {
        STATUS_TRY(room_host(room, n, sizeof *job->hit, &job->hit));
        STATUS_TRY(room_host(room, n, sizeof *job->maxima, &job->maxima));
        const uint64_t at_once = job->runs.n > 1 ? job->runs.sweep.most : 1;
        room_count(room, at_once * n * sizeof *job->maxima, 0); /* of qsort */
    }
    if (job->choice.keeps_end || job->args.inputs[SCIDDICAT_START].table != NULL) {
        STATUS_TRY(room_host(room, n, sizeof *job->kept[0], &job->kept[0]));
        STATUS_TRY(room_host(room, n, sizeof *job->kept[1], &job->kept[1]));
    }
    return n_snapshots(l) > 0 ? room_host(room, n, sizeof *job->snapshot, &job->snapshot)
                              : STATUS_OK;
}

enum sciddicat_nodata sciddicat_policy(const struct stage_args *args)
{
    return (enum sciddicat_nodata)args->params[NODATA].index; /* in the order of the choices */
}

enum status sciddicat_shape(const struct stage_args *args, struct sciddicat_job *job)
{
    const struct param_value *const p = args->params;
    job->args = *args;
    job->choice = choice_of(p);
    STATUS_TRY(runs_of(p, &job->runs));
    STATUS_TRY(open_grids(job));
    job->slide = (struct landslide){.params = {.rows = job->dem->rows,
                                               .columns = job->dem->columns,
                                               .epsilon = first_of(&p[EPSILON].numbers),
                                               .r = first_of(&p[R].numbers),
                                               .nodata = sciddicat_policy(args)},
                                    .steps = p[STEPS].count,
                                    .settle = p[SETTLE].count,
                                    .snapshot_every = p[SNAPSHOT_EVERY].count,
                                    .report_every = p[REPORT_EVERY].count,
                                    .record_every = p[RECORD_EVERY].count,
                                    .most_helpers = args->most_helpers};
    STATUS_TRY(check_shape(job));
    STATUS_TRY(sciddicat_probes_count(job));
    job->scale = grid_scale_of(job->dem);
    job->units = units_of(job, p[VERTICAL_UNIT].index);
    return STATUS_OK;
}

/* Ten operations a cell and step, as if half of all cells did something. */
double sciddicat_work(const struct stage_args *args)
{
    const struct table_info *dem = args->inputs[SCIDDICAT_DEM].table;
    const double lines = (double)dem->n_lines_estimate;
    struct sciddicat_runs runs;
    const double n_runs = runs_of(args->params, &runs) == STATUS_OK ? (double)runs.n : 1;
    return 10 * lines * (double)dem->cells_per_line * (double)args->params[STEPS].count * n_runs;
}
