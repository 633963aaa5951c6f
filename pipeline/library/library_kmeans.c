/*
 * library_kmeans - points in memory to clusters.
 */
#include "kernels/kmeans/kmeans_resident.h"
#include "pipeline/library/library_context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double most_tol = 1e9;

/* The points, and whom to tell how far it is. */
struct points {
    struct kmeans_array_source x; /* the first: this is one, too */
    struct leat_context *context;
    const struct leat_array *from;
};

/* As of struct kmeans_source; the program is told how many runs have ended. */
static enum status visit(void *context, kmeans_visit_fn *what, void *arg)
{
    struct points *const p = context;
    const struct kmeans_solve *const s = p->x.solve;
    const size_t n_runs = kmeans_n_runs(&s->request);
    STATUS_TRY(library_progress(p->context, (double)s->first_run / (double)n_runs));
    return kmeans_array_visit(&p->x, what, arg);
}

/* What is wrong, in rows and columns. */
static enum status explain(const struct kmeans_fault *f, enum status st)
{
    if (st != STATUS_BAD_INPUT || f->what == KMEANS_SOUND) {
        return st;
    }
    if (f->what == KMEANS_NOT_FINITE) {
        return status_fail(st, "row %llu, column %zu (the first are 0) is %s; give finite numbers",
                           (unsigned long long)f->point, f->column,
                           isnan(f->low) ? "NaN" : "infinite");
    }
    const bool is_far = f->what == KMEANS_TOO_FAR;
    return status_fail(
        st,
        "column %zu (the first is 0) has values from %g to %g, too %s to be squared; "
        "scale it %s",
        f->column, f->low, f->high, is_far ? "far apart" : "close together",
        is_far ? "down" : "up");
}

/* --- the call -------------------------------------------------------------------------------- */

static struct kmeans_request request_of(const struct leat_array *x,
                                        const struct leat_kmeans_options *options,
                                        const char **wrong)
{
    struct leat_kmeans_options o = LEAT_KMEANS_DEFAULTS;
    *wrong = options != NULL ? library_options(&o, sizeof o, options, options->size) : NULL;
    const size_t k = o.k > 0 ? o.k : 8, sample = kmeans_sample_of(x->columns);
    return (struct kmeans_request){
        .n_columns = x->columns,
        .type = x->type == LEAT_F4 ? DTYPE_F32 : DTYPE_F64,
        .k_first = k,
        .k_last = o.k_last > 0 ? o.k_last : k,
        .n_init = o.init == LEAT_KMEANS_FIRST ? 1
                  : o.n_init > 0              ? o.n_init
                                              : 10,
        .scale = (enum kmeans_scale)o.scale,
        .init = (enum kmeans_init)o.init,
        .seed = o.seed,
        .max_iter = o.max_iter > 0 ? o.max_iter : 300,
        .tol = o.tol < 0    ? 0
               : o.tol == 0 ? 1e-4
                            : o.tol,
        .resident = true,
        .width = 1,
        .n_sample = x->rows < sample ? x->rows : sample,
    };
}

/* NULL: nothing is. */
static const char *what_is_wrong(const struct leat_array *x, const struct kmeans_request *r)
{
    if (x->rows > (size_t)1 << 31) {
        return "points: more than 2^31 rows";
    }
    if (r->k_last < r->k_first) {
        return "k_last: give k, which is 8 where it is 0, or more";
    }
    if (r->k_last > x->rows) {
        return "k, k_last: give at most as many clusters as there are points; k is 8 where it is 0";
    }
    if (r->init > KMEANS_INIT_FIRST || r->scale > KMEANS_SCALE_RANGE || !(r->tol <= most_tol)) {
        return "init, scale: give one of their values; tol: at most 1e9";
    }
    size_t runs;
    if (__builtin_mul_overflow(r->k_last - r->k_first + 1, r->n_init, &runs)) {
        return "n_init: more than 2^64 runs";
    }
    return NULL;
}

