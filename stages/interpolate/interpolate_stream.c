/*
 * interpolate_stream - queries in, values out, through some sets of buffers in turn.
 *
 * Values lie query by query, so that a portion of all curves is one run of the array, which grows
 * in that order (NumPy's fortran_order). They stay on the backend until a piece is made. Portions
 * are of whole pieces: what is left of one is kept on the host and leaves with the next. Queries of
 * a file leave beside them; those of a linspace are made once more when all values have left.
 */
#include "stages/interpolate/interpolate_job.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_PER_PIECE = 4096, PIECE_NUMBERS = 1 << 15 };

enum status interpolate_stream_open(struct interpolate_job *job)
{
    const struct interpolate_choice *const c = &job->choice;
    job->low = INFINITY;
    job->high = -INFINITY;
    job->sets = calloc(c->n_sets, sizeof *job->sets);
    if (job->sets == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu sets of queries", c->n_sets);
    }
    for (size_t k = 0; k < c->n_sets; k++) {
        struct interpolate_set *const set = &job->sets[k];
        set->job = job;
        if (k == 0 || c->line.n == 0) {
            STATUS_TRY(
                job->ops->alloc(job->queue, c->in_queries * dtype_bytes(c->query_type), &set->in));
        }
        STATUS_TRY(
            job->ops->alloc(job->queue, c->set_queries * c->n_curves * sizeof(double), &set->y));
    }
    if (c->line.n > 0) {
        void *host;
        STATUS_TRY(
            job->ops->host_alloc(job->queue->backend, c->in_queries * sizeof(double), &host));
        job->host = host;
    }
    STATUS_TRY(job->ops->alloc(job->queue, sizeof(struct interpolate_counts), &job->counts));
    return job->ops->zero(job->queue, job->counts);
}

static void drop_text(struct interpolate_job *job)
{
    free(job->text_x);
    free(job->text_y);
    job->text_x = job->text_y = NULL;
    job->n_text = job->text_room = 0;
}

void interpolate_stream_free(struct interpolate_job *job)
{
    for (size_t k = 0; job->sets != NULL && k < job->choice.n_sets; k++) {
        job->ops->release(job->queue, job->sets[k].in);
        job->ops->release(job->queue, job->sets[k].y);
    }
    free(job->sets);
    if (job->host != NULL) {
        job->ops->host_free(job->queue->backend, job->host);
    }
    job->ops->release(job->queue, job->counts);
    for (size_t k = 0; k < INTERPOLATE_N_ARRAYS; k++) {
        bytes_free(&job->rest[k].kept);
    }
    drop_text(job);
}

/* --- in --------------------------------------------------------------------------------------- */

static void widen(struct interpolate_job *job, double low, double high)
{
    job->low = low < job->low ? low : job->low;
    job->high = high > job->high ? high : job->high;
}

/* The least and the greatest query; infinite ones are refused. */
static enum status look_over(struct interpolate_job *job, const struct table_chunk *chunk)
{
    const bool narrow = job->choice.query_type == DTYPE_F32;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < chunk->n_cells; i++) { /* NaN is neither */
        const double x =
            narrow ? (double)((const float *)chunk->values)[i] : ((const double *)chunk->values)[i];
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    if (low == -INFINITY || high == INFINITY) {
        size_t i = 0;
        while (!isinf(narrow ? (double)((const float *)chunk->values)[i]
                             : ((const double *)chunk->values)[i])) {
            i++;
        }
        return status_fail(STATUS_BAD_INPUT,
                           "%s: query %" PRIu64 " is infinite; remove it, or list inf in "
                           "missing_value: -s missing_value=inf",
                           job->args.inputs[INTERPOLATE_QUERY].name, job->n_done + i + 1);
    }
    widen(job, low, high);
    return STATUS_OK;
}

/* Brings the next n queries to the backend. */
static enum status take(struct interpolate_job *job, const void *queries, size_t n,
                        uint64_t *ticket)
{
    if (job->in_leaves) {
        job->in_turn = (job->in_turn + 1) % job->choice.n_sets;
        job->in_leaves = false;
    }
    job->in = job->sets[job->in_turn].in;
    job->n_in = n;
    job->n_out = 0;
    return job->ops->upload(job->queue, job->in, queries, n * dtype_bytes(job->choice.query_type),
                            ticket);
}

