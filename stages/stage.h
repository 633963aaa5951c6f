/*
 * stage - what a job computes, in terms of kernels: a folder a stage, one line in stages.h.
 *
 * A job has one input file a part of its stage. The engine reads and decodes them, one after the
 * other; it hands the stage their numbers in file order, as they come, and takes a `struct result`
 * from it, or several. A stage does no I/O and makes no thread.
 */
#ifndef LEAT_STAGES_STAGE_H
#define LEAT_STAGES_STAGE_H

#include "formats/base/numbers.h"
#include "formats/result/figure.h"
#include "formats/result/result.h"
#include "formats/table/table_watch.h"
#include "kernels/backend.h"
#include "stages/stages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One parameter that a user can set. PARAM_RANGE: "8", or "2-12", at most PARAM_RANGE_MOST whole
 * numbers; PARAM_NUMBERS: what numbers_parse() takes, or nothing, within min and max where these
 * differ, else dates, too; PARAM_SPAN: "8", which is "-8:8", or "-2:12", whole numbers of this
 * size. */
enum param_kind {
    PARAM_CHOICE,
    PARAM_COUNT,
    PARAM_REAL,
    PARAM_TEXT,
    PARAM_RANGE,
    PARAM_NUMBERS,
    PARAM_SPAN
};
enum { PARAM_RANGE_MOST = 1000 };

struct param_spec {
    const char *key;
    enum param_kind kind;
    const char *text;    /* the default, as a user would write it */
    const char *choices; /* PARAM_CHOICE: "exact|f32" */
    double min, max;     /* the range accepted, ends included; of PARAM_TEXT that of its bytes */
    const char *help;    /* half a line */
};

/* One of them: of several words, a number, a text. */
#define STAGE_CHOICE(name, among, usually, says)                                                   \
    {                                                                                              \
        .key = (name), .kind = PARAM_CHOICE, .text = (usually), .choices = (among), .help = (says) \
    }
#define STAGE_NUMBER(of, name, least, most, usually, says)                                         \
    {                                                                                              \
        .key = (name), .kind = (of), .text = (usually), .min = (least), .max = (most),             \
        .help = (says)                                                                             \
    }
#define STAGE_TEXT(name, longest, says)                                                            \
    {                                                                                              \
        .key = (name), .kind = PARAM_TEXT, .text = "", .max = (longest), .help = (says)            \
    }

/* The parameters of every stage that draws, one behind the other, with the names of its scales or
 * sets of colours (formats/result/colours.h); stage_figure says what they come to. */
#define STAGE_FIGURE_SPECS(names)                                                                  \
    STAGE_CHOICE("figure", "png|svg|pdf|none", "png", "the format of pictures, or none"),          \
        STAGE_TEXT("title", 400, "the title of pictures; empty: what they show"),                  \
        STAGE_CHOICE("colours", (names), "auto",                                                   \
                     "the colours of pictures, as matplotlib names them"),                         \
        STAGE_NUMBER(PARAM_REAL, "figure_size", 0, 400, "0",                                       \
                     "longer side of pictures, in mm; 0: as drawn"),                               \
        STAGE_NUMBER(PARAM_COUNT, "figure_dpi", 50, 600, "192", "pixels an inch of PNG pictures")
enum { STAGE_FIGURE_N_SPECS = 5 };

/* The value of one parameter: `index` of the choice, or `count`, which goes to `last` in a range,
 * or `real`, or `numbers`, or `from` and `to` of a span; and the text of one that has no choices
 * and is not a number. That is UTF-8 without control characters; it is borrowed from what was
 * parsed, which the owner of a job's settings keeps for as long as the job. Nothing in a value is
 * ever freed: values may be copied. */
struct param_value {
    size_t index;
    uint64_t count, last;
    int64_t from, to;
    double real;
    struct numbers numbers; /* n == 0: the text is empty */
    const char *text;
};

struct job_io; /* what a method sees of its job */

/* One of the files that make a job: X.SUFFIX.*, all in one folder. */
enum stage_part_kind { STAGE_TABLE, STAGE_GRID };

