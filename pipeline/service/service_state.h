/*
 * service_state - the service's inside, shared by the files that make it up. None calls one that
 * calls it: what changes is noted in `is_changed`, and looked at once before the loop sleeps.
 *
 *   service.c            begin and end, signals, configuration, and what is done after a change
 *   service_steps.c      jobs at the spool
 *   service_jobs.c       jobs at workers, and who is to blame for a worker's death
 *   service_workers.c    which workers there are, and their processes
 *   service_status.c     the document of `leat status`; service_figures.c: its figures
 *   health.c             the spool's folders
 *   backpressure.c       pauses, and jobs that wait by themselves
 *   result_name_queue.c  which of several results stays
 *   readiness_batch.c    files in in/; service_inbox.c: the jobs that they make
 *   service_life.c       where a job goes
 *   service_hands.c      hold, release, delete, flush
 *   hooks.c              on_done, on_failed
 *   retention.c          what done/ and failed/ keep
 */
#ifndef LEAT_PIPELINE_SERVICE_SERVICE_STATE_H
#define LEAT_PIPELINE_SERVICE_SERVICE_STATE_H

#include "pipeline/service/service.h"
#include "pipeline/service/service_figures.h"
#include "pipeline/service/service_inbox.h"
#include "pipeline/service/service_life.h"
#include "pipeline/status/status_socket.h"
#include "pipeline/worker/worker_protocol.h"
#include "watch/arrival/watcher.h"
#include "watch/spool/spool.h"

#include <sys/queue.h>
#include <uv.h>

struct service_job {
    struct spool_job *spool; /* owned */
    char *name;              /* "in/sub/X.csv", its first file */
    enum service_list list;  /* SERVICE_LISTS: none, while a step of the spool has it */
    TAILQ_ENTRY(service_job) place;
    struct result_name_queue
        *result_queue; /* NULL: not claimed, or no memory: waits for none of its name */
    TAILQ_ENTRY(service_job) result_place;
    bool is_settled; /* its files have left the inbox: what is found there is a new drop */
    bool suspect;    /* is tried alone */
    bool begun;      /* by the worker, with that deadline (0: none): */
    bool waits;      /* there, for memory that others have */
    double deadline_s;
    json_t *members; /* of an archive, that are begun: file -> when its deadline is over, in
                        milliseconds, or 0: it has none. NULL: there were none yet */
    struct service_worker *worker;
    uint64_t again_ms;    /* not before */
    uint64_t deferred_ms; /* since when it cannot be put where it belongs; 0: it can */
    uint64_t found_ms;    /* when its last file was found in in/; 0: before the start */
    uint64_t tried_ms;    /* when it was last attempted */
    uint64_t large_ms;    /* since when it alone has no space or memory; 0: it has, or nobody has */
    unsigned n_alone;     /* how often that looked so */
    uint64_t bytes, total_bytes, begun_ms;
    uint64_t n_moves;             /* as its worker said last */
    unsigned n_still, most_still; /* signs of life since then in a row in which it was at work and
                                     did not move; the most before it moved again */
    uint64_t lived_ms;            /* how long it had worked when its worker died with others' */
    size_t transient_at; /* jobs done when it was last sent back without charge, + 1; 0: never */
    double seconds;      /* that the work took */
    json_t *warnings;    /* of its result: an array of sentences; NULL: none */
    char *kind, *text;   /* of its last failure; NULL: none */
};
TAILQ_HEAD(service_jobs, service_job);

enum worker_state {
    WORKER_BACKOFF, /* "backing off", until again_ms */
    WORKER_STARTING,
    WORKER_READY,
    WORKER_DISABLED, /* until again_ms */
};

/* A process, or its place. What a place has of settings that need a new process (threads, memory,
 * jobs, level) changes so: the process that has jobs moves behind the places, where it retires, and
 * another begins in its place beside it. One process of a place retires at a time, so that no more
 * than twice the memory is in use; with more changes the one in the place is stale until then. */
struct service_worker {
    struct service *service;
    size_t place;
    char name[64];
    struct settings_devices devices; /* its own, by number; n = 0: it is the CPU's */
    enum worker_state state;
    uv_process_t process;
    struct worker_link link;
    bool is_running, has_exited, is_broken; /* the process; it ended; its link did */
    bool is_told_to_end, is_stopped;        /* once it has done its jobs; now */
    bool is_stale, was_ready;               /* its settings have been changed */
    bool is_sick, is_unfit;                 /* its device has failed; it could not begin */
    bool is_tried;                          /* begins after having been out: others work on */
    int n_closing;                          /* handles */
    uint64_t since_ms, kill_ms, again_ms;   /* kill_ms: when its patience is over; 0: never */
    unsigned silent_ticks;
    char device[96], why[256], unfit_why[256]; /* unfit_why: why it could not begin last */
    unsigned n_deaths, n_in_row;               /* in_row: since it last finished a job */
    size_t capacity, n_jobs;                   /* sent to it */
    bool alone, makes_way;                     /* for a suspect: gets nothing else; is replaced */
    uint64_t alone_ms;                         /* since when it is kept free */
    bool is_late;                              /* it is killed for a job's deadline: */
    struct service_job *overdue;               /* that of this one; NULL: of any */
    char exit_text[64];
};
enum { SERVICE_WORKERS = SETTINGS_MOST_DEVICES + 1 /* the CPU */ };
enum { SERVICE_SHOWN = 20, SERVICE_WHY_BYTES = 512 };

