/*
 * The stage `interpolate` without an engine: what it makes of chunks cut anywhere, how long pieces
 * of a portion stay, what it takes of memory, and that it ends well where memory or patience does.
 * Runs on the backend that $LEAT_TEST_BACKEND names. The numbers themselves are held against 200
 * decimal digits in tests/scenarios/interpolate.py.
 * ctest: wrap=figure_text,figure_text_up,figure_text_turned
 */
#include "kernels/interpolate/interpolate.h"
#include "stages/base/pull.h"
#include "tests/support/counted_backend.h"
#include "tests/support/drawn_texts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 23, CURVES = 2, QUERIES = 3000, BLOCK = 4096, MOST_WAITING = 64 };

/* A job: nodes in rows, queries, and how they are cut. */
struct sheet {
    struct table_info nodes, queries;
    double cells[NODES * (1 + CURVES)];
    const double *many; /* [NODES][101] in their place; or NULL */
    double query[QUERIES];
    const double *queries_of; /* n_many in their place; or NULL */
    size_t n_many;
    const char *params[4];
    size_t cut_nodes, cut_queries; /* cells of a chunk */
    bool with_comments;            /* a chunk without numbers comes before each of them */
    size_t n_threads;
    uint64_t memory_limit;
};

/* Portions that have been handed out and not been read, oldest first. */
struct waiting {
    struct result at[MOST_WAITING];
    size_t n, most; /* most: before the oldest is read; it is at least 1 */
};

/* What came out, portion after portion. */
struct outcome {
    enum status status;
    char message[STATUS_MESSAGE_BYTES];
    struct stage_need need;
    struct bytes x, y;
    size_t n_portions;
    size_t n_begun; /* arrays whose shape came before their first portion */
    struct result last;
    struct pull *stage;
};

static struct sheet sheet_of(const char *query)
{
    struct sheet s = {.nodes = {.format = "npy",
                                .dtype = DTYPE_F64,
                                .n_lines = NODES,
                                .n_lines_estimate = NODES,
                                .cells_per_line = 1 + CURVES},
                      .queries = {.format = "csv",
                                  .dtype = DTYPE_F64,
                                  .n_lines_estimate = QUERIES / 2,
                                  .cells_per_line = 1},
                      .params = {query},
                      .cut_nodes = NODES * (1 + CURVES),
                      .cut_queries = BLOCK / sizeof(double)};
    for (size_t i = 0; i < NODES; i++) {
        const double x = cos((2 * (double)i + 1) * 3.14159265358979 / (2 * NODES));
        s.cells[3 * i] = x;
        s.cells[3 * i + 1] = x * x * x;
        s.cells[3 * i + 2] = 7;
    }
    for (size_t i = 0; i < QUERIES; i++) {
        s.query[i] = sin((double)i * 0.7);
    }
    return s;
}

/* The raw bytes of a growing array in a portion; whole pieces, but in the last one. */
static void take_member(const struct result_member *m, bool last, struct bytes *out)
{
    for (uint64_t p = 0; p < m->n_pieces; p++) {
        struct bytes piece = {0};
        assert_int_equal(m->piece(m->context, p, &piece), STATUS_OK);
        assert_true(last || piece.len == PACK_PIECE_BYTES);
        assert_int_equal(bytes_append(out, piece.data, piece.len), STATUS_OK);
        bytes_free(&piece);
    }
}

/* The numbers of an array that leaves whole, in the end. */
static void take_array(const struct result_member *m, struct bytes *out)
{
    struct bytes whole = {0};
    take_member(m, true, &whole);
    const size_t head = 10 + (whole.data[8] | (size_t)whole.data[9] << 8);
    assert_int_equal(bytes_append(out, whole.data + head, whole.len - head), STATUS_OK);
    bytes_free(&whole);
}

static void take_members(const struct result *portion, bool last, struct outcome *o)
{
    const struct result_file *const f = &portion->files[0];
    assert_int_equal(f->more, !last);
    for (size_t k = 0; k < f->n_members; k++) {
        if (f->members[k].growth == RESULT_PORTION) {
            const bool is_x = strcmp(f->members[k].name, "x.npy") == 0;
            assert_true(is_x || strcmp(f->members[k].name, "y.npy") == 0);
            take_member(&f->members[k], last, is_x ? &o->x : &o->y);
        } else if (f->members[k].growth == RESULT_BEGIN) {
            assert_true(o->y.len == 0 && k + 1 < f->n_members &&
                        f->members[k + 1].growth == RESULT_PORTION);
            o->n_begun++;
        } else if (strcmp(f->members[k].name, "x.npy") == 0 &&
                   f->members[k].growth == RESULT_WHOLE) {
            take_array(&f->members[k], &o->x);
        }
    }
}

static void read_oldest(struct outcome *o, struct waiting *w)
{
    take_members(&w->at[0], false, o);
    result_free(&w->at[0]);
    w->n--;
    memmove(&w->at[0], &w->at[1], w->n * sizeof w->at[0]);
}

