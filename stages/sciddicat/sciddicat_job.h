/*
 * sciddicat_job - one landslide's state, and the parts of the stage `sciddicat` that work on it:
 * cells come in, the automaton runs, and files, a summary and a picture are made from its result.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_JOB_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_JOB_H

#include "formats/geo/grid_scale.h"
#include "formats/result/figure.h"
#include "formats/result/raster.h"
#include "formats/result/result_table.h"
#include "formats/table/table_codes.h"
#include "kernels/sciddicat/landslide.h"
#include "stages/base/job_io.h"

enum sciddicat_part {
    SCIDDICAT_DEM,
    SCIDDICAT_SOURCE,
    SCIDDICAT_OBSERVED,
    SCIDDICAT_PROBES,
    SCIDDICAT_START,
    SCIDDICAT_N_PARTS
};

enum {
    SCIDDICAT_MOST_PROBES = 1000,
    SCIDDICAT_PROBE_BYTES = 128, /* of a name; longer ones are cut */
    SCIDDICAT_CHART_BYTES = 8 << 20,
    SCIDDICAT_MOST_RUNS = 100000
};

struct sciddicat_probe {
    double x, y;
    size_t cell;
    char name[SCIDDICAT_PROBE_BYTES];
};

/* What the user chose, besides what the landslide itself needs (struct landslide). */
struct sciddicat_choice {
    enum raster_format format;
    enum raster_type type; /* of thicknesses */
    struct figure_choice figure;
    bool has_outline, packs_outline; /* packs: as a GeoPackage */
    bool keeps_end;                  /* state.npz is written */
    double checkpoint_s;             /* from state to state; 0: none is kept */
    double affected_m;               /* a cell with more debris than that, ever, was hit */
    /* The parameters of these names. */
    const char *thickness, *probe, *probe_columns;
};

/* Metres in a unit of the files' numbers: as they are taken, and as the files say it, by
 * grid_scale_band_unit() and grid_scale_system_unit(). */
struct sciddicat_units {
    double altitude_m, thickness_m;
    bool is_given; /* that of the altitudes, by vertical_unit */
    double band, system, source_band;
};

/* How far debris came: sciddicat_summary below. */
struct sciddicat_summary {
    size_t n_covered;          /* cells ever covered */
    size_t first_row, end_row; /* of their rectangle; 0 and 0 when there are none */
    size_t first_column, end_column;
    size_t n_dammed;    /* of them: beside a NODATA cell that is a wall */
    size_t n_on_nodata; /* of them: NODATA cells, under compat */
    size_t deepest;     /* the cell with the largest thickness ever, but for NODATA */
    size_t toe;         /* n_covered > 0 */
    bool has_runout;    /* there are a crown and a toe: */
    double drop_m;      /* from one to the other */
    double runout_m;    /* on the map, centre to centre */
};

/* How near it came to an observed landslide: sciddicat_scores below. */
struct sciddicat_scores {
    size_t n_hit, n_affected, n_both;
    size_t n_beside; /* hit cells without an altitude */
    /* NaN where nothing can be said: */
    double fitness; /* sqrt(both / either) */
    double jaccard; /* both / either */
    double precision, recall;
    double auroc; /* by how often a hit cell had more debris, at its most, than one that was not
                     hit, equals counted as half */
    double toe_distance_m; /* on the map, from the toe of one to that of the other */
};

/* One of several runs, at its end. */
struct sciddicat_run {
    struct sciddicat_report end;
    bool settled;
    double moved_m; /* sum of the debris that has left the cells in which it lay */
    struct sciddicat_summary reach;
    struct sciddicat_scores scores; /* where there is an observed landslide */
};

enum sciddicat_varied { SCIDDICAT_EPSILON, SCIDDICAT_R, SCIDDICAT_VARIED };

