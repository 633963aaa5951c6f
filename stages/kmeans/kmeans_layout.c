/*
 * kmeans_layout - parameters and shapes of a k-means job, and the memory that follows from them.
 * The buffers of a queue are counted, what tasks of the CPU take for themselves is not.
 *
 * Points stay in memory where they fit what a job can have. Of a table that does not know its
 * length that is decided by the estimate; kmeans_points.c starts over where that was too low, and
 * then they do not stay.
 */
#include "formats/base/sizes.h"
#include "stages/kmeans/kmeans_job.h"

#include <inttypes.h>
#include <string.h>

enum {
    WINDOW_BYTES = 64 << 20, /* of models that share a pass, where there are several */
    WINDOW_RUNS = 256,
    UNIT_POINTS = 1 << 13,  /* of a unit, for each thread, to keep all of them busy */
    UNIT_BYTES = 64 << 20,  /* of a unit at most */
    UNITS_A_BLOCK = 4,      /* units in a block of the engine's, at most */
    UNITS_A_LIMIT = 8,      /* units in the memory limit, at least; the one before goes first */
    GROWING_BYTES = 2 << 20 /* what a file and an array that grow hold */
};

enum {
    K,
    SCALE,
    INIT,
    SEED,
    MAX_ITER,
    TOL,
    N_INIT,
    MISSING,
    CENTROIDS,
    CENTROIDS_COLUMNS,
    FACTORS,
    WEIGHT,
    AXES,
    FIGURE
};

const struct param_spec kmeans_specs[KMEANS_N_SPECS] = {
    [K] = STAGE_NUMBER(PARAM_RANGE, "k", 1, (double)KMEANS_POINTS_MAX, "8",
                       "number of clusters; 2-12: each of them, and the best by silhouette"),
    [SCALE] = STAGE_CHOICE("scale", "none|unit|range", "none",
                           "scale columns to a standard deviation, or a range, of 1"),
    [INIT] = STAGE_CHOICE("init", "k-means++|random|first", "k-means++",
                          "the first centroids: by k-means++, random points, or the first k"),
    [SEED] = STAGE_NUMBER(PARAM_COUNT, "seed", 0, 0x1p53, "0", "seed of the random numbers"),
    [MAX_ITER] =
        STAGE_NUMBER(PARAM_COUNT, "max_iter", 1, 1000000000, "300", "the most iterations of a run"),
    [TOL] = STAGE_NUMBER(PARAM_REAL, "tol", 0, 1e9, "1e-4",
                         "stop when centroids move less, relative to the columns' mean variance"),
    [N_INIT] = STAGE_NUMBER(PARAM_COUNT, "n_init", 1, 1000, "10",
                            "runs from different first centroids; the best is taken"),
    [MISSING] = STAGE_CHOICE("missing", "reject|drop", "reject",
                             "rows with missing values: fail, or leave them out"),
    [CENTROIDS] = STAGE_CHOICE("centroids", "none|file", "none",
                               "file: label points by the centroids in X.centroids.*"),
    [CENTROIDS_COLUMNS] =
        STAGE_TEXT("centroids_columns", 4096, "CSV: the columns of X.centroids.* to read"),
    [FACTORS] = STAGE_NUMBER(PARAM_NUMBERS, "factors", 0, 1e300, "",
                             "a, b, ...: scale the columns by these, not by scale"),
    [WEIGHT] = STAGE_TEXT("weight", 4096, "the column of the points' weights"),
    [AXES] = STAGE_TEXT("axes", 4096, "two columns for the picture, in place of components"),
    [FIGURE] = STAGE_FIGURE_SPECS(COLOURS_SETS),
};

static struct kmeans_choice choose(const struct stage_args *args)
{
    const struct param_value *p = args->params;
    const bool given = p[CENTROIDS].index == 1;
    const enum kmeans_init init = given ? KMEANS_INIT_GIVEN : (enum kmeans_init)p[INIT].index;
    const bool is_one = given || init == KMEANS_INIT_FIRST; /* every run would be the same */
    return (struct kmeans_choice){.figure = stage_figure(&p[FIGURE]),
                                  .axes = p[AXES].text,
                                  .given = given,
                                  .factors = p[FACTORS].numbers,
                                  .weight = p[WEIGHT].text,
                                  .drop = p[MISSING].index == 1,
                                  .is_range = !given && strchr(p[K].text, '-') != NULL,
                                  .request = {.k_first = (size_t)p[K].count,
                                              .k_last = (size_t)p[K].last,
                                              .scale = p[FACTORS].numbers.n > 0
                                                           ? KMEANS_SCALE_FACTORS
                                                           : (enum kmeans_scale)p[SCALE].index,
                                              .init = init,
                                              .seed = p[SEED].count,
                                              .max_iter = p[MAX_ITER].count,
                                              .tol = p[TOL].real,
                                              .n_init = is_one ? 1 : (size_t)p[N_INIT].count}};
}

