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
        .columns = data[0] & 1   ? "1-2,b"
                   : data[0] & 4 ? "!1,-b"
                   : data[0] & 8 ? "-2:,x"
                                 : NULL,
        .missing_value = data[0] & 2 ? "-200,ERR" : NULL,
        .skip = data[0] & 16 ? "1" : NULL,
        .header = data[0] & 32   ? "1"
                  : data[0] & 64 ? "none"
                                 : NULL,
        .sep = data[0] & 128 ? "comma" : NULL,
        .decimal = data[0] & 1 ? "comma" : NULL,
        .thousands = data[0] & 8 ? "blank" : NULL,
        .unreadable = data[0] & 2 ? "missing" : NULL,
        .sums = data[0] & 16 ? "data" : NULL,
        .dates = (data[0] & 2) != 0,
    };
    fuzz_table(data + 1, size - 1, &options);
    return 0;
}
