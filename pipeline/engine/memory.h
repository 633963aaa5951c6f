/*
 * memory - what a job needs by its stage's plan, and the reservation of that within the engine's
 * limits. On the loop thread.
 */
#ifndef LEAT_PIPELINE_ENGINE_MEMORY_H
#define LEAT_PIPELINE_ENGINE_MEMORY_H

#include "pipeline/engine/place.h"
#include "pipeline/engine/reading.h"

/* Of a job that starts over `need` and starts_over begin again; the estimates stay. */
struct memory {
    struct job_tasks *tasks; /* these five are the caller's */
    const struct job_input *input;
    const struct place *place;
    const struct reading *reading;
    const struct stage_state *state; /* for the stage; NULL: none */
    /* Of its tables, as the stage is planned and opened; of a job that starts over with no fewer
     * lines than came before. */
    struct table_info shapes[STAGE_MAX_PARTS];
    /* Of tables that do not know their length: they grow with the lines that come. */
    size_t lines_estimate[STAGE_MAX_PARTS];
    struct stage_need need;
    bool started_over; /* the stage said so */
    bool starts_over;  /* the job, which needs more memory than was free */
};

/* Sets `shapes` from the opened tables. */
void memory_take_shapes(struct memory *m);
/* What the stage is told, for the place where the job is computed. */
struct stage_args memory_args(const struct memory *m);
/* Sets `need` from `shapes`, for that place; false when the job has failed, or another device may
 * have the memory that this one has not: *least_bytes is set then. */
bool memory_plan(struct memory *m, uint64_t *least_bytes);
/* Reserves `need`, or what decoding takes alone, of a job that computes nothing; false when it is
 * not free at this moment, or the job has failed. */
bool memory_reserve(struct memory *m, bool only_decodes);
/* Whether memory is reserved for a part of so many lines. */
bool memory_has_lines(const struct memory *m, size_t part, size_t lines);
/* Makes sure of it; false when the job now has to end, or `starts_over`. */
bool memory_reserve_lines(struct memory *m, size_t part, size_t lines);
/* Before it starts over, when nothing runs for it: expects the lines of the whole table that a
 * block is of, for which there was no memory, from what came of it; so that it does not start over
 * for every few lines more. */
void memory_expect_all_lines(struct memory *m, const struct block *b);
/* When all cells have been counted: whether a run would do with the lines they make, by shape and
 * by the memory they take; false when the job has failed. */
bool memory_check_lines(struct memory *m);
/* Gives all back. */
void memory_give_back(struct memory *m);

/* Whether a job may take so many bytes more: they are free, and no earlier job waits that would
 * have to wait for them. */
bool memory_may_take(const struct engine *e, const struct engine_job *job, uint64_t more_host,
                     uint64_t more_device);

#endif