/* --- memory ----------------------------------------------------------------------------------- */

static struct kmeans_request request_of(const struct kmeans_job *job)
{
    const struct kmeans_layout *const l = &job->layout;
    struct kmeans_request r = job->choice.request;
    r.n_columns = l->n_columns;
    r.type = l->type;
    r.has_mass = l->has_weight;
    r.mass_column = l->weight;
    r.resident = l->resident;
    r.width = l->width;
    r.n_sample = l->n_known ? lesser(l->n, l->sample) : l->sample;
    return r;
}

/* The sample of a table of unknown length may be as large as any. The pictures are drawn when the
 * silhouette's distances are no longer needed. */
static enum status picture_room(struct kmeans_job *job, struct room *room)
{
    const struct kmeans_layout *const l = &job->layout;
    const size_t n = job->solve.request.n_sample, distances = n * (n + 1) / 2 * sizeof(double);
    const size_t shown = l->n_known ? lesser(l->n, l->shown) : l->shown;
    const size_t drawn = KMEANS_PLOT_BYTES + figure_bytes(&job->choice.figure);
    room_count(room, drawn > distances ? drawn - distances : 0, 0);
    STATUS_TRY(room_host(room, shown + 1, sizeof *job->scatter, &job->scatter));
    STATUS_TRY(kmeans_view_room(job, room));
    return kmeans_sample_room(&job->shown, room, shown, l->n_columns);
}

/* Names: their buffer doubles, that of where they begin grows by half. */
static enum status resident_room(struct kmeans_job *job, struct room *room)
{
    const struct kmeans_layout *const l = &job->layout;
    struct room names = {0};
    void *none;
    if (l->has_names) {
        STATUS_TRY(room_host(&names, l->n, 3 * sizeof(size_t) / 2 + (size_t)2 * KMEANS_NAMES_A_ROW,
                             &none));
        room_count(room, names.host, 0);
        room_count(room, 2 * (uint64_t)KMEANS_NAMES_BESIDE, 0);
    }
    job->n_blocks = 1;
    return kmeans_block_room(&job->solve.request, room, l->n, &job->blocks[0]);
}

static enum status streamed_room(struct kmeans_job *job, struct room *room)
{
    const struct kmeans_layout *const l = &job->layout;
    const size_t row_bytes = l->n_columns * dtype_bytes(l->type);
    for (size_t i = 0; i < 2; i++) {
        STATUS_TRY(room_span(room, l->unit, row_bytes, &job->staging[i]));
    }
    return room_span(room, l->unit, sizeof(int32_t), &job->scratch);
}

enum status kmeans_room(struct kmeans_job *job, struct room *room)
{
    const struct kmeans_layout *const l = &job->layout;
    const uint64_t kept = job->choice.drop ? 2 * (l->n / KMEANS_KEPT_ROWS + 1) : 0;
    const size_t t = kmeans_trials(job->choice.request.k_last);
    /* labels that are gathered, and those on their way */
    room_count(room, 2 * (uint64_t)lesser(l->n, KMEANS_LABEL_PIECE) * sizeof(int32_t), 0);
    room_count(room, kept * sizeof(struct kmeans_kept) + GROWING_BYTES, 0);
    room_count(room, 4 * (job->args.inputs[0].table->names_bytes + l->n_columns * 24), 0);
    room_count(room, 0, job->args.host_limit > 0 ? kmeans_drawn_bytes(t) : 0);
    job->rows =
        (struct rows){.width = l->n_columns, .type = l->type, .n_across = l->by_columns ? l->n : 0};
    job->solve.request = request_of(job);
    STATUS_TRY(rows_room(&job->rows, room));
    STATUS_TRY(kmeans_solve_room(&job->solve, room));
    STATUS_TRY(picture_room(job, room));
    STATUS_TRY(kmeans_given_room(job, room));
    return l->resident ? resident_room(job, room) : streamed_room(job, room);
}

