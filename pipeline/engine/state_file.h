/*
 * state_file - the state of a job that outlives its process: one file in the output folder,
 * compressed, in the place of the one before only when it is whole and on disk.
 *
 * It goes when the job's result has got its name, by who publishes it: the engine or the spool. Of
 * a job that was interrupted, or that another one of that name replaces, it stays.
 */
#ifndef LEAT_PIPELINE_ENGINE_STATE_FILE_H
#define LEAT_PIPELINE_ENGINE_STATE_FILE_H

#include "pipeline/engine/job_input.h"

struct state_file {
    struct stage_state calls; /* for the stage, while this stays where it is */
    int out_fd;               /* of the caller, as what follows */
    const char *path;         /* what messages call the job */
    char name[64], temp[68];  /* in the output folder; of the one that is being written */
    bool is_told;             /* that it cannot be kept */
};

/* Of a job that computes into that folder. */
void state_file_of(struct state_file *f, int out_fd, const struct job_input *input);
/* Removes what there is. */
void state_file_remove(const struct state_file *f);

#endif
