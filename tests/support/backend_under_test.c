/*
 * backend_under_test - see the header.
 */
#include "tests/support/backend_under_test.h"

#include "pipeline/engine/thread_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, GUARD = 64, FILL = 0xA5 };

enum { MOST_DEVICES = 16 };

struct queue *under_test_queue;
static struct backend *backend;
static struct backend *devices[MOST_DEVICES]; /* those that have been opened besides the first */

/* --- the executor: the engine's, of as many threads as the test wants ------------------------ */

static struct thread_pool *pool;

static void run_on_pool(void *context, size_t n, void (*body)(void *, size_t), void *arg)
{
    (void)context;
    struct executor e = thread_pool_executor(pool);
    e.run(e.context, n, body, arg);
}

static void end_pool(void)
{
    thread_pool_free(pool);
    pool = NULL;
}

void under_test_threads(size_t n_threads)
{
    if (pool == NULL) {
        atexit(end_pool);
    }
    end_pool();
    ASSERT_OK(thread_pool_new(n_threads, &pool));
}

struct executor under_test_executor(size_t n_threads)
{
    under_test_threads(n_threads);
    return (struct executor){.n_threads = n_threads, .run = run_on_pool};
}

/* --- opening --------------------------------------------------------------------------------- */

static const char *wanted(void)
{
    const char *name = getenv("LEAT_TEST_BACKEND");
    return name == NULL || name[0] == '\0' ? "cpu" : name;
}

bool under_test_is_cpu(void)
{
    return strcmp(wanted(), "cpu") == 0;
}

bool under_test_is_quick(void)
{
    return under_test_is_cpu() && getenv("LEAT_TEST_LARGE") == NULL;
}

size_t under_test_size(size_t n, size_t small)
{
    const char *set = getenv("LEAT_TEST_SMALL");
    return set == NULL || set[0] == '\0' ? n : small;
}

static int open_backend(void)
{
    struct backend_config config = {.executor = under_test_executor(THREADS)};
    char why[256];
    enum status st = backend_select(wanted(), &config, why, sizeof why, &backend);
    if (st == STATUS_NO_BACKEND && strstr(status_message(), "cannot be used") == NULL) {
        fprintf(stderr, "SKIPPED: no %s backend here: %s\n", wanted(), status_message());
        return 77;
    }
    if (st == STATUS_OK) {
        st = backend->ops->queue_new(backend, &under_test_queue);
    }
    if (st != STATUS_OK) {
        fprintf(stderr, "cannot open the %s backend: %s\n", wanted(), status_message());
        return 1;
    }
    return 0;
}

int under_test_run(const struct CMUnitTest *tests, size_t n_tests, CMFixtureFunction setup,
                   CMFixtureFunction teardown)
{
    int failed = open_backend();
    if (failed == 0) {
        failed = unit_run_group(tests, n_tests, setup, teardown);
        backend->ops->queue_free(under_test_queue);
        for (size_t i = 0; i < MOST_DEVICES; ++i) {
            if (devices[i] != NULL) {
                backend->ops->close(devices[i]);
            }
        }
        backend->ops->close(backend);
    }
    return failed;
}

struct queue *under_test_queue_new(size_t k)
{
    size_t n;
    struct queue *q;
    ASSERT_OK(backend->ops->count(&n));
    const size_t i = k % (n < MOST_DEVICES ? n : MOST_DEVICES);
    if (i > 0 && devices[i] == NULL) {
        const struct backend_config config = {.executor = under_test_executor(THREADS),
                                              .device = (int)i};
        ASSERT_OK(backend_open_cuda(&config, &devices[i]));
    }
    struct backend *b = i > 0 ? devices[i] : backend;
    ASSERT_OK(b->ops->queue_new(b, &q));
    return q;
}

const struct backend_ops *under_test_ops(void)
{
    return backend->ops;
}

void under_test_ok(enum status st, const char *what, const char *file, int line)
{
    if (st != STATUS_OK) {
        print_error("%s: %s: %s\n", what, status_name(st), status_message());
        _fail(file, line);
    }
}

/* --- memory ---------------------------------------------------------------------------------- */

struct span under_test_put(const void *from, size_t bytes)
{
    struct span s;
    uint64_t ticket;
    ASSERT_OK(backend->ops->alloc(under_test_queue, bytes, &s));
    ASSERT_OK(backend->ops->upload(under_test_queue, s, from, bytes, &ticket));
    ASSERT_OK(backend->ops->upload_wait(under_test_queue, ticket));
    return s;
}

struct span under_test_put_numbers(const double *from, size_t n, enum dtype type)
{
    if (type == DTYPE_F64) {
        return under_test_put(from, n * sizeof *from);
    }
    float *narrow = malloc(n * sizeof *narrow + 1);
    assert_non_null(narrow);
    for (size_t k = 0; k < n; ++k) {
        narrow[k] = (float)from[k];
    }
    struct span s = under_test_put(narrow, n * sizeof *narrow);
    free(narrow);
    return s;
}

struct span under_test_room(size_t bytes)
{
    unsigned char *fill = malloc(bytes + 1);
    assert_non_null(fill);
    memset(fill, FILL, bytes);
    struct span s = under_test_put(fill, bytes);
    free(fill);
    return s;
}

void under_test_get(void *to, struct span from, size_t bytes)
{
    ASSERT_OK(backend->ops->download(under_test_queue, to, from, bytes));
}

void under_test_untouched(struct span s, size_t offset)
{
    unsigned char *all = malloc(s.bytes + 1);
    assert_non_null(all);
    under_test_get(all, s, s.bytes);
    for (size_t k = offset; k < s.bytes; ++k) {
        assert_int_equal(all[k], FILL);
    }
    free(all);
}

void under_test_release(struct span s)
{
    backend->ops->release(under_test_queue, s);
}

/* --- matrices -------------------------------------------------------------------------------- */

static size_t panel_bytes(const struct under_test_matrix *m, size_t p)
{
    size_t width = matrix_panel_width(p, m->m.panel, m->m.n_series);
    return (width - p * m->m.panel) * width * dtype_bytes(m->m.type);
}

struct under_test_matrix under_test_matrix(size_t n_series, size_t panel, enum dtype type)
{
    struct under_test_matrix m = {.m = {.n_series = n_series, .panel = panel, .type = type},
                                  .n_panels = (n_series + panel - 1) / panel};
    m.panels = calloc(m.n_panels + 1, sizeof *m.panels);
    assert_non_null(m.panels);
    for (size_t p = 0; p < m.n_panels; ++p) {
        m.panels[p] = under_test_room(panel_bytes(&m, p) + GUARD);
    }
    m.m.panels = m.panels;
    return m;
}

void under_test_condensed(const struct under_test_matrix *m, double *r)
{
    size_t n = m->m.n_series * (m->m.n_series - 1) / 2;
    ASSERT_OK(backend->ops->matrix->condensed(under_test_queue, &m->m, 0, n, r));
    if (m->m.type == DTYPE_F32) {
        for (size_t k = n; k-- > 0;) {
            float narrow;
            memcpy(&narrow, (const char *)r + k * sizeof narrow, sizeof narrow);
            r[k] = (double)narrow;
        }
    }
}

void under_test_matrix_done(struct under_test_matrix *m)
{
    for (size_t p = 0; p < m->n_panels; ++p) {
        under_test_untouched(m->panels[p], panel_bytes(m, p));
        under_test_release(m->panels[p]);
    }
    free(m->panels);
}
