/*
 * pull - a method that pulls, behind the calls of the engine.
 */
#include "stages/base/pull.h"
#include "stages/base/rows.h"
#include "tests/support/counted_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 3, ROWS = 500, LEAVES = 7 };

/* What the method is to do, and what it has seen. */
static struct {
    enum { READS, FAILS_EARLY, STARTS_OVER, SKIPS_A_PART, LEAVES_BETWEEN, TWICE } does;
    size_t least, most, n_lacking; /* of the last cells so many do not come */
    bool drops, fills, was_cancelled;
    double seen[ROWS * WIDTH];
    uint64_t n_seen;
    size_t n_calls, n_passes;
} method;

static enum status drop_odd(void *context, void *cells, size_t n, uint64_t first, size_t *n_kept)
{
    (void)context;
    double *const x = cells;
    size_t kept = 0;
    for (size_t i = 0; i < n && method.drops; i++) {
        if ((first + i) % 2 == 0) {
            memmove(x + kept * WIDTH, x + i * WIDTH, WIDTH * sizeof *x);
            kept++;
        }
    }
    *n_kept = method.drops ? kept : n;
    return STATUS_OK;
}

static enum status piece(void *context, uint64_t index, struct bytes *out)
{
    (void)context;
    return bytes_append(out, &index, sizeof index);
}

static enum status leave(struct job_io *io)
{
    struct result_file *f;
    STATUS_TRY(result_add_file(io->out, "part.bin", PACK_RAW, &f));
    f->more = true;
    STATUS_TRY(result_add_member(f, NULL, 1, piece, NULL, NULL));
    return io_leave(io);
}

static enum status read_pass(struct job_io *io, struct rows *rows, struct span to)
{
    size_t n = 1;
    method.n_seen = 0;
    while (n > 0) {
        n = method.most;
        STATUS_TRY(method.fills ? rows_fill(rows, io, to, &n)
                                : rows_read(rows, io, to, method.least, method.most, &n));
        assert_true(n <= method.most && method.n_seen + n <= ROWS);
        STATUS_TRY(io->ops->download(io->queue, method.seen + method.n_seen * WIDTH, to,
                                     n * WIDTH * sizeof(double)));
        method.n_seen += n;
        method.n_calls++;
        if (method.does == LEAVES_BETWEEN && n > 0) {
            const enum status st = leave(io);
            method.was_cancelled = st == STATUS_CANCELLED;
            STATUS_TRY(st);
        }
        if (method.does == STARTS_OVER && method.n_seen > ROWS / 2 && !io->args.started_over) {
            return status_fail(STATUS_START_OVER, "too many");
        }
    }
    method.n_passes++;
    return STATUS_OK;
}

static enum status run(struct job_io *io)
{
    struct rows rows = {.width = WIDTH, .type = DTYPE_F64, .look = drop_odd};
    struct span to;
    const struct table_chunk *other;
    STATUS_TRY(rows_room(&rows, &io->room));
    STATUS_TRY(room_span(&io->room, method.most, WIDTH * sizeof(double), &to));
    if (method.does == FAILS_EARLY) {
        return status_fail(STATUS_BAD_INPUT, "it fails");
    }
    if (method.does == SKIPS_A_PART) {
        return io_chunk(io, 1, &other);
    }
    STATUS_TRY(read_pass(io, &rows, to));
    if (method.does == TWICE) {
        STATUS_TRY(rows_again(&rows, io));
        STATUS_TRY(read_pass(io, &rows, to));
    }
    return leave(io);
}

static const struct stage_ops stage = {.name = "method", .run = run};

static double cell(size_t k)
{
    return (double)k + 0.5;
}

/* Runs it on chunks of `cut` cells; cancelled after so many pushes, if not 0. */
static enum status run_method(size_t cut, size_t cancel_after, size_t *n_results)
{
    const struct table_info info = {.format = "npy", .n_lines = ROWS, .cells_per_line = WIDTH};
    const struct stage_args args = {.queue = counted.queue, .inputs = {{&info, "x.npy"}}};
    struct pull *s;
    enum status st = pull_open(&stage, &args, &s);
    size_t part = 0, n_pushes = 0;
    const size_t all = (size_t)ROWS * WIDTH - method.n_lacking;
    *n_results = 0;
    for (bool is_cancelled = false; st == STATUS_OK && part == 0 && !is_cancelled;) {
        for (size_t at = 0; at < all && st == STATUS_OK && !is_cancelled; at += cut) {
            const size_t left = all - at, n = left < cut ? left : cut;
            double *const values = malloc(n * sizeof *values);
            assert_non_null(values);
            const struct table_chunk chunk = {.values = values, .n_cells = n};
            uint64_t ticket;
            for (size_t k = 0; k < n; k++) {
                values[k] = cell(at + k);
            }
            st = pull_push(s, method.does == SKIPS_A_PART ? 0 : part, &chunk, &ticket);
            for (bool more = st == STATUS_OK; more && st == STATUS_OK;) {
                struct result out = {0};
                more = false;
                st = pull_portion(s, &out, &more);
                *n_results += out.n_files;
                result_free(&out);
            }
            memset(values, 0xff, n * sizeof *values);
            free(values);
            is_cancelled = ++n_pushes == cancel_after;
        }
        part = 1;
        st = st == STATUS_OK && !is_cancelled ? pull_end_pass(s, &part) : st;
    }
    for (bool more = cancel_after == 0; more && st == STATUS_OK;) {
        struct result out;
        more = false;
        assert_int_equal(result_init(&out), STATUS_OK);
        st = pull_finish(s, &out, &more);
        *n_results += out.n_files;
        result_free(&out);
    }
    pull_free(s);
    assert_int_equal(counted.live, 0);
    return st;
}