struct stage_part {
    const char *suffix; /* "clusters" of X.clusters.csv: it also routes the file to the stage */
    enum stage_part_kind kind;
    bool dates; /* of text the first column may be dates and times: seconds, as of moment.h */
    bool words; /* a text of two names a line (table_options.words), without choice of columns */
    /* STAGE_GRID: it may be polygons on the cells of the first part. Which number these get: this
     * one, or what the PARAM_TEXT of this key says (table_options.polygons). NULL: it may not */
    const char *polygons;
    const char *columns; /* key of the PARAM_TEXT that chooses this part's columns; NULL: the
                            reader's key "columns" does */
    const char *unless; /* key of the parameter that says whether a job has such a file: it has none
                           where a text is not empty, which takes its place, or where the first
                           choice is taken ("none|file"). So nobody waits for a file that may never
                           come. NULL: it always has one */
};

enum { STAGE_MAX_PARTS = 5 };

/* A part's file. A grid's `table->grid` may be NULL: a table of another format in its place. */
struct stage_input {
    const struct table_info *table; /* NULL: the job has no such part */
    const char *name;               /* for messages */
    struct table_watch *seen; /* what has been seen of its numbers: of the first part, once all have
                                 been pushed; NULL: nothing */
};

/* Where a method keeps a state that outlives its process, on disk. `body` passes it in either
 * direction (saved.h), and gives up by STATUS_CHANGED, before anything is changed, when what comes
 * back is of another job; what is not whole never comes back. The thread waits for the disk. */
struct saved;
typedef enum status stage_state_body(void *user, struct saved *s);
struct stage_state {
    /* In place of the one before. Where there is no room for it, that stays, and a warning says so.
     */
    enum status (*keep)(void *context, stage_state_body *body, void *user);
    /* *found: it has come back. */
    enum status (*find)(void *context, stage_state_body *body, void *user, bool *found);
    void *context;
};

/* What a stage is told before the first number. Everything is borrowed for the life of the stage.
 */
struct stage_args {
    struct queue *queue;
    struct stage_input inputs[STAGE_MAX_PARTS]; /* in the order of the stage's parts */
    const struct param_value *params;           /* in the order of the stage's specs */
    size_t block_bytes;                         /* the most that comes in one chunk */
    size_t n_threads;                           /* that compute and deflate; 0: not known */
    uint64_t memory_limit; /* the most that a plan may ask for: backend memory, with the host's
                              where they are one; 0: not known */
    uint64_t host_limit;   /* the host's, where they are two; 0: they are one, or not known */
    size_t n_results;      /* that the stage, which is open, was planned with and plan() keeps; 0:
                              plan() is free to choose */
    bool comes_once;       /* a part is of a pipe: a stage that starts over fails */
    bool started_over;     /* the stage has said STATUS_START_OVER */
    size_t most_helpers;   /* further queues that may come to help, at most; 0: none */
    const struct stage_state *state; /* NULL: nothing outlives the process */
    struct executor executor; /* on which calls that wait are made at the same time; run NULL: they
                                 are not */
};

/* What a job is going to need, from the shape that is known or estimated. */
struct stage_need {
    uint64_t memory_bytes; /* backend memory: counted against --memory on the CPU backend */
    uint64_t host_bytes;   /* host memory besides */
    uint64_t helper_bytes; /* backend memory on the device of each further queue */
    size_t n_results;      /* that are held at a time: as one is computed the others are deflated
                              and written; at least 2; 0: 2 */
    bool estimated;        /* a shape is not known before the end */
    bool rereads;          /* parts are going to be asked for once more */
    bool may_reread;       /* or may be: what cannot be read again is kept */
};

/* What leat show and report.html tell of a result, from its result.json, beside the parameters,
 * warnings and files of all. Each list ends with one whose first member is NULL. */
struct stage_told {
    const struct stage_fact {
        const char *name, *key; /* "run-out", "runout_m": of the summary, or of the shape */
        const char *unit;       /* as it follows the number: " m" */
    } * facts;
    const struct stage_listing *listings; /* may be NULL */
    const struct stage_code {             /* how to read a file of the result in Python */
        const char *file;                 /* where that is among the result's files */
        const char *lines[3];
        const char *only[4][2]; /* the last line: only where these parameters have these values */
    } * codes;
    const struct stage_fact *pictures; /* what it shows, and the name of its file as it begins */
};

