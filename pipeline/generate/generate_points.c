/*
 * generate_points - see generate.h.
 */
#include "pipeline/generate/generate.h"

#include "kernels/philox/philox_rule.h"
#include "pipeline/generate/generate_table.h"
#include "pipeline/generate/new_file.h"

#define CENTRES (UINT64_C(1) << 63) /* series of the first cluster's centre */

uint64_t generate_points_cluster(const struct generate_points_order *o, uint64_t i)
{
    return o->n_clusters * philox_block(o->seed, i, 0).w[0] >> 32;
}

/* Twelve uniform numbers added up, less 6: exact, as a multiple of 2^-32 below 2^3 is. */
static double approximately_normal(uint64_t seed, uint64_t i, uint64_t column)
{
    uint64_t sum = 0;
    for (uint64_t block = 1 + 3 * column; block < 4 + 3 * column; block++) {
        const struct philox_words words = philox_block(seed, i, block);
        sum += (uint64_t)words.w[0] + words.w[1] + words.w[2] + words.w[3];
    }
    return (double)((int64_t)(sum + 6) - (INT64_C(6) << 32)) * 0x1p-32;
}

void generate_points_fill(const void *order, uint64_t i, uint64_t first, size_t n, double *out)
{
    const struct generate_points_order *const o = order;
    const uint64_t centre = CENTRES + generate_points_cluster(o, i);
    struct philox_words words = {{0}};
    for (size_t j = first; j < first + n; j++) {
        if (j == first || j % 4 == 0) {
            words = philox_block(o->seed, centre, j / 4);
        }
        const double at = 10 * philox_uniform(words.w[j % 4]);
        out[j - first] = at + o->spread * approximately_normal(o->seed, i, j);
    }
}

static void fill_label(const void *order, uint64_t i, uint64_t first, size_t n, double *out)
{
    (void)first;
    (void)n; /* a line has one cell */
    *out = (double)generate_points_cluster(order, i);
}

static enum status put_name(const void *order, uint64_t column, struct bytes *out)
{
    (void)order;
    return bytes_printf(out, "x%zu", column + 1);
}

static enum status put_label_name(const void *order, uint64_t column, struct bytes *out)
{
    (void)order;
    (void)column;
    return bytes_printf(out, "cluster");
}

enum status generate_points(const struct generate_points_order *o, const struct executor *executor,
                            uint64_t *bytes)
{
    const struct generate_table tables[] = {
        {.n_lines = o->n_points,
         .cells_per_line = 1,
         .type = NPY_I4,
         .context = o,
         .fill = fill_label,
         .put_name = put_label_name,
         .path = o->labels,
         .csv = o->labels_csv,
         .force = o->force},
        {.n_lines = o->n_points,
         .cells_per_line = o->n_columns,
         .type = o->type == DTYPE_F32 ? NPY_F4 : NPY_F8,
         .context = o,
         .fill = generate_points_fill,
         .put_name = put_name,
         .path = o->path,
         .csv = o->csv,
         .force = o->force},
    };
    const size_t skipped = o->labels == NULL;
    *bytes = 0;
    if (!skipped && new_file_is_same(o->labels, o->path)) {
        return status_fail(STATUS_BAD_ARGUMENT, "--labels: '%s' is what the points go to",
                           o->labels);
    }
    return generate_tables(tables + skipped, 2 - skipped, executor, bytes);
}