/* Reads the pieces of a portion as late as they may be: when the stage has made all that may be on
 * their way. */
static void take_portion(struct outcome *o, struct waiting *w, struct result *next)
{
    assert_in_range(w->most, 1, MOST_WAITING - 1);
    o->n_portions++;
    w->at[w->n++] = *next;
    *next = (struct result){0};
    if (w->n > w->most) {
        read_oldest(o, w);
    }
}

static void drop_waiting(struct waiting *w)
{
    while (w->n > 0) {
        result_free(&w->at[--w->n]);
    }
}

static enum status portions(struct outcome *o, struct waiting *waiting)
{
    for (bool more = true; more;) {
        struct result next = {0};
        more = false;
        const enum status st = pull_portion(o->stage, &next, &more);
        if (st != STATUS_OK) {
            result_free(&next);
            return st;
        }
        if (next.n_files > 0) {
            take_portion(o, waiting, &next);
        }
    }
    return STATUS_OK;
}

/* A chunk of a text's lines that hold no numbers. */
static enum status push_comment(struct outcome *o, size_t part, struct waiting *waiting)
{
    const struct table_chunk chunk = {.n_cells = 0};
    uint64_t ticket;
    STATUS_TRY(pull_push(o->stage, part, &chunk, &ticket));
    STATUS_TRY(counted.ops.upload_wait(counted.queue, ticket));
    return portions(o, waiting);
}

static enum status push(const struct sheet *s, struct outcome *o, size_t part,
                        struct waiting *waiting)
{
    const double *nodes = s->many != NULL ? s->many : s->cells;
    const double *queries = s->queries_of != NULL ? s->queries_of : s->query;
    const double *cells = part == 0 ? nodes : queries;
    const size_t n_nodes = s->many != NULL ? NODES * 101 : NODES * (1 + CURVES),
                 n_queries = s->queries_of != NULL ? s->n_many : QUERIES,
                 n = part == 0 ? n_nodes : n_queries;
    const size_t cut = part == 0 ? s->cut_nodes : s->cut_queries;
    for (size_t first = 0; first < n; first += cut) {
        const size_t more = n - first < cut ? n - first : cut;
        struct table_chunk chunk = {.n_cells = more, .values = malloc(more * sizeof(double))};
        uint64_t ticket;
        assert_non_null(chunk.values);
        assert_true(!s->with_comments || push_comment(o, part, waiting) == STATUS_OK);
        memcpy(chunk.values, cells + first, more * sizeof(double));
        enum status st = pull_push(o->stage, part, &chunk, &ticket);
        const bool pushed = st == STATUS_OK;
        st = pushed ? counted.ops.upload_wait(counted.queue, ticket) : st;
        st = st == STATUS_OK ? portions(o, waiting) : st;
        memset(chunk.values, 0xaa, more * sizeof(double)); /* the engine takes it back */
        free(chunk.values);
        if (st != STATUS_OK) {
            return st;
        }
    }
    return STATUS_OK;
}

static enum status finish(struct outcome *o, struct waiting *waiting)
{
    for (bool more = true; more;) {
        struct result next;
        assert_int_equal(result_init(&next), STATUS_OK);
        more = false;
        const enum status st = pull_finish(o->stage, &next, &more);
        if (st != STATUS_OK) {
            result_free(&next);
            return st;
        }
        if (more) {
            take_portion(o, waiting, &next);
        } else {
            o->last = next;
        }
    }
    while (waiting->n > 0) {
        read_oldest(o, waiting);
    }
    take_members(&o->last, true, o);
    return STATUS_OK;
}

static size_t n_jobs; /* that have not been freed */

/* Runs a job; outcome_free in any case. */
static struct outcome run_sheet(const struct sheet *s)
{
    n_jobs++;
    struct outcome o = {0};
    struct param_value params[MOST_SPECS];
    parse_params(&stage_interpolate, s->params, params);
    const struct stage_part *parts[STAGE_MAX_PARTS];
    const bool has_line = stage_parts(&stage_interpolate, params, parts) == 1;
    const struct stage_args args = {
        .queue = counted.queue,
        .params = params,
        .inputs = {{&s->nodes, "x.nodes.npy"}, {has_line ? NULL : &s->queries, "x.query.csv"}},
        .block_bytes = BLOCK,
        .n_threads = s->n_threads,
        .memory_limit = s->memory_limit};
    struct waiting waiting = {.n = 0};
    counted.allocs = 0;
    counted.peak_bytes = 0;
    o.status = stage_interpolate.plan(&args, &o.need);
    waiting.most = o.need.n_results - 1;
    if (o.status == STATUS_OK) {
        o.status = pull_open(&stage_interpolate, &args, &o.stage);
    }
    if (o.status == STATUS_OK) {
        o.status = push(s, &o, 0, &waiting);
    }
    if (o.status == STATUS_OK && !has_line) {
        o.status = push(s, &o, 1, &waiting);
    }
    if (o.status == STATUS_OK) {
        o.status = finish(&o, &waiting);
    }
    if (o.status != STATUS_OK) {
        snprintf(o.message, sizeof o.message, "%s", status_message());
    }
    drop_waiting(&waiting);
    return o;
}

