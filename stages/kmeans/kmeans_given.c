/*
 * kmeans_given - centroids of a file, X.centroids.*, by which points are labelled: a row each, by
 * the names of the points' columns, in any order and among others, so that a centroids.csv.gz of an
 * earlier result is taken as it is; without names by the order of the columns.
 */
#include "stages/kmeans/kmeans_job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MORE = 64 }; /* rows than are expected, where their number is not known */

/* An array of one dimension is one centroid, or, of points of one column, a centroid a number. */
static bool is_turned(const struct table_info *t, size_t n_columns)
{
    return t->lines_are_columns || (t->is_flat && n_columns == 1);
}

static size_t width_of(const struct table_info *t, size_t n_columns)
{
    return is_turned(t, n_columns) ? t->n_lines_estimate : t->cells_per_line;
}

/* Columns of a centroids.csv.gz before those of points. */
static size_t n_own(const struct table_info *t)
{
    static const char *const own[] = {"cluster", "count", "within", "weight"};
    size_t n = 0;
    while (n < sizeof own / sizeof *own && n < t->cells_per_line && t->names != NULL &&
           strcmp(t->names[n], own[n]) == 0) {
        n++;
    }
    return n >= 3 ? n : 0; /* not all results have weights */
}

/* Where column i of those that are measured is: looked for from `from` on, round the end. */
static enum status find(const struct kmeans_job *job, size_t i, size_t from, size_t *out)
{
    const size_t n_columns = job->layout.n_measured, c = kmeans_measured(&job->layout, i);
    const struct stage_input *const in = &job->args.inputs[KMEANS_CENTROIDS];
    const size_t width = width_of(in->table, n_columns), own = n_own(in->table);
    char room[KMEANS_COLUMN_BYTES];
    const char *const name = kmeans_column(job, c, room);
    for (size_t k = 0; k < width && in->table->names != NULL; k++) {
        *out = (from + k) % width;
        if (strcmp(in->table->names[*out], name) == 0) {
            return STATUS_OK;
        }
    }
    *out = own + i;
    if (in->table->names != NULL && job->args.inputs[KMEANS_POINTS].table->names != NULL) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: has no column %s, which the points have; call its columns as those "
                           "of %s, or remove its line of names: then they are taken in order",
                           in->name, kmeans_call_column(job, c).text, job->name);
    }
    if (width - own != n_columns) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: a centroid has %zu numbers, a point of %s has %zu; choose as many "
                           "(of a CSV: columns, centroids_columns)",
                           in->name, width - own, job->name, n_columns);
    }
    return STATUS_OK;
}

enum status kmeans_given_lay_out(struct kmeans_job *job)
{
    const size_t n_columns = job->layout.n_measured;
    const struct stage_input *const in = &job->args.inputs[KMEANS_CENTROIDS];
    struct kmeans_request *const r = &job->choice.request;
    if (in->table == NULL) {
        return status_fail(STATUS_INTERNAL, "a job came without centroids");
    }
    if (in->table->grid != NULL) {
        return status_fail(STATUS_BAD_INPUT, "%s: is a grid, and centroids are a table", in->name);
    }
    for (size_t i = 0, at = n_own(in->table); i < n_columns; i++, at++) {
        STATUS_TRY(find(job, i, at, &at));
    }
    const size_t n =
        is_turned(in->table, n_columns) ? in->table->cells_per_line : in->table->n_lines_estimate;
    r->k_first = r->k_last = in->table->n_lines > 0 ? n : n + n / 4 + MORE;
    return r->k_last <= INT32_MAX ? STATUS_OK
                                  : status_fail(STATUS_TOO_LARGE, "%s: %zu centroids are too many",
                                                in->name, r->k_last);
}

enum status kmeans_given_room(struct kmeans_job *job, struct room *room)
{
    const size_t d = job->layout.n_columns;
    job->given_most = job->choice.given ? job->choice.request.k_last : 0;
    if (job->choice.factors.n > 0) {
        STATUS_TRY(room_host(room, d, sizeof *job->factors, &job->factors));
    }
    if (!job->choice.given) {
        return STATUS_OK;
    }
    const size_t width = width_of(job->args.inputs[KMEANS_CENTROIDS].table, job->layout.n_measured);
    STATUS_TRY(room_host(room, job->given_most, width * sizeof *job->given, &job->given));
    return room_host(room, job->given_most, d * sizeof *job->given_points, &job->given_points);
}

/* All numbers of the file, as they come; *n of them. */
static enum status read_all(struct kmeans_job *job, size_t width, size_t *n)
{
    const struct stage_input *const in = &job->args.inputs[KMEANS_CENTROIDS];
    const struct table_chunk *chunk;
    *n = 0;
    STATUS_TRY(io_chunk(job->io, KMEANS_CENTROIDS, &chunk));
    while (chunk != NULL) {
        const struct kmeans_rows cells = {.cells = chunk->values, .type = in->table->dtype};
        if (*n + chunk->n_cells > job->given_most * width) {
            return status_fail(STATUS_START_OVER, "%s: more centroids than were expected",
                               in->name);
        }
        for (size_t i = 0; i < chunk->n_cells; i++) {
            job->given[(*n)++] = kmeans_rows_cell(&cells, i);
        }
        STATUS_TRY(io_chunk(job->io, KMEANS_CENTROIDS, &chunk));
    }
    return *n > 0 ? STATUS_OK : status_fail(STATUS_BAD_INPUT, "%s: no row holds numbers", in->name);
}

enum status kmeans_given_take(struct kmeans_job *job)
{
    const struct stage_input *const in = &job->args.inputs[KMEANS_CENTROIDS];
    const struct kmeans_layout *const l = &job->layout;
    const size_t d = l->n_columns, width = width_of(in->table, l->n_measured);
    const bool turned = is_turned(in->table, l->n_measured);
    size_t n;
    STATUS_TRY(read_all(job, width, &n));
    const size_t k = n / width;
    for (size_t m = 0, at = n_own(in->table); m < l->n_measured; m++, at++) {
        const size_t c = kmeans_measured(l, m);
        STATUS_TRY(find(job, m, at, &at));
        for (size_t i = 0; i < k; i++) {
            const double x = job->given[turned ? at * k + i : i * width + at];
            job->given_points[i * d + c] = x;
            if (!isfinite(x)) {
                return status_fail(
                    STATUS_BAD_INPUT,
                    "%s: row %zu (the first is 1) has %s in %s: a centroid needs all "
                    "its numbers; fill it in, or remove the row",
                    in->name, i + 1, isnan(x) ? "no value" : "an infinity",
                    kmeans_call_column(job, c).text);
            }
        }
    }
    job->solve.given = job->given_points;
    job->solve.request.k_first = job->solve.request.k_last = k;
    return STATUS_OK;
}
