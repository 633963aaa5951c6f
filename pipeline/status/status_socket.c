/*
 * status_socket - see status_socket.h.
 */
#include "pipeline/status/status_socket.h"

#include "formats/base/json.h"
#include "formats/base/log.h"
#include "pipeline/status/socket_name.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* What a client waits for an answer, and how long one may be. */
enum { ASK_SECONDS = 5, REQUEST_SECONDS = 15, LONGEST_ANSWER = 64 << 20 };

static const char option[] = "--status-socket";

struct client {
    struct status_socket *owner;
    uv_pipe_t pipe;
    uv_timer_t timer;
    uv_write_t write;
    char *text;
    char request[STATUS_REQUEST_BYTES]; /* of a control socket */
    size_t n_request;
    uint64_t serial; /* of all that have connected */
    int n_open;      /* handles that are not closed yet; 0: the place is free */
};

struct status_socket {
    uv_pipe_t pipe;
    json_t *(*make)(void *user); /* or: */
    void (*take)(void *user, const json_t *request, const struct status_request *from);
    void *user;
    uint64_t n_connected;
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

/* Takes the document over. */
static bool send_document(struct client *c, json_t *document)
{
    c->text = xalloc_checked(json_write(document, JSON_COMPACT | JSON_REAL_PRECISION(17)));
    json_decref(document);
    uv_buf_t buffer = uv_buf_init(c->text, (unsigned)strlen(c->text));
    return uv_timer_start(&c->timer, on_slow, STATUS_SOCKET_SLOW_MS, 0) == 0 &&
           uv_write(&c->write, (uv_stream_t *)&c->pipe, &buffer, 1, on_written) == 0;
}

/* --- requests --------------------------------------------------------------------------------- */

static void room_for_request(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    struct client *const c = handle->data;
    (void)wanted;
    *buffer = uv_buf_init(c->request + c->n_request, (unsigned)(sizeof(c->request) - c->n_request));
}

static void take_request(struct client *c, size_t n_bytes)
{
    struct status_socket *const s = c->owner;
    const struct status_request from = {s, (size_t)(c - s->clients), c->serial};
    json_t *request;
    if (json_read(c->request, n_bytes, &request) != STATUS_OK || !json_is_object(request) ||
        uv_timer_start(&c->timer, on_slow, STATUS_ANSWER_MS, 0) != 0) {
        drop(c);
    } else {
        s->take(s->user, request, &from);
    }
    json_decref(request);
}

static void on_request(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    struct client *const c = stream->data;
    (void)buffer;
    c->n_request += n > 0 ? (size_t)n : 0;
    const char *const end = memchr(c->request, '\n', c->n_request);
    if (end != NULL) {
        uv_read_stop(stream);
        take_request(c, (size_t)(end - c->request));
    } else if (n < 0 || c->n_request == sizeof(c->request)) {
        drop(c);
    }
}

void status_request_answer(const struct status_request *request, json_t *document)
{
    struct client *const c = &request->socket->clients[request->place];
    if (c->n_open < 2 || c->serial != request->serial || uv_is_closing((uv_handle_t *)&c->pipe)) {
        json_decref(document); /* it has gone */
    } else if (!send_document(c, document)) {
        drop(c);
    }
}

/* Begins what the client is here for. */
static bool serve(struct client *c)
{
    const struct status_socket *const s = c->owner;
    if (s->make != NULL) {
        return send_document(c, s->make(s->user));
    }
    return uv_timer_start(&c->timer, on_slow, STATUS_SOCKET_SLOW_MS, 0) == 0 &&
           uv_read_start((uv_stream_t *)&c->pipe, room_for_request, on_request) == 0;
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
    *c = (struct client){.owner = s, .n_open = 2, .serial = ++s->n_connected};
    uv_pipe_init(s->pipe.loop, &c->pipe, 0);
    uv_timer_init(s->pipe.loop, &c->timer);
    c->pipe.data = c->timer.data = c->write.data = c;
    s->n_clients++;
    s->waits = false;
    if (uv_accept((uv_stream_t *)&s->pipe, (uv_stream_t *)&c->pipe) != 0 || !serve(c)) {
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

/* --- the name -------------------------------------------------------------------------------- */

/* The group of that name; none, with a warning, where there is none. */
static gid_t find_group(const char *name)
{
    errno = 0;
    const struct group *const group = name != NULL ? getgrnam(name) : NULL;
    if (name != NULL && group == NULL) {
        log_warning(
            "status_group: there is no group '%s'%s%s; only root and the service's own user "
            "may ask for the status",
            name, errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
    }
    return group != NULL ? group->gr_gid : socket_name_no_group;
}

/* --- opening and closing --------------------------------------------------------------------- */

static void listener_closed(uv_handle_t *handle)
{
    struct status_socket *s = handle->data;
    s->closed = true;
    free_when_done(s);
}

/* What it is for is set before the loop runs. */
static enum status open_at(uv_loop_t *loop, const char *path, const char *group,
                           struct status_socket **out)
{
    *out = NULL;
    struct socket_name name;
    int fd = -1;
    STATUS_TRY(
        socket_name_bind(path, 0600, find_group(group), "status socket", option, &fd, &name));
    struct status_socket *s = xcalloc(1, sizeof(*s));
    s->name = name;
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

enum status status_socket_open(uv_loop_t *loop, const char *path, const char *group,
                               json_t *(*make)(void *user), void *user, struct status_socket **out)
{
    STATUS_TRY(open_at(loop, path, group, out));
    (*out)->make = make;
    (*out)->user = user;
    return STATUS_OK;
}

enum status status_socket_open_control(uv_loop_t *loop, const char *path,
                                       void (*take)(void *user, const json_t *request,
                                                    const struct status_request *from),
                                       void *user, struct status_socket **out)
{
    STATUS_TRY(open_at(loop, path, NULL, out));
    (*out)->take = take;
    (*out)->user = user;
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

/* `who` may connect, beside root. */
static enum status connect_to(const char *path, const char *who, int seconds, int *out)
{
    struct sockaddr_un address;
    const struct timeval most = {.tv_sec = seconds};
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
                   : status_fail_errno(error, "'%s': cannot ask the service%s%s%s", path,
                                       error == EACCES ? ", only root" : "",
                                       error == EACCES ? who : "", error == EACCES ? " may" : "");
    }
    *out = fd;
    return STATUS_OK;
}

/* Reads the answer, and closes. */
static enum status read_answer(const char *path, int fd, int seconds, json_t **out)
{
    enum status status = json_read_fd(fd, LONGEST_ANSWER, out);
    close(fd);
    if (status == STATUS_IO) {
        return status_fail(status, "'%s': no answer within %d s: %s", path, seconds,
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

enum status status_socket_ask(const char *path, json_t **out)
{
    *out = NULL;
    int fd = -1;
    STATUS_TRY(connect_to(path, ", its own user and its status_group", ASK_SECONDS, &fd));
    return read_answer(path, fd, ASK_SECONDS, out);
}

enum status status_socket_request(const char *path, const json_t *request, json_t **out)
{
    static char end[] = "\n";
    *out = NULL;
    int fd = -1;
    char *const text = json_write(request, JSON_COMPACT);
    if (text == NULL) {
        return status_fail(STATUS_NO_MEMORY, "'%s': no memory for a request", path);
    }
    const enum status status = connect_to(path, " and its own user", REQUEST_SECONDS, &fd);
    const struct iovec parts[] = {{text, strlen(text)}, {end, 1}};
    const size_t n_bytes = parts[0].iov_len + 1;
    const bool sent = status == STATUS_OK && writev(fd, parts, 2) == (ssize_t)n_bytes;
    free(text);
    if (status == STATUS_OK && !sent) {
        close(fd);
        return status_fail(STATUS_IO, "'%s': the request cannot be sent", path);
    }
    return status == STATUS_OK ? read_answer(path, fd, REQUEST_SECONDS, out) : status;
}
