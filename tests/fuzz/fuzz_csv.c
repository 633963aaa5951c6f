/*
 * fuzz_csv - any bytes as delimited text. The first byte chooses options.
 */
#include "tests/fuzz/fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const struct table_options options = {
        .columns = data[0] & 1 ? "1-2,b" : NULL,
        .has_missing_value = (data[0] & 2) != 0,
        .missing_value = -200,
    };
    fuzz_table(data + 1, size - 1, &options);
    return 0;
}
