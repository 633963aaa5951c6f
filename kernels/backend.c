/*
 * backend - which backend a run gets: the CPU's table is linked in, CUDA's is looked for at run
 * time.
 */
#include "kernels/backend.h"

#include "formats/base/module.h"
#include "kernels/self_test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char DRIVER[] = "libcuda.so.1";

static const struct module cuda_module = {.name = "CUDA",
                                          .file = BACKEND_MODULE_FILE,
                                          .symbol = BACKEND_MODULE_SYMBOL,
                                          .missing = STATUS_NO_BACKEND};

static enum status load_module(const struct backend_ops **out)
{
    char path[MODULE_PATH_BYTES];
    *out = NULL;
    STATUS_TRY(module_find(&cuda_module, path));
    /* the module and its cuBLAS take far longer to load than to see that there is no driver */
    void *driver = dlopen(DRIVER, RTLD_LAZY | RTLD_LOCAL);
    if (driver == NULL) {
        return status_fail(STATUS_NO_BACKEND, "no CUDA driver for %s: %s", BACKEND_MODULE_FILE,
                           dlerror());
    }
    /* POSIX lets a symbol's address be taken for a function's; ISO C has no conversion */
    backend_module_fn *table;
    const enum status code = module_load(&cuda_module, path, (void **)&table);
    (void)dlclose(driver); /* not before: the module would load it once more */
    if (code == STATUS_OK) {
        *out = table(status_vfail);
    }
    return code;
}

/* The message outlives its own replacement in a copy. */
static enum status cannot_be_used(enum status code)
{
    char reason[STATUS_MESSAGE_BYTES];
    if (code == STATUS_OK || code == STATUS_NO_BACKEND) {
        return code;
    }
    (void)snprintf(reason, sizeof reason, "%s", status_message());
    return status_fail(STATUS_NO_BACKEND, "the CUDA backend cannot be used: %s", reason);
}

enum status backend_count_cuda(size_t *n)
{
    const struct backend_ops *ops;
    *n = 0;
    STATUS_TRY(load_module(&ops));
    return cannot_be_used(ops->count(n));
}

static enum status open_tested(const struct backend_config *config, struct backend **out)
{
    const struct backend_ops *ops;
    struct backend *cuda = NULL, *cpu = NULL;
    STATUS_TRY(load_module(&ops));
    STATUS_TRY(ops->open(config, &cuda));
    enum status st = backend_cpu.open(config, &cpu);
    if (st == STATUS_OK) {
        st = self_test(cuda, cpu);
        backend_cpu.close(cpu);
    }
    if (st != STATUS_OK) {
        ops->close(cuda);
        return st;
    }
    *out = cuda;
    return STATUS_OK;
}

enum status backend_open_cuda(const struct backend_config *config, struct backend **out)
{
    *out = NULL;
    return cannot_be_used(open_tested(config, out));
}

enum status backend_select(const char *want, const struct backend_config *config, char *why,
                           size_t why_bytes, struct backend **out)
{
    *out = NULL;
    if (why_bytes > 0) {
        why[0] = '\0';
    }
    if (strcmp(want, "cpu") == 0) {
        return backend_cpu.open(config, out);
    }
    bool automatic = strcmp(want, "auto") == 0;
    if (!automatic && strcmp(want, "cuda") != 0) {
        return status_fail(STATUS_BAD_ARGUMENT, "backend '%s': give auto, cpu or cuda", want);
    }
    enum status st = backend_open_cuda(config, out);
    if (st != STATUS_OK && automatic) {
        (void)snprintf(why, why_bytes, "on the CPU: %s", status_message());
        return backend_cpu.open(config, out);
    }
    return st;
}
