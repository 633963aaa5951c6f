/*
 * interpolate_choice - parameters, and what follows from them and the shape: how many curves there
 * are, where queries come from, how many of them pass at a time, and the memory for all that.
 */
#include "stages/interpolate/interpolate_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    BLOCKS_A_SET = 4, /* of the engine's: values of a linspace that leave at once; of a file one */
    UNIT = 64,        /* queries, so that arrays on the backend begin where they may */
    PIECE_QUERIES = PACK_PIECE_BYTES / (int)sizeof(double),
    GROWING_BYTES = 3 << 20, /* of arrays and files that grow */
    NUMBER = (int)sizeof(double)
};

const struct param_spec interpolate_specs[INTERPOLATE_N_SPECS] = {
    [INTERPOLATE_QUERIES] =
        STAGE_NUMBER(PARAM_NUMBERS, "query", 0, 0, "",
                     "linspace(a, b, n), a:b:step or a, b, ..., in place of X.query.*"),
    [INTERPOLATE_METHOD] =
        STAGE_CHOICE("method", "auto|chebyshev|barycentric|floater-hormann|pchip|spline", "auto",
                     "the curve, or how a polynomial is evaluated"),
    [INTERPOLATE_BLEND] = STAGE_NUMBER(PARAM_COUNT, "blend", 0, INTERPOLATE_MOST_BLENDED, "3",
                                       "degree of what floater-hormann blends"),
    [INTERPOLATE_QUERY_COLUMNS] =
        STAGE_TEXT("query_columns", 4096, "CSV: the column of X.query.* to read"),
    [INTERPOLATE_FIGURE] = STAGE_FIGURE_SPECS(COLOURS_SETS),
};

static bool is_array(const struct table_info *t)
{
    return strncmp(t->format, "np", 2) == 0 || strcmp(t->format, "hdf5") == 0;
}

static enum status choose_nodes(const struct stage_input *in, struct interpolate_choice *c)
{
    const struct table_info *const t = in->table;
    const size_t lines = t->n_lines_estimate;
    c->n_nodes = t->lines_are_columns ? t->cells_per_line : lines;
    const size_t columns = t->lines_are_columns ? lines : t->cells_per_line;
    if (columns < 2 || t->is_flat) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: has one column of numbers; nodes have at least two: x (numbers, or "
                           "dates such as 2024-05-01T12:30), then the y of each curve",
                           in->name);
    }
    c->n_curves = columns - 1;
    return STATUS_OK;
}

static enum status choose_queries(const struct stage_input *in, const struct numbers *line,
                                  struct interpolate_choice *c)
{
    const struct table_info *const t = in->table;
    if (line->n > 0) {
        c->line = *line;
        c->query_type = DTYPE_F64;
        c->n_queries = c->n_about = c->line.n;
        return STATUS_OK;
    }
    if (t == NULL) {
        return status_fail(STATUS_INTERNAL, "a job came without queries");
    }
    const bool is_column = t->cells_per_line == 1 || (is_array(t) && t->n_lines == 1);
    if (!is_column && is_array(t)) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: has %zu columns of numbers; queries are one column: save that "
                           "column alone",
                           in->name,
                           t->lines_are_columns ? t->n_lines_estimate : t->cells_per_line);
    }
    if (!is_column) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: has %zu columns of numbers; queries are one column: choose it with "
                           "query_columns=NAME or its number: -s query_columns=%zu, or another one",
                           in->name, t->cells_per_line, table_column(t, 0) + 1);
    }
    c->query_type = t->dtype;
    c->n_queries = (uint64_t)t->n_lines * t->cells_per_line;
    c->n_about = (uint64_t)t->n_lines_estimate * t->cells_per_line;
    return STATUS_OK;
}

static enum interpolate_method asked_of(const struct stage_args *args)
{
    return (enum interpolate_method)args->params[INTERPOLATE_METHOD].index;
}

/* Both are dates, or none is. */
static enum status choose_dates(const struct stage_args *args, struct interpolate_choice *c)
{
    const struct stage_input *const nodes = &args->inputs[INTERPOLATE_NODES],
                                    *const query = &args->inputs[INTERPOLATE_QUERY];
    const bool is_line = c->line.n > 0;
    const bool are = is_line ? c->line.are_dates : query->table->has_dates;
    c->are_dates = nodes->table->has_dates;
    return are == c->are_dates
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT,
                             "%s: x of the nodes are %s, but the queries%s%s are %s; write both as "
                             "dates, such as 2024-05-01T12:30:00Z, or both as numbers",
                             nodes->name, are ? "numbers" : "dates", is_line ? "" : " of ",
                             is_line ? "" : query->name, are ? "dates" : "numbers");
}

enum status interpolate_too_many(const struct stage_args *args)
{
    const size_t most = interpolate_most_nodes(asked_of(args));
    const bool are_pieces = most > INTERPOLATE_MOST_NODES;
    return status_fail(STATUS_TOO_LARGE,
                       "%s: has more than %zu nodes, the most of %s; %sinterpolate a part of them, "
                       "or every few",
                       args->inputs[INTERPOLATE_NODES].name, most,
                       are_pieces ? "a curve" : "a polynomial that can be set up",
                       are_pieces ? "" : "take method=pchip or method=spline, ");
}

