/*
 * Coefficients inside given groups of series: every pair of a group against the reference, groups
 * of all sizes, side by side and scattered, with gaps. Runs on the backend that $LEAT_TEST_BACKEND
 * names.
 * ctest: small=asan
 */
#include "kernels/pearson/blocks.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/correlate_taken.h"
#include "tests/support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 };

struct shape {
    size_t n_samples, panel;
    size_t sizes[MOST], n; /* of the groups, in turns */
    size_t times;
    bool scattered; /* neighbours in the file are of different groups */
    double missing, offset;
};

struct table {
    size_t n_series, n_groups, *start;
    uint32_t *members;
    uint64_t *at;
    double *x, *r;
};

/* One series of three lacks nothing; each seventh is constant. */
static void fill(const struct shape *s, struct table *t)
{
    t->x = calloc(t->n_series * s->n_samples, sizeof *t->x);
    assert_non_null(t->x);
    reference_noise(11, t->n_series, s->n_samples, t->x);
    for (size_t i = 0; i < t->n_series; i++) {
        double *const row = t->x + i * s->n_samples;
        for (size_t k = 0; k < s->n_samples; k++) {
            row[k] = i % 7 == 6 ? s->offset : row[k] + s->offset;
        }
        if (s->missing > 0 && i % 3 > 0) {
            reference_punch(11 + i, s->missing, s->n_samples, row);
        }
    }
}

static struct table table_of(const struct shape *s)
{
    struct table t = {.n_groups = s->n * s->times};
    t.start = calloc(t.n_groups + 1, sizeof *t.start);
    t.at = calloc(t.n_groups + 1, sizeof *t.at);
    assert_true(t.start != NULL && t.at != NULL);
    for (size_t g = 0; g < t.n_groups; g++) {
        t.start[g + 1] = t.start[g] + s->sizes[g % s->n];
        t.at[g + 1] = t.at[g] + matrix_n_pairs(s->sizes[g % s->n]);
    }
    t.n_series = t.start[t.n_groups];
    t.members = calloc(t.n_series, sizeof *t.members);
    t.r = calloc(t.at[t.n_groups] + 1, sizeof *t.r);
    size_t *const have = calloc(t.n_groups, sizeof *have);
    assert_true(t.members != NULL && t.r != NULL && have != NULL);
    for (size_t i = 0, g = 0; i < t.n_series; i++) {
        while (have[g] == t.start[g + 1] - t.start[g]) {
            g = (g + 1) % t.n_groups;
        }
        t.members[t.start[g] + have[g]++] = (uint32_t)i;
        g = s->scattered ? (g + 1) % t.n_groups : g;
    }
    free(have);
    memset(t.r, 0x55, t.at[t.n_groups] * sizeof *t.r);
    fill(s, &t);
    return t;
}

static void compare(const struct shape *s, const struct table *t)
{
    const double bound = pearson_bound(PEARSON_EXACT, s->missing > 0);
    for (size_t g = 0; g < t->n_groups; g++) {
        const double *r = t->r + t->at[g];
        for (size_t i = t->start[g]; i < t->start[g + 1]; i++) {
            for (size_t j = i + 1; j < t->start[g + 1]; j++, r++) {
                const double want =
                    reference_pearson(t->x + t->members[i] * s->n_samples,
                                      t->x + t->members[j] * s->n_samples, s->n_samples);
                if (!reference_near(*r, want, bound)) {
                    fail_msg("group %zu: %u with %u is %.17g, not %.17g", g, t->members[i],
                             t->members[j], *r, want);
                }
            }
        }
        assert_ptr_equal(r, t->r + t->at[g + 1]);
    }
}

static void check(const struct shape *s)
{
    struct table t = table_of(s);
    const struct room room = {.queue = under_test_queue};
    struct room kept = room;
    struct correlation c = {.queue = under_test_queue,
                            .kept = &kept,
                            .standard = room,
                            .work = room,
                            .exact = room,
                            .growing = room,
                            .request = {.precision = PEARSON_EXACT,
                                        .type = DTYPE_F64,
                                        .n_series = t.n_series,
                                        .n_samples = s->n_samples,
                                        .panel = s->panel,
                                        .keep = true,
                                        .gaps = s->missing > 0,
                                        .alone = true}};
    const struct span x = under_test_put(t.x, t.n_series * s->n_samples * sizeof *t.x);
    double *moments;
    uint64_t n_unsure = 0;
    take(&c, x);
    ASSERT_OK(room_host(&kept, 1, moments_bytes(c.moments.capacity), &moments));
    under_test_get(moments, c.moments.at, moments_bytes(c.moments.capacity));
    const struct blocks blocks = {
        .n = t.n_groups,
        .start = t.start,
        .members = t.members,
        .moments = {{moments, moments_bytes(c.moments.capacity)}, c.moments.capacity, 0},
        .gaps = s->missing > 0,
        .r = t.r,
        .at = t.at};
    ASSERT_OK(blocks_find(&c, &blocks, &n_unsure));
    assert_int_equal(n_unsure, 0);
    compare(s, &t);
    correlate_free(&c);
    room_free(&kept);
    under_test_release(x);
    free(t.start);
    free(t.members);
    free(t.at);
    free(t.x);
    free(t.r);
}

TEST(groups_of_all_sizes_have_the_coefficients_of_their_pairs)
{
    static const struct shape shapes[] = {
        {17, 64, {1}, 1, 3, false, 0, 0},
        {100, 64, {2, 1, 64, 3, 2, 65, 31}, 7, 2, true, 0, 0},
        {33, 20, {5, 33, 256, 7}, 4, 1, false, 0, 0},
        {33, 128, {257, 4, 300}, 3, 1, true, 0, 0},
        {5000, 64, {3, 17}, 2, 2, true, 0, 1e4},
        {16, 512, {1100, 5}, 2, 1, true, 0, 0},
    };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        check(&shapes[k]);
    }
}

TEST(many_small_groups_are_not_mixed_up)
{
    const struct shape side_by_side = {24, 1024, {4}, 1, 4096, false, 0, 0},
                       scattered = {8, 1024, {3, 4, 5}, 3, 700, true, 0, 0};
    check(&side_by_side);
    check(&scattered);
}

TEST(series_with_gaps_have_the_coefficients_of_their_samples_in_common)
{
    static const struct shape shapes[] = {
        {90, 64, {2, 5, 40}, 3, 3, true, 0.2, 0},
        {60, 64, {70, 1, 258}, 3, 1, false, 0.1, 10},
    };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        check(&shapes[k]);
    }
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
