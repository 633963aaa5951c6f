/*
 * pearson_sheet - a table in memory, and its correlation matrix (reference.h).
 */
#ifndef LEAT_TESTS_PEARSON_SHEET_H
#define LEAT_TESTS_PEARSON_SHEET_H

#include "formats/table/table.h"
#include "tests/support/reference.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a table in memory --------------------------------------------------------------------------
 */

struct sheet {
    struct table_info info;
    double *cells;             /* line by line */
    size_t n_lines;            /* what comes, whatever info says */
    const char *const *labels; /* of the lines, or NULL */
    size_t cut;                /* cells in a chunk: 0: all at once; 1: pseudo-random sizes */
    bool counts_missing;       /* as a CSV does */
    bool started_over, comes_once;
    size_t n_lines_again;      /* what comes later, when all come once more; 0: the same */
    uint64_t memory_limit;     /* as of stage_args; 1: series across lines are slabs; 0:
                                  none, or 1 where $LEAT_TEST_SLABS is set */
    size_t most_helpers;       /* that the stage is told of */
    size_t n_helpers, help_at; /* so many come, wanted or not, when so many chunks are pushed;
                                  SIZE_MAX: once all are */
    const char *params[8];     /* "key=value", NULL at the end */
};

/* Uniform in [0, 1), the same sequence for the same seed (splitmix64). */
static inline double next_uniform(uint64_t *seed)
{
    uint64_t x = *seed += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/* Cells of n_lines lines: series share a signal to different parts, of either sign, and stand at
 * different heights. f32 tables hold what a float holds. */
static inline struct sheet sheet_new(size_t n_lines, size_t cells, bool by_lines, enum dtype type)
{
    struct sheet sheet = {.n_lines = n_lines,
                          .info = {.format = "npy",
                                   .dtype = type,
                                   .n_lines = n_lines,
                                   .n_lines_estimate = n_lines,
                                   .cells_per_line = cells}};
    uint64_t seed = 1000 * n_lines + cells;
    const size_t n_samples = by_lines ? cells : n_lines;
    double *signal = malloc(n_samples * sizeof *signal);
    sheet.cells = malloc(n_lines * cells * sizeof *sheet.cells);
    assert_true(signal != NULL && sheet.cells != NULL);
    for (size_t t = 0; t < n_samples; t++) {
        signal[t] = next_uniform(&seed) - 0.5;
    }
    for (size_t l = 0; l < n_lines; l++) {
        for (size_t c = 0; c < cells; c++) {
            const size_t s = by_lines ? l : c, t = by_lines ? c : l;
            const double share = (double)(s % 7) / 3 - 1;
            const double x = (double)(s % 5) * 100 + share * signal[t] + next_uniform(&seed);
            sheet.cells[l * cells + c] = type == DTYPE_F32 ? (double)(float)x : x;
        }
    }
    free(signal);
    sheet.params[0] = by_lines ? "series=rows" : "series=columns";
    return sheet;
}

static inline void sheet_set(struct sheet *sheet, const char *param)
{
    size_t k = 0;
    while (sheet->params[k] != NULL) {
        k++;
    }
    assert_true(k + 1 < sizeof sheet->params / sizeof *sheet->params);
    sheet->params[k] = param;
}

/* --- the reference ------------------------------------------------------------------------------
 */

/* Series s, sample t of a sheet. */
static inline double sample(const struct sheet *sheet, size_t s, size_t t)
{
    const bool by_lines = strcmp(sheet->params[0], "series=rows") == 0;
    const size_t l = by_lines ? s : t, c = by_lines ? t : s;
    return sheet->cells[l * sheet->info.cells_per_line + c];
}

/* The fewest samples that a coefficient is of. */
static inline size_t sheet_min_samples(const struct sheet *sheet)
{
    size_t n = 3;
    for (size_t k = 0; sheet->params[k] != NULL; k++) {
        (void)sscanf(sheet->params[k], "min_samples=%zu", &n);
    }
    return n;
}

/* The condensed triangle of a sheet; free. */
static inline double *reference_matrix(const struct sheet *sheet, size_t n_series, size_t n_samples)
{
    double *x = malloc(n_series * n_samples * sizeof *x);
    double *r = malloc(n_series * n_series * sizeof *r);
    assert_true(x != NULL && r != NULL);
    for (size_t k = 0; k < n_series * n_samples; k++) {
        x[k] = sample(sheet, k / n_samples, k % n_samples);
    }
    reference_condensed(x, n_series, n_samples, r);
    reference_least(x, n_series, n_samples, sheet_min_samples(sheet), r);
    free(x);
    return r;
}

static inline void assert_close(const double *got, const double *want, size_t n, double tolerance)
{
    for (size_t k = 0; k < n; k++) {
        const bool alike = isnan(want[k]) ? isnan(got[k]) : fabs(got[k] - want[k]) <= tolerance;
        if (!alike) {
            print_error("[%zu]: got %.17g, want %.17g within %g\n", k, got[k], want[k], tolerance);
        }
        assert_true(alike);
    }
}

#endif