/* A job that has ended, for `leat status`. */
struct service_past {
    char id[SPOOL_ID_BYTES];
    char *name, *result;    /* result: or NULL */
    char *picture, *report; /* of a result, beneath it; NULL: none */
    const char *pipeline;   /* not owned */
    double ended_at;        /* seconds since 1970 */
    char *kind, *text;      /* of a failure */
    json_t *warnings;       /* of a result; NULL: none */
    double seconds;
};

struct service_step;
struct service_hooks;
struct readiness_batch;

/* What has been removed of done/ and failed/ since the start. */
struct service_retention {
    uint64_t due_ms;  /* the next sweep; 0: soon */
    bool is_sweeping; /* on the pool */
    atomic_bool stop;
    size_t n_inputs, n_jobs;
    uint64_t bytes;
    char why[SERVICE_WHY_BYTES]; /* what could not be removed last; "": all could */
};

struct service {
    uv_loop_t loop;
    struct settings *settings; /* owned */
    int argc;
    char **argv; /* borrowed */
    struct spool *spool;
    struct watcher *watcher;
    struct service_inbox *inbox;
    struct status_socket *socket;
    uv_signal_t signals[3];
    size_t n_signals;               /* that can be watched for */
    uv_timer_t tick, soon;          /* every second; when something is due */
    uv_prepare_t prepare;           /* the loop is going to sleep */
    char leases[SERVICE_WHY_BYTES]; /* what counts as complete without them; "": they are to be had
                                     */
    int exit_status;
    unsigned lock_ticks; /* that another process has had the spool's lock */
    bool is_recovered, is_open, is_draining, is_closing;
    bool is_changed; /* something has happened since it was last decided what comes next */
    struct settings *next_settings; /* read again, and not yet in force; owned; NULL: none */
    uint64_t drain_ms;              /* when running jobs are cancelled */
    bool is_cancelled;

    struct spool_recovery found; /* jobs that are yet to be listed */
    struct service_jobs lists[SERVICE_LISTS];
    size_t n_listed[SERVICE_LISTS];
    void *result_queues;               /* a tree: see result_name_queue.c */
    struct service_step *step;         /* being run by the pool; NULL: none */
    size_t last_step;                  /* its place in their order */
    struct readiness_batch *readiness; /* files are being looked at by the pool; NULL: none */

    struct service_retention retention;
    struct {
        struct status_socket *socket; /* NULL: none */
        STAILQ_HEAD(, hand) pending;
        size_t n_working; /* whose job is in no list */
    } hands;
    struct service_hooks *hooks; /* NULL: none has been asked for yet */

    const struct service_worker_events *worker_events;
    struct service_worker *workers[2 * SERVICE_WORKERS];
    size_t n_workers, n_all; /* places; and behind them those that retire */

    bool is_paused, on_trial;    /* trial: one job after the other, until one is done */
    bool is_short;               /* for the reserve alone: what is made is put in place */
    char why[SERVICE_WHY_BYTES]; /* it is paused */
    uint64_t pause_ms, look_for_room_ms, paused_ms; /* paused_ms: when last */
    uint64_t look_at_folders_ms;                    /* while it is not paused */
    size_t n_deferred_in_row;                       /* jobs deferred since one ended */

    uint64_t started_ms;
    double started_at; /* seconds since 1970 */
    uint64_t scan_ms;
    char trouble[SERVICE_WHY_BYTES]; /* of the watcher with a folder, the first; "": none */
    size_t n_troubles;               /* folders, and what is in them, that cannot be looked at */
    uint64_t trouble_ms;             /* since when */
    bool is_troubled;                /* by the look that is being reported */
    size_t n_failed_gone;            /* of the last failures: have left failed/ */
    struct service_past done[SERVICE_SHOWN], failed[SERVICE_SHOWN]; /* rings */
    struct service_figures figures;
    struct figures_busy busy[SERVICE_WORKERS]; /* by the place of workers */
    struct service_page *page;                 /* NULL: none is asked for */
};

static inline uint64_t service_now(const struct service *s)
{
    return uv_now(&s->loop);
}

