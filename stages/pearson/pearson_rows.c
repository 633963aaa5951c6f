/*
 * pearson_rows - series along lines, and across lines once they are turned, in panels: increments,
 * moments, standard form, products.
 *
 *   panel complete -> (diff_rows) -> means -> standardize into the block -> gram with each block
 *
 * so that after the last line only the last panel's products are left. Once other devices help,
 * they take some of the panels (pearson_share.c): those of a table that knows its length, which is
 * one block.
 *
 * Gaps are known when the moments are on the host, at the end; then each pair of panels of which
 * one has a series with gaps is corrected (gram_gaps). That takes the exact form: where the matrix
 * is of another form, the two panels are standardized again, from the series that were kept for it.
 *
 * Pairs whose common samples lie very far from the mean of a series, because of an outlier
 * elsewhere, take the series themselves. The exact form keeps no series, which would double its
 * memory for what hardly any table has: the job starts over and keeps them.
 */
#include "stages/pearson/pearson_job.h"

static struct span z_of(const struct pearson_job *job, const struct series_block *block,
                        size_t series)
{
    return span_from(block->z, (series - block->first) * pearson_z_bytes(job, job->choice.used));
}

static struct span x_of(const struct pearson_job *job, const struct series_block *block,
                        size_t series)
{
    return span_from(block->x, (series - block->first) * pearson_x_bytes(job));
}

