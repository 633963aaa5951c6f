/*
 * pearson_room - the memory of a pearson job that follows from its shape: counted for the plan,
 * taken by those who need it.
 *
 * Whether slabs have gaps is not known before the end, so that what gaps take in place of the
 * accumulators is counted unless a missing value is an error. Working space of a kernel's tasks is
 * not counted.
 */
#include "formats/base/sizes.h"
#include "stages/pearson/pearson_job.h"

#include <string.h>

enum status pearson_stage(struct pearson_job *job, struct room *room, struct span *unit)
{
    const struct pearson_layout *const l = &job->layout;
    struct span *const buffer = &job->staging[job->turn];
    STATUS_TRY(buffer->at != NULL
                   ? STATUS_OK
                   : room_span(room, l->unit_lines, l->cells * dtype_bytes(l->type), buffer));
    job->turn = 1 - job->turn;
    *unit = *buffer;
    return STATUS_OK;
}

enum status pearson_stats_room(struct pearson_job *job, size_t n)
{
    job->stats = (struct moments){.at.bytes = moments_bytes(job->c.moments.capacity),
                                  .capacity = n,
                                  .min_samples = job->c.moments.min_samples};
    STATUS_TRY(room_host(job->kept, job->stats.at.bytes, 1, &job->stats.at.at));
    STATUS_TRY(room_host(job->kept, n, sizeof *job->median_abs, &job->median_abs));
    return room_host(job->kept, n, sizeof *job->is_anomalous, &job->is_anomalous);
}

/* --- the plan --------------------------------------------------------------------------------- */

bool pearson_shares(const struct pearson_job *job)
{
    return pearson_has_matrix(&job->choice) && !job->choice.lagged &&
           pearson_has_rows(&job->layout) && job->args.inputs[0].table->n_lines > 0 &&
           job->args.most_helpers > 0;
}

/* Names are held twice, by the job and by its result, each time with a pointer. Those of a header
 * are known; labels may be as long as names can be. */
static void count_names(struct pearson_job *job)
{
    const struct table_info *const table = job->args.inputs[0].table;
    const bool by_lines = job->layout.by_lines;
    const size_t most = by_lines && !job->choice.columns && table->has_labels
                            ? SERIES_NAME_BYTES + 1
                            : SERIES_PLACE_BYTES;
    for (size_t c = 0; !by_lines && table->names != NULL && c < job->n_series; c++) {
        const size_t bytes = strnlen(table->names[c], SERIES_NAME_BYTES) + 1;
        room_count(job->kept, bytes > most ? 2 * (bytes - most) : 0, 0);
    }
    room_count(job->kept, (uint64_t)job->n_series * 2 * (sizeof(char *) + most), 0);
}

/* Results of each series and each pair. */
static enum status count_outcome(struct pearson_job *job)
{
    const struct pearson_choice *const c = &job->choice;
    const size_t n = job->n_series;
    const size_t wanted = c->threshold > 0 || c->groups > 0 ? PEARSON_PAIRS_MAX : c->top;
    struct matrix_pair *pairs;
    double *scratch;
    STATUS_TRY(c->targets              ? pearson_targets_count(job)
               : c->within             ? pearson_within_count(job)
               : pearson_is_swept(job) ? correlate_sweep_room(&job->c, n)
                                       : correlate_panels(&job->c, n));
    STATUS_TRY(pearson_stats_room(job, pearson_n_all(job)));
    STATUS_TRY(room_host(job->kept, n, 2 * sizeof *scratch, &scratch));
    count_names(job);
    room_count(job->kept, c->drop ? pearson_levels(&job->layout) : 0, 0);
    if (pearson_index_possible(&job->args, c)) {
        room_count(job->kept, pearson_index_bytes(n), 0);
    }
    if (!pearson_has_matrix(c)) {
        return STATUS_OK;
    }
    STATUS_TRY(pearson_partners_room(job));
    room_count(&job->work, pearson_partners_bytes(job), 0);
    STATUS_TRY(c->groups > 0 ? pearson_groups_room(job, PEARSON_PAIRS_MAX) : STATUS_OK);
    /* Twice while they are sorted, with two numbers while their lags are found; how many samples
     * they have is counted later. */
    return room_host(job->kept, pearson_pairs_held(wanted, matrix_n_pairs(n)),
                     (c->lagged ? 4 : 2) * sizeof *pairs, &pairs);
}