static struct outcome run_well(const struct sheet *s)
{
    struct outcome o = run_sheet(s);
    if (o.status != STATUS_OK) {
        fail_msg("%s", o.message);
    }
    return o;
}

static void outcome_free(struct outcome *o)
{
    bytes_free(&o->x);
    bytes_free(&o->y);
    result_free(&o->last);
    pull_free(o->stage);
    *o = (struct outcome){0};
    assert_true(--n_jobs > 0 || counted.live == 0);
}

static void assert_same(const struct bytes *a, const struct bytes *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void queries_leave_as_they_came_each_with_the_values_of_all_curves(void **state)
{
    (void)state;
    struct sheet s = sheet_of(NULL);
    struct outcome o = run_well(&s);
    assert_int_equal(o.x.len, sizeof s.query);
    assert_memory_equal(o.x.data, s.query, sizeof s.query);
    assert_int_equal(o.y.len, CURVES * sizeof s.query);
    const double *y = (const double *)(const void *)o.y.data;
    for (size_t i = 0; i < QUERIES; i++) {
        const double x = s.query[i];
        /* the bound: 50 u sum |l_j y_j| <= 50 u (Lebesgue constant) max |y|; of cubes 1, of 23
         * Chebyshev nodes below 3 between the nodes, and not far beyond them below 1000 */
        assert_true(fabs(y[CURVES * i] - x * x * x) <= 50 * 0x1p-53 * 1000);
        assert_true(fabs(y[CURVES * i + 1] - 7) <= 50 * 0x1p-53 * 7000);
    }
    outcome_free(&o);
}

static void bits_do_not_depend_on_where_chunks_are_cut(void **state)
{
    static const size_t cuts[][2] = {{1, 1}, {2, 7}, {3, 511}, {68, 64}, {69, 512}};
    static const char *const methods[] = {"method=chebyshev", "method=barycentric"};
    (void)state;
    for (size_t m = 0; m < 2; m++) {
        struct sheet s = sheet_of(methods[m]);
        struct outcome first = run_well(&s);
        for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
            s.cut_nodes = cuts[k][0];
            s.cut_queries = cuts[k][1];
            struct outcome o = run_well(&s);
            assert_same(&first.x, &o.x);
            assert_same(&first.y, &o.y);
            outcome_free(&o);
        }
        outcome_free(&first);
    }
}

/* As many as are kept, whatever comes at once: pieces are held against the numbers as late as they
 * may be read. */
static void pieces_end_at_the_same_places_wherever_chunks_are_cut(void **state)
{
    enum { N = 700000 }; /* 5 pieces of x and 10 of y, and more */
    static const size_t cuts[] = {512, 100, 513};
    (void)state;
    double *const queries = malloc(N * sizeof *queries);
    assert_non_null(queries);
    struct sheet line = sheet_of("query=linspace(-1, 1, 700000)");
    line.params[1] = "method=chebyshev";
    struct outcome all = run_well(&line);
    assert_int_equal(all.x.len, N * sizeof *queries);
    memcpy(queries, all.x.data, all.x.len);
    assert_int_equal(all.n_portions, 10);
    assert_in_range(counted.peak_bytes, 1, all.need.memory_bytes + all.need.host_bytes);
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        struct sheet s = sheet_of("method=chebyshev");
        s.queries_of = queries;
        s.n_many = N;
        s.cut_queries = cuts[k];
        if (k > 0) { /* more sets in turn */
            s.n_threads = 4;
            s.memory_limit = UINT64_C(1) << 30;
            s.queries.n_lines_estimate = N;
        }
        struct outcome o = run_well(&s);
        assert_int_equal(o.need.n_results, k == 0 ? 2 : 6);
        assert_int_equal(o.n_portions, 10);
        assert_same(&all.x, &o.x);
        assert_same(&all.y, &o.y);
        outcome_free(&o);
    }
    outcome_free(&all);
    free(queries);
}

/* Threads that deflate find as many pieces, and as many again wait to be written. */
static void sets_are_as_many_as_threads_keep_busy_and_memory_holds(void **state)
{
    static const char *const queries[] = {"method=chebyshev", "query=linspace(-1, 1, 12000)"};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct sheet s = sheet_of(queries[k]);
        s.cut_queries = 100;
        struct outcome two = run_well(&s);
        assert_int_equal(two.need.n_results, 2);
        s.n_threads = 4; /* a portion of few queries has a piece of y, and one of x from a file */
        s.memory_limit = UINT64_C(1) << 30;
        struct outcome o = run_well(&s);
        /* of the text 1500 queries are expected, 320 a set; of the linspace 12000 come, 1088 a set
         */
        assert_int_equal(o.need.n_results, k == 0 ? 5 : 10);
        assert_in_range(counted.peak_bytes, 1, o.need.memory_bytes + o.need.host_bytes);
        assert_same(&two.x, &o.x);
        assert_same(&two.y, &o.y);
        outcome_free(&o);
        s.memory_limit = 1 << 16;
        o = run_well(&s);
        assert_int_equal(o.need.n_results, 2);
        outcome_free(&o);
        outcome_free(&two);
    }
}

