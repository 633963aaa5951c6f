/*
 * busy_union - the length of the union of intervals that come in any order, as those of several
 * queues of one device do.
 *
 * The latest BUSY_UNION_MOST disjoint intervals are kept; what lies before them counts as counted,
 * so the length is never more than the union's, and less only for an interval that comes later than
 * so many others. No memory is asked for. Compiles as C and as C++.
 */
#ifndef LEAT_FORMATS_BASE_BUSY_UNION_H
#define LEAT_FORMATS_BASE_BUSY_UNION_H

#include <stddef.h>
#include <string.h>

enum { BUSY_UNION_MOST = 4096 };

struct busy_interval {
    double begin, end;
};

/* Zeroed before the first. Times are 0 or more. */
struct busy_union {
    struct busy_interval at[BUSY_UNION_MOST]; /* disjoint, in order */
    size_t n;
    double floor; /* before it all is counted */
    double total;
};

static inline void busy_union_add(struct busy_union *u, double begin, double end)
{
    begin = begin > u->floor ? begin : u->floor;
    if (!(end > begin)) {
        return;
    }
    if (u->n == BUSY_UNION_MOST) {
        const size_t gone = BUSY_UNION_MOST / 2;
        u->floor = u->at[gone - 1].end;
        u->n -= gone;
        memmove(u->at, u->at + gone, u->n * sizeof u->at[0]);
        begin = begin > u->floor ? begin : u->floor;
        if (!(end > begin)) {
            return;
        }
    }
    size_t last = u->n; /* behind those that begin before the end of the new one */
    while (last > 0 && u->at[last - 1].begin > end) {
        last--;
    }
    size_t first = last; /* the first of those that it meets */
    double had = 0;
    while (first > 0 && u->at[first - 1].end >= begin) {
        first--;
        had += u->at[first].end - u->at[first].begin;
    }
    if (first < last) {
        begin = u->at[first].begin < begin ? u->at[first].begin : begin;
        end = u->at[last - 1].end > end ? u->at[last - 1].end : end;
    }
    memmove(u->at + first + 1, u->at + last, (u->n - last) * sizeof u->at[0]);
    u->n = u->n - (last - first) + 1;
    u->at[first].begin = begin;
    u->at[first].end = end;
    u->total += end - begin - had;
}

#endif
