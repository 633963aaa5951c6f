/*
 * interrupt - see interrupt.h.
 */
#include "pipeline/names/interrupt.h"

#include <stdatomic.h>
#include <stdbool.h>

static atomic_bool has_come; /* set by a signal in one thread, read in others */

/* Once: the work is to stop. Twice: the handler is gone, the system ends the process. */
static void note(int number)
{
    (void)number;
    has_come = true;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

void interrupt_watch(struct interrupt *i)
{
    const struct sigaction catch = {.sa_handler = note};
    has_come = false;
    sigaction(SIGINT, &catch, &i->before_int);
    sigaction(SIGTERM, &catch, &i->before_term);
}

void interrupt_leave(const struct interrupt *i)
{
    sigaction(SIGINT, &i->before_int, NULL);
    sigaction(SIGTERM, &i->before_term, NULL);
}

enum status interrupt_check(const char *what)
{
    return has_come ? status_fail(STATUS_CANCELLED, "%s: stopped by a signal", what) : STATUS_OK;
}
