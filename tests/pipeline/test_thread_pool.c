/*
 * Thread pools: every task runs once, priorities hold, loops cover every index on any thread, time
 * is booked.
 * ctest: tsan=yes
 */
#include "formats/base/moves.h"
#include "pipeline/engine/thread_pool.h"
#include "tests/support/burn.h"
#include "tests/support/unit.h"
#include "watch/files/disk.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum { N_TASKS = 1000, N_INDEXES = 10007 };

struct counted {
    struct thread_pool_task task;
    atomic_int *n_worked, *n_done;
};

static void count_work(struct thread_pool_task *task)
{
    atomic_fetch_add(((struct counted *)task)->n_worked, 1);
}

static void count_done(struct thread_pool_task *task)
{
    atomic_fetch_add(((struct counted *)task)->n_done, 1);
}

TEST(every_task_runs_once_and_is_done_before_the_pool_ends)
{
    atomic_int worked = 0, done = 0;
    static struct counted tasks[N_TASKS];
    struct thread_pool *pool;
    assert_int_equal(thread_pool_new(3, &pool), STATUS_OK);
    for (int i = 0; i < N_TASKS; i++) {
        tasks[i] = (struct counted){
            .task = {.work = count_work, .done = count_done}, .n_worked = &worked, .n_done = &done};
        thread_pool_submit(pool, (unsigned)i % THREAD_POOL_PRIORITIES, &tasks[i].task);
    }
    thread_pool_free(pool);
    assert_int_equal(worked, N_TASKS);
    assert_int_equal(done, N_TASKS);
}

struct ordered {
    struct thread_pool_task task;
    int name;
};

static int order[8];
static atomic_int n_ordered, n_at_gate;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void note_order(struct thread_pool_task *task)
{
    atomic_fetch_add(&n_at_gate, 1);
    pthread_mutex_lock(&gate); /* held by the test until all are queued */
    pthread_mutex_unlock(&gate);
    order[atomic_fetch_add(&n_ordered, 1)] = ((struct ordered *)task)->name;
}

static void nothing(struct thread_pool_task *task)
{
    (void)task;
}

TEST(higher_priorities_go_first_and_equal_ones_in_order_of_arrival)
{
    static struct ordered tasks[7];
    static const unsigned priorities[7] = {0, 0, 0, 1, 2, 1, 2};
    static const int expected[7] = {0, 4, 6, 3, 5, 1, 2};
    struct thread_pool *pool;
    n_ordered = 0;
    assert_int_equal(thread_pool_new(1, &pool), STATUS_OK);
    pthread_mutex_lock(&gate);
    for (int i = 0; i < 7; i++) {
        tasks[i] = (struct ordered){.task = {.work = note_order, .done = nothing}, .name = i};
        thread_pool_submit(pool, priorities[i], &tasks[i].task);
        while (n_at_gate == 0) { /* the only thread takes the first one and stands at the gate */
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
    }
    pthread_mutex_unlock(&gate);
    thread_pool_free(pool);
    assert_memory_equal(order, expected, sizeof(expected));
}

static void mark(void *arg, size_t i)
{
    atomic_fetch_add(&((atomic_int *)arg)[i], 1);
}

TEST(loop_covers_each_index_once)
{
    static const size_t sizes[] = {0, 1, 2, 31, 32, 33, 257, N_INDEXES};
    for (size_t threads = 1; threads <= 4; threads++) {
        struct thread_pool *pool;
        assert_int_equal(thread_pool_new(threads, &pool), STATUS_OK);
        struct executor executor = thread_pool_executor(pool);
        assert_int_equal(executor.n_threads, threads);
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            atomic_int *marks = calloc(N_INDEXES + 1, sizeof(*marks));
            assert_non_null(marks);
            executor.run(executor.context, sizes[k], mark, marks);
            for (size_t i = 0; i <= N_INDEXES; i++) {
                assert_int_equal(marks[i], i < sizes[k] ? 1 : 0);
            }
            free(marks);
        }
        thread_pool_free(pool);
    }
}

