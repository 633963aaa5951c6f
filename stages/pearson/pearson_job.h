/*
 * pearson_job - what the parts of the stage `pearson` share: one job's state.
 *
 * Series along lines are correlated panel by panel as they come (pearson_rows). Series across lines
 * are turned as they come and correlated in the same way (pearson_turn), or, where they do not fit
 * into memory, added up slab by slab (pearson_columns). All end with the moments and the matrix,
 * from which the rest follows.
 */
#ifndef LEAT_STAGES_PEARSON_PEARSON_JOB_H
#define LEAT_STAGES_PEARSON_PEARSON_JOB_H

#include "formats/base/bytes.h"
#include "formats/result/figure.h"
#include "kernels/pearson/column_gaps.h"
#include "kernels/pearson/lags.h"
#include "kernels/pearson/partners.h"
#include "stages/base/rows.h"
#include "stages/pearson/cliques.h"
#include "stages/pearson/linkage.h"

#include <stdlib.h>

/* The parameters of the stage; the order is that of pearson_specs. */
enum { PEARSON_N_SPECS = 18 + STAGE_FIGURE_N_SPECS };
enum { PEARSON_SERIES, PEARSON_TARGETS, PEARSON_GROUPS, PEARSON_N_PARTS };
extern const struct param_spec pearson_specs[PEARSON_N_SPECS];

/* The most pairs that one result lists, and partners; the most series of a matrix in text; the most
 * series (pairs hold 32-bit numbers). */
enum { PEARSON_PAIRS_MAX = 1 << 24, PEARSON_TEXT_MOST = 5000 };
/* The most series of a matrix that is held though it is not among the results. */
enum { PEARSON_HELD_MOST = 2048 };
#define PEARSON_SERIES_MAX ((size_t)1 << 31)

struct pearson_choice {
    bool columns; /* the series are the table's columns, else its rows */
    bool ranks;   /* Spearman's coefficient */
    enum pearson_precision asked;
    enum pearson_precision used; /* what is done: slabs are always taken exactly */
    enum pearson_diff diff;
    bool pairwise;      /* each pair takes the samples that both have */
    bool drop;          /* all take the samples that every series has */
    bool reject;        /* a missing value is an error */
    size_t min_samples; /* a coefficient is of no fewer */
    bool keep_r;        /* the matrix is among the results, as an array ... */
    bool text_r;        /* ... or as a text; else it need not be held */
    size_t top;
    bool targets;         /* only pairs with a series of another file */
    bool within;          /* only pairs of one group, which a file says, or ... */
    const char *group_by; /* ... the name up to this; "": a file */
    size_t top_each;      /* partners of each series */
    double threshold;     /* 0: off */
    double groups;        /* the least r within a group; 0: off ... */
    bool groups_abs;      /* ... or |r| */
    bool auto_order;      /* by clusters, where that shows blocks that the file's order hides */
    bool cluster;         /* the heat map is ordered by clusters */
    bool by_groups;       /* the heat map is ordered by groups */
    struct figure_choice figure;
    /* Each pair is taken at its best lag, of these. */
    bool lagged;
    int lag_first, lag_last;
};

/* How a job is laid out follows from the parameters and from the shape, never from the threads or
 * how the bytes were cut, and from the backend and the memory limit only where series across lines
 * hardly fit or are few and very long, of a text as is guessed: whether they are turned. */
struct pearson_layout {
    bool by_lines; /* a line of the table holds a series; else a line holds a sample of each, and */
    bool turned;   /* is one of many that are kept and turned; else slabs are added up */
    size_t cells;  /* numbers in a line */
    size_t lines;  /* of the table, known or guessed; >= 1 */
    bool lines_known;
    size_t n_dropped;   /* samples that increments cost: 0 or 1 */
    bool derived;       /* increments or ranks are correlated, not the numbers of the table */
    enum dtype type;    /* of the table's numbers */
    enum dtype x_type;  /* of the numbers that are correlated: double where they are derived */
    enum dtype r_type;  /* of the matrix */
    bool keep_x;        /* the series stay in memory: some pairs are computed from them once more */
    size_t panel;       /* rows in a panel of the matrix */
    bool swept;         /* the matrix is not held, but of PEARSON_HELD_MOST series or fewer */
    size_t level_bytes; /* from one turned series to the next */
    size_t unit_lines;  /* lines that are taken at once: a panel of series, or a slab of samples */
};

