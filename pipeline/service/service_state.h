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
 *   deferral.c           the gate, and jobs that are tried again later
 *   readiness_batch.c    files in in/; service_inbox.c: the jobs that they make
 *   service_late.c       what lies beside a grid and comes after it
 *   service_life.c       where a job goes
 *   service_requests.c   hold, release, delete, retry, flush
 *   hooks.c              on_done, on_failed
 *   retention.c          what done/ and failed/ keep
 *   service_folders.c    events of failed/ and of the folder of requests
 */
#ifndef LEAT_PIPELINE_SERVICE_SERVICE_STATE_H
#define LEAT_PIPELINE_SERVICE_SERVICE_STATE_H

#include "pipeline/service/service.h"
#include "pipeline/service/service_figures.h"
#include "pipeline/service/service_inbox.h"
#include "pipeline/service/service_life.h"
#include "pipeline/status/status_file.h"
#include "pipeline/worker/worker_protocol.h"
#include "watch/arrival/watcher.h"
#include "watch/spool/spool.h"

#include <sys/queue.h>
#include <time.h>
#include <uv.h>

struct service_job {
    struct spool_job *spool; /* owned */
    char *name;              /* "in/sub/X.csv", its first file */
    enum service_list list;  /* WAIT_NOTHING: a step of the spool has it */
    TAILQ_ENTRY(service_job) place;
    bool is_settled; /* its files have left the inbox: what is found there is a new drop */
    bool suspect;    /* is tried in a process of its own */
    bool charge;     /* in WAIT_REQUEUE: its attempt stays charged */
    bool begun;      /* by the worker, with that deadline (0: none): */
    bool waits;      /* there, for memory that others have */
    bool is_called;  /* back from there, unless it is begun */
    double deadline_s;
    json_t *members; /* of an archive, that are begun: file -> when its deadline is over, in
                        milliseconds, or 0: it has none. NULL: there were none yet */
    struct service_worker *worker;
    const struct service_worker *ended; /* with this job, as far as is known; NULL: none has */
    uint64_t again_ms;                  /* its step: not before */
    uint64_t attempt_ms;                /* its next attempt: not before */
    uint64_t deferred_ms;               /* when it was deferred first; 0: it was not */
    unsigned n_deferrals;               /* in a row */
    size_t n_done_then;         /* jobs that were done when it was deferred or charged last */
    enum status transient_code; /* that the worker last deferred it with, in a row */
    char *deferred_why;         /* NULL: it was not */
    uint64_t found_ms; /* when its last file was found in in/, or it was taken up again; 0: before
                          the start */
    uint64_t bytes, total_bytes, begun_ms;
    uint64_t n_steps, total_steps; /* of a simulation; else 0 */
    uint64_t n_moves;              /* as its worker said last */
    unsigned n_still;  /* signs of life in a row in which it was at work and did not move */
    double seconds;    /* that the work took */
    json_t *warnings;  /* of its result: an array of sentences; NULL: none */
    char *kind, *text; /* of its last failure; NULL: none */
};
TAILQ_HEAD(service_jobs, service_job);

enum worker_state {
    WORKER_BACKOFF, /* "backing off", until again_ms */
    WORKER_STARTING,
    WORKER_READY,
    WORKER_DISABLED, /* until again_ms */
};

/* A process, or its place. Behind the places that the settings ask for there are some for suspects:
 * a process there is started for one job, and ends with it. A worker that is to have other
 * settings, or is not wanted any more, retires: it gets no jobs, and ends once it has none. */
