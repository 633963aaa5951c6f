/*
 * launcher - what those say who start many processes, in the environment: Slurm (also its arrays),
 * Open MPI, MPICH and its relatives, Grid Engine. Read only.
 */
#ifndef LEAT_PIPELINE_NAMES_LAUNCHER_H
#define LEAT_PIPELINE_NAMES_LAUNCHER_H

#include "formats/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* One of `count` shares of the inputs, counted from 0; count 0: nobody has shared them. */
struct launcher_shard {
    size_t index, count;
};

/* Which share this process takes: of the tasks of an array, and in each of the processes of a step
 * or of mpirun. STATUS_BAD_ARGUMENT: nobody says it, or the array is not a plain range; the message
 * says what to write instead. */
enum status launcher_find_shard(struct launcher_shard *out) STATUS_MUST_CHECK;

/* How many processes of this step or of mpirun there are on this host. At least 1. */
size_t launcher_host_processes(void);

/* What Slurm has allotted on this host to all of them: processors, bytes. UINT64_MAX: not said. */
uint64_t launcher_host_cpus(void);
uint64_t launcher_host_memory(void);

#endif