/* The series themselves are in memory, in rows. */
static inline bool pearson_has_rows(const struct pearson_layout *l)
{
    return l->by_lines || l->turned;
}

/* A name has at most SERIES_NAME_BYTES, so that what names take is bounded by their number. A
 * longer one is cut at a character's end and ends with U+2026 ("..."), both within that bound.
 * Names may repeat, cut or not. */
enum { SERIES_NAME_BYTES = 255, SERIES_PLACE_BYTES = 24 }; /* the longest name; name of a place */

struct series_names {
    struct bytes text; /* the names, each with its NUL */
    const char **at;   /* of series, into text, once they are all there */
    size_t n;
    size_t n_cut; /* names that were longer */
};

/* Lines of samples, where nobody knows how many there will be. */
struct lines_block {
    size_t first, n; /* lines first .. first + n - 1 have room */
    struct span at;
};

/* As of CORRELATE_BLOCKS_MOST. */
enum { PEARSON_BLOCKS_MOST = CORRELATE_BLOCKS_MOST };

/* Groups of series that are given, in the order of their names. */
struct pearson_within {
    size_t n;
    const char **names;
    size_t *start;     /* [n + 1]: the members of each, ... */
    uint32_t *members; /* ... which ascend */
    uint32_t *group;   /* [n_series]: n or more: in none */
    uint64_t *at;      /* [n + 1]: where the triangle of each begins in held_r */
    struct pearson_group {
        double mean, median, least, homogeneity; /* of r; homogeneity: the mean of |r| */
        uint64_t n_undefined;                    /* pairs without a coefficient */
    } * groups;
    struct bytes text; /* of the file a name and a group in turns, or of names the groups */
};

/* Of a pair how far j is behind i where |r| is largest, and r at lag 0. */
struct pearson_lag {
    int lag;
    double r_0;
};

struct pearson_job {
    struct job_io *io;
    struct stage_args args;
    const char *name; /* of the input, for messages */
    struct pearson_choice choice;
    struct pearson_layout layout;
    const struct backend_ops *ops;
    struct queue *queue;

    /* Memory, which a plan only counts. */
    struct room *kept;    /* until the job ends */
    struct room units;    /* lines, until all have been taken */
    struct room arriving; /* lines that are to be turned, until they are */
    struct room slabs;    /* the accumulators of slabs, until all are added up */
    struct room work;     /* all else that coefficients take, until they are there */

    /* what comes */
    struct rows rows;
    uint64_t n_cells; /* numbers that have come in chunks before this one */
    struct series_names names;
    double *before;         /* of logarithms of ratios: the number before, or those of a line */
    uint64_t n_no_log;      /* increments of two present values that have no logarithm */
    struct bytes lacking;   /* of each sample that has come: 1 if some series lacks it; of `drop` */
    bool is_marked;         /* all have come once */
    size_t lines;           /* of the table that have come, in whole units */
    struct span staging[2]; /* units, in turns: one is filled while the other is in use */
    size_t turn;

    /* of series across lines that are turned */
    struct lines_block came[PEARSON_BLOCKS_MOST]; /* lines of an unknown number, not yet turned */
    size_t n_came;
    struct span levels; /* all series, before increments */

    /* of series along lines, and turned ones */
    struct correlation c; /* and the matrix and the moments, wherever the series lie */
    struct span derived;  /* increments or ranks of a panel, where they do not stay */
    uint64_t *present;    /* a bit a sample of each series that is_known */
    bool *is_known;       /* [n_series] */
    double *one;          /* a series on the host */

    /* of slabs */
    void *columns; /* NULL once they are added up */
    struct column_gaps gaps;

    /* the outcome, on the backend */
    size_t n_series, n_samples; /* n_samples: after increments */
    size_t n_targets;           /* series of another file, numbered after these; 0: none */
    size_t n_incomplete;        /* of these, where they are dropped: the series lack them */
    size_t n_left_out;          /* columns before the first series: 0, or 1, an index */
    struct matrix matrix;       /* whose pairs are listed: of lags the best */
    struct lags lags;

