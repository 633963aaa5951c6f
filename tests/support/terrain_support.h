/*
 * terrain_support - maps of made-up ground.
 */
#ifndef LEAT_TESTS_TERRAIN_SUPPORT_H
#define LEAT_TESTS_TERRAIN_SUPPORT_H

#include "pipeline/generate/generate.h"
#include "tests/support/scratch_folder.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline struct terrain_order order_of(uint64_t rows, uint64_t columns)
{
    return (struct terrain_order){
        .seed = 11, .rows = rows, .columns = columns, .cell_m = 10, .active = 0.005};
}

static inline struct terrain planned(const struct terrain_order *order)
{
    struct terrain t;
    if (terrain_plan(order, &t)) {
        fail_msg("terrain_plan: %s", status_message());
    }
    return t;
}

/* The whole map, row by row. */
struct map {
    struct terrain t;
    size_t rows, columns;
    double *surface, *debris;
};

static inline struct map map_of(const struct terrain_order *order)
{
    struct map m = {
        .t = planned(order), .rows = (size_t)order->rows, .columns = (size_t)order->columns};
    m.surface = malloc(m.rows * m.columns * sizeof(double));
    m.debris = malloc(m.rows * m.columns * sizeof(double));
    assert_true(m.surface != NULL && m.debris != NULL);
    for (size_t i = 0; i < m.rows; i++) {
        terrain_surface(&m.t, i, 0, m.columns, m.surface + i * m.columns);
        terrain_debris(&m.t, i, 0, m.columns, m.debris + i * m.columns);
    }
    return m;
}

static inline void map_free(struct map *m)
{
    free(m->surface);
    free(m->debris);
}

static const uint64_t shapes[][2] = {{1, 1},   {1, 300},  {300, 1},  {2, 3},
                                     {31, 33}, {257, 95}, {64, 900}, {790, 810}};

#endif
