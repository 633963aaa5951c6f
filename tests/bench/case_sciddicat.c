/*
 * case_sciddicat - debris flows, from one on a map of the size of the literature's to a map of
 * which half moves.
 *
 * tessina: 4000 steps of the Tessina landslide, 610 x 496 cells, whose folder $LEAT_TESSINA names;
 * landslide: one heap on a slope of that size. Latency sets their time: on CUDA a step is two
 * halves, after each of which word goes between blocks in some 200 cycles; the flows of the slowest
 * warp take 1200 to 2000 cycles and the new h some 800, 3800 in all (cuda_sciddicat_cluster), so
 * 4000 steps take 7.6 ms on an H200. Its 4000 cells x 60 flops are nothing.
 * many: 4096 x 4096 cells (CPU: 1024 x 1024), heaps on 0.5 % of them, 200 steps; what moves fits
 * the device's cache. half: the same map, every other square of 64 x 64 under debris. Its floor is
 * what a step at a time must move of every active cell: h read and written, z, and a byte of kind.
 * The peer is the published serial program's way (slide.h). Its time is taken over a few steps half
 * way and scaled. Before that, both are compared bit for bit.
 */
#include "tests/bench/bench.h"
#include "tests/bench/slide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PEER_STEPS = 50, PEER_STEPS_LARGE = 4, LARGE_CELLS = 1 << 22, CELL_BYTES = 3 * 8 + 1 };

struct sciddicat_variant {
    size_t rows, columns; /* 0: the Tessina landslide */
    size_t n_heaps, heap; /* n_heaps 0: every other square of `heap` cells */
    double steep;
    uint64_t n_steps;
    double mark_s, mark_ratio;
};

struct sciddicat_state {
    struct slide slide;
    uint64_t n_steps, peer_steps;
    double *other, *half_way;
    double share; /* active half way */
    struct bands *bands;
};

static enum status sciddicat_peer(struct bench *b, void *state, double *seconds)
{
    struct sciddicat_state *s = state;
    (void)b;
    memcpy(s->other, s->half_way, slide_cells(&s->slide) * sizeof(double));
    const double start = bench_now_s();
    slide_serial(&s->slide, s->other, s->peer_steps);
    *seconds = (bench_now_s() - start) * (double)s->n_steps / (double)s->peer_steps;
    return STATUS_OK;
}

static void sciddicat_close(struct bench *b, void *state)
{
    struct sciddicat_state *s = state;
    (void)b;
    bands_close(s->bands);
    slide_free(&s->slide);
    free(s->other);
    free(s->half_way);
    free(s);
}

/* A run at its start. */
static enum status sciddicat_prepare(struct bench *b, void *state)
{
    struct sciddicat_state *s = state;
    const struct bands_config c = {.home = b->queue};
    const struct bands_input in = {.z = s->slide.z, .h = s->slide.h};
    bands_close(s->bands);
    const enum status code = bands_open(&c, &s->slide.p, &in, &s->bands);
    return code == STATUS_OK ? b->backend->ops->finish(b->queue) : code;
}

static enum status sciddicat_run(struct bench *b, void *state)
{
    struct sciddicat_state *s = state;
    struct sciddicat_report report;
    (void)b;
    return bands_advance(s->bands, s->n_steps, &report);
}

static void place_heaps(struct slide *s, const struct sciddicat_variant *v)
{
    const size_t rows = s->p.rows, columns = s->p.columns;
    for (size_t n = 0; n < v->n_heaps; n++) {
        const size_t top = (size_t)(bench_uniform(2, n) * (double)(rows / 2 - v->heap));
        const size_t left =
            columns / 4 + (size_t)(bench_uniform(3, n) * (double)(columns / 2 - v->heap));
        slide_heap(s, top, left, v->heap);
    }
    for (size_t i = 0; v->n_heaps == 0 && v->heap > 0 && i + v->heap <= rows; i += v->heap) {
        for (size_t j = i / v->heap % 2 * v->heap; j + v->heap <= columns; j += 2 * v->heap) {
            slide_heap(s, i, j, v->heap);
        }
    }
}

/* The first steps give the bits of the whole grid's; then half the steps, for the peer. */
static enum status sciddicat_check(struct bench *b, struct sciddicat_state *s)
{
    const size_t bytes = slide_cells(&s->slide) * sizeof(double);
    struct sciddicat_report report = {0};
    memcpy(s->other, s->slide.h, bytes);
    slide_serial(&s->slide, s->other, s->peer_steps);
    enum status code = sciddicat_prepare(b, s);
    if (code == STATUS_OK) {
        code = bands_advance(s->bands, s->peer_steps, &report);
    }
    if (code == STATUS_OK) {
        code = bands_state(s->bands, s->half_way, NULL, NULL);
    }
    if (code == STATUS_OK && memcmp(s->half_way, s->other, bytes) != 0) {
        code = status_fail(STATUS_INTERNAL, "the thickness after %d steps differs",
                           (int)s->peer_steps);
    }
    if (code == STATUS_OK) {
        code = bands_advance(s->bands, s->n_steps / 2, &report);
    }
    if (code == STATUS_OK) {
        code = bands_state(s->bands, s->half_way, NULL, NULL);
    }
    s->share = (double)report.n_active / (double)slide_cells(&s->slide);
    return code;
}

