/*
 * kmeans_files - arrays and text tables of a k-means result (kmeans.npz, centroids.csv.gz,
 * labels.csv.gz, ks.csv.gz), made piece by piece from the job on any thread.
 *
 * Labels leave piece by piece, as portions of files that a last result ends.
 */
#include "stages/kmeans/kmeans_job.h"

#include "formats/result/result_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LABEL_ROWS = 1 << 14, /* of text, in a piece; they divide KMEANS_LABEL_PIECE, ... */
    NAMED_ROWS = 1 << 10, /* ... also with names */
    NUMBER_BYTES = 27,    /* that a number takes at most, with what delimits it */
    HEADER_BYTES = 64
};

/* --- labels ----------------------------------------------------------------------------------- */

/* Labels that leave together, of rows from `first` on. */
struct leaving {
    struct kmeans_job *job;
    uint64_t first;
    struct kmeans_labels *labels;
};

static void free_leaving(void *context)
{
    struct leaving *l = context;
    free(l->labels);
    free(l);
}

static enum status fetch_labels(void *context, uint64_t first, size_t n, void *dst)
{
    const struct leaving *const l = context;
    memcpy(dst, l->labels->at + first, n * sizeof *l->labels->at);
    return STATUS_OK;
}

static enum status put_label(struct bytes *out, uint64_t row, const char *name, int32_t label)
{
    STATUS_TRY(result_put_u64(out, row));
    if (name != NULL) {
        STATUS_TRY(bytes_append(out, ",", 1));
        STATUS_TRY(result_put_field(out, name));
    }
    STATUS_TRY(bytes_append(out, ",-", label < 0 ? 2 : 1));
    STATUS_TRY(result_put_u64(out, (uint64_t)abs(label)));
    return bytes_append(out, "\n", 1);
}

static enum status label_rows(void *context, uint64_t first, size_t n, struct bytes *out)
{
    const struct leaving *const l = context;
    for (size_t i = (size_t)first; i < first + n; i++) {
        const uint64_t row = l->first + i;
        STATUS_TRY(put_label(out, row, kmeans_row_name(l->job, row), l->labels->at[i]));
    }
    return STATUS_OK;
}

static enum status add_zip(struct result *out, bool more, struct result_file **f)
{
    STATUS_TRY(result_add_file(out, "kmeans.npz", PACK_ZIP, f));
    (*f)->more = more;
    return STATUS_OK;
}

/* The text of n labels, or its end. */
static enum status add_text(struct kmeans_job *job, struct leaving *leaving, size_t n, bool more,
                            struct result *out)
{
    const bool named = kmeans_row_name(job, 0) != NULL;
    const char *const header = job->n_left > 0 ? NULL : named ? "row,name,cluster" : "row,cluster";
    STATUS_TRY(result_add_csv(out, "labels", header, n, named ? NAMED_ROWS : LABEL_ROWS, label_rows,
                              leaving, NULL));
    out->files[out->n_files - 1].more = more;
    return STATUS_OK;
}

enum status kmeans_files_labels(struct kmeans_job *job)
{
    struct result *const out = job->io->out;
    const size_t n = job->labels->n;
    struct result_file *f;
    struct leaving *const leaving = malloc(sizeof *leaving);
    if (leaving == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for labels");
    }
    *leaving = (struct leaving){.job = job, .first = job->n_left, .labels = job->labels};
    job->labels = NULL;
    const enum status st = add_zip(out, true, &f);
    if (st != STATUS_OK) {
        free_leaving(leaving);
        return st;
    }
    STATUS_TRY(result_add_portion(f, "labels", NPY_I4, n, fetch_labels, leaving, free_leaving));
    STATUS_TRY(add_text(job, leaving, n, true, out));
    job->n_left += n;
    return io_leave(job->io);
}

/* --- tables ----------------------------------------------------------------------------------- */

static void centroid_row(const void *context, uint64_t cluster, struct result_row *to)
{
    const struct kmeans_job *const job = context;
    const struct kmeans_layout *const l = &job->layout;
    char room[KMEANS_COLUMN_BYTES];
    result_row_count(to, "cluster", cluster);
    result_row_count(to, "count", job->solve.count[cluster]);
    result_row_real(to, "within", job->solve.within[cluster]);
    if (l->has_weight) {
        result_row_real(to, "weight", job->solve.mass[cluster]);
    }
    for (size_t i = 0; i < l->n_measured; i++) {
        const size_t c = kmeans_measured(l, i);
        result_row_real(to, result_row_has_names(to) ? kmeans_column(job, c, room) : "",
                        job->solve.best.centroids[cluster * l->n_columns + c]);
    }
}

