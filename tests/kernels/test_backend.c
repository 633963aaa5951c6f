/*
 * test_backend - memory, copies, and the choice of a backend. Memory and copies run on the backend
 * LEAT_TEST_BACKEND.
 */
#include "kernels/kmeans/kmeans.h"
#include "kernels/sciddicat/sciddicat.h"
#include "kernels/self_test.h"
#include "tests/support/backend_under_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct backend_config *config(void)
{
    static struct backend_config c;
    c.executor = under_test_executor(3);
    return &c;
}

/* --- memory and copies ----------------------------------------------------------------------- */

TEST(alloc_aligns_and_gives_what_was_asked_for)
{
    static const size_t sizes[] = {1,
                                   31,
                                   4096,
                                   ((size_t)1 << 20) - 1,
                                   (size_t)1 << 20,
                                   ((size_t)1 << 21) + 5,
                                   (size_t)50 << 20};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
        struct span s;
        ASSERT_OK(under_test_ops()->alloc(under_test_queue, sizes[k], &s));
        assert_int_equal(s.bytes, sizes[k]);
        assert_int_equal((uintptr_t)s.at % 256, 0);
        ASSERT_OK(under_test_ops()->zero(under_test_queue, s));
        char last = 1;
        under_test_get(&last, span_from(s, sizes[k] - 1), 1);
        assert_int_equal(last, 0);
        under_test_release(s);
    }
    under_test_release((struct span){0});
}

TEST(alloc_of_too_much_says_how_much)
{
    struct span s;
    size_t much = (size_t)1 << 60;
    assert_int_equal(under_test_ops()->alloc(under_test_queue, much, &s), STATUS_NO_MEMORY);
    assert_true(s.at == NULL && s.bytes == 0);
    char bytes[32];
    (void)snprintf(bytes, sizeof bytes, "%zu", much);
    assert_non_null(strstr(status_message(), bytes));
}

TEST(host_memory_is_aligned_to_pages)
{
    struct backend *b = under_test_queue->backend;
    for (size_t bytes = 1; bytes < ((size_t)1 << 24); bytes = bytes * 5 + 3) {
        void *p;
        ASSERT_OK(under_test_ops()->host_alloc(b, bytes, &p));
        assert_int_equal((uintptr_t)p % 4096, 0);
        memset(p, 1, bytes);
        under_test_ops()->host_free(b, p);
    }
    under_test_ops()->host_free(b, NULL);
}

TEST(memory_from_elsewhere_can_be_pinned_for_copies)
{
    enum { BYTES = 3 << 20 };
    struct backend *b = under_test_queue->backend;
    const struct backend_ops *ops = under_test_ops();
    struct span s;
    size_t n = 0;
    ASSERT_OK(ops->count(&n));
    assert_true(n >= 1);
    ASSERT_OK(ops->alloc(under_test_queue, BYTES, &s));
    for (int round = 0; round < 2; round++) { /* once more, after it was unpinned */
        unsigned char *p = aligned_alloc(4096, BYTES);
        uint64_t ticket;
        assert_non_null(p);
        memset(p, 5 + round, BYTES);
        ASSERT_OK(ops->host_pin(b, p, BYTES));
        ASSERT_OK(ops->upload(under_test_queue, s, p, BYTES, &ticket));
        ASSERT_OK(ops->upload_wait(under_test_queue, ticket));
        memset(p, 0, BYTES);
        ASSERT_OK(ops->download(under_test_queue, p, s, BYTES));
        assert_int_equal(p[0], 5 + round);
        assert_int_equal(p[BYTES - 1], 5 + round);
        ops->host_unpin(b, p);
        free(p);
    }
    under_test_release(s);
}

