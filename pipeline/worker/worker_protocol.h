/*
 * worker_protocol - what the service and its workers say to each other: a JSON object a line, both
 * ways, over one socket.
 *
 * The service:
 *   {"do": "open", "spool", "output", "backend", "devices", "visible", "threads", "jobs", "spread",
 * "memory", "level", "bundle", "max_unpacked", "max_ratio", "deadline_s"}
 *   {"do": "job", "id", "stem", "pipeline", "set": {KEY: TEXT}, "folder",
 *    "files": [NAME]}                      the parts in their order, then what lies beside
 *   {"do": "job", "id", "archive": ..., "folder", "files"}  worker_routes.h
 *   {"do": "return", "id"}                 it fails as cancelled, unless it is begun
 *   {"do": "set", "deadline_s"}            of jobs that are begun from now on
 *   {"do": "drain"}                        begin no more, and say so of each job that waits
 *   {"do": "stop"}                         cancel what runs, too, and say so of each job
 * The worker:
 *   {"is": "ready", "device", "jobs"}                       jobs: in flight at the same time
 *   {"is": "unfit", "code", "text"}                         it cannot open, and ends
 *   {"is": "begun", "id", "waits", "deadline_s"}            told before anything of it is read;
 *                                                           once more when it waits for memory,
 *                                                           without a deadline, and when it has it
 *   {"is": "back", "id"}                                    it is not short, as the place was that
 * it had: it waits as if it were not begun
 *   {"is": "begun", "id", "member", "waits", "deadline_s"}  the same of a job within an archive;
 *   {"is": "ended", "id", "member", "busy_ns"}              member: its file, packed as names are;
 *                                                           busy_ns: worker_pack_busy
 *   {"is": "alive", "bytes": {ID: BYTES},                   every WORKER_ALIVE_MS while jobs run,
 *    "moves": {ID: COUNT}, "steps": {ID: [DONE, ALL]}}      of simulations alone; moves: of jobs at
 *                                                           work now, changes whenever a piece of
 *                                                           the job's work has ended
 *   {"is": "done", "id", "seconds", "bytes", "outputs",     the last two but one as in result.json;
 *    "warnings", "busy_ns"}                                 outputs null: more than a line is for;
 *                                                           no busy_ns: it is an archive
 *   {"is": "failed", "id", "code", "text"}                  code: status_name(); text is packed as
 *                                                           names are, since it may hold one
 *
 * The link's end is the other side's death, or its wish that this one end.
 */
#ifndef LEAT_PIPELINE_WORKER_WORKER_PROTOCOL_H
#define LEAT_PIPELINE_WORKER_WORKER_PROTOCOL_H

#include "formats/base/bytes.h"
#include "pipeline/settings/settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

enum {
    WORKER_FD = 3,                    /* of the worker's end */
    WORKER_ALIVE_MS = 500,            /* between signs of life */
    WORKER_LINE_BYTES_MAX = 64 << 20, /* a longer line is nonsense */
    WORKER_OUTPUTS_MAX = 1 << 14,     /* that a line names: as many as the record of a commit */
};

/* One end. Zeroed, with the callbacks and `user` set, before it is started. */
struct worker_link {
    uv_pipe_t pipe;
    struct bytes unread; /* the begin of a line */
    bool closing;
    /* A line that is a JSON object; borrowed. */
    void (*message)(void *user, const json_t *message);
    /* The other end has gone (""), or does not speak this language (in words). Called once; close
     * the link then. */
    void (*broken)(void *user, const char *why);
    void (*closed)(void *user);
    void *user;
};

/* Begins to read from link->pipe, which is open. */
enum status worker_link_start(struct worker_link *link) STATUS_MUST_CHECK;
/* Sends one line, and takes the object over. NULL, and what cannot be sent, are the end of the
 * link: `broken` says so, at both ends. */
void worker_link_send(struct worker_link *link, json_t *message);
/* What was sent is lost unless the other end has read it; `closed` (may be NULL) follows, and is
 * when the memory of the link may be given back. Harmless a second time. */
void worker_link_close(struct worker_link *link);

/* The line for a job that is done, seconds being what it took and input_bytes what it has read.
 * outputs and warnings are borrowed. */
json_t *worker_pack_done(const char *id, double seconds, uint64_t input_bytes, json_t *outputs,
                         json_t *warnings);

/* What a job has used, the "timing" of its result.json, as a list of nanoseconds: what each lane
 * was busy, in their order, then processors, device, uploads and downloads. NULL: NULL. */
json_t *worker_pack_busy(const json_t *timing);

/* {"pipeline": NAME, "set": {KEY: TEXT}}: everything that settings_resolve has found for a job but
 * part and stem; a parameter that is not there has its default. NULL: a text is not UTF-8. */
json_t *worker_pack_settings(const struct job_settings *settings);
/* {"refused": WHY}, in place of that: the input can never be read. */
json_t *worker_pack_refusal(const char *why);
/* The reverse. Text is borrowed from `packed`. STATUS_BAD_ARGUMENT: what another version of leat
 * has written; the message says what is not known. STATUS_BAD_INPUT: why it was refused. */
enum status worker_unpack_settings(const json_t *packed, const char *stem,
                                   struct job_settings *out) STATUS_MUST_CHECK;

/* A name is bytes, JSON is UTF-8: bytes that are no printable ASCII, and '%', stand as %XX. */
json_t *worker_pack_name(const char *name);
/* NULL: not such a text. For free(). */
char *worker_unpack_name(const json_t *packed);

/* The status of that name; STATUS_INTERNAL for any other text, and NULL. */
enum status worker_unpack_code(const char *name);

#endif
