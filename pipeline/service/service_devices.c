/*
 * service_devices - which workers there are to be, and whether those who asked for them are served.
 *
 * A worker sees one device, by CUDA_VISIBLE_DEVICES, so that the CUDA module needs no choice. With
 * backend = auto the CPU steps in once every device is out, and steps back when one works again.
 */
#include "pipeline/service/service_state.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Devices of the driver: its device files. */
static size_t count_devices(void)
{
    DIR *dev = opendir("/dev");
    size_t n = 0;
    for (const struct dirent *e; dev != NULL && (e = readdir(dev)) != NULL;) {
        const char *number = strncmp(e->d_name, "nvidia", 6) == 0 ? e->d_name + 6 : "";
        n += (*number != '\0' && number[strspn(number, "0123456789")] == '\0') ||
             strcmp(e->d_name, "dxg") == 0;
    }
    if (dev != NULL) {
        closedir(dev);
    }
    return n;
}

static struct service_worker *add(struct service *s, const char *backend, size_t device)
{
    struct service_worker *w = s->n_workers < SERVICE_WORKERS ? calloc(1, sizeof(*w)) : NULL;
    if (w == NULL) {
        return NULL;
    }
    w->service = s;
    w->state = WORKER_BACKOFF;
    w->since_ms = service_now(s);
    snprintf(w->backend, sizeof(w->backend), "%s", backend);
    if (strcmp(backend, "cpu") == 0) {
        snprintf(w->name, sizeof(w->name), "cpu");
    } else {
        snprintf(w->name, sizeof(w->name), "cuda:%zu", device);
        snprintf(w->visible, sizeof(w->visible), "%zu", device);
    }
    w->place = s->n_workers;
    s->workers[s->n_workers++] = w;
    s->n_all = s->n_workers;
    return w;
}

/* One a device: those that the user lets be seen, or all. */
static void add_devices(struct service *s, size_t at_least)
{
    const char *chosen = getenv("CUDA_VISIBLE_DEVICES");
    size_t n = 0;
    if (chosen == NULL) {
        n = count_devices();
        for (size_t i = 0; i < (n > at_least ? n : at_least); i++) {
            add(s, "cuda", i);
        }
        return;
    }
    for (const char *at = chosen; *at != '\0'; n++) {
        size_t len = strcspn(at, ",");
        struct service_worker *w = add(s, "cuda", n);
        if (w != NULL) {
            snprintf(w->visible, sizeof(w->visible), "%.*s", (int)len, at);
        }
        at += len + (at[len] == ',');
    }
    if (n == 0 && at_least > 0) {
        add(s, "cuda", 0); /* says why there is none */
    }
}

bool service_worker_is_cpu(const struct service_worker *w)
{
    return strcmp(w->backend, "cpu") == 0;
}

void service_workers_choose(struct service *s)
{
    const char *backend = s->settings->backend;
    if (strcmp(backend, "cpu") != 0) {
        add_devices(s, strcmp(backend, "cuda") == 0 ? 1 : 0);
    }
    if (strcmp(backend, "cuda") != 0) {
        add(s, "cpu", 0);
    }
}

bool service_cpu_is_wanted(const struct service *s)
{
    bool wanted = true;
    for (size_t i = 0; i < s->n_workers; i++) {
        const struct service_worker *w = s->workers[i];
        const bool is_out =
            w->state == WORKER_DISABLED || (w->state == WORKER_STARTING && w->is_tried);
        wanted = wanted && (service_worker_is_cpu(w) || is_out);
    }
    return wanted;
}

bool service_worker_retires(const struct service_worker *w, char *why, size_t why_bytes)
{
    const struct service *s = w->service;
    if (w->is_running && w->is_stale && !w->is_told_to_end) {
        snprintf(why, why_bytes,
                 "%s: another begins when the one of process %d, which retires, has ended",
                 w->makes_way ? "does not become free for a job that is to be tried alone"
                              : "has the configuration of before",
                 service_worker_before(s, w->place) != NULL
                     ? service_worker_before(s, w->place)->process.pid
                     : 0);
    }
    if (!w->is_running || !w->is_told_to_end) {
        return false;
    }
    const char *cause =
        s->is_draining                                          ? "the service stops"
        : service_worker_is_cpu(w) && !service_cpu_is_wanted(s) ? "a device works again"
        : w->makes_way ? "another takes its place for a job that is tried alone"
                       : "the configuration has changed, and another takes its place";
    snprintf(why, why_bytes, "draining, %zu jobs left: %s", w->n_jobs, cause);
    return true;
}

struct service_worker *service_worker_before(const struct service *s, size_t place)
{
    for (size_t i = s->n_workers; i < s->n_all; i++) {
        if (s->workers[i]->place == place) {
            return s->workers[i];
        }
    }
    return NULL;
}

bool service_worker_takes(const struct service_worker *w)
{
    return w->state == WORKER_READY && !w->is_told_to_end && !w->alone && !w->is_sick &&
           w->kill_ms == 0;
}

bool service_workers_running(const struct service *s)
{
    bool any = false;
    for (size_t i = 0; i < s->n_all; i++) {
        any = any || s->workers[i]->is_running;
    }
    return any;
}

bool service_workers_ready(const struct service *s, char *why, size_t why_bytes)
{
    bool any = false, lost = false;
    size_t n = 0;
    why[0] = '\0';
    for (size_t i = 0; i < s->n_workers; i++) {
        const struct service_worker *w = s->workers[i];
        any = any || w->state == WORKER_READY;
        bool missing = w->state == WORKER_DISABLED || w->state == WORKER_BACKOFF;
        bool asked_for = !service_worker_is_cpu(w) &&
                         (w->was_ready || strcmp(s->settings->backend, "cuda") == 0);
        lost = lost || (missing && asked_for);
        if (missing && w->why[0] != '\0' && n < why_bytes) {
            n += (size_t)snprintf(why + n, why_bytes - n, "%s%s: %s", n > 0 ? "; " : "", w->name,
                                  w->why);
        }
    }
    if (!any && n == 0) {
        snprintf(why, why_bytes, "workers are starting");
    }
    return any && !lost;
}

void service_workers_free(struct service *s)
{
    for (size_t i = 0; i < s->n_all; i++) {
        free(s->workers[i]);
    }
    s->n_workers = s->n_all = 0;
}
