/*
 * efficiency - how busy the machine was kept: the busiest resource's time over the wall time, and
 * its name. 1 is perfect overlap: nothing waited for anything but the resource that bounds the run.
 */
#ifndef LEAT_PIPELINE_EFFICIENCY_H
#define LEAT_PIPELINE_EFFICIENCY_H

#include <stddef.h>

/* Seconds each resource was busy. */
struct efficiency_times {
    double cpu_s; /* core-seconds of all threads over the number of compute threads */
    double device_s, upload_s, download_s;
    double disk_in_s, disk_out_s;
};

struct efficiency {
    double value;         /* 0..1 */
    const char *bound_by; /* "cpu", "device", "upload", "download", "disk in", "disk out" */
};

struct efficiency efficiency_of(const struct efficiency_times *times, double wall_s);

#endif
