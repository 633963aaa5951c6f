/*
 * interpolate_nodes - gathers the nodes' numbers as they come, and has made of them what queries
 * need.
 *
 * A row of text is named by its line of the file, where each stands on a line of its own (no cell
 * holds a line break); a row of an array by its number.
 */
#include "stages/interpolate/interpolate_job.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct stage_input *input_of(const struct interpolate_job *job)
{
    return &job->args.inputs[INTERPOLATE_NODES];
}

static size_t columns_of(const struct interpolate_job *job)
{
    return job->choice.n_curves + 1;
}

/* --- as they come ----------------------------------------------------------------------------- */

static enum status grow(struct interpolate_job *job, size_t more)
{
    if (more <= job->room - job->n_cells) {
        return STATUS_OK;
    }
    const size_t room = job->n_cells + more + job->room / 2;
    double *const cells = reallocarray(job->cells, room, sizeof *cells);
    if (cells == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu numbers of nodes", room);
    }
    job->cells = cells;
    job->room = room;
    if (strcmp(input_of(job)->table->format, "csv") != 0) {
        return STATUS_OK;
    }
    uint64_t *const lines = reallocarray(job->lines, room / columns_of(job) + 1, sizeof *lines);
    if (lines == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the lines of %zu nodes", room);
    }
    job->has_lines = job->lines != NULL ? job->has_lines : true;
    job->lines = lines;
    return STATUS_OK;
}

struct row_name {
    char text[48];
};

/* What a row, from 0, is called. */
static struct row_name name_of(const struct interpolate_job *job, size_t row)
{
    struct row_name name;
    if (job->has_lines) {
        snprintf(name.text, sizeof name.text, "line %" PRIu64, job->lines[row]);
    } else {
        snprintf(name.text, sizeof name.text, "row %zu", row + 1);
    }
    return name;
}

static size_t row_of(const struct interpolate_job *job, size_t cell)
{
    const size_t n = input_of(job)->table->cells_per_line;
    return input_of(job)->table->lines_are_columns ? cell % n : cell / n;
}

static enum status fail_cell(const struct interpolate_job *job, size_t cell)
{
    const struct table_info *const t = input_of(job)->table;
    const size_t column =
        t->lines_are_columns ? cell / t->cells_per_line : cell % t->cells_per_line;
    char room[INTERPOLATE_NAME_BYTES];
    const char *const name = column == 0 ? "x" : interpolate_name(job, column - 1, room);
    const bool is_missing = isnan(job->cells[cell]);
    return status_fail(STATUS_BAD_INPUT, "%s: %s: %.80s is %s; every node needs all its numbers",
                       input_of(job)->name, name_of(job, row_of(job, cell)).text, name,
                       is_missing ? "missing" : "infinite");
}

/* Notes the lines on which the rows that begin in the chunk stand, if lines and rows agree. */
static void follow_lines(struct interpolate_job *job, const struct table_chunk *chunk)
{
    const size_t width = input_of(job)->table->cells_per_line;
    size_t skip = 0, breaks = 0;
    uint64_t line = chunk->first_line;
    for (size_t i = 0; i < chunk->n_cells && job->has_lines; i++) {
        for (; skip < chunk->n_skips && chunk->skips[skip].n_cells <= i; skip++) {
            line += chunk->skips[skip].n_lines;
        }
        const size_t cell = job->n_cells + i;
        if (cell % width == 0) {
            job->lines[cell / width] = line;
        }
        line += cell % width == width - 1;
    }
    for (; skip < chunk->n_skips; skip++) {
        line += chunk->skips[skip].n_lines;
    }
    for (size_t i = 0; i < chunk->raw_len; i++) {
        breaks += chunk->raw[i] == '\n';
    }
    const bool ends = chunk->raw_len == 0 || chunk->raw[chunk->raw_len - 1] == '\n';
    const uint64_t passed = line - chunk->first_line;
    job->has_lines = job->has_lines && (breaks == passed || (!ends && breaks + 1 == passed));
}

enum status interpolate_nodes_add(struct interpolate_job *job, const struct table_chunk *chunk)
{
    const size_t begin = job->n_cells,
                 most = interpolate_most_nodes(job->choice.asked) * columns_of(job);
    if (chunk->n_cells > most - begin) {
        return interpolate_too_many(&job->args);
    }
    STATUS_TRY(grow(job, chunk->n_cells));
    follow_lines(job, chunk);
    for (size_t i = 0; i < chunk->n_cells; i++) {
        job->cells[begin + i] = dtype_real(input_of(job)->table->dtype, chunk->values, i);
    }
    job->n_cells += chunk->n_cells;
    for (size_t i = begin; i < job->n_cells; i++) {
        if (!isfinite(job->cells[i])) {
            return fail_cell(job, i);
        }
    }
    return STATUS_OK;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Column `column` of the table, in the order of the file. */
static void take_column(const struct interpolate_job *job, size_t column, double *out)
{
    const bool by_columns = input_of(job)->table->lines_are_columns;
    for (size_t i = 0; i < job->n; i++) {
        out[i] =
            by_columns ? job->cells[column * job->n + i] : job->cells[i * columns_of(job) + column];
    }
}

/* raw: x, then each y, in the order of the file. */
static enum status set_up(struct interpolate_job *job, const double *raw)
{
    const struct interpolate_request request = {
        .x = raw,
        .y = raw + job->n,
        .n = job->n,
        .n_curves = job->choice.n_curves,
        .method = job->choice.asked,
        .n_queries = job->choice.n_about != 0 ? job->choice.n_about : UINT64_MAX,
        .degree = job->choice.asked == INTERPOLATE_FLOATER_HORMANN ? job->choice.blend : 0,
        .executor = job->args.executor};
    const enum status st = interpolate_setup_new(job->queue, &request, &job->setup);
    const size_t *const same = job->setup.same;
    if (st == STATUS_BAD_INPUT && same[1] > same[0]) {
        char x[INTERPOLATE_X_BYTES];
        snprintf(x, sizeof x, "%.17g", raw[same[0]]);
        return status_fail(st, "%s: %s has the same x as %s (%s); a curve has one y for each x",
                           input_of(job)->name, name_of(job, same[1]).text,
                           name_of(job, same[0]).text,
                           job->choice.are_dates ? interpolate_x(job, raw[same[0]], x) : x);
    }
    if (st == STATUS_BAD_INPUT) {
        char why[STATUS_MESSAGE_BYTES];
        snprintf(why, sizeof why, "%s", status_message());
        return status_fail(st, "%s: %s", input_of(job)->name, why);
    }
    return st;
}

enum status interpolate_nodes_ready(struct interpolate_job *job)
{
    job->n = job->n_cells / columns_of(job);
    if (job->n == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: no row holds numbers", input_of(job)->name);
    }
    double *raw;
    STATUS_TRY(room_host(&job->io->room, job->n, columns_of(job) * sizeof *raw, &raw));
    for (size_t c = 0; c < columns_of(job); c++) {
        take_column(job, c, raw + c * job->n);
    }
    free(job->cells);
    job->cells = NULL;
    STATUS_TRY(set_up(job, raw));
    room_give_back(&job->io->room, raw);
    job->x = job->setup.x;
    job->y = job->setup.y;
    return STATUS_OK;
}
