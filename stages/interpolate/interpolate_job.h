/*
 * interpolate_job - what the files of the pipeline `interpolate` share: the choices made from
 * shape and parameters, the nodes, and the buffers through which queries pass.
 */
#ifndef LEAT_STAGES_INTERPOLATE_INTERPOLATE_JOB_H
#define LEAT_STAGES_INTERPOLATE_INTERPOLATE_JOB_H

#include "formats/result/figure.h"
#include "kernels/interpolate/interpolate_setup.h"
#include "stages/interpolate/linspace.h"
#include "stages/stage.h"

#include <stdbool.h>
#include <stdint.h>

enum interpolate_part { INTERPOLATE_NODES, INTERPOLATE_QUERY, INTERPOLATE_N_PARTS };
enum interpolate_param {
    INTERPOLATE_QUERIES,
    INTERPOLATE_METHOD,
    INTERPOLATE_QUERY_COLUMNS,
    INTERPOLATE_FIGURE,
    INTERPOLATE_N_SPECS
};

enum { INTERPOLATE_CSV_POINTS = 1000000 }; /* of all curves, that curve.csv.gz holds at most */

extern const struct param_spec interpolate_specs[INTERPOLATE_N_SPECS];

enum interpolate_array { INTERPOLATE_X, INTERPOLATE_Y, INTERPOLATE_N_ARRAYS };

/* What follows from shape and parameters. */
struct interpolate_choice {
    struct linspace line; /* n == 0: queries come from the file */
    enum interpolate_method asked;
    enum figure_format figure;
    size_t n_curves;
    size_t n_nodes;     /* known or estimated */
    uint64_t n_queries; /* known, or 0 */
    uint64_t n_about;   /* known or estimated */
    enum dtype query_type;
    size_t in_queries;                       /* that may come at once ... */
    size_t set_queries;                      /* ... and of which the values leave at once */
    size_t n_sets;                           /* that are on their way at a time; 2 at least */
    size_t rest_bytes[INTERPOLATE_N_ARRAYS]; /* that are kept until they make a piece; about */
    size_t most_text;                        /* queries that curve.csv.gz holds at most */
    size_t about_text;                       /* known or estimated to be kept for it; 0: too many */
};

/* Queries on their way out, with their values; of a linspace only the first set has an `in`. */
struct interpolate_set {
    struct interpolate_job *job;
    struct span in;   /* query_type [in_queries]: as they came; backend */
    struct span x, y; /* within the `in` of one of the sets; double [set_queries][n_curves] */
    size_t n;
};

/* The end of an array that does not make a piece of it: it leaves with what follows, so that where
 * pieces end does not depend on how many queries come at once. */
struct interpolate_rest {
    struct bytes kept;
    struct span from; /* what follows these: it waits in a set until the next one is evaluated */
    size_t n;         /* bytes of it */
};

struct interpolate_job {
    struct stage_args args;
    const struct backend_ops *ops;
    struct queue *queue;
    struct interpolate_choice choice;

    /* Nodes as they come: [n_rows][1 + n_curves], or transposed where lines are columns. */
    double *cells;
    size_t n_cells, room;
    uint64_t *lines; /* of the file, one a row; of a text */
    bool has_lines;  /* they are known */

    size_t n;      /* nodes */
    double *x, *y; /* sorted [n], [n_curves][n] */
    bool is_ready; /* all that follows from the nodes is there */
    struct interpolate_setup setup;
    struct span counts;

