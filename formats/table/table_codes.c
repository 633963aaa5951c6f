/*
 * table_codes - see table_watch.h, which states the rules.
 */
#include "formats/table/table_codes.h"

#include "formats/base/shortest.h"

#include <inttypes.h>
#include <math.h>

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
bool table_codes_is_known(double v)
{
    return (is_nines(v) && fabs(v) >= 999) || is_nines_with_decimal(v) || is_end_of_type(v);
}

bool table_codes_is_code(const struct table_extremes *e, bool is_low)
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
        return gap > far && table_codes_is_known(v);
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
    return goes_one_way(c) || table_codes_is_code(e, true) || table_codes_is_code(e, false);
}

void table_codes_add(struct table_findings *found, double value, bool is_low, uint64_t n_times,
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
    if (table_codes_is_code(e, true)) {
        table_codes_add(found, e->low[0], true, e->n_low, name);
    }
    if (table_codes_is_code(e, false)) {
        table_codes_add(found, e->high[0], false, e->n_high, name);
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