TEST(copies_keep_to_their_range_and_are_counted)
{
    const struct backend_ops *ops = under_test_ops();
    struct queue_busy busy;
    unsigned char bytes[300], back[300];
    for (size_t k = 0; k < sizeof bytes; ++k) {
        bytes[k] = (unsigned char)(k * 7 + 1);
    }
    struct span a = under_test_room(400), b = under_test_room(400);
    ASSERT_OK(ops->finish(under_test_queue));
    ops->busy(under_test_queue, &busy, true);
    uint64_t ticket;
    ASSERT_OK(ops->upload(under_test_queue, a, bytes, sizeof bytes, &ticket));
    ASSERT_OK(ops->upload_wait(under_test_queue, ticket));
    under_test_untouched(a, sizeof bytes);
    ASSERT_OK(ops->copy(under_test_queue, span_from(b, 50), span_from(a, 10), 200));
    under_test_untouched(b, 250);
    ASSERT_OK(ops->finish(under_test_queue));
    ops->busy(under_test_queue, &busy, true);
    assert_int_equal(busy.upload_bytes, 300);
    assert_int_equal(busy.download_bytes, 800);
    under_test_get(back, b, 250);
    assert_int_equal(back[49], 0xA5);
    assert_memory_equal(back + 50, bytes + 10, 200);
    ASSERT_OK(ops->finish(under_test_queue));
    ops->busy(under_test_queue, &busy, false);
    assert_int_equal(busy.upload_bytes, 0);
    assert_int_equal(busy.download_bytes, 250);
    under_test_release(a);
    under_test_release(b);
}

TEST(memory_is_not_filled_once_the_queue_is_stopped)
{
    if (!under_test_is_cpu()) { /* a device does it by itself */
        skip();
    }
    static const int stop = 1;
    const struct backend_ops *ops = under_test_ops();
    const struct span s = under_test_room(400);
    const char bytes[400] = {0};
    uint64_t ticket;
    under_test_queue->stop = &stop;
    assert_int_equal(ops->upload(under_test_queue, s, bytes, sizeof bytes, &ticket),
                     STATUS_CANCELLED);
    assert_int_equal(ops->zero(under_test_queue, s), STATUS_CANCELLED);
    under_test_queue->stop = NULL;
    under_test_untouched(s, 0);
    under_test_release(s);
}

