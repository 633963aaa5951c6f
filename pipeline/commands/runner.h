/*
 * runner - all inputs of one command through the engine: what `run` and `check` share.
 *
 * Feeds jobs as places become free, draws progress, stops on SIGINT and SIGTERM, and adds up.
 */
#ifndef LEAT_PIPELINE_COMMANDS_RUNNER_H
#define LEAT_PIPELINE_COMMANDS_RUNNER_H

#include "pipeline/engine/efficiency.h"
#include "pipeline/engine/job.h"

struct runner_totals {
    size_t n_done, n_failed;
    size_t n_skipped; /* --resume: done before, or meanwhile by another process */
    bool shared;      /* --shard: there may be nothing to do */
    size_t n_absent;  /* of the failed: inputs that do not exist or have no pipeline */
    uint64_t input_bytes;
    double wall_s;
    struct efficiency efficiency;
    bool interrupted;
    char backend[48]; /* what has computed */
};

/* Runs `settings`' inputs; every job's report goes to `ended`, on the calling thread, also those of
 * inputs that never became a job. Fails only when nothing could be begun. */
enum status runner_run(const struct settings *settings, bool check_only,
                       void (*ended)(void *user, const struct job_report *report), void *user,
                       struct runner_totals *out) STATUS_MUST_CHECK;

/* 0 all done or skipped, 1 some failed or a signal has stopped it (which is logged), 2 nothing
 * could be done.
 */
int runner_exit_status(const struct runner_totals *totals);

/* Logs why a job failed; the input's name is in the line once. */
void runner_tell_failure(const struct job_report *report);

#endif
