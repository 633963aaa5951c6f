/*
 * command_hands - leat hold, release, delete and flush: asks the running service to do so. Which
 * one that is, leat status says; it takes this at a socket of its own beside that of the status.
 */
#include "formats/base/log.h"
#include "pipeline/commands/commands.h"
#include "pipeline/status/status_ask.h"
#include "pipeline/status/status_socket.h"
#include "pipeline/worker/worker_protocol.h"

#include <stdio.h>
#include <stdlib.h>

/* The path of the control socket, for free(). */
static enum status find_service(const struct settings *s, char **out)
{
    json_t *document;
    *out = NULL;
    STATUS_TRY(status_ask(s, &document));
    const char *const socket = json_string_value(json_object_get(document, "socket"));
    const int n = asprintf(out, "%s" STATUS_CONTROL_SUFFIX, socket != NULL ? socket : "");
    json_decref(document);
    if (n < 0) {
        *out = NULL;
        return status_fail(STATUS_NO_MEMORY, "no memory for a request");
    }
    return STATUS_OK;
}

/* job NULL: none is meant. The answer is logged; *done: it is yes. */
static enum status ask(const char *path, const char *what, const char *job, bool *done)
{
    json_t *const request = json_object();
    json_t *reply = NULL;
    int failed = json_object_set_new(request, "do", json_string(what));
    failed |= job != NULL ? json_object_set_new(request, "job", worker_pack_name(job)) : 0;
    const enum status code = failed == 0 ? status_socket_request(path, request, &reply)
                                         : status_fail(STATUS_NO_MEMORY, "no memory for a request");
    json_decref(request);
    *done = code == STATUS_OK && json_is_true(json_object_get(reply, "done"));
    const char *const text = json_string_value(json_object_get(reply, "text"));
    if (code == STATUS_OK && *done) {
        log_info("%s: %s", job != NULL ? job : what, text != NULL ? text : "done");
    } else if (code == STATUS_OK) {
        log_error("%s: %s", job != NULL ? job : what, text != NULL ? text : "refused");
    }
    json_decref(reply);
    return code;
}

static enum status act(const struct settings *s, const char *what, int *exit_status)
{
    char *path;
    size_t n_done = 0;
    STATUS_TRY(find_service(s, &path));
    enum status code = STATUS_OK;
    for (size_t i = 0; code == STATUS_OK && i < s->n_inputs; i++) {
        bool done;
        code = ask(path, what, s->inputs[i], &done);
        n_done += done;
    }
    free(path);
    *exit_status = n_done == s->n_inputs ? 0 : n_done > 0 ? 1 : 2;
    return code;
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
    char *path;
    bool done;
    STATUS_TRY(find_service(s, &path));
    const enum status code = ask(path, "flush", NULL, &done);
    free(path);
    *exit_status = done ? 0 : 2;
    return code;
}
