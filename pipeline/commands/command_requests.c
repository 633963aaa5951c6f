/*
 * command_requests - leat hold, release, delete, retry and flush: asks the service of the spool to
 * do so, or the next one where none runs.
 */
#include "formats/base/log.h"
#include "pipeline/commands/commands.h"
#include "pipeline/status/failed_jobs.h"
#include "pipeline/status/request.h"
#include "pipeline/status/status_file.h"
#include "watch/files/xalloc.h"

#include <stdint.h>
#include <stdlib.h>

struct asked {
    const char *what;
    size_t n_done;
};

static void tell(void *user, const char *job, bool done, const char *text)
{
    struct asked *const asked = user;
    const char *const about = job != NULL ? job : asked->what;
    asked->n_done += done;
    if (done) {
        log_info("%s: %s", about, text);
    } else {
        log_error("%s: %s", about, text);
    }
}

/* About n jobs of `n_wanted`. */
static enum status ask(const struct settings *s, const char *what, const char *const *jobs,
                       size_t n, size_t n_wanted, int *exit_status)
{
    struct asked asked = {.what = what};
    STATUS_TRY(n > 0 ? request_ask(s->spool, what, jobs, n, tell, &asked) : STATUS_OK);
    *exit_status = asked.n_done == n_wanted ? 0 : asked.n_done > 0 ? 1 : 2;
    return STATUS_OK;
}

static enum status ask_inputs(const struct settings *s, const char *what, int *exit_status)
{
    return ask(s, what, (const char *const *)s->inputs, s->n_inputs, s->n_inputs, exit_status);
}

enum status command_hold(const struct settings *s, int *exit_status)
{
    return ask_inputs(s, "hold", exit_status);
}

enum status command_release(const struct settings *s, int *exit_status)
{
    return ask_inputs(s, "release", exit_status);
}

enum status command_delete(const struct settings *s, int *exit_status)
{
    return ask_inputs(s, "delete", exit_status);
}

/* Of all: those that are there at the start, so what fails again during this is not retried. */
enum status command_retry(const struct settings *s, int *exit_status)
{
    json_t *list = NULL;
    size_t n = s->n_inputs, n_there = 0;
    if (s->all && s->n_inputs > 0) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "--all means every failed job: leave it out, or '%s'", s->inputs[0]);
    }
    STATUS_TRY(s->all ? failed_jobs_list(s->spool, SIZE_MAX, &list, &n) : STATUS_OK);
    const char **const ids = xcalloc(n + 1, sizeof(*ids));
    for (size_t i = 0; i < n; i++) {
        const json_t *const job = json_array_get(list, i);
        ids[n_there] = s->all ? json_string_value(json_object_get(job, "id")) : s->inputs[i];
        if (failed_jobs_has(s->spool, ids[n_there])) {
            n_there++;
        } else { /* as is seen before a service is asked */
            log_error("there is no job '%s' in '%s/failed'; leat status --failed lists them",
                      ids[n_there], s->spool);
        }
    }
    if (n == 0) {
        log_info("'%s/failed' holds no jobs", s->spool);
    }
    const enum status code = ask(s, "retry", ids, n_there, n, exit_status);
    free(ids);
    json_decref(list);
    return code;
}

enum status command_flush(const struct settings *s, int *exit_status)
{
    if (!status_file_lives(s->spool)) { /* at its start a service tries everything */
        return status_fail(STATUS_NOT_FOUND,
                           "no service watches '%s'; name the watched folder with --spool",
                           s->spool);
    }
    return ask(s, "flush", (const char *const[]){NULL}, 1, 1, exit_status);
}
