/*
 * rank_queue - see the header. Calls that do not wait are sent and forgotten: what fails of them,
 * the next one that waits says.
 */
#include "pipeline/engine/rank_queue.h"

#include "pipeline/engine/rank_calls.h"
#include "watch/files/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct rank_queue {
    struct queue base;
    struct backend backend;
    struct ranks *ranks;
    size_t rank;
};

/* A member, as this side knows it. */
struct rank_run {
    void *run;
    struct sciddicat_params p;
    size_t first, last; /* rows that it owns */
};

static const struct backend_ops rank_ops;

/* --- calls ------------------------------------------------------------------------------------ */

static enum status send_call(struct queue *q, struct rank_call call, const void *body)
{
    const struct rank_queue *r = (const struct rank_queue *)q;
    return ranks_write(r->ranks, r->rank, &call, sizeof call, body, call.body);
}

/* Waits for the answer, and for what the call gives. */
static enum status ask(struct queue *q, struct rank_call call, void *to, struct rank_answer *out)
{
    const struct rank_queue *r = (const struct rank_queue *)q;
    STATUS_TRY(send_call(q, call, NULL));
    STATUS_TRY(ranks_read(r->ranks, r->rank, out, sizeof *out));
    if (out->code != STATUS_OK) {
        return status_fail(out->code, "rank %zu: %.*s", r->rank, STATUS_MESSAGE_BYTES / 2,
                           out->message);
    }
    return ranks_read(r->ranks, r->rank, to, call.gives);
}

/* A call that gives so many bytes. */
static enum status fetch(struct queue *q, struct rank_call call, void *to, size_t bytes)
{
    struct rank_answer ignored;
    call.gives = bytes;
    return ask(q, call, to, &ignored);
}

/* One that nobody can do anything about, should it fail. */
static void tell(struct queue *q, struct rank_call call)
{
    const enum status ignored = send_call(q, call, NULL);
    (void)ignored;
}

/* --- memory ----------------------------------------------------------------------------------- */

static enum status far_alloc(struct queue *q, size_t bytes, struct span *out)
{
    struct rank_answer answer;
    *out = (struct span){0};
    STATUS_TRY(ask(q, (struct rank_call){.kind = RANK_CALL_ALLOC, .bytes = bytes}, NULL, &answer));
    *out = answer.span;
    return STATUS_OK;
}

static void far_release(struct queue *q, struct span s)
{
    if (s.at != NULL) {
        tell(q, (struct rank_call){.kind = RANK_CALL_RELEASE, .to = s});
    }
}

static size_t piece_of(size_t bytes)
{
    return bytes < RANK_PIECE_BYTES ? bytes : RANK_PIECE_BYTES;
}

static enum status far_upload(struct queue *q, struct span to, const void *from, size_t bytes,
                              uint64_t *ticket)
{
    *ticket = 0;
    for (size_t at = 0; at < bytes; at += RANK_PIECE_BYTES) {
        const size_t n = piece_of(bytes - at);
        STATUS_TRY(send_call(
            q, (struct rank_call){.kind = RANK_CALL_UPLOAD, .body = n, .to = span_from(to, at)},
            (const char *)from + at));
    }
    return STATUS_OK;
}

static enum status far_upload_wait(struct queue *q, uint64_t ticket)
{
    (void)q, (void)ticket;
    return STATUS_OK;
}

static enum status far_download(struct queue *q, void *to, struct span from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += RANK_PIECE_BYTES) {
        STATUS_TRY(
            fetch(q, (struct rank_call){.kind = RANK_CALL_DOWNLOAD, .from = span_from(from, at)},
                  (char *)to + at, piece_of(bytes - at)));
    }
    return STATUS_OK;
}

static enum status far_copy(struct queue *q, struct span to, struct span from, size_t bytes)
{
    return send_call(
        q, (struct rank_call){.kind = RANK_CALL_COPY, .to = to, .from = from, .bytes = bytes},
        NULL);
}

static enum status far_finish(struct queue *q)
{
    return fetch(q, (struct rank_call){.kind = RANK_CALL_FINISH}, NULL, 0);
}

