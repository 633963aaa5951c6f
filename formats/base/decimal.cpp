/*
 * decimal - the C shim of fast_float (header-only C++; D. Lemire, Number Parsing at a Gigabyte per
 * Second, Software: Practice and Experience 51, 2021).
 *
 * decimal_run_cells() is where a table's time goes: it keeps the cell's cursor in registers and
 * leaves every unusual cell (quoted, empty, padded at its end, wrong) to the caller.
 */
#include "formats/base/decimal.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fast_float/fast_float.h>
#include <strings.h>

namespace
{

inline bool starts_number(const char *p, const char *end, char point)
{
    return p < end && ((*p >= '0' && *p <= '9') || *p == point);
}

/* One number at p; where it ends, or nullptr. Underflow is 0, overflow infinite. fast_float would
 * take "inf" and "nan" as well: what begins with a letter is refused here. */
inline const char *parse(const char *p, const char *end, char point, double &value)
{
    const char *digits = p;
    if (p < end && (*p == '-' || *p == '+')) {
        digits++;
        if (*p == '+') {
            p++;
        }
    }
    if (!starts_number(digits, end, point)) {
        return nullptr;
    }
    const fast_float::parse_options options(fast_float::chars_format::general, point);
    const fast_float::from_chars_result r = fast_float::from_chars_advanced(p, end, value, options);
    return r.ec == std::errc::invalid_argument ? nullptr : r.ptr;
}

/* The eight bytes at p, the first in the lowest place. */
inline std::uint64_t load(const char *p)
{
    std::uint64_t bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? bytes : __builtin_bswap64(bytes);
}

/* Are the eight bytes digits all? One is when its high nibble is 3 and stays so when 6 is added. */
inline bool all_digits(std::uint64_t bytes)
{
    const std::uint64_t high = 0xf0f0f0f0f0f0f0f0, threes = 0x3030303030303030;
    return (((bytes & high) ^ threes) | (((bytes + 0x0606060606060606) & high) ^ threes)) == 0;
}

/* Eight digits as a number: neighbours are joined, 8 x 1, 4 x 2, 2 x 4, 1 x 8 digits. */
inline std::uint64_t join_digits(std::uint64_t bytes)
{
    bytes &= 0x0f0f0f0f0f0f0f0f;
    bytes = (bytes * 10 + (bytes >> 8)) & 0x00ff00ff00ff00ff;
    bytes = (bytes * 100 + (bytes >> 16)) & 0x0000ffff0000ffff;
    return (bytes * 10000 + (bytes >> 32)) & 0xffffffff;
}

/* Moves p past its digits and appends them to the mantissa (which may wrap: the caller counts
 * them). All steps are branches, so that the processor runs ahead where the numbers have one form.
 */
inline const char *take_digits(const char *p, const char *end, std::uint64_t &mantissa)
{
    while (p < end && *p >= '0' && *p <= '9') {
        mantissa = 10 * mantissa + static_cast<std::uint64_t>(*p++ - '0');
    }
    return p;
}

/* [e|E] [+-] digits at p, when there; where it ends. Nine digits at most are looked at. */
inline const char *take_exponent(const char *p, std::int64_t &exponent)
{
    if ((*p | 0x20) != 'e') {
        return p;
    }
    const bool negative = p[1] == '-';
    const char *digit = p + 1 + (negative || p[1] == '+');
    const char *const first = digit;
    std::int64_t value = 0;
    while (digit - first < 9 && *digit >= '0' && *digit <= '9') {
        value = 10 * value + (*digit++ - '0');
    }
    exponent += negative ? -value : value;
    return digit > first ? digit : p;
}

/* mantissa * 10^exponent, correctly rounded: exact operands and one rounding where both are exact
 * doubles (Clinger), else Eisel and Lemire's product; false in the rare case that this cannot tell.
 */
inline bool compose(bool negative, std::uint64_t mantissa, std::int64_t exponent, double &value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double magnitude;
    if (mantissa <= (std::uint64_t(1) << 53) && exponent >= -22 && exponent <= 22) {
        magnitude = static_cast<double>(mantissa);
        magnitude = exponent < 0 ? magnitude / powers[-exponent] : magnitude * powers[exponent];
    } else {
        const fast_float::adjusted_mantissa product =
            fast_float::compute_float<fast_float::binary_format<double>>(exponent, mantissa);
        if (product.power2 < 0) {
            return false;
        }
        fast_float::to_float(false, product, magnitude);
    }
    /* The sign without a branch: data often changes sign at random. */
    std::uint64_t bits;
    std::memcpy(&bits, &magnitude, sizeof bits);
    bits |= std::uint64_t(negative) << 63;
    std::memcpy(&value, &bits, sizeof bits);
    return true;
}

/* A number of at most 19 digits at p, as nearly all are; nullptr: leave it to parse(). Reads within
 * FEW_BYTES. */
enum { FEW_BYTES = 64, FEW_DIGITS = 19 };
inline const char *parse_few(const char *p, const char *end, char point, double &value)
{
    if (end - p < FEW_BYTES) {
        return nullptr;
    }
    const bool negative = *p == '-';
    std::uint64_t mantissa = 0;
    const char *const integer = p + negative;
    p = take_digits(integer, integer + 24, mantissa);
    std::ptrdiff_t n_digits = p - integer;
    std::int64_t exponent = 0;
    if (*p == point) {
        const char *const fraction = p + 1;
        p = fraction;
        for (int i = 0; i < 2 && all_digits(load(p)); i++, p += 8) {
            mantissa = mantissa * 100000000 + join_digits(load(p));
        }
        p = take_digits(p, fraction + 24, mantissa);
        exponent = fraction - p;
        n_digits += p - fraction;
    }
    if (n_digits == 0 || n_digits - (*integer == '0') > FEW_DIGITS) {
        return nullptr;
    }
    p = take_exponent(p, exponent);
    return compose(negative, mantissa, exponent, value) ? p : nullptr;
}

inline bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Past the end of the line at p; nullptr when it does not end there. */
template <bool blanks> inline const char *pass_line_end(const char *p, const char *end)
{
    while (blanks && p < end && is_blank(*p)) {
        p++;
    }
    if (p < end && *p == '\r') {
        p++;
    }
    return p < end && *p == '\n' ? p + 1 : nullptr;
}

/* Past the delimiter at p; nullptr when there is none. */
template <bool blanks>
inline const char *pass_delimiter(const char *p, const char *end, char delimiter)
{
    if (!blanks) {
        return p < end && *p == delimiter ? p + 1 : nullptr;
    }
    if (p == end || !is_blank(*p)) {
        return nullptr;
    }
    do {
        p++;
    } while (p < end && is_blank(*p));
    return p;
}

template <bool blanks> void run_cells(struct decimal_run &run)
{
    const char *at = run.at;
    const char *const end = run.end;
    double *out = run.out;
    size_t column = run.column;
    const size_t line_end_column = run.to_line_end ? run.last - 1 : run.last;
    while (out < run.out_end && column < run.last) {
        const char *p = at;
        while (p < end && (*p == ' ' || (blanks && *p == '\t'))) {
            p++;
        }
        double value;
        const char *const number = p;
        p = parse_few(number, end, run.point, value);
        if (p == nullptr) {
            p = parse(number, end, run.point, value);
        }
        if (p == nullptr || !(value - value == 0)) {
            break;
        }
        const bool ends_line = column == line_end_column;
        p = ends_line ? pass_line_end<blanks>(p, end)
                      : pass_delimiter<blanks>(p, end, run.delimiter);
        if (p == nullptr) {
            break;
        }
        *out++ = value;
        at = p;
        column = ends_line ? 0 : column + 1;
        if (ends_line && run.first > 0) {
            break;
        }
    }
    run.at = at;
    run.out = out;
    run.column = column;
}

} // namespace

