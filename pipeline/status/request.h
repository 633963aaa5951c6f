/*
 * request - what an administrator asks of a service: a file in SPOOL/.work/requests.
 *
 *   {"do": "hold", "release", "delete", "retry" or "flush", "job": WHICH}   asked, and on disk
 *   {"done": true or false, "text": SENTENCE}                               in its place: the
 * answer
 *
 * WHICH is the ID of a job or the path of an input, in bytes, as worker_pack_name() has them. Names
 * begin with the time, so requests are dealt with in their order. What no service has answered yet
 * is done by the next one. Only root and the service's own user can ask.
 */
#ifndef LEAT_PIPELINE_STATUS_REQUEST_H
#define LEAT_PIPELINE_STATUS_REQUEST_H

#include "formats/base/status.h"

#include <jansson.h>
#include <stdbool.h>

/* The name of the folder in the spool. */
#define REQUEST_FOLDER ".work/requests"
enum { REQUEST_NAME_BYTES = 64, REQUEST_TEXT_BYTES = 600 };

/* The folder of requests, made where it is missing, and the service's; owned by the caller.
 * STATUS_NOT_FOUND: nobody has watched the spool yet; STATUS_IO: no permission. */
enum status request_open_folder(const char *spool, int *out) STATUS_MUST_CHECK;
/* Puts a request on disk; job NULL: none is meant. Awaited: somebody is going to fetch its answer.
 */
enum status request_write(int folder_fd, const char *what, const char *job, bool is_awaited,
                          char name[REQUEST_NAME_BYTES]) STATUS_MUST_CHECK;
/* What became of what is asked about a job: `done`, or it will be. */
typedef void request_told_fn(void *user, const char *job, bool done, const char *text);
/* Puts a request on disk for each of n jobs (NULL: none is meant), then waits for the answers, in
 * their order, while a service lives and goes on answering: the requests stay that have none by
 * then. A request that cannot be written is told as not done, and ends the list. Fails as
 * request_open_folder. */
enum status request_ask(const char *spool, const char *what, const char *const *jobs, size_t n,
                        request_told_fn *told, void *user) STATUS_MUST_CHECK;

/* The service's side: what lies there, NULL where that is no request (any more): it is an answer,
 * or nonsense, or a name that begins with a dot; all of them go once they are old. */
json_t *request_read(int folder_fd, const char *name);
/* Writes the answer over the request, which needs no room, on disk; a request whose answer nobody
 * awaits, or cannot be written, is removed. */
enum status request_answer(int folder_fd, const char *name, bool done,
                           const char *text) STATUS_MUST_CHECK;

#endif
