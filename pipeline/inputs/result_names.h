/*
 * result_names - the results that one run, or one archive, is going to have. Two inputs never share
 * one, and no result lies in another.
 */
#ifndef LEAT_PIPELINE_INPUTS_RESULT_NAMES_H
#define LEAT_PIPELINE_INPUTS_RESULT_NAMES_H

#include "pipeline/engine/job.h"

/* Zeroed: none. */
struct result_names {
    void *tree;
};

/* STATUS_EXISTS: another input has that result, or one that lies in it or in which it lies; the
 * message names both inputs. */
enum status result_names_add(struct result_names *names,
                             const struct job_input *input) STATUS_MUST_CHECK;
/* Nothing may be called so. */
void result_names_reserve(struct result_names *names, const char *name);
void result_names_free(struct result_names *names);

#endif
