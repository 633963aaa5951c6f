/*
 * machine - what this process may use of the machine it runs on: processors, memory, file handles.
 */
#ifndef LEAT_PIPELINE_NAMES_MACHINE_H
#define LEAT_PIPELINE_NAMES_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Processors that this process may run on: its affinity, and the quota of its control group,
 * rounded up. At least 1. */
size_t machine_cpus(void);

/* Bytes of memory that it may have: the machine's, or the control group's limit where that is less.
 */
uint64_t machine_memory(void);

/* The control group's own limits, version 1 or 2, the least of all groups above: bytes of memory,
 * and thousandths of a processor. UINT64_MAX: none. */
struct machine_limits {
    uint64_t memory_bytes, cpu_milli;
};
void machine_read_limits(struct machine_limits *out);

#endif
