/*
 * arcinfo - see the header. A unit is METERS or FEET, which are those of the US survey, or how many
 * of them make a metre.
 *
 * Sources: ARC/INFO's manual, "Projection files"; what GDAL takes them for (importFromESRI).
 */
#include "formats/geo/arcinfo.h"

#include "formats/geo/grid_scale.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static bool is_word(struct word w, const char *text)
{
    return strlen(text) == w.n && strncasecmp(w.text, text, w.n) == 0;
}

/* What follows the keyword at the begin of a line; n = 0: nothing, or there is no such line. */
static struct word find_value(const char *text, const char *keyword)
{
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const struct word first = word_at(line);
        if (is_word(first, keyword)) {
            return word_at(first.text + first.n);
        }
    }
    return (struct word){.n = 0};
}

/* 0: it is none. */
static double unit_of(struct word w)
{
    static const char *const metres[] = {"METERS", "METRES", "METER", "METRE"};
    for (size_t i = 0; i < sizeof metres / sizeof metres[0]; i++) {
        if (is_word(w, metres[i])) {
            return 1;
        }
    }
    if (is_word(w, "FEET") || is_word(w, "FOOT")) {
        return GRID_SURVEY_FOOT_M;
    }
    const double per_metre = w.n > 0 ? strtod(w.text, NULL) : 0;
    return per_metre > 0 && isfinite(1 / per_metre) ? 1 / per_metre : 0;
}

enum wkt_kind arcinfo_map(const char *text, double *metres)
{
    *metres = 0;
    const struct word projection = find_value(text, "Projection");
    if (projection.n == 0) {
        return WKT_UNKNOWN;
    }
    if (is_word(projection, "GEOGRAPHIC")) {
        return WKT_GEOGRAPHIC;
    }
    *metres = unit_of(find_value(text, "Units"));
    return *metres > 0 ? WKT_PROJECTED : WKT_UNKNOWN;
}

bool arcinfo_heights(const char *text, double *metres)
{
    *metres = find_value(text, "Projection").n > 0 ? unit_of(find_value(text, "Zunits")) : 0;
    return *metres > 0;
}
