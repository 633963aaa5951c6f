/*
 * test_rank_queue - a queue of another rank: memory comes back as it was, failures come with the
 * next call that waits, and what a rank cannot or may not do is refused, and nothing of it stays.
 * That members there give the bits of one run: test_sciddicat_bands.
 * ctest: tsan=yes wrap=ranks_write
 */
#include "kernels/sciddicat/bands.h"
#include "pipeline/engine/place.h"
#include "pipeline/engine/thread_pool.h"
#include "tests/support/rank_queues.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 64 << 20 };

static struct queue *q;

static const struct backend_ops *ops(void)
{
    return q->backend->ops;
}

static void assert_ok(enum status code)
{
    if (code != STATUS_OK) {
        fail_msg("%s", status_message());
    }
}

static void put(struct span to, const void *from, size_t bytes)
{
    uint64_t ticket;
    assert_ok(ops()->upload(q, to, from, bytes, &ticket));
    assert_ok(ops()->upload_wait(q, ticket));
}

TEST(memory_of_another_rank_comes_back_as_it_was)
{
    enum { BYTES = (9 << 20) + 5, OFFSET = 1 << 20 };
    struct span a, b;
    unsigned char *sent = malloc(BYTES), *back = malloc(BYTES);
    assert_true(sent != NULL && back != NULL);
    for (size_t i = 0; i < BYTES; i++) {
        sent[i] = (unsigned char)((i * 2654435761u) >> 13);
    }
    assert_ok(ops()->alloc(q, BYTES, &a));
    assert_ok(ops()->alloc(q, BYTES, &b));
    put(a, sent, BYTES);
    assert_ok(ops()->copy(q, b, a, BYTES));
    assert_ok(ops()->download(q, back, b, BYTES));
    assert_memory_equal(back, sent, BYTES);
    assert_ok(ops()->download(q, back, span_from(b, OFFSET), 7));
    assert_memory_equal(back, sent + OFFSET, 7);
    ops()->release(q, a);
    ops()->release(q, b);
    assert_ok(ops()->finish(q));
    free(sent);
    free(back);
}

enum status __real_ranks_write(struct ranks *r, size_t to, const void *head, size_t head_bytes,
                               const void *body, size_t body_bytes);
enum status __wrap_ranks_write(struct ranks *r, size_t to, const void *head, size_t head_bytes,
                               const void *body, size_t body_bytes);

static atomic_size_t largest; /* piece that was sent */

enum status __wrap_ranks_write(struct ranks *r, size_t to, const void *head, size_t head_bytes,
                               const void *body, size_t body_bytes)
{
    largest = body_bytes > largest ? body_bytes : largest;
    return __real_ranks_write(r, to, head, head_bytes, body, body_bytes);
}

/* Z, h and no NODATA, all zeros. */
static struct sciddicat_input put_zeros(size_t bytes)
{
    double *zeros = calloc(1, bytes);
    struct sciddicat_input in = {.z = {0}};
    assert_non_null(zeros);
    assert_ok(ops()->alloc(q, bytes, &in.z));
    assert_ok(ops()->alloc(q, bytes, &in.h));
    put(in.z, zeros, bytes);
    put(in.h, zeros, bytes);
    free(zeros);
    return in;
}

static void release_input(const struct sciddicat_input *in)
{
    ops()->release(q, in->z);
    ops()->release(q, in->h);
}

static void *open_run(size_t rows, size_t columns)
{
    const struct sciddicat_params p = {rows, columns, 0.001, 0.5, SCIDDICAT_WALL};
    const struct sciddicat_input in = put_zeros(rows * columns * sizeof(double));
    void *run;
    assert_ok(ops()->sciddicat->open(q, &p, &in, &run));
    release_input(&in);
    return run;
}

/* Once; it can be used as before. */
TEST(call_that_fails_is_reported_by_the_next_one_that_waits)
{
    uint32_t busy[4];
    bool moved;
    void *run = open_run(64, 10);
    const struct sciddicat_member_kernels *m = ops()->sciddicat->member;
    assert_ok(m->step(q, run, SCIDDICAT_GHOST_STEPS + 1));
    assert_ok(m->step(q, run, 1));
    assert_int_equal(m->look(q, run, busy, &moved), STATUS_INTERNAL);
    assert_string_equal(status_message(), "rank 1: 9 steps with ghost rows for 8");
    assert_ok(m->step(q, run, 1));
    assert_ok(m->look(q, run, busy, &moved));
    assert_int_equal(busy[0] + busy[1] + busy[2] + busy[3], 0);
    assert_false(moved);
    ops()->sciddicat->close(q, run);
}

/* The other side has memory for a piece beyond what its --memory says. */
TEST(rows_and_memory_travel_in_pieces)
{
    enum { ROWS = 640, COLUMNS = 500, CELLS = ROWS * COLUMNS, BYTES = CELLS * sizeof(double) };
    double *numbers = malloc(2 * (size_t)BYTES), *back = malloc(2 * (size_t)BYTES);
    int32_t *arrival = malloc(CELLS * sizeof *arrival), *came = malloc(CELLS * sizeof *came);
    struct span s;
    assert_true(numbers != NULL && back != NULL && arrival != NULL && came != NULL);
    for (size_t i = 0; i < CELLS; i++) {
        numbers[i] = (double)i;
        numbers[CELLS + i] = (double)i + 0.5;
        arrival[i] = (int32_t)i;
    }
    void *run = open_run(ROWS, COLUMNS);
    const struct sciddicat_member_kernels *m = ops()->sciddicat->member;
    const struct sciddicat_rows sent = {0, ROWS, numbers, numbers + CELLS, arrival},
                                got = {0, ROWS, back, back + CELLS, came};
    largest = 0;
    assert_ok(m->give(q, run, &sent));
    assert_ok(m->take(q, run, &got));
    assert_memory_equal(back, numbers, 2 * (size_t)BYTES);
    assert_memory_equal(came, arrival, CELLS * sizeof *came);
    assert_ok(ops()->alloc(q, 2 * (size_t)BYTES, &s));
    put(s, numbers, 2 * (size_t)BYTES);
    memset(back, 0, 2 * (size_t)BYTES);
    assert_ok(ops()->download(q, back, s, 2 * (size_t)BYTES));
    assert_memory_equal(back, numbers, 2 * (size_t)BYTES);
    assert_in_range(largest, 1 << 20, 4 << 20);
    ops()->release(q, s);
    ops()->sciddicat->close(q, run);
    free(numbers);
    free(back);
    free(arrival);
    free(came);
}