/* All that a job laid out so takes. */
static enum status count(const struct pearson_job *laid_out, struct room *all)
{
    const struct room none = {0};
    struct room lags = none;
    struct pearson_job job = *laid_out;
    struct correlation *const c = &job.c;
    job.kept = c->kept = all;
    job.units = job.arriving = job.work = c->work = c->standard = c->exact = c->growing = none;
    job.lines = job.n_came = 0;
    *all = none;
    STATUS_TRY(job.layout.turned ? pearson_turn_count(&job) : STATUS_OK);
    STATUS_TRY(pearson_has_rows(&job.layout) ? pearson_rows_count(&job)
                                             : pearson_columns_count(&job));
    STATUS_TRY(count_outcome(&job));
    STATUS_TRY(job.choice.lagged ? pearson_lags_count(&job, &lags) : STATUS_OK);
    /* Panels in the exact form take the place of lines; standard forms, moments and the matrix that
     * of those turned. */
    struct room last = *all, later;
    room_count(&last, c->growing.host, c->growing.backend);
    later = last;
    room_count(&later, 0, greater(c->standard.backend, lags.backend));
    room_count(&later, 0, greater(job.units.backend, c->exact.backend));
    *all =
        (struct room){.host = last.host, .backend = greater(job.arriving.backend, later.backend)};
    room_count(all, job.work.host, job.work.backend);
    room_count(all, 0, c->work.backend);
    /* Drawn when what only the coefficients took has been given back; where the host's memory is
     * the backend's, it takes its place. */
    const bool is_held = !pearson_is_swept(&job);
    const uint64_t place = job.args.host_limit == 0 ? all->backend - last.backend : 0,
                   drawn = (is_held ? heatmap_bytes(job.n_series, &job.choice.figure) : 0) +
                           pearson_order_bytes(&job);
    room_count(all, drawn > place ? drawn - place : 0, 0);
    return STATUS_OK;
}

/* Whether a job that takes so much, and so much more of the backend's memory, stays within limits.
 */
static bool is_within(const struct stage_args *args, const struct room *all, uint64_t more)
{
    struct room sum = *all;
    room_count(&sum, 0, more);
    return io_has_room(args, &sum);
}

bool pearson_fits(const struct pearson_job *job)
{
    const struct pearson_layout *const l = &job->layout;
    const uint64_t lines = (uint64_t)l->lines * l->cells * dtype_bytes(l->type);
    struct pearson_job slabs = *job;
    struct room all;
    slabs.layout.lines = PEARSON_SAMPLES_MAX; /* of the largest size */
    if (job->n_samples > PEARSON_SAMPLES_MAX || count(job, &all) != STATUS_OK ||
        !is_within(&job->args, &all, 0)) {
        return false;
    }
    return l->lines_known || pearson_lay_out(&slabs, false) != STATUS_OK ||
           count(&slabs, &all) != STATUS_OK || !is_within(&job->args, &all, 0) ||
           is_within(&job->args, &all, lines);
}

enum status pearson_begin(const struct stage_args *args, struct room *kept, struct pearson_job *job)
{
    const struct room room = {.queue = kept->queue};
    const struct table_info *const table = args->inputs[0].table;
    const size_t lines = table->n_lines_estimate;
    *job = (struct pearson_job){.args = *args,
                                .name = args->inputs[0].name,
                                .ops = args->queue->backend->ops,
                                .queue = args->queue,
                                .kept = kept,
                                .units = room,
                                .arriving = room,
                                .work = room,
                                .slabs = room,
                                .c = {.queue = args->queue,
                                      .kept = kept,
                                      .standard = room,
                                      .work = room,
                                      .exact = room,
                                      .growing = room},
                                .layout = {.cells = table->cells_per_line,
                                           .lines = lines > 0 ? lines : 1,
                                           .lines_known = table->n_lines > 0,
                                           .type = table->dtype}};
    if (table->grid != NULL) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: is a grid, and pearson takes tables: CSV, TSV, .npy or .npz",
                           job->name);
    }
    pearson_choose(args, &job->choice);
    STATUS_TRY(pearson_check_choice(job));
    STATUS_TRY(job->choice.targets ? pearson_targets_begin(job) : STATUS_OK);
    job->c.moments.min_samples = job->choice.min_samples;
    STATUS_TRY(pearson_lay_out(job, true));
    return job->layout.by_lines || (!pearson_prefers_slabs(job) && pearson_fits(job))
               ? STATUS_OK
               : pearson_lay_out(job, false);
}

enum status pearson_plan(const struct stage_args *args, struct stage_need *out)
{
    struct pearson_job job;
    struct room all = {0};
    STATUS_TRY(pearson_begin(args, &all, &job));
    STATUS_TRY(count(&job, &all));
    if (all.backend == UINT64_MAX || all.host == UINT64_MAX) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: the correlation of %zu series needs more than 2^64 bytes", job.name,
                           job.n_series);
    }
    const struct panels_config shared = correlate_shared(&job.c);
    const size_t of_helper = pearson_shares(&job) ? panels_helper_bytes(&shared) : 0;
    *out = (struct stage_need){
        .memory_bytes = all.backend,
        .host_bytes = all.host,
        .helper_bytes = of_helper,
        .estimated = !job.layout.lines_known,
        .rereads = job.choice.drop,
        .may_reread = job.choice.pairwise && !job.layout.by_lines &&
                      !(job.layout.turned ? (job.layout.lines_known || pearson_has_few(&job)) &&
                                                (job.layout.keep_x || job.choice.ranks)
                                          : pearson_has_few(&job))};
    return pearson_check_sides(args);
}