/* A plan for more nodes than were estimated counts the sets that are open: no fewer, no more. */
static void sets_stay_as_many_as_were_opened(void **state)
{
    (void)state;
    struct param_value params[MOST_SPECS];
    struct sheet s = sheet_of("query=linspace(-1, 1, 100000)");
    s.nodes = (struct table_info){.format = "csv", .dtype = DTYPE_F64, .cells_per_line = 2};
    parse_params(&stage_interpolate, s.params, params);
    struct stage_args args = {.queue = counted.queue,
                              .params = params,
                              .inputs = {{&s.nodes, "x.nodes.csv"}},
                              .block_bytes = BLOCK,
                              .n_threads = 16,
                              .memory_limit = UINT64_C(1) << 30};
    struct stage_need opened, two, many, held;
    s.nodes.n_lines_estimate = 64;
    assert_int_equal(stage_interpolate.plan(&args, &opened), STATUS_OK);
    assert_true(opened.n_results > 2);
    args.n_results = 2;
    assert_int_equal(stage_interpolate.plan(&args, &two), STATUS_OK);
    assert_int_equal(two.n_results, 2);
    const uint64_t sets = opened.memory_bytes - two.memory_bytes;
    s.nodes.n_lines_estimate = 32768;
    assert_int_equal(stage_interpolate.plan(&args, &many), STATUS_OK);
    assert_true(many.host_bytes > two.host_bytes);
    args.memory_limit = many.memory_bytes + many.host_bytes + sets / 2;
    args.n_results = opened.n_results;
    assert_int_equal(stage_interpolate.plan(&args, &held), STATUS_OK);
    assert_int_equal(held.n_results, opened.n_results);
    assert_int_equal(held.memory_bytes, many.memory_bytes + sets);
    args.n_results = 0; /* there would be fewer */
    assert_int_equal(stage_interpolate.plan(&args, &held), STATUS_OK);
    assert_in_range(held.n_results, 2, opened.n_results - 1);
}

/* However large blocks are. */
static void a_linspace_takes_a_quarter_of_the_memory_for_two_sets(void **state)
{
    enum { OF_BLOCKS = 1310720 }; /* values of 2 curves in 4 blocks */
    static const struct {
        uint64_t limit;
        size_t n; /* queries a set */
    } cases[] = {{0, OF_BLOCKS},
                 {UINT64_C(1) << 30, OF_BLOCKS},
                 {128u << 20, 5 * 131072},
                 {40u << 20, 131072},
                 {3u << 20, 16448}};
    (void)state;
    struct param_value params[MOST_SPECS];
    struct sheet s = sheet_of("query=linspace(-1, 1, 100000000)");
    parse_params(&stage_interpolate, s.params, params);
    struct stage_args args = {.queue = counted.queue,
                              .params = params,
                              .inputs = {{&s.nodes, "x.nodes.npy"}},
                              .block_bytes = 5 << 20,
                              .n_results = 2};
    struct stage_need least, more;
    args.memory_limit = 1;
    assert_int_equal(stage_interpolate.plan(&args, &least), STATUS_OK); /* of 64 queries */
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        args.memory_limit = cases[k].limit;
        assert_int_equal(stage_interpolate.plan(&args, &more), STATUS_OK);
        const uint64_t two = (cases[k].n - 64) * 8, four = 2 * CURVES * two;
        assert_int_equal(more.memory_bytes - least.memory_bytes, two + four);
        assert_int_equal(more.host_bytes - least.host_bytes, two);
    }
}

static void chunks_without_numbers_change_nothing(void **state)
{
    (void)state;
    struct sheet s = sheet_of(NULL);
    s.nodes.format = "csv";
    struct outcome plain = run_well(&s);
    s.with_comments = true;
    struct outcome o = run_well(&s);
    assert_int_equal(o.x.len, sizeof s.query);
    assert_memory_equal(o.x.data, s.query, sizeof s.query);
    assert_same(&plain.y, &o.y);
    outcome_free(&plain);
    outcome_free(&o);
}

static void a_linspace_gives_the_bits_of_the_same_queries_in_a_file(void **state)
{
    (void)state;
    struct sheet line = sheet_of("query=linspace(-1.5, 0.25, 3000)");
    line.params[1] = "method=chebyshev";
    struct sheet file = sheet_of("method=chebyshev");
    struct outcome a = run_well(&line);
    assert_int_equal(a.x.len, sizeof file.query);
    memcpy(file.query, a.x.data, sizeof file.query);
    assert_true(file.query[0] == -1.5 && file.query[QUERIES - 1] == 0.25);
    struct outcome b = run_well(&file);
    assert_same(&a.y, &b.y);
    outcome_free(&a);
    outcome_free(&b);
}

