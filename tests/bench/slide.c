/*
 * slide - see the header.
 */
#include "tests/bench/slide.h"

#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { VALLEY = 124 /* cells from one to the next */ };

enum status slide_new(size_t rows, size_t columns, double steep, uint64_t seed, struct slide *out)
{
    struct slide s = {.p = {rows, columns, 0.001, 0.5, SCIDDICAT_COMPAT}};
    bool all = (s.z = calloc(rows * columns, sizeof *s.z)) != NULL &&
               (s.h = calloc(rows * columns, sizeof *s.h)) != NULL;
    for (size_t n = 0; n < 4; n++) {
        all = all && (s.flow[n] = calloc(rows * columns, sizeof *s.z)) != NULL;
    }
    if (!all) {
        slide_free(&s);
        *out = (struct slide){0};
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu x %zu cells", rows, columns);
    }
    for (size_t k = 0; k < rows * columns; k++) {
        const double across = (double)(k % columns % VALLEY) - VALLEY / 2;
        s.z[k] =
            3000 - 0.15 * (double)(k / columns) + steep * across * across + bench_uniform(seed, k);
    }
    *out = s;
    return STATUS_OK;
}

/* ESRI ASCII: six lines of header, then numbers. */
static enum status read_asc(const char *folder, const char *name, double *v, size_t n)
{
    char path[512];
    size_t n_read = 0;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return status_fail(STATUS_NOT_FOUND, "%s: cannot be opened", path);
    }
    for (int line = 0; line < 6; line++) {
        (void)!fscanf(file, "%*s %*s");
    }
    while (n_read < n && fscanf(file, "%lf", &v[n_read]) == 1) {
        n_read++;
    }
    (void)fclose(file);
    return n_read == n ? STATUS_OK : status_fail(STATUS_INTERNAL, "%s: %zu numbers", path, n_read);
}

enum status slide_tessina(const char *folder, struct slide *out)
{
    enum status code = slide_new(610, 496, 0, 1, out);
    if (code == STATUS_OK) {
        code = read_asc(folder, "tessina.dem.asc", out->z, slide_cells(out));
    }
    if (code == STATUS_OK) {
        code = read_asc(folder, "tessina.source.asc", out->h, slide_cells(out));
    }
    for (size_t k = 0; code == STATUS_OK && k < slide_cells(out); k++) {
        out->z[k] -= out->h[k]; /* none on the outermost cells */
    }
    return code;
}

void slide_free(struct slide *s)
{
    for (size_t n = 0; n < 4; n++) {
        free(s->flow[n]);
    }
    free(s->z);
    free(s->h);
}

void slide_heap(struct slide *s, size_t top, size_t left, size_t side)
{
    for (size_t k = 0; k < side * side; k++) {
        s->h[(top + k / side) * s->p.columns + left + k % side] = 8;
    }
}

/* --- the whole grid, three times a step ----------------------------------------------------------
 */

static void reset_flows(const struct slide *s)
{
    for (size_t k = 0; k < slide_cells(s); k++) {
        for (size_t n = 0; n < 4; n++) {
            s->flow[n][k] = 0;
        }
    }
}

static void compute_flows(const struct slide *s, const double *h, size_t k)
{
    const size_t c = s->p.columns, to[5] = {k, k - c, k - 1, k + 1, k + c};
    double u[5] = {s->z[k] + s->p.epsilon}, average;
    bool out[5] = {false}, again;
    for (size_t n = 1; n < 5; n++) {
        u[n] = s->z[to[n]] + h[to[n]];
    }
    do {
        size_t count = 0;
        average = h[k] - s->p.epsilon;
        for (size_t n = 0; n < 5; n++) {
            if (!out[n]) {
                average += u[n];
                count++;
            }
        }
        if (count != 0) {
            average /= (double)count;
        }
        again = false;
        for (size_t n = 0; n < 5; n++) {
            if (!out[n] && average <= u[n]) {
                out[n] = true;
                again = true;
            }
        }
    } while (again);
    for (size_t n = 1; n < 5; n++) {
        if (!out[n]) {
            s->flow[n - 1][k] = (average - u[n]) * s->p.r;
        }
    }
}

void slide_serial(const struct slide *s, double *h, uint64_t n_steps)
{
    const size_t c = s->p.columns;
    for (uint64_t t = 0; t < n_steps; t++) {
        reset_flows(s);
        for (size_t i = 1; i + 1 < s->p.rows; i++) {
            for (size_t k = i * c + 1; k < i * c + c - 1; k++) {
                if (h[k] > s->p.epsilon) {
                    compute_flows(s, h, k);
                }
            }
        }
        for (size_t i = 1; i + 1 < s->p.rows; i++) {
            for (size_t k = i * c + 1; k < i * c + c - 1; k++) {
                h[k] += s->flow[3][k - c] - s->flow[0][k];
                h[k] += s->flow[2][k - 1] - s->flow[1][k];
                h[k] += s->flow[1][k + 1] - s->flow[2][k];
                h[k] += s->flow[0][k + c] - s->flow[3][k];
            }
        }
    }
}