static void assert_seen(size_t step)
{
    assert_int_equal(method.n_seen, (ROWS + step - 1) / step);
    for (size_t i = 0; i < method.n_seen; i++) {
        for (size_t c = 0; c < WIDTH; c++) {
            const double x = cell(i * step * WIDTH + c);
            assert_memory_equal(&method.seen[i * WIDTH + c], &x, sizeof x);
        }
    }
}

TEST(rows_are_whole_wherever_chunks_are_cut)
{
    static const size_t cuts[] = {1, 2, 3, 4, 7, 299, 300, 301, (size_t)ROWS * WIDTH};
    static const size_t sizes[][2] = {{1, 1}, {1, 64}, {64, 64}, {10, 64}, {ROWS, ROWS}};
    size_t n_results;
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        for (size_t m = 0; m < 2 * sizeof sizes / sizeof *sizes; m++) {
            memset(&method, 0, sizeof method);
            method.least = sizes[m / 2][0];
            method.most = sizes[m / 2][1];
            method.drops = m % 2 == 1;
            assert_int_equal(run_method(cuts[k], 0, &n_results), STATUS_OK);
            assert_int_equal(n_results, 1);
            assert_seen(method.drops ? 2 : 1);
        }
    }
}

TEST(rows_that_nobody_looks_at_are_filled_by_cells)
{
    static const size_t cuts[] = {1, 2, 4, 7, 301, (size_t)ROWS * WIDTH};
    static const size_t sizes[] = {1, 64, ROWS, 2 * ROWS};
    size_t n_results;
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        for (size_t m = 0; m < sizeof sizes / sizeof *sizes; m++) {
            memset(&method, 0, sizeof method);
            method.most = sizes[m];
            method.fills = true;
            method.does = k % 2 == 0 ? TWICE : READS;
            assert_int_equal(run_method(cuts[k], 0, &n_results), STATUS_OK);
            assert_seen(1);
            assert_int_equal(method.n_calls, method.n_passes * ((ROWS - 1) / sizes[m] + 2));
        }
    }
}

/* The last row has a cell too few. */
TEST(numbers_that_end_within_a_row_are_a_fault)
{
    size_t n_results;
    for (size_t k = 0; k < 2; k++) {
        memset(&method, 0, sizeof method);
        method.least = method.most = 64;
        method.fills = k == 1;
        method.n_lacking = 1;
        assert_int_equal(run_method(7, 0, &n_results), STATUS_INTERNAL);
        assert_non_null(strstr(status_message(), "x.npy: the numbers end within row 500"));
    }
}

/* As few calls as `least` allows: each but the last brings so many rows. */
TEST(reads_wait_for_the_least_that_is_wanted)
{
    size_t n_results;
    memset(&method, 0, sizeof method);
    method.least = method.most = 64;
    assert_int_equal(run_method(1, 0, &n_results), STATUS_OK);
    assert_int_equal(method.n_calls, ROWS / 64 + 2); /* a shorter one, and the end */
}

TEST(a_pass_comes_once_more)
{
    size_t n_results;
    memset(&method, 0, sizeof method);
    method.does = TWICE;
    method.least = 1;
    method.most = 64;
    assert_int_equal(run_method(100, 0, &n_results), STATUS_OK);
    assert_int_equal(method.n_passes, 2);
    assert_seen(1);
}

/* A chunk stays while several results leave between its rows. */
TEST(results_leave_in_the_middle_of_a_chunk)
{
    size_t n_results;
    memset(&method, 0, sizeof method);
    method.does = LEAVES_BETWEEN;
    method.least = method.most = LEAVES;
    assert_int_equal(run_method(100, 0, &n_results), STATUS_OK);
    assert_int_equal(n_results, (ROWS + LEAVES - 1) / LEAVES + 1);
    assert_seen(1);
}

TEST(a_method_that_fails_says_why_and_keeps_nothing)
{
    static const struct {
        int does;
        enum status status;
        const char *says;
    } cases[] = {{FAILS_EARLY, STATUS_BAD_INPUT, "it fails"},
                 {STARTS_OVER, STATUS_START_OVER, "too many"},
                 {SKIPS_A_PART, STATUS_INTERNAL, "pulled to its end"}};
    size_t n_results;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        memset(&method, 0, sizeof method);
        method.does = cases[k].does;
        method.least = method.most = 64;
        assert_int_equal(run_method(100, 0, &n_results), cases[k].status);
        assert_non_null(strstr(status_message(), cases[k].says));
    }
}

/* The stage is freed while its method waits: for numbers, or for its result to be taken. */
TEST(a_cancelled_method_ends_where_it_waits)
{
    size_t n_results;
    for (size_t n = 1; n < 4; n++) {
        for (size_t k = 0; k < 2; k++) {
            memset(&method, 0, sizeof method);
            method.does = k == 0 ? READS : LEAVES_BETWEEN;
            method.least = method.most = LEAVES;
            assert_int_equal(run_method((size_t)LEAVES * WIDTH, n, &n_results), STATUS_OK);
            assert_int_equal(method.was_cancelled, k == 1);
            assert_int_equal(method.n_passes, 0);
        }
    }
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
