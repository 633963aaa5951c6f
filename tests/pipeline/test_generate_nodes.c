/*
 * Made-up nodes: where they lie and what the functions are there, beside the mathematical library
 * in long double; the bits; what is refused.
 */
#include "kernels/philox/philox_rule.h"
#include "pipeline/generate/generate.h"
#include "tests/support/generate_support.h"

#include <float.h>
#include <math.h>

/* Half a unit in the last place, and what long double leaves uncertain: 8 roundings of the terms.
 */
#define NEAREST (0.5L * DBL_EPSILON + 8 * LDBL_EPSILON)

static const struct generate_nodes_order plain = {.functions = {NODE_RUNGE},
                                                  .n_functions = 1,
                                                  .degree = 20,
                                                  .from = -1,
                                                  .to = 1,
                                                  .type = DTYPE_F64,
                                                  .path = "made",
                                                  .csv = true};

static double node(const struct generate_nodes_order *o, uint64_t k)
{
    double x;
    generate_nodes_fill(o, k, 0, 1, &x);
    return x;
}

static void assert_near(double value, long double wanted, long double bound)
{
    if (!(fabsl(value - wanted) <= bound)) {
        fail_msg("%.17g is not %.20Lg to %Lg", value, wanted, bound);
    }
}

/* --- where ------------------------------------------------------------------------------------ */

TEST(chebyshev_nodes_are_the_extremes_of_a_polynomial)
{
    static const uint64_t degrees[] = {1, 2, 3, 20, 21, 255, 5000};
    static const long double pi = 3.14159265358979323846264338327950288L;
    for (size_t i = 0; i < COUNT(degrees); i++) {
        struct generate_nodes_order o = plain;
        o.degree = degrees[i];
        for (uint64_t k = 0; k <= o.degree; k++) {
            const double x = node(&o, k);
            assert_near(x, -cosl(pi * k / o.degree), NEAREST);
            assert_true(k == 0 || node(&o, k - 1) < x);
            assert_near(x, -node(&o, o.degree - k), 0);
        }
        assert_near(node(&o, 0), -1, 0);
        assert_true(o.degree % 2 != 0 || fpclassify(node(&o, o.degree / 2)) == FP_ZERO);
        o.from = 2; /* and moved */
        o.to = 1000;
        for (uint64_t k = 0; k <= o.degree; k++) {
            assert_near(node(&o, k), 501 - 499 * cosl(pi * k / o.degree), 1000 * NEAREST);
        }
        assert_near(node(&o, 0), 2, 0);
        assert_near(node(&o, o.degree), 1000, 0);
    }
}

TEST(equispaced_nodes_have_one_distance)
{
    struct generate_nodes_order o = plain;
    o.placement = NODE_EQUISPACED;
    o.from = -3;
    o.to = 0.1;
    for (o.degree = 1; o.degree < 300; o.degree += 7) {
        for (uint64_t k = 0; k <= o.degree; k++) {
            const long double part = (long double)k / o.degree;
            assert_near(node(&o, k), -3 + (0.1 + 3.0L) * part, 3 * NEAREST);
        }
        assert_near(node(&o, 0), -3, 0);
        assert_near(node(&o, o.degree), 0.1, 0);
    }
}

TEST(random_nodes_are_uniform_and_of_the_seed)
{
    enum { N = 100000 };
    struct generate_nodes_order o = plain;
    double sum = 0, squares = 0;
    o.placement = NODE_RANDOM;
    o.seed = UINT64_C(0xfedcba9876543210);
    for (uint64_t k = 0; k < N; k++) {
        const double x = node(&o, k);
        const struct philox_words words = philox_block(o.seed, 0, k);
        /* 43 of its bits, by the rule */
        const double high = ((double)words.w[0] + (words.w[1] >> 21) * 0x1p-11) * 0x1p-31 - 1;
        assert_true(x >= high && x <= high + 0x1p-42);
        sum += x;
        squares += x * x;
    }
    /* deviations sqrt(1 / 3 N), sqrt(4 / 45 N); six of them */
    assert_true(fabs(sum / N) < 6 * sqrt(1.0 / 3 / N));
    assert_true(fabs(squares / N - 1.0 / 3) < 6 * sqrt(4.0 / 45 / N));
    const double first = node(&o, 0);
    o.seed++;
    assert_true(first < node(&o, 0) || first > node(&o, 0));
}

/* --- what ---------------------------------------------------------------------------------------
 */

static long double wanted_of(enum node_function f, long double x)
{
    switch (f) {
    case NODE_RUNGE:
        return 1 / (1 + 25 * x * x);
    case NODE_EXP:
        return expl(x);
    case NODE_ABS:
        return fabsl(x);
    case NODE_SIGN:
        return x > 0 ? 1 : x < 0 ? -1 : 0;
    case NODE_COS20:
        return cosl(20 * x);
    case NODE_FUNCTIONS:
        break;
    }
    return NAN;
}

