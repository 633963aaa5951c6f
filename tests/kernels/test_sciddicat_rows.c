/*
 * test_sciddicat_rows - every instruction set that this processor has gives the bits of the rule,
 * cell by cell: flows, thickness, active cells, largest h, arrivals.
 */
#include "kernels/sciddicat/sciddicat_cpu.h"
#include "kernels/sciddicat/sciddicat_rule.h"
#include "tests/support/reference.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, SEGMENTS = 9, CELLS = SEGMENTS * SEGMENT, AROUND = ROW_PAD_CELLS };

/* Three rows, of which the middle one is looked at, and what they emit. */
struct field {
    double z[ROWS][CELLS + 2 * AROUND], h[ROWS][CELLS + 2 * AROUND], max_h[CELLS + 2 * AROUND];
    double to[ROWS][SIDES][CELLS + 2 * AROUND];
    int32_t arrival[CELLS + 2 * AROUND];
    uint8_t active[ROWS][SEGMENTS + 2 * ROW_PAD_SEGMENTS], live[SEGMENTS + 2 * ROW_PAD_SEGMENTS];
    uint8_t accepts[ROWS][SEGMENTS + 2 * ROW_PAD_SEGMENTS];
    uint8_t emitted[ROWS][SEGMENTS + 2 * ROW_PAD_SEGMENTS];
    struct sciddicat_row row[ROWS];
    struct sciddicat_flows flows[ROWS];
};

static const struct sciddicat_rule rule = {.epsilon = 0.25, .r = 0.3, .step = 17};

static void random_bits(struct reference_random *g, uint8_t *bits, double share)
{
    for (size_t j = 0; j < CELLS; ++j) {
        const unsigned set = reference_uniform(g) < share;
        bits[j / SEGMENT] =
            (uint8_t)((bits[j / SEGMENT] & ~(1u << j % SEGMENT)) | (set << j % SEGMENT));
    }
}

/* scale: levels around 1000 (1), or so small that a remainder would underflow. */
static struct field *field_new(uint64_t seed, double scale, int walls)
{
    struct reference_random g = {seed};
    struct field *f = calloc(1, sizeof *f);
    assert_non_null(f);
    for (size_t i = 0; i < ROWS; ++i) {
        for (size_t j = AROUND; j < CELLS + AROUND; ++j) {
            f->z[i][j] = scale * (seed % 2 ? 1000 + 3 * reference_uniform(&g)
                                           : (double)(int)(4 * reference_uniform(&g)));
            f->h[i][j] = scale == 1 ? 2 * reference_uniform(&g) : 3 * scale;
        }
        random_bits(&g, f->active[i] + ROW_PAD_SEGMENTS, 0.4);
        random_bits(&g, f->accepts[i] + ROW_PAD_SEGMENTS, 0.8);
    }
    random_bits(&g, f->live + ROW_PAD_SEGMENTS, 0.9);
    for (size_t i = 0; i < ROWS; ++i) {
        uint8_t *active = f->active[i] + ROW_PAD_SEGMENTS;
        f->row[i] =
            (struct sciddicat_row){.h = f->h[i] + AROUND,
                                   .z = f->z[i] + AROUND,
                                   .max_h = f->max_h + AROUND,
                                   .arrival = f->arrival + AROUND,
                                   .active = active,
                                   .live = f->live + ROW_PAD_SEGMENTS,
                                   .accepts = walls ? f->accepts[i] + ROW_PAD_SEGMENTS : NULL,
                                   .begin = 1,
                                   .end = SEGMENTS - 1};
        active[0] = active[SEGMENTS - 1] = active[4] = 0;
        f->flows[i].active = f->emitted[i] + ROW_PAD_SEGMENTS;
        for (size_t n = 0; n < SIDES; ++n) {
            f->flows[i].to[n] = f->to[i][n] + AROUND;
        }
    }
    for (size_t j = 0; j < CELLS; ++j) {
        f->arrival[j + AROUND] = j % 3 ? -1 : 4;
        f->max_h[j + AROUND] = reference_uniform(&g) < 0.5 ? 0.5 : 9;
    }
    return f;
}

