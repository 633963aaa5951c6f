/*
 * kmeans_job - what the parts of the stage `kmeans` share: one job's state.
 *
 * A job is a sequence of passes over the points: their ranges; where tol or scale ask for it their
 * means and squares; then whatever the runs ask for, until all are done; then the labels. Where the
 * points stay in memory the passes after the first go over the blocks that hold them, else the part
 * is read again for each.
 */
#ifndef LEAT_STAGES_KMEANS_KMEANS_JOB_H
#define LEAT_STAGES_KMEANS_KMEANS_JOB_H

#include "stages/base/rows.h"
#include "stages/kmeans/kmeans_layout.h"
#include "stages/kmeans/kmeans_sample.h"

/* Points that stay on the backend: one block, and one half as large as all before it whenever more
 * come than were expected. */
enum { KMEANS_MOST_BLOCKS = 64 };
struct kmeans_block {
    struct span at, memory; /* memory: what they remember, later their labels */
    size_t capacity, n;     /* points */
    uint64_t first;
};

/* What a run needs of the next pass. */
enum kmeans_phase {
    KMEANS_DRAW,     /* the next of its first centroids, by k-means++ */
    KMEANS_GATHER,   /* all of its first centroids, by number */
    KMEANS_ASSIGN,   /* an iteration */
    KMEANS_FARTHEST, /* the farthest point, for an empty cluster */
    KMEANS_INERTIA,  /* to be compared with other runs */
    KMEANS_DONE
};

struct kmeans_run {
    struct span at; /* of its model */
    size_t k, restart;
    enum kmeans_phase phase;
    struct kmeans_model model;
    struct kmeans_state state; /* as of the last look */
    unsigned n_unseen;         /* iterations since then */
    uint64_t *start;   /* [k]: points, by number, that become the centroids; NULL for k-means++ */
    double *centroids; /* [k][d], likewise, of which so many are gathered: */
    size_t n_gathered;
};

/* The outcome of a run, on the host. */
struct kmeans_fit {
    size_t k; /* 0: none yet */
    struct kmeans_state state;
    double inertia, silhouette;
    double *centroids; /* [k][d] */
    int32_t *sample;   /* labels of the silhouette's sample */
};

/* A line of ks.csv.gz. */
struct kmeans_k {
    size_t k;
    double inertia, silhouette;
    uint64_t n_iterations;
    bool converged;
};

/* Names of rows, one after the other with their NULs. */
struct kmeans_names {
    struct bytes text;
    size_t *at; /* [n] */
    size_t n, capacity;
    bool given_up; /* they are longer than there is room for */
};

/* Labels that are gathered on the host until they leave. */
struct kmeans_labels {
    size_t n, capacity;
    int32_t at[];
};

struct kmeans_job {
    struct job_io *io;
    struct stage_args args;
    const char *name; /* of the input, for messages */
    struct kmeans_choice choice;
    struct kmeans_layout layout;
    const struct backend_ops *ops;
    const struct kmeans_kernels *kernels;
    struct queue *queue;

    struct rows rows;         /* of the table */
    bool has_seen;            /* all of them once */
    uint64_t n_cells;         /* that have come before, for messages */
    size_t n;                 /* points in all, after the first pass */
    size_t n_rows;            /* of the table: those, and the rows that are left out */
    struct kmeans_kept *kept; /* which these are; NULL: none */
    size_t kept_capacity;
    size_t reserved; /* points for which there is memory, where they stay */
    struct kmeans_block blocks[KMEANS_MOST_BLOCKS]; /* of points that stay */
    size_t n_blocks;
    struct span staging[2]; /* of others: [layout.unit], in turn */
    void *line;             /* a row from the backend */
    struct kmeans_names names;

    /* of all points */
    struct kmeans_model all;           /* of one cluster: ranges, means, squares */
    struct kmeans_sum *squares;        /* [d] */
    double *min, *max, *weight, *unit; /* [d] */
    double *mean, *square_unit;        /* [d] */
    double inertia_unit, tolerance;
    double index_from;               /* what the first column would have in row 0, ... */
    bool is_not_index;               /* ... if it went up by 1 a row; it does not */
    uint64_t bad;                    /* a point that is not finite, by number */
    struct kmeans_sample samples[2]; /* of the silhouette, of the picture */

    /* runs */
    struct kmeans_run *runs; /* [layout.width]: those under way */
    size_t first_run;        /* the number of the first of them */
    size_t n_runs;           /* of them */
    struct span scratch;     /* labels of a unit (not resident) */

    /* their outcomes */
    struct kmeans_fit best, candidate; /* of all; of the present k */
    struct kmeans_k *ks;
    size_t n_ks;
    struct span sample_at, sample_labels;
    double *distances; /* in the silhouette's sample */

    /* the last pass */
    struct kmeans_model model;
    uint64_t *count;              /* [k] */
    double *within;               /* [k] */
    size_t n_nonzero;             /* clusters with points */
    int32_t *scatter;             /* labels of the picture's points ... */
    size_t n_scatter;             /* ... of which so many are known */
    struct kmeans_labels *labels; /* that have not left; where points stay, room for a piece */
    uint64_t n_left;              /* labels that have */
};

enum { KMEANS_OF_SILHOUETTE, KMEANS_OF_SCATTER };