TEST(values_are_the_nearest_numbers_at_the_node_that_is_written)
{
    static const double intervals[][2] = {{-1, 1}, {-700, 700}, {0.1, 0.2}, {-1e6, 0}};
    struct generate_nodes_order o = plain;
    o.n_functions = NODE_FUNCTIONS;
    for (size_t f = 0; f < NODE_FUNCTIONS; f++) {
        o.functions[f] = (enum node_function)f;
    }
    for (size_t i = 0; i < COUNT(intervals); i++) {
        o.from = intervals[i][0];
        o.to = intervals[i][1];
        for (o.placement = NODE_CHEBYSHEV; o.placement <= NODE_RANDOM; o.placement++) {
            for (uint64_t k = 0; k <= o.degree; k++) {
                double cell[1 + NODE_FUNCTIONS], one;
                generate_nodes_fill(&o, k, 0, COUNT(cell), cell);
                for (size_t f = 0; f < NODE_FUNCTIONS; f++) {
                    const long double wanted = wanted_of((enum node_function)f, cell[0]);
                    /* cos(20 x) of a large x: the error of 20 x in long double; e^x far to the
                     * left is a subnormal number, or 0 */
                    const long double extra = f == NODE_COS20 ? fabsl(20 * cell[0]) * LDBL_EPSILON
                                              : f == NODE_EXP ? 0x1p-1074L
                                                              : 0;
                    assert_near(cell[1 + f], wanted, fabsl(wanted) * NEAREST + extra);
                    generate_nodes_fill(&o, k, 1 + f, 1, &one);
                    assert_memory_equal(&one, &cell[1 + f], sizeof(one));
                }
            }
        }
    }
    o.type = DTYPE_F32;
    double cell[2];
    generate_nodes_fill(&o, 3, 0, 2, cell);
    assert_near(cell[0], (float)cell[0], 0);
    assert_near(cell[1], wanted_of(NODE_RUNGE, cell[0]), fabs(cell[1]) * NEAREST);
}

/* --- files ------------------------------------------------------------------------------------ */

static enum status written(struct generate_nodes_order o)
{
    uint64_t bytes;
    struct stat st;
    const enum status status = generate_nodes(&o, &backwards, &bytes);
    if (status == STATUS_OK) {
        assert_int_equal(stat("made", &st), 0);
        assert_int_equal(st.st_size, bytes);
    }
    return status;
}

TEST(a_file_has_a_line_a_node_under_the_names)
{
    struct generate_nodes_order o = plain;
    o.degree = 2;
    o.n_functions = 3;
    o.functions[1] = NODE_SIGN;
    o.functions[2] = NODE_ABS;
    assert_int_equal(written(o), STATUS_OK);
    struct bytes text = take_file("made");
    assert_string_equal((const char *)text.data, "x,runge,sign,abs\n"
                                                 "-1,0.038461538461538464,-1,1\n"
                                                 "0,1,0,0\n"
                                                 "1,0.038461538461538464,1,1\n");
    bytes_free(&text);
}

/* They may change only together with the manual. Beyond one batch of pieces. */
TEST(the_bits_stay)
{
    struct generate_nodes_order o = plain;
    o.n_functions = 2;
    o.functions[1] = NODE_COS20;
    assert_int_equal(written(o), STATUS_OK);
    assert_int_equal(crc_of_file("made"), 0x57ebfd7d);
    o.functions[0] = NODE_EXP;
    o.placement = NODE_RANDOM;
    o.degree = 50000;
    o.csv = false;
    assert_int_equal(written(o), STATUS_OK);
    assert_int_equal(crc_of_file("made"), 0xa6d00366);
    o.type = DTYPE_F32;
    assert_int_equal(written(o), STATUS_OK);
    assert_int_equal(crc_of_file("made"), 0x47ba1283);
}

TEST(what_cannot_be_interpolated_is_refused)
{
    static const struct {
        double from, to;
        enum node_placement placement;
        uint64_t degree;
        enum node_function function;
        enum dtype type;
        const char *says; /* NULL: it is fine */
    } cases[] = {
        {1, 1, NODE_CHEBYSHEV, 4, NODE_ABS, DTYPE_F64, "--from: 1 is not below --to 1"},
        {1, -1, NODE_RANDOM, 4, NODE_ABS, DTYPE_F64, "--from: 1 is not below --to -1"},
        {-1, 1, NODE_CHEBYSHEV, UINT64_C(1) << 31, NODE_ABS, DTYPE_F64, "the same number"},
        {-1, 1, NODE_CHEBYSHEV, 10000, NODE_SIGN, DTYPE_F32, "--degree: of 10001 nodes"},
        {-1, 1, NODE_CHEBYSHEV, 1000, NODE_SIGN, DTYPE_F32, NULL},
        {1e6, 1e6 + 0x1p-20, NODE_EQUISPACED, 16384, NODE_ABS, DTYPE_F64, "the same number"},
        {1e6, 1e6 + 0x1p-20, NODE_EQUISPACED, 1024, NODE_ABS, DTYPE_F64, NULL},
        {0, 709, NODE_CHEBYSHEV, 4, NODE_EXP, DTYPE_F64, NULL},
        {0, 710, NODE_CHEBYSHEV, 4, NODE_EXP, DTYPE_F64, "exp is too large a number at --to 710"},
        {0, 90, NODE_CHEBYSHEV, 4, NODE_EXP, DTYPE_F32, "exp is too large a number at --to 90"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct generate_nodes_order o = plain;
        o.from = cases[i].from;
        o.to = cases[i].to;
        o.placement = cases[i].placement;
        o.degree = cases[i].degree;
        o.functions[0] = cases[i].function;
        o.type = cases[i].type;
        if (cases[i].says == NULL) {
            assert_int_equal(written(o), STATUS_OK);
            assert_int_equal(unlink("made"), 0);
            continue;
        }
        assert_int_equal(written(o), STATUS_BAD_ARGUMENT);
        if (strstr(status_message(), cases[i].says) == NULL) {
            fail_msg("case %zu: '%s' does not say '%s'", i, status_message(), cases[i].says);
        }
        assert_int_equal(count_entries("."), 0);
    }
}

int main(void)
{
    return unit_run(enter_folder, leave_folder);
}
