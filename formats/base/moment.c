/*
 * moment - see moment.h.
 */
#include "formats/base/moment.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct reading {
    const char *at, *end;
};

static bool take(struct reading *r, const char *any, char *found)
{
    for (; r->at < r->end && *any != '\0'; any++) {
        if (*r->at == *any) {
            *found = *r->at++;
            return true;
        }
    }
    return false;
}

/* A number of so many digits, from least to most. */
static bool take_digits(struct reading *r, int digits, int least, int most, int *out)
{
    int value = 0;
    for (; digits > 0 && r->at < r->end && *r->at >= '0' && *r->at <= '9'; digits--) {
        value = 10 * value + (*r->at++ - '0');
    }
    *out = value;
    return digits == 0 && value >= least && value <= most;
}

/* What lies between this and the same time in UTC, in seconds. */
static bool take_offset(struct reading *r, int *out)
{
    char blank, sign, colon;
    int hours, minutes = 0;
    *out = 0;
    if (r->at == r->end) {
        return true;
    }
    (void)take(r, " ", &blank);
    if (take(r, "Z", &sign)) {
        return true;
    }
    if (!take(r, "+-", &sign) || !take_digits(r, 2, 0, 23, &hours)) {
        return false;
    }
    if (r->at < r->end) {
        (void)take(r, ":", &colon);
        if (!take_digits(r, 2, 0, 59, &minutes)) {
            return false;
        }
    }
    *out = (sign == '-' ? -60 : 60) * (60 * hours + minutes);
    return true;
}

/* "12:30:00.25"; 24:00 is the day's end. */
static bool take_time(struct reading *r, struct tm *t, double *fraction)
{
    char sign;
    double unit = 0.1;
    if (!take_digits(r, 2, 0, 24, &t->tm_hour) || !take(r, ":", &sign) ||
        !take_digits(r, 2, 0, 59, &t->tm_min)) {
        return false;
    }
    if (take(r, ":", &sign)) {
        if (!take_digits(r, 2, 0, 59, &t->tm_sec)) {
            return false;
        }
        const bool has_fraction = take(r, ".,", &sign);
        while (has_fraction && take(r, "0123456789", &sign)) {
            *fraction += (sign - '0') * unit;
            unit /= 10;
        }
        if (has_fraction && unit == 0.1) {
            return false;
        }
    }
    return t->tm_hour < 24 || (t->tm_min == 0 && t->tm_sec == 0 && *fraction == 0);
}

static int days_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month] + (month == 1 && leaps ? 1 : 0);
}

bool moment_parse(const char *text, size_t n, double *seconds)
{
    struct reading r = {text, text + n};
    struct tm t = {.tm_mday = 1};
    int year, offset = 0;
    double fraction = 0;
    char sign;
    if (!take_digits(&r, 4, 1, 9999, &year) || !take(&r, "-", &sign) ||
        !take_digits(&r, 2, 1, 12, &t.tm_mon)) {
        return false;
    }
    t.tm_year = year - 1900;
    t.tm_mon--;
    if (take(&r, "-", &sign)) {
        if (!take_digits(&r, 2, 1, days_of(year, t.tm_mon), &t.tm_mday)) {
            return false;
        }
        if (take(&r, "T ", &sign) && (!take_time(&r, &t, &fraction) || !take_offset(&r, &offset))) {
            return false;
        }
    }
    *seconds = (double)((int64_t)timegm(&t) - offset) + fraction;
    return r.at == r.end;
}

const char *moment_text(double seconds, char out[MOMENT_BYTES])
{
    const double whole = floor(seconds), micro = round((seconds - whole) * 1e6);
    const time_t at =
        (time_t)(isfinite(whole) && fabs(whole) < 1e12 ? whole : 1e12) + (micro >= 1e6 ? 1 : 0);
    struct tm t;
    if (gmtime_r(&at, &t) == NULL || t.tm_year < 1 - 1900 || t.tm_year > 9999 - 1900) {
        snprintf(out, MOMENT_BYTES, "%.17g", seconds);
        return out;
    }
    size_t n = (size_t)snprintf(out, MOMENT_BYTES, "%04d", t.tm_year + 1900);
    n += strftime(out + n, MOMENT_BYTES - n, "-%m-%dT%H:%M:%S", &t);
    if (micro > 0 && micro < 1e6) {
        n += (size_t)snprintf(out + n, MOMENT_BYTES - n, ".%06.0f", micro);
    }
    snprintf(out + n, MOMENT_BYTES - n, "Z");
    return out;
}
