/*
 * sciddicat_simulate - the run: between its rounds snapshots leave, other jobs have their turn,
 * helpers come, and the state is kept.
 */
#include "formats/base/log.h"
#include "stages/sciddicat/sciddicat_job.h"

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

enum status sciddicat_simulate(struct sciddicat_job *job)
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
