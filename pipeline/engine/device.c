/*
 * device - where jobs are computed: the CPU, and CUDA devices, which are found and opened when
 * there is work for them. All decisions are made on the loop thread; finding and opening are tasks.
 *
 * A job that wants a device takes the open one with the fewest jobs. Where none is idle, a further
 * one is opened, and where none is open, the job waits for it. No device gets more than its share
 * of the jobs that may be in flight, so that those which come while one opens are left for it.
 */
#include "formats/base/log.h"
#include "pipeline/engine/job_state.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICE_THREADS = 4 };

/* --- one device ------------------------------------------------------------------------------- */

static enum status make_queues(struct engine_device *d, size_t n)
{
    if (n == 0) {
        return STATUS_OK;
    }
    d->queues = calloc(n, sizeof(struct queue *));
    if (d->queues == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu queues", n);
    }
    for (; d->n_queues < n; d->n_queues++) {
        STATUS_TRY(d->backend->ops->queue_new(d->backend, &d->queues[d->n_queues]));
    }
    return STATUS_OK;
}

enum status engine_open_cpu(struct engine *e, size_t n_queues)
{
    const struct backend_config config = {.executor = thread_pool_executor(e->compute)};
    struct engine_device *d = &e->cpu;
    *d = (struct engine_device){.engine = e, .on_cpu = true, .pool = e->compute};
    STATUS_TRY(backend_cpu.open(&config, &d->backend));
    d->backend->ops->describe(d->backend, &d->info);
    d->state = DEVICE_OPEN;
    return make_queues(d, n_queues);
}

/* The blocks of all jobs become page-locked with the first device. */
static enum status pin_blocks(struct engine_device *d)
{
    struct engine *e = d->engine;
    for (; d->n_pinned < e->n_blocks; d->n_pinned++) {
        STATUS_TRY(d->backend->ops->host_pin(d->backend, e->blocks[d->n_pinned].chunk.raw,
                                             e->block_bytes));
    }
    return STATUS_OK;
}

/* How many jobs a device may have: its share of those that may be in flight. */
static size_t share_of_jobs(const struct engine *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n_devices; i++) {
        n += e->devices[i].state != DEVICE_FAILED;
    }
    return n > 0 ? (e->max_jobs + n - 1) / n : e->max_jobs;
}

static enum status open_work(void *owner)
{
    struct engine_device *d = owner;
    const struct backend_config config = {.executor = thread_pool_executor(d->engine->compute),
                                          .device = d->number};
    STATUS_TRY(backend_open_cuda(&config, &d->backend));
    d->backend->ops->describe(d->backend, &d->info);
    d->memory_limit = d->info.memory_free / 10 * 9;
    if (d->pins) {
        STATUS_TRY(pin_blocks(d));
    }
    return make_queues(d, d->share);
}

static void close_backend(struct engine_device *d)
{
    for (size_t i = 0; i < d->n_queues; i++) {
        d->backend->ops->queue_free(d->queues[i]);
    }
    free(d->queues);
    d->queues = NULL;
    d->n_queues = 0;
    for (; d->n_pinned > 0; d->n_pinned--) {
        d->backend->ops->host_unpin(d->backend, d->engine->blocks[d->n_pinned - 1].chunk.raw);
    }
    if (d->backend != NULL) {
        d->backend->ops->close(d->backend);
        d->backend = NULL;
    }
}

static enum status begin_opening(struct engine_device *d)
{
    struct engine *e = d->engine;
    d->share = share_of_jobs(e);
    d->pins = true;
    for (size_t i = 0; i < e->n_devices; i++) {
        const struct engine_device *o = &e->devices[i];
        d->pins = d->pins && !(o != d && o->pins && o->state != DEVICE_FAILED);
    }
    d->state = DEVICE_OPENING;
    return thread_pool_new(DEVICE_THREADS, &d->pool);
}

