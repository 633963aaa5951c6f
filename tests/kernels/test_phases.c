/*
 * test_phases - phases follow each other, and every piece of each is done once, by any number of
 * threads, also by such as come late or never.
 * ctest: tsan=yes
 */
#include "kernels/base/queue_cpu.h"
#include "kernels/sciddicat/phases_cpu.h"
#include "pipeline/engine/thread_pool.h"
#include "tests/support/unit.h"

#include <stdatomic.h>
#include <stddef.h>

enum { PHASES = 3000 };

struct work {
    size_t phase; /* that is open; the first is 1 */
    size_t n_pieces;
    size_t done[CPU_MOST_PIECES]; /* the last phase in which it was */
    atomic_size_t n_done, wrong;
};

static size_t next(void *arg)
{
    struct work *w = arg;
    atomic_fetch_add(&w->wrong, w->n_done != w->n_pieces);
    w->n_done = 0;
    w->n_pieces = w->phase++ == PHASES ? 0 : 1 + w->phase * 7 % CPU_MOST_PIECES;
    return w->n_pieces;
}

static void piece(void *arg, size_t index)
{
    struct work *w = arg;
    atomic_fetch_add(&w->wrong, index >= w->n_pieces || w->done[index] >= w->phase);
    w->done[index] = w->phase;
    atomic_fetch_add(&w->n_done, 1);
}

static void run_phases(struct executor executor)
{
    struct cpu_backend backend = {.executor = executor};
    struct queue queue = {.backend = &backend.base};
    struct work w = {0};
    cpu_run_phases(&queue, executor.n_threads,
                   &(struct cpu_phases){.next = next, .piece = piece, .arg = &w});
    assert_int_equal(w.wrong, 0);
    assert_int_equal(w.phase, PHASES + 1);
    assert_int_equal(w.n_pieces, 0);
}

static void one_after_the_other(void *context, size_t n, void (*body)(void *arg, size_t index),
                                void *arg)
{
    (void)context;
    for (size_t i = n; i-- > 0;) {
        body(arg, i);
    }
}

TEST(phases_do_every_piece_once_with_one_thread)
{
    run_phases((struct executor){.n_threads = 1, .run = one_after_the_other});
    run_phases((struct executor){.n_threads = 5, .run = one_after_the_other});
}

TEST(phases_do_every_piece_once_with_several_threads)
{
    for (size_t n = 2; n < 6; ++n) {
        struct thread_pool *pool;
        assert_int_equal(thread_pool_new(n, &pool), STATUS_OK);
        run_phases(thread_pool_executor(pool));
        thread_pool_free(pool);
    }
}

static size_t none(void *arg)
{
    ++*(size_t *)arg;
    return 0;
}

TEST(phases_may_be_none)
{
    struct cpu_backend backend = {.executor = {.n_threads = 3, .run = one_after_the_other}};
    struct queue queue = {.backend = &backend.base};
    size_t asked = 0;
    cpu_run_phases(&queue, 3, &(struct cpu_phases){.next = none, .piece = piece, .arg = &asked});
    assert_int_equal(asked, 1);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
