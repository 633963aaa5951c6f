/*
 * worker_request - the files of a job, as the service's message names them (worker_protocol.h),
 * become what the engine works on. They are opened beneath .work, where a disk may be waited for.
 */
#ifndef LEAT_PIPELINE_WORKER_WORKER_REQUEST_H
#define LEAT_PIPELINE_WORKER_WORKER_REQUEST_H

#include "pipeline/engine/job_input.h"
#include "watch/spool/spool.h"

#include <jansson.h>

/* Where all jobs lie. */
struct worker_folders {
    int work_fd, out_fd;           /* .work; the folder for results */
    char owner[SPOOL_OWNER_BYTES]; /* whose parts are filled */
};

/* {"do": "job"}; table options of the job borrow from it. */
struct worker_request {
    const struct worker_folders *folders;
    json_t *message;
    const char *id; /* in it */
};

/* What messages call the i-th of its files: "in/FOLDER/NAME". For free(). */
char *worker_request_path(const struct worker_request *r, size_t i);
/* The job, for job_input_free() also on failure; `r` outlives it. STATUS_BAD_INPUT: why the service
 * has refused it; STATUS_INTERNAL: what lacks names. */
enum status worker_request_input(const struct worker_request *r,
                                 struct job_input *out) STATUS_MUST_CHECK;
/* Opens the archive that the job is and, the caller's also on failure, its part folder; found_at:
 * where the archive is opened once more, for free(). */
enum status worker_request_archive(const struct worker_request *r, int *fd, int *part_fd,
                                   char **found_at) STATUS_MUST_CHECK;

#endif
