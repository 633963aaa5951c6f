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

enum { ROWS_PER_PIECE = 8192, CELLS_PER_PART = 1 << 14 };

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

/* A sixteenth of the memory that there is, but no more than 1 GiB, makes runs quick, not possible.
 */
static uint64_t bytes_for_speed(const struct stage_args *args)
{
    uint64_t most = (uint64_t)1 << 34;
    most = args->memory_limit > 0 && args->memory_limit < most ? args->memory_limit : most;
    most = args->host_limit > 0 && args->host_limit < most ? args->host_limit : most;
    return most / 16;
}

enum status sciddicat_runs_room(struct sciddicat_job *job, struct room *room)
{
    struct sciddicat_runs *const runs = &job->runs;
    const size_t n_cells = job->slide.n_cells;
    runs->sweep.n_runs = runs->n;
    runs->sweep.most_bytes = bytes_for_speed(&job->args);
    STATUS_TRY(landslide_sweep_room(&job->slide, &runs->sweep, room));
    room_count(room, sciddicat_map_bytes(job), 0);
    STATUS_TRY(room_host(room, runs->n, sizeof **runs->values, &runs->values[SCIDDICAT_EPSILON]));
    STATUS_TRY(room_host(room, runs->n, sizeof **runs->values, &runs->values[SCIDDICAT_R]));
    STATUS_TRY(room_host(room, runs->n, sizeof *runs->rows, &runs->rows));
    STATUS_TRY(room_host(room, n_cells, sizeof *runs->share, &runs->share));
    STATUS_TRY(room_host(room, n_cells, sizeof *runs->mean, &runs->mean));
    return room_host(room, n_cells, sizeof *runs->most, &runs->most);
}

/* --- making them ------------------------------------------------------------------------------ */

/* Runs [first, first + n), which have ended. */
struct ended {
    struct sciddicat_job *job;
    size_t first, n;
};

/* The debris that has left the cells in which it lay. */
static double moved_m(const struct sciddicat_job *job, const double *h)
{
    double sum = 0;
    for (size_t k = 0; k < job->slide.n_cells; k++) {
        sum += job->slide.h[k] > h[k] ? job->slide.h[k] - h[k] : 0;
    }
    return sum;
}

/* A run's row. Its thicknesses at the end make room for the scores. */
static void measure_body(void *context, size_t i)
{
    const struct ended *const e = context;
    const struct sciddicat_job *const job = e->job;
    const struct landslide_end *const end = &job->runs.sweep.ends[i];
    struct sciddicat_run *const run = &job->runs.rows[e->first + i];
    run->end = end->now;
    run->settled = end->settled;
    run->moved_m = moved_m(job, end->h);
    sciddicat_measure(job, end->max_h, job->runs.values[SCIDDICAT_EPSILON][e->first + i],
                      &run->reach);
    if (job->hit != NULL) {
        sciddicat_score(job, end->max_h, end->h, &run->scores);
    }
}

/* A part of the cells, in the order of the runs. */
static void add_body(void *context, size_t part)
{
    const struct ended *const e = context;
    const struct sciddicat_runs *const runs = &e->job->runs;
    const double affected_m = e->job->choice.affected_m;
    const size_t first = part * CELLS_PER_PART, left = e->job->slide.n_cells - first;
    const size_t end = first + (left < CELLS_PER_PART ? left : CELLS_PER_PART);
    for (size_t i = 0; i < e->n; i++) {
        const double *const max_h = runs->sweep.ends[i].max_h;
        for (size_t k = first; k < end; k++) {
            runs->share[k] += max_h[k] > affected_m;
            runs->mean[k] += max_h[k];
            runs->most[k] = max_h[k] > runs->most[k] ? max_h[k] : runs->most[k];
        }
    }
}

static enum status take_runs(void *context, size_t first, size_t n)
{
    struct sciddicat_job *const job = context;
    struct sciddicat_runs *const runs = &job->runs;
    struct ended e = {.job = job, .first = first, .n = n};
    const size_t n_parts = (job->slide.n_cells - 1) / CELLS_PER_PART + 1;
    executor_run(&job->args.executor, n, measure_body, &e);
    executor_run(&job->args.executor, n_parts, add_body, &e);
    for (size_t i = first; job->hit != NULL && i < first + n; i++) {
        const double best = runs->rows[runs->full].scores.fitness,
                     fitness = runs->rows[i].scores.fitness;
        runs->full = fitness > best || (isnan(best) && !isnan(fitness)) ? i : runs->full;
    }
    job->n_before += n * job->slide.steps;
    return STATUS_OK;
}

enum status sciddicat_runs_make(struct sciddicat_job *job)
{
    struct sciddicat_runs *const runs = &job->runs;
    choose(runs);
    runs->sweep.epsilon = runs->values[SCIDDICAT_EPSILON];
    runs->sweep.r = runs->values[SCIDDICAT_R];
    runs->sweep.done = take_runs;
    STATUS_TRY(landslide_sweep(&job->slide, &runs->sweep, job->io->queue));
    for (size_t k = 0; k < job->slide.n_cells; k++) {
        runs->share[k] /= (double)runs->n;
        runs->mean[k] /= (double)runs->n;
    }
    job->slide.params.epsilon = runs->sweep.epsilon[runs->full];
    job->slide.params.r = runs->sweep.r[runs->full];
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