extern "C" bool decimal_parse(const char *text, size_t n, char point, double *out)
{
    double value;
    const char *const end = text + n;
    if (parse(text, end, point, value) != end) {
        return false;
    }
    *out = value;
    return true;
}

/* Of text that Microsoft's C library has filled up to its precision, 1.#QNAN00. */
static size_t drop_zeros(const char *text, size_t n)
{
    while (n > 6 && std::memcmp(text, "1.#", 3) == 0 && text[n - 1] == '0') {
        n--;
    }
    return n;
}

extern "C" bool decimal_parse_special(const char *text, size_t n, double *out)
{
    static const struct {
        const char *word;
        size_t n;
        double value;
    } words[] = {{"nan", 3, NAN},      {"inf", 3, INFINITY},  {"infinity", 8, INFINITY},
                 {"nan(ind)", 8, NAN}, {"nan(snan)", 9, NAN}, {"1.#qnan", 7, NAN},
                 {"1.#snan", 7, NAN},  {"1.#ind", 6, NAN},    {"1.#inf", 6, INFINITY}};
    const bool negative = n > 0 && *text == '-';
    if (negative || (n > 0 && *text == '+')) {
        text++;
        n--;
    }
    n = drop_zeros(text, n);
    for (const auto &w : words) {
        if (n == w.n && strncasecmp(text, w.word, n) == 0) {
            *out = negative ? -w.value : w.value;
            return true;
        }
    }
    return false;
}

extern "C" void decimal_run_cells(struct decimal_run *run)
{
    if (run->blanks) {
        run_cells<true>(*run);
    } else {
        run_cells<false>(*run);
    }
}
