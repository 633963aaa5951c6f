/*
 * command_requests - leat hold, release, delete and flush: asks the service of the spool to do so,
 * or the next one where none runs.
 */
#include "formats/base/log.h"
#include "pipeline/commands/commands.h"
#include "pipeline/status/request.h"
#include "pipeline/status/status_file.h"

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
