/*
 * worker_archive - one archive of the watched folder: each job in it leaves its result in a folder
 * of its own within the archive's part folder, by the folder in the archive, and result.json there
 * says of every file what became of it. A file that is bad, passes its deadline or meets an error
 * of the program fails by itself; what is the fault of nobody, or of the device, ends the whole,
 * which the service tries again.
 *
 * All calls and callbacks are on the loop thread.
 */
#ifndef LEAT_PIPELINE_WORKER_WORKER_ARCHIVE_H
#define LEAT_PIPELINE_WORKER_WORKER_ARCHIVE_H

#include "pipeline/engine/engine.h"
#include "pipeline/worker/worker_request.h"

struct worker_archive;

struct worker_archive_order {
    struct engine *engine;
    const struct settings *settings;      /* the worker's: deadline, limits; borrowed */
    const struct worker_request *request; /* with worker_pack_routes in it; "alone": its jobs run
                                             one after the other; borrowed */
    /* A job is going to begin, called by its first file; what is returned becomes of it, unless
     * that is STATUS_OK. */
    enum status (*begins)(void *user, const char *path, double deadline_s);
    /* As job_context has it. */
    void (*waits)(void *user, const char *path, bool waits, double deadline_s);
    /* One that was going to begin has ended, or could not begin. */
    void (*member_ended)(void *user, const char *path, const json_t *manifest);
    /* There may be a place for another. */
    void (*went_on)(void *user);
    /* All have, and the archive is freed afterwards. code, text: of the whole; done: what is said
     * to the service where it is done, to be freed; else NULL. */
    void (*ended)(void *user, enum status code, const char *text, json_t *done);
    void *user;
};

struct worker_archive *worker_archive_begin(const struct worker_archive_order *order);
/* Goes on, if the engine has a place. */
void worker_archive_step(struct worker_archive *a);
/* How far the archive has been read, in its own bytes. */
uint64_t worker_archive_bytes(const struct worker_archive *a);
/* As job_is_at_work() has it: of the walk and all of its jobs. */
bool worker_archive_is_at_work(const struct worker_archive *a, uint64_t *n_moves);
/* Begins no more of it; ended() follows when those in flight have, with STATUS_CANCELLED. */
void worker_archive_stop(struct worker_archive *a, const char *why);

#endif
