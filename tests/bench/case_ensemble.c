/*
 * case_ensemble - many small maps, each a job of its own: upload, 500 steps, the thickness back.
 *
 * On CUDA a job keeps one cluster of blocks busy, a small part of the device; so several queues,
 * fed by a thread each, take the jobs in turn. The peer does the same with one queue. Both must
 * give the same bits for all maps; a few are compared with the whole grid's, step by step.
 */
#include "tests/bench/bench.h"
#include "tests/bench/slide.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUES = 8, MAPS = 256, MAPS_SMOKE = 9, SIDE = 128, HEAP = 20, STEPS = 500, CHECKED = 4 };

struct ensemble {
    struct bench *bench;
    size_t n_maps, n_queues;
    uint64_t n_steps;
    struct slide maps[MAPS];
    double *h, *other; /* of all maps, as the runs left them */
    struct queue *queue[QUEUES];
    atomic_size_t next;
    _Atomic(enum status) status;
};

static enum status ensemble_job(struct ensemble *e, struct queue *q, size_t i)
{
    const struct slide *m = &e->maps[i];
    const struct bands_config c = {.home = q};
    struct sciddicat_report report;
    struct bands *bands;
    enum status code = bands_open(&c, &m->p, &(struct bands_input){.z = m->z, .h = m->h}, &bands);
    if (code == STATUS_OK) {
        code = bands_advance(bands, e->n_steps, &report);
    }
    if (code == STATUS_OK) {
        code = bands_state(bands, e->h + i * slide_cells(m), NULL, NULL);
    }
    bands_close(bands);
    return code;
}

/* One queue takes jobs until there are none. */
static void ensemble_queue(void *arg, size_t q)
{
    struct ensemble *e = arg;
    for (size_t i = atomic_fetch_add(&e->next, 1); i < e->n_maps;
         i = atomic_fetch_add(&e->next, 1)) {
        const enum status code = ensemble_job(e, e->queue[q], i);
        if (code != STATUS_OK) {
            atomic_store(&e->status, code);
            return;
        }
    }
}

static enum status ensemble_by(struct ensemble *e, size_t n_queues)
{
    const struct executor *x = &e->bench->executor;
    atomic_store(&e->next, 0);
    atomic_store(&e->status, STATUS_OK);
    x->run(x->context, n_queues, ensemble_queue, e);
    const enum status code = atomic_load(&e->status);
    return code == STATUS_OK ? code : status_fail(code, "a job of the ensemble failed");
}

static enum status ensemble_run(struct bench *b, void *state)
{
    struct ensemble *e = state;
    (void)b;
    return ensemble_by(e, e->n_queues);
}

static enum status ensemble_peer(struct bench *b, void *state, double *seconds)
{
    (void)b;
    const double start = bench_now_s();
    const enum status code = ensemble_by(state, 1);
    *seconds = bench_now_s() - start;
    return code;
}

static void ensemble_close(struct bench *b, void *state)
{
    struct ensemble *e = state;
    for (size_t i = 0; i < e->n_maps; i++) {
        slide_free(&e->maps[i]);
    }
    for (size_t q = 0; q < e->n_queues; q++) {
        b->backend->ops->queue_free(e->queue[q]);
    }
    free(e->h);
    free(e->other);
    free(e);
}

static enum status ensemble_check(struct ensemble *e)
{
    const size_t cells = slide_cells(&e->maps[0]), bytes = e->n_maps * cells * sizeof(double);
    enum status code = ensemble_by(e, 1);
    if (code == STATUS_OK) {
        memcpy(e->other, e->h, bytes);
        memset(e->h, 0xff, bytes);
        code = ensemble_by(e, e->n_queues);
    }
    if (code == STATUS_OK && memcmp(e->other, e->h, bytes) != 0) {
        code = status_fail(STATUS_INTERNAL, "several queues and one give different bits");
    }
    for (size_t i = 0; code == STATUS_OK && i < e->n_maps; i += e->n_maps / CHECKED) {
        double *want = e->other + i * cells;
        memcpy(want, e->maps[i].h, cells * sizeof *want);
        slide_serial(&e->maps[i], want, e->n_steps);
        if (memcmp(want, e->h + i * cells, cells * sizeof *want) != 0) {
            code = status_fail(STATUS_INTERNAL, "map %zu differs from the whole grid's", i);
        }
    }
    return code;
}

static enum status make_maps(struct ensemble *e)
{
    enum status code = STATUS_OK;
    for (size_t i = 0; code == STATUS_OK && i < e->n_maps; i++) {
        code = slide_new(SIDE, SIDE, 0.02, 100 + i, &e->maps[i]);
        if (code == STATUS_OK) {
            slide_heap(&e->maps[i], 8 + i % 32, 16 + i * 7 % 72, HEAP);
        }
    }
    return code;
}

static enum status ensemble_open(struct bench *b, const struct bench_case *c,
                                 struct bench_work *work, void **state)
{
    struct ensemble *e = calloc(1, sizeof *e);
    (void)c;
    if (e == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    e->bench = b;
    e->n_maps = b->smoke ? MAPS_SMOKE : MAPS;
    e->n_queues = QUEUES;
    e->n_steps = b->smoke ? 60 : STEPS;
    enum status code = make_maps(e);
    e->h = calloc(e->n_maps * SIDE * SIDE, sizeof *e->h);
    e->other = calloc(e->n_maps * SIDE * SIDE, sizeof *e->other);
    if (code == STATUS_OK && (e->h == NULL || e->other == NULL)) {
        code = status_fail(STATUS_NO_MEMORY, "no memory for %zu maps", e->n_maps);
    }
    for (size_t q = 0; code == STATUS_OK && q < e->n_queues; q++) {
        code = b->backend->ops->queue_new(b->backend, &e->queue[q]);
    }
    if (code == STATUS_OK) {
        code = ensemble_check(e);
    }
    if (code != STATUS_OK) {
        ensemble_close(b, e);
        return code;
    }
    work->items = (double)e->n_maps;
    work->item_name = "jobs";
    *state = e;
    return STATUS_OK;
}

const struct bench_case bench_ensemble_cases[] = {
    {.name = "sciddicat_ensemble",
     .what = "256 maps of 128 x 128 cells, 500 steps each, by 8 queues",
     .backends = BENCH_CUDA,
     .open = ensemble_open,
     .run = ensemble_run,
     .close = ensemble_close,
     .peer_name = "one queue",
     .peer = ensemble_peer},
    {0},
};
