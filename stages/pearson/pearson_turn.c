/*
 * pearson_turn - series across lines become series along lines: lines come in slabs, and each is
 * turned into its place among the rows.
 *
 * Where that is, is known with the number of lines. Of a text, which does not know it, the lines
 * are kept as they come, half as many again whenever there are more than was guessed, and turned
 * when all are there. When they no longer fit, or are many and their series few, those that came
 * become the first slabs: so neither the guess nor a pipe decides whether a job can be done.
 */
#include "stages/pearson/pearson_job.h"

static size_t line_bytes(const struct pearson_job *job)
{
    return job->layout.cells * dtype_bytes(job->layout.type);
}

static enum status levels_room(struct pearson_job *job)
{
    const struct pearson_layout *const l = &job->layout;
    return room_span(&job->work, job->n_series, l->level_bytes, &job->levels);
}

/* The lines that have room begin at 0 and end there. */
static size_t lines_end(const struct pearson_job *job)
{
    const struct lines_block *const last = job->came + job->n_came;
    return job->n_came == 0 ? 0 : last[-1].first + last[-1].n;
}

/* Room for lines after those that came: for as many as were guessed, later for half as many again.
 */
static enum status add_lines(struct pearson_job *job)
{
    const size_t unit = job->layout.unit_lines, first = lines_end(job),
                 wanted = job->layout.lines - first;
    struct lines_block *const b = &job->came[job->n_came++];
    *b = (struct lines_block){.first = first, .n = (wanted + unit - 1) / unit * unit};
    return room_span(&job->arriving, b->n, line_bytes(job), &b->at);
}

enum status pearson_turn_count(struct pearson_job *job)
{
    const struct pearson_layout *const l = &job->layout;
    struct span slab;
    STATUS_TRY(levels_room(job));
    if (!l->lines_known) {
        return add_lines(job);
    }
    STATUS_TRY(pearson_stage(job, &job->arriving, &slab));
    return l->lines > l->unit_lines ? pearson_stage(job, &job->arriving, &slab) : STATUS_OK;
}

/* n lines, of which the first is number `first` of the table. */
static enum status turn(const struct pearson_job *job, struct span lines, size_t first, size_t n)
{
    const struct pearson_layout *const l = &job->layout;
    const struct pearson_slab slab = {
        .at = lines, .type = l->type, .n_series = job->n_series, .n_samples = n};
    return job->ops->pearson->turn(job->queue, &slab,
                                   span_from(job->levels, first * dtype_bytes(l->type)),
                                   l->level_bytes / dtype_bytes(l->type));
}

/* Where the next lines go; with more of an unknown number than fit, or so many that slabs are
 * faster, the job is laid out for slabs. */
static enum status make_room(struct pearson_job *job, struct span *to)
{
    struct pearson_layout *const l = &job->layout;
    if (l->lines_known) {
        return pearson_stage(job, &job->arriving, to);
    }
    if (job->lines == lines_end(job)) {
        if (job->n_came > 0) {
            l->lines = job->lines + job->lines / 2 + l->unit_lines;
            job->n_samples = pearson_samples(l, l->lines);
        }
        if (pearson_prefers_slabs(job) || !pearson_fits(job)) {
            return pearson_lay_out(job, false);
        }
        STATUS_TRY(add_lines(job));
    }
    const struct lines_block *const b = &job->came[job->n_came - 1];
    *to = span_from(b->at, (job->lines - b->first) * line_bytes(job));
    return STATUS_OK;
}

/* Those that were kept, when their number is known. */
static enum status turn_all(struct pearson_job *job)
{
    job->layout.lines = job->lines;
    job->layout.lines_known = true;
    STATUS_TRY(pearson_lay_out(job, true));
    STATUS_TRY(levels_room(job));
    for (size_t k = 0; k < job->n_came; k++) {
        const struct lines_block *const b = &job->came[k];
        const size_t left = job->lines - b->first;
        STATUS_TRY(turn(job, b->at, b->first, left < b->n ? left : b->n));
    }
    return STATUS_OK;
}

enum status pearson_turn(struct pearson_job *job)
{
    const bool at_once = job->layout.lines_known;
    struct span lines;
    size_t n;
    bool are;
    STATUS_TRY(at_once ? levels_room(job) : STATUS_OK);
    STATUS_TRY(pearson_more(job, &are));
    while (are) {
        STATUS_TRY(make_room(job, &lines));
        if (!job->layout.turned) {
            return STATUS_OK;
        }
        STATUS_TRY(pearson_read(job, lines, &n));
        STATUS_TRY(at_once ? turn(job, lines, job->lines, n) : STATUS_OK);
        job->lines += n;
        STATUS_TRY(pearson_more(job, &are));
    }
    STATUS_TRY(at_once ? STATUS_OK : turn_all(job));
    room_free(&job->arriving);
    return pearson_index_leave_out(job);
}
