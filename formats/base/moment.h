/*
 * moment - dates and times of ISO 8601, as seconds since 1970-01-01T00:00:00Z.
 */
#ifndef LEAT_FORMATS_BASE_MOMENT_H
#define LEAT_FORMATS_BASE_MOMENT_H

#include <stdbool.h>
#include <stddef.h>

/* "2024-05", "2024-05-01", "2024-05-01T12:30", "2024-05-01 12:30:00.25 +02:00": years from 1 to
 * 9999 of the Gregorian calendar, T or a blank before the time, a fraction behind a point or a
 * comma; Z or an offset in hours, or hours and minutes, after a blank or not; without one it is
 * UTC. No leap seconds. A year alone is a number, not a date. */
bool moment_parse(const char *text, size_t n, double *seconds);

/* "2024-05-01T12:30:00Z", with six digits behind the point where seconds are not whole; of what no
 * such year has the number. Returns out. */
enum { MOMENT_BYTES = 48 };
const char *moment_text(double seconds, char out[MOMENT_BYTES]);

#endif
