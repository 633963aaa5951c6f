/*
 * scores - standard scores of queries. The mean needs all values, and the squares of what is left
 * need the mean: so the values are read twice. Queries come in the first pass too, where they are
 * only counted, and once more when mean and deviation are known. `at` is a query in place of
 * their file. With unit=file scores are multiples of the sum of another one's numbers.
 */
#include "tests/seams/seams.h"

#include <math.h>
#include <stdlib.h>

enum { SCORES_COLUMNS, SCORES_AT, SCORES_UNIT, N_SPECS };
enum { VALUES, UNIT, QUERY, N_PARTS };
static const struct param_spec specs[] = {
    [SCORES_COLUMNS] = {.key = "query_columns",
                        .kind = PARAM_TEXT,
                        .text = "",
                        .max = 1000,
                        .help = "columns of the queries, as columns chooses those of the values"},
    [SCORES_AT] = {.key = "at",
                   .kind = PARAM_TEXT,
                   .text = "",
                   .max = 100,
                   .help = "a number, the only query: there is no file of them"},
    [SCORES_UNIT] = {.key = "unit",
                     .kind = PARAM_CHOICE,
                     .text = "none",
                     .choices = "none|file",
                     .help = "what scores are multiples of, besides deviations"},
};

static enum status scores_plan(const struct stage_args *args, struct stage_need *out)
{
    const struct table_info *const query = args->inputs[QUERY].table;
    if ((query == NULL) != (*args->params[SCORES_AT].text != '\0') ||
        (args->inputs[UNIT].table == NULL) != (args->params[SCORES_UNIT].index == 0)) {
        return status_fail(STATUS_INTERNAL, "a job came with a part that it does without, or "
                                            "without one that it needs");
    }
    *out = (struct stage_need){
        .host_bytes = 2 * (args->block_bytes + sizeof(struct column)),
        .estimated = args->inputs[VALUES].table->n_lines == 0 ||
                     args->params[SCORES_UNIT].index > 0 || (query != NULL && query->n_lines == 0),
        .rereads = true,
    };
    return STATUS_OK;
}

/* The sum of a part's numbers, or of their squares about the mean, and how many there are. */
static enum status add_up(struct job_io *io, size_t part, const double *mean, double *sum,
                          uint64_t *n)
{
    const struct table_chunk *chunk;
    *n = 0;
    *sum = 0;
    STATUS_TRY(io_chunk(io, part, &chunk));
    while (chunk != NULL) {
        for (size_t k = 0; k < chunk->n_cells; k++) {
            const double x = seams_cell(&io->args.inputs[part], chunk, k);
            *sum += mean == NULL ? x : (x - *mean) * (x - *mean);
        }
        *n += chunk->n_cells;
        STATUS_TRY(io_chunk(io, part, &chunk));
    }
    return STATUS_OK;
}

/* n scores leave, of which `chunk` has the queries; NULL: of the one number `at`. */
static enum status leave(struct job_io *io, const struct table_chunk *chunk, size_t n, double mean,
                         double deviation, bool begun)
{
    struct column *const column = malloc(sizeof *column + n * sizeof(double));
    if (column == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for scores");
    }
    column->n = n;
    column->n_columns = 1;
    for (size_t k = 0; k < n; k++) {
        const double x = chunk != NULL ? seams_cell(&io->args.inputs[QUERY], chunk, k)
                                       : strtod(io->args.params[SCORES_AT].text, NULL);
        column->values[k] = (x - mean) / deviation;
    }
    STATUS_TRY(seams_portion(io->out, "scores", column, begun));
    return io_leave(io);
}

static enum status leave_all(struct job_io *io, double mean, double deviation, uint64_t *n)
{
    const struct table_chunk *chunk;
    STATUS_TRY(io_again(io, QUERY));
    STATUS_TRY(io_chunk(io, QUERY, &chunk));
    for (*n = 0; chunk != NULL;) {
        if (chunk->n_cells > 0) {
            const size_t more = chunk->n_cells;
            STATUS_TRY(leave(io, chunk, more, mean, deviation, *n > 0));
            *n += more;
        }
        STATUS_TRY(io_chunk(io, QUERY, &chunk));
    }
    return STATUS_OK;
}

static enum status scores_run(struct job_io *io)
{
    const bool has_file = *io->args.params[SCORES_AT].text == '\0';
    uint64_t n, n_again, n_units, n_queries = 1, n_scores = 1;
    double sum, squares, unit;
    STATUS_TRY(add_up(io, VALUES, NULL, &sum, &n));
    STATUS_TRY(add_up(io, UNIT, NULL, &unit, &n_units));
    STATUS_TRY(has_file ? add_up(io, QUERY, NULL, &squares, &n_queries) : STATUS_OK);
    const double mean = sum / (double)n;
    STATUS_TRY(io_again(io, VALUES));
    STATUS_TRY(add_up(io, VALUES, &mean, &squares, &n_again));
    const double deviation = sqrt(squares / (double)n) * (n_units > 0 ? unit : 1);
    STATUS_TRY(has_file ? leave_all(io, mean, deviation, &n_scores)
                        : leave(io, NULL, 1, mean, deviation, false));
    if (n_scores != n_queries || n_again != n) {
        return status_fail(STATUS_INTERNAL, "a part came with another length the second time");
    }
    return seams_end(io->out, "scores", n_scores, 1, n_scores > 0);
}

static const struct stage_part parts[] = {
    [VALUES] = {.suffix = "values", .kind = STAGE_TABLE},
    [UNIT] = {.suffix = "unit", .kind = STAGE_TABLE, .unless = "unit"},
    [QUERY] = {.suffix = "asked", .kind = STAGE_TABLE, .columns = "query_columns", .unless = "at"},
};

const struct stage_ops stage_scores = {
    .name = "scores",
    .parts = parts,
    .n_parts = N_PARTS,
    .specs = specs,
    .n_specs = N_SPECS,
    .plan = scores_plan,
    .run = scores_run,
};
