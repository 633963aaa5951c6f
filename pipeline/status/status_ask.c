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

enum { MOST_PLACES = 3 };

struct places {
    char *paths[MOST_PLACES];
    char *others[MOST_PLACES]; /* what is there instead of the service that is meant */
    size_t n;
};

static void add(struct places *p, const char *folder, const char *rest)
{
    if (folder != NULL && *folder != '\0' &&
        asprintf(&p->paths[p->n], "%s/%s", folder, rest) >= 0) {
        p->n++;
    }
}

static void list_places(const struct settings *s, struct places *p)
{
    if (s->status_socket != NULL) {
        p->paths[0] = strdup(s->status_socket);
        p->n = p->paths[0] != NULL;
        return;
    }
    add(p, s->spool, ".run/status.sock");
    add(p, "/run/leat", "status.sock");
    add(p, getenv("XDG_RUNTIME_DIR"), "leat/status.sock");
}

static bool is_same_folder(const char *a, const char *b)
{
    struct stat x, y;
    return a != NULL && (strcmp(a, b) == 0 || (stat(a, &x) == 0 && stat(b, &y) == 0 &&
                                               x.st_dev == y.st_dev && x.st_ino == y.st_ino));
}

static enum status nobody(const struct settings *s, const struct places *p)
{
    char looked[STATUS_MESSAGE_BYTES / 2] = "";
    size_t len = 0;
    for (size_t i = 0; i < p->n && len < sizeof(looked); i++) {
        const char *other = p->others[i];
        len += (size_t)snprintf(looked + len, sizeof(looked) - len, "%s'%s'%s%s%s",
                                i > 0 ? ", " : "", p->paths[i], other != NULL ? " (" : "",
                                other != NULL ? other : "", other != NULL ? ")" : "");
    }
    return status_fail(STATUS_NOT_FOUND,
                       "no service answers at %s; start one with 'systemctl start leat' or 'leat "
                       "watch --spool %s', or say where it is with --status-socket",
                       looked, s->spool != NULL ? s->spool : "DIR");
}

/* Without the place that it begins with: "'PATH': why". */
static char *reason_of(const char *message, const char *path)
{
    const size_t n = strlen(path);
    const bool names_it = message[0] == '\'' && strncmp(message + 1, path, n) == 0 &&
                          strncmp(message + 1 + n, "': ", 3) == 0;
    return strdup(names_it ? message + n + 4 : message);
}

/* Asks at one place. Where a spool is named, what refuses at a place that is not its own is as
 * little its service as one of another spool: both are only told of. */
static enum status ask_at(const struct settings *s, struct places *p, size_t i, json_t **out)
{
    enum status status = status_socket_ask(p->paths[i], out);
    if (s->status_socket != NULL || s->spool == NULL) {
        return status;
    }
    const char *theirs = json_string_value(json_object_get(*out, "spool"));
    if (status == STATUS_OK && !is_same_folder(theirs, s->spool)) {
        if (asprintf(&p->others[i], "where that of '%s' does", theirs != NULL ? theirs : "?") < 0) {
            p->others[i] = NULL;
        }
        json_decref(*out);
        *out = NULL;
        return STATUS_NOT_FOUND;
    }
    if (status != STATUS_OK && status != STATUS_NOT_FOUND && i > 0) {
        p->others[i] = reason_of(status_message(), p->paths[i]);
        return STATUS_NOT_FOUND;
    }
    return status;
}

enum status status_ask(const struct settings *s, json_t **out)
{
    struct places places = {0};
    list_places(s, &places);
    *out = NULL;
    enum status status = STATUS_NOT_FOUND, other = STATUS_NOT_FOUND;
    char why[STATUS_MESSAGE_BYTES] = ""; /* of the first that is there and does not answer */
    for (size_t i = 0; i < places.n && status != STATUS_OK; i++) {
        status = ask_at(s, &places, i, out);
        if (status != STATUS_OK && status != STATUS_NOT_FOUND && other == STATUS_NOT_FOUND) {
            other = status;
            snprintf(why, sizeof(why), "%s", status_message());
        }
        if (status == STATUS_OK) {
            json_object_set_new(*out, "socket", text_json(places.paths[i]));
        }
    }
    if (status != STATUS_OK) {
        status = other != STATUS_NOT_FOUND ? status_set(other, why) : nobody(s, &places);
    }
    for (size_t i = 0; i < places.n; i++) {
        free(places.paths[i]);
        free(places.others[i]);
    }
    return status;
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
