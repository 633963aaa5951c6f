/*
 * kmeans_files - arrays and text tables of a k-means result (kmeans.npz, centroids.csv.gz,
 * labels.csv.gz, ks.csv.gz), made piece by piece from the job on any thread.
 *
 * Labels leave as a portion of files that a last result ends, whether they come from the backend's
 * memory or as input streams, and in whole multiples of a piece: so the files are the same.
 */
#include "stages/kmeans/kmeans_job.h"

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

/* Labels that leave together: on the host, from point `first` on, or in the job's memory. */
struct leaving {
    struct kmeans_job *job;
    uint64_t first;
    struct kmeans_labels *host;
};

static void free_leaving(void *context)
{
    struct leaving *l = context;
    free(l->host);
    free(l);
}

static enum status fetch_labels(void *context, uint64_t first, size_t n, void *dst)
{
    const struct leaving *const l = context;
    const struct kmeans_job *const job = l->job;
    const uint64_t row = first;
    const size_t n_rows = n;
    if (l->host != NULL) {
        memcpy(dst, l->host->at + first, n * sizeof *l->host->at);
        return STATUS_OK;
    }
    first = kmeans_kept_before(job, row);
    n = (size_t)(kmeans_kept_before(job, row + n_rows) - first);
    int32_t *to = (int32_t *)dst + (n_rows - n);
    for (size_t b = 0; b < job->n_blocks && n > 0; b++) {
        const struct kmeans_block *const block = &job->blocks[b];
        if (first >= block->first + block->n) {
            continue;
        }
        const size_t at = (size_t)(first - block->first), left = block->n - at;
        const size_t some = n < left ? n : left;
        STATUS_TRY(job->ops->download(job->queue, to, span_from(block->memory, at * sizeof *to),
                                      some * sizeof *to));
        to += some;
        first += some;
        n -= some;
    }
    kmeans_kept_spread(job, row, n_rows, dst);
    return STATUS_OK;
}

