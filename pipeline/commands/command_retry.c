/*
 * command_retry - leat retry: failed jobs back into the watched folder, as a new drop. It works on
 * the folder alone; a service that runs sees them arrive.
 */
#include "formats/base/log.h"
#include "pipeline/commands/commands.h"
#include "pipeline/status/failed_jobs.h"
#include "watch/spool/spool.h"

#include <stdint.h>

struct retried {
    size_t n_done, n_failed;
};

static void retry_one(const char *spool, const char *id, struct retried *r)
{
    if (spool_retry(spool, id) == STATUS_OK) {
        r->n_done++;
        log_info("%s: back in '%s/in'", id, spool);
    } else {
        r->n_failed++;
        log_error("%s: %s", id, status_message());
    }
}

/* Those that are there at the start: what fails again during this is not retried. */
static enum status retry_all(const char *spool, struct retried *r)
{
    json_t *list, *job;
    size_t i, n;
    STATUS_TRY(failed_jobs_list(spool, SIZE_MAX, &list, &n));
    json_array_foreach(list, i, job)
    {
        retry_one(spool, json_string_value(json_object_get(job, "id")), r);
    }
    json_decref(list);
    if (r->n_done + r->n_failed == 0) {
        log_info("'%s/failed' holds no jobs", spool);
    }
    return STATUS_OK;
}

enum status command_retry(const struct settings *s, int *exit_status)
{
    enum status code = STATUS_OK;
    struct retried r = {0};
    if (s->all && s->n_inputs > 0) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "--all means every failed job: leave it out, or '%s'", s->inputs[0]);
    }
    if (s->all) {
        code = retry_all(s->spool, &r);
    }
    for (size_t i = 0; i < s->n_inputs; i++) {
        retry_one(s->spool, s->inputs[i], &r);
    }
    *exit_status = r.n_failed == 0 ? 0 : r.n_done > 0 ? 1 : 2;
    return code;
}
