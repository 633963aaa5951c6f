/*
 * fuzz_asc - any bytes as an ESRI ASCII grid: first as they are, then as the values behind a right
 * header, whose shape the first two bytes choose.
 */
#include "tests/fuzz/fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_values(const uint8_t *data, size_t size)
{
    struct bytes text = {0};
    fuzz_require(bytes_printf(&text,
                              "ncols %d\nNROWS %d\nxllcenter 0\nyllcenter 0\ncellsize 1\n"
                              "NODATA_value -9999\n",
                              data[0] % 16 + 1, data[1] % 16 + 1) == STATUS_OK);
    fuzz_require(bytes_append(&text, data + 2, size - 2) == STATUS_OK);
    const struct table_options options = {.missing_value = "3", .prj = "PROJCS[]"};
    fuzz_table(text.data, text.len, &options);
    bytes_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return -1;
    }
    fuzz_table(data, size, NULL);
    fuzz_values(data, size);
    return 0;
}
