/*
 * case_sweep - a thousand runs of one landslide, which differ in p_r, as a calibration makes them:
 * 610 x 496 cells, 4000 steps; thickness and maxima of each come to the host.
 *
 * On CUDA a run takes a cluster of 16 of the 132 multiprocessors, as long as that holds all that
 * moves: an H200 makes seven or so at a time. On the CPU each thread has runs of its own. The peer
 * makes one run at a time, a few of them, scaled. Runs of both give the same bits.
 */
#include "kernels/sciddicat/landslide.h"
#include "tests/bench/bench.h"
#include "tests/bench/slide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 1000, RUNS_CPU = 32, RUNS_SMOKE = 5, RUNS_PEER = 4, STEPS = 4000, HEAP = 12 };

struct sweep_state {
    struct landslide slide;
    struct landslide_sweep sweep, one; /* one: at a time */
    struct room room;
    double epsilon[RUNS], r[RUNS];
    size_t n_told;
    double
        *ends[RUNS_PEER]; /* thicknesses of the first runs, in turn with those of the other way */
    bool differs;
};

static enum status sweep_done(void *context, size_t first, size_t n)
{
    struct sweep_state *s = context;
    const struct landslide_sweep *const w = s->n_told < s->one.n_runs ? &s->one : &s->sweep;
    const size_t bytes = s->slide.n_cells * sizeof(double);
    for (size_t i = 0; i < n && first + i < s->one.n_runs; i++) {
        if (w == &s->one) {
            memcpy(s->ends[first + i], w->ends[i].h, bytes);
        } else if (memcmp(s->ends[first + i], w->ends[i].h, bytes) != 0) {
            s->differs = true;
        }
    }
    s->n_told += n;
    return STATUS_OK;
}

static enum status sweep_run(struct bench *b, void *state)
{
    struct sweep_state *s = state;
    s->n_told = s->one.n_runs;
    STATUS_TRY(landslide_sweep(&s->slide, &s->sweep, b->queue));
    return s->differs ? status_fail(STATUS_INTERNAL, "side by side the bits differ") : STATUS_OK;
}

static enum status sweep_peer(struct bench *b, void *state, double *seconds)
{
    struct sweep_state *s = state;
    const double start = bench_now_s();
    s->n_told = 0;
    STATUS_TRY(landslide_sweep(&s->slide, &s->one, b->queue));
    *seconds = (bench_now_s() - start) * (double)s->sweep.n_runs / (double)s->one.n_runs;
    return STATUS_OK;
}

static void sweep_close(struct bench *b, void *state)
{
    struct sweep_state *s = state;
    (void)b;
    room_free(&s->room);
    free(s);
}

static enum status make_room(const struct bench *b, struct sweep_state *s)
{
    struct landslide *const l = &s->slide;
    s->room.queue = b->queue;
    STATUS_TRY(landslide_room(l, b->queue, &s->room));
    STATUS_TRY(room_host(&s->room, l->n_cells, sizeof *l->h, &l->h));
    STATUS_TRY(room_host(&s->room, l->n_cells, sizeof *l->max_h, &l->max_h));
    STATUS_TRY(room_host(&s->room, l->n_cells, sizeof *l->arrival, &l->arrival));
    STATUS_TRY(landslide_sweep_room(l, &s->sweep, &s->room));
    STATUS_TRY(landslide_sweep_room(l, &s->one, &s->room));
    for (size_t i = 0; i < s->one.n_runs; i++) {
        STATUS_TRY(room_host(&s->room, l->n_cells, sizeof *s->ends[i], &s->ends[i]));
    }
    return STATUS_OK;
}

static enum status make_slide(const struct bench *b, struct sweep_state *s)
{
    struct landslide *const l = &s->slide;
    const size_t shrink = b->smoke ? 4 : 1;
    struct slide m;
    STATUS_TRY(slide_new(610 / shrink, 496 / shrink, 0.1, 1, &m));
    const size_t upper = m.p.rows / 2 - HEAP;
    slide_heap(&m, (size_t)(bench_uniform(2, 0) * (double)upper), m.p.columns / 4, HEAP);
    *l = (struct landslide){.params = m.p, .steps = b->smoke ? 60 : STEPS, .context = s};
    const enum status code = make_room(b, s);
    for (size_t k = 0; code == STATUS_OK && k < l->n_cells; k++) {
        (void)landslide_altitude(l, k, m.z[k] + m.h[k], false, 1);
        (void)landslide_debris(l, k, m.h[k], false, 1);
    }
    slide_free(&m);
    (void)(code == STATUS_OK && landslide_ready(l));
    return code;
}

static enum status sweep_open(struct bench *b, const struct bench_case *c, struct bench_work *work,
                              void **state)
{
    struct sweep_state *s = calloc(1, sizeof *s);
    double seconds;
    (void)c;
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    const size_t n = b->smoke ? RUNS_SMOKE : b->cuda ? RUNS : RUNS_CPU;
    s->sweep = (struct landslide_sweep){.n_runs = n,
                                        .most_bytes = (uint64_t)1 << 30,
                                        .epsilon = s->epsilon,
                                        .r = s->r,
                                        .done = sweep_done};
    s->one = s->sweep;
    s->one.n_runs = RUNS_PEER;
    s->one.most_bytes = 1;
    for (size_t i = 0; i < n; i++) {
        s->epsilon[i] = 0.001;
        s->r[i] = 0.3 + 0.4 * bench_uniform(5, i);
    }
    enum status code = make_slide(b, s);
    code = code == STATUS_OK ? sweep_peer(b, s, &seconds) : code;
    code = code == STATUS_OK ? sweep_run(b, s) : code;
    if (code != STATUS_OK) {
        sweep_close(b, s);
        return code;
    }
    work->items = (double)n;
    work->item_name = "runs";
    work->mark_s = b->cuda && !b->smoke ? 1.5 : 0;
    (void)snprintf(work->note, sizeof work->note, "%zu side by side", s->sweep.most);
    *state = s;
    return STATUS_OK;
}

const struct bench_case bench_sweep_cases[] = {
    {.name = "sciddicat_sweep",
     .what = "1000 runs (CPU: 32) of one landslide of 610 x 496 cells, 4000 steps each",
     .backends = BENCH_CPU | BENCH_CUDA,
     .open = sweep_open,
     .run = sweep_run,
     .close = sweep_close,
     .peer_name = "one at a time",
     .peer = sweep_peer},
    {0},
};
