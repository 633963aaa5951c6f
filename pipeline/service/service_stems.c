/*
 * service_stems - jobs whose results have the same name, in the order of their drops. Where a later
 * result replaces an earlier one, a job is not begun before the earlier ones have their place: of
 * two versions of a file the later one's result stays, however long the first takes. Those that
 * wait for something of their own are not waited for: one bad file delays nobody, and its result,
 * when it comes after all, is the last.
 *
 * Stems stand in a search tree, so that many jobs that wait cost nothing.
 */
#include "pipeline/service/service_state.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct service_stem {
    char *name;
    void **tree;              /* that it is in */
    struct service_jobs jobs; /* by id */
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct service_stem *)a)->name, ((const struct service_stem *)b)->name);
}

static void free_stem(struct service_stem *stem)
{
    if (stem != NULL) {
        free(stem->name);
        free(stem);
    }
}

/* The stem of that name, made when it is not there; NULL: no memory. */
static struct service_stem *get_stem(struct service *s, const char *name)
{
    struct service_stem *fresh = calloc(1, sizeof(*fresh));
    if (fresh == NULL || (fresh->name = strdup(name)) == NULL) {
        free_stem(fresh);
        return NULL;
    }
    TAILQ_INIT(&fresh->jobs);
    fresh->tree = &s->stems;
    struct service_stem **found = tsearch(fresh, &s->stems, by_name);
    if (found == NULL || *found != fresh) {
        free_stem(fresh);
    }
    return found != NULL ? *found : NULL;
}

void service_stem_join(struct service *s, struct service_job *job)
{
    struct service_job *before;
    if (job->stem != NULL || (job->stem = get_stem(s, job->spool->stem)) == NULL) {
        return;
    }
    TAILQ_FOREACH_REVERSE(before, &job->stem->jobs, service_jobs, stem_place)
    {
        if (strcmp(before->spool->id, job->spool->id) < 0) {
            TAILQ_INSERT_AFTER(&job->stem->jobs, before, job, stem_place);
            return;
        }
    }
    TAILQ_INSERT_HEAD(&job->stem->jobs, job, stem_place);
}

void service_stem_leave(struct service_job *job)
{
    struct service_stem *stem = job->stem;
    if (stem == NULL) {
        return;
    }
    job->stem = NULL;
    TAILQ_REMOVE(&stem->jobs, job, stem_place);
    if (TAILQ_EMPTY(&stem->jobs)) {
        tdelete(stem, stem->tree, by_name);
        free_stem(stem);
    }
}

/* Whether nobody knows when the job goes on, or it leaves no result. */
static bool is_passed_over(const struct service_job *job)
{
    const bool is_checked = job->list == WAIT_CLAIM || job->list == WAIT_VERIFY;
    return job->held_ms != 0 || job->large_ms != 0 || job->list == WAIT_FAIL ||
           (is_checked && job->spool->outcome == SPOOL_WAIT);
}

const struct service_job *service_stem_before(const struct service *s,
                                              const struct service_job *job)
{
    const struct service_job *other;
    if (!s->settings->replace || job->stem == NULL) {
        return NULL;
    }
    for (other = TAILQ_FIRST(&job->stem->jobs); other != job;
         other = TAILQ_NEXT(other, stem_place)) {
        if (!is_passed_over(other)) {
            return other;
        }
    }
    return NULL;
}

bool service_stem_waits(const struct service *s, const struct service_job *job)
{
    return job->list == WAIT_ATTEMPT && job->large_ms == 0 && service_stem_before(s, job) != NULL;
}

size_t service_stem_count(const struct service *s)
{
    const struct service_job *job;
    size_t n = 0;
    TAILQ_FOREACH(job, &s->lists[WAIT_ATTEMPT], place)
    {
        n += service_stem_waits(s, job);
    }
    return n;
}
