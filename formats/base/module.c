/*
 * module - see module.h.
 */
#include "formats/base/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef LEAT_MODULE_DIR
#define LEAT_MODULE_DIR "/usr/local/lib/leat"
#endif

static void keep_dir(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash != NULL) {
        slash[slash == path] = '\0'; /* "/" stays */
    }
}

/* The directory of this program; "" and errno where the system does not say. */
static void program_dir(char to[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", to, PATH_MAX - 1);
    to[n > 0 ? (size_t)n : 0] = '\0';
    keep_dir(to);
}

/* Of the library of which this is a part; "": it is the program's. */
static void library_dir(char to[PATH_MAX])
{
    Dl_info own;
    const bool found = dladdr((const void *)(uintptr_t)module_find, &own) != 0 &&
                       own.dli_fname != NULL && strstr(own.dli_fname, ".so") != NULL &&
                       realpath(own.dli_fname, to) != NULL;
    to[found ? strlen(to) : 0] = '\0';
    keep_dir(to);
}

enum status module_find(const struct module *m, char path[MODULE_PATH_BYTES])
{
    char here[PATH_MAX], beside[PATH_MAX];
    const char *chosen = getenv("LEAT_MODULE_DIR");
    program_dir(here);
    const int unknown = here[0] == '\0' ? errno : 0;
    library_dir(beside);
    struct {
        const char *dir, *below;
    } places[] = {{chosen, ""},
                  {beside, ""},
                  {beside, "/leat"},
                  {beside, "/../leat"},
                  {beside, "/../lib/leat"}, /* of lib64, and before it of lib/x86_64-linux-gnu */
                  {here, ""},
                  {here, "/../lib/leat"},
                  {LEAT_MODULE_DIR, ""}};
    for (size_t k = 0; k < sizeof places / sizeof *places; ++k) {
        if (places[k].dir == NULL || places[k].dir[0] == '\0') {
            continue;
        }
        int n =
            snprintf(path, MODULE_PATH_BYTES, "%s%s/%s", places[k].dir, places[k].below, m->file);
        if (n >= 0 && n < MODULE_PATH_BYTES && access(path, F_OK) == 0) {
            return STATUS_OK;
        }
    }
    return unknown == 0
               ? status_fail(m->missing, "no %s module (%s) is installed", m->name, m->file)
               : status_fail(m->missing,
                             "no %s module (%s) is found; the folder of leat cannot be read: %s",
                             m->name, m->file, strerror(unknown));
}

/* Bytes of addresses that the process may have; UINT64_MAX: any. */
static uint64_t address_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                                : UINT64_MAX;
}

static enum status open_module(const struct module *m, const char *path, void **out)
{
    *out = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const int failed = errno;
    if (*out != NULL) {
        return STATUS_OK;
    }
    const char *why = dlerror();
    why = why != NULL ? why : strerror(failed);
    const uint64_t limit = address_limit();
    return limit == UINT64_MAX
               ? status_fail(m->missing, "cannot load the %s module: %s", m->name, why)
               : status_fail(STATUS_NO_MEMORY,
                             "cannot load the %s module: %s; the limit on addresses (ulimit -v) of "
                             "%llu MiB may be too low",
                             m->name, why, (unsigned long long)(limit >> 20));
}

static enum status find_symbol(const struct module *m, const char *path, void *module,
                               const char *name, void **out)
{
    *out = dlsym(module, name);
    return *out != NULL ? STATUS_OK
                        : status_fail(m->missing, "%s is not a module of this leat: no symbol %s",
                                      path, name);
}

enum status module_load(const struct module *m, const char *path, void **symbol)
{
    void *module;
    *symbol = NULL;
    STATUS_TRY(open_module(m, path, &module));
    const enum status code = find_symbol(m, path, module, m->symbol, symbol);
    if (code != STATUS_OK) {
        (void)dlclose(module);
    }
    return code;
}

static enum status load_library(struct module_library *l)
{
    char path[MODULE_PATH_BYTES];
    void *module, *function;
    STATUS_TRY(module_find(&l->module, path));
    STATUS_TRY(open_module(&l->module, path, &module));
    for (size_t i = 0; l->names[i] != NULL; ++i) {
        const enum status code = find_symbol(&l->module, path, module, l->names[i], &function);
        if (code != STATUS_OK) {
            (void)dlclose(module);
            return code;
        }
        /* POSIX lets a symbol's address be taken for a function's; ISO C has no conversion */
        memcpy((char *)l->calls + i * sizeof function, &function, sizeof function);
    }
    l->is_loaded = true;
    return STATUS_OK;
}

enum status module_need(struct module_library *library)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    const enum status code = library->is_loaded ? STATUS_OK : load_library(library);
    pthread_mutex_unlock(&lock);
    return code;
}
