/*
 * stage - what a job computes, in terms of kernels: one file a stage, one line in the registry.
 *
 * The engine reads and decodes; it hands the stage a table's numbers in file order, as they come,
 * and takes a `struct result` from it. A stage does no I/O and makes no thread.
 */
#ifndef LEAT_STAGES_STAGE_H
#define LEAT_STAGES_STAGE_H

#include "formats/result.h"
#include "formats/table.h"
#include "kernels/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One parameter that a user can set. */
enum param_kind { PARAM_CHOICE, PARAM_COUNT, PARAM_REAL };

struct param_spec {
    const char *key;
    enum param_kind kind;
    const char *text;    /* the default, as a user would write it */
    const char *choices; /* PARAM_CHOICE: "exact|f32|screen" */
    double min, max;     /* PARAM_COUNT and PARAM_REAL: the range accepted, ends included */
    const char *help;    /* half a line */
};

/* The value of one parameter: `index` of the choice, or `count`, or `real`. */
struct param_value {
    size_t index;
    uint64_t count;
    double real;
};

struct stage; /* one job's state */

/* What a stage is told before the first number. Everything is borrowed for the life of the stage.
 */
struct stage_args {
    struct queue *queue;
    const struct table_info *table;
    const struct param_value *params; /* in the order of the stage's specs */
    const char *input_name;           /* for messages */
    size_t block_bytes;               /* the most that one push brings */
};

/* What a job is going to need, from the shape that is known or estimated. */
struct stage_need {
    uint64_t memory_bytes; /* backend memory: counted against --memory on the CPU backend */
    uint64_t host_bytes;   /* host memory besides */
    bool estimated;        /* the shape is not known before the end */
};

struct stage_ops {
    const char *name;   /* the pipeline's name: "pearson" */
    const char *suffix; /* the part of a file name that routes to it: "clusters" */
    const struct param_spec *specs;
    size_t n_specs;

    /* What a job with this table would need. STATUS_BAD_INPUT / _BAD_ARGUMENT when it cannot be
     * done at all (one cell, too many series); the message says why. */
    enum status (*plan)(const struct stage_args *args, struct stage_need *out) STATUS_MUST_CHECK;
    enum status (*open)(const struct stage_args *args, struct stage **out) STATUS_MUST_CHECK;
    /* The next n_cells numbers of the table (values in the table's dtype, in memory from
     * host_alloc), with the chunk they came in (labels). *ticket tells, through upload_wait, when
     * the memory may be reused. */
    enum status (*push)(struct stage *s, const struct table_chunk *chunk,
                        uint64_t *ticket) STATUS_MUST_CHECK;
    /* All numbers are in: finishes the computation and fills the result, whose pieces are read
     * while the stage is alive. */
    enum status (*finish)(struct stage *s, struct result *out) STATUS_MUST_CHECK;
    void (*free)(struct stage *s);
};

extern const struct stage_ops stage_pearson;

/* Every stage there is; NULL at the end. */
extern const struct stage_ops *const stage_registry[];
/* By name; NULL when there is none. */
const struct stage_ops *stage_find(const char *name);

/* Parses one parameter; the message of STATUS_BAD_ARGUMENT names key, text, and what is accepted.
 */
enum status stage_parse_param(const struct param_spec *spec, const char *text,
                              struct param_value *out) STATUS_MUST_CHECK;

#endif
