/*
 * job_helpers - further devices for a job whose stage says that they would make it end sooner, and
 * that nobody uses then; with --mpi also other ranks that are done, each with one device, or the
 * CPU for a job of the CPU. The job goes on alone while devices open; it gets these once, ranks
 * whenever some are done, and keeps all to its end. Which bits come out does not depend on it.
 */
#include "formats/base/log.h"
#include "pipeline/engine/job_state.h"
#include "pipeline/engine/rank_queue.h"

#include <math.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Of those that it may have, how many can be devices of this process. */
static size_t most_devices(const struct job *job)
{
    /* Not read on a thread while they are being looked for, which no job on one of them is. */
    return job->device->on_cpu ? 0 : job->engine->n_devices - 1;
}

static bool takes_ranks(const struct job *job)
{
    return job->input.settings.stage->takes_ranks && job->engine->ranks != NULL;
}

size_t job_most_helpers(const struct job *job)
{
    const struct engine *e = job->engine;
    const size_t asked = e->settings->spread > 0 ? e->settings->spread : SETTINGS_MOST_DEVICES;
    const size_t n_ranks = takes_ranks(job) ? ranks_size(e->ranks) - 1 : 0;
    return least(asked - 1, most_devices(job) + n_ranks);
}

/* More than there are. */
static void find_devices(struct job *job, size_t most)
{
    struct engine_device *found[SETTINGS_MOST_DEVICES];
    const uint64_t bytes = job->need.helper_bytes;
    const size_t n = job->has_devices ? 0 : least(most, most_devices(job));
    const size_t n_found =
        n > 0 ? engine_find_helpers(job->engine, job->device, bytes, n, found) : 0;
    for (size_t i = 0; i < n_found; i++) {
        job->helpers[job->n_helpers++] = (struct job_helper){.device = found[i], .bytes = bytes};
        found[i]->n_jobs++;
        found[i]->memory_used += bytes;
        job->has_devices = true;
    }
}

void job_helpers_find(struct job *job)
{
    const struct engine *e = job->engine;
    job->n_ranks_wanted = 0;
    if (job->has_lost_help) {
        return;
    }
    const size_t n = job->n_helpers, most = job_most_helpers(job);
    const size_t wanted = least(pull_helpers(job->method), most > n ? most - n : 0);
    find_devices(job, wanted);
    if (takes_ranks(job) && !job->asks_no_rank && !engine_is_opening(e)) {
        job->n_ranks_wanted = wanted - (job->n_helpers - n);
    }
}

/* Ranks that are done join the helpers. */
static void borrow_ranks(struct job *job)
{
    size_t ranks[SETTINGS_MOST_DEVICES], n = 0;
    if (job->n_ranks_wanted > 0) {
        ranks_borrow(job->engine->ranks, job->n_ranks_wanted, ranks, &n);
    }
    for (size_t i = 0; i < n; i++) {
        job->helpers[job->n_helpers++] = (struct job_helper){.rank = ranks[i]};
    }
}

static enum status make_queue(const struct job *job, struct job_helper *h)
{
    if (h->device == NULL) {
        return rank_queue_new(job->engine->ranks, h->rank, job->device->on_cpu, &h->queue);
    }
    return h->device->backend->ops->queue_new(h->device->backend, &h->queue);
}

static void warn_of_missing(const struct job_helper *h)
{
    if (h->device == NULL) {
        log_warning("%s; it does not help", status_message());
    } else {
        log_warning("CUDA device %d does not help: %s", h->device->number, status_message());
    }
}

static void end_queue(struct job_helper *h)
{
    h->has_failed = h->queue->backend->ops->finish(h->queue) != STATUS_OK;
    h->queue->backend->ops->queue_free(h->queue);
    h->queue = NULL;
}

/* Of those from the first-th on, whose queues are not among the n. */
static void end_unused(struct job *job, size_t first, struct queue *const *queues, size_t n)
{
    for (size_t i = first; i < job->n_helpers; i++) {
        struct job_helper *h = &job->helpers[i];
        bool is_used = h->queue == NULL;
        for (size_t k = 0; k < n; k++) {
            is_used |= queues[k] == h->queue;
        }
        if (!is_used) {
            end_queue(h);
        }
    }
}

enum status job_helpers_bring(struct job *job)
{
    struct queue *queues[SETTINGS_MOST_DEVICES];
    const size_t first = job->n_helping;
    size_t n = 0;
    borrow_ranks(job);
    for (size_t i = first; i < job->n_helpers; i++) {
        struct job_helper *h = &job->helpers[i];
        if (make_queue(job, h) != STATUS_OK) {
            warn_of_missing(h);
            h->queue = NULL;
            continue;
        }
        h->queue->stop = &job->stop;
        queues[n++] = h->queue;
    }
    const enum status code = n > 0 ? pull_help(job->method, queues, &n) : STATUS_OK;
    end_unused(job, first, queues, n);
    for (size_t i = first; i < job->n_helpers; i++) {
        struct job_helper *h = &job->helpers[i];
        h->helps = h->queue != NULL;
        job->asks_no_rank |= h->device == NULL && !h->helps;
    }
    return code;
}

void job_helpers_busy(struct job *job)
{
    struct queue_busy *all = &job->busy;
    for (size_t i = 0; i < job->n_helpers; i++) {
        struct queue *q = job->helpers[i].queue;
        struct queue_busy one = {0};
        if (q != NULL) {
            q->backend->ops->busy(q, &one, true);
        }
        all->device_s = fmax(all->device_s, one.device_s);
        all->upload_s = fmax(all->upload_s, one.upload_s);
        all->download_s = fmax(all->download_s, one.download_s);
        all->upload_bytes += one.upload_bytes;
        all->download_bytes += one.download_bytes;
    }
}

void job_helpers_end(struct job *job)
{
    end_unused(job, 0, NULL, 0);
}

void job_helpers_give(struct job *job)
{
    size_t n = 0;
    for (size_t i = 0; i < job->n_helpers; i++) {
        const struct job_helper *h = &job->helpers[i];
        if (h->queue != NULL) {
            job->helpers[n++] = *h;
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
    job->n_helpers = job->n_helping = n;
}
