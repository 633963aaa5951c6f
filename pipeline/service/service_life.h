/*
 * service_life - the life of a job as one table: what it waits for, what happens, and what it waits
 * for then. Nothing else decides where a job goes. `tests/pipeline/test_service_life.c` visits
 * every row, and keeps the copy in ARCHITECTURE.md true.
 */
#ifndef LEAT_PIPELINE_SERVICE_SERVICE_LIFE_H
#define LEAT_PIPELINE_SERVICE_SERVICE_LIFE_H

#include "watch/spool/spool.h"

/* What a job waits for; a job in one of these states stands in the list of it. */
enum service_list {
    WAIT_CLAIM,
    WAIT_VERIFY,
    WAIT_ATTEMPT,
    WAIT_WORKER,  /* attempted, and not yet sent */
    WAIT_RESULT,  /* at a worker */
    WAIT_FINISH,  /* the worker is done */
    WAIT_REQUEUE, /* nobody's fault */
    WAIT_CHARGE,  /* its own fault, perhaps */
    WAIT_FAIL,
    SERVICE_LISTS,
    WAIT_FOUND = SERVICE_LISTS, /* by recovery, and not yet listed */
    WAIT_NOTHING                /* it has ended */
};

enum service_event {
    /* A step of the spool has no complaint, or somebody still writes to an input, and the job is */
    EVENT_UNCLAIMED,  /* recorded, and not all of its inputs are taken */
    EVENT_UNVERIFIED, /* claimed */
    EVENT_COMPLETE,   /* claimed, and nobody writes to it */
    EVENT_ATTEMPTED,  /* charged with an attempt */
    EVENT_MADE,       /* on its way from a result that is made to done/ */
    EVENT_FAILING,    /* on its way to failed/ */
    EVENT_ENDED,      /* in done/ or failed/ */
    EVENT_CHANGED,    /* worked on, and an input is not what it was */
    /* It has: */
    EVENT_UNTAKEN,   /* nothing of the job has been taken */
    EVENT_GONE,      /* an input was taken away */
    EVENT_REFUSED,   /* the job can only fail */
    EVENT_EXHAUSTED, /* all attempts have been charged */
    EVENT_NO_ROOM,   /* our side lacks something */
    EVENT_LOST,      /* so it does, and the result may not be on disk */
    EVENT_BLOCKED,   /* something is in the way of what is decided already */
    /* The service, or a worker: */
    EVENT_SENT,
    EVENT_PUT_OFF,   /* the step cannot be begun */
    EVENT_RESULT,    /* the work is done */
    EVENT_BAD_INPUT, /* the input is to blame */
    EVENT_SENT_BACK, /* nobody is to blame: not begun, cancelled, changed, our side lacked something
                      */
    EVENT_CHARGED,   /* the job is to blame, perhaps: a crash, a deadline, a device */
    EVENT_DELETED,   /* by an administrator */
    SERVICE_EVENTS
};

/* What is done beside. */
enum service_action {
    ACTION_NONE,
    ACTION_FORGET,       /* nothing is left of it; the watcher looks for what is still in in/ */
    ACTION_AWAIT_WRITER, /* the step is repeated after a while */
    ACTION_DEFER,        /* the step is repeated later and later, and others go on */
    ACTION_REDO,         /* so is the work, from its next attempt on */
    ACTION_SPACE,        /* the next attempt is not before its time */
    ACTION_BACK_OFF,     /* later with every attempt */
    ACTION_BLAME,        /* the spool's complaint becomes the reason of the failure */
    ACTION_GIVE_UP,      /* so does the last failure, with the number of attempts */
    ACTION_TELL_DONE,    /* counted and logged, and forgotten */
    ACTION_TELL_FAILED,
    SERVICE_ACTIONS
};

struct service_rule {
    enum service_list from;
    enum service_event event;
    enum service_list to; /* WAIT_NOTHING: it has ended */
    enum service_action action;
};

/* What follows; a pair that cannot be makes the job fail. */
const struct service_rule *service_rule(enum service_list from, enum service_event event);
/* What the step of the spool that jobs in `from` take has made of the job. */
enum service_event service_event_of(enum service_list from, const struct spool_job *job);

/* All rows, for the tests; *n of them. */
const struct service_rule *service_rules(size_t *n);

#endif