    /* the outcome, on the host */
    struct moments stats; /* the moments */
    bool has_gaps;        /* some series has missing samples */
    double *median_abs;   /* [n_series] */
    double median_abs_all;
    struct matrix_survey survey;
    struct pearson_wanted wanted, wanted_each; /* by which pairs and partners are found */
    struct pearson_basket basket;
    struct partners finder;
    bool *is_anomalous; /* [n_series]: series that stand out */
    uint64_t n_apart;   /* of a list: pairs without a coefficient though both series vary */
    /* Where all pairs are held: [n_targets][n_series], or the condensed triangle of each group. */
    double *held_r;
    struct pearson_within within;
    struct span targets_x;        /* the targets, of the type of the series */
    struct matrix_pair *pairs;    /* the strongest first */
    size_t n_found;               /* 0 only when no pair has a coefficient */
    size_t n_listed;              /* of the pairs found: those that were asked for */
    uint64_t *n_common;           /* [n_found] the samples of each; NULL: n_samples */
    double *p, *q;                /* [n_found]; NULL: none is listed */
    struct matrix_pair *partners; /* of series i series j, in their order */
    size_t n_partners;
    uint64_t *n_partner_samples; /* [n_partners] */
    /* Of pairs found, and of partners; NULL: no lags. */
    struct pearson_lag *pair_lags, *partner_lags;
    struct cliques groups;
    uint32_t *order; /* [n_series]: series from left to right; NULL: as in the file */
    struct linkage_merge
        *merges;     /* [n_series - 1] the tree of which these are the leaves, or NULL */
    uint32_t *place; /* [n_series]: where each of them is then, if order is there */
};

/* Of series across lines: so few that their accumulators take gaps, too. */
static inline bool pearson_has_few(const struct pearson_job *job)
{
    return job->layout.cells <= job->ops->pearson->columns_few;
}

/* Every pair has a coefficient, in the matrix. */
static inline bool pearson_has_matrix(const struct pearson_choice *c)
{
    return !c->targets && !c->within;
}

/* "column" or "row": what one series is. */
static inline const char *pearson_kind(const struct pearson_job *job)
{
    return job->choice.columns ? "column" : "row";
}

/* Series and targets: of as many there are moments and names. */
static inline size_t pearson_n_all(const struct pearson_job *job)
{
    return job->n_series + job->n_targets;
}

/* A moment of series s, on the host. */
static inline double pearson_stat(const struct pearson_job *job, enum moments_field field, size_t s)
{
    return moments_array(job->stats, field)[s];
}

/* The samples that pair k of those found was taken by. */
static inline uint64_t pearson_pair_samples(const struct pearson_job *job, size_t k)
{
    const size_t lag = job->pair_lags != NULL ? (size_t)abs(job->pair_lags[k].lag) : 0;
    return job->n_common != NULL ? job->n_common[k] : job->n_samples - job->n_incomplete - lag;
}

/* --- pearson_layout.c --- */
/* What the parameters mean for this table. */
void pearson_choose(const struct stage_args *args, struct pearson_choice *out);
/* STATUS_BAD_ARGUMENT where some of it cannot be had together. */
enum status pearson_check_choice(const struct pearson_job *job) STATUS_MUST_CHECK;
/* Lays the job out for the lines that layout.lines has: known, estimated, or come. */
enum status pearson_lay_out(struct pearson_job *job, bool turned) STATUS_MUST_CHECK;
/* Laid out as turned: of few series with very many samples slabs are faster, if the backend has it.
 */
