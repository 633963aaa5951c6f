/*
 * blas_calls - see blas_calls.h.
 */
#include "kernels/base/blas_calls.h"

#include "formats/base/data_limit.h"
#include "kernels/base/sets_cpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
    BUFFER_BYTES = 160 << 20, /* more than any of its buffers; 128 MiB on x86-64 */
    BUFFERS_MOST = 128
};

static const char *const names[] = {BLAS_CALLS(MODULE_NAME) NULL};

struct blas_calls blas;
static struct module_library library = {
    .module = {.name = "BLAS", .file = "leat_blas.so", .missing = STATUS_NO_BACKEND},
    .names = names,
    .calls = &blas};
static bool is_loaded;
static size_t n_ready;                                   /* threads */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of both */

/* NULL: one that OpenBLAS has always known. */
static const char *best_core(void)
{
#if defined(__x86_64__)
    static const char *const cores[] = {"SkylakeX", "Haswell", NULL};
    return cores[cpu_set_first()];
#else
    return NULL;
#endif
}

/* Where the environment has no room, OpenBLAS is slower. */
void blas_choose(void)
{
    const char *core = best_core();
    (void)setenv(BLAS_THREADS_VARIABLE, "1", 1);
    if (core != NULL) {
        (void)setenv(BLAS_CORE_VARIABLE, core, 0);
    }
}

const char *blas_better_core(void)
{
    static const char *const old[] = {"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem"};
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        if (strcmp(blas.get_corename(), old[i]) == 0) {
            return best_core();
        }
    }
    return NULL;
}

bool blas_is_limited(void)
{
    struct rlimit addresses, data;
    return (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) ||
           (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY);
}

/* While leat's own limit pauses; there is room for the buffers of n_fit threads. */
static enum status fail_for_room(size_t n_threads, size_t n_fit)
{
    char fewer[48] = "";
    struct rlimit addresses, data;
    const bool has_addresses =
        getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur == RLIM_INFINITY;
    const bool has_data = getrlimit(RLIMIT_DATA, &data) != 0 || data.rlim_cur == RLIM_INFINITY;
    if (has_addresses && has_data) {
        return status_fail(STATUS_NO_MEMORY,
                           "no memory for OpenBLAS, which takes %d MiB for each of %zu threads",
                           BUFFER_BYTES >> 20, n_threads);
    }
    if (n_fit > 0) {
        snprintf(fewer, sizeof(fewer), ", or use --threads %zu", n_fit);
    }
    const bool is_data = has_addresses || (!has_data && data.rlim_cur < addresses.rlim_cur);
    return status_fail(STATUS_NO_MEMORY,
                       "the limit on %s of %llu MiB is too low for --threads %zu: "
                       "OpenBLAS takes %d MiB for each; raise it%s",
                       is_data ? "data (ulimit -d)" : "addresses (ulimit -v)",
                       (unsigned long long)((is_data ? data : addresses).rlim_cur >> 20), n_threads,
                       BUFFER_BYTES >> 20, fewer);
}

/* Under a limit on addresses or data (ulimit -v, -d) OpenBLAS asks for ever for a buffer that it
 * cannot have: so each thread's is taken before, while there is room for it. Of most of a buffer it
 * uses nothing: leat's own limit does not count it. */
static enum status take_buffers(size_t n_threads)
{
    void *buffers[BUFFERS_MOST];
    const size_t wanted = n_threads < BUFFERS_MOST ? n_threads : BUFFERS_MOST;
    size_t n = 0;
    bool good = true;
    if (!blas_is_limited()) {
        return STATUS_OK;
    }
    data_limit_pause();
    while (good && n < wanted) {
        void *room = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, /* as data counts */
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        good = room != MAP_FAILED;
        if (good) {
            munmap(room, BUFFER_BYTES);
            buffers[n++] = blas.memory_alloc(0);
        }
    }
    for (size_t i = 0; i < n; i++) {
        blas.memory_free(buffers[i]);
    }
    const enum status code = good ? STATUS_OK : fail_for_room(n_threads, n);
    data_limit_resume();
    return code;
}

enum status blas_need(size_t n_threads)
{
    pthread_mutex_lock(&lock);
    enum status code = module_need(&library);
    if (code == STATUS_OK && !is_loaded) {
        blas.set_num_threads(1); /* tiles come from the executor's threads */
        is_loaded = true;
    }
    if (code == STATUS_OK && n_threads > n_ready) {
        code = take_buffers(n_threads);
        n_ready = code == STATUS_OK ? n_threads : n_ready;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

bool blas_is_loaded(void)
{
    pthread_mutex_lock(&lock);
    const bool is = is_loaded;
    pthread_mutex_unlock(&lock);
    return is;
}
