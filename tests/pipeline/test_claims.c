/*
 * Claims: the first that claims a key has it, and a copy that is told of them in their order is the
 * same.
 */
#include "pipeline/ranks/ranks_state.h"
#include "tests/support/unit.h"

enum { MANY = 5000 };

/* Hashes that differ in few bits, and neighbours. */
static uint64_t key(size_t i)
{
    return i % 2 == 0 ? (uint64_t)i << 48 : (uint64_t)i;
}

TEST(nobody_has_what_was_not_claimed)
{
    struct ranks_claims c = {0};
    assert_null(ranks_claims_find(&c, 0));
    ranks_claims_add(&c, 1, 5);
    assert_null(ranks_claims_find(&c, 0));
    assert_null(ranks_claims_find(&c, UINT64_MAX));
    ranks_claims_free(&c);
    assert_null(ranks_claims_find(&c, 1));
}

TEST(first_that_claims_a_key_has_it_however_many_follow)
{
    struct ranks_claims c = {0};
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < MANY; i++) {
            ranks_claims_add(&c, key(i), i % 7 + round);
        }
    }
    assert_int_equal(c.n, MANY);
    for (size_t i = 0; i < MANY; i++) {
        const struct ranks_claim *claim = ranks_claims_find(&c, key(i));
        assert_non_null(claim);
        assert_true(claim->key == key(i) && claim->owner == i % 7);
    }
    ranks_claims_free(&c);
}

TEST(copy_that_is_told_of_claims_in_their_order_is_the_same)
{
    struct ranks_claims c = {0}, copy = {0};
    for (size_t i = 0; i < MANY; i++) {
        ranks_claims_add(&c, key(i * 31 % MANY), i);
        while (i % 100 == 99 && copy.n < c.n) {
            const struct ranks_claim *next = &c.all[copy.n];
            ranks_claims_add(&copy, next->key, next->owner);
        }
    }
    assert_int_equal(copy.n, c.n);
    assert_memory_equal(copy.all, c.all, c.n * sizeof(c.all[0]));
    ranks_claims_free(&c);
    ranks_claims_free(&copy);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
