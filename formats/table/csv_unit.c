/*
 * csv_unit - which words beneath the names of a table are units.
 */
#include "formats/table/csv.h"

#include <string.h>
#include <strings.h>

bool csv_is_unit(const struct csv_cell *cell)
{
    static const char *const units[] = {
        "sec",     "secs",     "seconds", "ms",     "us",       "ns",     "min",     "mins",
        "minutes", "hr",       "hrs",     "hour",   "hours",    "day",    "days",    "week",
        "month",   "yr",       "year",    "years",  "cm",       "mm",     "km",      "um",
        "nm",      "ft",       "in",      "inch",   "mi",       "kg",     "mg",      "ug",
        "lb",      "degc",     "degf",    "deg c",  "deg f",    "deg",    "degrees", "rad",
        "celsius", "kelvin",   "pa",      "hpa",    "kpa",      "mpa",    "bar",     "mbar",
        "atm",     "psi",      "torr",    "mmhg",   "mv",       "kv",     "volt",    "volts",
        "ma",      "amp",      "kw",      "mw",     "wh",       "kwh",    "mwh",     "kj",
        "kn",      "hz",       "khz",     "mhz",    "ghz",      "db",     "dba",     "ohm",
        "ohms",    "lx",       "lux",     "ppm",    "ppb",      "ph",     "ml",      "m2",
        "m3",      "mol",      "mmol",    "rpm",    "count",    "counts", "usd",     "eur",
        "ratio",   "unitless", "psu",     "ntu",    "fnu",      "ts",     "rn",      "smp",
        "avg",     "max",      "tot",     "std",    "string",   "float",  "float64", "double",
        "int",     "int64",    "integer", "number", "datetime", "date",   "text"};
    enum { LONGEST = 24 };
    const unsigned char *const p = cell->text;
    const size_t n = cell->n;
    if (n == 0 || n > LONGEST || (p[0] >= '0' && p[0] <= '9')) {
        return false;
    }
    if (strchr("([{<", p[0]) && strchr(")]}>", p[n - 1])) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        /* degrees, micro, square and cube, in Latin-1 or UTF-8 */
        const bool is_high = i == 0 || p[i - 1] == 0xc2 || p[i - 1] < 0x80;
        if ((p[i] != 0 && strchr("%/^*", p[i])) ||
            (is_high && (p[i] == 0xb0 || p[i] == 0xb5 || p[i] == 0xb2 || p[i] == 0xb3))) {
            return true;
        }
    }
    if (n == 1) { /* one that is named so is not written so, as T and t are */
        return strchr("smghdlLVAKCFWJN", p[0]) != NULL;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i]) == n && strncasecmp((const char *)p, units[i], n) == 0) {
            return true;
        }
    }
    return false;
}
