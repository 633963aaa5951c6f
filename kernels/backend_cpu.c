/*
 * backend_cpu - the CPU's table; opening and describing it.
 */
#include "kernels/base/blas_calls.h"
#include "kernels/base/queue_cpu.h"
#include "kernels/base/sets_cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of the first "model name" line; "CPU" where the system has none. */
static void model_name(char *to, size_t size)
{
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "re");
    (void)snprintf(to, size, "CPU");
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

void backend_prepare(void)
{
    blas_choose();
}

enum status backend_load_products(size_t n_threads)
{
    return blas_need(n_threads);
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
    /* Where addresses are limited, OpenBLAS's buffers are taken while there are some. */
    if (blas_is_limited()) {
        const enum status code = blas_need(config->executor.n_threads);
        if (code != STATUS_OK) {
            free(b);
            return code;
        }
    }
    b->base.ops = &backend_cpu;
    b->executor = config->executor;
    model_name(b->device, sizeof b->device);
    *out = &b->base;
    return STATUS_OK;
}

static void cpu_close(struct backend *b)
{
    free(b);
}

/* The widest set that the kernels are compiled for and the processor has. */
static const char *instruction_set(void)
{
#if defined(__x86_64__)
    static const char *const names[] = {"AVX-512", "AVX2", "SSE2"};
    return names[cpu_set_first()];
#elif defined(__aarch64__)
    return "NEON";
#else
    return "base instruction set";
#endif
}

static void cpu_describe(const struct backend *b, struct backend_info *out)
{
    const struct cpu_backend *cpu = (const struct cpu_backend *)b;
    *out = (struct backend_info){.name = "cpu", .n_threads = cpu->executor.n_threads};
    (void)snprintf(out->device, sizeof out->device, "%s", cpu->device);
    (void)snprintf(out->detail, sizeof out->detail, "%s", instruction_set());
    if (!blas_is_loaded()) {
        return;
    }
    /* "OpenBLAS 0.3.21 NO_LAPACKE ...": the first two words */
    const char *name = blas.get_config(), *core = blas_better_core();
    size_t words = strcspn(name, " ");
    words += name[words] == ' ' ? 1 + strcspn(name + words + 1, " ") : 0;
    (void)snprintf(out->products, sizeof out->products, ", %.*s (%s)", (int)words, name,
                   blas.get_corename());
    if (core != NULL) {
        (void)snprintf(out->advice, sizeof out->advice,
                       "OpenBLAS multiplies as on a %s; without " BLAS_CORE_VARIABLE
                       ", or with " BLAS_CORE_VARIABLE "=%s, it is faster",
                       blas.get_corename(), core);
    }
}

#define MEMBER(name)        .name = cpu_##name,
#define FAMILY_MEMBER(name) .name = &cpu_##name,
const struct backend_ops backend_cpu = {.name = "cpu",
                                        .count = cpu_count,
                                        .open = cpu_open,
                                        .close = cpu_close,
                                        .describe = cpu_describe,
                                        .host_alloc = cpu_host_alloc,
                                        .host_free = cpu_host_free,
                                        .host_pin = cpu_host_pin,
                                        .host_unpin = cpu_host_unpin,
                                        QUEUE_OPS(MEMBER) KERNEL_FAMILIES(FAMILY_MEMBER)};
