/*
 * interpolate_stage - the pipeline `interpolate`: the polynomials through the nodes of X.nodes.*, a
 * curve a column, at the queries of X.query.* or of a linspace.
 *
 * Nodes are gathered on the host, since all of them are wanted at once. Then queries pass through
 * some sets of buffers in turn, and leave with their values as portions of the result: while one
 * set is evaluated the others are encoded and written. Those of a linspace leave at the end.
 */
#include "stages/interpolate/interpolate_job.h"

#include <stdlib.h>

struct stage {
    struct interpolate_job job;
};

static enum status interpolate_plan(const struct stage_args *args, struct stage_need *out)
{
    struct interpolate_choice choice;
    return interpolate_choose(args, &choice, out);
}

static void interpolate_free(struct stage *s)
{
    if (s != NULL) {
        interpolate_stream_free(&s->job);
        interpolate_nodes_free(&s->job);
        free(s);
    }
}

static enum status interpolate_open(const struct stage_args *args, struct stage **out)
{
    struct stage_need need;
    struct interpolate_choice choice;
    *out = NULL;
    STATUS_TRY(interpolate_choose(args, &choice, &need));
    struct stage *const s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a job");
    }
    s->job = (struct interpolate_job){
        .args = *args, .ops = args->queue->backend->ops, .queue = args->queue, .choice = choice};
    const enum status st = interpolate_stream_open(&s->job);
    if (st != STATUS_OK) {
        interpolate_free(s);
        return st;
    }
    *out = s;
    return STATUS_OK;
}

static enum status interpolate_push(struct stage *s, size_t part, const struct table_chunk *chunk,
                                    uint64_t *ticket)
{
    *ticket = 0;
    if (part == INTERPOLATE_NODES) {
        return interpolate_nodes_add(&s->job, chunk);
    }
    STATUS_TRY(interpolate_nodes_ready(&s->job));
    return interpolate_stream_add(&s->job, chunk, ticket);
}

static enum status interpolate_portion(struct stage *s, struct result *out, bool *more)
{
    return interpolate_stream_portion(&s->job, out, more);
}

static enum status interpolate_finish(struct stage *s, struct result *out, bool *more)
{
    struct interpolate_job *const job = &s->job;
    STATUS_TRY(interpolate_nodes_ready(job));
    while (job->n_done < job->choice.line.n) {
        STATUS_TRY(interpolate_stream_next(job));
        STATUS_TRY(interpolate_stream_portion(job, out, &(bool){false}));
        if (out->n_files > 0) {
            *more = true;
            return STATUS_OK;
        }
    }
    STATUS_TRY(interpolate_stream_end(job, out));
    STATUS_TRY(interpolate_picture(job, out));
    return interpolate_summarise(job, out);
}

static const struct stage_part parts[INTERPOLATE_N_PARTS] = {
    [INTERPOLATE_NODES] = {.suffix = "nodes", .kind = STAGE_TABLE},
    [INTERPOLATE_QUERY] = {.suffix = "query",
                           .kind = STAGE_TABLE,
                           .columns = "query_columns",
                           .unless = "query"},
};

const struct stage_ops stage_interpolate = {
    .name = "interpolate",
    .parts = parts,
    .n_parts = INTERPOLATE_N_PARTS,
    .specs = interpolate_specs,
    .n_specs = INTERPOLATE_N_SPECS,
    .work = interpolate_work,
    .plan = interpolate_plan,
    .open = interpolate_open,
    .push = interpolate_push,
    .portion = interpolate_portion,
    .finish = interpolate_finish,
    .free = interpolate_free,
};