struct service_worker {
    struct service *service;
    size_t place;
    char name[64];
    struct settings_devices devices; /* its own, by number; n = 0: it is the CPU's */
    enum worker_state state;
    uv_process_t process;
    struct worker_link link;
    bool is_running, has_exited, is_broken; /* the process; it ended; its link did */
    bool lacked_memory;                     /* and ended for it */
    bool is_stopped;                        /* has been told to end */
    bool is_alone;                          /* for a suspect, with the devices of the worker: */
    struct service_worker *home;            /* NULL: there was none yet */
    bool was_ready;
    uint64_t stale_ms;          /* since when its settings are not in force; 0: are */
    bool is_sick, is_unfit;     /* its device has failed; it could not begin */
    bool is_tried;              /* begins after having been out: others work on */
    bool has_part;              /* of its devices' memory: others had jobs there as it began */
    int n_closing;              /* handles */
    uint64_t kill_ms, again_ms; /* kill_ms: when its patience is over; 0: never */
    unsigned silent_ticks;
    char device[96], why[256], unfit_why[256]; /* unfit_why: why it could not begin last */
    unsigned n_deaths, n_in_row;               /* in_row: since it last finished a job */
    size_t capacity, n_jobs;                   /* sent to it */
    size_t n_places;                           /* for jobs in flight there */
    bool is_late;                              /* it is killed for a job's deadline: */
    struct service_job *overdue;               /* that of this one; NULL: of any */
    char exit_text[64];
};
enum {
    SERVICE_ALONE = 2, /* suspects at a time: one that takes long does not hold up the others */
    SERVICE_WORKERS = SETTINGS_MOST_DEVICES + 1 /* the CPU */ + SERVICE_ALONE
};
enum { SERVICE_SHOWN = 20, SERVICE_WHY_BYTES = 512 };

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
    uv_signal_t signals[3];
    size_t n_signals;      /* that can be watched for */
    uv_timer_t tick, soon; /* every second; when something is due */
    uv_prepare_t prepare;  /* the loop is going to sleep */
    const char *leases;    /* what counts as complete without them; "": they are to be had
                            */
    int exit_status;
    unsigned lock_ticks; /* that another process has had the spool's lock */
    bool is_recovered, is_open, is_draining, is_closing;
    bool is_changed; /* something has happened since it was last decided what comes next */
    bool is_opening; /* the spool, on the pool */
    bool is_reading, reads_once_more; /* the configuration, there; it was asked for meanwhile */
    struct settings *next_settings;   /* read again, and not yet in force; owned; NULL: none */
    uint64_t drain_ms;                /* when running jobs are cancelled */
    bool is_cancelled;

    struct service_jobs lists[SERVICE_LISTS];
    size_t n_listed[SERVICE_LISTS], n_jobs; /* in all lists */
    size_t n_deferred;                      /* jobs, in lists and at a step, that were deferred */
    struct service_step *step;              /* being run by the pool; NULL: none */
    size_t last_step;                       /* its place in their order */
    struct readiness_batch *readiness;      /* files are being looked at by the pool; NULL: none */

    struct service_retention retention;
    struct {
        size_t n;      /* files that came late and were put away, since the start */
        char *path;    /* the last, below in/; owned; NULL: none */
        bool was_last; /* the last step was to put some away: jobs are next */
    } late;
    struct {
        STAILQ_HEAD(service_request_list, service_request) pending;
        bool is_due, is_looking; /* through the folder, on the pool */
        bool is_blind;           /* no event tells when to */
        bool is_read;            /* all that was asked for before the start; no job begins before */
        size_t n_working;        /* are being done, or answered; their jobs are in no list */
    } requests;
    struct service_hooks *hooks; /* NULL: none has been asked for yet */

    const struct service_worker_events *worker_events;
    struct service_worker *workers[SERVICE_WORKERS];
    size_t n_workers, n_all; /* that the settings ask for; and with those for suspects */
    size_t n_suspects;       /* that wait for a process of their own to begin */

    struct {
        enum { GATE_OPEN, GATE_RESERVE, GATE_SHUT } state;
        char why[SERVICE_WHY_BYTES]; /* it is not open */
        uint64_t look_ms;            /* the next look at the folders */
        size_t n_in_row;             /* jobs deferred since one ended */
        uint64_t let_ms;             /* when one was last tried before its time */
    } gate;
    uint64_t claimed_ms, tried_ms; /* when a job was last claimed, or attempted */

    uint64_t started_ms;
    time_t started_at;
    uint64_t scan_ms;
    size_t n_trimmed;                /* jobs that had ended when memory was given back */
    char trouble[SERVICE_WHY_BYTES]; /* of the watcher with a folder, the first; "": none */
    size_t n_troubles;               /* folders, and what is in them, that cannot be looked at */
    uint64_t trouble_ms;             /* since when */
    bool is_troubled;                /* by the look that is being reported */
    json_t *done[SERVICE_SHOWN];     /* a ring of those that were done last; NULL: none */
    struct {
        struct status_file file; /* this, and what is in failed/, is the pool's while is_writing */
        json_t *failed;          /* the last of them; NULL: none */
        size_t n_failed;
        json_t *last;                        /* as it was written last; NULL: it was not */
        uint64_t as_of_ms;                   /* that is of this time, */
        double as_of_s;                      /* in seconds since 1970 */
        uint64_t next_ms;                    /* not before */
        uv_timer_t later;                    /* when it is not before that */
        bool is_writing, looks_due, is_late; /* late: the page began before it was there */
        char why[STATUS_MESSAGE_BYTES];      /* it was not written; "": it was */
    } said;
    int folders_fd; /* inotify's; -1: none */
    uv_poll_t folders;
    struct service_figures figures;
    struct figures_busy busy[SERVICE_WORKERS]; /* by the place of workers */
    struct service_page *page;                 /* NULL: none is asked for */
};

static inline uint64_t service_now(const struct service *s)
{
    return uv_now(&s->loop);
}

