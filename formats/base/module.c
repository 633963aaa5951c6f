/*
 * module - see module.h.
 */
#include "formats/base/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef LEAT_MODULE_DIR
#define LEAT_MODULE_DIR "/usr/local/lib/leat"
#endif

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

enum status module_find(const struct module *m, char path[MODULE_PATH_BYTES])
{
    char here[PATH_MAX];
    const char *chosen = getenv("LEAT_MODULE_DIR");
    program_dir(here, sizeof here);
    struct {
        const char *dir, *below;
    } places[] = {{chosen, ""}, {here, ""}, {here, "/../lib/leat"}, {LEAT_MODULE_DIR, ""}};
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
    return status_fail(m->missing, "no %s module (%s) is installed", m->name, m->file);
}

enum status module_load(const struct module *m, const char *path, void **symbol)
{
    *symbol = NULL;
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL) {
        return status_fail(m->missing, "cannot load the %s module: %s", m->name, dlerror());
    }
    *symbol = dlsym(module, m->symbol);
    if (*symbol == NULL) {
        (void)dlclose(module);
        return status_fail(m->missing, "%s is not a module of leat: no symbol %s", path, m->symbol);
    }
    return STATUS_OK;
}
