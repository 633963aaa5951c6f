/*
 * sciddicat_runs - several runs of one landslide, by their parameters: every combination of the
 * numbers given, or a Latin hypercube of their ranges. Each is told in a row; one is made once more
 * with all its results.
 *
 * The hypercube: the range of each parameter is cut into as many equal parts as there are runs;
 * each part has one run, at a place in it that is drawn, and which run has which part is a
 * permutation that is drawn (M. D. McKay, R. J. Beckman, W. J. Conover, 1979). The numbers are
 * those of Philox: word 0 of block i of series d, from the last run down to the second, exchanges
 * run i with run word * (i + 1) / 2^32, of parameter d; word 1 is the place, (word + 0.5) / 2^32.
 */
#include "formats/result/result_table.h"
#include "formats/result/summary_entry.h"
#include "kernels/philox/philox_rule.h"
#include "stages/sciddicat/sciddicat_job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_PER_PIECE = 8192 };

/* --- how many, and their parameters ----------------------------------------------------------- */

enum status sciddicat_runs_count(const struct numbers numbers[SCIDDICAT_VARIED], uint64_t sample,
                                 size_t *out)
{
    const uint64_t all[] = {numbers[SCIDDICAT_EPSILON].n, numbers[SCIDDICAT_R].n};
    uint64_t n = 1;
    for (size_t d = 0; d < SCIDDICAT_VARIED; d++) {
        if (all[d] == 0) {
            return status_fail(STATUS_BAD_ARGUMENT, "p_epsilon and p_r take a number, or several");
        }
        n = all[d] <= SCIDDICAT_MOST_RUNS / n ? n * all[d] : SCIDDICAT_MOST_RUNS + 1;
    }
    if (sample == 1) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "sample=1: a sample has two runs at least; 0 makes all combinations");
    }
    if (sample > 0 && all[0] == 1 && all[1] == 1) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "sample=%llu: p_epsilon and p_r have one number each, so all runs were "
                           "the same; give a range: -s p_r=0.3,0.7",
                           (unsigned long long)sample);
    }
    if (sample == 0 && n > SCIDDICAT_MOST_RUNS) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "p_epsilon and p_r make more than %d combinations, the most that is "
                           "possible; sample=1000 draws as many runs from their ranges",
                           SCIDDICAT_MOST_RUNS);
    }
    *out = sample > 0 ? (size_t)sample : (size_t)n;
    return STATUS_OK;
}

/* The least and the greatest of the numbers. */
static void range_of(const struct numbers *numbers, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (uint64_t i = 0; i < numbers->n; i += numbers->list != NULL ? 1 : numbers->n - 1) {
        double x;
        numbers_fill(numbers, i, 1, &x);
        *low = fmin(*low, x);
        *high = fmax(*high, x);
    }
}

static void draw(const struct sciddicat_runs *runs, size_t d, double *out)
{
    const size_t n = runs->n;
    double low, high;
    range_of(&runs->numbers[d], &low, &high);
    for (size_t i = 0; i < n; i++) {
        out[i] = (double)i;
    }
    for (size_t i = n - 1; i > 0; i--) {
        const uint64_t word = philox_block(runs->seed, d, i).w[0];
        const size_t j = (size_t)(word * (i + 1) >> 32);
        const double part = out[i];
        out[i] = out[j];
        out[j] = part;
    }
    for (size_t i = 0; i < n; i++) {
        const double place = ((double)philox_block(runs->seed, d, i).w[1] + 0.5) * 0x1p-32;
        out[i] = low + (high - low) * ((out[i] + place) / (double)n);
    }
}

/* p_r varies fastest. */
static void choose(struct sciddicat_runs *runs)
{
    const uint64_t n_r = runs->numbers[SCIDDICAT_R].n;
    for (size_t d = 0; d < SCIDDICAT_VARIED; d++) {
        const struct numbers *const all = &runs->numbers[d];
        if (runs->sample > 0 && all->n > 1) {
            draw(runs, d, runs->values[d]);
            continue;
        }
        for (size_t i = 0; i < runs->n; i++) {
            const uint64_t k = all->n == 1 ? 0 : d == SCIDDICAT_R ? i % n_r : i / n_r;
            numbers_fill(all, k, 1, &runs->values[d][i]);
        }
    }
}

enum status sciddicat_runs_room(struct sciddicat_job *job, struct room *room)
{
    struct sciddicat_runs *const runs = &job->runs;
    const size_t n_cells = job->slide.n_cells;
    room_count(room, sciddicat_map_bytes(job->dem->rows, job->dem->columns), 0);
    STATUS_TRY(room_host(room, runs->n, sizeof **runs->values, &runs->values[SCIDDICAT_EPSILON]));
    STATUS_TRY(room_host(room, runs->n, sizeof **runs->values, &runs->values[SCIDDICAT_R]));
    STATUS_TRY(room_host(room, runs->n, sizeof *runs->rows, &runs->rows));
    STATUS_TRY(room_host(room, n_cells, sizeof *runs->start, &runs->start));
    STATUS_TRY(room_host(room, n_cells, sizeof *runs->share, &runs->share));
    STATUS_TRY(room_host(room, n_cells, sizeof *runs->mean, &runs->mean));
    return room_host(room, n_cells, sizeof *runs->most, &runs->most);
}

/* --- making them ------------------------------------------------------------------------------ */

