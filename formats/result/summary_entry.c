/*
 * summary_entry - see summary_entry.h.
 */
#include "formats/result/summary_entry.h"

#include <math.h>

json_t *summary_integer(uint64_t n)
{
    return json_integer((json_int_t)n);
}

json_t *summary_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Takes a value over into a list; NULL without memory. */
static json_t *append(json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) == 0) {
        return list;
    }
    json_decref(list);
    return NULL;
}

json_t *summary_integers(const uint64_t *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        list = append(list, summary_integer(values[i]));
    }
    return list;
}

json_t *summary_reals(const double *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        list = append(list, summary_real(values[i]));
    }
    return list;
}

enum status summary_entry_put(json_t *object, const struct summary_entry *entries, size_t n)
{
    enum status st = STATUS_OK;
    for (size_t k = 0; k < n; k++) {
        if (st != STATUS_OK) {
            json_decref(entries[k].value);
        } else if (json_object_set_new(object, entries[k].key, entries[k].value) != 0) {
            st = status_fail(STATUS_NO_MEMORY, "no memory for the summary (%s)", entries[k].key);
        }
    }
    return st;
}
