/*
 * library_interpolant - curves through nodes in memory, set up once, at queries in memory.
 */
#include "kernels/interpolate/interpolate_setup.h"
#include "pipeline/engine/thread_pool.h"
#include "pipeline/library/library_context.h"

#include <stdlib.h>

/* Values that are on the backend at a time; of the program's that are there, computed between two
 * looks at whether it goes on. */
enum { STRIP_VALUES = 1 << 20, STRIPS_THERE = 64 };

struct leat_interpolant {
    struct leat_context *context;
    struct interpolate_setup setup;
    struct room room;
    struct span queries, values, counts;
    size_t strip; /* queries at a time */
};

static enum status strips_room(struct leat_interpolant *p, struct room *room, size_t n_curves)
{
    p->strip = STRIP_VALUES / n_curves + 1;
    STATUS_TRY(room_span(room, p->strip, sizeof(double), &p->queries));
    STATUS_TRY(room_span(room, p->strip, n_curves * sizeof(double), &p->values));
    return room_span(room, 1, sizeof(struct interpolate_counts), &p->counts);
}

static enum status set_up(struct leat_interpolant *p, const struct interpolate_request *request)
{
    struct leat_context *const c = p->context;
    const struct interpolate_setup_bytes bytes =
        interpolate_setup_bytes(request->method, request->n, request->n_curves);
    struct room counted = {0};
    room_count(&counted, bytes.host, bytes.backend);
    STATUS_TRY(strips_room(p, &counted, request->n_curves));
    STATUS_TRY(library_may_take(c, &counted));
    STATUS_TRY(strips_room(p, &p->room, request->n_curves));
    STATUS_TRY(interpolate_setup_new(c->queue, request, &p->setup));
    return c->backend->ops->zero(c->queue, p->counts);
}

enum leat_status leat_interpolant_new(struct leat_context *c, const double *x, const double *y,
                                      size_t n, size_t n_curves,
                                      enum leat_interpolant_method method, uint64_t n_queries,
                                      struct leat_interpolant **out)
{
    if (out == NULL) {
        return library_refuse(c, "out: give where the interpolant goes");
    }
    *out = NULL;
    const enum interpolate_method how = (enum interpolate_method)method;
    if (x == NULL || y == NULL || n == 0 || n > interpolate_most_nodes(how) || n_curves == 0 ||
        n_curves > SIZE_MAX / 4096 / n || method > LEAT_SPLINE) {
        return library_refuse(c, "give 1 to 32768 nodes, for cubics to 16777216, y for each of one "
                                 "curve or more, and a method");
    }
    struct leat_interpolant *const p = calloc(1, sizeof *p);
    if (p == NULL) {
        return library_end(c, status_fail(STATUS_NO_MEMORY, "no memory for an interpolant"));
    }
    p->context = c;
    p->room.queue = c->queue;
    const struct interpolate_request request = {.x = x,
                                                .y = y,
                                                .n = n,
                                                .n_curves = n_curves,
                                                .method = how,
                                                .n_queries = n_queries > 0 ? n_queries : UINT64_MAX,
                                                .degree =
                                                    how == INTERPOLATE_FLOATER_HORMANN ? 3 : 0,
                                                .executor = thread_pool_executor(c->threads)};
    const enum status st = set_up(p, &request);
    if (st != STATUS_OK) {
        const enum leat_status failed = library_end(c, st);
        leat_interpolant_free(p);
        return failed;
    }
    *out = p;
    return library_end(c, STATUS_OK);
}

static enum status evaluate_some(struct leat_interpolant *p, struct span queries, size_t n,
                                 struct span values)
{
    struct queue *const q = p->context->queue;
    return p->context->backend->ops->interpolate->evaluate(
        q, &p->setup.nodes, &p->setup.cells, queries, DTYPE_F64, n, values, p->counts);
}

static enum status evaluate(struct leat_interpolant *p, const double *queries, size_t n,
                            double *values)
{
    const struct backend_ops *const ops = p->context->backend->ops;
    struct queue *const q = p->context->queue;
    const size_t curves = p->setup.nodes.n_curves;
    for (size_t first = 0, some; first < n; first += some) {
        uint64_t ticket;
        some = n - first < p->strip ? n - first : p->strip;
        STATUS_TRY(library_progress(p->context, (double)first / (double)n));
        STATUS_TRY(ops->upload(q, p->queries, queries + first, some * sizeof *queries, &ticket));
        STATUS_TRY(evaluate_some(p, p->queries, some, p->values));
        STATUS_TRY(
            ops->download(q, values + first * curves, p->values, some * curves * sizeof *values));
        STATUS_TRY(ops->upload_wait(q, ticket));
    }
    return STATUS_OK;
}

static enum status evaluate_there(struct leat_interpolant *p, const double *queries, size_t n,
                                  double *values, void *stream)
{
    struct leat_context *const c = p->context;
    const size_t row = p->setup.nodes.n_curves * sizeof *values;
    struct span from, to;
    STATUS_TRY(library_borrow(c, queries, n, sizeof *queries, stream, &from));
    STATUS_TRY(library_borrow(c, values, n * p->setup.nodes.n_curves, sizeof *values, stream, &to));
    for (size_t first = 0, some; first < n; first += some) {
        some = n - first < p->strip * STRIPS_THERE ? n - first : p->strip * STRIPS_THERE;
        STATUS_TRY(library_progress(c, (double)first / (double)n));
        STATUS_TRY(evaluate_some(p, span_from(from, first * sizeof *queries), some,
                                 span_from(to, first * row)));
    }
    return c->backend->ops->finish(c->queue);
}

enum leat_status leat_interpolant_evaluate(struct leat_interpolant *p, const double *queries,
                                           size_t n, double *values)
{
    if (n > 0 && (queries == NULL || values == NULL)) {
        return library_refuse(p->context, "queries, values: give arrays");
    }
    return library_end(p->context, evaluate(p, queries, n, values));
}

enum leat_status leat_interpolant_evaluate_device(struct leat_interpolant *p, const double *queries,
                                                  size_t n, double *values, void *stream)
{
    if (queries == NULL || values == NULL ||
        n > SIZE_MAX / sizeof *values / p->setup.nodes.n_curves) {
        return library_refuse(p->context, "queries, values: give arrays");
    }
    return library_end(p->context, evaluate_there(p, queries, n, values, stream));
}

double leat_interpolant_lebesgue(const struct leat_interpolant *p)
{
    return p->setup.lebesgue;
}

void leat_interpolant_free(struct leat_interpolant *p)
{
    if (p != NULL) {
        interpolate_setup_release(&p->setup);
        room_free(&p->room);
        free(p);
    }
}
