/*
 * interpolate_stream - queries in, values out, through some sets of buffers in turn.
 *
 * Values lie query by query, so that those of all curves that leave are one run of the array, which
 * grows in that order (NumPy's fortran_order). They stay on the backend until a piece is made.
 * Queries of a file leave beside them; those of a linspace are made once more when all values have
 * left.
 */
#include "formats/result/result_table.h"
#include "stages/interpolate/interpolate_job.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_PER_PIECE = 4096, PIECE_NUMBERS = 1 << 15 };

static void drop_text(struct interpolate_job *job)
{
    free(job->text_x);
    free(job->text_y);
    job->text_x = job->text_y = NULL;
    job->n_text = job->text_room = 0;
}

void interpolate_stream_free(struct interpolate_job *job)
{
    growing_free(&job->growing);
    drop_text(job);
}

/* --- in --------------------------------------------------------------------------------------- */

static void widen(struct interpolate_job *job, double low, double high)
{
    job->low = low < job->low ? low : job->low;
    job->high = high > job->high ? high : job->high;
}

/* The least and the greatest query; infinite ones are refused. */
static enum status look_over(void *context, void *cells, size_t n, uint64_t first, size_t *n_kept)
{
    struct interpolate_job *const job = context;
    const enum dtype type = job->choice.query_type;
    double low = INFINITY, high = -INFINITY;
    (void)n_kept;                    /* all of them */
    for (size_t i = 0; i < n; i++) { /* NaN is neither */
        const double x = dtype_real(type, cells, i);
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    if (low == -INFINITY || high == INFINITY) {
        size_t i = 0;
        while (!isinf(dtype_real(type, cells, i))) {
            i++;
        }
        return status_fail(STATUS_BAD_INPUT,
                           "%s: query %" PRIu64 " is infinite; remove it, or list inf in "
                           "missing_value: -s missing_value=inf",
                           job->args.inputs[INTERPOLATE_QUERY].name, first + i + 1);
    }
    widen(job, low, high);
    return STATUS_OK;
}

/* The next queries of the linspace. */
static enum status fill(struct interpolate_job *job, struct interpolate_set *set)
{
    const struct numbers *const line = &job->choice.line;
    const double *const x = job->host;
    const uint64_t left = line->n - job->n_done;
    const size_t n = left < job->choice.set_queries ? (size_t)left : job->choice.set_queries;
    uint64_t ticket;
    set->n = n;
    if (n == 0) {
        return STATUS_OK;
    }
    numbers_fill(line, job->n_done, n, job->host);
    const size_t step = line->list == NULL && n > 1 ? n - 1 : 1; /* a line's ends are its range */
    for (size_t i = 0; i < n; i += step) {
        widen(job, x[i], x[i]);
    }
    STATUS_TRY(job->ops->upload(job->queue, set->x, x, n * sizeof *x, &ticket));
    return job->ops->upload_wait(job->queue, ticket);
}

/* The next queries; none: there are no more. */
static enum status take(struct interpolate_job *job, struct interpolate_set *set)
{
    const size_t n = job->choice.set_queries;
    return job->choice.line.n > 0 ? fill(job, set)
                                  : rows_read(&job->rows, job->io, set->x, n, n, &set->n);
}

/* --- out -------------------------------------------------------------------------------------- */

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

static struct growing growing_of(const struct interpolate_job *job)
{
    const struct interpolate_choice *const c = &job->choice;
    const struct growing_array x = {.name = "x",
                                    .type = query_npy(job),
                                    .element_bytes = dtype_bytes(c->query_type),
                                    .width = 1,
                                    .about_kept = c->rest_x};
    const struct growing_array y = {.name = "y",
                                    .type = NPY_F8,
                                    .element_bytes = sizeof(double),
                                    .width = c->n_curves,
                                    .is_matrix = true,
                                    .n_rows = c->n_queries,
                                    .about_kept = c->rest_y};
    return c->line.n > 0 ? (struct growing){"curve.npz", 1, {y}}
                         : (struct growing){"curve.npz", 2, {x, y}};
}

/* The values of a set leave; *leaves: it must not be used before others have left. */
static enum status add(struct interpolate_job *job, const struct interpolate_set *set, bool *leaves)
{
    const struct span spans[] = {set->x, set->y};
    STATUS_TRY(keep_for_text(job, set));
    return growing_add(&job->growing, job->io, job->choice.line.n > 0 ? spans + 1 : spans, set->n,
                       leaves);
}

enum status interpolate_stream(struct interpolate_job *job)
{
    const struct interpolate_choice *const c = &job->choice;
    size_t turn = 0;
    bool leaves;
    job->rows.look = look_over;
    job->rows.context = job;
    job->growing = growing_of(job);
    STATUS_TRY(job->ops->zero(job->queue, job->counts));
    for (;;) {
        struct interpolate_set *const set = &job->sets[turn];
        STATUS_TRY(take(job, set));
        if (set->n == 0) {
            break;
        }
        STATUS_TRY(growing_settle(&job->growing, job->io));
        STATUS_TRY(queue_check(job->queue));
        STATUS_TRY(job->ops->interpolate->evaluate(job->queue, &job->setup.nodes, &job->setup.cells,
                                                   set->x, c->query_type, set->n, set->y,
                                                   job->counts));
        job->n_done += set->n;
        STATUS_TRY(add(job, set, &leaves));
        if (leaves) {
            STATUS_TRY(io_leave(job->io));
            turn = (turn + 1) % c->n_sets;
        }
    }
    return job->ops->download(job->queue, &job->total, job->counts, sizeof job->total);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void curve_row(const void *context, uint64_t i, struct result_row *to)
{
    const struct interpolate_job *const job = context;
    const size_t curves = job->choice.n_curves;
    char room[INTERPOLATE_NAME_BYTES];
    if (job->choice.are_dates) {
        char x[INTERPOLATE_X_BYTES];
        result_row_text(to, "x",
                        isnan(job->text_x[i]) ? "" : interpolate_x(job, job->text_x[i], x));
    } else {
        result_row_real(to, "x", job->text_x[i]);
    }
    for (size_t c = 0; c < curves; c++) {
        result_row_real(to, result_row_has_names(to) ? interpolate_name(job, c, room) : "",
                        job->text_y[i * curves + c]);
    }
}

static enum status add_text(struct interpolate_job *job, struct result *out)
{
    const struct result_table curve = {"curve", curve_row, job, job->n_done};
    const size_t rows = PIECE_NUMBERS / (1 + job->choice.n_curves) + 1;
    return result_table_csv(out, &curve, rows < ROWS_PER_PIECE ? rows : ROWS_PER_PIECE);
}

static enum status add_names(struct interpolate_job *job, struct result_file *f)
{
    const size_t curves = job->choice.n_curves;
    char(*rooms)[INTERPOLATE_NAME_BYTES];
    const char **names;
    STATUS_TRY(room_host(&job->io->room, curves, sizeof *rooms, &rooms));
    STATUS_TRY(room_host(&job->io->room, curves, sizeof *names, &names));
    for (size_t c = 0; c < curves; c++) {
        names[c] = interpolate_name(job, c, rooms[c]);
    }
    return result_add_strings(f, "names", curves, names);
}

static enum status fetch_line(void *context, uint64_t first, size_t n, void *dst)
{
    const struct interpolate_job *const job = context;
    numbers_fill(&job->choice.line, first, n, dst);
    return STATUS_OK;
}

enum status interpolate_stream_end(struct interpolate_job *job)
{
    struct result *const out = job->io->out;
    struct result_file *f;
    const size_t n = (size_t)job->n_done, node_dims[] = {job->choice.n_curves, job->n};
    if (n == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: no row holds numbers",
                           job->args.inputs[INTERPOLATE_QUERY].name);
    }
    STATUS_TRY(growing_settle(&job->growing, job->io));
    STATUS_TRY(result_add_file(out, "curve.npz", PACK_ZIP, &f));
    STATUS_TRY(growing_end(&job->growing, job->io, f, n));
    STATUS_TRY(job->choice.line.n > 0
                   ? result_add_array(f, "x", NPY_F8, 1, &n, fetch_line, job, NULL)
                   : STATUS_OK);
    STATUS_TRY(result_add_copy(f, "nodes_x", NPY_F8, 1, &job->n, job->x));
    STATUS_TRY(result_add_copy(f, "nodes_y", NPY_F8, 2, node_dims, job->y));
    STATUS_TRY(add_names(job, f));
    return job->without_text ? STATUS_OK : add_text(job, out);
}
