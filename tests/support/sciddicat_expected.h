/*
 * sciddicat_expected - what the stage `sciddicat` must give for two grids, by the plain form of the
 * automaton.
 */
#ifndef LEAT_TESTS_SCIDDICAT_EXPECTED_H
#define LEAT_TESTS_SCIDDICAT_EXPECTED_H

#include "tests/support/reference.h"
#include "tests/support/sciddicat_runner.h"

struct expected {
    enum sciddicat_nodata policy;
    double epsilon, r;
    uint64_t steps;
};

/* Does the cell of a part stand for nothing? */
static inline bool is_nothing(const struct slide *s, int part, size_t k)
{
    const double x = s->cells[part][k];
    return isnan(x) || (s->grids[part] != NULL && x == s->grids[part]->nodata);
}

/* The start by its rules, then the steps. */
static inline struct sciddicat_reference *expect_slide(const struct slide *s,
                                                       const struct expected *e)
{
    const struct sciddicat_params p = {s->rows, s->columns, e->epsilon, e->r, e->policy};
    const size_t n = slide_cells(s);
    double *const z = calloc(n, sizeof *z), *const h = calloc(n, sizeof *h), lowest = INFINITY;
    unsigned char *const nodata = calloc(n, 1);
    assert_true(z != NULL && h != NULL && nodata != NULL);
    for (size_t k = 0; k < n; k++) {
        nodata[k] = is_nothing(s, DEM, k) && e->policy != SCIDDICAT_COMPAT;
        lowest = nodata[k] ? lowest : fmin(lowest, s->cells[DEM][k]);
    }
    for (size_t k = 0; k < n; k++) {
        const size_t i = k / s->columns, j = k % s->columns;
        const bool ring = i == 0 || j == 0 || i + 1 == s->rows || j + 1 == s->columns;
        h[k] = is_nothing(s, SOURCE, k) ? 0 : s->cells[SOURCE][k];
        z[k] = nodata[k] ? lowest : s->cells[DEM][k] - (ring ? 0 : h[k]);
    }
    struct sciddicat_reference *const want = sciddicat_reference_new(&p, z, h, nodata);
    for (uint64_t t = 0; t < e->steps; t++) {
        sciddicat_reference_step(want);
    }
    free(z);
    free(h);
    free(nodata);
    return want;
}

/* The raster holds these numbers, but for NODATA cells, which hold `hole` (a number that is no
 * other cell's). */
static inline void check_raster(const struct outcome *o, const char *name, const double *want,
                                const struct sciddicat_reference *ref, double hole)
{
    const size_t n = ref->p.rows * ref->p.columns;
    double *const got = read_raster(o, name, n, NULL);
    for (size_t k = 0; k < n; k++) {
        const double x = ref->nodata[k] ? hole : want[k];
        if (memcmp(&got[k], &x, sizeof x) != 0) {
            fail_msg("%s, row %zu, column %zu of %zu x %zu: %a for %a", name,
                     k / ref->p.columns + 1, k % ref->p.columns + 1, ref->p.rows, ref->p.columns,
                     got[k], x);
        }
    }
    free(got);
}

static inline void check_outcome(const struct outcome *o, const struct sciddicat_reference *want)
{
    const size_t n = want->p.rows * want->p.columns;
    double *const arrival = calloc(n, sizeof *arrival);
    assert_non_null(arrival);
    for (size_t k = 0; k < n; k++) {
        arrival[k] = want->arrival[k];
    }
    check_raster(o, "thickness.tif", want->h, want, -9999);
    check_raster(o, "max_thickness.tif", want->max_h, want, -9999);
    check_raster(o, "arrival.tif", arrival, want, -1);
    free(arrival);
}

static inline void check_slide(const struct slide *s, const struct expected *e)
{
    struct outcome o = run_well(s);
    struct sciddicat_reference *const want = expect_slide(s, e);
    check_outcome(&o, want);
    assert_true(summary_number(&o, "steps") == (double)e->steps);
    sciddicat_reference_free(want);
    outcome_free(&o);
}

/* Terrain with NODATA of -9999 in both grids. */
static inline struct slide terrain(uint64_t seed, size_t rows, size_t columns, double share,
                                   double holes)
{
    struct slide s = slide_new(rows, columns);
    struct reference_random g = {seed + 1};
    unsigned char *const nodata = calloc(rows * columns, 1);
    assert_non_null(nodata);
    sciddicat_reference_terrain(seed, rows, columns, share, holes, s.cells[DEM], s.cells[SOURCE],
                                nodata);
    for (size_t k = 0; k < rows * columns && holes > 0; k++) {
        s.cells[SOURCE][k] = reference_uniform(&g) < holes ? -9999 : s.cells[SOURCE][k];
    }
    free(nodata);
    return s;
}

#endif