/* The debris that has left the cells in which it lay. */
static double moved_m(const struct sciddicat_job *job)
{
    double sum = 0;
    for (size_t k = 0; k < job->slide.n_cells; k++) {
        sum += fmax(job->runs.start[k] - job->slide.h[k], 0);
    }
    return sum;
}

static void add_maxima(struct sciddicat_job *job)
{
    struct sciddicat_runs *const runs = &job->runs;
    for (size_t k = 0; k < job->slide.n_cells; k++) {
        const double most = job->slide.max_h[k];
        runs->share[k] += most > job->choice.affected_m;
        runs->mean[k] += most;
        runs->most[k] = fmax(runs->most[k], most);
    }
}

/* A run is over. */
static enum status take_run(void *context, size_t i)
{
    struct sciddicat_job *const job = context;
    struct sciddicat_run *const run = &job->runs.rows[i];
    run->end = job->slide.now;
    run->settled = job->slide.settled;
    run->moved_m = moved_m(job);
    sciddicat_measure(job, &run->reach);
    if (job->hit != NULL) {
        sciddicat_score(job, &run->scores);
        const double best = job->runs.rows[job->runs.full].scores.fitness;
        if (run->scores.fitness > best || (isnan(best) && !isnan(run->scores.fitness))) {
            job->runs.full = i;
        }
    }
    add_maxima(job);
    job->n_before += job->slide.steps;
    return io_pause(job->io);
}

enum status sciddicat_runs_make(struct sciddicat_job *job)
{
    struct sciddicat_runs *const runs = &job->runs;
    const struct landslide_sweep sweep = {.n_runs = runs->n,
                                          .epsilon = runs->values[SCIDDICAT_EPSILON],
                                          .r = runs->values[SCIDDICAT_R],
                                          .start = runs->start,
                                          .done = take_run};
    choose(runs);
    STATUS_TRY(landslide_sweep(&job->slide, &sweep, job->io->queue, job->args.executor));
    for (size_t k = 0; k < job->slide.n_cells; k++) {
        runs->share[k] /= (double)runs->n;
        runs->mean[k] /= (double)runs->n;
    }
    job->slide.params.epsilon = sweep.epsilon[runs->full];
    job->slide.params.r = sweep.r[runs->full];
    return STATUS_OK;
}

/* --- what the results say --------------------------------------------------------------------- */

static void run_row(const void *context, uint64_t i, struct result_row *to)
{
    const struct sciddicat_job *const job = context;
    const struct sciddicat_run *const run = &job->runs.rows[i];
    const struct sciddicat_summary *const s = &run->reach;
    const double area = job->scale.area_m2;
    const bool some = s->n_covered > 0;
    const size_t toe = some ? s->toe : 0, columns = job->dem->columns;
    const size_t toe_row = toe / columns + 1, toe_column = toe % columns + 1;
    result_row_count(to, "run", i + 1);
    result_row_real(to, "p_epsilon", job->runs.values[SCIDDICAT_EPSILON][i]);
    result_row_real(to, "p_r", job->runs.values[SCIDDICAT_R][i]);
    result_row_real(to, "moved_m3", run->moved_m * area);
    result_row_real(to, "covered_m2", (double)s->n_covered * area);
    result_row_real(to, "runout_m", s->has_runout ? s->runout_m : (double)NAN);
    result_row_real(to, "drop_m", s->has_runout ? s->drop_m : (double)NAN);
    result_row_real(to, "reach_angle_deg", sciddicat_reach_deg(s));
    result_row_real(to, "toe_row", some ? (double)toe_row : (double)NAN);
    result_row_real(to, "toe_column", some ? (double)toe_column : (double)NAN);
    result_row_real(to, "lost_edge_m3", run->end.lost_edge * area);
    result_row_real(to, "lost_nodata_m3", run->end.lost_nodata * area);
    result_row_count(to, "steps", run->end.step);
    result_row_flag(to, "settled", run->settled);
    if (job->hit != NULL) {
        sciddicat_score_row(&run->scores, to);
    }
}

enum status sciddicat_runs_summarise(const struct sciddicat_job *job, json_t *summary)
{
    const struct sciddicat_runs *const runs = &job->runs;
    size_t n_settled = 0;
    for (size_t i = 0; i < runs->n; i++) {
        n_settled += runs->rows[i].settled;
    }
    const struct summary_entry entries[] = {
        {"runs", summary_integer(runs->n)},
        {"runs_settled", summary_integer(n_settled)},
        {"full_run", summary_integer(runs->full + 1)},
        {"full_p_epsilon", summary_real(runs->values[SCIDDICAT_EPSILON][runs->full])},
        {"full_p_r", summary_real(runs->values[SCIDDICAT_R][runs->full])},
    };
    return summary_entry_put(summary, entries, sizeof entries / sizeof *entries);
}

enum status sciddicat_runs_files(struct sciddicat_job *job)
{
    const struct result_table table = {"runs", run_row, job, job->runs.n};
    STATUS_TRY(result_table_csv(job->io->out, &table, ROWS_PER_PIECE));
    STATUS_TRY(sciddicat_files_grid(job, "probability", "", job->runs.share));
    STATUS_TRY(sciddicat_files_grid(job, "max_thickness_mean", "m", job->runs.mean));
    STATUS_TRY(sciddicat_files_grid(job, "max_thickness_max", "m", job->runs.most));
    return sciddicat_map_runs(job);
}