bool pearson_prefers_slabs(const struct pearson_job *job);
/* As of struct stage_ops. */
double pearson_work(const struct stage_args *args);
bool pearson_by_lines(const struct stage_args *args);
/* The matrix is not held: there are no medians, and so no series that stand out, and no picture. */
static inline bool pearson_is_swept(const struct pearson_job *job)
{
    return job->layout.swept && job->n_series > PEARSON_HELD_MOST;
}
/* Numbers of a series, before increments. */
static inline size_t pearson_levels(const struct pearson_layout *l)
{
    return l->by_lines ? l->cells : l->lines;
}
/* Samples, after increments, of a table of `lines` lines. */
static inline size_t pearson_samples(const struct pearson_layout *l, size_t lines)
{
    const size_t samples = l->by_lines ? l->cells : lines;
    return samples > l->n_dropped ? samples - l->n_dropped : 0;
}
/* Fails with STATUS_TOO_LARGE when there are more series than PEARSON_SERIES_MAX, or, where the
 * matrix is a text and their number known, than PEARSON_TEXT_MOST. */
enum status pearson_check_series(const struct pearson_job *job, size_t n_series,
                                 bool is_known) STATUS_MUST_CHECK;
/* Rows and columns of a table, whatever its order; estimates where they are not known. */
struct pearson_sides {
    size_t rows, columns;
};
struct pearson_sides pearson_sides(const struct table_info *table);
/* Samples below which coefficients are high by chance. */
enum { PEARSON_FEW_SAMPLES = 10 };
/* Nobody says which side the series are, the columns have no names, and rows would have too few
 * samples where columns have enough: the columns are the series. */
bool pearson_prefers_columns(const struct stage_args *args);
/* True unless it is said which side the series are, or what has a name is one, or columns are
 * preferred. */
bool pearson_guesses_sides(const struct stage_args *args);
/* Whether it is plain which side of the table the series lie on: where nobody says and there are no
 * names, a table of very many rows is STATUS_BAD_ARGUMENT; of other texts a notice says how they
 * are taken. */
enum status pearson_check_sides(const struct stage_args *args) STATUS_MUST_CHECK;
/* Fails with STATUS_BAD_INPUT unless there are two samples a series to correlate, and with
 * STATUS_TOO_LARGE where a series in a line has more than PEARSON_SAMPLES_MAX. */
enum status pearson_check_samples(const struct pearson_job *job, size_t lines) STATUS_MUST_CHECK;

/* --- pearson_room.c: memory --- */
/* Begins a job: choice and layout; series across lines are turned where that fits. STATUS_BAD_INPUT
 * where no correlation can exist, STATUS_TOO_LARGE where there are more series than can be
 * numbered, or samples in a line than can be indexed. */
enum status pearson_begin(const struct stage_args *args, struct room *kept,
                          struct pearson_job *job) STATUS_MUST_CHECK;
/* As of struct stage_ops: all that follows counted. */
enum status pearson_plan(const struct stage_args *args, struct stage_need *out) STATUS_MUST_CHECK;
/* Whether a job that is laid out so can have its memory; where nobody knows the number of lines,
 * also once so many have come and the rest is to be slabs. */
bool pearson_fits(const struct pearson_job *job);
/* A staging buffer for the next unit, of the room: that which was not given last. */
enum status pearson_stage(struct pearson_job *job, struct room *room,
                          struct span *unit) STATUS_MUST_CHECK;
/* Results of each of n series, on the host. */
enum status pearson_stats_room(struct pearson_job *job, size_t n) STATUS_MUST_CHECK;
/* Whether further devices may take panels of the matrix. Those of a table whose length is only
 * guessed would have to make room for more later. */
bool pearson_shares(const struct pearson_job *job);

/* --- pearson_numbers.c: numbers come in --- */
/* Before the first; where samples are dropped, after all have come once. */
enum status pearson_numbers_open(struct pearson_job *job) STATUS_MUST_CHECK;
/* Waits for the next lines; *are: there are some. Else what came is a table that can be
 * correlated. */
enum status pearson_more(struct pearson_job *job, bool *are) STATUS_MUST_CHECK;
/* Brings them to `to`: a unit, *n lines, fewer only at the end. */
enum status pearson_read(struct pearson_job *job, struct span to, size_t *n) STATUS_MUST_CHECK;
/* Names the series that have none, n_series in all; then names.at is there, of these. */
enum status pearson_names_close(struct pearson_job *job, size_t n_series) STATUS_MUST_CHECK;
/* The name of a series, whether or not all names are there yet. */
const char *pearson_name(struct pearson_job *job, size_t series);

