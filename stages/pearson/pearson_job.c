/*
 * pearson_job - backend memory of a job: staging buffers and the panels of the matrix.
 */
#include "stages/pearson/pearson_job.h"

#include "formats/base/checked.h"

#include <stdlib.h>

enum status pearson_job_alloc(struct pearson_job *job, size_t n, size_t each, struct span *out)
{
    size_t bytes = 0;
    *out = (struct span){0};
    if (!checked_mul(n, each, &bytes)) {
        return status_fail(STATUS_TOO_LARGE, "%s: %zu times %zu bytes do not fit any memory",
                           job->name, n, each);
    }
    return job->ops->alloc(job->queue, bytes, out);
}

void pearson_job_release(struct pearson_job *job, struct span *s)
{
    job->ops->release(job->queue, *s);
    *s = (struct span){0};
}

enum status pearson_job_stage(struct pearson_job *job, struct span *unit)
{
    struct span *buffer = &job->staging[job->turn];
    if (buffer->at == NULL) {
        STATUS_TRY(pearson_job_alloc(job, job->layout.unit_lines * job->layout.cells,
                                     dtype_bytes(job->layout.type), buffer));
    }
    job->turn = 1 - job->turn;
    *unit = *buffer;
    return STATUS_OK;
}

void pearson_job_unstage(struct pearson_job *job)
{
    pearson_job_release(job, &job->staging[0]);
    pearson_job_release(job, &job->staging[1]);
}

enum status pearson_job_panel(struct pearson_job *job, size_t rows, size_t width,
                              struct span *panel)
{
    if (job->n_panels == job->panels_capacity) {
        const size_t capacity = 2 * job->panels_capacity + 8;
        struct span *panels = realloc(job->panels, capacity * sizeof *panels);
        if (panels == NULL) {
            return status_fail(STATUS_NO_MEMORY, "no memory for %zu panels", capacity);
        }
        job->panels = panels;
        job->panels_capacity = capacity;
    }
    STATUS_TRY(pearson_job_alloc(job, rows * width, dtype_bytes(job->layout.r_type), panel));
    job->panels[job->n_panels++] = *panel;
    return STATUS_OK;
}
