/*
 * interrupt - SIGINT and SIGTERM while a file is being written: they are noted, so that the work
 * can stop at its next step and leave nothing behind. The second of them ends the process, since
 * that step may never come: a pipe that is not read. For one piece of work at a time.
 */
#ifndef LEAT_PIPELINE_NAMES_INTERRUPT_H
#define LEAT_PIPELINE_NAMES_INTERRUPT_H

#include "formats/base/status.h"

#include <signal.h>

/* What was there before. */
struct interrupt {
    struct sigaction before_int, before_term;
};

void interrupt_watch(struct interrupt *i);
void interrupt_leave(const struct interrupt *i);
/* The signal that has come since the last interrupt_watch; 0: none. */
int interrupt_number(void);
/* STATUS_CANCELLED once a signal has come; `what` is what the message calls the work. From any
 * thread. */
enum status interrupt_check(const char *what) STATUS_MUST_CHECK;

#endif