/* What is not counted by the list itself; from numbers that are no larger than 2^64 when their
 * product is. */
static void count_others(const struct interpolate_choice *c, struct room *room)
{
    const uint64_t n = c->n_nodes, curves = c->n_curves, cells = n * (1 + curves);
    const struct interpolate_setup_bytes setup =
        interpolate_setup_bytes(c->asked, c->n_nodes, c->n_curves);
    const struct interpolate_picture_bytes picture = interpolate_picture_bytes(c);
    const size_t swing = interpolate_swing_bytes(c->n_curves);
    room_count(room, 3 * cells * NUMBER + 40 * n, 0); /* as they came, sorted, growing; lines */
    room_count(room, c->about_text * (1 + curves) * NUMBER + GROWING_BYTES, 0);
    room_count(room, (c->n_sets + 1) * (c->rest_x + c->rest_y), 0);
    room_count(room, setup.host + picture.host + swing, setup.backend + picture.backend + swing);
}

enum status interpolate_room(struct interpolate_job *job, struct room *room)
{
    const struct interpolate_choice *const c = &job->choice;
    const bool is_line = c->line.n > 0;
    struct span x = {0}, y;
    count_others(c, room);
    job->rows = (struct rows){.part = INTERPOLATE_QUERY, .width = 1, .type = c->query_type};
    STATUS_TRY(is_line ? room_pinned(room, c->set_queries, NUMBER, &job->host)
                       : rows_room(&job->rows, room));
    STATUS_TRY(room_span(room, 1, sizeof(struct interpolate_counts), &job->counts));
    STATUS_TRY(room_host(room, c->n_sets, sizeof *job->sets, &job->sets));
    for (size_t k = 0; k < c->n_sets; k++) {
        if (k == 0 || !is_line) {
            STATUS_TRY(room_span(room, c->set_queries, dtype_bytes(c->query_type), &x));
        }
        STATUS_TRY(room_span(room, c->set_queries, c->n_curves * NUMBER, &y));
        if (job->sets != NULL) {
            job->sets[k] = (struct interpolate_set){.x = x, .y = y};
        }
    }
    return STATUS_OK;
}

/* About as much of an array as is kept. */
static size_t rest_of(uint64_t n, size_t bytes)
{
    return n < PACK_PIECE_BYTES / bytes ? (size_t)n * bytes : PACK_PIECE_BYTES;
}

/* Of a linspace, as many as leave three quarters of the memory to all else: on their way to the
 * backend, there, and the values of two sets. */
static size_t most_of_line(const struct stage_args *args, const struct interpolate_choice *c)
{
    const uint64_t most = args->memory_limit / 4 / ((2 + 2 * c->n_curves) * NUMBER);
    return args->memory_limit == 0 || most > SIZE_MAX ? SIZE_MAX
                                                      : (size_t)most / UNIT * UNIT + UNIT;
}

/* Values leave in units of some blocks' bytes: of whole pieces where there is one, so that little
 * is kept, and of whole ones of 64 queries. */
static void choose_buffers(const struct stage_args *args, struct interpolate_choice *c)
{
    const size_t room = (c->line.n > 0 ? BLOCKS_A_SET : 1) * args->block_bytes,
                 of_values = c->n_curves * NUMBER;
    const size_t most =
        c->n_queries != 0 && c->n_queries < SIZE_MAX ? (size_t)c->n_queries : SIZE_MAX;
    c->set_queries = room / of_values / UNIT * UNIT + UNIT;
    if (c->line.n > 0) {
        const size_t most_a_set = most_of_line(args, c);
        c->set_queries = c->set_queries < most_a_set ? c->set_queries : most_a_set;
    }
    if (c->set_queries > PIECE_QUERIES) {
        c->set_queries -= c->set_queries % PIECE_QUERIES;
    }
    c->set_queries = c->set_queries < most ? c->set_queries : most;
    c->n_sets = 2;
    c->rest_x = c->line.n > 0 ? 0 : rest_of(c->n_about, dtype_bytes(c->query_type));
    c->rest_y = rest_of(c->n_about, c->n_curves * NUMBER);
    c->most_text = INTERPOLATE_CSV_POINTS / c->n_curves;
    c->about_text = c->n_queries > c->most_text ? 0
                    : c->n_about < c->most_text ? (size_t)c->n_about
                                                : c->most_text;
}

/* Two, and more in half of what these leave. */
static uint64_t sets_within(uint64_t limit, uint64_t taken, uint64_t each)
{
    return 2 + (limit > taken ? (limit - taken) / 2 / each : 0);
}

