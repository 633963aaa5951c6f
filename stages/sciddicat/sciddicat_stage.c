/*
 * sciddicat_stage - the pipeline `sciddicat`: a debris flow over a terrain, from the altitude
 * (X.dem.*) and the debris that starts to move (X.source.*); an observed landslide to compare it
 * with (X.observed.*), and places where the debris is told from step to step (X.probes.*).
 *
 * The cells are gathered on the host, since the start needs both grids and the picture the
 * altitude; the automaton then runs on the backend. Between its rounds snapshots leave, other jobs
 * have their turn, helpers come, and the state is kept.
 */
#include "formats/base/log.h"
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

/* --- the run ---------------------------------------------------------------------------------- */

static size_t n_members(const struct sciddicat_job *job)
{
    struct bands_info info;
    bands_describe(job->slide.bands, &info);
    return info.n_members;
}

static size_t helpers_wanted(const void *context)
{
    return ((const struct sciddicat_job *)context)->slide.n_helpers;
}

static enum status bring_helpers(void *context, struct queue **queues, size_t *n)
{
    struct sciddicat_job *const job = context;
    const char *const name = sciddicat_name(job, SCIDDICAT_DEM);
    const size_t offered = *n;
    const enum status st = landslide_share(&job->slide, queues, n);
    if (*n > 0) {
        log_info("%s: in %zu parts from step %llu on", name, n_members(job),
                 (unsigned long long)job->slide.now.step);
        if (*n < offered) {
            log_info("%s: %zu that were idle do not help: %s", name, offered - *n,
                     status_message());
        }
        return st;
    }
    log_info("%s: goes on in %zu part%s: %s", name, n_members(job), n_members(job) == 1 ? "" : "s",
             st == STATUS_OK ? "it cannot be shared out" : status_message());
    job->slide.most_helpers = 0;
    return STATUS_OK;
}

/* Before the first step only helpers are waited for. */
static enum status pause_job(void *context)
{
    struct sciddicat_job *const job = context;
    const struct landslide *const slide = &job->slide;
    STATUS_TRY(!job->is_last          ? STATUS_OK
               : slide->now.step == 0 ? sciddicat_state_find(job)
                                      : sciddicat_state_keep(job));
    job->io->n_done = job->n_before + slide->now.step;
    if (landslide_has_snapshot(slide)) {
        return sciddicat_files_snapshot(job);
    }
    return slide->now.step > 0 || slide->n_helpers > 0 ? io_pause(job->io) : STATUS_OK;
}

/* Of several runs all, then one in full, while snapshots leave. */
static enum status simulate(struct sciddicat_job *job)
{
    job->slide.pause = pause_job;
    job->slide.context = job;
    job->io->n_steps = job->slide.steps * (job->runs.n > 1 ? job->runs.n + 1 : 1);
    job->io->help = (struct job_help){helpers_wanted, bring_helpers, job};
    STATUS_TRY(job->runs.n > 1 ? sciddicat_runs_make(job) : STATUS_OK);
    job->is_last = true;
    job->slide.kept_h = job->kept[0];
    job->slide.kept_max_h = job->kept[1];
    STATUS_TRY(landslide_run(&job->slide, job->io->queue, job->args.executor));
    job->io->n_done = job->n_before + job->slide.now.step;
    return STATUS_OK;
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
    STATUS_TRY(simulate(job));
    STATUS_TRY(sciddicat_summarise(job));
    STATUS_TRY(sciddicat_files(job));
    STATUS_TRY(sciddicat_map(job));
    STATUS_TRY(job->choice.keeps_end ? sciddicat_state_file(job) : STATUS_OK);
    STATUS_TRY(job->choice.has_outline ? sciddicat_outline(job) : STATUS_OK);
    STATUS_TRY(job->runs.n > 1 ? sciddicat_runs_files(job) : STATUS_OK);
    return job->slide.n_probes > 0 ? sciddicat_probes_files(job) : STATUS_OK;
}

/* --- the stage -------------------------------------------------------------------------------- */

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