struct sciddicat_runs {
    size_t n; /* 1: all else is unused, but for `numbers` */
    uint64_t sample, seed;
    struct numbers numbers[SCIDDICAT_VARIED]; /* as they were given */
    double *values[SCIDDICAT_VARIED];         /* [n] each */
    struct sciddicat_run *rows;               /* [n] */
    size_t full;                              /* the one that is told in full */
    struct landslide_sweep sweep;
    /* [n_cells]: of the runs, the share that affected a cell; the mean of the maxima, and the
     * greatest; while runs are made, sums */
    double *share, *mean, *most;
};

struct sciddicat_job {
    struct job_io *io; /* NULL: it is only planned */
    struct stage_args args;
    struct sciddicat_choice choice;
    struct landslide slide;
    struct grid *dem, *source;    /* owned */
    struct grid *observed;        /* likewise; NULL: there is none */
    bool georeferenced_by_source; /* the DEM itself has no georeference */
    struct grid_scale scale;
    struct sciddicat_units units;
    struct sciddicat_runs runs;
    uint64_t n_before; /* steps of runs that have ended */
    bool is_last;      /* the run that is made is the last, or the only one */
    double keep_at_s;  /* of it, by landslide_now_s: when its state is kept; INFINITY: never */
    double *kept[2];   /* [n_cells] each: the landslide's; NULL: no state comes or is written */
    uint64_t start_step, digest; /* of the state that has come; 0: none. Of one that is written */
    double *snapshot; /* [n_cells]: the last one, on its way; NULL: there are to be none */
    struct sciddicat_probe *probes; /* [slide.n_probes] */
    uint8_t *hit;   /* [n_cells]: 1 where the observed landslide was; NULL: there is none */
    double *maxima; /* [n_cells]: for the scores; NULL likewise */
    size_t n_source_nodata;
    struct table_heights thicknesses; /* what was seen of the source's numbers */
    size_t n_bad, bad;                /* of these, no thicknesses; the cell of the first: */
    double bad_value;
};

static inline const char *sciddicat_name(const struct sciddicat_job *job, enum sciddicat_part part)
{
    return job->args.inputs[part].name;
}

/* --- sciddicat_choice: parameters, shapes, and what a job of that shape needs ----------------- */

enum { SCIDDICAT_N_SPECS = 23 + STAGE_FIGURE_N_SPECS };
extern const struct param_spec sciddicat_specs[SCIDDICAT_N_SPECS];

/* Of a zeroed job: fills what is known before the first number. The grids are the caller's, also on
 * failure. STATUS_BAD_INPUT (not known how many lines a table has, grids that differ),
 * _BAD_ARGUMENT, _TOO_LARGE, _NO_MEMORY. */
enum status sciddicat_shape(const struct stage_args *args,
                            struct sciddicat_job *job) STATUS_MUST_CHECK;
/* All memory of a job of that shape: counted, or taken into *job. */
enum status sciddicat_room(struct sciddicat_job *job, struct room *room) STATUS_MUST_CHECK;
/* As of struct stage_ops. */
double sciddicat_work(const struct stage_args *args);
/* How thicknesses (type: as chosen) and arrivals (RASTER_I32) are written; NODATA is not set yet.
 */
struct raster sciddicat_raster(const struct sciddicat_job *job, enum raster_type type);
/* What NODATA cells of the DEM are, by the parameters. */
enum sciddicat_nodata sciddicat_policy(const struct stage_args *args);

/* --- sciddicat_cells: the numbers of the two grids ---------------------------------------------
 *
 * A cell is NODATA when it is NaN, or matches the number that the file gives for that or one of
 * missing_value, as grid_matches_nodata() says. NODATA of the source means no debris, under every
 * policy. What the file gives in feet is stored in metres.
 */

/* Takes the numbers of a part. STATUS_BAD_INPUT names file, row and column (from 1) of what is no
 * altitude; cells without a thickness are told when all numbers that read like codes for missing
 * ones are known.
 */
enum status sciddicat_cells_take(struct sciddicat_job *job,
                                 enum sciddicat_part part) STATUS_MUST_CHECK;
