/* correlate_taken - all series of a matrix into a correlation, panel by panel. */
#ifndef LEAT_TESTS_SUPPORT_CORRELATE_TAKEN_H
#define LEAT_TESTS_SUPPORT_CORRELATE_TAKEN_H

#include "kernels/pearson/correlate.h"
#include "tests/support/backend_under_test.h"

static void take(struct correlation *c, struct span x)
{
    const size_t all = c->request.n_series;
    while (c->n_taken < all) {
        const size_t left = all - c->n_taken, n = left < c->request.panel ? left : c->request.panel;
        struct span there;
        ASSERT_OK(correlate_next(c, &there));
        ASSERT_OK(under_test_ops()->copy(under_test_queue, there,
                                         span_from(x, c->n_taken * correlate_x_bytes(c)),
                                         n * correlate_x_bytes(c)));
        ASSERT_OK(correlate_take(c, there, n));
    }
    ASSERT_OK(correlate_end(c));
}

#endif
