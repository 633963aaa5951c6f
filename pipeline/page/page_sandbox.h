/*
 * page_sandbox - what the process of the page can do no more, whatever is sent to it.
 */
#ifndef LEAT_PIPELINE_PAGE_PAGE_SANDBOX_H
#define LEAT_PIPELINE_PAGE_PAGE_SANDBOX_H

#include "formats/base/status.h"

/* From now on this process and its threads to come get no further rights, start no program, open no
 * socket but Unix ones, send no signal to others nor reach into them, and open for reading what
 * lies beneath the two folders (-1: there is none), and nothing else. Where the kernel has no
 * Landlock, the last of these is said to be missing in the log. To be called while there is one
 * thread. STATUS_IO: the kernel refuses. */
enum status page_sandbox_enter(int results_fd, int failed_fd) STATUS_MUST_CHECK;

#endif
