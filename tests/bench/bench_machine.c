/*
 * bench_machine - the ceilings that floors are computed from: memory copies by all threads (or by
 * the device), and matrix products of leat's BLAS (or of cuBLAS, from a module that
 * only the bench has). Each is the best of a few runs: a ceiling, not an average.
 */
#include "kernels/base/blas_calls.h"
#include "tests/bench/bench.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 5 };

struct copy_work {
    char *to;
    const char *from;
    size_t bytes_each;
};

static void copy_part(void *arg, size_t index)
{
    const struct copy_work *w = arg;
    memcpy(w->to + index * w->bytes_each, w->from + index * w->bytes_each, w->bytes_each);
}

static enum status measure_host_copy(struct bench *b)
{
    size_t each = ((size_t)256 << 20) / b->n_threads;
    char *from = malloc(each * b->n_threads), *to = malloc(each * b->n_threads);
    if (from == NULL || to == NULL) {
        free(from);
        free(to);
        return status_fail(STATUS_NO_MEMORY, "no memory to measure copies with");
    }
    memset(from, 1, each * b->n_threads);
    memset(to, 2, each * b->n_threads);
    struct copy_work work = {to, from, each};
    const struct executor *e = &b->executor;
    for (int i = 0; i < REPEATS; i++) {
        double start = bench_now_s();
        e->run(e->context, b->n_threads, copy_part, &work);
        b->ceilings.copy_bytes_s =
            fmax(b->ceilings.copy_bytes_s,
                 2.0 * (double)(each * b->n_threads) / (bench_now_s() - start));
    }
    free(from);
    free(to);
    return STATUS_OK;
}

static enum status measure_host_products(struct bench *b)
{
    const int n = b->smoke ? 128 : 1536;
    size_t count = (size_t)n * (size_t)n;
    double *d = malloc(3 * count * sizeof *d);
    if (d == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to measure products with");
    }
    for (size_t i = 0; i < 3 * count; i++) {
        d[i] = bench_uniform(1, i);
    }
    float *f = (float *)malloc(3 * count * sizeof *f);
    if (f == NULL) {
        free(d);
        return status_fail(STATUS_NO_MEMORY, "no memory to measure products with");
    }
    for (size_t i = 0; i < 3 * count; i++) {
        f[i] = (float)d[i];
    }
    blas.set_num_threads((int)b->n_threads);
    double flops = 2.0 * n * (double)count;
    for (int i = 0; i < REPEATS; i++) {
        double start = bench_now_s();
        blas.dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, 1, d, n, d + count, n, 0,
                   d + 2 * count, n);
        double middle = bench_now_s();
        blas.sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, 1, f, n, f + count, n, 0,
                   f + 2 * count, n);
        b->ceilings.f64_flop_s = fmax(b->ceilings.f64_flop_s, flops / (middle - start));
        b->ceilings.f32_flop_s = fmax(b->ceilings.f32_flop_s, flops / (bench_now_s() - middle));
    }
    blas.set_num_threads(1);
    free(d);
    free(f);
    return STATUS_OK;
}

/* Both directions between page-locked host memory and the device, by the clock around what waits.
 */
static enum status measure_transfers(struct bench *b)
{
    const struct backend_ops *ops = b->backend->ops;
    struct bench_ceilings *best = &b->ceilings;
    const size_t bytes = (size_t)(b->smoke ? 1 : 1024) << 20;
    struct span device = {0};
    void *host = NULL;
    enum status code = ops->alloc(b->queue, bytes, &device);
    if (code == STATUS_OK) {
        code = ops->host_alloc(b->backend, bytes, &host);
    }
    for (int i = 0; code == STATUS_OK && i < REPEATS; i++) {
        uint64_t ticket;
        const double start = bench_now_s();
        code = ops->upload(b->queue, device, host, bytes, &ticket);
        if (code == STATUS_OK) {
            code = ops->finish(b->queue);
        }
        const double middle = bench_now_s();
        if (code == STATUS_OK) {
            code = ops->download(b->queue, host, device, bytes);
        }
        best->upload_bytes_s = fmax(best->upload_bytes_s, (double)bytes / (middle - start));
        best->download_bytes_s =
            fmax(best->download_bytes_s, (double)bytes / (bench_now_s() - middle));
    }
    ops->host_free(b->backend, host);
    ops->release(b->queue, device);
    return code;
}

/* Copies within the device and products of cuBLAS, from bench_cuda.so beside leat_cuda.so. */
static enum status measure_device(struct bench *b)
{
    struct bench_ceilings *k = &b->ceilings;
    char path[4200];
    const char *slash = strrchr(b->program, '/');
    snprintf(path, sizeof path, "%.*s/../lib/leat/bench_cuda.so", (int)(slash - b->program),
             b->program);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL) {
        return status_fail(STATUS_NOT_FOUND, "%s", dlerror());
    }
    int (*measure)(int n, double *copy, double *f64, double *f32, double *tf32);
    *(void **)&measure = dlsym(module, "bench_cuda_ceilings");
    int failed = measure == NULL || measure(b->smoke ? 256 : 8192, &k->copy_bytes_s, &k->f64_flop_s,
                                            &k->f32_flop_s, &k->tf32_flop_s);
    dlclose(module);
    return failed ? status_fail(STATUS_DEVICE, "cuBLAS did not run (%d)", failed) : STATUS_OK;
}

enum status bench_measure_ceilings(struct bench *b)
{
    if (b->cuda) {
        enum status code = measure_transfers(b);
        return code == STATUS_OK ? measure_device(b) : code;
    }
    enum status code = measure_host_copy(b);
    return code == STATUS_OK ? measure_host_products(b) : code;
}