struct nested {
    struct executor executor;
    atomic_int total;
};

static void inner(void *arg, size_t i)
{
    (void)i;
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void outer(void *arg, size_t i)
{
    struct nested *n = arg;
    n->executor.run(n->executor.context, i, inner, &n->total);
}

TEST(loops_nest)
{
    struct thread_pool *pool;
    assert_int_equal(thread_pool_new(3, &pool), STATUS_OK);
    struct nested n = {.executor = thread_pool_executor(pool)};
    n.executor.run(n.executor.context, 40, outer, &n);
    assert_int_equal(n.total, 40 * 39 / 2);
    thread_pool_free(pool);
}

struct looping {
    struct thread_pool_task task;
    struct executor executor;
};

static void loop_in_task(struct thread_pool_task *task)
{
    struct looping *l = (struct looping *)task;
    l->executor.run(l->executor.context, 20, burn, NULL);
}

TEST(cpu_time_of_a_loop_is_booked_on_its_callers_account)
{
    struct thread_pool *pool;
    assert_int_equal(thread_pool_new(2, &pool), STATUS_OK);
    struct thread_pool_account account = {0};
    struct looping l = {.task = {.work = loop_in_task, .done = nothing, .account = &account},
                        .executor = thread_pool_executor(pool)};
    thread_pool_submit(pool, 0, &l.task);
    thread_pool_free(pool);
    /* 20 bodies of 2 ms each, on whichever threads; busy is the caller's wall time alone. */
    assert_true(account.cpu_ns >= 40000000);
    assert_true(account.busy_ns > 0);
}

struct moving {
    struct thread_pool_task task;
    struct executor executor;
    bool at_work, at_work_at_file;
    uint64_t n_moves;
};

static void see_at_file(struct io_watch *watch, bool writes, bool begins);

static struct seeing {
    struct io_watch watch;
    struct thread_pool_account account;
    bool at_work;
} seen = {.watch = {see_at_file}};

static void see_at_file(struct io_watch *watch, bool writes, bool begins)
{
    uint64_t n = 0;
    (void)watch;
    (void)writes;
    if (begins) {
        seen.at_work = thread_pool_account_is_at_work(&seen.account, &n);
    }
}

static void move_in_task(struct thread_pool_task *task)
{
    struct moving *m = (struct moving *)task;
    char byte;
    m->executor.run(m->executor.context, 20, burn, NULL);
    seen.at_work = true;
    (void)io_watch_pread(-1, &byte, 1, 0);
    m->at_work_at_file = seen.at_work;
    seen.at_work = true;
    (void)disk_sync("test", -1);
    m->at_work_at_file = m->at_work_at_file || seen.at_work;
    m->at_work = thread_pool_account_is_at_work(&seen.account, &m->n_moves);
    moves_add();
}

TEST(bodies_and_calls_to_files_are_moves_and_a_thread_in_a_file_is_not_at_work)
{
    for (size_t n_threads = 1; n_threads < 4; n_threads++) {
        struct thread_pool *pool;
        uint64_t n = 0;
        assert_int_equal(thread_pool_new(n_threads, &pool), STATUS_OK);
        seen.account = (struct thread_pool_account){.watch = &seen.watch};
        struct moving m = {
            .task = {.work = move_in_task, .done = nothing, .account = &seen.account},
            .executor = thread_pool_executor(pool)};
        thread_pool_submit(pool, 0, &m.task);
        thread_pool_free(pool);
        assert_int_equal(m.n_moves, 20 + 2);
        assert_true(m.at_work);
        assert_false(m.at_work_at_file);
        assert_false(thread_pool_account_is_at_work(&seen.account, &n));
        assert_int_equal(n, 20 + 2 + 1 + 1); /* one that it added, and its end */
    }
}

/* --- short jobs --------------------------------------------------------------------------------
 */

static struct thread_pool_account of_short = {.is_short = true}, of_long;

struct beside {
    struct thread_pool_task task;
    struct thread_pool *pool;
    struct beside *other;
    atomic_bool has_run;
    bool other_has_run;
};

static void run_beside(struct thread_pool_task *task)
{
    atomic_store(&((struct beside *)task)->has_run, true);
}

/* The first body has a short job's task come; the last one sees whether it has run. */
static void bring_and_look(void *arg, size_t i)
{
    struct beside *b = arg;
    if (i == 0) {
        thread_pool_submit(b->pool, 0, &b->other->task);
    }
    b->other_has_run = i > 0 && atomic_load(&b->other->has_run);
}

static void loop_beside(struct thread_pool_task *task)
{
    struct beside *b = (struct beside *)task;
    const struct executor e = thread_pool_executor(b->pool);
    e.run(e.context, 2, bring_and_look, b);
}

TEST(tasks_of_short_jobs_run_between_the_bodies_of_a_long_ones_loop)
{
    struct thread_pool *pool;
    assert_int_equal(thread_pool_new(1, &pool), STATUS_OK);
    struct beside little = {.task = {.work = run_beside, .done = nothing, .account = &of_short}};
    struct beside large = {.task = {.work = loop_beside, .done = nothing, .account = &of_long},
                           .pool = pool,
                           .other = &little};
    thread_pool_submit(pool, 0, &large.task);
    thread_pool_free(pool);
    assert_true(large.other_has_run);
}

static void burn_task(struct thread_pool_task *task)
{
    (void)task;
    burn(NULL, 0);
}

/* Comes again and again, until the other one has run. */
static void come_again(struct thread_pool_task *task)
{
    struct beside *b = (struct beside *)task;
    if (!atomic_load(&b->other->has_run)) {
        thread_pool_submit(b->pool, 2, task);
    } else {
        atomic_store(&b->has_run, true);
    }
}

TEST(long_jobs_have_their_turn_however_many_short_ones_come)
{
    struct thread_pool *pool;
    assert_int_equal(thread_pool_new(1, &pool), STATUS_OK);
    struct beside large = {.task = {.work = run_beside, .done = nothing, .account = &of_long}};
    struct beside little[2];
    for (int i = 0; i < 2; i++) {
        little[i] =
            (struct beside){.task = {.work = burn_task, .done = come_again, .account = &of_short},
                            .pool = pool,
                            .other = &large};
        thread_pool_submit(pool, 2, &little[i].task);
    }
    thread_pool_submit(pool, 0, &large.task);
    while (!atomic_load(&little[0].has_run) || !atomic_load(&little[1].has_run)) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    thread_pool_free(pool);
}

static void bring_and_burn(void *arg, size_t i)
{
    bring_and_look(arg, i);
    burn(NULL, i);
}

static void burn_beside(struct thread_pool_task *task)
{
    struct beside *b = (struct beside *)task;
    const struct executor e = thread_pool_executor(b->pool);
    e.run(e.context, 2, bring_and_burn, b);
}

static void burn_long(struct thread_pool_task *task)
{
    for (size_t i = 0; i < 50; i++) {
        burn(NULL, i);
    }
    run_beside(task);
}

TEST(a_task_that_runs_within_another_is_busy_once)
{
    struct thread_pool *pool;
    const uint64_t begin = thread_pool_now_ns();
    assert_int_equal(thread_pool_new(1, &pool), STATUS_OK);
    struct thread_pool_account inner_account = {.is_short = true}, outer_account = {0};
    struct beside little = {
        .task = {.work = burn_long, .done = nothing, .account = &inner_account}};
    struct beside large = {
        .task = {.work = burn_beside, .done = nothing, .account = &outer_account},
        .pool = pool,
        .other = &little};
    thread_pool_submit(pool, 0, &large.task);
    thread_pool_free(pool);
    assert_true(large.other_has_run);
    assert_true(outer_account.busy_ns > 0);
    assert_true(inner_account.busy_ns >= 100000000);
    assert_true(outer_account.busy_ns + inner_account.busy_ns <= thread_pool_now_ns() - begin);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
