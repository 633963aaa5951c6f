/*
 * status_ask - see status_ask.h.
 */
#include "pipeline/status/status_ask.h"

#include "pipeline/names/text.h"
#include "pipeline/status/status_socket.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The places that were asked in vain. */
struct search {
    const struct settings *settings;
    char looked[STATUS_MESSAGE_BYTES / 2]; /* 'PATH' (what is there instead), ... */
    enum status status; /* of the first that is there and does not answer; STATUS_NOT_FOUND: none */
    char why[STATUS_MESSAGE_BYTES];
};

static bool is_same_folder(const char *a, const char *b)
{
    struct stat x, y;
    return a != NULL && (strcmp(a, b) == 0 || (stat(a, &x) == 0 && stat(b, &y) == 0 &&
                                               x.st_dev == y.st_dev && x.st_ino == y.st_ino));
}

static void note(struct search *search, const char *path, const char *instead)
{
    const size_t n = strlen(search->looked);
    snprintf(search->looked + n, sizeof(search->looked) - n, "%s'%s'%s%s%s", n > 0 ? ", " : "",
             path, *instead != '\0' ? " (" : "", instead, *instead != '\0' ? ")" : "");
}

/* Whether the service that is meant answers at the path. Where a spool is named, a failure at a
 * place that is not in it may be another service's, and is only noted. */
static bool ask_at(struct search *search, const char *path, bool own, json_t **out)
{
    const struct settings *s = search->settings;
    const bool any = s->status_socket != NULL || s->spool == NULL;
    const enum status status = status_socket_ask(path, out);
    const char *theirs = json_string_value(json_object_get(*out, "spool"));
    char instead[STATUS_MESSAGE_BYTES] = "";
    if (status == STATUS_OK && (any || is_same_folder(theirs, s->spool))) {
        json_object_set_new(*out, "socket", text_json(path));
        return true;
    }
    if (status == STATUS_OK) {
        snprintf(instead, sizeof(instead), "where that of '%s' does",
                 theirs != NULL ? theirs : "?");
        json_decref(*out);
        *out = NULL;
    } else if (status != STATUS_NOT_FOUND && !any && !own) { /* "'PATH': why", without the path */
        const char *why = strstr(status_message(), "': ");
        snprintf(instead, sizeof(instead), "%s", why != NULL ? why + 3 : status_message());
    } else if (status != STATUS_NOT_FOUND && search->status == STATUS_NOT_FOUND) {
        search->status = status;
        snprintf(search->why, sizeof(search->why), "%s", status_message());
    }
    note(search, path, instead);
    return false;
}

enum status status_ask(const struct settings *s, json_t **out)
{
    struct search search = {.settings = s, .status = STATUS_NOT_FOUND};
    char *path;
    bool found = false;
    *out = NULL;
    for (size_t at = 0; !found && (path = settings_next_socket(s, false, &at)) != NULL;) {
        found = ask_at(&search, path, at == SETTINGS_SOCKETS, out);
        free(path);
    }
    if (found || search.status != STATUS_NOT_FOUND) {
        return found ? STATUS_OK : status_set(search.status, search.why);
    }
    return status_fail(STATUS_NOT_FOUND,
                       "no service answers at %s; start one with 'systemctl start leat' or 'leat "
                       "watch --spool %s', or say where it is with --status-socket",
                       search.looked, s->spool != NULL ? s->spool : "DIR");
}

enum status status_ask_spool(const struct settings *s, char **out)
{
    json_t *document = NULL;
    const char *spool = s->spool;
    if (spool == NULL && status_ask(s, &document) == STATUS_OK) {
        spool = json_string_value(json_object_get(document, "spool"));
    }
    *out = spool != NULL ? strdup(spool) : NULL;
    json_decref(document);
    return *out != NULL ? STATUS_OK
                        : status_fail(STATUS_BAD_ARGUMENT,
                                      "no watched folder given, and no service answers that could "
                                      "name it: add --spool DIR");
}
