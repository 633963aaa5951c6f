/*
 * backend_under_test - the backend that $LEAT_TEST_BACKEND names ("cpu" when it is not set), for
 * tests that run unchanged on either.
 *
 * The helpers fail the running test when the backend reports an error.
 */
#ifndef LEAT_TESTS_BACKEND_UNDER_TEST_H
#define LEAT_TESTS_BACKEND_UNDER_TEST_H

#include "formats/base/dtype.h"
#include "kernels/backend.h"
#include "kernels/pearson/pearson.h"
#include "tests/support/unit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs a program's tests on it: opens it and a queue, runs them between the group's setup and
 * teardown (or NULL), closes it. The exit code of main: 77 (said on stderr) when it is cuda and
 * there is no device, 1 when it could not be opened, or the number of tests that failed. */
#define UNDER_TEST_RUN(setup, teardown) under_test_run(unit_tests, unit_count, setup, teardown)
int under_test_run(const struct CMUnitTest *tests, size_t n_tests, CMFixtureFunction setup,
                   CMFixtureFunction teardown);

extern struct queue *under_test_queue;
const struct backend_ops *under_test_ops(void);
bool under_test_is_cpu(void);

/* What takes long on the CPU may be left for $LEAT_TEST_LARGE. */
bool under_test_is_quick(void);
/* A queue of its own; the k-th is on the k-th device, counted round where there are fewer. Freed by
 * under_test_ops()->queue_free. */
struct queue *under_test_queue_new(size_t k);
/* n; but `small` where $LEAT_TEST_SMALL is set: compute-sanitizer takes hundreds of times as long.
 */
size_t under_test_size(size_t n, size_t small);

/* An executor of n threads, as the backend was opened with (3). */
struct executor under_test_executor(size_t n_threads);
/* How many threads the CPU kernels of the backend under test use from now on. */
void under_test_threads(size_t n_threads);

/* Fails the test, with the message, unless st is STATUS_OK. */
#define ASSERT_OK(st) under_test_ok((st), #st, __FILE__, __LINE__)
void under_test_ok(enum status st, const char *what, const char *file, int line);

/* Backend memory that holds a copy of `from`; n values of `type` from doubles; bytes all 0xA5. */
struct span under_test_put(const void *from, size_t bytes);
struct span under_test_put_numbers(const double *from, size_t n, enum dtype type);
struct span under_test_room(size_t bytes);
void under_test_get(void *to, struct span from, size_t bytes);
/* Fails the test unless the bytes from `offset` to the end are still 0xA5. */
void under_test_untouched(struct span s, size_t offset);
void under_test_release(struct span s);

/* A matrix with panels of its own (all 0xA5, each with 64 bytes too many that have to stay so). */
struct under_test_matrix {
    struct matrix m;
    struct span *panels;
    size_t n_panels;
};
struct under_test_matrix under_test_matrix(size_t n_series, size_t panel, enum dtype type);
/* The condensed triangle as doubles. */
void under_test_condensed(const struct under_test_matrix *m, double *r);
/* Checks what must not be touched, and releases. */
void under_test_matrix_done(struct under_test_matrix *m);

#endif