static void state_work(const struct bench *b, const struct sciddicat_state *s,
                       const struct sciddicat_variant *v, struct bench_work *work)
{
    work->items = (double)s->n_steps;
    work->item_name = "steps";
    work->mark_s = b->cuda && !b->smoke ? v->mark_s : 0;
    work->mark_ratio = b->cuda || b->smoke ? 0 : v->mark_ratio;
    if (v->n_heaps == 0 && v->heap > 0) {
        work->bytes = CELL_BYTES * s->share * (double)slide_cells(&s->slide) * (double)s->n_steps;
        work->floor_s = work->bytes / b->ceilings.copy_bytes_s;
        work->floor_of = "active cells once a step";
    }
    (void)snprintf(work->note, sizeof work->note, "%.2g %% active half way", 100 * s->share);
}

static enum status sciddicat_open(struct bench *b, const struct bench_case *c,
                                  struct bench_work *work, void **state)
{
    const struct sciddicat_variant *v = c->variant;
    const size_t shrink = b->smoke ? 4 : 1;
    struct sciddicat_state *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    const char *tessina = getenv("LEAT_TESSINA");
    enum status code =
        v->rows != 0      ? slide_new(v->rows / shrink, v->columns / shrink, v->steep, 1, &s->slide)
        : tessina != NULL ? slide_tessina(tessina, &s->slide)
                          : status_fail(STATUS_NOT_FOUND, "LEAT_TESSINA names no folder");
    const size_t cells = slide_cells(&s->slide);
    s->n_steps = b->smoke ? 60 : v->n_steps;
    s->peer_steps = cells >= LARGE_CELLS ? PEER_STEPS_LARGE : PEER_STEPS;
    s->other = calloc(cells + 1, sizeof *s->other);
    s->half_way = calloc(cells + 1, sizeof *s->half_way);
    if (code == STATUS_OK && (s->other == NULL || s->half_way == NULL)) {
        code = status_fail(STATUS_NO_MEMORY, "no memory for %zu cells", cells);
    }
    if (code == STATUS_OK) {
        place_heaps(&s->slide, v);
        code = sciddicat_check(b, s);
    }
    if (code != STATUS_OK) {
        sciddicat_close(b, s);
        return code;
    }
    state_work(b, s, v, work);
    *state = s;
    return STATUS_OK;
}

/* Marks: an H200; the serial program's time over ours, on one thread. */
static const struct sciddicat_variant tessina = {0, 0, 0, 0, 0, 4000, 8e-3, 40},
                                      landslide = {610, 496, 1, 26, 0.1, 4000, 8e-3, 40},
                                      many = {4096, 4096, 40, 46, 0.1, 200, 8e-3, 0},
                                      half = {4096, 4096, 0, 64, 5e-4, 200, 0, 0},
                                      fewer = {1024, 1024, 10, 23, 0.1, 200, 0, 40};

#define SCIDDICAT_CASE                                                                             \
    .open = sciddicat_open, .prepare = sciddicat_prepare, .run = sciddicat_run,                    \
    .close = sciddicat_close, .peer_name = "serial", .peer = sciddicat_peer

const struct bench_case bench_sciddicat_cases[] = {
    {.name = "sciddicat_tessina",
     .what = "4000 steps of the Tessina landslide, where its files are",
     .backends = BENCH_CPU | BENCH_CUDA,
     .by_device = true,
     .variant = &tessina,
     SCIDDICAT_CASE},
    {.name = "sciddicat_landslide",
     .what = "4000 steps of one landslide on 610 x 496 cells",
     .backends = BENCH_CPU | BENCH_CUDA,
     .by_device = true,
     .variant = &landslide,
     SCIDDICAT_CASE},
    {.name = "sciddicat_many",
     .what = "200 steps of 40 landslides on 4096 x 4096 cells",
     .backends = BENCH_CUDA,
     .by_device = true,
     .variant = &many,
     SCIDDICAT_CASE},
    {.name = "sciddicat_half",
     .what = "200 steps of debris on half of 4096 x 4096 cells",
     .backends = BENCH_CUDA,
     .by_device = true,
     .variant = &half,
     SCIDDICAT_CASE},
    {.name = "sciddicat_many",
     .what = "200 steps of 10 landslides on 1024 x 1024 cells",
     .backends = BENCH_CPU,
     .variant = &fewer,
     SCIDDICAT_CASE},
    {0},
};
