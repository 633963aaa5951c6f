/*
 * doctor - finds out what works here, by trying it: backends (opened, self-tested), the output
 * folder (a file made in it, unless it is not there yet), limits, libraries.
 */
#ifndef LEAT_PIPELINE_COMMANDS_DOCTOR_H
#define LEAT_PIPELINE_COMMANDS_DOCTOR_H

#include "formats/base/status.h"
#include "kernels/backend.h"
#include "pipeline/names/machine.h"
#include "pipeline/settings/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct doctor_backend {
    bool works;
    struct backend_info info;          /* when it works */
    char reason[STATUS_MESSAGE_BYTES]; /* when it does not */
    double seconds;                    /* that opening and testing it took */
};

struct doctor_folder {
    bool exists, writable;
    char where[4096]; /* absolute: the folder, or the nearest one above it that is there */
    char reason[STATUS_MESSAGE_BYTES]; /* when it is not writable */
    uint64_t free_bytes;
};

enum { DOCTOR_LIBRARIES = 5 };

struct doctor_report {
    char system[256]; /* "Linux 6.1.0 x86_64" */
    size_t cpus, threads;
    uint64_t memory_bytes, memory_bound; /* of the machine; of leat's bulk memory */
    struct machine_limits group;
    uint64_t open_files, locked_bytes; /* UINT64_MAX: no limit */
    struct doctor_backend cpu, cuda;
    const struct doctor_backend *chosen; /* what --backend gets; NULL: it does not work */
    struct doctor_folder output;
    struct {
        const char *name;
        char version[64];
    } libraries[DOCTOR_LIBRARIES];
};

/* Compiler that leat was built with: "gcc 12.2.0". */
const char *doctor_compiler(void);

/* Fails only because of insufficient memory or threads; what does not work is in the report. */
enum status doctor_examine(const struct settings *s, struct doctor_report *out) STATUS_MUST_CHECK;

#endif
