/*
 * pearson_job - what the parts of the stage `pearson` share: one job's state, and the strategy that
 * knows how its series lie.
 *
 * The numbers of the table are gathered on the backend in units of whole lines; a complete unit is
 * taken by the strategy: a panel of series (pearson_rows) or a block of samples (pearson_columns).
 * Both end with the moments and the matrix, from which the rest follows.
 */
#ifndef LEAT_STAGES_PEARSON_PEARSON_JOB_H
#define LEAT_STAGES_PEARSON_PEARSON_JOB_H

#include "stages/pearson/pearson_layout.h"
#include "stages/pearson/pearson_levels.h"
#include "stages/pearson/series_names.h"

struct pearson_job;

struct pearson_strategy {
    enum status (*open)(struct pearson_job *job) STATUS_MUST_CHECK;
    /* Where the cells of the next unit go. */
    enum status (*begin)(struct pearson_job *job, struct span *unit) STATUS_MUST_CHECK;
    /* The unit holds n_lines lines (fewer than unit_lines only at the end). */
    enum status (*take)(struct pearson_job *job, size_t n_lines) STATUS_MUST_CHECK;
    /* All units have been taken: completes moments and matrix, but for missing values. */
    enum status (*finish)(struct pearson_job *job) STATUS_MUST_CHECK;
    /* As of struct stage_ops; NULL: never any. */
    size_t (*helpers)(const struct pearson_job *job);
    enum status (*help)(struct pearson_job *job, struct queue **queues,
                        size_t *n) STATUS_MUST_CHECK;
    /* Corrects the matrix for missing values, when the moments are there on the host and some
     * series has any; NULL where take has done so. */
    enum status (*fill_missing)(struct pearson_job *job) STATUS_MUST_CHECK;
    /* Sets pairs[k].r to the number of samples that are in both series, of n pairs of series that
     * both have missing values; series are numbered as they came. When all else has been found. */
    enum status (*common)(struct pearson_job *job, struct matrix_pair *pairs,
                          size_t n) STATUS_MUST_CHECK;
    /* Gives back what only the computation needed. May be called twice, and after any failure. */
    void (*release)(struct pearson_job *job);
};

/* Tables whose lines hold a series each: a panel of series is standardized as soon as it is
 * complete and multiplied with every series before it, so that after the last line only the last
 * panel's products are left. */
extern const struct pearson_strategy pearson_rows;
/* Tables whose lines hold a sample of every series: co-moments are accumulated block by block, in
 * double whatever precision was asked, and the samples are forgotten. */
extern const struct pearson_strategy pearson_columns;

/* pearson_rows: standardized series and, where some pairs are computed twice, the series
 * themselves. One block when the number of lines is known, more when the guess was too low. */
struct series_block {
    size_t first, rows; /* series first .. first + rows - 1 have room */
    struct span z, x;   /* x: none unless the series are kept */
};

struct pearson_job {
    struct stage_args args;
    const char *name; /* of the input, for messages */
    struct pearson_choice choice;
    struct pearson_layout layout;
    const struct pearson_strategy *strategy;
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

    /* of pearson_rows */
    struct series_block *blocks;
    size_t n_blocks;
    struct span increments; /* of one panel, when they are not kept */
    struct span exact[2];   /* two panels in the exact form, for gaps in a matrix of another form */
    struct moments exact_moments;
    uint64_t **present; /* [n_series] once it is asked for: a bit a sample; NULL: not asked for */
    struct panels *shared; /* with other devices; NULL: it is not */
    /* of pearson_columns */
    void *columns;

    /* the outcome, on the backend */
    size_t n_series, n_samples; /* n_samples: after increments */
    size_t n_left_out;          /* columns before the first series: 0, or 1, an index */
    struct moments moments;
    struct span *panels;
    size_t n_panels, panels_capacity;
    struct matrix matrix; /* complete after finish */

    /* the outcome, on the host */
    struct moments stats; /* the moments */
    double *median_abs;   /* [n_series] */
    double median_abs_all;
    struct matrix_survey survey;
    bool *is_anomalous;        /* [n_series]: series that stand out */
    struct matrix_pair *pairs; /* the strongest first */
    size_t n_found;            /* 0 only when no pair has a coefficient */
    size_t n_listed;           /* of the pairs found: those that were asked for */
    uint64_t *n_common;        /* [n_found] the samples of each; NULL: n_samples */
    uint32_t *order;           /* [n_series]: series from left to right; NULL: as in the file */
    uint32_t *place;           /* [n_series]: where each of them is then */
};

/* "column" or "row": what one series is. */
static inline const char *pearson_kind(const struct pearson_job *job)
{
    return job->choice.columns ? "column" : "row";
}

/* A moment of series s, on the host. */
static inline double pearson_stat(const struct pearson_job *job, enum moments_field field, size_t s)
{
    return moments_array(job->stats, field)[s];
}

/* The samples that pair k of those found was taken by. */
static inline uint64_t pearson_pair_samples(const struct pearson_job *job, size_t k)
{
    return job->n_common != NULL ? job->n_common[k] : job->n_samples;
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
/* Fills n_common, when the pairs are there and some series has missing values. */
enum status pearson_common(struct pearson_job *job) STATUS_MUST_CHECK;
/* As of struct pearson_strategy, of pearson_rows. */
enum status pearson_rows_common(struct pearson_job *job, struct matrix_pair *pairs,
                                size_t n) STATUS_MUST_CHECK;
/* The host memory that it takes. */
size_t pearson_rows_common_bytes(size_t n_samples);
/* Series s, when the pairs are there: in the exact standard form, where that is what was computed
 * with, else itself (of x_type). */
struct span pearson_rows_one(const struct pearson_job *job, size_t s, bool *is_standard);
/* pearson_share: what pearson_rows has of struct stage_ops for helpers. */
size_t pearson_share_helpers(const struct pearson_job *job);
enum status pearson_share_help(struct pearson_job *job, struct queue **queues,
                               size_t *n) STATUS_MUST_CHECK;
/* All series as one span, for pairs that are computed again from them; ends what else pearson_rows
 * holds. */
enum status pearson_rows_series(struct pearson_job *job, struct series_rows *x) STATUS_MUST_CHECK;

#endif
