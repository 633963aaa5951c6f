/*
 * bench_machine - the ceilings that floors are computed from: memory copies by all threads (or by
 * the device), and matrix products of the BLAS that is linked in (or of cuBLAS, from a module that
 * only the bench has). Each is the best of a few runs: a ceiling, not an average.
 */
#include "tests/bench/bench.h"

#include <cblas.h>
#include <dlfcn.h>
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
        double rate = 2.0 * (double)(each * b->n_threads) / (bench_now_s() - start);
        b->ceilings.copy_bytes_s =
            rate > b->ceilings.copy_bytes_s ? rate : b->ceilings.copy_bytes_s;
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
    int before = openblas_get_num_threads();
    openblas_set_num_threads((int)b->n_threads);
    double flops = 2.0 * n * (double)count;
    for (int i = 0; i < REPEATS; i++) {
        double start = bench_now_s();
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, 1, d, n, d + count, n, 0,
                    d + 2 * count, n);
        double middle = bench_now_s();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, 1, f, n, f + count, n, 0,
                    f + 2 * count, n);
        double f64 = flops / (middle - start), f32 = flops / (bench_now_s() - middle);
        b->ceilings.f64_flop_s = f64 > b->ceilings.f64_flop_s ? f64 : b->ceilings.f64_flop_s;
        b->ceilings.f32_flop_s = f32 > b->ceilings.f32_flop_s ? f32 : b->ceilings.f32_flop_s;
    }
    openblas_set_num_threads(before);
    free(d);
    free(f);
    return STATUS_OK;
}

/* One direction's rate: `bytes` moved by step() and counted by the clock around finish(). */
static enum status measure_device_copies(struct bench *b)
{
    const struct backend_ops *ops = b->backend->ops;
    size_t bytes = (size_t)(b->smoke ? 1 : 1024) << 20;
    struct span from = {0}, to = {0};
    void *host = NULL;
    enum status code = ops->alloc(b->queue, bytes, &from);
    if (code == STATUS_OK) {
        code = ops->alloc(b->queue, bytes, &to);
    }
    if (code == STATUS_OK) {
        code = ops->host_alloc(b->backend, bytes, &host);
    }
    for (int i = 0; code == STATUS_OK && i < REPEATS; i++) {
        uint64_t ticket;
        double start[4];
        start[0] = bench_now_s();
        code = ops->upload(b->queue, from, host, bytes, &ticket);
        if (code == STATUS_OK) {
            code = ops->finish(b->queue);
        }
        start[1] = bench_now_s();
        if (code == STATUS_OK) {
            code = ops->copy(b->queue, to, from, bytes);
        }
        if (code == STATUS_OK) {
            code = ops->finish(b->queue);
        }
        start[2] = bench_now_s();
        if (code == STATUS_OK) {
            code = ops->download(b->queue, host, to, bytes);
        }
        start[3] = bench_now_s();
        double *best[3] = {&b->ceilings.upload_bytes_s, &b->ceilings.copy_bytes_s,
                           &b->ceilings.download_bytes_s};
        for (int k = 0; k < 3; k++) {
            double rate = (k == 1 ? 2.0 : 1.0) * (double)bytes / (start[k + 1] - start[k]);
            *best[k] = rate > *best[k] ? rate : *best[k];
        }
    }
    ops->host_free(b->backend, host);
    ops->release(b->queue, to);
    ops->release(b->queue, from);
    return code;
}

/* The products of cuBLAS, from bench_cuda.so beside leat_cuda.so. */
static enum status measure_device_products(struct bench *b)
{
    char path[4200];
    const char *slash = strrchr(b->program, '/');
    int folder = slash == NULL ? 0 : (int)(slash - b->program + 1);
    snprintf(path, sizeof path, "%.*s../lib/leat/bench_cuda.so", folder, b->program);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL) {
        return status_fail(STATUS_NOT_FOUND, "%s", dlerror());
    }
    int (*measure)(int n, double *f64, double *f32, double *tf32);
    *(void **)&measure = dlsym(module, "bench_cuda_products");
    int failed = measure == NULL || measure(b->smoke ? 256 : 8192, &b->ceilings.f64_flop_s,
                                            &b->ceilings.f32_flop_s, &b->ceilings.tf32_flop_s);
    dlclose(module);
    return failed ? status_fail(STATUS_DEVICE, "cuBLAS did not run (%d)", failed) : STATUS_OK;
}

enum status bench_measure_ceilings(struct bench *b)
{
    if (b->cuda) {
        enum status code = measure_device_copies(b);
        return code == STATUS_OK ? measure_device_products(b) : code;
    }
    enum status code = measure_host_copy(b);
    return code == STATUS_OK ? measure_host_products(b) : code;
}
