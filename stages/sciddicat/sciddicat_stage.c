/*
 * sciddicat_stage - the pipeline `sciddicat`: a debris flow over a terrain, from the altitude
 * (X.dem.*) and the debris that starts to move (X.source.*); an observed landslide to compare it
 * with (X.observed.*), and places where the debris is told from step to step (X.probes.*).
 *
 * The cells are gathered on the host, since the start needs both grids and the picture the
 * altitude; the automaton then runs on the backend, and snapshots leave on the way.
 */
#include "stages/sciddicat/sciddicat_job.h"

static void free_grids(const struct sciddicat_job *job)
{
    grid_free(job->dem);
    grid_free(job->source);
    grid_free(job->observed);
}

static enum status sciddicat_plan(const struct stage_args *args, struct stage_need *out)
{
    struct sciddicat_job job = {.n_bad = 0};
    struct room counted = {0};
    enum status st = sciddicat_shape(args, &job);
    st = st == STATUS_OK ? sciddicat_room(&job, &counted) : st;
    *out = (struct stage_need){.memory_bytes = counted.backend,
                               .host_bytes = counted.host,
                               .helper_bytes = landslide_helper_bytes(&job.slide, args->queue)};
    free_grids(&job);
    return st;
}

static void close_job(void *context)
{
    struct sciddicat_job *const job = context;
    landslide_close(&job->slide);
    free_grids(job);
}

static enum status new_job(struct job_io *io, struct sciddicat_job **out)
{
    STATUS_TRY(room_host(&io->room, 1, sizeof **out, out));
    STATUS_TRY(room_keep(&io->room, close_job, *out));
    (*out)->io = io;
    STATUS_TRY(sciddicat_shape(&io->args, *out));
    return sciddicat_room(*out, &io->room);
}

static enum status sciddicat_run(struct job_io *io)
{
    struct sciddicat_job *job;
    STATUS_TRY(new_job(io, &job));
    STATUS_TRY(sciddicat_cells_take(job, SCIDDICAT_DEM));
    STATUS_TRY(sciddicat_cells_take(job, SCIDDICAT_SOURCE));
    STATUS_TRY(job->observed != NULL ? sciddicat_cells_take(job, SCIDDICAT_OBSERVED) : STATUS_OK);
    STATUS_TRY(sciddicat_cells_ready(job));
    STATUS_TRY(sciddicat_probes_take(job));
    STATUS_TRY(job->args.inputs[SCIDDICAT_START].table != NULL ? sciddicat_state_take(job)
                                                               : STATUS_OK);
    STATUS_TRY(sciddicat_simulate(job)); /* of several runs all, then one in full */
    STATUS_TRY(sciddicat_summarise(job));
    STATUS_TRY(sciddicat_files(job));
    STATUS_TRY(sciddicat_map(job));
    STATUS_TRY(job->choice.keeps_end ? sciddicat_state_file(job) : STATUS_OK);
    STATUS_TRY(job->choice.has_outline ? sciddicat_outline(job) : STATUS_OK);
    STATUS_TRY(job->runs.n > 1 ? sciddicat_runs_files(job) : STATUS_OK);
    return job->slide.n_probes > 0 ? sciddicat_probes_files(job) : STATUS_OK;
}

static const struct stage_part parts[] = {
    [SCIDDICAT_DEM] = {.suffix = "dem", .kind = STAGE_GRID},
    [SCIDDICAT_SOURCE] = {.suffix = "source", .kind = STAGE_GRID, .polygons = "thickness"},
    [SCIDDICAT_OBSERVED] = {.suffix = "observed",
                            .kind = STAGE_GRID,
                            .polygons = "1",
                            .unless = "observed"},
    [SCIDDICAT_START] = {.suffix = "start", .kind = STAGE_TABLE, .unless = "start"},
    [SCIDDICAT_PROBES] = {
        .suffix = "probes", .kind = STAGE_TABLE, .columns = "probe_columns", .unless = "probes"}};

const struct stage_ops stage_sciddicat = {
    .name = "sciddicat",
    .about =
        "Simulates how debris flows down a terrain model, by the cellular automaton SciddicaT.",
    .examples = "leat run --dem slope.dem.asc --source slope.source.asc\n"
                "leat run -s steps=1000 -s snapshot_every=250 slope.dem.asc slope.source.asc\n"
                "leat run -s p_r=0.3:0.7:0.1 slope.dem.asc slope.source.asc\n",
    .parts = parts,
    .n_parts = SCIDDICAT_N_PARTS,
    .specs = sciddicat_specs,
    .n_specs = SCIDDICAT_N_SPECS,
    .notice = sciddicat_notice,
    .work = sciddicat_work,
    .plan = sciddicat_plan,
    .run = sciddicat_run,
    .simulates = true,
    .takes_ranks = true,
    .told = &sciddicat_told,
};