/* The n-th wait in a row: first_ms, and twice as long each time, up to most_ms. 0 for n = 0. */
static inline uint64_t service_wait_ms(unsigned n, uint64_t first_ms, uint64_t most_ms)
{
    uint64_t wait = n > 0 ? first_ms : 0;
    for (; n > 1 && wait < most_ms; n--) {
        wait *= 2;
    }
    return wait < most_ms ? wait : most_ms;
}

/* --- service_steps.c */

/* Starts the step of the spool that comes next, if one can be done. */
void service_step(struct service *s);
/* Begins with recovery. */
void service_recover(struct service *s);
/* What the step that jobs in `from` take has made of the job, which is in no list, is told, done
 * and followed by the next list; the job may have ended. */
void service_job_follow(struct service *s, struct service_job *job, enum service_list from);
/* A job that the spool has found, or taken up again, becomes the service's; one without parameters
 * gets those that the configuration gives its files. */
void service_job_adopt(struct service *s, struct spool_job *spool, uint64_t found_ms);
/* The spool heeds the settings; between its steps. */
void service_configure(struct service *s);

/* --- deferral.c */

/* A look has found that there is no room, or that a folder is not where it was: nothing is begun.
 * for_reserve: only the reserve is missing, and what is made is put in place. */
void gate_shut(struct service *s, const char *why, bool for_reserve);
/* Whatever it was is over: deferred jobs are tried now. */
void gate_open(struct service *s);
/* A look has found room: the gate opens, unless many jobs in a row say otherwise. */
void gate_found_room(struct service *s);
bool gate_is_open(const struct service *s);
/* Many jobs in a row were deferred, and none has ended since: one is begun every two seconds. */
bool gate_is_narrow(const struct service *s);
/* Whether one more may be claimed, or attempted, the last having been so at last_ms. */
bool gate_lets_begin(const struct service *s, uint64_t last_ms);
/* Whether what is made, or has failed, is put where it belongs now. */
bool gate_lets_end(const struct service *s);

/* The job has met something that our side lacks: its step, or its next attempt, comes later, and
 * later with each time. Others go on. */
void deferral_add(struct service *s, struct service_job *job, const char *why);
/* The same of one of which nothing has been taken. */
void deferral_note(struct service *s, const char *why);
/* The end of a second: where many in a row were deferred, one is tried before its time, since the
 * first that has room says that there is some. */
void deferral_tick(struct service *s);
/* Whether the job was deferred time and again: it is tried beside no other such one, since together
 * they may lack what each has; and whether such a one is at a worker. */
bool deferral_is_careful(const struct service_job *job);
bool deferral_is_busy(const struct service *s);
/* The job has ended: where it was deferred, or all were, others that are may have room now. */
void deferral_end(struct service *s, const struct service_job *job);

/* --- health.c */

/* The state of the spool's folders; for_room: room is looked for, too. */
struct health {
    bool for_room, is_good, is_short; /* short: of the reserve, and of nothing else */
    int in_fd;                        /* another folder is in/ now; -1: none is */
    char why[SERVICE_WHY_BYTES];
};
/* On any thread, between steps of the spool; the second looks only for room. */
void health_probe(struct spool *spool, struct health *health);
void health_probe_room(struct spool *spool, struct health *health);
/* Opens or shuts the gate, and adopts a new in/. */
void health_apply(struct service *s, const struct health *health);

/* --- readiness_batch.c */

/* Starts to look at files in in/ that are due. */
void readiness_batch_start(struct service *s);
/* The job's claim is given up, and the inbox knows nothing of its files any more: the watcher looks
 * for those that are still there. */
void readiness_batch_hint(struct service *s, const struct spool_job *spool);

/* --- service_late.c */

/* Between steps: what came late is given to jobs that have not begun; what is to be put away (NULL:
 * nothing): run on the pool, as a step of the spool is, then ended. */
struct late_batch;
struct late_batch *late_begin(struct service *s);
void late_run(struct late_batch *batch);
void late_end(struct service *s, struct late_batch *batch);
/* The job has been verified, with what came late for it, or is not going to be. */
void late_settle(struct service *s, const struct service_job *job);
/* {n, path}. */
json_t *late_status(const struct service *s);

/* --- retention.c */

/* The end of a second: sweeps, if it is time to. */
void retention_tick(struct service *s);
/* A sweep that is running ends soon, and none begins. */
void retention_stop(struct service *s);
/* {inputs, jobs, bytes, why}. */
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
/* {waiting, running, run, failed, dropped}. */
json_t *hooks_status(const struct service *s);

/* --- service_requests.c */

void service_requests_open(struct service *s);
/* Does what can be done of those that wait, and looks for more. */
void service_requests_step(struct service *s);
/* Once the loop has ended. */
void service_requests_free(struct service *s);

/* --- service_jobs.c */

