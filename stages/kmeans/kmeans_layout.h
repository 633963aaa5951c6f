/*
 * kmeans_layout - the parameters of a k-means job, and how it is laid out: whether its points stay
 * in backend memory or are read once more for every pass, and what memory that takes.
 *
 * Everything follows from the parameters, the shape that is known or estimated, and the memory that
 * a job can have; the results do not depend on it.
 */
#ifndef LEAT_STAGES_KMEANS_KMEANS_LAYOUT_H
#define LEAT_STAGES_KMEANS_KMEANS_LAYOUT_H

#include "formats/result/figure.h"
#include "kernels/kmeans/kmeans_solve.h"
#include "stages/stage.h"

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

/* kmeans_params: what they say. */
struct kmeans_choice kmeans_choose(const struct stage_args *args);
/* The same, and how the job is laid out. STATUS_BAD_INPUT: a grid, more clusters than points;
 * STATUS_BAD_ARGUMENT: no such column; STATUS_TOO_LARGE. */
enum status kmeans_lay_out(const struct stage_args *args, struct kmeans_choice *choice,
                           struct kmeans_layout *out) STATUS_MUST_CHECK;
/* kmeans_names: the column of a name, or of a number in the file from 1, that parameter `key` says.
 * STATUS_BAD_ARGUMENT. */
enum status kmeans_find_column(const struct stage_args *args, size_t n_columns, const char *key,
                               const char *word, size_t n, size_t *out) STATUS_MUST_CHECK;
/* kmeans_given: how many centroids of a file there may be, of points of such columns.
 * STATUS_BAD_INPUT: they are of other ones. */
enum status kmeans_given_lay_out(const struct stage_args *args, const struct kmeans_layout *layout,
                                 size_t *most) STATUS_MUST_CHECK;
/* Whether a job can have the memory that this layout takes for n points. */
bool kmeans_layout_fits(const struct stage_args *args, const struct kmeans_choice *choice,
                        const struct kmeans_layout *layout, size_t n);
/* The memory that it needs. */
enum status kmeans_layout_need(const struct stage_args *args, const struct kmeans_choice *choice,
                               const struct kmeans_layout *layout,
                               struct stage_need *out) STATUS_MUST_CHECK;
/* As of struct stage_ops. */
double kmeans_work(const struct stage_args *args);
/* STATUS_BAD_INPUT with more clusters than points, STATUS_TOO_LARGE with too many points. */
enum status kmeans_check_points(const struct stage_args *args, const struct kmeans_choice *choice,
                                size_t n) STATUS_MUST_CHECK;

#endif
