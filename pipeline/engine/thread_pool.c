/*
 * thread_pool - threads, tasks and shared loops. See thread_pool.h.
 *
 * One mutex for a thread pool: it is held for a few instructions each time. A loop is a `loop` on
 * its caller's stack; threads that join it are counted, and the caller leaves only when all who
 * joined have left.
 */
#include "pipeline/engine/thread_pool.h"

#include "formats/base/moves.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct loop {
    size_t n;
    atomic_size_t next;
    void (*body)(void *arg, size_t index);
    void *arg;
    struct thread_pool_account *account;
    size_t joined; /* threads at work on it, besides the caller */
    struct loop *later;
};

struct queue_of_tasks {
    struct thread_pool_task *first, **last;
};

struct thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t work; /* a task or a loop has come, or the end */
    pthread_cond_t left; /* somebody left a loop */
    struct queue_of_tasks tasks[2][THREAD_POOL_PRIORITIES]; /* of long jobs, of short ones */
    atomic_size_t n_short;                                  /* tasks of short ones */
    struct loop *loops; /* newest first: inner loops before outer ones */
    bool ending;
    size_t n_threads;
    pthread_t threads[];
};

static _Thread_local struct thread_pool_account *current_account;
static _Thread_local uint64_t long_until_ns; /* it is long jobs' turn on this thread */
static _Thread_local uint64_t within_ns; /* wall time of tasks that have run within this thread's */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A thread that is in a call to a file waits for a disk, which is not the work's fault. */
static void note_file(struct io_watch *own, bool writes, bool begins)
{
    struct thread_pool_account *const account = current_account;
    struct io_watch *const watch = account->watch;
    (void)own;
    if (begins) {
        atomic_fetch_sub_explicit(&account->n_at_work, 1, memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(&account->n_at_work, 1, memory_order_relaxed);
        moves_add();
    }
    if (watch != NULL) {
        watch->note(watch, writes, begins);
    }
}

/* Whose work this thread does from now on; NULL: nobody's any more. */
static void work_for(struct thread_pool_account *account)
{
    static struct io_watch files = {note_file};
    if (account != NULL) {
        atomic_fetch_add_explicit(&account->n_at_work, 1, memory_order_relaxed);
    } else if (current_account != NULL) {
        atomic_fetch_sub_explicit(&current_account->n_at_work, 1, memory_order_relaxed);
    }
    current_account = account;
    moves_thread(account != NULL ? &account->n_moves : NULL);
    io_watch_thread(account != NULL ? &files : NULL);
}

uint64_t thread_pool_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

bool thread_pool_account_is_at_work(const struct thread_pool_account *account, uint64_t *n_moves)
{
    *n_moves += __atomic_load_n(&account->n_moves, __ATOMIC_RELAXED);
    return atomic_load_explicit(&account->n_at_work, memory_order_relaxed) > 0;
}

static bool is_short(const struct thread_pool_account *account)
{
    return account != NULL && atomic_load_explicit(&account->is_short, memory_order_relaxed);
}

static struct thread_pool_task *take_of(struct queue_of_tasks tasks[THREAD_POOL_PRIORITIES])
{
    for (size_t p = THREAD_POOL_PRIORITIES; p-- > 0;) {
        struct thread_pool_task *task = tasks[p].first;
        if (task != NULL) {
            tasks[p].first = task->next;
            if (task->next == NULL) {
                tasks[p].last = &tasks[p].first;
            }
            return task;
        }
    }
    return NULL;
}

static struct thread_pool_task *take_short(struct thread_pool *c)
{
    struct thread_pool_task *task = take_of(c->tasks[true]);
    if (task != NULL) {
        atomic_fetch_sub_explicit(&c->n_short, 1, memory_order_relaxed);
    }
    return task;
}

static bool may_work_for_short(const struct thread_pool *c)
{
    return atomic_load_explicit(&c->n_short, memory_order_relaxed) > 0 &&
           thread_pool_now_ns() >= long_until_ns;
}

static struct thread_pool_task *take_task(struct thread_pool *c)
{
    struct thread_pool_task *task = may_work_for_short(c) ? take_short(c) : NULL;
    task = task != NULL ? task : take_of(c->tasks[false]);
    return task != NULL ? task : take_short(c);
}

static struct loop *open_loop(const struct thread_pool *c)
{
    struct loop *b = c->loops;
    while (b != NULL && atomic_load_explicit(&b->next, memory_order_relaxed) >= b->n) {
        b = b->later;
    }
    return b;
}

static void work_between(struct thread_pool *c);

static void work_on_loop(struct thread_pool *c, struct loop *b)
{
    size_t i;
    while ((i = atomic_fetch_add_explicit(&b->next, 1, memory_order_relaxed)) < b->n) {
        b->body(b->arg, i);
        moves_add();
        work_between(c);
    }
}

/* Called with the lock held; returns with it held. */
static void help_loop(struct thread_pool *c, struct loop *b)
{
    b->joined++;
    pthread_mutex_unlock(&c->lock);
    struct thread_pool_account *account = b->account;
    work_for(account);
    uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    work_on_loop(c, b);
    if (account != NULL) {
        atomic_fetch_add(&account->cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
    }
    work_for(NULL);
    pthread_mutex_lock(&c->lock);
    b->joined--;
    pthread_cond_broadcast(&c->left);
}

static void do_task(struct thread_pool_task *task)
{
    struct thread_pool_account *account = task->account;
    const bool was_short = is_short(account);
    const uint64_t within_outer_ns = within_ns;
    work_for(account);
    uint64_t wall = thread_pool_now_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    within_ns = 0;
    task->work(task);
    moves_add();
    const uint64_t end = thread_pool_now_ns();
    if (account != NULL) {
        atomic_fetch_add(&account->cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
        atomic_fetch_add(&account->busy_ns, end - wall - within_ns);
    }
    within_ns = within_outer_ns + (end - wall);
    if (was_short) {
        long_until_ns = end + (end - wall);
    }
    work_for(NULL);
    task->done(task);
}

/* Between two bodies of a long job's loop: works off a task of a short job. What that takes is not
 * the long one's. */
static void work_between(struct thread_pool *c)
{
    struct thread_pool_account *const account = current_account;
    if (account == NULL || is_short(account) || !may_work_for_short(c)) {
        return;
    }
    pthread_mutex_lock(&c->lock);
    struct thread_pool_task *const task = take_short(c);
    pthread_mutex_unlock(&c->lock);
    if (task == NULL) {
        return;
    }
    char message[STATUS_MESSAGE_BYTES]; /* which a body may have left */
    snprintf(message, sizeof(message), "%s", status_message());
    const uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    work_for(NULL);
    do_task(task);
    work_for(account);
    atomic_fetch_sub(&account->cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
    (void)status_set(STATUS_INTERNAL, message);
}

static void *thread_main(void *arg)
{
    struct thread_pool *c = arg;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        struct loop *b = open_loop(c);
        if (b != NULL) {
            help_loop(c, b);
            continue;
        }
        struct thread_pool_task *task = take_task(c);
        if (task != NULL) {
            pthread_mutex_unlock(&c->lock);
            do_task(task);
            pthread_mutex_lock(&c->lock);
            continue;
        }
        if (c->ending) {
            break;
        }
        pthread_cond_wait(&c->work, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

enum status thread_pool_new(size_t n_threads, struct thread_pool **out)
{
    *out = NULL;
    struct thread_pool *c = calloc(1, sizeof(*c) + n_threads * sizeof(c->threads[0]));
    if (c == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu threads", n_threads);
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->work, NULL);
    pthread_cond_init(&c->left, NULL);
    for (size_t p = 0; p < THREAD_POOL_PRIORITIES; p++) {
        c->tasks[false][p].last = &c->tasks[false][p].first;
        c->tasks[true][p].last = &c->tasks[true][p].first;
    }
    for (; c->n_threads < n_threads; c->n_threads++) {
        int error = pthread_create(&c->threads[c->n_threads], NULL, thread_main, c);
        if (error != 0) {
            size_t which = c->n_threads + 1;
            thread_pool_free(c);
            return status_fail_errno(error, "cannot start thread %zu of %zu", which, n_threads);
        }
    }
    *out = c;
    return STATUS_OK;
}

void thread_pool_free(struct thread_pool *c)
{
    if (c == NULL) {
        return;
    }
    pthread_mutex_lock(&c->lock);
    c->ending = true;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < c->n_threads; i++) {
        pthread_join(c->threads[i], NULL);
    }
    pthread_cond_destroy(&c->left);
    pthread_cond_destroy(&c->work);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void thread_pool_submit(struct thread_pool *c, unsigned priority, struct thread_pool_task *task)
{
    task->next = NULL;
    pthread_mutex_lock(&c->lock);
    const bool of_short = is_short(task->account);
    struct queue_of_tasks *const queue = &c->tasks[of_short][priority];
    *queue->last = task;
    queue->last = &task->next;
    atomic_fetch_add_explicit(&c->n_short, of_short, memory_order_relaxed);
    pthread_mutex_unlock(&c->lock);
    pthread_cond_signal(&c->work); /* after the lock, which who wakes up takes */
}

static void run_loop(void *context, size_t n, void (*body)(void *arg, size_t index), void *arg)
{
    struct thread_pool *c = context;
    if (n <= 1 || c->n_threads == 1) {
        for (size_t i = 0; i < n; i++) {
            body(arg, i);
            moves_add();
            work_between(c);
        }
        return;
    }
    struct loop b = {.n = n, .body = body, .arg = arg, .account = current_account};
    atomic_init(&b.next, 0);
    pthread_mutex_lock(&c->lock);
    b.later = c->loops;
    c->loops = &b;
    pthread_mutex_unlock(&c->lock);
    if (n > 2) {
        pthread_cond_broadcast(&c->work);
    } else {
        pthread_cond_signal(&c->work);
    }
    work_on_loop(c, &b);
    pthread_mutex_lock(&c->lock);
    while (b.joined != 0) {
        pthread_cond_wait(&c->left, &c->lock);
    }
    struct loop **link = &c->loops;
    while (*link != &b) {
        link = &(*link)->later;
    }
    *link = b.later;
    pthread_mutex_unlock(&c->lock);
}

double thread_pool_cpu_s(const struct thread_pool *c)
{
    uint64_t ns = 0;
    for (size_t i = 0; c != NULL && i < c->n_threads; i++) {
        clockid_t clock;
        ns += pthread_getcpuclockid(c->threads[i], &clock) == 0 ? clock_ns(clock) : 0;
    }
    return (double)ns * 1e-9;
}

struct executor thread_pool_executor(struct thread_pool *c)
{
    return (struct executor){.n_threads = c->n_threads, .run = run_loop, .context = c};
}
