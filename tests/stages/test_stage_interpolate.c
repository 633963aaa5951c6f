/*
 * The stage `interpolate` without an engine: what it makes of chunks cut anywhere, how long pieces
 * of a portion stay, what it takes of memory, and that it ends well where memory or patience does.
 * Runs on the backend that $LEAT_TEST_BACKEND names. The numbers themselves are held against 200
 * decimal digits in tests/scenarios/interpolate.py.
 */
#include "tests/support/interpolate_sheet.h"

/* --- numbers ---------------------------------------------------------------------------------- */

TEST(queries_leave_as_they_came_each_with_the_values_of_all_curves)
{
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

TEST(bits_do_not_depend_on_where_chunks_are_cut)
{
    static const size_t cuts[][2] = {{1, 1}, {2, 7}, {3, 511}, {68, 64}, {69, 512}};
    static const char *const methods[] = {"method=chebyshev", "method=barycentric"};
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
TEST(pieces_end_at_the_same_places_wherever_chunks_are_cut)
{
    enum { N = 700000 }; /* 5 pieces of x and 10 of y, and more */
    static const size_t cuts[] = {512, 100, 513};
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
TEST(sets_are_as_many_as_threads_keep_busy_and_memory_holds)
{
    static const char *const queries[] = {"method=chebyshev", "query=linspace(-1, 1, 12000)"};
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
TEST(sets_stay_as_many_as_were_opened)
{
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
TEST(a_linspace_takes_a_quarter_of_the_memory_for_two_sets)
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

TEST(chunks_without_numbers_change_nothing)
{
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

TEST(a_linspace_gives_the_bits_of_the_same_queries_in_a_file)
{
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

TEST(values_of_many_curves_leave_in_several_portions_of_a_push)
{
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
TEST(values_grow_where_they_belong_if_their_number_is_known)
{
    enum { MANY = 200000 };
    double *const queries = calloc(MANY, sizeof *queries);
    assert_non_null(queries);
    struct sheet s[3] = {sheet_of("query=linspace(-1, 1, 200000)"), sheet_of(NULL), sheet_of(NULL)};
    for (size_t k = 1; k < 3; k++) {
        s[k].queries_of = queries;
        s[k].n_many = MANY;
    }
    s[2].queries.n_lines = s[2].queries.n_lines_estimate = MANY;
    for (size_t k = 0; k < 3; k++) {
        struct outcome o = run_well(&s[k]);
        assert_true(o.n_portions > 0);
        assert_int_equal(o.n_begun, k == 1 ? 0 : 1);
        outcome_free(&o);
    }
    free(queries);
}

TEST(nodes_in_columns_give_the_same)
{
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

/* --- memory, and the end ---------------------------------------------------------------------- */

TEST(memory_is_what_was_planned)
{
    static const char *const queries[] = {NULL, "query=linspace(-1, 1, 100000)"};
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

TEST(a_job_ends_well_where_memory_of_the_backend_does)
{
    static const char *const queries[] = {NULL, "query=linspace(-1, 1, 5000)"};
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

TEST(a_queue_that_is_stopped_ends_the_job_soon)
{
    static const int stop = 1;
    const struct sheet s = sheet_of("query=linspace(-1, 1, 1e12)"); /* it would take a day */
    counted.queue->stop = &stop;
    struct outcome o = run_sheet(&s);
    counted.queue->stop = NULL;
    assert_int_equal(o.status, STATUS_CANCELLED);
    outcome_free(&o);
}

TEST(what_cannot_be_is_refused_when_it_is_planned)
{
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

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
