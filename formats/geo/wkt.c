/*
 * wkt - nodes, KEYWORD[...], one after the other, and into those that matter.
 *
 * A node ends with the bracket that closes it, or with the text. What stands between quotes is
 * passed over. A system's unit is the last one among its own nodes, or among those of its axes:
 * deeper ones are of datums, parameters and the heights that a system is meant for.
 *
 * Sources: OGC 01-009 (WKT 1), OGC 18-010r11 (WKT 2), ESRI's "Well-known text representation".
 */
#include "formats/geo/wkt.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct node {
    const char *word, *inside, *end; /* the keyword; behind its bracket; the bracket at its end */
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The next bracket, either way, or the end; quotes are passed over. */
static const char *next_bracket(const char *at, const char *end)
{
    bool quoted = false;
    while (at < end && (quoted || strchr("[(])", *at) == NULL)) {
        quoted = quoted != (*at++ == '"');
    }
    return at;
}

static bool is_open(char c)
{
    return c == '[' || c == '(';
}

static const char *word_before(const char *first, const char *at)
{
    while (at > first && is_word(at[-1])) {
        at--;
    }
    return at;
}

/* The node whose bracket is at `open`; its keyword does not begin before `first`. */
static struct node node_at(const char *first, const char *open, const char *end)
{
    const char *close = next_bracket(open + 1, end);
    for (int depth = 1; close < end; close = next_bracket(close + 1, end)) {
        depth += is_open(*close) ? 1 : -1;
        if (depth == 0) {
            break;
        }
    }
    return (struct node){.word = word_before(first, open), .inside = open + 1, .end = close};
}

/* The next node in [at, end). */
static bool next_node(const char *at, const char *end, struct node *out)
{
    const char *const open = at < end ? next_bracket(at, end) : end;
    if (open == end || !is_open(*open)) {
        return false;
    }
    *out = node_at(at, open, end);
    return true;
}

/* Is the keyword among the words, which end with NULL? */
static bool is_one_of(const struct node *n, const char *const words[])
{
    const size_t length = (size_t)(n->inside - 1 - n->word);
    while (*words != NULL &&
           (strlen(*words) != length || strncasecmp(*words, n->word, length) != 0)) {
        words++;
    }
    return *words != NULL;
}

/* The first node of such a name, outer ones before inner ones. */
static bool find(const char *text, const char *const words[], struct node *out)
{
    const char *const end = text + strlen(text);
    const char *open = next_bracket(text, end);
    for (; open < end; open = next_bracket(open + 1, end)) {
        const struct node n = {.word = word_before(text, open), .inside = open + 1};
        if (is_open(*open) && is_one_of(&n, words)) {
            *out = node_at(text, open, end);
            return true;
        }
    }
    return false;
}

/* UNIT["name", metres ...]; 0: it is not a number above 0. */
static double factor_of(const struct node *unit)
{
    const char *at = unit->inside;
    for (bool quoted = false; at < unit->end && (quoted || *at != ','); at++) {
        quoted = quoted != (*at == '"');
    }
    const double factor = at < unit->end ? strtod(at + 1, NULL) : 0;
    return factor > 0 && isfinite(factor) ? factor : 0;
}

static double unit_of(const struct node *system)
{
    static const char *const units[] = {"UNIT", "LENGTHUNIT", NULL};
    static const char *const axes[] = {"AXIS", NULL};
    struct node n, inner;
    double factor = 0;
    for (const char *at = system->inside; next_node(at, system->end, &n); at = n.end + 1) {
        if (is_one_of(&n, units)) {
            factor = factor_of(&n);
        } else if (is_one_of(&n, axes)) {
            const char *in = n.inside;
            for (; next_node(in, n.end, &inner); in = inner.end + 1) {
                factor = is_one_of(&inner, units) ? factor_of(&inner) : factor;
            }
        }
    }
    return factor;
}

enum wkt_kind wkt_map(const char *text, double *metres)
{
    static const char *const systems[] = {"PROJCS",      "PROJCRS",       "PROJECTEDCRS",
                                          "GEOGCS",      "GEOGRAPHICCRS", "GEOGCRS",
                                          "GEODETICCRS", "GEODCRS",       NULL};
    struct node n;
    *metres = 0;
    if (!find(text, systems, &n)) {
        return WKT_UNKNOWN;
    }
    if (strncasecmp(n.word, "PROJ", 4) != 0) {
        return WKT_GEOGRAPHIC;
    }
    *metres = unit_of(&n);
    return *metres > 0 ? WKT_PROJECTED : WKT_UNKNOWN;
}

bool wkt_altitudes(const char *text, double *metres)
{
    static const char *const systems[] = {"VERTCS", "VERT_CS", "VERTCRS", "VERTICALCRS", NULL};
    struct node n;
    *metres = find(text, systems, &n) ? unit_of(&n) : 0;
    return *metres > 0;
}
