/*
 * sums - running sums of each column. What a chunk brings leaves at once, so memory does not grow
 * with the file. A chunk may end within a line: whole lines leave.
 */
#include "tests/seams/seams.h"

#include <stdlib.h>

enum { SUMS_TITLE };

static const struct param_spec specs[] = {
    [SUMS_TITLE] = {.key = "title",
                    .kind = PARAM_TEXT,
                    .text = "",
                    .max = 200,
                    .help = "stands in result.json"},
};

static enum status sums_plan(const struct stage_args *args, struct stage_need *out)
{
    const struct table_info *t = args->inputs[0].table;
    *out = (struct stage_need){.host_bytes = 2 * t->cells_per_line * sizeof(double) +
                                             3 * (args->block_bytes + sizeof(struct column)),
                               .estimated = t->n_lines == 0};
    return STATUS_OK;
}

static enum status sums_run(struct job_io *io)
{
    const size_t width = io->args.inputs[0].table->cells_per_line;
    size_t n_rest = 0; /* numbers of a line that has not ended */
    uint64_t n_lines = 0;
    double *sums, *rest;
    const struct table_chunk *chunk;
    STATUS_TRY(room_host(&io->room, width, sizeof *sums, &sums));
    STATUS_TRY(room_host(&io->room, width, sizeof *rest, &rest));
    for (;;) {
        STATUS_TRY(io_chunk(io, 0, &chunk));
        if (chunk == NULL) {
            return seams_end(io->out, "sums", n_lines, width, n_lines > 0);
        }
        const size_t n = n_rest + chunk->n_cells, whole = n - n % width;
        struct column *const column = malloc(sizeof *column + (n + 1) * sizeof(double));
        if (column == NULL) {
            return status_fail(STATUS_NO_MEMORY, "no memory for sums");
        }
        column->n = whole;
        column->n_columns = width;
        for (size_t k = 0; k < n; k++) {
            double *const sum = &sums[k % width];
            *sum += k < n_rest ? 0 : seams_cell(&io->args.inputs[0], chunk, k - n_rest);
            column->values[k] = k < n_rest ? rest[k] : *sum;
        }
        for (size_t k = whole; k < n; k++) {
            rest[k - whole] = column->values[k];
        }
        n_rest = n - whole;
        if (whole == 0) {
            free(column);
            continue;
        }
        STATUS_TRY(seams_portion(io->out, "sums", column, n_lines > 0));
        n_lines += whole / width;
        STATUS_TRY(io_leave(io));
    }
}

static const struct stage_part parts[] = {{.suffix = "numbers", .kind = STAGE_TABLE}};

const struct stage_ops stage_sums = {
    .name = "sums",
    .parts = parts,
    .n_parts = 1,
    .specs = specs,
    .n_specs = 1,
    .plan = sums_plan,
    .run = sums_run,
};
