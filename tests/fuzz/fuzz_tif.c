/*
 * fuzz_tif - any bytes as a TIFF. What can be read is written again, with its place, and must read
 * back as the same.
 */
#include "formats/result/raster.h"
#include "tests/fuzz/fuzz_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_WRITTEN = 4096 };

static void compare_tags(const struct grid *a, const struct grid *b)
{
    static const size_t widths[] = {[GRID_ASCII] = 1, [GRID_SHORT] = 2, [GRID_DOUBLE] = 8};
    fuzz_require(a->n_tags == b->n_tags);
    for (size_t i = 0; i < a->n_tags; i++) {
        const struct grid_tag *const t = grid_find_tag(b, a->tags[i].number);
        fuzz_require(t != NULL && t->type == a->tags[i].type && t->count == a->tags[i].count);
        fuzz_require(memcmp(t->values, a->tags[i].values, t->count * widths[t->type]) == 0);
    }
}

static enum status fetch(void *context, uint64_t first, size_t n, void *dst)
{
    const struct bytes *const numbers = context;
    memcpy(dst, numbers->data + 8 * first, 8 * n);
    return STATUS_OK;
}

/* The file of a raster of doubles, through a result. */
static void write_raster(const struct raster *raster, struct bytes *numbers, struct bytes *file)
{
    struct result r;
    fuzz_require(result_init(&r) == STATUS_OK);
    fuzz_require(result_add_raster(&r, "map", raster, fetch, numbers, NULL) == STATUS_OK);
    const struct result_member *const m = &r.files[0].members[0];
    for (uint64_t i = 0; i < m->n_pieces; i++) {
        fuzz_require(m->piece(m->context, i, file) == STATUS_OK);
    }
    memcpy(file->data, m->header(m->context), PACK_HEADER_BYTES);
    result_free(&r);
}

static void write_and_read(const struct grid *g, struct bytes *numbers)
{
    const struct raster raster = {.grid = g, .has_nodata = g->has_nodata, .nodata = g->nodata};
    struct bytes file = {0}, again = {0}, labels = {0};
    enum dtype dtype = DTYPE_F64;
    struct table *t;
    write_raster(&raster, numbers, &file);
    fuzz_require(fuzz_read(file.data, file.len, NULL, 1 << 16, &again, &labels, &dtype) ==
                 STATUS_OK);
    fuzz_require(fuzz_same_numbers(numbers, &again, dtype));
    fuzz_require(table_open(fuzz_source(file.data, file.len), NULL, &t) == STATUS_OK);
    const struct grid *const got = table_info(t)->grid;
    compare_tags(g, got);
    fuzz_require(got->has_nodata == g->has_nodata && got->has_origin == g->has_origin);
    table_free(t);
    bytes_free(&file);
    bytes_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8 || (memcmp(data, "II", 2) != 0 && memcmp(data, "MM", 2) != 0)) {
        return -1;
    }
    fuzz_table(data, size, NULL);
    struct bytes numbers = {0}, labels = {0};
    enum dtype dtype = DTYPE_F64;
    struct table *t;
    struct source *const s = fuzz_source(data, size);
    if (s == NULL || table_open(s, NULL, &t) != STATUS_OK) {
        return 0;
    }
    const struct grid *const g = table_info(t)->grid;
    if (g != NULL && g->rows * g->columns <= MAX_WRITTEN &&
        fuzz_read(data, size, NULL, 1 << 16, &numbers, &labels, &dtype) == STATUS_OK) {
        write_and_read(g, &numbers);
    }
    table_free(t);
    bytes_free(&numbers);
    bytes_free(&labels);
    return 0;
}
