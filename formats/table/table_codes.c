/*
 * table_codes - see table_watch.h, which states the rules. Of a grid nearly all numbers lie within
 * the third outermost ones, and are passed over.
 */
#include "formats/table/table_codes.h"

#include "formats/base/shortest.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { LEAST_COUNT = 10 };

static bool is_whole(double v)
{
    return v == trunc(v);
}

/* Nothing but nines, `most_other` first digits aside: 99 and more; 7999 and more. */
static bool is_nines(double v)
{
    double rest = fabs(v);
    if (!is_whole(v) || rest >= 1e15) {
        return false;
    }
    size_t nines = 0;
    while (fmod(rest, 10) == 9) {
        rest = floor(rest / 10);
        nines++;
    }
    return rest == 0 ? nines >= 2 : rest < 10 && nines >= 3;
}

/* One decimal, as of temperatures that are written so: 999.9 and more. */
static bool is_nines_with_decimal(double v)
{
    const double tenths = round(10 * fabs(v));
    return !is_whole(v) && (float)(tenths / 10) == (float)fabs(v) && tenths >= 9999 &&
           is_nines(tenths);
}

static bool is_end_of_type(double v)
{
    static const double ends[] = {-32768,        -32767,     32767,       65535,
                                  -2147483648.0, 2147483647, 4294967295.0};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (v == ends[i]) {
            return true;
        }
    }
    return fabs(v) > 1e15;
}

static bool reads_as_code(double v)
{
    return is_nines(v) || is_nines_with_decimal(v) || is_end_of_type(v);
}

static bool is_power_of_ten(double v)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
        if (fabs(v) == powers[i]) {
            return true;
        }
    }
    return false;
}

/* One that is a code wherever it is met; 99 may be a number of things. */
static bool is_known(double v)
{
    return (is_nines(v) && fabs(v) >= 999) || is_nines_with_decimal(v) || is_end_of_type(v);
}

/* Whether the outermost value on one side, of n_times, looks like a code. */
static bool is_code(const struct table_extremes *e, bool is_low)
{
    const double *const at = is_low ? e->low : e->high;
    const double v = at[0], opposite = is_low ? e->high[0] : e->low[0];
    const uint64_t n_times = is_low ? e->n_low : e->n_high;
    const double gap = fabs(at[1] - v), next = fabs(at[2] - at[1]), range = fabs(opposite - at[1]);
    const double far = is_low && v < 0 ? 3 * range : 10 * range;
    if (!isfinite(v) || !isfinite(at[2]) || !isfinite(opposite) || v == 0) {
        return false;
    }
    if (n_times == 1) {
        return gap > far && is_known(v);
    }
    const bool only_below = is_low && v < 0 && at[1] >= 0;
    const bool is_apart = gap >= 10 * next && (gap >= range / 10 || only_below);
    if (is_apart && ((only_below && is_whole(v)) || reads_as_code(v)) &&
        (gap >= range / 10 || is_nines(v))) {
        return true;
    }
    return n_times >= 3 && n_times <= e->n / 2 && gap > far && is_whole(v) && !is_power_of_ten(v);
}

/* Gaps are few. */
static bool is_count(const struct table_course *c)
{
    return c->counts || (c->has_steps && c->n_steps >= (c->n - 1) - (c->n - 1) / 4);
}

static bool goes_one_way(const struct table_course *c)
{
    return c->rises && c->n >= LEAST_COUNT;
}

bool table_codes_has(const struct table_extremes *e, const struct table_course *c)
{
    return goes_one_way(c) || is_code(e, true) || is_code(e, false);
}

/* Adds one, of a series of that name. */
static void add_code(struct table_findings *found, double value, bool is_low, uint64_t n_times,
                     struct excerpt name)
{
    size_t k = 0;
    while (k < found->n_codes &&
           (found->codes[k].value != value || found->codes[k].is_low != is_low)) {
        k++;
    }
    if (k == TABLE_CODES) {
        return;
    }
    struct table_code *const c = &found->codes[k];
    if (k == found->n_codes) {
        *c = (struct table_code){.value = value, .is_low = is_low};
        found->n_codes++;
    }
    if (c->n_series < TABLE_CODE_NAMES) {
        c->n_times[c->n_series] = n_times;
        c->names[c->n_series] = name;
    }
    c->n_series++;
}