static int bit(const uint8_t *bits, size_t j)
{
    return bits[j / SEGMENT] >> j % SEGMENT & 1;
}

/* The flows of the middle row by the rule for one cell. */
static void check_flows(const struct field *f, const struct sciddicat_rule *by)
{
    const struct sciddicat_row *row = &f->row[1];
    const double *z = row->z, *h = row->h;
    for (size_t j = 0; j < CELLS; ++j) {
        const double u[SCIDDICAT_SEEN] = {z[j] + by->epsilon, f->row[0].z[j] + f->row[0].h[j],
                                          (z - 1)[j] + (h - 1)[j], z[j + 1] + h[j + 1],
                                          f->row[2].z[j] + f->row[2].h[j]};
        sciddicat_mask alive[SCIDDICAT_SEEN] = {1, 1, 1, 1, 1};
        if (row->accepts != NULL) {
            alive[1] = bit(f->row[0].accepts, j);
            alive[2] = j > 0 && bit(row->accepts, j - 1);
            alive[3] = j + 1 < CELLS && bit(row->accepts, j + 1);
            alive[4] = bit(f->row[2].accepts, j);
        }
        const double average = sciddicat_average(h[j] - by->epsilon, u, alive);
        for (size_t n = 0; n < SIDES; ++n) {
            const double flow = sciddicat_flow(alive[n + 1], average, u[n + 1], by->r);
            const double want = bit(row->active, j) ? flow : 0;
            assert_memory_equal(&f->flows[1].to[n][j], &want, sizeof want);
        }
    }
}

TEST(sciddicat_rows_emit_by_the_rule_in_every_set)
{
    const struct sciddicat_row_kernels *set;
    for (size_t i = 0; (set = cpu_sciddicat_set(i)) != NULL; ++i) {
        for (uint64_t seed = 0; seed < 60; ++seed) {
            const double scale = seed % 5 == 4 ? 0x1p-1040 : 1;
            const struct sciddicat_rule by = {.epsilon = rule.epsilon * scale, .r = rule.r};
            struct field *f = field_new(seed, scale, seed % 3 == 0);
            set->emit(&by, &f->row[0], &f->row[1], &f->row[2], &f->flows[1]);
            check_flows(f, &by);
            set->clear(&f->flows[1]);
            for (size_t n = 0; n < SIDES; ++n) {
                for (size_t j = 0; j < CELLS; ++j) {
                    assert_true(f->flows[1].to[n][j] == 0);
                }
            }
            free(f);
        }
    }
}

TEST(sciddicat_rows_take_the_same_in_every_set)
{
    for (uint64_t seed = 0; seed < 40; ++seed) {
        struct field *first = NULL;
        const struct sciddicat_row_kernels *set;
        for (size_t i = 0; (set = cpu_sciddicat_set(i)) != NULL; ++i) {
            struct field *f = field_new(seed, 1, 0);
            const struct sciddicat_row ring = f->row[0];
            for (size_t r = 0; r < ROWS; ++r) {
                set->emit(&rule, &ring, &f->row[r], &ring, &f->flows[r]);
            }
            assert_true(set->update(&rule, &f->row[1], &f->flows[0], &f->flows[1], &f->flows[2]));
            if (first == NULL) {
                first = f;
                continue;
            }
            assert_memory_equal(f->h, first->h, sizeof f->h);
            assert_memory_equal(f->max_h, first->max_h, sizeof f->max_h);
            assert_memory_equal(f->arrival, first->arrival, sizeof f->arrival);
            assert_memory_equal(f->active, first->active, sizeof f->active);
            assert_int_equal(f->row[1].begin, first->row[1].begin);
            assert_int_equal(f->row[1].end, first->row[1].end);
            assert_int_equal(f->row[1].n_busy, first->row[1].n_busy);
            free(f);
        }
        free(first);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
