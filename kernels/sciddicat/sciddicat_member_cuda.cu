/*
 * sciddicat_member_cuda - a run of the device as a member of several.
 *
 * It steps by lists of tiles (cuda_sciddicat_sweep), of which none lies beyond the ghost rows: they
 * are a row of tiles on either side, and there are no cells elsewhere. So the outermost of them go
 * wrong, two more with every step, as the contract has it. New ones are set in both copies of h.
 */
#include "kernels/sciddicat/sciddicat_run_cuda.h"

#include <stdlib.h>
#include <string.h>

static_assert((int)SCIDDICAT_GHOST_ROWS == SCIDDICAT_TILE, "ghost rows are a row of tiles");

namespace
{

/* --- rows in and out -------------------------------------------------------------------------- */

enum status set_cells(struct queue *queue, void *to, const void *from, size_t bytes)
{
    uint64_t ticket = 0;
    STATUS_TRY(cuda_upload(queue, {to, bytes}, from, bytes, &ticket));
    return cuda_upload_wait(queue, ticket);
}

enum status member_give(struct queue *queue, void *run, const struct sciddicat_rows *rows)
{
    const struct cuda_sciddicat_run *r = (const struct cuda_sciddicat_run *)run;
    const size_t first = rows->first * r->p.columns, n = rows->last * r->p.columns - first;
    STATUS_TRY(set_cells(queue, cuda_sciddicat_present(r) + first, rows->h, n * sizeof *rows->h));
    STATUS_TRY(set_cells(queue, r->map.max_h + first, rows->max_h, n * sizeof *rows->max_h));
    return set_cells(queue, r->map.arrival + first, rows->arrival, n * sizeof *rows->arrival);
}

enum status member_take(struct queue *queue, void *run, const struct sciddicat_rows *rows)
{
    const struct cuda_sciddicat_run *r = (const struct cuda_sciddicat_run *)run;
    struct cuda_queue *q = cuda_queue_of(queue);
    const size_t first = rows->first * r->p.columns, n = rows->last * r->p.columns - first;
    STATUS_TRY(cuda_read_back(q, rows->h, cuda_sciddicat_present(r) + first, n * sizeof *rows->h));
    STATUS_TRY(cuda_read_back(q, rows->max_h, r->map.max_h + first, n * sizeof *rows->max_h));
    return cuda_read_back(q, rows->arrival, r->map.arrival + first, n * sizeof *rows->arrival);
}

/* Of a run that owns the map, and has not stepped yet: a cluster may make the next steps. */
enum status resume_alone(struct queue *queue, struct cuda_sciddicat_run *r, uint64_t step)
{
    const struct sciddicat_progress progress = {step, 0};
    STATUS_TRY(set_cells(queue, r->map.progress, &progress, sizeof progress));
    cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                   {queue_writes(r->memory.at, r->memory.bytes)});
    STATUS_TRY(work.status);
    r->step = step;
    STATUS_TRY(cuda_sciddicat_find_hot(r, work.stream));
    return work.done();
}

enum status member_own(struct queue *queue, void *run, uint64_t step, size_t first, size_t last)
{
    struct cuda_sciddicat_run *r = (struct cuda_sciddicat_run *)run;
    if (first == 0 && last == r->p.rows && !r->sweeping) {
        return resume_alone(queue, r, step);
    }
    cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                   {queue_writes(r->memory.at, r->memory.bytes)});
    STATUS_TRY(work.status);
    cuda_sciddicat_own(r, first, last);
    STATUS_TRY(cuda_sciddicat_find_hot(r, work.stream));
    STATUS_TRY(cuda_sciddicat_begin_lists(r, step, work.stream));
    return work.done();
}

/* --- rows at a cut ---------------------------------------------------------------------------- */

enum status member_edge(struct queue *queue, void *run, size_t first, struct span to)
{
    const struct cuda_sciddicat_run *r = (const struct cuda_sciddicat_run *)run;
    const double *from = cuda_sciddicat_present(r) + first * r->p.columns;
    const size_t n = SCIDDICAT_GHOST_ROWS * r->p.columns, bytes = n * sizeof *from;
    STATUS_TRY(cuda_expect(to, n, sizeof *from, "rows at a cut"));
    return cuda_copy(queue, to, {(void *)from, bytes}, bytes);
}

