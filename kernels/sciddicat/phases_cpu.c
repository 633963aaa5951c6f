/*
 * phases_cpu - threads that hand phases on without sleeping. See phases_cpu.h.
 *
 * One word holds the number of the open phase and how many pieces it has. The thread that first
 * writes that number on a piece does the piece; the one that finishes the last piece opens the next
 * phase. A thread that leaves holds no piece, so the one that does goes on.
 */
#include "kernels/sciddicat/phases_cpu.h"

#include "kernels/base/queue_cpu.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

/* Looks in vain: so many of some 50 ns each, then so many that let others of the machine go first.
 */
enum { QUICK_LOOKS = 1000, MOST_LOOKS = 3000 };

static const uint64_t ended = UINT64_MAX, one_phase = (uint64_t)1 << 32;

struct team {
    const struct cpu_phases *phases;
    size_t n_threads;
    _Alignas(64) _Atomic uint64_t open; /* the phase's number * 2^32 + its pieces, or `ended` */
    _Alignas(64) atomic_size_t n_unfinished; /* pieces of it */
    _Atomic uint64_t begun[CPU_MOST_PIECES]; /* in which phase last; numbers begin with 1 */
};

static void open_phase(struct team *t, uint64_t number)
{
    const size_t n = t->phases->next(t->phases->arg);
    atomic_store_explicit(&t->n_unfinished, n, memory_order_relaxed);
    atomic_store_explicit(&t->open, n == 0 ? ended : number * one_phase + n, memory_order_release);
}

/* True for one thread: it does the piece. */
static bool begin_piece(struct team *t, size_t i, uint64_t number)
{
    uint64_t before = atomic_load_explicit(&t->begun[i], memory_order_relaxed);
    return before < number &&
           atomic_compare_exchange_strong_explicit(&t->begun[i], &before, number,
                                                   memory_order_relaxed, memory_order_relaxed);
}

static void pause_before(unsigned look)
{
    if (look > QUICK_LOOKS) {
        sched_yield();
        return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void join(void *arg, size_t index)
{
    struct team *t = arg;
    uint64_t last = 0;
    for (unsigned in_vain = 0; in_vain < MOST_LOOKS;) {
        const uint64_t open = atomic_load_explicit(&t->open, memory_order_acquire);
        if (open == ended) {
            return;
        }
        if (open == last) {
            pause_before(++in_vain);
            continue;
        }
        const size_t n = (size_t)(open % one_phase), first = index * n / t->n_threads;
        for (size_t k = 0; k < n; ++k) {
            const size_t i = (first + k) % n;
            if (begin_piece(t, i, open / one_phase)) {
                t->phases->piece(t->phases->arg, i);
                if (atomic_fetch_sub_explicit(&t->n_unfinished, 1, memory_order_acq_rel) == 1) {
                    open_phase(t, open / one_phase + 1);
                }
            }
        }
        last = open;
        in_vain = 0;
    }
}

void cpu_run_phases(struct queue *q, size_t n_threads, const struct cpu_phases *phases)
{
    struct team t = {.phases = phases, .n_threads = n_threads};
    open_phase(&t, 1);
    if (t.open != ended) {
        cpu_run(q, n_threads, join, &t);
    }
}