/* Names the next series. */
enum status pearson_name_add(struct pearson_job *job, const char *name) STATUS_MUST_CHECK;

/* --- pearson_turn.c: series across lines, turned --- */
/* What they take until they are, for the plan. */
enum status pearson_turn_count(struct pearson_job *job) STATUS_MUST_CHECK;
/* Takes all lines; then the series are there for pearson_rows, or, where they did not fit, the job
 * is laid out for slabs, and those that came first are kept. */
enum status pearson_turn(struct pearson_job *job) STATUS_MUST_CHECK;

/* --- pearson_rows.c: series along lines, and turned ones --- */
/* What the coefficients take, for the plan. */
enum status pearson_rows_count(struct pearson_job *job) STATUS_MUST_CHECK;
/* Increments or ranks, as are asked for, of n series of the table's numbers. *x: where they go, or,
 * where the numbers themselves are correlated, lie. */
enum status pearson_derive(struct pearson_job *job, struct span levels, enum dtype type, size_t n,
                           struct span *x) STATUS_MUST_CHECK;
/* Moments and matrix, but for missing values. */
enum status pearson_rows(struct pearson_job *job) STATUS_MUST_CHECK;
/* STATUS_START_OVER: so many pairs take the series themselves, which were not kept. */
enum status pearson_rows_sure(const struct pearson_job *job, uint64_t n_unsure) STATUS_MUST_CHECK;
/* Corrects the matrix, when the moments are on the host, and some series has missing values.
 * STATUS_START_OVER as of pearson_rows_sure. */
enum status pearson_rows_gaps(struct pearson_job *job) STATUS_MUST_CHECK;
/* Sweeps a matrix that is not held, gaps and all (correlate_sweep); likewise. */
enum status pearson_rows_sweep(struct pearson_job *job, correlate_visit *visit,
                               void *context) STATUS_MUST_CHECK;

/* --- pearson_columns.c: series across lines, in slabs --- */
/* What the coefficients take, for the plan. */
enum status pearson_columns_count(struct pearson_job *job) STATUS_MUST_CHECK;
/* Moments and matrix, but for missing values. */
enum status pearson_columns(struct pearson_job *job) STATUS_MUST_CHECK;
/* Completes the matrix where series have missing values, from all lines, which come again. */
enum status pearson_columns_gaps(struct pearson_job *job) STATUS_MUST_CHECK;
/* After that: sets r of n pairs to the number of samples they have in common; the lines come again.
 */
enum status pearson_columns_common(struct pearson_job *job, struct matrix_pair *pairs,
                                   size_t n) STATUS_MUST_CHECK;

/* --- pearson_partners.c: the strongest of each series --- */
/* Room for them; STATUS_TOO_LARGE where there are too many. */
enum status pearson_partners_room(struct pearson_job *job) STATUS_MUST_CHECK;
/* Host memory to find them. */
size_t pearson_partners_bytes(const struct pearson_job *job);
/* When `wanted` is there but for its top: begins to find them. */
enum status pearson_partners_begin(struct pearson_job *job) STATUS_MUST_CHECK;
/* Those of a band of the matrix on q, or of all of it. */
enum status pearson_partners_add(struct pearson_job *job, struct queue *q,
                                 const struct matrix *band) STATUS_MUST_CHECK;
/* Then: fills partners and their samples. */
enum status pearson_partners_end(struct pearson_job *job) STATUS_MUST_CHECK;

/* In place of these four: fills them from pairs, which are sorted and are all that there are. */
enum status pearson_partners_list(struct pearson_job *job) STATUS_MUST_CHECK;

/* --- pearson_list.c: pairs that the host holds all, with targets or inside groups --- */
/* held_r, pairs and partners, and for the plan also what follows. STATUS_TOO_LARGE of more pairs
 * than PEARSON_PAIRS_MAX. */
enum status pearson_list_room(struct pearson_job *job, uint64_t n_pairs) STATUS_MUST_CHECK;
enum status pearson_list_count(struct pearson_job *job, uint64_t n_pairs) STATUS_MUST_CHECK;
/* A pair, in any order; the moments are there. */
void pearson_list_add(struct pearson_job *job, size_t i, size_t j, double r);
/* When all n_pairs have been added: sorts those that have a coefficient, then survey, medians and
 * partners. */