    struct interpolate_set *sets; /* [n_sets] */
    size_t in_turn, turn;         /* those whose `in`, and `y`, are next */
    struct span in;               /* the queries that came last ... */
    bool in_leaves;               /* ... some of which, or their values, are on their way out */
    struct interpolate_rest rest[INTERPOLATE_N_ARRAYS];
    bool y_has_begun;        /* in curve.npz */
    size_t n_in, n_out;      /* how many, and how many of them have been evaluated */
    double *host;            /* queries of a linspace, on their way to the backend; of host_alloc */
    uint64_t n_done;         /* queries evaluated in all */
    double low, high;        /* of the queries that are numbers; low > high: there is none */
    double *text_x, *text_y; /* for curve.csv.gz: [text_room], [text_room][n_curves] */
    size_t n_text, text_room;
    bool without_text; /* there are more than it holds */
    struct interpolate_counts total;
};

/* --- interpolate_choice.c --- */
/* STATUS_BAD_INPUT, _BAD_ARGUMENT, _TOO_LARGE: what cannot be. */
enum status interpolate_choose(const struct stage_args *args, struct interpolate_choice *choice,
                               struct stage_need *need) STATUS_MUST_CHECK;
/* As of struct stage_ops. */
double interpolate_work(const struct stage_args *args);
/* STATUS_TOO_LARGE, for a table of so many nodes or more. */
enum status interpolate_too_many(const struct interpolate_job *job, size_t n_nodes);
/* The name of a curve; `room` is for one that the file does not give. */
enum { INTERPOLATE_NAME_BYTES = 24 };
const char *interpolate_name(const struct interpolate_job *job, size_t curve,
                             char room[INTERPOLATE_NAME_BYTES]);

/* --- interpolate_nodes.c --- */
/* Takes numbers of the nodes' table. */
enum status interpolate_nodes_add(struct interpolate_job *job,
                                  const struct table_chunk *chunk) STATUS_MUST_CHECK;
/* All are there: sorted, and everything that is made of them once. */
enum status interpolate_nodes_ready(struct interpolate_job *job) STATUS_MUST_CHECK;
void interpolate_nodes_free(struct interpolate_job *job);

/* --- interpolate_stream.c --- */
enum status interpolate_stream_open(struct interpolate_job *job) STATUS_MUST_CHECK;
void interpolate_stream_free(struct interpolate_job *job);
/* Takes queries of the file. */
enum status interpolate_stream_add(struct interpolate_job *job, const struct table_chunk *chunk,
                                   uint64_t *ticket) STATUS_MUST_CHECK;
/* Takes the next queries of the linspace; there are some. */
enum status interpolate_stream_next(struct interpolate_job *job) STATUS_MUST_CHECK;
/* Evaluates what has been taken, or as much as leaves at once, and hands out the pieces that are
 * complete; there may be none. *more: there is more of it. */
enum status interpolate_stream_portion(struct interpolate_job *job, struct result *out,
                                       bool *more) STATUS_MUST_CHECK;
/* What remains of curve.npz, and curve.csv.gz. */
enum status interpolate_stream_end(struct interpolate_job *job,
                                   struct result *out) STATUS_MUST_CHECK;

/* --- interpolate_picture.c --- */
struct interpolate_picture_bytes {
    size_t host, backend;
};
struct interpolate_picture_bytes interpolate_picture_bytes(size_t n_curves);
enum status interpolate_picture(struct interpolate_job *job, struct result *out) STATUS_MUST_CHECK;

/* --- interpolate_swing.c --- */
/* The first n_curves curves at n numbers, into y [n][n_curves], by memory of the backend that is
 * given back. */
enum status interpolate_values_at(struct interpolate_job *job, size_t n_curves, const double *x,
                                  size_t n, double *y) STATUS_MUST_CHECK;
/* Of the host, and as much of the backend. */
size_t interpolate_swing_bytes(size_t n_curves);
/* Warns of curves that leave the range of their nodes by more than its length, between the least
 * and the greatest query. */
enum status interpolate_warn_swing(struct interpolate_job *job,
                                   struct result *out) STATUS_MUST_CHECK;

/* --- interpolate_summary.c --- */
enum status interpolate_summarise(struct interpolate_job *job,
                                  struct result *out) STATUS_MUST_CHECK;

#endif
