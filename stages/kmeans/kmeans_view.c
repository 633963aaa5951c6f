/*
 * kmeans_view - the plane in which the scatter plot shows points: two columns, or, of more than
 * two, the first two principal components of the points that are drawn, in scaled columns.
 *
 * Components are eigenvectors of the covariance C, which is only ever applied to vectors: a block
 * Lanczos method from two random vectors, with each vector made orthogonal to all before it, and
 * the eigenvectors of C within the space that they span, by Jacobi's rotations. That space is all
 * of it with up to KMEANS_VIEW_BASIS columns or points; beyond, what stands out from noise
 * converges first.
 */
#include "kernels/philox/philox_rule.h"
#include "stages/kmeans/kmeans_job.h"

#include <math.h>
#include <string.h>

enum { SWEEPS = 64, TWICE = 2 /* orthogonal to rounding */ };

static size_t basis_of(const struct kmeans_job *job)
{
    const size_t d = job->layout.n_columns;
    return d < KMEANS_VIEW_BASIS ? d : KMEANS_VIEW_BASIS;
}

enum status kmeans_view_room(struct kmeans_job *job, struct room *room)
{
    struct kmeans_view *const v = &job->view;
    const size_t d = job->layout.n_columns, m = basis_of(job);
    if (!job->layout.has_components) {
        return STATUS_OK;
    }
    STATUS_TRY(room_host(room, 2, d * sizeof(double), &v->component));
    STATUS_TRY(room_host(room, d, sizeof(double), &v->mean));
    STATUS_TRY(room_host(room, d, sizeof(double), &v->factor));
    STATUS_TRY(room_host(room, m, d * sizeof(double), &v->basis));
    return room_host(room, 2 * m, m * sizeof(double), &v->within);
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void add(double *to, double times, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] += times * x[i];
    }
}

/* Along a direction, from the mean. */
static double along(const struct kmeans_job *job, const double *cells, const double *direction)
{
    const struct kmeans_view *const v = &job->view;
    double sum = 0;
    for (size_t c = 0; c < job->layout.n_columns; c++) {
        sum += (cells[c] - v->mean[c]) * v->factor[c] * direction[c];
    }
    return sum;
}

/* out = C x, times the number of points. */
static void apply(const struct kmeans_job *job, const double *x, double *out)
{
    const struct kmeans_view *const v = &job->view;
    const size_t d = job->layout.n_columns;
    memset(out, 0, d * sizeof *out);
    for (size_t i = 0; i < job->shown.n; i++) {
        const double *const cells = job->shown.cells + i * d;
        const double times = along(job, cells, x);
        for (size_t c = 0; c < d; c++) {
            out[c] += times * (cells[c] - v->mean[c]) * v->factor[c];
        }
    }
}

/* Makes x orthogonal to n vectors of the basis, and a unit; false: nothing is left of it. */
static bool join(const struct kmeans_job *job, size_t n, double *x, double least)
{
    const size_t d = job->layout.n_columns;
    for (int time = 0; time < TWICE; time++) {
        for (size_t i = 0; i < n; i++) {
            const double *const q = job->view.basis + i * d;
            add(x, -dot(q, x, d), q, d);
        }
    }
    const double size = sqrt(dot(x, x, d));
    for (size_t c = 0; c < d && size > least; c++) {
        x[c] /= size;
    }
    return size > least;
}

/* Means, and factors that make numbers of columns comparable and at most 1; the sum of squares. */
static double prepare(struct kmeans_job *job)
{
    struct kmeans_view *const v = &job->view;
    const size_t d = job->layout.n_columns, n = job->shown.n;
    double widest = 0, total = 0;
    for (size_t c = 0; c < d; c++) {
        const double *const x = job->shown.cells + c;
        v->mean[c] = 0;
        for (size_t i = 0; i < n; i++) {
            v->mean[c] += (x[i * d] - x[0]) / (double)n;
        }
        v->mean[c] += x[0];
        widest = fmax(widest, (job->solve.max[c] - job->solve.min[c]) * job->solve.weight[c]);
    }
    v->size = widest > 0 ? widest : 1;
    for (size_t c = 0; c < d; c++) {
        v->factor[c] = job->solve.weight[c] / v->size;
        for (size_t i = 0; i < n; i++) {
            const double y = (job->shown.cells[i * d + c] - v->mean[c]) * v->factor[c];
            total += y * y;
        }
    }
    return total;
}