enum status interpolate_stream_add(struct interpolate_job *job, const struct table_chunk *chunk,
                                   uint64_t *ticket)
{
    const size_t n = chunk->n_cells;
    if (n > job->choice.in_queries) {
        return status_fail(STATUS_INTERNAL, "%zu queries at once, %zu were expected", n,
                           job->choice.in_queries);
    }
    if (n == 0) { /* no turn: the buffer of the portion before may still be read */
        job->n_in = job->n_out = 0;
        return STATUS_OK;
    }
    STATUS_TRY(look_over(job, chunk));
    return take(job, chunk->values, n, ticket);
}

enum status interpolate_stream_next(struct interpolate_job *job)
{
    const struct linspace *const line = &job->choice.line;
    const double *const x = job->host;
    const uint64_t left = line->n - job->n_done;
    const size_t n = left < job->choice.in_queries ? (size_t)left : job->choice.in_queries;
    uint64_t ticket;
    STATUS_TRY(queue_check(job->queue));
    linspace_fill(line, job->n_done, n, job->host);
    const size_t step = line->list == NULL && n > 1 ? n - 1 : 1; /* a line's ends are its range */
    for (size_t i = 0; i < n; i += step) {
        widen(job, x[i], x[i]);
    }
    STATUS_TRY(take(job, x, n, &ticket));
    return job->ops->upload_wait(job->queue, ticket);
}

/* Evaluates the next of the queries that have been taken. */
static enum status evaluate(struct interpolate_job *job, struct interpolate_set *set)
{
    const struct interpolate_choice *const c = &job->choice;
    const size_t left = job->n_in - job->n_out;
    set->n = left < c->set_queries ? left : c->set_queries;
    set->x = span_from(job->in, job->n_out * dtype_bytes(c->query_type));
    job->n_out += set->n;
    job->n_done += set->n;
    return job->ops->interpolate->evaluate(job->queue, &job->setup.nodes, &job->setup.cells, set->x,
                                           c->query_type, set->n, set->y, job->counts);
}

/* --- out -------------------------------------------------------------------------------------- */

/* Elements of an array that leave: what was kept, then those of a set. */
struct leaving {
    struct interpolate_job *job;
    size_t element_bytes;
    struct bytes kept;
    struct span from;
};

static void free_leaving(void *context)
{
    struct leaving *const l = context;
    bytes_free(&l->kept);
    free(l);
}

static enum status fetch(void *context, uint64_t first, size_t n, void *dst)
{
    const struct leaving *const l = context;
    const size_t at = (size_t)first * l->element_bytes, bytes = n * l->element_bytes,
                 left = at < l->kept.len ? l->kept.len - at : 0,
                 of_kept = left < bytes ? left : bytes;
    if (of_kept > 0) {
        memcpy(dst, l->kept.data + at, of_kept);
    }
    if (of_kept == bytes) {
        return STATUS_OK;
    }
    return l->job->ops->download(l->job->queue, (char *)dst + of_kept,
                                 span_from(l->from, at + of_kept - l->kept.len), bytes - of_kept);
}

/* Takes what waits in a set, which may be evaluated again then. */
static enum status keep_rests(struct interpolate_job *job)
{
    for (size_t k = 0; k < INTERPOLATE_N_ARRAYS; k++) {
        struct interpolate_rest *const rest = &job->rest[k];
        const size_t about = job->choice.rest_bytes[k], n = rest->n;
        const bool is_first = rest->kept.cap == 0;
        if (n > 0) {
            STATUS_TRY(bytes_reserve(&rest->kept, is_first && about > n ? about : n));
            STATUS_TRY(
                job->ops->download(job->queue, rest->kept.data + rest->kept.len, rest->from, n));
            rest->kept.len += n;
            rest->n = 0;
        }
    }
    return STATUS_OK;
}

/* Room for n more: what is planned, then half as much again, as the plan grows. */
static enum status grow_text(struct interpolate_job *job, size_t n)
{
    const struct interpolate_choice *const c = &job->choice;
    const size_t need = job->n_text + n, old = job->text_room;
    if (need <= old) {
        return STATUS_OK;
    }
    size_t room = old == 0 ? c->about_text : old + old / 2;
    room = room > c->most_text ? c->most_text : room;
    room = room < need ? need : room;
    double *const x = reallocarray(job->text_x, room, sizeof *x);
    job->text_x = x != NULL ? x : job->text_x;
    double *const y = x != NULL ? reallocarray(job->text_y, room * c->n_curves, sizeof *y) : NULL;
    job->text_y = y != NULL ? y : job->text_y;
    if (y == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu queries of curve.csv.gz", room);
    }
    job->text_room = room;
    return STATUS_OK;
}

