/*
 * result_name_queue - jobs whose results have the same FOLDER/NAME, in the order of their drops.
 * Where a later result replaces an earlier one, a job is not begun before the earlier ones have
 * their place: of two versions of a file the later one's result stays, however long the first
 * takes. Those that wait for something of their own are not waited for: one bad file delays nobody,
 * and its result, when it comes after all, is the last.
 *
 * The queues are in a search tree by name, so that many jobs that wait cost nothing.
 */
#include "pipeline/service/service_state.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct result_name_queue {
    char *name;
    void **tree;              /* that it is in */
    struct service_jobs jobs; /* by id */
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct result_name_queue *)a)->name,
                  ((const struct result_name_queue *)b)->name);
}

static void free_queue(struct result_name_queue *queue)
{
    if (queue != NULL) {
        free(queue->name);
        free(queue);
    }
}

/* The queue of the job's result, made when it is not there; NULL: no memory. */
static struct result_name_queue *get_queue(struct service *s, const struct spool_job *job)
{
    struct result_name_queue *fresh = calloc(1, sizeof(*fresh));
    if (fresh == NULL || asprintf(&fresh->name, "%s/%s", job->folder, job->stem) < 0) {
        free(fresh);
        return NULL;
    }
    TAILQ_INIT(&fresh->jobs);
    fresh->tree = &s->result_queues;
    struct result_name_queue **found = tsearch(fresh, &s->result_queues, by_name);
    if (found == NULL || *found != fresh) {
        free_queue(fresh);
    }
    return found != NULL ? *found : NULL;
}

void result_name_queue_join(struct service *s, struct service_job *job)
{
    struct service_job *before;
    if (job->result_queue != NULL || (job->result_queue = get_queue(s, job->spool)) == NULL) {
        return;
    }
    TAILQ_FOREACH_REVERSE(before, &job->result_queue->jobs, service_jobs, result_place)
    {
        if (strcmp(before->spool->id, job->spool->id) < 0) {
            TAILQ_INSERT_AFTER(&job->result_queue->jobs, before, job, result_place);
            return;
        }
    }
    TAILQ_INSERT_HEAD(&job->result_queue->jobs, job, result_place);
}

void result_name_queue_leave(struct service_job *job)
{
    struct result_name_queue *queue = job->result_queue;
    if (queue == NULL) {
        return;
    }
    job->result_queue = NULL;
    TAILQ_REMOVE(&queue->jobs, job, result_place);
    if (TAILQ_EMPTY(&queue->jobs)) {
        tdelete(queue, queue->tree, by_name);
        free_queue(queue);
    }
}

/* Whether nobody knows when the job goes on, or it leaves no result. */
static bool is_passed_over(const struct service_job *job)
{
    const bool is_checked = job->list == WAIT_CLAIM || job->list == WAIT_VERIFY;
    return job->spool->held || job->deferred_ms != 0 || job->large_ms != 0 ||
           job->list == WAIT_FAIL || (is_checked && job->spool->outcome == SPOOL_WAIT);
}

const struct service_job *result_name_queue_before(const struct service *s,
                                                   const struct service_job *job)
{
    const struct service_job *other;
    if (!s->settings->replace || job->result_queue == NULL) {
        return NULL;
    }
    for (other = TAILQ_FIRST(&job->result_queue->jobs); other != job;
         other = TAILQ_NEXT(other, result_place)) {
        if (!is_passed_over(other)) {
            return other;
        }
    }
    return NULL;
}

bool result_name_queue_waits(const struct service *s, const struct service_job *job)
{
    return job->list == WAIT_ATTEMPT && job->large_ms == 0 &&
           result_name_queue_before(s, job) != NULL;
}

size_t result_name_queue_count(const struct service *s)
{
    const struct service_job *job;
    size_t n = 0;
    TAILQ_FOREACH(job, &s->lists[WAIT_ATTEMPT], place)
    {
        n += result_name_queue_waits(s, job);
    }
    return n;
}
