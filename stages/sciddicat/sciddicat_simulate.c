/*
 * sciddicat_simulate - the run: between its rounds snapshots leave, other jobs have their turn,
 * helpers come, and the state is kept.
 */
#include "formats/base/log.h"
#include "stages/sciddicat/sciddicat_job.h"

#include <isa-l.h>

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

/* --- the state ---------------------------------------------------------------------------------
 */

/* Of all that the steps follow from. */
static uint64_t digest(const struct landslide *l)
{
    const double reals[] = {l->params.epsilon, l->params.r};
    const uint64_t counts[] = {l->params.rows,  l->params.columns, l->params.nodata,
                               l->is_masked,    l->steps,          l->settle,
                               l->report_every, l->n_probes,       l->record_every};
    const struct {
        const void *at;
        size_t bytes;
    } all[] = {{reals, sizeof reals},
               {counts, sizeof counts},
               {l->probes, l->n_probes * sizeof *l->probes},
               {l->z, l->n_cells * sizeof *l->z},
               {l->h, l->n_cells * sizeof *l->h},
               {l->nodata, l->n_cells}};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sum = crc64_ecma_refl(sum, all[i].at, all[i].bytes);
    }
    return sum;
}

static enum status pass_state(void *context, struct saved *s)
{
    struct sciddicat_job *const job = context;
    uint64_t own = digest(&job->slide), of = own;
    STATUS_TRY(saved_pass(s, &of, sizeof of));
    return of == own ? landslide_pass(&job->slide, s)
                     : status_fail(STATUS_CHANGED, "it is of other inputs or parameters");
}

/* Before the first step. */
static enum status find_state(struct sciddicat_job *job)
{
    const struct stage_state *const state = job->args.state;
    bool found = false;
    if (isinf(job->keep_at_s)) {
        return STATUS_OK;
    }
    STATUS_TRY(state->find(state->context, pass_state, job, &found));
    if (found) {
        log_info("%s: goes on after step %llu, where it was interrupted",
                 sciddicat_name(job, SCIDDICAT_DEM), (unsigned long long)job->slide.now.step);
    }
    return STATUS_OK;
}

/* A large state takes long: a twentieth of the time at most. */
static enum status keep_state(struct sciddicat_job *job)
{
    const struct stage_state *const state = job->args.state;
    const double began = landslide_now_s();
    if (began < job->keep_at_s) {
        return STATUS_OK;
    }
    STATUS_TRY(state->keep(state->context, pass_state, job));
    const double now = landslide_now_s();
    job->keep_at_s = now + fmax(job->choice.checkpoint_s, 20 * (now - began));
    return STATUS_OK;
}

static bool keeps_states(const struct sciddicat_job *job)
{
    return job->args.state != NULL && job->choice.checkpoint_s > 0 && job->snapshot == NULL &&
           job->slide.params.rows > 1 && job->io->ops->sciddicat->member != NULL;
}

/* --- the run -----------------------------------------------------------------------------------
 */

/* Before the first step only helpers are waited for. */
static enum status pause_job(void *context)
{
    struct sciddicat_job *const job = context;
    const struct landslide *const slide = &job->slide;
    STATUS_TRY(slide->now.step == 0 ? find_state(job) : keep_state(job));
    job->io->n_done = job->n_before + slide->now.step;
    if (landslide_has_snapshot(slide)) {
        return sciddicat_files_snapshot(job);
    }
    return slide->now.step > 0 || slide->n_helpers > 0 ? io_pause(job->io) : STATUS_OK;
}

enum status sciddicat_simulate(struct sciddicat_job *job)
{
    job->slide.pause = pause_job;
    job->slide.context = job;
    job->keep_at_s = INFINITY;
    job->io->n_steps = job->slide.steps * (job->runs.n > 1 ? job->runs.n + 1 : 1);
    job->io->help = (struct job_help){helpers_wanted, bring_helpers, job};
    STATUS_TRY(job->runs.n > 1 ? sciddicat_runs_make(job) : STATUS_OK);
    job->keep_at_s = keeps_states(job) ? landslide_now_s() + job->choice.checkpoint_s : INFINITY;
    STATUS_TRY(landslide_run(&job->slide, job->io->queue, job->args.executor));
    job->io->n_done = job->n_before + job->slide.now.step;
    return STATUS_OK;
}
