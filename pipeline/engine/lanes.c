/*
 * lanes - tasks, and how the loop thread learns of their end. Reading and writing have thread pools
 * of their own, since they wait for disks; decoding, CPU kernels and encoding share the compute
 * pool, later lanes first; a CUDA device has a thread pool that feeds it (device.c).
 */
#include "pipeline/engine/engine.h"

#include "watch/files/xalloc.h"

#include <stdlib.h>
#include <string.h>

const char *const engine_lane_names[ENGINE_LANES] = {"read", "decode", "device", "encode", "write"};

static void run_work(struct thread_pool_task *base)
{
    struct engine_task *task = (struct engine_task *)base;
    task->code = task->work(task->owner);
    if (task->code != STATUS_OK) {
        free(task->message);
        task->message = xstrdup(status_message());
    }
}

static void report_done(struct thread_pool_task *base)
{
    struct engine_task *task = (struct engine_task *)base;
    struct engine *e = task->engine;
    task->next = NULL;
    pthread_mutex_lock(&e->finished_lock);
    bool first = e->finished_first == NULL;
    *e->finished_last = task;
    e->finished_last = &task->next;
    pthread_mutex_unlock(&e->finished_lock);
    if (first) {
        uv_async_send(&e->wake);
    }
}

static void on_wake(uv_async_t *wake)
{
    struct engine *e = wake->data;
    pthread_mutex_lock(&e->finished_lock);
    struct engine_task *task = e->finished_first;
    e->finished_first = NULL;
    e->finished_last = &e->finished_first;
    pthread_mutex_unlock(&e->finished_lock);
    while (task != NULL) {
        struct engine_task *next = task->next;
        task->finished(task);
        task = next;
    }
}

void engine_start(struct engine *e, struct engine_task *task, enum engine_lane lane,
                  struct thread_pool_account *account)
{
    struct thread_pool *pool = e->compute;
    unsigned priority = 0;
    switch (lane) {
    case LANE_READ:
        pool = e->reading;
        break;
    case LANE_WRITE:
        pool = e->writing;
        break;
    case LANE_ENCODE:
        priority = 2;
        break;
    case LANE_DEVICE:
        pool = task->device != NULL ? task->device : e->compute;
        priority = 1;
        break;
    default:
        break;
    }
    task->base =
        (struct thread_pool_task){.work = run_work, .done = report_done, .account = account};
    task->engine = e;
    task->code = STATUS_OK;
    thread_pool_submit(pool, priority, &task->base);
}

void engine_task_clear(struct engine_task *task)
{
    free(task->message);
    task->message = NULL;
    task->code = STATUS_OK;
}

void engine_advance_jobs(struct engine *e)
{
    for (size_t i = 0; i < e->n_jobs; i++) {
        e->jobs[i]->advance(e->jobs[i]);
    }
}

enum status engine_open_lanes(struct engine *e)
{
    pthread_mutex_init(&e->finished_lock, NULL);
    e->finished_last = &e->finished_first;
    const int failed = uv_async_init(e->loop, &e->wake, on_wake);
    if (failed != 0) {
        pthread_mutex_destroy(&e->finished_lock);
        return status_fail(STATUS_IO, "cannot watch for finished work: %s", uv_strerror(failed));
    }
    e->wake.data = e;
    return STATUS_OK;
}

void engine_close_lanes(struct engine *e)
{
    uv_close((uv_handle_t *)&e->wake, NULL);
    pthread_mutex_destroy(&e->finished_lock);
}