void table_codes_find(const struct table_extremes *e, const struct table_course *c, size_t series,
                      struct excerpt name, struct table_findings *found)
{
    if (is_code(e, true)) {
        add_code(found, e->low[0], true, e->n_low, name);
    }
    if (is_code(e, false)) {
        add_code(found, e->high[0], false, e->n_high, name);
    }
    if (!goes_one_way(c)) {
        return;
    }
    const struct table_count count = {.series = series,
                                      .name = name,
                                      .first = c->first,
                                      .last = c->last,
                                      .step = c->step,
                                      .has_gaps = !c->counts};
    if (!is_count(c)) {
        found->has_rising = found->has_rising || series == 0;
        found->rising = series == 0 ? count : found->rising;
        return;
    }
    if (found->n_counts < TABLE_WATCH_LISTED) {
        found->counts[found->n_counts] = count;
    }
    found->n_counts++;
}

/* What is set already goes on with a comma and a blank: -32768,9999 may be one number. */
enum status table_codes_cure(const struct table_code *codes, size_t n, bool is_set,
                             struct bytes *out)
{
    char text[SHORTEST_BYTES];
    STATUS_TRY(bytes_printf(out, is_set ? "append \"" : "set missing_value="));
    for (size_t k = 0; k < n; k++) {
        const int length = (int)shortest_f64(codes[k].value, text);
        STATUS_TRY(bytes_printf(out, "%s%.*s", is_set ? ", " : k > 0 ? "," : "", length, text));
    }
    STATUS_TRY(bytes_printf(out, is_set ? "\" to missing_value" : ""));
    return bytes_append(out, "", 1);
}

enum status table_codes_say(const struct table_code *c, const char *kind, bool is_set,
                            struct bytes *out)
{
    char text[SHORTEST_BYTES];
    const int n = (int)shortest_f64(c->value, text);
    const size_t named = c->n_series < TABLE_CODE_NAMES ? c->n_series : TABLE_CODE_NAMES;
    STATUS_TRY(bytes_printf(out,
                            "%.*s looks like a code for missing numbers: it is the %s value of ", n,
                            text, c->is_low ? "lowest" : "highest"));
    if (c->n_series > 1) {
        STATUS_TRY(bytes_printf(out, "%zu %ss, far from all others: ", c->n_series, kind));
    }
    for (size_t k = 0; k < named; k++) {
        STATUS_TRY(bytes_printf(out, "%s%s ", k > 0 ? ", " : "", c->names[k].text));
        STATUS_TRY(c->n_times[k] == 1 ? bytes_printf(out, "once")
                                      : bytes_printf(out, "%" PRIu64 " times", c->n_times[k]));
    }
    if (c->n_series > named) {
        STATUS_TRY(bytes_printf(out, " and %zu more", c->n_series - named));
    }
    STATUS_TRY(
        bytes_printf(out, "%s; if it is one, ", c->n_series > 1 ? "" : ", far from all others"));
    return table_codes_cure(c, 1, is_set, out);
}

/* --- heights ---------------------------------------------------------------------------------- */

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
        } else if (!grid_matches_nodata(h->nodata, v) && !(is_known(v) && set_aside(h, v, 1))) {
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
        if (is_code(&rest, is_low)) {
            add_code(found, at[0], is_low, is_low ? rest.n_low : rest.n_high, none);
            at[0] = at[1];
            at[1] = at[2];
        }
    }
    for (size_t k = 0; k < h->n_aside; k++) {
        const double v = h->aside[k].value;
        const bool is_low = v < rest.low[0], is_outside = is_low || v > rest.high[0];
        const bool is_height = rest.low[0] == rest.high[0] && v > 0 && v < highest_m;
        const struct table_extremes e = rest_with(&rest, v, h->aside[k].n_times, is_low);
        if (is_outside && !is_height && is_code(&e, is_low)) {
            add_code(found, v, is_low, h->aside[k].n_times, none);
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