/* `code`: of opening it. */
static void end_opening(struct engine_device *d, enum status code)
{
    d->state = code == STATUS_OK ? DEVICE_OPEN : DEVICE_FAILED;
    if (code != STATUS_OK) {
        close_backend(d);
    }
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Those that the settings ask for, of those that there are. */
static enum status find_work(void *owner)
{
    struct engine *e = owner;
    int numbers[SETTINGS_MOST_DEVICES];
    size_t n_there, n;
    STATUS_TRY(backend_count_cuda(&n_there));
    STATUS_TRY(settings_choose_devices(&e->settings->devices, n_there, numbers, &n));
    e->devices = calloc(n, sizeof(*e->devices));
    if (e->devices == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu devices", n);
    }
    for (size_t i = 0; i < n; i++) {
        e->devices[i] = (struct engine_device){.engine = e, .number = numbers[i]};
    }
    e->n_found = n;
    return STATUS_OK;
}

enum status engine_open_devices(struct engine *e)
{
    STATUS_TRY(find_work(e));
    e->n_devices = e->n_found;
    e->have_looked = true;
    enum status code = STATUS_NO_BACKEND;
    for (size_t i = 0; i < e->n_devices && code != STATUS_OK; i++) {
        struct engine_device *d = &e->devices[i];
        code = begin_opening(d);
        code = code == STATUS_OK ? open_work(d) : code;
        end_opening(d, code);
        if (code != STATUS_OK && i + 1 < e->n_devices) {
            log_warning("CUDA device %d is not used: %s", d->number, status_message());
        }
    }
    return code;
}

/* --- on the loop thread ----------------------------------------------------------------------- */

static void keep_reason(struct engine *e, const struct engine_task *task)
{
    free(e->why);
    e->why = task->message != NULL ? strdup(task->message) : NULL;
}

static void find_finished(struct engine_task *task)
{
    struct engine *e = task->owner;
    e->n_devices = e->n_found;
    e->have_looked = true;
    if (task->code != STATUS_OK) {
        keep_reason(e, task);
        log_info("on the CPU: %s", e->why != NULL ? e->why : status_text(task->code));
    }
    engine_task_clear(task);
    job_advance_all(e);
}

static void open_finished(struct engine_task *task)
{
    struct engine_device *d = task->owner;
    end_opening(d, task->code);
    if (task->code != STATUS_OK) {
        keep_reason(d->engine, task);
        log_warning("CUDA device %d is not used: %s", d->number,
                    task->message != NULL ? task->message : status_text(task->code));
    }
    engine_task_clear(task);
    job_advance_all(d->engine);
}

static void look_for_devices(struct engine *e)
{
    if (!e->is_looking) {
        e->is_looking = true;
        e->find_task =
            (struct engine_task){.owner = e, .work = find_work, .finished = find_finished};
        engine_start(e, &e->find_task, LANE_READ, NULL);
    }
}

/* False: there is none to be opened. */
static bool open_next(struct engine *e)
{
    for (size_t i = 0; i < e->n_devices; i++) {
        struct engine_device *d = &e->devices[i];
        if (d->state != DEVICE_CLOSED) {
            continue;
        }
        const enum status code = begin_opening(d);
        if (code == STATUS_OK) {
            d->opening = (struct engine_task){
                .owner = d, .work = open_work, .finished = open_finished, .device = d};
            engine_start(e, &d->opening, LANE_DEVICE, NULL);
            return true;
        }
        end_opening(d, code);
        log_warning("CUDA device %d is not used: %s", d->number, status_message());
    }
    return false;
}

/* Jobs that wait for a device to open. */
static size_t count_waiting(const struct engine *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n_jobs; i++) {
        const struct job *job = e->jobs[i];
        n += job->phase == JOB_PLACING && job->wants_device && job->code == STATUS_OK;
    }
    return n;
}

struct engine_device *engine_place(struct engine *e, bool wants_device)
{
    struct engine_device *best = NULL;
    size_t n_opening = 0, n_open = 0;
    if (!wants_device) {
        return &e->cpu;
    }
    if (!e->have_looked) {
        look_for_devices(e);
        return NULL;
    }
    for (size_t i = 0; i < e->n_devices; i++) {
        struct engine_device *d = &e->devices[i];
        n_opening += d->state == DEVICE_OPENING;
        n_open += d->state == DEVICE_OPEN;
        if (d->state == DEVICE_OPEN && d->n_queues > 0 &&
            (best == NULL || d->n_jobs < best->n_jobs)) {
            best = d;
        }
    }
    if (best != NULL && best->n_jobs == 0) {
        return best;
    }
    if (n_opening < count_waiting(e) && open_next(e)) {
        n_opening++;
    }
    return n_opening > 0 ? NULL : n_open > 0 ? best : &e->cpu;
}

size_t engine_find_helpers(struct engine *e, const struct engine_device *home, uint64_t bytes,
                           size_t n, struct engine_device **out)
{
    size_t n_found = 0, n_opening = 0;
    if (count_waiting(e) > 0) {
        return 0;
    }
    for (size_t i = 0; i < e->n_devices; i++) {
        struct engine_device *d = &e->devices[i];
        n_opening += d->state == DEVICE_OPENING;
        if (d != home && d->state == DEVICE_OPEN && d->n_jobs == 0 && n_found < n &&
            bytes <= d->memory_limit - d->memory_used) {
            out[n_found++] = d;
        }
    }
    while (n_found + n_opening < n && open_next(e)) {
        n_opening++;
    }
    return n_opening > 0 ? 0 : n_found;
}

struct queue *engine_take_queue(struct engine_device *d)
{
    d->n_jobs++;
    d->n_begun++;
    return d->queues[--d->n_queues];
}

void engine_give_queue(struct engine_device *d, struct queue *q)
{
    d->n_jobs--;
    d->queues[d->n_queues++] = q;
}

void engine_busy(struct engine *e, struct queue_busy *out)
{
    struct queue_busy one;
    size_t n = 0;
    *out = (struct queue_busy){0};
    for (size_t i = 0; i < e->n_devices; i++) {
        const struct engine_device *d = &e->devices[i];
        if (d->state == DEVICE_OPEN) {
            d->backend->ops->busy_all(d->backend, &one);
            out->device_s += one.device_s;
            out->upload_s += one.upload_s;
            out->download_s += one.download_s;
            n++;
        }
    }
    n = n > 0 ? n : 1;
    out->device_s /= (double)n;
    out->upload_s /= (double)n;
    out->download_s /= (double)n;
}

void engine_close_devices(struct engine *e)
{
    for (size_t i = 0; i < e->n_found; i++) {
        thread_pool_free(e->devices[i].pool); /* it may still be opened */
        close_backend(&e->devices[i]);
    }
    free(e->devices);
    free(e->why);
    e->devices = NULL;
    e->n_devices = e->n_found = 0;
}

void engine_close_cpu(struct engine *e)
{
    close_backend(&e->cpu);
}