static const struct series_block *block_of(const struct pearson_job *job, size_t series)
{
    const struct series_block *block = job->blocks;
    while (series >= block->first + block->rows) {
        block++;
    }
    return block;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Series in a panel, at most. */
static size_t most_rows(const struct pearson_job *job)
{
    const struct pearson_layout *const l = &job->layout;
    return l->by_lines ? l->unit_lines : l->panel < job->n_series ? l->panel : job->n_series;
}

/* Room for the series themselves; those that were turned are there. */
static enum status series_room(struct pearson_job *job, struct series_block *b)
{
    const struct pearson_layout *const l = &job->layout;
    if (l->turned && l->n_dropped == 0) {
        b->x = job->levels;
        return STATUS_OK;
    }
    if (l->keep_x) {
        return room_span(&job->work, b->rows, pearson_x_bytes(job), &b->x);
    }
    return b->first == 0 && l->n_dropped != 0
               ? room_span(&job->units, most_rows(job), pearson_x_bytes(job), &job->increments)
               : STATUS_OK;
}

/* Begins a block after the others: all that is known or guessed at first, later half as much again
 * as there is. */
static enum status add_block(struct pearson_job *job)
{
    const struct pearson_layout *const l = &job->layout;
    const size_t first = job->n_taken, half = first / 2 > l->panel ? first / 2 : l->panel,
                 wanted = first == 0 ? job->n_series : half,
                 whole = (wanted + l->panel - 1) / l->panel * l->panel;
    struct series_block *const b = &job->blocks[job->n_blocks++];
    *b =
        (struct series_block){.first = first, .rows = l->lines_known || l->turned ? wanted : whole};
    STATUS_TRY(room_span(&job->standard, b->rows, pearson_z_bytes(job, job->choice.used), &b->z));
    STATUS_TRY(series_room(job, b));
    return pearson_grow(job, first + b->rows);
}

/* One of the two panels in the exact form. */
static enum status exact_room(struct pearson_job *job, size_t which)
{
    return job->exact[which].at != NULL
               ? STATUS_OK
               : room_span(&job->units, most_rows(job), pearson_z_bytes(job, PEARSON_EXACT),
                           &job->exact[which]);
}

/* Their own moments: computing the standard form again would change the last bits of those that are
 * reported. */
static enum status exact_moments_room(struct pearson_job *job)
{
    job->exact_moments = job->moments;
    return room_span(&job->units, 1, moments_bytes(job->moments.capacity), &job->exact_moments.at);
}

enum status pearson_rows_count(struct pearson_job *job)
{
    const struct pearson_layout *const l = &job->layout;
    const struct panels_config shared = pearson_shared(job);
    const bool stages = l->by_lines && (!l->keep_x || l->n_dropped != 0),
               has_gaps = !job->choice.reject,
               again = has_gaps && job->choice.used != PEARSON_EXACT;
    const size_t n_units = job->n_series > most_rows(job) ? 2 : 1;
    struct span unit;
    STATUS_TRY(add_block(job));
    for (size_t k = 0; k < n_units && stages; k++) {
        STATUS_TRY(pearson_stage(job, &job->units, &unit));
    }
    const struct room lines = job->units;
    job->units = (struct room){0};
    for (size_t k = 0; k < n_units && again; k++) {
        STATUS_TRY(exact_room(job, k));
    }
    STATUS_TRY(again ? exact_moments_room(job) : STATUS_OK);
    job->units = lines.backend > job->units.backend ? lines : job->units;
    room_count(&job->work, has_gaps ? pearson_common_bytes(job) : 0,
               pearson_shares(job) ? job->args.most_helpers * panels_home_bytes(&shared) : 0);
    return STATUS_OK;
}

/* --- panels ----------------------------------------------------------------------------------- */

/* Where the next lines go. */
static enum status make_room(struct pearson_job *job, struct span *to)
{
    const size_t n = job->n_blocks;
    if (n == 0 || job->n_taken == job->blocks[n - 1].first + job->blocks[n - 1].rows) {
        STATUS_TRY(add_block(job));
    }
    if (!job->layout.keep_x || job->layout.n_dropped != 0) {
        return pearson_stage(job, &job->units, to);
    }
    *to = x_of(job, block_of(job, job->n_taken), job->n_taken);
    return STATUS_OK;
}

/* The next panel of series that were turned. */
static enum status next_turned(struct pearson_job *job, struct span *lines, size_t *n)
{
    const struct pearson_layout *const l = &job->layout;
    const size_t left = job->n_series - job->n_taken;
    STATUS_TRY(job->n_blocks == 0 ? add_block(job) : left > 0 ? io_pause(job->io) : STATUS_OK);
    *lines = span_from(job->levels, job->n_taken * pearson_levels(l) * dtype_bytes(l->type));
    *n = left < l->panel ? left : l->panel;
    return STATUS_OK;
}

/* The next panel, or as many lines as are left; *n is 0 after the last. */
static enum status next_panel(struct pearson_job *job, struct span *lines, size_t *n)
{
    bool are;
    *n = 0;
    if (job->layout.turned) {
        return next_turned(job, lines, n);
    }
    STATUS_TRY(pearson_more(job, &are));
    if (are) {
        STATUS_TRY(make_room(job, lines));
        STATUS_TRY(pearson_read(job, *lines, n));
        job->lines += *n;
    }
    return pearson_check_series(job, job->lines);
}

/* Brings n series to standard form; what is correlated of them are their increments, maybe. */
static enum status prepare(struct pearson_job *job, struct span lines, size_t n)
{
    const struct pearson_layout *const l = &job->layout;
    const struct series_block *const block = block_of(job, job->n_taken);
    const struct series_rows levels = {
        .at = lines, .type = l->type, .n_series = n, .n_samples = pearson_levels(l)};
    struct series_rows x = {.at = lines,
                            .type = l->x_type,
                            .n_series = n,
                            .n_samples = job->n_samples,
                            .first = job->n_taken};
    if (l->n_dropped != 0) {
        x.at = l->keep_x ? x_of(job, block, job->n_taken) : job->increments;
        STATUS_TRY(job->ops->pearson->diff_rows(job->queue, &levels, job->choice.diff, x.at));
    }
    STATUS_TRY(job->ops->means->rows(job->queue, &x, job->moments));
    return job->ops->pearson->standardize(job->queue, job->choice.used, &x, job->moments,
                                          z_of(job, block, job->n_taken));
}

/* The products of the next n series with all up to them. */
static enum status multiply(struct pearson_job *job, size_t n)
{
    const struct series_block *const last = block_of(job, job->n_taken);
    const size_t first = job->n_taken, width = first + n;
    struct pearson_panel panel = {.precision = job->choice.used,
                                  .n_samples = job->n_samples,
                                  .a = {.z = z_of(job, last, first), .first = first, .n = n},
                                  .moments = job->moments,
                                  .width = width};
    STATUS_TRY(pearson_panel_room(job, n, width, &panel.r));
    if (job->shared != NULL) {
        panel.b = (struct pearson_side){.z = last->z, .n = width};
        STATUS_TRY(panels_give(job->shared, panel.a.z, first, n));
        return panels_gram(job->shared, &panel);
    }
    for (const struct series_block *b = job->blocks; b <= last; b++) {
        const size_t end = b == last ? width : b->first + b->rows;
        panel.b = (struct pearson_side){.z = b->z, .first = b->first, .n = end - b->first};
        STATUS_TRY(job->ops->pearson->gram(job->queue, &panel));
    }
    return STATUS_OK;
}

enum status pearson_rows(struct pearson_job *job)
{
    struct span lines;
    size_t n;
    job->io->help = (struct job_help){pearson_share_wanted, pearson_share_bring, job};
    STATUS_TRY(next_panel(job, &lines, &n));
    while (n > 0) {
        STATUS_TRY(prepare(job, lines, n));
        STATUS_TRY(multiply(job, n));
        job->n_taken += n;
        STATUS_TRY(next_panel(job, &lines, &n));
    }
    job->n_series = job->n_taken;
    STATUS_TRY(job->shared != NULL ? panels_collect(job->shared) : STATUS_OK);
    pearson_share_end(job);
    return STATUS_OK;
}

/* --- gaps ------------------------------------------------------------------------------------- */

static size_t panel_end(const struct pearson_job *job, size_t p)
{
    return matrix_panel_width(p, job->layout.panel, job->n_series);
}

/* The series of panel p in the exact form; `which` of the two buffers may be used for it. */
static enum status exact_panel(struct pearson_job *job, size_t p, size_t which,
                               struct pearson_side *side)
{
    const size_t first = p * job->layout.panel;
    const struct series_block *const block = block_of(job, first);
    *side = (struct pearson_side){.z = z_of(job, block, first),
                                  .x = x_of(job, block, first),
                                  .first = first,
                                  .n = panel_end(job, p) - first};
    if (job->choice.used == PEARSON_EXACT) {
        return STATUS_OK;
    }
    const struct series_rows x = {.at = side->x,
                                  .type = job->layout.x_type,
                                  .n_series = side->n,
                                  .n_samples = job->n_samples,
                                  .first = first};
    STATUS_TRY(exact_room(job, which));
    side->z = job->exact[which];
    return job->ops->pearson->standardize(job->queue, PEARSON_EXACT, &x, job->exact_moments,
                                          side->z);
}

/* Corrects panel p against itself and the panels before it. */
static enum status fill_panel(struct pearson_job *job, size_t p, const bool *gaps,
                              uint64_t *n_unsure)
{
    struct pearson_panel panel = {.precision = job->choice.used,
                                  .n_samples = job->n_samples,
                                  .x_type = job->layout.x_type,
                                  .moments = job->moments,
                                  .r = job->panels[p],
                                  .width = panel_end(job, p)};
    for (size_t b = 0; b <= p; b++) {
        if (!gaps[p] && !gaps[b]) {
            continue;
        }
        STATUS_TRY(queue_check(job->queue));
        if (panel.a.n == 0) {
            STATUS_TRY(exact_panel(job, p, 0, &panel.a));
        }
        panel.b = panel.a;
        if (b < p) {
            STATUS_TRY(exact_panel(job, b, 1, &panel.b));
        }
        STATUS_TRY(job->ops->pearson->gram_gaps(job->queue, &panel, n_unsure));
    }
    return STATUS_OK;
}

enum status pearson_rows_gaps(struct pearson_job *job)
{
    bool *gaps;
    uint64_t n_unsure = 0;
    STATUS_TRY(room_host(&job->work, job->n_panels, sizeof *gaps, &gaps));
    for (size_t s = 0; s < job->n_series; s++) {
        gaps[s / job->layout.panel] |= pearson_stat(job, MOMENTS_COUNT, s) < (double)job->n_samples;
    }
    if (job->choice.used != PEARSON_EXACT) {
        STATUS_TRY(exact_moments_room(job));
        STATUS_TRY(job->ops->copy(job->queue, job->exact_moments.at, job->moments.at,
                                  moments_bytes(job->moments.capacity)));
    }
    for (size_t p = 0; p < job->n_panels && n_unsure == 0; p++) {
        STATUS_TRY(fill_panel(job, p, gaps, &n_unsure));
    }
    return n_unsure == 0
               ? STATUS_OK
               : status_fail(STATUS_START_OVER, "%s: %llu pairs take the series themselves",
                             job->name, (unsigned long long)n_unsure);
}

/* --- the series once more --------------------------------------------------------------------- */

/* Copies the series of all blocks into one. */
static enum status join_blocks(struct pearson_job *job)
{
    struct series_block all = {.rows = job->n_series};
    STATUS_TRY(room_span(&job->work, all.rows, pearson_x_bytes(job), &all.x));
    for (size_t i = 0; i < job->n_blocks; i++) {
        const struct series_block *const b = &job->blocks[i];
        const size_t left = job->n_series - b->first, n = left < b->rows ? left : b->rows;
        STATUS_TRY(
            job->ops->copy(job->queue, x_of(job, &all, b->first), b->x, n * pearson_x_bytes(job)));
    }
    job->blocks[0] = all;
    job->n_blocks = 1;
    return STATUS_OK;
}

enum status pearson_rows_series(struct pearson_job *job, struct series_rows *x)
{
    room_free(&job->standard);
    room_free(&job->units);
    STATUS_TRY(job->n_blocks > 1 ? join_blocks(job) : STATUS_OK);
    *x = (struct series_rows){.at = job->blocks[0].x,
                              .type = job->layout.x_type,
                              .n_series = job->n_series,
                              .n_samples = job->n_samples};
    return STATUS_OK;
}

struct span pearson_rows_one(const struct pearson_job *job, size_t s, bool *is_standard)
{
    *is_standard = job->choice.used == PEARSON_EXACT;
    return (*is_standard ? z_of : x_of)(job, block_of(job, s), s);
}
