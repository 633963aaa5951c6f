/*
 * kmeans_layout - parameters and shapes of a k-means job, and the memory that follows from them.
 *
 * Points stay in memory where they fit what a job can have. Of a table that does not know its
 * length that is decided by the estimate; kmeans_stage.c starts over where that was too low, and
 * then they do not stay.
 *
 * The buffers of a queue are counted, what tasks of the CPU take for themselves is not.
 */
#include "stages/kmeans/kmeans_layout.h"

#include "formats/base/checked.h"
#include "stages/kmeans/kmeans_plot.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { K, SCALE, INIT, SEED, MAX_ITER, TOL, N_INIT };

enum {
    WINDOW_BYTES = 64 << 20, /* of models that share a pass, where there are several */
    WINDOW_RUNS = 256,
    GROWING_BYTES = 2 << 20, /* what a file and an array that grow hold */
    UNITS_A_BLOCK = 4,       /* of points that do not stay */
};

const struct param_spec kmeans_specs[KMEANS_N_SPECS] = {
    [K] = {.key = "k",
           .kind = PARAM_TEXT,
           .text = "8",
           .min = 1,
           .max = 32,
           .help = "number of clusters; 2-12: each of them, and the best by silhouette"},
    [SCALE] = {.key = "scale",
               .kind = PARAM_CHOICE,
               .text = "none",
               .choices = "none|unit|range",
               .help = "scale columns to a standard deviation, or a range, of 1"},
    [INIT] = {.key = "init",
              .kind = PARAM_CHOICE,
              .text = "k-means++",
              .choices = "k-means++|random|first",
              .help = "the first centroids: by k-means++, random points, or the first k"},
    [SEED] = {.key = "seed",
              .kind = PARAM_COUNT,
              .text = "0",
              .min = 0,
              .max = 0x1p53,
              .help = "seed of the random numbers"},
    [MAX_ITER] = {.key = "max_iter",
                  .kind = PARAM_COUNT,
                  .text = "300",
                  .min = 1,
                  .max = 1000000000,
                  .help = "the most iterations of a run"},
    [TOL] = {.key = "tol",
             .kind = PARAM_REAL,
             .text = "1e-4",
             .min = 0,
             .max = 1e9,
             .help = "stop when centroids move less, relative to the columns' mean variance"},
    [N_INIT] = {.key = "n_init",
                .kind = PARAM_COUNT,
                .text = "10",
                .min = 1,
                .max = 1000,
                .help = "runs from different first centroids, of which the best is taken"},
};

/* A whole number from `text` on, ended by *end; 0 where there is none, or one that is too large. */
static size_t read_count(const char *text, const char **end)
{
    size_t n = 0;
    *end = text;
    for (; isdigit((unsigned char)**end); ++*end) {
        if (!checked_mul(n, 10, &n) || !checked_add(n, (size_t)(**end - '0'), &n)) {
            n = SIZE_MAX;
        }
    }
    return n <= KMEANS_POINTS_MAX ? n : 0;
}

static enum status choose_k(const char *text, struct kmeans_choice *out)
{
    const char *end = text;
    out->k_first = out->k_last = read_count(text, &end);
    out->is_range = *end == '-';
    if (out->is_range) {
        out->k_last = read_count(end + 1, &end);
    }
    if (*end != '\0' || out->k_first == 0 || out->k_last == 0) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "k: '%s' is neither a number of clusters from 1 to %zu nor a range of "
                           "them; write 8, or 2-12",
                           text, KMEANS_POINTS_MAX);
    }
    if (out->k_last < out->k_first) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "k: the range '%s' ends before it begins; write %zu-%zu", text,
                           out->k_last, out->k_first);
    }
    if (out->k_last - out->k_first >= 1000) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "k: the range '%s' has more than 1000 numbers; take a part of it", text);
    }
    return STATUS_OK;
}

enum status kmeans_choose(const struct stage_args *args, struct kmeans_choice *out)
{
    const struct param_value *p = args->params;
    *out = (struct kmeans_choice){.scale = (enum kmeans_scale)p[SCALE].index,
                                  .init = (enum kmeans_init)p[INIT].index,
                                  .seed = p[SEED].count,
                                  .max_iter = p[MAX_ITER].count,
                                  .tol = p[TOL].real,
                                  .n_init = (size_t)p[N_INIT].count};
    STATUS_TRY(choose_k(p[K].text, out));
    if (out->init == KMEANS_INIT_FIRST) { /* every run would be the same */
        out->n_init = 1;
    }
    return STATUS_OK;
}