/* All are there: readies the landslide. STATUS_BAD_INPUT (no cell has an altitude; one has no
 * thickness). */
enum status sciddicat_cells_ready(struct sciddicat_job *job) STATUS_MUST_CHECK;
/* Appends a sentence, with its NUL, on numbers of the source that look like codes for missing
 * ones, where some do, and what to do if they are. STATUS_NO_MEMORY. */
enum status sciddicat_cells_codes(const struct sciddicat_job *job,
                                  struct bytes *out) STATUS_MUST_CHECK;

/* --- sciddicat_scores: how near the debris comes to an observed landslide -----------------------
 *
 * A cell was hit when the observed grid is above 0 there; NODATA is not. The run affected a cell
 * whose debris was thicker than affected_m at some step. Cells without an altitude do not count.
 */
/* The job has an observed grid; max_h: of a run that is over; work: [n_cells]. */
void sciddicat_score(const struct sciddicat_job *job, const double *max_h, double *work,
                     struct sciddicat_scores *out);
/* Puts them into the row of a table. */
void sciddicat_score_row(const struct sciddicat_scores *s, struct result_row *to);

/* --- sciddicat_runs: several runs, of which one is told in full
 * -----------------------------------
 */

/* How many runs there are: sample of them, if that is not 0, else a run a combination.
 * STATUS_BAD_ARGUMENT. */
enum status sciddicat_runs_count(const struct numbers numbers[SCIDDICAT_VARIED], uint64_t sample,
                                 size_t *out) STATUS_MUST_CHECK;
/* The following are of jobs with several. */
enum status sciddicat_runs_room(struct sciddicat_job *job, struct room *room) STATUS_MUST_CHECK;
/* Makes them all; then the landslide has the parameters of the one that is told in full: of that
 * with the greatest fitness, else of the first. */
enum status sciddicat_runs_make(struct sciddicat_job *job) STATUS_MUST_CHECK;
enum status sciddicat_runs_summarise(const struct sciddicat_job *job,
                                     json_t *summary) STATUS_MUST_CHECK;
/* Adds runs.csv.gz, the grids that are of all runs, and a map of their shares. */
enum status sciddicat_runs_files(struct sciddicat_job *job) STATUS_MUST_CHECK;

/* --- sciddicat_probes: the debris at chosen cells ------------------------------------------------
 */

/* Sets slide.n_probes, at most as many: before they have been read of a file whose length is not
 * known. STATUS_BAD_ARGUMENT, _BAD_INPUT, _TOO_LARGE. */
enum status sciddicat_probes_count(struct sciddicat_job *job) STATUS_MUST_CHECK;
/* Takes those of the parameter, and the part; all altitudes are known. STATUS_BAD_INPUT (not on the
 * map, or where it has NODATA), _TOO_LARGE. */
enum status sciddicat_probes_take(struct sciddicat_job *job) STATUS_MUST_CHECK;
/* Adds the list of them; the run is over. */
enum status sciddicat_probes_summarise(const struct sciddicat_job *job,
                                       json_t *summary) STATUS_MUST_CHECK;
/* Adds probes.csv.gz and a chart of it. */
enum status sciddicat_probes_files(struct sciddicat_job *job) STATUS_MUST_CHECK;

/* --- sciddicat_state: states that outlive a job -------------------------------------------------
 */

/* Before the first step of the last run: it goes on from the state that an interrupted job has
 * kept, unless there are to be snapshots, of which those before it have gone; or from that which
 * has come with the job. */
enum status sciddicat_state_find(struct sciddicat_job *job) STATUS_MUST_CHECK;
/* Between its steps: keeps it, where it is time. */
enum status sciddicat_state_keep(struct sciddicat_job *job) STATUS_MUST_CHECK;
/* Takes the part; the landslide is ready. STATUS_BAD_INPUT, _BAD_ARGUMENT. */
enum status sciddicat_state_take(struct sciddicat_job *job) STATUS_MUST_CHECK;
/* Adds state.npz; the run is over. */
enum status sciddicat_state_file(struct sciddicat_job *job) STATUS_MUST_CHECK;

