/*
 * place - see the header. A job goes on alone while further devices open, which its stage says
 * would make it end sooner, and which nobody uses then; with --mpi also other ranks that are done
 * help, each with one device, or the CPU for a job of the CPU. It gets devices once, ranks whenever
 * some are done, and keeps all to its end. Which bits come out does not depend on it.
 */
#include "pipeline/engine/place.h"

#include "formats/base/log.h"
#include "formats/base/sizes.h"
#include "pipeline/engine/rank_queue.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool place_is_short(double work)
{
    return work < 2e10;
}

/* With --backend auto the shape alone decides, and once, so that the bits of a result depend
 * neither on what else runs nor on what is open. Opening a device takes half a second. */
static bool wants_device(const char *backend, double work)
{
    return strcmp(backend, "auto") == 0 ? !place_is_short(work) : strcmp(backend, "cuda") == 0;
}

void place_choose(struct place *p, double work)
{
    if (!p->has_chosen) {
        p->tasks->job->work = work;
        p->wants_device = wants_device(p->tasks->engine->settings->backend, work);
        p->has_chosen = true;
    }
}

void place_begin(struct place *p, struct job_tasks *tasks, const struct stage_ops *stage)
{
    tasks->job->device = NULL;
    *p = (struct place){.tasks = tasks,
                        .stage = stage,
                        .has_chosen = p->has_chosen,
                        .wants_device = p->wants_device,
                        .least_bytes = p->least_bytes,
                        .has_lost_device = p->has_lost_device,
                        .has_lost_help = p->has_lost_help};
}

bool place_take(struct place *p)
{
    struct engine *const e = p->tasks->engine;
    struct engine_device *const d = p->wants_device ? engine_place(e, p->least_bytes) : &e->cpu;
    p->tasks->job->device = d;
    if (d != NULL) {
        p->queue = engine_take_queue(d);
        p->queue->stop = &p->tasks->stop;
    }
    return d != NULL;
}

void place_leave(struct place *p)
{
    p->queue->stop = NULL;
    engine_give_queue(place_device(p), p->queue);
    p->queue = NULL;
}

/* Another rank computes with it, whose memory may be what is lacking. */
static bool has_rank(const struct place *p)
{
    bool has = false;
    for (size_t i = 0; i < p->n_helpers; i++) {
        has = has || p->helpers[i].device == NULL;
    }
    return has;
}

void place_heed_failure(struct place *p, enum status code, const char *why)
{
    struct engine_device *const d = place_device(p);
    const bool on_device = d != NULL && !d->on_cpu, was_heeded = p->has_heeded;
    p->has_heeded = true;
    if (was_heeded ||
        (!(code == STATUS_DEVICE && on_device) && !(code == STATUS_NO_MEMORY && has_rank(p)))) {
        return;
    }
    if (p->n_helpers > 0) {
        p->starts_over = p->has_lost_help = true;
    } else if (!p->has_lost_device) {
        p->starts_over = p->has_lost_device = engine_leave_device(d, why);
    }
}

enum status place_empty_queue(struct place *p, bool is_well)
{
    if (p->queue == NULL) {
        return STATUS_OK;
    }
    const struct backend_ops *ops = p->queue->backend->ops;
    const bool failed = ops->finish(p->queue) != STATUS_OK && is_well;
    char why[STATUS_MESSAGE_BYTES];
    struct queue_busy unused;
    snprintf(why, sizeof(why), "%s", status_message());
    ops->busy(p->queue, &unused, true);
    ops->trim(p->queue);
    return failed ? status_set(STATUS_DEVICE, why) : STATUS_OK;
}

/* --- helpers ---------------------------------------------------------------------------------- */

/* Of those that it may have, how many can be devices of this process. */
static size_t most_devices(const struct place *p)
{
    /* Not read on a thread while they are being looked for, which no job on one of them is. */
    return place_device(p)->on_cpu ? 0 : p->tasks->engine->n_devices - 1;
}

static bool takes_ranks(const struct place *p)
{
    return p->stage->takes_ranks && p->tasks->engine->ranks != NULL;
}

size_t place_most_helpers(const struct place *p)
{
    const struct engine *e = p->tasks->engine;
    const size_t asked = e->settings->spread > 0 ? e->settings->spread : SETTINGS_MOST_DEVICES;
    const size_t n_ranks = takes_ranks(p) ? ranks_size(e->ranks) - 1 : 0;
    return lesser(asked - 1, most_devices(p) + n_ranks);
}

/* More than there are. */
static void find_devices(struct place *p, uint64_t bytes, size_t most)
{
    struct engine_device *found[SETTINGS_MOST_DEVICES];
    const size_t n = p->has_devices ? 0 : lesser(most, most_devices(p));
    const size_t n_found =
        n > 0 ? engine_find_helpers(p->tasks->engine, place_device(p), bytes, n, found) : 0;
    for (size_t i = 0; i < n_found; i++) {
        p->helpers[p->n_helpers++] = (struct place_helper){.device = found[i], .bytes = bytes};
        found[i]->n_jobs++;
        found[i]->memory_used += bytes;
        p->has_devices = true;
    }
}

