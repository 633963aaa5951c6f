/*
 * generate_nodes - see generate.h. Sines and exponentials are sums of Taylor's series, whose
 * first term that is left out is below 2^-113 of the sum.
 */
#include "pipeline/generate/generate.h"

#include "kernels/philox/philox_rule.h"
#include "pipeline/generate/generate_table.h"

#include <math.h>

typedef __float128 quad;

static const quad pi = 3.14159265358979323846264338327950288Q;
static const quad ln_2 = 0.693147180559945309417232121458176568Q;

const char *const node_function_names[NODE_FUNCTIONS] = {"runge", "exp", "abs", "sign", "cos20"};

/* --- functions -------------------------------------------------------------------------------- */

/* sin t, |t| <= pi / 2 */
static quad sine(quad t)
{
    quad sum = 1;
    for (int k = 36; k >= 2; k -= 2) {
        sum = 1 - sum * t * t / (k * (k + 1));
    }
    return sum * t;
}

/* cos t = (-1)^q sin(pi / 2 - |t - q pi|), |t| < 2^30 */
static quad cosine(quad t)
{
    const int64_t q = (int64_t)(t / pi + (t < 0 ? -0.5Q : 0.5Q));
    const quad r = t - q * pi, value = sine(pi / 2 - (r < 0 ? -r : r));
    return q % 2 == 0 ? value : -value;
}

/* e^x = 2^q e^(x - q ln 2), |x| < 2^20 */
static double exponential(double x)
{
    const int q = (int)(x / (double)ln_2 + (x < 0 ? -0.5 : 0.5));
    const quad r = x - q * ln_2;
    quad sum = 1;
    for (int k = 26; k >= 1; k--) {
        sum = 1 + sum * r / k;
    }
    return ldexp((double)sum, q);
}

static double value_at(enum node_function f, double x)
{
    const quad wide = x;
    switch (f) {
    case NODE_RUNGE:
        return (double)(1 / (1 + 25 * wide * wide));
    case NODE_EXP:
        return exponential(x);
    case NODE_ABS:
        return fabs(x);
    case NODE_SIGN:
        return (double)((x > 0) - (x < 0));
    case NODE_COS20:
        return (double)cosine(20 * wide);
    case NODE_FUNCTIONS:
        break;
    }
    return NAN;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* Where node k lies in the interval: 0 to 1. */
static quad part_of(const struct generate_nodes_order *o, uint64_t k)
{
    if (o->placement == NODE_CHEBYSHEV) { /* cos(pi k / degree), which is 0 in the very middle */
        return (1 - sine(pi / 2 * ((quad)o->degree - 2 * (quad)k) / o->degree)) / 2;
    }
    if (o->placement == NODE_EQUISPACED) {
        return (quad)k / o->degree;
    }
    const struct philox_words words = philox_block(o->seed, 0, k);
    const uint64_t bits = ((uint64_t)words.w[0] << 32 | words.w[1]) >> 11;
    return ((quad)bits + 0.5Q) / (UINT64_C(1) << 53);
}

static double round_to(enum dtype type, double value)
{
    return type == DTYPE_F32 ? (double)(float)value : value;
}

static double node_at(const struct generate_nodes_order *o, uint64_t k)
{
    const quad x = o->from + ((quad)o->to - o->from) * part_of(o, k);
    return round_to(o->type, (double)x);
}

void generate_nodes_fill(const void *order, uint64_t k, uint64_t first, size_t n, double *out)
{
    const struct generate_nodes_order *const o = order;
    const double x = node_at(o, k);
    for (size_t i = 0; i < n; i++) {
        const size_t cell = first + i;
        out[i] = cell == 0 ? x : value_at(o->functions[cell - 1], x);
    }
}

static enum status put_name(const void *order, uint64_t column, struct bytes *out)
{
    const struct generate_nodes_order *const o = order;
    return bytes_printf(out, "%s",
                        column == 0 ? "x" : node_function_names[o->functions[column - 1]]);
}

/* --- what cannot be done ---------------------------------------------------------------------- */

/* Two nodes next to each other are closest at the ends, where numbers are sparsest too. */
static enum status check_distance(const struct generate_nodes_order *o)
{
    const double most = fmax(fabs(o->from), fabs(o->to));
    const double unit = o->type == DTYPE_F32
                            ? (double)(nextafterf((float)most, INFINITY) - (float)most)
                            : nextafter(most, INFINITY) - most;
    const double left = node_at(o, 1) - node_at(o, 0);
    const double right = node_at(o, o->degree) - node_at(o, o->degree - 1);
    if (o->placement != NODE_RANDOM && fmin(left, right) < 2 * unit) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "--degree: of %llu nodes from %.17g to %.17g two would be the same "
                           "number; take fewer, a wider interval or --type f64",
                           (unsigned long long)o->degree + 1, o->from, o->to);
    }
    return STATUS_OK;
}

static enum status check(const struct generate_nodes_order *o)
{
    if (!(o->from < o->to)) {
        return status_fail(STATUS_BAD_ARGUMENT, "--from: %.17g is not below --to %.17g", o->from,
                           o->to);
    }
    STATUS_TRY(check_distance(o));
    for (size_t f = 0; f < o->n_functions; f++) { /* what grows without end does so to the right */
        if (!isfinite(round_to(o->type, value_at(o->functions[f], round_to(o->type, o->to))))) {
            return status_fail(STATUS_BAD_ARGUMENT,
                               "--function: %s is too large a number at --to %.17g",
                               node_function_names[o->functions[f]], o->to);
        }
    }
    return STATUS_OK;
}

enum status generate_nodes(const struct generate_nodes_order *o, const struct executor *executor,
                           uint64_t *bytes)
{
    const struct generate_table table = {.n_lines = o->degree + 1,
                                         .cells_per_line = 1 + o->n_functions,
                                         .type = o->type == DTYPE_F32 ? NPY_F4 : NPY_F8,
                                         .context = o,
                                         .fill = generate_nodes_fill,
                                         .put_name = put_name,
                                         .path = o->path,
                                         .csv = o->csv,
                                         .force = o->force};
    *bytes = 0;
    STATUS_TRY(check(o));
    return generate_tables(&table, 1, executor, bytes);
}
