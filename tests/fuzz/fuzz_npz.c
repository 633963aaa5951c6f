/*
 * fuzz_npz - any bytes as a zip archive of arrays.
 */
#include "tests/fuzz/fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4 || memcmp(data, "PK", 2) != 0) {
        return -1; /* no zip archive: other targets look at it */
    }
    const struct table_options named = {.member = "b"};
    fuzz_table(data, size, NULL);
    fuzz_table(data, size, &named);
    return 0;
}
