/*
 * kmeans_job - what the parts of the stage `kmeans` share: one job's state.
 *
 * The solve (kmeans_solve.h) makes passes over the points. Where they stay in memory the passes
 * after the first go over the blocks that hold them, else the part is read again for each.
 */
#ifndef LEAT_STAGES_KMEANS_KMEANS_JOB_H
#define LEAT_STAGES_KMEANS_KMEANS_JOB_H

#include "formats/result/figure.h"
#include "kernels/kmeans/kmeans_resident.h"
#include "stages/base/rows.h"

enum { KMEANS_POINTS, KMEANS_CENTROIDS, KMEANS_N_PARTS };
enum { KMEANS_N_SPECS = 13 + STAGE_FIGURE_N_SPECS };
extern const struct param_spec kmeans_specs[KMEANS_N_SPECS];

/* Sums of points are kept in two words of 64 bits each, for so many. */
#define KMEANS_POINTS_MAX ((size_t)1 << 31)

enum {
    KMEANS_SCATTER_MOST = 20000,    /* points in the picture, ... */
    KMEANS_SCATTER_CELLS = 1 << 17, /* ... of so many cells, or as many as the silhouette has */
    KMEANS_VIEW_BASIS = 64,
    KMEANS_LABEL_PIECE = 1 << 18,  /* labels leave in whole multiples of these: a piece of 1 MiB */
    KMEANS_NAME_BYTES = 255,       /* of a row's name; longer ones are cut */
    KMEANS_NAMES_A_ROW = 32,       /* the most that names of rows take, for each row ... */
    KMEANS_NAMES_BESIDE = 1 << 16, /* ... and besides */
};

/* Of 64 rows of a table: a bit each, set where a missing value leaves it out, and the number of
 * points before them. */
enum { KMEANS_KEPT_ROWS = 64 };
struct kmeans_kept {
    uint64_t dropped, before;
};

struct kmeans_choice {
    struct kmeans_request request; /* but for what follows from the layout */
    bool is_range;          /* k was given as one: each of them is run, and the best is taken */
    bool drop;              /* rows with missing values are left out */
    bool given;             /* points are labelled by the centroids of a file */
    struct numbers factors; /* n == 0: none */
    const char *weight;     /* the column of the points' weights, or "" */
    const char *axes;       /* of the picture: two columns, or "" */
    struct figure_choice figure;
};

struct kmeans_layout {
    size_t n_columns;  /* that are read */
    size_t n_measured; /* of them: all, or all but one of weights, ... */
    bool has_weight;
    size_t weight; /* ... which is this */
    size_t n;      /* points, known or guessed; >= 1 */
    bool n_known;
    bool by_columns; /* the table's lines are the array's columns */
    bool has_names;  /* of rows, which are kept where the points stay in memory */
    enum dtype type;
    bool resident;  /* all points stay in backend memory */
    size_t unit;    /* points that kernels take at once, as far as they can; where points do not
                       stay, that are gathered */
    size_t width;   /* runs that share a pass over the points */
    size_t sample;  /* the most points in the silhouette's sample */
    size_t shown;   /* likewise in the picture */
    size_t axes[2]; /* columns that it shows, unless ... */
    bool has_components; /* ... it shows the first two principal components */
};

/* The column that is number i of those that are measured. */
static inline size_t kmeans_measured(const struct kmeans_layout *l, size_t i)
{
    return i + (l->has_weight && i >= l->weight ? 1 : 0);
}

/* Points that stay on the backend: one block, and one half as large as all before it whenever more
 * come than were expected. */
enum { KMEANS_MOST_BLOCKS = 64 };

/* Names of rows, one after the other with their NULs. */
struct kmeans_names {
    struct bytes text;
    size_t *at; /* [n] */
    size_t n, capacity;
    bool given_up; /* they are longer than there is room for */
};

/* Labels of rows that are gathered on the host until they leave: those of a piece. */
struct kmeans_labels {
    size_t n, most;
    int32_t at[];
};

/* What the picture shows where that is components: of the points in it. */
struct kmeans_view {
    double *component;     /* [2][n_columns]: units, of scaled columns */
    double share[2];       /* of the variance */
    double *mean, *factor; /* [n_columns]: about which components are, and by which a column is
                              scaled, less `size` */
    double size;
    double *basis, *within; /* to find them with */
};

struct kmeans_job {
    struct job_io *io;
    struct stage_args args;
    const char *name; /* of the input, for messages */
    struct kmeans_choice choice;
    struct kmeans_layout layout;
    const struct backend_ops *ops;
    struct queue *queue;

    struct rows rows;         /* of the table */
    bool has_seen;            /* all of them once */
    uint64_t n_cells;         /* that have come before, for messages */
    size_t n;                 /* points that have come; in all, after the first pass */
    size_t n_rows;            /* of the table: those, and the rows that are left out */
    struct kmeans_kept *kept; /* which these are; NULL: none */
    size_t kept_capacity;
    size_t reserved; /* points for which there is memory, where they stay */
    struct kmeans_block blocks[KMEANS_MOST_BLOCKS]; /* of points that stay */
    size_t n_blocks;
    struct span staging[2]; /* of others: [layout.unit], in turn */
    struct kmeans_names names;

    double *given;        /* [most][width]: the file of centroids */
    size_t given_most;    /* its rows that there is room for */
    double *given_points; /* [most][n_columns]: centroids in the points' columns */
    double *factors;      /* [n_columns] */
    struct kmeans_solve solve;
    double index_from;   /* what the first column would have in row 0, ... */
    bool is_not_index;   /* ... if it went up by 1 a row; it does not */
    uint64_t below;      /* the first row, from 1, with a weight below 0; 0: none */
    struct span scratch; /* labels of a unit (not resident) */

