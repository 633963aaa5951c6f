/*
 * Long work on a queue that is stopped: no part of it begins any more, and the call says so.
 */
#include "kernels/base/queue_cpu.h"
#include "kernels/means/means.h"
#include "kernels/pearson/column_gaps.h"
#include "kernels/pearson/pearson_pairs.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_SERIES = 1500, N_SAMPLES = 512, PANEL = 512, N_PANELS = 3 };

/* An executor that counts bodies, and stops the queue when so many have run (0: never). */
static struct {
    size_t n_run, n_calls, stop_after, calls_at_stop;
    int stop;
} work;

static void run(void *context, size_t n, void (*body)(void *arg, size_t index), void *arg)
{
    (void)context;
    work.n_calls++;
    for (size_t i = 0; i < n; i++) {
        body(arg, i);
        if (++work.n_run == work.stop_after) {
            work.stop = 1;
            work.calls_at_stop = work.n_calls;
        }
    }
}

static struct queue *queue;
static struct series_rows x;
static struct span z, moments_memory, panels[N_PANELS];
static struct moments moments;
static struct matrix matrix;

static struct span room(size_t bytes)
{
    struct span s;
    assert_int_equal(backend_cpu.alloc(queue, bytes, &s), STATUS_OK);
    return s;
}

static void let_it_run(size_t stop_after)
{
    memset(&work, 0, sizeof work);
    work.stop_after = stop_after;
}

/* Series of which all pairs have a coefficient: slow waves of different lengths. */
static void fill_series(void)
{
    double *to = x.at.at;
    for (size_t s = 0; s < N_SERIES; s++) {
        for (size_t t = 0; t < N_SAMPLES; t++) {
            to[s * N_SAMPLES + t] = (double)((t * (s + 3) * 7 + s * s) % 97);
        }
    }
}

static int begin(void **state)
{
    (void)state;
    const struct backend_config config = {.executor = {.n_threads = 1, .run = run}};
    struct backend *backend;
    if (backend_cpu.open(&config, &backend) != STATUS_OK ||
        backend_cpu.queue_new(backend, &queue) != STATUS_OK) {
        return -1;
    }
    queue->stop = &work.stop;
    x = (struct series_rows){
        room(N_SERIES * N_SAMPLES * sizeof(double)), DTYPE_F64, N_SERIES, N_SAMPLES, 0, 0};
    z = room(N_SERIES * cpu_pearson.z_bytes(queue, PEARSON_EXACT, N_SAMPLES));
    moments_memory = room(moments_bytes(N_SERIES));
    moments = (struct moments){.at = moments_memory, .capacity = N_SERIES};
    for (size_t p = 0; p < N_PANELS; p++) {
        const size_t width = matrix_panel_width(p, PANEL, N_SERIES);
        panels[p] = room((width - p * PANEL) * width * sizeof(double));
    }
    matrix =
        (struct matrix){.n_series = N_SERIES, .panel = PANEL, .type = DTYPE_F64, .panels = panels};
    fill_series();
    return 0;
}

static int end(void **state)
{
    (void)state;
    struct backend *backend = queue->backend;
    backend_cpu.release(queue, x.at);
    backend_cpu.release(queue, z);
    backend_cpu.release(queue, moments_memory);
    for (size_t p = 0; p < N_PANELS; p++) {
        backend_cpu.release(queue, panels[p]);
    }
    backend_cpu.queue_free(queue);
    backend_cpu.close(backend);
    return 0;
}

/* --- the calls -------------------------------------------------------------------------------- */

static enum status take_means(void)
{
    return cpu_means.rows(queue, &x, moments);
}

static enum status take_increments(void)
{
    const struct span out = room(N_SERIES * N_SAMPLES * sizeof(double));
    const enum status st = cpu_pearson.diff_rows(queue, &x, PEARSON_DIFF_STEP, out);
    backend_cpu.release(queue, out);
    return st;
}

static enum status take_z(void)
{
    return cpu_pearson.standardize(queue, PEARSON_EXACT, &x, moments, z);
}

/* Panel p with n_b series. */
static struct pearson_panel panel_of(size_t p, size_t n_b)
{
    const size_t bytes = cpu_pearson.z_bytes(queue, PEARSON_EXACT, N_SAMPLES);
    const size_t first = p * PANEL, width = matrix_panel_width(p, PANEL, N_SERIES);
    return (struct pearson_panel){
        .precision = PEARSON_EXACT,
        .n_samples = N_SAMPLES,
        .a = {.z = span_from(z, first * bytes), .first = first, .n = width - first},
        .b = {.z = z, .n = n_b},
        .moments = moments,
        .r = panels[p],
        .width = width};
}