enum status pearson_list_find(struct pearson_job *job, uint64_t n_pairs) STATUS_MUST_CHECK;

/* --- pearson_find.c: what is asked of the matrix, whether it is held or swept --- */
/* Survey, pairs and partners, when the moments are on the host. STATUS_START_OVER as of
 * pearson_rows_gaps. */
enum status pearson_find(struct pearson_job *job) STATUS_MUST_CHECK;
/* Whether pair k of those found is asked for. */
bool pearson_is_listed(const struct pearson_choice *choice, size_t k,
                       const struct matrix_pair *pairs);
/* After that: has `visit` get the matrix, or its bands one after the other. */
enum status pearson_look(struct pearson_job *job, correlate_visit *visit,
                         void *context) STATUS_MUST_CHECK;

/* The least r within a group. A rounding is to spare below what was asked for, since backends round
 * otherwise: all find the same groups, unless an r lies within a rounding of this. */
static inline double pearson_groups_limit(const struct pearson_choice *c)
{
    return c->groups * (1 - 1e-12);
}
/* Room for groups, of all pairs from that limit on. */
enum status pearson_groups_room(struct pearson_job *job, size_t n_pairs) STATUS_MUST_CHECK;

/* --- pearson_targets.c: series of another file, and their pairs with all --- */
/* Begins a job that has them: their number, known or guessed. */
enum status pearson_targets_begin(struct pearson_job *job) STATUS_MUST_CHECK;
/* What they take, for the plan. */
enum status pearson_targets_count(struct pearson_job *job) STATUS_MUST_CHECK;
/* Reads them, after the series; names and moments are those of both then. */
enum status pearson_targets_take(struct pearson_job *job) STATUS_MUST_CHECK;
/* When the moments are on the host: r, what is asked of a matrix, pairs and partners.
 * STATUS_START_OVER as of pearson_rows_gaps. */
enum status pearson_targets_find(struct pearson_job *job) STATUS_MUST_CHECK;

/* --- pearson_within.c: correlation inside groups --- */
/* What it takes, for the plan. */
enum status pearson_within_count(struct pearson_job *job) STATUS_MUST_CHECK;
/* Reads the file of groups, if there is one and it has not been read; after the series. */
enum status pearson_within_read(struct pearson_job *job) STATUS_MUST_CHECK;
/* As pearson_targets_find, of the groups by their file or by the names, which are there. */
enum status pearson_within_find(struct pearson_job *job) STATUS_MUST_CHECK;

/* --- pearson_lags.c: of each pair the lag of the largest |r| --- */
/* Fails with STATUS_BAD_INPUT where so many samples leave fewer than min_samples at some lag. */
enum status pearson_lags_check_samples(const struct pearson_job *job,
                                       size_t n_samples) STATUS_MUST_CHECK;
/* What they take, when the matrix has been counted; `work`: in place of the standard form. */
enum status pearson_lags_count(struct pearson_job *job, struct room *work) STATUS_MUST_CHECK;
/* Finds them, when the matrix at lag 0 is complete: `matrix` is that of the best then. */
enum status pearson_lags_find(struct pearson_job *job) STATUS_MUST_CHECK;
/* After that: of n pairs, i and j in any order. */
enum status pearson_lags_of(struct pearson_job *job, const struct matrix_pair *pairs, size_t n,
                            struct pearson_lag **out) STATUS_MUST_CHECK;
/* The matrix at lag 0. */
static inline const struct matrix *pearson_at_0(const struct pearson_job *job)
{
    return job->choice.lagged ? &job->lags.at_0 : &job->matrix;
}
/* Adds r_lag and lag, as squares. */
enum status pearson_lags_arrays(struct pearson_job *job, struct result_file *f) STATUS_MUST_CHECK;
enum status pearson_lags_warn(const struct pearson_job *job, struct result *out) STATUS_MUST_CHECK;

/* --- pearson_index.c: series that are none, and ones that are too short --- */
/* Whether the first column would be left out if it counts (table_watch.h). */
bool pearson_index_possible(const struct stage_args *args, const struct pearson_choice *choice);
/* The host memory that takes. */
size_t pearson_index_bytes(size_t n_series);
/* Leaves the first column out if it counts: when columns have been turned; of slabs, when matrix,
 * moments and names are there. */