/* UINT64_MAX: more than can be counted. */
static struct room count(const struct kmeans_job *of)
{
    struct kmeans_job job = {.args = of->args, .choice = of->choice, .layout = of->layout};
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

static bool fits(const struct kmeans_job *job)
{
    const struct room room = count(job);
    return io_has_room(&job->args, &room);
}

bool kmeans_fits(const struct kmeans_job *job, size_t n)
{
    struct kmeans_job of_n = {.args = job->args, .choice = job->choice, .layout = job->layout};
    of_n.layout.n = n;
    return n <= KMEANS_POINTS_MAX && fits(&of_n);
}

static enum status too_large(const struct kmeans_job *job)
{
    return status_fail(STATUS_TOO_LARGE,
                       "%s: %zu clusters of %zu columns need more than 2^64 bytes", job->name,
                       job->choice.request.k_last, job->layout.n_columns);
}

static enum status refuse_columns(const struct kmeans_job *job)
{
    const struct room room = count(job);
    const uint64_t limit = job->args.host_limit;
    if (sum_of(&room) == UINT64_MAX) {
        return too_large(job);
    }
    const bool of_device = limit > 0 && room.host <= limit;
    return status_fail(
        STATUS_TOO_LARGE,
        "%s: is stored column after column, so that all of it must fit: about "
        "%" PRIu64 " bytes of %s memory; store it row after row (numpy.ascontiguousarray), or %s",
        job->name,
        of_device   ? room.backend
        : limit > 0 ? room.host
                    : sum_of(&room),
        of_device ? "device" : "host",
        of_device ? "use --backend cpu" : "raise --memory by the difference, or more");
}

/* How many runs share a pass: few enough to fit what there is. */
static void find_width(struct kmeans_job *job)
{
    const struct kmeans_request *const r = &job->choice.request;
    struct kmeans_layout *const l = &job->layout;
    const size_t fit = WINDOW_BYTES / greater(kmeans_model_bytes(r->k_last, l->n_columns), 1);
    const size_t most = lesser(lesser(fit, WINDOW_RUNS), kmeans_n_runs(r));
    for (l->width = 2; l->width <= most && fits(job);) {
        l->width++;
    }
    l->width--;
}

/* Points that do not stay and that kernels take at once: `least`, or more where memory is not
 * short. */
static size_t find_unit(const struct kmeans_job *job, size_t least)
{
    const struct stage_args *const args = &job->args;
    const size_t row_bytes = job->layout.n_columns * dtype_bytes(job->layout.type);
    const uint64_t bytes = args->memory_limit / UNITS_A_LIMIT < UNIT_BYTES
                               ? args->memory_limit / UNITS_A_LIMIT
                               : UNIT_BYTES;
    return greater(least, lesser(args->n_threads * UNIT_POINTS, (size_t)bytes / row_bytes));
}

/* Halves it until the job fits; `least` where it never does. */
static void shrink_unit(struct kmeans_job *job, size_t least)
{
    struct kmeans_layout *const l = &job->layout;
    while (l->unit > 0 && !fits(job)) {
        l->unit /= 2;
    }
    l->unit = l->unit > 0 ? l->unit : least;
}

/* --- shapes ----------------------------------------------------------------------------------- */

static enum status choose_weight(struct kmeans_job *job)
{
    struct kmeans_layout *const l = &job->layout;
    const char *const weight = job->choice.weight;
    l->n_measured = l->n_columns;
    l->has_weight = *weight != '\0';
    if (!l->has_weight) {
        return STATUS_OK;
    }
    STATUS_TRY(kmeans_find_column(job, "weight", weight, strlen(weight), &l->weight));
    l->n_measured--;
    return l->n_measured > 0 ? STATUS_OK
                             : status_fail(STATUS_BAD_INPUT,
                                           "%s: has no column but that of the weights", job->name);
}

static enum status check_scale(const struct kmeans_job *job)
{
    const struct kmeans_choice *const c = &job->choice;
    const enum kmeans_scale scale = c->request.scale;
    if (c->given && (scale == KMEANS_SCALE_UNIT || scale == KMEANS_SCALE_RANGE)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "scale would measure these points by their own spread, not by that of "
                           "the points that the centroids are of; set scale=none, and factors to "
                           "the list \"scale\" in result.json of those");
    }
    if (c->factors.n != 0 && c->factors.n != job->layout.n_measured) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: has %zu columns, and factors are %" PRIu64 " numbers", job->name,
                           job->layout.n_measured, c->factors.n);
    }
    return STATUS_OK;
}

