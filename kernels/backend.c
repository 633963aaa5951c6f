/*
 * backend - which backend a run gets: the CPU's table is linked in, CUDA's is looked for at run
 * time.
 */
#include "kernels/backend.h"

#include "kernels/self_test.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef LEAT_MODULE_DIR
#define LEAT_MODULE_DIR "/usr/local/lib/leat"
#endif

static const char DRIVER[] = "libcuda.so.1";

/* The directory of this program; "." where the system does not say. */
static void program_dir(char *to, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", to, size - 1);
    to[n > 0 ? (size_t)n : 0] = '\0';
    char *slash = strrchr(to, '/');
    if (slash == NULL) {
        (void)snprintf(to, size, ".");
    } else {
        *slash = '\0';
    }
}

/* Loads the module from the first place that has it; a file that is there and cannot be loaded ends
 * the search with the loader's words. */
static enum status load_module(const struct backend_ops **out)
{
    char here[PATH_MAX], path[PATH_MAX + 64];
    const char *chosen = getenv("LEAT_MODULE_DIR");
    *out = NULL;
    program_dir(here, sizeof here);
    struct {
        const char *dir, *below;
    } places[] = {{chosen, ""}, {here, ""}, {here, "/../lib/leat"}, {LEAT_MODULE_DIR, ""}};
    for (size_t k = 0; k < sizeof places / sizeof *places; ++k) {
        if (places[k].dir == NULL || places[k].dir[0] == '\0') {
            continue;
        }
        int n = snprintf(path, sizeof path, "%s%s/%s", places[k].dir, places[k].below,
                         BACKEND_MODULE_FILE);
        if (n < 0 || (size_t)n >= sizeof path || access(path, F_OK) != 0) {
            continue;
        }
        /* the module and its cuBLAS take far longer to load than to see that there is no driver */
        void *driver = dlopen(DRIVER, RTLD_LAZY | RTLD_LOCAL);
        if (driver == NULL) {
            return status_fail(STATUS_NO_BACKEND, "no CUDA driver for %s: %s", BACKEND_MODULE_FILE,
                               dlerror());
        }
        void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (module == NULL) {
            enum status st =
                status_fail(STATUS_NO_BACKEND, "cannot load the CUDA module: %s", dlerror());
            (void)dlclose(driver); /* not before: it forgets the loader's words */
            return st;
        }
        (void)dlclose(driver);
        /* POSIX lets a symbol's address be taken for a function's; ISO C has no conversion */
        backend_module_fn *table;
        *(void **)&table = dlsym(module, BACKEND_MODULE_SYMBOL);
        if (table == NULL) {
            (void)dlclose(module);
            return status_fail(STATUS_NO_BACKEND, "%s is not a module of leat: no symbol %s", path,
                               BACKEND_MODULE_SYMBOL);
        }
        *out = table(); /* the module stays loaded: the table lies in it */
        return STATUS_OK;
    }
    return status_fail(STATUS_NO_BACKEND, "no CUDA module (%s) is installed", BACKEND_MODULE_FILE);
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
