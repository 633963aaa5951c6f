/*
 * bands - see the header.
 *
 * A round: members hand out the rows at the cuts, which are copied from queue to queue, take in
 * those beside, and make up to eight steps; then each says how busy its groups of sixteen rows are.
 * From that follows where the map is cut. Rows that change their owner travel through host memory,
 * and so do those at the cuts where the queues are of two tables, or of one that cannot copy
 * between them.
 *
 * Debris comes one row further a step. Where neither group at a cut can emit, it is eight rows away
 * from the cut after a round, and reaches it at the end of the next one. So that round needs no new
 * copies of these rows; the one after it gets them, unless the groups are still at rest.
 */
#include "kernels/sciddicat/bands.h"

#include "formats/base/sizes.h"
#include "kernels/sciddicat/bands_cut.h"
#include "kernels/sciddicat/sciddicat_carver.h"
#include "kernels/sciddicat/sciddicat_figures.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, PIECE_BYTES = 1 << 22 /* in which rows move to another owner */ };

struct member {
    struct queue *queue;
    void *run;
    bool moved;         /* in the last step */
    enum status status; /* of the phase that is being done */
    char message[STATUS_MESSAGE_BYTES];
};

/* Between two members: rows of each that are ghost rows of the other. */
struct cut {
    struct span north[2], south[2]; /* of it: on the member that owns them, on the other one */
    bool is_due;                    /* they go to the other before the next steps */
    bool is_quiet;                  /* and need not before those after them */
};

struct bands {
    struct sciddicat_params p;
    struct executor executor;
    struct backend *home;
    size_t n, n_groups;
    struct member members[BANDS_MOST];
    size_t *first, *next; /* groups at which bands begin; n_groups at the end */
    struct cut *cuts;     /* k: between members k and k + 1 */
    uint32_t *busy;       /* a group */
    struct sciddicat_row_figures *figures;
    struct sciddicat_rows piece;
    size_t piece_rows;
    double *edge; /* rows at a cut, on their way through host memory */
    void *memory;
    uint64_t step;
    const struct bands_input *input; /* while members are opened: */
    size_t n_before;                 /* those that have been there */
    unsigned n_steps;                /* of the round */
    bool moved;
    struct bands_info info;
};

static const struct backend_ops *ops_of(const struct queue *q)
{
    return q->backend->ops;
}

static const struct sciddicat_kernels *kernels(const struct member *m)
{
    return ops_of(m->queue)->sciddicat;
}

static const struct sciddicat_member_kernels *as_member(const struct member *m)
{
    return kernels(m)->member;
}

