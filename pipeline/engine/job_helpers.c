/*
 * job_helpers - further devices for a job whose stage says that they would make it end sooner, and
 * that nobody uses then. The job goes on alone while they open; it gets them once, and keeps them
 * to its end. Which bits come out does not depend on it.
 */
#include "formats/base/log.h"
#include "pipeline/engine/job_state.h"

#include <math.h>

size_t job_most_helpers(const struct job *job)
{
    const struct engine *e = job->engine;
    const size_t asked = e->settings->spread > 0 ? e->settings->spread : SETTINGS_MOST_DEVICES;
    const size_t most = asked < e->n_devices ? asked : e->n_devices;
    return job->device->on_cpu || most == 0 ? 0 : most - 1;
}

void job_helpers_find(struct job *job)
{
    struct engine_device *found[SETTINGS_MOST_DEVICES];
    const struct stage_ops *stage = job->input.settings.stage;
    const size_t most = job_most_helpers(job);
    if (stage->helpers == NULL || most == 0 || job->has_help || job->has_lost_help) {
        return;
    }
    const size_t wanted = stage->helpers(job->stage);
    const uint64_t bytes = job->need.helper_bytes;
    job->n_helpers = wanted > 0 ? engine_find_helpers(job->engine, job->device, bytes,
                                                      wanted < most ? wanted : most, found)
                                : 0;
    for (size_t i = 0; i < job->n_helpers; i++) {
        job->helpers[i] = (struct job_helper){.device = found[i], .bytes = bytes};
        found[i]->n_jobs++;
        found[i]->memory_used += bytes;
    }
}

static void end_queue(struct job_helper *h)
{
    h->has_failed = h->queue->backend->ops->finish(h->queue) != STATUS_OK;
    h->queue->backend->ops->queue_free(h->queue);
    h->queue = NULL;
}

/* Those whose queues are not among the n. */
static void end_unused(struct job *job, struct queue *const *queues, size_t n)
{
    for (size_t i = 0; i < job->n_helpers; i++) {
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
    size_t n = 0;
    if (job->has_help || job->n_helpers == 0) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < job->n_helpers; i++) {
        struct job_helper *h = &job->helpers[i];
        struct backend *b = h->device->backend;
        if (b->ops->queue_new(b, &h->queue) != STATUS_OK) {
            log_warning("CUDA device %d does not help: %s", h->device->number, status_message());
            h->queue = NULL;
            continue;
        }
        h->queue->stop = &job->stop;
        queues[n++] = h->queue;
    }
    job->has_help = true;
    const enum status code =
        n > 0 ? job->input.settings.stage->help(job->stage, queues, &n) : STATUS_OK;
    end_unused(job, queues, n);
    for (size_t i = 0; i < job->n_helpers; i++) {
        job->helpers[i].helps = job->helpers[i].queue != NULL;
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
    end_unused(job, NULL, 0);
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
        h->device->n_jobs--;
        h->device->n_begun += h->helps;
        h->device->memory_used -= h->bytes;
        if (h->has_failed) {
            (void)engine_leave_device(h->device, "it failed while it helped another");
        }
    }
    job->n_helpers = n;
}
