/*
 * notify - see notify.h.
 */
#include "pipeline/service/notify.h"

#include "formats/base/excerpt.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef LEAT_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

/* A longer line would not be read either. */
enum { LONGEST_STATUS = 500 };

static void tell(const char *state)
{
#ifdef LEAT_SYSTEMD
    (void)sd_notify(0, state);
#else
    (void)state;
#endif
}

void notify_ready(void)
{
    tell("READY=1");
}

void notify_status(const char *format, ...)
{
    char text[LONGEST_STATUS], state[4 * LONGEST_STATUS + 16] = "STATUS=";
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    /* A line feed would begin another message to systemd, which wants UTF-8. */
    excerpt_escape(state + strlen(state), text);
    tell(state);
}

void notify_reloading(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    char state[80];
    snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld",
             (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    tell(state);
}

void notify_stopping(void)
{
    tell("STOPPING=1");
}

void notify_watchdog(void)
{
    tell("WATCHDOG=1");
}
