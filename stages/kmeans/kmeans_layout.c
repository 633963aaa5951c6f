/*
 * kmeans_layout - shapes of a k-means job, and the memory that follows from them. The buffers of a
 * queue are counted, what tasks of the CPU take for themselves is not.
 *
 * Points stay in memory where they fit what a job can have. Of a table that does not know its
 * length that is decided by the estimate; kmeans_points.c starts over where that was too low, and
 * then they do not stay.
 */
#include "stages/kmeans/kmeans_layout.h"

#include "formats/base/sizes.h"
#include "stages/kmeans/kmeans_job.h"
#include "stages/kmeans/kmeans_plot.h"

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
        WINDOW_BYTES / greater(kmeans_model_bytes(c->request.k_last, l->n_columns), 1);
    const size_t most = lesser(lesser(fit, WINDOW_RUNS), kmeans_n_runs(&c->request));
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
    return greater(least, lesser(args->n_threads * UNIT_POINTS, (size_t)bytes / row_bytes));
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

static enum status choose_weight(const struct stage_args *args, const char *weight,
                                 struct kmeans_layout *l)
{
    l->n_measured = l->n_columns;
    l->has_weight = *weight != '\0';
    if (!l->has_weight) {
        return STATUS_OK;
    }
    STATUS_TRY(
        kmeans_find_column(args, l->n_columns, "weight", weight, strlen(weight), &l->weight));
    l->n_measured--;
    return l->n_measured > 0
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT, "%s: has no column but that of the weights",
                             args->inputs[0].name);
}

static enum status choose_scale(const struct stage_args *args, const struct kmeans_choice *c,
                                size_t n_columns)
{
    const enum kmeans_scale scale = c->request.scale;
    if (c->given && (scale == KMEANS_SCALE_UNIT || scale == KMEANS_SCALE_RANGE)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "scale would measure these points by their own spread, not by that of "
                           "the points that the centroids are of; set scale=none, and factors to "
                           "the list \"scale\" in result.json of those");
    }
    if (c->factors.n != 0 && c->factors.n != n_columns) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: has %zu columns, and factors are %" PRIu64 " numbers",
                           args->inputs[0].name, n_columns, c->factors.n);
    }
    return STATUS_OK;
}

/* What the picture shows. */
static enum status choose_view(const struct stage_args *args, const char *axes,
                               struct kmeans_layout *l)
{
    const char *const comma = strchr(axes, ',');
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
    STATUS_TRY(
        kmeans_find_column(args, l->n_columns, "axes", axes, (size_t)(comma - axes), &l->axes[0]));
    return kmeans_find_column(args, l->n_columns, "axes", comma + 1, strlen(comma + 1),
                              &l->axes[1]);
}

enum status kmeans_lay_out(const struct stage_args *args, struct kmeans_choice *choice,
                           struct kmeans_layout *out)
{
    const struct table_info *table = args->inputs[0].table;
    const size_t lines = greater(table->n_lines > 0 ? table->n_lines : table->n_lines_estimate, 1);
    struct kmeans_layout l = {.by_columns = table->lines_are_columns && !table->is_flat,
                              .n_known = table->n_lines > 0,
                              .has_names = table->has_labels,
                              .type = table->dtype,
                              .n = lines,
                              .n_columns = table->cells_per_line,
                              .width = 1};
    *choice = kmeans_choose(args);
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
    STATUS_TRY(choose_weight(args, choice->weight, &l));
    STATUS_TRY(choose_scale(args, choice, l.n_measured));
    if (choice->given) {
        STATUS_TRY(kmeans_given_lay_out(args, &l, &choice->request.k_last));
        choice->request.k_first = choice->request.k_last;
    }
    if (l.n_known) {
        STATUS_TRY(kmeans_check_points(args, choice, l.n));
    }
    l.sample = kmeans_sample_of(l.n_columns);
    STATUS_TRY(choose_view(args, choice->axes, &l));
    const size_t least =
        greater(args->block_bytes / UNITS_A_BLOCK / (l.n_columns * dtype_bytes(l.type)), 1);
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
    if (choice->request.k_last > n && !choice->given) {
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
    const struct kmeans_choice c = kmeans_choose(args);
    const double k =
        (double)(c.request.k_first + c.request.k_last) / 2 * (double)kmeans_n_runs(&c.request);
    const uint64_t n = c.request.max_iter < ITERATIONS ? c.request.max_iter : ITERATIONS;
    return lines * (double)table->cells_per_line * k * (double)n;
}
