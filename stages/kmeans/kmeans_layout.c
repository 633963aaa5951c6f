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

enum { K, SCALE, INIT, SEED, MAX_ITER, TOL, N_INIT, MISSING, FIGURE };

enum {
    WINDOW_BYTES = 64 << 20, /* of models that share a pass, where there are several */
    WINDOW_RUNS = 256,
    GROWING_BYTES = 2 << 20, /* what a file and an array that grow hold */
    UNIT_POINTS = 1 << 13,   /* of a unit, for each thread, to keep all of them busy */
    UNIT_BYTES = 64 << 20,   /* of a unit at most */
    UNITS_A_BLOCK = 4,       /* units in a block of the engine's, at most */
    UNITS_A_LIMIT = 8,       /* units in the memory limit, at least; the one before goes first */
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
    [MISSING] = {.key = "missing",
                 .kind = PARAM_CHOICE,
                 .text = "reject",
                 .choices = "reject|drop",
                 .help = "rows with missing values: fail, or leave them out"},
    [FIGURE] = STAGE_FIGURE_SPEC,
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

static enum status choose(const struct stage_args *args, struct kmeans_choice *out)
{
    const struct param_value *p = args->params;
    *out = (struct kmeans_choice){.figure = (enum figure_format)p[FIGURE].index,
                                  .scale = (enum kmeans_scale)p[SCALE].index,
                                  .init = (enum kmeans_init)p[INIT].index,
                                  .drop = p[MISSING].index == 1,
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

enum side { HOST, BACKEND, SIDES };

/* Sums of products that remember whether they ever wrapped. */
struct tally {
    size_t bytes[SIDES];
    bool wrapped;
};

static void tally(struct tally *t, enum side side, size_t n, size_t each, size_t size)
{
    size_t product = 0;
    if (!checked_mul(n, each, &product) || !checked_mul(product, size, &product) ||
        !checked_add(t->bytes[side], product, &t->bytes[side])) {
        t->wrapped = true;
    }
}

/* n times kmeans_model_bytes(k, d), which is so much and as much again for each cluster, and for
 * the trials of seeds. */
static void tally_model(struct tally *t, size_t n, size_t k, size_t d)
{
    const size_t without = kmeans_model_bytes(0, d);
    tally(t, BACKEND, n, without, 1);
    tally(t, BACKEND, n, k, kmeans_model_bytes(1, d) - without);
    tally(t, BACKEND, n, d + 8, kmeans_trials(k) * (kmeans_trials(k) + 1) * sizeof(double));
}

/* The sample of a table of unknown length may be as large as any. */
static size_t sample_n(const struct kmeans_layout *l, size_t most)
{
    return l->n_known ? at_most(l->n, most) : most;
}

static void tally_samples(struct tally *t, const struct kmeans_layout *l)
{
    const size_t d = l->n_columns, n = sample_n(l, l->sample);
    const size_t each = sizeof(uint64_t) + sizeof(uint32_t); /* number and word */
    const size_t scatter = sample_n(l, KMEANS_SCATTER_MOST);
    tally(t, HOST, n + 1, d, sizeof(double));
    tally(t, HOST, n + 1, each + 2 * sizeof(int32_t), 1); /* labels by the best and a candidate */
    tally(t, HOST, scatter + 1, 2 * sizeof(double) + each + sizeof(int32_t), 1);
    tally(t, BACKEND, n, d, sizeof(double));
    tally(t, BACKEND, n, 1, sizeof(int32_t));
    /* the pictures are drawn when the distances are no longer needed */
    tally(t, HOST, 1, at_least(KMEANS_PLOT_BYTES, (n * (n + 1) / 2 + 1) * sizeof(double)), 1);
}

/* What a job takes whether or not its points stay: models, samples, results. */
static void tally_fixed(struct tally *t, const struct stage_args *args,
                        const struct kmeans_choice *c, const struct kmeans_layout *l)
{
    const size_t d = l->n_columns, k = c->k_last;
    tally_model(t, 1, 1, d);
    tally_model(t, l->width, k, d);
    tally(t, BACKEND, k, d + 2, KMEANS_SCRATCH_NUMBER); /* of queues, for an update */
    tally(t, BACKEND, 1, KMEANS_SCRATCH_BESIDE, 1);
    if (args->host_limit > 0) { /* of a device's blocks */
        tally(t, BACKEND, kmeans_trials(k), kmeans_trials(k), KMEANS_SCRATCH_DRAWN);
    }
    tally(t, HOST, l->width + 2, k, (d + 1) * sizeof(double)); /* first centroids, two outcomes */
    tally(t, HOST, k, 64, 1);                                  /* counts and sums */
    tally(t, HOST, d, 96, 1);                                  /* ranges, units, a row */
    tally(t, HOST, 4, args->inputs[0].table->names_bytes + d * 24, 1); /* names in results */
    tally(t, HOST, c->drop ? l->n / KMEANS_KEPT_ROWS + 1 : 0, 2, sizeof(struct kmeans_kept));
    tally(t, HOST, 1, GROWING_BYTES, 1);
    tally_samples(t, l);
}

/* Names: their buffer doubles, that of where they begin grows by half. */
static void tally_resident(struct tally *t, const struct kmeans_choice *c,
                           const struct kmeans_layout *l)
{
    const size_t listed = kmeans_list_bytes(1, c->k_last, l->n_columns);
    tally(t, BACKEND, l->n, l->n_columns, dtype_bytes(l->type));
    tally(t, BACKEND, l->n, kmeans_memory_bytes(1) + listed + listed / 4, 1);
    tally(t, HOST, KMEANS_LABEL_PIECE, sizeof(int32_t), 1);
    if (l->has_names) {
        tally(t, HOST, l->n, 3 * sizeof(size_t) / 2 + (size_t)2 * KMEANS_NAMES_A_ROW, 1);
        tally(t, HOST, 2, KMEANS_NAMES_BESIDE, 1);
    }
    if (l->by_columns) {
        tally(t, HOST, l->n, l->n_columns, dtype_bytes(l->type));
    }
}

static void tally_streamed(struct tally *t, const struct stage_args *args,
                           const struct kmeans_layout *l)
{
    const size_t pushed = args->block_bytes / (l->n_columns * dtype_bytes(l->type)) + 1;
    tally(t, BACKEND, 2 * l->unit, l->n_columns, dtype_bytes(l->type));
    tally(t, BACKEND, l->unit, sizeof(int32_t), 1);
    tally(t, HOST, 2, KMEANS_LABEL_PIECE, sizeof(int32_t));   /* that are gathered, or move */
    tally(t, HOST, 3 * pushed + l->unit, 1, sizeof(int32_t)); /* of the last pushes */
}

static struct tally tally_all(const struct stage_args *args, const struct kmeans_choice *c,
                              const struct kmeans_layout *l)
{
    struct tally t = {0};
    tally_fixed(&t, args, c, l);
    if (l->resident) {
        tally_resident(&t, c, l);
    } else {
        tally_streamed(&t, args, l);
    }
    size_t sum;
    t.wrapped = t.wrapped || !checked_add(t.bytes[HOST], t.bytes[BACKEND], &sum);
    return t;
}

/* Whether a job laid out so can have its memory. */
static bool fits(const struct stage_args *args, const struct kmeans_choice *c,
                 const struct kmeans_layout *l)
{
    const struct tally t = tally_all(args, c, l);
    const size_t host = t.bytes[HOST], backend = t.bytes[BACKEND];
    const size_t limited = args->host_limit > 0 ? backend : host + backend;
    return !t.wrapped && (args->host_limit == 0 || host <= args->host_limit) &&
           (args->memory_limit == 0 || limited <= args->memory_limit);
}

bool kmeans_layout_fits(const struct stage_args *args, const struct kmeans_choice *choice,
                        const struct kmeans_layout *layout, size_t n)
{
    struct kmeans_layout l = *layout;
    l.n = n;
    return n <= KMEANS_POINTS_MAX && fits(args, choice, &l);
}

static enum status too_large(const struct stage_args *args, const struct kmeans_choice *c,
                             const struct kmeans_layout *l)
{
    return status_fail(STATUS_TOO_LARGE,
                       "%s: %zu clusters of %zu columns need more than 2^64 bytes",
                       args->inputs[0].name, c->k_last, l->n_columns);
}

static enum status refuse_columns(const struct stage_args *args, const struct kmeans_choice *c,
                                  const struct kmeans_layout *l)
{
    const struct tally t = tally_all(args, c, l);
    if (t.wrapped) {
        return too_large(args, c, l);
    }
    const bool of_device = args->host_limit > 0 && t.bytes[HOST] <= args->host_limit;
    return status_fail(
        STATUS_TOO_LARGE,
        "%s: is stored column after column, so that all of it must fit: about "
        "%zu bytes of %s memory; store it row after row (numpy.ascontiguousarray), or %s",
        args->inputs[0].name,
        of_device              ? t.bytes[BACKEND]
        : args->host_limit > 0 ? t.bytes[HOST]
                               : t.bytes[HOST] + t.bytes[BACKEND],
        of_device ? "device" : "host",
        of_device ? "use --backend cpu" : "raise --memory by the difference, or more");
}

/* How many runs share a pass: few enough to fit what there is. */
static void find_width(const struct stage_args *args, const struct kmeans_choice *c,
                       struct kmeans_layout *l)
{
    struct tally model = {0};
    tally_model(&model, 1, c->k_last, l->n_columns);
    const size_t fit = WINDOW_BYTES / at_least(model.bytes[BACKEND], 1);
    const size_t most = at_most(at_most(fit, WINDOW_RUNS), kmeans_n_runs(c));
    for (l->width = 2; l->width <= most && fits(args, c, l);) {
        l->width++;
    }
    l->width--;
}

/* Points that do not stay and that kernels take at once: `least`, or more where memory is not
 * short. */
static size_t find_unit(const struct stage_args *args, const struct kmeans_layout *l, size_t least)
{
    const size_t row_bytes = l->n_columns * dtype_bytes(l->type);
    const uint64_t bytes = args->memory_limit / UNITS_A_LIMIT < UNIT_BYTES
                               ? args->memory_limit / UNITS_A_LIMIT
                               : UNIT_BYTES;
    return at_least(least, at_most(args->n_threads * UNIT_POINTS, (size_t)bytes / row_bytes));
}

/* Halves it until the job fits; `least` where it never does. */
static void shrink_unit(const struct stage_args *args, const struct kmeans_choice *c,
                        struct kmeans_layout *l, size_t least)
{
    while (l->unit > 0 && !fits(args, c, l)) {
        l->unit /= 2;
    }
    l->unit = l->unit > 0 ? l->unit : least;
}

enum status kmeans_lay_out(const struct stage_args *args, struct kmeans_choice *choice,
                           struct kmeans_layout *out)
{
    const struct table_info *table = args->inputs[0].table;
    const size_t lines = at_least(table->n_lines > 0 ? table->n_lines : table->n_lines_estimate, 1);
    struct kmeans_layout l = {.by_columns = table->lines_are_columns && !table->is_flat,
                              .n_known = table->n_lines > 0,
                              .has_names = table->has_labels,
                              .type = table->dtype,
                              .n = lines,
                              .n_columns = table->cells_per_line,
                              .width = 1};
    STATUS_TRY(choose(args, choice));
    if (table->grid != NULL) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: is a grid, and kmeans takes tables: CSV, TSV, .npy or .npz",
                           args->inputs[0].name);
    }
    if (table->is_flat) { /* a number is a point */
        l.n = table->cells_per_line;
        l.n_columns = 1;
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
    const size_t least =
        at_least(args->block_bytes / UNITS_A_BLOCK / (l.n_columns * dtype_bytes(l.type)), 1);
    l.unit = find_unit(args, &l, least);
    l.resident = true;
    if ((!l.n_known && args->started_over) || !kmeans_layout_fits(args, choice, &l, l.n)) {
        STATUS_TRY(l.by_columns ? refuse_columns(args, choice, &l) : STATUS_OK);
        l.resident = false;
        shrink_unit(args, choice, &l, least);
        find_width(args, choice, &l);
    }
    *out = l;
    return STATUS_OK;
}

enum status kmeans_layout_need(const struct stage_args *args, const struct kmeans_choice *choice,
                               const struct kmeans_layout *layout, struct stage_need *out)
{
    const struct tally t = tally_all(args, choice, layout);
    if (t.wrapped) {
        return too_large(args, choice, layout);
    }
    *out = (struct stage_need){.memory_bytes = t.bytes[BACKEND],
                               .host_bytes = t.bytes[HOST],
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
        return status_fail(
            STATUS_BAD_INPUT, "%s: %zu point%s cannot make %zu clusters; set k to %zu%s",
            args->inputs[0].name, n, n > 1 ? "s" : "", choice->k_last, n, n > 1 ? " or less" : "");
    }
    return STATUS_OK;
}

/* The distances of all points to all centroids, for as many iterations as are often enough. */
double kmeans_work(const struct stage_args *args)
{
    enum { ITERATIONS = 30 };
    const struct table_info *table = args->inputs[0].table;
    const double lines = (double)(table->n_lines > 0 ? table->n_lines : table->n_lines_estimate);
    struct kmeans_choice c;
    if (choose(args, &c) != STATUS_OK) {
        return 0; /* plan() says what is wrong */
    }
    const double k = (double)(c.k_first + c.k_last) / 2 * (double)kmeans_n_runs(&c);
    const uint64_t n = c.max_iter < ITERATIONS ? c.max_iter : ITERATIONS;
    return lines * (double)table->cells_per_line * k * (double)n;
}
