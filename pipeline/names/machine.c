/*
 * machine - see machine.h. Control groups are read from /sys/fs/cgroup, by the paths that
 * /proc/self/cgroup names (Linux, Documentation/admin-guide/cgroup-v2.rst). Within a container that
 * sees only its own part of the tree the named folder is absent, and the root's files hold its
 * limits: so the walk upwards always ends there.
 */
#include "pipeline/names/machine.h"

#include "pipeline/names/launcher.h"
#include "pipeline/names/text.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

/* Reads a short file's first line; false when there is none. */
static bool read_line(const char *folder, const char *file, char *line, int size)
{
    char path[PATH_BYTES + 96];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    FILE *f = fopen(path, "re");
    bool is_read = f != NULL && fgets(line, size, f) != NULL;
    if (f != NULL) {
        fclose(f);
    }
    if (is_read) {
        line[strcspn(line, "\n")] = '\0';
    }
    return is_read;
}

static void lower(uint64_t *limit, uint64_t value)
{
    *limit = value < *limit ? value : *limit;
}

static uint64_t milli(uint64_t quota, uint64_t period)
{
    return period > 0 && quota < UINT64_MAX / 1000 ? quota * 1000 / period : UINT64_MAX;
}

/* One group's limits. "max" (version 2) and -1 (version 1) are no numbers: no limit. */
static void read_group(const char *folder, struct machine_limits *out)
{
    char line[64], other[64];
    uint64_t value, period;
    if (read_line(folder, "memory.max", line, sizeof(line)) && text_parse_count(line, &value)) {
        lower(&out->memory_bytes, value);
    }
    if (read_line(folder, "memory.limit_in_bytes", line, sizeof(line)) &&
        text_parse_count(line, &value) && value < UINT64_MAX / 4) {
        lower(&out->memory_bytes, value);
    }
    if (read_line(folder, "cpu.max", line, sizeof(line))) {
        char *blank = strchr(line, ' ');
        if (blank != NULL) {
            *blank = '\0';
            if (text_parse_count(line, &value) && text_parse_count(blank + 1, &period)) {
                lower(&out->cpu_milli, milli(value, period));
            }
        }
    }
    if (read_line(folder, "cpu.cfs_quota_us", line, sizeof(line)) &&
        read_line(folder, "cpu.cfs_period_us", other, sizeof(other)) &&
        text_parse_count(line, &value) && text_parse_count(other, &period)) {
        lower(&out->cpu_milli, milli(value, period));
    }
}

/* A group and all above it, up to the mount. */
static void read_groups_up(const char *mount, const char *group, struct machine_limits *out)
{
    char folder[PATH_BYTES + 32]; /* a line of /proc/self/cgroup, and a mount */
    size_t n_mount = strlen(mount);
    snprintf(folder, sizeof(folder), "%s%s", mount, group);
    for (;;) {
        read_group(folder, out);
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= n_mount || slash == NULL) {
            break;
        }
        *slash = '\0';
    }
}

void machine_read_limits(struct machine_limits *out)
{
    *out = (struct machine_limits){UINT64_MAX, UINT64_MAX};
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (f == NULL) {
        return;
    }
    char line[PATH_BYTES];
    while (fgets(line, sizeof(line), f) != NULL) {
        /* "0::/user.slice" in version 2, "4:cpu,cpuacct:/x" in version 1 */
        line[strcspn(line, "\n")] = '\0';
        char *names = strchr(line, ':');
        char *group = names != NULL ? strchr(names + 1, ':') : NULL;
        if (group == NULL) {
            continue;
        }
        *names++ = '\0';
        *group++ = '\0';
        if (*names == '\0') {
            read_groups_up("/sys/fs/cgroup", group, out);
        } else if (strstr(names, "memory") != NULL) {
            read_groups_up("/sys/fs/cgroup/memory", group, out);
        } else if (strncmp(names, "cpu", 3) == 0 && strncmp(names, "cpuset", 6) != 0) {
            read_groups_up("/sys/fs/cgroup/cpu", group, out);
        }
    }
    fclose(f);
}

/* What is there for one of the processes that share the host. */
static uint64_t share(uint64_t all)
{
    const uint64_t own = all / launcher_host_processes();
    return own > 0 ? own : 1;
}

size_t machine_cpus(void)
{
    cpu_set_t set;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const int bound = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
    uint64_t all = online > 0 ? (uint64_t)online : 1;
    struct machine_limits limits;
    machine_read_limits(&limits);
    if (limits.cpu_milli != UINT64_MAX) {
        lower(&all, (limits.cpu_milli + 999) / 1000);
    }
    lower(&all, launcher_host_cpus());
    uint64_t own = share(all);
    if (bound > 0) { /* a launcher may have bound each process to its own */
        lower(&own, (uint64_t)bound);
    }
    return (size_t)own;
}

uint64_t machine_memory(void)
{
    struct machine_limits limits;
    machine_read_limits(&limits);
    lower(&limits.memory_bytes,
          (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    lower(&limits.memory_bytes, launcher_host_memory());
    return share(limits.memory_bytes);
}

bool machine_has_nvidia(void)
{
    static const char *const traces[] = {"/proc/driver/nvidia", "/dev/nvidiactl",
                                         "/dev/dxg" /* of Windows' subsystem for Linux */};
    bool has = false;
    for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
        has = has || access(traces[i], F_OK) == 0;
    }
    return has;
}
