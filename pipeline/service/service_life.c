/* service_life - see service_life.h. */
#include "pipeline/service/service_life.h"

static const struct service_rule rules[] = {
    {WAIT_FOUND, EVENT_UNCLAIMED, WAIT_CLAIM, ACTION_NONE},
    {WAIT_FOUND, EVENT_UNVERIFIED, WAIT_VERIFY, ACTION_NONE},
    {WAIT_FOUND, EVENT_MADE, WAIT_FINISH, ACTION_NONE},
    {WAIT_FOUND, EVENT_FAILING, WAIT_FAIL, ACTION_NONE},

    {WAIT_CLAIM, EVENT_COMPLETE, WAIT_ATTEMPT, ACTION_NONE},
    {WAIT_CLAIM, EVENT_UNVERIFIED, WAIT_VERIFY, ACTION_AWAIT_WRITER},
    {WAIT_CLAIM, EVENT_UNCLAIMED, WAIT_CLAIM, ACTION_AWAIT_WRITER},
    {WAIT_CLAIM, EVENT_UNTAKEN, WAIT_NOTHING, ACTION_FORGET},
    {WAIT_CLAIM, EVENT_GONE, WAIT_NOTHING, ACTION_FORGET},
    {WAIT_CLAIM, EVENT_PUT_OFF, WAIT_CLAIM, ACTION_NONE},
    {WAIT_CLAIM, EVENT_NO_ROOM, WAIT_CLAIM, ACTION_DEFER},
    {WAIT_CLAIM, EVENT_REFUSED, WAIT_FAIL, ACTION_BLAME},

    {WAIT_VERIFY, EVENT_COMPLETE, WAIT_ATTEMPT, ACTION_NONE},
    {WAIT_VERIFY, EVENT_UNVERIFIED, WAIT_VERIFY, ACTION_AWAIT_WRITER},
    {WAIT_VERIFY, EVENT_NO_ROOM, WAIT_VERIFY, ACTION_DEFER},
    {WAIT_VERIFY, EVENT_REFUSED, WAIT_FAIL, ACTION_BLAME},
    {WAIT_VERIFY, EVENT_DELETED, WAIT_FAIL, ACTION_NONE},

    {WAIT_ATTEMPT, EVENT_ATTEMPTED, WAIT_WORKER, ACTION_NONE},
    {WAIT_ATTEMPT, EVENT_UNVERIFIED, WAIT_VERIFY, ACTION_NONE}, /* an input came late */
    {WAIT_ATTEMPT, EVENT_PUT_OFF, WAIT_ATTEMPT, ACTION_NONE},
    {WAIT_ATTEMPT, EVENT_NO_ROOM, WAIT_ATTEMPT, ACTION_DEFER},
    {WAIT_ATTEMPT, EVENT_REFUSED, WAIT_FAIL, ACTION_BLAME},
    {WAIT_ATTEMPT, EVENT_DELETED, WAIT_FAIL, ACTION_NONE},

    {WAIT_WORKER, EVENT_SENT, WAIT_RESULT, ACTION_NONE},
    {WAIT_WORKER, EVENT_SENT_BACK, WAIT_REQUEUE, ACTION_NONE},

    {WAIT_RESULT, EVENT_RESULT, WAIT_FINISH, ACTION_NONE},
    {WAIT_RESULT, EVENT_BAD_INPUT, WAIT_FAIL, ACTION_NONE},
    {WAIT_RESULT, EVENT_SENT_BACK, WAIT_REQUEUE, ACTION_NONE},
    {WAIT_RESULT, EVENT_CHARGED, WAIT_CHARGE, ACTION_NONE},

    {WAIT_FINISH, EVENT_ENDED, WAIT_NOTHING, ACTION_TELL_DONE},
    {WAIT_FINISH, EVENT_CHANGED, WAIT_REQUEUE, ACTION_AWAIT_WRITER},
    {WAIT_FINISH, EVENT_PUT_OFF, WAIT_FINISH, ACTION_NONE},
    {WAIT_FINISH, EVENT_LOST, WAIT_REQUEUE, ACTION_REDO},
    {WAIT_FINISH, EVENT_NO_ROOM, WAIT_FINISH, ACTION_DEFER},
    {WAIT_FINISH, EVENT_BLOCKED, WAIT_FINISH, ACTION_DEFER},
    {WAIT_FINISH, EVENT_REFUSED, WAIT_FAIL, ACTION_BLAME},
    {WAIT_FINISH, EVENT_SENT_BACK, WAIT_REQUEUE, ACTION_NONE}, /* the service stops */

    {WAIT_REQUEUE, EVENT_UNVERIFIED, WAIT_VERIFY, ACTION_SPACE},
    {WAIT_REQUEUE, EVENT_NO_ROOM, WAIT_REQUEUE, ACTION_DEFER},
    {WAIT_REQUEUE, EVENT_REFUSED, WAIT_FAIL, ACTION_BLAME},

    {WAIT_CHARGE, EVENT_UNVERIFIED, WAIT_VERIFY, ACTION_BACK_OFF},
    {WAIT_CHARGE, EVENT_EXHAUSTED, WAIT_FAIL, ACTION_GIVE_UP},
    {WAIT_CHARGE, EVENT_NO_ROOM, WAIT_CHARGE, ACTION_DEFER},
    {WAIT_CHARGE, EVENT_REFUSED, WAIT_FAIL, ACTION_BLAME},

    {WAIT_FAIL, EVENT_ENDED, WAIT_NOTHING, ACTION_TELL_FAILED},
    {WAIT_FAIL, EVENT_CHANGED, WAIT_REQUEUE, ACTION_AWAIT_WRITER},
    {WAIT_FAIL, EVENT_BLOCKED, WAIT_FAIL, ACTION_DEFER},
};