    /* the last pass */
    struct kmeans_view view;
    struct kmeans_sample shown;   /* points of the picture, with all columns, */
    int32_t *scatter;             /* their labels, ... */
    size_t n_scatter;             /* ... of which so many are known */
    struct kmeans_labels *labels; /* that have not left, or NULL */
    uint64_t n_left;              /* labels that have */
};

/* kmeans_layout: what follows from the parameters, the shape that is known or estimated, and the
 * memory that a job can have: whether its points stay in backend memory or are read once more for
 * every pass, and what memory that takes. The results do not depend on it.
 *
 * Begins a zeroed job: args, choice and layout. STATUS_BAD_INPUT: a grid, more clusters than
 * points; STATUS_BAD_ARGUMENT: no such column; STATUS_TOO_LARGE. */
enum status kmeans_begin(const struct stage_args *args, struct kmeans_job *job) STATUS_MUST_CHECK;
/* All memory of a job that is laid out: counted, or taken. */
enum status kmeans_room(struct kmeans_job *job, struct room *room) STATUS_MUST_CHECK;
/* Whether a job can have the memory that its layout takes for n points. */
bool kmeans_fits(const struct kmeans_job *job, size_t n);
/* STATUS_BAD_INPUT with more clusters than points, STATUS_TOO_LARGE with too many points. */
enum status kmeans_check_points(const struct kmeans_job *job, size_t n) STATUS_MUST_CHECK;
/* As of struct stage_ops. */
enum status kmeans_plan(const struct stage_args *args, struct stage_need *out) STATUS_MUST_CHECK;
double kmeans_work(const struct stage_args *args);

/* kmeans_names: what columns and rows are called. A column's name in the header, or "column 3", its
 * number in the file from 1, in `room`. */
enum { KMEANS_COLUMN_BYTES = 32 };
const char *kmeans_column(const struct kmeans_job *job, size_t c, char room[KMEANS_COLUMN_BYTES]);
/* The same for messages: names in quotes. */
struct kmeans_called {
    char text[80];
};
struct kmeans_called kmeans_call_column(const struct kmeans_job *job, size_t c);
/* The column of a name, or of a number in the file from 1, that parameter `key` says, as the n
 * bytes at `word`. STATUS_BAD_ARGUMENT. */
enum status kmeans_find_column(const struct kmeans_job *job, const char *key, const char *word,
                               size_t n, size_t *out) STATUS_MUST_CHECK;
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

/* kmeans_points, kmeans_labels: the job's points as a source (kmeans_solve.h). Rows are looked at
 * on the host when they come for the first time; `memory` of those that do not stay is for their
 * labels. */
enum status kmeans_points_visit(void *context, kmeans_visit_fn *visit, void *arg) STATUS_MUST_CHECK;
enum status kmeans_labels_take(void *context, const struct kmeans_points *x,
                               struct span labels) STATUS_MUST_CHECK;
/* All have been taken: those of rows behind the last point, too, leave. */
enum status kmeans_labels_end(struct kmeans_job *job) STATUS_MUST_CHECK;

/* kmeans_given: the centroids of a file. Sets k to how many there may be, of points of such
 * columns; STATUS_BAD_INPUT: they are of other ones. After the first pass: to be read, for the
 * solve. */
enum status kmeans_given_lay_out(struct kmeans_job *job) STATUS_MUST_CHECK;
enum status kmeans_given_room(struct kmeans_job *job, struct room *room) STATUS_MUST_CHECK;
enum status kmeans_given_take(struct kmeans_job *job) STATUS_MUST_CHECK;

/* kmeans_view: the plane of the picture; to be found once all have been seen. */
enum status kmeans_view_room(struct kmeans_job *job, struct room *room) STATUS_MUST_CHECK;
void kmeans_view_find(struct kmeans_job *job);
/* Where a point, or a centroid, lies on axis 0 or 1. */
double kmeans_view_place(const struct kmeans_job *job, const double *cells, size_t axis);

/* kmeans_files: arrays and text tables. Hands out the labels that are gathered. */
enum status kmeans_files_labels(struct kmeans_job *job) STATUS_MUST_CHECK;
enum status kmeans_files(struct kmeans_job *job, struct result *out) STATUS_MUST_CHECK;
/* The rows of ks.csv.gz; NULL without memory. */
json_t *kmeans_files_ks(const struct kmeans_job *job);
/* kmeans_plot: the pictures, drawn and encoded when their pieces are read. */
enum {
    KMEANS_PLOT_WIDTH = 1240,
    KMEANS_PLOT_HEIGHT = 880,
    /* what drawing and encoding take: pixels, file */
    KMEANS_PLOT_BYTES = KMEANS_PLOT_WIDTH * KMEANS_PLOT_HEIGHT * 5
};
/* scatter.png (or .svg, .pdf, or none): a sample of the points, in the view. */
enum status kmeans_plot_scatter(struct kmeans_job *job) STATUS_MUST_CHECK;
/* ks.png, likewise: inertia and silhouette by the number of clusters. */
enum status kmeans_plot_ks(struct kmeans_job *job) STATUS_MUST_CHECK;

/* kmeans_report: files, summary, warnings of a job whose labels have left. */
enum status kmeans_report(struct kmeans_job *job, struct result *out) STATUS_MUST_CHECK;
/* As of struct stage_ops. */
extern const struct stage_told kmeans_told;

#endif
