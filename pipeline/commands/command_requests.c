/*
 * command_requests - leat hold, release, delete, retry and flush: asks the service of the spool to
 * do so, or the next one where none runs.
 */
#include "formats/base/log.h"
#include "pipeline/commands/commands.h"
#include "pipeline/status/failed_jobs.h"
#include "pipeline/status/request.h"
#include "pipeline/status/status_file.h"

#include <stdint.h>

/* job NULL: none is meant. The answer is logged; *done: it is yes. */
static enum status ask(const char *spool, const char *what, const char *job, bool *done)
{
    char text[REQUEST_TEXT_BYTES];
    STATUS_TRY(request_ask(spool, what, job, done, text));
    if (*done) {
        log_info("%s: %s", job != NULL ? job : what, text);
    } else {
        log_error("%s: %s", job != NULL ? job : what, text);
    }
    return STATUS_OK;
}

static enum status act(const struct settings *s, const char *what, int *exit_status)
{
    size_t n_done = 0;
    for (size_t i = 0; i < s->n_inputs; i++) {
        bool done;
        STATUS_TRY(ask(s->spool, what, s->inputs[i], &done));
        n_done += done;
    }
    *exit_status = n_done == s->n_inputs ? 0 : n_done > 0 ? 1 : 2;
    return STATUS_OK;
}

enum status command_hold(const struct settings *s, int *exit_status)
{
    return act(s, "hold", exit_status);
}

enum status command_release(const struct settings *s, int *exit_status)
{
    return act(s, "release", exit_status);
}

enum status command_delete(const struct settings *s, int *exit_status)
{
    return act(s, "delete", exit_status);
}

/* A job that has failed, as is seen before a service is asked, or not there. */
static enum status retry_one(const char *spool, const char *id, size_t *n_done)
{
    bool done = false;
    if (failed_jobs_has(spool, id)) {
        STATUS_TRY(ask(spool, "retry", id, &done));
    } else {
        log_error("there is no job '%s' in '%s/failed'; leat status --failed lists them", id,
                  spool);
    }
    *n_done += done;
    return STATUS_OK;
}

/* Those that are there at the start: what fails again during this is not retried. */
static enum status retry_all(const char *spool, size_t *n, size_t *n_done)
{
    json_t *list, *job;
    size_t i;
    enum status code = failed_jobs_list(spool, SIZE_MAX, &list, n);
    json_array_foreach(list, i, job)
    {
        code = code == STATUS_OK
                   ? retry_one(spool, json_string_value(json_object_get(job, "id")), n_done)
                   : code;
    }
    json_decref(list);
    if (code == STATUS_OK && *n == 0) {
        log_info("'%s/failed' holds no jobs", spool);
    }
    return code;
}

enum status command_retry(const struct settings *s, int *exit_status)
{
    size_t n = s->n_inputs, n_done = 0;
    if (s->all && s->n_inputs > 0) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "--all means every failed job: leave it out, or '%s'", s->inputs[0]);
    }
    for (size_t i = 0; i < s->n_inputs; i++) {
        STATUS_TRY(retry_one(s->spool, s->inputs[i], &n_done));
    }
    if (s->all) {
        STATUS_TRY(retry_all(s->spool, &n, &n_done));
    }
    *exit_status = n_done == n ? 0 : n_done > 0 ? 1 : 2;
    return STATUS_OK;
}

enum status command_flush(const struct settings *s, int *exit_status)
{
    bool done;
    if (!status_file_lives(s->spool)) { /* at its start a service tries everything */
        return status_fail(STATUS_NOT_FOUND, "no service watches '%s' (--spool)", s->spool);
    }
    STATUS_TRY(ask(s->spool, "flush", NULL, &done));
    *exit_status = done ? 0 : 2;
    return STATUS_OK;
}