/* What the other rank is busy with, that rank knows. */
static void far_busy(struct queue *q, struct queue_busy *out, bool reset)
{
    (void)q, (void)reset;
    *out = (struct queue_busy){0};
}

/* --- members ---------------------------------------------------------------------------------- */

static void far_close(struct queue *q, void *run)
{
    struct rank_run *r = run;
    if (r != NULL) {
        tell(q, (struct rank_call){.kind = RANK_CALL_CLOSE, .run = r->run});
        free(r);
    }
}

static enum status far_open(struct queue *q, const struct sciddicat_params *p,
                            const struct sciddicat_input *in, void **out)
{
    struct rank_answer answer;
    *out = NULL;
    STATUS_TRY(
        ask(q, (struct rank_call){.kind = RANK_CALL_OPEN, .p = *p, .in = *in}, NULL, &answer));
    struct rank_run *r = xcalloc(1, sizeof *r);
    *r = (struct rank_run){.run = answer.run, .p = *p, .last = p->rows};
    *out = r;
    return STATUS_OK;
}

/* A call about all rows that it owns. */
static struct rank_call of_run(const struct rank_run *r, enum rank_call_kind kind)
{
    return (struct rank_call){.kind = kind, .run = r->run, .first = r->first, .last = r->last};
}

static enum status far_state(struct queue *q, void *run, double *h, double *max_h, int32_t *arrival)
{
    const struct rank_run *r = run;
    void *const to[RANK_STATES] = {h, max_h, arrival};
    const size_t size[RANK_STATES] = {sizeof *h, sizeof *max_h, sizeof *arrival};
    for (size_t i = 0; i < RANK_STATES; ++i) {
        struct rank_call call = of_run(r, RANK_CALL_STATE);
        call.wanted[i] = true;
        if (to[i] != NULL) {
            STATUS_TRY(fetch(q, call, to[i], (r->last - r->first) * r->p.columns * size[i]));
        }
    }
    return STATUS_OK;
}

static enum status far_own(struct queue *q, void *run, uint64_t step, size_t first, size_t last)
{
    struct rank_run *r = run;
    r->first = first;
    r->last = last;
    struct rank_call call = of_run(r, RANK_CALL_OWN);
    call.step = step;
    return send_call(q, call, NULL);
}

/* Rows [first, last) of some. */
static struct sciddicat_rows rows_of(const struct sciddicat_rows *rows, size_t first, size_t last,
                                     size_t columns)
{
    const size_t at = (first - rows->first) * columns;
    return (struct sciddicat_rows){first, last, rows->h + at, rows->max_h + at, rows->arrival + at};
}

/* The rows' arrays lie apart here. */
static void copy_rows(const struct sciddicat_rows *to, const struct sciddicat_rows *from,
                      size_t cells)
{
    memcpy(to->h, from->h, cells * sizeof *to->h);
    memcpy(to->max_h, from->max_h, cells * sizeof *to->max_h);
    memcpy(to->arrival, from->arrival, cells * sizeof *to->arrival);
}

static enum status move_piece(struct queue *q, const struct rank_run *r, enum rank_call_kind kind,
                              const struct sciddicat_rows *rows)
{
    const size_t cells = (rows->last - rows->first) * r->p.columns, bytes = rank_rows_bytes(cells);
    struct rank_call call = {.kind = kind, .run = r->run, .first = rows->first, .last = rows->last};
    char *piece = malloc(bytes);
    if (piece == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu bytes of rows", bytes);
    }
    const struct sciddicat_rows in = rank_rows_in(piece, rows->first, rows->last, r->p.columns);
    enum status st;
    if (kind == RANK_CALL_GIVE) {
        call.body = bytes;
        copy_rows(&in, rows, cells);
        st = send_call(q, call, piece);
    } else {
        st = fetch(q, call, piece, bytes);
        copy_rows(rows, &in, st == STATUS_OK ? cells : 0);
    }
    free(piece);
    return st;
}

