/*
 * kmeans_layout - parameters and shapes of a k-means job, and the memory that follows from them.
 *
 * Points stay in memory where they fit what a job can have. Of a table that does not know its
 * length that is decided by the estimate; kmeans_stage.c starts over where that was too low, and
 * then they do not stay.
 */
#include "stages/kmeans/kmeans_layout.h"

#include "formats/base/checked.h"
#include "stages/kmeans/kmeans_job.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { K, SCALE, INIT, SEED, MAX_ITER, TOL, N_INIT, MISSING, FIGURE };

enum {
    WINDOW_BYTES = 64 << 20, /* of models that share a pass, where there are several */
    WINDOW_RUNS = 256,
    UNIT_POINTS = 1 << 13, /* of a unit, for each thread, to keep all of them busy */
    UNIT_BYTES = 64 << 20, /* of a unit at most */
    UNITS_A_BLOCK = 4,     /* units in a block of the engine's, at most */
    UNITS_A_LIMIT = 8,     /* units in the memory limit, at least; the one before goes first */
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
    out->request.k_first = out->request.k_last = read_count(text, &end);
    out->is_range = *end == '-';
    if (out->is_range) {
        out->request.k_last = read_count(end + 1, &end);
    }
    if (*end != '\0' || out->request.k_first == 0 || out->request.k_last == 0) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "k: '%s' is neither a number of clusters from 1 to %zu nor a range of "
                           "them; write 8, or 2-12",
                           text, KMEANS_POINTS_MAX);
    }
    if (out->request.k_last < out->request.k_first) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "k: the range '%s' ends before it begins; write %zu-%zu", text,
                           out->request.k_last, out->request.k_first);
    }
    if (out->request.k_last - out->request.k_first >= 1000) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "k: the range '%s' has more than 1000 numbers; take a part of it", text);
    }
    return STATUS_OK;
}

static enum status choose(const struct stage_args *args, struct kmeans_choice *out)
{
    const struct param_value *p = args->params;
    *out = (struct kmeans_choice){.figure = (enum figure_format)p[FIGURE].index,
                                  .drop = p[MISSING].index == 1,
                                  .request = {.scale = (enum kmeans_scale)p[SCALE].index,
                                              .init = (enum kmeans_init)p[INIT].index,
                                              .seed = p[SEED].count,
                                              .max_iter = p[MAX_ITER].count,
                                              .tol = p[TOL].real,
                                              .n_init = (size_t)p[N_INIT].count}};
    STATUS_TRY(choose_k(p[K].text, out));
    if (out->request.init == KMEANS_INIT_FIRST) { /* every run would be the same */
        out->request.n_init = 1;
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

/* UINT64_MAX: more than can be counted. */
static struct room count(const struct stage_args *args, const struct kmeans_choice *c,
                         const struct kmeans_layout *l)
{
    struct kmeans_job job = {.args = *args, .choice = *c, .layout = *l};
    struct room room = {0};
    if (kmeans_room(&job, &room) != STATUS_OK) {
        room.host = UINT64_MAX;
    }
    return room;
}

/* Host and backend, where they are one. */
static uint64_t sum_of(const struct room *room)
{
    struct room sum = *room;
    room_count(&sum, sum.backend, 0);
    return sum.host;
}

/* Whether a job laid out so can have its memory. */
static bool fits(const struct stage_args *args, const struct kmeans_choice *c,
                 const struct kmeans_layout *l)
{
    const struct room room = count(args, c, l);
    const uint64_t limited = args->host_limit > 0 ? room.backend : sum_of(&room);
    return sum_of(&room) < UINT64_MAX && (args->host_limit == 0 || room.host <= args->host_limit) &&
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
                       args->inputs[0].name, c->request.k_last, l->n_columns);
}

static enum status refuse_columns(const struct stage_args *args, const struct kmeans_choice *c,
                                  const struct kmeans_layout *l)
{
    const struct room room = count(args, c, l);
    if (sum_of(&room) == UINT64_MAX) {
        return too_large(args, c, l);
    }
    const bool of_device = args->host_limit > 0 && room.host <= args->host_limit;
    return status_fail(
        STATUS_TOO_LARGE,
        "%s: is stored column after column, so that all of it must fit: about "
        "%" PRIu64 " bytes of %s memory; store it row after row (numpy.ascontiguousarray), or %s",
        args->inputs[0].name,
        of_device              ? room.backend
        : args->host_limit > 0 ? room.host
                               : sum_of(&room),
        of_device ? "device" : "host",
        of_device ? "use --backend cpu" : "raise --memory by the difference, or more");
}

/* How many runs share a pass: few enough to fit what there is. */
static void find_width(const struct stage_args *args, const struct kmeans_choice *c,
                       struct kmeans_layout *l)
{
    const size_t fit =
        WINDOW_BYTES / at_least(kmeans_model_bytes(c->request.k_last, l->n_columns), 1);
    const size_t most = at_most(at_most(fit, WINDOW_RUNS), kmeans_n_runs(&c->request));
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
    l.sample = kmeans_sample_of(l.n_columns);
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
    const struct room room = count(args, choice, layout);
    if (sum_of(&room) == UINT64_MAX) {
        return too_large(args, choice, layout);
    }
    *out = (struct stage_need){.memory_bytes = room.backend,
                               .host_bytes = room.host,
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
    if (choice->request.k_last > n) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: %zu point%s cannot make %zu clusters; set k to %zu%s",
                           args->inputs[0].name, n, n > 1 ? "s" : "", choice->request.k_last, n,
                           n > 1 ? " or less" : "");
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
    const double k =
        (double)(c.request.k_first + c.request.k_last) / 2 * (double)kmeans_n_runs(&c.request);
    const uint64_t n = c.request.max_iter < ITERATIONS ? c.request.max_iter : ITERATIONS;
    return lines * (double)table->cells_per_line * k * (double)n;
}