static void k_row(const void *context, uint64_t i, struct result_row *to)
{
    const struct kmeans_k *const k = &((const struct kmeans_job *)context)->solve.ks[i];
    result_row_count(to, "k", k->k);
    result_row_real(to, "inertia", k->inertia);
    result_row_real(to, "silhouette", k->silhouette);
    result_row_count(to, "n_iterations", k->n_iterations);
    result_row_flag(to, "converged", k->converged);
}

json_t *kmeans_files_ks(const struct kmeans_job *job)
{
    const struct result_table ks = {"ks", k_row, job, job->solve.n_ks};
    return result_table_json(&ks, ks.n_rows, SIZE_MAX);
}

/* --- the other arrays ------------------------------------------------------------------------- */

/* The measured columns of n rows, [n][n_columns] (n == 0: of one, as an array of one dimension). */
static enum status add_measured(struct kmeans_job *job, struct result_file *f, const char *name,
                                size_t n, const double *from)
{
    const struct kmeans_layout *const l = &job->layout;
    const size_t m = l->n_measured, rows = n > 0 ? n : 1, shape[2] = {n, m};
    double *to;
    STATUS_TRY(room_host(&job->io->room, rows, m * sizeof *to, &to));
    for (size_t i = 0; i < rows * m; i++) {
        to[i] = from[i / m * l->n_columns + kmeans_measured(l, i % m)];
    }
    STATUS_TRY(result_add_copy(f, name, NPY_F8, n > 0 ? 2 : 1, n > 0 ? shape : &m, to));
    room_give_back(&job->io->room, to);
    return STATUS_OK;
}

static enum status add_columns(struct kmeans_job *job, struct result_file *f)
{
    const struct table_info *const table = job->args.inputs[0].table;
    const size_t n = job->layout.n_measured;
    const char **names;
    if (table->names == NULL) {
        return STATUS_OK;
    }
    STATUS_TRY(room_host(&job->io->room, n, sizeof *names, &names));
    for (size_t i = 0; i < n; i++) {
        names[i] = table->names[kmeans_measured(&job->layout, i)];
    }
    return result_add_strings(f, "columns", n, names);
}

static enum status add_arrays(struct kmeans_job *job, struct result_file *f)
{
    const struct kmeans_fit *const fit = &job->solve.best;
    const size_t k = fit->k, two = 2;
    const int64_t n_iterations = (int64_t)fit->state.n_iterations;
    STATUS_TRY(add_measured(job, f, "centroids", k, fit->centroids));
    STATUS_TRY(result_end_portions(f, "labels", NPY_I4, 1, &job->n_rows, false));
    STATUS_TRY(result_add_copy(f, "counts", NPY_I8, 1, &k, job->solve.count));
    STATUS_TRY(result_add_copy(f, "within", NPY_F8, 1, &k, job->solve.within));
    STATUS_TRY(result_add_copy(f, "inertia", NPY_F8, 0, NULL, &fit->inertia));
    STATUS_TRY(result_add_copy(f, "n_iterations", NPY_I8, 0, NULL, &n_iterations));
    STATUS_TRY(add_measured(job, f, "scale", 0, job->solve.weight));
    if (job->layout.has_weight) {
        STATUS_TRY(result_add_copy(f, "weight", NPY_F8, 1, &k, job->solve.mass));
    }
    if (job->layout.has_components) {
        STATUS_TRY(add_measured(job, f, "components", two, job->view.component));
        STATUS_TRY(result_add_copy(f, "variance_share", NPY_F8, 1, &two, job->view.share));
    }
    return add_columns(job, f);
}

enum status kmeans_files(struct kmeans_job *job, struct result *out)
{
    struct result_file *f;
    const struct result_table centroids = {"centroids", centroid_row, job, job->solve.best.k},
                              ks = {"ks", k_row, job, job->solve.n_ks};
    const size_t row = (job->layout.n_measured + 4) * NUMBER_BYTES;
    const size_t fit = (PACK_PIECE_BYTES - HEADER_BYTES) / row;
    STATUS_TRY(add_zip(out, false, &f));
    STATUS_TRY(add_arrays(job, f));
    STATUS_TRY(add_text(job, NULL, 0, false, out));
    STATUS_TRY(result_table_csv(out, &centroids, fit > 0 ? fit : 1));
    return job->choice.is_range ? result_table_csv(out, &ks, LABEL_ROWS) : STATUS_OK;
}
