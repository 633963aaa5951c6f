/* service_life - see service_life.h. */
#include "pipeline/service/service_life.h"

enum service_list service_next(enum service_list from, enum spool_outcome outcome)
{
    static const struct {
        enum service_list ok, wait;
    } next[SERVICE_LISTS] = {
        [WAIT_CLAIM] = {WAIT_ATTEMPT, WAIT_VERIFY},   [WAIT_VERIFY] = {WAIT_ATTEMPT, WAIT_VERIFY},
        [WAIT_ATTEMPT] = {WAIT_WORKER, WAIT_VERIFY},  [WAIT_WORKER] = {WAIT_RESULT, WAIT_REQUEUE},
        [WAIT_RESULT] = {WAIT_FINISH, WAIT_REQUEUE},  [WAIT_FINISH] = {WAIT_NOTHING, WAIT_REQUEUE},
        [WAIT_REQUEUE] = {WAIT_VERIFY, WAIT_REQUEUE}, [WAIT_FAIL] = {WAIT_NOTHING, WAIT_REQUEUE},
    };
    switch (outcome) {
    case SPOOL_OK:
        return next[from].ok;
    case SPOOL_WAIT:
        return next[from].wait;
    case SPOOL_TRANSIENT:
        return from;
    case SPOOL_GONE:
        return from == WAIT_CLAIM ? WAIT_NOTHING : WAIT_FAIL;
    default:
        return WAIT_FAIL;
    }
}

enum spool_outcome service_outcome(enum service_list from, const struct spool_job *job)
{
    const bool is_decided =
        from == WAIT_FAIL || job->state == SPOOL_COMMITTED || job->state == SPOOL_PUBLISHED;
    if (from == WAIT_CLAIM && job->id[0] == '\0') {
        return SPOOL_GONE;
    }
    switch (job->outcome) {
    case SPOOL_OK:
        return SPOOL_OK;
    case SPOOL_WAIT: /* recorded, and not all of its inputs are taken: the claim is repeated */
        return job->state == SPOOL_NEW ? SPOOL_TRANSIENT : SPOOL_WAIT;
    case SPOOL_TRANSIENT:
        return from == WAIT_FINISH && job->state == SPOOL_WORKING ? SPOOL_WAIT : SPOOL_TRANSIENT;
    default:
        return is_decided ? SPOOL_TRANSIENT : job->outcome;
    }
}

enum service_list service_list_of(enum spool_state state)
{
    static const enum service_list lists[] = {
        [SPOOL_NEW] = WAIT_CLAIM,        [SPOOL_UNVERIFIED] = WAIT_VERIFY,
        [SPOOL_QUEUED] = WAIT_ATTEMPT,   [SPOOL_WORKING] = WAIT_REQUEUE,
        [SPOOL_DURABLE] = WAIT_FINISH,   [SPOOL_COMMITTED] = WAIT_FINISH,
        [SPOOL_PUBLISHED] = WAIT_FINISH, [SPOOL_FAILING] = WAIT_FAIL,
        [SPOOL_ENDED] = WAIT_NOTHING,
    };
    return lists[state];
}
