/*
 * sciddicat_simulate - the run: in rounds of steps that end where the state is needed, with the
 * mass checked at every report.
 *
 * Where rounds end changes no bit of the state, so neither do the clock, snapshots or reports.
 */
#include "formats/base/log.h"
#include "stages/sciddicat/sciddicat_job.h"

#include <math.h>
#include <time.h>

enum { ROUND_STEPS = 4096, ROUND_GROWTH = 8 };
static const uint64_t first_round_cells = UINT64_C(1) << 28; /* cells times steps */
static const double round_s = 0.1; /* a round is as long as that: reports cost a map's reading */
/* Pieces of the map times steps that helpers have to take off a device, in which it would make them
 * itself while they open: 0.3 s (an H200 visits a tile in 17 ns); and for each cell, of which they
 * are given 17 bytes at 6 GB/s. */
static const double least_saved = 0x1p24, least_saved_a_cell = 0.16;

/*
 * The kernels' bound takes flows to be no more than the debris there is. Rounding adds to a flow at
 * most 7 u L (u = 2^-53; L the highest level: a mean of 5 levels, a difference and a product), so
 * flows from C cells may exceed that by 28 u L C, and thicknesses may fall below 0 by as much: in
 * the balance that is less than 512 u^2 L C a step.
 */
double sciddicat_mass_bound(const struct sciddicat_job *job)
{
    const double mass = job->start.thickness, steps = (double)job->now.step;
    const double levels = 0x1p-97 * (job->start.highest + mass) * (double)job->n_cells * steps;
    return sciddicat_mass_balance_bound(&job->params, mass, job->now.step) + levels;
}

/* --- helpers ---------------------------------------------------------------------------------- */

static bool is_over(const struct sciddicat_job *job)
{
    return job->settled || job->now.step == job->choice.steps;
}

static size_t n_members(const struct sciddicat_job *job)
{
    struct bands_info info;
    bands_describe(job->bands, &info);
    return info.n_members;
}

/* Where few cells can emit, nobody looks which pieces are busy. */
static enum status count_helpers(struct sciddicat_job *job)
{
    uint64_t busy = 0;
    const size_t now = n_members(job), most = 1 + job->args.most_helpers;
    job->n_helpers = 0;
    if (now >= most || is_over(job) || sciddicat_n_devices(job->now.n_active) <= now) {
        return STATUS_OK;
    }
    STATUS_TRY(bands_busy(job->bands, &busy));
    const size_t groups = sciddicat_n_groups(job->params.rows), asked = sciddicat_n_devices(busy);
    const size_t wanted = asked < groups ? asked : groups, n = wanted < most ? wanted : most;
    const double left = (double)(job->choice.steps - job->now.step) * (double)busy;
    const double least = least_saved + least_saved_a_cell * (double)job->n_cells;
    if (n > now && left / (double)now - left / (double)n >= least) {
        job->n_helpers = n - now;
    }
    return STATUS_OK;
}

static size_t helpers_wanted(const void *context)
{
    return ((const struct sciddicat_job *)context)->n_helpers;
}

/* The start, once more for members that come later: its surface in what nobody reads. */
static struct bands_input start_of(const struct sciddicat_job *job)
{
    sciddicat_cells_surface(job, job->max_h);
    return (struct bands_input){
        .z = job->max_h, .h = job->h, .nodata = job->is_masked ? job->nodata : NULL};
}

static enum status bring_helpers(void *context, struct queue **queues, size_t *n)
{
    struct sciddicat_job *const job = context;
    const char *const name = sciddicat_name(job, SCIDDICAT_DEM);
    const size_t offered = *n;
    const struct bands_input in = start_of(job);
    const enum status st = bands_spread(job->bands, queues, n, &in);
    if (*n > 0) {
        log_info("%s: in %zu parts from step %llu on", name, n_members(job),
                 (unsigned long long)job->now.step);
        if (*n < offered) {
            log_info("%s: %zu that were idle do not help: %s", name, offered - *n,
                     status_message());
        }
        return st;
    }
    log_info("%s: goes on in %zu part%s: %s", name, n_members(job), n_members(job) == 1 ? "" : "s",
             st == STATUS_OK ? "it cannot be shared out" : status_message());
    job->args.most_helpers = 0;
    return STATUS_OK;
}

/* --- rounds ----------------------------------------------------------------------------------- */

static enum status advance(struct sciddicat_job *job, uint64_t n_steps)
{
    STATUS_TRY(bands_advance(job->bands, n_steps, &job->now));
    job->io->n_done = job->now.step;
    return STATUS_OK;
}

static uint64_t clamp_round(double steps)
{
    return steps < 1 ? 1 : steps < ROUND_STEPS ? (uint64_t)steps : ROUND_STEPS;
}