/* --- service_steps.c */

/* Starts the step of the spool that comes next, if one can be done. */
void service_step(struct service *s);
/* Begins with recovery. */
bool service_recover(struct service *s); /* false: no memory */
/* What the step that jobs in `from` take has made of the job, which is in no list, is told, done
 * and followed by the next list; the job may have ended. */
void service_job_follow(struct service *s, struct service_job *job, enum service_list from);
/* The spool heeds the settings; between its steps. */
void service_configure(struct service *s);

/* --- backpressure.c */

/* No room: claims and attempts wait. */
void backpressure_pause(struct service *s, const char *why);
/* There is room again, and no job is on trial. */
void backpressure_end(struct service *s);
/* On trial: whether a job that was tried since the last pause may still meet the trouble that led
 * to it. Those that ran before say nothing, however long they take. */
bool backpressure_trial_is_open(const struct service *s);
/* What became of the job is known, and cannot be put where it belongs, which may be for this job
 * alone (a folder of its own in done/ that is not ours): the same step is repeated later. */
void backpressure_defer(struct service *s, struct service_job *job, const char *why);
/* Whether what is made, or has failed, is put where it belongs now. */
bool backpressure_may_end_jobs(const struct service *s);
/* Jobs that are deferred, by themselves or all. */
size_t backpressure_n_deferred(const struct service *s);
/* The job has met no space, or no memory. Whether that is its own trouble: it has done so time and
 * again while others ended. Such a job is large: it pauses nobody, and is tried again later and
 * later, one of them at a time, uncharged. */
bool backpressure_is_large(struct service *s, struct service_job *job, const char *why);
/* When a large job is tried again. */
uint64_t backpressure_large_again(const struct service *s, const struct service_job *job);
/* Whether one of the two has to wait for the other: both are large, or both suspects. */
bool backpressure_jobs_exclude(const struct service_job *a, const struct service_job *b);
/* Large jobs that wait. */
size_t backpressure_n_large(const struct service *s);

/* --- health.c */

/* The state of the spool's folders; for_room: room is looked for, too. */
struct health {
    bool for_room, is_good, is_short; /* short: of the reserve, and of nothing else */
    int in_fd;                        /* another folder is in/ now; -1: none is */
    char why[SERVICE_WHY_BYTES];
    char failed[SERVICE_SHOWN][SPOOL_ID_BYTES]; /* last failures, "" where there is none or it has
                                                   left failed/ */
};
/* On any thread, between steps of the spool; the second looks only for room. */
void health_probe(struct spool *spool, struct health *health);
void health_probe_room(struct spool *spool, struct health *health);
/* Begins or ends a pause, and adopts a new in/. */
void health_apply(struct service *s, const struct health *health);

/* --- readiness_batch.c */

/* Starts to look at files in in/ that are due. */
void readiness_batch_start(struct service *s);
/* The job's claim is given up, and the inbox knows nothing of its files any more: the watcher looks
 * for those that are still there. */
void readiness_batch_hint(struct service *s, const struct spool_job *spool);

/* --- retention.c */

/* The end of a second: sweeps, if it is time to. */
void retention_tick(struct service *s);
/* The next second is time to. */
void retention_soon(struct service *s);
/* A sweep that is running ends soon, and none begins. */
void retention_stop(struct service *s);
/* {inputs, jobs, bytes, why}; NULL: no memory. */
json_t *retention_status(const struct service *s);

/* --- hooks.c */

/* The job has ended: its command is run soon, unless too many wait. */
void hooks_done(struct service *s, const struct service_job *job);
void hooks_failed(struct service *s, const struct service_job *job);
/* Whether any runs or waits. */
bool hooks_are_left(const struct service *s);
/* Those that run are killed, and no more are run. */
void hooks_end(struct service *s);
/* Once the loop has ended. */
void hooks_free(struct service *s);
/* {waiting, running, run, failed, dropped}; NULL: no memory. */
json_t *hooks_status(const struct service *s);

/* --- service_hands.c */

/* Requests are taken from now on. */
void hands_open(struct service *s);
/* Those that wait are dropped. */
void hands_close(struct service *s);
/* Does what can be done of those that wait. */
void hands_step(struct service *s);
/* Jobs that wait only since they are held. */
size_t hands_n_held(const struct service *s);

/* --- service_jobs.c */

/* Takes the spool's job over, unless there is no memory: NULL. */
struct service_job *service_job_new(struct spool_job *spool);
void service_job_free(struct service_job *job);
/* Puts the job at the end of a list; takes it out of the one it is in. */
void service_job_list(struct service *s, struct service_job *job, enum service_list list);
void service_job_unlist(struct service *s, struct service_job *job);
/* What happens to a job that is listed, or was in `from`, and is not at the spool: the list that
 * follows. */
