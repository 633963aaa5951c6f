/*
 * efficiency - how busy the machine was kept: the busiest resource's time over the wall time, and
 * its name. 1 is perfect overlap: nothing waited for anything but the resource that bounds the run.
 *
 * A resource's time is the length of the union of the intervals in which it was used, or its use
 * over its capacity: never more than the wall time, but for the grain of clocks. To wait for a lock
 * or a core is no use.
 */
#ifndef LEAT_PIPELINE_ENGINE_EFFICIENCY_H
#define LEAT_PIPELINE_ENGINE_EFFICIENCY_H

#include <stddef.h>

/* Seconds each resource was busy. */
struct efficiency_times {
    double cpu_s; /* efficiency_cpu_s() */
    double device_s, upload_s, download_s;
    double disk_in_s, disk_out_s; /* in calls that read and write files */
};

/* CPU time over what there is of it: that of the n_threads compute threads, or that of all threads
 * on the processors that there are, whichever is nearer to its bound. */
double efficiency_cpu_s(double compute_s, size_t n_threads, double all_s, size_t n_cpus);

struct efficiency {
    double value;         /* 0 to 1 */
    const char *bound_by; /* "cpu", "device", "upload", "download", "disk in", "disk out" */
};

struct efficiency efficiency_of(const struct efficiency_times *times, double wall_s);

#endif