/* Takes the spool's job over. */
struct service_job *service_job_new(struct spool_job *spool);
void service_job_free(struct service_job *job);
/* All that are in lists. */
void service_jobs_free(struct service *s);
/* Asks its worker for the job, which comes back unless it is begun. */
void service_job_call_back(struct service_job *job);
/* Puts the job at the end of a list; takes it out of the one it is in. */
void service_job_list(struct service *s, struct service_job *job, enum service_list list);
void service_job_unlist(struct service *s, struct service_job *job);
/* What a listed job waits for has come to this: the list that follows. */
void service_job_next(struct service *s, struct service_job *job, enum spool_outcome outcome);
/* Why it failed last; copied. */
void service_job_set_failure(struct service_job *job, const char *kind, const char *text);
/* Jobs that workers have begun, as far as is known. */
size_t service_jobs_begun(const struct service *s);
/* Jobs that are claimed, not yet at a worker, and go on: not those that wait for something of their
 * own. */
size_t service_jobs_claimed(const struct service *s);
/* Jobs that could be sent to workers now, beyond those that wait for one: suspects, or others. */
size_t service_jobs_wanted(const struct service *s, bool suspects);
/* Sends jobs to workers. */
void service_dispatch(struct service *s);
/* What workers say, and their ends, which jobs go where they belong after. */
extern const struct service_worker_events service_jobs_at_workers;
/* Finds jobs that are beyond their deadline and grace, and has their workers killed. */
void service_check_deadlines(struct service *s);

/* --- service_workers.c */

/* What becomes of a worker's jobs is not its own business. */
struct service_worker_events {
    /* What it says of them. */
    void (*message)(struct service_worker *w, const json_t *message);
    /* It has ended. Whether one of its jobs may be to blame. */
    bool (*ended)(struct service_worker *w);
};
/* Makes the list of workers that the settings ask for; `events` is borrowed. */
void service_workers_choose(struct service *s, const struct service_worker_events *events);
void service_workers_free(struct service *s);
/* Whether it gets no more jobs and ends when it has done those that it has. `why` says so, or that
 * it has the configuration of before; else it is as it was. */
bool service_worker_retires(const struct service_worker *w, char *why, size_t why_bytes);
/* Whether jobs may be sent to it. */
bool service_worker_takes(const struct service_worker *w);
/* The one whose devices a suspect's process has: it takes jobs, and failed least. NULL: none does.
 */
struct service_worker *service_workers_home(const struct service *s);
bool service_workers_running(const struct service *s);
/* Whether there is a worker for those who asked; `why` says why not, or what is missing. */
bool service_workers_ready(const struct service *s, char *why, size_t why_bytes);

/* Starts, retires and kills workers whose time has come. */
void service_workers_step(struct service *s);
/* The end of a second: who has been silent for too long? */
void service_workers_tick(struct service *s);
/* Nothing more is begun by any: what it has not begun comes back. */
void service_workers_drain(struct service *s);
/* All end now. */
void service_workers_end(struct service *s);
/* Each begins again, with other settings, once it has no job. */
void service_workers_renew(struct service *s);
/* Tells all the deadline of jobs that they begin from now on. */
void service_workers_tell_deadline(struct service *s);
void service_worker_kill(struct service_worker *w, const char *why);
/* Its device has failed, and it is going to end by itself. */
void service_worker_sick(struct service_worker *w, const char *why);

/* --- service_status.c */

/* Takes the place of the document of `leat status`, for the first time. */
void service_status_open(struct service *s);
/* Replaces the document if it has changed. */
void service_status_step(struct service *s);
/* Once the loop has ended. */
void service_status_free(struct service *s);
void service_count_done(struct service *s, const struct service_job *job);
void service_count_failed(struct service *s, const struct service_job *job);
/* Jobs that have ended with recovery. */
void service_count_recovered(struct service *s, struct spool_recovery *found);

/* --- service_folders.c */

/* Begins to listen to events of folders; that there are none is not a failure. */
void service_folders_open(struct service *s);
/* Asks for those of the folders as they are now, on any thread; whether they are to be had. */
bool service_folders_watch(const struct service *s, const char *folder);
void service_folders_close(struct service *s);
/* --- service_page.c */

/* Begins to listen, where the settings or systemd ask for the page, and starts its process.
 * STATUS_BAD_ARGUMENT: what the settings ask for cannot be. That somebody else listens there is
 * said in the log, and tried again. */
enum status service_page_open(struct service *s) STATUS_MUST_CHECK;
/* The folders are there now, which they were not when the process began. */
void service_page_renew(struct service *s);
/* Ends the process; the loop must run until it has. NULL is fine. */
void service_page_close(struct service *s);
/* What became of a request, which the page shows for a while. */
void service_page_tell(const struct service *s, const char *notice);
void service_page_free(struct service *s);
/* {"address", "pid", "restarts", "why"}; null when there is none. */
json_t *service_page_pack(const struct service *s);

#endif