void service_job_happens(struct service *s, struct service_job *job, enum service_list from,
                         enum service_event event);
/* Whether the text, as the log shows it, names the job's first file. */
bool service_job_is_named(const struct service_job *job, const char *text);
/* Why it failed last; copied. */
void service_job_set_failure(struct service_job *job, const char *kind, const char *text);
/* Jobs in all lists. */
size_t service_n_jobs(const struct service *s);
/* Jobs that workers have begun, as far as is known. */
size_t service_jobs_begun(const struct service *s);
/* Jobs that are claimed, not yet at a worker, and go on: not those that wait for something of their
 * own, or for another of their name. */
size_t service_jobs_claimed(const struct service *s);
/* Jobs that could be sent to workers now, beyond those that wait for one. */
size_t service_jobs_wanted(const struct service *s);
/* Sends jobs to workers. */
void service_dispatch(struct service *s);
/* What workers say, and their ends, which jobs go where they belong after. */
extern const struct service_worker_events service_jobs_at_workers;
/* Finds jobs that are beyond their deadline and grace, and has their workers killed. */
void service_check_deadlines(struct service *s);

/* --- result_name_queue.c */

/* A job that is claimed takes its place among those whose results have the same name. */
void result_name_queue_join(struct service *s, struct service_job *job);
void result_name_queue_leave(struct service_job *job);
/* The first of its name that the job's result must come after; NULL: none. */
const struct service_job *result_name_queue_before(const struct service *s,
                                                   const struct service_job *job);
/* Whether it could be attempted, but for that; how many such jobs there are. */
bool result_name_queue_waits(const struct service *s, const struct service_job *job);
size_t result_name_queue_count(const struct service *s);

/* --- service_workers.c */

/* What becomes of a worker's jobs is not its own business. */
struct service_worker_events {
    /* What it says of them. */
    void (*message)(struct service_worker *w, const json_t *message);
    /* It has ended. Whether one of its jobs is to blame. */
    bool (*ended)(struct service_worker *w);
};
/* Makes the list of workers that the settings ask for; `events` is borrowed. */
void service_workers_choose(struct service *s, const struct service_worker_events *events);
void service_workers_free(struct service *s);
/* Whether it gets no more jobs and ends when it has done those that it has. `why` says so, or that
 * it is stale; else it is as it was. */
bool service_worker_retires(const struct service_worker *w, char *why, size_t why_bytes);
/* Whether jobs may be sent to it. */
bool service_worker_takes(const struct service_worker *w);
bool service_workers_running(const struct service *s);
/* Whether there is a worker for those who asked; `why` says why not, or what is missing. */
bool service_workers_ready(const struct service *s, char *why, size_t why_bytes);

/* Starts, retires and kills workers whose time has come. */
void service_workers_step(struct service *s);
/* When one is to be started or killed; UINT64_MAX: none. */
uint64_t service_workers_next_due(const struct service *s);
/* The end of a second: who has been silent for too long? */
void service_workers_tick(struct service *s);
/* Nothing more is begun by any: what it has not begun comes back. */
void service_workers_drain(struct service *s);
/* Lets all end: once what they have begun is done, or (now) at once. */
void service_workers_end(struct service *s, bool now);
/* New ones begin, with other settings; those that have jobs retire. */
void service_workers_renew(struct service *s);
/* Tells all the deadline of jobs that they begin from now on. */
void service_workers_tell_deadline(struct service *s);
void service_worker_kill(struct service_worker *w, const char *why);
/* Its device has failed, and it is going to end by itself. */
void service_worker_sick(struct service_worker *w, const char *why);

/* --- service_status.c */

void service_count_done(struct service *s, const struct service_job *job);
void service_count_failed(struct service *s, const struct service_job *job);
void service_past_free(struct service *s);
/* Jobs that have ended with recovery. */
void service_count_recovered(struct service *s, struct spool_recovery *found);
/* The ids of the last failures, to be looked for in failed/; forgets those that are there no more.
 */
void service_past_ask(const struct service *s, struct health *health);
void service_past_prune(struct service *s, const struct health *health);

/* --- service_page.c */

/* Begins to listen, where the settings or systemd ask for the page, and starts its process.
 * STATUS_BAD_ARGUMENT: what the settings ask for cannot be. That somebody else listens there is
 * said in the log, and tried again. */
enum status service_page_open(struct service *s) STATUS_MUST_CHECK;
/* The folders are there now, which they were not when the process began. */
void service_page_renew(struct service *s);
/* Ends the process; the loop must run until it has. NULL is fine. */
void service_page_close(struct service *s);
void service_page_free(struct service *s);
/* {"address", "pid", "restarts", "why"}; null when there is none. */
json_t *service_page_pack(const struct service *s);

#endif
