/*
 * worker_sandbox - see worker_sandbox.h. A device's driver makes sockets and starts programs when
 * it opens a device, so the filter of system calls comes after that; Landlock holds for threads
 * that are begun under it alone, so it comes before.
 *
 * What libraries open when a job wants it: fonts, tables of characters and of processors, and the
 * driver its compiler; /proc and /sys, where other processes' files are closed to who may not look
 * into them.
 */
#include "pipeline/worker/worker_sandbox.h"

#include "formats/base/log.h"
#include "formats/table/foreign.h"
#include "pipeline/names/sandbox.h"
#include "watch/files/xalloc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__ /* which has one, too */
enum { OWN_THREADS = 2 };
#else
enum { OWN_THREADS = 1 };
#endif

/* Where the driver keeps what it has compiled; "": nowhere. For free(). */
static char *find_cache(void)
{
    const char *const chosen = getenv("CUDA_CACHE_PATH"), *const home = getenv("HOME");
    return chosen != NULL ? xstrdup(chosen)
           : home != NULL ? xasprintf("%s/.nv/ComputeCache", home)
                          : xstrdup("");
}

/* Those that Landlock does not hold for, of a driver that has begun some as it was loaded. */
static void say_what_has_begun(void)
{
    DIR *tasks = opendir("/proc/self/task");
    size_t n = 0;
    for (const struct dirent *e; tasks != NULL && (e = readdir(tasks)) != NULL;) {
        n += e->d_name[0] != '.';
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    if (n > OWN_THREADS) {
        log_warning(
            "%zu threads of the driver began before the sandbox: they may open files beyond "
            "it",
            n - OWN_THREADS);
    }
}

/* What is loaded when such a file comes, and may lie anywhere. -1: it is not there. */
static int open_module(enum foreign_module m)
{
    char path[MODULE_PATH_BYTES];
    return foreign_module_find(m, path) == STATUS_OK ? open(path, O_PATH | O_CLOEXEC) : -1;
}

enum status worker_shut_files(int work_fd, int out_fd, bool has_devices)
{
    char *const cache = find_cache();
    say_what_has_begun();
    struct sandbox_place places[] = {
        [FOREIGN_NONE] = {.right = SANDBOX_READ, .fd = work_fd}, /* and, below, modules */
        [FOREIGN_N_MODULES] = {.right = SANDBOX_WRITE, .fd = out_fd},
        {.right = SANDBOX_READ, .path = "/usr"},
        {.right = SANDBOX_READ, .path = "/lib*"},
        {.right = SANDBOX_READ, .path = "/etc/fonts"},
        {.right = SANDBOX_READ, .path = "/etc/ld.so.*"},
        {.right = SANDBOX_READ, .path = "/etc/localtime"},
        {.right = SANDBOX_READ, .path = "/var/cache/fontconfig"},
        {.right = SANDBOX_READ, .path = "/proc"},
        {.right = SANDBOX_READ, .path = "/sys"},
        {.right = SANDBOX_READ, .path = "/dev/*random"},
        {.right = SANDBOX_USE, .path = "/dev/null"},
        /* of workers with devices alone */
        {.right = SANDBOX_READ, .path = "/opt"},
        {.right = SANDBOX_USE, .path = "/dev/nvidia*"},
        {.right = SANDBOX_USE, .path = "/dev/dxg"},
        {.right = SANDBOX_WRITE, .path = cache},
    };
    enum { ALL = sizeof(places) / sizeof(*places), OF_DEVICES = 4 };
    for (enum foreign_module m = FOREIGN_NONE + 1; m < FOREIGN_N_MODULES; m++) {
        places[m] = (struct sandbox_place){.right = SANDBOX_READ, .fd = open_module(m)};
    }
    const enum status code = sandbox_shut_files(places, has_devices ? ALL : ALL - OF_DEVICES, true);
    for (enum foreign_module m = FOREIGN_NONE + 1; m < FOREIGN_N_MODULES; m++) {
        if (places[m].fd >= 0) {
            close(places[m].fd);
        }
    }
    free(cache);
    return code;
}

enum status worker_shut_calls(void)
{
    return sandbox_shut_calls(SANDBOX_HARMLESS);
}
