/*
 * notify - what the service tells systemd (sd_notify(3)) through NOTIFY_SOCKET.
 *
 * Without NOTIFY_SOCKET in the environment, and in builds without libsystemd, nothing happens.
 * Nothing here waits, fails or logs: the service works whether systemd listens or not. One thread.
 */
#ifndef LEAT_PIPELINE_SERVICE_NOTIFY_H
#define LEAT_PIPELINE_SERVICE_NOTIFY_H

/* The service has started, or has ended to reload: `systemctl start` and `reload` return. */
void notify_ready(void);
/* What `systemctl status` shows, in one line; control bytes in it become '?'. */
void notify_status(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* SIGHUP came: the configuration is being read again; notify_ready() follows in any case. */
void notify_reloading(void);
/* SIGTERM came: running jobs are let end. */
void notify_stopping(void);

/* The loop is alive: to be said at least twice in the unit's WatchdogSec. */
void notify_watchdog(void);

#endif