/* A table: row i is of number i of lists in the summary, as many as the last column's list has. */
enum { STAGE_LISTING_COLUMNS = 5 };
struct stage_listing {
    const char *title;
    struct stage_column {
        const char *head;    /* NULL: there are no more */
        const char *list;    /* "strongest_pairs"; NULL: the number of the row, from 0 */
        const char *keys[2]; /* of an object in it; two are told as "3, 7" */
        bool fixed;          /* with six decimals */
    } columns[STAGE_LISTING_COLUMNS];
};

struct stage_ops {
    const char *name;             /* the pipeline's name: "pearson" */
    const char *about, *examples; /* for the help: a sentence; command lines, each ended by '\n' */
    const struct stage_part *parts;
    size_t n_parts; /* 1 to STAGE_MAX_PARTS */
    const struct param_spec *specs;
    size_t n_specs;
    bool multiplies; /* its kernels on the CPU need backend_load_products */

    /* May be NULL: never, and the columns of the first part's table are its series. Whether a
     * series is a line of it, else a line has a number of each; for `seen`. */
    bool (*by_lines)(const struct stage_args *args);
    /* May be NULL. Adds the warnings that follow from the first part alone, by its table, of which
     * n_lines is known, and what has been seen of it: of a job that has ended, and of one that is
     * only checked. */
    enum status (*notice)(const struct stage_args *args, struct result *out) STATUS_MUST_CHECK;
    /* May be NULL: little. About how many multiplications and additions a job of this shape takes,
     * from args->inputs and args->params alone. Whether a device is worth its opening. */
    double (*work)(const struct stage_args *args);
    /* What a job with these tables would need; kernels of args->queue->backend->ops tell their
     * scratch memory. A table that does not know its length is planned by its estimate, and when
     * more lines have come by half as many again, with args->n_results as they are.
     * STATUS_BAD_INPUT or _BAD_ARGUMENT when it cannot be done at all (one cell, too many series,
     * shapes that differ); the message says why. */
    enum status (*plan)(const struct stage_args *args, struct stage_need *out) STATUS_MUST_CHECK;
    /* The method, as one function that pulls (base/job_io.h): numbers in, results out. */
    enum status (*run)(struct job_io *io) STATUS_MUST_CHECK;
    bool simulates;   /* it tells how many steps are done */
    bool takes_ranks; /* it may be helped by queues of other ranks, which have no copies to others'
                       */
    const struct stage_told *told; /* NULL: nothing but what all results tell */
};

/* The stages of stages.h; NULL at the end. */
extern const struct stage_ops *const stage_registry[];
/* By name; NULL when there is none. */
const struct stage_ops *stage_find(const char *name);

/* The parts that a job with these parameters has (NULL: with the defaults), in the stage's order;
 * how many. */
size_t stage_parts(const struct stage_ops *stage, const struct param_value *params,
                   const struct stage_part *out[STAGE_MAX_PARTS]);
/* What is said in place of a part, as a message has it: "query", "targets=none"; "": nothing, a job
 * always has it. Returns out. */
enum { STAGE_INSTEAD_BYTES = 64 };
const char *stage_instead(const struct stage_ops *stage, const struct stage_part *part,
                          char out[STAGE_INSTEAD_BYTES]);
/* What asks for a part: "targets=file"; "": nothing has to. Returns out. */
const char *stage_asks(const struct stage_ops *stage, const struct stage_part *part,
                       char out[STAGE_INSTEAD_BYTES]);
/* The text of the parameter of that key; "" where there is none. */
const char *stage_text(const struct stage_ops *stage, const struct param_value *params,
                       const char *key);

/* Parses one parameter; the message of STATUS_BAD_ARGUMENT begins with the key and names the text,
 * and what is accepted. The value of a PARAM_TEXT is `text` itself. */
enum status stage_parse_param(const struct param_spec *spec, const char *text,
                              struct param_value *out) STATUS_MUST_CHECK;
/* What the values of STAGE_FIGURE_SPECS say, from that of "figure" on. Borrows the title. */
static inline struct figure_choice stage_figure(const struct param_value *from)
{
    return (struct figure_choice){.format = (enum figure_format)from[0].index,
                                  .title = from[1].text,
                                  .colours = from[2].index,
                                  .size_mm = from[3].real,
                                  .dpi = (double)from[4].count};
}

/* What stands for a value in help: "N", or its choices. */
const char *stage_param_value(const struct param_spec *spec);
/* A value as result.json has it: a number, or a string. NULL when there is no memory. */
json_t *stage_param_json(const struct param_spec *spec, const struct param_value *value);

#endif