/* A basis of what C makes of two random vectors, and C within it, [n][n]; n. */
static size_t find_basis(struct kmeans_job *job, double total)
{
    struct kmeans_view *const v = &job->view;
    const size_t d = job->layout.n_columns, most = basis_of(job);
    double *const next = v->component; /* not needed yet */
    size_t n = 0;
    while (n < 2) {
        double *const q = v->basis + n * d;
        for (size_t c = 0; c < d; c++) {
            q[c] = (double)philox_block(0, n, c).w[0] - 0x1p31;
        }
        n += join(job, n, q, 0);
    }
    for (size_t k = 0; k < n; k++) {
        apply(job, v->basis + k * d, next);
        for (size_t i = 0; i <= k; i++) {
            v->within[i * most + k] = v->within[k * most + i] = dot(v->basis + i * d, next, d);
        }
        if (n < most && join(job, n, next, 1e-12 * total)) {
            memcpy(v->basis + n++ * d, next, d * sizeof *next);
        }
    }
    return n;
}

/* Numbers i and j of each of n pairs of rows or columns, `step` apart, turned by an angle. */
static void turn(double *a, size_t i, size_t j, size_t step, size_t n, double cosine, double sine)
{
    for (size_t k = 0; k < n; k++) {
        const double x = a[i], y = a[j];
        a[i] = cosine * x - sine * y;
        a[j] = sine * x + cosine * y;
        i += step;
        j += step;
    }
}

/* Eigenvalues of a symmetric a, [n][row], onto its diagonal, eigenvectors into the columns of q;
 * `least` beside it is nothing. */
static void diagonalize(double *a, double *q, size_t n, size_t row, double least)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            q[i * row + j] = i == j;
        }
    }
    bool turned = true;
    for (int sweep = 0; sweep < SWEEPS && turned; sweep++) {
        turned = false;
        for (size_t i = 0; i < n; i++) {
            for (size_t j = i + 1; j < n; j++) {
                const double off = a[i * row + j], on = a[i * row + i], other = a[j * row + j];
                if (fabs(off) <= least) {
                    continue;
                }
                const double theta = (other - on) / (2 * off);
                const double t = copysign(1 / (fabs(theta) + hypot(theta, 1)), theta);
                const double cosine = 1 / hypot(t, 1);
                turn(a, i, j, row, n, cosine, t * cosine);
                turn(a, i * row, j * row, 1, n, cosine, t * cosine);
                turn(q, i, j, row, n, cosine, t * cosine);
                turned = true;
            }
        }
    }
}

/* The component of an eigenvector; its largest number is positive, as in scikit-learn. */
static void make_component(struct kmeans_job *job, const double *of, size_t row, size_t n,
                           double *out)
{
    const size_t d = job->layout.n_columns;
    double largest = 0;
    memset(out, 0, d * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        add(out, of[i * row], job->view.basis + i * d, d);
    }
    for (size_t c = 0; c < d; c++) {
        largest = fabs(out[c]) > fabs(largest) ? out[c] : largest;
    }
    for (size_t c = 0; c < d; c++) {
        out[c] = largest < 0 ? -out[c] : out[c];
    }
}

void kmeans_view_find(struct kmeans_job *job)
{
    struct kmeans_view *const v = &job->view;
    if (!job->layout.has_components) {
        return;
    }
    const size_t row = basis_of(job);
    const double total = prepare(job);
    const size_t n = find_basis(job, total);
    double *const q = v->within + row * row;
    diagonalize(v->within, q, n, row, 0x1p-56 * total);
    for (size_t k = 0; k < 2; k++) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++) {
            best = v->within[i * (row + 1)] > v->within[best * (row + 1)] ? i : best;
        }
        make_component(job, q + best, row, n, v->component + k * job->layout.n_columns);
        v->share[k] = total > 0 ? fmax(v->within[best * (row + 1)], 0) / total : 0;
        v->within[best * (row + 1)] = -INFINITY;
    }
}

double kmeans_view_place(const struct kmeans_job *job, const double *cells, size_t axis)
{
    const struct kmeans_layout *const l = &job->layout;
    return l->has_components
               ? job->view.size * along(job, cells, job->view.component + axis * l->n_columns)
               : cells[l->axes[axis]];
}