/* Keeps what curve.csv.gz may need, as long as it does not become too much. */
static enum status keep_for_text(struct interpolate_job *job, const struct interpolate_set *set)
{
    const struct interpolate_choice *const c = &job->choice;
    const uint64_t all = c->n_queries > job->n_done ? c->n_queries : job->n_done;
    if (job->without_text || all > c->most_text) {
        job->without_text = true;
        drop_text(job);
        return STATUS_OK;
    }
    STATUS_TRY(grow_text(job, set->n));
    double *const to = job->text_x + job->n_text;
    STATUS_TRY(job->ops->download(job->queue, to, set->x, set->n * dtype_bytes(c->query_type)));
    STATUS_TRY(job->ops->download(job->queue, job->text_y + job->n_text * c->n_curves, set->y,
                                  set->n * c->n_curves * sizeof(double)));
    if (c->query_type == DTYPE_F32) {
        for (size_t i = set->n; i-- > 0;) { /* in place, from the end */
            float narrow;
            memcpy(&narrow, (const char *)to + i * sizeof narrow, sizeof narrow);
            to[i] = (double)narrow;
        }
    }
    job->n_text += set->n;
    return STATUS_OK;
}

static enum npy_type query_npy(const struct interpolate_job *job)
{
    return job->choice.query_type == DTYPE_F32 ? NPY_F4 : NPY_F8;
}

/* Of an array, `bytes` from a set on: hands out how many of them leave, behind what was kept. */
static enum status add_portion(struct interpolate_job *job, enum interpolate_array which,
                               struct span from, size_t bytes, size_t leave, struct result_file *f)
{
    struct interpolate_rest *const rest = &job->rest[which];
    const enum npy_type type = which == INTERPOLATE_X ? query_npy(job) : NPY_F8;
    struct leaving *const l = malloc(sizeof *l);
    if (l == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a portion of curve.npz");
    }
    *l = (struct leaving){.job = job,
                          .element_bytes = type == NPY_F4 ? sizeof(float) : sizeof(double),
                          .kept = rest->kept,
                          .from = from};
    const size_t of_set =
        leave - rest->kept.len; /* what was kept makes no piece: it leaves whole */
    *rest = (struct interpolate_rest){.n = bytes - of_set};
    rest->from = rest->n > 0 ? span_from(from, of_set) : from;
    return result_add_portion(f, which == INTERPOLATE_X ? "x" : "y", type, leave / l->element_bytes,
                              fetch, l, free_leaving);
}

/* The shape of y, before its first portion if it is known. */
static enum status begin_y(struct interpolate_job *job, struct result_file *f)
{
    const struct interpolate_choice *const c = &job->choice;
    const size_t dims[] = {c->n_curves, (size_t)c->n_queries};
    if (job->y_has_begun || c->n_queries == 0) {
        return STATUS_OK;
    }
    job->y_has_begun = true;
    return result_begin_portions(f, "y", NPY_F8, 2, dims, true);
}

/* Hands out the pieces that a set completes; where it completes none, it is free again. */
static enum status add_pieces(struct interpolate_job *job, struct interpolate_set *set,
                              struct result *out)
{
    const struct span from[INTERPOLATE_N_ARRAYS] = {set->x, set->y};
    const size_t bytes[INTERPOLATE_N_ARRAYS] = {set->n * dtype_bytes(job->choice.query_type),
                                                set->n * job->choice.n_curves * sizeof(double)};
    const bool x_leaves = job->choice.line.n == 0;
    struct result_file *f = NULL;
    for (size_t k = x_leaves ? INTERPOLATE_X : INTERPOLATE_Y; k < INTERPOLATE_N_ARRAYS; k++) {
        struct interpolate_rest *const rest = &job->rest[k];
        const size_t all = rest->kept.len + bytes[k], leave = all - all % PACK_PIECE_BYTES;
        if (leave == 0) {
            rest->from = from[k];
            rest->n = bytes[k];
            continue;
        }
        if (f == NULL) {
            STATUS_TRY(result_add_file(out, "curve.npz", PACK_ZIP, &f));
            f->more = true;
        }
        STATUS_TRY(k == INTERPOLATE_Y ? begin_y(job, f) : STATUS_OK);
        STATUS_TRY(add_portion(job, (enum interpolate_array)k, from[k], bytes[k], leave, f));
    }
    if (f == NULL) {
        return keep_rests(job);
    }
    job->turn = (job->turn + 1) % job->choice.n_sets;
    job->in_leaves = x_leaves;
    return STATUS_OK;
}

enum status interpolate_stream_portion(struct interpolate_job *job, struct result *out, bool *more)
{
    struct interpolate_set *const set = &job->sets[job->turn];
    if (job->n_out == job->n_in) {
        return STATUS_OK;
    }
    STATUS_TRY(keep_rests(job));
    STATUS_TRY(evaluate(job, set));
    *more = job->n_out < job->n_in;
    STATUS_TRY(keep_for_text(job, set));
    return add_pieces(job, set, out);
}

