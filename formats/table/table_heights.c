/*
 * table_heights - see the header. Nearly all numbers lie within the third outermost ones, and are
 * passed over.
 */
#include "formats/table/table_heights.h"

#include "formats/base/shortest.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Above all ground: beside a plain, a height of nines below it may be that of another plain. */
static const double highest_m = 9000;

void table_heights_begin(struct table_heights *h, double nodata)
{
    *h = (struct table_heights){.nodata = nodata};
    table_extremes_begin(&h->rest);
}

/* False: there is no room. */
static bool set_aside(struct table_heights *h, double v, uint64_t n_times)
{
    size_t k = 0;
    while (k < h->n_aside && h->aside[k].value != v) {
        k++;
    }
    if (k == TABLE_HEIGHTS_ASIDE) {
        h->is_full = true;
        return false;
    }
    h->aside[k].value = v;
    h->aside[k].n_times += n_times;
    h->n_aside += k == h->n_aside;
    return true;
}

void table_heights_take(struct table_heights *h, const struct table_chunk *chunk, enum dtype type)
{
    struct table_extremes *const e = &h->rest;
    for (size_t i = 0; i < chunk->n_cells; i++) {
        const double v = type == DTYPE_F32 ? (double)((const float *)chunk->values)[i]
                                           : ((const double *)chunk->values)[i];
        if (v > e->low[2] && v < e->high[2]) {
            e->n++;
        } else if (!grid_matches_nodata(h->nodata, v) &&
                   !(table_codes_is_known(v) && set_aside(h, v, 1))) {
            table_extremes_place(e, v);
            e->n++;
        }
    }
}

/* Those that lie within the rest are heights: had it been there, they had not been set aside. */
void table_heights_merge(struct table_heights *h, const struct table_heights *more)
{
    table_extremes_merge(&h->rest, &more->rest);
    for (size_t k = 0; k < more->n_aside; k++) {
        const double v = more->aside[k].value;
        const uint64_t n_times = more->aside[k].n_times;
        const bool is_within = v > h->rest.low[2] && v < h->rest.high[2];
        if (is_within || !set_aside(h, v, n_times)) {
            struct table_extremes same;
            table_extremes_begin(&same);
            same.low[0] = same.high[0] = v;
            same.n_low = same.n_high = same.n = n_times;
            table_extremes_merge(&h->rest, &same);
        }
    }
}

/* The rest with one of the values set aside as its outermost on that side. */
static struct table_extremes rest_with(const struct table_extremes *rest, double v, uint64_t n,
                                       bool is_low)
{
    struct table_extremes e = *rest;
    double *const at = is_low ? e.low : e.high;
    const double next = at[0], after = isfinite(at[1]) ? at[1] : at[0];
    at[0] = v;
    at[1] = next;
    at[2] = after;
    *(is_low ? &e.n_low : &e.n_high) = n < 2 ? 2 : n;
    e.n += n;
    return e;
}

static int by_size(const void *a, const void *b)
{
    const double x = fabs(((const struct table_code *)a)->value),
                 y = fabs(((const struct table_code *)b)->value);
    return (x > y) - (x < y);
}

void table_heights_find(const struct table_heights *h, bool known_only,
                        struct table_findings *found)
{
    const struct excerpt none = {""};
    struct table_extremes rest = h->rest;
    for (int side = 0; side < 2 && !known_only; side++) {
        const bool is_low = side == 0;
        double *const at = is_low ? rest.low : rest.high;
        if (table_codes_is_code(&rest, is_low)) {
            table_codes_add(found, at[0], is_low, is_low ? rest.n_low : rest.n_high, none);
            at[0] = at[1];
            at[1] = at[2];
        }
    }
    for (size_t k = 0; k < h->n_aside; k++) {
        const double v = h->aside[k].value;
        const bool is_low = v < rest.low[0], is_outside = is_low || v > rest.high[0];
        const bool is_height = rest.low[0] == rest.high[0] && v > 0 && v < highest_m;
        const struct table_extremes e = rest_with(&rest, v, h->aside[k].n_times, is_low);
        if (is_outside && !is_height && table_codes_is_code(&e, is_low)) {
            table_codes_add(found, v, is_low, h->aside[k].n_times, none);
        }
    }
    qsort(found->codes, found->n_codes, sizeof *found->codes, by_size);
}

enum status table_heights_list(const struct table_findings *found, const char *what,
                               struct bytes *out)
{
    const size_t n = found->n_codes;
    char text[SHORTEST_BYTES];
    for (size_t k = 0; k < n; k++) {
        const uint64_t n_times = found->codes[k].n_times[0];
        const int length = (int)shortest_f64(found->codes[k].value, text);
        STATUS_TRY(bytes_printf(out, "%s%.*s (%" PRIu64 " cell%s)",
                                k == 0       ? ""
                                : k + 1 == n ? " and "
                                             : ", ",
                                length, text, n_times, n_times == 1 ? "" : "s"));
    }
    return n == 0 ? STATUS_OK
                  : bytes_printf(out, "%s for missing %s, far from all others",
                                 n == 1 ? " looks like a code" : " look like codes", what);
}
