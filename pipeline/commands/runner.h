/*
 * runner - all inputs of one command through the engine: what `run` and `check` share.
 *
 * Feeds jobs as places become free, draws progress, stops on SIGINT and SIGTERM, and adds up, also
 * over all ranks of --mpi.
 */
#ifndef LEAT_PIPELINE_COMMANDS_RUNNER_H
#define LEAT_PIPELINE_COMMANDS_RUNNER_H

#include "pipeline/engine/job.h"
#include "pipeline/ranks/ranks.h"

/* Of --mpi: those of all ranks together. */
struct runner_totals {
    union {
        struct {
            uint64_t n_done, n_failed;
            uint64_t n_skipped; /* --resume: done before, or meanwhile by another process */
            uint64_t n_absent;  /* of the failed: inputs that do not exist or have no pipeline */
            uint64_t input_bytes;
            uint64_t n_interrupted; /* ranks that a signal has stopped */
            uint64_t n_unable;      /* ranks that could not begin */
        };
        uint64_t sums[RANKS_TOTALS]; /* the same */
    };
    size_t n_ranks; /* 1 without --mpi */
    bool is_joint;  /* they are those of all ranks by now */
    bool shared;    /* --shard: there may be nothing to do */
    double wall_s;
    struct efficiency efficiency;
    int signal;       /* that has stopped this one; 0: none */
    size_t n_left;    /* jobs that were not begun because of it ... */
    bool may_be_more; /* ... of those that were found in time */
    char backend[48]; /* what has computed */
};

struct runner_listener {
    /* Every job's end, also that of inputs that never became a job. On the calling thread. */
    void (*ended)(void *user, const struct job_report *report);
    /* All have ended. Of several ranks, the first hears it. NULL: nobody asks. */
    void (*all_ended)(void *user, const struct runner_totals *totals);
    void *user;
};

/* Runs `settings`' inputs. *exit_status: 0 all done or skipped, 1 some failed, 2 nothing could be
 * done, COMMANDS_SIGNALLED + N: signal N has stopped it (which is logged); of --mpi the same in
 * every rank, and 1 for a signal. Fails only when nothing could be begun. */
enum status runner_run(const struct settings *settings, bool check_only,
                       const struct runner_listener *listener, int *exit_status) STATUS_MUST_CHECK;

/* Logs why a job failed; the input's name is in the line once. */
void runner_tell_failure(const struct job_report *report);
/* How a job ended, for programs, in a line: input, status, the error and its meaning or else what
 * result.json says. `output`: the folder the result lies in; NULL: none was made. */
void runner_print(const struct job_report *report, const char *output);
/* One JSON value in a line on standard output. */
void runner_print_json(const json_t *value);

#endif