/* --- the end ---------------------------------------------------------------------------------- */

static enum status text_rows(void *context, uint64_t first, size_t n, struct bytes *out)
{
    const struct interpolate_job *const job = context;
    const size_t curves = job->choice.n_curves;
    for (size_t i = (size_t)first; i < first + n; i++) {
        STATUS_TRY(result_put_f64(out, job->text_x[i]));
        for (size_t c = 0; c < curves; c++) {
            STATUS_TRY(bytes_append(out, ",", 1));
            STATUS_TRY(result_put_f64(out, job->text_y[i * curves + c]));
        }
        STATUS_TRY(bytes_append(out, "\n", 1));
    }
    return STATUS_OK;
}

static enum status add_text(struct interpolate_job *job, struct result *out)
{
    const size_t curves = job->choice.n_curves, rows = PIECE_NUMBERS / (1 + curves) + 1;
    struct bytes header = {0};
    char room[INTERPOLATE_NAME_BYTES];
    enum status st = bytes_append(&header, "x", 1);
    for (size_t c = 0; c < curves && st == STATUS_OK; c++) {
        st = bytes_append(&header, ",", 1);
        st = st == STATUS_OK ? result_put_field(&header, interpolate_name(job, c, room)) : st;
    }
    st = st == STATUS_OK ? bytes_append(&header, "", 1) : st;
    if (st == STATUS_OK) {
        st = result_add_csv(out, "curve", (const char *)header.data, job->n_done,
                            rows < ROWS_PER_PIECE ? rows : ROWS_PER_PIECE, text_rows, job, NULL);
    }
    bytes_free(&header);
    return st;
}

static enum status add_names(struct interpolate_job *job, struct result_file *f)
{
    const size_t curves = job->choice.n_curves;
    char(*rooms)[INTERPOLATE_NAME_BYTES] = calloc(curves, sizeof *rooms);
    const char **names = calloc(curves, sizeof *names);
    enum status st = STATUS_NO_MEMORY;
    if (rooms == NULL || names == NULL) {
        status_fail(st, "no memory for the names of %zu curves", curves);
    } else {
        for (size_t c = 0; c < curves; c++) {
            names[c] = interpolate_name(job, c, rooms[c]);
        }
        st = result_add_strings(f, "names", curves, names);
    }
    free(rooms);
    free(names);
    return st;
}

/* The last portion of an array, and its shape. */
static enum status end_array(struct interpolate_job *job, enum interpolate_array which,
                             struct result_file *f)
{
    const size_t n = (size_t)job->n_done, dims[] = {job->choice.n_curves, n},
                 left = job->rest[which].kept.len;
    STATUS_TRY(left > 0 ? add_portion(job, which, job->counts, 0, left, f) : STATUS_OK);
    return which == INTERPOLATE_X ? result_end_portions(f, "x", query_npy(job), 1, &n, false)
                                  : result_end_portions(f, "y", NPY_F8, 2, dims, true);
}

static enum status fetch_line(void *context, uint64_t first, size_t n, void *dst)
{
    const struct interpolate_job *const job = context;
    linspace_fill(&job->choice.line, first, n, dst);
    return STATUS_OK;
}

enum status interpolate_stream_end(struct interpolate_job *job, struct result *out)
{
    struct result_file *f;
    const size_t n = (size_t)job->n_done;
    const size_t node_dims[] = {job->choice.n_curves, job->n};
    if (n == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: no row holds numbers",
                           job->args.inputs[INTERPOLATE_QUERY].name);
    }
    STATUS_TRY(job->ops->download(job->queue, &job->total, job->counts, sizeof job->total));
    STATUS_TRY(result_add_file(out, "curve.npz", PACK_ZIP, &f));
    STATUS_TRY(keep_rests(job));
    STATUS_TRY(end_array(job, INTERPOLATE_Y, f));
    STATUS_TRY(job->choice.line.n > 0
                   ? result_add_array(f, "x", NPY_F8, 1, &n, fetch_line, job, NULL)
                   : end_array(job, INTERPOLATE_X, f));
    STATUS_TRY(result_add_copy(f, "nodes_x", NPY_F8, 1, &job->n, job->x));
    STATUS_TRY(result_add_copy(f, "nodes_y", NPY_F8, 2, node_dims, job->y));
    STATUS_TRY(add_names(job, f));
    return job->without_text ? STATUS_OK : add_text(job, out);
}
