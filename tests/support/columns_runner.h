/*
 * columns_runner - a table whose columns are the series through the kernels, slab by slab, and once
 * more for pairs with missing samples.
 */
#ifndef LEAT_TESTS_SUPPORT_COLUMNS_RUNNER_H
#define LEAT_TESTS_SUPPORT_COLUMNS_RUNNER_H

#include "kernels/pearson/column_gaps.h"
#include "tests/support/backend_under_test.h"

#include <stdlib.h>

struct columns_table {
    size_t n_series, n_samples, slab;
    enum dtype type;
    enum pearson_diff diff;
    const double *x; /* by series */
    size_t most;     /* pairs that are taken by themselves at a time; 0: as many as there is room */
    bool once;       /* few series: what is missing is left to the accumulators */
};

typedef enum status columns_take_fn(void *context, struct span slab, size_t n);

/* All slabs; each is gone when it has been taken. */
static inline void columns_feed(const struct columns_table *c, columns_take_fn *take, void *context)
{
    double *lines = malloc((c->slab * c->n_series + 1) * sizeof *lines);
    assert_non_null(lines);
    for (size_t first = 0; first < c->n_samples; first += c->slab) {
        const size_t left = c->n_samples - first, n = left < c->slab ? left : c->slab;
        for (size_t t = 0; t < n; t++) {
            for (size_t s = 0; s < c->n_series; s++) {
                lines[t * c->n_series + s] = c->x[s * c->n_samples + first + t];
            }
        }
        struct span slab = under_test_put_numbers(lines, n * c->n_series, c->type);
        ASSERT_OK(take(context, slab, n));
        under_test_release(slab);
    }
    free(lines);
}

struct columns_whole {
    void *state;
    enum dtype type;
};

static inline enum status columns_add_whole(void *context, struct span slab, size_t n)
{
    const struct columns_whole *w = context;
    return under_test_ops()->pearson->columns_add(under_test_queue, w->state, slab, w->type, n);
}

static inline enum status columns_add_gaps(void *context, struct span slab, size_t n)
{
    return column_gaps_add(context, slab, n);
}

/* The samples that n pairs have in common come, too. Returns how often the slabs came. */
static inline size_t columns_run(const struct columns_table *c, struct moments moments,
                                 const struct matrix *m, struct matrix_pair *pairs, size_t n)
{
    const struct pearson_kernels *k = under_test_ops()->pearson;
    struct columns_whole whole = {.type = c->type};
    ASSERT_OK(k->columns_new(under_test_queue, c->n_series, c->slab, c->diff, &whole.state));
    columns_feed(c, columns_add_whole, &whole);
    ASSERT_OK(k->columns_finish(under_test_queue, whole.state, moments, m));
    if (c->once && c->n_series <= k->columns_few) {
        k->columns_common(whole.state, pairs, n);
        k->columns_free(under_test_queue, whole.state);
        return 1;
    }
    k->columns_free(under_test_queue, whole.state);

    struct room room = {.queue = under_test_queue};
    struct column_gaps g = {.queue = under_test_queue,
                            .n_samples = c->n_samples - (c->n_samples > 0 && c->diff ? 1 : 0),
                            .slab_samples = c->slab,
                            .type = c->type,
                            .diff = c->diff,
                            .moments = moments,
                            .matrix = *m};
    size_t n_passes = 1;
    bool again = true;
    ASSERT_OK(column_gaps_room(&g, &room));
    g.most = c->most > 0 && c->most < g.most ? c->most : g.most;
    for (; again; n_passes++) {
        columns_feed(c, columns_add_gaps, &g);
        ASSERT_OK(column_gaps_end(&g, &again));
    }
    for (size_t done = 0, part; done < n; done += part) {
        part = n - done < g.most ? n - done : g.most;
        ASSERT_OK(column_gaps_count(&g, pairs + done, part));
        columns_feed(c, columns_add_gaps, &g);
        ASSERT_OK(column_gaps_counted(&g, pairs + done));
    }
    room_free(&room);
    return n_passes;
}

#endif
