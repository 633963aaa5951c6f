/*
 * worker_fault - what happens to workers of `leat_faulty` (pipeline/worker/worker_fault.h), by the
 * environment: LEAT_WORKER_FAULT="KIND WHICH, KIND WHICH, ..."
 *
 * WHICH is a word in the path of the job's first file, or #N: the N-th job of a process. KIND:
 *   abort    the process dies of a fault of its own
 *   kill     the process is killed, as by the system when memory is out
 *   hang     the process does nothing any more
 *   device   the device reports an error
 *   memory   there is no memory
 */
#include "pipeline/worker/worker_fault.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum status happen(const char *kind)
{
    if (strcmp(kind, "abort") == 0) {
        abort();
    }
    if (strcmp(kind, "kill") == 0) {
        kill(getpid(), SIGKILL);
    }
    while (strcmp(kind, "hang") == 0) {
        pause();
    }
    return strcmp(kind, "device") == 0   ? status_fail(STATUS_DEVICE, "an injected device error")
           : strcmp(kind, "memory") == 0 ? status_fail(STATUS_NO_MEMORY, "injected: no memory")
                                         : status_fail(STATUS_INTERNAL, "no such fault: %s", kind);
}

enum status worker_fault(const char *path)
{
    static unsigned long n_jobs;
    const char *faults = getenv("LEAT_WORKER_FAULT");
    char kind[16], which[64], number[24];
    int n;
    snprintf(number, sizeof(number), "#%lu", ++n_jobs);
    for (; faults != NULL && sscanf(faults, " %15[a-z] %63[^,]%n", kind, which, &n) == 2;
         faults += *faults == ',') {
        faults += n;
        if (which[0] == '#' ? strcmp(which, number) == 0 : strstr(path, which) != NULL) {
            return happen(kind);
        }
    }
    return STATUS_OK;
}
