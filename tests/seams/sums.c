/*
 * sums - running sums of each column. What a block brings leaves as a portion, so memory does not
 * grow with the file. A block may end within a line: portions hold whole lines.
 */
#include "tests/seams/seams.h"

#include <stdlib.h>

enum { SUMS_TITLE };

struct stage {
    struct stage_input input;
    size_t n_columns;
    uint64_t n_lines;    /* handed out */
    double *sums;        /* [n_columns] of all cells so far */
    struct column *next; /* lines that are waiting to be handed out, and the begin of one */
    size_t room;         /* numbers that `next` holds at most */
};

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
    *out = (struct stage_need){.host_bytes = t->cells_per_line * sizeof(double) +
                                             3 * (args->block_bytes + sizeof(struct column)),
                               .estimated = t->n_lines == 0};
    return STATUS_OK;
}

static void sums_free(struct stage *s)
{
    if (s != NULL) {
        free(s->sums);
        free(s->next);
        free(s);
    }
}

static enum status sums_open(const struct stage_args *args, struct stage **out)
{
    struct stage *s = calloc(1, sizeof *s);
    *out = NULL;
    if (s != NULL) {
        *s = (struct stage){.input = args->inputs[0],
                            .n_columns = args->inputs[0].table->cells_per_line,
                            .sums = calloc(args->inputs[0].table->cells_per_line, sizeof(double))};
    }
    if (s == NULL || s->sums == NULL) {
        sums_free(s);
        return status_fail(STATUS_NO_MEMORY, "no memory for sums");
    }
    *out = s;
    return STATUS_OK;
}

static enum status grow(struct stage *s, size_t more)
{
    const size_t n = s->next != NULL ? s->next->n : 0;
    if (n + more > s->room) {
        struct column *next = realloc(s->next, sizeof *next + (n + more) * sizeof(double));
        if (next == NULL) {
            return status_fail(STATUS_NO_MEMORY, "no memory for sums");
        }
        next->n = n;
        next->n_columns = s->n_columns;
        s->next = next;
        s->room = n + more;
    }
    return STATUS_OK;
}

static enum status sums_push(struct stage *s, size_t part, const struct table_chunk *chunk,
                             uint64_t *ticket)
{
    (void)part;
    *ticket = 0;
    const enum status st = grow(s, chunk->n_cells);
    if (st != STATUS_OK) {
        return st;
    }
    for (size_t k = 0; k < chunk->n_cells; k++) {
        double *sum = &s->sums[s->next->n % s->n_columns];
        *sum += seams_cell(&s->input, chunk, k);
        s->next->values[s->next->n++] = *sum;
    }
    return STATUS_OK;
}

static enum status sums_portion(struct stage *s, struct result *out, bool *more)
{
    (void)more;
    struct column *full = s->next;
    const size_t left = full->n % s->n_columns, n_lines = full->n / s->n_columns;
    const bool begun = s->n_lines > 0;
    if (n_lines == 0) {
        return STATUS_OK;
    }
    s->next = NULL;
    s->room = 0;
    const enum status st = grow(s, left);
    if (st != STATUS_OK) {
        free(full);
        return st;
    }
    full->n -= left;
    for (size_t i = 0; i < left; i++) {
        s->next->values[s->next->n++] = full->values[full->n + i];
    }
    s->n_lines += n_lines;
    return seams_portion(out, "sums", full, begun);
}

static enum status sums_finish(struct stage *s, struct result *out, bool *more)
{
    (void)more;
    return seams_end(out, "sums", s->n_lines, s->n_columns, s->n_lines > 0);
}

static const struct stage_part parts[] = {{.suffix = "numbers", .kind = STAGE_TABLE}};

const struct stage_ops stage_sums = {
    .name = "sums",
    .parts = parts,
    .n_parts = 1,
    .specs = specs,
    .n_specs = 1,
    .plan = sums_plan,
    .open = sums_open,
    .push = sums_push,
    .portion = sums_portion,
    .finish = sums_finish,
    .free = sums_free,
};
