/*
 * status_socket - see status_socket.h.
 */
#include "pipeline/status/status_socket.h"

#include "formats/base/json.h"
#include "formats/base/log.h"
#include "pipeline/status/socket_name.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What a client waits for an answer, and how long one may be. */
enum { ASK_SECONDS = 5, LONGEST_ANSWER = 64 << 20 };

static const char option[] = "--status-socket";

struct client {
    struct status_socket *owner;
    uv_pipe_t pipe;
    uv_timer_t timer;
    uv_write_t write;
    char *text;
    int n_open; /* handles that are not closed yet; 0: the place is free */
};

struct status_socket {
    uv_pipe_t pipe;
    json_t *(*make)(void *user);
    void *user;
    struct socket_name name;
    struct client clients[STATUS_SOCKET_CLIENTS];
    size_t n_clients;
    bool waits;  /* a connection, for a place; libuv does not listen until it is taken */
    bool closed; /* the listening handle is */
};

/* --- clients --------------------------------------------------------------------------------- */

static void free_when_done(struct status_socket *s)
{
    if (s->closed && s->n_clients == 0) {
        free(s);
    }
}

static void take_waiting(struct status_socket *s);

static void client_closed(uv_handle_t *handle)
{
    struct client *c = handle->data;
    if (--c->n_open > 0) {
        return;
    }
    struct status_socket *s = c->owner;
    free(c->text);
    s->n_clients--;
    take_waiting(s);
    free_when_done(s);
}

static void drop(struct client *c)
{
    if (!uv_is_closing((uv_handle_t *)&c->pipe)) {
        uv_close((uv_handle_t *)&c->pipe, client_closed);
        uv_close((uv_handle_t *)&c->timer, client_closed);
    }
}

static void on_slow(uv_timer_t *timer)
{
    drop(timer->data);
}

static void on_written(uv_write_t *write, int status)
{
    (void)status;
    drop(write->data);
}

static bool answer(struct client *c)
{
    json_t *document = c->owner->make(c->owner->user);
    c->text = json_write(document, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(document);
    if (c->text == NULL) {
        return false;
    }
    uv_buf_t buffer = uv_buf_init(c->text, (unsigned)strlen(c->text));
    return uv_timer_start(&c->timer, on_slow, STATUS_SOCKET_SLOW_MS, 0) == 0 &&
           uv_write(&c->write, (uv_stream_t *)&c->pipe, &buffer, 1, on_written) == 0;
}

static void take_waiting(struct status_socket *s)
{
    if (!s->waits || s->n_clients == STATUS_SOCKET_CLIENTS ||
        uv_is_closing((uv_handle_t *)&s->pipe)) {
        return;
    }
    struct client *c = s->clients;
    while (c->n_open > 0) {
        c++;
    }
    *c = (struct client){.owner = s, .n_open = 2};
    uv_pipe_init(s->pipe.loop, &c->pipe, 0);
    uv_timer_init(s->pipe.loop, &c->timer);
    c->pipe.data = c->timer.data = c->write.data = c;
    s->n_clients++;
    s->waits = false;
    if (uv_accept((uv_stream_t *)&s->pipe, (uv_stream_t *)&c->pipe) != 0 || !answer(c)) {
        drop(c);
    }
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct status_socket *s = stream->data;
    if (status < 0) {
        log_warning("%s: accept failed on the status socket: %s", s->name.path,
                    uv_strerror(status));
        return;
    }
    s->waits = true;
    take_waiting(s);
}

/* --- opening and closing --------------------------------------------------------------------- */

static void listener_closed(uv_handle_t *handle)
{
    struct status_socket *s = handle->data;
    s->closed = true;
    free_when_done(s);
}

enum status status_socket_open(uv_loop_t *loop, const char *path, json_t *(*make)(void *user),
                               void *user, struct status_socket **out)
{
    *out = NULL;
    struct socket_name name;
    int fd = -1;
    STATUS_TRY(socket_name_bind(path, 0600, "status socket", option, &fd, &name));
    struct status_socket *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        socket_name_remove(&name);
        close(fd);
        return status_fail(STATUS_NO_MEMORY, "'%s': no memory for the status socket", path);
    }
    s->name = name;
    s->make = make;
    s->user = user;
    uv_pipe_init(loop, &s->pipe, 0);
    s->pipe.data = s;
    int error = uv_pipe_open(&s->pipe, fd);
    if (error != 0) {
        close(fd);
    } else {
        error = uv_listen((uv_stream_t *)&s->pipe, STATUS_SOCKET_CLIENTS, on_connection);
    }
    if (error != 0) {
        status_socket_close(s);
        return status_fail(STATUS_IO, "'%s': cannot listen: %s", path, uv_strerror(error));
    }
    *out = s;
    return STATUS_OK;
}

void status_socket_close(struct status_socket *s)
{
    if (s == NULL) {
        return;
    }
    socket_name_remove(&s->name);
    for (struct client *c = s->clients; c < s->clients + STATUS_SOCKET_CLIENTS; c++) {
        if (c->n_open > 0) {
            drop(c);
        }
    }
    uv_close((uv_handle_t *)&s->pipe, listener_closed);
}

/* --- asking ---------------------------------------------------------------------------------- */

static enum status connect_to(const char *path, int *out)
{
    struct sockaddr_un address;
    const struct timeval most = {.tv_sec = ASK_SECONDS};
    STATUS_TRY(socket_name_address(path, option, &address));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) != 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        int error = errno;
        if (fd >= 0) {
            close(fd);
        }
        return error == ECONNREFUSED || error == ENOENT || error == ENOTDIR
                   ? status_fail(STATUS_NOT_FOUND, "'%s': no service listens there", path)
                   : status_fail_errno(error, "'%s': cannot ask the service%s", path,
                                       error == EACCES ? ", only root and its own user may" : "");
    }
    *out = fd;
    return STATUS_OK;
}

enum status status_socket_ask(const char *path, json_t **out)
{
    *out = NULL;
    int fd = -1;
    STATUS_TRY(connect_to(path, &fd));
    enum status status = json_read_fd(fd, LONGEST_ANSWER, out);
    close(fd);
    if (status == STATUS_IO) {
        return status_fail(status, "'%s': no answer within %d s: %s", path, ASK_SECONDS,
                           status_message());
    }
    if (status == STATUS_OK && !json_is_object(*out)) {
        json_decref(*out);
        *out = NULL;
        status = status_fail(STATUS_BAD_INPUT, "not an object");
    }
    return status == STATUS_OK ? STATUS_OK
                               : status_fail(status, "'%s': no answer of a service (%s); ask again",
                                             path, status_message());
}