static size_t last_curves; /* that were evaluated */

static enum status noted_evaluate(struct queue *q, const struct interpolate_nodes *nodes,
                                  const struct interpolate_cells *cells, struct span queries,
                                  enum dtype type, size_t n, struct span values, struct span counts)
{
    last_curves = nodes->n_curves;
    return counted.real->interpolate->evaluate(q, nodes, cells, queries, type, n, values, counts);
}

static void values_of_many_curves_leave_in_several_portions_of_a_push(void **state)
{
    (void)state;
    struct sheet s = sheet_of("method=chebyshev");
    double *const many = calloc(NODES * 101, sizeof(double));
    assert_non_null(many);
    for (size_t i = 0; i < NODES; i++) {
        many[i * 101] = s.cells[3 * i];
        for (size_t c = 1; c <= 100; c++) {
            many[i * 101 + c] = (double)c * s.cells[3 * i + 1];
        }
    }
    struct outcome few = run_well(&s);
    s.many = many;
    s.nodes.cells_per_line = 101;
    struct interpolate_kernels noted = *counted.real->interpolate;
    noted.evaluate = noted_evaluate;
    counted.ops.interpolate = &noted;
    struct outcome o = run_well(&s);
    counted.ops.interpolate = counted.real->interpolate;
    assert_int_equal(last_curves, 8);    /* the picture's */
    assert_int_equal(few.n_portions, 0); /* all of it is less than a piece */
    assert_int_equal(o.n_portions, QUERIES * 100 * sizeof(double) / PACK_PIECE_BYTES);
    assert_same(&o.x, &few.x);
    const double *const y = (const double *)(const void *)o.y.data;
    const double *const want = (const double *)(const void *)few.y.data;
    for (size_t i = 0; i < QUERIES; i++) {
        assert_memory_equal(y + 100 * i, want + CURVES * i, sizeof *y);
        assert_true(y[100 * i + 1] == 2 * y[100 * i]); /* a power of 2 changes no rounding */
    }
    assert_int_equal(o.y.len, 100 * sizeof s.query);
    assert_in_range(counted.peak_bytes, 1, o.need.memory_bytes + o.need.host_bytes);
    outcome_free(&o);
    outcome_free(&few);
    free(many);
}

/* Not in a file of their own, to be copied in the end. */
static void values_grow_where_they_belong_if_their_number_is_known(void **state)
{
    enum { MANY = 200000 };
    (void)state;
    double *const queries = calloc(MANY, sizeof *queries);
    assert_non_null(queries);
    struct sheet s[3] = {sheet_of("query=linspace(-1, 1, 200000)"), sheet_of(NULL), sheet_of(NULL)};
    for (size_t k = 1; k < 3; k++) {
        s[k].queries_of = queries;
        s[k].n_many = MANY;
    }
    s[2].queries.n_lines = MANY;
    for (size_t k = 0; k < 3; k++) {
        struct outcome o = run_well(&s[k]);
        assert_true(o.n_portions > 0);
        assert_int_equal(o.n_begun, k == 1 ? 0 : 1);
        outcome_free(&o);
    }
    free(queries);
}

static void nodes_in_columns_give_the_same(void **state)
{
    (void)state;
    struct sheet rows = sheet_of("method=chebyshev"), columns = rows;
    columns.nodes.lines_are_columns = true;
    columns.nodes.n_lines = columns.nodes.n_lines_estimate = 1 + CURVES;
    columns.nodes.cells_per_line = NODES;
    for (size_t i = 0; i < NODES; i++) {
        for (size_t c = 0; c <= CURVES; c++) {
            columns.cells[c * NODES + i] = rows.cells[i * (1 + CURVES) + c];
        }
    }
    struct outcome a = run_well(&rows), b = run_well(&columns);
    assert_same(&a.y, &b.y);
    outcome_free(&a);
    outcome_free(&b);
    columns.cells[NODES + 4] = (double)NAN;
    b = run_sheet(&columns);
    assert_int_equal(b.status, STATUS_BAD_INPUT);
    assert_string_equal(b.message,
                        "x.nodes.npy: row 5: y1 is missing; every node needs all its numbers");
    outcome_free(&b);
}

/* --- what is counted -------------------------------------------------------------------------- */