/* Both sides have more to do with the memory right before and right after. */
TEST(copies_between_queues_are_in_the_order_of_both)
{
    enum { BYTES = 1 << 22, PART = BYTES - 5 };
    const struct backend_ops *ops = under_test_ops();
    struct queue *q = under_test_queue, *other = under_test_queue_new(1);
    struct span a = under_test_room(BYTES), b;
    unsigned char *old = malloc(BYTES), *new = malloc(BYTES), *back = malloc(BYTES);
    assert_true(old != NULL && new != NULL &&back != NULL);
    memset(old, 3, BYTES);
    memset(new, 4, BYTES);
    ASSERT_OK(ops->alloc(other, BYTES, &b));
    for (int round = 0; round < 20; ++round) {
        uint64_t first, second;
        ASSERT_OK(ops->upload(q, a, old, BYTES, &first));
        ASSERT_OK(ops->zero(other, b));
        ASSERT_OK(ops->copy_across(other, b, q, a, PART));
        ASSERT_OK(ops->upload(q, a, new, BYTES, &second));
        ASSERT_OK(ops->download(other, back, b, BYTES));
        assert_memory_equal(back, old, PART);
        assert_int_equal(back[PART], 0);
        ASSERT_OK(ops->copy_across(q, a, other, b, PART));
        ASSERT_OK(ops->zero(other, b));
        ASSERT_OK(ops->download(q, back, a, BYTES));
        assert_memory_equal(back, old, PART);
        assert_int_equal(back[PART], 4);
        ASSERT_OK(ops->upload_wait(q, first));
        ASSERT_OK(ops->upload_wait(q, second));
    }
    assert_int_equal(ops->copy_across(other, b, q, a, BYTES + 1), STATUS_INTERNAL);
    ops->release(other, b);
    ops->queue_free(other);
    under_test_release(a);
    free(old);
    free(new);
    free(back);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Two queues clear memory at the same time: of both together no less than of one, and no more than
 * time went by. The CPU has no such clock. */
TEST(times_of_queues_that_overlap_count_once)
{
    enum { TIMES = 200, QUEUES = 2 };
    const struct backend_ops *ops = under_test_ops();
    struct backend *b = under_test_queue->backend;
    const size_t bytes = under_test_is_cpu() ? 1 << 10 : (size_t)1 << 30;
    struct queue *queues[QUEUES];
    struct span spans[QUEUES];
    struct queue_busy before, after, each[QUEUES];
    for (size_t k = 0; k < QUEUES; k++) {
        ASSERT_OK(ops->queue_new(b, &queues[k]));
        ASSERT_OK(ops->alloc(queues[k], bytes, &spans[k]));
        ASSERT_OK(ops->finish(queues[k]));
        ops->busy(queues[k], &each[k], true);
    }
    const double begun = now_s();
    ops->busy_all(b, &before);
    for (size_t i = 0; i < TIMES * QUEUES; i++) {
        ASSERT_OK(ops->zero(queues[i % QUEUES], spans[i % QUEUES]));
    }
    double longest = 0, sum = 0;
    for (size_t k = 0; k < QUEUES; k++) {
        ASSERT_OK(ops->finish(queues[k]));
        ops->busy(queues[k], &each[k], true);
        longest = each[k].device_s > longest ? each[k].device_s : longest;
        sum += each[k].device_s;
    }
    ops->busy_all(b, &after);
    const double wall = now_s() - begun, together = after.device_s - before.device_s;
    for (size_t k = 0; k < QUEUES; k++) {
        ops->release(queues[k], spans[k]);
        ops->queue_free(queues[k]);
    }
    if (under_test_is_cpu()) {
        assert_true(after.device_s == 0 && after.upload_s == 0 && after.download_s == 0);
        return;
    }
    print_message("%.6f s together, %.6f s at most of one, %.6f s added up, in %.6f s\n", together,
                  longest, sum, wall);
    assert_true(longest > 0 && together >= longest * 0.999);
    assert_true(together <= wall * 1.001 && together <= sum * 1.001);
}

TEST(span_from_beyond_the_end_is_empty)
{
    char memory[8];
    struct span s = {memory, 8};
    assert_true(span_from(s, 3).at == memory + 3 && span_from(s, 3).bytes == 5);
    assert_int_equal(span_from(s, 8).bytes, 0);
    assert_true(span_from(s, 9).at == NULL && span_from(s, 9).bytes == 0);
    assert_true(span_from((struct span){0}, 0).at == NULL);
}

TEST(describe_names_the_device)
{
    struct backend_info info;
    under_test_ops()->describe(under_test_queue->backend, &info);
    assert_string_equal(info.name, under_test_ops()->name);
    assert_true(strlen(info.device) > 0 && strlen(info.detail) > 0 && info.n_threads > 0);
    assert_int_equal(info.memory_bytes == 0, under_test_is_cpu());
}

TEST(self_test_passes_against_the_cpu)
{
    struct backend *cpu;
    ASSERT_OK(backend_cpu.open(config(), &cpu));
    ASSERT_OK(self_test(under_test_queue->backend, cpu));
    backend_cpu.close(cpu);
}

/* --- choice ---------------------------------------------------------------------------------- */

/* A backend that is wrong in one kernel: the CPU's with medians off by a little. */
static enum status wrong_survey(struct queue *q, const struct matrix *m, struct matrix_survey *out,
                                double *median_abs, double *median_abs_all)
{
    enum status st = backend_cpu.matrix->survey(q, m, out, median_abs, median_abs_all);
    *median_abs_all += 1e-9;
    return st;
}

/* The same, with the last bit of one cell. */
static enum status wrong_state(struct queue *q, void *run, double *h, double *max_h,
                               int32_t *arrival)
{
    enum status st = backend_cpu.sciddicat->state(q, run, h, max_h, arrival);
    h[30 * 67 + 30] = nextafter(h[30 * 67 + 30], 1e9);
    return st;
}

/* The same, with the label of one point. */
static enum status wrong_label(struct queue *q, const struct kmeans_points *x,
                               const struct kmeans_model *m, struct span labels)
{
    enum status st = backend_cpu.kmeans->label(q, x, m, labels);
    ((int32_t *)labels.at)[200] ^= 1;
    return st;
}

static void check_self_test_finds(const struct backend_ops *ops, const char *what)
{
    struct backend *cpu, *wrong;
    ASSERT_OK(backend_cpu.open(config(), &cpu));
    ASSERT_OK(backend_cpu.open(config(), &wrong));
    wrong->ops = ops;
    assert_int_equal(self_test(wrong, cpu), STATUS_DEVICE);
    assert_non_null(strstr(status_message(), what));
    backend_cpu.close(wrong);
    backend_cpu.close(cpu);
}

TEST(self_test_finds_a_wrong_kernel)
{
    struct matrix_kernels matrix = *backend_cpu.matrix;
    struct sciddicat_kernels sciddicat = *backend_cpu.sciddicat;
    struct kmeans_kernels kmeans = *backend_cpu.kmeans;
    struct backend_ops ops = backend_cpu;
    matrix.survey = wrong_survey;
    ops.matrix = &matrix;
    check_self_test_finds(&ops, "medians");
    ops.matrix = backend_cpu.matrix;
    sciddicat.state = wrong_state;
    ops.sciddicat = &sciddicat;
    check_self_test_finds(&ops, "debris");
    ops.sciddicat = backend_cpu.sciddicat;
    kmeans.label = wrong_label;
    ops.kmeans = &kmeans;
    check_self_test_finds(&ops, "cluster of point 200");
}

TEST(select_cpu_opens_the_cpu_and_says_nothing)
{
    struct backend *b;
    char why[200] = "x";
    ASSERT_OK(backend_select("cpu", config(), why, sizeof why, &b));
    assert_ptr_equal(b->ops, &backend_cpu);
    assert_string_equal(why, "");
    b->ops->close(b);
}

TEST(select_of_an_unknown_name_is_a_bad_argument)
{
    struct backend *b;
    char why[200];
    assert_int_equal(backend_select("opencl", config(), why, sizeof why, &b), STATUS_BAD_ARGUMENT);
    assert_null(b);
    assert_non_null(strstr(status_message(), "opencl"));
}

/* A module directory of this test's, with a file in it that is no library. */
static void with_a_broken_module(char *dir, size_t size)
{
    char path[300];
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(dir, size, "%s/leat-module-XXXXXX", tmp == NULL ? "/tmp" : tmp);
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/%s", dir, BACKEND_MODULE_FILE);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("not a library\n", f);
    fclose(f);
    setenv("LEAT_MODULE_DIR", dir, 1);
}

static void without_it(const char *dir, const char *before)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", dir, BACKEND_MODULE_FILE);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
    if (before != NULL) {
        setenv("LEAT_MODULE_DIR", before, 1);
    } else {
        unsetenv("LEAT_MODULE_DIR");
    }
}

TEST(select_auto_falls_back_with_a_reason_and_cuda_does_not)
{
    struct backend *b;
    char why[400], dir[200];
    const char *set = getenv("LEAT_MODULE_DIR");
    char *before = set == NULL ? NULL : strdup(set);
    with_a_broken_module(dir, sizeof dir);
    ASSERT_OK(backend_select("auto", config(), why, sizeof why, &b));
    assert_ptr_equal(b->ops, &backend_cpu);
    assert_non_null(strstr(why, BACKEND_MODULE_FILE));
    assert_null(strchr(why, '\n'));
    b->ops->close(b);
    assert_int_equal(backend_select("cuda", config(), why, sizeof why, &b), STATUS_NO_BACKEND);
    assert_null(b);
    assert_non_null(strstr(status_message(), BACKEND_MODULE_FILE));
    without_it(dir, before);
    free(before);
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
