/*
 * pearson_job - what the parts of the stage `pearson` share: one job's state, and the regime that
 * knows how its series lie.
 *
 * The numbers of the table are gathered on the backend in units of whole lines; a unit that is
 * complete is taken by the regime: a panel of series (pearson_rows) or a slab of samples
 * (pearson_columns). Both end with the moments and the matrix, from which the rest follows.
 */
#ifndef LEAT_STAGES_PEARSON_PEARSON_JOB_H
#define LEAT_STAGES_PEARSON_PEARSON_JOB_H

#include "stages/pearson/pearson_columns.h"
#include "stages/pearson/pearson_layout.h"
#include "stages/pearson/pearson_levels.h"
#include "stages/pearson/pearson_rows.h"
#include "stages/pearson/series_names.h"

struct pearson_job;

struct pearson_regime {
    enum status (*open)(struct pearson_job *job) STATUS_MUST_CHECK;
    /* Where the cells of the next unit go. */
    enum status (*begin)(struct pearson_job *job, struct span *unit) STATUS_MUST_CHECK;
    /* The unit holds n_lines lines (fewer than unit_lines only at the end). */
    enum status (*take)(struct pearson_job *job, size_t n_lines) STATUS_MUST_CHECK;
    /* All units have been taken: completes moments and matrix, but for what missing values ask. */
    enum status (*finish)(struct pearson_job *job) STATUS_MUST_CHECK;
    /* Corrects the matrix for missing values, when `counts` is there on the host and some series
     * has any; NULL where take has seen to them. */
    enum status (*mend)(struct pearson_job *job, const double *counts) STATUS_MUST_CHECK;
    /* Gives back what only the computation needed. May be called twice, and after any failure. */
    void (*release)(struct pearson_job *job);
};

struct pearson_job {
    struct stage_args args;
    struct pearson_choice choice;
    struct pearson_layout layout;
    const struct pearson_regime *regime;
    const struct backend_ops *ops;
    struct queue *queue;

    struct series_names names;
    struct pearson_levels levels;

    /* the unit that is being gathered */
    struct span staging[2]; /* taken in turns, so that one is filled while the other is in use */
    size_t turn;
    struct span unit;
    size_t unit_cells; /* numbers in it so far */
    size_t lines;      /* taken */
    uint64_t ticket;   /* of the last upload */

    /* the regimes' own */
    struct pearson_rows rows;
    void *columns;

    /* the outcome, on the backend */
    size_t n_series, n_samples; /* n_samples: after increments */
    struct moments moments;
    struct span *panels;
    size_t n_panels, panels_capacity;
    struct matrix matrix; /* complete after finish */

    /* the outcome, on the host */
    double *figures;    /* [MOMENTS_FIELDS * n_series]: the moments */
    double *median_abs; /* [n_series] */
    double median_abs_all;
    struct matrix_survey survey;
    double anomaly_below;      /* series with a lower median |r| stand out */
    struct matrix_pair *pairs; /* the strongest first */
    size_t n_found;            /* 0 only when no pair has a coefficient */
    size_t n_listed;           /* of the pairs found: those that were asked for */
};

/* "column" or "row": what one series is. */
static inline const char *pearson_kind(const struct pearson_job *job)
{
    return job->choice.columns ? "column" : "row";
}

static inline const double *pearson_figures(const struct pearson_job *job, enum moments_field field)
{
    return job->figures + (size_t)field * job->n_series;
}

/* Backend memory for n things of `each` bytes; *out is none on failure. */
enum status pearson_job_alloc(struct pearson_job *job, size_t n, size_t each,
                              struct span *out) STATUS_MUST_CHECK;
/* Gives it back; *s is none then, and may have been before. */
void pearson_job_release(struct pearson_job *job, struct span *s);
/* A staging buffer for the next unit: that which was not given last. */
enum status pearson_job_stage(struct pearson_job *job, struct span *unit) STATUS_MUST_CHECK;
/* Gives the staging buffers back. */
void pearson_job_unstage(struct pearson_job *job);
/* Appends a panel to the matrix: `rows` rows of `width` elements. */
enum status pearson_job_panel(struct pearson_job *job, size_t rows, size_t width,
                              struct span *panel) STATUS_MUST_CHECK;

#endif