/* The map goes to the backend; the first figures come from there. */
static enum status begin(struct sciddicat_job *job)
{
    const struct bands_config c = {.home = job->io->queue, .executor = job->args.executor};
    const struct bands_input in = start_of(job);
    STATUS_TRY(bands_open(&c, &job->params, &in, &job->bands));
    STATUS_TRY(advance(job, 0));
    job->round_steps = clamp_round((double)first_round_cells / (double)job->n_cells);
    job->start.thickness = job->now.mass;
    job->reports[job->n_reports++] = job->now;
    job->io->n_steps = job->choice.steps;
    job->io->help = (struct job_help){helpers_wanted, bring_helpers, job};
    return count_helpers(job);
}

static bool is_due(uint64_t step, uint64_t every)
{
    return every > 0 && step > 0 && step % every == 0;
}

static uint64_t earlier_of(uint64_t stop, uint64_t step, uint64_t every)
{
    const uint64_t next = every > 0 ? step - step % every + every : stop;
    return next < stop ? next : stop;
}

/* The last step of the round that begins now. */
static uint64_t next_stop(const struct sciddicat_job *job)
{
    const struct sciddicat_choice *c = &job->choice;
    const uint64_t step = job->now.step, most = job->round_steps;
    uint64_t stop = step + most < c->steps ? step + most : c->steps;
    stop = earlier_of(stop, step, c->report_every);
    stop = earlier_of(stop, step, c->snapshot_every);
    return earlier_of(stop, step, c->settle);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* n_steps > 0 more, and how many fit into a round from what they took. */
static enum status advance_paced(struct sciddicat_job *job, uint64_t n_steps)
{
    const double began = now_s();
    STATUS_TRY(advance(job, n_steps));
    const double fit = (double)n_steps * round_s / fmax(now_s() - began, 1e-9);
    job->round_steps = clamp_round(fmin(fit, (double)(ROUND_GROWTH * job->round_steps)));
    return STATUS_OK;
}

static enum status report(struct sciddicat_job *job)
{
    const struct sciddicat_report *r = &job->now;
    const double off = r->mass + r->lost_edge + r->lost_nodata - job->start.thickness;
    const double bound = sciddicat_mass_bound(job);
    if (!(fabs(off) <= bound)) {
        return status_fail(
            STATUS_INTERNAL,
            "%s: the mass is off by %g m of debris (summed over cells) after %llu steps; rounding "
            "explains %g",
            sciddicat_name(job, SCIDDICAT_DEM), off, (unsigned long long)r->step, bound);
    }
    job->reports[job->n_reports++] = *r;
    return STATUS_OK;
}

/* The last step of all, on its own: how far it takes the state before it. */
static enum status make_last_step(struct sciddicat_job *job)
{
    struct sciddicat_motion *const m = &job->motion;
    const double *const before = job->max_h;
    STATUS_TRY(bands_state(job->bands, job->max_h, NULL, NULL));
    STATUS_TRY(advance(job, 1));
    STATUS_TRY(bands_state(job->bands, job->h, NULL, NULL));
    for (size_t k = 0; k < job->n_cells; k++) {
        const double change = job->h[k] - before[k];
        m->n_cells += change != 0;
        m->sum_m += fmax(change, 0);
        m->largest = fmax(m->largest, fabs(change));
    }
    return STATUS_OK;
}

static enum status simulate_round(struct sciddicat_job *job)
{
    const uint64_t stop = next_stop(job);
    const bool last = stop == job->choice.steps;
    const uint64_t n_steps = stop - job->now.step - (last ? 1 : 0);
    STATUS_TRY(n_steps > 0 ? advance_paced(job, n_steps) : STATUS_OK);
    STATUS_TRY(last ? make_last_step(job) : STATUS_OK);
    job->settled = is_due(stop, job->choice.settle) && !job->now.moved;
    return is_due(stop, job->choice.report_every) || is_over(job) ? report(job) : STATUS_OK;
}

static enum status end(struct sciddicat_job *job)
{
    STATUS_TRY(bands_state(job->bands, job->h, job->max_h, job->arrival));
    bands_close(job->bands);
    job->bands = NULL;
    return STATUS_OK;
}

enum status sciddicat_simulate(struct sciddicat_job *job)
{
    STATUS_TRY(begin(job));
    STATUS_TRY(job->n_helpers > 0 ? io_pause(job->io) : STATUS_OK); /* before the first step */
    double began = now_s();
    while (!is_over(job)) {
        STATUS_TRY(simulate_round(job));
        const bool has_snapshot = is_due(job->now.step, job->choice.snapshot_every);
        if (has_snapshot || (!is_over(job) && now_s() - began >= round_s)) {
            STATUS_TRY(count_helpers(job));
            STATUS_TRY(has_snapshot ? sciddicat_files_snapshot(job) : io_pause(job->io));
            began = now_s();
        }
    }
    return end(job);
}
