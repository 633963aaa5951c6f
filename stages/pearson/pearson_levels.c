/*
 * pearson_levels - see the header. The numbers come in file order, cut anywhere.
 */
#include "stages/pearson/pearson_levels.h"

#include "kernels/pearson/pearson_rule.h"

#include <stdlib.h>

static size_t find_infinite(const void *values, enum dtype type, size_t n)
{
    size_t k = 0;
    while (k < n && !isinf(pearson_level(values, type, k))) {
        k++;
    }
    return k;
}

static void count_no_log(struct pearson_levels *levels, const struct pearson_lines *lines,
                         const void *values, size_t n)
{
    size_t place = (size_t)(levels->n_taken % lines->cells);
    bool first_line = levels->n_taken < lines->cells;
    for (size_t k = 0; k < n; k++) {
        double *before = levels->before + (lines->by_lines ? 0 : place);
        const double a = *before, b = pearson_level(values, lines->type, k), ratio = b / a;
        const bool follows = lines->by_lines ? place > 0 : !first_line;
        const bool present = !isnan(a) && !isnan(b);
        levels->n_no_log += follows && present && !(ratio > 0 && ratio <= DBL_MAX) ? 1 : 0;
        *before = b;
        if (++place == lines->cells) {
            place = 0;
            first_line = false;
        }
    }
}

enum status pearson_levels_take(struct pearson_levels *levels, const struct pearson_lines *lines,
                                const void *values, size_t n, size_t *infinite)
{
    *infinite = n;
    if (lines->diff == PEARSON_DIFF_NONE) {
        return STATUS_OK;
    }
    *infinite = find_infinite(values, lines->type, n);
    if (lines->diff == PEARSON_DIFF_LOG) {
        if (levels->before == NULL) {
            levels->before = calloc(lines->by_lines ? 1 : lines->cells, sizeof *levels->before);
        }
        if (levels->before == NULL) {
            return status_fail(STATUS_NO_MEMORY, "no memory for the last sample of %zu series",
                               lines->cells);
        }
        count_no_log(levels, lines, values, n);
    }
    levels->n_taken += n;
    return STATUS_OK;
}

void pearson_levels_free(struct pearson_levels *levels)
{
    free(levels->before);
    levels->before = NULL;
}