static enum status take_products(void)
{
    for (size_t p = 0; p < N_PANELS; p++) {
        const struct pearson_panel panel = panel_of(p, matrix_panel_width(p, PANEL, N_SERIES));
        STATUS_TRY(cpu_pearson.gram(queue, &panel));
    }
    return STATUS_OK;
}

/* All of them, as if each series had a gap. */
static enum status take_gaps(void)
{
    double *count = moments_array(moments, MOMENTS_COUNT);
    for (size_t s = 0; s < N_SERIES; s++) {
        count[s]--;
    }
    const struct pearson_panel panel = panel_of(0, PANEL);
    uint64_t n_unsure = 0;
    const enum status st = cpu_pearson.gram_gaps(queue, &panel, &n_unsure);
    for (size_t s = 0; s < N_SERIES; s++) {
        count[s]++;
    }
    return st;
}

static enum status take_pairs(void)
{
    enum { N_PAIRS = 2000 };
    static struct matrix_pair pairs[N_PAIRS];
    for (uint32_t k = 0; k < N_PAIRS; k++) {
        pairs[k] = (struct matrix_pair){.i = k % 300, .j = 300 + k % 400};
    }
    return cpu_pearson.exact_pairs(queue, &x, moments, pairs, N_PAIRS);
}

static enum status take_parts(void)
{
    enum { N_PAIRS = 2000 };
    static struct pearson_pair pairs[N_PAIRS];
    for (uint32_t k = 0; k < N_PAIRS; k++) {
        pairs[k] = (struct pearson_pair){.i = k % 300, .j = 300 + k % 400};
    }
    return cpu_pearson.pairs_add(queue, &x, (struct span){pairs, sizeof pairs}, N_PAIRS);
}

static enum status take_columns(void)
{
    void *state = NULL;
    enum status st = cpu_pearson.columns_new(queue, N_SERIES, N_SAMPLES, PEARSON_DIFF_NONE, &state);
    if (st == STATUS_OK) {
        st = cpu_pearson.columns_add(queue, state, x.at, DTYPE_F64, N_SAMPLES);
    }
    if (st == STATUS_OK) {
        st = cpu_pearson.columns_finish(queue, state, moments, &matrix);
    }
    cpu_pearson.columns_free(queue, state);
    return st;
}

static enum status take_column_gaps(void)
{
    struct room room = {.queue = queue};
    struct column_gaps gaps = {.queue = queue,
                               .n_samples = N_SAMPLES,
                               .slab_samples = N_SAMPLES,
                               .type = DTYPE_F64,
                               .moments = moments,
                               .matrix = matrix};
    bool again;
    enum status st = column_gaps_room(&gaps, &room);
    st = st == STATUS_OK ? column_gaps_add(&gaps, x.at, N_SAMPLES) : st;
    st = st == STATUS_OK ? column_gaps_end(&gaps, &again) : st;
    room_free(&room);
    return st;
}

/* Some series have a gap of their own. */
static enum status take_gapped_columns(void)
{
    enum { EVERY = 3 };
    double *at = x.at.at, whole[N_SERIES];
    for (size_t s = 0; s < N_SERIES; s += EVERY) {
        whole[s] = at[s % N_SAMPLES * N_SERIES + s];
        at[s % N_SAMPLES * N_SERIES + s] = NAN;
    }
    enum status st = take_columns();
    st = st == STATUS_OK ? take_column_gaps() : st;
    for (size_t s = 0; s < N_SERIES; s += EVERY) {
        at[s % N_SAMPLES * N_SERIES + s] = whole[s];
    }
    return st;
}

static enum status take_survey(void)
{
    static double medians[N_SERIES];
    struct matrix_survey survey;
    double all;
    return cpu_matrix.survey(queue, &matrix, &survey, medians, &all);
}

static enum status take_kth(void)
{
    double r;
    return cpu_matrix.kth_abs(queue, &matrix, 1000, &r);
}

static enum status take_select(void)
{
    const size_t capacity = (size_t)N_SERIES * (N_SERIES - 1) / 2;
    struct matrix_pair *pairs = malloc(capacity * sizeof *pairs);
    struct matrix_pairs found = {pairs, capacity, 0};
    assert_non_null(pairs);
    const enum status st = cpu_matrix.select(queue, &matrix, 0.1, &found);
    free(pairs);
    return st;
}

