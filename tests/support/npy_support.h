/*
 * npy_support - array files made of a header and numbers.
 */
#ifndef LEAT_TESTS_NPY_SUPPORT_H
#define LEAT_TESTS_NPY_SUPPORT_H

#include "tests/support/table_support.h"

/* An array file: magic, version, a header of the given text, and n bytes of numbers. */
static inline struct bytes array_file(int version, const char *literal, const void *data, size_t n)
{
    struct bytes b = {0};
    const size_t len = strlen(literal) + 1;
    const unsigned char prefix[] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
    const unsigned char length[4] = {(unsigned char)(len & 255), (unsigned char)(len >> 8)};
    assert_int_equal(bytes_append(&b, prefix, sizeof prefix), STATUS_OK);
    assert_int_equal(bytes_append(&b, length, version == 1 ? 2 : 4), STATUS_OK);
    assert_int_equal(bytes_printf(&b, "%s\n", literal), STATUS_OK);
    assert_int_equal(bytes_append(&b, data, n), STATUS_OK);
    return b;
}

#endif