/* The first row of band k; that after the last of band k - 1. Also of one member. */
static size_t row_of(const struct bands *b, size_t k)
{
    return k == 0 ? 0 : k == b->n ? b->p.rows : sciddicat_group_row(b->first[k], b->p.rows);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void carve_all(struct carver *c, struct bands *b)
{
    const size_t columns = b->p.columns;
    const size_t row_bytes = columns * (2 * sizeof *b->piece.h + sizeof *b->piece.arrival);
    b->n_groups = sciddicat_n_groups(b->p.rows);
    b->piece_rows = 1 + PIECE_BYTES / (row_bytes + 1);
    b->first = carve(c, b->n + 1, sizeof *b->first);
    b->next = carve(c, b->n + 1, sizeof *b->next);
    b->busy = carve(c, b->n_groups, sizeof *b->busy);
    b->figures = carve(c, b->p.rows, sizeof *b->figures);
    b->piece.h = carve(c, b->piece_rows * columns, sizeof *b->piece.h);
    b->piece.max_h = carve(c, b->piece_rows * columns, sizeof *b->piece.max_h);
    b->piece.arrival = carve(c, b->piece_rows * columns, sizeof *b->piece.arrival);
    b->edge = carve(c, SCIDDICAT_GHOST_ROWS * columns, sizeof *b->edge);
    b->cuts = carve(c, b->n - 1, sizeof *b->cuts);
}

static size_t shared_bytes(const struct sciddicat_params *p, size_t n_members)
{
    struct bands b = {.p = *p, .n = n_members};
    struct carver c = {.align = ALIGN};
    carve_all(&c, &b);
    return carver_bytes(&c);
}

/* Twice: as more members come, there is what fewer have had, too. */
size_t bands_bytes(const struct sciddicat_params *p, size_t n_members)
{
    size_t cells;
    if (n_members < 2 || sciddicat_count_cells(p, &cells) != STATUS_OK) {
        return 0;
    }
    return 2 * shared_bytes(p, n_members);
}

static enum status carve_host(struct bands *b)
{
    struct carver c = {.align = ALIGN};
    STATUS_TRY(b->home->ops->host_alloc(b->home, shared_bytes(&b->p, b->n), &b->memory));
    c.at = b->memory;
    carve_all(&c, b);
    for (size_t k = 0; k + 1 < b->n; ++k) {
        b->cuts[k] = (struct cut){.is_quiet = true};
    }
    return STATUS_OK;
}

static size_t edge_bytes(const struct sciddicat_params *p)
{
    return SCIDDICAT_GHOST_ROWS * p->columns * sizeof(double);
}

size_t bands_helper_bytes(const struct queue *home, const struct sciddicat_params *p)
{
    const size_t given = p->rows * p->columns * (2 * sizeof(double) + 1);
    const size_t run = home->backend->ops->sciddicat->bytes(p);
    const size_t edges = 4 * edge_bytes(p);
    return run > SIZE_MAX - given - edges ? SIZE_MAX : run + given + edges;
}

static enum status alloc_edges(struct bands *b)
{
    const size_t bytes = edge_bytes(&b->p);
    for (size_t k = 0; k + 1 < b->n; ++k) {
        struct queue *north = b->members[k].queue, *south = b->members[k + 1].queue;
        struct cut *c = &b->cuts[k];
        STATUS_TRY(ops_of(north)->alloc(north, bytes, &c->north[0]));
        STATUS_TRY(ops_of(south)->alloc(south, bytes, &c->north[1]));
        STATUS_TRY(ops_of(south)->alloc(south, bytes, &c->south[0]));
        STATUS_TRY(ops_of(north)->alloc(north, bytes, &c->south[1]));
    }
    return STATUS_OK;
}

static void release_edges(struct bands *b)
{
    for (size_t k = 0; b->cuts != NULL && k + 1 < b->n; ++k) {
        struct queue *north = b->members[k].queue, *south = b->members[k + 1].queue;
        ops_of(north)->release(north, b->cuts[k].north[0]);
        ops_of(south)->release(south, b->cuts[k].north[1]);
        ops_of(south)->release(south, b->cuts[k].south[0]);
        ops_of(north)->release(north, b->cuts[k].south[1]);
    }
}

/* --- phases ----------------------------------------------------------------------------------- */

struct phase {
    struct bands *bands;
    enum status (*body)(struct bands *b, size_t k);
};

/* The first member's comes last: where one thread does all, the steps of the others, whose calls
 * may return before they are made, go on beside its own. */
static void phase_body(void *arg, size_t index)
{
    const struct phase *phase = arg;
    const size_t k = phase->bands->n - 1 - index;
    struct member *m = &phase->bands->members[k];
    m->status = phase->body(phase->bands, k);
    if (m->status != STATUS_OK) {
        memcpy(m->message, status_message(), strlen(status_message()) + 1);
    }
}

/* Calls the body for every member, at the same time where the executor can. */
static enum status run_phase(struct bands *b, enum status (*body)(struct bands *b, size_t k))
{
    struct phase phase = {b, body};
    executor_run(&b->executor, b->n, phase_body, &phase);
    for (size_t k = 0; k < b->n; ++k) {
        const struct member *m = &b->members[k];
        if (m->status != STATUS_OK) {
            return status_set(m->status, m->message);
        }
    }
    return STATUS_OK;
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* Which rows go to the member beside. */
static void plan_cuts(struct bands *b)
{
    for (size_t k = 0; k + 1 < b->n; ++k) {
        struct cut *c = &b->cuts[k];
        const size_t south = b->first[k + 1];
        c->is_due = !c->is_quiet;
        c->is_quiet = b->busy[south - 1] == 0 && b->busy[south] == 0;
        b->info.n_exchanges += c->is_due ? 1 : 0;
        b->info.n_quiet += c->is_due ? 0 : 1;
    }
}

/* The cut to the north of member k, or to its south, if rows are due there; or NULL. */
static const struct cut *due_north(const struct bands *b, size_t k)
{
    return k > 0 && b->cuts[k - 1].is_due ? &b->cuts[k - 1] : NULL;
}

static const struct cut *due_south(const struct bands *b, size_t k)
{
    return k + 1 < b->n && b->cuts[k].is_due ? &b->cuts[k] : NULL;
}

static enum status hand_out(struct bands *b, size_t k)
{
    const struct member *m = &b->members[k];
    const struct cut *north = due_north(b, k), *south = due_south(b, k);
    if (north != NULL) {
        STATUS_TRY(as_member(m)->edge(m->queue, m->run, row_of(b, k), north->south[0]));
    }
    if (south != NULL) {
        STATUS_TRY(as_member(m)->edge(m->queue, m->run, row_of(b, k + 1) - SCIDDICAT_GHOST_ROWS,
                                      south->north[0]));
    }
    return STATUS_OK;
}

/* Rows at a cut, to the member beside. */
static enum status copy_edge(const struct bands *b, struct queue *to_q, struct span to,
                             struct queue *from_q, struct span from, size_t bytes)
{
    const struct backend_ops *ops = ops_of(to_q);
    uint64_t ticket;
    if (ops->copy_across != NULL && ops->copy_across == ops_of(from_q)->copy_across) {
        return ops->copy_across(to_q, to, from_q, from, bytes);
    }
    STATUS_TRY(ops_of(from_q)->download(from_q, b->edge, from, bytes));
    STATUS_TRY(ops->upload(to_q, to, b->edge, bytes, &ticket));
    return ops->upload_wait(to_q, ticket);
}

/* By one thread: a copy is in the order of two queues. */
static enum status copy_edges(const struct bands *b)
{
    const size_t bytes = edge_bytes(&b->p);
    for (size_t k = 0; k + 1 < b->n; ++k) {
        struct queue *north = b->members[k].queue, *south = b->members[k + 1].queue;
        const struct cut *c = due_south(b, k);
        if (c != NULL) {
            STATUS_TRY(copy_edge(b, south, c->north[1], north, c->north[0], bytes));
            STATUS_TRY(copy_edge(b, north, c->south[1], south, c->south[0], bytes));
        }
    }
    return STATUS_OK;
}

static enum status take_in_and_step(struct bands *b, size_t k)
{
    const struct member *m = &b->members[k];
    const struct cut *north = due_north(b, k), *south = due_south(b, k);
    if (north != NULL) {
        STATUS_TRY(as_member(m)->ghost(m->queue, m->run, row_of(b, k) - SCIDDICAT_GHOST_ROWS,
                                       north->north[1]));
    }
    if (south != NULL) {
        STATUS_TRY(as_member(m)->ghost(m->queue, m->run, row_of(b, k + 1), south->south[1]));
    }
    return as_member(m)->step(m->queue, m->run, b->n_steps);
}

/* Not with the steps: where there are fewer threads than members, all of them step at once. */
static enum status look(struct bands *b, size_t k)
{
    struct member *m = &b->members[k];
    return as_member(m)->look(m->queue, m->run, b->busy + b->first[k], &m->moved);
}

/* --- cuts ------------------------------------------------------------------------------------- */

/* Rows [first, last) from one member to another. */
static enum status move_rows(struct bands *b, size_t from, size_t to, size_t first, size_t last)
{
    const struct member *old = &b->members[from], *new = &b->members[to];
    for (size_t i = first; i < last; i += b->piece_rows) {
        b->piece.first = i;
        b->piece.last = last - i < b->piece_rows ? last : i + b->piece_rows;
        STATUS_TRY(as_member(old)->take(old->queue, old->run, &b->piece));
        STATUS_TRY(as_member(new)->give(new->queue, new->run, &b->piece));
    }
    return STATUS_OK;
}

/* Band k of next[] gets its rows from those who own them. */
static enum status fetch_band(struct bands *b, size_t k)
{
    for (size_t from = 0; from < b->n; ++from) {
        const size_t first = greater(b->first[from], b->next[k]),
                     last = lesser(b->first[from + 1], b->next[k + 1]);
        if (from != k && first < last) {
            STATUS_TRY(move_rows(b, from, k, sciddicat_group_row(first, b->p.rows),
                                 sciddicat_group_row(last, b->p.rows)));
        }
    }
    return STATUS_OK;
}

/* Bands become those of next[]; all members have what they need of them. */
static enum status own_bands(struct bands *b)
{
    memcpy(b->first, b->next, (b->n + 1) * sizeof *b->first);
    b->info.n_cuts++;
    for (size_t k = 0; k < b->n; ++k) {
        const struct member *m = &b->members[k];
        STATUS_TRY(as_member(m)->own(m->queue, m->run, b->step, row_of(b, k), row_of(b, k + 1)));
    }
    return STATUS_OK;
}

/* The same when they have to get it from each other. */
static enum status move_bands(struct bands *b)
{
    for (size_t k = 0; k < b->n; ++k) {
        STATUS_TRY(fetch_band(b, k));
    }
    for (size_t k = 0; k + 1 < b->n; ++k) {
        b->cuts[k].is_quiet = false;
    }
    return own_bands(b);
}

/* Where the busiest member has a quarter more to do than it would have after a new cut. */
static enum status cut_again(struct bands *b)
{
    uint64_t all;
    const uint64_t now = bands_cut_busiest(b->busy, b->first, b->n, &all);
    if (4 * now * b->n <= 5 * all ||
        4 * now <= 5 * bands_cut(b->busy, b->n_groups, b->n, b->next)) {
        return STATUS_OK;
    }
    return move_bands(b);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static enum status upload(struct queue *q, const void *from, size_t bytes, struct span *out)
{
    uint64_t ticket;
    const struct backend_ops *ops = q->backend->ops;
    if (from == NULL) {
        return STATUS_OK;
    }
    STATUS_TRY(ops->alloc(q, bytes, out));
    STATUS_TRY(ops->upload(q, *out, from, bytes, &ticket));
    return ops->upload_wait(q, ticket);
}

enum status bands_upload(struct queue *q, const struct sciddicat_params *p,
                         const struct bands_input *from, struct sciddicat_input *out)
{
    const size_t cells = p->rows * p->columns;
    *out = (struct sciddicat_input){.z = {0}};
    STATUS_TRY(upload(q, from->z, cells * sizeof *from->z, &out->z));
    STATUS_TRY(upload(q, from->h, cells * sizeof *from->h, &out->h));
    return upload(q, from->nodata, cells, &out->nodata);
}

void bands_release(struct queue *q, const struct sciddicat_input *in)
{
    const struct backend_ops *ops = q->backend->ops;
    ops->release(q, in->z);
    ops->release(q, in->h);
    ops->release(q, in->nodata);
}

static enum status open_member(const struct sciddicat_params *p, const struct bands_input *from,
                               struct member *m)
{
    struct sciddicat_input in;
    enum status st = bands_upload(m->queue, p, from, &in);
    if (st == STATUS_OK) {
        st = kernels(m)->open(m->queue, p, &in, &m->run);
    }
    bands_release(m->queue, &in);
    return st;
}

enum status bands_open(const struct bands_config *c, const struct sciddicat_params *p,
                       const struct bands_input *in, struct bands **out)
{
    size_t cells;
    *out = NULL;
    STATUS_TRY(sciddicat_count_cells(p, &cells));
    struct bands *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a landslide");
    }
    b->p = *p;
    b->executor = c->executor;
    b->home = c->home->backend;
    b->n = 1;
    b->members[0].queue = c->home;
    const enum status st = open_member(p, in, &b->members[0]);
    if (st != STATUS_OK) {
        bands_close(b);
        return st;
    }
    *out = b;
    return STATUS_OK;
}

static void close_members(struct bands *b, size_t first)
{
    for (size_t k = first; k < b->n; ++k) {
        struct member *m = &b->members[k];
        if (m->run != NULL) {
            kernels(m)->close(m->queue, m->run);
        }
    }
}

/* What all members have together. */
static void free_shared(struct bands *b)
{
    release_edges(b);
    b->home->ops->host_free(b->home, b->memory);
    b->memory = NULL;
    b->cuts = NULL;
}

void bands_close(struct bands *b)
{
    if (b != NULL) {
        free_shared(b);
        close_members(b, 0);
        free(b);
    }
}

/* --- more members ----------------------------------------------------------------------------- */

/* How many members there can be at most. */
static size_t most_members(const struct bands *b)
{
    return lesser(sciddicat_n_groups(b->p.rows), BANDS_MOST);
}

static enum status open_helper(struct bands *b, size_t k)
{
    return k < b->n_before ? STATUS_OK : open_member(&b->p, b->input, &b->members[k]);
}

static void drop_unopened(struct bands *b)
{
    size_t n = b->n_before;
    for (size_t k = n; k < b->n; ++k) {
        if (b->members[k].status == STATUS_OK) {
            b->members[n++] = b->members[k];
        }
    }
    b->n = n;
}

/* Rows go to the other side of a cut, and come back. */
static enum status prove_copies(const struct bands *b, const struct cut *c, size_t k)
{
    enum { BYTES = 64 }; /* of rows; there are more */
    struct queue *north = b->members[k].queue, *south = b->members[k + 1].queue;
    unsigned char sent[BYTES], back[BYTES] = {0};
    uint64_t ticket;
    for (size_t i = 0; i < BYTES; ++i) {
        sent[i] = (unsigned char)(i + 37 * k + 1);
    }
    STATUS_TRY(ops_of(north)->upload(north, c->north[0], sent, BYTES, &ticket));
    STATUS_TRY(ops_of(north)->upload_wait(north, ticket));
    STATUS_TRY(copy_edge(b, south, c->north[1], north, c->north[0], BYTES));
    STATUS_TRY(ops_of(south)->copy(south, c->south[0], c->north[1], BYTES));
    STATUS_TRY(copy_edge(b, north, c->south[1], south, c->south[0], BYTES));
    STATUS_TRY(ops_of(north)->download(north, back, c->south[1], BYTES));
    return memcmp(sent, back, BYTES) == 0
               ? STATUS_OK
               : status_fail(STATUS_DEVICE, "what one device copies to another does not come back "
                                            "as it was");
}

/* Members besides those that have been there, which have nothing yet but the start. */
static enum status open_helpers(struct bands *b)
{
    const enum status st = run_phase(b, open_helper);
    drop_unopened(b);
    if (b->n == b->n_before) {
        return st;
    }
    STATUS_TRY(carve_host(b));
    STATUS_TRY(alloc_edges(b));
    for (size_t k = 0; k + 1 < b->n; ++k) {
        STATUS_TRY(prove_copies(b, &b->cuts[k], k));
    }
    return STATUS_OK;
}

/* The first cut into so many bands. Those that have come own nothing; at the start all members have
 * all rows. */
static enum status share_out(struct bands *b, const struct bands *before)
{
    const struct member *home = &b->members[0];
    bool ignored;
    if (before->n == 1) {
        STATUS_TRY(as_member(home)->look(home->queue, home->run, b->busy, &ignored));
    } else {
        memcpy(b->busy, before->busy, b->n_groups * sizeof *b->busy);
    }
    (void)bands_cut(b->busy, b->n_groups, b->n, b->next);
    for (size_t k = 0; k <= b->n; ++k) {
        b->first[k] = k == 0 ? 0 : k < before->n ? before->first[k] : b->n_groups;
    }
    return b->step > 0 ? move_bands(b) : own_bands(b);
}

/* `before`: as the members have been, who go on as they were where no other can be opened. */
static enum status add_members(struct bands *b, struct bands *before, struct queue **queues,
                               size_t *n_queues)
{
    const size_t n = *n_queues;
    *n_queues = 0;
    b->memory = NULL;
    b->cuts = NULL;
    b->n_before = before->n;
    b->n = before->n + n;
    for (size_t k = 0; k < n; ++k) {
        b->members[before->n + k] = (struct member){.queue = queues[k]};
    }
    enum status st = open_helpers(b);
    if (st != STATUS_OK) {
        free_shared(b);
        close_members(b, before->n);
        *b = *before;
        return st;
    }
    *n_queues = b->n - before->n;
    for (size_t k = before->n; k < b->n; ++k) {
        queues[k - before->n] = b->members[k].queue;
    }
    st = share_out(b, before);
    free_shared(before);
    return st;
}

enum status bands_spread(struct bands *b, struct queue **queues, size_t *n_queues,
                         const struct bands_input *in)
{
    *n_queues = lesser(*n_queues, most_members(b) - b->n);
    if (*n_queues == 0) {
        return STATUS_OK;
    }
    struct bands *before = malloc(sizeof *before);
    if (before == NULL) {
        *n_queues = 0;
        return status_fail(STATUS_NO_MEMORY, "no memory for more members of a landslide");
    }
    b->input = in;
    *before = *b;
    const enum status st = add_members(b, before, queues, n_queues);
    free(before);
    return st;
}

/* Of a single member. */
static enum status look_at_home(const struct bands *b, uint64_t *out)
{
    const struct member *home = &b->members[0];
    const size_t n = sciddicat_n_groups(b->p.rows);
    bool ignored;
    uint32_t *busy = calloc(n, sizeof *busy);
    if (busy == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for what %zu groups of rows do", n);
    }
    const enum status st = as_member(home)->look(home->queue, home->run, busy, &ignored);
    for (size_t g = 0; g < n; ++g) {
        *out += busy[g];
    }
    free(busy);
    return st;
}

enum status bands_busy(struct bands *b, uint64_t *out)
{
    *out = 0;
    if (b->n == most_members(b)) {
        return STATUS_OK;
    }
    if (b->n == 1) {
        return look_at_home(b, out);
    }
    for (size_t g = 0; g < b->n_groups; ++g) {
        *out += b->busy[g];
    }
    return STATUS_OK;
}

/* --- steps and reports ------------------------------------------------------------------------ */

static enum status make_round(struct bands *b)
{
    STATUS_TRY(cut_again(b));
    plan_cuts(b);
    STATUS_TRY(run_phase(b, hand_out));
    STATUS_TRY(copy_edges(b));
    STATUS_TRY(run_phase(b, take_in_and_step));
    STATUS_TRY(run_phase(b, look));
    b->moved = false;
    for (size_t k = 0; k < b->n; ++k) {
        b->moved |= b->members[k].moved;
    }
    b->step += b->n_steps;
    return STATUS_OK;
}

static enum status report(struct bands *b, struct sciddicat_report *out)
{
    for (size_t k = 0; k < b->n; ++k) {
        const struct member *m = &b->members[k];
        STATUS_TRY(as_member(m)->figures(m->queue, m->run, b->figures + row_of(b, k)));
    }
    *out = (struct sciddicat_report){.step = b->step, .moved = b->moved};
    sciddicat_figures_of_map(b->figures, b->p.rows, out);
    return STATUS_OK;
}

enum status bands_advance(struct bands *b, uint64_t n_steps, struct sciddicat_report *out)
{
    const struct member *home = &b->members[0];
    if (b->n == 1) {
        STATUS_TRY(kernels(home)->advance(home->queue, home->run, n_steps, out));
        b->step = out->step;
        b->moved = out->moved;
        return STATUS_OK;
    }
    while (n_steps > 0) {
        b->n_steps = n_steps < SCIDDICAT_GHOST_STEPS ? (unsigned)n_steps : SCIDDICAT_GHOST_STEPS;
        STATUS_TRY(make_round(b));
        n_steps -= b->n_steps;
    }
    return report(b, out);
}

enum status bands_state(struct bands *b, double *h, double *max_h, int32_t *arrival)
{
    for (size_t k = 0; k < b->n; ++k) {
        const struct member *m = &b->members[k];
        const size_t at = row_of(b, k) * b->p.columns;
        STATUS_TRY(kernels(m)->state(m->queue, m->run, h == NULL ? NULL : h + at,
                                     max_h == NULL ? NULL : max_h + at,
                                     arrival == NULL ? NULL : arrival + at));
    }
    return STATUS_OK;
}

enum status bands_take(struct bands *b, const struct sciddicat_rows *rows)
{
    for (size_t k = 0; k < b->n; ++k) {
        const struct member *m = &b->members[k];
        struct sciddicat_rows own = {.first = greater(row_of(b, k), rows->first),
                                     .last = lesser(row_of(b, k + 1), rows->last)};
        if (own.first < own.last) {
            const size_t at = (own.first - rows->first) * b->p.columns;
            own.h = rows->h + at;
            own.max_h = rows->max_h + at;
            own.arrival = rows->arrival + at;
            STATUS_TRY(as_member(m)->take(m->queue, m->run, &own));
        }
    }
    return STATUS_OK;
}

enum status bands_give(struct bands *b, const struct sciddicat_rows *rows)
{
    const struct member *home = &b->members[0];
    return as_member(home)->give(home->queue, home->run, rows);
}

enum status bands_resume(struct bands *b, uint64_t step)
{
    const struct member *home = &b->members[0];
    b->step = step;
    return as_member(home)->own(home->queue, home->run, step, 0, b->p.rows);
}

void bands_describe(const struct bands *b, struct bands_info *out)
{
    *out = b->info;
    out->n_members = b->n;
}
