/*
 * pack_support - bytes of many kinds, for the tests of packs.
 */
#ifndef LEAT_TESTS_PACK_SUPPORT_H
#define LEAT_TESTS_PACK_SUPPORT_H

#include "formats/pack/pack.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PIECE = PACK_PIECE_BYTES };

static const size_t sizes[] = {0,         1,     2,         31,        47,           48,
                               49,        257,   65535,     65536,     65537,        3 * 49152,
                               PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE + 7};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

enum content { NOISE, NUMBERS, DIGITS, PROSE, ZEROS, PERIODIC, SKEWED, N_CONTENTS };

static inline uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* n bytes of a kind; malloc'd, never NULL. */
static inline unsigned char *make_content(enum content kind, size_t n)
{
    static const char prose[] = "sensor,station,humidity;";
    unsigned char *data = calloc(n + 8, 1);
    uint64_t x = 88172645463325252u + kind;
    assert_non_null(data);
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = next_random(&x);
        switch (kind) {
        case NUMBERS:
            if (i % 8 == 0) {
                const double value = sin((double)(r >> 11)) * 0.3;
                memcpy(data + i, &value, sizeof value); /* 8 bytes of room at the end */
                i += 7;
            }
            break;
        case DIGITS:
            data[i] = (unsigned char)(r % 12 == 0 ? ',' : '0' + r % 10);
            break;
        case PROSE:
            data[i] = (unsigned char)prose[(i + i / 97 * 5) % (sizeof prose - 1)];
            break;
        case PERIODIC:
            data[i] = (unsigned char)((i % 20011) * 2654435761u >> 13);
            break;
        case SKEWED:
            data[i] = (unsigned char)__builtin_ctzll(r | 1ull << 40);
            break;
        case NOISE:
            data[i] = (unsigned char)r;
            break;
        default:
            break;
        }
    }
    return data;
}

static inline struct deflater *new_deflater(int level)
{
    struct deflater *s = NULL;
    assert_int_equal(deflater_new(level, &s), STATUS_OK);
    return s;
}

#endif
