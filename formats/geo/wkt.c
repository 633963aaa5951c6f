/*
 * wkt - see the header. Well-known text: nodes, KEYWORD[...], one after the other, and into those
 * that matter.
 *
 * A node ends with the bracket that closes it, or with the text. What stands between quotes is
 * passed over. A system's unit is the last one among its own nodes, or among those of its axes:
 * deeper ones are of datums, parameters and the heights that a system is meant for.
 *
 * In ARC/INFO's text a unit is METERS or FEET, which are those of the US survey, or how many of
 * them make a metre.
 *
 * Sources: OGC 01-009 (WKT 1), OGC 18-010r11 (WKT 2), ESRI's "Well-known text representation";
 * ARC/INFO's manual, "Projection files"; what GDAL takes them for (importFromESRI).
 */
#include "formats/geo/wkt.h"

#include "formats/geo/grid_scale.h"

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

/* --- ARC/INFO's text -------------------------------------------------------------------------- */

struct word {
    const char *text;
    size_t n;
};

static const char blanks[] = " \t\r", ends[] = " \t\r\n";

/* The word at p or behind blanks; n = 0: the line ends. */
static struct word word_at(const char *p)
{
    p += strspn(p, blanks);
    return (struct word){p, strcspn(p, ends)};
}

static bool says(struct word w, const char *text)
{
    return strlen(text) == w.n && strncasecmp(w.text, text, w.n) == 0;
}

/* What follows the keyword at the begin of a line; n = 0: nothing, or there is no such line. */
static struct word find_value(const char *text, const char *keyword)
{
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const struct word first = word_at(line);
        if (says(first, keyword)) {
            return word_at(first.text + first.n);
        }
    }
    return (struct word){.n = 0};
}

/* 0: it is none. */
static double unit_named(struct word w)
{
    static const char *const metres[] = {"METERS", "METRES", "METER", "METRE"};
    for (size_t i = 0; i < sizeof metres / sizeof metres[0]; i++) {
        if (says(w, metres[i])) {
            return 1;
        }
    }
    if (says(w, "FEET") || says(w, "FOOT")) {
        return GRID_SURVEY_FOOT_M;
    }
    const double per_metre = w.n > 0 ? strtod(w.text, NULL) : 0;
    return per_metre > 0 && isfinite(1 / per_metre) ? 1 / per_metre : 0;
}

static enum wkt_kind arcinfo_map(const char *text, double *metres)
{
    *metres = 0;
    const struct word projection = find_value(text, "Projection");
    if (projection.n == 0) {
        return WKT_UNKNOWN;
    }
    if (says(projection, "GEOGRAPHIC")) {
        return WKT_GEOGRAPHIC;
    }
    *metres = unit_named(find_value(text, "Units"));
    return *metres > 0 ? WKT_PROJECTED : WKT_UNKNOWN;
}

/* --- a system --------------------------------------------------------------------------------- */

enum wkt_kind wkt_map(const char *text, double *metres)
{
    static const char *const systems[] = {"PROJCS",      "PROJCRS",       "PROJECTEDCRS",
                                          "GEOGCS",      "GEOGRAPHICCRS", "GEOGCRS",
                                          "GEODETICCRS", "GEODCRS",       NULL};
    struct node n;
    *metres = 0;
    if (!find(text, systems, &n)) {
        return arcinfo_map(text, metres);
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
    *metres = find(text, systems, &n)                ? unit_of(&n)
              : find_value(text, "Projection").n > 0 ? unit_named(find_value(text, "Zunits"))
                                                     : 0;
    return *metres > 0;
}
