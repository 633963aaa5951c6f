/*
 * machine - what this process may use of the machine it runs on: processors, memory, file handles.
 */
#ifndef LEAT_PIPELINE_NAMES_MACHINE_H
#define LEAT_PIPELINE_NAMES_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Processors for this process: those of its affinity, and no more than its share (launcher.h) of
 * the machine's, of its control group's quota, rounded up, and of what Slurm has allotted. At
 * least 1. */
size_t machine_cpus(void);

/* Bytes of memory for it: its share of the machine's, or of the control group's limit or of what
 * Slurm has allotted where that is less. */
uint64_t machine_memory(void);

/* Whether there is a trace of an NVIDIA driver: where there is none, nobody expects a device. */
bool machine_has_nvidia(void);

/* The control group's own limits, version 1 or 2, the least of all groups above: bytes of memory,
 * and thousandths of a processor. UINT64_MAX: none. */
struct machine_limits {
    uint64_t memory_bytes, cpu_milli;
};
void machine_read_limits(struct machine_limits *out);

#endif