static void missing_queries_hits_and_extrapolation_are_counted(void **state)
{
    (void)state;
    struct sheet s = sheet_of(NULL);
    for (size_t i = 0; i < QUERIES; i++) {
        s.query[i] = i % 4 == 0   ? (double)NAN
                     : i % 4 == 1 ? 1.5
                     : i % 4 == 2 ? s.cells[3 * (i % NODES)]
                                  : 0.123;
    }
    struct outcome o = run_well(&s);
    static const struct {
        const char *key;
        json_int_t n;
    } wanted[] = {{"missing", QUERIES / 4}, {"extrapolated", QUERIES / 4}, {"hits", QUERIES / 4},
                  {"n_queries", QUERIES},   {"degree", NODES - 1},         {"n_curves", CURVES}};
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        assert_int_equal(json_integer_value(json_object_get(o.last.summary, wanted[k].key)),
                         wanted[k].n);
    }
    assert_int_equal(json_array_size(o.last.warnings), 2);
    const double *y = (const double *)(const void *)o.y.data;
    for (size_t i = 0; i < QUERIES; i++) {
        const size_t node = i % NODES;
        assert_int_equal(isnan(y[CURVES * i]), i % 4 == 0);
        assert_true(i % 4 != 2 || y[CURVES * i] == s.cells[3 * node + 1]);
    }
    outcome_free(&o);
}

/* Nodes of hourly temperatures: a smooth day, or one as it is measured. */
static void put_day(struct sheet *s, size_t curve, bool is_measured, bool chebyshev)
{
    for (size_t i = 0; i < NODES; i++) {
        const double t = (double)i / (NODES - 1), noise = is_measured ? sin(9.1 * (double)i) : 0;
        s->cells[3 * i] = chebyshev ? -cos(3.14159265358979 * t) : 2 * t - 1;
        s->cells[3 * i + 1 + curve] = 15 - 8 * cos(6.2831853 * t) + 0.8 * noise;
    }
}

static void curves_that_leave_the_range_of_their_nodes_are_warned_of(void **state)
{
    static const struct {
        bool measured[CURVES], chebyshev;
        const char *query, *method, *said; /* NULL: no warning */
    } cases[] = {
        {{true, false}, false, "query=linspace(-1, 1, 5000)", "method=auto", "curve of 'y1' "},
        {{true, false},
         false,
         "query=linspace(-1, 1, 100)",
         "method=barycentric",
         "curve of 'y1' "},
        {{true, false}, false, "query=linspace(-1, 1, 100)", "method=chebyshev", "curve of 'y1' "},
        {{false, true}, false, "query=linspace(-1, 1, 100)", "method=auto", "curve of 'y2' "},
        {{true, true}, false, "query=linspace(-1, 1, 100)", "method=auto", "(and 1 more of the"},
        {{false, false}, false, "query=linspace(-1, 1, 100)", "method=auto", NULL},
        {{true, true}, true, "query=linspace(-1, 1, 100)", "method=auto", NULL},
        {{true, true}, false, "query=linspace(-0.3, 0.3, 100)", "method=auto", NULL},
        {{true, true}, false, "query=linspace(0.9999999, 1, 2)", "method=auto", NULL},
        /* queries within one gap, of which there are 22; and to the middle of outer ones */
        {{true, false}, false, "query=-0.96", "method=auto", "curve of 'y1' "},
        {{true, false}, false, "query=-0.97,-0.96,-0.95", "method=auto", "curve of 'y1' "},
        {{false, true}, false, "query=linspace(-0.99, -0.92, 50)", "method=auto", "curve of 'y2' "},
        {{true, false}, false, "query=linspace(-0.96, -0.5, 9)", "method=auto", "curve of 'y1' "},
        {{true, true}, false, "query=-0.01,0.01", "method=auto", NULL},
        {{true, true}, false, "query=-1", "method=auto", NULL}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct sheet s = sheet_of(cases[k].query);
        s.params[1] = cases[k].method;
        put_day(&s, 0, cases[k].measured[0], cases[k].chebyshev);
        put_day(&s, 1, cases[k].measured[1], cases[k].chebyshev);
        struct outcome o = run_well(&s);
        const char *text = json_string_value(json_array_get(o.last.warnings, 0));
        if (json_array_size(o.last.warnings) != (cases[k].said != NULL ? 1 : 0)) {
            fail_msg("case %zu, %s: %s", k, cases[k].query, text);
        }
        if (cases[k].said != NULL) {
            assert_non_null(strstr(text, cases[k].said));
            assert_non_null(strstr(text, "swings from about -")); /* beyond -10: y begins at 7 */
        }
        outcome_free(&o);
    }
}

/* Whether it is the first of those that do or the last. */
static void the_curve_that_swings_most_is_named(void **state)
{
    (void)state;
    for (size_t most = 0; most < CURVES; most++) {
        struct sheet s = sheet_of("query=linspace(-1, 1, 100)");
        for (size_t c = 0; c < CURVES; c++) {
            put_day(&s, c, true, false);
        }
        for (size_t i = 0; i < NODES; i++) { /* ten times the noise, in less than twice the range */
            s.cells[(1 + CURVES) * i + 1 + most] += 7 * sin(9.1 * (double)i);
        }
        struct outcome o = run_well(&s);
        char said[32];
        snprintf(said, sizeof said, "the curve of 'y%zu' swings", most + 1);
        assert_int_equal(json_array_size(o.last.warnings), 1);
        const char *text = json_string_value(json_array_get(o.last.warnings, 0));
        assert_non_null(strstr(text, said));
        assert_non_null(strstr(text, "(and 1 more of the curves like it)"));
        outcome_free(&o);
    }
}

