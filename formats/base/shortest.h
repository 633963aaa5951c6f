/*
 * shortest - the shortest decimal text that reads back as the same number; std::to_chars for C.
 */
#ifndef LEAT_FORMATS_BASE_SHORTEST_H
#define LEAT_FORMATS_BASE_SHORTEST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Room for the longest text, "-1.7976931348623157e+308". */
enum { SHORTEST_BYTES = 32 };

/* Writes the text without a NUL into `text` of SHORTEST_BYTES; returns its length. "nan" for any
 * NaN, "inf" and "-inf". */
size_t shortest_f64(double value, char *text);
size_t shortest_f32(float value, char *text);

#ifdef __cplusplus
}
#endif

#endif
