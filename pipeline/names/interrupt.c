/*
 * interrupt - see interrupt.h.
 */
#include "pipeline/names/interrupt.h"

#include <stdatomic.h>

static atomic_int has_come; /* its number: set by a signal in one thread, read in others */

/* Once: the work is to stop. Twice: the handler is gone, the system ends the process. */
static void note(int number)
{
    has_come = number;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

void interrupt_watch(struct interrupt *i)
{
    const struct sigaction catch = {.sa_handler = note};
    has_come = 0;
    sigaction(SIGINT, &catch, &i->before_int);
    sigaction(SIGTERM, &catch, &i->before_term);
}

void interrupt_leave(const struct interrupt *i)
{
    sigaction(SIGINT, &i->before_int, NULL);
    sigaction(SIGTERM, &i->before_term, NULL);
}

int interrupt_number(void)
{
    return has_come;
}

enum status interrupt_check(const char *what)
{
    return has_come != 0 ? status_fail(STATUS_CANCELLED, "%s: stopped by a signal", what)
                         : STATUS_OK;
}
