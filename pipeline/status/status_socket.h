/*
 * status_socket - the Unix socket on which the service says what it is doing.
 *
 * Who connects gets one JSON document and then the end of the stream; nothing is read from them.
 * Only root and the service's own user can, since the socket has mode 0600; with a group, its
 * members can, too (0660). A document never holds up the loop: STATUS_SOCKET_CLIENTS are answered
 * at a time, others wait to be accepted, and who has not read theirs within STATUS_SOCKET_SLOW_MS
 * is dropped. SIGPIPE must be ignored.
 *
 * The same as a control socket: who connects sends a request, and gets a document for it.
 */
#ifndef LEAT_PIPELINE_STATUS_STATUS_SOCKET_H
#define LEAT_PIPELINE_STATUS_STATUS_SOCKET_H

#include "formats/base/status.h"

#include <jansson.h>
#include <uv.h>

enum { STATUS_SOCKET_CLIENTS = 16, STATUS_SOCKET_SLOW_MS = 2000 };

struct status_socket;

/* What the path of a control socket ends in, behind that of the status socket. */
#define STATUS_CONTROL_SUFFIX ".control"
/* A request's length, and the time that its answer may take. */
enum { STATUS_REQUEST_BYTES = 8192, STATUS_ANSWER_MS = 10000 };
/* Who has sent a request. */
struct status_request {
    struct status_socket *socket;
    size_t place;
    uint64_t serial;
};

/* Listens at `path`, in the loop; the last folder of the path is made (0700; with a group 0710)
 * where it is missing. `group`: who may ask, too; NULL: nobody. A group that does not exist, or
 * that the service may not give the socket to, may not ask, which the log says. make(user) is
 * called on the loop's thread for every client and gives it a document to own. A socket of a dead
 * service is replaced. STATUS_EXISTS: somebody does, or something
 * else has that name; STATUS_BAD_ARGUMENT: a path longer than such a name may be, or a folder in
 * which others could replace the socket; STATUS_NOT_FOUND, STATUS_IO. */
enum status status_socket_open(uv_loop_t *loop, const char *path, const char *group,
                               json_t *(*make)(void *user), void *user,
                               struct status_socket **out) STATUS_MUST_CHECK;
/* The same for requests, which take() gets, and borrows, on the loop's thread: objects of one line,
 * from root and the service's own user alone. Each is answered once, at once or later. */
enum status status_socket_open_control(uv_loop_t *loop, const char *path,
                                       void (*take)(void *user, const json_t *request,
                                                    const struct status_request *from),
                                       void *user, struct status_socket **out) STATUS_MUST_CHECK;
/* Sends the document, which it takes over; who asked may have gone. Not after status_socket_close.
 */
void status_request_answer(const struct status_request *request, json_t *document);
/* Removes the socket and drops who is connected; make() is not called any more. The memory is given
 * back by the loop, which must run once more. NULL is fine. */
void status_socket_close(struct status_socket *s);

/* Asks the service at `path`; waits for seconds at most. STATUS_NOT_FOUND: no service listens
 * there; STATUS_BAD_INPUT: what answers is not leat, or has no answer; STATUS_IO (none in
 * time, no permission), STATUS_NO_MEMORY. */
enum status status_socket_ask(const char *path, json_t **out) STATUS_MUST_CHECK;
/* Sends a request to a control socket, and waits for its answer; as status_socket_ask. */
enum status status_socket_request(const char *path, const json_t *request,
                                  json_t **out) STATUS_MUST_CHECK;

#endif