static enum status result_new(const struct kmeans_solve *s, struct leat_kmeans_result *r)
{
    const struct kmeans_fit *const fit = &s->best;
    const size_t k = fit->k, cells = k * s->request.n_columns;
    r->k = k;
    r->n = s->n;
    r->columns = s->request.n_columns;
    r->centroids = malloc(cells * sizeof *r->centroids);
    r->counts = malloc(k * sizeof *r->counts);
    r->within = malloc(k * sizeof *r->within);
    r->inertia = fit->inertia;
    r->silhouette = fit->silhouette;
    r->n_iterations = fit->state.n_iterations;
    r->converged = fit->state.done != 0;
    if (r->centroids == NULL || r->counts == NULL || r->within == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu clusters", k);
    }
    memcpy(r->centroids, fit->centroids, cells * sizeof *r->centroids);
    memcpy(r->counts, s->count, k * sizeof *r->counts);
    memcpy(r->within, s->within, k * sizeof *r->within);
    return STATUS_OK;
}

static enum status rooms(struct kmeans_array_source *x, struct room *room)
{
    STATUS_TRY(kmeans_solve_room(x->solve, room));
    return kmeans_array_room(x, room);
}

static enum status solve(struct points *p, struct leat_kmeans_result *r)
{
    struct leat_context *const c = p->context;
    struct kmeans_array_source *const x = &p->x;
    struct kmeans_solve *const s = x->solve;
    const struct leat_array *const from = p->from;
    struct room counted = {0}, room = {.queue = c->queue};
    if (from->memory == LEAT_DEVICE_MEMORY) {
        x->rows = NULL;
        STATUS_TRY(library_borrow(c, from->data, from->rows * from->columns,
                                  dtype_bytes(s->request.type), from->stream, &x->there));
    }
    STATUS_TRY(rooms(x, &counted));
    STATUS_TRY(library_may_take(c, &counted));
    if (r == NULL || (r->labels = malloc(x->n * sizeof *r->labels)) == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu labels", x->n);
    }
    x->labels = r->labels;
    enum status st = rooms(x, &room);
    st = st == STATUS_OK ? explain(&s->fault, kmeans_solve_all(s, &room)) : st;
    st = st == STATUS_OK ? result_new(s, r) : st;
    room_free(&room);
    return st;
}

enum leat_status leat_kmeans(struct leat_context *c, const struct leat_array *points,
                             const struct leat_kmeans_options *options,
                             struct leat_kmeans_result **out)
{
    const char *wrong;
    if (out == NULL) {
        return library_refuse(c, "out: give where the result goes");
    }
    *out = NULL;
    if (!library_is_array(points)) {
        return library_refuse(c, "points: give LEAT_F8 or LEAT_F4, rows and columns, and rows that "
                                 "do not overlap");
    }
    const struct kmeans_request request = request_of(points, options, &wrong);
    wrong = wrong != NULL ? wrong : what_is_wrong(points, &request);
    if (wrong != NULL) {
        return library_refuse(c, wrong);
    }
    struct kmeans_solve s = {.request = request};
    struct points p = {.x = {.solve = &s,
                             .rows = points->data,
                             .n = points->rows,
                             .row_bytes = library_stride(points)},
                       .context = c,
                       .from = points};
    s.source = (struct kmeans_source){visit, kmeans_array_labels, &p};
    struct leat_kmeans_result *r = calloc(1, sizeof *r);
    const enum status st = solve(&p, r);
    if (st != STATUS_OK) {
        leat_kmeans_free(r);
        r = NULL;
    }
    *out = r;
    return library_end(c, st);
}

void leat_kmeans_free(struct leat_kmeans_result *r)
{
    if (r != NULL) {
        free(r->centroids);
        free(r->labels);
        free(r->counts);
        free(r->within);
        free(r);
    }
}