static enum status take_heatmap(void)
{
    static float cells[100 * 100];
    static const uint32_t ones[100];
    return cpu_matrix.heatmap(queue, &matrix, &(struct matrix_picture){100, NULL, ones, cells});
}

static const struct {
    const char *name;
    enum status (*call)(void);
} calls[] = {
    {"means", take_means},
    {"diff_rows", take_increments},
    {"standardize", take_z},
    {"gram", take_products},
    {"survey", take_survey},
    {"kth_abs", take_kth},
    {"select", take_select},
    {"heatmap", take_heatmap},
    {"gram_gaps", take_gaps},
    {"exact_pairs", take_pairs},
    {"pairs_add", take_parts},
    {"columns", take_columns},
    {"columns with gaps", take_gapped_columns},
};

/* --- the tests -------------------------------------------------------------------------------- */

static void count_body(void *arg, size_t index)
{
    ((size_t *)arg)[0]++;
    work.stop = index == 2;
}

TEST(no_part_of_long_work_begins_once_the_queue_is_stopped)
{
    size_t n = 0;
    let_it_run(0);
    assert_int_equal(cpu_run_long(queue, 100, count_body, &n), STATUS_CANCELLED);
    assert_int_equal(n, 3);
    assert_int_equal(cpu_run_long(queue, 1, count_body, &n), STATUS_CANCELLED);
    assert_int_equal(n, 3);
    let_it_run(0);
    assert_int_equal(cpu_run_long(queue, 2, count_body, &n), STATUS_OK);
    assert_int_equal(n, 5);
    queue->stop = NULL;
    assert_int_equal(cpu_run_long(queue, 2, count_body, &n), STATUS_OK);
    queue->stop = &work.stop;
}

/* Whatever body is the last that runs, the call is cancelled and begins no other loop. */
TEST(every_long_call_ends_soon_and_says_that_it_was_stopped)
{
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        let_it_run(0);
        assert_int_equal(calls[c].call(), STATUS_OK);
        const size_t n_run = work.n_run;
        if (n_run < 2) {
            fail_msg("%s is one piece of work", calls[c].name);
        }
        const size_t step = n_run / 8 + 1;
        for (size_t k = 1; k <= n_run; k += step) {
            let_it_run(k);
            if (calls[c].call() != STATUS_CANCELLED) {
                fail_msg("%s, stopped after %zu of %zu pieces, goes on", calls[c].name, k, n_run);
            }
            if (work.n_calls != work.calls_at_stop) {
                fail_msg("%s goes on to another loop", calls[c].name);
            }
        }
        let_it_run(0);
        assert_int_equal(calls[c].call(), STATUS_OK); /* for those that follow */
    }
}

static size_t n_read, stop_at_read;

static enum status read_and_stop(struct queue *q, void *dst, struct span src, size_t bytes)
{
    work.stop = ++n_read == stop_at_read;
    return backend_cpu.download(q, dst, src, bytes);
}

/* All coefficients are 1: too many for select, so the matrix is read piece by piece. */
TEST(reading_for_pairs_ends_once_the_queue_is_stopped)
{
    struct backend_ops ops = backend_cpu;
    ops.download = read_and_stop;
    queue->backend->ops = &ops;
    for (size_t p = 0; p < N_PANELS; p++) {
        for (size_t k = 0; k < panels[p].bytes / sizeof(double); k++) {
            ((double *)panels[p].at)[k] = 1;
        }
    }
    const struct pearson_wanted wanted = {.top = 10, .most = 1000};
    struct matrix_pair *pairs;
    size_t n;
    let_it_run(0);
    assert_int_equal(pearson_pairs_find(queue, &matrix, &wanted, &pairs, &n), STATUS_OK);
    assert_int_equal(n, 10);
    assert_true(n_read >= N_PANELS && n_read >= 2);
    free(pairs);
    n_read = 0;
    let_it_run(0);
    stop_at_read = 1;
    assert_int_equal(pearson_pairs_find(queue, &matrix, &wanted, &pairs, &n), STATUS_CANCELLED);
    assert_int_equal(n_read, 1);
    queue->backend->ops = &backend_cpu;
}

int main(void)
{
    return unit_run(begin, end);
}