enum status member_ghost(struct queue *queue, void *run, size_t first, struct span from)
{
    struct cuda_sciddicat_run *r = (struct cuda_sciddicat_run *)run;
    const size_t n = SCIDDICAT_GHOST_ROWS * r->p.columns;
    STATUS_TRY(cuda_expect(from, n, sizeof(double), "rows at a cut"));
    cuda_work work(
        cuda_queue_of(queue), STREAM_COMPUTE,
        {queue_writes(r->memory.at, r->memory.bytes), queue_reads(from.at, n * sizeof(double))});
    STATUS_TRY(work.status);
    STATUS_TRY(cuda_sciddicat_ghost(&r->map, &r->lists, r->h, first, (const double *)from.at,
                                    r->step, work.stream));
    return work.done();
}

/* --- steps ------------------------------------------------------------------------------------ */

enum status member_step(struct queue *queue, void *run, unsigned n_steps)
{
    struct cuda_sciddicat_run *r = (struct cuda_sciddicat_run *)run;
    struct cuda_queue *q = cuda_queue_of(queue);
    if (n_steps > SCIDDICAT_GHOST_STEPS) {
        return status_fail(STATUS_INTERNAL, "%u steps with ghost rows for %d", n_steps,
                           SCIDDICAT_GHOST_STEPS);
    }
    cuda_work work(q, STREAM_COMPUTE, {queue_writes(r->memory.at, r->memory.bytes)});
    STATUS_TRY(work.status);
    STATUS_TRY(cuda_sciddicat_steps(q->backend, r, n_steps, work.stream));
    return work.done();
}

enum status launch_look(struct cuda_queue *q, struct cuda_sciddicat_run *r)
{
    cuda_work work(q, STREAM_COMPUTE, {queue_writes(r->memory.at, r->memory.bytes)});
    STATUS_TRY(work.status);
    STATUS_TRY(cuda_sciddicat_busy(&r->map, r->sweeping ? &r->lists : nullptr, r->step, r->busy,
                                   work.stream));
    return work.done();
}

/* Tiles that are listed hold all cells that can emit; before there are lists, the hot ones do. */
enum status member_look(struct queue *queue, void *run, uint32_t *busy, bool *moved)
{
    struct cuda_sciddicat_run *r = (struct cuda_sciddicat_run *)run;
    struct cuda_queue *q = cuda_queue_of(queue);
    const size_t n = cuda_max((r->last - r->first) / SCIDDICAT_GROUP_ROWS, 1);
    uint32_t *all = (uint32_t *)malloc((1 + n) * sizeof *all);
    if (all == nullptr) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu numbers of busy tiles", n);
    }
    enum status status = launch_look(q, r);
    if (status == STATUS_OK) {
        status = cuda_read_back(q, all, r->busy, (1 + n) * sizeof *all);
    }
    if (status == STATUS_OK) {
        *moved = all[0] != 0;
        memcpy(busy, all + 1, n * sizeof *busy);
    }
    free(all);
    return status;
}

enum status member_figures(struct queue *queue, void *run, struct sciddicat_row_figures *out)
{
    struct cuda_sciddicat_run *r = (struct cuda_sciddicat_run *)run;
    struct cuda_queue *q = cuda_queue_of(queue);
    {
        cuda_work work(q, STREAM_COMPUTE, {queue_writes(r->memory.at, r->memory.bytes)});
        STATUS_TRY(work.status);
        STATUS_TRY(cuda_sciddicat_figures(r, work.stream));
        STATUS_TRY(work.done());
    }
    return cuda_read_back(q, out, r->figures + r->first, (r->last - r->first) * sizeof *out);
}

} // namespace

const struct sciddicat_member_kernels cuda_sciddicat_member = {.give = member_give,
                                                               .take = member_take,
                                                               .own = member_own,
                                                               .edge = member_edge,
                                                               .ghost = member_ghost,
                                                               .step = member_step,
                                                               .look = member_look,
                                                               .figures = member_figures};
