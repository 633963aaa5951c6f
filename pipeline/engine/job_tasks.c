/*
 * job_tasks - see the header.
 */
#include "pipeline/engine/job_tasks.h"

#include "watch/files/xalloc.h"

#include <stdlib.h>

void job_tasks_begin(struct job_tasks *t, struct engine *e, struct engine_job *job)
{
    const uint64_t begun_ns = t->begun_ns != 0 ? t->begun_ns : thread_pool_now_ns();
    free(t->message);
    *t = (struct job_tasks){
        .engine = e, .job = job, .begun_ns = begun_ns, .in_short_place = t->in_short_place};
    t->disks = disk_meter_of(&e->disks);
    for (size_t i = 0; i < ENGINE_LANES; i++) {
        t->accounts[i].watch = &t->disks.watch;
    }
}

void job_tasks_fail(struct job_tasks *t, enum status code, const char *message)
{
    if (t->code == STATUS_OK) {
        t->code = code;
        t->message = xstrdup(message);
        __atomic_store_n(&t->stop, 1, __ATOMIC_RELAXED);
        atomic_store(&t->unpack_stop, true);
    }
}

bool job_tasks_check(struct job_tasks *t, enum status code)
{
    if (code != STATUS_OK) {
        job_tasks_fail(t, code, status_message());
    }
    return code == STATUS_OK;
}

void job_tasks_set_short(struct job_tasks *t, bool is)
{
    t->is_long = !is;
    for (size_t i = 0; i < ENGINE_LANES; i++) {
        atomic_store_explicit(&t->accounts[i].is_short, is, memory_order_relaxed);
    }
}

void job_tasks_leave_short_place(struct job_tasks *t)
{
    t->engine->n_short_only -= t->in_short_place;
    t->in_short_place = false;
}

/* CPU time is known of tasks that have ended, and a device's is none. */
void job_tasks_heed_time(struct job_tasks *t)
{
    static const uint64_t most_ns = 2000000000, most_in_place_ns = 10 * most_ns;
    uint64_t ns = 0;
    for (size_t i = 0; i < ENGINE_LANES; i++) {
        ns += t->accounts[i].cpu_ns;
    }
    if (ns > most_ns) {
        job_tasks_set_short(t, false);
    }
    if (ns > most_ns || thread_pool_now_ns() - t->begun_ns > most_in_place_ns) {
        job_tasks_leave_short_place(t);
    }
}

void job_tasks_run(struct job_tasks *t, struct engine_task *task, enum engine_lane lane,
                   enum status (*work)(void *owner), void (*finished)(struct engine_task *))
{
    task->device = t->job->device != NULL ? t->job->device->pool : NULL;
    task->work = work;
    task->finished = finished;
    t->n_running++;
    job_tasks_heed_time(t);
    engine_start(t->engine, task, lane, &t->accounts[lane]);
}

bool job_tasks_ended(struct job_tasks *t, struct engine_task *task)
{
    t->n_running--;
    if (task->code != STATUS_OK) {
        job_tasks_fail(t, task->code, task->message);
    }
    engine_task_clear(task);
    return t->code == STATUS_OK;
}