/* kmeans_names: what columns and rows are called. A column's name in the header, or "column 3", its
 * number in the file from 1, in `room`. */
enum { KMEANS_COLUMN_BYTES = 32 };
const char *kmeans_column(const struct kmeans_job *job, size_t c, char room[KMEANS_COLUMN_BYTES]);
/* The same for messages: names in quotes. */
struct kmeans_called {
    char text[80];
};
struct kmeans_called kmeans_call_column(const struct kmeans_job *job, size_t c);
/* Keeps the names of the rows of a chunk, if they are to be kept and there is room for them. */
enum status kmeans_names_take(struct kmeans_job *job,
                              const struct table_chunk *chunk) STATUS_MUST_CHECK;
/* A row's name; NULL where names are not kept. */
const char *kmeans_row_name(const struct kmeans_job *job, uint64_t row);
void kmeans_names_free(struct kmeans_names *names);

/* kmeans_kept: rows with missing values are left out, and counted in the first pass. Moves the
 * others of n_rows rows of cells together, *n_kept of them. */
enum status kmeans_kept_drop(struct kmeans_job *job, char *cells, size_t n_rows,
                             size_t *n_kept) STATUS_MUST_CHECK;
/* Points before a row; the row of a point. */
uint64_t kmeans_kept_before(const struct kmeans_job *job, uint64_t row);
uint64_t kmeans_kept_row(const struct kmeans_job *job, uint64_t point);
/* Labels of the points among n rows from `first` on, which stand at their end, become those of the
 * rows: -1 for one that is left out. */
void kmeans_kept_spread(const struct kmeans_job *job, uint64_t first, size_t n, int32_t *labels);

/* kmeans_points: numbers in, and points to kernels. What is done with some points, which begin at a
 * whole row; `memory`: theirs where they stay, else for their labels. */
typedef enum status kmeans_visit_fn(struct kmeans_job *job, const struct kmeans_points *x,
                                    struct span memory);
/* The first pass: rows are looked at on the host, and visited without memory. */
enum status kmeans_points_read(struct kmeans_job *job, kmeans_visit_fn *visit) STATUS_MUST_CHECK;
/* All points once more. */
enum status kmeans_points_visit(struct kmeans_job *job, kmeans_visit_fn *visit) STATUS_MUST_CHECK;

/* kmeans_scale: before the first pass; after it: units, weights and the tolerance, from ranges and
 * variances. */
enum status kmeans_scale_begin(struct kmeans_job *job) STATUS_MUST_CHECK;
enum status kmeans_scale(struct kmeans_job *job) STATUS_MUST_CHECK;

/* kmeans_runs: Lloyd's iterations, of all runs. */
enum status kmeans_runs(struct kmeans_job *job) STATUS_MUST_CHECK;

/* kmeans_fits: outcomes of runs. Before the first; of a run that is done, in their order. */
enum status kmeans_fits_begin(struct kmeans_job *job) STATUS_MUST_CHECK;
enum status kmeans_fits_take(struct kmeans_job *job,
                             const struct kmeans_run *run) STATUS_MUST_CHECK;

/* kmeans_labels: the last pass. */
enum status kmeans_labels(struct kmeans_job *job) STATUS_MUST_CHECK;

/* kmeans_room: all memory of a job, whose choice and layout are made: counted, or taken. */
enum status kmeans_room(struct kmeans_job *job, struct room *room) STATUS_MUST_CHECK;
/* Of a block for n points that stay. */
enum status kmeans_block_room(struct kmeans_job *job, struct room *room, size_t n,
                              struct kmeans_block *out) STATUS_MUST_CHECK;

/* kmeans_model: a model of k clusters in memory for as many or more; arrays between it and the
 * host. */
enum status kmeans_model_begin(struct kmeans_job *job, size_t k, struct span at,
                               struct kmeans_model *out) STATUS_MUST_CHECK;
enum status kmeans_model_put(struct kmeans_job *job, const struct kmeans_model *m,
                             enum kmeans_field field, const void *from,
                             size_t bytes) STATUS_MUST_CHECK;
enum status kmeans_model_get(struct kmeans_job *job, const struct kmeans_model *m,
                             enum kmeans_field field, void *to, size_t bytes) STATUS_MUST_CHECK;
/* Sums of squared distances by label(): of each cluster, unless `within` is NULL, and of all. */
enum status kmeans_model_inertia(struct kmeans_job *job, const struct kmeans_model *m,
                                 double *within, double *inertia) STATUS_MUST_CHECK;
/* The row of one of these points; valid until the next one. */
enum status kmeans_fetch_row(struct kmeans_job *job, const struct kmeans_points *x, uint64_t point,
                             struct kmeans_rows *out) STATUS_MUST_CHECK;

/* kmeans_files: arrays and text tables. Hands out labels that may leave by now; or (`all`) all that
 * are left. */
enum status kmeans_files_labels(struct kmeans_job *job, bool all) STATUS_MUST_CHECK;
enum status kmeans_files(struct kmeans_job *job, struct result *out) STATUS_MUST_CHECK;
/* kmeans_report: files, summary, warnings of a job whose labels have left. */
enum status kmeans_report(struct kmeans_job *job, struct result *out) STATUS_MUST_CHECK;

#endif
