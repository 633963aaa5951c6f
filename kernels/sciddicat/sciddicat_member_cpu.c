/*
 * sciddicat_member_cpu - a run of the CPU as a member of several.
 *
 * To its threads the ghost rows are what the rows of another band are: a halo. They lie in the
 * map's own place, so that one thread computes them where they are, and several copy them. The
 * outermost one is read and never computed (cpu_sciddicat_advance).
 */
#include "kernels/base/queue_cpu.h"
#include "kernels/sciddicat/sciddicat_run_cpu.h"

#include <string.h>

void cpu_sciddicat_own(struct cpu_sciddicat_run *r, size_t first, size_t last)
{
    struct sciddicat_band *w = &r->whole;
    w->first = first;
    w->last = last;
    w->n_north = cpu_min(first, SCIDDICAT_GHOST_ROWS);
    w->n_south = cpu_min(r->p.rows - last, SCIDDICAT_GHOST_ROWS);
    w->north = r->rows + first - w->n_north;
    w->south = r->rows + last;
}

static enum status member_own(struct queue *q, void *run, uint64_t step, size_t first, size_t last)
{
    struct cpu_sciddicat_run *r = run;
    (void)q;
    r->step = step;
    cpu_sciddicat_own(r, first, last);
    return STATUS_OK;
}

/* --- rows in and out -------------------------------------------------------------------------- */

struct transfer {
    struct cpu_sciddicat_run *run;
    const struct sciddicat_rows *rows;
    void (*row)(const struct cpu_sciddicat_run *r, struct sciddicat_row *row,
                const struct sciddicat_rows *rows, size_t at);
};

static void transfer_body(void *arg, size_t index)
{
    const struct transfer *t = arg;
    const size_t n = cpu_sciddicat_task_rows(t->run), first = t->rows->first + index * n;
    const size_t end = cpu_min(first + n, t->rows->last);
    for (size_t i = first; i < end; ++i) {
        t->row(t->run, &t->run->rows[i], t->rows, (i - t->rows->first) * t->run->p.columns);
    }
}

static void transfer(struct queue *q, struct transfer t)
{
    const size_t rows = t.rows->last - t.rows->first;
    cpu_run(q, cpu_pieces(rows, cpu_sciddicat_task_rows(t.run)), transfer_body, &t);
}

/* Which cells emit in the next step. */
static void find_active(const struct cpu_sciddicat_run *r, struct sciddicat_row *row)
{
    const size_t n = cpu_pieces(r->p.columns, SEGMENT);
    for (size_t s = 0; s < n; ++s) {
        unsigned bits = 0;
        for (size_t j = 0; j < SEGMENT; ++j) {
            bits |= (unsigned)(row->h[s * SEGMENT + j] > r->p.epsilon) << j;
        }
        row->active[s] = (uint8_t)(bits & row->live[s]);
    }
    sciddicat_row_survey(row, 0, (uint32_t)n);
}

static void give_row(const struct cpu_sciddicat_run *r, struct sciddicat_row *row,
                     const struct sciddicat_rows *rows, size_t at)
{
    const size_t columns = r->p.columns;
    memcpy(row->h, rows->h + at, columns * sizeof *row->h);
    memcpy(row->max_h, rows->max_h + at, columns * sizeof *row->max_h);
    memcpy(row->arrival, rows->arrival + at, columns * sizeof *row->arrival);
    find_active(r, row);
    row->touched = true;
}

static enum status member_give(struct queue *q, void *run, const struct sciddicat_rows *rows)
{
    transfer(q, (struct transfer){run, rows, give_row});
    return STATUS_OK;
}

static void take_row(const struct cpu_sciddicat_run *r, struct sciddicat_row *row,
                     const struct sciddicat_rows *rows, size_t at)
{
    const size_t columns = r->p.columns;
    memcpy(rows->h + at, row->h, columns * sizeof *row->h);
    memcpy(rows->max_h + at, row->max_h, columns * sizeof *row->max_h);
    memcpy(rows->arrival + at, row->arrival, columns * sizeof *row->arrival);
}

static enum status member_take(struct queue *q, void *run, const struct sciddicat_rows *rows)
{
    transfer(q, (struct transfer){run, rows, take_row});
    return STATUS_OK;
}

/* --- rows at a cut ---------------------------------------------------------------------------- */

/* Calls the function for SCIDDICAT_GHOST_ROWS rows and a span of their h. */
static enum status transfer_h(struct queue *q, struct transfer t, size_t first, struct span h)
{
    const size_t n = SCIDDICAT_GHOST_ROWS * t.run->p.columns;
    STATUS_TRY(cpu_expect(h, n, sizeof(double), "rows at a cut"));
    const struct sciddicat_rows rows = {
        .first = first, .last = first + SCIDDICAT_GHOST_ROWS, .h = h.at};
    t.rows = &rows;
    transfer(q, t);
    return STATUS_OK;
}

static void edge_row(const struct cpu_sciddicat_run *r, struct sciddicat_row *row,
                     const struct sciddicat_rows *rows, size_t at)
{
    memcpy(rows->h + at, row->h, r->p.columns * sizeof *row->h);
}

static enum status member_edge(struct queue *q, void *run, size_t first, struct span to)
{
    return transfer_h(q, (struct transfer){.run = run, .row = edge_row}, first, to);
}

static void ghost_row(const struct cpu_sciddicat_run *r, struct sciddicat_row *row,
                      const struct sciddicat_rows *rows, size_t at)
{
    memcpy(row->h, rows->h + at, r->p.columns * sizeof *row->h);
    find_active(r, row);
}

static enum status member_ghost(struct queue *q, void *run, size_t first, struct span from)
{
    return transfer_h(q, (struct transfer){.run = run, .row = ghost_row}, first, from);
}

/* --- steps ------------------------------------------------------------------------------------ */

static enum status member_step(struct queue *q, void *run, unsigned n_steps)
{
    if (n_steps > SCIDDICAT_GHOST_STEPS) {
        return status_fail(STATUS_INTERNAL, "%u steps with ghost rows for %d", n_steps,
                           SCIDDICAT_GHOST_STEPS);
    }
    cpu_sciddicat_advance(q, run, n_steps);
    return queue_check(q);
}

static enum status member_look(struct queue *q, void *run, uint32_t *busy, bool *moved)
{
    (void)q;
    const struct cpu_sciddicat_run *r = run;
    const size_t rows = r->p.rows, first = r->whole.first / SCIDDICAT_GROUP_ROWS;
    for (size_t i = r->whole.first, g = first; i < r->whole.last; ++g) {
        uint32_t n = 0;
        for (const size_t end = sciddicat_group_row(g + 1, rows); i < end; ++i) {
            n += r->rows[i].n_busy;
        }
        busy[g - first] = n;
    }
    *moved = r->moved;
    return STATUS_OK;
}

static enum status member_figures(struct queue *q, void *run, struct sciddicat_row_figures *out)
{
    struct cpu_sciddicat_run *r = run;
    cpu_sciddicat_figures(q, r);
    memcpy(out, r->figures + r->whole.first, (r->whole.last - r->whole.first) * sizeof *out);
    return STATUS_OK;
}

const struct sciddicat_member_kernels cpu_sciddicat_member = {.give = member_give,
                                                              .take = member_take,
                                                              .own = member_own,
                                                              .edge = member_edge,
                                                              .ghost = member_ghost,
                                                              .step = member_step,
                                                              .look = member_look,
                                                              .figures = member_figures};
