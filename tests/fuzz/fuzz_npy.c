/*
 * fuzz_npy - any bytes as a NumPy array: first as they are, then as the literal of a right header.
 */
#include "tests/fuzz/fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A magic and a length before the bytes, which are cut into literal and numbers. */
static void fuzz_literal(const uint8_t *data, size_t size)
{
    struct bytes array = {0};
    const size_t header = size < 96 ? size : 96;
    const uint8_t prefix[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)header, 0};
    fuzz_require(bytes_append(&array, prefix, sizeof prefix) == STATUS_OK);
    fuzz_require(bytes_append(&array, data, size) == STATUS_OK);
    const struct table_options options = {.missing_value = "3"};
    fuzz_table(array.data, array.len, &options);
    bytes_free(&array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_table(data, size, NULL);
    fuzz_literal(data, size);
    return 0;
}
