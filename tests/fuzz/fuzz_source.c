/*
 * fuzz_source - any bytes as a source, packed or not: peeking and reading in different steps gives
 * the same bytes.
 */
#include "tests/fuzz/fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 20 };

static enum status read_all(struct source *s, size_t peek, size_t step, struct bytes *out)
{
    const unsigned char *seen;
    size_t n_seen, n;
    enum status status = source_peek(s, peek, &seen, &n_seen);
    while (!status) {
        fuzz_require(bytes_reserve(out, step) == STATUS_OK);
        status = source_read(s, out->data + out->len, step, &n);
        fuzz_require(n <= step);
        out->len += n;
        if (n < step || out->len > MOST_BYTES) {
            break;
        }
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes a = {0}, b = {0};
    struct source *const s = fuzz_source(data, size);
    struct source *const t = fuzz_source(data, size);
    fuzz_require(s && t);
    const enum status first = read_all(s, 1, 4096, &a);
    const enum status second = read_all(t, 1000, 7, &b);
    if (a.len <= MOST_BYTES && b.len <= MOST_BYTES) {
        fuzz_require(first == second);
        fuzz_require(first != STATUS_OK ||
                     (a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0)));
    }
    uint32_t crc_s, crc_t;
    fuzz_require(source_crc(s, &crc_s) == STATUS_OK);
    fuzz_require(source_crc(t, &crc_t) == STATUS_OK);
    fuzz_require(crc_s == crc_t);
    bytes_free(&a);
    bytes_free(&b);
    source_free(s);
    source_free(t);
    return 0;
}
