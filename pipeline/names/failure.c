/*
 * failure - see failure.h.
 */
#include "pipeline/names/failure.h"

#include <stdio.h>

void failure_init(struct failure *f)
{
    *f = (struct failure){.status = STATUS_OK};
    pthread_mutex_init(&f->lock, NULL);
}

void failure_end(struct failure *f)
{
    pthread_mutex_destroy(&f->lock);
}

void failure_note(struct failure *f, enum status status)
{
    if (status == STATUS_OK) {
        return;
    }
    pthread_mutex_lock(&f->lock);
    if (f->status == STATUS_OK) {
        f->status = status;
        snprintf(f->message, sizeof(f->message), "%s", status_message());
    }
    pthread_mutex_unlock(&f->lock);
}

enum status failure_first(struct failure *f)
{
    pthread_mutex_lock(&f->lock);
    const enum status status =
        f->status == STATUS_OK ? STATUS_OK : status_set(f->status, f->message);
    pthread_mutex_unlock(&f->lock);
    return status;
}
