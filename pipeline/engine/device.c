/*
 * device - where jobs are computed: the CPU, and CUDA devices, which are found and opened when
 * there is work for them. All decisions are made on the loop thread; finding and opening are tasks.
 *
 * A job that wants a device takes, of the open ones that have memory for it, that with the fewest
 * jobs. Where none is idle and the jobs that wait would keep one busy for longer than opening one
 * takes, a further one is opened, and they wait for it. No device gets more than its share of the
 * jobs that may be in flight, so that those which come while one opens are left for it. A device
 * that fails gets no more jobs, and those that it had begin again on another one.
 */
#include "formats/base/log.h"
#include "formats/base/moves.h"
#include "pipeline/engine/engine.h"
#include "pipeline/names/machine.h"
#include "watch/files/xalloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE_THREADS = 4 };

/* Operations (stage_ops.work) that take a device about as long as opening one does: 0.2 s. */
static const double opening_work = 5e10;

/* --- one device ------------------------------------------------------------------------------- */

static enum status make_queues(struct engine_device *d, size_t n)
{
    d->queues = xcalloc(n, sizeof(struct queue *));
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

/* The blocks of all jobs become page-locked with the first device, while its first job begins;
 * copies are slower until then, and where they cannot be. */
static void pin_blocks(struct thread_pool_task *task)
{
    struct engine_device *d = (struct engine_device *)task;
    struct engine *e = d->engine;
    bool pins = !__atomic_exchange_n(&e->is_pinned, true, __ATOMIC_RELAXED);
    for (; pins && d->n_pinned < e->n_blocks; d->n_pinned += pins) {
        pins = d->backend->ops->host_pin(d->backend, e->blocks[d->n_pinned].chunk.raw,
                                         e->block_bytes) == STATUS_OK;
        if (!pins) {
            log_warning("copies to devices are slow: %s", status_message());
        }
    }
}

/* How many jobs a device may have: its share of those that may be in flight, a short one, too. */
static size_t share_of_jobs(const struct engine *e)
{
    const size_t n_jobs = e->max_jobs + e->has_short_place;
    size_t n = 0;
    for (size_t i = 0; i < e->n_devices; i++) {
        n += e->devices[i].state != DEVICE_FAILED;
    }
    return n > 0 ? (n_jobs + n - 1) / n : n_jobs;
}

static void pinned(struct thread_pool_task *task)
{
    (void)task;
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

static enum status open_backend(struct engine_device *d)
{
    const struct backend_config config = {.executor = thread_pool_executor(d->engine->compute),
                                          .device = d->number,
                                          .moved = moves_add};
    STATUS_TRY(backend_open_cuda(&config, &d->backend));
    d->backend->ops->describe(d->backend, &d->info);
    d->memory_limit = d->info.memory_free / 10 * 9;
    return make_queues(d, d->share);
}

static enum status open_work(void *owner)
{
    struct engine_device *d = owner;
    char why[STATUS_MESSAGE_BYTES];
    const enum status code = open_backend(d);
    if (code != STATUS_OK) {
        snprintf(why, sizeof(why), "%s", status_message());
        close_backend(d);
        return status_set(code, why);
    }
    d->pinning = (struct thread_pool_task){.work = pin_blocks, .done = pinned};
    thread_pool_submit(d->pool, 0, &d->pinning);
    return STATUS_OK;
}

static enum status begin_opening(struct engine_device *d)
{
    d->share = share_of_jobs(d->engine);
    d->state = DEVICE_OPENING;
    return thread_pool_new(DEVICE_THREADS, &d->pool);
}

/* `code`: of opening it. */
static void end_opening(struct engine_device *d, enum status code, const char *why)
{
    const struct engine *e = d->engine;
    d->state = code == STATUS_OK ? DEVICE_OPEN : DEVICE_FAILED;
    if (code != STATUS_OK) {
        log_warning("CUDA device %d is not used: %s", d->number, why);
        return;
    }
    for (size_t i = 0; i < e->n_devices; i++) {
        const struct engine_device *o = &e->devices[i];
        if (o != d && o->state == DEVICE_OPEN && strcmp(o->info.device, d->info.device) != 0) {
            log_warning("CUDA devices %d (%s) and %d (%s) differ: the last bits of a result may "
                        "depend on which computes it; --devices chooses",
                        o->number, o->info.device, d->number, d->info.device);
            return;
        }
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
    e->devices = xcalloc(n, sizeof(*e->devices));
    for (size_t i = 0; i < n; i++) {
        e->devices[i] = (struct engine_device){.engine = e, .number = numbers[i]};
    }
    e->n_found = n;
    return STATUS_OK;
}

/* Opens the first that can be. */
static enum status open_first(struct engine *e)
{
    enum status code = status_fail(STATUS_NO_BACKEND, "no device can be opened");
    for (size_t i = 0; i < e->n_devices && code != STATUS_OK; i++) {
        struct engine_device *d = &e->devices[i];
        if (d->state != DEVICE_CLOSED) {
            continue;
        }
        code = begin_opening(d);
        code = code == STATUS_OK ? open_work(d) : code;
        if (code == STATUS_OK ||
            i + 1 < e->n_devices) { /* the last one's failure is the caller's */
            end_opening(d, code, status_message());
        }
    }
    return code;
}

enum status engine_open_devices(struct engine *e)
{
    STATUS_TRY(find_work(e));
    e->n_devices = e->n_found;
    e->have_looked = true;
    return open_first(e);
}

static struct engine_device *find_open(const struct engine *e)
{
    for (size_t i = 0; i < e->n_devices; i++) {
        if (e->devices[i].state == DEVICE_OPEN) {
            return &e->devices[i];
        }
    }
    return NULL;
}

enum status engine_open_device(struct engine *e, struct engine_device **out)
{
    if (strcmp(e->settings->backend, "cpu") == 0) {
        return status_fail(STATUS_NO_BACKEND, "it uses no devices (--backend cpu)");
    }
    *out = find_open(e);
    if (*out == NULL) {
        STATUS_TRY(e->have_looked ? open_first(e) : engine_open_devices(e));
        *out = find_open(e);
    }
    return STATUS_OK;
}

/* --- on the loop thread ----------------------------------------------------------------------- */

static void find_finished(struct engine_task *task)
{
    struct engine *e = task->owner;
    e->n_devices = e->n_found;
    e->have_looked = true;
    if (task->code != STATUS_OK) {
        const bool is_expected = machine_has_nvidia() || e->settings->devices.n > 0;
        (is_expected ? log_info : log_debug)("on the CPU: %s", task->message);
    }
    engine_task_clear(task);
    engine_advance_jobs(e);
}

static void open_finished(struct engine_task *task)
{
    struct engine_device *d = task->owner;
    end_opening(d, task->code, task->message);
    engine_task_clear(task);
    engine_advance_jobs(d->engine);
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
                .owner = d, .work = open_work, .finished = open_finished, .device = d->pool};
            engine_start(e, &d->opening, LANE_DEVICE, NULL);
            return true;
        }
        end_opening(d, code, status_message());
    }
    return false;
}

