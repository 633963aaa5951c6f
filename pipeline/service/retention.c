/*
 * retention - what done/ and failed/ keep no longer is removed, on libuv's pool beside the steps of
 * the spool: after the start, every few minutes, when the configuration is read again, and at once
 * again while there is more than one sweep takes. Where all is kept, the first alone: what an
 * earlier one has begun is ended.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/log.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVERY_MS = 5 * 60 * 1000 };

struct retention_sweep {
    uv_work_t work;
    struct service *service;
    struct spool_sweep sweep;
};

static void run(uv_work_t *work)
{
    struct retention_sweep *const r = work->data;
    spool_sweep(r->service->spool, &r->sweep);
}

static void say(const struct service *s, const struct spool_sweep *sweep)
{
    char size[TEXT_NUMBER_BYTES];
    if (sweep->n_inputs + sweep->n_jobs > 0) {
        log_info(
            "removed by keep_done and keep_failed: %zu inputs in done/, %zu jobs in failed/, %s",
            sweep->n_inputs, sweep->n_jobs, text_size(size, sweep->bytes));
    }
    if (sweep->n_errors > 0 && strcmp(s->retention.why, sweep->why) != 0) {
        log_warning("%zu things that keep_done or keep_failed is about cannot be looked at or "
                    "removed; the first: %s",
                    sweep->n_errors, sweep->why);
    }
}

static void after(uv_work_t *work, int failed)
{
    struct retention_sweep *const r = work->data;
    struct service *const s = r->service;
    const struct spool_sweep *const sweep = &r->sweep;
    (void)failed;
    say(s, sweep);
    snprintf(s->retention.why, sizeof(s->retention.why), "%s", sweep->why);
    s->retention.n_inputs += sweep->n_inputs;
    s->retention.n_jobs += sweep->n_jobs;
    s->retention.bytes += sweep->bytes;
    if (sweep->more) {
        s->retention.due_ms = 0;
    }
    s->retention.is_sweeping = false;
    free(r);
}

void retention_stop(struct service *s)
{
    atomic_store(&s->retention.stop, true);
}

void retention_tick(struct service *s)
{
    const struct settings *const t = s->settings;
    const uint64_t now = service_now(s);
    const bool is_asked = t->keep_done.age_s > 0 || t->keep_done.bytes > 0 ||
                          t->keep_failed.age_s > 0 || t->keep_failed.bytes > 0;
    const bool is_due = s->retention.due_ms == 0 || (is_asked && now >= s->retention.due_ms);
    if (!is_due || !s->is_recovered || s->spool == NULL || s->is_draining ||
        s->retention.is_sweeping) {
        return;
    }
    struct retention_sweep *const r = xcalloc(1, sizeof(*r));
    *r = (struct retention_sweep){
        .work.data = r,
        .service = s,
        .sweep = {.done = {t->keep_done.age_s, t->keep_done.bytes},
                  .failed = {t->keep_failed.age_s, t->keep_failed.bytes},
                  .stop = &s->retention.stop},
    };
    s->retention.due_ms = now + EVERY_MS;
    s->retention.is_sweeping = true;
    uv_queue_work(&s->loop, &r->work, run, after);
}

json_t *retention_status(const struct service *s)
{
    return json_pack("{s:I, s:I, s:I, s:o}", "inputs", (json_int_t)s->retention.n_inputs, "jobs",
                     (json_int_t)s->retention.n_jobs, "bytes", (json_int_t)s->retention.bytes,
                     "why", text_json(s->retention.why));
}
