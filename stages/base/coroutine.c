#include "stages/base/coroutine.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define WATCHES_ADDRESSES 1
#include <sanitizer/common_interface_defs.h>
#else
#define WATCHES_ADDRESSES 0
#endif
#if defined(__SANITIZE_THREAD__)
#define WATCHES_THREADS 1
#include <sanitizer/tsan_interface.h>
#else
#define WATCHES_THREADS 0
#endif

struct coroutine {
    ucontext_t inside, outside;
    void (*body)(void *context);
    void *context;
    char *stack; /* a page that nobody may touch, then the stack, which grows towards it */
    bool has_ended;
#if WATCHES_ADDRESSES
    void *inside_fake, *of_outside;
    size_t outside_bytes;
    const void *outside_stack;
#endif
#if WATCHES_THREADS
    void *inside_fiber, *outside_fiber;
#endif
};

static size_t guard_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* --- switching ------------------------------------------------------------------------------- */

/* As swapcontext, which the address sanitizer talks about whenever it is called. */
static void swap(ucontext_t *from, const ucontext_t *to)
{
    volatile bool is_back = false;
    (void)getcontext(from); /* both fail for no valid context */
    if (!is_back) {
        is_back = true;
        (void)setcontext(to);
    }
}

static void enter(struct coroutine *c)
{
#if WATCHES_ADDRESSES
    __sanitizer_start_switch_fiber(&c->of_outside, c->stack + guard_bytes(), COROUTINE_STACK_BYTES);
#endif
#if WATCHES_THREADS
    c->outside_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(c->inside_fiber, 0);
#endif
    swap(&c->outside, &c->inside);
#if WATCHES_ADDRESSES
    __sanitizer_finish_switch_fiber(c->of_outside, NULL, NULL);
#endif
}

static void has_entered(struct coroutine *c)
{
#if WATCHES_ADDRESSES
    __sanitizer_finish_switch_fiber(c->inside_fake, &c->outside_stack, &c->outside_bytes);
#endif
    (void)c;
}

static void leave(struct coroutine *c)
{
#if WATCHES_ADDRESSES
    __sanitizer_start_switch_fiber(c->has_ended ? NULL : &c->inside_fake, c->outside_stack,
                                   c->outside_bytes);
#endif
#if WATCHES_THREADS
    __tsan_switch_to_fiber(c->outside_fiber, 0);
#endif
    swap(&c->inside, &c->outside);
}

/* makecontext passes on numbers of 32 bits alone: the halves of an address. */
static void begin(unsigned high, unsigned low)
{
    struct coroutine *const c = (struct coroutine *)((uintptr_t)high << 32 | (uintptr_t)low);
    has_entered(c);
    c->body(c->context);
    c->has_ended = true;
    leave(c);
}

void coroutine_resume(struct coroutine *c)
{
    enter(c);
}

void coroutine_wait(struct coroutine *c)
{
    leave(c);
    has_entered(c);
}

bool coroutine_has_ended(const struct coroutine *c)
{
    return c->has_ended;
}

/* --- stacks ---------------------------------------------------------------------------------- */

/* Those that are not in use: their pages are there, each of which costs a new stack a fault. */
static struct {
    pthread_mutex_t lock;
    char *at[8];
    size_t n;
} unused = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* NULL, and errno: there is no memory. */
static char *take_stack(void)
{
    const size_t guard = guard_bytes(), bytes = guard + COROUTINE_STACK_BYTES;
    pthread_mutex_lock(&unused.lock);
    char *const used = unused.n > 0 ? unused.at[--unused.n] : NULL;
    pthread_mutex_unlock(&unused.lock);
    if (used != NULL) {
        return used;
    }
    void *const stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        return NULL;
    }
    if (mprotect(stack, guard, PROT_NONE) != 0) {
        const int error = errno;
        munmap(stack, bytes);
        errno = error;
        return NULL;
    }
    return stack;
}

static void give_stack(char *stack)
{
    pthread_mutex_lock(&unused.lock);
    const bool is_kept = unused.n < sizeof unused.at / sizeof *unused.at;
    if (is_kept) {
        unused.at[unused.n++] = stack;
    }
    pthread_mutex_unlock(&unused.lock);
    if (!is_kept) {
        munmap(stack, guard_bytes() + COROUTINE_STACK_BYTES);
    }
}

/* --- life ------------------------------------------------------------------------------------ */

enum status coroutine_new(void (*body)(void *), void *context, struct coroutine **out)
{
    struct coroutine *const c = calloc(1, sizeof *c);
    *out = NULL;
    if (c == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a job's stack");
    }
    *c = (struct coroutine){.body = body, .context = context, .stack = take_stack()};
    if (c->stack == NULL || getcontext(&c->inside) != 0) {
        const int error = errno;
        coroutine_free(c);
        return status_fail_errno(error, "no memory for a job's stack");
    }
    c->inside.uc_stack.ss_sp = c->stack + guard_bytes();
    c->inside.uc_stack.ss_size = COROUTINE_STACK_BYTES;
    makecontext(&c->inside, (void (*)(void))begin, 2, (unsigned)((uintptr_t)c >> 32),
                (unsigned)(uintptr_t)c);
#if WATCHES_THREADS
    c->inside_fiber = __tsan_create_fiber(0);
#endif
    *out = c;
    return STATUS_OK;
}

void coroutine_free(struct coroutine *c)
{
    if (c == NULL) {
        return;
    }
#if WATCHES_THREADS
    if (c->inside_fiber != NULL) {
        __tsan_destroy_fiber(c->inside_fiber);
    }
#endif
    if (c->stack != NULL) {
        give_stack(c->stack);
    }
    free(c);
}
