/*
 * place - where one job is computed: the CPU or a device, with a queue of it, and further devices
 * and ranks that help. All on the loop thread, but for what says otherwise.
 */
#ifndef LEAT_PIPELINE_ENGINE_PLACE_H
#define LEAT_PIPELINE_ENGINE_PLACE_H

#include "pipeline/engine/job_tasks.h"
#include "stages/base/pull.h"

/* A device that helps the job's own one, or another rank. */
struct place_helper {
    struct engine_device *device; /* NULL: a rank */
    size_t rank;
    struct queue *queue; /* the job's; NULL: not made yet, or no longer there */
    uint64_t bytes;      /* reserved there */
    bool helps, has_failed;
};

struct place {
    struct job_tasks *tasks; /* the job's, which has the device */
    const struct stage_ops *stage;
    bool has_chosen, wants_device; /* from the job's shape, once */
    uint64_t least_bytes;          /* that the device must have for jobs, as is known so far */
    bool has_lost_device;          /* one that failed under it */
    bool has_lost_help;            /* one of several did */
    bool has_heeded, starts_over;  /* a failure; for that */
    struct queue *queue;
    struct place_helper helpers[SETTINGS_MOST_DEVICES];
    size_t n_helpers, n_helping; /* the method knows the first ones */
    size_t n_ranks_wanted;       /* to be borrowed, besides */
    bool has_devices;            /* devices have been among them */
    bool asks_no_rank;           /* one that was borrowed could not help */
    struct queue_busy busy;      /* as place_stop_clock has found it */
};

static inline struct engine_device *place_device(const struct place *p)
{
    return p->tasks->job->device;
}

/* Also when the job starts over, and then the choice stays. */
void place_begin(struct place *p, struct job_tasks *tasks, const struct stage_ops *stage);
/* Whether so much work (stage_ops.work) keeps a core busy for less than a second. */
bool place_is_short(double work);
/* The backend, from the work that the job's shape predicts. */
void place_choose(struct place *p, double work);
/* Takes a device and a queue of it; false: the job waits for a device to open. */
bool place_take(struct place *p);
/* Gives them back. */
void place_leave(struct place *p);
/* The job has failed, which is heeded once: `starts_over` if it may do better elsewhere; or, where
 * several computed it, alone, since then shows which of them fails. */
void place_heed_failure(struct place *p, enum status code, const char *why);
/* On a lane, once the method is gone. A queue goes on to the next job: nothing of this one may be
 * left in it. STATUS_DEVICE: it has failed, and the job had not (is_well). */
enum status place_empty_queue(struct place *p, bool is_well) STATUS_MUST_CHECK;
/* When all has been computed: sets `busy`, of the queues that of the busiest. */
void place_stop_clock(struct place *p);

/* How many helpers the job may have. */
size_t place_most_helpers(const struct place *p);
/* Finds some for the method, if it wants any, of devices that have so many bytes. */
void place_find_helpers(struct place *p, const struct pull *method, uint64_t bytes);
/* On a lane: tells the method of those that were found. */
enum status place_bring_helpers(struct place *p, struct pull *method) STATUS_MUST_CHECK;
/* On a lane, when the method is gone: waits for their queues and frees them. What counts of their
 * work the method has waited for: a failure that shows now is the device's alone. */
void place_end_helpers(struct place *p);
/* After either: those that have no queue are the engine's again, but for those that have failed. */
void place_give_helpers(struct place *p);

#endif
