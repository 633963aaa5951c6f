/*
 * data_limit - see data_limit.h.
 */
#include "formats/base/data_limit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static int statm_fd = -1;
static bool is_set;
static uint64_t had;            /* before the pause */
static rlim_t limited_to, most; /* most: the limit that others have set */

/* Bytes that count, and the main stack's; 0: not known. */
static uint64_t bytes_now(void)
{
    char line[160];
    unsigned long long pages = 0;
    const ssize_t n = statm_fd >= 0 ? pread(statm_fd, line, sizeof line - 1, 0) : -1;
    if (n > 0) {
        line[n] = '\0';
        (void)sscanf(line, "%*s %*s %*s %*s %*s %llu", &pages);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void limit_to(rlim_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) == 0) {
        limit.rlim_cur = bytes < most ? bytes : most;
        (void)setrlimit(RLIMIT_DATA, &limit);
    }
}

void data_limit_set(uint64_t more)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    statm_fd = statm_fd < 0 ? open("/proc/self/statm", O_RDONLY | O_CLOEXEC) : statm_fd;
    const uint64_t now = bytes_now();
    struct rlimit others;
    if (!is_set) {
        most = getrlimit(RLIMIT_DATA, &others) == 0 ? others.rlim_cur : RLIM_INFINITY;
    }
    is_set = now > 0 && more < RLIM_INFINITY - now;
    if (is_set) {
        limited_to = now + more;
        limit_to(limited_to);
    }
#else
    (void)more;
#endif
}

void data_limit_pause(void)
{
    if (is_set) {
        had = bytes_now();
        limit_to(RLIM_INFINITY);
    }
}

void data_limit_resume(void)
{
    if (is_set) {
        const uint64_t now = bytes_now();
        limited_to += now > had ? now - had : 0;
        limit_to(limited_to);
    }
}