/* --- sciddicat_files: grids and the mass balance as files --------------------------------------
 *
 * thickness, max_thickness: metres; NODATA cells of the DEM hold -9999 and are marked as NODATA,
 * unless the policy is compat, where they are cells like any other. arrival: the first step after
 * which a cell's debris was thicker than p_epsilon, 0 where it was from the start; -1, which is
 * marked as NODATA, where it never was. mass.csv.gz: the mass balance, a row a report.
 */

/* Hands out snapshots/NNNNNN, the present thickness; the step has six digits or as many as the last
 * step. */
enum status sciddicat_files_snapshot(struct sciddicat_job *job) STATUS_MUST_CHECK;
/* Adds a grid of that name, of numbers in that unit, which become what is written. */
enum status sciddicat_files_grid(struct sciddicat_job *job, const char *name, const char *unit,
                                 double *cells) STATUS_MUST_CHECK;
/* Adds all others; their pieces read the job. The run is over, and h and max_h are no longer read
 * where cells are NODATA. */
enum status sciddicat_files(struct sciddicat_job *job) STATUS_MUST_CHECK;

/* --- sciddicat_map: the picture --------------------------------------------------------------- */

/* Host memory that drawing takes, at most, for the grid of the job. */
size_t sciddicat_map_bytes(const struct sciddicat_job *job);
/* Add the map, and that of several runs' shares. The run is over. */
enum status sciddicat_map(struct sciddicat_job *job) STATUS_MUST_CHECK;
enum status sciddicat_map_runs(struct sciddicat_job *job) STATUS_MUST_CHECK;

/* --- sciddicat_outline: where debris came, as polygons -------------------------------------------
 */

/* Host memory that making it takes, about. */
size_t sciddicat_outline_bytes(const struct sciddicat_job *job);
/* Adds outline.geojson, or outline.gpkg. The run is over. */
enum status sciddicat_outline(struct sciddicat_job *job) STATUS_MUST_CHECK;

/* --- sciddicat_summary, sciddicat_warnings: what result.json says ------------------------------
 *
 * A cell was covered when its debris was thicker than p_epsilon at some step. The crown is the
 * highest cell with an altitude that carried debris at the start (of several the first in the order
 * of rows), the toe the lowest one covered: of several the one farthest from the crown on the map,
 * of these the first in the order of rows. Their distance on the map and their difference in
 * altitude give the angle of reach (A. Heim's Fahrboeschung), by which the mobility of landslides
 * is compared.
 */
/* On the map, centre to centre (m). */
double sciddicat_distance_m(const struct sciddicat_job *job, size_t a, size_t b);
/* Whether cell k is more of a toe than `toe`. */
bool sciddicat_is_further_down(const struct sciddicat_job *job, size_t k, size_t toe);
/* max_h, epsilon: of a run that is over. */
void sciddicat_measure(const struct sciddicat_job *job, const double *max_h, double epsilon,
                       struct sciddicat_summary *out);
/* The angle of reach in degrees; NaN without one. */
double sciddicat_reach_deg(const struct sciddicat_summary *s);
/* Fills shape, parameters, summary and warnings. The run is over. */
enum status sciddicat_summarise(struct sciddicat_job *job) STATUS_MUST_CHECK;
/* What a landslide's user should know before believing the numbers. */
enum status sciddicat_warn(const struct sciddicat_job *job, const struct sciddicat_summary *s,
                           const struct sciddicat_scores *scores,
                           struct result *out) STATUS_MUST_CHECK; /* scores: NULL: there are none */
/* As of struct stage_ops. */
enum status sciddicat_notice(const struct stage_args *args, struct result *out) STATUS_MUST_CHECK;
/* As of struct stage_ops. */
extern const struct stage_told sciddicat_told;

#endif
