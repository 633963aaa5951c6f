/*
 * pearson_levels - what a job that correlates increments must know of the values themselves, since
 * the increments no longer tell: infinities, and neighbours whose ratio has no logarithm.
 */
#ifndef LEAT_STAGES_PEARSON_PEARSON_LEVELS_H
#define LEAT_STAGES_PEARSON_PEARSON_LEVELS_H

#include "formats/base/dtype.h"
#include "kernels/pearson/pearson.h"

struct pearson_levels {
    double *before;    /* the sample before: one, or that of every series when a line is a sample */
    uint64_t n_taken;  /* numbers so far */
    uint64_t n_no_log; /* increments of two present values that have no logarithm */
};

/* Number k of `values`. */
static inline double pearson_level(const void *values, enum dtype type, size_t k)
{
    return type == DTYPE_F64 ? ((const double *)values)[k] : (double)((const float *)values)[k];
}

/* How a table's numbers lie: `cells` in a line, which is a series or a sample of each. */
struct pearson_lines {
    bool by_lines;
    size_t cells;
    enum dtype type;
    enum pearson_diff diff;
};

/* Takes the next n numbers of a table. *infinite: the place of the first infinite one among them,
 * or n. STATUS_NO_MEMORY. */
enum status pearson_levels_take(struct pearson_levels *levels, const struct pearson_lines *lines,
                                const void *values, size_t n, size_t *infinite) STATUS_MUST_CHECK;
void pearson_levels_free(struct pearson_levels *levels);

#endif