static size_t at_least(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* A sum of products that remembers whether it ever wrapped. */
struct tally {
    size_t bytes;
    bool wrapped;
};

static void tally(struct tally *t, size_t n, size_t each, size_t size)
{
    size_t product = 0;
    if (!checked_mul(n, each, &product) || !checked_mul(product, size, &product) ||
        !checked_add(t->bytes, product, &t->bytes)) {
        t->wrapped = true;
    }
}

/* n times kmeans_model_bytes(k, d), which is so much and as much again for each cluster. */
static void tally_model(struct tally *t, size_t n, size_t k, size_t d)
{
    const size_t without = kmeans_model_bytes(0, d);
    tally(t, n, without, 1);
    tally(t, n, k, kmeans_model_bytes(1, d) - without);
}

/* What queues take on their own for an update. */
static void tally_update(struct tally *t, size_t k, size_t d)
{
    tally(t, k, d + 2, KMEANS_SCRATCH_NUMBER);
    tally(t, 1, KMEANS_SCRATCH_BESIDE, 1);
}

/* What a job takes whether or not its points stay: models, samples, results. */
static void tally_fixed(struct tally *t, const struct stage_args *args,
                        const struct kmeans_choice *c, const struct kmeans_layout *l)
{
    const size_t d = l->n_columns, k = c->k_last;
    const size_t sample = l->n_known ? at_most(l->n, l->sample) : l->sample;
    const size_t scatter = l->n_known ? at_most(l->n, KMEANS_SCATTER_MOST) : KMEANS_SCATTER_MOST;
    const size_t names = args->inputs[0].table->names_bytes;
    tally_model(t, 1, 1, d);
    tally_update(t, k, d);
    tally_model(t, 2, k, d);                  /* one on its way to the backend or back */
    tally(t, 3, k, (d + 3) * sizeof(double)); /* the first centroids, the best, and a candidate */
    tally(t, 2 * sample + 1, d, sizeof(double)); /* on the host and on the backend */
    tally(t, sample, 4, sizeof(double));
    tally(t, scatter, 2 * sizeof(double) + 24, 1);
    tally(t, 4, names + d * 24, 1); /* of the columns, in headers */
    /* the pictures are drawn when the distances are no longer needed */
    tally(t, 1, at_least(KMEANS_PLOT_BYTES, sample * (sample / 2 + 1) * sizeof(double)), 1);
}

/* Points that stay, on the backend. */
static void tally_stay(struct tally *t, size_t n, const struct kmeans_layout *l)
{
    tally(t, n, l->n_columns, dtype_bytes(l->type));
    tally(t, n, kmeans_memory_bytes(1) + KMEANS_SCRATCH_POINT, 1);
}

/* Names: their buffer doubles, that of where they begin grows by half. */
static void tally_point(struct tally *t, size_t n, const struct kmeans_layout *l)
{
    tally_stay(t, n, l);
    if (l->has_names) {
        tally(t, n, 3 * sizeof(size_t) / 2 + (size_t)2 * KMEANS_NAMES_A_ROW, 1);
    }
    if (l->by_columns) {
        tally(t, n, l->n_columns, dtype_bytes(l->type));
    }
}

static void tally_resident(struct tally *t, const struct stage_args *args,
                           const struct kmeans_choice *c, const struct kmeans_layout *l)
{
    tally_fixed(t, args, c, l);
    tally_point(t, l->n, l);
    tally(t, 2, l->has_names ? KMEANS_NAMES_BESIDE : 0, 1);
    tally(t, 1, GROWING_BYTES, 1);
}

static void tally_streamed(struct tally *t, const struct stage_args *args,
                           const struct kmeans_choice *c, const struct kmeans_layout *l)
{
    tally_fixed(t, args, c, l);
    tally_model(t, l->width - 1, c->k_last, l->n_columns);
    tally(t, l->width - 1, c->k_last, l->n_columns * sizeof(double));
    tally(t, 2 * l->unit, l->n_columns, dtype_bytes(l->type));
    tally(t, l->unit, sizeof(int32_t), 1);
    tally(t, 2, KMEANS_LABEL_PIECE, sizeof(int32_t));      /* that are gathered, or move */
    tally(t, 3, UNITS_A_BLOCK * l->unit, sizeof(int32_t)); /* of the last pushes */
    tally(t, 1, GROWING_BYTES, 1);
}

static enum status too_large(const struct stage_args *args, const struct kmeans_choice *c, size_t d)
{
    return status_fail(STATUS_TOO_LARGE,
                       "%s: %zu clusters of %zu columns need more than 2^64 bytes",
                       args->inputs[0].name, c->k_last, d);
}

/* How many points could stay in memory: all that there may be where no limit is known. */
static enum status find_resident(const struct stage_args *args, const struct kmeans_choice *c,
                                 struct kmeans_layout *l)
{
    struct tally all = {0}, one = {0};
    struct kmeans_layout none = *l;
    none.n_known = false; /* as if there were many */
    tally_resident(&all, args, c, l);
    tally_point(&one, 1, l);
    if (all.wrapped || one.wrapped) {
        return too_large(args, c, l->n_columns);
    }
    l->resident_most = KMEANS_POINTS_MAX;
    const bool may_stay = l->n_known || !args->started_over; /* or more came than fit */
    l->resident = may_stay && (args->memory_limit == 0 || all.bytes <= args->memory_limit);
    if (args->memory_limit == 0) {
        return STATUS_OK;
    }
    struct tally rest = {0};
    none.n = 0;
    tally_resident(&rest, args, c, &none);
    l->resident_most =
        rest.bytes < args->memory_limit
            ? at_most((args->memory_limit - rest.bytes) / one.bytes, l->resident_most)
            : 0;
    if (!l->n_known) {
        l->resident = may_stay && l->n <= l->resident_most;
    }
    if (!l->resident && l->by_columns) {
        return status_fail(
            STATUS_TOO_LARGE,
            "%s: is stored column after column, so that all of it must fit memory: "
            "about %zu bytes, %zu are there for jobs; raise --memory, or store it row "
            "after row (numpy.ascontiguousarray)",
            args->inputs[0].name, all.bytes, (size_t)args->memory_limit);
    }
    return STATUS_OK;
}

/* How many runs share a pass: few enough to fit what there is beside one. */
static size_t runs_together(const struct stage_args *args, const struct kmeans_choice *c,
                            const struct kmeans_layout *l)
{
    struct tally model = {0}, alone = {0}, one_more = {0};
    struct kmeans_layout of_two = *l;
    of_two.width = 2;
    tally_model(&model, 1, c->k_last, l->n_columns);
    tally_streamed(&alone, args, c, l);
    tally_streamed(&one_more, args, c, &of_two);
    if (model.wrapped || one_more.wrapped) {
        return 1;
    }
    size_t fit = at_most(WINDOW_BYTES / model.bytes, WINDOW_RUNS);
    if (args->memory_limit > 0) {
        const size_t left = args->memory_limit - at_most(alone.bytes, args->memory_limit);
        fit = at_most(fit, 1 + left / (one_more.bytes - alone.bytes));
    }
    return at_most(at_least(fit, 1), kmeans_n_runs(c));
}

enum status kmeans_lay_out(const struct stage_args *args, const struct kmeans_choice *choice,
                           struct kmeans_layout *out)
{
    const struct table_info *table = args->inputs[0].table;
    const size_t lines = at_least(table->n_lines > 0 ? table->n_lines : table->n_lines_estimate, 1);
    struct kmeans_layout l = {.by_columns = table->lines_are_columns,
                              .n_known = table->n_lines > 0,
                              .has_names = table->has_labels,
                              .type = table->dtype,
                              .n = lines,
                              .n_columns = table->cells_per_line,
                              .width = 1};
    if (table->grid != NULL) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: is a grid, and kmeans takes tables: CSV, TSV, .npy or .npz",
                           args->inputs[0].name);
    }
    if (l.by_columns) {
        l.n = table->cells_per_line;
        l.n_columns = lines;
        if (!l.n_known) {
            return status_fail(STATUS_INTERNAL, "%s: columns of unknown number",
                               args->inputs[0].name);
        }
    }
    if (l.n_known) {
        STATUS_TRY(kmeans_check_points(args, choice, l.n));
    }
    const double side = sqrt((double)KMEANS_SAMPLE_WORK / (double)l.n_columns);
    l.sample = at_most(at_least((size_t)side, 2), KMEANS_SAMPLE_MOST);
    l.unit = at_least(args->block_bytes / UNITS_A_BLOCK / (l.n_columns * dtype_bytes(l.type)), 1);
    STATUS_TRY(find_resident(args, choice, &l));
    if (!l.resident) {
        l.width = runs_together(args, choice, &l);
    }
    *out = l;
    return STATUS_OK;
}