/* How many sets there is memory for, beside what two of them take with all else. */
static uint64_t room_of_sets(const struct stage_args *args, const struct room *two,
                             const struct interpolate_choice *c)
{
    const uint64_t x = c->line.n > 0 ? 0 : c->set_queries * dtype_bytes(c->query_type),
                   backend = x + c->set_queries * c->n_curves * NUMBER,
                   host = c->rest_x + c->rest_y;
    if (args->host_limit == 0) {
        return sets_within(args->memory_limit, two->backend + two->host, backend + host);
    }
    const uint64_t of_backend = sets_within(args->memory_limit, two->backend, backend),
                   of_host = sets_within(args->host_limit, two->host, host + 1);
    return of_backend < of_host ? of_backend : of_host;
}

/* One set is computed while the pieces of the others keep the threads that deflate them busy, and
 * as many wait to be written. No more than there are sets of queries; two are counted: the others
 * take half of what those leave at most. Those that are open stay. */
static enum status choose_n_sets(const struct stage_args *args, struct interpolate_choice *c)
{
    struct interpolate_job job = {.args = *args, .choice = *c};
    struct room two = {0};
    STATUS_TRY(interpolate_room(&job, &two));
    const uint64_t x = c->line.n > 0 ? 0 : c->set_queries * dtype_bytes(c->query_type),
                   y = (uint64_t)c->set_queries * c->n_curves * NUMBER,
                   pieces = (x + PACK_PIECE_BYTES - 1) / PACK_PIECE_BYTES +
                            (y + PACK_PIECE_BYTES - 1) / PACK_PIECE_BYTES;
    const uint64_t wanted = (2 * args->n_threads + pieces - 1) / pieces + 2,
                   there = c->n_about / c->set_queries + 1, room = room_of_sets(args, &two, c);
    uint64_t n = wanted < there ? wanted : there;
    n = n < room ? n : room;
    n = args->n_results > 0 ? args->n_results : n;
    c->n_sets = n > 2 ? (size_t)n : 2;
    return STATUS_OK;
}

enum status interpolate_choose(const struct stage_args *args, struct interpolate_choice *c)
{
    const struct stage_input *const nodes = &args->inputs[INTERPOLATE_NODES];
    *c = (struct interpolate_choice){.asked = asked_of(args),
                                     .blend = (size_t)args->params[INTERPOLATE_BLEND].count,
                                     .figure = stage_figure(&args->params[INTERPOLATE_FIGURE])};
    STATUS_TRY(choose_nodes(nodes, c));
    STATUS_TRY(choose_queries(&args->inputs[INTERPOLATE_QUERY],
                              &args->params[INTERPOLATE_QUERIES].numbers, c));
    STATUS_TRY(choose_dates(args, c));
    size_t numbers;
    const bool known = nodes->table->n_lines != 0;
    const size_t most = interpolate_most_nodes(c->asked);
    if ((known && c->n_nodes > most) ||
        __builtin_mul_overflow(c->n_nodes, c->n_curves + 1, &numbers) ||
        numbers > SIZE_MAX / 4096) {
        return interpolate_too_many(args);
    }
    c->n_nodes = c->n_nodes < most ? c->n_nodes : most;
    choose_buffers(args, c);
    return choose_n_sets(args, c);
}

const char *interpolate_x(const struct interpolate_job *job, double x,
                          char room[INTERPOLATE_X_BYTES])
{
    if (job->choice.are_dates) {
        return moment_text(x, room);
    }
    snprintf(room, INTERPOLATE_X_BYTES, "%.6g", x);
    return room;
}

const char *interpolate_kind(const struct interpolate_job *job, char room[INTERPOLATE_KIND_BYTES])
{
    const enum interpolate_method method = job->setup.method;
    if (method == INTERPOLATE_PCHIP || method == INTERPOLATE_SPLINE) {
        return method == INTERPOLATE_PCHIP ? "PCHIP curve" : "cubic spline";
    }
    snprintf(room, INTERPOLATE_KIND_BYTES, "%s of degree %zu",
             job->setup.nodes.is_rational ? "Floater-Hormann function" : "polynomial",
             job->setup.degree);
    return room;
}

const char *interpolate_name(const struct interpolate_job *job, size_t curve,
                             char room[INTERPOLATE_NAME_BYTES])
{
    const struct table_info *const t = job->args.inputs[INTERPOLATE_NODES].table;
    if (t->names != NULL && !t->lines_are_columns && t->names[curve + 1][0] != '\0') {
        return t->names[curve + 1];
    }
    snprintf(room, INTERPOLATE_NAME_BYTES, "y%zu", curve + 1);
    return room;
}

/* A term a node for every query and curve; of pieces, some in all. */
double interpolate_work(const struct stage_args *args)
{
    struct interpolate_choice c = {.n_nodes = 0};
    if (choose_nodes(&args->inputs[INTERPOLATE_NODES], &c) != STATUS_OK ||
        choose_queries(&args->inputs[INTERPOLATE_QUERY], &args->params[INTERPOLATE_QUERIES].numbers,
                       &c) != STATUS_OK) {
        return 0; /* plan() says what is wrong */
    }
    const bool are_pieces = interpolate_most_nodes(asked_of(args)) > INTERPOLATE_MOST_NODES;
    return (are_pieces ? 16 : (double)c.n_nodes) * (double)c.n_curves * (double)c.n_about;
}
