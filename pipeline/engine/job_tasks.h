/*
 * job_tasks - the tasks of one job on the engine's lanes: how many run, what they take, and the
 * first failure. All that a job is made of starts its tasks here, and has the job look again when
 * they have ended.
 */
#ifndef LEAT_PIPELINE_ENGINE_JOB_TASKS_H
#define LEAT_PIPELINE_ENGINE_JOB_TASKS_H

#include "pipeline/engine/engine.h"

struct job_tasks {
    struct engine *engine;
    struct engine_job *job; /* whose they are */
    size_t n_running;
    int stop;                /* read by them (queue_is_stopped): the job has failed */
    atomic_bool unpack_stop; /* the same for those that read and unpack */
    enum status code;        /* of the first failure */
    char *message;
    struct thread_pool_account accounts[ENGINE_LANES];
    struct disk_meter disks;
    uint64_t lane_bytes[ENGINE_LANES];
    uint64_t begun_ns;   /* the job has its place */
    bool is_long;        /* by its shape, or by what it has taken since */
    bool in_short_place; /* of the engine's */
};

/* Nothing has been done yet; also when the job starts over, which keeps its place. */
void job_tasks_begin(struct job_tasks *t, struct engine *e, struct engine_job *job);
/* Starts a task of the job's own, or of a block or buffer that it has taken; `finished` books its
 * end, as job_tasks_ended does. */
void job_tasks_run(struct job_tasks *t, struct engine_task *task, enum engine_lane lane,
                   enum status (*work)(void *owner), void (*finished)(struct engine_task *));
/* Books the end of a task; keeps its failure. True when the job goes on. */
bool job_tasks_ended(struct job_tasks *t, struct engine_task *task);
/* Keeps the first failure, and stops what runs. */
void job_tasks_fail(struct job_tasks *t, enum status code, const char *message);
/* The job fails with this thread's message, unless the status is STATUS_OK: then true. */
bool job_tasks_check(struct job_tasks *t, enum status code);
/* The job looks again, since something of its own has changed. */
static inline void job_tasks_changed(const struct job_tasks *t)
{
    t->job->advance(t->job);
}

/* What its shape says. */
void job_tasks_set_short(struct job_tasks *t, bool is);
/* Shapes predict little of a result's size, or of text whose length is not known: one that lasts
 * counts as a long job. */
void job_tasks_heed_time(struct job_tasks *t);
void job_tasks_leave_short_place(struct job_tasks *t);

#endif