/* Whether a further device is worth opening for the jobs that wait, beside those that are. */
static bool is_worth_opening(const struct engine *e, size_t n_opening)
{
    double work = 0;
    size_t n = 0;
    for (size_t i = 0; i < e->n_jobs; i++) {
        if (e->jobs[i]->waits == WAITS_FOR_DEVICE) {
            work += e->jobs[i]->work;
            n++;
        }
    }
    return n_opening < n && work >= opening_work * (double)(n_opening + 1);
}

static bool is_usable(const struct engine_device *d)
{
    return d->state == DEVICE_OPEN || d->state == DEVICE_OPENING || d->state == DEVICE_CLOSED;
}

bool engine_has_other(const struct engine_device *d, uint64_t bytes)
{
    const struct engine *e = d->engine;
    bool any = false;
    for (size_t i = 0; i < e->n_devices; i++) {
        const struct engine_device *o = &e->devices[i];
        any = any ||
              (o != d && is_usable(o) && (o->state != DEVICE_OPEN || o->memory_limit >= bytes));
    }
    return any;
}

bool engine_leave_device(struct engine_device *d, const char *why)
{
    if (!engine_has_other(d, 0)) {
        return false;
    }
    if (d->state == DEVICE_OPEN) {
        d->state = DEVICE_FAILED;
        log_warning("CUDA device %d is not used any more: %s", d->number, why);
    }
    return true;
}

struct engine_device *engine_place(struct engine *e, uint64_t bytes)
{
    struct engine_device *best = NULL, *small = NULL;
    size_t n_opening = 0, n_open = 0, n_fit = 0;
    if (!e->have_looked) {
        look_for_devices(e);
        return NULL;
    }
    for (size_t i = 0; i < e->n_devices; i++) {
        struct engine_device *d = &e->devices[i];
        const bool fits = d->state == DEVICE_OPEN && d->memory_limit >= bytes;
        n_opening += d->state == DEVICE_OPENING;
        n_open += d->state == DEVICE_OPEN;
        n_fit += fits;
        if (fits && d->n_queues > 0 && (best == NULL || d->n_jobs < best->n_jobs)) {
            best = d;
        } else if (!fits && d->state == DEVICE_OPEN && d->n_queues > 0) {
            small = d;
        }
    }
    if (best != NULL && best->n_jobs == 0) {
        return best;
    }
    const bool must_open = n_fit == 0 && n_opening == 0;
    if ((must_open || is_worth_opening(e, n_opening)) && open_next(e)) {
        n_opening++;
    }
    if (n_opening > 0) {
        return NULL;
    }
    return n_fit > 0    ? best
           : n_open > 0 ? small
                        : &e->cpu; /* there the plan says what is missing */
}

/* Whether a job waits for a device. */
static bool is_awaited(const struct engine *e)
{
    bool any = false;
    for (size_t i = 0; i < e->n_jobs; i++) {
        any |= e->jobs[i]->waits == WAITS_FOR_DEVICE;
    }
    return any;
}

size_t engine_find_helpers(struct engine *e, const struct engine_device *home, uint64_t bytes,
                           size_t n, struct engine_device **out)
{
    size_t n_found = 0, n_opening = 0;
    if (is_awaited(e)) {
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

bool engine_is_opening(const struct engine *e)
{
    bool any = false;
    for (size_t i = 0; i < e->n_devices; i++) {
        any |= e->devices[i].state == DEVICE_OPENING;
    }
    return any;
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
    *out = (struct queue_busy){0};
    for (size_t i = 0; i < e->n_devices; i++) {
        const struct engine_device *d = &e->devices[i];
        if (d->state == DEVICE_OPEN) {
            d->backend->ops->busy_all(d->backend, &one);
            out->device_s = fmax(out->device_s, one.device_s);
            out->upload_s = fmax(out->upload_s, one.upload_s);
            out->download_s = fmax(out->download_s, one.download_s);
        }
    }
}

void engine_close_devices(struct engine *e)
{
    for (size_t i = 0; i < e->n_found; i++) {
        thread_pool_free(e->devices[i].pool); /* it may still be opened */
        engine_task_clear(&e->devices[i].opening);
        close_backend(&e->devices[i]);
    }
    engine_task_clear(&e->find_task);
    free(e->devices);
    e->devices = NULL;
    e->n_devices = e->n_found = 0;
}

void engine_close_cpu(struct engine *e)
{
    close_backend(&e->cpu);
}