/* Its state is fetched whole: where there is no room for that, it is not begun. */
TEST(memory_for_the_state_is_asked_for_at_the_begin)
{
    const struct sciddicat_params p = {256, 256, 0.001, 0.5, SCIDDICAT_WALL};
    const size_t bytes = p.rows * p.columns * sizeof(double);
    const struct sciddicat_input in = put_zeros(bytes);
    struct span rest;
    unsigned long long left;
    void *run;
    assert_int_equal(ops()->alloc(q, MEMORY, &rest), STATUS_NO_MEMORY);
    assert_int_equal(sscanf(status_message(), "rank 1: %llu bytes", &left), 1);
    const size_t most = (size_t)left - backend_cpu.sciddicat->bytes(&p) - bytes;
    assert_ok(ops()->alloc(q, most + 1, &rest));
    assert_int_equal(ops()->sciddicat->open(q, &p, &in, &run), STATUS_NO_MEMORY);
    ops()->release(q, rest);
    assert_ok(ops()->alloc(q, most, &rest));
    assert_ok(ops()->sciddicat->open(q, &p, &in, &run));
    ops()->sciddicat->close(q, run);
    ops()->release(q, rest);
    release_input(&in);
}

/* Which of the two had no memory is not known. */
TEST(job_that_a_rank_helps_goes_on_alone_without_memory)
{
    struct engine_device d = {.on_cpu = true};
    struct engine_job job = {.device = &d};
    struct job_tasks tasks = {.job = &job};
    struct place alone = {.tasks = &tasks}, helped = {.tasks = &tasks, .n_helpers = 1};
    place_heed_failure(&alone, STATUS_NO_MEMORY, "no memory");
    assert_false(alone.starts_over);
    place_heed_failure(&helped, STATUS_NO_MEMORY, "rank 1: no memory");
    assert_true(helped.starts_over && helped.has_lost_help);
}

TEST(rank_has_room_for_one_landslide)
{
    const struct sciddicat_params p = {16, 16, 0.001, 0.5, SCIDDICAT_WALL};
    void *other, *run = open_run(64, 10);
    assert_int_equal(ops()->sciddicat->open(q, &p, &(struct sciddicat_input){.z = {0}}, &other),
                     STATUS_INTERNAL);
    assert_null(other);
    ops()->sciddicat->close(q, run);
    ops()->sciddicat->close(q, open_run(64, 10));
}

TEST(rank_that_has_no_memory_for_it_is_left_out)
{
    enum { ROWS = 1200, COLUMNS = 1200 };
    struct backend *home;
    struct queue *home_q, *other = q;
    struct bands *b;
    struct sciddicat_report r;
    size_t n = 1;
    struct thread_pool *pool;
    assert_ok(thread_pool_new(1, &pool));
    const struct backend_config config = {.executor = thread_pool_executor(pool)};
    const struct sciddicat_params p = {ROWS, COLUMNS, 0.001, 0.5, SCIDDICAT_WALL};
    double *z = calloc((size_t)ROWS * COLUMNS, sizeof *z);
    const struct bands_input in = {.z = z, .h = z};
    assert_non_null(z);
    assert_ok(backend_cpu.open(&config, &home));
    assert_ok(home->ops->queue_new(home, &home_q));
    assert_ok(bands_open(&(struct bands_config){.home = home_q}, &p, &in, &b));
    assert_int_equal(bands_spread(b, &other, &n, &in), STATUS_NO_MEMORY);
    assert_non_null(strstr(status_message(), "rank 1: "));
    assert_non_null(strstr(status_message(), " bytes are there for jobs, "));
    assert_int_equal(n, 0);
    assert_ok(bands_advance(b, 1, &r));
    bands_close(b);
    home->ops->queue_free(home_q);
    home->ops->close(home);
    thread_pool_free(pool);
    free(z);
}

/* Time and again: else the second finds no memory. */
TEST(what_a_borrower_leaves_is_given_back)
{
    for (int i = 0; i < 3; i++) {
        struct span s;
        free(open_run(64, 10)); /* it forgets it */
        assert_ok(ops()->alloc(q, MEMORY / 4, &s));
        ops()->queue_free(q);
        q = rank_queues_new();
    }
}

TEST(rank_without_devices_does_not_help_one_on_a_device)
{
    struct queue *none = q;
    ops()->queue_free(q);
    assert_int_equal(rank_queues_try(false, &none), STATUS_NO_BACKEND);
    assert_string_equal(status_message(), "rank 1: it uses no devices (--backend cpu)");
    assert_null(none);
    q = rank_queues_new(); /* it can be borrowed again */
    assert_ok(ops()->finish(q));
}

static int begin(void **state)
{
    (void)state;
    rank_queues_begin(1, MEMORY);
    q = rank_queues_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    ops()->queue_free(q);
    rank_queues_end();
    return 0;
}

int main(void)
{
    return unit_run(begin, end);
}
