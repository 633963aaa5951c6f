/*
 * job_state - a job's inside, for job.c and tests. What it is made of knows others of these, in
 * this order, and never the job:
 *
 *   tasks     what runs for it on lanes, and its first failure
 *   place     the device and queue that it has, and what helps
 *   reading   its files, to blocks of numbers
 *   memory    what its stage plans, and what is reserved
 *   writing   results, to files and the published folder
 *   method    what is pulled through all of these
 */
#ifndef LEAT_PIPELINE_ENGINE_JOB_STATE_H
#define LEAT_PIPELINE_ENGINE_JOB_STATE_H

#include "pipeline/engine/job.h"
#include "pipeline/engine/method.h"
#include "pipeline/engine/state_file.h"

enum job_phase {
    JOB_OPENING,  /* the input's head is being read */
    JOB_PLACING,  /* a device is being opened */
    JOB_WAITING,  /* for memory */
    JOB_STARTING, /* the method begins */
    JOB_COMPUTING,
    JOB_COMPLETING, /* the page, the zip and result.json are written */
    JOB_PUBLISHING,
    JOB_ENDING /* everything is being given back */
};

struct job {
    struct engine_job base; /* first: the engine has its address */
    struct job_context context;
    struct job_input input;
    enum job_phase phase;
    struct job_tasks tasks;
    struct place place;
    struct reading reading;
    struct memory memory;
    struct writing writing;
    struct method method;
    struct state_file state; /* where it may have one */
    enum status code_at_end; /* of tasks as JOB_ENDING began: job_cancel may change it meanwhile */
    bool restarts;           /* as JOB_ENDING began: it is going to start over */
    bool has_given_up;       /* it does not start over any more */
    bool is_sent_back;       /* it is long, and was to be computed only if short */
    uv_timer_t *deadline;
    double deadline_s; /* as the job began; 0: none */
    bool waits;        /* for memory or a device, which does not count */
    json_t *manifest;
    struct engine_task task;
    uint64_t started_ns;
};

/* Whether it ends only to begin again: it needs more memory than was free, the stage said so, or
 * its device has failed. */
bool job_starts_over(const struct job *job);

#endif