void place_find_helpers(struct place *p, const struct pull *method, uint64_t bytes)
{
    const struct engine *e = p->tasks->engine;
    p->n_ranks_wanted = 0;
    if (p->has_lost_help) {
        return;
    }
    const size_t n = p->n_helpers, most = place_most_helpers(p);
    const size_t wanted = lesser(pull_helpers(method), most > n ? most - n : 0);
    find_devices(p, bytes, wanted);
    if (takes_ranks(p) && !p->asks_no_rank && !engine_is_opening(e)) {
        p->n_ranks_wanted = wanted - (p->n_helpers - n);
    }
}

/* Ranks that are done join the helpers. */
static void borrow_ranks(struct place *p)
{
    size_t ranks[SETTINGS_MOST_DEVICES], n = 0;
    if (p->n_ranks_wanted > 0) {
        ranks_borrow(p->tasks->engine->ranks, p->n_ranks_wanted, ranks, &n);
    }
    for (size_t i = 0; i < n; i++) {
        p->helpers[p->n_helpers++] = (struct place_helper){.rank = ranks[i]};
    }
}

static enum status make_queue(const struct place *p, struct place_helper *h)
{
    if (h->device == NULL) {
        return rank_queue_new(p->tasks->engine->ranks, h->rank, place_device(p)->on_cpu, &h->queue);
    }
    return h->device->backend->ops->queue_new(h->device->backend, &h->queue);
}

static void warn_of_missing(const struct place_helper *h)
{
    if (h->device == NULL) {
        log_warning("%s; it does not help", status_message());
    } else {
        log_warning("CUDA device %d does not help: %s", h->device->number, status_message());
    }
}

static void end_queue(struct place_helper *h)
{
    h->has_failed = h->queue->backend->ops->finish(h->queue) != STATUS_OK;
    h->queue->backend->ops->queue_free(h->queue);
    h->queue = NULL;
}

/* Of those from the first-th on, whose queues are not among the n. */
static void end_unused(struct place *p, size_t first, struct queue *const *queues, size_t n)
{
    for (size_t i = first; i < p->n_helpers; i++) {
        struct place_helper *h = &p->helpers[i];
        bool is_used = h->queue == NULL;
        for (size_t k = 0; k < n; k++) {
            is_used |= queues[k] == h->queue;
        }
        if (!is_used) {
            end_queue(h);
        }
    }
}

enum status place_bring_helpers(struct place *p, struct pull *method)
{
    struct queue *queues[SETTINGS_MOST_DEVICES];
    const size_t first = p->n_helping;
    size_t n = 0;
    borrow_ranks(p);
    for (size_t i = first; i < p->n_helpers; i++) {
        struct place_helper *h = &p->helpers[i];
        if (make_queue(p, h) != STATUS_OK) {
            warn_of_missing(h);
            h->queue = NULL;
            continue;
        }
        h->queue->stop = &p->tasks->stop;
        queues[n++] = h->queue;
    }
    const enum status code = n > 0 ? pull_help(method, queues, &n) : STATUS_OK;
    end_unused(p, first, queues, n);
    for (size_t i = first; i < p->n_helpers; i++) {
        struct place_helper *h = &p->helpers[i];
        h->helps = h->queue != NULL;
        p->asks_no_rank |= h->device == NULL && !h->helps;
    }
    return code;
}

static void add_busy(struct queue *q, struct queue_busy *all)
{
    struct queue_busy one = {0};
    q->backend->ops->busy(q, &one, true);
    all->device_s = fmax(all->device_s, one.device_s);
    all->upload_s = fmax(all->upload_s, one.upload_s);
    all->download_s = fmax(all->download_s, one.download_s);
    all->upload_bytes += one.upload_bytes;
    all->download_bytes += one.download_bytes;
}

void place_stop_clock(struct place *p)
{
    add_busy(p->queue, &p->busy);
    for (size_t i = 0; i < p->n_helpers; i++) {
        if (p->helpers[i].queue != NULL) {
            add_busy(p->helpers[i].queue, &p->busy);
        }
    }
}

void place_end_helpers(struct place *p)
{
    end_unused(p, 0, NULL, 0);
}

void place_give_helpers(struct place *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_helpers; i++) {
        const struct place_helper *h = &p->helpers[i];
        if (h->queue != NULL) {
            p->helpers[n++] = *h;
            continue;
        }
        if (h->device == NULL) {
            continue;
        }
        h->device->n_jobs--;
        h->device->n_begun += h->helps;
        h->device->memory_used -= h->bytes;
        if (h->has_failed) {
            (void)engine_leave_device(h->device, "it failed while it helped another");
        }
    }
    p->n_helpers = p->n_helping = n;
}
