/*
 * backend_cpu - the CPU's table; opening and describing it. OpenBLAS runs on one thread; the
 * kernels give it tiles from the executor's threads.
 */
#include "kernels/base/queue_cpu.h"
#include "kernels/blas_core.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Of OpenBLAS, in no header of its own: one of the buffers that a thread has while it multiplies.
 * It is kept for the next one that asks. */
void *blas_memory_alloc(int where);
void blas_memory_free(void *buffer);

enum {
    BUFFER_BYTES = 160 << 20, /* more than any of its buffers; 128 MiB on x86-64 */
    BUFFERS_MOST = 128
};

/* Under a limit on addresses (ulimit -v) OpenBLAS asks for ever for a buffer that it cannot have:
 * so each thread's is taken before, while there are addresses for it. */
static enum status take_buffers(size_t n_threads)
{
    struct rlimit limit;
    void *buffers[BUFFERS_MOST];
    const size_t wanted = n_threads < BUFFERS_MOST ? n_threads : BUFFERS_MOST;
    size_t n = 0;
    bool good = true;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return STATUS_OK;
    }
    while (good && n < wanted) {
        void *room =
            mmap(NULL, BUFFER_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        good = room != MAP_FAILED;
        if (good) {
            munmap(room, BUFFER_BYTES);
            buffers[n++] = blas_memory_alloc(0);
        }
    }
    for (size_t i = 0; i < n; i++) {
        blas_memory_free(buffers[i]);
    }
    return good ? STATUS_OK
                : status_fail(STATUS_NO_MEMORY,
                              "the limit on addresses (ulimit -v) of %llu MiB is too low for %zu "
                              "threads: OpenBLAS takes %d MiB for each; raise it, or use fewer "
                              "(--threads)",
                              (unsigned long long)(limit.rlim_cur >> 20), n_threads,
                              BUFFER_BYTES >> 20);
}

static enum status cpu_count(size_t *n)
{
    *n = 1;
    return STATUS_OK;
}

static enum status cpu_open(const struct backend_config *config, struct backend **out)
{
    *out = NULL;
    if (config->executor.run == NULL) {
        return status_fail(STATUS_INTERNAL, "the CPU backend needs an executor");
    }
    struct cpu_backend *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the CPU backend");
    }
    openblas_set_num_threads(1);
    const enum status code = take_buffers(config->executor.n_threads);
    if (code != STATUS_OK) {
        free(b);
        return code;
    }
    b->base.ops = &backend_cpu;
    b->executor = config->executor;
    *out = &b->base;
    return STATUS_OK;
}

static void cpu_close(struct backend *b)
{
    free(b);
}

/* The value of the first "model name" line; "" where the system has none. */
static void model_name(char *to, size_t size)
{
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "re");
    to[0] = '\0';
    if (f == NULL) {
        return;
    }
    while (fgets(line, sizeof line, f) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            line[strcspn(line, "\n")] = '\0';
            (void)snprintf(to, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
            break;
        }
    }
    (void)fclose(f);
}

/* The widest set that the kernels are compiled for and the processor has. */
static const char *instruction_set(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) {
        return "AVX-512";
    }
    return __builtin_cpu_supports("avx2") ? "AVX2" : "SSE2";
#elif defined(__aarch64__)
    return "NEON";
#else
    return "base instruction set";
#endif
}

static void cpu_describe(const struct backend *b, struct backend_info *out)
{
    *out = (struct backend_info){.name = "cpu",
                                 .n_threads = ((const struct cpu_backend *)b)->executor.n_threads};
    model_name(out->device, sizeof out->device);
    if (out->device[0] == '\0') {
        (void)snprintf(out->device, sizeof out->device, "CPU");
    }
    /* "OpenBLAS 0.3.21 NO_LAPACKE ...": the first two words */
    const char *blas = openblas_get_config();
    size_t words = strcspn(blas, " ");
    words += blas[words] == ' ' ? 1 + strcspn(blas + words + 1, " ") : 0;
    (void)snprintf(out->detail, sizeof out->detail, "%s, %.*s (%s)", instruction_set(), (int)words,
                   blas, openblas_get_corename());
    const char *core = blas_core_better();
    if (core != NULL) {
        (void)snprintf(
            out->advice, sizeof out->advice,
            "OpenBLAS does not know this processor and multiplies as on a %s; " BLAS_CORE_VARIABLE
            "=%s in the environment makes that faster",
            openblas_get_corename(), core);
    }
}

/* A family of kernels as a member of the table, after the others. */
#define AND_FAMILY(name) , .name = &cpu_##name
const struct backend_ops backend_cpu = {
    .name = "cpu",
    .count = cpu_count,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_host_free,
    .host_pin = cpu_host_pin,
    .host_unpin = cpu_host_unpin,
    .queue_new = cpu_queue_new,
    .queue_free = cpu_queue_free,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .upload = cpu_upload,
    .upload_wait = cpu_upload_wait,
    .download = cpu_download,
    .copy = cpu_copy,
    .copy_across = cpu_copy_across,
    .zero = cpu_zero,
    .finish = cpu_finish,
    .trim = cpu_trim,
    .busy = cpu_busy,
    .busy_all = cpu_busy_all KERNEL_FAMILIES(AND_FAMILY),
};
