/*
 * meter - how long a resource was busy: the length of the union of the intervals in which somebody
 * used it, however many did at a time. So it is never busy for longer than time went by. And how
 * busy the machine was kept: the busiest resource's time over the wall time, and its name. 1 is
 * perfect overlap: nothing waited for anything but the resource that bounds the run.
 *
 * A resource's time is that union, or its use over its capacity: never more than the wall time, but
 * for the grain of clocks. To wait for a lock or a core is no use.
 */
#ifndef LEAT_PIPELINE_ENGINE_METER_H
#define LEAT_PIPELINE_ENGINE_METER_H

#include "formats/base/io_watch.h"

#include <pthread.h>
#include <stdint.h>

/* Times are thread_pool_now_ns(). Any thread. */
struct meter {
    pthread_mutex_t lock;
    size_t n_users;
    uint64_t since_ns, total_ns;
    uint64_t end_ns; /* of the last use: what lies before it is counted */
};
#define METER_ZERO                                                                                 \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                          \
    }

void meter_begin(struct meter *m, uint64_t now_ns);
void meter_end(struct meter *m, uint64_t now_ns);
/* Up to now_ns, uses that go on included. */
double meter_s(struct meter *m, uint64_t now_ns);

/* The disks, as the threads meet them that have it as their io_watch: in calls that read, and in
 * calls that write; told on to `whole`, unless that is NULL. */
struct disk_meter {
    struct io_watch watch;
    struct meter in, out;
    struct disk_meter *whole;
};
struct disk_meter disk_meter_of(struct disk_meter *whole);

/* Seconds each resource was busy. */
struct efficiency_times {
    double cpu_s; /* meter_cpu_s() */
    double device_s, upload_s, download_s;
    double disk_in_s, disk_out_s; /* in calls that read and write files */
};

/* CPU time over what there is of it: that of the n_threads compute threads, or that of all threads
 * on the processors that there are, whichever is nearer to its bound. */
double meter_cpu_s(double compute_s, size_t n_threads, double all_s, size_t n_cpus);

struct efficiency {
    double value;         /* 0 to 1 */
    const char *bound_by; /* "cpu", "device", "upload", "download", "disk in", "disk out" */
};

struct efficiency meter_efficiency(const struct efficiency_times *times, double wall_s);

#endif