static void a_curve_of_one_value_does_not_swing_by_its_rounding(void **state)
{
    (void)state;
    struct sheet s = sheet_of("query=linspace(-1, 1, 100)");
    for (size_t i = 0; i < NODES; i++) { /* between the last two a sum has lost all its digits */
        s.cells[3 * i] = i + 1 < NODES ? -1 + 1e-12 * (double)i : 1;
        s.cells[3 * i + 1] = s.cells[3 * i + 2] = 0.1;
    }
    struct outcome o = run_well(&s);
    assert_int_equal(json_array_size(o.last.warnings), 1);
    assert_non_null(
        strstr(json_string_value(json_array_get(o.last.warnings, 0)), "the Lebesgue constant"));
    outcome_free(&o);
}

static void auto_weighs_the_estimate_of_a_text_of_queries(void **state)
{
    static const struct {
        size_t n_about;
        const char *method;
    } cases[] = {{QUERIES, "barycentric"}, {1000000, "chebyshev"}, {0, "chebyshev"}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct sheet s = sheet_of(NULL);
        s.queries.n_lines_estimate = cases[k].n_about;
        struct outcome o = run_well(&s);
        assert_string_equal(json_string_value(json_object_get(o.last.summary, "method")),
                            cases[k].method);
        outcome_free(&o);
    }
}

/* --- memory, and the end ---------------------------------------------------------------------- */

static void memory_is_what_was_planned(void **state)
{
    static const char *const queries[] = {NULL, "query=linspace(-1, 1, 100000)"};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct sheet s = sheet_of(queries[k]);
        struct outcome o = run_well(&s);
        /* 256 bytes of alignment for each of its few arrays; the picture is counted with the host
         */
        assert_in_range(counted.peak_bytes, 1, o.need.memory_bytes + o.need.host_bytes);
        assert_true(o.need.memory_bytes + o.need.host_bytes < UINT64_C(64) << 20);
        outcome_free(&o);
    }
}

static void a_job_ends_well_where_memory_of_the_backend_does(void **state)
{
    static const char *const queries[] = {NULL, "query=linspace(-1, 1, 5000)"};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const struct sheet s = sheet_of(queries[k]);
        struct outcome o = run_well(&s);
        const size_t n = counted.allocs;
        outcome_free(&o);
        assert_true(n > 5);
        for (counted.fail_at = 1; counted.fail_at <= n; counted.fail_at++) {
            o = run_sheet(&s);
            assert_int_equal(o.status, STATUS_NO_MEMORY);
            outcome_free(&o);
        }
        counted.fail_at = 0;
    }
}

static void a_queue_that_is_stopped_ends_the_job_soon(void **state)
{
    (void)state;
    static const int stop = 1;
    const struct sheet s = sheet_of("query=linspace(-1, 1, 1e12)"); /* it would take a day */
    counted.queue->stop = &stop;
    struct outcome o = run_sheet(&s);
    counted.queue->stop = NULL;
    assert_int_equal(o.status, STATUS_CANCELLED);
    outcome_free(&o);
}

static void what_cannot_be_is_refused_when_it_is_planned(void **state)
{
    (void)state;
    struct sheet s = sheet_of(NULL);
    s.nodes.cells_per_line = 1;
    struct outcome o = run_sheet(&s);
    assert_int_equal(o.status, STATUS_BAD_INPUT);
    assert_non_null(strstr(o.message, "x.nodes.npy: has one column of numbers"));
    outcome_free(&o);
    s = sheet_of(NULL);
    s.queries.cells_per_line = 2;
    o = run_sheet(&s);
    assert_int_equal(o.status, STATUS_BAD_INPUT);
    assert_non_null(strstr(o.message, "x.query.csv: has 2 columns of numbers"));
    outcome_free(&o);
    static const size_t shapes[][2] = {
        {(size_t)1 << 20, 2}, {(size_t)1 << 62, 3}, {9, SIZE_MAX / 8}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        s = sheet_of(NULL);
        s.nodes.n_lines = s.nodes.n_lines_estimate = shapes[k][0];
        s.nodes.cells_per_line = shapes[k][1];
        o = run_sheet(&s);
        assert_int_equal(o.status, STATUS_TOO_LARGE);
        outcome_free(&o);
    }
}

/* --- the picture ------------------------------------------------------------------------------ */

static void draw(const struct outcome *o)
{
    const struct result_file *const f = &o->last.files[0];
    size_t k = 0;
    while (k < o->last.n_files && strcmp(f[k].name, "curve.png") != 0) {
        k++;
    }
    assert_true(k < o->last.n_files);
    struct bytes png = {0};
    drawn_begin();
    assert_int_equal(f[k].members[0].piece(f[k].members[0].context, 0, &png), STATUS_OK);
    drawn_end();
    bytes_free(&png);
}

