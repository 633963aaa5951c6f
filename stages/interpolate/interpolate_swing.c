/*
 * interpolate_swing - whether the curves stay near their nodes between them.
 *
 * A polynomial through many nodes may swing far beyond their y, though all of its digits are right.
 * The curves are evaluated once more in the gaps that the queries span. Where the Lebesgue constant
 * is 3 or less, none can leave the range of y by more than its length: y less the middle of its
 * range is half of that at most.
 */
#include "stages/interpolate/interpolate_job.h"

#include <math.h>
#include <stdio.h>

/* Places that are looked at, of a curve: at most, at least, in a gap; of all curves, about. */
enum { MOST = 1024, LEAST = 64, GAP_PLACES = 8, OF_ALL = 1 << 16 };

/* What is found is some percent too small. */
static const double calm_lebesgue = 2.7;

static size_t most_places(size_t n_curves)
{
    const size_t n = OF_ALL / n_curves;
    return n > MOST ? MOST : n < LEAST ? LEAST : n;
}

size_t interpolate_swing_bytes(size_t n_curves)
{
    const size_t slack = 768;
    return most_places(n_curves) * (1 + n_curves) * sizeof(double) +
           sizeof(struct interpolate_counts) + slack;
}

static enum status evaluate(struct interpolate_job *job, struct room *room, size_t n_curves,
                            const double *x, size_t n, double *y)
{
    /* The arrays lie curve after curve: the first ones are a part of them. */
    struct interpolate_nodes nodes = job->setup.nodes;
    struct span of_x, of_y, counts;
    uint64_t ticket;
    nodes.n_curves = n_curves;
    STATUS_TRY(room_span(room, n, sizeof *x, &of_x));
    STATUS_TRY(room_span(room, n, n_curves * sizeof *y, &of_y));
    STATUS_TRY(room_span(room, 1, sizeof(struct interpolate_counts), &counts));
    STATUS_TRY(job->ops->upload(job->queue, of_x, x, n * sizeof *x, &ticket));
    STATUS_TRY(job->ops->zero(job->queue, counts));
    STATUS_TRY(job->ops->interpolate->evaluate(job->queue, &nodes, &job->setup.cells, of_x,
                                               DTYPE_F64, n, of_y, counts));
    STATUS_TRY(job->ops->download(job->queue, y, of_y, n_curves * n * sizeof *y));
    return job->ops->upload_wait(job->queue, ticket);
}

enum status interpolate_values_at(struct interpolate_job *job, size_t n_curves, const double *x,
                                  size_t n, double *y)
{
    struct room room = {.queue = job->queue};
    const enum status st = evaluate(job, &room, n_curves, x, n, y);
    room_free(&room);
    return st;
}

/* Places between the least and the greatest query, in the gaps of nodes that these span: of each
 * gap several, or the middle of some of them, the first and the last among these. */
static size_t choose_places(const struct interpolate_job *job, size_t most, double *x)
{
    const double low = fmax(job->low, job->x[0]), high = fmin(job->high, job->x[job->n - 1]);
    size_t first = 0, end = job->n - 1, n = 0;
    if (!(low <= high) || end == 0) { /* no query is within the nodes; there is one node */
        return 0;
    }
    while (first + 1 < end && job->x[first + 1] <= low) {
        first++;
    }
    while (first + 1 < end && job->x[end - 1] >= high) {
        end--;
    }
    const size_t gaps = end - first, taken = gaps < most ? gaps : most;
    const size_t of_gap = taken * GAP_PLACES < most ? GAP_PLACES : most / taken;
    for (size_t k = 0; k < taken * of_gap; k++) {
        const size_t gap = first + (taken > 1 ? k / of_gap * (gaps - 1) / (taken - 1) : 0);
        const double share = ((double)(k % of_gap) + 0.5) / (double)of_gap;
        const double from = fmax(job->x[gap], low), to = fmin(job->x[gap + 1], high);
        x[n++] = from + share * (to - from);
    }
    return n;
}

struct range {
    double low, high;
};

/* Of every stride-th of n numbers; passes over NaN. */
static struct range range_of(const double *y, size_t n, size_t stride)
{
    struct range r = {INFINITY, -INFINITY};
    for (size_t i = 0; i < n; i++) {
        r.low = fmin(r.low, y[i * stride]);
        r.high = fmax(r.high, y[i * stride]);
    }
    return r;
}

/* By how many times the range of its nodes a curve leaves it. */
static double leaves_by(struct range curve, struct range nodes)
{
    const double length = nodes.high - nodes.low;
    return length > 0 ? fmax(nodes.low - curve.low, curve.high - nodes.high) / length : 0;
}

bool interpolate_may_blend(const struct interpolate_job *job)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i + 1 < job->n; i++) {
        least = fmin(least, job->x[i + 1] - job->x[i]);
        most = fmax(most, job->x[i + 1] - job->x[i]);
    }
    return !job->setup.nodes.is_rational && job->n > job->choice.blend + 1 && most <= 2 * least;
}

static enum status warn(const struct interpolate_job *job, const double *y, size_t n_places,
                        struct result *out)
{
    const size_t n_curves = job->choice.n_curves;
    size_t n = 0, worst = 0;
    double most = 1;
    for (size_t c = 0; c < n_curves; c++) {
        const double by = leaves_by(range_of(y + c, n_places, n_curves),
                                    range_of(job->y + c * job->n, job->n, 1));
        n += by > 1 ? 1 : 0;
        worst = by > most ? c : worst;
        most = fmax(most, by);
    }
    if (n == 0) {
        return STATUS_OK;
    }
    char room[INTERPOLATE_NAME_BYTES], kind[INTERPOLATE_KIND_BYTES], more[64] = "";
    const struct range curve = range_of(y + worst, n_places, n_curves),
                       nodes = range_of(job->y + worst * job->n, job->n, 1);
    if (n > 1) {
        snprintf(more, sizeof more, " (and %zu more of the curves like it)", n - 1);
    }
    return result_warn(
        out,
        "the curve of '%s' swings from about %.4g to %.4g between its %zu nodes, whose y go from "
        "%.4g to %.4g%s: that is the %s, not what was measured there; take %smethod=pchip, which "
        "never "
        "leaves the range of neighbouring nodes",
        interpolate_name(job, worst, room), curve.low, curve.high, job->n, nodes.low, nodes.high,
        more, interpolate_kind(job, kind),
        interpolate_may_blend(job)
            ? "method=floater-hormann, which mostly stays near the nodes, or "
            : "");
}

enum status interpolate_warn_swing(struct interpolate_job *job, struct result *out)
{
    if (job->setup.lebesgue <= calm_lebesgue) {
        return STATUS_OK;
    }
    const size_t most = most_places(job->choice.n_curves);
    double *x, *y;
    STATUS_TRY(room_host(&job->io->room, most, sizeof *x, &x));
    STATUS_TRY(room_host(&job->io->room, most, job->choice.n_curves * sizeof *y, &y));
    const size_t n = choose_places(job, most, x);
    if (n == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(interpolate_values_at(job, job->choice.n_curves, x, n, y));
    return warn(job, y, n, out);
}