enum status kmeans_layout_need(const struct stage_args *args, const struct kmeans_choice *choice,
                               const struct kmeans_layout *layout, struct stage_need *out)
{
    struct tally all = {0}, on_backend = {0};
    const size_t d = layout->n_columns;
    if (layout->resident) {
        tally_resident(&all, args, choice, layout);
        tally_stay(&on_backend, layout->n, layout);
    } else {
        tally_streamed(&all, args, choice, layout);
        tally(&on_backend, 2 * layout->unit, d, dtype_bytes(layout->type));
        tally(&on_backend, layout->unit, sizeof(int32_t), 1);
    }
    tally_model(&on_backend, layout->width, choice->k_last, d);
    tally_model(&on_backend, 1, 1, d);
    tally_update(&on_backend, choice->k_last, d);
    const size_t sample = layout->n_known ? at_most(layout->n, layout->sample) : layout->sample;
    tally(&on_backend, sample, d, sizeof(double));
    tally(&on_backend, sample, 1, sizeof(int32_t));
    if (all.wrapped || on_backend.wrapped) {
        return too_large(args, choice, d);
    }
    *out = (struct stage_need){.memory_bytes = on_backend.bytes,
                               .host_bytes = all.bytes - at_most(on_backend.bytes, all.bytes),
                               .estimated = !layout->n_known,
                               .rereads = !layout->resident};
    return STATUS_OK;
}

enum status kmeans_check_points(const struct stage_args *args, const struct kmeans_choice *choice,
                                size_t n)
{
    if (n > KMEANS_POINTS_MAX) {
        return status_fail(STATUS_TOO_LARGE, "%s: %zu points are more than can be taken (%zu)",
                           args->inputs[0].name, n, KMEANS_POINTS_MAX);
    }
    if (choice->k_last > n) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: %zu points cannot make %zu clusters; set k to %zu or less",
                           args->inputs[0].name, n, choice->k_last, n);
    }
    return STATUS_OK;
}
