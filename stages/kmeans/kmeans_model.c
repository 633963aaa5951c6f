/*
 * kmeans_model - the arrays of a model, from and to the backend.
 */
#include "stages/kmeans/kmeans_job.h"

#include <math.h>
#include <stdlib.h>

enum status kmeans_alloc(struct kmeans_job *job, size_t bytes, struct span *out)
{
    *out = (struct span){0};
    return job->ops->alloc(job->queue, bytes > 0 ? bytes : 1, out);
}

void kmeans_release(struct kmeans_job *job, struct span *s)
{
    if (s->at != NULL) {
        job->ops->release(job->queue, *s);
    }
    *s = (struct span){0};
}

enum status kmeans_model_put(struct kmeans_job *job, const struct kmeans_model *m,
                             enum kmeans_field field, const void *from, size_t bytes)
{
    uint64_t ticket;
    const struct span to = span_from(m->at, kmeans_offset(m->k, m->n_columns, field));
    STATUS_TRY(job->ops->upload(job->queue, to, from, bytes, &ticket));
    return job->ops->upload_wait(job->queue, ticket);
}

enum status kmeans_model_get(struct kmeans_job *job, const struct kmeans_model *m,
                             enum kmeans_field field, void *to, size_t bytes)
{
    const struct span from = span_from(m->at, kmeans_offset(m->k, m->n_columns, field));
    return job->ops->download(job->queue, to, from, bytes);
}

/* All that a host sets before anything is done; zeros elsewhere. */
static enum status put_begin(struct kmeans_job *job, const struct kmeans_model *m)
{
    const size_t bytes = job->layout.n_columns * sizeof(double);
    const uint64_t none = UINT64_MAX;
    const struct kmeans_state state = {.tolerance = job->tolerance,
                                       .inertia_unit = job->inertia_unit,
                                       .pick = {.point = UINT64_MAX}};
    STATUS_TRY(kmeans_model_put(job, m, KMEANS_STATE, &state, sizeof state));
    STATUS_TRY(kmeans_model_put(job, m, KMEANS_MIN, job->min, bytes));
    STATUS_TRY(kmeans_model_put(job, m, KMEANS_MAX, job->max, bytes));
    STATUS_TRY(kmeans_model_put(job, m, KMEANS_BAD, &none, sizeof none));
    STATUS_TRY(kmeans_model_put(job, m, KMEANS_UNIT, job->unit, bytes));
    return kmeans_model_put(job, m, KMEANS_WEIGHT, job->weight, bytes);
}

enum status kmeans_model_new(struct kmeans_job *job, size_t k, struct kmeans_model *out)
{
    const size_t d = job->layout.n_columns;
    *out = (struct kmeans_model){.k = k, .n_columns = d};
    STATUS_TRY(kmeans_alloc(job, kmeans_model_bytes(k, d), &out->at));
    STATUS_TRY(job->ops->zero(job->queue, out->at));
    return put_begin(job, out);
}

void kmeans_model_free(struct kmeans_job *job, struct kmeans_model *m)
{
    kmeans_release(job, &m->at);
    *m = (struct kmeans_model){0};
}