const struct service_rule *service_rules(size_t *n)
{
    *n = sizeof(rules) / sizeof(*rules);
    return rules;
}

const struct service_rule *service_rule(enum service_list from, enum service_event event)
{
    static const struct service_rule otherwise = {WAIT_FOUND, EVENT_REFUSED, WAIT_FAIL,
                                                  ACTION_BLAME};
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        if (rules[i].from == from && rules[i].event == event) {
            return &rules[i];
        }
    }
    return &otherwise;
}

/* Where the job stands. */
static enum service_event place_of(const struct spool_job *job)
{
    static const enum service_event places[] = {
        [SPOOL_NEW] = EVENT_UNCLAIMED,   [SPOOL_UNVERIFIED] = EVENT_UNVERIFIED,
        [SPOOL_QUEUED] = EVENT_COMPLETE, [SPOOL_WORKING] = EVENT_ATTEMPTED,
        [SPOOL_DURABLE] = EVENT_MADE,    [SPOOL_COMMITTED] = EVENT_MADE,
        [SPOOL_PUBLISHED] = EVENT_MADE,  [SPOOL_FAILING] = EVENT_FAILING,
        [SPOOL_ENDED] = EVENT_ENDED,
    };
    return places[job->state];
}

enum service_event service_event_of(enum service_list from, const struct spool_job *job)
{
    /* What has become of the job is known: it cannot fail any more, or does so already. */
    const bool is_decided =
        from == WAIT_FAIL || job->state == SPOOL_COMMITTED || job->state == SPOOL_PUBLISHED;
    if (from == WAIT_FOUND) {
        return place_of(job);
    }
    if (from == WAIT_CLAIM && job->id[0] == '\0') {
        return EVENT_UNTAKEN;
    }
    switch (job->outcome) {
    case SPOOL_OK:
        return place_of(job);
    case SPOOL_WAIT:
        return from == WAIT_FINISH || from == WAIT_FAIL ? EVENT_CHANGED : place_of(job);
    case SPOOL_GONE:
        return EVENT_GONE;
    case SPOOL_EXHAUSTED:
        return EVENT_EXHAUSTED;
    case SPOOL_BAD_INPUT:
    case SPOOL_INTERNAL:
        return is_decided ? EVENT_BLOCKED : EVENT_REFUSED;
    case SPOOL_TRANSIENT:
        /* What the disk did not take is gone from memory, too: the work is to be done again. */
        return is_decided                                           ? EVENT_BLOCKED
               : from == WAIT_FINISH && job->state == SPOOL_WORKING ? EVENT_LOST
                                                                    : EVENT_NO_ROOM;
    }
    return EVENT_REFUSED;
}
