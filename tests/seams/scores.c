/*
 * scores - standard scores of queries. The mean needs all values, and the squares of what is left
 * need the mean: so the values are read twice. Queries come in the first pass too, where they are
 * only counted, and once more when mean and deviation are known. `at` is a query in place of
 * their file.
 */
#include "tests/seams/seams.h"

#include <math.h>
#include <stdlib.h>

enum { SCORES_COLUMNS, SCORES_AT, N_SPECS };
enum { VALUES, QUERY, N_PARTS };
enum pass { COUNT, SQUARES, SCORES };

struct stage {
    enum pass pass;
    uint64_t n, n_queries, n_scores; /* values, queries, and of these handed out */
    double sum, squares;
    struct column *next;
    const char *at; /* "": there is a file */
    struct stage_input input[N_PARTS];
};

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
};

static enum status scores_plan(const struct stage_args *args, struct stage_need *out)
{
    const struct table_info *const query = args->inputs[QUERY].table;
    if ((query == NULL) != (*args->params[SCORES_AT].text != '\0')) {
        return status_fail(STATUS_INTERNAL, "a job came with a part that it does without, or "
                                            "without one that it needs");
    }
    *out = (struct stage_need){
        .host_bytes = 2 * (args->block_bytes + sizeof(struct column)),
        .estimated =
            args->inputs[VALUES].table->n_lines == 0 || (query != NULL && query->n_lines == 0),
        .rereads = true,
    };
    return STATUS_OK;
}

static enum status scores_open(const struct stage_args *args, struct stage **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for scores");
    }
    (*out)->at = args->params[SCORES_AT].text;
    (*out)->input[VALUES] = args->inputs[VALUES];
    (*out)->input[QUERY] = args->inputs[QUERY];
    return STATUS_OK;
}

static enum status score(struct stage *s, const struct table_chunk *chunk)
{
    const double mean = s->sum / (double)s->n, deviation = sqrt(s->squares / (double)s->n);
    s->next = malloc(sizeof *s->next + chunk->n_cells * sizeof(double));
    if (s->next == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for scores");
    }
    s->next->n = chunk->n_cells;
    s->next->n_columns = 1;
    for (size_t k = 0; k < chunk->n_cells; k++) {
        s->next->values[k] = (seams_cell(&s->input[QUERY], chunk, k) - mean) / deviation;
    }
    return STATUS_OK;
}

static enum status scores_push(struct stage *s, size_t part, const struct table_chunk *chunk,
                               uint64_t *ticket)
{
    *ticket = 0;
    if (s->pass == SCORES) {
        return score(s, chunk);
    }
    if (part == QUERY) {
        s->n_queries += chunk->n_cells;
        return STATUS_OK;
    }
    s->n += s->pass == COUNT ? chunk->n_cells : 0;
    for (size_t k = 0; k < chunk->n_cells; k++) {
        const double x = seams_cell(&s->input[VALUES], chunk, k);
        const double d = s->pass == SQUARES ? x - s->sum / (double)s->n : 0;
        s->sum += s->pass == COUNT ? x : 0;
        s->squares += d * d;
    }
    return STATUS_OK;
}

static enum status scores_portion(struct stage *s, struct result *out, bool *more)
{
    (void)more;
    struct column *next = s->next;
    const bool begun = s->n_scores > 0;
    if (next == NULL || next->n == 0) {
        return STATUS_OK;
    }
    s->next = NULL;
    s->n_scores += next->n;
    return seams_portion(out, "scores", next, begun);
}

static enum status scores_end_pass(struct stage *s, size_t *part)
{
    if (s->pass == COUNT || (s->pass == SQUARES && *s->at == '\0')) {
        s->pass++;
        *part = s->pass == SQUARES ? VALUES : QUERY;
    }
    return STATUS_OK;
}

static enum status scores_finish(struct stage *s, struct result *out, bool *more)
{
    if (*s->at != '\0' && s->n_scores == 0) {
        struct column *const one = malloc(sizeof *one + sizeof(double));
        if (one == NULL) {
            return status_fail(STATUS_NO_MEMORY, "no memory for scores");
        }
        one->n = one->n_columns = s->n_queries = s->n_scores = 1;
        one->values[0] =
            (strtod(s->at, NULL) - s->sum / (double)s->n) / sqrt(s->squares / (double)s->n);
        *more = true;
        return seams_portion(out, "scores", one, false);
    }
    if (s->n_scores != s->n_queries) {
        return status_fail(STATUS_INTERNAL, "a part came with another length the second time");
    }
    return seams_end(out, "scores", s->n_scores, 1, s->n_scores > 0);
}

static void scores_free(struct stage *s)
{
    if (s != NULL) {
        free(s->next);
        free(s);
    }
}

static const struct stage_part parts[] = {
    [VALUES] = {.suffix = "values", .kind = STAGE_TABLE},
    [QUERY] = {.suffix = "asked", .kind = STAGE_TABLE, .columns = "query_columns", .unless = "at"},
};

const struct stage_ops stage_scores = {
    .name = "scores",
    .parts = parts,
    .n_parts = N_PARTS,
    .specs = specs,
    .n_specs = N_SPECS,
    .plan = scores_plan,
    .open = scores_open,
    .push = scores_push,
    .portion = scores_portion,
    .end_pass = scores_end_pass,
    .finish = scores_finish,
    .free = scores_free,
};
