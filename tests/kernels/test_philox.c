/*
 * test_philox - the generator against the paper's known answers, and walks on LEAT_TEST_BACKEND.
 */
#include "kernels/philox/philox.h"
#include "kernels/philox/philox_rule.h"
#include "tests/support/backend_under_test.h"

#include <stdlib.h>
#include <string.h>

TEST(philox_gives_the_known_answers_of_random123)
{
    /* kat_vectors of Random123, the paper's library: philox4x32, 10 rounds; counter, key, words */
    static const struct {
        uint32_t counter[4], key[2], words[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; ++k) {
        struct philox_words c;
        memcpy(c.w, known[k].counter, sizeof c.w);
        struct philox_words w = philox_4x32_10(c, known[k].key[0], known[k].key[1]);
        assert_memory_equal(w.w, known[k].words, sizeof w.w);
    }
}

TEST(philox_counts_blocks_low_word_first_and_series_above)
{
    struct philox_words c = {{0x55667788, 0x11223344, 0xddeeff00, 0x99aabbcc}};
    struct philox_words want = philox_4x32_10(c, 0xcafef00d, 0x0badc0de);
    struct philox_words got =
        philox_block(0x0badc0decafef00du, 0x99aabbccddeeff00u, 0x1122334455667788u);
    assert_memory_equal(got.w, want.w, sizeof got.w);
}

TEST(philox_uniform_is_symmetric_and_open)
{
    assert_true(philox_uniform(0) == -1 + 0x1p-32);
    assert_true(philox_uniform(UINT32_MAX) == 1 - 0x1p-32);
    assert_true(philox_uniform(0x7fffffff) == -philox_uniform(0x80000000));
}

/* One walk, sample by sample, as the header defines it. */
static void plain_walk(const struct philox_walk *w, uint64_t series, size_t n, double *out)
{
    volatile double v = w->start, share;
    for (size_t t = 0; t < n; ++t) {
        if (t > 0) {
            uint32_t word = philox_block(w->seed, series, t / 4).w[t % 4];
            share = 2 * ((double)word + 0.5) / 4294967296.0 - 1;
            share = w->epsilon * share;
            share = 1 + share;
            v = v * share;
        }
        out[t] = v;
    }
}

static void check_walks(struct philox_walk w, uint64_t first, size_t n_series, size_t n)
{
    double *want = malloc((n_series * n + 1) * sizeof *want), *got = malloc(n_series * n * 8 + 8);
    float *got_f32 = malloc(n_series * n * sizeof *got_f32 + 4);
    assert_true(want && got && got_f32);
    for (size_t s = 0; s < n_series; ++s) {
        plain_walk(&w, first + s, n, want + s * n);
    }
    struct span wide = under_test_room(n_series * n * 8 + 64);
    struct span narrow = under_test_room(n_series * n * 4 + 64);
    const struct philox_kernels *k = under_test_ops()->philox;
    struct series_rows rows = {wide, DTYPE_F64, n_series, n, first, 0};
    struct series_rows narrow_rows = {narrow, DTYPE_F32, n_series, n, first, 0};
    ASSERT_OK(k->walk_rows(under_test_queue, &w, &rows));
    ASSERT_OK(k->walk_rows(under_test_queue, &w, &narrow_rows));
    under_test_get(got, wide, n_series * n * 8);
    under_test_get(got_f32, narrow, n_series * n * 4);
    assert_memory_equal(got, want, n_series * n * 8);
    for (size_t i = 0; i < n_series * n; ++i) {
        assert_true(got_f32[i] == (float)want[i]);
    }
    under_test_untouched(wide, n_series * n * 8);
    under_test_untouched(narrow, n_series * n * 4);
    under_test_release(wide);
    under_test_release(narrow);
    free(want);
    free(got);
    free(got_f32);
}

TEST(walks_have_the_bits_of_the_definition)
{
    static const size_t samples[] = {1, 2, 3, 4, 5, 31, 32, 33, 255, 256, 257, 4099};
    for (size_t k = 0; k < sizeof samples / sizeof *samples; ++k) {
        check_walks((struct philox_walk){0x123456789abcdef0u, 1000, 0.01}, 0, 3, samples[k]);
    }
    check_walks((struct philox_walk){1, -2.5, 0.999}, 77, 257, 33);
}

TEST(walks_use_all_bits_of_seed_and_series)
{
    check_walks((struct philox_walk){UINT64_MAX - 5, 1, 0.5}, 0xfffffffeu, 5, 70);
    check_walks((struct philox_walk){(uint64_t)1 << 40, 1, 0.5}, (uint64_t)1 << 50, 2, 70);
}

TEST(walks_without_epsilon_stand_still)
{
    check_walks((struct philox_walk){3, 7, 0}, 0, 2, 100);
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
