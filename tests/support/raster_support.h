/*
 * raster_support - rasters of made-up cells, written to memory, for the tests of the writers.
 */
#ifndef LEAT_TESTS_RASTER_SUPPORT_H
#define LEAT_TESTS_RASTER_SUPPORT_H

#include "formats/result/raster.h"
#include "tests/support/table_support.h"

#include <float.h>
#include <stdatomic.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct cells {
    unsigned char *data;
    size_t width;
    int freed, fails_at; /* fetches until one fails; 0: never */
    atomic_int n_fetches;
};

static inline enum status fetch(void *context, uint64_t first, size_t n, void *dst)
{
    struct cells *const c = context;
    if (atomic_fetch_add(&c->n_fetches, 1) + 1 == c->fails_at) {
        return status_fail(STATUS_DEVICE, "no such cells");
    }
    memcpy(dst, c->data + first * c->width, n * c->width);
    return STATUS_OK;
}

static inline void note_freed(void *context)
{
    ((struct cells *)context)->freed++;
}

/* A grid of n cells: noise where the mask says so, zeros elsewhere, oddities in between. */
static inline struct cells make_cells(enum raster_type type, size_t n, bool odd)
{
    static const double oddities[] = {-0.0, DBL_MIN / 8, DBL_MAX, -DBL_MAX, 1e-5, 0.1, 123456789};
    struct cells c = {.data = malloc(n * 8), .width = raster_type_bytes(type)};
    uint64_t random = 88172645463325252;
    assert_non_null(c.data);
    for (size_t i = 0; i < n; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        double d = random % 4 == 0 ? (double)(random >> 20) / 1e9 : 0;
        if (odd && random % 16 == 1) {
            d = random % 160 == 1 ? NAN : oddities[random / 16 % COUNT(oddities)];
        }
        if (type == RASTER_I32) {
            const int32_t v = random % 4 == 0 ? (int32_t)(random >> 32) : -1;
            memcpy(c.data + 4 * i, &v, 4);
        } else if (type == RASTER_F32) {
            const float f = fabs(d) < FLT_MAX ? (float)d : NAN;
            memcpy(c.data + 4 * i, &f, 4);
        } else {
            memcpy(c.data + 8 * i, &d, 8);
        }
    }
    return c;
}

static inline struct grid *make_grid(size_t rows, size_t columns)
{
    struct grid *g;
    assert_int_equal(grid_new(rows, columns, &g), STATUS_OK);
    g->has_origin = true;
    g->x = 1000;
    g->y = 2000;
    g->cell_x = g->cell_y = 10;
    return g;
}

static inline struct result make_result(const struct raster *raster, struct cells *c)
{
    struct result r;
    assert_int_equal(result_init(&r), STATUS_OK);
    if (result_add_raster(&r, "map", raster, fetch, c, note_freed)) {
        fail_msg("result_add_raster: %s", status_message());
    }
    return r;
}

static inline struct bytes join_in_order(const struct result_member *m, const uint64_t *order)
{
    struct bytes *const pieces = calloc(m->n_pieces, sizeof *pieces), all = {.len = 0};
    assert_non_null(pieces);
    for (uint64_t i = 0; i < m->n_pieces; i++) {
        const uint64_t k = order != NULL ? order[i] : i;
        if (m->piece(m->context, k, &pieces[k])) {
            fail_msg("piece %d: %s", (int)k, status_message());
        }
    }
    for (uint64_t k = 0; k < m->n_pieces; k++) {
        assert_int_equal(bytes_append(&all, pieces[k].data, pieces[k].len), STATUS_OK);
        bytes_free(&pieces[k]);
    }
    if (m->header != NULL) {
        memcpy(all.data, m->header(m->context), PACK_HEADER_BYTES);
    }
    free(pieces);
    return all;
}

static inline struct bytes join(const struct result_member *m)
{
    return join_in_order(m, NULL);
}

static inline const struct result_member *last_member(const struct result *r)
{
    return &r->files[r->n_files - 1].members[0];
}

/* The file of a raster, through a result. */
static inline struct bytes make_file(const struct raster *raster, struct cells *c)
{
    struct result r = make_result(raster, c);
    struct bytes file = join(last_member(&r));
    result_free(&r);
    return file;
}

#endif