static enum status label_rows(void *context, uint64_t first, size_t n, struct bytes *out)
{
    const struct leaving *const l = context;
    const struct kmeans_job *const job = l->job;
    int32_t *const labels = malloc(n * sizeof *labels);
    if (labels == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu labels", n);
    }
    enum status st = fetch_labels(context, first, n, labels);
    for (size_t i = 0; i < n && st == STATUS_OK; i++) {
        const uint64_t row = l->first + first + i;
        const int64_t label = labels[i];
        const char *const name = kmeans_row_name(job, row);
        st = name != NULL ? result_put_row(out, "usi", row, name, label)
                          : result_put_row(out, "ui", row, label);
    }
    free(labels);
    return st;
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

/* n labels leave; `host` is taken over. */
static enum status add_labels(struct kmeans_job *job, struct kmeans_labels *host, size_t n)
{
    struct result *const out = job->io->out;
    struct result_file *f;
    struct leaving *const leaving = malloc(sizeof *leaving);
    if (leaving == NULL) {
        free(host);
        return status_fail(STATUS_NO_MEMORY, "no memory for labels");
    }
    *leaving = (struct leaving){.job = job, .first = job->n_left, .host = host};
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

enum status kmeans_files_labels(struct kmeans_job *job, bool all)
{
    struct kmeans_labels *const labels = job->labels;
    if (all && job->layout.resident) {
        return add_labels(job, NULL, job->n_rows);
    }
    const size_t n = labels == NULL ? 0
                     : all          ? labels->n
                                    : labels->n / KMEANS_LABEL_PIECE * KMEANS_LABEL_PIECE;
    if (n == 0) {
        return STATUS_OK;
    }
    const size_t left = labels->n - n;
    struct kmeans_labels *rest = malloc(sizeof *rest + left * sizeof *rest->at);
    if (rest == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu labels", left);
    }
    rest->n = rest->capacity = left;
    memcpy(rest->at, labels->at + n, left * sizeof *rest->at);
    job->labels = rest;
    return add_labels(job, labels, n);
}

/* --- the other arrays ------------------------------------------------------------------------- */

static enum status add_columns(const struct kmeans_job *job, struct result_file *f)
{
    const struct table_info *const table = job->args.inputs[0].table;
    return table->names != NULL
               ? result_add_strings(f, "columns", job->layout.n_columns, table->names)
               : STATUS_OK;
}

static enum status add_arrays(const struct kmeans_job *job, struct result_file *f)
{
    const struct kmeans_fit *const fit = &job->solve.best;
    const size_t k = fit->k, d = job->layout.n_columns, shape[2] = {k, d};
    const int64_t n_iterations = (int64_t)fit->state.n_iterations;
    STATUS_TRY(result_add_copy(f, "centroids", NPY_F8, 2, shape, fit->centroids));
    STATUS_TRY(result_end_portions(f, "labels", NPY_I4, 1, &job->n_rows, false));
    STATUS_TRY(result_add_copy(f, "counts", NPY_I8, 1, &k, job->solve.count));
    STATUS_TRY(result_add_copy(f, "within", NPY_F8, 1, &k, job->solve.within));
    STATUS_TRY(result_add_copy(f, "inertia", NPY_F8, 0, NULL, &fit->inertia));
    STATUS_TRY(result_add_copy(f, "n_iterations", NPY_I8, 0, NULL, &n_iterations));
    STATUS_TRY(result_add_copy(f, "scale", NPY_F8, 1, &d, job->solve.weight));
    return add_columns(job, f);
}

/* --- text ------------------------------------------------------------------------------------- */

static enum status centroid_rows(void *context, uint64_t first, size_t n, struct bytes *out)
{
    const struct kmeans_job *const job = context;
    const size_t d = job->layout.n_columns;
    for (size_t c = (size_t)first; c < first + n; c++) {
        STATUS_TRY(result_put_u64(out, c));
        STATUS_TRY(bytes_append(out, ",", 1));
        STATUS_TRY(result_put_u64(out, job->solve.count[c]));
        STATUS_TRY(bytes_append(out, ",", 1));
        STATUS_TRY(result_put_f64(out, job->solve.within[c]));
        for (size_t i = 0; i < d; i++) {
            STATUS_TRY(bytes_append(out, ",", 1));
            STATUS_TRY(result_put_f64(out, job->solve.best.centroids[c * d + i]));
        }
        STATUS_TRY(bytes_append(out, "\n", 1));
    }
    return STATUS_OK;
}

static enum status put_header(const struct kmeans_job *job, struct bytes *header)
{
    char room[KMEANS_COLUMN_BYTES];
    STATUS_TRY(bytes_printf(header, "cluster,count,within"));
    for (size_t c = 0; c < job->layout.n_columns; c++) {
        STATUS_TRY(bytes_append(header, ",", 1));
        STATUS_TRY(result_put_field(header, kmeans_column(job, c, room)));
    }
    return bytes_append(header, "", 1);
}

static enum status add_centroids(struct kmeans_job *job, struct result *out)
{
    struct bytes header = {0};
    const size_t row = (job->layout.n_columns + 3) * NUMBER_BYTES;
    const size_t fit = (PACK_PIECE_BYTES - HEADER_BYTES) / row;
    enum status st = put_header(job, &header);
    if (st == STATUS_OK) {
        st = result_add_csv(out, "centroids", (const char *)header.data, job->solve.best.k,
                            fit > 0 ? fit : 1, centroid_rows, job, NULL);
    }
    bytes_free(&header);
    return st;
}

static enum status k_rows(void *context, uint64_t first, size_t n, struct bytes *out)
{
    const struct kmeans_job *const job = context;
    for (size_t i = (size_t)first; i < first + n; i++) {
        const struct kmeans_k *const k = &job->solve.ks[i];
        STATUS_TRY(result_put_row(out, "uffuu", (uint64_t)k->k, k->inertia, k->silhouette,
                                  k->n_iterations, (uint64_t)k->converged));
    }
    return STATUS_OK;
}

enum status kmeans_files(struct kmeans_job *job, struct result *out)
{
    struct result_file *f;
    STATUS_TRY(add_zip(out, false, &f));
    STATUS_TRY(add_arrays(job, f));
    STATUS_TRY(add_text(job, NULL, 0, false, out));
    STATUS_TRY(add_centroids(job, out));
    if (!job->choice.is_range) {
        return STATUS_OK;
    }
    return result_add_csv(out, "ks", "k,inertia,silhouette,n_iterations,converged", job->solve.n_ks,
                          LABEL_ROWS, k_rows, job, NULL);
}
