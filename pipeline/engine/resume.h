/*
 * resume - is the result that is there the one that this job would make?
 */
#ifndef LEAT_PIPELINE_ENGINE_RESUME_H
#define LEAT_PIPELINE_ENGINE_RESUME_H

#include "pipeline/engine/job_input.h"
#include "watch/files/publish_part.h"

/* An earlier result that the job replaces. */
struct resume {
    bool replaces;
    struct publish_folder replaced; /* that one */
};

/* STATUS_OK when there is no result of that name, or one that this job replaces; STATUS_SKIPPED
 * when it is the result of this job; STATUS_EXISTS when it is another one's, and may not be
 * replaced. On lanes. */
enum status resume_look(const struct job_input *input, const struct settings *settings, int out_fd,
                        struct resume *out) STATUS_MUST_CHECK;

#endif
