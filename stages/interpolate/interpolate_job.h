/*
 * interpolate_job - what the files of the pipeline `interpolate` share: the choices made from
 * shape and parameters, the nodes, and the buffers through which queries pass.
 */
#ifndef LEAT_STAGES_INTERPOLATE_INTERPOLATE_JOB_H
#define LEAT_STAGES_INTERPOLATE_INTERPOLATE_JOB_H

#include "formats/base/moment.h"
#include "formats/base/numbers.h"
#include "formats/result/figure.h"
#include "kernels/interpolate/interpolate_setup.h"
#include "stages/base/growing.h"
#include "stages/base/rows.h"

#include <stdbool.h>
#include <stdint.h>

enum interpolate_part { INTERPOLATE_NODES, INTERPOLATE_QUERY, INTERPOLATE_N_PARTS };
enum interpolate_param {
    INTERPOLATE_QUERIES,
    INTERPOLATE_METHOD,
    INTERPOLATE_BLEND,
    INTERPOLATE_QUERY_COLUMNS,
    INTERPOLATE_FIGURE,
    INTERPOLATE_N_SPECS = INTERPOLATE_FIGURE + STAGE_FIGURE_N_SPECS
};

enum { INTERPOLATE_CSV_POINTS = 1000000 }; /* of all curves, that curve.csv.gz holds at most */

extern const struct param_spec interpolate_specs[INTERPOLATE_N_SPECS];

/* What follows from shape and parameters. */
struct interpolate_choice {
    struct numbers line; /* n == 0: queries come from the file */
    bool are_dates;      /* x of nodes and queries, in seconds, as of moment.h */
    enum interpolate_method asked;
    size_t blend;
    struct figure_choice figure;
    size_t n_curves;
    size_t n_nodes;     /* known or estimated */
    uint64_t n_queries; /* known, or 0 */
    uint64_t n_about;   /* known or estimated */
    enum dtype query_type;
    size_t set_queries;    /* that are evaluated, and leave, at once */
    size_t n_sets;         /* that are on their way at a time; 2 at least */
    size_t rest_x, rest_y; /* bytes that are kept until they make a piece; about */
    size_t most_text;      /* queries that curve.csv.gz holds at most */
    size_t about_text;     /* known or estimated to be kept for it; 0: too many */
};

/* Queries with their values, which leave while those of the next set are computed. */
struct interpolate_set {
    struct span x; /* query_type [set_queries]; of a linspace the same for all sets */
    struct span y; /* double [set_queries][n_curves] */
    size_t n;
};

struct interpolate_job {
    struct job_io *io;
    struct stage_args args;
    const struct backend_ops *ops;
    struct queue *queue;
    struct interpolate_choice choice;

    /* Nodes as they come: [n_rows][1 + n_curves], or transposed where lines are columns. */
    double *cells;
    size_t n_cells, room;
    uint64_t *lines; /* of the file, one a row; of a text */
    bool has_lines;  /* they are known */

    size_t n;            /* nodes */
    const double *x, *y; /* sorted [n], [n_curves][n]; setup has them */
    struct interpolate_setup setup;
    struct span counts;

    struct rows rows;             /* queries of the file */
    double *host;                 /* of a linspace, on their way to the backend */
    struct interpolate_set *sets; /* [n_sets] */
    struct growing growing;       /* x, of a file, and y */
    uint64_t n_done;              /* queries evaluated */
    double low, high;             /* of those that are numbers; low > high: there is none */
    double *text_x, *text_y;      /* for curve.csv.gz: [text_room], [text_room][n_curves] */
    size_t n_text, text_room;
    bool without_text; /* there are more than it holds */
    struct interpolate_counts total;
};

/* --- interpolate_choice.c --- */
/* STATUS_BAD_INPUT, _BAD_ARGUMENT, _TOO_LARGE: what cannot be. */
enum status interpolate_choose(const struct stage_args *args,
                               struct interpolate_choice *choice) STATUS_MUST_CHECK;
/* All memory of a job: counted, or taken into *job, whose choice is made. */
enum status interpolate_room(struct interpolate_job *job, struct room *room) STATUS_MUST_CHECK;
/* As of struct stage_ops. */
double interpolate_work(const struct stage_args *args);
/* STATUS_TOO_LARGE, of more than interpolate_most_nodes(). */
enum status interpolate_too_many(const struct stage_args *args);
/* "polynomial of degree 3"; `room` is where it is made, if it is. */
enum { INTERPOLATE_KIND_BYTES = 64 };
const char *interpolate_kind(const struct interpolate_job *job, char room[INTERPOLATE_KIND_BYTES]);
/* x as people read it: a date, or six digits of a number. */
enum { INTERPOLATE_X_BYTES = MOMENT_BYTES };
const char *interpolate_x(const struct interpolate_job *job, double x,
                          char room[INTERPOLATE_X_BYTES]);
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

/* --- interpolate_stream.c --- */
/* Evaluates all queries; values leave. */
enum status interpolate_stream(struct interpolate_job *job) STATUS_MUST_CHECK;
/* What remains of curve.npz, and curve.csv.gz. */
enum status interpolate_stream_end(struct interpolate_job *job) STATUS_MUST_CHECK;
void interpolate_stream_free(struct interpolate_job *job);

/* --- interpolate_picture.c --- */
struct interpolate_picture_bytes {
    size_t host, backend;
};
struct interpolate_picture_bytes interpolate_picture_bytes(const struct interpolate_choice *choice);
enum status interpolate_picture(struct interpolate_job *job) STATUS_MUST_CHECK;

/* --- interpolate_swing.c --- */
/* The first n_curves curves at n numbers, into y [n][n_curves], by memory of the backend that is
 * given back. */
enum status interpolate_values_at(struct interpolate_job *job, size_t n_curves, const double *x,
                                  size_t n, double *y) STATUS_MUST_CHECK;
/* Whether Floater and Hormann's function may be advised: it is not the polynomial itself, and no
 * gap between nodes is more than twice another (then its Lebesgue constant stays below some 25). */
bool interpolate_may_blend(const struct interpolate_job *job);
/* Of the host, and as much of the backend. */
size_t interpolate_swing_bytes(size_t n_curves);
/* Warns of curves that leave the range of their nodes by more than its length, between the least
 * and the greatest query. */
enum status interpolate_warn_swing(struct interpolate_job *job,
                                   struct result *out) STATUS_MUST_CHECK;

/* --- interpolate_summary.c --- */
enum status interpolate_summarise(struct interpolate_job *job,
                                  struct result *out) STATUS_MUST_CHECK;
/* As of struct stage_ops. */
extern const struct stage_told interpolate_told;

#endif