/* x^3 and 0 over [-1, 1]: what is beyond is named, on either side, and far beyond y is cut. */
static void the_texts_of_the_picture_are_these(void **state)
{
    (void)state;
    static const struct {
        const char *query, *note;
        bool is_beyond;
    } cases[] = {{"query=-0.9,0.9", NULL, false},
                 {"query=-1.5,0.9", NULL, true},
                 {"query=-0.9,1.5", NULL, true},
                 {"query=-2,0",
                  "y is cut: the curves go from \xe2\x88\x92"
                  "8 to ",
                  true},
                 {"query=0,2", "y is cut: the curves go from ", true},
                 {"query=-2,2",
                  "y is cut: the curves go from \xe2\x88\x92"
                  "8 to 8|",
                  true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sheet s = sheet_of(cases[i].query);
        for (size_t k = 0; k < NODES; k++) {
            s.cells[3 * k + 2] = 0;
        }
        struct outcome o = run_well(&s);
        char title[96];
        draw(&o);
        snprintf(title, sizeof title, "x.nodes.npy|: %d nodes, polynomial of degree %d|", NODES,
                 NODES - 1);
        const char *const note = strstr(drawn_all, "y is cut"),
                          *const end =
                              cases[i].is_beyond ? "|y1|y2|nodes|extrapolated" : "|y1|y2|nodes";
        assert_true(strncmp(drawn_all, title, strlen(title)) == 0);
        assert_string_equal(drawn_all + strlen(drawn_all) - strlen(end), end);
        if (cases[i].note ? !note || strncmp(note, cases[i].note, strlen(cases[i].note)) != 0
                          : note != NULL) {
            fail_msg("%s: %s", cases[i].query, drawn_all);
        }
        outcome_free(&o);
    }
}

static void the_axis_of_dates_has_ticks_at_parts_of_a_day(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"query=linspace(1970-01-01, 1970-01-02, 3)", "|0|3|6|9|12|15|18|21|24|"},
        {"query=linspace(1970-01-01, 1970-01-03T12:00, 3)", "|0|12|24|36|48|60|"},
        {"query=linspace(1970-01-01, 1970-01-01T06:00, 3)", "|0|1|2|3|4|5|6|"},
        {"query=linspace(1970-01-01, 1970-01-01T02:00, 3)", "|0|20|40|60|80|100|120|"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sheet s = sheet_of(cases[i][0]);
        s.nodes.has_dates = true;
        struct outcome o = run_well(&s);
        draw(&o);
        assert_non_null(strstr(drawn_all, cases[i][1]));
        assert_non_null(strstr(drawn_all, i < 3 ? "|hours from 1970-01-01T00:00:00Z on|"
                                                : "|minutes from 1970-01-01T00:00:00Z on|"));
        outcome_free(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_axis_of_dates_has_ticks_at_parts_of_a_day),
        cmocka_unit_test(the_texts_of_the_picture_are_these),
        cmocka_unit_test(queries_leave_as_they_came_each_with_the_values_of_all_curves),
        cmocka_unit_test(bits_do_not_depend_on_where_chunks_are_cut),
        cmocka_unit_test(chunks_without_numbers_change_nothing),
        cmocka_unit_test(a_linspace_gives_the_bits_of_the_same_queries_in_a_file),
        cmocka_unit_test(values_of_many_curves_leave_in_several_portions_of_a_push),
        cmocka_unit_test(values_grow_where_they_belong_if_their_number_is_known),
        cmocka_unit_test(nodes_in_columns_give_the_same),
        cmocka_unit_test(missing_queries_hits_and_extrapolation_are_counted),
        cmocka_unit_test(curves_that_leave_the_range_of_their_nodes_are_warned_of),
        cmocka_unit_test(the_curve_that_swings_most_is_named),
        cmocka_unit_test(a_curve_of_one_value_does_not_swing_by_its_rounding),
        cmocka_unit_test(auto_weighs_the_estimate_of_a_text_of_queries),
        cmocka_unit_test(sets_are_as_many_as_threads_keep_busy_and_memory_holds),
        cmocka_unit_test(pieces_end_at_the_same_places_wherever_chunks_are_cut),
        cmocka_unit_test(sets_stay_as_many_as_were_opened),
        cmocka_unit_test(a_linspace_takes_a_quarter_of_the_memory_for_two_sets),
        cmocka_unit_test(memory_is_what_was_planned),
        cmocka_unit_test(a_job_ends_well_where_memory_of_the_backend_does),
        cmocka_unit_test(a_queue_that_is_stopped_ends_the_job_soon),
        cmocka_unit_test(what_cannot_be_is_refused_when_it_is_planned),
    };
    return UNDER_TEST_RUN(tests, counted_open, counted_close);
}
