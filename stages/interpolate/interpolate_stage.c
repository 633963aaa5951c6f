/*
 * interpolate_stage - the pipeline `interpolate`: the polynomials through the nodes of X.nodes.*, a
 * curve a column, at the queries of X.query.* or of a linspace.
 *
 * Nodes are gathered on the host, since all of them are wanted at once. Then queries pass through
 * some sets of buffers in turn, and leave with their values: while one set is evaluated the others
 * are encoded and written.
 */
#include "stages/interpolate/interpolate_job.h"

#include <math.h>
#include <stdlib.h>

static enum status interpolate_plan(const struct stage_args *args, struct stage_need *out)
{
    struct interpolate_job job = {.args = *args};
    struct room counted = {0};
    STATUS_TRY(interpolate_choose(args, &job.choice));
    STATUS_TRY(interpolate_room(&job, &counted));
    *out = (struct stage_need){.memory_bytes = counted.backend,
                               .host_bytes = counted.host,
                               .n_results = job.choice.n_sets,
                               .estimated = args->inputs[INTERPOLATE_NODES].table->n_lines == 0};
    return STATUS_OK;
}

static void free_job(void *context)
{
    struct interpolate_job *const job = context;
    interpolate_setup_release(&job->setup);
    interpolate_stream_free(job);
    free(job->cells);
    free(job->lines);
}

static enum status new_job(struct job_io *io, struct interpolate_job **out)
{
    STATUS_TRY(room_host(&io->room, 1, sizeof **out, out));
    struct interpolate_job *const job = *out;
    *job = (struct interpolate_job){.io = io,
                                    .args = io->args,
                                    .ops = io->ops,
                                    .queue = io->queue,
                                    .low = INFINITY,
                                    .high = -INFINITY};
    STATUS_TRY(room_keep(&io->room, free_job, job));
    STATUS_TRY(interpolate_choose(&job->args, &job->choice));
    return interpolate_room(job, &io->room);
}

static enum status interpolate_run(struct job_io *io)
{
    struct interpolate_job *job;
    const struct table_chunk *nodes;
    STATUS_TRY(new_job(io, &job));
    STATUS_TRY(io_chunk(io, INTERPOLATE_NODES, &nodes));
    while (nodes != NULL) {
        STATUS_TRY(interpolate_nodes_add(job, nodes));
        STATUS_TRY(io_chunk(io, INTERPOLATE_NODES, &nodes));
    }
    STATUS_TRY(interpolate_nodes_ready(job));
    STATUS_TRY(interpolate_stream(job));
    STATUS_TRY(interpolate_stream_end(job));
    STATUS_TRY(interpolate_picture(job));
    return interpolate_summarise(job, io->out);
}

static const struct stage_part parts[INTERPOLATE_N_PARTS] = {
    [INTERPOLATE_NODES] = {.suffix = "nodes", .kind = STAGE_TABLE, .dates = true},
    [INTERPOLATE_QUERY] = {.suffix = "query",
                           .kind = STAGE_TABLE,
                           .dates = true,
                           .columns = "query_columns",
                           .unless = "query"},
};

const struct stage_ops stage_interpolate = {
    .name = "interpolate",
    .about = "Evaluates the polynomial, or another curve, through the nodes of a table.",
    .examples = "leat run runge.nodes.csv runge.query.csv\n"
                "leat run -s query='linspace(-1, 1, 1000)' -s method=pchip runge.nodes.csv\n",
    .parts = parts,
    .n_parts = INTERPOLATE_N_PARTS,
    .specs = interpolate_specs,
    .n_specs = INTERPOLATE_N_SPECS,
    .work = interpolate_work,
    .plan = interpolate_plan,
    .run = interpolate_run,
    .told = &interpolate_told,
};