/* What the picture shows. */
static enum status choose_view(struct kmeans_job *job)
{
    struct kmeans_layout *const l = &job->layout;
    const char *const axes = job->choice.axes, *const comma = strchr(axes, ',');
    l->shown = lesser(KMEANS_SCATTER_MOST, greater(KMEANS_SCATTER_CELLS / l->n_columns, l->sample));
    l->has_components = *axes == '\0' && l->n_measured > 2;
    l->axes[0] = kmeans_measured(l, 0);
    l->axes[1] = kmeans_measured(l, lesser(l->n_measured - 1, 1));
    if (*axes == '\0') {
        return STATUS_OK;
    }
    if (comma == NULL) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "axes: '%s' is one column; write two with a comma between them", axes);
    }
    STATUS_TRY(kmeans_find_column(job, "axes", axes, (size_t)(comma - axes), &l->axes[0]));
    return kmeans_find_column(job, "axes", comma + 1, strlen(comma + 1), &l->axes[1]);
}

static enum status set_shape(struct kmeans_job *job)
{
    const struct table_info *const table = job->args.inputs[0].table;
    const size_t lines = greater(table->n_lines_estimate, 1);
    const bool by_columns = table->lines_are_columns && !table->is_flat, known = table->n_lines > 0;
    job->layout =
        (struct kmeans_layout){.by_columns = by_columns,
                               .n_known = known,
                               .has_names = table->has_labels,
                               .type = table->dtype,
                               .n = by_columns || table->is_flat ? table->cells_per_line : lines,
                               .n_columns = table->is_flat ? 1 /* a number is a point */
                                            : by_columns   ? lines
                                                           : table->cells_per_line,
                               .width = 1};
    if (table->grid != NULL) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: is a grid, and kmeans takes tables: CSV, TSV, .npy or .npz",
                           job->name);
    }
    if (by_columns && !known) {
        return status_fail(STATUS_INTERNAL, "%s: columns of unknown number", job->name);
    }
    return STATUS_OK;
}

enum status kmeans_begin(const struct stage_args *args, struct kmeans_job *job)
{
    struct kmeans_layout *const l = &job->layout;
    job->args = *args;
    job->name = args->inputs[0].name;
    job->choice = choose(args);
    STATUS_TRY(set_shape(job));
    STATUS_TRY(choose_weight(job));
    STATUS_TRY(check_scale(job));
    STATUS_TRY(job->choice.given ? kmeans_given_lay_out(job) : STATUS_OK);
    STATUS_TRY(l->n_known ? kmeans_check_points(job, l->n) : STATUS_OK);
    l->sample = kmeans_sample_of(l->n_columns);
    STATUS_TRY(choose_view(job));
    const size_t least =
        greater(args->block_bytes / UNITS_A_BLOCK / (l->n_columns * dtype_bytes(l->type)), 1);
    l->unit = find_unit(job, least);
    l->resident = true;
    if ((!l->n_known && args->started_over) || !kmeans_fits(job, l->n)) {
        STATUS_TRY(l->by_columns ? refuse_columns(job) : STATUS_OK);
        l->resident = false;
        shrink_unit(job, least);
        find_width(job);
    }
    return STATUS_OK;
}

enum status kmeans_plan(const struct stage_args *args, struct stage_need *out)
{
    struct kmeans_job job = {.io = NULL};
    STATUS_TRY(kmeans_begin(args, &job));
    const struct room room = count(&job);
    if (sum_of(&room) == UINT64_MAX) {
        return too_large(&job);
    }
    *out = (struct stage_need){.memory_bytes = room.backend,
                               .host_bytes = room.host,
                               .estimated = !job.layout.n_known,
                               .rereads = !job.layout.resident};
    return STATUS_OK;
}

enum status kmeans_check_points(const struct kmeans_job *job, size_t n)
{
    const size_t k = job->choice.request.k_last;
    if (n > KMEANS_POINTS_MAX) {
        return status_fail(STATUS_TOO_LARGE, "%s: %zu points are more than can be taken (%zu)",
                           job->name, n, KMEANS_POINTS_MAX);
    }
    if (k > n && !job->choice.given) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: %zu point%s cannot make %zu clusters; set k to %zu%s", job->name, n,
                           n > 1 ? "s" : "", k, n, n > 1 ? " or less" : "");
    }
    return STATUS_OK;
}

/* The distances of all points to all centroids, for as many iterations as are often enough. */
double kmeans_work(const struct stage_args *args)
{
    enum { ITERATIONS = 30 };
    const struct table_info *table = args->inputs[0].table;
    const double lines = (double)table->n_lines_estimate;
    const struct kmeans_choice c = choose(args);
    const double k =
        (double)(c.request.k_first + c.request.k_last) / 2 * (double)kmeans_n_runs(&c.request);
    const uint64_t n = c.request.max_iter < ITERATIONS ? c.request.max_iter : ITERATIONS;
    return lines * (double)table->cells_per_line * k * (double)n;
}
