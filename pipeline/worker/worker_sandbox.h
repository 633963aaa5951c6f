/*
 * worker_sandbox - what a worker may open, and do: `sandbox` has what is left to nobody.
 */
#ifndef LEAT_PIPELINE_WORKER_WORKER_SANDBOX_H
#define LEAT_PIPELINE_WORKER_WORKER_SANDBOX_H

#include "formats/base/status.h"

#include <stdbool.h>

/* Before there are threads, with libraries and driver loaded: from now on files are read beneath
 * .work and where libraries have theirs, written beneath the folder for results alone, and devices
 * used if it has some. STATUS_IO. */
enum status worker_shut_files(int work_fd, int out_fd, bool has_devices) STATUS_MUST_CHECK;
/* Once devices are open, and before the first job. STATUS_IO. */
enum status worker_shut_calls(void) STATUS_MUST_CHECK;

#endif