enum status pearson_index_leave_out(struct pearson_job *job) STATUS_MUST_CHECK;
/* As of struct stage_ops. */
enum status pearson_notice(const struct stage_args *args, struct result *out) STATUS_MUST_CHECK;

/* --- pearson_common.c --- */
/* What it takes of series along lines. */
enum status pearson_common_room(struct pearson_job *job) STATUS_MUST_CHECK;
/* Fills n_common, when the pairs are there and some series has missing values. */
enum status pearson_common(struct pearson_job *job) STATUS_MUST_CHECK;
/* The samples of any n pairs, likewise. */
enum status pearson_common_of(struct pearson_job *job, const struct matrix_pair *pairs, size_t n,
                              uint64_t *samples) STATUS_MUST_CHECK;
/* After that: `present` of all series with gaps; none of series in slabs. */
enum status pearson_common_all(struct pearson_job *job) STATUS_MUST_CHECK;

/* --- pearson_significance.c --- */
/* The probability that n independent samples have a coefficient of that |r|; n need not be whole.
 */
double pearson_p(double r, double n);
/* That of the best of all lags, by Bonferroni: as often what a single one has. */
double pearson_best_p(const struct pearson_job *job, double p);
/* The number of independent samples that n of series with these lag-1 autocorrelations are worth.
 */
double pearson_n_effective(double n, double a, double b);
/* Fills q, when the pairs and their samples are there and some are listed. */
enum status pearson_q_find(struct pearson_job *job) STATUS_MUST_CHECK;

/* --- pearson_order.c: the order in which the heat map shows the series: that of the file, or one
 * in which series that go together stand together --- */
enum {
    PEARSON_ORDER_MOST = 8192, /* series that are clustered; more stay as in the file */
    PEARSON_ORDER_AUTO = 1000  /* the same where nobody has asked for it */
};
/* Host memory that it takes. */
size_t pearson_order_bytes(const struct pearson_job *job);
/* Sets order, place and merges where another order than that of the file was asked for, or shows
 * more, and can be had. The matrix is complete, and so are groups. */
enum status pearson_order_find(struct pearson_job *job) STATUS_MUST_CHECK;

/* --- pearson_report.c: files, summary, warnings --- */
/* Fills the result from a job whose outcome is complete; pieces refer to the job. */
enum status pearson_report(struct pearson_job *job, struct result *out) STATUS_MUST_CHECK;
/* --- pearson_anomaly.c: sets is_anomalous, which is false everywhere. `scratch` has room for a
 * number of each series --- */
enum status pearson_anomalies_find(struct pearson_job *job, double *scratch) STATUS_MUST_CHECK;
/* --- pearson_files.c: arrays and text tables --- */
enum status pearson_files(struct pearson_job *job, struct result *out) STATUS_MUST_CHECK;
/* The first n of the pairs that were found; NULL without memory. */
json_t *pearson_files_strongest(const struct pearson_job *job, size_t n);
/* The coefficients of series s with those before it, in their type; and with all, its own not set.
 */
enum status pearson_files_before(const struct pearson_job *job, const struct matrix *m, size_t s,
                                 void *row) STATUS_MUST_CHECK;
enum status pearson_files_row(const struct pearson_job *job, const struct matrix *m, size_t s,
                              void *row) STATUS_MUST_CHECK;

/* --- pearson_heatmap.c: the matrix as a picture, drawn and encoded when its piece is read --- */
/* Cells along a side, pixels along a side of one, series that one stands for (the last one for
 * fewer). */
struct heatmap_grid {
    size_t side, cell, series;
};
struct heatmap_grid heatmap_grid_of(size_t n_series);
/* Host memory that the picture takes while it is drawn and encoded. */
size_t heatmap_bytes(size_t n_series, const struct figure_choice *figure);
enum status pearson_heatmap(struct pearson_job *job) STATUS_MUST_CHECK;
/* As of struct stage_ops. */
extern const struct stage_told pearson_told;

#endif
