/*
 * shortest - the shim over std::to_chars.
 */
#include "formats/base/shortest.h"

#include <charconv>
#include <cstring>

template <typename T> static size_t shortest(T value, char *text)
{
    if (value != value) {
        std::memcpy(text, "nan", 3);
        return 3;
    }
    return static_cast<size_t>(std::to_chars(text, text + SHORTEST_BYTES, value).ptr - text);
}

size_t shortest_f64(double value, char *text)
{
    return shortest(value, text);
}

size_t shortest_f32(float value, char *text)
{
    return shortest(value, text);
}
