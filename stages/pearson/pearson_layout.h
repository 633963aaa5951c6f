/*
 * pearson_layout - how a pearson job is laid out: which way its series lie, in what portions they
 * are taken, and what memory that needs.
 *
 * Everything here follows from the parameters and from the shape that is known or estimated before
 * the first number, never from the backend, the threads, or how the bytes were cut.
 */
#ifndef LEAT_STAGES_PEARSON_PEARSON_LAYOUT_H
#define LEAT_STAGES_PEARSON_PEARSON_LAYOUT_H

#include "formats/result/figure.h"
#include "kernels/pearson/panels.h"
#include "stages/stage.h"

/* The parameters of the stage; the order is that of pearson_specs. */
enum { PEARSON_N_SPECS = 10 };
extern const struct param_spec pearson_specs[PEARSON_N_SPECS];

/* The most pairs that one result lists, and the most series (pairs hold 32-bit numbers). */
enum { PEARSON_PAIRS_MAX = 1 << 24 };
#define PEARSON_SERIES_MAX ((size_t)1 << 31)

struct pearson_choice {
    bool columns;                /* the series are the table's columns, else its rows */
    enum pearson_precision used; /* what is done: series across lines are always taken exactly */
    enum pearson_diff diff;
    bool reject;        /* a missing value is an error */
    size_t min_samples; /* a coefficient is of no fewer */
    bool keep_r;        /* the matrix is among the results */
    size_t top;
    double threshold; /* 0: off */
    bool cluster;     /* the heat map is ordered by clusters */
    enum figure_format figure;
};

struct pearson_layout {
    bool by_lines; /* a line of the table holds a series; else a line holds a sample of each */
    size_t cells;  /* numbers in a line */
    size_t lines;  /* of the table, known or guessed; >= 1 */
    bool lines_known;
    size_t n_dropped;  /* samples that increments cost: 0 or 1 */
    enum dtype type;   /* of the table's numbers */
    enum dtype x_type; /* of the numbers that are correlated: double for increments */
    enum dtype r_type; /* of the matrix */
    bool keep_x;       /* the series stay in memory: some pairs are computed from them once more */
    size_t panel;      /* rows in a panel of the matrix */
    size_t unit_lines; /* lines that are taken at once: a panel of series, or a slab of samples */
};

/* What the parameters mean for this table. */
void pearson_choose(const struct stage_args *args, struct pearson_choice *out);
/* Lays a job out. STATUS_BAD_INPUT where no correlation can exist, STATUS_TOO_LARGE where there are
 * more series than can be numbered, or samples in a line than can be indexed. */
enum status pearson_lay_out(const struct stage_args *args, const struct pearson_choice *choice,
                            struct pearson_layout *out) STATUS_MUST_CHECK;
/* The memory that it needs. STATUS_TOO_LARGE when that is not a number of bytes. */
enum status pearson_layout_need(const struct stage_args *args, const struct pearson_choice *choice,
                                const struct pearson_layout *layout,
                                struct stage_need *out) STATUS_MUST_CHECK;

/* Whether further devices may take panels of the matrix. Those of a table whose length is only
 * guessed would have to make room for more series later. */
static inline bool pearson_layout_shares(const struct stage_args *args,
                                         const struct pearson_layout *l)
{
    return l->by_lines && l->lines_known && args->most_helpers > 0;
}
/* How they take them. */
struct panels_config pearson_layout_panels(const struct stage_args *args,
                                           const struct pearson_choice *choice,
                                           const struct pearson_layout *layout);

/* As of struct stage_ops. */
double pearson_work(const struct stage_args *args);

/* Series and samples (after increments) of a table of `lines` lines. */
static inline size_t pearson_layout_series(const struct pearson_layout *l, size_t lines)
{
    return l->by_lines ? lines : l->cells;
}
static inline size_t pearson_layout_samples(const struct pearson_layout *l, size_t lines)
{
    const size_t samples = l->by_lines ? l->cells : lines;
    return samples > l->n_dropped ? samples - l->n_dropped : 0;
}

/* Fails with STATUS_TOO_LARGE when there are more series than PEARSON_SERIES_MAX. */
enum status pearson_check_series(const struct stage_args *args, size_t n_series) STATUS_MUST_CHECK;
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
enum status pearson_check_samples(const struct stage_args *args,
                                  const struct pearson_choice *choice,
                                  const struct pearson_layout *layout,
                                  size_t lines) STATUS_MUST_CHECK;

#endif
