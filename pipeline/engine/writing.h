/*
 * writing - from a method's results to the published folder: pieces are made and deflated on the
 * encode lane, appended by one write task at a time; at the end the folder becomes complete and
 * gets its name. All on the loop thread, but for what says otherwise.
 */
#ifndef LEAT_PIPELINE_ENGINE_WRITING_H
#define LEAT_PIPELINE_ENGINE_WRITING_H

#include "formats/result/result.h"
#include "pipeline/engine/job_tasks.h"
#include "pipeline/engine/manifest.h"
#include "pipeline/engine/resume.h"
#include "watch/files/publish_part.h"

struct writing_file {
    char name[48];
    uint64_t bytes;
    uint32_t crc;
    struct pack *pack; /* open: being written, or to be continued by a later result */
    bool more;         /* a later result continues it */
};

/* A result of the method on its way to the files. */
struct writing_result {
    struct result result;
    struct writing_file **files; /* that it is in */
    size_t n_unwritten;          /* encode buffers with pieces of it */
    bool all_encoding;           /* every piece has got its buffer */
    struct writing_result *next;
};

struct writing {
    struct job_tasks *tasks;
    const struct job_input *input;
    const struct settings *settings;
    int out_fd; /* the output folder */

    struct writing_result *results, **last_result; /* not yet written, oldest first */
    size_t n_results;
    struct result result; /* the last one that was written; none while others are on their way */
    struct publish publish;
    struct resume earlier;
    struct writing_file **files; /* of all results so far */
    size_t n_files;
    struct writing_result *encoding; /* has the next piece to be encoded; NULL: there is none */
    size_t next_file, next_member;   /* that piece */
    uint64_t next_piece;
    bool is_busy;                                        /* a task writes */
    struct encode_buffer *first_encoded, **last_encoded; /* in order of pieces */
    struct encode_buffer *written;                       /* taken by the write task */
    struct engine_task task;
};

/* Of a zeroed one, but for the first four members, which are the caller's. */
void writing_begin(struct writing *w);
/* On a lane: STATUS_OK when the result may be made: there is none, or one that it replaces.
 * STATUS_SKIPPED, STATUS_EXISTS as of resume_look. */
enum status writing_look(struct writing *w) STATUS_MUST_CHECK;
/* Takes what the method has filled, to be encoded and written. */
enum status writing_add(struct writing *w, struct result *next) STATUS_MUST_CHECK;
/* Encodes and writes what is there. */
void writing_advance(struct writing *w);
/* On a lane, when all is written: makes the manifest, a new reference, and the folder a result, all
 * but its name; of a job that is only checked the manifest alone. */
enum status writing_complete(struct writing *w, const struct manifest_of *job,
                             json_t **manifest) STATUS_MUST_CHECK;
/* On a lane, then: gives it its name, or leaves it to whoever named its part folder. */
enum status writing_publish(struct writing *w) STATUS_MUST_CHECK;
/* On a lane, since it deletes files: removes what was not published; of a job that starts over not
 * the folder that it was given. */
void writing_drop(struct writing *w, bool starts_over);
/* When no task of the job runs. */
void writing_give_buffers(struct writing *w);

/* Of writing_complete: appends report.html, what a result.json says as a page for a browser, whose
 * pictures lie in `folder`. Text from files is escaped. */
enum status writing_page(const json_t *result, int folder, struct bytes *out) STATUS_MUST_CHECK;
/* Of writing_complete: puts all files that the manifest names, and a result.json that names them,
 * into NAME.zip, which the manifest then names. */
enum status writing_bundle(struct writing *w, const struct manifest_of *job,
                           json_t *manifest) STATUS_MUST_CHECK;

#endif
