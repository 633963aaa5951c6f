/*
 * failure - the first failure among several threads that work on one thing, with its description.
 */
#ifndef LEAT_PIPELINE_NAMES_FAILURE_H
#define LEAT_PIPELINE_NAMES_FAILURE_H

#include "formats/base/status.h"

#include <pthread.h>

struct failure {
    pthread_mutex_t lock;
    enum status status; /* STATUS_OK: none yet */
    char message[STATUS_MESSAGE_BYTES];
};

void failure_init(struct failure *f);
void failure_end(struct failure *f);
/* Notes the calling thread's failure unless there is one already; nothing for STATUS_OK. */
void failure_note(struct failure *f, enum status status);
/* The first one, described in the calling thread. */
enum status failure_first(struct failure *f) STATUS_MUST_CHECK;

#endif
