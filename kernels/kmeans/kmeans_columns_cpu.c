/*
 * kmeans_columns_cpu - the columns by themselves: ranges, and sums of squares.
 */
#include "kernels/kmeans/kmeans_pass_cpu.h"

static void range_body(struct kmeans_task *t)
{
    const struct kmeans_rows *x = &t->rows;
    const size_t d = x->d;
    double *least = t->own, *most = least + d;
    uint64_t first_bad = UINT64_MAX;
    for (size_t j = 0; j < d; ++j) {
        least[j] = (double)INFINITY;
        most[j] = -(double)INFINITY;
    }
    for (size_t p = 0; p < x->n; ++p) {
        const void *row = kmeans_row(x, p);
        bool bad = false;
        for (size_t j = 0; j < d; ++j) {
            const double v = dtype_real(x->type, row, j) + 0.0; /* never -0 */
            bad |= !(v - v == 0);
            least[j] = v < least[j] ? v : least[j];
            most[j] = v > most[j] ? v : most[j];
        }
        if (bad && first_bad == UINT64_MAX) {
            first_bad = t->pass->x->first + t->begin + p;
        }
    }
    double *min = kmeans_array(t->pass->m, KMEANS_MIN), *max = kmeans_array(t->pass->m, KMEANS_MAX);
    uint64_t *model_bad = kmeans_array(t->pass->m, KMEANS_BAD);
    pthread_mutex_lock(&t->pass->merging);
    for (size_t j = 0; j < d; ++j) {
        min[j] = least[j] < min[j] ? least[j] : min[j];
        max[j] = most[j] > max[j] ? most[j] : max[j];
    }
    *model_bad = first_bad < *model_bad ? first_bad : *model_bad;
    pthread_mutex_unlock(&t->pass->merging);
}

static void squares_body(struct kmeans_task *t)
{
    const struct kmeans_rows *x = &t->rows;
    const size_t d = x->d;
    const double *centre = kmeans_array(t->pass->m, KMEANS_CENTRE);
    const double *unit = kmeans_array(t->pass->m, KMEANS_SQUARE_UNIT);
    struct kmeans_sum *squares = kmeans_array(t->pass->m, KMEANS_SQUARES);
    struct kmeans_number *sum = t->own;
    double *per_unit = (double *)(sum + d);
    memset(sum, 0, d * sizeof *sum);
    for (size_t j = 0; j < d; ++j) {
        per_unit[j] = 1 / unit[j];
    }
    for (size_t p = 0; p < x->n; ++p) {
        const void *row = kmeans_row(x, p);
        for (size_t j = 0; j < d; ++j) {
            const double v = rounded_subtract(dtype_real(x->type, row, j), centre[j]);
            const struct kmeans_number v2 = kmeans_split(rounded_multiply(v, v), per_unit[j]);
            sum[j].high += v2.high;
            sum[j].low += v2.low;
        }
    }
    for (size_t j = 0; j < d; ++j) {
        kmeans_add_shared(&squares[j], sum[j]);
    }
}

static enum status run(struct queue *q, const struct kmeans_points *x, const struct kmeans_model *m,
                       size_t column_bytes, void (*body)(struct kmeans_task *t))
{
    struct kmeans_pass pass;
    STATUS_TRY(kmeans_pass_begin(&pass, x, m, 0, 0));
    pass.own_bytes = m->n_columns * column_bytes;
    pass.body = body;
    return kmeans_pass_run(q, &pass);
}

enum status kmeans_cpu_range(struct queue *q, const struct kmeans_points *x,
                             const struct kmeans_model *m)
{
    return run(q, x, m, 2 * sizeof(double), range_body);
}

enum status kmeans_cpu_squares(struct queue *q, const struct kmeans_points *x,
                               const struct kmeans_model *m)
{
    return run(q, x, m, sizeof(struct kmeans_number) + sizeof(double), squares_body);
}