static enum status move_rows(struct queue *q, const struct rank_run *r, enum rank_call_kind kind,
                             const struct sciddicat_rows *rows)
{
    const size_t n = rank_piece_rows(r->p.columns);
    for (size_t row = rows->first; row < rows->last; row += n) {
        const size_t last = rows->last - row < n ? rows->last : row + n;
        const struct sciddicat_rows piece = rows_of(rows, row, last, r->p.columns);
        STATUS_TRY(move_piece(q, r, kind, &piece));
    }
    return STATUS_OK;
}

static enum status far_give(struct queue *q, void *run, const struct sciddicat_rows *rows)
{
    return move_rows(q, run, RANK_CALL_GIVE, rows);
}

static enum status far_take(struct queue *q, void *run, const struct sciddicat_rows *rows)
{
    return move_rows(q, run, RANK_CALL_TAKE, rows);
}

static enum status far_edge(struct queue *q, void *run, size_t first, struct span to)
{
    const struct rank_run *r = run;
    return send_call(
        q, (struct rank_call){.kind = RANK_CALL_EDGE, .run = r->run, .first = first, .to = to},
        NULL);
}

static enum status far_ghost(struct queue *q, void *run, size_t first, struct span from)
{
    const struct rank_run *r = run;
    return send_call(
        q, (struct rank_call){.kind = RANK_CALL_GHOST, .run = r->run, .first = first, .from = from},
        NULL);
}

static enum status far_step(struct queue *q, void *run, unsigned n_steps)
{
    const struct rank_run *r = run;
    return send_call(
        q, (struct rank_call){.kind = RANK_CALL_STEP, .run = r->run, .n_steps = n_steps}, NULL);
}

static enum status far_look(struct queue *q, void *run, uint32_t *busy, bool *moved)
{
    const struct rank_run *r = run;
    struct rank_answer answer;
    struct rank_call call = of_run(r, RANK_CALL_LOOK);
    call.gives = (r->last / SCIDDICAT_GROUP_ROWS - r->first / SCIDDICAT_GROUP_ROWS) * sizeof *busy;
    STATUS_TRY(ask(q, call, busy, &answer));
    *moved = answer.moved;
    return STATUS_OK;
}

static enum status far_figures(struct queue *q, void *run, struct sciddicat_row_figures *out)
{
    const struct rank_run *r = run;
    return fetch(q, of_run(r, RANK_CALL_FIGURES), out, (r->last - r->first) * sizeof *out);
}

/* --- the table -------------------------------------------------------------------------------- */

static void far_queue_free(struct queue *q)
{
    tell(q, (struct rank_call){.kind = RANK_CALL_END});
    free(q);
}

static const struct sciddicat_member_kernels far_member = {.give = far_give,
                                                           .take = far_take,
                                                           .own = far_own,
                                                           .edge = far_edge,
                                                           .ghost = far_ghost,
                                                           .step = far_step,
                                                           .look = far_look,
                                                           .figures = far_figures};

static const struct sciddicat_kernels far_sciddicat = {
    .open = far_open, .close = far_close, .state = far_state, .member = &far_member};

static const struct backend_ops rank_ops = {.name = "rank",
                                            .queue_free = far_queue_free,
                                            .alloc = far_alloc,
                                            .release = far_release,
                                            .upload = far_upload,
                                            .upload_wait = far_upload_wait,
                                            .download = far_download,
                                            .copy = far_copy,
                                            .finish = far_finish,
                                            .busy = far_busy,
                                            .sciddicat = &far_sciddicat};

enum status rank_queue_new(struct ranks *ranks, size_t rank, bool on_cpu, struct queue **out)
{
    struct rank_queue *r = xcalloc(1, sizeof *r);
    *out = NULL;
    r->ranks = ranks;
    r->rank = rank;
    r->backend.ops = &rank_ops;
    r->base.backend = &r->backend;
    const enum status st =
        fetch(&r->base, (struct rank_call){.kind = RANK_CALL_BEGIN, .on_cpu = on_cpu}, NULL, 0);
    if (st != STATUS_OK) {
        far_queue_free(&r->base);
        return st;
    }
    *out = &r->base;
    return STATUS_OK;
}
